"""axolotl's validators that the rows leave out: they ask axolotl's tables of models, open the DeepSpeed file, or build objects.

`BY_HAND` names the validator that each function follows, in the releases whose rows say so (`tools/rows_axolotl.py`).
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.frameworks.axolotl.refusals import ADAPTER, CHECKPOINTING, COMPILE, QUANTIZATION, AxolotlModel, Data, refuses
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY
from cfglint.frameworks.refusal import Removal
from cfglint.source.annotations import Any, Callable

LORA_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")
ADAPTERS = ("lora", "qlora", "llama-adapter")
PLUGIN_ADAPTERS = {"mixlora": "mixlora", "mora": "mora"}
LORA = ("lora", "qlora")
ANY_ADAPTER = Releases((), (0, 20, 0))  # saved operations are refused with any adapter, and modules cannot be named
KERNEL_MODULES = {  # the modules that a fused kernel replaces (validation.py:30-66)
    "lora_mlp_kernel": tuple(
        "gate_proj up_proj down_proj mlp mixer shared_experts shared_expert feedforward experts gate_projs up_projs down_projs".split()
    ),
    "lora_qkv_kernel": tuple("q_proj k_proj v_proj in_proj_qkv in_proj_z in_proj_b in_proj_a self_attn linear_attn mixer".split()),
    "lora_o_kernel": ("o_proj", "out_proj", "self_attn", "linear_attn", "mixer"),
    "flash_attn_fuse_mlp": ("gate_proj", "up_proj", "down_proj", "mlp"),
}
CONTAINERS = ("model", "language_model", "text_model", "decoder", "transformer", "backbone", "layers", "layer", "h", "blocks", "block")
SELECTIVE = "selective_checkpointing"
REENTRANT = "gradient_checkpointing_kwargs.use_reentrant"
OFFLOAD_STATES = set_key("gradient_checkpointing", True) & set_key("activation_offloading", "hidden_states")
KERNELS_OFF = "set `lora_*_kernel: false`"
MATMULS = ("aten::mm", "aten::addmm", "aten::matmul", "aten::bmm")


def kernels_by_themselves(data: Data) -> None:
    """Complete the values as utils/schemas/config.py:2083 does: LoRA kernels are on unless something prevents them (:88-117)."""
    if data.get("rl") or data.get("nvfp4_merge_aware") or data.get("adapter") not in ("lora", "qlora"):
        return
    flags = (*LORA_KERNELS, "lora_embedding_kernel")
    if any(data.get(flag) is not None for flag in flags) or data.get("trust_remote_code"):
        return
    if data.get("adapter") == "lora" and data.get("load_in_8bit"):
        return
    if data.release < (0, 17, 0) and any(data.get(flag) for flag in ("unsloth_lora_mlp", "unsloth_lora_qkv", "unsloth_lora_o")):
        return
    is_fsdp1 = data.get("fsdp_config") is not None and str(data.get("fsdp_version")) != "2"
    if data.release in FSDP2_ONLY or not is_fsdp1 or data["capabilities"]["n_gpu"] == 1:
        data.update(dict.fromkeys(flags, True))


def kernels_and_remote_code(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:918 does: some model types are allowed, and the type of a given model is unknown."""
    flag = next((flag for flag in LORA_KERNELS if data.get(flag)), "")
    if flag and data.get("trust_remote_code"):
        says = (
            "lora_mlp_kernel, lora_qkv_kernel, and lora_o_kernel are not compatible with trust_remote_code. Please disable "
            "trust_remote_code or explicitly set lora_*_kernel to false."
        )
        steps = [Removal(flag), Removal("trust_remote_code", "true")]
        message = f"`{flag}` is incompatible with `trust_remote_code: true`"
        raise refuses(ADAPTER, (flag, "trust_remote_code"), message, says, remedy=steps)


def tensor_parallel_json(data: Data) -> None:
    """Complete the DeepSpeed file as utils/schemas/validation.py:1582 does: a mapping cannot be opened."""
    size = data.get("tensor_parallel_size")
    if size is not None and size > 1 and data.get("deepspeed"):
        named_file(data)
        data.additions.update({"tensor_parallel": {"autotp_size": size}, "zero_optimization.gather_16bit_weights_on_model_save": True})


