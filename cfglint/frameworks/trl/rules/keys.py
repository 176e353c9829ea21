"""Rules about keys that no dataclass of a TRL script has, and values that its parser refuses."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import WARNING, Fix
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.findings.wording import listed
from cfglint.frameworks.huggingface.fields import FIELDS as ARGUMENTS
from cfglint.frameworks.huggingface.rules.arguments import spelled_as_number
from cfglint.frameworks.huggingface.rules.keys import has_no_effect, near_fields, not_used
from cfglint.frameworks.huggingface.rules.keys import replacement as of_argument
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import remove, rename
from cfglint.frameworks.trl import LAUNCHER_FILE
from cfglint.frameworks.trl._tables import RELEASES
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.fields import BESIDE
from cfglint.frameworks.trl.releases import ENTRY, HISTORY, is_experimental
from cfglint.frameworks.trl.rules import of, shown
from cfglint.launch.accelerate_options import PACKAGED, is_flag, is_option, refused
from cfglint.source.annotations import Iterator, Sequence
from cfglint.source.python.call import CallDocument

# The parser refuses unknown keys, in the words of the release; before and between, it drops them (trl 0.13.0, 0.18.0 scripts/utils.py).
OLD_REFUSAL = Releases((0, 9, 6), (0, 13, 0), "`Some specified config arguments are not used by the TrlParser`")
REFUSAL = Releases((0, 19, 0), of="`Unknown arguments from config file`")
REFUSED_BY_DEFAULT = "TrlParser refuses it, unless the script says otherwise; it is ignored then"
REFUSED_BY_TRL = "TrlParser refuses it; the program's parser, which was not read, may ignore it"
# Fields of older releases that have another name now, by the class that has it; the value stays.
RENAMED = {
    "max_seq_length": "max_length",
    "torch_dtype": "dtype",
    "use_liger": "use_liger_kernel",
    "vllm_max_model_len": "vllm_max_model_length",
    "wandb_log_unique_prompts": "log_unique_prompts",
    "vllm_guided_decoding_regex": "vllm_structured_outputs_regex",
}
# The replacement of a removed field, for messages.
REPLACED = {
    "rpo_alpha": "`loss_type: [sigmoid, sft]` with `loss_weights`",
    "gradient_checkpointing_use_reentrant": "`gradient_checkpointing_kwargs: {use_reentrant: ...}`",
    "vllm_device": "`vllm_mode`",
    "num_of_sequences": "`max_length`",
    "chars_per_token": "`max_length`",
    "use_liger_loss": "`use_liger_kernel`",
}
# Fields that had no effect when they were removed, or that only select logged values: removing them changes no run.
HARMLESS = frozenset(
    ("dataset_batch_size", "num_of_sequences", "chars_per_token", "vllm_device", "vllm_dtype", "vllm_enable_prefix_caching")
)


@rule("TRL010")
def unknown_trl_key(config: TrlConfig) -> Iterator[Finding]:
    known = config.arguments.fields.types
    for key, value in () if config.lacks_class else config.values.items():
        if not isinstance(key, str) or key in known or is_removed(key, config) or may_be_own(key, config):
            continue
        if config.hands_on and (key == LAUNCHER_FILE or is_option(key)):
            continue
        program = config.facts.launch.program
        drops = program is not None and bool(program.taken) and config.documents[0].is_call  # the class that it builds
        strict = config.facts.strict_keys or config.hands_on or parsed_by_old_script(config) or drops
        near = nearest(key, config, 2 if strict else 1)
        meant = f"; did you mean `{near}`?" if near else ""
        if not strict and not near:
            continue
        setting = config.setting(key)
        fix, remedy = (rename(setting, near, f"rename to {near}", safe=False), None) if near else (None, remove_key(key))
        finding = Finding(setting, f"unknown key `{key}` is ignored{meant}", severity=WARNING, on_key=True, fix=fix, help=remedy)
        if refuses(config):
            finding.message, finding.severity, finding.exception = f"unknown key `{key}`{meant}", None, refusal(key, value, config)
        yield finding


def may_be_own(key: str, config: TrlConfig) -> bool:
    """Whether a key may be a field of the program's own: it defines it, or it is not known and a dataclass of the project has the field."""
    if config.facts.launch.program is not None or config.command is not None or config.facts.strict_keys:
        return config.is_argument(key)
    return config.declares(key)


def refuses(config: TrlConfig) -> bool:
    """Whether an unknown key is refused, as always on a line, in a call and by what TRL's command starts, else by a strict parser."""
    always = config.documents[0].is_in_code or config.trl_version in REFUSAL or config.trl_version in OLD_REFUSAL
    return config.hands_on or (config.facts.strict_keys and always) or parsed_by_old_script(config)


