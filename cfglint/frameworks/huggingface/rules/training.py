"""Values that the `Trainer` rejects when it is built or when training begins."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Example, Finding, rule
from cfglint.frameworks.huggingface.batch import accumulation_steps, batches_of_rank, takes_steps
from cfglint.frameworks.huggingface.field_operations import ADAMS, TORCH_ADAMS
from cfglint.frameworks.huggingface.rules.common import KINDS, certainty, number, of, shown
from cfglint.frameworks.remedies import choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.huggingface.config import TrainerConfig
    from cfglint.frameworks.versions import Version

COMPILERS = (
    "no",
    "eager",
    "aot_eager",
    "inductor",
    "aot_ts_nvfuser",
    "nvprims_nvfuser",
    "cudagraphs",
    "ofi",
    "fx2trt",
    "onnxrt",
    "tensorrt",
    "aot_torchxla_trace_once",
    "torchxla_trace_once",
    "ipex",
    "tvm",
    "hpu_backend",
    "neuron",
)
TRACKERS = {  # name: (first release, first release without it)
    "azure_ml": ("", ""),
    "comet_ml": ("", ""),
    "mlflow": ("", ""),
    "neptune": ("", ""),
    "tensorboard": ("", ""),
    "wandb": ("", ""),
    "codecarbon": ("", ""),
    "clearml": ("", ""),
    "dagshub": ("", ""),
    "flyte": ("", ""),
    "dvclive": ("", ""),
    "swanlab": ("4.50.0", ""),
    "trackio": ("4.54.0", ""),
    "kubeflow": ("5.4.0", ""),
}
SEEDS = 2**32
LENGTH_NEEDED = (4, 49)
LOW_RANK = ("galore", "apollo")
ONLY_ZERO3 = (4, 45)  # auto_find_batch_size is incompatible with ZeRO-3 from here on, with any DeepSpeed before


@rule(
    "HFT040",
    "missing-best-checkpoint-metric",
    ERROR,
    old_names=("best-checkpoint-metric",),
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: `args.metric_for_best_model` must be provided when using 'best' save_strategy or if "
    "`args.load_best_model_at_end` is set to `True`.",
    bad="output_dir: out\nsave_strategy: best\neval_strategy: epoch\n",
    good="output_dir: out\nsave_strategy: best\neval_strategy: epoch\nmetric_for_best_model: loss\n",
    example={"at": "/save_strategy"},
)
def best_checkpoint_metric(config: TrainerConfig) -> Iterator[Finding]:
    """`save_strategy: best` requires `metric_for_best_model`.

    It defaults to the loss only with `load_best_model_at_end` and with schedules that depend on evaluations.

    Run-time error: ``ValueError: `args.metric_for_best_model` must be provided when using 'best' save_strategy``.

    Fix: set `metric_for_best_model`.

    Source: transformers 5.23.0 trainer.py:686-691, training_args.py:1586-1593 (from 4.47.0).
    """
    args = config.arguments
    follows = args["load_best_model_at_end"] or args["lr_scheduler_type"] in ("reduce_lr_on_plateau", "greedy")
    if args["save_strategy"] == "best" and args["metric_for_best_model"] is None and not follows and config.version >= (4, 47):
        yield Finding(
            of(config, "save_strategy"),
            "`save_strategy: best` requires `metric_for_best_model`",
            severity=certainty(config, "metric_for_best_model"),
            help="set `metric_for_best_model: loss`",
        )


@rule(
    "HFT041",
    "conflicting-accumulation",
    ERROR,
    old_names=("accumulation-twice",),
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: The `AcceleratorConfig`'s `num_steps` is set but `gradient_accumulation_steps` is greater than 1",
    bad="output_dir: out\ngradient_accumulation_steps: 4\naccelerator_config: {gradient_accumulation_kwargs: {num_steps: 2}}\n",
    good="output_dir: out\ngradient_accumulation_steps: 4\n",
    example={"at": "/accelerator_config/gradient_accumulation_kwargs/num_steps"},
)
def accumulation_twice(config: TrainerConfig) -> Iterator[Finding]:
    """Gradient accumulation is set both for the Trainer and for accelerate (`gradient_accumulation_kwargs.num_steps`).

    With a `gradient_accumulation_steps` of 1, `num_steps` replaces it from 5.0 on.

    Run-time error: ``ValueError: The `AcceleratorConfig`'s `num_steps` is set but `gradient_accumulation_steps`
    is greater than 1 in the passed `TrainingArguments` ``.

    Fix: keep `gradient_accumulation_steps`.

    Source: transformers 5.23.0 trainer.py:813-823, 4.42.4 trainer.py:4556.
    """
    own = config.arguments["gradient_accumulation_steps"]
    if "num_steps" in config.accumulation_kwargs and number(own) and own > 1:
        setting = config.setting("accelerator_config", "gradient_accumulation_kwargs", "num_steps")
        related = (of(config, "gradient_accumulation_steps"),)
        yield Finding(
            setting,
            f"`num_steps` is incompatible with `gradient_accumulation_steps`, which is {own}",
            related=related,
            help="remove `accelerator_config.gradient_accumulation_kwargs.num_steps`",
        )


@rule(
    "HFT042",
    "unsupported-batch-size-search",
    ERROR,
    old_names=("batch-size-search",),
    kinds=KINDS,
    fails_at="init",
    bad=(
        {"train.yaml": "output_dir: out\nauto_find_batch_size: true\ndeepspeed: {zero_optimization: {stage: 3}}\n"},
        Example(
            "output_dir: out\nauto_find_batch_size: true\ndeepspeed: {zero_optimization: {stage: 2}}\n",
            facts={"target": {"transformers": "4.42.4"}},
        ),
    ),
    good={"train.yaml": "output_dir: out\nauto_find_batch_size: true\ndeepspeed: {zero_optimization: {stage: 2}}\n"},
    example={"gpus": 8, "at": "/auto_find_batch_size"},
)
def batch_size_search(config: TrainerConfig) -> Iterator[Finding]:
    """`auto_find_batch_size` is incompatible with ZeRO-3; before 4.45 with all of DeepSpeed and FSDP.

    Run-time error: ``ValueError: `auto_find_batch_size` isn't supported yet with DeepSpeed Zero-3.``,
    ``NotImplementedError: `DeepSpeed` doesn't support `auto_find_batch_size`.``

    Fix: set the batch size, or use ZeRO-2.

    Source: transformers 5.23.0 trainer.py:899-908, 4.42.4 trainer.py:4642-4644.
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


