"""Plain records: a class with annotated fields gets `__slots__`, `__init__` and `__eq__`, without the import time of `dataclasses`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from typing_extensions import dataclass_transform

    Class = TypeVar("Class")
else:

    def dataclass_transform(**_: object) -> Any:
        """Stand-in for the decorator of `typing`."""
        return lambda function: function


@dataclass_transform(kw_only_default=False)
def record(cls: type[Class]) -> type[Class]:
    """Give a class a constructor that takes its annotated fields, in order; values in the class body are defaults."""
    names = tuple(cls.__annotations__)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    body = {name: value for name, value in cls.__dict__.items() if name not in defaults and name not in {"__dict__", "__weakref__"}}

    def completed(values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        given = {**defaults, **dict(zip(names, values, strict=False)), **named}
        if len(values) > len(names) or given.keys() != set(names) or named.keys() & set(names[: len(values)]):
            mismatch = sorted(given.keys() ^ set(names)) or "too many or repeated values"
            raise TypeError(f"{cls.__name__}: {mismatch}")
        return tuple(given[name] for name in names)

    def create(self: Any, *values: Any, **named: Any) -> None:
        if named or len(values) != len(names):
            values = completed(values, named)
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)

    def equal(self: Any, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in names)

    def show(self: Any) -> str:
        return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    body.update(__slots__=names, __init__=create, __eq__=equal, __hash__=None)
    body.setdefault("__repr__", show)
    made: Any = type(cls)(cls.__name__, cls.__bases__, body)  # type: ignore[misc]
    return made  # type: ignore[no-any-return]


def changed(value: Class, **fields: Any) -> Class:
    """A record with some of its fields replaced."""
    slots: tuple[str, ...] = type(value).__slots__  # type: ignore[attr-defined]
    return type(value)(**{**{name: getattr(value, name) for name in slots}, **fields})
