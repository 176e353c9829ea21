"""The section `fsdp_config` of a trainer's file as a release reads it."""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.source.annotations import ConfigMapping

PLAIN_KEYS = (4, 32)  # the keys of fsdp_config have the prefix `fsdp_` before
SECTION_RULES = (5, 10)  # FSDP2 and checks of fsdp_config from here on


class FsdpSection:
    """The section `fsdp_config` without its `fsdp_` prefixes; `place` returns the key as written."""

    def __init__(self, config: TrainerConfig) -> None:
        self.config = config
        written = config.section("fsdp_config") or {}
        self.values: ConfigMapping = {}
        self.spelling: ConfigMapping = {}
        strips = config.version >= SECTION_RULES or "fsdp_config" in config.files
        for key, value in written.items():
            is_prefixed = isinstance(key, str) and key.startswith("fsdp_")
            if config.version < PLAIN_KEYS and not is_prefixed and key != "xla":
                continue
            name = key[5:] if is_prefixed and (strips or config.version < PLAIN_KEYS) else key
            self.values[name] = value
            self.spelling[name] = key

    def place(self, key: str) -> Setting:
        return self.config.setting("fsdp_config", self.spelling.get(key, key))

    @property
    def version(self) -> int | None:
        if self.config.version < SECTION_RULES:
            return 1
        try:
            return int(self.values.get("version", 2))
        except (TypeError, ValueError):
            return None
