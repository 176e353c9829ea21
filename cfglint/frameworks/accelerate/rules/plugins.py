"""Rules about values of the DeepSpeed and FSDP blocks, which the program's `Accelerator` refuses when it makes its plugin of them."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import WARNING
from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.remedies import choice
from cfglint.source.annotations import ConfigMapping, ConfigValue, Iterator

TRUTHS = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")
PREFETCHES = ("BACKWARD_PRE", "BACKWARD_POST")
NO_PREFETCH = "NO_PREFETCH"
STATE_TYPES = ("FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT")
FLAGS = ("offload_params", "activation_checkpointing", "activation_checkpointing_offload", "cpu_ram_efficient_loading")
FLAGS_OF_1 = ("use_orig_params", "sync_module_states", "forward_prefetch")  # FSDP2 reads none of them
DEVICES = ("none", "cpu", "nvme")
STAGES = ("0", "1", "2", "3")
Problem = tuple[str, str, "Remedy | str"]  # what is wrong with the value, the exception, the remedy


@rule("ACC028")
def refused_plugin_value(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.local:
        return
    if config.distributed == "FSDP":
        section, name, own = known_values(config, "fsdp_config"), "fsdp_config", "fsdp"
        bare = {key.removeprefix("fsdp_"): value for key, value in section.items()}
        values = {key: value for key, value in bare.items() if config.release_has(f"fsdp_{key}", name)}
        problems = fsdp_problems(values, config.fsdp_version == "2")
    elif config.uses_deepspeed and not config.section("deepspeed_config").get("deepspeed_config_file"):
        section, name, own = known_values(config, "deepspeed_config"), "deepspeed_config", "deepspeed"
        problems = deepspeed_problems(section)
    else:
        return
    decided = config.trainer is not None and not config.trainer.get(own)
    for key, (what, exception, remedy) in problems:
        written = next(each for each in (f"fsdp_{key}", key) if each in section)
        setting = config.setting(name, written)
        yield Finding(
            setting,
            f"`{written}` is {setting.spelled}, {what}",
            exception=exception or None,
            severity=None if exception else WARNING,
            depends_on=() if decided else (Reason("program", "the `Accelerator` that the program makes"),),
            help=remedy.format(f"{name}.{written}") if isinstance(remedy, str) else remedy,
        )


def known_values(config: AccelerateConfig, name: str) -> ConfigMapping:
    """The values of a section that are known."""
    return {key: value for key, value in config.section(name).items() if isinstance(key, str) and not isinstance(value, Unknown)}


def fsdp_problems(values: ConfigMapping, is_2: bool) -> Iterator[tuple[str, Problem]]:
    """The values of FSDP's section that are refused: (key without its prefix, problem). A null of the file is the word None."""
    version = str(values.get("version", 1))
    if not is_integer(version):
        yield "version", ("not an integer", f"ValueError: invalid literal for int() with base 10: {version!r}", "set `{}` to 1 or 2")
        return
    resharded = str(values.get("reshard_after_forward", "true")).upper()
    if int(version) not in (1, 2) and resharded not in STRATEGIES:  # neither version's option is read
        yield "version", ("not 1 or 2", f"KeyError: {resharded!r}", "set `{}` to 1 or 2")
    if "sharding_strategy" in values and values["sharding_strategy"] is None and version == "1":
        yield from (("sharding_strategy", each) for each in of_enumeration("sharding_strategy", None, STRATEGIES))
    if is_on(values.get("activation_checkpointing_offload")):
        text = "ValueError: `activation_checkpointing_offload=True` requires "
        if not is_on(values.get("activation_checkpointing")):
            remedy = set_key("fsdp_config.fsdp_activation_checkpointing", True)
            yield (
                "activation_checkpointing_offload",
                ("without `activation_checkpointing`", f"{text}`activation_checkpointing=True`.", remedy),
            )
        elif not is_2:
            yield (
                "activation_checkpointing_offload",
                ("which requires FSDP2", f"{text}`fsdp_version=2`.", set_key("fsdp_config.fsdp_version", 2)),
            )
    named: dict[str, tuple[str, ...]] = {"state_dict_type": STATE_TYPES}
    if not is_2:
        named["sharding_strategy"] = STRATEGIES
    for key, names in named.items():
        if values.get(key) is not None:
            yield from ((key, each) for each in of_enumeration(key, values[key], names))
    prefetch = values.get("backward_prefetch")
    if prefetch is not None and str(prefetch).upper() != NO_PREFETCH:
        yield from (("backward_prefetch", each) for each in of_enumeration("backward_prefetch", prefetch, PREFETCHES))
    if is_2 and str(values.get("state_dict_type")).upper() in ("LOCAL_STATE_DICT", "2"):
        text = "ValueError: FSDP2 does not support LOCAL_STATE_DICT. Please set `fsdp_state_dict_type` to `SHARDED_STATE_DICT`"
        yield "state_dict_type", ("which FSDP2 does not support", text, set_key("", "SHARDED_STATE_DICT"))
    size = values.get("min_num_params", 0)
    is_read = str(values.get("auto_wrap_policy")).upper() == "SIZE_BASED_WRAP"
    if (size is not None or is_read) and not is_integer(str(size)):
        text = f"ValueError: invalid literal for int() with base 10: {str(size)!r}" if is_read else ""
        yield "min_num_params", ("not an integer" + ("" if is_read else ", which `SIZE_BASED_WRAP` requires"), text, "set `{}` to a number")
    for key in (*FLAGS, *(("reshard_after_forward",) if is_2 else FLAGS_OF_1)):
        if key in values and str(values[key]).lower() not in TRUTHS:
            yield key, truth(values[key])


