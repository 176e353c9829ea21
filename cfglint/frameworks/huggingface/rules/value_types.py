"""Values of a type that the trainer stumbles over, or takes for something else."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.field_operations import stumbles
from cfglint.frameworks.huggingface.rules.common import KINDS, of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.findings.diagnostic import Fix
    from cfglint.frameworks.huggingface.config import TrainerConfig
    from cfglint.frameworks.setting import Setting

NUMERIC = ("int", "float")
FALSE_WORDS = ("false", "no", "off", "0", "n", "f", "none", "null")


@rule(
    "TYP200",
    "uncoerced-value",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad='output_dir: out\nmax_steps: "100"\n',
    good="output_dir: out\nmax_steps: 100\n",
    fixed="output_dir: out\nmax_steps: 100\n",
    example={"at": "/max_steps"},
)
def wrong_type(config: TrainerConfig) -> Iterator[Finding]:
    """A value has a type that the trainer cannot work with.

    `HfArgumentParser` coerces nothing that comes from a file: a string stays a string, a null stays null,
    and the first operation on it raises, which may be minutes later, once the model is loaded. The usual
    cause is a number in quotes, or one that YAML 1.1 does not read as a number: `1e-5` is text, `1.0e-5` is
    a number.

    Run-time error: `TypeError: '<=' not supported between instances of 'float' and 'str'` (learning_rate),
    `TypeError: must be real number, not str` (num_train_epochs), `TypeError: '>' not supported between
    instances of 'str' and 'int'` (max_steps, save_steps), `AttributeError: 'int' object has no attribute 'endswith'`.

    TRL's parser casts text to the field's type, so the same file may work there.

    Fix: write the number without quotes, with a point before the exponent.

    Source: the operation that fails is named in the message; transformers 5.23.0 hf_argparser.py:372-384
    passes values on as they are.
    """
    if not config.whole:
        return
    for stumble in stumbles(config):
        setting = of(config, stumble.field)
        if stumble.field == config.arguments.written(stumble.field) or setting.written:
            casts = "" if config.facts.declared or not isinstance(setting.value, str) else " (TRL's parser would cast it)"
            yield Finding(
                setting,
                f"{setting.name} is {described(setting.value)}: {stumble.exception}{casts}",
                exception=stumble.text,
                fails_at=stumble.fails_at,
                fix=spelled_as_number(setting, config.arguments.kind_of(setting.name)),
                consumer_only=True,
            )


def described(value: Any) -> str:
    """A value and, where it looks like a number, what it really is."""
    if isinstance(value, str):
        return f"the text {value!r}"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return shown(value)


def spelled_as_number(setting: Setting, kind: str = "float") -> Fix | None:
    """The number that a text spells, written as one; YAML 1.1 wants a point and a sign in an exponent.

    `kind` is the type of the field in the words of `FIELDS`.
    """
    from math import isfinite

    from cfglint.findings.fix_builders import replace

    if not isinstance(setting.value, str) or kind not in NUMERIC:
        return None
    try:
        value: float = float(setting.value)
    except ValueError:
        return None
    if not isfinite(value):
        return None
    if kind == "int" or setting.value.strip().lstrip("+-").isdigit():
        if not value.is_integer():
            return None
        value = int(value)
    return replace(setting, value, "write it as a number", safe=True)


@rule(
    "TYP201",
    "text-for-boolean",
    WARNING,
    kinds=KINDS,
    bad='output_dir: out\nbf16: "false"\n',
    good="output_dir: out\nbf16: false\n",
    fixed="output_dir: out\nbf16: false\n",
    example={"at": "/bf16"},
)
def text_for_boolean(config: TrainerConfig) -> Iterator[Finding]:
    """A text stands where a boolean belongs, and every text but the empty one counts as true.

    `bf16: "false"` turns bf16 on, without a word.

    Fix: write true or false without quotes.

    Source: transformers 5.23.0 training_args.py:1613-1618 (`if self.bf16`), hf_argparser.py:372-384 (no coercion).
    """
    from cfglint.findings.fix_builders import replace

    for name, value in config.arguments.given.items():
        if isinstance(value, str) and config.arguments.kind_of(name) == "bool":
            meant = value.strip().lower()
            if name == "dataloader_drop_last" or meant in ("", "auto"):
                continue
            setting = config.setting(name)
            if meant in FALSE_WORDS:
                fix = replace(setting, False, "write false", safe=False)
                yield Finding(setting, f"{name} is the text {value!r}, which counts as true", fix=fix, consumer_only=True)


@rule(
    "TYP202",
    "truth-for-number",
    WARNING,
    kinds=KINDS,
    bad="output_dir: out\nper_device_train_batch_size: true\n",
    good="output_dir: out\nper_device_train_batch_size: 1\n",
    example={"at": "/per_device_train_batch_size"},
)
def truth_for_number(config: TrainerConfig) -> Iterator[Finding]:
    """A boolean stands where a number belongs: true counts as 1, false as 0.

    In YAML 1.1 also `yes`, `on`, `no` and `off` are booleans.

    Fix: write the number.

    Source: Python's bool is an int; transformers 5.23.0 hf_argparser.py:372-384 passes values on as they are.
    """
    for name, value in config.arguments.given.items():
        if isinstance(value, bool) and config.arguments.kind_of(name) in NUMERIC:
            yield Finding(config.setting(name), f"{name} is the boolean {shown(value)}, which counts as {int(value)}")
