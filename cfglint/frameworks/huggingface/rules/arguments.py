"""Rules about values that `TrainingArguments` rejects during construction."""

from __future__ import annotations

from math import inf

from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import CHOICES, FIELDS, choices, has_choice, has_field
from cfglint.frameworks.huggingface.rules import article, lost_strategy, of, shown, strategy
from cfglint.frameworks.remedies import choice, replace
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.numbers import is_number

NO_EMPTYING = "remove `torch_empty_cache_steps` to keep the cache"

RATIOS_COMPARED = (4, 53)
BEST_SAVES_NAMED = (5, 4)
MILLION = 1_000_000  # ratios are compared in millionths
EMPTY_CACHE_CHECKED = (4, 50)  # the check of 4.49.0 accepts every integer


@rule("HFT001")
def not_a_mapping(config: TrainerConfig) -> Iterator[Finding]:
    if config.readable and not config.parsed:
        what = type(config.root).__name__
        message = "the file is empty" if config.root is None else f"the file contains {article(config.root)}, not a mapping"
        yield Finding(config.setting(), message, exception=f"AttributeError: '{what}' object has no attribute 'keys'")


@rule("HFT002")
def missing_output_dir(config: TrainerConfig) -> Iterator[Finding]:
    if config.parsed and config.arguments.lacks("output_dir"):
        yield Finding(
            config.setting("output_dir"), "`output_dir` is missing; it is required before transformers 4.49", help="set `output_dir: out`"
        )


@rule("HFT003")
def invalid_choice(config: TrainerConfig) -> Iterator[Finding]:
    for name in CHOICES:
        if name in config.arguments.given and has_field(name, config.version):
            yield from _choice(config, name)


def _choice(config: TrainerConfig, name: str) -> Iterator[Finding]:
    value = config.arguments.given[name]
    label, allowed = choices(name, config.version)
    if name == "evaluation_strategy" and value is None and has_field("eval_strategy", config.version):
        return
    if name == "debug":
        words = value.split() if isinstance(value, str) else ()
        error = next((word for word in words if word not in allowed), None)
        if error is None:
            return
        value = error
    elif isinstance(value, str) and value in allowed:
        return
    setting = config.setting(name)
    if setting.written or config.arguments.written(name) == name:
        text = f"ValueError: {value} is not a valid {label}, please select one of {list(allowed)}"
        fix = _choice_fix(setting, value, allowed)
        remedy = None if fix else choice(setting.name, value, allowed)
        yield Finding(setting, _message(setting.name, value), exception=text, fix=fix, help=remedy)


def _message(name: str, value: object) -> str:
    if value is None:
        return f"`{name}` is empty (null); a name is required"
    if isinstance(value, bool):
        word = "on" if value else "no"
        return f'`{name}` is the boolean {shown(value)}, because YAML parses an unquoted {word} as a boolean; write "{word}"'
    return f"`{name}` is {shown(value)}, which is not a valid choice"


def _choice_fix(setting: Setting, value: object, allowed: tuple[str, ...]) -> ConfigValue:
    if value is False and "no" in allowed:
        return replace(setting, "no", "quote the value", safe=True)
    word = str(value).strip().lower()
    if isinstance(value, str) and word in allowed and setting.name != "debug":
        return replace(setting, word, f"change to {word}", safe=True)
    return None


