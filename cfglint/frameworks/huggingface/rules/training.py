"""Values that the `Trainer` or its optimizer rejects when it is built or when training begins."""

from __future__ import annotations

from math import isnan

from cfglint.batch.steps import ZERO_IS_A_LIMIT
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import accumulation_steps, batches_of_rank, takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.field_operations import ADAMS, TORCH_ADAMS
from cfglint.frameworks.huggingface.fields import has_choice
from cfglint.frameworks.huggingface.rules import of, shown, unlisted
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.remedies import choice, mistyped, not_attribute, not_path, raised_by
from cfglint.source.annotations import Callable, ConfigValue, Iterator
from cfglint.source.numbers import is_number

CHECKPOINT_ARGUMENTS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
ONLY_WITHOUT = "is only supported when use_reentrant=False."
TRAINER_ARGUMENTS = ("every_n_layers", "offload")  # what the Trainer itself takes out of the mapping
TRAINER_TAKES = (5, 16)
COMPILE_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
COMPILERS = tuple(
    "no eager aot_eager inductor aot_ts_nvfuser nvprims_nvfuser cudagraphs ofi fx2trt onnxrt tensorrt aot_torchxla_trace_once"
    " torchxla_trace_once ipex tvm hpu_backend neuron".split()
)
TRACKERS: dict[str, Version] = {  # name: the first release with it, in the order of the message
    **dict.fromkeys("azure_ml comet_ml mlflow neptune tensorboard".split(), ()),
    "trackio": (4, 54),
    **dict.fromkeys("wandb codecarbon clearml dagshub flyte dvclive".split(), ()),
    "swanlab": (4, 50),
    "kubeflow": (5, 4),
}
SEEDS = 2**32
ONLY_ZERO3 = (4, 45)  # auto_find_batch_size is incompatible with ZeRO-3 from here on, with any DeepSpeed before


