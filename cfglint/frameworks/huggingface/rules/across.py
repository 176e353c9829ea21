"""Rules about a Trainer config and its DeepSpeed config: conflicts that raise, and values that are silently overridden."""

from __future__ import annotations

from cfglint.findings.rule import VALUE, Example, Finding, config_error, info, init_error, warning
from cfglint.findings.setting import DEFAULT, Setting
from cfglint.frameworks.huggingface.batch import accumulation_steps, of
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.remedies import remove, replace
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.huggingface.deepspeed_integration import HfDeepSpeedConfig
    from cfglint.frameworks.refusal import Refusal

# The `lr_scheduler_type` and `optim` values that match a name in the DeepSpeed config.
SCHEDULES = {
    "WarmupDecayLR": ("linear",),
    "WarmupLR": ("constant_with_warmup",),
    "WarmupCosineLR": ("cosine",),
}
OPTIMIZERS = {"adamw": ("adamw_torch", "adamw_torch_fused", "adamw_hf"), "adam": ("adamw_torch", "adamw_torch_fused", "adamw_hf")}
TWO_FILES = "output_dir: out\ndeepspeed: ds.json\n"
ACCELERATE_BLOCK = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"
    "deepspeed_config:\n  zero_stage: 3\n"
)


def refusal(config: TrainerConfig) -> Refusal | None:
    """The exception that stops the Trainer between loading the DeepSpeed config and building the engine."""
    return config.deepspeed.refusal if config.deepspeed is not None else None


