"""Rules about files that cannot be read or parsed, duplicate keys, scalars that YAML 1.1 loads as an unexpected value, and files that a
config names.
"""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import INFO
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.base import Config
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator
from cfglint.source.document import LIMIT, MAPPING, NOT_STRICT_JSON, SCALAR, Node, Path
from cfglint.source.numbers import DIGITS

UNREADABLE = ("unreadable", "encoding", "control")
FOLDER_OF_PAGE = Reason(
    "file", "the folder of the line", "a page or program does not tell from which one it is started, and with which files"
)
NULL_WORDS = ("none", "null")


def _problems(
    config: Config, kinds: tuple[str, ...], note: str | None = None, remedy: str | None = None, others: bool = False
) -> Iterator[Finding]:
    """The problems of some kinds, or the `others`, with a note or a remedy that all of them have."""
    for document, problem in config.load_problems:
        if (problem.kind in kinds) != others:
            yield Finding(
                Setting((), None, WRITTEN, document, Node(SCALAR, problem.start, problem.end)),
                problem.message,
                exception=problem.exception,
                depends_on=config.other_parsers if problem.only_here else (),
                note=note or problem.note,
                help=remedy or problem.remedy,
            )


rule("SRC001")(lambda config: _problems(config, UNREADABLE))
rule("SRC002")(lambda config: _problems(config, (*UNREADABLE, LIMIT, NOT_STRICT_JSON), others=True))
rule("SRC003")(lambda config: _problems(config, (NOT_STRICT_JSON,), remedy="remove it, or declare who reads the file (--kind)"))
rule("SRC004")(lambda config: _problems(config, (LIMIT,), note="this is a limit of cfglint; the framework may load the file"))


@rule("KEY001")
def duplicate_key(config: Config) -> Iterator[Finding]:
    refused = {problem.start for _, problem in config.load_problems if problem.kind == "duplicate"}
    for document in config.documents:
        if not any(map(has_duplicates, document.mappings())):
            continue
        for path, _, node in document.walk():
            if not has_duplicates(node):
                continue
            text = document.text
            last: dict[str, tuple[Node, Node]] = {key.raw: (key, value) for key, value in node.pairs()}
            for key, value in node.pairs():
                winner, kept = last[key.raw]
                if winner is key or key.raw == "<<" or winner.start in refused or key.start in refused:
                    continue
                line = document.position(winner.start)[0]
                in_effect = kept.raw or None if kept.kind == SCALAR else config.get(*path, key.raw)
                yield Finding(
                    Setting((*path, key.raw), value.raw, WRITTEN, document, value, key),
                    f"duplicate key `{key.raw}`: this value is overridden at line {line}",
                    related=(Setting((*path, key.raw), in_effect, WRITTEN, document, kept, winner),),
                    on_key=True,
                    severity=INFO if value.kind == kept.kind and text[value.start : value.end] == text[kept.start : kept.end] else None,
                    help=f"keep one of the two `{key.raw}`",
                )


def has_duplicates(node: Node) -> bool:
    """Whether a mapping has a key twice."""
    return node.kind == MAPPING and len({key.raw for key, _ in node.children}) != len(node.children)


@rule("TYP001")
def octal_number(config: Config) -> Iterator[Finding]:
    for setting in plain_scalars(config):
        raw = setting.node.raw.lstrip("+-") if setting.node else ""
        if len(raw) > 1 and raw[0] == "0" and raw.isdigit() and type(setting.value) is int:
            text = f"`{setting.name}` is {raw}, which is octal in YAML 1.1: the value is {setting.value}"
            yield Finding(setting, text, help=f"write {int(raw)} or {setting.value}")


@rule("TYP002")
def sexagesimal_number(config: Config) -> Iterator[Finding]:
    for setting in plain_scalars(config):
        raw = setting.node.raw if setting.node else ""
        if ":" in raw and type(setting.value) in (int, float):
            text = f"`{setting.name}` is {raw}, which is base 60 in YAML 1.1: the value is {setting.value}"
            yield Finding(setting, text, help="write the number, or quote the string")


@rule("TYP003")
def none_is_string(config: Config) -> Iterator[Finding]:
    for setting in plain_scalars(config):
        if setting.value == "None" and not any(path == setting.path for path, _ in config.documents[0].missing):
            yield Finding(
                setting,
                f'`{setting.name}` is the string "None" in YAML, not null',
                note="it is a string that is not empty, so it counts as true",
                fix=replace(setting, None, "write null", safe=False),
            )


def plain_scalars(config: Config) -> list[Setting]:
    """Unquoted scalars of a config's YAML files that these rules check, with the values that the parser gives them."""
    if config.plain_scalars is None:
        config.plain_scalars = [
            Setting(path, config.get(*path), WRITTEN, document, node, key)
            for document in config.documents
            if document.syntax == "yaml" and any(map(is_suspicious, document.leaves))
            for path, key, node in document.walk()
            if is_suspicious(node) and path not in config.overridden
        ]
    return config.plain_scalars


def is_suspicious(node: Node) -> bool:
    """Whether a scalar may be one that these rules report."""
    if node.style or node.kind != SCALAR:
        return False
    number = node.raw.lstrip("+-")
    if number[:1] not in DIGITS or not number:
        return node.raw == "None"
    return ":" in number or (number[0] == "0" and number.isdigit() and len(number) > 1)


@rule("RUN010")
def missing_config_file(config: Config) -> Iterator[Finding]:
    line = config.facts.launch.line
    told = {problem.word.string for problem in line.problems if problem.code == "LCH002"} if line is not None else ()
    of_page = [FOLDER_OF_PAGE] if line is not None and line.is_on_page else []
    for path, name in config.documents[0].missing:
        if name in told or not config.opens(path) or (line is not None and line.writes(name)):
            continue
        setting, off = config.setting(*path), name.lower() in NULL_WORDS
        where = "it is looked for beside the file, in the folders above it, and in the working directory"
        yield Finding(
            setting,
            f"`{path[-1]}` names `{name}`, which does not exist",
            exception=refused_file(path, name),
            help=f"write `{path[-1]}: null` to leave it out, or the path of a file" if off else f"correct the path: {where}",
            fix=replace(setting, None, "write null", safe=False) if off else None,
            depends_on=(*config.rest, *of_page),
        )


def refused_file(path: Path, name: str) -> str:
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
