"""Rules about values that the pinned DeepSpeed rejects in the config that GPT-NeoX passes to it."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import BY_CODE, Finding, rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.deepspeed import models
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import ModelSection
from cfglint.frameworks.neox.batch import ACCUMULATION, MICRO, TOTAL
from cfglint.frameworks.neox.config import NeoXConfig, switched_on
from cfglint.frameworks.neox.fields import default, describe
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.versions import dotted, parse_version
from cfglint.frameworks.remedies import choice, rename, replace
from cfglint.frameworks.rows.refusals import refused_batch
from cfglint.frameworks.validation.pydantic import UNKNOWN, Invalid
from cfglint.source.annotations import ConfigMapping, Iterator, Operand
from cfglint.source.numbers import is_number
from cfglint.source.similar_keys import names_of, near

TYPES = ("fp32", "fp16", "bf16")
DEEPSPEED = (0, 16, 5)  # GPT-NeoX pins DeeperSpeed 91d1c55, a fork of this release of DeepSpeed
# The sections that it checks with pydantic models (runtime/config.py:478-490, monitor/config.py).
STRICT_SECTIONS = ("zero_optimization", "comms_logger", "hybrid_engine", "tensorboard", "wandb", "csv_monitor", "comet")
ENGINE_ONLY = ("hybrid_engine", "comet")  # sections that only deepspeed_extra_args can give: NeoXArgs has no such field
# The fields that it passes on without a check of its own (megatron/neox_arguments/deepspeed_args.py), where they differ from their
# defaults, and the rules of what `DeepSpeedConfig` makes of their values.
PASSED = """
    curriculum_learning steps_per_print wall_clock_breakdown flops_profiler activation_checkpointing sparse_attention data_efficiency
    comms_logger compression_training checkpoint data_types amp autotuning
