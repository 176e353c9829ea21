"""Extracts the facts of a job from an existing run, so that it can be generated for another framework.

A default of the old framework counts as specified, because the new framework may have another default.
"""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.frameworks.base import Config
from cfglint.generators.job_spec import Contradiction
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigTable, Iterator

Path = tuple[str, ...]

BATCH = (
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "per_device_train_batch_size",
    "per_gpu_train_batch_size",
)
TRAINER_OPTIMIZERS = {
    "adamw-8bit": ("adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit"),
    "adafactor": ("adafactor",),
    "lion": ("lion_32bit", "paged_lion_32bit"),
    "sgd": ("sgd",),
    "adamw": ("adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused", "paged_adamw_32bit"),
}
TRAINER_SCHEDULES = {
    "linear": "linear",
    "cosine": "cosine",
    "cosine_with_min_lr": "cosine",
    "constant": "constant",
    "constant_with_warmup": "constant",
}
DEEPSPEED_SCHEDULES = {"WarmupDecayLR": "linear", "WarmupCosineLR": "cosine", "WarmupLR": "constant"}
NEOX_SIZES = {"num_layers": "layers", "hidden_size": "hidden", "num_attention_heads": "heads", "num_kv_heads": "kv_heads"}
OFFLOAD_DEVICES = ("offload_optimizer_device", "offload_param_device")
COSINE_FLOOR = 1.0e-4  # of the rate; deepspeed 0.19.8 runtime/lr_schedules.py:870


class Existing:
    """The facts of a run: `facts` for a `JobSpec`, `places` of the written ones, and `left`, written settings that are not facts.

    `readers` are those of the generators, by kind.
    """

    def __init__(self, run: CheckedRun, readers: dict[str, Callable[[Existing, Any], None]]) -> None:
        self.facts: ConfigTable = {}
        self.places: dict[str, Setting] = {}
        self._used: set[tuple[Config, Path]] = set()
        self._batch(run)
        read = [config for config in run.configs if config.kind in readers]
        if not read:
            raise Contradiction("nothing is known of the job that these files start: no config of a framework is among them")
        for config in read:
            readers[config.kind](self, config)
        if self.facts.get("min_learning_rate", 0) >= self.facts.get("learning_rate", float("inf")):
            self.facts.update(scheduler="constant", min_learning_rate=0.0)
        self.left = [setting for config in read for setting in self._unused(config)]

    def take(self, fact: str, config: Config, *path: str, value: object) -> None:
        """Record a fact and its place; None is not recorded."""
        if value is None:
            return
        self._used.add((config, path))
        self.facts[fact] = value
        if config.has(*path):
            self.places[fact] = config.setting(*path)

    def number(self, fact: str, config: Config, *path: str, default: float | None = None, least: float = 0) -> None:
        """Record a number; a value that is not a number, or is below `least`, is not recorded."""
        value = config.get(*path, default=default)
        if type(value) in (int, float) and value >= least:
            self.take(fact, config, *path, value=value)

    def number_or_default(self, fact: str, config: Config, *path: str, least: float = 0) -> None:
        """Record a number, or the default of its key in the release of the config."""
        self.number(fact, config, *path, default=config.default(path, None), least=least)

    def use(self, config: Config, *path: str) -> None:
        """Mark a key as understood although it is not a fact of its own."""
        self._used.add((config, path))

    def drop(self, names: list[str]) -> list[Setting]:
        """Drop facts that the new kind cannot express; return the places of those that were written."""
        for name in names:
            self.facts.pop(name, None)
        return [self.places.pop(name) for name in names if name in self.places]

    def _batch(self, run: CheckedRun) -> None:
        from cfglint.rewrite.retarget import current_gpus

        batch = run.batch
        if batch is None:
            return
        self.facts["gpus"] = current_gpus(run, run.facts)
        if batch.problem is None:
            self.facts["global_batch"] = batch.global_batch.integer
            self.facts["max_micro_batch"] = batch.micro_batch.integer
        self.facts["tensor_parallel"] = batch.layout.tensor_parallel
        self.facts["pipeline_parallel"] = batch.layout.pipeline_parallel
        self.facts = {name: value for name, value in self.facts.items() if value is not None}

    def _unused(self, config: Config) -> Iterator[Setting]:
        """The written settings of a config from which no fact was taken."""
        used = {path for owner, path in self._used if owner is config}
        for path in leaf_paths(config.values):
            if not any(path[: len(each)] == each for each in used) and path[0] not in BATCH:
                setting = config.setting(*path)
                if setting.written and setting.node is not None:
                    yield setting


