"""Rules about verl's own checks: each failing check of `verl/checks.py` is a finding at its key."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import Example, Finding, Text, rule_of
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.rules.composition import BASE, LINE, RUN
from cfglint.source.annotations import Callable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.rule import ExampleFacts
    from cfglint.findings.vocabulary import Stage

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
OLD: ExampleFacts = {"kind": "launch", "target": {"verl": "0.5.0"}}
OLDER: ExampleFacts = {"kind": "launch", "target": {"verl": "0.3.0"}}
SFT = "torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer"
SFT_FACTS: ExampleFacts = {"kind": "launch", "target": {"verl": "0.5.0"}}
GLOBAL = f"{RUN} {ACTOR}.ppo_micro_batch_size=8 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4"


def check_of(
    code: str, fails_at: Stage, bad: Text | tuple[Text | Example, ...], good: str, example: ExampleFacts = LINE
) -> Callable[[Callable[[], None]], None]:
    """Register the rule of one kind of failing checks; its page is the docstring of the decorated function."""
    details = {"fails_at": fails_at, "bad": bad, "good": good, "example": example}
    return rule_of(lambda config: failing(config, code), code, ERROR, **details)


def failing(config: VerlConfig, code: str) -> Iterator[Finding]:
    """The failing checks of a rule."""
    for each in config.failing:
        if each.kind == code:
            yield each.finding(map(config.setting, each.keys), config.values, severity=ERROR if config.is_raised(each) else WARNING)


@check_of(
    "VRL010",
    "config",
    (
        f"{BASE} data.train_batch_size=1e3\n",
        f"{BASE} {ROLLOUT}.n=\n",
        f"{BASE} data.train_batch_size=0 {ACTOR}.use_dynamic_bsz=True\n",
        f"{BASE} {ACTOR}.ppo_micro_batch_size_per_gpu=four\n",
    ),
    f"{BASE} data.train_batch_size=1000\n",
)
def size_not_an_integer() -> None:
    """A batch size, a number of samples or of GPUs is not an integer.

    `1e3` is a float, and nothing behind `=` is an empty string.

    Source: hydra-core 1.3.8 grammar/OverrideLexer.g4; verl 0.9.1 utils/config.py:115; torch utils/data/sampler.py (BatchSampler).
    """


@check_of(
    "VRL011",
    "config",
    (
        f"{BASE} {ACTOR}.loss_agg_mode=mean\n",
        f"{BASE} {ROLLOUT}.mode=sync\n",
        f"{BASE} algorithm.use_kl_in_reward=True algorithm.kl_ctrl.type=linear actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1\n",
        Example(f"{BASE} {ACTOR}.strategy=fsdp3\n", facts=OLD),
        Example(f"{BASE} {ACTOR}.strategy=veomni\n", facts={"kind": "launch", "target": {"verl": "0.7.1"}}),
        Example(f"{BASE} algorithm.adv_estimator=ppo\n", facts=OLD),
        Example(f"{BASE} reward_model.reward_manager=mine\n", facts=OLDER),
        Example(f"{BASE} {ACTOR}.optim.warmup_style=linear\n", facts={"kind": "launch", "target": {"verl": "0.6.1"}}),
    ),
    f"{BASE} {ACTOR}.loss_agg_mode=token-mean\n",
)
def unknown_choice() -> None:
    """A value is not among those that the release accepts: loss aggregation, strategy, estimator, schedule, rollout mode.

    Fix: write one of the values that the message lists.

    Source: verl 0.9.1 workers/config/actor.py, rollout.py, optimizer.py; 0.5.0 trainer/ppo/ray_trainer.py:372-386.
    """


@check_of(
    "VRL012",
    "config",
    f"{BASE} {ACTOR}.strategy=fsdp critic.strategy=megatron\n",
    f"{BASE} {ACTOR}.strategy=fsdp critic.strategy=fsdp\n",
    OLD,
)
def strategies_differ() -> None:
    """Up to 0.5 actor and critic need the same kind of strategy, also where the run has no critic.

    Source: verl 0.5.0 trainer/main_ppo.py (TaskRunner.run).
    """


@check_of(
    "VRL013",
    "config",
    (
        f"{BASE} model_engine=megatron {ACTOR}.use_dynamic_bsz=False {ACTOR}.megatron.tensor_model_parallel_size=3\n",
        f"{BASE} model_engine=megatron {ACTOR}.use_dynamic_bsz=True {ACTOR}.megatron.tensor_model_parallel_size=3\n",
        f"{BASE} model_engine=megatron {ACTOR}.megatron.tensor_model_parallel_size=2 {ACTOR}.megatron.expert_model_parallel_size=8\n",
        f"{BASE} model_engine=megatron {ACTOR}.megatron.virtual_pipeline_model_parallel_size=2\n",
    ),
    f"{BASE} model_engine=megatron {ACTOR}.use_dynamic_bsz=False {ACTOR}.megatron.tensor_model_parallel_size=2\n",
)
def indivisible_megatron_sizes() -> None:
    """The GPUs do not divide into groups of tensor x pipeline x context, or expert tensor x expert x pipeline, parallel size.

    `expert_tensor_parallel_size` is `tensor_model_parallel_size` where it is null. Virtual pipeline stages require a pipeline.

    Source: verl 0.9.1 utils/config.py:117-128; megatron-core 0.12.1 core/parallel_state.py:630-702.
    """


@check_of(
    "VRL014",
    "config",
    (
        f"{BASE} data.train_batch_size=300 {ACTOR}.ppo_mini_batch_size=64\n",
        Example(f"{BASE} data.train_batch_size=300 {ACTOR}.ppo_mini_batch_size=64\n", facts=OLDER),
    ),
    f"{BASE} data.train_batch_size=256 {ACTOR}.ppo_mini_batch_size=64\n",
)
def indivisible_batch() -> None:
    """Prompts x samples per prompt (`data.train_batch_size` x `rollout.n`) are not a multiple of the GPUs.

    Source: verl 0.9.1 utils/config.py:110-140, 0.3.0 trainer/ppo/ray_trainer.py (_validate_config).
    """


@check_of(
    "VRL015",
    "config",
    (
        f"{RUN}\n",
        f"{RUN} {ACTOR}.ppo_micro_batch_size_per_gpu=4\n",
        f"{BASE} critic.enable=True\n",
        Example(f"{RUN}\n", facts=OLD),
    ),
    f"{BASE}\n",
)
def missing_micro_batch() -> None:
    """A worker has no micro batch size: the actor, the rollout, the reference policy or the critic. There is no default.

    Source: verl 0.9.1 utils/config.py:142-190, workers/config/actor.py (__post_init__).
    """


@check_of(
    "VRL016",
    "config",
    (f"{BASE} {ACTOR}.ppo_micro_batch_size=8\n", f"{BASE} {ROLLOUT}.log_prob_micro_batch_size=8\n"),
    f"{BASE}\n",
)
def two_micro_batches() -> None:
    """The deprecated global micro batch and that of a GPU are both set.

    Source: verl 0.9.1 utils/config.py:142-170, workers/config/actor.py (__post_init__).
    """


@check_of(
    "VRL017",
    "config",
    (f"{BASE} data.train_batch_size=128\n", Example(f"{BASE} data.train_batch_size=128\n", facts=OLD)),
    f"{BASE} data.train_batch_size=128 {ACTOR}.ppo_mini_batch_size=128\n",
)
def mini_batch_above_batch() -> None:
    """The mini batch of an update has more prompts than a step.

    Fix: set `ppo_mini_batch_size` to at most `data.train_batch_size`; its default is 256.

    Source: verl 0.9.1 workers/config/actor.py (validate), 0.5.0 trainer/ppo/ray_trainer.py.
    """


@check_of(
    "VRL018",
    "config",
    (GLOBAL + "\n", GLOBAL.replace("size=8", "size=12") + "\n", GLOBAL.replace("size=8", "size=4") + "\n"),
    f"{BASE}\n",
)
def unusable_global_micro_batch() -> None:
    """The deprecated global micro batch does not divide the mini batch, or is less than the GPUs.

    From 0.8 on the workers do not read it at all.

    Source: verl 0.9.1 workers/config/actor.py (validate), workers/engine_workers.py:636-637.
    """


@check_of(
    "VRL019",
    "init",
    f"{BASE.replace(f'{ROLLOUT}.name=vllm ', '')}\n".replace(f" {ROLLOUT}.name=vllm", ""),
    f"{BASE}\n",
)
def missing_rollout_engine() -> None:
    """From 0.6 on the inference engine has no default.

    Source: verl 0.9.1 trainer/config/rollout/rollout.yaml.
    """


@check_of(
    "VRL020",
    "config",
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=2 actor_rollout_ref.model.use_remove_padding=False\n",
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=2 actor_rollout_ref.model.use_remove_padding=True\n",
)
def padding_with_sequence_parallelism() -> None:
    """Ulysses sequence parallelism works on sequences without padding only.

    Source: verl 0.9.1 workers/config/actor.py (FSDPActorConfig.validate).
    """


@check_of(
    "VRL021",
    "config",
    (
        f"{BASE} {ROLLOUT}.temperature=0 {ROLLOUT}.val_kwargs.do_sample=True\n",
        f"{BASE} actor_rollout_ref.model.lora_rank=1024\n",
    ),
    f"{BASE} {ROLLOUT}.temperature=0.7 {ROLLOUT}.val_kwargs.do_sample=True\n",
)
def refused_sampling() -> None:
    """Validation that samples needs a temperature above 0, and vLLM accepts LoRA ranks up to 512.

    Source: verl 0.9.1 utils/config.py:200-217.
    """


@check_of(
    "VRL022",
    "init",
    (f"{BASE}\n", Example(f"{BASE}\n", facts={"kind": "launch", "target": {"verl": "0.5.0"}, "num_examples": 500})),
    f"{BASE} data.train_batch_size=256\n",
    {**LINE, "num_examples": 500},
)
def batch_above_training_set() -> None:
    """The training set has fewer examples than one batch, and incomplete batches are dropped.

    Fix: set a smaller `data.train_batch_size`.

    Source: verl 0.8.0 trainer/ppo/ray_trainer.py (_create_dataloader), 0.9.1 trainer/ppo/v1/trainer_base.py (fit).
    """


@check_of(
    "VRL023",
    "init",
    (
        f"{BASE} {ROLLOUT}.tensor_model_parallel_size=3\n",
        f"{BASE} {ROLLOUT}.tensor_model_parallel_size=0\n",
        f"{BASE} trainer.n_gpus_per_node=1\n",
    ),
    f"{BASE} {ROLLOUT}.tensor_model_parallel_size=4\n",
)
def indivisible_rollout_groups() -> None:
    """The GPUs are not a multiple of those of one inference engine. The default of `tensor_model_parallel_size` is 2.

    Source: verl 0.9.1 workers/engine_workers.py:650-660, 0.5.0 workers/fsdp_workers.py (_build_rollout).
    """


@check_of(
    "VRL024",
    "init",
    (
        f"{BASE} data.train_batch_size=1000 {ACTOR}.ppo_mini_batch_size=100\n",
        Example(f"{BASE} {ACTOR}.ppo_mini_batch_size=24\n", facts=OLD),
        Example(f"{BASE} {ACTOR}.ppo_mini_batch_size=4\n", facts=OLD),
    ),
    f"{BASE} {ACTOR}.ppo_mini_batch_size=64\n",
)
def indivisible_mini_batch() -> None:
    """The samples of an update do not divide among the GPUs or, on each of them, into micro batches.

    Fix: choose `ppo_mini_batch_size` x `rollout.n` as a multiple of data-parallel size x micro batch.

    Source: verl 0.7.1 workers/fsdp_workers.py:248-270, 0.9.1 workers/engine_workers.py (train_mini_batch).
    """


@check_of(
    "VRL025",
    "init",
    f"{BASE} {ROLLOUT}.log_prob_use_dynamic_bsz=True\n",
    f"{BASE}\n",
)
def dynamic_batches_differ() -> None:
    """From 0.8 on actor and rollout have to agree on dynamic batch sizes.

    Source: verl 0.9.1 workers/engine_workers.py:620.
    """


@check_of(
    "VRL026",
    "first-step",
    (
        Example(f"{BASE} data.train_batch_size=100 {ROLLOUT}.n=2 {ACTOR}.ppo_mini_batch_size=64\n", facts=OLDER),
        Example(
            f"{BASE} data.train_batch_size=60 {ACTOR}.ppo_mini_batch_size=60 trainer.n_gpus_per_node=2"
            f" {ACTOR}.ppo_micro_batch_size_per_gpu=1 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=1\n",
            facts={"kind": "launch", "target": {"verl": "0.8.0"}},
        ),
    ),
    f"{BASE} data.train_batch_size=256 {ROLLOUT}.n=2 {ACTOR}.ppo_mini_batch_size=64\n",
)
def unequal_chunks() -> None:
    """The samples of a step do not divide among the GPUs, or among the workers of the agent loop (8 by default).

    Fix: change the batch, or `actor_rollout_ref.rollout.agent.num_workers`.

    Source: verl 0.9.1 protocol.py (chunk), experimental/agent_loop/agent_loop.py.
    """


@check_of(
    "VRL027",
    "first-step",
    f"{BASE} data.train_batch_size=96 {ACTOR}.ppo_mini_batch_size=64\n",
    f"{BASE} data.train_batch_size=128 {ACTOR}.ppo_mini_batch_size=64\n",
    {"kind": "launch", "target": {"verl": "0.8.0"}},
)
def incomplete_mini_batch() -> None:
    """In 0.8 a step consists of complete mini batches. Before, a shorter last one was trained; 0.9 fills it up.

    Source: verl 0.8.0 workers/engine_workers.py (train_mini_batch).
    """


@check_of(
    "VRL028",
    "first-step",
    (
        f"{BASE} {ACTOR}.ppo_mini_batch_size=64 {ACTOR}.ppo_micro_batch_size_per_gpu=3\n",
        f"{BASE} {ROLLOUT}.log_prob_micro_batch_size_per_gpu=3\n",
    ),
    f"{BASE} {ACTOR}.ppo_mini_batch_size=64\n",
)
def indivisible_micro_batch() -> None:
    """From 0.8 on every micro batch has to divide what a GPU processes.

    For the actor that is its part of the mini batch, for log probabilities its part of the step.

    Source: verl 0.9.1 workers/engine/utils.py (prepare_micro_batches).
    """


@check_of(
    "VRL030",
    "config",
    (
        f"{BASE} +{ACTOR}.foo=1\n",
        f"{BASE} +{ROLLOUT}.foo=1\n",
        Example(f"{BASE} +actor_rollout_ref.model.foo=1\n", facts={"kind": "launch", "target": {"verl": "0.7.1"}}),
    ),
    f"{BASE} +trainer.foo=1\n",
)
def unexpected_keyword() -> None:
    """A key that the line adds with a plus sign is no field of the class that its section becomes.

    From 0.6 on actor, rollout, model, critic and reference policy are objects with fixed fields; before, such a key was carried along.

    Fix: remove the key; settings of your own belong in a section without a class, such as `trainer`.

    Source: verl 0.9.1 utils/config.py (omega_conf_to_dataclass), workers/config.
    """


@check_of(
    "VRL031",
    "init",
    f"{SFT} data.chat_template=mine\n",
    f"{SFT}\n",
    SFT_FACTS,
)
def chat_template_of_sft() -> None:
    """The first SFT trainer (`verl.trainer.fsdp_sft_trainer`) does not take a chat template from the config.

    Source: verl 0.5.0 trainer/fsdp_sft_trainer.py:107.
    """


@check_of(
    "VRL032",
    "init",
    (
        f"{SFT} data.train_batch_size=100\n",
        f"{SFT} data.train_batch_size=64 data.micro_batch_size_per_gpu=3\n",
        Example(
            "torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer data.use_dynamic_bsz=False data.micro_batch_size_per_gpu=3\n",
            facts=LINE,
        ),
        Example("torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer data.train_batch_size=4\n", facts=LINE),
    ),
    f"{SFT} data.train_batch_size=64\n",
    SFT_FACTS,
)
def indivisible_sft_batch() -> None:
    """The batch of an SFT trainer does not divide among the data-parallel ranks, or on each of them into micro batches.

    The trainer on engines (`verl.trainer.sft_trainer`) rounds the rows of a rank down, and packs them by tokens by default.

    Source: verl 0.5.0 trainer/fsdp_sft_trainer.py (_normalize_config_bsz), 0.9.1 workers/engine/utils.py (prepare_micro_batches).
    """


@check_of(
    "VRL029",
    "init",
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=16 actor_rollout_ref.model.use_remove_padding=True\n",
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=8 actor_rollout_ref.model.use_remove_padding=True\n",
)
def sequence_parallelism_above_gpus() -> None:
    """The sequence-parallel size is larger than the number of GPUs, so that the data-parallel size is 0.

    Source: verl 0.7.1 workers/fsdp_workers.py:248, 0.9.1 workers/engine/fsdp/transformer_impl.py.
    """
