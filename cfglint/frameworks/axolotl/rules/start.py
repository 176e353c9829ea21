"""Failures after validation: the parallel sizes, the optimizer."""

from __future__ import annotations

import math

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.axolotl.batch import streams
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.parallel import problem
from cfglint.frameworks.axolotl.trainer_arguments import BUILT, DION, DION_RATE, UNHANDLED
from cfglint.source.annotations import Iterator

COSINE_MIN, COSINE_CONSTANT = "cosine_min_lr_ratio", "cosine_constant_lr_ratio"
ONE_CYCLE = tuple(
    """
    epochs steps_per_epoch pct_start anneal_strategy cycle_momentum base_momentum max_momentum div_factor final_div_factor
    three_phase last_epoch
    """.split()
)


@rule("AXL041")
def axolotl_parallel_sizes(config: AxolotlConfig) -> Iterator[Finding]:
    if config.model is None or not config.parsed:
        return
    refusal = problem(config.model, config.facts.gpus)
    if refusal is not None:
        yield refusal.finding([config.place(path) for path in refusal.paths], config.values)


@rule("AXL042")
def axolotl_optimizer_unhandled(config: AxolotlConfig) -> Iterator[Finding]:
    if not config.parsed or config.model is None:
        return
    name = config.model.optimizer
    if name == DION and config.model.dion_lr is None:
        message = f"`optimizer: dion` requires `{DION_RATE}`"
        advice = f"set `{DION_RATE}`, the learning rate of Dion's own parameters"
        yield Finding(config.place(("optimizer",)), message, exception="KeyError: 'dion_learning_rate'", help=advice)
    if name in UNHANDLED and config.own_version not in BUILT:
        message = f"`optimizer: {name}` is accepted, but axolotl cannot build it"
        exception = f"ValueError: Unhandled optimizer: {name}. Please raise an Issue."
        remedy = set_key("optimizer", "adamw_torch_8bit") | "another one"
        yield Finding(config.place(("optimizer",)), message, exception=exception, help=remedy)


@rule("AXL044")
def axolotl_empty_learning_rate(config: AxolotlConfig) -> Iterator[Finding]:
    if config.parsed and config.model is not None and config.model.learning_rate == "":
        remedy = set_key("learning_rate", 2e-05) | "another number"
        yield Finding(config.place(("learning_rate",)), "`learning_rate` is empty; a number is required", help=remedy)


@rule("AXL045")
def axolotl_cosine_ratio(config: AxolotlConfig) -> Iterator[Finding]:
    model, launch = config.model, config.deepspeed
    if not config.parsed or model is None or not model.cosine_min_lr_ratio or (launch is not None and "scheduler" in launch.written):
        return
    checked = [COSINE_MIN] if model.lr_scheduler == "rex" else [COSINE_MIN, COSINE_CONSTANT]
    if model.lr_scheduler not in (None, "cosine", "rex") or (model.lr_scheduler != "rex" and model.lr_quadratic_warmup is True):
        return
    for key in checked:
        value = getattr(model, key)
        if value is not None and not 0 <= value <= 1:
            text = f"AssertionError: {key} must be between 0.0 and 1.0"
            message = f"`{key}` is {value:g}; it must be a fraction between 0 and 1"
            yield Finding(config.place((key,)), message, exception=text, help=f"set `{key}` to a fraction, such as 0.1")
            return


