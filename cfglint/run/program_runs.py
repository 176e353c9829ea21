"""Programs that build their arguments in code: each such call as a document, with the facts about the program for it."""

from __future__ import annotations

from cfglint.frameworks import fields_of_class
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.launch_facts import Launch
from cfglint.launch.command import WITHOUT_EFFECT
from cfglint.launch.programs.constructors import built_calls
from cfglint.launch.programs.evaluation import call_document
from cfglint.launch.programs.scopes import is_caught
from cfglint.source.change import EditRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.frameworks.program import ProgramFacts
    from cfglint.source.python.call import CallDocument

    Reread = Callable[[str, str], ProgramFacts | None]  # reads the program with another text of one of its files


class BuiltArguments:
    """A call that builds the arguments of a run: its document and kind, and the facts about the program for it.

    `guessed`: the program may not reach the call, or build others.
    """

    __slots__ = ("document", "guessed", "kind", "program", "trainer")

    def __init__(self, program: ProgramFacts, which: int, reread: Reread) -> None:
        call = built_calls(program)[which]
        self.kind = call.kind
        self.guessed = call.is_conditional or is_caught(call.node, call.scope, program.scopes)
        self.program = call.facts(program)
        self.trainer = call.trainer
        self.document = document_of(program, which, reread)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The important fields whose final values are unknown."""
        known = {*FIELDS, *fields_of_class(self.program.arguments)}
        return tuple(key for key in (*self.document.unknown, *self.program.changed) if key in known and key not in WITHOUT_EFFECT)

    def facts(self, facts: LaunchFacts) -> LaunchFacts:
        """The facts of a run with these arguments, whose launch is unknown."""
        if self.kind == "deepspeed":  # the program may pass an optimizer
            return facts.replace(kind_given=facts.kind_given or not self.guessed, launch=Launch(guessed=self.guessed))
        return facts.replace(
            trainer=facts.trainer or self.trainer,
            launch=Launch(program=self.program, guessed=self.guessed, undecided=self.undecided),
            strict_keys=facts.strict_keys or self.program.complete,
            kind_given=facts.kind_given or not self.guessed,
            complete=facts.complete or not self.guessed,
        )


def built_arguments(program: ProgramFacts, which: int, reread: Reread) -> BuiltArguments | None:
    """The arguments that one of the calls of a program builds; `reread` parses the program with another content for one file."""
    return BuiltArguments(program, which, reread) if which < len(built_calls(program)) else None


def document_of(program: ProgramFacts, which: int, reread: Reread) -> CallDocument:
    """The document of one of the calls that build arguments, with the values of the others."""
    documents = [call_document(call, program) for call in built_calls(program)]
    found = documents[which]
    found.others = [each.values for each in documents if each is not found]
    found.again = lambda text: read_again(found, text, reread, which)
    return found


def read_again(document: CallDocument, text: str, reread: Reread, which: int) -> CallDocument:
    """The same call in another version of its file."""
    program = reread(document.path, text)
    if program is None or len(built_calls(program)) != len(document.others) + 1:
        raise EditRefused("the edited program would build its arguments in another way", document.extent[0])
    return document_of(program, which, reread)
