"""The objects that an evaluated program handles: known values, containers, functions, classes, and what is unknown; and what Python makes
of its numbers, strings and paths, within limits of size.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from functools import cached_property, lru_cache

from cfglint.evaluate import Choice, Perhaps, Reason, Unknown
from cfglint.evaluate.operations import unknown as joined
from cfglint.launch.programs.modules import External, ProgramModule
from cfglint.source.annotations import Any, Callable, Iterable, Syntax
from cfglint.source.document import Document, Path
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.evaluate import ReasonKind

Words = tuple[str | None, ...]  # of a launch line, None for unknown ones
Given = list["Value"]  # the positional arguments of a call
Named = dict[Any, "Value"]  # its keywords; None for further, unknown ones
PROJECT = "\0/"  # the beginning of an absolute path in the project, whose top is unknown
OPEN = object()  # a slot of containers that may have further, unknown contents
LONGEST = 10_000  # characters of a string, items of a list
MOST_OBJECTS, MOST_OPTIONS = 16, 64  # that an unknown value may be
DEEPEST = 20  # containers within containers
ITEMS = "items"  # the slot of a sequence
PLAIN = (type(None), bool, int, float, str)
ABSENT = object()  # in the place of the content of a slot that an object lacks
MOST_CONDITIONS = 1024  # of which is known whether they ask for a release
COMPARES_RELEASES = re.compile(
    r"version|signature|parameters|hasattr|inspect|varnames|getfullargspec|dataclass_?fields|\bfields\(", re.IGNORECASE
)
LARGEST = 10**15
WIDE = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\d{4}|\d*\.\d{4})|\{[^{}]*:[^{}]*(?:\d{4}|\{)")
MOST_TURNS = 64  # turns of a loop or of a comprehension
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


class Computed(Reason):
    """An expression of the program that gives a value, or a condition that decides it; the words are made where they are read."""

    __slots__ = ("node",)

    def __init__(self, node: ast.AST, module: ProgramModule, kind: ReasonKind = "program") -> None:
        self.kind, self.why, self.opens, self.name = kind, "", False, ""
        self.file, self.line = module.path, getattr(node, "lineno", 0)
        self.node = node

    @property
    def what(self) -> str:  # type: ignore[override]
        return f"`{shown(self.node)}`" if not isinstance(self.node, ast.Try) else "a `try`"


def condition(node: ast.AST, module: ProgramModule) -> Computed:
    """The condition of a statement or expression with branches, as the reason why what they leave is not known."""
    test = getattr(node, "test", None) or getattr(node, "subject", None) or node
    return Computed(test, module, "release" if compares_releases(node, module) else "branch")


@lru_cache(MOST_CONDITIONS)
def compares_releases(node: ast.AST, module: ProgramModule) -> bool:
    """Whether a condition asks for the installed release, or for what a constructor takes in it, as `except TypeError` does, too."""
    if isinstance(node, ast.Try):
        types = [each for handler in node.handlers if handler.type is not None for each in walk(handler.type)]
        return any(isinstance(each, ast.Name) and each.id == "TypeError" for each in types)
    test = getattr(node, "test", None)
    names = {each.id for each in walk(test) if isinstance(each, ast.Name)} if test is not None else set()
    values = [given for name in names for given in module.givers.get(name, ())]
    return any(COMPARES_RELEASES.search(ast.unparse(each)) for each in (test, *values) if each is not None)


class LoadedFile:
    def __init__(self, path: str, text: str, syntax: Syntax) -> None:
        self.path, self.text, self.syntax = path, text, syntax

    @cached_property
    def document(self) -> Document:
        from cfglint.source.parse import parse

        return parse(self.path, self.text, self.syntax)


class FilePlace(Record):
    """The place of a value in a config file; without a path it is the text of the file."""

    file: LoadedFile
    path: Path | None


class Value:
    """A value of the program: its content, the literal that it was written as, and the argument of the program that it comes from.

    The `node` of an unknown one is the expression that computes it. `written` is the place in a config file that it was loaded from,
    `sources` are the values that it is computed from.
    """

    __slots__ = ("argument", "data", "module", "node", "sources", "written")

    def __init__(self, data: Any, node: ast.expr | None = None, module: ProgramModule | None = None, argument: str = "") -> None:
        self.data, self.node, self.module, self.argument = data, node, module, argument
        self.written: FilePlace | None = None
        self.sources: tuple[Value, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return self.data.reasons if isinstance(self.data, Unknown) else ()

    @property
    def known(self) -> bool:
        """Whether the content is known; that of a container may have unknown parts."""
        return not isinstance(self.data, Unknown)

    @property
    def may_be_absent(self) -> bool:
        """Whether there may be none, as of a key that only one branch sets."""
        return isinstance(self.data, Choice) and None in self.data.options

    @property
    def objects(self) -> tuple[Value, ...]:
        """Of a value that is one of several, those that code can change by it."""
        options = self.data.options if isinstance(self.data, Choice) else ()
        return tuple(option for option in options if option is not None and isinstance(option.data, (Container, Method, Function)))[
            :MOST_OBJECTS
        ]

    @property
    def is_plain(self) -> bool:
        return isinstance(self.data, PLAIN)


def computed(value: Value, *sources: Value) -> Value:
    if isinstance(value.data, int):
        value.sources = sources
    return value


def unknown(*reasons: Reason) -> Value:
    return Value(Unknown(*reasons))


def one_of(values: Iterable[Value | None], *reasons: Reason, node: ast.expr | None = None) -> Value:
    """A value that is one of several; None among them: there may be none."""
    options: list[Value | None] = []
    for value in values:
        options += value.data.options if value is not None and isinstance(value.data, Choice) else (value,)
    return Value(Choice(options[:MOST_OPTIONS], *reasons), node)


def unknown_from(*values: Value) -> Value:
    first = next((value for value in values if not value.known), None)
    doubt = joined(*(value.data for value in values))
    return Value(Unknown() if doubt is None else doubt, first.node if first is not None else None)


def text_of_path(value: Value) -> Any:
    return value.data.text if isinstance(value.data, FilePath) else value.data


def slots_of(named: dict[Any, Value]) -> dict[Any, Any]:
    return {OPEN if name is None else name: name is None or value for name, value in named.items()}


def shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 40 else text[:37] + "..."


NONE = Value(None)
FOLDER = Reason("environment", "the working folder")
COUNT = itertools.count()


class Slots(dict):  # type: ignore[type-arg]
    """The parts of an object; `born` is a number that grows from object to object, `of` the module that programs share it of."""

    __slots__ = ("born", "of")

    def __init__(self, parts: dict[Any, Any] | None = None) -> None:
        super().__init__(parts or {})
        self.born = next(COUNT)
        self.of: ProgramModule | None = None


class SharedChanged(Exception):
    """Raised if a program changes an object of a module that others share."""

    def __init__(self, module: ProgramModule) -> None:
        self.module = module


class Container:
    """An object with changeable parts, all in `slots`, so that changes can be undone."""

    __slots__ = ("slots",)

    def __init__(self, slots: dict[Any, Any] | None = None) -> None:
        self.slots = slots if isinstance(slots, Slots) else Slots(slots)

    @property
    def is_open(self) -> bool:
        return OPEN in self.slots


class Mapping(Container):
    """A dict; `by_attribute`: its keys are attributes as well, as in OmegaConf's. `root` is the whole config that it is a part of."""

    __slots__ = ("by_attribute", "root")

    def __init__(self, slots: dict[Any, Any] | None = None, by_attribute: bool = False) -> None:
        super().__init__(slots)
        self.by_attribute = by_attribute
        self.root: Mapping = self

    @property
    def items(self) -> dict[Any, Value]:
        return {key: value for key, value in self.slots.items() if key is not OPEN}

    @property
    def has_unknown_keys(self) -> bool:
        """Whether there may be further keys, or not all of those that are known."""
        return self.is_open or any(isinstance(slot, Value) and slot.may_be_absent for slot in self.slots.values())


