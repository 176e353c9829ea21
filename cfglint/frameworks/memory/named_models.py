"""The model of a run: that of a flag, of a folder of the project, or a published one that the run's files or its program name."""

from __future__ import annotations

import ast
import json
import os
from contextlib import suppress

from cfglint.batch.memory.settings import DTYPES
from cfglint.batch.memory.shape import UnknownShape, of_config
from cfglint.batch.shapes import published, shape_of, table_names
from cfglint.frameworks.base import Config
from cfglint.frameworks.memory.inputs import Model
from cfglint.frameworks.peft.checkpoints import CONFIG_FILE, path_in_project
from cfglint.launch.program import ProgramFacts
from cfglint.source import files
from cfglint.source.annotations import ConfigTable
from cfglint.source.root import root_of

# The arguments and keys with which programs and frameworks receive their checkpoint.
MODEL_KEYS = (
    *("model_name_or_path", "model_name", "base_model", "model", "model_id", "model_id_or_path", "model_path"),
    "pretrained_model_name_or_path",
)
# What loads one in code: `AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-4B")`, `SFTTrainer(model="...")`.
LOADERS = ("Model", "ForCausalLM", "ForConditionalGeneration", "ForSequenceClassification", "ForSeq2SeqLM", "ForMaskedLM", "LMHeadModel")
MODEL_NAMES = ("model", "model_name", "pretrained_model_name_or_path")


class UnknownModel(Exception):
    """A model whose shape is unknown; the message gives the reason."""


def named_model(text: str) -> Model:
    """The model that a flag or a declared run names: a config.json, its folder, or a published model. Raises UnknownModel."""
    path = os.path.join(text, CONFIG_FILE) if os.path.isdir(text) else text
    if os.path.isfile(path):
        return read_model(path, None)

    found = published(text)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(text.rpartition("/")[2].lower(), table_names(), n=3, cutoff=0.5)
        like = f", such as {', '.join(near or list(table_names())[:3])}"
        raise UnknownModel(f"{text}: not a config.json, not a folder with one, and not a published model that is known{like}")
    return Model(shape_of(found.name), None, found.name, found.name, quantised=found.quantised)


def read_model(path: str, root: str | None) -> Model:
    """The model of a config.json, inside a root if there is one. Raises UnknownModel if the file describes none."""
    try:
        config = json.loads(files.read(path, root)[0])
    except (files.FileProblem, ValueError, RecursionError) as error:
        raise UnknownModel(f"{path}: {error}") from error
    if not isinstance(config, dict):
        raise UnknownModel(f"{path}: is not a JSON object")
    return described_model(config, path)


def described_model(config: ConfigTable, path: str) -> Model:
    """The model of the content of a config.json. Raises UnknownModel if it describes none."""
    try:
        shape = of_config(config)
    except UnknownShape as error:
        raise UnknownModel(f"{path}: lacks `{error}`, so the model's shape is unknown") from error
    written = config.get("dtype", config.get("torch_dtype"))
    return Model(shape, DTYPES.get(written) if isinstance(written, str) else None, path)


def model_of_names(config: Config) -> Model | None:
    """The model that the run's own files, arguments or program name: a folder of the project, else a published model by its name."""
    origin, launch = config.documents[0].path, config.facts.launch
    names = [config.values.get(key) for key in MODEL_KEYS]
    parser = launch.parser or launch.program
    if parser is not None:  # its own argument, of the line or by default
        words, fields = launch.command.words if launch.command is not None else {}, parser.fields
        own = [key for key in MODEL_KEYS if key in fields and key not in config.values]
        names += [next(iter(words[key] or ()), None) if key in words else fields[key].default for key in own]
    if launch.program is not None:  # else the checkpoint that its code loads
        loaded = checkpoints(launch.program)
        names += loaded if len(loaded) == 1 else []
    found = (model_named(name, origin, config.facts.here) for name in names if isinstance(name, str) and name)
    return next((model for model in found if model is not None), None)


def checkpoints(program: ProgramFacts) -> list[str]:
    """The names of the checkpoints that the code of a program loads for training, as far as they are written in it."""
    found: dict[str, None] = {}
    for scope in program.scopes:
        for call in (node for node in scope.nodes if isinstance(node, ast.Call) and loads_model(node.func)):
            node = next((keyword.value for keyword in call.keywords if keyword.arg in MODEL_NAMES), call.args[0] if call.args else None)
            if isinstance(node, ast.Name):  # that is assigned once
                node = scope.values.get(node.id)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found[node.value] = None
    return list(found)


def loads_model(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute) and function.attr == "from_pretrained":
        return isinstance(function.value, (ast.Name, ast.Attribute)) and any(part in last_name(function.value) for part in LOADERS)
    return isinstance(function, (ast.Name, ast.Attribute)) and last_name(function).endswith("Trainer")


def last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def model_named(name: str, origin: str, here: bool) -> Model | None:
    """The model of a folder of the project, of this machine's Hugging Face cache if the run is here, else the published one."""
    path = path_in_project(name, origin)
    with suppress(UnknownModel):
        if path:
            return read_model(path, root_of(origin))
    if here:
        from cfglint.data.hub_cache import config_of

        config = config_of(name)
        with suppress(UnknownModel):
            if config is not None:
                return described_model(config, name)
    return published_model(name)


def published_model(name: str) -> Model | None:
    """The published model that a run names. The name of a folder, or of a copy by an unknown organisation, is an assumption."""
    found = published(name)
    if found is None:
        return None
    assumption = f"{name} is {found.name}" if found.assumed else ""
    return Model(shape_of(found.name), None, found.name, found.name, assumption, found.quantised)


def model_of(config: Config) -> Model | None:
    """The model of a run: the one given by flag or declaration, else that of the files."""
    return config.facts.model or config.part("model", None)