@rule(
    "HFT043",
    "unknown-compile-backend",
    ERROR,
    old_names=("compile-backend",),
    kinds=KINDS,
    fails_at="init",
    bad=(
        "output_dir: out\ntorch_compile_backend: inductr\n",
        "output_dir: out\ntorch_compile_backend: 1\n",
    ),
    good="output_dir: out\ntorch_compile_backend: inductor\n",
    example={"at": "/torch_compile_backend"},
)
def compile_backend(config: TrainerConfig) -> Iterator[Finding]:
    """`torch_compile_backend` is not a backend that accelerate supports.

    Setting a backend or a mode enables `torch_compile`.

    Run-time error: `ValueError: INDUCTR is not a valid DynamoBackend`.

    Fix: use a supported backend; inductor is the most common one.

    Source: accelerate 1.15.0 utils/dataclasses.py:708-742, 1096; transformers 5.23.0 trainer.py:799-805.
    """
    value = config.arguments["torch_compile_backend"]
    if value is None:
        return
    setting = of(config, "torch_compile_backend")
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'upper'"
        yield Finding(
            setting,
            f"`torch_compile_backend` is {shown(value)}, not a string",
            exception=text,
            help="set `torch_compile_backend: inductor`",
        )
    elif value.lower() not in COMPILERS:
        text = f"ValueError: '{value.upper()}' is not a valid DynamoBackend"
        yield Finding(
            setting,
            f"`torch_compile_backend` is {shown(value)}, which is not a backend of accelerate",
            exception=text,
            help=choice("torch_compile_backend", value, COMPILERS),
        )


