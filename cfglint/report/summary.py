"""The summary of a run as text."""

from __future__ import annotations

import os
import textwrap

from cfglint.batch.memory.estimate import PROBABLY_NOT
from cfglint.evaluate import Choice, Unknown, because
from cfglint.explanation.summary import RunSummary, origin, value_or_auto
from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.setting import DEFAULT, NOT_KNOWN, Setting
from cfglint.findings.wording import counted, first_few
from cfglint.frameworks import framework
from cfglint.frameworks.releases.versions import is_likely
from cfglint.frameworks.summary import FILLED, GROUPS, Item
from cfglint.report.escapes import shown, without_runner_command
from cfglint.rewrite.layout import layout_on

Paragraph = tuple[str, str, str]  # (start, text, indent of the lines after the first)

WIDTH = 80  # columns without a terminal
LABEL = 20
VALUE = 14
MOST_OPTIONS = 2 * VALUE
MOST_ERRORS = 3
BLANK = ("", "", "")


def as_text(account: RunSummary, width: int | None = None) -> str:
    """The summary of a run, folded to a width in columns (80 by default)."""
    run = account.run
    paths = list(dict.fromkeys(document.path for document in run.documents))
    names = {path: os.path.basename(path) for path in paths}
    if len(set(names.values())) < len(names):
        names = {}
    targets = ", ".join(f"{package} {version} ({run.target_from[package]})" for package, version in run.target.items())
    of_what = f"{framework(run.kinds[0]).title_of(run.documents[0])}{f': {targets}' if targets else ''}"
    lines = [*verdict(account), *paragraph("", ", ".join(paths)), *paragraph("", of_what), *on_asked_gpus(account)]
    for group in GROUPS:
        items = [item for item in account.items if item.group == group]
        if items and group != FILLED:
            lines += [BLANK, (group, "", ""), *(line for item in items for line in row(item, names))]
    filled = ", ".join(f"{item.label} {spelled(item.setting.value)}" for item in account.items if item.group == FILLED)
    if filled:
        lines += [BLANK, *paragraph('"auto" filled in: ', filled)]
    needs = dict.fromkeys(flag for item in account.unknown for flag in item.needs.split(" and "))
    if needs:
        labels = ", ".join(item.label for item in account.unknown)
        lines += [BLANK, *paragraph("Unknown: ", f"{labels}. Pass {' and '.join(needs)}.")]
    if account.memory is not None:
        lines += [BLANK, *paragraph("GPU memory: ", f"{account.memory.line}.")]
        if account.memory.remedy:
            lines += paragraph("  ", f"{sentence(account.memory.remedy)}")
    if account.memory_flags:
        lines += [BLANK, *paragraph("GPU memory: ", f"pass {' and '.join(account.memory_flags)} to see whether it fits.")]
    if account.assumed:
        lines += [BLANK, *paragraph("Assumed: ", "; ".join(account.assumed) + ".")]
    return folded(lines, width)


def on_asked_gpus(account: RunSummary) -> list[Paragraph]:
    """The answer for the GPUs that are asked about, where the launch sets another number: `As written: 64 GPUs (run.sh:1); on 8: ...`."""
    run, other = account.run, account.what_if
    written = f"As written: {counted(run.facts.gpus, 'GPU')} ({run.facts.gpus_source})"
    if other is None:
        return paragraph("", f"{written}; {account.refused_gpus}.") if account.refused_gpus else []
    numbers = other.resolved
    terms = [numbers[name] for name in ("micro_batch", "accumulation", "data_parallel")]
    product = f" = {' x '.join(map(str, terms))}" if None not in terms else ""
    known = numbers["global_batch"] is not None
    batch = f"global batch {numbers['global_batch']:,}{product}" if known else "the global batch is not known"
    errors = [diagnostic for diagnostic in other.diagnostics if diagnostic.severity == ERROR] if other.verdict == "reject" else []
    refused = f"; it would not start: {errors[0].code} {errors[0].message}" if errors else ""
    nodes = layout_on(run, other.facts.gpus).after if other.facts.gpus is not None else None
    now = run.size
    several = f" ({nodes})" if nodes is not None and now is not None and max(nodes.nodes, now.nodes) > 1 else ""
    return paragraph("", f"{written}; on {other.facts.gpus}{several}: {batch}{refused}.")


