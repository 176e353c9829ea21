"""What every field makes of values of every type, and of each choice that it has, kind by kind.

`CFGLINT_UPDATE=1` rewrites the records; the difference is to be read.
"""

from __future__ import annotations

import json

import pytest

from cfglint.frameworks.base import LaunchFacts
from cfglint.run.discovery import Discovery, FileSource
from examples import recorded

BASES = {
    "accelerate": {"compute_environment": "LOCAL_MACHINE", "distributed_type": "MULTI_GPU", "num_processes": 8, "num_machines": 1},
    "axolotl": {
        "base_model": "m",
        "datasets": [{"path": "d", "type": "alpaca"}],
        "output_dir": "out",
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "learning_rate": 0.0001,
        "num_epochs": 1,
    },
    "deepspeed": {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8, "optimizer": {"type": "AdamW", "params": {"lr": 0.001}}},
    "huggingface": {"output_dir": "out", "per_device_train_batch_size": 8},
    "llamafactory": {
        "model_name_or_path": "m",
        "dataset": "d",
        "template": "llama3",
        "stage": "sft",
        "do_train": True,
        "output_dir": "out",
    },
    "neox": {
        "train_iters": 100,
        "tokenizer_type": "CharLevelTokenizer",
        "num_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "seq_length": 128,
        "max_position_embeddings": 128,
        "train_micro_batch_size_per_gpu": 4,
        "optimizer": {"type": "Adam", "params": {"lr": 0.001}},
    },
    "trl": {"output_dir": "out", "model_name_or_path": "m", "dataset_name": "d", "per_device_train_batch_size": 8},
}
OTHERS = (True, -1, "x", "1", [1], {"x": 1})


def choices(schema):
    """The values that a schema lists."""
    found = [*schema.get("enum", ())]
    for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found += choices(each)
    return found


def fields(schema, path=()):
    """(path, choices) of every field, those of a section of their own included."""
    for name, each in schema.get("properties", {}).items():
        yield (*path, name), choices(each)
        if not path:
            yield from fields(each, (name,))


def with_value(base, path, value):
    """A config with a value at a path."""
    if len(path) == 1:
        return {**base, path[0]: value}
    section = base.get(path[0])
    return {**base, path[0]: with_value(section if isinstance(section, dict) else {}, path[1:], value)}


def answer(kind, config):
    facts = LaunchFacts(8, 1000, complete=True, declared=True)
    name = "ds.json" if kind == "deepspeed" else "config.yaml"
    run = Discovery(facts, kind, source=FileSource({name: json.dumps(config)})).one([name])
    return sorted(f"{each.code} {each.severity}" for each in run.diagnostics)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BASES)
def test_values(kind, root, updating):
    """Values with the same answer are on one line."""
    base = BASES[kind]
    assert not [each for each in answer(kind, base) if each.endswith("error")]
    lines = []
    for path, chosen in fields(json.loads((root / "schemas" / f"{kind}.json").read_text(encoding="utf-8"))):
        answers = {}
        for value in (*OTHERS, *chosen):
            answers.setdefault(", ".join(answer(kind, with_value(base, path, value))), []).append(json.dumps(value))
        lines += [f"{'.'.join(path)}: {' '.join(values)}: {found}" for found, values in answers.items()]
    assert lines == recorded(root / "tests" / "frameworks" / "expected" / f"{kind}.txt", lines, updating)
