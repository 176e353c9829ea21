"""Arguments that do not exist, or whose value has the wrong type: the dataclass and its own type check."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Finding
from cfglint.frameworks.neox import fields
from cfglint.frameworks.neox.derive import COPIES, DERIVED
from cfglint.frameworks.neox.python_errors import describe, hollow, number, raised
from cfglint.frameworks.neox.rules import neox_rule, remove, rename, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.findings.diagnostic import Fix
    from cfglint.frameworks.neox.config import NeoXConfig
    from cfglint.frameworks.setting import Setting
    from cfglint.source.document import Path

# Older names of arguments that have another one now.
RENAMED = {
    "save_interval": "checkpoint_factor",
    "checkpoint_interval": "checkpoint_factor",
    "micro_batch_size": "train_micro_batch_size_per_gpu",
    "micro_batch_size_per_gpu": "train_micro_batch_size_per_gpu",
    "global_batch_size": "train_batch_size",
    "max_steps": "train_iters",
    "autotuning_config": "autotuning",
    "num_experts": "moe_num_experts",
}
# Arguments of earlier versions that are gone, and why nothing is lost with them.
GONE = {
    "gas": "it always held a copy of `gradient_accumulation_steps`",
    "detect_nvlink_pairs": "the launcher no longer looks for NVLink pairs",
}
ARITHMETIC = frozenset(
    ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "pipe_parallel_size", "model_parallel_size"]
)
# Where the type check finds a value that it takes from a section.
HOMES = {
    "lr": ("optimizer", "params", "lr"),
    "optimizer_type": ("optimizer", "type"),
    "zero_stage": ("zero_optimization", "stage"),
    **{name: ("zero_optimization", key) for name, key in COPIES.items()},
}
# Arguments that are replaced before anything looks at their own value.
REPLACED = frozenset(("config_files", "user_script"))


@neox_rule(
    "KEY300",
    "unknown-argument",
    ERROR,
    fails_at="config",
    bad="{num_layers: 2, save_interval: 1000}\n",
    good="{num_layers: 2, checkpoint_factor: 1000}\n",
    fixed="{num_layers: 2, checkpoint_factor: 1000}\n",
    at="/save_interval",
)
def unknown_argument(config: NeoXConfig) -> Iterator[Finding]:
    """A top-level key is no argument of GPT-NeoX.

    Every key becomes a keyword argument of one dataclass, which knows 318 names and takes no other. There
    are no deprecated spellings: `save_interval`, `gas`, `mlp_type` and other names of earlier versions or
    forks die the same way as a slip of the pen.

    Run-time error: `TypeError: NeoXArgs.__init__() got an unexpected keyword argument 'save_interval'`.

    Fix: the name that exists now, or take the key out.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:285; the fields are in
    neox_args.py and deepspeed_args.py.
    """
    for name in config.values if not config.is_for_fork else ():
        if not config.knows(name):
            message, fix = _advice(config, name)
            yield Finding(
                config.setting(name),
                f"`{name}` is no argument of GPT-NeoX{message}",
                exception=f"TypeError: NeoXArgs.__init__() got an unexpected keyword argument '{name}'",
                fix=fix,
                on_key=True,
            )


def _advice(config: NeoXConfig, name: str) -> tuple[str, Fix | None]:
    setting = config.setting(name)
    if name in GONE:
        return f" any more: {GONE[name]}", remove(setting, f"take `{name}` out")
    if name in RENAMED:
        meant = RENAMED[name]
        return f"; it is called `{meant}`", None if meant in config.values else rename(setting, meant, f"call it `{meant}`")
    from cfglint.frameworks.schema import load

    near = [each for each in load(config.kind).nearest((), name) if len(each.path) == 1]
    if not near:
        return "", None
    meant = near[0].name
    if near[0].distance > 1 or meant in config.values:
        return f"; the nearest one is `{meant}`", None
    return f"; did you mean `{meant}`?", rename(setting, meant, f"call it `{meant}`")


@neox_rule(
    "TYP300",
    "wrong-type",
    ERROR,
    fails_at="config",
    bad="{num_layers: 2, eval_iters: 10.0}\n",
    good="{num_layers: 2, eval_iters: 10}\n",
    fixed="{num_layers: 2, eval_iters: 10}\n",
    at="/eval_iters",
)
def wrong_type(config: NeoXConfig) -> Iterator[Finding]:
    """A value does not have exactly the type of its argument.

    The types are compared exactly: 1 is no boolean, true is no number, 10.0 is no whole number, and a
    number in quotes is text. The one exception is that a whole number passes where a float is expected;
    null always passes. YAML 1.1 reads `1e-3` and `1.0e3` as text, for it wants a dot and a signed exponent.
    The check itself breaks on a plain type, so the error names neither the argument nor the value; some
    arguments are computed with before, and die there.

    Run-time errors: `AttributeError: type object 'int' has no attribute '__origin__'` (likewise 'float',
    'bool', 'str', 'list', 'dict'), `ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be
    validated`, `TypeError: can't multiply sequence by non-int of type 'float'`.

    Fix: write the value in the argument's own type.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1365-1422, line 1385.
    """
    for name, path, value, exception in _refused(config):
        if fields.expected(name) != "literal" and (name not in ARITHMETIC or number(value)):
            setting = config.setting(*path)
            yield Finding(
                setting,
                f"`{setting.name}` is {describe(value)}, not {_wanted(name)}",
                exception=_earlier(config, name, value) or exception,
                fix=_converted(name, setting, value),
            )


@neox_rule(
    "TYP301",
    "value-not-allowed",
    ERROR,
    fails_at="config",
    raises=fields.CANNOT,
    bad="{num_layers: 2, norm: batchnorm}\n",
    good="{num_layers: 2, norm: rmsnorm}\n",
    at="/norm",
)
def value_not_allowed(config: NeoXConfig) -> Iterator[Finding]:
    """A value is not one of those that its argument takes.

    The comparison does not look at upper and lower case (which is a trap of its own: the code that uses
    the value does).

    Run-time error: `ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be validated`, after a log
    line `Not in accepted values`.

    Fix: one of the values that the message lists.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1385-1403.
    """
    for name, path, value, _ in _refused(config):
        if fields.expected(name) != "literal":
            continue
        setting = config.setting(*path)
        error = raised(lambda value=value: hollow(value).lower()) if name == "optimizer_type" else None  # type: ignore[misc]
        yield Finding(
            setting,
            f"`{setting.name}` is {describe(value)}, not one of {', '.join(map(str, fields.choices(name)))}",
            exception=error,
        )


@neox_rule(
    "TYP302",
    "null-in-arithmetic",
    ERROR,
    fails_at="config",
    bad="{num_layers: 2, moe_num_experts: null}\n",
    good="{num_layers: 2}\n",
    fixed="{num_layers: 2}\n",
    at="/moe_num_experts",
)
def null_in_arithmetic(config: NeoXConfig) -> Iterator[Finding]:
    """An argument with a default is set to null, and the framework computes with it.

    null passes every type check, so nothing stops it before the first comparison.

    Run-time error: `TypeError: '>' not supported between instances of 'NoneType' and 'int'`.

    Fix: leave the argument out to have its default.

    Source: gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1088, 1268.
    """
    nulls = {"moe_num_experts": "TypeError: '>' not supported between instances of 'NoneType' and 'int'"}
    if config.derived.lr is not None:
        nulls["min_lr"] = f"TypeError: '<=' not supported between instances of 'NoneType' and '{type(config.derived.lr).__name__}'"
    for name, exception in nulls.items():
        if name in config.values and config.values[name] is None:
            setting = config.setting(name)
            fix = remove(setting, "leave it out, for its default")
            yield Finding(setting, f"`{name}` is null, and GPT-NeoX computes with it", exception=exception, fix=fix)


def _refused(config: NeoXConfig) -> list[tuple[str, Path, Any, str]]:
    """(argument, its path in the files, value, what the type check raises) of what a file has a say in and the check refuses."""
    if config.refused is None:
        config.refused = list(_found_refused(config))
    return config.refused


def _found_refused(config: NeoXConfig) -> Iterator[tuple[str, Path, Any, str]]:
    places: dict[str, Path] = {
        name: (name,)
        for name, value in config.values.items()
        if not (fields.expected(name) == type(value).__name__ and name not in DERIVED) and name not in REPLACED and name not in HOMES
    }
    places.update((name, path) for name, path in HOMES.items() if config.has(*path))
    for name, path in places.items():
        value = config.derived.held(name) if fields.known(name) else None
        exception = fields.refusal(name, value)
        if exception:
            yield name, path, value, exception


def _wanted(name: str) -> str:
    words = {
        "int": "a whole number",
        "float": "a number",
        "bool": "a boolean",
        "str": "text",
        "list": "a list",
        "dict": "a mapping",
        "Any": "null, which is all that passes",
    }
    wanted = fields.expected(name)
    kinds = fields.members(name) if wanted == "union" else [wanted or ""]
    return " or ".join(words.get(kind, kind) for kind in kinds)


def _earlier(config: NeoXConfig, name: str, value: Any) -> str | None:
    """What the framework raises before it comes to check the type, where it uses the value before."""
    if name in ("num_layers", "attention_config"):
        return config.derived.attention_refusal
    empty = hollow(value)
    if name == "moe_num_experts":
        return raised(lambda: empty > 1)
    if name == "zero_optimization":
        return raised(lambda: value["stage"])
    if name in ("fp16", "bf16", "optimizer") and value:
        return raised(lambda: value.get)
    if name == "log_dir" and value:
        return f"TypeError: expected str, bytes or os.PathLike object, not {type(value).__name__}"
    return None


def _converted(name: str, setting: Setting, value: Any) -> Fix | None:
    """The same value in the argument's type, where there is exactly one."""
    meant = converted(fields.expected(name), value)
    return replace(setting, meant, f"write {meant}") if meant is not None else None


def converted(wanted: str | None, value: Any) -> Any:
    """A value in another type when nothing is lost by it; None when there is no such value."""
    if isinstance(value, str) and wanted in ("int", "float"):
        try:
            value = float(value) if wanted == "float" else int(value)
        except ValueError:
            return None
        return value if value - value == 0 else None
    if isinstance(value, float) and wanted == "int" and value.is_integer():
        return int(value)
    if type(value) is int and wanted == "bool" and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and wanted == "bool" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return None
