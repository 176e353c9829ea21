"""Generates a file for `axolotl train`, with the DeepSpeed file that it names if ZeRO was requested."""

from __future__ import annotations

from math import ceil

from cfglint.frameworks.axolotl import DEEPSPEED, NEWEST, PACKAGE, TRANSFORMERS
from cfglint.frameworks.axolotl.releases import HISTORY, TOP
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import parse_version
from cfglint.generators import choices, deepspeed, huggingface
from cfglint.generators.choices import Chosen
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, Generator, Row, main_file, path_in
from cfglint.generators.job_spec import Contradiction, JobSpec
from cfglint.source.annotations import Any

KIND = "axolotl"
NAME = "config.yml"
TARGET = {PACKAGE: NEWEST, "transformers": TRANSFORMERS, "deepspeed": DEEPSPEED}
EPOCHS: float = HISTORY.fields(TOP, parse_version(NEWEST))["num_epochs"][DEFAULT]
USUAL = 4, "a usual start: raise it as far as memory allows"
ADAPTER: list[Row] = [
    ("adapter", "lora"),
    ("lora_r", 16),
    ("lora_alpha", 32),
    ("lora_dropout", 0.0),
    ("lora_target_linear", True, "every linear layer"),
]


def training(job: JobSpec, folder: str = "") -> Generated:
    job = job.replace(target={**TARGET, **(job.target or {})})
    chosen = choices.batch(job, USUAL)
    run_length, total = choices.length(job, chosen, (EPOCHS, "axolotl's own default"), predicted, "num_epochs")
    name, why = choices.precision(job)
    rows = [
        "model",
        ("base_model", "org/model", "replace with a model of the hub, or a folder"),
        *(ADAPTER if job.lora else ()),
        "data",
        ("datasets", [{"path": "data/train.jsonl", "type": "chat_template"}], "replace with your data"),
        ("val_set_size", 0.0, "without an evaluation set"),
        ("sequence_len", job.seq_length or 2048, f"{'' if job.seq_length else '512 is the default; '}longer samples are dropped"),
        ("sample_packing", False, "true packs samples into rows of sequence_len; the number of steps then depends on their lengths"),
        ("output_dir", job.output_dir or "./outputs/out"),
        "batch",
        ("micro_batch_size", chosen.split.micro_batch, chosen.why),
        ("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable),
        "training",
        run_length,
        ("optimizer", huggingface.optimizer(job, "axolotl")),
        ("learning_rate", *choices.rate(job)),
        *schedule(job),
        *warmup(job, total),
        *huggingface.regularization(job),
        (name, None if name == "fp32" else True, why),
        ("tf32", name != "fp32", "by default axolotl multiplies fp32 matrices at reduced precision (tf32)" if name == "fp32" else ""),
        ("gradient_checkpointing", job.checkpointing is not False, "recomputes activations: less memory, about a third more compute"),
        ("logging_steps", choices.log_interval(job, total)),
        ("save_steps", job.save_steps) if job.save_steps else ("saves_per_epoch", 1),
        huggingface.seed(job),
        deepspeed.named_by_trainer(job, folder, "axolotl"),
    ]
    # axolotl runs accelerate or torchrun itself
    launcher = "axolotl train" if choices.nodes(job) == 1 else f"{choices.torch_launcher(job)} -m axolotl.cli.train"
    notes = (chosen.equation, *choices.run_length(job, chosen, EPOCHS, predicted), f"start it with: {launcher} {path_in(folder, NAME)}")
    return Generated([main_file(KIND, NAME, job, rows), *deepspeed.trainer_files(job)], chosen.split, notes)


def predicted(job: JobSpec, chosen: Chosen, epochs: float) -> int:
    """The number of optimizer steps of a run in epochs, as axolotl computes it."""
    return max(ceil((job.num_examples or 0) * epochs / chosen.split.global_batch), 1)


def schedule(job: JobSpec) -> list[Row]:
    """The shape of the schedule, and its minimum rate if that is not 0."""
    if job.scheduler == "constant":
        return [("lr_scheduler", "constant_with_warmup")]
    return huggingface.schedule(job, "lr_scheduler", "cosine", "axolotl's own default")


def warmup(job: JobSpec, total: int | None) -> list[Row]:
    """Warm-up in steps or as a fraction, which axolotl truncates; without either it would warm up for 3 %."""
    if not job.warmup:
        return [("warmup_steps", 0, "without it axolotl warms up for 3 %, at most 100 steps")]
    if choices.warmup_steps(job, total, int) == 1:
        raise Contradiction(f"--warmup {job.warmup}: axolotl makes 2 of a warm-up of one step; use 0 or at least 2 steps")
    if job.warmup >= 1:
        return [("warmup_steps", int(job.warmup))]
    return [("warmup_ratio", job.warmup, "a fraction of all steps, rounded down")]


def read(existing: Existing, config: Any) -> None:
    """Read the trainer's facts under axolotl's names, the adapter and the length of a sample."""
    huggingface.read(existing, config)
    model = config.model
    if model is None:
        return
    if config.get("max_steps") is None:
        existing.facts.pop("steps", None)  # axolotl's own count
        existing.number_or_default("epochs", config, "num_epochs")
    if config.get("warmup_ratio") is not None:
        existing.number("warmup", config, "warmup_ratio")
    if model.adapter in ("lora", "qlora"):
        existing.take("lora", config, "adapter", value=True)
    existing.take("seq_length", config, "sequence_len", value=model.sequence_len)
    for key in ("micro_batch_size", "gradient_accumulation_steps", "batch_size"):
        existing.use(config, key)


GENERATOR = Generator(makes="the file of `axolotl train`", takes=huggingface.TAKES, generate=training, read=read)
