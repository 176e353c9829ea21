"""Generates GPT-NeoX configs: a single file, or a model file and a cluster file."""

from __future__ import annotations

from math import floor, nextafter

from cfglint.batch import steps
from cfglint.frameworks.neox.fields import default
from cfglint.generators import choices, neox_shapes, refuse_beyond
from cfglint.generators.choices import Choice, Chosen
from cfglint.generators.convert import of_neox
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import PARALLEL, SIZES, TRAINING, Contradiction, JobSpec, flag
from cfglint.generators.neox_shapes import NeoXShape

KIND = "neox"
MODEL = "model.yml"  # the launcher adds .yml to any other ending
CLUSTER = "cluster.yml"
OPTIMIZERS = {"adamw": "Adam", "lion": "Lion"}
DECAY = "cosine"
FLOOR = 0.1
WARMUP = 0.01
BETAS = (0.9, 0.95)
CHECKPOINTS = 1000
MODEL_FACTS = (*SIZES, "kv_heads")
TAKES = TRAINING.union(("model", *MODEL_FACTS, *PARALLEL, "seed", "checkpointing", "save_steps", "output_dir", "min_learning_rate"))


def single_file(job: JobSpec, folder: str = "") -> Generated:
    """One file with all settings."""
    model, shape, chosen = model_keys(job)
    cluster_keys(model, job, shape)
    return Generated(
        [GeneratedFile(MODEL, KIND, model, (choices.made_for(job),))], chosen.split, notes(job, chosen, path_in(folder, MODEL))
    )


def model_and_cluster_files(job: JobSpec, folder: str = "") -> Generated:
    """Two files: the model and its training, and the paths and nodes of this cluster; no key is in both files."""
    model, shape, chosen = model_keys(job)
    cluster = Keys()
    cluster_keys(cluster, job, shape)
    head = ("Paths and nodes of this cluster; the model is in " + MODEL + ".",)
    files = [GeneratedFile(MODEL, KIND, model, (choices.made_for(job),)), GeneratedFile(CLUSTER, KIND, cluster, head)]
    return Generated(files, chosen.split, notes(job, chosen, f"{path_in(folder, MODEL)} {path_in(folder, CLUSTER)}"))


def notes(job: JobSpec, chosen: Chosen, names: str) -> tuple[str, ...]:
    """The facts that the files cannot contain."""
    epochs = choices.epochs_of(job, chosen.split, seq_length=job.seq_length or shape_of(job).seq_length)
    return (chosen.equation, *epochs, f"start it with: python deepy.py train.py {names}")


def model_keys(job: JobSpec) -> tuple[Keys, NeoXShape, Chosen]:
    """The keys for layout, sizes, batch, optimizer and length of the run."""
    refuse_beyond(job, KIND)
    shape = shape_of(job)
    check_sizes(shape, job)
    chosen = choices.batch(job, Choice(shape.micro_batch, f"as in configs/{shape.source}"))
    keys = Keys()
    keys.begin("GPUs")
    layout(keys, job)
    zero(keys, job)
    memory(keys, job)
    precision(keys, job)
    keys.begin("Model")
    sizes(keys, job, shape)
    keys.begin("Batch and length")
    batch(keys, chosen)
    length(keys, job, chosen, shape)
    keys.begin("Optimizer")
    optimizer(keys, job, shape)
    keys.add_known("seed", job.seed, default=default("seed"))
    return keys, shape, chosen


def shape_of(job: JobSpec) -> NeoXShape:
    """The sizes of the model, published or specified; learning rate and micro batch of specified sizes are those of the nearest model."""
    given = [name for name in MODEL_FACTS if getattr(job, name) is not None]
    if job.model is not None:
        if given:
            raise Contradiction(f"--model {job.model} already sets the sizes: remove {', '.join(map(flag, given))}")
        return neox_shapes.published(job.model)
    if job.layers is None or job.hidden is None or job.heads is None:
        raise Contradiction(f"pass --model ({', '.join(neox_shapes.SHAPES)}), or --model layers=N,hidden=N,heads=N")
    shape = NeoXShape(job.layers, job.hidden, job.heads, 0.0, 0, "", kv_heads=job.kv_heads)
    name = neox_shapes.nearest(shape)
    known = neox_shapes.SHAPES[name]
    shape.rate, shape.micro_batch = known.rate, known.micro_batch
    shape.source = f"{known.source}, {name}, the published size nearest to this one"
    return shape


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


