"""A checked run: a training job with the findings of the rules."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, INFO, INTERNAL, OTHER, STAGES, Diagnostic, Outcome, Place
from cfglint.findings.rule import BY_CODE
from cfglint.frameworks import framework, takes_arguments
from cfglint.frameworks.base import Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch.kinds import LAUNCH
from cfglint.rules.engine import inspect, internal_error
from cfglint.run.loaded import NUMBERS, LoadedRun
from cfglint.source.document import LIMIT, Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.evaluate import Reason
    from cfglint.findings.entries import ResumeEntry
    from cfglint.findings.vocabulary import Stage, Verdict

Causes = dict[tuple[str, int], list[Diagnostic]]

EARLY: tuple[Stage, ...] = ("load", "config")  # before the files of a run are compared with each other
COMMENT_MARK = "cfglint:"  # in every comment that suppresses a finding


class CheckedRun(LoadedRun):
    """A job with its findings, and with the prediction whether its framework would start it."""

    _diagnostics: list[Diagnostic] | None = None
    is_unreadable_template = False
    placeholders: frozenset[tuple[str, str]] = frozenset()  # (file, pointer)
    incomplete_script = ""  # why further launch lines of its script are not known
    read_for: str | None = None  # the named file for which it was looked for, because it reads that
    unless_named: str | None = None  # its file, if it only counts where no other file names that in the end

    @property
    def is_of_reader(self) -> bool:
        """Whether it was looked for because it reads a named file."""
        return self.read_for is not None

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All diagnostics, in the order of files and places."""
        if self._diagnostics is None:
            found = self.judged(self.findings())
            order = {document.path: index for index, document in enumerate(self.documents)}
            found.extend(self.attempt("the rules of the project", self._of_the_project, []))
            found.extend(self.attempt("the ignore comments", lambda: self._of_comments(found), []))
            bugs = [internal_error(doing, error, self.documents[0]) for doing, error in self.bugs]
            found = [*bugs, *found]
            found.sort(key=lambda diagnostic: (order.get(diagnostic.place.file, 0), diagnostic.place.start, diagnostic.code))
            self._diagnostics = found
        return self._diagnostics

    def findings(self, only: str = "") -> list[Diagnostic]:
        """What the rules of the frameworks find at the releases of the run, or, for `ERROR`, those that may give an error."""
        return self.attempt("the rules", lambda: self._without_consequences([inspect(config, only) for config in self.configs]), [])

    def judged(self, found: list[Diagnostic]) -> list[Diagnostic]:
        """Findings, each an error only if every allowed release gives it."""
        if all(diagnostic.code == INTERNAL or diagnostic.severity == INFO for diagnostic in found):
            return found
        from cfglint.run.allowed_releases import judged

        return self.attempt("the other allowed releases", lambda: judged(self, found), found)

    def findings_of(self, code: str) -> list[Diagnostic]:
        """What one rule finds at the releases of the run."""
        return self.attempt("the rules", lambda: self._found_by(code), [])

    def _found_by(self, code: str) -> list[Diagnostic]:
        """What one rule finds in all configs; the other rules of the consumer are only asked if their errors may be the cause of it."""
        found = [inspect(config, code) for config in self.configs]
        consumer, *others = found
        is_alone = len(self.documents) == 1 and all(override.place is None for override in self.configs[0].overridden.values())
        if not any(others) and (is_alone or all(map(is_early, consumer))):
            return consumer
        return self._without_consequences(found, inspect(self.configs[0], ERROR))

    def _without_consequences(self, found: list[list[Diagnostic]], of_consumer: list[Diagnostic] | None = None) -> list[Diagnostic]:
        """The diagnostics of each config; what follows from an error of the consumer, the first one, is not a second one."""
        refused = [*filter(is_early, found[0] if of_consumer is None else of_consumer)] if found else []
        causes: Causes = {}
        for cause in refused:
            for place in {at(cause.place), *(at(place) for place, _ in cause.related)}:
                causes.setdefault(place, []).append(cause)
        kept: list[Diagnostic] = []
        for number, of_config in enumerate(found):
            follows = uses if number else compares
            is_exempt = not refused or (number and self.configs[number].kind == LAUNCH)
            kept += of_config if is_exempt else [diagnostic for diagnostic in of_config if not follows(diagnostic, causes)]
        line = self.launch.line
        if line is None or not (line.call.lost or line.call.blanks):
            return kept
        from cfglint.launch.findings import without_consequences

        return without_consequences(line, kept)

    def at(self, target: dict[str, str]) -> CheckedRun:
        """The same run with other releases of some packages, of which only the places of the findings matter."""
        outside = {package: release for package, release in self.target.items() if package in self.given.outside}
        return RunAtOtherRelease(self.loaded, self.kinds, self.given.replace(target={**self.given.target, **outside, **target}))

    def with_facts(self, facts: LaunchFacts) -> CheckedRun:
        return CheckedRun(self.documents, self.kinds, facts)

    def _of_the_project(self) -> list[Diagnostic]:
        added: list[Diagnostic] = []
        if self.facts.expected_numbers or self.facts.policies:
            from cfglint.rules.project import inspect_run

            added = inspect_run(self)
        if self.facts.gpu_memory is not None:
            from cfglint.rules.memory import inspect_memory

            added = [*added, *inspect_memory(self)]
        return added

    def _of_comments(self, found: list[Diagnostic]) -> list[Diagnostic]:
        """Mark the findings that comments in the files suppress; return the diagnostics about comments that suppress nothing."""
        if not any(COMMENT_MARK in document.text for document in self.documents):
            return []
        from cfglint.project.suppression import suppress

        return suppress(self, found)

    @property
    def verdict(self) -> Verdict | None:
        """`accept` or `reject`: whether the framework would start training; None if unknown: it depends on the release or a branch."""
        if any(diagnostic.severity == ERROR for diagnostic in self.diagnostics):
            return "reject"
        is_outside = not self.answered.issuperset(self.outside)
        is_open = (
            any(diagnostic.code == INTERNAL for diagnostic in self.diagnostics)
            or is_outside
            or self.beyond_limits
            or self.undecided_releases
            or self.depends_on_processes
            or self.unmodelled
            or self.not_read
            or any(reason.kind == "branch" for diagnostic in self.diagnostics for reason in diagnostic.depends_on)
        )
        lacks_gpus = self.launch.line.lacks_gpus if self.launch.line is not None else ""
        return None if is_open or lacks_gpus else "accept"

    @property
    def depends_on_processes(self) -> bool:
        return any(config.depends_on_processes for config in self.configs)

    @property
    def unmodelled(self) -> str:
        """The unmodelled framework of a launch line, of which only the launcher is checked, or the name of the program; else empty."""
        launch, line = self.launch, self.launch.line
        if line is None or not self.configs or launch.is_main or takes_arguments(launch.consumer):
            return ""
        from cfglint.launch.training import unmodelled, unread_program

        return unmodelled(line) or (unread_program(line) if self.configs[0].kind == LAUNCH and launch.is_closed else "")

    @property
    def not_read(self) -> tuple[Reason, ...]:
        """What decides about the run and was not read."""
        if not self.configs:
            return self.launch.not_read
        launch, first = self.configs[0].facts.launch, self.configs[0].documents[0]
        if not first.rewritten and (launch.line is None or not first.missing):
            return launch.not_read
        from cfglint.evaluate import Reason
        from cfglint.launch.line import BY_SCRIPT

        names = dict.fromkeys(first.rewritten, "the program writes it")
        names |= {name: BY_SCRIPT for _, name in first.missing if launch.line is not None and launch.line.writes(name)}
        return launch.not_read + tuple(Reason("file", f"`{name}`", why) for name, why in names.items())

    @property
    def is_lone(self) -> bool:
        """Whether the run is files that no line, program or declaration starts, which are read as they are."""
        launch = self.launch
        is_alone = launch.program is None and launch.parser is None and not self.given.complete
        return launch.line is None and (launch.lacks_line or is_alone)

    @property
    def assumed(self) -> str:
        """What is assumed of the program of a launch line that was not read, because its arguments are names of the Trainer; else empty."""
        line, launch = self.launch.line, self.launch
        if line is None or line.program is None or not launch.is_closed or not self.configs:
            return ""
        if all(reason.kind == "file" for reason in launch.not_read) or not takes_arguments(self.configs[0].kind):
            return ""
        own = self.configs[0].framework
        whose = own.title if own.base else "the Trainer"
        program = f"`{line.program.string.rpartition('/')[2]}`" if line.program.known else "its program"
        return f"{program} takes the arguments of {whose}"

    @property
    def answered(self) -> set[str]:
        """The packages of which files of the project answer, although their releases are not modelled."""
        return {package for config in self.configs for package in config.answered}

    @property
    def undecided_releases(self) -> list[str]:
        """The packages of which some allowed releases refuse the run and others do not."""
        return [*dict.fromkeys(package for diagnostic in self.diagnostics for package in diagnostic.undecided_releases)]

    @property
    def bug_reports(self) -> list[str]:
        """The internal errors so far, one line each, for commands that show no findings."""
        diagnostics = [internal_error(doing, error, self.documents[0]) for doing, error in self.bugs]
        diagnostics += [diagnostic for diagnostic in self._diagnostics or [] if diagnostic.code == INTERNAL]
        return list(dict.fromkeys(f"{diagnostic.place.file}: {diagnostic.message}; {diagnostic.help}" for diagnostic in diagnostics))

    @property
    def beyond_limits(self) -> list[str]:
        """The files of the run that exceed a limit of cfglint, so that nothing is known about them."""
        found = [document.path for config in self.configs for document, problem in config.load_problems if problem.kind == LIMIT]
        return [*dict.fromkeys(found)]

    @property
    def outside(self) -> dict[str, str]:
        """The packages of the run whose requested release is not modelled, with that release; empty for the fork of a single file."""
        asked = [(package, config.facts.outside) for config in self.configs for package in (config.package, *config.framework.packages())]
        found = {package: outside[package] for package, outside in asked if package in outside}
        forks: list[str] = self.attempt("looking for a fork", lambda: [config.package for config in self.configs if config.is_for_fork], [])
        return {**found, **dict.fromkeys(forks, "")}

    @property
    def fails_at(self) -> Stage | None:
        stages = [diagnostic.fails_at for diagnostic in self.diagnostics if diagnostic.severity == ERROR and diagnostic.fails_at]
        return min(stages, key=STAGES.index) if stages else None

    def outcome(self) -> Outcome:
        """The run as plain values, without its documents; a bug of ours leaves nothing but its report."""
        try:
            # Computed first, because a bug found there belongs to the diagnostics.
            resolved, _ = self.resolved, self.outside
            target = self.attempt("the target", lambda: self.target, dict(self.facts.target))
            launch, extra = self.launch, self.launch.extra_files
            has_nodes = launch.line is not None or any(config.stated_size is not None for config in self.configs)
            return Outcome(
                [*(document.path for document in self.documents), *extra],
                [*self.kinds, *[OTHER] * len(extra)],
                target,
                self.facts.gpus,
                self.verdict,
                self.fails_at,
                resolved,
                self.diagnostics,
                self.attempt("the sources of the target", lambda: self.target_from, dict[str, str]()),
                own_consumer=self.configs[0].kind if self.configs else "",
                launch=launch.entry,
                alternative=launch.alternative,
                machine=launch.machine or launch.line is None,
                not_read=[
                    {"what": reason.what, "file": reason.file or None, "line": reason.line or None, "why": reason.why}
                    for reason in self.not_read
                ],
                unknown=launch.line.unknown if launch.line is not None else [],
                assumed=[self.assumed] if self.assumed else [],
                nodes=self._nodes() if has_nodes else None,
                resume=self.attempt("the checkpoint", self._resume, None),
                samples=self.facts.samples.entry() if self.facts.samples is not None else None,
                memory=self.attempt("the memory", self._said_of_memory, ""),
            )
        except Exception as error:
            bug = internal_error("the outcome of the run", error, self.documents[0])
            paths, unknown = [document.path for document in self.documents], dict.fromkeys(NUMBERS)
            return Outcome(paths, self.kinds, dict(self.facts.target), self.facts.gpus, None, None, unknown, [bug])

    def _said_of_memory(self) -> str:
        if self.facts.gpu_memory is None or not self.configs:
            return ""
        from cfglint.rules.memory import said_without_finding

        return said_without_finding(self)

    def _resume(self) -> ResumeEntry | None:
        resumption = self.configs[0].resumption if self.configs else None
        return resumption.entry() if resumption is not None else None

    def _nodes(self) -> int | None:
        size, line = self.size, self.launch.line
        if size is None and line is not None:
            return line.nodes or (1 if line.processes == 1 else None)
        return size.nodes if size is not None else None


