"""`validate_config`: the values of the file through axolotl's checks and pydantic, in order (utils/config/__init__.py:543-605)."""

from __future__ import annotations

import functools

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl import checks_after, checks_before, plugins
from cfglint.frameworks.axolotl.asked import Check, Checks, NoKeys, OnlyDefaults
from cfglint.frameworks.axolotl.fields import DATASET, OWN_NAMES, FieldReading, top_fields
from cfglint.frameworks.axolotl.refusals import (
    ATTENTION,
    COMPILE,
    DATA,
    MODEL_TYPE,
    REMOVED,
    SCHEDULE,
    TOKENIZER,
    TYPE,
    AxolotlModel,
    Data,
    choice,
    refuses,
)
from cfglint.frameworks.axolotl.releases import HISTORY, has_validator
from cfglint.frameworks.axolotl.values import AxolotlValues
from cfglint.frameworks.pydantic import Fault, Invalid
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigTable, ConfigValue, Iterable
from cfglint.source.load_results import copied

EACH_DATASET = Releases((0, 7, 0))  # each data set is validated first, as one of the model that `rl` implies
PREFERENCE: tuple[tuple[Version, tuple[str, ...]], ...] = (  # whose data sets are preferences
    ((), ("dpo",)),
    ((0, 12, 0), ("dpo", "simpo")),
    ((0, 13, 1), ("dpo", "ipo", "simpo")),
)
SYNTHETIC = "SyntheticDataset"
ATTENTIONS = (
    "eager", "fp8", "flash_attention_2", "flash_attention_3", "flash_attention_4", "flash_attention_torch", "flex_attention", "sage",
    "sdpa", "varlen", "xformers",
)  # fmt: skip
SHORT_ATTENTIONS = {"flash": "flash_attention_2", "flex": "flex_attention", "sdp": "sdpa"}
INDUCTOR = (
    "coordinate_descent_tuning", "coordinate_descent_check_all_directions", "shape_padding", "epilogue_fusion", "max_autotune_gemm",
    "fx_graph_cache", "assume_aligned_inputs", "comprehensive_padding", "decompose_mem_bound_mm", "triton.cudagraphs",
)  # fmt: skip
# Removed keys with axolotl's messages (utils/schemas/deprecated.py). Those in GIVEN are refused with any value, the others with a true one.
GONE = {
    "max_packed_sequence_len": "`max_packed_sequence_len` is no longer supported",
    "rope_scaling": "`rope_scaling` is no longer supported, it should now be a key under `model_config`",
    "dpo_use_logits_to_keep": "`dpo_use_logits_to_keep` is no longer supported, it has been removed in TRL >= 0.29.0",
    "dpo_generate_during_eval": "`dpo_generate_during_eval` is no longer supported, it has been removed in TRL >= 0.29.0",
    "dpo_norm_loss": "`dpo_norm_loss` is no longer supported, due to breaking changes in TRL >= 0.29.0",
    "rpo_alpha": "`rpo_alpha` has been deprecated in TRL >= 0.29.0, and now requires passing multiple loss types, which is not yet "
    "supported by Axolotl.",
    "s2_attention": "`s2_attention` (shifted-sparse attention) is no longer supported.",
    "flash_attn_rms_norm": "`flash_attn_rms_norm` is no longer supported.",
}
GIVEN = ("dpo_use_logits_to_keep", "dpo_generate_during_eval", "dpo_norm_loss", "rpo_alpha")
INSTEAD = {"max_packed_sequence_len": "sequence_len", "rope_scaling": "model_config"}


@functools.cache
def checks_before_fields(release: Version, added: tuple[str, ...]) -> Checks:
    """The checks of a release before the fields, in order; `added` are the folders of the plugins."""
    of_plugins = [check for folder in reversed(added) for check in plugins.BEFORE.get(folder, ())]
    checks = (*checks_before.CHECKS_FIRST, *of_plugins, *checks_before.CHECKS_LAST, *checks_before.OLDER)
    return Checks(of_release(checks, release), lambda: NoKeys(release))


@functools.cache
def checks_of_written_fields(release: Version) -> Checks:
    """The validators of single fields in a release before their values are read."""
    return Checks(of_release(FIELDS_BEFORE, release), lambda: NoKeys(release))


