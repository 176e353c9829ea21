"""Generates the file of arguments for `swift sft`, which reads it as its first argument from ms-swift 4.0 on."""

from __future__ import annotations

from math import ceil

from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.swift import NEWEST, PACKAGE
from cfglint.frameworks.swift.fields import libraries
from cfglint.generators import choices, huggingface, refuse_beyond
from cfglint.generators.choices import Choice, Chosen
from cfglint.generators.convert import Existing, of_trainer
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import TRAINING, Contradiction, JobSpec
from cfglint.source.annotations import Any

KIND = "swift"
NAME = "train.yaml"
OUTPUT = "output"
POSITIONAL = (4,)  # the first release whose command takes a file
USUAL = Choice(1, "ms-swift's own default")
EPOCHS = 3.0
TAKES = TRAINING | {"lora", "seed", "checkpointing", "save_steps", "output_dir"}
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
DEFAULTS = {"weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "clipping": 1.0, "seed": 42}
ARGUMENTS = {"weight_decay": "weight_decay", "beta1": "adam_beta1", "beta2": "adam_beta2", "epsilon": "adam_epsilon"}
CLIPPING = "max_grad_norm"


def training(job: JobSpec, folder: str = "") -> Generated:
    """The file of a supervised fine-tuning."""
    refuse_beyond(job, KIND)
    release = parse_version((job.target or {}).get(PACKAGE, NEWEST))
    if release < POSITIONAL:
        raise Contradiction(f"ms-swift takes a file of arguments from 4.0.0 on; set --target {PACKAGE}=={NEWEST}")
    job = job.replace(target={**libraries(release), **(job.target or {})})
    chosen = choices.batch(job, USUAL)
    keys = Keys()
    model(keys, job)
    data(keys, job)
    keys.begin("training")
    keys.add("per_device_train_batch_size", chosen.split.micro_batch, chosen.why)
    keys.add("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable)
    total = choices.length(keys, job, chosen, (EPOCHS, "transformers' own default"), predicted)
    rates(keys, job, total)
    keys.add("torch_dtype", DTYPES[choices.precision(job)[0]], choices.precision(job)[1])
    if job.precision == "fp32":
        keys.add("fp16", False, "else float32 weights train in fp16")
        keys.add("bf16", False)
    if job.checkpointing is False:
        keys.add("gradient_checkpointing", False)
    if job.zero is not None:
        keys.add("deepspeed", zero(job), "one of ms-swift's own DeepSpeed files")
    keys.begin("output")
    keys.add("output_dir", job.output_dir or OUTPUT, "each run has a folder of its own in it")
    keys.add_known("logging_steps", job.logging_steps, default=5)
    keys.add_known("save_steps", job.save_steps, default=500)
    keys.add_known("seed", job.seed, default=DEFAULTS["seed"])
    return Generated([GeneratedFile(NAME, KIND, keys, (choices.made_for(job),))], chosen.split, notes(job, chosen, folder))


def model(keys: Keys, job: JobSpec) -> None:
    """Add the model and what of it is trained."""
    keys.begin("model")
    keys.add("model", "org/model", "replace with a model of the hub, or a folder")
    keys.add("tuner_type", "lora" if job.lora else "full", "" if job.lora else "lora is the default")
    if job.lora:
        keys.add("lora_rank", 16, "8 is the default")
        keys.add("target_modules", ["all-linear"])


def data(keys: Keys, job: JobSpec) -> None:
    """Add the data set and the length of its samples."""
    keys.begin("data")
    keys.add("dataset", ["my_dataset.jsonl"], "replace with files, or ids of the hub")
    keys.add_known("max_length", job.seq_length, "longer samples are dropped")


def predicted(job: JobSpec, chosen: Chosen, epochs: float) -> int:
    """The number of optimizer steps: each process gets the same number of samples, rounded down."""
    batches = ceil((job.num_examples or 0) // chosen.split.data_parallel / chosen.split.micro_batch)
    return huggingface.in_epochs(job, chosen, epochs, batches)


def rates(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add optimizer, learning rate, schedule and warm-up, as far as they are not the defaults."""
    keys.add_known("optim", huggingface.optimizer(job, "ms-swift"))
    keys.add("learning_rate", *choices.rate(job))
    if job.scheduler == "constant":
        keys.add("lr_scheduler_type", "constant_with_warmup" if job.warmup else "constant")
    else:
        keys.add_known("lr_scheduler_type", job.scheduler, default="cosine")
    warmup = job.warmup or 0
    if warmup:
        choices.fitting_warmup(int(warmup) if warmup >= 1 else ceil(warmup * total) if total is not None else 0, total)
        keys.add("warmup_steps" if warmup >= 1 else "warmup_ratio", int(warmup) if warmup >= 1 else warmup)
    for name, key in {**ARGUMENTS, "clipping": CLIPPING}.items():
        keys.add_known(key, getattr(job, name), default=DEFAULTS[name])


def zero(job: JobSpec) -> str:
    """The name of the package's DeepSpeed file."""
    if job.offload is None:
        return f"zero{job.zero}"
    if job.zero == 1 or (job.zero == 3 and job.offload == "optimizer"):
        raise Contradiction("ms-swift has no such DeepSpeed file; use --zero 2 --offload, or --zero 3 --offload-weights")
    return f"zero{job.zero}_offload"


def notes(job: JobSpec, chosen: Chosen, folder: str) -> tuple[str, ...]:
    """The facts that the file cannot contain."""
    length = choices.run_length(job, chosen, EPOCHS, predicted)
    return (chosen.equation, *length, f"start it with: {launcher(job)} {path_in(folder, NAME)}")


def launcher(job: JobSpec) -> str:
    """The command that starts the job: one process for each GPU of a node."""
    machines, gpus = choices.nodes(job), job.needed_gpus()
    several = f"NNODES={machines} NODE_RANK=RANK MASTER_ADDR=ADDRESS_OF_THE_FIRST " if machines > 1 else ""
    return f"{several}NPROC_PER_NODE={gpus // machines} swift sft"


def read(found: Existing, config: Any) -> None:
    """Read the facts of the Trainer, the trained part, the length of a sample and the DeepSpeed file."""
    of_trainer(found, config)
    tuner = config.own(config.swift.tuner_key)
    if tuner == "lora":
        found.take("lora", config, config.swift.tuner_key, value=True)
    elif tuner == "full":
        found.use(config, config.swift.tuner_key)
    dtype = next((name for name, value in DTYPES.items() if value == config.own("torch_dtype")), None)
    found.take("precision", config, "torch_dtype", value=dtype)
    if type(config.own("max_length")) is int:
        found.take("seq_length", config, "max_length", value=config.own("max_length"))
    name = config.get("deepspeed")
    if isinstance(name, str) and name in config.package_files:
        stage, _, offload = name.removeprefix("zero").partition("_")
        found.take("zero", config, "deepspeed", value=int(stage))
        found.take("offload", config, "deepspeed", value=("all" if stage == "3" else "optimizer") if offload else None)


GENERATOR = Generator(makes="the file of `swift sft`", takes=TAKES, generate=training, read=read)
