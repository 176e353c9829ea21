"""Rules about values that every worker rejects when it builds the model: megatron/training.py:866-960 and megatron/model/."""

from __future__ import annotations

import re
from math import gcd

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.fields import choices, describe
from cfglint.frameworks.neox.rules import elsewhere
from cfglint.frameworks.neox.sizes import GATED, dense, own_attention, transformer, unbuildable, widths
from cfglint.frameworks.remedies import excludes, replace
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.numbers import is_number

SECONDS_TO_MATCH = 1.0  # of processor time for a regular expression of the file

SPARSE = ("local", "sparse_fixed", "sparse_variable", "bigbird", "bslongformer")
# Arguments that the type check compares case-insensitively, while the code that uses them is case-sensitive and raises.
CASED = {
    "norm": "ValueError: norm {} not recognized",
    "activation": "ValueError: Activation function {} not recognized",
    "init_method": "NotImplementedError: Unknown init method {}",
    "output_layer_init_method": "NotImplementedError: Unknown init method {}",
}


@rule("NEO060")
def zero_with_model_parallelism(config: NeoXConfig) -> Iterator[Finding]:
    stage, pipe, tensor = config.derived.worker_zero_stage, config.derived.pipe, config.derived.tensor
    if stage not in (2, 3) or pipe is None:
        return
    related = (config.setting("zero_optimization", "stage"),)
    if pipe == 1:
        setting = config.setting("pipe_parallel_size")
        message = f"`pipe_parallel_size: 1` enables the pipeline engine, which is incompatible with ZeRO stage {stage}"
        text = "SystemExit: ZeRO stage 2/3 and the PipelineModule are incompatible, please set 'pipe_parallel_size' to 0 instead"
        fix = replace(setting, 0, "set it to 0 to disable the pipeline engine")
        yield Finding(setting, message, related=related, exception=text, fix=fix)
    elif pipe > 1:
        text = "SystemExit: ZeRO stage 2/3 and pipeline paralleism are not supported simultaneously"
        message = f"`pipe_parallel_size` is {pipe}, but pipeline parallelism is incompatible with ZeRO stage {stage}"
        remedy = set_key("pipe_parallel_size", 0) | set_key("zero_optimization.stage", 1)
        yield Finding(config.setting("pipe_parallel_size"), message, related=related, exception=text, help=remedy)
    if pipe <= 1 and is_number(tensor) and tensor is not None and tensor > 1:
        text = "SystemExit: ZeRO stage 2/3 and model paralleism are not currently supported simultaneously"
        message = f"`model_parallel_size` is {tensor}, but model parallelism is incompatible with ZeRO stage {stage}"
        remedy = set_key("model_parallel_size", 1) | set_key("zero_optimization.stage", 1)
        yield Finding(config.setting("model_parallel_size"), message, related=related, exception=text, help=remedy)


@rule("NEO061")
def size_not_divisible_by_ranks(config: NeoXConfig) -> Iterator[Finding]:
    ranks = config.derived.tensor
    if type(ranks) is not int or ranks == 1:
        return
    sizes: dict[str, list[int]] = {}
    for name, size in _parts(config):
        if type(size) is int:
            sizes.setdefault(name, []).append(size)
    for name, of_one in sizes.items():
        size = next((size for size in of_one if size % ranks), None)  # the first one fails
        if size is None:
            continue
        exact, divisor = size == config.argument(name), gcd(*of_one)
        message = f"`{name}` is {size}" if exact else f"`{name}` gives an MLP width of {size}"
        words = f"{message}, which is not divisible by `model_parallel_size` ({ranks})"
        remedy = f"set `model_parallel_size` to a divisor of {divisor}" if divisor > 1 else set_key("model_parallel_size", 1)
        exception = "AssertionError" if name == "moe_num_experts" else f"AssertionError: {size} is not divisible by {ranks}"
        yield Finding(config.setting(name), words, help=remedy, related=(config.setting("model_parallel_size"),), exception=exception)


def _parts(config: NeoXConfig) -> Iterator[tuple[str, ConfigValue]]:
    """(argument, size) of every size that is split into equal parts."""
    if own_attention(config):
        yield "hidden_size", config.argument("hidden_size")
        yield "num_attention_heads", config.argument("num_attention_heads")
    experts = config.argument("moe_num_experts")
    if transformer(config) and is_number(experts) and experts > 1:
        yield "moe_num_experts", experts
    if dense(config):
        yield from widths(config)