@rule(
    "HFT044",
    "unknown-tracker",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad="output_dir: out\nreport_to: wandbb\n",
    good="output_dir: out\nreport_to: wandb\n",
    example={"at": "/report_to"},
)
def unknown_tracker(config: TrainerConfig) -> Iterator[Finding]:
    """`report_to` names a tracker that the release does not support.

    Run-time error: `ValueError: wandbb is not supported, only azure_ml, comet_ml, mlflow, ... are supported.`

    Fix: use one of the names in the exception, "none" or "all".

    Source: transformers 5.23.0 integrations/integration_utils.py:2643-2679.
    """
    known = [name for name, (since, until) in TRACKERS.items() if _within(since, until, config.version)]
    for name in config.arguments.trackers:
        if not isinstance(name, str) or name not in known:
            text = f"ValueError: {name} is not supported, only {', '.join(known)} are supported."
            yield Finding(
                of(config, "report_to"),
                f"`report_to` names {shown(name)}, which is not a supported tracker",
                exception=text,
                help=choice("report_to", name, (*known, "none")),
            )


def _within(since: str, until: str, version: Version) -> bool:
    from cfglint.frameworks.huggingface.fields import within

    return within(since, until, version)


@rule(
    "HFT045",
    "seed-out-of-range",
    ERROR,
    old_names=("seed-range",),
    kinds=KINDS,
    fails_at="init",
    bad="output_dir: out\nseed: -1\n",
    good="output_dir: out\nseed: 42\n",
    example={"at": "/seed"},
)
def seed_range(config: TrainerConfig) -> Iterator[Finding]:
    """`seed` is outside the range that numpy accepts.

    Run-time error: `ValueError: Seed must be between 0 and 2**32 - 1`.

    Fix: use an integer from 0 to 4294967295.

    Source: transformers 5.23.0 trainer_utils.py:191.
    """
    value = config.arguments["seed"]
    if isinstance(value, int) and not 0 <= value < SEEDS:
        text = "ValueError: Seed must be between 0 and 2**32 - 1"
        message = f"`seed` is {value}; it must be between 0 and {SEEDS - 1}"
        yield Finding(of(config, "seed"), message, exception=text, fails_at=config.seeded_at, help="set `seed: 42`, which is the default")


@rule(
    "HFT046",
    "unsupported-parallelism-config",
    ERROR,
    old_names=("parallelism-in-file",),
    kinds=KINDS,
    fails_at="init",
    bad="output_dir: out\nparallelism_config: {tp_size: 2}\n",
    good="output_dir: out\n",
    example={"gpus": 8, "at": "/parallelism_config"},
)
def parallelism_in_file(config: TrainerConfig) -> Iterator[Finding]:
    """`parallelism_config` is not supported in a file: it stays a mapping, and the Trainer requires an object.

    Run-time error: `AttributeError: 'dict' object has no attribute 'get_device_mesh'`, `... 'cp_enabled'`.

    Fix: set it in code, or in the `parallelism_config` block of the accelerate config.

    Source: transformers 5.23.0 trainer.py:766, accelerate 1.15.0 accelerator.py:476 (from 4.56.0).
    """
    value = config.arguments["parallelism_config"]
    if value is not None:
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'get_device_mesh'"
        message = "`parallelism_config` is not supported in a file: the Trainer requires an object, not a mapping"
        yield Finding(
            config.setting("parallelism_config"),
            message,
            exception=text,
            help="remove `parallelism_config`; accelerate's config file can hold one",
        )