def leaf_paths(values: ConfigMapping, before: Path = ()) -> Iterator[Path]:
    """The paths of all values that are not mappings, and of empty mappings."""
    for key, value in values.items():
        path = (*before, key)
        if isinstance(value, dict) and value:
            yield from leaf_paths(value, path)
        else:
            yield path


def of_trainer(found: Existing, config: Any) -> None:
    """Read the facts of `TrainingArguments`, defaults included."""
    arguments = config.arguments

    def number(fact: str, field: str, least: float = 0) -> None:
        value = arguments[field]
        if type(value) in (int, float) and value >= least:
            found.take(fact, config, arguments.written(field), value=value)

    number("learning_rate", "learning_rate")
    number("weight_decay", "weight_decay")
    number("beta1", "adam_beta1")
    number("beta2", "adam_beta2")
    number("epsilon", "adam_epsilon")
    number("clipping", "max_grad_norm")
    number("seed", "seed", least=1)
    number("steps", "max_steps", least=1)
    if "steps" not in found.facts:
        off_below_one(found, config, "max_steps")
        if arguments["num_train_epochs"] != 0:
            number("epochs", "num_train_epochs")
    number("warmup", "warmup_ratio")
    if type(arguments["warmup_steps"]) in (int, float) and arguments["warmup_steps"] > 0:
        number("warmup", "warmup_steps")
    off_below_one(found, config, "warmup_steps")
    found.facts.setdefault("warmup", 0.0)
    for fact, field in (("logging_steps", "logging_steps"), ("save_steps", "save_steps")):
        if field in arguments and type(arguments[field]) is int:
            number(fact, field, least=1)
    trainer_choices(found, config)


def off_below_one(found: Existing, config: Any, field: str) -> None:
    """Mark a field as understood whose value means that it is not used."""
    if type(config.arguments[field]) is int and config.arguments[field] < 1:
        found.use(config, config.arguments.written(field))


def trainer_choices(found: Existing, config: Any) -> None:
    """Read optimizer, schedule, precision and similar facts."""
    arguments = config.arguments
    spelled = {name: fact for fact, names in TRAINER_OPTIMIZERS.items() for name in names}

    def choice(fact: str, field: str, value: str | None) -> None:
        key = arguments.written(field)
        replaced = config.get(key) not in (None, arguments[field])  # axolotl builds it itself, and passes the Trainer another name
        found.take(fact, config, field if replaced else key, value=value)

    choice("optimizer", "optim", spelled.get(arguments["optim"]))
    choice("scheduler", "lr_scheduler_type", TRAINER_SCHEDULES.get(arguments["lr_scheduler_type"]))
    found.number("min_learning_rate", config, "lr_scheduler_kwargs", "min_lr", default=0.0)
    for name in ("bf16", "fp16"):
        if arguments[name] is True:
            found.take("precision", config, name, value=name)
        elif arguments[name] is False:
            found.use(config, name)
    found.facts.setdefault("precision", "fp32")
    for field in ("activation_checkpointing", "gradient_checkpointing"):
        if arguments[field] is True and field in arguments:
            found.take("checkpointing", config, arguments.written(field), value=True)
    if isinstance(arguments["output_dir"], str) and "output_dir" in arguments:
        found.take("output_dir", config, "output_dir", value=arguments["output_dir"])
    if config.uses_deepspeed:
        found.use(config, "deepspeed")


