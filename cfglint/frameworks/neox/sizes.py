"""Model sizes with which the layers of a GPT-NeoX model cannot be built.

Source: gpt-neox 2026-05 megatron/model/init_functions.py:33-175, transformer.py:106-160, 296-400, 893-900,
positional_embeddings.py:38-70, gmlp.py:30-61, megatron/tokenizer/tokenizer.py:70-77.
"""

from __future__ import annotations

import math

from cfglint.findings.wording import spelled
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.fields import raised
from cfglint.source.annotations import Callable, Iterator, Operand
from cfglint.source.numbers import is_number

Unbuildable = tuple[str, str, str]  # argument, message, exception

INITIALIZATIONS = ("init_method", "output_layer_init_method")
SCALED_NORMAL = ("scaled_normal", "single_residual_scaled_normal")
GATED = ("geglu", "reglu", "bilinear", "swiglu", "glu")
NEGATIVE = "RuntimeError: Trying to create tensor with negative dimension {}"
SIZES = ("hidden_size", "num_layers")
OF_LAYERS = "num_attention_heads hidden_size seq_length rotary_pct rotary_emb_base mlp_multiple_of gmlp_attn_dim".split()
RANGE = "RuntimeError: upper bound and lower bound inconsistent with step sign"


def unbuildable(config: NeoXConfig) -> Iterator[Unbuildable]:
    """Every size on which a worker fails, with the exception."""
    argument = config.argument
    multiple, ranks, hidden, layers = argument("make_vocab_size_divisible_by"), config.derived.tensor, *map(argument, SIZES)
    if multiple is None or (is_number(multiple) and multiple == 0):
        error = raised(lambda: 1 % (multiple * (ranks or 1)))
        message = f"`make_vocab_size_divisible_by` is {spelled(multiple)}; it must be a positive integer"
        yield "make_vocab_size_divisible_by", message, error or ""
    std, methods = argument("init_method_std"), {name: argument(name) for name in INITIALIZATIONS}
    scaled = next((f"`{name}` {method}" for name, method in methods.items() if method in SCALED_NORMAL), "")
    if std is None and scaled and is_number(layers):
        text = "TypeError: unsupported operand type(s) for /: 'NoneType' and 'float'"
        yield "init_method_std", f"`init_method_std` is null; {scaled} requires a number", text
    elif (scaled or "normal" in methods.values()) and is_number(std) and -1e308 < std < 0:
        text = f"RuntimeError: normal expects std >= 0.0, but found std {float(std)}"
        yield "init_method_std", f"`init_method_std` is {std}; it must be >= 0", text
    for name, method in methods.items():  # which computes a deviation from the sizes when it is selected
        if method in SCALED_NORMAL and std is not None and is_number(layers) and (error := raised(lambda: 1.0 / math.sqrt(layers))):
            yield "num_layers", f"`num_layers` is {layers}; `{name}` {method} requires a positive integer", error
        error = None
        if method == "small_init" and is_number(hidden):
            error = raised(lambda: math.sqrt(2 / (5 * hidden)))
        elif method == "wang_init" and is_number(hidden) and is_number(layers):
            error = raised(lambda: 2 / layers / math.sqrt(hidden))
        if error:
            size = "num_layers" if method == "wang_init" and not layers else "hidden_size"
            yield size, f"`{size}` is {spelled(argument(size))}; `{name}` {method} requires a positive integer", error
    positions, interval = argument("max_position_embeddings"), argument("moe_expert_interval")
    if is_number(hidden) and hidden < 0:
        yield "hidden_size", f"`hidden_size` is {hidden}; it must be positive", NEGATIVE.format(hidden)
    if argument("pos_emb") == "learned" and is_number(positions) and positions < 0:
        yield "max_position_embeddings", f"`max_position_embeddings` is {positions}; it must be positive", NEGATIVE.format(positions)
    # The positions of the expert layers are computed for every transformer layer, with or without experts.
    if transformer(config) and (interval is None or is_number(interval)) and (error := raised(lambda: 1 % interval)):
        yield "moe_expert_interval", f"`moe_expert_interval` is {spelled(interval)}; it must not be 0 or null", error
    yield from _of_layers(config)


