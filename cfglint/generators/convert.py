"""Extracts the facts of a job from an existing run, so that it can be generated for another framework.

A default of the old framework counts as specified, because the new framework may have another default.
"""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.frameworks.base import Config
from cfglint.generators.job_spec import Contradiction
from cfglint.rewrite.retarget import current_gpus
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


class Existing:
    """`facts` of a run for a `JobSpec`, `places` of the written ones, `left` written settings that are no facts; `readers` are by kind."""

    def __init__(self, run: CheckedRun, readers: dict[str, Callable[[Existing, Any], None]]) -> None:
        self.facts: ConfigTable = {}
        self.places: dict[str, Setting] = {}
        self._used: set[tuple[Config, Path]] = set()
        batch = run.batch
        if batch is not None:
            facts = {"gpus": current_gpus(run, run.facts)}
            if batch.problem is None:
                facts.update(global_batch=batch.global_batch.integer, max_micro_batch=batch.micro_batch.integer)
            facts.update(tensor_parallel=batch.layout.tensor_parallel, pipeline_parallel=batch.layout.pipeline_parallel)
            self.facts = {name: value for name, value in facts.items() if value is not None}
        read = [config for config in run.configs if config.kind in readers]
        if not read:
            raise Contradiction("nothing is known of the job that these files start: no config of a framework is among them")
        for config in read:
            readers[config.kind](self, config)
        if self.facts.get("min_learning_rate", 0) >= self.facts.get("learning_rate", float("inf")):
            self.facts.update(scheduler="constant", min_learning_rate=0.0)
        self.left = [setting for config in read for setting in self._unused(config)]

    def take(self, fact: str, config: Config, *path: str, value: object) -> None:
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

    def _unused(self, config: Config) -> Iterator[Setting]:
        used = {path for owner, path in self._used if owner is config}
        for path in leaf_paths(config.values):
            if not any(path[: len(prefix)] == prefix for prefix in used) and path[0] not in BATCH:
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


def read_optimizer_numbers(existing: Existing, config: Config, weight_decay: float) -> None:
    """Read weight decay, betas and epsilon of an `optimizer` section as DeepSpeed and GPT-NeoX write it."""
    existing.number("weight_decay", config, "optimizer", "params", "weight_decay", default=weight_decay)
    existing.number("epsilon", config, "optimizer", "params", "eps", default=1.0e-8)
    betas = config.get("optimizer", "params", "betas", default=[0.9, 0.999] if existing.facts.get("optimizer") == "adamw" else None)
    if isinstance(betas, list) and [type(beta) for beta in betas] == [float, float]:
        existing.take("beta1", config, "optimizer", "params", "betas", value=betas[0])
        existing.take("beta2", config, "optimizer", "params", "betas", value=betas[1])
