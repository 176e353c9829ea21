"""The memory that a GPU makes available to a training process, in GiB, by the name of the card.

Source: the total capacity that torch prints in out-of-memory errors on these cards; it is less than the number in the card's name,
which counts 10^9 bytes or includes memory reserved for ECC and the driver. A name such as `80GB` is the most common card of that
size.
"""

from __future__ import annotations

CARDS = {
    "h200": 139.8,
    "h100": 79.1,
    "a100": 79.2,
    "a100-80gb": 79.2,
    "a100-40gb": 39.4,
    "a6000": 47.5,
    "l40s": 44.4,
    "v100": 31.7,
    "v100-16gb": 15.8,
    "a10g": 22.0,
    "l4": 22.0,
    "t4": 14.6,
    "rtx4090": 23.6,
    "rtx3090": 23.6,
    "141gb": 139.8,
    "80gb": 79.2,
    "48gb": 44.4,
    "40gb": 39.4,
    "32gb": 31.3,
    "24gb": 23.6,
    "16gb": 15.7,
    "12gb": 11.6,
    "8gb": 7.7,
}
LARGEST = 10_000.0  # GiB


def offered(text: str) -> float:
    """Parse `79.2` or the name of a card into GiB; raises ValueError for anything else."""
    name = text.strip().lower().replace(" ", "").replace("_", "-")
    if name in CARDS:
        return CARDS[name]
    amount = float(name.removesuffix("gib"))
    if not 0 < amount < LARGEST:
        raise ValueError(text)
    return amount
