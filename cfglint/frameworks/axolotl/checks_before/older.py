"""Checks before pydantic's validation that only releases before 0.21.0 have (see the package).

A check is named here after the validator that it follows; the tables have the releases of each.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.checks_before.adapters import LORA_KERNELS, UNSLOTH_LORA, uses_fsdp1
from cfglint.frameworks.axolotl.refusals import ADAPTER, ATTENTION, COMPILE, FSDP, LOSS, RL, Data, excludes, refuses, requires
from cfglint.frameworks.axolotl.releases import EMBEDDINGS, NEW_FSDP, ONE_ATTENTION
from cfglint.source.annotations import Callable

SAGE = Releases((0, 15, 0))
UNSLOTH_AND = Releases((0, 7, 0))  # 8-bit loading is refused with LoRA only
WITH_FSDP2 = Releases((0, 8, 1))  # FSDP2 is known
KERNELS_WITH_FSDP2 = Releases((0, 9, 0))
KERNELS_WITHOUT_DEEPSPEED = Releases((), (0, 8, 1))
DORA = Releases((), (0, 16, 0))
BNB_8BIT = ("adamw_8bit", "adamw_bnb_8bit")
ALL_KERNELS = "lora_mlp_kernel, lora_qkv_kernel, and lora_o_kernel"


def attention_flags(data: Data) -> None:
    """check_attention_fields: utils/schemas/validation.py of 0.16.1."""
    last = ("sdp_attention", "flash_attention", "flex_attention", "sage_attention")
    flags = ("xformers_attention", *(last if data.release in SAGE else ("sdp_attention", "s2_attention", *last[1:3])))
    given = [flag for flag in flags if data.get(flag)]
    if len(given) > 1:
        raise excludes(ATTENTION, given[1], given[0], f"Only one of {', '.join(flags)} must be set")


def batch_flattening(data: Data) -> None:
    """check_batch_flattening_fa: utils/schemas/validation.py of 0.16.1."""
    chosen = data.get("batch_flattening")
    if data.release in ONE_ATTENTION or not chosen or chosen == "auto":
        if data.release not in ONE_ATTENTION and chosen:
            data["batch_flattening"] = bool(
                data.get("flash_attention") and not data.get("sample_packing") and data.get("micro_batch_size") > 1
            )
        return
    if not data.get("flash_attention"):
        raise requires(ATTENTION, "batch_flattening", "flash_attention: true", "batch_flattening requires flash attention")
    if data.get("sample_packing"):
        raise excludes(ATTENTION, "batch_flattening", "sample_packing", "batch_flattening not compatible with sample_packing")


def packing_with_xformers(data: Data) -> None:
    """check_sample_packing_w_xformers: utils/schemas/config.py of 0.9.0."""
    if data.get("sample_packing") and data.get("xformers_attention"):
        says = "sample_packing not compatible with xformers_attention. Use flash_attention"
        raise excludes(ATTENTION, "xformers_attention", "sample_packing", says)


def packing_with_shifted_attention(data: Data) -> None:
    """check_sample_packing_with_s2attn: utils/schemas/validation.py of 0.16.1."""
    if data.get("sample_packing") and data.get("s2_attention"):
        says = (
            "Received `sample_packing=true` and `s2_attention=true`; however, shifted-sparse attention does not currently support "
            "sample packing."
        )
        raise excludes(ATTENTION, "s2_attention", "sample_packing", says)


def scaling_softmax(data: Data) -> None:
    """check_scaling_softmax_requires_flex: utils/schemas/validation.py of 0.16.1."""
    if data.release not in ONE_ATTENTION and data.get("scaling_softmax") and not data.get("flex_attention"):
        raise requires(ATTENTION, "scaling_softmax", "flex_attention: true", "scaling_softmax requires flex_attention: true")


def kernels_and_8bit(data: Data) -> None:
    """check_lora_8bit, check_lora_kernel_8bit: utils/schemas/config.py and validation.py of 0.11.0."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("adapter") == "lora" and data.get("load_in_8bit"):
        raise excludes(ADAPTER, flag, "load_in_8bit", f"{ALL_KERNELS} are not compatible with 8-bit LoRA", note=" under `adapter: lora`")


