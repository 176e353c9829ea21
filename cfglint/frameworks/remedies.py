"""What many rules say in the same words: two keys that exclude each other, the value to write instead, which of two keys to remove.

The fixes that many rules offer; what builds them is imported when there is something to fix.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import Remedy, remove_key, set_key, set_one
from cfglint.findings.rule import Finding
from cfglint.findings.setting import Setting
from cfglint.findings.wording import described, spelled
from cfglint.findings.wording import listed as joined
from cfglint.frameworks.base import Config
from cfglint.source.annotations import Callable, ConfigValue, Iterable, Operand

MOST = 12  # names that a remedy lists
NUMBERS = ("a number", "an integer")  # a string that spells one is called a string


def choice(name: str, value: object, allowed: Iterable[ConfigValue]) -> Remedy:
    """The value to write for a misspelt name, else the allowed ones."""
    from cfglint.source.similar_keys import closest

    names = ["null" if item is None else str(item) for item in allowed]
    near = closest(str(value).lower(), names) or next((item for item in names if item.lower() == str(value).lower()), None)
    return set_key(name, near) if near is not None else set_one(name, names)


def listed(names: list[str]) -> str:
    """`a, b or c`, shortened."""
    return joined(names) if len(names) <= MOST else f"one of {', '.join(names[:MOST])}, ..."


def either(first: str, second: str) -> Remedy:
    return remove_key(first) | remove_key(second)


def mistyped(setting: Setting, wanted: str, exception: str, remedy: Remedy | str | None = None) -> Finding:
    """The finding that a value has another type than the one that is wanted: `a number`, `an object`."""
    value = described(setting.value) if wanted in NUMBERS else spelled(setting.value)
    return Finding(setting, f"`{setting.name}` is {value}, not {wanted}", exception=exception, help=remedy)


def not_path(value: object) -> str:
    """The exception of `open` for a file that is named by something else than a string: an integer is that of an open one."""
    text = f"TypeError: stat: path should be string, bytes, os.PathLike or integer, not {type(value).__name__}"
    return "OSError: [Errno 9] Bad file descriptor" if isinstance(value, int) else text


def not_attribute(value: object, attribute: str) -> str:
    """Python's error for an attribute that a value does not have."""
    return f"AttributeError: '{type(value).__name__}' object has no attribute '{attribute}'"


def raised_by(convert: Callable[[Operand], object], value: object) -> str:
    """Python's error for a conversion, such as by `int` and `float`; empty where the value is converted."""
    try:
        convert(value)
    except (TypeError, ValueError, OverflowError) as raised:
        return f"{type(raised).__name__}: {raised}"
    return ""


def excludes(first: Setting, second: Setting, remedy: Remedy | str = "", more: str = "", exception: str | None = None) -> Finding:
    """The finding that two keys exclude each other; without a remedy of its own, one of them is to be removed."""
    message = f"`{first.name}` is incompatible with `{second.name}`{more}"
    return Finding(first, message, related=(second,), exception=exception, help=remedy or either(first.name, second.name))


def replace(setting: Setting, value: ConfigValue, title: str, safe: bool = True) -> Fix | None:
    from cfglint.findings.fix_builders import replaced, several

    return several([replaced(setting, value)], title, safe)


def remove(setting: Setting, title: str, safe: bool = True) -> Fix | None:
    from cfglint.findings.fix_builders import removed, several

    return several([removed(setting)], title, safe)


def rename(setting: Setting, key: str, title: str, safe: bool = True) -> Fix | None:
    from cfglint.findings.fix_builders import renamed, several

    return several([renamed(setting, key)], title, safe)


def move(config: Config, setting: Setting, path: tuple[str | int, ...], title: str, safe: bool = True) -> Fix | None:
    """The fix that moves a key and its value, as written, to another path, whose missing sections are added; None if that is taken."""
    from cfglint.findings import fix_builders

    return fix_builders.move(setting, config.document_of(path[0]), path, title, safe)


def insert(config: Config, path: tuple[str | int, ...], value: ConfigValue, title: str, safe: bool = True) -> Fix | None:
    from cfglint.findings.fix_builders import inserted, several

    return several([inserted(config.document_of(path[0]), path, value)], title, safe)
