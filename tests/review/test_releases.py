"""A commit that changes the release of a package: what it means for the runs that it does not touch."""

from __future__ import annotations

import json
import shutil

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.releases._modelled import RELEASES

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

RECIPE = "dataset_name: d\noutput_dir: out\nper_device_train_batch_size: 2\nmax_seq_length: 2048\n"
PARSED = "parser = TrlParser((ScriptArguments, SFTConfig))\nscript_args, training_args = parser.parse_args_and_config()\n"
PROGRAM = f"from trl import ScriptArguments, SFTConfig, SFTTrainer, TrlParser\n{PARSED}SFTTrainer(args=training_args).train()\n"
TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nevaluation_strategy: epoch\n"
NEWEST = RELEASES["trl"]
ENGINE = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}\n'


@pytest.fixture
def review(checkout, capsys):
    """Run `cfglint review` of the last commit: (exit status, standard output)."""

    def run(*arguments):
        status = main(["review", "--base", "HEAD~1", "--state", "committed", *arguments])
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def repinned(checkout):
    """Commit the requirements before and after a change."""

    def change(before, after, file="requirements__txt"):
        checkout.write(**{file: before})
        checkout.commit()
        checkout.write(**{file: after})
        checkout.commit()

    return change


@pytest.fixture
def recipes(checkout):
    """A repository with three recipes that two scripts launch."""
    lines = [f"python train.py --config recipes/{name}.yaml\n" for name in "abc"]
    checkout.write(train__py=PROGRAM, run__sh="".join(lines[:2]), more__sh=lines[2] * 3)
    checkout.write(**{f"recipes_in_{name}__yaml": RECIPE for name in "abc"})
    return checkout


def test_the_same_fact_of_many_runs_is_one_entry(recipes, repinned, review):
    repinned("trl==0.17.0\n", "trl==1.16.0\n")
    status, out = review()
    lines = out.splitlines()
    assert (status, lines[0]) == (1, "requirements.txt: trl 0.17.0 -> 1.16.0")
    assert "  5 of 5 runs no longer start: more.sh:1, more.sh:2, more.sh:3 and 2 more" in lines[1:3]
    assert out.count("TRL011") == 1
    assert "      in 5 runs: more.sh:1, more.sh:2, more.sh:3 and 2 more" in lines


def test_programs_get_every_run(recipes, repinned, review):
    repinned("trl==0.17.0\n", "trl==1.16.0\n")
    report = json.loads(review("--format", "json")[1])
    assert [each["run"] for each in report["changes"]] == ["more.sh:1", "more.sh:2", "more.sh:3", "run.sh:1", "run.sh:2"]
    assert all("TRL011" in [found["code"] for found in each["new"]] for each in report["changes"])
    assert report["not_compared"] == []


@each_case(("form", "mark"), [("markdown", "TRL011"), ("html", "TRL011"), ("github", "::notice file=requirements.txt,line=1")])
def test_other_formats_group_too(recipes, repinned, review, form, mark):
    repinned("trl==0.17.0\n", "trl==1.16.0\n")
    _, out = review("--format", form)
    assert out.count(mark) == 1
    assert "5 of 5 runs no longer start" in out


def test_a_removed_argument(checkout, repinned, review):
    checkout.write(a__yaml=TRAINER, b__yaml=TRAINER)
    repinned("transformers==4.40.0\n", "transformers==5.0.0\n")
    _, out = review()
    assert out.startswith("requirements.txt: transformers 4.40.0 -> 5.0.0\n")
    assert out.count("`evaluation_strategy` was removed") == 1
    assert "in 2 runs: a.yaml, b.yaml" in out


def test_what_no_longer_starts_comes_first(recipes, repinned, review):
    recipes.write(old__yaml="output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n")
    repinned("trl==0.17.0\ntransformers==4.51.0\n", "trl==1.16.0\ntransformers==5.0.0\n")
    _, out = review()
    lines = out.splitlines()
    assert lines[:2] == ["requirements.txt: trl 0.17.0 -> 1.16.0", "requirements.txt: transformers 4.51.0 -> 5.0.0"]
    assert lines[2].startswith("  5 of 6 runs no longer start: ")
    assert "max_seq_length" in lines[4]
    assert any(line.startswith("  optimizer adamw_torch -> adamw_torch_fused (6 runs: ") for line in lines)


def test_a_release_without_consequences(checkout, repinned, review):
    checkout.write(ds__json=ENGINE)
    repinned("deepspeed==0.18.0\n", "deepspeed==0.18.1\n")
    assert review() == (0, "requirements.txt: deepspeed 0.18.0 -> 0.18.1\n  no effective change in 1 run\n")