class Sequence(Container):
    """A list, a tuple or a set."""

    __slots__ = ("kind",)

    def __init__(self, items: Iterable[Value] = (), kind: str = "list", is_open: bool = False) -> None:
        values = tuple(items)
        super().__init__({ITEMS: values[:LONGEST], **({OPEN: True} if is_open or len(values) > LONGEST else {})})
        self.kind = kind

    @property
    def items(self) -> tuple[Value, ...]:
        values: tuple[Value, ...] = self.slots[ITEMS]
        return values

    def has_place(self, key: Value) -> bool:
        """Whether a key is the number of a known item."""
        return isinstance(key.data, int) and not self.is_open and -len(self.items) <= key.data < len(self.items)

    def without(self, place: int) -> tuple[Value, ...]:
        """The items without the one at a place."""
        items = list(self.items)
        del items[place]
        return tuple(items)


def set_of(items: Iterable[Value], is_open: bool = False) -> Sequence:
    """A set: equal values are one; of values that are not plain it is unknown whether they are equal."""
    known: dict[Any, Value] = {}
    others: list[Value] = []
    for item in items:
        if item.is_plain:
            known.setdefault(item.data, item)
        else:
            others.append(item)
    return Sequence((*known.values(), *others), "set", is_open or len(others) > 1)