""".split()
CHECKS_OF_VALUES = ("TYP103", "TYP106", "TYP109", "TYP110", "TYP112", "TYP114", "TYP116")


def engine_value(config: NeoXConfig, name: str) -> Operand:
    """A key of the DeepSpeed config; deepspeed_extra_args override the others."""
    extra = config.derived.extra
    if name in extra:
        return extra[name]
    return None if name in ENGINE_ONLY else config.argument(name)


def engine_setting(config: NeoXConfig, name: str, *path: str | int) -> Setting:
    if name in config.derived.extra:
        return config.setting("deepspeed_extra_args", name, *path)
    return config.setting(name, *path)


@rule("NEO090")
def invalid_deepspeed_section(config: NeoXConfig) -> Iterator[Finding]:
    autotuning = config.argument("autotuning")
    tuned = isinstance(autotuning, dict) and bool(autotuning.get("enabled"))  # lists are then what the tuner tries
    for name in STRICT_SECTIONS:
        section = engine_value(config, name)
        if not isinstance(section, dict):
            continue
        read, faults = read_as_deepspeed(name, section)
        for path, fault in faults:
            setting = engine_setting(config, *path)
            if fault.kind in (UNKNOWN, models.EARLY, models.TWICE):
                near, safe = (None, False) if fault.kind == models.TWICE else _nearest(path, section)
                message = f"unknown key `{path[-1]}` in `{path[-2]}`" + (f"; did you mean `{near}`?" if near else "")
                if fault.kind == models.TWICE:
                    message = models.set_twice(setting)
                fix = rename(setting, near, f"rename to `{near}`", safe) if near else None
                remedy = None if fix else remove_key(setting.name)
                yield Finding(setting, message, exception=fault.exception, fix=fix, on_key=True, help=remedy)
            else:
                if tuned and isinstance(setting.value, list) and config.other_parsers:
                    continue
                remedy = None if isinstance(setting.value, dict) else remove_key(setting.name, " for the default")
                yield Finding(setting, fault.explained(setting, setting.name or name), exception=fault.exception, help=remedy)
        if name == "zero_optimization":
            for old, new in models.REPLACEMENTS.items():  # set together (runtime/config_utils.py:86-88)
                if old in read.given and new in read.given:
                    text = f"deprecated `{old}` is set together with its replacement `{new}`"
                    raised = f"AssertionError: Cannot provide deprecated parameter '{old}' and replacing parameter '{new}' together"
                    remedy = remove_key(f"{name}.{old}")
                    yield Finding(engine_setting(config, name, old), text, exception=raised, on_key=True, help=remedy)


def read_as_deepspeed(name: str, section: ConfigMapping) -> tuple[ModelSection, list[tuple[tuple[str, ...], Invalid]]]:
    """A section as its model holds it, and the errors, each with its path, which begins with the name of the section."""
    is_monitor = name in models.MONITORS
    read = (
        models.read_section(models.MONITOR, {name: section}, DEEPSPEED)
        if is_monitor
        else models.read_section(models.SECTIONS[name], section, DEEPSPEED)
    )
    start = () if is_monitor else (name,)
    return read, [((*start, *map(str, fault.path)), fault) for fault in read.faults]


def _nearest(path: tuple[str, ...], section: ConfigMapping) -> tuple[str | None, bool]:
    """The key of the section that is most similar, if only one is and it is not set, and whether it is a single typo away."""
    if len(path) != 2:
        return None, False
    model = models.SECTIONS.get(path[0]) or models.MONITOR.fields[path[0]].model
    names = model.known_names(DEEPSPEED) if model else ()
    candidates = near(path[1], names_of(names))
    is_alone = bool(candidates) and [candidate.distance for candidate in candidates].count(candidates[0].distance) == 1
    if not is_alone or candidates[0].name in section:
        return None, False
    return candidates[0].name, candidates[0].distance <= 1


@rule("NEO091")
def invalid_communication_data_type(config: NeoXConfig) -> Iterator[Finding]:
    value = engine_value(config, "communication_data_type")
    if value is None:
        return
    setting = engine_setting(config, "communication_data_type")
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'lower'"
        message = f"`communication_data_type` is {describe(value)}; DeepSpeed accepts only fp32, fp16 or bf16"
        yield Finding(setting, message, exception=text, help="remove it, and set it in `deepspeed_extra_args`")
    elif value.lower() not in TYPES and "communication_data_type" in config.derived.extra:
        text = f"ValueError: Invalid communication_data_type. Supported data types: ['fp16', 'bf16', 'fp32']. Got: {value.lower()}"
        words = f"`communication_data_type` is {describe(value)}; it must be fp32, fp16 or bf16"
        yield Finding(setting, words, exception=text, help=choice(setting.name, value, ("fp32", "fp16", "bf16")))


@rule("NEO092")
def elasticity_with_batch(config: NeoXConfig) -> Iterator[Finding]:
    section = engine_value(config, "elasticity")
    if isinstance(section, dict) and section.get("enabled") and not section.get("ignore_non_elastic_batch_info"):
        message = "`elasticity` is incompatible with the batch sizes that GPT-NeoX passes to DeepSpeed"
        yield Finding(engine_setting(config, "elasticity"), message, help=set_key("elasticity.ignore_non_elastic_batch_info", True))


@rule("NEO093")
def extra_args_batch_mismatch(config: NeoXConfig) -> Iterator[Finding]:
    extra, batch = config.derived.extra, config.batch
    names = [name for name in (TOTAL, MICRO, ACCUMULATION) if name in extra]
    data_parallel = batch.data_parallel.integer
    if not names or batch.problem is not None or data_parallel is None:
        return
    sizes: list[Operand] = [
        extra.get(name, term.value)
        for name, term in ((TOTAL, batch.global_batch), (MICRO, batch.micro_batch), (ACCUMULATION, batch.accumulation))
    ]
    total, micro, accumulation = sizes
    setting = config.setting("deepspeed_extra_args", names[0])
    if not (is_number(total) and is_number(micro) and is_number(accumulation)):
        return
    if total != micro * accumulation * data_parallel or total <= 0 or micro <= 0:
        text = refused_batch("deepspeed", "DeepSpeedConfig", parse_version(RELEASES["deepspeed"]), sizes, data_parallel)
        equation = f"micro batch {micro} x accumulation {accumulation} x data parallel {data_parallel}"
        message = f"`{TOTAL}` is {total} in the config that DeepSpeed gets, but {equation} = {micro * accumulation * data_parallel}"
        yield Finding(setting, message, exception=text, help=remove_key(f"deepspeed_extra_args.{names[0]}"))


@rule("NEO094")
def invalid_loss_scale_power(config: NeoXConfig) -> Iterator[Finding]:
    power = config.get("fp16", "initial_scale_power", default=16)
    if config.derived.precision == "fp16" and not is_number(power):
        setting = config.setting("fp16", "initial_scale_power")
        text = f"TypeError: unsupported operand type(s) for ** or pow(): 'int' and '{type(power).__name__}'"
        number_ = int(power) if isinstance(power, str) and power.isdigit() else None
        fix = replace(setting, number_, f"change to {number_}") if number_ is not None else None
        yield Finding(setting, f"`fp16.initial_scale_power` is {describe(power)}, not a number", exception=text, fix=fix)


@rule("NEO095")
def invalid_value_for_deepspeed(config: NeoXConfig) -> Iterator[Finding]:
    elastic = engine_value(config, "elasticity")
    if isinstance(elastic, dict) and elastic.get("enabled"):
        for name in ("max_train_batch_size", "micro_batch_sizes"):
            if name not in elastic:
                text = f"ElasticityConfigError: Elasticity config missing {name}"
                remedy = f"set `elasticity.{name}`" | set_key("elasticity.enabled", False)
                message = f"`elasticity` has no key `{name}`, which is required"
                yield Finding(engine_setting(config, "elasticity"), message, exception=text, help=remedy)
    if "deepspeed_extra_args" in config.values or not config.values.keys().isdisjoint(PASSED):
        engine = EngineConfig(config)
        engine.framework.load_rules()
        for found in (found for code in CHECKS_OF_VALUES for each in BY_CODE[code] for found in each.check(engine)):
            found.fails_at = None  # where the rule here fails
            yield found


class EngineConfig(DeepSpeedConfig):
    """What DeepSpeed gets, whose values are at places of GPT-NeoX's files."""

    def __init__(self, config: NeoXConfig) -> None:
        passed = {
            name: config.argument(name)
            for name in PASSED
            if name in config.values and config.check_of(name).refusal(config.argument(name)) is None
        }
        differing = {name: value for name, value in passed.items() if value != default(name)}
        facts = config.facts.replace(target={**config.facts.target, DeepSpeedConfig.framework.package: dotted(DEEPSPEED)})
        super().__init__(config.documents, facts, values={**differing, **config.derived.extra})
        self.open, self.consumer = False, config

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
        return engine_setting(self.consumer, str(path[0]), *path[1:])


@rule("PRC306")
def extra_args_precision_conflict(config: NeoXConfig) -> Iterator[Finding]:
    extra, own = config.derived.extra, {"fp16": "fp16", "bfloat16": "bf16"}.get(config.derived.precision)
    for name, other in (("bf16", "fp16"), ("fp16", "bf16")):
        if own == other and other not in extra and switched_on(extra.get(name)):
            setting = config.setting("deepspeed_extra_args", name)
            message = f"`deepspeed_extra_args` enables {name}, but `precision` enables {other}"
            yield Finding(setting, message, related=(config.setting("precision"),), help=remove_key(f"deepspeed_extra_args.{name}"))
