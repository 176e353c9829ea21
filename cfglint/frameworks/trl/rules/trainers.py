"""Rules about values that the constructors of several of TRL's trainers refuse."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, config_error, first_step_error, init_error
from cfglint.findings.wording import counted
from cfglint.frameworks.huggingface.batch import wanted_steps
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import HEAD, NEW_ENGINE, OLD, TRUNCATIONS, certain, losses, of, refused, shown
from cfglint.source.annotations import Iterator

# The releases that have a loss, since `loss_type` is a field; trl trainer/dpo_trainer.py (dpo_loss, _compute_loss) of each release.
DPO_LOSSES: dict[str, Releases] = {
    "sigmoid": Releases(),
    "hinge": Releases(),
    "ipo": Releases(),
    "exo_pair": Releases((0, 9, 6)),
    "nca_pair": Releases(),
    "robust": Releases(),
    "bco_pair": Releases(),
    "sppo_hard": Releases(),
    "aot": Releases((0, 9, 6)),
    "aot_pair": Releases((0, 9, 6), (0, 28, 0)),
    "aot_unpaired": Releases((0, 28, 0)),
    "apo_zero": Releases((0, 10, 1)),
    "apo_down": Releases((0, 10, 1)),
    "discopop": Releases((0, 13, 0)),
    "sft": Releases((0, 20, 0)),
    "sigmoid_norm": Releases((1, 4, 0)),
}
GRPO_LOSSES: dict[str, Releases] = {
    "grpo": Releases(),
    "bnpo": Releases(),
    "dr_grpo": Releases(),
    "dapo": Releases((0, 22, 0)),
    "cispo": Releases((0, 26, 0)),
    "sapo": Releases((0, 26, 0)),
    "luspo": Releases((0, 28, 0)),
    "vespo": Releases((1, 0, 0)),
}
KTO_PAIR, KTO_PAIR_REFUSED = "kto_pair", Releases((0, 9, 6), (0, 29, 0))  # another rule reports it


@init_error(
    "TRL043",
    source="trl 1.16.0 trainer/sft_trainer.py:874-886, 1084-1096",
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
    releases=Releases((1, 15, 0)),
)
def selective_checkpointing(config: TrlConfig) -> Iterator[Finding]:
    """Selective checkpointing requires `gradient_checkpointing`, without `use_reentrant`, and not ZeRO-3 with LoRA."""
    args = config.arguments
    given = args["gradient_checkpointing_kwargs"]
    if not config.only("sft") or not isinstance(given, dict) or not given.get("selective"):
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


INFERS_STEPS = (5, 14)  # transformers says so in its exception


@init_error(
    "TRL044",
    source="transformers 5.23.0 trainer.py:666-671, trl 1.16.0 scripts/utils.py:104-107, 427-436",
    bad=HEAD + "packing: true\ndataset_streaming: true\n",
    good=HEAD + "packing: true\ndataset_streaming: true\nmax_steps: 1000\n",
    example={"trainer": "sft", "at": "/dataset_streaming"},
)
def streaming_without_steps(config: TrlConfig) -> Iterator[Finding]:
    """Data that is streamed has no length, so `max_steps` is required."""
    args = config.arguments
    limit = args["max_steps"]
    if not config.streams or not isinstance(limit, (int, float)) or limit > 0 or not config.parsed or not args.known("max_steps"):
        return
    key = "dataset_streaming" if args["dataset_streaming"] else "streaming"
    severity = certain(config, "max_steps")
    inferred = "so the number of training steps cannot be inferred; " if config.version >= INFERS_STEPS else ""
    if config.facts.kind_given or config.facts.trainer is not None:
        yield Finding(
            of(config, key),
            "`max_steps` is required: streamed data has no length",
            exception=f"ValueError: The train_dataset does not implement __len__, {inferred}max_steps has to be specified.",
            related=(of(config, "max_steps"),),
            severity=severity,
            help=wanted_steps(config),
        )


FUSED_LOSS = (1, 15, 0)  # from here on the head's weight is always read by the loss
LIGER_HEAD: dict[str, Releases] = {
    "dpo": Releases((1, 8, 0), FUSED_LOSS, "DPO with `use_liger_kernel`"),
    "kto": Releases((1, 8, 0), FUSED_LOSS, "KTO with `use_liger_kernel`"),
    "grpo": Releases((1, 7, 0), FUSED_LOSS, "GRPO with `use_liger_kernel`"),
}


@init_error(
    "TRL046",
    source="trl 1.16.0 trainer/sft_trainer.py:1065-1073, and the same in DPO, KTO, GRPO and RLOO",
    bad=(
        HEAD + "packing: true\nuse_peft: true\nlora_target_modules: [q_proj, lm_head]\n",
        Example(
            HEAD + "use_liger_kernel: true\nuse_peft: true\nlora_target_modules: [q_proj, lm_head]\n",
            exception="ValueError: `use_liger_kernel=True` is incompatible",
            facts={"trainer": "dpo", "target": {"trl": "1.8.0"}},
        ),
    ),
    releases=(*LIGER_HEAD.values(), Releases(FUSED_LOSS, of="SFT, DPO, KTO, GRPO, RLOO")),
    good=HEAD + "packing: true\nuse_peft: true\nlora_target_modules: [q_proj, v_proj]\n",
    example={"trainer": "sft", "at": "/lora_target_modules"},
)
def adapter_on_output_layer(config: TrlConfig) -> Iterator[Finding]:
    """A LoRA adapter on `lm_head` would never be trained: the fused loss reads the layer's weight itself."""
    args, release = config.arguments, config.trl_version
    modules = args["lora_target_modules"]
    with_liger = tuple(name for name, releases in LIGER_HEAD.items() if release in releases)
    if not peft(config) or not isinstance(modules, list) or "lm_head" not in modules:
        return
    if release >= FUSED_LOSS and config.only("sft", "dpo", "kto", "grpo", "rloo"):
        text, related = "ValueError: Applying a PEFT adapter to `lm_head` is not supported", (of(config, "use_peft"),)
    elif with_liger and config.only(*with_liger) and args["use_liger_kernel"]:
        text = "ValueError: `use_liger_kernel=True` is incompatible with applying a PEFT adapter to `lm_head`."
        related = (of(config, "use_liger_kernel"),)
    else:
        return
    yield Finding(
        of(config, "lora_target_modules"),
        "`lora_target_modules` contains lm_head, which is not supported",
        related=related,
        exception=text,
        help="remove lm_head from `lora_target_modules`",
    )


