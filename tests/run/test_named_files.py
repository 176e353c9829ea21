"""A file that is named has the findings that it has in its folder: it is checked in the runs of the project that read it."""

from __future__ import annotations

import json

import pytest

import cfglint
from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.server.open_files import OpenFiles

DS = """\
{
  "train_micro_batch_size_per_gpu": "auto",
  "zero_optimization": {"stage": 2},
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "weight_decay": 0.1}}
}
"""
LINE = "deepspeed --num_gpus 8 train.py --deepspeed conf/ds.json --output_dir out --learning_rate 2e-5\n"
PROGRAM = (
    "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
)
TRAINER = "output_dir: out\nlearning_rate: 2.0e-5\nper_device_train_batch_size: 4\ndeepspeed: conf/ds.json\n"
BUILDS = """\
from transformers import Trainer, TrainingArguments


def build(rate):
    return Trainer(None, args=TrainingArguments(output_dir="out", learning_rate=rate, lr_scheduler_type="cosin"))
"""
CALLS = "import sys\n\nfrom trainers import build\n\nbuild(float(sys.argv[1])).train()\n"
OWN_DEFAULT = """\
import argparse
from transformers import TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--max_steps", type=int, default=50)
args = parser.parse_args()
TrainingArguments(output_dir="out", num_train_epochs=3, max_steps=args.max_steps, lr_scheduler_type="cosin")
"""
TRL_PROGRAM = "from trl import SFTConfig, TrlParser\n[arguments] = TrlParser(SFTConfig).parse_args_and_config()\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    def lay_out(files):
        (tmp_path / ".git").mkdir(exist_ok=True)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return lay_out


@pytest.fixture
def checked(capsys):
    def run(*arguments):
        status = main(["check", *arguments, "--format", "json"])
        shown = capsys.readouterr()
        return status, json.loads(shown.out), shown.err

    return run


def of_diagnostic(found):
    return found.code, found.severity, found.place.line


def in_editor(name):
    with open(name, encoding="utf-8") as file:
        files = OpenFiles(lambda configuration, declared: LaunchFacts())
        files.buffers.put(name, file.read())
    return files.check()[name]


def found_in(report, name):
    return sorted((each["code"], each["severity"], each["line"]) for each in report["diagnostics"] if each["file"].endswith(name))


@each_case(
    ("files", "name", "code"),
    [
        ({"conf/ds.json": DS, "train.py": PROGRAM, "run.sh": LINE}, "conf/ds.json", "RUN001"),
        (
            {"conf/ds.json": DS, "train.yaml": TRAINER, "run.sh": "torchrun --nproc_per_node 8 train.py train.yaml\n"},
            "conf/ds.json",
            "RUN001",
        ),
        (
            {"conf/ds.json": DS, "train.py": PROGRAM, "run.sh": LINE.replace("2e-5", "$1"), "all.sh": "bash run.sh 2e-5\n"},
            "conf/ds.json",
            "RUN001",
        ),
        ({"trainers.py": BUILDS, "train.py": CALLS, "run.sh": "torchrun train.py 2e-5\n"}, "trainers.py", "HFT003"),
        ({"train.py": OWN_DEFAULT, "run.sh": "torchrun train.py --max_steps -1\n"}, "train.py", "HFT003"),
        (
            {"conf/ds.json": DS, "train.py": PROGRAM, "scripts/old/run.sh": LINE},
            "conf/ds.json",
            "RUN001",
        ),
    ],
)
def test_a_named_file_has_the_findings_of_the_folder(project, checked, files, name, code):
    top = project(files)
    folder = found_in(checked(".")[1], name)
    assert code in [each[0] for each in folder]
    for spelled in (name, f"./{name}", str(top / name)):
        assert found_in(checked(spelled)[1], name) == folder
    assert sorted(map(of_diagnostic, cfglint.check(name).diagnostics)) == folder
    assert sorted(map(of_diagnostic, in_editor(name))) == folder
    for path in files:
        (top / path).unlink()


def test_the_answer_names_the_runs(project, checked):
    project({"conf/ds.json": DS, "train.py": PROGRAM, "run.sh": LINE})
    status, report, said = checked("conf/ds.json")
    assert (status, [each["files"][0] for each in report["runs"]]) == (0, ["run.sh"])
    assert "in the run of run.sh:1" in said


