"""Rules about values of a type that LLaMA-Factory fails on or interprets differently."""

from __future__ import annotations

from cfglint.findings.rule import Finding, config_error, warning
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.field_operations import failures
from cfglint.frameworks.llamafactory.releases import choices, fields_with_choices, types
from cfglint.frameworks.llamafactory.rules import BASE, KIND
from cfglint.frameworks.remedies import choice, replace
from cfglint.source.annotations import Any, Iterator

FALSE_WORDS = ("false", "no", "off", "0", "n", "f")
OUTCOMES = {  # of a value that is none of the choices: llamafactory 0.9.5 model/model_utils/attention.py:86, rope.py:67
    "flash_attn": "LLaMA-Factory fails when it loads the model: NotImplementedError: Unknown attention type",
    "rope_scaling": "LLaMA-Factory passes it to the model as `rope_type`, where `cutoff_len` is above the length of the model",
}
NULL_WORDS = ("none", "null")
CHECKED_ELSEWHERE = (
    "finetuning_type",
    "stage",
    "infer_backend",
    "reward_model_type",
    "ref_model_quantization_bit",
    "reward_model_quantization_bit",
)


@config_error(
    "LLF070",
    source="the operation that fails; llamafactory 0.9.5 hparams/model_args.py:210-257, hparams/data_args.py:159-189",
    bad=BASE + "adapter_name_or_path: [saves/one]\n",
    good=BASE + "adapter_name_or_path: saves/one\n",
    example={**KIND, "at": "/adapter_name_or_path"},
)
def uncast_value(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """A value has a type that LLaMA-Factory cannot work with.

    Its parser casts nothing: a quoted number stays a string, and `dataset` may be a list where `adapter_name_or_path`,
    `add_tokens` and `add_special_tokens` may not.

    Run-time error: `AttributeError: 'list' object has no attribute 'split'`, `TypeError: '>' not supported between
    instances of 'str' and 'float'` (val_size), `ValueError: invalid literal for int() with base 10: 'true'` (use_galore).
    """
    if not config.parsed:
        return
    from cfglint.frameworks.huggingface.rules.value_types import described, spelled_as_number

    for stumble in failures(config):
        setting = config.field(stumble.field)
        fix = spelled_as_number(setting, types(stumble.field, config.own_version)[0])
        message = f"`{stumble.field}` is {described(setting.value)}, which LLaMA-Factory cannot work with"
        yield Finding(
            setting,
            message,
            exception=stumble.text,
            fails_at=stumble.fails_at,
            fix=fix,
            help=None if fix or not isinstance(setting.value, list) else "write the names in one string, separated by commas",
        )


@warning(
    "LLF071",
    source="llamafactory 0.9.5 hparams/parser.py:101 (parse_dict casts nothing)",
    bad=BASE + 'packing: "false"\n',
    fixed=BASE + "packing: false\n",
    example={**KIND, "at": "/packing"},
)
def string_for_own_boolean(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """A string in a boolean field counts as true, even `"false"`."""
    for name, value in config.values.items():
        if isinstance(value, str) and types(name, config.own_version)[:1] == ("bool",) and value.strip().lower() in FALSE_WORDS:
            setting = config.field(name)
            message = f"`{name}` is the string {shown(value)}, which counts as true"
            yield Finding(
                setting,
                message,
                fix=replace(setting, False, "write false", safe=False),
                note="LLaMA-Factory does not convert it, and a string that is not empty is true",
            )


@warning(
    "LLF072",
    source="omegaconf 2.4.0 _yaml.py; llamafactory 0.9.5 hparams/parser.py:101 (parse_dict casts nothing)",
    bad=BASE + "max_samples: None\n",
    fixed=BASE + "max_samples: null\n",
    example={**KIND, "at": "/max_samples"},
)
def string_for_own_number(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """A string in a field for a number or null: `None` is a string in YAML, and so is a quoted number.

    It is not refused at startup; data or model code fails later, or compares it wrongly.

    Fix: use `null`, or the number without quotes.
    """
    from cfglint.frameworks.huggingface.rules.value_types import spelled_as_number

    strings = {name: types(name, config.own_version) for name, value in config.values.items() if isinstance(value, str)}
    numeric = {name: kinds for name, kinds in strings.items() if "str" not in kinds and ("int" in kinds or "float" in kinds)}
    failing = {each.field for each in failures(config)} if numeric else ()
    for name, kinds in numeric.items():
        value = config.values[name]
        if name in failing or choices(name, config.own_version):
            continue
        setting = config.field(name)
        null = value.strip().lower() in NULL_WORDS and "None" in kinds
        fix = replace(setting, None, "write null", safe=False) if null else spelled_as_number(setting, kinds[0])
        yield Finding(
            setting,
            f"`{name}` is the string {shown(value)}, not {'null' if null else 'a number'}",
            fix=fix,
            note="LLaMA-Factory does not convert it: what reads it fails or compares it wrongly",
        )


@warning(
    "LLF073",
    source="the annotations of llamafactory 0.9.5 hparams/; transformers 5.6.0 hf_argparser.py (parse_dict)",
    old_names=("unchecked-own-choice",),
    bad=BASE + "flash_attn: flash2\n",
    good=BASE + "flash_attn: fa2\n",
    example={**KIND, "at": "/flash_attn"},
)
def invalid_llamafactory_choice(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """A value is not among those that the field lists, and the parser does not check it.

    What happens then depends on the field: another branch is taken silently, or loading model or data fails.
    """
    listing = fields_with_choices(config.own_version)
    for name, value in config.values.items():
        if name not in listing:
            continue
        allowed = choices(name, config.own_version)
        if name in CHECKED_ELSEWHERE or value in allowed:
            continue
        listed = ", ".join("null" if each is None else str(each) for each in allowed)
        actual = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)
        yield Finding(
            config.field(name),
            f"`{name}` is {actual}; it must be one of {listed}",
            note=OUTCOMES.get(name, "LLaMA-Factory does not check it: the code that uses it takes another branch or fails"),
            help=chosen(name, value, allowed),
        )


def chosen(name: str, value: object, allowed: tuple[Any, ...]) -> str:
    """The line to write: the type from the mapping in the model's own config."""
    kind = value.get("rope_type", value.get("type")) if isinstance(value, dict) else value
    return choice(name, kind, allowed)
