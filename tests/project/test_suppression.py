"""Comments that suppress findings, and those that silence nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project.suppression import ignores_in, merge_unused
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

OCTAL = "output_dir: out\nper_device_train_batch_size: 010"


def run_of(text, kind="huggingface", path=None, **facts):
    syntax = "json" if kind == "deepspeed" else "yaml"
    document = parse(path or f"config.{syntax}", text, syntax)
    return CheckedRun([document], [kind], LaunchFacts(kind_given=True, **facts))


def codes(run, suppressed):
    return [each.code for each in run.diagnostics if (each.suppressed == "comment") == suppressed]


@each_case(
    "text",
    [
        OCTAL + "  # cfglint: ignore[TYP001]\n",
        OCTAL + "  # cfglint: ignore[TYP001] on purpose\n",
        OCTAL + "  # cfglint:ignore [ TYP001 ]\n",
        OCTAL + "  # cfglint: ignore[TYP] a family\n",
        OCTAL + "  # cfglint: ignore[octal-number] a name\n",
        OCTAL + "  # a reason first; cfglint: ignore[TYP001]\n",
        "output_dir: out\n# cfglint: ignore[TYP001]\nper_device_train_batch_size: 010\n",
        "output_dir: out\n# cfglint: ignore[TYP001]\n# more words\n\nper_device_train_batch_size: 010\n",
        "output_dir: out\r\n# cfglint: ignore[TYP001]\r\nper_device_train_batch_size: 010\r\n",
        "{output_dir: out,\n  per_device_train_batch_size: 010 # cfglint: ignore[TYP001]\n}\n",
    ],
)
def test_on_the_line_or_the_line_above(text):
    run = run_of(text)
    assert codes(run, True) == ["TYP001"]
    assert "SUP001" not in codes(run, False)


@each_case(
    "text",
    [
        "# cfglint: ignore[TYP001]\noutput_dir: out\nper_device_train_batch_size: 010\n",
        "output_dir: out  # cfglint: ignore[TYP001]\nper_device_train_batch_size: 010\n",
        OCTAL + "\n# cfglint: ignore[TYP001]\n",
        OCTAL + "  # cfglint: ignore[TYP002]\n",
        OCTAL + "\nrun_name: '# cfglint: ignore[TYP001]'\n",
    ],
)
def test_nowhere_else(text):
    assert "TYP001" in codes(run_of(text), False)


def test_several_codes_and_only_the_unused_one_is_reported():
    text = OCTAL + "  # cfglint: ignore[TYP001, KEY001] both\n"
    run = run_of(text)
    assert codes(run, True) == ["TYP001"]
    unused = [each for each in run.diagnostics if each.code == "SUP001"]
    assert [each.message for each in unused] == ["unused ignore comment: no KEY001 finding on this line"]
    assert text[unused[0].place.start : unused[0].place.end] == "KEY001"
    assert (unused[0].place.line, unused[0].severity, unused[0].fails_at) == (2, "warning", None)


@pytest.mark.parametrize("comment", ["# cfglint: ignore", "# cfglint: ignore[]", "# cfglint: ignor[TYP001]", "# cfglint: off"])
def test_a_comment_that_names_no_code_ignores_nothing_and_is_told(comment):
    run = run_of(f"{OCTAL}  {comment}\n")
    assert codes(run, True) == []
    assert "SUP001" in codes(run, False)


def test_a_comment_about_cfglint_is_left_alone():
    assert "SUP001" not in codes(run_of("output_dir: out  # checked with cfglint: fine\n"), False)


BROKEN = '{\n  %s\n  "train_batch_size": 100, %s\n  "train_micro_batch_size_per_gpu": 4,\n  "gradient_accumulation_steps": 4\n}\n'


@pytest.mark.parametrize(
    ("above", "beside"),
    [
        ("", "// cfglint: ignore[BAT001]"),
        ("", "# cfglint: ignore[BAT001]"),
        ("/* cfglint: ignore[BAT001] */", ""),
        ("# cfglint: ignore[BAT]", ""),
    ],
)
def test_json_that_its_reader_allows_comments_in(above, beside):
    run = run_of(BROKEN % (above, beside), "deepspeed", gpus=8)
    assert codes(run, True) == ["BAT001"]


def test_the_verdict_does_not_know_comments():
    run = run_of(BROKEN % ("", "# cfglint: ignore[BAT001]"), "deepspeed", gpus=8)
    assert (run.verdict, run.fails_at) == ("reject", "config")
    assert run.outcome().verdict == "reject"


def test_the_key_counts_when_its_value_starts_below():
    text = "output_dir: out\n# cfglint: ignore[HFT, TYP, KEY]\nlr_scheduler_kwargs:\n  min_lr: 010\n"
    run = run_of(text)
    below = [each for each in run.diagnostics if each.code == "TYP001"]
    assert [each.suppressed for each in below] == [None]
    (ignore, *_) = ignores_in(run.documents[0])
    assert ignore.lines == frozenset((2, 3))


def test_without_gpus_nothing_is_said_of_batch_codes():
    fine = BROKEN.replace("100", "128") % ("", "# cfglint: ignore[BAT001]")
    assert "SUP001" not in codes(run_of(fine, "deepspeed"), False)
    assert "SUP001" in codes(run_of(fine, "deepspeed", gpus=8), False)


def test_an_ignore_that_another_run_needs_is_in_use():
    text = BROKEN.replace("100", "128") % ("", "# cfglint: ignore[BAT001]")
    both = [run_of(text, "deepspeed", gpus=gpus).outcome() for gpus in (8, 16)]
    merge_unused(both)
    assert [[each.code for each in outcome.diagnostics if each.code == "SUP001"] for outcome in both] == [[], []]


def test_an_ignore_that_no_run_needs_is_told_once():
    text = BROKEN.replace("100", "128") % ("", "# cfglint: ignore[BAT001]")
    both = [run_of(text, "deepspeed", gpus=8).outcome() for _ in range(2)]
    merge_unused(both)
    assert [[each.code for each in outcome.diagnostics if each.code == "SUP001"] for outcome in both] == [["SUP001"], []]


def test_no_comment_no_cost(monkeypatch):
    import cfglint.project.suppression

    monkeypatch.setattr(cfglint.project.suppression, "suppress", lambda *_: pytest.fail("looked for comments"))
    assert "TYP001" in codes(run_of(OCTAL + "  # a comment\n"), False)


def test_a_broken_file_keeps_its_findings():
    run = run_of("# cfglint: ignore[TYP001]\na: [1\nb: }\n")
    assert run.verdict == "reject"


@given(st.lists(st.sampled_from(["#", "cfglint:", " ", "ignore", "[", "]", "TYP001", ",", "x: 010", "\n", "'", "/*", "- "]), max_size=14))
def test_any_comment_can_be_read(parts):
    for kind in ("huggingface", "deepspeed"):
        run = run_of("# cfglint:" + "".join(parts), kind)
        assert all(each.code != "INT000" for each in run.diagnostics)


def test_exit_status_and_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(BROKEN % ("", "# cfglint: ignore[BAT001] known"))
    assert main(["check", "ds.json", "--kind", "deepspeed", "--gpus", "8", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in report["diagnostics"]] == []
    assert report["runs"][0]["verdict"] == "reject"


def test_old_names_of_rules_are_accepted():
    run = run_of("output_dir: out\nsave_total_limit: None  # cfglint: ignore[none-is-text]\n")
    assert "TYP003" in codes(run, True)
    assert "SUP001" not in codes(run, False)
