"""LLaMA-Factory started by the program of its repository, and its commands that train nothing."""

from __future__ import annotations

import pytest

from cases import each_case

OWN = "from llamafactory.train.tuner import run_exp\n\nrun_exp()\n"
OPTIONS = "--stage sft --do_train --model_name_or_path m --dataset a --template qwen --finetuning_type full --output_dir out --wrong_key 1"


def found(report):
    return [(each["code"], each["severity"]) for each in report["diagnostics"]]


@pytest.mark.parametrize("start", ["torchrun --nproc_per_node 4", "deepspeed --num_gpus 4", "python"])
@pytest.mark.parametrize("files", [{"src/train.py": OWN}, {}])
def test_its_own_program_has_its_arguments(checked_project, start, files):
    assert found(checked_project({"run.sh": f"{start} src/train.py {OPTIONS}\n", **files}, paths=["run.sh"])) == [("LLF001", "error")]


@each_case(
    ("program", "options"),
    [
        ("from llamafactory import other\nother.train()\n", OPTIONS),  # another program of this name
        ("from llamafactory.train.tuner import run_exp\nrun_exp(config)\n", OPTIONS),  # it takes no options
        (None, "--output_dir out --learning_rate 1e-5 --per_device_train_batch_size 2 --do_train"),
    ],
)
def test_another_program_of_that_name_has_not(checked_project, program, options):
    files = {"run.sh": f"torchrun --nproc_per_node 4 src/train.py {options}\n", **({"src/train.py": program} if program else {})}
    assert not any(code.startswith("LLF") for code, _ in found(checked_project(files, paths=["run.sh"])))


TRAINING = (
    "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\nadapter_name_or_path: a\ndo_train: true\noutput_dir: o\n"
)
INFERENCE = "model_name_or_path: m\nfinetuning_type: lora\ntemplate: qwen\nadapter_name_or_path: a\nexport_dir: o\n"


@each_case(
    ("line", "refused"),
    [
        ("llamafactory-cli chat train.yaml", True),
        ("llamafactory-cli export train.yaml", True),
        ("python -m llamafactory.cli eval train.yaml", True),
        ("lmf webchat --template qwen --do_train True", True),
        ("llamafactory-cli api inference.yaml", False),
        ("llamafactory-cli export --model_name_or_path m --export_dir d", False),
        ("ALLOW_EXTRA_ARGS=1 llamafactory-cli chat train.yaml", False),
        ("llamafactory-cli chat other.yaml", False),
    ],
)
def test_commands_that_train_nothing_refuse_the_settings_of_a_training(checked_project, line, refused):
    files = {"run.sh": f"{line}\n", "train.yaml": TRAINING, "inference.yaml": INFERENCE}
    assert found(checked_project(files, paths=["run.sh"])) == ([("LCH024", "error")] if refused else [])


def test_the_keys_are_those_of_the_parser_message(checked_project):
    [found] = checked_project({"run.sh": "llamafactory-cli chat train.yaml\n", "train.yaml": TRAINING}, paths=["run.sh"])["diagnostics"]
    assert found["exception"] == "ValueError: Some keys are not used by the HfArgumentParser: ['do_train', 'output_dir']"


STREAMED = TRAINING.replace("adapter_name_or_path: a\n", "dataset: d\nper_device_train_batch_size: 8\nstreaming: true\n")


@each_case(
    ("options", "remedy"),
    [
        (["--gpus", "8"], "set `max_steps: 1000`, or set `streaming: false`"),
        (
            ["--gpus", "8", "--num-examples", "1000000"],
            "set `max_steps: 15625`, which is one epoch of 1,000,000 samples, or set `streaming: false`",
        ),
    ],
)
def test_a_stream_needs_the_steps_of_an_epoch(checked_project, options, remedy):
    report = checked_project({"t.yaml": STREAMED}, options=options, paths=["t.yaml"])
    assert [each["help"] for each in report["diagnostics"] if each["code"] == "LLF012"] == [remedy]