@rule("HFT040")
def missing_best_checkpoint_metric(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    follows = args["load_best_model_at_end"] or args["lr_scheduler_type"] in ("reduce_lr_on_plateau", "greedy")
    is_best = args["save_strategy"] == "best" and has_choice("save_strategy", "best", config.version)
    if is_best and args["metric_for_best_model"] is None and not follows:
        message, unset = "`save_strategy: best` requires `metric_for_best_model`", config.unset("metric_for_best_model")
        yield Finding(of(config, "save_strategy"), message, depends_on=unset, help=set_key("metric_for_best_model", "loss"))


@rule("HFT041")
def conflicting_accumulation(config: TrainerConfig) -> Iterator[Finding]:
    argument = config.arguments["gradient_accumulation_steps"]
    if "num_steps" in config.accumulation_kwargs and is_number(argument) and argument > 1:
        setting = config.setting("accelerator_config", "gradient_accumulation_kwargs", "num_steps")
        related = (of(config, "gradient_accumulation_steps"),)
        message = f"`num_steps` is incompatible with `gradient_accumulation_steps`, which is {argument}"
        yield Finding(setting, message, related=related, help=remove_key("accelerator_config.gradient_accumulation_kwargs.num_steps"))


@rule("HFT042")
def unsupported_batch_size_search(config: TrainerConfig) -> Iterator[Finding]:
    if not config.arguments["auto_find_batch_size"]:
        return
    wrapper = "DeepSpeed" if config.uses_deepspeed else "FSDP" if config.uses_fsdp and config.launched else ""
    if wrapper and config.version < ONLY_ZERO3:
        text = f"NotImplementedError: `{wrapper}` doesn't support `auto_find_batch_size`."
    elif config.deepspeed is not None and config.deepspeed.stage == 3:
        wrapper, text = "ZeRO stage 3", "ValueError: `auto_find_batch_size` isn't supported yet with DeepSpeed Zero-3."
    else:
        return
    message = f"`auto_find_batch_size` is incompatible with {wrapper}"
    yield Finding(of(config, "auto_find_batch_size"), message, exception=text, help=remove_key("auto_find_batch_size"))


@rule("HFT043")
def unknown_compile_backend(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["torch_compile_backend"]
    if value is None:
        return
    setting = of(config, "torch_compile_backend")
    if not isinstance(value, str):
        yield mistyped(setting, "a string", not_attribute(value, "upper"), set_key("torch_compile_backend", "inductor"))
    elif value.lower() not in COMPILERS:
        text = f"ValueError: '{value.upper()}' is not a valid DynamoBackend"
        yield unlisted(config, "torch_compile_backend", value, ", which is not a backend of accelerate", COMPILERS, text)


@rule("HFT091")
def unknown_compile_mode(config: TrainerConfig) -> Iterator[Finding]:
    value, backend = config.arguments["torch_compile_mode"], config.arguments["torch_compile_backend"]
    if isinstance(value, str) and value not in ("", *COMPILE_MODES) and backend in (None, "inductor") and config.deepspeed is None:
        text = f"RuntimeError: Unrecognized mode={value}, should be one of: {', '.join(COMPILE_MODES)}"
        yield unlisted(config, "torch_compile_mode", value, ", which is not a mode of torch's compiler", COMPILE_MODES, text)


@rule("HFT044")
def unknown_tracker(config: TrainerConfig) -> Iterator[Finding]:
    known = [name for name, since in TRACKERS.items() if config.version >= since]
    for name in config.arguments.trackers:
        if not isinstance(name, str) or name not in known:
            text = f"ValueError: {name} is not supported, only {', '.join(known)} are supported."
            message = f"`report_to` names {shown(name)}, which is not a supported tracker"
            yield Finding(of(config, "report_to"), message, exception=text, help=choice("report_to", name, (*known, "none")))


@rule("HFT045")
def seed_out_of_range(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["seed"]
    if isinstance(value, int) and not 0 <= value < SEEDS:
        text = "ValueError: Seed must be between 0 and 2**32 - 1"
        message = f"`seed` is {value}; it must be between 0 and {SEEDS - 1}"
        remedy = set_key("seed", 42, ", which is the default")
        yield Finding(of(config, "seed"), message, exception=text, fails_at=config.seeded_at, help=remedy)


@rule("HFT046")
def unsupported_parallelism_config(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["parallelism_config"]
    if value is not None and config.knows("parallelism_config"):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'get_device_mesh'"
        message = "`parallelism_config` is not supported in a file: the Trainer requires an object, not a mapping"
        remedy = "remove `parallelism_config`; accelerate's config file can contain one"
        yield Finding(config.setting("parallelism_config"), message, exception=text, help=remedy)


@rule("HFT053")
def negative_noise_alpha(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["neftune_noise_alpha"]
    if is_number(value) and value < 0 and takes_steps(config):
        text = "RuntimeError: uniform_ expects to return a [from, to) range"
        message = f"`neftune_noise_alpha` is {value}; it must be >= 0"
        yield Finding(of(config, "neftune_noise_alpha"), message, exception=text, help=remove_key("neftune_noise_alpha", " for no noise"))


@rule("HFT054")
def invalid_deepspeed_value(config: TrainerConfig) -> Iterator[Finding]:
    value: ConfigValue = config.arguments["deepspeed"]
    if value and not isinstance(value, (str, dict)):
        message = f"`deepspeed` is {shown(value)}; it must be a mapping or a file name"
        yield Finding(of(config, "deepspeed"), message, exception=not_path(value), help=remove_key("deepspeed") | "name a DeepSpeed config")


@rule("HFT055")
def invalid_checkpointing_arguments(config: TrainerConfig) -> Iterator[Finding]:
    arguments = config.arguments
    field = arguments.checkpointing_arguments
    argument = arguments[field]
    if not config.parsed or arguments.checkpointing is not True or not isinstance(argument, dict) or not takes_steps(config):
        return
    taken = (*config.checkpoint_arguments, *(TRAINER_ARGUMENTS if config.version >= TRAINER_TAKES else ()))
    names = [name for name in argument if name not in taken]
    reentrant = argument.get("use_reentrant")
    if not names or not arguments.known(field) or (config.checkpoint_arguments and reentrant is None):
        return
    unknown, check = [name for name in names if name not in CHECKPOINT_ARGUMENTS], argument.get("determinism_check", "default")
    if reentrant is None or reentrant:
        name = next((name for name in ("context_fn", "debug") if name in argument and argument[name] is not False), "")
        message, text = f"`{name}` requires `use_reentrant: false`", f"ValueError: Passing `context_fn` or `debug` {ONLY_WITHOUT}"
        if unknown:
            name, text = unknown[0], f"ValueError: Unexpected keyword arguments: {','.join(map(str, unknown))}"
            message = f"activation checkpointing with `use_reentrant: true` has no parameter `{name}`"
    elif "context_fn" in argument:
        name, message = "context_fn", "`context_fn` must be a function, which a file cannot contain"
        text = f"TypeError: {type(argument['context_fn']).__name__!r} object is not callable"
    elif isinstance(check, str) and check not in ("default", "none"):
        name, message = "determinism_check", f"`determinism_check` is {shown(check)}; it must be default or none"
        text = f"ValueError: determinism_check should be one of ['default', 'none'], but got {check}"
    else:
        return
    if unknown or name:
        place = config.setting(arguments.written(field), name)
        yield Finding(place, message, exception=text, on_key=True, help=remove_key(f"{field}.{name}"))


@rule("HFT047")
def too_few_samples(config: TrainerConfig) -> Iterator[Finding]:
    examples = config.facts.num_examples
    if examples is None or not config.parsed or config.batch.problem is not None:
        return
    if examples == 0:
        if config.arguments["train_sampling_strategy"] in (None, "random") and not config.arguments["group_by_length"]:
            text = "ValueError: num_samples should be a positive integer value, but got num_samples=0"
            message = "the training set is empty: the number of samples (num-examples) is 0"
            yield Finding(of(config, "per_device_train_batch_size"), message, exception=text)
        return
    limit = config.arguments["max_steps"]
    if config.own_sampler or batches_of_rank(config) != 0 or not is_number(limit):
        return
    setting, size = of(config, "dataloader_drop_last"), config.batch.micro_batch
    remedy: Remedy | str = set_key("dataloader_drop_last", False) | "a smaller `per_device_train_batch_size`"
    message = f"`dataloader_drop_last` drops all {examples} samples: they do not fill one batch"
    if not config.arguments["dataloader_drop_last"]:  # each process gets the same number, rounded down
        message = f"{examples} samples are fewer than the {config.world_size} processes"
        remedy = "train on more samples, or with fewer processes"
    elif config.version >= ZERO_IS_A_LIMIT:
        message += " on each process"
    if config.version >= ZERO_IS_A_LIMIT and limit <= 0:
        text = f"ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was {limit}"
        yield Finding(setting, message, related=(size,), exception=text, help=remedy)
    elif config.version < ZERO_IS_A_LIMIT and config.launched is False and not config.own_loader:
        text = "TypeError: 'NoneType' object is not subscriptable"
        yield Finding(setting, message, related=(size,), exception=text, fails_at="first-step", help=remedy)


@rule("HFT048")
def missing_dataloader_workers(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    workers = args["dataloader_num_workers"]
    if not is_number(workers):
        return
    if workers < 0:
        text = "ValueError: num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        remedy: Remedy | str = set_key("dataloader_num_workers", 0, " to load in the main process")
        message = f"`dataloader_num_workers` is {workers}; it must be >= 0"
        yield Finding(of(config, "dataloader_num_workers"), message, exception=text, help=remedy)
        return
    context = args["dataloader_multiprocessing_context"]
    needing = {}
    if args["dataloader_persistent_workers"]:
        needing["dataloader_persistent_workers"] = "persistent_workers option needs num_workers > 0"
    if context is not None:
        text = "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"
        needing["dataloader_multiprocessing_context"] = text
    for name, text in needing.items() if workers == 0 else ():
        message = f"`{name}` requires `dataloader_num_workers` > 0, but it is 0"
        remedy, unset = set_key("dataloader_num_workers", 2) | remove_key(name), config.unset("dataloader_num_workers")
        yield Finding(of(config, name), message, exception=f"ValueError: {text}", depends_on=unset, help=remedy)
    methods = ("fork", "spawn", "forkserver")
    if context is not None and workers > 0 and context not in methods:
        text = f"ValueError: multiprocessing_context option should specify a valid start method in {[*methods]}"
        yield unlisted(config, "dataloader_multiprocessing_context", context, "; it must be fork, spawn or forkserver", methods, text)


@rule("HFT049")
def invalid_prefetch_factor(config: TrainerConfig) -> Iterator[Finding]:
    value, workers = config.arguments["dataloader_prefetch_factor"], config.arguments["dataloader_num_workers"]
    negative = is_number(value) and value < 0
    refused = negative or (is_number(value) and value == 0 and takes_steps(config))
    if refused and is_number(workers) and workers > 0:
        setting = of(config, "dataloader_prefetch_factor")
        message = f"`dataloader_prefetch_factor` is {value}; it must be above 0"
        text = "ValueError: prefetch_factor option should be non-negative" if negative else "AssertionError"
        remedy = set_key("dataloader_prefetch_factor", 2, ", which is the default")
        yield Finding(setting, message, exception=text, fails_at=None if negative else "first-step", help=remedy)


Conversions = dict[str, Callable[[str], float]]
LOW_RANK = ("galore", "apollo")
APOLLO = (4, 49)  # from here on the exceptions name the optimizer, not only GaLore
TORCH_ARGUMENTS = (5, 3)  # sgd, adagrad and rmsprop read optim_args from here on
LOW_RANK_NUMBERS: Conversions = {"rank": int, "update_proj_gap": int, "scale": float}
# The arguments that the Trainer converts, by a part of the optimizer's name: the first part that fits.
CONVERTED: dict[str, Conversions] = {
    "galore": LOW_RANK_NUMBERS,
    "apollo": LOW_RANK_NUMBERS,
    "grokadamw": dict.fromkeys(("alpha_init", "lamb", "gamma", "grokking_signal_decay_rate", "gradient_clipping"), float),
    "schedule_free": {"weight_lr_power": float, "r": float},
    "ademamix": {**dict.fromkeys(("beta1", "beta2", "beta3", "alpha", "eps"), float), "t_alpha": int, "t_beta3": int},
}
# The arguments that torch's constructors refuse below 0, in their order (torch 2.13 optim/sgd.py:44-57, adagrad.py:52-61,
# rmsprop.py:46-56).
NOT_NEGATIVE = ("lr_decay", "eps", "momentum", "weight_decay", "alpha")
TORCH_CONVERTED: dict[str, Conversions] = {
    "sgd": dict.fromkeys(("momentum", "dampening", "weight_decay"), float),
    "adagrad": dict.fromkeys(("lr_decay", "weight_decay", "eps"), float),
    "rmsprop": dict.fromkeys(("momentum", "alpha", "eps", "weight_decay"), float),
}


@rule("HFT050")
def optimizer_value_out_of_range(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if not config.parsed or not config.makes_optimizer:
        return
    optimizer, rate, epsilon = args.optimizer, args["learning_rate"], args["adam_epsilon"]
    if is_number(rate) and not rate >= 0 and optimizer != "adafactor":  # NaN too
        text = f"ValueError: Invalid learning rate: {rate}"
        yield Finding(of(config, "learning_rate"), f"`learning_rate` is {rate}; it must be >= 0", exception=text)
    if optimizer not in ADAMS:
        return
    if is_number(epsilon) and not epsilon >= 0:
        text, remedy = f"ValueError: Invalid epsilon value: {epsilon}", set_key("adam_epsilon", 1e-08, ", which is the default")
        yield Finding(of(config, "adam_epsilon"), f"`adam_epsilon` is {epsilon}; it must be >= 0", exception=text, help=remedy)
    for index, name in enumerate(("adam_beta1", "adam_beta2")):
        value = args[name]
        if is_number(value) and not 0 <= value < 1:
            text = f"ValueError: Invalid beta parameter at index {index}: {value}"
            remedy = set_key(name, 0.9 if name == "adam_beta1" else 0.999, ", which is the default")
            yield Finding(of(config, name), f"`{name}` is {value}; it must be >= 0 and < 1", exception=text, help=remedy)
        elif is_number(value) and not isinstance(value, float) and optimizer in TORCH_ADAMS:
            text = "ValueError: betas must be either both floats or both Tensors"
            remedy = set_key(name, float(value))
            yield Finding(of(config, name), f"`{name}` is {shown(value)}, an integer; it must be a float", exception=text, help=remedy)


@rule("HFT051")
def invalid_optim_args(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["optim_args"]
    if not isinstance(value, str) or not value or not config.parsed or not config.makes_optimizer:
        return
    for part in value.replace(" ", "").split(","):
        count = part.count("=")
        if count != 1:
            text = f"ValueError: {'too many' if count else 'not enough'} values to unpack (expected 2{'' if count else ', got 1'})"
            message = f"`optim_args` contains {shown(part)}, which is not name=value"
            yield Finding(of(config, "optim_args"), message, exception=text, help="write name=value, with commas between several")
            return
    given = dict(part.split("=") for part in value.replace(" ", "").split(","))
    optimizer, numbers_of = config.arguments.optimizer, Conversions()
    by_torch = optimizer in TORCH_CONVERTED and config.version >= TORCH_ARGUMENTS
    if isinstance(optimizer, str) and config.arguments.known("optim") and optimizer not in TORCH_CONVERTED:
        numbers_of = next((converted for part, converted in CONVERTED.items() if part in optimizer), {})
    for name, convert in (TORCH_CONVERTED[optimizer] if by_torch else numbers_of).items():
        text = raised_by(convert, given.get(name, "0"))
        if text:
            expected = "an integer" if convert is int else "a number"
            message = f"`{name}` in `optim_args` is {shown(given[name])}, not {expected}"
            yield Finding(of(config, "optim_args"), message, exception=text, help=f"set `{name}` to {expected}")
            return
    if not by_torch:
        return
    numbers = {name: float(given[name]) for name in TORCH_CONVERTED[optimizer] if name in given}
    for name in NOT_NEGATIVE:
        value = numbers.get(name, 0.0)
        if value < 0 or (isnan(value) and optimizer != "sgd"):
            message = f"`{name}` in `optim_args` is {given[name]}; it must be >= 0"
            text = f"ValueError: Invalid {'epsilon' if name == 'eps' else name} value: {value}"
            yield Finding(of(config, "optim_args"), message, exception=text, help=f"set `{name}` to a number >= 0")
            return
    nesterov = optimizer == "sgd" and given.get("nesterov", "").lower() in ("true", "1", "yes")
    if nesterov and (numbers.get("momentum", 0.0) <= 0 or numbers.get("dampening", 0.0) != 0):
        text = "ValueError: Nesterov momentum requires a momentum and zero dampening"
        message = "`nesterov` in `optim_args` requires `momentum` above 0, and no `dampening`"
        kept = [f"{name}={part}" for name, part in given.items() if name not in ("momentum", "dampening")]
        yield Finding(of(config, "optim_args"), message, exception=text, help=set_key("optim_args", ",".join((*kept, "momentum=0.9"))))


@rule("HFT052")
def missing_target_modules(config: TrainerConfig) -> Iterator[Finding]:
    optimizer = config.arguments.optimizer
    if not isinstance(optimizer, str) or not optimizer.startswith(LOW_RANK) or not config.parsed or not config.makes_optimizer:
        return
    setting, galore, accumulation = of(config, "optim"), config.version < APOLLO, accumulation_steps(config).value
    if optimizer.endswith("layerwise") and config.launched:
        text = f"NotImplementedError: Layer-wise {'GaLore' if galore else optimizer} does not support DDP at this time"
        message = f"`optim: {optimizer}` does not support multiple processes (DDP)"
        yield Finding(setting, message, exception=text, help=set_key("optim", optimizer.removesuffix("_layerwise")))
    if config.arguments["optim_target_modules"] is None:
        what = "a `optim_target_modules` in order to properly use GaLore" if galore else f"`optim_target_modules` to use {optimizer}"
        text, message = f"ValueError: You need to define {what} optimizers", f"`optim: {optimizer}` requires `optim_target_modules`"
        unset = config.unset("optim_target_modules")
        yield Finding(setting, message, exception=text, depends_on=unset, help=set_key("optim_target_modules", "all-linear"))
    if optimizer.endswith("layerwise") and accumulation != 1:
        does, end = ("GaLoRE optimizer do", " !") if galore else (f"{optimizer} does", "!")
        text = f"ValueError: Layerwise {does} not support gradient accumulation{end}"
        message = f"`optim: {optimizer}` does not support gradient accumulation, but `gradient_accumulation_steps` is {shown(accumulation)}"
        remedy = set_key("gradient_accumulation_steps", 1) | set_key("optim", optimizer.removesuffix("_layerwise"))
        yield Finding(setting, message, exception=text, help=remedy)
