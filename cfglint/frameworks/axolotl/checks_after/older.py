"""Checks after pydantic's validation that only releases before 0.21.0 have (see the package).

A check is named here after the validator that it follows; the tables have the releases of each.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.checks_after.parallel import ring_attention
from cfglint.frameworks.axolotl.refusals import CHECKPOINTING, FSDP, OPTIMIZER, PARALLEL, RL, AxolotlModel, excludes, refuses, requires
from cfglint.frameworks.axolotl.releases import NEW_FSDP
from cfglint.source.annotations import Callable

DEGREE = "sequence_parallel_degree"
ONE_SAMPLE = Releases((0, 8, 1), (0, 9, 0))  # sequence parallelism requires a micro batch of 1, packed or not
TORCH_OPTIMIZERS = ("adamw_torch_8bit", "adamw_torch_4bit")


def unsloth_checkpointing(model: AxolotlModel) -> None:
    """check_offload_grad_checkpointing: utils/schemas/validation.py of 0.11.0."""
    if model.gradient_checkpointing == "unsloth":
        model.gradient_checkpointing = "offload"


def sequence_parallel(model: AxolotlModel) -> None:
    """check_sequence_parallel_degree: utils/schemas/validation.py of 0.11.0."""
    if not model.sequence_parallel_degree:
        model.sequence_parallel_degree = 1
    if model.sequence_parallel_degree <= 1:
        return
    if model.release in ONE_SAMPLE and model.micro_batch_size != 1:
        says = "micro_batch_size must be set to 1 due to a `ring-flash-attn` requirement"
        raise requires(PARALLEL, f"{DEGREE} above 1", "micro_batch_size: 1", says, at="micro_batch_size")
    ring_attention(model, DEGREE)


def fsdp2_efficient_loading(model: AxolotlModel) -> None:
    """check_fsdp2_base_model_quant_ram_efficient_loading: utils/schemas/validation.py of 0.12.2."""
    given = model.fsdp_config
    loaded = next((key for key in ("load_in_8bit", "load_in_4bit") if getattr(model, key)), "")
    if given and model.fsdp_version == 2 and given.get("cpu_ram_efficient_loading") and loaded:
        says = (
            "FSDP2 does not support load_in_8bit or load_in_4bit with cpu_ram_efficient_loading. Please do one of the following: use "
            "DeepSpeed, set fsdp_version to 1, or disable cpu_ram_efficient_loading."
        )
        raise excludes(FSDP, "fsdp_config.cpu_ram_efficient_loading", loaded, says, note=" under FSDP2")


def fsdp_offload_and_8bit(model: AxolotlModel) -> None:
    """check_fsdp_offload_w_8bit_optimizer: utils/schemas/validation.py of 0.19.0; a mapping without `offload_params` failed in 0.12."""
    given = model.fsdp_config
    if model.release not in NEW_FSDP or not given or not model.optimizer or "8bit" not in str(model.optimizer):
        return
    if given["offload_params"] and str(model.fsdp_version) != "2":
        says = f"FSDP Offload not compatible with {model.optimizer}"
        raise excludes(FSDP, f"optimizer: {model.optimizer}", "`fsdp_config.offload_params` under FSDP1", says)


def rate_groups(model: AxolotlModel) -> None:
    """lr_groups_ao_optimizer: utils/schemas/validation.py of 0.14.0."""
    keys = ("loraplus_lr_ratio", "embedding_lr_scale", "embedding_lr", "lr_groups")
    key = next((key for key in keys if getattr(model, key) is not None), "")
    if key and model.optimizer in TORCH_OPTIMIZERS:
        says = (
            "lr groups (`loraplus_lr_ratio`, `embedding_lr_scale`, `embedding_lr`, `lr_groups`) are not supported with ao low-bit "
            "optimizers until ao>0.12.0."
        )
        raise excludes(OPTIMIZER, key, f"optimizer: {model.optimizer}", says)


def nemotron_checkpointing(model: AxolotlModel) -> None:
    """check_nemotron_h_gradient_checkpointing: utils/schemas/validation.py of 0.18.0."""
    named = model.base_model and "nemotron-h" in model.base_model.lower()
    if named and model.gradient_checkpointing and not model.sample_packing:
        says = (
            "gradient_checkpointing for nemotron_h requires sample_packing: true. The upstream model marks "
            "supports_gradient_checkpointing=False; axolotl only enables it after applying the sample-packing patch."
        )
        raise requires(CHECKPOINTING, "`gradient_checkpointing` of nemotron-h models", "`sample_packing: true`", says)


def dpo_liger(model: AxolotlModel) -> None:
    """check_dpo_use_liger_kernel: utils/schemas/validation.py of 0.20.0."""
    losses = model.dpo_loss_type
    if model.dpo_use_liger_kernel and (model.rl == "ipo" or (losses and losses[0] == "ipo")):
        says = (
            "`dpo_use_liger_kernel` does not support the `ipo` loss type (liger-kernel's fused DPO loss cannot length-normalize the "
            "squared margin). Disable the liger kernel or use another loss."
        )
        message = "`dpo_use_liger_kernel` does not support the loss ipo"
        raise refuses(
            RL,
            ("dpo_use_liger_kernel", "rl" if model.rl == "ipo" else "dpo_loss_type"),
            message,
            says,
            remedy="remove `dpo_use_liger_kernel`",
        )


CHECKS: tuple[tuple[str, Callable[[AxolotlModel], None]], ...] = (
    ("check_offload_grad_checkpointing", unsloth_checkpointing),
    ("check_sequence_parallel_degree", sequence_parallel),
    ("check_fsdp2_base_model_quant_ram_efficient_loading", fsdp2_efficient_loading),
    ("check_fsdp_offload_w_8bit_optimizer", fsdp_offload_and_8bit),
    ("lr_groups_ao_optimizer", rate_groups),
    ("check_nemotron_h_gradient_checkpointing", nemotron_checkpointing),
    ("check_dpo_use_liger_kernel", dpo_liger),
)
