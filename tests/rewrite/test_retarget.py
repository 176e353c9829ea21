"""A target is hit with the fewest edits, and what was done is undone to the byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch.overrides import Override
from cfglint.rewrite.retarget import MissingFactError, implied_gpus, retarget
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source.change import EditRefused
from cfglint.source.parse import parse
from cfglint.source.sections import reread_all

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
    return CheckedRun(reread_all(run.documents, found.texts), run.kinds, run.facts)


@pytest.mark.slow
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


def test_a_count_that_the_launch_imposes_is_said_where_it_is_in_the_way():
    text = '{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "pipe_parallel_size": 0}\n'
    facts = LaunchFacts(overrides=(Override("global_num_gpus", ["8"]),))
    run = CheckedRun(run_of("neox", "config.yml", text).documents, ["neox"], facts)
    with pytest.raises(EditRefused, match="`global_num_gpus` is 8; set it to"):
        retarget(run, facts, 16, 64, None)


@pytest.mark.parametrize("today", ["-1", "1" + "0" * 20])
def test_a_batch_beyond_all_bounds_is_no_target(today):
    run = run_of("huggingface", "train.yaml", f"per_device_train_batch_size: 4\ngradient_accumulation_steps: {today}\n")
    with pytest.raises(MissingFactError, match="`global_batch`"):
        retarget(run, LaunchFacts(gpus=8), 16, None, None)


def test_the_sizes_of_a_section_are_changed_in_it(tmp_path):
    text = "model: x\nargs:\n  per_device_train_batch_size: 4\n  gradient_accumulation_steps: 2\ngradient_accumulation_steps: 7\n"
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    run = Discovery(LaunchFacts(gpus=8), "huggingface", ("args",)).together([str(tmp_path / "job.yaml")])[0]
    found = retarget(run, run.facts, 16, 64, None)
    assert list(found.texts.values()) == [text.replace("steps: 2", "steps: 1")]
    assert found.after().resolved["global_batch"] == 64


def test_a_parallel_size_that_is_none_is_no_ground_for_a_target():
    run = run_of("neox", "config.yml", "{train_micro_batch_size_per_gpu: 4, model_parallel_size: 1.5}")
    with pytest.raises(MissingFactError, match="parallel size"):
        retarget(run, LaunchFacts(gpus=8), 8, 64, None)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ('{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}', (4, 8)),
        ('{"zero_optimization": {"stage": 2}}', (4, 8)),
        ('{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 2}', (16, 2)),
        ('{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": "auto"}', (2, 16)),
    ],
)
def test_what_a_trainer_fills_has_to_be_set_there(text, needs):
    found = retarget(run_of("deepspeed", "ds.json", text), LaunchFacts(), 8, 256, None)
    assert found.texts == {}
    assert [(need.key, need.value) for need in found.needs] == list(
        zip(("per_device_train_batch_size", "gradient_accumulation_steps"), needs, strict=True)
    )


def test_a_written_accumulation_that_does_not_divide_is_to_be_replaced_by_hand():
    text = '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 3}'
    found = retarget(run_of("deepspeed", "ds.json", text), LaunchFacts(), 8, 256, None)
    assert found.texts == {}
    assert [(each.key, each.before, each.after) for each in found.by_hand] == [("/gradient_accumulation_steps", 3, 4)]
    assert [need.value for need in found.needs] == [8, 4]


@pytest.mark.parametrize("accumulation", ["", ', "gradient_accumulation_steps": 2'])
def test_a_total_that_decides_is_rewritten_and_the_micro_batch_follows(accumulation):
    text = '{"train_batch_size": 32' + accumulation + "}"
    found = retarget(run_of("deepspeed", "ds.json", text), LaunchFacts(), 8, 256, None)
    assert found.texts == {"ds.json": text.replace("32", "256")}
    assert found.unbounded
    assert found.after().resolved["micro_batch"] == (16 if accumulation else 32)


def test_an_accelerate_file_leaves_the_batch_to_the_trainer():
    text = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 8\n"
    found = retarget(run_of("accelerate", "launch.yaml", text), LaunchFacts(), 8, 256, None)
    assert (found.texts, [need.value for need in found.needs]) == ({}, [4, 8])


def test_the_trainer_s_accumulation_gets_through_to_the_engine(tmp_path):
    trainer = "output_dir: o\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 1\ndeepspeed: ds.json\n"
    (tmp_path / "train.yaml").write_text(trainer, encoding="utf-8")
    engine = '{\n  "train_micro_batch_size_per_gpu": "auto",\n  "zero_optimization": {"stage": 2}\n}\n'
    (tmp_path / "ds.json").write_text(engine, encoding="utf-8")
    run = Discovery(LaunchFacts(gpus=8, complete=True), "huggingface").together([str(tmp_path / "train.yaml")])[0]
    found = retarget(run, run.facts, 8, 256, None)
    assert found.texts[str(tmp_path / "train.yaml")] == trainer.replace("steps: 1", "steps: 8")
    assert found.texts[str(tmp_path / "ds.json")] == engine.replace(
        '"stage": 2}\n', '"stage": 2},\n  "gradient_accumulation_steps": "auto"\n'
    )


def test_a_file_that_its_parser_refuses_is_not_edited(tmp_path):
    (tmp_path / "train.yaml").write_text("output_dir: o\nper_device_train_batch_size: 4\ndeepspeed: ds.json\n", encoding="utf-8")
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 2} // ours\n}\n', encoding="utf-8")
    run = Discovery(LaunchFacts(gpus=8, complete=True), "huggingface").together([str(tmp_path / "train.yaml")])[0]
    with pytest.raises(EditRefused, match=r"ds\.json cannot be loaded"):
        retarget(run, run.facts, 8, 256, None)


def test_gpus_of_a_replica_divide_as_the_framework_divides():
    sizes = '"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4'
    text = "{" + sizes + ', "tensor_parallel": {"autotp_size": 2}}'
    batch = run_of("deepspeed", "ds.json", text).batch
    assert batch is not None
    assert (batch.gpus_per_replica, implied_gpus(batch)) == (1, 4)


def test_written_sizes_next_to_an_automatic_total_are_left_to_change_with_the_trainer_s():
    text = '{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 8}'
    run = run_of("deepspeed", "ds.json", text)
    found = retarget(run, run.facts, 8, 256, None)
    assert found.texts == {}
    assert [(each.key, each.before, each.after) for each in found.by_hand] == [("/gradient_accumulation_steps", 8, 32)]
    assert [(each.key, each.value) for each in found.needs] == [("per_device_train_batch_size", 1), ("gradient_accumulation_steps", 32)]


def test_a_placeholder_is_not_edited(tmp_path, capsys):
    text = "output_dir: o\nper_device_train_batch_size: ${SIZE}\ngradient_accumulation_steps: 2\nlearning_rate: 1.0e-5\n"
    (tmp_path / "a.yaml").write_text(text)
    assert main(["fix", str(tmp_path / "a.yaml"), "--gpus", "8", "--global-batch", "64"]) == 2
    assert "is the placeholder ${SIZE}, which is filled elsewhere and not edited" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "a.yaml").read_text() == text