@rule(
    "HFT047",
    "too-few-samples",
    ERROR,
    old_names=("no-batches",),
    kinds=KINDS,
    fails_at="init",
    bad=(
        "output_dir: out\nper_device_train_batch_size: 64\ndataloader_drop_last: true\n",
        Example("output_dir: out\nper_device_train_batch_size: 8\n", facts={"num_examples": 0}),
        Example(
            "output_dir: out\nper_device_train_batch_size: 64\ndataloader_drop_last: true\n", facts={"target": {"transformers": "4.42.4"}}
        ),
    ),
    good="output_dir: out\nper_device_train_batch_size: 8\ndataloader_drop_last: true\n",
    example={"gpus": 1, "num_examples": 10, "at": "/dataloader_drop_last"},
)
def no_batches(config: TrainerConfig) -> Iterator[Finding]:
    """There are fewer training samples than one batch, or none.

    With `dataloader_drop_last`, a data set that does not fill one batch on each process leaves nothing to train on. With
    `max_steps` the run then starts, but does not train.

    Run-time error: `ValueError: args.max_steps must be set to a positive value if dataloader does not have a
    length, was -1`, `ValueError: num_samples should be a positive integer value, but got num_samples=0`; up to 4.48
    on one GPU: `TypeError: unsupported operand type(s) for -=: 'NoneType' and 'int'` or the like, after no step.

    Fix: use a smaller batch, or remove `dataloader_drop_last`.

    Source: transformers 5.23.0 trainer.py:2541, torch 2.13 utils/data/sampler.py, 4.42.4 trainer.py:3254.
    """
    examples = config.facts.num_examples
    if examples is None or not config.parsed or config.batch.problem is not None:
        return
    if examples == 0:
        if config.arguments["train_sampling_strategy"] in (None, "random") and not config.arguments["group_by_length"]:
            text = "ValueError: num_samples should be a positive integer value, but got num_samples=0"
            yield Finding(
                of(config, "per_device_train_batch_size"),
                "the training set is empty: the number of samples (num-examples) is 0",
                exception=text,
            )
        return
    limit = config.arguments["max_steps"]
    if config.own_sampler or batches_of_rank(config) != 0 or not number(limit):
        return
    setting = of(config, "dataloader_drop_last")
    size = config.batch.micro_batch
    if config.version >= LENGTH_NEEDED and limit <= 0:
        text = f"ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was {limit}"
        message = f"`dataloader_drop_last` drops all {examples} samples: they do not fill one batch on each process"
        yield Finding(
            setting,
            message,
            related=(size,),
            exception=text,
            help="set `dataloader_drop_last: false`, or a smaller `per_device_train_batch_size`",
        )
    elif config.version < LENGTH_NEEDED and config.launched is False:
        text = "TypeError: 'NoneType' object is not subscriptable"
        message = f"`dataloader_drop_last` drops all {examples} samples: they do not fill one batch"
        yield Finding(
            setting,
            message,
            related=(size,),
            exception=text,
            fails_at="first-step",
            help="set `dataloader_drop_last: false`, or a smaller `per_device_train_batch_size`",
        )


