"""Every key of every framework with the values at which arithmetic ends: nothing of ours breaks."""

from __future__ import annotations

import copy
import json

import pytest
import yaml
from seeds import NAMES, own_keys

from cfglint.api import diff
from cfglint.explanation.summary import RunSummary
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource

VALUES = {"huge": 10**400, "infinite": float("-inf"), "none": float("nan"), "nested": [{"a": [None]}]}
SOUND = {
    "deepspeed": {"train_micro_batch_size_per_gpu": 4},
    "neox": {
        "num_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 2,
        "max_position_embeddings": 64,
        "seq_length": 64,
        "train_micro_batch_size_per_gpu": 4,
        "train_iters": 10,
        "save": "out",
        "checkpoint_factor": 2,
    },
    "huggingface": {
        "per_device_train_batch_size": 4,
        "max_steps": 100,
        "eval_strategy": "steps",
        "save_strategy": "epoch",
        "warmup_steps": 0.1,
    },
    "accelerate": {"distributed_type": "MULTI_GPU", "num_processes": 8},
}
CHANGED = ("batch", "steps", "lr", "rate", "warmup", "iters", "epoch", "size")  # what a comparison computes with


def text_of(kind, tree):
    """A tree in the syntax of its kind."""
    return json.dumps(tree) if NAMES[kind].endswith(".json") else yaml.safe_dump(tree)


def with_value(kind, path, value):
    """A sound config of a kind with a value at a path; None where there is a value on the way."""
    tree = part = copy.deepcopy(SOUND[kind])
    for step in path[:-1]:
        part = part.setdefault(step, {})
        if not isinstance(part, dict):
            return None
    part[path[-1]] = value
    return text_of(kind, tree)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("kind", SOUND)
def test_no_value_breaks_a_rule_or_a_number(kind, name):
    sound = {NAMES[kind]: text_of(kind, SOUND[kind])}
    looked_at = 0
    paths = [path for each, path, _ in own_keys() if each == kind]
    for path in paths if name == "huge" else paths[:: len(VALUES)]:
        text = with_value(kind, path, VALUES[name])
        if text is None:
            continue
        files = {NAMES[kind]: text}
        run = Discovery(LaunchFacts(8, 1000, complete=True, kind_given=True), kind, source=FileSource(files)).together(list(files))[0]
        account = RunSummary(run)
        assert account.resolved
        assert [found.message for found in run.diagnostics if found.code == "INT000"] == []
        assert run.bugs == []
        if any(word in path[-1] for word in CHANGED):
            assert diff(sound, files, gpus=8, num_examples=1000, kind=kind) is not None
        looked_at += 1
    assert looked_at > 10
