"""Rules about values that `TrainingArguments` rejects, and those of a type that the Trainer fails on or interprets differently."""

from __future__ import annotations

from math import isfinite

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.field_operations import type_failures
from cfglint.frameworks.huggingface.fields import FIELDS, choices, has_field
from cfglint.frameworks.huggingface.rules import lost_strategy, of, place, refusals_of, refused, shown, strategy
from cfglint.frameworks.huggingface.rules.keys import replacement
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import choice, not_attribute, raised_by, replace
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.numbers import is_yaml_float
from cfglint.source.sections import Section

NO_EMPTYING = remove_key("torch_empty_cache_steps", " to keep the cache")
ARTICLES = {str: "a string", bool: "a boolean", int: "an integer", float: "a number", list: "a list", dict: "a mapping"}
EMPTY_CACHE_CHECKED = (4, 50)  # the check of 4.49.0 accepts every integer
OF_CPU = ("gloo", "mpi", "ccl")
BACKEND_COMPARED = (0, 29, 3)  # release of accelerate that refuses a backend that it does not use
SPELLED_RIGHT = (1, 11)


@rule("HFT001")
def not_a_mapping(config: TrainerConfig) -> Iterator[Finding]:
    if config.readable and not config.parsed:
        what = ARTICLES.get(type(config.root), shown(config.root))
        message = "the file is empty" if config.root is None else f"the file contains {what}, not a mapping"
        yield Finding(config.setting(), message, exception=not_attribute(config.root, "keys"))


@rule("HFT002")
def missing_output_dir(config: TrainerConfig) -> Iterator[Finding]:
    if config.parsed and config.arguments.lacks("output_dir"):
        message = "`output_dir` is missing; it is required before transformers 4.49"
        yield Finding(config.absent("output_dir"), message, help=set_key("output_dir", "out"))


@rule("HFT003")
def invalid_choice(config: TrainerConfig) -> Iterator[Finding]:
    for refusal in refusals_of(config, "HFT003"):
        setting = place(config, refusal.paths[0])
        name, value, allowed = setting.name, setting.value, choices(refusal.key, config.version)[1]
        if refusal.key == "debug" and isinstance(value, str):
            value = next((word for word in value.split() if word not in allowed), value)
        if not has_field(refusal.key, config.version) or (isinstance(value, str) and value in allowed):
            continue  # an installed release has other fields and values than the newest modelled one, whose rows these are
        fix, lower = None, str(value).strip().lower()
        message = f"`{name}` is {shown(value)}, which is not a valid choice"
        if value is None:
            message = f"`{name}` is empty (null); a name is required"
        elif isinstance(value, bool):
            word = "on" if value else "no"
            message = f'`{name}` is the boolean {shown(value)}, because YAML parses an unquoted {word} as a boolean; write "{word}"'
        if value is False and "no" in allowed:
            fix = replace(setting, "no", "quote the value", safe=True)
        elif isinstance(value, str) and lower in allowed and name != "debug":
            fix = replace(setting, lower, f"change to {lower}", safe=True)
        yield Finding(setting, message, exception=refusal.exception, fix=fix, help=None if fix else choice(name, value, allowed))


@rule("HFT006")
def mismatched_best_model_strategies(config: TrainerConfig) -> Iterator[Finding]:
    best, lost = of(config, "load_best_model_at_end"), lost_strategy(config)
    when, save = config.arguments.eval_strategy, config.arguments["save_strategy"]
    for refusal in refusals_of(config, "HFT006"):
        is_used = config.facts.kind_given or config.launcher is not None or config.deepspeed is not None
        unset = () if is_used else config.unset("save_strategy", config.arguments.strategy_key)
        both = f"`save_strategy` is {shown(save)} and `{strategy(config).name}` is {shown(when)}"
        message = f"`load_best_model_at_end` requires equal strategies, but {both}"
        if lost is None:
            remedy, without = set_key("save_strategy", when), set_key("load_best_model_at_end", False)
            remedy = (without | set_key(strategy(config).name, "steps")) if when == "no" else remedy | without
            related = (of(config, "save_strategy"), strategy(config))
            yield Finding(best, message, related=related, exception=refusal.exception, depends_on=unset, help=remedy)
        elif not config.facts.strict_keys:  # else the parser rejects the removed key, and that is the finding
            related = (of(config, "save_strategy"), best)
            removed = dotted(FIELDS["evaluation_strategy"][3])
            message = f"{message}: `evaluation_strategy` was removed in transformers {removed}, use `eval_strategy`"
            fix = replacement("evaluation_strategy", config)[1]
            yield Finding(lost, message, related=related, exception=refusal.exception, depends_on=unset, fix=fix, on_key=True)


