"""The runs of the examples of rules."""

from __future__ import annotations

import json
import os
import pathlib
import re

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.memory import named_model
from cfglint.project.policy_schema import PolicySchemas
from cfglint.run.discovery import Discovery
from cfglint.run.file_source import FileSource

NAMES = {
    "deepspeed": "ds_config.json",
    "huggingface": "train.yaml",
    "neox": "config.yml",
    "accelerate": "accelerate.yaml",
    "llamafactory": "train.yaml",
    "trl": "train.yaml",
    "launch": "train.sh",
    "axolotl": "config.yml",
}


# Code -> the release that the examples of a rule were written for, where a newer one renamed their fields or changed their defaults;
# tools/example_releases.py adds to it.
PINNED = json.loads((pathlib.Path(__file__).parent / "rules" / "pinned_examples.json").read_text(encoding="utf-8"))


def kind_of(rule):
    return rule.example.get("kind") or (rule.kinds[0] if rule.kinds else "huggingface")


def run_of(rule, texts, folder, changes=()):
    example = {**rule.example, **dict(changes)}
    example["target"] = {**PINNED.get(rule.code, {}), **(example.get("target") or {})}
    kind = example.get("kind") or kind_of(rule)
    named = texts if isinstance(texts, dict) else {example.get("name", NAMES[kind]): texts}
    return launch_of(kind, named, folder, example)


def launch_of(kind, named, folder, example):
    """The run of the files in a folder, with the facts of an example."""
    files = {os.path.join(folder, name): text for name, text in named.items()}
    if kind == "launch":  # what a script runs is looked for on the disk
        write(files)
    facts = LaunchFacts(
        gpus=example.get("gpus"),
        num_examples=example.get("num_examples"),
        target=example.get("target") or {},
        complete=example.get("complete", True),
        kind_given=example.get("kind_given", True),
        strict_keys=example.get("strict_keys", False),
        model=named_model(example["model"]) if example.get("model") else None,
        gpu_memory=example.get("gpu_memory"),
        seq_length=example.get("seq_length"),
        trainer=example.get("trainer"),
        expected_numbers=example.get("expected_numbers") or {},
        policies=PolicySchemas({"": example["policies"]}) if "policies" in example else None,
    )
    return Discovery(facts, kind, source=FileSource(files)).one(list(files)[: example.get("named", len(files))])


def given_of(case):
    """(the lines as written, kind, facts, texts by file name) of a case in a text file: a line of facts, then a line for each file."""
    given = [line for line in case.splitlines() if not line.startswith("=>")]
    kind, _, facts = given[0].partition(" ")
    texts = {}
    for line in given[1:]:
        name, _, text = line.partition(": ")
        texts[name] = json.loads(text) if text.startswith('"') else text
    return given, kind, json.loads(facts or "{}"), texts


def answered(path, answers, updating):
    """The recorded lines of a file of cases, and those with what comes of each case now, after `=>`."""
    lines = []
    for case in path.read_text(encoding="utf-8").strip().split("\n\n"):
        given, kind, facts, texts = given_of(case)
        lines += [*given, *(f"=> {line}" for line in answers(kind, facts, texts)), ""]
    return recorded(path, lines[:-1], updating), lines[:-1]


def write(files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as out:
            out.write(text)


def example_texts(rule):
    """(name, texts by file name, the example's own facts, whether it is bad) of a rule's examples."""
    for number, example in enumerate(rule.bad_examples):
        yield f"bad {number + 1}", example.text, example.facts, True
    if rule.good:
        yield "good", rule.good, (), False


def by_family(rules):
    """The rules by the letters of their codes, in the order of the codes."""
    families = {}
    for rule in sorted(rules, key=lambda rule: rule.code):
        families.setdefault(rule.code.rstrip("0123456789"), []).append(rule)
    return families


def findings_of(run, above, code=None):
    """A run in lines: its verdict and numbers, its launch line, and each finding of a rule with all that a report shows of it.

    Findings of other rules, which have examples of their own, are one line; without a rule every finding is shown. The folders of the
    examples are in `above`; the lines leave it out.
    """
    numbers = {name: value for name, value in run.resolved.items() if value is not None}
    lines = [f"  {run.verdict} {run.fails_at} {json.dumps(numbers)}"]
    if "launch" in run.kinds:
        lines.append(f"  {json.dumps(run.outcome().launch)}")
    others = [f"{each.code} {each.key}" for each in run.diagnostics if code and each.code != code]
    if others:
        lines.append(f"  also {', '.join(others)}")
    for each in run.diagnostics:
        if code in (None, each.code):
            lines += shown(each)
    folder = rf"({re.escape(os.path.relpath(above))}|{re.escape(above)})/\d+/?"
    return [line for text in lines for line in re.sub(folder, "", text).splitlines()]


def shown(each):
    """A finding in lines."""
    place = f"{each.place.file}:{each.place.line}:{each.place.column}-{each.place.end_line}:{each.place.end_column}"
    yield f"  {place} {each.severity} {each.code} {each.key} {each.fails_at}: {each.message}"
    for name, text in (("exception", each.exception), ("note", each.note), ("help", each.help)):
        if text:
            yield f"    {name}: {text}"
    for other, text in each.related:
        yield f"    {other.file}:{other.line}:{other.column}: {text}"
    if each.fix is not None:
        edits = [(edit.start, edit.end, edit.text) for edit in each.fix.edits]
        yield f"    {'safe' if each.fix.safe else 'unsafe'} fix: {each.fix.title} {edits}"


def recorded(path, lines, updating):
    """The lines of a recorded file, which is written first on request."""
    if updating:
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path.read_text(encoding="utf-8").splitlines()
