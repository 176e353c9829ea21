"""The facts about a run that are not in its files: what the user said, and how the run is started."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.launch import NO_LAUNCH, Launch
from cfglint.source.annotations import Callable, ConfigMapping, Iterable, Mapping, Operand
from cfglint.source.document import Document, Path
from cfglint.source.record import Record, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cfglint.batch.cards import Card
    from cfglint.batch.nodes import Size
    from cfglint.frameworks.memory.inputs import Model
    from cfglint.frameworks.training_data.samples import Samples
    from cfglint.launch.overrides import Override

    class AnyViolation(Protocol):
        """A value that a policy schema does not allow."""

        path: Path
        message: str

    class Policies(Protocol):
        """The policy schemas of a project."""

        def violations(self, kind: str, values: ConfigMapping) -> Iterable[AnyViolation]:
            """The values of a config of this kind that the schemas do not allow."""


NOTHING: Mapping[str, Operand] = {}


class LaunchFacts(Record):
    """The facts about a run that are not in its files: what the user said, and how the run is started.

    `gpus` is the number of GPUs of the launch, one process each; None if unknown. `complete`: the files are the whole run.
    `kind_given`: the user specified the kind of the files. `target` maps a package to its version as a string, `target_from` to the
    file of the repository that it was found in. `bounds` has the specifiers of a package whose release is not known, any of which may
    hold; `target` then has the newest release that they allow. `outside` maps a package to the requested version if it lies outside the
    modelled releases (`target` then has the nearest of these); `outside_from` has the source and the file that a repository states for it.
    `pinned` has (release, file) of further packages that those of the run require, where a file states one.
    `copies` maps a package to the folder from which the program imports a copy of it, because the launch puts it first on its path.
    `forks` are the distributions of `cfglint.frameworks.FORKS` that the project states.
    `expected_numbers` are numbers of `Run.resolved` that the project requires; `policies` are its own schemas. `model` is the model's
    shape, `card` the card that the run is for, `gpu_memory` the memory of a card in GiB, `seq_length` the tokens per row if the files
    do not set it. `trainer` is the TRL trainer that the script builds, None if it is not specified. `nodes` is the number of machines
    if the launch line leaves it open, `environment` the shell variables of its script. `arguments` are those given with --args.
    `resume` is the checkpoint that the user says the run continues from. `samples` are the rows of local data files, which are
    `num_examples` where that is certain; `count_data`: large ones are counted, too. `here`: the launch is to start on this
    machine now, with its GPUs and its environment. `launch` is what was read of the launch: its line, its program, and whose arguments
    these are; `again` gives the run of another version of the script, `relaunched` that with other contents of some files, on machines
    of this size.
    """

    gpus: int | None = None
    num_examples: int | None = None
    target: Mapping[str, str] = NOTHING
    complete: bool = False
    kind_given: bool = False
    strict_keys: bool = False
    overrides: tuple[Override, ...] = ()
    from_gpus: int | None = None
    gpus_source: str = "--gpus"
    expected_numbers: Mapping[str, int] = NOTHING
    policies: Policies | None = None
    target_from: Mapping[str, str] = NOTHING
    bounds: Mapping[str, tuple[str, ...]] = NOTHING
    nodes: int | None = None
    environment: tuple[tuple[str, str], ...] = ()
    outside: Mapping[str, str] = NOTHING
    outside_from: Mapping[str, tuple[str, str]] = NOTHING
    pinned: Mapping[str, tuple[str, str]] = NOTHING
    copies: Mapping[str, str] = NOTHING
    forks: tuple[str, ...] = ()
    model: Model | None = None
    card: Card | None = None
    gpu_memory: float | None = None
    seq_length: int | None = None
    trainer: str | None = None
    arguments: str = ""
    examples_source: str = "--num-examples"
    installed: bool = False
    resume: str | None = None
    samples: Samples | None = None
    count_data: bool = False
    here: bool = False
    launch: Launch = NO_LAUNCH
    again: Callable[[str], Launched] | None = None
    relaunched: Callable[[Mapping[str, str], Size | None], Launched] | None = None

    def started_by(self, run: Launched) -> LaunchFacts:
        """The same facts with the launch of another version of the run."""
        facts = run.facts
        return self.replace(launch=run.launch, again=facts.again, relaunched=facts.relaunched, overrides=facts.overrides)

    def version(self, package: str, newest: str) -> Version:
        """The target release of a package as three or more numbers; the newest known release if none is specified."""
        version = parse_version(self.target.get(package, newest))
        return version + (0,) * (3 - len(version))  # 5.0 is 5.0.0

    def is_known(self, package: str) -> bool:
        """Whether the release of a package is stated, and not merely a bound or nothing."""
        return package in self.target and package not in self.bounds

    def within(self, accepted: Mapping[str, str]) -> LaunchFacts:
        """The same facts with the newest library releases that a framework accepts, where the project states none or allows these."""

        def is_capped(package: str, version: str) -> bool:
            if package not in self.bounds or parse_version(self.target[package]) <= parse_version(version):
                return False
            from cfglint.frameworks.releases.bounds import allows

            return any(allows(spec, version) for spec in self.bounds[package])

        capped = {package: version for package, version in accepted.items() if package not in self.target or is_capped(package, version)}
        return self.replace(target={**self.target, **capped})

    @property
    def counted(self) -> tuple[Reason, ...]:
        """The files whose rows are the number of samples, if nobody stated it: they may be others where the run starts."""
        samples = self.samples
        if samples is None or not samples.certain or not samples.files:
            return ()

        return (Reason("file", f"`{samples.files[0]}`", "its rows were counted here", samples.files[0]),)

    def on_card(self, name: str | None, memory: float | None = None) -> LaunchFacts:
        """The same facts with a card by its name, and the memory of a GPU, where neither is known yet; a card has its memory."""
        if not name and memory is None:
            return self
        from cfglint.batch.cards import card, memory_of

        found = card(name) if name else None
        memory = memory or (memory_of(found) if found is not None else None)
        return self.replace(card=self.card or found, gpu_memory=self.gpu_memory or memory)

    def replace(self, **changes: object) -> LaunchFacts:
        return changed(self, **changes)


class Launched(Record):
    """The parts of a run that a launch starts: documents and kinds, the command or call first, and the facts with the launch."""

    documents: list[Document]
    kinds: list[str]
    facts: LaunchFacts

    @property
    def launch(self) -> Launch:
        return self.facts.launch
