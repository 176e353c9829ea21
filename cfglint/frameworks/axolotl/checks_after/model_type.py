"""Architectures: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import MODEL_TYPE, AxolotlModel, excludes, refuses
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY


def falcon(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:1960 does."""
    key = "fsdp_config" if model.release in FSDP2_ONLY else "fsdp"
    if model.base_model and "falcon" in model.base_model.lower() and getattr(model, key):
        raise excludes(MODEL_TYPE, key, "falcon models", "FSDP is not supported for falcon models", at=(key, "base_model"))


def mpt(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:1968 does."""
    if model.base_model and "mpt" in model.base_model.lower() and model.gradient_checkpointing:
        says = "gradient_checkpointing is not supported for MPT models"
        message = 'MPT models (any `base_model` with "mpt" in its name) do not support `gradient_checkpointing`'
        raise refuses(MODEL_TYPE, ("gradient_checkpointing", "base_model"), message, says, remedy="remove `gradient_checkpointing`")
