"""The cards that people train on: what each can compute, and the memory that it makes available to a training process.

Source of the memory, in GiB: the total capacity that torch prints in out-of-memory errors on these cards; it is less than the number in
the card's name, which counts 10^9 bytes or includes memory reserved for ECC and the driver. For the cards since 2025, AMD's, Gaudi and
Ascend it is what their system tools report, less 0.4 % where the driver keeps a part. Compute capabilities: NVIDIA's tables of CUDA GPUs.
A size such as `80GB` is the most common card of that size.
"""

from __future__ import annotations

from cfglint.source import cached
from cfglint.source.record import Record

CUDA, ROCM, HPU, NPU, TPU, MPS, CPU = "cuda", "rocm", "hpu", "npu", "tpu", "mps", "cpu"
UNKNOWN = ""  # the device of a card that is not in the table

# The compute capability of NVIDIA's cards, else the kind of device -> the cards and their memory, - where that is unknown.
TABLE = {
    "3.7": "K80 11.2",
    "6.0": "P100 15.9",
    "6.1": "P40 22.4, P4 7.4, GTX1080Ti 10.9, GTX1080 7.9, TitanXp 11.9",
    "7.0": "V100 31.7, V100-32GB 31.7, V100-16GB 15.8, TitanV 11.8",
    "7.5": (
        "T4 14.6, T4G 14.6, RTX2060 5.8, RTX2070 7.8, RTX2080 7.8, RTX2080Ti 10.8, TitanRTX 23.6, QuadroRTX6000 23.6, QuadroRTX8000 47.5,"
        " GTX1650 -, GTX1660 5.8, GTX1660Ti 5.8"
    ),
    "8.0": "A100 79.2, A100-80GB 79.2, A100-40GB 39.4, A800 79.2, A30 23.5",
    "8.6": (
        "A10 22.0, A10G 22.0, A40 44.4, A16 14.5, A2 14.5, A6000 47.5, RTXA6000 47.5, A5000 23.7, RTXA5000 23.7, A4000 15.7, RTXA4000 15.7,"
        " RTX3050 -, RTX3060 11.8, RTX3070 7.8, RTX3070Ti 7.8, RTX3080 9.8, RTX3080Ti 11.8, RTX3090 23.6, RTX3090Ti 23.6"
    ),
    "8.7": "Orin -, AGXOrin -",
    "8.9": (
        "L4 22.0, L20 44.5, L40 44.4, L40S 44.4, RTX6000Ada 47.5, RTX5000Ada -, RTX4000Ada -, RTX4060 7.6, RTX4060Ti -, RTX4070 11.7,"
        " RTX4070Ti 11.7, RTX4070Super 11.7, RTX4080 15.7, RTX4080Super 15.7, RTX4090 23.6"
    ),
    "9.0": "H100 79.1, H100-80GB 79.1, H100-NVL 93.1, H800 79.1, H200 139.8, H20 95.1, H20-141GB 139.8, GH200 94.5, GH200-144GB 139.8",
    "10.0": "B100 178.4, B200 178.4, GB200 184.3",
    "10.3": "B300 267.7, GB300 267.7",
    "12.0": "RTXPRO6000 94.9, RTXPRO5000 47.3, RTX5090 31.4, RTX5080 15.5, RTX5070 -, RTX5070Ti -, RTX5060 -, RTX5060Ti -",
    "12.1": "GB10 -, DGXSpark -",
    ROCM: "MI355X 287.9, MI350X 287.9, MI325X 255.9, MI300X 191.9, MI300A 127.9, MI250X 63.9, MI250 63.9, MI210 63.9, MI100 31.9",
    HPU: "Gaudi -, Gaudi2 94.6, Gaudi3 126.5",
    NPU: "Ascend910B 60.9, Ascend910C -, Ascend910 -",
    TPU: "TPU -, TPUv2 -, TPUv3 -, TPUv4 -, TPUv5e -, TPUv5p -, TPUv6e -",
    MPS: "MPS -, Mac -, M1 -, M2 -, M3 -, M4 -",
    CPU: "CPU -, none -",
}
SIZES = {
    "288GB": 267.7, "256GB": 255.9, "192GB": 178.4, "180GB": 178.4, "144GB": 139.8, "141GB": 139.8, "128GB": 126.5, "96GB": 93.1,
    "94GB": 93.1, "80GB": 79.2, "64GB": 60.9, "48GB": 44.4, "40GB": 39.4, "32GB": 31.3, "24GB": 23.6, "16GB": 15.7, "12GB": 11.6,
    "8GB": 7.7,
}  # fmt: skip
USUAL = ("16GB", "24GB", "40GB", "48GB", "80GB", "141GB")  # the sizes that runs are put on
LARGEST = 10_000.0  # GiB
NEARLY = 0.85  # the least memory of a card, as a fraction of the size in its name
MAKERS = ("nvidia", "amd", "intel", "huawei", "apple", "geforce", "tesla", "instinct", "radeon", "google", "cloud")
FORMS = ("sxm2", "sxm3", "sxm4", "sxm5", "sxm", "pcie", "hbm2e", "hbm3e", "hbm2", "hbm3", "oam", "hgx", "dgx")  # of the same card
LINES = ("", "rtx", "gtx", "ascend", "mi")  # of a name without its product line: `4090`, `910B`, `300X`
CLOUD = {
    # AWS EC2, by the family of the instance; with its size where a family has several cards.
    "p3": "V100-16GB", "p3dn": "V100-32GB", "p4d": "A100-40GB", "p4de": "A100-80GB", "p5": "H100", "p5e": "H200", "p5en": "H200",
    "p6-b200": "B200", "p6-b300": "B300", "p6e-gb200": "GB200", "g4dn": "T4", "g5": "A10G", "g5g": "T4G", "g6": "L4",
    "gr6": "L4", "g6e": "L40S",
    # Google Cloud
    "a2-highgpu": "A100-40GB", "a2-megagpu": "A100-40GB", "a2-ultragpu": "A100-80GB", "a3-highgpu": "H100", "a3-megagpu": "H100",
    "a3-edgegpu": "H100", "a3-ultragpu": "H200", "a4-highgpu": "B200", "a4x-highgpu": "GB200", "g2-standard": "L4",
    # Azure, without the number of CPUs
    "standard_nc_a100_v4": "A100-80GB", "standard_nd_a100_v4": "A100-40GB", "standard_nd_amsr_a100_v4": "A100-40GB",
    "standard_nd_h100_v5": "H100", "standard_nd_h200_v5": "H200", "standard_nc_h100_v5": "H100-NVL", "standard_nc_t4_v3": "T4",
    "standard_nc_s_v3": "V100-16GB", "standard_nd_mi300x_v5": "MI300X",
}  # fmt: skip


