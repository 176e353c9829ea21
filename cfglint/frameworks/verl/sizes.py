"""The values of a composed config by their dotted keys, resolved, and the sizes of a run that follow from them.

Source: verl 0.3.0 to 0.7.1 workers/fsdp_workers.py (ActorRolloutRefWorker.__init__), trainer/ppo/ray_trainer.py; 0.8.0 and 0.9.1
workers/engine_workers.py (train_mini_batch), 0.9.1 trainer/ppo/v1/trainer_base.py (_get_required_batch_multiple).
"""

from __future__ import annotations

import functools
import math

from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, ConfigMapping, ConfigValue, Mapping, Operand
from cfglint.source.hydra.interpolation import MISSING, ResolutionError, Resolver

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
REF = "actor_rollout_ref.ref"
CRITIC = "critic"
BATCH = "data.train_batch_size"
MINI, CRITIC_MINI = f"{ACTOR}.ppo_mini_batch_size", f"{CRITIC}.ppo_mini_batch_size"
GLOBAL_MICRO, CRITIC_GLOBAL_MICRO = f"{ACTOR}.ppo_micro_batch_size", f"{CRITIC}.ppo_micro_batch_size"
MICRO, CRITIC_MICRO = f"{GLOBAL_MICRO}_per_gpu", f"{CRITIC_GLOBAL_MICRO}_per_gpu"
LOG_PROB = "log_prob_micro_batch_size"
SAMPLES = f"{ROLLOUT}.n"
DYNAMIC = f"{ACTOR}.use_dynamic_bsz"
STRATEGY = f"{ACTOR}.strategy"
UNSET = Unknown(Reason("argument", "a mandatory value"))  # the value of a key that is `???`
NODES, PER_NODE = "trainer.nnodes", "trainer.n_gpus_per_node"
MEGATRON_SIZES = {"tensor_parallel": "tensor_model", "pipeline_parallel": "pipeline_model", "context_parallel": "context"}


class ComposedConfig:
    """A composed config: what the checks and the sizes of a run are computed from, at a release of verl."""

    def __init__(self, values: ConfigMapping, facts: LaunchFacts, release: Version) -> None:
        self.values = values
        self.facts = facts
        self.release = release
        self._resolver = Resolver(values)

    def replaced(self, values: Mapping[str, ConfigValue]) -> ComposedConfig:
        top = dict(self.values)
        for key, value in values.items():
            inner = top
            *sections, name = key.split(".")
            for section in sections:
                below = inner.get(section)
                inner[section] = inner = dict(below) if isinstance(below, dict) else {}
            inner[name] = value
        return ComposedConfig(top, self.facts, self.release)

    def value(self, key: str, default: ConfigValue = None) -> Operand:
        """The resolved value of a dotted key; Unknown if it cannot be known or resolved, or is a mandatory value that is missing."""
        try:
            value = self._resolver.get(tuple(key.split(".")), default)
        except ResolutionError as problem:
            return Unknown(Reason("file", str(problem)))
        return UNSET if value == MISSING else value

    @functools.cached_property
    def resolved(self) -> ConfigMapping:
        """All values, resolved; Unknown where that cannot be done, and for mandatory values that are missing."""

        def resolved(value: Any, path: tuple[Any, ...]) -> Any:
            if isinstance(value, dict):
                return {key: resolved(item, (*path, key)) for key, item in value.items()}
            if isinstance(value, list):
                return [resolved(item, (*path, index)) for index, item in enumerate(value)]
            return self.value(".".join(map(str, path))) if isinstance(value, str) and ("${" in value or value == MISSING) else value

        return {key: resolved(item, (key,)) for key, item in self.values.items()}

    def has(self, key: str) -> bool:
        return self._resolver.has(tuple(key.split(".")))

    def is_missing(self, key: str) -> bool:
        """Whether a key is a mandatory value that nothing sets."""
        try:
            return bool(self._resolver.get(tuple(key.split("."))) == MISSING)
        except ResolutionError:
            return False

    def raw(self, key: str) -> Operand:
        """The value of a dotted key as it is composed, with its references; None if there is none."""
        value: ConfigValue = self.values
        for step in key.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def integer(self, key: str, default: int | None = None) -> int | None:
        value = self.value(key, default)
        return int(value) if isinstance(value, int) else None

    def total_steps(self, per_epoch: int | None) -> int | None:
        """The steps of the schedule: `total_training_steps`, else the epochs."""
        if self.value("trainer.total_training_steps") is not None:
            return self.integer("trainer.total_training_steps")
        epochs = self.integer("trainer.total_epochs")
        return per_epoch * epochs if per_epoch is not None and epochs is not None else None

    def is_true(self, key: str) -> bool | None:
        """Whether Python takes the value of a dotted key as true; None if it is unknown."""
        value = self.value(key)
        return None if isinstance(value, Unknown) else bool(value)

    def since(self, *release: int) -> bool:
        return self.release >= release

    def problem(self, path: tuple[Any, ...]) -> str:
        """The exception that resolving the value at a path raises; empty if it can be resolved."""
        try:
            self._resolver.get(path)
        except ResolutionError as problem:
            return str(problem)
        return ""


