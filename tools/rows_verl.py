"""The rows of verl: what `main_ppo`, the trainer, `validate_config` with the config classes, and the workers' constructors refuse.

A section that Hydra makes an object of has the rows of its `_target_`, whose name such a row keeps as `within`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from extract_rows import rows_of
from history_rows import Release
from row_expressions import walk
from row_sources import Package, Ref
from row_table_text import Function, Row, Table, every, lists

PACKAGE = "verl"
CONFIG, INIT, STEP = "config", "init", "first-step"
CRITIC, REFERENCE = ["f", "use_critic"], ["f", "use_reference_policy"]
MODEL = ["f", "actor_rollout_ref"]
WORLD = ["f", "world_size"]
# What functions and attributes are: objects of the config classes; the processes; files, data sets and models, which are not read.
GIVEN: dict[str, Any] = {
    "omega_conf_to_dataclass": "new",
    "size": WORLD,
    "get_world_size": WORLD,
    "self.world_size": WORLD,
    "self._world_size": WORLD,
    "self._is_actor": True,
    "self._is_rollout": True,
    "self._is_ref": False,
    "is_distillation_enabled": lambda config: ["and", config, ["attr", config, "enabled"]],
    "get_rollout_class": None,  # a registry, to which imported modules add
    **dict.fromkeys(("copy_to_local", "create_rl_dataset", "create_rl_sampler", "validate_config", "initialize_global_process_group")),
}
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "*=", "//=", "<", "<=", ">", ">=")
NOT_READ = ("env", "?")
# What the values have besides the sections of the config.
KNOWN = {"use_critic", "use_reference_policy", "train_dataloader", "world_size"}
OF_MODEL = {"architectures", "hf_config"}  # what only the model has
OPTIMIZER = ["x", "optim_config"]  # stays as it is while a worker builds its model
OF_ACTOR = ["attr", ["attr", MODEL, "actor"], "optim"]
PARALLEL = "self.ulysses_sequence_parallel_size"
ROLE = "actor_rollout"  # the worker that trains; that of the reference policy checks nothing else


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release, in the order in which a run gets to them."""
    package = Package(str(folder), PACKAGE)
    package.targets = Targets(folder / "verl/trainer/config")
    known = {*KNOWN, *package.targets.sections}
    seen: list[Row] = []
    for found in called(package):
        # An object that is made a second time refuses nothing else; what is no value of the config is not known.
        rows = [row for row in needed(found.rows, known) if "within" not in row or row not in seen]
        rows = [row for at, row in enumerate(rows) if "read" not in row or not is_read(row, [*seen, *rows[:at]], rows[at + 1 :])]
        seen += [row for row in rows if "within" in row or ("read" in row and "-" not in found.name)]
        if any("raise" in row or "read" in row for row in every(rows)):
            yield found._replace(rows=rows)


def is_read(row: Row, before: list[Row], after: list[Row]) -> bool:
    """Whether another row reads the same key, or one below it, at least as often."""
    others = [*before, *(other for other in after if "read" in other and (other["read"], other["when"]) != (row["read"], row["when"]))]
    return any(
        f"{other['read']}.".startswith(f"{row['read']}.") and all(each in row["when"] for each in other["when"])
        for other in others
        if "read" in other
    )


def called(package: Package) -> Iterator[Function]:
    """The functions of a release with all of their rows."""
    root = Ref("root")
    program = package.module("verl.trainer.main_ppo")
    renamed = [
        row
        for main in function(package, "", CONFIG, program, "", "main", {"config": root})
        for row in main.rows
        if row.keys() & {"put", "read"}
    ]
    for run in function(package, "main_ppo", CONFIG, program, "TaskRunner", "run", {"config": root}):
        yield run._replace(rows=[*renamed, *run.rows])  # the program gives former keys their new names first
    rewards = package.module("verl.trainer.ppo.reward")
    yield from function(package, "load_reward_manager", CONFIG, rewards, "", "load_reward_manager", {"config": root})
    checks = package.module("verl.utils.config")
    bound = {"config": root, "use_reference_policy": REFERENCE, "use_critic": CRITIC}
    yield from function(package, "validate_config", CONFIG, checks, "", "validate_config", bound)
    given: dict[str, Any] = {"self.config": root}
    v1 = package.module("verl.trainer.ppo.v1.trainer_base")
    if v1 is not None:
        yield from function(package, "trainer-v1", INIT, v1, "PPOTrainer", "__init__", {"config": root}, given)
        yield from function(package, "pools-v1", INIT, v1, "PPOTrainer", "_init_resource_pool_mgr", {}, given)
        for name, method in (("loader-v1", "_init_dataloader"), ("setup-v1", "_setup")):
            yield from reads(function(package, name, INIT, v1, "PPOTrainer", method, {}, given))
        for name, method in (("trainer-v1", "fit"), ("step-v1", "step"), ("update-v1", "_step_once")):
            yield from reads(function(package, name, STEP, v1, "PPOTrainer", method, {}, given))
    trainer = package.module("verl.trainer.ppo.ray_trainer")
    yield from function(package, "trainer-v0", INIT, trainer, "RayPPOTrainer", "__init__", {"config": root}, given)
    yield from reads(function(package, "setup-v0", INIT, trainer, "RayPPOTrainer", "init_workers", {}, given))
    yield from reads(function(package, "trainer-v0", STEP, trainer, "RayPPOTrainer", "fit", {}, given))
    engines = package.module("verl.workers.engine_workers") if package.module("verl.workers.fsdp_workers") is None else None
    if engines is not None:
        of_config = {"self.config": MODEL, "self.role": ROLE}
        yield from function(package, "engine-worker", INIT, engines, "ActorRolloutRefWorker", "init_model", {}, of_config)
        return
    for name in ("fsdp", "megatron"):  # the strategies that they are for
        workers = package.module(f"verl.workers.{name}_workers")
        given, bound = (
            {"self.config": MODEL, "self.role": ROLE, PARALLEL: parallel(["attr", MODEL, "actor"])},
            {"config": MODEL, "role": ROLE},
        )
        yield from function(package, f"{name}-worker", INIT, workers, "ActorRolloutRefWorker", "__init__", bound, given)
        yield from function(package, f"{name}-rollout", INIT, workers, "ActorRolloutRefWorker", "_build_rollout", {}, given)
        bound = {"optim_config": OPTIMIZER, "role": "actor"}
        if name == "fsdp":
            yield from function(package, "fsdp-optimizer", INIT, workers, "ActorRolloutRefWorker", "_build_model_optimizer", bound, given)
        yield from reads(function(package, f"{name}-model", INIT, workers, "ActorRolloutRefWorker", "init_model", {}, given))
        critic = ["f", "critic"]
        bound, given = {"config": critic}, {"self.config": critic, PARALLEL: parallel(critic)}
        for built in function(package, f"{name}-critic", INIT, workers, "CriticWorker", "__init__", bound, given, [CRITIC]):
            is_object = ("critic",) in package.targets.found  # whose fields have defaults
            yield built._replace(rows=[row for row in built.rows if not is_object or "read" not in row])


