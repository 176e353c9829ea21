"""The memory of a run on each GPU, by its model and the settings of its files. Imported only if a model or a card is known."""

from __future__ import annotations

from cfglint.batch.cards import SIZES, Memory
from cfglint.batch.memory.estimate import (
    CLASS_C,
    CLOSE,
    DOES_NOT_FIT,
    FITS,
    GIB,
    PROBABLY_NOT,
    Estimate,
    Fit,
    estimate,
    in_words,
    largest_in_words,
    largest_micro_batch,
    longest_row,
    on_cards,
    possible,
    smallest_card,
    verdict,
)
from cfglint.batch.memory.savings import Together, together
from cfglint.batch.memory.settings import FSDP, ZERO
from cfglint.frameworks.base import Config
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.frameworks.memory.named_models import model_of
from cfglint.source.record import Record, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import MemoryDrawing, MemoryEntry

# The arguments and keys for the tokens per row.
ROW_KEYS = (
    *("max_length", "max_seq_length", "block_size", "cutoff_len", "sequence_len", "seq_length", "model_max_length"),
    *("max_seq_len", "max_len", "seq_len", "total_max_len"),
)
STATES = ("weights", "gradients", "optimizer")
SHOWN = 0.05  # GiB: smaller terms are left out of the line
MODEL_FLAG = "--model"
CARD_FLAG = "--gpu-memory"
ROWS_FLAG = "--seq-length"
GPUS_FLAG = "--gpus"
ALL_TRAINED = "all weights are trained"  # the begin of an assumption
CERTAINTY = {"A": "close estimate", "B": "estimate", "C": "rough estimate"}


