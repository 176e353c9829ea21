"""Tensor, context and expert parallelism: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.checks_after.quantization import BNB_8BIT
from cfglint.frameworks.axolotl.refusals import PARALLEL, Model, Refusal

RING = Releases((), (0, 20, 0))  # context parallelism is ring-flash-attn's
RING_FLAG = Releases((), (0, 17, 0))  # which is chosen by `flash_attention`
RING_FLASH_3 = Releases((0, 17, 0), (0, 19, 0))
FLASH_LIBRARY = ("flash_attention_2", "flash_attention_3")


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
    if model.release in RING:
        if not model.use_glm_dsa_kernels:
            ring_attention(model, "context_parallel_size")
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


def ring_attention(model: Model, key: str) -> None:
    """Refuse what ring-flash-attn does not support, as axolotl 0.19.0 utils/schemas/validation.py:1757 does."""
    allowed = FLASH_LIBRARY if model.release in RING_FLASH_3 else FLASH_LIBRARY[:1]
    if model.release in RING_FLAG:
        missing = not model.flash_attention
        needed, says = "flash_attention: true", f"flash_attention: true must be set with {key} > 1"
    else:
        missing = str(model.attn_implementation).partition(":")[0] not in allowed
        needed = "attn_implementation: flash_attention_2"
        says = f"{key} > 1 requires attn_implementation: flash_attention_2."
    if missing:
        raise Refusal(PARALLEL, (key, needed.partition(":")[0]), f"`{key}` above 1 requires `{needed}`", says)
    if model.sample_packing and (model.micro_batch_size or 1) > 1:
        raise Refusal(
            PARALLEL,
            ("micro_batch_size", key),
            f"`{key}` above 1 with `sample_packing` requires `micro_batch_size: 1`",
            "micro_batch_size must be set to 1 when sample_packing is enabled due to a `ring-flash-attn` requirement",
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
