"""What PEFT does with a `LoraConfig` and a model: which modules get an adapter, what is left out, and the exception if it refuses.

Source: peft 0.21.2 tuners/lora/config.py (__post_init__), tuners/tuners_utils.py (inject_adapter, check_target_module_exists),
tuners/lora/layer.py (update_layer), utils/transformers_weight_conversion.py, and the same of the releases that `fields.py` names.
"""

from __future__ import annotations

import re

from cfglint.evaluate import Unknown
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.frameworks.peft import fields
from cfglint.frameworks.peft.modules import SUPPORTED, Modules
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, Collection, ConfigMapping, ConfigTable, Iterator
from cfglint.source.record import Record

TARGETS, SAVED, EXCLUDED, PARAMETERS, LAYERS, PATTERN = (
    *("target_modules", "modules_to_save", "exclude_modules", "target_parameters"),
    *("layers_to_transform", "layers_pattern"),
)
ALL_LINEAR = "all-linear"
AGAIN = "Please check the target modules and try again."
NO_PARAMETERS = "lora.ParamWrapper does not work with"
PEFT = "peft"  # the kind of its refusals
FIRST_OF_5 = (5, 0)


def model_refusal(key: str, message: str, exception: str = "", *steps: Remedy | str) -> Refusal:
    """What PEFT or the loader of the model refuses when the model is built."""
    return Refusal(PEFT, [key], message, exception, steps, fails_at="init")


def config_refusal(key: str, message: str, exception: str, *steps: Remedy | str) -> Refusal:
    return Refusal(PEFT, [key], message, exception, steps)


class Attached(Record):
    """The result: the modules with an adapter, and the entries of `target_modules` and `modules_to_save` that fit nothing."""

    modules: list[str]
    without_module: list[str]
    without_saved: list[str]
    trains_all: bool


def checked(values: ConfigMapping, peft: Version, unknown: Collection[str] = ()) -> None:
    """Construct the `LoraConfig`, in which other fields have `unknown` values; raises Refusal."""
    for name in (*values, *unknown):
        since = fields.FIELDS.get(name)
        if since is None or since > peft:
            added = f", which peft {'.'.join(map(str, since))} added" if since is not None else ""
            message = f"`{name}` is not a field of LoraConfig{added}"
            text = f"TypeError: LoraConfig.__init__() got an unexpected keyword argument {name!r}"
            raise config_refusal(name, message, text, remove_key(name))
    get = values.get
    task = get("task_type")
    if isinstance(task, str) and task.rpartition(".")[2] not in fields.TASKS and peft >= fields.CHECKS_TASK:
        text = f"ValueError: Invalid task type: {task!r}. Must be one of the following task types: {', '.join(fields.TASKS)}."
        near = task.upper() if task.upper() in fields.TASKS else "CAUSAL_LM"
        words = f'`task_type` is "{task}", which is not a task of PEFT'
        raise config_refusal("task_type", words, text, set_key("task_type", near))
    if isinstance(get(PARAMETERS), str):
        text = "TypeError: `target_parameters` must be a list of strings or None."
        raise config_refusal(PARAMETERS, f"`{PARAMETERS}` is a string, not a list", text, set_key(PARAMETERS, [get(PARAMETERS)]))
    for name in (LAYERS, PATTERN):
        if isinstance(get(TARGETS), str) and get(name) is not None:
            text = f"ValueError: `{name}` cannot be used when `target_modules` is a str."
            raise config_refusal(name, f"`{name}` requires a list as `{TARGETS}`", text, remove_key(name))
    if get(PATTERN) and get(LAYERS) is None and LAYERS not in unknown and peft >= fields.CHECKS_PATTERN:
        text = "ValueError: When `layers_pattern` is specified, `layers_to_transform` must also be specified. "
        raise config_refusal(PATTERN, f"`{PATTERN}` requires `{LAYERS}`", text, f"set `{LAYERS}`" | remove_key(PATTERN))
    if get("use_dora") and get("megatron_config"):
        text = "ValueError: DoRA does not support megatron_core, please set `use_dora=False`."
        raise config_refusal("use_dora", "`use_dora` is incompatible with `megatron_config`", text, set_key("use_dora", False))
    if get("init_lora_weights") == "loftq" and not get("loftq_config") and "loftq_config" not in unknown:
        text = "ValueError: `loftq_config` must be specified when `init_lora_weights` is 'loftq'."
        words = "`init_lora_weights: loftq` requires `loftq_config`"
        raise config_refusal("init_lora_weights", words, text, "set `loftq_config`")
    if get("lora_bias") and get("use_dora"):
        text = "ValueError: The argument lora_bias=True is not supported for DoRA, please pass use_dora=False"
        raise config_refusal("lora_bias", "`lora_bias` is incompatible with `use_dora`", text, set_key("use_dora", False))


