"""The adapter of a LLaMA-Factory file, as `init_adapter` makes it (llamafactory 0.9.5 model/adapter.py, model_utils/misc.py)."""

from __future__ import annotations

from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.peft.adapters import OWN_CODE, Place
from cfglint.frameworks.peft.modules import ALL_LINEAR, CONV1D
from cfglint.source.annotations import ConfigTable, ConfigValue

MODEL = "model_name_or_path"
KEYS = {  # field of LoraConfig -> key of the file
    "r": "lora_rank", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout", "target_modules": "lora_target",
    "modules_to_save": "additional_target", "use_rslora": "use_rslora", "use_dora": "use_dora", "init_lora_weights": "pissa_init",
}  # fmt: skip
PEFT = ((0, 14, 0), (0, 18, 1))  # what the releases of 0.9.4 and 0.9.5 require
ALL = "all"
LEFT_OUT = ("lm_head",)


def adapters(config: LlamaFactoryConfig) -> list[Place]:
    """The adapter of `finetuning_type: lora`, which is the default."""
    values = config.values
    if values.get("finetuning_type", "lora") != "lora" or values.get("adapter_name_or_path") or values.get("use_unsloth"):
        return []
    rank = values.get("lora_rank", 8)
    given: ConfigTable = {
        "r": rank,
        "lora_dropout": values.get("lora_dropout", 0.0),
        "lora_alpha": values.get("lora_alpha") or (rank * 2 if type(rank) is int else 16),
    }
    own_code = bool(values.get(OWN_CODE))
    place = Place(given, str(values.get(MODEL, "")), "", config.documents[0].path, config.version, own_code, None, KEYS, (), PEFT)
    asked = values.get("lora_target", ALL)
    names = listed(asked)
    given["target_modules"] = names
    if names == [ALL]:  # every class with `Linear` in its name but the output layer
        modules = place.modules()
        linear = [name for name, kind in modules.kinds.items() if kind in ALL_LINEAR and kind != CONV1D] if modules is not None else []
        last = dict.fromkeys(name.rpartition(".")[2] for name in linear)
        given["target_modules"] = [name for name in last if name not in LEFT_OUT and not name.isdigit()] if modules is not None else None
    if values.get("additional_target"):
        given["modules_to_save"] = listed(values["additional_target"])
    for name in ("use_rslora", "use_dora"):
        if values.get(name):
            given[name] = values[name]
    if values.get("pissa_init"):
        steps = values.get("pissa_iter", 16)
        given["init_lora_weights"] = "pissa" if steps == -1 else f"pissa_niter_{steps}"
    return [place] if given["target_modules"] is not None and isinstance(asked, str) else []


def listed(text: ConfigValue) -> list[str]:
    return [name.strip() for name in text.split(",")] if isinstance(text, str) else []
