"""What many rules say in the same words: two keys that exclude each other, the value to write instead, which of two keys to remove."""

from __future__ import annotations

from cfglint.findings.rule import Finding
from cfglint.findings.setting import Setting
from cfglint.findings.wording import described, spelled
from cfglint.source.annotations import ConfigValue, Iterable

MOST = 12  # names that a remedy lists
NUMBERS = ("a number", "an integer")  # a string that spells one is called a string


def choice(name: str, value: object, allowed: Iterable[ConfigValue], quoted: bool = False) -> str:
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


def one_off(first: str, second: str) -> str:
    """The remedy for two flags of which only one can be on."""
    return f"set `{first}: false`, or set `{second}: false`"


def mistyped(setting: Setting, wanted: str, exception: str, remedy: str | None = None) -> Finding:
    """The finding that a value has another type than the one that is wanted: `a number`, `an object`."""
    value = described(setting.value) if wanted in NUMBERS else spelled(setting.value)
    return Finding(setting, f"`{setting.name}` is {value}, not {wanted}", exception=exception, help=remedy)


def not_attribute(value: object, attribute: str) -> str:
    """Python's error for an attribute that a value does not have."""
    return f"AttributeError: '{type(value).__name__}' object has no attribute '{attribute}'"


def excludes(first: Setting, second: Setting, remedy: str = "", more: str = "", exception: str | None = None) -> Finding:
    """The finding that two keys exclude each other; without a remedy of its own, one of them is to be removed."""
    message = f"`{first.name}` is incompatible with `{second.name}`{more}"
    return Finding(first, message, related=(second,), exception=exception, help=remedy or either(first.name, second.name))
