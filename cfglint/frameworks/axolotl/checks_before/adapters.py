"""Adapters, their kernels, and quantized models: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.wording import spelled
from cfglint.frameworks.axolotl.refusals import ADAPTER, CHECKPOINTING, FSDP, OPTIMIZER, QUANTIZATION, Data, excludes, refuses, requires
from cfglint.frameworks.axolotl.releases import EMBEDDINGS, FSDP2_ONLY, NEW_FSDP

LORA_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")
ADAPTERS = ("lora", "qlora", "llama-adapter")
UNSLOTH_LORA = ("unsloth_lora_mlp", "unsloth_lora_qkv", "unsloth_lora_o")
REGISTERED_ADAPTERS = Releases((0, 17, 0))  # plugins give adapters; a field type or nothing restricted the name before
WITH_INFERENCE = Releases((0, 6, 0))
WITHOUT_DROPOUT = Releases((0, 9, 2), (0, 16, 0))  # LoRA kernels are only enabled for a dropout of 0
TRUSTED_CODE = Releases((0, 15, 0))  # LoRA kernels are not enabled for remote code
UNSLOTH = Releases((), (0, 17, 0))
TERNARY = Releases((0, 19, 0))
PLUGIN_ADAPTERS = {"mixlora": "mixlora", "mora": "mora"}


def adapter(data: Data) -> None:
    """Check the values as utils/schemas/peft.py:199 does."""
    loaded = next((key for key in ("load_in_8bit", "load_in_4bit") if data.get(key)), "")
    inference = data.get("inference") and data.release in WITH_INFERENCE
    if not data.get("adapter") and not inference and loaded:
        says = (
            "load_in_8bit and load_in_4bit are not supported without setting an adapter for training.If you want to full finetune, "
            "please turn off load_in_8bit and load_in_4bit."
        )
        raise requires(ADAPTER, f"`{loaded}`", "an `adapter`: a quantized model cannot be trained completely", says)
    name = data.get("adapter")
    if name and name not in ADAPTERS and data.release in REGISTERED_ADAPTERS and not plugin_gives(name, data):
        says = (
            f"Adapter '{name}' is not built in and was not registered by a plugin. Add the plugin that provides this adapter to `plugins:`."
        )
        message = f"`adapter` is {spelled(name)}, which is not known"
        raise refuses(ADAPTER, "adapter", message, says, remedy="use lora, qlora or llama-adapter, or add its plugin to `plugins`")


def plugin_gives(name: object, data: Data) -> bool:
    """Whether a plugin of the file registers an adapter; a third-party plugin may."""
    if data.foreign_plugins:
        return True
    folder = PLUGIN_ADAPTERS.get(name) if isinstance(name, str) else None
    return folder is not None and folder in data.plugins


def dropout(data: Data) -> None:
    """Complete the values as utils/schemas/peft.py:264 does."""
    if data.get("adapter") is not None and data.get("lora_dropout") is None:
        data["lora_dropout"] = 0.0


def target_patterns(data: Data) -> None:
    """Check the values as utils/schemas/config.py:1917 does."""
    modules = data.get("lora_target_modules")
    if not isinstance(modules, list):
        return
    invalid = [pattern for pattern in modules if isinstance(pattern, str) and not is_pattern(pattern)]
    if invalid:
        says = (
            f"lora_target_modules contains invalid regex pattern(s): {invalid}. Please provide valid Python regex patterns or plain "
            "module name strings."
        )
        message = f"`lora_target_modules` contains {spelled(invalid[0])}, which is not a valid regular expression"
        raise refuses(ADAPTER, "lora_target_modules", message, says)


def is_pattern(text: str) -> bool:
    """Whether a string is a regular expression; a plain name is not one."""
    if text.replace("_", "").isalnum():
        return True
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return True


def kernels_by_themselves(data: Data) -> None:
    """Complete the values as utils/schemas/config.py:2083 does: LoRA kernels are on unless something prevents them (:88-117)."""
    if data.get("rl") or data.get("nvfp4_merge_aware") or data.get("adapter") not in ("lora", "qlora"):
        return
    flags = LORA_KERNELS if data.release not in EMBEDDINGS else (*LORA_KERNELS, "lora_embedding_kernel")
    if any(data.get(flag) is not None for flag in flags) or (data.get("trust_remote_code") and data.release in TRUSTED_CODE):
        return
    if data.get("adapter") == "lora" and data.get("load_in_8bit"):
        return
    if data.release in UNSLOTH and any(data.get(flag) for flag in UNSLOTH_LORA):
        return
    if data.release in WITHOUT_DROPOUT and data.get("lora_dropout") != 0:
        return
    if data.release not in FSDP2_ONLY and uses_fsdp1(data) and data["capabilities"]["n_gpu"] != 1:
        return
    data.update(dict.fromkeys(flags, True))


def uses_fsdp1(data: Data) -> bool:
    """Whether a release that has both versions of FSDP takes the first one (check_auto_enable_lora_kernels)."""
    given = data.get("fsdp_config")
    if data.release in NEW_FSDP:
        return given is not None and str(data.get("fsdp_version")) != "2"
    return data.get("fsdp") is not None and not (given is not None and str(given.get("fsdp_version")) == "2")


def lora_gradients(data: Data) -> None:
    """Check the values as utils/schemas/config.py:2075 does."""
    if data.get("lora_fp32_gradients") and data.get("adapter") not in ("lora", "qlora", "multilora"):
        raise requires(ADAPTER, "`lora_fp32_gradients`", "a LoRA adapter", "lora_fp32_gradients requires a LoRA adapter")


def quantized_experts(data: Data) -> None:
    """Check the values as utils/schemas/config.py:2049 does."""
    if not data.get("quantize_moe_experts"):
        return
    key = "quantize_moe_experts"
    if data.get("lora_target_linear"):
        says = (
            "lora_target_linear is not compatible with quantize_moe_experts. Use lora_target_parameters to target expert weights instead."
        )
        raise excludes(
            QUANTIZATION,
            "quantize_moe_experts",
            "lora_target_linear",
            says,
            at=(key, "lora_target_linear"),
            remedy="use `lora_target_parameters`",
        )
    if data.get("adapter") not in ("lora", "qlora"):
        raise requires(QUANTIZATION, f"`{key}`", "`adapter: lora` or `qlora`", f"{key} requires adapter: lora or qlora")
    if not (data.get("load_in_4bit") or data.get("load_in_8bit")):
        raise requires(QUANTIZATION, f"`{key}`", "`load_in_4bit` or `load_in_8bit`", f"{key} requires load_in_4bit or load_in_8bit")


def offloaded_embeddings(data: Data) -> None:
    """Check the values as utils/schemas/config.py:1879 does."""
    if not data.get("ple_cpu_offload"):
        return
    key = "ple_cpu_offload"
    if data.get("fsdp_config") is not None or (data.get("fsdp") is not None and data.release not in FSDP2_ONLY):
        raise excludes(CHECKPOINTING, key, "FSDP", f"{key} is not compatible with FSDP")
    if data.get("deepspeed"):
        raise excludes(CHECKPOINTING, key, "DeepSpeed", f"{key} is not compatible with DeepSpeed")
    name = data.get("adapter")
    if not ((name == "qlora" and data.get("load_in_4bit")) or (name == "lora" and data.get("load_in_8bit"))):
        says = f"{key} requires qlora with load_in_4bit or lora with load_in_8bit"
        raise requires(CHECKPOINTING, key, "qlora with `load_in_4bit`, or lora with `load_in_8bit`", says, remedy=f"remove `{key}`")


def kernels_and_remote_code(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:918 does: some model types are allowed, and the type of a given model is unknown."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("trust_remote_code"):
        says = (
            "lora_mlp_kernel, lora_qkv_kernel, and lora_o_kernel are not compatible with trust_remote_code. Please disable "
            "trust_remote_code or explicitly set lora_*_kernel to false."
        )
        raise excludes(ADAPTER, flag, "trust_remote_code: true", says)


def kernels_and_8bit(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:895 does."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("adapter") == "lora" and data.get("load_in_8bit"):
        says = "lora_mlp_kernel, lora_qkv_kernel, and lora_o_kernel are not compatible with 8-bit LoRA a the moment."
        raise excludes(ADAPTER, flag, "load_in_8bit", says, note=" under `adapter: lora`")


def qlora_and_zero3(data: Data) -> None:
    """Fail where utils/schemas/validation.py:875, which only warns, fails: a mapping `deepspeed` is searched for a key, a number ends
    the run.
    """
    if (
        data.get("adapter") == "qlora"
        and data.get("gradient_checkpointing_kwargs", {})
        and data.get("gradient_checkpointing_kwargs", {}).get("use_reentrant") is False
        and data.get("deepspeed", "") is not None
    ):
        _ = "zero3" in data.get("deepspeed", "")


def layer_patterns(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:853 does."""
    if data.get("peft_layers_pattern") and not data.get("peft_layers_to_transform"):
        says = "peft_layers_pattern requires peft_layers_to_transform to be set"
        raise requires(ADAPTER, "peft_layers_pattern", "peft_layers_to_transform", says)