class Frame(Container):
    """The names of a function call, of a class body or of a module. `returned` are the possible results of the call."""

    __slots__ = ("closure", "globals", "is_class", "module", "owner", "returned")

    def __init__(self, module: ProgramModule, closure: Frame | None = None) -> None:
        super().__init__()
        self.module, self.closure = module, closure
        self.globals: set[str] = set()
        self.returned: list[Value] = []
        self.owner: tuple[Class, Value] | None = None  # the class of a method, and its object
        self.is_class = False  # whose names the functions in it do not see

    @property
    def top(self) -> Frame:
        frame = self
        while frame.closure is not None:
            frame = frame.closure
        return frame


Marks = dict[str, list[tuple[list[Value], dict[Any, Value]]]]


class Function(Record):
    """A function of the program, with the object that it is bound to; `marks` are the decorators and their arguments."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    frame: Frame
    bound: Value | None = None
    owner: Class | None = None
    defaults: dict[str, Value] = {}
    marks: Marks = {}

    def of(self, value: Value, owner: Class) -> Function:
        return changed(self, bound=value, owner=owner)


class Class(Container):
    """A class of the program; `bases` are its base classes."""

    __slots__ = ("frame", "line", "node")

    def __init__(self, node: ast.ClassDef, frame: Frame, bases: list[Value]) -> None:
        super().__init__()
        self.node, self.frame = node, frame
        self.line = self._line([base.data for base in bases])

    def _line(self, bases: list[Any]) -> list[Class | External | None]:
        """The class and its bases in the order in which an attribute is looked for (C3); None for an unknown one."""
        lines = [[*base.line] if isinstance(base, Class) else [base if isinstance(base, External) else None] for base in bases]
        lines.append([line[0] for line in lines])
        found: list[Class | External | None] = [self]
        while lines := [line for line in lines if line]:
            heads = (line[0] for line in lines if not any(is_one(line[0], later) for other in lines for later in other[1:]))
            head = next(heads, lines[0][0])
            found.append(head)
            lines = [line[1:] if is_one(line[0], head) else line for line in lines]
        return found


def is_one(one: Class | External | None, other: Class | External | None) -> bool:
    return one is other or (isinstance(one, External) and isinstance(other, External) and one.name == other.name)


class Instance(Container):
    """An object of a class of the program, or one that has attributes only (`SimpleNamespace`)."""

    __slots__ = ("made_of",)

    def __init__(self, made_of: Class | None = None, slots: dict[Any, Any] | None = None) -> None:
        super().__init__(slots)
        self.made_of = made_of


class Opaque(Container):
    """The result of a call outside of the program, of which only the name of what was called is known."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


STREAMED = "datasets.IterableDataset"  # of `load_dataset(..., split="train", streaming=True)`, and of its methods
STREAMED_SPLITS = "datasets.IterableDatasetDict"  # without `split`: a mapping, which has a length
CALLBACKS = "callbacks added later"  # the slot of a trainer with what `add_callback` is given
IS_TRAINED = "trained"  # the slot of a trainer whose `train` is called
RESUMES = "resumes from"  # the slot of a trainer with the checkpoint that `train` is given
ACCELERATOR, ENGINE, LOADER, OPTIMIZER, PIPELINE, PLUGIN, SCHEDULE = (
    *("accelerator", "engine", "loader", "optimizer", "pipeline", "plugin", "schedule"),
)


class LoopObject(Opaque):
    """An object of a training loop that a library makes, with the `MadeCall` that made it; None if it was only tried.

    `initial` are the attributes that the library gives it, `slots` those that the program sets.
    """

    __slots__ = ("initial", "kind", "made")

    def __init__(self, name: str, kind: str, made: Any) -> None:
        super().__init__(name)
        self.kind, self.made = kind, made
        self.initial: dict[str, Value] = {}