def deepcompile(data: Data) -> None:
    if not data.get("deepcompile"):
        return
    if not data.get("deepspeed"):
        says, steps = "DeepCompile is only supported with DeepSpeed", ("set `deepspeed`", Removal("deepcompile"))
        raise refuses(COMPILE, ("deepcompile", "deepspeed"), "`deepcompile` requires `deepspeed`", says, remedy=steps)
    named_file(data)
    data.additions["compile"] = {"deepcompile": True}


def named_file(data: Data) -> None:
    """Refuse a DeepSpeed config that is opened as a file but is not a file name."""
    if not isinstance(data.get("deepspeed"), str):
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(data['deepspeed']).__name__}")


def kernel_on(model: AxolotlModel, flag: str) -> bool:
    """Whether a LoRA kernel is enabled (validation.py:120)."""
    value = getattr(model, flag)
    return bool(value) and bool(model.adapter) if flag.startswith("lora_") else bool(value)


def selective_checkpointing(model: AxolotlModel) -> None:
    given = model.selective_checkpointing
    if not given:
        model.selective_checkpointing = None
        return
    if not model.gradient_checkpointing:
        message, says = f"`{SELECTIVE}` requires `gradient_checkpointing: true`", f"{SELECTIVE} requires gradient_checkpointing"
        steps = (set_key("gradient_checkpointing", True), Removal(SELECTIVE))
        raise refuses(CHECKPOINTING, (SELECTIVE, "gradient_checkpointing"), message, says, remedy=steps)
    if (model.gradient_checkpointing_kwargs or {}).get("use_reentrant"):
        says = f"{SELECTIVE} requires non-reentrant checkpointing ({REENTRANT}: false)"
        steps = (set_key(REENTRANT, False), Removal(SELECTIVE))
        raise refuses(CHECKPOINTING, (REENTRANT, SELECTIVE), f"`{SELECTIVE}` requires `{REENTRANT}: false`", says, remedy=steps)
    if model.activation_offloading and model.activation_offloading != "hidden_states":
        says = (
            f"{SELECTIVE} is only compatible with activation_offloading: hidden_states (or false); the TRL offloader paths bypass HF "
            "gradient checkpointing"
        )
        message = f"`{SELECTIVE}` requires `activation_offloading: hidden_states` or false"
        raise refuses(CHECKPOINTING, ("activation_offloading", SELECTIVE), message, says, remedy=OFFLOAD_STATES)
    if isinstance(given, dict):
        saved_operations(model, given)
        saved_modules(model, given)


