"""Batch and steps of TRL's trainers, recorded from the real ones."""

from __future__ import annotations

import pytest

from cases import each_case

HEAD = "output_dir: out\ndataset_name: d\nnum_train_epochs: 2\n"
BATCH = "per_device_train_batch_size: {}\ngradient_accumulation_steps: {}\n"


@pytest.mark.parametrize(
    ("micro", "accumulation", "gpus", "extra", "examples", "expected"),
    [
        (4, 4, 8, "num_generations: 8\n", 1000, {"steps_per_epoch": 62, "generation_batch_size": 128, "steps_per_generation": 4}),
        (4, 2, 2, "num_generations: 8\nsteps_per_generation: 8\nnum_iterations: 2\n", 1000, {"steps_per_epoch": 1000}),
        (4, 2, 1, "num_generations: 4\nnum_iterations: 3\n", 2500, {"steps_per_epoch": 3750, "total_steps": 7500}),
        (1, 1, 1, "num_generations: 2\ngeneration_batch_size: 4\n", 10, {"steps_per_generation": 4, "global_batch": 1, "total_steps": 40}),
    ],
)
def test_grpo_counts_completions(trl, micro, accumulation, gpus, extra, examples, expected):
    run = trl(HEAD + BATCH.format(micro, accumulation) + extra, "grpo", gpus, examples)
    assert run.verdict == "accept"
    assert {name: run.resolved[name] for name in expected} == expected


@each_case(
    ("sizes", "exception"),
    [
        ("gradient_accumulation_steps: 8\n", ""),
        ("num_generations: 2\ngradient_accumulation_steps: 2\n", "the batch size (2) needs to be a round multiple"),
        ("num_generations: 2\ngradient_accumulation_steps: 3\nsteps_per_generation: 4\n", ""),
    ],
)
def test_split_batches_divides_the_micro_batches_of_a_generation(trl, sizes, exception):
    run = trl(HEAD + "accelerator_config: {split_batches: true}\nper_device_train_batch_size: 1\n" + sizes, "grpo", 4, 100)
    assert [exception in each.exception for each in run.diagnostics if each.severity == "error"] == ([True] if exception else [])


def test_old_grpo_counts_the_incomplete_generation_too(trl):
    text = HEAD + BATCH.format(4, 2) + "num_generations: 4\nnum_iterations: 3\n"
    numbers = trl(text, "grpo", 8, 2500, "0.17.0").resolved
    assert (numbers["steps_per_epoch"], numbers["total_steps"]) == (469, 938)
    assert numbers["generation_batch_size"] is None


def test_other_trainers_step_as_the_trainer_does(trl):
    for trainer in ("sft", "dpo", "kto", "reward"):
        numbers = trl(HEAD + BATCH.format(4, 2), trainer, 8, 2500).resolved
        assert (numbers["global_batch"], numbers["steps_per_epoch"], numbers["total_steps"]) == (64, 40, 80)


@each_case(
    ("trainer", "line", "name", "before", "since"),
    [
        ("sft", "max_seq_length: 512", "max_length", "0.15.2", "0.16.0"),
        ("sft", "use_liger: true", "use_liger_kernel", "0.14.0", "0.15.0"),
        ("dpo", "use_liger_loss: true", "use_liger_kernel", "0.24.0", "0.25.0"),
        ("kto", "use_liger_loss: true", "use_liger_kernel", "0.24.0", "0.25.0"),
        ("grpo", "use_liger_loss: true", "use_liger_kernel", "0.24.0", "0.25.0"),
        ("rloo", "rloo_k: 512", "num_generations", "0.21.0", "0.22.0"),
    ],
)
def test_the_value_of_an_old_name_is_stored_under_the_new_one(trl, trainer, line, name, before, since):
    old, new = (trl(f"{HEAD}{line}\n", trainer, release=release).configs[0].arguments for release in (before, since))
    assert new[name] in (512, True)
    assert not old.known(name) or old[name] not in (512, True)


def test_packing_leaves_the_length_unknown(trl):
    numbers = trl(HEAD + "packing: true\n", examples=1000).resolved
    assert (numbers["steps_per_epoch"], numbers["total_steps"]) == (None, None)
    assert trl(HEAD + "packing: true\nmax_steps: 70\n", examples=1000).resolved["total_steps"] == 70


def test_without_a_trainer_what_would_differ_is_unknown(trl):
    text = HEAD + BATCH.format(4, 2)
    numbers = trl(text, None, 8, 2500).resolved
    assert (numbers["global_batch"], numbers["total_steps"], numbers["generation_batch_size"]) == (64, None, None)


def test_the_keys_tell_the_trainer(trl):
    assert trl(HEAD + "packing: false\n", None).configs[0].trainers == ("sft",)
    assert trl(HEAD + "num_generations: 8\nmax_completion_length: 64\n", None).configs[0].trainers == ("grpo", "rloo")
    assert trl(HEAD + "num_generations: 8\nepsilon_high: 0.3\nscale_rewards: none\n", None).configs[0].trainers == ("grpo",)
    assert trl(HEAD + "rpo_alpha: 1.0\nbeta: 0.1\n", None).configs[0].trainers == ("dpo",)


def test_defaults_are_those_of_the_trainer(trl):
    new, old = trl(HEAD, "dpo").configs[0].arguments, trl(HEAD, "dpo", release="0.17.0").configs[0].arguments
    assert [new[name] for name in ("learning_rate", "bf16", "logging_steps")] == [1e-6, True, 10]
    assert [old[name] for name in ("learning_rate", "bf16", "logging_steps")] == [1e-6, False, 500]
    assert new.checkpointing is True
    assert not old.checkpointing
    assert trl(HEAD + "fp16: true\n").configs[0].arguments["bf16"] is False


@each_case(
    ("trainer", "release", "length", "expected"),
    [
        ("rloo", "0.13.0", "total_episodes: 5000\n", 313),  # 5000 / (2 x 2 x 2 x 2), rounded up
        ("rloo", "0.13.0", "total_episodes: 5000\nmax_steps: 7\n", 313),
        ("rloo", "0.13.0", "", 125),
        ("ppo", "0.13.0", "total_episodes: 5000\nnum_ppo_epochs: 4\n", 313),
        ("rloo", "0.22.0", "max_steps: 7\n", 7),
    ],
)
def test_trainers_that_count_episodes(trl, trainer, release, length, expected):
    """Their loops take updates of `num_mini_batches` steps, until all episodes are done, and read neither epochs then nor `max_steps`."""
    run = trl(HEAD + BATCH.format(2, 2) + "num_mini_batches: 2\n" + length, trainer, 2, 1000, target={"trl": release})
    assert run.resolved["total_steps"] == expected
