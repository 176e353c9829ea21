"""The command as such: usage, version, unknown commands, exit statuses, and what it imports."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

from cases import each_case
from cfglint import __version__
from cfglint.cli import COMMANDS, ended, main

HEAVY = {
    "dataclasses",
    "importlib.metadata",
    "importlib.resources",
    "inspect",
    "jsonschema",
    "logging",
    "omegaconf",
    "pathlib",
    "ruamel",
    "ruamel.yaml",
    "subprocess",
    "tree_sitter",
    "tree_sitter_bash",
    "cfglint.source.shell.interpreter",
    "cfglint.launch.reader",
    "cfglint.run.launched_runs",
    "tomllib",
    "typing",
}


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in COMMANDS)


def test_no_command_is_bad_usage(capsys):
    assert main([]) == 2
    assert "usage" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"cfglint {__version__}\n"


def test_a_path_without_a_command(capsys):
    assert main(["ds_config.json", "--gpus", "8"]) == 2
    assert "a command is missing before 'ds_config.json': `cfglint check ds_config.json` checks it" in capsys.readouterr().err


@each_case(("topic", "option"), [("run", "--seq-length N"), ("job", "--warmup W")])
def test_help_about_a_topic_explains_its_options(capsys, topic, option):
    with pytest.raises(SystemExit) as stopped:
        main(["help", "new" if topic == "job" else "check"])
    assert stopped.value.code == 0
    assert f"about the {topic} (`cfglint help {topic}`)" in " ".join(capsys.readouterr().out.split())
    assert main(["help", topic]) == 0
    assert f"\n  {option} " in capsys.readouterr().out


def test_unknown_command(capsys):
    assert main(["chekc"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "'chekc'" in printed.err
    assert "check" in printed.err


@each_case(
    "arguments",
    [
        ["check", "--gpus", "0"],
        ["check", "--gpus", "eight"],
        ["check", "--num-examples", "-1"],
        ["check", "--kind", "keras"],
        ["check", "--format", "yaml"],
        ["check", "--fail-on", "never"],
        ["check", "--no-such-option"],
        ["fix", "--global-batch", "1.5"],
        ["fix", "--max-micro-batch", "0"],
        ["new", "run", "--framework", "keras"],
    ],
)
def test_bad_arguments_end_in_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ds_config.json", '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4}\n'),
        ("train.yaml", "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\n"),
        pytest.param(
            "accelerate.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 8\n",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "125M.yml", "pipe_parallel_size: 1\nmodel_parallel_size: 1\ntrain_iters: 100\nlr_decay_iters: 100\n", marks=pytest.mark.slow
        ),
        pytest.param(
            "sft.yaml",
            "output_dir: out\nper_device_train_batch_size: 4\npacking: true\nassistant_only_loss: true\n",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "factory.yaml",
            "stage: sft\ndo_train: true\nfinetuning_type: lora\nlora_target: all\ntemplate: llama3\ndataset: identity\n"
            "model_name_or_path: m\noutput_dir: out\ncutoff_len: 2048\n",
            marks=pytest.mark.slow,
        ),
        (
            "axolotl.yaml",
            "base_model: m\ndatasets:\n  - path: d\n    type: alpaca\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
            "learning_rate: 2.0e-5\nnum_epochs: 1\nsequence_len: 2048\n",
        ),
    ],
)
def test_a_check_of_one_file_imports_nothing_heavy(tmp_path, name, text):
    """What a clean file costs is what is imported for it; a time limit would be flaky, the list is exact."""
    (tmp_path / name).write_text(text)
    code = (
        "import sys; before = set(sys.modules); from cfglint.cli import main; "
        f"status = main(['check', {name!r}, '--gpus', '8']); "
        "print(*sorted(set(sys.modules) - before)); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    imported = set(done.stdout.split())
    assert imported & HEAVY == set()
    assert "cfglint.cli.check" in imported
    assert ("yaml" in imported) == (not name.endswith(".json"))
    if "yaml" not in imported:  # whose package imports them
        assert imported & {"collections", "enum", "functools", "re"} == set()


def test_a_process_loads_no_regular_expressions_for_a_yaml_file(tmp_path):
    """libyaml is loaded without its package there, which would import them."""
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\nnum_train_epochs: 3\n")
    command = [sys.executable, "-X", "importtime", "-m", "cfglint", "check", "train.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "cfglint.cli.check" in imported
    assert imported & {"re", "enum", "yaml"} == set()


# What is around a run, which only some files need: the card, the model and its adapter, the memory, data, checkpoints, tasks of a cloud.
PLACE = ("cfglint.batch.memory", "cfglint.data", "cfglint.frameworks.peft", "cfglint.frameworks.memory", "cfglint.frameworks.training_data")
OF_PLACE = ("cards", "memory", "shapes", "resumption", "resuming", "adapters", "samples", "skypilot")


def is_of_place(module):
    return module.startswith(PLACE) or module.rpartition(".")[2] in OF_PLACE


MODULES, KILOBYTES = 111, 1095  # of cfglint itself; CONTRIBUTING.md says what they cost


@each_case(
    ("name", "text"),
    [
        ("ds_config.json", '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}\n'),
        ("train.yaml", "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\n"),
    ],
)
def test_a_check_of_one_file_keeps_to_the_budget_of_imports(tmp_path, name, text):
    for other in tmp_path.iterdir():
        other.unlink()  # what could read the file is searched for its name
    (tmp_path / name).write_text(text)
    code = (
        "import os, sys; from cfglint.cli import main; "
        f"status = main(['check', {name!r}, '--gpus', '8']); "
        "print(*(name for name in sys.modules if name.startswith('cfglint'))); "
        "files = [each.__file__ for name, each in sys.modules.items() if name.partition('.')[0] == 'cfglint']; "
        "print(len(files), sum(map(os.path.getsize, files)) / 1000); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    *names, modules, kilobytes = done.stdout.split()
    assert [each for each in names if is_of_place(each)] == []
    assert (done.returncode, done.stderr) == (0, "cfglint: 1 file checked; no findings\n")
    assert int(modules) <= MODULES
    assert float(kilobytes) <= KILOBYTES


def test_a_closed_pipe_is_no_traceback(tmp_path):
    for number in range(150):
        (tmp_path / f"{number}-ds_config.json").write_text('{"train_batch_size": "8", "train_micro_batch_size_per_gpu": "2"}\n')
    command = f"{sys.executable} -m cfglint check . | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


@each_case(("closed", "printed"), [(">&-", ""), ("2>&-", "./ds_config.json:1:22: error BAT")])
def test_a_closed_stream_is_no_traceback(tmp_path, closed, printed):
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": "8", "train_micro_batch_size_per_gpu": "2"}\n')
    command = f"{sys.executable} -m cfglint check . {closed}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.startswith(printed)
    assert "Traceback" not in done.stderr


@each_case(
    ("error", "said"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), ""),
        (OSError(errno.ENOSPC, "No space left on device"), "cfglint: standard output: No space left on device\n"),
        (MemoryError(), "cfglint: there is not enough memory for these files\n"),
    ],
)
def test_what_ends_the_command_without_being_a_mistake_in_it(capsys, error, said):
    assert (ended(error), capsys.readouterr().err) == (2, said)
