"""AutoEP's checks of the `expert_parallel` section (DeepSpeed 0.19.8, module_inject/auto_ep_config.py:104-330 and
auto_ep_folding.py:75-258).
"""

from __future__ import annotations

from cfglint.frameworks.deepspeed._tables import CHOICES
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.source.annotations import ConfigMapping, Iterator

FOLDED = (0, 19, 3)  # experts can be folded into tensor parallelism
FIRST_CHOICES = {
    "score_apply": ("auto", "pre", "post"),
    "combine_impl": ("auto", "weighted_sum", "legacy_bmm"),
    "score_func": ("auto", "softmax", "sigmoid"),
}
PRESETS, ACTIVATIONS = (CHOICES["expert_parallel", key] for key in ("preset_model", "expert_activation"))
CHOSEN = ("score_apply", "combine_impl", "row_weighting_impl", "gate_up_impl", "comm_backend", "score_func")
# (key, default, minimum, the name of such numbers in the message)
COUNTS = (("comm_num_sm", 12, 1, "positive"), ("comm_qp_margin", 4, 0, "non-negative"), ("comm_max_tokens_per_rank", 0, 0, "non-negative"))
NAMES = (
    *("expert_w1", "expert_w2", "expert_w3", "num_experts_attr", "top_k_attr", "router_pattern", "expert_pattern"),
    *("shared_experts_pattern", "shared_experts_gate_pattern"),
)


def refusals(config: DeepSpeedConfig, section: ConfigMapping) -> Iterator[tuple[str, str]]:
    """(key, message) for every refusal of AutoEP in an enabled section."""
    tensor, is_first = config.section("tensor_parallel")["autotp_size"] or 0, config.version < FOLDED
    if is_first:
        experts = section.get("autoep_size", 1)
        if tensor > 1:
            yield "", f"AutoEP does not currently support AutoTP (tensor_parallel.autotp_size={tensor})."
        if config.world_size is not None and isinstance(experts, int) and experts > 0 and config.world_size % experts:
            yield "autoep_size", f"autoep_size={experts} must divide the stage size (world_size={config.world_size}"
    else:
        for key in ("validate_folding_routing", "async_split_plan"):
            if not isinstance(section.get(key, False), bool):
                yield key, f"expert_parallel.{key} must be a boolean"
        yield from of_sizes(config, section, tensor)
    for key, allowed in FIRST_CHOICES.items() if is_first else ((key, CHOICES["expert_parallel", key]) for key in CHOSEN):
        if key in section and section[key] not in allowed:
            yield key, f"{key} must be one of {allowed}, got '{section[key]}'"
    if not is_first:
        preset, activation, factor = (section.get(key) for key in ("preset_model", "expert_activation", "routed_scaling_factor"))
        if preset is not None and preset not in PRESETS:
            yield "preset_model", f"Unknown preset_model '{preset}'. Available presets: {list(PRESETS)}"
        if activation is not None and activation not in ACTIVATIONS:
            yield "expert_activation", f"expert_activation must be one of {ACTIVATIONS}, got '{activation}'"
        for key, default, least, word in COUNTS:
            value = section.get(key, default)
            if not isinstance(value, int) or value < least:
                yield key, f"{key} must be a {word} integer, got {value!r}"
        if section.get("comm_backend") == "deepep" and section.get("comm_max_tokens_per_rank", 0) == 0:
            yield "comm_max_tokens_per_rank", "comm_max_tokens_per_rank must be a positive integer when comm_backend='deepep'."
        if "routed_scaling_factor" in section and factor != "auto" and not isinstance(factor, (int, float)):
            yield "routed_scaling_factor", "routed_scaling_factor must be a number or 'auto'"
    limited, total = section.get("num_limited_groups"), section.get("num_expert_groups")
    for key, value in (("num_limited_groups", limited), ("num_expert_groups", total)):
        if isinstance(value, (int, float)) and value < 1:
            yield key, f"{key} must be >= 1, got {value}"
    if isinstance(limited, (int, float)) and isinstance(total, (int, float)) and limited > total >= 1:
        yield "num_limited_groups", f"num_limited_groups ({limited}) must be <= num_expert_groups ({total})"
    for key in NAMES:  # of attributes and child modules
        value = section.get(key)
        if value is not None and (not isinstance(value, str) or value == ""):
            yield key, f"{key} must be a non-empty string"
        elif value is not None and "." in value:
            yield key, f"{key} must be a direct attribute name (no dots)"
    shared = section.get("has_shared_experts")
    if shared is not None and not isinstance(shared, bool):
        yield "has_shared_experts", "has_shared_experts must be a boolean when set"


def of_sizes(config: DeepSpeedConfig, section: ConfigMapping, tensor: int) -> Iterator[tuple[str, str]]:
    """Check the sizes, which divide the GPUs, the fused kernels, and experts folded into tensor parallelism."""
    experts, inner = section.get("autoep_size", 1), section.get("expert_tensor_parallel_size", 1)
    for key, value in (("autoep_size", experts), ("expert_tensor_parallel_size", inner)):
        if not isinstance(value, int) or value < 1:
            yield key, f"expert_parallel.{key} must be a positive integer, got {value!r}"
            return
    if config.world_size is not None and config.world_size % (experts * inner):
        product = f"expert_parallel.autoep_size * expert_parallel.expert_tensor_parallel_size ({experts} * {inner} = {experts * inner})"
        yield "autoep_size", f"{product} must divide the stage size (world_size={config.world_size})"
    if inner != 1:
        yield "expert_tensor_parallel_size", f"expert_parallel.expert_tensor_parallel_size={inner} is not supported yet"
    if section.get("combine_impl") == "fused_weighted_sum":
        if tensor > 1:
            yield "combine_impl", 'combine_impl="fused_weighted_sum" does not support folded tensor parallelism'
        if section.get("comm_backend") == "deepep" and experts > 1:
            yield "combine_impl", 'combine_impl="fused_weighted_sum" cannot be used with comm_backend="deepep"'
    if section.get("row_weighting_impl") == "fused":
        if section.get("comm_backend", "comm") != "deepep":
            yield "row_weighting_impl", 'row_weighting_impl="fused" only runs inside the DeepEP route'
        elif experts == 1:
            yield "row_weighting_impl", 'row_weighting_impl="fused" only runs when DeepEP dispatch is active (autoep_size > 1)'
    if section.get("gate_up_impl") == "fused" and not section.get("use_grouped_mm", True):
        yield "gate_up_impl", 'gate_up_impl="fused" needs use_grouped_mm'
    if tensor <= 1:
        return
    if section.get("async_split_plan") is True and experts > 1:
        yield "async_split_plan", "expert_parallel.async_split_plan does not support AutoEP+AutoTP folding yet."
    if config.section("compile")["deepcompile"]:
        yield "", "DeepCompile with AutoEP+AutoTP folding is not supported"
    if experts == 1:
        yield "autoep_size", "AutoEP+AutoTP folding requires expert_parallel.autoep_size > 1."
    if config.values.get("use_data_before_expert_parallelism"):
        yield "", "expert_parallel with use_data_before_expert_parallel_ is not supported with AutoEP+AutoTP folding."
    if config.zero["offload_optimizer"] is not None or config.zero["offload_param"] is not None:
        yield "", "ZeRO optimizer/parameter offload with AutoEP+AutoTP folding is not validated yet."
