"""`TrainingArguments` after `__post_init__`, as far as the files determine it: nothing is converted, so a value may be of any type."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.setting import NoSuchField
from cfglint.frameworks.huggingface import PACKAGE
from cfglint.frameworks.huggingface.fields import FIELDS, defaults, has_field, is_required, type_of
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.versions import Version, current_name
from cfglint.source.annotations import Any, ConfigMapping, ConfigTable, Iterable, Operand

CHECKPOINTING = tuple((f"gradient_checkpointing{part}", f"activation_checkpointing{part}") for part in ("", "_kwargs"))
# transformers 5.23.0 training_args.py:761
DICT_FIELDS = ("accelerator_config", "fsdp_config", "deepspeed", *reversed(CHECKPOINTING[1]), "lr_scheduler_kwargs")
# What `__post_init__` sets that checks of other classes read; the name of the strategy depends on the release.
EVALUATES: list[dict[str, Any]] = [
    {"when": [["in", ["f", name], ["list", "steps", "epoch"]]], "set": "do_eval", "be": True}
    for name in ("eval_strategy", "evaluation_strategy")
]


class Arguments:
    """The values of a release's fields: `given` by the files, with inline JSON expanded, or the release's defaults.

    `source` maps the new name of a field to the alias that a file uses; `redefined` are the fields whose default a program's subclass sets.
    """

    dict_fields: tuple[str, ...] = DICT_FIELDS

    def __init__(self, values: ConfigMapping, version: Version, own_defaults: ConfigTable | None = None) -> None:
        self.version = version
        self.defaults = self.release_defaults(version)
        known = {name: value for name, value in (own_defaults or {}).items() if name in self.defaults}
        self.redefined = frozenset(known)
        for old, new in CHECKPOINTING:
            if old in known and new in self.defaults:
                known.setdefault(new, known[old])
        if known:
            self.defaults = {**self.defaults, **known}
        self.given = {name: value for name, value in values.items() if isinstance(name, str) and name in self.defaults}
        self.source: dict[str, str] = {}
        self.unparsed: dict[str, Exception] = {}
        self._expand()
        self._rename()

    def release_defaults(self, version: Version) -> ConfigTable:
        return defaults(version)

    def set_optimizer_of_older_torch(self) -> None:
        if self.defaults.get("optim") == "adamw_torch_fused" and "optim" not in self.redefined:
            self.defaults = {**self.defaults, "optim": "adamw_torch"}

    def kind_of(self, name: str) -> str:
        return type_of(name, self.version)

    def leave_open(self, reasons: Iterable[Reason]) -> None:
        self.defaults = dict.fromkeys(self.defaults, Unknown(*reasons))

    @property
    def unknown(self) -> list[str]:
        return [name for name, value in self.defaults.items() if isinstance(value, Unknown)]

    def lacks(self, name: str) -> bool:
        """Whether the constructor requires a field that neither a file nor a program's subclass sets."""
        return is_required(name, self.version) and name not in self.given and name not in self.redefined and self.known(name)

    def known(self, *names: str) -> bool:
        return not any(isinstance(self.given.get(name, self.defaults.get(name)), Unknown) for name in map(self.current, names))

    def __getitem__(self, name: str) -> Operand:
        """The value of a field; None for one that the release does not have."""
        name = self.current(name) if RENAMED else name
        if name in self.given:
            return self.given[name]
        if name not in self.defaults and not self.exists(name):
            raise NoSuchField(name)
        return self.defaults.get(name)

    def exists(self, name: str) -> bool:
        return name in FIELDS

    @property
    def releases(self) -> dict[str, Version]:
        return {PACKAGE: self.version}

    def current(self, name: str) -> str:
        """The name of a field in the release, if a later one than the code was written for has renamed it."""
        return current_name(name, self.releases) if RENAMED and name not in self.defaults else name

    def __contains__(self, name: str) -> bool:
        return self.current(name) in self.given

    def written(self, name: str) -> str:
        name = self.current(name)
        return self.source.get(name, name)

    def number(self, name: str) -> int | float | None:
        value = self[name]
        return value if isinstance(value, (int, float)) else None

    def _expand(self) -> None:
        for name in self.dict_fields:
            value = self.given.get(name)
            if isinstance(value, str) and value.startswith("{"):
                import json

                try:
                    self.given[name] = converted(json.loads(value))
                except (ValueError, RecursionError) as error:
                    self.unparsed[name] = error

    def _rename(self) -> None:
        if self.given.get("evaluation_strategy") is not None and has_field("eval_strategy", self.version):
            self._move("evaluation_strategy", "eval_strategy")
        if self.given.get("no_cuda") and "use_cpu" not in self.given:
            self._move("no_cuda", "use_cpu")
        if self.given.get("torchdynamo") is not None:
            self._move("torchdynamo", "torch_compile_backend")
        for old, new in CHECKPOINTING:
            if has_field(new, self.version) and self.given.get(new) is None and self.given.get(old) is not None:
                self._move(old, new)
        if self.given.get("per_gpu_train_batch_size"):
            self._move("per_gpu_train_batch_size", "per_device_train_batch_size")

    def _move(self, old: str, new: str) -> None:
        self.given[new] = self.given[old]
        self.source[new] = old

    @property
    def eval_strategy(self) -> Operand:
        if "eval_strategy" in self.given or has_field("eval_strategy", self.version):
            return self["eval_strategy"]
        return self["evaluation_strategy"]

    @property
    def strategy_key(self) -> str:
        if "eval_strategy" in self.given:
            return self.written("eval_strategy")
        return "eval_strategy" if has_field("eval_strategy", self.version) else "evaluation_strategy"

    @property
    def eval_steps(self) -> Operand:
        """Steps between evaluations; `logging_steps` where nothing or 0 is given and the strategy is steps."""
        steps = self["eval_steps"]
        if self.eval_strategy == "steps" and (steps is None or steps == 0):
            return self["logging_steps"]
        return steps

    @property
    def accelerator(self) -> ConfigMapping:
        """`accelerator_config` as a mapping, overridden by the old top-level keys; empty if it is not a mapping."""
        section = self["accelerator_config"]
        merged = dict(section) if isinstance(section, dict) else {}
        for name in ("split_batches", "dispatch_batches"):
            if self.given.get(name) is not None:
                merged[name] = self.given[name]
        return merged

    @property
    def checkpointing(self) -> Operand:
        if has_field("activation_checkpointing", self.version):
            return self["activation_checkpointing"]
        return self["gradient_checkpointing"]

    @property
    def checkpointing_key(self) -> str:
        if "activation_checkpointing" in self.given:
            return self.written("activation_checkpointing")
        return "gradient_checkpointing"

    @property
    def checkpointing_arguments(self) -> str:
        new = "activation_checkpointing_kwargs"
        return new if has_field(new, self.version) else "gradient_checkpointing_kwargs"

    @property
    def optimizer(self) -> Operand:
        return "adafactor" if self.given.get("adafactor") else self["optim"]

    @property
    def trackers(self) -> list[Operand]:
        """`report_to` as a list; empty if it is none, or every installed tracker, as null was in 4.x."""
        value = self["report_to"]
        if value in ("all", "none", ["all"], ["none"]) or (value is None and self.version < (5,)):
            return []
        return value if isinstance(value, list) else [value]


def converted(value: object) -> Operand:
    """Inline JSON with its strings made booleans and numbers of digits and a point (transformers 5.23.0 training_args.py:161-175)."""
    if isinstance(value, dict):
        return {key: converted(each) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    try:
        if value.isdigit():
            return int(value)
        return float(value) if value.replace(".", "", 1).isdigit() else value
    except ValueError:  # `²` is a digit, too
        return value
