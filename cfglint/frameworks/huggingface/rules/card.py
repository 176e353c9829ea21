"""What the Trainer, torch and its kernels refuse on a card, or do more slowly. Imported only if the card of a run is known."""

from __future__ import annotations

from cfglint.batch.cards import CPU, Card
from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.card_support import emulates_bf16, has_bf16, has_tf32, lacks_kernels, torch_has_bf16, torch_in_words, torch_release
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of
from cfglint.frameworks.releases.versions import dotted
from cfglint.source.annotations import Iterator

HALF = ("bf16", "bf16_full_eval")
ASKS_TORCH = (4, 35)  # before it, transformers itself looks at the compute capability
CHECKS_CUDA_ONLY = (4, 52)  # before it, TrainingArguments checks bf16 only where there is a CUDA device
ASKS_FOR_CPU = (5, 0)


def half_of(config: TrainerConfig) -> str | None:
    return next((name for name in HALF if config.arguments[name] is True), None) if not config.arguments["use_cpu"] else None


def remedy(name: str, card: Card) -> Remedy:
    if card.device == CPU:
        return set_key("use_cpu", True)
    return set_key(name.replace("bf16", "fp16"), True) & set_key(name, False) if card.is_cuda else set_key(name, False)


@rule("GPU200")
def tf32_unsupported(config: TrainerConfig) -> Iterator[Finding]:
    if config.facts.card is None or config.arguments["tf32"] is not True or has_tf32(config.facts.card) is not False:
        return
    message = f"`tf32` requires compute capability 8.0, and the card is {config.facts.card.described}"
    yield Finding(of(config, "tf32"), message, help=set_key("tf32", False))


@rule("GPU201")
def bf16_unsupported(config: TrainerConfig) -> Iterator[Finding]:
    card, name, torch, version = config.facts.card, half_of(config), torch_release(config.facts), config.version
    if card is None or name is None or (version < CHECKS_CUDA_ONLY and not card.is_cuda) or has_bf16(card, torch, version) is not False:
        return
    required = f"requires a GPU that supports it, and the device is {card.name}"
    if card.is_cuda:
        with_torch = f" with torch {dotted(torch)}" if torch is not None and version >= ASKS_TORCH else ""
        required = f"requires compute capability 8.0{with_torch}, and the card is {card.described}"
    text = "ValueError: Your setup doesn't support bf16/gpu."
    if version < CHECKS_CUDA_ONLY:
        text += " You need torch>=1.10, using Ampere GPU with cuda>=11.0"
    else:
        text += " You need to assign use_cpu if you want to train the model on CPU." if version >= ASKS_FOR_CPU else ""
        text += f" You need Ampere+ GPU with cuda>=11.0{'.' if version >= ASKS_FOR_CPU else ''}" if card.is_cuda else ""
    yield Finding(of(config, name), f"`{config.arguments.written(name)}` {required}", exception=text, help=remedy(name, card))


@rule("GPU202")
def emulated_bf16(config: TrainerConfig) -> Iterator[Finding]:
    card, name, torch = config.facts.card, half_of(config), torch_release(config.facts)
    if card is None or name is None or not emulates_bf16(card) or not torch_has_bf16(card, torch):
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
        text = f"torch {dotted(torch or ())} from PyPI has no kernels for {card.described}"
        note = f"such wheels: {releases}; the first kernel fails: no kernel image is available for execution on the device"
        other = f"before {dotted(releases.since)}" if releases.since else f"{dotted(releases.until)} or newer"
        yield Finding(config.setting(), text, note=note, help=f"install torch {other}")