def verdict(account: RunSummary) -> list[Paragraph]:
    """Whether the run starts, with the first errors; a run that does not fit into the memory does not start."""
    run, memory = account.run, account.memory
    if account.errors:
        fails = f"If {run.assumed}, it would not start" if run.assumed else "It would not start"
        lines = paragraph("", f"{fails}: {counted(len(account.errors), 'error')}, see `cfglint check`.")
        for error in account.errors[:MOST_ERRORS]:
            lines += paragraph("  ", f"{error.place.file}:{error.place.line} {error.code} {error.message}", "    ")
        return lines
    starts = account.left_open or ("It would start" if run.facts.complete else "No errors found: this run should start")
    warned = sum(diagnostic.severity == WARNING and not diagnostic.suppressed for diagnostic in run.diagnostics)
    more = f"; {counted(warned, 'warning')}, see `cfglint check`" if warned else ""
    if memory is not None and memory.verdict == "does-not-fit":
        starts = f"No errors found, but the run does not fit into the GPU memory: {memory.of_both}"
    elif memory is not None and memory.verdict is not None:
        starts += f", {'but' if memory.judgement.startswith(PROBABLY_NOT) else 'and'} it {memory.judgement}: {memory.of_both}"
    lacks_gpus = run.launch.line is not None and run.launch.line.lacks_gpus
    if run.verdict is None and (run.unmodelled or not (run.not_read or lacks_gpus)):
        outside = [f"{package} {version}" for package, version in run.outside.items() if version]
        why = ""
        if run.beyond_limits:
            why = f": {', '.join(run.beyond_limits)} exceeds a limit of cfglint"
        elif run.unmodelled:
            why = f": {run.unmodelled} is not modelled"
        elif run.is_unreadable_template:
            why = ": the file is a template, which cannot be read before it is filled"
        elif run.placeholders:
            keys = sorted({f"`{key[1:].replace('/', '.')}`" for _, key in run.placeholders})
            why = f": {first_few(keys)} {'is a placeholder' if len(keys) == 1 else 'are placeholders'}"
        elif run.undecided_releases:
            why = f": it depends on the release of {' and '.join(run.undecided_releases)}, which is not pinned"
        elif run.depends_on_processes:
            why = ": it depends on the number of GPUs (pass --gpus N)"
        elif outside:
            likely = all(is_likely(version, run.target[package]) for package, version in run.outside.items() if version)
            why = f": {', '.join(outside)} is {'likely, not certain' if likely else 'not modelled'}"
        elif branches := [reason.text for each in run.diagnostics for reason in each.depends_on if reason.kind == "branch"]:
            why = f": it depends on {' and '.join(dict.fromkeys(branches))}"
        starts = f"Whether it would start is not known{why}"
    return paragraph("", f"{starts}{more}.")


def row(item: Item, names: dict[str, str]) -> list[Paragraph]:
    """Name, value and origin; a long origin is wrapped in its column."""
    if item.unknown:
        return columns(item.label, "?", f"with {item.needs}")
    text = origin(item)
    for path, short in names.items():
        text = text.replace(path, short)
    value = options(item.setting) or "?" if item.setting.is_unknown else spelled(value_or_auto(item.setting))
    return columns(item.label, value, text)


def options(setting: Setting) -> str:
    """The values of which an unknown one is one, where they are few: `8 or 16`."""
    text = " or ".join(map(spelled, setting.value.options)) if isinstance(setting.value, Choice) else ""
    return text if len(text) <= MOST_OPTIONS else ""


def columns(label: str, value: str, origin_text: str) -> list[Paragraph]:
    head = f"  {label:<{LABEL}}{shown(value):>{VALUE}}  "
    if len(head) > LABEL + VALUE + 4:
        return [(head.rstrip(), "", ""), *paragraph(" " * (LABEL + VALUE + 4), origin_text, " " * (LABEL + VALUE + 4))]
    return paragraph(head, origin_text, " " * len(head))


def paragraph(start: str, text: str, indent: str = "  ") -> list[Paragraph]:
    """A string that is folded after its start; later lines are indented."""
    return [(start, shown(text), indent)]