@functools.cache
def checks_of_read_fields(release: Version, added: tuple[str, ...]) -> Checks:
    """The validators of single fields in a release once all values are read."""
    return Checks(of_release(FIELDS_AFTER, release), lambda: OnlyDefaults(release, top_fields(release, added).defaults))


@functools.cache
def checks_after_fields(release: Version, added: tuple[str, ...], always: int) -> Checks:
    """The checks of a release after the fields, in order; the first `always` folders of plugins are those of every run."""
    of_plugins = [check for folder in (*added[always:], *added[:always]) for check in plugins.AFTER.get(folder, ())]
    checks = (*checks_after.CHECKS_FIRST, *of_plugins, *checks_after.CHECKS_LAST, *checks_after.OLDER)
    return Checks(of_release(checks, release), lambda: OnlyDefaults(release, top_fields(release, added).defaults))


def of_release(checks: Iterable[tuple[str, Check]], release: Version) -> list[Check]:
    """Those of some checks, each with the name of its validator, that a release has."""
    return [check for name, check in checks if has_validator(name, release)]


class Validation:
    """The values of a file after each step of axolotl's validation.

    `refusals` are the errors of checks, `faults` the errors of fields, `dropped` the keys that no model has. `model` has the
    values if nothing is refused.
    """

    def __init__(self, config: AxolotlValues) -> None:
        self.gpus = config.facts.gpus
        self.transformers = config.version
        self.release = config.own_version
        self.refusals: list[Refusal] = []
        self.faults: list[Fault] = []
        self.dropped: list[tuple[str | int, ...]] = []
        self.model: AxolotlModel | None = None
        self.plugins: list[plugins.NamedPlugin] = []
        self.foreign = False
        self.additions: ConfigTable = {}
        self.values = {} if config.root is None else config.values
        if config.load_problems or not isinstance(config.root, dict | None):
            return
        self._run(self.values)

    @property
    def accepted(self) -> bool:
        """Whether axolotl accepts the values."""
        return self.model is not None

    def _run(self, values: ConfigMapping) -> None:
        self.plugins = plugins.plugins_of(values.get("plugins"), self.release)
        folders = [each.folder for each in self.plugins if each.folder]
        self.foreign = any(not each.folder and not each.ignored for each in self.plugins)
        data = Data(copied(values), folders, self.foreign, self.release)
        data.pop("axolotl_config_path", None)  # axolotl stores the path of the file here
        data["capabilities"] = {"bf16": True, "fp8": True, "tf32": True, "n_gpu": self.gpus, "compute_capability": "sm_90"}
        if any(each.problem for each in self.plugins):
            return
        for folder in folders if self.release in plugins.REGISTERING else ():
            if folder in plugins.REGISTERED:
                self._attempt(plugins.REGISTERED[folder], data)
        self._datasets(data)
        always = plugins.built_in(self.release)
        added = [*always, *(folder for folder in folders if folder not in always)]
        for check in checks_before_fields(self.release, tuple(added)).that_use(data.keys()):
            self._attempt(check, data)
        data.pop("capabilities")
        self.additions = data.additions
        model = self._fields(data, tuple(added))
        if not self.refusals and not self.faults and model is not None:
            for last in checks_after_fields(self.release, tuple(added), len(always)).that_use(model.changed):
                self._attempt(last, model)
            if not self.refusals:
                self.model = model

    def _attempt(self, check: Callable[[Any], None], subject: object) -> None:
        try:
            check(subject)
        except Refusal as refusal:
            self.refusals.append(refusal.with_traceback(None))  # whose frames would keep the whole run in memory
        except (TypeError, AttributeError, ValueError, KeyError, ZeroDivisionError, OverflowError) as error:
            raises = type(error).__name__
            key = subject.asked if isinstance(subject, Data) else ""
            if any(refusal.kind == TYPE for refusal in self.refusals):
                return
            value = self.values.get(key)
            remedy = f"set `{key}: {value}`, without quotes" if isinstance(value, str) and value.isdecimal() else ""
            message = f"`{key}` has a value that axolotl cannot work with"
            self.refusals.append(refuses(TYPE, (str(key),) if key else (), message, str(error), remedy=remedy, raises=raises))

    def _datasets(self, data: Data) -> None:
        """Validate each data set as a model of its own first (utils/config/__init__.py:556-576)."""
        given = data.get("datasets")
        if not given:
            return
        kind = data.get("rl")
        try:
            if any(isinstance(item, dict) and str(item.get("type", "")).startswith("sharegpt") for item in given):
                self.refusals.append(sharegpt(given))
            if self.release not in EACH_DATASET:
                return
            preferences = next(found for since, found in reversed(PREFERENCE) if since <= self.release)
            name = "DPODataset" if kind in preferences else "KTODataset" if kind == "kto" else DATASET
            for index, item in enumerate(given):
                self._dataset(name, item, ("datasets", index))
        except (TypeError, ValueError, AttributeError) as error:
            mappings = isinstance(given, list) and all(isinstance(item, dict) for item in given)
            message = "an entry of `datasets` has a value of the wrong type" if mappings else "`datasets` is not a list of mappings"
            remedy = "" if mappings else "write a list of mappings with `path` and `type`"
            self.refusals.append(refuses(DATA, "datasets", message, str(error), remedy=remedy, raises=type(error).__name__))

    def _dataset(self, name: str, item: ConfigValue, path: tuple[str | int, ...]) -> None:
        if not isinstance(item, dict):
            dict(item)  # raises the same exception as axolotl's own conversion
            return
        if name == DATASET and item.get("type") == "_synthetic" and HISTORY.has_section(SYNTHETIC, self.release):
            name = SYNTHETIC
        if not all(isinstance(key, str) for key in item):
            raise TypeError("keywords must be strings")
        reading = FieldReading(self.release, self.transformers)
        try:
            reading.model(name, item, path)
        except Invalid as invalid:
            reading.faults.append(Fault(path, invalid.with_traceback(None)))
        self.faults += reading.faults
        self.dropped += reading.dropped

    def _fields(self, data: Data, added: tuple[str, ...]) -> AxolotlModel | None:
        if not all(isinstance(key, str) for key in data):
            key = next(key for key in data if not isinstance(key, str))
            self.refusals.append(refuses(TYPE, (), f"the key {key!r} is not a string", "keywords must be strings", raises="TypeError"))
            return None
        for check in checks_of_written_fields(self.release).that_use(data.keys()):
            self._attempt(check, data)
        reading = FieldReading(self.release, self.transformers)
        converted = isinstance(data.get("datasets"), list) and bool(data["datasets"]) and self.release in EACH_DATASET
        given = {key: value for key, value in data.items() if key != "datasets" or not converted}
        values = reading.top(given, added)
        self.faults += reading.faults
        self.dropped += [path for path in reading.dropped if path[0] in self.values or len(path) > 1]
        values["datasets"] = data.get("datasets") if converted else values["datasets"]
        model = AxolotlModel(values, self.foreign, self.release)
        model.changed.update(data, *((OWN_NAMES[key],) for key in OWN_NAMES.keys() & data.keys()))
        if not reading.faults:
            for after in checks_of_read_fields(self.release, added).that_use(model.changed):
                self._attempt(after, model)
        return model


