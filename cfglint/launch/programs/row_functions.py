"""Whether loops and functions of a program make one row of each row that they go through, from their syntax alone."""

from __future__ import annotations

import ast

from cfglint.launch.programs.scopes import FUNCTIONS, Scope, dotted
from cfglint.source.annotations import Iterable, Iterator
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record

MANY = 2  # appends of one turn, and more
TOKENIZERS = ("tokenizer", "tok", "processor", "batch_encode_plus", "apply_chat_template")  # ends of the names of what encodes each text
SPLITTING = frozenset(("return_overflowing_tokens", "stride", "return_overflowing"))  # arguments by which a tokenizer makes several
ONE_EACH = frozenset(("zip", "list", "tuple", "enumerate", "deepcopy", "copy", "map", "tqdm", "dict", "reversed", "sorted"))
KEEPING = frozenset(("copy", "clone", "tolist", "items", "to"))  # methods of a batch, or of a column of it


class Appends(Record):
    """How often one turn of a loop appends to a list, at least and at most; `leaves`: it may end before what follows."""

    least: int
    most: int
    leaves: bool = False


NEVER = Appends(0, 0)


def lists_filled(node: ast.For | ast.AsyncFor, parses: bool = False) -> dict[str, bool]:
    """The lists, as they are spelled, that get at most one row in each turn of a loop; true for those that get one in every turn.

    `parses`: it goes through lines of JSON, of which blank ones are no rows.
    """
    named = {name for each in walk(node) if (name := list_appended_to(each))}
    line = node.target.id if parses and isinstance(node.target, ast.Name) else ""
    found = {name: appends(node.body, name, line) for name in named if not node.orelse}
    return {name: each.least == 1 for name, each in found.items() if each.most == 1}


def list_appended_to(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) and len(node.args) == 1 else None
    is_append = isinstance(function, ast.Attribute) and function.attr == "append"
    return ".".join(dotted(function.value)) if is_append else ""  # type: ignore[union-attr]


def appends(body: list[ast.stmt], name: str, line: str) -> Appends:
    least = most = 0
    leaves = False
    for node in body:
        part = appends_of(node, name, line)
        least += 0 if leaves else part.least
        most += part.most
        leaves = leaves or part.leaves
    return Appends(least, min(most, MANY), leaves)


def appends_of(node: ast.stmt, name: str, line: str) -> Appends:
    if isinstance(node, (ast.Continue, ast.Break, ast.Return)):
        return Appends(0, 0, True)
    if isinstance(node, ast.If):
        is_skip = len(node.body) == 1 and isinstance(node.body[0], ast.Continue) and not node.orelse
        is_negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        if is_skip and is_negated and is_line(node.test.operand, line):  # type: ignore[attr-defined]
            return NEVER
        if is_line(node.test, line) and not node.orelse:
            return appends(node.body, name, line)
        ways = [appends(way, name, line) for way in (node.body, node.orelse) if not (way and isinstance(way[-1], ast.Raise))]
        return either(ways) if not uses(node.test, name) else Appends(0, MANY)
    if isinstance(node, ast.Try):
        body = appends([*node.body, *node.orelse, *node.finalbody], name, line)
        handlers = [appends(handler.body, name, line) for handler in node.handlers if not isinstance(handler.body[-1], ast.Raise)]
        ways = [Appends(handler.least, body.most + handler.most, handler.leaves) for handler in handlers]
        return either([body, *ways])
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return appends(node.body, name, line)
    if isinstance(node, ast.Expr) and list_appended_to(node.value) == name:
        return Appends(1, 1) if not uses(node.value.args[0], name) else Appends(0, MANY)  # type: ignore[attr-defined]
    return Appends(0, MANY) if uses(node, name) else NEVER


def either(ways: list[Appends]) -> Appends:
    if not ways:
        return NEVER
    return Appends(min(way.least for way in ways), max(way.most for way in ways), any(way.leaves for way in ways))


def uses(node: ast.AST, name: str) -> bool:
    lengths = {id(each.args[0]) for each in walk(node) if isinstance(each, ast.Call) and dotted(each.func) == ["len"] and each.args}
    return any(isinstance(each, (ast.Name, ast.Attribute)) and id(each) not in lengths and ast.unparse(each) == name for each in walk(node))


def is_line(test: ast.expr, name: str) -> bool:
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "strip" and not test.args:
        test = test.func.value
    return isinstance(test, ast.Name) and test.id == name