@rule("NEO062")
def conflicting_mlp_width(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("intermediate_size") is None or config.argument("expansion_factor") is None:
        return
    attention = config.derived.attention
    if dense(config) or (attention is not None and attention.any("rwkv")):
        yield excludes(config.setting("expansion_factor"), config.setting("intermediate_size"), more="; set only one of them")


@rule("NEO102")
def mlp_layers_differ_in_width(config: NeoXConfig) -> Iterator[Finding]:
    sizes = list(widths(config)) if dense(config) else []
    ranks = config.derived.tensor
    if not sizes or type(ranks) is not int or ranks < 1 or any(size <= 0 or size % ranks for _, size in sizes):
        return
    (name, first), (_, second) = sizes
    gated = config.argument("activation") in GATED
    output = first // 2 if gated else first
    if output == second:
        return
    multiple = config.argument("mlp_multiple_of") * (3 if gated else 2)
    width = config.argument("intermediate_size") or 4 * config.argument("hidden_size")
    message = f"`{name}` gives an MLP whose first layer has {output} outputs and whose second layer has {second} inputs"
    related = (config.setting("mlp_multiple_of"), config.setting("activation"))
    remedy = set_key("intermediate_size", multiple * -(-width // multiple)) if name != "expansion_factor" else None
    yield Finding(config.setting(name), message, related=related, help=remedy, depends_on=config.rest)


@rule("NEO063")
def rotary_pct_out_of_range(config: NeoXConfig) -> Iterator[Finding]:
    fraction = config.argument("rotary_pct")
    if config.argument("pos_emb") == "rotary" and is_number(fraction) and fraction > 1 and own_attention(config):
        message = f"`rotary_pct` is {fraction}; it must be a fraction between 0 and 1"
        remedy = set_key("rotary_pct", fraction / 100) if 1 < fraction <= 100 else set_key("rotary_pct", 1.0)
        yield Finding(config.setting("rotary_pct"), message, exception="AssertionError", help=remedy)


@rule("NEO064")
def dropout_out_of_range(config: NeoXConfig) -> Iterator[Finding]:
    names = ["hidden_dropout"]
    attention = config.derived.attention
    if own_attention(config) and attention is not None and attention.any("global", "flash"):
        names.append("attention_dropout")
    for name in names:
        value = config.argument(name)
        if value is None:
            text = "TypeError: '<' not supported between instances of 'NoneType' and 'int'"
            yield Finding(config.setting(name), f"`{name}` is null, not a probability", exception=text, help=set_key(name, 0))
        elif is_number(value) and (value < 0 or value > 1):
            text = f"ValueError: dropout probability has to be between 0 and 1, but got {value}"
            remedy = set_key(name, value / 100) if 1 < value <= 100 else set_key(name, 0)
            yield Finding(config.setting(name), f"`{name}` is {value}; it must be between 0 and 1", exception=text, help=remedy)


@rule("NEO065")
def case_sensitive_name(config: NeoXConfig) -> Iterator[Finding]:
    for name, text in CASED.items():
        if name not in config.values or (name == "activation" and not dense(config)):
            continue
        value = config.values[name]
        allowed = choices(name)
        if value in allowed or not (value is None or str(value).lower() in allowed):
            continue
        setting = config.setting(name)
        lowered = str(value).lower()
        message = f"`{name}` is {describe(value)}, but its values are case-sensitive"
        if value is None:
            message = f"`{name}` is null; it must be one of {', '.join(allowed)}"
        fix = replace(setting, lowered, f"change to {lowered}") if value is not None else None
        yield Finding(setting, message, exception=text.format(value), fix=fix)


@rule("NEO066")
def unsupported_sparse_attention(config: NeoXConfig) -> Iterator[Finding]:
    attention = config.derived.attention
    if attention is None or config.argument("attention_config") is None or not own_attention(config):
        return
    sparse = [kind for kind in attention.kinds if kind in SPARSE]
    if sparse:
        message = f"`attention_config` has {', '.join(sparse)} layers, which the pinned DeepSpeed does not support"
        yield Finding(config.setting("attention_config"), message, help="use global or flash attention in `attention_config`")


@rule("NEO067")
def invalid_rwkv_sizes(config: NeoXConfig) -> Iterator[Finding]:
    attention = config.derived.attention
    if attention is None or not attention.any("rwkv") or config.argument("attention_config") is None:
        return
    hidden, inner, heads = (config.argument(name) for name in ("hidden_size", "dim_att", "num_attention_heads"))
    if is_number(hidden) and hidden % 32:
        message = f"`hidden_size` is {hidden}; RWKV layers require a multiple of 32"
        multiple = -(-hidden // 32) * 32
        yield Finding(config.setting("hidden_size"), message, exception="AssertionError", help=set_key("hidden_size", multiple))
    if inner is None:
        if not elsewhere(config, "dim_att"):
            text = "TypeError: unsupported operand type(s) for %: 'NoneType' and 'int'"
            words = "`attention_config` has RWKV layers, which require `dim_att`"
            remedy = set_key("dim_att", hidden) if is_number(hidden) else "set `dim_att`"
            yield Finding(config.setting("attention_config"), words, exception=text, help=remedy)
    elif is_number(inner) and (inner % 32 or (is_number(heads) and heads and inner % heads)):
        words = f"`dim_att` is {inner}; RWKV layers require a multiple of 32 and of `num_attention_heads` ({heads})"
        yield Finding(config.setting("dim_att"), words, exception="AssertionError", help="set `dim_att` to a multiple of both")


@rule("NEO068")
def invalid_pipe_partition_method(config: NeoXConfig) -> Iterator[Finding]:
    pipe, method = config.derived.pipe, config.argument("pipe_partition_method")
    if pipe is None or "pipe_partition_method" not in config.values:
        return
    severity = ERROR if pipe > 1 else WARNING
    for message, text in _partitioning(config, method):
        remedy = set_key("pipe_partition_method", "uniform") | set_key("pipe_partition_method", "parameters")
        yield Finding(config.setting("pipe_partition_method"), message, exception=text, severity=severity, help=remedy)


def _partitioning(config: NeoXConfig, method: object) -> Iterator[tuple[str, str]]:
    """(message, exception) for a method that does not partition the layers."""
    if not isinstance(method, str):
        if method is None:
            yield "`pipe_partition_method` is null, not a string", "AttributeError: 'NoneType' object has no attribute 'lower'"
        return
    lowered = method.lower()
    if lowered in ("uniform", "parameters"):
        return
    if not lowered.startswith("type:"):
        message = f"`pipe_partition_method` is {describe(method)}; it must be uniform, parameters or type:REGEX"
        yield message, f"NotImplementedError: Partitioning method {lowered} not implemented."
        return
    attention = config.derived.attention
    if attention is None:
        return
    # The class and function names of the layers that can be in a stage.
    classes = {"gmlp": "GMLPBlock", "amlp": "GMLPBlock", "rwkv": "RWKVResidualLayerPipe", "mamba": "ParallelMambaResidualLayerPipe"}
    names = [classes.get(str(kind), "ParallelTransformerLayerPipe") for kind in attention.kinds]
    last = "ParallelLinearPipe" if config.argument("no_weight_tying") else "EmbeddingPipe"
    layers = ["EmbeddingPipe", "_pre_transformer_block", *names, "_post_transformer_block", "NormPipe", last]

    from cfglint.source.time_limit import TimeLimit, TimeLimitExceeded

    expression = lowered.split(":")[1]
    try:
        with TimeLimit(SECONDS_TO_MATCH):
            found = any(re.search(expression, layer, re.IGNORECASE) for layer in layers)
    except TimeLimitExceeded:
        return
    except re.error as error:
        yield f"`pipe_partition_method` is {expression}, not a valid regular expression: {error}", f"re.error: {error}"
        return
    if not found:
        text = f"RuntimeError: Partitioning '{expression}' found no valid layers to partition."
        yield f"`pipe_partition_method` is {describe(method)}, which matches no layer class", text


@rule("NEO069")
def incompatible_fusion(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("norm") == "non_parametric_layernorm" and config.argument("layernorm_fusion"):
        text = "ValueError: neox_args.layernorm_fusion not supported for non_parametric_layernorm"
        message = "`layernorm_fusion` does not support `norm: non_parametric_layernorm`"
        remedy = set_key("layernorm_fusion", False) | set_key("norm", "layernorm")
        yield Finding(config.setting("layernorm_fusion"), message, related=(config.setting("norm"),), exception=text, help=remedy)
    fused = config.argument("onnx_safe") and config.argument("bias_gelu_fusion")
    if fused and config.argument("activation") == "gelu" and transformer(config):
        text = "ValueError: onnx_safe + bias_gelu_fusion not compatible"
        setting = config.setting("bias_gelu_fusion")
        message = "`bias_gelu_fusion` is incompatible with `onnx_safe`"
        remedy = set_key("bias_gelu_fusion", False) | set_key("onnx_safe", False)
        yield Finding(setting, message, related=(config.setting("onnx_safe"),), exception=text, help=remedy)


@rule("NEO058")
def invalid_model_size(config: NeoXConfig) -> Iterator[Finding]:
    for name, message, exception in unbuildable(config):
        yield Finding(config.setting(name), message, exception=exception)


@rule("NEO059")
def invalid_output_layer_parallelism(config: NeoXConfig) -> Iterator[Finding]:
    value = config.argument("output_layer_parallelism")
    separate = config.argument("no_weight_tying") and config.argument("train_impl") != "rm"
    if separate and value != "column" and (value is None or str(value).lower() == "column"):
        setting = config.setting("output_layer_parallelism")
        message = f"`output_layer_parallelism` is {describe(value)}; it must be `column`"
        yield Finding(setting, message, fix=replace(setting, "column", "change to column"))


@rule("NEO057")
def unsupported_orthogonal_init(config: NeoXConfig) -> Iterator[Finding]:
    for name in ("init_method", "output_layer_init_method"):
        if config.argument(name) == "orthogonal" and config.argument("mup_init_scale"):
            message = f"`{name}: orthogonal` is broken in this release of GPT-NeoX"
            yield Finding(config.setting(name), message, help=set_key(name, "scaled_orthogonal"))
