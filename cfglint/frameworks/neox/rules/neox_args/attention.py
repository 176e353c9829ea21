"""Rules about the kinds of attention in NeoXArgs."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.python_errors import describe, raised
from cfglint.frameworks.neox.rules import elsewhere
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.numbers import is_number

ATTENTION_KINDS = tuple("global local sparse_fixed sparse_variable bigbird bslongformer gmlp amlp flash rwkv mamba".split())
PLAIN_ATTENTION = ("global", "flash")


@rule("NEO020")
def invalid_attention_config(config: NeoXConfig) -> Iterator[Finding]:
    written, layers, attention = config.argument("attention_config"), config.argument("num_layers"), config.derived.attention
    if written is None and attention is not None and attention.layers != layers:
        text = "AssertionError: Length of attention config list must equal num_layers"
        remedy: Remedy | str = "set `num_layers` to a positive number"
        message = f"`num_layers` is {describe(layers)}; it must not be negative"
        yield Finding(config.setting("num_layers"), message, exception=text, help=remedy)
    if not isinstance(written, list):
        return
    setting = config.setting("attention_config")
    if attention is None:
        if layers is not None or config.facts.complete:
            error = config.derived.attention_refusal or ""
            remedy = "make the repeats of the patterns add up to `num_layers`"
            yield Finding(setting, f"`attention_config` cannot be expanded: {error.partition(': ')[2]}", exception=error, help=remedy)
        return
    if layers is not None and attention.layers != layers:
        remedy = set_key("num_layers", attention.layers) | f"make the patterns add up to {describe(layers)}"
        message = f"`attention_config` gives {attention.layers} layers, but `num_layers` is {describe(layers)}"
        text = "AssertionError: Length of attention config list must equal num_layers"
        yield Finding(setting, message, related=(config.setting("num_layers"),), exception=text, help=remedy)
    for kind in attention.kinds:
        known = config.own_attention_kinds or ATTENTION_KINDS
        if kind not in known:
            message = f"`attention_config` has the unknown attention type {spelled(kind)}"
            remedy = f"write one of {', '.join(map(str, known))}"
            yield Finding(setting, message, exception=f"AssertionError: Attention type {kind} not recognized", help=remedy)


@rule("NEO021")
def incompatible_attention(config: NeoXConfig) -> Iterator[Finding]:
    attention = config.derived.attention
    if attention is None or config.argument("attention_config") is None:
        return
    related = (config.setting("attention_config"),)
    if attention.any("gmlp", "amlp") and config.argument("partition_activations"):
        text = "AssertionError: GMLP Blocks are not compatible with partition activations"
        message = "`partition_activations` is incompatible with gMLP and aMLP layers"
        yield Finding(
            config.setting("partition_activations"), message, related=related, exception=text, help=set_key("partition_activations", False)
        )
    if attention.any("rwkv") and config.derived.tensor not in (None, 1):
        text = "AssertionError: RWKV not currently compatible with model parallelism"
        message = f"`model_parallel_size` is {config.argument('model_parallel_size')}; RWKV layers do not support model parallelism"
        yield Finding(
            config.setting("model_parallel_size"), message, related=related, exception=text, help=set_key("model_parallel_size", 1)
        )
    for kind, name in (("mamba", "Mamba"), ("rwkv", "RWKV")):
        if attention.any(kind) and config.derived.zero_stage == 3:
            text = f"AssertionError: Zero stage 3 not compatible with {name}"
            setting = config.setting("zero_optimization", "stage")
            yield Finding(
                setting,
                f"`zero_optimization.stage` is 3, which is incompatible with {name} layers",
                related=related,
                exception=text,
                help=set_key("zero_optimization.stage", 1),
            )


@rule("NEO022")
def invalid_num_kv_heads(config: NeoXConfig) -> Iterator[Finding]:
    shared, heads = config.argument("num_kv_heads"), config.argument("num_attention_heads")
    if shared is None or (heads is None and elsewhere(config, "num_attention_heads")):
        return
    setting = config.setting("num_kv_heads")
    if not is_number(shared) or not is_number(heads):
        if heads is None or is_number(heads):
            text = f"TypeError: unsupported operand type(s) for %: '{type(heads).__name__}' and '{type(shared).__name__}'"
            message = f"`num_kv_heads` is {describe(shared)}, but `num_attention_heads` is {describe(heads)}"
            yield Finding(setting, message, exception=text, help="set `num_attention_heads`")
        return
    error = raised(lambda: heads % shared)
    if error or heads % shared:
        text = error or "AssertionError: num_kv_heads must evenly divide num_attention_heads and be no greater than it"
        message = f"`num_kv_heads` ({shared}) must divide `num_attention_heads` ({heads})"
        yield Finding(
            setting,
            message,
            related=(config.setting("num_attention_heads"),),
            exception=text,
            help=f"set `num_kv_heads` to a divisor of {heads}",
        )
    elif shared < heads:
        yield from _grouped(config, shared)


def _grouped(config: NeoXConfig, shared: ConfigValue) -> Iterator[Finding]:
    setting, attention, tensor = config.setting("num_kv_heads"), config.derived.attention, config.derived.tensor
    if config.argument("sparsity_config"):
        text = "AssertionError: Sparse attention not compatible with GQA or MQA"
        message = "`num_kv_heads` below `num_attention_heads` is incompatible with `sparsity_config`"
        yield Finding(
            setting,
            message,
            related=(config.setting("sparsity_config"),),
            exception=text,
            help=remove_key("num_kv_heads") | remove_key("sparsity_config"),
        )
    if attention is not None and not set(map(str, attention.kinds)) <= set(PLAIN_ATTENTION):
        text = "AssertionError: GQA / MQA currently only compatible with Flash or standard global/sliding window Attention"
        message = "`num_kv_heads` below `num_attention_heads` requires global or flash attention in every layer"
        yield Finding(
            setting,
            message,
            related=(config.setting("attention_config"),),
            exception=text,
            help=remove_key("num_kv_heads") | "use global or flash attention in every layer",
        )
    if tensor and shared % tensor:
        text = "AssertionError: Number of KV heads must be at least model_parallel_size for now!"
        message = f"`num_kv_heads` ({shared}) must be a multiple of `model_parallel_size` ({tensor})"
        yield Finding(
            setting,
            message,
            related=(config.setting("model_parallel_size"),),
            exception=text,
            help=set_key("num_kv_heads", tensor) | "a smaller `model_parallel_size`",
        )
