"""Rules about values of a type that LLaMA-Factory fails on or interprets differently."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.field_operations import failures
from cfglint.frameworks.llamafactory.releases import choices, types
from cfglint.frameworks.remedies import choice, replace
from cfglint.source.annotations import Iterator

FALSE_WORDS = ("false", "no", "off", "0", "n", "f")
OUTCOMES = {  # of a value that is none of the choices: llamafactory 0.9.5 model/model_utils/attention.py:86, rope.py:67
    "flash_attn": "LLaMA-Factory fails when it loads the model: NotImplementedError: Unknown attention type",
    "rope_scaling": "LLaMA-Factory passes it to the model as `rope_type`, where `cutoff_len` is above the length of the model",
}
CHECKED_ELSEWHERE = (
    "finetuning_type",
    "stage",
    "infer_backend",
    "reward_model_type",
    "ref_model_quantization_bit",
    "reward_model_quantization_bit",
)


@rule("LLF070")
def uncast_value(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.parsed:
        return
    from cfglint.frameworks.huggingface.rules.value_types import described, spelled_as_number

    for stumble in failures(config):
        setting = config.field(stumble.field)
        fix = spelled_as_number(setting, types(stumble.field, config.own_version)[0])
        message = f"`{stumble.field}` is {described(setting.value)}, which LLaMA-Factory cannot work with"
        remedy = None if fix or not isinstance(setting.value, list) else "write the names in one string, separated by commas"
        yield Finding(setting, message, exception=stumble.text, fails_at=stumble.fails_at, fix=fix, help=remedy)


@rule("LLF071")
def string_for_own_boolean(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        if isinstance(value, str) and types(name, config.own_version)[:1] == ("bool",) and value.strip().lower() in FALSE_WORDS:
            setting = config.field(name)
            message = f"`{name}` is the string {shown(value)}, which counts as true"
            note = "LLaMA-Factory does not convert it, and a string that is not empty is true"
            yield Finding(setting, message, fix=replace(setting, False, "write false", safe=False), note=note)


@rule("LLF072")
def string_for_own_number(config: LlamaFactoryConfig) -> Iterator[Finding]:
    from cfglint.frameworks.huggingface.rules.value_types import spelled_as_number

    strings = {name: types(name, config.own_version) for name, value in config.values.items() if isinstance(value, str)}
    numeric = {name: kinds for name, kinds in strings.items() if "str" not in kinds and ("int" in kinds or "float" in kinds)}
    failing = {failure.field for failure in failures(config)} if numeric else ()
    for name, kinds in numeric.items():
        value = config.values[name]
        if name in failing or choices(name, config.own_version):
            continue
        setting = config.field(name)
        null = value.strip().lower() in ("none", "null") and "None" in kinds
        fix = replace(setting, None, "write null", safe=False) if null else spelled_as_number(setting, kinds[0])
        message = f"`{name}` is the string {shown(value)}, not {'null' if null else 'a number'}"
        yield Finding(setting, message, fix=fix, note="LLaMA-Factory does not convert it: what reads it fails or compares it wrongly")


@rule("LLF073")
def invalid_llamafactory_choice(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        allowed = choices(name, config.own_version)
        if not allowed or name in CHECKED_ELSEWHERE or value in allowed:
            continue
        listed = ", ".join("null" if item is None else str(item) for item in allowed)
        of_mapping = value.get("rope_type", value.get("type")) if isinstance(value, dict) else value
        actual = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)
        yield Finding(
            config.field(name),
            f"`{name}` is {actual}; it must be one of {listed}",
            note=OUTCOMES.get(name, "LLaMA-Factory does not check it: the code that uses it takes another branch or fails"),
            help=choice(name, of_mapping, allowed),  # the type from the mapping in the model's own config
        )
