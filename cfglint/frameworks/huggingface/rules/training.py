"""Values that the `Trainer` rejects when it is built or when training begins."""

from __future__ import annotations

from cfglint.batch.steps import ZERO_IS_A_LIMIT
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import batches_of_rank, takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import has_choice
from cfglint.frameworks.huggingface.rules import of, shown
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.remedies import choice, mistyped, not_attribute
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.numbers import is_number

CHECKPOINT_ARGUMENTS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
ONLY_WITHOUT = "is only supported when use_reentrant=False."
TRAINER_ARGUMENTS = ("every_n_layers", "offload")  # what the Trainer itself takes out of the mapping
TRAINER_TAKES = (5, 16)
COMPILE_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
COMPILERS = tuple(
    """
    no eager aot_eager inductor aot_ts_nvfuser nvprims_nvfuser cudagraphs ofi fx2trt onnxrt tensorrt aot_torchxla_trace_once
    torchxla_trace_once ipex tvm hpu_backend neuron
    """.split()
)
TRACKERS: dict[str, Version] = {  # name: the first release with it
    **dict.fromkeys("azure_ml comet_ml mlflow neptune tensorboard wandb codecarbon clearml dagshub flyte dvclive".split(), ()),
    "swanlab": (4, 50),
    "trackio": (4, 54),
    "kubeflow": (5, 4),
}
SEEDS = 2**32
ONLY_ZERO3 = (4, 45)  # auto_find_batch_size is incompatible with ZeRO-3 from here on, with any DeepSpeed before


@rule("HFT040")
def missing_best_checkpoint_metric(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    follows = args["load_best_model_at_end"] or args["lr_scheduler_type"] in ("reduce_lr_on_plateau", "greedy")
    has_best = has_choice("save_strategy", "best", config.version)
    if args["save_strategy"] == "best" and args["metric_for_best_model"] is None and not follows and has_best:
        message = "`save_strategy: best` requires `metric_for_best_model`"
        remedy = set_key("metric_for_best_model", "loss")
        yield Finding(of(config, "save_strategy"), message, depends_on=config.unset("metric_for_best_model"), help=remedy)


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
    setting, remedy = of(config, "auto_find_batch_size"), remove_key("auto_find_batch_size")
    if config.version < ONLY_ZERO3:
        wrapper = "DeepSpeed" if config.uses_deepspeed else "FSDP" if config.uses_fsdp and config.launched else ""
        if wrapper:
            text = f"NotImplementedError: `{wrapper}` doesn't support `auto_find_batch_size`."
            yield Finding(setting, f"`auto_find_batch_size` is incompatible with {wrapper}", exception=text, help=remedy)
            return
    launch = config.deepspeed
    section = launch.written.get("zero_optimization") if launch is not None else None
    if isinstance(section, dict) and section.get("stage") == 3:
        text = "ValueError: `auto_find_batch_size` isn't supported yet with DeepSpeed Zero-3."
        yield Finding(setting, "`auto_find_batch_size` is incompatible with ZeRO stage 3", exception=text, help=remedy)


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
        message = f"`torch_compile_backend` is {shown(value)}, which is not a backend of accelerate"
        yield Finding(setting, message, exception=text, help=choice("torch_compile_backend", value, COMPILERS))


@rule("HFT091")
def unknown_compile_mode(config: TrainerConfig) -> Iterator[Finding]:
    value, backend = config.arguments["torch_compile_mode"], config.arguments["torch_compile_backend"]
    if isinstance(value, str) and value not in ("", *COMPILE_MODES) and backend in (None, "inductor") and config.deepspeed is None:
        message = f"`torch_compile_mode` is {shown(value)}, which is not a mode of torch's compiler"
        text = f"RuntimeError: Unrecognized mode={value}, should be one of: {', '.join(COMPILE_MODES)}"
        yield Finding(of(config, "torch_compile_mode"), message, exception=text, help=choice("torch_compile_mode", value, COMPILE_MODES))


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
        text = f"TypeError: stat: path should be string, bytes, os.PathLike or integer, not {type(value).__name__}"
        if isinstance(value, int):
            text = "OSError: [Errno 9] Bad file descriptor"
        message = f"`deepspeed` is {shown(value)}; it must be a mapping or a file name"
        yield Finding(of(config, "deepspeed"), message, exception=text, help=remove_key("deepspeed") | "name a DeepSpeed config")


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
    remedy = set_key("dataloader_drop_last", False) | "a smaller `per_device_train_batch_size`"
    if config.version >= ZERO_IS_A_LIMIT and limit <= 0:
        text = f"ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was {limit}"
        message = f"`dataloader_drop_last` drops all {examples} samples: they do not fill one batch on each process"
        yield Finding(setting, message, related=(size,), exception=text, help=remedy)
    elif config.version < ZERO_IS_A_LIMIT and config.launched is False:
        text = "TypeError: 'NoneType' object is not subscriptable"
        message = f"`dataloader_drop_last` drops all {examples} samples: they do not fill one batch"
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
    if context is not None and workers > 0 and context not in ("fork", "spawn", "forkserver"):
        text = "ValueError: multiprocessing_context option should specify a valid start method in ['fork', 'spawn', 'forkserver']"
        message = f"`dataloader_multiprocessing_context` is {shown(context)}; it must be fork, spawn or forkserver"
        remedy = choice("dataloader_multiprocessing_context", context, ("fork", "spawn", "forkserver"))
        yield Finding(of(config, "dataloader_multiprocessing_context"), message, exception=text, help=remedy)


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
