"""Lines of a page whose placeholders and missing words have one finding, or none."""

from __future__ import annotations

import pytest

import cfglint

PROGRAM = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(model, args).train()
"""
OWN = """\
import argparse
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--config")
Trainer(model, TrainingArguments(parser.parse_args().config)).train()
"""
REQUIRES = OWN.replace("Trainer(model", 'parser.add_argument("--rows", required=True)\nTrainer(model')


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The findings of the lines of a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "required.py").write_text(REQUIRES)

    def check(name, *lines):
        text = "\n".join(lines)
        (tmp_path / name).write_text(f"```bash\n{text}\n```\n" if name.endswith(".md") else f"{text}\n")
        return [(each.line, each.code, each.key) for each in cfglint.check(name).diagnostics]

    return check


def test_an_option_without_its_number_is_one_finding(found):
    assert found("run.sh", "python train.py --output_dir o --learning_rate --bf16") == [(1, "LCH013", "--learning_rate")]


@pytest.mark.parametrize("rest", ["<other-arguments>", "\\\n    <other arguments>", "[OPTIONS]"])
def test_a_placeholder_of_a_page_stands_for_further_arguments(found, rest):
    assert found("README.md", f"python own.py --config c.yaml {rest}") == []


def test_dots_of_a_page_stand_for_further_arguments(found):
    line = "python train.py --output_dir o --learning_rate 2e-5 ..."
    assert found("README.md", line) == []
    assert found("run.sh", line) == [(1, "LCH003", "--learning_rate")]


def test_dots_of_a_page_stand_for_required_arguments(found):
    line = "python required.py --config x ..."
    assert found("README.md", line) == []
    assert "LCH016" in [code for _, code, _ in found("run.sh", line)]


@pytest.mark.parametrize("name", ["README.md", "run.sh"])
def test_lines_below_a_placeholder_are_no_arguments(found, name):
    assert found(name, "python own.py --config <path>", "", "# Evaluate", "python eval.py --checkpoint <path> --data <path>") == []
    assert [code for _, code, _ in found(name, "python own.py --confg <path>", "python eval.py --checkpoint x")] == ["LCH003"]


def test_words_behind_a_placeholder_of_a_page_are_arguments(found):
    line = "python train.py --run_name=<your name> --output_dir <dir> \\\n    --learning_rte 1e-5"
    assert found("README.md", line) == [(3, "KEY200", "--learning_rte")]
    line = "torchrun --nproc_per_node=<N> train.py --output_dir o --per_device_train_batch_size <batch size> > <log>"
    assert found("README.md", line) == []


@pytest.mark.parametrize("place", ["<path>", "<权重>"])
def test_a_placeholder_before_a_line_continuation(found, place):
    assert found("README.md", f"python required.py --config {place} \\\n  --rows 3") == []


@pytest.mark.parametrize("program", ["required.py --config x", "-m verl.trainer.main_ppo data.train_batch_size=64"])
def test_dots_on_the_next_line_of_a_page_stand_for_further_arguments(found, program):
    assert found("README.md", f"python {program}", "    ...") == []
    assert found("README.md", f"python {program} \\", "    ...") == []
    assert found("README.md", f"python {program} \\", "    # ... the other arguments ...") == []
    assert found("README.md", f"python {program}") != []
