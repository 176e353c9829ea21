"""Rules about verl's own checks: each failing check of `verl/checks.py` is a finding at its key."""

from __future__ import annotations

from cfglint.findings.diagnostic import Reason
from cfglint.findings.rule import Example, ExampleFacts, Finding, Rule, Text, config_error, first_step_error, init_error, rule_of
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.rules.composition import BASE, LINE, RUN
from cfglint.source.annotations import Callable, Iterator

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
OLD: ExampleFacts = {"kind": "launch", "target": {"verl": "0.5.0"}}
OLDER: ExampleFacts = {"kind": "launch", "target": {"verl": "0.3.0"}}
SFT = "torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer"
SFT_FACTS: ExampleFacts = {"kind": "launch", "target": {"verl": "0.5.0"}}
GLOBAL = f"{RUN} {ACTOR}.ppo_micro_batch_size=8 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4"


def check_of(
    code: str, stage: type[Rule], bad: Text | tuple[Text | Example, ...], good: str, example: ExampleFacts = LINE, *, source: str
) -> Callable[[Callable[[], None]], None]:
    """Register the rule of one kind of failing checks; its page is the docstring of the decorated function."""
    return rule_of(lambda config: failing(config, code), stage(code, source=source, bad=bad, good=good, example=example))


OWN_COPY = Reason("program", "the code of the project's own copy of verl")


def failing(config: VerlConfig, code: str) -> Iterator[Finding]:
    """The failing checks of a rule."""
    for each in config.failing:
        if each.kind == code:
            yield each.finding(map(config.setting, each.keys), config.values, depends_on=() if config.is_raised(each) else (OWN_COPY,))


@check_of(
    "VRL010",
    config_error,
    (
        f"{BASE} data.train_batch_size=1e3\n",
        f"{BASE} {ROLLOUT}.n=\n",
        f"{BASE} data.train_batch_size=0 {ACTOR}.use_dynamic_bsz=True\n",
        f"{BASE} {ACTOR}.ppo_micro_batch_size_per_gpu=four\n",
    ),
    f"{BASE} data.train_batch_size=1000\n",
    source="hydra-core 1.3.8 grammar/OverrideLexer.g4; verl 0.9.1 utils/config.py:115; torch utils/data/sampler.py (BatchSampler)",
)
def size_not_an_integer() -> None:
    """A batch size, a number of samples or of GPUs is not an integer.

    `1e3` is a float, and nothing behind `=` is an empty string.
    """


@check_of(
    "VRL011",
    config_error,
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
    source="verl 0.9.1 workers/config/actor.py, rollout.py, optimizer.py; 0.5.0 trainer/ppo/ray_trainer.py:372-386",
)
def unknown_choice() -> None:
    """A value is not among those that the release accepts: loss aggregation, strategy, estimator, schedule, rollout mode."""


@check_of(
    "VRL012",
    config_error,
    f"{BASE} {ACTOR}.strategy=fsdp critic.strategy=megatron\n",
    f"{BASE} {ACTOR}.strategy=fsdp critic.strategy=fsdp\n",
    OLD,
    source="verl 0.5.0 trainer/main_ppo.py (TaskRunner.run)",
)
def strategies_differ() -> None:
    """Up to 0.5 actor and critic need the same kind of strategy, also where the run has no critic."""


@check_of(
    "VRL013",
    config_error,
    (
        f"{BASE} model_engine=megatron {ACTOR}.use_dynamic_bsz=False {ACTOR}.megatron.tensor_model_parallel_size=3\n",
        f"{BASE} model_engine=megatron {ACTOR}.use_dynamic_bsz=True {ACTOR}.megatron.tensor_model_parallel_size=3\n",
        f"{BASE} model_engine=megatron {ACTOR}.megatron.tensor_model_parallel_size=2 {ACTOR}.megatron.expert_model_parallel_size=8\n",
        f"{BASE} model_engine=megatron {ACTOR}.megatron.virtual_pipeline_model_parallel_size=2\n",
    ),
    f"{BASE} model_engine=megatron {ACTOR}.use_dynamic_bsz=False {ACTOR}.megatron.tensor_model_parallel_size=2\n",
    source="verl 0.9.1 utils/config.py:117-128; megatron-core 0.12.1 core/parallel_state.py:630-702",
)
def indivisible_megatron_sizes() -> None:
    """The GPUs do not divide into groups of tensor x pipeline x context, or expert tensor x expert x pipeline, parallel size.

    `expert_tensor_parallel_size` is `tensor_model_parallel_size` where it is null. Virtual pipeline stages require a pipeline.
    """


