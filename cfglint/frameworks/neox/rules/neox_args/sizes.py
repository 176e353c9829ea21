"""Rules about the sizes of the model in NeoXArgs."""

from __future__ import annotations

from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.python_errors import raised
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number


@rule("NEO023")
def incompatible_model_sizes(config: NeoXConfig) -> Iterator[Finding]:
    hidden, heads = config.argument("hidden_size"), config.argument("num_attention_heads")
    attention = config.derived.attention
    if is_number(hidden) and is_number(heads):
        error = raised(lambda: hidden % heads)
        mamba = attention is not None and attention.any("mamba")
        if error or (hidden % heads and not mamba):
            yield _size_conflict(
                config, ("hidden_size", "num_attention_heads"),
                f"`hidden_size` ({hidden}) must be a multiple of `num_attention_heads` ({heads})",
                error or "hidden_size must be divisible by num_attention_heads",
            )  # fmt: skip
    length, positions = config.argument("seq_length"), config.argument("max_position_embeddings")
    if is_number(length) and is_number(positions) and not positions >= length:
        yield _size_conflict(
            config, ("seq_length", "max_position_embeddings"),
            f"`seq_length` is {length}, but `max_position_embeddings` is only {positions}",
            "max_position_embeddings must be bigger or equal seq_length",
        )  # fmt: skip
    unique, layers = config.argument("num_unique_layers"), config.argument("num_layers")
    if not is_number(unique) or not is_number(layers):
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


@rule("NEO024")
def missing_model_size(config: NeoXConfig) -> Iterator[Finding]:
    for name in ("num_layers", "hidden_size", "num_attention_heads", "max_position_embeddings"):
        if config.argument(name) is None:
            text = f"ValueError: NeoXArgs.validate_values() {name} is None."
            if name == "num_layers" and config.derived.attention_refusal:
                text = config.derived.attention_refusal
            yield Finding(
                config.absent(name),
                f"`{name}` is missing; it has no default",
                exception=text,
                help=set_key(name, config.argument("seq_length"))
                if name == "max_position_embeddings" and config.argument("seq_length")
                else f"set `{name}`",
            )