@init_error(
    "RUN001",
    source="transformers 5.23.0 integrations/deepspeed.py:104-190, 258-266",
    bad=(
        {
            "train.yaml": TWO_FILES + "per_device_train_batch_size: 4\n",
            "ds.json": '{"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}\n',
        },
        Example(
            {"train.yaml": "output_dir: out\nbf16: false\n", "accelerate.yaml": ACCELERATE_BLOCK},
            at="/mixed_precision",
            message="`mixed_precision` is bf16",
        ),
    ),
    good={
        "train.yaml": TWO_FILES + "per_device_train_batch_size: 4\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    example={"gpus": 8, "at": "/train_micro_batch_size_per_gpu"},
    about=VALUE,  # each value that both files have
)
def deepspeed_mismatch(config: TrainerConfig) -> Iterator[Finding]:
    """The DeepSpeed config contradicts the Trainer config.

    Batch sizes, gradient accumulation, gradient clipping, learning rate, betas, eps, weight decay, warm-up, total steps and
    half precision are compared as plain values: 64.0 equals 64, the string "64" does not. All differences are raised together,
    when training begins. `train_batch_size` must match the number of processes, so a config that sets it works on one cluster
    size only.
    """
    launch = config.deepspeed
    if launch is None or not launch.mismatches:
        return
    for each in launch.mismatches:
        if launch.disagrees_on_precision and each.path in launch.HALF_PRECISION:
            continue  # RUN004 reports this, and the trainer stops there
        related = tuple(of(config, name) for name in each.fields)
        if config.facts.launch.doubts and all(field.origin == DEFAULT for field in related):
            continue  # a program that may not use the Trainer may lack this field
        setting = launch.setting(each.path)
        fix = replace(setting, "auto", 'set it to "auto"', safe=True) if launch.accepts_auto(setting) else None
        text = f"ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values: {each.line}"
        yield Finding(
            setting,
            f"`{setting.name}` is {setting.spelled}, but the Trainer's {each.label} is {shown(each.ours)}",
            related=related,
            exception=text,
            fix=fix,
            help=None if fix else "make the two values equal",
        )


@config_error(
    "RUN002",
    old_names=("zero-section-missing",),
    raises="ValueError: Please specify the ZeRO optimization config in the DeepSpeed config.",
    source="accelerate 1.15.0 utils/dataclasses.py:1276; deepspeed 0.19.8 autotuning/autotuner.py (model_info_profile_run)",
    bad={"train.yaml": TWO_FILES, "ds.json": '{"train_micro_batch_size_per_gpu": "auto"}\n'},
    good={"train.yaml": TWO_FILES, "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 0}}\n'},
    example={"gpus": 8, "at": "/zero_optimization"},
)
def missing_zero_section(config: TrainerConfig) -> Iterator[Finding]:
    """Under the Trainer a DeepSpeed config requires a `zero_optimization` section, even for stage 0.

    Under `deepspeed --autotuning` the autotuner writes the section into the configs of its experiments.
    """
    line = config.facts.launch.line
    if line is not None and "autotuning" in line.options.given:
        return
    found, launch = refusal(config), config.deepspeed
    if found is not None and launch is not None and found.key == "zero_optimization" and "zero_optimization" not in launch.written:
        setting = launch.setting("zero_optimization")
        yield Finding(
            setting,
            "`zero_optimization` is missing; the Trainer requires this section",
            exception=found.exception,
            help="add `zero_optimization: {stage: 0}` to the DeepSpeed config, or remove `deepspeed`",
        )


@init_error(
    "RUN014",
    raises="ValueError: Found `optimizer` configured in the DeepSpeed config, but no `scheduler`.",
    source="transformers 4.30.2 deepspeed.py:305-310, 4.33.2 integrations/deepspeed.py:306; 4.33.3 builds the Trainer's own scheduler",
    bad={
        "train.yaml": TWO_FILES,
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "optimizer": {"type": "AdamW"}, "zero_optimization": {}}\n',
    },
    good={"train.yaml": TWO_FILES, "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {}}\n'},
    example={"gpus": 8, "at": "/optimizer", "target": {"transformers": "4.30.2"}},
)
def deepspeed_optimizer_without_scheduler(config: TrainerConfig) -> Iterator[Finding]:
    """A DeepSpeed config has an optimizer and no scheduler, which transformers before 4.33.3 does not support."""
    launch = config.deepspeed
    if launch is None or config.section("deepspeed") is None:
        return
    if "optimizer" in launch.written and "scheduler" not in launch.written:
        yield Finding(
            launch.setting("optimizer"),
            "`optimizer` requires a `scheduler` section in this release of transformers",
            help="add a `scheduler` section, or remove `optimizer`",
        )


@init_error(
    "RUN003",
    source="accelerate 1.15.0 utils/dataclasses.py:1356-1374, accelerator.py:2355",
    old_names=("auto-unfilled",),
    bad={
        "train.yaml": TWO_FILES,
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2, "allgather_bucket_size": "auto"}}\n',
    },
    good={
        "train.yaml": TWO_FILES,
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}}\n',
    },
    example={"gpus": 8, "at": "/zero_optimization/allgather_bucket_size"},
)
def unresolved_auto(config: TrainerConfig) -> Iterator[Finding]:
    """A key is "auto", and neither the Trainer nor accelerate resolves it.

    The Trainer resolves the batch keys, gradient clipping, the optimizer's lr, betas, eps and weight decay, the scheduler's
    warm-up and total steps, `fp16.enabled`, `bf16.enabled`, and with the model's hidden size `reduce_bucket_size`,
    `stage3_prefetch_bucket_size` and `stage3_param_persistence_threshold`. accelerate adds the stage, the offload
    devices and `stage3_gather_16bit_weights_on_model_save`. Every other key needs a value.
    """
    found, launch = refusal(config), config.deepspeed
    if found is not None and launch is not None and found.kind == launch.UNRESOLVED:
        setting = launch.setting(found.key)
        fix = remove(setting, f"remove {found.key}", safe=True)
        yield Finding(setting, f'`{found.key}` is "auto", which the Trainer does not resolve', exception=found.exception, fix=fix)


