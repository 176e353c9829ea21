"""What the constructors of TRL's trainers refuse."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Example, Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.trl.batch import GENERATING, WITHOUT_KL, generating
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules.common import HEAD, KINDS, OLD, certain, of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.trl.config import TrlConfig

PACKING_STRATEGIES = ("bfd", "bfd_split", "wrapped", "bfd-requeue")
SFT_LOSSES = ("nll", "dft", "chunked_nll")
TRUNCATIONS = ("keep_start", "keep_end")
DIVERGENCE_LOSSES = ("sigmoid", "sigmoid_norm", "hinge", "ipo", "exo_pair", "robust", "discopop", "sft")
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
REENTRANT_CHOSEN = (5,)  # releases of transformers before which a trainer fills in use_reentrant itself


def losses(config: TrlConfig) -> list[object]:
    """DPO's losses as a list."""
    value = config.arguments["loss_type"]
    return list(value) if isinstance(value, (list, dict)) else [value]


def skips_preparation(config: TrlConfig) -> bool:
    """Whether SFT leaves the data as it is."""
    given = config.arguments["dataset_kwargs"]
    return isinstance(given, dict) and bool(given.get("skip_prepare_dataset"))


@rule(
    "TRL040",
    "packing-without-length",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: When packing is enabled, `max_length` can't be `None`.",
    bad=HEAD + "packing: true\nmax_length: null\n",
    good=HEAD + "packing: true\nmax_length: 4096\n",
    example={"trainer": "sft", "at": "/max_length"},
)
def packing_without_length(config: TrlConfig) -> Iterator[Finding]:
    """Packing cuts the data into blocks of `max_length` tokens, so it cannot be null.

    Run-time error: ``ValueError: When packing is enabled, `max_length` can't be `None`.``

    Fix: the length of a block.

    Source: trl 1.16.0 trainer/sft_trainer.py:1466-1468, 0.17.0 trainer/sft_trainer.py:624-626.
    """
    args = config.arguments
    name = "max_seq_length" if not config.modern and args["max_seq_length"] is not None else "max_length"
    if (
        config.only("sft", "gkd")
        and args["packing"]
        and args[name] is None
        and not skips_preparation(config)
        and args.known(name, "packing")
    ):
        yield Finding(
            of(config, name),
            "`packing` requires `max_length`",
            related=(of(config, "packing"),),
            help="set `max_length: 1024`, or set `packing: false`",
        )


@rule(
    "TRL041",
    "padding-free-with-length",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: When `padding_free=True` without packing, `max_length` is not enforced.",
    bad=HEAD + "padding_free: true\n",
    good=HEAD + "padding_free: true\npacking: true\n",
    example={"trainer": "sft", "at": "/padding_free"},
)
def padding_free_with_length(config: TrlConfig) -> Iterator[Finding]:
    """`padding_free` without `packing` requires `max_length: null`; it is 1024 when it is left out.

    Run-time error: ``ValueError: When `padding_free=True` without packing, `max_length` is not enforced. Either enable packing
    (e.g., `packing=True, packing_strategy='bfd'`), provide already truncated inputs, or set `max_length=None`.``

    Fix: `packing: true`, or `max_length: null` for data that is short enough already.

    Source: trl 1.16.0 trainer/sft_trainer.py:999-1005.
    """
    args = config.arguments
    if not config.modern or not config.only("sft") or not args["padding_free"] or args["packing"] or args["max_length"] is None:
        return
    if args.known("padding_free", "packing", "max_length"):
        message = f"`padding_free` without `packing` requires `max_length: null`, and it is {shown(args['max_length'])}"
        yield Finding(
            of(config, "padding_free"),
            message,
            related=(of(config, "max_length"),),
            severity=certain(config, "packing"),
            help="set `packing: true`, or set `max_length: null`",
        )