class Card(Record):
    """A card. `device` is what torch computes with, `capability` the compute capability of a CUDA device; `memory` is in GiB."""

    name: str
    device: str
    capability: tuple[int, ...] = ()
    memory: float | None = None

    @property
    def is_cuda(self) -> bool:
        return self.device == CUDA

    def below(self, major: int, minor: int = 0) -> bool:
        """Whether it is a CUDA device of a lower compute capability."""
        return self.is_cuda and self.capability < (major, minor)

    @property
    def described(self) -> str:
        """The card for a message: `T4 (compute capability 7.5)`."""
        return f"{self.name} (compute capability {'.'.join(map(str, self.capability))})" if self.is_cuda else self.name


class Memory(float):
    """The memory of a card in GiB. `assumption` is set if cards of this name exist with other memory, too."""

    assumption = ""


@cached
def cards() -> dict[str, Card]:
    """The cards by their names in lower case, without signs."""
    found = {}
    for ability, names in TABLE.items():
        capability = tuple(map(int, ability.split("."))) if ability[0].isdigit() else ()
        for each in names.split(", "):
            name, memory = each.split(" ")
            found[plain(name)] = Card(name, CUDA if capability else ability, capability, None if memory == "-" else float(memory))
    return found


def plain(name: str) -> str:
    """A name in lower case, without signs and blanks."""
    return "".join(char for char in name.lower() if char.isalnum())


def find(name: str) -> Card | None:
    """The card of a name as people and tools spell it (`RTX 4090`, `nvidia-a100-sxm4-80gb`, `Tesla-V100-SXM2-16GB`), or None."""
    known, asked = cards(), plain(name)
    for maker in MAKERS:
        asked = asked.removeprefix(maker) if asked.removeprefix(maker) else asked
    without = asked
    for form in FORMS:
        without = without.replace(form, "", 1)
    for each in (asked, without, f"{without}b" if without.endswith("g") else ""):
        found = next((known[line + each] for line in LINES if line + each in known), None) if each else None
        if found is not None:
            return found
    return with_size(without) if without.endswith("gb") else None


def with_size(name: str) -> Card | None:
    """The card of a name that ends with the size of its only variant: `L40S-48GB`."""
    known, base = cards(), name.removesuffix("gb")
    for cut in range(len(base) - 1, 0, -1):
        if not base[cut:].isdigit():
            return None
        named = next((known[line + base[:cut]] for line in LINES if line + base[:cut] in known), None)
        if named is not None and named.memory is not None and NEARLY * int(base[cut:]) <= named.memory <= int(base[cut:]):
            return named
    return None


def of_instance(name: str) -> Card | None:
    """The card of a cloud's instance type: `p4d.24xlarge`, `a2-highgpu-8g`, `Standard_ND96isr_H100_v5`; None if it is unknown."""
    low = name.lower()
    if low.startswith("standard_"):
        words = low.split("_")
        words[1] = words[1][:2]
        found = next((CLOUD[each] for each in ("_".join(words), "_".join([*words[:2], "s", *words[2:]])) if each in CLOUD), None)
    elif "." in low:
        found = CLOUD.get(low.removeprefix("ml.").partition(".")[0])
    else:
        found = CLOUD.get(low.rpartition("-")[0])
    return find(found) if found is not None else None


def memory_of(found: Card) -> Memory | None:
    """The memory of a card, with other sizes of cards of this name as an assumption; None if it is unknown."""
    if found.memory is None:
        return None
    size = Memory(found.memory)
    variants = (each for each in cards().values() if each.name.startswith(f"{found.name}-") and each.memory != size)
    others = [f"{variant.name}: {variant.memory:g}" for variant in variants]
    if others:
        size.assumption = f"{found.name} is the card with {size:g} GiB ({', '.join(others)})"
    return size


def offered(text: str) -> float:
    """Parse `79.2`, a size such as `80GB` or the name of a card into GiB; raises ValueError for anything else."""
    sizes = {name.lower(): size for name, size in SIZES.items()}
    if plain(text) in sizes:
        return Memory(sizes[plain(text)])
    found = None if text.strip()[:1].isdigit() and "." in text else find(text)
    memory = memory_of(found) if found is not None else None
    if memory is not None:
        return memory
    amount = float(text.strip().lower().removesuffix("gib"))
    if not 0 < amount < LARGEST:
        raise ValueError(text)
    return amount


def card(name: str) -> Card:
    """The card of a name; of an unknown one nothing but its name is known."""
    return find(name) or Card(name, UNKNOWN)