def kernels_and_rl(data: Data) -> None:
    """check_lora_kernel_rl, check_lora_kernels_rl: utils/schemas/validation.py of 0.15.0."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("rl"):
        raise excludes(ADAPTER, flag, "rl", f"{ALL_KERNELS} are not compatible with RL at the moment.")


def kernels_and_dora(data: Data) -> None:
    """check_lora_kernels_dora: utils/schemas/validation.py of 0.15.0; later releases only warn."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if data.release in DORA and flag and data.get("peft_use_dora"):
        says = f"{ALL_KERNELS} are not compatible with DoRA at the moment."
        raise excludes(ADAPTER, "peft_use_dora", flag, says, note=", which is on unless it is set to false")


def kernels_on_several_gpus(data: Data) -> None:
    """check_multigpu_lora_kernels: utils/schemas/config.py of 0.19.0."""
    flags = (*LORA_KERNELS, *(("lora_embedding_kernel",) if data.release in EMBEDDINGS else ()))
    flag = next((flag for flag in flags if data.get(flag)), "")
    if not flag or (data["capabilities"]["n_gpu"] or 1) <= 1:
        return
    sharded = uses_fsdp1(data) if data.release in KERNELS_WITH_FSDP2 else data.get("fsdp") is not None
    if sharded:
        key = "fsdp_config" if data.release in NEW_FSDP else "fsdp"
        version = "FSDP1" if data.release in KERNELS_WITH_FSDP2 else "FSDP"
        raise excludes(ADAPTER, flag, version, f"{ALL_KERNELS} are not compatible with {version}.", note=" on several GPUs", at=(flag, key))
    if data.release in KERNELS_WITHOUT_DEEPSPEED and data.get("deepspeed") is not None:
        raise excludes(ADAPTER, flag, "DeepSpeed", f"{ALL_KERNELS} are not compatible with DeepSpeed.", note=" on several GPUs")