def test_a_pin_that_is_loosened_makes_the_start_unknown(recipes, repinned, review):
    repinned("trl==1.16.0\n", "trl>=0.17\n")
    _, out = review()
    assert out.startswith("requirements.txt: trl 1.16.0 -> not pinned (>=0.17; checked as ")
    assert "whether it starts is not known; it did not start before: failed while checking the config (5 runs: " in out
    assert "warning TRL011" in out
    assert "resolved" not in out
    target = json.loads(review("--format", "json")[1])["changes"][0]["consequences"]
    assert [(each["before"], each["after"], each["known"]) for each in target if each["what"] == "target"] == [("1.16.0", None, False)]


@each_case(
    ("before", "after", "text"),
    [
        ("trl==1.16.0\n", "datasets\n", f"trl 1.16.0 -> not pinned (checked as {NEWEST})"),
        ("datasets\n", "trl==1.16.0\n", f"trl not pinned (checked as {NEWEST}) -> 1.16.0"),
        ("trl==1.16.0\n", "trl @ git+https://github.com/huggingface/trl@1a2b3c4\n", f"trl 1.16.0 -> commit 1a2b3c4 (checked as {NEWEST})"),
    ],
)
def test_a_pin_that_appears_disappears_or_is_a_commit(recipes, repinned, review, before, after, text):
    repinned(before, after)
    assert review()[1].splitlines()[0] == f"requirements.txt: {text}"


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("accelerate==0.18.0\n", "accelerate>=0.18\n", "requirements.txt: accelerate 0.18.0 (checked as 0.20.0) -> not pinned (>=0.18; "),
        (
            "accelerate>=0.30\n",
            "accelerate\n",
            "environment.yml: accelerate not pinned (>=0.30; checked as 1.15.0) in requirements.txt -> ",
        ),
    ],
)
def test_a_release_is_named_as_its_file_states_it(checkout, repinned, review, before, after, text):
    checkout.write(run__sh="accelerate launch --config_file a.yaml train.py\n", a__yaml="num_processes: 2\nnum_machines: 1\n")
    checkout.write(train__py="from accelerate import Accelerator\na = Accelerator()\n")
    checkout.write(**{} if "==" in before else {"environment__yml": "dependencies:\n  - accelerate>=0.20\n"})
    repinned(before, after)
    assert review()[1].startswith(text)


COMMIT = "transformers @ git+https://github.com/huggingface/transformers@1a2b3c4\n"


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (COMMIT, "transformers==4.46.1\n", "transformers commit 1a2b3c4 (checked as 4.46.1) -> 4.46.1"),
        ("transformers==4.46.1\n", COMMIT, "transformers 4.46.1 -> commit 1a2b3c4 (checked as 4.46.1)"),
    ],
)
def test_what_a_commit_differs_in_from_a_release_is_not_known(checkout, repinned, review, before, after, text):
    """The commit was taken for the newest release, so that a key that is removed there was "resolved"."""
    checkout.write(run__sh="python train.py --output_dir o --per_device_train_batch_size 2 --warmup_ratio 0.1\n")
    parsed = "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"
    checkout.write(train__py=f"from transformers import HfArgumentParser, Trainer, TrainingArguments\n{parsed}\nTrainer(m, args).train()\n")
    repinned(before, after)
    out = review()[1]
    assert out.startswith(f"requirements.txt: {text}\n")
    assert "KEY202" not in out
    assert "memory" not in out


def test_a_package_that_runs_use_is_not_said_to_be_used_by_none(checkout, repinned, review):
    checkout.write(trainer__yaml="output_dir: o\nper_device_train_batch_size: 4\n")
    repinned("torch==2.6.0\n", "torch==2.7.0\n")
    assert review()[1] == "requirements.txt: torch 2.6.0 -> 2.7.0; no compared run is checked with another release of it\n"


@each_case(
    ("file", "before", "after", "text"),
    [
        ("requirements__txt", "trl==0.17.0\n", "trl==1.16.0\n", "requirements.txt: trl 0.17.0 -> 1.16.0"),
        ("Dockerfile", "RUN pip install trl==0.17.0\n", "RUN pip install trl==1.16.0\n", "Dockerfile: trl 0.17.0 -> 1.16.0"),
        ("environment__yml", "dependencies:\n  - trl=0.17.0\n", "dependencies:\n  - trl=1.16.0\n", "environment.yml: trl 0.17.0 -> 1.16.0"),
        ("requirements__txt", "datasets\n", "trl>=0.9\n", "requirements.txt: trl not named -> >=0.9"),
    ],
)
def test_a_release_that_no_run_depends_on(checkout, repinned, review, file, before, after, text):
    repinned(before, after, file)
    assert review() == (0, f"{text}; no compared run is checked with it\n")
    name, _, change = text.partition(": ")
    reason = f"{change}; no compared run is checked with it"
    report = json.loads(review("--format", "json")[1])
    assert report["not_compared"] == [{"file": name, "reason": reason}]
    assert [(each["files"], each["before"], each["consequences"][0]["text"]) for each in report["changes"]] == [([name], None, change)]
    assert "no compared run is checked with it" in review("--format", "markdown")[1]
    assert "no compared run is checked with it" in review("--format", "html")[1]


