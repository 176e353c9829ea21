"""A finding whose help names one edit has that edit as a fix."""

from __future__ import annotations

import os

import pytest

from cases import each_case
from cfglint.findings.remedy import any_of, remove_key, set_key
from cfglint.rewrite.apply_fixes import apply_fixes
from examples import launch_of

DEEPSPEED = '{\n  "train_batch_size": 8,\n  "bf16": {"enabled": true, "loss_scale": 0}\n}\n'
SWIFT = "swift sft --model org/model --dataset data.jsonl"
TARGET = {"ms-swift": "4.6.0"}


@each_case(
    ("remedy", "count", "text"),
    [
        (remove_key("a.b", " for the default"), 1, "remove a.b for the default"),
        (set_key("a", 1) & remove_key("b"), 2, "set a, and remove b"),
        (set_key("a", 1) | remove_key("b"), 0, "set a, or remove b"),
        (set_key("a", 2) | "more", 0, "set a, or more"),
        ("use ZeRO stage 2" | remove_key("b"), 0, "use ZeRO stage 2, or remove b"),
        (any_of("", None, set_key("a", True)), 1, "set a"),
    ],
)
def test_a_remedy_that_leaves_a_choice_names_no_edit(remedy, count, text):
    assert len(remedy.edit) == count
    assert remedy.text(lambda step: f"{'remove' if step.removes else 'set'} {step.key}{step.reason}") == text


def fixed(folder, kind, texts, target=None):
    """The files that all fixes change, by name, and the titles of those that are safe."""
    run = launch_of(kind, texts, str(folder), {"target": target or {}})
    safe = {each.fix.title for each in run.diagnostics if each.fix and each.fix.safe}
    done = apply_fixes(run, unsafe=True)
    assert apply_fixes(done.run, unsafe=True).texts == {}
    return {os.path.basename(path): text for path, text in done.texts.items()}, safe


def test_a_key_is_removed_and_nothing_else_changes(tmp_path):
    texts, safe = fixed(tmp_path, "deepspeed", {"ds.json": DEEPSPEED}, {"deepspeed": "0.19.8"})
    assert texts == {"ds.json": DEEPSPEED.replace(', "loss_scale": 0', "")}
    assert safe == set()


def test_a_key_that_is_missing_is_added(tmp_path):
    text = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n"
    texts, _ = fixed(tmp_path, "accelerate", {"a.yaml": text}, {"accelerate": "1.12.0"})
    assert texts == {"a.yaml": f"{text}  fsdp_min_num_params: 100000000\n"}


@each_case(
    ("before", "after"),
    [
        (f"{SWIFT} --warmup_ratio 5\n", f"{SWIFT} --warmup_ratio 0\n"),
        (f"{SWIFT} \\\n  --train_type lora\n", f"{SWIFT} \\\n  --tuner_type lora\n"),
        (f"export A=1\nCUDA_VISIBLE_DEVICES=0,1 {SWIFT} --deepspeed zero2\n", None),
        (f"NPROC_PER_NODE=1 CUDA_VISIBLE_DEVICES=0,1 {SWIFT} --deepspeed zero2\n", None),
    ],
)
def test_the_words_of_a_line_are_edited(tmp_path, before, after):
    if after is None:
        started = "NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES"
        after = before.replace("NPROC_PER_NODE=1 ", "").replace("CUDA_VISIBLE_DEVICES", started)
    texts, safe = fixed(tmp_path, "launch", {"train.sh": before}, TARGET)
    assert texts == {"train.sh": after}
    assert bool(safe) == ("--train_type" in before)  # renamed by the release


def test_a_key_that_hydra_does_not_know_is_added_to_its_config(tmp_path):
    line = "python3 -m verl.trainer.main_ppo trainer.own=3 'data.other=4' actor_rollout_ref.rollout.name=vllm\n"
    texts, safe = fixed(tmp_path, "launch", {"train.sh": line}, {"verl": "0.9.1"})
    assert texts["train.sh"].startswith("python3 -m verl.trainer.main_ppo +trainer.own=3 '+data.other=4' ")
    assert safe == set()


PROGRAM = """from trl import DPOConfig, DPOTrainer

args = DPOConfig(
    output_dir="out",
)
trainer = DPOTrainer(model, args=args, beta=0.1, max_length=size, loss_type=args.loss_type, tokenizer=words)
trainer.train()
"""


@pytest.mark.parametrize("known", [True, False])
def test_the_keywords_of_a_trainer_go_where_its_release_has_them(tmp_path, known):
    """A literal moves into the configuration class, what `args` has is not passed again, a computed value stays."""
    texts = {"train.sh": "python train.py\n", "train.py": PROGRAM}
    target = {"trl": "0.16.0", "transformers": "4.48.3"}
    changed, safe = fixed(tmp_path, "launch", texts, target if known else {"transformers": "4.48.3"})
    if known:
        after = (
            PROGRAM.replace('"out",\n', '"out",\n    beta=0.1,\n').replace("beta=0.1, max", "max").replace("loss_type=args.loss_type, ", "")
        )
        assert changed == {"train.py": after.replace("tokenizer=words", "processing_class=words")}
        assert safe == {"write `processing_class=` in its place"}
    else:
        assert safe == set()