class RunMemory(Record):
    """The memory of a run; a number is null if the card, the micro batch or the tokens per row are unknown."""

    model: Model
    inputs: Inputs
    estimate: Estimate
    available: float | None
    verdict: Fit | None = None
    surely: int | None = None
    possibly: int | None = None
    longest: int | None = None  # the tokens per row that surely fit, where these are unknown

    @property
    def line(self) -> str:
        shape = f", shape of {self.model.name}" if self.model.name else ""
        assumed = f" (assumed: {', '.join(self.assumed)})" if self.assumed else ""
        return "; ".join([*self.peak(), *self.fitting(), CERTAINTY[self.estimate.classification] + shape]) + assumed

    @property
    def short_line(self) -> str:
        """The line without terms and shape, and without what is assumed of the run."""
        return "; ".join([self.peak()[0], *self.fitting(), CERTAINTY[self.estimate.classification], *self.assumed_of_card])

    def peak(self) -> list[str]:
        """The peak with its band and verdict, then its terms; of one row or without activations, where the micro batch is unknown."""
        total, peak = self.estimate, self.estimate.peak
        terms = ", ".join(f"{name} {rounded(size)}" for name, size in peak.terms().items() if size >= SHOWN * GIB)
        if self.inputs.known:
            size = f"{rounded(total.total)} GiB{self.of_card} ({rounded(total.low)} to {rounded(total.high)}){self.word}"
            return [size, f"peak {'at' if 'optimizer step' in peak.name else 'in'} the {peak.name}: {terms}"]
        without, unknown = "without activations", "the length of the rows"
        if self.inputs.rows_known:
            without, unknown = "with a micro batch of 1", "the micro batch"
        size = f"{rounded(total.total)} GiB{self.of_card} {without}{self.word}"
        return [f"{size}: {terms}" if terms else size, f"{unknown} is unknown"]

    def fitting(self) -> list[str]:
        """What `nvidia-smi` shows and the cards that fit, if the activations are known, then the largest micro batch and longest rows."""
        total, parts = self.estimate, list[str]()
        if self.inputs.known:
            parts += [on_cards(total)] if self.available is None else []
            shown = [self.shown(size) for size in (total.shown, total.shown_low, total.shown_high)]
            sizes = [rounded(GIB * size) for size in shown if size is not None]
            is_whole_card = len(set(sizes)) == 1 and self.available is not None  # which says nothing of the run
            parts += [f"nvidia-smi about {sizes[0]} ({sizes[1]} to {sizes[2]})"] if sizes and not is_whole_card else []
        if self.surely is not None:
            parts.append(largest_in_words(self.surely, self.possibly, total.classification))
        return parts + ([f"rows of up to {self.longest:,} tokens surely fit"] if self.longest else [])

    def told(self, before: RunMemory | None = None) -> str:
        """The memory of a run for a line of its own, after that of the run before a change."""
        total = self.estimate
        if not self.inputs.known:
            return f"memory on each GPU {self.peak()[0].partition(':')[0]}"
        # the GPUs divide the memory, and their number is not known
        both = (run.inputs for run in (self, before or self))
        is_open = [inputs.settings.sharded in (ZERO, FSDP) and f"1 GPU ({GPUS_FLAG})" in inputs.assumed for inputs in both]
        comparable = before is not None and before.inputs.known and is_open[0] == is_open[1]
        was = rounded(before.estimate.total) if before is not None and comparable else rounded(total.total)
        changed_from = f"{was} -> " if was != rounded(total.total) else ""
        gpus = "if it is on 1 GPU" if is_open[0] else "on each GPU"
        band = f"{changed_from}{rounded(total.total)} GiB{self.of_card} {gpus} ({rounded(total.low)} to {rounded(total.high)})"
        all_trained = next((text for text in reversed(self.inputs.assumed) if text.startswith(ALL_TRAINED)), "")
        condition = f", if {all_trained.partition(':')[0]}" if all_trained else ""
        return f"memory {band}{f': {on_cards(total)}' if self.available is None else self.word}{condition}"

    @property
    def assumed_of_card(self) -> list[str]:
        return [self.available.assumption] if isinstance(self.available, Memory) and self.available.assumption else []

    @property
    def assumed(self) -> list[str]:
        return [*self.assumed_of_card, *self.inputs.assumed]

    @property
    def of_card(self) -> str:
        return f" of {self.available:g}" if self.available is not None else ""

    @property
    def word(self) -> str:
        return f" {self.judgement}" if self.verdict is not None else ""

    @property
    def judgement(self) -> str:
        """The verdict in words; empty without one."""
        if self.verdict is None:
            return ""
        words = in_words(self.verdict, self.estimate.total / GIB, self.available)
        return f"{words} if all weights are trained" if words == PROBABLY_NOT and self.inputs.all_trained_assumed else words

    @property
    def of_both(self) -> str:
        """The peak and the memory of the card, rounded for a headline."""
        return f"{'about' if self.inputs.known else 'at least'} {rounded(self.estimate.total)} of {self.available:g} GiB on each GPU"

    def together(self) -> Together | None:
        """Changes that together make a run fit that does not surely fit; None where it fits, and where there are none."""
        if self.available is None or not self.inputs.known or self.verdict == FITS:
            return None

        return together(self.model.shape, (self.inputs.settings, *self.inputs.alternatives), self.available)

    @property
    def remedy(self) -> str:
        """What would make the run fit, in one line for display; empty where it fits or that is not known."""
        if self.available is None or not self.inputs.known or self.verdict in (FITS, None):
            return ""
        together = self.together()
        if together is None:
            return "no combination of these settings surely fits: use more GPUs, adapters (LoRA), quantization or offloading"
        names = " + ".join(together.changes)
        estimate = together.estimate
        return f"{names} would fit: {rounded(estimate.total)} GiB ({rounded(estimate.low)} to {rounded(estimate.high)})"

    def shown(self, size: float) -> float | None:
        """What `nvidia-smi` shows in GiB, at most all of the card or of the smallest that surely is enough; None if the run ends before."""
        if not self.inputs.known or self.verdict == DOES_NOT_FIT:
            return None
        card = smallest_card(self.estimate)
        most = self.available if self.available is not None else SIZES[card] if card is not None else None
        return gib(size if most is None else min(size, most * GIB))

    def drawn(self) -> MemoryDrawing:
        """The entry with its verdict in words, its line for display and the terms of every moment, for diagrams."""
        moments = [(moment.name, {name: gib(size) for name, size in moment.terms().items()}) for moment in self.estimate.moments]
        return {**self.entry(), "judgement": self.judgement, "line": self.line, "moments": moments if self.inputs.known else []}

    def entry(self) -> MemoryEntry:
        """Plain values, as `explain --format json` has them; without the tokens of a micro batch the least that the run needs."""
        found, known = self.estimate, self.inputs.known
        remedy = self.together()
        return {
            "peak_gib": gib(found.total) if known else None,
            "low_gib": gib(found.low),
            "high_gib": gib(found.high) if known else None,
            "shown_gib": self.shown(found.shown),
            "shown_low_gib": self.shown(found.shown_low),
            "shown_high_gib": self.shown(found.shown_high),
            "cards": on_cards(found) if known and self.available is None else None,
            "available_gib": self.available,
            "verdict": self.verdict,
            "class": found.classification,
            "moment": found.peak.name if known else None,
            "terms": {name: gib(size) if known or name in STATES else None for name, size in found.peak.terms().items()},
            "largest_micro_batch": {"surely": self.surely, "possibly": self.possibly},
            "longest_row": self.longest,
            "would_fit": {"changes": remedy.changes, "peak_gib": gib(remedy.estimate.total)} if remedy is not None else None,
            "model": self.model.name or None,
            "assumed": self.assumed,
        }