def kernels_and_unsloth(data: Data) -> None:
    """check_lora_axolotl_unsloth: utils/schemas/config.py of 0.16.1."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    other = next((flag for flag in UNSLOTH_LORA if data.get(flag)), "")
    if flag and other:
        says = "both lora_mlp_kernel and unsloth_lora_mlp cannot be true (similarly for lora_qkv_kernel, lora_o_kernel)"
        raise excludes(ADAPTER, other, flag, says)


def unsloth_and_8bit(data: Data) -> None:
    """check_qlora_unsloth: utils/schemas/config.py of 0.16.1; up to 0.6.0 either of the two was refused."""
    flag = next((flag for flag in UNSLOTH_LORA if data.get(flag)), "")
    reasons = [key for key, holds in (("adapter", data.get("adapter") == "lora"), ("load_in_8bit", data.get("load_in_8bit"))) if holds]
    if flag and len(reasons) > (data.release in UNSLOTH_AND):
        says = "unsloth_lora_mlp, unsloth_lora_qkv, and unsloth_lora_o are not compatible with 8-bit LoRA"
        others = " and ".join("`adapter: lora`" if key == "adapter" else f"`{key}`" for key in reasons)
        raise excludes(ADAPTER, flag, others, says, at=(flag, *reasons))


def unsloth_on_several_gpus(data: Data) -> None:
    """check_multigpu_unsloth: utils/schemas/config.py of 0.16.1."""
    flag = next((flag for flag in UNSLOTH_LORA if data.get(flag)), "")
    if flag and (data["capabilities"]["n_gpu"] or 1) > 1:
        says = "unsloth_lora_mlp, unsloth_lora_qkv, and unsloth_lora_o are not compatible with multi-GPU training."
        raise refuses(ADAPTER, flag, f"`{flag}` does not support several GPUs", says, remedy=f"remove `{flag}`")


def two_cross_entropies(data: Data) -> None:
    """check_xentropy_patch_conflicts: utils/schemas/validation.py of 0.16.1."""
    if data.get("flash_attn_cross_entropy") and data.get("unsloth_cross_entropy_loss"):
        says = "flash_attn_cross_entropy and unsloth_cross_entropy_loss cannot be both enabled"
        raise excludes(LOSS, "unsloth_cross_entropy_loss", "flash_attn_cross_entropy", says)


def grpo_liger_and_adapter(data: Data) -> None:
    """check_grpo_peft_liger: utils/schemas/validation.py of 0.9.1."""
    if data.get("rl") == "grpo" and data.get("trl", {}) and data.get("trl").get("use_liger_loss") and data.get("adapter"):
        raise excludes(RL, "trl.use_liger_loss", "an `adapter`", "PEFT + GRPO + Liger is not yet supported", note=" under GRPO")


def grpo_liger(data: Data) -> None:
    """check_grpo_liger_sequence_parallel: utils/schemas/validation.py of 0.20.0."""
    key = "context_parallel_size" if data.release in NEW_FSDP else "sequence_parallel_degree"
    if data.get("rl") == "grpo" and data.get("trl", {}) and data.get("trl").get("use_liger_loss") and data.get(key, 1) > 1:
        raise excludes(RL, "trl.use_liger_loss", f"{key} above 1", "GRPO + SP + Liger not currently supported", note=" under GRPO")


def compile_with_deepspeed(data: Data) -> None:
    """check_torch_compile_deepspeed: utils/schemas/validation.py of 0.12.2."""
    if data.get("deepspeed") and data.get("torch_compile"):
        says = "torch_compile should be set within your deepspeed config file"
        raise excludes(COMPILE, "torch_compile", "deepspeed", says, note=": its own file turns compilation on")


def tiled_mlp(data: Data) -> None:
    """check_tiled_mlp_deepspeed: utils/schemas/validation.py of 0.11.0."""
    if data.get("tiled_mlp", False) and not data.get("deepspeed"):
        raise requires(FSDP, "tiled_mlp", "deepspeed", "tiled_mlp requires deepspeed ZeRO to be enabled")


def fsdp_offload_and_8bit(data: Data) -> None:
    """check_fsdp_offload_w_8bit_optimizer: utils/schemas/validation.py of 0.11.0."""
    given = data.get("fsdp_config")
    if data.release in NEW_FSDP or not data.get("fsdp") or "8bit" not in data.get("optimizer", "") or not given:
        return
    name, second = data.get("optimizer"), data.release in WITH_FSDP2 and str(given.get("fsdp_version")) == "2"
    if given.get("fsdp_offload_params") and not second:
        raise excludes(FSDP, f"optimizer: {name}", "`fsdp_config.fsdp_offload_params`", f"FSDP Offload not compatible with {name}")
    if second and name in BNB_8BIT:
        says = f"FSDP2 not compatible with {name}, use `adamw_torch_8bit` instead"
        raise excludes(
            FSDP, f"optimizer: {name}", "FSDP2", says, at=("optimizer", "fsdp_config.fsdp_version"), remedy="use `adamw_torch_8bit`"
        )


def sharded_safetensors(data: Data) -> None:
    """check_fsdp_sharded_state_dict_w_safetensors: utils/schemas/validation.py of 0.11.0."""
    given = data.get("fsdp_config")
    if data.get("fsdp") and data.get("save_safetensors") and given and given.get("fsdp_state_dict_type") == "SHARDED_STATE_DICT":
        says = "FSDP SHARDED_STATE_DICT not compatible with save_safetensors"
        raise excludes(FSDP, "save_safetensors: true", "fsdp_config.fsdp_state_dict_type: SHARDED_STATE_DICT", says)


CHECKS: tuple[tuple[str, Callable[[Data], None]], ...] = (
    ("check_attention_fields", attention_flags),
    ("check_batch_flattening_fa", batch_flattening),
    ("check_sample_packing_w_xformers", packing_with_xformers),
    ("check_sample_packing_with_s2attn", packing_with_shifted_attention),
    ("check_scaling_softmax_requires_flex", scaling_softmax),
    ("check_lora_8bit", kernels_and_8bit),
    ("check_lora_kernel_8bit", kernels_and_8bit),
    ("check_lora_kernel_rl", kernels_and_rl),
    ("check_lora_kernels_rl", kernels_and_rl),
    ("check_lora_kernels_dora", kernels_and_dora),
    ("check_multigpu_lora_kernels", kernels_on_several_gpus),
    ("check_lora_axolotl_unsloth", kernels_and_unsloth),
    ("check_qlora_unsloth", unsloth_and_8bit),
    ("check_multigpu_unsloth", unsloth_on_several_gpus),
    ("check_xentropy_patch_conflicts", two_cross_entropies),
    ("check_grpo_peft_liger", grpo_liger_and_adapter),
    ("check_grpo_liger_sequence_parallel", grpo_liger),
    ("check_torch_compile_deepspeed", compile_with_deepspeed),
    ("check_tiled_mlp_deepspeed", tiled_mlp),
    ("check_fsdp_offload_w_8bit_optimizer", fsdp_offload_and_8bit),
    ("check_fsdp_sharded_state_dict_w_safetensors", sharded_safetensors),
)
