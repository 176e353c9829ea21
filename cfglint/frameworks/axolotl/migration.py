"""Migrates keys of older releases to those of this one: FSDP1 to FSDP2, and keys that never changed a result.

axolotl refuses one such key at a time; the fix is for all of them, so that one pass is enough. Source: axolotl 0.21.0
utils/schemas/validation.py:1437-1478, utils/schemas/deprecated.py, docs/multi-gpu.qmd (migrating from FSDP1 to FSDP2).
"""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.fix_builders import Part, removed, renamed, replaced, several
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.source.annotations import ConfigMapping

SECTION = "fsdp_config"
PREFIX = "fsdp_"
FSDP1_REFUSED = {"sharding_strategy": "reshard_after_forward", "forward_prefetch": ""}  # and their new names
VERSIONS = ("fsdp_version", "version")
RESHARDS = {"FULL_SHARD": True, "1": True, "SHARD_GRAD_OP": False, "2": False}  # FSDP1's strategies, as ZeRO-3 and ZeRO-2
# Removed keys that selected a kernel, an equivalent computation, or the logged values.
HARMLESS = ("flash_attn_rms_norm", "dpo_use_logits_to_keep", "dpo_generate_during_eval")


def migrated(config: AxolotlConfig, refusal: Refusal) -> Fix | None:
    """The fix that migrates the old keys of a file; None for another kind of refusal, or without a reliable replacement."""
    name = refusal.paths[0][-1] if refusal.paths else ""
    if name not in ("fsdp", *VERSIONS, *HARMLESS) and plain(name) not in FSDP1_REFUSED:
        return None
    parts = of_fsdp1(config)
    if parts is None:
        return None
    parts += [removed(config.place((key,))) for key in HARMLESS if config.get(key) is not None]
    return several(parts, "write it for FSDP2" if name not in HARMLESS else f"remove {name}", safe=True) if parts else None


def of_fsdp1(config: AxolotlConfig) -> list[Part] | None:
    """The changes from FSDP1 to FSDP2; None if a setting of the file has no counterpart."""
    section, old = config.get(SECTION), config.get("fsdp")
    given: ConfigMapping = section if isinstance(section, dict) else {}
    parts: list[Part] = []
    if old:
        offloads = "offload" in str(old) and not any(given.get(key) for key in ("offload_params", "fsdp_offload_params"))
        if not given or offloads:
            return None
        parts.append(removed(config.place(("fsdp",))))
    versions = [("fsdp_version",), *((SECTION, key) for key in VERSIONS)]
    values = [config.get("fsdp_version"), *(given.get(key) for key in VERSIONS)]
    parts += [replaced(config.place(path), 2) for path, value in zip(versions, values, strict=True) if value not in (None, 2, "2")]
    for key in map(str, given):
        name = plain(key)
        if name not in FSDP1_REFUSED:
            continue
        setting, new = config.place((SECTION, key)), FSDP1_REFUSED[name]
        if not new or any(given.get(other) is not None for other in (new, PREFIX + new)):
            parts.append(removed(setting))
            continue
        reshards = RESHARDS.get(str(given[key]).upper())
        if reshards is None:
            return None  # FSDP2 does not have the strategy
        parts += [replaced(setting, reshards), renamed(setting, (PREFIX if key.startswith(PREFIX) else "") + new)]
    return parts


def plain(key: str) -> str:
    """The name of an option without the prefix of older files."""
    return key.removeprefix(PREFIX)
