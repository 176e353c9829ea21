"""The interface of a framework: how its files are recognised, parsed and combined, and the config and batch computed from them."""

from __future__ import annotations

from sys import modules

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.releases import Releases
from cfglint.findings.rule import BY_CODE, KEY, Finding, Rule, pages_of_checks, rule
from cfglint.findings.setting import DEFAULT, OVERRIDE, WRITTEN, Batch, Setting
from cfglint.findings.vocabulary import Kind, Stage
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.history import History, Row, Span
from cfglint.frameworks.releases.versions import Version, current_name, dotted
from cfglint.launch import Launch
from cfglint.source.annotations import Any, Callable, Collection, Iterator, Mapping, Sequence, Syntax
from cfglint.source.document import Document, Path, Problem
from cfglint.source.files import states, syntax_by_name
from cfglint.source.loaders import STRICT_JSON, YAML11, Loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from cfglint.batch.nodes import Size
    from cfglint.batch.solver import SplitRule
    from cfglint.frameworks.resumption import Resumption
    from cfglint.frameworks.summary import Summary
    from cfglint.launch.kinds import FieldSpan
    from cfglint.launch.line import LaunchLine
    from cfglint.launch.overrides import Override

    Part = TypeVar("Part")


REST_OF_RUN = Reason("file", "the rest of the run", "with `--run` the files are all of it")
FORK_KEYS = 3  # with this many unknown keys an undeclared file is assumed to be written for a fork

NO_MATCH = 0
MAYBE = 1
CERTAIN = 2