@config_error(
    "RUN004",
    source="accelerate 1.15.0 utils/dataclasses.py:1415-1446, utils/deepspeed.py:186-206, accelerator.py:2212-2234",
    old_names=("deepspeed-refused",),
    bad={"train.yaml": TWO_FILES + "bf16: true\n", "ds.json": '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}}\n'},
    good={"train.yaml": TWO_FILES + "bf16: true\n", "ds.json": '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}}\n'},
    example={"gpus": 8, "at": "/fp16/enabled"},
)
def incompatible_deepspeed_config(config: TrainerConfig) -> Iterator[Finding]:
    """The DeepSpeed config has a value that the Trainer or accelerate does not accept.

    Typical cases: `fp16` enabled in the DeepSpeed config while the Trainer uses bf16, a section that is not a mapping, a batch
    size that is not a number.

    Run-time error: ``ValueError: `--mixed_precision` arg cannot be set to `bf16` when `fp16` is set in the
    DeepSpeed config file.``, `AttributeError: 'bool' object has no attribute 'get'`, `TypeError: unsupported operand
    type(s) for //: 'str' and 'int'`.

    Fix: correct the key in the message; for half precision use `"enabled": "auto"` in both sections.
    """
    found, launch = refusal(config), config.deepspeed
    if found is None or launch is None or found.kind == launch.UNRESOLVED:
        return
    if found.key == "zero_optimization" and "zero_optimization" not in launch.written:
        return
    setting, fix = launch.setting(found.key), None
    related: tuple[Setting, ...] = ()
    if launch.disagrees_on_precision:
        fix = replace(setting, "auto", 'set it to "auto"', safe=True)
        related = (of(config, launch.precision),)
    yield Finding(setting, found.message, related=related, exception=found.exception, fails_at=found.fails_at, fix=fix)


@warning(
    "RUN005",
    source="transformers 5.23.0 integrations/deepspeed.py:586-589",
    old_names=("deepspeed-schedule-wins",),
    bad={
        "train.yaml": TWO_FILES + "lr_scheduler_type: cosine\nmax_steps: 100\n",
        "ds.json": '{"scheduler": {"type": "WarmupLR", "params": {}}, "zero_optimization": {"stage": 2}}\n',
    },
    good={"train.yaml": TWO_FILES + "lr_scheduler_type: cosine\nmax_steps: 100\n", "ds.json": '{"zero_optimization": {"stage": 2}}\n'},
    example={"gpus": 8, "at": "/lr_scheduler_type"},
)
def overridden_lr_scheduler(config: TrainerConfig) -> Iterator[Finding]:
    """The scheduler of the DeepSpeed config overrides the Trainer's `lr_scheduler_type`.

    The two are never compared: with `WarmupLR` the learning rate stays constant after warm-up, even if the Trainer config asks
    for cosine.

    Fix: remove `scheduler` from the DeepSpeed config, or set `lr_scheduler_type` to the matching type.
    """
    launch = config.deepspeed
    if launch is None or "scheduler" not in launch.written or "lr_scheduler_type" not in config.arguments:
        return
    theirs, ours = _type(launch, "scheduler"), config.arguments["lr_scheduler_type"]
    if ours not in SCHEDULES.get(str(theirs), ()):
        message = f"`lr_scheduler_type` is overridden by `scheduler.type` of the DeepSpeed config, {theirs}"
        yield Finding(
            of(config, "lr_scheduler_type"),
            message,
            related=(launch.setting("scheduler.type"),),
            help="remove the `scheduler` section of the DeepSpeed config to use the Trainer's",
        )