@rule(
    "HFT048",
    "missing-dataloader-workers",
    ERROR,
    old_names=("workers-needed",),
    kinds=KINDS,
    fails_at="init",
    bad=(
        "output_dir: out\ndataloader_persistent_workers: true\n",
        "output_dir: out\ndataloader_num_workers: -1\n",
        "output_dir: out\ndataloader_num_workers: 2\ndataloader_multiprocessing_context: thread\n",
    ),
    good="output_dir: out\ndataloader_persistent_workers: true\ndataloader_num_workers: 2\n",
    example={"at": "/dataloader_persistent_workers"},
)
def workers_needed(config: TrainerConfig) -> Iterator[Finding]:
    """An option requires data loader workers, and `dataloader_num_workers` is 0 or negative.

    `dataloader_persistent_workers` and `dataloader_multiprocessing_context` require workers.

    Run-time error: `ValueError: persistent_workers option needs num_workers > 0`, `ValueError:
    multiprocessing_context can only be used with multi-process loading (num_workers > 0)`, `ValueError:
    num_workers option should be non-negative`.

    Fix: set `dataloader_num_workers`.

    Source: torch 2.13 utils/data/dataloader.py, transformers 5.23.0 trainer.py:1018-1051.
    """
    args = config.arguments
    workers = args["dataloader_num_workers"]
    if not number(workers):
        return
    if workers < 0:
        text = "ValueError: num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        yield Finding(
            of(config, "dataloader_num_workers"),
            f"`dataloader_num_workers` is {workers}; it must be >= 0",
            exception=text,
            help="set `dataloader_num_workers: 0` to load in the main process",
        )
        return
    context = args["dataloader_multiprocessing_context"]
    for name, enabled, text in (
        ("dataloader_persistent_workers", bool(args["dataloader_persistent_workers"]), "persistent_workers option needs num_workers > 0"),
        (
            "dataloader_multiprocessing_context",
            context is not None,
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0",
        ),
    ):
        if enabled and workers == 0:
            severity = certainty(config, "dataloader_num_workers")
            message = f"`{name}` requires `dataloader_num_workers` > 0, but it is 0"
            yield Finding(
                of(config, name),
                message,
                exception=f"ValueError: {text}",
                severity=severity,
                help=f"set `dataloader_num_workers: 2`, or remove `{name}`",
            )
    if context is not None and workers > 0 and context not in ("fork", "spawn", "forkserver"):
        text = "ValueError: multiprocessing_context option should specify a valid start method in ['fork', 'spawn', 'forkserver']"
        message = f"`dataloader_multiprocessing_context` is {shown(context)}; it must be fork, spawn or forkserver"
        yield Finding(
            of(config, "dataloader_multiprocessing_context"),
            message,
            exception=text,
            help=choice("dataloader_multiprocessing_context", context, ("fork", "spawn", "forkserver")),
        )


@rule(
    "HFT049",
    "negative-prefetch-factor",
    ERROR,
    old_names=("prefetch-negative",),
    kinds=KINDS,
    fails_at="init",
    bad="output_dir: out\ndataloader_num_workers: 2\ndataloader_prefetch_factor: -1\n",
    good="output_dir: out\ndataloader_num_workers: 2\ndataloader_prefetch_factor: 2\n",
    example={"at": "/dataloader_prefetch_factor"},
)
def prefetch_negative(config: TrainerConfig) -> Iterator[Finding]:
    """`dataloader_prefetch_factor` is negative.

    Run-time error: `ValueError: prefetch_factor option should be non-negative`.

    Fix: use a number of batches per worker; the default is 2.

    Source: torch 2.13 utils/data/dataloader.py.
    """
    value, workers = config.arguments["dataloader_prefetch_factor"], config.arguments["dataloader_num_workers"]
    if number(value) and value < 0 and number(workers) and workers > 0:
        text = "ValueError: prefetch_factor option should be non-negative"
        message = f"`dataloader_prefetch_factor` is {value}; it must be >= 0"
        yield Finding(
            of(config, "dataloader_prefetch_factor"),
            message,
            exception=text,
            help="set `dataloader_prefetch_factor: 2`, which is the default",
        )


