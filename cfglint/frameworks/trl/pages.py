"""Which page speaks of a row of TRL, by words of its message or the field that it sets; and the places of findings."""

from __future__ import annotations

from cfglint.findings.rule import pages_of_checks
from cfglint.frameworks.trl import KIND
from cfglint.source.annotations import Any

PAGES = pages_of_checks(KIND)
OTHERS = next(code for code, marks in PAGES.items() if "*" in marks)  # of rows that no other page speaks of
IN_COMMAND = "TRL047"  # of what only the command `trl` refuses
# The keys at which findings are, where it is not the first one that the message names.
PLACES = {
    "TRL020": ("load_in_8bit",),
    "TRL030": ("num_generations", "generation_batch_size", "per_device_train_batch_size"),
    "TRL034": ("per_device_eval_batch_size",),
    "TRL038": ("vllm_tensor_parallel_size",),
    "TRL050": ("f_divergence_type", "use_weighting", "loss_type"),
    "TRL052": ("sync_ref_model",),
    "TRL054": ("train_sampling_strategy", "per_device_train_batch_size"),
    "TRL056": ("loss_type",),
    "TRL063": ("delta", "loss_type", "off_policy_mask_threshold", "top_entropy_quantile", "importance_sampling_level"),
    "TRL064": ("loss_type", "precompute_ref_log_probs"),
}


def page_of(row: dict[str, Any]) -> str:
    """The page of a row: the one with the longest words of its message."""
    say = row.get("say", "")
    text = say if isinstance(say, str) else "".join(part for part in say[1:] if isinstance(part, str))
    words = text or f"set {row.get('set')}"
    found = [(len(mark), code) for code, marks in PAGES.items() for mark in marks if mark in words]
    return max(found, default=(0, OTHERS))[1]
