"""Architectures: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import MODEL_TYPE, Model, Refusal


def falcon(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1960 does."""
    if model.base_model and "falcon" in model.base_model.lower() and model.fsdp_config:
        raise Refusal(
            MODEL_TYPE,
            ("fsdp_config", "base_model"),
            "`fsdp_config` is incompatible with falcon models",
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
