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
    """Give a class a constructor that takes its annotated fields, in order; values in the class body are defaults.

    A list, mapping or set that is a default is copied for each record.
    """
    names = tuple(cls.__annotations__)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    fresh = [name for name, value in defaults.items() if isinstance(value, (list, dict, set))]

    def completed(values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        others = names[len(values) :]
        rest = tuple([named[name] if name in named else defaults[name] for name in others if name in named or name in defaults])
        if len(values) + len(rest) != len(names) or (named and not named.keys() <= set(others)):
            mismatch = sorted((named.keys() | defaults.keys() | set(names[: len(values)])) ^ set(names)) or "too many or repeated values"
            raise TypeError(f"{cls.__name__}: {mismatch}")
        if fresh:
            rest = tuple([value.copy() if name in fresh and name not in named else value for name, value in zip(others, rest, strict=True)])
        return values + rest

    def create(self: Any, *values: Any, **named: Any) -> None:
        if named or len(values) != len(names):
            values = completed(values, named)
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)

    def equal(self: Any, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in names)

    def show(self: Any) -> str:
        return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    cls.__init__ = create
    cls.__eq__ = equal
    cls.__hash__ = None
    if "__repr__" not in cls.__dict__: cls.__repr__ = show
    return cls


def changed(value: Class, **fields: Any) -> Class:
    """A record with some of its fields replaced."""
    slots: tuple[str, ...] = type(value).__slots__  # type: ignore[attr-defined]
    return type(value)(**{**{name: getattr(value, name) for name in slots}, **fields})
