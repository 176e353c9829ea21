"""Generates a training file for `llamafactory-cli train`, with the DeepSpeed file that it names if ZeRO was requested."""

from __future__ import annotations

from cfglint.frameworks.llamafactory import NEWEST
from cfglint.frameworks.llamafactory.releases import library
from cfglint.frameworks.releases.versions import parse_version
from cfglint.generators import choices, deepspeed, huggingface
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, Generator, main_file, path_in
from cfglint.generators.job_spec import JobSpec
from cfglint.source.annotations import Any

KIND = "llamafactory"
NAME = "train.yaml"
TARGET = {package: library(package, parse_version(NEWEST)) for package in ("transformers", "deepspeed")}


def training(job: JobSpec, folder: str = "") -> Generated:
    job = job.replace(target={**TARGET, **(job.target or {})})
    chosen = choices.batch(job, huggingface.USUAL)
    run_length, total = choices.length(job, chosen, huggingface.USUAL_EPOCHS, huggingface.predicted)
    rows = [
        "model",
        ("model_name_or_path", "org/model", "replace with a model of the hub, or a folder"),
        "method",
        ("stage", "sft"),
        ("do_train", True, "off by default"),
        ("finetuning_type", "lora" if job.lora else "full"),
        *((("lora_rank", 16, "8 is the default"), ("lora_target", "all", "every linear layer")) if job.lora else ()),
        deepspeed.named_by_trainer(job, folder, "llamafactory-cli"),
        "data",
        ("dataset", "my_dataset", "replace with a name in dataset_info.json"),
        ("dataset_dir", "data", "the folder of dataset_info.json"),
        ("cutoff_len", job.seq_length or 2048, "" if job.seq_length else "LLaMA-Factory's own default; longer samples are cut"),
        "output",
        ("output_dir", job.output_dir or "saves/output", "a checkpoint that is already in it is resumed"),
        "training",
        *huggingface.batch(chosen),
        run_length,
        *huggingface.rates(job, total),
        huggingface.precision(job),
        *huggingface.logging(job, total),
        huggingface.seed(job),
        ("disable_gradient_checkpointing", True if job.checkpointing is False else None),
    ]
    several = choices.node_variables(job)
    torchrun = "FORCE_TORCHRUN=1 " if several or (job.gpus == 1 and job.zero is not None) else ""
    notes = (
        chosen.equation,
        *choices.run_length(job, chosen, huggingface.EPOCHS, huggingface.predicted),
        f"start it with: {torchrun}{several}llamafactory-cli train {path_in(folder, NAME)}",
        "template is left out: the chat template of the tokenizer is used",
    )
    return Generated([main_file(KIND, NAME, job, rows), *deepspeed.trainer_files(job)], chosen.split, notes)


def read(existing: Existing, config: Any) -> None:
    huggingface.read(existing, config)
    if config.method == "lora":
        existing.take("lora", config, "finetuning_type", value=True)
    elif config.method == "full":
        existing.use(config, "finetuning_type")
    if type(config.own("cutoff_len")) is int:
        existing.take("seq_length", config, "cutoff_len", value=config.own("cutoff_len"))


GENERATOR = Generator(makes="the file of `llamafactory-cli train`", takes=huggingface.TAKES, generate=training, read=read)
