"""Adapters: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import ADAPTER, AxolotlModel, excludes, refuses, requires
from cfglint.frameworks.axolotl.releases import has_validator

INDEPENDENT_INIT = (None, True, False, "gaussian")
LORA = ("lora", "qlora")


def fused_modules(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:860 does."""
    fused = next((key for key in ("flash_attn_fuse_mlp", "flash_attn_fuse_qkv") if getattr(model, key)), "")
    if model.adapter in ("lora", "qlora", "mixlora") and fused:
        raise excludes(ADAPTER, fused, "LoRA adapters", "Fused modules are not supported with LoRA/QLoRA", at=(fused, "adapter"))
    if model.adapter == "mixlora" and model.rl is not None:
        says = "MixLoRA is not compatible with RL training (DPO/KTO/GRPO). Use adapter: lora or qlora for RL fine-tuning."
        raise excludes(ADAPTER, "adapter: mixlora", "rl", says, at="rl")


def onebit(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:876 does."""
    if model.use_onebitllms and model.adapter in LORA:
        says = "LoRA/QLoRA is not supported with use_onebitllms"
        raise excludes(ADAPTER, "use_onebitllms", "LoRA adapters", says, at=("use_onebitllms", "adapter"))


def mixlora_experts(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/peft.py:366 does."""
    experts = 8 if model.mixlora_num_experts is None else model.mixlora_num_experts
    chosen = 2 if model.mixlora_top_k is None else model.mixlora_top_k
    if chosen > experts:
        says = f"mixlora_top_k ({chosen}) must be <= mixlora_num_experts ({experts})"
        message = f"`mixlora_top_k` ({chosen}) is above `mixlora_num_experts` ({experts})"
        raise refuses(ADAPTER, ("mixlora_top_k", "mixlora_num_experts"), message, says)


def qlora(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/peft.py:223 does."""
    if model.adapter != "qlora":
        return
    verb = "merge" if model.merge_lora else "load"
    if model.load_in_8bit:
        says = f"Can't {verb} qlora {'if loaded ' if model.merge_lora else ''}in 8bit"
        raise requires(ADAPTER, "`adapter: qlora`", "`load_in_4bit`, not `load_in_8bit`", says, at=("load_in_8bit", "adapter"))
    if model.gptq:
        raise excludes(ADAPTER, "gptq", "adapter: qlora", f"Can't {verb} qlora if gptq")
    if model.merge_lora and model.load_in_4bit:
        raise excludes(ADAPTER, "merge_lora", "load_in_4bit", "Can't merge qlora if loaded in 4bit", at="load_in_4bit")
    if not model.merge_lora and not model.load_in_4bit:
        raise requires(ADAPTER, "adapter: qlora", "load_in_4bit: true", "Require cfg.load_in_4bit to be True for qlora")


def target_parameters(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/peft.py:258-297 does."""
    key = "lora_target_parameters"
    if not model.lora_target_parameters:
        return
    if model.lora_dropout:
        says = f"lora_dropout must be 0 when {key} is set. PEFT's ParamWrapper does not support lora_dropout != 0."
        raise requires(ADAPTER, key, "lora_dropout: 0", says, at="lora_dropout")
    if not has_validator("validate_lora_target_parameters_init", model.release):
        return
    dependent = model.peft_init_lora_weights not in INDEPENDENT_INIT
    if dependent or (model.peft and model.peft.get("loftq_config")):
        init = "peft_init_lora_weights" if dependent else "peft.loftq_config"
        says = f"peft_init_lora_weights must be the default or gaussian when {key} is set"
        raise requires(ADAPTER, key, "the default or gaussian initialization", says, at=init, remedy=f"remove `{init}`")


def mixlora_sizes(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/peft.py:299 does."""
    for key in ("lora_r", "lora_alpha") if model.adapter == "mixlora" else ():
        if not getattr(model, key):
            raise requires(ADAPTER, "adapter: mixlora", key, f"{key} is required when using the mixlora adapter", at=key)