@rule("HFT008")
def invalid_empty_cache_steps(config: TrainerConfig) -> Iterator[Finding]:
    yield from refused(config, "HFT008")
    if config.arguments["torch_empty_cache_steps"] == 0 and config.version < EMPTY_CACHE_CHECKED:  # which accepts any integer
        text = "ZeroDivisionError: integer modulo by zero"
        message = "`torch_empty_cache_steps` is 0; it must be positive"
        yield Finding(of(config, "torch_empty_cache_steps"), message, exception=text, fails_at="first-step", help=NO_EMPTYING)


@rule("HFT011")
def configured_state_without_accelerator(config: TrainerConfig) -> Iterator[Finding]:
    if config.accelerator.get("use_configured_state"):
        setting = config.setting("accelerator_config", "use_configured_state")
        message = "`use_configured_state: true` works only in a training script that builds an `Accelerator` before its arguments"
        yield Finding(setting, message, help=remove_key("accelerator_config.use_configured_state"), depends_on=config.rest)


@rule("HFT012")
def backend_without_launcher(config: TrainerConfig) -> Iterator[Finding]:
    backend, setting = config.arguments["ddp_backend"], of(config, "ddp_backend")
    if backend is None:
        return
    if config.launched is False:
        message = "`ddp_backend` requires a process group, but one process runs without a launcher"
        yield Finding(setting, message, help=remove_key("ddp_backend") | "start the run with torchrun")
    elif config.launched and config.arguments["use_cpu"] and backend not in OF_CPU and config.has_accelerate(BACKEND_COMPARED, (4, 40)):
        spelling = "available" if config.has_accelerate(SPELLED_RIGHT) else "avaliable"
        text = f"ValueError: Your assigned backend {backend} is not {spelling}, please use gloo"
        message = f"`ddp_backend` is {setting.spelled}, which is not a backend of the CPU (`use_cpu`)"
        remedy = set_key("ddp_backend", "gloo") | remove_key("ddp_backend")
        yield Finding(setting, message, related=(of(config, "use_cpu"),), exception=text, help=remedy)


@rule("HFT013")
def invalid_inline_json(config: TrainerConfig) -> Iterator[Finding]:
    for name, error in config.arguments.unparsed.items():
        text = f"{type(error).__name__}: {error}"
        message = f"`{name}` is parsed as JSON, and it is not valid JSON: {error}"
        yield Finding(config.setting(name), message, exception=text, help="write the mapping itself, without the quotes around it")


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
    return "e" in text.lower() and not is_yaml_float(text) and not raised_by(float, text)


def spelled_as_number(setting: Setting, kind: str = "float") -> Fix | None:
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
        is_false = isinstance(value, str) and value.strip().lower() in FALSE_WORDS and name != "dataloader_drop_last"
        if is_false and config.arguments.kind_of(name) == "bool":
            setting, message = config.setting(name), f"`{name}` is the string {shown(value)}, which counts as true"
            fix = replace(setting, False, "change to false", safe=False)
            yield Finding(setting, message, fix=fix, depends_on=config.other_parsers)


@rule("TYP202")
def boolean_for_number(config: TrainerConfig) -> Iterator[Finding]:
    for name, value in config.arguments.given.items():
        if not isinstance(value, bool) or config.arguments.kind_of(name) not in NUMERIC:
            continue
        if not config.parsed or all(failure.field != name for failure in type_failures(config)):
            message = f"`{name}` is the boolean {shown(value)}, which counts as {int(value)}"
            yield Finding(config.setting(name), message, help=set_key(name, int(value), " if that is meant"))
