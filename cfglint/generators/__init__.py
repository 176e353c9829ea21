"""Generates new configs, which their framework accepts, from a job specification.

`generate` is pure: it returns names, contents and reasons, and reads and writes no files.
"""

from __future__ import annotations

from functools import partial

from cfglint import frameworks
from cfglint.findings.vocabulary import Kind
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.versions import current_name, parse_version
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, Generator, path_in
from cfglint.generators.job_spec import Contradiction, JobSpec, flag
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource

RUN = "run"
FRAMEWORK: Kind = "huggingface"  # the framework of a set if none is named


def kinds() -> list[str]:
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
    return generator_of(kind, framework).takes


def existing_job(run: CheckedRun) -> Existing:
    """The facts of a job from an existing run; raises Contradiction if nothing is known of the job that its files start."""
    return Existing(run, {kind: generator_of(kind).read for kind in kinds()})


def run_of(generated: Generated, facts: LaunchFacts, folder: str = "") -> CheckedRun:
    texts = {path_in(folder, file.name): file.text for file in generated.files}
    return Discovery(facts, generated.files[0].kind, source=FileSource(texts)).together(list(texts))[0]


def generate(kind: str, job: JobSpec, framework: str = FRAMEWORK, folder: str = "") -> Generated:
    """Generate the files of a kind, or with `run` the set of a framework; `folder` is their folder, relative to where the job is
    started.

    Raises `cfglint.generators.job_spec.Contradiction` if the facts are incompatible, insufficient or not supported
    by this kind of file, and `Unreachable` if these GPUs cannot reach the global batch size.
    """
    generator = generator_of(kind, framework)
    write = generator.files_of_run if kind == RUN else generator.generate
    if write is None:
        raise Contradiction("there is no set of files for this kind")
    consumer = framework if kind == RUN else kind
    refused: dict[str, list[str]] = {}  # flags by the kinds that support their facts
    for fact in job.beyond(generator.takes):
        *others, last = [f"`{name}`" for name in kinds() if fact in takes(name)]
        refused.setdefault(f"{', '.join(others)} and {last}" if others else last, []).append(flag(fact))
    if refused:
        lines = [f"{', '.join(flags)}: not available for `{consumer}`, but for {others}" for others, flags in refused.items()]
        raise Contradiction("; ".join(lines))
    generated = write(job, folder)
    if RENAMED:
        for file in generated.files:
            packages = frameworks.framework(file.kind).packages()
            releases = {package: parse_version((job.target or {}).get(package, newest)) for package, newest in packages.items()}
            file.keys = file.keys.renamed(partial(current_name, releases=releases))
    return generated
