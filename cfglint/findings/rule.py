"""Rules: a function with a code, a name, a severity, examples and a manual page, registered by a decorator."""

from __future__ import annotations

from cfglint.findings._rule_releases import RULE_RELEASES
from cfglint.findings.diagnostic import Fix
from cfglint.findings.setting import Setting
from cfglint.source.annotations import Any, Callable, ConfigTable, Iterable, TypeAlias
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from cfglint.findings.diagnostic import Reason
    from cfglint.findings.releases import Releases
    from cfglint.findings.vocabulary import Kind, Scope, Severity, Stage, Subject, WhenPartial

    Check = Callable[..., Iterable["Finding"]]

    class ExampleFacts(TypedDict, total=False):
        """The facts of an example's launch: kind, launch facts, `name` of its only file, how many of its files are `named` on the
        command line.

        `at` is the JSON pointer of the finding, `policies` a policy schema.
        """

        kind: Kind
        name: str
        named: int
        at: str
        gpus: int | None
        num_examples: int
        target: dict[str, str]
        complete: bool
        kind_given: bool
        strict_keys: bool
        trainer: str
        model: str
        gpu: str
        gpu_memory: float
        expected_numbers: dict[str, int]
        policies: ConfigTable

else:
    ExampleFacts = dict

Text: TypeAlias = str | dict[str, str]  # a file's content, or name -> content for a run of several files
WIDEST = 136  # characters of a line of a page

KEEP: WhenPartial = "keep"
WARN: WhenPartial = "warn"
SKIP: WhenPartial = "skip"

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
CODE: Subject = "code"  # the code of the program: its imports and calls

GENERATED = frozenset().union(*RULE_RELEASES.values())  # the codes of the rules whose releases were found in the sources

CERTAIN_SUBJECTS: tuple[Subject, ...] = (KEY, VALUE, LAUNCH, ARGUMENT, CODE)  # no other argument makes such a finding wrong


class Finding(Record):
    """The result of a rule: a setting and, in one line, what is wrong with it.

    `related` are the other settings involved, `note` a consequence that is not an exception, `help` the remedy.
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
    help: str | None = None
    for_any_parser: bool = False


class Example(Record):
    """A file, or a run of several files, in which a rule must find something.

    `at` is the JSON pointer of a finding, `exception` the beginning of its exception, `message` a part of its message.
    `facts` override those of the rule's `example`.
    """

    text: Text
    at: str | None = None
    exception: str | None = None
    message: str | None = None
    facts: ExampleFacts = {}


class Rule:
    """A check and what it predicts: the decorator of the check, which registers it under the name of its function.

    Its classes have the severity and, of an error, the stage that fails: `config_error`, `warning`, ...
    `source` is where the framework has the check: package, release, file and line, or function.
    Empty `kinds` means the framework in whose folder the check is defined; every kind elsewhere.
    `bad` and `good` are the content of a file (or name -> content for a run of several files) in which the rule must and must not
    find something; `bad` may be a tuple of several, each a content or an `Example`, so that every `Finding` of the rule has
    an example. The manual shows the first one, and `fixed` is the result of `fix` for it, which is `good` if nothing else is.
    `example` holds their launch facts.
    `when_partial` is what happens to an error if the files may be only a part of the run. `scope` is what the check
    is called with: each config, or the complete run. `by_version`: the finding is valid for some releases only, so its
    fix is safe only if the release is specified. `old_names` are accepted wherever names are.
    `releases` are those of the framework whose source has the check, one entry for each variant of it; empty for all releases. The
    rule runs in these only. `own_releases`: the decorator declares them; the others are generated from the sources
    (`tools/rule_ranges.py`).
    `about` is the subject of the findings, which decides whether an error stays one although other arguments of the launch are unknown.
    `on_construction`: constructing the trainer raises it, so that it needs no training.
    `predicts`: patterns of the beginning of further exceptions that it predicts, whose values tell that they are about this rule.
    """

    severity: Severity
    fails_at: Stage | None = None

    def __init__(
        self,
        code: str,
        *,
        source: str,
        name: str = "",
        kinds: tuple[Kind, ...] = (),
        raises: str | None = None,
        when_partial: WhenPartial = KEEP,
        bad: Text | tuple[Text | Example, ...] = "",
        good: Text = "",
        fixed: str | None = None,
        example: ExampleFacts | None = None,
        scope: Scope = CONFIG,
        by_version: bool = False,
        old_names: tuple[str, ...] = (),
        releases: Releases | tuple[Releases, ...] = (),
        about: Subject = COMBINATION,
        on_construction: bool = False,
        predicts: tuple[str, ...] = (),
    ) -> None:
        self.code = code
        self.source = source
        self.name = name
        self.kinds = kinds
        self.raises = raises
        self.when_partial = when_partial
        self._bad = bad
        self.good = good or fixed or ""
        self.fixed = fixed
        self.example: ExampleFacts = example or {}
        self.scope = scope
        self.by_version = by_version
        self.old_names = old_names
        self.own_releases = bool(releases)
        self.releases = (releases if isinstance(releases, tuple) else (releases,)) or (tuple(generated(code)) if code in GENERATED else ())
        self.about = about
        self.on_construction = on_construction
        self.predicts = predicts

    def __call__(self, check: Check) -> Check:
        """Register a check as the rule."""
        self.check = check
        self.name = self.name or check.__name__.replace("_", "-")
        self.kinds = self.kinds or own_kinds(check)
        RULES.append(self)
        BY_CODE.setdefault(self.code, []).append(self)
        return check

    @property
    def bad_examples(self) -> list[Example]:
        """The examples in which the rule must find something."""
        texts = self._bad if isinstance(self._bad, tuple) else (self._bad,)
        return [each if isinstance(each, Example) else Example(each) for each in texts if each]

    @property
    def bad(self) -> Text:
        """The first of them, which the manual shows."""
        return self.bad_examples[0].text if self.bad_examples else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the names of earlier releases."""
        return (self.name, *self.old_names)

    @property
    def page(self) -> str:
        """The manual page: the function's docstring, what its examples add (the exception and remedy that it does not say), the source."""
        from inspect import cleandoc
        from textwrap import fill

        from cfglint.findings.example_findings import raised, remedy

        text = cleandoc(self.check.__doc__ or "")
        start, heading, rest = text.partition("\n\nFix:")
        added = [raised(self.code, self.raises)] if self.severity == "error" and "\n\nRun-time" not in text else []
        added += [] if heading else [remedy(self.code)]
        source = fill(f"Source: {self.source}.", WIDEST, break_long_words=False, break_on_hyphens=False)
        return "\n\n".join(filter(None, [start, *added])) + heading + rest + f"\n\n{source}"


