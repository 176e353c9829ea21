"""Loops: `for`, `while`, `until`; those over known words are unrolled."""

from __future__ import annotations

from functools import partial

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Callable, SyntaxNode, Truth
from cfglint.source.shell.arithmetic import NotArithmetic
from cfglint.source.shell.branches import alternatives, nothing
from cfglint.source.shell.execution import COMPARED, CONTINUE, Execution, Leave
from cfglint.source.shell.expansion import Expander, Unknowable
from cfglint.source.shell.placed_text import Text, unknown
from cfglint.source.shell.reasons import UNCLEAR, UNDECIDED
from cfglint.source.shell.script import part_of

MOST_ROUNDS = 100


def for_loop(shell: Execution, node: SyntaxNode) -> Truth:
    name = shell.source(part_of(node, "variable"))
    body = part_of(node, "body")
    listed = any(child.type == "in" for child in node.children)
    named = [child for index, child in enumerate(node.children) if node.field_name_for_child(index) == "value"]
    values = shell.words([(child.start_byte, child.end_byte) for child in named]) if listed else shell.state.positional or []
    known = all(value.known for value in values) and (listed or shell.state.positional is not None)
    if not known:
        reason = next((value.reasons for value in values if not value.known), (UNDECIDED,))
        shell.perhaps(goes_on, shell, run_round, shell, name, unknown(*reason), body)
        return UNCLEAR
    for value in values[:MOST_ROUNDS]:
        if not goes_on(shell, run_round, shell, name, value, body):
            return True
    if len(values) > MOST_ROUNDS:
        shell.perhaps(goes_on, shell, run_round, shell, name, values[-1], body)
    return True


def run_round(shell: Execution, name: str, value: Text, body: SyntaxNode) -> Truth:
    shell.state.assign(name, value)
    return shell.block(body)


def goes_on(shell: Execution, iteration: Callable[..., Truth], *arguments: object) -> bool:
    """Follow one iteration of a loop; whether the loop continues after it, at least in one of its branches."""
    first = len(shell.ways_out)
    left: Leave | None = None
    try:
        iteration(*arguments)
    except Leave as leave:
        left = leave if leave.levels > 1 or not leave.continues else None
    if left is not None and any(way == CONTINUE for way, _ in shell.ways_out[first:]):
        shell.note_way(left, shell.copied())
        left = None
    shell.join_ways(first, CONTINUE)
    if left is not None and left.levels > 1:
        raise left
    return left is None


def counting_loop(shell: Execution, node: SyntaxNode) -> Truth:
    body = part_of(node, "body")
    text = shell.script.text
    start, end = text.find("((", node.start_byte) + 2, text.find("))", node.start_byte)
    first, second = text.find(";", start, end), text.rfind(";", start, end)
    expander = shell.expander()
    try:
        if first < 0 or second == first:
            raise NotArithmetic
        evaluated(expander, start, first)
        for _ in range(MOST_ROUNDS):
            if evaluated(expander, first + 1, second) == 0:
                break
            if not goes_on(shell, shell.block, body):
                return UNCLEAR
            expander = shell.expander()
            evaluated(expander, second + 1, end)
        else:
            shell.perhaps(goes_on, shell, shell.block, body)
    except (Unknowable, NotArithmetic):
        expander.forget(text[second + 1 : end])  # so many rounds as nobody knows
        shell.perhaps(goes_on, shell, shell.block, body)
    return UNCLEAR


def evaluated(expander: Expander, start: int, end: int) -> int:
    """The value of a part of `for ((...))`; one that is left out is true."""
    return expander.number(start, end) if expander.script.text[start:end].strip() else 1


def while_loop(shell: Execution, node: SyntaxNode) -> Truth:
    """Follow `while` and `until`; a loop over the caller's parameters has no iteration in a call without arguments."""
    body = part_of(node, "body")
    fields = [(node.field_name_for_child(index), child) for index, child in enumerate(node.children)]
    conditions = [child for field, child in fields if field == "condition" and child.is_named]
    negated = node.children[0].type == "until"
    for count in range(MOST_ROUNDS // 3):
        status, by_call = shell.tested(conditions)
        if isinstance(status, Unknown):
            if not count:
                shell.perhaps(goes_on, shell, shell.block, body)
            return status
        if status == negated and by_call:
            alternatives(shell, [partial(goes_on, shell, shell.block, body), nothing], 1)
            return UNCLEAR
        if status == negated:
            if not count and body is not None:
                shell.explore(body)
            return UNCLEAR
        shell.budget.spend(len(shell.state.variables) // COMPARED)
        before = {name: value for name, value in shell.state.variables.items() if isinstance(value, Text)}
        if not goes_on(shell, shell.block, body):
            return UNCLEAR
        if before == {name: value for name, value in shell.state.variables.items() if isinstance(value, Text)}:
            return UNCLEAR  # nothing changes, so the loop would never end
    shell.perhaps(goes_on, shell, shell.block, body)  # more rounds than are followed
    return UNCLEAR
