"""Whether a script may start a training, by its words alone."""

from __future__ import annotations

from cases import each_case
from cfglint.launch.launch_words import may_launch


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
