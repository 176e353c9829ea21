"""`[tool.cfglint]` of a pyproject.toml, or a cfglint.toml: the settings and declared runs of a project."""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import SEVERITIES
from cfglint.frameworks import file_kinds, trainers
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import INSTALLED, is_version
from cfglint.source import CfglintError
from cfglint.source.annotations import Callable, ConfigTable, Iterable, Iterator
from cfglint.source.files import FileProblem, bytes_in_project, read_bytes
from cfglint.source.limits import MAX_SIZE
from cfglint.source.root import leads_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from cfglint.project.policy_schema import PolicySchemas

    Expected = TypeVar("Expected")
    Word = TypeVar("Word", bound=str)

LONGEST_GLOB = 1000
MOST_GLOBS = 1000
MOST_DOTS = 1000  # in a line of TOML outside of strings; the parser takes quadratic time and memory in the number of parts of a dotted key
LARGEST = 10**18  # the largest count; products of much larger ones have more digits than Python prints
EXPECTED_NUMBERS = ("global-batch", "total-steps", "tokens-per-step")
RUN_KEYS = frozenset((
    *EXPECTED_NUMBERS, "files", "kind", "launch", "gpus", "gpu", "gpu-memory", "model", "num-examples", "strict-keys", "target", "trainer",
    "args", "set", "name",
))  # fmt: skip
OLD_POLICY_KEY = "house-schema"  # of 0.1.0
CODE = "{code}"  # what stands for the code of a rule in the address of the pages
KEYS = frozenset((
    "gpus", "gpu", "gpu-memory", "target", "select", "ignore", "per-file-ignores", "run", "fail-on", "baseline", "policy-schema",
    OLD_POLICY_KEY, "exclude", "kinds", "pages",
))  # fmt: skip


class ConfigurationError(CfglintError):
    """A configuration that cannot be used; the message names the place and the reason."""


class DeclaredRun:
    """One `[[run]]`: its files, as paths relative to the working directory, and the facts of its launch."""

    def __init__(self, table: ConfigTable, folder: str, where: str) -> None:
        unknown = sorted(set(table) - RUN_KEYS)
        if unknown:
            raise ConfigurationError(f"{where}: unknown key `{unknown[0]}` in a run; known are {', '.join(sorted(RUN_KEYS))}")
        launch: str | None = expect(table, "launch", str, where)
        files = table.get("files")
        if launch is not None:
            if files is not None:
                raise ConfigurationError(f"{where}: a run has `files` or `launch`, not both")
            files = [launch]
        if not isinstance(files, list) or not files or not all(isinstance(file, str) for file in files):
            raise ConfigurationError(f"{where}: a run requires `files`, a list of paths, or `launch`, a script or `script:line`")
        self.files = [file if os.path.isabs(file) else os.path.normpath(os.path.join(folder, file)) for file in files]
        self.kind = one_of(file_kinds(), table, "kind", where)
        self.gpus: int | None = expect(table, "gpus", int, where)
        self.gpu: str | None = expect(table, "gpu", str, where)
        self.gpu_memory = gpu_memory(table, where)
        named: str | None = expect(table, "model", str, where)
        adjacent = os.path.normpath(os.path.join(folder, named)) if named else ""
        self.model = adjacent if adjacent and os.path.exists(adjacent) else named
        self.num_examples: int | None = expect(table, "num-examples", int, where)
        self.strict_keys: bool = bool(expect(table, "strict-keys", bool, where))
        self.target = versions(table, where)
        self.installed = table.get("target") == INSTALLED
        self.trainer = one_of(trainers(), table, "trainer", where) if "trainer" in table else None
        self.arguments: str | None = expect(table, "args", str, where)
        self.overrides = tuple((key, written(value, where)) for key, value in (expect(table, "set", dict, where) or {}).items())
        self.expected_numbers: dict[str, int] = {
            key.replace("-", "_"): table[key] for key in EXPECTED_NUMBERS if expect(table, key, int, where) is not None
        }


