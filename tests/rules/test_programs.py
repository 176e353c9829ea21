"""What a framework refuses in a file, it refuses as keywords of a program's call: one path for both."""

from __future__ import annotations

import pytest
import yaml

from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.trl.releases import CLASSES
from cfglint.launch.kinds import fields_of_class
from cfglint.rules.catalogue import every_rule
from cfglint.run.discovery import Discovery
from examples import PINNED, kind_of, run_of

CLASS_OF = {trainer: name for name, trainer in CLASSES.items()}
SCRIPT = ("model_name_or_path", "dataset_name")  # keys of the examples that no class of a trainer's arguments has
OTHERS = {
    "HFT006": "the removed field is the one cause",
    "HFT080": "a program that does not pass it to `train` does not continue",
    "HFT099": "the model is the one that the program loads",
    "RUN001": "two files",
    "STP001": "NaN is no literal",
    "STP002": "NaN is no literal",
    "TRL003": "the parser of a file converts strings",
    "TRL004": "a key of the script is missing",
    "TRL058": "the program may pass the name of a model",
}


def call_of(kind, trainer, keywords):
    """A program with these keywords."""
    name = "TrainingArguments" if kind == "huggingface" else CLASS_OF[trainer]
    used = "Trainer" if kind == "huggingface" else name.replace("Config", "Trainer")
    words = "".join(f"    {key}={value!r},\n" for key, value in keywords.items())
    package = "transformers" if kind == "huggingface" else "trl"
    return f"from {package} import {name}, {used}\nargs = {name}(\n{words})\n{used}(model=load(), args=args).train()\n"


def refused(run):
    return {each.code for each in run.diagnostics if each.severity == "error"}


@pytest.mark.slow
def test_what_a_file_is_refused_for_is_refused_in_a_program(tmp_path, monkeypatch):
    lost, compared = {}, 0
    for rule in every_rule():
        for number, example in enumerate(rule.bad_examples):
            facts = {**rule.example, **dict(example.facts)}
            kind = facts.get("kind") or kind_of(rule)
            if kind not in ("huggingface", "trl") or isinstance(example.text, dict) or rule.code in OTHERS:
                continue
            codes = refused(run_of(rule, example.text, str(tmp_path / "file"), example.facts))
            try:
                keywords = yaml.safe_load(example.text) if codes else None
            except yaml.YAMLError:
                continue
            trainer = facts.get("trainer") or "sft"
            if not isinstance(keywords, dict) or (kind == "trl" and trainer not in CLASS_OF):
                continue
            keywords = {key: value for key, value in keywords.items() if key not in SCRIPT}
            if not {*keywords} <= {*FIELDS, *(fields_of_class(CLASS_OF[trainer]) if kind == "trl" else ())}:
                continue  # a key of the script
            folder = tmp_path / f"{rule.code}_{number}"
            folder.mkdir()
            (folder / "train.py").write_text(call_of(kind, trainer, keywords))
            monkeypatch.chdir(folder)
            target = {**PINNED.get(rule.code, {}), **(facts.get("target") or {})}
            given = LaunchFacts(gpus=facts.get("gpus"), num_examples=facts.get("num_examples"), target=target)
            given = given.on_card(facts.get("gpu"))
            found = {code for run in Discovery(given).runs(["train.py"]) for code in refused(run)}
            compared += 1
            if not codes <= found:
                lost[rule.code, number] = codes - found
    assert lost == {}
    assert compared > 100
