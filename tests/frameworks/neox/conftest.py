"""A GPT-NeoX run from a mapping or from texts."""

from __future__ import annotations

import json

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

SOUND = {
    "num_layers": 4,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "seq_length": 128,
    "max_position_embeddings": 128,
    "train_micro_batch_size_per_gpu": 4,
    "train_iters": 100,
    "optimizer": {"type": "Adam", "params": {"lr": 0.001}},
    "zero_optimization": {"stage": 1},
    "vocab_file": "vocab.json",
    "merge_file": "merges.txt",
}


class NeoXRuns:
    """Makes runs: `of` from changes to a sound config (ABSENT takes a key out), `files` from texts by name."""

    ABSENT = object()

    def of(self, gpus=8, num_examples=None, complete=True, **changes):
        values = {key: value for key, value in {**SOUND, **changes}.items() if value is not self.ABSENT}
        return self.files({"config.yml": json.dumps(values)}, gpus, num_examples, complete)

    def files(self, texts, gpus=8, num_examples=None, complete=True):
        documents = [parse(name, text, "yaml") for name, text in texts.items()]
        return CheckedRun(
            documents, ["neox"] * len(documents), LaunchFacts(gpus=gpus, num_examples=num_examples, complete=complete, kind_given=True)
        )


@pytest.fixture
def runs():
    return NeoXRuns()
