"""The rule about the memory of a run's GPUs. Imported only if the card's memory is known."""

from __future__ import annotations

from cfglint.batch.memory.estimate import DOES_NOT_FIT, PROBABLY_NOT
from cfglint.batch.memory.savings import savings
from cfglint.findings.diagnostic import Diagnostic
from cfglint.findings.rule import MEMORY, RULES, Finding, rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.memory.estimate import RunMemory, rounded
from cfglint.rules.engine import CheckableRun, apply
from cfglint.source.annotations import Iterator

SUGGESTED = 3


def inspect_memory(run: CheckableRun) -> list[Diagnostic]:
    return apply([each for each in RULES if each.about == MEMORY], run, run.configs[0]) if run.configs else []


def said_without_finding(run: CheckableRun) -> str:
    """What the summary says of the memory of a run that has no finding about it: it is not known, or probably too much; else empty."""
    memory = None if run.configs[0].load_problems else run.memory
    if memory is None:
        return "is not known: pass --model, or see `cfglint explain`"
    return f"{PROBABLY_NOT}, see `cfglint explain`" if memory.judgement.startswith(PROBABLY_NOT) else ""


@rule("MEM001")
def does_not_fit(run: CheckableRun) -> Iterator[Finding]:
    config = run.configs[0]
    memory = None if config.load_problems else run.memory
    if memory is None or memory.verdict != DOES_NOT_FIT:
        return
    micro_batch = config.batch.micro_batch
    # The terms of the peak, the largest first, and the assumptions.
    terms = sorted(memory.estimate.peak.terms().items(), key=lambda item: -item[1])
    parts = ", ".join(f"{name} {rounded(size)}" for name, size in terms if size > 0)
    assumed = f"; assumed: {', '.join(memory.assumed)}" if memory.assumed else ""
    yield Finding(
        micro_batch,
        f"{needed(micro_batch, memory)}, and a GPU has {memory.available:g} GiB",
        note=f"GiB at the peak: {parts}{assumed}",
        help=remedy(memory),
    )


def needed(setting: Setting, found: RunMemory) -> str:
    """What needs how much memory: the micro batch, or the model alone where the tokens of a micro batch are unknown."""
    estimate = found.estimate
    if not found.inputs.rows_known:
        return f"weights, gradients and optimizer states need {rounded(estimate.total)} GiB on each GPU without activations"
    if not found.inputs.micro_known:
        return f"a micro batch of 1 needs {rounded(estimate.total)} GiB on each GPU"
    band = f"{rounded(estimate.low)} to {rounded(estimate.high)}, {estimate.peak.name}"
    return f"`{setting.name}: {setting.value}` needs {rounded(estimate.total)} GiB on each GPU ({band})"


def remedy(found: RunMemory) -> str:
    """The largest micro batch that fits, else changes that together make the run fit, and what single changes save."""
    if found.surely:
        single = [f"{name} saves {rounded(size)} GiB" for name, size in savings(found.model.shape, found.inputs.settings)[:SUGGESTED]]
        return "; ".join([f"set the micro batch to {found.surely}, which surely fits", *single])
    fitting = found.together()
    if fitting is not None:
        return f"use {' + '.join(fitting.changes)}, which would need {rounded(fitting.estimate.total)} GiB"
    return "use more GPUs, adapters (LoRA), quantization or offloading: no other change of these settings fits"
