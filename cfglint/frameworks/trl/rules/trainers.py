"""Rules about values that the constructors of several of TRL's trainers refuse."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Example, Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.trl.batch import generating
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules.common import HEAD, KINDS, OLD, certain, losses, of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.trl.config import TrlConfig

DPO_LOSSES = (
    *("sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero"),
    *("apo_down", "discopop", "sft", "sigmoid_norm"),
)
OLD_DPO_LOSSES = (
    *("sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_pair", "apo_zero", "apo_down"),
    "discopop",
)
GRPO_LOSSES = ("cispo", "grpo", "bnpo", "dr_grpo", "dapo", "luspo", "sapo", "vespo")
OLD_GRPO_LOSSES = ("grpo", "bnpo", "dr_grpo")
PRECOMPUTES_UNDER_ZERO3 = (1, 3)  # release from which KTO no longer refuses ZeRO-3
RLOO_WITHOUT_WORLD_SIZE = (0, 22)  # release from which the configuration of RLOO is a plain one of the Trainer


@rule(
    "TRL043",
    "selective-checkpointing",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=(
        HEAD + "packing: true\ngradient_checkpointing: false\ngradient_checkpointing_kwargs: {selective: true}\n",
        Example(
            HEAD + "packing: true\ngradient_checkpointing_kwargs: {selective: true, use_reentrant: true}\n",
            "/gradient_checkpointing_kwargs",
            message="use_reentrant",
        ),
        Example(
            {
                "train.yaml": HEAD + "use_peft: true\ngradient_checkpointing_kwargs: {selective: true}\ndeepspeed: ds.json\n",
                "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}\n',
            },
            "/gradient_checkpointing_kwargs",
            message="ZeRO-3",
        ),
    ),
    good=HEAD + "packing: true\ngradient_checkpointing_kwargs: {selective: true}\n",
    example={"trainer": "sft", "at": "/gradient_checkpointing_kwargs"},
)
def selective_checkpointing(config: TrlConfig) -> Iterator[Finding]:
    """Selective checkpointing requires `gradient_checkpointing`, without `use_reentrant`, and not ZeRO-3 with LoRA.

    Run-time error: ``ValueError: `gradient_checkpointing_kwargs={'selective': True}` requires `gradient_checkpointing=True`.``,
    ``ValueError: `gradient_checkpointing_kwargs={'selective': True}` requires non-reentrant gradient checkpointing.``

    Fix: leave `gradient_checkpointing` on and `use_reentrant` out.

    Source: trl 1.16.0 trainer/sft_trainer.py:874-886, 1084-1096.
    """
    args = config.arguments
    given = args["gradient_checkpointing_kwargs"]
    if not config.modern or not config.only("sft") or not isinstance(given, dict) or not given.get("selective"):
        return
    setting = of(config, "gradient_checkpointing_kwargs")
    head = "ValueError: `gradient_checkpointing_kwargs={'selective': True}`"
    on = args.checkpointing
    if peft(config) and zero_stage(config) == 3 and on:
        text = f"{head} is not supported with PEFT + DeepSpeed ZeRO-3"
        yield Finding(
            setting,
            "`selective` does not support ZeRO-3 with LoRA",
            related=(of(config, "use_peft"),),
            exception=text,
            help="remove `gradient_checkpointing_kwargs.selective`, or use ZeRO stage 2",
        )
    elif not on:
        text = f"{head} requires `gradient_checkpointing=True`."
        yield Finding(
            setting,
            "`selective` requires `gradient_checkpointing`",
            related=(of(config, "gradient_checkpointing"),),
            exception=text,
            help="set `gradient_checkpointing: true`, or remove `gradient_checkpointing_kwargs`",
        )
    elif given.get("use_reentrant"):
        text = f"{head} requires non-reentrant gradient checkpointing."
        yield Finding(
            setting,
            "`selective` is incompatible with `use_reentrant: true`",
            exception=text,
            help="set `gradient_checkpointing_kwargs.use_reentrant: false`",
        )


def zero_stage(config: TrlConfig) -> object:
    """The ZeRO stage of the DeepSpeed file; None without one."""
    section = config.deepspeed.written.get("zero_optimization") if config.deepspeed is not None else None
    return section.get("stage") if isinstance(section, dict) else None


@rule(
    "TRL044",
    "streaming-without-steps",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: The train_dataset does not implement __len__, so the number of training steps cannot be inferred; "
    "max_steps has to be specified.",
    bad=HEAD + "packing: true\ndataset_streaming: true\n",
    good=HEAD + "packing: true\ndataset_streaming: true\nmax_steps: 1000\n",
    example={"trainer": "sft", "at": "/dataset_streaming"},
)
def streaming_without_steps(config: TrlConfig) -> Iterator[Finding]:
    """Data that is streamed has no length, so `max_steps` is required.

    Run-time error: `ValueError: The train_dataset does not implement __len__, so the number of training steps cannot be
    inferred; max_steps has to be specified.`

    Fix: set `max_steps`.

    Source: transformers 5.23.0 trainer.py:666-671, trl 1.16.0 scripts/utils.py:104-107, 427-436.
    """
    args = config.arguments
    limit = args["max_steps"]
    if not config.streams or not isinstance(limit, (int, float)) or limit > 0 or not config.parsed or not args.known("max_steps"):
        return
    key = "dataset_streaming" if args["dataset_streaming"] else "streaming"
    severity = certain(config, "max_steps")
    if config.facts.kind_given or config.facts.trainer is not None:
        yield Finding(
            of(config, key),
            "`max_steps` is required: streamed data has no length",
            related=(of(config, "max_steps"),),
            severity=severity,
            help="set `max_steps: 1000`, or another number of steps",
        )


@rule(
    "TRL046",
    "adapter-on-output-layer",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: Applying a PEFT adapter to `lm_head` is not supported",
    bad=HEAD + "packing: true\nuse_peft: true\nlora_target_modules: [q_proj, lm_head]\n",
    good=HEAD + "packing: true\nuse_peft: true\nlora_target_modules: [q_proj, v_proj]\n",
    example={"trainer": "sft", "at": "/lora_target_modules"},
)
def adapter_on_output_layer(config: TrlConfig) -> Iterator[Finding]:
    """A LoRA adapter on `lm_head` would never be trained: the fused loss reads the layer's weight itself.

    Run-time error: ``ValueError: Applying a PEFT adapter to `lm_head` is not supported: the log-probabilities are computed from
    `lm_head.weight` directly, so the adapter would never be trained. Remove `'lm_head'` from your `target_modules`.``

    Fix: leave it out of `lora_target_modules`.

    Source: trl 1.16.0 trainer/sft_trainer.py:1065-1073, and the same in DPO, KTO, GRPO and RLOO.
    """
    modules = config.arguments["lora_target_modules"]
    if (
        config.modern
        and config.only("sft", "dpo", "kto", "grpo", "rloo")
        and peft(config)
        and isinstance(modules, list)
        and "lm_head" in modules
    ):
        yield Finding(
            of(config, "lora_target_modules"),
            "`lora_target_modules` contains lm_head, which is not supported",
            related=(of(config, "use_peft"),),
            help="remove lm_head from `lora_target_modules`",
        )


@rule(
    "TRL051",
    "unknown-loss",
    ERROR,
    kinds=KINDS,
    fails_at="first-step",
    bad=HEAD + "loss_type: sigmoidd\n",
    good=HEAD + "loss_type: sigmoid\n",
    example={"trainer": "dpo", "at": "/loss_type"},
)
def unknown_loss(config: TrlConfig) -> Iterator[Finding]:
    """The trainer has no loss of this name; the choices of a value from a file are not checked before the first step.

    Run-time error: `ValueError: Unknown loss type: sigmoidd. Should be one of ['sigmoid', 'hinge', 'ipo', ...]`.

    Fix: use a name of the release.

    Source: trl 1.16.0 trainer/dpo_trainer.py:1511-1516, trainer/grpo_trainer.py:3138; 0.17.0 trainer/dpo_trainer.py:1037-1042,
    trainer/grpo_trainer.py:1216.
    """
    if config.only("dpo"):
        known: tuple[str, ...] = DPO_LOSSES if config.modern else (*OLD_DPO_LOSSES, "kto_pair")
    elif config.only("grpo"):
        known = GRPO_LOSSES if config.modern else OLD_GRPO_LOSSES
    else:
        return
    unknown = [each for each in losses(config) if each not in known]
    if unknown and config.arguments.known("loss_type"):
        text = f"ValueError: Unknown loss type: {unknown[0]}"
        yield Finding(
            of(config, "loss_type"),
            f"`loss_type` is {shown(unknown[0])}, which is not a loss of this trainer",
            exception=text,
            help=choice("loss_type", unknown[0], known),
        )


@rule(
    "TRL055",
    "streaming-dispatch",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: Iterable datasets require `dispatch_batches=False`, but it is set to `True` in `accelerator_config`.",
    bad=HEAD + "num_generations: 8\ndataset_streaming: true\nmax_steps: 100\naccelerator_config: {dispatch_batches: true}\n",
    good=HEAD + "num_generations: 8\ndataset_streaming: true\nmax_steps: 100\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/accelerator_config/dispatch_batches"},
)
def streaming_dispatch(config: TrlConfig) -> Iterator[Finding]:
    """GRPO and RLOO do not support `dispatch_batches` with streamed data.

    Run-time error: ``ValueError: Iterable datasets require `dispatch_batches=False`, but it is set to `True` in
    `accelerator_config`. Please set it to `False`.``

    Fix: leave it out.

    Source: trl 1.16.0 trainer/grpo_trainer.py:898-906, trainer/rloo_trainer.py:591-599.
    """
    if config.modern and generating(config) and config.streams and config.accelerator.get("dispatch_batches"):
        setting = config.setting("accelerator_config", "dispatch_batches")
        yield Finding(
            setting,
            "`dispatch_batches` is true; streamed data requires false",
            related=(of(config, "dataset_streaming"),),
            help="set `accelerator_config.dispatch_batches: false`",
        )


@rule(
    "TRL056",
    "vespo-importance-sampling",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=HEAD + "num_generations: 8\nloss_type: vespo\nuse_vllm: true\n",
    good=HEAD + "num_generations: 8\nloss_type: vespo\nuse_vllm: true\nvllm_importance_sampling_mode: token_mask\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/loss_type"},
)
def vespo_importance_sampling(config: TrlConfig) -> Iterator[Finding]:
    """VESPO with vLLM requires importance sampling by token; the default mode is by sequence.

    Run-time error: ``ValueError: VESPO loss requires `vllm_importance_sampling_mode` to be either 'token_truncate' or
    'token_mask'. Got: sequence_mask.``

    Fix: set `vllm_importance_sampling_mode: token_mask`.

    Source: trl 1.16.0 trainer/grpo_trainer.py:936-941.
    """
    args = config.arguments
    mode = args["vllm_importance_sampling_mode"]
    applies = config.modern and config.only("grpo") and args["loss_type"] == "vespo" and args["use_vllm"]
    if applies and args["vllm_importance_sampling_correction"] and mode not in ("token_truncate", "token_mask"):
        text = (
            f"ValueError: VESPO loss requires `vllm_importance_sampling_mode` to be either 'token_truncate' or 'token_mask'. Got: {mode}."
        )
        message = f"`loss_type: vespo` requires `vllm_importance_sampling_mode: token_truncate` or token_mask, but it is {shown(mode)}"
        related = (of(config, "vllm_importance_sampling_mode"),)
        severity = certain(config, "vllm_importance_sampling_mode")
        yield Finding(
            of(config, "loss_type"),
            message,
            related=related,
            exception=text,
            severity=severity,
            help="set `vllm_importance_sampling_mode: token_truncate`",
        )


@rule(
    "TRL057",
    "reward-weights-length",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=HEAD + "num_generations: 8\nreward_funcs: [accuracy_reward]\nreward_weights: [1.0, 0.5]\n",
    good=HEAD + "num_generations: 8\nreward_funcs: [accuracy_reward, think_format_reward]\nreward_weights: [1.0, 0.5]\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/reward_weights"},
)
def reward_weights_length(config: TrlConfig) -> Iterator[Finding]:
    """`reward_weights` needs one weight for each reward function of `reward_funcs`.

    A reward model (`reward_model_name_or_path`) is one more function. A script that builds its functions itself is not judged.

    Run-time error: `ValueError: Number of reward weights (2) must match number of reward functions (1)`.

    Fix: as many weights as functions.

    Source: trl 1.16.0 trainer/grpo_trainer.py:567-575, scripts/grpo.py:90-118.
    """
    args = config.arguments
    weights, functions = args["reward_weights"], args["reward_funcs"]
    if not config.modern or not generating(config) or not isinstance(weights, list) or not isinstance(functions, list) or not functions:
        return
    count = len(functions) + bool(args["reward_model_name_or_path"])
    if len(weights) != count:
        text = f"ValueError: Number of reward weights ({len(weights)}) must match number of reward functions ({count})"
        message = f"`reward_weights` has {counted(len(weights), 'weight')} for {counted(count, 'reward function')}"
        yield Finding(
            of(config, "reward_weights"),
            message,
            related=(of(config, "reward_funcs"),),
            exception=text,
            help=f"write {counted(count, 'weight')}",
        )


@rule(
    "TRL058",
    "model-options-for-instance",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=HEAD + "precompute_ref_log_probs: true\nmodel_init_kwargs: {use_cache: false}\n",
    good=HEAD + "precompute_ref_log_probs: true\n",
    example={"trainer": "dpo", "target": OLD, "at": "/model_init_kwargs"},
    when_partial="warn",
)
def model_options_for_instance(config: TrlConfig) -> Iterator[Finding]:
    """The DPO, KTO and GRPO scripts of old releases load the model themselves and do not accept `model_init_kwargs`.

    A script of your own that passes a model's name may have them.

    Run-time error: `ValueError: You passed model_init_kwargs to the DPOTrainer/DPOConfig, but your model is already
    instantiated.`

    Fix: set `torch_dtype`, `attn_implementation` and `model_revision` as keys of their own.

    Source: trl 0.17.0 trainer/dpo_trainer.py:275-279, trainer/kto_trainer.py:345-347,
    trainer/grpo_trainer.py:401-406, scripts/dpo.py:85-94.
    """
    if config.modern or not config.only("dpo", "kto", "grpo"):
        return
    trainer = config.trainers[0].upper()
    for name, what in (("model_init_kwargs", "model"), ("ref_model_init_kwargs", "ref_model")):
        if config.arguments[name] is None:
            continue
        passed = f"{what.replace('ref_', '')}_kwargs" if trainer == "KTO" and what == "model" else name
        text = f"ValueError: You passed {passed} to the {trainer}Trainer/{trainer}Config, but your {what} is already instantiated."
        yield Finding(
            of(config, name), f"`{name}` is not accepted: the script loads the model itself", exception=text, help=f"remove `{name}`"
        )


@rule(
    "TRL084",
    "precomputed-reference-with-zero3",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: You cannot use `precompute_ref_log_probs=True` with Deepspeed ZeRO-3. Please set `precompute_ref_log_probs=False`.",
    bad={
        "train.yaml": HEAD + "precompute_ref_log_probs: true\ndeepspeed: ds.json\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}\n',
    },
    good={
        "train.yaml": HEAD + "precompute_ref_log_probs: true\ndeepspeed: ds.json\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    example={"trainer": "kto", "target": OLD, "gpus": 2, "at": "/precompute_ref_log_probs"},
)
def precomputed_reference_with_zero3(config: TrlConfig) -> Iterator[Finding]:
    """KTO cannot compute the reference's log probabilities in advance under ZeRO-3.

    Releases up to 1.2.0 check this.

    Run-time error: ``ValueError: You cannot use `precompute_ref_log_probs=True` with Deepspeed ZeRO-3.``

    Fix: set `precompute_ref_log_probs: false`, or use ZeRO stage 2.

    Source: trl 0.17.0 trainer/kto_trainer.py:768-773, 1.0.0 experimental/kto/kto_trainer.py:703-707.
    """
    if config.trl_version >= PRECOMPUTES_UNDER_ZERO3 or not config.only("kto") or zero_stage(config) != 3:
        return
    if config.arguments["precompute_ref_log_probs"]:
        yield Finding(
            of(config, "precompute_ref_log_probs"),
            "`precompute_ref_log_probs` is incompatible with ZeRO-3",
            related=(of(config, "deepspeed"),),
            help="set `precompute_ref_log_probs: false`, or use ZeRO stage 2",
        )


@rule(
    "TRL085",
    "tokens-of-generated-batches",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="TypeError: list indices must be integers or slices, not str",
    bad=HEAD + "num_generations: 8\nper_device_train_batch_size: 8\ninclude_tokens_per_second: true\n",
    good=HEAD + "num_generations: 8\nper_device_train_batch_size: 8\ninclude_num_input_tokens_seen: true\n",
    example={"trainer": "grpo", "target": OLD, "at": "/include_tokens_per_second"},
)
def tokens_of_generated_batches(config: TrlConfig) -> Iterator[Finding]:
    """`include_tokens_per_second` counts the tokens of the batches, and those of GRPO and RLOO are lists of prompts.

    Run-time error: `TypeError: list indices must be integers or slices, not str`.

    Fix: set `include_tokens_per_second: false`.

    Source: transformers 4.51.3 trainer.py:1770-1783 (`num_tokens`), 2294; trl 0.17.0 trainer/grpo_trainer.py (`data_collator`).
    """
    if generating(config) and config.arguments["include_tokens_per_second"]:
        yield Finding(
            of(config, "include_tokens_per_second"),
            f"`include_tokens_per_second` does not support {config.trainers[0].upper()}",
            help="set `include_tokens_per_second: false`",
        )


@rule(
    "TRL086",
    "rloo-with-deepspeed",
    ERROR,
    kinds=KINDS,
    fails_at="config",
    raises="TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'",
    bad={
        "train.yaml": HEAD + "deepspeed: ds.json\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    good=HEAD,
    example={"trainer": "rloo", "target": OLD, "gpus": 2, "at": "/deepspeed"},
)
def rloo_with_deepspeed(config: TrlConfig) -> Iterator[Finding]:
    """The RLOO configuration of old releases has a field `world_size`, null by default, which `deepspeed` multiplies.

    It hides the number of processes of `TrainingArguments`. Releases from 0.22 on have another RLOO trainer.

    Run-time error: `TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'`.

    Fix: remove `deepspeed`, and have `accelerate launch` start DeepSpeed.

    Source: trl 0.17.0 trainer/utils.py:1108 (OnPolicyConfig); transformers 4.51.3 integrations/deepspeed.py:140.
    """
    args = config.arguments
    if config.only("rloo") and config.trl_version < RLOO_WITHOUT_WORLD_SIZE and args["deepspeed"] and args["world_size"] is None:
        yield Finding(
            of(config, "deepspeed"),
            "`deepspeed` is not supported by the RLOO configuration of this release",
            help="remove `deepspeed`, and have `accelerate launch` start DeepSpeed",
        )
