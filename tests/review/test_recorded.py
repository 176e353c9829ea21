"""What every changed setting means for a run: consequences with their numbers, settings and notes.

`CFGLINT_UPDATE=1` rewrites the record; the difference is to be read.
"""

from __future__ import annotations

import json
import re

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.report.changes import entry
from cfglint.review.compare import Comparison
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource
from records import check_parts

TRAINER = {
    "output_dir": "out",
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 8,
    "learning_rate": 2e-05,
    "num_train_epochs": 3,
    "warmup_steps": 100,
    "bf16": True,
}
STEPS = {**TRAINER, "num_train_epochs": None, "max_steps": 2000}
ENGINE = {
    "train_batch_size": 512,
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 8,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2},
    "gradient_clipping": 1.0,
    "optimizer": {"type": "AdamW", "params": {"lr": 2e-05}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_max_lr": 2e-05, "warmup_num_steps": 100, "total_num_steps": 1000}},
}
NEOX = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 8,
    "num_layers": 12,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "seq_length": 2048,
    "max_position_embeddings": 2048,
    "train_iters": 1000,
    "lr_decay_iters": 1000,
    "warmup": 0.01,
    "optimizer": {"type": "Adam", "params": {"lr": 0.0006}},
    "vocab_file": "v",
    "merge_file": "m",
}
LAUNCH = {
    "compute_environment": "LOCAL_MACHINE",
    "distributed_type": "DEEPSPEED",
    "num_machines": 1,
    "num_processes": 8,
    "machine_rank": 0,
    "deepspeed_config": {"zero_stage": 2, "gradient_accumulation_steps": 8},
}
TRL = {"model_name_or_path": "m", "dataset_name": "d", "output_dir": "out", "per_device_train_batch_size": 4, "max_length": 1024}
GRPO = {**TRL, "max_length": None, "num_generations": 4, "beta": 0.0, "per_device_train_batch_size": 8}
AXOLOTL = {
    "base_model": "m",
    "datasets": [{"path": "d", "type": "alpaca"}],
    "output_dir": "out",
    "micro_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "learning_rate": 0.0001,
    "sequence_len": 2048,
}
FACTORY = {
    "model_name_or_path": "m",
    "dataset": "d",
    "template": "llama3",
    "stage": "sft",
    "do_train": True,
    "output_dir": "out",
    "cutoff_len": 2048,
    "per_device_train_batch_size": 2,
}
FEW = {"gpus": 8}
ALL = {"gpus": 8, "num_examples": 128770}


def rate(value):
    return {"learning_rate": value}