class Sizes:
    """The numbers of a run; each is None where it is unknown, or no integer. Those of a worker are the actor's."""

    def __init__(self, tree: ComposedConfig) -> None:
        integer, value = tree.integer, tree.value
        self.tree = tree
        self.engine = tree.since(0, 8)  # the workers on engines, without the older FSDP workers
        self.batch, self.mini = integer(BATCH), integer(MINI)
        self.samples = integer(SAMPLES, None if tree.has(ROLLOUT) else 1)  # each release has the key; a copy without it has one of its own
        self.nodes, self.gpus_per_node = integer(NODES), integer(PER_NODE)
        self.gpus = product(self.nodes, self.gpus_per_node)  # which no launcher and no variable changes
        self.is_fsdp = value(STRATEGY) in ("fsdp", "fsdp2")
        self.is_megatron = value(STRATEGY) == "megatron"
        self.is_dynamic = tree.is_true(DYNAMIC)
        # The Ulysses size: the engine's, where the worker's own is not above 1.
        self.sequence_parallel = integer(f"{ACTOR}.ulysses_sequence_parallel_size", 1)
        if self.engine and self.sequence_parallel == 1:
            self.sequence_parallel = integer(f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size", 1)
        # The GPUs that share one sample; None for strategies that are not modelled.
        self.replica = self.sequence_parallel if self.is_fsdp else None
        if self.is_megatron and value(f"{ACTOR}.megatron.dynamic_context_parallel", False) is False:  # else it hangs on each batch
            names = (f"{ACTOR}.megatron.{name}_parallel_size" for name in MEGATRON_SIZES.values())
            self.replica = product(*(integer(name, 1) or None for name in names))
        shards, ranks = integer(f"{ACTOR}.fsdp_config.fsdp_size"), self.gpus
        if self.is_fsdp and not self.engine and shards and ranks and 0 < shards < ranks:
            ranks -= ranks % shards  # those of the device mesh
        fits = ranks and self.replica and ranks >= self.replica
        self.data_parallel = quotient(ranks, self.replica) if fits else None
        self.step_samples = product(self.batch, self.samples)
        self.mini_samples = product(self.mini, self.samples)  # of an update over all GPUs, before they are divided
        self.mini_per_gpu = quotient(self.mini_samples, self.data_parallel)
        # Before 0.8 those that are left after rounding down for each GPU.
        self.trained_mini = self.mini_samples if self.engine else product(self.mini_per_gpu, self.data_parallel)
        # The micro batch of a GPU: its own key, else before 0.8 the deprecated global one divided by the data-parallel size.
        is_own = self.engine or value(MICRO) is not None
        self.micro = integer(MICRO) if is_own else quotient(integer(GLOBAL_MICRO), self.data_parallel)
        # The examples of the training set, and the prompts that the data loader draws at a time.
        most = value("data.train_max_samples", -1) if tree.since(0, 6) else -1
        drawn = value("data.gen_batch_size") if tree.since(0, 4) and not tree.since(0, 9) else None
        self.rows = tree.facts.num_examples
        if self.rows is not None and most is not None:
            self.rows = None if type(most) is not int else self.rows if most < 0 else min(self.rows, most)
        self.loader_batch = self.batch if drawn is None else drawn if type(drawn) is int else None
        self.steps_per_epoch = quotient(self.rows, max(self.loader_batch or 0, 0))
        self.total_steps = tree.total_steps(self.steps_per_epoch)

    @property
    def accumulation(self) -> int | None:
        """The micro batches of an update; None with dynamic batch sizes. 0.3 accepts a remainder and rounds down."""
        mini, micro = self.mini_per_gpu, self.micro
        if self.is_dynamic is not False or not mini or not micro or (mini % micro and self.tree.since(0, 4)):
            return None
        return mini // micro

    @property
    def padding(self) -> int | None:
        """The synthetic samples that 0.9 adds to a step, so that its mini batches are complete; 0 before."""
        if not self.tree.since(0, 9) or self.tree.value("trainer.use_v1", True) is False:
            return 0
        total, critic = self.step_samples, uses_critic(self.tree)
        divisors = [self.data_parallel, self.mini_samples]
        if critic:
            divisors.append(product(self.tree.integer(CRITIC_MINI), self.samples))
        known = [divisor for divisor in divisors if divisor]
        return -total % math.lcm(*known) if total is not None and critic is not None and len(known) == len(divisors) else None

    @property
    def updates(self) -> int | None:
        total, parallel, mini = self.step_samples, self.data_parallel, self.mini_per_gpu
        padding, epochs = self.padding, self.tree.integer(f"{ACTOR}.ppo_epochs")
        if total is None or padding is None or not parallel or not mini or epochs is None:
            return None
        if self.engine or self.is_megatron:
            return (total + padding) // parallel // mini * epochs
        return -(-(total // (self.gpus or 1) * (self.sequence_parallel or 1)) // mini) * epochs


def product(*factors: int | None) -> int | None:
    known = [factor for factor in factors if factor is not None]
    return math.prod(known) if len(known) == len(factors) else None


def quotient(number: int | None, divisor: int | None) -> int | None:
    """A number divided and rounded down; None if one of them is unknown, or the divisor is 0."""
    return number // divisor if number is not None and divisor else None


def uses_critic(tree: ComposedConfig) -> bool | None:
    """Whether the run trains a critic, None if unknown (0.9.1 trainer/ppo/utils.py: need_critic, 0.3.0 trainer/ppo/ray_trainer.py:283)."""
    if tree.since(0, 6) and tree.value("critic.enable") is not None:
        return tree.is_true("critic.enable")
    estimator = tree.value("algorithm.adv_estimator")
    return estimator == "gae" if isinstance(estimator, (str, int, float)) else None


def uses_reference(tree: ComposedConfig) -> bool | None:
    """Whether the run loads a reference policy; None if it is unknown. 0.3 always checks its keys."""
    if not tree.since(0, 4) and tree.raw("algorithm.use_kl_in_reward") is None:
        return True
    in_reward, loss = tree.is_true("algorithm.use_kl_in_reward"), tree.is_true(f"{ACTOR}.use_kl_loss")
    return True if in_reward or loss else None if in_reward is None or loss is None else False
