"""How the files of a run are read and merged."""

from __future__ import annotations

import pytest

from cases import each_case


def codes(run, severity="error"):
    return [each.code for each in run.diagnostics if each.severity == severity]


def only(run, code):
    found = [each for each in run.diagnostics if each.code == code]
    assert len(found) == 1, [f"{each.code} {each.message}" for each in run.diagnostics]
    return found[0]


def test_files_are_one_flat_mapping(runs):
    run = runs.files({"a.yml": '{"hidden-size": 64, "seed": 1}', "b.yml": "{num_layers: 2}"})
    config = run.configs[0]
    assert config.values == {"hidden_size": 64, "seed": 1, "num_layers": 2}
    assert config.setting("hidden_size").path == ("hidden-size",)
    assert config.setting("hidden_size").place == "a.yml:1"
    assert config.setting("num_layers").document.path == "b.yml"


def test_missing_key_of_a_dashed_section_keeps_its_spelling(runs):
    config = runs.files({"a.yml": "{zero-optimization: {stage: 1}}"}).configs[0]
    setting = config.setting("zero_optimization", "reduce_scatter", value=True)
    assert (setting.path, setting.value, setting.written) == (("zero-optimization", "reduce_scatter"), True, False)
    assert setting.node is config.documents[0].find(("zero-optimization",))[1]


@each_case(
    ("path", "at"),
    [
        (("optimizer", "params", "betas", 0), ("optimizer", "params")),
        (("optimizer", "weights"), ("optimizer",)),
        (("seed", "x"), ("seed",)),
        (("gradient_clipping",), None),
    ],
)
def test_a_missing_key_is_at_the_nearest_section_that_is_there(runs, path, at):
    config = runs.files({"a.yml": "{optimizer: {type: Adam, params: {lr: 0.1}}, seed: 1}"}).configs[0]
    node = config.setting(*path).node
    assert node is (config.documents[0].find(at)[1] if at else None)


def test_same_key_in_two_files_is_refused(runs):
    run = runs.files({"a.yml": "{seed: 1}", "b.yml": "{seed: 1}"})
    found = only(run, "NEO001")
    assert (found.place.file, found.key, run.fails_at) == ("b.yml", "/seed", "load")
    assert found.exception == "ValueError: Conf file b.yml has the following duplicate keys with previously loaded file: seed"
    assert found.fix.safe


def test_values_that_differ_have_no_fix(runs):
    assert only(runs.files({"a.yml": "{seed: 1}", "b.yml": "{seed: 2}"}), "NEO001").fix is None


@pytest.mark.parametrize("later", ["hidden-size", "hidden_size"])
def test_dashed_first_and_underscored_second_is_refused(runs, later):
    run = runs.files({"a.yml": "{hidden-size: 64}", "b.yml": f"{{{later}: 128}}"})
    assert ("NEO001" in codes(run)) == (later == "hidden_size")
    assert run.configs[0].values["hidden_size"] == 128


def test_dashed_second_wins_in_silence(runs):
    run = runs.files({"a.yml": "{hidden_size: 64}", "b.yml": "{hidden-size: 128}"})
    found = only(run, "KEY303")
    assert (found.severity, found.place.file, found.key) == ("warning", "b.yml", "/hidden-size")
    assert "NEO001" not in codes(run)


def test_the_order_inside_one_file_counts_too(runs):
    assert "NEO001" in codes(runs.files({"a.yml": "{hidden-size: 64, hidden_size: 128}"}))
    assert "NEO001" not in codes(runs.files({"a.yml": "{hidden_size: 64, hidden-size: 128}"}))


def test_same_name_in_two_folders(runs):
    run = runs.files({"x/a.yml": "{seed: 1}", "y/a.yml": "{num_layers: 2}"})
    assert only(run, "NEO002").fails_at == "load"


@pytest.mark.parametrize(
    ("text", "exception"),
    [
        ("", "AttributeError: 'NoneType' object has no attribute 'items'"),
        ("[1]", "AttributeError: 'list' object has no attribute 'items'"),
        ("{1: 2}", "AttributeError: 'int' object has no attribute 'replace'"),
        ("{no: 2}", "AttributeError: 'bool' object has no attribute 'replace'"),
    ],
)
def test_what_is_no_mapping_of_texts(runs, text, exception):
    run = runs.files({"a.yml": text})
    assert (run.verdict, run.fails_at) == ("reject", "load")
    assert exception in [each.exception for each in run.diagnostics]


def test_unreadable_file_hides_nothing_and_invents_nothing(runs):
    run = runs.files({"a.yml": "{num_layers: 2", "b.yml": "{gas: 1}"})
    assert run.fails_at == "load"
    assert set(codes(run)) == {"SRC002", "KEY300"}


def test_json_is_read_as_yaml(runs):
    run = runs.files({"a.json": '{"optimizer": {"type": "Adam", "params": {"lr": 1e-05}}}'}, complete=False)
    assert run.configs[0].get("optimizer", "params", "lr") == "1e-05"
    assert only(run, "TYP300").fix.edits[0].text == "1.0e-5"


def test_fragment_misses_nothing(runs):
    run = runs.files({"local_setup.yml": '{"data_path": "d", "vocab_file": "v", "merge_file": "m", "save": "c"}'}, complete=False)
    assert run.verdict == "accept"
    assert codes(run) == []
