"""What OpenRLHF's programs refuse after they have parsed the line: their rows, on the values of the line."""

from __future__ import annotations

import functools

from cfglint.findings.remedy import Remedy, remove_key
from cfglint.frameworks.arguments.parsing import INVALID
from cfglint.frameworks.openrlhf import KIND
from cfglint.frameworks.openrlhf.config import OpenRlhfConfig
from cfglint.frameworks.refusal import Refusal, Removal, Words
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.refusals import Check, Plan, pages_of, unknown_field
from cfglint.frameworks.rows.table import table_of

KEPT = tuple("advantage_estimator algo.advantage.estimator vllm_num_engines vllm.num_engines pretrain zero_stage ds.zero_stage".split())
FAILED = "ORL011"  # the page of what Python itself refuses


@functools.cache
def plan(program: str, release: Version) -> Plan:
    return Plan({"config": table_of(KIND).rows("config", program, release), "init": table_of(KIND).rows("init", program, release)})


def failed(config: OpenRlhfConfig) -> list[Refusal]:
    """The failing checks, with remedies as a line writes them."""
    switches = {name for name, option in config.known.items() if option.words == 0}
    words = Words(KEPT, {}, switches.__contains__)
    given = {name: value for name, value in config.values.items() if name in config.defaults}
    given |= {words.name: unknown_field(words.name) for words in config.refused if words.why == INVALID and words.name in config.known}
    refusals = Check(plan(config.program, config.own_version), given, config.defaults, (), lambda *_: None, pages_of(KIND)).refusals(words)
    if config.copy is not None:  # a check of the release may read what the copy does not have
        refusals = [refusal for refusal in refusals if all(key in config.known for key in (*refusal.keys, *refusal.read))]
    if not config.is_whole:  # what is missing may be given elsewhere
        refusals = [refusal for refusal in refusals if all(key in config.values for key in refusal.keys)]
    for refusal in refusals:
        refusal.help = [option(step, switches) for step in refusal.help]
        lacking = [key for key in dict.fromkeys((*refusal.keys, *refusal.read)) if key in config.known and config.own(key) is None]
        if refusal.failed and "'NoneType'" in refusal.exception and lacking[:1] == [refusal.key]:
            refusal.message, refusal.help = f"`{lacking[0]}` is not set: {refusal.exception.partition(': ')[2]}", [f"set `--{lacking[0]}`"]
        if refusal.kind in ("ORL012", "ORL013"):  # the pages of a data set and a model that are not named
            refusal.message, refusal.help = f"`{refusal.key}` is not set", [f"add `--{refusal.key}` with a name or a path"]
        refusal.kind = FAILED if refusal.failed else refusal.kind
    return refusals


def option(step: Remedy | str | Removal, switches: set[str]) -> Remedy | str | Removal:
    """A remedy for a line: a switch stands alone, or is removed."""
    if not isinstance(step, Remedy):
        return step
    first = step.edit[0] if len(step.edit) == 1 else None
    if first is None or first.key not in switches or first.removes:
        return step
    return f"add `--{first.key}`" if first.value else remove_key(first.key)