@check_of(
    "VRL014",
    config_error,
    (
        f"{BASE} data.train_batch_size=300 {ACTOR}.ppo_mini_batch_size=64\n",
        Example(f"{BASE} data.train_batch_size=300 {ACTOR}.ppo_mini_batch_size=64\n", facts=OLDER),
    ),
    f"{BASE} data.train_batch_size=256 {ACTOR}.ppo_mini_batch_size=64\n",
    source="verl 0.9.1 utils/config.py:110-140, 0.3.0 trainer/ppo/ray_trainer.py (_validate_config)",
)
def indivisible_batch() -> None:
    """Prompts x samples per prompt (`data.train_batch_size` x `rollout.n`) are not a multiple of the GPUs."""


@check_of(
    "VRL015",
    config_error,
    (
        f"{RUN}\n",
        f"{RUN} {ACTOR}.ppo_micro_batch_size_per_gpu=4\n",
        f"{BASE} critic.enable=True\n",
        Example(f"{RUN}\n", facts=OLD),
    ),
    f"{BASE}\n",
    source="verl 0.9.1 utils/config.py:142-190, workers/config/actor.py (__post_init__)",
)
def missing_micro_batch() -> None:
    """A worker has no micro batch size: the actor, the rollout, the reference policy or the critic. There is no default."""


@check_of(
    "VRL016",
    config_error,
    (f"{BASE} {ACTOR}.ppo_micro_batch_size=8\n", f"{BASE} {ROLLOUT}.log_prob_micro_batch_size=8\n"),
    f"{BASE}\n",
    source="verl 0.9.1 utils/config.py:142-170, workers/config/actor.py (__post_init__)",
)
def two_micro_batches() -> None:
    """The deprecated global micro batch and that of a GPU are both set."""


@check_of(
    "VRL017",
    config_error,
    (f"{BASE} data.train_batch_size=128\n", Example(f"{BASE} data.train_batch_size=128\n", facts=OLD)),
    f"{BASE} data.train_batch_size=128 {ACTOR}.ppo_mini_batch_size=128\n",
    source="verl 0.9.1 workers/config/actor.py (validate), 0.5.0 trainer/ppo/ray_trainer.py",
)
def mini_batch_above_batch() -> None:
    """The mini batch of an update has more prompts than a step.

    Fix: set `ppo_mini_batch_size` to at most `data.train_batch_size`; its default is 256.
    """


@check_of(
    "VRL018",
    config_error,
    (GLOBAL + "\n", GLOBAL.replace("size=8", "size=12") + "\n", GLOBAL.replace("size=8", "size=4") + "\n"),
    f"{BASE}\n",
    source="verl 0.9.1 workers/config/actor.py (validate), workers/engine_workers.py:636-637",
)
def unusable_global_micro_batch() -> None:
    """The deprecated global micro batch does not divide the mini batch, or is less than the GPUs.

    From 0.8 on the workers do not read it at all.
    """


@check_of(
    "VRL019",
    init_error,
    f"{BASE.replace(f'{ROLLOUT}.name=vllm ', '')}\n".replace(f" {ROLLOUT}.name=vllm", ""),
    f"{BASE}\n",
    source="verl 0.9.1 trainer/config/rollout/rollout.yaml",
)
def missing_rollout_engine() -> None:
    """From 0.6 on the inference engine has no default."""


