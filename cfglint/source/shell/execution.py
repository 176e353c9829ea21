"""Executes a script abstractly: the state, the commands that it would start, and the operations that all statements need.

Parameters and environment variables that only the caller could set count as absent in tests, as if the script were called without
arguments, and as unknown in words.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress

from cfglint.evaluate import Reason, Unknown, distinct
from cfglint.source import files
from cfglint.source.annotations import Callable, Collection, Iterator, Mapping, Result, Sequence, SyntaxNode, Truth
from cfglint.source.budget import STEPS_OF_START, Budget, Exhausted
from cfglint.source.project_files import ROOT, Project, in_folder
from cfglint.source.shell import filters
from cfglint.source.shell.command import stands_for_more
from cfglint.source.shell.expansion import Expander
from cfglint.source.shell.placed_text import EMPTY, Text, literal, unknown
from cfglint.source.shell.reasons import TOO_DEEP, UNCLEAR, UNDECIDED, from_caller, is_unset
from cfglint.source.shell.script import Script
from cfglint.source.shell.started_command import Runner, StartedCall, begins, escaped_blanks, second_word
from cfglint.source.shell.state import Saved, State, spelled

HERE = "%cwd%"  # the start folder of a script while it is undecided
RESOLVING = ("readlink", "realpath")  # commands whose output depends on the working folder
Way = tuple[str, int]
Handler = Callable[["Execution", SyntaxNode], Truth]

MOST_CALLS = 2_000
PER_STEP = 16  # parts of strings that are put together in one step
COMPARED = 64  # variables that are compared in one step
COPIED = 512  # variables that are copied in one step
DEEPEST = 60
DEEPEST_CALL = 12
PROGRAMS = ("pipeline", "subshell")
LOOPS = ("for_statement", "c_style_for_statement", "while_statement")
CONTINUE, BREAK, RETURN = ("continue", 1), ("break", 1), ("return", 1)  # the ways out of a branch
NOTHING: Mapping[str, Text] = {}
CONTINUED = "\\\n"
# A backslash and a blank at the end of a line or before a comment; without a blank before its mark, the comment is more words.
BLANK_WORD = re.compile(r"(?:[ \t]|\\\n)*(\\[ \t])(?:[ \t]*(?=\n|\Z)|[ \t]+#|(#[^\n;|&<>()'\"`$\\]*))").match
BLANK_SEPARATED = re.compile(r"\S+").finditer
ESCAPED = ("\\ ", "\\\t")
PRINTS_UNKNOWN = re.compile(r"(date|uuidgen|mktemp|shuf|nvidia-smi)(?:[ \t][^|;&`\n$()<>]*)?").fullmatch  # with any words


class UndecidedFolder(Exception):
    """The effect of a script depends on the folder that it is started from; within each of `groups` it may be the same."""

    def __init__(self, groups: list[list[str]]) -> None:
        self.groups = groups


class Suspended(Exception):
    """Raised by an evaluation that has taken as many steps as it may take at first."""


class EarlyEnd(Exception):
    """Raised where the followed statements end early."""


class Stop(EarlyEnd):
    """Raised where the script, or the followed part of it, ends."""


class ShellReturn(EarlyEnd):
    """Raised where a function or sourced file ends."""

    def __init__(self, status: Truth = UNCLEAR) -> None:
        self.status = status


class Leave(EarlyEnd):
    """Raised for `break` or `continue`: of the innermost loop, or of one that is further out."""

    def __init__(self, continues: bool, levels: int = 1) -> None:
        self.continues = continues
        self.levels = levels


def way_of(end: EarlyEnd) -> Way:
    """Where the script goes on after a branch that ends early: how, and of how many loops."""
    return (("continue" if end.continues else "break"), end.levels) if isinstance(end, Leave) else RETURN


class Execution:
    """The abstract execution of a script from a working folder.

    `read` returns the content of a file of the project, or None; `exists` whether a path exists, None if that is unknown. `handlers`
    maps each type of statement to the function that follows it.
    `folders` are the possible start folders while the actual one is undecided: a step that depends on it raises UndecidedFolder.
    """

    handlers: Mapping[str, Handler]
    project: Project | None = None
    # (header, variables) of a job: of its script, the options with which it is submitted, and the folder.
    submits: Callable[[Script, list[Text], str | None], tuple[object, dict[str, Text]]] | None = None
    folders: Sequence[str] = ()
    limit: int | None = None  # steps after which it is suspended

    def __init__(
        self,
        folder: str | None,
        script_name: str,
        read: Callable[[str], str | None],
        exists: Callable[[str], bool | None],
        budget: Budget | None = None,
    ) -> None:
        self.budget = Budget(STEPS_OF_START, budget)
        self.state = State(folder, script_name)
        self.read = read
        self.exists = exists
        self.calls: list[StartedCall] = []
        self.written: set[str] = set()  # files that redirections create
        self.is_complete = True  # whether all statements were followed
        self.depth = 0  # nesting depth of the current statement
        self.node: SyntaxNode | None = None  # the current statement
        self.loops = 0  # number of loops around the current statement
        self.call_depth = 0  # nesting depth of functions, scripts and substituted commands
        self.ways_out: list[tuple[Way, State]] = []  # of branches in the loops and functions that are followed, each with its state
        self.integers: set[str] = set()  # variables that are declared as integers
        self.conditional = 0  # number of undecided branches around the statement
        self.runner: Runner | None = None  # the command that runs the current source, if that is not a file
        self.captured: list[Text] | None = None  # the output of commands, if it is used
        self.assumed: list[Reason] = []  # what counted as not given in the tests that were evaluated
        # By the place of a value: the variable that would give another one if it were set.
        self.assumptions: dict[tuple[str, int], Reason] = {}
        self.stdin: Text | None = None  # the input of a command, if it is known
        self.placeholder = False  # whether a command reads a file, as `<path>` in a template does
        self.sources = 0  # number of sourced and called files that exist
        self.sourced_files: list[str] = []
        self.undecided = 0  # the last `a && b` of which a test that is not decided may skip the right side
        self.refused: tuple[Text, str] | None = None  # the fault at which it has stopped by now: (the token, what it says)
        self.locals: list[Saved] = []  # saved variables of each running function
        self.script = Script("", "")
        self.followed = [script_name]  # the chain of scripts that called one another

    def follow(self, script: Script) -> list[StartedCall]:
        try:
            with suppress(EarlyEnd):
                self.run(script)
        except (Exhausted, RecursionError):
            self.is_complete = False
        return self.calls

    def run(self, script: Script) -> None:
        """Follow the statements of a script as a part of the current one."""
        root = script.tree()
        if root is None:
            self.is_complete = False
            return
        with self.during(script=script, refused=self.refused):
            self.block(root)

    def block(self, node: SyntaxNode) -> Truth:
        return self.statements([child for child in node.children if child.is_named and child.type not in ("comment", "heredoc_body")])

    def statements(self, nodes: list[SyntaxNode]) -> Truth:
        """Follow several statements; return the status of the last one."""
        status: Truth = True
        for node in nodes:
            status = self.statement(node)
        return status

    def statement(self, node: SyntaxNode) -> Truth:
        if self.limit is not None and self.budget.spent > self.limit:
            raise Suspended
        self.budget.spend()
        if len(self.calls) > MOST_CALLS:
            raise Exhausted
        if 0 <= self.script.conflict <= node.start_byte:
            raise Stop  # at a syntax error
        fault = self.script.fault if self.refused is None and self.captured is None else None
        if fault is not None and fault.start <= node.start_byte:
            self.refused = self.script.literal(fault.at, fault.end), fault.message
        self.depth += 1
        outer, self.node = self.node, node
        try:
            if self.depth > DEEPEST:
                raise Exhausted
            handler = self.handlers.get(node.type)
            if handler is not None:
                status = self.loop(handler, node) if node.type in LOOPS else handler(self, node)
                # `$?`: programs are assumed to succeed, and a compound statement has the status of its last one.
                if not isinstance(status, Unknown):
                    self.state.unclear_status = not status
                elif node.type == "test_command" or (node.type == "compound_statement" and node.children[0].type == "(("):
                    self.state.unclear_status = True
                elif node.type in PROGRAMS:
                    self.state.unclear_status = False
                return status
            return self.block(node) if node.type in ("program", "do_group", "ERROR") else UNCLEAR
        finally:
            self.depth -= 1
            self.node = outer

    def loop(self, handler: Handler, node: SyntaxNode) -> Truth:
        """Follow a loop; the conditionality caused by an undecided `break` or `continue` ends with it."""
        before, first = self.conditional, len(self.ways_out)
        self.loops += 1
        try:
            return handler(self, node)
        except Leave as leave:
            raise Leave(leave.continues, max(leave.levels - 1, 1)) from None
        finally:
            self.loops -= 1
            self.conditional = before
            self.join_ways(first, BREAK)
            for place, ((name, levels), state) in enumerate(self.ways_out[first:], first):  # as the loop around it sees it
                self.ways_out[place] = (name, max(levels - 1, 1)), state

    @contextmanager
    def during(self, **values: object) -> Iterator[None]:
        """Give some attributes these values as long as the body runs."""
        before = {name: getattr(self, name) for name in values}
        for name, value in values.items():
            setattr(self, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def copied(self) -> State:
        self.budget.spend((len(self.state.variables) + len(self.state.functions)) // COPIED)
        return self.state.copy()

    def apart(self, action: Callable[..., Result], *arguments: object, state: State | None = None) -> Result | Unknown:
        """Run an action in another state, a copy of this one if none is given; the files that it writes stay."""
        first, inner = len(self.ways_out), state or self.copied()
        try:
            with self.during(state=inner):
                return action(*arguments)
        except (Stop, ShellReturn):
            return UNCLEAR
        finally:
            del self.ways_out[first:]
            self.state.variables.update(inner.written())

    @contextmanager
    def branch(self, is_conditional: bool = True) -> Iterator[None]:
        """What is followed here happens in a copy of the state; its output is kept apart."""
        self.conditional += is_conditional
        try:
            with self.during(state=self.copied(), captured=None if self.captured is None else []):
                yield
        finally:
            self.conditional -= is_conditional

    def perhaps(self, action: Callable[..., Truth], *arguments: object) -> Truth:
        """Run an action that may not happen; values that then differ are unknown. A branch that ends the script is left out."""
        end: EarlyEnd | None = None
        with self.branch():
            try:
                action(*arguments)
            except EarlyEnd as early:
                end = early
            after, printed = self.state, self.captured
        if self.captured is not None:
            self.captured.append(one_of([EMPTY, Text(part for text in printed or () for part in text.parts)]))
        if end is None:
            self.join(after)
        else:
            self.note_way(end, after)
            self.conditional += isinstance(end, Leave)  # applies to the rest of the loop
        return UNCLEAR

    def tested(self, condition: list[SyntaxNode]) -> tuple[Truth, list[Reason]]:
        """(status of a condition, what counted as not given in it)."""
        outside, self.assumed = self.assumed, []
        status, assumed = self.statements(condition), self.assumed
        self.assumed = [*distinct((*outside, *assumed))]
        return status, assumed

    def rest_on(self, assumed: list[Reason], others: Sequence[State | None]) -> None:
        """Note the values that are others in the branches which are taken if the variables that count as not set are set."""
        reason = next(filter(is_unset, assumed), None)
        if reason is None:
            return
        for other in filter(None, others):
            self.budget.spend(len(self.state.variables) // COMPARED)
            for name, value in self.state.variables.items():
                if isinstance(value, Text) and spelled(value) != spelled(other.variables.get(name)):
                    self.assumptions.update(dict.fromkeys(value.begins, reason))

    def note_way(self, end: EarlyEnd, state: State) -> None:
        """Note the state with which a branch leaves a loop or function: it is joined where that ends."""
        if not isinstance(end, Stop):
            self.ways_out.append((way_of(end), state))

    def join_ways(self, first: int, way: Way) -> None:
        """Join the states of the branches that have left since the first in one way."""
        ways = self.ways_out[first:]
        self.ways_out[first:] = [each for each in ways if each[0] != way]
        for state in (state for each, state in ways if each == way):
            self.join(state)

    def join(self, other: State, reason: Reason = UNDECIDED) -> None:
        """Merge two states into what they have in common; an undecided folder may be the same as one of the project."""
        one, two = self.state.folder or "", other.folder or ""
        if one != two and any(each.startswith(HERE) for each in (one, two)) and any(each.startswith(ROOT) for each in (one, two)):
            self.settle_folder()
        self.budget.spend(len(other.variables) // COMPARED)
        at = self.script.line(self.node.start_byte) if self.node is not None else 0
        self.state.merge(other, reason.at(self.script.path, at))

    def explore(self, *nodes: SyntaxNode, given: Mapping[str, Text] = NOTHING, assumed: Collection[object] = (True,)) -> State | None:
        """Follow statements that a call without arguments does not reach, without an effect on the rest; `given` are variables there.
        Returns the state at their end, None without one. A call with arguments that decide this, without what is `assumed`, starts none.
        """
        if not assumed and len(self.followed) > 1 and self.state.positional is not None:
            return None
        with self.branch(), suppress(EarlyEnd):
            for name, value in given.items():
                self.state.assign(name, value)
            for node in nodes:
                self.statement(node)
            return self.state
        return None

    def from_outside(self) -> bool:
        """Whether other parameters of the caller could have led elsewhere."""
        return self.state.positional is None and not self.call_depth

    def settle_folder(self) -> None:
        """Raise UndecidedFolder if the start folder is undecided."""
        if self.folders:
            raise UndecidedFolder([[folder] for folder in self.folders])

    def located(self, path: str) -> str | None:
        """A path relative to the working folder, None if that is unknown; one above an undecided start folder requires a decision."""
        folder = self.state.folder
        if folder is None or path.startswith(("/", "%", "~")):
            return path if path.startswith(("/", "%", "~")) else None
        found = in_folder(folder, path)
        if folder.startswith(HERE) and not found.startswith((HERE, "/", "%", "~")):
            self.settle_folder()
        return found

    def exist(self, path: str) -> bool | None:
        """Whether a path exists; if the start folder is undecided, only if all candidates agree."""
        located = self.located(path)
        if located is None or not located.startswith(HERE):
            return None if located is None else self.exists(located)
        answers = {folder: self.exists(os.path.normpath(folder + located[len(HERE) :])) for folder in self.folders}
        given = [*dict.fromkeys(answers.values())]
        if len(given) == 1:
            return given[0]
        raise UndecidedFolder([[folder for folder, each in answers.items() if each is answer] for answer in given])

    def readable(self, located: str) -> str:
        """The path of a sourced or called file, relative to the working directory, like that of the script."""
        real = self.project.real(located) if self.project is not None else None
        if real is None:
            return located
        return files.spelled_like(self.script.path, os.path.relpath(real) if os.path.isabs(real) else real)

    def source(self, node: SyntaxNode | None) -> str:
        return self.script.text[node.start_byte : node.end_byte] if node is not None else ""

    def expander(self) -> Expander:
        depth = self.call_depth + self.depth // 3
        return Expander(self.script, self.state, self.capture, self.budget, depth, assumptions=self.assumptions)

    def words(self, spans: list[tuple[int, int]]) -> list[Text]:
        expander = self.expander()
        texts = [word for start, end in whole_words(self.script.text, spans) for word in expander.fields(start, end)]
        self.budget.spend(sum(len(word.parts) for word in texts) // PER_STEP)
        return texts

    def capture(self, script: Script) -> Text:
        """The output of a string that is run as a command."""
        text = script.text.strip()
        if text.startswith("<"):
            path = script.text[script.text.index("<") + 1 :].strip()
            located = self.located(path)
            contents = self.read(located) if located is not None else None
            if contents is not None and len(contents) < 10_000:
                return literal(contents)
            return unknown(Reason("file", f"the contents of {path}"))
        prints = PRINTS_UNKNOWN(text)
        if prints is not None and prints[1] not in self.state.functions:
            return filters.output([literal(prints[1])], None, None)
        if self.call_depth >= DEEPEST_CALL:
            return unknown(TOO_DEEP)
        calls = len(self.calls)
        captured: list[Text] = []
        try:
            with self.during(captured=captured, conditional=self.conditional, call_depth=self.call_depth + 1):
                self.apart(self.run, script)
            return Text(part for each in captured for part in each.parts)
        finally:
            del self.calls[calls:]

    def printed(self, words: list[Text]) -> Text:
        """The output of a command; if the input of a tool depends on an undecided folder, that must be decided first."""
        name = (words[0].value or "").rpartition("/")[2]
        texts = [*words[1:], self.stdin or EMPTY]
        if self.folders and (name in filters.TOOLS or name == "dirname") and all(text.known for text in texts):
            relative = name in RESOLVING and any(not text.string.startswith(("/", "%", "~", "-")) for text in texts[:-1])
            if relative or any(HERE in text.string for text in texts):
                self.settle_folder()
        return filters.output(words, self.stdin, self.state.folder)

    def note(self, words: list[Text], environment: dict[str, Text], node: SyntaxNode) -> None:
        """Record a command that would be started; one that begins with a dash is the rest of the command before."""
        start, end = begins(self.script, node), node.end_byte
        place = self.script.place(start, start + 1)
        offset = place[1] if place else 0
        last = self.script.place(end - 1, end)
        after = last[2] if last and last[2] > offset else offset + end - start
        line = self.script.line(second_word(self.script, node)) if self.runner is None else self.runner.line(place)
        if self.continues(start):
            if stands_for_more(words[0]):
                self.calls[-1].words.extend(words)
                return
            if words[0].string.startswith("-") or self.calls[-1].is_cut(self.script, start):
                self.calls[-1].lost.append((words, offset))
                return
        env = {**self.state.environment(), **environment}
        unclear = self.placeholder or bool(node.has_error) or (node.parent is not None and node.parent.type == "ERROR")
        broken = unclear or self.refused is not None
        call = StartedCall(words, env, self.state.folder, self.script.path, line, offset, after, self.conditional > 0, broken)
        call.blanks, call.span = escaped_blanks(words), (start, end)
        call.refused = self.refused if self.runner is None else None
        call.assumptions, call.configs = self.assumptions, self.state.configs
        self.state.unclear_status = False
        of_caller = any(from_caller(reason) for word in words for reason in word.reasons)
        call.needs_caller = self.state.needs_caller or (self.state.nounset and of_caller)
        self.calls.append(call)

    def continues(self, offset: int) -> bool:
        """Whether a command at an offset of the source was intended to belong to the last recorded one."""
        if not self.calls or self.calls[-1].path != self.script.path or self.runner:
            return False
        last = self.calls[-1]
        end = last.span[1]
        between = self.script.text[end:offset]
        if last.lost:
            return end <= offset
        lines = [line.strip("\\ \t\r") for line in between.split("\n")]
        nothing = all(not line or line.startswith("#") for line in lines)
        return end <= offset and len(between) < 5_000 and nothing


def one_of(outputs: list[Text]) -> Text:
    sources = [*dict.fromkeys(output.source for output in outputs)]
    return outputs[0] if len(sources) == 1 else unknown(UNDECIDED, source=" or ".join(sources))


def whole_words(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The words of a command from the spans that the grammar returns: without a blank between them they are one word."""
    whole: list[tuple[int, int]] = []
    for start, end in spans:
        first = start
        last = whole[-1][1] if whole else start
        gap = text[last:start]
        if whole and (last == start or (gap.startswith(CONTINUED) and not gap.replace(CONTINUED, ""))):
            first = whole.pop()[0]
        elif ("\\ " in gap or "\\\t" in gap) and not gap.strip(" \t\n\\"):
            at = last  # words of one blank; one directly before the word belongs to it
            while at < start:
                is_blank = text.startswith(ESCAPED, at)
                if is_blank and at + 2 == start:
                    first = at
                elif is_blank:
                    whole.append((at, at + 2))
                at += 2 if text[at] == "\\" else 1
        whole.append((first, end + 2 if text.startswith("\\ ", end) else end))
    return whole


def blanks_at_end(text: str, end: int) -> list[tuple[int, int]]:
    """The word of one blank that a backslash and a blank at the end of a line add to a command, and those of a comment that it begins."""
    match = BLANK_WORD(text, end)
    if match is None:
        return []
    first, *others = [word.span() for word in BLANK_SEPARATED(text, match.start(2), match.end(2))] if match[2] else [match.span(1)]
    return [(match.start(1), first[1]), *others]
