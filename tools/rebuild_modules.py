#!/usr/bin/env python3
"""Writes the names of the modules of every architecture of transformers to cfglint/frameworks/peft/_modules.py.

    python tools/rebuild_modules.py

Runs in an environment with torch and transformers, for whose major release it writes the rows anew; those of the others stay.
Each model is built from the defaults of its config on torch's meta device, so without weights and downloads. Keys of the config that are
numbers of layers get different values, which tell what each list of modules has one for. `VARIANTS` are configs with other names.
"""

# mypy: ignore-errors
# ruff: noqa: RUF024

from __future__ import annotations

import re
import warnings
from pathlib import Path

import history_rows
import torch
import transformers
from torch import nn
from transformers import AutoConfig
from transformers.models.auto import modeling_auto
from transformers.pytorch_utils import Conv1D

PATH = Path(__file__).parent.parent / "cfglint" / "frameworks" / "peft" / "_modules.py"
MAJORS = ((4,), (5,))
CLASSES = "classes"
COUNTS = (
    "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers num_encoder_layers depth"
    " num_global_layers"
).split()
FIRST = 10  # the first number of layers, so that layers of several kinds occur
EXPERTS = 16  # lists of more modules are shown by their first one
MAPPINGS = {
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "AutoModelForSeq2SeqLM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "AutoModelForImageTextToText": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "AutoModelForSequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForTokenClassification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
}
# model type -> condition on its config -> what meets it: a key (has a value), !key (has none), key~text (contains it).
VARIANTS = {
    **dict.fromkeys(
        ("deepseek_v2", "deepseek_v3", "glm4_moe_lite", "minicpm3"),
        {"q_lora_rank": {"q_lora_rank": 64}, "!q_lora_rank": {"q_lora_rank": None}},
    ),
    **dict.fromkeys(
        ("t5", "mt5", "umt5", "longt5", "switch_transformers"),
        {"feed_forward_proj~gated": {"feed_forward_proj": "gated-gelu"}, "!feed_forward_proj~gated": {"feed_forward_proj": "relu"}},
    ),
}
# model type -> what its config needs to be built, or to have layers of every kind.
GIVEN = {
    **dict.fromkeys(("qwen2_moe", "qwen3_moe", "qwen3_next", "glm4v_moe"), {"mlp_only_layers": [0]}),
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe", "ministral"), {"head_dim": 64}),
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    "dots1": {"n_routed_experts": 8},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 8},
    **dict.fromkeys(("chameleon", "emu3"), {"vocabulary_map": {"<image>": 1}}),
}
LONGEST = 3500  # characters of the names of a class, above which it is left out
SKIPPED = {"AutoModelForTokenClassification", "AutoModelForSequenceClassification"}  # classes that are only kept for these model types
WITH_HEADS = set(
    "llama mistral mixtral qwen2 qwen3 gemma gemma2 gemma3 gemma3_text phi phi3 gpt2 gpt_neox opt bloom falcon bert roberta xlm-roberta"
    " deberta deberta-v2 electra distilbert albert modernbert t5 bart".split()
)


def kind_of(module: nn.Module) -> str:
    """What PEFT and bitsandbytes tell apart: Linear itself, a subclass, Conv1D of transformers, embeddings, convolutions, attention."""
    if type(module) is nn.Linear:
        return "L"
    if isinstance(module, nn.Linear):
        return "S"
    if isinstance(module, Conv1D):
        return "C"
    if isinstance(module, nn.Embedding):
        return "E"
    if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        return "K"
    return "A" if isinstance(module, nn.MultiheadAttention) else "-"


