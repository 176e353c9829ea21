"""What `TrainingArguments` itself refuses, while it is built."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import SKIP, Finding, rule
from cfglint.frameworks.huggingface.fields import CHOICES, choices, has_field
from cfglint.frameworks.huggingface.rules.common import KINDS, OLD, certainty, number, of, shown, strategy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.huggingface.config import TrainerConfig
    from cfglint.frameworks.setting import Setting

OUTPUT_OPTIONAL = (4, 49)
RATIOS_COMPARED = (4, 53)
BEST_SAVES = (4, 47)
BEST_SAVES_NAMED = (5, 4)
MILLION = 1_000_000  # ratios are compared as whole millionths


@rule("HFT001", "not-a-mapping", ERROR, kinds=KINDS, fails_at="config", bad="- output_dir: out\n", good="output_dir: out\n")
def not_a_mapping(config: TrainerConfig) -> Iterator[Finding]:
    """The file holds no mapping of keys to values.

    The parser takes the keys of what it read. An empty file is nothing, and a list has no keys.

    Run-time error: `AttributeError: 'NoneType' object has no attribute 'keys'` (an empty file),
    `AttributeError: 'list' object has no attribute 'keys'`.

    Fix: write `key: value` lines, or `{}` for a file that sets nothing.

    Source: transformers 5.23.0 hf_argparser.py:372.
    """
    if config.readable and not config.whole:
        what = type(config.root).__name__
        said = "the file is empty" if config.root is None else f"the file holds a {what}, not keys and values"
        yield Finding(config.setting(), said, exception=f"AttributeError: '{what}' object has no attribute 'keys'")


@rule(
    "HFT002",
    "output-dir-missing",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    raises="TypeError: TrainingArguments.__init__() missing 1 required positional argument: 'output_dir'",
    when_partial=SKIP,
    bad="seed: 1\n",
    good="output_dir: out\nseed: 1\n",
    example=OLD,
)
def output_dir_missing(config: TrainerConfig) -> Iterator[Finding]:
    """`output_dir` is required before transformers 4.49.

    Run-time error: `TypeError: TrainingArguments.__init__() missing 1 required positional argument: 'output_dir'`.

    Fix: name a folder. From 4.49.0 on it may be left out and is `trainer_output`.

    Source: transformers 4.42.4 training_args.py:785, 5.23.0 training_args.py:1517.
    """
    if config.whole and config.version < OUTPUT_OPTIONAL and "output_dir" not in config.arguments:
        yield Finding(config.setting("output_dir"), "output_dir is missing, and this release has no default for it")


@rule(
    "HFT003",
    "invalid-choice",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nlr_scheduler_type: Cosine\n",
    good="output_dir: out\nlr_scheduler_type: cosine\n",
    fixed="output_dir: out\nlr_scheduler_type: cosine\n",
    example={"at": "/lr_scheduler_type"},
)
def invalid_choice(config: TrainerConfig) -> Iterator[Finding]:
    """A value is none of those that the field allows in this release.

    `eval_strategy`, `logging_strategy`, `save_strategy`, `hub_strategy`, `lr_scheduler_type`, `optim` and
    `debug` become Enums, and their values count letter by letter: `Cosine` and `EPOCH` are refused. In YAML
    an unquoted `no` is the boolean false, which is refused too: write `"no"`. Other fields with a list of
    choices are not checked when they come from a file.

    Run-time error: `ValueError: Cosine is not a valid SchedulerType, please select one of [...]`,
    `ValueError: False is not a valid IntervalStrategy, please select one of ['no', 'steps', 'epoch']`.

    Fix: one of the values that the message lists. Some exist only in some releases: `save_strategy: best`
    from 4.47, `optim: adamw_hf` up to 4.49.

    Source: transformers 5.23.0 training_args.py:1558-1567, utils/generic.py:578.
    """
    for name in CHOICES:
        if name in config.arguments.given and has_field(name, config.version):
            yield from _choice(config, name)


def _choice(config: TrainerConfig, name: str) -> Iterator[Finding]:
    value = config.arguments.given[name]
    label, allowed = choices(name, config.version)
    if name == "evaluation_strategy" and value is None:
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
        yield Finding(setting, _said(name, value, allowed), exception=text, fix=_meant(setting, value, allowed))


def _said(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    listed = ", ".join(allowed) if len(allowed) < 15 else f"{', '.join(allowed[:8])}, ..."
    if isinstance(value, bool):
        word = "on" if value else "no"
        return f"{name} is the boolean {shown(value)}: YAML reads an unquoted `{word}` so; quote it"
    return f"{name} is {shown(value)}, none of {listed}"


def _meant(setting: Setting, value: Any, allowed: tuple[str, ...]) -> Any:
    from cfglint.findings.fix_builders import replace

    if value is False and "no" in allowed:
        return replace(setting, "no", "quote it", safe=True)
    word = str(value).strip().lower()
    if isinstance(value, str) and word in allowed and setting.name != "debug":
        return replace(setting, word, f"write {word}", safe=True)
    return None


@rule(
    "HFT004",
    "steps-needed",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nlogging_steps: 0\n",
    good="output_dir: out\nlogging_steps: 10\n",
    example={"at": "/logging_steps"},
)
def steps_needed(config: TrainerConfig) -> Iterator[Finding]:
    """A strategy of `steps` has no number of steps.

    `logging_strategy: steps` (the default) wants `logging_steps` that are not 0. With `eval_strategy: steps`,
    `eval_steps` of nothing or 0 are taken from `logging_steps`, which must then be above 0.

    Run-time error: `ValueError: logging strategy IntervalStrategy.STEPS requires non-zero --logging_steps`,
    `ValueError: evaluation strategy IntervalStrategy.STEPS requires either non-zero --eval_steps or --logging_steps`.

    Fix: give the steps, or set the strategy to "no".

    Source: transformers 5.23.0 training_args.py:1576-1583, 1732.
    """
    args = config.arguments
    every, strategy_ = args["logging_steps"], args.eval_strategy
    if strategy_ == "steps" and not args["eval_steps"] and number(args["eval_steps"] or 0) and number(every) and every <= 0:
        text = "ValueError: evaluation strategy IntervalStrategy.STEPS requires either non-zero --eval_steps or --logging_steps"
        message = f"evaluation every so many steps, but eval_steps is not set and logging_steps is {every}"
        yield Finding(of(config, "logging_steps"), message, related=(strategy(config),), exception=text)
    elif args["logging_strategy"] == "steps" and number(every) and every == 0:
        text = "ValueError: logging strategy IntervalStrategy.STEPS requires non-zero --logging_steps"
        yield Finding(of(config, "logging_steps"), "logging every 0 steps", exception=text)


@rule(
    "HFT005",
    "fractional-steps",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nsave_steps: 12.5\n",
    good="output_dir: out\nsave_steps: 0.125\n",
    example={"at": "/save_steps"},
)
def fractional_steps(config: TrainerConfig) -> Iterator[Finding]:
    """A number of steps above 1 is no whole number.

    `logging_steps`, `eval_steps` and `save_steps` below 1 are a share of the run; above 1 they count steps.

    Run-time error: `ValueError: --save_steps must be an integer if bigger than 1: 12.5`.

    Fix: a whole number, or a share below 1.

    Source: transformers 5.23.0 training_args.py:1735-1746.
    """
    args = config.arguments
    units = {"logging_steps": args["logging_strategy"], "eval_steps": args.eval_strategy, "save_steps": args["save_strategy"]}
    for name, unit in units.items():
        value = args[name]
        if unit == "steps" and isinstance(value, float) and value > 1 and not value.is_integer():
            text = f"ValueError: --{name} must be an integer if bigger than 1: {value}"
            yield Finding(of(config, name), f"{name} is {value}: above 1 it counts steps, and must be whole", exception=text)


@rule(
    "HFT006",
    "best-model-strategies",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nload_best_model_at_end: true\neval_strategy: epoch\nsave_strategy: steps\n",
    good="output_dir: out\nload_best_model_at_end: true\neval_strategy: epoch\nsave_strategy: epoch\n",
    example={"at": "/load_best_model_at_end"},
)
def best_model_strategies(config: TrainerConfig) -> Iterator[Finding]:
    """`load_best_model_at_end` needs a checkpoint for every evaluation.

    So `save_strategy` and `eval_strategy` must be the same; from 4.47.0 `save_strategy: best` will do too.
    Left out, `save_strategy` is "steps" and `eval_strategy` is "no".

    Run-time error: `ValueError: --load_best_model_at_end requires the save and eval strategy to match`.

    Fix: give both strategies the same value.

    Source: transformers 5.23.0 training_args.py:1750-1755, 4.42.4 training_args.py:1554.
    """
    args = config.arguments
    when, save = args.eval_strategy, args["save_strategy"]
    if not args["load_best_model_at_end"] or when == save or (save == "best" and config.version >= BEST_SAVES):
        return
    labels = choices("save_strategy", config.version)[1]
    if when not in ("no", "steps", "epoch") or save not in labels:
        return
    except_ = ', except when --save_strategy="best"' if config.version >= BEST_SAVES_NAMED else ""
    text = f"ValueError: --load_best_model_at_end requires the save and eval strategy to match{except_}, but found"
    former = config.setting("evaluation_strategy")
    unread = former.written and not has_field("evaluation_strategy", config.version)
    yield Finding(
        of(config, "load_best_model_at_end"),
        f"the best model is to be loaded, but checkpoints come by {shown(save)} and evaluations by {shown(when)}"
        + (", for evaluation_strategy is not read any more" if unread else ""),
        related=(of(config, "save_strategy"), former if unread else strategy(config)),
        exception=text,
        severity=certainty(config, "save_strategy", config.arguments.strategy_key),
    )


@rule(
    "HFT007",
    "best-model-steps",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nload_best_model_at_end: true\neval_strategy: steps\nsave_strategy: steps\neval_steps: 200\nsave_steps: 300\n",
    good="output_dir: out\nload_best_model_at_end: true\neval_strategy: steps\nsave_strategy: steps\neval_steps: 200\nsave_steps: 400\n",
    example={"at": "/save_steps"},
)
def best_model_steps(config: TrainerConfig) -> Iterator[Finding]:
    """With `load_best_model_at_end`, `save_steps` must be a multiple of `eval_steps`.

    Else there would be checkpoints without an evaluation. Shares of the run (below 1) and numbers of steps
    do not mix. Up to 4.52 a share such as 0.3 for 0.1 is refused although it is a multiple, because floating
    point leaves a remainder.

    Run-time error: `ValueError: --load_best_model_at_end requires the saving steps to be a round multiple of
    the evaluation steps, but found 300, which is not a round multiple of 200.`

    Fix: a multiple; `eval_steps` left out is `logging_steps`.

    Source: transformers 5.23.0 training_args.py:1756-1773, 4.42.4 training_args.py:1559-1577.
    """
    args = config.arguments
    save, every = args["save_steps"], args.eval_steps
    if not args["load_best_model_at_end"] or args.eval_strategy != "steps" or args["save_strategy"] != "steps":
        return
    if not number(save) or not number(every) or every == 0 or save % every == 0:
        return
    reason = _not_a_multiple(save, every, config.version)
    if reason:
        text = f"ValueError: --load_best_model_at_end requires the saving steps to be {reason}"
        message = f"save_steps {save} is no multiple of eval_steps {every}, and the best model is to be loaded"
        source = "eval_steps" if args["eval_steps"] else "logging_steps"
        yield Finding(
            of(config, "save_steps"),
            message,
            related=(of(config, source),),
            exception=text,
            severity=certainty(config, "save_steps", source),
        )


def _not_a_multiple(save: float, every: float, version: tuple[int, ...]) -> str:
    """What the exception says, empty where the release takes the pair."""
    whole = f"a round multiple of the evaluation steps, but found {save}, which is not a round multiple of {every}."
    if every >= 1 and save >= 1:
        return whole
    if not (every < 1 and save < 1):
        return "a multiple of the evaluation steps, which cannot get guaranteed when mixing ratio and absolute steps"
    if (save * MILLION) % (every * MILLION) != 0:
        return f"a multiple of the evaluation steps, but found {save}, which is not a multiple of {every}."
    return "" if version >= RATIOS_COMPARED else whole


@rule(
    "HFT008",
    "empty-cache-steps",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\ntorch_empty_cache_steps: 0\n",
    good="output_dir: out\ntorch_empty_cache_steps: 4\n",
    example={"at": "/torch_empty_cache_steps"},
)
def empty_cache_steps(config: TrainerConfig) -> Iterator[Finding]:
    """`torch_empty_cache_steps` is no whole number above 0.

    Run-time error: ``ValueError: `torch_empty_cache_steps` must be an integer bigger than 0, got 0.``

    Fix: a whole number, or leave the key out to keep the cache.

    Source: transformers 5.23.0 training_args.py:1725-1730 (from 4.43.0).
    """
    value = config.arguments["torch_empty_cache_steps"]
    if value is not None and not (isinstance(value, int) and value > 0):
        text = f"ValueError: `torch_empty_cache_steps` must be an integer bigger than 0, got {value}."
        message = f"torch_empty_cache_steps is {shown(value)}, no whole number above 0"
        yield Finding(of(config, "torch_empty_cache_steps"), message, exception=text)


@rule(
    "HFT009",
    "scheduler-needs-evaluation",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nlr_scheduler_type: reduce_lr_on_plateau\n",
    good="output_dir: out\nlr_scheduler_type: reduce_lr_on_plateau\neval_strategy: epoch\n",
    example={"at": "/lr_scheduler_type"},
)
def scheduler_needs_evaluation(config: TrainerConfig) -> Iterator[Finding]:
    """`reduce_lr_on_plateau` and `greedy` act on evaluation results, and nothing is evaluated.

    Run-time error: `ValueError: lr_scheduler_type reduce_lr_on_plateau requires an eval strategy`.

    Fix: set `eval_strategy` to "steps" or "epoch".

    Source: transformers 5.23.0 training_args.py:1790-1798 (`greedy` from 5.4.0).
    """
    kind = config.arguments["lr_scheduler_type"]
    known = choices("lr_scheduler_type", config.version)[1]
    if kind in ("reduce_lr_on_plateau", "greedy") and kind in known and config.arguments.eval_strategy == "no":
        text = f"ValueError: lr_scheduler_type {kind} requires an eval strategy"
        yield Finding(
            of(config, "lr_scheduler_type"),
            f"{kind} changes the rate by evaluation results, and eval_strategy is no",
            exception=text,
            severity=certainty(config, config.arguments.strategy_key),
        )


@rule(
    "HFT010",
    "prefetch-without-workers",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\ndataloader_prefetch_factor: 2\n",
    good="output_dir: out\ndataloader_prefetch_factor: 2\ndataloader_num_workers: 4\n",
    example={"at": "/dataloader_prefetch_factor"},
)
def prefetch_without_workers(config: TrainerConfig) -> Iterator[Finding]:
    """`dataloader_prefetch_factor` is for worker processes, and there are none.

    Run-time error: `ValueError: --dataloader_prefetch_factor can only be set when data is loaded in a
    different process, i.e. when --dataloader_num_workers > 0.` (4.x says `> 1`)

    Fix: set `dataloader_num_workers`, or leave the factor out.

    Source: transformers 5.23.0 training_args.py:1804 (from 4.38.0).
    """
    args = config.arguments
    workers = args["dataloader_num_workers"]
    if args["dataloader_prefetch_factor"] is not None and number(workers) and workers == 0:
        text = "ValueError: --dataloader_prefetch_factor can only be set when data is loaded in a different process"
        yield Finding(
            of(config, "dataloader_prefetch_factor"),
            "dataloader_prefetch_factor is for worker processes, and dataloader_num_workers is 0",
            exception=text,
            severity=certainty(config, "dataloader_num_workers"),
        )


@rule(
    "HFT011",
    "configured-state",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    raises="ValueError: Passing `'use_configured_state':True` to the AcceleratorConfig requires a pre-configured `AcceleratorState`",
    when_partial="warn",
    bad="output_dir: out\naccelerator_config: {use_configured_state: true}\n",
    good="output_dir: out\naccelerator_config: {use_configured_state: false}\n",
    example={"at": "/accelerator_config/use_configured_state"},
)
def configured_state(config: TrainerConfig) -> Iterator[Finding]:
    """`accelerator_config.use_configured_state` asks for an accelerator that a script has already built.

    Run-time error: `ValueError: Passing 'use_configured_state':True to the AcceleratorConfig requires a
    pre-configured AcceleratorState or PartialState to be defined before calling TrainingArguments.`

    Fix: leave it out, unless the script builds an `Accelerator` first.

    Source: transformers 5.23.0 training_args.py:1858-1864 (from 4.42.0).
    """
    if config.accelerator.get("use_configured_state") and config.version >= (4, 42):
        setting = config.setting("accelerator_config", "use_configured_state")
        yield Finding(setting, "use_configured_state asks for an accelerator that is built before the arguments, and nothing builds one")


@rule(
    "HFT012",
    "backend-without-launcher",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    raises="ValueError: Default process group has not been initialized, please make sure to call init_process_group.",
    bad="output_dir: out\nddp_backend: nccl\n",
    good="output_dir: out\n",
    example={"gpus": 1, "at": "/ddp_backend"},
)
def backend_without_launcher(config: TrainerConfig) -> Iterator[Finding]:
    """`ddp_backend` is set for one process that no launcher started.

    A single GPU is a plain `python train.py`. Asking for a backend makes accelerate look for a process group.

    Run-time error: `ValueError: Default process group has not been initialized, please make sure to call
    init_process_group.`

    Fix: leave `ddp_backend` out; with a launcher nccl is the default anyway.

    Source: accelerate 1.15.0 state.py:304, transformers 5.23.0 training_args.py:1890.
    """
    if config.arguments["ddp_backend"] is not None and config.launched is False:
        yield Finding(of(config, "ddp_backend"), "ddp_backend needs a process group, and one GPU is started without a launcher")


@rule(
    "HFT013",
    "inline-json",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nlr_scheduler_kwargs: \"{'num_cycles': 2}\"\nlr_scheduler_type: cosine\n",
    good="output_dir: out\nlr_scheduler_kwargs: {num_cycles: 2}\nlr_scheduler_type: cosine\n",
    example={"at": "/lr_scheduler_kwargs"},
)
def inline_json(config: TrainerConfig) -> Iterator[Finding]:
    """A text that begins with `{` is parsed as JSON, and this one is none.

    The fields that hold mappings also take text, for the command line's sake.

    Run-time error: `json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes`.

    Fix: write the mapping itself, without quotes around it.

    Source: transformers 5.23.0 training_args.py:1525-1531.
    """
    for name, error in config.arguments.unparsed.items():
        text = f"{type(error).__name__}: {error}"
        yield Finding(config.setting(name), f"{name} begins with a brace, and is no JSON: {error}", exception=text)
