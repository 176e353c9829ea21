"""The sentences about a change, each worked out by hand beside it."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.review.consequence import number, percent, ratio, relation

TRAINER = """\
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
learning_rate: 2.0e-5
num_train_epochs: 3
warmup_steps: 100
bf16: true
"""
ENGINE = """\
{
  "train_batch_size": 512,
  "train_micro_batch_size_per_gpu": 8,
  "gradient_accumulation_steps": 8,
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 2},
  "optimizer": {"type": "AdamW", "params": {"lr": 2e-5}},
  "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_max_lr": 2e-5, "warmup_num_steps": 100, "total_num_steps": 1000}}
}
"""
NEOX = """\
train_micro_batch_size_per_gpu: 4
gradient_accumulation_steps: 8
num_layers: 12
hidden_size: 768
num_attention_heads: 12
seq_length: 2048
max_position_embeddings: 2048
train_iters: 1000
lr_decay_iters: 1000
warmup: 0.01
optimizer: {type: Adam, params: {lr: 0.0006}}
"""
SCHEDULER = """,
  "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_max_lr": 2e-5, "warmup_num_steps": 100, "total_num_steps": 1000}}"""


def engine(**changed):
    text = ENGINE
    for old, new in changed.values():
        assert old in text
        text = text.replace(old, new)
    return {"ds_config.json": text}


@each_case(
    ("removed", "sentence"),
    [
        (', "params": {"lr": 2e-5}', "learning rate not in these files -> 2e-5"),
        (SCHEDULER, "schedule's warm-up not in these files -> 100"),
    ],
)
def test_numbers_that_only_one_version_of_a_deepspeed_config_sets(told, removed, sentence):
    """The program may set them in the other version: its number is not known."""
    assert sentence in told(engine(a=(removed, "")), engine(), gpus=8)
    assert sentence.replace("not in these files -> ", "") + " -> not in these files" in told(engine(), engine(a=(removed, "")), gpus=8)


def test_weights_loaded_in_half_precision_are_not_fp32(told):
    half = TRAINER + "torch_dtype: float16\n"
    assert not any("fp32" in each for each in told(half, half.replace("bf16: true\n", ""), gpus=8))
    assert any("fp32" in each for each in told(TRAINER, TRAINER.replace("bf16: true\n", ""), gpus=8))


def test_replicas_of_more_gpus_take_fewer_batches(told):
    # 4 x 8 samples on each GPU -> 8 x 8 on each two: as many on any number of GPUs; 16 x 8: twice as many
    changed = NEOX.replace("gpu: 4", "gpu: 8") + "model_parallel_size: 2\n"
    assert not any("global batch" in each for each in told(NEOX, changed, kind="neox") if "unchanged" not in each)
    assert (
        "global batch doubled on any number of GPUs: 32 -> 128 samples per data-parallel replica and step, on 1 -> 2 GPUs each: "
        "4 x 8 -> 16 x 8 (micro batch x accumulation)" in told(NEOX, changed.replace("gpu: 8", "gpu: 16"), kind="neox")
    )


def test_halved_accumulation(told):
    # 128770 samples / (4 x 8) = 4025 batches a GPU (rounded up); / 8 = 504 steps, x 3 = 1512; / 4 = 1007, x 3 = 3021
    assert told(TRAINER, TRAINER.replace("steps: 8", "steps: 4"), gpus=8, num_examples=128770) == [
        "global batch 256 -> 128 (halved): 4 x 8 x 8 -> 4 x 4 x 8 (micro batch x accumulation x data parallel)",
        "learning rate unchanged: learning_rate 2.0e-5 (train.yaml:4)",
        "total steps 1,512 -> 3,021 (about doubled)",
        "warm-up 6.6 % -> 3.3 % of the run (100 of 1,512 steps -> 100 of 3,021)",
        "checkpoints 4 -> 7",
    ]


def test_halved_accumulation_of_an_unknown_launch(told):
    assert told(TRAINER, TRAINER.replace("steps: 8", "steps: 4")) == [
        "global batch halved on any number of GPUs: 32 -> 16 samples per GPU and step: 4 x 8 -> 4 x 4 (micro batch x accumulation)",
        "learning rate unchanged: learning_rate 2.0e-5 (train.yaml:4)",
        "total steps about doubled for as many samples: the same 3 epochs in smaller batches",
        "warm-up stays 100 steps, about halved as a fraction of the run",
    ]


def test_steps_of_grpo_follow_the_completions_of_a_prompt(told):
    grpo = f"{TRAINER}num_generations: 16\nmax_completion_length: 256\nbeta: 0.0\n"
    assert not any("total steps" in each for each in told(grpo, grpo.replace("steps: 8", "steps: 4").replace(": 16", ": 8")))
    assert "total steps about halved for as many samples: the same 3 epochs" in "".join(told(grpo, grpo.replace(": 16", ": 8")))


def test_the_same_batch_split_otherwise(told):
    after = TRAINER.replace("size: 4", "size: 8").replace("steps: 8", "steps: 4")
    assert told(TRAINER, after, gpus=8) == [
        "global batch unchanged at 256: 4 x 8 x 8 -> 8 x 4 x 8 (micro batch x accumulation x data parallel)",
        "micro batch 4 -> 8 (doubled), which changes activation memory",
    ]
    assert told(TRAINER, after)[0] == ("global batch unchanged on any number of GPUs: 4 x 8 -> 8 x 4 (micro batch x accumulation)")


@pytest.mark.parametrize(
    ("rate", "sentence"),
    [
        ("4.0e-5", "learning rate 2.0e-5 -> 4.0e-5 (doubled, linear with the global batch)"),
        ("2.8284e-5", "learning rate 2.0e-5 -> 2.8284e-5 (+41.4 %, with the square root of the global batch)"),
        ("3.0e-5", "learning rate 2.0e-5 -> 3.0e-5 (+50 %)"),
    ],
)
def test_a_learning_rate_that_follows_the_batch(told, rate, sentence):
    sentences = told(TRAINER, TRAINER.replace("steps: 8", "steps: 16").replace("2.0e-5", rate), gpus=8)
    assert sentence in sentences
    assert not any("unchanged" in each for each in sentences)


def test_a_default_learning_rate_stays_too(told):
    bare = TRAINER.replace("learning_rate: 2.0e-5\n", "")
    source = f"default of transformers {RELEASES['transformers']}"
    assert f"learning rate unchanged: 5e-05 ({source})" in told(bare, bare.replace("steps: 8", "steps: 4"))


def test_limited_steps_see_fewer_samples(told):
    before = TRAINER.replace("num_train_epochs: 3", "max_steps: 2000")
    # 2000 x 4 x 8 x 8 = 512,000
    assert told(before, before.replace("steps: 8", "steps: 4"), gpus=8)[2:] == ["total samples 512,000 -> 256,000 (halved)"]
    assert told(before, before.replace("steps: 8", "steps: 4"))[2:] == ["total samples about halved, in 2,000 steps"]


def test_a_limit_of_the_steps_that_is_removed(told):
    before = TRAINER.replace("num_train_epochs: 3", "max_steps: 2000")
    assert told(before, TRAINER)[0] == "total steps 2,000 -> set by the epochs and the data"


def test_more_epochs(told):
    assert told(TRAINER, TRAINER.replace("epochs: 3", "epochs: 6")) == [
        "total steps about doubled for as many samples: 3 -> 6 epochs",
        "warm-up stays 100 steps, about halved as a fraction of the run",
    ]


def test_epochs_that_max_steps_overrides(compare):
    before = TRAINER.replace("bf16: true", "max_steps: 500")
    compared = compare(before, before.replace("epochs: 3", "epochs: 6"), gpus=8)
    assert compared.consequences == []
    compared.add_notes()
    (change,) = compared.settings
    assert [note.partition(":")[0] for note in change.notes] == ["STP005"]


def test_precision_and_recomputation(told):
    assert told(TRAINER, TRAINER.replace("bf16: true", "fp16: true\ngradient_checkpointing: true")) == [
        "precision bf16 -> fp16",
        "gradient checkpointing off -> on",
    ]


def test_zero_stage_and_offload(told):
    after = engine(stage=('"stage": 2', '"stage": 3, "offload_optimizer": {"device": "cpu"}'))
    assert told(engine(), after, gpus=8) == [
        "ZeRO stage 2 -> 3: optimizer states, gradients and weights are sharded",
        "optimizer offload off -> cpu",
    ]


def test_offload_is_where_the_stage_puts_it(told):
    offloads = '"offload_optimizer": {"device": "nvme", "nvme_path": "/n"}, "offload_param": {"device": "nvme", "nvme_path": "/n"}'
    assert told(engine(), engine(stage=('"stage": 2', f'"stage": 2, {offloads}')), gpus=8) == ["optimizer offload off -> cpu"]


def test_a_device_that_deepspeed_leaves_out_is_none(told):
    assert told(engine(), engine(stage=('"stage": 2', '"stage": 2, "offload_optimizer": {"device": "auto"}')), gpus=8) == []


@each_case(
    ("before", "after", "expected"),  # of the keys of a trainer's file
    [
        ("max_grad_norm: 5e-1", "max_grad_norm: 1.0", ("gradient_clipping", 0.5, 1.0)),  # a string in YAML 1.1
        ("warmup_ratio: 1e-1", "warmup_ratio: 0.2", ("warmup", 0.1, 0.2)),
        ("optim: adamw_torch", "optim: sgd", ("optimizer", "adamw_torch", "sgd")),
        ("save_steps: 100", "save_steps: 50", ("checkpoints", 100, 50)),
        ("save_strategy: steps", "save_strategy: epoch", ("checkpoints", "steps", "epoch")),
    ],
)
def test_what_a_setting_changes(compare, before, after, expected):
    found = compare(f"output_dir: out\n{before}\n", f"output_dir: out\n{after}\n", kind="huggingface").consequences
    assert expected in [(each.what, each.before, each.after) for each in found]


def test_rates_of_a_deepspeed_file(told):
    after = engine(size=("512", "256"), steps=('_steps": 8', '_steps": 4'))
    assert told(engine(), after, gpus=8)[:2] == [
        "global batch 512 -> 256 (halved): 8 x 8 x 8 -> 8 x 4 x 8 (micro batch x accumulation x data parallel)",
        "learning rate unchanged: optimizer.params.lr 2e-5 (ds_config.json:7), scheduler.params.warmup_max_lr 2e-5 (ds_config.json:8)",
    ]


def test_a_schedule(told):
    after = engine(
        schedule=('"total_num_steps": 1000', '"total_num_steps": 2000'), warm=('"warmup_num_steps": 100', '"warmup_num_steps": 200')
    )
    assert told(engine(), after, gpus=8) == [
        "schedule steps 1,000 -> 2,000 (doubled)",
        "schedule's warm-up steps 100 -> 200 (doubled)",
    ]
    assert "schedule WarmupDecayLR -> WarmupCosineLR" in told(engine(), engine(kind=("WarmupDecayLR", "WarmupCosineLR")))


def test_accept_to_reject(told):
    after = engine(steps=('_steps": 8', '_steps": 4'))
    sentences = told(engine(), after, gpus=8)
    assert sentences[0] == "no longer starts on 8 GPUs: fails while checking the config"
    assert told(after, engine(), gpus=8)[0] == "starts now on 8 GPUs: failed while checking the config"


def test_the_gpus_that_the_sizes_imply(told):
    # 512 = 8 x 8 x 8, 1024 = 8 x 8 x 16
    sentences = told(engine(), engine(size=("512", "1024")), complete=False)
    assert "the batch sizes now imply 16 GPUs, previously 8" in sentences
    assert sentences[1].startswith("global batch 512 -> 1,024 (doubled)")


def test_other_gpus_of_a_declaration(told):
    sentences = told(TRAINER, TRAINER, gpus=64, new_facts={"gpus": 32})
    assert sentences[:3] == [
        "GPUs 64 -> 32 (halved)",
        "global batch 2,048 -> 1,024 (halved): 4 x 8 x 64 -> 4 x 8 x 32 (micro batch x accumulation x data parallel)",
        "learning rate unchanged: learning_rate 2.0e-5 (train.yaml:4)",
    ]


def test_another_release(told):
    targets = [{"transformers": version} for version in ("4.57.6", "5.23.0")]
    assert told(TRAINER, TRAINER, target=targets[0], new_facts={"target": targets[1]}) == ["transformers 4.57.6 -> 5.23.0"]


def test_neox(told):
    # 4 x 8 x 8 = 256 samples of 2048 tokens are 524,288 tokens; 1000 steps of 256 are 256,000 samples
    sentences = told(NEOX, NEOX.replace("steps: 8", "steps: 4"), gpus=8, kind="neox")
    assert sentences == [
        "global batch 256 -> 128 (halved): 4 x 8 x 8 -> 4 x 4 x 8 (micro batch x accumulation x data parallel)",
        "learning rate unchanged: optimizer.params.lr 0.0006 (train.yaml:11)",
        "tokens per step 524,288 -> 262,144 (halved)",
        "total samples 256,000 -> 128,000 (halved)",
        "tokens in all 524,288,000 -> 262,144,000",
    ]


def test_a_decay_that_does_not_follow_the_run(told):
    sentences = told(NEOX, NEOX.replace("train_iters: 1000", "train_iters: 2000"), gpus=8, kind="neox")
    assert sentences[:3] == [
        "total steps 1,000 -> 2,000 (doubled)",
        "warm-up 1 % -> 0.5 % of the run (10 of 1,000 steps -> 10 of 2,000)",
        "decay 100 % -> 50 % of the run (1,000 of 1,000 steps -> 1,000 of 2,000)",
    ]


def test_numbers_without_end(told):
    """YAML has infinities; transformers takes none for a number of steps."""
    after = f"{TRAINER}save_steps: .inf\neval_strategy: steps\neval_steps: .inf\nnum_train_epochs: .inf\n"
    assert told(TRAINER, after, gpus=8, num_examples=1000)[0].startswith("no longer starts on 8 GPUs")


def test_model_parallelism_takes_gpus_from_the_data(told):
    sentences = told(NEOX, NEOX + "model_parallel_size: 2\n", gpus=8, kind="neox")
    assert "global batch 256 -> 128 (halved): 4 x 8 x 8 -> 4 x 8 x 4 (micro batch x accumulation x data parallel)" in sentences
    assert "tensor parallel 1 -> 2" in sentences


def test_warmup_that_follows_the_run_is_no_news(told):
    before = TRAINER.replace("warmup_steps: 100", "warmup_steps: 0.1")
    sentences = told(before, before.replace("epochs: 3", "epochs: 6"), gpus=8, num_examples=128000)
    assert sentences == ["total steps 1,500 -> 3,000 (doubled)", "checkpoints 3 -> 6"]


def test_warmup_by_itself(told):
    sentences = told(TRAINER, TRAINER.replace("warmup_steps: 100", "warmup_steps: 300"), gpus=8, num_examples=128000)
    assert sentences == ["warm-up 6.7 % -> 20 % of the run (100 of 1,500 steps -> 300 of 1,500)"]


def test_accumulation_where_somebody_else_gives_the_micro_batch(told):
    sides = [{"ds.json": f'{{"gradient_accumulation_steps": {steps}, "zero_optimization": {{"stage": 1}}}}'} for steps in (1, 4)]
    assert told(*sides, complete=False) == ["global batch 4 times as much for the same micro batch: accumulation 1 -> 4"]


def test_new_and_gone_runs(told):
    numbers = "global batch 512, learning rate 2e-5, precision bf16, ZeRO stage 2, schedule WarmupDecayLR"
    assert told(None, engine(), gpus=8) == [f"new run: starts on 8 GPUs, {numbers}"]
    assert told(engine(), None, gpus=8)[0].startswith("deleted run: started on 8 GPUs, global batch 512")
    assert told(None, engine(size=("512", "500")), gpus=8)[0].startswith("new run: does not start on 8 GPUs")


def test_a_side_that_cannot_be_read_has_no_numbers(told):
    broken = {"ds_config.json": ENGINE[:-4]}
    assert told(engine(), broken, gpus=8) == [
        "ds_config.json cannot be read any more",
        "no longer starts on 8 GPUs: fails while reading the file",
    ]
    assert told(broken, engine(), gpus=8) == [
        "ds_config.json could not be read before and can be read now",
        "starts now on 8 GPUs: failed while reading the file",
    ]
    other = {"ds_config.json": ENGINE[:-3]}
    assert told(broken, other, gpus=8) == ["ds_config.json could not be read before and cannot be read now"]
    assert told(broken, broken, gpus=8) == []


def test_a_file_that_is_not_there_any_more(compare):
    trainer = f"{TRAINER}deepspeed: ds.json\n"
    sides = {"train.yaml": trainer, "ds.json": '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}'}, {"train.yaml": trainer}
    compared = compare(*sides, gpus=8)
    assert [each.text for each in compared.consequences] == [
        "still does not start on 8 GPUs: fails while checking the config, before during initialization",
        "`deepspeed` names ds.json, which does not exist any more: its settings are not compared",
        "ZeRO stage 2 -> unknown",
    ]
    assert compared.settings == []


def test_a_file_of_the_same_name_in_another_folder_was_never_there(compare):
    trainer, engine = f"{TRAINER}deepspeed: a/ds.json\n", '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}'
    sides = {"train.yaml": trainer, "a/ds.json": engine}, {"train.yaml": trainer.replace("a/", "b/"), "a/ds.json": engine}
    assert "`deepspeed` names b/ds.json, which does not exist: its settings are not compared" in [
        each.text for each in compare(*sides, gpus=8).consequences
    ]


def test_a_number_beyond_all_floats(compare):
    before, after = f"output_dir: out\nseed: 1\nlearning_rate: 1{'0' * 400}\n", "output_dir: out\nseed: 1\nlearning_rate: 1.0e-5\n"
    assert [each.key for each in compare(before, after, kind="huggingface").settings] == ["learning_rate"]


@each_case(
    ("before", "after", "words"),
    [
        (2, 4, "doubled"),
        (4, 2, "halved"),
        (1000, 2019, "about doubled"),
        (1000, 2021, "2.02 times as much"),
        (1000, 505, "about halved"),
        (1000, 506, "-49.4 %"),
        (1, 3, "3 times as much"),
        (100, 199, "about doubled"),
        (100, 150, "+50 %"),
        (3, 1, "1/3 of the previous value"),
        (303, 100, "about 1/3 of the previous value"),
        (304, 100, "-67.1 %"),
        (1000, 1003, "+0.3 %"),
        (1000, 997, "-0.3 %"),
        (0, 3, "+3"),
        (4, 0, "-4"),
        (4, -4, "-8"),
        (1, float("inf"), "too large to compare"),
        (1, 10**400, "too large to compare"),
        (1e300, 1, "too large to compare"),
        (1, 9.9e299, "9.9e+299 times as much"),
        (1e10, 1e-299, "beyond comparison"),
        (1e-300, 1e-5, "1e+295 times as much"),
    ],
)
def test_how_much_more(before, after, words):
    assert ratio(before, after) == words


@each_case(("percentage", "words"), [(0.834, "0.83 %"), (6.61, "6.6 %"), (9.99, "10 %"), (10, "10 %"), (12.4, "12 %"), (83.3, "83 %")])
def test_a_percentage_has_two_digits(percentage, words):
    assert percent(percentage) == words


@each_case(
    ("value", "expected"),
    [(2, 2.0), ("2e-5", 2e-5), (True, None), (None, None), ("x", None), ("nan", None), (float("inf"), None), (10**400, None), ([1], None)],
)
def test_a_number_in_any_spelling(value, expected):
    assert number(value) == expected


@each_case(("before", "after", "factor"), [(2, 4, 2.0), (0, 4, None), (None, 4, None), (2, None, None), (True, 2, None), (1, "2", None)])
def test_a_factor_needs_two_numbers(before, after, factor):
    assert relation(before, after) == factor


def test_the_numbers_of_a_deleted_run_are_those_before(compare):
    found = {each.what: (each.before, each.after) for each in compare(engine(), None, gpus=8).consequences}
    assert (found["global_batch"], found["zero_stage"]) == ((512, None), (2, None))


def test_a_factor_where_the_numbers_are_unknown(compare):
    [batch, *_] = compare(TRAINER, TRAINER.replace("steps: 8", "steps: 4")).consequences
    assert (batch.what, batch.before, batch.after, batch.factor, batch.known) == ("global_batch", None, None, 0.5, False)


def test_a_precision_that_the_trainer_decides_is_unknown(compare):
    before = {"ds.json": '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}}'}
    after = {"ds.json": '{"fp16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}}'}
    [precision] = compare(before, after, complete=False, kind="deepspeed").consequences
    assert (precision.what, precision.before, precision.after, precision.known) == ("precision", "fp16", None, False)


def test_a_schedule_that_leaves_the_file(compare):
    rest = '"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW", "params": {"lr": 0.1}}}'
    before, after = {"ds.json": '{"scheduler": {"type": "WarmupLR"}, ' + rest}, {"ds.json": "{" + rest}
    [schedule] = [each for each in compare(before, after, complete=False, kind="deepspeed").consequences if each.what == "schedule"]
    assert (schedule.what, schedule.before, schedule.after, schedule.known) == ("schedule", "WarmupLR", None, False)


def test_a_ratio_of_a_run_of_unknown_length(compare):
    found = compare(TRAINER.replace("warmup_steps: 100", "warmup_ratio: 0.1"), TRAINER.replace("warmup_steps: 100", "warmup_ratio: 0.05"))
    assert [(each.what, each.before, each.after) for each in found.consequences] == [("warmup", 0.1, 0.05)]


def test_names_and_paths_have_no_effect(compare):
    found = compare(TRAINER, TRAINER.replace("output_dir: out", "output_dir: elsewhere"))
    assert [each.effect for each in found.settings] == [False]
    assert found.no_effect
    assert not found.empty


def test_what_keeps_a_run_from_starting_before_and_after(compare):
    before, after = engine(size=("512", "500")), engine(size=("512", "500"), rate=("2e-5}}", "3e-5}}"))
    assert compare(before, after, gpus=8).still == ["BAT001"]


def test_a_batch_that_the_file_fixes_stays(told):
    before = {"ds_config.json": '{"train_batch_size": 512, "train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": true}}'}
    after = {"ds_config.json": before["ds_config.json"].replace('gpu": 8', 'gpu": 4')}
    assert told(before, after, complete=False)[0] == "global batch unchanged at 512"


def test_the_accumulation_of_the_launcher(told):
    config = "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  gradient_accumulation_steps: 4\n  zero_stage: 2\n"
    [sentence] = told(config, config.replace("steps: 4", "steps: 16"), kind="accelerate")
    assert sentence.startswith("global batch 4 times as much for the same micro batch: accumulation 4 -> 16 of the launcher")


def test_settings_that_no_number_shows(told):
    before = TRAINER + "beta: 0.1\nsave_steps: 500\n"
    after = before.replace("0.1", "0.01").replace("500", "5000")
    said = told(before, after, kind="trl", trainer="dpo")
    assert "`beta` 0.1 -> 0.01: the weight of the reference model in the loss of DPO and GRPO" in said
    assert any(each.startswith("`save_steps` 500 -> 5000") for each in said)


def test_epochs_of_verl_are_told_without_the_number_of_prompts(told):
    line = "python -m verl.trainer.main_ppo data.train_batch_size=512 trainer.n_gpus_per_node=8 trainer.total_epochs={}\n"
    assert "total steps about 5 times as much for as many samples: 3 -> 15 epochs" in told(
        {"run.sh": line.format(3)}, {"run.sh": line.format(15)}
    )


def test_epochs_that_a_limit_of_steps_ends_are_not_the_length(told):
    data = "pretraining_dataset: [{path: json, data_files: [a.jsonl]}]\nval_set_size: 0.05\n"
    text = f"base_model: m\nsequence_len: 512\nmicro_batch_size: 2\nlearning_rate: 2e-4\nnum_epochs: 5\n{data}max_steps: 500\n"
    assert told(text, text.replace("epochs: 5", "epochs: 500"), kind="axolotl") == []


def test_a_precision_is_named_however_the_file_sets_it(compare):
    [sentence] = [each.text for each in compare(None, engine(), gpus=8).sentences if each.what == "run"]
    assert "precision bf16" in sentence


AXOLOTL = (
    "base_model: m\nadapter: qlora\nload_in_4bit: {}\nlr_scheduler: cosine\nlearning_rate: 1e-4\ndatasets: [{{path: d, type: alpaca}}]\n"
)


def test_what_a_refused_config_leaves_uncomputed_is_not_said_to_be_gone(told):
    sentences = told(AXOLOTL.format("true"), AXOLOTL.format("false"), kind="axolotl")
    assert sentences
    assert not any("schedule" in each for each in sentences)