@rule("HFT004")
def missing_step_interval(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    every, strategy_ = args["logging_steps"], args.eval_strategy
    if strategy_ == "steps" and not args["eval_steps"] and is_number(args["eval_steps"] or 0) and is_number(every) and every <= 0:
        text = "ValueError: evaluation strategy IntervalStrategy.STEPS requires either non-zero --eval_steps or --logging_steps"
        message = f"`eval_strategy: steps` requires a positive `eval_steps` or `logging_steps`, but `logging_steps` is {every}"
        yield Finding(
            of(config, "logging_steps"), message, related=(strategy(config),), exception=text, help="set `eval_steps` to a positive number"
        )
    elif args["logging_strategy"] == "steps" and is_number(every) and every == 0:
        text = "ValueError: logging strategy IntervalStrategy.STEPS requires non-zero --logging_steps"
        yield Finding(
            of(config, "logging_steps"),
            "`logging_steps` is 0; `logging_strategy: steps` requires a non-zero value",
            exception=text,
            help='set a positive `logging_steps`, or `logging_strategy: "no"`',
        )


@rule("HFT005")
def non_integer_steps(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    units = {"logging_steps": args["logging_strategy"], "eval_steps": args.eval_strategy, "save_steps": args["save_strategy"]}
    for name, unit in units.items():
        value = args[name]
        if unit == "steps" and isinstance(value, float) and value > 1 and not value.is_integer():
            text = f"ValueError: --{name} must be an integer if bigger than 1: {value}"
            yield Finding(
                of(config, name),
                f"`{name}` is {value}; a number of steps above 1 must be an integer",
                exception=text,
                help=f"set `{name}: {round(value)}`" if value < inf else None,
            )


@rule("HFT006")
def mismatched_best_model_strategies(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    when, save = args.eval_strategy, args["save_strategy"]
    if not args["load_best_model_at_end"] or when == save or (save == "best" and has_choice("save_strategy", save, config.version)):
        return
    labels = choices("save_strategy", config.version)[1]
    if when not in ("no", "steps", "epoch") or save not in labels:
        return
    except_ = ', except when --save_strategy="best"' if config.version >= BEST_SAVES_NAMED else ""
    text = f"ValueError: --load_best_model_at_end requires the save and eval strategy to match{except_}, but found"
    unset = () if is_joined(config) else config.unset("save_strategy", config.arguments.strategy_key)
    message = f"`load_best_model_at_end` requires equal strategies, but `save_strategy` is {shown(save)} and `{strategy(config).name}` is"
    best, lost = of(config, "load_best_model_at_end"), lost_strategy(config)
    if lost is None:
        related = (of(config, "save_strategy"), strategy(config))
        remedy = matched(strategy(config).name, when)
        yield Finding(best, f"{message} {shown(when)}", related=related, exception=text, depends_on=unset, help=remedy)
    elif not config.facts.strict_keys:  # else the parser rejects the removed key, and that is the finding
        from cfglint.frameworks.huggingface.rules.migrations import replacement
        from cfglint.frameworks.versions import dotted

        related = (of(config, "save_strategy"), best)
        removed = dotted(FIELDS["evaluation_strategy"][3])
        message = f"{message} {shown(when)}: `evaluation_strategy` was removed in transformers {removed}, use `eval_strategy`"
        fix = replacement("evaluation_strategy", config)[1]
        yield Finding(lost, message, related=related, exception=text, depends_on=unset, fix=fix, on_key=True)


def matched(key: str, when: object) -> str:
    """The instruction to give checkpoints and evaluations the same strategy."""
    without = "set `load_best_model_at_end: false`"
    return f"{without}, or set `{key}: steps`" if when == "no" else f"set `save_strategy: {when}`, or {without}"


def is_joined(config: TrainerConfig) -> bool:
    """Whether the parser is specified, or other files of the run are known: then a missing key has its default."""
    return config.facts.kind_given or config.launcher is not None or config.deepspeed is not None


@rule("HFT007")
def mismatched_best_model_steps(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    save, every = args["save_steps"], args.eval_steps
    if not args["load_best_model_at_end"] or args.eval_strategy != "steps" or args["save_strategy"] != "steps":
        return
    if not is_number(save) or not is_number(every) or every == 0 or save % every == 0:
        return
    reason = _not_a_multiple(save, every, config.version)
    if reason:
        text = f"ValueError: --load_best_model_at_end requires the saving steps to be {reason}"
        source = "eval_steps" if args["eval_steps"] else "logging_steps"
        release = ", and transformers before 4.53.0 compares rounded fractions" if is_rounded(save, every) else ""
        saved, evaluated = (shown(each) if isinstance(each, bool) else f"{each:.15g}" for each in (save, every))
        message = f"`load_best_model_at_end` requires `save_steps` ({saved}) to be a multiple of `{source}` ({evaluated}){release}"
        yield Finding(
            of(config, "save_steps"),
            message,
            related=(of(config, source),),
            exception=text,
            depends_on=config.unset("save_steps", source),
            help=multiple(save, every),
        )


def is_rounded(save: float, every: float) -> bool:
    """Whether a ratio is a multiple of another, except for the rounding of binary fractions."""
    return save < 1 and every < 1 and (save * MILLION) % (every * MILLION) == 0


def multiple(save: float, every: float) -> str | None:
    """The nearest number of steps at which an evaluation takes place; None for ratios and infinities."""
    return f"set `save_steps: {round(max(1, save // every) * every)}`" if 1 <= save < inf and 1 <= every < inf else None


def _not_a_multiple(save: float, every: float, version: tuple[int, ...]) -> str:
    """The message of the exception; empty if the release accepts the pair."""
    absolute = f"a round multiple of the evaluation steps, but found {save}, which is not a round multiple of {every}."
    if every >= 1 and save >= 1:
        return absolute
    if not (every < 1 and save < 1):
        return "a multiple of the evaluation steps, which cannot get guaranteed when mixing ratio and absolute steps"
    if (save * MILLION) % (every * MILLION) != 0:
        return f"a multiple of the evaluation steps, but found {save}, which is not a multiple of {every}."
    return "" if version >= RATIOS_COMPARED else absolute


@rule("HFT008")
def invalid_empty_cache_steps(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["torch_empty_cache_steps"]
    if value is None:
        return
    if config.version < EMPTY_CACHE_CHECKED:  # the check was joined with `or`: any integer and any number above 0 passed
        if value == 0:
            text = "ZeroDivisionError: integer modulo by zero"
            message = "`torch_empty_cache_steps` is 0; it must be positive"
            yield Finding(of(config, "torch_empty_cache_steps"), message, exception=text, fails_at="first-step", help=NO_EMPTYING)
            return
        if isinstance(value, (int, float)) and (isinstance(value, int) or value > 0):
            return
        if not isinstance(value, (int, float)):
            text = f"TypeError: '>' not supported between instances of '{type(value).__name__}' and 'int'"
            message = f"`torch_empty_cache_steps` is {shown(value)}; it must be a positive integer"
            yield Finding(of(config, "torch_empty_cache_steps"), message, exception=text, help=NO_EMPTYING)
            return
    if not (isinstance(value, int) and value > 0):
        text = f"ValueError: `torch_empty_cache_steps` must be an integer bigger than 0, got {value}."
        message = f"`torch_empty_cache_steps` is {shown(value)}; it must be a positive integer"
        yield Finding(of(config, "torch_empty_cache_steps"), message, exception=text, help=NO_EMPTYING)


@rule("HFT009")
def scheduler_without_evaluation(config: TrainerConfig) -> Iterator[Finding]:
    kind = config.arguments["lr_scheduler_type"]
    known = choices("lr_scheduler_type", config.version)[1]
    if kind in ("reduce_lr_on_plateau", "greedy") and kind in known and config.arguments.eval_strategy == "no":
        text = f"ValueError: lr_scheduler_type {kind} requires an eval strategy"
        yield Finding(
            of(config, "lr_scheduler_type"),
            f'`lr_scheduler_type: {kind}` requires evaluations, but `{config.arguments.strategy_key}` is "no"',
            exception=text,
            depends_on=config.unset(config.arguments.strategy_key),
            help=f"set `{config.arguments.strategy_key}: epoch`, or another `lr_scheduler_type`",
        )


@rule("HFT010")
def prefetch_without_workers(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    workers = args["dataloader_num_workers"]
    if args["dataloader_prefetch_factor"] is not None and is_number(workers) and workers == 0:
        text = "ValueError: --dataloader_prefetch_factor can only be set when data is loaded in a different process"
        yield Finding(
            of(config, "dataloader_prefetch_factor"),
            "`dataloader_prefetch_factor` requires `dataloader_num_workers` > 0, but it is 0",
            exception=text,
            depends_on=config.unset("dataloader_num_workers"),
            help="set `dataloader_num_workers: 2`, or remove `dataloader_prefetch_factor`",
        )


@rule("HFT011")
def configured_state_without_accelerator(config: TrainerConfig) -> Iterator[Finding]:
    if config.accelerator.get("use_configured_state"):
        setting = config.setting("accelerator_config", "use_configured_state")
        yield Finding(
            setting,
            "`use_configured_state: true` works only in a training script that builds an `Accelerator` before its arguments",
            help="remove `accelerator_config.use_configured_state`",
        )


@rule("HFT012")
def backend_without_launcher(config: TrainerConfig) -> Iterator[Finding]:
    if config.arguments["ddp_backend"] is not None and config.launched is False:
        yield Finding(
            of(config, "ddp_backend"),
            "`ddp_backend` requires a process group, but 1 GPU runs without a launcher",
            help="remove `ddp_backend`, or start the run with torchrun",
        )


@rule("HFT013")
def invalid_inline_json(config: TrainerConfig) -> Iterator[Finding]:
    for name, error in config.arguments.unparsed.items():
        text = f"{type(error).__name__}: {error}"
        yield Finding(
            config.setting(name),
            f"`{name}` is parsed as JSON, and it is not valid JSON: {error}",
            exception=text,
            help="write the mapping itself, without the quotes around it",
        )
