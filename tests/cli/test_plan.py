"""`cfglint plan`: the table in its formats, hours, advice, and exit statuses."""

from __future__ import annotations

import csv
import io
import json

import pytest

from cases import each_case
from cfglint.cli import main, plan
from cfglint.cli.plan import counts

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nlearning_rate: 2.0e-5\nnum_train_epochs: 3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(TRAINER, encoding="utf-8")
    return tmp_path


def planned(capsys, *arguments):
    status = main(["plan", "train.yaml", *arguments, "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("text", "found"), [("8", [8]), ("8,16,8", [8, 16]), ("8-64", [8, 16, 32, 64]), ("6-12,7", [6, 12, 7])])
def test_gpu_counts(text, found):
    assert counts(text) == found


def test_a_table_that_cannot_be_written(folder, capsys):
    assert main(["plan", "train.yaml", "--gpus", "8", "--from-gpus", "8", "--output", "none/plan.csv"]) == 2
    assert "--output none/plan.csv" in capsys.readouterr().err


@each_case("text", ["", "x", "0", "8,,16", "8-x"])
def test_what_is_no_gpu_count(folder, capsys, text):
    with pytest.raises(SystemExit) as stopped:
        main(["plan", "train.yaml", "--gpus", text])
    assert stopped.value.code == 2
    assert "8-64" in capsys.readouterr().err


def test_the_keys_of_the_contract(folder, capsys):
    status, told = planned(capsys, "--gpus", "8,24", "--from-gpus", "8", "--num-examples", "128770", "--time-per-step", "2.1")
    same, unreachable = told["plans"]
    assert status == 0
    assert list(same)[:10] == [
        *("gpus", "nodes", "global_batch", "feasible", "chosen", "options", "steps_per_epoch", "total_steps", "hours", "alternatives"),
    ]
    assert same["chosen"] == {"feasible": True, "micro_batch": 4, "accumulation": 8, "data_parallel": 8, "global_batch": 256}
    assert (same["steps_per_epoch"], same["total_steps"]) == (504, 1512)
    assert same["hours"] == pytest.approx(1512 * 2.1 / 3600)
    assert (unreachable["feasible"], unreachable["chosen"], unreachable["hours"]) == (False, None, None)
    assert (unreachable["alternatives"]["below"], unreachable["alternatives"]["above"]) == (240, 264)


def test_the_price_of_the_hours(folder, capsys):
    arguments = ("--gpus", "8", "--from-gpus", "8", "--num-examples", "128770", "--time-per-step", "2.1")
    _, told = planned(capsys, *arguments, "--gpu-price", "2.5")
    assert told["plans"][0]["cost"] == pytest.approx(1512 * 2.1 / 3600 * 8 * 2.5, abs=0.01)
    assert "cost" not in planned(capsys, *arguments)[1]["plans"][0]


def test_hours_from_tokens(capsys, example_project):
    config = str(example_project / "examples" / "good" / "neox-125M.yml")
    assert main(["plan", config, "--gpus", "8", "--from-gpus", "8", "--tokens-per-second", "1000000", "--format", "json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert plan["hours"] == pytest.approx(143000 * 128 * 2048 / 1_000_000 / 3600)


def test_hours_are_measured_or_scaled_and_say_what_they_rest_on(folder, capsys):
    arguments = ("--gpus", "4,8,16", "--num-examples", "128770", "--time-per-step", "2.1")
    _, told = planned(capsys, *arguments, "--from-gpus", "8")
    measured = 1512 * 2.1 / 3600
    assert [each["hours"] for each in told["plans"]] == pytest.approx([2 * measured, measured, measured / 2])
    assert [each["hours_from"] for each in told["plans"]] == ["scaled", "measured", "scaled"]
    main(["plan", "train.yaml", *arguments, "--from-gpus", "8"])
    printed = capsys.readouterr().out
    assert " ~1.8\n" in printed
    assert "2.1 seconds per step measured on 8 GPUs" in printed


def test_without_the_measured_gpu_count_there_are_no_hours(folder, capsys):
    arguments = ["plan", "train.yaml", "--global-batch", "256", "--num-examples", "128770", "--time-per-step", "2.1"]
    main([*arguments, "--gpus", "4,8"])
    assert "Hours: unknown: pass --from-gpus N" in capsys.readouterr().out
    main([*arguments, "--gpus", "8"])
    assert "Hours: 2.1 seconds per step measured on these GPUs." in capsys.readouterr().out


def test_a_throughput_grows_with_the_gpus(example_project, capsys):
    config = str(example_project / "examples" / "good" / "neox-125M.yml")
    main(["plan", config, "--gpus", "8,16", "--from-gpus", "8", "--tokens-per-second", "1000000", "--format", "json"])
    hours = [each["hours"] for each in json.loads(capsys.readouterr().out)["plans"]]
    assert hours[1] == pytest.approx(hours[0] / 2)


@each_case("seconds", ["-3", "0", "nan", "inf", "fast"])
def test_a_time_is_a_positive_number(folder, capsys, seconds):
    with pytest.raises(SystemExit):
        main(["plan", "train.yaml", "--gpus", "8", f"--time-per-step={seconds}"])
    assert f"--time-per-step {seconds}: expected a number above 0" in capsys.readouterr().err


def test_a_new_batch_comes_with_both_rules_as_advice(folder, capsys):
    before = (folder / "train.yaml").read_text(encoding="utf-8")
    _, told = planned(capsys, "--gpus", "8", "--from-gpus", "8", "--global-batch", "1024")
    advised = {each["rule"].partition(",")[0]: each["advised"] for each in told["advice"]}
    assert advised == {"linear rule": pytest.approx(8e-5), "square-root rule": pytest.approx(4e-5)}
    assert (folder / "train.yaml").read_text(encoding="utf-8") == before


def test_todays_batch_needs_no_advice(folder, capsys):
    assert planned(capsys, "--gpus", "16", "--from-gpus", "8")[1]["advice"] == []


def test_nothing_reachable_is_exit_status_1(folder, capsys):
    assert planned(capsys, "--gpus", "24", "--from-gpus", "8")[0] == 1


def test_what_is_not_known_is_asked_for(folder, capsys):
    assert main(["plan", "train.yaml", "--gpus", "8"]) == 2
    assert "--from-gpus" in capsys.readouterr().err
    assert main(["plan", "gone.yaml", "--gpus", "8"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_text_fits_a_terminal(folder, capsys):
    assert main(["plan", "train.yaml", "--gpus", "8-64,24", "--from-gpus", "8", "--global-batch", "1024", "--num-examples", "1000"]) == 0
    printed = capsys.readouterr().out
    assert max(len(line) for line in printed.splitlines()) <= 80, printed
    assert "learning_rate 2.0e-5 (train.yaml:4): 8e-05 (linear rule) or 4e-05 (square-root rule)" in " ".join(printed.split())
    assert "arXiv 1706.02677" in printed


def test_markdown_and_csv(folder, capsys):
    arguments = ["plan", "train.yaml", "--gpus", "8,24", "--from-gpus", "8"]
    assert main([*arguments, "--format", "markdown"]) == 0
    head, rule, first, second, *notes = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == first.count("|") == second.count("|") == 13
    assert notes[-1] == "- 8: 1 x 32, 2 x 16"
    assert main([*arguments, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["GPUs"], row["nodes"], row["micro"], row["accumulation"], row["global"]) for row in rows] == [
        ("8", "1", "4", "8", "256"),
        ("24", "3", "", "", "256"),
    ]


def test_a_launch_file_tells_todays_gpus(folder, capsys):
    (folder / "launch.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 8\n", encoding="utf-8")
    assert main(["plan", "train.yaml", "launch.yaml", "--gpus", "16", "--format", "json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert plan["chosen"] == {"feasible": True, "micro_batch": 4, "accumulation": 4, "data_parallel": 16, "global_batch": 256}


@each_case(("text", "counts"), [("8-64", [8, 16, 32, 64]), ("7-9", [7, 8, 9]), ("8", [8]), ("4,8-16", [4, 8, 16]), ("8-9", [8, 9])])
def test_ranges(text, counts):
    assert plan.counts(text) == counts


@pytest.mark.parametrize("text", ["8-100", "9-8"])
def test_a_range_that_is_none(text):
    with pytest.raises(ValueError, match="neither a range by doubling"):
        plan.counts(text)


BATCH = "--per_device_train_batch_size 2 --gradient_accumulation_steps 4"
SCRIPT = f"torchrun --nproc_per_node 8 train.py --deepspeed ds.json {BATCH} --output_dir out\n"
FILLED = """\
{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto", "zero_optimization": {}}
"""
PROGRAM = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments
arguments, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=arguments).train()
"""


@pytest.fixture
def filled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"train.sh": SCRIPT, "ds.json": FILLED, "train.py": PROGRAM}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_run_that_fills_in_the_batch_sizes_is_planned(filled, capsys):
    assert main(["plan", "ds.json", "--gpus", "4", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["plans"][0]["global_batch"] == 64
    assert "ds.json: in the run of train.sh:1" in printed.err


def test_all_runs_that_read_a_file_are_planned(filled, capsys):
    (filled / "other.sh").write_text(SCRIPT)
    (filled / "small.sh").write_text(SCRIPT.replace("train_batch_size 2", "train_batch_size 1"))
    assert main(["plan", "ds.json", "--gpus", "4"]) == 0
    printed = capsys.readouterr().out
    assert printed.index("other.sh:1, train.sh:1\n") < printed.index("small.sh:1\n")
    assert "As written: 8 GPUs, global batch 64." in printed
    assert main(["plan", "ds.json", "--gpus", "4", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["plans"]
    assert [(each["run"], each["global_batch"]) for each in found] == [("other.sh:1", 64), ("small.sh:1", 32), ("train.sh:1", 64)]
    assert main(["plan", "ds.json", "--gpus", "4", "--format", "html"]) == 2
    assert "a page shows one run, and these are 3: `cfglint plan` one of other.sh:1, small.sh:1, train.sh:1" in capsys.readouterr().err


def test_runs_that_cannot_be_planned_are_named_beside_the_others(filled, capsys):
    (filled / "other.sh").write_text("torchrun --nproc_per_node 8 missing.py --deepspeed ds.json\n")
    assert main(["plan", ".", "--gpus", "4"]) == 2
    printed = capsys.readouterr()
    assert "other.sh:1: current global batch is unknown: pass a target (--global-batch)" in printed.err
    assert "As written: 8 GPUs, global batch 64." in printed.out


def test_a_file_with_open_batch_sizes_is_not_said_to_start(filled, capsys):
    (filled / "train.sh").unlink()
    assert main(["explain", "ds.json", "--gpus", "8"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("No errors found in this file; a trainer fills in its batch sizes.")
    main(["explain", "ds.json", "--gpus", "8", "--format", "html"])
    page = capsys.readouterr().out
    assert "No errors found in this file; a trainer fills in its batch sizes" in page
    assert "Should start" not in page


def test_the_only_run_of_a_folder_needs_no_path(filled, capsys):
    assert main(["plan", "--gpus", "8"]) == main(["explain"]) == 0
    assert "train.sh" in capsys.readouterr().out
    (filled / "other.sh").write_text(SCRIPT)
    assert main(["explain"]) == 2
    assert "PATH is missing; the runs here are other.sh:1, train.sh:1: pass" in capsys.readouterr().err


def test_of_several_declared_runs_one_has_to_be_named(folder, capsys):
    run = '[[run]]\nfiles = ["{}"]\ngpus = 8\n'
    (folder / "other.yaml").write_text((folder / "train.yaml").read_text(), encoding="utf-8")
    (folder / "cfglint.toml").write_text(run.format("train.yaml"), encoding="utf-8")
    assert main(["explain"]) == 0
    (folder / "cfglint.toml").write_text(run.format("train.yaml") + run.format("other.yaml"), encoding="utf-8")
    capsys.readouterr()
    assert main(["explain"]) == 2
    assert "PATH is missing; the runs here are train.yaml, other.yaml: pass" in capsys.readouterr().err


def test_a_given_current_gpu_count_is_not_asked_for_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(FILLED)
    assert main(["plan", "ds.json", "--gpus", "4", "--from-gpus", "8"]) == 2
    assert capsys.readouterr().err == "cfglint: current global batch is unknown: pass a target (--global-batch)\n"


CARDS = ("--gpus", "1", "--from-gpus", "1", "--num-examples", "6400", "--gpu", "T4,L4", "--target", "transformers==5.24.0")


def test_several_cards_with_what_they_refuse_and_cost(folder, capsys):
    (folder / "train.yaml").write_text(TRAINER + "tf32: true\n")
    status, found = planned(capsys, *CARDS, "--time-per-step", "10,5", "--gpu-price", "0.36,0.72")
    of_t4, of_l4 = found["plans"]
    assert (status, of_t4["gpu"], of_l4["gpu"]) == (0, "T4", "L4")
    assert (of_t4["hours"], of_l4["hours"]) == (pytest.approx(600 * 10 / 3600), pytest.approx(600 * 5 / 3600))
    assert (of_t4["cost"], of_l4["cost"]) == (0.6, 0.6)
    assert (of_t4["refused"], "refused" in of_l4) == (
        ["`tf32` requires compute capability 8.0, and the card is T4 (compute capability 7.5)"],
        False,
    )


def test_what_every_card_refuses_is_not_about_the_card(folder, capsys):
    (folder / "train.yaml").write_text(TRAINER + "lr_scheduler_type: nonsense\n")
    assert not any("refused" in each for each in planned(capsys, *CARDS)[1]["plans"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--gpu", "T4,L4", "--gpu-price", "1"), "--gpu-price needs a value for each card of --gpu T4,L4"),
        (("plan", "--gpu-price", "1,2"), "--gpu-price needs a value for each card of --gpu CARD"),
        (("check", "--gpu", "T4,L4"), "--gpu T4,L4: several cards are compared by `cfglint plan`; pass one"),
    ],
)
def test_one_value_for_each_card(folder, capsys, arguments, said):
    assert main([*arguments, "train.yaml"]) == 2
    assert said in capsys.readouterr().err


def test_the_tables_of_several_runs_as_markdown(folder, capsys):
    for name, steps in (("a.sh", 4), ("b.sh", 8)):
        batch = f"--per_device_train_batch_size 2 --gradient_accumulation_steps {steps}"
        (folder / name).write_text(f"torchrun --nproc_per_node 8 train.py {batch} --bf16 True --output_dir o\n")
    assert main(["plan", "a.sh", "b.sh", "--gpus", "8", "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if ".sh" in line] == ["a.sh:1", "b.sh:1"]
    assert printed.count("\n\n| GPUs") == 2


def test_without_a_gpu_count_a_target_is_tried_on_the_usual_ones(folder, capsys):
    assert main(["plan", "train.yaml", "--global-batch", "2048", "--format", "json"]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert [each["gpus"] for each in plans] == [1, 2, 4, 8, 16, 32, 64]


def test_that_memory_was_not_checked_is_said(folder, capsys):
    assert main(["plan", "train.yaml", "--gpus", "8", "--global-batch", "64", "--gpu-memory", "80"]) == 0
    assert "memory was not checked, because the shape of the model is not known: pass --model" in capsys.readouterr().err