@rule(
    "TRL042",
    "invalid-sft-choice",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=(
        HEAD + "packing: true\npacking_strategy: ffd\n",
        Example(HEAD + "loss_type: nll2\n", "/loss_type", "ValueError: Invalid `loss_type` nll2"),
        Example(HEAD + "truncation_mode: left\n", "/truncation_mode", "ValueError: Unsupported truncation mode: left"),
    ),
    good=HEAD + "packing: true\npacking_strategy: bfd\n",
    example={"trainer": "sft", "at": "/packing_strategy"},
)
def invalid_sft_choice(config: TrlConfig) -> Iterator[Finding]:
    """`packing_strategy`, `loss_type` or `truncation_mode` of SFT is not a valid choice.

    The parser does not check the choices of a value that comes from a file. `packing_strategy` is only looked at with
    `packing`, `truncation_mode` only without it and with a `max_length`.

    Run-time error: ``ValueError: Invalid `loss_type` nll2 passed. Supported values are 'nll' and 'dft'.``, `ValueError: Invalid
    packing strategy 'ffd', must be one of ('bfd', 'bfd_split', 'wrapped').`, `ValueError: Unsupported truncation mode: left,
    expected 'keep_start' or 'keep_end'`.

    Fix: one of the values in the exception.

    Source: trl 1.16.0 trainer/sft_trainer.py:1042, 1440-1447, data_utils.py:895-898.
    """
    if not config.modern or not config.only("sft"):
        return
    args = config.arguments
    loss, strategy, mode = args["loss_type"], args["packing_strategy"], args["truncation_mode"]
    if loss not in SFT_LOSSES:
        text = f"ValueError: Invalid `loss_type` {loss} passed. Supported values are 'nll' and 'dft'."
        yield Finding(
            of(config, "loss_type"),
            f"`loss_type` is {shown(loss)}; for SFT it must be nll or dft",
            exception=text,
            help=choice("loss_type", loss, ("nll", "dft")),
        )
    if skips_preparation(config) or not args.known("packing", "max_length"):
        return
    packs = args["packing"] or (args["eval_packing"] and args.eval_strategy in ("steps", "epoch"))
    if packs and strategy not in PACKING_STRATEGIES and args["max_length"] is not None:
        text = f"ValueError: Invalid packing strategy {strategy!r}, must be one of ('bfd', 'bfd_split', 'wrapped')."
        message = f"`packing_strategy` is {shown(strategy)}; it must be one of bfd, bfd_split, wrapped"
        yield Finding(
            of(config, "packing_strategy"),
            message,
            exception=text,
            help=choice("packing_strategy", strategy, ("bfd", "bfd_split", "wrapped")),
        )
    if not args["packing"] and args["max_length"] is not None and mode not in TRUNCATIONS:
        text = f"ValueError: Unsupported truncation mode: {mode}, expected 'keep_start' or 'keep_end'"
        message = f"`truncation_mode` is {shown(mode)}; it must be keep_start or keep_end"
        yield Finding(
            of(config, "truncation_mode"),
            message,
            exception=text,
            severity=certain(config, "truncation_mode"),
            help=choice("truncation_mode", mode, ("keep_start", "keep_end")),
        )


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
    "TRL045",
    "liger-with-fused-loss",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=HEAD + "packing: true\nuse_liger_kernel: true\nliger_kernel_config: {fused_linear_cross_entropy: true}\n",
    good=HEAD + "packing: true\nuse_liger_kernel: true\n",
    example={"trainer": "sft", "at": "/liger_kernel_config"},
)
def liger_with_fused_loss(config: TrlConfig) -> Iterator[Finding]:
    """TRL's trainers have a fused loss of their own, and refuse Liger's.

    Run-time error: ``ValueError: `liger_kernel_config={"fused_linear_cross_entropy": True}` is not supported: it replaces the
    model's forward, which this trainer patches with a fused LM head.``

    Fix: leave `fused_linear_cross_entropy` out.

    Source: trl 1.16.0 trainer/sft_trainer.py:1125-1140, and the same in DPO, KTO, GRPO and RLOO.
    """
    given = config.arguments["liger_kernel_config"]
    patched = config.modern and config.only("sft", "dpo", "kto", "grpo", "rloo") and config.arguments["use_liger_kernel"]
    if patched and isinstance(given, dict) and given.get("fused_linear_cross_entropy"):
        text = 'ValueError: `liger_kernel_config={"fused_linear_cross_entropy": True}` is not supported: it replaces the model\'s forward'
        message = "`fused_linear_cross_entropy` of Liger is not supported by TRL's trainers"
        yield Finding(
            of(config, "liger_kernel_config"), message, exception=text, help="set `liger_kernel_config.fused_linear_cross_entropy: false`"
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
    "TRL050",
    "dpo-loss-combination",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=(
        HEAD + "loss_type: exo_pair\n",
        Example(HEAD + "loss_type: aot\nf_divergence_type: js_divergence\n", "/f_divergence_type", "ValueError: `f_divergence_type="),
        Example(HEAD + "loss_type: aot\nuse_weighting: true\n", "/use_weighting", "NotImplementedError: WPO-style weighting"),
        Example(HEAD + "loss_type: kto_pair\n", "/loss_type", "ValueError: Support for kto_pair", facts={"target": OLD}),
    ),
    good=HEAD + "loss_type: exo_pair\nlabel_smoothing: 0.001\n",
    example={"trainer": "dpo", "at": "/loss_type"},
)
def dpo_loss_combination(config: TrlConfig) -> Iterator[Finding]:
    """DPO's loss does not support another option.

    `exo_pair` requires `label_smoothing` above 0; `f_divergence_type` other than reverse_kl holds for sigmoid, sigmoid_norm,
    hinge, ipo, exo_pair, robust, discopop and sft; `use_weighting` is not there for aot and aot_unpaired.

    Run-time error: `ValueError: Label smoothing must be greater than 0.0 when using 'exo_pair' loss.`, ``ValueError:
    `f_divergence_type='js_divergence'` is only supported for the following loss types: [...]``, `NotImplementedError: WPO-style
    weighting is not implemented for 'aot' or 'aot_unpaired'`; 0.17.0: `ValueError: Support for kto_pair has been removed in
    DPOTrainer. Please use KTOTrainer.`

    Fix: another loss, or without the option.

    Source: trl 1.16.0 trainer/dpo_trainer.py:808-834; 0.17.0 trainer/dpo_trainer.py:424.
    """
    if not config.only("dpo"):
        return
    args, chosen, setting = config.arguments, losses(config), of(config, "loss_type")
    if not config.modern:
        if chosen == ["kto_pair"]:
            text = "ValueError: Support for kto_pair has been removed in DPOTrainer. Please use KTOTrainer."
            yield Finding(
                setting,
                "`loss_type: kto_pair` is not supported by DPO",
                exception=text,
                help="set `loss_type: sigmoid`, or train with the script `kto`",
            )
        return
    divergence = args["f_divergence_type"]
    if divergence != "reverse_kl" and not all(each in DIVERGENCE_LOSSES for each in chosen):
        text = (
            f"ValueError: `f_divergence_type={divergence!r}` is only supported for the following loss types: {sorted(DIVERGENCE_LOSSES)}."
        )
        message = f"`f_divergence_type: {divergence}` does not support the loss {named(chosen)}"
        severity = certain(config, "f_divergence_type", "loss_type")
        yield Finding(
            of(config, "f_divergence_type"),
            message,
            related=(setting,),
            exception=text,
            severity=severity,
            help="set `f_divergence_type: reverse_kl`, or another `loss_type`",
        )
    elif args["use_weighting"] and any(each in ("aot", "aot_unpaired") for each in chosen):
        text = "NotImplementedError: WPO-style weighting is not implemented for 'aot' or 'aot_unpaired'"
        message = f"`use_weighting` does not support the loss {named(chosen)}"
        yield Finding(
            of(config, "use_weighting"),
            message,
            related=(setting,),
            exception=text,
            help="set `use_weighting: false`, or another `loss_type`",
        )
    elif "exo_pair" in chosen and args["label_smoothing"] == 0.0:
        text = "ValueError: Label smoothing must be greater than 0.0 when using 'exo_pair' loss."
        message = "`loss_type: exo_pair` requires `label_smoothing` above 0"
        severity = certain(config, "label_smoothing")
        yield Finding(
            setting,
            message,
            related=(of(config, "label_smoothing"),),
            exception=text,
            severity=severity,
            help="set `label_smoothing: 0.1`, or another `loss_type`",
        )