@rule(
    "HFT050",
    "optimizer-value-out-of-range",
    ERROR,
    old_names=("optimizer-range",),
    kinds=KINDS,
    fails_at="init",
    bad=(
        "output_dir: out\nadam_beta2: 1.0\n",
        "output_dir: out\nlearning_rate: -1.0\n",
        "output_dir: out\nadam_epsilon: -1.0\n",
        "output_dir: out\nadam_beta1: 0\n",
    ),
    good="output_dir: out\nadam_beta2: 0.999\n",
    example={"at": "/adam_beta2"},
)
def optimizer_value(config: TrainerConfig) -> Iterator[Finding]:
    """A value is outside the range that the optimizer accepts.

    `learning_rate` and `adam_epsilon` must not be negative, the betas must be at least 0 and below 1. torch's AdamW also
    requires both betas to be floats: write `0.0`, not `0`.

    Run-time error: `ValueError: Invalid learning rate: -1`, `ValueError: Invalid beta parameter at index 1: 1.0`,
    `ValueError: Invalid epsilon value: -1`, `ValueError: betas must be either both floats or both Tensors`.

    Fix: use a value in the range. Where the DeepSpeed config has an optimizer, these fields are only compared with it.

    Source: torch 2.13 optim/adam.py:58-72.
    """
    args = config.arguments
    if not config.parsed or not config.makes_optimizer:
        return
    optimizer = args.optimizer
    rate = args["learning_rate"]
    if number(rate) and not rate >= 0 and optimizer != "adafactor":  # NaN too
        text = f"ValueError: Invalid learning rate: {rate}"
        yield Finding(of(config, "learning_rate"), f"`learning_rate` is {rate}; it must be >= 0", exception=text)
    if optimizer not in ADAMS:
        return
    if number(args["adam_epsilon"]) and not args["adam_epsilon"] >= 0:
        text = f"ValueError: Invalid epsilon value: {args['adam_epsilon']}"
        yield Finding(
            of(config, "adam_epsilon"),
            f"`adam_epsilon` is {args['adam_epsilon']}; it must be >= 0",
            exception=text,
            help="set `adam_epsilon: 1.0e-8`, which is the default",
        )
    for index, name in enumerate(("adam_beta1", "adam_beta2")):
        value = args[name]
        if number(value) and not 0 <= value < 1:
            text = f"ValueError: Invalid beta parameter at index {index}: {value}"
            yield Finding(
                of(config, name),
                f"`{name}` is {value}; it must be >= 0 and < 1",
                exception=text,
                help=f"set `{name}: {0.9 if name == 'adam_beta1' else 0.999}`, which is the default",
            )
        elif number(value) and not isinstance(value, float) and optimizer in TORCH_ADAMS:
            text = "ValueError: betas must be either both floats or both Tensors"
            yield Finding(
                of(config, name),
                f"`{name}` is {shown(value)}, an integer; it must be a float",
                exception=text,
                help=f"set `{name}: {float(value)}`",
            )


@rule(
    "HFT051",
    "invalid-optim-args",
    ERROR,
    old_names=("optimizer-arguments",),
    kinds=KINDS,
    fails_at="init",
    bad="output_dir: out\noptim_args: momentum\n",
    good="output_dir: out\noptim_args: momentum=0.9\noptim: sgd\n",
    example={"at": "/optim_args"},
)
def optimizer_arguments(config: TrainerConfig) -> Iterator[Finding]:
    """`optim_args` is not a list of `name=value` pairs.

    Run-time error: `ValueError: not enough values to unpack (expected 2, got 1)`.

    Fix: write `name=value` pairs, separated by commas.

    Source: transformers 5.23.0 trainer_optimizer.py:65-73.
    """
    value = config.arguments["optim_args"]
    if not isinstance(value, str) or not value or not config.parsed or not config.makes_optimizer:
        return
    for part in value.replace(" ", "").split(","):
        count = part.count("=")
        if count != 1:
            found = "too many values to unpack (expected 2)" if count else "not enough values to unpack (expected 2, got 1)"
            text = f"ValueError: {found}"
            yield Finding(
                of(config, "optim_args"),
                f"`optim_args` contains {shown(part)}, which is not name=value",
                exception=text,
                help="write name=value, with commas between several",
            )
            return


