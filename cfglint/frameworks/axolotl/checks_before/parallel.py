"""FSDP, DeepSpeed and parallel sizes: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import CHECKPOINTING, COMPILE, FSDP, Data, excludes, refuses, requires
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY

FSDP1_REFUSED = {"sharding_strategy": "reshard_after_forward", "forward_prefetch": ""}
VERSION_IN_BOTH = Releases((0, 14, 0))  # the version of FSDP is written at the top level and in `fsdp_config`
FSDP1_BY_DEFAULT = Releases((0, 18, 0), (0, 20, 0))
FSDP1_IGNORED = ("sync_module_states", "backward_prefetch", "backward_prefetch_policy", "limit_all_gathers", "use_orig_params")


def fsdp_version_inside(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:1541 does."""
    given, version = data.get("fsdp_config") or {}, data.get("fsdp_version", None)
    if not given:
        return
    given = data["fsdp_config"] = {**given}
    if data.release not in VERSION_IN_BOTH:
        if given.get("fsdp_version"):
            data["fsdp_version"] = given.pop("fsdp_version")
        return
    if not version and given.get("version"):
        data["fsdp_version"] = given["fsdp_version"] = given.pop("version")
    elif not version and given.get("fsdp_version"):
        data["fsdp_version"] = given.get("fsdp_version")
    if version and not given.get("fsdp_version"):
        given["fsdp_version"] = version
    if not data.get("fsdp_version") and data.release in FSDP2_ONLY:
        data["fsdp_version"] = given["fsdp_version"] = 2
    elif not data.get("fsdp_version") and data.release in FSDP1_BY_DEFAULT:
        data["fsdp_version"] = given["fsdp_version"] = 1


def fsdp_prefixes(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:1520 does."""
    given = data.get("fsdp_config")
    if given and any(key.startswith("fsdp_") and key != "fsdp_version" for key in given):
        data["fsdp_config"] = {
            key.replace("fsdp_", "") if key.startswith("fsdp_") and key != "fsdp_version" else key: value for key, value in given.items()
        }


def fsdp_quantized_preference(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1500 does."""
    sharded = data.get("fsdp_config") if data.release in FSDP2_ONLY else data.get("fsdp_version") == 2
    if sharded and data.get("rl") in ("dpo", "kto", "orpo", "ipo"):
        loaded = next((key for key in ("load_in_8bit", "load_in_4bit") if data.get(key)), "")
        if loaded:
            says = f"FSDP2 does not support load_in_8bit or load_in_4bit with {data.get('rl')}. Please use DeepSpeed instead."
            raise excludes(
                FSDP, loaded, f"FSDP2 and `rl: {data.get('rl')}`", says, at=(loaded, "fsdp_config", "rl"), remedy="use DeepSpeed"
            )


def fsdp_pinning(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1486 does."""
    given = data.get("fsdp_config")
    if not given or given.get("cpu_offload_pin_memory") is not False:
        return
    if data.release not in FSDP2_ONLY and str(data.get("fsdp_version")) != "2":
        says = "FSDP1 does not support disabling cpu_offload_pin_memory, please set `fsdp_version` to 2"
        raise requires(FSDP, "fsdp_config.cpu_offload_pin_memory: false", "fsdp_version: 2", says)
    if not given.get("offload_params"):
        says = "disabling cpu_offload_pin_memory requires enabling offload_params"
        raise requires(FSDP, "fsdp_config.cpu_offload_pin_memory: false", "fsdp_config.offload_params: true", says)


def fsdp1(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1437 does; releases before 0.20.0 only warn."""
    if data.release not in FSDP2_ONLY:
        return
    if data.get("fsdp"):
        says = (
            "The top-level `fsdp` list is no longer supported, it configured FSDP1 sharding strategies. Use `fsdp_config` instead, see "
            "docs/multi-gpu.qmd#sec-migrate-fsdp1-fsdp2 for the migration guide."
        )
        raise refuses(FSDP, "fsdp", "`fsdp` was removed with FSDP1", says, remedy="use `fsdp_config` with `fsdp_version: 2`")
    given = data.get("fsdp_config") or {}
    for key, version in (
        ("fsdp_version", data.get("fsdp_version")),
        ("fsdp_config.fsdp_version", given.get("fsdp_version")),
        ("fsdp_config.version", given.get("version")),
    ):
        if version is not None and str(version) != "2":
            says = (
                f"fsdp_version: {version} is no longer supported, FSDP1 has been removed from Axolotl. Use fsdp_version: 2 and see "
                "docs/multi-gpu.qmd#sec-migrate-fsdp1-fsdp2 for the migration guide."
            )
            raise refuses(FSDP, key, f"`fsdp_version: {version}` is not supported", says, remedy="set every `fsdp_version` to 2")
    for key in list(given.keys()):
        name = key[5:] if key.startswith("fsdp_") and key != "fsdp_version" else key
        if name in FSDP1_REFUSED:
            instead = FSDP1_REFUSED[name]
            says = f"fsdp_config.{name} is an FSDP1-only option and FSDP1 has been removed from Axolotl. " + (
                f"Use `{instead}` instead." if instead else "It has no FSDP2 equivalent, please remove it."
            )
            remedy = f"use `{instead}`" if instead else f"remove `fsdp_config.{key}`"
            raise refuses(FSDP, f"fsdp_config.{key}", f"`fsdp_config.{name}` is an FSDP1 option and was removed", says, remedy=remedy)
        if name in FSDP1_IGNORED:
            given.pop(key)


def fsdp_and_deepspeed(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1650 does."""
    key = "fsdp_config" if data.release in FSDP2_ONLY else "fsdp"
    if data.get("deepspeed") and data.get(key):
        raise excludes(FSDP, key, "deepspeed", "deepspeed and fsdp cannot be used together.")


def two_memory_limits(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1638 does."""
    if data.get("max_memory") is not None and data.get("gpu_memory_limit") is not None:
        says = "max_memory and gpu_memory_limit are mutually exclusive and cannot be used together."
        raise excludes(CHECKPOINTING, "max_memory", "gpu_memory_limit", says)


def tensor_parallel_json(data: Data) -> None:
    """Complete the DeepSpeed file as utils/schemas/validation.py:1582 does: a mapping cannot be opened."""
    size = data.get("tensor_parallel_size")
    if size is not None and size > 1 and data.get("deepspeed"):
        named_file(data)
        data.additions.update({"tensor_parallel": {"autotp_size": size}, "zero_optimization.gather_16bit_weights_on_model_save": True})


def deepcompile(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1615 does."""
    if not data.get("deepcompile"):
        return
    if not data.get("deepspeed"):
        raise requires(COMPILE, "deepcompile", "deepspeed", "DeepCompile is only supported with DeepSpeed")
    named_file(data)
    data.additions["compile"] = {"deepcompile": True}


def named_file(data: Data) -> None:
    """Refuse a DeepSpeed config that is opened as a file but is not a file name."""
    if not isinstance(data.get("deepspeed"), str):
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(data['deepspeed']).__name__}")
