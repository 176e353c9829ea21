"""A training job: the documents that describe it, the facts of its launch, and the numbers that follow from them."""

from __future__ import annotations

import os

from cfglint.findings.setting import integer
from cfglint.frameworks import framework, learn, nearest_modelled
from cfglint.frameworks.base import Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.versions import is_likely
from cfglint.launch import Launch
from cfglint.launch.kinds import LAUNCH
from cfglint.source.annotations import Callable
from cfglint.source.document import Document, Part
from cfglint.source.record import changed
from cfglint.source.sections import every_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from cfglint.batch.nodes import Size
    from cfglint.findings.diagnostic import Ignore
    from cfglint.findings.setting import Batch, Layout
    from cfglint.frameworks.memory.estimate import RunMemory
    from cfglint.frameworks.training_data.samples import Samples

    Result = TypeVar("Result")

UNSTATED = "newest known"  # the source of a version that nothing states
OF_LINE = "the newest with the arguments of the line"
NUMBERS = tuple(
    """
    micro_batch accumulation data_parallel tensor_parallel pipeline_parallel context_parallel sequence_parallel global_batch
    consumed_batch seq_length tokens_per_step steps_per_epoch total_steps warmup_steps generation_batch_size steps_per_generation
    """.split()
)


class LoadedRun:
    """One training job, from its files and facts.

    `documents` and `kinds` have the same order, the consumer first. `configs` are the configs of the frameworks:
    the consumer's, then those that it adds. `bugs` are bugs in cfglint met on the way: (step, exception).
    """

    def __init__(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> None:
        self.documents, self.kinds = consumer_first(documents, kinds)
        self.loaded = self.documents  # of a template those with unknown values
        self.facts = facts = with_own_launch(self.documents, facts)
        self.given = facts  # before they were completed
        self.bugs: list[tuple[str, Exception]] = []
        self.configs: list[Config] = []
        self._memory: list[RunMemory | None] = []  # the only one, once it is asked for
        self.unused_ignores: list[Ignore] = []  # comments that suppress nothing, set after the rules have run
        try:
            consumer = framework(self.kinds[0])
            self.facts = consumer.completed(launched(self.documents, self.kinds, modelled(facts, self.documents[0].path)))
            config = self._with_samples(consumer.config(self.documents, self.kinds, self.facts))
            self.configs = [config, *self.nested_configs(config)]
            if config.own_size is not None:
                self.facts = self.facts.replace(gpus=config.own_size.processes)
            if self.kinds[0] == LAUNCH and config.kind != LAUNCH:
                from cfglint.frameworks.launch.config import LaunchConfig

                line = LaunchConfig(self.documents, self.facts, self.kinds)
                self.configs += [line, *line.nested_configs()]
        except Exception as error:
            self.bugs.append((f"reading {self.kinds[0]}", error))

    def _with_samples(self, config: Config) -> Config:
        """The consumer's config with the training samples, if their number is not given and their files are in the project."""
        samples: Samples | None = None
        if self.facts.num_examples is None and config.names_data:
            samples = self.attempt("counting the samples", lambda: config.part("samples", None), None)
        if samples is None:
            return config
        self.facts = self.facts.replace(samples=samples)
        if samples.certain:
            self.facts = self.facts.replace(num_examples=samples.count, examples_source=samples.source)
        return framework(self.kinds[0]).config(self.documents, self.kinds, self.facts)

    def nested_configs(self, consumer: Config) -> list[Config]:
        return consumer.nested_configs()

    @property
    def size(self) -> Size | None:
        """The nodes of a launch and the processes on each: those of its line, else of a config; None if they are unknown."""
        line = self.launch.line
        size = self.configs[0].own_size if self.configs else None
        if size is not None or line is None:
            return size or next((config.stated_size for config in self.configs if config.stated_size is not None), None)
        if line.gpus_per_node is None or line.nodes is None:
            return None
        from cfglint.batch.nodes import Size

        return Size(line.gpus_per_node, line.nodes)

    @property
    def launch(self) -> Launch:
        return self.facts.launch

    @property
    def paths(self) -> set[str]:
        """The paths of all files that an edit of the run may change."""
        return {document.path for document in every_document(self.documents)}

    @property
    def read_paths(self) -> set[str]:
        """The paths of all files that the run depends on: also the modules of its program, and the scripts of its launch line."""
        line, program = self.launch.line, self.launch.parser
        scripts = [line.script_path, *line.sourced] if line is not None else []
        modules = [program.path, *(program_module.path for program_module in program.modules.known())] if program is not None else []
        return {
            *self.paths,
            *scripts,
            *modules,
            *(path for document in self.documents if isinstance(document, Part) for path in document.files),
        }

    @property
    def written_at(self) -> str:
        """The place that selects the run on a command line: its first file, with a launch's line; of an engine's config its program."""
        line = self.launch.line
        if line is not None and self.facts.relaunched is not None:
            return f"{line.call.path}:{line.call.line}"
        first = self.documents[0]
        if line is None and self.launch.parser is not None and not first.is_call:
            return self.launch.parser.path
        return f"{first.path}:{self.line}" if isinstance(first, Part) and first.others else first.path

    @property
    def full_place(self) -> str:
        """The place of the run, and that of the command that starts its script."""
        caller = self.launch.line.call.called_from if self.launch.line is not None else None
        return f"{self.written_at} (started by {caller[0]}:{caller[1]})" if caller else self.written_at

    @property
    def line(self) -> int:
        """The line of the command or call that starts the run; 1 for files."""
        document, entry = self.documents[0], self.launch.entry
        return entry["line"] if entry is not None else document.position(document.roots[0].start)[0] if document.roots else 1

    def attempt(self, doing: str, step: Callable[[], Result], otherwise: Result) -> Result:
        """The result of a step; `otherwise` if it raises, which the diagnostics report as a bug in cfglint."""
        try:
            return step()
        except Exception as error:
            self.bugs.append((doing, error))
            return otherwise

    @property
    def batch(self) -> Batch | None:
        try:
            return self.configs[0].batch if self.configs else None
        except Exception as error:
            self.bugs.append(("resolving the batch", error))
            self.configs = []
            return None

    @property
    def memory(self) -> RunMemory | None:
        """The memory that the run needs on each GPU; None if the shape of its model is unknown."""
        if not self._memory:
            from cfglint.frameworks.memory.estimate import memory_of

            self._memory.append(memory_of(self.configs[0]) if self.configs else None)
        return self._memory[0]

    @property
    def consumer_facts(self) -> LaunchFacts:
        """The facts as the framework of the run completed them: it may pin the packages that it uses, or bound them."""
        return self.configs[0].facts if self.configs else self.facts

    @property
    def target(self) -> dict[str, str]:
        """The package versions that the prediction is for."""
        target: dict[str, str] = {}
        chosen = self.consumer_facts.target
        for kind in dict.fromkeys([*self.kinds, *(config.kind for config in self.configs)]):
            for package, newest in framework(kind).packages().items():
                target[package] = chosen.get(package, newest)
        for package in self.configs[0].asked_packages if self.configs else ():
            if package in chosen:
                target[package] = chosen[package]
        return target

    @property
    def target_from(self) -> dict[str, str]:
        """Where the version of each package comes from: `--target`, a file, another package, nothing; with the request if not modelled."""
        target, facts, given = self.target, self.consumer_facts, self.given
        deciding = next((package for package in target if package in given.target), next(iter(target), ""))
        origins: dict[str, str] = {}
        for package, version in target.items():
            requested, is_newest = facts.outside.get(package), RELEASES.get(package, version) == version
            is_given = package in given.target and package not in given.outside
            source = given.target_from.get(package, "--target" if is_given else "")
            if requested and requested != version:
                says = f"{source}{', so ' if ' says ' in source else ' says ' if source else ''}{requested}"
                origins[package] = says if is_likely(requested, version) else f"{says}, nearest modelled"
            elif source or (package not in facts.target and is_newest):
                origins[package] = source or UNSTATED
            elif deciding != package:
                requires = next((own.packages() for own in map(framework, self.kinds) if own.package == package), {})
                origins[package] = f"{'matching' if deciding in requires else 'required by'} {deciding} {target[deciding]}"
            else:
                origins[package] = UNSTATED if RELEASES.get(package) == version else OF_LINE
        return origins

    @property
    def resolved(self) -> dict[str, int | None]:
        """The numbers that the framework computes from the files, with None for an unknown one."""
        numbers: dict[str, int | None] = dict.fromkeys(NUMBERS)
        batch = self.batch
        if batch is None or any(document is self.documents[0] for document, _ in self.configs[0].fatal_problems):
            return numbers
        layout: Layout = batch.layout
        numbers.update(
            micro_batch=batch.micro_batch.integer,
            accumulation=batch.accumulation.integer,
            data_parallel=batch.data_parallel.integer,
            tensor_parallel=layout.tensor_parallel,
            pipeline_parallel=layout.pipeline_parallel,
            context_parallel=layout.context_parallel,
            sequence_parallel=layout.sequence_parallel,
            global_batch=batch.global_batch.integer,
            consumed_batch=integer(batch.consumed_batch),
        )
        try:
            numbers.update(self.configs[0].numbers())
        except Exception as error:
            self.bugs.append(("counting steps", error))
            self.configs = []
        if numbers["consumed_batch"] and numbers["seq_length"]:
            numbers["tokens_per_step"] = numbers["consumed_batch"] * numbers["seq_length"]
        return numbers


def with_own_launch(documents: list[Document], facts: LaunchFacts) -> LaunchFacts:
    """The facts with the launch of the script, or the program of a call, that the documents are: they may be other versions of these."""
    if facts.again is not None and documents[0] is not facts.launch.command:
        from cfglint.source.shell.command import CommandDocument

        command = documents[0]
        assert isinstance(command, CommandDocument)
        facts = facts.started_by(facts.again(command.text))
        facts = facts.replace(launch=changed(facts.launch, command=command))
    if not any(document.is_call for document in documents):
        return facts
    from cfglint.launch.program import ProgramCall

    program = next((document.program for document in documents if isinstance(document, ProgramCall) and document.program is not None), None)
    return facts if program is None else facts.replace(launch=changed(facts.launch, program=program, code=program))


def consumer_first(documents: list[Document], kinds: list[str]) -> tuple[list[Document], list[str]]:
    """The files in order, with those of a launcher after those of the script: the script is the consumer of the run."""
    if len(kinds) == 1 or kinds[0] == LAUNCH or not framework(kinds[0]).is_launcher:
        return documents, kinds
    # Files that consume a run come first, then those that they name, then a launcher's.
    order = [2 if framework(kind).is_launcher else int(framework(kind).can_be_referenced) for kind in kinds]
    if 0 not in order:
        return documents, kinds
    places = sorted(range(len(kinds)), key=order.__getitem__)
    return [documents[place] for place in places], [kinds[place] for place in places]


def launched(documents: list[Document], kinds: list[str], facts: LaunchFacts) -> LaunchFacts:
    """The facts with the GPUs of a launcher's config, if no number is specified."""
    if facts.gpus is not None or kinds[0] == LAUNCH:
        return facts
    for document, kind in zip(documents, kinds, strict=True):
        found = framework(kind).launched_gpus(document, facts if document is documents[0] else facts.replace(overrides=()))
        if found is not None:
            return facts.replace(gpus=found[0], gpus_source=found[1])
    return facts


def modelled(facts: LaunchFacts, path: str) -> LaunchFacts:
    """The facts with the nearest modelled release in place of an unmodelled one; `outside` keeps the requested release.

    An unmodelled release whose source is installed, or in the checkout of the file, stays the target: its fields are those of the source.
    """
    nearest = {package: nearest_modelled(package, version) for package, version in facts.target.items()}
    other = {package: release for package, release in nearest.items() if release is not None}
    if not other:
        return facts
    from cfglint.project.installed import PLACES, folders, may_open

    asked = {package: facts.target[package] for package in other}
    for package, version in asked.items():
        own = [os.path.join(facts.copies[package], place) for place in PLACES] if package in facts.copies else []
        sources = (*own, *folders(package, version, path, facts.installed))
        if any(learn(package, version, folder, may_open) for folder in sources):
            other[package] = version
    return facts.replace(target={**facts.target, **other}, outside={**asked, **facts.outside})
