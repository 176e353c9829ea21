"""The sections of a DeepSpeed config that are pydantic models, and their validation.

Such a section refuses unknown keys, and drops every key whose value is the string "auto"
before validation (DeepSpeed 0.19.8, runtime/config_utils.py:54-57 and 105-113)."""

from __future__ import annotations

from cfglint.findings.setting import NoSuchField
from cfglint.findings.wording import required, spelled
from cfglint.frameworks import pydantic
from cfglint.frameworks.pydantic import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from cfglint.findings.setting import Setting
    from cfglint.frameworks.base import Version

UNKNOWN = "unknown"
EARLY = "early"  # known to a later release only
TWICE = "twice"  # given under its other name as well
TYPE = "type"
RANGE = "range"
CHOICE = "choice"
RULE = "rule"
ESCAPED = "escaped"
EXTRA = "Extra inputs are not permitted"
EXTRA_EARLIER = "extra fields not permitted"
EXPECTED = "Input should be "  # how most of pydantic's messages begin
EXPECTED_EARLIER = {  # the same for pydantic 1
    "value is not a valid enumeration member; permitted: ": "one of ",
    "value is not ": "",
    "value could not be parsed to ": "",
    "ensure this value is ": "",
    "str type expected": "a string",
    "none is not an allowed value": "another value",
}
MAXSIZE = 9_223_372_036_854_775_807
PYDANTIC_2_SINCE = (0, 15, 0)


class Fault:
    """A refusal by a model: at `path` inside the section, of one of the kinds above, with the message of the exception.

    `raises` names the exception if it is not pydantic's ValidationError."""

    __slots__ = ("kind", "message", "path", "raises", "title")

    def __init__(self, path: tuple[str, ...], kind: str, message: str, title: str = "", raises: str = "ValidationError") -> None:
        self.path = path
        self.kind = kind
        self.message = message
        self.title = title
        self.raises = raises

    @property
    def exception(self) -> str:
        """The predicted exception, without the line breaks and the link that pydantic adds."""
        if self.raises != "ValidationError":
            return f"{self.raises}: {self.message}"
        place = ".".join(self.path)
        return (
            f"ValidationError: 1 validation error for {self.title}: {place}: {self.message}"
            if place
            else (f"ValidationError: 1 validation error for {self.title}: {self.message}")
        )


def fault_text(setting: Setting, section: str, message: str) -> str:
    """The message for a fault: `stage` is 4; it must be 0, 1, 2 or 3; pydantic's own message where it has another form."""
    name = f"`{setting.name or section}`"
    shown = setting.spelled
    if shown == '"auto"' and setting.value != "auto":
        shown = f"{shown}, filled with {spelled(setting.value)}"
    if message.startswith(EXPECTED) and not isinstance(setting.value, dict):
        expected = message.removeprefix(EXPECTED).partition(", unable")[0].partition(", got")[0]
        return f"{name} is {shown}; it must be {required(expected)}".replace("'", '"')
    if not isinstance(setting.value, dict):
        for start, needed in EXPECTED_EARLIER.items():
            if message.startswith(start):
                return f"{name} is {shown}; it must be {needed}{message.removeprefix(start)}".replace("'", '"')
    text = message.removeprefix("Value error, ").removeprefix("Assertion failed, ").removesuffix(".")
    return f"{name}: {text[:1].lower()}{text[1:]}"


