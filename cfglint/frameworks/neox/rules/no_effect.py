"""What GPT-NeoX takes without doing what the file says: precision, clipping, keys that nobody reads."""

from __future__ import annotations

from cfglint.findings.diagnostic import WARNING
from cfglint.findings.rule import Finding
from cfglint.frameworks.neox.derive import COPIES
from cfglint.frameworks.neox.fields import UNUSED, choices, default, known
from cfglint.frameworks.neox.python_errors import describe, number
from cfglint.frameworks.neox.rules import insert, neox_rule, remove, rename, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.neox.config import NeoXConfig
    from cfglint.frameworks.setting import Setting

# Spellings of a precision that people mean by one of the two that work.
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
# What becomes of a name in another case, for the arguments whose users do not complain.
FALLS_THROUGH = {
    "lr_decay_style": "the learning rate stays constant after the warm-up",
    "checkpoint_scale": "no checkpoint is saved on the way",
    "pos_emb": "the model gets no position embedding of that kind",
    "train_impl": "the loss is not the one that was asked for",
    "pack_impl": "the data are packed as by default, or not at all",
    "dataset_impl": "the data are read as gpt2",
    "data_impl": "the data are not found by their format",
    "kl_impl": "the divergence is not the one that was asked for",
}
# Arguments that GPT-NeoX computes, and from what; a written value is lost.
COMPUTED = {
    "lr": "`optimizer.params.lr`",
    "optimizer_type": "`optimizer.type`",
    "zero_stage": "`zero_optimization.stage`",
    **{name: f"`zero_optimization.{key}`" for name, key in COPIES.items()},
    "clip_grad": "`gradient_clipping`",
    "batch_size": "`train_micro_batch_size_per_gpu`",
    "dynamic_loss_scale": "the absence of `loss_scale`",
    "config_files": "the files themselves",
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
    """.split()  # noqa: SIM905
)
NORMS_WITHOUT_BIAS = ("rmsnorm", "te_rmsnorm", "scalenorm", "non_parametric_layernorm")  # megatron/model/norms.py
NUMBERED = frozenset("0123456789+-.eE")


@neox_rule(
    "PRC303",
    "precision-becomes-fp32",
    WARNING,
    bad="{precision: bf16, zero_optimization: {stage: 1}}\n",
    good="{precision: bfloat16, zero_optimization: {stage: 1}}\n",
    at="/precision",
)
def precision_becomes_fp32(config: NeoXConfig) -> Iterator[Finding]:
    """A precision other than `fp16` and `bfloat16` trains in fp32, whatever it says.

    The two are compared exactly; anything else (`bf16`, `FP16`, `float16`, `BFloat16`) is overwritten by fp32
    before its value is checked. Memory doubles, and nothing is printed.

    Fix: `bfloat16` or `fp16`. The fix changes what is trained, so it waits for `--unsafe-fixes`.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:982-1011.
    """
    value = config.argument("precision")
    if value is None or value == "fp32" or config.derived.precision != "fp32":
        return
    setting, meant = config.setting("precision"), PRECISIONS.get(str(value).lower())
    text = f"; did you mean {meant}?" if meant else ""
    fix = replace(setting, meant, f"write {meant}", safe=False) if meant else None
    yield Finding(setting, f"`precision` {value} trains in fp32: only fp16 and bfloat16 count{text}", fix=fix)


@neox_rule(
    "PRC304",
    "section-of-another-precision",
    WARNING,
    bad="{fp16: {enabled: true, type: bfloat16}}\n",
    good="{precision: bfloat16, zero_optimization: {stage: 1}}\n",
    at="/fp16/type",
)
def section_of_another_precision(config: NeoXConfig) -> Iterator[Finding]:
    """A precision section says one thing and does another.

    `type` inside the `fp16` section is read by nobody: `fp16: {enabled: true, type: bfloat16}`, as in older
    files, trains in fp16. And `bf16: {enabled: false}` beside `precision: bfloat16` leaves DeepSpeed without
    bfloat16, while the model computes in it.

    Fix: `precision: bfloat16`, without either section.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:967-997.
    """
    meant = PRECISIONS.get(str(config.get("fp16", "type")).lower())
    if meant == "bfloat16" and config.derived.precision == "fp16":
        yield Finding(config.setting("fp16", "type"), "`type` is read by nobody: this trains in fp16, not in bfloat16")
    section = config.argument("bf16")
    if isinstance(section, dict) and section and not section.get("enabled") and config.derived.precision == "bfloat16":
        message = "DeepSpeed is left without bfloat16, which `precision` asks for"
        yield Finding(config.setting("bf16", "enabled"), message, related=(config.setting("precision"),))


@neox_rule(
    "PRC305",
    "clipping-dropped",
    WARNING,
    bad="{gradient_clipping: 1.0}\n",
    good="{gradient_clipping: 1.0, deepspeed_extra_args: {gradient_clipping: 1.0}}\n",
    at="/gradient_clipping",
)
def clipping_dropped(config: NeoXConfig) -> Iterator[Finding]:
    """`gradient_clipping: 1.0` does not clip.

    1.0 is GPT-NeoX's own default, and what equals a default is left out of the config that DeepSpeed gets.
    The pinned DeepSpeed's default is 0: no clipping. Any other value works. (DeepSpeed 0.19.8 has 1.0 as its
    default, so the effect depends on which one is installed; see gpt-neox issue 1432.)

    Fix: `deepspeed_extra_args: {gradient_clipping: 1.0}` reaches DeepSpeed.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:720-727; DeeperSpeed 91d1c55 (0.16.5)
    deepspeed/runtime/constants.py:215.
    """
    value = config.argument("gradient_clipping")
    if "gradient_clipping" in config.values and number(value) and value == 1 and "gradient_clipping" not in config.derived.extra:
        setting, title = config.setting("gradient_clipping"), "give it to DeepSpeed too"
        fix = None
        if "deepspeed_extra_args" not in config.values:
            fix = insert(config, ("deepspeed_extra_args",), {"gradient_clipping": 1.0}, title, safe=False)
        yield Finding(setting, "1.0 is the default here and is not passed on; the pinned DeepSpeed then does not clip at all", fix=fix)


@neox_rule(
    "KEY301",
    "computed-argument",
    WARNING,
    bad="{lr: 0.0006, optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    good="{optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    fixed="{optimizer: {type: Adam, params: {lr: 0.001}}}\n",
    at="/lr",
)
def computed_argument(config: NeoXConfig) -> Iterator[Finding]:
    """An argument that GPT-NeoX computes itself; the written value is lost.

    `lr` is the optimizer's, `zero_stage` and its like are copies from `zero_optimization`, `clip_grad` is
    `gradient_clipping`, `batch_size` the micro batch; ranks and sizes come from the launcher.

    Fix: write it where it counts, and take this one out.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:948-964, 1013-1058, 1080-1085, 812-816.
    """
    for name, source in COMPUTED.items():
        if name not in config.values:
            continue
        value, real = config.values[name], _computed(config, name)
        if value is None or (real is not None and _same(value, real)):
            continue
        setting = config.setting(name)
        instead = f", {describe(real)}" if real is not None else ""
        fix = remove(setting, f"take `{name}` out")
        yield Finding(setting, f"`{name}` is lost: GPT-NeoX takes it from {source}{instead}", fix=fix, on_key=True)


def _computed(config: NeoXConfig, name: str) -> Any:
    """What stands in a computed argument in the end, where the files say it."""
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


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    return bool(one == other)


@neox_rule(
    "KEY302",
    "argument-without-reader",
    WARNING,
    bad="{no_save_optim: true}\n",
    good="{save: checkpoints, checkpoint_factor: 100}\n",
    fixed="{}\n",
    at="/no_save_optim",
)
def argument_without_reader(config: NeoXConfig) -> Iterator[Finding]:
    """An argument that nothing reads: setting it does nothing.

    The dataclass still has it, and no code outside the argument classes looks at it. Scaling of the fp16 loss,
    for one, is set inside the `fp16` section.

    Fix: take it out.

    Source: gpt-neox (May 2026), a search of the whole tree for the names.
    """
    for name in config.values:
        if name not in UNUSED or name in COMPUTED or has_its_way(config, name):
            continue
        value = config.values[name]
        if value is not None and value != default(name):
            setting = config.setting(name)
            inside = ": it belongs into the `fp16` section" if name in FP16_KEYS or name == "min_scale" else ""
            yield Finding(
                setting, f"`{name}` has no effect, nothing reads it{inside}", fix=remove(setting, f"take `{name}` out"), on_key=True
            )


def has_its_way(config: NeoXConfig, name: str) -> bool:
    """Whether things are as an unread argument says anyway: norms without biases, where the norm has none."""
    return name == "use_bias_in_norms" and config.argument("norm") in NORMS_WITHOUT_BIAS


@neox_rule(
    "KEY304",
    "extra-args-override",
    WARNING,
    bad="{steps_per_print: 10, deepspeed_extra_args: {steps_per_print: 100}}\n",
    good="{steps_per_print: 10, deepspeed_extra_args: {zero_allow_untested_optimizer: true}}\n",
    at="/deepspeed_extra_args/steps_per_print",
)
def extra_args_override(config: NeoXConfig) -> Iterator[Finding]:
    """A key of `deepspeed_extra_args` silently beats the argument of the same name.

    The extra arguments are put over the rest of DeepSpeed's config last; the check that is meant to refuse
    such a key never fires. GPT-NeoX itself goes on with the other value: with `zero_optimization` the launcher
    checks one stage and the workers train with another.

    Fix: keep one of the two.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:498-536, 725-727.
    """
    for key, value in config.derived.extra.items():
        if key in config.values and config.values[key] != value and known(str(key)):
            related = (config.setting(key),)
            message = f"this silently beats `{key}` {related[0].place} in DeepSpeed's config"
            yield Finding(config.setting("deepspeed_extra_args", key), message, related=related, on_key=True)


@neox_rule(
    "KEY305",
    "unread-precision-key",
    WARNING,
    bad="{fp16: {enabled: true, loss-scale: 0}}\n",
    good="{fp16: {enabled: true, loss_scale: 0}}\n",
    at="/fp16/loss-scale",
)
def unread_precision_key(config: NeoXConfig) -> Iterator[Finding]:
    """A key of the `fp16` section that the pinned DeepSpeed does not look for.

    It asks for its keys by name and passes over the rest. Dashes count: they become underscores on the top
    level of a file only.

    Fix: the name that the message offers.

    Source: DeeperSpeed 91d1c55 (0.16.5) deepspeed/runtime/config.py:137-250.
    """
    from cfglint.frameworks.schema import distance

    section = config.argument("fp16")
    for key in section if isinstance(section, dict) else ():
        if key in FP16_KEYS or config.derived.precision != "fp16":
            continue
        near = [name for name in sorted(FP16_KEYS) if distance(str(key), name) in (0, 1)]
        setting = config.setting("fp16", key)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        fix = rename(setting, near[0], f"call it `{near[0]}`", safe=False) if near and near[0] not in section else None
        yield Finding(setting, f"nothing reads `{key}` in the `fp16` section{hint}", fix=fix, on_key=True)


@neox_rule(
    "KEY306",
    "soft-prompt-length",
    WARNING,
    bad="{soft_prompt_tuning: {enabled: true, num_tokens: 20}}\n",
    good="{soft_prompt_tuning: {enabled: true, n_tokens: 20}}\n",
    at="/soft_prompt_tuning/num_tokens",
)
def soft_prompt_length(config: NeoXConfig) -> Iterator[Finding]:
    """`soft_prompt_tuning.num_tokens`, which the documentation names and the code does not read.

    The code asks for `n_tokens`, and takes 10 without it.

    Fix: call it `n_tokens`. That changes what is trained.

    Source: gpt-neox (May 2026) megatron/training.py:913, megatron/neox_arguments/neox_args.py:467.
    """
    section = config.argument("soft_prompt_tuning")
    if isinstance(section, dict) and "num_tokens" in section and "n_tokens" not in section:
        setting = config.setting("soft_prompt_tuning", "num_tokens")
        yield Finding(
            setting,
            "the code reads `n_tokens`; without it the prompt has 10 tokens",
            fix=rename(setting, "n_tokens", "call it `n_tokens`", safe=False),
            on_key=True,
        )


@neox_rule(
    "TYP303",
    "number-read-as-text",
    WARNING,
    bad="{optimizer: {type: Adam, params: {lr: 0.001, eps: 1e-8}}}\n",
    good="{optimizer: {type: Adam, params: {lr: 0.001, eps: 1.0e-8}}}\n",
    at="/optimizer/params/eps",
)
def number_read_as_text(config: NeoXConfig) -> Iterator[Finding]:
    """A number inside a section that YAML 1.1 reads as text.

    A float needs a dot and a signed exponent: `1e-8`, `1.0e8` and `5e8` are text. On the top level the type
    check stops them; inside a section they reach the code that uses them, and it fails there: the optimizer
    at its first step.

    Fix: `1.0e-8`.

    Source: PyYAML 6.0.3 resolver.py:170 (the float pattern); gpt-neox (May 2026)
    megatron/neox_arguments/arguments.py:242.
    """
    from cfglint.frameworks.neox.deeperspeed import SECTIONS

    for name, value in config.values.items():
        if isinstance(value, (dict, list)) and name not in SECTIONS:
            for path, text in _texts(value, (name,)):
                setting = config.setting(*path)
                if looks_numeric(text) and setting.node is not None and not setting.node.style and not _checked(path):
                    fix = replace(setting, float(text), "write it as YAML reads a number")
                    yield Finding(setting, f"YAML 1.1 reads `{text}` as text; a float needs a dot and a signed exponent", fix=fix)


def _checked(path: tuple[str | int, ...]) -> bool:
    """Whether the type check looks at this place, and an error says so."""
    return path in (("optimizer", "params", "lr"), ("optimizer", "type"))


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """(path, text) of every text inside mappings and lists."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if isinstance(inner, str):
            yield (*path, key), inner
        elif isinstance(inner, (dict, list)) and len(path) < 20:
            yield from _texts(inner, (*path, key))


