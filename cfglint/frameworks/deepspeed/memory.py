"""The memory settings of a DeepSpeed config.

Source: deepspeed 0.19.8 runtime/zero/config.py (defaults), runtime/engine.py (`_configure_zero_optimizer`), runtime/config.py
(`data_types.grad_accum_dtype`).
"""

from __future__ import annotations

from cfglint.batch.memory.settings import ADAM_FUSED, FP32, ONE_STATE, SGD, ZERO, Settings, Zero
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.memory.estimate import ROW_KEYS
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.frameworks.memory.named_models import MODEL_KEYS, published_model
from cfglint.source.record import changed
from cfglint.source.shell.command import WORDS

# The states of each optimizer name; the step works on the fp32 partition and makes no copy of all states.
OPTIMIZERS = dict.fromkeys(("adam", "adamw", "lamb", "muadam", "muadamw"), ADAM_FUSED) | dict.fromkeys(("sgd", "musgd"), SGD)
OPTIMIZERS |= dict.fromkeys(("adagrad", "lion"), ONE_STATE)
AUTO = "auto"


def number(value: object, default: float) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def zero_of(config: DeepSpeedConfig, model: Model) -> Zero:
    """The `zero_optimization` section. Unresolved `"auto"` sizes get the trainer's values, computed from the model's hidden size."""
    section, hidden = config.zero, model.shape.hidden
    types = config.values.get("data_types")
    raw = config.values.get("zero_optimization")
    unfilled = {key for key, value in raw.items() if value == AUTO} if isinstance(raw, dict) else set()
    bucket = hidden * hidden if "reduce_bucket_size" in unfilled else number(section["reduce_bucket_size"], 5e8)
    prefetch = 0.9 * hidden * hidden if "stage3_prefetch_bucket_size" in unfilled else number(section["prefetch_bucket_size"], 5e7)
    parameters = section["offload_param"]
    return Zero(
        stage=config.stage or 0,
        reduce_bucket=bucket,
        overlap=config.overlap_comm,
        contiguous=section["contiguous_gradients"] is not False,
        fp32_gradients=isinstance(types, dict) and types.get("grad_accum_dtype") == FP32,
        offload_optimizer=config.offload != "none",
        offload_parameters=parameters is not None and str(parameters["device"]) != "none",
        max_live=number(section["max_live_parameters"], 1e9),
        prefetch=prefetch,
        sub_group=number(section["sub_group_size"], 1e9),
    )


def with_engine(settings: Settings, config: DeepSpeedConfig, model: Model) -> Settings:
    precision = config.precision
    named = config.optimizer
    return changed(
        settings,
        autocast=None if precision == FP32 else precision,
        optimizer=settings.optimizer if named is None else OPTIMIZERS.get(named.name.lower(), ADAM_FUSED),
        strategy=ZERO,
        zero=zero_of(config, model),
    )


def arguments(config: DeepSpeedConfig) -> dict[str, str | None]:
    command = config.facts.launch.command
    return WORDS.construct(command) if command is not None else {}


def model(config: DeepSpeedConfig) -> Model | None:
    shaped = config.megatron
    if shaped is not None:
        return shaped.part("model", None)
    given = arguments(config)
    return next((found for key in MODEL_KEYS if (found := published_model(given.get(key) or "")) is not None), None)


def inputs(config: DeepSpeedConfig, model: Model) -> Inputs | None:
    """The settings of a run with a DeepSpeed file only: its script decides checkpointing and attention, and may pass the optimizer."""
    if not config.readable or config.stage is None or config.unknown_precision is not None:
        return None
    batch = config.batch
    micro, ranks, accumulation = batch.micro_batch.integer or 0, batch.data_parallel.integer, batch.accumulation.integer
    known = micro > 0
    shaped = config.megatron
    if shaped is not None:
        from cfglint.frameworks.megatron.memory import inputs as megatron_inputs

        found = megatron_inputs(shaped, model, zero_of(config, model))
        settings = changed(found.settings, micro_batch=micro if known else 1, ranks=ranks if ranks is not None and ranks > 0 else 1)
        return changed(found, settings=with_engine(settings, config, model), micro_known=known)
    given = arguments(config)
    written = next((text for key in ROW_KEYS if (text := given.get(key))), "")
    sequence = int(written) if written.isdecimal() and int(written) > 0 else config.facts.seq_length
    assumed = [f"rows of {sequence} tokens"] if sequence else []
    assumed += ["flash or sdpa attention", "with or without gradient checkpointing"]
    if config.optimizer is None:
        assumed.append("an Adam passed in code")
    settings = Settings(
        micro_batch=micro if known else 1,
        sequence=sequence or 1,
        loaded=FP32 if config.precision == FP32 else config.precision,
        accumulation=accumulation if type(accumulation) is int else 1,
        ranks=ranks if ranks is not None and ranks > 0 else 1,
        own_code=config.facts.model is None,  # the program may load the model in another form, or train a part of it
    )
    settings = with_engine(settings, config, model)
    return Inputs(settings, (changed(settings, checkpointing=True),), tuple(assumed), sequence is not None, known)
