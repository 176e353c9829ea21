"""Rules about files that a config names."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.base import Config
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator
from cfglint.source.document import Path

NULL_WORDS = ("none", "null")


@rule("RUN010")
def missing_config_file(config: Config) -> Iterator[Finding]:
    for path, name in config.documents[0].missing:
        if not config.opens(path):
            continue
        setting, off = config.setting(*path), name.lower() in NULL_WORDS
        where = "it is looked for beside the file, in the folders above it, and in the working directory"
        yield Finding(
            setting,
            f"`{path[-1]}` names `{name}`, which does not exist",
            exception=refused_file(path, name),
            help=f"write `{path[-1]}: null` to leave it out, or the path of a file" if off else f"correct the path: {where}",
            fix=replace(setting, None, "write null", safe=False) if off else None,
            depends_on=config.rest,
        )


def refused_file(path: Path, name: str) -> str:
    """The exception for a missing file that a key names."""
    if "deepspeed" not in str(path[-1]):
        return f"FileNotFoundError: [Errno 2] No such file or directory: '{name}'"
    from cfglint.launch.accelerate_options import refused_config

    return refused_config(name)


@rule("RUN011")
def file_outside_project(config: Config) -> Iterator[Finding]:
    for path, name in config.documents[0].outside:
        yield Finding(
            config.setting(*path),
            f"`{path[-1]}` names `{name}`, which is outside the project and was not read",
            note="its content is not checked",
            help="name the file on the command line too, or move it into the project",
        )
