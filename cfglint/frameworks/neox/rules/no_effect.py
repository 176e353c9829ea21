"""Rules about values that GPT-NeoX silently ignores or overrides: precision, gradient clipping, unused keys."""

from __future__ import annotations

from cfglint.findings.rule import VALUE, Finding, warning
from cfglint.findings.setting import Setting
from cfglint.findings.wording import counted, spelled
from cfglint.frameworks.neox._tables import UNUSED
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.derive import COPIES
from cfglint.frameworks.neox.fields import choices, default, known
from cfglint.frameworks.neox.rules import RUN
from cfglint.frameworks.remedies import insert, remove, rename, replace
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.numbers import is_number

# Common spellings of a precision, with the one that works.
PRECISIONS = {
    "bf16": "bfloat16",
    "bfloat": "bfloat16",
    "bfloat16": "bfloat16",
    "torch.bfloat16": "bfloat16",
    "fp16": "fp16",
    "float16": "fp16",
    "half": "fp16",
    "16": "fp16",
}
# The consequence of a name in another case, for the arguments where the code that uses them does not raise.
CASE_EFFECTS = {
    "lr_decay_style": "the learning rate stays constant after the warm-up",
    "checkpoint_scale": "no checkpoint is saved before the end",
    "pos_emb": "this position embedding is not used",
    "train_impl": "this loss is not used",
    "pack_impl": "this packing is not used",
    "dataset_impl": "the data is read as gpt2",
    "data_impl": "this data format is not used",
    "kl_impl": "this divergence is not used",
}
# Arguments that GPT-NeoX computes, and their sources; a written value is overwritten.
COMPUTED = {
    "lr": "`optimizer.params.lr`",
    "optimizer_type": "`optimizer.type`",
    "zero_stage": "`zero_optimization.stage`",
    **{name: f"`zero_optimization.{key}`" for name, key in COPIES.items()},
    "clip_grad": "`gradient_clipping`",
    "batch_size": "`train_micro_batch_size_per_gpu`",
    "dynamic_loss_scale": "GPT-NeoX: it is true without `loss_scale`",
    "config_files": "the names of the files that are passed",
    "user_script": "the command line",
    "rank": "the launcher",
    "local_rank": "the launcher",
    "world_size": "the launcher",
    "padded_vocab_size": "the tokenizer",
    "do_train": "the data",
    "do_valid": "the data",
    "do_test": "the data",
}
FP16_KEYS = frozenset(
    """
    enabled type fp16 auto_cast loss_scale initial_scale_power loss_scale_window hysteresis consecutive_hysteresis min_loss_scale
    fp16_master_weights_and_grads
    """.split()
)
NORMS_WITHOUT_BIAS = ("rmsnorm", "te_rmsnorm", "scalenorm", "non_parametric_layernorm")  # megatron/model/norms.py
NUMBERED = frozenset("0123456789+-.eE")


@warning(
    "PRC303",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:982-1011",
    old_names=("precision-becomes-fp32",),
    bad="{precision: bf16, zero_optimization: {stage: 1}}\n",
    good="{precision: bfloat16, zero_optimization: {stage: 1}}\n",
    example={**RUN, "at": "/precision"},
)
def precision_falls_back_to_fp32(config: NeoXConfig) -> Iterator[Finding]:
    """A `precision` other than `fp16` and `bfloat16` silently trains in fp32.

    The two are compared exactly; anything else (`bf16`, `FP16`, `float16`, `BFloat16`) is overwritten with fp32
    before its value is checked. Memory use doubles, and no warning is printed.

    Fix: use `bfloat16` or `fp16`. The fix changes the training, so it requires `--unsafe-fixes`.
    """
    value = config.argument("precision")
    if value is None or value == "fp32" or config.derived.precision != "fp32":
        return
    setting, valid = config.setting("precision"), PRECISIONS.get(str(value).lower())
    text = f"; did you mean {valid}?" if valid else ""
    fix = replace(setting, valid, f"change to {valid}", safe=False) if valid else None
    yield Finding(setting, f"`precision` is {spelled(value)}, which trains in fp32: only fp16 and bfloat16 are valid{text}", fix=fix)


