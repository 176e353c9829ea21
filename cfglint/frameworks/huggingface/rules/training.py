"""Values that the `Trainer` rejects when it is built or when training begins."""

from __future__ import annotations

from cfglint.findings.rule import Example, Finding, config_error, first_step_error, init_error
from cfglint.frameworks.huggingface.batch import takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import has_choice
from cfglint.frameworks.huggingface.rules import of, shown
from cfglint.frameworks.remedies import choice, mistyped, not_attribute
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import ConfigMapping, ConfigValue, Iterator
from cfglint.source.numbers import is_number

CHECKPOINTED = "output_dir: out\ngradient_checkpointing: true\n"
CHECKPOINT_ARGUMENTS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
TRAINER_ARGUMENTS = ("every_n_layers", "offload")  # what the Trainer itself takes out of the mapping
TRAINER_TAKES = (5, 16)
COMPILERS = tuple(
    """
    no eager aot_eager inductor aot_ts_nvfuser nvprims_nvfuser cudagraphs ofi fx2trt onnxrt tensorrt aot_torchxla_trace_once
    torchxla_trace_once ipex tvm hpu_backend neuron
    """.split()
)
TRACKERS: dict[str, Version] = {  # name: the first release with it
    "azure_ml": (),
    "comet_ml": (),
    "mlflow": (),
    "neptune": (),
    "tensorboard": (),
    "wandb": (),
    "codecarbon": (),
    "clearml": (),
    "dagshub": (),
    "flyte": (),
    "dvclive": (),
    "swanlab": (4, 50),
    "trackio": (4, 54),
    "kubeflow": (5, 4),
}
SEEDS = 2**32
ONLY_ZERO3 = (4, 45)  # auto_find_batch_size is incompatible with ZeRO-3 from here on, with any DeepSpeed before


@init_error(
    "HFT040",
    old_names=("best-checkpoint-metric",),
    raises="ValueError: `args.metric_for_best_model` must be provided when using 'best' save_strategy or if "
    "`args.load_best_model_at_end` is set to `True`.",
    source="transformers 5.23.0 trainer.py:686-691, training_args.py:1586-1593 (from 4.47.0)",
    bad="output_dir: out\nsave_strategy: best\neval_strategy: epoch\n",
    good="output_dir: out\nsave_strategy: best\neval_strategy: epoch\nmetric_for_best_model: loss\n",
    example={"at": "/save_strategy"},
    on_construction=True,
)
def missing_best_checkpoint_metric(config: TrainerConfig) -> Iterator[Finding]:
    """`save_strategy: best` requires `metric_for_best_model`.

    It defaults to the loss only with `load_best_model_at_end` and with schedules that depend on evaluations.
    """
    args = config.arguments
    follows = args["load_best_model_at_end"] or args["lr_scheduler_type"] in ("reduce_lr_on_plateau", "greedy")
    has_best = has_choice("save_strategy", "best", config.version)
    if args["save_strategy"] == "best" and args["metric_for_best_model"] is None and not follows and has_best:
        yield Finding(
            of(config, "save_strategy"),
            "`save_strategy: best` requires `metric_for_best_model`",
            depends_on=config.unset("metric_for_best_model"),
            help="set `metric_for_best_model: loss`",
        )


@init_error(
    "HFT041",
    old_names=("accumulation-twice",),
    raises="ValueError: The `AcceleratorConfig`'s `num_steps` is set but `gradient_accumulation_steps` is greater than 1",
    source="transformers 5.23.0 trainer.py:813-823, 4.42.4 trainer.py:4556",
    bad="output_dir: out\ngradient_accumulation_steps: 4\naccelerator_config: {gradient_accumulation_kwargs: {num_steps: 2}}\n",
    good="output_dir: out\ngradient_accumulation_steps: 4\n",
    example={"at": "/accelerator_config/gradient_accumulation_kwargs/num_steps"},
    on_construction=True,
)
def conflicting_accumulation(config: TrainerConfig) -> Iterator[Finding]:
    """Gradient accumulation is set both for the Trainer and for accelerate (`gradient_accumulation_kwargs.num_steps`).

    With a `gradient_accumulation_steps` of 1, `num_steps` replaces it from 5.0 on.
    """
    own = config.arguments["gradient_accumulation_steps"]
    if "num_steps" in config.accumulation_kwargs and is_number(own) and own > 1:
        setting = config.setting("accelerator_config", "gradient_accumulation_kwargs", "num_steps")
        related = (of(config, "gradient_accumulation_steps"),)
        yield Finding(
            setting,
            f"`num_steps` is incompatible with `gradient_accumulation_steps`, which is {own}",
            related=related,
            help="remove `accelerator_config.gradient_accumulation_kwargs.num_steps`",
        )


