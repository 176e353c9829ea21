"""The memory of a run on each GPU: the model's shape, the memory settings that its framework derives from the files, and the estimate.

This module is imported only if a model or a card is known.
"""

from __future__ import annotations

import os

from cfglint.batch.memory import GIB, estimate, largest_micro_batch, verdict
from cfglint.batch.memory.estimate import CLASS_C, CLOSE, DOES_NOT_FIT, FITS, possible
from cfglint.batch.memory.settings import BF16, FP16, FP32
from cfglint.batch.memory.shape import UnknownShape, of_config
from cfglint.frameworks.memory_inputs import Model
from cfglint.source.record import Record
from cfglint.source.root import leads_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.batch.memory import Estimate
    from cfglint.batch.memory.estimate import Fit
    from cfglint.findings.entries import MemoryDrawing, MemoryEntry
    from cfglint.frameworks.base import Config
    from cfglint.frameworks.memory_inputs import Inputs

CONFIG_FILE = "config.json"
DTYPES = {"float32": FP32, "bfloat16": BF16, "float16": FP16, "fp32": FP32, "bf16": BF16, "fp16": FP16, "half": FP16, "float": FP32}

SHOWN = 0.05  # GiB: smaller terms are left out of the line
MODEL_FLAG = "--model"
CARD_FLAG = "--gpu-memory"
ROWS_FLAG = "--seq-length"
GPUS_FLAG = "--gpus"


class UnknownModel(Exception):
    """A model whose shape is unknown; the message gives the reason."""


class RunMemory(Record):
    """The memory of a run; a number is null if the card or the micro batch is unknown."""

    model: Model
    inputs: Inputs
    estimate: Estimate
    available: float | None
    verdict: Fit | None
    surely: int | None
    possibly: int | None

    @property
    def line(self) -> str:
        """One line for display: peak, card, band, verdict, terms, the largest micro batch, assumptions."""
        found = self.estimate
        parts = []
        if self.inputs.micro_known:
            card = f" of {self.available:g}" if self.available is not None else ""
            word = f" {self.verdict.replace('-', ' ')}" if self.verdict is not None else ""
            terms = ", ".join(f"{name} {rounded(size)}" for name, size in found.peak.terms().items() if size >= SHOWN * GIB)
            parts.append(f"{rounded(found.total)} GiB{card} ({rounded(found.low)} to {rounded(found.high)}){word}")
            parts.append(
                f"peak at the {found.peak.name}: {terms}"
                if "optimizer step" in found.peak.name
                else f"peak in the {found.peak.name}: {terms}"
            )
        if self.surely is not None:
            parts.append(f"largest micro batch {self.surely}" + (f", possibly {self.possibly}" if self.possibly != self.surely else ""))
        parts.append(f"class {found.classification}")
        assumed = f" (assumed: {', '.join(self.inputs.assumed)})" if self.inputs.assumed else ""
        return "; ".join(parts) + assumed

    def drawn(self) -> MemoryDrawing:
        """The entry with its line for display and the terms of every moment, for diagrams."""
        moments = [(moment.name, {name: gib(size) for name, size in moment.terms().items()}) for moment in self.estimate.moments]
        return {**self.entry(), "line": self.line, "moments": moments if self.inputs.micro_known else []}

    def entry(self) -> MemoryEntry:
        """Plain values, as `explain --format json` has them."""
        found, known = self.estimate, self.inputs.micro_known
        return {
            "peak_gib": gib(found.total) if known else None,
            "low_gib": gib(found.low) if known else None,
            "high_gib": gib(found.high) if known else None,
            "available_gib": self.available,
            "verdict": self.verdict,
            "class": found.classification,
            "moment": found.peak.name if known else None,
            "terms": {name: gib(size) if known else None for name, size in found.peak.terms().items()},
            "largest_micro_batch": {"surely": self.surely, "possibly": self.possibly},
            "assumed": list(self.inputs.assumed),
        }


def rounded(size: float) -> str:
    """Bytes in GiB for display: one decimal below 100."""
    amount = size / GIB
    return f"{amount:.1f}" if amount < 100 else f"{amount:.0f}"


def gib(size: float) -> float:
    """Bytes in GiB with three decimals."""
    return round(size / GIB, 3)


