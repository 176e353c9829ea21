"""The closed vocabularies of findings, rules and runs, as types for mypy; at run time each is only a string."""

from __future__ import annotations

from cfglint.source.annotations import TypeAlias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Severity: TypeAlias = Literal["info", "warning", "error"]
    Stage: TypeAlias = Literal["load", "config", "init", "first-step"]  # when a run fails, in chronological order
    Verdict: TypeAlias = Literal["accept", "reject"]
    Scope: TypeAlias = Literal["config", "run"]  # the argument of a rule's function
    Subject: TypeAlias = Literal[  # what the findings of a rule are about; cfglint/findings/rule.py describes each
        "key", "value", "combination", "batch", "file", "launch", "argument", "launcher-config", "expectation",
        "ignore-comment", "memory", "samples", "code",
    ]  # fmt: skip
    Origin: TypeAlias = Literal["written", "default", "derived", "auto", "override"]  # where the value of a setting comes from
    BatchReason: TypeAlias = Literal["mismatch", "missing", "type", "not-positive", "layout", "elasticity"]
    Kind: TypeAlias = Literal[
        "accelerate", "axolotl", "deepspeed", "huggingface", "launch", "llamafactory", "megatron", "megatron_swift", "neox",
        "openrlhf", "swift", "trl", "verl",
    ]  # fmt: skip
else:
    Severity = Stage = Verdict = Scope = Subject = Origin = BatchReason = Kind = str
