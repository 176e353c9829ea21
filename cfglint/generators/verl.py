"""Generates a config of GRPO for verl's `main_ppo`, with what differs from the files of the package."""

from __future__ import annotations

from math import ceil

from cfglint.generators import choices, refuse_beyond
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, GeneratedFile, Keys
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.source.annotations import Any

KIND = "verl"
NAME = "grpo.yaml"
SAMPLES = 8  # completions of a prompt
PROMPTS = 256  # of a step, where nothing is asked for
MOST_OF_UPDATE = 64  # prompts of an update
USUAL_MICRO = 4
RATE = 1.0e-6
RANK = 32
PROMPT_LENGTH, RESPONSE_LENGTH = 1024, 2048
TAKES = frozenset(
    ("gpus", "gpus_per_node", "global_batch", "micro_batch", "max_micro_batch", "num_examples", "target"),
).union(("learning_rate", "epochs", "steps", "seq_length", "lora", "seed"))
ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
EPOCHS = 30


class StepSizes:
    """The sizes of a step: prompts, those of an update, and the samples that a GPU takes at once."""

    def __init__(self, job: JobSpec) -> None:
        gpus = job.needed_gpus()
        self.batch = job.global_batch or PROMPTS
        self.nodes = choices.nodes(job)
        if self.batch * SAMPLES % gpus:
            raise Unreachable(f"{self.batch} prompts x {SAMPLES} completions do not divide among {gpus} GPUs")
        minis = [each for each in range(1, self.batch + 1) if self.batch % each == 0 and each * SAMPLES % gpus == 0]
        self.mini = max((each for each in minis if each <= MOST_OF_UPDATE), default=min(minis))
        own = self.mini * SAMPLES // gpus
        most = job.micro_batch or job.max_micro_batch or USUAL_MICRO
        self.micro = max(each for each in range(1, min(most, own) + 1) if own % each == 0)
        if job.micro_batch is not None and self.micro != job.micro_batch:
            raise Unreachable(f"--micro-batch {job.micro_batch} does not divide the {own} samples of an update on each GPU")


def training(job: JobSpec, folder: str = "") -> Generated:
    """The config of a run of GRPO."""
    refuse_beyond(job, KIND)
    sizes, keys = StepSizes(job), Keys()
    keys.add("defaults", ["ppo_trainer", "_self_"], "the package's config, then the keys of this file")
    keys.add("hydra.searchpath", ["pkg://verl.trainer.config"], "where it is found")
    keys.add("algorithm.adv_estimator", "grpo", "the default, gae, trains a critic too")
    keys.add("data.train_files", "train.parquet", "replace")
    keys.add("data.val_files", "test.parquet", "replace")
    keys.add("data.train_batch_size", sizes.batch, f"prompts of a step; {SAMPLES} completions each")
    prompt = min(PROMPT_LENGTH, (job.seq_length or PROMPT_LENGTH + RESPONSE_LENGTH) // 2)
    keys.add("data.max_prompt_length", prompt)
    keys.add("data.max_response_length", job.seq_length - prompt if job.seq_length else RESPONSE_LENGTH)
    keys.add("actor_rollout_ref.model.path", "org/model", "replace with a model of the hub, or a folder")
    if job.lora:
        keys.add("actor_rollout_ref.model.lora_rank", RANK)
    keys.add(f"{ACTOR}.ppo_mini_batch_size", sizes.mini, f"prompts of an update: {sizes.batch // sizes.mini} updates in a step")
    keys.add(f"{ACTOR}.ppo_micro_batch_size_per_gpu", sizes.micro, "samples that a GPU takes at once")
    keys.add(f"{ACTOR}.optim.lr", job.learning_rate or RATE, "" if job.learning_rate else "verl's own default")
    keys.add(f"{ACTOR}.use_kl_loss", True, "as in the paper on GRPO (arXiv 2402.03300)")
    keys.add(f"{ROLLOUT}.name", "vllm", "has no default")
    keys.add(f"{ROLLOUT}.n", SAMPLES, "completions of a prompt; the default is 1, a group of one")
    keys.add(f"{ROLLOUT}.tensor_model_parallel_size", 1, "2 is the default, which one GPU or three do not divide into")
    keys.add(f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu", sizes.micro)
    keys.add("actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", sizes.micro)
    keys.add("trainer.nnodes", sizes.nodes)
    keys.add("trainer.n_gpus_per_node", job.needed_gpus() // sizes.nodes)
    per_epoch = job.num_examples // sizes.batch if job.num_examples else None
    if per_epoch == 0:
        raise Unreachable(f"{job.num_examples} examples are less than a step of {sizes.batch} prompts")
    epochs = job.epochs or (ceil(job.steps / per_epoch) if job.steps and per_epoch else None)
    if epochs is not None and epochs % 1:
        raise Contradiction(f"verl counts complete epochs, not {epochs:g}; pass --steps")
    keys.add_known("trainer.total_epochs", int(epochs) if epochs else None, default=EPOCHS)
    keys.add_known("trainer.total_training_steps", job.steps)
    keys.add_known("data.seed", job.seed)
    start = f"start it with: python3 -m verl.trainer.main_ppo --config-dir {folder or '.'} --config-name {NAME.removesuffix('.yaml')}"
    each = sizes.mini * SAMPLES // job.needed_gpus()
    equation = f"{sizes.batch} prompts x {SAMPLES} = {sizes.batch * SAMPLES} samples in a step; {each} in an update on each GPU"
    counted = [choices.length_of(job.steps or per_epoch * int(epochs or EPOCHS), job.num_examples or 0)] if per_epoch else []
    return Generated([GeneratedFile(NAME, KIND, keys, (choices.made_for(job),))], None, (equation, *counted, start))


def read(found: Existing, config: Any) -> None:
    """Read rate, length and steps of the actor."""
    tree = config.tree
    rate = tree.value(f"{ACTOR}.optim.lr")
    if isinstance(rate, (int, float)):
        found.take("learning_rate", config, *f"{ACTOR}.optim.lr".split("."), value=rate)
    epochs, steps = tree.integer("trainer.total_epochs"), tree.integer("trainer.total_training_steps")
    if steps is not None:
        found.take("steps", config, "trainer", "total_training_steps", value=steps)
    elif epochs is not None:
        found.take("epochs", config, "trainer", "total_epochs", value=float(epochs))


GENERATOR = Generator(
    makes="the file of verl's GRPO trainer",
    takes=TAKES,
    generate=training,
    read=read,
    usual_rate=lambda _: (RATE, "verl's own default"),
)