@warning(
    "PRC304",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:967-997",
    old_names=("section-of-another-precision",),
    bad=(
        "{fp16: {enabled: true, type: bfloat16}}\n",
        "{precision: bfloat16, bf16: {enabled: false}, zero_optimization: {stage: 0}}\n",
    ),
    good="{precision: bfloat16, zero_optimization: {stage: 1}}\n",
    example={**RUN, "at": "/fp16/type"},
)
def ignored_precision_section(config: NeoXConfig) -> Iterator[Finding]:
    """A precision section is ignored or contradicts `precision`.

    `type` inside the `fp16` section is ignored: `fp16: {enabled: true, type: bfloat16}`, as in older
    files, trains in fp16. And `bf16: {enabled: false}` together with `precision: bfloat16` disables bfloat16 in DeepSpeed,
    while the model uses it.
    """
    named = PRECISIONS.get(str(config.get("fp16", "type")).lower())
    if named == "bfloat16" and config.derived.precision == "fp16":
        yield Finding(
            config.setting("fp16", "type"),
            "`fp16.type` is ignored: the run uses fp16, not bfloat16",
            help=to_bfloat16(config),
        )
    section = config.argument("bf16")
    if isinstance(section, dict) and section and not section.get("enabled") and config.derived.precision == "bfloat16":
        message = "`bf16.enabled` is not true, but `precision` is bfloat16: the model uses bfloat16, DeepSpeed does not"
        yield Finding(
            config.setting("bf16", "enabled"),
            message,
            related=(config.setting("precision"),),
            help="set `bf16.enabled: true`, or remove `bf16`",
        )


def to_bfloat16(config: NeoXConfig) -> str:
    """The instruction to train in bfloat16, which needs a ZeRO section."""
    section = "" if "zero_optimization" in config.values else " and `zero_optimization: {stage: 0}`"
    return f"set `precision: bfloat16`{section}, and remove `fp16`"


@warning(
    "PRC305",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:720-727; DeeperSpeed 91d1c55 (0.16.5) "
    "deepspeed/runtime/constants.py:215",
    old_names=("clipping-dropped",),
    bad="{gradient_clipping: 1.0}\n",
    good="{gradient_clipping: 1.0, deepspeed_extra_args: {gradient_clipping: 1.0}}\n",
    example={**RUN, "at": "/gradient_clipping"},
)
def disabled_gradient_clipping(config: NeoXConfig) -> Iterator[Finding]:
    """`gradient_clipping: 1.0` does not clip.

    1.0 is GPT-NeoX's own default, and GPT-NeoX omits default values from the config that it passes to DeepSpeed.
    The pinned DeepSpeed's default is 0: no clipping. Any other value works. (DeepSpeed 0.19.8 has the default 1.0,
    so the effect depends on the installed release; see gpt-neox issue 1432.)

    Fix: set `deepspeed_extra_args: {gradient_clipping: 1.0}`, which is passed to DeepSpeed.
    """
    value = config.argument("gradient_clipping")
    if "gradient_clipping" in config.values and is_number(value) and value == 1 and "gradient_clipping" not in config.derived.extra:
        setting, title = config.setting("gradient_clipping"), "set it in `deepspeed_extra_args` too"
        fix = None
        if "deepspeed_extra_args" not in config.values:
            fix = insert(config, ("deepspeed_extra_args",), {"gradient_clipping": 1.0}, title, safe=False)
        message = f"`gradient_clipping` is {setting.spelled}, but gradients are not clipped"
        note = "it is GPT-NeoX's default, and only other values are passed to DeepSpeed, whose default is 0 (no clipping)"
        yield Finding(setting, message, fix=fix, note=note)


