"""The branches of a program in which calls are: which of them a launch line decides, and which exclude one another."""

from __future__ import annotations

import ast

from cfglint.frameworks.launch.config import passed
from cfglint.frameworks.unknown import Unknown
from cfglint.launch.arguments import read_arguments
from cfglint.launch.programs.evaluation import evaluated
from cfglint.launch.programs.literals import COMPUTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.launch_facts import Launch
    from cfglint.frameworks.program import ProgramFacts
    from cfglint.launch.programs.constructors import AcceleratorCall, Constructor, EngineConfig
    from cfglint.launch.programs.runs_of_program import Evaluated
    from cfglint.launch.programs.scopes import Scope

    Call = Constructor | EngineConfig | AcceleratorCall


def groups(program: ProgramFacts, launch: Launch, evaluated: Evaluated | None = None) -> list[list[int]]:
    """The calls that build arguments, by their positions: each group is one run, and its calls are alternatives.

    Calls in branches that the arguments of the line exclude are left out, and those that an evaluation does not reach.
    """
    calls: list[Call] = list(program.built)
    every = range(len(calls))
    possible = [each for each in every if is_possible(calls[each], program, launch)] or every
    if evaluated is not None and evaluated.complete:
        possible = [each for each in possible if calls[each].node in evaluated.made] or possible
    found: list[list[int]] = []
    for position in possible:
        group = next((each for each in found if all(exclude_each_other(calls[position], calls[other]) for other in each)), None)
        if group is None:
            found.append([position])
        else:
            group.append(position)
    return found


def exclude_each_other(call: Call, other: Call) -> bool:
    """Whether two calls are in different branches of one condition."""
    sides = branches(call)
    return any(sides.get(condition, side) != side for condition, side in branches(other).items())


def branches(call: Call) -> dict[ast.If | ast.IfExp, bool]:
    """The conditions around a call in its function, each with whether it has to be true."""
    found: dict[ast.If | ast.IfExp, bool] = {}
    inside: ast.AST = call.node
    above = call.scope.module.parent(inside)
    while above is not None and inside is not call.scope.node:
        if isinstance(above, ast.If) and inside is not above.test:
            found[above] = inside in above.body
        elif isinstance(above, ast.IfExp) and inside is not above.test:
            found[above] = inside is above.body
        inside, above = above, call.scope.module.parent(above)
    return found


def is_possible(call: Call, program: ProgramFacts, launch: Launch) -> bool:
    """Whether no condition around a call is known to lead elsewhere."""
    return all(truth(condition.test, call.scope, program, launch) in (None, side) for condition, side in branches(call).items())


def truth(test: ast.expr, scope: Scope, program: ProgramFacts, launch: Launch) -> bool | None:
    """Whether a condition holds with the arguments of a line; None if that is unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(test.operand, scope, program, launch)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [truth(each, scope, program, launch) for each in test.values]
        decides = isinstance(test.op, ast.Or)
        return decides if decides in parts else None if None in parts else not decides
    if isinstance(test, ast.Compare):
        return compared(test, scope, program, launch)
    value = value_of(test, scope, program, launch)
    return None if value is COMPUTED else bool(value)


def compared(test: ast.Compare, scope: Scope, program: ProgramFacts, launch: Launch) -> bool | None:
    """Whether one comparison for equality or membership holds; None for others."""
    left, right = (value_of(each, scope, program, launch) for each in (test.left, test.comparators[0]))
    operator = test.ops[0]
    if len(test.ops) > 1 or left is COMPUTED or right is COMPUTED:
        return None
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        return (left == right) is isinstance(operator, ast.Eq)
    if isinstance(operator, (ast.Is, ast.IsNot)) and right is None:
        return (left is None) is isinstance(operator, ast.Is)
    if isinstance(operator, (ast.In, ast.NotIn)) and isinstance(right, (list, tuple)):
        return (left in right) is isinstance(operator, ast.In)
    return None


def value_of(node: ast.expr, scope: Scope, program: ProgramFacts, launch: Launch) -> Any:
    """The value of an expression with the arguments of a line; `COMPUTED` if it is unknown."""
    found = evaluated(node, scope, program)
    if not found.argument:
        return found.value
    value, place, _ = passed(launch, found.argument)
    if isinstance(value, Unknown) or (place is None and may_give_more(launch)):
        return COMPUTED
    return found.value if place is None else value


def may_give_more(launch: Launch) -> bool:
    """Whether an unknown word of a line may be further options: one that is not the value of an option."""
    assert launch.line is not None
    assert launch.parser is not None
    arguments, before = read_arguments(launch.line.arguments)
    fields = launch.parser.fields
    rest = list(before)
    for each in arguments:
        is_flag = each.name in fields and fields[each.name].takes == "0"
        rest += each.texts if is_flag else each.texts[1:]
    return launch.is_open or not all(word.known for word in rest)
