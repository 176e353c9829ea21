"""A target is hit with the fewest edits, and what was done is undone to the byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfglint.frameworks.base import LaunchFacts
from cfglint.rewrite.retarget import Unknown, retarget, rewritten
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source.edit import EditRefused
from cfglint.source.parse import parse

# kind, name, text with places for the micro batch, the accumulation and the global batch
FILES = [
    (
        "deepspeed",
        "ds.json",
        '{ // today\r\n\t"train_batch_size": %(total)s,\r\n\t"train_micro_batch_size_per_gpu":%(micro)s ,'
        ' "gradient_accumulation_steps":%(steps)s}',
    ),
    ("deepspeed", "ds.json", '{"train_micro_batch_size_per_gpu": %(micro)s,\n "gradient_accumulation_steps": %(steps)s,\n}\n'),
    ("huggingface", "train.yaml", "per_device_train_batch_size: %(micro)s # per GPU\ngradient_accumulation_steps:  %(steps)s\nrun_name: é"),
    ("huggingface", "train.json", '{"run_name": "", "per_device_train_batch_size": %(micro)s, "gradient_accumulation_steps": %(steps)s}'),
    (
        "neox",
        "config.yml",
        '{\n  "pipe_parallel_size": 0, "model_parallel_size": 1,\n'
        '  "train_micro_batch_size_per_gpu": %(micro)s,  # fits\n  "gradient_accumulation_steps": %(steps)s,\n}\n',
    ),
]
sizes = st.integers(1, 12)


def run_of(kind: str, name: str, text: str) -> CheckedRun:
    return CheckedRun([parse(name, text, "json" if name.endswith("json") else "yaml")], [kind], LaunchFacts())


def moved(run: CheckedRun, today: int, gpus: int, total: int) -> CheckedRun:
    """The run after a fix; today's GPU count is told."""
    found = retarget(run, LaunchFacts(from_gpus=today), gpus, total, None)
    assert found.feasible
    return CheckedRun(rewritten(run, found.texts), run.kinds, run.facts)


@given(st.sampled_from(FILES), sizes, sizes, sizes, st.lists(st.tuples(sizes, sizes), min_size=1, max_size=3))
def test_there_and_back(file, micro, steps, gpus, stops):
    kind, name, template = file
    text = template % {"micro": micro, "steps": steps, "total": micro * steps * gpus}
    run, today = run_of(kind, name, text), gpus
    for count, rounds in stops:
        run = moved(run, today, count, micro * rounds * count)
        today = count
        assert moved(run, today, count, micro * rounds * count).documents[0].text == run.documents[0].text
    assert moved(run, today, gpus, micro * steps * gpus).documents[0].text == text


def test_a_count_that_the_files_impose_is_said_where_it_is_in_the_way():
    text = '{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "global_num_gpus": 8, "pipe_parallel_size": 0}\n'
    with pytest.raises(EditRefused, match="the files impose a GPU count of 8"):
        retarget(run_of("neox", "config.yml", text), LaunchFacts(), 16, 64, None)


@pytest.mark.parametrize("today", ["-1", "1" + "0" * 20])
def test_a_batch_beyond_all_bounds_is_no_target(today):
    run = run_of("huggingface", "train.yaml", f"per_device_train_batch_size: 4\ngradient_accumulation_steps: {today}\n")
    with pytest.raises(Unknown, match="--global-batch"):
        retarget(run, LaunchFacts(gpus=8), 16, None, None)


def test_the_sizes_of_a_section_are_changed_in_it(tmp_path):
    text = "model: x\nargs:\n  per_device_train_batch_size: 4\n  gradient_accumulation_steps: 2\ngradient_accumulation_steps: 7\n"
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    run = Discovery(LaunchFacts(gpus=8), "huggingface", ("args",)).one([str(tmp_path / "job.yaml")])
    found = retarget(run, run.facts, 16, 64, None)
    assert list(found.texts.values()) == [text.replace("steps: 2", "steps: 1")]
    assert found.after().resolved["global_batch"] == 64


def test_a_parallel_size_that_is_none_is_no_ground_for_a_target():
    run = run_of("neox", "config.yml", "{train_micro_batch_size_per_gpu: 4, model_parallel_size: 1.5}")
    with pytest.raises(Unknown, match="parallel size"):
        retarget(run, LaunchFacts(gpus=8), 8, 64, None)