LOSS_METHODS = frozenset(("compute_loss", "_compute_loss", "dpo_loss", "get_batch_loss_metrics"))  # which look the loss up


@first_step_error(
    "TRL051",
    source="trl 1.16.0 trainer/dpo_trainer.py:1511-1516, trainer/grpo_trainer.py:3138; 0.17.0 trainer/dpo_trainer.py:1037-1042, "
    "trainer/grpo_trainer.py:1216",
    bad=HEAD + "loss_type: sigmoidd\n",
    good=HEAD + "loss_type: sigmoid\n",
    example={"trainer": "dpo", "at": "/loss_type"},
)
def unknown_loss(config: TrlConfig) -> Iterator[Finding]:
    """The trainer has no loss of this name; the choices of a value from a file are not checked before the first step."""
    table = DPO_LOSSES if config.only("dpo") else GRPO_LOSSES if config.only("grpo") else {}
    known = tuple(name for name, releases in table.items() if config.trl_version in releases)
    if not known or (KTO_PAIR in losses(config) and config.trl_version in KTO_PAIR_REFUSED and config.only("dpo")):
        return
    unknown = [each for each in losses(config) if each not in known]
    program = config.facts.launch.program
    if program is not None and not LOSS_METHODS.isdisjoint(program.own_methods):  # which may have losses of its own
        return
    if unknown and config.arguments.known("loss_type"):
        text = f"ValueError: Unknown loss type: {unknown[0]}"
        yield Finding(
            of(config, "loss_type"),
            f"`loss_type` is {shown(unknown[0])}, which is not a loss of this trainer",
            exception=text,
            help=choice("loss_type", unknown[0], known),
        )


@first_step_error(
    "TRL087",
    source="trl 1.16.0 trainer/dpo_trainer.py:152-161; 0.29.0 trainer/dpo_trainer.py:959-978",
    bad=HEAD + "truncation_mode: left\n",
    good=HEAD + "truncation_mode: keep_start\n",
    example={"trainer": "dpo", "at": "/truncation_mode"},
    releases=Releases((0, 29, 0)),
)
def unknown_truncation_mode(config: TrlConfig) -> Iterator[Finding]:
    """DPO truncates every batch to `max_length`, in one of two ways only; before 0.29 only where a sequence is too long."""
    args = config.arguments
    if not config.only("dpo") or not args.known("truncation_mode", "max_length") or args["max_length"] is None:
        return
    mode = args["truncation_mode"]
    if mode not in TRUNCATIONS:
        yield Finding(
            of(config, "truncation_mode"),
            f"`truncation_mode` is {shown(mode)}; it must be keep_start or keep_end",
            exception=f"ValueError: Unsupported truncation mode: {mode}, expected 'keep_start' or 'keep_end'",
            severity=certain(config, "max_length"),
            help=choice("truncation_mode", mode, TRUNCATIONS),
        )