@rule("AXL043")
def axolotl_schedule_argument(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.lr_scheduler != "one_cycle" or model.jagged_restart_steps:
        return
    for key in model.lr_scheduler_kwargs or ():
        if key not in ONE_CYCLE:
            text = f"TypeError: OneCycleLR.__init__() got an unexpected keyword argument {key!r}"
            setting = config.place(("lr_scheduler_kwargs", key))
            message = f"`lr_scheduler: one_cycle` has no parameter `{key}`"
            yield Finding(setting, message, exception=text, help=remove_key(f"lr_scheduler_kwargs.{key}"), on_key=True)


@rule("AXL046")
def axolotl_dataset_without_path(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.rl or model.reward_model or model.process_reward_model:
        return
    for index, item in enumerate(model.datasets if isinstance(model.datasets, list) else ()):
        if isinstance(item, dict) and item.get("path") is None and item.get("type") != "_synthetic":
            exception = "TypeError: argument should be a str or an os.PathLike object where __fspath__ returns a str, not 'NoneType'"
            advice = "add `path`: a file, a folder or a name on the Hub"
            yield Finding(config.place(("datasets", index, "path")), f"`datasets.{index}` has no `path`", exception=exception, help=advice)


@rule("AXL047")
def axolotl_infinite_epochs(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or not isinstance(model.num_epochs, float) or math.isfinite(model.num_epochs):
        return
    if model.pretraining_dataset or model.streaming or model.sample_packing_eff_est or (model.rl and model.max_steps):
        return
    is_number = not math.isnan(model.num_epochs)
    text = "OverflowError: cannot convert float infinity to integer" if is_number else "ValueError: cannot convert float NaN to integer"
    place = config.place(("num_epochs",))
    yield Finding(place, f"`num_epochs` is {place.spelled}; it must be finite", exception=text, help="set `num_epochs` to a finite number")


@rule("AXL048")
def axolotl_invalid_trainer_class(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or config.validation.plugins or model.rl or model.reward_model or model.process_reward_model:
        return
    name = model.trainer_cls
    if name and "." not in name:
        message = f"`trainer_cls` is {name}, which names no module"
        exception = f"ValueError: Failed to load custom trainer class {name!r}: Invalid module string format: {name}"
        yield Finding(config.place(("trainer_cls",)), message, exception=exception, help="write it as `module.Class`, or remove it")


@rule("AXL066")
def axolotl_null_evaluation_set(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.val_set_size is not None or streams(config):
        return
    text = "TypeError: '>' not supported between instances of 'NoneType' and 'int'"
    asked = bool(model.eval_steps) or model.eval_strategy not in (None, "no")
    if model.rl:
        if model.test_datasets or not asked or model.eval_strategy == "no":
            return
        unit = "STEPS" if model.eval_steps else str(model.eval_strategy).upper()
        text = (
            f"ValueError: You have set `args.eval_strategy` to IntervalStrategy.{unit} but you didn't pass an `eval_dataset` to `Trainer`"
        )
    remedy = set_key("val_set_size", 0.1) | (None if asked else set_key("val_set_size", 0, " for no evaluation"))
    yield Finding(config.place(("val_set_size",)), "`val_set_size` is null; a number is required", exception=text, help=remedy)


@rule("AXL068")
def axolotl_validation_takes_all(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if config.parsed and model is not None and model.val_set_size == 1 and not model.test_datasets and not streams(config):
        message = "`val_set_size: 1` is the ratio 1.0, which has to be below 1; only numbers above 1 are counts of samples"
        exception = "ValueError: test_size=1.0 should be either positive and smaller than the number of samples"
        remedy = set_key("val_set_size", 2) | set_key("val_set_size", 0.1)
        yield Finding(config.place(("val_set_size",)), message, exception=exception, help=remedy)


@rule("AXL067")
def axolotl_8bit_weights_sharded(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or not model.load_in_8bit or not model.fsdp:
        return
    section = model.fsdp_config if isinstance(model.fsdp_config, dict) else {}
    version = section.get("fsdp_version", config.get("fsdp_version"))
    if str(version) != "2":
        message = "`load_in_8bit` is true, but FSDP 1 shards floating-point weights only"
        note = "torch refuses to wrap such a model (ValueError: Cannot flatten integer dtype tensors)"
        remedy = set_key("load_in_8bit", False) | "use `load_in_4bit: true` with `adapter: qlora`"
        yield Finding(config.place(("load_in_8bit",)), message, related=(config.place(("fsdp",)),), note=note, help=remedy)
