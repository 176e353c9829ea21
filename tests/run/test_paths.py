"""Files by their names."""

from __future__ import annotations

from cases import each_case
from cfglint.run.paths import is_script


@each_case(
    ("name", "expected"),
    [
        ("run.sh", True),
        ("scripts/train.job", True),  # of Slurm, LoadLeveler
        ("train.lsf", True),
        ("train.qsub", True),
        ("Makefile", True),
        ("makefile.py", False),
        ("train.jobs", False),
    ],
)
def test_a_script_is_known_by_its_name(name, expected):
    assert is_script(name) is expected
