"""The plugins in the package of axolotl: their names, and the checks of their arguments.

`plugins:` lists classes as `module.Class` or `module:Class`; a module may leave out `axolotl.integrations.`
(integrations/base.py:374-414). Two are always loaded (one in 0.20.0, none before). Up to 0.20.0 a plugin that cannot be imported is
ignored. Third-party plugins and their keys are unknown. `BEFORE` and `AFTER` name the validator of each check, whose releases are in
the tables.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import (
    FSDP,
    LOSS,
    PARALLEL,
    PLUGIN,
    PRECISION,
    AxolotlModel,
    Data,
    choice,
    differs,
    excludes,
    refuses,
    requires,
)
from cfglint.frameworks.axolotl.releases import BUILT_IN_PLUGINS, REQUIRED_PLUGINS
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import Callable
from cfglint.source.record import Record

PREFIX = "axolotl.integrations."
CONTEXT_PARALLEL, EXPERT_PARALLEL = "context_parallel", "expert_parallel"
SINCE = {  # the first releases with the folders that 0.5.2 does not have
    "context_parallel": (0, 20, 0),
    "coreweave": (0, 21, 0),
    "cut_cross_entropy": (0, 6, 0),
    "densemixer": (0, 11, 0),
    "diffusion": (0, 13, 1),
    "diffusion_decision": (0, 21, 0),
    "expert_parallel": (0, 17, 0),
    "fla_sm120_shim": (0, 20, 0),
    "hatchery": (0, 17, 0),
    "kd": (0, 7, 0),
    "kernels": (0, 14, 0),
    "llm_compressor": (0, 10, 0),
    "mixlora": (0, 20, 0),
    "mora": (0, 17, 0),
    "nebius": (0, 20, 0),
    "nemo_gym": (0, 16, 0),
    "swanlab": (0, 13, 1),
}
# Folder -> (class, the modules of the folder that contain it; empty for the package itself).
CLASSES = {
    "context_parallel": ("ContextParallelPlugin", ("", "plugin")),
    "coreweave": ("CoreWeavePlugin", ("", "plugin")),
    "cut_cross_entropy": ("CutCrossEntropyPlugin", ("",)),
    "densemixer": ("DenseMixerPlugin", ("", "plugin")),
    "diffusion": ("DiffusionPlugin", ("", "plugin")),
    "diffusion_decision": ("DiffusionDecisionPlugin", ("", "plugin")),
    "expert_parallel": ("ExpertParallelPlugin", ("", "plugin")),
    "fla_sm120_shim": ("FlaSm120ShimPlugin", ("",)),
    "grokfast": ("GrokfastPlugin", ("",)),
    "hatchery": ("HatcheryPlugin", ("", "plugin")),
    "kd": ("KDPlugin", ("",)),
    "kernels": ("KernelsPlugin", ("", "plugin")),
    "liger": ("LigerPlugin", ("", "plugin")),
    "llm_compressor": ("LLMCompressorPlugin", ("", "plugin")),
    "lm_eval": ("LMEvalPlugin", ("",)),
    "mixlora": ("MixLoraPlugin", ("", "plugin")),
    "mora": ("MoraPlugin", ("", "plugin")),
    "nebius": ("NebiusCompletionPlugin", ("completion",)),
    "nemo_gym": ("NemoGymPlugin", ("", "plugin")),
    "spectrum": ("SpectrumPlugin", ("",)),
    "swanlab": ("SwanLabPlugin", ("", "plugins")),
}
EXPERTS = {
    "deep_ep_scattermoe": "use_scattermoe",
    "deep_ep_sonicmoe": "use_sonicmoe",
    "torch_ep_scattermoe": "use_scattermoe",
    "torch_ep_sonicmoe": "use_sonicmoe",
}
BACKENDS = ("scattermoe", "sonicmoe", "eager", "builtin")
GROUPED = ("auto", "marlin", "cutlass", "deepgemm")
NON_EXPERT = ("none", "bf16", "fp8", "fp8_blockwise", "nf4", "nvfp4")


class NamedPlugin(Record):
    """A plugin as a file names it: `folder` of a plugin of axolotl, empty for any other; `problem` is the exception that ends the run.

    `ignored` is whether axolotl cannot import it and goes on without it.
    """

    index: int
    folder: str
    problem: str = ""
    ignored: bool = False


def built_in(release: Version) -> tuple[str, ...]:
    """The folders of the plugins that a release always loads."""
    if release in REQUIRED_PLUGINS:
        return (CONTEXT_PARALLEL, EXPERT_PARALLEL)
    return (CONTEXT_PARALLEL,) if release in BUILT_IN_PLUGINS else ()


def plugins_of(value: object, release: Version) -> list[NamedPlugin]:
    """The plugins of the key `plugins`, in order."""
    if isinstance(value, str):  # axolotl iterates over its letters
        return [of_release(resolve(0, value[0]), release)] if value else []
    return [of_release(resolve(index, name), release) for index, name in enumerate(value)] if isinstance(value, list) else []


def of_release(plugin: NamedPlugin, release: Version) -> NamedPlugin:
    """A plugin as a release finds it: a newer one is missing, and older releases ignore what they cannot import."""
    missing = f"ModuleNotFoundError: No module named '{PREFIX}{plugin.folder}'" if SINCE.get(plugin.folder, ()) > release else ""
    problem = plugin.problem or missing
    if not problem:
        return plugin
    return NamedPlugin(plugin.index, "", problem if release in REQUIRED_PLUGINS else "", bool(plugin.folder or plugin.problem))


def resolve(index: int, name: object) -> NamedPlugin:
    """Find one plugin by its name."""
    if not isinstance(name, str):
        return NamedPlugin(index, "", f"AttributeError: '{type(name).__name__}' object has no attribute 'partition'")
    module, colon, class_name = name.partition(":")
    if not colon:
        module, dot, class_name = name.rpartition(".")
        if not dot:
            return NamedPlugin(index, "", "ValueError: not enough values to unpack (expected 2, got 1)")
    ours = module.startswith(PREFIX)
    folder, _, inner = module.removeprefix(PREFIX).partition(".")
    known = CLASSES.get(folder)
    if known is not None and inner in known[1]:
        if class_name == known[0]:
            return NamedPlugin(index, folder)
        return (
            NamedPlugin(index, "", f"AttributeError: module '{PREFIX}{folder}' has no attribute '{class_name}'")
            if ours
            else NamedPlugin(index, "")
        )
    if ours and known is None:
        return NamedPlugin(index, "", f"ModuleNotFoundError: No module named '{PREFIX}{folder}'")
    return NamedPlugin(index, "")


# ---- before pydantic's validation ------------------------------------------------------------------------------------


def context_parallel_size(data: Data) -> None:
    """Check and complete the values as integrations/context_parallel/args.py:84 does."""
    block = data.get("context_parallel") or {}
    if not isinstance(block, dict):
        return
    size, flat = block.get("size"), data.get("context_parallel_size")
    key = "context_parallel_size"
    if flat is None:
        flat, key = data.get("sequence_parallel_degree"), "sequence_parallel_degree"
    if size is not None and flat is not None and flat != size:
        says = f"context_parallel.size ({size}) conflicts with context_parallel_size ({flat}); set only one"
        raise differs(PARALLEL, key, flat, "context_parallel.size", size, says)
    size = size if size is not None else flat
    if size is not None:
        data["context_parallel_size"] = size
        data["context_parallel"] = {**block, "size": size}


def cut_cross_entropy_precision(data: Data) -> None:
    """Check the values as integrations/cut_cross_entropy/args.py:52 does."""
    if data.get("cut_cross_entropy") and not (data.get("bf16") or data.get("fp16")):
        says = "Cut Cross Entropy requires fp16/bf16 training for backward pass. Please set `bf16` or `fp16` to `True`."
        raise requires(PRECISION, "`cut_cross_entropy`", "`bf16` or `fp16`", says)


def cut_and_chunked(data: Data) -> None:
    """Check the values as integrations/cut_cross_entropy/args.py:62 does."""
    if data.get("chunked_cross_entropy"):
        says = (
            "Cut Cross Entropy does not support chunked cross entropy. Please set `chunked_cross_entropy` to `False` or disable Cut "
            "Cross Entropy."
        )
        raise excludes(LOSS, "chunked_cross_entropy", "the CutCrossEntropyPlugin", says, at=("chunked_cross_entropy", "plugins"))


def former_swiglu(data: Data) -> None:
    """Check the values as integrations/liger/args.py:78 does."""
    if data.get("liger_swiglu") is None:
        return
    if data.get("liger_glu_activation") is not None:
        says = "You cannot have both `liger_swiglu` and `liger_glu_activation` set."
        message = "`liger_swiglu` is the old name of `liger_glu_activation`, and both are set"
        raise refuses(PLUGIN, ("liger_swiglu", "liger_glu_activation"), message, says, remedy="remove `liger_swiglu`")
    data["liger_glu_activation"] = data.pop("liger_swiglu")


def tiled_mlp(data: Data) -> None:
    """Check the values as integrations/liger/args.py:94 does."""
    if data.get("liger_glu_activation") is True and data.get("tiled_mlp") is True and not data.get("tiled_mlp_use_original_mlp"):
        says = "You cannot have both `liger_glu_activation` and `tiled_mlp` set without `tiled_mlp_use_original_mlp: true`."
        raise requires(
            PLUGIN,
            "`liger_glu_activation` with `tiled_mlp`",
            "`tiled_mlp_use_original_mlp: true`",
            says,
            at=("liger_glu_activation", "tiled_mlp"),
        )


def liger_norm(data: Data) -> None:
    """Check the values as integrations/liger/args.py:107 does."""
    if data.get("liger_rms_norm") and data.get("tensor_parallel_size", 1) > 1:
        says = "`liger_rms_norm` is incompatible with tensor parallelism, see https://github.com/linkedin/Liger-Kernel/issues/826"
        raise excludes(PARALLEL, "liger_rms_norm", "tensor_parallel_size above 1", says)


def token_scaling(data: Data) -> None:
    """Check the values as integrations/liger/args.py:117 does."""
    if data.get("liger_use_token_scaling") and not data.get("liger_fused_linear_cross_entropy"):
        says = "`liger_use_token_scaling: true` requires `liger_fused_linear_cross_entropy` enabled."
        raise requires(PLUGIN, "liger_use_token_scaling", "liger_fused_linear_cross_entropy: true", says)


def expert_backend(data: Data) -> None:
    """Check and complete the values as integrations/kernels/args.py:215-252 does."""
    flags = ("use_scattermoe", "use_sonicmoe")
    flag = EXPERTS.get(data.get("experts_implementation") or "")
    if flag and data.get("expert_backend") is None and not any(data.get(each) for each in flags):
        data[flag] = True
    chosen = data.get("expert_backend")
    if chosen is None:
        return
    chosen = str(chosen).lower()
    if chosen not in BACKENDS:
        says = f"expert_backend must be one of {sorted(BACKENDS)}, got {chosen!r}"
        raise choice(PLUGIN, "expert_backend", chosen, sorted(BACKENDS), says)
    for each in flags:
        if data.get(each) is True and each != f"use_{chosen}":
            says = f"expert_backend={chosen!r} conflicts with {each}=true; set only one."
            raise excludes(PLUGIN, f"expert_backend: {chosen}", f"{each}: true", says)
    if chosen in ("scattermoe", "sonicmoe"):
        data[f"use_{chosen}"] = True


def expert_implementation(data: Data) -> None:
    """Check and complete the values as integrations/kernels/args.py:351 does."""
    expert_backend(data)
    chosen = data.get("experts_implementation")
    if chosen is None:
        data["experts_implementation"] = "scattermoe" if data.get("use_scattermoe") else "sonicmoe" if data.get("use_sonicmoe") else "eager"
    elif chosen == "deepgemm":
        says = (
            f"`experts_implementation={chosen!r}` has no backward pass in transformers (expert weights would silently not train). Use "
            "grouped_mm, batched_mm, eager, use_scattermoe or use_sonicmoe."
        )
        message = "`experts_implementation: deepgemm` has no backward pass: experts would not train"
        raise refuses(PLUGIN, "experts_implementation", message, says, remedy="use another `experts_implementation`")


def attention_adapters(data: Data) -> None:
    """Check the values as integrations/kernels/args.py:318 does."""
    key = "lora_target_modules" if data.get("lora_target_modules") else "lora_target_linear"
    if data.get("use_dsv4_kernels") and data.get(key) and not data.get("lora_exclude_modules"):
        says = (
            "attention/module-level LoRA is not supported with use_dsv4_kernels (this includes lora_target_modules and "
            "lora_target_linear: true, which expands to all linear layers incl. attention q/k/v/o)"
        )
        raise excludes(PLUGIN, key, "`use_dsv4_kernels` without `lora_exclude_modules`", says, remedy="use `lora_target_parameters`")


def use_kernels(data: Data) -> None:
    """Complete the values as integrations/kernels/args.py:306 does."""
    if data.get("use_kernels") is None:
        data["use_kernels"] = True


def two_expert_kernels(data: Data) -> None:
    """Check the values as integrations/kernels/args.py:296 does."""
    expert_backend(data)
    if data.get("use_scattermoe") and data.get("use_sonicmoe"):
        says = "Cannot use both ScatterMoE and SonicMoE simultaneously. Please set only one of `use_scattermoe` or `use_sonicmoe` to true."
        raise excludes(PLUGIN, "use_sonicmoe", "use_scattermoe", says)


def kernel_choices(data: Data) -> None:
    """Check the values as integrations/kernels/args.py:256-293 does."""
    for key, known, words in (
        ("nonexpert_quantization", NON_EXPERT, "nonexpert_quantization must be one of"),
        ("moe_grouped_backend", GROUPED, "moe_grouped_backend must be one of"),
    ):
        value = data.get(key)
        if value is None:
            continue
        if key == "moe_grouped_backend" and str(value).lower() == "dequant":
            says = "moe_grouped_backend='dequant' is not implemented for training (the chunked-dequant fallback has no autograd path)."
            raise refuses(PLUGIN, key, f"`{key}: dequant` is not implemented for training", says, remedy=f"use another `{key}`")
        if str(value).lower() not in known:
            raise choice(PLUGIN, key, value, known, f"{words} {sorted(known)}, got {value!r}")


def chunk_size(data: Data) -> None:
    """Check the values as integrations/kernels/args.py:192 does."""
    value = data.get("moe_dequant_chunk_size")
    if value is None:
        return
    try:
        positive = not isinstance(value, bool) and int(value) > 0 and not (isinstance(value, float) and not value.is_integer())
    except (TypeError, ValueError):
        positive = False
    if not positive:
        says = f"moe_dequant_chunk_size must be a positive integer, got {value!r}"
        raise refuses(PLUGIN, "moe_dequant_chunk_size", "`moe_dequant_chunk_size` must be a positive integer", says)


def dsv4_modes(data: Data) -> None:
    """Check the values as integrations/kernels/args.py:165-190 does."""
    mode = data.get("dsv4_fp8_nonexpert_mode")
    if mode is not None and str(mode).lower() not in ("float8tensor", "bf16"):
        says = f"dsv4_fp8_nonexpert_mode must be 'float8tensor' or 'bf16', got {mode!r}"
        raise choice(PLUGIN, "dsv4_fp8_nonexpert_mode", mode, ("float8tensor", "bf16"), says)
    mode = data.get("dsv4_fp4_grouped_mode")
    if mode is not None and str(mode).lower() != "nvfp4":
        says = f"dsv4_fp4_grouped_mode must be 'nvfp4', got {mode!r}"
        raise refuses(PLUGIN, "dsv4_fp4_grouped_mode", f"`dsv4_fp4_grouped_mode: {mode}` is not supported", says, remedy="use nvfp4")


def merge_aware(data: Data) -> None:
    """Check the values as integrations/kernels/args.py:112 does."""
    expert_backend(data)
    start = data.get("nvfp4_merge_aware_start_step")
    if data.get("nvfp4_merge_aware") is False and start is not None:
        data["nvfp4_merge_aware_start_step"] = None
        return
    if data.get("use_sonicmoe") and data.get("quantize_moe_experts"):
        says = (
            "use_sonicmoe has no bitsandbytes expert path: quantize_moe_experts (NF4/int8 experts) needs the ScatterMoE backend "
            "(use_scattermoe: true)."
        )
        raise excludes(PLUGIN, "use_sonicmoe", "quantize_moe_experts", says, remedy="use `use_scattermoe`")
    if data.get("nvfp4_merge_aware") and data.get("use_scattermoe"):
        says = "nvfp4_merge_aware requires the SonicMoE expert backend (use_sonicmoe: true)"
        raise requires(PLUGIN, "nvfp4_merge_aware", "use_sonicmoe", says, at=("nvfp4_merge_aware", "use_scattermoe"))
    if data.get("nvfp4_merge_aware") and data.get("adapter") not in ("lora", "multilora"):
        data["nvfp4_merge_aware"], data["nvfp4_merge_aware_start_step"] = False, None
        return
    wrong = isinstance(start, bool) or (isinstance(start, float) and not 0 < start < 1) or (isinstance(start, int) and start < 0)
    if start is not None and wrong:
        says = (
            f"nvfp4_merge_aware_start_step must be an int >= 0 (absolute step) or a float in (0, 1) (fraction of max steps), got {start!r}"
        )
        message = "`nvfp4_merge_aware_start_step` must be an integer of 0 or more, or a fraction between 0 and 1"
        raise refuses(PLUGIN, "nvfp4_merge_aware_start_step", message, says)


def moe_kernels(data: Data) -> None:
    """Complete the values as integrations/kernels/args.py:422 does."""
    expert_backend(data)
    if data.get("use_scattermoe") is True or data.get("use_sonicmoe") is True:
        if data.get("lora_mlp_kernel") is True and data.get("use_dsv4_kernels") is True:
            data["lora_mlp_kernel"] = False
        data["mlp_kernel"] = False


def nemo_gym(data: Data) -> None:
    """Check the values as integrations/nemo_gym/args.py:130 does."""
    if not data.get("nemo_gym_enabled"):
        return
    if not data.get("nemo_gym_config_paths") and data.get("nemo_gym_auto_start", True):
        says = "nemo_gym_config_paths is required when nemo_gym_enabled=True and nemo_gym_auto_start is not False."
        raise requires(PLUGIN, "`nemo_gym_enabled`", "`nemo_gym_config_paths`, or `nemo_gym_auto_start: false`", says)
    if not data.get("nemo_gym_datasets"):
        says = "nemo_gym_datasets is required when nemo_gym_enabled=True. Provide at least one dataset with 'path' and 'server_name'."
        raise requires(PLUGIN, "nemo_gym_enabled", "nemo_gym_datasets", says)


def legacy_diffusion(data: Data) -> None:
    """Check the values as integrations/diffusion/plugin.py:33 does: when the plugin is registered: completes."""
    if data.get("diffusion") is None and data.get("diffusion_lm") is not None:
        return
    if data.get("save_strategy") == "best" and data.get("metric_for_best_model") is None:
        data["metric_for_best_model"] = "eval_loss"
    steps, ratio = data.get("warmup_steps"), data.get("warmup_ratio")
    if isinstance(steps, float) and 0 < steps < 1:
        if ratio is not None and ratio != steps:
            says = "Legacy diffusion fractional warmup_steps conflicts with an explicit warmup_ratio. Use only warmup_ratio."
            message = "a fractional `warmup_steps` of the diffusion plugin differs from `warmup_ratio`"
            raise refuses(PLUGIN, ("warmup_steps", "warmup_ratio"), message, says, raises="ValueError")
        data["warmup_ratio"], data["warmup_steps"] = steps, None


def hatchery(data: Data) -> None:
    """Complete the values as integrations/hatchery/plugin.py:38 does."""
    if data.get("remove_unused_columns") is None:
        data["remove_unused_columns"] = False


def sonic_experts(data: Data) -> None:
    """Check the values as integrations/kernels/args.py of axolotl 0.17.0 does (check_sonicmoe_ep_unsupported)."""
    if data.get("use_sonicmoe") and (data.get("expert_parallel_size") or 1) > 1:
        says = (
            "use_sonicmoe=true is not supported with expert_parallel_size > 1. Use use_scattermoe=true under EP, or set "
            "expert_parallel_size=1."
        )
        raise excludes(PLUGIN, "use_sonicmoe", "expert_parallel_size above 1", says)


def spectrum(data: Data) -> None:
    """Check the values as integrations/spectrum/args.py of axolotl 0.19.0 does (check_fsdp_use_orig_params)."""
    if data.get("fsdp") and data.get("fsdp_config") and not data["fsdp_config"].get("use_orig_params"):
        says = "FSDP + SpectrumPlugin cannot be used together when `use_orig_params=False` is set"
        raise requires(FSDP, "`fsdp` with the SpectrumPlugin", "`fsdp_config.use_orig_params: true`", says, at=("fsdp_config", "plugins"))


REGISTERING = Releases((0, 19, 0))  # a plugin's `register` gets the values
# Run when a plugin is registered, before all checks.
REGISTERED: dict[str, Callable[[Data], None]] = {"diffusion": legacy_diffusion, "hatchery": hatchery}
BEFORE: dict[str, tuple[tuple[str, Callable[[Data], None]], ...]] = {
    "liger": (
        ("liger.check_liger_use_token_scaling_flce", token_scaling),
        ("liger.check_liger_rms_norm_tensor_parallel", liger_norm),
        ("liger.check_tiled_mlp_conflict", tiled_mlp),
        ("liger.check_deprecated_swiglu", former_swiglu),
    ),
    "cut_cross_entropy": (
        ("cut_cross_entropy.check_chunked_cross_entropy_not_set", cut_and_chunked),
        ("cut_cross_entropy.check_dtype_is_half", cut_cross_entropy_precision),
    ),
    "kernels": (
        ("kernels.disable_mlp_kernel", moe_kernels),
        ("kernels.check_experts_implementation", expert_implementation),
        ("kernels.check_dsv4_attention_lora_unsupported", attention_adapters),
        ("kernels.check_use_kernels", use_kernels),
        ("kernels.check_mutually_exclusive", two_expert_kernels),
        ("kernels.check_nonexpert_quantization", kernel_choices),
        ("kernels.normalize_expert_backend", expert_backend),
        ("kernels.check_moe_dequant_chunk_size", chunk_size),
        ("kernels.check_dsv4_fp8_nonexpert_mode", dsv4_modes),
        ("kernels.check_nvfp4_merge_aware", merge_aware),
        ("kernels.check_sonicmoe_ep_unsupported", sonic_experts),
    ),
    "nemo_gym": (("nemo_gym.check_nemo_gym_config", nemo_gym),),
    "context_parallel": (("context_parallel.sync_context_parallel_size", context_parallel_size),),
    "spectrum": (("spectrum.check_fsdp_use_orig_params", spectrum),),
}


# ---- after pydantic's validation ----------------------------------------------------------------------------------------


def liger_tensor_parallel(model: AxolotlModel) -> None:
    """Check the values as integrations/liger/args.py:129 does."""
    if model.tensor_parallel_size > 1 and model.liger_fused_linear_cross_entropy:
        says = "Tensor parallelism is not compatible with liger losses."
        raise excludes(PARALLEL, "liger_fused_linear_cross_entropy", "tensor_parallel_size above 1", says)


def gradient_chunk(model: AxolotlModel) -> None:
    """Check the values as integrations/cut_cross_entropy/args.py:71 does."""
    chunk, key = model.cut_cross_entropy_c_grad_chunk_size, "cut_cross_entropy_c_grad_chunk_size"
    if chunk is None or chunk == 0:
        return
    if chunk != "auto" and (chunk < 0 or chunk % 128):
        message = f"`{key}` must be auto or a positive multiple of 128"
        raise refuses(LOSS, key, message, f"`{key}` must be 'auto' or a positive multiple of 128.")
    if not model.cut_cross_entropy_accum_c_fp32:
        raise requires(LOSS, key, "cut_cross_entropy_accum_c_fp32: true", f"`{key}` requires `cut_cross_entropy_accum_c_fp32: true`.")


def swanlab(model: AxolotlModel) -> None:
    """Check the values as integrations/swanlab/args.py:93-138 does."""
    if model.swanlab_mode is not None and model.swanlab_mode not in ("cloud", "local", "offline", "disabled"):
        says = f"Invalid swanlab_mode: '{model.swanlab_mode}'."
        raise choice(PLUGIN, "swanlab_mode", model.swanlab_mode, ("cloud", "local", "offline", "disabled"), says)
    if model.swanlab_project is not None and not model.swanlab_project.strip():
        raise refuses(PLUGIN, "swanlab_project", "`swanlab_project` is empty", "swanlab_project cannot be an empty string.")
    if model.use_swanlab is True and not model.swanlab_project:
        says = "SwanLab enabled (use_swanlab: true) but 'swanlab_project' is not set."
        raise requires(PLUGIN, "the SwanLab plugin", "`swanlab_project`, or `use_swanlab: false`", says)


def expert_sizes(model: AxolotlModel) -> None:
    """Check the values as integrations/expert_parallel/args.py:60 does."""
    for key, says in (
        ("expert_parallel_size", "must be >= 1 (got {})."),
        ("expert_parallel_token_capacity", "must be >= 1 when set (got {}). Use None to disable the cap."),
    ):
        value = getattr(model, key)
        if value is not None and value < 1:
            raise refuses(PARALLEL, key, f"`{key}` must be 1 or more", f"{key} {says.format(value)}", remedy=f"set `{key}: 1`")


def expert_topology(model: AxolotlModel) -> None:
    """Check the values as integrations/expert_parallel/args.py:91-134 does."""
    size = model.expert_parallel_size or 1
    if size <= 1:
        return
    key, given = "expert_parallel_size", model.fsdp_config
    version = model.fsdp_version or (given or {}).get("fsdp_version")
    if not given or version != 2:
        says = f"expert_parallel_size ({size}) > 1 requires FSDP2: set fsdp_version: 2 and an fsdp_config block."
        raise requires(PARALLEL, f"`{key}` above 1", "FSDP2", says, remedy="set `fsdp_version: 2` and `fsdp_config`")
    for name in ("state_dict_type", "final_state_dict_type"):
        value = given.get(name)
        if value != "FULL_STATE_DICT" and (value is not None or name == "state_dict_type"):
            says = f"expert_parallel_size ({size}) > 1 requires fsdp_config.{name}: FULL_STATE_DICT" + (
                f", got {value!r}." if value is not None else ". accelerate defaults FSDP2 to SHARDED_STATE_DICT"
            )
            raise requires(FSDP, f"{key} above 1", f"fsdp_config.{name}: FULL_STATE_DICT", says, at=f"fsdp_config.{name}")
    if model.optimizer in ("adamw_torch_4bit", "ao_adamw_4bit", "ao_adamw_fp8"):
        says = f"expert_parallel_size ({size}) > 1 does not support optimizer: {model.optimizer}."
        raise excludes(PARALLEL, f"optimizer: {model.optimizer}", f"{key} above 1", says)


AFTER: dict[str, tuple[tuple[str, Callable[[AxolotlModel], None]], ...]] = {
    "liger": (("liger.check_tensor_parallel_size_liger_fused_linear_cross_entropy", liger_tensor_parallel),),
    "cut_cross_entropy": (("cut_cross_entropy.check_c_grad_chunk_size", gradient_chunk),),
    "swanlab": (("swanlab.validate_swanlab_mode", swanlab),),
    "expert_parallel": (("expert_parallel._validate", expert_sizes), ("expert_parallel._validate_topology", expert_topology)),
}
