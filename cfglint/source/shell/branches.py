"""Statements that decide which others run: `if`, `case`, `&&`, `||`, tests; pipelines; loops, unrolled over known words."""

from __future__ import annotations

import re
from functools import partial

from cfglint.evaluate import Unknown
from cfglint.evaluate.operations import any_or_all
from cfglint.source.annotations import Callable, Mapping, Sequence, SyntaxNode, Truth
from cfglint.source.shell import filters
from cfglint.source.shell.arithmetic import NotArithmetic
from cfglint.source.shell.conditions import Condition, tokens_of
from cfglint.source.shell.execution import COMPARED, CONTINUE, NOTHING, EarlyEnd, Execution, Leave, ShellReturn, Stop, one_of, way_of
from cfglint.source.shell.expansion import Expander, Unknowable
from cfglint.source.shell.matching import fits
from cfglint.source.shell.placed_text import Text, unknown
from cfglint.source.shell.reasons import OF_CALL, UNCLEAR, UNDECIDED, by_call, unset
from cfglint.source.shell.script import part_of
from cfglint.source.shell.state import State
from cfglint.source.shell.wrappers import SHELLS, SUBMIT, WRITTEN

Clause = tuple[list[SyntaxNode], list[SyntaxNode]]  # condition or patterns, body

MOST_ROUNDS = 100
EQUAL, DIFFERENT = ("=", "==", "-eq"), ("!=", "-ne", "-gt", "-lt", "-ge", "-le", "<", ">")
VARIABLE = re.compile(r'"?\$\{?([A-Za-z_]\w*)\}?"?$').match


def pipeline(shell: Execution, node: SyntaxNode) -> Truth:
    """Follow commands joined by pipes; each receives the output of the one before, as far as it is needed."""
    stages = [child for child in node.children if child.is_named and child.type != "comment"]
    status: Truth = UNCLEAR
    stdin = shell.stdin
    read = [False]  # whether the output of each stage is needed, from the last one on
    for stage in stages[:0:-1]:
        reader = shell.source(stage).split() or [""]
        keeps = reader[:1] == ["tee"] and any(word.strip("\"'").endswith(WRITTEN) for word in reader)
        read.append(keeps or reader[0] in (*SHELLS, SUBMIT, "xargs") or (read[-1] and reader[0] in filters.TOOLS))
    for index, stage in enumerate(stages):
        if shell.captured is None and not read[-1 - index]:
            with shell.during(stdin=stdin):
                status = shell.apart(shell.statement, stage)
            stdin = None
            continue
        printed: list[Text] = []
        with shell.during(captured=printed, stdin=stdin):
            status = shell.apart(shell.statement, stage)
        shell.stdin = None
        stdin = Text(part for text in printed for part in text.parts)
        if shell.captured is not None and index == len(stages) - 1:
            shell.captured.append(stdin)
    return status


def and_or(shell: Execution, node: SyntaxNode) -> Truth:
    left, right = node.children[0], node.children[-1]
    operator = node.children[1].type if len(node.children) > 2 else ";"
    status, assumed = shell.tested([left])
    if operator not in ("&&", "||"):
        return shell.statement(right)
    if by_call(assumed) and not isinstance(status, Unknown):
        goes_on = status == (operator == "&&")
        found = alternatives(shell, [partial(shell.statement, right), lambda: True], 0 if goes_on else 1)
        return found if goes_on else status
    if isinstance(status, Unknown):
        external = not decides(left) and left.id != shell.undecided
        if operator == "&&" and external:  # an external command is assumed to succeed
            return shell.statement(right)
        if operator == "||" and external:
            shell.explore(right)
            return status
        status = shell.perhaps(shell.statement, right)
        shell.undecided = node.id
        return status
    if status != (operator == "&&"):
        return status
    before = shell.copied() if assumed else None
    try:
        status = shell.statement(right)
        shell.rest_on(assumed, [before])
        return status
    except Stop:  # if it ends a script called without arguments, the rest needs a caller
        if not shell.from_outside():
            raise
        shell.state.needs_caller = True
        return UNCLEAR


def test(shell: Execution, node: SyntaxNode) -> Truth:
    """Evaluate a test; its assumptions are recorded for the statement around it."""
    expander = shell.expander()
    expander.assuming = True
    status = Condition(expander, shell.exist).holds(node)
    shell.assumed += expander.assumed
    return status


def if_statement(shell: Execution, node: SyntaxNode) -> Truth:
    first_that_holds(shell, clauses(node))
    return UNCLEAR