def parsed_by_old_script(config: TrlConfig) -> bool:
    """Whether TRL's own script of an old release parses the file, which refuses unknown keys (trl 0.12.2 commands/scripts/sft.py:67)."""
    return config.command is not None and config.trl_version in OLD_REFUSAL and config.only("sft", "dpo")


def refusal(key: str, value: object, config: TrlConfig) -> str:
    if config.hands_on:
        return f"SystemExit: 2 (Accelerate launch command: error: unrecognized arguments: --{key})"
    document = config.setting(key).document
    if document is not None and document.is_in_code:
        return not_used(config, key)
    if config.trl_version in OLD_REFUSAL:
        return f"ValueError: Some specified config arguments are not used by the TrlParser: {{{key!r}: {value!r}}}"
    remedy = "Please remove them, add them to the dataclass, or set `fail_with_unknown_args=False`."
    return f"ValueError: Unknown arguments from config file: ['--{key}', {str(value)!r}]. {remedy}"


def is_removed(key: str, config: TrlConfig) -> bool:
    """Whether older releases had a field of this name, which the class of the run, or any that is not experimental, does not have now."""
    release = config.trl_version
    having = (name for name in deciding_classes(key, config) if key in HISTORY.fields(name, release))
    if not all(is_experimental(name, release) for name in having):
        return False
    if key in ARGUMENTS:
        return bool(ARGUMENTS[key][3]) and config.version >= ARGUMENTS[key][3]
    return bool(removed_in(key, config))


def removed_in(key: str, config: TrlConfig) -> list[Version]:
    """The releases that removed the field from the possible classes of the run, else from any that is not experimental, oldest first."""
    release = config.trl_version
    found = {
        section: until
        for section in deciding_classes(key, config)
        for _, until in HISTORY.releases(section, key)
        if until
        and until <= release
        and (config.trainers == (section,) or not is_experimental(section, RELEASES[RELEASES.index(until) - 1]))
    }
    return sorted({until for section, until in found.items() if section in config.trainers} or {*found.values()})


def deciding_classes(key: str, config: TrlConfig) -> Sequence[str]:
    """The classes whose releases decide about a key: that of the run if it ever had the key or code builds it, else all with the key."""
    having = HISTORY.sections_with(key)
    is_decided = len(config.trainers) == 1 and (config.trainers[0] in having or config.documents[0].is_call)
    return config.trainers if is_decided else having


def nearest(key: str, config: TrlConfig, most: int) -> str | None:
    """The field within `most` edits of a key that the file does not set."""
    plain = key.replace("-", "_")
    if plain in config.arguments.fields.types and plain not in config.values:
        return plain
    close = [name for name in near_fields(key, config.arguments.fields.types, most) if name not in config.values]
    if not config.facts.strict_keys:  # a key of the script itself may resemble one of TRL's
        close = [name for name in close if not any(name in HISTORY.fields(each, config.trl_version) for each in BESIDE)]
    return close[0] if close else None


