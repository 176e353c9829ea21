"""A trainer with a DeepSpeed file."""

from __future__ import annotations

import json
import time

import pytest

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.explanation.summary import RunSummary

AUTO = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "zero_optimization": {"stage": 2},
}
TEXT = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\ndeepspeed: ds.json\n"


@pytest.fixture
def pair(trainer):
    """A run of the trainer's text above with more lines, and of a DeepSpeed file with changes."""

    def make(lines="", gpus=8, version="5.23.0", examples=10000, without=(), accelerate=None, **changes):
        values = {key: value for key, value in {**AUTO, **changes}.items() if key not in without}
        target = {"deepspeed": "0.19.8"} if accelerate is None else {"deepspeed": "0.19.8", "accelerate": accelerate}
        return trainer(TEXT + lines, gpus, examples, version, files={"ds.json": json.dumps(values)}, target=target)

    return make


def errors(run):
    return [(each.code, each.key) for each in run.diagnostics if each.severity == "error"]


def test_auto_is_filled_from_the_trainer(pair):
    run = pair("max_grad_norm: 0.5\n")
    assert run.verdict == "accept"
    engine = run.configs[1].values
    assert engine["train_batch_size"] == 64
    assert engine["train_micro_batch_size_per_gpu"] == 4
    assert engine["gradient_accumulation_steps"] == 2
    assert engine["gradient_clipping"] == 0.5
    assert engine["zero_allow_untested_optimizer"] is True
    assert run.configs[0].deepspeed.filled["train_batch_size"].because == "per_device_train_batch_size, gradient_accumulation_steps"


@each_case("accumulation", ["auto", 2])
def test_an_automatic_global_batch_needs_no_gpu_count(pair, accumulation):
    """The engine gets a global batch on any number of GPUs, also where the file has no micro batch."""
    run = pair(gpus=None, without=("train_micro_batch_size_per_gpu",), gradient_accumulation_steps=accumulation)
    assert errors(run) == []
    assert run.configs[1].values["train_micro_batch_size_per_gpu"] == 4


@each_case("changes", [{}, {"train_batch_size": 64}, {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4}])
def test_missing_accumulation_is_reported_at_the_deepspeed_file(pair, changes):
    """Accelerate sets the missing key to 1, whatever the Trainer accumulates."""
    [found] = [each for each in pair(without=("gradient_accumulation_steps",), **changes).diagnostics if each.severity == "error"]
    assert (found.code, found.place.file.rpartition("/")[2], found.key) == ("BAT001", "ds.json", "/gradient_accumulation_steps")
    assert found.help == 'set `gradient_accumulation_steps` to "auto"'


@pytest.mark.parametrize("changes", [{}, {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4}])
def test_the_fix_of_a_batch_writes_no_number_over_auto(pair, changes):
    """The Trainer does not divide its GPUs by the sequence parallel size of the file; its number is not changed there."""
    run = pair(sequence_parallel_size=2, **changes)
    [found] = [each for each in run.diagnostics if each.code == "BAT001"]
    assert found.message.endswith("micro batch 4 x accumulation 2 x data parallel 4 = 32")
    assert found.fix is None


def test_the_schedule_of_a_run_of_unknown_length_is_filled_and_not_known(pair):
    """The Trainer will know the length: nothing is left over for DeepSpeed."""
    params = {"total_num_steps": "auto", "warmup_num_steps": "auto", "warmup_min_lr": "auto", "warmup_max_lr": "auto"}
    optimizer = {"type": "AdamW", "params": {"lr": "auto"}}
    run = pair("warmup_steps: 0.1\n", examples=None, optimizer=optimizer, scheduler={"type": "WarmupDecayLR", "params": params})
    assert run.verdict == "accept"
    filled = run.configs[1].values["scheduler"]["params"]
    assert [name for name, value in filled.items() if isinstance(value, Unknown)] == ["total_num_steps", "warmup_num_steps"]
    account = RunSummary(run)
    told = {item.label: item.setting for item in account.items if item.label.startswith("schedule's")}
    assert all(setting.is_unknown for setting in told.values())


