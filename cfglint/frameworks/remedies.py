"""The wording of remedies that many rules use: the value to write instead, or the choice which of two keys to remove."""

from __future__ import annotations

from cfglint.findings.wording import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST = 12  # names that a remedy lists


def choice(name: str, value: Any, allowed: Iterable[Any], quoted: bool = False) -> str:
    """The line to write for a misspelt name, else the allowed names; `quoted`: for a JSON file."""
    from cfglint.frameworks.known_names import closest

    names = ["null" if each is None else str(each) for each in allowed]
    near = closest(str(value).lower(), names) or next((each for each in names if each.lower() == str(value).lower()), None)
    if quoted:
        return f'set `{name}` to "{near}"' if near is not None else f"set `{name}` to {listed([spelled(each) for each in names])}"
    if near is not None:
        return f"set `{name}: {near}`"
    return f"set `{name}` to {listed(names)}"


def listed(names: list[str]) -> str:
    """`a, b or c`, shortened."""
    from cfglint.findings.wording import listed as joined

    return joined(names) if len(names) <= MOST else f"one of {', '.join(names[:MOST])}, ..."


def either(first: str, second: str) -> str:
    """The remedy for two keys of which only one can be set."""
    return f"remove `{first}`, or remove `{second}`"