@check_of(
    "VRL020",
    config_error,
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=2 actor_rollout_ref.model.use_remove_padding=False\n",
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=2 actor_rollout_ref.model.use_remove_padding=True\n",
    source="verl 0.9.1 workers/config/actor.py (FSDPActorConfig.validate)",
)
def padding_with_sequence_parallelism() -> None:
    """Ulysses sequence parallelism works on sequences without padding only."""


@check_of(
    "VRL021",
    config_error,
    (
        f"{BASE} {ROLLOUT}.temperature=0 {ROLLOUT}.val_kwargs.do_sample=True\n",
        f"{BASE} actor_rollout_ref.model.lora_rank=1024\n",
    ),
    f"{BASE} {ROLLOUT}.temperature=0.7 {ROLLOUT}.val_kwargs.do_sample=True\n",
    source="verl 0.9.1 utils/config.py:200-217",
)
def refused_sampling() -> None:
    """Validation that samples needs a temperature above 0, and vLLM accepts LoRA ranks up to 512."""


@check_of(
    "VRL022",
    init_error,
    (f"{BASE}\n", Example(f"{BASE}\n", facts={"kind": "launch", "target": {"verl": "0.5.0"}, "num_examples": 500})),
    f"{BASE} data.train_batch_size=256\n",
    {**LINE, "num_examples": 500},
    source="verl 0.8.0 trainer/ppo/ray_trainer.py (_create_dataloader), 0.9.1 trainer/ppo/v1/trainer_base.py (fit)",
)
def batch_above_training_set() -> None:
    """The training set has fewer examples than one batch, and incomplete batches are dropped."""


@check_of(
    "VRL023",
    init_error,
    (
        f"{BASE} {ROLLOUT}.tensor_model_parallel_size=3\n",
        f"{BASE} {ROLLOUT}.tensor_model_parallel_size=0\n",
        f"{BASE} trainer.n_gpus_per_node=1\n",
    ),
    f"{BASE} {ROLLOUT}.tensor_model_parallel_size=4\n",
    source="verl 0.9.1 workers/engine_workers.py:650-660, 0.5.0 workers/fsdp_workers.py (_build_rollout)",
)
def indivisible_rollout_groups() -> None:
    """The GPUs are not a multiple of those of one inference engine. The default of `tensor_model_parallel_size` is 2."""


@check_of(
    "VRL024",
    init_error,
    (
        f"{BASE} data.train_batch_size=1000 {ACTOR}.ppo_mini_batch_size=100\n",
        Example(f"{BASE} {ACTOR}.ppo_mini_batch_size=24\n", facts=OLD),
        Example(f"{BASE} {ACTOR}.ppo_mini_batch_size=4\n", facts=OLD),
    ),
    f"{BASE} {ACTOR}.ppo_mini_batch_size=64\n",
    source="verl 0.7.1 workers/fsdp_workers.py:248-270, 0.9.1 workers/engine_workers.py (train_mini_batch)",
)
def indivisible_mini_batch() -> None:
    """The samples of an update do not divide among the GPUs or, on each of them, into micro batches."""


@check_of(
    "VRL025",
    init_error,
    f"{BASE} {ROLLOUT}.log_prob_use_dynamic_bsz=True\n",
    f"{BASE}\n",
    source="verl 0.9.1 workers/engine_workers.py:620",
)
def dynamic_batches_differ() -> None:
    """From 0.8 on actor and rollout have to agree on dynamic batch sizes."""


@check_of(
    "VRL026",
    first_step_error,
    (
        Example(f"{BASE} data.train_batch_size=100 {ROLLOUT}.n=2 {ACTOR}.ppo_mini_batch_size=64\n", facts=OLDER),
        Example(
            f"{BASE} data.train_batch_size=60 {ACTOR}.ppo_mini_batch_size=60 trainer.n_gpus_per_node=2"
            f" {ACTOR}.ppo_micro_batch_size_per_gpu=1 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=1\n",
            facts={"kind": "launch", "target": {"verl": "0.8.0"}},
        ),
    ),
    f"{BASE} data.train_batch_size=256 {ROLLOUT}.n=2 {ACTOR}.ppo_mini_batch_size=64\n",
    source="verl 0.9.1 protocol.py (chunk), experimental/agent_loop/agent_loop.py",
)
def unequal_chunks() -> None:
    """The samples of a step do not divide among the GPUs, or among the workers of the agent loop (8 by default)."""


