"""Generates a config of GRPO for verl's `main_ppo`, with what differs from the files of the package."""

from __future__ import annotations

from math import ceil

from cfglint.generators import choices
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, Generator, Row, main_file
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.source.annotations import Any

KIND = "verl"
NAME = "grpo.yaml"
SAMPLES = 8  # completions of a prompt
PROMPTS = 256  # of a step, where nothing is asked for
MOST_OF_UPDATE = 64  # prompts of an update
USUAL_MICRO = 4
RATE = 1.0e-6
PROMPT_LENGTH, RESPONSE_LENGTH = 1024, 2048
EPOCHS = 30
ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"


def training(job: JobSpec, folder: str = "") -> Generated:
    gpus, nodes, batch = job.needed_gpus(), choices.nodes(job), job.global_batch or PROMPTS
    if batch * SAMPLES % gpus:
        raise Unreachable(f"{batch} prompts x {SAMPLES} completions do not divide among {gpus} GPUs")
    minis = [size for size in range(1, batch + 1) if batch % size == 0 and size * SAMPLES % gpus == 0]
    mini = max((size for size in minis if size <= MOST_OF_UPDATE), default=min(minis))
    per_gpu = mini * SAMPLES // gpus  # samples of an update
    most = job.micro_batch or job.max_micro_batch or USUAL_MICRO
    micro = max(size for size in range(1, min(most, per_gpu) + 1) if per_gpu % size == 0)
    if job.micro_batch is not None and micro != job.micro_batch:
        raise Unreachable(f"--micro-batch {job.micro_batch} does not divide the {per_gpu} samples of an update on each GPU")
    prompt = min(PROMPT_LENGTH, (job.seq_length or PROMPT_LENGTH + RESPONSE_LENGTH) // 2)
    per_epoch = job.num_examples // batch if job.num_examples else None
    if per_epoch == 0:
        raise Unreachable(f"{job.num_examples} examples are less than a step of {batch} prompts")
    epochs = job.epochs or (ceil(job.steps / per_epoch) if job.steps and per_epoch else None)
    if epochs is not None and epochs % 1:
        raise Contradiction(f"verl counts complete epochs, not {epochs:g}; pass --steps")
    rows: list[Row] = [
        ("defaults", ["ppo_trainer", "_self_"], "the package's config, then the keys of this file"),
        ("hydra.searchpath", ["pkg://verl.trainer.config"], "where it is found"),
        ("algorithm.adv_estimator", "grpo", "the default, gae, trains a critic too"),
        ("data.train_files", "train.parquet", "replace"),
        ("data.val_files", "test.parquet", "replace"),
        ("data.train_batch_size", batch, f"prompts of a step; {SAMPLES} completions each"),
        ("data.max_prompt_length", prompt),
        ("data.max_response_length", job.seq_length - prompt if job.seq_length else RESPONSE_LENGTH),
        ("actor_rollout_ref.model.path", "org/model", "replace with a model of the hub, or a folder"),
        ("actor_rollout_ref.model.lora_rank", 32 if job.lora else None),
        (f"{ACTOR}.ppo_mini_batch_size", mini, f"prompts of an update: {batch // mini} updates in a step"),
        (f"{ACTOR}.ppo_micro_batch_size_per_gpu", micro, "samples that a GPU takes at once"),
        (f"{ACTOR}.optim.lr", job.learning_rate or RATE, "" if job.learning_rate else "verl's own default"),
        (f"{ACTOR}.use_kl_loss", True, "as in the paper on GRPO (arXiv 2402.03300)"),
        (f"{ROLLOUT}.name", "vllm", "has no default"),
        (f"{ROLLOUT}.n", SAMPLES, "completions of a prompt; the default is 1, a group of one"),
        (f"{ROLLOUT}.tensor_model_parallel_size", 1, "2 is the default, which one GPU or three do not divide into"),
        (f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu", micro),
        ("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", micro),
        ("trainer.nnodes", nodes),
        ("trainer.n_gpus_per_node", gpus // nodes),
        ("trainer.total_epochs", choices.unless(EPOCHS, int(epochs) if epochs else None)),
        ("trainer.total_training_steps", job.steps),
        ("data.seed", job.seed),
    ]
    equation = f"{batch} prompts x {SAMPLES} = {batch * SAMPLES} samples in a step; {per_gpu} in an update on each GPU"
    counted = [choices.length_of(job.steps or per_epoch * int(epochs or EPOCHS), job.num_examples or 0)] if per_epoch else []
    start = f"start it with: python3 -m verl.trainer.main_ppo --config-dir {folder or '.'} --config-name {NAME.removesuffix('.yaml')}"
    return Generated([main_file(KIND, NAME, job, rows)], None, (equation, *counted, start))


def read(existing: Existing, config: Any) -> None:
    tree = config.tree
    rate = tree.value(f"{ACTOR}.optim.lr")
    if isinstance(rate, (int, float)):
        existing.take("learning_rate", config, *f"{ACTOR}.optim.lr".split("."), value=rate)
    epochs, steps = tree.integer("trainer.total_epochs"), tree.integer("trainer.total_training_steps")
    if steps is not None:
        existing.take("steps", config, "trainer", "total_training_steps", value=steps)
    elif epochs is not None:
        existing.take("epochs", config, "trainer", "total_epochs", value=float(epochs))


GENERATOR = Generator(
    makes="the file of verl's GRPO trainer",
    takes=frozenset(
        ("gpus", "gpus_per_node", "global_batch", "micro_batch", "max_micro_batch", "num_examples", "target"),
    ).union(("learning_rate", "epochs", "steps", "seq_length", "lora", "seed")),
    generate=training,
    read=read,
    usual_rate=lambda _: (RATE, "verl's own default"),
)
