"""Numbers that people ask for, and the line of `explain` that answers: each case is one question."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

SFT = """\
model_name_or_path: meta-llama/Llama-3.1-8B
dataset_name: org/data
output_dir: out
max_length: 2048
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 2.0e-5
"""
PACKED = f"{SFT}packing: true\n"
FACTORY = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: lora
dataset: mine
template: qwen
cutoff_len: 1024
output_dir: out
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
bf16: true
"""
AXOLOTL = """\
base_model: org/model
datasets:
  - {path: mine.jsonl, type: alpaca}
output_dir: out
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
learning_rate: 2.0e-4
optimizer: adamw_torch
lr_scheduler: cosine
bf16: true
"""
TRAINER = """\
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
learning_rate: 2.0e-5
"""
GRPO = "swift rlhf --rlhf_type grpo --model org/model --dataset mine --num_generations 8 --per_device_train_batch_size 4"
GPUS = ("--gpus", "8")
MANY = (*GPUS, "--num-examples", "10000")
TOKENS = (*GPUS, "--num-tokens", "50e6")
OLD = ("--target", "transformers==4.41.2")

# (the question, the file, what is added to it, the options, {the label of a line: its value})
QUESTIONS = [
    ("tokens of a step, packed", PACKED, "max_steps: 100\n", GPUS, {"tokens per step": 2 * 8 * 8 * 2048}),
    ("tokens of a run, packed", PACKED, "max_steps: 500\n", GPUS, {"tokens in all": 500 * 128 * 2048}),
    ("most tokens of a step", SFT, "", MANY, {"tokens per step at most": 128 * 2048}),
    ("most tokens of an epoch", SFT, "", MANY, {"tokens per epoch at most": 10000 * 2048}),
    ("most tokens of a run", SFT, "num_train_epochs: 2\n", MANY, {"tokens in all at most": 2 * 79 * 128 * 2048}),
    ("rows that hold the tokens", PACKED, "num_train_epochs: 3\n", TOKENS, {"rows at least": 24415}),
    ("fewest steps of packed rows", PACKED, "num_train_epochs: 3\n", TOKENS, {"total steps at least": 3 * 191}),
    (
        "most steps of packed rows",
        PACKED,
        "num_train_epochs: 3\n",
        (*TOKENS, "--num-examples", "30000"),
        {"steps per epoch at most": 235, "total steps at most": 705},
    ),
    (
        "no most for samples that are divided",
        PACKED,
        "num_train_epochs: 3\npacking_strategy: wrapped\n",
        (*TOKENS, "--num-examples", "30000"),
        {"total steps at least": 573, "total steps at most": "missing"},
    ),
    ("epochs of max_steps, packed", PACKED, "max_steps: 500\n", TOKENS, {"epochs at most": 2.62}),
    ("tokens of the data, not packed", SFT, "num_train_epochs: 2\n", (*MANY, "--num-tokens", "3000000"), {"tokens in all": 6000000}),
    ("epochs of max_steps", TRAINER, "max_steps: 500\n", MANY, {"epochs": 3.18, "steps per epoch": 157}),
    ("epochs of max_steps beside epochs", TRAINER, "max_steps: 100\nnum_train_epochs: 5\n", MANY, {"epochs": 0.64, "total steps": 100}),
    ("steps of an epoch", TRAINER, "num_train_epochs: 1\n", MANY, {"steps per epoch": 157, "total steps": 157}),
    ("steps of an epoch, 4.51", TRAINER, "num_train_epochs: 1\n", (*MANY, *OLD), {"steps per epoch": 156}),
    ("a checkpoint at the last step", TRAINER, "num_train_epochs: 1\nsave_steps: 100\n", MANY, {"checkpoints": 2}),
    ("none at the last step before 4.42", TRAINER, "num_train_epochs: 1\nsave_steps: 100\n", (*MANY, *OLD), {"checkpoints": 1}),
    ("no checkpoint at all before 4.42", TRAINER, "num_train_epochs: 1\n", (*MANY, *OLD), {"checkpoints": 0}),
    (
        "warm-up of a ratio",
        TRAINER,
        "num_train_epochs: 1\nwarmup_ratio: 0.1\n",
        (*MANY, "--target", "transformers==4.57.1"),
        {"warm-up steps": 16},
    ),
    ("evaluations", TRAINER, "num_train_epochs: 1\neval_strategy: steps\neval_steps: 50\n", MANY, {"evaluations": 4}),
    ("checkpoints of axolotl", AXOLOTL, "saves_per_epoch: 2\n", MANY, {"total steps": 469, "checkpoints": 6}),
    ("evaluations of axolotl", AXOLOTL, "val_set_size: 0.1\nevals_per_epoch: 4\n", MANY, {"evaluations": 12}),
    ("checkpoints of axolotl at epochs", AXOLOTL, "", MANY, {"checkpoints": 3}),
    (
        "checkpoints of axolotl, packed",
        AXOLOTL,
        "sample_packing: true\nsaves_per_epoch: 2\n",
        GPUS,
        {"checkpoints": 6, "total steps": None},
    ),
    ("epochs of axolotl's max_steps", AXOLOTL, "max_steps: 100\n", MANY, {"epochs": 0.64, "steps of the epochs": 469}),
    ("fewest steps of axolotl's rows", AXOLOTL, "sample_packing: true\n", (*GPUS, "--num-tokens", "100e6"), {"total steps at least": 1146}),
    ("tokens of axolotl's step", AXOLOTL, "sample_packing: true\n", GPUS, {"tokens per step": 64 * 4096}),
    ("most tokens of LLaMA-Factory", FACTORY, "", (*GPUS, "--num-examples", "1000"), {"tokens per epoch at most": 1024000}),
    (
        "GRPO under ms-swift",
        GRPO,
        " --gradient_accumulation_steps 4\n",
        (*GPUS, "--num-examples", "4000", "--env", "NPROC_PER_NODE=8"),
        {"generation batch": 128, "prompts": 16, "generation steps": 4},
    ),
    ("steps of DDP without accumulation", TRAINER.replace("steps: 2", "steps: 1"), "num_train_epochs: 3\n", MANY, {"total steps": 939}),
]


