"""Tensor, context and expert parallelism: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.checks_after.quantization import BNB_8BIT
from cfglint.frameworks.axolotl.refusals import PARALLEL, AxolotlModel, excludes, refuses, requires

RING = Releases((), (0, 20, 0))  # context parallelism is ring-flash-attn's
RING_FLAG = Releases((), (0, 17, 0))  # which is chosen by `flash_attention`
RING_LIBRARY = Releases((0, 17, 0), (0, 19, 0))  # by any attention of the flash-attn library
FLASH_LIBRARY = ("flash_attention_2", "flash_attention_3", "kernels-community/flash-attn2", "kernels-community/flash-attn3")


def tensor_parallel_optimizer(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2335 does."""
    if (model.tensor_parallel_size or 1) > 1 and model.optimizer in ("paged_adamw_8bit", *BNB_8BIT):
        says = "tensor_parallel_size is not supported with paged_adamw_8bit, adamw_8bit, and adamw_bnb_8bit optimizers"
        raise excludes(PARALLEL, f"optimizer: {model.optimizer}", "`tensor_parallel_size` above 1", says)


def tensor_parallel_loading(model: AxolotlModel) -> None:
    """Complete the values as utils/schemas/validation.py:2346 does."""
    staged = model.nf4_backend == "torchao" or (model.qlora_sharded_model_loading and model.load_in_4bit)
    if (model.tensor_parallel_size or 1) > 1 and not staged and model.fsdp_config and model.fsdp_config["cpu_ram_efficient_loading"]:
        model.fsdp_config = {**model.fsdp_config, "cpu_ram_efficient_loading": False}


def tensor_and_expert_parallel(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2368 does."""
    if (model.tensor_parallel_size or 1) > 1 and (model.expert_parallel_size or 1) > 1:
        says = (
            "tensor_parallel_size > 1 cannot be combined with expert_parallel_size > 1; shard the experts with expert_parallel_size "
            "and the rest with dp_shard_size"
        )
        raise excludes(PARALLEL, "tensor_parallel_size above 1", "expert_parallel_size above 1", says)


def tensor_parallel_default(model: AxolotlModel) -> None:
    """Complete the values as utils/schemas/validation.py:2270 does."""
    model.tensor_parallel_size = model.tensor_parallel_size or 1


def context_parallel(model: AxolotlModel) -> None:
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
        says = "GLM DSA context parallelism does not support packed inputs"
        message = "`context_parallel_size` above 1 with `use_glm_dsa_kernels` does not support packed samples"
        raise refuses(PARALLEL, ("context_parallel_size", "use_glm_dsa_kernels"), message, says, remedy="set `context_parallel_size: 1`")
    if model.attn_implementation == "eager" and not model.use_glm_dsa_kernels:
        says = (
            "context parallelism wraps a kernel-backed attention implementation (sdpa/flash/flex); `attn_implementation: eager` is not "
            "supported."
        )
        raise excludes(PARALLEL, "context_parallel_size above 1", "attn_implementation: eager", says)


def ring_attention(model: AxolotlModel, key: str) -> None:
    """Refuse what ring-flash-attn does not support, as axolotl 0.19.0 utils/schemas/validation.py:1757 does."""
    if model.release in RING_FLAG:
        missing = not model.flash_attention
        needed, says = "flash_attention: true", f"flash_attention: true must be set with {key} > 1"
    elif model.release in RING_LIBRARY:
        missing = model.attn_implementation not in FLASH_LIBRARY
        needed = "attn_implementation: flash_attention_2"
        says = f"{key} > 1 requires flash attention (attn_implementation: flash_attention_2 or flash_attention_3)."
    else:
        missing = str(model.attn_implementation).partition(":")[0] != "flash_attention_2"
        needed = "attn_implementation: flash_attention_2"
        says = f"{key} > 1 requires attn_implementation: flash_attention_2."
    if missing:
        raise requires(PARALLEL, f"{key} above 1", needed, says, at=(key, needed.partition(":")[0]))
    if model.sample_packing and (model.micro_batch_size or 1) > 1:
        says = "micro_batch_size must be set to 1 when sample_packing is enabled due to a `ring-flash-attn` requirement"
        raise requires(PARALLEL, f"`{key}` above 1 with `sample_packing`", "`micro_batch_size: 1`", says, at="micro_batch_size")


def context_parallel_deepspeed(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2320 does."""
    if not (model.deepspeed and (model.context_parallel_size or 1) > 1):
        return
    if model.use_glm_dsa_kernels:
        says = "GLM DSA context parallelism needs ringmaster, which does not run under DeepSpeed; use FSDP2 instead."
        raise excludes(PARALLEL, "`use_glm_dsa_kernels` with `context_parallel_size` above 1", "DeepSpeed", says)
    if model.rl:
        says = (
            f"rl: RLType.{model.rl.upper()} with context_parallel_size > 1 under DeepSpeed is not supported: only the SFT trainer "
            "weights each Ulysses rank's loss; use FSDP2."
        )
        message = "`context_parallel_size` above 1 under DeepSpeed does not support `rl`"
        raise refuses(PARALLEL, ("context_parallel_size", "rl", "deepspeed"), message, says, remedy="use FSDP2")
    given = model.context_parallel
    if given and (
        given["backend"] not in ("auto", "ulysses")
        or given["ring_size"] not in (None, 1)
        or given["ulysses_size"] not in (None, given["size"])
    ):
        says = (
            "Under DeepSpeed, context parallelism maps to DeepSpeed Ulysses (ALST): only `context_parallel.backend: ulysses` (or auto) "
            "with the full CP degree as ulysses_size is supported; Ring/USP need FSDP2."
        )
        raise requires(
            PARALLEL,
            "under DeepSpeed `context_parallel`",
            "`context_parallel.backend: ulysses` with the full degree",
            says,
            at=("context_parallel.backend", "deepspeed"),
        )


def expert_chunks(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2146 does."""
    if (model.expert_parallel_dispatch_chunks or 1) > 1 and model.expert_parallel_backend == "deep_ep":
        says = (
            "expert_parallel_dispatch_chunks > 1 requires expert_parallel_backend: torch (DeepEP dispatches the whole batch in one "
            "fused kernel)"
        )
        raise requires(PARALLEL, "expert_parallel_dispatch_chunks above 1", "expert_parallel_backend: torch", says)
