"""Validates and converts values by the annotations of a model as pydantic does, in its lax mode (pydantic 2.14; 1.10 in pydantic1.py).

An annotation is a name (`"int"`), or a tuple: `("|", "int", "None")`, `("list", "str")`, `("dict", "str", "Any")`,
`("tuple", "int", "int")`, `("literal", "a", "b")`, `("enum", "a", "b")`, `("model", NAME)`, `("pattern", "^a")`, `("strict", "str")`,
`("bounded", "int", (("minimum", 1),))`. Values are those of a parser: None, bool, int, float, str, list, dict.
"""

from __future__ import annotations

from operator import ge, gt, le, lt

from cfglint.findings.setting import Setting
from cfglint.findings.wording import listed, spelled
from cfglint.source.annotations import Any, Callable, ConfigValue, Iterable, Operand

Loader = Callable[[Any], Any]
Path = tuple[str | int, ...]

# The kinds of refusals.
TYPE = "type"
CHOICE = "choice"
RANGE = "range"
RULE = "rule"  # a validator of the model
MISSING = "missing"
UNKNOWN = "unknown"

BOOLEAN, INTEGER, NUMBER = "a boolean", "an integer", "a number"  # what a field requires
TRUE_WORDS = ("1", "on", "t", "true", "y", "yes")
FALSE_WORDS = ("0", "off", "f", "false", "n", "no")
LIMITS = {
    "minimum": ("greater than or equal to", ge),
    "exclusiveMinimum": ("greater than", gt),
    "maximum": ("less than or equal to", le),
    "exclusiveMaximum": ("less than", lt),
}
INT64 = 9_223_372_036_854_775_808
TOO_LARGE = "Unable to parse input string as an integer, exceeded maximum size"


