"""The objects of a training loop that libraries make: data loaders, optimizers, schedules, engines, `Accelerator`s and their plugins.

Source: accelerate 1.15.0 accelerator.py (prepare, num_processes), deepspeed 0.19.8 deepspeed/__init__.py (initialize), transformers 5.24.0
optimization.py, diffusers 0.36.0 optimization.py.
"""

from __future__ import annotations

from cfglint.evaluate import Choice, Reason
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.objects import (
    ACCELERATOR,
    ENGINE,
    LOADER,
    NONE,
    OPTIMIZER,
    PIPELINE,
    PLUGIN,
    SCHEDULE,
    Given,
    LoopObject,
    Mapping,
    Named,
    Opaque,
    Sequence,
    Value,
    unknown,
)
from cfglint.source.annotations import Iterator

ENGINE_CALL = "deepspeed.initialize"
ACCELERATOR_CALLS = ("accelerate.Accelerator", "accelerate.accelerator.Accelerator")
ACCUMULATE = "accelerate.Accelerator.accumulate"
VARIABLE = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"  # which takes precedence over the keyword (accelerate 1.15.0 accelerator.py:546)
LOADERS = (
    *("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader", "torch_geometric.loader.DataLoader"),
    *("torchdata.stateful_dataloader.StatefulDataLoader", "torch_geometric.data.DataLoader"),
)
PLUGINS = ("DataLoaderConfiguration", "DeepSpeedPlugin", "GradientAccumulationPlugin")
OPTIMIZER_PACKAGES = (
    *("torch.optim.", "bitsandbytes.optim.", "apex.optimizers.", "deepspeed.ops.", "torch_optimizer.", "colossalai.nn.optimizer."),
    *("transformers.optimization.Ada", "transformers.Ada", "lion_pytorch.", "prodigyopt.", "schedulefree.", "dadaptation.", "muon."),
    "accelerate.utils.DummyOptim",
)
SCHEDULE_PACKAGES = ("torch.optim.lr_scheduler.", "deepspeed.runtime.lr_schedules.", "accelerate.utils.DummyScheduler")
SCHEDULES = ("transformers.", "diffusers.")  # packages whose functions `get_*` make schedules
# The parameters that may be given by position, in order.
RATED = ("params", "lr")
WARMED = ("optimizer", "num_warmup_steps", "num_training_steps")
NAMED = ("name", "optimizer", *WARMED[1:])
SIGNATURES = {
    "DataLoader": ("dataset", "batch_size"),
    "DummyScheduler": ("optimizer", "total_num_steps", "warmup_num_steps"),
    "get_scheduler": NAMED,
    "diffusers.get_scheduler": ("name", "optimizer", "step_rules", *WARMED[1:]),
    "initialize": ("args", "model", "optimizer", "model_parameters", "training_data", "lr_scheduler"),
    "PipelineModule": ("layers", "num_stages", "topology"),
    "PipeModelDataParallelTopology": ("num_pp", "num_mp", "num_dp"),
    "PipeDataParallelTopology": ("num_pp", "num_dp"),
}
SAME = ("prepare_data_loader", "prepare_model", "prepare_optimizer", "prepare_scheduler", "skip_first_batches")
ENGINE_KEYS = ("gradient_accumulation_steps", "train_micro_batch_size_per_gpu", "train_batch_size")  # methods that return a key
TOGETHER = "zip"  # the kind of a sequence of data loaders that a loop goes through at the same time
PIPE_TOPOLOGIES = ("PipeModelDataParallelTopology", "PipeDataParallelTopology")
# Functions outside of the program that go through what they are given.
PASSING = (
    *("builtins.iter", "builtins.enumerate", "itertools.cycle", "itertools.islice", "itertools.chain", "accelerate.skip_first_batches"),
    *("deepspeed.utils.RepeatingLoader", "deepspeed.runtime.dataloader.RepeatingLoader", "rich.progress.track", "builtins.zip"),
    *("accelerate.utils.skip_first_batches", "accelerate.data_loader.skip_first_batches"),
)


