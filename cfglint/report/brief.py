"""The answer of `explain` in a few lines: whether the run starts, its batch, steps, rate and memory, and what is not known."""

from __future__ import annotations

from cfglint.evaluate import Unknown, because
from cfglint.explanation.summary import RunSummary, value_or_auto
from cfglint.findings.setting import DEFAULT, NOT_KNOWN
from cfglint.frameworks.summary import Item
from cfglint.report.summary import folded, on_asked_gpus, options, paragraph, spelled, verdict

LABELS = 11  # columns of the first word and the blanks behind it
PACE = {  # the label of a number -> how it is told
    "total steps": "{}",
    "epochs": "{} epochs",
    "steps per epoch": "{} per epoch",
    "warm-up steps": "warm-up {}",
    "resumes from": "resumes from {}",
    "resumed with": "micro batch {} as in the checkpoint",
    "steps left": "{} left",
    "samples at most": "at most {} samples",
    "total steps at least": "at least {} steps",
    "total steps at most": "at most {} steps",
    "epochs at most": "at most {} epochs",
    "hours": "{} hours",
    "cost": "cost {}",
    "schedule's total": "schedule of {}",
    "schedule's warm-up": "warm-up {}",
}
RATE = {"learning rate": "{}", "schedule": "{}", "optimizer": "{}", "precision": "{}", "ZeRO stage": "ZeRO stage {}"}
FACTORS = {"micro batch": "micro batch {}", "accumulation": "accumulation {}", "data parallel": "data parallel {}"}
LEFT_OUT = ("training samples", "checkpoints", "evaluations")  # of what is not known: they follow from the rest


def as_brief(account: RunSummary, width: int | None = None) -> str:
    """The short answer, folded to a width in columns (80 by default)."""
    items = {item.label: item for item in account.items}
    targets = ", ".join(f"{package} {version} ({account.run.target_from[package]})" for package, version in account.run.target.items())
    files = ", ".join(document.path for document in account.run.documents)
    lines = [*verdict(account), *paragraph("", f"{files}: {targets}" if targets else files), *on_asked_gpus(account)]
    needed = f"pass {' and '.join(account.memory_flags)} to see whether it fits" if account.memory_flags else ""
    if account.memory is not None:
        needed = account.memory.short_line + (f"; {account.memory.remedy}" if account.memory.remedy else "")
    answers = {
        "batch": batch(account, items),
        "steps": ", ".join(told(items, PACE)),
        "rate": ", ".join(told(items, RATE)),
        "memory": needed,
        "not known": unknown(account),
        "assumed": "; ".join(account.assumed if account.run.assumed else account.unset),
    }
    for label, text in answers.items():
        lines += paragraph(f"{label:<{LABELS}}", text, " " * LABELS) if text else []
    return folded([*lines, *paragraph("", "`cfglint explain --all` shows every number and where it comes from.")], width)


def told(items: dict[str, Item], wordings: dict[str, str]) -> list[str]:
    """The values that are known, in words, and whether they are defaults."""
    found: list[str] = []
    for label, wording in wordings.items():
        item = items.get(label)
        if item is not None and not item.unknown and not item.setting.is_unknown and item.setting.value is not False:
            text = wording.format(spelled(value_or_auto(item.setting)))
            text = text.removesuffix("s") if item.setting.value == 1 else text
            found.append(f"{text} (default)" if item.setting.origin == DEFAULT else text)
    return found


def batch(account: RunSummary, items: dict[str, Item]) -> str:
    """The global batch as a product where it is one; else the factors that are known."""
    numbers = account.run.resolved
    terms = [numbers[name] for name in ("micro_batch", "accumulation", "data_parallel")]
    if numbers["global_batch"] is None:
        return ", ".join(["not known", *told(items, FACTORS)])
    text = f"{numbers['global_batch']:,}"
    factors = [term for term in terms if term is not None]
    is_product = len(factors) == len(terms) and factors[0] * factors[1] * factors[2] == numbers["global_batch"]
    text += f" = {' x '.join(map(spelled, terms))} (micro batch x accumulation x data parallel)" if is_product else ""
    return f"{text}, {numbers['tokens_per_step']:,} tokens per step" if numbers["tokens_per_step"] is not None else text


def unknown(account: RunSummary) -> str:
    """The numbers that are not known, with the causes or the options that provide them."""
    causes: dict[str, list[str]] = {}
    for item in account.items:
        if isinstance(item.setting.value, Unknown) and item.setting.value.reasons and not item.unknown:
            label = f"{item.label} ({alternatives})" if (alternatives := options(item.setting)) else item.label
            causes.setdefault(because(item.setting.value.reasons).removeprefix(NOT_KNOWN), []).append(label)
    found = [f"{', '.join(labels)}{why}" for why, labels in causes.items() if why]
    labels = [item.label for item in account.unknown if item.label not in LEFT_OUT]
    flags = dict.fromkeys(flag for item in account.unknown for flag in item.needs.split(" and "))
    if flags:
        found.append(f"{', '.join(labels or [item.label for item in account.unknown])}: pass {' and '.join(flags)}")
    return "; ".join(found)
