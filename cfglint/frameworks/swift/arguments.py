"""The values of a run's arguments as ms-swift leaves them: its defaults, and those that it derives from other arguments.

Source: ms-swift 4.6.0 arguments/sft_args.py:210-252 and 363-377, trainers/arguments.py:218-310, arguments/rlhf_args.py:344-352 and 520-533,
arguments/base_args/model_args.py:127-141; 3.0.0 llm/argument/train_args.py.
"""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.huggingface.fields import has_field
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.swift.fields import Arguments as OfCommand
from cfglint.frameworks.swift.fields import exists
from cfglint.source.annotations import ConfigMapping, ConfigTable, ConfigValue, Mapping, Operand

GLOBAL = 16  # samples of a step, at least, where the accumulation is not set
FULL_RATE, TUNER_RATE = 1e-5, 1e-4
DTYPES = {"bfloat16": (False, True), "float16": (True, False), "float32": (True, False)}  # (fp16, bf16)
OF_CHECKPOINT = Unknown(Reason("file", "the type of the checkpoint's weights"))
BETA = {"grpo": 0.04, "gkd": 0.5, "simpo": 2.0}
GRPO = "grpo"
EVALUATION = ("dataset", "split_dataset_ratio", "val_dataset", "cached_val_dataset", "eval_dataset", "streaming")
PLUGINS = ("external_plugins", "custom_register_path")
FORCED_OFF = (3, 6)  # from here on there is no evaluation without an evaluation set
NO_WORKERS = (4, 6)  # from here on there are no persistent workers without workers