def kind_of(name: str) -> str:
    """The kind of the object that a call outside of the program makes, by the dotted name of what it calls; empty for other ones."""
    last = name.rpartition(".")[2]
    if name == ENGINE_CALL:
        return ENGINE
    if name in ACCELERATOR_CALLS:
        return ACCELERATOR
    if name in LOADERS:
        return LOADER
    if name.startswith("accelerate.") and last in PLUGINS:
        return PLUGIN
    is_function = last == "get_scheduler" or (last.startswith("get_") and "_schedule" in last)
    if name.startswith(SCHEDULE_PACKAGES) or (name.startswith(SCHEDULES) and is_function):
        return SCHEDULE if last[:1].isupper() or last.startswith("get_") else ""
    if name.startswith(OPTIMIZER_PACKAGES) and last[:1].isupper() and last != "Optimizer":
        return OPTIMIZER
    return PIPELINE if name.startswith("deepspeed.") and last in ("PipelineModule", *PIPE_TOPOLOGIES) else ""


def parameters_of(name: str, kind: str) -> tuple[str, ...]:
    last = name.rpartition(".")[2]
    if last == "get_scheduler" and name.startswith("diffusers."):
        return SIGNATURES["diffusers.get_scheduler"]
    if last in SIGNATURES:
        return SIGNATURES[last]
    return RATED if kind == OPTIMIZER else WARMED if kind == SCHEDULE and last.startswith("get_") else ()


def made(name: str, kind: str, call: object, named: Named, context: Context) -> Value:
    loop_object = LoopObject(name, kind, call)
    if kind == ACCELERATOR:
        outside = context.variable(VARIABLE)
        steps = Value(int(outside)) if outside is not None and outside.isdigit() else named.get("gradient_accumulation_steps", Value(1))
        loop_object.slots["num_processes"] = (
            Value(context.gpus) if context.gpus is not None else unknown(Reason("machine", "the number of GPUs"))
        )
        loop_object.slots["gradient_accumulation_steps"] = steps
        loop_object.slots["mixed_precision"] = named.get("mixed_precision", NONE)
    if kind != ENGINE:
        return Value(loop_object)
    data = LoopObject(f"{name}.loader", LOADER, None) if "training_data" in named else Opaque(f"{name}.loader")
    parts = (loop_object, Opaque(f"{name}.optimizer"), data, Opaque(f"{name}.lr_scheduler"))
    return Value(Sequence([Value(part) for part in parts], "tuple"))


def method(data: LoopObject, name: str, given: Given) -> Value:
    """The result of a method: what is prepared stays what it is."""
    if data.kind == ENGINE and name in ENGINE_KEYS and data.made is not None:
        arguments = data.made.arguments
        config = next((arguments[key][1].data for key in ("config", "config_params") if key in arguments), None)
        slot = config.slots.get(name) if isinstance(config, Mapping) else None
        return slot if isinstance(slot, Value) else unknown(Reason("program", "what DeepSpeed computes"))
    if data.kind != ACCELERATOR:
        return unknown(Reason("program", f"`{name}()`", "it is outside of the program"))
    for value in given if name in ("prepare", "prepare_scheduler") else ():
        if isinstance(value.data, LoopObject) and value.data.made is not None:
            value.data.made.is_prepared = True
    if name == "prepare" and given:
        return given[0] if len(given) == 1 else Value(Sequence(given, "tuple"))
    if name == "accumulate":
        return Value(Opaque(ACCUMULATE))
    if name in SAME and given:
        return given[0]
    return unknown(Reason("program", f"`{name}()`", "it is outside of the program"))


def loaders_in(value: Value) -> Iterator[LoopObject]:
    """The data loaders that a loop may go through: one, one of several, or several at once."""
    if isinstance(value.data, LoopObject):
        yield from (value.data,) if value.data.kind == LOADER else ()
    elif isinstance(value.data, Choice):
        for each in value.objects:
            yield from loaders_in(each)
    elif isinstance(value.data, Sequence) and value.data.kind == TOGETHER:
        for item in value.data.items:
            yield from loaders_in(item)


def passed_on(name: str, given: Given) -> Value | None:
    """What a function outside of the program goes through, if that may be a data loader; None for other functions."""
    if name not in PASSING:
        return None
    values = [value for value in given if any(True for _ in loaders_in(value))]
    if not values:
        return None
    return values[0] if len(values) == 1 else Value(Sequence(values, TOGETHER, is_open=True))