def frozen_layers(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:840 does."""
    if data.get("adapter") and data.get("peft_layers_to_transform") and data.get("unfrozen_parameters"):
        says = "`unfrozen_parameters` used with `peft_layers_to_transform` can have unexpected behavior."
        raise excludes(ADAPTER, "unfrozen_parameters", "peft_layers_to_transform", says)


def rate_groups(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:834 does."""
    if data.get("lr_groups") and data.get("loraplus_lr_ratio"):
        raise excludes(OPTIMIZER, "lr_groups", "loraplus_lr_ratio", "lr_groups and loraplus_lr_ratio cannot be used together.")


def quantized_twice(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1657 does."""
    if data.get("model_quantization_config") and (data.get("load_in_8bit") or data.get("load_in_4bit")):
        says = "model_quantization_config and load_in_8bit or load_in_4bit cannot be used together."
        raise excludes(QUANTIZATION, "model_quantization_config", "`load_in_8bit` and `load_in_4bit`", says, at="model_quantization_config")


def quantization_aware(data: Data) -> None:
    """Check the values as utils/schemas/config.py:2131 does."""
    given = data.get("qat", {})
    if not given:
        return
    for key, says in (
        ("peft", "QAT and PEFT cannot be used together."),
        ("load_in_8bit", "QAT and load_in_8bit cannot be used together."),
        ("load_in_4bit", "QAT and load_in_4bit cannot be used together."),
    ):
        if data.get(key):
            raise excludes(QUANTIZATION, "qat", key, says)
    if data.release in TERNARY and given.get("weight_dtype") == "ternary" and given.get("activation_dtype") not in (None, "int8"):
        says = "Ternary QAT only supports activation_dtype: int8."
        raise requires(QUANTIZATION, "qat.weight_dtype: ternary", "qat.activation_dtype: int8", says, at="qat.activation_dtype")


def gptq_revision(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:2166 does."""
    if data.get("gptq") and data.get("revision_of_model"):
        raise excludes(QUANTIZATION, "revision_of_model", "gptq", "revision_of_model is not supported for GPTQ models. ")


def mxfp4_loading(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:2177 does."""
    if data.get("model_quantization_config", "") == "Mxfp4Config":
        given = data.get("fsdp_config") or {}
        if given.get("cpu_ram_efficient_loading", False) is True:
            says = "FSDP cpu_ram_efficient_loading is not supported for Mxfp4Config model quantization."
            raise excludes(
                FSDP,
                "fsdp_config.cpu_ram_efficient_loading",
                "Mxfp4 quantization",
                says,
                at=("fsdp_config.cpu_ram_efficient_loading", "model_quantization_config"),
            )
