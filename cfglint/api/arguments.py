"""Validates the arguments of the library's functions, and converts them to the facts of a launch or of a job, and the sources to runs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Literal, TypeVar

from cfglint.batch.cards import offered
from cfglint.findings.diagnostic import Outcome
from cfglint.findings.wording import first_few
from cfglint.frameworks import file_kinds, trainers
from cfglint.frameworks.known_names import misspelt_key, unknown_package
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.memory.inputs import Model
from cfglint.frameworks.memory.named_models import UnknownModel, named_model
from cfglint.frameworks.releases.versions import INSTALLED, is_version
from cfglint.generators import trainers as generated_trainers
from cfglint.generators.job_spec import OFFLOADS, OPTIMIZERS, PRECISIONS, SCHEDULERS, JobSpec
from cfglint.launch.overrides import Override
from cfglint.project import baseline, selection, settings_file
from cfglint.project.selection import Selection
from cfglint.project.settings_file import Configuration, DeclaredRun, with_settings
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source import CfglintError
from cfglint.source.annotations import Any, ConfigTable, TypeAlias
from cfglint.source.edited_source import EditedSource
from cfglint.source.file_source import FileSource

Option = TypeVar("Option")
Versions: TypeAlias = Mapping[str, str] | Literal["installed"]

Path: TypeAlias = str | os.PathLike[str]
Sources: TypeAlias = Path | Iterable[Path] | Mapping[str, str]

MOST_NAMED = 10  # runs that are named
LARGEST = 10**18  # the largest count, as on the command line
FACTS = tuple("kind gpus num_examples target overrides strict_keys trainer model gpu_memory seq_length run from_gpus gpu".split())
ABOVE_ZERO = ("learning_rate", "epochs", "epsilon")


class ArgumentError(CfglintError, ValueError):
    """An argument of a function has an invalid value; the message names both."""


class MissingFileError(CfglintError, FileNotFoundError):
    """A source does not exist or cannot be read."""


def fitting(name: str, value: Option, fits: bool, what: str) -> Option:
    """Return a value that fits; raises ArgumentError for any other."""
    if not fits:
        raise ArgumentError(f"{name} must be {what}, not {value!r}")
    return value


def positive(name: str, value: int | None) -> int | None:
    fits = value is None or (type(value) is int and 1 <= value <= LARGEST)
    return fitting(name, value, fits, f"a positive integer{' up to 10**18' * (type(value) is int and value > LARGEST)}")


def counted(gpus: object) -> list[int | None]:
    """Return GPU counts as a list; raises ArgumentError for anything but a positive integer or several of them."""
    if isinstance(gpus, int):
        return [positive("gpus", gpus)]
    if isinstance(gpus, (str, bytes)) or not isinstance(gpus, Iterable):
        raise ArgumentError(f"gpus must be a positive integer or several, not {gpus!r}")
    counts = [positive("gpus", each) for each in gpus]
    if not counts:
        raise ArgumentError("gpus must have at least one count")
    return counts


def boolean(name: str, value: bool) -> bool:
    return fitting(name, value, type(value) is bool, "True or False")


def number(name: str, value: float | None, above_zero: bool = True) -> float | None:
    """Return a finite number above 0, or from 0 on; raises ArgumentError for any other value."""
    fits = value is None or (type(value) in (int, float) and isfinite(value) and (value > 0 if above_zero else value >= 0))
    return fitting(name, value, fits, f"a number {'above 0' if above_zero else 'of at least 0'}")


def text(name: str, value: str | None) -> str | None:
    return fitting(name, value, value is None or isinstance(value, str), "a string")


def one_of(name: str, value: Option, allowed: Iterable[object]) -> Option:
    allowed = list(allowed)
    fits = value is None or any(type(value) is type(each) and value == each for each in allowed)
    return fitting(name, value, fits, f"one of {', '.join(map(str, allowed))}")


def versions(target: Versions | None) -> dict[str, str]:
    """Return packages with their versions; raises ArgumentError for an unknown package or an invalid version."""
    if target == INSTALLED:
        return {}
    if not isinstance(target, Mapping | None):
        raise ArgumentError(f"target must be a mapping from packages to versions, not {target!r}")
    for package, version in (target or {}).items():
        wrong = unknown_package(package) if isinstance(package, str) else f"{package!r} is not the name of a package"
        if wrong:
            raise ArgumentError(f"target: {wrong}")
        if not isinstance(version, str) or not is_version(version):
            raise ArgumentError(f"target: {version!r} is not a version of {package}, such as '4.57.1'")
    return dict(target or {})


def given_on_the_line(overrides: Mapping[str, object] | None) -> tuple[Override, ...]:
    """The overrides of a launch line, strings unchanged and other values as JSON; raises ArgumentError for a misspelt key or a value that
    no launch line can contain.
    """
    if overrides is None:
        return ()
    if not isinstance(overrides, Mapping):
        raise ArgumentError(f"overrides must be a mapping from keys to values, not {overrides!r}")

    found = []
    for key, value in overrides.items():
        if not isinstance(key, str) or not key:
            raise ArgumentError(f"overrides: a key must be a string, not {key!r}")
        try:
            found.append(Override(key, [value if isinstance(value, str) else json.dumps(value)]))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"overrides: {key!r} must be a string, number, boolean, list, mapping or None, not {value!r}") from error
        near = misspelt_key(found[-1])
        if near:
            raise ArgumentError(f"overrides: unknown key {key!r}; did you mean {near!r}?")
    return tuple(found)


def memory_of_a_gpu(value: float | str | None) -> float | None:
    """The memory of a GPU in GiB, from a number or the name of a card."""
    try:
        return None if value is None else offered(value) if isinstance(value, str) else offered(str(number("gpu_memory", value)))
    except ValueError as error:
        raise ArgumentError(f"gpu_memory must be GiB such as 79.2, or a card such as '80GB' or 'H100', not {value!r}") from error


def shape_of(model: Path | None) -> Model | None:
    """The shape of a model, by a path or a known name."""
    if model is None:
        return None
    if not isinstance(model, (str, os.PathLike)):
        raise ArgumentError(f"model must be a path or the name of a model, not {model!r}")

    try:
        return named_model(os.fspath(model))
    except UnknownModel as error:
        raise ArgumentError(f"model {error}") from error


def facts_of(keywords: Mapping[str, Any], project: Configuration, *left_out: str) -> LaunchFacts:
    """The facts of a launch that the keywords of a function state, but for some, and those of the configuration where they state none."""
    return with_settings(launch_facts(**fact_keywords(keywords, *left_out)), project)


def fact_keywords(keywords: Mapping[str, Any], *left_out: str) -> dict[str, Any]:
    """Those of a function's keywords that are facts of a launch."""
    return {name: keywords[name] for name in FACTS if name in keywords and name not in left_out}


