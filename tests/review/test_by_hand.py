"""Comparisons made by hand in every format that tells what changed, line by line: each case has one trait.

`CFGLINT_UPDATE=1` rewrites the records; the difference is to be read.
"""

from __future__ import annotations

import re

import pytest

from cfglint.report import render_changes
from cfglint.review.left_out import NotCompared
from cfglint.review.releases import ReleaseChange
from records import check_parts

FOUR = "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\n"
EIGHT = FOUR.replace("4", "8")
BROKEN = FOUR.replace("4", "0")
NEWER_OPTIMIZER = f"{FOUR}optim: stable_adamw\n"
OLDER = "output_dir: out\nper_device_train_batch_size: 4\nevaluation_strategy: epoch\n"
SCHEDULED = f"{FOUR}num_train_epochs: 3\nlearning_rate: 1.0e-5\nlr_scheduler_type: cosine\nmax_grad_norm: 1.0\n"
MUCH = SCHEDULED.replace("4", "8").replace("1.0e-5", "2.0e-5").replace("cosine", "linear")
OLD, NEW, NEWER = (
    {"target": {"transformers": release}, "target_from": {"transformers": f"requirements.txt says transformers=={release}"}}
    for release in ("4.40.0", "5.0.0", "5.1.0")
)
OPTIONS = {"narrow": {"width": 60}, "coloured": {"colour": True}}  # of the report as text
PAGES = (  # that are recorded whole: all would be long
    *("nothing changed", "a name and the batch", "a new warning and an error that is resolved", "a run that no longer starts"),
    *("the same in two runs", "a release that stops two of three runs", "only what is not compared", "a remark"),
)
NEWER_TRL = ReleaseChange("trl", "0.17.0", "1.16.0", "requirements.txt")
LEFT_OUT = [
    NotCompared(
        "requirements.txt",
        "trl 0.17.0 -> 1.16.0; no compared run is checked with it",
        ReleaseChange("trl", "0.17.0", "1.16.0", "requirements.txt"),
    ),
    NotCompared("a.py", "only the arguments in its code are compared"),
    NotCompared("b.py", "only the arguments in its code are compared"),
]


def scenes(compared):
    """(title, comparisons, the other arguments of the report) of what a report is made of."""
    yield "no runs", [], {}
    yield "nothing changed", [compared(FOUR, FOUR)], {}
    yield "nothing that is compared changed", [code_changed(compared(FOUR, FOUR))], {}
    yield "the batch", [compared(FOUR, EIGHT)], {}
    yield "the batch of an unknown number of GPUs", [compared(FOUR, EIGHT, gpus=None)], {}
    yield "a name", [compared(f"{FOUR}run_name: a\n", f"{FOUR}run_name: '```'\n")], {}
    yield "a name and the batch", [compared(f"{FOUR}run_name: a\n", f"{EIGHT}run_name: b\n")], {}
    yield "a setting that is added", [compared(FOUR, f"{FOUR}max_grad_norm: 0.5\n")], {}
    yield "a run with two files", [compared(with_engine(FOUR, 2), with_engine(FOUR, 3))], {}
    yield "a new run and a deleted one", [compared(None, FOUR), compared({"b.yaml": FOUR}, None)], {}
    yield "a setting on another line", [compared(FOUR, f"seed: 7\n{EIGHT}")], {}
    yield "a file with another name", [compared({"a.yaml": f"max_steps: 5\n{FOUR}"}, {"b.yaml": f"seed: 7\n{EIGHT}"})], {}
    yield "a file with another name and a setting on another line", [compared({"a.yaml": FOUR}, {"b.yaml": f"seed: 7\n{EIGHT}"})], {}
    yield "five consequences", [compared(SCHEDULED, MUCH)], {}
    yield "more consequences than a headline has", [compared(SCHEDULED, MUCH.replace("norm: 1", "norm: 2"))], {}
    yield "a new warning and an error that is resolved", [compared(BROKEN, f"{FOUR}learning_rat: 5\n")], {}
    yield "a run that no longer starts", [compared(FOUR, BROKEN)], {}
    yield "a run that still does not start", [compared(BROKEN, f"{BROKEN}seed: 7\n")], {}
    yield "a change that is not enough", [noted(compared(BROKEN, BROKEN.replace("0", "-1")))], {}
    yield "a file that cannot be read any more", [compared(FOUR, "a: [\n")], {}
    yield "the same in two runs", [compared({name: FOUR}, {name: EIGHT}) for name in ("a.yaml", "b.yaml")], {}
    yield "the same error in five runs", [compared({name: FOUR}, {name: BROKEN}) for name in map("{}.yaml".format, range(5))], {}
    yield "the worst comes first", [*worst_last(compared)], {}
    yield "some still do not start", [compared(BROKEN, f"{BROKEN}seed: 7\n"), compared({"b.yaml": FOUR}, {"b.yaml": EIGHT})], {}
    yield "a release without consequences", [released(compared, FOUR, NEW, NEWER)], {}
    yield "a release that no file states", [released(compared, OLDER, *({**each, "target_from": {}} for each in (OLD, NEW)))], {}
    yield "a release that stops two of three runs", [*three_released(compared, NEW, OLD)], {}
    yield "a release with which two of three runs start", [*three_released(compared, OLD, NEW)], {}
    yield "a release that stops one run", [released(compared, NEWER_OPTIMIZER, NEW, OLD)], {}
    yield "a release that resolves an error", [released(compared, OLDER, NEW, OLD), released(compared, BROKEN, NEW, OLD, "b.yaml")], {}
    yield "a release and a change of its own", [released(compared, OLDER, OLD, NEW), compared({"b.yaml": FOUR}, {"b.yaml": EIGHT})], {}
    yield "what is not compared", [compared(FOUR, EIGHT)], {"unused": LEFT_OUT}
    yield "only what is not compared", [], {"unused": LEFT_OUT[1:]}
    yield "only a release that no run has", [], {"unused": LEFT_OUT[:1]}
    yield "a remark", [compared(FOUR, FOUR)], {"note": "compared with the branch main"}


