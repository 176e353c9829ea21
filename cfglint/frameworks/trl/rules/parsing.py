"""Rules about values that TRL's parser refuses, and about keys that it does not know."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.releases import ENTRY
from cfglint.frameworks.trl.rules import of, shown
from cfglint.source.annotations import Iterator

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
    for key in config.root:
        if not isinstance(key, str):
            yield Finding(
                config.setting(key), f"the key {key!r} is not a string", exception="TypeError: keywords must be strings", on_key=True
            )


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
    from cfglint.frameworks.huggingface.rules.value_types import spelled_as_number

    for string in config.refused:
        setting, need = config.setting(string.name), NEEDED.get(string.kind, string.kind)
        message = f"`{string.name}` is the string {shown(string.value)}, which cannot be converted to {need}"
        text, others = f"SystemExit: 2 ({string.text})", config.other_parsers if config.has_own_keys else ()
        fix = spelled_as_number(setting, "int") if string.kind == "int" else None
        yield Finding(setting, message, exception=text, fix=fix, help=f"write {need}", depends_on=others)


@rule("TRL004")
def dataset_name_required(config: TrlConfig) -> Iterator[Finding]:
    program = (
        config.facts.launch.program
    )  # one of TRL's own scripts fills the class of script arguments, another program if its code says so
    fills = program is None or "ScriptArguments" in program.classes or "GRPOScriptArguments" in program.classes
    if config.parsed and config.facts.strict_keys and config.facts.complete and fills and "dataset_name" not in config.arguments:
        message = "`dataset_name` is missing; the scripts of this release require it"
        yield Finding(config.setting("dataset_name"), message, help="set `dataset_name` to a name on the Hugging Face Hub or a path")


@rule("TRL006")
def output_dir_required(config: TrlConfig) -> Iterator[Finding]:
    if config.parsed and config.arguments.lacks("output_dir") and config.facts.complete and not config.lacks_class:
        message = "`output_dir` is missing; it is required before transformers 4.49"
        yield Finding(config.setting("output_dir"), message, help=set_key("output_dir", "out"))


@rule("TRL005")
def invalid_dataset_entry(config: TrlConfig) -> Iterator[Finding]:
    entries = config.arguments["datasets"]
    if not config.facts.kind_given or "datasets" not in config.arguments:
        return
    if not isinstance(entries, list):
        if not isinstance(entries, dict):
            name = "DatasetConfig" if isinstance(entries, str) else type(entries).__name__
            text = f"TypeError: {name!r} object is not iterable"
            advice = "write a list of mappings, such as `datasets: [{path: org/data}]`"
            message = f"`datasets` is {shown(entries)}; it must be a list of mappings"
            yield Finding(of(config, "datasets"), message, exception=text, help=advice)
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
            yield Finding(
                config.setting("datasets", index),
                "`path` is missing in an entry of `datasets`",
                exception=text,
                help=(set_key(f"datasets.{index}.path", entry["name"]) & remove_key(f"datasets.{index}.name"))
                if entry.keys() == {"name"}
                else f"set `datasets.{index}.path`",
            )