def launch_facts(
    *,
    kind: str | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Versions | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
    trainer: str | None = None,
    model: Path | None = None,
    gpu_memory: float | str | None = None,
    seq_length: int | None = None,
    run: bool = True,
    from_gpus: int | None = None,
    gpu: str | None = None,
) -> LaunchFacts:
    """The facts of a launch; raises ArgumentError for an invalid value."""
    one_of("kind", kind, file_kinds())
    packages = versions(target)
    facts = LaunchFacts(
        gpus=positive("gpus", gpus),
        gpus_source="gpus",
        num_examples=positive("num_examples", num_examples),
        examples_source="num_examples",
        target=packages,
        installed=target == INSTALLED,
        target_from=dict.fromkeys(packages, "target"),
        complete=boolean("run", run),
        kind_given=kind is not None,
        strict_keys=boolean("strict_keys", strict_keys),
        overrides=given_on_the_line(overrides),
        from_gpus=positive("from_gpus", from_gpus),
        trainer=one_of("trainer", trainer, trainers()),
        model=shape_of(model),
        seq_length=positive("seq_length", seq_length),
    )
    return facts.on_card(text("gpu", gpu), memory_of_a_gpu(gpu_memory))


def job_spec(facts: ConfigTable) -> JobSpec:
    """A job from its facts; raises ArgumentError for a value that is invalid for every kind of file."""
    for name, value in facts.items():
        check_fact(name, value)
    return JobSpec(**facts)