def of_enumeration(key: str, value: ConfigValue, names: tuple[str, ...]) -> Iterator[Problem]:
    """The problem of a value that names no member of an enumeration of torch, by its name or its number."""
    text = str(value)
    if text.upper() in names or (text.isdigit() and 1 <= int(text) <= len(names)):
        return
    kinds = {"sharding_strategy": "ShardingStrategy", "backward_prefetch": "BackwardPrefetch", "state_dict_type": "StateDictType"}
    exception = f"ValueError: {int(text)} is not a valid {kinds[key]}" if text.isdigit() else f"KeyError: {text.upper()!r}"
    yield f"not one of {', '.join(names)}", exception, choice("", text, names)


def is_on(value: ConfigValue) -> bool:
    """Whether a value is a word for true."""
    return str(value).lower() in TRUTHS[:6]


def truth(value: ConfigValue) -> Problem:
    """The problem of a value that is no boolean."""
    return "not a boolean", f"ValueError: invalid truth value {str(value).lower()}", "set `{}` to true or false"


def is_integer(text: str) -> bool:
    """Whether `int` accepts a string."""
    try:
        int(text)
    except ValueError:
        return False
    return True


def deepspeed_problems(values: ConfigMapping) -> Iterator[tuple[str, Problem]]:
    """The values of DeepSpeed's section that are refused, by the plugin or by DeepSpeed."""
    given = {key: str(value) for key, value in values.items() if value is not None}
    stage, steps, clipping = (given.get(key) for key in ("zero_stage", "gradient_accumulation_steps", "gradient_clipping"))
    if stage is not None and stage not in STAGES:
        text = f"ValueError: invalid literal for int() with base 10: {stage!r}"
        if is_integer(stage):
            text = "ValidationError: 1 validation error for DeepSpeedZeroConfig"
        yield "zero_stage", ("not one of 0, 1, 2 and 3", text, "set `{}` to 0, 1, 2 or 3")
    if steps is not None and steps != "auto" and not (steps.isdigit() and int(steps)):
        text = f"ValueError: invalid literal for int() with base 10: {steps!r}"
        if is_integer(steps):
            text = f"AssertionError: Gradient accumulation steps: {steps} has to be greater than 0"
        yield "gradient_accumulation_steps", ("not a positive integer", text, "set `{}` to a positive number")
    if clipping is not None and clipping.lower() != "auto" and not is_number(clipping):
        yield (
            "gradient_clipping",
            ("not a number", f"ValueError: could not convert string to float: {clipping.lower()!r}", set_key("", 1.0)),
        )
    for name in ("optimizer", "param"):
        key = f"offload_{name}_device"
        if key in given and given[key].lower() not in DEVICES:
            text = f"ValidationError: 1 validation error for DeepSpeedZeroConfig: offload_{name}.device"
            yield key, ("not one of none, cpu and nvme", text, set_key("", "cpu"))
    if "zero3_init_flag" in given and given["zero3_init_flag"].lower() not in TRUTHS:
        yield "zero3_init_flag", truth(values["zero3_init_flag"])


def is_number(text: str) -> bool:
    """Whether `float` accepts a string."""
    try:
        float(text)
    except ValueError:
        return False
    return True
