"""The memory estimate of launch lines: only where it is known which weights are trained it says that a run does not fit."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

LINE = (
    "torchrun --nproc_per_node 1 train.py --output_dir o --bf16 True --save_strategy no --per_device_train_batch_size 1 --logging_steps 5"
    " --num_train_epochs 1"
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
    ["--bits 4", "--finetuning_type lora", "--tuner_type $T", "--freeze_backbone True"],
)
def test_arguments_that_may_limit_what_is_trained_give_no_verdict(explained, more):
    memory = explained(f"{LINE} {more}")["memory"]
    assert (memory["class"], memory["verdict"]) == ("C", "close")
    assert any(more.split()[0].removeprefix("--") in each for each in memory["assumed"])


@pytest.mark.parametrize("more", ["", "--use_lora False", "--bits 16", "--finetuning_type full", "--use_peft False --lora_r 8"])
def test_all_weights_are_trained_without_them(explained, more):
    memory = explained(f"{LINE} {more}")["memory"]
    assert (memory["class"], memory["verdict"]) == ("A", "does-not-fit")


def test_a_training_that_is_not_read_may_train_a_part(explained):
    again = "[training_args] = HfArgumentParser(choose(training_args)).parse_args_into_dataclasses()\nmodel ="
    assert explained(LINE, train_py=PROGRAM.replace("model =", again, 1))["memory"]["class"] == "C"


def test_the_switch_of_the_program_decides(explained):
    assert explained(LINE, train_py=PROGRAM)["memory"]["class"] == "A"
    assert explained(LINE, train_py=PROGRAM.replace("bool = False", "bool = True"))["memory"]["class"] == "C"


def test_adapters_that_the_code_creates_are_known(explained):
    assert explained(LINE, train_py=ALWAYS)["memory"]["class"] == "B"


def test_a_line_of_llamafactory_is_read_like_its_file(explained):
    of_file = explained("llamafactory-cli train y.yaml", y_yaml="".join(f"{key}: {value}\n" for key, value in FACTORY.items()))
    of_line = explained("llamafactory-cli train " + " ".join(f"--{key} {value}" for key, value in FACTORY.items()))
    assert of_line["memory"] == of_file["memory"]
    assert of_line["memory"]["class"] == "B"


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


@pytest.fixture
def of_line(tmp_path, monkeypatch, capsys):
    """The memory of a line that names its model, on 8 GPUs of 80 GB."""
    monkeypatch.chdir(tmp_path)

    def explain(line, **files):
        for name, text in {"run.sh": line + "\n", **{name.replace("_", "."): text for name, text in files.items()}}.items():
            (tmp_path / name).write_text(text)
        assert main(["explain", "run.sh", "--gpus", "8", "--gpu-memory", "80GB", "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)["memory"]

    return explain


@pytest.mark.parametrize(
    ("line", "assumed"),
    [
        ("--model_name_or_path openai/whisper-small", "rows of 448 tokens, the model's limit"),
        ("--model_name_or_path roberta-base", "rows of 512 tokens, the model's limit"),
        ("--model_name_or_path BAAI/bge-m3 --query_max_len 32 --passage_max_len 128", "a query of 32 and 8 passages of 128 tokens"),
        ("--model_name_or_path Qwen/Qwen2_5-1.5B --max_length 512", "Qwen/Qwen2_5-1.5B is qwen2.5-1.5b"),
    ],
)
def test_what_limits_the_rows_and_the_spelling_of_a_name_are_assumptions(of_line, line, assumed):
    memory = of_line(f"{LINE} {line}")
    assert (memory["class"], memory["peak_gib"] is not None) == ("C", True)
    assert assumed in memory["assumed"]


def test_longer_passages_of_contrastive_training_need_more(of_line):
    line = f"{LINE} --model_name_or_path BAAI/bge-m3 --query_max_len 32 --passage_max_len"
    assert of_line(f"{line} 256")["peak_gib"] > of_line(f"{line} 128")["peak_gib"]


def test_every_passage_of_a_cross_encoder_is_a_row(of_line):
    line = f"{LINE} --model_name_or_path google/electra-base-discriminator"
    alone, eight = of_line(line), of_line(f"{line} --train_n_passages 8")
    assert eight["terms"]["logits"] == pytest.approx(8 * alone["terms"]["logits"], rel=0.01)


MEGATRON = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048"
    " --micro-batch-size 4 --tensor-model-parallel-size 2 --bf16"
)


def test_the_arguments_of_megatron_have_the_whole_shape(of_line):
    plain = of_line(MEGATRON)
    assert plain["class"] == "C"
    assert of_line(f"{MEGATRON} --use-distributed-optimizer")["terms"]["optimizer"] == pytest.approx(
        plain["terms"]["optimizer"] / 4, rel=0.01
    )
    recomputed = of_line(f"{MEGATRON} --use-flash-attn --recompute-method uniform")
    assert recomputed["terms"]["activations"] < plain["terms"]["activations"] / 10
    assert of_line(f"{MEGATRON} --num-experts 8") is None


@pytest.mark.parametrize(
    "line",
    [
        MEGATRON.replace("torchrun --nproc_per_node", "deepspeed --num_gpus") + " --deepspeed --deepspeed_config ds.json",
        "deepspeed --num_gpus 8 own.py --model_name Qwen/Qwen3-4B --seq_length 1024 --deepspeed_config ds.json",
    ],
)
def test_a_deepspeed_file_trains_the_model_of_its_line(of_line, line):
    stage_3 = of_line(line, ds_json='{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}')
    stage_1 = of_line(line, ds_json='{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1}}')
    assert (stage_3["class"], stage_1["class"]) == ("C", "C")
    assert stage_3["terms"]["weights"] < stage_1["terms"]["weights"] / 3


def test_the_parser_of_trl_is_known_so_a_line_without_a_file_is_that_of_its_trainer(explained):
    found = explained("trl sft --dataset_name d --max_length 2048 --per_device_train_batch_size 1 --output_dir o")
    assert {each["name"]: each["value"] for each in found["settings"]}["learning rate"] == 2e-5
    assert found["memory"]["class"] == "A"
    assert "trl" not in explained("trl sft --config gone.yaml --output_dir o")["target"]


OWN_ARGUMENT = """\
import argparse