class Field:
    """One key of a model: how its value is parsed, the default, its bounds and its names.

    `alias` is the name in DeepSpeed's documentation; the Python name is accepted as well. The releases from
    `since` to just before `until` have the key. `older` is (release, loader): how the value was parsed before
    that release, and `above_since` the first release with the bound `above`."""

    __slots__ = ("above", "above_since", "alias", "below", "default", "least", "model", "most", "older", "read", "since", "until")

    def __init__(
        self,
        read: Callable[[Any], Any],
        default: Any = None,
        *,
        least: float | None = None,
        most: float | None = None,
        above: float | None = None,
        above_since: Version = (),
        below: float | None = None,
        alias: str = "",
        since: Version = (),
        until: Version = (),
        older: tuple[Version, Callable[[Any], Any]] | None = None,
        model: Model | None = None,
    ) -> None:
        self.read = read
        self.default = default
        self.least = least
        self.most = most
        self.above = above
        self.above_since = above_since
        self.below = below
        self.alias = alias
        self.since = since
        self.until = until
        self.older = older
        self.model = model

    def loader(self, version: Version) -> Callable[[Any], Any]:
        """The loader of the value in a release."""
        found = self.older[1] if self.older is not None and version < self.older[0] else self.read
        if version >= PYDANTIC_2_SINCE:
            return found
        from cfglint.frameworks import pydantic1

        return pydantic1.earlier(found)

    def bound(self, value: Any, version: Version) -> str:
        """Pydantic's message for a value outside its bounds."""
        required = ""
        if self.above is not None and version >= self.above_since and not value > self.above:
            required = f"greater than {self.above}"
        elif self.least is not None and not value >= self.least:
            required = f"greater than or equal to {self.least}"
        elif self.below is not None and not value < self.below:
            required = f"less than {self.below}"
        elif self.most is not None and not value <= self.most:
            required = f"less than or equal to {self.most}"
        if not required:
            return ""
        return f"ensure this value is {required}" if version < PYDANTIC_2_SINCE else f"Input should be {required}"


class Model:
    """A pydantic model: its title in error messages, its fields, and its checks after the fields are parsed.

    Before the release `since` DeepSpeed ignored the section. `checks_since` is the first release with `after`."""

    __slots__ = ("after", "checks_since", "fields", "names", "nullable", "since", "title")

    def __init__(
        self,
        title: str,
        fields: dict[str, Field],
        after: Callable[[dict[str, Any]], Iterator[tuple[str, str]]] | None = None,
        *,
        nullable: bool = False,
        since: Version = (),
        checks_since: Version = (),
    ) -> None:
        self.title = title
        self.fields = fields
        self.after = after
        self.nullable = nullable
        self.since = since
        self.checks_since = checks_since
        self.names = {field.alias: name for name, field in fields.items() if field.alias}


