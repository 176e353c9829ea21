"""The rules of GPT-NeoX: values that it rejects, in its own order, and values that it silently ignores or overrides."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.setting import Setting
from cfglint.frameworks.neox import KIND
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.source.annotations import ConfigValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.rule import ExampleFacts

RUN: ExampleFacts = {"kind": KIND, "gpus": 8}  # the facts of the examples


def elsewhere(config: NeoXConfig, *names: str) -> bool:
    """Whether another file of the run may still set one of these arguments."""
    return not config.facts.complete and not all(name in config.values for name in names)


def replace(setting: Setting, value: object, title: str, safe: bool = True) -> Fix | None:
    """The fix that replaces a written value."""
    from cfglint.findings import fix_builders

    return fix_builders.replace(setting, value, title, safe)


def remove(setting: Setting, title: str, safe: bool = True) -> Fix | None:
    """The fix that removes a key and its value."""
    from cfglint.findings import fix_builders

    return fix_builders.remove(setting, title, safe)


def rename(setting: Setting, key: str, title: str, safe: bool = True) -> Fix | None:
    """The fix that renames a key."""
    from cfglint.findings import fix_builders

    return fix_builders.rename(setting, key, title, safe)


def insert(config: NeoXConfig, path: tuple[str | int, ...], value: ConfigValue, title: str, safe: bool = True) -> Fix | None:
    """The fix that adds a key to an existing mapping."""
    from cfglint.findings import fix_builders

    return fix_builders.insert(config, path, value, title, safe)
