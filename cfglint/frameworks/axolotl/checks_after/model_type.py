"""Architectures: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import MODEL_TYPE, Model, Refusal
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY


def falcon(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1960 does."""
    key = "fsdp_config" if model.release in FSDP2_ONLY else "fsdp"
    if model.base_model and "falcon" in model.base_model.lower() and getattr(model, key):
        raise Refusal(
            MODEL_TYPE,
            (key, "base_model"),
            f"`{key}` is incompatible with falcon models",
            "FSDP is not supported for falcon models",
        )


def mpt(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1968 does."""
    if model.base_model and "mpt" in model.base_model.lower() and model.gradient_checkpointing:
        raise Refusal(
            MODEL_TYPE,
            ("gradient_checkpointing", "base_model"),
            'MPT models (any `base_model` with "mpt" in its name) do not support `gradient_checkpointing`',
            "gradient_checkpointing is not supported for MPT models",
        )
