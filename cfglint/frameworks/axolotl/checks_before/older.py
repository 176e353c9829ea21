"""Checks before pydantic's validation that only releases before 0.21.0 have (see the package).

A check is named here after the validator that it follows; the tables have the releases of each.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.checks_before.adapters import LORA_KERNELS, UNSLOTH_LORA, uses_fsdp1
from cfglint.frameworks.axolotl.refusals import ADAPTER, ATTENTION, COMPILE, FSDP, LOSS, RL, Data, Refusal
from cfglint.frameworks.axolotl.releases import EMBEDDINGS, NEW_FSDP, ONE_ATTENTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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
        raise Refusal(
            ATTENTION,
            (given[1], given[0]),
            f"`{given[1]}` is incompatible with `{given[0]}`: set only one of them",
            f"Only one of {', '.join(flags)} must be set",
        )


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
        raise Refusal(
            ATTENTION,
            ("batch_flattening", "flash_attention"),
            "`batch_flattening` requires `flash_attention: true`",
            "batch_flattening requires flash attention",
        )
    if data.get("sample_packing"):
        raise Refusal(
            ATTENTION,
            ("batch_flattening", "sample_packing"),
            "`batch_flattening` is incompatible with `sample_packing`",
            "batch_flattening not compatible with sample_packing",
        )


def packing_with_xformers(data: Data) -> None:
    """check_sample_packing_w_xformers: utils/schemas/config.py of 0.9.0."""
    if data.get("sample_packing") and data.get("xformers_attention"):
        raise Refusal(
            ATTENTION,
            ("xformers_attention", "sample_packing"),
            "`xformers_attention` is incompatible with `sample_packing`",
            "sample_packing not compatible with xformers_attention. Use flash_attention",
        )


def packing_with_shifted_attention(data: Data) -> None:
    """check_sample_packing_with_s2attn: utils/schemas/validation.py of 0.16.1."""
    if data.get("sample_packing") and data.get("s2_attention"):
        raise Refusal(
            ATTENTION,
            ("s2_attention", "sample_packing"),
            "`s2_attention` is incompatible with `sample_packing`",
            "Received `sample_packing=true` and `s2_attention=true`; however, shifted-sparse attention does not currently support sample "
            "packing.",
        )


def scaling_softmax(data: Data) -> None:
    """check_scaling_softmax_requires_flex: utils/schemas/validation.py of 0.16.1."""
    if data.release not in ONE_ATTENTION and data.get("scaling_softmax") and not data.get("flex_attention"):
        raise Refusal(
            ATTENTION,
            ("scaling_softmax",),
            "`scaling_softmax` requires `flex_attention: true`",
            "scaling_softmax requires flex_attention: true",
        )


def kernels_and_8bit(data: Data) -> None:
    """check_lora_8bit, check_lora_kernel_8bit: utils/schemas/config.py and validation.py of 0.11.0."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("adapter") == "lora" and data.get("load_in_8bit"):
        raise Refusal(
            ADAPTER,
            (flag, "load_in_8bit"),
            f"`{flag}` is incompatible with `load_in_8bit` under `adapter: lora`",
            f"{ALL_KERNELS} are not compatible with 8-bit LoRA",
        )


def kernels_and_rl(data: Data) -> None:
    """check_lora_kernel_rl, check_lora_kernels_rl: utils/schemas/validation.py of 0.15.0."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("rl"):
        raise Refusal(
            ADAPTER,
            (flag, "rl"),
            f"`{flag}` is incompatible with `rl`",
            f"{ALL_KERNELS} are not compatible with RL at the moment.",
        )


def kernels_and_dora(data: Data) -> None:
    """check_lora_kernels_dora: utils/schemas/validation.py of 0.15.0; later releases only warn."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if data.release in DORA and flag and data.get("peft_use_dora"):
        raise Refusal(
            ADAPTER,
            ("peft_use_dora", flag),
            f"`peft_use_dora` is incompatible with `{flag}`, which is on unless it is set to false",
            f"{ALL_KERNELS} are not compatible with DoRA at the moment.",
        )


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
        raise Refusal(
            ADAPTER,
            (flag, key),
            f"`{flag}` is incompatible with {version} on several GPUs",
            f"{ALL_KERNELS} are not compatible with {version}.",
        )
    if data.release in KERNELS_WITHOUT_DEEPSPEED and data.get("deepspeed") is not None:
        raise Refusal(
            ADAPTER,
            (flag, "deepspeed"),
            f"`{flag}` is incompatible with DeepSpeed on several GPUs",
            f"{ALL_KERNELS} are not compatible with DeepSpeed.",
        )


