"""The checks whose outcome turns on the release or on several keys."""

from __future__ import annotations

import pytest

from cases import each_case

BEST = "output_dir: out\nload_best_model_at_end: true\neval_strategy: steps\n"


@each_case(
    ("save", "every", "version", "verdict"),
    [
        ("400", "200", "5.23.0", "accept"),
        ("300", "200", "5.23.0", "reject"),
        ("0.3", "0.1", "5.23.0", "accept"),
        ("0.3", "0.1", "4.52.4", "reject"),
        ("0.3", "0.1", "4.53.0", "accept"),
        ("0.5", "0.25", "4.42.4", "accept"),
        ("0.5", "100", "5.23.0", "reject"),
        ("500", "0", "5.23.0", "accept"),
    ],
)
def test_best_model_steps(trainer, save, every, version, verdict):
    assert trainer(f"{BEST}save_steps: {save}\neval_steps: {every}\n", version=version).verdict == verdict


def test_ratios_that_only_rounding_refuses_name_the_release(trainer):
    (found,) = trainer(f"{BEST}save_steps: 0.3\neval_steps: 0.1\n", version="4.52.4").diagnostics
    assert found.message.endswith("`eval_steps` (0.1), and transformers before 4.53.0 compares rounded fractions")


@pytest.mark.parametrize(
    ("strategy", "version", "verdict"), [("best", "5.23.0", "accept"), ("epoch", "5.23.0", "reject"), ("steps", "4.42.4", "accept")]
)
def test_best_model_strategies(trainer, strategy, version, verdict):
    assert trainer(f"{BEST}save_strategy: {strategy}\n", version=version).verdict == verdict


def test_a_strategy_that_the_command_line_may_give_is_no_error(trainer):
    text = "output_dir: out\nload_best_model_at_end: true\n"
    assert trainer(text).verdict == "reject"
    assert trainer(text, complete=False, kind_given=False).verdict == "accept"


@each_case(
    ("value", "version", "verdict"),
    [
        ("0.1", "5.23.0", "accept"),
        ("0.1", "4.57.1", "reject"),
        ("1", "4.42.4", "reject"),
        ("1", "4.44.0", "accept"),
        ("0.5", "4.41.2", "accept"),
        ("-1", "5.23.0", "reject"),
        ("true", "4.42.4", "reject"),
    ],
)
def test_warmup_steps(trainer, value, version, verdict):
    assert trainer(f"output_dir: out\nwarmup_steps: {value}\n", version=version).verdict == verdict


@each_case(
    ("schedule", "arguments", "version", "verdict"),
    [
        ("cosine", "{num_cycles: 2}", "5.23.0", "accept"),
        ("cosine", "{min_lr: 0.1}", "5.23.0", "reject"),
        ("cosine", "{num_training_steps: 5}", "5.23.0", "reject"),
        ("constant", "{min_lr: 0.1}", "5.23.0", "accept"),
        ("constant", "abc", "5.23.0", "accept"),
        ("linear", "abc", "5.23.0", "reject"),
        ("inverse_sqrt", "{foo: 1}", "4.42.4", "accept"),
        ("inverse_sqrt", "{foo: 1}", "5.23.0", "reject"),
        ("cosine_with_min_lr", "null", "5.23.0", "reject"),
        ("cosine_with_min_lr", "{min_lr_rate: 0.1}", "5.23.0", "accept"),
        ("cosine_with_min_lr", "{min_lr_rate: 0.1, min_lr: 0.1}", "5.23.0", "reject"),
        ("warmup_stable_decay", "{num_decay_steps: 5}", "5.23.0", "accept"),
        ("warmup_stable_decay", "{num_decay_steps: 5}", "4.42.4", "reject"),
        ("warmup_stable_decay", "{num_decay_steps: 5, decay_type: odd}", "5.23.0", "reject"),
        ("polynomial", "{lr_end: 1.0}", "5.23.0", "reject"),
    ],
)
def test_scheduler_arguments(trainer, schedule, arguments, version, verdict):
    text = f"output_dir: out\nlr_scheduler_type: {schedule}\nlr_scheduler_kwargs: {arguments}\n"
    assert trainer(text, version=version).verdict == verdict


@each_case(
    ("fsdp", "section", "gpus", "version", "verdict"),  # of `section` as `fsdp_config`
    [
        ("true", "{}", 8, "5.23.0", "accept"),
        ("true", "{}", 1, "5.23.0", "reject"),
        ("true", "{}", None, "5.23.0", "accept"),
        ("hybrid_shard", "{}", 8, "5.23.0", "reject"),
        ("hybrid_shard", "{version: 1}", 8, "5.23.0", "accept"),
        ("hybrid_shard", "{}", 8, "4.42.4", "accept"),
        ("offload", "{}", 8, "5.23.0", "accept"),
        ("offload", "{}", 8, "4.42.4", "reject"),
        ("full_shard shard_grad_op", "{}", 8, "4.42.4", "reject"),
        ("true", "{reshard_after_forward: full_shard}", 8, "5.23.0", "reject"),
        ("true", "{fsdp_reshard_after_forward: full_shard}", 8, "5.23.0", "reject"),
        ("true", "{version: 1, reshard_after_forward: full_shard}", 8, "5.23.0", "accept"),
        ("true", "{state_dict_type: sharded_state_dict}", 8, "5.23.0", "accept"),
        ("true", "{state_dict_type: foo}", 8, "5.23.0", "reject"),
        ("full_shard", "{min_num_params: 10, transformer_layer_cls_to_wrap: X}", 8, "4.42.4", "reject"),
        ("false", "{auto_wrap_policy: foo}", 8, "5.23.0", "accept"),
    ],
)
def test_fsdp(trainer, fsdp, section, gpus, version, verdict):
    assert trainer(f"output_dir: out\nfsdp: {fsdp}\nfsdp_config: {section}\n", gpus, version=version).verdict == verdict


