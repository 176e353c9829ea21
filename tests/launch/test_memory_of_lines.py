"""The memory estimate of launch lines: only where it is known which weights are trained it says that a run does not fit."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

LINE = (
    "torchrun --nproc_per_node 1 train.py --output_dir o --bf16 True --save_strategy no --per_device_train_batch_size 1 --logging_steps 5"
)
FACTORY = {
    "stage": "sft", "do_train": "true", "model_name_or_path": "m", "finetuning_type": "lora", "lora_rank": "8", "lora_target": "all",
    "dataset": "d", "template": "llama2", "cutoff_len": "2048", "bf16": "true", "per_device_train_batch_size": "1", "output_dir": "o",
}  # fmt: skip
PROGRAM = """\
from dataclasses import dataclass

from peft import LoraConfig, get_peft_model
from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class ModelArguments:
    lora_enable: bool = False
    lora_r: int = 64


parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, training_args = parser.parse_args_into_dataclasses()
model = make(model_args)
if model_args.lora_enable:
    model = get_peft_model(model, LoraConfig(r=model_args.lora_r))
trainer = Trainer(model=model, args=training_args)
"""
ALWAYS = PROGRAM.replace("    lora_enable: bool = False\n    lora_r: int = 64\n", "    path: str = 'm'\n").replace(
    "if model_args.lora_enable", "if True"
)


@pytest.fixture
def explained(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def explain(line, gpus=("--gpus", "1"), **files):
        for name, text in {"run.sh": line + "\n", **{name.replace("_", "."): text for name, text in files.items()}}.items():
            (tmp_path / name).write_text(text)
        options = [*gpus, "--model", "llama-2-7b", "--gpu-memory", "24GB", "--seq-length", "2048"]
        assert main(["explain", "run.sh", *options, "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return explain


@pytest.mark.parametrize(
    "more",
    ["--use_lora True", "--lora_enable", "--lora_r 8", "--bits 4", "--finetuning_type lora", "--tuner_type $T", "--freeze_backbone True"],
)
def test_arguments_that_may_limit_what_is_trained_give_no_verdict(explained, more):
    memory = explained(f"{LINE} {more}")["memory"]
    assert (memory["class"], memory["verdict"]) == ("C", "close")
    assert any(more.split()[0].removeprefix("--") in each for each in memory["assumed"])


@pytest.mark.parametrize("more", ["", "--use_lora False", "--bits 16", "--finetuning_type full", "--use_peft False --lora_r 8"])
def test_all_weights_are_trained_without_them(explained, more):
    memory = explained(f"{LINE} {more}")["memory"]
    assert (memory["class"], memory["verdict"]) == ("A", "does-not-fit")


def test_the_switch_of_the_program_decides(explained):
    assert explained(LINE, train_py=PROGRAM)["memory"]["class"] == "A"
    assert explained(LINE, train_py=PROGRAM.replace("bool = False", "bool = True"))["memory"]["class"] == "C"


def test_adapters_that_the_code_creates_give_no_verdict(explained):
    assert explained(LINE, train_py=ALWAYS)["memory"]["class"] == "C"


def test_a_line_of_llamafactory_is_read_like_its_file(explained):
    of_file = explained("llamafactory-cli train y.yaml", y_yaml="".join(f"{key}: {value}\n" for key, value in FACTORY.items()))
    of_line = explained("llamafactory-cli train " + " ".join(f"--{key} {value}" for key, value in FACTORY.items()))
    assert of_line["memory"] == of_file["memory"]
    assert of_line["memory"]["class"] == "C"


def test_defaults_of_the_trainer_are_no_facts_about_swift(explained):
    found = explained("swift sft --model m --dataset d --per_device_train_batch_size 1 --num_train_epochs 2")
    values = {each["key"]: each["value"] for each in found["settings"]}
    assert values["/num_train_epochs"] == 2.0
    assert (values["/weight_decay"], values["/lr_scheduler_type"], values["/learning_rate"]) == (0.1, "cosine", 1e-4)
    assert values["/precision"] is None  # that of the checkpoint


@pytest.mark.parametrize(
    ("line", "assumed"),
    [
        ("--mm_tunable_parts mm_mlp_adapter --model_max_length 2048", "all weights are trained"),
        ("--vision_tower openai/clip --model_max_length 2048", "images do not count"),
        ("--max_length 32768", "rows of 32768 tokens, the limit"),
    ],
)
def test_what_may_need_less_memory_gives_no_verdict(explained, line, assumed):
    memory = explained(f"{LINE} {line}")["memory"]
    assert (memory["class"], memory["verdict"]) == ("C", "close")
    assert any(assumed in each for each in memory["assumed"])


def test_partitions_among_an_unknown_number_of_gpus_give_no_verdict(explained):
    line = LINE.replace("--nproc_per_node 1", "--nproc_per_node $N") + " --deepspeed ds.json --max_length 4096"
    memory = explained(line, gpus=(), ds_json='{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}')["memory"]
    assert (memory["class"], memory["verdict"]) == ("C", "close")


@pytest.mark.parametrize(
    "code",
    [
        "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-7B')\ntrainer = Trainer(model=model, args=args)\n",
        "NAME = 'Qwen/Qwen2.5-7B'\nmodel = AutoModelForCausalLM.from_pretrained(NAME)\ntrainer = Trainer(model=model, args=args)\n",
    ],
)
def test_the_model_may_be_named_in_the_program(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    head = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nargs = TrainingArguments(output_dir='o')\n"
    (tmp_path / "train.py").write_text(head + code)
    assert main(["explain", "train.py", "--gpus", "1", "--seq-length", "512", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"]["model"] == "qwen2.5-7b"