def folded(paragraphs: list[Paragraph], width: int | None) -> str:
    lines: list[str] = []
    for start, text, indent in paragraphs:
        folder = textwrap.TextWrapper(width or WIDTH, start, indent, break_long_words=False, break_on_hyphens=False)
        lines += map(without_runner_command, folder.wrap(text) or [start.rstrip()])
    return "".join(f"{line}\n" for line in lines)


def spelled(value: object) -> str:
    """A value as people write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.10g}".replace("e-0", "e-") if isinstance(value, float) and not value.is_integer() else str(value)


# ---- the answer of `explain` in a few lines


WORD = 11  # columns of the first word and the blanks behind it
PACE = {  # the label of a number -> how it is told
    "total steps": "{}",
    "epochs": "{} epochs",
    "steps per epoch": "{} per epoch",
    "schedule's total": "scheduled steps {}",
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
}
RATE = {
    **dict.fromkeys(("learning rate", "learning rate (actor)", "schedule", "optimizer", "precision"), "{}"),
    "bf16": "bf16",
    "ZeRO stage": "ZeRO stage {}",
}
FACTORS = {"micro batch": "micro batch {}", "accumulation": "accumulation {}", "data parallel": "data parallel {}"}
PROMPTS = {"samples per prompt": "{} samples per prompt", "mini batch (prompts)": "mini batch {}"}  # of a batch that is counted in prompts
COUNTS = ("steps per epoch", "total steps")
LEFT_OUT = ("training samples", "checkpoints", "evaluations")  # of what is not known: they follow from the rest


def as_brief(account: RunSummary, width: int | None = None) -> str:
    """The short answer, folded to a width in columns (80 by default)."""
    items = {item.label: item for item in account.items}
    if "schedule's warm-up" in items:  # DeepSpeed's own one takes precedence
        items["warm-up steps"] = items.pop("schedule's warm-up")
    targets = ", ".join(f"{package} {version} ({account.run.target_from[package]})" for package, version in account.run.target.items())
    files = ", ".join(dict.fromkeys(document.path for document in account.run.documents))
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
        lines += paragraph(f"{label:<{WORD}}", text, " " * WORD) if text else []
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
    if is_product:
        text += f" = {' x '.join(map(spelled, terms))} (micro batch x accumulation x data parallel)"
    else:
        text = ", ".join([text, *told(items, {**PROMPTS, **FACTORS})])
    consumed = numbers["consumed_batch"]
    text += f", but {consumed:,} samples per step" if consumed is not None and consumed != numbers["global_batch"] else ""
    return f"{text}, {numbers['tokens_per_step']:,} tokens per step" if numbers["tokens_per_step"] is not None else text


def unknown(account: RunSummary) -> str:
    """The numbers that are not known, with the causes or the options that provide them."""
    causes: dict[str, list[str]] = {}
    for item in account.items:
        if isinstance(item.setting.value, Unknown) and item.setting.value.reasons and not item.unknown and item.group != FILLED:
            label = f"{item.label} ({alternatives})" if (alternatives := options(item.setting)) else item.label
            causes.setdefault(because(item.setting.value.reasons).removeprefix(NOT_KNOWN), []).append(label)
    found = [f"{', '.join(labels)}{why}" for why, labels in causes.items() if why]
    uncounted = [item for item in account.items if item.label in COUNTS and item.setting.known is None and not item.needs]
    if uncounted:  # which no option can tell
        found.append(f"{', '.join(item.label for item in uncounted)}: {uncounted[0].setting.because}")
    labels = [item.label for item in account.unknown if item.label not in LEFT_OUT]
    flags = dict.fromkeys(flag for item in account.unknown for flag in item.needs.split(" and "))
    if flags:
        found.append(f"{', '.join(labels or [item.label for item in account.unknown])}: pass {' and '.join(flags)}")
    return "; ".join(found)


def sentence(text: str) -> str:
    """The string with a capital letter at its start, unless that is a key such as `max_steps`, and a full stop."""
    is_key = "_" in text.partition(" ")[0]
    return f"{text[:1] if is_key else text[:1].upper()}{text[1:]}." if text else ""