def kernels_and_unsloth(data: Data) -> None:
    """check_lora_axolotl_unsloth: utils/schemas/config.py of 0.16.1."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    other = next((flag for flag in UNSLOTH_LORA if data.get(flag)), "")
    if flag and other:
        raise Refusal(
            ADAPTER,
            (other, flag),
            f"`{other}` is incompatible with `{flag}`",
            "both lora_mlp_kernel and unsloth_lora_mlp cannot be true (similarly for lora_qkv_kernel, lora_o_kernel)",
        )


def unsloth_and_8bit(data: Data) -> None:
    """check_qlora_unsloth: utils/schemas/config.py of 0.16.1; up to 0.6.0 either of the two was refused."""
    flag = next((flag for flag in UNSLOTH_LORA if data.get(flag)), "")
    reasons = [key for key, holds in (("adapter", data.get("adapter") == "lora"), ("load_in_8bit", data.get("load_in_8bit"))) if holds]
    if flag and len(reasons) > (data.release in UNSLOTH_AND):
        raise Refusal(
            ADAPTER,
            (flag, *reasons),
            f"`{flag}` is incompatible with " + " and ".join("`adapter: lora`" if key == "adapter" else f"`{key}`" for key in reasons),
            "unsloth_lora_mlp, unsloth_lora_qkv, and unsloth_lora_o are not compatible with 8-bit LoRA",
        )


def unsloth_on_several_gpus(data: Data) -> None:
    """check_multigpu_unsloth: utils/schemas/config.py of 0.16.1."""
    flag = next((flag for flag in UNSLOTH_LORA if data.get(flag)), "")
    if flag and (data["capabilities"]["n_gpu"] or 1) > 1:
        raise Refusal(
            ADAPTER,
            (flag,),
            f"`{flag}` does not support several GPUs",
            "unsloth_lora_mlp, unsloth_lora_qkv, and unsloth_lora_o are not compatible with multi-GPU training.",
        )


def two_cross_entropies(data: Data) -> None:
    """check_xentropy_patch_conflicts: utils/schemas/validation.py of 0.16.1."""
    if data.get("flash_attn_cross_entropy") and data.get("unsloth_cross_entropy_loss"):
        raise Refusal(
            LOSS,
            ("unsloth_cross_entropy_loss", "flash_attn_cross_entropy"),
            "`unsloth_cross_entropy_loss` is incompatible with `flash_attn_cross_entropy`",
            "flash_attn_cross_entropy and unsloth_cross_entropy_loss cannot be both enabled",
        )


def grpo_liger_and_adapter(data: Data) -> None:
    """check_grpo_peft_liger: utils/schemas/validation.py of 0.9.1."""
    if data.get("rl") == "grpo" and data.get("trl", {}) and data.get("trl").get("use_liger_loss") and data.get("adapter"):
        raise Refusal(
            RL,
            ("trl.use_liger_loss", "adapter"),
            "`trl.use_liger_loss` is incompatible with an `adapter` under GRPO",
            "PEFT + GRPO + Liger is not yet supported",
        )


def grpo_liger(data: Data) -> None:
    """check_grpo_liger_sequence_parallel: utils/schemas/validation.py of 0.20.0."""
    key = "context_parallel_size" if data.release in NEW_FSDP else "sequence_parallel_degree"
    if data.get("rl") == "grpo" and data.get("trl", {}) and data.get("trl").get("use_liger_loss") and data.get(key, 1) > 1:
        raise Refusal(
            RL,
            ("trl.use_liger_loss", key),
            f"`trl.use_liger_loss` is incompatible with `{key}` above 1 under GRPO",
            "GRPO + SP + Liger not currently supported",
        )


def compile_with_deepspeed(data: Data) -> None:
    """check_torch_compile_deepspeed: utils/schemas/validation.py of 0.12.2."""
    if data.get("deepspeed") and data.get("torch_compile"):
        raise Refusal(
            COMPILE,
            ("torch_compile", "deepspeed"),
            "`torch_compile` is incompatible with `deepspeed`: its own file turns compilation on",
            "torch_compile should be set within your deepspeed config file",
        )


def tiled_mlp(data: Data) -> None:
    """check_tiled_mlp_deepspeed: utils/schemas/validation.py of 0.11.0."""
    if data.get("tiled_mlp", False) and not data.get("deepspeed"):
        raise Refusal(FSDP, ("tiled_mlp",), "`tiled_mlp` requires `deepspeed`", "tiled_mlp requires deepspeed ZeRO to be enabled")


def fsdp_offload_and_8bit(data: Data) -> None:
    """check_fsdp_offload_w_8bit_optimizer: utils/schemas/validation.py of 0.11.0."""
    given = data.get("fsdp_config")
    if data.release in NEW_FSDP or not data.get("fsdp") or "8bit" not in data.get("optimizer", "") or not given:
        return
    name, second = data.get("optimizer"), data.release in WITH_FSDP2 and str(given.get("fsdp_version")) == "2"
    if given.get("fsdp_offload_params") and not second:
        raise Refusal(
            FSDP,
            ("optimizer", "fsdp_config.fsdp_offload_params"),
            f"the optimizer {name} is incompatible with `fsdp_offload_params`",
            f"FSDP Offload not compatible with {name}",
        )
    if second and name in BNB_8BIT:
        raise Refusal(
            FSDP,
            ("optimizer", "fsdp_config.fsdp_version"),
            f"the optimizer {name} is incompatible with FSDP2; use `adamw_torch_8bit`",
            f"FSDP2 not compatible with {name}, use `adamw_torch_8bit` instead",
        )


def sharded_safetensors(data: Data) -> None:
    """check_fsdp_sharded_state_dict_w_safetensors: utils/schemas/validation.py of 0.11.0."""
    given = data.get("fsdp_config")
    if data.get("fsdp") and data.get("save_safetensors") and given and given.get("fsdp_state_dict_type") == "SHARDED_STATE_DICT":
        raise Refusal(
            FSDP,
            ("save_safetensors", "fsdp_config.fsdp_state_dict_type"),
            "`save_safetensors: true` is incompatible with `fsdp_state_dict_type: SHARDED_STATE_DICT`",
            "FSDP SHARDED_STATE_DICT not compatible with save_safetensors",
        )


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
