"""Follows the statements of a script without running anything: which commands it would start, with which words.

If a condition is unknown, both branches are followed, and the commands in them are marked `conditional`. Loops over known words
are unrolled. Parameters and environment variables that only the caller could set count as absent in tests, as if the script were
called without arguments, and as unknown in words."""

from __future__ import annotations

import re

from cfglint.source.shell import filters
from cfglint.source.shell.arithmetic import NotArithmetic, is_name
from cfglint.source.shell.conditions import Condition
from cfglint.source.shell.expansion import POSITIONAL, UNSET, Expander, Unknowable
from cfglint.source.shell.script import Script, part_of
from cfglint.source.shell.state import State
from cfglint.source.shell.text import EMPTY, Text, joined, literal, split, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cfglint.source.shell.text import Place

MOST_STEPS = 20_000
MOST_CALLS = 2_000
MOST_ROUNDS = 100
DEEPEST = 60
DEEPEST_CALL = 12
MOST_SCRIPTS = 4  # that call one another
UNDECIDED = "differs between branches that are not decided"
TESTS = ("[", "test")
WORDS = frozenset(
    (
        "word", "number", "string", "raw_string", "concatenation", "simple_expansion", "expansion", "command_substitution",
        "ansi_c_string", "translated_string", "brace_expression", "arithmetic_expansion", "process_substitution", "regex",
        "extglob_pattern", "test_operator", "subscript", "special_variable_name", "variable_name",
    )
)  # fmt: skip
OF_COMMAND = WORDS | {"command_name", "variable_assignment"}
PRINTS_UNKNOWN = re.compile(r"(date|uuidgen|mktemp|shuf|nvidia-smi)(?:[ \t][^|;&`\n$()<>]*)?").fullmatch  # whatever its words are
CHANGES = re.compile(r"\$\{\w+:?[=?]|\(\(").search  # expansions that change the state


class Call:
    """A command that the script would start.

    `environment` holds the exported variables. `folder` is the working folder. `lost` are words after a broken line
    continuation, which do not reach the command: (words, offset). `broken`: its syntax is unclear, or bash refuses the script
    before it. `needs_caller`: a call without arguments ends before it, because parameters, variables or files are missing.
    `called_from` is
    the command of the followed script that calls the one with this command: (path, line)."""

    __slots__ = (
        *("broken", "called_from", "conditional", "end", "environment", "folder", "line", "lost", "needs_caller", "path", "start", "words"),
    )

    def __init__(
        self, words: list[Text], environment: dict[str, Text], folder: str | None, path: str, line: int, start: int, end: int,
        conditional: bool, broken: bool,
    ) -> None:  # fmt: skip
        self.words = words
        self.environment = environment
        self.folder = folder
        self.path = path
        self.line = line
        self.start = start
        self.end = end
        self.conditional = conditional
        self.broken = broken
        self.needs_caller = False
        self.lost: list[tuple[list[Text], int]] = []
        self.called_from: tuple[str, int] | None = None


class Runner:
    """A command that runs a string as a script: `eval STRING`, `bash -c STRING`."""

    __slots__ = ("end", "script", "start")

    def __init__(self, script: Script, node: Any) -> None:
        self.script = script
        self.start: int = node.start_byte
        self.end: int = node.end_byte

    def line(self, place: Place | None) -> int:
        """The line of a command in the string: its own if it is written in the runner's arguments, else that of the runner."""
        if place is not None and place[0] == self.script.path and self.script.verbatim:
            inside = place[1] - self.script.offset
            if self.start <= inside < self.end:
                return self.script.line(inside)
        return self.script.line(self.start)


class Stop(Exception):
    """Raised where the script, or the followed part of it, ends."""


class Return(Exception):
    """Raised where a function or sourced file ends."""


class Leave(Exception):
    """Raised for `break` or `continue` of a loop."""

    def __init__(self, continues: bool) -> None:
        super().__init__()
        self.continues = continues


class Exhausted(Exception):
    """Raised if the script takes too many steps."""