class Config:
    """The config of one framework: the values of its files as its parser loads them, and the values computed from them.

    `documents` are the files in the order in which the framework loads them, `kinds` their kinds; `values` is the mapping that
    its code works on. `owner` maps a top-level key to the document that contains it, if that is not the
    first. `load_problems` are reasons why the framework could not load a file: (document, problem).
    `mismatched_keys` are the keys whose values the trainer rejects before it passes them on, so that the framework
    never uses them.
    """

    framework: Framework
    mismatched_keys: Collection[str] = ()
    without_remedies = False  # whether it only matters which findings there are, as at another release than the one that is shown
    chooses_sizes = False  # whether `Framework.choose_sizes` finds the values that reach a target
    assumed: Collection[str] = ()  # the keys whose values follow from an assumption
    answered: Collection[str] = ()  # the packages for whose release, which is not modelled, files of the project itself answer
    sole_consumer = False  # whether the kind's own parser is the only one for such files
    depends_on_processes = False  # whether its checks refuse some numbers of processes and accept others, and theirs is not known
    insertable_auto: Collection[str] = ()  # roles of `batch_keys` whose missing key may be added as "auto", for its consumer to fill
    has_dotted_options = False  # whether options of its line have dots in their names: `--ds.zero_stage`
    gpus_key = ""  # the key that sets the number of GPUs, if that is not one of `batch_keys`
    obsolete_batch_keys: dict[str, str] = {}  # role of `batch_keys` -> an obsolete key that a new batch replaces
    batch_keys: dict[str, str] = {}  # micro_batch, accumulation, global_batch, gpus -> the framework's key, dotted in a section

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        self.documents = documents
        self.facts = facts
        self.kinds = kinds
        self.values: dict[Any, Any] = {}
        self.owner: dict[Any, Document] = {}
        self.load_problems: list[tuple[Document, Problem]] = []
        self.overridden: dict[Path, Override] = {}  # what the launch line or the program gives a path; the last one counts
        self.plain_scalars: list[Setting] | None = None  # cached for the rules about scalars
        self._batch: Batch | None = None
        self._resumption: list[Resumption | None] = []  # cached: the only one
        self._refusals: list[Refusal] | None = None
        self._for_fork: bool | None = None

    @property
    def kind(self) -> Kind:
        return self.framework.kind

    @property
    def package(self) -> str:
        return self.framework.package

    @property
    def parts(self) -> dict[str, str]:
        """The functions that compute something from the config, by what they compute; see `Framework.parts`."""
        return self.framework.parts

    @property
    def asked_packages(self) -> Collection[str]:
        """Further packages, beyond those of the kinds, whose release matters here if it is specified."""
        return ()

    @property
    def fatal_problems(self) -> list[tuple[Document, Problem]]:
        """The load problems that every common parser of such a file has."""
        return [(document, problem) for document, problem in self.load_problems if not problem.only_here]

    @property
    def version(self) -> Version:
        return self.facts.version(self.package, self.framework.newest)

    def opens(self, path: Path) -> bool:
        """Whether the framework opens the file that the key at a path names."""
        return True

    @property
    def own_size(self) -> Size | None:
        """The GPUs of each node, and the nodes, that the config itself sets, whatever the launch offers; None if it does not set them."""
        return None

    @property
    def stated_size(self) -> Size | None:
        return self.own_size

    @property
    def release(self) -> str:
        """The package with its version: `transformers 5.23.0`."""
        version = self.facts.target.get(self.package, self.framework.newest) or dotted(self.version)
        return f"{self.package} {version}"

    @property
    def batch(self) -> Batch:
        if self._batch is None:
            self._batch = imported(self.parts["batch"])(self)
        return self._batch

    def numbers(self) -> dict[str, int | None]:
        """The numbers that the run resolves to beyond the batch: `seq_length`, `steps_per_epoch`, `total_steps`, `warmup_steps`."""
        return self.part("numbers", {})

    @property
    def composed_of(self) -> list[str]:
        """The paths of the files that its values are composed of, which are no documents of the run."""
        return []

    @property
    def names_data(self) -> bool:
        """Whether the run may name data files, so that it is worth looking for them."""
        return "samples" in self.parts

    @property
    def may_resume(self) -> bool:
        """Whether the run may continue from a checkpoint, so that it is worth looking for one."""
        return "resumption" in self.parts and self.facts.resume is not None

    @property
    def resumption(self) -> Resumption | None:
        """The checkpoint that the run continues from, and what comes of that; None if it starts at the beginning, or is not known to."""
        if not self.may_resume:
            return None
        if not self._resumption:
            self._resumption.append(self.part("resumption", None))
        return self._resumption[0]

    def part(self, name: str, otherwise: Part, *more: object) -> Part:
        """What the function that `parts` names computes from the config; the given value if there is none."""
        found: Part = imported(self.parts[name])(self, *more) if name in self.parts else otherwise
        return found

    @property
    def further_rules(self) -> tuple[str, ...]:
        """The modules of rules that only some runs need, and this one does: about its adapter, its card, checkpoints, and its program."""
        launch = self.facts.launch
        has_code = launch.code is not None or launch.program is not None
        needed = {"adapters": self.has_adapter, "card": self.facts.card is not None, "resuming": self.may_resume}
        needed["passed_objects"] = launch.passed is not None
        needed["program_code"] = has_code
        return tuple(name for name, needs in needed.items() if needs)

    @property
    def has_adapter(self) -> bool:
        """Whether the model may have an adapter, or be quantised."""
        return False

    @property
    def refusals(self) -> list[Refusal]:
        """What the framework refuses while it builds its objects of the config, but for the batch, in the order of a run."""
        if self._refusals is None:
            self._refusals = [*self.part("refusals", ())]
        return self._refusals

    def unknown_keys(self) -> list[str]:
        """The keys that the framework, and the project's own copy of it, refuse as unknown; empty if it accepts every key."""
        return self.part("unknown_keys", [])

    def has_keys_of_fork(self) -> bool:
        return len(self.unknown_keys()) >= FORK_KEYS

    @property
    def is_for_fork(self) -> bool:
        """Whether an undeclared file has so many unknown keys that it was probably written for a fork."""
        if self._for_fork is None:
            undeclared = not (self.facts.complete or self.facts.kind_given)
            self._for_fork = undeclared and self.has_keys_of_fork()
        return self._for_fork

    def outside(self, *packages: str) -> Iterator[Reason]:
        """The releases of some packages that are requested and not modelled."""
        for package in packages:
            if package in self.facts.outside:
                yield Reason("release", f"{package} {self.facts.outside[package]}", "it is not modelled")

    @property
    def fork(self) -> tuple[Reason, ...]:
        """The fork that an undeclared file was probably written for."""
        return (Reason("release", f"the fork of {self.framework.title} that the file may be written for"),) if self.is_for_fork else ()

    def unmodelled(self, rule: Rule) -> tuple[Reason, ...]:
        """The releases and forks that are not modelled, and that a finding of the rule is about.

        What a rule of the kind that this one extends says is raised by the package of that kind. It hangs on that one alone where the
        fields are those of subclasses of its classes, and on both where other code builds its arguments.
        """
        is_of_base = self.framework.base in rule.kinds and self.kind not in rule.kinds
        own = () if is_of_base and self.framework.argument_classes() else (self.package,)
        base = self.base_packages if is_of_base or rule.about == KEY else ()
        return (*self.outside(*own, *base), *self.fork)

    @property
    def base_packages(self) -> tuple[str, ...]:
        """The package of the kind that this one extends, if it extends one."""
        return (imported(f"{self.framework.base}.FRAMEWORK").package,) if self.framework.base else ()

    def blamed(self, setting: Setting) -> Setting:
        """The setting that is the cause of a finding about another setting."""
        return setting

    def may_build_own_trainer(self) -> bool:
        """Whether the program may build another trainer than the framework's, so that checks of that one may not run."""
        return self.facts.launch.program is not None and self.facts.launch.program.own_trainer

    @property
    def own_samples(self) -> str:
        """The method of the program's trainer that may take other samples in an epoch than each of the training set once."""
        program = self.facts.launch.code or self.facts.launch.program
        return program.own_samples if program is not None else ""

    @property
    def other_parsers(self) -> tuple[Reason, ...]:
        """The parser of the files, if it may be another than that of the kind."""
        return () if self.facts.kind_given or self.sole_consumer else (Reason("program", "the parser of the file", "`--kind` names it"),)

    @property
    def rest(self) -> tuple[Reason, ...]:
        """The rest of the run, if the files may be only a part of it: another file, the launch line, or an object passed in code."""
        return () if self.facts.complete else (REST_OF_RUN,)

    def absent(self, *path: str | int) -> Setting:
        """A key that the files lack; its value is not known while the rest of the run may set it."""
        setting = self.setting(*path)
        if self.rest:
            setting.value = Unknown(*self.rest)
        return setting

    def unset(self, *names: str) -> tuple[Reason, ...]:
        """Those of some fields that the files do not set, if they may be only a part of the run: the command line may set them."""
        missing = () if self.facts.complete else filter(lambda name: not self.sets(name), names)
        return tuple(Reason("argument", f"`{name}`", "the file does not set it") for name in missing)

    def sets(self, name: str) -> bool:
        return name in self.values

    @property
    def other_defaults(self) -> tuple[Reason, ...]:
        """What may set another default for a field than the framework's class: the caller or the program of a launch line."""
        program = self.facts.launch.program
        if self.facts.launch.further:
            return self.facts.launch.further
        is_known = not self.documents[0].is_command or (program is not None and program.exact)
        return () if is_known else (Reason("program", "the defaults of the program"),)

    def reaches(self, rule: Rule, finding: Finding) -> bool:
        return True

    def failure_stage(self, fails_at: Stage | None) -> Stage | None:
        """The stage at which a run fails if its framework fails at the given stage; a trainer reaches DeepSpeed's stages later."""
        return fails_at

    def account(self) -> Summary:
        summary: Summary = imported(self.parts["account"])(self)
        return summary

    def split_rule(self) -> SplitRule | None:
        """The requirements of this framework on micro batch and accumulation beyond their product; None if it has none."""
        return self.part("split_rule", None)

    def nested_configs(self) -> list[Config]:
        """Configs of other kinds that this one adds to the run, such as a DeepSpeed file that a trainer names."""
        return []

    def has_field(self, key: str) -> bool:
        """Whether the framework has a field of this name; true if that is unknown."""
        return True

    def knows(self, key: str) -> bool:
        """Whether the value of a field is known, be it written or a default."""
        return True

    @property
    def has_unknown(self) -> bool:
        """Whether a field has a default that is not known."""
        return not self.facts.launch.is_closed

    def lacks_field(self, key: str) -> bool:
        """Whether other releases of the framework have a field of this name, and the targeted one has not."""
        return False

    def reads(self, key: str) -> bool:
        """Whether the value of a top-level key has any effect on the run; true if that is unknown."""
        return True

    def get(self, *path: str | int, default: object = None) -> Any:
        """The value at a path as the framework sees it; the default if there is none."""
        value: Any = self.values
        for step in path:
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                renamed = self.renamed(path)
                return self.get(*renamed, default=default) if renamed != path else default
        return value

    def renamed(self, path: Path) -> Path:
        """A path with the names that renamed fields have in the targeted releases."""
        if not RENAMED:
            return path
        packages = {self.package: self.framework.newest, **self.framework.packages()}
        releases = {package: self.facts.version(package, newest) for package, newest in packages.items()}
        return tuple(current_name(step, releases) if isinstance(step, str) else step for step in path)

    def has(self, *path: str | int) -> bool:
        """Whether there is a value at a path, null included."""
        return self.get(*path, default=Config) is not Config

    def default(self, path: Path, missing: object) -> Any:
        """The default of a key in the targeted release; `missing` if it is unknown, or if there is none."""
        from cfglint.frameworks.validation.schema import load

        try:
            known = load(self.kind).lookup(tuple(map(str, path)))
        except FileNotFoundError:  # a kind without a schema
            return missing
        return known.default_at(self.version) if known is not None and known.has_default else missing

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
        """The value at a path, or the default of a missing key, whose place is its nearest parent or the start of the file."""
        if RENAMED and path not in self.overridden and self.document_of(path[0] if path else "").find(path)[1] is None:
            path = self.renamed(path)
        document = self.document_of(path[0]) if path else self.documents[0]
        override = self.overridden.get(path)
        if override is not None:
            found = Setting(path, self.get(*path), OVERRIDE, document, None, None, str(override))
            if override.place is not None:
                script, value_node = found.document, found.node = override.place
                found.because, found.elsewhere = f"{script.path}:{script.position(value_node.start)[0]}", override.argument
            found.is_late = override.is_late
            return found
        if self.has(*path):
            key_node, node = document.find(path)
            found = Setting(path, self.get(*path), WRITTEN, document, node, key_node, because)
            found.elsewhere = document.elsewhere.get(str(path[0])) if len(path) == 1 else None
            return found
        parent = path
        while parent:
            parent = parent[:-1]
            key_node, node = document.find(parent)
            if node is not None:
                found = Setting(path, value, DEFAULT, document, node if parent else None, key_node, because or "default")
                found.elsewhere = document.default_of(path)
                return found
        return Setting(path, value, DEFAULT, document, None, None, because or "default")

    def launched_with(self, values: dict[Any, Any]) -> dict[Any, Any]:
        return self.laid_over(values, self.facts.overrides)

    def laid_over(self, values: dict[Any, Any], overrides: tuple[Override, ...]) -> dict[Any, Any]:
        if not overrides:
            return values
        from cfglint.launch.overrides import put

        laid = dict(values)
        for override in overrides:
            path = tuple(override.key.split("."))
            value = override.values[0] if override.values else self.override_value(override)
            put(laid, path, value if override.unknown is None else override.unknown)
            self.overridden[path] = override
        return laid

    def override_value(self, override: Override) -> Any:
        """The value that an override on the launch line gives to its key."""
        from cfglint.launch.overrides import by_omegaconf

        return by_omegaconf(override)

    def document_of(self, key: str | int) -> Document:
        return self.owner.get(key, self.documents[0])