@init_error(
    "HFT042",
    source="transformers 5.23.0 trainer.py:899-908, 4.42.4 trainer.py:4642-4644",
    old_names=("batch-size-search",),
    bad=(
        {"train.yaml": "output_dir: out\nauto_find_batch_size: true\ndeepspeed: {zero_optimization: {stage: 3}}\n"},
        Example(
            "output_dir: out\nauto_find_batch_size: true\ndeepspeed: {zero_optimization: {stage: 2}}\n",
            facts={"target": {"transformers": "4.42.4"}},
        ),
    ),
    good={"train.yaml": "output_dir: out\nauto_find_batch_size: true\ndeepspeed: {zero_optimization: {stage: 2}}\n"},
    example={"gpus": 8, "at": "/auto_find_batch_size"},
    on_construction=True,
)
def unsupported_batch_size_search(config: TrainerConfig) -> Iterator[Finding]:
    """`auto_find_batch_size` is incompatible with ZeRO-3; before 4.45 with all of DeepSpeed and FSDP.

    Fix: set the batch size, or use ZeRO-2.
    """
    if not config.arguments["auto_find_batch_size"]:
        return
    setting = of(config, "auto_find_batch_size")
    if config.version < ONLY_ZERO3:
        wrapper = "DeepSpeed" if config.uses_deepspeed else "FSDP" if config.uses_fsdp and config.launched else ""
        if wrapper:
            text = f"NotImplementedError: `{wrapper}` doesn't support `auto_find_batch_size`."
            yield Finding(
                setting, f"`auto_find_batch_size` is incompatible with {wrapper}", exception=text, help="remove `auto_find_batch_size`"
            )
            return
    launch = config.deepspeed
    section = launch.written.get("zero_optimization") if launch is not None else None
    if isinstance(section, dict) and section.get("stage") == 3:
        text = "ValueError: `auto_find_batch_size` isn't supported yet with DeepSpeed Zero-3."
        yield Finding(
            setting, "`auto_find_batch_size` is incompatible with ZeRO stage 3", exception=text, help="remove `auto_find_batch_size`"
        )


@init_error(
    "HFT043",
    source="accelerate 1.15.0 utils/dataclasses.py:708-742, 1096; transformers 5.23.0 trainer.py:799-805",
    old_names=("compile-backend",),
    bad=(
        "output_dir: out\ntorch_compile_backend: inductr\n",
        "output_dir: out\ntorch_compile_backend: 1\n",
    ),
    good="output_dir: out\ntorch_compile_backend: inductor\n",
    example={"at": "/torch_compile_backend"},
    on_construction=True,
)
def unknown_compile_backend(config: TrainerConfig) -> Iterator[Finding]:
    """`torch_compile_backend` is not a backend that accelerate supports.

    Setting a backend or a mode enables `torch_compile`.
    """
    value = config.arguments["torch_compile_backend"]
    if value is None:
        return
    setting = of(config, "torch_compile_backend")
    if not isinstance(value, str):
        yield mistyped(setting, "a string", not_attribute(value, "upper"), "set `torch_compile_backend: inductor`")
    elif value.lower() not in COMPILERS:
        text = f"ValueError: '{value.upper()}' is not a valid DynamoBackend"
        yield Finding(
            setting,
            f"`torch_compile_backend` is {shown(value)}, which is not a backend of accelerate",
            exception=text,
            help=choice("torch_compile_backend", value, COMPILERS),
        )


