"""The part of `explain` about a run of OpenRLHF."""

from __future__ import annotations

from cfglint.frameworks.openrlhf.batch import Sizes, counts_loader, numbers
from cfglint.frameworks.openrlhf.config import OpenRlhfConfig
from cfglint.frameworks.summary import BATCH, EXAMPLES, LAUNCH, LENGTH, PRECISION, RATE, Summary, launched

SETTINGS = (
    (LAUNCH, "ring attention", "ring_attn_size"),
    (LAUNCH, "tensor parallel", "ds_tensor_parallel_size"),
    (LAUNCH, "vLLM engines", "vllm_num_engines"),
    (LAUNCH, "GPUs of an engine", "vllm_tensor_parallel_size"),
    (BATCH, "prompts of a rollout", "rollout_batch_size"),
    (BATCH, "samples per prompt", "n_samples_per_prompt"),
    (BATCH, "rollout micro batch", "micro_rollout_batch_size"),
    (LENGTH, "row length", "max_len"),
    (LENGTH, "epochs", "max_epochs"),
    (LENGTH, "episodes", "num_episodes"),
    (RATE, "learning rate", "learning_rate"),
    (RATE, "learning rate (actor)", "actor_learning_rate"),
    (RATE, "learning rate (critic)", "critic_learning_rate"),
    (RATE, "schedule", "lr_scheduler"),
    (RATE, "warm-up ratio", "lr_warmup_ratio"),
    (RATE, "weight decay", "l2"),
    (RATE, "gradient clipping", "max_norm"),
    (PRECISION, "ZeRO stage", "zero_stage"),
    (PRECISION, "precision", "param_dtype"),
    (PRECISION, "Adam on CPU", "adam_offload"),
)


def account(config: OpenRlhfConfig) -> Summary:
    summary = launched(config.facts.launch)
    summary.package = config.release
    settings = [(group, label, config.key(role)) for group, label, role in SETTINGS]
    for group, label, key in (*settings, (PRECISION, "bf16", "bf16")):
        if key in config.known and config.knows(key):
            summary.add(group, label, config.setting(key))
    prompts, each, total = config.integer("rollout_batch_size"), config.integer("n_samples_per_prompt"), Sizes(config).total
    if config.uses_ray and prompts and each:
        summary.derive(BATCH, "samples of a rollout", "samples_per_rollout", prompts * each, "prompts x samples per prompt")
        updates = prompts * each // total if total and prompts * each % total == 0 else None
        summary.derive(BATCH, "updates of a rollout", "updates_per_rollout", updates, "samples / global batch")
    needs = EXAMPLES if config.facts.num_examples is None else ""
    found = numbers(config)
    if not config.uses_ray:
        because = "micro batches of a process / accumulation" if counts_loader(config) else "samples / global batch"
        for name in ("steps_per_epoch", "total_steps"):
            summary.derive(LENGTH, name.replace("_", " "), name, found[name], because, needs=needs)
    else:
        summary.assumed.append("the number of GPUs is that of the actor, whose processes Ray starts; other roles may have their own")
    return summary
