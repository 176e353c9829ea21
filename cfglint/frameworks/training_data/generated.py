"""Training data that the trainer generates, as GRPO does, by the release of TRL, whose classes other frameworks use."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Callable, Operand
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.batch.solver import SplitRule

Number = int | float | None

DROPS_INCOMPLETE: Version = (0, 20, 0)  # before, prompts that do not fill a generation are counted
# The releases that require complete groups in an evaluation batch, and the first in which `num_generations_eval` counts there.
EVALUATION_CHECKED = (Releases((0, 15, 0), (0, 20, 0)), Releases((0, 22, 0)))
OWN_EVALUATION: Version = (0, 26, 1)
MOST_GENERATIONS = 10_000  # per prompt; the limit of the search for a batch


class Generation(Record):
    """The numbers of one generation: completions, the micro batches made of them, completions per prompt, and passes."""

    size: Number
    steps: Number
    per_prompt: Operand = 1
    passes: Operand = 1

    def complete(self, micro: Number, processes: int | None, steps: Number) -> None:
        """Fill in the size or the steps that are not set, by the micro batch of all processes; `steps` are those where neither is."""
        at_once = micro * processes if micro is not None and processes is not None else None
        if self.size is None:
            self.steps = steps if self.steps is None else self.steps
            self.size = at_once * self.steps if at_once is not None and self.steps is not None else None
        elif self.steps is None and at_once:
            self.steps = self.size // at_once

    @property
    def prompts(self) -> int | None:
        """The prompts of one generation; None if they are unknown, or the last one would lack completions."""
        size, each = self.size, self.per_prompt
        return size // each if isinstance(size, int) and isinstance(each, int) and each and not size % each else None

    def loaded(self, examples: int | None, micro: int | None, release: Version) -> tuple[int | None, int | None]:
        """(completions per epoch, completions of one process per generation); None for an unknown number."""
        size, steps, per_prompt, passes = self.size, self.steps, self.per_prompt, self.passes
        if not (isinstance(size, int) and isinstance(steps, int) and isinstance(per_prompt, int) and isinstance(passes, int)):
            return None, micro
        if examples is None or micro is None or min(size, steps, per_prompt, passes) < 1 or size < per_prompt:
            return None, micro
        return counted_prompts(examples, size // per_prompt, release) * per_prompt * passes * steps, micro * steps

    def because(self, examples: int, micro: object, release: Version) -> str:
        size, steps, per_prompt = self.size, self.steps, self.per_prompt
        again = f" x {self.passes} passes" if self.passes != 1 else ""
        if release >= DROPS_INCOMPLETE and size and per_prompt:
            return f"{examples:,} prompts / {size // per_prompt:g} per generation, rounded down, x {steps} micro batches{again}"
        processes = f" / {size / (micro * steps):g} processes" if size and steps and isinstance(micro, int) and micro else ""
        return f"{examples:,} prompts x {per_prompt} completions{again} / micro batch {micro}{processes}, rounded down"


def counted_prompts(examples: int, prompts: int, release: Version) -> int:
    return examples // prompts * prompts if release >= DROPS_INCOMPLETE else examples


def has_complete_groups(per_prompt: int, size: int | None, steps: int | None) -> Callable[[int, int, int], bool]:
    """Whether micro batch, accumulation and processes give generations of complete groups; without `steps` they are the accumulation."""

    def fits(micro: int, accumulation: int, processes: int) -> bool:
        at_once = micro * processes
        completions = size if size is not None else at_once * (steps or accumulation)
        return completions % per_prompt == 0 and completions >= per_prompt and (size is None or size % at_once == 0)

    return fits


def rule_of_groups(per_prompt: int, fits: Callable[[int, int, int], bool]) -> SplitRule:
    from cfglint.batch.solver import SplitRule

    return SplitRule(fits, per_prompt, f"a generation has to be a multiple of num_generations ({per_prompt})")
