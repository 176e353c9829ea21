"""What a change of files means for a run: consequences first, then settings, then findings that came and went."""

from __future__ import annotations

import os
import re

from cfglint.diagnostic import SEVERITIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.diagnostic import Diagnostic, Outcome
    from cfglint.frameworks.base import Config
    from cfglint.run import Run

    Side = tuple[Any, str | None]  # a value and its place

NAMES = {
    "global_batch": "global batch",
    "consumed_batch": "samples consumed a step",
    "micro_batch": "micro batch",
    "accumulation": "accumulation",
    "data_parallel": "data-parallel size",
    "tensor_parallel": "tensor-parallel size",
    "pipeline_parallel": "pipeline-parallel size",
    "context_parallel": "context-parallel size",
    "sequence_parallel": "sequence-parallel size",
    "seq_length": "sequence length",
    "tokens_per_step": "tokens a step",
    "steps_per_epoch": "steps an epoch",
    "total_steps": "total steps",
    "warmup_steps": "warm-up steps",
}
ABSENT = "absent"
RATES = ("learning_rate", "lr")
FOLLOWS = {"consumed_batch": "global_batch"}  # a number that is not told where it changes as another does


class SettingChange:
    """A setting whose value differs; `before`/`after` are ABSENT where a side says nothing and has no default."""

    __slots__ = ("after", "after_place", "before", "before_place", "key", "kind")

    def __init__(self, kind: str, key: str, before: Side, after: Side) -> None:
        self.kind = kind
        self.key = key
        self.before, self.before_place = before
        self.after, self.after_place = after


class Comparison:
    """One run before and after. A side is None when the run is new or gone."""

    __slots__ = ("after", "before", "consequences", "files", "gone", "new", "settings")

    def __init__(self, before: Run | None, after: Run | None) -> None:
        self.before: Outcome | None = before.outcome() if before else None
        self.after: Outcome | None = after.outcome() if after else None
        there = self.after or self.before
        self.files: list[str] = there.files if there else []
        self.settings = setting_changes(before, after) if before and after else []
        self.consequences: list[str] = consequences(self.before, self.after, before, after)
        self.new, self.gone = finding_changes(self.before, self.after)

    @property
    def empty(self) -> bool:
        """Whether nothing changed in meaning."""
        return not (self.settings or self.consequences or self.new or self.gone)


def consequences(before: Outcome | None, after: Outcome | None, old: Run | None, new: Run | None) -> list[str]:
    """Sentences on what the change does to the run, the weightiest first."""
    if before is None and after is not None:
        return [f"new run: {after.verdict} {on_gpus(after)}{in_numbers(after)}"]
    if after is None and before is not None:
        return [f"the run is gone: it was {before.verdict}ed {on_gpus(before)}{in_numbers(before)}"]
    if before is None or after is None:
        return []
    told: list[str] = []
    if before.verdict != after.verdict:
        when = f" (fails at {after.fails_at})" if after.fails_at else ""
        told.append(f"verdict {before.verdict} -> {after.verdict} {on_gpus(after)}{when}")
    changed = [key for key in NAMES if before.resolved.get(key) != after.resolved.get(key)]
    for key in changed:
        follows = FOLLOWS.get(key)
        if follows in changed and (before.resolved[key], after.resolved[key]) == (before.resolved[follows], after.resolved[follows]):
            continue
        told.append(number(NAMES[key], before.resolved.get(key), after.resolved.get(key)))
    if "global_batch" in changed and old and new:
        told += rates(old, new)
    told += warmup_share(before, after)
    return told


def number(name: str, before: int | None, after: int | None) -> str:
    """`global batch 512 -> 256 (halved)`."""
    if before is None or after is None:
        return f"{name} {known(before)} -> {known(after)}"
    return f"{name} {before} -> {after} ({ratio(before, after)})"


def known(value: object) -> str:
    """The value, or that it is not known."""
    return "not known" if value is None else str(value)


def ratio(before: float, after: float) -> str:
    """How much more or less, in words that people use."""
    if not before or not after or (before < 0) != (after < 0):
        return f"{after - before:+g}"
    times = after / before
    if times in (2, 0.5):
        return "doubled" if times == 2 else "halved"
    if times >= 2 or times <= 0.5:
        return f"x {times:.3g}" if times > 1 else f"1/{1 / times:.3g}"
    return f"{100 * (times - 1):+.3g} %"


