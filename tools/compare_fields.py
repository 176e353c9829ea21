"""Compare the fields and defaults of the tables with the sources of all releases, read in another way than the tables are made.

    python tools/compare_fields.py PACKAGE FOLDER [--show 20]

FOLDER has a folder for each release, as for tools/rebuild_tables.py. A class of a source tree is found by its name, whatever file it is
in, and a default is what Python makes of its expression, with the constants of the release as names: nothing of the code that writes the
tables is used, so that an error of it shows. Of the keys that DeepSpeed looks up one by one, the defaults are those of the calls.

Printed are the differences, and how many facts are equal; a default that the source computes is counted and not compared. Exits 1 if
there is a difference, 2 if FOLDER has no release of the tables.
"""

from __future__ import annotations

import argparse
import ast
import enum
import hashlib
import importlib
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Facts = dict[str, Any]  # field -> default
    Release = tuple[int, ...]
    Lookup = tuple[ast.expr, ast.expr]  # key, default

KIND_OF = {"transformers": "huggingface", "ms-swift": "swift"}
FOLDER_OF = {"ms-swift": "swift"}
COMMON = {"pt": "sft", "rlhf": "sft", "megatron pt": "megatron sft", "megatron rlhf": "megatron sft"}  # has the other rows of a section
NAME, DEFAULT, SINCE, UNTIL, ALIAS = 0, 2, 3, 4, 5  # columns of a row
LOOK_UPS = ("get_scalar_param", "get_dict_param", "get_list_param")  # DeepSpeed's, with the key and its default
FLOAT = re.compile(r"[-+]?\d+[eE][-+]?\d+")
# Of `Seq2SeqTrainingArguments` of transformers, from which LLaMA-Factory's class is derived.
GENERATION = {
    "sortish_sampler": False,
    "predict_with_generate": False,
    "generation_max_length": None,
    "generation_num_beams": None,
    "generation_config": None,
}


class Marker(enum.Enum):
    """What takes the place of a default."""

    REQUIRED = "required"
    COMPUTED = "computed by the source"


class Definition(NamedTuple):
    """A class: the names of its bases, its fields with the right sides, and the values of its other names."""

    bases: tuple[str, ...]
    fields: dict[str, ast.expr | None]
    values: dict[str, ast.expr]


class File(NamedTuple):
    """What a file of a source defines."""

    classes: dict[str, Definition]
    constants: dict[str, ast.expr]
    lookups: list[Lookup]


class Source:
    """The classes and constants of one release."""

    cache: dict[str, File] = {}

    def __init__(self, folder: Path, package: str) -> None:
        name = FOLDER_OF.get(package, package)
        self.root = next(each for each in (folder / name, folder / "src" / name) if each.is_dir())
        self.files: dict[str, File] = {}
        self.classes: dict[str, list[tuple[str, Definition]]] = {}
        self.constants: dict[str, ast.expr] = {}
        self.types: dict[int, type] = {}
        for path in sorted(self.root.rglob("*.py")):
            name, content = path.relative_to(self.root).as_posix(), path.read_bytes()
            if name.startswith(("models/", "tests/")):
                continue
            key = hashlib.sha256(content).hexdigest()
            if key not in self.cache:
                self.cache[key] = parsed(content, self.root.name)
            self.files[name] = self.cache[key]
            for each, definition in self.cache[key].classes.items():
                self.classes.setdefault(each, []).append((name, definition))
            self.constants.update(self.cache[key].constants)

    def fields(self, name: str, file: str = "", untyped: bool = False) -> Facts:
        """The fields of a class and its bases with their defaults; empty if the release does not have it."""
        facts: Facts = {}
        for each in reversed(self.built(name, file).__mro__):
            definition = vars(each).get("definition")
            own = {**(definition.values if untyped else {}), **definition.fields} if definition else {}
            facts.update({field: self.default(value) for field, value in own.items()})
        return facts

    def built(self, name: str, file: str) -> type:
        """An empty class with the bases of a class of the source, for Python to put them in order; `object` if there is none."""
        found = [definition for place, definition in self.classes.get(name, ()) if place.startswith(file)]
        if not found and not file:
            return object
        if not found:
            return self.built(name, "")
        bases = dict.fromkeys(self.built(base, file) for base in found[0].bases if base != name)
        key = id(found[0])
        if key not in self.types:
            of_source = [base for base in bases if base is not object]
            self.types[key] = type(name, tuple(of_source), {"definition": found[0]})
        return self.types[key]

    def default(self, value: ast.expr | None) -> Any:
        """The default that the right side of a field gives."""
        if isinstance(value, ast.Call) and last_name(value.func).lower() == "field":
            given = {keyword.arg: keyword.value for keyword in value.keywords}
            if "default_factory" in given:
                return self.made(given["default_factory"])
            value = given.get("default", value.args[0] if value.args else None)
        return Marker.REQUIRED if value is None else self.value(value)

    def made(self, factory: ast.expr) -> Any:
        """What a factory of defaults makes."""
        if isinstance(factory, ast.Lambda):
            return self.value(factory.body)
        return {"list": [], "dict": {}}.get(ast.unparse(factory), Marker.COMPUTED)

    def looked_up(self) -> dict[str, list[Any]]:
        """The keys that are looked up with a default, in whatever section."""
        called: dict[str, list[Any]] = {}
        for key, default in (each for file in self.files.values() for each in file.lookups):
            if isinstance(self.value(key), str):
                called.setdefault(self.value(key), []).append(self.value(default))
        return called

    def value(self, node: ast.expr) -> Any:
        """What Python makes of an expression of constants."""
        if isinstance(node, ast.Constant) and node.value is ...:
            return Marker.REQUIRED
        try:
            code = compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval")
            found = eval(code, {"__builtins__": {}, "sys": sys}, Names(self))
        except Exception:  # anything that needs a library
            return Marker.COMPUTED
        return Marker.COMPUTED if isinstance(found, Members) else found