def test_all_mismatches_are_said_at_their_places(pair):
    run = pair("max_grad_norm: 0.5\n", train_micro_batch_size_per_gpu=8, gradient_clipping=1.0, train_batch_size="64")
    found = [each for each in run.diagnostics if each.code == "RUN001"]
    assert sorted(each.key for each in found) == ["/gradient_clipping", "/train_batch_size", "/train_micro_batch_size_per_gpu"]
    assert {each.place.file for each in found} == {"ds.json"}
    assert all(each.fails_at == "init" and each.fix.safe for each in found)
    assert any(place.file == "train.yaml" for each in found for place, _ in each.related)
    clipping = next(each for each in found if each.key == "/gradient_clipping")
    assert "- ds gradient_clipping=1.0 vs hf max_grad_norm=0.5" in clipping.exception


@pytest.mark.parametrize(("value", "same"), [(64, True), (64.0, True), ("64", False), (32, False)])
def test_plain_comparison(pair, value, same):
    assert (("RUN001", "/train_batch_size") not in errors(pair(train_batch_size=value))) is same


def test_an_unknown_number_of_gpus_decides_nothing(pair):
    assert errors(pair(gpus=None, train_batch_size=48)) == []


def test_zero_section_is_demanded(pair):
    assert ("RUN002", "/zero_optimization") in errors(pair(without=["zero_optimization"]))


@pytest.mark.parametrize(
    ("changes", "refused"), [({"bf16": None}, True), ({"fp16": None}, True), ({"bf16": None, "fp16": {"enabled": True}}, False)]
)
def test_the_state_reads_both_precisions(pair, changes, refused):
    lines = "fp16: true\n" if isinstance(changes.get("fp16"), dict) else ""
    assert any("has no attribute 'mixed_precision'" in each.exception for each in pair(lines, **changes).diagnostics) is refused


def test_missing_accumulation_becomes_one(pair):
    run = pair(without=["gradient_accumulation_steps"])
    assert run.verdict == "reject"
    assert any(each.code == "BAT001" and "64" in each.message for each in run.diagnostics)


@pytest.mark.parametrize(("accelerate", "ignored", "consumed"), [(None, False, 64), ("1.8.0", False, 64), ("1.7.0", True, 32)])
def test_accelerate_decides_when_the_engine_steps(pair, accelerate, ignored, consumed):
    run = pair(without=["gradient_accumulation_steps", "train_batch_size"], accelerate=accelerate)
    assert run.verdict == "accept"
    assert ("RUN008" in [each.code for each in run.diagnostics]) is ignored
    assert (run.resolved["global_batch"], run.resolved["consumed_batch"]) == (64, consumed)
    assert run.target.get("accelerate") == accelerate


@pytest.mark.parametrize(("version", "verdict"), [("5.23.0", "accept"), ("4.42.4", "reject")])
def test_missing_micro_batch(pair, version, verdict):
    assert pair(version=version, without=["train_micro_batch_size_per_gpu"]).verdict == verdict


def test_auto_that_nothing_fills(pair):
    run = pair(zero_optimization={"stage": 2, "allgather_bucket_size": "auto"})
    assert errors(run) == [("RUN003", "/zero_optimization/allgather_bucket_size")]


def test_sizes_come_from_the_model(pair):
    stage3 = {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}
    run = pair(zero_optimization=stage3)
    assert run.verdict == "accept"
    section = run.configs[1].values["zero_optimization"]
    assert section["reduce_bucket_size"] == 4096 * 4096
    assert section["stage3_prefetch_bucket_size"] == int(0.9 * 4096 * 4096)
    assert section["stage3_param_persistence_threshold"] == 40960


def test_a_size_that_is_filled_with_a_fraction_says_so_and_what_it_assumes(pair):
    run = pair(version="4.37.2", zero_optimization={"stage": 3, "stage3_prefetch_bucket_size": "auto"})
    (found,) = (each for each in run.diagnostics if each.code == "TYP100")
    assert (found.severity, run.verdict) == ("warning", "accept")
    assert '"auto", filled with 15099494.4' in found.message
    assert "4096" in found.note


