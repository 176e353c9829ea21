"""Rules about values that the constructors of several of TRL's trainers refuse."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.huggingface.batch import no_length, wanted_steps
from cfglint.frameworks.huggingface.rules import unlisted
from cfglint.frameworks.huggingface.rules.program_code import trainer_call
from cfglint.frameworks.huggingface.trainer_options import LOADING, refusals
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import NEW_ENGINE, TRUNCATIONS, losses, of, refused, unknown_truncation
from cfglint.source.annotations import Iterator

VLLM_MODES = ("server", "colocate")
# The releases that have a loss, since `loss_type` is a field; trl trainer/dpo_trainer.py (dpo_loss, _compute_loss) of each release.
DPO_LOSSES: dict[str, Releases] = {
    **dict.fromkeys(("sigmoid", "hinge", "ipo"), Releases()),
    "exo_pair": Releases((0, 9, 6)),
    **dict.fromkeys(("nca_pair", "robust", "bco_pair", "sppo_hard"), Releases()),
    "aot": Releases((0, 9, 6)),
    "aot_pair": Releases((0, 9, 6), (0, 28, 0)),
    "aot_unpaired": Releases((0, 28, 0)),
    **dict.fromkeys(("apo_zero", "apo_down"), Releases((0, 10, 1))),
    "discopop": Releases((0, 13, 0)),
    "sft": Releases((0, 20, 0)),
    "sigmoid_norm": Releases((1, 4, 0)),
}
GRPO_LOSSES: dict[str, Releases] = {
    **dict.fromkeys(("grpo", "bnpo", "dr_grpo"), Releases()),
    "dapo": Releases((0, 22, 0)),
    **dict.fromkeys(("cispo", "sapo"), Releases((0, 26, 0))),
    "luspo": Releases((0, 28, 0)),
    "vespo": Releases((1, 0, 0)),
}
KTO_PAIR, KTO_PAIR_REFUSED = "kto_pair", Releases((0, 9, 6), (0, 29, 0))  # another rule reports it


@rule("TRL043")
def selective_checkpointing(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    given = args["gradient_checkpointing_kwargs"]
    if not config.only("sft") or not isinstance(given, dict) or not given.get("selective"):
        return
    setting = of(config, "gradient_checkpointing_kwargs")
    head = "ValueError: `gradient_checkpointing_kwargs={'selective': True}`"
    if not args.checkpointing:
        text, message = f"{head} requires `gradient_checkpointing=True`.", "`selective` requires `gradient_checkpointing`"
        remedy = set_key("gradient_checkpointing", True) | remove_key("gradient_checkpointing_kwargs")
        yield Finding(setting, message, related=(of(config, "gradient_checkpointing"),), exception=text, help=remedy)
    elif peft(config) and uses_zero3(config):
        text, message = f"{head} is not supported with PEFT + DeepSpeed ZeRO-3", "`selective` does not support ZeRO-3 with LoRA"
        remedy = remove_key("gradient_checkpointing_kwargs.selective") | "use ZeRO stage 2"
        yield Finding(setting, message, related=(of(config, "use_peft"),), exception=text, help=remedy)
    elif given.get("use_reentrant"):
        text, message = f"{head} requires non-reentrant gradient checkpointing.", "`selective` is incompatible with `use_reentrant: true`"
        yield Finding(setting, message, exception=text, help=set_key("gradient_checkpointing_kwargs.use_reentrant", False))


def uses_zero3(config: TrlConfig) -> bool:
    return config.deepspeed is not None and bool(config.deepspeed.stage == 3)


@rule("TRL044")
def streaming_without_steps(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    limit = args["max_steps"]
    if not config.streams or not isinstance(limit, (int, float)) or limit > 0 or not config.parsed or not args.known("max_steps"):
        return
    if config.facts.kind_given or config.facts.trainer is not None:
        message, text, unset = "`max_steps` is required: streamed data has no length", no_length(config.version), config.unset("max_steps")
        related = (of(config, "max_steps"),)
        setting = of(config, config.streaming_key)
        yield Finding(setting, message, exception=text, related=related, depends_on=unset, help=wanted_steps(config))


FUSED_LOSS = (1, 15, 0)  # from here on the head's weight is always read by the loss
LIGER_HEAD: dict[str, Releases] = {
    "dpo": Releases((1, 8, 0), FUSED_LOSS, "DPO with `use_liger_kernel`"),
    "kto": Releases((1, 8, 0), FUSED_LOSS, "KTO with `use_liger_kernel`"),
    "grpo": Releases((1, 7, 0), FUSED_LOSS, "GRPO with `use_liger_kernel`"),
}


@rule("TRL046")
def adapter_on_output_layer(config: TrlConfig) -> Iterator[Finding]:
    args, release = config.arguments, config.trl_version
    modules = args["lora_target_modules"]
    if not peft(config) or not isinstance(modules, list) or "lm_head" not in modules:
        return
    if release >= FUSED_LOSS and config.only("sft", "dpo", "kto", "grpo", "rloo"):
        text, related = "ValueError: Applying a PEFT adapter to `lm_head` is not supported", (of(config, "use_peft"),)
    elif config.checked_in(LIGER_HEAD) and args["use_liger_kernel"]:
        text = "ValueError: `use_liger_kernel=True` is incompatible with applying a PEFT adapter to `lm_head`."
        related = (of(config, "use_liger_kernel"),)
    else:
        return
    message = "`lora_target_modules` contains lm_head, which is not supported"
    advice = "remove lm_head from `lora_target_modules`"
    yield Finding(of(config, "lora_target_modules"), message, related=related, exception=text, help=advice)


LIST_OF_LOSSES = (0, 29, 0)  # DPO counts its losses when it is built (trl 1.16.0 dpo_config.py:360, dpo_trainer.py:804)
LOSS_METHODS = frozenset(("compute_loss", "_compute_loss", "dpo_loss", "get_batch_loss_metrics"))  # which look the loss up


@rule("TRL051")
def unknown_loss(config: TrlConfig) -> Iterator[Finding]:
    table = DPO_LOSSES if config.only("dpo") else GRPO_LOSSES if config.only("grpo") else {}
    known = tuple(name for name, releases in table.items() if config.trl_version in releases)
    if not known or (KTO_PAIR in losses(config) and config.trl_version in KTO_PAIR_REFUSED and config.only("dpo")):
        return
    unknown = [loss for loss in losses(config) if loss not in known]
    program = config.facts.launch.program
    if program is not None and not LOSS_METHODS.isdisjoint(program.own_methods):  # which may have losses of its own
        return
    if unknown and config.arguments.known("loss_type"):
        is_counted = config.only("dpo") and config.arguments["loss_type"] is None and config.trl_version >= LIST_OF_LOSSES
        text = "TypeError: object of type 'NoneType' has no len()" if is_counted else f"ValueError: Unknown loss type: {unknown[0]}"
        finding = unlisted(config, "loss_type", unknown[0], ", which is not a loss of this trainer", known, text)
        if is_counted:
            finding.fails_at = "config" if config.arguments["loss_weights"] else "init"
        yield finding


@rule("TRL087")
def unknown_truncation_mode(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if not config.only("dpo") or not args.known("truncation_mode", "max_length") or args["max_length"] is None:
        return
    if args["truncation_mode"] not in TRUNCATIONS:
        yield unknown_truncation(config, "max_length")


@rule("TRL055")
def streaming_dispatch(config: TrlConfig) -> Iterator[Finding]:
    if config.own_sampler and config.streams and config.accelerator.get("dispatch_batches"):
        setting = config.setting("accelerator_config", "dispatch_batches")
        message = "`dispatch_batches` is true; streamed data requires false"
        remedy = set_key("accelerator_config.dispatch_batches", False)
        yield Finding(setting, message, related=(of(config, "dataset_streaming"),), help=remedy)


@rule("TRL057")
def reward_weights_length(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    weights, functions = args["reward_weights"], args["reward_funcs"]
    if not config.own_sampler or not isinstance(weights, list) or not isinstance(functions, list) or not functions:
        return
    count = len(functions) + bool(args["reward_model_name_or_path"])
    if len(weights) != count:
        text = f"ValueError: Number of reward weights ({len(weights)}) must match number of reward functions ({count})"
        message = f"`reward_weights` has {counted(len(weights), 'weight')} for {counted(count, 'reward function')}"
        advice = f"write {counted(count, 'weight')}"
        yield Finding(of(config, "reward_weights"), message, related=(of(config, "reward_funcs"),), exception=text, help=advice)


@rule("TRL058")
def model_options_for_instance(config: TrlConfig) -> Iterator[Finding]:
    trainer, args = f"{config.trainers[0].upper()}Trainer", config.arguments
    call = trainer_call(config, trainer)
    models = call.models if call is not None else ("a name" if trainer == "SFTTrainer" else "an object",) * 2  # in scripts of TRL
    known = {name: args[name] for name, _ in LOADING if config.has_field(name) and args.known(name) and len(config.trainers) == 1}
    for name, text, doubts in refusals(trainer, config.trl_version, models, known.get):
        message = f"`{name}` is not accepted: the {'program' if call is not None else 'script'} loads the model itself"
        yield Finding(of(config, name), message, exception=text, help=remove_key(name), depends_on=(*config.rest, *doubts))


ITERABLE = {"grpo": Releases((0, 17, 0), (1, 9, 0), "GRPO"), "rloo": Releases((0, 22, 0), (1, 9, 0), "RLOO")}


@rule("TRL065")
def streaming_not_supported(config: TrlConfig) -> Iterator[Finding]:
    if config.checked_in(ITERABLE) and config.streams and len(config.trainers) == 1:
        key, name = config.streaming_key, config.trainers[0].upper()
        text = f"NotImplementedError: Iterable datasets are not yet supported in {name}Trainer. Please use a standard dataset instead."
        yield Finding(of(config, key), f"streamed data is not supported by {name}", exception=text, help=set_key(key, False))


LAYER_ENDS = ("_proj", "query_key_value", "c_attn", "c_proj", "out_proj", "Wqkv", "fc1", "fc2", "lin1", "lin2")  # of inner layers


@rule("TRL066")
def single_lora_target(config: TrlConfig) -> Iterator[Finding]:
    modules = config.arguments["lora_target_modules"]
    name = modules[0] if isinstance(modules, list) and len(modules) == 1 else modules
    if peft(config) and isinstance(name, str) and name.isidentifier() and name.endswith(LAYER_ENDS):
        text = f"ValueError: Target modules {name} not found in the base model. Please check the target modules and try again."
        message = f"`lora_target_modules` has a single name, {name}, which is a pattern for the complete name of a module"
        remedy = set_key("lora_target_modules", f".*{name}")
        yield Finding(of(config, "lora_target_modules"), message, related=(of(config, "use_peft"),), exception=text, help=remedy)


@rule("TRL068")
def unknown_vllm_mode(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL068")
    args = config.arguments
    applies = config.trl_version >= NEW_ENGINE and config.own_sampler and args["use_vllm"] and args.known("use_vllm", "vllm_mode")
    if applies and args["vllm_mode"] not in VLLM_MODES:
        text = f"ValueError: vllm_mode must be either 'server' or 'colocate', got {str(args['vllm_mode'])!r}."
        yield unlisted(config, "vllm_mode", args["vllm_mode"], "; it must be server or colocate", VLLM_MODES, text)


PRECOMPUTED: dict[str, Releases] = {"dpo": Releases((0, 7, 5), (0, 29, 0), "DPO"), "kto": Releases((0, 8, 0), (1, 3, 0), "KTO")}


@rule("TRL084")
def precomputed_reference_with_zero3(config: TrlConfig) -> Iterator[Finding]:
    if config.checked_in(PRECOMPUTED) and uses_zero3(config) and config.arguments["precompute_ref_log_probs"]:
        message = "`precompute_ref_log_probs` is incompatible with ZeRO-3"
        remedy = set_key("precompute_ref_log_probs", False) | "use ZeRO stage 2"
        yield Finding(of(config, "precompute_ref_log_probs"), message, related=(of(config, "deepspeed"),), help=remedy)


@rule("TRL085")
def tokens_of_generated_batches(config: TrlConfig) -> Iterator[Finding]:
    if config.own_sampler and config.arguments["include_tokens_per_second"]:
        message = f"`include_tokens_per_second` does not support {config.trainers[0].upper()}"
        yield Finding(of(config, "include_tokens_per_second"), message, help=set_key("include_tokens_per_second", False))


@rule("TRL086")
def rloo_with_deepspeed(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if config.only("rloo") and args["deepspeed"] and args["world_size"] is None:
        message = "`deepspeed` is not supported by the RLOO configuration of this release"
        yield Finding(of(config, "deepspeed"), message, help="remove `deepspeed`, and have `accelerate launch` start DeepSpeed")
