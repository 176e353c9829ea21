"""The result of a fix for people and programs: changed values, a diff, and how a target global batch is reached."""

from __future__ import annotations

import json
from io import StringIO

from cfglint.findings.wording import counted
from cfglint.report.escapes import shown
from cfglint.rewrite.retarget import Retarget, tuned
from cfglint.rewrite.value_change import ValueChange
from cfglint.source.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import FixPlan, ValueChangeEntry

DETAIL = "    "  # what a line about one setting begins with


def change_line(changed: ValueChange) -> str:
    """`ds_config.json: gradient_accumulation_steps 8 -> 16`."""
    before, after = (json.dumps(value, default=str) for value in (changed.before, changed.after))
    change = f"added: {after}" if changed.before is None else f"{before} -> {after}"
    return shown(f"{changed.file}: {changed.key.removeprefix('/').replace('/', '.')} {change}") + "\n"


def change_entry(changed: ValueChange) -> ValueChangeEntry:
    return {"file": changed.file, "key": changed.key, "before": changed.before, "after": changed.after}


def plan_entry(found: Retarget) -> FixPlan:
    """The batch sizes that reach a target, null if none do."""
    solution = found.solution
    chosen = solution.chosen
    return {
        "feasible": solution.feasible,
        "micro_batch": chosen.micro_batch if chosen else None,
        "accumulation": chosen.accumulation if chosen else None,
        "data_parallel": solution.data_parallel,
        "global_batch": chosen.global_batch if chosen else solution.problem.global_batch,
    }


def diff_lines(documents: list[Document], texts: dict[str, str]) -> list[str]:
    """The lines of a unified diff between the documents and their new contents; as for `patch`, only a line feed ends a line."""
    from difflib import unified_diff

    lines: list[str] = []
    for document in documents:
        if document.path in texts:
            before, after = list(StringIO(document.text, "\n")), list(StringIO(texts[document.path], "\n"))
            name = shown(document.path.removeprefix("./"))
            lines += unified_diff(before, after, f"a/{name}", f"b/{name}")
    return [line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines]


def target_lines(found: Retarget) -> list[str]:
    """The lines about how a target is reached, and the settings that depend on the global batch; or why it cannot be reached."""
    solution = found.solution
    chosen = solution.chosen
    if chosen is None:
        wanted = solution.problem.global_batch
        why = solution.reasons[:1]
        lines = [f"a global batch of {wanted} cannot be reached on {counted(found.gpus, 'GPU')}: {reason}\n" for reason in why]
        offers = [str(split.global_batch) for split in (solution.below, solution.above) if split]
        if offers:
            lines.append(f"  nearest that can: {' and '.join(offers)}\n")
        if solution.gpu_counts:
            lines.append(f"  GPU counts that reach {wanted}: {', '.join(map(str, solution.gpu_counts))}\n")
        return lines
    batch_before = found.before.global_batch.integer if found.before and found.before.problem is None else None
    after = chosen.global_batch
    change = f"{after}" if batch_before in (None, after) else f"{batch_before} -> {after}"
    terms = f"{chosen.micro_batch} x {chosen.accumulation} x {chosen.data_parallel} (micro batch x accumulation x data parallel)"
    if found.values and found.run.resolved.get("rollout_n") is not None:  # the global batch counts prompts
        terms = terms.replace(" (", " samples per update (")
        lines = [f"global batch {change} prompts per step{f'; {terms}' if chosen.accumulation else ''}\n"]
    else:
        lines = [f"global batch {change}{f' = {terms}' if chosen.accumulation else ', packed by tokens'}\n"]
    before, layout, line = found.layout.before, found.layout.after, found.run.launch.line
    one_stays = layout is not None and layout.nodes == 1 and (before == layout or (before is None and line is not None and line.nodes == 1))
    if line is not None and layout is not None and not one_stays:
        keeps = before is not None and before.nodes != layout.nodes and found.gpus % before.nodes == 0
        keep = f" (--nodes {before.nodes} keeps them)" if before is not None and keeps else ""
        was = f"; was {before}" if before is not None and before != layout else ""
        lines.append(f"  on {layout}{was}{keep}\n")
    memory = found.after().memory
    needed = memory.told(found.run.memory) if memory is not None else ""
    if needed:
        lines.append(f"  {needed}\n")
    elif found.unbounded:
        lines.append(f"  micro batch {chosen.micro_batch} follows from these numbers; whether it fits into memory was not checked\n")
    if found.memory_bound is not None:
        lines.append(f"  {found.memory_bound.about(chosen.micro_batch)} into {found.run.facts.gpu_memory:g} GiB\n")
        if found.memory_bound.remedy:
            lines.append(f"  {found.memory_bound.remedy}\n")
    settings = tuned(found.run) if batch_before not in (None, after) else []
    if settings:
        lines.append(f"  tuned for global batch {batch_before} and not changed:\n")
        lines += [f"{DETAIL}{setting.name} {setting.value} ({setting.place})\n" for setting in settings]
    return [*lines, *(f'  {held.name} stays "auto" ({held.place}): filled by the trainer\n' for held in found.held)]
