"""The benchmark's page is what its template and its figures make; its pieces do what they say. Nothing is timed here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cfglint.cli import main
from cfglint.source.limits import MAX_SIZE

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
FIGURES = HERE / "results" / "figures.json"
ROW = {"seconds": 0.05, "seconds_spread": 0.004, "ratio": 2.5, "ratio_spread": 0.1, "processor_ratio": 2.4, "megabytes": 12.3}


@pytest.fixture(scope="module")
def benchmarks():
    """The modules of the benchmark, which lie beside each other and not in a package."""
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    import growth
    import inputs
    import measuring
    import page
    import plots

    sys.path.remove(folder)
    names = ("growth", "inputs", "measuring", "page", "plots", "environments")
    yield type("Benchmarks", (), {"growth": growth, "inputs": inputs, "measuring": measuring, "page": page, "plots": plots})
    for name in names:
        sys.modules.pop(name, None)


def test_the_page_and_its_plots_are_what_the_figures_make(benchmarks):
    for name, text in benchmarks.page.files(json.loads(FIGURES.read_text(encoding="utf-8"))).items():
        assert (HERE / name).read_text(encoding="utf-8") == text, f"{name}: benchmarks/run.py --from {FIGURES.name} --write makes it anew"


def test_the_page_names_the_command_and_has_every_part():
    page = (HERE / "README.md").read_text(encoding="utf-8")
    assert "python3 benchmarks/run.py" in page
    assert "{{" not in page
    for part in ("3,000 YAML files", "300 YAML files", "A branch that changes 50", "More and more declared runs", "Several cores"):
        assert part in page
    for plot in ("files", "size", "runs"):
        assert f"(results/{plot}.svg)" in page


@pytest.mark.parametrize("name", ["files", "size", "runs"])
def test_plots_are_well_formed(name):
    root = ElementTree.parse(HERE / "results" / f"{name}.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    dots = root.findall("{http://www.w3.org/2000/svg}circle")
    for dot in dots:
        assert 0 < float(dot.get("cx")) < float(root.get("width"))
        assert 0 < float(dot.get("cy")) < float(root.get("height"))
    assert len(dots) > 4


def test_a_table_has_a_row_for_each_command(benchmarks):
    rows = [{"command": "python -c pass", **ROW}, {"command": "cfglint check", **ROW}]
    text = benchmarks.page.shown({"title": "Start", "note": "ratios", "rounds": 3, "date": "2026-11-22", "rows": rows})
    assert text.splitlines()[-1] == "| cfglint check  |   2.5 |  0.1 |   2.4 |     50 |   4.0 |  12 |"
    assert len({len(line) for line in text.splitlines()[2:]}) == 1


def test_a_target_that_is_missed_is_said_so(benchmarks):
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for row in figures["tables"]["start"]["rows"]:
        row["ratio"] = 3.5
    first, second = benchmarks.page.targets(figures).splitlines()[2:4]
    assert first.endswith("| **no** |")
    assert second.endswith("| yes |")


def test_a_growth_that_is_proportional_lies_on_its_line(benchmarks):
    line = [{"x": x, "seconds": x / 1000} for x in (10, 100, 1000)]
    picture = benchmarks.plots.plot({"title": "T", "unit": "files", "lines": {"one": line}})
    (slope, _) = [each for each in ElementTree.fromstring(picture) if each.get("class") == "slope"]
    begin, end = (tuple(map(float, place.split())) for place in slope.get("d")[1:].split("L"))
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in ElementTree.fromstring(picture) if dot.get("class") == "dot0"]
    assert dots[0] == begin
    assert dots[2] == end


def test_measured_in_rounds(benchmarks, tmp_path):
    subject = benchmarks.measuring.Subject("pass", tmp_path, sys.executable, "-S", "-c", "pass")
    benchmarks.measuring.rounds([subject], 2)
    (row,) = benchmarks.measuring.rows([subject], subject)
    assert (row["command"], row["ratio"], row["ratio_spread"]) == ("pass", 1.0, 0.0)
    assert len(subject.seconds) == len(subject.processor) == 2
    assert row["megabytes"] > 1


def test_a_command_that_fails_stops_the_measuring(benchmarks, tmp_path):
    subject = benchmarks.measuring.Subject("fails", tmp_path, sys.executable, "-S", "-c", "raise SystemExit(3)")
    with pytest.raises(SystemExit, match="exit status 3"):
        subject.weigh()


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@pytest.mark.parametrize("size", [1000, 100_000, MAX_SIZE])
def test_a_large_file_has_the_size_that_was_asked_for(benchmarks, tmp_path, suffix, size):
    made = benchmarks.inputs.large(tmp_path, suffix, size).stat().st_size
    assert size - 150 < made <= size


def test_what_is_measured_is_looked_at(benchmarks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(benchmarks.inputs.declared(tmp_path / "declared", 3))
    assert main(["check"]) == 0
    assert "6 files checked (3 training runs)" in capsys.readouterr().err
    monkeypatch.chdir(benchmarks.inputs.Source(".yaml", []).fill(tmp_path / "many", 120))
    main(["check", "."])
    assert "120 files checked" in capsys.readouterr().err
    monkeypatch.chdir(benchmarks.inputs.branch(tmp_path / "branch", 2))
    main(["review", "--base", "main"])
    assert "2 runs compared, 2 changed in effect" in capsys.readouterr().err


def test_the_repository_is_the_same_each_time(benchmarks, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import repository

    one, again = tmp_path / "one", tmp_path / "again"
    maker = repository.Maker(one)
    for make, count in ((maker.scores, 2), (maker.records, 2), (maker.cut, 1), (maker.task, 2), (maker.deepspeed, 1), (maker.trainer, 1)):
        maker.each(count, make)
    maker = repository.Maker(again)
    maker.each(2, maker.scores)
    assert (again / maker.scores(0)[0]).exists()
    assert (one / "results/step1/boolq.json").read_bytes() == (again / "results/step1/boolq.json").read_bytes()
    monkeypatch.chdir(one)
    assert main(["check", ".", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [run["kinds"] for run in told["runs"]] == [["deepspeed"], ["huggingface"]]
    monkeypatch.delitem(sys.modules, "repository")
