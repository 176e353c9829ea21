"""Runs the rules of a kind over a config; an exception in one rule does not hide the findings of another."""

from __future__ import annotations

from cfglint.evaluate import Perhaps, Unknown
from cfglint.findings.diagnostic import ERROR, INTERNAL, WARNING, Diagnostic, Ignore, Place, clipped
from cfglint.findings.releases import Releases
from cfglint.findings.rule import CODE, CONFIG, KEY, RULES, Finding, Rule
from cfglint.findings.setting import OVERRIDE, WRITTEN, Setting
from cfglint.findings.wording import spelled, with_look_alikes_named
from cfglint.frameworks import framework
from cfglint.frameworks.base import Config, Framework
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.source import cached
from cfglint.source.annotations import Any
from cfglint.source.document import MAPPING, SEQUENCE, Document, Node, Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cfglint.frameworks.memory.estimate import RunMemory

    class CheckableRun(Protocol):
        """The properties of a run that rules about a whole run use; `cfglint.run.loaded.LoadedRun` has them."""

        documents: list[Document]
        facts: LaunchFacts
        configs: list[Config]
        unused_ignores: list[Ignore]

        @property
        def resolved(self) -> dict[str, int | None]:
            """The numbers that the framework computes from the files, with None for an unknown one."""

        @property
        def memory(self) -> RunMemory | None:
            """The memory that the run needs on each GPU; None if the shape of its model is unknown."""
else:
    CheckableRun = object


MOST = 1000  # maximum number of diagnostics of one config
REPORT_BUG = "this is a bug in cfglint; please report it with this file"

_by_release: dict[tuple[Any, ...], list[Rule]] = {}  # (kind, their code or severity, release of each of the packages asked) -> rules


@cached
def rules_for(kind: str, further: tuple[str, ...]) -> list[Rule]:
    """The rules for configs of a kind, those of all kinds first; `further` are modules of rules that only some runs need."""
    from cfglint.rules import batch, files, releases  # noqa: F401  # which registers the rules for all kinds

    own = framework(kind)
    own.load_rules(further)
    if own.base:
        framework(own.base).load_rules(further)
    return [
        rule
        for rule in RULES
        if rule.scope == CONFIG
        and (not rule.kinds or kind in rule.kinds or (own.base in rule.kinds and rule.code not in own.replaced_rules))
    ]


def rules_of(config: Config, only: str = "") -> list[Rule]:
    """The rules for a config whose checks its releases have, in the order of `rules_for`; with `only` those of a code or a severity."""
    kind, further = config.kind, config.further_rules
    packages = packages_asked(config.framework, further)
    key = (kind, further, only, *[config.facts.version(package, RELEASES[package]) for package in packages])
    if key not in _by_release:
        rules = [rule for rule in rules_for(kind, further) if not only or only in (rule.code, rule.severity)]
        _by_release[key] = [rule for rule in rules if not rule.releases or has_check(rule, config)]
    return _by_release[key]


@cached
def packages_asked(own: Framework, further: tuple[str, ...]) -> list[str]:
    """The packages whose release decides which rules for configs of a framework run: all that `has_check` asks for."""
    asked = dict.fromkeys(package for rule in rules_for(own.kind, further) for package, _ in releases_of(rule))
    return [package for package in asked if package in own.packages() or not own.package]


def inspect(config: Config, only: str = "") -> list[Diagnostic]:
    """Every diagnostic of a config, in the order of the rules; with `only` those that the rules of a code or a severity give.

    Rules of a lower severity never give an error, so that the rules of the severity "error" give every one.
    """
    return apply(rules_of(config, only), config, config)


def apply(rules: list[Rule], subject: Config | CheckableRun, config: Config) -> list[Diagnostic]:
    """The diagnostics of some rules about a subject: a config, or the run whose consumer is `config`."""
    diagnostics: list[Diagnostic] = []
    for rule in rules:
        try:
            for finding in rule.check(subject):
                diagnostic = to_diagnostic(rule, finding, config)
                if diagnostic is not None:
                    diagnostics.append(diagnostic)
                    if len(diagnostics) >= MOST:
                        break
        except Exception as error:
            if has_unknown(config) and isinstance(error, (TypeError, AttributeError)):
                continue  # an unknown value has no type
            diagnostics.append(internal_error(f"rule {rule.code}", error, config.documents[0]))
        if len(diagnostics) >= MOST:
            return diagnostics[:MOST]
    return diagnostics


def has_check(rule: Rule, config: Config) -> bool:
    """Whether the release of the run is one of those that have the check of a rule; true if its package is not that of the config."""
    packages = config.framework.packages()
    known = [(package, releases) for package, releases in releases_of(rule) if package in packages or not config.framework.package]
    return not known or any(config.facts.version(package, RELEASES[package]) in releases for package, releases in known)


def releases_of(rule: Rule) -> list[tuple[str, Releases]]:
    """The spans of releases that have the check of a rule, each with its package."""
    return [(release.package or framework(rule.kinds[0]).package, release) for release in rule.releases]


def has_unknown(config: Config) -> bool:
    """Whether values of a launch line or program are unknown."""
    program = config.facts.launch.program
    first = config.documents[0]
    return (isinstance(first, Part) and bool(first.unknown)) or (program is not None and bool(program.changed)) or config.has_unknown


