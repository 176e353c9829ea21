"""Rules about values that `SFTTrainer` refuses."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Example, Finding, rule
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.trl.rules.common import HEAD, KINDS, certain, of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.trl.config import TrlConfig

PACKING_STRATEGIES = ("bfd", "bfd_split", "wrapped", "bfd-requeue")
SFT_LOSSES = ("nll", "dft", "chunked_nll")
TRUNCATIONS = ("keep_start", "keep_end")


def skips_preparation(config: TrlConfig) -> bool:
    """Whether SFT leaves the data unchanged."""
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

    Fix: use the length of a block.

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

    Fix: set `packing: true`, or `max_length: null` for data that is short enough already.

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

    Fix: use one of the values in the exception.

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