def sharegpt(given: ConfigValue) -> Refusal:
    """Check the values as utils/schemas/validation.py:246 does."""
    index = next(i for i, item in enumerate(given) if isinstance(item, dict) and str(item.get("type", "")).startswith("sharegpt"))
    says = "`type: sharegpt.*` is deprecated. Please use `type: chat_template` instead."
    return refuses(DATA, f"datasets.{index}.type", "`type: sharegpt` was removed", says, remedy="use `type: chat_template`")


def attention_name(data: Data) -> None:
    """Check the values as utils/schemas/config.py:1697 does."""
    value, key = data.get("attn_implementation"), "attn_implementation"
    if value is None:
        return
    if not isinstance(value, str):
        says = f"attn_implementation must be a string, got {type(value).__name__}"
        raise refuses(ATTENTION, key, f"`{key}` must be a string", says, raises="TypeError")
    if value in ATTENTIONS or "/" in value:
        return
    if value in SHORT_ATTENTIONS:
        name = SHORT_ATTENTIONS[value]
        says = f"attn_implementation={value!r} is not accepted. Use the canonical name {name!r} instead."
        raise refuses(ATTENTION, key, f"`{key}: {value}` is not accepted", says, remedy=f"use {name}")
    says = (
        f"attn_implementation={value!r} is not a recognized backend. Expected one of: {sorted(ATTENTIONS)}, or a hub-kernel path "
        "containing '/'."
    )
    raise choice(ATTENTION, key, value, (*sorted(ATTENTIONS), "a kernel's path with a `/`"), says)


