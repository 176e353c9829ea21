"""The arguments of ms-swift's training commands, by release: its own fields, and those of transformers' TrainingArguments."""

from __future__ import annotations

import functools
import json

from cfglint.frameworks.arguments.parsing import Option
from cfglint.frameworks.huggingface.fields import CHOICES as TRAINER_CHOICES
from cfglint.frameworks.huggingface.fields import FIELDS as TRAINER_FIELDS
from cfglint.frameworks.huggingface.fields import PARSED, choices, defaults, type_of
from cfglint.frameworks.releases.history import DEFAULT, TYPE, UNTIL, History
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.swift._tables import FIELDS, LIBRARIES, SPANS
from cfglint.source.annotations import Any, ConfigValue, Mapping

HISTORY = History(FIELDS, SPANS)
CHOICES = UNTIL + 1
COMMON = "sft"  # the section with the fields of all commands
MODELS, TEMPLATES, FILES = "model types", "templates", "files"
# Arguments of ms-swift under their names in other releases. Source: 3.12.6 and 4.6.0 of the classes; README of 4.0.
RENAMED = {
    "train_type": "tuner_type",
    "tuner_type": "train_type",
    "sft_type": "tuner_type",
    "model_name_or_path": "model",
    "model_id_or_path": "model",
    "template_type": "template",
    "max_seq_length": "max_length",
    "cutoff_len": "max_length",
    "dtype": "torch_dtype",
    "batch_size": "per_device_train_batch_size",
    "eval_batch_size": "per_device_eval_batch_size",
    "lora_target_modules": "target_modules",
    "metric": "eval_metric",
    "lora_modules": "adapters",
    "learning_rate_scheduler": "lr_scheduler_type",
    "use_flash_attn": "attn_impl",
    "neftune_alpha": "neftune_noise_alpha",
    "learning_rate": "lr",
    "save_interval": "save_steps",
    "eval_interval": "eval_steps",
    "log_interval": "logging_steps",
    "max_epochs": "num_train_epochs",
    "num_workers": "dataloader_num_workers",
    "save": "output_dir",
    "load": "mcore_model",
}
LIST = "list:"
# The types of fields as argparse has them.
WIDER = {**dict.fromkeys(("choice", "dict|str", "str|bool", "str|list", "ParallelismConfig"), "str"), "list": "list:str"}
Arguments = dict[str, Option]


@functools.cache
def arguments_of(command: str, release: Version, transformers: Version) -> Arguments:
    """The arguments of a command, `sft`, `pt` or `rlhf`, in a release that runs with a release of transformers."""
    found: Arguments = {}
    for name, default in defaults(transformers).items():
        kind = PARSED.get(name, type_of(name, transformers))
        allowed = choices(name, transformers)[1] if name in TRAINER_CHOICES else ()
        kind = "bool?" if kind == "bool" and default is None else WIDER.get(kind, kind)
        found[name] = option(kind, default, allowed, own=False)
    for section in dict.fromkeys((COMMON, command)):
        found.update({name: own(row) for name, row in HISTORY.fields(section, release).items()})
    return found


def own(row: tuple[Any, ...]) -> Option:
    return option(row[TYPE], row[DEFAULT], row[CHOICES] if len(row) > CHOICES else ())


def option(kind: str, default: object, allowed: tuple[Any, ...], own: bool = True) -> Option:
    """The option that `HfArgumentParser` makes of a field: a list takes one word or more, a boolean may stand without one."""
    words = "+" if kind.startswith(LIST) else "?" if kind == "bool" else None
    return Option(kind.removeprefix(LIST).removesuffix("?"), default, allowed, words, own=own)


def exists(name: str) -> bool:
    return name in TRAINER_FIELDS or HISTORY.ever(name)


def libraries(release: Version) -> dict[str, str]:
    """The newest version of each library that a release accepts."""
    return {name: next(version for since, version in reversed(steps) if since <= release) for name, steps in LIBRARIES.items()}


@functools.cache
def config_files(release: Version) -> Mapping[str, ConfigValue]:
    """The config files of the package by the names under which arguments name them: `zero2`, `fsdp2`."""
    return {name: json.loads(row[DEFAULT]) for name, row in HISTORY.fields(FILES, release).items()}
