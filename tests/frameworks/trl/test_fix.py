"""`fix` and `new` for TRL: splits that the trainer accepts, and migrations."""

from __future__ import annotations

import pytest

from cases import each_case
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
