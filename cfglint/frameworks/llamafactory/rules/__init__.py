"""Functions that several rules of LLaMA-Factory use."""

from __future__ import annotations

from cfglint.findings.rule import Finding
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig


def conflict(
    config: LlamaFactoryConfig,
    name: str,
    *others: str,
    message: str,
    exception: str,
    needs: tuple[str, ...] = (),
    remedy: str | None = None,
) -> Finding:
    """A finding about a field that is incompatible with others; `needs` are those whose default matters."""
    return Finding(
        config.field(name),
        message,
        related=[config.field(other) for other in others],
        exception=exception,
        depends_on=config.unset(*needs),
        help=remedy,
    )
