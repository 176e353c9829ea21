"""Rules about values that TRL's parser refuses, and about keys that it does not know."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, config_error, load_error
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.parser import UncastString
from cfglint.frameworks.trl.releases import ENTRY
from cfglint.frameworks.trl.rules import HEAD, OLD, of, shown
from cfglint.source.annotations import Iterator

MAPPING_CHECKED = (1, 10, 0)  # from here on the parser reports that the file must be a mapping


@load_error(
    "TRL001",
    source="trl 1.16.0 scripts/utils.py:326-339, 0.17.0 scripts/utils.py:184-200",
    bad=(
        "- output_dir: out\n",
        Example(HEAD + "1: a\n", exception="TypeError: keywords must be strings"),
    ),
    good="output_dir: out\n",
)
def trl_file_not_a_mapping(config: TrlConfig) -> Iterator[Finding]:
    """The file is not a mapping of names to values.

    TRL's parser passes the keys of the file as keyword arguments, so they must be strings.

    Run-time errors: `ValueError: Config file train.yaml must contain a YAML mapping.`, `TypeError: keywords must be
    strings` (a key such as `1:`); 0.17.0: `TypeError: argument of type 'NoneType' is not iterable` (an empty file).

    Fix: write `key: value` lines.
    """
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


@load_error(
    "TRL002",
    raises="ValueError: `env` field should be a dict in the YAML file.",
    source="trl 1.16.0 scripts/utils.py:332-337, 0.17.0 scripts/utils.py:188-193",
    bad=HEAD + "env: [WANDB_PROJECT]\n",
    good=HEAD + "env: {WANDB_PROJECT: mine}\n",
    example={"at": "/env"},
    releases=Releases((0, 8, 0)),
)
def environment_not_a_mapping(config: TrlConfig) -> Iterator[Finding]:
    """`env` must be a mapping: its entries become environment variables before anything else is read."""
    if not isinstance(config.env, dict):
        yield Finding(
            written(config, "env"),
            f"`env` is {shown(config.env)}; it must be a mapping of names to values",
            help="write names and values, such as `env: {WANDB_PROJECT: name}`",
        )


def written(config: TrlConfig, name: str) -> Setting:
    """A key of the file with its place, whether or not the parser accepted it."""
    document = config.documents[0]
    key, node = document.find((name,))
    return Setting((name,), config.root.get(name) if isinstance(config.root, dict) else None, WRITTEN, document, node, key)


@config_error(
    "TRL003",
    source="trl 1.16.0 scripts/_hf_argparser.py:39-75, CPython argparse.py (a default is converted when it is a string)",
    bad=HEAD + 'per_device_train_batch_size: "2.5"\n',
    good=HEAD + 'per_device_train_batch_size: "4"\nlearning_rate: 1e-5\n',
    example={"at": "/per_device_train_batch_size"},
)
def invalid_string_for_type(config: TrlConfig) -> Iterator[Finding]:
    """A string cannot be converted to the type of its field.

    TRL's parser converts strings, so `learning_rate: 1e-5` (which YAML 1.1 parses as a string) and `"4"` are numbers.
    A string that is not written as the type is refused: `1e3` and `"2.5"` are not integers. Booleans are yes/no, true/false,
    t/f, y/n, 1/0 in any case. From 1.6 on "none" and "null" are null for an optional field that is not a string.

    Run-time error: `train.py: error: argument --max_steps/--max-steps: invalid int value: '1e3'`, exit status 2.

    Fix: write the value as the type.
    """
    for each in config.refused:
        setting = config.setting(each.name)
        need = (
            "a boolean"
            if each.kind == "bool"
            else {"int": "an integer", "float": "a number", "dict": "a mapping"}.get(each.kind, each.kind)
        )
        message = f"`{each.name}` is the string {shown(each.value)}, which cannot be converted to {need}"
        yield Finding(setting, message, exception=f"SystemExit: 2 ({each.text})", fix=meant_number(setting, each), help=f"write {need}")


def meant_number(setting: Setting, refused: UncastString) -> Fix | None:
    """The integer that a string such as `1e3` spells."""
    from cfglint.frameworks.huggingface.rules.value_types import spelled_as_number

    return spelled_as_number(setting, "int") if refused.kind == "int" else None


@config_error(
    "TRL004",
    raises="SystemExit: 2 (the following arguments are required: --dataset_name/--dataset-name)",
    source="trl 0.17.0 scripts/utils.py:45",
    bad="output_dir: out\npacking: true\n",
    good="output_dir: out\npacking: true\ndataset_name: org/data\n",
    example={"target": OLD, "strict_keys": True},
    releases=Releases((0, 12, 0), (0, 18, 0)),
)
def dataset_name_required(config: TrlConfig) -> Iterator[Finding]:
    """Old releases of TRL's own scripts require `dataset_name`.

    Reported only with `--strict-keys`, that is, if the script adds no keys of its own; a script of your own may have
    other arguments.

    Run-time error: `train.py: error: the following arguments are required: --dataset_name/--dataset-name`.
    """
    if (
        config.parsed
        and config.facts.strict_keys
        and config.facts.complete
        and parses_script_arguments(config)
        and "dataset_name" not in config.arguments
    ):
        yield Finding(
            config.setting("dataset_name"),
            "`dataset_name` is missing; the scripts of this release require it",
            help="set `dataset_name` to a name on the Hugging Face Hub or a path",
        )


def parses_script_arguments(config: TrlConfig) -> bool:
    """Whether a parser fills TRL's class of script arguments: one of TRL's own scripts does, another program only if its code says so."""
    program = config.facts.launch.program
    return program is None or "ScriptArguments" in program.classes or "GRPOScriptArguments" in program.classes


@config_error(
    "TRL006",
    raises="SystemExit: 2 (the following arguments are required: --output_dir/--output-dir)",
    source="transformers 4.46.3 training_args.py:796, hf_argparser.py",
    bad="model_name_or_path: org/model\ndataset_name: org/data\npacking: true\n",
    good=HEAD + "packing: true\n",
    example={"trainer": "sft", "kind_given": True, "complete": True, "target": {"trl": "0.12.2", "transformers": "4.46.3"}},
)
def output_dir_required(config: TrlConfig) -> Iterator[Finding]:
    """`output_dir` is required before transformers 4.49.

    Run-time error: `train.py: error: the following arguments are required: --output_dir/--output-dir`.
    """
    if config.parsed and config.arguments.lacks("output_dir") and config.facts.complete and not config.lacks_class:
        yield Finding(
            config.setting("output_dir"), "`output_dir` is missing; it is required before transformers 4.49", help="set `output_dir: out`"
        )


@config_error(
    "TRL005",
    source="trl 1.16.0 scripts/utils.py:38-73, 131-136",
    bad=(
        "output_dir: out\npacking: true\ndatasets:\n- name: org/data\n",
        Example(
            "output_dir: out\npacking: true\ndatasets:\n- path: org/data\n  type: chat\n",
            "/datasets/0/type",
            "TypeError: DatasetConfig",
        ),
        Example(
            "output_dir: out\npacking: true\ndatasets:\n- path: org/data\n  fraction: 0.5\n",
            "/datasets/0/fraction",
            "TypeError: DatasetConfig",
            facts={"target": {"trl": "1.7.1"}},
        ),
        Example("output_dir: out\npacking: true\ndatasets: 5\n", "/datasets", "TypeError: 'int' object is not iterable"),
        Example("output_dir: out\npacking: true\ndatasets:\n", "/datasets", "TypeError: 'NoneType' object is not iterable"),
        Example("output_dir: out\npacking: true\ndatasets: org/data\n", "/datasets", "TypeError: 'DatasetConfig' object is not iterable"),
    ),
    good="output_dir: out\npacking: true\ndatasets:\n- path: org/data\n",
    example={"kind_given": True, "at": "/datasets/0"},
    releases=Releases((0, 22, 0)),
)
def invalid_dataset_entry(config: TrlConfig) -> Iterator[Finding]:
    """An entry of `datasets` requires `path`, and accepts name, data_dir, data_files, split, columns and (from 1.8) fraction."""
    entries = config.arguments["datasets"]
    if not config.facts.kind_given or "datasets" not in config.arguments:
        return
    if not isinstance(entries, list):
        if not isinstance(entries, dict):
            name = "DatasetConfig" if isinstance(entries, str) else type(entries).__name__
            text = f"TypeError: {name!r} object is not iterable"
            remedy = "write a list of mappings, such as `datasets: [{path: org/data}]`"
            message = f"`datasets` is {shown(entries)}; it must be a list of mappings"
            yield Finding(of(config, "datasets"), message, exception=text, help=remedy)
        return
    keys = ENTRY.fields("dataset", config.trl_version)
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        unknown = next((key for key in entry if key not in keys), None)
        if unknown is not None:
            text = f"TypeError: DatasetConfig.__init__() got an unexpected keyword argument {unknown!r}"
            remedy = f"remove `datasets.{index}.{unknown}`, or write one of {', '.join(keys)}"
            message = f"unknown key `{unknown}` in an entry of `datasets`"
            yield Finding(config.setting("datasets", index, unknown), message, exception=text, on_key=True, help=remedy)
        elif "path" not in entry:
            text = "TypeError: DatasetConfig.__init__() missing 1 required positional argument: 'path'"
            yield Finding(
                config.setting("datasets", index),
                "`path` is missing in an entry of `datasets`",
                exception=text,
                help=f"set `datasets.{index}.path: {entry['name']}` and remove `datasets.{index}.name`"
                if entry.keys() == {"name"}
                else f"set `datasets.{index}.path`",
            )
