"""What a banner does not say: the devices, the steps of an epoch, the releases whose arithmetic gives its steps.

The Hugging Face trainer's arithmetic is that of `cfglint.batch.steps`, asked backwards: each way in which a run of
so many samples and epochs can come to a number of steps is tried, the plain one first.
"""

from __future__ import annotations

from cfglint.batch import steps
from cfglint.explain.log_parser import HUGGINGFACE, NEOX
from cfglint.frameworks.base import parse_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cfglint.explain.log_parser import TrainingBanner

ENDLESS = 2**63 - 1  # what the trainer shows as epochs when the data set has no length: sys.maxsize
FLOOR = (4, 51, 3)
CEIL = steps.NEWEST
ERAS = ((steps.FLOOR_RELEASES, FLOOR), (steps.CEIL_RELEASES, CEIL))
NEEDED = ("num_examples", "num_epochs", "micro_batch", "accumulation", "global_batch", "total_steps")
LOOPS = ((4, 45, 2), (4, 51, 3))  # releases whose training loops end at different places


class Explanation:
    """A banner and what follows from it.

    `consistent_with` are ranges of transformers releases; empty when no release's arithmetic gives the printed
    steps, or when the banner is not of this trainer. `note` says in a sentence how the steps come about or why they
    cannot be reproduced; `details` are (what, number, how) for people.
    """

    __slots__ = ("banner", "batches", "consistent_with", "data_parallel", "details", "differences", "note", "steps_per_epoch")

    def __init__(self, banner: TrainingBanner) -> None:
        self.banner = banner
        self.data_parallel: int | None = None
        self.batches: int | None = None
        self.steps_per_epoch: int | None = None
        self.consistent_with: list[str] = []
        self.note = ""
        self.details: list[tuple[str, str, str]] = []
        self.differences: list[Difference] = []

    @property
    def micro_batch(self) -> int | None:
        """The samples that one process takes at a time."""
        return self.banner["adjusted_batch"] or self.banner["micro_batch"]


class Difference:
    """A number that a log and a configuration give differently, with the place of the latter."""

    __slots__ = ("configured", "key", "logged", "place")

    def __init__(self, key: str, logged: int, configured: int, place: str) -> None:
        self.key = key
        self.logged = logged
        self.configured = configured
        self.place = place


def explain(banner: TrainingBanner) -> Explanation:
    """Everything that a banner's numbers tell."""
    found = Explanation(banner)
    find_devices(found)
    if banner.framework == HUGGINGFACE:
        find_releases(found)
    else:
        found.note = arguments_note(found)
    return found


def find_devices(found: Explanation) -> None:
    """The data-parallel size: global batch / (micro batch x accumulation)."""
    total, micro, accumulation = found.banner["global_batch"], found.micro_batch, found.banner["accumulation"]
    if not total or not micro or not accumulation:
        return
    if total % (micro * accumulation):
        found.note = f"the global batch {total:,} is no multiple of micro batch {micro:,} x accumulation {accumulation:,}"
        return
    found.data_parallel = total // (micro * accumulation)


# ---- the Hugging Face trainer


def find_releases(found: Explanation) -> None:
    """Which releases come to the printed steps, and by which way."""
    banner = found.banner
    missing = [name for name in NEEDED if banner[name] is None]
    if found.data_parallel is None or missing:
        found.note = found.note or f"cannot be reproduced: the log does not show {', '.join(missing)}"
        return
    found.steps_per_epoch = banner["steps_per_epoch"]
    for way in (without_length, *((limited, by_epochs) if banner.max_steps_given else (by_epochs, limited))):
        if way(found):
            break
    else:
        found.note = unexplained(found)
    if banner.paddle:
        found.note += "; the line is in the style of PaddleNLP's trainer, which counts alike"
    check_release(found)


def without_length(found: Explanation) -> bool:
    """A data set without a length: `max_steps` sets the run, the samples are what it comes to."""
    banner = found.banner
    if banner["num_epochs"] != ENDLESS:
        return False
    total, size = banner["total_steps"] or 0, banner["global_batch"] or 0
    found.consistent_with = [releases for releases, _ in ERAS]
    found.steps_per_epoch = None
    samples = f"; its {banner['num_examples']:,} samples are {total:,} steps x {size:,}" if banner["num_examples"] == total * size else ""
    found.note = f"the data set has no length, so max_steps {total:,} sets the run{samples}; {ENDLESS:,} epochs stand for no end"
    return True


def variants(found: Explanation) -> Iterator[tuple[str, int]]:
    """(what the run would have to set, batches of a process in an epoch), the default first."""
    samples, micro, ways = found.banner["num_examples"] or 0, found.micro_batch or 1, found.data_parallel or 1
    yield "", steps.batches_per_rank(samples, micro, ways)
    yield "dataloader_drop_last", steps.batches_per_rank(samples, micro, ways, drop_last=True)
    if ways > 1:
        yield "split_batches (or a sampler of its own)", steps.batches_per_rank(samples, micro, ways, split_batches=True)


