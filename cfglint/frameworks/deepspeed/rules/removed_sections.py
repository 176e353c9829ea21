"""Rules about sections and values of older releases that the newest one has removed or parses differently."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import listed, spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import FP16
from cfglint.frameworks.remedies import choice, mistyped, not_attribute
from cfglint.source.annotations import Iterator, Operand

NEED_ENABLED = ("amp", "progressive_layer_drop", "curriculum_learning")  # DeepSpeed removes `enabled` from a copy of these with pop()
READ = (*NEED_ENABLED, "nebula", "sparse_attention")
SPARSE_MODES = ("dense", "fixed", "variable", "bigbird", "bslongformer")


@rule("TYP114")
def invalid_removed_section(config: DeepSpeedConfig) -> Iterator[Finding]:
    for key in READ:
        if key in config.values and config.looks_up(key):
            value, setting = config.values[key], config.setting(key)
            name = setting.name
            if not isinstance(value, dict):
                raised = not_attribute(value, "keys" if key == "sparse_attention" else "get")
                yield mistyped(setting, "an object", raised, remove_key(name))
            elif key in NEED_ENABLED and "enabled" not in value:
                text = f"`{name}` has no `enabled`, which {config.release} requires"
                remedy = set_key(f"{name}.enabled", False) | remove_key(name)
                yield Finding(setting, text, exception="KeyError: 'enabled'", help=remedy)
            elif key == "progressive_layer_drop" and value["enabled"] and not {"theta", "gamma"} <= value.keys():
                missing = "theta" if "theta" not in value else "gamma"
                text = f"`{name}` has no `{missing}`, which is required where it is enabled"
                remedy = set_key(f"{name}.{missing}", 0.5 if missing == "theta" else 0.001) | set_key(f"{name}.enabled", False)
                yield Finding(setting, text, exception=f"KeyError: '{missing}'", help=remedy, fails_at="init")
            elif key == "sparse_attention" and value.get("mode", "fixed") not in SPARSE_MODES:
                raised = f"NotImplementedError: Given sparsity mode, {value['mode']}, has not been implemented yet!"
                text = f"`{name}.mode` is {spelled(value['mode'])}; it must be {listed(map(spelled, SPARSE_MODES))}"
                remedy = choice(f"{name}.mode", value["mode"], SPARSE_MODES)
                yield Finding(config.setting(key, "mode"), text, exception=raised, help=remedy)


@rule("DSP077")
def incompatible_amp(config: DeepSpeedConfig) -> Iterator[Finding]:
    if not config.looks_up("amp") or not config.get("amp", "enabled") or not config.has_optimizer:
        return
    if config.stage:
        text, other = "ZeRO", set_key("zero_optimization.stage", 0)
        raised = "AssertionError: Amp and ZeRO are not currently compatible, please use (legacy) fp16 mode"
    elif config.precision != "fp32" and config.get("data_types", "grad_accum_dtype") is None:
        text, other = config.precision, set_key(config.at(config.precision, "enabled").name, False)
        raised = "NotImplementedError: "
        if config.precision == "bf16":  # without ZeRO its gradients are accumulated in fp32
            raised += "Model data type and gradient accumulation data type must be equal to use Amp"
        else:
            raised += "Cannot enable both amp with (legacy) fp16 or bfloat16 mode"
    else:
        return
    remedy = set_key("amp.enabled", False) | other
    yield Finding(config.setting("amp", "enabled"), f"`amp` is incompatible with {text}", exception=raised, help=remedy)


PRUNINGS = ("sparse_pruning", "row_pruning", "head_pruning", "channel_pruning")
METHODS = {  # the parts of `compression_training`, each with the required keys in the `params` of every group
    "weight_quantization": ("start_bits", "target_bits"),
    "activation_quantization": ("bits",),
    **dict.fromkeys(PRUNINGS, ("dense_ratio",)),
}
SYMMETRY = ("symmetric", "asymmetric")
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {  # the valid values in `shared_parameters`
    "weight_quantization": {"quantization_type": SYMMETRY, "rounding": ("nearest", "stochastic")},
    "activation_quantization": {"quantization_type": SYMMETRY, "range_calibration": ("dynamic", "static")},
    **{name: {"method": ("l1", "topk")} for name in PRUNINGS},
    "sparse_pruning": {"method": ("l1", "topk", "snip_momentum")},
}


@rule("TYP116")
def invalid_compression(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("compression_training", {})
    if not config.looks_up("compression_training"):
        return
    if not isinstance(section, dict):
        yield not_an_object(config, ("compression_training",), section)
        return
    for name in METHODS:
        if name in section:
            yield from first_fault(config, name, section[name])
    if not isinstance(section.get("layer_reduction", {}), dict):
        yield not_an_object(config, ("compression_training", "layer_reduction"), section["layer_reduction"])


def not_an_object(config: DeepSpeedConfig, path: tuple[str, ...], value: object) -> Finding:
    setting = config.setting(*path)
    return mistyped(setting, "an object", not_attribute(value, "keys"), remove_key(setting.name))


def first_fault(config: DeepSpeedConfig, name: str, part: Operand) -> Iterator[Finding]:
    path = ("compression_training", name)
    shared = part.get("shared_parameters", {}) if isinstance(part, dict) else {}
    parts = part.get("different_groups", {}) if isinstance(part, dict) else {}
    chosen = CHOICES[name].items() if isinstance(shared, dict) else ()
    wrong = next((key for key, choices in chosen if shared.get(key, choices[0]) not in choices), None)
    if not isinstance(part, dict):
        yield not_an_object(config, path, part)
    elif not isinstance(shared, dict):
        yield not_an_object(config, (*path, "shared_parameters"), shared)
    elif wrong is not None:
        setting, choices = config.setting(*path, "shared_parameters", wrong), CHOICES[name][wrong]
        text = f"`{setting.name}` is {setting.spelled}; it must be one of {', '.join(choices)}"
        remedy = choice(setting.name, setting.value, choices)
        yield Finding(setting, text, exception=f"AssertionError: Invalid {name} {wrong}", help=remedy)
    elif name == "head_pruning" and shared.get("enabled") and "num_heads" not in shared:
        setting = config.setting(*path, "shared_parameters")
        text = f"`{setting.name}` has no `num_heads`, which `head_pruning` requires"
        remedy = f"set `{setting.name}.num_heads`" | set_key(f"{setting.name}.enabled", False)
        yield Finding(setting, text, exception="AssertionError: num_heads must be specified for head pruning", help=remedy)
    elif "different_groups" not in part:
        setting = config.setting(*path)
        text = f"`{setting.name}` has no `different_groups`, which is required"
        yield Finding(setting, text, exception="KeyError: 'different_groups'", help=f"set `{setting.name}.different_groups`")
    elif not isinstance(parts, dict):
        yield not_an_object(config, (*path, "different_groups"), parts)
    else:
        for group, content in parts.items():
            params = content.get("params") if isinstance(content, dict) else None
            missing = next((key for key in METHODS[name] if not isinstance(params, dict) or key not in params), None)
            if missing is not None:
                setting = config.setting(*path, "different_groups", group)
                text = f"`{setting.name}` has no `params.{missing}`, which is required"
                raised = f"AssertionError: {missing} must be specified for {name} group {group}" if params else "KeyError: 'params'"
                yield Finding(setting, text, exception=raised, help=f"set `{setting.name}.params.{missing}`")
                return


@rule("TYP115")
def initial_scale_power_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    if FP16.is_in(config.version):
        return
    section = config.section("fp16")
    power = section["initial_scale_power"]
    if not section["enabled"] or "initial_scale_power" not in section.given:
        return
    if not isinstance(power, (int, float)):
        raised = f"TypeError: unsupported operand type(s) for ** or pow(): 'int' and '{type(power).__name__}'"
    elif isinstance(power, float) and 1024 <= power < float("inf"):
        raised = "OverflowError: (34, 'Numerical result out of range')"
    else:
        return
    setting = config.at("fp16", "initial_scale_power")
    text = f"`fp16.initial_scale_power` is {spelled(power)}; it must be a number below 1024"
    yield Finding(setting, text, exception=raised, help=set_key("fp16.initial_scale_power", 16, ", the default"))


@rule("BAT008")
def elasticity_refused(config: DeepSpeedConfig) -> Iterator[Finding]:
    problem = config.batch.problem
    if problem is not None and problem.reason == "elasticity":
        yield Finding(problem.setting, problem.message, exception=problem.exception, fails_at=problem.fails_at)


@rule("DSP119")
def weight_quantization_without_fp16(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("compression_training")
    part = section.get("weight_quantization") if isinstance(section, dict) else None
    shared = part.get("shared_parameters") if isinstance(part, dict) else None
    if not config.looks_up("compression_training") or not isinstance(shared, dict):
        return
    enabled = config.section("fp16")["enabled"]
    if shared.get("enabled") is True and not shared.get("quantize_weight_in_forward") and enabled in (False, None):
        setting, switch = config.setting("compression_training", "weight_quantization"), config.at("fp16", "enabled")
        text = "`weight_quantization` in the optimizer step requires fp16"
        remedy = set_key(f"{setting.name}.shared_parameters.quantize_weight_in_forward", True) | set_key("fp16.enabled", True)
        yield Finding(setting, text, related=(switch,), help=remedy)
