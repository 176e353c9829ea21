from __future__ import annotations

from cases import each_case
from cfglint.frameworks.llamafactory.releases import library
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.versions import parse_version

ZERO = '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}}'


def numbers(run, *names):
    return tuple(run.resolved[name] for name in names)


def test_batch_and_steps(factory):
    run = factory(8, 10_000, warmup_ratio="0.03", num_train_epochs="2")
    assert numbers(run, "global_batch", "steps_per_epoch", "total_steps", "warmup_steps") == (64, 157, 314, 10)


def test_under_deepspeed_one_gpu_is_launched(factory):
    run = factory(1, 1000, deepspeed=ZERO)
    assert numbers(run, "data_parallel", "global_batch", "total_steps") == (1, 8, 375)
    assert run.target["deepspeed"] == library("deepspeed", parse_version(RELEASES["llamafactory"]))


@each_case(
    ("keys", "steps", "block"),
    [
        ({"packing": "true"}, None, 2048),
        ({"neat_packing": "true"}, None, 2048),
        ({"stage": "pt"}, None, 2048),
        ({"stage": "pt", "packing": "true"}, None, 2047),
        ({"stage": "pt", "packing": "false"}, 375, None),
        ({"stage": "dpo", "packing": "true"}, 375, None),
        ({"packing": "true", "max_steps": "77"}, 77, 2048),
        ({"streaming": "true", "max_steps": "77"}, 77, None),
    ],
)
def test_packed_and_streamed_samples_are_not_counted(factory, keys, steps, block):
    run = factory(1, 1000, **keys)
    assert (run.verdict, *numbers(run, "total_steps", "seq_length")) == ("accept", steps, block)


def test_another_trainer_has_another_length(factory):
    run = factory(1, 1000, stage="ppo", reward_model="org/reward")
    assert (run.verdict, *numbers(run, "global_batch", "total_steps")) == ("accept", 8, None)


def test_a_warmup_ratio_takes_the_place_of_the_steps(factory):
    assert numbers(factory(1, 1000, warmup_steps="null", warmup_ratio="0.1"), "total_steps", "warmup_steps") == (375, 38)
    assert numbers(factory(1, 1000, warmup_steps="20", warmup_ratio="0.1"), "warmup_steps") == (38,)


def test_a_default_size_is_the_trainers(factory):
    assert numbers(factory(2, per_device_train_batch_size=None, gradient_accumulation_steps=None), "global_batch") == (16,)