def named(values: list[object]) -> str:
    """Values as a list in a message."""
    return ", ".join(map(str, values))


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

    Fix: a name of the release.

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
    "TRL052",
    "reference-model-not-synchronized",
    ERROR,
    kinds=KINDS,
    fails_at="init",
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
    ),
    good=HEAD + "num_generations: 8\nsync_ref_model: true\nbeta: 0.04\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/sync_ref_model"},
)
def reference_not_synchronized(config: TrlConfig) -> Iterator[Finding]:
    """`sync_ref_model` requires a reference model of its own.

    There is none with LoRA, with `precompute_ref_log_probs` (DPO, KTO), and none in GRPO and RLOO while `beta` is 0.0, which
    is GRPO's default.

    Run-time error: ``ValueError: You passed `sync_ref_model=True` while `beta=0.0`, which means the reference model is not used
    during training.``, ``NotImplementedError: You passed `sync_ref_model=True` while using a PEFT model, which is currently not
    supported.``, ``ValueError: You cannot use `sync_ref_model=True` together with `precompute_ref_log_probs=True`.``; 0.17.0
    (DPO): ``ValueError: You currently cannot use `ref_model=None` with TR-DPO method.``

    Fix: leave `sync_ref_model` out, or give `beta`.

    Source: trl 1.16.0 trainer/grpo_trainer.py:1190-1207, trainer/dpo_trainer.py:992-1010; 0.17.0 trainer/dpo_trainer.py:505-523.
    """
    args = config.arguments
    if not config.only("dpo", "kto", *GENERATING) or not args["sync_ref_model"]:
        return
    setting = of(config, "sync_ref_model")
    head = "You passed `sync_ref_model=True` while"
    if config.only(*GENERATING) and config.modern and args["beta"] == 0.0 and args.known("beta"):
        text = f"ValueError: {head} `beta=0.0`, which means the reference model is not used during training."
        yield Finding(
            setting,
            "`sync_ref_model` requires `beta` above 0",
            related=(of(config, "beta"),),
            exception=text,
            severity=certain(config, "beta"),
            help="set `beta: 0.04`, or set `sync_ref_model: false`",
        )
    elif config.modern and peft(config):
        text = f"NotImplementedError: {head} using a PEFT model, which is currently not supported."
        yield Finding(
            setting,
            "`sync_ref_model` does not support LoRA",
            related=(of(config, "use_peft"),),
            exception=text,
            help="set `sync_ref_model: false`, or set `use_peft: false`",
        )
    elif not config.modern and config.only("dpo") and (peft(config) or args["precompute_ref_log_probs"]):
        other = "use_peft" if peft(config) else "precompute_ref_log_probs"
        text = "ValueError: You currently cannot use `ref_model=None` with TR-DPO method. Please provide `ref_model`."
        yield Finding(
            setting,
            f"`sync_ref_model` is incompatible with `{other}`",
            related=(of(config, other),),
            exception=text,
            help=f"set `sync_ref_model: false`, or set `{other}: false`",
        )
    elif config.modern and config.only("dpo", "kto") and args["precompute_ref_log_probs"]:
        text = "ValueError: You cannot use `sync_ref_model=True` together with `precompute_ref_log_probs=True`."
        related = (of(config, "precompute_ref_log_probs"),)
        yield Finding(
            setting,
            "`sync_ref_model` is incompatible with `precompute_ref_log_probs`",
            related=related,
            exception=text,
            help="set `sync_ref_model: false`, or set `precompute_ref_log_probs: false`",
        )


