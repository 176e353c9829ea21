"""The numbers of a run on its page."""

from __future__ import annotations

from cases import each_case
from cfglint.report.html.views import Numbers


def numbers(gpus=None, **resolved):
    return Numbers(resolved, gpus)


@each_case(
    ("run", "split"),
    [
        (numbers(8, data_parallel=8), ""),
        (numbers(), ""),
        (
            numbers(16, data_parallel=2, tensor_parallel=4, pipeline_parallel=2),
            "16 GPUs: 2 replicas of the model, each on 8 GPUs (tensor parallel 4 \u00d7 pipeline 2).",
        ),
        (numbers(12, tensor_parallel=8), "12 GPUs cannot be split into replicas of 8 GPUs (tensor parallel 8)."),
        (numbers(tensor_parallel=2), "One replica of the model takes 2 GPUs (tensor parallel 2)."),
    ],
)
def test_how_replicas_split_the_gpus(run, split):
    assert run.split == split


def test_the_course_of_a_run():
    run = numbers(total_steps=100, warmup_steps=10, steps_per_epoch=40)
    run.settings = {
        "schedule": {"value": "cosine"},
        "learning rate": {"value": 0.001},
        "evaluations": {"value": 2},
        "checkpoints": {"value": 0},
    }
    run.marks = {"evaluations": [50, 100]}
    assert run.course == [
        ("learning rate", "10 steps of warm-up, then cosine; highest 0.001"),
        ("epochs", "2.5, 40 steps each"),
        ("evaluations", "2, every 50 steps"),
        ("checkpoints", "none"),
    ]


@each_case("total", [None, 0, -1])
def test_a_run_of_unknown_or_no_length_has_no_course(total):
    assert numbers(total_steps=total, warmup_steps=10, steps_per_epoch=40).course == []


def test_numbers_beyond_all_bounds():
    huge = 10**400
    assert numbers(huge, total_steps=huge, warmup_steps=huge, steps_per_epoch=1).course


def test_the_equation_that_does_not_hold():
    run = numbers(8, micro_batch=4, accumulation=4, data_parallel=8, global_batch=1024)
    assert (run.product, run.at_odds) == (128, True)


def test_an_unknown_term_is_at_odds_with_nothing():
    run = numbers(micro_batch=4, accumulation=4, global_batch=1024)
    assert (run.product, run.at_odds) == (None, False)
    assert [(each.label, each.needs) for each in run.terms if each.value is None] == [("data parallel", "--gpus N")]