def layer_values(values: ConfigMapping, peft: Version) -> None:
    """What the layers of an adapter refuse of the other values, whatever the model is; raises Refusal."""
    for name in ("r", "lora_alpha", "lora_dropout"):
        value = values.get(name, 1)
        if type(value) not in ((int,) if name == "r" else (int, float)):
            wanted = "an integer" if name == "r" else "a number"
            raise model_refusal(name, f"`{name}` is {shown(value)}, not {wanted}", f"TypeError: {of_type(name, value)}")
    rank, dropout = values.get("r", 8), values.get("lora_dropout", 0.0)
    bias, start = values.get("bias", "none"), values.get("init_lora_weights")
    if rank <= 0:
        text = f"ValueError: `r` should be a positive integer value but the value passed is {rank}"
        raise model_refusal("r", f"`r` is {rank}, and must be positive", text, set_key("r", 16))
    if dropout > 1:
        text = f"ValueError: dropout probability has to be between 0 and 1, but got {dropout}"
        raise model_refusal("lora_dropout", f"`lora_dropout` is {dropout}, and must be at most 1", text, set_key("lora_dropout", 0.05))
    if bias not in fields.BIASES:
        text = f"NotImplementedError: Requested bias: {bias}, is not implemented."
        if not isinstance(bias, str) and peft >= (0, 18):
            text = f"AttributeError: '{type(bias).__name__}' object has no attribute 'endswith'"
        raise model_refusal("bias", f"`bias` is {shown(bias)}, and must be none, all or lora_only", text, set_key("bias", "none"))
    known = {name for name, since in fields.INITIALIZATIONS.items() if since <= peft}
    is_pissa = isinstance(start, str) and start.startswith(fields.PISSA) and start.removeprefix(fields.PISSA).isdigit()
    if isinstance(start, str) and start.lower() not in known and not is_pissa:
        text = f"ValueError: Unknown initialization init_lora_weights={start!r}"
        message = f'`init_lora_weights` is "{start}", which this release does not have'
        raise model_refusal("init_lora_weights", message, text, remove_key("init_lora_weights"))
    if start == "corda":
        text = "ValueError: `eigens` attribute not found for layer, please run `preprocess_corda` first."
        message = "`init_lora_weights: corda` requires `preprocess_corda` before"
        raise model_refusal("init_lora_weights", message, text, remove_key("init_lora_weights"))


def of_type(name: str, value: object) -> str:
    kind = type(value).__name__
    if name == "r" and isinstance(value, (float, bool)):
        return f"empty(): argument 'size' (position 1) must be tuple of ints, but found element of type {kind} at pos 0"
    if name == "lora_alpha":
        return f"unsupported operand type(s) for /: '{kind}' and 'int'"
    sign, other = ("<=", "int") if name == "r" else (">", "float")
    return f"'{sign}' not supported between instances of '{kind}' and '{other}'"