@rule(
    "TRL053",
    "precompute-with-streaming",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="ValueError: `precompute_ref_log_probs=True` is not supported with IterableDataset.",
    bad=HEAD + "precompute_ref_log_probs: true\ndataset_streaming: true\nmax_steps: 100\n",
    good=HEAD + "precompute_ref_log_probs: true\n",
    example={"trainer": "dpo", "at": "/precompute_ref_log_probs"},
)
def precompute_with_streaming(config: TrlConfig) -> Iterator[Finding]:
    """`precompute_ref_log_probs` goes through the data once before training, and streamed data has no end.

    Run-time error: ``ValueError: `precompute_ref_log_probs=True` is not supported with IterableDataset. Please use a map-style
    Dataset or set `precompute_ref_log_probs=False`.``

    Fix: load the data, or leave one of the two out.

    Source: trl 1.16.0 trainer/dpo_trainer.py:1168-1173, trainer/kto_trainer.py.
    """
    if config.modern and config.only("dpo", "kto") and config.streams and config.arguments["precompute_ref_log_probs"]:
        key = "dataset_streaming" if config.arguments["dataset_streaming"] else "streaming"
        message = "`precompute_ref_log_probs` does not support streamed data"
        yield Finding(
            of(config, "precompute_ref_log_probs"),
            message,
            related=(of(config, key),),
            help=f"set `precompute_ref_log_probs: false`, or set `{key}: false`",
        )