def config_of(model_type: str, more: dict[str, object]) -> tuple[object, dict[int, str]]:
    """The config of a model type with different numbers of layers, and which key has each number."""
    config = AutoConfig.for_model(model_type, **more)
    wanted: dict[int, str] = {}
    found = [
        ("", config),
        *((name, getattr(config, name)) for name in getattr(config, "sub_configs", {}) if getattr(config, name, None) is not None),
    ]
    given: dict[str, object] = dict(more)
    for prefix, each in found:
        written = each.to_dict()
        for key in COUNTS:
            if not isinstance(written.get(key), int) or isinstance(written.get(key), bool):
                continue
            if key in ("num_layers",) and "num_hidden_layers" in written:
                continue
            number = FIRST + len(wanted)
            wanted[number] = f"{prefix}.{key}" if prefix else key
            place = given.setdefault(prefix, {}) if prefix else given
            place[key] = number
    for prefix, each in found[1:]:
        if prefix in given and hasattr(each, "model_type") and each.model_type:
            given[prefix]["model_type"] = each.model_type
    try:
        return AutoConfig.for_model(model_type, **given), wanted
    except Exception:
        return config, {getattr(config, key): key for key in COUNTS if isinstance(getattr(config, key, None), int)}


def blocks_of(model: nn.Module, config: object, keys: dict[int, str]) -> list[tuple[str, str, str, dict[str, str]]]:
    """(prefix, key of the number, kind of layer, names with their kinds) of the modules outside of layers, and of each list of layers."""
    lists = {
        name: keys.get(len(module), "")
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) in keys and not re.search(r"\.\d+(\.|$)", name)
    }
    everything: dict[str, str] = {}
    for name, module in model.named_modules():
        if name:
            everything[name] = kind_of(module)
        if kind_of(module) == "-":
            for parameter, value in module.named_parameters(recurse=False):
                if value.ndim in (2, 3):
                    everything[f"{name}.{parameter}"] = f"P{value.ndim}"
    inside = {name: next((each for each in lists if name.startswith(f"{each}.")), "") for name in everything}
    blocks = [("", "", "", {name: kind for name, kind in everything.items() if not inside[name] and not is_repeated(name)})]
    for each, key in lists.items():
        layers: dict[int, dict[str, str]] = {}
        for name, kind in everything.items():
            if inside[name] == each:
                index, _, rest = name.removeprefix(f"{each}.").partition(".")
                if not is_repeated(rest):
                    layers.setdefault(int(index), {})[rest] = kind
        groups: dict[str, list[int]] = {}
        for index, names in layers.items():
            groups.setdefault(repr(names), []).append(index)
        for indices in groups.values():
            label = "" if len(groups) == 1 else label_of(indices, layers, config, key)
            same = next((block for block in blocks if block[0] == f"{each}." and block[2] == label), None)
            if same is not None:
                same[3].update(layers[indices[0]])
            else:
                blocks.append((f"{each}.", key, label, layers[indices[0]]))
    return blocks


def is_repeated(name: str) -> bool:
    """Whether a name is that of a later module of a long list, of which the first one is shown."""
    return any(int(number) >= EXPERTS for number in re.findall(r"(?:^|\.)(\d+)(?=\.|$)", name)) or bool(re.search(r"experts\.[1-9]", name))


def label_of(indices: list[int], layers: dict[int, dict[str, str]], config: object, key: str) -> str:
    """What kind of layers these are: by the types in the config, and whether they have experts."""
    own = getattr(config, key.rpartition(".")[0], config) if "." in key else config
    text = getattr(own, "text_config", None) or own
    types = next((value for name in ("layer_types", "layers_block_type", "block_types") if (value := getattr(text, name, None))), None)
    parts = []
    if isinstance(types, (list, tuple)) and len(types) >= len(layers) and len(set(types)) > 1:
        parts = sorted({types[index] for index in indices})
        if len(parts) == len(set(types)):
            parts = []
    label = "+".join(parts)
    sparse = {any("experts" in name for name in layers[index]) for index in indices}
    if len({any("experts" in name for name in layer) for layer in layers.values()}) > 1:
        label += "/sparse" if True in sparse else "/dense"
    return label


def build(name: str, config: object) -> nn.Module:
    """A model on the meta device."""
    made = getattr(transformers, name)
    if not isinstance(config, made.config_class) and hasattr(config, "get_text_config"):  # as AutoModelForCausalLM does
        config = config.get_text_config()
    with torch.device("meta"):
        return made._from_config(config)