def code_changed(comparison):
    """A comparison of a run whose program changed too."""
    comparison.code_changed = True
    return comparison


def noted(comparison):
    """A comparison with the findings that remain at its settings."""
    comparison.add_notes()
    return comparison


def with_engine(text, stage):
    """A trainer's file with its DeepSpeed config."""
    return {"train.yaml": f"{text}deepspeed: ds.json\n", "ds.json": f'{{"zero_optimization": {{"stage": {stage}}}}}\n'}


def worst_last(compared):
    """Changes from the mildest to the worst: a setting, the batch, a warning, an error, a run that no longer starts."""
    warning, error = (f"{FOUR}{line}\n" for line in ("learning_rat: 5", "seed: x"))
    after = (f"{FOUR}run_name: a\n", EIGHT, warning, f"{BROKEN}{error.splitlines()[-1]}\n", BROKEN)
    before = (FOUR, FOUR, FOUR, BROKEN, FOUR)
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        yield compared({f"{number}.yaml": old}, {f"{number}.yaml": new})


def released(compared, text, before, after, file="a.yaml"):
    """A run of which only the release changes."""
    return compared({file: text}, {file: text}, only_releases=True, new_facts=after, **before)


def three_released(compared, before, after):
    """Three runs of which only the release changes, and two of them need the newer one."""
    for file, text in (("a.yaml", OLDER), ("b.yaml", NEWER_OPTIMIZER), ("c.yaml", NEWER_OPTIMIZER)):
        yield released(compared, text, before, after, file)


def content(page, whole):
    """The header of a page, or all its content without the pictures, an element a line."""
    found = re.search(f"<header.*</{'main' if whole else 'header'}>", page, re.DOTALL).group()
    return re.sub(r"<svg.*?</svg>", "", found, flags=re.DOTALL).replace("><", ">\n<")


@pytest.mark.parametrize("form", ["text", "narrow", "coloured", "markdown", "github", "html"])
def test_by_hand(compare, form, root, updating):
    def compared(before, after, **facts):
        return compare(before, after, **{"gpus": 8, "kind": "huggingface", "kind_given": True, **NEW, **facts})

    lines = []
    for title, comparisons, others in scenes(compared):
        text = render_changes(form if form not in OPTIONS else "text", comparisons, **OPTIONS.get(form, {}), **others)
        lines += [f"=== {title}", *(content(text, title in PAGES) if form == "html" else text).splitlines()]
    purpose = "a report of a change: each case has one trait"
    check_parts(root / "tests" / "review" / "expected" / f"by-hand-{form}", purpose, lines, updating)
