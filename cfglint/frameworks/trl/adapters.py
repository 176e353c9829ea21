"""The adapter of a TRL file: the fields of `ModelConfig` as `get_peft_config` passes them on (trl 1.16.0 trainer/utils.py)."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.setting import Setting
from cfglint.frameworks.peft.adapters import OWN_CODE, Place
from cfglint.frameworks.peft.lora import PEFT
from cfglint.frameworks.peft.quantization import COMPUTE, STORAGE, checked
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.source.annotations import ConfigTable, Iterator

MODEL = "model_name_or_path"
OWN_STORAGE = (0, 26)  # from here on `bnb_4bit_quant_storage` is a key; before it is the dtype (trl 0.24.0 trainer/utils.py)
KEYS = {  # field of LoraConfig -> key of the file
    "r": "lora_r", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout", "target_modules": "lora_target_modules",
    "target_parameters": "lora_target_parameters", "modules_to_save": "lora_modules_to_save", "task_type": "lora_task_type",
    "use_rslora": "use_rslora", "use_dora": "use_dora",
}  # fmt: skip
DEFAULTS: ConfigTable = {"r": 16, "lora_alpha": 32, "lora_dropout": 0.05, "task_type": "CAUSAL_LM"}


def adapters(config: TrlConfig) -> list[Place]:
    """The adapter that `use_peft` asks for; a list of one name is that name alone, a pattern for the whole path."""
    values = config.values
    if values.get("use_peft") is not True or config.facts.launch.program is not None:
        return []
    given = {field: values[key] for field, key in KEYS.items() if values.get(key) is not None}
    targets = given.get("target_modules")
    if isinstance(targets, list) and len(targets) == 1:
        given["target_modules"] = targets[0]
    own_code = bool(values.get(OWN_CODE))
    return [Place({**DEFAULTS, **given}, str(values.get(MODEL, "")), "", config.documents[0].path, config.version, own_code, None, KEYS)]


def quantization(config: TrlConfig) -> Iterator[tuple[Setting, Refusal]]:
    """What is refused of the quantization that the file asks for; with 8 bits nothing else is passed on, both are TRL020."""
    values = config.values
    if config.facts.launch.program is not None or not values.get("load_in_4bit") or values.get("load_in_8bit"):
        return
    key = "dtype" if "dtype" in values else "torch_dtype"
    given = {"load_in_4bit": True, STORAGE: values.get(STORAGE), COMPUTE: values.get(key)}  # True, whatever the truth is that is written
    try:
        checked({name: value for name, value in given.items() if value is not None})
    except Refusal as refused:
        written = key if refused.key == COMPUTE else refused.key
        message = refused.message.replace(f"`{COMPUTE}`", f"`{written}`")
        steps = [*refused.help]
        if refused.key == COMPUTE and isinstance(steps[0], Remedy):
            steps = [set_key(written, steps[0].edit[0].value)]
        yield config.setting(written), Refusal(PEFT, [written], message, refused.exception, steps, refused.fails_at)


def integer_storage(config: TrlConfig) -> Setting | None:
    """The key by which 4-bit weights are stored as integers: that of the storage, before 0.26 the dtype; None if they are not."""
    values = config.values
    if config.facts.launch.program is not None or values.get("load_in_4bit") is not True:
        return None
    key = STORAGE if config.trl_version >= OWN_STORAGE else "dtype" if "dtype" in values else "torch_dtype"
    return config.setting(key if key in values else "load_in_4bit") if values.get(key) in (None, "uint8") else None