@init_error(
    "TRL055",
    raises="ValueError: Iterable datasets require `dispatch_batches=False`, but it is set to `True` in `accelerator_config`.",
    source="trl 1.16.0 trainer/grpo_trainer.py:898-906, trainer/rloo_trainer.py:591-599",
    bad=HEAD + "num_generations: 8\ndataset_streaming: true\nmax_steps: 100\naccelerator_config: {dispatch_batches: true}\n",
    good=HEAD + "num_generations: 8\ndataset_streaming: true\nmax_steps: 100\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/accelerator_config/dispatch_batches"},
    releases=Releases((1, 9, 0)),
)
def streaming_dispatch(config: TrlConfig) -> Iterator[Finding]:
    """GRPO and RLOO do not support `dispatch_batches` with streamed data."""
    if config.own_sampler and config.streams and config.accelerator.get("dispatch_batches"):
        setting = config.setting("accelerator_config", "dispatch_batches")
        yield Finding(
            setting,
            "`dispatch_batches` is true; streamed data requires false",
            related=(of(config, "dataset_streaming"),),
            help="set `accelerator_config.dispatch_batches: false`",
        )


@init_error(
    "TRL056",
    source="trl 1.16.0 trainer/grpo_trainer.py:936-941",
    bad=HEAD + "num_generations: 8\nloss_type: vespo\nuse_vllm: true\n",
    good=HEAD + "num_generations: 8\nloss_type: vespo\nuse_vllm: true\nvllm_importance_sampling_mode: token_mask\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/loss_type"},
    releases=Releases((1, 0, 0)),
)
def vespo_importance_sampling(config: TrlConfig) -> Iterator[Finding]:
    """VESPO with vLLM requires importance sampling by token; the default mode is by sequence."""
    return refused(config, "TRL056")


@init_error(
    "TRL057",
    source="trl 1.16.0 trainer/grpo_trainer.py:567-575, scripts/grpo.py:90-118",
    bad=HEAD + "num_generations: 8\nreward_funcs: [accuracy_reward]\nreward_weights: [1.0, 0.5]\n",
    good=HEAD + "num_generations: 8\nreward_funcs: [accuracy_reward, think_format_reward]\nreward_weights: [1.0, 0.5]\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/reward_weights"},
    releases=Releases((0, 18, 0)),
)
def reward_weights_length(config: TrlConfig) -> Iterator[Finding]:
    """`reward_weights` needs one weight for each reward function of `reward_funcs`.

    A reward model (`reward_model_name_or_path`) is one more function. A script that builds its functions itself is not judged.
    """
    args = config.arguments
    weights, functions = args["reward_weights"], args["reward_funcs"]
    if not config.own_sampler or not isinstance(weights, list) or not isinstance(functions, list) or not functions:
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


# The trainers that refuse options for a model that the script has loaded already, and their releases.
LOADED: dict[str, Releases] = {
    "dpo": Releases((0, 9, 2), (0, 19, 0), "DPO"),
    "kto": Releases((0, 8, 0), (0, 27, 0), "KTO"),
}


@init_error(
    "TRL058",
    source="trl 0.17.0 trainer/dpo_trainer.py:275-279, trainer/kto_trainer.py:345-347, trainer/grpo_trainer.py:401-406, "
    "scripts/dpo.py:85-94",
    bad=HEAD + "precompute_ref_log_probs: true\nmodel_init_kwargs: {use_cache: false}\n",
    good=HEAD + "precompute_ref_log_probs: true\n",
    example={"trainer": "dpo", "target": OLD, "at": "/model_init_kwargs"},
    when_partial="warn",
    releases=tuple(LOADED.values()),
)
def model_options_for_instance(config: TrlConfig) -> Iterator[Finding]:
    """The DPO and KTO scripts of old releases load the model themselves and do not accept `model_init_kwargs`.

    A script of your own that passes a model's name may have them.

    Fix: set `torch_dtype`, `attn_implementation` and `model_revision` as keys of their own.
    """
    if not config.only(*(name for name, releases in LOADED.items() if config.trl_version in releases)):
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


ITERABLE = {"grpo": Releases((0, 17, 0), (1, 9, 0), "GRPO"), "rloo": Releases((0, 22, 0), (1, 9, 0), "RLOO")}


