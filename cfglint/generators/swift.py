"""Generates the file of arguments for `swift sft`, which reads it as its first argument from ms-swift 4.0 on."""

from __future__ import annotations

from math import ceil

from cfglint.findings.wording import counted
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.swift import NEWEST, PACKAGE
from cfglint.frameworks.swift.fields import config_files, libraries
from cfglint.generators import choices, huggingface
from cfglint.generators.choices import Chosen, unless
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, Generator, Row, main_file, path_in
from cfglint.generators.job_spec import Contradiction, JobSpec
from cfglint.source.annotations import Any

KIND = "swift"
NAME = "train.yaml"
POSITIONAL = (4,)  # the first release whose command takes a file
USUAL = 1, "ms-swift's own default"
EPOCHS = 3.0
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
DEFAULTS = {"weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "clipping": 1.0}


def training(job: JobSpec, folder: str = "") -> Generated:
    release = parse_version((job.target or {}).get(PACKAGE, NEWEST))
    if release < POSITIONAL:
        raise Contradiction(f"ms-swift takes a file of arguments from 4.0.0 on; set --target {PACKAGE}=={NEWEST}")
    if job.num_examples is not None and job.gpus is not None and job.num_examples < job.gpus:  # its loader gives each process as many
        samples = counted(job.num_examples, "sample")
        raise Contradiction(f"{samples} for {job.gpus} GPUs: ms-swift gives some of them none; pass more --num-examples, or fewer --gpus")
    job = job.replace(target={**libraries(release), **(job.target or {})})
    chosen = choices.batch(job, USUAL)
    run_length, total = choices.length(job, chosen, (EPOCHS, "transformers' own default"), predicted)
    precision, why = choices.precision(job)
    off_in_fp32 = False if precision == "fp32" else None
    rows = [
        "model",
        ("model", "org/model", "replace with a model of the hub, or a folder"),
        ("tuner_type", "lora" if job.lora else "full", "" if job.lora else "lora is the default"),
        *((("lora_rank", 16, "8 is the default"), ("target_modules", ["all-linear"])) if job.lora else ()),
        "data",
        ("dataset", ["my_dataset.jsonl"], "replace with files, or ids of the hub"),
        ("max_length", job.seq_length, "longer samples are dropped"),
        "training",
        *huggingface.batch(chosen),
        run_length,
        ("optim", huggingface.optimizer(job, "ms-swift")),
        ("learning_rate", *choices.rate(job)),
        *(() if job.scheduler == "cosine" else huggingface.schedule(job)),
        *warmup(job, total),
        *((key, unless(DEFAULTS[fact], getattr(job, fact))) for fact, key in huggingface.REGULARIZATION.items()),
        ("torch_dtype", DTYPES[precision], why),
        ("fp16", off_in_fp32, "else float32 weights train in fp16"),
        ("bf16", off_in_fp32),
        ("gradient_checkpointing", False if job.checkpointing is False else None),
        ("deepspeed", deepspeed_file(job), "one of ms-swift's own DeepSpeed files"),
        "output",
        ("output_dir", job.output_dir or "output", "each run has a folder of its own in it"),
        ("logging_steps", unless(5, job.logging_steps)),
        ("save_steps", unless(500, job.save_steps)),
        ("seed", unless(42, job.seed)),
    ]
    start = f"{choices.node_variables(job)}NPROC_PER_NODE={job.needed_gpus() // choices.nodes(job)} swift sft {path_in(folder, NAME)}"
    notes = (chosen.equation, *choices.run_length(job, chosen, EPOCHS, predicted), f"start it with: {start}")
    return Generated([main_file(KIND, NAME, job, rows)], chosen.split, notes)


def predicted(job: JobSpec, chosen: Chosen, epochs: float) -> int:
    """The number of optimizer steps: each process gets the same number of samples, rounded down."""
    batches = ceil((job.num_examples or 0) // chosen.split.data_parallel / chosen.split.micro_batch)
    return huggingface.in_epochs(job, chosen, epochs, batches)


def warmup(job: JobSpec, total: int | None) -> list[Row]:
    if not job.warmup:
        return []
    choices.warmup_steps(job, total)
    return [("warmup_steps", int(job.warmup)) if job.warmup >= 1 else ("warmup_ratio", job.warmup)]


def deepspeed_file(job: JobSpec) -> str | None:
    if job.zero is None or job.offload is None:
        return None if job.zero is None else f"zero{job.zero}"
    if job.zero == 1 or (job.zero == 3 and job.offload == "optimizer"):
        raise Contradiction("ms-swift has no such DeepSpeed file; use --zero 2 --offload, or --zero 3 --offload-weights")
    return f"zero{job.zero}_offload"


def read(existing: Existing, config: Any) -> None:
    huggingface.read(existing, config)
    tuner = config.own(config.arguments.tuner_key)
    if tuner == "lora":
        existing.take("lora", config, config.arguments.tuner_key, value=True)
    elif tuner == "full":
        existing.use(config, config.arguments.tuner_key)
    dtype = next((name for name, value in DTYPES.items() if value == config.own("torch_dtype")), None)
    existing.take("precision", config, "torch_dtype", value=dtype)
    if type(config.own("max_length")) is int:
        existing.take("seq_length", config, "max_length", value=config.own("max_length"))
    name = config.get("deepspeed")
    if isinstance(name, str) and name in config_files(config.own_version):
        stage, _, offload = name.removeprefix("zero").partition("_")
        existing.take("zero", config, "deepspeed", value=int(stage))
        existing.take("offload", config, "deepspeed", value=("all" if stage == "3" else "optimizer") if offload else None)


GENERATOR = Generator(makes="the file of `swift sft`", takes=huggingface.TAKES - {"min_learning_rate"}, generate=training, read=read)
