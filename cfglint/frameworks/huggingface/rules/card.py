"""What the Trainer, torch and its kernels refuse on a card, or do more slowly. Imported only if the card of a run is known."""

from __future__ import annotations

from cfglint.batch.cards import CPU, Card
from cfglint.findings.rule import VALUE, Example, Finding, config_error, first_step_error, warning
from cfglint.frameworks.card_support import emulates_bf16, has_bf16, has_tf32, lacks_kernels, torch_has_bf16, torch_in_words, torch_release
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of
from cfglint.frameworks.versions import Version, dotted
from cfglint.source.annotations import Iterator

HALF = ("bf16", "bf16_full_eval")
ASKS_TORCH = (4, 35)  # before it, transformers itself looks at the compute capability
CHECKS_CUDA_ONLY = (4, 52)  # before it, TrainingArguments checks bf16 only where there is a CUDA device
ASKS_FOR_CPU = (5, 0)
OLD_TORCH = {"torch": "2.2.2"}


def card_of(config: TrainerConfig) -> Card:
    """The card of a run, which these rules are only imported for."""
    assert config.facts.card is not None
    return config.facts.card


@config_error(
    "GPU200",
    raises="ValueError: --tf32 requires Ampere or a newer GPU arch, cuda>=11 and torch>=1.7",
    source="transformers 5.23.0 training_args.py:1682, utils/import_utils.py:722 (is_torch_tf32_available)",
    bad=("output_dir: out\ntf32: true\n", Example("output_dir: out\ntf32: true\n", facts={"gpu": "MI300X"})),
    good="output_dir: out\ntf32: false\n",
    example={"gpu": "T4", "at": "/tf32"},
    about=VALUE,
)
def tf32_unsupported(config: TrainerConfig) -> Iterator[Finding]:
    """`tf32: true` on a card without TF32.

    TrainingArguments requires a CUDA device of compute capability 8.0 (Ampere) or newer.
    The card is that of `--gpu`, of `gpu` in the configuration or of the launch. This does not depend on the release of torch.
    """
    if config.facts.card is None or config.arguments["tf32"] is not True or has_tf32(config.facts.card) is not False:
        return
    yield Finding(
        of(config, "tf32"),
        f"`tf32` requires compute capability 8.0, and the card is {config.facts.card.described}",
        help="set `tf32: false`",
    )


@config_error(
    "GPU201",
    raises="ValueError: Your setup doesn't support bf16/gpu.",
    source="transformers 5.23.0 training_args.py:1778, 4.51.3 training_args.py:1705; torch 2.2.2 cuda/__init__.py:144 (is_bf16_supported)",
    bad=(
        "output_dir: out\nbf16: true\n",
        Example("output_dir: out\nbf16: true\n", facts={"gpu": "T4", "target": {"transformers": "4.46.3", **OLD_TORCH}}),
        Example("output_dir: out\nbf16: true\n", facts={"gpu": "cpu"}),
    ),
    good="output_dir: out\nfp16: true\n",
    example={"gpu": "V100", "target": OLD_TORCH, "at": "/bf16"},
)
def bf16_unsupported(config: TrainerConfig) -> Iterator[Finding]:
    """bf16 on a card where torch says that bf16 is not supported.

    Up to 2.2, torch requires compute capability 8.0 (Ampere). From 2.3 on it emulates bf16 on older cards, and TrainingArguments accepts
    them. From transformers 4.52 on, a machine without a GPU is refused as well, unless `use_cpu` is set.
    """
    name = refused_half(config)
    if name is None:
        return
    card, torch = card_of(config), torch_release(config.facts)
    text = f"requires a GPU that supports it, and the device is {card.name}"
    if card.is_cuda:
        with_torch = f" with torch {dotted(torch)}" if torch is not None and config.version >= ASKS_TORCH else ""
        text = f"requires compute capability 8.0{with_torch}, and the card is {card.described}"
    text = f"`{config.arguments.written(name)}` {text}"
    yield Finding(of(config, name), text, exception=refusal(config.version, card), help=remedy(name, card))


def refused_half(config: TrainerConfig) -> str | None:
    """The field that turns bf16 on, where TrainingArguments refuses it on the card."""
    card, version = config.facts.card, config.version
    name = next((each for each in HALF if config.arguments[each] is True), None)
    if card is None or name is None or config.arguments["use_cpu"]:
        return None
    if version < CHECKS_CUDA_ONLY and not card.is_cuda:
        return None
    return name if has_bf16(card, torch_release(config.facts), version) is False else None


