"""A DeepSpeed config under the Trainer: how `"auto"` is resolved, which values are compared, what accelerate adds.

The steps are those of `HfTrainerDeepSpeedConfig` (transformers 5.23.0 integrations/deepspeed.py:136-266)
and of accelerate's `DeepSpeedPlugin` and `_prepare_deepspeed` (1.15.0 utils/dataclasses.py:1218-1466,
accelerator.py:2141-2420), in their order and on the unconverted values, so that a value of an invalid type
fails at the same step.
"""

from __future__ import annotations

from contextlib import suppress

from cfglint.evaluate import Reason, Unknown
from cfglint.evaluate.operations import unknown
from cfglint.findings.setting import DEFAULT, OVERRIDE, WRITTEN, Setting
from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.base import Config
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.huggingface.trainer_files import TrainerFiles
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigTable, ConfigValue, Operand
from cfglint.source.document import Document, Path
from cfglint.source.load_results import copied
from cfglint.source.numbers import is_positive
from cfglint.source.record import Record
from cfglint.source.sections import Section

HIDDEN_SIZE = 4096  # the assumed hidden size of an unknown model, for `auto` sizes
FROM_HIDDEN_SIZE = "the model's hidden size"
LENGTH = Reason("derived", "the length of the run")
AUTO = "auto"
REFUSES = (AttributeError, TypeError, ValueError, KeyError, RuntimeError, ImportError)  # what a step raises
MOST_REPEATED = 10_000
OFFLOADS = ("offload_optimizer", "offload_param")
SIZES = ("reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold")
FLOORED_WARMUP = (5, 18)  # an automatic warm-up is at least one step from here on
WHOLE_BUCKETS = (4, 45)  # automatic bucket sizes are integers from here on
NO_APEX = (5,)  # fp16_backend and fp16_opt_level are removed
ACCELERATE_1 = (1,)  # release of accelerate from which a missing micro batch is accepted
WITH_ACCELERATE_1 = (4, 46)  # releases of transformers that are commonly used with accelerate 1.x
SHARES_SAMPLES = (1, 6)  # release of accelerate from which the ranks of DeepSpeed's tensor parallelism get the same samples
WITH_SHARED_SAMPLES = (4, 51)  # releases of transformers that are commonly used with it
AUTOTP = (0, 16, 4)  # release of DeepSpeed that has tensor parallelism for training
SETS_BOUNDARY = (1, 8)  # release of accelerate from which its own accumulation decides when the engine takes a step


class Mismatch(Record):
    """A value of the DeepSpeed file that differs from the trainer's: its path, the trainer's fields, and both values."""

    path: str
    theirs: Operand
    fields: tuple[str, ...]
    label: str
    ours: Operand

    @property
    def line(self) -> str:
        return f"- ds {self.path}={self.theirs} vs hf {self.label}={self.ours}"


class Fill(Record):
    """The origin of the value of an `"auto"`: the trainer's fields, or another source."""

    value: Operand
    because: str
    fields: tuple[str, ...] = ()


class UnresolvedAuto(Exception):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"`{path}` not found in kwargs. Please specify `{path}` without `auto` "
            "(set to correct value) in the DeepSpeed config file or pass it in kwargs."
        )
        self.path = path


class PrecisionConflict(ValueError):
    """The file enables the half-precision type that the trainer does not use."""


def open_what_is_filled(section: ConfigMapping, later: ConfigMapping) -> None:
    for key, value in section.items():
        after = later.get(key)
        if isinstance(value, dict) and isinstance(after, dict):
            open_what_is_filled(value, after)
        elif value == AUTO and after != AUTO:
            section[key] = Unknown()


