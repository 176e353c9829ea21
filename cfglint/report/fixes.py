"""The result of a fix for people and programs: changed values, a diff, and how a target global batch is reached."""

from __future__ import annotations

from cfglint.findings.wording import counted
from cfglint.report.escapes import shown
from cfglint.rewrite.retarget import Need, Retarget, tuned
from cfglint.rewrite.value_change import ValueChange
from cfglint.source.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import Alternatives, FixPlan, NeedEntry, ValueChangeEntry


def change_line(changed: ValueChange) -> str:
    """`ds_config.json: gradient_accumulation_steps 8 -> 16`."""
    after = spelled(changed.after)
    change = f"added: {after}" if changed.before is None else f"{spelled(changed.before)} -> {after}"
    return shown(f"{changed.file}: {changed.key.removeprefix('/').replace('/', '.')} {change}") + "\n"


def spelled(value: object) -> str:
    if type(value) is int:
        return str(value)
    import json

    return json.dumps(value, default=str)


def change_entry(changed: ValueChange) -> ValueChangeEntry:
    """A changed value as plain values."""
    return {"file": changed.file, "key": changed.key, "before": changed.before, "after": changed.after}


def need_entry(need: Need) -> NeedEntry:
    """A value that must be set outside the files."""
    return {"key": need.key, "value": need.value}


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


def alternatives_entry(found: Retarget) -> Alternatives:
    """The nearest targets that can be reached."""
    solution = found.solution
    return {
        "below": solution.below.global_batch if solution.below else None,
        "above": solution.above.global_batch if solution.above else None,
        "gpus": solution.gpu_counts,
    }


def diff_lines(documents: list[Document], texts: dict[str, str]) -> list[str]:
    """The lines of a unified diff between the documents and their new contents."""
    from difflib import unified_diff

    lines: list[str] = []
    for document in documents:
        if document.path in texts:
            before, after = lines_of(document.text), lines_of(texts[document.path])
            name = shown(document.path.removeprefix("./"))
            lines += unified_diff(before, after, f"a/{name}", f"b/{name}")
    return [line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines]


def lines_of(text: str) -> list[str]:
    """The lines as `patch` counts them: ended by a line feed only."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def target_lines(found: Retarget) -> list[str]:
    """The lines about how a target is reached, or why it cannot be."""
    return reached(found) if found.solution.chosen is not None else not_reached(found)


DETAIL = "    "  # what a line about one setting begins with


def memory_of(found: Retarget) -> str:
    """What each GPU needs then, and needed before; empty if the model is not known."""
    from cfglint.rewrite.plan import memory_after

    after = memory_after(found.after())
    return after.told(memory_after(found.run)) if after is not None else ""


def with_details_of(lines: list[str], others: list[str]) -> list[str]:
    """The lines about a target with the details of other runs that reach it alike."""
    details = dict.fromkeys(line for line in [*others, *lines] if line.startswith(DETAIL))
    at = next((index for index, line in enumerate(lines) if line.startswith(DETAIL)), 0)
    rest = [line for line in lines if not line.startswith(DETAIL)]
    return [*rest[:at], *details, *rest[at:]] if details else lines


def on_nodes(found: Retarget) -> list[str]:
    """The line about the nodes of a launch, unless one node stays as it is."""
    before, after = found.layout.before, found.layout.after
    line = found.run.launch.line
    if line is None or after is None or (after.nodes == 1 and (before == after or (before is None and line.nodes == 1))):
        return []
    keeps = before is not None and before.nodes != after.nodes and found.gpus % before.nodes == 0
    keep = f" (--nodes {before.nodes} keeps them)" if before is not None and keeps else ""
    return [f"  on {found.layout.words}{keep}\n"]


def not_reached(found: Retarget) -> list[str]:
    """The reason why a target cannot be reached, and the nearest targets that can."""
    solution = found.solution
    wanted = solution.problem.global_batch
    lines = [f"a global batch of {wanted} cannot be reached on {counted(found.gpus, 'GPU')}: {reason}\n" for reason in solution.reasons[:1]]
    offers = [str(each.global_batch) for each in (solution.below, solution.above) if each]
    if offers:
        lines.append(f"  nearest that can: {' and '.join(offers)}\n")
    if solution.gpu_counts:
        lines.append(f"  GPU counts that reach {wanted}: {', '.join(map(str, solution.gpu_counts))}\n")
    return lines


def reached(found: Retarget) -> list[str]:
    """The batch sizes that reach a target, and the settings that depend on the global batch."""
    chosen = found.solution.chosen
    assert chosen is not None
    before = found.before.global_batch.integer if found.before and found.before.problem is None else None
    after = chosen.global_batch
    change = f"{after}" if before in (None, after) else f"{before} -> {after}"
    terms = f"{chosen.micro_batch} x {chosen.accumulation} x {chosen.data_parallel}"
    factors = "(micro batch x accumulation x data parallel)"
    if found.values and found.run.resolved.get("rollout_n") is not None:  # the global batch counts prompts
        per_update = f"; {terms} samples per update {factors}" if chosen.accumulation else ""
        lines = [f"global batch {change} prompts per step{per_update}\n"]
    else:
        product = f" = {terms} {factors}" if chosen.accumulation else ", packed by tokens"
        lines = [f"global batch {change}{product}\n"]
    lines += on_nodes(found)
    needed = memory_of(found)
    lines += [f"  {needed}\n"] if needed else []
    if found.unbounded and not needed:
        lines.append(f"  micro batch {chosen.micro_batch} follows from these numbers; whether it fits into memory was not checked\n")
    if found.memory_bound is not None:
        lines.append(f"  {found.memory_bound.about(chosen.micro_batch)} into {found.run.facts.gpu_memory:g} GiB\n")
        if found.memory_bound.remedy:
            lines.append(f"  {found.memory_bound.remedy}\n")
    settings = tuned(found.run) if before not in (None, after) else []
    if settings:
        lines.append(f"  tuned for global batch {before} and not changed:\n")
        lines += [f"{DETAIL}{setting.name} {setting.value} ({setting.place})\n" for setting in settings]
    lines += [f'  {held.name} stays "auto" ({held.place}): filled by the trainer\n' for held in found.held]
    return lines
