"""axolotl's checks and completions after pydantic's validation of the fields (axolotl 0.21.0).

Each function is one of axolotl's `mode="after"` validators; the list at the end has them in the order in which pydantic runs them."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import (
    ADAPTER,
    ATTENTION,
    CHECKPOINTING,
    COMPILE,
    FSDP,
    MODEL_TYPE,
    PARALLEL,
    PRECISION,
    QUANTIZATION,
    RL,
    SCHEDULE,
    Model,
    Refusal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PACKING = (  # attention that keeps packed samples apart (enums.py:137-150)
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
    "flash_attention_torch",
    "flex_attention",
    "xformers",
    "sage",
    "kernels-community/flash-attn2",
    "kernels-community/flash-attn3",
    "kernels-community/sage-attention",
)
INDEPENDENT_INIT = (None, True, False, "gaussian")
LORA = ("lora", "qlora")
BNB_8BIT = ("adamw_8bit", "adamw_bnb_8bit")
KERNEL_MODULES = {  # what a fused kernel covers (validation.py:30-66)
    "lora_mlp_kernel": (
        "gate_proj",
        "up_proj",
        "down_proj",
        "mlp",
        "mixer",
        "shared_experts",
        "shared_expert",
        "feedforward",
        "experts",
        "gate_projs",
        "up_projs",
        "down_projs",
    ),
    "lora_qkv_kernel": (
        "q_proj",
        "k_proj",
        "v_proj",
        "in_proj_qkv",
        "in_proj_z",
        "in_proj_b",
        "in_proj_a",
        "self_attn",
        "linear_attn",
        "mixer",
    ),
    "lora_o_kernel": ("o_proj", "out_proj", "self_attn", "linear_attn", "mixer"),
    "flash_attn_fuse_mlp": ("gate_proj", "up_proj", "down_proj", "mlp"),
}
CONTAINERS = ("model", "language_model", "text_model", "decoder", "transformer", "backbone", "layers", "layer", "h", "blocks", "block")
MATMULS = ("aten::mm", "aten::addmm", "aten::matmul", "aten::bmm")


def supports_packing(model: Model) -> bool:
    """Whether the attention implementation keeps packed samples apart (config.py:1590, enums.py:163)."""
    name = model.attn_implementation
    return name is not None and name.split(":", 1)[0].split("@", 1)[0].strip() in PACKING


def vllm_mode(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2553 does."""
    if model.trl and model.trl["use_vllm"] and not model.trl["vllm_mode"]:
        model.trl["vllm_mode"] = "server"