def described(name: str, model_type: str) -> tuple[list[tuple[str, str, str, str]], str]:
    """The blocks of a class of models, as `cfglint/frameworks/peft/modules.py` reads them, and its output layer."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    variants = VARIANTS.get(model_type, {"": {}})
    everywhere: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    output = ""
    for condition, more in variants.items():
        config, keys = config_of(model_type, {**GIVEN.get(model_type, {}), **more})
        model = build(name, config)
        last = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
        output = next((each for each, module in model.named_modules() if module is last), "") if last is not None else ""
        for prefix, key, label, names in blocks_of(model, config, keys):
            for each, kind in names.items():
                found.setdefault((prefix, key, label), {}).setdefault(each, kind)
                everywhere.setdefault((prefix, key, label), {}).setdefault(each, []).append(condition)
    rows = []
    for block, names in found.items():
        words = []
        for each, kind in names.items():
            where = everywhere[block][each]
            condition = "" if len(where) == len(variants) else f"?{where[0]}"
            words.append(f"{each}{'' if kind == '-' else ':' + kind}{condition}")
        rows.append((*block, " ".join(words)))
    return rows, output


def main() -> None:
    """Build every model and write the module."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    sections: history_rows.Sections = {CLASSES: {}}
    for auto, table in MAPPINGS.items():
        for model_type, names in getattr(modeling_auto, table).items():
            name = names if isinstance(names, str) else names[0]
            if auto in SKIPPED and model_type not in WITH_HEADS:
                continue
            try:
                blocks, output = sections[CLASSES].get(name) or described(name, model_type)
            except Exception as error:
                print(f"{model_type} {name}: {type(error).__name__}: {str(error)[:100]}")
                continue
            if sum(len(block[3]) for block in blocks) > LONGEST:
                print(f"{model_type} {name}: too long")
                continue
            sections[CLASSES][name] = (blocks, output)
            sections.setdefault(auto, {})[model_type] = (name, None)
    major = (int(transformers.__version__.partition(".")[0]),)
    PATH.write_text(text({**committed(), major: sections}), encoding="utf-8")


def committed() -> dict[history_rows.Release, history_rows.Sections]:
    """The sections of each major release, with the names of the modules of each block."""
    tables: dict[str, object] = {}
    exec(PATH.read_text(encoding="utf-8"), tables)
    releases = {major: history_rows.sections_at(major, tables["FIELDS"], {}) for major in MAJORS}
    for sections in releases.values():
        for name, (blocks, output) in sections[CLASSES].items():
            sections[CLASSES][name] = ([(*block[:3], tables["NAMES"][block[3]]) for block in blocks], output)
    return releases


def text(releases: dict[history_rows.Release, history_rows.Sections]) -> str:
    """The text of the module; equal names of modules stand there once."""
    places: dict[str, int] = {}
    for _, sections in sorted(releases.items()):
        for name, (blocks, output) in sections[CLASSES].items():
            placed = [(*block[:3], places.setdefault(block[3], len(places))) for block in blocks]
            sections[CLASSES][name] = (placed, output)
    lines = [
        '"""Generated by tools/rebuild_modules.py; do not edit."""',
        "",
        "# ruff: noqa",
        "# fmt: off",
        "",
        "from __future__ import annotations",
        "",
        "TYPE_CHECKING = False",
        "if TYPE_CHECKING:",
        "    from typing import Any",
        "",
        "# The names of modules: NAME, NAME:KIND, NAME:KIND?CONDITION.",
        "NAMES = (",
        *(f"    {history_rows.literal(names)}," for names in places),
        ")",
        "",
        "# Of a class its blocks (prefix, key of the number of layers, kind of the layers, place in NAMES) and its output layer; of one",
        "# that chooses by the model type, the class of each.",
        *history_rows.table("FIELDS", "dict[str, tuple[tuple[Any, ...], ...]]", history_rows.rows(releases)),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
