"""Launches in scripts that another script calls: the caller's arguments, variables and folder hold there."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

LAUNCH = "torchrun --nproc_per_node {gpus} train.py --output_dir out --per_device_train_batch_size {size} --learning_rate 1e-5\n"


@pytest.fixture
def runs(tmp_path, monkeypatch, capsys):
    """(caller, file and line, processes, batch) of the launches of `all.sh`, beside other files."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(caller, script, path="all.sh"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        (tmp_path / (path if path.endswith(".md") else "all.sh")).write_text(caller)
        (tmp_path / "sub" / "b.sh").write_text(script)
        main(["check", path, "--format", "json"])
        found = json.loads(capsys.readouterr().out)["runs"]
        launches = [each["launch"] for each in found]
        return [(each["called_from"], each["processes"], each["arguments"].get("per_device_train_batch_size")) for each in launches]

    return report


@pytest.mark.parametrize(
    ("caller", "gpus", "size", "found"),
    [
        ("bash sub/b.sh 4 2\n", "$1", "$2", [("all.sh:1", 4, 2)]),
        ("bash -x ./sub/b.sh 4\n", "$1", "${2:-8}", [("all.sh:1", 4, 8)]),
        ("./sub/b.sh 4 --x\n", "$1", "3 ${@:2}", [("all.sh:1", 4, 3)]),
        ("export SIZE=2\nOTHER=4\nsh sub/b.sh\n", "${OTHER:-1}", "$SIZE", [("all.sh:3", 1, 2)]),
        ("SIZE=2 bash sub/b.sh\n", "1", "$SIZE", [("all.sh:1", 1, 2)]),
        ("cd sub\nnohup bash b.sh 2 &\n", "$1", "1", [("all.sh:2", 2, 1)]),
        ("for n in 1 2; do bash sub/b.sh $n; done\n", "$n", "$1", [("all.sh:1", None, 1), ("all.sh:1", None, 2)]),
        ("bash sub/b.sh $N\n", "$1", "1", [("all.sh:1", None, 1)]),
        ("bash sub/none.sh 1\n", "1", "1", []),
        ("bash all.sh\nbash sub/b.sh 2\n", "$1", "1", [("all.sh:2", 2, 1)]),
        ("x=$(bash sub/b.sh 2)\n", "$1", "1", []),
        ("echo 2 | xargs bash sub/b.sh\n", "$1", "1", [("all.sh:1", 2, 1)]),
    ],
)
def test_a_called_script_has_the_arguments_of_its_caller(runs, caller, gpus, size, found):
    assert runs(caller, LAUNCH.format(gpus=gpus, size=size)) == found


def test_scripts_that_call_each_other_end(runs):
    assert runs("bash sub/b.sh\n", "bash all.sh\nbash sub/b.sh\n" + LAUNCH.format(gpus=1, size=1)) == [("all.sh:1", 1, 1)]


def test_in_a_folder_a_launch_counts_once(runs):
    assert runs("bash sub/b.sh\n", LAUNCH.format(gpus=1, size=1), ".") == [(None, 1, 1)]
    assert runs("bash sub/b.sh 2\n", LAUNCH.format(gpus="$1", size=1), ".") == [("./all.sh:1", 2, 1), (None, None, 1)]


def test_the_line_of_the_call_names_its_launch(runs):
    assert runs("bash sub/b.sh 1\nbash sub/b.sh 2\n", LAUNCH.format(gpus="$1", size=1), "all.sh:2") == [("all.sh:2", 2, 1)]


def test_what_a_called_script_does_ends_with_it(runs):
    caller = "bash sub/b.sh\n" + LAUNCH.format(gpus="${GPUS:-3}", size=1)
    assert runs(caller, "export GPUS=2\ncd /\nexit 1\n") == [(None, 3, 1)]


@pytest.mark.parametrize("arguments", ["<gpus> <batch size>", "{number of gpus} {batch}", "<gpus>", "..."])
def test_a_call_whose_arguments_are_to_be_filled_in_gives_none(runs, arguments):
    """To bash `<gpus>` is a redirection, and the script would have no arguments."""
    block = f"```bash\nbash sub/b.sh {arguments}\n```\n"
    assert runs(block, LAUNCH.format(gpus="$1", size="$2"), "README.md") == [("README.md:2", None, None)]


def test_a_branch_that_the_arguments_of_a_call_do_not_take_starts_nothing_for_it(runs):
    script = "case $1 in\n4) {} ;;\n2) {} ;;\nesac\nif [ $1 = 4 ]; then\n{}else\n{}fi\n"
    lines = [LAUNCH.format(gpus="$1", size=size).strip() for size in range(1, 5)]
    script = script.format(lines[0], lines[1], lines[2] + "\n", lines[3] + "\n")
    assert runs("bash sub/b.sh 4\n", script) == [("all.sh:1", 4, 1), ("all.sh:1", 4, 3)]
    assert [size for *_, size in runs("bash sub/b.sh $N\n", script)] == [1, 2, 3, 4]