class Names(dict[str, Any]):
    """The names of an expression: constants of the source and its enumerations."""

    def __init__(self, source: Source) -> None:
        super().__init__({"pp_int": lambda value, _: value})
        self.source = source

    def __missing__(self, name: str) -> Any:
        if name in self.source.classes:
            return Members(self.source, name)
        found = self.source.value(self.source.constants[name])
        if found is Marker.COMPUTED:
            raise KeyError(name)
        return found


class Members:
    """The members of an enumeration as their values."""

    def __init__(self, source: Source, name: str) -> None:
        self._source, self._name = source, name

    def __getattr__(self, name: str) -> Any:
        found = self._source.value(self._source.classes[self._name][0][1].values[name])
        if found is Marker.COMPUTED:
            raise AttributeError(name)
        return found[0] if isinstance(found, tuple) else found


def parsed(content: bytes, package: str) -> File:
    """What a file of a package defines; nothing where Python cannot parse it. Bases from other packages are left out."""
    found = File({}, {}, [])
    try:
        tree = ast.parse(content)
    except SyntaxError:
        return found
    foreign = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] != package
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = tuple(each for each in map(last_name, node.bases) if each not in foreign)
            values = {ast.unparse(each.targets[0]): each.value for each in node.body if isinstance(each, ast.Assign)}
            found.classes[node.name] = Definition(bases, dict(own_fields(node)), values)
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in LOOK_UPS and len(node.args) == 3:
                found.lookups.append((node.args[1], node.args[2]))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.constants[node.targets[0].id] = node.value
    return found


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return ast.unparse(node).rpartition(".")[2]


