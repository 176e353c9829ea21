"""The part of `explain` about a verl run."""

from __future__ import annotations

from cfglint.frameworks.summary import BATCH, EXAMPLES, LAUNCH, LENGTH, PRECISION, RATE, Summary
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.sizes import DYNAMIC, MINI, NODES, PER_NODE, ROLLOUT, SAMPLES, STRATEGY, uses_critic, uses_reference

SETTINGS = (
    (LAUNCH, "nodes", NODES),
    (LAUNCH, "GPUs per node", PER_NODE),
    (LAUNCH, "strategy", STRATEGY),
    (LAUNCH, "rollout engine", f"{ROLLOUT}.name"),
    (LAUNCH, "rollout tensor parallel", f"{ROLLOUT}.tensor_model_parallel_size"),
    (LAUNCH, "advantage estimator", "algorithm.adv_estimator"),
    (BATCH, "samples per prompt", SAMPLES),
    (BATCH, "mini batch (prompts)", MINI),
    (BATCH, "dynamic batch sizes", DYNAMIC),
    (RATE, "learning rate", "actor_rollout_ref.actor.optim.lr"),
    (PRECISION, "prompt length", "data.max_prompt_length"),
    (PRECISION, "response length", "data.max_response_length"),
    (PRECISION, "GPU memory of the rollout", f"{ROLLOUT}.gpu_memory_utilization"),
)


def account(config: VerlConfig) -> Summary:
    summary, sizes = Summary(config.release), config.sizes
    for group, label, key in SETTINGS if config.origins else ():
        summary.add(group, label, config.setting(key))
    per_gpu = "mini batch x samples per prompt / data parallel"
    summary.derive(BATCH, "samples per step", "samples_per_step", sizes.step_samples, "prompts x samples per prompt")
    summary.derive(BATCH, "mini batch per GPU", "mini_batch_per_gpu", sizes.mini_per_gpu, per_gpu)
    summary.derive(BATCH, "updates per step", "updates_per_step", sizes.updates, "samples per step / mini batch, each epoch")
    if sizes.padding:
        because = "synthetic, without loss, to complete the mini batches"
        summary.derive(BATCH, "padding samples", "padding_samples", sizes.padding, because)
    add_epochs(summary, config)
    needs = EXAMPLES if config.facts.num_examples is None else ""
    summary.derive(LENGTH, "steps per epoch", "steps_per_epoch", sizes.steps_per_epoch, "prompts / batch, rounded down", needs=needs)
    because = "steps per epoch x trainer.total_epochs"
    if config.value("trainer.total_training_steps") is not None:
        because, needs = "trainer.total_training_steps", ""
    summary.derive(LENGTH, "total steps", "total_steps", sizes.total_steps, because, needs=needs)
    for used, what, because in (
        (uses_critic(config.tree), "critic", "advantage estimator"),
        (uses_reference(config.tree), "reference policy", "KL terms"),
    ):
        if used is not None:
            summary.derive(LAUNCH, what, what.replace(" ", "_"), used, because)
    summary.assumed += [
        "the release's own config files are used, and its workers; rewards, data and Ray work",
        "memory is not estimated: the rollout engine, the weights that are synchronised to it, and the actor, reference and critic share"
        " the GPUs, each offloaded in turn",
    ]
    return summary


def add_epochs(summary: Summary, config: VerlConfig) -> None:
    """Add the epochs, where they and the data determine the steps."""
    if config.origins and config.value("trainer.total_training_steps") is None:
        summary.add(LENGTH, "epochs", config.setting("trainer.total_epochs"))
