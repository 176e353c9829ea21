"""Rules about values that every worker rejects before or at its first step: tokenizer, data, optimizer, schedule, saving."""

from __future__ import annotations

from math import inf

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.fields import describe
from cfglint.frameworks.neox.rules import elsewhere
from cfglint.frameworks.remedies import excludes, remove
from cfglint.source.annotations import Any, Callable, Iterator
from cfglint.source.numbers import is_number
from cfglint.source.similar_keys import distance

# The files that each tokenizer requires.
FILES = {
    "gpt2bpetokenizer": ("vocab_file", "merge_file"),
    "spmtokenizer": ("vocab_file",),
    "hftokenizer": ("vocab_file",),
    "tiktokentokenizer": ("vocab_file",),
}
FUSED_ADAM = "lr bias_correction betas eps adam_w_mode amsgrad set_grad_none capturable master_weights"
# The keyword arguments of each optimizer except weight_decay, which GPT-NeoX passes itself. Where a name may mean one of two
# classes, the union of their arguments.
PARAMETERS = {
    "adam": FUSED_ADAM,
    "cpu_adam": "lr bias_correction betas eps amsgrad adamw_mode fp32_optimizer_states",
    "cpu_torch_adam": "lr bias_correction betas eps amsgrad adamw_mode fp32_optimizer_states",
    "sm3": "lr momentum beta eps",
    "madgrad_wd": "lr momentum eps",
    "lion": "lr betas set_grad_none",
}
CLASSES = {
    "adam": "FusedAdam",
    "cpu_adam": "DeepSpeedCPUAdam",
    "cpu_torch_adam": "DeepSpeedCPUAdam",
    "sm3": "SM3",
    "madgrad_wd": "madgrad_wd",
    "lion": "FusedLion",
}
# The checks of the parameters by the optimizers' classes (megatron/optimizers.py:40-48, 281-288, 447-452; DeeperSpeed 91d1c55
# deepspeed/ops/adam/fused_adam.py:87).
RANGES: dict[str, list[tuple[str, Callable[[Any], bool], str]]] = {
    "sm3": [
        ("lr", lambda value: value >= 0, "Invalid learning rate: {}"),
        ("momentum", lambda value: 0 <= value < 1, "Invalid momentum: {}"),
        ("beta", lambda value: 0 <= value < 1, "Invalid beta: {}"),
        ("eps", lambda value: value >= 0, "Invalid eps: {}"),
    ],
    "madgrad_wd": [
        ("momentum", lambda value: 0 <= value < 1, "Momentum {} must be in the range [0,1]"),
        ("lr", lambda value: value > 0, "Learning rate {} must be positive"),
        ("eps", lambda value: value >= 0, "Eps must be non-negative"),
    ],
    "lion": [("lr", lambda value: value > 0, "Learning rate {} must be positive")],
}


@rule("NEO070")
def missing_tokenizer_files(config: NeoXConfig) -> Iterator[Finding]:
    kind = config.argument("tokenizer_type")
    if kind is None:
        advice = "set `tokenizer_type: HFTokenizer` and `vocab_file`"
        yield Finding(config.absent("tokenizer_type"), "`tokenizer_type` is null, not a string", help=advice)
        return
    absent = [name for name in FILES.get(kind.lower() if isinstance(kind, str) else "", ()) if config.argument(name) is None]
    if absent:
        names = " and ".join(f"`{name}`" for name in absent)
        message = f"`tokenizer_type: {kind}` requires {names}"
        advice = f"set {names}, often in a file of paths such as local_setup.yml"
        yield Finding(config.setting("tokenizer_type"), message, [config.absent(name) for name in absent], help=advice)


@rule("NEO071")
def non_positive_seed(config: NeoXConfig) -> Iterator[Finding]:
    seed = config.argument("seed")
    if seed is None or (is_number(seed) and seed <= 0):
        text = f"ValueError: Seed ({seed}) should be a positive integer."
        message = f"`seed` is {describe(seed)}; it must be a positive integer"
        yield Finding(config.setting("seed"), message, exception=text, help=set_key("seed", 1234))


@rule("STP061")
def invalid_training_length(config: NeoXConfig) -> Iterator[Finding]:
    steps, epochs = config.argument("train_iters"), config.argument("train_epochs")
    if not steps and not epochs:
        if not elsewhere(config, "train_iters", "train_epochs"):
            text = "ValueError: Must specify either train_epochs or train_iters"
            message = "`train_iters` is missing; it or `train_epochs` is required"
            yield Finding(config.setting("train_iters"), message, exception=text, help="set `train_iters` to the number of steps")
        return
    if epochs is None:
        return
    if steps and epochs:
        text = "ValueError: Cannot specify both train epochs and train iters simultaneously"
        yield excludes(config.setting("train_epochs"), config.setting("train_iters"), exception=text)
    weights = config.argument("train_data_weights")
    unsupported = (
        ("pack_impl", config.argument("pack_impl") != "packed",
         "Packing implementations other than 'packed' are currently unsupported with train_epochs"),
        ("weight_by_num_documents", bool(config.argument("weight_by_num_documents")),
         "Weighting by number of documents is currently unsupported with train_epochs"),
        ("train_data_weights", isinstance(weights, list) and not all(weight == 1.0 for weight in weights),
         "train_data_weights != None is currently unsupported with train_epochs"),
        ("dataset_impl", config.argument("dataset_impl") != "gpt2",
         "non gpt2 datasets are not currently unsupported with train_epochs"),
    )  # fmt: skip
    for name, error, text in unsupported:
        if error:
            setting = config.setting(name)
            message = f"`train_epochs` does not support `{name}: {config.argument(name)}`"
            remedy = remove_key("train_epochs") | remove_key(name)
            yield Finding(setting, message, related=(config.setting("train_epochs"),), exception=f"ValueError: {text}", help=remedy)