class SwiftArguments(Arguments):
    """The fields of a command. `because` says why a value is what it is, for the fields that ms-swift derives.

    `world` is the number of processes, `own` the release of ms-swift, `files` its config files by name.
    """

    def __init__(
        self, values: ConfigMapping, version: Version, known: OfCommand, own: Version, world: int | None, files: Mapping[str, ConfigValue]
    ) -> None:
        self.of_command = known
        self.own_version = own
        self.because: dict[str, str] = {}
        super().__init__(values, version)
        self._derive_training(world)
        self._name_files(files)
        self._derive_evaluation()

    def _rename(self) -> None:
        super()._rename()
        if self.given.get("train_type") is not None and "tuner_type" in self.defaults:  # 4.x takes the former name, which wins
            self._move("train_type", "tuner_type")

    def release_defaults(self, version: Version) -> ConfigTable:
        return {name: option.default for name, option in self.of_command.items()}

    def kind_of(self, name: str) -> str:
        return self.of_command[name].type

    def exists(self, name: str) -> bool:
        return exists(name)

    @property
    def tuner_key(self) -> str:
        """The field with the tuner: its name is another one from 4.0 on."""
        return "tuner_type" if "tuner_type" in self.defaults else "train_type"

    @property
    def rlhf_type(self) -> Operand:
        """The kind of preference training; empty for the other commands."""
        return self["rlhf_type"] if "rlhf_type" in self.defaults else ""

    @property
    def is_grpo(self) -> bool:
        return bool(self.rlhf_type == GRPO)

    @property
    def trackers(self) -> list[Operand]:
        """`report_to` without swanlab, which ms-swift adds to those of older transformers, and without what plugins may add."""
        plugins = any(self[name] for name in PLUGINS if name in self.defaults)
        return [] if plugins else [name for name in super().trackers if name != "swanlab"]

    def derive(self, name: str, value: object, because: str) -> None:
        """Set the default of a field to what ms-swift derives."""
        if name not in self.defaults or self.given.get(name) is not None:
            return
        self.given.pop(name, None)
        self.defaults[name] = value
        self.because[name] = because

    def replace(self, name: str, value: object, because: str) -> None:
        """Set a field to what ms-swift replaces it by, whatever is written."""
        self.given[name] = value
        self.because[name] = because

    def _derive_training(self, world: int | None) -> None:
        """Rate and precision, accumulation, what preference training sets, and the schedule."""
        tuner, dtype, rlhf = self.tuner_key, self["torch_dtype"], self.rlhf_type
        if self.known(tuner):
            self.derive("learning_rate", FULL_RATE if self[tuner] == "full" else TUNER_RATE, f"`{tuner}` is {self[tuner]}")
        else:
            self.derive("learning_rate", OF_CHECKPOINT, tuner)
        known = DTYPES.get(dtype) if self.known("torch_dtype") else None
        values, because = (known, f"`torch_dtype` is {dtype}") if known else ((OF_CHECKPOINT, OF_CHECKPOINT), "the checkpoint")
        for name, value in zip(("fp16", "bf16"), values, strict=True):
            self.derive(name, value, because)
        name, micro = "gradient_accumulation_steps", self["per_device_train_batch_size"]
        if self.defaults[name] is not None:
            pass
        elif self.is_grpo and self.own_version >= (3, 7):  # GRPO accumulates nothing, if it is not set
            self.derive(name, 1, "GRPO")
        elif not self.known("per_device_train_batch_size", "rlhf_type") or world is None or not isinstance(micro, int):
            self.derive(name, OF_CHECKPOINT, "the processes")
        elif micro * world:
            self.derive(name, max(1, -(-GLOBAL // (micro * world))), f"at least {GLOBAL} samples per step, if it is not set")
        if rlhf:
            self.derive("beta", BETA.get(rlhf, 0.1), f"`rlhf_type` is {rlhf}")
        if self.is_grpo:
            self.derive("metric_for_best_model", "reward", "`rlhf_type` is grpo")
            self.replace("dataloader_drop_last", True, "GRPO")
        ratio = self["warmup_ratio"] if "warmup_ratio" in self.defaults else None
        if ratio and not has_field("warmup_ratio", self.version):
            self.given["warmup_steps"] = ratio
            self.source["warmup_steps"] = "warmup_ratio"
        elif not self.known("warmup_ratio"):
            self.defaults["warmup_steps"] = self["warmup_ratio"]

    @property
    def evaluates(self) -> bool | None:
        names = [name for name in EVALUATION if name in self.defaults]
        if not self.known(*names):
            return None
        ratio = self["split_dataset_ratio"]
        split = bool(self["dataset"]) and isinstance(ratio, float) and ratio > 0 and not self["streaming"]
        return split or any(bool(self[name]) for name in ("val_dataset", "cached_val_dataset", "eval_dataset") if name in self.defaults)

    def _name_files(self, files: Mapping[str, Operand]) -> None:
        name = self["deepspeed"]
        if isinstance(name, str) and name in files:  # which some arguments edit
            file: ConfigTable = files[name]
            self.given["deepspeed"] = edited = {**file, "zero_optimization": {**file.get("zero_optimization", {})}}
            keys = ("zero_hpz_partition_size", "deepspeed_autotp_size")
            partition, autotp = (self[key] if key in self.defaults else None for key in keys)
            if partition is not None:
                edited["zero_optimization"]["zero_hpz_partition_size"] = partition
            if autotp is not None:
                edited["tensor_parallel"] = {"autotp_size": autotp}
                edited["zero_optimization"]["gather_16bit_weights_on_model_save"] = True
        if self.of_command["fsdp"].own:  # else the argument is that of transformers
            named = files.get(self["fsdp"]) if isinstance(self["fsdp"], str) else None
            self.given["fsdp"] = named.get("fsdp", "full_shard auto_wrap") if named is not None else []
            if named is not None:
                self.given["fsdp_config"] = named.get("fsdp_config", {})
                if self.given["fsdp_config"].get("activation_checkpointing"):
                    self.replace("gradient_checkpointing", False, "the FSDP config has `activation_checkpointing`")

    def _derive_evaluation(self) -> None:
        """Evaluation, the best model, the data loader, and what ms-swift sets."""
        self.derive("eval_strategy", self["save_strategy"] if self.known("save_strategy") else OF_CHECKPOINT, "`save_strategy`")
        if self["eval_strategy"] == "steps":
            self.derive("eval_steps", self["save_steps"], "`save_steps`")
        if self.own_version >= FORCED_OFF and self.evaluates is None:
            self.given.pop("eval_strategy", None)
            self.defaults["eval_strategy"] = Unknown(Reason("file", "the evaluation set"))
        elif self.own_version >= FORCED_OFF and not self.evaluates:
            self.replace("eval_strategy", "no", "there is no evaluation set")
        self.derive("metric_for_best_model", "loss", "its default")
        metric = self["metric_for_best_model"]
        self.derive("greater_is_better", isinstance(metric, str) and "loss" not in metric, "`metric_for_best_model`")
        self.derive("dataloader_num_workers", 1, "its default")
        if self["dataloader_num_workers"]:
            self.derive("dataloader_prefetch_factor", 2, "its default")
        elif self.own_version >= NO_WORKERS and self.known("dataloader_num_workers"):
            self.replace("dataloader_persistent_workers", False, "`dataloader_num_workers` is 0")
        self.derive("accelerator_config", {"dispatch_batches": False}, "its default")
        self.derive("output_dir", "output", "its default")
        self.replace("remove_unused_columns", False, "ms-swift sets it")
