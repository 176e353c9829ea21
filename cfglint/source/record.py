"""Plain records: a class with annotated fields gets slots, a constructor and equality, without the import time of `dataclasses`."""

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


MANY = 50  # records of a class after which its constructor is written for its fields: a clean file makes fewer of each


class RecordType(type):
    """The type of records: the annotated fields of the class body become slots, and the values in it their defaults."""

    __fields__: tuple[str, ...]
    __defaults__: dict[str, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> RecordType:
        names: tuple[str, ...] = ()
        defaults: dict[str, Any] = {}
        for base in bases:
            if isinstance(base, RecordType):
                names += base.__fields__
                defaults.update(base.__defaults__)
        own = tuple([field for field in body.get("__annotations__", ()) if field not in names])
        names += own
        defaults.update({field: body.pop(field) for field in names if field in body})
        fresh = [field for field, value in defaults.items() if isinstance(value, (list, dict, set))]
        body.update(__slots__=(*body.get("__slots__", ()), *own), __fields__=names, __defaults__=defaults, __fresh__=fresh, __made__=[0])
        body["__init__"] = construct  # its own, because that of its base may be one that was written for the fields of the base
        return type.__new__(cls, name, bases, body)


def construct(self: Any, *values: Any, **named: Any) -> None:
    """The constructor of every record class, until so many are made that one written for its fields pays."""
    cls = type(self)
    made, names, defaults = cls.__made__, cls.__fields__, cls.__defaults__
    made[0] += 1  # not an attribute of the class, which would have its methods looked up anew
    if made[0] == MANY and defaults.keys() == {*names[len(names) - len(defaults) :]}:  # no field without a default after one with it
        cls.__init__ = written_for(cls)
    for name, value in zip(names, values, strict=False):
        setattr(self, name, value)
    for name in names[len(values) :]:
        if name in named:
            setattr(self, name, named.pop(name))
        elif name in defaults:
            setattr(self, name, defaults[name].copy() if name in cls.__fresh__ else defaults[name])
        else:
            raise TypeError(f"{cls.__name__}: `{name}` is missing")
    if named or len(values) > len(names):
        raise TypeError(f"{cls.__name__}: unknown or repeated: {[*named, *values[len(names) :]]}")


def written_for(cls: Any) -> Any:
    """A constructor that assigns the fields of a class one by one, several times as fast as `construct`."""
    defaults = cls.__defaults__
    parameters = [f"{name}=__defaults__[{name!r}]" if name in defaults else name for name in cls.__fields__]
    copied = {name: f"{name}.copy() if {name} is __defaults__[{name!r}] else " for name in cls.__fresh__}
    lines = [f" self.{name} = {copied.get(name, '')}{name}" for name in cls.__fields__]
    scope = {"__defaults__": defaults}
    exec(f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(lines), scope)  # only names of fields, which are code of cfglint
    return scope["__init__"]


@dataclass_transform(kw_only_default=False)
class Record(metaclass=RecordType):
    """A class whose constructor takes its annotated fields, after those of its base; values in the class body are defaults.

    A list, mapping or set that is a default is copied for each record.
    """

    if not TYPE_CHECKING:

        def __eq__(self, other: object) -> bool:
            return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self.__fields__)

        __hash__ = None

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__fields__)})"


def changed(value: Class, **fields: object) -> Class:
    """A record with some of its fields replaced."""
    found = object.__new__(type(value))
    for name in type(value).__fields__:  # type: ignore[attr-defined]
        setattr(found, name, fields.pop(name) if name in fields else getattr(value, name))
    if fields:
        raise TypeError(f"{type(value).__name__}: unknown: {[*fields]}")
    return found
