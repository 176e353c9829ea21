"""The inputs of a memory estimate: the shape of the model, and the settings that the framework derives from the files."""

from __future__ import annotations

from cfglint.batch.memory.settings import Settings
from cfglint.batch.memory.shape import Shape
from cfglint.source.record import Record, changed


class Model(Record):
    """The shape of a model and the dtype of its checkpoint, with their source; `name` is that of a published shape.

    `assumption` is set where it may be another model, `quantised`: its checkpoint has 4- or 8-bit weights.
    """

    shape: Shape
    checkpoint: str | None
    source: str
    name: str = ""
    assumption: str = ""
    quantised: bool = False


class Inputs(Record):
    """The settings, possible alternatives, and what was assumed: the micro batch or the rows that are not known are 1.

    `all_trained_assumed`: an argument or the code may limit which weights are trained, in a way that is not modelled.
    """

    settings: Settings
    alternatives: tuple[Settings, ...] = ()
    assumed: tuple[str, ...] = ()
    rows_known: bool = True
    micro_known: bool = True
    all_trained_assumed: bool = False

    @property
    def known(self) -> bool:
        return self.rows_known and self.micro_known

    def with_micro_batch(self, size: int) -> Inputs:
        settings, *others = (changed(each, micro_batch=size) for each in (self.settings, *self.alternatives))
        return changed(self, settings=settings, alternatives=tuple(others))
