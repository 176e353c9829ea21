"""Comparisons in every format, with texts that nobody thought of, and more of them than fit."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from cases import each_case
from cfglint.report import FORMATS, render_changes
from cfglint.report.markdown import MARK

markdown_it = pytest.importorskip("markdown_it", reason="without markdown-it-py nothing renders the comment")
RENDERER = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
OURS = {"table", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "pre", "h3", "p", "strong"}
TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\n"
HOSTILE = [
    "x::error file=other.py,line=1::taken over",
    "</details></summary><script>alert(1)</script>",
    "\x1b[31mred",
    "a | b \\| c \\",
    "`` ` ``` ```` @octocat #1 https://example.org",
    "```\n</details>\n# heading",
    "[link](1) ![image](https://example.org/x.png) *bold*",
    "100%0A::warning::x",
    "right\u202eleft \u2028",
]


each_hostile_text = each_case("text", HOSTILE)


@pytest.fixture
def hostile(compare):
    """A change in which a text stands wherever a file can put one."""

    @cache
    def changed(text):
        name = f"{text.replace('/', '_')}.yaml"
        before = {name: f"{TRAINER}run_name: {json.dumps(text)}\n"}
        after = {name: f"{TRAINER.replace('4', '8')}run_name: {json.dumps(text + 'x')}\n{json.dumps(text)}: 1\n"}
        return compare(before, after, gpus=8, kind="huggingface", strict_keys=True, kind_given=True)

    return changed


@each_hostile_text
@each_case("form", FORMATS)
def test_hostile_text_in_every_format(hostile, text, form):
    made = render_changes(form, [hostile(text)])
    assert "\x1b" not in made
    if form == "github":
        assert all(line.startswith(("::error file=", "::warning file=", "::notice file=")) for line in made.splitlines())
    elif form in ("json", "sarif", "gitlab"):
        json.loads(made)


@each_hostile_text
def test_hostile_text_becomes_no_markup(hostile, text):
    rendered = RENDERER.render(render_changes("markdown", [hostile(text)]))
    assert set(re.findall(r"</?([a-zA-Z][\w-]*)", rendered)) <= OURS
    assert rendered.count("<details>") == rendered.count("</details>") == 1
    assert rendered.count("<tr>") == 2
    outside = re.sub(r"<(pre|code)\b.*?</\1>", "", rendered, flags=re.DOTALL).replace("<summary>", "")
    assert "@octocat" not in outside.replace("&quot;", "")
    assert "https" not in outside


def test_the_worst_comes_first_and_the_same_is_left_out(compare):
    quiet = compare(TRAINER, f"# x\n{TRAINER}")
    changed = compare({"b.yaml": TRAINER}, {"b.yaml": TRAINER.replace("4", "8")}, gpus=8)
    broken = compare({"c.yaml": TRAINER}, {"c.yaml": TRAINER.replace("4", "0")}, gpus=8)
    text = render_changes("markdown", [quiet, changed, broken])
    lines = text.splitlines()
    assert lines[:2] == [MARK, "### cfglint: 2 of 3 runs changed in effect, new: 1 error"]
    assert lines[5].startswith("| `c.yaml` | yes -> **no** (init) |")
    assert lines[6] == "| `b.yaml` | yes | 32 -> 64 | x0.5 |  |  |"
    assert "train.yaml" not in text
    assert "<summary><code>b.yaml</code>: global batch 32 -&gt; 64 (doubled); learning rate unchanged; total steps about halved" in text


def test_nothing_to_tell(compare):
    assert render_changes("markdown", [compare(TRAINER, TRAINER)]) == f"{MARK}\n### cfglint: no effective change in 1 run\n\n"
    assert render_changes("markdown", []) == f"{MARK}\n### cfglint: no effective change in 0 runs\n\n"


def test_fits_into_a_comment_however_many_runs(compare):
    broken = TRAINER.replace("4", "0")
    many = [
        compare({f"{number:x>40}.yaml": TRAINER}, {f"{number:x>40}.yaml": f"{broken}learning_rate: {number}.0e-9\n"}, gpus=8)
        for number in range(1, 121)
    ]
    text = render_changes("markdown", many)
    assert 40_000 < len(text.encode()) < 65_536
    assert text.count("<details>") == text.count("</details>") > 20
    assert "60 more runs are not in the table." in text
    assert re.search(r"\d+ more lines do not fit into a comment", text)


@pytest.mark.slow
def test_fits_into_a_comment_however_long_a_run(compare):
    many = "".join(f"key{number}: {number}\n" for number in range(5000))
    text = render_changes("markdown", [compare(TRAINER, TRAINER + many)])
    assert 60_000 < len(text.encode()) < 65_536
    assert text.count("<details>") == text.count("</details>") == 1


def test_colour_changes_nothing_but_colour(compare):
    found = [compare(TRAINER, TRAINER.replace("4", "0"), gpus=8), compare(None, TRAINER)]
    plain, coloured = (render_changes("text", found, colour=colour) for colour in (False, True))
    assert plain != coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_annotations_of_new_and_gone_runs(compare):
    assert render_changes("github", [compare(TRAINER, None)]) == ""
    (line,) = render_changes("github", [compare(None, TRAINER)]).splitlines()
    assert line.startswith("::notice file=train.yaml,line=1,title=new run::new run: starts")


def test_the_title_of_a_comment_names_what_changes_the_training_first(compare):
    rest = "num_train_epochs: 3\nbf16: true\n"
    old = f"per_device_train_batch_size: 2\nlearning_rate: 1.0e-5\nlr_scheduler_type: cosine\nmax_grad_norm: 1.0\n{rest}"
    new = f"per_device_train_batch_size: 4\nlearning_rate: 5.0e-5\nlr_scheduler_type: linear\nmax_grad_norm: 0.5\n{rest}"
    summary = render_changes("markdown", [compare(old, new)]).partition("<summary>")[2].partition("</summary>")[0]
    places = [summary.index(each) for each in ("global batch", "learning rate", "total steps", "schedule", "gradient clipping", "1 more")]
    assert places == sorted(places)
    assert "micro batch" not in summary


def test_equal_runs_are_one_row_of_the_table(compare):
    text = render_changes("markdown", [compare({"t.yaml": TRAINER}, {"t.yaml": TRAINER.replace("4", "0")}, gpus=8) for _ in range(3)])
    assert text.count("| `t.yaml` (3 runs) |") == 1
    assert text.count("| `t.yaml`") == 1