def _of_layers(config: NeoXConfig) -> Iterator[Unbuildable]:
    """The sizes on which attention, MLP and gMLP blocks fail."""
    heads, hidden, length, fraction, base, multiple, size = map(config.argument, OF_LAYERS)
    if own_attention(config) and is_number(heads) and is_number(hidden) and heads and heads < 0 < hidden:
        yield "num_attention_heads", f"`num_attention_heads` is {heads}; it must be positive", "ValueError: math domain error"
    if own_attention(config) and config.argument("pos_emb") == "rotary":
        if fraction is None:
            text = "TypeError: '<' not supported between instances of 'NoneType' and 'int'"
            yield "rotary_pct", "`rotary_pct` is null; rotary embeddings require a number", text
        elif is_number(fraction) and fraction < 0:
            yield "rotary_pct", f"`rotary_pct` is {fraction}; it must be a fraction between 0 and 1", RANGE
        if base is None:
            text = "TypeError: unsupported operand type(s) for ** or pow(): 'NoneType' and 'Tensor'"
            yield "rotary_emb_base", "`rotary_emb_base` is null; rotary embeddings require a number", text
        yield from _length(config, length, "TypeError: arange(): argument 'end' (position 1) must be Number, not NoneType", RANGE)
    if dense(config):
        if multiple is None or (multiple == 0 and is_number(multiple)):
            null = "TypeError: unsupported operand type(s) for *: 'int' and 'NoneType'"
            text = null if multiple is None else "ZeroDivisionError: integer division or modulo by zero"
            yield "mlp_multiple_of", f"`mlp_multiple_of` is {spelled(multiple)}; it must be a positive integer", text
        ranks = config.derived.tensor or 1
        for name, width in widths(config):
            if width < 0 and not (is_number(ranks) and width % ranks) and name != "hidden_size":
                yield name, f"`{name}` gives an MLP width of {width}; it must be positive", NEGATIVE.format(width)
                break
    attention = config.derived.attention
    if attention is not None and attention.any("gmlp", "amlp"):  # a matrix over the positions, and an attention with a size of its own
        null = "TypeError: empty(): argument 'size' (position 1) must be tuple of ints, but found element of type NoneType at pos 0"
        yield from _length(config, length, null, NEGATIVE.format(length))
        if attention.any("amlp") and is_number(size) and size <= 0:
            text = NEGATIVE.format(3 * size) if size else "ZeroDivisionError: 0.0 cannot be raised to a negative power"
            yield "gmlp_attn_dim", f"`gmlp_attn_dim` is {size}; aMLP layers require a positive integer", text


def _length(config: NeoXConfig, length: Operand, null: str, negative: str) -> Iterator[Unbuildable]:
    if length is None and (config.facts.complete or "seq_length" in config.values):
        yield "seq_length", "`seq_length` is missing; the layers require it", null
    elif is_number(length) and length < 0:
        yield "seq_length", f"`seq_length` is {length}; it must be positive", negative


def truncated(product: Callable[[], float]) -> int | None:
    """A product truncated to an integer; None where it is not finite."""
    try:
        return int(product())
    except (OverflowError, TypeError, ValueError):
        return None


def widths(config: NeoXConfig) -> Iterator[tuple[str, int]]:
    hidden, multiple = config.argument("hidden_size"), config.argument("mlp_multiple_of")
    absolute, factor = config.argument("intermediate_size"), config.argument("expansion_factor")
    if not is_number(hidden) or type(multiple) is not int or multiple < 1 or (absolute is not None and factor is not None):
        return
    if absolute:
        name, width = "intermediate_size", absolute
    elif factor:
        name, width = "expansion_factor", truncated(lambda: factor * hidden)
    else:
        name, width = "hidden_size", 4 * hidden
    if type(width) is not int:
        return
    inner = width
    if config.argument("activation") in GATED:
        two_thirds = truncated(lambda: width * 2 / 3)
        if two_thirds is None:
            return
        width, inner = two_thirds, two_thirds // 2
    yield name, 2 * multiple * -(-width // (2 * multiple))
    yield name, multiple * -(-inner // multiple)


def transformer(config: NeoXConfig) -> bool:
    """Whether some layer is an ordinary transformer layer, with attention and an MLP."""
    attention = config.derived.attention
    return attention is not None and any(kind not in ("gmlp", "amlp", "rwkv", "mamba") for kind in attention.kinds)


def dense(config: NeoXConfig) -> bool:
    """Whether some transformer layer has GPT-NeoX's own MLP, not experts or that of Transformer Engine."""
    experts, interval = config.argument("moe_num_experts"), config.argument("moe_expert_interval")
    all_experts = is_number(experts) and experts > 1 and interval in (1, -1)
    return transformer(config) and not config.argument("te_layernorm_mlp") and not all_experts


def own_attention(config: NeoXConfig) -> bool:
    """Whether transformer layers use GPT-NeoX's own attention, not Transformer Engine's."""
    return transformer(config) and not config.argument("te_mha") and not config.argument("te_fp8_mha")