@rule(
    "TRL054",
    "kto-batch",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=(
        HEAD + "desirable_weight: 1.0\nper_device_train_batch_size: 1\n",
        Example(HEAD + "train_sampling_strategy: random\n", "/train_sampling_strategy", "ValueError: Loss type `'kto'`"),
    ),
    good=HEAD + "desirable_weight: 1.0\nper_device_train_batch_size: 2\n",
    example={"trainer": "kto", "at": "/per_device_train_batch_size"},
)
def kto_batch(config: TrlConfig) -> Iterator[Finding]:
    """KTO's KL term pairs each sample with another of its micro batch: at least two of them, in the order of the data.

    Not for `loss_type: apo_zero_unpaired`, which has no KL term.

    Run-time error: `ValueError: Actual (not effective) batch size must be > 1. KTO will not work properably because the KL term
    will be equivalent to the implied reward.`, ``ValueError: Loss type `'kto'` estimates the KL divergence term and requires
    `train_sampling_strategy='sequential'` ``.

    Fix: a micro batch of 2 or more; leave `train_sampling_strategy` out.

    Source: trl 1.16.0 trainer/kto_trainer.py:837-849, 0.17.0 trainer/kto_trainer.py:640-646.
    """
    args = config.arguments
    if not config.only("kto") or args["loss_type"] == WITHOUT_KL:
        return
    micro, order = config.batch.micro_batch, args["train_sampling_strategy"]
    if config.modern and order != "sequential":
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
        text = "ValueError: Actual (not effective) batch size must be > 1. KTO will not work properly because the KL term will be "
        yield Finding(
            micro,
            "`per_device_train_batch_size` is 1; KTO requires at least 2",
            exception=f"{text}equivalent to the implied reward.",
            help="set `per_device_train_batch_size: 2` or more",
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

    Fix: `vllm_importance_sampling_mode: token_mask`.

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

    Fix: `torch_dtype`, `attn_implementation` and `model_revision` are keys of their own.

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
    "TRL059",
    "reward-length-missing",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="TypeError: '<=' not supported between instances of 'int' and 'NoneType'",
    bad=HEAD + "center_rewards_coefficient: 0.01\nmax_length: null\n",
    good=HEAD + "center_rewards_coefficient: 0.01\nmax_length: 1024\n",
    example={"trainer": "reward", "target": OLD, "at": "/max_length"},
)
def reward_length_missing(config: TrlConfig) -> Iterator[Finding]:
    """The reward trainer of old releases drops samples that are longer than `max_length`, so it cannot be null.

    Run-time error: `TypeError: '<=' not supported between instances of 'int' and 'NoneType'`.

    Fix: a length.

    Source: trl 0.17.0 trainer/reward_trainer.py:177, 220.
    """
    if not config.modern and config.only("reward") and config.arguments["max_length"] is None and config.arguments.known("max_length"):
        yield Finding(
            of(config, "max_length"),
            "`max_length` is null, and the reward trainer of this release requires a number",
            help="set `max_length: 1024`",
        )


@rule(
    "TRL061",
    "reward-adapter-task",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="AttributeError: 'LlamaForSequenceClassification' object has no attribute 'prepare_inputs_for_generation'",
    bad=HEAD + "center_rewards_coefficient: 0.01\nuse_peft: true\n",
    good=HEAD + "center_rewards_coefficient: 0.01\nuse_peft: true\nlora_task_type: SEQ_CLS\n",
    example={"trainer": "reward", "at": "/lora_task_type"},
)
def reward_adapter_task(config: TrlConfig) -> Iterator[Finding]:
    """A reward model with LoRA requires `lora_task_type: SEQ_CLS`; the default is CAUSAL_LM.

    An adapter for text generation expects a model that generates, and a reward model gives a number.

    Run-time error: `AttributeError: 'LlamaForSequenceClassification' object has no attribute 'prepare_inputs_for_generation'`.

    Fix: `lora_task_type: SEQ_CLS`.

    Source: trl 1.16.0 trainer/model_config.py:135-138, scripts/reward.py; peft 0.19.1 peft_model.py (PeftModelForCausalLM).
    """
    task = config.arguments["lora_task_type"]
    if config.modern and config.only("reward") and peft(config) and task in ("CAUSAL_LM", "SEQ_2_SEQ_LM"):
        setting, related = of(config, "lora_task_type"), (of(config, "use_peft"),)
        message = f'`lora_task_type` is {shown(task)}; a reward model with LoRA requires "SEQ_CLS"'
        yield Finding(setting, message, related=related, severity=certain(config, "lora_task_type"), help="set `lora_task_type: SEQ_CLS`")