class Invalid(Exception):
    """The refusal of a value: its kind, and pydantic's message.

    `needed` is what the field requires (`an integer`, `0, 1, 2 or 3`), `text` the message without pydantic's words about its origin. `at`
    makes it the refusal by a model, whose name is `title` in the exception; `raises` is the exception if that is not pydantic's own.
    """

    path: Path = ()
    title = ""
    raises = "ValidationError"

    def __init__(self, message: str, needed: str = "", kind: str = TYPE, text: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.needed = needed
        self.kind = kind
        self.text = text or message

    def at(self, path: Path, title: str = "", raises: str = "ValidationError") -> Invalid:
        """The refusal as that of the value at a path, without the frames that it came through, which would keep the whole run in memory."""
        self.path, self.title, self.raises, self.__context__ = path, title, raises, None
        return self.with_traceback(None)

    @property
    def exception(self) -> str:
        """The predicted exception, without the line breaks and the link that pydantic adds."""
        if self.raises != "ValidationError":
            return f"{self.raises}: {self.message}"
        place = ".".join(map(str, self.path))
        return f"{self.raises}: 1 validation error for {self.title}: {f'{place}: ' if place else ''}{self.message}"

    def explained(self, setting: Setting, name: str) -> str:
        """The message about a value: `stage` is 4; it must be 0, 1, 2 or 3; pydantic's own message where it has another form."""
        if not self.needed:
            text = self.text.removesuffix(".")
            return f"`{name}`: {text[:1].lower()}{text[1:]}"
        shown = "a mapping" if isinstance(setting.value, dict) else setting.spelled
        if shown == '"auto"' and setting.value != "auto":
            shown = f"{shown}, filled with {spelled(setting.value)}"
        return f"`{name}` is {shown}; it must be {self.needed}"


def expected(what: str, needed: str, found: str = "") -> Invalid:
    """The refusal of a value of another type; `found` is what pydantic says of the value."""
    return Invalid(f"Input should be {what}{found}", needed)


def value_error(message: str, kind: str = RULE) -> Invalid:
    """The refusal by a validator of a field or of the model."""
    return Invalid(f"Value error, {message}", kind=kind, text=message)


def boolean(value: object) -> bool:
    """Parse a `bool`: booleans, 0 and 1 as numbers, and the usual words in any case."""
    if isinstance(value, (int, float)) and value in (0, 1):
        return value == 1
    word = value.lower() if isinstance(value, str) else ""
    if word in TRUE_WORDS or word in FALSE_WORDS:
        return word in TRUE_WORDS
    is_read = isinstance(value, (int, str)) or (isinstance(value, float) and value.is_integer())
    raise expected("a valid boolean", BOOLEAN, ", unable to interpret input" if is_read else "")


def integer(value: object) -> int:
    """Parse an `int`: integers, also as integral floats, booleans or decimal strings."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return parsed_integer(value)
    if not isinstance(value, float):
        raise expected("a valid integer", INTEGER)
    if value - value != 0:
        raise expected("a finite number", "a finite number")
    if not value.is_integer():
        raise expected("a valid integer", INTEGER, ", got a number with a fractional part")
    if not -INT64 <= value < INT64:
        raise Invalid(TOO_LARGE)
    return int(value)


def parsed_integer(text: str) -> int:
    """Parse the integer in a string: ` 5 `, `5_000`, `+5`, `5.0`, but neither `5e3` nor `5.5`."""
    digits = text.strip(" \t\n\r\v\f")
    head, dot, tail = digits.partition(".")
    if dot and tail and not tail.strip("0"):
        digits = head
    sign = digits[:1] if digits[:1] in ("+", "-") else ""
    bare = digits[len(sign) :]
    if bare[:1].isdigit() and "__" not in bare and not bare.endswith("_") and bare.isascii() and bare.replace("_", "").isdigit():
        if len(bare) > 4300:
            raise Invalid(TOO_LARGE)
        return int(sign + bare.replace("_", ""))
    raise expected("a valid integer", INTEGER, ", unable to parse string as an integer")


def number(value: object) -> float:
    """Parse a `float`: numbers, booleans, and strings that Python's float accepts."""
    try:
        if isinstance(value, (int, float, str)):
            return float("" if isinstance(value, str) and not value.isascii() else value)
    except (OverflowError, ValueError):
        pass
    raise expected("a valid number", NUMBER, ", unable to parse string as a number" if isinstance(value, str) else "")


def exactly(kind: type, message: str, needed: str) -> Loader:
    """The loader of values of one type, without any conversion."""

    def load(value: object) -> Operand:
        if isinstance(value, kind):
            return value
        raise Invalid(message, needed)

    return load


def stage(value: object) -> int:
    """Parse ZeRO's stage: 0 to 3, also as a boolean, an integral float or a string of one digit."""
    try:
        found = parsed_integer(value) if isinstance(value, str) else value
    except Invalid:
        found = None
    if isinstance(found, (int, float)) and found in (0, 1, 2, 3):
        return int(found)
    raise Invalid("Input should be 0, 1, 2, 3 or 3", "0, 1, 2 or 3", CHOICE)


text = exactly(str, "Input should be a valid string", "a string")
items = exactly(list, "Input should be a valid list", "a list")
READERS: dict[Any, Loader] = {
    "Any": lambda value: value,
    "Path": exactly(str, "Input is not a valid path for <class 'pathlib.Path'>", "a path"),
    "bool": boolean,
    "dict": exactly(dict, "Input should be a valid dictionary", "a mapping"),
    "float": number,
    "int": integer,
    "list": items,
    "str": text,
    "torch.dtype": exactly(type, "Input should be an instance of dtype", ""),  # no file can contain such an object
    "tuple": items,
    ("enum", 0, 1, 2, 3): stage,
}
EXACT: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float,), "bool": (bool,), "str": (str,), "dict": (dict,), "list": (list,)}


_taken: dict[int, tuple[ConfigValue, frozenset[type]]] = {}  # by `id`, as some annotations have no hash; these are kept


def taken_as_they_are(reads: Operand) -> frozenset[type]:
    """The types of values that an annotation takes without converting them: those of its name, or of a member of the union."""
    taken = _taken.get(id(reads))
    if taken is None:
        parts = reads[1:] if reads[0] == "|" else (reads,)
        types = [(type(None),) if part == "None" else EXACT.get(part, ()) for part in parts if isinstance(part, str)]
        taken = _taken[id(reads)] = reads, frozenset().union(*types)
    return taken[1]


def is_simple(reads: Operand) -> bool:
    """Whether an annotation has a loader of its own."""
    return isinstance(reads, str) or (reads[0] == "enum" and reads in READERS)


def one_of(choices: tuple[Any, ...], value: object, major: int = 2) -> Operand:
    """Convert a value to a member of `Literal[...]` or of an Enum."""
    if (type(value) is str and value in choices) or any(value == choice and type(value) is type(choice) for choice in choices):
        return value
    names = [repr(choice) for choice in choices]
    message = f"Input should be {listed(names)}" if major > 1 else f"value is not a valid enumeration member; permitted: {', '.join(names)}"
    raise Invalid(message, listed([spelled(choice) for choice in choices]), CHOICE)