class Section:
    """A section as its model holds it.

    `values` has every field by its Python name, None if the value in the file is refused; `given` are the
    Python names that the file sets, each with the key it is written under. `title` is that of the model, for
    error messages."""

    __slots__ = ("faults", "given", "title", "values", "version")

    def __init__(self, version: Version, title: str = "") -> None:
        self.version = version
        self.title = title
        self.values: dict[str, Any] = {}
        self.given: dict[str, str] = {}
        self.faults: list[Fault] = []

    def __getitem__(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise NoSuchField(f"{self.title}.{name}") from None

    def refuse(self, key: str, kind: str, message: str, raises: str = "ValidationError") -> None:
        """Record why a key is refused."""
        self.faults.append(Fault((key,), kind, message, self.title, raises))


def known_names(model: Model, version: Version) -> list[str]:
    """The keys that a model accepts in a release; for a field with two names, both."""
    fields = {name: field for name, field in model.fields.items() if unexpected(field, name, name, {}, version) == ""}
    return [*fields, *(field.alias for field in fields.values() if field.alias)]


def read_section(model: Model, raw: dict[Any, Any], version: Version, title: str = "") -> Section:
    """Parse a mapping as `model` does; `title` names the outermost model, which error messages contain."""
    title = title or model.title
    section = Section(version, title)
    for key, value in raw.items():
        if isinstance(value, str) and value == "auto":
            continue
        name = model.names.get(key) or key
        field = model.fields.get(name) if isinstance(name, str) else None
        refused = unexpected(field, key, name, raw, version)
        if field is None or refused:
            section.refuse(str(key), refused, EXTRA_EARLIER if version < PYDANTIC_2_SINCE else EXTRA)
            continue
        section.given[name] = key
        section.values[name] = read_field(section, field, key, value)
    for name, field in model.fields.items():
        if name not in section.values:
            section.values[name] = read_section(field.model, {}, version).values if field.model and field.default == {} else field.default
    if model.after is not None and version >= model.checks_since and not section.faults:
        section.faults.extend(Fault((name,) if name else (), RULE, message, title) for name, message in model.after(section.values))
    return section


def unexpected(field: Field | None, key: Any, name: Any, raw: dict[Any, Any], version: Version) -> str:
    """The message of a model that refuses a key; empty if it accepts it."""
    if field is None:
        return UNKNOWN
    if field.since > version:
        return EARLY
    if field.until and field.until <= version:
        return UNKNOWN
    return TWICE if key == name and field.alias and raw.get(field.alias, "auto") != "auto" else ""


def set_twice(setting: Setting) -> str:
    """The message about a key whose value is also given under its other name."""
    return f"`{setting.name}` is set twice: `{setting.path[-1]}` is another name of a key that is set too"


def read_field(section: Section, field: Field, key: str, value: Any) -> Any:
    """The value of a field, or None after recording a fault in the section."""
    if field.model is not None:
        return read_nested(section, field, key, value)
    try:
        found = field.loader(section.version)(value)
    except Refused as refusal:
        from cfglint.frameworks import pydantic1

        message = str(refusal)
        kind = CHOICE if message.startswith(("Input should be 0", "Input should be '", pydantic1.MEMBERS)) else TYPE
        section.refuse(key, kind, message)
        return None
    problem = "" if found is None else field.bound(found, section.version)
    if problem:
        section.refuse(key, RANGE, problem)
        return None
    return found


def read_nested(section: Section, field: Field, key: str, value: Any) -> Any:
    """The value of a field that is itself a model."""
    model = field.model
    assert model is not None
    if value is None and model.nullable:
        return field.default if field.default is None else read_section(model, {}, section.version).values
    if not isinstance(value, dict) and section.version < PYDANTIC_2_SINCE:
        from cfglint.frameworks import pydantic1

        try:
            value = pydantic1.mapping(value)
        except Refused as refusal:
            section.refuse(key, TYPE, pydantic1.NULL if value is None else str(refusal))
            return None
    if not isinstance(value, dict):
        if model is LEAF_MODULE:
            message = "leaf_module configuration must be a mapping of fields to values"
            section.refuse(key, ESCAPED, message, "TypeError")
        else:
            section.refuse(key, TYPE, f"Input should be a valid dictionary or instance of {model.title}")
        return None
    inner = read_section(model, value, section.version, section.title)
    section.faults.extend(Fault((key, *fault.path), fault.kind, fault.message, section.title, fault.raises) for fault in inner.faults)
    return None if inner.faults else inner.values


def flag(default: bool = False, **options: Any) -> Field:
    """A boolean key."""
    return Field(pydantic.boolean, default, **options)


def count(default: int, least: float | None = 0, **options: Any) -> Field:
    """An integer key; not negative unless `least` specifies another minimum."""
    return Field(pydantic.integer, default, least=least, **options)


def fraction(default: float, **options: Any) -> Field:
    """A number from 0 to 1."""
    return Field(pydantic.number, default, least=0.0, most=1.0, **options)


def name_list(value: Any) -> list[str]:
    """Parse a list of strings; a string becomes a list of one."""
    return [value] if isinstance(value, str) else pydantic.items_of(pydantic.text)(value)


def loss_scale(value: Any) -> float:
    """Parse `fp16.loss_scale`: any value that float() accepts, finite and not negative, but no boolean (precision_config.py:117)."""
    if isinstance(value, bool):
        raise Refused("Value error, fp16.loss_scale must be a number, not bool")
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise Refused("Value error, fp16.loss_scale must be a number") from None
    if not pydantic.finite(found):
        raise Refused("Value error, fp16.loss_scale must be a finite number (not inf/-inf/nan)")
    if found < 0:
        raise Refused("Value error, fp16.loss_scale must be >= 0 (0 enables dynamic loss scaling)")
    return found


def scale_integer(key: str) -> Callable[[Any], int]:
    """Parse `fp16.loss_scale_window` and `fp16.min_loss_scale`: any value that int() accepts, but no boolean (precision_config.py:165)."""

    def read(value: Any) -> int:
        if isinstance(value, bool):
            raise Refused(f"Value error, fp16.{key} must be an integer, not bool")
        if isinstance(value, float) and not pydantic.finite(value):
            raise Refused(f"Value error, fp16.{key} must be a finite number (not inf/-inf/nan)")
        try:
            int(value)
        except (TypeError, ValueError):
            raise Refused(f"Value error, fp16.{key} must be an integer") from None
        return pydantic.integer(value)

    return read


def check_fp16(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Check that with a dynamic scale the window and the minimum are positive (precision_config.py:182)."""
    if values["enabled"] and values["loss_scale"] == 0:
        for key in ("loss_scale_window", "min_loss_scale"):
            if values[key] <= 0:
                yield "", f"Value error, fp16.{key} must be > 0 when dynamic loss scaling is enabled (loss_scale=0)"
                return


def check_zenflow(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Check that intervals are numbers or "auto" (zenflow_config.py:53-70)."""
    if values["select_strategy"] not in ("auto", "step", "epoch"):
        yield "", 'Value error, select_strategy must be one of "auto", "step", or "epoch"'
    elif isinstance(values["select_interval"], str) and values["select_interval"] != "auto":
        yield "", 'Value error, If select_interval is a string, it must be "auto"'
    elif isinstance(values["update_interval"], str) and values["update_interval"] != "auto":
        yield "", 'Value error, If update_interval is a string, it must be "auto"'
    elif isinstance(values["update_interval"], int) and values["update_interval"] < 1:
        yield "", "Value error, If update_interval is a number, it must be at least 1"


def check_zero(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The checks of the ZeRO section that involve several fields (zero/config.py:388-399)."""
    stage = values["stage"]
    if not values["compute_grad_norm"] and stage not in (1, 2):
        yield "", "Value error, compute_grad_norm=false is supported only with ZeRO Stage 1 or 2"
        return
    offload = values["offload_optimizer"]
    if offload is not None and offload["ratio"] < 1.0 and stage != 3:
        yield "", "Assertion failed, Partial offloading only supported for ZeRO Stage 3."


DEVICE = pydantic.one_of("none", "cpu", "nvme")

OFFLOAD_PARAM = Model(
    "DeepSpeedZeroOffloadParamConfig",
    {
        "device": Field(DEVICE, "none"),
        "nvme_path": Field(pydantic.optional(pydantic.path)),
        "buffer_count": count(5),
        "buffer_size": count(100_000_000),
        "max_in_cpu": count(1_000_000_000),
        "pin_memory": flag(True),
    },
    nullable=True,
)
OFFLOAD_OPTIMIZER = Model(
    "DeepSpeedZeroOffloadOptimizerConfig",
    {
        "device": Field(DEVICE, "none"),
        "nvme_path": Field(pydantic.optional(pydantic.path)),
        "buffer_count": count(4),
        "pin_memory": flag(True),
        "pipeline_read": flag(),
        "pipeline_write": flag(),
        "fast_init": flag(),
        "ratio": fraction(1.0, since=(0, 12, 3)),
        "super_offload": flag(since=(0, 18, 0)),
        "cpuadam_cores_perc": fraction(0.8, since=(0, 18, 0)),
    },
    nullable=True,
)
ZENFLOW = Model(
    "ZenFlowConfig",
    {
        "topk_ratio": Field(pydantic.number, 0.1, above=0.0, below=1.0),
        "select_strategy": Field(pydantic.text, "auto"),
        "select_interval": Field(pydantic.text_or_integer, "auto"),
        "update_interval": Field(pydantic.text_or_integer, "auto"),
        "overlap_step": flag(),
        "offload": flag(),
        "auto_ratio": fraction(0.99),
        "full_warm_up_rounds": count(0, None),
        "pt_reserved_cores_perc": fraction(0.5, since=(0, 17, 6)),
        "steps_per_epoch": Field(pydantic.optional(pydantic.integer)),
    },
    check_zenflow,
    nullable=True,
)
LEAF_MODULE = Model(
    "DeepSpeedZeroLeafModuleConfig",
    {"classes": Field(name_list, ()), "names": Field(name_list, ()), "name_suffixes": Field(name_list, ())},
    nullable=True,
)
ZERO = Model(
    "DeepSpeedZeroConfig",
    {
        "stage": Field(pydantic.stage, 0),
        "contiguous_gradients": flag(True),
        "reduce_scatter": flag(True),
        "reduce_bucket_size": Field(pydantic.integer, 500_000_000, least=0, above=0, above_since=(0, 19, 6)),
        "use_multi_rank_bucket_allreduce": flag(True, since=(0, 12, 4)),
        "allgather_partitions": flag(True),
        "allgather_bucket_size": count(500_000_000),
        "overlap_comm": Field(pydantic.optional(pydantic.boolean)),
        "compute_grad_norm": flag(True, since=(0, 19, 7)),
        "load_from_fp32_weights": flag(True),
        "elastic_checkpoint": flag(),
        "offload_param": Field(pydantic.anything, model=OFFLOAD_PARAM),
        "offload_optimizer": Field(pydantic.anything, model=OFFLOAD_OPTIMIZER),
        "zenflow": Field(pydantic.anything, model=ZENFLOW, since=(0, 17, 5)),
        "sub_group_size": count(1_000_000_000),
        "cpu_offload_param": Field(pydantic.optional(pydantic.boolean)),
        "cpu_offload_use_pin_memory": Field(pydantic.optional(pydantic.boolean)),
        "cpu_offload": Field(pydantic.optional(pydantic.boolean)),
        "prefetch_bucket_size": count(50_000_000, alias="stage3_prefetch_bucket_size"),
        "param_persistence_threshold": count(100_000, alias="stage3_param_persistence_threshold"),
        "model_persistence_threshold": count(MAXSIZE, alias="stage3_model_persistence_threshold"),
        "max_live_parameters": count(1_000_000_000, alias="stage3_max_live_parameters"),
        "max_reuse_distance": count(1_000_000_000, alias="stage3_max_reuse_distance"),
        "gather_16bit_weights_on_model_save": flag(alias="stage3_gather_16bit_weights_on_model_save"),
        "module_granularity_threshold": count(0, None, alias="stage3_module_granularity_threshold", since=(0, 16, 0)),
        "use_all_reduce_for_fetch_params": flag(alias="stage3_use_all_reduce_for_fetch_params", since=(0, 14, 3)),
        "allgather_sequential": flag(alias="stage3_allgather_sequential", since=(0, 18, 5)),
        "stage3_gather_fp16_weights_on_model_save": flag(),
        "ignore_unused_parameters": flag(True),
        "legacy_stage1": flag(),
        "round_robin_gradients": flag(),
        "parameter_alignment": flag(since=(0, 19, 7)),
        "zero_hpz_partition_size": count(1),
        "zero_quantized_weights": flag(),
        "zero_quantized_nontrainable_weights": flag(since=(0, 10, 2)),
        "zero_quantized_gradients": flag(),
        "memory_efficient_linear": flag(True),
        "pipeline_loading_checkpoint": flag(since=(0, 10, 1)),
        "override_module_apply": flag(True, since=(0, 10, 1)),
        "log_trace_cache_warnings": flag(since=(0, 16, 4)),
        "enable_sanity_checks": flag(since=(0, 17, 6)),
        "save_muon_momentum_buffer_in_memory": flag(since=(0, 18, 9)),
        "mics_shard_size": count(-1, None, until=(0, 19, 7)),
        "mics_hierarchical_params_gather": flag(until=(0, 19, 7)),
        "zeropp_loco_param": Field(pydantic.optional(pydantic.mapping), since=(0, 16, 2), until=(0, 19, 8)),
        "leaf_module": Field(pydantic.anything, {}, model=LEAF_MODULE, since=(0, 18, 0)),
    },
    check_zero,
    checks_since=PYDANTIC_2_SINCE,  # the validator of the releases before reads an attribute of a dict, which has none
)
FP16 = Model(
    "DeepSpeedFP16Config",
    {
        "enabled": flag(),
        "auto_cast": flag(),
        "loss_scale": Field(loss_scale, 0.0, older=((0, 18, 8), pydantic.number)),
        "initial_scale_power": count(16, None),
        "loss_scale_window": Field(scale_integer("loss_scale_window"), 1000, older=((0, 19, 3), pydantic.integer)),
        "hysteresis": count(2, None),
        "consecutive_hysteresis": flag(),
        "min_loss_scale": Field(scale_integer("min_loss_scale"), 1, older=((0, 19, 3), pydantic.integer)),
        "fp16_master_weights_and_grads": flag(),
    },
    check_fp16,
    checks_since=(0, 19, 3),
)
BF16 = Model(
    "DeepSpeedBF16Config",
    {
        "enabled": flag(),
        "immediate_grad_update": flag(),
        "check_grad_overflow": flag(True),
        "bf16_master_weights_and_grads": flag(since=(0, 18, 3)),
        "bf16_optimizer_states": flag(since=(0, 18, 3)),
    },
)
COMMS_LOGGER = Model(
    "CommsLoggerConfig",
    {"enabled": flag(), "prof_all": flag(True), "prof_ops": Field(pydantic.items, ()), "verbose": flag(), "debug": flag()},
)
OPTIONAL_TEXT = pydantic.optional(pydantic.text)
TENSORBOARD = Model(
    "TensorBoardConfig", {"enabled": flag(), "output_path": Field(pydantic.text, ""), "job_name": Field(pydantic.text, "DeepSpeedJobName")}
)
WANDB = Model(
    "WandbConfig",
    {"enabled": flag(), "group": Field(OPTIONAL_TEXT), "team": Field(OPTIONAL_TEXT), "project": Field(pydantic.text, "deepspeed")},
)
CSV_MONITOR = Model("CSVConfig", TENSORBOARD.fields)
COMET = Model(
    "CometConfig",
    {
        "enabled": flag(),
        "samples_log_interval": count(100, None),
        "project": Field(OPTIONAL_TEXT),
        "workspace": Field(OPTIONAL_TEXT),
        "api_key": Field(OPTIONAL_TEXT),
        "experiment_name": Field(OPTIONAL_TEXT),
        "experiment_key": Field(OPTIONAL_TEXT),
        "online": Field(pydantic.optional(pydantic.boolean)),
        "mode": Field(OPTIONAL_TEXT),
    },
)
MONITOR = Model(
    "DeepSpeedMonitorConfig",
    {
        "tensorboard": Field(pydantic.anything, {}, model=TENSORBOARD),
        "comet": Field(pydantic.anything, {}, model=COMET),
        "wandb": Field(pydantic.anything, {}, model=WANDB),
        "csv_monitor": Field(pydantic.anything, {}, model=CSV_MONITOR),
    },
)
HYBRID_ENGINE = Model(
    "HybridEngineConfig",
    {
        "enabled": flag(),
        "max_out_tokens": Field(pydantic.integer, 512, above=0, above_since=(0, 19, 7)),
        "inference_tp_size": count(1, None),
        "release_inference_cache": flag(),
        "pin_parameters": flag(True),
        "tp_gather_partition_size": count(8, None),
        "enable_cuda_graph": flag(since=(0, 19, 6)),
    },
)
COMPILE = Model(
    "CompileConfig",
    {
        "deepcompile": flag(),
        "autoep_non_moe": flag(since=(0, 19, 8)),
        "free_activation": flag(),
        "free_activation_threshold": count(10 * 1024 * 1024, None, since=(0, 18, 0)),
        "offload_activation": flag(),
        "offload_activation_pin_memory": flag(True, since=(0, 19, 6)),
        "offload_opt_states": flag(),
        "double_buffer": flag(True),
        "symmetric_memory": flag(),
        "debug_log": flag(),
        "offload_parameters": flag(),
        "sync_before_reduce": flag(),
        "sync_after_reduce": flag(),
        "sync_before_allgather": flag(),
        "sync_after_allgather": flag(),
        "keep_int_input_tensors": flag(True, since=(0, 17, 2)),
        "keep_all_input_tensors": flag(since=(0, 17, 2)),
        "passes": Field(pydantic.optional(pydantic.items_of(pydantic.one_of("z1", "z3", "autosp", "autotp"))), since=(0, 18, 9)),
    },
    since=(0, 16, 6),
)
TP = Model(
    "TPConfig",
    {"tp_size": count(1, None), "tp_grain_size": count(1, None), "mpu": Field(pydantic.anything), "tp_group": Field(pydantic.anything)},
)
TENSOR_PARALLEL = Model(
    "TPTrainingConfig",
    {
        "dtype": Field(pydantic.torch_type),
        "autotp_size": count(0, None),
        "tp_overlap_comm": flag(since=(0, 16, 6)),
        "vocab_parallel_lm_head": Field(pydantic.optional(pydantic.boolean), since=(0, 19, 8)),
        "vocab_parallel_ce_backend": Field(pydantic.one_of("torch", "liger"), "torch", since=(0, 19, 8)),
        "tensor_parallel": Field(pydantic.anything, {}, model=TP, alias="tp"),
        "injection_policy_tuple": Field(pydantic.optional(pydantic.items)),
        "partition_config": Field(pydantic.optional(pydantic.mapping), since=(0, 18, 6)),
        "preset_model": Field(OPTIONAL_TEXT, since=(0, 18, 6)),
        "keep_module_on_host": flag(),
        "replace_with_kernel_inject": flag(alias="kernel_inject"),
    },
    since=(0, 16, 4),
)
WEIGHT_QUANTIZATION = Model(
    "WeightQuantConfig",
    {
        "enabled": flag(True),
        "num_bits": count(8, None),
        "q_type": Field(pydantic.one_of("asymmetric", "symmetric"), "symmetric"),
        "q_groups": count(1, None),
        "quantized_initialization": Field(pydantic.mapping, {}),
        "post_init_quant": Field(pydantic.mapping, {}),
    },
)
THROUGHPUT = Model("DeepSpeedThroughputTimerConfig", {"enabled": flag(True), "synchronized": flag(True)}, since=(0, 14, 3))

SECTIONS = {
    "zero_optimization": ZERO,
    "comms_logger": COMMS_LOGGER,
    "fp16": FP16,
    "bf16": BF16,
    "hybrid_engine": HYBRID_ENGINE,
    "weight_quantization": WEIGHT_QUANTIZATION,
    "compile": COMPILE,
    "tensor_parallel": TENSOR_PARALLEL,
}
# Deprecated keys of the ZeRO section, which must not be set together with their replacements (zero/config.py:183-275).
REPLACEMENTS = {
    "cpu_offload_param": "offload_param",
    "cpu_offload": "offload_optimizer",
    "stage3_gather_fp16_weights_on_model_save": "gather_16bit_weights_on_model_save",
}
MONITORS = ("tensorboard", "wandb", "csv_monitor", "comet")
