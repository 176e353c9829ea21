"""Which runs the open files of an editor belong to, without an editor."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.server import answers
from cfglint.server.open_files import OpenFiles

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n"
JOINED = f"{TRAINER}deepspeed: ds.json\n"
ENGINE = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}'
LINE = "torchrun --nproc_per_node {} train.py --output_dir out --per_device_train_batch_size 4 --learning_rate 1e-5\n"
SCRIPT = LINE.format(2) + LINE.format(8)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """`FILES on GPUS GPUs` of each run of the open files; those on disk are given by `disk`."""
    monkeypatch.chdir(tmp_path)

    def of(settings, files, disk=()):
        (tmp_path / ".git").mkdir(exist_ok=True)
        for name, text in {"cfglint.toml": settings, **dict(disk)}.items():
            (tmp_path / name).write_text(text)
        opened = OpenFiles(lambda project, declared: LaunchFacts(gpus=declared.gpus if declared else project.gpus))
        for name, text in files.items():
            opened.buffers.put(name, text)
        opened.check()
        found = [f"{' '.join(sorted(each.run.paths))} on {each.run.facts.gpus}" for each in opened.runs]
        return [*sorted(found), *opened.problems]

    return of


def declared(files, **facts):
    return f"[[run]]\nfiles = {files}\n" + "".join(f"{name} = {value}\n" for name, value in facts.items()) + "\n"


@pytest.mark.parametrize(
    ("settings", "files", "disk", "expected"),
    [
        (declared(["run.sh:2"]), {"run.sh": SCRIPT}, {}, ["run.sh on 8"]),  # a line of a script, and the others are no runs of their own
        ("", {"run.sh": SCRIPT}, {}, ["run.sh on 2", "run.sh on 8"]),
        (declared(["train.yaml"], gpus=16), {"train.yaml": TRAINER}, {}, ["train.yaml on 16"]),
        (declared(["train.yaml"], gpus=16), {"ds.json": ENGINE}, {"train.yaml": JOINED}, ["ds.json train.yaml on 16"]),
        (declared(["gone.yaml", "train.yaml"], gpus=16), {"train.yaml": TRAINER}, {}, ["train.yaml on None"]),  # a file is missing
        (declared(["gone.sh:2"], gpus=16), {"train.yaml": TRAINER}, {}, ["train.yaml on None"]),
        (declared(["other.yaml"], gpus=16), {"train.yaml": TRAINER}, {"other.yaml": TRAINER}, ["train.yaml on None"]),  # of other files
        (declared(["train.yaml"], gpus=16) + declared(["train.yaml"], gpus=4), {"train.yaml": TRAINER}, {}, 2 * ["train.yaml on"]),
        (declared(["notes.yaml"]), {"notes.yaml": "a: 1\n"}, {}, []),  # a file of no kind
        (f"gpus = 8\n{declared(['a.yaml'])}", {"a.yaml": TRAINER, "b.yaml": TRAINER}, {}, ["a.yaml on None", "b.yaml on 8"]),
        ('exclude = ["old"]\n', {"old/train.yaml": TRAINER, "train.yaml": TRAINER}, {}, ["train.yaml on None"]),
        ("gpuz = 8\n", {"train.yaml": TRAINER}, {}, ["train.yaml on None", "cfglint.toml: unknown key `gpuz`"]),
    ],
)
def test_the_runs_of_open_files(runs, settings, files, disk, expected):
    found = runs(settings, files, disk)
    assert [each[: len(said)] for each, said in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("changed", "text", "again"),
    [
        ("train.json", ENGINE, {"train.yaml"}),  # another file names it
        ("other.yaml", TRAINER, {"other.yaml"}),
        ("train.yaml", f"{TRAINER}# like other.yaml\n", {"train.yaml", "other.yaml"}),  # it names another file
        ("run.sh", LINE.format(2), {"train.yaml", "other.yaml"}),  # a script may compose the names of its files
    ],
)
def test_only_what_a_change_affects_is_checked_again(tmp_path, monkeypatch, changed, text, again):
    monkeypatch.chdir(tmp_path)
    opened = OpenFiles(lambda project, declared: LaunchFacts(gpus=project.gpus))
    for name in ("train", "other"):
        opened.buffers.put(f"{name}.yaml", f"{TRAINER}deepspeed: {name}.json\n")
    opened.buffers.put("train.json", ENGINE)
    opened.check()
    before = {each.run.documents[0].path: each.run for each in opened.runs}
    assert {"train.yaml", "other.yaml"} == {*before}
    opened.buffers.put(changed, text)
    opened.check({opened.buffers.identity(changed)})
    after = {each.run.documents[0].path: each.run for each in opened.runs}
    assert {name for name in before if after[name] is not before[name]} == again


@pytest.mark.parametrize(("mark", "is_found"), [(".git", True), ("cfglint.toml", True), ("", False)])
def test_only_the_folders_around_a_file_without_a_project_are_searched(tmp_path, monkeypatch, mark, is_found):
    """A home with many projects: a script below it names a file of the same name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.sh").write_text("accelerate launch --num_processes 8 train.py --deepspeed ../ds.json\n")
    if mark:
        (tmp_path / mark).mkdir() if mark == ".git" else (tmp_path / mark).write_text("")
    opened = OpenFiles(lambda project, declared: LaunchFacts(gpus=project.gpus))
    opened.buffers.put(str(tmp_path / "ds.json"), ENGINE)
    opened.check()
    assert [each.run.documents[0].path.endswith("run.sh") for each in opened.runs] == [is_found]
    (tmp_path / "run.sh").write_text("accelerate launch --num_processes 4 train.py --deepspeed ds.json\n")
    opened.check()
    assert str(tmp_path / "run.sh") in {each.run.documents[0].path for each in opened.runs}


@each_case(("cursor", "said"), [("nproc", "8 processes on 2 nodes"), (" 4 ", "8 processes on 2 nodes"), ("seed", "`seed` (transformers)")])
def test_hover_on_a_launch_line(tmp_path, monkeypatch, cursor, said):
    monkeypatch.chdir(tmp_path)
    text = "torchrun --nnodes 2 --nproc_per_node 4 train.py --output_dir out --seed 1\n"
    path = tmp_path / "run.sh"
    path.write_text(text)
    (tmp_path / "train.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(model=None, args=args).train()\n"
    )
    opened = OpenFiles(lambda project, declared: LaunchFacts(gpus=project.gpus))
    opened.buffers.put(str(path), text)
    opened.check()
    [(run, document, kind)] = opened.runs_of(str(path))
    found = answers.hover(run, document, kind, text.index(cursor) + 1)
    assert said in found[0]