def looks_numeric(text: str) -> bool:
    """Whether a text is a number with an exponent to everyone but YAML 1.1."""
    if not text or not NUMBERED.issuperset(text) or "e" not in text.lower():
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


@neox_rule(
    "TYP304",
    "name-falls-through",
    WARNING,
    bad="{lr_decay_style: Cosine}\n",
    good="{lr_decay_style: cosine}\n",
    at="/lr_decay_style",
)
def name_falls_through(config: NeoXConfig) -> Iterator[Finding]:
    """A name in another case, which passes the check and means nothing to the code.

    The check of allowed values lowers both sides; the code that uses the value compares exactly, and takes
    its last branch: `lr_decay_style: Cosine` is a constant learning rate, `checkpoint_scale: LOG` saves
    nothing on the way, `pos_emb: Rotary` is no rotary embedding.

    Fix: write it as the list of values has it. That changes what is trained.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1389-1395,
    megatron/learning_rates.py:73-88, megatron/training.py:1413-1428.
    """
    for name, effect in FALLS_THROUGH.items():
        value = config.values.get(name)
        allowed = choices(name) if isinstance(value, str) else []
        if isinstance(value, str) and value not in allowed and value.lower() in allowed:
            setting, meant = config.setting(name), value.lower()
            fix = replace(setting, meant, f"write {meant}", safe=False)
            yield Finding(setting, f"the code knows {meant}, not {value}: {effect}", fix=fix)