from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="Qwen/Qwen2.5-0.5B")
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.model)
Trainer(model=model, args=TrainingArguments(output_dir="out", bf16=True)).train()
"""


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("", "no findings"),
        ("--model Qwen/Qwen2.5-7B", "memory probably does not fit, see `cfglint explain`"),
        ("--model a/b", "memory is not known: pass --model, or see `cfglint explain`"),
    ],
)
def test_the_summary_says_what_no_finding_says_of_the_memory(tmp_path, monkeypatch, capsys, option, said):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(OWN_ARGUMENT)
    (tmp_path / "run.sh").write_text(f"torchrun --nproc_per_node 2 train.py {option}\n")
    main(["check", "run.sh", "--gpu-memory", "80GB", "--seq-length", "512", "--target", "transformers==4.57.1"])
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("memory") == (1 if option else 0)


def test_a_change_of_the_memory_says_what_it_assumes_of_adapters(checkout, capsys):
    line = "--mm_tunable_parts mm_mlp_adapter --per_device_train_batch_size {}\n"
    checkout.write(run__sh=f"{LINE} {line.format(1)}")
    checkout.commit()
    checkout.write(run__sh=f"{LINE} {line.format(16)}")
    main(["review", "--base", "HEAD", "--model", "llama-2-7b", "--seq-length", "2048"])
    (memory,) = [text for text in capsys.readouterr().out.splitlines() if text.startswith("  memory")]
    assert memory.endswith(", if all weights are trained in spite of `mm_tunable_parts`")