RULES: list[Rule] = []
BY_CODE: dict[str, list[Rule]] = {}  # the same rules


def own_kinds(check: Check) -> tuple[Any, ...]:
    """The kind of the framework in whose folder a check is defined; none elsewhere."""
    _, inside, place = check.__module__.partition("cfglint.frameworks.")
    return (place.partition(".")[0],) if inside else ()


def generated(code: str) -> Iterable[Releases]:
    """The releases of a rule's check that were found in the sources of a package."""
    for package, of_rules in RULE_RELEASES.items():
        for since, until in of_rules.get(code, ()):
            from cfglint.findings.releases import Releases

            yield Releases(since, until, package=package)


def names_of(code: str) -> tuple[str, ...]:
    """The current and the old names of the rule with a code; empty if its rule is not loaded."""
    return next((each.names for each in BY_CODE.get(code, ())), ())


def rule_of(check: Check, registered: Rule) -> Callable[[Callable[[], None]], None]:
    """Register a check under a function without code: that has the name and, as its docstring, the page; its module tells the framework."""

    def register(described: Callable[[], None]) -> None:
        check.__doc__, check.__module__, check.__name__ = described.__doc__, described.__module__, described.__name__
        registered(check)

    return register


class load_error(Rule):  # noqa: N801
    """A rule about what fails while a file or a launch line is parsed."""

    severity, fails_at = "error", "load"


class config_error(Rule):  # noqa: N801
    """A rule about what fails while the config or the trainer's arguments are constructed."""

    severity, fails_at = "error", "config"


class init_error(Rule):  # noqa: N801
    """A rule about what fails while the trainer, the model or the engine is built."""

    severity, fails_at = "error", "init"


class first_step_error(Rule):  # noqa: N801
    """A rule about what fails in the first step."""

    severity, fails_at = "error", "first-step"


class warning(Rule):  # noqa: N801
    """A rule about a run that starts, and does not do what its files say."""

    severity = "warning"


class info(Rule):  # noqa: N801
    """A rule about what works and could be better."""

    severity = "info"