@check_of(
    "VRL027",
    first_step_error,
    f"{BASE} data.train_batch_size=96 {ACTOR}.ppo_mini_batch_size=64\n",
    f"{BASE} data.train_batch_size=128 {ACTOR}.ppo_mini_batch_size=64\n",
    {"kind": "launch", "target": {"verl": "0.8.0"}},
    source="verl 0.8.0 workers/engine_workers.py (train_mini_batch)",
)
def incomplete_mini_batch() -> None:
    """In 0.8 a step consists of complete mini batches. Before, a shorter last one was trained; 0.9 fills it up."""


@check_of(
    "VRL028",
    first_step_error,
    (
        f"{BASE} {ACTOR}.ppo_mini_batch_size=64 {ACTOR}.ppo_micro_batch_size_per_gpu=3\n",
        f"{BASE} {ROLLOUT}.log_prob_micro_batch_size_per_gpu=3\n",
    ),
    f"{BASE} {ACTOR}.ppo_mini_batch_size=64\n",
    source="verl 0.9.1 workers/engine/utils.py (prepare_micro_batches)",
)
def indivisible_micro_batch() -> None:
    """From 0.8 on every micro batch has to divide what a GPU processes.

    For the actor that is its part of the mini batch, for log probabilities its part of the step.
    """


@check_of(
    "VRL030",
    config_error,
    (
        f"{BASE} +{ACTOR}.foo=1\n",
        f"{BASE} +{ROLLOUT}.foo=1\n",
        Example(f"{BASE} +actor_rollout_ref.model.foo=1\n", facts={"kind": "launch", "target": {"verl": "0.7.1"}}),
    ),
    f"{BASE} +trainer.foo=1\n",
    source="verl 0.9.1 utils/config.py (omega_conf_to_dataclass), workers/config",
)
def unexpected_keyword() -> None:
    """A key that the line adds with a plus sign is no field of the class that its section becomes.

    From 0.6 on actor, rollout, model, critic and reference policy are objects with fixed fields; before, such a key was carried along.

    Fix: remove the key; settings of your own belong in a section without a class, such as `trainer`.
    """


@check_of(
    "VRL031",
    init_error,
    f"{SFT} data.chat_template=mine\n",
    f"{SFT}\n",
    SFT_FACTS,
    source="verl 0.5.0 trainer/fsdp_sft_trainer.py:107",
)
def chat_template_of_sft() -> None:
    """The first SFT trainer (`verl.trainer.fsdp_sft_trainer`) does not take a chat template from the config."""


@check_of(
    "VRL032",
    init_error,
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
    source="verl 0.5.0 trainer/fsdp_sft_trainer.py (_normalize_config_bsz), 0.9.1 workers/engine/utils.py (prepare_micro_batches)",
)
def indivisible_sft_batch() -> None:
    """The batch of an SFT trainer does not divide among the data-parallel ranks, or on each of them into micro batches.

    The trainer on engines (`verl.trainer.sft_trainer`) rounds the rows of a rank down, and packs them by tokens by default.
    """


@check_of(
    "VRL029",
    init_error,
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=16 actor_rollout_ref.model.use_remove_padding=True\n",
    f"{BASE} {ACTOR}.ulysses_sequence_parallel_size=8 actor_rollout_ref.model.use_remove_padding=True\n",
    source="verl 0.7.1 workers/fsdp_workers.py:248, 0.9.1 workers/engine/fsdp/transformer_impl.py",
)
def sequence_parallelism_above_gpus() -> None:
    """The sequence-parallel size is larger than the number of GPUs, so that the data-parallel size is 0."""