def within(value: object, limits: Iterable[tuple[str, Operand]], major: int = 2) -> Operand:
    bounds = dict(limits)
    if isinstance(value, (list, dict)) and len(value) < bounds.get("minItems", 0):
        raise Invalid(f"List should have at least {bounds['minItems']} item after validation, not {len(value)}", kind=RANGE)
    for name, (words, keeps) in LIMITS.items():
        if name in bounds and isinstance(value, (int, float)) and not keeps(value, bounds[name]):
            broken = f"{words} {bounds[name]}"
            raise Invalid(f"Input should be {broken}" if major > 1 else f"ensure this value is {broken}", broken, RANGE)
    return value


class Reading:
    """The result of reading values by annotations: the faults."""

    major = 2  # the version of pydantic

    def __init__(self) -> None:
        self.faults: list[Invalid] = []

    def model(self, name: str, value: object, path: Path) -> Operand:
        """Convert a mapping to a model; raises Invalid."""
        raise NotImplementedError

    def members(self, *choices: Operand) -> tuple[Any, ...]:
        """The values of an Enum, by its annotation."""
        return choices

    def trial(self) -> Reading:
        """A reading whose faults do not count yet."""
        return type(self)()

    def accept(self, trial: Any, others: list[Operand]) -> None:
        """Take over what a trial that succeeded has found; `others` are the further members of the union."""

    def read(self, reads: Operand, value: Operand, path: Path) -> Operand:
        """Convert a value by an annotation; raises Invalid."""
        if reads == "None":
            if value is not None:
                raise expected("None", "null")
            return None
        if is_simple(reads):
            return READERS[reads](value)
        form, parts = reads[0], reads[1:]
        if form == "|":
            return self.union(parts, value, path)
        if form in ("literal", "enum"):
            return one_of(parts if form == "literal" else self.members(*parts), value, self.major)
        if form == "model":
            return self.model(parts[0], value, path)
        if form in ("list", "tuple"):
            found = items(value)
            if form == "tuple" and len(found) != len(parts):
                many = f"Tuple should have at most {len(parts)} items after validation"
                raise Invalid("Field required" if len(found) < len(parts) else many)
            types = parts if form == "tuple" else parts * len(found)
            return [self.inner(part, item, (*path, index)) for index, (part, item) in enumerate(zip(types, found, strict=True))]
        if form == "dict":
            pairs = READERS["dict"](value).items()
            return {self.inner(parts[0], key, (*path, key)): self.inner(parts[1], item, (*path, key)) for key, item in pairs}
        if form == "strict":
            if type(value) in EXACT[parts[0]]:
                return value
            raise expected(f"a valid {parts[0]}", f"a {parts[0]}")
        if form == "pattern":
            beginning = parts[0].removeprefix("^")
            if not text(value).startswith(beginning) and beginning.replace("_", "").isalnum():
                raise Invalid(f"String should match pattern '{parts[0]}'")
            return value
        return within(self.read(parts[0], value, path), parts[1], self.major)

    def union(self, parts: tuple[Any, ...], value: object, path: Path) -> Operand:
        """Convert a value by a union in smart mode: a member of the value's own type takes precedence, else the first that accepts it."""
        if value is None and "None" in parts:
            return None
        members = [part for part in parts if part != "None"]
        if len(members) == 1:
            return self.read(members[0], value, path)
        if any(isinstance(part, str) and type(value) in EXACT.get(part, ()) for part in members):
            return value
        refusals: list[Invalid] = []
        faults: list[Invalid] = []
        for part in members:
            trial = self.trial()
            try:
                found = trial.read(part, value, path)
            except Invalid as refusal:
                refusals.append(refusal.with_traceback(None))
                continue
            if not trial.faults:
                self.accept(trial, [member for member in members if member != part])
                return found
            faults = faults or trial.faults
        if faults and isinstance(value, (dict, list)):
            self.faults += faults
            return None
        messages = dict.fromkeys(refusal.message for refusal in refusals)
        needed = dict.fromkeys(refusal.needed for refusal in refusals)
        raise Invalid("; ".join(messages), " or ".join(needed) if all(needed) else "", refusals[0].kind)

    def inner(self, reads: Operand, value: object, path: Path) -> Operand:
        """Convert a member of a list or mapping; an error is recorded at the member's own path."""
        if self.major > 1 and type(value) in taken_as_they_are(reads):
            return value
        try:
            return self.read(reads, value, path)
        except Invalid as refusal:
            self.faults.append(refusal.at(path))
            return None