class RunAtOtherRelease(CheckedRun):
    """A run of which only the places of the findings matter. The configs that the consumer's adds are loaded for rules about them."""

    def __init__(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> None:
        self.has_nested_configs = kinds[0] == LAUNCH
        super().__init__(documents, kinds, facts)
        for config in self.configs:
            config.without_remedies = True

    def nested_configs(self, consumer: Config) -> list[Config]:
        """The configs of a launch line; none of a file as yet."""
        return super().nested_configs(consumer) if self.has_nested_configs else []

    def findings(self, only: str = "") -> list[Diagnostic]:
        self.attempt("the nested configs", self._load_nested, None)
        return super().findings(only)

    def _found_by(self, code: str) -> list[Diagnostic]:
        if not all(
            rule.kinds and not any(framework(kind).is_engine or framework(kind).is_launcher for kind in rule.kinds)
            for rule in BY_CODE[code]
        ):
            self._load_nested()
        return super()._found_by(code)

    def _load_nested(self) -> None:
        if self.has_nested_configs:
            return
        self.has_nested_configs = True
        for config in self.nested_configs(self.configs[0]):
            config.without_remedies = True
            self.configs.append(config)


def is_early(each: Diagnostic) -> bool:
    """Whether a finding is an error before the files of a run are compared with each other."""
    return each.severity == ERROR and each.fails_at in EARLY


def compares(each: Diagnostic, causes: Causes) -> bool:
    """Whether a finding compares a value in another file with one that an earlier error refuses.

    A Trainer that refuses its own `fp16` and `bf16` never compares them with the DeepSpeed config, and the engine never gets them.
    """
    related = (cause for place, _ in each.related for cause in causes.get(at(place), ()))
    return not is_early(each) and any(each.place.file != cause.place.file for cause in related)


def uses(each: Diagnostic, causes: Causes) -> bool:
    """Whether a finding of the engine is about a value that the consumer refuses, and never passes on.

    Two keys that are missing in one section have the same place.
    """
    return any(each.key == cause.key or at(each.place) != at(cause.place) for cause in causes.get(at(each.place), ()))


def at(place: Place) -> tuple[str, int]:
    return place.file, place.start
