"""Requirements in TOML: pyproject.toml (PEP 621, PEP 735, Poetry, PDM, uv) and Pipfile."""

from __future__ import annotations

import re

from cfglint.project.settings_file import ConfigurationError
from cfglint.project.settings_file import parse as parse_toml
from cfglint.project.statements.statement import (
    Stated,
    Statement,
    at_ref,
    from_specifier,
    is_side_group,
    listed,
    normalised,
    stated_by,
    within,
)
from cfglint.source.annotations import Collection, ConfigTable, Iterator

DEPENDENCIES = re.compile(r"^[ \t]*dependencies[ \t]*=[ \t]*\[(.*?)^[ \t]*\]", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"""(["'])(.*?)\1""")


def parsed(text: str, file: str) -> ConfigTable:
    """A file as a table; empty if it cannot be parsed."""
    try:
        return parse_toml(text.encode("utf-8", "replace"), file)
    except ConfigurationError:
        return {}


def of_pyproject(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What a pyproject.toml states: dependencies, then extras and groups that are not for tests, documentation or development."""
    table = parsed(text, file)
    if not table and (unparsed := DEPENDENCIES.search(text)):
        table = {"project": {"dependencies": quoted(unparsed.group(1))}}  # of a file that is no TOML, as with one name without quotes
    sources = within(table, "tool", "uv", "sources")
    uv = within(table, "tool", "uv")
    for requirements in (uv.get("override-dependencies"), within(table, "project").get("dependencies"), uv.get("constraint-dependencies")):
        yield from of_list(requirements, file, packages, sources)
    poetry = within(table, "tool", "poetry")
    main = within(poetry, "dependencies")
    optional = {name: value for name, value in main.items() if isinstance(value, dict) and value.get("optional") is True}
    yield from of_mapping({name: value for name, value in main.items() if name not in optional}, file, packages)
    for path in (("project", "optional-dependencies"), ("dependency-groups",), ("tool", "pdm", "dev-dependencies")):
        for name, requirements in within(table, *path).items():
            if not is_side_group(name):
                yield from of_list(requirements, file, packages, sources, optional=True)
    yield from of_mapping(optional, file, packages, optional=True)
    for name, group in within(poetry, "group").items():
        if isinstance(group, dict) and not is_side_group(name):
            yield from of_mapping(within(group, "dependencies"), file, packages, optional=True)


def quoted(text: str) -> list[str]:
    """The strings in the text of a list, without those behind a `#`."""
    return [found[1] for line in text.splitlines() for found in QUOTED.findall(line.partition("#")[0])]


def of_block(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What the block `# /// script` in a program states (PEP 723)."""
    block: list[str] | None = None
    for line in map(str.rstrip, text.splitlines()):
        if line == "# ///" and block is not None:
            yield from of_list(parsed("\n".join(block), file).get("dependencies"), file, packages, {})
            return
        if line == "# /// script":
            block = []
        elif block is not None:
            block = [*block, line[1:].removeprefix(" ")] if line.startswith("#") else None


def of_list(requirements: object, file: str, packages: Collection[str], sources: ConfigTable, optional: bool = False) -> Iterator[Stated]:
    """What a list of requirements states, with the repositories that uv takes packages from."""
    texts = [requirement for requirement in listed(requirements) if isinstance(requirement, str)]
    for package, statement in stated_by(texts, file, packages, optional):
        source = sources.get(package)
        if isinstance(source, list):
            source = source[0] if source else None
        yield package, of_source(package, source, file, statement) if isinstance(source, dict) else statement


def of_source(package: str, source: ConfigTable, file: str, otherwise: Statement) -> Statement:
    """What a git repository or folder in the place of the index states."""
    if isinstance(source.get("git"), str):
        owner, _, repository = source["git"].removesuffix("/").removesuffix(".git").replace(":", "/").rpartition("/")
        ref = next((str(source[key]) for key in ("tag", "rev", "branch") if key in source), "")
        return at_ref(package, owner.rpartition("/")[2], repository, ref, file, otherwise.optional)
    if isinstance(source.get("path"), str):
        return Statement(file, "", "", f"the copy at {source['path']}", otherwise.optional)
    return otherwise


def of_mapping(wanted: ConfigTable, file: str, packages: Collection[str], optional: bool = False) -> Iterator[Stated]:
    """What a table of Poetry or Pipenv states: `trl = "^0.9"`, `trl = { git = "...", tag = "v0.9.6" }`."""
    for name, value in wanted.items():
        package = normalised(name)
        for entry in value if isinstance(value, list) else [value]:
            if package in packages:
                spec = entry.get("version", "") if isinstance(entry, dict) else entry
                statement = from_specifier(of_poetry(spec) if isinstance(spec, str) else "", file, optional)
                if isinstance(entry, dict):
                    statement = of_source(package, {**entry, **({"rev": entry["ref"]} if "ref" in entry else {})}, file, statement)
                yield package, statement


def of_poetry(spec: str) -> str:
    """A specifier of Poetry as one of pip: `^1.2` is `>=1.2,<2`."""
    clauses: list[str] = []
    for text in map(str.strip, spec.replace(" ", ",").split(",")):
        sign, numbers = text[:1], text.lstrip("^~ ").split(".")
        if text[:2] == "~=" or sign not in ("^", "~") or not all(number.isdecimal() for number in numbers):
            clauses.append(f"=={text}" if sign.isdigit() else text if text != "*" and "|" not in text else "")
            continue
        first = next((place for place, number in enumerate(numbers, 1) if int(number)), len(numbers))  # that is not zero
        kept = first if sign == "^" else min(len(numbers), 2)
        upper = [*numbers[: kept - 1], str(int(numbers[kept - 1]) + 1)]
        clauses.append(f">={'.'.join(numbers)},<{'.'.join(upper)}")
    return ",".join(filter(None, clauses))


def of_pipfile(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What a Pipfile states about the packages that it always installs."""
    yield from of_mapping(within(parsed(text, file), "packages"), file, packages)


def requirement_files(text: str, file: str) -> list[str]:
    """The requirements files from which setuptools takes the dependencies of a pyproject.toml."""
    if "dynamic" not in text:
        return []
    table = within(parsed(text, file), "tool", "setuptools", "dynamic", "dependencies")
    names = table.get("file")
    return [names] if isinstance(names, str) else [each for each in listed(names) if isinstance(each, str)]
