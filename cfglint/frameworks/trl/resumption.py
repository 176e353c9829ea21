"""The checkpoint that a TRL trainer continues from: up to 1.14 the command's own scripts call `train()` without one."""

from __future__ import annotations

from cfglint.frameworks.huggingface.resumption import continued, named_in_config
from cfglint.frameworks.resumption import Resumption, given_checkpoint
from cfglint.frameworks.trl.config import TrlConfig

PASSED_ON = (1, 15)


def resumption(config: TrlConfig) -> Resumption | None:
    """The checkpoint of a run; None where the script of the command ignores the argument."""
    checkpoint = given_checkpoint(config.facts)
    if checkpoint is None and config.command is not None and config.trl_version < PASSED_ON:
        return None
    return continued(config, checkpoint or named_in_config(config))