def layout(keys: Keys, job: JobSpec) -> None:
    """Add pipeline and tensor parallel sizes; in GPT-NeoX 0 pipeline stages disable the pipeline engine."""
    stages = job.pipeline_parallel or 1
    engine = stages > 1 or ((job.zero or 0) < 2 and not job.offload)
    keys.add("pipe_parallel_size", stages if engine else 0, "" if stages > 1 else why_stages(engine))
    keys.add("model_parallel_size", job.tensor_parallel or 1)


def why_stages(engine: bool) -> str:
    """The meaning of 1 and 0 pipeline stages."""
    if engine:
        return "the pipeline engine with one stage, as the published files have it"
    return "no pipeline engine: ZeRO 2, 3 and offload are incompatible with it, and 1 would enable it"


def sizes(keys: Keys, job: JobSpec, shape: NeoXShape) -> None:
    """Add the sizes of the model."""
    length_ = job.seq_length or shape.seq_length
    keys.add("num_layers", shape.layers, f"configs/{shape.source}" if job.model else "")
    keys.add("hidden_size", shape.hidden)
    keys.add("num_attention_heads", shape.heads)
    keys.add_known("num_kv_heads", shape.kv_heads)
    keys.add_known("intermediate_size", shape.intermediate, "before a gate takes its two thirds")
    keys.add("seq_length", length_)
    keys.add("max_position_embeddings", length_, "not below seq_length")
    for name, value in neox_shapes.FAMILIES[shape.family].items():
        keys.add(name, value)
    keys.add("output_layer_parallelism", "column")
    keys.add("attention_config", [[["flash"], shape.layers]], "needs the flash-attn package; global does without")
    keys.add("init_method", "small_init")
    keys.add("output_layer_init_method", "wang_init")


