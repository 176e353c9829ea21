"""Which launch of a script, and which renamed file, is that of the earlier state."""

from __future__ import annotations

from types import SimpleNamespace

from cases import each_case
from cfglint.evaluate import Reason
from cfglint.launch.program import BEYOND_LIMIT
from cfglint.launch.scripts import MOST as MOST_CHECKED
from cfglint.review.pairing import MOST_LAUNCHES, may_be_there, paired, renamed

LINES = "".join(f"key_{number}: {number}\n" for number in range(10))


def launched(name, program=None, launcher="torchrun", caller=None, builds=None, **arguments):
    """A run of a launch; without a program it has no launch."""
    entry = None if program is None else {"program": program, "launcher": launcher, "arguments": arguments}
    line = SimpleNamespace(call=SimpleNamespace(called_from=(caller, 1)), files=(), program_path=program) if caller else None
    return SimpleNamespace(
        name=name,
        launch=SimpleNamespace(entry=entry, line=line, command=None, program=builds and SimpleNamespace(arguments=builds, path=program)),
    )


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
        (
            [launched("x", "s.py", lr=1), launched("y", "s.py", caller="all.sh", lr=2)],
            [launched("a", "s.py", caller="all.sh", lr=3), launched("b", "s.py", lr=3)],
            ["y a", "x b"],
        ),  # and the script that calls it
        (
            [launched("x", "s.py", builds="A"), launched("y", "s.py", builds="B")],
            [launched(name, "s.py", builds=name) for name in "CBA"],
            ["- C", "y B", "x A"],
        ),  # and the class that it builds
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


@each_case(
    ("own", "others", "expected"),
    [(BEYOND_LIMIT, "", True), ("", BEYOND_LIMIT, True), ("", "", False), ("its config is computed", "", False)],
)
def test_a_run_of_a_line_of_both_sides_may_only_not_have_been_reached(own, others, expected):
    run, same, other = (launched("a", "s.py", lr=lr) for lr in (1, 1, 2))
    run.not_read = [Reason("program", "the code of `s.py`", own)]
    same.not_read = other.not_read = [Reason("program", "the code of `s.py`", others)]
    assert (may_be_there(run, [same]), may_be_there(run, [other])) == (expected, False)


def test_very_many_launches_are_paired_by_their_order():
    count = int(MOST_LAUNCHES**0.5) + 1
    before, after = [launched(f"a{at}", "x.py") for at in range(count)], [launched(f"b{at}", "x.py") for at in range(count + 1)]
    pairs = paired(before, after)
    assert (pairs[3], pairs[-1]) == ((before[3], after[3]), (None, after[-1]))
    assert len(pairs) == count + 1


def test_files_with_the_same_content():
    assert renamed({"a.yaml": LINES, "b.yaml": "x: 1\n"}, {"c.yaml": LINES, "b.yaml": "x: 1\n"}) == {"c.yaml": "a.yaml"}


def test_of_the_same_content_the_same_base_name():
    before = {"old/a.yaml": LINES, "old/b.yaml": LINES}
    assert renamed(before, {"new/b.yaml": LINES, "new/a.yaml": LINES}) == {"new/a.yaml": "old/a.yaml", "new/b.yaml": "old/b.yaml"}


def test_files_with_similar_content():
    assert renamed({"a.yaml": LINES}, {"b.yaml": LINES.replace("key_3: 3", "key_3: 4")}) == {"b.yaml": "a.yaml"}


def test_scripts_with_the_same_options_and_other_lines():
    lines = "".join(f"  --option_{number} {number} \\\n" for number in range(10))
    other = lines.replace("  --", "    --").replace("option_9", "other")
    assert renamed({"a.sh": lines}, {"b.sh": lines.replace("option_9", "other")}) == {"b.sh": "a.sh"}
    assert renamed({"a.sh": lines}, {"b.sh": other}) == {}
    assert renamed({"a/a.sh": lines}, {"b/a.sh": other}) == {"b/a.sh": "a/a.sh"}


def test_files_with_other_content():
    assert renamed({"a.yaml": LINES}, {"b.yaml": "something: else\n"}) == {}
    assert renamed({"a.yaml": ""}, {"b.yaml": "x: 1\n"}) == {}


def test_the_most_similar_pair_wins():
    near, far = LINES.replace("key_3: 3", "key_3: 4"), LINES.replace("key_3: 3", "k: 4").replace("key_4: 4", "k: 5")
    assert renamed({"a.yaml": LINES}, {"far.yaml": far, "near.yaml": near}) == {"near.yaml": "a.yaml"}


def test_a_name_that_stays_is_never_another_ones():
    assert renamed({"a.yaml": LINES, "b.yaml": "x: 1\n"}, {"b.yaml": LINES}) == {}


def test_large_files_are_not_compared_with_each_other():
    before = {f"{number}.yaml": "a: 1\n" * 100_000 for number in range(20)} | {"same.yaml": "x: 1\n" * 100_000}
    after = {f"new{number}.yaml": f"{number}: 1\n" * 100_000 for number in range(20)} | {"there.yaml": "x: 1\n" * 100_000}
    assert renamed(before, after) == {"there.yaml": "same.yaml"}


def test_of_equally_similar_files_the_one_with_more_characters_in_common_is_chosen():
    before = {"sft.json": "a: 1\nb: 2\nlong_name: 3\nd: 4\n"}
    after = {"b.json": "a: 1\nb: 2\nx: 3\ny: 3\n", "c.json": "a: 1\nlong_name: 3\nx: 5\ny: 5\n"}
    assert renamed(before, after) == {"c.json": "sft.json"}
