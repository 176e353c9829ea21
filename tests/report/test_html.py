"""Pages: complete and self-contained, with everything linked, and nothing from a file as markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import each_case
from cfglint.cli import main
from cfglint.report import html, render
from cfglint.report.html.page import embedded, words
from hostile_texts import each_hostile_text

VOID = {"meta", "input", "br", "wbr"}
CLOSED_BY_THE_NEXT = {"li", "th", "td", "tr", "tbody"}  # whose end tags HTML lets one leave out


class Page(HTMLParser):
    """A page as its elements, its ids and its links."""

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.elements, self.ids, self.links, self.open, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.says = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.elements.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self.open[-1] != tag:
            assert self.open[-1] in CLOSED_BY_THE_NEXT, (self.open[-1], tag, self.getpos())
            self.open.pop()
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    def named(self, tag):
        """The attributes of all elements of a name."""
        return [given for name, given in self.elements if name == tag]


def sound(text):
    """The page, after what has to hold for every page."""
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert len(page.ids) == len(set(page.ids))
    assert [link for link in page.links if link.startswith("#") and link[1:] not in page.ids] == []
    assert [link for link in page.links if not link.startswith("#")] == []
    assert not {"src", "srcset", "action", "poster", "data", "style", "onclick", "onload", "onerror"} & {
        name for _, given in page.elements for name in given
    }
    assert not re.search(r"url\(|@import", re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1])
    assert [len(page.named(tag)) for tag in ("h1", "main", "header", "footer", "title")][:2] == [1, 1]
    headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in zip(headings, headings[1:], strict=False)), headings  # noqa: RUF007
    json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    return page


@pytest.fixture
def printed(example_project, monkeypatch, capsys):
    """Run a command in the examples: its page."""
    monkeypatch.chdir(example_project / "examples")

    def run(*arguments):
        main([*arguments, "--format", "html"])
        return capsys.readouterr().out

    return run


class TestCheck:
    def test_a_refused_run(self, printed):
        text = printed("check", "bad/batch-mismatch.json", "--gpus", "8")
        page = sound(text)
        assert "<title>Would not start: train_batch_size is" in text
        assert "<mark>1024</mark>" in text
        assert '<span class="line out">-' in text
        assert '<span class="line in">+' in text
        assert "rule-BAT001" in page.ids
        assert "128</b> product" in text

    def test_a_file_with_the_suffix_of_a_page_is_the_same_page(self, printed):
        text = printed("check", "bad/batch-mismatch.json", "--gpus", "8")
        main(["check", "bad/batch-mismatch.json", "--gpus", "8", "--output", "report.html"])
        with open("report.html", encoding="utf-8") as file:
            assert file.read() == text

    def test_related_places_are_linked_in_the_listing_of_their_file(self, printed):
        page = sound(printed("check", "bad/batch-mismatch.json", "--gpus", "8"))
        assert {"#run-1-f1-3", "#run-1-f1-4"} <= set(page.links)

    def test_the_worst_run_comes_first_under_its_own_number(self, printed):
        page = sound(printed("check", "good/deepspeed.json", "bad/batch-mismatch.json", "--gpus", "8"))
        assert [given["id"] for given in page.named("article")] == ["run-2", "run-1"]
        assert "1 of 2 runs would not start, bad/batch-mismatch.json: train_batch_size is 1024, but" in page.says

    def test_many_runs_are_folded_below_what_they_have_in_common(self, printed):
        for number in range(21):
            with open(f"many-{number}.json", "w", encoding="utf-8") as file:
                file.write('{"train_batch_size": 8, "zero_optimization": {"stage": 2}, "gradient_cliping": 1.0}')
        text = printed("check", *(f"many-{number}.json" for number in range(21)))
        sound(text)
        assert text.index("<summary>21 places") < text.index("<summary>21 runs with their findings") < text.index("<article")

    def test_all_examples(self, printed):
        page = sound(printed("check", ".", "--gpus", "8", "--num-examples", "128770"))
        assert {"severity", "code", "file", "kind"} == {given.get("name") for _, given in page.elements} & {
            "severity",
            "code",
            "file",
            "kind",
        }

    def test_errors_come_first_and_a_fix_is_shown_once(self, printed, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "t.yaml").write_text(
            "output_dir: out\nlearning_rate: 2e-5\nsave_steps: 500\neval_steps: 200\neval_strategy: steps\n"
            "load_best_model_at_end: true\nper_device_train_batch_size: 4\n"
        )
        text = printed("check", "t.yaml")
        page = sound(text)
        found = [given["class"] for tag, given in page.elements if tag == "li" and "finding" in given.get("class", "")]
        assert found == ["finding error", "finding warning"]
        assert "requires <code>save_<wbr>steps</code> (500) to be a multiple of" in text
        warning = text[text.index('class="finding warning"') :]
        assert '<ol class="source">' not in warning[: warning.index('<pre class="diff">')]

    def test_equal_findings_stand_together_and_clean_runs_are_folded(self, printed, root, tmp_path, monkeypatch):
        bad = (root / "examples" / "bad" / "learning-rate-string.yaml").read_text(encoding="utf-8")
        good = (root / "examples" / "good" / "neox-125M.yml").read_text(encoding="utf-8")
        for number in range(5):
            (tmp_path / f"bad_{number}.yaml").write_text(bad, encoding="utf-8")
            (tmp_path / f"neox_{number}.yml").write_text(good, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        text = printed("check", ".", "--gpus", "8")
        page = sound(text)
        groups = text[text.index('<ol class="groups">') : text.index('<h2 id="overview">')]
        assert groups.count("TYP200") == 1
        assert "5 places" in groups
        assert [groups.count(f"bad_{number}.yaml") for number in range(5)] == [1] * 5
        assert "5 runs without findings" in page.says
        assert "text" in [given.get("name") for tag, given in page.elements if tag == "input"]

    def test_a_file_of_several_runs_is_counted_once(self, printed, tmp_path, monkeypatch):
        (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n')
        for name in ("a", "b"):
            (tmp_path / f"{name}.yaml").write_text("output_dir: o\nper_device_train_batch_size: 4\ndeepspeed: ds.json\n")
        monkeypatch.chdir(tmp_path)
        assert "in 3 files" in sound(printed("check", ".")).says

    def test_nothing_to_check(self, printed, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "No training configs found" in sound(printed("check", ".")).says

    def test_fifty_runs_are_small(self, printed, root, tmp_path, monkeypatch):
        bad = (root / "examples" / "bad" / "batch-mismatch.json").read_text(encoding="utf-8")
        good = (root / "examples" / "good" / "neox-125M.yml").read_text(encoding="utf-8")
        for number in range(25):
            (tmp_path / f"ds_config_{number}.json").write_text(bad, encoding="utf-8")
            (tmp_path / f"neox_{number}.yml").write_text(good, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        text = printed("check", ".", "--gpus", "8")
        assert "25 of 50 runs would not start" in sound(text).says
        assert len(text.encode()) < 300_000

    def test_a_page_beside_other_formats(self, example_project, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(example_project / "examples")
        main(["check", "bad/batch-mismatch.json", "--format", "json", "--format", "html", "--output", str(tmp_path / "page.html")])
        assert json.loads(capsys.readouterr().out)["runs"]
        sound((tmp_path / "page.html").read_text(encoding="utf-8"))


class TestExplain:
    def test_origins_lead_to_their_lines(self, printed):
        page = sound(printed("explain", "good/trainer-zero3/train.yaml", "--gpus", "16", "--num-examples", "128770"))
        assert "not known" not in page.says
        assert {"#run-1-f1-3", "#run-1-f1-4", "#run-1-f2-4"} <= set(page.links)

    def test_what_is_not_known_says_what_would_tell_it(self, printed):
        text = printed("explain", "good/trainer.yaml")
        sound(text)
        assert "pass --gpus N and --num-examples N." in text
        assert '<span class="term unknown">' in text

    def test_steps_of_packed_samples_are_unknown_not_none(self, printed, tmp_path):
        path = tmp_path / "sft.yaml"
        path.write_text("output_dir: out\nmodel_name_or_path: m\ndataset_name: d\npacking: true\n", encoding="utf-8")
        page = sound(printed("explain", str(path), "--kind", "trl", "--trainer", "sft", "--gpus", "8", "--num-examples", "1000"))
        assert "steps per epoch ?" in page.says
        assert "total steps ?" in page.says
        assert "checkpoints ?" in page.says

    def test_a_log(self, printed, tmp_path):
        log = tmp_path / "train.log"
        log.write_text(
            "***** Running training *****\n  Num examples = 128,770\n  Num Epochs = 3\n  Instantaneous batch size per device = 8\n"
            "  Total train batch size (w. parallel, distributed & accumulation) = 256\n  Gradient Accumulation steps = 8\n"
            "  Total optimization steps = 1,509\n",
            encoding="utf-8",
        )
        page = sound(printed("explain", str(log)))
        assert "256" in page.says
        assert "1,509" in page.says


class TestPlan:
    def test_splits_and_neighbours(self, printed):
        text = printed("plan", "good/deepspeed.json", "--gpus", "8,12,16", "--from-gpus", "8")
        page = sound(text)
        assert "A global batch of 256 works on 8 and 16 GPUs" in page.says
        assert "252 and 264" in page.says

    def test_nothing_works(self, printed):
        page = sound(printed("plan", "good/deepspeed.json", "--gpus", "12", "--from-gpus", "8"))
        assert "A global batch of 256 cannot be reached on any of these GPU counts" in page.says


class TestChanges:
    def test_before_beside_after(self, printed, root, tmp_path):
        new = tmp_path / "new.json"
        old = (root / "examples" / "good" / "deepspeed.json").read_text(encoding="utf-8")
        new.write_text(old.replace('"gradient_accumulation_steps": 8', '"gradient_accumulation_steps": 4'), encoding="utf-8")
        text = printed("diff", "good/deepspeed.json", str(new), "--gpus", "8")
        page = sound(text)
        assert "Would not start after this change: train_batch_size is 256" in page.says
        assert [heading for heading in ("Before", "After", "Settings", "New findings") if heading not in page.words] == []
        assert "was 8" in page.says

    def test_several_runs_the_worst_first(self, printed, root, tmp_path):
        old, new = tmp_path / "old", tmp_path / "new"
        for folder, accumulation in ((old, 8), (new, 4)):
            folder.mkdir()
            for name in ("trainer.yaml", "deepspeed.json"):
                text = (root / "examples" / "good" / name).read_text(encoding="utf-8")
                text = text.replace("gradient_accumulation_steps: 8", f"gradient_accumulation_steps: {accumulation}")
                text = text.replace('gradient_accumulation_steps": 8', f'gradient_accumulation_steps": {accumulation}')
                (folder / name).write_text(text, encoding="utf-8")
        (new / "layout.yml").write_text((root / "examples" / "bad" / "layout.yml").read_text(encoding="utf-8"), encoding="utf-8")
        page = sound(printed("diff", str(old), str(new), "--gpus", "8"))
        assert "deepspeed.json would not start after this change: train_batch_size is 256, but" in page.says
        assert "There was no such run." in page.says
        rows = [given["data-run"] for given in page.named("tr") if "data-run" in given]
        assert rows == ["run-1", "run-2", "run-3"]

    def test_no_change(self, printed):
        page = sound(printed("diff", "good/deepspeed.json", "good/deepspeed.json", "--gpus", "8"))
        assert "No effective change" in page.says


class TestHostileValues:
    @each_hostile_text
    def test_nothing_becomes_markup(self, make, hostile):
        harmless = [tag for tag, _ in Page(render("html", [make.hostile("x")])).elements]
        tags = {tag for tag, _ in sound(render("html", [make.hostile(hostile)])).elements}
        assert tags <= set(harmless)

    def test_data_cannot_end_its_element(self):
        text = "</script><!--<script>&\u2028"
        data = embedded({"x": text})
        assert not set("<>&") & set(data)
        assert json.loads(data) == {"x": text}

    @settings(max_examples=25)
    @given(text=st.text(st.characters(), max_size=40))
    def test_in_a_file(self, make, text):
        outcome = make.outcome([make.diagnostic(text, source=f"key: {text}", related=text, fix=text)])
        page = sound(html.render([outcome]))
        assert len(page.named("script")) == 2


@each_case(
    ("text", "shown"),
    [
        ("global batch 256 -> 128", "global batch 256 \u2192 128"),
        ("4 x 8 x 8 = 256", "4 \u00d7 8 \u00d7 8 = 256"),
        ("micro batch 4 x accumulation 8", "micro batch 4 \u00d7 accumulation 8"),
        ("(micro batch x accumulation)", "(micro batch \u00d7 accumulation)"),
        ("`a` x `b`", "<code>a</code> \u00d7 <code>b</code>"),
        ("`a_b` is x -> y", "<code>a_<wbr>b</code> is x \u2192 y"),
        ("one ` alone <b>", "one ` alone &lt;b&gt;"),
        ("a x b", "a x b"),
    ],
)
def test_sentences_have_typographic_signs_and_code(text, shown):
    assert words(text) == shown


def test_a_finding_has_its_note_and_help(make):
    found = make.diagnostic("1 is not 2")
    found.note, found.help = "the loss is <noisy>", "write `2`"
    page = render("html", [make.outcome([found])])
    assert "<b>note:</b> the loss is &lt;noisy&gt;" in page
    assert "<b>help:</b> write <code>2</code>" in page


def test_a_run_whose_start_is_not_known_is_not_said_to_start(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": {{ size }}, "zero_optimization": {"stage": 2}}', encoding="utf-8")
    (tmp_path / "train.yaml").write_text("output_dir: out\nnum_train_epochs: 3\n", encoding="utf-8")
    page = sound(printed("check", "."))
    assert "1 of 2 runs should start; not known of 1" in page.says
    assert "not known" in page.says.partition("total steps findings")[2]
