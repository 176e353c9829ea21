"""What the rules of axolotl share."""

from __future__ import annotations

from cfglint.frameworks.axolotl import KIND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Kind

KINDS: tuple[Kind, ...] = (KIND,)
BASE = "base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: alpaca}\n"  # common keys of examples
