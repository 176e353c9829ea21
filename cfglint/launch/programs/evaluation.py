"""The values of the arguments of a call, as far as they are literals, constants or arguments of the program."""

from __future__ import annotations

import ast

from cfglint.frameworks.program import MISSING
from cfglint.frameworks.unknown import Unknown
from cfglint.launch.programs.constructors import Constructor, EngineConfig
from cfglint.launch.programs.documents import document_of_call, document_of_engine, given_mapping
from cfglint.launch.programs.literals import COMPUTED, arithmetic, assigned, is_mutated, literal
from cfglint.launch.programs.modules import Definition, target_names_of
from cfglint.launch.programs.scopes import FUNCTIONS, parameters
from cfglint.source.budget import Exhausted
from cfglint.source.document import SCALAR, Node
from cfglint.source.python.call import CallDocument
from cfglint.source.python.literals import Offsets, node_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.program import ProgramFacts
    from cfglint.launch.programs.constructors import AcceleratorCall
    from cfglint.launch.programs.modules import Module
    from cfglint.launch.programs.runs_of_program import Evaluated
    from cfglint.launch.programs.scopes import Scope

DEEPEST = 50  # names whose values depend on one another


class Found:
    """The value of an expression, and the literal that it comes from; `reason` explains why a value is unknown. `argument` is the
    argument of the program that it comes from.
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


def evaluated(node: ast.expr, scope: Scope, program: ProgramFacts) -> Found:
    """Evaluate an argument of a call."""
    value = literal(node)
    if value is not COMPUTED:
        return Found(value, node, scope.module)
    if isinstance(node, ast.Name):
        return named(node, scope, program)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        own = of_object(node, scope, program) if node.value.id == "self" else of_class(node, scope, program)
        return of_arguments(node, scope, program) if own is None else own
    if isinstance(node, ast.BinOp):
        return calculated(node, scope, program)
    return Found(COMPUTED, reason=f"`{shown(node)}` is computed by the program")


def calculated(node: ast.BinOp, scope: Scope, program: ProgramFacts) -> Found:
    """The value of an arithmetic expression such as `BATCH // MICRO` of two known numbers. It has no place of its own."""
    left, right = (evaluated(each, scope, program) for each in (node.left, node.right))
    unclear = next((each for each in (left, right) if each.value is COMPUTED), None)
    if unclear is not None or left.argument or right.argument:
        return Found(COMPUTED, reason=unclear.reason if unclear is not None else f"`{shown(node)}` is computed by the program")
    if any(type(each.value) not in (int, float) for each in (left, right)):
        return Found(COMPUTED, reason=f"`{shown(node)}` is computed by the program")
    value = arithmetic(ast.BinOp(constant(left.value), node.op, constant(right.value)))
    return Found(value, reason="" if value is not COMPUTED else f"`{shown(node)}` is computed by the program")


def constant(value: float) -> ast.expr:
    """A number as an expression node."""
    return ast.Constant(value, lineno=1, col_offset=0, end_lineno=1, end_col_offset=1)


def of_class(node: ast.Attribute, scope: Scope, program: ProgramFacts) -> Found | None:
    """The value of `Config.name` or `config.name`: a literal assigned in a plain class of the program; None for others."""
    found = class_of(node.value, scope)
    if found is None or not isinstance(found.node, ast.ClassDef):
        return None
    unclear = Found(COMPUTED, reason=f"`{shown(node)}` is not one literal")
    lines = found.module.assignments(found.node).get(node.attr, [])
    value = getattr(lines[0], "value", None) if len(lines) == 1 else None
    if value is None or any(isinstance(line, FUNCTIONS) for line in found.node.body) or is_set(node.attr, program.scopes):
        return unclear
    return at_literal(value, found.module, unclear)


def of_object(node: ast.Attribute, scope: Scope, program: ProgramFacts) -> Found:
    """The value of `self.name`: a literal in the program's only assignment to it, in a method or in the body of the class."""
    own = scope.module.parent(scope.node)
    lines = scope.module.assignments(own).get(node.attr, []) if isinstance(own, ast.ClassDef) else []
    given = [value for line in lines if (value := getattr(line, "value", None)) is not None]
    for each in program.scopes:
        given.extend(value_behind(target, each) for target in each.stores.get(node.attr, ()))
    unclear = Found(COMPUTED, reason=f"`{shown(node)}` is not one literal")
    return at_literal(given[0], scope.module, unclear) if len(given) == 1 and scope.module.is_within(given[0], own) else unclear


