"""Rules about the refusals of axolotl's own checks: each refusal is a finding at its key.

The checks are rows (`_rows.py`), a few are in `by_hand.py`; the pages name the checks that they speak of.
"""

from __future__ import annotations

from cfglint.findings.rule import Finding, pages_of_checks, rule
from cfglint.frameworks.axolotl import KIND
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.refusals import DATA, FSDP, REMOVED, STREAMING
from cfglint.source.annotations import Iterator

NEEDS_KEYS = ((DATA, "datasets"), (STREAMING, "max_steps"))  # keys that the launch line may supply if the file is not the complete run


def refused(config: AxolotlConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind != code:
            continue
        from cfglint.frameworks.axolotl.migration import migrated

        places = [config.place(path) for path in refusal.paths or [()]]
        absent = not places[0].written and (code, places[0].name) in NEEDS_KEYS
        yield refusal.finding(
            places,
            config.values,
            depends_on=config.rest if absent else (),
            fix=migrated(config, refusal) if code in (FSDP, REMOVED) and not config.without_remedies else None,
            on_key=code == REMOVED,
        )


for page in pages_of_checks(KIND):
    rule(page)(lambda config, code=page: refused(config, code))
