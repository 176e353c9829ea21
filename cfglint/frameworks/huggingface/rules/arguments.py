"""Rules about values that `TrainingArguments` rejects during construction."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import FIELDS, choices, has_field
from cfglint.frameworks.huggingface.rules import lost_strategy, of, place, refusals_of, refused, shown, strategy
from cfglint.frameworks.remedies import choice, not_attribute, replace
from cfglint.source.annotations import Iterator

NO_EMPTYING = remove_key("torch_empty_cache_steps", " to keep the cache")
ARTICLES = {str: "a string", bool: "a boolean", int: "an integer", float: "a number", list: "a list", dict: "a mapping"}
EMPTY_CACHE_CHECKED = (4, 50)  # the check of 4.49.0 accepts every integer


@rule("HFT001")
def not_a_mapping(config: TrainerConfig) -> Iterator[Finding]:
    if config.readable and not config.parsed:
        what = ARTICLES.get(type(config.root), shown(config.root))
        message = "the file is empty" if config.root is None else f"the file contains {what}, not a mapping"
        yield Finding(config.setting(), message, exception=not_attribute(config.root, "keys"))


@rule("HFT002")
def missing_output_dir(config: TrainerConfig) -> Iterator[Finding]:
    if config.parsed and config.arguments.lacks("output_dir"):
        message = "`output_dir` is missing; it is required before transformers 4.49"
        yield Finding(config.absent("output_dir"), message, help=set_key("output_dir", "out"))


@rule("HFT003")
def invalid_choice(config: TrainerConfig) -> Iterator[Finding]:
    for refusal in refusals_of(config, "HFT003"):
        setting = place(config, refusal.paths[0])
        name, value, allowed = setting.name, setting.value, choices(refusal.key, config.version)[1]
        if refusal.key == "debug" and isinstance(value, str):
            value = next((word for word in value.split() if word not in allowed), value)
        if not has_field(refusal.key, config.version) or (isinstance(value, str) and value in allowed):
            continue  # an installed release has other fields and values than the newest modelled one, whose rows these are
        fix, lower = None, str(value).strip().lower()
        message = f"`{name}` is {shown(value)}, which is not a valid choice"
        if value is None:
            message = f"`{name}` is empty (null); a name is required"
        elif isinstance(value, bool):
            word = "on" if value else "no"
            message = f'`{name}` is the boolean {shown(value)}, because YAML parses an unquoted {word} as a boolean; write "{word}"'
        if value is False and "no" in allowed:
            fix = replace(setting, "no", "quote the value", safe=True)
        elif isinstance(value, str) and lower in allowed and name != "debug":
            fix = replace(setting, lower, f"change to {lower}", safe=True)
        yield Finding(setting, message, exception=refusal.exception, fix=fix, help=None if fix else choice(name, value, allowed))


@rule("HFT006")
def mismatched_best_model_strategies(config: TrainerConfig) -> Iterator[Finding]:
    best, lost = of(config, "load_best_model_at_end"), lost_strategy(config)
    when, save = config.arguments.eval_strategy, config.arguments["save_strategy"]
    for refusal in refusals_of(config, "HFT006"):
        is_used = config.facts.kind_given or config.launcher is not None or config.deepspeed is not None
        unset = () if is_used else config.unset("save_strategy", config.arguments.strategy_key)
        both = f"`save_strategy` is {shown(save)} and `{strategy(config).name}` is {shown(when)}"
        message = f"`load_best_model_at_end` requires equal strategies, but {both}"
        if lost is None:
            related, remedy = (of(config, "save_strategy"), strategy(config)), matched(strategy(config).name, when)
            yield Finding(best, message, related=related, exception=refusal.exception, depends_on=unset, help=remedy)
        elif not config.facts.strict_keys:  # else the parser rejects the removed key, and that is the finding
            from cfglint.frameworks.huggingface.rules.migrations import replacement
            from cfglint.frameworks.releases.versions import dotted

            related = (of(config, "save_strategy"), best)
            removed = dotted(FIELDS["evaluation_strategy"][3])
            message = f"{message}: `evaluation_strategy` was removed in transformers {removed}, use `eval_strategy`"
            fix = replacement("evaluation_strategy", config)[1]
            yield Finding(lost, message, related=related, exception=refusal.exception, depends_on=unset, fix=fix, on_key=True)


def matched(key: str, when: str) -> Remedy:
    without = set_key("load_best_model_at_end", False)
    return (without | set_key(key, "steps")) if when == "no" else set_key("save_strategy", when) | without


@rule("HFT008")
def invalid_empty_cache_steps(config: TrainerConfig) -> Iterator[Finding]:
    yield from refused(config, "HFT008")
    if config.arguments["torch_empty_cache_steps"] == 0 and config.version < EMPTY_CACHE_CHECKED:  # which accepts any integer
        text = "ZeroDivisionError: integer modulo by zero"
        message = "`torch_empty_cache_steps` is 0; it must be positive"
        yield Finding(of(config, "torch_empty_cache_steps"), message, exception=text, fails_at="first-step", help=NO_EMPTYING)


@rule("HFT011")
def configured_state_without_accelerator(config: TrainerConfig) -> Iterator[Finding]:
    if config.accelerator.get("use_configured_state"):
        setting = config.setting("accelerator_config", "use_configured_state")
        message = "`use_configured_state: true` works only in a training script that builds an `Accelerator` before its arguments"
        yield Finding(setting, message, help=remove_key("accelerator_config.use_configured_state"), depends_on=config.rest)


@rule("HFT012")
def backend_without_launcher(config: TrainerConfig) -> Iterator[Finding]:
    if config.arguments["ddp_backend"] is not None and config.launched is False:
        message = "`ddp_backend` requires a process group, but 1 GPU runs without a launcher"
        yield Finding(of(config, "ddp_backend"), message, help=remove_key("ddp_backend") | "start the run with torchrun")


@rule("HFT013")
def invalid_inline_json(config: TrainerConfig) -> Iterator[Finding]:
    for name, error in config.arguments.unparsed.items():
        text = f"{type(error).__name__}: {error}"
        message = f"`{name}` is parsed as JSON, and it is not valid JSON: {error}"
        yield Finding(config.setting(name), message, exception=text, help="write the mapping itself, without the quotes around it")
