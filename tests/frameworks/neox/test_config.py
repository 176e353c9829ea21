"""What a GPT-NeoX run takes from its files, and what the launcher derives: precision, attention, ZeRO, learning rate, steps."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.neox.config import expand
from cfglint.frameworks.neox.fields import describe, raised


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


@each_case(
    ("given", "expected"),
    [
        ({}, "fp32"),
        ({"precision": "fp16"}, "fp16"),
        ({"precision": "bfloat16"}, "bfloat16"),
        ({"precision": "bf16"}, "fp32"),
        ({"precision": "FP16"}, "fp32"),
        ({"fp16": {"enabled": True}}, "fp16"),
        ({"fp16": {"enabled": "false"}}, "fp16"),
        ({"fp16": {"enabled": False}, "bf16": {"enabled": True}}, "bfloat16"),
        ({"fp16": {"enabled": True, "type": "bfloat16"}}, "fp16"),
    ],
)
def test_precision(runs, given, expected):
    assert runs.of(**given).configs[0].derived.precision == expected


@each_case(
    ("pattern", "layers", "kinds", "count"),
    [
        ([[["global"], 4]], 4, ["global"], 4),
        ([[["global", "flash"], "all"]], 4, ["global", "flash"], 4),
        ([[["global"], 2], [["flash"], "all"]], 4, ["flash"], 4),
        ([[["global"], 2], [["flash"], 2]], 4, ["global", "flash"], 4),
        ([[["global"], 0]], 4, [], 0),
        (["global", "flash"], 4, ["global", "flash"], 2),
        ([[["global"], 10**9]], 4, ["global"], 10**9),
        ([["gg", "all"]], 4, ["g"], 4),
    ],
)
def test_attention_patterns(pattern, layers, kinds, count):
    attention = expand(pattern, layers)
    assert (attention.kinds, attention.layers) == (kinds, count)


@each_case(
    ("pattern", "layers", "exception"),
    [
        ([[["global", "flash"], "all"]], 5, "AssertionError: Number of layers (5) is not divisible"),
        ([[["global"], None]], 4, "TypeError: 'NoneType' object cannot be interpreted as an integer"),
        ([[["global"]]], 4, "IndexError: list index out of range"),
        ([[["global"], "ALL"]], 4, "TypeError: 'str' object cannot be interpreted as an integer"),
        ([[[], "all"]], 4, "ZeroDivisionError"),
        (5, 4, "TypeError: 'int' object is not iterable"),
    ],
)
def test_patterns_that_cannot_be_expanded(pattern, layers, exception):
    assert raised(lambda: expand(pattern, layers)).startswith(exception)


@each_case(
    ("given", "expected"),
    [
        ({"train_iters": 1000}, (1000, 10)),
        ({"train_iters": 1000, "warmup": 0.0015}, (1000, None)),
        ({"train_iters": 1000, "lr_decay_iters": 500}, (1000, 5)),
        ({"train_iters": 1000, "lr_decay_fraction": 0.5}, (1000, 5)),
        ({"train_iters": 1000, "lr_decay_iters": 500, "lr_decay_fraction": 0.1}, (1000, 5)),
        ({"train_iters": 1000, "lr_decay_iters": 0, "warmup": 1}, (1000, 1)),
        ({"train_iters": 1000, "warmup": "0.1"}, (1000, None)),
    ],
)
def test_steps(runs, given, expected):
    resolved = runs.of(**given).resolved
    assert (resolved["total_steps"], resolved["warmup_steps"]) == expected


@pytest.mark.parametrize(
    ("epochs", "accumulation", "gpus", "expected"),
    [(1, 1, 256, 30_534), (1, 8, 32, 30_534), (3, 8, 32, 91_603)],
)
def test_epochs_are_floored_once(runs, epochs, accumulation, gpus, expected):
    run = runs.of(
        gpus=gpus,
        num_examples=31_267_487,
        train_iters=runs.ABSENT,
        train_epochs=epochs,
        gradient_accumulation_steps=accumulation,
    )
    assert run.resolved["total_steps"] == expected
    assert run.resolved["steps_per_epoch"] == 30_534
    assert run.resolved["global_batch"] == 1024


def test_steps_of_epochs_are_unknown_without_samples(runs):
    assert runs.of(train_iters=runs.ABSENT, train_epochs=1).resolved["total_steps"] is None


@each_case(
    ("value", "told"),
    [("8", 'the string "8"'), ([8], "a list"), ({"a": 8}, "a mapping"), (True, "true"), (None, "null"), (0.5, "0.5")],
)
def test_a_value_is_told_as_the_file_spells_it(value, told):
    assert describe(value) == told
