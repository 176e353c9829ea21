"""LLaMA-Factory runs from texts."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

BASE = """\
model_name_or_path: org/model
stage: sft
do_train: true
finetuning_type: lora
dataset: mine
template: llama3
output_dir: out
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
"""


@pytest.fixture
def factory():
    """Make a run of the base file with some keys replaced or added; a value of None takes the key out."""

    def make(
        gpus: int | None = 1,
        examples: int | None = 1000,
        complete: bool = True,
        deepspeed: str | None = None,
        release: str | None = None,
        **keys: str | None,
    ):
        lines = {line.partition(":")[0]: line for line in BASE.splitlines()}
        if deepspeed is not None:
            keys["deepspeed"] = "ds.json"
        for name, value in keys.items():
            lines[name] = f"{name}: {value}"
            if value is None:
                del lines[name]
        return run_of("\n".join(lines.values()) + "\n", gpus, examples, complete, deepspeed, release=release)

    return make


def run_of(text, gpus=1, examples=1000, complete=True, deepspeed=None, name="train.yaml", release=None):
    target = {} if release is None else {"llamafactory": release}
    facts = LaunchFacts(gpus=gpus, num_examples=examples, complete=complete, target=target)
    documents, kinds = [parse(name, text, "json" if name.endswith(".json") else "yaml")], ["llamafactory"]
    if deepspeed is not None:
        documents.append(parse("ds.json", deepspeed, "json"))
        kinds.append("deepspeed")
    return CheckedRun(documents, kinds, facts)


@pytest.fixture
def of_text():
    """Make a run of a whole text."""
    return run_of


@pytest.fixture
def errors():
    """(code, exception's type, stage) of what ends a run."""

    def of(run: CheckedRun) -> list[tuple[str, str, str]]:
        found = [each for each in run.diagnostics if each.severity == "error"]
        return [(each.code, (each.exception or "").partition(":")[0].rpartition(".")[2], each.fails_at) for each in found]

    return of