def value_behind(target: ast.Attribute, scope: Scope) -> ast.expr:
    """The value of the only unconditional assignment to an attribute; the attribute itself if there is no such assignment."""
    line = scope.module.parent(target)
    value = line.value if isinstance(line, (ast.Assign, ast.AnnAssign)) else None
    return target if value is None or scope.is_conditional(target) else value


def class_of(node: ast.expr, scope: Scope) -> Definition | None:
    """The class without bases that a name refers to, or whose instance, created without arguments, it is."""
    found = scope.resolve(node)
    if isinstance(found, Definition) and isinstance(found.node, (ast.Assign, ast.AnnAssign, ast.Call)):
        made = found.node if isinstance(found.node, ast.Call) else found.node.value
        clear = isinstance(node, ast.Name) and node.id not in found.module.ambiguous
        plain = isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and not made.args and not made.keywords
        found = scope.resolve(made.func) if clear and plain and isinstance(made, ast.Call) else None
    if not isinstance(found, Definition) or not isinstance(found.node, ast.ClassDef):
        return None
    return None if found.node.bases or found.node.name in found.module.ambiguous else found


def named(node: ast.Name, scope: Scope, program: ProgramFacts) -> Found:
    """The value of a name whose only assignment is a literal or a sum of others."""
    if node.id in parameters(scope.node):
        return Found(COMPUTED, reason=f"`{node.id}` is a parameter of `{getattr(scope.node, 'name', '')}()`")
    unclear = Found(COMPUTED, reason=f"`{node.id}` is not the name of one literal")
    value, module = assigned(node, scope)
    if value is None or node.id in module.globals:
        return unclear
    if isinstance(value, ast.BinOp):
        found = once(value, scope, program)
        return found if found.value is not COMPUTED and module is scope.module else unclear
    found = at_literal(value, module, unclear)
    is_mutable = isinstance(found.value, (dict, list))
    return unclear if is_mutable and (is_mutated(node.id, scope.module) or is_mutated(node.id, module)) else found


def once(node: ast.BinOp, scope: Scope, program: ProgramFacts) -> Found:
    """The value of an expression that is assigned to a name, computed only once in a scope; that of one which refers to itself is
    unknown.
    """
    known: dict[tuple[ast.AST, Scope], Found] = scope.modules.evaluated
    key = node, scope
    if key not in known:
        known[key] = Found(COMPUTED)
        scope.modules.depth += 1
        try:
            scope.modules.budget.spend()
            known[key] = calculated(node, scope, program) if scope.modules.depth < DEEPEST else Found(COMPUTED)
        except Exhausted:
            pass
        finally:
            scope.modules.depth -= 1
    return known[key]


def at_literal(node: ast.expr, module: Module, otherwise: Found) -> Found:
    """The value of an expression that is a literal."""
    value = literal(node)
    return otherwise if value is COMPUTED else Found(value, node, module)


