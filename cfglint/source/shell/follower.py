"""An interpreter that follows the scripts that a script starts, from a folder that may be undecided."""

from __future__ import annotations

import os

from cfglint.evaluate import Reason
from cfglint.source import files
from cfglint.source.annotations import Sequence, SyntaxNode, Truth
from cfglint.source.project_files import ROOT, Project
from cfglint.source.shell.filters import TOOLS
from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.nested_scripts import call_script, run_inner
from cfglint.source.shell.placed_text import EMPTY, Text
from cfglint.source.shell.reasons import UNDECIDED
from cfglint.source.shell.script import Script
from cfglint.source.shell.state import State
from cfglint.source.shell.wrappers import called_script, keeps_environment, script_of, unwrapped

HERE = "%cwd%"  # the start folder of a script while it is undecided
RESOLVING = ("readlink", "realpath")  # commands whose output depends on the working folder


class UndecidedFolder(Exception):
    """The effect of a script depends on the folder that it is started from; within each of `groups` it may be the same."""

    def __init__(self, groups: list[list[str]]) -> None:
        super().__init__()
        self.groups = groups


class Suspended(Exception):
    """Raised by an evaluation that has taken as many steps as it may take at first."""


class Follower(ShellInterpreter):
    """An interpreter that follows `bash -c` and called scripts, also after srun and similar commands.

    `folders` are the possible start folders while the actual one is undecided: a step that depends on it raises UndecidedFolder.
    """

    project: Project
    folders: Sequence[str] = ()
    limit: int | None = None  # steps after which it is suspended

    def statement(self, node: SyntaxNode) -> Truth:
        if self.limit is not None and self.budget.spent > self.limit:
            raise Suspended
        return super().statement(node)

    def settle_folder(self) -> None:
        """Raise UndecidedFolder if the start folder is undecided."""
        if self.folders:
            raise UndecidedFolder([[folder] for folder in self.folders])

    def exist(self, path: str) -> bool | None:
        """Whether a path exists; if the start folder is undecided, only if all candidates agree."""
        located = self.located(path)
        if located is None or not located.startswith(HERE):
            return super().exist(path)
        answers = {folder: self.exists(os.path.normpath(folder + located[len(HERE) :])) for folder in self.folders}
        given = [*dict.fromkeys(answers.values())]
        if len(given) == 1:
            return given[0]
        raise UndecidedFolder([[folder for folder, each in answers.items() if each is answer] for answer in given])

    def located(self, path: str) -> str | None:
        """A path relative to the working folder; one above an undecided start folder requires a decision."""
        found = super().located(path)
        if found is not None and (self.state.folder or "").startswith(HERE) and not found.startswith((HERE, "/", "%", "~")):
            self.settle_folder()
        return found

    def join(self, other: State, reason: Reason = UNDECIDED) -> None:
        """Merge two states into what they have in common; an undecided folder may be the same as one of the project."""
        one, two = self.state.folder or "", other.folder or ""
        if one != two and any(each.startswith(HERE) for each in (one, two)) and any(each.startswith(ROOT) for each in (one, two)):
            self.settle_folder()
        super().join(other, reason)

    def readable(self, located: str) -> str:
        """The path of a sourced or called file, relative to the working directory, like that of the script."""
        real = self.project.real(located)
        if real is None:
            return located
        return files.spelled_like(self.script.path, os.path.relpath(real) if os.path.isabs(real) else real)

    def printed(self, words: list[Text]) -> Text:
        """The output of a command; if the input of a tool depends on an undecided folder, that must be decided first."""
        name = (words[0].value or "").rpartition("/")[2]
        texts = [*words[1:], self.stdin or EMPTY]
        if self.folders and (name in TOOLS or name == "dirname") and all(text.known for text in texts):
            relative = name in RESOLVING and any(not text.string.startswith(("/", "%", "~", "-")) for text in texts[:-1])
            if relative or any(HERE in text.string for text in texts):
                self.settle_folder()
        return super().printed(words)

    def note(self, words: list[Text], environment: dict[str, Text], node: SyntaxNode) -> None:
        """Record a command, or follow the script that is passed to it."""
        wrappers, given, inner = unwrapped(words)
        text = script_of(inner)
        script = called_script(inner)
        start, known = len(self.calls), self.state.knows_environment
        self.state.knows_environment = known and keeps_environment(words)
        if text is not None:
            exported = {**self.state.environment(), **environment, **given}
            self.apart(self.in_environment, exported, text, node)
        elif script is None or not call_script(self, *script, {**self.state.environment(), **environment, **given}, node):
            self.state.knows_environment = known
            super().note(words, environment, node)
            return
        self.state.knows_environment = known
        for call in self.calls[start:]:
            call.words = [*wrappers, *call.words]

    def in_environment(self, environment: dict[str, Text], text: Text, node: SyntaxNode) -> Truth:
        """Run a string as a script with the exported variables."""
        self.state.variables = dict(environment)
        self.state.exported = set(environment)
        return run_inner(self, Script(self.script.path, "", parts=text), node)