def saved_operations(model: AxolotlModel, given: dict[str, object]) -> None:
    """Refuse to save operations that a fused kernel changes in place."""
    fused = any(kernel_on(model, flag) for flag in ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"))
    if not (model.adapter if model.release in ANY_ADAPTER else fused):
        return
    saved = given["save"]
    bad = [each for each in saved if each != "attention" and any(each in name for name in MATMULS)] if isinstance(saved, list) else []
    remedy: Remedy | str = KERNELS_OFF
    cause, words = "a fused LoRA kernel", "while a fused LoRA kernel is enabled"
    if model.release in ANY_ADAPTER:
        cause, words, remedy = "LoRA", "when training with a LoRA/QLoRA adapter", remove_key("selective_checkpointing.save")
    if bad:
        says = f"selective_checkpointing.save entries {bad} match matmul ops, which cannot be saved {words}"
        message = f"`selective_checkpointing.save` contains {bad[0]}, which {cause} changes in place"
        raise refuses(CHECKPOINTING, "selective_checkpointing.save", message, says, remedy=remedy)
    if given.get("save_matmul_min_k"):
        says = "selective_checkpointing.save_matmul_min_k saves the base matmul that a fused LoRA kernel then mutates in-place (addmm_)."
        key = f"{SELECTIVE}.save_matmul_min_k"
        raise refuses(CHECKPOINTING, key, f"`{key}` is incompatible with fused LoRA kernels", says, remedy=KERNELS_OFF)


def saved_modules(model: AxolotlModel, given: dict[str, object]) -> None:
    """Refuse to save modules that a fused kernel replaces."""
    from fnmatch import fnmatchcase

    entries = given.get("save_modules") or []
    for flag, modules in KERNEL_MODULES.items():
        for entry in entries if isinstance(entries, list) and kernel_on(model, flag) else ():
            last = entry.strip().rsplit(".", 1)[-1]
            wild = any(char in last for char in "*?[")
            covered = any(fnmatchcase(name, last) if wild else name == last for name in modules)
            names = (*CONTAINERS, *map(str, range(100)))
            container = any(fnmatchcase(name, last) for name in names) if wild else last.isdigit() or last in CONTAINERS
            if covered or (flag.startswith("lora_") and container):
                says = f"selective_checkpointing.save_modules entry {entry!r} " + (
                    f"names a module whose forward is replaced by {flag}: true" if covered else "scopes a decoder layer or model container"
                )
                message = f"`selective_checkpointing.save_modules` names {entry}, which `{flag}` replaces"
                raise refuses(CHECKPOINTING, ("selective_checkpointing.save_modules", flag), message, says, remedy=set_key(flag, False))


def staged_nf4(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:1622 does, with the constraints of lines 1142-1205."""
    torchao = model.nf4_backend == "torchao"
    if not (torchao or (model.qlora_sharded_model_loading and model.load_in_4bit)):
        return
    if not torchao and not (model.fsdp_config and model.fsdp_config["cpu_ram_efficient_loading"]):
        model.qlora_sharded_model_loading = False
        return
    origin = "nf4_backend" if torchao else "fsdp_config.cpu_ram_efficient_loading"
    sharding, kwargs, saved = model.fsdp_config, model.bnb_config_kwargs or {}, "lora_modules_to_save"
    unwhole = sharding and (not sharding["cpu_ram_efficient_loading"] or not model.qlora_sharded_model_loading)
    is_split = model.deepspeed or (model.tensor_parallel_size or 1) > 1 or (model.context_parallel_size or 1) > 1
    is_single = kwargs.get("blocksize", 64) != 64 or not kwargs.get("bnb_4bit_use_double_quant", True)
    loftq = model.peft and model.peft.get("loftq_config")
    constraints = (  # of the loading and the parallel layout, of the quantization, of the LoRA adapter
        (not model.load_in_4bit or model.adapter != "qlora" or model.load_in_8bit, "adapter",
         "CPU-staged NF4 requires adapter: qlora and load_in_4bit: true"),
        (unwhole, "fsdp_config", "CPU-staged NF4 requires FSDP2, cpu_ram_efficient_loading and qlora_sharded_model_loading"),
        (is_split, "deepspeed", "CPU-staged NF4 does not support DeepSpeed, tensor or context parallelism"),
        ((model.dp_replicate_size or 1) > 1, "dp_replicate_size",
         "CPU-staged NF4 requires a one-dimensional sharding mesh; dp_replicate_size must be 1"),
        (kwargs.get("bnb_4bit_quant_type", "nf4") != "nf4", "bnb_config_kwargs", "CPU-staged NF4 requires bnb_4bit_quant_type: nf4"),
        (torchao and is_single, "bnb_config_kwargs", "torchao NF4 requires blocksize 64 and double quantization"),
        (model.lora_modules_to_save or model.peft_use_dora, saved if model.lora_modules_to_save else "peft_use_dora",
         "CPU-staged NF4 currently requires LoRA without DoRA or modules_to_save"),
        (model.peft_init_lora_weights not in (None, True, False, "gaussian") or loftq, "peft_init_lora_weights",
         "CPU-staged NF4 does not support a value-dependent LoRA init"),
    )  # fmt: skip
    for violated, key, says in constraints:
        if violated:
            raise refuses(QUANTIZATION, (key, origin), f"`{key}`: {says[0].upper()}{says[1:]}", says)


BY_HAND: dict[str, Callable[[Any], None]] = {
    "check_auto_enable_lora_kernels": kernels_by_themselves,
    "check_deepcompile": deepcompile,
    "check_lora_kernels_trust_remote_code": kernels_and_remote_code,
    "check_selective_checkpointing": selective_checkpointing,
    "check_staged_nf4": staged_nf4,
    "check_tensor_parallel_size_update_ds_json": tensor_parallel_json,
}
