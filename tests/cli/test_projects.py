"""What the configuration says of files: kinds, excluded ones, and the declared runs that hold a named file."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-4\ndeepspeed: ds.json\n"
DEEPSPEED = '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1, "zero_optimization": {"stage": 2}}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def report(capsys, *arguments):
    capsys.readouterr()
    status = main(["check", *arguments, "--format", "json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out) if captured.out else {}, captured.err


def test_a_named_file_is_checked_in_its_declared_run(folder, capsys):
    write(folder, train_dot_yaml=TRAINER, ds_dot_json=DEEPSPEED, cfglint_dot_toml='[[run]]\nfiles = ["train.yaml"]\ngpus = 16\n')
    status, found, _ = report(capsys, "ds.json")
    assert status == 1
    assert [(run["files"], run["gpus"]) for run in found["runs"]] == [(["train.yaml", "ds.json"], 16)]
    assert "RUN001" in [each["code"] for each in found["diagnostics"]]


@each_case(("declared", "flags", "stops"), [("", (), 0), ("", ("--strict-keys",), 1), ("strict-keys = true\n", (), 1)])
def test_unknown_keys_are_errors_where_the_run_or_a_flag_says_so(folder, capsys, declared, flags, stops):
    write(folder, train_dot_yaml="output_dir: out\nper_device_train_batch_size: 4\nlearning_rat: 1.0e-4\n")
    write(folder, cfglint_dot_toml=f'[[run]]\nfiles = ["train.yaml"]\n{declared}')
    assert report(capsys, "train.yaml", *flags)[0] == stops


def test_a_kind_on_the_command_line_is_for_the_file_alone(folder, capsys):
    write(folder, train_dot_yaml=TRAINER, ds_dot_json=DEEPSPEED, cfglint_dot_toml='[[run]]\nfiles = ["train.yaml"]\ngpus = 16\n')
    for file, kind in (("train.yaml", "huggingface"), ("ds.json", "deepspeed")):
        _, found, _ = report(capsys, file, "--kind", kind)
        assert [(run["files"][0], run["gpus"]) for run in found["runs"]] == [(file, None)]


def test_other_files_are_checked_alone(folder, capsys):
    write(
        folder, train_dot_yaml=TRAINER, ds_dot_json=DEEPSPEED, ds_b_dot_json=DEEPSPEED, cfglint_dot_toml='[[run]]\nfiles = ["train.yaml"]\n'
    )
    _, found, _ = report(capsys, "ds_b.json")
    assert [run["files"] for run in found["runs"]] == [["ds_b.json"]]


def test_kinds_by_pattern(folder, capsys):
    text = "output_dir: out\nper_device_train_batch_sze: 4\n"
    write(folder, conf__a_dot_yaml=text, cfglint_dot_toml='[kinds]\n"conf/*.yaml" = "huggingface"\n')
    _, found, _ = report(capsys, ".")
    assert [run["kinds"] for run in found["runs"]] == [["huggingface"]]
    (folder / "cfglint.toml").write_text('[kinds]\n"conf/*.yaml" = "hugginface"\n')
    assert report(capsys, ".")[0] == 2


def test_excluded_files(folder, capsys):
    write(folder, old__ds_a_dot_json=DEEPSPEED, ds_b_dot_json=DEEPSPEED, cfglint_dot_toml='exclude = ["old"]\n')
    assert [run["files"] for run in report(capsys, ".")[1]["runs"]] == [["./ds_b.json"]]
    assert [run["files"] for run in report(capsys)[1]["runs"]] == [["ds_b.json"]]
    assert [run["files"] for run in report(capsys, "old/ds_a.json")[1]["runs"]] == [["old/ds_a.json"]]
    assert report(capsys, "old/ds_a.json", "--skip-unrecognized")[1]["runs"] == []


@each_case(
    ("option", "said"),
    [
        (("--target", "transformer==4.40.0"), "did you mean `transformers`?"),
        (("--set", "per_device_train_batch_sze=2"), "did you mean `per_device_train_batch_size`?"),
        (("--args", "--per_device_train_batch_sze 2"), "did you mean `per_device_train_batch_size`?"),
        (("--select", "NOPE"), "NOPE"),
        (("--ignore", "uncoerced-valu"), "uncoerced-valu"),
    ],
)
def test_misspelt_values_of_options(folder, capsys, option, said):
    write(folder, ds_b_dot_json=DEEPSPEED)
    status, found, err = report(capsys, "ds_b.json", *option)
    assert (status, found) == (2, {})
    assert said in err


def test_keys_of_the_script_itself_can_be_set(folder, capsys):
    write(folder, ds_b_dot_json=DEEPSPEED)
    assert report(capsys, "ds_b.json", "--set", "my_own_argument=2")[0] == 0


def test_an_unrecognised_file_is_named(folder, capsys):
    write(folder, slip_dot_yaml="output_dir: out\nlearning_rate: 1.0e-4\nper_device_train_batch_sze: 4\n")
    status, _, err = report(capsys, "slip.yaml")
    assert status == 2
    assert "slip.yaml: not recognised as a training config (closest: huggingface)" in err
    assert "nothing found" not in err
    assert report(capsys, "slip.yaml", "--skip-unrecognized")[0] == 0


@pytest.mark.parametrize("name", ["../outside.json", "link.json", "link.json:1"])
def test_a_declared_run_does_not_reach_out_of_the_project(tmp_path, monkeypatch, capsys, name):
    outside = tmp_path / "outside.json"
    outside.write_text('{"train_micro_batch_size_per_gpu": 2, "gradient_cliping": 1.0}')
    before = outside.read_text()
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo")
    (tmp_path / "repo" / "link.json").symlink_to(outside)
    config = tmp_path / "repo" / "cfglint.toml"
    config.write_text(f'[[run]]\nfiles = ["{name}"]\n')
    for command in (["check"], ["fix", "--unsafe-fixes"]):
        assert main(command) == 2
        assert "is outside the project" in capsys.readouterr().err
    assert outside.read_text() == before
    if ":" not in name:  # the configuration is the user's own word
        assert main(["check", "--config", str(config)]) == 0
        assert "KEY105" in capsys.readouterr().out


def test_the_kind_of_a_declared_run_says_who_parses_it(folder, capsys):
    """`HfArgumentParser` leaves the string of YAML 1.1, another parser of the same keys would cast it."""
    write(folder, train_dot_yaml="output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2e-5\n")
    severities = {}
    for kind in ("", 'kind = "huggingface"\n'):
        write(folder, cfglint_dot_toml=f'[[run]]\nfiles = ["train.yaml"]\n{kind}')
        found = report(capsys)[1]["diagnostics"]
        severities[kind] = [each["severity"] for each in found if each["key"] == "/learning_rate"]
    assert severities == {"": ["warning"], 'kind = "huggingface"\n': ["error"]}
