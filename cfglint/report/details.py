"""The lines below the message of a finding, for every format: consequences, other places, the remedy."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, Diagnostic, Fix, Outcome, Place
from cfglint.findings.rule import ARGUMENT, CODE, LAUNCH
from cfglint.findings.wording import MOMENTS, counted
from cfglint.frameworks import framework

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import LaunchEntry

Line = tuple[str, str]  # (label, text)

NOTE = "note"
HELP = "help"
CHANGES = "unsafe: it changes what the run does"
GUESS = "unsafe: it is a guess"
BY_RELEASE = "unsafe: it depends on the release, which `--target` specifies"
MOST_REASONS = 2
LONGEST = 300  # characters of an exception


def details(diagnostic: Diagnostic, outcome: Outcome) -> list[Line]:
    """The lines below a finding: `note` for a consequence or another place, `help` for a remedy."""
    return [*consequences(diagnostic, outcome), *places(diagnostic), *remedies(diagnostic)]


def consequences(diagnostic: Diagnostic, outcome: Outcome) -> list[Line]:
    """The effect on the framework: the exception that it raises, and other consequences."""
    raised = raises(diagnostic, outcome)
    found = [(NOTE, f"{raised[:-1]}{exception_after(diagnostic)}")] if raised else []
    found += [(NOTE, diagnostic.note)] if diagnostic.note else []
    found += [(NOTE, only_since(diagnostic))] if diagnostic.since else []
    return [*found, (NOTE, depending(diagnostic))] if depending(diagnostic) else found


def only_since(diagnostic: Diagnostic) -> str:
    """The releases that give a finding if others that the project allows do not."""
    releases = " and ".join(f"{package} {release}" for package, release in diagnostic.since.items())
    fails = diagnostic.undecided_releases
    return f"{'fails ' if fails else ''}from {releases} on{named_exception(diagnostic) if fails else ''}; the release is not pinned"


def depending(diagnostic: Diagnostic) -> str:
    """What keeps a finding from being an error; nothing for a release, which `only_since` names."""
    reasons = [depend.text for depend in diagnostic.depends_on if not diagnostic.undecided_releases]
    if not reasons:
        return ""
    more = f" and {counted(len(reasons) - MOST_REASONS, 'other unknown')}" if len(reasons) > MOST_REASONS else ""
    return f"whether this fails{named_exception(diagnostic)} depends on {' and '.join(reasons[:MOST_REASONS])}{more}"


def named_exception(diagnostic: Diagnostic) -> str:
    """` (ValueError)`; nothing where no exception is known."""
    return f" ({diagnostic.exception.partition(':')[0]})" if diagnostic.exception else ""


PARSERS_OWN = "config"  # the file that the parser of a program opens, which no field of its arguments holds


def raises(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """`DeepSpeed 0.19.8 fails while checking the config:`; nothing where no exception is predicted."""
    if not diagnostic.exception or diagnostic.severity != ERROR:
        return ""
    moment = MOMENTS.get(diagnostic.fails_at or "", "")
    if diagnostic.about == CODE:
        return f"the program fails {'at its imports' if diagnostic.fails_at == 'load' else moment}:"
    if diagnostic.about in (LAUNCH, ARGUMENT) and diagnostic.fails_at == "load":
        moment = "at launch"
    return f"{framework_of(diagnostic, outcome)} fails {moment}:"


def exception_after(diagnostic: Diagnostic) -> str:
    """`: ValueError: ...`, or ` (ValueError)` for an exception without a message, or whose message is already shown."""
    exception = diagnostic.exception or ""
    kind, _, text = exception.partition(":")
    repeated = not text.strip() or is_repeated(text.strip(), diagnostic.message)
    return f" ({kind})" if repeated else f": {beginning(exception)}"


def is_repeated(text: str, message: str) -> bool:
    """Whether a message contains the message of an exception, other than by chance as a single word."""
    return " " in text and text in message


def beginning(text: str) -> str:
    """The beginning of a long string, up to a word."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4].rpartition(' ')[0]} ..."


def places(diagnostic: Diagnostic) -> list[Line]:
    """The other places that a finding is about, in one line, but for those that its own line shows and its message names."""
    others = [(other, text) for other, text in diagnostic.related if not is_shown(diagnostic, other, text)]
    named = [f"{place_note(diagnostic, text)} ({other.file}:{other.line})" for other, text in others]
    return [(NOTE, ", ".join(named))] if named else []


def is_shown(diagnostic: Diagnostic, other: Place, text: str) -> bool:
    """Whether the message and the excerpt already show another place with its value."""
    place = diagnostic.place
    name, value = key_and_value(text)
    if (other.file, other.line) != (place.file, place.line):
        return False
    return other.start == place.start or (name in diagnostic.message and value in diagnostic.message)


def place_note(diagnostic: Diagnostic, text: str) -> str:
    """The note about another place: without its value if the message has both."""
    name, value = key_and_value(text)
    return f"{name} is set here" if f"{name} is {value}" in diagnostic.message else text


def key_and_value(text: str) -> tuple[str, str]:
    """(`eval_steps` in backticks, 200) from the note that `eval_steps` is 200 here."""
    name, _, value = text.removesuffix(" here").partition(" is ")
    return name, value


def remedies(diagnostic: Diagnostic) -> list[Line]:
    """The value to write, and the action of `cfglint fix`."""
    if diagnostic.fix is None:
        return [(HELP, diagnostic.help)] if diagnostic.help else []
    title = diagnostic.fix.title
    if diagnostic.help is None or diagnostic.help.startswith(title):  # the help may have a reason, too
        return [(HELP, fixing(diagnostic, diagnostic.fix, diagnostic.help or title))]
    return [(HELP, diagnostic.help), (HELP, fixing(diagnostic, diagnostic.fix, title))]


def fixing(diagnostic: Diagnostic, fix: Fix, action: str) -> str:
    """The action of a fix and the command for it, with the reason if it is not safe."""
    if fix.safe:
        return f"{action} (cfglint fix)"
    guessed = GUESS if diagnostic.severity == ERROR else CHANGES
    reason = BY_RELEASE if fix.by_release else guessed
    return f"{action} (cfglint fix --unsafe-fixes; {reason})"


def framework_of(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The program that fails, with its version: the run's framework, and the one whose file it is if that differs."""
    if outcome.launch is not None and diagnostic.about in (LAUNCH, ARGUMENT):
        return started_by(diagnostic, outcome.launch)
    kind = outcome.kind_of(diagnostic.place.file)
    kinds = [each for each in dict.fromkeys((outcome.consumer, kind)) if framework(each).package] or [kind]  # a launch line has no package
    return " with ".join(titled(each, outcome) for each in kinds) or diagnostic.place.file


def started_by(diagnostic: Diagnostic, launch: LaunchEntry) -> str:
    """The receiver of an option of a launch line: the program, or its launcher."""
    name = diagnostic.key.lstrip("-").replace("-", "_")
    is_argument = diagnostic.about == ARGUMENT or name in launch["arguments"] or name == PARSERS_OWN
    return str(launch["program"] if is_argument and launch["program"] else launch["launcher"])


def titled(kind: str, outcome: Outcome) -> str:
    """`DeepSpeed 0.19.8`."""
    title, package = framework(kind).title, framework(kind).package
    name = title if title.replace("-", "").lower() == package.replace("-", "") else package  # not "Trainer" but transformers
    return f"{name} {outcome.target.get(package, '')}".strip()