def check_fact(name: str, value: Any) -> None:
    """Raise ArgumentError for an invalid value of a job's fact."""
    choices: dict[str, Iterable[object]] = {
        "precision": PRECISIONS,
        "optimizer": OPTIMIZERS,
        "scheduler": SCHEDULERS,
        "offload": OFFLOADS,
        "zero": range(4),
        "trainer": generated_trainers(),
    }
    annotation = JobSpec.__annotations__[name].partition(" ")[0]
    if name in choices:
        one_of(name, value, choices[name])
    elif name == "target":
        versions(value)
    elif annotation == "int" and not (name == "seed" and type(value) is int and value == 0):
        positive(name, value)
    elif annotation == "float":
        number(name, value, above_zero=name in ABOVE_ZERO)
    elif annotation == "bool":
        value is None or boolean(name, value)
    elif annotation == "str":
        text(name, value)


# ---- the settings of a project, as the commands apply them


def configuration(apply: bool) -> Configuration:
    """The configuration in effect, empty without one; raises ConfigurationError if it cannot be used."""
    return settings_file.in_effect(settings_file.find(os.getcwd()) if apply else None)


def declared_facts(given: dict[str, Any], run: DeclaredRun, project: Configuration) -> LaunchFacts:
    """The facts of a declared run; the arguments of the caller win."""
    names = ("gpus", "num_examples", "trainer", "model")
    facts = {**given, **{name: getattr(run, name) for name in names if given[name] is None}}
    facts["strict_keys"] = given["strict_keys"] or run.strict_keys
    facts["overrides"] = {**dict(run.overrides), **(given["overrides"] or {})}
    found = launch_facts(**{**facts, "kind": run.kind, "target": given["target"] or run.target, "run": True})
    found = found.on_card(run.gpu, run.gpu_memory)
    found.arguments, found.expected_numbers = run.arguments or "", run.expected_numbers
    found.installed = found.installed or run.installed
    return with_settings(found, project)


def suppress(outcomes: list[Outcome], project: Configuration) -> None:
    """Mark the findings that the configuration and its baseline suppress."""
    selection.suppress(outcomes, Selection(project))
    if project.baseline:
        baseline.read(project.baseline).apply(outcomes)


# ---- sources: paths, or contents by file name