def reads(functions: Iterator[Function]) -> Iterator[Function]:
    """Functions with the keys that they read, and with what decides whether they do, alone."""
    for each in functions:
        yield each._replace(rows=[row for row in each.rows if row.keys() & {"read", "let"}])


def parallel(section: Any) -> Any:
    """The sequence-parallel size of a worker, which its constructor keeps."""
    return ["get", section, "ulysses_sequence_parallel_size", 1]


def function(
    package: Package,
    name: str,
    stage: str,
    module: Any,
    label: str,
    method: str,
    bound: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
    when: Any = (),
) -> Iterator[Function]:
    """A function of a module, or a method of a class in it; nothing if the release has none."""
    owner = module.names.get(label) if module is not None and label else None
    body = owner.body if isinstance(owner, ast.ClassDef) else list(module.names.values()) if module is not None else []
    node = next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == method), None)
    if node is None:
        return
    known: dict[str, Any] = {each.arg: ["?", each.arg] for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
    known |= {"self": Ref("root")} if "self" in known else {}
    rows = rows_of(package, module, node, (owner, module) if owner else None, {**known, **bound}, {**GIVEN, **(given or {})})[0]
    rows = [{**row, "when": [*when, *row["when"]]} for row in rows if not row.keys() & {"first", "todo", "warn", "setenv"}]
    yield Function(name, stage, "", [placed(row) for row in rows])


def placed(part: Any) -> Any:
    """A part of a row in which the optimizer's section has its place."""
    if isinstance(part, dict):
        return {key: placed(value) for key, value in part.items()}
    return OF_ACTOR if part == OPTIMIZER else [*map(placed, part)] if isinstance(part, (list, tuple)) else part


def needed(rows: list[Row], known: set[str]) -> list[Row]:
    """The rows that refuse or may fail, as far as they can be read, with those that they need."""
    rows = [row for row in rows if not any(each[0] in NOT_READ or not OF_MODEL.isdisjoint(map(str, each[1:])) for each in lists(row))]
    rows = [row for row in rows if not any(each[0] in ("in", "not in") and each[2] == ["dict"] for each in lists(row))]  # a registry
    known = known | {row["set"] for row in rows if "set" in row}
    rows = [row for row in rows if all(each[1] in known for each in lists(row) if each[0] in ("f", "f?"))]
    rows = [row for row in rows if "read" not in row or row["read"].partition(".")[0] in known]
    kept = [
        row
        for row in rows
        if row.keys() & {"raise", "read"} or any(each[0] in ARITHMETIC for key in ("be", "try") for each in lists(row.get(key)))
    ]
    while True:
        read = {
            each
            for row in kept
            for key, part in row.items()
            if key not in ("let", "set", "key")
            for each in walk(part)
            if isinstance(each, str)
        }
        more = [
            row
            for row in rows
            if row in kept or any(isinstance(name, str) and name in read for name in map(row.get, ("let", "set", "key", "drop")))
        ]
        if len(more) == len(kept):
            return kept
        kept = more


class Targets:
    """The classes that the sections of a release's config name, by the keys of the section."""

    def __init__(self, folder: Path) -> None:
        self.found: dict[tuple[str, ...], set[str]] = {}
        self.sections: set[str] = set()
        for file in sorted(folder.glob("*ppo_*trainer.yaml")):
            self.read(yaml.safe_load(file.read_text(encoding="utf-8")), ())

    def read(self, values: Any, path: tuple[str, ...]) -> None:
        for key, value in values.items() if isinstance(values, dict) else ():
            self.sections |= set() if path else {key}
            if key == "_target_" and isinstance(value, str):
                self.found.setdefault(path, set()).add(value)
            self.read(value, (*path, str(key)))

    def __call__(self, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
        """(keys below a section, class) of it and of those in it, the innermost first, as Hydra builds them."""
        within = [
            (each[len(path) :], target) for each, names in self.found.items() if each[: len(path)] == path for target in sorted(names)
        ]
        return sorted(within, key=lambda item: (-len(item[0]), item))