def test_a_backend_needs_a_launcher(trainer):
    text = "output_dir: out\nddp_backend: nccl\n"
    assert [trainer(text, gpus).verdict for gpus in (1, 8, None)] == ["reject", "accept", "accept"]


@pytest.mark.parametrize(
    ("limit", "version", "verdict", "stage"),
    [
        ("-1", "5.23.0", "reject", "init"),
        ("5", "5.23.0", "accept", None),
        ("-1", "4.42.4", "reject", "first-step"),
    ],
)
def test_no_whole_batch(trainer, limit, version, verdict, stage):
    text = f"output_dir: out\ndataloader_drop_last: true\nmax_steps: {limit}\n"
    run = trainer(text, 1, 5, version)
    assert (run.verdict, run.fails_at) == (verdict, stage)


@each_case(
    ("text", "code"),
    [
        ("max_steps: 10\nwarmup_steps: 20\n", "STP004"),
        ("max_steps: 10\nnum_train_epochs: 3\n", "STP005"),
        ("max_steps: 0\n", "STP007"),
        ("num_train_epochs: 0\n", "STP007"),
        ("gradient_accumulation_steps: -1\n", "STP007"),
        ("save_steps: 0\n", "STP008"),
        ("warmup_steps: 1.0\n", "STP010"),
        ("lr_scheduler_type: constant\nwarmup_steps: 10\n", "STP011"),
        ("save_strategy: epoch\nsave_steps: 10\n", "HFT066"),
        ("fsdp_config: {min_num_params: 10}\n", "HFT026"),
        ("train_sampling_strategy: foo\n", "HFT062"),
        ("deepspeed: {}\n", "HFT061"),
    ],
)
def test_traps(trainer, codes, text, code):
    run = trainer("output_dir: out\n" + text)
    assert codes(run) == [code]
    assert run.verdict == "accept"


def test_a_sound_file_gets_nothing(trainer, codes):
    text = (
        "model_name_or_path: x\noutput_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\n"
        "learning_rate: 2.0e-5\nlr_scheduler_type: cosine\nwarmup_steps: 0.03\nnum_train_epochs: 3\nbf16: true\n"
        'eval_strategy: steps\neval_steps: 100\nsave_strategy: steps\nsave_steps: 200\nload_best_model_at_end: true\nreport_to: "none"\n'
    )
    for gpus in (1, 8, None):
        assert codes(trainer(text, gpus, 100000)) == []


def test_a_schedule_s_number_that_yaml_reads_as_text(trainer):
    text = "output_dir: out\nlr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 1e-6}\n"
    (found,) = trainer(text).diagnostics
    assert (found.code, found.message) == ("STP003", '`lr_scheduler_kwargs.min_lr` is the string "1e-6", not a number')
    assert [edit.text for edit in found.fix.edits] == ["1.0e-6"]


BEST_BY_OLD_NAME = "output_dir: out\nload_best_model_at_end: true\nsave_strategy: steps\nevaluation_strategy: steps\n"


def test_a_removed_evaluation_strategy_that_keeps_the_best_model_from_loading_is_one_finding(trainer):
    (found,) = trainer(BEST_BY_OLD_NAME).diagnostics
    assert (found.code, found.severity, found.key, found.fails_at) == ("HFT006", "error", "/evaluation_strategy", "config")
    assert found.message.endswith('`eval_strategy` is "no": `evaluation_strategy` was removed in transformers 4.51.0, use `eval_strategy`')
    assert (found.fix.title, found.fix.safe) == ("rename to eval_strategy", True)


@each_case(
    ("text", "given", "expected"),
    [
        (BEST_BY_OLD_NAME, {"strict": True}, ["KEY202"]),
        (BEST_BY_OLD_NAME.replace("evaluation_strategy: steps", "evaluation_strategy: epoch"), {}, ["HFT006", "KEY202"]),
        (BEST_BY_OLD_NAME.replace("load_best_model_at_end: true", "load_best_model_at_end: false"), {}, ["KEY202"]),
        (BEST_BY_OLD_NAME, {"version": "4.42.4"}, []),
    ],
)
def test_what_a_removed_evaluation_strategy_is_not_the_only_cause_of(trainer, text, given, expected):
    assert sorted(each.code for each in trainer(text, **given).diagnostics) == expected


def test_a_string_that_another_check_is_about_does_not_hide_the_next_one(trainer):
    found = trainer('output_dir: out\nbf16: "auto"\nfp16: "false"\ntf32: "no"\n').diagnostics
    assert [each.key for each in found if each.code == "TYP201"] == ["/fp16", "/tf32"]
