"""The memory that a GPU makes available to a training process, in GiB, by the name of the card.

Source: the total capacity that torch prints in out-of-memory errors on these cards; it is less than the number in the card's name,
which counts 10^9 bytes or includes memory reserved for ECC and the driver. For the cards since 2025, AMD's, Gaudi and Ascend it is what
their system tools report, less 0.4 % where the driver keeps a part. A name such as `80GB` is the most common card of that size.
"""

from __future__ import annotations

CARDS = {
    "b300": 267.7,
    "gb300": 267.7,
    "b200": 178.4,
    "gb200": 184.3,
    "h200": 139.8,
    "gh200": 94.5,
    "gh200-144gb": 139.8,
    "h100": 79.1,
    "h100-nvl": 93.1,
    "h800": 79.1,
    "h20": 95.1,
    "h20-141gb": 139.8,
    "a100": 79.2,
    "a100-80gb": 79.2,
    "a100-40gb": 39.4,
    "a800": 79.2,
    "a6000": 47.5,
    "rtxa6000": 47.5,
    "rtx6000ada": 47.5,
    "rtxpro6000": 94.9,
    "rtxpro5000": 47.3,
    "l40s": 44.4,
    "l40": 44.4,
    "l20": 44.5,
    "a40": 44.4,
    "v100": 31.7,
    "v100-32gb": 31.7,
    "v100-16gb": 15.8,
    "a30": 23.5,
    "a10": 22.0,
    "a10g": 22.0,
    "l4": 22.0,
    "t4": 14.6,
    "p100": 15.9,
    "rtx5090": 31.4,
    "rtx4090": 23.6,
    "rtx3090": 23.6,
    "rtx5080": 15.5,
    "rtx4080": 15.7,
    "mi355x": 287.9,
    "mi350x": 287.9,
    "mi325x": 255.9,
    "mi300x": 191.9,
    "mi300a": 127.9,
    "mi250x": 63.9,
    "mi250": 63.9,
    "mi210": 63.9,
    "mi100": 31.9,
    "gaudi2": 94.6,
    "gaudi3": 126.5,
    "ascend910b": 60.9,
    "288gb": 267.7,
    "256gb": 255.9,
    "192gb": 178.4,
    "180gb": 178.4,
    "144gb": 139.8,
    "141gb": 139.8,
    "128gb": 126.5,
    "96gb": 93.1,
    "94gb": 93.1,
    "80gb": 79.2,
    "64gb": 60.9,
    "48gb": 44.4,
    "40gb": 39.4,
    "32gb": 31.3,
    "24gb": 23.6,
    "16gb": 15.7,
    "12gb": 11.6,
    "8gb": 7.7,
}
LARGEST = 10_000.0  # GiB


class Card(float):
    """The memory of a card in GiB. `assumption` is set if cards of this name exist with other memory, too."""

    assumption = ""


def card(name: str) -> Card:
    """The card of a name in the table, with its larger or smaller variants as an assumption."""
    found = Card(CARDS[name])
    others = [f"{each.upper()}: {size:g}" for each, size in CARDS.items() if each.startswith(f"{name}-") and size != found]
    if others:
        found.assumption = f"{name.upper()} is the card with {found:g} GiB ({', '.join(others)})"
    return found


def offered(text: str) -> float:
    """Parse `79.2` or the name of a card into GiB; raises ValueError for anything else."""
    name = text.strip().lower().replace("_", "-").replace(" ", "").removeprefix("nvidia-").removeprefix("nvidia").removeprefix("amd")
    for each in (name, name.replace("-", ""), name.replace("-sxm", "").replace("-pcie", "")):
        if each in CARDS:
            return card(each)
    amount = float(name.removesuffix("gib"))
    if not 0 < amount < LARGEST:
        raise ValueError(text)
    return amount