@warning(
    "KEY301",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:948-964, 1013-1058, 1080-1085, 812-816",
    about=VALUE,
    old_names=("computed-argument",),
    bad="{lr: 0.0006, optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    fixed="{optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    example={**RUN, "at": "/lr"},
)
def overwritten_argument(config: NeoXConfig) -> Iterator[Finding]:
    """An argument is computed by GPT-NeoX, which overwrites the written value.

    `lr` is copied from the optimizer, `zero_stage` and similar ones from `zero_optimization`, `clip_grad` from
    `gradient_clipping`, `batch_size` is the micro batch size; ranks and sizes are set by the launcher.

    Fix: set the source instead, and remove this key.
    """
    for name, source in COMPUTED.items():
        if name not in config.values:
            continue
        value, real = config.values[name], _computed(config, name)
        if value is None or (real is not None and _same(value, real)):
            continue
        setting = config.setting(name)
        instead = f" ({spelled(real)})" if real is not None else ""
        fix = remove(setting, f"remove `{name}`")
        yield Finding(setting, f"`{name}` is overwritten by {source}{instead}", fix=fix, on_key=True)


def _computed(config: NeoXConfig, name: str) -> ConfigValue:
    """The final value of a computed argument, if the files determine it."""
    derived = config.derived
    if name in COPIES:
        return derived.zero.get(COPIES[name], default(name))
    values = {
        "lr": derived.lr,
        "optimizer_type": derived.optimizer_type,
        "zero_stage": derived.zero_stage,
        "clip_grad": config.argument("gradient_clipping"),
        "batch_size": config.batch.micro_batch.value,
    }
    return values.get(name)


def _same(one: object, other: object) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    return bool(one == other)


@warning(
    "KEY302",
    source="gpt-neox (May 2026), a search of the entire tree for the names",
    about=VALUE,
    old_names=("argument-without-reader",),
    bad="{no_save_optim: true}\n",
    good="{save: checkpoints, checkpoint_factor: 100}\n",
    fixed="{}\n",
    example={**RUN, "at": "/no_save_optim"},
)
def unused_argument(config: NeoXConfig) -> Iterator[Finding]:
    """An argument is unused: setting it has no effect.

    The dataclass still has it, but no code outside the argument classes uses it. Loss scaling for fp16,
    for example, is set inside the `fp16` section.
    """
    for name in config.values:
        if name not in UNUSED or name in COMPUTED or already_true(config, name):
            continue
        value = config.values[name]
        if value is not None and value != default(name):
            setting = config.setting(name)
            inside = "; set it in the `fp16` section" if name in FP16_KEYS or name == "min_scale" else ""
            yield Finding(setting, f"`{name}` is unused{inside}", fix=remove(setting, f"remove `{name}`"), on_key=True)


def already_true(config: NeoXConfig, name: str) -> bool:
    """Whether the model already has the property that an unused argument requests: no biases in norms that have none."""
    return name == "use_bias_in_norms" and config.argument("norm") in NORMS_WITHOUT_BIAS


@warning(
    "KEY304",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:498-536, 725-727",
    about=VALUE,
    bad="{steps_per_print: 10, deepspeed_extra_args: {steps_per_print: 100}}\n",
    good="{steps_per_print: 10, deepspeed_extra_args: {zero_allow_untested_optimizer: true}}\n",
    example={**RUN, "at": "/deepspeed_extra_args/steps_per_print"},
)
def extra_args_override(config: NeoXConfig) -> Iterator[Finding]:
    """A key of `deepspeed_extra_args` silently overrides the argument of the same name.

    The extra arguments are merged into DeepSpeed's config last; the check that should reject
    such a key never fires. GPT-NeoX itself keeps using the other value: with `zero_optimization` the launcher
    checks one stage and the workers train with another.
    """
    for key, value in config.derived.extra.items():
        if key in config.values and config.values[key] != value and known(str(key)):
            related = (config.setting(key),)
            message = f"`deepspeed_extra_args.{key}` silently overrides `{key}` ({related[0].place}) in DeepSpeed's config"
            yield Finding(
                config.setting("deepspeed_extra_args", key),
                message,
                related=related,
                on_key=True,
                help=f"remove `deepspeed_extra_args.{key}`, or remove `{key}`",
            )


@warning(
    "KEY305",
    source="DeeperSpeed 91d1c55 (0.16.5) deepspeed/runtime/config.py:137-250",
    about=VALUE,
    old_names=("unread-precision-key",),
    bad="{fp16: {enabled: true, loss-scale: 0}}\n",
    good="{fp16: {enabled: true, loss_scale: 0}}\n",
    example={**RUN, "at": "/fp16/loss-scale"},
)
def ignored_precision_key(config: NeoXConfig) -> Iterator[Finding]:
    """An unknown key of the `fp16` section is ignored by the pinned DeepSpeed.

    DeepSpeed reads the keys by name and ignores the rest. Dashes matter: they are converted to underscores at the top
    level of a file only.
    """
    from cfglint.frameworks.similar_keys import distance

    section = config.argument("fp16")
    for key in section if isinstance(section, dict) else ():
        if key in FP16_KEYS or config.derived.precision != "fp16":
            continue
        near = [name for name in sorted(FP16_KEYS) if distance(str(key), name) in (0, 1)]
        setting = config.setting("fp16", key)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        fix = rename(setting, near[0], f"rename to `{near[0]}`", safe=False) if near and near[0] not in section else None
        yield Finding(setting, f"unknown key `{key}` in `fp16` is ignored{hint}", fix=fix, on_key=True)


@warning(
    "KEY306",
    source="gpt-neox (May 2026) megatron/training.py:913, megatron/neox_arguments/neox_args.py:467",
    about=VALUE,
    old_names=("soft-prompt-length",),
    bad="{soft_prompt_tuning: {enabled: true, num_tokens: 20}}\n",
    good="{soft_prompt_tuning: {enabled: true, n_tokens: 20}}\n",
    example={**RUN, "at": "/soft_prompt_tuning/num_tokens"},
)
def ignored_soft_prompt_length(config: NeoXConfig) -> Iterator[Finding]:
    """`soft_prompt_tuning.num_tokens` is documented, but the code uses `n_tokens`.

    The code reads `n_tokens`, with the default 10.

    Fix: rename it to `n_tokens`. This changes the training.
    """
    section = config.argument("soft_prompt_tuning")
    if isinstance(section, dict) and "num_tokens" in section and "n_tokens" not in section:
        setting = config.setting("soft_prompt_tuning", "num_tokens")
        yield Finding(
            setting,
            "`soft_prompt_tuning.num_tokens` is ignored: the code uses `n_tokens`, which is not set (default 10)",
            fix=rename(setting, "n_tokens", "rename to `n_tokens`", safe=False),
            on_key=True,
        )


@warning(
    "TYP303",
    source="PyYAML 6.0.3 resolver.py:170 (the float pattern); gpt-neox (May 2026) megatron/neox_arguments/arguments.py:242",
    about=VALUE,
    old_names=("number-read-as-text",),
    bad="{optimizer: {type: Adam, params: {lr: 0.001, eps: 1e-8}}}\n",
    good="{optimizer: {type: Adam, params: {lr: 0.001, eps: 1.0e-8}}}\n",
    example={**RUN, "at": "/optimizer/params/eps"},
)
def number_parsed_as_string(config: NeoXConfig) -> Iterator[Finding]:
    """A number inside a section is parsed as a string by YAML 1.1.

    A float requires a decimal point and a signed exponent: `1e-8`, `1.0e8` and `5e8` are strings. At top level the type
    check rejects them; inside a section they are passed to the code that uses them, which fails later: the optimizer
    at its first step.

    Fix: write `1.0e-8`.
    """
    from cfglint.frameworks.neox.rules.deepspeed_engine import STRICT_SECTIONS

    for name, value in config.values.items():
        if isinstance(value, (dict, list)) and name not in STRICT_SECTIONS:
            for path, text in _strings(value, (name,)):
                if not looks_numeric(text):
                    continue
                setting = config.setting(*path)
                if setting.node is not None and not setting.node.style and not _checked(path):
                    fix = replace(setting, float(text), "write it as a YAML 1.1 number")
                    message = f"`{setting.name}` is the string {spelled(text)}: YAML 1.1 requires a decimal point and a signed exponent"
                    yield Finding(setting, message, fix=fix)


def _checked(path: tuple[str | int, ...]) -> bool:
    """Whether the type check covers this place, so that an error is already reported."""
    return path in (("optimizer", "params", "lr"), ("optimizer", "type"))


def _strings(value: ConfigValue, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """(path, string) of every string inside mappings and lists."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if isinstance(inner, str):
            yield (*path, key), inner
        elif isinstance(inner, (dict, list)) and len(path) < 20:
            yield from _strings(inner, (*path, key))


def looks_numeric(text: str) -> bool:
    """Whether a string looks like a number with an exponent but is a string in YAML 1.1."""
    if not text or not NUMBERED.issuperset(text) or "e" not in text.lower():
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


@warning(
    "TYP304",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1389-1395, megatron/learning_rates.py:73-88, "
    "megatron/training.py:1413-1428",
    about=VALUE,
    old_names=("name-falls-through",),
    bad="{lr_decay_style: Cosine}\n",
    good="{lr_decay_style: cosine}\n",
    example={**RUN, "at": "/lr_decay_style"},
)
def ignored_case_sensitive_name(config: NeoXConfig) -> Iterator[Finding]:
    """A name differs from the valid one in case; it passes the check, but has no effect.

    The check of allowed values ignores case; the code that uses the value is case-sensitive and falls back to
    its last branch: `lr_decay_style: Cosine` is a constant learning rate, `checkpoint_scale: LOG` saves
    nothing before the end, `pos_emb: Rotary` is not a rotary embedding.

    Fix: use lower case. This changes the training.
    """
    for name, effect in CASE_EFFECTS.items():
        value = config.values.get(name)
        allowed = choices(name) if isinstance(value, str) else []
        if isinstance(value, str) and value not in allowed and value.lower() in allowed:
            setting, lowered = config.setting(name), value.lower()
            fix = replace(setting, lowered, f"change to {lowered}", safe=False)
            yield Finding(setting, f"`{name}` is {value}, which is not recognized: {effect}", fix=fix)


@warning(
    "NEO100",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:892-909",
    bad="{num_gpus: 4, train_micro_batch_size_per_gpu: 4}\n",
    good="{num_gpus: 8, train_micro_batch_size_per_gpu: 4}\n",
    example={**RUN, "at": "/num_gpus"},
)
def num_gpus_ignored(config: NeoXConfig) -> Iterator[Finding]:
    """`num_gpus` without a hostfile is used by the launcher, but not for the batch size.

    The batch size is computed for all GPUs of the launching machine, while the launcher starts
    `num_gpus` processes; the batch-size check in the workers then fails.
    """
    count, gpus = config.argument("num_gpus"), config.facts.gpus
    alone = config.argument("hostfile") is None and config.argument("global_num_gpus") is None
    if alone and gpus is not None and is_number(count) and count > 0 and count != gpus:
        message = f"`num_gpus` is {count}, but without a hostfile the batch size is computed for {counted(gpus, 'GPU')}"
        remedy = f"set `global_num_gpus: {count}`, or limit the visible GPUs (CUDA_VISIBLE_DEVICES)"
        yield Finding(config.setting("num_gpus"), message, help=remedy)


@warning(
    "NEO101",
    source="gpt-neox (May 2026) megatron/training.py:1002-1008",
    bad="{optimizer: {type: cpu_torch_adam, params: {lr: 0.001}}}\n",
    good="{optimizer: {type: cpu_adam, params: {lr: 0.001}}}\n",
    example={**RUN, "at": "/optimizer/type"},
)
def cpu_torch_adam(config: NeoXConfig) -> Iterator[Finding]:
    """`cpu_torch_adam` selects DeepSpeed's CPU Adam, not PyTorch's.

    The code compares the entire section, a mapping, with the name, which is never equal.

    Fix: use `cpu_adam`, which has the same effect.
    """
    if config.derived.optimizer_name == "cpu_torch_adam":
        setting: Setting = config.setting("optimizer", "type")
        message = "`optimizer.type: cpu_torch_adam` selects DeepSpeed's CPU Adam, not PyTorch's"
        yield Finding(setting, message, fix=replace(setting, "cpu_adam", "change to cpu_adam"))
