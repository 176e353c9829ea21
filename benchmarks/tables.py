"""What is measured beside what: one function a table."""

from __future__ import annotations

import shutil
from datetime import date

import inputs
import repository as whole
from environments import ROOT
from measuring import Subject, rounds, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from inputs import Source

    Table = dict[str, Any]  # title, note, rounds, rows

SCHEMAS = ROOT / "schemas"
IMPORT = "import deepspeed.runtime.config"
PARSE = "from transformers import HfArgumentParser as P, TrainingArguments as A; P(A).parse_yaml_file('trainer.yaml')"
LOAD = """
import json, os
for folder, _, names in os.walk("."):
    for name in names:
        if name.endswith(".json"):
            try:
                json.load(open(os.path.join(folder, name)))
            except ValueError:
                pass
"""
PINNED = '[project]\nname = "training"\nversion = "1"\ndependencies = ["deepspeed==0.19.8", "transformers==5.23.0"]\n'


class Bench:
    """What every table needs: where cfglint and its peers are, a folder to make files in, how often to measure."""

    def __init__(self, ours: Path, peers: Path, frameworks: Path | None, scratch: Path, options: Namespace) -> None:
        self.ours = ours
        self.peers = peers
        self.frameworks = frameworks
        self.scratch = scratch
        self.rounds: int = options.rounds
        self.few = max(3, options.rounds // 5)
        self.tree: Path | None = options.tree
        self.only: list[str] = options.only
        self.sources: dict[str, Source] = {}

    def cfglint(self, title: str, folder: Path, *arguments: str, **options: Any) -> Subject:
        """A command of cfglint."""
        return Subject(title, folder, self.ours / "cfglint", *arguments, **options)

    def peer(self, name: str, title: str, folder: Path, *arguments: str | Path) -> Subject:
        """A command of a peer."""
        return Subject(f"{name}, {title}" if title else name, folder, self.peers / name, *arguments)


def table(title: str, note: str, subjects: list[Subject], count: int) -> Table:
    """The subjects measured, the first one being the unit of the ratios."""
    rounds(subjects, count)
    return {"title": title, "note": note, "rounds": count, "date": str(date.today()), "rows": rows(subjects, subjects[0])}


def start(bench: Bench) -> Table:
    """Cold start on one file, on one run, and on one fix."""
    folder = inputs.samples(bench.scratch / "samples")
    alone = inputs.single(bench.scratch / "alone")
    project = inputs.single(bench.scratch / "project")
    (project / "pyproject.toml").write_text(PINNED, encoding="utf-8")

    def broken() -> None:
        shutil.copyfile(inputs.EXAMPLES / "bad" / "batch-mismatch.json", folder / "broken.json")

    subjects = [
        Subject("python -c pass", folder, bench.ours / "python", "-c", "pass"),
        bench.cfglint("cfglint check, one JSON file", alone, "check", "ds_config.json", "--gpus", "8"),
        bench.cfglint("cfglint check, one YAML file", alone, "check", "trainer.yaml", "--gpus", "8"),
        bench.cfglint("cfglint check, a run of two files", folder, "check", "--run", "run-train.yaml", "run-ds_config.json", "--gpus", "8"),
        bench.cfglint("the JSON file, versions from pyproject.toml", project, "check", "ds_config.json", "--gpus", "8"),
        bench.cfglint("cfglint fix, one JSON file", folder, "fix", "broken.json", "--gpus", "8", "--global-batch", "1024", before=broken),
        bench.peer("check-json", "one JSON file", folder, "ds_config.json"),
        bench.peer("check-yaml", "one YAML file", folder, "trainer.yaml"),
        bench.peer("yamllint", "one YAML file", folder, "trainer.yaml"),
        bench.peer("check-jsonschema", "one JSON file", folder, "--schemafile", SCHEMAS / "deepspeed.json", "ds_config.json"),
        bench.peer("check-jsonschema", "one YAML file", folder, "--schemafile", SCHEMAS / "huggingface.json", "trainer.yaml"),
    ]
    return table("One file, from a cold start", "ratios to `python -c pass`", subjects, bench.rounds)


def today(bench: Bench) -> Table | None:
    """The common way to know whether a config is right: start the framework. None where no framework is installed."""
    if bench.frameworks is None:
        return None
    folder = bench.scratch / "samples"
    subjects = [
        bench.cfglint("cfglint check, a run of two files", folder, "check", "--run", "run-train.yaml", "run-ds_config.json", "--gpus", "8"),
        Subject(IMPORT, folder, bench.frameworks, "-c", IMPORT),
        Subject("HfArgumentParser on the YAML file", folder, bench.frameworks, "-c", PARSE),
    ]
    return table("Common alternatives", "ratios to cfglint; without a job queue, and without a model", subjects, bench.few)


def many(bench: Bench, suffix: str, count: int) -> Table:
    """Many files in one command of each."""
    source = bench.sources[suffix]
    folder = source.fill(bench.scratch / f"many-{count}{suffix}", count)
    names = inputs.listed(folder)
    schema = SCHEMAS / ("deepspeed.json" if suffix == ".json" else "huggingface.json")
    subjects = [
        bench.cfglint("cfglint check", folder, "check", "."),
        bench.cfglint("cfglint check --jobs 1", folder, "check", ".", "--jobs", "1"),
        bench.cfglint("cfglint check --format json", folder, "check", ".", "--format", "json"),
        bench.peer("check-jsonschema", "", folder, "--schemafile", schema, *names),
    ]
    if suffix == ".json":
        subjects.append(bench.peer("check-json", "", folder, *names))
    else:
        subjects += [bench.peer("yamllint", "", folder, "-d", "relaxed", "."), bench.peer("check-yaml", "", folder, *names)]
    kind = "real" if source.real else "made-up"
    note = f"{kind}, {inputs.size_of(folder) / 1e6:.1f} MB; ratios to the first"
    return table(f"{count:,} {'JSON' if suffix == '.json' else 'YAML'} files", note, subjects, bench.few)


def repository(bench: Bench) -> Table:
    """The root of a repository that is mostly results: --tree, or the one that `repository.py` writes."""
    folder = bench.scratch / "repository"
    if bench.tree:
        shutil.copytree(bench.tree, folder, ignore=shutil.ignore_patterns(".git"))
    else:
        whole.write(folder)
    inputs.git(folder, "init", "--quiet", "--initial-branch=main")
    inputs.git(folder, "add", "--all")
    inputs.git(folder, "commit", "--quiet", "--message=before")
    named = [name for name in inputs.listed(folder) if name.endswith((".json", ".yaml", ".yml")) and not name.startswith(".git/")]
    configs = [name for name in named if name.startswith("configs/")] or named[:60]
    size = sum((folder / name).stat().st_size for name in named)
    (folder / "requirements.txt").write_text("transformers==5.0.0\n", encoding="utf-8")
    subjects = [
        bench.cfglint("cfglint check", folder, "check", "."),
        bench.cfglint("cfglint check --jobs 1", folder, "check", ".", "--jobs", "1"),
        bench.cfglint("cfglint review, the versions changed", folder, "review", "--base", "main"),
        Subject("json.load of every JSON file", folder, bench.ours / "python", "-c", LOAD),
        bench.peer("check-jsonschema", "", folder, "--schemafile", SCHEMAS / "huggingface.json", *named),
        bench.cfglint("cfglint check --jobs 1, some configs of it", folder, "check", *configs, "--jobs", "1"),
        bench.peer("check-jsonschema", "the same configs", folder, "--schemafile", SCHEMAS / "huggingface.json", *configs),
        bench.peer("yamllint", "the YAML files alone", folder, "-d", "relaxed", "."),
    ]
    kind = "of --tree" if bench.tree else "made-up"
    note = f"{kind}, {size / 1e6:.1f} MB; ratios to the first"
    return table(f"The root of a repository with {len(named):,} JSON and YAML files", note, subjects, bench.few)


def reviewed(bench: Bench) -> Table:
    """What a branch means, beside what git alone needs to show its text."""
    folder = inputs.branch(bench.scratch / "branch", 50)
    subjects = [
        Subject("git diff main", folder, shutil.which("git") or "git", "diff", "main"),
        bench.cfglint("cfglint review --base main", folder, "review", "--base", "main"),
        bench.cfglint("cfglint review --base main --format json", folder, "review", "--base", "main", "--format", "json"),
        bench.cfglint("cfglint check, all files", folder, "check", "."),
    ]
    return table("A branch that changes 50 of 100 files", "ratios to `git diff main`", subjects, bench.few)


def everything(bench: Bench, show: Any) -> dict[str, Table]:
    """All tables by name, each shown as soon as it is there."""
    makers: dict[str, Callable[[], Table | None]] = {
        "start": lambda: start(bench),
        "today": lambda: today(bench),
        "yaml-300": lambda: many(bench, ".yaml", 300),
        "yaml-3000": lambda: many(bench, ".yaml", 3000),
        "json-300": lambda: many(bench, ".json", 300),
        "repository": lambda: repository(bench),
        "review": lambda: reviewed(bench),
    }
    found: dict[str, Table] = {}
    for name, make in makers.items():
        made = make() if not bench.only or name in bench.only else None
        if made is not None:
            found[name] = made
            show(made)
    return found
