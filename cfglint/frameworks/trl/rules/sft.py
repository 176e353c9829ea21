"""Rules about values that `SFTTrainer` refuses."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, init_error
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import HEAD, TRUNCATIONS, certain, of, refused, shown
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import Iterator

# The releases with their valid values; trl 0.19.0, 0.20.0, 0.29.0, 1.0.0 data_utils.py (pack_dataset).
STRATEGIES: tuple[tuple[Releases, tuple[str, ...]], ...] = (
    (Releases((0, 19, 0), (0, 20, 0), "`packing_strategy`"), ("ffd", "wrapped")),
    (Releases((0, 20, 0), (0, 29, 0), "`packing_strategy`"), ("bfd", "wrapped")),
    (Releases((0, 29, 0), (1, 0, 0), "`packing_strategy`"), ("bfd", "bfd-requeue", "wrapped")),
    (Releases((1, 0, 0), of="`packing_strategy`"), ("bfd", "bfd_split", "wrapped")),
)
REQUEUE, REQUEUE_RENAMED = "bfd-requeue", (1, 0, 0)  # from 1.0 on another name of bfd_split
LOSSES: tuple[tuple[Releases, tuple[str, ...]], ...] = (
    (Releases((0, 23, 0), (1, 4, 0), "`loss_type`"), ("nll", "dft")),
    (Releases((1, 4, 0), (1, 15, 0), "`loss_type`"), ("nll", "dft", "chunked_nll")),
    (Releases((1, 15, 0), of="`loss_type`"), ("nll", "dft")),
)
CHUNKED = "chunked_nll"
CHUNKED_BY_DEFAULT = (1, 7, 0)  # from here on null is nll with Liger, else chunked_nll
TRUNCATION = Releases((1, 8, 0), of="`truncation_mode`, by the trainer")
COLLATED = Releases((1, 0, 0), (1, 8, 0), "`truncation_mode`, by the collator")
PACKS_INTO_BLOCKS = (0, 15, 0)  # from here on the trainer checks the length; before, from 0.10 on, null is replaced by at most 1024
UNCHECKED_LENGTH = Releases((0, 9, 2), (0, 10, 1), "`max_seq_length`, in an operation")


def skips_preparation(config: TrlConfig) -> bool:
    """Whether SFT leaves the data unchanged."""
    given = config.arguments["dataset_kwargs"]
    return isinstance(given, dict) and bool(given.get("skip_prepare_dataset"))


@init_error(
    "TRL040",
    source="trl 1.16.0 trainer/sft_trainer.py:1466-1468, 0.17.0 trainer/sft_trainer.py:624-626",
    releases=(UNCHECKED_LENGTH, Releases((0, 15, 0), (0, 16, 0), "`max_seq_length`"), Releases((0, 16, 0), of="`max_length`")),
    bad=(
        HEAD + "packing: true\nmax_length: null\n",
        Example(HEAD + "packing: true\n", "/max_seq_length", "TypeError: unsupported operand", facts={"target": {"trl": "0.9.6"}}),
        Example(
            HEAD + "packing: true\nmax_seq_length: null\n",
            "/max_seq_length",
            "ValueError: When packing is enabled, `max_seq_length`",
            facts={"target": {"trl": "0.15.2"}},
        ),
    ),
    good=HEAD + "packing: true\nmax_length: 4096\n",
    example={"trainer": "sft", "at": "/max_length"},
)
def packing_without_length(config: TrlConfig) -> Iterator[Finding]:
    """Packing cuts the data into blocks of `max_length` tokens (before 0.16 `max_seq_length`), so it cannot be null."""
    args = config.arguments
    name = "max_length" if "max_length" in args.fields.types else "max_seq_length"
    if config.trl_version < PACKS_INTO_BLOCKS:
        text = "TypeError: unsupported operand type(s) for *: 'NoneType' and 'float'"
    else:
        text = f"ValueError: When packing is enabled, `{name}` can't be `None`."
    if (
        config.only("sft", "gkd")
        and args["packing"]
        and args[name] is None
        and not skips_preparation(config)
        and args.known(name, "packing")
    ):
        yield Finding(
            of(config, name),
            f"`packing` requires `{name}`",
            related=(of(config, "packing"),),
            exception=text,
            help=f"set `{name}: 1024`, or set `packing: false`",
        )


@init_error(
    "TRL041",
    raises="ValueError: When `padding_free=True` without packing, `max_length` is not enforced.",
    source="trl 1.16.0 trainer/sft_trainer.py:999-1005",
    bad=HEAD + "padding_free: true\n",
    good=HEAD + "padding_free: true\npacking: true\n",
    example={"trainer": "sft", "at": "/padding_free"},
    releases=Releases((1, 0, 0)),
)
def padding_free_with_length(config: TrlConfig) -> Iterator[Finding]:
    """`padding_free` without `packing` requires `max_length: null`; it is 1024 when it is left out."""
    args = config.arguments
    if not config.only("sft") or not args["padding_free"] or args["packing"] or args["max_length"] is None:
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


@init_error(
    "TRL042",
    source="trl 1.16.0 trainer/sft_trainer.py:1042, 1440-1447, data_utils.py:895-898; 1.7.1 trainer/sft_trainer.py:479-487",
    bad=(
        HEAD + "packing: true\npacking_strategy: ffd\n",
        Example(HEAD + "loss_type: nll2\n", "/loss_type", "ValueError: Invalid `loss_type` nll2"),
        Example(HEAD + "truncation_mode: left\n", "/truncation_mode", "ValueError: Unsupported truncation mode: left"),
        Example(
            HEAD + "truncation_mode: left\n",
            "/truncation_mode",
            "ValueError: Unsupported truncation mode: left",
            facts={"target": {"trl": "1.7.1"}},
        ),
        Example(
            HEAD + "packing: true\npacking_strategy: bfd\n",
            "/packing_strategy",
            "ValueError: Invalid packing strategy: bfd. Use 'ffd' or 'wrapped'.",
            facts={"target": {"trl": "0.19.1"}},
        ),
    ),
    releases=(*(each for each, _ in STRATEGIES), *(each for each, _ in LOSSES), COLLATED, TRUNCATION),
    good=HEAD + "packing: true\npacking_strategy: bfd\n",
    example={"trainer": "sft", "at": "/packing_strategy"},
)
def invalid_sft_choice(config: TrlConfig) -> Iterator[Finding]:
    """`packing_strategy`, `loss_type` or `truncation_mode` of SFT is not a valid choice.

    The parser does not check the choices of a value that comes from a file. `packing_strategy` is only looked at with
    `packing`, `truncation_mode` only without it and with a `max_length`; before 1.8 that is at the first step.
    """
    yield from refused(config, "TRL042")
    if not config.only("sft"):
        return
    args, release = config.arguments, config.trl_version
    strategy, mode = args["packing_strategy"], args["truncation_mode"]
    if skips_preparation(config) or not args.known("packing", "max_length"):
        return
    packs = args["packing"] or (args["eval_packing"] and args.eval_strategy in ("steps", "epoch"))
    known = valid(STRATEGIES, release)
    renamed = strategy == REQUEUE and release >= REQUEUE_RENAMED
    if packs and known and strategy not in known and not renamed and args["max_length"] is not None:
        message = f"`packing_strategy` is {shown(strategy)}; it must be one of {', '.join(known)}"
        yield Finding(
            of(config, "packing_strategy"),
            message,
            exception=strategy_exception(strategy, known, release),
            help=choice("packing_strategy", strategy, known),
        )
    collated = release in COLLATED and not args["padding_free"]
    if (collated or release in TRUNCATION) and not args["packing"] and args["max_length"] is not None and mode not in TRUNCATIONS:
        text = f"ValueError: Unsupported truncation mode: {mode}, expected 'keep_start' or 'keep_end'"
        message = f"`truncation_mode` is {shown(mode)}; it must be keep_start or keep_end"
        yield Finding(
            of(config, "truncation_mode"),
            message,
            exception=text,
            severity=certain(config, "truncation_mode"),
            fails_at="first-step" if collated else None,
            help=choice("truncation_mode", mode, TRUNCATIONS),
        )


def valid(history: tuple[tuple[Releases, tuple[str, ...]], ...], release: Version) -> tuple[str, ...]:
    """The valid values of a release; empty if it has no such field."""
    return next((values for releases, values in history if release in releases), ())


def strategy_exception(strategy: object, known: tuple[str, ...], release: Version) -> str:
    """The exception of a release for an unknown packing strategy."""
    if release >= (1, 0, 0):
        return f"ValueError: Invalid packing strategy {strategy!r}, must be one of {known}."
    words = [repr(each) for each in known]
    named = f"{words[0]} or {words[1]}" if len(words) == 2 else f"{', '.join(words[:-1])}, or {words[-1]}"
    return f"ValueError: Invalid packing strategy: {strategy}. Use {named}."


CHUNKED_RELEASES = Releases((1, 4, 0), (1, 15, 0))


@init_error(
    "TRL062",
    source="trl 1.4.0 trainer/sft_trainer.py:1236-1276",
    releases=CHUNKED_RELEASES,
    bad=(
        HEAD + "loss_type: chunked_nll\nuse_liger_kernel: true\n",
        Example(
            HEAD + "use_peft: true\nlora_target_modules: [q_proj, lm_head]\n",
            "/lora_target_modules",
            "ValueError: `loss_type='chunked_nll'` is not supported",
        ),
    ),
    good=HEAD + "loss_type: chunked_nll\n",
    example={"trainer": "sft", "target": {"trl": "1.8.0"}, "at": "/loss_type"},
)
def chunked_loss(config: TrlConfig) -> Iterator[Finding]:
    """`loss_type: chunked_nll` of these releases supports neither Liger nor a LoRA adapter on `lm_head`.

    From 1.6 on it is the default, unless `use_liger_kernel` is on.
    """
    yield from refused(config, "TRL062")
    args = config.arguments
    if not config.only("sft") or not args.known("loss_type", "use_liger_kernel"):
        return
    chunked = args["loss_type"] == CHUNKED or (
        args["loss_type"] is None and config.trl_version >= CHUNKED_BY_DEFAULT and not args["use_liger_kernel"]
    )
    if chunked and not args["use_liger_kernel"] and peft(config) and adapts_head(args["lora_target_modules"]):
        text = "ValueError: `loss_type='chunked_nll'` is not supported when `lm_head` is wrapped by a PEFT adapter"
        message = "`lora_target_modules` contains lm_head, which the loss chunked_nll does not support"
        related, remedy = (of(config, "loss_type"),), "set `loss_type: nll`, or remove lm_head from `lora_target_modules`"
        yield Finding(of(config, "lora_target_modules"), message, related=related, exception=text, help=remedy)


def adapts_head(modules: object) -> bool:
    """Whether LoRA's target modules contain the output layer."""
    return isinstance(modules, list) and "lm_head" in modules


