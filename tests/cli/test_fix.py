"""`cfglint fix`: what it writes, what it says, and when it does not write."""

from __future__ import annotations

import io
import json
import os

import pytest

from cfglint.cli import main

DEEPSPEED = """{
  // tuned on one node
  "train_batch_size": 256,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 8, // 4 x 8 x 8
  "optimizer": {"type": "AdamW", "params": {"lr": 2e-5}}
}
"""
AUTO = '{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}\n'
TRAINER = (
    "output_dir: out  # here\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nlearning_rate: 2.0e-5\nwarmup_steps: 100\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fix(folder, capsys):
    """Run `cfglint fix`: (exit status, standard output, standard error)."""

    def run(*arguments):
        status = main(["fix", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def report(fix):
    """Run `cfglint fix --format json`: (exit status, the entry of its one run)."""

    def run(*arguments):
        status, out, _ = fix(*arguments, "--format", "json")
        found = json.loads(out)
        assert list(found) == ["cfglint", "runs"]
        (entry,) = found["runs"]
        return status, entry

    return run


def write(folder, name, text):
    (folder / name).write_bytes(text.encode("utf-8"))


def text_of(folder, name):
    return (folder / name).read_bytes().decode("utf-8")


class TestTarget:
    def test_only_the_accumulation_moves(self, folder, fix):
        write(folder, "ds_config.json", DEEPSPEED)
        status, out, err = fix("ds_config.json", "--gpus", "16", "--global-batch", "256")
        assert status == 0
        assert text_of(folder, "ds_config.json") == DEEPSPEED.replace('steps": 8,', 'steps": 4,')
        assert "gradient_accumulation_steps 8 -> 4" in out
        assert "1 file changed" in err

    def test_gpus_alone_keep_todays_global_batch(self, folder, fix):
        write(folder, "ds_config.json", DEEPSPEED)
        assert fix("ds_config.json", "--gpus", "32")[0] == 0
        assert text_of(folder, "ds_config.json") == DEEPSPEED.replace('steps": 8,', 'steps": 2,')

    def test_a_new_global_batch_says_what_was_tuned_for_the_old_one(self, folder, fix):
        write(folder, "train.yaml", TRAINER)
        status, out, _ = fix("train.yaml", "--from-gpus", "8", "--gpus", "8", "--global-batch", "512")
        assert status == 0
        assert text_of(folder, "train.yaml") == TRAINER.replace("steps: 8", "steps: 16")
        assert "256 -> 512" in out
        assert "learning_rate 2.0e-5 (train.yaml:4)" in out
        assert "warmup_steps 100 (train.yaml:5)" in out

    def test_launches_that_reach_the_target_alike_are_reported_once(self, folder, fix):
        line = "torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --learning_rate $rate"
        parses = "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
        write(folder, "train.py", f"from transformers import HfArgumentParser, TrainingArguments\n{parses}")
        write(folder, "run.sh", f"for rate in 1e-5 2e-5; do\n{line} --output_dir a\ndone\n{line} --output_dir b\n")
        status, out, _ = fix("run.sh", "--gpus", "8", "--global-batch", "128")
        assert status == 0
        assert out.count("global batch 64 -> 128") == 1
        assert "run.sh:2, run.sh:4: global batch 64 -> 128 = 4 x 4 x 8" in out
        assert "    learning_rate 1e-5 (run.sh:1)\n    learning_rate 2e-5 (run.sh:1)\n" in out

    def test_fixed_twice_changes_nothing(self, folder, fix):
        write(folder, "ds_config.json", DEEPSPEED)
        arguments = ("ds_config.json", "--gpus", "16", "--global-batch", "512")
        fix(*arguments)
        once = text_of(folder, "ds_config.json")
        status, out, err = fix(*arguments)
        assert status == 0
        assert text_of(folder, "ds_config.json") == once
        assert "->" not in out
        assert "nothing to fix (1 run checked)" in err

    def test_there_and_back_gives_the_same_bytes(self, folder, fix):
        for text in (DEEPSPEED, DEEPSPEED.replace("\n", "\r\n"), "\ufeff" + DEEPSPEED, DEEPSPEED.rstrip("\n")):
            write(folder, "ds_config.json", text)
            for gpus in ("16", "32", "8"):
                assert fix("ds_config.json", "--gpus", gpus, "--global-batch", "256", "--kind", "deepspeed")[0] == 0
            assert text_of(folder, "ds_config.json") == text

    def test_micro_batch_bound(self, folder, report):
        write(folder, "ds_config.json", DEEPSPEED)
        status, entry = report("ds_config.json", "--gpus", "8", "--global-batch", "256", "--max-micro-batch", "2")
        assert status == 0
        assert (entry["plan"]["micro_batch"], entry["plan"]["accumulation"]) == (2, 16)

    def test_todays_gpus_unknown(self, folder, fix):
        write(folder, "train.yaml", TRAINER)
        status, out, err = fix("train.yaml", "--gpus", "16")
        assert (status, out) == (2, "")
        assert "--from-gpus" in err
        assert "--global-batch" in err
        assert text_of(folder, "train.yaml") == TRAINER

    def test_a_file_that_tells_too_little_does_not_keep_the_others_from_theirs(self, folder, fix):
        write(folder, "a.json", '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}\n')
        write(folder, "ds.json", DEEPSPEED)
        status, out, err = fix(".", "--gpus", "16", "--global-batch", "256")
        assert status == 2
        assert "a.json: the batch sizes are filled by the trainer: set `per_device_train_batch_size`" in err
        assert "ds.json: gradient_accumulation_steps 8 -> 4" in out

    def test_the_current_batch_is_not_kept_where_a_second_fix_would_change_it_again(self, folder, fix):
        write(folder, "train.yaml", TRAINER)
        status, _, err = fix("train.yaml", "--gpus", "16", "--from-gpus", "8")
        assert status == 2
        assert "pass --global-batch 256 (the current one)" in err
        assert text_of(folder, "train.yaml") == TRAINER
        assert fix("train.yaml", "--gpus", "16", "--from-gpus", "8", "--diff")[0] == 0

    def test_what_has_to_be_set_elsewhere_is_in_the_report(self, folder, report):
        write(folder, "ds.json", AUTO)
        status, entry = report("ds.json", "--gpus", "8", "--global-batch", "256")
        assert status == 2
        assert entry["needs"] == [{"key": "per_device_train_batch_size", "value": 4}, {"key": "gradient_accumulation_steps", "value": 8}]
        assert entry["changed"] == []

    def test_auto_is_left_to_the_trainer(self, folder, fix):
        write(folder, "train.yaml", TRAINER + "deepspeed: ds.json\n")
        write(folder, "ds.json", AUTO)
        status, out, _ = fix("train.yaml", "ds.json", "--run", "--from-gpus", "8", "--gpus", "16", "--global-batch", "256")
        assert status == 0
        assert text_of(folder, "ds.json") == AUTO
        assert "gradient_accumulation_steps: 4" in text_of(folder, "train.yaml")
        assert "auto" in out

    def test_each_file_of_a_run_gets_its_keys(self, folder, report):
        write(folder, "train.yaml", TRAINER + "deepspeed: ds.json\n")
        write(folder, "ds.json", '{"gradient_accumulation_steps": 8, "train_batch_size": "auto"}\n')
        status, entry = report("train.yaml", "ds.json", "--run", "--gpus", "16", "--from-gpus", "8", "--global-batch", "256")
        assert status == 0
        assert [(each["file"], each["before"], each["after"]) for each in entry["changed"]] == [("train.yaml", 8, 4), ("ds.json", 8, 4)]
        assert text_of(folder, "ds.json") == '{"gradient_accumulation_steps": 4, "train_batch_size": "auto"}\n'

    def test_a_target_that_cannot_be_reached(self, folder, fix, report):
        write(folder, "ds_config.json", DEEPSPEED)
        status, out, _ = fix("ds_config.json", "--gpus", "7", "--global-batch", "256")
        assert status == 1
        assert text_of(folder, "ds_config.json") == DEEPSPEED
        assert "256 cannot be reached on 7 GPUs" in out
        assert "252" in out
        assert "259" in out
        status, entry = report("ds_config.json", "--gpus", "7", "--global-batch", "256")
        assert (status, entry["plan"]["feasible"], entry["changed"]) == (1, False, [])
        assert (entry["alternatives"]["below"], entry["alternatives"]["above"]) == (252, 259)
        assert 8 in entry["alternatives"]["gpus"]

    def test_a_file_that_does_not_parse_is_left_alone(self, folder, fix):
        broken = DEEPSPEED.replace("{\n", "{{\n", 1)
        write(folder, "ds_config.json", broken)
        status, out, err = fix("ds_config.json", "--kind", "deepspeed", "--gpus", "8", "--global-batch", "256")
        assert (status, out) == (2, "")
        assert "ds_config.json" in err
        assert text_of(folder, "ds_config.json") == broken


class TestJson:
    """The report, key by key as it is promised."""

    def test_keys(self, folder, report):
        write(folder, "ds_config.json", DEEPSPEED)
        status, entry = report("ds_config.json", "--gpus", "16", "--global-batch", "512")
        assert status == 0
        assert {name: entry[name] for name in ("files", "kinds", "gpus", "changed")} == {
            "files": ["ds_config.json"],
            "kinds": ["deepspeed"],
            "gpus": 16,
            "changed": [{"file": "ds_config.json", "key": "/train_batch_size", "before": 256, "after": 512}],
        }
        assert entry["plan"] == {"feasible": True, "micro_batch": 4, "accumulation": 8, "data_parallel": 16, "global_batch": 512}
        assert set(entry["alternatives"]) == {"below", "above", "gpus"}

    def test_safe_fixes_name_the_file_that_they_change(self, folder, report):
        write(folder, "train.yaml", "output_dir: out\nlearning_rate: 2e-5\nper_device_train_batch_size: 4\ndeepspeed: ds.json\n")
        write(folder, "ds.json", '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "gradient_cliping": 1.0}\n')
        before = {name: text_of(folder, name) for name in ("train.yaml", "ds.json")}
        _, entry = report("train.yaml", "ds.json", "--run", "--unsafe-fixes")
        differing = {name for name, text in before.items() if text_of(folder, name) != text}
        assert differing
        assert {each["file"] for each in entry["changed"]} == differing
        assert {"file": "train.yaml", "key": "/learning_rate", "before": "2e-5", "after": 2e-5} in entry["changed"]

    def test_an_added_key_was_nothing_before(self, folder, report):
        write(folder, "train.yaml", "output_dir: out\nper_device_train_batch_size: 4\n")
        status, entry = report("train.yaml", "--gpus", "8", "--global-batch", "256")
        assert status == 0
        assert entry["changed"] == [{"file": "train.yaml", "key": "/gradient_accumulation_steps", "before": None, "after": 8}]
        assert text_of(folder, "train.yaml") == "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\n"

    def test_without_a_target_there_is_no_plan(self, folder, report):
        write(folder, "ds_config.json", DEEPSPEED)
        assert report("ds_config.json")[1]["plan"] is None


class TestFixes:
    MISMATCH = DEEPSPEED.replace('steps": 8', 'steps": 4')

    def test_safe_fixes_of_a_declared_run(self, folder, fix):
        write(folder, "ds_config.json", self.MISMATCH)
        write(folder, "cfglint.toml", "gpus = 8\n")
        status, out, _ = fix("ds_config.json")
        assert status == 0
        assert text_of(folder, "ds_config.json") == DEEPSPEED
        assert "BAT001" in out

    def test_unsafe_ones_wait_to_be_asked_for(self, folder, fix):
        text = "output_dir: out\nsave_total_limit: None\n"
        write(folder, "train.yaml", text)
        assert fix("train.yaml")[0] == 0
        assert text_of(folder, "train.yaml") == text
        assert fix("train.yaml", "--unsafe-fixes")[0] == 0
        assert text_of(folder, "train.yaml") == "output_dir: out\nsave_total_limit: null\n"


class TestLookingOnly:
    def test_diff(self, folder, fix):
        write(folder, "ds_config.json", DEEPSPEED)
        status, out, err = fix("ds_config.json", "--gpus", "16", "--global-batch", "256", "--diff")
        assert status == 0
        assert text_of(folder, "ds_config.json") == DEEPSPEED
        assert "--- a/ds_config.json\n+++ b/ds_config.json\n" in out
        assert '\n-  "gradient_accumulation_steps": 8, // 4 x 8 x 8\n+  "gradient_accumulation_steps": 4, // 4 x 8 x 8\n' in out
        assert "would change" in err

    def test_check(self, folder, fix):
        write(folder, "ds_config.json", DEEPSPEED)
        assert fix("ds_config.json", "--gpus", "16", "--global-batch", "256", "--check")[0] == 1
        assert fix("ds_config.json", "--gpus", "8", "--global-batch", "256", "--check")[0] == 0
        assert text_of(folder, "ds_config.json") == DEEPSPEED


class TestBuildLogs:
    @pytest.mark.parametrize("name", ["GITHUB_ACTIONS", "TF_BUILD"])
    def test_a_diff_gives_no_commands_to_the_runner(self, folder, fix, monkeypatch, name):
        write(folder, "train.yaml", "output_dir: out\ntext: |\n ::error::x\n a ##[group]b\nlearning_rate: 2e-5\nnum_train_epochs: 3\n")
        arguments = ("train.yaml", "--kind", "huggingface", "--diff", "--unsafe-fixes")
        plain = fix(*arguments)[1]
        assert "\n  ::error::x\n" in plain
        monkeypatch.setenv(name, "true")
        _, out, err = fix(*arguments)
        assert out.count("\n") == plain.count("\n")
        assert not any(line.lstrip().startswith("::") or "##[" in line for line in (out + err).splitlines())


class TestWriting:
    ARGUMENTS = ("ds_config.json", "--gpus", "16", "--global-batch", "256", "--kind", "deepspeed")

    def test_a_link_stays_a_link_and_its_target_is_written(self, folder, fix):
        (folder / "real").mkdir()
        write(folder, "real/x.json", DEEPSPEED)
        (folder / "ds_config.json").symlink_to("real/x.json")
        assert fix(*self.ARGUMENTS)[0] == 0
        assert (folder / "ds_config.json").is_symlink()
        assert 'steps": 4' in text_of(folder, "real/x.json")

    def test_the_mode_stays(self, folder, fix):
        write(folder, "ds_config.json", DEEPSPEED)
        os.chmod(folder / "ds_config.json", 0o640)
        assert fix(*self.ARGUMENTS)[0] == 0
        assert (folder / "ds_config.json").stat().st_mode & 0o777 == 0o640

    def test_nothing_is_left_beside_the_file(self, folder, fix):
        write(folder, "ds_config.json", DEEPSPEED)
        fix(*self.ARGUMENTS)
        assert os.listdir(folder) == ["ds_config.json"]

    def test_a_missing_file(self, fix):
        status, _, err = fix("no-such.json", "--gpus", "8", "--global-batch", "64")
        assert status == 2
        assert "no-such.json" in err


def test_what_is_ignored_is_not_fixed(fix, folder):
    text = 'output_dir: out\nmax_steps: "100"\nsave_steps: "50"  # cfglint: ignore[TYP200]\n'
    half = text.replace('"100"', "100")
    (folder / "pyproject.toml").write_text('[tool.cfglint]\nper-file-ignores = { "kept.yaml" = ["TYP200"] }\n')
    for name, options, expected in (
        ("kept.yaml", [], text),
        ("flags.yaml", ["--ignore", "TYP"], text),
        ("other.yaml", ["--select", "KEY"], text),
        ("fixed.yaml", ["--select", "TYP"], half),
    ):
        (folder / name).write_text(text)
        status, printed, _ = fix(name, "--kind", "huggingface", *options)
        assert status == 0
        assert (folder / name).read_text() == expected
        assert ("max_steps" in printed) == (expected == half)
        assert "save_steps" not in printed
    assert fix("kept.yaml", "--ignore", "TPY200")[0] == 2


def test_only_named_files_are_fixed_and_not_others_of_the_run_that_reads_them(fix, folder):
    write(folder, "train.yaml", "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2e-5\ndeepspeed: ds.json\n")
    write(folder, "ds.json", AUTO)
    left = "1 error left (RUN002 at ds.json:1): `cfglint check` says what to do"
    assert fix("ds.json")[2] == f"cfglint: nothing to fix (1 run checked); {left}\n"
    assert "learning_rate: 2e-5" in text_of(folder, "train.yaml")
    assert fix("train.yaml")[2] == f"cfglint: 1 file changed (1 run checked); {left}\n"
    assert "learning_rate: 2.0e-5" in text_of(folder, "train.yaml")


def test_a_value_that_is_replaced_under_another_key_is_one_removed_and_one_added(fix, folder):
    text = "base_model: m\ndatasets: [{path: d, type: alpaca}]\nmicro_batch_size: 2\nbatch_size: 8\nlearning_rate: 0.1\n"
    (folder / "c.yml").write_text(text)
    _, printed, _ = fix("c.yml", "--kind", "axolotl", "--unsafe-fixes", "--select", "AXL060", "--format", "json")
    changed = [(each["key"], each["before"], each["after"]) for each in json.loads(printed)["runs"][0]["changed"]]
    assert changed == [("/batch_size", 8, None), ("/gradient_accumulation_steps", None, 4)]


def test_standard_input_is_fixed_on_standard_output_and_the_report_is_apart(fix, monkeypatch):
    text = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    status, out, err = fix("-", "--stdin-filename", "ds_config.json", "--gpus", "4", "--global-batch", "64")
    assert (status, out) == (0, text.replace('steps": 2', 'steps": 4'))
    assert "global batch 64 = 4 x 4 x 4 (micro batch x accumulation x data parallel)" in err
    assert "gradient_accumulation_steps 2 -> 4" in err


def test_what_is_not_fixed_in_many_files_is_counted(folder, fix):
    for number in range(4):
        write(folder, f"{number}.yaml", TRAINER.replace("warmup", "warmpu"))
    said = "files: KEY200 not fixed: it changes what the run does; pass --unsafe-fixes to apply it\n"
    assert fix()[1] == f"4 {said}"
    assert fix("--diff")[1:] == ("", f"4 {said}cfglint: nothing to fix (4 runs checked)\n")
    assert fix("0.yaml", "1.yaml", "2.yaml")[1].count(": KEY200 not fixed") == 3
