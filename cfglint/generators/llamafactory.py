"""Generates a training file for `llamafactory-cli train`, with the DeepSpeed file that it names if ZeRO was requested."""

from __future__ import annotations

from cfglint.frameworks.llamafactory import NEWEST
from cfglint.frameworks.llamafactory.releases import library
from cfglint.frameworks.releases.versions import parse_version
from cfglint.generators import choices, deepspeed, huggingface, refuse_beyond
from cfglint.generators.choices import Chosen
from cfglint.generators.convert import Existing, of_trainer
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import JobSpec
from cfglint.source.annotations import Any

KIND = "llamafactory"
NAME = "train.yaml"
OUTPUT = "saves/output"
TAKES = huggingface.TAKES
TARGET = {package: library(package, parse_version(NEWEST)) for package in ("transformers", "deepspeed")}
CUTOFF = 2048


def training(job: JobSpec, folder: str = "") -> Generated:
    """The training file of a supervised fine-tuning, and its DeepSpeed file."""
    refuse_beyond(job, KIND)
    job = job.replace(target={**TARGET, **(job.target or {})})
    chosen = choices.batch(job, huggingface.USUAL)
    keys = Keys()
    method(keys, job)
    if job.zero is not None:
        keys.add("deepspeed", path_in(folder, deepspeed.NAME), "looked up from where llamafactory-cli is started")
    data(keys, job)
    keys.begin("output")
    keys.add("output_dir", job.output_dir or OUTPUT, "a checkpoint that is already in it is resumed")
    keys.begin("training")
    keys.add("per_device_train_batch_size", chosen.split.micro_batch, chosen.why)
    keys.add("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable)
    total = huggingface.length(keys, job, chosen)
    huggingface.rates(keys, job, total)
    huggingface.precision(keys, job)
    huggingface.logging(keys, job, total)
    keys.add_known("seed", job.seed, default=huggingface.default(job, "seed"))
    if job.checkpointing is False:
        keys.add("disable_gradient_checkpointing", True)
    file = GeneratedFile(NAME, KIND, keys, (choices.made_for(job),))
    files = [file] if job.zero is None else [file, deepspeed.trainer_config(job)]
    return Generated(files, chosen.split, notes(job, chosen, folder))


def method(keys: Keys, job: JobSpec) -> None:
    """Add model and fine-tuning method."""
    keys.begin("model")
    keys.add("model_name_or_path", "org/model", "replace with a model of the hub, or a folder")
    keys.begin("method")
    keys.add("stage", "sft")
    keys.add("do_train", True, "off by default")
    keys.add("finetuning_type", "lora" if job.lora else "full")
    if job.lora:
        keys.add("lora_rank", 16, "8 is the default")
        keys.add("lora_target", "all", "every linear layer")


def data(keys: Keys, job: JobSpec) -> None:
    """Add the data set and its processing."""
    keys.begin("data")
    keys.add("dataset", "my_dataset", "replace with a name in dataset_info.json")
    keys.add("dataset_dir", "data", "the folder of dataset_info.json")
    keys.add("cutoff_len", job.seq_length or CUTOFF, "" if job.seq_length else "LLaMA-Factory's own default; longer samples are cut")


def notes(job: JobSpec, chosen: Chosen, folder: str) -> tuple[str, ...]:
    """The facts that the files cannot contain."""
    length = choices.run_length(job, chosen, huggingface.EPOCHS, huggingface.predicted)
    start = f"start it with: {launcher(job)} {path_in(folder, NAME)}"
    return (chosen.equation, *length, start, "template is left out: the chat template of the tokenizer is used")


def launcher(job: JobSpec) -> str:
    """The command that starts the job, with environment variables for facts that the file cannot contain."""
    machines = choices.nodes(job)
    if machines > 1:
        return f"FORCE_TORCHRUN=1 NNODES={machines} NODE_RANK=RANK MASTER_ADDR=ADDRESS_OF_THE_FIRST llamafactory-cli train"
    return ("FORCE_TORCHRUN=1 " if job.gpus == 1 and job.zero is not None else "") + "llamafactory-cli train"


def read(found: Existing, config: Any) -> None:
    """Read the trainer's facts, the method and the length of a sample."""
    of_trainer(found, config)
    if config.method == "lora":
        found.take("lora", config, "finetuning_type", value=True)
    elif config.method == "full":
        found.use(config, "finetuning_type")
    if type(config.own("cutoff_len")) is int:
        found.take("seq_length", config, "cutoff_len", value=config.own("cutoff_len"))


GENERATOR = Generator(makes="the file of `llamafactory-cli train`", takes=TAKES, generate=training, read=read)
