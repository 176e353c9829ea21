"""Values that the launcher rejects when it builds NeoXArgs: calculate_derived and validate_values."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import SKIP, Finding
from cfglint.findings.wording import spelled
from cfglint.frameworks.neox.derive import switched_on
from cfglint.frameworks.neox.fields import CANNOT
from cfglint.frameworks.neox.python_errors import describe, number, raised
from cfglint.frameworks.neox.rules import elsewhere, neox_rule, remove, replace
from cfglint.frameworks.remedies import either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.neox.config import NeoXConfig

ATTENTION_KINDS = (
    "global",
    "local",
    "sparse_fixed",
    "sparse_variable",
    "bigbird",
    "bslongformer",
    "gmlp",
    "amlp",
    "flash",
    "rwkv",
    "mamba",
)
PLAIN_ATTENTION = ("global", "flash")
SPLITS = ("train", "valid", "test")


@neox_rule(
    "PRC300",
    "precision-conflict",
    ERROR,
    fails_at="config",
    bad="{precision: bfloat16, fp16: {enabled: true}, zero_optimization: {stage: 1}}\n",
    good="{precision: fp16, fp16: {enabled: true}}\n",
    at="/precision",
)
def precision_conflict(config: NeoXConfig) -> Iterator[Finding]:
    """`precision` and an enabled `fp16` or `bf16` section contradict each other.

    An enabled section must match `precision` exactly, if that is set: `fp16` matches the fp16 section, `bfloat16`
    (not `bf16`) the bf16 section. Only one of the two sections can be enabled. Any non-empty value enables a section, even the
    string "false".

    Run-time errors: `AssertionError: DeepSpeed fp16 field was set but precision conflicts`,
    `AssertionError: DeepSpeed bf16 field was set but precision conflicts`.

    Fix: remove one of them.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:967-980.
    """
    precision = config.argument("precision")
    for section, needed in (("fp16", "fp16"), ("bf16", "bfloat16")):
        if not switched_on(config.argument(section)):
            continue
        if precision is None:
            precision = needed
        elif precision != needed:
            enabled = config.setting(section, "enabled")
            if config.argument("precision") is None:
                where, message = enabled, "`bf16` is incompatible with `fp16`; enable only one of them"
            else:
                where = config.setting("precision")
                message = f"`precision` is {describe(precision)}, but the enabled `{section}` section requires {needed}"
            yield Finding(
                where,
                message,
                related=(enabled,) if where is not enabled else (config.setting("fp16", "enabled"),),
                exception=f"AssertionError: DeepSpeed {section} field was set but precision conflicts",
                help=f"set `precision: {needed}`, or remove `{section}`"
                if where is not enabled
                else "set `bf16.enabled: false`, or set `fp16.enabled: false`",
            )


@neox_rule(
    "PRC301",
    "bfloat16-without-zero-section",
    ERROR,
    old_names=("bfloat16-needs-zero-section",),
    fails_at="config",
    when_partial=SKIP,
    raises="TypeError: 'NoneType' object is not subscriptable",
    bad="{precision: bfloat16}\n",
    good="{precision: bfloat16, zero_optimization: {stage: 0}}\n",
)
def bfloat16_needs_zero_section(config: NeoXConfig) -> Iterator[Finding]:
    """bfloat16 requires a `zero_optimization` section.

    The code that warns about bfloat16 with ZeRO reads the section before its default is set.

    Run-time error: `TypeError: 'NoneType' object is not subscriptable`.

    Fix: add `zero_optimization: {stage: 0}`, which is the default.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:999.
    """
    if config.derived.precision == "bfloat16" and config.argument("zero_optimization") is None:
        name = "precision" if "precision" in config.values else "bf16"
        message = "bfloat16 requires a `zero_optimization` section"
        yield Finding(config.setting(name), message, help="add `zero_optimization: {stage: 0}`")


@neox_rule(
    "PRC302",
    "fp16-cross-entropy-without-fp16",
    ERROR,
    old_names=("half-cross-entropy-needs-fp16",),
    fails_at="config",
    raises="ValueError: NeoXArgs.validate_values() lm cross entropy in fp16 only support in fp16 mode.",
    bad="{fp16_lm_cross_entropy: true, precision: fp32}\n",
    good="{fp16_lm_cross_entropy: true, precision: fp16}\n",
    at="/fp16_lm_cross_entropy",
)
def half_cross_entropy_needs_fp16(config: NeoXConfig) -> Iterator[Finding]:
    """`fp16_lm_cross_entropy` requires fp16.

    Run-time error: `ValueError: NeoXArgs.validate_values() lm cross entropy in fp16 only support in fp16
    mode.`

    Fix: remove it, or train in fp16.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1314.
    """
    if not config.argument("fp16_lm_cross_entropy") or config.derived.precision == "fp16":
        return
    if "precision" in config.values or not elsewhere(config, "fp16"):
        message = f"`fp16_lm_cross_entropy` requires fp16, but the precision is {config.derived.precision}"
        yield Finding(config.setting("fp16_lm_cross_entropy"), message, help="set `fp16_lm_cross_entropy: false`")


@neox_rule(
    "NEO010",
    "incomplete-optimizer-section",
    ERROR,
    old_names=("optimizer-section",),
    fails_at="config",
    bad=(
        "{optimizer: {type: Adam, lr: 0.001}}\n",
        "{optimizer: {params: {lr: 0.001}}}\n",
        "{optimizer: {type: Adam, params: null}}\n",
        "{scheduler: {type: 1, params: {}}}\n",
        "{optimizer: {type: null, params: {}}}\n",
    ),
    good="{optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    at="/optimizer",
)
def optimizer_section(config: NeoXConfig) -> Iterator[Finding]:
    """The `optimizer` or `scheduler` section has no valid `type` or `params`.

    Both require `type` to be a string and `params` to be a mapping, which may be empty.

    Run-time errors: `KeyError: 'params'`, `AttributeError: 'NoneType' object has no attribute 'get'`,
    `ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be validated`.

    Fix: write for example `{type: Adam, params: {lr: 0.0006}}`.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1053-1060, 1425-1462.
    """
    for name in ("optimizer", "scheduler"):
        section = config.argument(name)
        if not isinstance(section, dict) or (name == "scheduler" and config.derived.optimizer_name == "onebitadam"):
            continue
        used_before = name == "optimizer" and section
        if "params" not in section:
            text = "KeyError: 'params'" if used_before else CANNOT
            yield Finding(
                config.setting(name), f"`{name}.params` is missing; it is required", exception=text, help=f"set `{name}.params: {{}}`"
            )
        elif not isinstance(section["params"], dict):
            error = f"AttributeError: '{type(section['params']).__name__}' object has no attribute 'get'"
            message = f"`{name}.params` is {describe(section['params'])}, not a mapping"
            yield Finding(
                config.setting(name, "params"), message, exception=error if used_before else CANNOT, help=f"set `{name}.params: {{}}`"
            )
        if "type" not in section:
            yield Finding(
                config.setting(name),
                f"`{name}.type` is missing; it is required",
                exception=CANNOT,
                help="set `optimizer.type: Adam`" if name == "optimizer" else "remove `scheduler`",
            )
        elif name == "scheduler" and not isinstance(section["type"], str):
            message = f"`scheduler.type` is {describe(section['type'])}, not a string"
            yield Finding(config.setting(name, "type"), message, exception=CANNOT, help="remove `scheduler`")
        elif section["type"] is None:
            error = "AttributeError: 'NoneType' object has no attribute 'lower'"
            yield Finding(
                config.setting(name, "type"),
                f"`{name}.type` is null, not a string",
                exception=error,
                help="set `optimizer.type: Adam`" if name == "optimizer" else "remove `scheduler`",
            )


@neox_rule(
    "NEO011",
    "section-without-enabled",
    ERROR,
    fails_at="config",
    raises=CANNOT,
    bad="{fp16: {loss_scale: 0}}\n",
    good="{fp16: {enabled: true, loss_scale: 0}}\n",
    at="/fp16",
)
def section_without_enabled(config: NeoXConfig) -> Iterator[Finding]:
    """A `fp16`, `amp` or `flops_profiler` section has no `enabled`.

    With `precision: fp16` the fp16 section is enabled automatically and the key is optional.

    Run-time error: `ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be validated`, after a log
    line `must contain key 'enabled'`.

    Fix: add `enabled` to the section.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1464-1475, 982-987.
    """
    for name in ("fp16", "amp", "flops_profiler"):
        section = config.argument(name)
        if not isinstance(section, dict) or "enabled" in section:
            continue
        if name == "fp16" and (config.derived.precision == "fp16" or elsewhere(config, "precision")):
            continue
        yield Finding(
            config.setting(name),
            f"`{name}.enabled` is missing; it is required",
            help=f"set `{name}.enabled: true`, or set `{name}.enabled: false`",
        )


@neox_rule(
    "NEO012",
    "invalid-zero-stage",
    ERROR,
    old_names=("zero-stage",),
    fails_at="config",
    bad=(
        '{zero_optimization: {stage: "1"}}\n',
        "{zero_optimization: {allgather_partitions: true}}\n",
    ),
    good="{zero_optimization: {stage: 1}}\n",
    at="/zero_optimization/stage",
)
def zero_stage(config: NeoXConfig) -> Iterator[Finding]:
    """`zero_optimization.stage` is missing or not 0, 1, 2 or 3.

    A section without `stage` is an error, not ZeRO stage 0; so are a number in quotes and `1e0`, which YAML 1.1
    parses as a string. With an `autotuning` section other values pass this check and fail in DeepSpeed.

    Run-time errors: `KeyError: 'stage'`, `AssertionError: Zero Stage must be an integer unless you are doing
    autotuning, not 4`.

    Fix: set `stage` to 0, 1, 2 or 3.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1013-1048.
    """
    section = config.argument("zero_optimization")
    if not isinstance(section, dict):
        return
    if "stage" not in section:
        message = "`zero_optimization.stage` is missing; it is required"
        yield Finding(config.setting("zero_optimization"), message, exception="KeyError: 'stage'", help="set `zero_optimization.stage: 1`")
        return
    stage = section["stage"]
    if config.derived.zero_stage is None and config.argument("autotuning") is None:
        setting = config.setting("zero_optimization", "stage")
        integer = int(stage) if isinstance(stage, str) and stage in ("0", "1", "2", "3") else None
        yield Finding(
            setting,
            f"`zero_optimization.stage` is {describe(stage)}; it must be 0, 1, 2 or 3",
            exception=f"AssertionError: Zero Stage must be an integer unless you are doing autotuning, not {stage}",
            fix=replace(setting, integer, f"change to {integer}") if integer is not None else None,
        )


@neox_rule(
    "NEO013",
    "onebitadam-without-train-iters",
    ERROR,
    old_names=("onebitadam-needs-iterations",),
    fails_at="config",
    when_partial=SKIP,
    raises="AssertionError: OneBitAdam requires train_iters to be specified",
    bad="{optimizer: {type: OneBitAdam, params: {lr: 0.001}}}\n",
    good="{optimizer: {type: OneBitAdam, params: {lr: 0.001}}, train_iters: 10}\n",
    at="/optimizer/type",
)
def onebitadam_needs_iterations(config: NeoXConfig) -> Iterator[Finding]:
    """OneBitAdam requires `train_iters`.

    DeepSpeed builds its learning-rate schedule from `train_iters`.

    Run-time error: `AssertionError: OneBitAdam requires train_iters to be specified`.

    Fix: set `train_iters`, or use another optimizer.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1062-1065.
    """
    if config.derived.optimizer_name == "onebitadam" and config.argument("train_iters") is None:
        yield Finding(
            config.setting("optimizer", "type"),
            "`optimizer.type: OneBitAdam` requires `train_iters`",
            help="set `train_iters` to the number of steps",
        )


@neox_rule(
    "NEO014",
    "experts-with-zero",
    ERROR,
    fails_at="config",
    raises="AssertionError: MoE is not compatible with zero stages 2 and 3",
    bad="{moe_num_experts: 4, zero_optimization: {stage: 2}}\n",
    good="{moe_num_experts: 4, zero_optimization: {stage: 1}}\n",
    at="/zero_optimization/stage",
)
def experts_with_zero(config: NeoXConfig) -> Iterator[Finding]:
    """Mixture of experts is incompatible with ZeRO stage 2 and 3.

    Run-time error: `AssertionError: MoE is not compatible with zero stages 2 and 3`.

    Fix: use stage 0 or 1.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1088-1089.
    """
    experts = config.argument("moe_num_experts")
    stage: Any = config.derived.zero.get("stage")
    if number(experts) and experts > 1 and number(stage) and stage >= 2:
        setting = config.setting("zero_optimization", "stage")
        message = f"`zero_optimization.stage` is {stage}; with `moe_num_experts: {experts}` it must be 0 or 1"
        yield Finding(
            setting,
            message,
            related=(config.setting("moe_num_experts"),),
            help="set `zero_optimization.stage: 1`, or set `moe_num_experts: 1`",
        )


@neox_rule(
    "NEO020",
    "invalid-attention-config",
    ERROR,
    old_names=("attention-config",),
    fails_at="config",
    bad=(
        '{num_layers: 4, attention_config: [[["global"], 3]]}\n',
        "{num_layers: -1}\n",
        '{num_layers: 3, attention_config: [[["global", "flash"], "all"]]}\n',
        '{num_layers: 2, attention_config: [[["bogus"], 2]]}\n',
    ),
    good='{num_layers: 4, attention_config: [[["global"], 4]]}\n',
    at="/attention_config",
)
def attention_config(config: NeoXConfig) -> Iterator[Finding]:
    """`attention_config` must give one known attention type per layer.

    It is a list of types, one per layer, or a list of `[[types], count]`, where `all` repeats the types over
    all layers; their number must divide the number of layers. Types are case-sensitive.

    Run-time errors: `AssertionError: Length of attention config list must equal num_layers`,
    `AssertionError: Attention type bogus not recognized`, `AssertionError: Number of layers (5) is not
    divisible by the length of pattern`, `IndexError: list index out of range`.

    Fix: write for example `[[["flash"], "all"]]` or `[[["global"], 24]]`.

    Source: gpt-neox (May 2026) megatron/utils.py:329-353, megatron/neox_arguments/arguments.py:1091-1103.
    """
    written, layers, attention = config.argument("attention_config"), config.argument("num_layers"), config.derived.attention
    if written is None and attention is not None and attention.layers != layers:
        text = "AssertionError: Length of attention config list must equal num_layers"
        yield Finding(
            config.setting("num_layers"),
            f"`num_layers` is {describe(layers)}; it must not be negative",
            exception=text,
            help="set `num_layers` to a positive number",
        )
    if not isinstance(written, list):
        return
    setting = config.setting("attention_config")
    if attention is None:
        if layers is not None or config.facts.complete:
            error = config.derived.attention_refusal or ""
            yield Finding(
                setting,
                f"`attention_config` cannot be expanded: {error.partition(': ')[2]}",
                exception=error,
                help="make the repeats of the patterns add up to `num_layers`",
            )
        return
    if layers is not None and attention.layers != layers:
        yield Finding(
            setting,
            f"`attention_config` gives {attention.layers} layers, but `num_layers` is {describe(layers)}",
            related=(config.setting("num_layers"),),
            exception="AssertionError: Length of attention config list must equal num_layers",
            help=f"set `num_layers: {attention.layers}`, or make the patterns add up to {describe(layers)}",
        )
    for kind in attention.kinds:
        if kind not in ATTENTION_KINDS:
            message = f"`attention_config` has the unknown attention type {spelled(kind)}"
            yield Finding(
                setting,
                message,
                exception=f"AssertionError: Attention type {kind} not recognized",
                help=f"write one of {', '.join(ATTENTION_KINDS)}",
            )


@neox_rule(
    "NEO021",
    "incompatible-attention",
    ERROR,
    old_names=("attention-incompatible",),
    fails_at="config",
    bad=(
        '{num_layers: 2, attention_config: [[["rwkv"], 2]], model_parallel_size: 2}\n',
        '{num_layers: 2, attention_config: [[["gmlp"], 2]], partition_activations: true}\n',
        '{num_layers: 2, attention_config: [[["mamba"], 2]], zero_optimization: {stage: 3}}\n',
    ),
    good='{num_layers: 2, attention_config: [[["rwkv"], 2]], model_parallel_size: 1}\n',
    at="/model_parallel_size",
)
def attention_incompatible(config: NeoXConfig) -> Iterator[Finding]:
    """An attention type is incompatible with another setting.

    gMLP and aMLP do not support partitioned activations; Mamba and RWKV do not support ZeRO stage 3;
    RWKV does not support model parallelism.

    Run-time errors: `AssertionError: GMLP Blocks are not compatible with partition activations`,
    `AssertionError: Zero stage 3 not compatible with Mamba`, `AssertionError: Zero stage 3 not compatible
    with RWKV`, `AssertionError: RWKV not currently compatible with model parallelism`.

    Fix: change one of the two settings.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1104-1124.
    """
    attention = config.derived.attention
    if attention is None or config.argument("attention_config") is None:
        return
    related = (config.setting("attention_config"),)
    if attention.any("gmlp", "amlp") and config.argument("partition_activations"):
        text = "AssertionError: GMLP Blocks are not compatible with partition activations"
        message = "`partition_activations` is incompatible with gMLP and aMLP layers"
        yield Finding(
            config.setting("partition_activations"), message, related=related, exception=text, help="set `partition_activations: false`"
        )
    if attention.any("rwkv") and config.derived.tensor not in (None, 1):
        text = "AssertionError: RWKV not currently compatible with model parallelism"
        message = f"`model_parallel_size` is {config.argument('model_parallel_size')}; RWKV layers do not support model parallelism"
        yield Finding(config.setting("model_parallel_size"), message, related=related, exception=text, help="set `model_parallel_size: 1`")
    for kind, name in (("mamba", "Mamba"), ("rwkv", "RWKV")):
        if attention.any(kind) and config.derived.zero_stage == 3:
            text = f"AssertionError: Zero stage 3 not compatible with {name}"
            setting = config.setting("zero_optimization", "stage")
            yield Finding(
                setting,
                f"`zero_optimization.stage` is 3, which is incompatible with {name} layers",
                related=related,
                exception=text,
                help="set `zero_optimization.stage: 1`",
            )


@neox_rule(
    "NEO022",
    "invalid-num-kv-heads",
    ERROR,
    old_names=("grouped-query-attention",),
    fails_at="config",
    bad=(
        "{num_attention_heads: 8, num_kv_heads: 3, num_layers: 2}\n",
        "{num_kv_heads: 2, num_layers: 2}\n",
        "{num_attention_heads: 8, num_kv_heads: 2, num_layers: 2, sparsity_config: {block: 16}}\n",
        '{num_attention_heads: 8, num_kv_heads: 2, num_layers: 2, attention_config: [[["local"], 2]]}\n',
        "{num_attention_heads: 8, num_kv_heads: 2, num_layers: 2, model_parallel_size: 4}\n",
    ),
    good="{num_attention_heads: 8, num_kv_heads: 2, num_layers: 2}\n",
    at="/num_kv_heads",
)
def grouped_query_attention(config: NeoXConfig) -> Iterator[Finding]:
    """`num_kv_heads` is incompatible with the attention heads, the attention types or model parallelism.

    It must divide `num_attention_heads`; if it is smaller, all layers must be `global` or `flash`,
    without a sparsity section, and `model_parallel_size` must divide it.

    Run-time errors: `AssertionError: num_kv_heads must evenly divide num_attention_heads and be no greater
    than it`, `AssertionError: Number of KV heads must be at least model_parallel_size for now!`,
    `AssertionError: GQA / MQA currently only compatible with Flash or standard global/sliding window
    Attention`, `AssertionError: Sparse attention not compatible with GQA or MQA`, `ZeroDivisionError`.

    Fix: use a divisor of `num_attention_heads` that is a multiple of `model_parallel_size`, with `global` or
    `flash` layers.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1131-1148.
    """
    shared, heads = config.argument("num_kv_heads"), config.argument("num_attention_heads")
    if shared is None or (heads is None and elsewhere(config, "num_attention_heads")):
        return
    setting = config.setting("num_kv_heads")
    if not number(shared) or not number(heads):
        if heads is None or number(heads):
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


def _grouped(config: NeoXConfig, shared: Any) -> Iterator[Finding]:
    setting, attention, tensor = config.setting("num_kv_heads"), config.derived.attention, config.derived.tensor
    if config.argument("sparsity_config"):
        text = "AssertionError: Sparse attention not compatible with GQA or MQA"
        message = "`num_kv_heads` below `num_attention_heads` is incompatible with `sparsity_config`"
        yield Finding(
            setting,
            message,
            related=(config.setting("sparsity_config"),),
            exception=text,
            help="remove `num_kv_heads`, or remove `sparsity_config`",
        )
    if attention is not None and not set(map(str, attention.kinds)) <= set(PLAIN_ATTENTION):
        text = "AssertionError: GQA / MQA currently only compatible with Flash or standard global/sliding window Attention"
        message = "`num_kv_heads` below `num_attention_heads` requires global or flash attention in every layer"
        yield Finding(
            setting,
            message,
            related=(config.setting("attention_config"),),
            exception=text,
            help="remove `num_kv_heads`, or use global or flash attention in every layer",
        )
    if tensor and shared % tensor:
        text = "AssertionError: Number of KV heads must be at least model_parallel_size for now!"
        message = f"`num_kv_heads` ({shared}) must be a multiple of `model_parallel_size` ({tensor})"
        yield Finding(
            setting,
            message,
            related=(config.setting("model_parallel_size"),),
            exception=text,
            help=f"set `num_kv_heads: {tensor}`, or a smaller `model_parallel_size`",
        )


@neox_rule(
    "NEO023",
    "incompatible-model-sizes",
    ERROR,
    old_names=("model-size",),
    fails_at="config",
    bad="{hidden_size: 100, num_attention_heads: 12}\n",
    good="{hidden_size: 96, num_attention_heads: 12}\n",
    at="/hidden_size",
)
def model_size(config: NeoXConfig) -> Iterator[Finding]:
    """The sizes of the model are incompatible with each other.

    `hidden_size` must be a multiple of `num_attention_heads` (except with Mamba layers), `seq_length` must be at most
    `max_position_embeddings`, and `num_unique_layers` must divide `num_layers`.

    Run-time errors: `ValueError: NeoXArgs.validate_values() hidden_size must be divisible by
    num_attention_heads`, `ValueError: NeoXArgs.validate_values() max_position_embeddings must be bigger or
    equal seq_length`, `ValueError: NeoXArgs.validate_values() num-unique-layers must be smaller or equal
    num_layers`, `ZeroDivisionError: integer modulo by zero`.

    Fix: use sizes that divide; set `max_position_embeddings` to at least `seq_length`.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1245-1311.
    """
    hidden, heads = config.argument("hidden_size"), config.argument("num_attention_heads")
    attention = config.derived.attention
    if number(hidden) and number(heads):
        error = raised(lambda: hidden % heads)
        mamba = attention is not None and attention.any("mamba")
        if error or (hidden % heads and not mamba):
            yield _size_conflict(
                config, ("hidden_size", "num_attention_heads"),
                f"`hidden_size` ({hidden}) must be a multiple of `num_attention_heads` ({heads})",
                error or "hidden_size must be divisible by num_attention_heads",
            )  # fmt: skip
    length, positions = config.argument("seq_length"), config.argument("max_position_embeddings")
    if number(length) and number(positions) and not positions >= length:
        yield _size_conflict(
            config, ("seq_length", "max_position_embeddings"),
            f"`seq_length` is {length}, but `max_position_embeddings` is only {positions}",
            "max_position_embeddings must be bigger or equal seq_length",
        )  # fmt: skip
    unique, layers = config.argument("num_unique_layers"), config.argument("num_layers")
    if not number(unique) or not number(layers):
        return
    names = ("num_unique_layers", "num_layers")
    if not unique <= layers:
        message = f"`num_unique_layers` ({unique}) must not exceed `num_layers` ({layers})"
        yield _size_conflict(config, names, message, "num-unique-layers must be smaller or equal num_layers")
    elif (error := raised(lambda: layers % unique)) or layers % unique:
        text = error or "num-layers should be divisible by num-unique-layers"
        yield _size_conflict(config, names, f"`num_unique_layers` ({unique}) must divide `num_layers` ({layers})", text)


def _size_conflict(config: NeoXConfig, names: tuple[str, str], message: str, text: str) -> Finding:
    exception = text if text.startswith("ZeroDivisionError") else f"ValueError: NeoXArgs.validate_values() {text}"
    return Finding(config.setting(names[0]), message, related=(config.setting(names[1]),), exception=exception)


@neox_rule(
    "NEO024",
    "missing-model-size",
    ERROR,
    old_names=("missing-size",),
    fails_at="config",
    when_partial=SKIP,
    bad="{num_layers: 2, hidden_size: 64, num_attention_heads: 4}\n",
    good="{num_layers: 2, hidden_size: 64, num_attention_heads: 4, max_position_embeddings: 128}\n",
)
def missing_size(config: NeoXConfig) -> Iterator[Finding]:
    """One of the four required model sizes is missing.

    `num_layers`, `hidden_size`, `num_attention_heads` and `max_position_embeddings` have no defaults. A
    missing `num_layers` fails earlier than the others, in the expansion of the attention list.

    Run-time errors: `ValueError: NeoXArgs.validate_values() hidden_size is None.`, `TypeError: 'NoneType'
    object cannot be interpreted as an integer`.

    Fix: set it. Model sizes and paths are often in two files that must be passed together.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1225-1241, megatron/utils.py:351.
    """
    for name in ("num_layers", "hidden_size", "num_attention_heads", "max_position_embeddings"):
        if config.argument(name) is None:
            text = f"ValueError: NeoXArgs.validate_values() {name} is None."
            if name == "num_layers" and config.derived.attention_refusal:
                text = config.derived.attention_refusal
            yield Finding(
                config.setting(name),
                f"`{name}` is missing; it has no default",
                exception=text,
                help=f"set `{name}: {config.argument('seq_length')}`"
                if name == "max_position_embeddings" and config.argument("seq_length")
                else f"set `{name}`",
            )


@neox_rule(
    "NEO025",
    "invalid-learning-rate",
    ERROR,
    old_names=("learning-rate",),
    fails_at="config",
    bad=(
        "{optimizer: {type: Adam, params: {lr: 0.0001}}, min_lr: 0.001}\n",
        "{optimizer: {type: Adam, params: {lr: null}}}\n",
    ),
    good="{optimizer: {type: Adam, params: {lr: 0.001}}, min_lr: 0.0001}\n",
    at="/min_lr",
)
def learning_rate(config: NeoXConfig) -> Iterator[Finding]:
    """`optimizer.params.lr` is null, or `min_lr` is greater.

    The learning rate is `optimizer.params.lr`; its default is 0.001.

    Run-time errors: `ValueError: NeoXArgs.validate_values() lr is None`, `ValueError:
    NeoXArgs.validate_values() min_lr must be smaller or equal lr`.

    Fix: set `lr` to a number above `min_lr`; in YAML 1.1 `1e-4` is a string, `1.0e-4` a number.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1216-1276.
    """
    rate, least = config.derived.lr, config.argument("min_lr")
    if rate is None:
        text = "ValueError: NeoXArgs.validate_values() lr is None"
        yield Finding(
            config.setting("optimizer", "params", "lr"),
            "`optimizer.params.lr` is null, not a number",
            exception=text,
            help="set `optimizer.params.lr: 0.001`, or another number",
        )
    elif number(rate) and number(least) and not least <= rate and not elsewhere(config, "optimizer", "min_lr"):
        text = "ValueError: NeoXArgs.validate_values() min_lr must be smaller or equal lr"
        place = config.setting("optimizer", "params", "lr")
        message = f"`min_lr` is {least}, more than the learning rate ({rate}{'' if place.written else ', the default'})"
        yield Finding(
            config.setting("min_lr"),
            message,
            related=(place,),
            exception=text,
            help=f"set `min_lr: {rate / 10:.1e}`" if isinstance(rate, float) else "set `min_lr` below the learning rate",
        )


@neox_rule(
    "STP060",
    "save-without-interval",
    ERROR,
    old_names=("save-without-schedule",),
    fails_at="config",
    when_partial=SKIP,
    raises="ValueError: NeoXArgs.validate_values() checkpoint_factor or extra_save_iters must be defined if save is defined",
    bad="{save: checkpoints}\n",
    good="{save: checkpoints, checkpoint_factor: 1000}\n",
    at="/save",
)
def save_without_schedule(config: NeoXConfig) -> Iterator[Finding]:
    """`save` is set without a checkpoint interval.

    Run-time error: `ValueError: NeoXArgs.validate_values() checkpoint_factor or extra_save_iters must be
    defined if save is defined`.

    Fix: set for example `checkpoint_factor: 1000`, which saves every 1000 steps; the last step is always saved.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1278-1291.
    """
    save = config.argument("save")
    if save is not None and config.argument("checkpoint_factor") is None and config.argument("extra_save_iters") is None:
        yield Finding(
            config.setting("save"),
            "`save` requires `checkpoint_factor` or `extra_save_iters`",
            help="set `checkpoint_factor: 1000`, or remove `save`",
        )


@neox_rule(
    "NEO026",
    "conflicting-data-paths",
    ERROR,
    old_names=("data-paths",),
    fails_at="config",
    bad=(
        "{train_data_paths: [a], valid_data_paths: [b], test_data_paths: [c], data_path: d}\n",
        "{data_path: d, train_label_data_paths: [l]}\n",
        "{train_data_paths: [a]}\n",
        "{train_data_paths: [], valid_data_paths: [b], test_data_paths: [c]}\n",
        "{train_data_paths: [a], train_data_weights: [1.0, 2.0], valid_data_paths: [b], test_data_paths: [c]}\n",
    ),
    good="{train_data_paths: [a], valid_data_paths: [b], test_data_paths: [c]}\n",
    at="/data_path",
)
def data_paths(config: NeoXConfig) -> Iterator[Finding]:
    """The data paths contradict each other.

    Data is read either from `data_path`, divided by `split`, or from all three of `train_data_paths`,
    `valid_data_paths` and `test_data_paths`. The number of weights, if any, must equal the number of paths. Labels require
    `train_data_paths`.

    Run-time errors: `AssertionError: Please provide *either* data_path or train/valid/test_data_path`,
    `AssertionError: One or more of train/valid/test data_path are not provided`, `AssertionError: Must use
    train_label_data_paths with train_data_paths, not data_path`, and `AssertionError` without a message for
    weights.

    Fix: use either `data_path` or all three lists of paths.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1177-1179, 1325-1361.
    """
    names = [f"{split}_data_paths" for split in SPLITS]
    given = [name for name in names if config.argument(name) is not None]
    alone = config.argument("data_path")
    if len(given) == len(SPLITS) and alone is not None:
        text = "AssertionError: Please provide *either* `data_path` or `train/valid/test_data_path` in args"
        yield Finding(
            config.setting("data_path"), "`data_path` is incompatible with separate train, valid and test paths",
            related=(config.setting(names[0]),),
            exception=text, help="remove `data_path`, or remove the lists")  # fmt: skip
    elif given and len(given) < len(SPLITS) and not elsewhere(config, *names):
        absent = " and ".join(f"`{name}`" for name in names if name not in given)
        text = "AssertionError: One or more of train/valid/test data_path are not provided"
        yield Finding(
            config.setting(given[0]), f"`{given[0]}` also requires {absent}", exception=text, help=f"add {absent}, or use `data_path` alone"
        )
    labels = config.argument("train_label_data_paths")
    if labels and (alone or (not config.argument("train_data_paths") and not elsewhere(config, "train_data_paths"))):
        text = "AssertionError: Must use `train_label_data_paths` with `train_data_paths`, not `data_path`"
        message = "`train_label_data_paths` requires `train_data_paths` and is incompatible with `data_path`"
        yield Finding(
            config.setting("train_label_data_paths"),
            message,
            exception=text,
            help="remove `train_label_data_paths`, or use `train_data_paths` instead of `data_path`",
        )
    for split in SPLITS:
        yield from _weights(config, split)


def _weights(config: NeoXConfig, split: str) -> Iterator[Finding]:
    paths, weights = config.argument(f"{split}_data_paths"), config.argument(f"{split}_data_weights")
    if not isinstance(paths, list) or (weights is None and paths):
        return
    if weights is None and not paths:
        if not config.argument(f"pos_{split}_data_paths"):
            message = f"`{split}_data_paths` is empty"
            yield Finding(
                config.setting(f"{split}_data_paths"),
                message,
                exception="TypeError: object of type 'NoneType' has no len()",
                help=f"add a path to `{split}_data_paths`",
            )
    elif isinstance(weights, list) and len(weights) != len(paths):
        message = f"`{split}_data_weights` has {len(weights)} entries, but `{split}_data_paths` has {len(paths)}"
        yield Finding(
            config.setting(f"{split}_data_weights"),
            message,
            related=(config.setting(f"{split}_data_paths"),),
            exception="AssertionError",
            help=f"write one weight for each path, or remove `{split}_data_weights`",
        )


@neox_rule(
    "NEO027",
    "deepspeed-disabled",
    ERROR,
    old_names=("deepspeed-off",),
    fails_at="config",
    raises="ValueError: NeoXArgs.__post_init__() NeoXArgs values cannot be validated",
    bad="{deepspeed: false}\n",
    good="{deepspeed: true}\n",
    at="/deepspeed",
)
def deepspeed_off(config: NeoXConfig) -> Iterator[Finding]:
    """`deepspeed` is false or null, but GPT-NeoX requires DeepSpeed.

    Run-time error: `ValueError: NeoXArgs.__post_init__() NeoXArgs values cannot be validated`.

    Fix: remove the key.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1211-1213.
    """
    value = config.argument("deepspeed")
    if value is None or value is False:
        setting = config.setting("deepspeed")
        message = f"`deepspeed` is {describe(value)}, but GPT-NeoX requires DeepSpeed"
        yield Finding(setting, message, fix=remove(setting, "remove `deepspeed`"))


@neox_rule(
    "NEO028",
    "include-with-exclude",
    ERROR,
    old_names=("hosts-included-and-excluded",),
    fails_at="config",
    raises="ValueError: include_str and exclude_str are mutually exclusive.",
    bad="{hostfile: hosts, include: a, exclude: b}\n",
    good="{hostfile: hosts, include: a}\n",
    at="/exclude",
)
def hosts_included_and_excluded(config: NeoXConfig) -> Iterator[Finding]:
    """`include` and `exclude` are both set, with a hostfile.

    Run-time error: `ValueError: include_str and exclude_str are mutually exclusive.`

    Fix: remove one of them.

    Source: gpt-neox (May 2026) megatron/utils.py:204; deepspeed launcher/runner.py (parse_resource_filter).
    """
    if config.argument("hostfile") is not None and config.argument("include") and config.argument("exclude"):
        yield Finding(
            config.setting("exclude"),
            "`exclude` is incompatible with `include`",
            related=(config.setting("include"),),
            help=either("exclude", "include"),
        )


@neox_rule(
    "NEO029",
    "invalid-extra-args-key",
    ERROR,
    old_names=("extra-args-key",),
    fails_at="init",
    bad="{deepspeed_extra_args: {items: 1}}\n",
    good="{deepspeed_extra_args: {zero_allow_untested_optimizer: true}}\n",
    at="/deepspeed_extra_args/items",
)
def extra_args_key(config: NeoXConfig) -> Iterator[Finding]:
    """A key of `deepspeed_extra_args` has the name of a method of Python dictionaries.

    The check for duplicate keys asks a dictionary for an attribute instead of a key; so it rejects
    `items`, `get` or `update`, but never a key that is set twice.

    Run-time error: `ValueError: Key items is already specified elsewhere.`

    Fix: remove the key.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:529-536.
    """
    extra = config.argument("deepspeed_extra_args")
    for key in extra if isinstance(extra, dict) else ():
        if isinstance(key, str) and hasattr(extra, key):
            text = f"ValueError: Key {key} is already specified elsewhere."
            message = f"`{key}` is not accepted in `deepspeed_extra_args`: it is the name of a dictionary method"
            yield Finding(
                config.setting("deepspeed_extra_args", key),
                message,
                exception=text,
                on_key=True,
                help=f"remove `deepspeed_extra_args.{key}`",
            )


@neox_rule(
    "TYP305",
    "not-json-serializable",
    ERROR,
    old_names=("not-for-json",),
    fails_at="init",
    bad="{zero_optimization: {stage: 1, since: 2024-01-01}}\n",
    good='{zero_optimization: {stage: 1, since: "2024-01-01"}}\n',
    at="/zero_optimization/since",
)
def not_for_json(config: NeoXConfig) -> Iterator[Finding]:
    """A value inside a section cannot be serialized to JSON: a date, a set, binary data.

    The launcher passes its arguments to the workers as JSON. YAML parses an unquoted date as a date.

    Run-time error: `TypeError: Object of type date is not JSON serializable`.

    Fix: quote the value.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:625, 635.
    """
    for name, value in config.values.items():
        if isinstance(value, (dict, list)):
            for path, inner in _not_serializable(value, (name,)):
                text = f"TypeError: Object of type {type(inner).__name__} is not JSON serializable"
                setting = config.setting(*path)
                message = f"`{setting.name}` is a {type(inner).__name__}, which cannot be passed to the workers as JSON"
                yield Finding(setting, message, exception=text, help="quote it")


def _not_serializable(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Values inside mappings and lists that JSON cannot represent."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if isinstance(inner, (dict, list)):
            yield from _not_serializable(inner, (*path, key))
        elif inner is not None and not isinstance(inner, (str, int, float, bool, tuple)):
            yield (*path, key), inner