HALF, TWICE, FOURFOLD = ({"gradient_accumulation_steps": steps} for steps in (4, 16, 32))
CHANGES = (
    (
        "huggingface",
        TRAINER,
        ({}, ALL),
        *(HALF, TWICE, FOURFOLD, {"gradient_accumulation_steps": 24}, {"gradient_accumulation_steps": 9}),
        *({"per_device_train_batch_size": 8}, {"per_device_train_batch_size": 8, **HALF}, {"per_device_train_batch_size": 1}),
        *({"per_device_train_batch_size": "auto"}, {"per_device_train_batch_size": 0}, {"gradient_accumulation_steps": None}),
        *({**TWICE, **rate(4e-05)}, {**TWICE, **rate(2.8284e-05)}, {**TWICE, **rate(3e-05)}, {**HALF, **rate(1e-05)}),
        *(rate(4e-05), rate(None), rate("x"), rate(0), rate(2.01e-05), {"warmup_steps": 200}, {"warmup_steps": 0}, {"warmup_steps": None}),
        *({"num_train_epochs": 6}, {"num_train_epochs": 1}, {"num_train_epochs": 3.01}, {"max_steps": 500}, {"num_train_epochs": 0}),
    ),
    (
        "huggingface",
        TRAINER,
        (FEW,),
        *({"bf16": False}, {"bf16": None, "fp16": True}, {"fp16": True}, {"gradient_checkpointing": True}, {"optim": "adafactor"}),
        *({"max_grad_norm": 0.5}, {"max_grad_norm": 0}, {"lr_scheduler_type": "cosine"}, {"fsdp": "full_shard"}, {"seed": 7}),
        *({"save_steps": 100}, {"eval_strategy": "steps", "eval_steps": 50}, {"weight_decay": 0.1}, {"dataloader_drop_last": True}),
        *({"run_name": "x"}, {"output_dir": "b"}, {"logging_steps": 5}, {"report_to": "none"}, {"unknown_key": 5}, {"learning_rat": 5}),
        *({"warmup_ratio": 0.1}, {"group_by_length": True}, {"deepspeed": "ds.json"}, {"max_length": 512}, {"tf32": True}),
        *({"lr_scheduler_type": "cosine_with_min_lr", "lr_scheduler_kwargs": {"min_lr": 1e-06}}, {"adam_beta2": 0.95}),
        *({"logging_dir": "x" * 90}, {"label_names": ["a", "b"]}, {"bf16": "yes"}, {"max_steps": "5"}, {"save_total_limit": 2}),
    ),
    (
        "huggingface",
        STEPS,
        ({}, FEW, ALL),
        *(HALF, TWICE, {"max_steps": 4000}, {"max_steps": 2030}, {"max_steps": None}, {"max_steps": None, "num_train_epochs": 5}),
        *({"max_steps": 4000, "warmup_steps": 200}, {**HALF, "max_steps": 4000}, {"warmup_steps": 102}, {"warmup_steps": 103}),
        *({**HALF, "max_steps": 3900}, {**HALF, "max_steps": 3970}, {"num_train_epochs": 5}),
    ),
    (
        "deepspeed",
        ENGINE,
        ({}, FEW),
        *({"train_batch_size": 1024}, {"train_batch_size": 256, "gradient_accumulation_steps": 4}, {"train_batch_size": 500}),
        *({"zero_optimization": {"stage": stage}} for stage in (0, 1, 3)),
        *({"zero_optimization": None}, {"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}, {"bf16": None}),
        *({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}, {"fp16": {"enabled": True}, "bf16": None}),
        *({"gradient_clipping": 0}, {"gradient_clipping": 0.5}, {"gradient_clipping": None}, {"bf16": {"enabled": "auto"}}),
        *({"optimizer": {"type": "AdamW", "params": {"lr": 4e-05}}}, {"optimizer": {"type": "Lion", "params": {"lr": 2e-05}}}),
        *({"optimizer": None}, {"scheduler": None}, {"steps_per_print": 5}, {"wall_clock_breakdown": True}),
        {"scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 2e-05, "warmup_num_steps": 100}}},
        {"scheduler": {"type": "WarmupDecayLR", "params": {"warmup_max_lr": 2e-05, "warmup_num_steps": 200, "total_num_steps": 1000}}},
        {"scheduler": {"type": "WarmupDecayLR", "params": {"warmup_max_lr": 4e-05, "warmup_num_steps": 100, "total_num_steps": 2000}}},
        {"scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": 1e-06, "warmup_num_steps": 100, "total_num_steps": 1000}}},
        {"tensor_parallel": {"autotp_size": 2}},
    ),
    (
        "neox",
        NEOX,
        ({}, FEW),
        *(HALF, TWICE, {"train_iters": 2000, "lr_decay_iters": 2000}, {"warmup": 0.02}, {"warmup": 0.0}, {"seq_length": 1024}),
        *({"pipe_parallel_size": 2}, {"model_parallel_size": 2}, {"precision": "bfloat16"}, {"zero_optimization": {"stage": 1}}),
        *({"optimizer": {"type": "Adam", "params": {"lr": 0.0012}}}, {"lr_decay_style": "cosine"}, {"min_lr": 0.0001}, {"save": "x"}),
        *({"seq_length": 4096, "max_position_embeddings": 4096}, {"num_layers": 24}, {"gradient_clipping": 0.5}, {"log_interval": 7}),
        *({"checkpoint_activations": True}, {"train_iters": None, "train_epochs": 2, "lr_decay_iters": None}),
    ),
    (
        "accelerate",
        LAUNCH,
        ({},),
        *({"num_processes": 16}, {"num_machines": 2, "num_processes": 16}, {"distributed_type": "MULTI_GPU", "deepspeed_config": None}),
        *({"mixed_precision": "bf16"}, {"main_process_port": 29501}, {"deepspeed_config": {"zero_stage": 3}}, {"num_processes": 1}),
        {"deepspeed_config": {"zero_stage": 2, "gradient_accumulation_steps": 8, "offload_optimizer_device": "cpu"}},
    ),
    (
        "trl",
        TRL,
        (FEW,),
        *({"max_length": 2048}, {"max_length": None}, {"packing": True}, {"use_peft": True}, {"beta": 0.2, "loss_type": "sigmoid"}),
        *({"eval_packing": True}, {"learning_rate": 0.001}, {"per_device_train_batch_size": 8}, {"dataset_name": "e"}),
    ),
    ("trl", GRPO, (FEW,), {"num_generations": 8}, {"num_generations": None}, {"per_device_train_batch_size": 4}, {"max_length": 5}),
    (
        "axolotl",
        AXOLOTL,
        (FEW,),
        *({"sequence_len": 4096}, {"sample_packing": True}, {"gradient_accumulation_steps": 8}, {"micro_batch_size": 4}),
        *({"num_epochs": 2}, {"max_steps": 100}, {"optimizer": "adafactor"}, {"lr_scheduler": "linear"}, {"adapter": "lora"}),
        *({"learning_rate": 0.0002}, {"wandb_project": "x"}, {"warmup_ratio": 0.1}, {"deepspeed": "ds.json"}),
    ),
    (
        "llamafactory",
        FACTORY,
        (FEW,),
        *({"cutoff_len": 4096}, {"packing": True}, {"finetuning_type": "full"}, {"per_device_train_batch_size": 4}, {"bf16": True}),
        *({"stage": "dpo"}, {"dataset": "e"}, {"num_train_epochs": 2}),
    ),
)
NAMES = {"deepspeed": "ds.json"}


def text_of(values):
    """The text of a config; JSON is YAML too, but for numbers with an exponent, which need a point."""
    kept = {key: value for key, value in values.items() if value is not None}
    return re.sub(r"(?<![\d.])(\d)e-0", r"\1.0e-", json.dumps(kept, indent=1))


def run_of(files, kind, **facts):
    """The run of texts by file name."""
    return Discovery(LaunchFacts(complete=True, **facts), kind, source=FileSource(files)).together(list(files))[0]


def lines_of(compared):
    """A comparison, but for its findings, which have examples of their own."""
    found = entry(compared)
    for each in found["consequences"]:
        values = {name: value for name, value in each.items() if name not in ("what", "text") and value is not None}
        yield f"  {each['what']}: {each['text']} {json.dumps(values)}"
    for each in found["settings"]:
        sides = [f"{side['value']!r}{'' if side['written'] else '?'} ({side['place']})" for side in (each["before"], each["after"])]
        notes = f" {each['notes']}" if each["notes"] else ""
        yield f"  {each['kind']} {each['key']}: {' -> '.join(sides)}{'' if each['effect'] else ' without effect'}{notes}"
    if compared.sentences != compared.consequences:
        yield f"  says: {'; '.join(each.headline for each in compared.sentences)}"
    for name in ("new", "gone", "still", "no_effect"):
        codes = [each["code"] if isinstance(each, dict) else each for each in found[name] or ()] if name != "no_effect" else found[name]
        if codes:
            yield f"  {name}: {codes}"


@pytest.mark.parametrize("group", range(len(CHANGES)))
def test_every_change(group, root, updating, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # below no pyproject.toml, which every run would read
    kind, base, launches, *changes = CHANGES[group]
    name = NAMES.get(kind, "train.yaml")
    lines = []
    for facts in launches:
        given = {"kind": kind, "kind_given": True, **facts}
        before = run_of({name: text_of(base)}, **given)
        for change in changes:
            after = run_of({name: text_of({**base, **change})}, **given)
            there = Comparison(before, after)
            there.add_notes()
            lines += [f"=== {json.dumps(change)} with {json.dumps(facts)}", *lines_of(there)]
            if facts == launches[-1]:
                lines += ["  back", *lines_of(Comparison(after, before))]
    purpose = "what a changed setting means for a run, and then what the way back does"
    check_parts(root / "tests" / "review" / "expected" / f"{kind}-{group}", purpose, lines, updating)
