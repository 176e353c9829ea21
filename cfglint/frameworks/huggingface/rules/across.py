"""Rules about a Trainer config and its DeepSpeed config: conflicts that raise, and values that are silently overridden."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding
from cfglint.findings.setting import DEFAULT, Setting
from cfglint.frameworks.huggingface.batch import accumulation_steps, of
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import rule_about, shown
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.remedies import remove, replace
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.huggingface.deepspeed_integration import HfDeepSpeedConfig

# The `lr_scheduler_type` and `optim` values that match a name in the DeepSpeed config.
SCHEDULES = {"WarmupDecayLR": ("linear",), "WarmupLR": ("constant_with_warmup",), "WarmupCosineLR": ("cosine",)}
OPTIMIZERS = dict.fromkeys(("adamw", "adam"), ("adamw_torch", "adamw_torch_fused", "adamw_hf"))


def deepspeed(config: TrainerConfig) -> tuple[HfDeepSpeedConfig] | None:
    return (config.deepspeed,) if config.deepspeed is not None else None


@rule_about("RUN001", deepspeed)
def deepspeed_mismatch(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    for mismatch in launch.mismatches:
        if launch.disagrees_on_precision and mismatch.path in launch.HALF_PRECISION:
            continue  # RUN004 reports this, and the trainer stops there
        related = tuple(of(config, name) for name in mismatch.fields)
        if config.facts.launch.doubts and all(field.origin == DEFAULT for field in related):
            continue  # a program that may not use the Trainer may lack this field
        setting = launch.setting(mismatch.path)
        fix = replace(setting, "auto", 'set it to "auto"', safe=True) if launch.accepts_auto(setting) else None
        text = f"ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values: {mismatch.line}"
        message = f"`{setting.name}` is {setting.spelled}, but the Trainer's {mismatch.label} is {shown(mismatch.ours)}"
        yield Finding(setting, message, related=related, exception=text, fix=fix, help=None if fix else "make the two values equal")


def lacks_zero(launch: HfDeepSpeedConfig) -> bool:
    return launch.refusal is not None and launch.refusal.key == "zero_optimization" and "zero_optimization" not in launch.written


@rule_about("RUN002", deepspeed)
def missing_zero_section(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    line = config.facts.launch.line
    if launch.refusal is not None and lacks_zero(launch) and (line is None or "autotuning" not in line.options.given):
        setting, text = launch.setting("zero_optimization"), launch.refusal.exception
        remedy = "add `zero_optimization: {stage: 0}` to the DeepSpeed config" | remove_key("deepspeed")
        yield Finding(setting, "`zero_optimization` is missing; the Trainer requires this section", exception=text, help=remedy)


@rule_about("RUN014", deepspeed)
def deepspeed_optimizer_without_scheduler(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    if config.section("deepspeed") is not None and "optimizer" in launch.written and "scheduler" not in launch.written:
        message = "`optimizer` requires a `scheduler` section in this release of transformers"
        yield Finding(launch.setting("optimizer"), message, help="add a `scheduler` section" | remove_key("optimizer"))


@rule_about("RUN003", deepspeed)
def unresolved_auto(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    found = launch.refusal
    if found is not None and found.kind == launch.UNRESOLVED:
        setting = launch.setting(found.key)
        fix = remove(setting, f"remove {found.key}", safe=True)
        yield Finding(setting, f'`{found.key}` is "auto", which the Trainer does not resolve', exception=found.exception, fix=fix)


@rule_about("RUN004", deepspeed)
def incompatible_deepspeed_config(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    found = launch.refusal
    if found is None or found.kind == launch.UNRESOLVED or lacks_zero(launch):
        return
    setting, fix = launch.setting(found.key), None
    related: tuple[Setting, ...] = ()
    if launch.disagrees_on_precision:
        fix = replace(setting, "auto", 'set it to "auto"', safe=True)
        related = (of(config, launch.precision),)
    yield Finding(setting, found.message, related=related, exception=found.exception, fails_at=found.fails_at, fix=fix)


def type_of(launch: HfDeepSpeedConfig, section: str) -> object:
    value = launch.written[section]
    return value.get("type") if isinstance(value, dict) else value


def overridden(config: TrainerConfig, launch: HfDeepSpeedConfig, name: str, section: str) -> Iterator[Finding]:
    """The finding about a field that the type of a section overrides, unless both are known to be the same."""
    if section not in launch.written or name not in config.arguments:
        return
    theirs, ours = type_of(launch, section), config.arguments.optimizer if name == "optim" else config.arguments[name]
    if ours in (OPTIMIZERS.get(str(theirs).lower(), ()) if name == "optim" else SCHEDULES.get(str(theirs), ())):
        return
    place, remedy = launch.setting(f"{section}.type"), f"remove the `{section}` section of the DeepSpeed config to use the Trainer's"
    message = f"`{name}` is overridden by `{section}.type` of the DeepSpeed config, {theirs}"
    fix = remove(launch.setting(section), remedy, safe=False)
    yield Finding(of(config, name), message, related=(place,), help=remedy, fix=fix)


rule_about("RUN005", deepspeed)(lambda config, launch: overridden(config, launch, "lr_scheduler_type", "scheduler"))
rule_about("RUN006", deepspeed)(lambda config, launch: overridden(config, launch, "optim", "optimizer"))


@rule_about("RUN013", deepspeed)
def autotuning_without_mappings(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    section = launch.written.get("autotuning")
    if isinstance(section, dict) and section.get("enabled") and not section.get("arg_mappings"):
        text = "`autotuning` has no `arg_mappings`: every experiment trains with the Trainer's own batch sizes"
        yield Finding(launch.setting("autotuning.enabled"), text, help="write `arg_mappings`, as `cfglint rule RUN013` shows")


@rule_about("RUN012", deepspeed)
def default_schedule_replaced(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    if "scheduler" not in launch.written or "lr_scheduler_type" in config.arguments:
        return
    theirs, default = type_of(launch, "scheduler"), config.arguments["lr_scheduler_type"]
    if theirs is not None and default not in SCHEDULES.get(str(theirs), ()):
        text = f"`scheduler.type` is {theirs}, which replaces the Trainer's default schedule ({default})"
        remedy = "set `lr_scheduler_type` as well, or remove the `scheduler` section to use the Trainer's"
        yield Finding(launch.setting("scheduler.type"), text, help=remedy)


def unfilled(launch: HfDeepSpeedConfig, setting: Setting, message: str, key: str, note: str | None = None) -> Finding:
    """The finding about a field for which the DeepSpeed config lacks the key; the fix leaves that to the Trainer."""
    from cfglint.findings.fix_builders import inserted, several

    remedy, related = f"set `{key}: auto` in the DeepSpeed config", (launch.setting(key),)
    fix = several([inserted(launch.document, (*launch.prefix, key), "auto")], remedy, False)
    return Finding(setting, message, related=related, note=note, help=remedy, fix=fix)


@rule_about("RUN007", deepspeed)
def ignored_max_grad_norm(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    norm = config.arguments["max_grad_norm"]
    if "gradient_clipping" in launch.written or not is_number(norm):
        return
    from cfglint.frameworks.deepspeed.models import default_of_key

    version = config.facts.version("deepspeed", RELEASES["deepspeed"])
    actual = default_of_key("gradient_clipping", version)
    if "max_grad_norm" in config.arguments and norm != actual:
        clips = f"clips at {actual}" if actual else "does not clip"
        message = f"`max_grad_norm` is {norm}, which is ignored: without `gradient_clipping` in its config DeepSpeed {clips}"
        yield unfilled(launch, of(config, "max_grad_norm"), message, "gradient_clipping")


@rule_about("RUN008", deepspeed)
def ignored_gradient_accumulation(config: TrainerConfig, launch: HfDeepSpeedConfig) -> Iterator[Finding]:
    setting = accumulation_steps(config)
    if launch.steps_every_micro_batch and is_number(setting.value) and setting.value > 1:
        release = config.facts.target["accelerate"]
        ignored = f"`{setting.name}` is {setting.value}, which accelerate {release} ignores"
        message = f"{ignored}: the DeepSpeed config lacks the key, so DeepSpeed uses 1"
        note = "DeepSpeed takes an optimizer step for every micro batch"
        yield unfilled(launch, setting, message, "gradient_accumulation_steps", note)
