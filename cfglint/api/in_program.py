"""`cfglint.preflight`: the answer of `check` and `explain` inside a program, from the objects of the training, before its first step."""

from __future__ import annotations

import json
import os
import sys
from enum import Enum

from cfglint.api.arguments import Texts, launch_facts
from cfglint.api.results import CheckResult
from cfglint.explanation.summary import RunSummary, explained
from cfglint.frameworks import known_packages, trainers
from cfglint.frameworks.memory.inputs import Model
from cfglint.frameworks.memory.named_models import UnknownModel, described_model
from cfglint.frameworks.releases.versions import is_version
from cfglint.report.summary import folded, verdict
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source import CfglintError
from cfglint.source.annotations import Any, ConfigTable

ARGUMENTS = "arguments.json"  # the names under which the objects are reported
ENGINE = "ds_config.json"
KINDS = {"transformers": "huggingface", "trl": "trl"}
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
DERIVED = {"generation_batch_size": "steps_per_generation"}  # TRL computes the first, and refuses both


class WouldFail(CfglintError):
    """The training would fail; `result` has the findings."""

    def __init__(self, result: CheckResult) -> None:
        first = next(diagnostic for diagnostic in result.diagnostics if diagnostic.severity == "error")
        super().__init__(f"{first.code} {first.message}" + (f" ({first.exception})" if first.exception else ""))
        self.result = result


def preflight(
    subject: object, *, model: object = None, num_examples: int | None = None, gpu_memory: float | str | None = None, stop: bool = True
) -> CheckResult:
    """Check a training by its own objects, print the answer on rank 0, and raise WouldFail for an error (not with `stop=False`).

    `subject` is a Trainer, or its arguments; of a Trainer, its model, the length of its training set and its class are known as well.
    `model` is an object with a `config`, `num_examples` the length of the training set, `gpu_memory` the memory of a card in GiB or its
    name (by default that of the current CUDA device, if torch uses one). In a notebook the result is shown and nothing printed. Imports no
    package that the program has not imported. Raises TypeError for an object that is neither a Trainer nor its arguments.
    """
    arguments = getattr(subject, "args", subject)
    known = class_of(arguments)
    if known is None:
        raise TypeError(f"preflight expects a Trainer or its TrainingArguments, not {type(subject).__name__}")
    kind = KINDS[package_of(known)]
    trainer = type(subject).__name__.removesuffix("Trainer").lower()
    loaded = {name: sys.modules.get(name.replace("-", "_")) for name in known_packages()}
    releases = {name: str(getattr(module, "__version__", "")).partition("+")[0] for name, module in loaded.items()}
    facts = launch_facts(
        kind=kind,
        gpus=max(1, int(getattr(arguments, "world_size", 1) or 1)),
        num_examples=length_of(getattr(subject, "train_dataset", None)) if num_examples is None else num_examples,
        target={name: release for name, release in releases.items() if is_version(release)},
        trainer=trainer if kind == "trl" and trainer in trainers() else None,
        gpu_memory=memory_of_device() if gpu_memory is None else gpu_memory,
    )
    facts.model = shape_of(getattr(subject, "model", None) if model is None else model)
    run = Discovery(facts, kind, source=Texts(texts(arguments, known))).together([ARGUMENTS])[0]
    result = CheckResult([explained(run)], [])
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    in_notebook = shell is not None and "IPKernelApp" in getattr(shell, "config", {})  # which shows the value of a cell
    if is_first() and not in_notebook:
        print(answer(run, result), flush=True)
    if stop and run.verdict == "reject":
        raise WouldFail(result)
    return result


class Preflight:
    """A callback for `Trainer(callbacks=[cfglint.Preflight()])`: `preflight`, with its keywords, when the training begins."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    def on_train_begin(self, args: object, state: object, control: object, **objects: Any) -> None:
        """Check the arguments, with the model and the length of the data set that the trainer passes."""
        loader = objects.get("train_dataloader")
        examples = length_of(getattr(loader, "dataset", None))
        preflight(args, **{"model": objects.get("model"), "num_examples": examples, **self.keywords})

    def __getattr__(self, name: str) -> object:
        """Nothing to do at the other events: transformers, which need not be installed, has the class that would say so."""
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)


def answer(run: CheckedRun, result: CheckResult) -> str:
    """What is printed: the findings, whether the training starts, its batch and its steps."""
    numbers = run.resolved
    terms = [numbers[name] for name in ("micro_batch", "accumulation", "data_parallel")]
    batch = f"global batch {numbers['global_batch']} = {' x '.join(map(str, terms))}" if None not in terms else "global batch not known"
    steps = f", {numbers['total_steps']:,} steps" if numbers["total_steps"] is not None else ""
    return f"{result}cfglint: {folded(verdict(RunSummary(run)), None)}cfglint: {batch}{steps}"


def class_of(arguments: object) -> type | None:
    """The class of transformers or TRL that the arguments are of; None for another object. A program's own fields are not checked."""
    classes = (each for each in type(arguments).__mro__ if package_of(each) in KINDS)
    return next((each for each in classes if "per_device_train_batch_size" in getattr(each, "__dataclass_fields__", ())), None)


def package_of(known: type) -> str:
    return known.__module__.partition(".")[0]


def texts(arguments: object, known: type) -> dict[str, str]:
    """The arguments as a file with the values that are not those of a new object, and the DeepSpeed config that is passed as a mapping."""
    values: ConfigTable = {}
    for name, field in known.__dataclass_fields__.items():  # type: ignore[attr-defined]
        value = getattr(arguments, name, None)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if field.init and plain(value) != plain(default):
            values[name] = plain(value)
    for computed, source in DERIVED.items():
        if source in values:
            values.pop(computed, None)
    found: dict[str, str] = {}
    if isinstance(values.get("deepspeed"), dict):
        found[ENGINE] = json.dumps(values["deepspeed"])
        values["deepspeed"] = ENGINE
    return {ARGUMENTS: json.dumps(values), **found}


def plain(value: object) -> Any:
    """A value as JSON has it: the value of an enumeration, the fields of an object, a string for anything else."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(each) for each in value]
    to_dict = getattr(value, "to_dict", None)
    return plain(to_dict()) if callable(to_dict) and not isinstance(value, type) else str(value)


def length_of(data: object) -> int | None:
    """The number of samples of a data set; None for a stream."""
    try:
        return len(data) or None  # type: ignore[arg-type]
    except TypeError:
        return None


def shape_of(model: object) -> Model | None:
    """The shape of a model that is trained whole; None if it is not known, or a part of its weights is frozen."""
    described, parameters = getattr(getattr(model, "config", None), "to_dict", None), getattr(model, "parameters", None)
    if described is None or (callable(parameters) and not all(parameter.requires_grad for parameter in parameters())):
        return None
    try:
        return described_model(described(), type(model).__name__)
    except UnknownModel:
        return None


def memory_of_device() -> float | None:
    """The memory of the current CUDA device in GiB; None unless torch uses one already."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    return float(cuda.get_device_properties(cuda.current_device()).total_memory) / 2**30


def is_first() -> bool:
    return all(os.environ.get(name, "0") == "0" for name in RANKS)