@warning(
    "RUN013",
    source="deepspeed 0.19.8 autotuning/config.py, autotuning/README.md",
    bad={
        "train.yaml": TWO_FILES + "per_device_train_batch_size: 8\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "autotuning": {"enabled": true}, "zero_optimization": {"stage": 2}}\n',
    },
    good={
        "train.yaml": TWO_FILES + "per_device_train_batch_size: 8\n",
        "ds.json": (
            '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}, "autotuning": {"enabled": true,'
            ' "arg_mappings": {"train_micro_batch_size_per_gpu": "--per_device_train_batch_size"}}}\n'
        ),
    },
    example={"gpus": 8, "at": "/autotuning/enabled"},
)
def autotuning_without_mappings(config: TrainerConfig) -> Iterator[Finding]:
    """DeepSpeed's autotuner does not know which arguments of the script its batch sizes belong to.

    It writes its own values into the DeepSpeed config of each experiment, and the Trainer keeps its own, so the
    experiments end with a mismatch. `arg_mappings` names the script's argument for each key that is tuned.

    Fix: `"arg_mappings": {"train_micro_batch_size_per_gpu": "--per_device_train_batch_size",
    "gradient_accumulation_steps": "--gradient_accumulation_steps"}`.
    """
    launch = config.deepspeed
    section = launch.written.get("autotuning") if launch is not None else None
    if launch is not None and isinstance(section, dict) and section.get("enabled") and not section.get("arg_mappings"):
        text = "`autotuning` has no `arg_mappings`: every experiment trains with the Trainer's own batch sizes"
        yield Finding(launch.setting("autotuning.enabled"), text, help="write `arg_mappings`, as `cfglint rule RUN013` shows")


@info(
    "RUN012",
    source="transformers 5.23.0 integrations/deepspeed.py:586-589",
    bad={
        "train.yaml": TWO_FILES + "max_steps: 100\n",
        "ds.json": '{"scheduler": {"type": "WarmupLR", "params": {}}, "zero_optimization": {"stage": 2}}\n',
    },
    good={"train.yaml": TWO_FILES + "max_steps: 100\n", "ds.json": '{"zero_optimization": {"stage": 2}}\n'},
    example={"gpus": 8, "at": "/scheduler/type"},
)
def default_schedule_replaced(config: TrainerConfig) -> Iterator[Finding]:
    """The scheduler of the DeepSpeed config replaces the Trainer's default, a linear decay to 0.

    The Trainer config does not name a schedule. With `WarmupLR` the learning rate stays constant after warm-up.

    Fix: none if that is meant; else remove `scheduler`, or use `WarmupDecayLR` for the linear decay.
    """
    launch = config.deepspeed
    if launch is None or "scheduler" not in launch.written or "lr_scheduler_type" in config.arguments:
        return
    theirs, default = _type(launch, "scheduler"), config.arguments["lr_scheduler_type"]
    if theirs is not None and default not in SCHEDULES.get(str(theirs), ()):
        text = f"`scheduler.type` is {theirs}, which replaces the Trainer's default schedule ({default})"
        yield Finding(
            launch.setting("scheduler.type"),
            text,
            help="set `lr_scheduler_type` as well, or remove the `scheduler` section to use the Trainer's",
        )


def _type(launch: HfDeepSpeedConfig, section: str) -> object:
    value = launch.written[section]
    return value.get("type") if isinstance(value, dict) else value


@warning(
    "RUN006",
    source="transformers 5.23.0 integrations/deepspeed.py:566-585",
    old_names=("deepspeed-optimizer-wins",),
    bad={
        "train.yaml": TWO_FILES + "optim: adafactor\n",
        "ds.json": '{"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "zero_optimization": {"stage": 2}}\n',
    },
    good={"train.yaml": TWO_FILES + "optim: adafactor\n", "ds.json": '{"zero_optimization": {"stage": 2}}\n'},
    example={"gpus": 8, "at": "/optim"},
)
def overridden_optimizer(config: TrainerConfig) -> Iterator[Finding]:
    """The optimizer of the DeepSpeed config overrides the Trainer's `optim`."""
    launch = config.deepspeed
    if launch is None or "optimizer" not in launch.written or "optim" not in config.arguments:
        return
    theirs, ours = _type(launch, "optimizer"), config.arguments.optimizer
    if ours not in OPTIMIZERS.get(str(theirs).lower(), ()):
        related = (launch.setting("optimizer.type"),)
        yield Finding(
            of(config, "optim"),
            f"`optim` is overridden by `optimizer.type` of the DeepSpeed config, {theirs}",
            related=related,
            help="remove the `optimizer` section of the DeepSpeed config to use the Trainer's",
        )