@init_error(
    "HFT044",
    source="transformers 5.23.0 integrations/integration_utils.py:2643-2679",
    bad="output_dir: out\nreport_to: wandbb\n",
    good="output_dir: out\nreport_to: wandb\n",
    example={"at": "/report_to"},
    on_construction=True,
)
def unknown_tracker(config: TrainerConfig) -> Iterator[Finding]:
    """`report_to` names a tracker that the release does not support.

    Fix: use one of the names in the exception, "none" or "all".
    """
    known = [name for name, since in TRACKERS.items() if config.version >= since]
    for name in config.arguments.trackers:
        if not isinstance(name, str) or name not in known:
            text = f"ValueError: {name} is not supported, only {', '.join(known)} are supported."
            yield Finding(
                of(config, "report_to"),
                f"`report_to` names {shown(name)}, which is not a supported tracker",
                exception=text,
                help=choice("report_to", name, (*known, "none")),
            )


@init_error(
    "HFT045",
    source="transformers 5.23.0 trainer_utils.py:191",
    old_names=("seed-range",),
    bad="output_dir: out\nseed: -1\n",
    good="output_dir: out\nseed: 42\n",
    example={"at": "/seed"},
    on_construction=True,
)
def seed_out_of_range(config: TrainerConfig) -> Iterator[Finding]:
    """`seed` is outside the range that numpy accepts.

    Fix: use an integer from 0 to 4294967295.
    """
    value = config.arguments["seed"]
    if isinstance(value, int) and not 0 <= value < SEEDS:
        text = "ValueError: Seed must be between 0 and 2**32 - 1"
        message = f"`seed` is {value}; it must be between 0 and {SEEDS - 1}"
        yield Finding(of(config, "seed"), message, exception=text, fails_at=config.seeded_at, help="set `seed: 42`, which is the default")


@init_error(
    "HFT046",
    source="transformers 5.23.0 trainer.py:766, accelerate 1.15.0 accelerator.py:476 (from 4.56.0)",
    old_names=("parallelism-in-file",),
    bad="output_dir: out\nparallelism_config: {tp_size: 2}\n",
    good="output_dir: out\n",
    example={"gpus": 8, "at": "/parallelism_config"},
    on_construction=True,
)
def unsupported_parallelism_config(config: TrainerConfig) -> Iterator[Finding]:
    """`parallelism_config` is not supported in a file: it stays a mapping, and the Trainer requires an object.

    Run-time error: `AttributeError: 'dict' object has no attribute 'get_device_mesh'`, `... 'cp_enabled'`.
    """
    value = config.arguments["parallelism_config"]
    if value is not None:
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'get_device_mesh'"
        message = "`parallelism_config` is not supported in a file: the Trainer requires an object, not a mapping"
        yield Finding(
            config.setting("parallelism_config"),
            message,
            exception=text,
            help="remove `parallelism_config`; accelerate's config file can contain one",
        )


@first_step_error(
    "HFT053",
    source="transformers 5.23.0 integrations/neftune.py:49",
    old_names=("noise-negative",),
    bad="output_dir: out\nneftune_noise_alpha: -5\n",
    good="output_dir: out\nneftune_noise_alpha: 5\n",
    example={"at": "/neftune_noise_alpha"},
)
def negative_noise_alpha(config: TrainerConfig) -> Iterator[Finding]:
    """`neftune_noise_alpha` is negative."""
    value = config.arguments["neftune_noise_alpha"]
    if is_number(value) and value < 0 and takes_steps(config):
        text = "RuntimeError: uniform_ expects to return a [from, to) range"
        yield Finding(
            of(config, "neftune_noise_alpha"),
            f"`neftune_noise_alpha` is {value}; it must be >= 0",
            exception=text,
            help="remove `neftune_noise_alpha` for no noise",
        )