@rule("NEO072")
def missing_optimizer(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("optimizer") is None and not config.argument("no_load_optim"):
        remedy = set_key("optimizer", {"type": "Adam", "params": {"lr": 0.0006}})
        yield Finding(config.absent("optimizer"), "`optimizer` is missing; it is required for training", help=remedy)


@rule("NEO073")
def unexpected_optimizer_parameter(config: NeoXConfig) -> Iterator[Finding]:
    name = config.derived.optimizer_name
    if name not in PARAMETERS or config.argument("no_load_optim") or config.argument("optimizer") is None:
        return
    if name == "adam" and (config.argument("use_mup") or config.argument("use_bnb_optimizer")):
        yield from _twice(config, name)
        return
    taken = PARAMETERS[name].split()
    yield from _twice(config, name)
    for key in config.derived.optimizer_params:
        if key not in taken and not (key == "weight_decay" and name != "sm3"):
            text = f"TypeError: {_class(config, name)}.__init__() got an unexpected keyword argument '{key}'"
            message = f"{config.derived.optimizer_type} has no parameter `{key}`" + _nearest(str(key), taken)
            remedy = (
                "remove `optimizer.params.max_grad_norm` and set top-level `gradient_clipping`"
                if key == "max_grad_norm"
                else remove_key(f"optimizer.params.{key}")
            )
            yield Finding(config.setting("optimizer", "params", key), message, exception=text, on_key=True, help=remedy)


def _twice(config: NeoXConfig, name: str) -> Iterator[Finding]:
    """`weight_decay` in addition to the one that GPT-NeoX passes."""
    params = config.derived.optimizer_params
    if "weight_decay" not in params or name == "sm3":
        return
    setting, passed = config.setting("optimizer", "params", "weight_decay"), config.argument("weight_decay")
    text = f"TypeError: {_class(config, name)}() got multiple values for keyword argument 'weight_decay'"
    same = passed == params["weight_decay"]
    message = f"`weight_decay` is already passed by GPT-NeoX ({spelled(passed)}), from the top-level key"
    fix = remove(setting, "remove it: the top-level value is the same") if same else None
    remedy = None if same else remove_key("optimizer.params.weight_decay") & set_key("weight_decay", params["weight_decay"])
    yield Finding(setting, message, exception=text, fix=fix, on_key=True, help=remedy)


def _class(config: NeoXConfig, name: str) -> str:
    if name == "lion" and config.derived.zero.get("stage") == 0:
        return "Lion"
    return CLASSES[name]


def _nearest(key: str, taken: list[str]) -> str:
    if key == "max_grad_norm":
        return "; set top-level `gradient_clipping`"
    near = [name for name in taken if distance(key, name) is not None]
    return f"; did you mean `{near[0]}`?" if near else ""


@rule("NEO074")
def invalid_optimizer_value(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("no_load_optim") or config.argument("optimizer") is None:
        return
    derived, refusals = config.derived, list[tuple[str, str, str]]()
    name, params = derived.optimizer_name, derived.optimizer_params
    if name == "adam" and not config.argument("use_mup") and not config.argument("use_bnb_optimizer") and params.get("amsgrad"):
        text = "RuntimeError: FusedAdam does not support the AMSGrad variant."
        refusals.append(("amsgrad", "`optimizer.params.amsgrad` is not supported by FusedAdam", text))
    for key, allowed, text in RANGES.get(name, ()) if name != "lion" or derived.zero.get("stage") == 0 else ():
        value = params.get(key, 0.5)
        if is_number(value) and not allowed(value):
            message = f"`optimizer.params.{key}` is {value}, out of range: {text.format(value)}"
            refusals.append((key, message, f"ValueError: {text.format(value)}"))
        elif not is_number(value):
            order = "<=" if name == "sm3" else "<"
            exception = f"TypeError: '{order}' not supported between instances of 'float' and '{type(value).__name__}'"
            refusals.append((key, f"`optimizer.params.{key}` is {describe(value)}, not a number", exception))
    for key, message, exception in refusals:
        remedy = remove_key(f"optimizer.params.{key}", " for the default")
        yield Finding(config.setting("optimizer", "params", key), message, exception=exception, help=remedy)


@rule("NEO075")
def incompatible_mup_optimizer(config: NeoXConfig) -> Iterator[Finding]:
    if not config.argument("use_mup") or config.argument("no_load_optim") or config.argument("optimizer") is None:
        return
    name = config.derived.optimizer_name
    if name and name not in ("adam", "sgd"):
        text = f"AssertionError: If use_mup == True, you must specify either the adam or sgd optimizers. You passed: {name}"
        setting = config.setting("optimizer", "type")
        message = f"`optimizer.type: {config.derived.optimizer_type}` is incompatible with `use_mup`, which requires adam or sgd"
        remedy = set_key("optimizer.type", "Adam") | set_key("use_mup", False)
        yield Finding(setting, message, related=(config.setting("use_mup"),), exception=text, help=remedy)


@rule("STP062")
def conflicting_scheduler_sources(config: NeoXConfig) -> Iterator[Finding]:
    both = config.argument("override_lr_scheduler") and config.argument("use_checkpoint_lr_scheduler")
    if both and config.derived.optimizer_name != "onebitadam":
        remedy = set_key("use_checkpoint_lr_scheduler", False) | set_key("override_lr_scheduler", False)
        yield excludes(config.setting("use_checkpoint_lr_scheduler"), config.setting("override_lr_scheduler"), remedy)


@rule("STP063")
def null_warmup(config: NeoXConfig) -> Iterator[Finding]:
    if "warmup" in config.values and config.values["warmup"] is None:
        setting = config.setting("warmup")
        yield Finding(setting, "`warmup` is null, not a number", fix=remove(setting, "remove it to use the default"))


@rule("STP064")
def invalid_checkpoint_factor(config: NeoXConfig) -> Iterator[Finding]:
    factor, scale = config.argument("checkpoint_factor"), config.argument("checkpoint_scale")
    if not config.argument("save") or not is_number(factor) or not factor:
        return
    setting = config.setting("checkpoint_factor")
    if scale == "linear" and isinstance(factor, float) and not factor.is_integer():
        text = "AssertionError: checkpoint_factor must be a whole number when using linear checkpoint_scale"
        words = f"`checkpoint_factor` is {factor}; with `checkpoint_scale: linear` it must be an integer"
        remedy = set_key("checkpoint_factor", max(1, round(factor))) if abs(factor) < inf else None
        yield Finding(setting, words, exception=text, help=remedy)
    elif scale == "log" and factor <= 1:
        message = f"`checkpoint_factor` is {factor}; with `checkpoint_scale: log` it must be greater than 1"
        remedy = set_key("checkpoint_factor", 2) | set_key("checkpoint_scale", "linear")
        yield Finding(setting, message, exception="AssertionError", help=remedy)


@rule("NEO076")
def unsupported_preference_training(config: NeoXConfig) -> Iterator[Finding]:
    kind, pipe = config.argument("train_impl"), config.derived.pipe
    if kind not in ("kto", "dpo", "rm"):
        return
    related = (config.setting("train_impl"),)
    if pipe is not None and pipe >= 1:
        text = "AssertionError: Pipeline parallel is currently unsupported when using any of kto, dpo, rm. Set pipe_parallel_size to 0"
        message = f"`pipe_parallel_size: {pipe}` enables the pipeline engine, which `train_impl: {kind}` does not support"
        yield Finding(config.setting("pipe_parallel_size"), message, related=related, exception=text, help=set_key("pipe_parallel_size", 0))
    elif kind == "kto" and config.batch.micro_batch.value == 1 and not elsewhere(config, "train_micro_batch_size_per_gpu"):
        text = "AssertionError: For KTO training, the train_micro_batch_size_per_gpu must be greater than 1."
        micro = config.batch.micro_batch
        message, remedy = f"`{micro.name}` is 1; `train_impl: kto` requires at least 2", f"set `{micro.name}: 2` or more"
        yield Finding(micro, message, related=related, exception=text, help=remedy)


@rule("NEO077")
def noise_scale_with_zero(config: NeoXConfig) -> Iterator[Finding]:
    stage = config.derived.worker_zero_stage
    if config.argument("log_gradient_noise_scale") and stage is not None and stage >= 1:
        setting = config.setting("log_gradient_noise_scale")
        message = f"`log_gradient_noise_scale` is incompatible with ZeRO stage {stage}"
        remedy = set_key("log_gradient_noise_scale", False) | set_key("zero_optimization.stage", 0)
        yield Finding(setting, message, related=(config.setting("zero_optimization", "stage"),), help=remedy)


@rule("NEO078")
def sequence_not_divisible_by_ranks(config: NeoXConfig) -> Iterator[Finding]:
    ranks, length = config.derived.tensor, config.argument("seq_length")
    if config.argument("sequence_parallel") and type(ranks) is int and type(length) is int and length % ranks:
        related = (config.setting("model_parallel_size"),)
        message = f"`seq_length` ({length}) must be a multiple of `model_parallel_size` ({ranks}) with sequence parallelism"
        yield Finding(config.setting("seq_length"), message, related=related, help=set_key("seq_length", -(-length // ranks) * ranks))