def rounded(size: float) -> str:
    """Bytes in GiB for display: one decimal below 100."""
    amount = size / GIB
    return f"{amount:.1f}" if amount < 100 else f"{amount:.0f}"


def gib(size: float) -> float:
    return round(size / GIB, 3)


def memory_of(config: Config) -> RunMemory | None:
    """The memory of a config's run; None if the model's shape or the memory settings of its framework are unknown."""
    model = model_of(config)
    inputs: Inputs | None = config.part("memory", None, model) if model is not None else None
    if model is None or inputs is None:
        return None
    available, shape, runs = config.facts.gpu_memory, model.shape, (inputs.settings, *inputs.alternatives)
    try:
        total = estimate(shape, *runs)
    except OverflowError:  # sizes that exceed a float
        return None
    memory = RunMemory(model, inputs, total, available)
    if available is None:
        return memory
    judged = verdict(total, available)
    memory.verdict = judged if judged == DOES_NOT_FIT or inputs.known else None
    if inputs.rows_known:
        memory.surely = largest_micro_batch(shape, available, runs)
        memory.possibly = largest_micro_batch(shape, available, runs, possible)
    elif inputs.micro_known:
        memory.longest = longest_row(shape, available, runs)
    return memory


class MicroBatchBound(Record):
    """The largest micro batch to choose for a card, whether it fits, also in words, and what would make the run fit where it does not."""

    size: int
    fit: Fit
    remedy: str = ""
    judgement: str = ""

    @property
    def reason(self) -> str:
        if self.fit == FITS:
            return f"micro batch at most {self.size}: more does not surely fit"
        if self.fit == CLOSE:
            return f"micro batch at most {self.size}: that {self.judgement}"
        return "micro batch 1: even that does not fit"

    def about(self, chosen: int) -> str:
        """The remark on a micro batch that was chosen, which another limit may have made larger."""
        if chosen <= self.size:
            return self.reason
        if self.fit == DOES_NOT_FIT:
            return f"micro batch {chosen}: not even 1 fits"
        return f"micro batch {chosen} is above {self.size}, the largest that {'surely fits' if self.fit == FITS else 'may fit'}"


def micro_batch_bound(config: Config) -> MicroBatchBound | None:
    """The largest micro batch that surely fits, else the largest that may fit, else 1; None if model or card are unknown."""
    memory = memory_of(config) if config.facts.gpu_memory is not None else None
    if memory is None or memory.surely is None:
        return None
    if memory.surely:
        return MicroBatchBound(memory.surely, FITS)
    size = memory.possibly or 1
    fit = CLOSE if memory.possibly or memory.estimate.classification == CLASS_C else DOES_NOT_FIT
    inputs = memory.inputs.with_micro_batch(size)
    needed = estimate(memory.model.shape, inputs.settings).total
    return MicroBatchBound(size, fit, changed(memory, inputs=inputs).remedy, in_words(fit, needed / GIB, memory.available))


def missing_for(config: Config) -> list[str]:
    """The flags that supply missing facts for an estimate and its verdict; empty if this kind of run is not modelled."""
    if "memory" not in config.parts:
        return []
    flags = [] if config.facts.gpu_memory is not None else [CARD_FLAG]
    model = model_of(config)
    if model is None:
        return [MODEL_FLAG, *flags]
    inputs: Inputs | None = config.part("memory", None, model)
    return [*([ROWS_FLAG] if inputs is not None and not inputs.rows_known else []), *flags]