@rule("TRL011")
def removed_trl_key(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    for key, value in () if config.lacks_class else config.values.items():
        if not isinstance(key, str) or key in args.fields.types or not is_removed(key, config) or may_be_own(key, config):
            continue

        # Whether it only sets its former default, or switches nothing on.
        needless = has_no_effect(key, value) if key in ARGUMENTS else value is None or value is False or key in HARMLESS
        if needless and not (config.facts.strict_keys or config.hands_on):
            continue
        successor, fix = replacement(key, config)
        if key in ARGUMENTS:
            when = f"in transformers {dotted(ARGUMENTS[key][3])}"
        else:  # the first and the last release if the trainers differ
            first, *others = removed_in(key, config)
            when = f"in TRL {dotted(first)}" + (f" to {dotted(others[-1])}, depending on the trainer" if others else "")
        message, effect = f"`{key}` was removed {when}" + (f"; use {successor}" if successor else ""), ""
        if key == "max_seq_length" and args.known("max_length") and args["max_length"] not in (None, value):
            effect = f": samples are cut at {args['max_length']} tokens, the default of `max_length`"
        elif key == "warmup_ratio" and value and args.known("warmup_steps") and not args["warmup_steps"]:
            effect = ": the run has no warm-up"
        finding = Finding(config.setting(key), message, fix=fix, on_key=True, help=None if fix else remove_key(key))
        if refuses(config):
            finding.exception = refusal(key, value, config)
        else:
            by_default = REFUSED_BY_TRL if config.facts.launch.not_read else REFUSED_BY_DEFAULT
            finding.severity, finding.note = WARNING, (by_default if config.trl_version in REFUSAL else "it is ignored") + effect
        yield finding


def replacement(key: str, config: TrlConfig) -> tuple[str, Fix | None]:
    if config.without_remedies:
        return "", None

    if key in ARGUMENTS:
        return of_argument(key, config)
    setting = config.setting(key)
    new = RENAMED.get(key)
    if new is None or new not in config.arguments.fields.types:
        return REPLACED.get(key, ""), remove(setting, f"remove {key}", safe=key in HARMLESS)
    if new not in config.values:
        return f"`{new}`", rename(setting, new, f"rename to {new}")
    return f"`{new}`", remove(setting, f"remove {key}", safe=config.values[new] == setting.value)


@rule("TRL012")
def config_file_on_trl_command(config: TrlConfig) -> Iterator[Finding]:
    command = config.facts.launch.command if config.command is not None else None
    if command is None or "config" not in command.words:
        return
    key, node = command.find(("config",))
    setting = Setting(("config",), command.words["config"], WRITTEN, command, node, key)
    named = " ".join(command.words["config"] or ())
    exception = f"SystemExit: 2 (TRL CLI: error: unrecognized arguments: --config {named})"
    message = f"`--config` is not an option of the `trl` command of TRL {dotted(config.trl_version)}"
    yield Finding(setting, message, exception=exception, help="start its script instead: python -m trl.scripts.sft --config ...")


@rule("TRL013")
def flag_with_value(config: TrlConfig) -> Iterator[Finding]:
    for key, value in config.values.items() if config.hands_on else ():
        if isinstance(key, str) and is_flag(key) and key not in config.arguments.fields.types and config.setting(key).written:
            message = f"`{key}` does not accept a value in `accelerate launch`: {shown(value)} is used as the script to start"
            exception = f"python: can't open file '{value}': [Errno 2] No such file or directory"
            advice = f"remove `{key}`, and pass the option to `trl` on the command line: --{key}"
            yield Finding(config.setting(key), message, exception=exception, on_key=True, help=advice)


@rule("TRL014")
def refused_launcher_option(config: TrlConfig) -> Iterator[Finding]:
    for key, value in config.values.items() if config.hands_on else ():
        setting = config.setting(key) if isinstance(key, str) else None
        if setting is None or key in config.arguments.fields.types or not setting.written or isinstance(value, Unknown):
            continue
        for raised in (message for message, releases in refused(key, str(value)) if releases is None):
            message = f"`{key}` is {setting.spelled}, which `accelerate launch` does not accept"
            exception = f"SystemExit: 2 (Accelerate launch command: error: {raised})"
            yield Finding(setting, message, exception=exception, help=remove_key(key) | "write a value that it accepts")


COMMAND = Reason("program", "the command that starts it", "only `trl` looks for this file")


@rule("TRL015")
def unknown_accelerate_config(config: TrlConfig) -> Iterator[Finding]:
    value = config.values.get(LAUNCHER_FILE, "")
    missing = [name for path, name in config.documents[0].missing if path == (LAUNCHER_FILE,) and name not in PACKAGED]
    if not isinstance(value, (str, Unknown)):
        missing = [str(value)]
    if not missing or (config.facts.complete and not config.hands_on):
        return
    setting, command = config.setting(LAUNCHER_FILE), config.command
    text = f"ValueError: Accelerate config {missing[0]} is neither a file nor a valid config in the `trl` package"
    message = f"`{LAUNCHER_FILE}` is {setting.spelled}, which is neither a file nor a config of TRL's package"
    starts = command is not None and command.folder is not None
    yield Finding(setting, message, exception=text, depends_on=() if starts else (COMMAND,), help=f"use a path, or {listed(PACKAGED)}")


NEEDED = {"bool": "a boolean", "int": "an integer", "float": "a number", "dict": "a mapping"}
MAPPING_CHECKED = (1, 10, 0)  # from here on the parser reports that the file must be a mapping


@rule("TRL001")
def trl_file_not_a_mapping(config: TrlConfig) -> Iterator[Finding]:
    if not config.readable:
        return
    if not isinstance(config.root, dict):
        what = type(config.root).__name__
        message = "the file is empty" if config.root is None else f"the file contains a {what}, not a mapping"
        if config.trl_version >= MAPPING_CHECKED:
            text = f"ValueError: Config file {config.documents[0].path} must contain a YAML mapping."
        elif config.root is None:
            text = "TypeError: argument of type 'NoneType' is not iterable"
        else:
            text = f"TypeError: argument after ** must be a mapping, not {what}"
        yield Finding(config.setting(), message, exception=text)
        return
    for key in (key for key in config.root if not isinstance(key, str)):
        text = "TypeError: keywords must be strings"
        yield Finding(config.setting(key), f"the key {key!r} is not a string", exception=text, on_key=True)


@rule("TRL002")
def environment_not_a_mapping(config: TrlConfig) -> Iterator[Finding]:
    if not isinstance(config.env, dict):
        message = f"`env` is {shown(config.env)}; it must be a mapping of names to values"
        document = config.documents[0]
        key, node = document.find(("env",))
        setting = Setting(("env",), config.env, WRITTEN, document, node, key)
        yield Finding(setting, message, help="write names and values, such as `env: {WANDB_PROJECT: name}`")


@rule("TRL003")
def invalid_string_for_type(config: TrlConfig) -> Iterator[Finding]:
    for string in config.refused:
        setting, need = config.setting(string.name), NEEDED.get(string.kind, string.kind)
        message = f"`{string.name}` is the string {shown(string.value)}, which cannot be converted to {need}"
        text, others = f"SystemExit: 2 ({string.text})", config.other_parsers if config.has_own_keys else ()
        fix = spelled_as_number(setting, "int") if string.kind == "int" else None
        yield Finding(setting, message, exception=text, fix=fix, help=f"write {need}", depends_on=others)


@rule("TRL004")
def dataset_name_required(config: TrlConfig) -> Iterator[Finding]:
    program = config.facts.launch.program  # TRL's own scripts fill the class of script arguments, another program if its code says so
    fills = program is None or not {"ScriptArguments", "GRPOScriptArguments"}.isdisjoint(program.classes)
    if config.parsed and config.facts.strict_keys and config.facts.complete and fills and "dataset_name" not in config.arguments:
        message = "`dataset_name` is missing; the scripts of this release require it"
        yield Finding(config.setting("dataset_name"), message, help="set `dataset_name` to a name on the Hugging Face Hub or a path")


@rule("TRL006")
def output_dir_required(config: TrlConfig) -> Iterator[Finding]:
    lacks = config.arguments.lacks("output_dir") or ("output_dir" in config.set_later and config.arguments["output_dir"] is None)
    if config.parsed and lacks and config.facts.complete and not config.lacks_class:
        document, text = config.documents[0], None
        if isinstance(document, CallDocument):
            text = f"TypeError: {document.name}.__init__() missing 1 required positional argument: 'output_dir'"
        message = "`output_dir` is missing; it is required before transformers 4.49"
        yield Finding(of(config, "output_dir"), message, exception=text, help=set_key("output_dir", "out"))


@rule("TRL005")
def invalid_dataset_entry(config: TrlConfig) -> Iterator[Finding]:
    entries = config.arguments["datasets"]
    if not config.facts.kind_given or "datasets" not in config.arguments:
        return
    if not isinstance(entries, list):
        if not isinstance(entries, dict):
            name = "DatasetConfig" if isinstance(entries, str) else type(entries).__name__
            text = f"TypeError: {name!r} object is not iterable"
            example = "write a list of mappings, such as `datasets: [{path: org/data}]`"
            message = f"`datasets` is {shown(entries)}; it must be a list of mappings"
            yield Finding(of(config, "datasets"), message, exception=text, help=example)
        return
    keys = ENTRY.fields("dataset", config.trl_version)
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        unknown = next((key for key in entry if key not in keys), None)
        if unknown is not None:
            text = f"TypeError: DatasetConfig.__init__() got an unexpected keyword argument {unknown!r}"
            remedy = remove_key(f"datasets.{index}.{unknown}") | f"write one of {', '.join(keys)}"
            message = f"unknown key `{unknown}` in an entry of `datasets`"
            yield Finding(config.setting("datasets", index, unknown), message, exception=text, on_key=True, help=remedy)
        elif "path" not in entry:
            text = "TypeError: DatasetConfig.__init__() missing 1 required positional argument: 'path'"
            advice: Remedy | str = f"set `datasets.{index}.path`"
            if entry.keys() == {"name"}:
                advice = set_key(f"datasets.{index}.path", entry["name"]) & remove_key(f"datasets.{index}.name")
            setting, message = config.setting("datasets", index), "`path` is missing in an entry of `datasets`"
            yield Finding(setting, message, exception=text, help=advice)
