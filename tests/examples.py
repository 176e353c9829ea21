"""The runs of the examples of rules."""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Mapping

import yaml

from cfglint.findings.rule import CONFIG
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.memory.named_models import named_model
from cfglint.project.policy_schema import PolicySchemas
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource
from records import check_cases, head

ALONE = re.compile(r', "\w+_parallel": 1(?!\d)')  # sizes of the layout that are 1
NAMES = {  # of kinds whose examples are in another file than `train.yaml`
    "deepspeed": "ds_config.json",
    "neox": "config.yml",
    "accelerate": "accelerate.yaml",
    "axolotl": "config.yml",
    **dict.fromkeys(("launch", "verl", "megatron_swift", "swift"), "train.sh"),
}


# Code -> the release that the examples of a rule were written for, where a newer one renamed their fields or changed their defaults;
# tools/example_releases.py adds to it.
PINNED = json.loads((pathlib.Path(__file__).parent / "rules" / "pinned_examples.json").read_text(encoding="utf-8"))


def kind_of(rule):
    return rule.example.get("kind") or (rule.kinds[0] if rule.kinds else "huggingface")


def name_of(example, kind):
    return example.get("name") or NAMES.get(kind, "train.yaml")


def run_of(rule, texts, folder, changes=()):
    example = {**rule.example, **dict(changes)}
    example["target"] = {**PINNED.get(rule.code, {}), **(example.get("target") or {})}
    kind = example.get("kind") or kind_of(rule)
    named = texts if isinstance(texts, dict) else {name_of(example, kind): texts}
    return launch_of(kind, named, folder, example)


def found_by(rule, run):
    """What a rule finds in a run; the other rules of configs are not asked."""
    return [each for each in (run.findings_of(rule.code) if rule.scope == CONFIG else run.diagnostics) if each.code == rule.code]


def launch_of(kind, named, folder, example):
    """The run of the files in a folder, with the facts of an example."""
    files = {os.path.join(folder, name): text for name, text in named.items()}
    saved = {path: files.pop(path) for path in list(files) if "/checkpoint" in path}  # no files of the run
    write(saved)
    if kind == "launch":  # what a script runs is looked for on the disk
        write(files)
    facts = LaunchFacts(
        gpus=example.get("gpus"),
        num_examples=example.get("num_examples"),
        target=example.get("target") or {},
        bounds={package: tuple(specs) for package, specs in example.get("bounds", {}).items()},
        complete=example.get("complete", True),
        kind_given=example.get("kind_given", True),
        strict_keys=example.get("strict_keys", False),
        model=named_model(example["model"]) if example.get("model") else None,
        gpu_memory=example.get("gpu_memory"),
        seq_length=example.get("seq_length"),
        here=example.get("here", False),
        trainer=example.get("trainer"),
        expected_numbers=example.get("expected_numbers") or {},
        policies=PolicySchemas({"": example["policies"]}) if "policies" in example else None,
    )
    facts = facts.on_card(example.get("gpu"))
    return Discovery(facts, kind, source=FileSource(files)).together(list(files)[: example.get("named", len(files))])[0]


def given_of(shared, case):
    """(kind, facts, texts by file name) of a case in a record: a line with the kind and the facts, then a line for each file.

    What the cases of a record share is at its head: the line of facts of those that have none, and the beginning of each file, for
    which a case writes `...`.
    """
    lines = case.splitlines()
    start = shared[0] if shared and (not lines or ": " in lines[0].partition("{")[0]) else lines.pop(0)
    kind, _, facts = start.partition(" ")
    begun = dict(line.partition(": ")[::2] for line in shared[1:])
    texts = {}
    for line in lines:
        name, _, text = line.partition(": ")
        text = begun[name] + text.removeprefix("...") if text.startswith("...") else text
        texts[name] = json.loads(text) if text.startswith('"') else text
    return kind, json.loads(facts or "{}"), texts


def check_answers(path, answers, updating):
    """Compare what comes of the cases of a record with what is recorded; `answers` takes the kind, the facts and the texts."""
    shared = head(path)
    check_cases(path, lambda case: answers(*given_of(shared, case)), updating)


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


def settings_of(texts):
    """What files say, by key: the settings of configs, the lines of others."""
    found = {}
    for name, text in (texts if isinstance(texts, Mapping) else {"": texts}).items():
        try:
            values = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, TypeError, AttributeError):
            values = None
        found.update(flat(name, values) if isinstance(values, dict) else dict.fromkeys(text.split(), ""))
    return found


def flat(above, values):
    """(dotted key, value) of nested mappings."""
    for key, value in values.items():
        name = f"{above}.{key}".lstrip(".")
        if isinstance(value, dict) and value:
            yield from flat(name, value)
        else:
            yield name, value


def told_apart(texts, others, longest=110):
    """What one version of files says that another one does not, in a line: `fp16.enabled: true, no train_batch_size`."""
    now, before = settings_of(texts), settings_of(others)
    parts = [
        f"{key}: {json.dumps(value, default=str)}" if value != "" else key for key, value in now.items() if before.get(key, now) != value
    ]
    parts += [f"no {key}" for key in before if key not in now]
    line = ", ".join(parts).replace("\n", " ")
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def purposes(rule):
    """(what an example is for, its number or None) of a rule: its name, and what tells a bad example from the good one."""
    for number, example in enumerate(rule.bad_examples):
        facts = "".join(f", {name} {json.dumps(value, default=str)}" for name, value in dict(example.facts).items() if name != "policies")
        yield f"{rule.name}, bad example {number + 1}: {told_apart(example.text, rule.good or '') or 'other facts'}{facts}", number
    if rule.good:
        yield f"{rule.name}, good example: nothing is wrong", None


def by_family(rules):
    """The rules by the letters of their codes, in the order of the codes."""
    families = {}
    for rule in sorted(rules, key=lambda rule: rule.code):
        families.setdefault(rule.code.rstrip("0123456789"), []).append(rule)
    return families


def findings_of(run, above, code=None):
    """A run in lines: its verdict and numbers, its launch line, and each finding of a rule with all that a report shows of it.

    Findings of other rules, which have examples of their own, are one line; without a rule every finding is shown. The folders of the
    examples are in `above`; the lines leave it out, and sizes of the layout that are 1.
    """
    numbers = {name: value for name, value in run.resolved.items() if value is not None}
    lines = [f"  {run.verdict} {run.fails_at} {ALONE.sub('', json.dumps(numbers))}"]
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
