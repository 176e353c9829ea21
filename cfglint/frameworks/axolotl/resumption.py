"""The checkpoint that axolotl continues from. It computes the steps of the run itself, whatever micro batch the checkpoint restores."""

from __future__ import annotations

from cfglint.frameworks.axolotl.batch import total_steps
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.huggingface.resumption import continued, last_of_output, named_in_config
from cfglint.frameworks.resumption import Resumption, given_checkpoint

AUTO = "auto_resume_from_checkpoints"


def resumption(config: AxolotlConfig) -> Resumption | None:
    """The checkpoint of a run: the one that it names, else with `auto_resume_from_checkpoints` the last one of the output folder."""
    chosen = given_checkpoint(config.facts)
    if chosen is None and config.values.get("resume_from_checkpoint"):
        chosen = named_in_config(config)
    elif chosen is None and config.values.get(AUTO) is True:
        chosen = last_of_output(config, config.setting(AUTO), is_unasked=True)
    found = continued(config, chosen)
    if found is not None and found.begin is not None:
        total = total_steps(config)
        found.end = total if total is not None and found.begin < total else None
    return found
