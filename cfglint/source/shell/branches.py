"""Statements that decide which others run: `if`, `case`, `&&`, `||`, `!`, tests; pipelines and subshells."""

from __future__ import annotations

import re

from cfglint.source.annotations import Any
from cfglint.source.shell.conditions import Condition, tokens_of
from cfglint.source.shell.execution import NOTHING, EarlyEnd, Execution, Leave, ShellReturn, Stop, way_of
from cfglint.source.shell.expansion import Expander
from cfglint.source.shell.patterns import fits
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.script import part_of
from cfglint.source.shell.state import State

Clause = tuple[list[Any], list[Any]]  # condition or patterns, body

EQUAL = ("=", "==", "-eq")
VARIABLE = re.compile(r'"?\$\{?([A-Za-z_]\w*)\}?"?$').match


def in_subshell(shell: Execution, node: object) -> bool | None:
    """Follow statements in a subshell, which change nothing outside."""
    return shell.apart(shell.block, node)


def pipeline(shell: Execution, node: Any) -> bool | None:
    """Follow commands joined by pipes; each receives the output of the one before, as far as it is needed."""
    stages = [child for child in node.children if child.is_named and child.type != "comment"]
    status: bool | None = None
    stdin = shell.stdin
    for index, stage in enumerate(stages):
        if shell.captured is None:
            status = shell.apart(shell.statement, stage)
            continue
        outside, shell.captured = shell.captured, []
        shell.stdin = stdin
        try:
            status = shell.apart(shell.statement, stage)
        finally:
            printed, shell.captured, shell.stdin = shell.captured, outside, None
        stdin = Text(part for text in printed for part in text.parts)
        if index == len(stages) - 1:
            outside.append(stdin)
    return status


def and_or(shell: Execution, node: Any) -> bool | None:
    """Follow `a && b`, `a || b`."""
    left, right = node.children[0], node.children[-1]
    operator = node.children[1].type if len(node.children) > 2 else ";"
    status = shell.statement(left)
    if operator not in ("&&", "||"):
        return shell.statement(right)
    if status is None:
        external = not decides(left) and left.id != shell.undecided
        if operator == "&&" and external:  # an external command is assumed to succeed
            return shell.statement(right)
        if operator == "||" and external:
            shell.explore(right)
            return None
        status = shell.perhaps(shell.statement, right)
        shell.undecided = node.id
        return status
    return decided(shell, right) if status == (operator == "&&") else status


def decided(shell: Execution, node: object) -> bool | None:
    """Follow a statement after a test; if it ends a script called without arguments, the rest needs a caller."""
    try:
        return shell.statement(node)
    except Stop:
        if not shell.from_outside():
            raise
        shell.state.needs_caller = True
        return None


def negation(shell: Execution, node: Any) -> bool | None:
    """Follow `! a`."""
    status = shell.statement(node.children[-1])
    return None if status is None else not status


def compound(shell: Execution, node: object) -> bool | None:
    """Follow `{ ...; }` and `(( ... ))`."""
    return test(shell, node) if is_arithmetic(node) else shell.block(node)


def test(shell: Execution, node: object) -> bool | None:
    """Evaluate a test; its assumptions are recorded for the statement around it."""
    expander = shell.expander()
    expander.assuming = True
    condition = Condition(expander, shell.exist)
    return condition.holds(node)


def if_statement(shell: Execution, node: object) -> bool | None:
    """Follow `if`, with its `elif` and `else`."""
    first_that_holds(shell, clauses(node))
    return None


def first_that_holds(shell: Execution, clauses_left: list[Clause]) -> None:
    """Follow the first clause whose condition is true; the others are followed as well, marked conditional."""
    if not clauses_left:
        return
    condition, body = clauses_left[0]
    status = shell.statements(condition)
    if status is None:
        both_ways(shell, body, clauses_left[1:])
    elif status:
        for test_of_other, other in clauses_left[1:]:
            shell.explore(*other, given=required(shell, test_of_other))
        taken(shell, body, clauses_left[1:])
    else:
        shell.explore(*body, given=required(shell, condition))
        taken_otherwise(shell, clauses_left[1:], body)


def required(shell: Execution, condition: list[Any]) -> dict[str, Text]:
    """The variable that a branch which is not taken requires to have another value, with that value: `[ $data = name ]`."""
    tokens = tokens_of(condition[0]) if len(condition) == 1 and condition[0].type == "test_command" else []
    match tokens:
        case [left, sign, right] if shell.source(sign) in EQUAL:
            return of_variable(shell, left, right)
    return {}


def of_variable(shell: Execution, subject: Any, literal: Any) -> dict[str, Text]:
    """A variable with the value of a word, if the subject is a variable and the word is no pattern."""
    name = VARIABLE(shell.source(subject))
    value = shell.expander().string(literal.start_byte, literal.end_byte)
    return {name[1]: value} if name is not None and value.known and not any(char in value.string for char in "*?[") else {}


def taken(shell: Execution, body: list[Any], rest: list[Clause]) -> None:
    """Follow a branch that is taken; if it ends a script called without arguments, another one is taken instead."""
    before = shell.copied()
    try:
        shell.statements(body)
    except Stop:
        if not shell.from_outside():
            raise
        shell.state.take(before)
        shell.state.needs_caller = True
        first_that_holds(shell, rest)