def of_deepspeed(found: Existing, config: Any) -> None:
    """Read the facts of a DeepSpeed config; under a trainer only those that the trainer does not set itself."""
    if config.has("zero_optimization") and config.stage is not None:
        found.take("zero", config, "zero_optimization", "stage", value=config.stage)
    moved = config.get("zero_optimization", "offload_param", "device") == "cpu"
    if config.offload == "cpu" and config.stage:
        found.take("offload", config, "zero_optimization", "offload_optimizer", value="all" if moved and config.stage == 3 else "optimizer")
        found.use(config, "zero_optimization", "cpu_offload")
    if moved and found.facts.get("offload") == "all":
        found.use(config, "zero_optimization", "offload_param")
    for section in ("fp16", "bf16"):
        found.use(config, section, "enabled")
    found.use(config, "gradient_clipping")
    found.use(config, "zero_allow_untested_optimizer")
    if config.trainer is not None:
        for section in ("optimizer", "scheduler"):
            if config.has(section):
                found.use(config, section)
        return
    found.take("precision", config, config.precision, "enabled", value=config.precision)
    found.number_or_default("clipping", config, "gradient_clipping")
    found.number("logging_steps", config, "steps_per_print", least=1)
    deepspeed_optimizer(found, config)
    deepspeed_schedule(found, config)


def deepspeed_optimizer(found: Existing, config: Any) -> None:
    """Read the facts of the `optimizer` section."""
    name = config.get("optimizer", "type")
    known = {"adam": "adamw", "adamw": "adamw", "lion": "lion", "sgd": "sgd"}
    found.take("optimizer", config, "optimizer", "type", value=known.get(name.lower()) if isinstance(name, str) else None)
    if name is None:
        return
    found.number("learning_rate", config, "optimizer", "params", "lr", default=1.0e-3)
    optimizer_numbers(found, config, weight_decay=0.0)


def optimizer_numbers(found: Existing, config: Config, weight_decay: float) -> None:
    """Read weight decay, betas and epsilon of an `optimizer` section as DeepSpeed and GPT-NeoX write it."""
    found.number("weight_decay", config, "optimizer", "params", "weight_decay", default=weight_decay)
    found.number("epsilon", config, "optimizer", "params", "eps", default=1.0e-8)
    betas = config.get("optimizer", "params", "betas", default=[0.9, 0.999] if found.facts.get("optimizer") == "adamw" else None)
    if isinstance(betas, list) and [type(beta) for beta in betas] == [float, float]:
        found.take("beta1", config, "optimizer", "params", "betas", value=betas[0])
        found.take("beta2", config, "optimizer", "params", "betas", value=betas[1])


def deepspeed_schedule(found: Existing, config: Any) -> None:
    """Read the facts of the `scheduler` section; without one the rate is constant."""
    name = config.get("scheduler", "type")
    if name is None:
        found.facts.update(scheduler="constant", warmup=0.0)
        return
    shape = DEEPSPEED_SCHEDULES.get(name) if isinstance(name, str) else None
    found.take("scheduler", config, "scheduler", "type", value=shape)
    if shape is None:
        return
    found.number("steps", config, "scheduler", "params", "total_num_steps", least=1)
    found.number("warmup", config, "scheduler", "params", "warmup_num_steps", default=1000, least=1)
    found.use(config, "scheduler", "params", "warmup_max_lr")
    found.use(config, "scheduler", "params", "warmup_type")
    rate = found.facts.get("learning_rate")
    if shape == "cosine" and rate is not None:
        ratio = config.get("scheduler", "params", "cos_min_ratio", default=COSINE_FLOOR)
        if type(ratio) in (int, float):
            found.take("min_learning_rate", config, "scheduler", "params", "cos_min_ratio", value=ratio * rate)