@neox_rule(
    "NEO100",
    "num-gpus-ignored",
    WARNING,
    bad="{num_gpus: 4, train_micro_batch_size_per_gpu: 4}\n",
    good="{num_gpus: 8, train_micro_batch_size_per_gpu: 4}\n",
    at="/num_gpus",
)
def num_gpus_ignored(config: NeoXConfig) -> Iterator[Finding]:
    """`num_gpus` without a hostfile: the launcher obeys it, the batch does not.

    The batch is computed for all GPUs that the launching machine has, while the launcher starts as many
    processes as `num_gpus` says; the workers then find that the batch does not multiply up.

    Fix: a hostfile, or a machine that shows as many GPUs (CUDA_VISIBLE_DEVICES).

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:892-909.
    """
    count, gpus = config.argument("num_gpus"), config.facts.gpus
    alone = config.argument("hostfile") is None and config.argument("global_num_gpus") is None
    if alone and gpus is not None and number(count) and count > 0 and count != gpus:
        message = f"without a hostfile the batch is computed for {gpus} GPUs, and {count} are started"
        yield Finding(config.setting("num_gpus"), message)


@neox_rule(
    "NEO101",
    "cpu-torch-adam",
    WARNING,
    bad="{optimizer: {type: cpu_torch_adam, params: {lr: 0.001}}}\n",
    good="{optimizer: {type: cpu_adam, params: {lr: 0.001}}}\n",
    at="/optimizer/type",
)
def cpu_torch_adam(config: NeoXConfig) -> Iterator[Finding]:
    """`cpu_torch_adam` gives DeepSpeed's Adam for the CPU, not PyTorch's.

    The code compares the whole section, a mapping, with the name, which is never true.

    Fix: `cpu_adam` says what happens.

    Source: gpt-neox (May 2026) megatron/training.py:1002-1008.
    """
    if config.derived.optimizer_name == "cpu_torch_adam":
        setting: Setting = config.setting("optimizer", "type")
        yield Finding(setting, "this gives DeepSpeed's CPU Adam, not PyTorch's", fix=replace(setting, "cpu_adam", "write cpu_adam"))