def named_model(text: str) -> Model:
    """The model that a flag or a declared run names: a config.json, its folder, or a published model. Raises UnknownModel for anything
    else.
    """
    path = os.path.join(text, CONFIG_FILE) if os.path.isdir(text) else text
    if os.path.isfile(path):
        return read_model(path)
    from cfglint.batch.shapes import MODELS, known_name, shape_of

    name = known_name(text)
    if name is None:
        from difflib import get_close_matches

        near = get_close_matches(text.rpartition("/")[2].lower(), MODELS, n=3, cutoff=0.5)
        like = f", such as {', '.join(near or list(MODELS)[:3])}"
        raise UnknownModel(f"{text}: not a config.json, not a folder with one, and not a published model that is known{like}")
    return Model(shape_of(name), None, name)


def read_model(path: str) -> Model:
    """The model of a config.json. Raises UnknownModel if the file describes none."""
    import json

    from cfglint.source import files

    try:
        config = json.loads(files.read(path)[0])
    except (files.FileProblem, ValueError, RecursionError) as error:
        raise UnknownModel(f"{path}: {error}") from error
    if not isinstance(config, dict):
        raise UnknownModel(f"{path}: is not a JSON object")
    try:
        shape = of_config(config)
    except UnknownShape as error:
        raise UnknownModel(f"{path}: lacks `{error}`, so the model's shape is unknown") from error
    written = config.get("dtype", config.get("torch_dtype"))
    return Model(shape, DTYPES.get(written) if isinstance(written, str) else None, path)


def model_in_project(name: Any, origin: str) -> Model | None:
    """The model of a folder that a file names, relative to that file or to the working directory; None outside the project."""
    if not isinstance(name, str) or not name or os.path.isabs(name):
        return None
    for base in (os.path.dirname(origin), ""):
        path = os.path.normpath(os.path.join(base, name, CONFIG_FILE))
        if os.path.isfile(path) and not leads_out(path, origin):
            try:
                return read_model(path)
            except UnknownModel:
                return None
    return None


def model_of(config: Config) -> Model | None:
    """The model of a run: the one given by flag or declaration, else that of the files."""
    return config.facts.model or config.framework.model(config)


def memory_of(config: Config) -> RunMemory | None:
    """The memory of a config's run; None if the model's shape or the memory settings of its framework are unknown."""
    model = model_of(config)
    inputs = config.framework.memory(config, model) if model is not None else None
    if model is None or inputs is None or inputs.missing:
        return None
    available = config.facts.gpu_memory
    shape, settings, others = model.shape, inputs.settings, inputs.alternatives
    try:
        found = estimate(shape, settings, *others)
    except OverflowError:  # sizes that exceed a float
        return None
    if available is None:
        return RunMemory(model, inputs, found, None, None, None, None)
    return RunMemory(
        model,
        inputs,
        found,
        available,
        verdict(found, available) if inputs.micro_known else None,
        largest_micro_batch(shape, available, (settings, *others)),
        largest_micro_batch(shape, available, (settings, *others), possible),
    )


class MicroBatchBound(Record):
    """The largest micro batch to choose for a card, and whether it fits."""

    size: int
    fit: Fit

    @property
    def reason(self) -> str:
        """The remark on a micro batch of this size."""
        if self.fit == FITS:
            return f"micro batch at most {self.size}: more does not surely fit"
        if self.fit == CLOSE:
            return f"micro batch at most {self.size}: that may not fit"
        return "micro batch 1: even that does not fit"


def micro_batch_bound(config: Config) -> MicroBatchBound | None:
    """The largest micro batch that surely fits, else the largest that may fit, else 1; None if model or card are unknown."""
    found = memory_of(config) if config.facts.gpu_memory is not None else None
    if found is None or found.surely is None:
        return None
    if found.surely:
        return MicroBatchBound(found.surely, FITS)
    possible_or_unknown = found.possibly or found.estimate.classification == CLASS_C
    return MicroBatchBound(found.possibly or 1, CLOSE if possible_or_unknown else DOES_NOT_FIT)


def missing_for(config: Config) -> list[str]:
    """The flags that supply missing facts for an estimate and its verdict; empty if this kind of run is not modelled."""
    if not config.framework.estimates_memory:
        return []
    flags = [] if config.facts.gpu_memory is not None else [CARD_FLAG]
    model = model_of(config)
    if model is None:
        return [MODEL_FLAG, *flags]
    inputs = config.framework.memory(config, model)
    return [*(inputs.missing if inputs is not None else ()), *flags]