def of_neox(found: Existing, config: Any) -> None:
    """Read the facts of GPT-NeoX arguments, defaults included."""
    for key, fact in NEOX_SIZES.items():
        found.number(fact, config, key, least=1)
    found.number("seq_length", config, "seq_length", least=1)
    for key in ("max_position_embeddings", "pipe_parallel_size", "model_parallel_size"):
        found.use(config, key)
    found.number("steps", config, "train_iters", least=1)
    found.number("epochs", config, "train_epochs", least=1)
    found.number("save_steps", config, "checkpoint_factor", least=1)
    found.number("logging_steps", config, "log_interval", least=1)
    found.number_or_default("seed", config, "seed", least=1)
    if config.argument("checkpoint_activations") is True:
        found.take("checkpointing", config, "checkpoint_activations", value=True)
    if isinstance(config.get("save"), str):
        found.take("output_dir", config, "save", value=config.get("save"))
    neox_training(found, config)


def neox_training(found: Existing, config: Any) -> None:
    """Read precision, ZeRO, optimizer and schedule."""
    derived = config.derived
    found.take("precision", config, "precision", value={"bfloat16": "bf16"}.get(derived.precision, derived.precision))
    for section in ("fp16", "bf16"):
        found.use(config, section, "enabled")
    if derived.zero_stage is not None:
        found.take("zero", config, "zero_optimization", "stage", value=derived.zero_stage)
    found.take("optimizer", config, "optimizer", "type", value={"adam": "adamw", "lion": "lion"}.get(derived.optimizer_name))
    found.number("learning_rate", config, "optimizer", "params", "lr", default=1.0e-3)
    optimizer_numbers(found, config, weight_decay=config.default(("weight_decay",), None))
    found.number_or_default("weight_decay", config, "weight_decay")
    found.number_or_default("clipping", config, "gradient_clipping")
    found.number("clipping", config, "deepspeed_extra_args", "gradient_clipping")
    style = config.argument("lr_decay_style")
    found.take("scheduler", config, "lr_decay_style", value=style if style in ("linear", "cosine", "constant") else None)
    found.number_or_default("min_learning_rate", config, "min_lr")
    found.number_or_default("warmup", config, "warmup")
    if config.get("lr_decay_iters") == config.get("train_iters"):
        found.use(config, "lr_decay_iters")


def of_accelerate(found: Existing, config: Any) -> None:
    """Read the facts of a launch."""
    for key in ("compute_environment", "distributed_type", "num_processes", "num_machines", "machine_rank"):
        found.use(config, key)
    if config.started is not None:
        found.facts["gpus"] = config.started
        found.facts["gpus_per_node"] = config.per_machine
    if config.trainer is None and config.precision in ("no", "fp16", "bf16"):
        found.take("precision", config, "mixed_precision", value={"no": "fp32"}.get(config.precision, config.precision))
    if config.uses_deepspeed and config.deepspeed_file is None:
        found.number("zero", config, "deepspeed_config", "zero_stage", default=2)
        found.number("clipping", config, "deepspeed_config", "gradient_clipping")
        accelerate_offload(found, config)
    found.use(config, "deepspeed_config", "deepspeed_config_file")


def accelerate_offload(found: Existing, config: Any) -> None:
    """Read the devices that the launch offloads to."""
    optimizer, weights = (config.get("deepspeed_config", key, default="none") for key in OFFLOAD_DEVICES)
    moved = weights == "cpu" and found.facts.get("zero") == 3
    if optimizer == "cpu":
        found.take("offload", config, "deepspeed_config", OFFLOAD_DEVICES[0], value="all" if moved else "optimizer")
    for key, device in zip(OFFLOAD_DEVICES, (optimizer, weights), strict=True):
        if device == "none" or found.facts.get("offload") == "all":
            found.use(config, "deepspeed_config", key)