@init_error(
    "TRL065",
    source="trl 1.8.0 trainer/grpo_trainer.py, trainer/rloo_trainer.py (__init__)",
    releases=tuple(ITERABLE.values()),
    bad=HEAD + "num_generations: 8\ndataset_streaming: true\nmax_steps: 100\n",
    good=HEAD + "num_generations: 8\nmax_steps: 100\n",
    example={"trainer": "grpo", "gpus": 8, "target": {"trl": "1.8.0"}, "at": "/dataset_streaming"},
)
def streaming_not_supported(config: TrlConfig) -> Iterator[Finding]:
    """GRPO and RLOO of these releases do not support streamed data."""
    checks = config.only(*(name for name, releases in ITERABLE.items() if config.trl_version in releases))
    if checks and config.streams and len(config.trainers) == 1:
        key = "dataset_streaming" if config.arguments["dataset_streaming"] else "streaming"
        name = config.trainers[0].upper()
        text = f"NotImplementedError: Iterable datasets are not yet supported in {name}Trainer. Please use a standard dataset instead."
        yield Finding(of(config, key), f"streamed data is not supported by {name}", exception=text, help=f"set `{key}: false`")


LAYER_ENDS = ("_proj", "query_key_value", "c_attn", "c_proj", "out_proj", "Wqkv", "fc1", "fc2", "lin1", "lin2")  # of inner layers


@init_error(
    "TRL066",
    source="trl 1.16.0 trainer/model_config.py:177-178, 0.9.6 trainer/model_config.py; peft 0.19.1 tuners/tuners_utils.py "
    "(check_target_module_exists)",
    releases=Releases((0, 9, 6)),
    bad=(
        HEAD + "packing: true\nuse_peft: true\nlora_target_modules: [q_proj]\n",
        Example(HEAD + "packing: true\nuse_peft: true\nlora_target_modules: q_proj\n"),
    ),
    good=HEAD + "packing: true\nuse_peft: true\nlora_target_modules: [q_proj, v_proj]\n",
    example={"trainer": "sft", "at": "/lora_target_modules"},
)
def single_lora_target(config: TrlConfig) -> Iterator[Finding]:
    """A list of one name becomes a string, which PEFT takes as a pattern for the complete name of a module.

    No module has the complete name `q_proj`: those of a model are named `model.layers.0.self_attn.q_proj`.
    """
    modules = config.arguments["lora_target_modules"]
    name = modules[0] if isinstance(modules, list) and len(modules) == 1 else modules
    if peft(config) and isinstance(name, str) and name.isidentifier() and name.endswith(LAYER_ENDS):
        text = f"ValueError: Target modules {name} not found in the base model. Please check the target modules and try again."
        yield Finding(
            of(config, "lora_target_modules"),
            f"`lora_target_modules` has a single name, {name}, which is a pattern for the complete name of a module",
            related=(of(config, "use_peft"),),
            exception=text,
            help=f'set `lora_target_modules: ".*{name}"`',
        )


@init_error(
    "TRL068",
    source="trl 1.16.0 generation/vllm_generation.py, 0.24.0 trainer/grpo_trainer.py, trainer/rloo_trainer.py (__init__)",
    releases=Releases((0, 22, 0)),
    bad=HEAD + "num_generations: 8\nuse_vllm: true\nvllm_mode: local\n",
    good=HEAD + "num_generations: 8\nuse_vllm: true\nvllm_mode: server\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/vllm_mode"},
)
def unknown_vllm_mode(config: TrlConfig) -> Iterator[Finding]:
    """`vllm_mode` is server or colocate."""
    yield from refused(config, "TRL068")
    args = config.arguments
    if (
        config.trl_version >= NEW_ENGINE
        and config.own_sampler
        and args["use_vllm"]
        and args.known("use_vllm", "vllm_mode")
        and args["vllm_mode"] not in VLLM_MODES
    ):
        mode = args["vllm_mode"]
        yield Finding(
            of(config, "vllm_mode"),
            f"`vllm_mode` is {shown(mode)}; it must be server or colocate",
            exception=f"ValueError: vllm_mode must be either 'server' or 'colocate', got {str(mode)!r}.",
            help=choice("vllm_mode", mode, VLLM_MODES),
        )


VLLM_MODES = ("server", "colocate")


