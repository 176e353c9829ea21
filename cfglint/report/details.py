"""The lines below the message of a finding, for every format: consequences, other places, the remedy."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.frameworks import framework

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Diagnostic, Outcome
    from cfglint.findings.entries import LaunchEntry

    Line = tuple[str, str]  # (label, text)

LAUNCH_CODES = "LCH"
PROGRAM_CODES = ("LCH003", "LCH016", "LCH017", "LCH020")  # what the program itself refuses
NOTE = "note"
HELP = "help"
MOMENTS = {
    "load": "while reading the file",
    "config": "while parsing the config",
    "init": "during initialization",
    "first-step": "at the first step",
}


def details(diagnostic: Diagnostic, outcome: Outcome) -> list[Line]:
    """The lines below a finding: `note` for a consequence or another place, `help` for a remedy."""
    return [*consequences(diagnostic, outcome), *places(diagnostic), *remedies(diagnostic)]


def consequences(diagnostic: Diagnostic, outcome: Outcome) -> list[Line]:
    """The effect on the framework: the exception that it raises, and other consequences."""
    raised = raises(diagnostic, outcome)
    found = [(NOTE, f"{raised} {diagnostic.exception}")] if raised else []
    return [*found, (NOTE, diagnostic.note)] if diagnostic.note else found


def raises(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """`DeepSpeed 0.19.8 fails while parsing the config:`; empty if no exception is predicted."""
    if not diagnostic.exception or diagnostic.severity != ERROR:
        return ""
    moment = MOMENTS.get(diagnostic.fails_at or "", "")
    if diagnostic.code.startswith(LAUNCH_CODES) and diagnostic.fails_at == "load":
        moment = "at launch"
    return f"{framework_of(diagnostic, outcome)} fails {moment}:"


def places(diagnostic: Diagnostic) -> list[Line]:
    """The other places involved in a finding, in one line."""
    named = [f"{text} ({other.file}:{other.line})" for other, text in diagnostic.related]
    return [(NOTE, ", ".join(named))] if named else []


def remedies(diagnostic: Diagnostic) -> list[Line]:
    """The value to write, and the action of `cfglint fix`."""
    found = [(HELP, diagnostic.help)] if diagnostic.help else []
    fix = diagnostic.fix
    return [*found, (HELP, f"{fix.title} ({'cfglint fix' if fix.safe else 'cfglint fix --unsafe-fixes'})")] if fix else found


def framework_of(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The program that fails, with its version: the run's framework, and the one whose file it is if that differs."""
    if outcome.launch is not None and diagnostic.code.startswith(LAUNCH_CODES):
        return started_by(diagnostic, outcome.launch)
    file = diagnostic.place.file
    kind = outcome.kinds[outcome.files.index(file)] if file in outcome.files else outcome.consumer
    kinds = [each for each in dict.fromkeys((outcome.consumer, kind)) if framework(each).package] or [kind]  # a launch line is none
    return " with ".join(titled(each, outcome) for each in kinds)


def started_by(diagnostic: Diagnostic, launch: LaunchEntry) -> str:
    """The receiver of an option of a launch line: the program, or its launcher."""
    is_argument = diagnostic.code in PROGRAM_CODES or diagnostic.key.lstrip("-").replace("-", "_") in launch["arguments"]
    return str(launch["program"] if is_argument and launch["program"] else launch["launcher"])


def titled(kind: str, outcome: Outcome) -> str:
    """`DeepSpeed 0.19.8`."""
    title, package = framework(kind).title, framework(kind).package
    name = title if title.replace("-", "").lower() == package.replace("-", "") else package  # transformers, not its Trainer
    return f"{name} {outcome.target.get(package, '')}".strip()
