"""Schedules, early stopping and the order of samples: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.checks_after.adapters import LORA
from cfglint.frameworks.axolotl.refusals import ADAPTER, SCHEDULE, AxolotlModel, excludes, requires

BY_STEPS = Releases((), (0, 12, 0))  # `relora_steps` turns ReLoRA on


def relora(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2217 does."""
    by_steps = model.release in BY_STEPS
    name = "relora_steps" if by_steps else "relora"
    if not getattr(model, name):
        return
    if not by_steps and not model.jagged_restart_steps:
        raise requires(ADAPTER, "relora", "jagged_restart_steps", "jagged_restart_steps must be set to use ReLoRA")
    if model.adapter not in LORA and not (model.adapter == "mora" or (model.adapter and model.foreign_plugins)):
        says = "cfg.adapter must support ReLoRA to use ReLoRA restart semantics"
        raise requires(ADAPTER, f"`{name}`", "`adapter: lora` or `qlora`", says)
    for key, holds, says in (
        ("fsdp", bool(model.fsdp), "fsdp not supported with ReLoRA"),
        ("fsdp_config", bool(model.fsdp_config) and not by_steps, "fsdp not supported with ReLoRA"),
        ("deepspeed", bool(model.deepspeed), "deepspeed not supported with ReLoRA"),
        ("lr_scheduler", model.lr_scheduler == "one_cycle", "ReLoRA is not compatible with the one_cycle scheduler"),
        ("flash_attn_fuse_mlp", bool(model.flash_attn_fuse_mlp), "Fused modules are not supported with ReLoRA"),
        ("flash_attn_fuse_qkv", bool(model.flash_attn_fuse_qkv), "Fused modules are not supported with ReLoRA"),
    ):
        if holds:
            raise excludes(ADAPTER, name, key, says)


def early_stopping(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2257 does."""
    if not model.early_stopping_patience:
        return
    if not model.save_steps or not model.eval_steps:
        says = "`early_stopping_patience` requires save_steps and eval_steps to be set. eval_steps should evenly divide save_steps."
        raise requires(
            SCHEDULE,
            "`early_stopping_patience`",
            "`save_steps` and `eval_steps`",
            says,
            at=("early_stopping_patience", "save_steps", "eval_steps"),
            remedy=(
                "set `save_steps` and `eval_steps` in place of `saves_per_epoch` and `evals_per_epoch`, or remove `early_stopping_patience`"
            ),
        )
    if model.save_steps % model.eval_steps != 0:
        says = "`early_stopping_patience` requires that eval_steps should evenly divide save_steps."
        raise requires(
            SCHEDULE,
            "`early_stopping_patience`",
            f"`save_steps` ({model.save_steps}) to be a multiple of `eval_steps` ({model.eval_steps})",
            says,
            at=("early_stopping_patience", "save_steps", "eval_steps"),
        )


def balanced_labels(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/config.py:1741 does."""
    key = "balance_labels"
    grouped = not model.sample_packing and (model.streaming or model.pretraining_dataset or model.group_by_length)
    rivals = ("sample_packing_sequentially", "curriculum_sampling", "diffusion_lm", "rl", "reward_model", "process_reward_model")
    rival = next((name for name in rivals if getattr(model, name)), "")
    if model.balance_labels and (grouped or rival):
        says = (
            "balance_labels requires causal LM sample_packing or map-style fixed-count batching without sequential, curriculum, or "
            "conflicting length-grouped sampling"
        )
        raise requires(
            SCHEDULE, f"`{key}`", "packed or fixed-size causal batches without other sampling", says, at=(key, rival or "group_by_length")
        )
    window = "label_balance_window_optim_steps"
    if model.label_balance_window_optim_steps > 1 and not model.balance_labels:
        raise requires(SCHEDULE, window, key, f"{window} requires {key}")
    if model.label_balance_window_optim_steps > 1 and (model.streaming or model.pretraining_dataset):
        raise excludes(SCHEDULE, f"{window} above 1", "streaming", f"{window} > 1 requires non-streaming training", at=(window,))
    if model.balance_labels and (model.accelerator_config or {}).get("split_batches"):
        says = "balance_labels requires split_batches=False for optimizer-step grouping"
        raise requires(SCHEDULE, key, "accelerator_config.split_batches: false", says)
