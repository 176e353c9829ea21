"""Rules about values that `SFTTrainer` refuses."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import TRUNCATIONS, of, refused, shown
from cfglint.source.annotations import Iterator

# The releases with their valid values; trl 0.19.0, 0.20.0, 0.29.0, 1.0.0 data_utils.py (pack_dataset).
STRATEGIES: tuple[tuple[Releases, tuple[str, ...]], ...] = (
    (Releases((0, 19, 0), (0, 20, 0), "`packing_strategy`"), ("ffd", "wrapped")),
    (Releases((0, 20, 0), (0, 29, 0), "`packing_strategy`"), ("bfd", "wrapped")),
    (Releases((0, 29, 0), (1, 0, 0), "`packing_strategy`"), ("bfd", "bfd-requeue", "wrapped")),
    (Releases((1, 0, 0), of="`packing_strategy`"), ("bfd", "bfd_split", "wrapped")),
)
REQUEUE, REQUEUE_RENAMED = "bfd-requeue", (1, 0, 0)  # from 1.0 on another name of bfd_split
CHUNKED = "chunked_nll"
CHUNKED_BY_DEFAULT = (1, 7, 0)  # from here on null is nll with Liger, else chunked_nll
TRUNCATION = Releases((1, 8, 0), of="`truncation_mode`, by the trainer")
COLLATED = Releases((1, 0, 0), (1, 8, 0), "`truncation_mode`, by the collator")
PACKS_INTO_BLOCKS = (0, 15, 0)  # from here on the trainer checks the length; before, from 0.10 on, null is replaced by at most 1024


def skips_preparation(config: TrlConfig) -> bool:
    argument = config.arguments["dataset_kwargs"]
    return isinstance(argument, dict) and bool(argument.get("skip_prepare_dataset"))


@rule("TRL040")
def packing_without_length(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    name = "max_length" if "max_length" in args.fields.types else "max_seq_length"
    if config.trl_version < PACKS_INTO_BLOCKS:
        text = "TypeError: unsupported operand type(s) for *: 'NoneType' and 'float'"
    else:
        text = f"ValueError: When packing is enabled, `{name}` can't be `None`."
    packs = config.only("sft", "gkd") and args["packing"] and not skips_preparation(config)
    if packs and args[name] is None and args.known(name, "packing"):
        remedy = set_key(name, 1024) | set_key("packing", False)
        yield Finding(of(config, name), f"`packing` requires `{name}`", related=(of(config, "packing"),), exception=text, help=remedy)


@rule("TRL041")
def padding_free_with_length(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if not config.only("sft") or not args["padding_free"] or args["packing"] or args["max_length"] is None:
        return
    if args.known("padding_free", "packing", "max_length"):
        message = f"`padding_free` without `packing` requires `max_length: null`, and it is {shown(args['max_length'])}"
        related = (of(config, "max_length"),)
        remedy = set_key("packing", True) | set_key("max_length", None)
        yield Finding(of(config, "padding_free"), message, related=related, depends_on=config.unset("packing"), help=remedy)


@rule("TRL042")
def invalid_sft_choice(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL042")
    if not config.only("sft"):
        return
    args, release = config.arguments, config.trl_version
    strategy, mode = args["packing_strategy"], args["truncation_mode"]
    if skips_preparation(config) or not args.known("packing", "max_length"):
        return
    packs = args["packing"] or (args["eval_packing"] and args.eval_strategy in ("steps", "epoch"))
    known = next((values for releases, values in STRATEGIES if release in releases), ())
    renamed = strategy == REQUEUE and release >= REQUEUE_RENAMED
    if packs and known and strategy not in known and not renamed and args["max_length"] is not None:
        message = f"`packing_strategy` is {shown(strategy)}; it must be one of {', '.join(known)}"
        exception = strategy_exception(strategy, known, release)
        yield Finding(of(config, "packing_strategy"), message, exception=exception, help=choice("packing_strategy", strategy, known))
    collated = release in COLLATED and not args["padding_free"]
    if (collated or release in TRUNCATION) and not args["packing"] and args["max_length"] is not None and mode not in TRUNCATIONS:
        text = f"ValueError: Unsupported truncation mode: {mode}, expected 'keep_start' or 'keep_end'"
        message = f"`truncation_mode` is {shown(mode)}; it must be keep_start or keep_end"
        remedy, reasons = choice("truncation_mode", mode, TRUNCATIONS), config.unset("truncation_mode")
        finding = Finding(of(config, "truncation_mode"), message, exception=text, depends_on=reasons, help=remedy)
        finding.fails_at = "first-step" if collated else None
        yield finding


def strategy_exception(strategy: object, known: tuple[str, ...], release: Version) -> str:
    """The exception of a release for an unknown packing strategy."""
    if release >= (1, 0, 0):
        return f"ValueError: Invalid packing strategy {strategy!r}, must be one of {known}."
    words = [repr(each) for each in known]
    named = f"{words[0]} or {words[1]}" if len(words) == 2 else f"{', '.join(words[:-1])}, or {words[-1]}"
    return f"ValueError: Invalid packing strategy: {strategy}. Use {named}."


@rule("TRL062")
def chunked_loss(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL062")
    args = config.arguments
    if not config.only("sft") or args["use_liger_kernel"] or not args.known("loss_type", "use_liger_kernel"):
        return
    chunked = args["loss_type"] == CHUNKED or (args["loss_type"] is None and config.trl_version >= CHUNKED_BY_DEFAULT)
    modules = args["lora_target_modules"]
    if chunked and peft(config) and isinstance(modules, list) and "lm_head" in modules:
        text = "ValueError: `loss_type='chunked_nll'` is not supported when `lm_head` is wrapped by a PEFT adapter"
        message = "`lora_target_modules` contains lm_head, which the loss chunked_nll does not support"
        related, remedy = (of(config, "loss_type"),), set_key("loss_type", "nll") | "remove lm_head from `lora_target_modules`"
        yield Finding(of(config, "lora_target_modules"), message, related=related, exception=text, help=remedy)


@rule("TRL045")
def liger_with_fused_loss(config: TrlConfig) -> Iterator[Finding]:
    argument = config.arguments["liger_kernel_config"]
    patched = config.only("sft", "dpo", "kto", "grpo", "rloo") and config.arguments["use_liger_kernel"]
    if patched and isinstance(argument, dict) and argument.get("fused_linear_cross_entropy"):
        text = 'ValueError: `liger_kernel_config={"fused_linear_cross_entropy": True}` is not supported: it replaces the model\'s forward'
        message = "`fused_linear_cross_entropy` of Liger is not supported by TRL's trainers"
        remedy = set_key("liger_kernel_config.fused_linear_cross_entropy", False)
        yield Finding(of(config, "liger_kernel_config"), message, exception=text, help=remedy)