class Partial(Record):
    """A function, or a class, with arguments that each call of it gets: `functools.partial`."""

    function: Value
    given: list[Value]
    named: dict[str | None, Value]


class MadeObject(Opaque):
    """A model, or a config of one, with the `MadeCall` that made it, None if it was only tried; a model may have an adapter."""

    __slots__ = ("has_adapter", "made")

    def __init__(self, name: str, made: Any) -> None:
        super().__init__(name)
        self.made = made
        self.has_adapter = False


class Counted(Opaque):
    """A long range, of which only the length is known."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        super().__init__("range")
        self.length = length


# The fields that `__post_init__` of TrainingArguments alone makes use of (4.30.0 to 5.24.0), and what it makes of them.
USED_WHEN_MADE = frozenset(("bf16", "deepspeed", "fp16", "fsdp", "fsdp_config"))
MADE_OF_THEM = frozenset(("deepspeed_plugin", "fsdp_plugin_args", "hf_deepspeed_config", "mixed_precision"))


class Built(Container):
    """An object of a framework's class of arguments: its slots are the fields that the code sets after it was made.

    `call` is the `MadeCall` that made it, or what it is a copy of; `filling` how a parser did. `is_given`: a trainer gets it,
    `is_passed`: so does code outside of the program. `trained` are
    the slots that it has where trainers are trained; those of which have several values are unknown. `initial` are those of its making.
    """

    __slots__ = ("arguments", "call", "filling", "initial", "is_given", "is_passed", "made_of", "name", "trained")

    def __init__(self, name: str, arguments: dict[str, Value], made_of: Class | None = None, call: Any = None) -> None:
        super().__init__()
        self.name, self.arguments, self.made_of = name, arguments, made_of
        self.call, self.is_given, self.is_passed = call, False, False
        self.filling: Filling | None = None
        self.trained: dict[Any, Any] | None = None
        self.initial: dict[Any, Any] = {}
        if call is not None:
            call.results.append(self)

    @property
    def in_training(self) -> dict[Any, Any]:
        """The slots that count: what is set behind the training has no effect on it, nor what is set when it has been made use of."""
        slots = self.slots if self.trained is None else self.trained
        if slots.keys() & MADE_OF_THEM:
            return slots
        return {name: value for name, value in slots.items() if name not in USED_WHEN_MADE or self.initial.get(name) is value}

    def train(self) -> None:
        now, before = dict(self.slots), self.trained
        if before is not None:
            for name in (*now, *before):
                values = [each.get(name) for each in (before, now)]
                if not all(isinstance(value, Value) for value in values) or not same(values[0], values[1]):
                    now[name] = unknown(Reason("branch", "the trainings of the program, which differ"))
        self.trained = now


class Filling(Record):
    """What a parser fills an object of arguments with: the words of `line`, or a file or mapping in their place. `unread` is why that is
    not known, with its place, `taken` the options of the line that the program took away.
    """

    line: dict[str, Value]
    in_place: bool = False
    unread: Reason | None = None
    taken: set[str] = set()


class ModuleObject(Record):
    frame: Frame


class Method(Record):
    """A method of an object that is not of the program's own classes."""

    owner: Value
    name: str


class OpenFile(Record):
    """An opened file: its path as the program spells it."""

    path: Value


class FilePath(Record):
    """A `pathlib.Path`."""

    text: str


def same(one: object, other: object) -> bool:
    if one is other:
        return True
    if not isinstance(one, Value) or not isinstance(other, Value):
        return False
    if one.data is other.data and one.known:
        return True
    if isinstance(one.data, External) and isinstance(other.data, External):
        return one.data.name == other.data.name
    return one.is_plain and other.is_plain and type(one.data) is type(other.data) and bool(one.data == other.data)


