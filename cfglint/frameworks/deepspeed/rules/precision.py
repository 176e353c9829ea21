"""Rules about fp16, bf16 and the types of weights, gradients and optimizer states."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import FP16
from cfglint.frameworks.deepspeed.rules.values import SHORT_NAMES, dtype
from cfglint.frameworks.remedies import remove
from cfglint.source.annotations import Iterator

CHECKED_WITHOUT_OPTIMIZER = (0, 12, 5)  # first release whose BF16_Optimizer checks the type in which it accumulates
OWN_TYPE_WITH_ZERO = (0, 10, 1)  # first release whose ZeRO accumulates in another type than the model's
BF16_MASTER = (0, 18, 3)  # master weights in bf16; those in fp16 no longer at stage 2 alone
BF16_OPTIMIZER_WITHOUT_ZERO = (0, 18, 5)  # it was used for gradients in fp32 before
BF16_WITHOUT_ZERO = (0, 17, 6)  # gradients in bf16 are accumulated without ZeRO
TORCH = {"fp16": "torch.float16", "bf16": "torch.bfloat16", "fp32": "torch.float32", "int8": "torch.int8"}


OLD_MASTER_WEIGHTS = (
    "AssertionError: fp16_master_and_gradients requires optimizer to support keeping fp16 master and gradients while keeping the optimizer"
    " states in fp32."
)
UNRESOLVED = 'no Hugging Face Trainer resolves "auto" for this key'


@rule("PRC102")
def master_weights_need_cpu_adam(config: DeepSpeedConfig) -> Iterator[Finding]:
    stage, optimizer = config.stage, config.optimizer
    fp16 = config.section("fp16")["fp16_master_weights_and_grads"]
    bf16 = config.version >= BF16_MASTER and config.section("bf16")["bf16_master_weights_and_grads"]
    if not (fp16 or bf16) or stage not in (1, 2, 3) or optimizer is None or uses_bf16_optimizer(config):
        return
    if fp16 and bf16:
        raised = "AssertionError: fp16_master_weights_and_gradients and bf16_master_weights_and_gradients are mutually exclusive."
        text = "`fp16_master_weights_and_grads` is incompatible with `bf16_master_weights_and_grads`"
        remedy = remove_key("fp16.fp16_master_weights_and_grads") | remove_key("bf16.bf16_master_weights_and_grads")
        yield Finding(config.at("fp16", "fp16_master_weights_and_grads"), text, exception=raised, help=remedy, depends_on=config.rest)
        return
    offloaded = config.offload != "none"
    if bf16 and config.section("bf16")["bf16_optimizer_states"] and not offloaded:
        return
    if not offloaded or optimizer.class_name != "DeepSpeedCPUAdam":
        section, key = ("fp16", "fp16_master_weights_and_grads") if fp16 else ("bf16", "bf16_master_weights_and_grads")
        raised = f"AssertionError: Master weights feature requires ZeRO-{stage} Offload with DeepSpeedCPUAdam. Current ZeRO-"
        raised += f"{'3 ' if stage == 3 else ''}Offload:{offloaded}"
        if config.version < BF16_MASTER:
            raised = OLD_MASTER_WEIGHTS
        text = f"`{section}.{key}` requires DeepSpeedCPUAdam, an Adam that is offloaded to the CPU"
        remedy = 'set `zero_optimization.offload_optimizer.device` to "cpu" with Adam or AdamW' | remove_key(f"{section}.{key}")
        yield Finding(config.at(section, key), text, exception=raised, help=remedy, depends_on=config.rest)


def uses_bf16_optimizer(config: DeepSpeedConfig) -> bool:
    """Whether the engine uses the bf16 optimizer instead of that of stage 1; it has its own checks (engine.py:2305)."""
    separate = dtype(config.get("data_types", "grad_accum_dtype")) == "fp32"
    return config.stage == 1 and config.precision == "bf16" and separate and config.offload != "cpu"


@rule("PRC103")
def invalid_gradient_accumulation_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.get("data_types", "grad_accum_dtype")
    if value is None or not (config.has_optimizer or config.stage in (1, 2, 3) or (config.stage == 0 and config.precision == "bf16")):
        return
    setting = config.setting("data_types", "grad_accum_dtype")
    found = dtype(value)
    if found is not None and not config.knows_precision:
        return
    if found is None:
        text = f"`data_types.grad_accum_dtype` is {spelled(value)}, not a valid data type"
        choices = f"write one of {', '.join(SHORT_NAMES)}"
        raised = f"ValueError: {value!r} is not a valid DtypeEnum"
        yield Finding(setting, text, exception=raised, help=choices, note=UNRESOLVED if value == "auto" else None, depends_on=config.rest)
    elif config.stage and config.version < OWN_TYPE_WITH_ZERO and config.has_optimizer and found != config.precision:
        raised = "NotImplementedError: Model data type and gradient accumulation data type must be equal to use ZeRO"
        text = f"`data_types.grad_accum_dtype` is {found}; with ZeRO it must be {config.precision}, the model's type"
        remedy = set_key("data_types.grad_accum_dtype", config.precision)
        yield Finding(setting, text, exception=raised, help=remedy, depends_on=config.rest)
    elif config.stage == 0 and config.has_optimizer:
        model, version, needed = config.precision, config.version, config.precision
        if model == "bf16" and version < BF16_OPTIMIZER_WITHOUT_ZERO:  # the one that is asked for, if the release supports it
            needed = found if found == "bf16" and version >= BF16_WITHOUT_ZERO else "fp32"
        if needed != found:
            if version >= BF16_WITHOUT_ZERO:
                raised = f"unsupported mix of model_dtype={TORCH[model]} and grad_accum_dtype={TORCH[found]}"
            elif found == model:
                raised = "Bfloat16 wrapper must use a gradient accumulation type of fp32, enable ZeRO to use Bfloat16 gradient accumulation"
            else:
                raised = "unsupported mix of model dtype and gradient accumulation type"
            text = f"`data_types.grad_accum_dtype` is {found}; without ZeRO it must be {needed}"
            text += ", the model's type" if needed == model else " with bf16"
            raised, remedy = f"NotImplementedError: {raised}", set_key("data_types.grad_accum_dtype", needed)
            yield Finding(setting, text, exception=raised, help=remedy, depends_on=config.rest)
    elif config.stage == 0 and not config.has_optimizer and found == "fp16" and config.version >= CHECKED_WITHOUT_OPTIMIZER:
        raised = f"AssertionError: BF16Optimizer: Unsupported gradient accumulation data type: {TORCH[found]}"
        text = f"`data_types.grad_accum_dtype` is {found}; it must be fp32 or bf16 with bf16 and without an optimizer"
        yield Finding(setting, text, exception=raised, help=set_key("data_types.grad_accum_dtype", "fp32"), depends_on=config.rest)


@rule("PRC104")
def invalid_parameter_dtype(config: DeepSpeedConfig) -> Iterator[Finding]:
    for key in ("param_dtype", "buffer_dtype"):
        value = config.get("data_types", key)
        if value is None or not config.looks_up("data_types", key) or (key == "buffer_dtype" and config.precision == "fp32"):
            continue
        setting = config.setting("data_types", key)
        found = dtype(value)
        if found is None:
            text = f"`data_types.{key}` is {spelled(value)}, not a valid data type"
            raised = f"ValueError: {value!r} is not a valid DtypeEnum"
            remedy = remove_key(f"data_types.{key}") | f"write one of {', '.join(SHORT_NAMES)}"
            yield Finding(setting, text, exception=raised, note=UNRESOLVED if value == "auto" else None, help=remedy)
        elif key == "param_dtype" and found != config.precision and config.knows_precision:
            raised = f"AssertionError: data_types.param_dtype='{value}' conflicts with the enabled precision mode"
            text = f"`data_types.param_dtype` is {value}, but `fp16` and `bf16` make the model {config.precision}"
            yield Finding(setting, text, exception=raised, fix=remove(setting, "remove `param_dtype`", safe=True))


@rule("PRC105")
def enabled_is_auto(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.open or config.trainer is not None:
        return
    strict = FP16.is_in(config.version)
    for name in ("fp16", "bf16", "bfloat16", "torch_autocast"):
        if config.get(name, "enabled") == "auto":
            state = "off" if strict and name != "torch_autocast" else "on"
            text = f'`{name}.enabled` is "auto", which is not resolved here (no Hugging Face Trainer), so {name} is {state}'
            yield Finding(config.setting(name, "enabled"), text, help=f"set `{name}.enabled` to true or false")


@rule("PRC106")
def two_precisions(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.get("torch_autocast", "enabled") and config.precision != "fp32":
        setting = config.setting("torch_autocast", "enabled")
        related = config.at(config.precision, "enabled")
        text = f"`torch_autocast.enabled` and `{config.precision}.enabled` are both true"
        note = "the weights are converted, and autocast converts on top of that"
        remedy = set_key("torch_autocast.enabled", False) | set_key(related.name, False)
        yield Finding(setting, text, related=(related,), note=note, help=remedy)


@rule("PRC107")
def ignored_bfloat16(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.values.get("bf16") is not None and "bfloat16" in config.values:
        reason = "the Trainer sets `bf16`" if config.documents[0].find(("bf16",))[1] is None else "`bf16` is set"
        text = f"`bfloat16` is ignored, because {reason}"
        yield Finding(config.setting("bfloat16"), text, on_key=True, note="its content is not checked", help=remove_key("bfloat16"))
