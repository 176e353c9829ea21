"""A copy of verl in the project: its version, and the checks that its code has."""

from __future__ import annotations

import functools
import os
import re

from cfglint.frameworks.releases.versions import Version, is_version, parse_version
from cfglint.source.annotations import Callable

ENGINE_WORKERS = "workers/engine_workers.py"
OF_ENGINE_WORKERS = (("VRL018", "AssertionError"), ("VRL025", "AssertionError"))  # their checks, which have no message
# The files of verl that raise what cfglint predicts, in any release.
CHECKING = (
    """
    protocol.py trainer/main_ppo.py trainer/ppo/core_algos.py trainer/ppo/ray_trainer.py trainer/ppo/reward.py
    trainer/ppo/v1/trainer_base.py utils/config.py utils/tensordict_utils.py workers/config/actor.py workers/config/critic.py
    workers/config/optimizer.py workers/config/rollout.py workers/engine/utils.py workers/engine_workers.py workers/fsdp_workers.py
    """
).split()
EXCEPTION = re.compile(r".*\.\.\.: |\b[\w.]*(?:Error|Exception)\b[:(]?")
VARIABLE = re.compile(r"[0-9(){}\[\]'\"=%]+")
JOINED = re.compile(r"[\"']\s*\n\s*f?[\"']")  # a string that continues on the next line


class OwnCopy:
    """The folder of a copy of verl, that of its `trainer`, `workers` and `version`."""

    def __init__(self, folder: str, read: Callable[[str], str | None]) -> None:
        self.folder = folder
        self._read = read

    @property
    def release(self) -> Version | None:
        """The release that its version file names; None without one."""
        text = (self._read(os.path.join(self.folder, "version/version")) or "").strip()
        return parse_version(text) if is_version(text) and "." in text else None

    def raises(self, exception: str) -> bool | None:
        """Whether its code has the message of an exception; None for an exception without one."""
        if exception.startswith("omegaconf."):
            return True
        words = fixed_words(exception) if not exception.startswith(("ZeroDivisionError", "TypeError")) else ""
        return words in self._source if words else None

    def has(self, file: str) -> bool:
        return self._read(os.path.join(self.folder, file)) is not None

    def names(self, value: str) -> bool:
        """Whether its code has a string, so that it may accept it as a choice."""
        return f'"{value}"' in self._source or f"'{value}'" in self._source

    @functools.cached_property
    def _source(self) -> str:
        texts = (self._read(os.path.join(self.folder, name)) for name in CHECKING)
        return JOINED.sub("", "\n".join(text for text in texts if text))


def fixed_words(exception: str) -> str:
    """The longest part of a message that has no values in it; empty if there is none."""
    parts = (part.strip() for part in VARIABLE.split(EXCEPTION.sub("", exception)))
    longest = max(parts, key=len)
    return longest if len(longest) >= 10 else ""  # characters by which a message is recognised
