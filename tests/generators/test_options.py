"""What each fact of a job changes in the files that are made for it, and in what is said of them.

`CFGLINT_UPDATE=1` rewrites the records; the difference is to be read.
"""

from __future__ import annotations

import pytest

from cfglint.generators import RUN, generate, kinds, set_frameworks
from cfglint.generators.generated import leaves
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.generators.neox import SHAPES
from records import check_parts

BASE = {"gpus": 8, "global_batch": 256, "max_micro_batch": 8, "num_examples": 100_000, "epochs": 3.0}
NEOX = {"epochs": None, "steps": 1000, "num_examples": None, "model": "pythia-160m", "seq_length": 2048}
OF_KIND = {
    "neox": NEOX,
    "run-neox": NEOX,
    "deepspeed": {"epochs": None, "steps": 1000},
    "accelerate": {"epochs": None, "global_batch": None, "max_micro_batch": None, "num_examples": None},
    "trl": {"trainer": "sft"},
    "verl": {"epochs": 2.0},
}
TRAINERS = ("sft", "dpo", "kto", "reward", "grpo", "rloo")
ADAM = {"beta1": 0.9, "beta2": 0.999}
OWN = {"model": None, "layers": 12, "hidden": 768, "heads": 12}
TWO = {"steps": None, "epochs": 2.0, "num_examples": 10_000}
SIZES = (
    *({"gpus": 1}, {"gpus": 1, "zero": 2}, {"gpus": 2}, {"gpus": 6}, {"gpus": 9}, {"gpus": 16}, {"gpus": 16, "zero": 3}),
    *({"gpus": 8, "gpus_per_node": 8}, {"gpus": 8, "gpus_per_node": 4}, {"gpus": 12, "gpus_per_node": 4}, {"gpus": 5, "gpus_per_node": 4}),
    *({"global_batch": None}, {"global_batch": 8}, {"global_batch": 4}, {"global_batch": 250}, {"global_batch": 24}),
    *({"max_micro_batch": 3}, {"max_micro_batch": 32}, {"max_micro_batch": 64}, {"max_micro_batch": None}),
    *({"max_micro_batch": None, "micro_batch": size} for size in (1, 3, 4, 32, 33)),
    *({"max_micro_batch": None, "micro_batch": 4, "global_batch": None}, {"max_micro_batch": None, "global_batch": None}),
    *({"zero": 0}, {"zero": 1}, {"zero": 2}, {"zero": 3}, {"zero": 2, "offload": "optimizer"}, {"zero": 3, "offload": "all"}),
    *({"zero": 3, "offload": "optimizer"}, {"zero": 2, "target": {"deepspeed": "0.16.4"}}, {"zero": 2, "precision": "fp32"}),
    *({"zero": 2, "offload": "optimizer", "target": {"deepspeed": "0.16.4"}}, {"zero": 2, "global_batch": 64, "max_micro_batch": 4}),
    *({"precision": "fp16"}, {"precision": "fp32"}, {"precision": "bf16"}, {"tensor_parallel": 2}, {"tensor_parallel": 3}),
    *({"pipeline_parallel": 2}, {"pipeline_parallel": 12, "gpus": 24}, {"pipeline_parallel": 13, "gpus": 26}),
    *({"tensor_parallel": 2, "checkpointing": False}, {"zero": 2, "tensor_parallel": 2}, {"zero": 2, "pipeline_parallel": 2}),
    *({"pipeline_parallel": 2, "global_batch": None, "max_micro_batch": None}, {"pipeline_parallel": 2, "max_micro_batch": 32}),
    *({"zero": 1, "offload": "optimizer"}, {"zero": 1, "offload": "optimizer", "optimizer": "lion"}, {"zero": 0, "precision": "fp32"}),
)
LENGTHS = (
    *({"seq_length": 4096}, {"seq_length": 4096, "num_examples": None}, {"epochs": 0.5}, {"epochs": None}, {"num_examples": None}),
    *({"epochs": None, "steps": 500}, {"epochs": None, "steps": 500, "num_examples": None}, {"epochs": None, "steps": 1}),
    *({"num_examples": 5}, {"num_examples": 257}, {"epochs": 1.0, "num_examples": 1}, {"epochs": None, "steps": 1, "num_examples": 1}),
    *({"epochs": None, "steps": None, "tokens": 10**9, "seq_length": 1024}, {"epochs": 1.5, "steps": None}),
    *(TWO, {**TWO, "num_examples": None}),
    *({**TWO, "warmup": 10}, {**TWO, "warmup": 10, "num_examples": None}, {**TWO, "warmup": 0.1}, {**TWO, "scheduler": "cosine"}),
    *({"warmup": 0.0}, {"warmup": 0.1}, {"warmup": 100}, {"warmup": 1}, {"warmup": 2}, {"warmup": 0.00001}, {"warmup": 0.0015}),
    *({"epochs": None, "steps": 100, "warmup": steps} for steps in (99, 100, 0.99, 0.999)),
    *({"warmup": 1, "target": {"transformers": release}} for release in ("4.43.4", "4.44.0")),
    *({"warmup": 0.1, "target": {"transformers": release}} for release in ("4.57.6", "5.0.0")),
    *({"logging_steps": 5}, {"logging_steps": 10}, {"logging_steps": 10_000}, {"epochs": None, "steps": 10}, {"epochs": None, "steps": 9}),
    *({"epochs": None, "steps": 50, "logging_steps": every} for every in (50, 51)),
    *({"logging_steps": 100}, {"save_steps": 100}, {"output_dir": "runs/a"}, {"seed": 7}, {"seed": 42}, {"seed": 1234}),
)
RATES = (
    *({"learning_rate": 1e-5}, {"optimizer": "adam"}, {"optimizer": "adamw"}, {"optimizer": "adamw-8bit"}, {"optimizer": "adafactor"}),
    *({"optimizer": "sgd"}, {"optimizer": "sgd", "zero": 2}, {"optimizer": "lion"}, {"optimizer": "lion", "zero": 2}),
    *({"optimizer": "lion", "zero": 2, "offload": "optimizer"}, {"optimizer": "sgd", "zero": 2, "offload": "optimizer"}),
    *({"scheduler": "linear"}, {"scheduler": "constant"}, {"scheduler": "cosine"}, {"scheduler": "linear", "warmup": 20}),
    *({"scheduler": "constant", "warmup": 50}, {"scheduler": "constant", "warmup": 0.1}, {"scheduler": "cosine", "warmup": 2}),
    *({"scheduler": "cosine", "steps": None}, {"scheduler": "constant", "warmup": 50, "steps": None, "epochs": 1.0}),
    *({"scheduler": shape, "min_learning_rate": 1e-6} for shape in ("linear", "cosine", "constant", None)),
    *({"scheduler": shape, "min_learning_rate": 0.0} for shape in ("linear", "cosine")),
    *({"weight_decay": 0.0}, {"weight_decay": 0.1}, {"weight_decay": 0.01}, {"clipping": 0.0}, {"clipping": 0.5}, {"clipping": 1.0}),
    *({"beta1": 0.8}, {"beta2": 0.95}, {"beta1": 0.8, "beta2": 0.95}, ADAM, {**ADAM, "optimizer": "lion"}, {**ADAM, "optimizer": "sgd"}),
    *({"beta1": 0.9, "beta2": 0.99, "optimizer": "lion"}, {"epsilon": 1e-6}, {"epsilon": 1e-8}, {"epsilon": 1e-6, "optimizer": "lion"}),
    *({"lora": True}, {"lora": True, "learning_rate": 1e-4}, {"lora": True, "optimizer": "lion"}, {"lora": True, "checkpointing": True}),
    *({"lora": True, "target": {"transformers": release}} for release in ("5.22.0", "5.23.0")),
    *({"checkpointing": True, "target": {"transformers": release}} for release in ("5.22.0", "5.23.0")),
    *({"checkpointing": True}, {"checkpointing": False}, {"target": {"transformers": "4.42.4"}}, {"target": {"deepspeed": "0.16.4"}}),
)
MODELS = (
    *({"model": "pythia-1b"}, {"model": "PYTHIA-1B"}, {"model": "gpt3-125m"}, {"model": "llama2-7b"}, {"model": "llama2-70b"}),
    *({"model": "gpt-5"}, {"model": None}, {"layers": 12}, {"layers": 12, "kv_heads": 4}, {"lora": True, "model": "llama-3.1-8b"}),
    *(OWN, {**OWN, "kv_heads": 4}, {**OWN, "kv_heads": 5}, {**OWN, "heads": 13}, {**OWN, "heads": None}, {**OWN, "hidden": 8, "heads": 2}),
    *({**OWN, "layers": None}, {**OWN, "hidden": None}, {**OWN, "tensor_parallel": 4, "kv_heads": 2}, {**OWN, "seq_length": None}),
    *({**OWN, "tensor_parallel": 4, "heads": 6, "hidden": 768}, {**OWN, "layers": 40, "hidden": 5120, "heads": 40}),
    *({"model": name, "global_batch": None, "max_micro_batch": None, "seq_length": None} for name in SHAPES),
)
TRL = (
    *({"trainer": name} for name in TRAINERS),
    *({"trainer": name, "lora": True} for name in TRAINERS),
    *({"trainer": name, "target": {"trl": "0.17.0"}} for name in TRAINERS),
    *({"trainer": "sft", "target": {"trl": release}, **more} for release in ("0.29.0", "1.0.0") for more in ({}, {"precision": "fp32"})),
    *({"trainer": "sft", "target": {"trl": release}, "lora": True} for release in ("0.29.0", "1.0.0")),
    *({"trainer": "sft", "target": {"trl": "0.17.0"}, "checkpointing": True}, {"trainer": "rloo", "target": {"trl": "1.0.0"}}),
    *(  # both sides of each release that changes what has to be written
        {"trainer": name, "target": {"trl": release}, "checkpointing": True, "precision": "fp32"}
        for release in ("0.18.2", "0.19.0", "0.21.0", "0.22.0", "0.29.1", "1.0.0")
        for name in ("sft", "rloo")
    ),
    *({"trainer": "grpo", "global_batch": size} for size in (8, 24, 40, None)),
    *({"trainer": "grpo", "gpus": 1, "global_batch": size} for size in (2, 3, 4, 5, 6, 7, 9, 10, 11, 12)),
    *({"trainer": "grpo", "max_micro_batch": None, "micro_batch": size} for size in (1, 2)),
    *({"trainer": "grpo", "global_batch": None, "max_micro_batch": None, "micro_batch": 1, "gpus": 6},),
    *({"trainer": "grpo", "seq_length": 300}, {"trainer": "grpo", "epochs": None, "steps": 100}, {"trainer": "grpo", "num_examples": 33}),
    *({"trainer": "grpo", "num_examples": 33, "target": {"trl": "0.17.0"}}, {"trainer": "grpo", "gpus": 1}),
    *({"trainer": "kto", "global_batch": 8}, {"trainer": "kto", "global_batch": 16}, {"trainer": "kto", "gpus": 1, "global_batch": 1}),
    *({"trainer": "kto", "max_micro_batch": 1}, {"trainer": "kto", "max_micro_batch": 2}, {"trainer": "kto", "max_micro_batch": None}),
    *({"trainer": "kto", "max_micro_batch": None, "micro_batch": 1}, {"trainer": "ppo"}, {"trainer": "dpo", "learning_rate": 1e-5}),
)
CHANGES = (*SIZES, *LENGTHS, *RATES, {"model": "pythia-1b"}, {**OWN, "kv_heads": 4})
SETS = tuple(f"{RUN}-{framework}" for framework in set_frameworks())


