"""Rules about values that TRL's parser refuses, and about keys that it does not know."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.parser import UncastString
from cfglint.frameworks.trl.releases import ENTRY
from cfglint.frameworks.trl.rules import of, shown
from cfglint.source.annotations import Iterator

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
        yield Finding(written(config, "env"), message, help="write names and values, such as `env: {WANDB_PROJECT: name}`")


def written(config: TrlConfig, name: str) -> Setting:
    """A key of the file with its place, whether or not the parser accepted it."""
    document = config.documents[0]
    key, node = document.find((name,))
    return Setting((name,), config.root.get(name) if isinstance(config.root, dict) else None, WRITTEN, document, node, key)


@rule("TRL003")
def invalid_string_for_type(config: TrlConfig) -> Iterator[Finding]:
    for uncast_string in config.refused:
        setting = config.setting(uncast_string.name)
        need = (
            "a boolean"
            if uncast_string.kind == "bool"
            else {"int": "an integer", "float": "a number", "dict": "a mapping"}.get(uncast_string.kind, uncast_string.kind)
        )
        message = f"`{uncast_string.name}` is the string {shown(uncast_string.value)}, which cannot be converted to {need}"
        text, others = f"SystemExit: 2 ({uncast_string.text})", config.other_parsers if config.has_own_keys else ()
        yield Finding(setting, message, exception=text, fix=meant_number(setting, uncast_string), help=f"write {need}", depends_on=others)


def meant_number(setting: Setting, refused: UncastString) -> Fix | None:
    """The integer that a string such as `1e3` spells."""
    from cfglint.frameworks.huggingface.rules.value_types import spelled_as_number

    return spelled_as_number(setting, "int") if refused.kind == "int" else None


@rule("TRL004")
def dataset_name_required(config: TrlConfig) -> Iterator[Finding]:
    if (
        config.parsed
        and config.facts.strict_keys
        and config.facts.complete
        and parses_script_arguments(config)
        and "dataset_name" not in config.arguments
    ):
        message = "`dataset_name` is missing; the scripts of this release require it"
        yield Finding(config.setting("dataset_name"), message, help="set `dataset_name` to a name on the Hugging Face Hub or a path")


def parses_script_arguments(config: TrlConfig) -> bool:
    """Whether a parser fills TRL's class of script arguments: one of TRL's own scripts does, another program only if its code says so."""
    program = config.facts.launch.program
    return program is None or "ScriptArguments" in program.classes or "GRPOScriptArguments" in program.classes


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
