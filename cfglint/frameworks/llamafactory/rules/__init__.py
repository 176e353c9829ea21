"""Functions that several rules of LLaMA-Factory use."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig

FROM_083, FROM_090 = Releases((0, 8, 3)), Releases((0, 9, 0))  # most checks of data and stages came with these two
APOLLO_KNOWN = Releases((0, 9, 2), of="GaLore, APOLLO and BAdam")
SMALL = 1e-6  # the value that the checks compare ratios with


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
