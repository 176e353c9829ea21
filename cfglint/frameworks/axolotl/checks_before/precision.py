"""Number formats, checkpointing and compilation: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import CHECKPOINTING, PRECISION, Data, excludes, requires
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY

FP8_RECIPES = Releases((0, 19, 0))


def fp8(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:654 does."""
    given = data.get("fp8_config") if data.release in FP8_RECIPES else None
    recipe = given.get("recipe", "tensorwise") if isinstance(given, dict) else "tensorwise"
    gather = data.get("fp8_enable_fsdp_float8_all_gather")
    if given is not None and not data.get("fp8"):
        raise requires(PRECISION, "fp8_config", "fp8: true", "`fp8_config` requires `fp8: true`; set `fp8: true` or remove `fp8_config`.")
    if gather and recipe != "tensorwise":
        says = (
            "`fp8_enable_fsdp_float8_all_gather` only supports the tensorwise `fp8_config.recipe`; disable it when using rowwise scaling."
        )
        raise requires(
            PRECISION,
            "fp8_enable_fsdp_float8_all_gather",
            "fp8_config.recipe: tensorwise",
            says,
            at=("fp8_enable_fsdp_float8_all_gather", "fp8_config"),
        )
    sharding = data.get("fsdp_config") or {}
    if data.get("fp8"):
        _ = sharding.get  # axolotl looks keys up in it, to warn: an error for what is not a mapping
    if gather and data.release not in FSDP2_ONLY and data.get("fsdp_version", None) != 2:
        says = "fp8_enable_fsdp_float8_all_gather requires FSDP2 (fsdp_version: 2) to be used."
        raise requires(PRECISION, "fp8_enable_fsdp_float8_all_gather", "fsdp_version: 2", says)
    if gather and data.release in FSDP2_ONLY and not data.get("fsdp_config"):
        says = "fp8_enable_fsdp_float8_all_gather requires FSDP2 (fsdp_config) to be used."
        raise requires(PRECISION, "fp8_enable_fsdp_float8_all_gather", "fsdp_config", says)


def reentrant_and_unfrozen(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:699 does."""
    if (
        data.get("unfrozen_parameters")
        and data.get("gradient_checkpointing_kwargs")
        and data.get("gradient_checkpointing_kwargs", {}).get("use_reentrant") is True
    ):
        says = "`use_reentrant` must be false when used with partially frozen model."
        raise excludes(CHECKPOINTING, "gradient_checkpointing_kwargs.use_reentrant: true", "unfrozen_parameters", says)


def compile_by_itself(data: Data) -> None:
    """Complete the values as utils/schemas/config.py:2106 does: torch is assumed to be installed."""
    if data.get("torch_compile") == "auto":
        data["torch_compile"] = True
