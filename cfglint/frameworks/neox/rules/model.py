"""What every worker refuses when it builds the model: megatron/training.py:866-960 and megatron/model/."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import Finding
from cfglint.frameworks.neox.layers import dense, own_attention, transformer
from cfglint.frameworks.neox.python_errors import describe, number
from cfglint.frameworks.neox.rules import elsewhere, neox_rule, replace
from cfglint.frameworks.neox.sizes import unbuildable, widths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.neox.config import NeoXConfig

SPARSE = ("local", "sparse_fixed", "sparse_variable", "bigbird", "bslongformer")
# Arguments whose allowed values the type check compares without case, and whose users compare with it and raise.
CASED = {
    "norm": "ValueError: norm {} not recognized",
    "activation": "ValueError: Activation function {} not recognized",
    "init_method": "NotImplementedError: Unknown init method {}",
    "output_layer_init_method": "NotImplementedError: Unknown init method {}",
}


@neox_rule(
    "NEO060",
    "zero-with-model-parallelism",
    ERROR,
    fails_at="init",
    raises="SystemExit",
    bad="{zero_optimization: {stage: 2}, pipe_parallel_size: 1}\n",
    good="{zero_optimization: {stage: 2}, pipe_parallel_size: 0}\n",
    fixed="{zero_optimization: {stage: 2}, pipe_parallel_size: 0}\n",
    at="/pipe_parallel_size",
)
def zero_with_model_parallelism(config: NeoXConfig) -> Iterator[Finding]:
    """ZeRO stage 2 or 3 together with the pipeline engine or model parallelism.

    The workers print a line and leave **with exit status 0**, so a job scheduler books a success.
    `pipe_parallel_size: 1` counts: it is a pipeline of one stage. Off is 0.

    Run-time text: `ZeRO stage 2/3 and the PipelineModule are incompatible, please set 'pipe_parallel_size' to
    0 instead`, `ZeRO stage 2/3 and pipeline paralleism are not supported simultaneously`, `ZeRO stage 2/3
    and model paralleism are not currently supported simultaneously`.

    Fix: `pipe_parallel_size: 0` where it is 1; else ZeRO stage 1, or no model parallelism.

    Source: gpt-neox (May 2026) megatron/training.py:876-893.
    """
    stage, pipe, tensor = config.derived.worker_zero_stage, config.derived.pipe, config.derived.tensor
    if stage not in (2, 3) or pipe is None:
        return
    related = (config.setting("zero_optimization", "stage"),)
    if pipe == 1:
        setting = config.setting("pipe_parallel_size")
        message = f"ZeRO stage {stage} does not go with the pipeline engine, and 1 switches it on (with one stage); off is 0"
        text = "SystemExit: ZeRO stage 2/3 and the PipelineModule are incompatible, please set 'pipe_parallel_size' to 0 instead"
        fix = replace(setting, 0, "switch the pipeline engine off")
        yield Finding(setting, message, related=related, exception=text, fix=fix)
    elif pipe > 1:
        text = "SystemExit: ZeRO stage 2/3 and pipeline paralleism are not supported simultaneously"
        message = f"ZeRO stage {stage} does not go with pipeline parallelism"
        yield Finding(config.setting("pipe_parallel_size"), message, related=related, exception=text)
    if pipe <= 1 and number(tensor) and tensor is not None and tensor > 1:
        text = "SystemExit: ZeRO stage 2/3 and model paralleism are not currently supported simultaneously"
        message = f"ZeRO stage {stage} does not go with model parallelism"
        yield Finding(config.setting("model_parallel_size"), message, related=related, exception=text)


@neox_rule(
    "NEO061",
    "sizes-over-ranks",
    ERROR,
    fails_at="init",
    bad="{model_parallel_size: 4, num_attention_heads: 6, hidden_size: 96, num_layers: 2}\n",
    good="{model_parallel_size: 4, num_attention_heads: 8, hidden_size: 96, num_layers: 2}\n",
    at="/num_attention_heads",
)
def sizes_over_ranks(config: NeoXConfig) -> Iterator[Finding]:
    """A size of the model does not divide over the model-parallel ranks.

    Each rank holds an equal part of the hidden size, of the heads, of the MLP and of the experts. For gated
    activations the width of the MLP is two thirds of what is written; `mlp_multiple_of` rounds it up.

    Run-time errors: `AssertionError: 6 is not divisible by 4`; `AssertionError` without a text for experts.

    Fix: sizes that are multiples of `model_parallel_size`.

    Source: gpt-neox (May 2026) megatron/mpu/utils.py:24, megatron/model/transformer.py:119-160, 302-308,
    megatron/model/gmlp.py:116, megatron/model/moe.py:46.
    """
    ranks = config.derived.tensor
    if type(ranks) is not int or ranks == 1:
        return
    for name, size in _parts(config):
        if type(size) is int and size % ranks:
            exact = size == config.argument(name)
            message = f"`{name}` {size}" if exact else f"the width that `{name}` comes to, {size},"
            yield Finding(
                config.setting(name),
                f"{message} does not divide over {ranks} model-parallel ranks",
                related=(config.setting("model_parallel_size"),),
                exception="AssertionError" if name == "moe_num_experts" else f"AssertionError: {size} is not divisible by {ranks}",
            )


def _parts(config: NeoXConfig) -> Iterator[tuple[str, Any]]:
    """(argument, size) of everything that is cut into equal parts."""
    if own_attention(config):
        yield "hidden_size", config.argument("hidden_size")
        yield "num_attention_heads", config.argument("num_attention_heads")
    experts = config.argument("moe_num_experts")
    if transformer(config) and number(experts) and experts > 1:
        yield "moe_num_experts", experts
    if dense(config):
        yield from widths(config)


@neox_rule(
    "NEO062",
    "width-given-twice",
    ERROR,
    fails_at="init",
    raises="AssertionError: Must pass either the absolute intermediate size or the relative expansion factor for the mamba projections",
    bad="{num_layers: 2, intermediate_size: 256, expansion_factor: 4.0}\n",
    good="{num_layers: 2, intermediate_size: 256}\n",
    at="/expansion_factor",
)
def width_given_twice(config: NeoXConfig) -> Iterator[Finding]:
    """`intermediate_size` and `expansion_factor` are both given.

    Run-time error: `AssertionError: Must pass either the absolute intermediate size or the relative expansion
    factor for the mamba projections` (in every kind of layer, whatever the text says).

    Fix: take one out.

    Source: gpt-neox (May 2026) megatron/model/transformer.py:106, megatron/model/rwkv/v6/rwkv.py:278.
    """
    if config.argument("intermediate_size") is None or config.argument("expansion_factor") is None:
        return
    attention = config.derived.attention
    if dense(config) or (attention is not None and attention.any("rwkv")):
        setting = config.setting("expansion_factor")
        yield Finding(setting, "the width of the MLP is given twice", related=(config.setting("intermediate_size"),))


@neox_rule(
    "NEO063",
    "rotary-share",
    ERROR,
    fails_at="init",
    bad="{num_layers: 2, pos_emb: rotary, rotary_pct: 25}\n",
    good="{num_layers: 2, pos_emb: rotary, rotary_pct: 0.25}\n",
    at="/rotary_pct",
)
def rotary_share(config: NeoXConfig) -> Iterator[Finding]:
    """`rotary_pct` is more than 1.

    It is a share of the head's dimensions, not a percentage.

    Run-time error: `AssertionError` without a text.

    Fix: 0.25 for a quarter.

    Source: gpt-neox (May 2026) megatron/model/transformer.py:383-390.
    """
    share = config.argument("rotary_pct")
    if config.argument("pos_emb") == "rotary" and number(share) and share > 1 and own_attention(config):
        yield Finding(config.setting("rotary_pct"), f"{share} is not a share between 0 and 1", exception="AssertionError")


@neox_rule(
    "NEO064",
    "dropout-range",
    ERROR,
    fails_at="init",
    bad="{num_layers: 2, hidden_dropout: 10}\n",
    good="{num_layers: 2, hidden_dropout: 0.1}\n",
    at="/hidden_dropout",
)
def dropout_range(config: NeoXConfig) -> Iterator[Finding]:
    """A dropout that is no probability.

    Run-time errors: `ValueError: dropout probability has to be between 0 and 1, but got 10`, `TypeError: '<'
    not supported between instances of 'NoneType' and 'int'`.

    Fix: 0.1 for ten percent; leave it out for none.

    Source: gpt-neox (May 2026) megatron/model/word_embeddings.py:115, megatron/model/transformer.py:439.
    """
    names = ["hidden_dropout"]
    attention = config.derived.attention
    if own_attention(config) and attention is not None and attention.any("global", "flash"):
        names.append("attention_dropout")
    for name in names:
        value = config.argument(name)
        if value is None:
            text = "TypeError: '<' not supported between instances of 'NoneType' and 'int'"
            yield Finding(config.setting(name), f"`{name}` is null, not a probability", exception=text)
        elif number(value) and (value < 0 or value > 1):
            text = f"ValueError: dropout probability has to be between 0 and 1, but got {value}"
            yield Finding(config.setting(name), f"`{name}` {value} is no probability", exception=text)


@neox_rule(
    "NEO065",
    "name-in-another-case",
    ERROR,
    fails_at="init",
    bad="{num_layers: 2, norm: RMSNorm}\n",
    good="{num_layers: 2, norm: rmsnorm}\n",
    fixed="{num_layers: 2, norm: rmsnorm}\n",
    at="/norm",
)
def name_in_another_case(config: NeoXConfig) -> Iterator[Finding]:
    """A name that passes the type check in any case, and that the model knows in one case only.

    The check of allowed values lowers both sides; the code that builds norms, activations and initial
    weights compares exactly. null passes the check too, and is no name either.

    Run-time errors: `ValueError: norm RMSNorm not recognized`, `ValueError: Activation function SwiGLU not
    recognized`, `NotImplementedError: Unknown init method Small_Init`.

    Fix: write it as the list of values has it.

    Source: gpt-neox (May 2026) megatron/model/norms.py:58, activations.py:65, init_functions.py:225;
    megatron/neox_arguments/arguments.py:1389-1395.
    """
    from cfglint.frameworks.neox.fields import choices

    for name, text in CASED.items():
        if name not in config.values or (name == "activation" and not dense(config)):
            continue
        value = config.values[name]
        allowed = choices(name)
        if value in allowed or not (value is None or str(value).lower() in allowed):
            continue
        setting = config.setting(name)
        meant = str(value).lower()
        message = f"`{name}` is {describe(value)}, and the model knows {meant if value is not None else 'no such name'} only"
        fix = replace(setting, meant, f"write {meant}") if value is not None else None
        yield Finding(setting, message, exception=text.format(value), fix=fix)


@neox_rule(
    "NEO066",
    "sparse-attention-broken",
    ERROR,
    fails_at="init",
    raises="TypeError: SparseSelfAttention.__init__() got an unexpected keyword argument 'mpu'",
    bad='{num_layers: 2, attention_config: [[["local", "global"], "all"]]}\n',
    good='{num_layers: 2, attention_config: [[["flash"], "all"]]}\n',
    at="/attention_config",
)
def sparse_attention_broken(config: NeoXConfig) -> Iterator[Finding]:
    """Sparse attention, which the DeepSpeed that GPT-NeoX pins no longer supports.

    Layers of the kinds `local`, `sparse_fixed`, `sparse_variable`, `bigbird` and `bslongformer` call a class
    of DeeperSpeed with an argument that it has lost.

    Run-time error: `TypeError: SparseSelfAttention.__init__() got an unexpected keyword argument 'mpu'`.

    Fix: `global` or `flash` layers; `sliding_window_width` for a local window.

    Source: gpt-neox (May 2026) megatron/model/utils.py:356; DeeperSpeed 91d1c55
    deepspeed/ops/sparse_attention/sparse_self_attention.py.
    """
    attention = config.derived.attention
    if attention is None or config.argument("attention_config") is None or not own_attention(config):
        return
    sparse = [kind for kind in attention.kinds if kind in SPARSE]
    if sparse:
        yield Finding(config.setting("attention_config"), f"the pinned DeepSpeed cannot build {', '.join(sparse)} layers")


@neox_rule(
    "NEO067",
    "rwkv-sizes",
    ERROR,
    fails_at="init",
    bad='{num_layers: 2, hidden_size: 64, num_attention_heads: 2, attention_config: [[["rwkv"], 2]]}\n',
    good='{num_layers: 2, hidden_size: 64, num_attention_heads: 2, dim_att: 64, attention_config: [[["rwkv"], 2]]}\n',
    at="/attention_config",
)
def rwkv_sizes(config: NeoXConfig) -> Iterator[Finding]:
    """The sizes of RWKV layers.

    `dim_att` has to be given: the code that fills it in asks whether the attribute exists, and it does, as
    None. `hidden_size` and `dim_att` are multiples of 32, `dim_att` is one of the heads.

    Run-time errors: `TypeError: unsupported operand type(s) for %: 'NoneType' and 'int'`, `AssertionError`
    without a text.

    Fix: write `dim_att`, equal to `hidden_size`.

    Source: gpt-neox (May 2026) megatron/model/rwkv/v6/rwkv.py:281-298.
    """
    attention = config.derived.attention
    if attention is None or not attention.any("rwkv") or config.argument("attention_config") is None:
        return
    hidden, inner, heads = (config.argument(name) for name in ("hidden_size", "dim_att", "num_attention_heads"))
    if number(hidden) and hidden % 32:
        yield Finding(config.setting("hidden_size"), f"{hidden} is not a multiple of 32, as RWKV needs", exception="AssertionError")
    if inner is None:
        if not elsewhere(config, "dim_att"):
            text = "TypeError: unsupported operand type(s) for %: 'NoneType' and 'int'"
            yield Finding(config.setting("attention_config"), "RWKV layers need `dim_att`", exception=text)
    elif number(inner) and (inner % 32 or (number(heads) and heads and inner % heads)):
        yield Finding(
            config.setting("dim_att"),
            f"{inner} is not a multiple of 32 and of the {heads} heads, as RWKV needs",
            exception="AssertionError",
        )


@neox_rule(
    "NEO068",
    "pipe-partition-method",
    ERROR,
    fails_at="init",
    bad="{pipe_parallel_size: 2, num_layers: 4, pipe_partition_method: even}\n",
    good="{pipe_parallel_size: 2, num_layers: 4, pipe_partition_method: parameters}\n",
    at="/pipe_partition_method",
)
def pipe_partition_method(config: NeoXConfig) -> Iterator[Finding]:
    """`pipe_partition_method` names no way to cut the layers into stages.

    There are `uniform`, `parameters` and `type:REGEX`, where the expression is looked for, without regard
    to case, in the names of the layers' classes, such as ParallelTransformerLayerPipe. It has to match some
    layer. (`profile` is named in the code and not implemented.)

    Run-time errors: `NotImplementedError: Partitioning method even not implemented.`, `RuntimeError:
    Partitioning 'x' found no valid layers to partition.`, `re.error`.

    Without a pipeline the layers are still cut into one stage, by the same code; there the finding is a
    warning, for no run was seen to die of it.

    Fix: `type:transformer` cuts at transformer layers, `parameters` and `uniform` by their number.

    Source: DeeperSpeed 91d1c55 (0.16.5) deepspeed/runtime/pipe/module.py:192, 317-420.
    """
    pipe, method = config.derived.pipe, config.argument("pipe_partition_method")
    if pipe is None or "pipe_partition_method" not in config.values:
        return
    severity = ERROR if pipe > 1 else WARNING
    for message, text in _partitioning(config, method):
        yield Finding(config.setting("pipe_partition_method"), message, exception=text, severity=severity)


def _partitioning(config: NeoXConfig, method: Any) -> Iterator[tuple[str, str]]:
    """(message, exception) for a method that does not cut the layers."""
    if not isinstance(method, str):
        if method is None:
            yield "the method is null", "AttributeError: 'NoneType' object has no attribute 'lower'"
        return
    lowered = method.lower()
    if lowered in ("uniform", "parameters"):
        return
    if not lowered.startswith("type:"):
        yield f"there is no partition method {method!r}", f"NotImplementedError: Partitioning method {lowered} not implemented."
        return
    if config.derived.attention is None:
        return
    import re

    expression = lowered.split(":")[1]
    try:
        found = any(re.search(expression, layer, re.IGNORECASE) for layer in _layers(config))
    except re.error as wrong:
        yield f"{expression!r} is no regular expression: {wrong}", f"re.error: {wrong}"
        return
    if not found:
        text = f"RuntimeError: Partitioning '{expression}' found no valid layers to partition."
        yield f"no layer's class has a name with {expression!r} in it", text


def _layers(config: NeoXConfig) -> list[str]:
    """The class and function names of the layers that a stage can be made of."""
    classes = {"gmlp": "GMLPBlock", "amlp": "GMLPBlock", "rwkv": "RWKVResidualLayerPipe", "mamba": "ParallelMambaResidualLayerPipe"}
    attention = config.derived.attention
    names = [classes.get(str(kind), "ParallelTransformerLayerPipe") for kind in (attention.kinds if attention else ())]
    last = "ParallelLinearPipe" if config.argument("no_weight_tying") else "EmbeddingPipe"
    return ["EmbeddingPipe", "_pre_transformer_block", *names, "_post_transformer_block", "NormPipe", last]


@neox_rule(
    "NEO069",
    "fusion-incompatible",
    ERROR,
    fails_at="init",
    bad="{num_layers: 2, norm: non_parametric_layernorm, layernorm_fusion: true}\n",
    good="{num_layers: 2, norm: layernorm, layernorm_fusion: true}\n",
    at="/layernorm_fusion",
)
def fusion_incompatible(config: NeoXConfig) -> Iterator[Finding]:
    """A fused kernel that does not go with another setting.

    Run-time errors: `ValueError: neox_args.layernorm_fusion not supported for non_parametric_layernorm`,
    `ValueError: onnx_safe + bias_gelu_fusion not compatible`.

    Fix: turn the fusion off.

    Source: gpt-neox (May 2026) megatron/model/norms.py:38-41, megatron/model/activations.py:46-47.
    """
    if config.argument("norm") == "non_parametric_layernorm" and config.argument("layernorm_fusion"):
        text = "ValueError: neox_args.layernorm_fusion not supported for non_parametric_layernorm"
        yield Finding(
            config.setting("layernorm_fusion"), "this norm has no fused kernel", related=(config.setting("norm"),), exception=text
        )
    fused = config.argument("onnx_safe") and config.argument("bias_gelu_fusion")
    if fused and config.argument("activation") == "gelu" and transformer(config):
        text = "ValueError: onnx_safe + bias_gelu_fusion not compatible"
        setting = config.setting("bias_gelu_fusion")
        yield Finding(setting, "`onnx_safe` does not go with the fused GELU", related=(config.setting("onnx_safe"),), exception=text)


@neox_rule(
    "NEO058",
    "model-not-buildable",
    ERROR,
    fails_at="init",
    bad="{num_layers: 2, hidden_size: 64, num_attention_heads: -4, pos_emb: rotary, seq_length: 128}\n",
    good="{num_layers: 2, hidden_size: 64, num_attention_heads: 4, pos_emb: rotary, seq_length: 128}\n",
    at="/num_attention_heads",
)
def model_not_buildable(config: NeoXConfig) -> Iterator[Finding]:
    """A size with which no layer can be built: zero, negative, or null.

    The launcher checks how the sizes relate, not that they are positive, and null passes its type check; the
    workers then take square roots of them, divide by them and allocate tensors of them.

    Run-time errors: `ValueError: math domain error`, `ZeroDivisionError: float division by zero`,
    `RuntimeError: Trying to create tensor with negative dimension -4096`, `RuntimeError: upper bound and
    lower bound inconsistent with step sign`, `TypeError: arange(): argument 'end' (position 1) must be Number,
    not NoneType`, `TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'`.

    Fix: a positive whole number.

    Source: gpt-neox (May 2026) megatron/model/init_functions.py:33-175, transformer.py:119-160, 340,
    positional_embeddings.py:40-70, gmlp.py:61, megatron/tokenizer/tokenizer.py:70-77.
    """
    for name, message, exception in unbuildable(config):
        yield Finding(config.setting(name), message, exception=exception)


@neox_rule(
    "NEO059",
    "output-layer-parallelism",
    ERROR,
    fails_at="init",
    raises="SystemExit: ERROR: Output layer parallelism over the hidden dim is currently broken",
    bad="{num_layers: 2, no_weight_tying: true, output_layer_parallelism: null}\n",
    good="{num_layers: 2, no_weight_tying: true, output_layer_parallelism: column}\n",
    fixed="{num_layers: 2, no_weight_tying: true, output_layer_parallelism: column}\n",
    at="/output_layer_parallelism",
)
def output_layer_parallelism(config: NeoXConfig) -> Iterator[Finding]:
    """`output_layer_parallelism` is not exactly `column`.

    null and another case pass the type check. The workers print a line and leave **with exit status 0**. It
    counts with `no_weight_tying` only.

    Run-time text: `ERROR: Output layer parallelism over the hidden dim is currently broken`.

    Fix: `output_layer_parallelism: column`.

    Source: gpt-neox (May 2026) megatron/model/transformer.py:216-236.
    """
    value = config.argument("output_layer_parallelism")
    separate = config.argument("no_weight_tying") and config.argument("train_impl") != "rm"
    if separate and value != "column" and (value is None or str(value).lower() == "column"):
        setting = config.setting("output_layer_parallelism")
        yield Finding(
            setting, f"the output layer is split by `column`, not {describe(value)}", fix=replace(setting, "column", "write column")
        )


@neox_rule(
    "NEO057",
    "orthogonal-broken",
    ERROR,
    fails_at="init",
    raises="ValueError: Orthogonal init needs to be patched to support mup. Disable mup or use a different init method to avoid this error",
    bad="{num_layers: 2, init_method: orthogonal}\n",
    good="{num_layers: 2, init_method: scaled_orthogonal}\n",
    at="/init_method",
)
def orthogonal_broken(config: NeoXConfig) -> Iterator[Finding]:
    """Orthogonal initial weights, which GPT-NeoX can no longer make.

    The call leaves out an argument, so that `mup_init_scale` (1.0) arrives where muP is switched on, which this
    method refuses. `scaled_orthogonal` is called rightly.

    Run-time error: `ValueError: Orthogonal init needs to be patched to support mup. Disable mup or use a
    different init method to avoid this error`.

    Fix: another method.

    Source: gpt-neox (May 2026) megatron/model/init_functions.py:95-113, 200-201.
    """
    for name in ("init_method", "output_layer_init_method"):
        if config.argument(name) == "orthogonal" and config.argument("mup_init_scale"):
            yield Finding(config.setting(name), "orthogonal initial weights cannot be made; `scaled_orthogonal` can")
