"""What each fact of a job changes in the files that are made for it.

`CFGLINT_UPDATE=1` rewrites the record; the difference is to be read.
"""

from __future__ import annotations

import pytest

from cfglint.generators import generate, kinds
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from examples import recorded

BASE = {"gpus": 8, "global_batch": 256, "max_micro_batch": 8, "num_examples": 100_000, "epochs": 3.0}
OF_KIND = {
    "neox": {"epochs": None, "steps": 1000, "num_examples": None, "model": "pythia-160m", "seq_length": 2048},
    "deepspeed": {"epochs": None, "steps": 1000},
    "accelerate": {"epochs": None, "global_batch": None, "max_micro_batch": None, "num_examples": None},
    "trl": {"trainer": "sft"},
}
CHANGES = (
    *({"gpus": 1}, {"gpus": 6}, {"gpus": 16, "gpus_per_node": 8}, {"global_batch": 250}, {"max_micro_batch": None, "micro_batch": 4}),
    *({"zero": 1}, {"zero": 2}, {"zero": 3}, {"zero": 2, "offload": "optimizer"}, {"zero": 3, "offload": "all"}),
    *({"precision": "fp16"}, {"precision": "fp32"}, {"precision": "bf16"}, {"tensor_parallel": 2}, {"pipeline_parallel": 2}),
    *({"seq_length": 4096}, {"learning_rate": 1e-5}, {"warmup": 0.1}, {"warmup": 100}, {"warmup": 1}, {"warmup": 0.00001}),
    *({"epochs": None, "steps": 500}, {"epochs": None, "tokens": 10**9, "seq_length": 1024}, {"epochs": 0.5}, {"num_examples": None}),
    *({"optimizer": "adam"}, {"optimizer": "sgd"}, {"optimizer": "lion"}, {"optimizer": "adafactor"}),
    *({"scheduler": "linear"}, {"scheduler": "constant"}, {"scheduler": "cosine", "min_learning_rate": 1e-6}),
    *({"scheduler": "linear", "min_learning_rate": 1e-6}, {"scheduler": "constant", "warmup": 50}),
    *({"lora": True}, {"lora": True, "model": "llama-3.1-8b"}, {"trainer": "dpo"}, {"trainer": "grpo"}, {"trainer": "kto"}),
    *({"model": "pythia-1b"}, {"layers": 12, "hidden": 768, "heads": 12}, {"layers": 12, "hidden": 768, "heads": 12, "kv_heads": 4}),
    *({"weight_decay": 0.1}, {"beta1": 0.8}, {"beta2": 0.95}, {"epsilon": 1e-6}, {"clipping": 0.5}, {"clipping": 0.0}),
    *({"seed": 7}, {"checkpointing": True}, {"logging_steps": 5}, {"logging_steps": 10_000}, {"save_steps": 100}, {"output_dir": "runs/a"}),
    *({"target": {"transformers": "4.42.4"}}, {"target": {"deepspeed": "0.16.4"}}, {"target": {"trl": "0.17.0"}}),
)


def written(kind, facts):
    """The lines of the files, or why there are none."""
    try:
        made = generate(kind, JobSpec(**{name: value for name, value in facts.items() if value is not None}))
    except (Contradiction, Unreachable) as refusal:
        return [f"refused: {line}" for line in str(refusal).splitlines()]
    return [line.strip() for file in made.files for line in (f"-- {file.name}", *file.text.splitlines())]


def difference(title, usual, now):
    """The lines that are new or other, and those whose key is gone; nothing where nothing changes."""
    if now[0].startswith("refused"):
        return [title, *(f"  {line}" for line in now)]
    keys = {line.partition(":")[0] for line in now}
    gone = [f"  - {line}" for line in usual if line.partition(":")[0] not in keys]
    new = [f"  + {line}" for line in now if line not in usual]
    return [title, *gone, *new] if gone or new else []


@pytest.mark.slow
def test_each_fact(root, updating):
    lines = []
    for kind in sorted(kinds()):
        base = {**BASE, **OF_KIND.get(kind, {})}
        usual = written(kind, base)
        lines += [f"{kind}", *(f"  {line}" for line in usual)]
        for change in CHANGES:
            lines += difference(f"{kind}, {change}", usual, written(kind, {**base, **change}))
    assert lines == recorded(root / "tests" / "generators" / "expected" / "options.txt", lines, updating)
