"""`cfglint check`: exit statuses, streams, declared runs, standard input, and files that are in the way."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import subprocess
import sys

import pytest

from cfglint.cli import main
from cfglint.cli.asked_runs import name_of_content
from cfglint.frameworks.deepspeed import NEWEST

GOOD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'
BAD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n'
TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\n"
WARNED = "output_dir: out\nper_device_train_batch_size: 4\nseed: 1\nseed: 2\n"
BROKEN = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def check(folder, capsys):
    """Run `cfglint check`: (exit status, standard output, standard error)."""

    def run(*arguments):
        status = main(["check", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def report(check):
    """Run `cfglint check --format json`: (exit status, the report)."""

    def run(*arguments):
        status, out, _ = check(*arguments, "--format", "json")
        return status, json.loads(out)

    return run


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")


class TestStatus:
    def test_clean(self, folder, check):
        write(folder, ds_config__json=GOOD)
        status, out, err = check("ds_config.json", "--gpus", "8")
        assert (status, out) == (0, "")
        assert err == "cfglint: 1 file checked; no findings\n"

    def test_findings(self, folder, check):
        write(folder, ds_config__json=BAD)
        status, out, err = check("ds_config.json", "--gpus", "8")
        assert status == 1
        assert out.startswith("ds_config.json:1:22: error BAT001 batch-mismatch: ")
        assert "1 error" in err

    def test_the_same_file_on_another_gpu_count(self, folder, check):
        write(folder, ds_config__json=BAD)
        assert check("ds_config.json", "--gpus", "16")[0] == 0

    def test_a_warning_fails_only_when_asked(self, folder, check):
        write(folder, train__yaml=WARNED)
        assert check("train.yaml")[0] == 0
        assert check("train.yaml", "--fail-on", "warning")[0] == 1

    def test_a_missing_path(self, folder, check):
        status, _, err = check("no-such.json")
        assert status == 2
        assert "no-such.json" in err

    def test_a_missing_path_does_not_hide_the_others(self, folder, check):
        write(folder, ds_config__json=BAD)
        status, out, err = check("no-such.json", "ds_config.json", "--gpus", "8")
        assert status == 2
        assert "BAT001" in out
        assert "no-such.json" in err

    def test_a_file_that_does_not_parse_is_a_finding(self, folder, check):
        write(folder, ds_config__json=BROKEN)
        status, out, _ = check("ds_config.json")
        assert status == 1
        assert "SRC002" in out

    def test_a_file_that_does_not_parse_does_not_hide_the_others(self, folder, check):
        write(folder, a__json=BROKEN, b__json=BAD)
        status, out, _ = check("a.json", "b.json", "--gpus", "8")
        assert status == 1
        assert out.index("a.json:1:") < out.index("b.json:1:")
        assert "SRC002" in out
        assert "BAT001" in out

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_file_without_permission(self, folder, check):
        write(folder, ds_config__json=GOOD)
        (folder / "ds_config.json").chmod(0)
        assert check("ds_config.json")[0] == 2

    def test_a_folder_that_cannot_be_read_is_named(self, folder, check, monkeypatch):
        write(folder, ds_config__json=GOOD)
        (folder / "closed").mkdir()
        scan = os.scandir

        def scandir(path="."):
            if os.fspath(path).endswith("closed"):
                raise PermissionError(13, "Permission denied", path)
            return scan(path)

        monkeypatch.setattr(os, "scandir", scandir)
        status, _, err = check(".")
        assert (status, "1 folder could not be opened: ./closed" in err) == (2, True)

    def test_a_folder_is_not_a_run(self, folder, check):
        write(folder, ds_config__json=GOOD)
        status, _, err = check(".", "--run")
        assert (status, "is a folder" in err) == (2, True)

    def test_link_loops_and_empty_folders(self, folder, check):
        (folder / "a.json").symlink_to("b.json")
        (folder / "b.json").symlink_to("a.json")
        (folder / "empty").mkdir()
        assert check("a.json")[0] == 2
        assert check("empty")[0] == 0

    def test_bad_target(self, folder, check):
        write(folder, ds_config__json=GOOD)
        status, out, err = check("ds_config.json", "--target", "deepspeed")
        assert (status, out) == (2, "")
        assert "NAME==VERSION" in err

    def test_a_run_whose_kind_nobody_can_tell(self, folder, check):
        write(folder, x__yaml="a: 1\n")
        status, out, err = check("x.yaml", "--run")
        assert (status, out) == (2, "")
        assert "--kind" in err


class TestStrangers:
    def test_a_folder_of_unrelated_files_gives_no_noise(self, folder, check):
        write(folder, package__json='{"name": "x", "version": "1.0.0"}\n', compose__yaml="services: {web: {image: nginx}}\n")
        write(folder, list__json="[1, 2, 3]\n", empty__yaml="", broken__json='{"a": ', notes__txt="train_batch_size")
        status, out, err = check(".")
        assert (status, out) == (0, "")
        assert err == (
            "cfglint: no training configs found; 3 files skipped (not a training config); "
            "2 files skipped, empty or not valid: ./broken.json, ./empty.yaml\n"
        )

    def test_walked_without_paths(self, folder, check):
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "er" / "ds_config.json").write_text(BAD)
        status, out, _ = check("--gpus", "8")
        assert status == 1
        assert os.path.join("deep", "er", "ds_config.json:1:22") in out

    def test_gitignored_files_are_skipped(self, folder, check):
        (folder / "out").mkdir()
        (folder / "out" / "ds_config.json").write_text(BAD)
        (folder / ".gitignore").write_text("out/\n")
        assert check("--gpus", "8")[0] == 0

    def test_a_named_file_is_checked_although_ignored(self, folder, check):
        write(folder, ds_config__json=BAD)
        (folder / ".gitignore").write_text("*.json\n")
        assert check("ds_config.json", "--gpus", "8")[0] == 1


class TestJson:
    """The report, key by key as it is promised."""

    def test_keys(self, folder, report):
        write(folder, ds_config__json=BAD)
        status, found = report("ds_config.json", "--gpus", "8")
        assert status == 1
        assert list(found) == ["cfglint", "runs", "diagnostics"]
        (run,) = found["runs"]
        assert " ".join(run) == "files kinds target target_from gpus nodes verdict fails_at resolved read not_read assumed"
        assert run["files"] == ["ds_config.json"]
        assert run["kinds"] == ["deepspeed"]
        assert run["target"] == {"deepspeed": NEWEST}
        assert (run["gpus"], run["verdict"], run["fails_at"]) == (8, "reject", "config")
        assert list(run["resolved"]) == [
            "micro_batch",
            "accumulation",
            "data_parallel",
            "tensor_parallel",
            "pipeline_parallel",
            "context_parallel",
            "sequence_parallel",
            "global_batch",
            "consumed_batch",
            "seq_length",
            "tokens_per_step",
            "steps_per_epoch",
            "total_steps",
            "warmup_steps",
            "generation_batch_size",
            "steps_per_generation",
        ]

    def test_a_diagnostic(self, folder, report):
        write(folder, ds_config__json=BAD)
        (found,) = report("ds_config.json", "--gpus", "8")[1]["diagnostics"]
        message = found.pop("message")
        exception = found.pop("exception")
        assert "256" in message
        assert exception.startswith("AssertionError: Check batch related parameters")
        start = BAD.index("4}")
        assert found == {
            "file": "ds_config.json",
            "line": 1,
            "column": 22,
            "end_line": 1,
            "end_column": 25,
            "code": "BAT001",
            "name": "batch-mismatch",
            "severity": "error",
            "key": "/train_batch_size",
            "fails_at": "config",
            "note": None,
            "help": None,
            "related": [
                {"file": "ds_config.json", "line": 1, "column": 61, "message": "`train_micro_batch_size_per_gpu` is 4 here"},
                {"file": "ds_config.json", "line": 1, "column": 95, "message": "`gradient_accumulation_steps` is 4 here"},
            ],
            "fix": {
                "title": "set `gradient_accumulation_steps` to 8",
                "safe": True,
                "edits": [{"file": "ds_config.json", "start": start, "end": start + 1, "text": "8"}],
            },
        }

    def test_numbers_of_an_accepted_run(self, folder, report):
        write(folder, ds_config__json=GOOD)
        status, found = report("ds_config.json", "--gpus", "8")
        assert status == 0
        (run,) = found["runs"]
        assert (run["verdict"], run["fails_at"], found["diagnostics"]) == ("accept", None, [])
        numbers = {
            name: run["resolved"][name] for name in ("micro_batch", "accumulation", "data_parallel", "global_batch", "consumed_batch")
        }
        assert numbers == {"micro_batch": 4, "accumulation": 8, "data_parallel": 8, "global_batch": 256, "consumed_batch": 256}

    def test_columns_count_characters_and_offsets_fit_the_text(self, folder, report):
        text = "# größe 🚀\noutput_dir: 'ö🚀'\nper_device_train_batch_size: 010\n"
        write(folder, train__yaml=text)
        (found,) = [each for each in report("train.yaml")[1]["diagnostics"] if each["code"] == "TYP001"]
        assert (found["line"], found["column"], found["end_column"]) == (3, 30, 33)

    def test_runs_keep_the_order_of_the_arguments(self, folder, report):
        names = ["c.json", "a.json", "b.json"]
        for name, text in zip(names, (GOOD, BROKEN, BAD), strict=True):
            (folder / name).write_text(text)
        _, found = report(*names, "--kind", "deepspeed", "--gpus", "8")
        assert [run["files"] for run in found["runs"]] == [[name] for name in names]
        assert [run["verdict"] for run in found["runs"]] == ["accept", "reject", "reject"]
        assert [run["fails_at"] for run in found["runs"]] == [None, "load", "config"]

    def test_a_named_file_is_in_the_run_of_the_file_that_names_it(self, folder, report):
        write(folder, train__yaml=TRAINER + "deepspeed: ds.json\n", ds__json='{"train_batch_size": "auto", "bf16": {"enabled": "auto"}}\n')
        _, found = report("ds.json", "train.yaml", "--gpus", "8")
        (run,) = found["runs"]
        assert run["files"] == ["train.yaml", "ds.json"]
        assert run["kinds"] == ["huggingface", "deepspeed"]
        assert set(run["target"]) == {"transformers", "deepspeed"}

    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_a_named_file_is_in_that_run_also_when_all_are_said_to_be_of_a_kind(self, folder, report, jobs):
        write(folder, train__yaml=TRAINER + "deepspeed: ds.json\n", ds__json="{", other__yaml=TRAINER)
        _, found = report("ds.json", "train.yaml", "other.yaml", "--kind", "huggingface", "--jobs", jobs)
        assert [run["files"] for run in found["runs"]] == [["train.yaml", "ds.json"], ["other.yaml"]]
        assert [each["code"] for each in found["diagnostics"]] == ["SRC002"]

    def test_files_that_name_each_other_are_all_checked(self, folder, report):
        write(folder, a__yaml=TRAINER + "deepspeed: b.yaml\n", b__yaml=TRAINER + "deepspeed: a.yaml\n")
        _, found = report("a.yaml", "b.yaml", "--kind", "huggingface")
        assert [run["files"] for run in found["runs"]] == [["a.yaml", "b.yaml"], ["b.yaml", "a.yaml"]]

    def test_silenced_findings_do_not_change_the_verdict(self, folder, report):
        write(folder, ds_config__json=BAD)
        status, found = report("ds_config.json", "--gpus", "8", "--ignore", "BAT")
        assert (status, found["diagnostics"], found["runs"][0]["verdict"]) == (0, [], "reject")

    def test_output_file(self, folder, check):
        write(folder, ds_config__json=BAD)
        status, out, _ = check("ds_config.json", "--gpus", "8", "--format", "json", "--output", "report.json")
        assert (status, out) == (1, "")
        assert json.loads((folder / "report.json").read_text())["diagnostics"]

    def test_two_formats_at_once(self, folder, check):
        write(folder, ds_config__json=BAD)
        status, out, _ = check("ds_config.json", "--gpus", "8", "--format", "json", "--output", "report.json", "--format", "text")
        assert status == 1
        assert out.startswith("ds_config.json:1:22")
        assert json.loads((folder / "report.json").read_text())["runs"]

    def test_output_that_cannot_be_written(self, folder, check):
        write(folder, ds_config__json=GOOD)
        status, _, err = check("ds_config.json", "--output", "no/such/folder/report")
        assert status == 2
        assert "no/such/folder/report" in err


class TestSelection:
    def test_select_and_ignore(self, folder, check):
        write(folder, train__yaml=WARNED)
        assert check("train.yaml", "--fail-on", "warning", "--select", "KEY")[0] == 1
        assert check("train.yaml", "--fail-on", "warning", "--select", "BAT")[0] == 0
        status, out, err = check("train.yaml", "--fail-on", "warning", "--ignore", "KEY001")
        assert (status, out) == (0, "")
        assert "1 suppressed" in err

    def test_an_unknown_code_is_an_error_of_usage(self, folder, check):
        write(folder, train__yaml=TRAINER)
        status, out, err = check("train.yaml", "--ignore", "XYZ9")
        assert (status, out) == (2, "")
        assert "XYZ9" in err

    def test_an_unknown_code_of_the_configuration_is_said_on_standard_error(self, folder, check):
        write(folder, train__yaml=TRAINER, cfglint__toml='ignore = ["XYZ9"]\n')
        status, out, err = check("train.yaml")
        assert (status, out) == (0, "")
        assert "XYZ9" in err


class TestStandardInput:
    @pytest.fixture
    def typed(self, monkeypatch):
        def type_in(text):
            data = text if isinstance(text, bytes) else text.encode("utf-8")
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

        return type_in

    def test_under_its_name(self, typed, check):
        typed(BAD)
        status, out, _ = check("-", "--stdin-filename", "conf/ds_config.json", "--gpus", "8")
        assert status == 1
        assert out.startswith("conf/ds_config.json:1:22: error BAT001")

    def test_the_text_counts_and_not_the_file_of_that_name(self, folder, typed, check):
        write(folder, ds_config__json=BAD)
        typed(GOOD)
        assert check("-", "--stdin-filename", "ds_config.json", "--gpus", "8")[0] == 0

    @pytest.mark.parametrize("data", [b'\xef\xbb\xbf{"train_batch_size": 8}', b'{"train_batch_size": "\xe9"}', b"\0"])
    def test_bytes_are_read_as_those_of_a_file(self, folder, typed, check, data):
        (folder / "ds_config.json").write_bytes(data)
        flags = ("--kind", "deepspeed", "--format", "json")
        typed(data)
        assert check("-", "--stdin-filename", "ds_config.json", *flags)[:2] == check("ds_config.json", *flags)[:2]

    def test_with_run(self, typed, check):
        typed(BAD)
        assert check("-", "--run", "--stdin-filename", "ds_config.json", "--gpus", "8")[0] == 1

    def test_without_a_name_it_is_named_by_its_content(self, typed, check):
        typed(BAD)
        status, out, _ = check("-", "--gpus", "8")
        assert status == 1
        assert out.startswith("stdin.json:1:22: error BAT001")


class TestSection:
    TEXT = "model: x\ntraining_args:\n  output_dir: out\n  per_device_train_batch_size: 010\n"

    def test_a_mapping_inside_a_file(self, folder, check):
        write(folder, experiment__yaml=self.TEXT)
        _, out, _ = check("experiment.yaml", "--section", "training_args", "--kind", "huggingface")
        assert "experiment.yaml:4:32: warning TYP001" in out

    def test_a_usual_name_is_found_without_it(self, folder, check):
        write(folder, experiment__yaml=self.TEXT)
        _, out, _ = check("experiment.yaml")
        assert "experiment.yaml:4:32: warning TYP001" in out

    def test_without_it_the_file_is_not_recognised(self, folder, check):
        write(folder, experiment__yaml=self.TEXT.replace("training_args", "inner"))
        status, out, err = check("experiment.yaml")
        assert (status, out) == (2, "")
        assert "experiment.yaml: not recognised" in err

    def test_a_section_that_is_not_there(self, folder, check):
        write(folder, experiment__yaml=self.TEXT)
        status, out, err = check("experiment.yaml", "--section", "trainer", "--kind", "huggingface")
        assert (status, out) == (2, "")
        assert "`trainer`" in err


class TestDeclaredRuns:
    RUN = '[[{prefix}run]]\nfiles = ["ds_config.json"]\ngpus = {gpus}\n'

    def declare(self, folder, gpus, name="cfglint.toml"):
        prefix = "tool.cfglint." if name == "pyproject.toml" else ""
        (folder / name).write_text(self.RUN.format(prefix=prefix, gpus=gpus))

    @pytest.mark.parametrize("name", ["cfglint.toml", "pyproject.toml"])
    def test_checked_when_no_path_is_given(self, folder, report, name):
        write(folder, ds_config__json=BAD)
        self.declare(folder, 8, name)
        status, found = report()
        assert status == 1
        assert [(run["files"], run["gpus"]) for run in found["runs"]] == [(["ds_config.json"], 8)]

    def test_flags_win(self, folder, check):
        write(folder, ds_config__json=BAD)
        self.declare(folder, 8)
        assert check("--gpus", "16")[0] == 0

    def test_found_from_a_folder_below_and_relative_to_the_configuration(self, folder, report, monkeypatch):
        write(folder, ds_config__json=BAD)
        self.declare(folder, 8)
        (folder / "src").mkdir()
        monkeypatch.chdir(folder / "src")
        status, found = report()
        assert status == 1
        assert os.path.realpath(found["runs"][0]["files"][0]) == os.path.realpath(folder / "ds_config.json")

    def test_a_named_configuration(self, folder, check):
        (folder / "ci").mkdir()
        (folder / "ci" / "ds_config.json").write_text(BAD)
        self.declare(folder / "ci", 8)
        assert check("--config", "ci/cfglint.toml")[0] == 1

    def test_declared_means_whole(self, folder, check):
        """What is missing in a declared run is missing; in a file that is only named it may be elsewhere."""
        write(folder, ds_config__json='{"gradient_accumulation_steps": 4, "zero_optimization": {"stage": 1}}\n')
        assert check("ds_config.json", "--gpus", "8")[0] == 0
        self.declare(folder, 8)
        status, out, _ = check()
        assert status == 1
        assert "BAT002" in out

    def test_the_projects_gpu_count_holds_for_named_files(self, folder, check):
        write(folder, ds_config__json=BAD, cfglint__toml="gpus = 8\n")
        assert check("ds_config.json")[0] == 1

    def test_per_file_ignores(self, folder, check):
        write(folder, ds_config__json=BAD, cfglint__toml='gpus = 8\n[per-file-ignores]\n"ds_*.json" = ["BAT001"]\n')
        status, out, _ = check("ds_config.json")
        assert (status, out) == (0, "")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("gpus = 8\ngpu = 9\n", "`gpu`"),
            ('gpus = "8"\n', "`gpus`"),
            ("[[run]]\ngpus = 8\n", "`files`"),
            ('[[run]]\nfiles = ["a"]\nkindd = "neox"\n', "`kindd`"),
            ("gpus = \n", "cfglint.toml"),
            ('target = {deepspeed = "newest"}\n', "`deepspeed`"),
        ],
    )
    def test_a_configuration_that_cannot_be_used(self, folder, check, text, said):
        write(folder, cfglint__toml=text, ds_config__json=GOOD)
        status, out, err = check()
        assert (status, out) == (2, "")
        assert said in err

    @pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.slow)])
    def test_thousands_in_one_process(self, folder, report, count):
        lines = []
        for number in range(count):
            (folder / f"{number}.json").write_text(BAD if number % (count // 2) == 0 else GOOD)
            lines.append(f'[[run]]\nfiles = ["{number}.json"]\nkind = "deepspeed"\ngpus = 8\n')
        write(folder, cfglint__toml="".join(lines))
        status, found = report()
        assert status == 1
        assert [run["files"][0] for run in found["runs"]] == [f"{number}.json" for number in range(count)]
        assert [number for number, run in enumerate(found["runs"]) if run["verdict"] == "reject"] == [0, count // 2]


class TestTerminal:
    """Colour on a terminal only, and never with NO_COLOR."""

    def on_terminal(self, folder, **environment):
        write(folder, ds_config__json=BAD)
        controller, terminal = pty.openpty()
        variables = {**os.environ, "TERM": "xterm-256color", **environment}
        process = subprocess.Popen(
            [sys.executable, "-m", "cfglint", "check", "ds_config.json", "--gpus", "8"],
            cwd=folder,
            env={name: value for name, value in variables.items() if value},
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=subprocess.DEVNULL,
        )
        os.close(terminal)
        written = bytearray()
        while True:
            try:
                chunk = os.read(controller, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not chunk:
                break
            written += chunk
        os.close(controller)
        assert process.wait() == 1
        return written.decode("utf-8").replace("\r\n", "\n")

    def test_colour(self, folder):
        assert "\x1b[1;31merror BAT001\x1b[0m" in self.on_terminal(folder, NO_COLOR="")

    @pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"NO_COLOR": "", "TERM": "dumb"}])
    def test_no_colour(self, folder, environment):
        assert "\x1b" not in self.on_terminal(folder, **environment)

    def test_the_same_text_with_and_without(self, folder, check, monkeypatch):
        import re

        monkeypatch.setenv("COLUMNS", "400")
        coloured = self.on_terminal(folder, NO_COLOR="", COLUMNS="400")
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == check("ds_config.json", "--gpus", "8")[1]

    def test_escape_sequences_of_a_file_do_not_reach_the_terminal(self, folder, check):
        write(folder, ds_config__json='{"train_batch_size": "\\u001b[31m8", "train_micro_batch_size_per_gpu": "\u202e2"}\n')
        status, out, _ = check("ds_config.json", "--gpus", "8")
        assert status == 1
        assert "\x1b" not in out
        assert "\u202e" not in out


RATE = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2e-5\n"  # a string, which TRL's parser casts


class TestShortForms:
    def test_one_line_a_finding(self, folder, check):
        write(folder, ds_config__json=BAD)
        _, out, _ = check("--gpus", "8", "--format", "concise")
        [line] = out.splitlines()
        assert line.startswith("ds_config.json:1:22: BAT001 error: `train_batch_size` is 256, but")

    def test_the_suffix_of_the_output_decides_about_a_format_that_is_not_given(self, folder, check):
        write(folder, ds_config__json=BAD)
        status, out, _ = check("--gpus", "8", "--format", "concise", "--output", "lines.txt", "--output", "found.sarif")
        assert (status, out) == (1, "")
        assert (folder / "lines.txt").read_text().count("BAT001") == 1
        assert json.loads((folder / "found.sarif").read_text())["version"] == "2.1.0"

    def test_statistics_take_the_place_of_the_findings(self, folder, check):
        write(folder, a__json=BAD, b__json=BAD)
        status, out, err = check("--gpus", "8", "--show", "statistics")
        assert status == 1
        assert out.split() == ["2", "BAT001", "error", "batch-mismatch", "(2", "fixable)", "a.json:1"]
        assert "2 fixable with `cfglint fix`" in err
        assert check(".", "--gpus", "8", "--show", "statistics")[1].split()[-1] == "./a.json:1"

    def test_the_table_has_a_line_for_each_severity(self, folder, check):
        write(folder, a__yaml=RATE, b__yaml=RATE, cfglint__toml='[kinds]\n"b.yaml" = "huggingface"\n')
        _, out, _ = check("--show", "statistics", "--select", "TYP200")
        assert [line.split() for line in out.splitlines()] == [
            ["1", "TYP200", "error", "string-for-number", "(1", "fixable)", "b.yaml:3"],
            ["1", "TYP200", "warning", "string-for-number", "(1", "fixable)", "a.yaml:3"],
        ]

    @pytest.mark.parametrize(
        ("width", "place"),
        [(100, "runs/of/a/long/experiment.json:1"), (80, ".../a/long/experiment.json:1"), (65, "fixable)")],
    )
    def test_the_place_in_the_table_fits_the_width(self, folder, check, monkeypatch, width, place):
        (folder / "runs/of/a/long").mkdir(parents=True)
        (folder / "runs/of/a/long/experiment.json").write_text(BAD)
        monkeypatch.setenv("COLUMNS", str(width))
        assert check("--gpus", "8", "--show", "statistics")[1].split()[-1] == place

    def test_the_summary_counts_fixes_that_change_the_run(self, folder, check):
        write(folder, a__yaml=RATE + "warmpu_steps: 10\n")
        assert "; 1 fixable with `cfglint fix`, 1 more with --unsafe-fixes" in check("a.yaml")[2]
        assert "; 1 fixable with `cfglint fix --unsafe-fixes`" in check("a.yaml", "--select", "KEY200")[2]

    @pytest.mark.parametrize(("lines", "has_table"), [(5, True), (30, False)])
    def test_a_report_longer_than_the_terminal_ends_with_the_table(self, folder, check, monkeypatch, lines, has_table):
        write(folder, a__json=BAD)
        monkeypatch.setattr("cfglint.cli.check.rows", lambda: lines)
        monkeypatch.setenv("COLUMNS", "100")
        assert check("--gpus", "8")[1].endswith("\n\n     1  BAT001  error   batch-mismatch (1 fixable)  a.json:1\n") is has_table


def test_a_check_of_a_given_kind_loads_no_other_framework(tmp_path, monkeypatch):
    """The choices of `--trainer`, which every framework may add to, are listed only where one is given."""
    from cfglint import frameworks

    (tmp_path / "cfglint.toml").write_text('[[run]]\nfiles = ["ds.json"]\n')
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(frameworks, "_loaded", {})
    assert main(["check", "--kind", "deepspeed", "ds.json"]) == 0
    assert [*frameworks._loaded] == ["deepspeed"]
    assert main(["check", "--kind", "deepspeed", "--trainer", "sft", "ds.json"]) == 0
    assert set(frameworks._loaded) == set(frameworks.kinds())


@pytest.mark.parametrize(("files", "flags", "offered"), [(50, [], True), (49, [], False), (50, ["--show", "statistics"], False)])
def test_many_findings_are_counted_on_request(files, flags, offered, tmp_path, monkeypatch, capsys):
    """A report of several screens does not begin with what a reader wants first."""
    monkeypatch.chdir(tmp_path)
    for number in range(files):
        (tmp_path / f"{number}.json").write_text(
            '{"train_batch_size": 8, "zero_optimization": {}, "gradient_cliping": 1.0}', encoding="utf-8"
        )
    main(["check", *flags, "."])
    assert capsys.readouterr().err.endswith("; `--show statistics` counts them by rule\n") == offered


@pytest.mark.parametrize("name", ["a\n::error::x.yaml", "\x1b[31mred.yaml", "##[group]x.yaml", "b\u202ec.yaml"])
@pytest.mark.parametrize("command", ["check . --show runs", "check . --show files", "check .", "init --declare"])
def test_names_of_files_are_escaped(tmp_path, monkeypatch, capsys, name, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text("output_dir: out\nper_device_train_batch_size: -4\nlearning_rate: 1.0e-5\n")
    main(command.split())
    ended = capsys.readouterr()
    printed = ended.out + ended.err
    assert ".yaml" in printed
    assert not [line for line in printed.split("\n") if line.startswith("::") or "##[" in line or not line.isprintable()]


def test_a_list_of_files_has_one_form(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for shown in ("files", "settings"):
        assert main(["check", ".", "--show", shown, "--format", "json"]) == 2
        assert f"--show {shown} is text on standard output" in capsys.readouterr().err


class TestOutputOfHooks:
    """Options for scripts: silence, exit status, changes of the branch, standard input without a name."""

    def test_quiet_prints_findings_alone(self, folder, capsys):
        (folder / "t.yaml").write_text("output_dir: out\nfp16: true\nbf16: true\n", encoding="utf-8")
        assert main(["check", "t.yaml", "--kind", "huggingface", "--quiet"]) == 1
        captured = capsys.readouterr()
        assert "PRC200" in captured.out
        assert captured.err == ""

    def test_exit_zero(self, folder, capsys):
        (folder / "t.yaml").write_text("output_dir: out\nfp16: true\nbf16: true\n", encoding="utf-8")
        assert main(["check", "t.yaml", "--kind", "huggingface", "--exit-zero"]) == 0
        assert "PRC200" in capsys.readouterr().out
        assert main(["check", "no-such.yaml", "--exit-zero"]) == 2

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            (b'{"train_batch_size": 8}', "stdin.json"),
            (b"\xef\xbb\xbf\n [1]", "stdin.json"),
            (b"output_dir: out\nnum_train_epochs: 3\n", "stdin.yaml"),
            (b"#!/bin/bash\n", "stdin.sh"),
            (b"torchrun --nproc_per_node 8 train.py\n", "stdin.sh"),
            (b"cmd: torchrun --nproc_per_node 8\n", "stdin.yaml"),
            (b"from transformers import Trainer\n", "stdin.py"),
            (b"", "stdin.yaml"),
        ],
    )
    def test_standard_input_tells_what_it_is(self, text, name):
        assert name_of_content(text) == name

    @pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
    def test_changed_files_alone(self, checkout, monkeypatch, capsys):
        monkeypatch.chdir(checkout.folder)
        bad = f"{TRAINER}fp16: true\nbf16: true\n"
        (checkout.folder / "old.yaml").write_text(bad)
        checkout.commit("first")
        assert main(["check", "--changed", "--base", "HEAD"]) == 0
        assert "no config, script or program changed since HEAD" in capsys.readouterr().err
        (checkout.folder / "new.yaml").write_text(bad)
        main(["check", "--changed", "--base", "HEAD"])
        captured = capsys.readouterr()
        assert "new.yaml" in captured.out
        assert "old.yaml" not in captured.out
        assert main(["check", "new.yaml", "--changed"]) == 2


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.yaml", " \n", "the file is empty"),
        ("a.py", "print(1)\n", "no arguments that are modelled and no launch were found in this program; name the script that launches it"),
        ("a.out", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB.\n", "`cfglint log a.out` explains it"),
    ],
)
def test_a_named_file_that_is_no_config_is_told_what_it_is(tmp_path, monkeypatch, capsys, name, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    assert main(["check", name]) == 2
    assert told in capsys.readouterr().err


def test_a_folder_is_no_log(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    assert main(["log", "logs"]) == 2
    assert "logs: a folder; pass one of the logs in it" in capsys.readouterr().err


def test_a_byte_order_mark_is_no_json_for_a_trainer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text('\ufeff{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}')
    assert main(["check", "ds.json"]) == 0
    assert "SRC003" in capsys.readouterr().out
    assert main(["check", "ds.json", "--kind", "deepspeed"]) == 0
    assert "SRC003" not in capsys.readouterr().out  # hjson skips it