class Texts(FileSource):
    """Files whose content was passed by the caller, which take precedence over files on disk."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__()
        self.given = given

    def is_file(self, path: str) -> bool:
        return path in self.given or super().is_file(path)

    def is_given(self, path: str) -> bool:
        return path in self.given

    def identity(self, path: str) -> str:
        return path if path in self.given else super().identity(path)

    def read(self, path: str) -> tuple[str, bool]:
        return (self.given[path], False) if path in self.given else super().read(path)


def runs_of(sources: Sources, facts: LaunchFacts, kind: str | None, project: Configuration) -> tuple[list[CheckedRun], list[str]]:
    """The runs of some sources, and the named files that are not a config of a known kind."""
    paths, texts = named(sources)
    if facts.complete:
        return loaded(paths, texts, facts, kind)[:1], []
    discovery = Discovery(facts, kind, source=Texts(texts))
    discovery.request.exclude, discovery.request.kinds = project.exclude, project.kinds
    runs = discovery.runs(paths, () if texts else None)
    refuse_unreadable(discovery)
    checked = {document.path for run in runs for document in run.documents}
    return runs, [path for path in paths if path not in checked and not os.path.isdir(path)]


def single(sources: Sources, facts: LaunchFacts, kind: str | None, edited: Mapping[str, str] = {}) -> CheckedRun:
    """The one run of the sources: of a single file the one of its project that reads it, of several their complete configuration.
    `edited` are other contents of files.
    """
    paths, texts = named(sources)
    if len(paths) == 1 and not texts and kind is None and not facts.arguments and not os.path.isdir(paths[0]):
        discovery = Discovery(facts, source=EditedSource(FileSource(), edited))
        try:
            runs = discovery.runs(paths)
        except CfglintError as error:
            raise in_keywords(error) from None
        places = [run.written_at for run in runs if run.is_of_reader]
        if len(places) > 1:
            raise ArgumentError(f"{paths[0]} is read by several runs; name one of them: {first_few(places, MOST_NAMED)}")
        if places:
            return runs[0]
    return loaded(paths, {**texts, **edited}, facts, kind)[0]


def loaded(paths: list[str], texts: dict[str, str], facts: LaunchFacts, kind: str | None) -> list[CheckedRun]:
    """Some files as the complete configuration of one run, or of those that a loop starts."""
    if not paths:
        raise ArgumentError("sources must have at least one file")
    folder = next((path for path in paths if path not in texts and os.path.isdir(path)), None)
    if folder is not None:
        raise ArgumentError(f"{folder} is a folder; sources must be the files of one run")
    discovery = Discovery(facts, kind, source=Texts(texts))
    try:
        runs = discovery.together(paths)
    except CfglintError as error:
        raise in_keywords(error) from None
    refuse_unreadable(discovery)
    return runs


def refuse_unreadable(discovery: Discovery) -> None:
    """Raise MissingFileError for paths that do not exist or cannot be opened."""
    if discovery.request.stats.unreadable:
        raise MissingFileError(f"does not exist or cannot be read: {', '.join(discovery.request.stats.unreadable)}")


def named(sources: object) -> tuple[list[str], dict[str, str]]:
    """Split the sources into paths and the contents passed for some of them; raises ArgumentError for anything else."""
    if isinstance(sources, (str, os.PathLike)):
        return [path_of(sources)], {}
    if isinstance(sources, bytes) or not isinstance(sources, Iterable):
        raise ArgumentError(f"sources must be a path, several paths or a mapping from names to contents, not {sources!r}")
    texts = dict(sources) if isinstance(sources, Mapping) else {}
    for name, content in texts.items():
        if not isinstance(content, str):
            raise ArgumentError(f"sources: the content of {name!r} must be a string, not {content!r:.100}")
    return [path_of(source) for source in sources], texts


def lines_of(source: object) -> tuple[str, list[str] | None]:
    """The path of a log, or a name for the lines of one; raises ArgumentError for anything else, MissingFileError for no file."""
    if isinstance(source, (str, os.PathLike)):
        path = path_of(source)
        if not os.path.isfile(path):
            raise MissingFileError(f"does not exist or cannot be read: {path}")
        return path, None
    lines = list(source) if isinstance(source, Iterable) and not isinstance(source, bytes) else None
    if lines is None or not all(isinstance(line, str) for line in lines):
        raise ArgumentError(f"the source of a log must be a path or its lines, not {source!r:.100}")
    return "log", lines


def path_of(source: object) -> str:
    """A path as a string; raises ArgumentError for anything else."""
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str):
        raise ArgumentError(f"sources: a path must be a string or a Path, not {source!r}")
    return path


def in_keywords(error: CfglintError) -> CfglintError:
    """Return the error with command-line options in its message replaced by keyword arguments: `kind`, not `--kind`."""
    error.args = tuple(re.sub(r"--([a-z][a-z-]*)", lambda flag: flag[1].replace("-", "_"), str(each)) for each in error.args)
    return error
