"""The sections that the pinned DeepSpeed checks with pydantic, and how pydantic takes a value.

GPT-NeoX pins DeeperSpeed 91d1c55, a fork of DeepSpeed 0.16.5; its sections differ from those of later releases.
Source: DeeperSpeed 91d1c55 deepspeed/runtime/zero/config.py:85-330, runtime/zero/offload_config.py,
runtime/config_utils.py:16-130, comm/config.py, monitor/config.py, runtime/config.py:478-490, utils/config.py.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Table = dict[str, str]
    Path = tuple[str | int, ...]

# A field's type, `?` where null passes, then its bounds. A name of MODELS is a section of its own.
ZERO: Table = {
    "stage": "stage",
    "contiguous_gradients": "bool",
    "reduce_scatter": "bool",
    "reduce_bucket_size": "int >=0",
    "use_multi_rank_bucket_allreduce": "bool",
    "allgather_partitions": "bool",
    "allgather_bucket_size": "int >=0",
    "overlap_comm": "bool?",
    "load_from_fp32_weights": "bool",
    "elastic_checkpoint": "bool",
    "offload_param": "DeepSpeedZeroOffloadParamConfig?",
    "offload_optimizer": "DeepSpeedZeroOffloadOptimizerConfig?",
    "sub_group_size": "int >=0",
    "cpu_offload_param": "bool?",
    "cpu_offload_use_pin_memory": "bool?",
    "cpu_offload": "bool?",
    "prefetch_bucket_size": "int >=0",
    "stage3_prefetch_bucket_size": "int >=0",
    "param_persistence_threshold": "int >=0",
    "stage3_param_persistence_threshold": "int >=0",
    "model_persistence_threshold": "int >=0",
    "stage3_model_persistence_threshold": "int >=0",
    "max_live_parameters": "int >=0",
    "stage3_max_live_parameters": "int >=0",
    "max_reuse_distance": "int >=0",
    "stage3_max_reuse_distance": "int >=0",
    "gather_16bit_weights_on_model_save": "bool",
    "stage3_gather_16bit_weights_on_model_save": "bool",
    "module_granularity_threshold": "int",
    "stage3_module_granularity_threshold": "int",
    "use_all_reduce_for_fetch_params": "bool",
    "stage3_use_all_reduce_for_fetch_params": "bool",
    "stage3_gather_fp16_weights_on_model_save": "bool",
    "ignore_unused_parameters": "bool",
    "legacy_stage1": "bool",
    "round_robin_gradients": "bool",
    "zero_hpz_partition_size": "int >=0",
    "zero_quantized_weights": "bool",
    "zero_quantized_nontrainable_weights": "bool",
    "zero_quantized_gradients": "bool",
    "zeropp_loco_param": "dict?",
    "mics_shard_size": "int",
    "mics_hierarchical_params_gather": "bool",
    "memory_efficient_linear": "bool",
    "pipeline_loading_checkpoint": "bool",
    "override_module_apply": "bool",
    "log_trace_cache_warnings": "bool",
}
OFFLOAD_PARAM: Table = {
    "device": "device",
    "nvme_path": "str?",
    "buffer_count": "int >=0",
    "buffer_size": "int >=0",
    "max_in_cpu": "int >=0",
    "pin_memory": "bool",
}
OFFLOAD_OPTIMIZER: Table = {
    "device": "device",
    "nvme_path": "str?",
    "buffer_count": "int >=0",
    "pin_memory": "bool",
    "pipeline_read": "bool",
    "pipeline_write": "bool",
    "fast_init": "bool",
    "ratio": "float >=0 <=1",
}
FILES: Table = {"enabled": "bool", "output_path": "str", "job_name": "str"}
COMET: Table = {
    "enabled": "bool",
    "samples_log_interval": "int",
    "project": "str?",
    "workspace": "str?",
    "api_key": "str?",
    "experiment_name": "str?",
    "experiment_key": "str?",
    "online": "bool?",
    "mode": "str?",
}
HYBRID_ENGINE: Table = {
    "enabled": "bool",
    "max_out_tokens": "int",
    "inference_tp_size": "int",
    "release_inference_cache": "bool",
    "pin_parameters": "bool",
    "tp_gather_partition_size": "int",
}
MODELS: dict[str, Table] = {
    "DeepSpeedZeroConfig": ZERO,
    "DeepSpeedZeroOffloadParamConfig": OFFLOAD_PARAM,
    "DeepSpeedZeroOffloadOptimizerConfig": OFFLOAD_OPTIMIZER,
    "CommsLoggerConfig": {"enabled": "bool", "prof_all": "bool", "prof_ops": "list", "verbose": "bool", "debug": "bool"},
    "TensorBoardConfig": FILES,
    "WandbConfig": {"enabled": "bool", "group": "str?", "team": "str?", "project": "str"},
    "CSVConfig": FILES,
    "CometConfig": COMET,
    "HybridEngineConfig": HYBRID_ENGINE,
}
SECTIONS = {
    "zero_optimization": "DeepSpeedZeroConfig",
    "comms_logger": "CommsLoggerConfig",
    "tensorboard": "TensorBoardConfig",
    "wandb": "WandbConfig",
    "csv_monitor": "CSVConfig",
    "comet": "CometConfig",
    "hybrid_engine": "HybridEngineConfig",
}
MONITORS = frozenset(("tensorboard", "wandb", "csv_monitor", "comet"))
# A deprecated field hands its value on to its successor, which then may not be given too.
SUCCESSORS = {
    "cpu_offload": "offload_optimizer",
    "cpu_offload_param": "offload_param",
    "stage3_gather_fp16_weights_on_model_save": "gather_16bit_weights_on_model_save",
}
TRUTHS = frozenset(["true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"])


class Refusal:
    """A key or value of a section that pydantic refuses; the error names the outermost model."""

    __slots__ = ("exception", "message", "path")

    def __init__(self, path: Path, text: str, message: str) -> None:
        self.path = path
        self.message = message
        if path[0] in MONITORS:
            model, place = "DeepSpeedMonitorConfig", path
        else:
            model, place = SECTIONS[str(path[0])], path[1:]
        self.exception = f"ValidationError: 1 validation error for {model} {'.'.join(map(str, place))} {text}"


def refusals(name: str, section: dict[Any, Any]) -> Iterator[Refusal]:
    """What DeepSpeed refuses of a section of its config."""
    yield from _section((name,), SECTIONS[name], section)


def _section(path: Path, model: str, section: dict[Any, Any]) -> Iterator[Refusal]:
    table = MODELS[model]
    for key, value in section.items():
        if value == "auto":
            continue  # taken for a key that is not there
        if key not in table:
            yield Refusal((*path, key), "Extra inputs are not permitted", f"`{key}` is no key of `{path[-1]}`")
        else:
            yield from _value((*path, key), table[key], value)
    if model == "DeepSpeedZeroConfig":
        yield from _together(path, section)


def _together(path: Path, section: dict[Any, Any]) -> Iterator[Refusal]:
    """What the ZeRO section refuses of keys that are each fine alone."""
    offload = section.get("offload_optimizer")
    share = offload.get("ratio", 1.0) if isinstance(offload, dict) else 1.0
    if isinstance(share, (int, float)) and 0 <= share < 1 and section.get("stage") != 3:
        text = "Assertion failed, Partial offloading only supported for ZeRO Stage 3."
        yield Refusal((*path, "offload_optimizer", "ratio"), text, "a part of the optimizer can be offloaded with ZeRO 3 only")
    for key, successor in SUCCESSORS.items():
        if key in section and successor in section:
            text = f"Cannot provide deprecated parameter '{key}' and replacing parameter '{successor}' together"
            refusal = Refusal((*path, key), text, f"`{key}` is the old name of `{successor}`, and both are given")
            refusal.exception = f"AssertionError: {text}"
            yield refusal


def _value(path: Path, spec: str, value: Any) -> Iterator[Refusal]:
    kind, _, bounds = spec.partition(" ")
    if kind.endswith("?"):
        if value is None:
            return
        kind = kind[:-1]
    if kind in MODELS:
        if isinstance(value, dict):
            yield from _section(path, kind, value)
        else:
            yield Refusal(path, f"Input should be a valid dictionary or instance of {kind}", f"`{path[-1]}` is no mapping")
        return
    text = error(kind, value) or outside(bounds, value)
    if text:
        yield Refusal(path, text, f"`{'.'.join(map(str, path))}` {value!r}: {text.lower()}")


def error(kind: str, value: Any) -> str | None:
    """pydantic's words for a value that it does not take for a type; it converts what loses nothing."""
    if kind == "bool":
        known = value in (0, 1) if isinstance(value, (int, float)) else isinstance(value, str) and value.lower() in TRUTHS
        return None if known else "Input should be a valid boolean"
    if kind == "int":
        return None if integral(value) else "Input should be a valid integer"
    if kind == "float":
        return None if numeric(value) else "Input should be a valid number"
    if kind == "stage":
        return None if integral(value) and amount(value) in (0, 1, 2, 3) else "Input should be 0, 1, 2, 3 or 3"
    if kind == "device":
        return None if value in ("none", "cpu", "nvme") else "Input should be 'none', 'cpu' or 'nvme'"
    types: dict[str, type | tuple[type, ...]] = {"str": str, "list": (list, tuple), "dict": dict}
    words = {"str": "string", "list": "list", "dict": "dictionary"}
    return None if isinstance(value, types[kind]) else f"Input should be a valid {words[kind]}"


def integral(value: Any) -> bool:
    """Whether pydantic takes a value for a whole number: also a whole float, a boolean, and digits in a text."""
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, str):
        digits = value.strip().lstrip("+-").replace("_", "")
        whole, _, zeros = digits.partition(".")
        return whole.isdigit() and not zeros.strip("0")
    return isinstance(value, int)


def numeric(value: Any) -> bool:
    """Whether pydantic takes a value for a number."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, (int, float))


def amount(value: Any) -> float:
    """A number as it is, as text or not: a whole one may be beyond all floats."""
    return value if isinstance(value, (int, float)) else float(value)


def outside(bounds: str, value: Any) -> str | None:
    """pydantic's words for a number that breaks a bound such as `>=0`."""
    for bound in bounds.split():
        limit = float(bound[2:])
        if bound[0] == ">" and amount(value) < limit:
            return f"Input should be greater than or equal to {bound[2:]}"
        if bound[0] == "<" and amount(value) > limit:
            return f"Input should be less than or equal to {bound[2:]}"
    return None
