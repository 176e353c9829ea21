"""Validates and converts values by the annotations of a model as pydantic does, in its lax mode (pydantic 2.14; 1.10 in pydantic1.py).

An annotation is a name (`"int"`), or a tuple: `("|", "int", "None")`, `("list", "str")`, `("dict", "str", "Any")`,
`("tuple", "int", "int")`, `("literal", "a", "b")`, `("enum", "a", "b")`, `("model", NAME)`, `("pattern", "^a")`, `("strict", "str")`,
`("bounded", "int", (("minimum", 1),))`. Values are those of a parser: None, bool, int, float, str, list, dict.
"""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.findings.wording import listed, spelled
from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigValue, Iterable, Operand

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
    "minimum": "greater than or equal to",
    "exclusiveMinimum": "greater than",
    "maximum": "less than or equal to",
    "exclusiveMaximum": "less than",
}
INT64 = 9_223_372_036_854_775_808


class Invalid(Exception):
    """The refusal of a value: its kind, and pydantic's message.

    `needed` is what the field requires (`an integer`, `0, 1, 2 or 3`), `text` the message without pydantic's words about its origin.
    """

    def __init__(self, message: str, needed: str = "", kind: str = TYPE, text: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.needed = needed
        self.kind = kind
        self.text = text or message


def expected(what: str, needed: str, found: str = "") -> Invalid:
    """The refusal of a value of another type; `found` is what pydantic says of the value."""
    return Invalid(f"Input should be {what}{found}", needed)


def value_error(message: str, kind: str = RULE) -> Invalid:
    """The refusal by a validator of a field or of the model."""
    return Invalid(f"Value error, {message}", kind=kind, text=message)


class Fault:
    """A refusal by a model at `path`: its kind, pydantic's message, and what the field requires or the text of the rule.

    `title` is the model's name in the exception. `raises` names the exception if it is not pydantic's ValidationError.
    """

    __slots__ = ("kind", "message", "needed", "path", "raises", "text", "title")

    def __init__(self, path: Path, invalid: Invalid, title: str = "", raises: str = "ValidationError") -> None:
        self.path = path
        self.kind = invalid.kind
        self.message = invalid.message
        self.needed = invalid.needed
        self.text = invalid.text
        self.title = title
        self.raises = raises

    @property
    def exception(self) -> str:
        """The predicted exception, without the line breaks and the link that pydantic adds."""
        place = "".join(f"{step}." for step in self.path).removesuffix(".")
        model = f"1 validation error for {self.title}: " if self.raises == "ValidationError" else ""
        return f"{self.raises}: {model}{f'{place}: ' if place and model else ''}{self.message}"

    def under(self, key: str, title: str) -> Fault:
        """The fault as one of the model that has this one at a key."""
        return Fault((key, *self.path), Invalid(self.message, self.needed, self.kind, self.text), title, self.raises)

    def explained(self, setting: Setting, name: str) -> str:
        """The message about a value: `stage` is 4; it must be 0, 1, 2 or 3; pydantic's own message where it has another form."""
        if not self.needed:
            text = self.text.removesuffix(".")
            return f"`{name}`: {text[:1].lower()}{text[1:]}"
        shown = "a mapping" if isinstance(setting.value, dict) else setting.spelled
        if shown == '"auto"' and setting.value != "auto":
            shown = f"{shown}, filled with {spelled(setting.value)}"
        return f"`{name}` is {shown}; it must be {self.needed}"


def boolean(value: object) -> bool:
    """Parse a `bool`: booleans, 0 and 1 as numbers, and the usual words in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        if value in (0, 1):
            return value == 1
    elif isinstance(value, str):
        word = value.lower()
        if word in TRUE_WORDS:
            return True
        if word in FALSE_WORDS:
            return False
    else:
        raise expected("a valid boolean", BOOLEAN)
    if isinstance(value, float) and not value.is_integer():
        raise expected("a valid boolean", BOOLEAN)
    raise expected("a valid boolean", BOOLEAN, ", unable to interpret input")


def integer(value: object) -> int:
    """Parse an `int`: integers, also as integral floats, booleans or decimal strings."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return integer_of_float(value)
    if isinstance(value, str):
        return parsed_integer(value)
    raise expected("a valid integer", INTEGER)


def finite(value: float) -> bool:
    return value - value == 0


def integer_of_float(value: float) -> int:
    if not finite(value):
        raise expected("a finite number", "a finite number")
    if not value.is_integer():
        raise expected("a valid integer", INTEGER, ", got a number with a fractional part")
    if not -INT64 <= value < INT64:
        raise Invalid("Unable to parse input string as an integer, exceeded maximum size")
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
            raise Invalid("Unable to parse input string as an integer, exceeded maximum size")
        return int(sign + bare.replace("_", ""))
    raise expected("a valid integer", INTEGER, ", unable to parse string as an integer")


def number(value: object) -> float:
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            raise expected("a valid number", NUMBER) from None
    if isinstance(value, str):
        try:
            return float(value if value.isascii() else "")
        except ValueError:
            raise expected("a valid number", NUMBER, ", unable to parse string as a number") from None
    raise expected("a valid number", NUMBER)


def broken_limit(value: float, limits: Iterable[tuple[str, Operand]]) -> str:
    """The first limit that a number violates, in pydantic's wording: `greater than 0`; empty if it violates none."""
    broken = {name: limit for name, limit in limits if name in LIMITS and not keeps(name, value, limit)}
    return next((f"{words} {broken[name]}" for name, words in LIMITS.items() if name in broken), "")


def keeps(name: str, value: float, limit: float) -> bool:
    if name == "minimum":
        return value >= limit
    if name == "maximum":
        return value <= limit
    return value > limit if name == "exclusiveMinimum" else value < limit


def text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise expected("a valid string", "a string")


def path(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Invalid("Input is not a valid path for <class 'pathlib.Path'>", "a path")


def items(value: object) -> list[Operand]:
    if isinstance(value, list):
        return value
    raise expected("a valid list", "a list")


def mapping(value: object) -> ConfigMapping:
    if isinstance(value, dict):
        return value
    raise expected("a valid dictionary", "a mapping")


def anything(value: object) -> Operand:
    return value


def stage(value: object) -> int:
    """Parse ZeRO's stage: 0 to 3, also as a boolean, an integral float or a string of one digit."""
    if isinstance(value, (int, float)) and value in (0, 1, 2, 3):
        return int(value)
    if isinstance(value, str):
        try:
            found = parsed_integer(value)
        except Invalid:
            found = -1
        if 0 <= found <= 3:
            return found
    raise Invalid("Input should be 0, 1, 2, 3 or 3", "0, 1, 2 or 3", CHOICE)


def torch_type(value: object) -> ConfigValue:
    """Parse a `torch.dtype`: refuse every value, because no file can contain such an object."""
    raise Invalid("Input should be an instance of dtype")


READERS: dict[Any, Loader] = {
    "Any": anything,
    "Path": path,
    "bool": boolean,
    "dict": mapping,
    "float": number,
    "int": integer,
    "list": items,
    "str": text,
    "torch.dtype": torch_type,
    "tuple": items,
    ("enum", 0, 1, 2, 3): stage,
}
NO_TYPE = (type(None),)
EXACT: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float,), "bool": (bool,), "str": (str,), "dict": (dict,), "list": (list,)}