def first_that_holds(shell: Execution, clauses_left: list[Clause]) -> Truth:
    """Follow the first clause whose condition is true; the others are followed as well, marked conditional."""
    if not clauses_left:
        return UNCLEAR
    condition, body = clauses_left[0]
    if not condition:  # `else`
        return shell.statements(body)
    status, assumed = shell.tested(condition)
    if isinstance(status, Unknown) or by_call(assumed):
        given = NOTHING if status else required(shell, condition)
        ways = [partial(with_values, shell, body, given), partial(first_that_holds, shell, clauses_left[1:])]
        alternatives(shell, ways, None if isinstance(status, Unknown) else int(not status))
    elif status:
        others = [shell.explore(*other, given=required(shell, tests), assumed=assumed) for tests, other in clauses_left[1:]]
        others += [shell.copied()] if assumed and clauses_left[-1][0] else []
        unless_it_ends(shell, lambda: shell.statements(body), lambda: first_that_holds(shell, clauses_left[1:]), shell.from_outside)
        shell.rest_on(assumed, others)
    else:
        others = [shell.explore(*body, given=required(shell, condition), assumed=assumed)]
        unless_it_ends(
            shell,
            lambda: first_that_holds(shell, clauses_left[1:]),
            lambda: shell.statements(body),
            lambda: shell.state.positional is None,
        )
        shell.rest_on(assumed, others)
    return UNCLEAR


def with_values(shell: Execution, body: list[SyntaxNode], given: Mapping[str, Text]) -> Truth:
    """Follow statements in which variables have other values, which are not kept."""
    before = {name: shell.state.value(name) for name in given}
    for name, text in given.items():
        shell.state.assign(name, text)
    status = shell.statements(body)
    for name, value in before.items():
        if shell.state.value(name) is given[name] and value is not None:
            shell.state.assign(name, value)
    return status


def required(shell: Execution, condition: list[SyntaxNode]) -> dict[str, Text]:
    """The variable that a branch which is not taken requires to have another value, with that value: `[ $data = name ]`."""
    tokens = tokens_of(condition[0]) if len(condition) == 1 and condition[0].type == "test_command" else []
    match tokens:
        case [left, sign, right] if shell.source(sign) in EQUAL:
            return of_variable(shell, left, right)
        case [left, sign, _] if shell.source(sign) in DIFFERENT and (name := VARIABLE(shell.source(left))):
            return {name[1]: unknown(unset(name[1]))}
    return {}


def of_variable(shell: Execution, subject: SyntaxNode | None, literal: SyntaxNode) -> dict[str, Text]:
    """A variable with the value of a word, if the subject is a variable and the word is no pattern."""
    name = VARIABLE(shell.source(subject))
    value = shell.expander().string(literal.start_byte, literal.end_byte)
    return {name[1]: value} if name is not None and value.known and not any(char in value.string for char in "*?[") else {}


def unless_it_ends(shell: Execution, branch: Callable[[], Truth], other: Callable[[], Truth], from_outside: Callable[[], bool]) -> Truth:
    """Follow a branch that is taken; if it ends a script whose caller could have led elsewhere, the other one is followed instead."""
    before = shell.copied()
    try:
        return branch()
    except Stop:
        if not from_outside():
            raise
        shell.state.take(before)
        shell.state.needs_caller = True
        return other()


def alternatives(shell: Execution, branches: Sequence[Callable[[], Truth]], likely: int | None = None) -> Truth:
    """Follow all branches of a condition that is unknown, or that the arguments of the script decide: then a call without arguments takes
    the `likely` one, whose status is returned, and only the others are conditional.
    """
    before = shell.state
    status: Truth = UNCLEAR
    ends: list[State] = []
    left: dict[int, EarlyEnd] = {}
    ways: list[State] = []
    outputs: list[Text] = []
    for number, branch in enumerate(branches):
        with shell.branch(number != likely):
            try:
                found = branch()
                status = found if number == likely else status
                ends.insert(0 if number == likely else len(ends), shell.state)
            except EarlyEnd as end:
                left[number] = end
                ways.append(shell.state)
            outputs.append(Text(part for text in shell.captured or () for part in text.parts))
    if shell.captured is not None:
        shell.captured.append(one_of(outputs))
    shell.conditional += any(isinstance(end, Leave) for number, end in left.items() if likely in (None, number))  # in the rest of the loop
    common = common_end([*left.values()]) if not ends else None
    for leaves, state in zip(left.values(), ways, strict=True):
        if common is not None and type(leaves) is type(common) and way_of(leaves) == way_of(common):
            ends.append(state)
        else:
            shell.note_way(leaves, state)
    needs_caller = before.needs_caller or isinstance(left.get(likely), Stop) if likely is not None else None
    before.take(ends[0])
    for other in ends[1:]:
        shell.join(other, UNDECIDED if likely is None else OF_CALL)
    if needs_caller is not None:
        before.needs_caller = needs_caller
    if common is not None:
        raise common
    return status