@each_case(
    ("name", "verdict"),
    [
        ("deepseek-ai/deepseek-coder-6.7b-instruct", "reject"),  # 4096, which is not a multiple of 10
        ("lmsys/vicuna-13b-v1.5", "accept"),  # 5120
        ("/data/models/chatglm-6b", "reject"),
        ("somebody/a-model", "accept"),  # not known
    ],
)
def test_a_published_model_tells_its_hidden_size(pair, name, verdict):
    stage3 = {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto"}
    run = pair(f"model_name_or_path: {name}\n", version="4.42.4", zero_optimization=stage3)
    assert run.verdict == verdict


@each_case(
    ("lines", "half", "verdict"),
    [
        ("bf16: true\n", {"bf16": {"enabled": "auto"}}, "accept"),
        ("bf16: true\n", {"fp16": {"enabled": True}}, "reject"),
        ("bf16: true\n", {"bf16": {"enabled": False}}, "reject"),
        ("", {"bf16": {"enabled": True}}, "reject"),
        ("fp16: true\n", {}, "accept"),
    ],
)
def test_half_precision(pair, lines, half, verdict):
    assert pair(lines, **half).verdict == verdict


def test_schedule_is_filled_and_compared(pair):
    names = ("total_num_steps", "warmup_num_steps", "warmup_max_lr", "warmup_min_lr")
    scheduler = {"type": "WarmupDecayLR", "params": dict.fromkeys(names, "auto")}
    run = pair("warmup_steps: 0.1\n", scheduler=scheduler)
    assert run.verdict == "accept"
    assert run.configs[1].values["scheduler"]["params"] == {
        "total_num_steps": 471,
        "warmup_num_steps": 48,
        "warmup_max_lr": 5e-05,
        "warmup_min_lr": 0,
    }
    scheduler["params"]["total_num_steps"] = 500
    assert ("RUN001", "/scheduler/params/total_num_steps") in errors(pair(scheduler=scheduler))


def test_no_warmup_is_one_step_since_5_18(pair):
    scheduler = {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}}
    assert pair(scheduler=scheduler).configs[1].values["scheduler"]["params"]["warmup_num_steps"] == 1
    assert pair(scheduler=scheduler, version="4.42.4").configs[1].values["scheduler"]["params"]["warmup_num_steps"] == 0


@pytest.mark.parametrize(
    ("lines", "changes", "code"),
    [
        ("lr_scheduler_type: cosine\n", {"scheduler": {"type": "WarmupLR", "params": {}}}, "RUN005"),
        ("optim: adafactor\n", {"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}}, "RUN006"),
    ],
)
def test_what_wins_in_silence(pair, lines, changes, code):
    assert code in [each.code for each in pair(lines, **changes).diagnostics]


def test_what_agrees_is_not_reported(pair):
    run = pair(
        "lr_scheduler_type: linear\noptim: adamw_torch\n",
        scheduler={"type": "WarmupDecayLR", "params": {"total_num_steps": "auto"}},
        optimizer={"type": "AdamW", "params": {"lr": "auto"}},
    )
    assert not {"RUN005", "RUN006"} & {each.code for each in run.diagnostics}


@pytest.mark.parametrize(("norm", "deepspeed", "reported"), [("0.3", "0.19.8", True), ("1.0", "0.19.8", False), ("1.0", "0.18.0", True)])
def test_clipping_of_its_own(trainer, norm, deepspeed, reported):
    values = json.dumps({key: value for key, value in AUTO.items() if key != "gradient_clipping"})
    run = trainer(TEXT + f"max_grad_norm: {norm}\n", 8, files={"ds.json": values}, target={"deepspeed": deepspeed})
    assert ("RUN007" in [each.code for each in run.diagnostics]) is reported


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"zero_optimization": True}, "AttributeError: 'bool' object has no attribute 'get'"),
        ({"zero_optimization": {"stage": 2, "offload_optimizer": None}}, "AttributeError: 'NoneType' object has no attribute 'get'"),
        ({"train_micro_batch_size_per_gpu": "four"}, "TypeError: unsupported operand type(s) for //: 'str' and 'int'"),
    ],
)
def test_odd_values_stumble_as_they_do_there(pair, values, text):
    assert text in [each.exception for each in pair(**values).diagnostics if each.code == "RUN004"]


def test_a_section_in_the_trainers_own_file(trainer):
    run = trainer("output_dir: out\ndeepspeed: {train_micro_batch_size_per_gpu: 2, zero_optimization: {stage: 2}}\n", 8)
    found = next(each for each in run.diagnostics if each.code == "RUN001")
    assert (found.key, found.place.file, found.place.line) == ("/deepspeed/train_micro_batch_size_per_gpu", "train.yaml", 2)


