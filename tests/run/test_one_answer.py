"""One file, one answer: every command names the same runs of a file, with the same batch."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import cfglint
from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.server.open_files import OpenFiles
from records import given, read

TESTS = Path(__file__).parent.parent
RECORDED = sorted((path, title) for name in ("run", "launch") for path in (TESTS / name / "projects").glob("*.txt") for title in read(path))
FILES = (".sh", ".py", ".yaml", ".yml", ".json", ".md")
LINE = "torchrun --nproc_per_node {} train.py --output_dir out --per_device_train_batch_size {} --learning_rate 1e-5 --deepspeed ds.json\n"
PROJECT = {
    "train.sh": LINE.format("${1:-2}", 4),
    "all.sh": "bash train.sh\nbash train.sh 8\n",
    "again.sh": "bash train.sh 8\n",
    "other.sh": LINE.format(4, "$BATCH"),
    "train.py": "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    "args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]\nTrainer(args=args).train()\n",
    "main.sh": "torchrun --nproc_per_node 2 main.py --output_dir out --per_device_train_batch_size 3 --learning_rate 1e-5\n",
    "library.py": "from transformers import Trainer, TrainingArguments\n"
    "def run():\n    Trainer(args=TrainingArguments('out', per_device_train_batch_size=5)).train()\n",
    "tool.py": "import library\nif __name__ == '__main__':\n    library.run()\n",  # no line starts it
    "main.py": "import train\nprint(train.args)\n",  # by its text, it trains nothing
    "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    "alone.json": '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}}\n',
    "trainer.yaml": "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n",
    "built.py": "from transformers import Trainer, TrainingArguments\n"
    "Trainer(args=TrainingArguments('out', per_device_train_batch_size=2, deepspeed='ds.json')).train()\n",
}


def git(folder, *arguments):
    subprocess.run(("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments), cwd=folder, check=True, capture_output=True)


def lay_out(files, folder):
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "empty")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def recorded(path, title):
    """The files of a recorded project."""
    _, *parts = "\n".join([*given(read(path)[title]), ""]).split("# file: ")
    return {name: text for name, _, text in (part.partition("\n") for part in parts)}


def entries(report):
    return sorted((place(each.get("launch"), each["files"]), each["resolved"]["global_batch"] or 0, each["gpus"] or 0) for each in report)


def place(launch, files):
    return (f"{launch['file']}:{launch['line']}" if launch else files[0]).removeprefix("./")


def of_command(capsys, *arguments):
    main([*arguments, "--format", "json"])
    shown = capsys.readouterr()
    found = json.loads(shown.out) if shown.out else {"runs": []}
    return entries(found["runs"] if isinstance(found.get("runs"), list) else [found])


def of_review(capsys):
    """The runs of the new side that a branch changes."""
    main(["review", "--base", "HEAD", "--format", "json"])
    shown = capsys.readouterr()
    return entries([each["after"] for each in json.loads(shown.out)["changes"] if each["after"] is not None]) if shown.out else []


def of_library(name):
    return sorted((place(each.launch, each.files), each.resolved["global_batch"] or 0, each.gpus or 0) for each in cfglint.check(name))


def of_server(name, text):
    opened = OpenFiles(lambda project, declared: LaunchFacts(gpus=declared.gpus if declared else project.gpus))
    opened.buffers.put(name, text)
    opened.check()
    outcomes = [each.run.outcome() for each in opened.runs]
    return sorted((place(each.launch, each.files), each.resolved["global_batch"] or 0, each.gpus or 0) for each in outcomes)


def different(files, capsys):
    """(file, command, what it names, what `check` names) where they differ; a command may refuse a file that no run reads."""
    for name, text in files.items():
        if not name.endswith(FILES):
            continue
        checked = of_command(capsys, "check", name)
        others = {"library": of_library(name), "server": of_server(name, text)}
        others |= {"explain": of_command(capsys, "explain", name)} if checked else {}
        yield from ((name, command, found, checked) for command, found in others.items() if found != checked)


def test_every_command_names_the_same_runs(tmp_path, monkeypatch, capsys):
    lay_out(PROJECT, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert list(different(PROJECT, capsys)) == []
    assert [each[0] for each in of_command(capsys, "check", "ds.json")] == ["built.py", "other.sh:1", "train.sh:1", "train.sh:1"]


def test_a_change_of_a_file_is_reviewed_in_the_runs_that_read_it(tmp_path, monkeypatch, capsys):
    lay_out(PROJECT, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert of_review(capsys) == of_command(capsys, "check", ".")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "all")
    for name in set(PROJECT) - {"all.sh"}:  # whose first line starts the run that `train.sh` is without arguments
        path = tmp_path / name
        path.write_text(PROJECT[name] + ("\n0\n" if name.endswith(".py") else "\n"))
        assert (name, of_review(capsys)) == (name, of_command(capsys, "check", name))
        path.write_text(PROJECT[name])


def test_the_processes_of_a_check_find_the_same_launch_once(tmp_path, monkeypatch, capsys):
    lay_out({**PROJECT, **{f"again{number}.sh": "bash train.sh 8\n" for number in range(20)}}, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("ds.json", "."):
        assert of_command(capsys, "check", name, "--jobs", "4") == of_command(capsys, "check", name, "--jobs", "1")


def fixed(capsys, *arguments):
    """The first files of the runs that `fix` answers for."""
    main([*arguments, "--format", "json"])
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    return sorted(each["files"][0] for each in found["runs"])


def test_a_target_is_that_of_all_runs_of_the_file(tmp_path, monkeypatch, capsys):
    lay_out(PROJECT, tmp_path)
    monkeypatch.chdir(tmp_path)
    firsts = sorted(each[0].partition(":")[0] for each in of_command(capsys, "check", "ds.json"))
    assert fixed(capsys, "fix", "--check", "ds.json", "--gpus", "16") == firsts


@pytest.mark.slow
@pytest.mark.parametrize(("path", "title"), RECORDED, ids=[title[:40] for _, title in RECORDED])
def test_every_command_names_the_same_runs_of_a_recorded_project(path, title, tmp_path, monkeypatch, capsys):
    files = recorded(path, title)
    lay_out(files, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert list(different(files, capsys)) == []
    assert of_review(capsys) == of_command(capsys, "check", ".")


def test_a_file_whose_values_a_program_takes_as_defaults_is_not_one_of_a_trainer(tmp_path, monkeypatch, capsys):
    code = (
        "import argparse, yaml\nfrom transformers import Trainer, TrainingArguments\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--config')\nparser.add_argument('--learning_rate', type=float, default=1.0)\n"
        "parser.set_defaults(**yaml.safe_load(open(parser.parse_known_args()[0].config)))\nargs = parser.parse_args()\n"
        "Trainer(args=TrainingArguments('out', learning_rate=args.learning_rate)).train()\n"
    )
    config = "per_device_train_batch_size: 4\nlearning_rate: 5e-6\nevaluation_strategy: steps\nsave_total_limit: 2\n"
    lay_out({"t.py": code, "c.yaml": config, "t.sh": "python t.py --config c.yaml\n"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    for path in ("c.yaml", "."):
        main(["check", path, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        assert [run["files"][0].removeprefix("./") for run in found["runs"]] == ["t.sh"], path
        assert [each["code"] for each in found["diagnostics"] if each["file"].endswith("c.yaml")] == []


def test_the_file_of_an_engine_that_a_program_passes_on_is_checked(tmp_path, monkeypatch, capsys):
    code = (
        "import json\nfrom transformers import Trainer, TrainingArguments\nengine = json.load(open('ds.json'))\n"
        "Trainer(args=TrainingArguments('out', deepspeed=passed(engine))).train()\n"
    )
    lay_out({"t.py": code, "ds.json": '{"train_batch_size": 0, "zero_optimization": {"stage": 2}}'}, tmp_path)
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert sorted(run["files"][0] for run in found["runs"]) == ["./ds.json", "./t.py"]
