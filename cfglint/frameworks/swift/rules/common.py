"""Examples and facts that the rules of ms-swift share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.rule import ExampleFacts
    from cfglint.findings.vocabulary import Kind

KINDS: tuple[Kind, ...] = ("swift",)
EVERY: tuple[Kind, ...] = ("swift", "megatron_swift")
LINE: ExampleFacts = {"kind": "launch", "target": {"ms-swift": "4.6.0"}}
OLDER: ExampleFacts = {"kind": "launch", "target": {"ms-swift": "3.12.6"}}
BASE = "swift sft --model org/model --dataset data.jsonl"
RLHF = "swift rlhf --model org/model --dataset data.jsonl"
GRPO = f"{RLHF} --rlhf_type grpo"