@rule(
    "HFT052",
    "missing-target-modules",
    ERROR,
    old_names=("target-modules",),
    kinds=KINDS,
    fails_at="init",
    bad=(
        "output_dir: out\noptim: galore_adamw\n",
        Example("output_dir: out\noptim: galore_adamw_layerwise\noptim_target_modules: [attn]\n", facts={"gpus": 8}),
        Example(
            "output_dir: out\noptim: galore_adamw_layerwise\noptim_target_modules: [attn]\ngradient_accumulation_steps: 4\n",
            facts={"gpus": 1},
        ),
    ),
    good="output_dir: out\noptim: galore_adamw\noptim_target_modules: [attn, mlp]\n",
    example={"at": "/optim"},
)
def target_modules(config: TrainerConfig) -> Iterator[Finding]:
    """GaLore and APOLLO require `optim_target_modules`; their layer-wise variants do not support gradient accumulation or DDP.

    Run-time error: ``ValueError: You need to define `optim_target_modules` to use galore_adamw optimizers``,
    `ValueError: Layerwise galore_adamw_layerwise does not support gradient accumulation!`, `NotImplementedError:
    Layer-wise galore_adamw_layerwise does not support DDP at this time`.

    Fix: set `optim_target_modules`, for example "all-linear".

    Source: transformers 5.23.0 trainer_optimizer.py:115-167, 4.42.4 trainer.py:1262.
    """
    optimizer = config.arguments.optimizer
    if not isinstance(optimizer, str) or not optimizer.startswith(LOW_RANK) or not config.parsed or not config.makes_optimizer:
        return
    setting = of(config, "optim")
    if optimizer.endswith("layerwise") and config.launched:
        text = f"NotImplementedError: Layer-wise {optimizer} does not support DDP at this time"
        yield Finding(
            setting,
            f"`optim: {optimizer}` does not support multiple processes (DDP)",
            exception=text,
            help=f"set `optim: {optimizer.removesuffix('_layerwise')}`",
        )
    if config.arguments["optim_target_modules"] is None:
        text = f"ValueError: You need to define `optim_target_modules` to use {optimizer} optimizers"
        severity = certainty(config, "optim_target_modules")
        yield Finding(
            setting,
            f"`optim: {optimizer}` requires `optim_target_modules`",
            exception=text,
            severity=severity,
            help="set `optim_target_modules: all-linear`",
        )
    accumulation = accumulation_steps(config).value
    if optimizer.endswith("layerwise") and accumulation != 1:
        text = f"ValueError: Layerwise {optimizer} does not support gradient accumulation!"
        message = f"`optim: {optimizer}` does not support gradient accumulation, but `gradient_accumulation_steps` is {shown(accumulation)}"
        yield Finding(
            setting,
            message,
            exception=text,
            help=f"set `gradient_accumulation_steps: 1`, or set `optim: {optimizer.removesuffix('_layerwise')}`",
        )


@rule(
    "HFT053",
    "negative-noise-alpha",
    ERROR,
    old_names=("noise-negative",),
    kinds=KINDS,
    fails_at="first-step",
    bad="output_dir: out\nneftune_noise_alpha: -5\n",
    good="output_dir: out\nneftune_noise_alpha: 5\n",
    example={"at": "/neftune_noise_alpha"},
)
def noise_negative(config: TrainerConfig) -> Iterator[Finding]:
    """`neftune_noise_alpha` is negative.

    Run-time error: `RuntimeError: uniform_ expects to return a [from, to) range, but found from=0.25 > to=-0.25`.

    Fix: use a positive number, or remove the key.

    Source: transformers 5.23.0 integrations/neftune.py:49.
    """
    value = config.arguments["neftune_noise_alpha"]
    if number(value) and value < 0 and takes_steps(config):
        text = "RuntimeError: uniform_ expects to return a [from, to) range"
        yield Finding(
            of(config, "neftune_noise_alpha"),
            f"`neftune_noise_alpha` is {value}; it must be >= 0",
            exception=text,
            help="remove `neftune_noise_alpha` for no noise",
        )


@rule(
    "HFT054",
    "invalid-deepspeed-value",
    ERROR,
    old_names=("deepspeed-neither",),
    kinds=KINDS,
    fails_at="config",
    bad="output_dir: out\nlocal_rank: 0\ndeepspeed: true\n",
    good="output_dir: out\nlocal_rank: 0\n",
    example={"gpus": 8, "at": "/deepspeed"},
)
def deepspeed_value(config: TrainerConfig) -> Iterator[Finding]:
    """`deepspeed` is neither a mapping nor a file name.

    Run-time error: `OSError: [Errno 9] Bad file descriptor`, `TypeError: stat: path should be string, bytes,
    os.PathLike or integer, not list`.

    Fix: use the path of a DeepSpeed JSON file, or its contents as a mapping.

    Source: accelerate 1.15.0 utils/deepspeed.py:136-158.
    """
    value: Any = config.arguments["deepspeed"]
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