def name_of(text):
    """The name of the file, by which its kind is recognised."""
    return "run.sh" if text.startswith("swift") else "train.yaml"


LOOP = """\
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, get_scheduler

accelerator = Accelerator()
model = AutoModelForCausalLM.from_pretrained("org/model")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
loader = DataLoader(rows, batch_size=2)
schedule = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=STEPS)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for batch in loader:
    accelerator.backward(model(**batch).loss)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
"""


@each_case(
    ("old", "new", "total"),
    [
        ("", "", 125),
        ("STEPS", "1000 * accelerator.num_processes", 1000),
        ("Accelerator()", "Accelerator(step_scheduler_with_optimizer=False)", "missing"),
        (
            "loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)",
            "loader = accelerator.prepare(model, optimizer, loader)",
            "missing",
        ),
        ("Accelerator()", "Accelerator(dataloader_config=DataLoaderConfiguration(split_batches=True))", "missing"),
    ],
)
def test_a_prepared_schedule_goes_on_once_for_each_process(old, new, total, tmp_path, capsys):
    text = (LOOP.replace(old, new) if old else LOOP).replace("STEPS", "1000")
    (tmp_path / "train.py").write_text(
        text.replace("import Accelerator\n", "import Accelerator\nfrom accelerate import DataLoaderConfiguration\n")
    )
    (tmp_path / "run.sh").write_text("accelerate launch --num_processes 8 train.py\n")
    main(["explain", str(tmp_path / "run.sh"), "--format", "json"])
    found = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert found.get("schedule's total", "missing") == total


@pytest.mark.parametrize(("file", "more", "options", "answers"), [each[1:] for each in QUESTIONS], ids=[each[0] for each in QUESTIONS])
def test_questions(file, more, options, answers, tmp_path, capsys):
    path = tmp_path / name_of(file)
    path.write_text(file + more)
    kind = () if file.startswith("swift") else ("--kind", "trl") if file.startswith(SFT) else ()
    main(["explain", str(path), *options, *kind, *(("--trainer", "sft") if kind else ()), "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    found = {each["name"]: each["value"] for each in told["settings"]}
    assert {label: found.get(label, "missing") for label in answers} == answers