# kind, release -> the folder whose source was read, the states of its files, whether they were understood
_learned: dict[tuple[str, Version], tuple[str, dict[str, tuple[int, int]], bool]] = {}
_places: dict[str, tuple[Any, str]] = {}  # `folder.module.name` -> the module, the name


def imported(place: str) -> Any:
    """The function or table `folder.module.name` of a framework, whose module is imported for it."""
    if place not in _places:
        module, _, name = place.rpartition(".")
        module = f"cfglint.frameworks.{module}"
        _places[place] = modules.get(module) or __import__(module, fromlist=[name]), name
    return getattr(*_places[place])


class Framework:
    """A kind of file: recognises it and creates a Config from it. Each folder has one instance, named FRAMEWORK."""

    kind: Kind
    title = ""
    package = ""
    newest = ""
    repository_owners: tuple[str, ...] = ()  # the owners of its official repositories on GitHub, in lower case
    former_packages: tuple[str, ...] = ()  # earlier names of the package and its folder
    source_folder = ""  # the folder of its code in its repository, where that is not named like the package
    source_paths: tuple[str, ...] = ()  # parts of the paths of its own code in a traceback, if its runs pass through other frameworks
    release_parts = 2  # how many numbers of a version decide whether it lies between the modelled releases
    oldest = ""  # the first modelled release; empty where only the newest is modelled
    is_engine = False  # whether it parses its file itself in runs of other frameworks, regardless of the program's arguments
    can_be_referenced = False  # whether files of another kind may name a file of this kind
    base = ""  # the kind whose rules apply to this one too: its config is a subclass of that kind's
    replaced_rules: Collection[str] = ()  # codes of such rules that rules of this kind replace
    no_generator = ""  # why `cfglint new` does not generate files of this kind; empty where it does
    trainers: tuple[str, ...] = ()  # the trainers that a program can build from a file, if the meaning of the file depends on it
    line_names: frozenset[str] = frozenset()  # arguments that no other framework has: three of them on a line tell whose it is
    telling_keys: frozenset[str] = frozenset()  # `detect` and `related_tool` need one of these keys; `_` for each `-`
    is_launcher = False  # whether files of this kind start a run that a file of another kind describes
    parses_command = False  # whether it parses the arguments of a command by rules of its own: files by name, lists of words
    programs: Collection[str] = ()  # modules of its package that take their whole config from the arguments of a line
    scripts: tuple[str, ...] = ()  # the files of such modules, by which a line may start them
    takes_overrides = False  # whether these arguments are Hydra's overrides
    only_syntax: Syntax | None = None  # the syntax in which it parses every file, whatever its name
    reads_arguments = False  # whether arguments of a launch line override the file that the line names
    rule_families: dict[str, str] = {}  # the prefixes of the codes of its rules -> the title in the manual
    file_match: tuple[str, ...] = ()  # patterns of file names by which an editor chooses the schema
    parts: dict[str, str] = {}  # functions and tables of the folder by their purpose, imported when needed
    history_tables: tuple[str, ...] = ()  # the fields of the package through its releases, as far as they are modelled
    rules = ""  # the modules of `rules` in its folder, or by their places in other folders, which register its rules
    further_rules = ""  # those of them that only some runs need: `Config.further_rules` says which

    def part(self, name: str, otherwise: Part) -> Part:
        """The function or table that `parts` names; else the given one."""
        found: Part = imported(self.parts[name]) if name in self.parts else otherwise
        return found

    def detect(self, document: Document) -> int:
        """NO_MATCH, MAYBE (looks like it) or CERTAIN, by keys and name; must be fast, because it is called for every file of a folder."""
        raise NotImplementedError

    def may_be(self, names: list[str], path: str) -> bool:
        """Whether `detect` or `related_tool` may recognise a file of this path and these top-level keys; else it is not parsed further."""
        return True

    def has_typical_name(self, path: str) -> bool:
        """Whether `detect` may recognise a file with this path without any of `telling_keys`."""
        return False

    def related_tool(self, document: Document) -> str | None:
        """The name of an unsupported tool that this file belongs to, if this framework recognises it."""
        return None

    def runs(self, line: LaunchLine) -> bool:
        """Whether a line runs one of the modules of this framework that are fed by arguments alone."""
        return line.module and line.program is not None and line.program.string in self.programs

    def takes(self, launch: Launch) -> bool:
        """Whether the arguments of a launch are those of this framework, so that they are a config without a file."""
        line = launch.line
        if line is None or line.program is None:
            return False
        return self.runs(line) or line.program.string.replace("\\", "/").endswith(self.scripts)

    def packages(self) -> dict[str, str]:
        """The packages whose version determines the behaviour, with the newest modelled release."""
        return {self.package: self.newest}

    @property
    def modelled(self) -> dict[str, tuple[str, str]]:
        """The packages whose releases this framework models, each with the oldest and the newest of them."""
        return {self.package: (self.oldest or self.newest, self.newest)}

    def learn(self, release: Version, folder: str, opens: Callable[[str], bool]) -> bool:
        """Take the fields of an unmodelled release from its source in a folder; false if that is not possible or not understood.

        The source is read again when one of its files has changed, or another folder was taken for the release meanwhile.
        """
        from pathlib import Path

        from cfglint.source.python.package import SourceError

        known = _learned.get((self.kind, release))
        if known is not None and known[0] == folder and known[1] == states(known[1]):
            return known[2]
        asked: dict[str, bool] = {}

        def opened(path: str) -> bool:
            asked[path] = opens(path)
            return asked[path]

        try:
            done: bool = self.part("learn", lambda *_: False)(release, Path(folder), opened)
        except (SourceError, SyntaxError, OSError, ValueError, RecursionError):
            done = False
        _learned[self.kind, release] = folder, states(asked), done
        return done

    def histories(self) -> tuple[History, ...]:
        """The fields of the package through its releases, as far as they are modelled."""
        return tuple(map(imported, self.history_tables))

    def completed(self, facts: LaunchFacts) -> LaunchFacts:
        """The facts with the releases that follow from other specified releases."""
        return facts

    def started_by(self, program: str, facts: LaunchFacts) -> LaunchFacts:
        """The facts of a launch line, completed from the source of its program."""
        return self.completed(facts)

    def syntax(self, path: str) -> Syntax:
        """The syntax, `yaml` or `json`, in which this framework's parser parses a file of that name."""
        return self.only_syntax or syntax_by_name(path)

    def config_files(self, launch: Launch) -> list[str]:
        """The files of the project that the arguments of a launch extend, for a framework that is fed by arguments."""
        return []

    def argument_classes(self) -> dict[str, str]:
        """The classes that a program creates from files and arguments of this kind, each with its trainer; an empty trainer means any."""
        return {}

    def has_class(self, name: str, facts: LaunchFacts) -> bool:
        return True

    def script_classes(self) -> Collection[str]:
        """Further classes of the framework that such a parser may be given."""
        return ()

    def fields_of_class(self, name: str) -> set[str]:
        """The fields that one of these classes has in any modelled release; empty for a class of another framework."""
        return set()

    def base_fields(self) -> Mapping[str, FieldSpan]:
        """The fields of the class that others extend: (type, default, first release, first release without it)."""
        found: Mapping[str, FieldSpan] = self.part("base_fields", {})
        return found

    def base_numbers(self) -> Mapping[str, float]:
        """The numbers of this class that are the same by default in all releases, and that it leaves as they are."""
        found: Mapping[str, float] = self.part("base_numbers", {})
        return found

    def parsed_types(self) -> Mapping[str, str]:
        """The types that a parser derives from the annotations of these fields, where they differ."""
        found: Mapping[str, str] = self.part("parsed_types", {})
        return found

    def refused_words(self, name: str, text: str) -> Sequence[tuple[str, Releases]]:
        """The types of one of these fields that the parser cannot convert a word to, each with the releases that have it."""
        found: Sequence[tuple[str, Releases]] = self.part("refused_words", lambda *_: ())(name, text)
        return found

    def has_own_key(self, name: str) -> bool:
        """Whether files of this kind have a key in any modelled release, beyond those of its base."""
        return bool(self.part("has_own_key", lambda _: False)(name))

    def constructor(self, name: str) -> tuple[Row, ...]:
        """The rows of the parameters of a trainer's constructor, in order of its releases; empty for other classes."""
        rows: dict[str, tuple[Row, ...]] = self.part("constructors", {})
        return rows.get(name, ())

    def importable(self, module: str, name: str = "") -> tuple[Span, ...]:
        """The releases of the package that have a module, or a name in it; empty if all of them do, or if it is not known."""
        of_modules: dict[str, dict[tuple[Span, ...], str]] = self.part("names", {})
        groups: dict[tuple[Span, ...], str] = of_modules.get(module, {}) if name else self.part("modules", {})
        return next((spans for spans, names in groups.items() if (name or module) in names.split()), ())

    def import_changes(self, name: str) -> set[Version]:
        """The releases of the package that add or remove a public name of one of its modules."""
        of_modules: dict[str, dict[tuple[Span, ...], str]] = self.part("names", {})
        groups = (group for of_module in of_modules.values() for group in of_module.items())
        return {release for spans, names in groups if name in names.split() for span in spans for release in span if release}

    def field_in_place(self, trainer: str, keyword: str, release: Version) -> tuple[str, str] | None:
        """The class and its field that has what a keyword of a trainer's constructor was for; None if there is none."""
        return None

    def title_of(self, document: Document) -> str:
        return self.title

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        """(key path, file named there, kind of that file) for the files that a file adds to its run."""
        return []

    def launched_gpus(self, document: Document, facts: LaunchFacts) -> tuple[int, str] | None:
        """(GPUs, place of that setting) for a file of this kind that starts a run; None if it does not set them."""
        return self.part("launched_gpus", lambda *_: None)(document, facts)

    def config(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> Config:
        made: Config = imported(self.parts["config"])(documents, facts, kinds)
        return made

    def load_rules(self, further: Collection[str] = ()) -> None:
        """Import the rules of this kind, which registers them; of those that only some runs need, the modules named.

        What only rows refuse, of which a page has words of the messages, has no function: the part `refused` has the findings of a page.
        """
        for name in [*self.rules.split(), *(each for each in self.further_rules.split() if each in further)]:
            __import__(f"cfglint.frameworks.{name if '.' in name else f'{self.kind}.rules.{name}'}")
        pages = pages_of_checks(self.kind) if "refused" in self.parts else ()
        for page in (page for page in pages if page not in BY_CODE):  # the others have a function for what is no row
            rule(page)(lambda config, code=page: imported(self.parts["refused"])(config, code))

    def words(self, facts: LaunchFacts) -> Loader:
        from cfglint.source.shell.command import WORDS

        return self.part("words", WORDS)

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        """The loader of this framework for a file: PyYAML's safe one, or Python's json; for a command or a call, that of its arguments."""
        if document.is_command:
            return self.words(facts)
        if document.is_call:
            from cfglint.source.python.call import KEYWORDS

            return KEYWORDS

        return STRICT_JSON if document.syntax == "json" else YAML11


class LineFramework(Framework):
    """A kind whose config is a launch line: it is never recognised by the content of a file."""

    def detect(self, document: Document) -> int:
        return NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        return False
