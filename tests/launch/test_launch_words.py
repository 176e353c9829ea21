"""Whether a script may start a training, by its words alone."""

from __future__ import annotations

from cases import each_case
from cfglint.launch.training import listed_below, may_launch


@each_case(
    ("text", "may"),
    [
        ("torchrun train.py\n", True),
        ("python train.py --epochs 3\n", True),
        ("python -u 'finetune.py'\n", True),
        ('python "$PROGRAM" 3\n', True),
        ("python tools/\n", True),
        ("python plot.py\n", False),
        ("python --version\n", False),
        ("python -c 'print(1)'\n", False),
        ("# torchrun train.py\necho python\n", False),
    ],
)
def test_a_script_of_one_command(text, may):
    assert may_launch(text, {}, lambda path: None) is may


@each_case(
    ("text", "may"),
    [
        ("python -m\n", True),  # what follows may be the value of a variable
        ("conda install python\n", False),
        ("conda install python; pip install -m x\n", True),
        ('pkg=python; $pkg "$X" --max_steps 9 --learning_rate 1e-5\n', True),
        ("conda install python; run --max_steps 9 --learning_rate 1e-5\n", True),
        ("conda install python; run --max_steps 9\n", False),
        ("python3.11 -u -O sft\n", True),
        ("python \\\n  finetune\n", True),
        ("python << END\n", False),
        ("python -h\n", False),
        ("python `which x`\n", True),
        ("python tool\n", False),
    ],
)
def test_what_python_runs_by_the_word_behind_it(text, may):
    assert may_launch(text, {}, lambda path: None) is may


@each_case(
    ("text", "may"),
    [
        ("sbatch train_all.py\n", True),
        ("sbatch plot.py\n", False),
        ("sbatch steps.py\n", True),  # its source calls `backward`
    ],
)
def test_a_program_that_another_command_starts(text, may):
    sources = {"/p/plot.py": "print(1)\n", "/p/steps.py": "loss.backward()\n"}
    names = {"plot.py": ["/p/plot.py"], "steps.py": ["/p/steps.py"]}
    assert may_launch(text, names, sources.get) is may


def test_the_files_of_a_project_by_their_names(tmp_path):
    for name in ("a.sh", "sub/a.sh", "sub/b.py", ".git/a.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = listed_below(str(tmp_path))
    assert found is not None
    assert {name: sorted(paths) for name, paths in found.items()} == {
        "a.sh": [str(tmp_path / "a.sh"), str(tmp_path / "sub" / "a.sh")],
        "b.py": [str(tmp_path / "sub" / "b.py")],
    }
