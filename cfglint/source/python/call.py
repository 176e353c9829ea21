"""The keyword arguments of one call as a document: keys and values have their places in the program."""

from __future__ import annotations

from cfglint.source.document import MAPPING, SCALAR, Document, Node
from cfglint.source.loaders import Loader
from cfglint.source.python import SYNTAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cfglint.source.document import Problem


class CallDocument(Document):
    """A call in a program. The root maps each keyword to its value, at their places in the program's source.

    `values` are the values as in Python, with `frameworks.unknown.Unknown` for unknown ones; `unknown` has the reasons.
    `literal` are the keywords whose value is written as a literal, in the call or in the only assignment of a name. `borrowed` maps
    a keyword to the argument of the program that supplies its value. `name` is the called class or function; `others` are the
    values of the other calls of the program that build arguments.
    """

    __slots__ = ("again", "borrowed", "extent", "literal", "name", "others", "unknown", "values")

    def __init__(self, path: str, text: str, name: str, start: int, end: int) -> None:
        super().__init__(path, text, SYNTAX)
        self.name = name
        self.extent: tuple[int, int] = (start, end)
        self.values: dict[Any, Any] = {}
        self.unknown: dict[str, tuple[str, ...]] = {}
        self.literal: set[str] = set()
        self.borrowed: dict[str, str] = {}
        self.again: Callable[[str], CallDocument] | None = None  # finds this call in another version of the program
        self.roots = [Node(MAPPING, start, end, style="block")]
        self.others: list[dict[Any, Any]] = []

    def add(self, key: Node, node: Node, value: Any) -> None:
        """Add a keyword with its value."""
        self.roots[0].children.append((key, node))
        self.values[key.raw] = value

    def leave_open(self, key: Node, start: int, end: int, value: Any, reasons: tuple[str, ...]) -> None:
        """Add a keyword whose value is unknown."""
        self.add(key, Node(SCALAR, start, end), value)
        self.unknown[key.raw] = reasons


class Keywords(Loader):
    """The values of the keyword arguments, as Python evaluates them."""

    name = "Python"

    def refusals(self, document: Document) -> list[Problem]:
        """Return no problems: a program that cannot be parsed has no calls."""
        return []

    def construct(self, document: Document) -> Any:
        """The values by keyword; of another document that contains a literal, its value."""
        assert isinstance(document, CallDocument)
        return dict(document.values)

    def value_of(self, node: Node) -> Any:
        """The value of a literal."""
        from cfglint.source.python.literals import scalar_value

        return node.raw if node.style else scalar_value(node.raw)


KEYWORDS = Keywords()
