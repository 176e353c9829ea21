"""Quantized loading and optimizers: checks after pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.checks_after.adapters import INDEPENDENT_INIT
from cfglint.frameworks.axolotl.refusals import FSDP, QUANTIZATION, AxolotlModel, excludes, refuses, requires
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY
from cfglint.source.annotations import Iterator

Constraint = tuple[bool, str, str]  # whether it is violated, the key, axolotl's message

BNB_8BIT = ("adamw_8bit", "adamw_bnb_8bit")


def fsdp_8bit(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:1564 does."""
    if model.fsdp_config and model.optimizer in BNB_8BIT and is_fsdp2(model):
        says = f"FSDP2 not compatible with {model.optimizer}, use `adamw_torch_8bit` instead"
        raise excludes(FSDP, f"optimizer: {model.optimizer}", "FSDP2", says, remedy="use `adamw_torch_8bit`")


def fsdp_4bit_loading(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:1581 does."""
    efficient = bool(model.fsdp_config and model.fsdp_config["cpu_ram_efficient_loading"])
    if model.qlora_sharded_model_loading is None and model.release in FSDP2_ONLY:
        model.qlora_sharded_model_loading = efficient and model.adapter == "qlora" and bool(model.load_in_4bit)
    staged = model.qlora_sharded_model_loading and model.release in FSDP2_ONLY
    if efficient and model.load_in_4bit and not staged and is_fsdp2(model):
        says = (
            "FSDP2 does not support `cpu_ram_efficient_loading` with load_in_4bit; the rank-0-only bitsandbytes quantization deadlocks "
            "the state dict scatter."
        )
        key = "fsdp_config.cpu_ram_efficient_loading"
        if model.release in FSDP2_ONLY:
            raise requires(FSDP, f"`{key}` with `load_in_4bit`", "`qlora_sharded_model_loading: true`", says, at=(key, "load_in_4bit"))
        raise excludes(FSDP, key, "load_in_4bit", says)


def is_fsdp2(model: AxolotlModel) -> bool:
    """Whether FSDP is the second version, the only one from 0.20.0 on."""
    return model.release in FSDP2_ONLY or str(model.fsdp_version) == "2"


def bnb_blocks(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:1607 does."""
    if model.load_in_4bit and model.nf4_backend != "torchao" and (model.bnb_config_kwargs or {}).get("blocksize", 64) != 64:
        says = "bitsandbytes 4-bit loading always quantizes with blocksize 64; remove `bnb_config_kwargs.blocksize` or set it to 64."
        raise refuses(QUANTIZATION, "bnb_config_kwargs.blocksize", "`bnb_config_kwargs.blocksize` must be 64 under bitsandbytes", says)


def staged_nf4(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:1622 does, with the constraints of lines 1142-1205."""
    torchao = model.nf4_backend == "torchao"
    if not (torchao or (model.qlora_sharded_model_loading and model.load_in_4bit)):
        return
    if not torchao and not (model.fsdp_config and model.fsdp_config["cpu_ram_efficient_loading"]):
        model.qlora_sharded_model_loading = False
        return
    origin = "nf4_backend" if torchao else "fsdp_config.cpu_ram_efficient_loading"
    for violated, key, says in (*staged_loading(model), *staged_quantization(model, torchao), *staged_adapter(model)):
        if violated:
            raise refuses(QUANTIZATION, (key, origin), f"`{key}`: {says[0].upper()}{says[1:]}", says)


def staged_loading(model: AxolotlModel) -> Iterator[Constraint]:
    """The requirements of NF4 weights staged on the CPU for the adapter's loading and the parallel layout."""
    sharding = model.fsdp_config
    unquantized = not model.load_in_4bit or model.adapter != "qlora" or bool(model.load_in_8bit)
    yield unquantized, "adapter", "CPU-staged NF4 requires adapter: qlora and load_in_4bit: true"
    inefficient = bool(sharding) and (not sharding["cpu_ram_efficient_loading"] or not model.qlora_sharded_model_loading)
    yield inefficient, "fsdp_config", "CPU-staged NF4 requires FSDP2, cpu_ram_efficient_loading and qlora_sharded_model_loading"
    split = bool(model.deepspeed) or (model.tensor_parallel_size or 1) > 1 or (model.context_parallel_size or 1) > 1
    yield split, "deepspeed", "CPU-staged NF4 does not support DeepSpeed, tensor or context parallelism"
    replicated = (model.dp_replicate_size or 1) > 1
    yield replicated, "dp_replicate_size", "CPU-staged NF4 requires a one-dimensional sharding mesh; dp_replicate_size must be 1"


def staged_quantization(model: AxolotlModel, torchao: bool) -> Iterator[Constraint]:
    """The requirements of staged NF4 weights for the quantization."""
    given = model.bnb_config_kwargs or {}
    other_type = given.get("bnb_4bit_quant_type", "nf4") != "nf4"
    yield other_type, "bnb_config_kwargs", "CPU-staged NF4 requires bnb_4bit_quant_type: nf4"
    single = given.get("blocksize", 64) != 64 or not given.get("bnb_4bit_use_double_quant", True)
    yield torchao and single, "bnb_config_kwargs", "torchao NF4 requires blocksize 64 and double quantization"


def staged_adapter(model: AxolotlModel) -> Iterator[Constraint]:
    """The requirements of staged NF4 weights for the LoRA adapter."""
    key = "lora_modules_to_save" if model.lora_modules_to_save else "peft_use_dora"
    yield bool(getattr(model, key)), key, "CPU-staged NF4 currently requires LoRA without DoRA or modules_to_save"
    loftq = bool(model.peft and model.peft.get("loftq_config"))
    dependent = model.peft_init_lora_weights not in INDEPENDENT_INIT or loftq
    yield dependent, "peft_init_lora_weights", "CPU-staged NF4 does not support a value-dependent LoRA init"