def taken_otherwise(shell: Execution, rest: list[Clause], body: list[Any]) -> None:
    """Follow the clauses after one whose condition is false."""
    before = shell.copied()
    try:
        first_that_holds(shell, rest)
    except Stop:
        if shell.state.positional is not None:
            raise
        shell.state.take(before)
        shell.state.needs_caller = True
        shell.statements(body)


def both_ways(shell: Execution, body: list[Any], rest: list[Clause]) -> None:
    """Follow both branches of an unknown condition."""
    before = shell.state
    ends: list[State] = []
    left: list[EarlyEnd] = []
    ways: list[State] = []
    for nodes in (body, None):
        shell.state = before
        shell.state = shell.copied()
        shell.conditional += 1
        try:
            if nodes is None:
                first_that_holds(shell, rest)
            else:
                shell.statements(nodes)
            ends.append(shell.state)
        except EarlyEnd as end:
            left.append(end)
            ways.append(shell.state)
        finally:
            shell.conditional -= 1
    shell.state = before
    shell.conditional += any(isinstance(end, Leave) for end in left)  # applies to the rest of the loop
    common = common_end(left) if not ends else None
    for leaves, state in zip(left, ways, strict=True):
        if common is not None and type(leaves) is type(common) and way_of(leaves) == way_of(common):
            ends.append(state)
        else:
            shell.note_way(leaves, state)
    before.take(ends[0])
    for other in ends[1:]:
        shell.join(other)
    if common is not None:
        raise common


def common_end(ends: list[EarlyEnd]) -> EarlyEnd:
    """How a statement ends whose branches all end early: what comes after the loop or function runs if one of them leads there."""
    leaves = [end for end in ends if isinstance(end, Leave)]
    if leaves:
        nearest = min(end.levels for end in leaves)
        return Leave(any(end.continues for end in leaves if end.levels == nearest), nearest)
    return ShellReturn() if any(isinstance(end, ShellReturn) for end in ends) else Stop()


def case(shell: Execution, node: object) -> bool | None:
    """Follow `case`: the first item whose pattern matches."""
    expander = shell.expander()
    expander.assuming = True
    subject = part_of(node, "value")
    value = expander.string(subject.start_byte, subject.end_byte).value if subject is not None else None
    fitting, others, is_clear = items(shell, node, value)
    for patterns, body in others:
        if not is_clear:
            shell.perhaps(shell.statements, body)
        else:
            shell.explore(*body, given=of_variable(shell, subject, patterns[0]) if len(patterns) == 1 else NOTHING)
    if fitting is None:
        return True if is_clear else None
    before = shell.copied()
    try:
        return shell.statements(fitting)
    except Stop:
        if not expander.assumed or shell.call_depth:
            raise
        shell.state.take(before)
        shell.state.needs_caller = True
        return None


def items(shell: Execution, node: Any, value: str | None) -> tuple[list[Any] | None, list[Clause], bool]:
    """The statements in the matching item of a `case`, None without one; the other items; and whether it is known which one matches."""
    fitting: list[Any] | None = None
    others: list[Clause] = []
    is_clear = value is not None
    for item in (child for child in node.children if child.type == "case_item"):
        patterns = [child for index, child in enumerate(item.children) if item.field_name_for_child(index) == "value"]
        after = max((child.end_byte for child in patterns), default=item.start_byte)
        body = [child for child in item.children if child.is_named and child.start_byte >= after and child not in patterns]
        matches = any_fits(shell.expander(), patterns, value) if fitting is None and is_clear and value is not None else False
        is_clear = is_clear and matches is not None
        if matches:
            fitting = body
        else:
            others.append((patterns, body))
    return fitting, others, is_clear


def any_fits(expander: Expander, patterns: list[Any], value: str) -> bool | None:
    """Whether a string matches one of the patterns of an item; None if that is unknown."""
    found = [fits(expander.pattern(each.start_byte, each.end_byte), value, expander.budget) for each in patterns]
    return True if True in found else None if None in found else False


def decides(node: Any) -> bool:
    """Whether a statement is a test, whose failure is as likely as its success."""
    while node.type in ("list", "negated_command", "redirected_statement") and node.children:
        node = node.children[-1] if node.type != "redirected_statement" else node.children[0]
    return bool(node.type == "test_command" or is_arithmetic(node))


def is_arithmetic(node: Any) -> bool:
    """Whether a compound statement is `(( ... ))`."""
    return bool(node.type == "compound_statement" and node.children and node.children[0].type == "((")


def clauses(node: Any) -> list[Clause]:
    """(condition, body) of an `if` with its `elif`; `else` has no condition."""
    found: list[Clause] = []
    condition: list[Any] = []
    body: list[Any] = []
    in_body = False
    for child in node.children:
        if child.type == "then":
            in_body = True
        elif child.type == "elif_clause":
            found.extend(clauses(child))
        elif child.type == "else_clause":
            found.append(([], [each for each in child.children if each.is_named and each.type != "comment"]))
        elif child.is_named and child.type != "comment":
            (body if in_body else condition).append(child)
    return [(condition, body), *found]