class HfDeepSpeedConfig:
    """A DeepSpeed configuration under a trainer: the `values` that the engine receives, and the `refusal` before it is built.

    `filled` has the values for each `"auto"`, by its dotted key; `mismatches` are raised together when training begins.
    """

    UNRESOLVED, PRECISION, VALUE = "unresolved auto", "precision", "value"  # the kinds of refusals
    HALF_PRECISION = ("fp16.enabled", "bf16.enabled")

    def __init__(self, trainer: TrainerFiles, values: ConfigMapping, document: Document, prefix: Path) -> None:
        self.trainer = trainer
        self.document = document
        self.prefix = prefix
        self.written = values
        self.values: ConfigMapping = copied(values)
        self.filled: dict[str, Fill] = {}
        self.mismatches: list[Mismatch] = []
        self.refusal: Refusal | None = None
        self._at = ""

    @property
    def known_hidden_size(self) -> int | None:
        from cfglint.frameworks.memory.named_models import MODEL_KEYS, model_of

        model = model_of(self.trainer)
        if model is not None:
            return model.shape.hidden
        names = (self.trainer.values.get(key) for key in MODEL_KEYS)
        named = next((name for name in names if isinstance(name, str)), "")
        if not named:
            return None
        from cfglint.batch.shapes import hidden_size_of

        return hidden_size_of(named)

    @property
    def missing_size(self) -> int | None:
        """The hidden size of the model, assumed if it is unknown; None if no size must still be computed from it."""
        needs = any(self.value(f"zero_optimization.{key}") == AUTO for key in SIZES)
        return (self.known_hidden_size or HIDDEN_SIZE) if needs else None

    def assumed_sizes(self) -> set[str]:
        """The keys whose value follows from an unknown hidden size."""
        filled = {path for path, fill in self.filled.items() if fill.because == FROM_HIDDEN_SIZE}
        return filled if filled and self.known_hidden_size is None else set()

    @property
    def tensor_parallel(self) -> int:
        if not self.shares_samples or self.trainer.facts.version("deepspeed", RELEASES["deepspeed"]) < AUTOTP:
            return 1
        section = self.written.get("tensor_parallel")
        size = section.get("autotp_size", 1) if isinstance(section, dict) else 1
        return size if isinstance(size, int) and size > 1 else 1

    @property
    def stage(self) -> Operand:
        """The ZeRO stage that the file has; None if it has none."""
        section = self.written.get("zero_optimization")
        return section.get("stage") if isinstance(section, dict) else None

    @property
    def shares_samples(self) -> bool:
        """Whether accelerate reads `tensor_parallel.autotp_size` (1.6.0 accelerator.py:1823; 1.5.2 does not)."""
        return self.trainer.has_accelerate(SHARES_SAMPLES, WITH_SHARED_SAMPLES)

    @property
    def steps_every_micro_batch(self) -> bool:
        """Whether the engine takes an optimizer step for every micro batch, whatever the Trainer accumulates.

        Without `gradient_accumulation_steps` in the DeepSpeed config accelerate sets it to 1. Up to 1.7.0 the engine steps at its own
        boundary (accelerate 1.7.0 utils/deepspeed.py, `DeepSpeedEngineWrapper.backward`); from 1.8.0 on accelerate calls
        `set_gradient_accumulation_boundary` with its own (1.8.0 utils/deepspeed.py:267), and the key has no effect on the steps.
        """
        if "gradient_accumulation_steps" in self.written or "train_batch_size" in self.written:
            return False
        return not self.trainer.has_accelerate(SETS_BOUNDARY)

    def setting(self, path: str) -> Setting:
        steps = tuple(path.split("."))
        value: ConfigValue = self.written
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        where = (*self.prefix, *steps)
        for end in range(len(where), 0, -1):
            key, node = self.document.find(where[:end])
            if node is not None:
                return Setting(where, value, WRITTEN if end == len(where) else DEFAULT, self.document, node, key)
        return Setting(where, value, DEFAULT, self.document)

    def accepts_auto(self, setting: Setting) -> bool:
        return True

    # ---- looking up and filling values, as both libraries do -------------------------------------------------------

    def find(self, path: str) -> tuple[Operand, str]:
        """(section, last key) of a dotted key; the section is None if it does not exist."""
        self._at = path
        node: Any = self.values
        *sections, key = path.split(".")
        for section in sections:
            node = node.get(section)
            if node is None:
                return None, key
        return node, key

    def value(self, path: str, missing: object = None) -> Operand:
        section, key = self.find(path)
        return missing if section is None else section.get(key, missing)

    def fill(self, path: str, value: object, because: str, fields: tuple[str, ...] = ()) -> bool:
        """Fill an `"auto"` with a value; return whether there was one."""
        section, key = self.find(path)
        if section is None or section.get(key) != AUTO:
            return False
        section[key] = value
        self.filled.setdefault(path, Fill(value, because, fields))
        return True

    def match(self, path: str, value: object, fields: tuple[str, ...], label: str) -> None:
        doubt = unknown(*(self.trainer.arguments[name] for name in fields))
        if doubt is not None:
            self.fill(path, doubt, "a value that is not known here")
            return
        if self.fill(path, value, ", ".join(fields), fields):
            return
        section, key = self.find(path)
        theirs = section.get(key) if section is not None else None
        if theirs is not None and theirs != value and not isinstance(theirs, Unknown):
            self.mismatches.append(Mismatch(path, theirs, fields, label, value))

    # ---- the stages ------------------------------------------------------------------------------------------

    @property
    def stages(self) -> tuple[tuple[Stage, Callable[[], None]], ...]:
        return (
            ("config", self._stage_and_offload),
            ("config", self._arguments),
            ("config", self._plugin),
            ("init", self._precision),
            ("init", self._loader),
            ("init", self._finalize),
            ("init", self._prepare),
        )

    def run(self) -> None:
        """Execute the steps, up to the first one that is refused; every `"auto"` that the others would fill is unknown then."""
        stages = self.stages
        for place, (stage, step) in enumerate(stages):
            self._attempt(stage, step)
            if self.refusal is None:
                continue
            values, filled, mismatches = self.values, self.filled, self.mismatches
            self.values, self.filled, self.mismatches = copied(values), {}, []
            for _, later in stages[place + 1 :]:
                with suppress(UnresolvedAuto, *REFUSES):
                    later()
            open_what_is_filled(values, self.values)
            self.values, self.filled, self.mismatches = values, filled, mismatches
            return

    def _attempt(self, stage: Stage, step: Callable[[], None]) -> None:
        known = set(self.values)
        try:
            step()
        except UnresolvedAuto as error:
            kind, path, exception = self.UNRESOLVED, error.path, f"ValueError: {error}"
        except PrecisionConflict as error:
            kind, path, exception = self.PRECISION, self._at, f"ValueError: {error}"
        except REFUSES as error:
            kind, path, exception = self.VALUE, self._at, f"{type(error).__name__}: {error}"
        else:
            return
        reason = exception.partition(": ")[2]
        self.refusal = Refusal(kind, (path,), f"`{path}` is not accepted by the Trainer: {reason}", exception, fails_at=stage)
        for added in set(self.values) - known:  # the engine never gets what a refused step added to the file
            del self.values[added]

    def _stage_and_offload(self) -> None:
        if self.value("zero_optimization.stage", -1) not in (2, 3):
            return
        paths = [f"zero_optimization.{section}.device" for section in OFFLOADS]
        for path, device in [(path, self.value(path)) for path in paths]:
            self._at = path
            hash(device)  # transformers makes a set of both, which an unhashable device cannot be in

    def _arguments(self) -> None:
        """Fill and compare the values of `TrainingArguments`: `trainer_config_process`."""
        args, world = self.trainer.arguments, self.trainer.world_size
        micro, accumulation = args["per_device_train_batch_size"], args["gradient_accumulation_steps"]
        fields = ("per_device_train_batch_size", "gradient_accumulation_steps")
        self.match("train_micro_batch_size_per_gpu", micro, fields[:1], fields[0])
        self.match("gradient_accumulation_steps", accumulation, fields[1:], fields[1])
        if world is not None:
            self.match("train_batch_size", product(world, micro, accumulation), fields, "train_batch_size (calculated)")
        elif self.values.get("train_batch_size") == AUTO:  # left out: the micro batch that DeepSpeed derives from it is known
            del self.values["train_batch_size"]
            if self.values.get("train_micro_batch_size_per_gpu") is None:
                samples: Any = product(micro, accumulation)
                steps = self.values.get("gradient_accumulation_steps", 1)
                size = samples // steps if is_positive(samples) and is_positive(steps) else samples
                self.values["train_micro_batch_size_per_gpu"] = size
                self.filled["train_micro_batch_size_per_gpu"] = Fill(size, ", ".join(fields), fields)
        self.match("gradient_clipping", args["max_grad_norm"], ("max_grad_norm",), "max_grad_norm")
        self.match("optimizer.params.lr", args["learning_rate"], ("learning_rate",), "learning_rate")
        betas = [args["adam_beta1"], args["adam_beta2"]]
        self.match("optimizer.params.betas", betas, ("adam_beta1", "adam_beta2"), "adam_beta1+adam_beta2")
        self.match("optimizer.params.eps", args["adam_epsilon"], ("adam_epsilon",), "adam_epsilon")
        self.match("optimizer.params.weight_decay", args["weight_decay"], ("weight_decay",), "weight_decay")
        self.fill("scheduler.params.warmup_min_lr", 0, "the trainer's own 0")
        self.match("scheduler.params.warmup_max_lr", args["learning_rate"], ("learning_rate",), "learning_rate")
        if args["save_on_each_node"]:
            self.values["checkpoint"] = self.values.get("checkpoint", {})
            self.values["checkpoint"]["use_node_local_storage"] = args["save_on_each_node"]
        half = args["fp16"] or args["fp16_full_eval"]
        if self.trainer.version >= NO_APEX:
            self.match("fp16.enabled", half, ("fp16",), "fp16|fp16_full_eval")
        else:
            apex = args["fp16_backend"] == "apex"
            self.match("fp16.enabled", half and not apex, ("fp16",), "fp16|fp16_full_eval+fp16_backend(amp)")
            self.match("amp.enabled", bool(half and apex), ("fp16", "fp16_backend"), "fp16+fp16_backend(apex)")
            self.match("amp.opt_level", args["fp16_opt_level"], ("fp16_opt_level",), "fp16_opt_level")
        self.match("bf16.enabled", args["bf16"] or args["bf16_full_eval"], ("bf16",), "bf16|bf16_full_eval")
        self.value("fp16.enabled")
        self.value("bf16.enabled")

    def _plugin(self) -> None:
        """Fill and check as accelerate's plugin does: `DeepSpeedPlugin.__post_init__`."""
        self._at = "gradient_accumulation_steps"
        if "gradient_accumulation_steps" not in self.values:
            self.values["gradient_accumulation_steps"] = 1
        self._at = "zero_optimization"
        if "zero_optimization" not in self.values:
            raise ValueError("Please specify the ZeRO optimization config in the DeepSpeed config.")
        offloads = ("offload_optimizer.device", "offload_param.device", "offload_param.nvme_path", "offload_optimizer.nvme_path")
        for key, value in {"stage": 2, **dict.fromkeys(offloads, "none"), "stage3_gather_16bit_weights_on_model_save": False}.items():
            self.fill(f"zero_optimization.{key}", value, "accelerate's default")
        self._stage_and_offload()
        self.values["steps_per_print"] = float("inf")

    @property
    def precision(self) -> str:
        args = self.trainer.arguments
        return "fp16" if args["fp16"] else "bf16" if args["bf16"] else "no"

    def _precision(self) -> None:
        """`set_mixed_precision`: missing sections are added, the other half-precision type must be off."""
        mixed = self.precision
        if mixed == "fp16" and "fp16" not in self.values:
            self.values["fp16"] = {"enabled": True, "auto_cast": True}
        elif mixed == "bf16" and "bf16" not in self.values:
            self.values["bf16"] = {"enabled": True}
        if mixed != "no":
            other = "bf16" if mixed == "fp16" else "fp16"
            self._at = f"{other}.enabled"
            if str(self.values.get(other, {}).get("enabled", "False")).lower() == "true":
                text = f"`--mixed_precision` arg cannot be set to `{mixed}` when `{other}` is set in the DeepSpeed config file."
                raise PrecisionConflict(text)
        for name in ("fp16", "bf16"):
            self.values.setdefault(name, {"enabled": False})
            self.fill(f"{name}.enabled", mixed == name, "the trainer's precision")
        for name in ("fp16", "bf16"):  # the property of the state of accelerate, in which every AttributeError is one of the state
            self._at = name
            if self.values[name] is None:
                raise AttributeError("'AcceleratorState' object has no attribute 'mixed_precision'")
            if self.values[name].get("enabled", False) is not False:
                break

    def _loader(self) -> None:
        """Multiply out the batch, as preparing the data loader does."""
        self._at = "train_micro_batch_size_per_gpu"
        micro = self.values.get("train_micro_batch_size_per_gpu")
        accumulation = self.values.get("gradient_accumulation_steps")
        world = self.trainer.world_size or 1
        if self.shares_samples:
            section = self.values.get("tensor_parallel", {})
            self._at = "tensor_parallel.autotp_size"
            parts = section.get("autotp_size", 0)
            if parts > 1 and self.trainer.facts.version("deepspeed", RELEASES["deepspeed"]) < AUTOTP:
                raise ImportError("Deepspeed TP requires deepspeed >= 0.16.4, Please update DeepSpeed via `pip install deepspeed -U`.")
            if parts > 1 and parts > (self.trainer.world_size or parts):
                raise RuntimeError(f"Mesh should not be bigger than default world size {world}, but found {parts} ranks!")
        forgiving = self.trainer.has_accelerate(ACCELERATE_1, WITH_ACCELERATE_1)
        if micro is None and forgiving:
            return
        self._at = "train_micro_batch_size_per_gpu" if not isinstance(micro, (int, float)) else "gradient_accumulation_steps"
        total = product(micro, accumulation, world)
        if forgiving and not isinstance(total, Unknown):
            _ = total // 1

    def _finalize(self) -> None:
        """Fill the values that depend on the model's size and the length of the run: `trainer_config_finalize`."""
        size = self.missing_size
        if size is not None:
            bucket: int | float = 0.9 * size * size
            self.fill("zero_optimization.reduce_bucket_size", size * size, FROM_HIDDEN_SIZE)
            if self.values["zero_optimization"].get("stage", -1) == 3:
                bucket = int(bucket) if self.trainer.version >= WHOLE_BUCKETS else bucket
                self.fill("zero_optimization.stage3_prefetch_bucket_size", bucket, FROM_HIDDEN_SIZE)
                self.fill("zero_optimization.stage3_param_persistence_threshold", 10 * size, FROM_HIDDEN_SIZE)
        run = self.trainer.numbers()
        warmup = run["warmup_steps"]
        if warmup is not None and self.trainer.version >= FLOORED_WARMUP:
            warmup = max(1, warmup)
        for path, value, fields, label in (
            ("scheduler.params.total_num_steps", run["total_steps"], ("max_steps", "num_train_epochs"), "num_training_steps (calculated)"),
            ("scheduler.params.warmup_num_steps", warmup, ("warmup_steps",), "warmup_steps"),
        ):
            if value is not None:
                self.match(path, value, fields, label)
            else:
                self.fill(path, Unknown(LENGTH), "the length of the run, which is not known here")
        if "optimizer" in self.values and self.trainer.arguments.given.get("adafactor"):  # 4.45.2 integrations/deepspeed.py:321
            self._at = "optimizer"
            found = "--adafactor was passed, but also found `optimizer` configured in the DeepSpeed config."
            raise ValueError(f"{found} Only one optimizer can be configured.")

    def _prepare(self) -> None:
        """Prepare the model: an `"auto"` that is left now is never filled."""
        known: ConfigTable = {"gradient_clipping": 1.0, "zero_optimization.stage3_gather_16bit_weights_on_model_save": False}
        size = self.missing_size
        if size is not None:
            known["zero_optimization.stage3_prefetch_bucket_size"] = int(0.9 * size * size)
            known["zero_optimization.stage3_param_persistence_threshold"] = 10 * size
            known["zero_optimization.reduce_bucket_size"] = size * size
        self._leftovers("", self.values, known)
        if "optimizer" not in self.values:
            self._at = "zero_optimization.offload_optimizer"
            self.values["zero_optimization"].get("offload_optimizer", {}).get("device", "none")
            self.values["zero_allow_untested_optimizer"] = True

    def _leftovers(self, prefix: str, section: ConfigMapping, known: ConfigTable) -> None:
        for key, value in list(section.items()):
            path = f"{prefix}{key}"
            if isinstance(value, dict):
                self._leftovers(f"{path}.", value, known)
            elif value == AUTO:
                if path not in known:
                    raise UnresolvedAuto(path)
                self.fill(path, known[path], "accelerate's default")

    def engine(self) -> Config | None:
        """The config of its own kind that `deepspeed.initialize` receives."""
        document, written = self.document, dict[str, Setting]()
        if self.prefix:
            document = Section(document, self.prefix)
        for path, fill in self.filled.items():
            for field in fill.fields:
                setting = self.trainer.setting(self.trainer.arguments.written(field))
                if setting.written or setting.origin == OVERRIDE:
                    written.setdefault(path, setting)
        return DeepSpeedConfig(
            [document],
            self.trainer.facts,
            values=self.values,
            trainer=self.trainer,
            world_size=self.trainer.world_size,
            mismatched_keys={mismatch.path for mismatch in self.mismatches},
            filled=written,
            assumed=self.assumed_sizes(),
        )

    @property
    def disagrees_on_precision(self) -> bool:
        """Whether the trainer fails because the file enables the other half-precision type, so that other findings are redundant."""
        return self.refusal is not None and self.refusal.kind == self.PRECISION


def product(*factors: Operand) -> Operand:
    """The product as Python computes it, except that no string and no list is repeated beyond MOST_REPEATED characters or items."""
    doubt = unknown(*factors)
    if doubt is not None:
        return doubt
    result = factors[0]
    for each in factors[1:]:
        repeated = next((part for part in (result, each) if isinstance(part, (str, list))), None)
        if repeated is not None:
            most = MOST_REPEATED // max(len(repeated), 1)
            result, each = (min(part, most) if isinstance(part, int) else part for part in (result, each))  # noqa: PLW2901
        result = result * each
    return result
