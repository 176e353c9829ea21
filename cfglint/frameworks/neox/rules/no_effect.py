"""Rules about values that GPT-NeoX silently ignores, overrides or uses differently: precision, clipping, steps, unused keys."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.findings.wording import counted, spelled
from cfglint.frameworks.neox._tables import FIELDS, UNUSED
from cfglint.frameworks.neox.config import COPIES, NeoXConfig
from cfglint.frameworks.neox.fields import choices, default, describe
from cfglint.frameworks.neox.rules import leaves
from cfglint.frameworks.neox.rules.deepspeed_engine import STRICT_SECTIONS
from cfglint.frameworks.neox.steps import decay_steps, total_steps, warmup
from cfglint.frameworks.remedies import insert, raised_by, remove, rename, replace
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number
from cfglint.source.similar_keys import distance

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
CHECKED = (("optimizer", "params", "lr"), ("optimizer", "type"))  # by the type check, so that an error is already reported
NUMBERED = frozenset("0123456789+-.eE")


@rule("PRC303")
def precision_falls_back_to_fp32(config: NeoXConfig) -> Iterator[Finding]:
    value = config.argument("precision")
    if value is None or value == "fp32" or config.derived.precision != "fp32":
        return
    setting, valid = config.setting("precision"), PRECISIONS.get(str(value).lower())
    text = f"; did you mean {valid}?" if valid else ""
    fix = replace(setting, valid, f"change to {valid}", safe=False) if valid else None
    yield Finding(setting, f"`precision` is {spelled(value)}, which trains in fp32: only fp16 and bfloat16 are valid{text}", fix=fix)


@rule("PRC304")
def ignored_precision_section(config: NeoXConfig) -> Iterator[Finding]:
    named = PRECISIONS.get(str(config.get("fp16", "type")).lower())
    if named == "bfloat16" and config.derived.precision == "fp16":
        remedy = set_key("precision", "bfloat16")
        if "zero_optimization" not in config.values:  # which bfloat16 needs
            remedy &= set_key("zero_optimization", {"stage": 0})
        message = "`fp16.type` is ignored: the run uses fp16, not bfloat16"
        yield Finding(config.setting("fp16", "type"), message, help=remedy & remove_key("fp16"))
    section = config.argument("bf16")
    if isinstance(section, dict) and section and not section.get("enabled") and config.derived.precision == "bfloat16":
        message = "`bf16.enabled` is not true, but `precision` is bfloat16: the model uses bfloat16, DeepSpeed does not"
        remedy = set_key("bf16.enabled", True) | remove_key("bf16")
        yield Finding(config.setting("bf16", "enabled"), message, related=(config.setting("precision"),), help=remedy)


@rule("PRC305")
def disabled_gradient_clipping(config: NeoXConfig) -> Iterator[Finding]:
    value = config.argument("gradient_clipping")
    if "gradient_clipping" in config.values and is_number(value) and value == 1 and "gradient_clipping" not in config.derived.extra:
        setting, title = config.setting("gradient_clipping"), "set it in `deepspeed_extra_args` too"
        fix = None
        if "deepspeed_extra_args" not in config.values:
            fix = insert(config, ("deepspeed_extra_args",), {"gradient_clipping": 1.0}, title, safe=False)
        message = f"`gradient_clipping` is {setting.spelled}, but gradients are not clipped"
        note = "it is GPT-NeoX's default, and only other values are passed to DeepSpeed, whose default is 0 (no clipping)"
        yield Finding(setting, message, fix=fix, note=note)


@rule("KEY301")
def overwritten_argument(config: NeoXConfig) -> Iterator[Finding]:
    derived = config.derived
    for name, source in COMPUTED.items():
        if name not in config.values:
            continue
        finals = {  # as far as the files determine them
            "lr": derived.lr,
            "optimizer_type": derived.optimizer_type,
            "zero_stage": derived.zero_stage,
            "clip_grad": config.argument("gradient_clipping"),
            "batch_size": config.batch.micro_batch.value,
        }
        value, real = config.values[name], derived.zero.get(COPIES[name], default(name)) if name in COPIES else finals.get(name)
        is_same = value.lower() == real.lower() if isinstance(value, str) and isinstance(real, str) else value == real
        if value is None or (real is not None and is_same):
            continue
        setting = config.setting(name)
        instead = f" ({spelled(real)})" if real is not None else ""
        fix = remove(setting, f"remove `{name}`")
        yield Finding(setting, f"`{name}` is overwritten by {source}{instead}", fix=fix, on_key=True)


@rule("KEY302")
def unused_argument(config: NeoXConfig) -> Iterator[Finding]:
    for name in config.values:
        without_bias = name == "use_bias_in_norms" and config.argument("norm") in NORMS_WITHOUT_BIAS  # as requested
        if name not in UNUSED or name in COMPUTED or without_bias:
            continue
        value = config.values[name]
        if value is not None and value != default(name):
            setting = config.setting(name)
            inside = "; set it in the `fp16` section" if name in FP16_KEYS or name == "min_scale" else ""
            yield Finding(setting, f"`{name}` is unused{inside}", fix=remove(setting, f"remove `{name}`"), on_key=True)


@rule("KEY304")
def extra_args_override(config: NeoXConfig) -> Iterator[Finding]:
    for key, value in config.derived.extra.items():
        if key in config.values and config.values[key] != value and str(key) in FIELDS:
            related = (config.setting(key),)
            message = f"`deepspeed_extra_args.{key}` silently overrides `{key}` ({related[0].place}) in DeepSpeed's config"
            remedy = remove_key(f"deepspeed_extra_args.{key}") | remove_key(key)
            yield Finding(config.setting("deepspeed_extra_args", key), message, related=related, on_key=True, help=remedy)


@rule("KEY305")
def ignored_precision_key(config: NeoXConfig) -> Iterator[Finding]:
    section = config.argument("fp16")
    for key in section if isinstance(section, dict) else ():
        if key in FP16_KEYS or config.derived.precision != "fp16":
            continue
        near = [name for name in sorted(FP16_KEYS) if distance(str(key), name) in (0, 1)]
        setting = config.setting("fp16", key)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        fix = rename(setting, near[0], f"rename to `{near[0]}`", safe=False) if near and near[0] not in section else None
        yield Finding(setting, f"unknown key `{key}` in `fp16` is ignored{hint}", fix=fix, on_key=True)


@rule("KEY306")
def ignored_soft_prompt_length(config: NeoXConfig) -> Iterator[Finding]:
    section = config.argument("soft_prompt_tuning")
    if isinstance(section, dict) and "num_tokens" in section and "n_tokens" not in section:
        setting = config.setting("soft_prompt_tuning", "num_tokens")
        message = "`soft_prompt_tuning.num_tokens` is ignored: the code uses `n_tokens`, which is not set (default 10)"
        yield Finding(setting, message, fix=rename(setting, "n_tokens", "rename to `n_tokens`", safe=False), on_key=True)


@rule("TYP303")
def number_parsed_as_string(config: NeoXConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        if isinstance(value, (dict, list)) and name not in STRICT_SECTIONS:
            for path, text in leaves(value, (name,)):
                is_text = isinstance(text, str) and NUMBERED.issuperset(text) and "e" in text.lower()
                if not is_text or raised_by(float, text):
                    continue
                setting = config.setting(*path)
                if setting.node is not None and not setting.node.style and path not in CHECKED:
                    fix = replace(setting, float(text), "write it as a YAML 1.1 number")
                    message = f"`{setting.name}` is the string {spelled(text)}: YAML 1.1 requires a decimal point and a signed exponent"
                    yield Finding(setting, message, fix=fix)


@rule("TYP304")
def ignored_case_sensitive_name(config: NeoXConfig) -> Iterator[Finding]:
    for name, effect in CASE_EFFECTS.items():
        value = config.values.get(name)
        allowed = choices(name) if isinstance(value, str) else []
        if isinstance(value, str) and value not in allowed and value.lower() in allowed:
            setting, lowered = config.setting(name), value.lower()
            fix = replace(setting, lowered, f"change to {lowered}", safe=False)
            yield Finding(setting, f"`{name}` is {value}, which is not recognized: {effect}", fix=fix)


@rule("NEO100")
def num_gpus_ignored(config: NeoXConfig) -> Iterator[Finding]:
    count, gpus = config.argument("num_gpus"), config.facts.gpus
    alone = config.argument("hostfile") is None and config.argument("global_num_gpus") is None
    if alone and gpus is not None and is_number(count) and count > 0 and count != gpus:
        message = f"`num_gpus` is {count}, but without a hostfile the batch size is computed for {counted(gpus, 'GPU')}"
        remedy = set_key("global_num_gpus", count) | "limit the visible GPUs (CUDA_VISIBLE_DEVICES)"
        yield Finding(config.setting("num_gpus"), message, help=remedy)


@rule("NEO101")
def cpu_torch_adam(config: NeoXConfig) -> Iterator[Finding]:
    if config.derived.optimizer_name == "cpu_torch_adam":
        setting: Setting = config.setting("optimizer", "type")
        message = "`optimizer.type: cpu_torch_adam` selects DeepSpeed's CPU Adam, not PyTorch's"
        yield Finding(setting, message, fix=replace(setting, "cpu_adam", "change to cpu_adam"))


# Arguments that the workers divide by, and when; the launcher accepts null and 0.
DIVISORS = {
    "eval_interval": "when the data sets are built",
    "checkpoint_num_layers": "when the workers start",
    "log_interval": "when they log",
}


@rule("STP065")
def learning_rate_rises_after_decay(config: NeoXConfig) -> Iterator[Finding]:
    decay, total = decay_steps(config), total_steps(config)
    if config.argument("lr_decay_style") != "cosine" or decay is None or total is None or decay >= total:
        return
    name = "lr_decay_iters" if config.argument("lr_decay_iters") is not None else "lr_decay_fraction"
    setting = config.setting(name)
    related = (config.setting("train_iters"),)
    fix = replace(setting, total, f"decay over all {total} steps", safe=False) if name == "lr_decay_iters" else None
    message = f"`{name}` ends the cosine decay at step {decay} of {total}; the learning rate increases again after it"
    yield Finding(setting, message, related=related, fix=fix)


@rule("STP066")
def decay_fraction_ignored(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("lr_decay_iters") is not None and config.argument("lr_decay_fraction") is not None:
        setting = config.setting("lr_decay_fraction")
        related = (config.setting("lr_decay_iters"),)
        message = "`lr_decay_fraction` is overridden by `lr_decay_iters`"
        yield Finding(setting, message, related=related, fix=remove(setting, "remove `lr_decay_fraction`"))


@rule("STP067")
def warmup_not_a_fraction(config: NeoXConfig) -> Iterator[Finding]:
    fraction, decay = config.argument("warmup"), decay_steps(config)
    if not is_number(fraction) or fraction < 1:
        return
    setting = config.setting("warmup")
    text = f"`warmup` is a fraction of the decay, not a number of steps: {fraction} makes the warm-up"
    steps = warmup(config)
    text += f" {round(steps):,} steps" if steps else f" {fraction} times the decay"
    fix = None
    if steps and decay and 1 < fraction < decay:
        proposed = round(fraction / decay, 6)
        fix = replace(setting, proposed, f"change to {proposed}, for {fraction} steps", safe=False)
    yield Finding(setting, text, fix=fix)


@rule("STP068")
def ignored_scheduler_section(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("scheduler") is not None:
        setting = config.setting("scheduler")
        message = "`scheduler` is ignored: GPT-NeoX uses its own schedule (`lr_decay_style`, `warmup`, `min_lr`)"
        yield Finding(setting, message, fix=remove(setting, "remove `scheduler`"), on_key=True)


@rule("STP069")
def non_positive_interval(config: NeoXConfig) -> Iterator[Finding]:
    for name, moment in DIVISORS.items():
        value = config.values.get(name, 1)
        if value is None or (is_number(value) and value == 0):
            message = f"`{name}` is {describe(value)}; it must be positive: the workers divide by it {moment}"
            yield Finding(config.setting(name), message, help=remove_key(name, " for the default"))