def parses_lines(*nodes: ast.AST) -> bool:
    called = (each.func for node in nodes for each in walk(node) if isinstance(each, ast.Call))
    return any("loads" in (getattr(node, "attr", ""), getattr(node, "id", "")) for node in called)


class Batched:
    """The function of a batched `map`: which of its values have an entry for each row of the batch."""

    def __init__(self, batch: str) -> None:
        self.batch = batch
        self.known: set[str] = set()
        self.results: list[bool] = []

    def block(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Return):
                self.results.append(node.value is not None and self.each_row(node.value))
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.bind((target.id for target in targets if isinstance(target, ast.Name)), self.each_row(node.value))
            elif isinstance(node, ast.For) and self.each_row(node.iter):
                filled = lists_filled(node)
                self.bind(filled, False)
                self.bind((name for name, always in filled.items() if always), True)
            elif isinstance(node, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
                for inside in ("body", "orelse", "finalbody"):
                    self.block(getattr(node, inside, []))
            elif isinstance(node, ast.Delete):
                self.bind((target.id for target in node.targets if isinstance(target, ast.Name)), False)

    def bind(self, names: Iterable[str], has_rows: bool) -> None:
        (self.known.update if has_rows else self.known.difference_update)(names)

    def each_row(self, node: ast.expr) -> bool:
        """Whether a value has an entry for each row of the batch, or is a mapping with such a column."""
        if isinstance(node, ast.Name):
            return node.id == self.batch or node.id in self.known
        if isinstance(node, ast.Subscript):
            is_key = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
            return (is_key or ast.unparse(node.value) == self.batch) and self.each_row(node.value)
        if isinstance(node, ast.Attribute):
            return self.each_row(node.value)
        if isinstance(node, ast.Dict):
            return any(self.each_row(value) for value in node.values)
        if isinstance(node, ast.ListComp):
            first = node.generators[0]
            return len(node.generators) == 1 and not first.ifs and ast.unparse(first.iter) != self.batch and self.each_row(first.iter)
        if not isinstance(node, ast.Call):
            return False
        path = dotted(node.func)
        last = path[-1] if path else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        nodes = [each for each in node.args if not isinstance(each, ast.Starred)]
        if last in ONE_EACH:
            return any(self.each_row(each) for each in nodes)
        if last == "range":
            return (
                len(nodes) == 1 and isinstance(nodes[0], ast.Call) and dotted(nodes[0].func) == ["len"] and self.each_row(nodes[0].args[0])
            )
        if isinstance(node.func, ast.Attribute) and self.each_row(node.func.value):
            return last in KEEPING
        words = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        if not last.lower().endswith(TOKENIZERS) or SPLITTING & words.keys():
            return False
        return any(self.each_row(each) for each in (*nodes, *words.values()))


def keeps_rows(function: ast.AST, skipped: int) -> bool:
    """Whether a function of a batched `map` gives a row for each one; `skipped` are the parameters before the batch."""
    arguments = getattr(function, "args", None)
    names = [node.arg for node in (*arguments.posonlyargs, *arguments.args)] if isinstance(arguments, ast.arguments) else []
    if len(names) <= skipped:
        return False
    batched = Batched(names[skipped])
    if isinstance(function, ast.Lambda):
        return batched.each_row(function.body)
    if not isinstance(function, FUNCTIONS):
        return False
    batched.block(function.body)
    return bool(batched.results) and all(batched.results)


def cut_lengths(scopes: Iterable[Scope]) -> Iterator[int | str | None]:
    """What a tokenizer is told to cut rows at, in each of its calls: a number, the name of an argument, None for anything else."""
    nodes = {node for scope in scopes for node in walk(scope.node)}
    numbers = {
        node.targets[0].id: node.value.value if isinstance(node.value, ast.Constant) and isinstance(node.value.value, int) else None
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        words = {keyword.arg: keyword.value for keyword in call.keywords}
        path, cuts, length = dotted(call.func), words.get("truncation"), words.get("max_length")
        if length is None or (isinstance(cuts, ast.Constant) and not cuts.value) or not path or not path[-1].lower().endswith(TOKENIZERS):
            continue
        if isinstance(length, ast.Name):
            yield numbers.get(length.id)
        else:
            value = length.value if isinstance(length, ast.Constant) else getattr(length, "attr", None)
            yield value if isinstance(value, (int, str)) else None