_taken: dict[int, tuple[ConfigValue, frozenset[type]]] = {}  # by `id`, as some annotations have no hash; these are kept


def taken_as_they_are(reads: Operand) -> frozenset[type]:
    """The types of values that an annotation takes without converting them: those of its name, or of a member of the union."""
    taken = _taken.get(id(reads))
    if taken is None:
        parts = reads[1:] if reads[0] == "|" else (reads,)
        types = [NO_TYPE if part == "None" else EXACT.get(part, ()) for part in parts if isinstance(part, str)]
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
    if not bounds or value is None:
        return value
    if isinstance(value, (list, dict)):
        least = bounds.get("minItems", 0)
        if len(value) < least:
            raise Invalid(f"List should have at least {least} item after validation, not {len(value)}", kind=RANGE)
    broken = broken_limit(value, bounds.items()) if isinstance(value, (int, float)) else ""
    if broken:
        raise Invalid(f"Input should be {broken}" if major > 1 else f"ensure this value is {broken}", broken, RANGE)
    return value


class Reading:
    """The result of reading values by annotations: the faults."""

    major = 2  # the version of pydantic

    def __init__(self) -> None:
        self.faults: list[Fault] = []

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
            return self.items(form, parts, value, path)
        if form == "dict":
            return self.mapping(parts, value, path)
        return self.restricted(form, parts, value, path)

    def union(self, parts: tuple[Any, ...], value: object, path: Path) -> Operand:
        if value is None and "None" in parts:
            return None
        members = [part for part in parts if part != "None"]
        if len(members) == 1:
            return self.read(members[0], value, path)
        if any(isinstance(part, str) and type(value) in EXACT.get(part, ()) for part in members):
            return value
        refusals: list[Invalid] = []
        faults: list[Fault] = []
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

    def items(self, form: str, parts: tuple[Any, ...], value: object, path: Path) -> list[Operand]:
        found = items(value)
        if form == "tuple" and len(found) != len(parts):
            short = len(found) < len(parts)
            raise Invalid("Field required" if short else f"Tuple should have at most {len(parts)} items after validation")
        each = parts if form == "tuple" else parts * len(found)
        return [self.inner(part, item, (*path, index)) for index, (part, item) in enumerate(zip(each, found, strict=True))]

    def inner(self, reads: Operand, value: object, path: Path) -> Operand:
        """Convert a member of a list or mapping; an error is recorded at the member's own path."""
        if self.major > 1 and type(value) in taken_as_they_are(reads):
            return value
        try:
            return self.read(reads, value, path)
        except Invalid as refusal:
            self.faults.append(Fault(path, refusal.with_traceback(None)))
            return None

    def mapping(self, parts: tuple[Any, ...], value: object, path: Path) -> ConfigMapping:
        found: ConfigMapping = {}
        for key, item in mapping(value).items():
            found[self.inner(parts[0], key, (*path, key))] = self.inner(parts[1], item, (*path, key))
        return found

    def restricted(self, form: str, parts: tuple[Any, ...], value: object, path: Path) -> Operand:
        """Convert a value to a type with a restriction: exact type, a pattern, or bounds."""
        if form == "strict":
            if type(value) in EXACT[parts[0]]:
                return value
            raise expected(f"a valid {parts[0]}", f"a {parts[0]}")
        if form == "pattern":
            found = text(value)
            beginning = parts[0].removeprefix("^")
            if beginning.replace("_", "").isalnum() and not found.startswith(beginning):
                raise Invalid(f"String should match pattern '{parts[0]}'")
            return found
        return within(self.read(parts[0], value, path), parts[1], self.major)
