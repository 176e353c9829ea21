"""Generates GPT-NeoX configs: a single file, or a model file and a cluster file, of published models or specified sizes.

The published models are the files under configs/ of EleutherAI/gpt-neox at ea7aefd (May 2026). The sizes named `gpt3` are those
of Brown et al. 2020 (arXiv 2005.14165, table 2.1), `pythia` of Biderman et al. 2023 (arXiv 2304.01373, table 1),
`neox` of Black et al. 2022 (arXiv 2204.06745, section 2), `llama2` of Touvron et al. 2023 (arXiv 2307.09288), with the rate and
micro batch of llama/train_config.yml.
"""

from __future__ import annotations

from functools import partial
from math import nextafter

from cfglint.batch import steps
from cfglint.batch.shapes import config_of
from cfglint.frameworks.neox.fields import default
from cfglint.generators import choices
from cfglint.generators.choices import Chosen, unless
from cfglint.generators.convert import Existing, read_optimizer_numbers
from cfglint.generators.generated import Generated, GeneratedFile, Generator, Keys, Row, main_file, path_in
from cfglint.generators.job_spec import PARALLEL, TRAINING, Contradiction, JobSpec, flag
from cfglint.source.annotations import Any, ConfigTable
from cfglint.source.record import Record

KIND = "neox"
MODEL = "model.yml"  # the launcher adds .yml to any other ending
CLUSTER = "cluster.yml"
OPTIMIZERS = {"adamw": "Adam", "lion": "Lion"}
FLOOR = 0.1
WARMUP = 0.01
BETAS = (0.9, 0.95)
MODEL_FACTS = {"layers": "num_layers", "hidden": "hidden_size", "heads": "num_attention_heads", "kv_heads": "num_kv_heads"}
GPT3 = "gpt3"
PYTHIA = "pythia"
LLAMA = "llama"
SEQ_LENGTH = 2048
LLAMA_LENGTH = 4096

# Settings of every model of a family that differ from GPT-NeoX's defaults, except the sizes.
FAMILIES: dict[str, ConfigTable] = {
    GPT3: {"pos_emb": "rotary", "no_weight_tying": True},
    PYTHIA: {"pos_emb": "rotary", "rotary_pct": 0.25, "no_weight_tying": True, "gpt_j_residual": True},
    LLAMA: {
        "pos_emb": "rotary",
        "no_weight_tying": True,
        "norm": "rmsnorm",
        "rms_norm_epsilon": 1.0e-5,
        "activation": "swiglu",
        "mlp_multiple_of": 256,
        "use_bias_in_attn_linear": False,
        "make_vocab_size_divisible_by": 1,
    },
}
TOKENIZERS: dict[str, dict[str, str]] = {
    GPT3: {"vocab_file": "data/gpt2-vocab.json", "merge_file": "data/gpt2-merges.txt"},
    PYTHIA: {"tokenizer_type": "HFTokenizer", "vocab_file": "data/20B_tokenizer.json"},
    LLAMA: {"tokenizer_type": "SPMTokenizer", "vocab_file": "data/tokenizer.model"},
}


class NeoXShape(Record):
    """The sizes of a model; `rate` and `micro_batch` are those of its published config, `source` names that config."""

    layers: int
    hidden: int
    heads: int
    rate: float
    micro_batch: int
    source: str
    family: str = PYTHIA
    seq_length: int = SEQ_LENGTH
    kv_heads: int | None = None
    intermediate: int | None = None

    @property
    def weights(self) -> int:
        """The approximate number of weights in its layers: four matrices of attention and eight of the feed-forward part, h x h each."""
        return 12 * self.layers * self.hidden * self.hidden


