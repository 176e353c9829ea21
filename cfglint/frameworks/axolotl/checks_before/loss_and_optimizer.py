"""Losses and optimizers: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import LOSS, OPTIMIZER, Data, excludes, requires
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY

CROSS_ENTROPIES = ("cut_cross_entropy", "chunked_cross_entropy", "liger_cross_entropy", "liger_fused_linear_cross_entropy")

MUON_ALONE = Releases((), (0, 13, 1))  # without DeepSpeed and any FSDP
MUON_8BIT = Releases((0, 21, 0))
POLORA_RIVALS = (  # keys that are incompatible with the polora optimizer, and axolotl's message
    (
        (
            *("lora_modules_to_save", "unfrozen_parameters", "peft_use_dora", "peft_trainable_token_indices", "lisa_step_interval"),
            *("reward_model", "process_reward_model"),
        ),
        "polora has no fallback optimizer, so the parameters added by {} would never be trained.",
    ),
    (
        ("loraplus_lr_ratio", "lr_groups", "embedding_lr", "embedding_lr_scale"),
        "polora sets its own per-factor step size, so {} would be silently ignored.",
    ),
)


def cross_entropies(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1374 does."""
    found = [key for key in CROSS_ENTROPIES if data.get(key)]
    if len(found) > 1:
        says = (
            f"Only one cross entropy optimization can be enabled at a time. Found {len(found)} enabled: {', '.join(found)}. Please "
            "disable all but one."
        )
        raise excludes(LOSS, found[1], found[0], says)


def custom_losses(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1403 does."""
    found = [key for key in ("use_dft", "use_eaft") if data.get(key)]
    if not found:
        return
    if len(found) > 1:
        raise excludes(LOSS, "use_eaft", "use_dft", "`use_dft` and `use_eaft` cannot be enabled together.")
    rivals = (
        "rl",
        "reward_model",
        "process_reward_model",
        "cut_cross_entropy",
        "liger_fused_linear_cross_entropy",
        "chunked_cross_entropy",
    )
    conflicts = [key for key in rivals if data.get(key)]
    if (data.get("context_parallel_size") or data.get("sequence_parallel_degree") or 1) > 1:
        conflicts.append("context_parallel_size > 1")
    if conflicts:
        says = f"`{found[0]}` is an SFT-only loss and cannot be combined with: {', '.join(conflicts)}."
        raise excludes(LOSS, found[0], conflicts[0].replace(" > ", " above "), says)


def muon(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1212 does."""
    if data.get("optimizer") not in ("muon", *(("muon_8bit",) if data.release in MUON_8BIT else ())):
        return
    sharding = next((key for key in ("fsdp_config", "fsdp") if data.get(key)), "")
    if sharding and data.release in MUON_ALONE:
        says = "Muon optimizer is currently incompatible with DeepSpeed and FSDP"
        raise excludes(OPTIMIZER, "optimizer: muon", "FSDP", says, at=("optimizer", sharding))
    if data.get("deepspeed"):
        raise excludes(OPTIMIZER, "optimizer: muon", "DeepSpeed", "Muon optimizer is currently incompatible with DeepSpeed")
    requires_fsdp2(data, "optimizer: muon", "Muon optimizer is only compatible with FSDP2. Set fsdp_version: 2 to use Muon with FSDP.")


def requires_fsdp2(data: Data, name: str, says: str) -> None:
    """Refuse FSDP1 in the releases that have it (_resolve_fsdp_version)."""
    sharding = next((key for key in ("fsdp_config", "fsdp") if data.get(key)), "")
    if data.release in FSDP2_ONLY or not sharding:
        return
    version = data.get("fsdp_version")
    if version is None:
        version = (data.get("fsdp_config") or {}).get("fsdp_version", 1)
    if str(version) != "2":
        raise requires(OPTIMIZER, name, "FSDP2", says, at=("optimizer", sharding), remedy="set `fsdp_version: 2`")


def polora(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1223 does."""
    if data.get("optimizer") != "polora":
        return
    if data.get("adapter") not in ("lora", "qlora"):
        says = "polora only updates LoRA (A, B) factors and requires adapter: lora or qlora."
        raise requires(OPTIMIZER, "optimizer: polora", "`adapter: lora` or `qlora`", says)
    if data.get("deepspeed") or (data.get("tensor_parallel_size") or 1) > 1:
        says = "polora is not compatible with DeepSpeed or tensor parallelism. Use single-GPU, DDP, or FSDP2."
        raise excludes(
            OPTIMIZER,
            "optimizer: polora",
            "DeepSpeed and tensor parallelism",
            says,
            at=("optimizer", "deepspeed", "tensor_parallel_size"),
        )
    requires_fsdp2(data, "optimizer: polora", "polora requires FSDP2. Set fsdp_version: 2 to use polora with FSDP.")
    for keys, says in POLORA_RIVALS:
        found = [key for key in keys if data.get(key)]
        if found:
            raise excludes(OPTIMIZER, found[0], "optimizer: polora", says.format(found))
    if data.get("relora_steps"):
        says = (
            "relora resets optimizer state through Optimizer.state, which polora does not use, so its momentum would survive every merge."
        )
        raise excludes(OPTIMIZER, "relora_steps", "optimizer: polora", says)


def qgalore(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1290 does."""
    if data.get("optimizer") != "q_galore_adamw8bit":
        return
    name = data.get("adapter")
    if name:
        says = f"q_galore_adamw8bit operates on full-precision parameters and is incompatible with adapter='{name}'."
        raise excludes(OPTIMIZER, "optimizer: q_galore_adamw8bit", "an adapter", says, at=("optimizer", "adapter"))
    if data.get("deepspeed"):
        says = "q_galore_adamw8bit is not yet validated with DeepSpeed. Use DDP or FSDP2."
        raise excludes(OPTIMIZER, "optimizer: q_galore_adamw8bit", "DeepSpeed", says)
    requires_fsdp2(data, "optimizer: q_galore_adamw8bit", "q_galore_adamw8bit requires FSDP2. Set fsdp_version: 2.")
    sharding = data.get("fsdp_config") or {}
    sharded = data.get("fsdp") or data.get("fsdp_config")
    if sharded and data.release not in FSDP2_ONLY and sharding.get("use_orig_params") is not True:
        says = "q_galore_adamw8bit requires fsdp_config.use_orig_params=True so that per-parameter projection state survives FSDP sharding."
        raise requires(
            OPTIMIZER, "optimizer: q_galore_adamw8bit", "`fsdp_config.use_orig_params: true`", says, at=("optimizer", "fsdp_config")
        )
    if data.get("optim_target_modules") is None:
        data["optim_target_modules"] = ["attn", "mlp"]


def flash_optimizers(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1318 does."""
    name = data.get("optimizer") or ""
    if not str(name).startswith("flash_"):
        return
    if data.get("deepspeed"):
        says = f"{name} optimizer is incompatible with DeepSpeed. Flash optimizers only support DDP and FSDP2."
        raise excludes(OPTIMIZER, f"optimizer: {name}", "DeepSpeed", says)
    says = f"{name} optimizer is only compatible with FSDP2. Set fsdp_version: 2 to use flash optimizers with FSDP."
    requires_fsdp2(data, f"optimizer: {name}", says)