@init_error(
    "TRL045",
    source="trl 1.16.0 trainer/sft_trainer.py:1125-1140, and the same in DPO, KTO, GRPO and RLOO",
    bad=HEAD + "packing: true\nuse_liger_kernel: true\nliger_kernel_config: {fused_linear_cross_entropy: true}\n",
    good=HEAD + "packing: true\nuse_liger_kernel: true\n",
    example={"trainer": "sft", "at": "/liger_kernel_config"},
    releases=Releases((1, 15, 0)),
)
def liger_with_fused_loss(config: TrlConfig) -> Iterator[Finding]:
    """TRL's trainers have a fused loss of their own, and refuse Liger's."""
    given = config.arguments["liger_kernel_config"]
    patched = config.only("sft", "dpo", "kto", "grpo", "rloo") and config.arguments["use_liger_kernel"]
    if patched and isinstance(given, dict) and given.get("fused_linear_cross_entropy"):
        text = 'ValueError: `liger_kernel_config={"fused_linear_cross_entropy": True}` is not supported: it replaces the model\'s forward'
        message = "`fused_linear_cross_entropy` of Liger is not supported by TRL's trainers"
        yield Finding(
            of(config, "liger_kernel_config"), message, exception=text, help="set `liger_kernel_config.fused_linear_cross_entropy: false`"
        )
