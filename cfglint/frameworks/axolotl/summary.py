"""The part of `explain` about an axolotl run: length, learning rate, precision, and the values that the Trainer fills into the
DeepSpeed file.
"""

from __future__ import annotations

from cfglint.frameworks.axolotl.batch import counted, numbers, planned, streams
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.refusals import AxolotlModel
from cfglint.frameworks.huggingface.batch import UNKNOWN, Steps, steps
from cfglint.frameworks.huggingface.summary import filled, occasions
from cfglint.frameworks.summary import EXAMPLES, GPUS, LENGTH, PRECISION, RATE, Summary, nodes, one_gpu_each

COUNT = "samples x num_epochs / batch size, rounded up"


WRITTEN = (  # what the keys of a run that is refused say
    (LENGTH, "epochs", "num_epochs"),
    (LENGTH, "max steps", "max_steps"),
    (LENGTH, "warm-up steps", "warmup_steps"),
    (RATE, "optimizer", "optimizer"),
    (RATE, "learning rate", "learning_rate"),
    (RATE, "schedule", "lr_scheduler"),
)


def account(config: AxolotlConfig) -> Summary:
    summary, model = Summary(config.release), config.model
    for group, label, key in WRITTEN if not config.parsed else ():
        if config.get(key) is not None:
            summary.add(group, label, config.setting(key))
    if config.parsed and model is not None:
        length(config, model, summary)
        args, engine = config.arguments, config.deepspeed.values if config.deepspeed is not None else {}
        if "optimizer" not in engine:
            for label, key in (("optimizer", "optimizer"), ("learning rate", "learning_rate"), ("weight decay", "weight_decay")):
                setting = config.setting(key)
                setting.value = getattr(model, key)
                summary.add(RATE, label, setting)
        if "scheduler" not in engine:
            summary.add(RATE, "schedule", config.setting("lr_scheduler", value=model.lr_scheduler))
        if config.deepspeed is None:
            summary.add(RATE, "gradient clipping", config.setting("max_grad_norm", value=args["max_grad_norm"]))
            chosen = next((name for name in ("bf16", "fp16") if args[name]), None)
            because = config.setting(chosen).place if chosen else "neither bf16 nor fp16 is set"
            summary.derive(PRECISION, "precision", "precision", chosen or "fp32", because)
        if model.adapter:
            summary.add(PRECISION, "adapter", config.setting("adapter"))
        if model.fsdp_config:
            summary.derive(PRECISION, "FSDP", "fsdp_version", 2, "fsdp_config")
        summary.add(PRECISION, "gradient checkpointing", config.setting("gradient_checkpointing", value=bool(model.gradient_checkpointing)))
        filled(config, summary)
    summary.assumed.append(f"{one_gpu_each(config.facts.gpus)}, started by `axolotl train`")
    machine = f"{nodes(config.facts)} (bf16 and tf32 work), optional packages installed"
    summary.assumed.append(f"{machine}; the evaluation set is that of the file")
    if model is not None and model.sample_packing:
        summary.assumed.append("sample_packing: the number of steps depends on the lengths of the samples")
    return summary


def length(config: AxolotlConfig, model: AxolotlModel, summary: Summary) -> None:
    samples = config.facts.num_examples, config.facts.examples_source
    found = numbers(config)
    is_counted = not model.sample_packing and not streams(config)
    missing = [flag for flag, value in ((GPUS, config.facts.gpus), (EXAMPLES, samples[0])) if value is None and is_counted]
    needs = " and ".join(missing)
    if is_counted or samples[0] is not None:
        summary.derive(LENGTH, "training samples", "num_examples", *samples, needs=EXAMPLES)
    if model.max_steps:
        summary.add(LENGTH, "max steps", config.setting("max_steps"))
    else:
        summary.add(LENGTH, "epochs", config.setting("num_epochs", value=model.num_epochs))
    summary.add(LENGTH, "sequence length", config.setting("sequence_len", value=model.sequence_len))
    because = "max_steps" if model.max_steps else "depends on the packed lengths" if model.sample_packing else COUNT
    summary.derive(LENGTH, "total steps", "total_steps", found["total_steps"], because, needs=needs)
    of_epochs, total = counted(config), found["total_steps"]
    if model.max_steps and of_epochs is not None:
        summary.derive(LENGTH, "steps of the epochs", "counted_steps", of_epochs, COUNT)
        if of_epochs and total is not None:
            summary.derive(LENGTH, "epochs", "epochs", round(total * model.num_epochs / of_epochs, 2), "of the steps")
    run = steps(config) if is_counted else UNKNOWN
    occasions(config, summary, Steps(run.batches, run.updates, total, None), needs)
    of_total = f"{planned(config):,} steps" if planned(config) is not None else "the steps"
    because = f"axolotl's default: 3 % of {of_total}, 100 at most"
    if model.warmup_steps is not None:
        because = "warmup_steps" + (": 1 becomes 2" if model.warmup_steps == 1 else "")
    elif model.warmup_ratio is not None:
        because = f"warmup_ratio {model.warmup_ratio} of {of_total}, cut off"
    summary.derive(LENGTH, "warm-up steps", "warmup_steps", found["warmup_steps"], because, needs=needs)