def rates(old: Run, new: Run) -> list[str]:
    """Whether the learning rate follows a change of the batch."""
    found = []
    for config in new.configs:
        for path, value in flat(config.values).items():
            if path[-1] in RATES and isinstance(value, int | float) and not isinstance(value, bool):
                twin = next((other for other in old.configs if other.kind == config.kind), None)
                before = twin.get(*path) if twin else None
                if before == value:
                    found.append(f"learning rate unchanged ({config.setting(*path).name} {value})")
    return found


def warmup_share(before: Outcome, after: Outcome) -> list[str]:
    """The warm-up as a share of the run, where that changed."""
    shares = []
    for outcome in (before, after):
        total, warmup = outcome.resolved.get("total_steps"), outcome.resolved.get("warmup_steps")
        shares.append(100 * warmup / total if total and warmup is not None else None)
    if None in shares or shares[0] == shares[1]:
        return []
    return [f"warm-up {shares[0]:.3g} % -> {shares[1]:.3g} % of the run"]


def on_gpus(outcome: Outcome) -> str:
    """`on 8 GPUs`."""
    return f"on {outcome.gpus} GPUs" if outcome.gpus else "on a GPU count that is not known"


def in_numbers(outcome: Outcome) -> str:
    """`, global batch 256, 1512 steps`."""
    told = [("global_batch", "global batch"), ("total_steps", "total steps")]
    return "".join(f", {name} {outcome.resolved[key]}" for key, name in told if outcome.resolved.get(key) is not None)


def setting_changes(before: Run, after: Run) -> list[SettingChange]:
    """Settings with another value, as their frameworks read them; a key that only says its default is no change."""
    changes: list[SettingChange] = []
    for kind in dict.fromkeys(config.kind for config in (*before.configs, *after.configs)):
        old = next((config for config in before.configs if config.kind == kind), None)
        new = next((config for config in after.configs if config.kind == kind), None)
        values = [flat(config.values) if config else {} for config in (old, new)]
        for path in dict.fromkeys((*values[0], *values[1])):
            sides = [side(config, path, there) for config, there in zip((old, new), values, strict=True)]
            if not same(sides[0][0], sides[1][0]):
                changes.append(SettingChange(kind, ".".join(map(str, path)), sides[0], sides[1]))
    return changes


def side(config: Config | None, path: tuple[str | int, ...], values: dict[Any, Any]) -> Side:
    """(value, place) of a setting on one side: written, the default of its schema, or absent."""
    if config is None:
        return ABSENT, None
    if path in values:
        return values[path], config.setting(*path).place
    from cfglint.schema import load

    try:
        key = load(config.kind).lookup(tuple(str(step) for step in path))
    except OSError:  # a kind without a schema
        key = None
    if key is not None and key.has_default:
        return key.default_at(config.version), "default"
    return ABSENT, None


def same(before: object, after: object) -> bool:
    """Equal as a framework sees it: 1 and 1.0 are, true and 1 are not."""
    return before == after and isinstance(before, bool) == isinstance(after, bool)


def flat(values: object, path: tuple[Any, ...] = ()) -> dict[Any, Any]:
    """The leaves of nested mappings by path; a list is a leaf."""
    if not isinstance(values, dict) or (path and not values):
        return {path: values} if path else {}
    found: dict[Any, Any] = {}
    for key, value in values.items():
        found.update(flat(value, (*path, key)))
    return found


def finding_changes(before: Outcome | None, after: Outcome | None) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """(findings that are new, findings that are gone), worst first; a finding that only moved is neither."""
    old = visible(before)
    new = visible(after)
    left = [signature(each) for each in old]
    came: list[Diagnostic] = []
    for each in new:
        mark = signature(each)
        if mark in left:
            left.remove(mark)
        else:
            came.append(each)
    went: list[Diagnostic] = []
    for each in old:
        mark = signature(each)
        if mark in left:
            left.remove(mark)
            went.append(each)
    return sorted(came, key=badness), sorted(went, key=badness)


def visible(outcome: Outcome | None) -> list[Diagnostic]:
    """The findings of a side that nobody silenced."""
    return [each for each in outcome.diagnostics if not each.suppressed] if outcome else []


def signature(diagnostic: Diagnostic) -> tuple[str, str, str, str]:
    """What makes a finding the same after lines have moved and numbers in its message have changed with them."""
    words = re.sub(r"(:| line )\d+", r"\1", diagnostic.message)
    return diagnostic.code, os.path.basename(diagnostic.place.file), diagnostic.key, words


def badness(diagnostic: Diagnostic) -> int:
    """Errors first."""
    return -SEVERITIES.index(diagnostic.severity)