def large_heads(data: Data) -> None:
    """Check the values as utils/schemas/config.py:1682 does."""
    value = data.get("large_head_attention")
    valid = ("auto", "sdpa", "triton_flash")
    if value is not None and str(value).lower() not in valid:
        says = f"large_head_attention must be one of {sorted(valid)}, got {value!r}"
        raise choice(ATTENTION, "large_head_attention", value, valid, says)


def image_resizing(data: Data) -> None:
    """Check the values as utils/schemas/multimodal.py:92 does."""
    value = data.get("image_resize_algorithm")
    if isinstance(value, str):
        data["image_resize_algorithm"] = value.lower()
        if value.lower() not in ("bilinear", "bicubic", "lanczos"):
            says = f"Invalid image resize algorithm: {value.lower()}"
            raise choice(MODEL_TYPE, "image_resize_algorithm", value, ("bilinear", "bicubic", "lanczos"), says)


def gone(model: AxolotlModel) -> None:
    """Refuse removed keys as utils/schemas/deprecated.py does."""
    for key, says in GONE.items():
        if not has_validator(f"validate_{key}", model.release):
            continue
        value = getattr(model, key)
        if (value is not None) if key in GIVEN else value:
            instead = INSTEAD.get(key)
            remedy = f"use `{instead}`" if instead else f"remove `{key}`"
            raise refuses(REMOVED, key, f"`{key}` was removed from axolotl", says, remedy=remedy, raises="DeprecationWarning")


def learning_rate(model: AxolotlModel) -> None:
    """Convert the learning rate as utils/schemas/training.py:316 does: a string becomes a number, and an empty one stays."""
    value = model.learning_rate
    if value and isinstance(value, str):
        try:
            model.learning_rate = float(value)
        except ValueError as error:
            raise refuses(SCHEDULE, "learning_rate", f"`learning_rate` is {value}, not a number", str(error)) from None


def noise(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/validation.py:2192 does."""
    if model.neftune_noise_alpha is not None and model.neftune_noise_alpha <= 0.0:
        raise refuses(SCHEDULE, "neftune_noise_alpha", "`neftune_noise_alpha` must be above 0", "neftune_noise_alpha must be > 0.0")


def safetensors(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/model.py:166 does."""
    if model.save_safetensors is False:
        says = "save_safetensors=False is not supported in Transformers V5. "
        message = "`save_safetensors: false` is not supported: transformers 5 always writes safetensors"
        raise refuses(REMOVED, "save_safetensors", message, says, remedy="use another `save_safetensors`")


def processor_names(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/model.py:122 does."""
    found = sorted({"revision", "trust_remote_code"} & set(model.processor_kwargs or ()))
    if found:
        says = f"Do not set reserved keys {found} inside `processor_kwargs`"
        message = f"`processor_kwargs` must not contain `{found[0]}`"
        raise refuses(TOKENIZER, f"processor_kwargs.{found[0]}", message, says, remedy="use the key at the top level")


def inductor_options(model: AxolotlModel) -> None:
    """Check the values as utils/schemas/config.py:1727 does."""
    bad = sorted(set(model.torch_compile_options or ()) - set(INDUCTOR))
    if bad:
        says = f"torch_compile_options contains disallowed inductor flags: {bad}."
        message = f"`torch_compile_options` does not allow {bad[0]}"
        raise refuses(COMPILE, f"torch_compile_options.{bad[0]}" if "." not in bad[0] else "torch_compile_options", message, says)


FIELDS_BEFORE: tuple[tuple[str, Callable[[Data], None]], ...] = (
    ("convert_image_resize_algorithm", image_resizing),
    ("validate_large_head_attention", large_heads),
    ("validate_attn_implementation", attention_name),
)
FIELDS_AFTER: tuple[tuple[str, Callable[[AxolotlModel], None]], ...] = (
    ("validate_rope_scaling", gone),
    ("convert_learning_rate", learning_rate),
    ("validate_neftune_noise_alpha", noise),
    ("validate_save_safetensors", safetensors),
    ("reject_reserved_processor_kwargs", processor_names),
    ("validate_torch_compile_options", inductor_options),
)
