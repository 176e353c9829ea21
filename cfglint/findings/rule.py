"""Rules: a function that gives findings, and what the page of its code says of them: the name, the severity, the stage that fails, ..."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings._rules import RULES as HEADS
from cfglint.findings.diagnostic import Fix
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy
from cfglint.findings.setting import Setting
from cfglint.findings.vocabulary import Kind, Scope, Severity, Stage, Subject
from cfglint.source.annotations import Callable, ConfigTable, Iterable
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.pages import Example, Page, Text


Check = Callable[..., Iterable["Finding"]]

WIDEST = 136  # characters of a line of a page

CONFIG: Scope = "config"
RUN: Scope = "run"

KEY: Subject = "key"  # the name of a key, whatever its value and those of the other keys are
VALUE: Subject = "value"  # one setting by itself, whatever the other settings are
COMBINATION: Subject = "combination"  # several settings together
BATCH: Subject = "batch"  # the batch sizes and the number of GPUs
FILE: Subject = "file"  # whether a file that the config names exists and may be read
LAUNCH: Subject = "launch"  # a launch line and the options of its launcher
ARGUMENT: Subject = "argument"  # an argument of a launch line that the program itself refuses
LAUNCHER_CONFIG: Subject = "launcher-config"  # the config of the launcher, which it reads before the program starts
EXPECTATION: Subject = "expectation"  # what the project itself demands of its runs
IGNORE_COMMENT: Subject = "ignore-comment"
MEMORY: Subject = "memory"  # the memory of the GPUs
SAMPLES: Subject = "samples"  # the number of training samples
CODE: Subject = "code"  # the code of the program: its imports and calls

CERTAIN_SUBJECTS: tuple[Subject, ...] = (KEY, VALUE, LAUNCH, ARGUMENT, CODE)  # no other argument makes such a finding wrong


class Finding(Record):
    """The result of a rule: a setting and, in one line, what is wrong with it.

    `related` are the other settings involved, `note` a consequence that is not an exception, `help` the remedy, or what computes it.
    `exception`, `fails_at` and `severity` default to those of the rule. `depends_on` is what is not known and decides whether an error is
    one (`rules.reasons` adds what holds for every rule). `on_key` points at the key, not the value.
    `for_any_parser`: the run fails on it, regardless of how the program parses its arguments.
    """

    setting: Setting
    message: str
    related: Iterable[Setting] = ()
    fix: Fix | None = None
    exception: str | None = None
    fails_at: Stage | None = None
    severity: Severity | None = None
    depends_on: Iterable[Reason] = ()
    on_key: bool = False
    note: str | None = None
    help: Remedy | str | Callable[[], Remedy | str | None] | None = None
    for_any_parser: bool = False


class Rule(Record):
    """A check and what the head of its page says of the findings.

    `fails_at` is the stage that fails, of an error. Empty `kinds` means every kind.
    `scope` is what the check is called with: each config, or the complete run. `by_version`: the finding is valid for some releases
    only, so its fix is safe only if the release is specified. `old_names` are accepted wherever names are.
    `releases` are those of the framework whose source has the check, one entry for each variant of it; empty for all releases. The
    rule runs in these only. `own_releases`: the page declares them, else the sources have them (`tools/rule_ranges.py`).
    `about` is the subject of the findings, which decides whether an error stays one although other arguments of the launch are unknown.
    `on_construction`: constructing the trainer raises it, so that it needs no training.
    `checks` are the framework's own checks that the page speaks of, where cfglint has no function for each.
    """

    code: str
    check: Check
    name: str
    severity: Severity
    fails_at: Stage | None = None
    kinds: tuple[Kind, ...] = ()
    about: Subject = COMBINATION
    releases: tuple[Releases, ...] = ()
    own_releases: bool = False
    raises: str | None = None
    scope: Scope = CONFIG
    by_version: bool = False
    old_names: tuple[str, ...] = ()
    on_construction: bool = False
    checks: tuple[str, ...] = ()

    __hash__ = object.__hash__

    @property
    def written(self) -> Page:
        from cfglint.findings.pages import page_of

        return page_of(self.code)

    @property
    def source(self) -> str:
        """Where the framework has the check: package, release, file and line, or function."""
        return str(self.written.head["source"])

    @property
    def predicts(self) -> tuple[str, ...]:
        """Patterns of the beginning of further exceptions that it predicts, whose values tell that they are about this rule."""
        return tuple(self.written.head.get("predicts", ()))

    @property
    def example(self) -> ConfigTable:
        """The launch facts of the examples."""
        facts: ConfigTable = self.written.head.get("example", {})
        return facts

    @property
    def bad_examples(self) -> list[Example]:
        """The examples in which the rule must find something."""
        return self.written.bad

    @property
    def bad(self) -> Text:
        """The first of them, which the manual shows."""
        return self.bad_examples[0].text if self.bad_examples else ""

    @property
    def good(self) -> Text:
        """The example in which it must find nothing."""
        return self.written.good

    @property
    def fixed(self) -> Text | None:
        """What `fix` makes of the first bad example."""
        return self.written.fixed

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the names of earlier releases."""
        return (self.name, *self.old_names)

    @property
    def page(self) -> str:
        """The manual page: the text, what the examples add (the exception and remedy that it does not say), the source."""
        from textwrap import fill

        from cfglint.findings.pages import raised, remedy

        text = self.written.text
        start, heading, rest = text.partition("\n\nFix:")
        added = [raised(self.code, self.raises)] if self.severity == "error" and "\n\nRun-time" not in text else []
        added += [] if heading else [remedy(self.code)]
        source = fill(f"Source: {self.source}.", WIDEST, break_long_words=False, break_on_hyphens=False)
        return "\n\n".join(filter(None, [start, *added])) + heading + rest + f"\n\n{source}"


RULES: list[Rule] = []
BY_CODE: dict[str, list[Rule]] = {}  # the same rules


def rule(code: str) -> Callable[[Check], Check]:
    """Make a function the check of the rule with a code, whose page is `pages/CODE.md`."""

    def register(check: Check) -> Check:
        name, severity, fails_at, kinds, about, further = HEADS[code]
        details = dict(further)
        own, found = details.pop("releases", ()), details.pop("found_releases", ())
        releases = tuple([Releases(*row) for row in own or found])
        made = Rule(code, check, name, severity, fails_at, kinds, about, releases, bool(own), **details)
        RULES.append(made)
        BY_CODE.setdefault(code, []).append(made)
        return check

    return register


def pages_of_checks(kind: str) -> dict[str, tuple[str, ...]]:
    """The pages of a kind that speak of the framework's own checks: their codes, with the names of the checks."""
    of_kind = {code: dict(further) for code, (*_, kinds, _, further) in HEADS.items() if further and kinds[:1] == (kind,)}
    return {code: further["checks"] for code, further in of_kind.items() if "checks" in further}
