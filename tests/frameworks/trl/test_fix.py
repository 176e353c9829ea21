"""`fix` and `new` for TRL: splits that the trainer accepts, and migrations."""

from __future__ import annotations

import pytest

import cfglint
from cases import each_case
from cfglint.cli import main
from cfglint.generators import generate
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.rewrite.apply_fixes import apply_fixes
from cfglint.rewrite.retarget import retarget

HEAD = "output_dir: out\ndataset_name: d\n"


def chosen(run, gpus, target, most):
    solution = retarget(run, run.facts, gpus, target, most).solution
    return solution.chosen.pair if solution.chosen else (solution.below and solution.below.global_batch, solution.above.global_batch)


@each_case(
    ("extra", "gpus", "target", "most", "expected"),
    [
        ("num_generations: 8\n", 6, 48, 2, (2, 4)),
        ("num_generations: 8\n", 6, 36, 2, (24, 48)),
        ("num_generations: 4\n", 1, 1, 8, (None, 4)),
        ("num_generations: 8\nsteps_per_generation: 1\n", 1, 16, 8, (8, 2)),
        ("num_generations: 8\ngeneration_batch_size: 16\n", 2, 12, 8, (2, 3)),
    ],
)
def test_generations_stay_whole(trl, extra, gpus, target, most, expected):
    run = trl(HEAD + "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n" + extra, "grpo", 1)
    assert chosen(run, gpus, target, most) == expected


def test_kto_keeps_pairs(trl):
    run = trl(HEAD + "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n", "kto")
    assert chosen(run, 1, 6, 2) == (2, 3)
    assert chosen(run, 1, 5, 2) == (4, 6)


def test_an_old_file_is_migrated(trl):
    old = HEAD + "packing: false\nmax_seq_length: 2048 # tokens\ntorch_dtype: bfloat16\nevaluation_strategy: 'no'\nwarmup_ratio: 0.1\n"
    new = HEAD + "packing: false\nmax_length: 2048 # tokens\ndtype: bfloat16\neval_strategy: 'no'\nwarmup_steps: 0.1\n"
    run = trl(old, strict=True)
    assert run.verdict == "reject"
    assert list(apply_fixes(run).texts.values()) == [new]
    assert trl(new, strict=True).diagnostics == []


@each_case("trainer", ["sft", "dpo", "kto", "reward", "grpo", "rloo"])
def test_generated_files_reach_the_batch(trl, trainer):
    made = generate("trl", JobSpec(gpus=8, trainer=trainer, global_batch=96, max_micro_batch=4, lora=True, warmup=0.1))
    run = trl(made.files[0].text, trainer, 8, strict=True)
    assert run.diagnostics == []
    assert run.resolved["global_batch"] == 96


def test_facts_that_a_trainer_cannot_have():
    with pytest.raises(Unreachable, match="no complete groups"):
        generate("trl", JobSpec(gpus=1, trainer="grpo", global_batch=11))
    with pytest.raises(Contradiction, match="KTO"):
        generate("trl", JobSpec(gpus=1, trainer="kto", micro_batch=1))


def test_a_recipe_keeps_its_trainer_when_its_length_is_renamed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.yaml").write_text(
        "model_name_or_path: m\noutput_dir: out\nuse_peft: true\nlora_r: 16\nload_in_4bit: true\nmax_seq_length: 2048\n"
        "gradient_checkpointing_kwargs:\n  use_reentrant: false\n",
        encoding="utf-8",
    )
    assert main(["fix", "q.yaml", "--unsafe-fixes"]) == 0
    assert "\nmax_length: 2048\n" in (tmp_path / "q.yaml").read_text(encoding="utf-8")
    assert [each.code for each in cfglint.check("q.yaml").diagnostics] == []


@pytest.mark.parametrize(
    ("written", "fixed"), [("--warmup_ratio 0.03", "--warmup_steps 0.03"), ("--warmup_ratio=0.1", "--warmup_steps=0.1")]
)
@pytest.mark.parametrize("arguments", ["SFTConfig", "TrainingArguments"])
def test_the_warm_up_of_a_launch_line_is_kept(tmp_path, monkeypatch, capsys, written, fixed, arguments):
    monkeypatch.chdir(tmp_path)
    package = "trl" if arguments == "SFTConfig" else "transformers"
    program = f"from transformers import HfArgumentParser\nfrom {package} import {arguments}\n"
    (tmp_path / "train.py").write_text(
        f"{program}(args,) = HfArgumentParser(({arguments},)).parse_args_into_dataclasses()\n", encoding="utf-8"
    )
    line = "torchrun --nproc_per_node 8 train.py --output_dir o {}\n"
    (tmp_path / "run.sh").write_text(line.format(written), encoding="utf-8")
    assert main(["fix", "run.sh", "--unsafe-fixes"]) == 0
    assert (tmp_path / "run.sh").read_text(encoding="utf-8") == line.format(fixed)
    assert "a fraction of all steps from transformers 5.0 on" in capsys.readouterr().out


def test_a_ratio_that_is_no_number_is_not_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "output_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\nnum_train_epochs: 1\nwarmup_ratio: ten percent\n"
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    main(["fix", "t.yaml", "--unsafe-fixes", "--target", "transformers==5.24.0"])
    assert (tmp_path / "t.yaml").read_text(encoding="utf-8") == text
