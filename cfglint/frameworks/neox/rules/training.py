"""What every worker refuses before and at its first step: tokenizer, data, optimizer, schedule, saving."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import SKIP, Finding
from cfglint.frameworks.neox.python_errors import describe, number
from cfglint.frameworks.neox.rules import elsewhere, neox_rule, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.neox.config import NeoXConfig

# The files that a tokenizer cannot do without.
FILES = {
    "gpt2bpetokenizer": ("vocab_file", "merge_file"),
    "spmtokenizer": ("vocab_file",),
    "hftokenizer": ("vocab_file",),
    "tiktokentokenizer": ("vocab_file",),
}
FUSED_ADAM = "lr bias_correction betas eps adam_w_mode amsgrad set_grad_none capturable master_weights"
# The keyword arguments of each optimizer beside weight_decay, which GPT-NeoX passes itself. Where two classes may
# stand behind a name, what either of them takes.
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


@neox_rule(
    "NEO070",
    "tokenizer-files",
    ERROR,
    fails_at="init",
    when_partial=SKIP,
    raises="AssertionError",
    bad="{tokenizer_type: HFTokenizer}\n",
    good="{tokenizer_type: HFTokenizer, vocab_file: tokenizer.json}\n",
    at="/tokenizer_type",
)
def tokenizer_files(config: NeoXConfig) -> Iterator[Finding]:
    """The tokenizer's files are not named.

    GPT2BPETokenizer, the default, needs `vocab_file` and `merge_file`; HFTokenizer, SPMTokenizer and
    TiktokenTokenizer need `vocab_file`. The launcher does not look; every worker dies.

    Run-time error: `AssertionError` without a text, in build_tokenizer.

    Fix: name them; they often stand in a file of paths (`local_setup.yml`) that has to be given as well.

    Source: gpt-neox (May 2026) megatron/tokenizer/tokenizer.py:36-62.
    """
    kind = config.argument("tokenizer_type")
    if kind is None:
        yield Finding(config.setting("tokenizer_type"), "`tokenizer_type` is null")
        return
    absent = [name for name in FILES.get(kind.lower() if isinstance(kind, str) else "", ()) if config.argument(name) is None]
    if absent:
        names = " and ".join(f"`{name}`" for name in absent)
        yield Finding(config.setting("tokenizer_type"), f"{kind} needs {names}")


@neox_rule(
    "NEO071",
    "seed-not-positive",
    ERROR,
    fails_at="init",
    bad="{seed: 0}\n",
    good="{seed: 1}\n",
    at="/seed",
)
def seed_not_positive(config: NeoXConfig) -> Iterator[Finding]:
    """The seed is zero, negative or null.

    Run-time error: `ValueError: Seed (0) should be a positive integer.`

    Fix: a whole number from 1 on.

    Source: gpt-neox (May 2026) megatron/initialize.py:216-225.
    """
    seed = config.argument("seed")
    if seed is None or (number(seed) and seed <= 0):
        text = f"ValueError: Seed ({seed}) should be a positive integer."
        yield Finding(config.setting("seed"), f"the seed is {describe(seed)}, and has to be positive", exception=text)


@neox_rule(
    "STP061",
    "training-length",
    ERROR,
    fails_at="init",
    bad="{train_iters: 100, train_epochs: 1}\n",
    good="{train_iters: 100}\n",
    at="/train_epochs",
)
def training_length(config: NeoXConfig) -> Iterator[Finding]:
    """Neither or both of `train_iters` and `train_epochs`, or epochs of data that cannot be counted.

    One of the two is given, and is not 0. Epochs work with packed data of the kind gpt2 only, all data sets
    weighted 1.0.

    Run-time errors: `ValueError: Must specify either train_epochs or train_iters`, `ValueError: Cannot
    specify both train epochs and train iters simultaneously`, `ValueError: Packing implementations other
    than 'packed' are currently unsupported with train_epochs`, `ValueError: train_data_weights != None is
    currently unsupported with train_epochs`, `ValueError: Weighting by number of documents is currently
    unsupported with train_epochs`, `ValueError: non gpt2 datasets are not currently unsupported with
    train_epochs`.

    Fix: `train_iters` alone.

    Source: gpt-neox (May 2026) megatron/data/data_utils.py:482-523.
    """
    steps, epochs = config.argument("train_iters"), config.argument("train_epochs")
    if not steps and not epochs:
        if not elsewhere(config, "train_iters", "train_epochs"):
            text = "ValueError: Must specify either train_epochs or train_iters"
            yield Finding(config.setting("train_iters"), "neither `train_iters` nor `train_epochs` is given", exception=text)
        return
    if epochs is None:
        return
    if steps and epochs:
        text = "ValueError: Cannot specify both train epochs and train iters simultaneously"
        related = (config.setting("train_iters"),)
        yield Finding(config.setting("train_epochs"), "`train_iters` and `train_epochs` are both given", related=related, exception=text)
    yield from _uncountable(config)


def _uncountable(config: NeoXConfig) -> Iterator[Finding]:
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
            message = f"`train_epochs` does not go with `{name}` {describe(config.argument(name))}"
            yield Finding(setting, message, related=(config.setting("train_epochs"),), exception=f"ValueError: {text}")


@neox_rule(
    "NEO072",
    "optimizer-missing",
    ERROR,
    fails_at="init",
    when_partial=SKIP,
    raises="SystemExit: ERROR: Optimizer is None. Either set the optimizer dict in your config (if training) or set no_load_optim "
    "in your config (if inference)",
    bad="{num_layers: 2}\n",
    good="{num_layers: 2, optimizer: {type: Adam, params: {lr: 0.001}}}\n",
)
def optimizer_missing(config: NeoXConfig) -> Iterator[Finding]:
    """There is no `optimizer` section.

    The default that the launcher prints is never built. The workers print a line and leave **with exit
    status 0**.

    Run-time text: `ERROR: Optimizer is None. Either set the optimizer dict in your config (if training) or
    set no_load_optim in your config (if inference)`.

    Fix: write the section, or `no_load_optim: true` for inference.

    Source: gpt-neox (May 2026) megatron/training.py:966-970.
    """
    if config.argument("optimizer") is None and not config.argument("no_load_optim"):
        yield Finding(config.setting("optimizer"), "no `optimizer` is given, and the default is never built")


@neox_rule(
    "NEO073",
    "optimizer-parameter",
    ERROR,
    fails_at="init",
    bad="{optimizer: {type: Adam, params: {lr: 0.001, max_grad_norm: 1.0}}}\n",
    good="{optimizer: {type: Adam, params: {lr: 0.001}}, gradient_clipping: 0.5}\n",
    at="/optimizer/params/max_grad_norm",
)
def optimizer_parameter(config: NeoXConfig) -> Iterator[Finding]:
    """A parameter that the optimizer's class does not take, or that it is given a second time.

    `weight_decay` belongs to the top level: GPT-NeoX passes it itself (0.1 unless written), and a second one
    among the parameters is refused. (SM3 takes none at all.) `max_grad_norm` is no parameter here either.

    Run-time errors: `TypeError: FusedAdam.__init__() got an unexpected keyword argument 'max_grad_norm'`,
    `TypeError: FusedAdam() got multiple values for keyword argument 'weight_decay'`.

    Fix: `weight_decay` on the top level; `gradient_clipping` there instead of `max_grad_norm`.

    Source: gpt-neox (May 2026) megatron/training.py:1001-1110; DeeperSpeed 91d1c55 (0.16.5)
    deepspeed/ops/adam/fused_adam.py, cpu_adam.py, ops/lion/fused_lion.py.
    """
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
            message = f"{config.derived.optimizer_type} takes no parameter `{key}`" + _nearest(str(key), taken)
            yield Finding(config.setting("optimizer", "params", key), message, exception=text, on_key=True)


def _twice(config: NeoXConfig, name: str) -> Iterator[Finding]:
    """`weight_decay` beside the one that GPT-NeoX passes."""
    params = config.derived.optimizer_params
    if "weight_decay" not in params or name == "sm3":
        return
    setting, passed = config.setting("optimizer", "params", "weight_decay"), config.argument("weight_decay")
    text = f"TypeError: {_class(config, name)}() got multiple values for keyword argument 'weight_decay'"
    same = passed == params["weight_decay"]
    yield Finding(
        setting,
        f"`weight_decay` belongs to the top level; GPT-NeoX already passes {passed}",
        exception=text,
        fix=remove(setting, "take it out, for the top level has the same") if same else None,
        on_key=True,
    )


def _class(config: NeoXConfig, name: str) -> str:
    if name == "lion" and config.derived.zero.get("stage") == 0:
        return "Lion"
    return CLASSES[name]


def _nearest(key: str, taken: list[str]) -> str:
    from cfglint.frameworks.schema import distance

    if key == "max_grad_norm":
        return "; `gradient_clipping` on the top level clips"
    near = [name for name in taken if distance(key, name) is not None]
    return f"; did you mean `{near[0]}`?" if near else ""


@neox_rule(
    "NEO074",
    "optimizer-value",
    ERROR,
    fails_at="init",
    bad="{optimizer: {type: sm3, params: {lr: 0.001, momentum: 2.0}}}\n",
    good="{optimizer: {type: sm3, params: {lr: 0.001, momentum: 0.9}}}\n",
    at="/optimizer/params/momentum",
)
def optimizer_value(config: NeoXConfig) -> Iterator[Finding]:
    """A parameter outside the range that the optimizer's class checks.

    SM3, MADGRAD and Lion check their parameters when they are built; FusedAdam refuses `amsgrad`.

    Run-time errors: `ValueError: Invalid momentum: 2.0`, `ValueError: Invalid learning rate: -1`, `ValueError:
    Invalid beta: 1.0`, `RuntimeError: FusedAdam does not support the AMSGrad variant.`

    Fix: a value in the range that the message names.

    Source: gpt-neox (May 2026) megatron/optimizers.py; DeeperSpeed 91d1c55 (0.16.5)
    deepspeed/ops/adam/fused_adam.py:70.
    """
    if config.argument("no_load_optim") or config.argument("optimizer") is None:
        return
    from cfglint.frameworks.neox.optimizers import refused

    for key, message, exception in refused(config.derived):
        yield Finding(config.setting("optimizer", "params", key), message, exception=exception)


@neox_rule(
    "NEO075",
    "mup-optimizer",
    ERROR,
    fails_at="init",
    bad="{use_mup: true, optimizer: {type: lion, params: {lr: 0.001}}}\n",
    good="{use_mup: true, optimizer: {type: adam, params: {lr: 0.001}}}\n",
    at="/optimizer/type",
)
def mup_optimizer(config: NeoXConfig) -> Iterator[Finding]:
    """Maximal update parametrisation with an optimizer other than Adam and SGD.

    Run-time error: `AssertionError: If use_mup == True, you must specify either the adam or sgd optimizers.`

    Fix: `Adam` or `SGD`, or `use_mup: false`.

    Source: gpt-neox (May 2026) megatron/training.py:997-1000.
    """
    if not config.argument("use_mup") or config.argument("no_load_optim") or config.argument("optimizer") is None:
        return
    name = config.derived.optimizer_name
    if name and name not in ("adam", "sgd"):
        text = f"AssertionError: If use_mup == True, you must specify either the adam or sgd optimizers. You passed: {name}"
        setting = config.setting("optimizer", "type")
        yield Finding(setting, f"muP does not go with {name}", related=(config.setting("use_mup"),), exception=text)


@neox_rule(
    "STP062",
    "scheduler-overridden-and-restored",
    ERROR,
    fails_at="init",
    raises="AssertionError: both override and use-checkpoint are set.",
    bad="{override_lr_scheduler: true, use_checkpoint_lr_scheduler: true}\n",
    good="{override_lr_scheduler: true}\n",
    at="/use_checkpoint_lr_scheduler",
)
def scheduler_overridden_and_restored(config: NeoXConfig) -> Iterator[Finding]:
    """The learning-rate schedule is to be taken from the checkpoint and to be overridden.

    Run-time error: `AssertionError: both override and use-checkpoint are set.`

    Fix: keep one of the two.

    Source: gpt-neox (May 2026) megatron/learning_rates.py:52-57.
    """
    both = config.argument("override_lr_scheduler") and config.argument("use_checkpoint_lr_scheduler")
    if both and config.derived.optimizer_name != "onebitadam":
        related = (config.setting("override_lr_scheduler"),)
        setting = config.setting("use_checkpoint_lr_scheduler")
        yield Finding(setting, "the schedule is both restored and overridden", related=related)


@neox_rule(
    "STP063",
    "warmup-null",
    ERROR,
    fails_at="init",
    raises="TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'",
    bad="{warmup: null}\n",
    good="{warmup: 0.01}\n",
    fixed="{}\n",
    at="/warmup",
)
def warmup_null(config: NeoXConfig) -> Iterator[Finding]:
    """`warmup` is null, and the schedule multiplies it.

    Run-time error: `TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'`.

    Fix: 0 for no warm-up; left out, it is 0.01 of the decay.

    Source: gpt-neox (May 2026) megatron/training.py:1126.
    """
    if "warmup" in config.values and config.values["warmup"] is None:
        setting = config.setting("warmup")
        yield Finding(setting, "`warmup` is null", fix=remove(setting, "leave it out, for its default"))


@neox_rule(
    "STP064",
    "checkpoint-factor",
    ERROR,
    fails_at="first-step",
    bad="{save: out, checkpoint_factor: 0.5}\n",
    good="{save: out, checkpoint_factor: 2}\n",
    at="/checkpoint_factor",
)
def checkpoint_factor(config: NeoXConfig) -> Iterator[Finding]:
    """`checkpoint_factor` does not go with `checkpoint_scale`.

    On the linear scale it is a number of steps, and whole; on the logarithmic one a factor above 1. It is
    looked at after the first step.

    Run-time errors: `AssertionError: checkpoint_factor must be a whole number when using linear
    checkpoint_scale`, `AssertionError` without a text.

    Fix: 1000 saves every thousand steps on the linear scale; 2 doubles the distance on the logarithmic one.

    Source: gpt-neox (May 2026) megatron/training.py:1408-1428.
    """
    factor, scale = config.argument("checkpoint_factor"), config.argument("checkpoint_scale")
    if not config.argument("save") or not number(factor) or not factor:
        return
    setting = config.setting("checkpoint_factor")
    if scale == "linear" and isinstance(factor, float) and not factor.is_integer():
        text = "AssertionError: checkpoint_factor must be a whole number when using linear checkpoint_scale"
        yield Finding(setting, f"{factor} is no whole number of steps", exception=text)
    elif scale == "log" and factor <= 1:
        yield Finding(setting, f"the factor of the logarithmic scale is above 1, not {factor}", exception="AssertionError")


@neox_rule(
    "NEO076",
    "preference-training",
    ERROR,
    fails_at="first-step",
    bad="{train_impl: dpo, pipe_parallel_size: 1}\n",
    good="{train_impl: dpo, pipe_parallel_size: 0}\n",
    at="/pipe_parallel_size",
)
def preference_training(config: NeoXConfig) -> Iterator[Finding]:
    """KTO, DPO and reward-model training with a pipeline, or KTO one sample at a time.

    Any `pipe_parallel_size` from 1 on is a pipeline. KTO compares the samples of a micro batch with each
    other, so it needs two.

    Run-time errors: `AssertionError: Pipeline parallel is currently unsupported when using any of kto, dpo,
    rm. Set pipe_parallel_size to 0`, `AssertionError: For KTO training, the train_micro_batch_size_per_gpu
    must be greater than 1.`

    Fix: `pipe_parallel_size: 0`, and a micro batch of 2 or more for KTO.

    Source: gpt-neox (May 2026) megatron/training.py:416-419, 484-489.
    """
    kind, pipe = config.argument("train_impl"), config.derived.pipe
    if kind not in ("kto", "dpo", "rm"):
        return
    related = (config.setting("train_impl"),)
    if pipe is not None and pipe >= 1:
        text = "AssertionError: Pipeline parallel is currently unsupported when using any of kto, dpo, rm. Set pipe_parallel_size to 0"
        message = f"{kind} does not go with the pipeline engine, which {pipe} switches on; off is 0"
        yield Finding(config.setting("pipe_parallel_size"), message, related=related, exception=text)
    elif kind == "kto" and config.batch.micro_batch.value == 1 and not elsewhere(config, "train_micro_batch_size_per_gpu"):
        text = "AssertionError: For KTO training, the train_micro_batch_size_per_gpu must be greater than 1."
        yield Finding(config.batch.micro_batch, "KTO needs a micro batch of 2 or more", related=related, exception=text)


@neox_rule(
    "NEO077",
    "noise-scale-with-zero",
    ERROR,
    fails_at="init",
    raises="NotImplementedError: Gradient Noise Scale logging does not work with zero stage 2+, as the gradients are distributed "
    "across ranks.",
    bad="{log_gradient_noise_scale: true, zero_optimization: {stage: 1}}\n",
    good="{log_gradient_noise_scale: true, zero_optimization: {stage: 0}}\n",
    at="/log_gradient_noise_scale",
)
def noise_scale_with_zero(config: NeoXConfig) -> Iterator[Finding]:
    """The gradient noise scale is to be logged under ZeRO.

    The text of the error speaks of stage 2 and up; the check begins with stage 1.

    Run-time error: `NotImplementedError: Gradient Noise Scale logging does not work with zero stage 2+, as the
    gradients are distributed across ranks.`

    Fix: take `log_gradient_noise_scale` out, or train with stage 0.

    Source: gpt-neox (May 2026) megatron/utils.py:381-389.
    """
    stage = config.derived.worker_zero_stage
    if config.argument("log_gradient_noise_scale") and stage is not None and stage >= 1:
        setting = config.setting("log_gradient_noise_scale")
        yield Finding(
            setting, f"the noise scale cannot be logged under ZeRO {stage}", related=(config.setting("zero_optimization", "stage"),)
        )


@neox_rule(
    "NEO078",
    "sequence-over-ranks",
    ERROR,
    fails_at="first-step",
    raises="AssertionError",
    bad="{sequence_parallel: true, model_parallel_size: 2, seq_length: 127}\n",
    good="{sequence_parallel: true, model_parallel_size: 2, seq_length: 128}\n",
    at="/seq_length",
)
def sequence_over_ranks(config: NeoXConfig) -> Iterator[Finding]:
    """`seq_length` does not divide over the ranks of sequence parallelism.

    Sequence parallelism cuts each sequence into as many parts as there are model-parallel ranks.

    Run-time error: `AssertionError` without a text.

    Fix: a multiple of `model_parallel_size`.

    Source: gpt-neox (May 2026) megatron/mpu/mappings.py:193-205.
    """
    ranks, length = config.derived.tensor, config.argument("seq_length")
    if config.argument("sequence_parallel") and type(ranks) is int and type(length) is int and length % ranks:
        related = (config.setting("model_parallel_size"),)
        yield Finding(config.setting("seq_length"), f"sequences of {length} do not divide over {ranks} ranks", related=related)
