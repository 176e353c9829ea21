"""The number of steps that the evaluation of one script or program may take.

Steps are counted, not seconds, so that the same input has the same result on every machine. Whatever takes time in proportion to its
input draws on the budget of its evaluation: statements, words, patterns, arithmetic, values, files. What is not evaluated because it
is spent is unknown, and reported as not evaluated.
"""

from __future__ import annotations

STEPS = 60_000  # of one evaluation, about a second
STEPS_OF_START = 20_000  # of a script from one start folder


class Exhausted(Exception):
    """Raised if an evaluation takes more steps than it may."""


class Budget:
    """The steps that an evaluation has left; what is spent of them is spent of `within`, the budget that they are a part of, too."""

    __slots__ = ("left", "spent", "within")

    def __init__(self, steps: int = STEPS, within: Budget | None = None) -> None:
        self.left = steps
        self.spent = 0
        self.within = within

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises Exhausted if fewer are left."""
        self.spent += steps
        self.left -= steps
        if self.left < 0:
            raise Exhausted
        within = self.within
        if within is not None:
            within.spend(steps)

    @property
    def is_spent(self) -> bool:
        return self.left < 0 or (self.within is not None and self.within.is_spent)