class Interpreter:
    """Follows a script from a working folder.

    `read` returns the content of a file of the project, or None; `exists` whether a path exists, None if that is unknown."""

    def __init__(
        self, folder: str | None, script_name: str, read: Callable[[str], str | None], exists: Callable[[str], bool | None]
    ) -> None:
        self.state = State(folder, script_name)
        self.read = read
        self.exists = exists
        self.calls: list[Call] = []
        self.exhausted = False
        self.written: set[str] = set()  # files that redirections make
        self.errors = False  # whether some of the text is not clear
        self._steps = 0
        self._conditional = 0
        self._depth = 0
        self._calls_deep = 0
        self._runner: Runner | None = None
        self._captured: list[Text] | None = None
        self._stdin: Text | None = None
        self._placeholder = False  # whether a command reads a file, as `<path>` in a template does
        self.sources = 0  # sourced and called files that are there
        self.sourced_files: list[str] = []
        self._open_quote: int | None = None  # where the last line begins whose quote is never closed
        self._refused = False  # whether bash would have stopped at a syntax error by now
        self._locals: list[list[tuple[str, Any]]] = []
        self.script = Script("", "")
        self._followed = [script_name]  # the scripts that called one another up to here

    def follow(self, script: Script) -> list[Call]:
        """The commands that a script would start."""
        try:
            self._run(script)
        except (Stop, Return, Leave):
            pass
        except (Exhausted, RecursionError):
            self.exhausted = True
        return self.calls

    def _run(self, script: Script) -> None:
        root = script.tree()
        if root is None:
            self.exhausted = True
            return
        self.errors = self.errors or bool(root.has_error)
        outside = self.script, self._open_quote
        self.script, self._open_quote = script, open_quote(root, script.text)
        try:
            self.block(root)
        finally:
            self.script, self._open_quote = outside

    # ---- statements

    def block(self, node: Any) -> bool | None:
        """Follow the statements in a node, one after the other."""
        status: bool | None = True
        for child in node.children:
            if child.is_named and child.type not in ("comment", "heredoc_body"):
                status = self.statement(child)
        return status

    def statement(self, node: Any) -> bool | None:
        """Follow one statement: True or False if its status is known, None if not."""
        self._steps += 1
        if self._steps > MOST_STEPS or len(self.calls) > MOST_CALLS:
            raise Exhausted
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                raise Exhausted
            handler = HANDLERS.get(node.type)
            if handler is not None:
                return self.loop(handler, node) if node.type in LOOPS else handler(self, node)
            return self.block(node) if node.type in ("program", "do_group", "ERROR") else None
        finally:
            self._depth -= 1

    def loop(self, handler: Callable[[Interpreter, Any], bool | None], node: Any) -> bool | None:
        """Follow a loop; the conditionality caused by an undecided `break` or `continue` ends with it."""
        before = self._conditional
        try:
            return handler(self, node)
        finally:
            self._conditional = before

    def in_subshell(self, node: Any) -> bool | None:
        """Follow statements in a subshell, which change nothing outside."""
        return self.apart(lambda: self.block(node))

    def apart(self, action: Callable[[], bool | None]) -> bool | None:
        """Run an action in a copy of the state."""
        before = self.state
        self.state = before.copy()
        try:
            return action()
        except (Stop, Return):
            return None
        finally:
            self.state = before

    def pipeline(self, node: Any) -> bool | None:
        """Follow commands joined by pipes; each receives the output of the one before, as far as it is needed."""
        stages = [child for child in node.children if child.is_named and child.type != "comment"]
        status: bool | None = None
        stdin = self._stdin
        for index, stage in enumerate(stages):
            if self._captured is None:
                status = self.apart(lambda stage=stage: self.statement(stage))  # type: ignore[misc]
                continue
            outside, self._captured = self._captured, []
            self._stdin = stdin
            try:
                status = self.apart(lambda stage=stage: self.statement(stage))  # type: ignore[misc]
            finally:
                printed, self._captured, self._stdin = self._captured, outside, None
            stdin = Text(part for text in printed for part in text.parts)
            if index == len(stages) - 1:
                outside.append(stdin)
        return status

    def listed(self, node: Any) -> bool | None:
        """Follow `a && b`, `a || b`."""
        left, right = node.children[0], node.children[-1]
        operator = node.children[1].type if len(node.children) > 2 else ";"
        status = self.statement(left)
        if operator not in ("&&", "||"):
            return self.statement(right)
        if status is None:
            external = not decides(left)
            if operator == "&&" and external:  # a command of its own is taken to succeed
                return self.statement(right)
            if operator == "||" and external:
                self.explore(right)
                return None
            return self.perhaps(lambda: self.statement(right))
        return self.decided(right) if status == (operator == "&&") else status

    def decided(self, node: Any) -> bool | None:
        """Follow a statement after a test; if it ends a script called without arguments, the rest needs a caller."""
        try:
            return self.statement(node)
        except Stop:
            if not self.from_outside():
                raise
            self.state.needs_caller = True
            return None

    def perhaps(self, action: Callable[[], bool | None]) -> bool | None:
        """Run an action that may or may not happen; values that differ afterwards are unknown. A branch that ends the script is left
        out."""
        before = self.state
        self.state = before.copy()
        self._conditional += 1
        try:
            action()
        except (Stop, Return, Leave) as end:
            self.state = before
            self._conditional += isinstance(end, Leave)  # the rest of the loop
            return None
        finally:
            self._conditional -= 1
        after, self.state = self.state, before
        self.join(after)
        return None

    def join(self, other: State) -> None:
        """Merge two states into what they have in common."""
        self.state.merge(other, UNDECIDED)

    def settle_folder(self) -> None:
        """Called where the files of the working folder decide the rest."""

    def explore(self, *nodes: Any) -> None:
        """Follow statements that a call without arguments does not reach, without an effect on the rest."""
        before = self.state
        self.state = before.copy()
        self._conditional += 1
        try:
            for node in nodes:
                self.statement(node)
        except (Stop, Return, Leave):
            pass
        finally:
            self._conditional -= 1
            self.state = before

    def negated(self, node: Any) -> bool | None:
        """Follow `! a`."""
        status = self.statement(node.children[-1])
        return None if status is None else not status

    def compound(self, node: Any) -> bool | None:
        """Follow `{ ...; }` and `(( ... ))`."""
        return self.test(node) if is_arithmetic(node) else self.block(node)

    def test(self, node: Any) -> bool | None:
        """Evaluate a test; its assumptions are recorded for the statement around it."""
        expander = self.expander()
        expander.assuming = True
        condition = Condition(expander, self.exist)
        return condition.holds(node)

    def exist(self, path: str) -> bool | None:
        """Whether a path exists, relative to the working folder."""
        located = self.located(path)
        return None if located is None else self.exists(located)

    def readable(self, located: str) -> str:
        """The path under which a file of the project is reported."""
        return located

    def located(self, path: str) -> str | None:
        """A path relative to the working folder; None if that is unknown."""
        if path.startswith(("/", "%", "~")):
            return path
        return None if self.state.folder is None else filters.normal(f"{self.state.folder}/{path}")

    def condition(self, nodes: list[Any]) -> bool | None:
        """The status of the commands of a condition."""
        status: bool | None = True
        for node in nodes:
            status = self.statement(node)
        return status

    def choice(self, node: Any) -> bool | None:
        """Follow `if`, with its `elif` and `else`."""
        branches = clauses(node)
        self.branches(branches)
        return None

    def branches(self, clauses_left: list[tuple[list[Any], list[Any]]]) -> None:
        """Follow the first clause whose condition is true; the others are followed as well, marked conditional."""
        if not clauses_left:
            return
        condition, body = clauses_left[0]
        status = self.condition(condition)
        if status is None:
            self.fork(body, clauses_left[1:])
        elif status:
            for _, other in clauses_left[1:]:
                self.explore(*other)
            self.kept(body, clauses_left[1:])
        else:
            self.explore(*body)
            self.kept_rest(clauses_left[1:], body)

    def kept(self, body: list[Any], rest: list[tuple[list[Any], list[Any]]]) -> None:
        """Follow a branch that is taken; if it ends a script called without arguments, another one is taken instead."""
        before = self.state.copy()
        try:
            self.statements(body)
        except Stop:
            if not self.from_outside():
                raise
            self.state.take(before)
            self.state.needs_caller = True
            self.branches(rest)

    def kept_rest(self, rest: list[tuple[list[Any], list[Any]]], body: list[Any]) -> None:
        """Follow the clauses after one whose condition is false."""
        before = self.state.copy()
        try:
            self.branches(rest)
        except Stop:
            if self.state.positional is not None:
                raise
            self.state.take(before)
            self.state.needs_caller = True
            self.statements(body)

    def from_outside(self) -> bool:
        """Whether other parameters of the caller could have led elsewhere."""
        return self.state.positional is None and not self._calls_deep

    def fork(self, body: list[Any], rest: list[tuple[list[Any], list[Any]]]) -> None:
        """Follow both branches of an unknown condition."""
        before = self.state
        ends: list[State] = []
        left = False
        for nodes in (body, None):
            self.state = before.copy()
            self._conditional += 1
            try:
                if nodes is None:
                    self.branches(rest)
                else:
                    self.statements(nodes)
                ends.append(self.state)
            except (Stop, Return, Leave) as end:
                left = left or isinstance(end, Leave)
            finally:
                self._conditional -= 1
        self.state = before
        self._conditional += left  # the rest of the loop
        if not ends:
            raise Stop
        before.take(ends[0])
        for other in ends[1:]:
            self.join(other)

    def statements(self, nodes: list[Any]) -> bool | None:
        """Follow several statements."""
        status: bool | None = True
        for node in nodes:
            status = self.statement(node)
        return status

    def cases(self, node: Any) -> bool | None:
        """Follow `case`: the first item whose pattern matches."""
        from cfglint.source.shell.expansion import glob

        expander = self.expander()
        expander.assuming = True
        subject = part_of(node, "value")
        value = expander.string(subject.start_byte, subject.end_byte).value if subject is not None else None
        taken: list[Any] | None = None
        others: list[list[Any]] = []
        for item in (child for child in node.children if child.type == "case_item"):
            patterns = [child for index, child in enumerate(item.children) if item.field_name_for_child(index) == "value"]
            after = max((child.end_byte for child in patterns), default=item.start_byte)
            body = [child for child in item.children if child.is_named and child.start_byte >= after and child not in patterns]
            if taken is None and value is not None and any(self.pattern_fits(pattern, value, glob) for pattern in patterns):
                taken = body
            else:
                others.append(body)
        if value is None:
            for body in others:
                self.perhaps(lambda body=body: self.statements(body))  # type: ignore[misc]
            return None
        for body in others:
            self.explore(*body)
        if taken is None:
            return True
        before = self.state.copy()
        try:
            return self.statements(taken)
        except Stop:
            if not expander.assumed or self._calls_deep:
                raise
            self.state.take(before)
            self.state.needs_caller = True
            return None

    def pattern_fits(self, node: Any, value: str, glob: Callable[[str], str]) -> bool:
        """Whether a string matches a pattern."""
        pattern = self.expander().string(node.start_byte, node.end_byte).value
        if pattern is None or len(pattern) > 200 or pattern.count("*") > 3:
            return False
        return re.fullmatch(glob(pattern), value[:10_000], re.DOTALL) is not None

    def words_loop(self, node: Any) -> bool | None:
        """Follow `for name in words`."""
        name = self.source(part_of(node, "variable"))
        body = part_of(node, "body")
        listed = any(child.type == "in" for child in node.children)
        named = [child for index, child in enumerate(node.children) if node.field_name_for_child(index) == "value"]
        values = self.words([(child.start_byte, child.end_byte) for child in named]) if listed else self.state.positional or []
        known = all(value.known for value in values) and (listed or self.state.positional is not None)
        if not known:
            reason = next((value.reasons for value in values if not value.known), (UNDECIDED,))
            self.perhaps(lambda: self.round(name, unknown(*reason), body))
            return None
        for value in values[:MOST_ROUNDS]:
            try:
                self.round(name, value, body)
            except Leave as leave:  # noqa: PERF203
                if not leave.continues:
                    break
        return True

    def round(self, name: str, value: Text, body: Any) -> bool | None:
        """Follow one iteration of a loop."""
        self.state.assign(name, value)
        return self.block(body)

    def counting_loop(self, node: Any) -> bool | None:
        """Follow `for ((i = 0; i < 3; i++))`."""
        body = part_of(node, "body")
        text = self.script.text
        start, end = text.find("((", node.start_byte) + 2, text.find("))", node.start_byte)
        first, second = text.find(";", start, end), text.rfind(";", start, end)
        expander = self.expander()
        try:
            if first < 0 or second == first:
                raise NotArithmetic
            expander.number(start, first)
            for _ in range(MOST_ROUNDS):
                if expander.number(first + 1, second) == 0:
                    break
                try:
                    self.block(body)
                except Leave as leave:
                    if not leave.continues:
                        break
                expander = self.expander()
                expander.number(second + 1, end)
        except (Unknowable, NotArithmetic):
            self.perhaps(lambda: self.block(body))
        return None

    def while_loop(self, node: Any) -> bool | None:
        """Follow `while` and `until`; a loop over the caller's parameters has no iteration in a call without arguments."""
        body = part_of(node, "body")
        fields = [(node.field_name_for_child(index), child) for index, child in enumerate(node.children)]
        conditions = [child for field, child in fields if field == "condition" and child.is_named]
        negated = node.children[0].type == "until"
        for count in range(MOST_ROUNDS // 3):
            status = self.condition(conditions)
            if status is None:
                if not count:
                    self.perhaps(lambda: self.block(body))
                return None
            if status == negated:
                if not count:
                    self.explore(body)
                return None
            before = {name: value for name, value in self.state.variables.items() if isinstance(value, Text)}
            try:
                self.block(body)
            except Leave as leave:
                if not leave.continues:
                    return None
            if before == {name: value for name, value in self.state.variables.items() if isinstance(value, Text)}:
                return None  # nothing changes: it would never end
        return None

    def define(self, node: Any) -> bool | None:
        """Define a function."""
        name, body = part_of(node, "name"), part_of(node, "body")
        if name is not None and body is not None:
            self.state.functions[self.source(name)] = (self.script, body)
        return True

    # ---- commands

    def source(self, node: Any) -> str:
        """The source of a node."""
        return self.script.text[node.start_byte : node.end_byte] if node is not None else ""

    def expander(self) -> Expander:
        """The expander for the current state."""
        return Expander(self.script, self.state, self.capture, self._calls_deep + self._depth // 3)

    def capture(self, script: Script) -> Text:
        """The output of a string that is run as a command."""
        text = script.text.strip()
        if text.startswith("<"):
            return self.contents(script.text[script.text.index("<") + 1 :].strip())
        prints = PRINTS_UNKNOWN(text)
        if prints is not None and prints[1] not in self.state.functions:
            return filters.output([literal(prints[1])], None, None)
        before, conditional, calls = self._captured, self._conditional, len(self.calls)
        self._captured = []
        self._calls_deep += 1
        try:
            if self._calls_deep > DEEPEST_CALL:
                return unknown("nested too deeply")
            self.apart(lambda: self.nested(script))
            return Text(part for each in self._captured for part in each.parts)
        finally:
            self._captured, self._conditional = before, conditional
            self._calls_deep -= 1
            del self.calls[calls:]

    def nested(self, script: Script) -> bool | None:
        """Run a script as a part of this one."""
        self._run(script)
        return None

    def contents(self, path: str) -> Text:
        """The output of `$(< file)`."""
        located = self.located(path)
        text = self.read(located) if located is not None else None
        return literal(text) if text is not None and len(text) < 10_000 else unknown(f"the contents of {path}")

    def assignments(self, node: Any) -> bool | None:
        """Follow `A=1 B=2` on a line of its own."""
        for child in node.children:
            if child.type == "variable_assignment":
                self.assignment(child)
        return True

    def assignment(self, node: Any) -> bool | None:
        """Follow `name=value`, `name+=value`, `name=(...)`, `name[index]=value`."""
        self.assign(node)
        return True

    def assign(self, node: Any) -> str:
        """Assign, and return the name."""
        target, value = part_of(node, "name"), part_of(node, "value")
        name = self.source(target)
        adds = self.source(node.children[1]) == "+=" if len(node.children) > 1 else False
        if name.endswith("]"):
            self.assign_element(name, value, adds)
            return name.partition("[")[0]
        if value is not None and value.type == "array":
            self.assign_array(name, value, adds)
            return name
        start = node.children[1].end_byte if len(node.children) > 1 else node.end_byte
        text = self.expander().string(start, node.end_byte)
        if adds:
            current = self.state.variables.get(name)
            if isinstance(current, list):
                text_list = [*current[:1], *current[1:]]
                text_list[0:1] = [(current[0] if current else EMPTY) + text]
                self.state.assign(name, text_list)
                return name
            text = self.expander().value(name) + text if current is not None else text
        self.state.assign(name, text)
        return name

    def assign_array(self, name: str, node: Any, adds: bool) -> None:
        """Assign `name=(a b c)`; an associative array if its members have keys."""
        current = self.state.variables.get(name)
        members = [child for child in node.children if child.is_named and child.type != "comment"]
        if members and all(self.source(child).startswith("[") and "]=" in self.source(child) for child in members):
            mapping: dict[str, Text] = dict(current) if isinstance(current, dict) else {}
            for child in members:
                close = self.source(child).index("]=") + child.start_byte
                key = self.expander().string(child.start_byte + 1, close)
                mapping[key.string] = self.expander().string(close + 2, child.end_byte)
            self.state.assign(name, mapping)
            return
        values: list[Text] = []
        if adds and isinstance(current, list):
            values = list(current)
        elif adds and isinstance(current, Text):
            values = [current]
        values.extend(self.words([(child.start_byte, child.end_byte) for child in members]))
        self.state.assign(name, values)

    def assign_element(self, target: str, value: Any, adds: bool) -> None:
        """Assign `name[key]=value`, `name[key]+=value`."""
        name, _, key = target.removesuffix("]").partition("[")
        text = self.expander().string(value.start_byte, value.end_byte) if value is not None else EMPTY
        current = self.state.variables.get(name)
        if isinstance(current, dict):
            key = key.strip("\"'")
            self.state.assign(name, {**current, key: current.get(key, EMPTY) + text if adds else text})
        elif key.isdigit() and len(key) < 5:
            values = list(current) if isinstance(current, list) else [] if current is None else [current]
            values.extend([EMPTY] * (int(key) + 1 - len(values)))
            values[int(key)] = values[int(key)] + text if adds else text
            self.state.assign(name, values)
        else:
            self.state.assign(name, unknown(f"{name}[{key}]"))

    def declaration(self, node: Any) -> bool | None:
        """Follow `export`, `local`, `declare`, `typeset`, `readonly`."""
        what = self.source(node.children[0])
        exports = what == "export"
        local = what in ("local", "declare", "typeset")
        associative = False
        for child in node.children[1:]:
            text = self.source(child)
            if text.startswith("-"):
                exports = exports or "x" in text
                local = local and "g" not in text
                associative = associative or "A" in text
                continue
            if child.type == "variable_assignment":
                if local:
                    self.keep_local(self.source(part_of(child, "name")))
                name = self.assign(child)
            elif is_name(text):
                name = text
                if local:
                    self.keep_local(name)
                if associative:
                    self.state.assign(name, {})
            else:
                continue
            if exports:
                self.state.exported.add(name)
        return True

    def keep_local(self, name: str) -> None:
        """Save the value of a name outside of the function."""
        if self._locals:
            self._locals[-1].append((name, self.state.variables.get(name)))

    def unset(self, node: Any) -> bool | None:
        """Follow `unset name`."""
        for child in node.children[1:]:
            if not self.source(child).startswith("-"):
                self.state.remove(self.source(child))
        return True

    def redirected(self, node: Any) -> bool | None:
        """Follow a statement with redirections; a here-document or here-string is its input."""
        body = part_of(node, "body")
        extra: list[Any] = []
        before, self._placeholder = self._stdin, False
        for child in node.children:
            self._refused = self._refused or self.lacks_target(child)
            if child.type == "heredoc_redirect":
                self._stdin = self.here_document(child)
                for each in (inner for inner in child.children if inner.type == "file_redirect"):
                    self.redirect(each, [word for word in each.children if word.type in WORDS])
                extra.extend(each for each in child.children if each.type in WORDS)
            elif child.type == "herestring_redirect":
                named = [each for each in child.children if each.is_named]
                self._stdin = self.expander().string(named[0].start_byte, named[0].end_byte) + literal("\n") if named else None
            elif child.type == "file_redirect":
                words = [each for each in child.children if each.type in WORDS]
                self._placeholder = self._placeholder or self.source(child).startswith("<")
                self.redirect(child, words)
                extra.extend(words[1:])  # the grammar takes the words after a redirection for more of its targets
        try:
            if body is None:
                return True
            if extra and body.type == "command":
                return self.command(body, extra)
            return self.statement(body)
        finally:
            self._stdin, self._placeholder = before, False

    def lacks_target(self, node: Any) -> bool:
        """Whether a redirection has no target on its line, as in `PATH=<your path>`: bash stops reading the script there."""
        if node.type != "file_redirect":
            return False
        words = [each for each in node.children if each.type in WORDS]
        first = words[0].start_byte if words else node.end_byte
        return "\n" in self.script.text[node.start_byte : first].replace("\\\n", "") or not words

    def redirect(self, node: Any, words: list[Any]) -> None:
        """Record a file that a redirection creates."""
        if ">" in self.source(node)[:3] and words:
            self.written.add(self.expander().string(words[0].start_byte, words[0].end_byte).string)

    def here_document(self, node: Any) -> Text:
        """The lines of a here-document, expanded unless its mark is quoted."""
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        mark = next((child for child in node.children if child.type == "heredoc_start"), None)
        if body is None:
            return EMPTY
        if mark is not None and self.source(mark)[:1] in "\"'\\":
            return self.script.literal(body.start_byte, body.end_byte)
        return self.expander().string(body.start_byte, body.end_byte, True)

    def command(self, node: Any, extra: list[Any] | None = None) -> bool | None:
        """Follow a simple command: its assignments, then its words."""
        if self._captured is None and self.only_prints(node):
            return True
        spans: list[tuple[int, int]] = []
        environment = self.prefixes(node) if node.children and node.children[0].type == "variable_assignment" else {}
        before = self._stdin
        for child in (*node.children, *(extra or ())):
            kind = child.type
            if kind in OF_COMMAND and (spans or kind != "variable_assignment"):
                spans.append((child.start_byte, child.end_byte))
            elif kind == "herestring_redirect":
                named = [each for each in child.children if each.is_named]
                self._stdin = self.expander().string(named[0].start_byte, named[0].end_byte) + literal("\n") if named else None
            elif kind == "file_redirect":
                targets = [each for each in child.children if each.type in WORDS]
                self._placeholder = self._placeholder or self.source(child).startswith("<")
                spans.extend((target.start_byte, target.end_byte) for target in targets[1:])
        words = self.words(spans)
        try:
            if not words:
                for name, value in environment.items():
                    self.state.assign(name, value)
                return True
            return self.start(words, environment, node)
        finally:
            self._stdin, self._placeholder = before, False

    def begins(self, node: Any) -> int:
        """The beginning of a command. The grammar wrongly includes several assignments on the line before."""
        last = None
        for child in node.children:
            if child.type == "variable_assignment":
                last = child
            elif child.type != "comment":
                between = "" if last is None else self.script.text[last.end_byte : child.start_byte].replace("\\\n", "")
                return int(child.start_byte if "\n" in between else node.start_byte)
        return int(node.start_byte)

    def words(self, spans: list[tuple[int, int]]) -> list[Text]:
        """The expanded words of some spans; the grammar cuts some words into adjacent pieces."""
        text = self.script.text
        whole: list[tuple[int, int]] = []
        for start, end in spans:
            first = whole.pop()[0] if whole and whole[-1][1] == start else start
            whole.append((first, end + 2 if text.startswith("\\ ", end) else end))
        expander = self.expander()
        return [word for start, end in whole for word in expander.fields(start, end)]

    def only_prints(self, node: Any) -> bool:
        """Whether a command is an `echo` whose words have no side effect."""
        text = self.script.text
        prints = text.startswith(("echo ", 'echo"'), node.start_byte) and "echo" not in self.state.functions
        return prints and CHANGES(text, node.start_byte, node.end_byte) is None

    def prefixes(self, node: Any) -> dict[str, Text]:
        """The assignments before a command: they are in effect for that command alone, and each one for those after it."""
        begins = self.begins(node)
        environment: dict[str, Text] = {}
        before: dict[str, Any] = {}
        unset = set(self.state.unset)
        for child in node.children:
            if child.type != "variable_assignment":
                break
            if child.start_byte < begins:
                self.assign(child)
                continue
            name = self.source(part_of(child, "name"))
            before.setdefault(name, self.state.variables.get(name))
            start = child.children[1].end_byte if len(child.children) > 1 else child.end_byte
            environment[name] = self.expander().string(start, child.end_byte)
            self.state.assign(name, environment[name])
        self.state.restore(before, unset & before.keys())
        return environment

    def start(self, words: list[Text], environment: dict[str, Text], node: Any) -> bool | None:
        """Run a builtin or function, or record a command."""
        name = words[0].value
        if name in self.state.functions and name is not None:
            return self.within(environment, lambda: self.function(name, words[1:]))
        builtin = BUILTINS.get(name or "")
        if builtin is not None:
            return self.within(environment, lambda: builtin(self, words[1:]))
        if name == "eval":
            return self.within(environment, lambda: self.evaluated(words[1:], node))
        if name == "exec":
            return self.start_exec(words[1:], environment, node)
        if self._captured is None:
            self.note(words, environment, node)
        else:
            self._captured.append(self.printed(words))
        return None

    def printed(self, words: list[Text]) -> Text:
        """The output of a command."""
        return filters.output(words, self._stdin, self.state.folder)

    def within(self, environment: dict[str, Text], action: Callable[[], bool | None]) -> bool | None:
        """Run an action with exported variables that are in effect for it alone: `BATCH=4 launch`, where `launch` is a function."""
        if not environment:
            return action()
        before, unset = {name: self.state.variables.get(name) for name in environment}, self.state.unset & environment.keys()
        added = set(environment) - self.state.exported
        for name, value in environment.items():
            self.state.assign(name, value)
        self.state.exported |= added
        try:
            return action()
        finally:
            self.state.exported -= added
            self.state.restore(before, unset)

    def start_exec(self, words: list[Text], environment: dict[str, Text], node: Any) -> bool | None:
        """Follow `exec command`; without a command it only redirects."""
        return self.start(words, environment, node) if words else True

    def note(self, words: list[Text], environment: dict[str, Text], node: Any) -> None:
        """Record a command that would be started; one that begins with a dash is the rest of the command before."""
        start, end = self.begins(node), node.end_byte
        place = self.script.place(start, start + 1)
        offset = place[1] if place else 0
        line = self.script.line(self.second_word(node)) if self._runner is None else self._runner.line(place)
        if words[0].string.startswith("-") and self.continues(offset):
            self.calls[-1].lost.append((words, offset))
            return
        env = {**self.state.environment(), **environment}
        unclear = self._placeholder or bool(node.has_error) or (node.parent is not None and node.parent.type == "ERROR")
        broken = unclear or self._refused or (self._open_quote is not None and end >= self._open_quote)
        call = Call(words, env, self.state.folder, self.script.path, line, offset, offset + end - start, self._conditional > 0, broken)
        call.needs_caller = self.state.needs_caller or (self.state.nounset and any(from_caller(word) for word in words))
        self.calls.append(call)

    def second_word(self, node: Any) -> int:
        """The offset of the second word of a command: bash assigns a command to the line of that word (LINENO)."""
        start = self.begins(node)
        named = [child for child in node.children if child.is_named and child.type != "comment" and child.start_byte >= start]
        plain = len(named) < 2 or named[0].type == "variable_assignment"
        return int(start if plain else named[1].start_byte)

    def continues(self, offset: int) -> bool:
        """Whether a command at an offset was intended to belong to the last recorded one."""
        if not self.calls or self.calls[-1].path != self.script.path or self._runner:
            return False
        last = self.calls[-1]
        between = self.script.text[last.end - self.script.offset : offset - self.script.offset]
        if last.lost:
            return last.end <= offset
        lines = [line.strip("\\ \t\r") for line in between.split("\n")]
        nothing = all(not line or line.startswith("#") for line in lines)
        return last.end <= offset and len(between) < 5_000 and nothing

    def evaluated(self, words: list[Text], node: Any) -> bool | None:
        """Follow `eval`: the words are a script of their own."""
        text = joined(words)
        if not any(part.text for part in text.parts):
            return None
        return self.inner(Script(self.script.path, "", parts=text), node)

    def inner(self, script: Script, node: Any) -> bool | None:
        """Follow a script that this one composes."""
        before, self._runner = self._runner, self._runner or Runner(self.script, node)
        self._calls_deep += 1
        try:
            if self._calls_deep > DEEPEST_CALL:
                raise Exhausted
            self._run(script)
        finally:
            self._runner = before
            self._calls_deep -= 1
        return None

    def function(self, name: str, arguments: list[Text]) -> bool | None:
        """Call a function."""
        script, body = self.state.functions[name]
        if self._calls_deep > DEEPEST_CALL:
            return None
        positional, self.state.positional = self.state.positional, arguments
        before, self.script = self.script, script
        self._calls_deep += 1
        self._locals.append([])
        try:
            return self.statement(body)
        except Return:
            return None
        finally:
            self._calls_deep -= 1
            self.script = before
            self.state.positional = positional
            self.state.restore(dict(reversed(self._locals.pop())), set())

    # ---- builtins

    def change_folder(self, words: list[Text]) -> bool | None:
        """Follow `cd` and `pushd`."""
        targets = [word for word in words if word.string not in ("-", "--", "-P", "-L")]
        if not targets:
            self.state.folder = None if words else "~"
            return True
        path = targets[0].value
        located = None if path is None else self.located(path)
        self.state.folder = None if located is None else inside(located)
        return True

    def sourced(self, words: list[Text]) -> bool | None:
        """Follow `source file`: its statements run here."""
        path = words[0].value if words else None
        located = self.located(path) if path is not None else None
        text = self.read(located) if located is not None else None
        if text is None and path is not None and not path.startswith(("/", "~")):
            self.ask_for(path)
        if text is None or located is None or self._calls_deep > DEEPEST_CALL:
            return None
        self.sources += 1
        self.sourced_files.append(self.readable(located))
        self._calls_deep += 1
        positional = self.state.positional
        if len(words) > 1:
            self.state.positional = words[1:]
        try:
            self._run(Script(self.readable(located), text))
        except Return:
            pass
        finally:
            self._calls_deep -= 1
            self.state.positional = positional
        return None

    def ask_for(self, path: str) -> None:
        """Handle a missing script of the project, which may exist relative to another folder."""
        if self.exist(path) is not False:
            self.settle_folder()

    def called(self, path: Text, arguments: list[Text], environment: dict[str, Text], node: Any) -> bool:
        """Follow a script that is run as a command of its own, with its exported variables; return False if that is impossible."""
        name = path.value
        located = self.located(name) if name is not None else None
        text = self.read(located) if located is not None else None
        if text is None and name is not None and not name.startswith(("/", "~")):
            self.ask_for(name)
        if text is None or located is None or located in self._followed or len(self._followed) > MOST_SCRIPTS:
            return False
        self.sources += 1
        start, place, line = len(self.calls), self.script.path, self.script.line(self.second_word(node))
        outside = self._runner, self._stdin, self._placeholder, self._refused, self._locals
        self._runner, self._stdin, self._placeholder, self._refused, self._locals = None, None, False, False, []
        self._followed.append(located)
        self._calls_deep += 1
        try:
            self.apart(lambda: self.in_process(Script(self.readable(located), text), located, arguments, environment))
        finally:
            self._followed.pop()
            self._calls_deep -= 1
            self._runner, self._stdin, self._placeholder, self._refused, self._locals = outside
        for call in self.calls[start:]:
            call.called_from = (place, line)
        return True

    def in_process(self, script: Script, located: str, arguments: list[Text], environment: dict[str, Text]) -> bool | None:
        """Run a script in a separate process, which gets only the exported variables, the folder and its arguments."""
        state = State(self.state.folder, located)
        state.variables, state.exported = dict(environment), set(environment)
        state.positional, state.needs_caller = arguments, self.state.needs_caller
        self.state = state
        self._run(script)
        return None

    def leave(self, words: list[Text]) -> bool | None:
        """Follow `exit`."""
        raise Stop

    def give_back(self, words: list[Text]) -> bool | None:
        """Follow `return`."""
        raise Return

    def go_on(self, words: list[Text]) -> bool | None:
        """Follow `continue`."""
        raise Leave(True)

    def leave_loop(self, words: list[Text]) -> bool | None:
        """Follow `break`."""
        raise Leave(False)

    def nothing(self, words: list[Text]) -> bool | None:
        """Follow a builtin that succeeds without an effect here."""
        return True

    def false(self, words: list[Text]) -> bool | None:
        """Follow `false`."""
        return False

    def shift(self, words: list[Text]) -> bool | None:
        """Follow `shift`."""
        count = words[0].value if words else "1"
        if self.state.positional is not None and count and count.isdigit():
            self.state.positional = self.state.positional[int(count[:4]) :]
        return True

    def options(self, words: list[Text]) -> bool | None:
        """Follow `set`; after `--` it sets the parameters, `-u` refuses unset variables."""
        for index, word in enumerate(words):
            text = word.value or ""
            if text == "--":
                self.state.positional = words[index + 1 :]
                return True
            if text == "nounset" or (text[:1] in ("-", "+") and "u" in text):
                sign = words[index - 1].string[:1] if text == "nounset" and index else text[:1]
                self.state.nounset = sign == "-"
        return True

    def read_input(self, words: list[Text]) -> bool | None:
        """Follow `read`: its input is unknown, except for a here-string or a here-document."""
        text = self._stdin
        names = [word.value for word in words if word.value and is_name(word.value)]
        given = [word.string for word in words if word.string.startswith("-")]
        if text is None or not text.known or not names:
            return self.read_something(names)
        separators = self.state.separators
        line = text if any("d" in option for option in given) else split_lines(text)[0]
        fields = split(line, separators + "\n" if separators else "")[0]
        if any("a" in option for option in given):
            self.state.assign(names[-1], list(fields))
            return True
        for index, name in enumerate(names):
            rest = fields[index:] if index == len(names) - 1 else fields[index : index + 1]
            self.state.assign(name, joined(rest, separators[:1]))
        return True

    def read_something(self, names: list[str]) -> bool | None:
        """Mark the variables that receive an unknown input."""
        for name in names:
            self.state.assign(name, unknown("read from input"))
        return None

    def read_lines(self, words: list[Text]) -> bool | None:
        """Follow `mapfile`, `readarray`: the lines of a here-string or a here-document."""
        names = [word.value for word in words if word.value and is_name(word.value)]
        text = self._stdin
        strips = any(word.value == "-t" for word in words)
        if text is None or not text.known or not strips or not names or len(words) > 2:
            return self.read_something(names)
        body = text[: len(text) - 1] if text.string.endswith("\n") else text
        self.state.assign(names[-1], split_lines(body))
        return True

    def parse_options(self, words: list[Text]) -> bool | None:
        """Follow `getopts`: a call without arguments has no options."""
        return False if self.state.positional is None else self.read_input(words)

    def echo(self, words: list[Text]) -> bool | None:
        """Follow `echo` and `printf`, which matter if their output is used."""
        if self._captured is not None:
            self._captured.append(filters.echo(words))
        return True

    def formatted(self, words: list[Text]) -> bool | None:
        """Follow `printf`; with `-v` it sets a variable."""
        if words and words[0].value == "-v" and len(words) > 2:
            self.state.assign(words[1].string, filters.output([literal("printf"), *words[2:]], None, None))
        elif self._captured is not None:
            self._captured.append(filters.output([literal("printf"), *words], None, None))
        return True

    def working_folder(self, words: list[Text]) -> bool | None:
        """Follow `pwd`."""
        if self._captured is not None:
            folder = self.state.folder
            self._captured.append(literal(folder + "\n") if folder is not None else unknown("the working folder"))
        return True

    def arithmetic(self, words: list[Text]) -> bool | None:
        """Follow `let`."""
        for word in words:
            expander = self.expander()
            try:
                expander.computed(word.value or "")
            except (Unknowable, NotArithmetic):
                return None
        return True

    def bracket(self, words: list[Text]) -> bool | None:
        """Follow `test` as a plain command."""
        return None


def open_quote(root: Any, text: str) -> int | None:
    """The beginning of the line that opens a quote which is never closed; None without one. Bash does not run that command."""
    last = root.children[-1] if root.children and root.has_error else None
    if last is None or last.type != "ERROR":
        return None
    rest = text[last.start_byte : last.end_byte]
    at = min((rest.find(mark) for mark in "\"'" if mark in rest), default=-1)
    if at < 0 or rest.count(rest[at], at) % 2 == 0 or text[last.end_byte :].strip():
        return None
    return text.rfind("\n", 0, last.start_byte + at) + 1


def split_lines(text: Text) -> list[Text]:
    """The lines of a known string, empty ones included."""
    found: list[Text] = []
    start = 0
    for line in text.string.split("\n"):
        found.append(text[start : start + len(line)])
        start += len(line) + 1
    return found


def inside(path: str) -> str:
    """A folder without `.` and `..`; one above the project's top stays unchanged."""
    normal = filters.normal(path)
    return normal if not path.startswith("%") or normal.startswith(path.partition("/")[0]) else path


def from_caller(word: Text) -> bool:
    """Whether a word contains a variable or parameter that only the caller could set."""
    return any(reason.startswith((UNSET, POSITIONAL)) for reason in word.reasons)


def decides(node: Any) -> bool:
    """Whether a statement is a test, whose failure is as likely as its success."""
    while node.type in ("list", "negated_command", "redirected_statement") and node.children:
        node = node.children[-1] if node.type != "redirected_statement" else node.children[0]
    return bool(node.type == "test_command" or is_arithmetic(node))


def is_arithmetic(node: Any) -> bool:
    """Whether a compound statement is `(( ... ))`."""
    return bool(node.type == "compound_statement" and node.children and node.children[0].type == "((")


def clauses(node: Any) -> list[tuple[list[Any], list[Any]]]:
    """(condition, body) of an `if` with its `elif`; `else` has no condition."""
    found: list[tuple[list[Any], list[Any]]] = []
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


LOOPS = ("for_statement", "c_style_for_statement", "while_statement")
HANDLERS: dict[str, Callable[[Interpreter, Any], bool | None]] = {
    "subshell": Interpreter.in_subshell,
    "pipeline": Interpreter.pipeline,
    "list": Interpreter.listed,
    "negated_command": Interpreter.negated,
    "test_command": Interpreter.test,
    "compound_statement": Interpreter.compound,
    "if_statement": Interpreter.choice,
    "case_statement": Interpreter.cases,
    "for_statement": Interpreter.words_loop,
    "c_style_for_statement": Interpreter.counting_loop,
    "while_statement": Interpreter.while_loop,
    "function_definition": Interpreter.define,
    "variable_assignment": Interpreter.assignment,
    "variable_assignments": Interpreter.assignments,
    "declaration_command": Interpreter.declaration,
    "unset_command": Interpreter.unset,
    "redirected_statement": Interpreter.redirected,
    "command": Interpreter.command,
}
BUILTINS: dict[str, Callable[[Interpreter, list[Text]], bool | None]] = {
    "cd": Interpreter.change_folder,
    "pushd": Interpreter.change_folder,
    "source": Interpreter.sourced,
    ".": Interpreter.sourced,
    "exit": Interpreter.leave,
    "return": Interpreter.give_back,
    "continue": Interpreter.go_on,
    "break": Interpreter.leave_loop,
    "true": Interpreter.nothing,
    ":": Interpreter.nothing,
    "trap": Interpreter.nothing,
    "ulimit": Interpreter.nothing,
    "shopt": Interpreter.nothing,
    "wait": Interpreter.nothing,
    "false": Interpreter.false,
    "shift": Interpreter.shift,
    "set": Interpreter.options,
    "read": Interpreter.read_input,
    "mapfile": Interpreter.read_lines,
    "readarray": Interpreter.read_lines,
    "getopts": Interpreter.parse_options,
    "echo": Interpreter.echo,
    "printf": Interpreter.formatted,
    "pwd": Interpreter.working_folder,
    "let": Interpreter.arithmetic,
    "test": Interpreter.bracket,
}