def shown(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


def attached(values: ConfigMapping, modules: Modules, peft: Version, transformers: Version) -> Attached:
    """Put the adapter on the model; raises Refusal."""
    values = dict(values)
    converted: list[str] = []
    value = values.get(TARGETS)
    moe = fields.CONVERTED.get(modules.model_type) if transformers >= FIRST_OF_5 and peft >= fields.CONVERTS_EXPERTS else None
    if moe is not None:
        converted = convert(values, modules, moe, peft)
    if values.get(TARGETS) is None and not (values.get(PARAMETERS) and peft >= fields.HAS_PARAMETERS):
        known, since = fields.DEFAULTS.get(modules.model_type, (None, ()))
        if known is None or since > peft:
            keys = "`target_modules` or `target_parameters`in" if peft >= fields.HAS_PARAMETERS else "`target_modules` in"
            message = f"`{TARGETS}` is not set, and PEFT has no targets of its own for {modules.model_type}"
            raise model_refusal(TARGETS, message, f"ValueError: Please specify {keys} `peft_config`", set_key(TARGETS, "all-linear"))
        values[TARGETS] = known if isinstance(known, str) else list(known)
    if isinstance(values.get(TARGETS), str) and values[TARGETS].lower() == ALL_LINEAR and peft >= fields.ALL_LINEAR_SINCE:
        values[TARGETS] = [name for name in modules.linear() if name != modules.output]
    if isinstance(values.get(SAVED), str) and peft < fields.TAKES_LETTERS:
        saved = values[SAVED]
        text = "AttributeError: 'str' object has no attribute 'copy'" if peft >= (0, 15) else "TypeError: unsupported operand"
        raise model_refusal(SAVED, f"`{SAVED}` is a string, not a list", text, set_key(SAVED, [saved]))
    found, excluded = matched(values, modules)
    for name in found:
        refuse_module(name, modules, peft)
    asked = values.get(PARAMETERS) or () if peft >= fields.HAS_PARAMETERS else ()
    has_parameters = any(ends(parameter, asked) for parameter in modules.parameters)
    if not found and not has_parameters:
        raise no_match(values, modules, value, bool(excluded), peft)
    layer_values(values, peft)
    if has_parameters:
        refuse_for_parameters(values)
    without_module = [entry for entry in entries(value) if entry not in converted and not any(ends(name, (entry,)) for name in found)]
    without_saved = [entry for entry in entries(values.get(SAVED)) if not any(name.endswith(entry) for name in modules.kinds)]
    return Attached(found, without_module, without_saved, isinstance(values.get(SAVED), str) and bool(values[SAVED]))


def entries(given: object) -> list[str]:
    return list(dict.fromkeys(each for each in given if isinstance(each, str))) if isinstance(given, (list, tuple, set)) else []


def matched(values: ConfigMapping, modules: Modules) -> tuple[list[str], list[str]]:
    """(the modules that an adapter is put on, those that are excluded), as check_target_module_exists tells them."""
    targets, excluded, saved = values.get(TARGETS), values.get(EXCLUDED), values.get(SAVED)
    found: list[str] = []
    left_out: list[str] = []
    ends_of_targets = suffixes(targets)
    for name in modules.kinds:
        if excluded and (re.fullmatch(excluded, name) if isinstance(excluded, str) else ends(name, excluded)):
            left_out.append(name)
        elif saved and any(re.match(rf"(^|.*\.){re.escape(entry)}($|\..*)", name) for entry in entries(list(saved))):
            left_out.append(name)
        elif is_target(name, targets, ends_of_targets, values):
            found.append(name)
    return found, left_out


def ends(name: str, entries_: Any) -> bool:
    return any(name == each or name.endswith(f".{each}") for each in entries_)


def suffixes(targets: Any) -> tuple[str, ...]:
    """What the path of a targeted module ends with, if the targets are a list."""
    return tuple(f".{target}" for target in targets) if targets is not None and not isinstance(targets, str) else ()


def is_target(name: str, targets: Any, ends_of_targets: tuple[str, ...], values: ConfigMapping) -> bool:
    """Whether a module is targeted: by a pattern for its whole path, by its path, or by the end of it in one of the layers."""
    if targets is None:
        return False
    if isinstance(targets, str):
        return re.fullmatch(targets, name) is not None
    if name in targets:
        return True
    if not name.endswith(ends_of_targets):
        return False
    layers, pattern = values.get(LAYERS), values.get(PATTERN)
    if layers is None or layers == []:
        return True
    patterns = [pattern] if isinstance(pattern, str) and pattern else pattern or []
    asked = [rf"(?:^|.*?\.){each}\.(?P<idx>\d+)\." for each in patterns] or [r".*?\.[^.]*\.(?P<idx>\d+)\."]
    match = next((match for each in asked if (match := re.match(each, name))), None)
    return match is not None and (int(match["idx"]) == layers if isinstance(layers, int) else int(match["idx"]) in layers)


def refuse_module(name: str, modules: Modules, peft: Version) -> None:
    """Raise Refusal for a module that no adapter can be put on."""
    last, kind = name.rpartition(".")[2], modules.kinds[name]
    if modules.model_type in fields.MAMBA_TYPES and last in fields.MAMBA_MODULES and peft >= fields.CHECKS_MAMBA:
        text = f"ValueError: [PEFT:PeftType.LORA] Module '{last}' is incompatible with Mamba-based models "
        text += f"(model_type='{modules.model_type}'). Incompatible modules: {{'out_proj', 'conv1d'}}."
        others = [leave for leave in modules.leaves() if leave not in fields.MAMBA_MODULES]
        raise model_refusal(TARGETS, f"`{last}` of {modules.model_type} cannot have an adapter", text, set_key(TARGETS, [*others]))
    if kind not in SUPPORTED:
        text = "Currently, only the following modules are supported: `torch.nn.Linear`, `torch.nn.Embedding`, `torch.nn.Conv1d`, ..."
        message = f"`{last}` of {modules.model_type} is not a layer that can have an adapter"
        raise model_refusal(TARGETS, message, f"ValueError: Target module {last} is not supported. {text}", instead(modules))


def refuse_for_parameters(values: ConfigMapping) -> None:
    """Raise Refusal for values that adapters on parameters do not support."""
    for name, more in (("lora_dropout", " != 0"), ("fan_in_fan_out", ""), ("lora_bias", "=True"), ("use_dora", "=True")):
        if values.get(name):
            off = "0.0" if name == "lora_dropout" else "false"
            message = f"`{name}` is {shown(values[name])}, and the targets contain experts, whose parameters do not support it"
            raise model_refusal(name, message, f"ValueError: {NO_PARAMETERS} {name}{more}.", set_key(name, off))
    start = values.get("init_lora_weights")
    if isinstance(start, str) and start.startswith(("pissa", "olora", "corda", "orthogonal", "loftq")):
        text = "AttributeError: experts object has no attribute 'weight'"
        message = f"`init_lora_weights: {start}` does not support experts, whose weights are parameters"
        raise model_refusal("init_lora_weights", message, text, remove_key("init_lora_weights"))


def no_match(values: ConfigMapping, modules: Modules, given: Any, excluded: bool, peft: Version) -> Refusal:
    targets = values.get(TARGETS)
    if not targets and not excluded and peft >= (0, 17):
        text = "No `target_modules` passed but also no `target_parameters` found. Please check the values for these arguments."
        message = f"`{TARGETS}` leaves no module of {modules.model_type} with an adapter"
        return model_refusal(TARGETS, message, f"ValueError: {text}", instead(modules))
    if excluded and peft >= fields.FIELDS[EXCLUDED]:
        text = "ValueError: No modules were targeted for adaptation."
        return model_refusal(TARGETS, f"`{TARGETS}` matches only modules that are excluded or saved", text, instead(modules))
    listed = sorted(targets) if isinstance(targets, (list, tuple)) else targets
    names = "{" + ", ".join(map(repr, listed[:8])) + (", ..." if len(listed) > 8 else "") + "}" if isinstance(listed, list) else str(listed)
    text = f"ValueError: Target modules {names} not found in the base model. {AGAIN}"
    if values.get(LAYERS) is not None and any(is_target(name, targets, suffixes(targets), {}) for name in modules.kinds):
        message = f"`{LAYERS}` is {values[LAYERS]}, and there is no such layer"
        if values.get(PATTERN):
            message = f"`{LAYERS}` and `{PATTERN}` leave no layer"
        return model_refusal(LAYERS, message, f"{text} Note: You specified 'layers_to_transform'", remove_key(LAYERS))
    message = f"no module of {modules.model_type} matches"
    if isinstance(given, str) and given.lower() != ALL_LINEAR:
        message = f'"{given}" is a pattern for the whole path of a module, and {message}'
    elif isinstance(given, (list, tuple)) and len(given) > 1:
        message = f"none of its entries is a module of {modules.model_type}"
    return model_refusal(TARGETS, f"`{TARGETS}`: {message}", text, instead(modules))


def instead(modules: Modules) -> str:
    """The remedy: the layers that the model has."""
    names = [leave for leave in modules.leaves() if not leave.isdigit()]
    return f"set `{TARGETS}` to some of {', '.join(names[:10])}, or to all-linear"


def convert(values: ConfigTable, modules: Modules, mapping: dict[str, str], peft: Version) -> list[str]:
    """Replace targets that transformers 5 has as parameters of experts, as PEFT does; return them. Raises Refused."""
    targets = values.get(TARGETS)
    if isinstance(targets, str):
        if peft >= fields.RESOLVES_STRINGS:
            resolved = resolve(targets, values, modules, mapping)
            if not resolved:
                return []
            targets = resolved
        else:
            targets = list(targets)  # a set of its letters
    parameters = list(values.get(PARAMETERS) or [])
    kept: list[str] = []
    converted: list[str] = []
    for target in targets or []:
        former = next((name for name in mapping if target == name or str(target).endswith(f".{name}")), None)
        if former is None:
            kept.append(target)
            continue
        converted.append(target)
        if mapping[former] not in parameters:
            parameters.append(mapping[former])
    names = {each.rpartition(".")[2] for each in converted}
    parts = [name for name, parameter in mapping.items() if parameter == fields.FUSED]
    present = sorted(names & set(parts))
    if 0 < len(present) < len(parts):
        missing = ", ".join(sorted(set(parts) - names))
        because = f"because they are fused into {fields.FUSED}."
        text = f"Cannot convert PEFT target(s) {', '.join(present)} without also targeting {missing} {because}"
        message = f"`{TARGETS}` has {', '.join(present)} without {missing}, and the experts have both in one parameter"
        raise model_refusal(TARGETS, message, f"ValueError: {text}", f"add {missing} to `{TARGETS}`")
    values[TARGETS], values[PARAMETERS] = kept, parameters
    return converted


def resolve(targets: str, values: ConfigMapping, modules: Modules, mapping: dict[str, str]) -> list[str]:
    """The names of layers that a pattern, or all-linear, means for experts (_resolve_string_target_modules)."""
    if targets.lower() == ALL_LINEAR:
        return list(dict.fromkeys([*modules.leaves(), *mapping]))
    hit = [name.rpartition(".")[2] for name in (*modules.kinds, *modules.parameters) if is_target(name, targets, suffixes(targets), values)]
    for former, parameter in mapping.items():
        containers = (name.removesuffix(parameter) for name in modules.parameters if name.endswith(f".{parameter}"))
        if former not in hit and any(is_target(f"{container}{former}", targets, suffixes(targets), values) for container in containers):
            hit.append(former)
    return list(dict.fromkeys(hit))


def unknown_in(values: ConfigMapping) -> Iterator[str]:
    """The fields whose values are not known."""
    for name, value in values.items():
        if isinstance(value, Unknown) or (isinstance(value, list) and any(isinstance(each, Unknown) for each in value)):
            yield name
