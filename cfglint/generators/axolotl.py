"""Generates a file for `axolotl train`, with the DeepSpeed file that it names if ZeRO was requested."""

from __future__ import annotations

from math import ceil

from cfglint.frameworks.axolotl import DEEPSPEED, NEWEST, PACKAGE, TRANSFORMERS
from cfglint.frameworks.axolotl.releases import top
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import parse_version
from cfglint.generators import choices, deepspeed, huggingface, refuse_beyond
from cfglint.generators.choices import Choice, Chosen
from cfglint.generators.convert import Existing, of_trainer
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import Contradiction, JobSpec
from cfglint.source.annotations import Any

KIND = "axolotl"
NAME = "config.yml"
OUTPUT = "./outputs/out"
TAKES = huggingface.TAKES
TARGET = {PACKAGE: NEWEST, "transformers": TRANSFORMERS, "deepspeed": DEEPSPEED}
SEQUENCE = 2048
EPOCHS: float = top(parse_version(NEWEST))["num_epochs"][DEFAULT]
USUAL = Choice(4, "a usual start: raise it as far as memory allows")


def training(job: JobSpec, folder: str = "") -> Generated:
    """The file of a supervised fine-tuning, and its DeepSpeed file."""
    refuse_beyond(job, KIND)
    job = job.replace(target={**TARGET, **(job.target or {})})
    chosen = choices.batch(job, USUAL)
    keys = Keys()
    model(keys, job)
    data(keys, job)
    keys.begin("batch")
    keys.add("micro_batch_size", chosen.split.micro_batch, chosen.why)
    keys.add("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable)
    keys.begin("training")
    total = choices.length(keys, job, chosen, (EPOCHS, "axolotl's own default"), predicted, "num_epochs")
    rates(keys, job, total)
    precision(keys, job)
    keys.add("gradient_checkpointing", job.checkpointing is not False, "recomputes activations: less memory, about a third more compute")
    logging(keys, job, total)
    keys.add_known("seed", job.seed, default=huggingface.default(job, "seed"))
    if job.zero is not None:
        keys.add("deepspeed", path_in(folder, deepspeed.NAME), "looked up from where axolotl is started")
    file = GeneratedFile(NAME, KIND, keys, (choices.made_for(job),))
    files = [file] if job.zero is None else [file, deepspeed.trainer_config(job)]
    return Generated(files, chosen.split, notes(job, chosen, folder))


def model(keys: Keys, job: JobSpec) -> None:
    """Add model and adapter."""
    keys.begin("model")
    keys.add("base_model", "org/model", "replace with a model of the hub, or a folder")
    if job.lora:
        keys.add("adapter", "lora")
        keys.add("lora_r", 16)
        keys.add("lora_alpha", 32)
        keys.add("lora_dropout", 0.0)
        keys.add("lora_target_linear", True, "every linear layer")


def data(keys: Keys, job: JobSpec) -> None:
    """Add the data set and its processing."""
    keys.begin("data")
    keys.add("datasets", [{"path": "data/train.jsonl", "type": "chat_template"}], "replace with your data")
    keys.add("val_set_size", 0.0, "without an evaluation set")
    keys.add(
        "sequence_len",
        job.seq_length or SEQUENCE,
        "longer samples are dropped" if job.seq_length else "512 is the default; longer samples are dropped",
    )
    keys.add("sample_packing", False, "true packs samples into rows of sequence_len; the number of steps then depends on their lengths")
    keys.add("output_dir", job.output_dir or OUTPUT)


def predicted(job: JobSpec, chosen: Chosen, epochs: float) -> int:
    """The number of optimizer steps of a run in epochs, as axolotl computes it."""
    return max(ceil((job.num_examples or 0) * epochs / chosen.split.global_batch), 1)


def rates(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add optimizer, learning rate and its schedule."""
    keys.add_known("optimizer", huggingface.optimizer(job, "axolotl"))
    keys.add("learning_rate", *choices.rate(job))
    schedule(keys, job)
    warmup(keys, job, total)
    huggingface.regularization(keys, job)


def schedule(keys: Keys, job: JobSpec) -> None:
    """Add the shape of the schedule, and its minimum rate if that is not 0."""
    lowest = job.min_learning_rate
    if job.scheduler == "constant":
        keys.add("lr_scheduler", "constant_with_warmup")
    elif not lowest:
        keys.add("lr_scheduler", job.scheduler or "cosine", "" if job.scheduler else "axolotl's own default")
    else:
        huggingface.down_to(keys, "lr_scheduler", job.scheduler or "cosine", lowest)


def warmup(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add warm-up in steps or as a fraction, which axolotl truncates; without either it would warm up for 3 %."""
    if not job.warmup:
        keys.add("warmup_steps", 0, "without it axolotl warms up for 3 %, at most 100 steps")
        return
    steps = int(job.warmup) if job.warmup >= 1 else int(job.warmup * total) if total is not None else 0
    choices.fitting_warmup(steps, total)
    if steps == 1:
        raise Contradiction(f"--warmup {job.warmup}: axolotl makes 2 of a warm-up of one step; use 0 or at least 2 steps")
    if job.warmup >= 1:
        keys.add("warmup_steps", int(job.warmup))
    else:
        keys.add("warmup_ratio", job.warmup, "a fraction of all steps, rounded down")


def precision(keys: Keys, job: JobSpec) -> None:
    """Add the number format; axolotl uses fp32 without a key."""
    name, why = choices.precision(job)
    if name != "fp32":
        keys.add(name, True, why)
        keys.add("tf32", True)
    else:
        keys.add("tf32", False, "by default axolotl multiplies fp32 matrices at reduced precision (tf32)")


def logging(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add log entries, and checkpoints: one for each epoch if no interval is specified."""
    keys.add("logging_steps", choices.log_interval(job, total))
    if job.save_steps:
        keys.add("save_steps", job.save_steps)
    else:
        keys.add("saves_per_epoch", 1)


def notes(job: JobSpec, chosen: Chosen, folder: str) -> tuple[str, ...]:
    """The facts that the files cannot contain."""
    length = choices.run_length(job, chosen, EPOCHS, predicted)
    return (chosen.equation, *length, f"start it with: {launcher(job)} {path_in(folder, NAME)}")


def launcher(job: JobSpec) -> str:
    """The command that starts the job; axolotl runs accelerate or torchrun itself."""
    machines = choices.nodes(job)
    if machines > 1:
        each = job.needed_gpus() // machines
        return (
            f"torchrun --nnodes {machines} --nproc_per_node {each} --node_rank RANK --master_addr ADDRESS_OF_THE_FIRST -m axolotl.cli.train"
        )
    return "axolotl train"


def read(found: Existing, config: Any) -> None:
    """Read the trainer's facts under axolotl's names, the adapter and the length of a sample."""
    of_trainer(found, config)
    model = config.model
    if model is None:
        return
    if config.get("max_steps") is None:
        found.facts.pop("steps", None)  # axolotl's own count
        found.number_or_default("epochs", config, "num_epochs")
    if config.get("warmup_ratio") is not None:
        found.number("warmup", config, "warmup_ratio")
    if model.adapter in ("lora", "qlora"):
        found.take("lora", config, "adapter", value=True)
    found.take("seq_length", config, "sequence_len", value=model.sequence_len)
    for key in ("micro_batch_size", "gradient_accumulation_steps", "batch_size"):
        found.use(config, key)


GENERATOR = Generator(makes="the file of `axolotl train`", takes=TAKES, generate=training, read=read)