def test_a_run_whose_own_file_changes_too_has_its_own_entry(checkout, repinned, review):
    checkout.write(a__yaml=TRAINER, b__yaml=TRAINER)
    checkout.write(requirements__txt="transformers==4.40.0\n")
    checkout.commit()
    checkout.write(requirements__txt="transformers==5.0.0\n", a__yaml=TRAINER.replace("4", "8"))
    checkout.commit()
    _, out = review()
    assert "  1 of 1 run changed in effect\n" in out
    assert "\na.yaml\n" in out


def test_projects_with_other_releases_are_apart(checkout, review):
    for folder in ("one", "two"):
        checkout.write(**{f"{folder}_in_a__yaml": TRAINER, f"{folder}_in_requirements__txt": "transformers==4.40.0\n"})
    checkout.commit()
    checkout.write(one_in_requirements__txt="transformers==5.0.0\n", two_in_requirements__txt="transformers==4.42.4\n")
    checkout.commit()
    titles = [line for line in review()[1].splitlines() if not line.startswith(" ") and line]
    assert titles == ["one/requirements.txt: transformers 4.40.0 -> 5.0.0", "two/requirements.txt: transformers 4.40.0 -> 4.42.4"]


def test_a_key_that_is_renamed_in_the_new_release_is_no_changed_setting(checkout, repinned, review):
    checkout.write(a__yaml="output_dir: out\nper_device_train_batch_size: 4\nwarmup_ratio: 0.05\ngradient_checkpointing: true\n")
    repinned("transformers==4.57.1\n", "transformers==5.23.0\n")
    (change,) = json.loads(review("--format", "json")[1])["changes"]
    assert ([each["key"] for each in change["settings"]], [each["key"] for each in change["new"]]) == ([], ["/warmup_ratio"])
    assert [each["what"] for each in change["consequences"]] == ["target"]


PARSES = "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
LINE = "torchrun --nproc_per_node 4 train.py --output_dir out --report_to wandb"


def test_an_argument_that_another_release_reads_as_a_list_is_no_change(checkout, repinned, review):
    checkout.write(train__py=PARSES, run__sh=LINE)
    repinned("transformers==4.44.0\n", "transformers==4.38.0\n")
    assert "no effective change in 1 run" in review()[1]


def test_a_release_that_changes_together_with_code_is_named(checkout, review):
    checkout.write(train__py=PARSES, run__sh=LINE, requirements__txt="transformers==4.44.0\n")
    checkout.commit()
    checkout.write(train__py=f"{PARSES}print()\n", requirements__txt="transformers==4.38.0\n")
    checkout.commit()
    assert review()[1].startswith("requirements.txt: transformers 4.44.0 -> 4.38.0\n  no change in what is compared in 1 run\n")


def test_the_settings_of_a_file_that_a_line_names_and_that_is_missing_are_not_compared(checkout, review):
    checkout.write(train__py=PARSES, ds__json=ENGINE, run__sh=f"{LINE} --deepspeed gone.json\n")
    checkout.commit()
    checkout.write(run__sh=f"{LINE} --deepspeed ds.json --num_train_epochs 6\n")
    checkout.commit()
    out = review()[1]
    assert "3 -> 6 epochs" in out
    assert "`deepspeed` named gone.json before, which does not exist: its settings are not compared" in out
    assert "ZeRO stage unknown -> " in out


def test_a_hostfile_that_only_the_cluster_has_hides_no_consequence(checkout, review):
    line = "deepspeed --hostfile {} --num_nodes 2 --num_gpus 8 train.py --output_dir out --per_device_train_batch_size {}\n"
    checkout.write(train__py=PARSES, run__sh=line.format("hosts_a", 4))
    checkout.commit()
    checkout.write(run__sh=line.format("hosts_b", 8))
    checkout.commit()
    out = review()[1]
    assert "global batch 64 -> 128" in out
    assert "does not exist" not in out


def test_a_dependency_file_in_utf_16_states_the_release_in_a_commit_too(checkout, review):
    checkout.write(train__py=PARSES, run__sh=LINE)
    (checkout.folder / "requirements.txt").write_bytes("transformers==4.44.0\r\n".encode("utf-16"))
    checkout.commit()
    checkout.write(run__sh=f"{LINE} --seed 1\n")
    checkout.commit()
    changed = json.loads(review("--format", "json")[1])["changes"][0]
    assert changed["after"]["target"]["transformers"] == "4.44.0"


def test_accelerate_is_required_by_every_run_of_the_trainer(recipes, repinned, review):
    repinned("accelerate==0.33.0\n", "accelerate==0.34.2\n")
    reason = "the Trainer requires it, and what it changes in its runs is not compared"
    assert f"requirements.txt: accelerate 0.33.0 -> 0.34.2; {reason}\n" in review()[1]
