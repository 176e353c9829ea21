"""Precision and torch.compile: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import COMPILE, PRECISION, AxolotlModel, excludes, requires
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY


def regional_compile(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2099 does."""
    if model.torch_compile and model.torch_compile_regional and model.gradient_checkpointing:
        says = (
            "torch_compile_regional cannot be combined with gradient_checkpointing: the checkpoint recompute can run a different "
            "Dynamo cache entry than the forward (pytorch/pytorch#166926). Use whole-model compile."
        )
        raise excludes(COMPILE, "torch_compile_regional", "gradient_checkpointing", says)


def better_transformers(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2175 does."""
    half = next((key for key in ("fp16", "bf16") if getattr(model, key)), "")
    if model.flash_optimum is True and half:
        raise excludes(PRECISION, half, "flash_optimum", "AMP is not supported with BetterTransformer")


def compile_options(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/config.py:1772 does."""
    if model.torch_compile_options is not None and not model.torch_compile:
        says = (
            "torch_compile_options is set but torch_compile is not enabled. Set torch_compile: true (or torch_compile: auto) to use "
            "these flags."
        )
        raise requires(COMPILE, "torch_compile_options", "torch_compile: true", says)


def fp32_norms(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/config.py:1801 does."""
    if model.fp32_norms and model.fsdp_config is None:
        raise requires(PRECISION, "fp32_norms", "fsdp_config", "fp32_norms requires FSDP to be enabled (fsdp_config block must be set).")
    if model.fp32_norms and model.release not in FSDP2_ONLY and str(model.fsdp_version) != "2":
        says = (
            "fp32_norms requires fsdp_version: 2. FSDP1's flat-param dtype uniformity constraint is incompatible with keeping norms in "
            "fp32 while decoder layers run in bf16."
        )
        raise requires(PRECISION, "fp32_norms", "fsdp_version: 2", says)
