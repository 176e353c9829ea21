"""The card that a Slurm job requests."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.launch.slurm import header
from cfglint.source.shell.placed_text import literal
from cfglint.source.shell.script import Script

PROGRAM = """
from transformers import HfArgumentParser, Trainer, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=arguments).train()
"""


@each_case(
    ("options", "card"),
    [
        ("--gres=gpu:v100:4", "V100"),
        ("--gres=gpu:nvidia_a100-sxm4-80gb:4(S:0-1)", "A100-80GB"),
        ("--gres=shm:1,gpu:a100:4", "A100"),
        ("--gpus-per-node=h100:8", "H100"),
        ("-G l40s:2", "L40S"),
        ("--gpus-per-task=mi300x:1", "MI300X"),
        ("--gres=gpu:4 -C a100&nvlink", "A100"),
        ("--gres=gpu:4 --constraint=a100|h100", ""),  # either may be given
        ("--gres=gpu:v100:4 -C h100", "V100"),
        ("-p gpu-v100 --gres=gpu:4", "V100"),
        ("-p a100,h100", ""),
        ("--gres=gpu:1g.10gb:1", ""),  # a part of a card
        ("--gres=gpu:a100_3g.20gb:1", ""),
        ("-p gpu --gres=gpu:4 -C m1", ""),
        ("-p cpu", ""),
    ],
)
def test_the_card_of_a_job(options, card):
    head = header(Script("job.slurm", f"#!/bin/bash\n#SBATCH {options}\n"))
    assert head.requested_card([]) == card


@each_case(("words", "card"), [("srun --gres=gpu:t4:1", "T4"), ("srun -n 1", "A100")])
def test_a_step_has_options_of_its_own(words, card):
    head = header(Script("job.slurm", "#!/bin/bash\n#SBATCH --gres=gpu:a100:4\n"))
    assert head.requested_card([literal(word) for word in words.split(" ")]) == card


@pytest.fixture
def codes(tmp_path, monkeypatch, capsys):
    """The codes of the errors of a job that asks for TF32, with some arguments."""

    def of(header_line, *arguments):
        monkeypatch.chdir(tmp_path)
        line = "torchrun --nproc_per_node 4 train.py --output_dir out --tf32 True"
        (tmp_path / "train.py").write_text(PROGRAM)
        (tmp_path / "job.slurm").write_text(f"#!/bin/bash\n{header_line}\n{line}\n")
        main(["check", "job.slurm", "--format", "json", "--target", "transformers==5.23.0", *arguments])
        return [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["severity"] == "error"]

    return of


def test_what_is_refused_on_it(codes):
    assert codes("#SBATCH --gres=gpu:v100:4") == ["GPU200"]
    assert codes("#SBATCH --gres=gpu:a100:4") == codes("#SBATCH --gres=gpu:4") == []
    assert codes("#SBATCH --gres=gpu:v100:4", "--gpu", "H100") == []
