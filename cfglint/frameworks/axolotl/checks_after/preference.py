"""Preference and reinforcement learning: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import RL, SCHEDULE, Model, Refusal


def vllm_mode(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2553 does."""
    if model.trl and model.trl["use_vllm"] and not model.trl["vllm_mode"]:
        model.trl["vllm_mode"] = "server"


def colocated_vllm(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2562 does."""
    trl = model.trl
    if not (trl and trl["use_vllm"] and trl["vllm_mode"] == "colocate"):
        return
    if (model.context_parallel_size or 1) > 1:
        raise Refusal(
            RL,
            ("trl.vllm_mode", "context_parallel_size"),
            "`trl.vllm_mode: colocate` is incompatible with `context_parallel_size` above 1",
            "`vllm_mode: colocate` is not supported with `context_parallel_size > 1`. Use `vllm_mode: server` with a dedicated vLLM GPU.",
        )
    if trl["vllm_lora_sync"]:
        raise Refusal(
            RL,
            ("trl.vllm_lora_sync", "trl.vllm_mode"),
            "`trl.vllm_lora_sync` requires `vllm_mode: server`",
            "`vllm_lora_sync: true` requires `vllm_mode: server` (adapters are pushed over HTTP to the vLLM server).",
        )
    asynchronous = next((key for key in ("async_prefetch", "use_data_producer") if trl[key]), "")
    if asynchronous and model.adapter:
        raise Refusal(
            RL,
            (f"trl.{asynchronous}", "trl.vllm_mode", "adapter"),
            f"`trl.{asynchronous}` with an adapter requires `vllm_mode: server`",
            "`vllm_mode: colocate` with an adapter is not supported by the async GRPO trainer (`async_prefetch` / `use_data_producer`)",
        )


def ebft_reentrant(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2433 does."""
    strided = model.rl == "ebft" and model.ebft and model.ebft["mode"] == "strided"
    if strided and model.attn_implementation == "flex_attention" and model.gradient_checkpointing:
        model.gradient_checkpointing_kwargs = {**(model.gradient_checkpointing_kwargs or {}), "use_reentrant": True}


def ebft_offloading(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2458 does."""
    strided = model.rl == "ebft" and model.ebft and model.ebft["mode"] == "strided"
    if strided and model.activation_offloading is True and model.attn_implementation == "flex_attention":
        raise Refusal(
            RL,
            ("activation_offloading", "attn_implementation"),
            "`activation_offloading` is incompatible with `attn_implementation: flex_attention` in strided EBFT",
            "EBFT strided mode: `activation_offloading: true` is incompatible with `attn_implementation: flex_attention`.",
        )


def preference_beta(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2202 does."""
    if model.dpo_beta and not model.rl_beta:
        model.rl_beta, model.dpo_beta = model.dpo_beta, None


def simpo_warmup(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2209 does."""
    if model.rl == "simpo" and model.warmup_ratio:
        raise Refusal(
            SCHEDULE,
            ("warmup_ratio", "rl"),
            "`warmup_ratio` is incompatible with `rl: simpo`; use `warmup_steps`",
            "warmup_ratio is not supported with the simpo trainer. Please use `warmup_steps` instead",
        )
