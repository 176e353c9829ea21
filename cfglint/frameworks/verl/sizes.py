"""The sizes of a verl run: GPUs, prompts and samples of a step, mini and micro batches, updates and steps.

Source: verl 0.3.0 to 0.7.1 workers/fsdp_workers.py (ActorRolloutRefWorker.__init__), trainer/ppo/ray_trainer.py; 0.8.0 and 0.9.1
workers/engine_workers.py (train_mini_batch), 0.9.1 trainer/ppo/v1/trainer_base.py (_get_required_batch_multiple).
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.verl.values import ComposedConfig

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
REF = "actor_rollout_ref.ref"
CRITIC = "critic"
BATCH = "data.train_batch_size"
MINI = f"{ACTOR}.ppo_mini_batch_size"
MICRO = f"{ACTOR}.ppo_micro_batch_size_per_gpu"
GLOBAL_MICRO = f"{ACTOR}.ppo_micro_batch_size"
SAMPLES = f"{ROLLOUT}.n"
DYNAMIC = f"{ACTOR}.use_dynamic_bsz"
STRATEGY = f"{ACTOR}.strategy"
NODES, PER_NODE = "trainer.nnodes", "trainer.n_gpus_per_node"
FSDP, MEGATRON = ("fsdp", "fsdp2"), "megatron"


class Sizes:
    """The numbers of a run; each is None where it is unknown, or no integer."""

    def __init__(self, tree: ComposedConfig) -> None:
        self.tree = tree
        self.batch = tree.integer(BATCH)
        self.samples = tree.integer(SAMPLES, 1)
        self.mini = tree.integer(MINI)
        self.nodes = tree.integer(NODES)
        self.gpus_per_node = tree.integer(PER_NODE)
        self.is_fsdp = tree.value(STRATEGY) in FSDP
        self.is_megatron = tree.value(STRATEGY) == MEGATRON
        self.is_dynamic = tree.is_true(DYNAMIC)
        self.engine = tree.since(0, 8)  # the workers on engines, without the older FSDP workers

    @property
    def gpus(self) -> int | None:
        """The GPUs of the run: nodes x GPUs per node, which no launcher and no variable changes."""
        return self.nodes * self.gpus_per_node if self.nodes is not None and self.gpus_per_node is not None else None

    def sequence_parallel(self, section: str = ACTOR) -> int | None:
        """The Ulysses size of a worker: the engine's, where the worker's own is not above 1."""
        own = self.tree.integer(f"{section}.ulysses_sequence_parallel_size", 1)
        if self.engine and own == 1 and section in (ACTOR, REF):
            return self.tree.integer(f"{section}.fsdp_config.ulysses_sequence_parallel_size", 1)
        return own

    @property
    def has_workers(self) -> bool:
        """Whether the workers of the strategy are modelled."""
        return self.is_fsdp or self.is_megatron

    def replica(self, section: str = ACTOR) -> int | None:
        """The GPUs that share one sample in a worker: those of a Ulysses group, or of a Megatron-LM replica."""
        return self.sequence_parallel(section) if self.is_fsdp else megatron_size(self.tree, section) if self.is_megatron else None

    def data_parallel(self, section: str = ACTOR) -> int | None:
        """The data-parallel size of a worker; None for strategies that are not modelled, and where it would be 0."""
        gpus, each = self.gpus, self.replica(section)
        return gpus // each if gpus and each and gpus >= each else None

    @property
    def step_samples(self) -> int | None:
        """The samples of a step: prompts x samples of a prompt."""
        return self.batch * self.samples if self.batch is not None and self.samples is not None else None

    def mini_samples(self, key: str = MINI) -> int | None:
        """The samples of an update over all GPUs, before they are divided."""
        mini = self.tree.integer(key)
        return mini * self.samples if mini is not None and self.samples is not None else None

    def mini_per_gpu(self, section: str = ACTOR) -> int | None:
        """The samples of an update on each data-parallel rank, rounded down."""
        mini, parallel = self.mini_samples(f"{section}.ppo_mini_batch_size"), self.data_parallel(section)
        return mini // parallel if mini is not None and parallel else None

    @property
    def trained_mini(self) -> int | None:
        """The samples of an update over all GPUs: before 0.8 those that are left after rounding down for each of them."""
        if self.engine:
            return self.mini_samples()
        each, parallel = self.mini_per_gpu(), self.data_parallel()
        return each * parallel if each is not None and parallel else None

    def micro(self, section: str = ACTOR) -> int | None:
        """The micro batch of a GPU: the key of a GPU, else before 0.8 the deprecated global one divided by the data-parallel size."""
        each = self.tree.value(f"{section}.ppo_micro_batch_size_per_gpu")
        if each is not None or self.engine:
            return each if type(each) is int else None
        every, parallel = self.tree.integer(f"{section}.ppo_micro_batch_size"), self.data_parallel(section)
        return every // parallel if every is not None and parallel else None

    @property
    def accumulation(self) -> int | None:
        """The micro batches of an update; None with dynamic batch sizes. 0.3 accepts a remainder and rounds down."""
        mini, micro = self.mini_per_gpu(), self.micro()
        if self.is_dynamic is not False or not mini or not micro or (mini % micro and self.tree.since(0, 4)):
            return None
        return mini // micro

    @property
    def padding(self) -> int | None:
        """The synthetic samples that 0.9 adds to a step, so that its mini batches are complete; 0 before."""
        if not self.tree.since(0, 9) or self.tree.value("trainer.use_v1", True) is False:
            return 0
        total, multiple = self.step_samples, self.multiple
        return -total % multiple if total is not None and multiple else None

    @property
    def multiple(self) -> int | None:
        """What 0.9 rounds the samples of a step up to: data-parallel size and mini batches."""
        parallel, actor = self.data_parallel(), self.mini_samples()
        found = [parallel, actor]
        critic = uses_critic(self.tree)
        if critic is None:
            return None
        if critic:
            found.append(self.mini_samples("critic.ppo_mini_batch_size"))
        known = [each for each in found if each]
        return math.lcm(*known) if len(known) == len(found) else None

    @property
    def updates(self) -> int | None:
        """The optimizer updates of a step."""
        total, padding, parallel, mini = self.step_samples, self.padding, self.data_parallel(), self.mini_per_gpu()
        epochs = self.tree.integer(f"{ACTOR}.ppo_epochs")
        if total is None or padding is None or not parallel or not mini or epochs is None:
            return None
        whole = self.engine or self.is_megatron
        own = (total + padding) // parallel if whole else total // (self.gpus or 1) * (self.sequence_parallel() or 1)
        return (own // mini if whole else -(-own // mini)) * epochs

    @property
    def steps_per_epoch(self) -> int | None:
        """The complete batches of prompts in the training set; None if its length is unknown."""
        rows, batch = self.rows, self.loader_batch
        return rows // batch if rows is not None and batch and batch > 0 else None

    @property
    def rows(self) -> int | None:
        """The examples of the training set, after `train_max_samples`."""
        rows = self.tree.facts.num_examples
        most = self.tree.value("data.train_max_samples", -1) if self.tree.since(0, 6) else -1
        if rows is None or (most is not None and type(most) is not int):
            return None
        return min(rows, most) if most is not None and most >= 0 else rows

    @property
    def loader_batch(self) -> int | None:
        """The prompts that the data loader draws at a time."""
        drawn = self.tree.value("data.gen_batch_size") if self.tree.since(0, 4) and not self.tree.since(0, 9) else None
        return self.batch if drawn is None else drawn if type(drawn) is int else None

    @property
    def total_steps(self) -> int | None:
        """The steps of the schedule: `total_training_steps`, else the epochs."""
        return self.tree.total_steps(self.steps_per_epoch)


def megatron_size(tree: ComposedConfig, section: str = ACTOR) -> int | None:
    """The GPUs of one replica under Megatron-LM; None if it is unknown, or hangs on each batch."""
    if tree.value(f"{section}.megatron.dynamic_context_parallel", False) is not False:
        return None
    product = 1
    for name in ("tensor_model", "pipeline_model", "context"):
        size = tree.integer(f"{section}.megatron.{name}_parallel_size", 1)
        if not size:
            return None
        product *= size
    return product


def uses_critic(tree: ComposedConfig) -> bool | None:
    """Whether the run trains a critic; None if it is unknown.

    Source: verl 0.9.1 trainer/ppo/utils.py (need_critic), 0.3.0 trainer/ppo/ray_trainer.py:283-291.
    """
    if tree.since(0, 6):
        enabled = tree.value("critic.enable")
        if enabled is not None:
            return tree.is_true("critic.enable")
    estimator = tree.value("algorithm.adv_estimator")
    return estimator == "gae" if isinstance(estimator, (str, int, float)) else None


def uses_reference(tree: ComposedConfig) -> bool | None:
    """Whether the run loads a reference policy; None if it is unknown. 0.3 always checks its keys."""
    if not tree.since(0, 4) and tree.raw("algorithm.use_kl_in_reward") is None:
        return True
    in_reward, loss = tree.is_true("algorithm.use_kl_in_reward"), tree.is_true(f"{ACTOR}.use_kl_loss")
    return True if in_reward or loss else None if in_reward is None or loss is None else False
