"""Generates new configs, which their framework accepts, from a job specification.

`generate` is pure: it returns names, contents and reasons, and reads and writes no files.
"""

from __future__ import annotations

from cfglint import frameworks
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import JobSpec
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Kind

RUN = "run"
FRAMEWORK: Kind = "huggingface"  # the framework of a set if none is named


def kinds() -> list[str]:
    """The kinds that files can be generated for."""
    return [kind for kind in frameworks.kinds() if not frameworks.framework(kind).no_generator]


def generator_of(kind: str, framework: str = FRAMEWORK) -> Generator:
    """The generator of a kind, or with `run` of the set of a framework; the module has the name of the kind."""
    generator: Generator = __import__(f"cfglint.generators.{framework if kind == RUN else kind}", fromlist=["GENERATOR"]).GENERATOR
    return generator


def set_frameworks() -> list[str]:
    """The frameworks for which a matching set of files can be generated."""
    return [kind for kind in kinds() if generator_of(kind).files_of_run is not None]


def trainers() -> list[str]:
    """The values of `--trainer`, of all kinds."""
    return [name for kind in kinds() for name in generator_of(kind).trainers]


def takes(kind: str, framework: str = FRAMEWORK) -> frozenset[str]:
    """The facts that a kind of file, or a set of files, supports."""
    return generator_of(kind, framework).takes


def existing_job(run: CheckedRun) -> Existing:
    """The facts of a job from an existing run; raises Contradiction if nothing is known of the job that its files start."""
    from cfglint.generators.convert import Existing

    return Existing(run, {kind: generator_of(kind).read for kind in kinds()})


def refuse_beyond(job: JobSpec, kind: str) -> None:
    """Raise Contradiction for a specified fact that a kind of file does not support, with the kinds that do."""
    from cfglint.generators.job_spec import Contradiction, flag

    refused: dict[str, list[str]] = {}
    for name in job.beyond(takes(kind)):
        refused.setdefault(kinds_with(name), []).append(flag(name))
    if refused:
        lines = [f"{', '.join(flags)}: not available for `{kind}`, but for {others}" for others, flags in refused.items()]
        raise Contradiction("; ".join(lines))


def kinds_with(fact: str) -> str:
    """The kinds of file that support a fact."""
    *others, last = [f"`{kind}`" for kind in kinds() if fact in takes(kind)]
    return f"{', '.join(others)} and {last}" if others else last


def generate(kind: str, job: JobSpec, framework: str = FRAMEWORK, folder: str = "") -> Generated:
    """Generate the files of a kind, or with `run` the set of a framework; `folder` is their folder, relative to where the job is
    started.

    Raises `cfglint.generators.job_spec.Contradiction` if the facts are incompatible, insufficient or not supported
    by this kind of file, and `Unreachable` if these GPUs cannot reach the global batch size.
    """
    generator = generator_of(kind, framework)
    made = generator.matching_set(job, folder) if kind == RUN else generator.generate(job, folder)
    for file in made.files if RENAMED else ():
        file.keys = file.keys.renamed(names_for(file.kind, job))
    return made


def names_for(kind: str, job: JobSpec) -> Callable[[str], str]:
    """What gives the name that a field has in the releases that files of a kind are generated for."""
    from cfglint.frameworks.releases.renamed_fields import current_name
    from cfglint.frameworks.releases.versions import parse_version

    packages = frameworks.framework(kind).packages()
    releases = {package: parse_version((job.target or {}).get(package, newest)) for package, newest in packages.items()}
    return lambda name: current_name(name, releases)
