"""The inputs of a memory estimate: the shape of the model, and the settings that the framework derives from the files."""

from __future__ import annotations

from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.batch.memory import Settings, Shape


class Model(Record):
    """The shape of a model, the dtype of its checkpoint if it is known, and their source."""

    shape: Shape
    checkpoint: str | None
    source: str


class Inputs(Record):
    """The inputs of an estimate: the settings, possible alternatives, and what was assumed.

    `missing` names what has to be known first, each with its flag; without it no estimate is made. `micro_known` is false where
    the micro batch of the settings is a placeholder.
    """

    settings: Settings
    alternatives: tuple[Settings, ...] = ()
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    micro_known: bool = True
