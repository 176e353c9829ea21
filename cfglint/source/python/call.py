"""The keyword arguments of one call as a document: keys and values have their places in the program."""

from __future__ import annotations

from os.path import normpath

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Callable, ConfigMapping, ConfigTable, ConfigValue, Mapping
from cfglint.source.document import SCALAR, Document, Node, Part, Path, Written
from cfglint.source.files import NOTEBOOK
from cfglint.source.loaders import Loader


class CallDocument(Part):
    """A call in a program. The root maps each keyword to its value, at their places in the program's source.

    `values` are the values as in Python, with `Unknown` for unknown ones; `unknown` has these alone.
    `literal` are the keywords whose value is written as a literal, in the call or in the only assignment of a name. `borrowed` maps
    a keyword to the argument of the program that supplies its value; `elsewhere` has the places of values that another module or a
    config file has, `computed` those of the numbers that a value is computed from, `defaults` those of the defaults of the program's own
    fields, `ends` the ends of keywords with their values. `name`
    is the called class or function, `set_later` are the fields that the code sets on its result, `number` is its place among the calls
    of the program that build arguments. `others` are the other ones; those of `partners` may change with it. `files` are the paths of
    all files that the values come from; `again_with` finds the call in other versions of them. `trace`
    gives the source of what an unknown value is computed from, which begins with the expression in `traced`. `on_gpus` is the call
    on another number of GPUs.
    `parts` has the known values of mappings, of which others may be unknown.
    """

    def __init__(self, path: str, text: str, name: str, start: int, end: int) -> None:
        super().__init__(path, text, "python", start, end)
        self.name = name
        self.values: ConfigMapping = {}
        self.literal: set[str] = set()
        self.borrowed: dict[str, str] = {}
        self.again: Callable[[str], CallDocument] | None = None  # finds this call in another version of the program
        self.number = 0
        self.parts: dict[str, ConfigTable] = {}
        self.traced: ConfigTable = {}
        self.trace: Callable[[str], tuple[str, ...]] = lambda key: ()
        self.ends: dict[str, int] = {}
        self.others: dict[int, CallDocument] = {}
        self.partners: frozenset[int] = frozenset()
        self.elsewhere: dict[str, Written] = {}
        self.computed: dict[str, list[Written]] = {}
        self.defaults: dict[str, Written] = {}
        self.on_gpus: Callable[[int], CallDocument] | None = None
        self.again_with: Callable[[Mapping[str, str]], CallDocument] | None = None

    def reread(self, texts: Mapping[str, str]) -> Document:
        if self.again_with is None:
            return super().reread(texts)
        return self.again_with(texts) if any(normpath(path) in texts for path in self.files) else self

    def source(self, start: int, end: int) -> str:
        from cfglint.source.python.literals import unescaped

        text = super().source(start, end)
        return unescaped(text) if self.path.endswith(NOTEBOOK) else text

    def is_literal(self, key: str) -> bool:
        return key in self.literal

    def add(self, key: Node, node: Node, value: object) -> None:
        self.roots[0].children.append((key, node))
        self.values[key.raw] = value

    def written_elsewhere(self) -> list[Written]:
        return [*super().written_elsewhere(), *self.defaults.values(), *(each for writtens in self.computed.values() for each in writtens)]

    def default_of(self, path: Path) -> Written | None:
        """The default of a field of the program's own class, or the mapping of a config file that gives all arguments."""
        name = str(path[0])
        if len(path) > 1 or name in self.defaults:
            return self.defaults.get(name)
        sources = [each for each in self.elsewhere.values() if each.has_key]
        files = {(source.document.path, source.path[:-1]) for source in sources}
        if len(sources) < len(self.values) or len(files) != 1:
            return None
        return Written(sources[0].document, (*sources[0].path[:-1], name), has_key=True)

    def leave_open(self, key: Node, start: int, end: int, value: Unknown) -> None:
        self.add(key, Node(SCALAR, start, end), value)
        self.unknown[key.raw] = value


class Keywords(Loader):
    """The values of the keyword arguments, as Python evaluates them; a module that cannot be parsed has no calls."""

    name = "Python"

    def construct(self, document: Document) -> ConfigValue:
        """The values by keyword; of another document that contains a literal, its value."""
        assert isinstance(document, CallDocument)
        return dict(document.values)

    def value_of(self, node: Node) -> ConfigValue:
        import ast

        if node.style:
            return node.raw
        try:
            value: ConfigValue = ast.literal_eval(node.raw)
            return value
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return node.raw


KEYWORDS = Keywords()