class Configuration:
    """The configuration of a project; empty without a file."""

    def __init__(self, table: ConfigTable | None = None, path: str = "") -> None:
        table = table or {}
        self.path = path
        self.folder = os.path.dirname(path)
        where = path or "configuration"
        unknown = sorted(set(table) - KEYS)
        if unknown:
            raise ConfigurationError(f"{where}: unknown key `{unknown[0]}`; known are {', '.join(sorted(KEYS))}")
        self.gpus: int | None = expect(table, "gpus", int, where)
        self.gpu: str | None = expect(table, "gpu", str, where)
        self.gpu_memory = gpu_memory(table, where)
        self.target = versions(table, where)
        self.installed = table.get("target") == INSTALLED
        self.select = strings(table, "select", where)
        self.ignore = strings(table, "ignore", where) or []
        self.fail_on = one_of(SEVERITIES, table, "fail-on", where)
        per_file = expect(table, "per-file-ignores", dict, where) or {}
        if any(len(glob) > LONGEST_GLOB for glob in per_file):
            raise ConfigurationError(f"{where}: a pattern of `per-file-ignores` has more than {LONGEST_GLOB:,} characters")
        if len(per_file) > MOST_GLOBS:
            raise ConfigurationError(f"{where}: `per-file-ignores` has more than {MOST_GLOBS:,} patterns")
        self.per_file_ignores: dict[str, list[str]] = {glob: strings(per_file, glob, where) or [] for glob in per_file}
        accepted: str | None = expect(table, "baseline", str, where)
        self.baseline = os.path.join(self.folder, accepted) if accepted else None
        self.exclude = globs(strings(table, "exclude", where) or [], self.folder, where, "exclude")
        of_kinds = expect(table, "kinds", dict, where) or {}
        self.kinds = {
            each: one_of(file_kinds(), of_kinds, glob, f"{where}, `kinds`") or ""
            for glob, each in zip(of_kinds, globs([*of_kinds], self.folder, where, "kinds"), strict=True)
        }
        self.pages: str = expect(table, "pages", str, where) or ""
        if self.pages and not (self.pages.startswith(("https://", "http://")) and CODE in self.pages):
            raise ConfigurationError(f"{where}: `pages` must be an address with {CODE} for the code of a rule: https://example.org/{CODE}")
        self.policy_files = policy_files(table, where)
        self.policies: PolicySchemas | None = None  # its schemas, loaded by `in_effect`
        runs = table.get("run", [])
        if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
            raise ConfigurationError(f"{where}: `run` must be a list of tables: [[run]]")
        self.runs = [DeclaredRun(each, self.folder, f"{where}, run {number}") for number, each in enumerate(runs, 1)]


def with_settings(facts: LaunchFacts, project: Configuration) -> LaunchFacts:
    """The facts with those of the configuration where the caller gives none."""
    facts = facts.on_card(project.gpu, project.gpu_memory)
    return facts.replace(
        gpus=facts.gpus or project.gpus,
        gpus_source=facts.gpus_source if facts.gpus else project.path,
        target={**project.target, **facts.target},
        target_from={**{package: project.path for package in project.target if package not in facts.target}, **facts.target_from},
        installed=facts.installed or project.installed,
        policies=project.policies,
    )


def globs(patterns: list[str], folder: str, where: str, key: str) -> list[str]:
    """Patterns for paths relative to the configuration, converted to patterns for absolute paths."""
    if len(patterns) > MOST_GLOBS or any(len(glob) > LONGEST_GLOB for glob in patterns):
        raise ConfigurationError(f"{where}: `{key}` has too many or too long patterns")
    return [os.path.normpath(os.path.join(os.path.abspath(folder), glob)) for glob in patterns]


def expect(table: ConfigTable, key: str, kind: type[Expected], where: str) -> Expected | None:
    """The value of a key of the expected type; None if it is absent; raises ConfigurationError otherwise."""
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigurationError(f"{where}: `{key}` must be {NAMES[kind]}, not {quoted(value)}")
    if isinstance(value, int) and value < 0:
        raise ConfigurationError(f"{where}: `{key}` must not be negative")
    if isinstance(value, int) and value > LARGEST:
        raise ConfigurationError(f"{where}: `{key}` is more than {LARGEST:,}")
    return value


def gpu_memory(table: ConfigTable, where: str) -> float | None:
    """The memory of a GPU in GiB: `gpu-memory` is a number or the name of a card."""
    value = table.get("gpu-memory")
    if value is None:
        return None
    from cfglint.batch.cards import offered

    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            return offered(str(value))
        except ValueError:
            pass
    raise ConfigurationError(f'{where}: `gpu-memory` must be a number of GiB, a size such as "80GB" or a card, not {quoted(value)}')


def one_of(words: Iterable[Word], table: ConfigTable, key: str, where: str) -> Word | None:
    """The value of a key with fixed choices; None if it is absent; raises ConfigurationError otherwise."""
    value: str | None = expect(table, key, str, where)
    found = next((word for word in words if word == value), None)
    if value is not None and found is None:
        raise ConfigurationError(f"{where}: `{key}` must be one of {', '.join(words)}, not {quoted(value)}")
    return found


def written(value: object, where: str) -> str:
    """A value of `set` as a launch line would spell it."""
    try:
        return str(value)
    except (RecursionError, ValueError) as error:
        raise ConfigurationError(f"{where}: `set` contains a value that cannot be written: {error}") from error


def quoted(value: object) -> str:
    """A value for a message as the file spells it, shortened."""
    from json import dumps

    try:
        return f"{dumps(value, ensure_ascii=False, default=str):.80}"
    except (RecursionError, ValueError):  # too deeply nested tables, numbers with thousands of digits
        return "that"


NAMES = {int: "an integer", str: "a string", bool: "a boolean", dict: "a table"}