def batch(keys: Keys, chosen: Chosen) -> None:
    """Add micro batch and accumulation; the global batch follows from them and the GPUs."""
    keys.add("train_micro_batch_size_per_gpu", chosen.split.micro_batch, chosen.why)
    keys.add("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable)


def optimizer(keys: Keys, job: JobSpec, shape: NeoXShape) -> None:
    """Add optimizer, rate and decay."""
    name = job.optimizer or "adamw"
    spelled = job.replace(optimizer=name).choose("optimizer", OPTIMIZERS, "GPT-NeoX")
    if job.offload and name != "adamw":
        raise Contradiction(f"--optimizer {name} does not support --offload: GPT-NeoX's only CPU optimizer is Adam")
    rate = shape.rate if job.learning_rate is None else job.learning_rate
    keys.add("optimizer.type", "cpu_adam" if job.offload else spelled, "with decoupled weight decay, as AdamW" if name == "adamw" else "")
    keys.add("optimizer.params.lr", rate, f"configs/{shape.source}" if job.learning_rate is None else "")
    if job.beta1 is not None and job.beta2 is not None:
        keys.add("optimizer.params.betas", [job.beta1, job.beta2])
    elif name == "adamw":
        keys.add("optimizer.params.betas", [*BETAS], "as the published files have it")
    if name == "adamw":
        keys.add("optimizer.params.eps", 1.0e-8 if job.epsilon is None else job.epsilon)
    keys.add_known("weight_decay", job.weight_decay, default=default("weight_decay"))
    shape_of_decay = job.scheduler or DECAY
    keys.add("lr_decay_style", shape_of_decay)
    if shape_of_decay != "constant":
        lowest = FLOOR * rate if job.min_learning_rate is None else job.min_learning_rate
        keys.add("min_lr", float(f"{lowest:.6g}"), "a tenth of lr, as the published files have it" if job.min_learning_rate is None else "")
    clip = choices.CLIPPING if job.clipping is None else job.clipping
    keys.add("deepspeed_extra_args.gradient_clipping", clip, "a plain gradient_clipping of 1.0 is dropped as a default, and nothing clips")


def zero(keys: Keys, job: JobSpec) -> None:
    """Add the section that bfloat16 requires even at stage 0."""
    stage = 1 if job.zero is None else job.zero
    keys.add("zero_optimization.stage", stage, "as the published files have it" if job.zero is None else "")
    if job.offload:
        keys.add("zero_optimization.offload_optimizer.device", "cpu")


def precision(keys: Keys, job: JobSpec) -> None:
    """Add the number format."""
    name, why = choices.precision(job)
    if name == "bf16":
        keys.add("precision", "bfloat16", why)
        if job.zero != 0:
            keys.add("data_types.grad_accum_dtype", "fp32", "many small gradients do not add up in bfloat16")
    elif name == "fp16":
        keys.add("fp16.enabled", True)
        keys.add("fp16.loss_scale", 0, "0: the scale follows the overflows")


def length(keys: Keys, job: JobSpec, chosen: Chosen, shape: NeoXShape) -> None:
    """Add iterations or epochs, and the warm-up fraction."""
    seq_length = job.seq_length or shape.seq_length
    total = choices.total_steps(job, chosen.split.global_batch, seq_length)
    if total is not None:
        keys.add("train_iters", total, choices.why_steps(job, chosen.split.global_batch, seq_length))
    elif job.epochs is None:
        raise Contradiction("GPT-NeoX has no default length: pass --steps, --tokens or --epochs")
    elif job.epochs % 1:
        raise Contradiction(f"--epochs {job.epochs}: GPT-NeoX requires an integer number of epochs; or pass --steps or --tokens")
    else:
        keys.add("train_epochs", int(job.epochs), "of packed data; train_iters follows from the length of the data")
        total = planned(job, chosen)
    keys.add("warmup", *warmup(job, total))
    keys.add("checkpoint_factor", job.save_steps or CHECKPOINTS, "" if job.save_steps else "iterations; as Pythia has it")
    keys.add_known("log_interval", job.logging_steps, default=default("log_interval"))


def planned(job: JobSpec, chosen: Chosen) -> int | None:
    """The number of iterations of a run in epochs, if the number of packed samples is known."""
    if job.num_examples is None or job.epochs is None:
        return None
    split = chosen.split
    return steps.neox_train_iters(job.num_examples, split.micro_batch, split.data_parallel, split.accumulation, int(job.epochs))


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


def memory(keys: Keys, job: JobSpec) -> None:
    """Add gradient checkpointing, as in every published config."""
    if job.checkpointing is not False:
        keys.add("checkpoint_activations", True, "recomputes activations: less memory, about a third more compute")
        if (job.tensor_parallel or 1) > 1:
            keys.add("partition_activations", True, "each rank stores its part of the activations")


def cluster_keys(keys: Keys, job: JobSpec, shape: NeoXShape) -> None:
    """The keys for paths, tokenizer and machines."""
    keys.begin("Paths")
    keys.add("data_path", "data/enwik8/enwik8_text_document", "what prepare_data.py makes; without .bin and .idx")
    for name, value in neox_shapes.TOKENIZERS[shape.family].items():
        keys.add(name, value)
    keys.add("save", job.output_dir or "checkpoints")
    keys.add("load", job.output_dir or "checkpoints", "continues from the last checkpoint, or starts without one")
    if choices.nodes(job) > 1:
        each = floor(job.needed_gpus() / choices.nodes(job))
        keys.add("hostfile", "hostfile", f"a line for each of the {choices.nodes(job)} nodes: NAME slots={each}")


GENERATOR = Generator(
    makes="the file of GPT-NeoX: model, data and training",
    takes=TAKES,
    generate=single_file,
    files_of_run=model_and_cluster_files,
    read=of_neox,
)
