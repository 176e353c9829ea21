from __future__ import annotations

from cases import each_case
from cfglint.rewrite.apply_fixes import apply_fixes


def test_unknown_keys_count_only_where_they_cannot_be_the_scripts_own(trainer, codes):
    text = "output_dir: out\nmodel_name_or_path: x\nlearning_rte: 1.0e-5\n"
    assert codes(trainer(text)) == ["KEY200"]
    assert codes(trainer(text), "error") == []
    strict = trainer(text, strict=True)
    assert codes(strict, "error") == ["KEY200", "KEY200"]
    assert strict.fails_at == "config"


def test_a_field_of_a_later_release(trainer, codes):
    text = "output_dir: out\neval_use_gather_object: true\n"
    assert codes(trainer(text, version="4.42.4", strict=True)) == ["KEY201"]
    assert codes(trainer(text, version="4.42.4")) == []
    assert codes(trainer(text, strict=True)) == []


def test_the_old_name_of_a_strategy_is_read_while_it_lives(trainer, codes):
    text = "output_dir: out\nevaluation_strategy: steps\nlogging_steps: 0\n"
    assert codes(trainer(text, version="4.42.4"), "error") == ["HFT004"]
    assert codes(trainer("output_dir: out\nevaluation_strategy: often\n", version="4.42.4")) == ["HFT003"]


MIGRATIONS = [
    ("evaluation_strategy: steps\n", "eval_strategy: steps\n"),
    ("warmup_ratio: 0.1\n", "warmup_steps: 0.1\n"),
    ("warmup_ratio: 0.0\n", ""),
    ("warmup_ratio: 0.1\nwarmup_steps: 100\n", "warmup_steps: 100\n"),
    ("warmup_ratio: 0.1\nwarmup_steps: 0\n", "warmup_steps: 0.1\n"),
    ("warmup_ratio: 1.0\n", "warmup_ratio: 1.0\n"),
    ("group_by_length: true\n", "train_sampling_strategy: group_by_length\n"),
    ("group_by_length: false\n", ""),
    ("no_cuda: true\n", "use_cpu: true\n"),
    ("overwrite_output_dir: true\n", ""),
    ("adafactor: true\n", "optim: adafactor\n"),
    ("per_gpu_train_batch_size: 4\n", "per_device_train_batch_size: 4\n"),
    ("logging_dir: logs\n", ""),
]


@each_case(("before", "after"), MIGRATIONS)
def test_safe_migrations(trainer, before, after):
    run = trainer("seed: 1\n" + before + "output_dir: out\n", strict=True)
    texts = apply_fixes(run, unsafe=False).texts
    result = next(iter(texts.values())) if texts else "seed: 1\n" + before + "output_dir: out\n"
    assert sorted(result.splitlines()) == sorted(("seed: 1\n" + after + "output_dir: out\n").splitlines())


def test_a_moved_field_gets_its_section(trainer):
    run = trainer("output_dir: out\nsplit_batches: true\n", strict=True)
    (text,) = apply_fixes(run, unsafe=False).texts.values()
    assert trainer(text).configs[0].accelerator == {"split_batches": True}


def test_a_removed_field_of_a_script_with_its_own_loop_is_the_scripts(trainer, codes):
    text = "output_dir: out\nper_device_train_batch_size: 1\nwarmup_ratio: 0.03\n"
    assert codes(trainer(text), "warning") == ["KEY202"]
    assert codes(trainer(text + "with_tracking: true\n")) == []


def test_a_removed_field_at_its_default_is_nobodys_trouble(trainer, codes):
    text = "output_dir: out\nno_cuda: false\npast_index: -1\nfp16_backend: auto\nwarmup_ratio: 0.0\n"
    assert codes(trainer(text)) == []
    assert codes(trainer(text, strict=True)) == ["KEY202"] * 4


WARM_UP = "import sys\nfrom transformers import TrainingArguments\nTrainingArguments('o', warmup_ratio=float(sys.argv[1]){})\n"


@each_case(
    ("others", "remedy"),
    [
        ("", "rename to warmup_steps, which takes a fraction as well"),
        (", warmup_steps=10", "remove warmup_ratio"),  # which overrides it
    ],
)
def test_a_warmup_ratio_that_is_not_known_becomes_a_number_of_steps(checked_project, others, remedy):
    [found] = checked_project({"t.py": WARM_UP.format(others)}, "transformers==5.24.0", paths=["t.py"])["diagnostics"]
    assert (found["code"], found["fix"]["title"]) == ("KEY202", remedy)