def colocated_vllm(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2562 does."""
    trl = model.trl
    if not (trl and trl["use_vllm"] and trl["vllm_mode"] == "colocate"):
        return
    if (model.context_parallel_size or 1) > 1:
        raise Refusal(
            RL,
            ("trl.vllm_mode", "context_parallel_size"),
            "`trl.vllm_mode: colocate` is incompatible with `context_parallel_size` above 1",
            "`vllm_mode: colocate` is not supported with `context_parallel_size > 1`. Use `vllm_mode: server` with a dedicated vLLM GPU.",
        )
    if trl["vllm_lora_sync"]:
        raise Refusal(
            RL,
            ("trl.vllm_lora_sync", "trl.vllm_mode"),
            "`trl.vllm_lora_sync` requires `vllm_mode: server`",
            "`vllm_lora_sync: true` requires `vllm_mode: server` (adapters are pushed over HTTP to the vLLM server).",
        )
    asynchronous = next((key for key in ("async_prefetch", "use_data_producer") if trl[key]), "")
    if asynchronous and model.adapter:
        raise Refusal(
            RL,
            (f"trl.{asynchronous}", "trl.vllm_mode", "adapter"),
            f"`trl.{asynchronous}` with an adapter requires `vllm_mode: server`",
            "`vllm_mode: colocate` with an adapter is not supported by the async GRPO trainer (`async_prefetch` / `use_data_producer`)",
        )


def ebft_reentrant(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2433 does."""
    strided = model.rl == "ebft" and model.ebft and model.ebft["mode"] == "strided"
    if strided and model.attn_implementation == "flex_attention" and model.gradient_checkpointing:
        model.gradient_checkpointing_kwargs = {**(model.gradient_checkpointing_kwargs or {}), "use_reentrant": True}


def ebft_offloading(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2458 does."""
    strided = model.rl == "ebft" and model.ebft and model.ebft["mode"] == "strided"
    if strided and model.activation_offloading is True and model.attn_implementation == "flex_attention":
        raise Refusal(
            RL,
            ("activation_offloading", "attn_implementation"),
            "`activation_offloading` is incompatible with `attn_implementation: flex_attention` in strided EBFT",
            "EBFT strided mode: `activation_offloading: true` is incompatible with `attn_implementation: flex_attention`.",
        )


def tensor_parallel_optimizer(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2335 does."""
    if (model.tensor_parallel_size or 1) > 1 and model.optimizer in ("paged_adamw_8bit", *BNB_8BIT):
        raise Refusal(
            PARALLEL,
            ("optimizer", "tensor_parallel_size"),
            f"the optimizer {model.optimizer} is incompatible with `tensor_parallel_size` above 1",
            "tensor_parallel_size is not supported with paged_adamw_8bit, adamw_8bit, and adamw_bnb_8bit optimizers",
        )


def tensor_parallel_loading(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2346 does."""
    staged = model.nf4_backend == "torchao" or (model.qlora_sharded_model_loading and model.load_in_4bit)
    if (model.tensor_parallel_size or 1) > 1 and not staged and model.fsdp_config and model.fsdp_config["cpu_ram_efficient_loading"]:
        model.fsdp_config = {**model.fsdp_config, "cpu_ram_efficient_loading": False}


def tensor_and_expert_parallel(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2368 does."""
    if (model.tensor_parallel_size or 1) > 1 and (model.expert_parallel_size or 1) > 1:
        raise Refusal(
            PARALLEL,
            ("tensor_parallel_size", "expert_parallel_size"),
            "`tensor_parallel_size` above 1 is incompatible with `expert_parallel_size` above 1",
            "tensor_parallel_size > 1 cannot be combined with expert_parallel_size > 1; shard the experts with expert_parallel_size and "
            "the rest with dp_shard_size",
        )


def preference_beta(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2202 does."""
    if model.dpo_beta and not model.rl_beta:
        model.rl_beta, model.dpo_beta = model.dpo_beta, None


def simpo_warmup(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2209 does."""
    if model.rl == "simpo" and model.warmup_ratio:
        raise Refusal(
            SCHEDULE,
            ("warmup_ratio", "rl"),
            "`warmup_ratio` is incompatible with `rl: simpo`; use `warmup_steps`",
            "warmup_ratio is not supported with the simpo trainer. Please use `warmup_steps` instead",
        )


def relora(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2217 does."""
    if not model.relora:
        return
    if not model.jagged_restart_steps:
        raise Refusal(ADAPTER, ("relora",), "`relora` requires `jagged_restart_steps`", "jagged_restart_steps must be set to use ReLoRA")
    if model.adapter not in LORA and not (model.adapter == "mora" or (model.adapter and model.foreign_plugins)):
        raise Refusal(
            ADAPTER,
            ("relora", "adapter"),
            "`relora` requires `adapter: lora` or `qlora`",
            "cfg.adapter must support ReLoRA to use ReLoRA restart semantics",
        )
    for key, holds, says in (
        ("fsdp_config", bool(model.fsdp_config), "fsdp not supported with ReLoRA"),
        ("deepspeed", bool(model.deepspeed), "deepspeed not supported with ReLoRA"),
        ("lr_scheduler", model.lr_scheduler == "one_cycle", "ReLoRA is not compatible with the one_cycle scheduler"),
        ("flash_attn_fuse_mlp", bool(model.flash_attn_fuse_mlp), "Fused modules are not supported with ReLoRA"),
    ):
        if holds:
            raise Refusal(ADAPTER, ("relora", key), f"`relora` is incompatible with `{key}`", says)


def early_stopping(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2257 does."""
    if not model.early_stopping_patience:
        return
    if not model.save_steps or not model.eval_steps:
        raise Refusal(
            SCHEDULE,
            ("early_stopping_patience", "save_steps", "eval_steps"),
            "`early_stopping_patience` requires `save_steps` and `eval_steps` (`saves_per_epoch` and `evals_per_epoch` do not count)",
            "`early_stopping_patience` requires save_steps and eval_steps to be set. eval_steps should evenly divide save_steps.",
        )
    if model.save_steps % model.eval_steps != 0:
        raise Refusal(
            SCHEDULE,
            ("early_stopping_patience", "save_steps", "eval_steps"),
            f"`early_stopping_patience` requires `save_steps` ({model.save_steps}) to be a multiple of `eval_steps` ({model.eval_steps})",
            "`early_stopping_patience` requires that eval_steps should evenly divide save_steps.",
        )


def tensor_parallel_default(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:2270 does."""
    model.tensor_parallel_size = model.tensor_parallel_size or 1


def context_parallel(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2276 does."""
    if model.sequence_parallel_degree and not model.context_parallel_size:
        model.context_parallel_size = model.sequence_parallel_degree
    if not model.context_parallel_size:
        model.context_parallel_size = 1
    if model.context_parallel_size <= 1:
        return
    if (model.sample_packing or model.batch_flattening) and model.use_glm_dsa_kernels:
        raise Refusal(
            PARALLEL,
            ("context_parallel_size", "use_glm_dsa_kernels"),
            "`context_parallel_size` above 1 with `use_glm_dsa_kernels` does not support packed samples",
            "GLM DSA context parallelism does not support packed inputs",
        )
    if model.attn_implementation == "eager" and not model.use_glm_dsa_kernels:
        raise Refusal(
            PARALLEL,
            ("context_parallel_size", "attn_implementation"),
            "`context_parallel_size` above 1 is incompatible with `attn_implementation: eager`",
            "context parallelism wraps a kernel-backed attention implementation (sdpa/flash/flex); `attn_implementation: eager` is not "
            "supported.",
        )


def context_parallel_deepspeed(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2320 does."""
    if not (model.deepspeed and (model.context_parallel_size or 1) > 1):
        return
    if model.use_glm_dsa_kernels:
        raise Refusal(
            PARALLEL,
            ("use_glm_dsa_kernels", "deepspeed"),
            "`use_glm_dsa_kernels` with `context_parallel_size` above 1 is incompatible with DeepSpeed",
            "GLM DSA context parallelism needs ringmaster, which does not run under DeepSpeed; use FSDP2 instead.",
        )
    if model.rl:
        raise Refusal(
            PARALLEL,
            ("context_parallel_size", "rl", "deepspeed"),
            "`context_parallel_size` above 1 under DeepSpeed does not support `rl`; use FSDP2",
            f"rl: RLType.{model.rl.upper()} with context_parallel_size > 1 under DeepSpeed is not supported: only the SFT trainer "
            "weights each Ulysses rank's loss; use FSDP2.",
        )
    given = model.context_parallel
    if given and (
        given["backend"] not in ("auto", "ulysses")
        or given["ring_size"] not in (None, 1)
        or given["ulysses_size"] not in (None, given["size"])
    ):
        raise Refusal(
            PARALLEL,
            ("context_parallel.backend", "deepspeed"),
            "under DeepSpeed `context_parallel` requires `backend: ulysses` with the full degree",
            "Under DeepSpeed, context parallelism maps to DeepSpeed Ulysses (ALST): only `context_parallel.backend: ulysses` (or auto) "
            "with the full CP degree as ulysses_size is supported; Ring/USP need FSDP2.",
        )


def falcon(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1960 does."""
    if model.base_model and "falcon" in model.base_model.lower() and model.fsdp_config:
        raise Refusal(
            MODEL_TYPE,
            ("fsdp_config", "base_model"),
            "`fsdp_config` is incompatible with falcon models",
            "FSDP is not supported for falcon models",
        )


def mpt(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1968 does."""
    if model.base_model and "mpt" in model.base_model.lower() and model.gradient_checkpointing:
        raise Refusal(
            MODEL_TYPE,
            ("gradient_checkpointing", "base_model"),
            'MPT models (any `base_model` with "mpt" in its name) do not support `gradient_checkpointing`',
            "gradient_checkpointing is not supported for MPT models",
        )


def offloaded_checkpoints(model: Model) -> None:
    """Complete the values as utils/schemas/validation.py:1976 does."""
    if model.gradient_checkpointing in ("offload", "offload_disk"):
        model.activation_offloading = True if model.gradient_checkpointing == "offload" else "disk"
        model.gradient_checkpointing = True


def offloading_alone(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1996 does."""
    if model.activation_offloading and not model.gradient_checkpointing:
        raise Refusal(
            CHECKPOINTING,
            ("activation_offloading",),
            "`activation_offloading` requires `gradient_checkpointing: true`",
            "activation_offloading requires gradient_checkpointing",
        )


def kernel_on(model: Model, flag: str) -> bool:
    """Whether a LoRA kernel is enabled (validation.py:120)."""
    value = getattr(model, flag)
    return bool(value) and bool(model.adapter) if flag.startswith("lora_") else bool(value)


def selective_checkpointing(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2003 does."""
    given, key = model.selective_checkpointing, "selective_checkpointing"
    if not given:
        model.selective_checkpointing = None
        return
    if not model.gradient_checkpointing:
        raise Refusal(CHECKPOINTING, (key,), f"`{key}` requires `gradient_checkpointing: true`", f"{key} requires gradient_checkpointing")
    if (model.gradient_checkpointing_kwargs or {}).get("use_reentrant"):
        raise Refusal(
            CHECKPOINTING,
            ("gradient_checkpointing_kwargs.use_reentrant", key),
            f"`{key}` requires `gradient_checkpointing_kwargs.use_reentrant: false`",
            f"{key} requires non-reentrant checkpointing (gradient_checkpointing_kwargs.use_reentrant: false)",
        )
    if model.activation_offloading and model.activation_offloading != "hidden_states":
        raise Refusal(
            CHECKPOINTING,
            ("activation_offloading", key),
            f"`{key}` requires `activation_offloading: hidden_states` or false",
            f"{key} is only compatible with activation_offloading: hidden_states (or false); the TRL offloader paths bypass HF gradient "
            "checkpointing",
        )
    if isinstance(given, dict):
        saved_operations(model, given)
        saved_modules(model, given)


def saved_operations(model: Model, given: dict[str, object]) -> None:
    """Refuse to save operations that a fused kernel changes in place."""
    if not any(kernel_on(model, flag) for flag in ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")):
        return
    saved = given["save"]
    bad = [each for each in saved if each != "attention" and any(each in name for name in MATMULS)] if isinstance(saved, list) else []
    if bad:
        raise Refusal(
            CHECKPOINTING,
            ("selective_checkpointing.save",),
            f"`selective_checkpointing.save` holds {bad[0]}, which a fused LoRA kernel changes in place: set `lora_*_kernel: false`",
            f"selective_checkpointing.save entries {bad} match matmul ops, which cannot be saved while a fused LoRA kernel is enabled",
        )
    if given["save_matmul_min_k"]:
        raise Refusal(
            CHECKPOINTING,
            ("selective_checkpointing.save_matmul_min_k",),
            "`save_matmul_min_k` is incompatible with fused LoRA kernels: set `lora_*_kernel: false`",
            "selective_checkpointing.save_matmul_min_k saves the base matmul that a fused LoRA kernel then mutates in-place (addmm_).",
        )


def saved_modules(model: Model, given: dict[str, object]) -> None:
    """Refuse to save modules that a fused kernel replaces."""
    from fnmatch import fnmatchcase

    entries = given["save_modules"] or []
    for flag, modules in KERNEL_MODULES.items():
        for entry in entries if isinstance(entries, list) and kernel_on(model, flag) else ():
            last = entry.strip().rsplit(".", 1)[-1]
            wild = any(char in last for char in "*?[")
            covered = any(fnmatchcase(name, last) if wild else name == last for name in modules)
            names = (*CONTAINERS, *map(str, range(100)))
            container = any(fnmatchcase(name, last) for name in names) if wild else last.isdigit() or last in CONTAINERS
            if covered or (flag.startswith("lora_") and container):
                raise Refusal(
                    CHECKPOINTING,
                    ("selective_checkpointing.save_modules", flag),
                    f"`selective_checkpointing.save_modules` names {entry}, which `{flag}` replaces: set `{flag}: false`",
                    f"selective_checkpointing.save_modules entry {entry!r} "
                    + (
                        f"names a module whose forward is replaced by {flag}: true"
                        if covered
                        else "scopes a decoder layer or model container"
                    ),
                )


def regional_compile(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2099 does."""
    if model.torch_compile and model.torch_compile_regional and model.gradient_checkpointing:
        raise Refusal(
            COMPILE,
            ("torch_compile_regional", "gradient_checkpointing"),
            "`torch_compile_regional` is incompatible with `gradient_checkpointing`",
            "torch_compile_regional cannot be combined with gradient_checkpointing: the checkpoint recompute can run a different Dynamo "
            "cache entry than the forward (pytorch/pytorch#166926). Use whole-model compile.",
        )


def expert_checkpointing(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2114 does: "auto" means deep_ep if that package is installed, and it is assumed
    missing."""
    if (model.expert_parallel_size or 1) <= 1 or model.expert_parallel_backend not in ("auto", "torch") or not model.gradient_checkpointing:
        return
    if (model.gradient_checkpointing_kwargs or {}).get("use_reentrant"):
        raise Refusal(
            CHECKPOINTING,
            ("gradient_checkpointing_kwargs.use_reentrant", "expert_parallel_size"),
            "expert parallelism requires `use_reentrant: false`",
            "expert_parallel_backend: torch requires non-reentrant gradient checkpointing (gradient_checkpointing_kwargs.use_reentrant: "
            "false)",
        )
    if model.activation_offloading in (True, "legacy", "disk"):
        raise Refusal(
            CHECKPOINTING,
            ("activation_offloading", "expert_parallel_size"),
            "expert parallelism requires `activation_offloading: hidden_states` or false",
            f"expert_parallel_backend: torch is incompatible with activation_offloading {model.activation_offloading!r}",
        )


def expert_chunks(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2146 does."""
    if (model.expert_parallel_dispatch_chunks or 1) > 1 and model.expert_parallel_backend == "deep_ep":
        raise Refusal(
            PARALLEL,
            ("expert_parallel_dispatch_chunks", "expert_parallel_backend"),
            "`expert_parallel_dispatch_chunks` above 1 requires `expert_parallel_backend: torch`",
            "expert_parallel_dispatch_chunks > 1 requires expert_parallel_backend: torch (DeepEP dispatches the whole batch in one fused "
            "kernel)",
        )


def hidden_state_offloading(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2154 does."""
    if model.activation_offloading != "hidden_states":
        return
    given = {"use_reentrant": False, **(model.gradient_checkpointing_kwargs or {})}
    model.gradient_checkpointing_kwargs = given
    if given["use_reentrant"] and model.unfrozen_parameters:
        raise Refusal(
            CHECKPOINTING,
            ("gradient_checkpointing_kwargs.use_reentrant", "unfrozen_parameters"),
            "`activation_offloading: hidden_states` with `use_reentrant: true` is incompatible with `unfrozen_parameters`",
            "activation_offloading: hidden_states with reentrant checkpointing is incompatible with `unfrozen_parameters` (partially "
            "frozen model).",
        )


def better_transformers(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:2175 does."""
    half = next((key for key in ("fp16", "bf16") if getattr(model, key)), "")
    if model.flash_optimum is True and half:
        raise Refusal(
            PRECISION,
            (half, "flash_optimum"),
            f"`{half}` is incompatible with `flash_optimum`",
            "AMP is not supported with BetterTransformer",
        )


def batch_flattening(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1330 does."""
    if not model.batch_flattening:
        return
    automatic = model.batch_flattening == "auto"
    variable = supports_packing(model) or model.attn_implementation == "varlen"
    if not variable and not automatic:
        raise Refusal(
            ATTENTION,
            ("batch_flattening", "attn_implementation"),
            "`batch_flattening` requires an attention for variable lengths, such as `attn_implementation: flash_attention_2`",
            "batch_flattening requires a varlen-capable attention backend (e.g., attn_implementation: flash_attention_2).",
        )
    if model.sample_packing and not automatic:
        raise Refusal(
            ATTENTION,
            ("batch_flattening", "sample_packing"),
            "`batch_flattening` is incompatible with `sample_packing`",
            "batch_flattening not compatible with sample_packing",
        )
    if automatic:
        model.batch_flattening = variable and not model.sample_packing and model.micro_batch_size > 1


def fsdp_8bit(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1564 does."""
    if model.fsdp_config and model.optimizer in BNB_8BIT:
        raise Refusal(
            FSDP,
            ("optimizer", "fsdp_config"),
            f"the optimizer {model.optimizer} is incompatible with FSDP2; use `adamw_torch_8bit`",
            f"FSDP2 not compatible with {model.optimizer}, use `adamw_torch_8bit` instead",
        )


def fsdp_4bit_loading(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1581 does."""
    efficient = bool(model.fsdp_config and model.fsdp_config["cpu_ram_efficient_loading"])
    if model.qlora_sharded_model_loading is None:
        model.qlora_sharded_model_loading = efficient and model.adapter == "qlora" and bool(model.load_in_4bit)
    if efficient and model.load_in_4bit and not model.qlora_sharded_model_loading:
        raise Refusal(
            FSDP,
            ("fsdp_config.cpu_ram_efficient_loading", "load_in_4bit"),
            "`fsdp_config.cpu_ram_efficient_loading` with `load_in_4bit` requires `qlora_sharded_model_loading: true`",
            "FSDP2 does not support `cpu_ram_efficient_loading` with load_in_4bit; the rank-0-only bitsandbytes quantization deadlocks the "
            "state dict scatter.",
        )


def bnb_blocks(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1607 does."""
    if model.load_in_4bit and model.nf4_backend != "torchao" and (model.bnb_config_kwargs or {}).get("blocksize", 64) != 64:
        raise Refusal(
            QUANTIZATION,
            ("bnb_config_kwargs.blocksize",),
            "`bnb_config_kwargs.blocksize` must be 64 under bitsandbytes",
            "bitsandbytes 4-bit loading always quantizes with blocksize 64; remove `bnb_config_kwargs.blocksize` or set it to 64.",
        )


def staged_nf4(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:1622 does, with the constraints of lines 1142-1205."""
    torchao = model.nf4_backend == "torchao"
    if not (torchao or (model.qlora_sharded_model_loading and model.load_in_4bit)):
        return
    sharding, given = model.fsdp_config, model.bnb_config_kwargs or {}
    if not torchao and not (sharding and sharding["cpu_ram_efficient_loading"]):
        model.qlora_sharded_model_loading = False
        return
    loftq = bool(model.peft and model.peft.get("loftq_config"))
    for key, violated, says in (
        (
            "adapter",
            not model.load_in_4bit or model.adapter != "qlora" or bool(model.load_in_8bit),
            "CPU-staged NF4 requires adapter: qlora and load_in_4bit: true",
        ),
        (
            "fsdp_config",
            bool(sharding) and (not sharding["cpu_ram_efficient_loading"] or not model.qlora_sharded_model_loading),
            "CPU-staged NF4 requires FSDP2, cpu_ram_efficient_loading and qlora_sharded_model_loading",
        ),
        (
            "deepspeed",
            bool(model.deepspeed) or (model.tensor_parallel_size or 1) > 1 or (model.context_parallel_size or 1) > 1,
            "CPU-staged NF4 does not support DeepSpeed, tensor or context parallelism",
        ),
        (
            "dp_replicate_size",
            (model.dp_replicate_size or 1) > 1,
            "CPU-staged NF4 requires a one-dimensional sharding mesh; dp_replicate_size must be 1",
        ),
        ("bnb_config_kwargs", given.get("bnb_4bit_quant_type", "nf4") != "nf4", "CPU-staged NF4 requires bnb_4bit_quant_type: nf4"),
        (
            "bnb_config_kwargs",
            torchao and (given.get("blocksize", 64) != 64 or not given.get("bnb_4bit_use_double_quant", True)),
            "torchao NF4 requires blocksize 64 and double quantization",
        ),
        (
            "lora_modules_to_save" if model.lora_modules_to_save else "peft_use_dora",
            bool(model.peft_use_dora or model.lora_modules_to_save),
            "CPU-staged NF4 currently requires LoRA without DoRA or modules_to_save",
        ),
        (
            "peft_init_lora_weights",
            model.peft_init_lora_weights not in INDEPENDENT_INIT or loftq,
            "CPU-staged NF4 does not support a value-dependent LoRA init",
        ),
    ):
        if violated:
            origin = "nf4_backend" if torchao else "fsdp_config.cpu_ram_efficient_loading"
            raise Refusal(QUANTIZATION, (key, origin), f"`{key}`: {says[0].upper()}{says[1:]}", says)


def fused_modules(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:860 does."""
    if model.adapter in ("lora", "qlora", "mixlora") and model.flash_attn_fuse_mlp:
        raise Refusal(
            ADAPTER,
            ("flash_attn_fuse_mlp", "adapter"),
            "`flash_attn_fuse_mlp` is incompatible with LoRA adapters",
            "Fused modules are not supported with LoRA/QLoRA",
        )
    if model.adapter == "mixlora" and model.rl is not None:
        raise Refusal(
            ADAPTER,
            ("rl", "adapter"),
            "`adapter: mixlora` is incompatible with `rl`",
            "MixLoRA is not compatible with RL training (DPO/KTO/GRPO). Use adapter: lora or qlora for RL fine-tuning.",
        )


def onebit(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:876 does."""
    if model.use_onebitllms and model.adapter in LORA:
        raise Refusal(
            ADAPTER,
            ("use_onebitllms", "adapter"),
            "`use_onebitllms` is incompatible with LoRA adapters",
            "LoRA/QLoRA is not supported with use_onebitllms",
        )


def scaling_softmax(model: Model) -> None:
    """Check the values as utils/schemas/validation.py:432 does."""
    if model.scaling_softmax and model.attn_implementation != "flex_attention":
        raise Refusal(
            ATTENTION,
            ("scaling_softmax", "attn_implementation"),
            "`scaling_softmax` requires `attn_implementation: flex_attention`",
            "scaling_softmax requires flex attention. Add `attn_implementation: flex_attention` to your config.",
        )


def mixlora_experts(model: Model) -> None:
    """Check the values as utils/schemas/peft.py:366 does."""
    experts = 8 if model.mixlora_num_experts is None else model.mixlora_num_experts
    chosen = 2 if model.mixlora_top_k is None else model.mixlora_top_k
    if chosen > experts:
        raise Refusal(
            ADAPTER,
            ("mixlora_top_k", "mixlora_num_experts"),
            f"`mixlora_top_k` ({chosen}) is above `mixlora_num_experts` ({experts})",
            f"mixlora_top_k ({chosen}) must be <= mixlora_num_experts ({experts})",
        )


def qlora(model: Model) -> None:
    """Check the values as utils/schemas/peft.py:223 does."""
    if model.adapter != "qlora":
        return
    verb = "merge" if model.merge_lora else "load"
    if model.load_in_8bit:
        raise Refusal(
            ADAPTER,
            ("load_in_8bit", "adapter"),
            "`adapter: qlora` requires `load_in_4bit`, not `load_in_8bit`",
            f"Can't {verb} qlora {'if loaded ' if model.merge_lora else ''}in 8bit",
        )
    if model.gptq:
        raise Refusal(ADAPTER, ("gptq", "adapter"), "`gptq` is incompatible with `adapter: qlora`", f"Can't {verb} qlora if gptq")
    if model.merge_lora and model.load_in_4bit:
        raise Refusal(
            ADAPTER,
            ("load_in_4bit", "merge_lora"),
            "`merge_lora` is incompatible with `load_in_4bit`",
            "Can't merge qlora if loaded in 4bit",
        )
    if not model.merge_lora and not model.load_in_4bit:
        raise Refusal(
            ADAPTER,
            ("adapter", "load_in_4bit"),
            "`adapter: qlora` requires `load_in_4bit: true`",
            "Require cfg.load_in_4bit to be True for qlora",
        )


def target_parameters(model: Model) -> None:
    """Check the values as utils/schemas/peft.py:258-297 does."""
    key = "lora_target_parameters"
    if not model.lora_target_parameters:
        return
    if model.lora_dropout:
        raise Refusal(
            ADAPTER,
            ("lora_dropout", key),
            f"`{key}` requires `lora_dropout: 0`",
            f"lora_dropout must be 0 when {key} is set. PEFT's ParamWrapper does not support lora_dropout != 0.",
        )
    if model.peft_init_lora_weights not in INDEPENDENT_INIT or (model.peft and model.peft.get("loftq_config")):
        raise Refusal(
            ADAPTER,
            ("peft_init_lora_weights", key),
            f"`{key}` requires the default or gaussian `peft_init_lora_weights`",
            f"peft_init_lora_weights must be the default or gaussian when {key} is set",
        )


def mixlora_sizes(model: Model) -> None:
    """Check the values as utils/schemas/peft.py:299 does."""
    for key in ("lora_r", "lora_alpha") if model.adapter == "mixlora" else ():
        if not getattr(model, key):
            raise Refusal(
                ADAPTER, (key, "adapter"), f"`adapter: mixlora` requires `{key}`", f"{key} is required when using the mixlora adapter"
            )


def balanced_labels(model: Model) -> None:
    """Check the values as utils/schemas/config.py:1741 does."""
    key = "balance_labels"
    grouped = not model.sample_packing and (model.streaming or model.pretraining_dataset or model.group_by_length)
    rivals = ("sample_packing_sequentially", "curriculum_sampling", "diffusion_lm", "rl", "reward_model", "process_reward_model")
    rival = next((name for name in rivals if getattr(model, name)), "")
    if model.balance_labels and (grouped or rival):
        raise Refusal(
            SCHEDULE,
            (key, rival or "group_by_length"),
            f"`{key}` requires packed or fixed-size causal batches without other sampling",
            "balance_labels requires causal LM sample_packing or map-style fixed-count batching without sequential, curriculum, or "
            "conflicting length-grouped sampling",
        )
    window = "label_balance_window_optim_steps"
    if model.label_balance_window_optim_steps > 1 and not model.balance_labels:
        raise Refusal(SCHEDULE, (window,), f"`{window}` requires `{key}`", f"{window} requires {key}")
    if model.label_balance_window_optim_steps > 1 and (model.streaming or model.pretraining_dataset):
        raise Refusal(
            SCHEDULE, (window,), f"`{window}` above 1 is incompatible with streaming", f"{window} > 1 requires non-streaming training"
        )
    if model.balance_labels and (model.accelerator_config or {}).get("split_batches"):
        raise Refusal(
            SCHEDULE,
            (key, "accelerator_config.split_batches"),
            f"`{key}` requires `accelerator_config.split_batches: false`",
            "balance_labels requires split_batches=False for optimizer-step grouping",
        )


def compile_options(model: Model) -> None:
    """Check the values as utils/schemas/config.py:1772 does."""
    if model.torch_compile_options is not None and not model.torch_compile:
        raise Refusal(
            COMPILE,
            ("torch_compile_options",),
            "`torch_compile_options` requires `torch_compile: true`",
            "torch_compile_options is set but torch_compile is not enabled. Set torch_compile: true (or torch_compile: auto) to use these "
            "flags.",
        )


def fp32_norms(model: Model) -> None:
    """Check the values as utils/schemas/config.py:1801 does."""
    if model.fp32_norms and model.fsdp_config is None:
        raise Refusal(
            PRECISION,
            ("fp32_norms",),
            "`fp32_norms` requires `fsdp_config`",
            "fp32_norms requires FSDP to be enabled (fsdp_config block must be set).",
        )


def torch_attention(model: Model) -> None:
    """Check the values as utils/schemas/config.py:1862 does: transformers 5.20 has no such attention registered."""
    if model.attn_implementation == "flash_attention_torch":
        raise Refusal(
            ATTENTION,
            ("attn_implementation",),
            "`attn_implementation: flash_attention_torch` is not registered in transformers 5.20.1",
            "attn_implementation=flash_attention_torch requires a transformers release that registers torch's varlen attention backend",
        )


CHECKS_FIRST: tuple[Callable[[Model], None], ...] = (
    vllm_mode,
    colocated_vllm,
    ebft_reentrant,
    ebft_offloading,
    tensor_parallel_optimizer,
    tensor_parallel_loading,
    tensor_and_expert_parallel,
    preference_beta,
    simpo_warmup,
    relora,
    early_stopping,
    tensor_parallel_default,
    context_parallel,
    context_parallel_deepspeed,
    falcon,
    mpt,
    offloaded_checkpoints,
    offloading_alone,
    selective_checkpointing,
    regional_compile,
    expert_checkpointing,
    expert_chunks,
    hidden_state_offloading,
    better_transformers,
    batch_flattening,
    fsdp_8bit,
    fsdp_4bit_loading,
    bnb_blocks,
    staged_nf4,
    fused_modules,
    onebit,
    scaling_softmax,
)
# Those of plugins come here.
CHECKS_LAST: tuple[Callable[[Model], None], ...] = (
    mixlora_experts,
    qlora,
    target_parameters,
    mixlora_sizes,
    balanced_labels,
    compile_options,
    fp32_norms,
    torch_attention,
)