def strings(table: ConfigTable, key: str, where: str) -> list[str] | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigurationError(f"{where}: `{key}` must be a list of strings")
    return value


def versions(table: ConfigTable, where: str) -> dict[str, str]:
    """The versions in `target = { transformers = "4.57.1" }`, validated."""
    if table.get("target") == INSTALLED:
        return {}
    target = expect(table, "target", dict, where) or {}
    for package, version in target.items():
        if not isinstance(version, str) or not is_version(version):
            raise ConfigurationError(f'{where}: target `{package}` must be a version such as "4.57.1"')
    return dict(target)


def policy_files(table: ConfigTable, where: str) -> dict[str, str]:
    """The files of the project's own schemas by kind; the one under `""` applies to every kind."""
    name = OLD_POLICY_KEY if OLD_POLICY_KEY in table else "policy-schema"
    given = table.get(name)
    if isinstance(given, str):
        return {"": given}
    files = expect(table, name, dict, where) or {}
    for kind, file in files.items():
        if kind not in file_kinds() or not isinstance(file, str):
            raise ConfigurationError(f"{where}: `{name}` is a file, or a table with a file for {', '.join(file_kinds())}")
    return dict(files)


def find(folder: str) -> str | None:
    """The nearest cfglint.toml or pyproject.toml with `[tool.cfglint`, from a folder up to the top of its work tree."""
    folder = os.path.abspath(folder)
    while True:
        for name in ("cfglint.toml", "pyproject.toml"):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name == "cfglint.toml" or b"[tool.cfglint" in bytes_in_project(path)):
                return path
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def read(path: str) -> Configuration:
    """The configuration of a file. Raises ConfigurationError if it cannot be used."""
    try:
        return configuration_of(read_bytes(path), path)
    except FileProblem as error:
        raise ConfigurationError(str(error)) from error


def in_effect(path: str | None, named: bool = False, read: Callable[[str], Configuration] = read) -> Configuration:
    """The configuration of a file, with its policy schemas; empty without a file. Raises ConfigurationError if it cannot be used.

    `named`: the user named the file, so that it may be a link out of the project, or refer to files there.
    """
    if path is None:
        return Configuration()

    if not named and leads_out(path, path):
        raise ConfigurationError(f"{relative(path)}: is a link out of the project and was not read; pass --config to allow it")
    project = read(path)
    if not named:
        refuse_foreign_names(project)
    if project.policy_files:
        from cfglint.project import policy_schema

        try:
            project.policies = policy_schema.load(project.policy_files, project.folder)
        except policy_schema.PolicySchemaError as error:
            raise ConfigurationError(str(error)) from error
    return project


def refuse_foreign_names(project: Configuration) -> None:
    """Raise ConfigurationError if a configuration names files outside the project: it may come from an untrusted source."""
    for what, file in named_files(project):
        if leads_out(file, project.path):
            raise ConfigurationError(f"{project.path}: {what} `{file}`, which is outside the project; pass --config to allow it")


def named_files(project: Configuration) -> Iterator[tuple[str, str]]:
    """(description, path) for every file that a configuration names."""
    if project.baseline:
        yield "`baseline` names", project.baseline
    for file in project.policy_files.values():
        yield "`policy-schema` names", os.path.join(project.folder, file)
    for run in project.runs:
        for file in run.files:
            yield "a run names", file.rpartition(":")[0] if file.rpartition(":")[2].isdecimal() else file
        if run.model and os.path.exists(run.model):
            yield "the model of a run is", os.path.join(run.model, "config.json") if os.path.isdir(run.model) else run.model


def configuration_of(content: bytes, path: str) -> Configuration:
    """The configuration in a file's content. Raises ConfigurationError if it cannot be used."""
    table = parse(content, path)
    if os.path.basename(path) == "pyproject.toml":
        tool = table.get("tool")
        table = tool.get("cfglint", {}) if isinstance(tool, dict) else {}
        if not isinstance(table, dict):
            raise ConfigurationError(f"{path}: `tool.cfglint` must be a table")
    return Configuration(table, relative(path))


def relative(path: str) -> str:
    """A path relative to the working directory, if it is below it."""
    return os.path.relpath(path) if not os.path.isabs(path) or path.startswith(os.getcwd() + os.sep) else path


def parse(content: bytes, path: str) -> ConfigTable:
    """TOML as a mapping; a thousand `[[run]]` tables take the time of one parse."""
    if len(content) > MAX_SIZE:
        raise ConfigurationError(f"{path}: has {len(content):,} bytes, the limit is {MAX_SIZE:,}")
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.count(b".") <= MOST_DOTS:
            continue
        import re

        if re.sub(rb'"(?:[^"\\]|\\.)*"|\'[^\']*\'', b"", line).count(b".") > MOST_DOTS:  # outside of strings
            raise ConfigurationError(f"{path}: line {number} has a key of more than {MOST_DOTS:,} parts")
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