def test_tensor_parallelism_shares_a_batch(pair):
    parts = {"tensor_parallel": {"autotp_size": 2}}
    run = pair(**parts)
    assert (run.resolved["data_parallel"], run.resolved["global_batch"], run.resolved["steps_per_epoch"]) == (4, 32, 313)
    old = pair(version="4.42.4", **parts)
    assert (old.resolved["data_parallel"], old.resolved["steps_per_epoch"]) == (8, 156)


def test_the_file_is_read_as_strict_json(trainer):
    run = trainer(TEXT, 8, files={"ds.json": '{"zero_optimization": {"stage": 2},}'})
    assert [each.code for each in run.diagnostics] == ["SRC002"]
    assert run.verdict == "reject"


@each_case("micro", ["'4'", "[4]"])
@each_case("accumulation", [2147483648, 10**30, "'8'"])
def test_text_is_not_repeated_without_end(trainer, micro, accumulation):
    text = f"output_dir: out\ndeepspeed: ds.json\nper_device_train_batch_size: {micro}\ngradient_accumulation_steps: {accumulation}\n"
    started = time.process_time()
    run = trainer(text, 8, files={"ds.json": '{"zero_optimization": {"stage": 2}, "train_batch_size": "auto"}'})
    assert run.verdict == "reject"
    assert time.process_time() - started < 2


@each_case(
    ("releases", "gpus", "errors_found", "steps"),
    [
        (("4.46.3", "0.15.4", "1.1.1"), 1, [], 250),
        (("4.46.3", "0.15.4", "1.1.1"), 6, [], 42),
        (("4.49.0", "0.16.9", "1.5.2"), 6, [], 42),
        (("4.51.3", "0.16.3", "1.6.0"), 6, [("RUN004", "/tensor_parallel/autotp_size")], None),
        (("4.51.3", "0.16.4", "1.6.0"), 6, [], 84),
        (("4.51.3", "0.15.4", "1.6.0"), 6, [("RUN004", "/tensor_parallel/autotp_size")], None),
        (("5.23.0", "0.19.8", "1.15.0"), 1, [("RUN004", "/tensor_parallel/autotp_size")], None),
        (("5.23.0", "0.19.8", "1.15.0"), 6, [], 84),
    ],
)
def test_tensor_parallelism_of_releases_that_do_not_have_it(trainer, releases, gpus, errors_found, steps):
    """`autotp_size` is read by accelerate from 1.6.0 and by DeepSpeed from 0.16.4 on; before, it changes nothing, which is said."""
    transformers, deepspeed, accelerate = releases
    text = "output_dir: out\nper_device_train_batch_size: 4\nnum_train_epochs: 1\nbf16: true\ndeepspeed: ds.json\n"
    values = {**AUTO, "zero_optimization": {"stage": 1}, "tensor_parallel": {"autotp_size": 2}}
    target = {"deepspeed": deepspeed, "accelerate": accelerate}
    run = trainer(text, gpus, 1000, transformers, files={"ds.json": json.dumps(values)}, target=target)
    assert errors(run) == errors_found
    assert errors_found or run.resolved["total_steps"] == steps
    assert any(each.code == "KEY106" for each in run.diagnostics) == (deepspeed in ("0.15.4", "0.16.3"))


BOTH = "bf16: true\nfp16: true\n"
ENABLED = {"enabled": True}


@each_case(
    ("lines", "sections", "expected"),
    [
        (BOTH, {"bf16": ENABLED}, ["PRC200"]),  # accelerate never adds a section fp16
        (BOTH, {"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}}, ["PRC200"]),  # the engine never gets the two
        (BOTH, {"bf16": ENABLED, "fp16": ENABLED}, ["PRC200", "PRC100"]),  # the DeepSpeed config has the same defect itself
        (BOTH, {"bf16": ENABLED, "train_micro_batch_size_per_gpu": 16}, ["PRC200", "RUN001"]),
        (BOTH, {"bf16": ENABLED, "fp16": {"loss_scale_window": "x"}}, ["PRC200", "TYP100"]),
        ("fp16: true\n", {"bf16": ENABLED}, ["RUN004"]),
    ],
)
def test_what_follows_from_a_value_that_the_trainer_refuses_is_no_second_error(pair, lines, sections, expected):
    run = pair(lines, without=("train_batch_size",), **sections)
    assert [code for code, _ in errors(run)] == expected