@init_error(
    "TRL069",
    raises="ValueError: When using `sapo` loss, both `sapo_temperature_neg` and `sapo_temperature_pos` must be set.",
    source="trl 0.27.2 trainer/grpo_trainer.py (__init__)",
    releases=Releases((0, 26, 0), (0, 29, 0)),
    bad=HEAD + "num_generations: 8\nloss_type: sapo\nsapo_temperature_neg: null\n",
    good=HEAD + "num_generations: 8\nloss_type: sapo\n",
    example={"trainer": "grpo", "gpus": 8, "target": {"trl": "0.27.2"}, "at": "/sapo_temperature_neg"},
)
def missing_sapo_temperature(config: TrlConfig) -> Iterator[Finding]:
    """The loss sapo needs both of its temperatures, which have defaults."""
    return refused(config, "TRL069")


PRECOMPUTED: dict[str, Releases] = {"dpo": Releases((0, 7, 5), (0, 29, 0), "DPO"), "kto": Releases((0, 8, 0), (1, 3, 0), "KTO")}


@init_error(
    "TRL084",
    raises="ValueError: You cannot use `precompute_ref_log_probs=True` with Deepspeed ZeRO-3. Please set `precompute_ref_log_probs=False`.",
    source="trl 0.17.0 trainer/kto_trainer.py:768-773, 1.0.0 experimental/kto/kto_trainer.py:703-707, 0.28.0 trainer/dpo_trainer.py",
    bad={
        "train.yaml": HEAD + "precompute_ref_log_probs: true\ndeepspeed: ds.json\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}\n',
    },
    good={
        "train.yaml": HEAD + "precompute_ref_log_probs: true\ndeepspeed: ds.json\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    example={"trainer": "kto", "target": OLD, "gpus": 2, "at": "/precompute_ref_log_probs"},
    releases=tuple(PRECOMPUTED.values()),
)
def precomputed_reference_with_zero3(config: TrlConfig) -> Iterator[Finding]:
    """DPO and KTO of these releases cannot compute the reference's log probabilities in advance under ZeRO-3."""
    checks = config.only(*(name for name, releases in PRECOMPUTED.items() if config.trl_version in releases))
    if checks and zero_stage(config) == 3 and config.arguments["precompute_ref_log_probs"]:
        yield Finding(
            of(config, "precompute_ref_log_probs"),
            "`precompute_ref_log_probs` is incompatible with ZeRO-3",
            related=(of(config, "deepspeed"),),
            help="set `precompute_ref_log_probs: false`, or use ZeRO stage 2",
        )


@init_error(
    "TRL085",
    raises="TypeError: list indices must be integers or slices, not str",
    source="transformers 4.51.3 trainer.py:1770-1783 (`num_tokens`), 2294; trl 0.17.0 trainer/grpo_trainer.py (`data_collator`)",
    bad=HEAD + "num_generations: 8\nper_device_train_batch_size: 8\ninclude_tokens_per_second: true\n",
    good=HEAD + "num_generations: 8\nper_device_train_batch_size: 8\ninclude_num_input_tokens_seen: true\n",
    example={"trainer": "grpo", "target": OLD, "at": "/include_tokens_per_second"},
)
def tokens_of_generated_batches(config: TrlConfig) -> Iterator[Finding]:
    """`include_tokens_per_second` counts the tokens of the batches, and those of GRPO and RLOO are lists of prompts."""
    if config.own_sampler and config.arguments["include_tokens_per_second"]:
        yield Finding(
            of(config, "include_tokens_per_second"),
            f"`include_tokens_per_second` does not support {config.trainers[0].upper()}",
            help="set `include_tokens_per_second: false`",
        )


@config_error(
    "TRL086",
    raises="TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'",
    source="trl 0.17.0 trainer/utils.py:1108 (OnPolicyConfig); transformers 4.51.3 integrations/deepspeed.py:140",
    bad={
        "train.yaml": HEAD + "deepspeed: ds.json\n",
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    },
    good=HEAD,
    example={"trainer": "rloo", "target": OLD, "gpus": 2, "at": "/deepspeed"},
    releases=Releases((0, 9, 2), (0, 22, 0)),
)
def rloo_with_deepspeed(config: TrlConfig) -> Iterator[Finding]:
    """The RLOO configuration of old releases has a field `world_size`, null by default, which `deepspeed` multiplies.

    It hides the number of processes of `TrainingArguments`. Releases from 0.22 on have another RLOO trainer.
    """
    args = config.arguments
    if config.only("rloo") and args["deepspeed"] and args["world_size"] is None:
        yield Finding(
            of(config, "deepspeed"),
            "`deepspeed` is not supported by the RLOO configuration of this release",
            help="remove `deepspeed`, and have `accelerate launch` start DeepSpeed",
        )
