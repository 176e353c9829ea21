"""The part of `explain` about a verl run."""

from __future__ import annotations

from cfglint.frameworks.summary import BATCH as BATCH_GROUP
from cfglint.frameworks.summary import EXAMPLES, LAUNCH, LENGTH, PRECISION, RATE, Summary
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.sizes import ACTOR, MINI, ROLLOUT, SAMPLES, STRATEGY, uses_critic, uses_reference

SETTINGS = (
    (LAUNCH, "nodes", "trainer.nnodes"),
    (LAUNCH, "GPUs per node", "trainer.n_gpus_per_node"),
    (LAUNCH, "strategy", STRATEGY),
    (LAUNCH, "rollout engine", f"{ROLLOUT}.name"),
    (LAUNCH, "rollout tensor parallel", f"{ROLLOUT}.tensor_model_parallel_size"),
    (LAUNCH, "advantage estimator", "algorithm.adv_estimator"),
    (BATCH_GROUP, "samples per prompt", SAMPLES),
    (BATCH_GROUP, "mini batch (prompts)", MINI),
    (BATCH_GROUP, "dynamic batch sizes", f"{ACTOR}.use_dynamic_bsz"),
    (RATE, "learning rate", f"{ACTOR}.optim.lr"),
    (PRECISION, "prompt length", "data.max_prompt_length"),
    (PRECISION, "response length", "data.max_response_length"),
    (PRECISION, "GPU memory of the rollout", f"{ROLLOUT}.gpu_memory_utilization"),
)
NO_MEMORY = (
    "memory is not estimated: the rollout engine, the weights that are synchronised to it, and the actor, reference and critic share the"
    " GPUs, each offloaded in turn"
)


def account(config: VerlConfig) -> Summary:
    """The lines about launch, samples, length and learning rate."""
    summary = Summary(config.release)
    for group, label, key in SETTINGS:
        if config.origins:
            summary.add(group, label, config.setting(key))
    samples(config, summary)
    length(config, summary)
    for used, what in ((uses_critic(config.tree), "critic"), (uses_reference(config.tree), "reference policy")):
        if used is not None:
            summary.derive(LAUNCH, what, what.replace(" ", "_"), used, "advantage estimator" if what == "critic" else "KL terms")
    summary.assumed.append("the release's own config files are used, and its workers; rewards, data and Ray work")
    summary.assumed.append(NO_MEMORY)
    return summary


def samples(config: VerlConfig, summary: Summary) -> None:
    """Add the samples of a step and of an update."""
    sizes = config.sizes
    summary.derive(BATCH_GROUP, "samples per step", "samples_per_step", sizes.step_samples, "prompts x samples per prompt")
    summary.derive(
        BATCH_GROUP, "mini batch per GPU", "mini_batch_per_gpu", sizes.mini_per_gpu(), "mini batch x samples per prompt / data parallel"
    )
    summary.derive(BATCH_GROUP, "updates per step", "updates_per_step", sizes.updates, "samples per step / mini batch, each epoch")
    if sizes.padding:
        summary.derive(
            BATCH_GROUP, "padding samples", "padding_samples", sizes.padding, "synthetic, without loss, to complete the mini batches"
        )


def length(config: VerlConfig, summary: Summary) -> None:
    """Add the steps."""
    sizes = config.sizes
    needs = EXAMPLES if config.facts.num_examples is None else ""
    because = "prompts / batch, rounded down"
    summary.derive(LENGTH, "steps per epoch", "steps_per_epoch", sizes.steps_per_epoch, because, needs=needs)
    given = config.value("trainer.total_training_steps") is not None
    because = "trainer.total_training_steps" if given else "steps per epoch x trainer.total_epochs"
    summary.derive(LENGTH, "total steps", "total_steps", sizes.total_steps, because, needs="" if given else needs)