def remedy(name: str, card: Card) -> str:
    """What to write in the place of bf16."""
    if card.device == CPU:
        return "set `use_cpu: true`"
    return f"set `{name.replace('bf16', 'fp16')}: true` and `{name}: false`" if card.is_cuda else f"set `{name}: false`"


def refusal(release: Version, card: Card) -> str:
    """The text of TrainingArguments in a release."""
    text = "ValueError: Your setup doesn't support bf16/gpu."
    if release < CHECKS_CUDA_ONLY:
        return f"{text} You need torch>=1.10, using Ampere GPU with cuda>=11.0"
    text += " You need to assign use_cpu if you want to train the model on CPU." if release >= ASKS_FOR_CPU else ""
    return f"{text} You need Ampere+ GPU with cuda>=11.0{'.' if release >= ASKS_FOR_CPU else ''}" if card.is_cuda else text


@warning(
    "GPU202",
    source="torch 2.15.0 cuda/__init__.py:244 (is_bf16_supported: including_emulation)",
    bad="output_dir: out\nbf16: true\n",
    good="output_dir: out\nfp16: true\n",
    example={"gpu": "T4", "at": "/bf16"},
)
def emulated_bf16(config: TrainerConfig) -> Iterator[Finding]:
    """bf16 on a card without bf16 arithmetic, where torch emulates it.

    From torch 2.3 on the run starts, and is slower than with fp16. cuDNN has no bf16 convolutions on such cards, so that a model with
    convolutions may fail. torch 2.2 and older refuse it (GPU201).
    """
    card, torch = config.facts.card, torch_release(config.facts)
    name = next((each for each in HALF if config.arguments[each] is True), None)
    if card is None or name is None or not emulates_bf16(card) or config.arguments["use_cpu"] or not torch_has_bf16(card, torch):
        return
    if has_bf16(card, torch, config.version):
        yield Finding(
            of(config, name),
            f"`{config.arguments.written(name)}` is emulated on {card.described}",
            note=f"{torch_in_words(torch)} compute it in fp32 behind casts: slower than fp16",
            help=remedy(name, card),
        )


@first_step_error(
    "GPU203",
    raises="torch._inductor.exc.GPUTooOldForTriton: Found a GPU which is too old to be supported by the triton GPU compiler",
    source="torch 2.6.0 _inductor/scheduler.py:3429, 2.15.0 _inductor/exc.py:154",
    bad="output_dir: out\ntorch_compile: true\n",
    good="output_dir: out\ntorch_compile: false\n",
    example={"gpu": "P100", "at": "/torch_compile"},
)
def compile_unsupported(config: TrainerConfig) -> Iterator[Finding]:
    """`torch_compile` on a card that triton does not support: it requires compute capability 7.0."""
    args, card = config.arguments, config.facts.card
    if card is None or not card.below(7) or args["use_cpu"]:
        return
    if args["torch_compile"] is True and args["torch_compile_backend"] in (None, "inductor"):
        text = f"`torch_compile` requires compute capability 7.0, and the card is {card.described}"
        yield Finding(of(config, "torch_compile"), text, help="set `torch_compile: false`")


@warning(
    "GPU204",
    source="pytorch .ci/manywheel/build_cuda.sh (TORCH_CUDA_ARCH_LIST); torch 2.15.0 torch._C._cuda_getArchFlags()",
    bad="output_dir: out\n",
    good="output_dir: out\nuse_cpu: true\n",
    example={"gpu": "V100", "target": {"torch": "2.11.0"}, "at": ""},
)
def torch_without_kernels(config: TrainerConfig) -> Iterator[Finding]:
    """The Linux wheels of torch on PyPI have no kernels for the card in this release.

    P100 and older are supported up to torch 2.7, V100 up to 2.10, Blackwell (B200, RTX 50xx) from 2.8 on. The first kernel fails: `CUDA
    error: no kernel image is available for execution on the device`. Wheels of another index (`cu126`, `cu128`) may have them.
    """
    card, torch = config.facts.card, torch_release(config.facts)
    releases = lacks_kernels(card, torch) if card is not None else None
    if card is not None and releases is not None and not config.arguments["use_cpu"]:
        yield Finding(
            config.setting(),
            f"torch {dotted(torch or ())} from PyPI has no kernels for {card.described}",
            note=f"such wheels: {releases}; the first kernel fails: no kernel image is available for execution on the device",
            help=f"install torch before {dotted(releases.since)}" if releases.since else f"install torch {dotted(releases.until)} or newer",
        )
