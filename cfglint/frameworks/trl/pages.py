"""Which rule's page a row of TRL has, by what its message says or the field that it sets; and the places of its findings."""

from __future__ import annotations

from cfglint.source.annotations import Any

OTHERS = "TRL023"  # the page of rows without one of their own
IN_COMMAND = "TRL047"  # the page of what only the command `trl` refuses
PAGES = {
    "TRL020": ("8 bit and 4 bit",),
    "TRL021": ("loss_weights",),
    "TRL022": ("set pad_to_multiple_of",),
    "TRL034": ("eval batch size (",),
    "TRL030": ("must be divisible by num_generations", "train batch size ("),
    "TRL031": ("by the global batch size",),
    "TRL032": ("can not be both configured",),
    "TRL033": ("requires at least 2 generations",),
    "TRL035": ("auto_find_batch_size",),
    "TRL036": ("log_completions_hub_repo",),
    "TRL037": ("vllm_importance_sampling_clip_min",),
    "TRL038": ("must divide world size",),
    "TRL042": ("Invalid `loss_type`",),
    "TRL050": ("kto_pair", "exo_pair", "WPO-style", "f_divergence_type", "set f_divergence_type"),
    "TRL052": ("sync_ref_model", "TR-DPO"),
    "TRL054": ("KL divergence term", "Actual (not effective)"),
    "TRL056": ("VESPO",),
    "TRL062": ("chunked_nll",),
    "TRL064": ("Liger DPO", "Liger KTO", "with liger kernel", "with liger-kernel", "but the loss type", "Multiple loss types"),
    "TRL063": ("Liger", "use_liger_loss"),
    "TRL068": ("vllm_mode",),
    "TRL069": ("`sapo` loss",),
}
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
    """The page of a row."""
    say = row.get("say", "")
    text = say if isinstance(say, str) else "".join(part for part in say[1:] if isinstance(part, str))
    words = text or f"set {row.get('set')}"
    return next((code for code, marks in PAGES.items() if any(mark in words for mark in marks)), OTHERS)
