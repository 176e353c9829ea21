"""What torch says of a card, by its release: whether bf16 works, whether TF32 does, whether its wheels have kernels for it.

Sources: torch/cuda/__init__.py (is_bf16_supported: 2.2.2:144, 2.3.1:121, 2.15.0:244); transformers utils/import_utils.py; the CUDA releases
of PyPI's Linux wheels (torch 2.8 to 2.10: 12.8, from 2.11 on: 13, which has no Volta) and the kernels that pytorch builds for each.
"""

from __future__ import annotations

from cfglint.batch.cards import CPU, CUDA, HPU, MPS, ROCM, TPU, UNKNOWN, Card
from cfglint.findings.releases import Releases
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version, dotted, parse_version

AMPERE, HOPPER = (8, 0), (9, 0)
EMULATES = (2, 3, 0)  # the release of torch from which on it emulates bf16 on cards without it, and says that bf16 is supported
# Architectures whose kernels are not in the Linux wheels of PyPI: (lowest, highest compute capability) -> these releases of torch.
WITHOUT_KERNELS = (
    ((3, 0), (6, 9), Releases((2, 8, 0))),
    ((7, 0), (7, 4), Releases((2, 11, 0))),
    ((10, 0), (12, 9), Releases((), (2, 8, 0))),
)


def torch_release(facts: LaunchFacts) -> Version | None:
    stated = facts.target.get("torch") or facts.pinned.get("torch", ("", ""))[0]
    return parse_version(stated) or None if stated else None


def emulates_bf16(card: Card) -> bool:
    """Whether bf16 is no type of the card's arithmetic units."""
    return card.below(*AMPERE)


def torch_has_bf16(card: Card, torch: Version | None) -> bool | None:
    """What `torch.cuda.is_bf16_supported()` answers on a CUDA or ROCm device; of an unknown release the newest. None for other devices."""
    if card.device == ROCM or (card.device == CUDA and not emulates_bf16(card)):
        return True
    return (torch is None or torch >= EMULATES) if card.device == CUDA else None


def has_bf16(card: Card, torch: Version | None, transformers: Version) -> bool | None:
    """What transformers' `is_torch_bf16_gpu_available` answers; None if it depends on what is not known."""
    if card.device == CUDA and transformers < (4, 35):  # its own check
        return not emulates_bf16(card)
    if card.device in (CUDA, ROCM):
        return torch_has_bf16(card, torch)
    if card.device == CPU:
        return False
    if card.device == MPS:
        return False if transformers < (4, 57) else None  # macOS 14 decides
    return True if card.device in (HPU, TPU) else None


def has_tf32(card: Card) -> bool | None:
    """What transformers' `is_torch_tf32_available` answers: its own check of the compute capability; None for an unknown card."""
    return None if card.device == UNKNOWN else card.device == CUDA and not card.below(*AMPERE)


def lacks_kernels(card: Card, torch: Version | None) -> Releases | None:
    """The releases of torch whose wheels have no kernels for the card, if a stated release is one of them."""
    if torch is None or card.device != CUDA:
        return None
    return next((releases for low, high, releases in WITHOUT_KERNELS if low <= card.capability <= high and torch in releases), None)


def torch_in_words(torch: Version | None) -> str:
    return f"torch {dotted(torch)}" if torch is not None else "torch 2.3 and newer"
