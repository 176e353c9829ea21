"""Preference and reinforcement learning: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import RL, SCHEDULE, AxolotlModel, excludes, requires


def vllm_mode(model: AxolotlModel) -> None:
    """Complete the values as utils/schemas/validation.py:2553 does."""
    if model.trl and model.trl["use_vllm"] and not model.trl["vllm_mode"]:
        model.trl["vllm_mode"] = "server"


def colocated_vllm(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2562 does."""
    trl = model.trl
    if not (trl and trl["use_vllm"] and trl["vllm_mode"] == "colocate"):
        return
    if (model.context_parallel_size or 1) > 1:
        says = "`vllm_mode: colocate` is not supported with `context_parallel_size > 1`. Use `vllm_mode: server` with a dedicated vLLM GPU."
        raise excludes(RL, "trl.vllm_mode: colocate", "context_parallel_size above 1", says)
    if trl["vllm_lora_sync"]:
        says = "`vllm_lora_sync: true` requires `vllm_mode: server` (adapters are pushed over HTTP to the vLLM server)."
        raise requires(RL, "trl.vllm_lora_sync", "trl.vllm_mode: server", says)
    asynchronous = next((key for key in ("async_prefetch", "use_data_producer") if trl[key]), "")
    if asynchronous and model.adapter:
        says = "`vllm_mode: colocate` with an adapter is not supported by the async GRPO trainer (`async_prefetch` / `use_data_producer`)"
        raise requires(
            RL,
            f"`trl.{asynchronous}` with an adapter",
            "`trl.vllm_mode: server`",
            says,
            at=(f"trl.{asynchronous}", "trl.vllm_mode", "adapter"),
        )


def ebft_reentrant(model: AxolotlModel) -> None:
    """Complete the values as utils/schemas/validation.py:2433 does."""
    strided = model.rl == "ebft" and model.ebft and model.ebft["mode"] == "strided"
    if strided and model.attn_implementation == "flex_attention" and model.gradient_checkpointing:
        model.gradient_checkpointing_kwargs = {**(model.gradient_checkpointing_kwargs or {}), "use_reentrant": True}


def ebft_offloading(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2458 does."""
    strided = model.rl == "ebft" and model.ebft and model.ebft["mode"] == "strided"
    if strided and model.activation_offloading is True and model.attn_implementation == "flex_attention":
        says = "EBFT strided mode: `activation_offloading: true` is incompatible with `attn_implementation: flex_attention`."
        raise excludes(RL, "activation_offloading", "attn_implementation: flex_attention", says, note=" in strided EBFT")


def preference_beta(model: AxolotlModel) -> None:
    """Complete the values as utils/schemas/validation.py:2202 does."""
    if model.dpo_beta and not model.rl_beta:
        model.rl_beta, model.dpo_beta = model.dpo_beta, None


def simpo_warmup(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2209 does."""
    if model.rl == "simpo" and model.warmup_ratio:
        says = "warmup_ratio is not supported with the simpo trainer. Please use `warmup_steps` instead"
        raise excludes(SCHEDULE, "warmup_ratio", "rl: simpo", says, remedy="use `warmup_steps`")
