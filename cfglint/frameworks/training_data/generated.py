"""Training data that the trainer generates: what depends on the release of TRL, whose classes other frameworks use."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.releases.versions import Version

Number = int | float | None

DROPS_INCOMPLETE: Version = (0, 20, 0)  # before, prompts that do not fill a generation are counted
# The releases that require complete groups in an evaluation batch, and the first in which `num_generations_eval` counts there.
EVALUATION_CHECKED = (Releases((0, 15, 0), (0, 20, 0)), Releases((0, 22, 0)))
OWN_EVALUATION: Version = (0, 26, 1)


def generated_batches(examples: int, size: Number, steps_: Number, per_prompt: Number, passes: Number, micro: object, whole: bool) -> str:
    """How prompts become the batches of one process; `whole`: those that do not fill a generation are not counted."""
    again = f" x {passes} passes" if passes != 1 else ""
    if whole and size and per_prompt:
        return f"{examples:,} prompts / {size // per_prompt:g} per generation, rounded down, x {steps_} micro batches{again}"
    processes = f" / {size / (micro * steps_):g} processes" if size and steps_ and isinstance(micro, int) and micro else ""
    return f"{examples:,} prompts x {per_prompt} completions{again} / micro batch {micro}{processes}, rounded down"