def plain(value: Value, depth: int = 0, known: dict[int, Any] | None = None) -> Any:
    """The content as Python's own numbers, strings, lists and dicts; unknown if a part is. `known` are those of shared containers."""
    data, known = value.data, known if known is not None else {}
    if isinstance(data, Unknown):
        # One of several is told with them, if they are numbers, strings or switches.
        reasons = [Reason(each.kind, each.what, each.why, each.file, each.line, name=each.name) for each in data.reasons]
        if value.may_be_absent:
            return Perhaps(*reasons)
        options = [option.data for option in data.options] if isinstance(data, Choice) else []
        is_told = len(options) > 1 and all(isinstance(option, PLAIN) for option in options)
        return Choice(tuple(dict.fromkeys(options)), *reasons) if is_told else Unknown(*reasons)
    if isinstance(data, PLAIN):
        return Unknown(FOLDER) if isinstance(data, str) and "\0" in data else data
    if isinstance(data, FilePath):
        return Unknown(FOLDER) if "\0" in data.text else data.text
    if isinstance(data, (Opaque, External)):
        return Unknown(Reason("program", f"`{data.name}`", "it is outside of the program"))
    if not isinstance(data, (Sequence, Mapping)) or data.is_open or depth > DEEPEST:
        return Unknown()
    if id(data) not in known:
        items = data.items.items() if isinstance(data, Mapping) else enumerate(data.items)
        parts = {key: plain(item, depth + 1, known) for key, item in items}
        doubt = joined(*parts.values())
        if doubt is None and isinstance(data, Sequence):
            known[id(data)] = tuple(parts.values()) if data.kind == "tuple" else list(parts.values())
        else:
            known[id(data)] = parts if doubt is None else doubt
    return known[id(data)]


def wrapped(data: object, by_attribute: bool = False, root: Mapping | None = None) -> Value:
    if isinstance(data, dict):
        mapping = Mapping(by_attribute=by_attribute)
        mapping.root = root or mapping
        mapping.slots.update((key, wrapped(each, by_attribute, mapping.root)) for key, each in data.items())
        return Value(mapping)
    if isinstance(data, (list, tuple)):
        return Value(Sequence([wrapped(each, by_attribute, root) for each in data], "tuple" if isinstance(data, tuple) else "list"))
    return Value(data) if isinstance(data, (*PLAIN, Unknown)) else unknown()


def attempted(function: Callable[..., object], *values: object, **named: object) -> object:
    """The result of a function of Python; unknown where it raises."""
    try:
        return function(*values, **named)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
        return Unknown()


def calculated(operation: ast.operator, one: Any, other: Any) -> Value:
    function = BINARY.get(type(operation))
    numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
    texts = isinstance(one, str) and isinstance(other, PLAIN) and isinstance(operation, (ast.Add, ast.Mod))
    if function is None or not (numbers or texts):
        return unknown()
    if texts and isinstance(operation, ast.Mod) and is_wide(one):
        return unknown()
    if numbers and (abs(one) > LARGEST or abs(other) > LARGEST or (isinstance(operation, ast.Pow) and abs(other) > 64)):
        return unknown()
    result = attempted(function, one, other)
    return Value(result) if isinstance(result, PLAIN) and len(str(result)) < LONGEST else unknown()


def with_unknown(operation: ast.operator, left: Value, right: Value) -> Value:
    """The result of an operation with an unknown number: `epochs * steps / steps` is `epochs`, whatever the steps are."""
    if isinstance(operation, (ast.Div, ast.FloorDiv)) and any(source is right for source in left.sources):
        return next((source for source in left.sources if source is not right), left)
    value = unknown_from(left, right)
    if isinstance(operation, ast.Mult):
        value.sources = (left, right)
    return value


def short(text: str, kind: Callable[[str], Any] = str) -> Value:
    return Value(kind(text)) if len(text) <= LONGEST else unknown()


def is_wide(text: str) -> bool:
    """Whether a format string asks for a width or a precision of thousands of characters, or takes it from an argument."""
    return WIDE.search(text) is not None


def part_within(bounds: list[Value]) -> slice | None:
    """The part of a list that bounds name; None if they are not known."""
    numbers = [bound.data for bound in bounds]
    return slice(*numbers) if all(type(each) in (int, type(None)) for each in numbers) and numbers[2] != 0 else None


def path_part(path: FilePath, name: str) -> Value:
    head, _, tail = path.text.rstrip("/").rpartition("/")
    if name == "parent":
        return Value(FilePath(head or ("\0" if path.text.startswith("\0") else ".")))
    stem, mark, suffix = tail.rpartition(".")
    return Value(tail if name == "name" else (stem or tail) if name == "stem" else mark + suffix if stem else "")
