"""The lines below the message of a finding, for every format: consequences, other places, the remedy."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, Diagnostic, Outcome
from cfglint.findings.fix_builders import unsafe_because
from cfglint.findings.rule import ARGUMENT, CODE, LAUNCH
from cfglint.findings.wording import MOMENTS, counted
from cfglint.frameworks import framework
from cfglint.report.escapes import shown
from cfglint.source.annotations import Callable, Iterable

Line = tuple[str, str]  # (label, text)

NOTE = "note"
HELP = "help"
PARSERS_OWN = "config"  # the file that the parser of a program opens, which no field of its arguments holds
MOST_REASONS = 2
LONGEST = 300  # characters of an exception


def open_findings(outcomes: Iterable[Outcome]) -> list[tuple[Diagnostic, Outcome]]:
    return [(diagnostic, outcome) for outcome in outcomes for diagnostic in outcome.open_findings]


def message_lines(diagnostic: Diagnostic, outcome: Outcome, quoted: Callable[[str], str] = shown) -> list[str]:
    return [quoted(diagnostic.message), *(f"{label}: {quoted(text)}" for label, text in details(diagnostic, outcome))]


def details(diagnostic: Diagnostic, outcome: Outcome) -> list[Line]:
    """The lines below a finding: `note` for a consequence or another place, `help` for a remedy."""
    return [*consequences(diagnostic, outcome), *places(diagnostic), *remedies(diagnostic)]


def consequences(diagnostic: Diagnostic, outcome: Outcome) -> list[Line]:
    """The effect on the framework: the exception that it raises, and other consequences."""
    raised, exception = raises(diagnostic, outcome), diagnostic.exception or ""
    named = f" ({exception.partition(':')[0]})" if exception else ""
    found: list[str] = []
    if raised:
        text = exception.partition(":")[2].strip()
        cut = exception if len(exception) <= LONGEST else f"{exception[: LONGEST - 4].rpartition(' ')[0]} ..."
        is_repeated = " " in text and text in diagnostic.message  # a single word may be there by chance
        found.append(raised[:-1] + (named if not text or is_repeated else f": {cut}"))
    if diagnostic.note:
        found.append(diagnostic.note)
    if diagnostic.since:
        releases = " and ".join(f"{package} {release}" for package, release in diagnostic.since.items())
        fails, which = ("fails ", named) if diagnostic.undecided_releases else ("", "")
        found.append(f"{fails}from {releases} on{which}; the release is not pinned")
    found += filter(None, [depending(diagnostic)])
    return [(NOTE, text) for text in found]


def depending(diagnostic: Diagnostic) -> str:
    """What keeps a finding from being an error; nothing for a release, which the note about releases names."""
    reasons = [depend.text for depend in diagnostic.depends_on if not diagnostic.undecided_releases]
    if not reasons:
        return ""
    named = f" ({diagnostic.exception.partition(':')[0]})" if diagnostic.exception else ""
    more = f" and {counted(len(reasons) - MOST_REASONS, 'other unknown')}" if len(reasons) > MOST_REASONS else ""
    return f"whether this fails{named} depends on {' and '.join(reasons[:MOST_REASONS])}{more}"


def raises(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """`DeepSpeed 0.19.8 fails while checking the config:`, of the launcher, or the framework; nothing where no exception is predicted."""
    if not diagnostic.exception or diagnostic.severity != ERROR:
        return ""
    moment = MOMENTS.get(diagnostic.fails_at or "", "")
    if diagnostic.about == CODE:
        return f"the program fails {'at its imports' if diagnostic.fails_at == 'load' else moment}:"
    is_of_line = diagnostic.about in (LAUNCH, ARGUMENT)
    if is_of_line and diagnostic.fails_at == "load":
        moment = "at launch"
    launch = outcome.launch
    if launch is not None and is_of_line:
        name = diagnostic.key.lstrip("-").replace("-", "_")
        is_argument = diagnostic.about == ARGUMENT or name in launch["arguments"] or name == PARSERS_OWN
        return f"{launch['program'] if is_argument and launch['program'] else launch['launcher']} fails {moment}:"
    kind = outcome.kind_of(diagnostic.place.file)
    kinds = [each for each in dict.fromkeys((outcome.consumer, kind)) if framework(each).package] or [kind]  # a launch line has no package
    titles = []
    for title, package in ((framework(each).title, framework(each).package) for each in kinds):
        name = title if title.replace("-", "").lower() == package.replace("-", "") else package  # not "Trainer" but transformers
        titles.append(f"{name} {outcome.target.get(package, '')}".strip())
    return f"{' with '.join(titles) or diagnostic.place.file} fails {moment}:"


def places(diagnostic: Diagnostic) -> list[Line]:
    """The other places that a finding is about, in one line, but for those that its own line shows and its message names."""
    place, message = diagnostic.place, diagnostic.message
    named = []
    for other, text in diagnostic.related:
        name, _, value = text.removesuffix(" here").partition(" is ")  # the note that `eval_steps` is 200 here
        same_line = (other.file, other.line) == (place.file, place.line)
        if same_line and (other.start == place.start or (name in message and value in message)):
            continue
        note = f"{name} is set here" if f"{name} is {value}" in message else text
        named.append(f"{note} ({other.file}:{other.line})")
    return [(NOTE, ", ".join(named))] if named else []


def remedies(diagnostic: Diagnostic) -> list[Line]:
    """The value to write, and the action of `cfglint fix` with the reason if it is not safe."""
    remedy, fix = diagnostic.help, diagnostic.fix
    if fix is None:
        return [(HELP, remedy)] if remedy else []
    command = "cfglint fix" if fix.safe else f"cfglint fix --unsafe-fixes; unsafe: {unsafe_because(diagnostic)}"
    if remedy is None or remedy.startswith(fix.title):  # the help may have a reason, too
        return [(HELP, f"{remedy or fix.title} ({command})")]
    return [(HELP, remedy), (HELP, f"{fix.title} ({command})")]