@each_case("options", [["--kind", "deepspeed"], ["--run"], ["--section", "zero_optimization", "--kind", "deepspeed"]])
def test_a_file_whose_use_is_declared_is_checked_as_declared(project, checked, options):
    project({"conf/ds.json": DS, "train.py": PROGRAM, "run.sh": LINE})
    assert [each["files"] for each in checked("conf/ds.json", *options)[1]["runs"]] == [["conf/ds.json"]]


def test_a_file_that_only_its_run_makes_a_config_is_recognised(project, checked):
    project({"part.yaml": "packing: true\n", "train.py": TRL_PROGRAM, "run.sh": "torchrun train.py --config part.yaml --output_dir out\n"})
    status, report, said = checked("part.yaml")
    assert "not recognised" not in said
    assert (status, [each["files"][0] for each in report["runs"]]) == (0, ["run.sh"])


def test_files_that_mention_the_name_and_do_not_read_it_add_nothing(project, checked):
    other = LINE.replace("conf/ds.json", "other.json") + "# conf/ds.json was used before\n"
    project({"conf/ds.json": DS, "other.json": DS, "train.py": PROGRAM, "run.sh": other})
    _, report, said = checked("conf/ds.json")
    assert [each["files"] for each in report["runs"]] == [["conf/ds.json"]]
    assert "in the run" not in said


def test_a_search_that_ends_at_its_limit_says_so(project, checked, monkeypatch):
    monkeypatch.setattr("cfglint.run.paths.MOST_FILES", 1)
    project({"conf/ds.json": DS, "train.py": PROGRAM, "run.sh": LINE})
    assert "1 files of the project searched for runs that read the named files" in checked("conf/ds.json")[2]


def test_the_runs_that_fill_in_a_batch_are_looked_for_in_so_many_files_at_most(project, capsys, monkeypatch):
    project({"conf/ds.json": DS, "train.py": PROGRAM, "run.sh": LINE})
    main(["explain", "conf/ds.json"])
    assert "in the run of run.sh:1" in capsys.readouterr().err
    monkeypatch.setattr("cfglint.run.paths.MOST_FILES", 1)
    main(["explain", "conf/ds.json"])
    assert capsys.readouterr().err == "cfglint: 1 files of the project searched for runs that read conf/ds.json, not the others\n"


BOOLEAN = "output_dir: out\nper_device_train_batch_size: 4\neval_strategy: no\ndeepspeed: conf/ds.json\n"
STRING = BOOLEAN.replace(": no", ': "no"')


def test_fix_edits_only_the_named_files_of_a_run(project, capsys):
    top = project({"conf/ds.json": DS, "train.yaml": BOOLEAN})
    main(["fix", "conf/ds.json"])
    assert (top / "train.yaml").read_text() == BOOLEAN
    assert (top / "conf/ds.json").read_text() != DS
    main(["fix", "train.yaml"])
    assert (top / "train.yaml").read_text() == STRING


def test_fix_keeps_to_the_baseline(project, capsys):
    top = project({"train.yaml": BOOLEAN, "conf/ds.json": DS})
    main(["check", "--write-baseline", "--baseline", "accepted.json"])
    (top / "cfglint.toml").write_text('baseline = "accepted.json"\n')
    main(["fix", "."])
    assert (top / "train.yaml").read_text() == BOOLEAN
    (top / "cfglint.toml").write_text("")
    main(["fix", "."])
    assert (top / "train.yaml").read_text() == STRING


def test_a_file_that_a_config_names_and_the_script_writes(project, capsys):
    made = "mkdir -p conf\ncat > conf/made.json <<EOF\n{}\nEOF\n"
    config = "base_model: m\ndatasets: [{path: d, type: alpaca}]\nmicro_batch_size: 1\nnum_epochs: 1\nlearning_rate: 0.1\n"
    top = project({"axolotl.yaml": config + "deepspeed: conf/made.json\n"})
    for text, codes, read in [(made, [], False), ("", ["RUN010"], True)]:
        (top / "run.sh").write_text(text + "accelerate launch --num_processes 2 -m axolotl.cli.train axolotl.yaml\n")
        main(["check", "run.sh", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        assert [each["code"] for each in found["diagnostics"] if each["code"] == "RUN010"] == codes
        assert [run["read"] for run in found["runs"]] == [read]