def of_checkpoint(name: str, rate: float, micro_batch: int, source: str, family: str = PYTHIA, **more: int) -> NeoXShape:
    """The sizes of a checkpoint in `cfglint.batch.shapes`, with the settings of its training; rows of Llama have 4096 tokens."""
    config = config_of(name)
    layers, hidden, heads = (config[key] for key in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
    length = LLAMA_LENGTH if family == LLAMA else SEQ_LENGTH
    return NeoXShape(layers, hidden, heads, rate, micro_batch, source, family, length, **more)


SHAPES = {
    "pythia-14m": of_checkpoint("pythia-14m", 1.0e-3, 32, "pythia/14M.yml"),
    "pythia-31m": of_checkpoint("pythia-31m", 1.0e-3, 32, "pythia/31M.yml"),
    "pythia-70m": of_checkpoint("pythia-70m", 1.0e-3, 32, "pythia/70M.yml"),
    "pythia-160m": of_checkpoint("pythia-160m", 6.0e-4, 32, "pythia/160M.yml"),
    "pythia-410m": of_checkpoint("pythia-410m", 3.0e-4, 32, "pythia/410M.yml"),
    "pythia-1b": of_checkpoint("pythia-1b", 2.5e-4, 4, "pythia/1B.yml"),
    "pythia-1.4b": of_checkpoint("pythia-1.4b", 2.0e-4, 16, "pythia/1-4B.yml"),
    "pythia-2.8b": of_checkpoint("pythia-2.8b", 1.6e-4, 8, "pythia/2-8B.yml"),
    "pythia-6.9b": of_checkpoint("pythia-6.9b", 1.2e-4, 8, "pythia/6-9B.yml"),
    "pythia-12b": of_checkpoint("pythia-12b", 1.2e-4, 8, "pythia/12B.yml"),
    "neox-20b": of_checkpoint("neox-20b", 9.7e-5, 4, "20B.yml"),
    "gpt3-125m": NeoXShape(12, 768, 12, 6.0e-4, 4, "125M.yml", family=GPT3),
    "gpt3-350m": NeoXShape(24, 1024, 16, 3.0e-4, 4, "350M.yml", family=GPT3),
    "gpt3-760m": NeoXShape(24, 1536, 16, 2.5e-4, 4, "760M.yml", family=GPT3),
    "gpt3-1.3b": NeoXShape(24, 2048, 16, 2.0e-4, 4, "1-3B.yml", family=GPT3),
    "gpt3-2.7b": NeoXShape(32, 2560, 32, 1.6e-4, 4, "2-7B.yml", family=GPT3),
    "gpt3-6.7b": NeoXShape(32, 4096, 32, 1.2e-4, 4, "6-7B.yml", family=GPT3),
    "gpt3-13b": NeoXShape(40, 5120, 40, 1.0e-4, 4, "13B.yml", family=GPT3),
    "gpt3-175b": NeoXShape(96, 12288, 96, 6.0e-5, 4, "175B.yml", family=GPT3),
    "llama2-7b": of_checkpoint("llama-2-7b", 2.0e-4, 4, "llama2/7B.yml", family=LLAMA, intermediate=32768),
    "llama2-13b": of_checkpoint("llama-2-13b", 2.0e-4, 4, "llama2/13B.yml", family=LLAMA, intermediate=41472),
    "llama2-70b": of_checkpoint("llama-2-70b", 2.0e-4, 4, "llama2/70B.yml", family=LLAMA, kv_heads=8, intermediate=86016),
}


def files(job: JobSpec, folder: str = "", *, with_cluster: bool = False) -> Generated:
    """One file, or two: the model and its training, and the paths and nodes of this cluster; no key is in both."""
    rows, shape, chosen = model_rows(job)
    nodes, output = choices.nodes(job), job.output_dir or "checkpoints"
    hostfile = "hostfile" if nodes > 1 else None
    of_cluster: list[Row] = [
        "Paths",
        ("data_path", "data/enwik8/enwik8_text_document", "what prepare_data.py makes; without .bin and .idx"),
        *TOKENIZERS[shape.family].items(),
        ("save", output),
        ("load", output, "continues from the last checkpoint, or starts without one"),
        ("hostfile", hostfile, f"a line for each of the {nodes} nodes: NAME slots={job.needed_gpus() // nodes}"),
    ]
    made = [main_file(KIND, MODEL, job, rows if with_cluster else [*rows, *of_cluster])]
    if with_cluster:
        made.append(GeneratedFile(CLUSTER, KIND, Keys.of(*of_cluster), (f"Paths and nodes of this cluster; the model is in {MODEL}.",)))
    epochs = choices.epochs_of(job, chosen.split, seq_length=job.seq_length or shape.seq_length)
    names = " ".join(path_in(folder, file.name) for file in made)
    return Generated(made, chosen.split, (chosen.equation, *epochs, f"start it with: python deepy.py train.py {names}"))


def model_rows(job: JobSpec) -> tuple[list[Row], NeoXShape, Chosen]:
    shape = shape_of(job)
    check_sizes(shape, job)
    chosen = choices.batch(job, (shape.micro_batch, f"as in configs/{shape.source}"))
    rows = [
        *layout(job),
        "Model",
        ("num_layers", shape.layers, f"configs/{shape.source}" if job.model else ""),
        ("hidden_size", shape.hidden),
        ("num_attention_heads", shape.heads),
        ("num_kv_heads", shape.kv_heads),
        ("intermediate_size", shape.intermediate, "before a gate takes its two thirds"),
        ("seq_length", job.seq_length or shape.seq_length),
        ("max_position_embeddings", job.seq_length or shape.seq_length, "not below seq_length"),
        *FAMILIES[shape.family].items(),
        ("output_layer_parallelism", "column"),
        ("attention_config", [[["flash"], shape.layers]], "needs the flash-attn package; global does without"),
        ("init_method", "small_init"),
        ("output_layer_init_method", "wang_init"),
        "Batch and length",
        # the global batch follows from these two and the GPUs
        ("train_micro_batch_size_per_gpu", chosen.split.micro_batch, chosen.why),
        ("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable),
        *length(job, chosen, shape),
        "Optimizer",
        *optimizer(job, shape),
        ("seed", unless(default("seed"), job.seed)),
    ]
    return rows, shape, chosen


def shape_of(job: JobSpec) -> NeoXShape:
    """The sizes of the model, published or specified; learning rate and micro batch of specified sizes are those of the nearest model."""
    sizes = [name for name in MODEL_FACTS if getattr(job, name) is not None]
    if job.model is not None:
        if sizes:
            raise Contradiction(f"--model {job.model} already sets the sizes: remove {', '.join(map(flag, sizes))}")
        return published(job.model)
    if job.layers is None or job.hidden is None or job.heads is None:
        raise Contradiction(f"pass --model ({', '.join(SHAPES)}), or --model layers=N,hidden=N,heads=N")
    shape = NeoXShape(job.layers, job.hidden, job.heads, 0.0, 0, "", kv_heads=job.kv_heads)
    name = nearest(shape)
    known = SHAPES[name]
    shape.rate, shape.micro_batch = known.rate, known.micro_batch
    shape.source = f"{known.source}, {name}, the published size nearest to this one"
    return shape


def published(name: str) -> NeoXShape:
    """A shape by its name, in any case; raises Contradiction if there is none."""
    known = SHAPES.get(name.lower())
    if known is None:
        raise Contradiction(f"--model {name}: published shapes are {', '.join(SHAPES)}; or pass --model layers=N,hidden=N,heads=N")
    return known


def nearest(shape: NeoXShape) -> str:
    """The name of the Pythia model whose number of weights is nearest, as a ratio."""
    own = max(shape.weights, 1)
    names = [name for name, known in SHAPES.items() if known.family == PYTHIA]
    return min(names, key=lambda name: max(SHAPES[name].weights / own, own / SHAPES[name].weights))


def check_sizes(shape: NeoXShape, job: JobSpec) -> None:
    """Raise Contradiction for sizes that are not divisible by heads, stages and ranks, or that are incompatible with ZeRO."""
    ranks, stages = job.tensor_parallel or 1, job.pipeline_parallel or 1
    if shape.hidden % shape.heads:
        raise Contradiction(f"--model hidden={shape.hidden} is not divisible by heads={shape.heads}")
    if shape.kv_heads and shape.heads % shape.kv_heads:
        raise Contradiction(f"--model heads={shape.heads} is not divisible by kv-heads={shape.kv_heads}")
    for name, size in (("attention heads", shape.heads), ("key-value heads", shape.kv_heads or 0), ("hidden size", shape.hidden)):
        if size % ranks:
            raise Contradiction(f"--tp {ranks} does not divide the {name}, {size}")
    if shape.layers < stages:
        raise Contradiction(f"--pp {stages}: some stages would have none of the {shape.layers} layers")
    if (job.zero or 0) >= 2 and (ranks > 1 or stages > 1):
        raise Contradiction(f"--zero {job.zero} is incompatible with --tp and --pp (GPT-NeoX exits with status 0); use --zero 1")
    if job.offload and stages > 1:
        raise Contradiction("--offload is incompatible with the pipeline engine; remove --pp")
    if job.offload == "all":
        raise Contradiction("--offload-weights is not supported by GPT-NeoX; --offload moves the optimizer")


def layout(job: JobSpec) -> list[Row]:
    """Parallel sizes, ZeRO, memory and number format; 0 pipeline stages disable the pipeline engine."""
    stages, ranks = job.pipeline_parallel or 1, job.tensor_parallel or 1
    name, why = choices.precision(job)
    rows: list[Row] = ["GPUs"]
    if stages > 1:
        rows.append(("pipe_parallel_size", stages))
    elif (job.zero or 0) < 2 and not job.offload:
        rows.append(("pipe_parallel_size", 1, "the pipeline engine with one stage, as the published files have it"))
    else:
        rows.append(("pipe_parallel_size", 0, "no pipeline engine: ZeRO 2, 3 and offload are incompatible with it, and 1 would enable it"))
    rows += [
        ("model_parallel_size", ranks),
        # bfloat16 requires the section even at stage 0
        ("zero_optimization.stage", 1 if job.zero is None else job.zero, "as the published files have it" if job.zero is None else ""),
        ("zero_optimization.offload_optimizer.device", "cpu" if job.offload else None),
    ]
    if job.checkpointing is not False:  # as in every published config
        partitioned = True if ranks > 1 else None
        rows += [
            ("checkpoint_activations", True, "recomputes activations: less memory, about a third more compute"),
            ("partition_activations", partitioned, "each rank stores its part of the activations"),
        ]
    if name == "bf16":
        accumulated = None if job.zero == 0 else "fp32"
        rows += [
            ("precision", "bfloat16", why),
            ("data_types.grad_accum_dtype", accumulated, "many small gradients do not add up in bfloat16"),
        ]
    elif name == "fp16":
        rows += [("fp16.enabled", True), ("fp16.loss_scale", 0, "0: the scale follows the overflows")]
    return rows


def optimizer(job: JobSpec, shape: NeoXShape) -> list[Row]:
    name = job.optimizer or "adamw"
    spelled = job.replace(optimizer=name).choose("optimizer", OPTIMIZERS, "GPT-NeoX")
    if job.offload and name != "adamw":
        raise Contradiction(f"--optimizer {name} does not support --offload: GPT-NeoX's only CPU optimizer is Adam")
    rate, why_rate = choices.rate(job, lambda _: (shape.rate, f"configs/{shape.source}"))
    is_adam, decay = name == "adamw", job.scheduler or "cosine"
    betas, why_betas = ([*BETAS] if is_adam else None), "as the published files have it"
    if job.beta1 is not None and job.beta2 is not None:
        betas, why_betas = [job.beta1, job.beta2], ""
    lowest, why_lowest = job.min_learning_rate, ""
    if lowest is None:
        lowest, why_lowest = FLOOR * rate, "a tenth of lr, as the published files have it"
    clip = choices.CLIPPING if job.clipping is None else job.clipping
    return [
        ("optimizer.type", "cpu_adam" if job.offload else spelled, "with decoupled weight decay, as AdamW" if is_adam else ""),
        ("optimizer.params.lr", rate, why_rate),
        ("optimizer.params.betas", betas, why_betas),
        ("optimizer.params.eps", (1.0e-8 if job.epsilon is None else job.epsilon) if is_adam else None),
        ("weight_decay", unless(default("weight_decay"), job.weight_decay)),
        ("lr_decay_style", decay),
        ("min_lr", None if decay == "constant" else float(f"{lowest:.6g}"), why_lowest),
        ("deepspeed_extra_args.gradient_clipping", clip, "a plain gradient_clipping of 1.0 is dropped as a default, and nothing clips"),
    ]


def length(job: JobSpec, chosen: Chosen, shape: NeoXShape) -> list[Row]:
    split = chosen.split
    total, why = choices.total_steps(job, split.global_batch, job.seq_length or shape.seq_length)
    row: Row = ("train_iters", total, why)
    if total is None:
        if job.epochs is None:
            raise Contradiction("GPT-NeoX has no default length: pass --steps, --tokens or --epochs")
        if job.epochs % 1:
            raise Contradiction(f"--epochs {job.epochs}: GPT-NeoX requires an integer number of epochs; or pass --steps or --tokens")
        row = ("train_epochs", int(job.epochs), "of packed data; train_iters follows from the length of the data")
        if job.num_examples is not None:
            total = steps.neox_train_iters(job.num_examples, split.micro_batch, split.data_parallel, split.accumulation, int(job.epochs))
    return [
        row,
        ("warmup", *warmup(job, total)),
        ("checkpoint_factor", job.save_steps or 1000, "" if job.save_steps else "iterations; as Pythia has it"),
        ("log_interval", unless(default("log_interval"), job.logging_steps)),
    ]


def warmup(job: JobSpec, total: int | None) -> tuple[float, str]:
    """(fraction of the run, reason); steps are converted to a fraction that gives exactly this number."""
    if job.warmup is None:
        return WARMUP, "a fraction of the run; GPT-NeoX's own default"
    if job.warmup < 1:
        return float(job.warmup), "a fraction of the run"
    steps_of_it = int(job.warmup)
    choices.fitting_warmup(steps_of_it, total)
    if total is None:
        raise Contradiction(f"--warmup {steps_of_it} is written as a fraction of the run: pass --steps, --tokens or --num-examples too")
    return fraction(steps_of_it, total), f"a fraction of the run: {steps_of_it} of {total} iterations"


def fraction(part: int, total: int) -> float:
    """The fraction that gives the part when multiplied by the total, or the smallest one above it if no float is exact.

    GPT-NeoX compares steps with the product, so that with a smaller fraction a step would be missing.
    """
    near = part / total
    candidates = (near, nextafter(near, 0), nextafter(near, 1))
    return min((candidate for candidate in candidates if candidate * total >= part), key=lambda candidate: candidate * total)


def read(existing: Existing, config: Any) -> None:
    for fact, key in MODEL_FACTS.items():
        existing.number(fact, config, key, least=1)
    existing.number("seq_length", config, "seq_length", least=1)
    for key in ("max_position_embeddings", "pipe_parallel_size", "model_parallel_size"):
        existing.use(config, key)
    existing.number("steps", config, "train_iters", least=1)
    existing.number("epochs", config, "train_epochs", least=1)
    existing.number("save_steps", config, "checkpoint_factor", least=1)
    existing.number("logging_steps", config, "log_interval", least=1)
    existing.number_or_default("seed", config, "seed", least=1)
    if config.argument("checkpoint_activations") is True:
        existing.take("checkpointing", config, "checkpoint_activations", value=True)
    if isinstance(config.get("save"), str):
        existing.take("output_dir", config, "save", value=config.get("save"))
    derived = config.derived
    existing.take("precision", config, "precision", value={"bfloat16": "bf16"}.get(derived.precision, derived.precision))
    for section in ("fp16", "bf16"):
        existing.use(config, section, "enabled")
    if derived.zero_stage is not None:
        existing.take("zero", config, "zero_optimization", "stage", value=derived.zero_stage)
    optimizers = {spelled.lower(): fact for fact, spelled in OPTIMIZERS.items()}
    existing.take("optimizer", config, "optimizer", "type", value=optimizers.get(derived.optimizer_name))
    existing.number("learning_rate", config, "optimizer", "params", "lr", default=1.0e-3)
    read_optimizer_numbers(existing, config, weight_decay=config.default(("weight_decay",), None))
    existing.number_or_default("weight_decay", config, "weight_decay")
    existing.number_or_default("clipping", config, "gradient_clipping")
    existing.number("clipping", config, "deepspeed_extra_args", "gradient_clipping")
    style = config.argument("lr_decay_style")
    existing.take("scheduler", config, "lr_decay_style", value=style if style in ("linear", "cosine", "constant") else None)
    existing.number_or_default("min_learning_rate", config, "min_lr")
    existing.number_or_default("warmup", config, "warmup")
    if config.get("lr_decay_iters") == config.get("train_iters"):
        existing.use(config, "lr_decay_iters")


GENERATOR = Generator(
    makes="the file of GPT-NeoX: model, data and training",
    takes=TRAINING.union(("model", *MODEL_FACTS, *PARALLEL, "seed", "checkpointing", "save_steps", "output_dir", "min_learning_rate")),
    generate=files,
    files_of_run=partial(files, with_cluster=True),
    read=read,
)
