"""What transformers, bitsandbytes and PEFT refuse of a quantised model.

Source: transformers 5.23.0 utils/quantization_config.py (BitsAndBytesConfig), trainer_utils.py:131, integrations/bitsandbytes.py;
peft 0.21.2 tuners/lora/layer.py (pissa_init, orthogonal_init).
"""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.frameworks.peft.lora import SAVED, entries, model_refusal, shown
from cfglint.frameworks.peft.modules import LINEAR, Modules
from cfglint.source.annotations import ConfigMapping

BITS = ("load_in_4bit", "load_in_8bit")
COMPUTE, STORAGE, KIND = "bnb_4bit_compute_dtype", "bnb_4bit_quant_storage", "bnb_4bit_quant_type"
DTYPES = ("float16", "half", "bfloat16", "float32", "float", "float64", "double")
STORED = ("float16", "float32", "int8", "uint8", "float64", "bfloat16")
KINDS = ("fp4", "nf4")
START = "init_lora_weights"


def is_quantised(values: ConfigMapping) -> bool:
    return any(values.get(each) is True for each in BITS)


def checked(values: ConfigMapping) -> None:
    """Construct the `BitsAndBytesConfig`; raises Refusal."""
    if all(values.get(each) is True for each in BITS):
        text = "ValueError: load_in_4bit and load_in_8bit are both True, but only one can be used at the same time"
        raise model_refusal("load_in_8bit", "`load_in_8bit` is incompatible with `load_in_4bit`", text, set_key("load_in_8bit", False))
    compute, storage, kind = values.get(COMPUTE), values.get(STORAGE), values.get(KIND)
    if isinstance(compute, str) and compute not in DTYPES:
        text = f"AttributeError: module 'torch' has no attribute '{compute}'"
        raise model_refusal(COMPUTE, f'`{COMPUTE}` is "{compute}", which is not a type of torch', text, set_key(COMPUTE, "bfloat16"))
    if isinstance(storage, str) and storage not in STORED:
        text = f"ValueError: `{STORAGE}` must be a valid string (one of {', '.join(map(repr, STORED))}) "
        raise model_refusal(STORAGE, f'`{STORAGE}` is "{storage}", which is not a type for storage', text, set_key(STORAGE, "bfloat16"))
    for name in BITS:
        value = values.get(name, False)
        if not isinstance(value, bool):
            text = f"TypeError: {name} must be a boolean"
            raise model_refusal(name, f"`{name}` is {shown(value)}, not a boolean", text, set_key(name, True))
    if values.get("load_in_4bit") and isinstance(kind, str) and kind not in KINDS:
        text = f"RuntimeError: bitsandbytes has no 4-bit quantization type {kind}"
        raise model_refusal(KIND, f'`{KIND}` is "{kind}", and must be nf4 or fp4', text, set_key(KIND, "nf4"))


def attached(adapter: ConfigMapping, modules: Modules | None) -> None:
    """Put an adapter on a quantised model; raises Refusal."""
    start, text = adapter.get(START), ""
    if isinstance(start, str) and start.startswith("pissa"):
        text = "TypeError: Please initialize PiSSA under float32, float16, or bfloat16."
    elif start == "orthogonal":
        text = "RuntimeError: Only Tensors of floating point and complex dtype can require gradients"
    if text:
        raise model_refusal(START, f"`{START}: {start}` requires a model that is not quantised", text, remove_key(START))
    quantised = [name for name, kind in modules.kinds.items() if kind == LINEAR and name != modules.output] if modules is not None else []
    for each in entries(adapter.get(SAVED)):
        if any(name.endswith(each) for name in quantised):
            text = "RuntimeError: only Tensors of floating point dtype can require gradients"
            message = f"`{SAVED}` has {each}, which is quantised and cannot be trained in full"
            raise model_refusal(SAVED, message, text, f"remove {each} from `{SAVED}`")


def trained() -> None:
    """Train a quantised model without an adapter; raises Refusal."""
    text = "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters on top of the model"
    raise model_refusal("", "the model is quantised and has no adapter", text, "put an adapter on the model with `get_peft_model`")