def by_epochs(found: Explanation) -> bool:
    """Epochs times the updates of one epoch, cut off or rounded up."""
    banner = found.banner
    total, epochs, accumulation = banner["total_steps"] or 0, banner["num_epochs"] or 0, banner["accumulation"] or 1
    for setting, batches in variants(found):
        releases = steps.releases_giving(total, batches, accumulation, epochs)
        if releases:
            found.consistent_with, found.batches = releases, batches
            found.steps_per_epoch = found.steps_per_epoch or updates(releases, batches, accumulation)
            found.note = epochs_note(found, batches, setting)
            tell_epochs(found, batches, setting)
            return True
    return False


def updates(releases: list[str], batches: int, accumulation: int) -> int | None:
    """The updates of an epoch where all those releases agree."""
    counts = {steps.updates_per_epoch(batches, accumulation, version) for name, version in ERAS if name in releases}
    return counts.pop() if len(counts) == 1 else None


def limited(found: Explanation) -> bool:
    """A `max_steps`, or a part of an epoch: any total that reaches into the last epoch shown."""
    banner = found.banner
    total, epochs, accumulation = banner["total_steps"] or 0, banner["num_epochs"] or 0, banner["accumulation"] or 1
    batches = next(variants(found))[1]
    found.consistent_with = [
        releases for releases, version in ERAS if -(-total // steps.updates_per_epoch(batches, accumulation, version)) == epochs
    ]
    if not found.consistent_with or total < 1:
        return False
    found.batches = batches
    found.steps_per_epoch = found.steps_per_epoch or updates(found.consistent_with, batches, accumulation)
    whole = " or ".join(f"{each:,}" for each in totals_of(epochs, batches, accumulation))
    cause = "max_steps is given" if banner.max_steps_given else "max_steps, or a part of an epoch"
    found.note = f"{cause}: {count(epochs, 'whole epoch')} would take {whole} steps"
    found.details = [batches_line(found, batches, "")]
    return True


def epochs_note(found: Explanation, batches: int, setting: str) -> str:
    """How the printed total comes about, in one sentence."""
    banner = found.banner
    epochs, accumulation = banner["num_epochs"] or 0, banner["accumulation"] or 1
    condition = f"with {setting}: " if setting else ""
    if batches % accumulation == 0 or batches < accumulation:
        each = steps.updates_per_epoch(batches, accumulation)
        return f"{condition}{count(each, 'update')} an epoch x {count(epochs, 'epoch')}, the same in every release"
    down, up = batches // accumulation, -(-batches // accumulation)
    if steps.FLOOR_RELEASES in found.consistent_with:
        return (
            f"{condition}the last, shorter accumulation of an epoch does not count up to 4.51.3: "
            f"{batches:,} / {accumulation:,} is cut to {down:,}, x {count(epochs, 'epoch')}; from 4.52.0 it would be {up * epochs:,}"
        )
    return (
        f"{condition}the last, shorter accumulation of an epoch counts from 4.52.0: "
        f"{batches:,} / {accumulation:,} is rounded up to {up:,}, x {count(epochs, 'epoch')}; up to 4.51.3 it would be {down * epochs:,}"
    )


def batches_line(found: Explanation, batches: int, setting: str) -> tuple[str, str, str]:
    """The batches of a process, with their formula."""
    samples, micro, ways = found.banner["num_examples"] or 0, found.micro_batch or 1, found.data_parallel or 1
    rounded = "cut off" if setting.startswith("dataloader_drop_last") else "rounded up"
    if ways == 1 or setting.startswith("split"):
        return "batches per epoch", f"{batches:,}", f"{samples:,} / {micro:,}, {rounded}"
    return "batches per epoch", f"{batches:,}", f"of each of {ways:,} processes: {samples:,} / {micro:,} / {ways:,}, {rounded}"


def tell_epochs(found: Explanation, batches: int, setting: str) -> None:
    """The steps from samples to total, and what accumulation and the loop had to do with it."""
    banner = found.banner
    total, epochs, accumulation = banner["total_steps"] or 0, banner["num_epochs"] or 0, banner["accumulation"] or 1
    found.details = [batches_line(found, batches, setting)]
    if found.steps_per_epoch:
        rounding = " cut off" if found.steps_per_epoch * accumulation < batches else " rounded up" if batches % accumulation else ""
        how = f"{batches:,} / accumulation {accumulation:,}" + (f" = {batches / accumulation:,.3f},{rounding}" if rounding else "")
        found.details.append(("steps per epoch", f"{found.steps_per_epoch:,}", how))
    if accumulation > 1:
        found.details.append(("accumulation", "applied", f"without it the run would take {batches * epochs:,} steps"))
    if found.consistent_with == [steps.FLOOR_RELEASES] and batches % accumulation:
        found.details.extend(loop_ends(found, batches, total))


def loop_ends(found: Explanation, batches: int, total: int) -> Iterator[tuple[str, str, str]]:
    """Where the loop of old releases stopped: the announced total leaves out updates that it took."""
    banner = found.banner
    accumulation, epochs = banner["accumulation"] or 1, banner["num_epochs"] or 0
    if total > 100_000:
        return
    ends = []
    for version in LOOPS:
        length = steps.training_length(batches, accumulation, epochs=epochs, version=version)
        ends.append(steps.run_end(batches, accumulation, banner["num_examples"] or 0, length, version)[1])
    early, late = (f"{end:,.2f}" for end in ends)
    if early == late:
        yield "data seen", early, f"of {count(epochs, 'epoch')}, up to 4.51: there the loop stops"
        return
    yield "data seen", early, f"of {count(epochs, 'epoch')} with transformers up to 4.45: there the loop stops"
    yield "", late, "with 4.47 to 4.51"


def unexplained(found: Explanation) -> str:
    """Why the printed steps cannot be reproduced."""
    banner = found.banner
    epochs, accumulation = banner["num_epochs"] or 0, banner["accumulation"] or 1
    batches = next(variants(found))[1]
    totals = " or ".join(f"{each:,}" for each in totals_of(epochs, batches, accumulation))
    found.consistent_with = []
    found.details = [batches_line(found, batches, "")]
    return (
        f"cannot be reproduced: {epochs:,} epochs of {batches:,} batches, {accumulation:,} a step, are {totals} steps, "
        f"not {banner['total_steps']:,}; samplers, packing or collators of the script's own change how many batches there are"
    )


def totals_of(epochs: int, batches: int, accumulation: int) -> list[int]:
    """The totals that whole epochs come to, by any release."""
    return sorted({epochs * steps.updates_per_epoch(batches, accumulation, version) for _, version in ERAS})


def check_release(found: Explanation) -> None:
    """Hold the answer against the release that the log itself names."""
    release = found.banner.release
    if not release or not found.consistent_with:
        return
    era = steps.CEIL_RELEASES if parse_version(release) >= (4, 52) else steps.FLOOR_RELEASES
    fits = "which fits" if era in found.consistent_with else "which does NOT fit"
    found.note += f"; the log names transformers {release}, {fits}"


# ---- GPT-NeoX and DeepSpeed


def arguments_note(found: Explanation) -> str:
    """What the printed arguments say of the layout."""
    banner = found.banner
    gpus, tensor, pipe = banner["gpus"], banner["tensor_parallel"] or 1, max(banner["pipeline_parallel"] or 1, 1)
    notes = []
    if found.data_parallel is not None and gpus:
        shared = f" / tensor {tensor} / pipeline {pipe}" if banner.framework == NEOX else ""
        expected = gpus // tensor // pipe
        agrees = "agrees" if expected == found.data_parallel else f"would be {expected:,}"
        notes.append(f"the log says {count(gpus, 'GPU')}{shared}: {agrees} with the data-parallel size {found.data_parallel:,}")
    if banner["seq_length"] and banner["global_batch"]:
        notes.append(f"{banner['seq_length'] * banner['global_batch']:,} tokens per step")
    return "; ".join([*([found.note] if found.note else []), *notes]) or "only the batch is printed"


# ---- a log against a configuration


COMPARED = (
    ("micro batch", "micro_batch"),
    ("accumulation", "accumulation"),
    ("global batch", "global_batch"),
    ("steps per epoch", "steps_per_epoch"),
    ("total steps", "total_steps"),
)


def compare(found: Explanation, resolved: dict[str, int | None], place: Callable[[str], str]) -> None:
    """Note where the log and the numbers of a configuration are not the same; `place` says where one comes from."""
    logged = {
        "micro_batch": found.micro_batch,
        "accumulation": found.banner["accumulation"],
        "global_batch": found.banner["global_batch"],
        "steps_per_epoch": found.steps_per_epoch,
        "total_steps": found.banner["total_steps"],
    }
    for name, key in COMPARED:
        seen, configured = logged[key], resolved.get(key)
        if seen is not None and configured is not None and seen != configured:
            found.differences.append(Difference(name, seen, configured, place(key)))


def count(number: int, thing: str) -> str:
    """`1 epoch`, `3 epochs`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def hint(found: Explanation) -> dict[str, int]:
    """The facts that a log tells of a launch: devices and training samples."""
    facts = {}
    if found.data_parallel is not None:
        gpus = found.banner["gpus"]
        facts["gpus"] = gpus if gpus and found.banner.framework == NEOX else found.data_parallel
    samples = found.banner["num_examples"]
    if samples and found.banner["num_epochs"] != ENDLESS:
        facts["num_examples"] = samples
    return facts
