"""Rules about values of a type that the Trainer fails on or interprets differently."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.field_operations import type_failures
from cfglint.frameworks.huggingface.rules import of, shown
from cfglint.frameworks.remedies import raised_by, replace
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.sections import Section

NUMERIC = ("int", "float")
FALSE_WORDS = ("false", "no", "off", "0", "n", "f", "none", "null")


@rule("TYP200")
def string_for_number(config: TrainerConfig) -> Iterator[Finding]:
    if not config.parsed:
        return
    for failure in type_failures(config):
        setting = of(config, failure.field)
        # A script may parse the file itself and cast its strings. `HfArgumentParser` takes all arguments from a file that it parses, and
        # releases before 4.49 require `output_dir`. A program's YAML parser of a section may be of YAML 1.2, to which 5e-5 is a number.
        may_cast = not config.facts.complete and config.other_parsers and isinstance(setting.value, str)
        is_section = isinstance(config.documents[0], Section)
        if may_cast and ("output_dir" not in config.values or (is_section and unpointed_exponent(setting.value))):
            continue
        if failure.field == config.arguments.written(failure.field) or setting.written:
            message = f"`{setting.name}` is {described(setting.value)}{required(setting, config.arguments.kind_of(setting.name))}"
            fix = spelled_as_number(setting, config.arguments.kind_of(setting.name))
            yield Finding(setting, message, exception=failure.text, fails_at=failure.fails_at, fix=fix, depends_on=config.other_parsers)


def described(value: object) -> str:
    if isinstance(value, str):
        return f"the string {shown(value)}"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return shown(value)


def required(setting: Setting, kind: str) -> str:
    """The end of the message: the type that the field requires, and for a YAML 1.1 string why it is not a number."""
    value: ConfigValue = setting.value
    if kind not in NUMERIC or type(value) is int or (kind == "float" and isinstance(value, float)):
        return ", which the Trainer does not accept"
    in_code = setting.document is not None and setting.document.syntax == "python"
    if isinstance(value, str) and unpointed_exponent(value) and not in_code:
        return f", not a number: YAML 1.1 requires a decimal point ({pointed(value)})"
    return ", not an integer" if kind == "int" else ", not a number"


def pointed(text: str) -> str:
    """A number with an exponent as YAML 1.1 requires it: `2e-5` becomes `2.0e-5`, `1.0e6` becomes `1.0e+6`."""
    digits, _, exponent = text.strip().lower().partition("e")
    return f"{digits if '.' in digits else digits + '.0'}e{exponent if exponent[:1] in '+-' else '+' + exponent}"


def unpointed_exponent(text: str) -> bool:
    """Whether a string is a number to Python but not to YAML 1.1, for lack of a decimal point or of the exponent's sign."""
    from cfglint.source.numbers import is_yaml_float

    return "e" in text.lower() and not is_yaml_float(text) and not raised_by(float, text)


def spelled_as_number(setting: Setting, kind: str = "float") -> Fix | None:
    from math import isfinite

    if not isinstance(setting.value, str) or kind not in NUMERIC or raised_by(float, setting.value):
        return None
    value: float = float(setting.value)
    if not isfinite(value):
        return None
    if kind == "int" or setting.value.strip().lstrip("+-").isdigit():
        if not value.is_integer():
            return None
        value = int(value)
    return replace(setting, value, "write it as a number", safe=True)


@rule("TYP201")
def string_for_boolean(config: TrainerConfig) -> Iterator[Finding]:
    for name, value in config.arguments.given.items():
        if isinstance(value, str) and config.arguments.kind_of(name) == "bool":
            word = value.strip().lower()
            if name == "dataloader_drop_last" or word in ("", "auto"):
                continue
            setting = config.setting(name)
            if word in FALSE_WORDS:
                message = f"`{name}` is the string {shown(value)}, which counts as true"
                fix = replace(setting, False, "change to false", safe=False)
                yield Finding(setting, message, fix=fix, depends_on=config.other_parsers)


@rule("TYP202")
def boolean_for_number(config: TrainerConfig) -> Iterator[Finding]:
    for name, value in config.arguments.given.items():
        if (
            isinstance(value, bool)
            and config.arguments.kind_of(name) in NUMERIC
            and not (config.parsed and any(failure.field == name for failure in type_failures(config)))
        ):
            message = f"`{name}` is the boolean {shown(value)}, which counts as {int(value)}"
            yield Finding(config.setting(name), message, help=set_key(name, int(value), " if that is meant"))
