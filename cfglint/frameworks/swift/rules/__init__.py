"""The findings of failing checks of ms-swift."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import Remedy
from cfglint.findings.rule import Finding
from cfglint.findings.wording import spelled
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.source.annotations import Iterator
from cfglint.source.shell.command import CommandDocument

SIZE = "NPROC_PER_NODE"


def failing(config: SwiftConfig | MegatronSwiftConfig, code: str) -> Iterator[Finding]:
    for refusal in config.failing:
        if refusal.kind == code:
            places = [config.setting(*path) for path in refusal.paths] or [config.devices_setting]
            yield refusal.finding(places, config.values, fix=with_processes(config, refusal))


def with_processes(config: SwiftConfig | MegatronSwiftConfig, refusal: Refusal) -> Fix | None:
    """The fix that starts the processes that a remedy names, before the command or where the variable is set."""
    remedy, document = next(iter(refusal.help), None), config.documents[0]
    step = next(iter(remedy.edit), None) if isinstance(remedy, Remedy) else None
    if step is None or step.key != SIZE or config.without_remedies or not isinstance(document, CommandDocument):
        return None
    from cfglint.findings.fix_builders import outside
    from cfglint.source.change import REPLACE, Change, Edit

    start, title = document.extent[0], f"set `{SIZE}={spelled(step.value)}`"
    is_set = document.find((SIZE,))[1] is not None
    change = Change(REPLACE, (SIZE,), text=spelled(step.value)) if is_set else Edit(start, start, f"{SIZE}={spelled(step.value)} ")
    return outside([(document, change)], title, False)
