"""Which launch of a script is that of its earlier state."""

from __future__ import annotations

from types import SimpleNamespace

from cases import each_case
from cfglint.launch.scripts import MOST as MOST_CHECKED
from cfglint.review.launches import MOST_PAIRS, paired


def launched(name, program=None, launcher="torchrun", **arguments):
    """A run of a launch; without a program it has no launch."""
    entry = None if program is None else {"program": program, "launcher": launcher, "arguments": arguments}
    return SimpleNamespace(name=name, launch=SimpleNamespace(entry=entry, line=None, command=None))


SFT, DPO = launched("sft", "src/sft.py", lr=1), launched("dpo", "src/dpo.py", lr=1)


@each_case(
    ("before", "after", "expected"),
    [
        ([SFT, DPO], [launched("b", "dpo.py", lr=2), launched("a", "sft.py", lr=2)], ["dpo b", "sft a"]),  # the name of the program decides
        ([SFT], [launched("a", "sft.py", lr=2), launched("b", "sft.py", lr=1)], ["- a", "sft b"]),  # then the arguments
        ([SFT], [launched("a", "sft.py", "deepspeed"), launched("b", "sft.py", "torchrun")], ["- a", "sft b"]),  # and the launcher
        ([SFT], [launched("a", "sft.py"), launched("b", "sft.py")], ["sft a", "- b"]),  # else the first one
        ([SFT, DPO], [launched("b", "dpo.py", lr=1)], ["dpo b", "sft -"]),
        ([launched("none"), SFT], [launched("a", "sft.py"), launched("b")], ["sft a", "none b"]),  # without a launch: like one without
        ([launched("none")], [launched("a", "sft.py")], ["none a"]),
        ([launched("x", "x.py", "slurm", lr=1)], [launched("a", "a.py", "ray", seed=1)], ["- a", "x -"]),  # nothing in common
        ([], [SFT], ["- sft"]),
    ],
)
def test_the_most_similar_launches_are_paired(before, after, expected):
    pairs = paired(before, after)
    assert [" ".join("-" if each is None else each.name for each in pair) for pair in pairs] == expected


def test_of_a_script_with_more_launches_than_are_checked_those_are_paired_that_are_alike():
    alike = [launched(f"a{at}", "x.py", lr=at, seed=1, size=2) for at in range(MOST_CHECKED - 1)]
    before, after = [*alike, launched("old", "x.py", lr=1, seed=2)], [launched("new", "x.py", beta=1, lr=1), *alike]
    assert paired(before, after) == [(each, each) for each in alike]


def test_very_many_launches_are_paired_by_their_order():
    count = int(MOST_PAIRS**0.5) + 1
    before, after = [launched(f"a{at}", "x.py") for at in range(count)], [launched(f"b{at}", "x.py") for at in range(count + 1)]
    pairs = paired(before, after)
    assert (pairs[3], pairs[-1]) == ((before[3], after[3]), (None, after[-1]))
    assert len(pairs) == count + 1