def written(kind, facts):
    """The keys of the files with their reasons and what is said of them, or why there are none."""
    kind, _, framework = kind.partition("-")
    try:
        made = generate(kind, JobSpec(**{name: value for name, value in facts.items() if value is not None}), framework)
    except (Contradiction, Unreachable) as refusal:
        return [f"refused: {line}" for line in str(refusal).splitlines()]
    lines = [f"says: {note}" for note in made.notes]
    for file in made.files:
        values = [(name, value) for name, value in leaves(file.keys.values) if not isinstance(value, dict)]
        reasons = {name: f"  # {why}" for name, _, why in file.reasons}
        lines += [f"# {line}" for line in file.head]
        lines += [f"# {title}: from `{name}` on" for name, title in file.keys.titles.items()]
        lines += [f"{file.name}: {name}: {value!r}{reasons.get(name, '')}" for name, value in values]
    return lines


def key_of(line):
    """`train.yaml: learning_rate` of a line of a file; None for other lines."""
    return None if line.startswith(("says", "#")) else line.partition("  # ")[0].rpartition(": ")[0]


def difference(title, usual, now):
    """The lines that are new or other, and the keys that are gone."""
    if now[0].startswith("refused"):
        return [f"=== {title}", *(f"  {line}" for line in now)]
    kept = {key_of(line) for line in now} | {None}
    gone = [f"  - {key_of(line)}" for line in usual if key_of(line) not in kept]
    new = [f"  + {line}" for line in now if line not in usual]
    return [f"=== {title}", *(gone + new or ["  nothing changes"])]


def changes(kind):
    """The facts that are changed for a kind; a set has files of which each has its own record."""
    if kind in SETS:
        return SIZES
    return (*CHANGES, *{"trl": TRL, "neox": MODELS}.get(kind, ()))


@pytest.mark.parametrize("kind", [*kinds(), *SETS])
def test_each_fact(kind, root, updating):
    base = {**BASE, **OF_KIND.get(kind, {})}
    usual = written(kind, base)
    lines = ["=== the usual facts", *usual]
    for change in changes(kind):
        lines += difference(str(change), usual, written(kind, {**base, **change}))
    purpose = "what `cfglint new` says and writes for the usual facts with some changed"
    check_parts(root / "tests" / "generators" / "expected" / kind, purpose, lines, updating)