@warning(
    "RUN007",
    source="accelerate 1.15.0 accelerator.py:3023-3027, deepspeed 0.19.8 runtime/constants.py",
    old_names=("clipping-replaced",),
    bad={"train.yaml": TWO_FILES + "max_grad_norm: 0.3\n", "ds.json": '{"zero_optimization": {"stage": 2}}\n'},
    good={
        "train.yaml": TWO_FILES + "max_grad_norm: 0.3\n",
        "ds.json": '{"gradient_clipping": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    example={"gpus": 8, "at": "/max_grad_norm"},
)
def ignored_max_grad_norm(config: TrainerConfig) -> Iterator[Finding]:
    """`max_grad_norm` is ignored, because the DeepSpeed config does not set `gradient_clipping`.

    The DeepSpeed engine clips gradients and uses its own key only. Its default is 1.0 from 0.19.3 on; before, it does not clip.
    """
    launch = config.deepspeed
    norm = config.arguments["max_grad_norm"]
    if launch is None or "gradient_clipping" in launch.written or not is_number(norm):
        return
    from cfglint.frameworks._releases import RELEASES
    from cfglint.frameworks.deepspeed.releases import default_of_key

    version = config.facts.version("deepspeed", RELEASES["deepspeed"])
    actual = default_of_key("gradient_clipping", version)
    if "max_grad_norm" in config.arguments and norm != actual:
        clips = f"clips at {actual}" if actual else "does not clip"
        setting = of(config, "max_grad_norm")
        message = f"`max_grad_norm` is {norm}, which is ignored: without `gradient_clipping` in its config DeepSpeed {clips}"
        yield Finding(
            setting, message, related=(launch.setting("gradient_clipping"),), help="set `gradient_clipping: auto` in the DeepSpeed config"
        )


@warning(
    "RUN008",
    source="accelerate 1.7.0 and 1.8.0 utils/deepspeed.py (`DeepSpeedEngineWrapper.backward`), 1.15.0 utils/dataclasses.py:1273",
    old_names=("accumulation-replaced",),
    bad={
        "train.yaml": TWO_FILES + "gradient_accumulation_steps: 4\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    good={
        "train.yaml": TWO_FILES + "gradient_accumulation_steps: 4\n",
        "ds.json": '{"gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    example={"gpus": 8, "target": {"accelerate": "1.7.0"}, "at": "/gradient_accumulation_steps"},
)
def ignored_gradient_accumulation(config: TrainerConfig) -> Iterator[Finding]:
    """The DeepSpeed config does not set `gradient_accumulation_steps`, so accelerate before 1.8.0 sets it to 1.

    DeepSpeed then takes an optimizer step for every micro batch, while the Trainer counts one step per accumulation. From 1.8.0
    on accelerate tells the engine when to step, and the run is the same with and without the key. If the DeepSpeed config sets
    `train_batch_size` (also as `"auto"`), DeepSpeed rejects the batch sizes with every release.
    """
    launch = config.deepspeed
    if launch is None or not launch.steps_every_micro_batch:
        return
    own = accumulation_steps(config)
    if is_number(own.value) and own.value > 1:
        release = config.facts.target["accelerate"]
        message = (
            f"`{own.name}` is {own.value}, which accelerate {release} ignores: the DeepSpeed config lacks the key, so DeepSpeed uses 1"
        )
        yield Finding(
            own,
            message,
            related=(launch.setting("gradient_accumulation_steps"),),
            note="DeepSpeed takes an optimizer step for every micro batch",
            help="set `gradient_accumulation_steps: auto` in the DeepSpeed config",
        )
