"""Rules about the refusals of axolotl's own checks, by topic: each refusal is a finding at its key.

The checks are rows (`rows.json`), a few are in `by_hand.py`; `pages.py` names the topic of each, and these rules give topics their pages.
"""

from __future__ import annotations

from cfglint.findings.rule import Finding
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.refusals import (
    DATA,
    FSDP,
    REMOVED,
    STREAMING,
)
from cfglint.source.annotations import Iterator

NEEDS_KEYS = ((DATA, "datasets"), (STREAMING, "max_steps"))  # keys that the launch line may supply if the file is not the complete run


def refused(config: AxolotlConfig, topic: str) -> Iterator[Finding]:
    """The refusals of a topic."""
    for refusal in config.refusals:
        if refusal.kind != topic:
            continue
        from cfglint.frameworks.axolotl.migration import migrated

        places = [config.place(path) for path in refusal.paths or [()]]
        absent = not places[0].written and (topic, places[0].name) in NEEDS_KEYS
        yield refusal.finding(
            places,
            config.values,
            depends_on=config.rest if absent else (),
            fix=migrated(config, refusal) if topic in (FSDP, REMOVED) and not config.without_remedies else None,
            on_key=topic == REMOVED,
        )