def to_diagnostic(rule: Rule, finding: Finding, config: Config) -> Diagnostic | None:
    """The diagnostic of a finding; None if it rests on an unknown value, or the run does not get there."""
    if not config.reaches(rule, finding) or uses_unknown_value(finding, config, rule.about in (KEY, CODE)):
        return None
    if rule.about not in (KEY, CODE) and is_of_missing_field(finding, config):
        return None
    setting = blamed = config.blamed(finding.setting)
    severity = finding.severity or rule.severity
    fails = severity == ERROR
    setting = setting.at_key if finding.on_key else setting.at_value
    is_open = rule.by_version and not config.facts.is_known(config.package)
    if finding.fix is not None and finding.fix.safe and (is_open or config.unmodelled(rule)):
        finding.fix.safe, finding.fix.by_release = False, True
    advice, fix = None if config.without_remedies else finding.help, finding.fix
    if callable(advice):
        advice = advice()
    if advice is not None and not isinstance(advice, str):
        from cfglint.rules.remedies import edit_of, said

        remedy, advice = advice, said(advice, setting, config)
        if fix is None:
            fix = edit_of(remedy, advice, finding.setting, config)
    diagnostic = Diagnostic(
        rule.code,
        rule.name,
        severity,
        blamed_place(finding, setting, config),
        clipped(setting.pointer),
        clipped(with_look_alikes_named(finding.message)),
        config.failure_stage(finding.fails_at or rule.fails_at) if fails else None,
        clipped(finding.exception or rule.raises or "") or None,
        tuple((place_of(each.at_value, config, False), clipped(related_text(each))) for each in finding.related if each.node is not None),
        fix,
        clipped(finding.note) if finding.note else None,
        clipped(advice) if advice else None,
        rule.about,
    )
    if fails:
        from cfglint.rules.reasons import unknowns

        diagnostic.rest_on(unknowns(rule, finding, blamed, config))
    return diagnostic


def is_of_missing_field(finding: Finding, config: Config) -> bool:
    """Whether a finding is about the value of a field that the release does not have: it came later, or was removed or renamed."""
    path = finding.setting.path
    if len(path) != 1 or finding.on_key or finding.setting.document is config.facts.launch.command:  # an option of a command is no field
        return False
    return config.lacks_field(str(path[0]))


def uses_unknown_value(finding: Finding, config: Config, is_about_key: bool = False) -> bool:
    """Whether a value that a finding names is unknown, or is set by the program itself; a key is wrong whatever its value is."""
    program = config.facts.launch.program
    changed = program.changed if program is not None else ()
    named = (finding.setting, *finding.related)
    if is_about_key and finding.on_key and named[0].origin in (WRITTEN, OVERRIDE):
        # A program may ask for the release, or for what the class takes in it, before it passes a key of its configuration.
        doubts = config.facts.launch.doubts if finding.setting.document in config.documents else ()
        reasons = (*doubts, *(finding.setting.value.reasons if isinstance(finding.setting.value, Perhaps) else ()))
        if any(reason.kind == "release" for reason in reasons):
            return True
        named = named[1:]
    return any(
        isinstance(setting.value, Unknown) or (setting.path and (setting.path[0] in changed or is_open(setting, config)))
        for setting in named
    )


def is_open(setting: Setting, config: Config) -> bool:
    """Whether the default of a field stands for a value that is unknown."""
    if len(setting.path) != 1:
        return False
    return isinstance(config.values.get(setting.path[0]), Unknown) or (not setting.written and not config.knows(str(setting.path[0])))


def related_text(setting: Setting) -> str:
    """The note on a related setting, such as `eval_steps is 200 here`; for a long mapping only that it is set."""
    setting = setting.at_value
    if isinstance(setting.value, dict) and setting.spelled.endswith("..."):
        return f"`{setting.name}` is set here"
    return f"`{setting.name}` is {setting.spelled if setting.written else spelled(setting.value)} here"


def internal_error(where: str, error: Exception, document: Document) -> Diagnostic:
    """A bug in cfglint as a diagnostic: it says nothing about the config, and the exit status is 2."""
    message = f"internal error in {where}: {type(error).__name__}: {clipped(str(error))}"
    return Diagnostic(INTERNAL, "internal-error", WARNING, span(document, 0, 0), "", message, help=REPORT_BUG)


def place_of(setting: Setting, config: Config, on_key: bool) -> Place:
    """Where to point: the value, the key (of a mapping, and of a list of several lines), or the first line when nothing is written."""
    document = setting.document or config.documents[0]
    node: Node | None = setting.node
    is_long = node is not None and (  # its span begins at its first entry, which is not the problem
        node.kind == MAPPING or (node.kind == SEQUENCE and document.position(node.start)[0] != document.position(node.end)[0])
    )
    if setting.key_node is not None and (on_key or not setting.written or is_long):
        node = setting.key_node
    if node is None:
        start = document.roots[0].start if document.is_in_code and document.roots else 0
        return span(document, start, start)
    return span(document, node.start, node.end)


def blamed_place(finding: Finding, setting: Setting, config: Config) -> Place:
    """The place of a finding: that of its setting or, if that is missing or a default, of the setting that makes it matter."""
    if setting.node is None and setting.key_node is None:
        others = [each for each in finding.related if each.node is not None and each.written]
        if others:
            return place_of(others[0].at_value, config, False)
    return place_of(setting, config, finding.on_key)


def span(document: Document, start: int, end: int) -> Place:
    line, column = document.position(start)
    end_line, end_column = document.position(end)
    from cfglint.source.quoted_line import quoted_line

    return Place(document.path, line, column, end_line, end_column, start, end, quoted_line(document, start, end))