def of_arguments(node: ast.Attribute, scope: Scope, program: ProgramFacts) -> Found:
    """The value of `args.name`: the default of an argument that the program's own parser defines."""
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    field = program.fields.get(node.attr) if program.parser and name in parsed_names(program.scopes) else None
    if field is None:
        return Found(COMPUTED, reason=f"`{shown(node)}` is computed by the program")
    if is_set(node.attr, program.scopes):
        return Found(COMPUTED, reason=f"`{shown(node)}` is set by the program")
    default = COMPUTED if field.default is MISSING or isinstance(field.default, Unknown) else field.default
    reason = f"`--{node.attr}` has no literal default" if default is COMPUTED else ""
    return Found(default, reason=reason, argument=node.attr)


def parsed_names(scopes: tuple[Scope, ...]) -> Iterator[str]:
    """The names that hold parsed arguments: assigned from a call of a function with `parse` or `args` in its name."""
    for scope in scopes:
        for call in scope.parse_calls:
            yield from target_names_of(assignment_of(call, scope))


def assignment_of(call: ast.Call, scope: Scope) -> ast.AST | None:
    """The assignment of the result of a call, or of one of its elements: `args = parse()`, `args = parse()[0]`."""
    above = scope.module.parent(call)
    while isinstance(above, (ast.Subscript, ast.Starred)):
        above = scope.module.parent(above)
    return above


def is_set(attribute: str, scopes: tuple[Scope, ...]) -> bool:
    """Whether code sets an attribute of this name on any object."""
    return any(attribute in scope.stores or any(literal(each) in (attribute, COMPUTED) for each in scope.setattr_names) for scope in scopes)


def shown(node: ast.expr) -> str:
    """An expression on one line, shortened if it is long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 40 else text[:37] + "..."


def engine_mappings(program: ProgramFacts, calls: list[EngineConfig]) -> list[EngineConfig]:
    """The calls whose mapping is completely known and written in their own module."""
    found = [(call, evaluated(call.value, call.scope, program)) for call in calls]
    return [call for call, value in found if isinstance(value.value, dict) and value.node is not None and value.module is call.scope.module]


def engine_document(call: EngineConfig, program: ProgramFacts) -> CallDocument:
    """The mapping that is passed to `deepspeed.initialize`, as a document."""
    module = call.scope.module
    found = evaluated(call.value, call.scope, program)
    offsets = module.offsets
    node = found.node or call.value
    document = CallDocument(module.path, module.text, "deepspeed.initialize", *offsets.span(node))
    if isinstance(found.value, dict):  # else only an evaluation knows the mapping
        document.roots, document.values = [node_of(node, offsets)], found.value
    document.literal = {each for each in document.values if isinstance(each, str)}
    return document


def call_document(
    built: Constructor | EngineConfig | AcceleratorCall, program: ProgramFacts, evaluated: Evaluated | None = None
) -> CallDocument:
    """The document of a constructor call, or of the mapping that is passed to an engine, with the values of an evaluation."""
    if isinstance(built, EngineConfig):
        engine = evaluated.engines.get(built.call) if evaluated is not None else None
        return document_of_engine(engine, built.value) if engine is not None and given_mapping(engine) else engine_document(built, program)
    made = evaluated.made.get(built.call) or evaluated.accelerators.get(built.call) if evaluated is not None else None
    if made is not None:
        return document_of_call(made, program, {*built.known(), *built.own.own} if isinstance(built, Constructor) else None)
    module = built.scope.module
    offsets = module.offsets
    document = CallDocument(module.path, module.text, built.name, *offsets.span(built.call))
    for name, key, value in built.arguments[0]:
        start, end = offsets.span(key)
        place = (start, start + len(name)) if isinstance(key, ast.keyword) else (start, end)
        if isinstance(key, ast.keyword):
            document.ends[name] = end
        add(document, Node(SCALAR, *place, name), value, offsets, built, program)
    return document


def add(
    document: CallDocument, key: Node, expression: ast.expr, offsets: Offsets, built: Constructor | AcceleratorCall, program: ProgramFacts
) -> None:
    """Add an argument of a call to its document."""
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
        document.literal.add(key.raw)
    if found.argument:
        document.borrowed[key.raw] = found.argument
