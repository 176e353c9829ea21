"""The rule about the memory of a run's GPUs. Imported only if the card's memory is known."""

from __future__ import annotations

from cfglint.findings.diagnostic import WARNING
from cfglint.findings.rule import MEMORY, RULES, RUN, Finding, rule
from cfglint.rules.engine import apply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.findings.diagnostic import Diagnostic
    from cfglint.findings.setting import Setting
    from cfglint.frameworks.base import Config
    from cfglint.frameworks.memory import RunMemory
    from cfglint.rules.engine import CheckableRun

SUGGESTED = 3


def inspect_memory(run: CheckableRun) -> list[Diagnostic]:
    """The findings on a run's memory."""
    return apply([each for each in RULES if each.about == MEMORY], run, run.configs[0]) if run.configs else []


@rule(
    "MEM001",
    "does-not-fit",
    WARNING,
    scope=RUN,
    bad="output_dir: out\nper_device_train_batch_size: 8\ntorch_dtype: bfloat16\nmax_length: 4096\nlearning_rate: 2.0e-5\n",
    good="output_dir: out\nper_device_train_batch_size: 8\ntorch_dtype: bfloat16\nmax_length: 512\nlearning_rate: 2.0e-5\n",
    example={
        "kind": "huggingface",
        "gpus": 1,
        "model": "llama-3.2-1b",
        "gpu_memory": 79.2,
        "at": "/per_device_train_batch_size",
    },
    about=MEMORY,
)
def does_not_fit(run: CheckableRun) -> Iterator[Finding]:
    """The run needs more memory than a GPU offers.

    The peak of a training step is estimated from the model's shape and the run's settings. This is found only where even
    the lower end of the estimate's band does not fit, and where the model's code and the trainer have been read (class A
    or B): out of memory in the first steps is then to be expected. Needs a model (`--model`, `model` of a declared run, or
    `model_name_or_path` that is a folder) and the card (`--gpu-memory`, `gpu-memory`).

    The framework would start: it is a warning, because allocator settings outside the files may help.

    Fix: use a remedy that the help text names, with the memory that it would save at the peak: gradient checkpointing, a smaller micro
    batch with more accumulation steps, a loss without whole logits, fewer optimizer states, sharding. `cfglint explain`
    shows the terms and the largest micro batch.

    Source: docs/memory.md.
    """
    from cfglint.batch.memory import DOES_NOT_FIT
    from cfglint.frameworks.memory import memory_of, rounded

    config = run.configs[0]
    found = None if config.load_problems else memory_of(config)
    if found is None or found.verdict != DOES_NOT_FIT:
        return
    estimate = found.estimate
    yield Finding(
        place(config),
        f"{needed(config)} needs {rounded(estimate.total)} GiB on each GPU ({rounded(estimate.low)} to {rounded(estimate.high)},"
        f" {estimate.peak.name}), and a GPU has {found.available:g} GiB",
        note=note(found),
        help=remedy(found),
    )


def place(config: Config) -> Setting:
    """The micro batch where it is written."""
    return config.batch.micro_batch


def needed(config: Config) -> str:
    """The subject of the message: the micro batch."""
    setting = config.batch.micro_batch
    return f"`{setting.name}: {setting.value}`"


def note(found: RunMemory) -> str:
    """The terms of the peak, the largest first, and the assumptions."""
    from cfglint.frameworks.memory import rounded

    terms = sorted(found.estimate.peak.terms().items(), key=lambda item: -item[1])
    parts = ", ".join(f"{name} {rounded(size)}" for name, size in terms if size > 0)
    assumed = f"; assumed: {', '.join(found.inputs.assumed)}" if found.inputs.assumed else ""
    return f"GiB at the peak: {parts}{assumed}"


def remedy(found: RunMemory) -> str:
    """The changes that save the most memory, or the largest micro batch that certainly fits."""
    from cfglint.batch.memory.savings import savings
    from cfglint.frameworks.memory import rounded

    saved = [f"{name} saves {rounded(size)} GiB" for name, size in savings(found.model.shape, found.inputs.settings)[:SUGGESTED]]
    if found.surely:
        saved.insert(0, f"micro batch {found.surely} surely fits")
    return "; ".join(saved) or "no micro batch fits: use more GPUs, adapters or quantization"
