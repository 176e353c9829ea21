"""Rules about values that the trainers for preferences refuse: DPO, KTO, reward models."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, init_error
from cfglint.frameworks.trl.batch import WITHOUT_KL
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import HEAD, OLD, certain, losses, of, refused, shown
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

KTO_PAIR_ARGUMENT = Releases((0, 11, 0), (0, 13, 0))  # the constructor compares a parameter that stands for the field
KTO_PAIR = Releases((0, 9, 6), (0, 29, 0), "kto_pair")
REWRITTEN = Releases((0, 29, 0), of="exo_pair with `label_smoothing: 0`, and aot with `use_weighting`")
DIVERGENCE = Releases((1, 10, 0), of="`f_divergence_type` with another loss than those of divergences")
DIVERGENCE_NAMES = Releases((0, 24, 0), (0, 28, 0), "an unknown `f_divergence_type`")


@init_error(
    "TRL050",
    source="trl 1.16.0 trainer/dpo_trainer.py:808-834; 0.17.0 trainer/dpo_trainer.py:424",
    bad=(
        HEAD + "loss_type: exo_pair\n",
        Example(HEAD + "loss_type: aot\nf_divergence_type: js_divergence\n", "/f_divergence_type", "ValueError: `f_divergence_type="),
        Example(HEAD + "loss_type: aot\nuse_weighting: true\n", "/use_weighting", "NotImplementedError: WPO-style weighting"),
        Example(HEAD + "loss_type: kto_pair\n", "/loss_type", "ValueError: Support for kto_pair", facts={"target": OLD}),
        Example(HEAD + "f_divergence_type: kl\n", "/f_divergence_type", "ValueError: 'kl' is not", facts={"target": {"trl": "0.24.0"}}),
    ),
    releases=(KTO_PAIR, DIVERGENCE_NAMES, REWRITTEN, DIVERGENCE),
    good=HEAD + "loss_type: exo_pair\nlabel_smoothing: 0.001\n",
    example={"trainer": "dpo", "at": "/loss_type"},
)
def dpo_loss_combination(config: TrlConfig) -> Iterator[Finding]:
    """DPO's loss does not support another option.

    `exo_pair` requires `label_smoothing` above 0; `f_divergence_type` other than reverse_kl is valid for sigmoid, sigmoid_norm,
    hinge, ipo, exo_pair, robust, discopop and sft; `use_weighting` is not there for aot and aot_unpaired.
    """
    yield from refused(config, "TRL050")
    if config.trl_version in KTO_PAIR_ARGUMENT and config.only("dpo") and "kto_pair" in losses(config):
        text = "ValueError: Support for kto_pair has been removed in DPOTrainer. Please use KTOTrainer."
        message = "`loss_type: kto_pair` is not supported by DPO"
        yield Finding(of(config, "loss_type"), message, exception=text, help="set `loss_type: sigmoid`, or train with the script `kto`")


SYNC_WITHOUT_MODEL = Releases((0, 9, 2), (0, 29, 0), "DPO without a reference model")
SYNC_WITH_LOG_PROBS = Releases((0, 13, 0), (0, 29, 0), "DPO with `precompute_ref_log_probs`, from a file")
SYNC_GENERATING = Releases((0, 28, 0), of="GRPO and RLOO")
SYNC: dict[str, Releases] = {
    "dpo": Releases((0, 29, 0), of="DPO with LoRA or with `precompute_ref_log_probs`"),
    "kto": Releases((1, 7, 0), of="KTO with LoRA or with `precompute_ref_log_probs`"),
    "grpo": SYNC_GENERATING,
    "rloo": SYNC_GENERATING,
}


def synchronizes(config: TrlConfig) -> bool:
    """Whether all trainers that the file may be for check `sync_ref_model` in this release."""
    return config.only(*(name for name, releases in SYNC.items() if config.trl_version in releases))


@init_error(
    "TRL052",
    source="trl 1.16.0 trainer/grpo_trainer.py:1190-1207, trainer/dpo_trainer.py:992-1010; 0.17.0 trainer/dpo_trainer.py:505-523 "
    "(0.9.6 to 0.12 compare an argument of the constructor with `precompute_ref_log_probs`, not the field)",
    bad=(
        HEAD + "num_generations: 8\nsync_ref_model: true\n",
        Example(HEAD + "sync_ref_model: true\nuse_peft: true\n", "/sync_ref_model", "NotImplementedError: ", facts={"trainer": "dpo"}),
        Example(
            HEAD + "sync_ref_model: true\nprecompute_ref_log_probs: true\n",
            "/sync_ref_model",
            "ValueError: You cannot use",
            facts={"trainer": "dpo"},
        ),
        Example(
            HEAD + "sync_ref_model: true\nuse_peft: true\n",
            "/sync_ref_model",
            "ValueError: You currently cannot use",
            facts={"trainer": "dpo", "target": OLD},
        ),
        Example(
            HEAD + "sync_ref_model: true\nprecompute_ref_log_probs: true\n",
            "/sync_ref_model",
            facts={"trainer": "dpo", "target": {"trl": "0.24.0"}},
        ),
    ),
    releases=(SYNC_WITHOUT_MODEL, SYNC_WITH_LOG_PROBS, SYNC_GENERATING, SYNC["dpo"], SYNC["kto"]),
    good=HEAD + "num_generations: 8\nsync_ref_model: true\nbeta: 0.04\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/sync_ref_model"},
)
def reference_model_not_synchronized(config: TrlConfig) -> Iterator[Finding]:
    """`sync_ref_model` requires a reference model of its own.

    There is none with LoRA, with `precompute_ref_log_probs` (DPO, KTO), nor in GRPO and RLOO if `beta` is 0.0, which
    is GRPO's default.
    """
    setting = of(config, "sync_ref_model")
    if not setting.value:
        return
    if synchronizes(config) and peft(config):
        text = "NotImplementedError: You passed `sync_ref_model=True` while using a PEFT model, which is currently not supported."
        remedy = "set `sync_ref_model: false`, or set `use_peft: false`"
        yield Finding(setting, "`sync_ref_model` does not support LoRA", related=(of(config, "use_peft"),), exception=text, help=remedy)
    elif config.only("dpo") and refuses_old_synchronization(config):
        other = "use_peft" if peft(config) else "precompute_ref_log_probs"
        text = "ValueError: You currently cannot use `ref_model=None` with TR-DPO method. Please provide `ref_model`."
        remedy = f"set `sync_ref_model: false`, or set `{other}: false`"
        message = f"`sync_ref_model` is incompatible with `{other}`"
        yield Finding(setting, message, related=(of(config, other),), exception=text, help=remedy)
    else:
        yield from refused(config, "TRL052")


def refuses_old_synchronization(config: TrlConfig) -> bool:
    """Whether DPO before its rewriting refuses `sync_ref_model`: there is no reference model with LoRA or precomputed probabilities."""
    if config.trl_version in SYNC_WITHOUT_MODEL and peft(config):
        return True
    return config.trl_version in SYNC_WITH_LOG_PROBS and bool(config.arguments["precompute_ref_log_probs"])


STREAMED = {"dpo": Releases((0, 29, 0), of="DPO"), "kto": Releases((1, 3, 0), of="KTO")}


@init_error(
    "TRL053",
    raises="ValueError: `precompute_ref_log_probs=True` is not supported with IterableDataset.",
    source="trl 1.16.0 trainer/dpo_trainer.py:1168-1173, trainer/kto_trainer.py",
    bad=HEAD + "precompute_ref_log_probs: true\ndataset_streaming: true\nmax_steps: 100\n",
    good=HEAD + "precompute_ref_log_probs: true\n",
    example={"trainer": "dpo", "at": "/precompute_ref_log_probs"},
    releases=tuple(STREAMED.values()),
)
def precompute_with_streaming(config: TrlConfig) -> Iterator[Finding]:
    """`precompute_ref_log_probs` processes the data once before training, but streamed data has no end."""
    checks = config.only(*(name for name, releases in STREAMED.items() if config.trl_version in releases))
    if checks and config.streams and config.arguments["precompute_ref_log_probs"]:
        key = "dataset_streaming" if config.arguments["dataset_streaming"] else "streaming"
        message = "`precompute_ref_log_probs` does not support streamed data"
        yield Finding(
            of(config, "precompute_ref_log_probs"),
            message,
            related=(of(config, key),),
            help=f"set `precompute_ref_log_probs: false`, or set `{key}: false`",
        )


ANY_LOSS = Releases((0, 8, 0), (0, 12, 0), "a micro batch of 1, with every loss")
FOR_KL = Releases((0, 12, 0), of="a micro batch of 1, with a loss that has the KL term")
IN_ORDER = Releases((1, 6, 0), of="another order of the samples")


@init_error(
    "TRL054",
    source="trl 1.16.0 trainer/kto_trainer.py:837-849, 0.17.0 trainer/kto_trainer.py:640-646",
    bad=(
        HEAD + "desirable_weight: 1.0\nper_device_train_batch_size: 1\n",
        Example(HEAD + "train_sampling_strategy: random\n", "/train_sampling_strategy", "ValueError: Loss type `'kto'`"),
        Example(
            HEAD + "loss_type: apo_zero_unpaired\nper_device_train_batch_size: 1\n",
            "/per_device_train_batch_size",
            "ValueError: Batch size is 1 (too small)",
            facts={"target": {"trl": "0.11.4"}},
        ),
    ),
    releases=(ANY_LOSS, FOR_KL, IN_ORDER),
    good=HEAD + "desirable_weight: 1.0\nper_device_train_batch_size: 2\n",
    example={"trainer": "kto", "at": "/per_device_train_batch_size"},
)
def kto_batch(config: TrlConfig) -> Iterator[Finding]:
    """KTO's KL term pairs each sample with another of its micro batch: at least two of them, in the order of the data.

    Not for `loss_type: apo_zero_unpaired`, which has no KL term.
    """
    args, found = config.arguments, [*refused(config, "TRL054")]
    yield from found
    if found or not config.only("kto") or (args["loss_type"] == WITHOUT_KL and config.trl_version not in ANY_LOSS):
        return
    micro, order = config.batch.micro_batch, args["train_sampling_strategy"]
    if config.trl_version in IN_ORDER and order != "sequential":
        text = f"ValueError: Loss type `{args['loss_type']!r}` estimates the KL divergence term and requires "
        text += "`train_sampling_strategy='sequential'`"
        message = f'`train_sampling_strategy` is {shown(order)}; KTO requires "sequential"'
        yield Finding(
            of(config, "train_sampling_strategy"),
            message,
            exception=text,
            help="set `train_sampling_strategy: sequential`, or remove `train_sampling_strategy`",
        )
    elif isinstance(micro.value, int) and micro.value == 1:
        head = "Batch size is 1 (too small)" if config.trl_version in ANY_LOSS else "Actual (not effective) batch size must be > 1"
        text = f"ValueError: {head}. KTO will not work properly because the KL term will be "
        yield Finding(
            micro,
            "`per_device_train_batch_size` is 1; KTO requires at least 2",
            exception=f"{text}equivalent to the implied reward.",
            help="set `per_device_train_batch_size: 2` or more",
        )


@init_error(
    "TRL059",
    raises="TypeError: '<=' not supported between instances of 'int' and 'NoneType'",
    source="trl 0.17.0 trainer/reward_trainer.py:177, 220",
    bad=HEAD + "center_rewards_coefficient: 0.01\nmax_length: null\n",
    good=HEAD + "center_rewards_coefficient: 0.01\nmax_length: 1024\n",
    example={"trainer": "reward", "target": OLD, "at": "/max_length"},
    releases=Releases((0, 14, 0), (0, 24, 0)),
)
def reward_length_missing(config: TrlConfig) -> Iterator[Finding]:
    """The reward trainer of old releases drops samples that are longer than `max_length`, so it cannot be null."""
    if config.only("reward") and config.arguments["max_length"] is None and config.arguments.known("max_length"):
        yield Finding(
            of(config, "max_length"),
            "`max_length` is null, and the reward trainer of this release requires a number",
            help="set `max_length: 1024`",
        )


REWARD_ADAPTERS = (0, 7, 11)  # the first release with `ModelConfig`
ADAPTER_NEEDS_GENERATION = (4, 50, 0)  # from here on transformers' models do not inherit what generation needs


@init_error(
    "TRL061",
    raises="AttributeError: 'LlamaForSequenceClassification' object has no attribute 'prepare_inputs_for_generation'",
    source="trl 1.16.0 trainer/model_config.py:135-138, scripts/reward.py; peft 0.19.1 peft_model.py (PeftModelForCausalLM)",
    bad=HEAD + "center_rewards_coefficient: 0.01\nuse_peft: true\n",
    good=HEAD + "center_rewards_coefficient: 0.01\nuse_peft: true\nlora_task_type: SEQ_CLS\n",
    example={"trainer": "reward", "at": "/lora_task_type"},
)
def reward_adapter_task(config: TrlConfig) -> Iterator[Finding]:
    """A reward model with LoRA requires `lora_task_type: SEQ_CLS`; the default is CAUSAL_LM.

    An adapter for text generation expects a model that generates, but a reward model returns a number.
    """
    task = config.arguments["lora_task_type"]
    adapts = config.version >= ADAPTER_NEEDS_GENERATION and config.trl_version >= REWARD_ADAPTERS
    if adapts and config.only("reward") and peft(config) and task in ("CAUSAL_LM", "SEQ_2_SEQ_LM"):
        setting, related = of(config, "lora_task_type"), (of(config, "use_peft"),)
        message = f'`lora_task_type` is {shown(task)}; a reward model with LoRA requires "SEQ_CLS"'
        yield Finding(setting, message, related=related, severity=certain(config, "lora_task_type"), help="set `lora_task_type: SEQ_CLS`")