def own_fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The annotated attributes of a class that its constructor takes; the default of `Annotated` too."""
    for each in node.body:
        if not (isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)) or "ClassVar" in ast.unparse(each.annotation):
            continue
        options = {word.arg: ast.unparse(word.value) for word in each.value.keywords} if isinstance(each.value, ast.Call) else {}
        if options.get("init") != "False":
            within = [call for call in ast.walk(each.annotation) if isinstance(call, ast.Call) and last_name(call.func) == "Field"]
            yield name_in_files(each), each.value or next(iter(within), None)


def name_in_files(field: ast.AnnAssign) -> str:
    """The name of a field in a file, where pydantic gives it another one."""
    options = {word.arg: word.value for word in field.value.keywords} if isinstance(field.value, ast.Call) else {}
    alias = options.get("validation_alias", options.get("alias"))
    first = alias.args[0] if isinstance(alias, ast.Call) else alias
    return str(first.value) if isinstance(first, ast.Constant) else ast.unparse(field.target)


# What the source of a package has, in the sections of its tables. A section that is left out is not compared.


def of_transformers(source: Source, tables: Any) -> dict[str, Facts]:
    return {"": source.fields("TrainingArguments", "training_args.py")}


def of_trl(source: Source, tables: Any) -> dict[str, Facts]:
    words = {each.removesuffix("Config").lower(): each for each in source.classes if each.endswith("Config")}
    words.update(nash_md="NashMDConfig", online_dpo="OnlineDPOConfig", mixture="DatasetMixtureConfig")
    return {name: source.fields(label) for name, label in words.items() if name in tables.FIELDS}


def of_llamafactory(source: Source, tables: Any) -> dict[str, Facts]:
    names = ("ModelArguments", "DataArguments", "TrainingArguments", "FinetuningArguments", "GeneratingArguments")
    found = {field: value for name in names for field, value in source.fields(name, "hparams/").items()}
    return {"arguments": {**GENERATION, **found}}


def of_axolotl(source: Source, tables: Any) -> dict[str, Facts]:
    found = {name: source.fields(name) for name in tables.FIELDS if name in source.classes}
    return {**found, "": source.fields("AxolotlInputConfig")}


def of_accelerate(source: Source, tables: Any) -> dict[str, Facts]:
    base = source.fields("BaseConfig")
    return {"": {**base, **source.fields("ClusterConfig")}, "sagemaker": {**base, **source.fields("SageMakerConfig")}}


def of_deepspeed(source: Source, tables: Any) -> dict[str, Facts]:
    untyped = "Config" in source.classes  # to pydantic 1 any name of a model is a field
    return {section: source.fields(model, "", untyped) for section, (model, _) in tables.MODELS.items()}


def of_swift(source: Source, tables: Any) -> dict[str, Facts]:
    named = {"sft": "SftArguments", "pt": "PretrainArguments", "rlhf": "RLHFArguments"}
    megatron = {f"megatron {name}": f"Megatron{label}" for name, label in named.items()} | {"megatron rlhf": "MegatronRLHFArguments"}
    folder = "arguments/" if (source.root / "arguments").is_dir() else "llm/"
    found = {name: source.fields(existing(source, label), folder) for name, label in named.items()}
    found = {name: {**GENERATION, **facts} for name, facts in found.items()}
    return {**found, **{name: source.fields(existing(source, label), "megatron/") for name, label in megatron.items()}}


def existing(source: Source, name: str) -> str:
    """The name of a class, or that of the class in whose place it is from 4.0 on."""
    former = "MegatronTrainArguments" if name.startswith("Megatron") else "TrainArguments"
    return name if name in source.classes else former


def of_verl(source: Source, tables: Any) -> dict[str, Facts]:
    folder = source.root / "trainer" / "config"
    files = {each: folder / f"{each}.yaml" for each in tables.FIELDS}
    found = {each: dict(leaves(yaml.safe_load(path.read_text(encoding="utf-8")) or {})) for each, path in files.items() if path.exists()}
    return {each: {key: value for key, value in facts.items() if not key.startswith("defaults")} for each, facts in found.items()}


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a YAML file by their dotted keys."""
    if isinstance(value, dict) and (value or not key):
        for name, inner in value.items():
            yield from leaves(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, float(value) if isinstance(value, str) and FLOAT.fullmatch(value) else value  # OmegaConf: a float, YAML 1.1: a string


def of_openrlhf(source: Source, tables: Any) -> dict[str, Facts]:
    """Program -> option -> default, as the programs make their parsers; the time of the start and infinity are computed."""
    command = [sys.executable, "-I", str(ROOT / "tools" / "run_openrlhf.py"), "--release", str(source.root.parent), "--defaults"]
    found = json.loads(subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout)
    return {program: {name: computed(value) for name, value in facts.items()} for program, facts in found.items()}


def computed(default: Any) -> Any:
    """A default, or that it is computed."""
    is_time = isinstance(default, str) and re.search(r"_\d{4}T\d\d:\d\d$", default) is not None
    return Marker.COMPUTED if is_time or default == math.inf else default


PACKAGES: dict[str, Callable[[Source, Any], dict[str, Facts]]] = {
    "accelerate": of_accelerate,
    "axolotl": of_axolotl,
    "deepspeed": of_deepspeed,
    "llamafactory": of_llamafactory,
    "ms-swift": of_swift,
    "openrlhf": of_openrlhf,
    "transformers": of_transformers,
    "trl": of_trl,
    "verl": of_verl,
}


class Counts:
    """What was compared: equal and computed defaults, and the differences."""

    def __init__(self) -> None:
        self.equal = self.computed = 0
        self.differences: dict[tuple[str, ...], list[str]] = {}

    def compare(self, release: str, section: str, found: Facts, known: Facts) -> None:
        """Compare the fields of a section in one release."""
        for name in sorted(found.keys() | known.keys()):
            if name not in known:
                self.note(release, section, name, "only the source has it")
            elif name not in found:
                self.note(release, section, name, "only the tables have it")
            elif found[name] is Marker.COMPUTED:
                self.computed += 1
            elif same(found[name], known[name]):
                self.equal += 1
            else:
                self.note(release, section, name, f"{found[name]!r} in the source, {known[name]!r} in the tables")

    def look_up(self, release: str, called: dict[str, list[Any]], tables: Any, version: Release, kept: set[str]) -> None:
        """Compare the keys that DeepSpeed looks up, in whatever section; the tables lack sections that the newest release has removed."""
        known: dict[str, list[Any]] = {}
        for rows in (*tables.FIELDS.values(), *tables.KEYS.values()):
            for name, default in rows_at(version, rows).items():
                known.setdefault(name, []).append(default)
        for name in kept & called.keys():
            for default in called[name]:
                if default is Marker.COMPUTED:
                    self.computed += 1
                elif any(same(default, each) or (each is None and default in ({}, [])) for each in known.get(name, ())):
                    self.equal += 1
                else:
                    self.note(release, "look-ups", name, f"{default!r} in the source, {known.get(name)} in the tables")

    def note(self, release: str, *what: str) -> None:
        """Keep a difference."""
        self.differences.setdefault(what, []).append(release)


def same(found: Any, known: Any) -> bool:
    """Whether two defaults are equal: 1 and true are not, a list and a tuple are."""
    if isinstance(found, (list, tuple)) and isinstance(known, (list, tuple)):
        return len(found) == len(known) and all(map(same, found, known))
    if isinstance(found, float) and isinstance(known, float) and math.isnan(found):
        return math.isnan(known)
    return type(found) is type(known) and bool(found == known)


def rows_at(release: Release, rows: Any) -> Facts:
    """The fields of a section of the tables in a release."""
    found = [row for row in rows if row[SINCE] <= release and (not row[UNTIL] or release < row[UNTIL]) and row[NAME][0] != "@"]
    return {alias(row) or row[NAME]: default_of(row) for row in found}


def default_of(row: Any) -> Any:
    """The default of a row: that of a required field has true at the end, or TRL's mark in the place of the default."""
    return Marker.REQUIRED if any(each is True for each in row[ALIAS:]) or row[DEFAULT] == "required" else row[DEFAULT]


def alias(row: Any) -> str:
    """The name that files use, where a row has another one."""
    return row[ALIAS] if len(row) > ALIAS and isinstance(row[ALIAS], str) else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("package", choices=sorted(PACKAGES))
    parser.add_argument("folder", type=Path, help="a folder with one folder for each release")
    parser.add_argument("--show", type=int, default=20, help="how many differences are printed")
    options = parser.parse_args()
    tables = importlib.import_module(f"cfglint.frameworks.{KIND_OF.get(options.package, options.package)}._tables")
    rows = tables.FIELDS if isinstance(tables.FIELDS, dict) else {"": tables.FIELDS}
    counts, compared, missing = Counts(), [], []
    kept: set[str] = set()
    for release in sorted(tables.RELEASES, reverse=True):
        name = ".".join(map(str, release))
        folder = next((each for each in (options.folder / name, *options.folder.glob(f"{name}.post*")) if each.is_dir()), None)
        if folder is None:
            missing.append(name)
            continue
        compared.append(name)
        source = Source(folder, options.package)
        if hasattr(tables, "KEYS"):
            called = source.looked_up()
            kept = kept or set(called)
            counts.look_up(name, called, tables, release, kept)
        for section, found in PACKAGES[options.package](source, tables).items():
            known = {**rows_at(release, rows.get(COMMON.get(section), ())), **rows_at(release, rows.get(section, ()))}
            if found and known:
                counts.compare(name, section, found, known)
    for what, releases in list(counts.differences.items())[: options.show]:
        print(f"{releases[-1]}..{releases[0]} ({len(releases)}): {': '.join(filter(None, what))}")
    wrong = sum(map(len, counts.differences.values()))
    print(f"{options.package}: {len(compared)} releases, {counts.equal} facts equal, {counts.computed} computed, {wrong} different")
    if missing:
        print(f"not in {options.folder}: {', '.join(missing)}", file=sys.stderr)
    return 2 if not compared else int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