def common_end(ends: list[EarlyEnd]) -> EarlyEnd:
    """How a statement ends whose branches all end early: what comes after the loop or function runs if one of them leads there."""
    leaves = [end for end in ends if isinstance(end, Leave)]
    if leaves:
        nearest = min(end.levels for end in leaves)
        return Leave(any(end.continues for end in leaves if end.levels == nearest), nearest)
    return ShellReturn() if any(isinstance(end, ShellReturn) for end in ends) else Stop()


def case(shell: Execution, node: SyntaxNode) -> Truth:
    expander = shell.expander()
    expander.assuming = True
    subject = part_of(node, "value")
    value = expander.string(subject.start_byte, subject.end_byte).value if subject is not None else None
    found, fitting, is_clear = items(shell, node, value)
    if is_clear and by_call(expander.assumed):
        shell.assumed += expander.assumed
        bodies = [body for _, body in found] if fitting is not None else [*(body for _, body in found), []]
        return alternatives(shell, [partial(shell.statements, body) for body in bodies], len(found) if fitting is None else fitting)
    others: list[State | None] = []
    for patterns, body in (each for number, each in enumerate(found) if number != fitting):
        if not is_clear:
            shell.perhaps(shell.statements, body)
        else:
            values = of_variable(shell, subject, patterns[0]) if len(patterns) == 1 else NOTHING
            others.append(shell.explore(*body, given=values, assumed=expander.assumed))
    if fitting is None:
        shell.rest_on(expander.assumed, others)
        return True if is_clear else UNCLEAR
    branch = partial(shell.statements, found[fitting][1])
    status = unless_it_ends(shell, branch, lambda: UNCLEAR, lambda: bool(expander.assumed) and not shell.call_depth)
    shell.rest_on(expander.assumed, others)
    return status


def items(shell: Execution, node: SyntaxNode, value: str | None) -> tuple[list[Clause], int | None, bool]:
    """The items of a `case`; the number of the one that matches, None without one; and whether it is known which one matches."""
    fitting: int | None = None
    found: list[Clause] = []
    is_clear = value is not None
    for item in (child for child in node.children if child.type == "case_item"):
        patterns = [child for index, child in enumerate(item.children) if item.field_name_for_child(index) == "value"]
        after = max((child.end_byte for child in patterns), default=item.start_byte)
        body = [child for child in item.children if child.is_named and child.start_byte >= after and child not in patterns]
        matches: Truth = False
        if fitting is None and is_clear and value is not None:
            expander = shell.expander()
            texts = [expander.pattern(pattern.start_byte, pattern.end_byte) for pattern in patterns]
            matches = any_or_all(True, [fits(text, value, expander.budget) for text in texts])
        is_clear = is_clear and not isinstance(matches, Unknown)
        if matches:
            fitting = len(found)
        found.append((patterns, body))
    return found, fitting, is_clear


def decides(node: SyntaxNode) -> bool:
    """Whether a statement is a test, whose failure is as likely as its success."""
    while node.type in ("list", "negated_command", "redirected_statement") and node.children:
        node = node.children[-1] if node.type != "redirected_statement" else node.children[0]
    return bool(node.type == "test_command" or is_arithmetic(node))


def is_arithmetic(node: SyntaxNode) -> bool:
    return bool(node.type == "compound_statement" and node.children and node.children[0].type == "((")


def clauses(node: SyntaxNode) -> list[Clause]:
    """(condition, body) of an `if` with its `elif`; `else` has no condition."""
    found: list[Clause] = []
    condition: list[SyntaxNode] = []
    body: list[SyntaxNode] = []
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
        status, assumed = shell.tested(conditions)
        if isinstance(status, Unknown):
            if not count:
                shell.perhaps(goes_on, shell, shell.block, body)
            return status
        if status == negated and by_call(assumed):
            alternatives(shell, [partial(goes_on, shell, shell.block, body), lambda: True], 1)
            return UNCLEAR
        if status == negated:
            if not count and body is not None:
                shell.explore(body)
            return UNCLEAR
        shell.budget.spend(len(shell.state.variables) // COMPARED)
        before = shell.state.copy()
        if not goes_on(shell, shell.block, body):
            return UNCLEAR
        if (before.variables, before.positional) == (shell.state.variables, shell.state.positional):
            return UNCLEAR  # nothing changes, so the loop would never end
    shell.perhaps(goes_on, shell, shell.block, body)  # more rounds than are followed
    return UNCLEAR
