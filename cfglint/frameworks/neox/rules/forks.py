"""The rule about files with many keys that GPT-NeoX does not have."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.source.annotations import Iterator

MOST_NAMED = 5


@rule("KEY010")
def written_for_fork(config: NeoXConfig) -> Iterator[Finding]:
    if config.is_for_fork:
        names = config.unknown_keys()
        listed = ", ".join(f"`{name}`" for name in names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
        keys = "1 key is" if len(names) == 1 else f"{len(names)} keys are"
        text = f"{keys} unknown to {config.framework.title} ({listed}): the file may be written for a fork"
        note = f"{config.framework.title} itself refuses unknown keys"
        yield Finding(config.setting(names[0]), text, on_key=True, note=note, help="declare its kind (--kind) to see each of them")
