"""Refusals by axolotl's checks, with keys, message, exception and remedy, their pages and places; the values that the checks get."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy
from cfglint.findings.rule import pages_of_checks
from cfglint.frameworks.axolotl import KIND, PACKAGE
from cfglint.frameworks.axolotl.releases import ever
from cfglint.frameworks.refusal import Refusal, Removal
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.versions import Version, name_at
from cfglint.source.annotations import Any, ConfigMapping, ConfigTable, Operand, Sequence

MODEL = "AxolotlConfigWCapabilities"

# The kinds of refusals: the codes of their pages.
DATA = "AXL010"
STREAMING = "AXL011"
BATCH = "AXL012"
ATTENTION = "AXL015"
ADAPTER = "AXL016"
QUANTIZATION = "AXL017"
FSDP = "AXL018"
PARALLEL = "AXL019"
CHECKPOINTING = "AXL023"
REMOVED = "AXL024"
PLUGIN = "AXL025"
COMPILE = "AXL028"
TYPE = "AXL030"


KEPT = ("rl", "adapter", "base_model", "plugins")  # the method and the model of the run: removing one changes more than an option


CODES = {check: code for code, checks in pages_of_checks(KIND).items() for check in checks}
REMOVED_KEYS = {check.removeprefix("validate_") for check, code in CODES.items() if code == REMOVED and check.startswith("validate_")}


def code_of(validator: str) -> str:
    """The code of the page that speaks of a validator; that of every other one of plugins, or of axolotl itself."""
    return CODES.get(validator) or CODES["*.*" if "." in validator else "*"]


# The keys at which the findings of a validator are, where these are not the first that the message names.
PLACES = """
check_relora relora relora_steps
check_fused_lora rl
validate_lora_target_parameters_init peft_init_lora_weights peft.loftq_config
validate_mixlora lora_r lora_alpha
check_lora_axolotl_unsloth unsloth_lora_mlp unsloth_lora_qkv unsloth_lora_o
normalize_attn_implementation xformers_attention sage_attention flex_attention flash_attention sdp_attention attn_implementation
check_attention_fields flash_attention
check_sample_packing_w_xformers xformers_attention
check_sample_packing_with_s2attn s2_attention
check_batch_size_fields batch_size
check_gas_bsz batch_size
check_torch_expert_parallel_checkpointing activation_offloading
check_evals do_bench_eval evals_per_epoch eval_steps
check_fsdp2_w_8bit_optimizer optimizer
check_fsdp_deepspeed fsdp_config fsdp
expert_parallel._validate_topology fsdp_config.state_dict_type fsdp_config.final_state_dict_type optimizer
check_fsdp_offload_w_8bit_optimizer optimizer
check_fsdp2_base_model_quant_ram_efficient_loading fsdp_config.cpu_ram_efficient_loading
check_cross_entropy_conflicts liger_fused_linear_cross_entropy liger_cross_entropy chunked_cross_entropy
check_xentropy_patch_conflicts unsloth_cross_entropy_loss
check_polora relora_steps lora_modules_to_save unfrozen_parameters peft_use_dora
check_qgalore optimizer
check_tensor_parallel_optimizer optimizer
check_context_parallel_size context_parallel_size
check_context_parallel_deepspeed use_glm_dsa_kernels context_parallel.backend context_parallel_size
liger.check_tensor_parallel_size_liger_fused_linear_cross_entropy liger_fused_linear_cross_entropy
check_sequence_parallel_degree micro_batch_size
kernels.check_dsv4_attention_lora_unsupported lora_target_modules lora_target_linear
kernels.check_mutually_exclusive use_sonicmoe
swanlab.validate_swanlab_enabled_requires_project swanlab_project
check_warmup warmup_ratio
check_better_transformers bf16 fp16
check_hidden_states_offloading gradient_checkpointing_kwargs.use_reentrant
check_custom_loss_conflicts use_eaft
check_fp8_config fp8_config fp8_enable_fsdp_float8_all_gather fp8
check_quantize_moe_experts quantize_moe_experts
check_qat_config qat.activation_dtype qat
check_vllm_colocate_compat trl.vllm_lora_sync trl.async_prefetch trl.use_data_producer
check_ebft_activation_offloading activation_offloading
check_dpo dpo_loss_weights
check_ebft_torch_compile torch_compile
check_saves saves_per_epoch save_steps
pretrain_with_tps include_tokens_per_second
check_pretraining_w_max_steps max_steps
check_streaming_w_max_steps max_steps
check_streaming_w_multiple_datasets sample_packing
"""
FIRST = {name: keys for name, *keys in map(str.split, PLACES.strip().splitlines())}


def refuses(
    kind: str,
    keys: str | Sequence[str],
    message: str,
    says: str,
    *,
    remedy: Remedy | str | Sequence[Remedy | str | Removal] = (),
    raises: str = "",
) -> Refusal:
    """A refusal with a message of its own; `says` is axolotl's message.

    `raises` is the class of the exception that the user sees, if pydantic does not wrap a ValueError into its ValidationError.
    """
    exception = f"{raises}: {says}" if raises else f"ValidationError: 1 validation error for {MODEL}: Value error, {says}"
    steps = (remedy,) if isinstance(remedy, str | Remedy) else remedy
    return Refusal(kind, (keys,) if isinstance(keys, str) else keys, message, exception, steps)


def renamed(key: Any, release: Version) -> Any:
    """The name of a key in a release, if a later one than the checks were written for has renamed it."""
    return name_at(key, PACKAGE, release) if isinstance(key, str) else key


class Data(dict):  # type: ignore[type-arg]
    """The values of the file as the checks of a release see them.

    `asked` is the key that was looked up last, for Python's own exceptions. `plugins` are the folders of axolotl's plugins that the
    file lists, `foreign_plugins` whether it lists others. `additions` are the values that a check writes into the DeepSpeed file.
    """

    def __init__(self, values: ConfigMapping, plugins: list[str], foreign_plugins: bool, release: Version) -> None:
        super().__init__(values)
        self.release = release
        self.asked: Operand = ""
        self.plugins = plugins
        self.foreign_plugins = foreign_plugins
        self.additions: ConfigTable = {}

    def get(self, key: object, default: object = None) -> Operand:
        self.asked = key
        return dict.get(self, renamed(key, self.release) if RENAMED else key, default)

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(renamed(key, self.release), value)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(renamed(key, self.release))


class AxolotlModel:
    """The values of the validated model, as attributes; a field that another release has or a plugin that is not loaded is None.

    `changed` are the names of the values that may differ from the defaults.
    """

    changed: set[str]

    def __init__(self, values: ConfigTable, release: Version) -> None:
        self.__dict__.update(values, changed=set())
        self.release = release

    def __setattr__(self, name: str, value: object) -> None:
        self.changed.add(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Operand:
        current = renamed(name, self.release) if not name.startswith("__") else name
        if ever(name):
            return self.__dict__.get(current)
        raise RuntimeError(f"axolotl has no field {name}")
