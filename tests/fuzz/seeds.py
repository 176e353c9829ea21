"""Where mutants come from: the examples, both examples of every rule, folders of configs, and the frameworks' own keys."""

from __future__ import annotations

import json
import os
from pathlib import Path

from cfglint.frameworks import kinds
from cfglint.frameworks.validation.schema import file_of
from cfglint.rules.catalogue import every_rule
from cfglint.source.files import EXTENSIONS

ROOT = Path(__file__).resolve().parents[2]
NAMES = {kind: f"{kind}.yaml" for kind in kinds()}
NAMES.update(deepspeed="ds_config.json", huggingface="train.yaml", neox="config.yml", axolotl="axolotl.yml", launch="train.sh")
LARGEST = 20_000  # bytes of a seed; a mutant of a larger one costs more than it shows


class Case:
    """Files by name, the first one or the first few of which are given to the command, with flags of the launch."""

    def __init__(self, files, flags=(), named=1):
        self.files = files
        self.flags = list(flags)
        self.named = named

    @property
    def paths(self):
        """What stands on the command line."""
        return list(self.files)[: self.named]

    @property
    def flags_but_run(self):
        """The flags for single files."""
        return [flag for flag in self.flags if flag != "--run"]

    def replace(self, files):
        """The case with other texts."""
        return Case({**self.files, **files}, self.flags, self.named)


def of_examples():
    """The files under examples/, those of one folder together."""
    found = [Case({path.name: text_of(path)}) for path in sorted((ROOT / "examples").glob("*/*")) if is_config(path)]
    for folder in ("bad/trainer-and-deepspeed", "good/trainer-zero3"):
        files = {name: text_of(ROOT / "examples" / folder / name) for name in ("train.yaml", "ds_config.json")}
        found += [Case(files), Case(files, ["--run", "--gpus", "8"])]
    files = {name: text_of(ROOT / "examples" / "nine-over-two" / name) for name in ("train.yaml", "launch.yaml")}
    return [*found, Case(files, ["--run"], 2)]


def of_rules():
    """The bad and the good example of every rule, with the facts that it is held against."""
    found = []
    for rule in every_rule():
        kind = rule.example.get("kind") or (rule.kinds[0] if rule.kinds else "huggingface")
        flags = [*flags_of(rule.example), "--kind", kind]
        for texts in (rule.bad, rule.good):
            files = texts if isinstance(texts, dict) else {rule.example.get("name", NAMES[kind]): texts}
            if texts:
                found.append(Case(dict(files), flags, rule.example.get("named", len(files))))
    return found


def flags_of(example):
    """The facts of an example as flags."""
    flags = ["--run"] if example.get("complete", True) else []
    for name in ("gpus", "num_examples", "model", "gpu_memory"):
        if name in example:
            flags += [f"--{name.replace('_', '-')}", str(example[name])]
    for name, version in (example.get("target") or {}).items():
        flags += ["--target", f"{name}=={version}"]
    return [*flags, "--strict-keys"] if example.get("strict_keys") else flags


def of_folder(folder):
    """Every config of a folder that is not too large."""
    return [Case({path.name.replace("-", "_"): text_of(path)}) for path in sorted(Path(folder).rglob("*")) if is_config(path)]


def is_config(path):
    """Whether a path is a file that a walk would take up."""
    return path.is_file() and path.name.lower().endswith(EXTENSIONS) and os.path.getsize(path) <= LARGEST


def text_of(path):
    """A file's text with its own line ends."""
    return path.read_bytes().decode("utf-8", "replace")


def own_keys():
    """(kind, path, schema) for every key that a schema names, sections' keys too."""
    found = []
    for kind in kinds():
        try:
            with open(file_of(kind), encoding="utf-8") as file:
                schema = json.load(file)
        except OSError:
            continue
        below(schema, (), schema.get("$defs", {}), lambda path, part, kind=kind: found.append((kind, path, part)))
    return found


def below(schema, path, defs, take):
    """Every property below a schema, `$ref` followed."""
    for name, told in schema.get("properties", {}).items():
        part = {**defs.get(str(told.get("$ref", "")).rpartition("/")[2], {}), **told}
        take((*path, name), part)
        for each in (part, *part.get("anyOf", []), *part.get("oneOf", [])):
            below(each, (*path, name), defs, take)