@config_error(
    "HFT054",
    source="accelerate 1.15.0 utils/deepspeed.py:136-158",
    old_names=("deepspeed-neither",),
    bad="output_dir: out\nlocal_rank: 0\ndeepspeed: true\n",
    good="output_dir: out\nlocal_rank: 0\n",
    example={"gpus": 8, "at": "/deepspeed"},
)
def invalid_deepspeed_value(config: TrainerConfig) -> Iterator[Finding]:
    """`deepspeed` is neither a mapping nor a file name.

    Run-time error: `OSError: [Errno 9] Bad file descriptor`, `TypeError: stat: path should be string, bytes,
    os.PathLike or integer, not list`.
    """
    value: ConfigValue = config.arguments["deepspeed"]
    if value and not isinstance(value, (str, dict)):
        text = f"TypeError: stat: path should be string, bytes, os.PathLike or integer, not {type(value).__name__}"
        if isinstance(value, int):
            text = "OSError: [Errno 9] Bad file descriptor"
        yield Finding(
            of(config, "deepspeed"),
            f"`deepspeed` is {shown(value)}; it must be a mapping or a file name",
            exception=text,
            help="remove `deepspeed`, or name a DeepSpeed config",
        )


@first_step_error(
    "HFT055",
    source="torch 2.13 utils/checkpoint.py:486-514, 1608; transformers 5.23.0 trainer.py:1507-1515",
    bad=(
        CHECKPOINTED + "gradient_checkpointing_kwargs: {use_reentrant: true, foo: 1}\n",
        CHECKPOINTED + "gradient_checkpointing_kwargs: {use_reentrant: true, debug: true}\n",
        CHECKPOINTED + "gradient_checkpointing_kwargs: {use_reentrant: false, context_fn: offload}\n",
        CHECKPOINTED + "gradient_checkpointing_kwargs: {use_reentrant: false, determinism_check: strict}\n",
    ),
    good=CHECKPOINTED + "gradient_checkpointing_kwargs: {use_reentrant: false, debug: true}\n",
    example={"at": "/gradient_checkpointing_kwargs/foo"},
)
def invalid_checkpointing_arguments(config: TrainerConfig) -> Iterator[Finding]:
    """An argument of activation checkpointing is not valid for torch's `checkpoint`.

    The mapping is passed to `torch.utils.checkpoint.checkpoint`. With `use_reentrant: true` (also without the key) it accepts neither
    keywords of its own invention nor `context_fn` or `debug`; with `use_reentrant: false`, `context_fn` is a function, which no file can
    contain, and other keywords go to the layers of the model, so that only the model decides whether they are valid.
    """
    arguments = config.arguments
    field = arguments.checkpointing_arguments
    given = arguments[field]
    if not config.parsed or arguments.checkpointing is not True or not isinstance(given, dict) or not takes_steps(config):
        return
    taken = (*config.checkpoint_arguments, *(TRAINER_ARGUMENTS if config.version >= TRAINER_TAKES else ()))
    names = [name for name in given if name not in taken]
    reentrant = given.get("use_reentrant")
    if not names or not arguments.known(field) or (config.checkpoint_arguments and reentrant is None):
        return
    refused = refused_reentrant(given, names) if reentrant is None or reentrant else refused_without_reentrant(given)
    if refused is not None:
        name, message, text = refused
        place = config.setting(arguments.written(field), name)
        yield Finding(place, message, exception=text, on_key=True, help=f"remove `{field}.{name}`")


def refused_reentrant(given: ConfigMapping, names: list[ConfigValue]) -> tuple[str, str, str] | None:
    """(name, message, exception) of an argument that the reentrant implementation refuses."""
    unknown = [name for name in names if name not in CHECKPOINT_ARGUMENTS]
    if unknown:
        message = f"activation checkpointing with `use_reentrant: true` has no parameter `{unknown[0]}`"
        return unknown[0], message, f"ValueError: Unexpected keyword arguments: {','.join(map(str, unknown))}"
    for name in ("context_fn", "debug"):
        if name in given and given[name] is not False:
            text = "ValueError: Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            return name, f"`{name}` requires `use_reentrant: false`", text
    return None


def refused_without_reentrant(given: ConfigMapping) -> tuple[str, str, str] | None:
    """(name, message, exception) of an argument that the other implementation refuses."""
    if "context_fn" in given:
        text = f"TypeError: {type(given['context_fn']).__name__!r} object is not callable"
        return "context_fn", "`context_fn` must be a function, which a file cannot contain", text
    check = given.get("determinism_check", "default")
    if isinstance(check, str) and check not in ("default", "none"):
        text = f"ValueError: determinism_check should be one of ['default', 'none'], but got {check}"
        return "determinism_check", f"`determinism_check` is {shown(check)}; it must be default or none", text
    return None
