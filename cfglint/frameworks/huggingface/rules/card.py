"""What the Trainer, torch and its kernels refuse on a card, or do more slowly. Imported only if the card of a run is known."""

from __future__ import annotations

from cfglint.batch.cards import CPU, Card
from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.card_support import emulates_bf16, has_bf16, has_tf32, lacks_kernels, torch_has_bf16, torch_in_words, torch_release
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.source.annotations import Iterator

HALF = ("bf16", "bf16_full_eval")
ASKS_TORCH = (4, 35)  # before it, transformers itself looks at the compute capability
CHECKS_CUDA_ONLY = (4, 52)  # before it, TrainingArguments checks bf16 only where there is a CUDA device
ASKS_FOR_CPU = (5, 0)


def card_of(config: TrainerConfig) -> Card:
    assert config.facts.card is not None
    return config.facts.card


@rule("GPU200")
def tf32_unsupported(config: TrainerConfig) -> Iterator[Finding]:
    if config.facts.card is None or config.arguments["tf32"] is not True or has_tf32(config.facts.card) is not False:
        return
    message = f"`tf32` requires compute capability 8.0, and the card is {config.facts.card.described}"
    yield Finding(of(config, "tf32"), message, help=set_key("tf32", False))


@rule("GPU201")
def bf16_unsupported(config: TrainerConfig) -> Iterator[Finding]:
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
    card, version = config.facts.card, config.version
    name = next((each for each in HALF if config.arguments[each] is True), None)
    if card is None or name is None or config.arguments["use_cpu"]:
        return None
    if version < CHECKS_CUDA_ONLY and not card.is_cuda:
        return None
    return name if has_bf16(card, torch_release(config.facts), version) is False else None


def remedy(name: str, card: Card) -> Remedy:
    if card.device == CPU:
        return set_key("use_cpu", True)
    return set_key(name.replace("bf16", "fp16"), True) & set_key(name, False) if card.is_cuda else set_key(name, False)


def refusal(release: Version, card: Card) -> str:
    text = "ValueError: Your setup doesn't support bf16/gpu."
    if release < CHECKS_CUDA_ONLY:
        return f"{text} You need torch>=1.10, using Ampere GPU with cuda>=11.0"
    text += " You need to assign use_cpu if you want to train the model on CPU." if release >= ASKS_FOR_CPU else ""
    return f"{text} You need Ampere+ GPU with cuda>=11.0{'.' if release >= ASKS_FOR_CPU else ''}" if card.is_cuda else text


@rule("GPU202")
def emulated_bf16(config: TrainerConfig) -> Iterator[Finding]:
    card, torch = config.facts.card, torch_release(config.facts)
    name = next((each for each in HALF if config.arguments[each] is True), None)
    if card is None or name is None or not emulates_bf16(card) or config.arguments["use_cpu"] or not torch_has_bf16(card, torch):
        return
    if has_bf16(card, torch, config.version):
        message = f"`{config.arguments.written(name)}` is emulated on {card.described}"
        note = f"with {torch_in_words(torch)} it is computed in fp32 behind casts: slower than fp16"
        yield Finding(of(config, name), message, note=note, help=remedy(name, card))


@rule("GPU203")
def compile_unsupported(config: TrainerConfig) -> Iterator[Finding]:
    args, card = config.arguments, config.facts.card
    if card is None or not card.below(7) or args["use_cpu"]:
        return
    if args["torch_compile"] is True and args["torch_compile_backend"] in (None, "inductor"):
        text = f"`torch_compile` requires compute capability 7.0, and the card is {card.described}"
        yield Finding(of(config, "torch_compile"), text, help=set_key("torch_compile", False))


@rule("GPU204")
def torch_without_kernels(config: TrainerConfig) -> Iterator[Finding]:
    card, torch = config.facts.card, torch_release(config.facts)
    releases = lacks_kernels(card, torch) if card is not None else None
    if card is not None and releases is not None and not config.arguments["use_cpu"]:
        yield Finding(
            config.setting(),
            f"torch {dotted(torch or ())} from PyPI has no kernels for {card.described}",
            note=f"such wheels: {releases}; the first kernel fails: no kernel image is available for execution on the device",
            help=f"install torch before {dotted(releases.since)}" if releases.since else f"install torch {dotted(releases.until)} or newer",
        )
