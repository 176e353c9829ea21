"""The values of the arguments of a call, as far as literals, constants and the program's own arguments tell them."""

from __future__ import annotations

import ast

from cfglint.frameworks.program import MISSING
from cfglint.frameworks.unknown import Unknown
from cfglint.launch.programs.literals import COMPUTED, is_unpacked, literal
from cfglint.launch.programs.modules import Definition, target_names
from cfglint.launch.programs.scopes import dotted, parameters
from cfglint.source.document import SCALAR, Node
from cfglint.source.python.call import CallDocument
from cfglint.source.python.literals import Offsets, node_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.program import ProgramFacts
    from cfglint.launch.programs.constructors import Constructor
    from cfglint.launch.programs.modules import Module
    from cfglint.launch.programs.scopes import Scope

FIRST = "output_dir"  # the one parameter that people give without its name


class Evaluated:
    """The value of an expression, and the literal that gives it; `reason` says why it is not known. `argument` is the program's
    argument from which it comes.
    """

    __slots__ = ("argument", "module", "node", "reason", "value")

    def __init__(
        self, value: Any, node: ast.expr | None = None, module: Module | None = None, reason: str = "", argument: str = ""
    ) -> None:
        self.value = value
        self.node = node
        self.module = module
        self.reason = reason
        self.argument = argument


def evaluated(node: ast.expr, scope: Scope, program: ProgramFacts) -> Evaluated:
    """What an argument of a call evaluates to."""
    value = literal(node)
    if value is not COMPUTED:
        return Evaluated(value, node, scope.module)
    if isinstance(node, ast.Name):
        return named(node, scope)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return of_arguments(node, scope, program)
    return Evaluated(COMPUTED, reason=f"`{shown(node)}` is computed by the program")


def named(node: ast.Name, scope: Scope) -> Evaluated:
    """The value of a name that one assignment gives a literal."""
    if node.id in parameters(scope.node):
        return Evaluated(COMPUTED, reason=f"`{node.id}` is a parameter of `{getattr(scope.node, 'name', '')}()`")
    unclear = Evaluated(COMPUTED, reason=f"`{node.id}` is not the name of one literal")
    if is_global(node.id, scope.module):
        return unclear
    if node.id in scope.bound:
        value = scope.values.get(node.id)
        certain = value is not None and not scope.is_conditional(value)
        return at_literal(value, scope.module, unclear) if certain and value is not None else unclear
    found = scope.resolve(node)
    if not isinstance(found, Definition) or node.id in found.module.ambiguous:
        return unclear
    if not isinstance(found.node, (ast.Assign, ast.AnnAssign)) or is_unpacked(found.node) or found.node.value is None:
        return unclear
    return at_literal(found.node.value, found.module, unclear)


def at_literal(node: ast.expr, module: Module, otherwise: Evaluated) -> Evaluated:
    """An expression where it is a literal."""
    value = literal(node)
    return otherwise if value is COMPUTED else Evaluated(value, node, module)


def is_global(name: str, module: Module) -> bool:
    """Whether a function of the module declares a name global, and so may change it."""
    return any(isinstance(node, ast.Global) and name in node.names for node in ast.walk(module.tree))


def of_arguments(node: ast.Attribute, scope: Scope, program: ProgramFacts) -> Evaluated:
    """The value of `args.name`: the default of an argument of the program's own parser."""
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    field = program.fields.get(node.attr) if program.parser and name in parsed_names(program.scopes) else None
    if field is None:
        return Evaluated(COMPUTED, reason=f"`{shown(node)}` is computed by the program")
    if is_set(node.attr, program.scopes):
        return Evaluated(COMPUTED, reason=f"`{shown(node)}` is set by the program")
    default = COMPUTED if field.default is MISSING or isinstance(field.default, Unknown) else field.default
    reason = f"`--{node.attr}` has no literal default" if default is COMPUTED else ""
    return Evaluated(default, reason=reason, argument=node.attr)


def parsed_names(scopes: tuple[Scope, ...]) -> set[str]:
    """The names that hold parsed arguments: what a call of a function with `parse` or `args` in its name is assigned to."""
    found: set[str] = set()
    for scope in scopes:
        for call in scope.calls():
            called = dotted(call.func)[-1:] or [""]
            if "parse" in called[0] or "args" in called[0]:
                found.update(target_names_of(scope.module.parent(call)))
    return found


def target_names_of(node: ast.AST | None) -> set[str]:
    """The names that an assignment binds, those of an unpacked one included."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {name for target in targets for name in target_names(target)}


def is_set(attribute: str, scopes: tuple[Scope, ...]) -> bool:
    """Whether code sets an attribute of this name, of whatever."""
    nodes = (node for scope in scopes for node in scope.nodes)
    return any(isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Store) for node in nodes)


def shown(node: ast.expr) -> str:
    """An expression on one line, cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 40 else text[:37] + "..."


def call_document(built: Constructor, program: ProgramFacts) -> CallDocument:
    """The document of a constructor call."""
    module = built.scope.module
    offsets = Offsets(module.text)
    document = CallDocument(module.path, module.text, built.name, *offsets.span(built.call))
    for each in built.call.args[:1]:
        add(document, FIRST, each, offsets, offsets.span(each), built, program)
    for keyword in built.call.keywords:
        if keyword.arg is not None:
            start = offsets.span(keyword)[0]
            add(document, keyword.arg, keyword.value, offsets, (start, start + len(keyword.arg)), built, program)
    return document


def add(
    document: CallDocument,
    name: str,
    expression: ast.expr,
    offsets: Offsets,
    place: tuple[int, int],
    built: Constructor,
    program: ProgramFacts,
) -> None:
    """Add an argument of a call to its document."""
    key = Node(SCALAR, *place, name)
    found = evaluated(expression, built.scope, program)
    if found.value is COMPUTED:
        document.leave_open(key, *offsets.span(expression), Unknown((found.reason,)), (found.reason,))
        return
    inside = found.node is not None and found.module is built.scope.module
    node = node_of(found.node if inside and found.node is not None else expression, offsets)
    if not inside:
        node.raw, node.style = str(found.value), '"' if isinstance(found.value, str) else ""
    document.add(key, node, found.value)
    if inside:
        document.literal.add(name)
    if found.argument:
        document.borrowed[name] = found.argument
