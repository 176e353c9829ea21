"""Several runs that are brought to one target: edits that do not hold when they are checked again are left out, with the reason."""

from __future__ import annotations

from types import SimpleNamespace

from cases import each_case
from cfglint.findings.diagnostic import Diagnostic, Place
from cfglint.findings.rule import BATCH, KEY
from cfglint.rewrite.joint_targets import Aimed, sharing, verify


def finding(code, severity="error", about=None, key="/key"):
    return Diagnostic(code, "name", severity, Place("run.sh", 1, 1, 1, 1, 0, 0, ""), key, "does not fit", about=about)


def run(gpus=8, batch=64, *diagnostics):
    """A run as it is checked again."""
    return SimpleNamespace(facts=SimpleNamespace(gpus=gpus), resolved={"global_batch": batch}, diagnostics=[*diagnostics])


def aimed(line, script="run.sh", read_for=None):
    """A run of a line of a script, whose target is 8 GPUs and a global batch of 64."""
    solution = SimpleNamespace(chosen=SimpleNamespace(global_batch=64))
    launch = SimpleNamespace(line=SimpleNamespace(script_path=script))
    found = SimpleNamespace(gpus=8, solution=solution, feasible=True, needs=[])
    run = SimpleNamespace(written_at=f"{script}:{line}", paths=[script], launch=launch, read_for=read_for)
    return Aimed(run, found, {script: "edited"})


OLD = finding("BAT001")


@each_case(
    ("before", "after", "problem"),
    [
        ([run(2, 16)], [run()], None),
        ([run(2, 16)], [run(None, None)], None),  # what is unknown contradicts nothing
        ([run(2, 16)], [run(16)], "run.sh:1: not changed: the edited launch would start 16 processes"),
        ([run(2, 16)], [run(8, 60)], "run.sh:1: not changed: the edited files would resolve to a global batch of 60"),
        ([run(2, 16)], [run(), run()], "run.sh:1: not changed: the edited files would start something else"),
        ([run(2, 16)], [], "run.sh:1: not changed: the edited files would start something else"),
        ([run(2, 16)], [run(8, 64, OLD)], "run.sh:1: not changed: with the edit `check` would report BAT001: does not fit"),
        ([run(2, 16, OLD)], [run(8, 64, OLD)], None),
        (
            [run(2, 16, OLD)],
            [run(8, 64, OLD, finding("BAT001", key="/other"))],
            "run.sh:1: not changed: with the edit `check` would report BAT001: does not fit",
        ),
        (
            [run(2, 16)],
            [run(8, 64, finding("BAT010", "warning", BATCH))],
            "run.sh:1: not changed: with the edit `check` would report BAT010: does not fit",
        ),
        ([run(2, 16)], [run(8, 64, finding("KEY101", "warning", KEY))], None),  # not about sizes
        ([run(2, 16)], [run(8, 64, finding("BAT010", "info", BATCH))], None),
    ],
)
def test_an_edit_that_does_not_hold_is_left_out(before, after, problem):
    aim = aimed(1)
    verify([aim], [[aim]], lambda texts: after if texts else before, {"run.sh": "edited"})
    assert (aim.problem, bool(aim.texts)) == (problem, problem is None)


def test_with_it_the_edits_of_those_that_share_its_files_are_left_out_and_no_others():
    first, second, other = aimed(1), aimed(2), aimed(1, "other.sh")
    aims, texts = [first, second, other], {"run.sh": "edited", "other.sh": "edited"}
    groups = sharing(aims, texts)
    assert groups == [[first, second], [other]]
    verify(aims, groups, lambda texts: [run(), run(16), run()] if texts else [run(2, 16)] * 3, texts)
    assert first.problem == "run.sh:1: not changed: the edited launch would start 16 processes"
    assert second.withheld == "run.sh:2: not changed, because run.sh:1 shares its files and cannot be brought to this target"
    assert (first.texts, second.texts, other.texts) == ({}, {}, {"other.sh": "edited"})
    assert (other.problem, other.withheld) == (None, None)


def test_a_run_shares_the_file_for_which_it_was_looked_for():
    """Its program reads the file, which is none of the run's own."""
    alone, reader = aimed(1, "own.yaml"), aimed(2, "run.sh", read_for="own.yaml")
    assert sharing([alone, reader], {"own.yaml": "edited"}) == [[alone, reader]]
    assert sharing([alone, reader], {"run.sh": "edited"}) == [[alone], [reader]]
