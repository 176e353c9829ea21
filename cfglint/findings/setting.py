"""A value with its origin."""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.remedy import Remedy
from cfglint.findings.vocabulary import BatchReason, Origin, Stage
from cfglint.findings.wording import LONGEST_VALUE, spelled
from cfglint.source.annotations import Operand
from cfglint.source.document import SCALAR, Document, Node, Path, Written, pointer
from cfglint.source.record import Record

WRITTEN: Origin = "written"
DEFAULT: Origin = "default"
DERIVED: Origin = "derived"
AUTO: Origin = "auto"
OVERRIDE: Origin = "override"
NOT_KNOWN = "not known"  # the source of a value that is set but unknown


class NoSuchField(LookupError):
    """A field that no release of the framework has was looked up: a bug in cfglint."""


class Setting(Record):
    """A value and its origin: written, a default, derived, from "auto", an override; `elsewhere`: the value's place, if not its key's."""

    path: Path
    value: Operand
    origin: Origin = DEFAULT
    document: Document | None = None
    node: Node | None = None
    key_node: Node | None = None
    because: str = ""
    elsewhere: Written | None = None
    is_late: bool = False

    @property
    def at_value(self) -> Setting:
        """The setting at the place where its value is written."""
        if self.elsewhere is None:
            return self
        document, path = self.elsewhere.document, self.elsewhere.path
        key_node, node = document.find(path)
        if node is None:  # where it could be added
            return self
        origin = WRITTEN if self.origin == DEFAULT else self.origin
        because = self.because if self.origin == OVERRIDE else ""
        return Setting(path, self.value, origin, document, node, key_node, because)

    @property
    def at_key(self) -> Setting:
        """The setting at the place where its key is written."""
        return self.at_value if self.elsewhere is not None and self.elsewhere.has_key else self

    @property
    def name(self) -> str:
        """The dotted key: `zero_optimization.stage`."""
        return ".".join(str(step) for step in self.path)

    @property
    def pointer(self) -> str:
        """The key as a JSON pointer into its file."""
        return pointer(self.path) if self.document is None else self.document.key_text(self.path)

    @property
    def written(self) -> bool:
        return self.origin == WRITTEN

    @property
    def is_unknown(self) -> bool:
        return isinstance(self.value, Unknown)

    @property
    def known(self) -> Operand:
        return None if self.is_unknown else self.value

    @property
    def integer(self) -> int | None:
        return integer(self.value)

    @property
    def is_set_later(self) -> bool:
        """Whether a program sets it on the object, after the class has checked its arguments."""
        return self.is_late or (self.document is not None and bool(self.path) and self.document.is_set_later(str(self.path[0])))

    @property
    def spelled(self) -> str:
        """The value as its file spells a scalar on one line, else as JSON does."""
        if (there := self.at_value) is not self:
            return there.spelled
        document, node, source = self.document, self.node, ""
        if self.written and document is not None and node is not None and node.kind == SCALAR and document.is_literal(str(self.path[0])):
            source = document.source(node.start, node.end)
        return source if 0 < len(source) <= LONGEST_VALUE and "\n" not in source else spelled(self.value)

    @property
    def place(self) -> str:
        """`train.yaml:12`, or the origin of a value that is not written."""
        if (there := self.at_value) is not self:
            return there.place
        if self.document is not None and self.node is not None and self.written:
            return f"{self.document.path}:{self.document.position(self.node.start)[0]}"
        return self.because or self.origin

    def __str__(self) -> str:
        return f"{self.name} ({self.place})" if self.is_unknown else f"{self.name} {self.value} ({self.place})"


def integer(value: object) -> int | None:
    """An integral value, a float too, as an int; anything else as None."""
    return int(value) if isinstance(value, int) or (isinstance(value, float) and value.is_integer()) else None


def derived(name: str, value: object, because: str) -> Setting:
    """A setting that is computed; without a value it is not known."""
    return Setting((name,), Unknown() if value is None else value, DERIVED, because=because)


class Layout(Record):
    """GPUs and the parallel sizes that divide them; a size is 1 if a framework has no such axis."""

    gpus: int | None
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    context_parallel: int = 1
    sequence_parallel: int = 1


class BatchProblem(Record):
    """The reason why a framework would refuse the batch: `reason` is `mismatch`, `missing`, `type`, `not-positive`, or `layout`."""

    reason: BatchReason
    setting: Setting
    message: str
    exception: str
    fails_at: Stage = "config"
    help: Remedy | str | None = None


class Batch(Record):
    """The batch as its framework computes it.

    `global_batch` is the size that the framework prints and compares with the file; `consumed_batch` is the number of samples
    that one optimizer step really takes. `data_parallel` is the framework's own divisor, and `gpus_per_replica`
    is what the framework divides the GPUs by to compute it.
    """

    layout: Layout
    micro_batch: Setting
    accumulation: Setting
    data_parallel: Setting
    global_batch: Setting
    consumed_batch: int | None = None
    problem: BatchProblem | None = None
    gpus_per_replica: int = 1
