"""The adapter of an axolotl file, as `load_lora` makes it (axolotl 0.19.0 loaders/adapter.py)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.peft.adapters import OWN_CODE, Place
from cfglint.source.annotations import ConfigTable

KEYS = {  # field of LoraConfig -> key of the file
    "r": "lora_r", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout", "target_modules": "lora_target_modules",
    "modules_to_save": "lora_modules_to_save", "use_dora": "peft_use_dora", "use_rslora": "peft_use_rslora",
    "layers_to_transform": "peft_layers_to_transform", "layers_pattern": "peft_layers_pattern",
}  # fmt: skip


def adapters(config: AxolotlConfig) -> list[Place]:
    """The adapter of `adapter: lora` or `qlora`; parameters and experts are left to axolotl, which patches PEFT for them."""
    model = config.model
    if model is None or model.adapter not in ("lora", "qlora") or model.lora_model_dir or model.lora_target_parameters:
        return []
    given: ConfigTable = {field: value for field, key in KEYS.items() if (value := getattr(model, key)) is not None}
    path, own_code = config.documents[0].path, bool(getattr(model, OWN_CODE))
    place = Place(given, str(model.base_model or ""), "", path, config.version, own_code, None, KEYS)
    modules, targets = place.modules(), model.lora_target_modules or []
    if model.lora_target_linear and modules is not None:
        targets = [*([targets] if isinstance(targets, str) else targets), *modules.leaves()]
    given["target_modules"] = targets
    has_experts = modules is not None and any(dimensions == 3 for dimensions in modules.parameters.values())
    return [] if has_experts or (model.lora_target_linear and modules is None) else [place]
