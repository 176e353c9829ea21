"""The analysis of a training banner: the devices, the steps per epoch, and the releases whose arithmetic gives its total steps.

The Hugging Face Trainer's arithmetic is that of `cfglint.batch.steps`, inverted: each calculation by which a run with
these samples and epochs can give the printed number of steps is tried, the default one first.
"""

from __future__ import annotations

from cfglint.batch import steps
from cfglint.explanation.failures import Failure
from cfglint.explanation.log_parser import HUGGINGFACE, NEOX, TrainingBanner
from cfglint.findings.wording import amount, counted
from cfglint.frameworks import framework
from cfglint.frameworks.releases.versions import parse_version
from cfglint.source.annotations import Callable, Iterator
from cfglint.source.record import Record

ENDLESS = 2**63 - 1  # the epochs that the Trainer prints when the data set has no length: sys.maxsize
FLOOR = steps.LAST_FLOORED
CEIL = steps.NEWEST
ERAS = ((steps.FLOOR_RELEASES, FLOOR), (steps.CEIL_RELEASES, CEIL))
NEEDED = ("num_examples", "num_epochs", "micro_batch", "accumulation", "global_batch", "total_steps")
LOOPS = ((4, 45, 2), FLOOR)  # releases whose training loops end at different steps


class LogExplanation(Record):
    """A banner and the numbers that follow from it.

    `consistent_with` are ranges of transformers releases; empty if no release's arithmetic gives the printed
    steps, or if the banner is from another trainer. `note` explains in one sentence how the steps are computed or why they
    cannot be reproduced; `details` are (what, number, how) for display.
    """

    banner: TrainingBanner
    data_parallel: int | None = None
    batches: int | None = None
    steps_per_epoch: int | None = None
    consistent_with: list[str] = []
    note: str = ""
    details: list[tuple[str, str, str]] = []
    differences: list[Difference] = []
    compared: list[str] = []

    @property
    def micro_batch(self) -> int | None:
        """The samples that one process takes at a time."""
        return self.banner["adjusted_batch"] or self.banner["micro_batch"]

    @property
    def headline(self) -> str:
        """The length of the training, such as `560 steps, 10 epochs of 56`, and whether it is as configured; else the trainer."""
        return self.length + self.disagreement

    @property
    def first_line(self) -> str:
        """The headline with the division that gives the steps of an epoch."""
        return self.length + self.division + self.disagreement

    @property
    def length(self) -> str:
        """The steps and epochs of the training; the trainer if they are not printed."""
        total, epochs, each = self.banner["total_steps"], self.banner["num_epochs"], self.steps_per_epoch
        parts = [framework(self.banner.framework).title]
        if total is not None:
            parts = [f"{total:,} step{'s' if total != 1 else ''}"]
            if epochs and epochs != ENDLESS:
                whole = (each or 0) * epochs
                parts.append(counted(epochs, "epoch") + (f" of {each:,}" if each and epochs > 1 and whole == total else ""))
                if total < whole:  # `max_steps`
                    parts = [f"{total:,} of the {whole:,} steps of {counted(epochs, 'epoch')}"]
        return ", ".join(parts)

    @property
    def division(self) -> str:
        """How the samples give the steps of an epoch; empty if `max_steps` or other settings do, or the micro batch alone."""
        factors = [("data parallel", self.data_parallel), ("accumulation", self.banner["accumulation"])]
        named = [f"{name} {number:,}" for name, number in factors if number is not None and number > 1]
        is_complete = self.steps_per_epoch and self.steps_per_epoch * (self.banner["num_epochs"] or 0) == self.banner["total_steps"]
        if not named or not is_complete or self.banner.max_steps_given or self.batches != next(variants(self))[1]:
            return ""
        return f": {self.banner['num_examples']:,} samples / ({' x '.join([f'micro batch {self.micro_batch:,}', *named])})"

    @property
    def disagreement(self) -> str:
        """How many numbers differ from the files, for the end of a line."""
        return f"; {counted(len(self.differences), 'number')} not as configured" if self.differences else ""


class ExplainedLog(Record):
    """What a log says: its training banners, why the training failed, and the files that it was compared with."""

    banners: list[LogExplanation]
    failures: list[Failure]
    files: list[str] = []


class Difference(Record):
    """A number with different values in a log and a configuration, with its place in the configuration."""

    key: str
    logged: int
    configured: int
    place: str


def explain(banner: TrainingBanner) -> LogExplanation:
    """Everything that follows from a banner's numbers."""
    explanation = LogExplanation(banner)
    find_devices(explanation)
    if banner.framework == HUGGINGFACE:
        find_releases(explanation)
    else:
        explanation.note = arguments_note(explanation)
    return explanation


def find_devices(found: LogExplanation) -> None:
    """The data-parallel size: global batch / (micro batch x accumulation)."""
    total, micro, accumulation = found.banner["global_batch"], found.micro_batch, found.banner["accumulation"]
    if not total and micro and accumulation and found.banner["gpus"] and "Unsloth" in found.banner.style:
        total = found.banner.numbers["global_batch"] = micro * accumulation * found.banner.numbers["gpus"]
    if not total or not micro or not accumulation:
        return
    if total % (micro * accumulation):
        found.note = f"the global batch {total:,} is not a multiple of micro batch {micro:,} x accumulation {accumulation:,}"
        return
    found.data_parallel = total // (micro * accumulation)


# ---- the Hugging Face trainer


def find_releases(found: LogExplanation) -> None:
    """Find the releases that compute the printed steps, and the calculation that does."""
    banner = found.banner
    missing = [name for name in NEEDED if banner[name] is None]
    if found.data_parallel is None or missing:
        found.note = found.note or f"cannot be reproduced: the log does not show {', '.join(missing)}{implied_batch(banner)}"
        return
    found.steps_per_epoch = banner["steps_per_epoch"]
    for calculation in (
        explain_unknown_length,
        *((explain_by_limit, explain_by_epochs) if banner.max_steps_given else (explain_by_epochs, explain_by_limit)),
    ):
        if calculation(found):
            break
    else:
        found.note = unexplained_note(found)
    if banner.paddle:
        found.note += "; the line has the format of PaddleNLP's trainer, which uses the same arithmetic"
    release = found.banner.release
    if not release or not found.consistent_with:
        return
    era = steps.CEIL_RELEASES if parse_version(release) >= steps.REST_COUNTED else steps.FLOOR_RELEASES
    agrees = "which agrees" if era in found.consistent_with else "which does NOT agree"
    found.note += f"; the log names transformers {release}, {agrees}"


def implied_batch(banner: TrainingBanner) -> str:
    """The global batch that samples, epochs and steps imply, where it is not printed; empty if it is, or if they imply none."""
    samples, epochs, total = (banner[name] or 0 for name in ("num_examples", "num_epochs", "total_steps"))
    if banner["global_batch"] is not None or not epochs or total % epochs or not 1 < total // epochs <= samples:
        return ""
    each = total // epochs
    up, down = (-(-samples // each), (samples - 1) // (each - 1)), (samples // (each + 1) + 1, samples // each)
    sizes = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in (up, down) if low <= high]
    rounded = f" ({sizes[1]} if a last incomplete batch is dropped)" if len(sizes) > 1 and sizes[0] != sizes[1] else ""
    return f"; {samples:,} samples in {each:,} steps per epoch are a global batch of {sizes[0]}{rounded}" if sizes else ""


def explain_unknown_length(found: LogExplanation) -> bool:
    """Explain a data set without a length: `max_steps` determines the run, and the samples follow from it."""
    banner = found.banner
    if banner["num_epochs"] != ENDLESS:
        return False
    total, size = banner["total_steps"] or 0, banner["global_batch"] or 0
    found.consistent_with = [releases for releases, _ in ERAS]
    found.steps_per_epoch = None
    samples = f"; its {banner['num_examples']:,} samples are {total:,} steps x {size:,}" if banner["num_examples"] == total * size else ""
    found.note = f"the data set has no length, so max_steps {total:,} determines the run{samples}; {ENDLESS:,} epochs means no limit"
    return True


def variants(found: LogExplanation) -> Iterator[tuple[str, int]]:
    """Yield (the setting that the run would need, batches per process and epoch), the default first."""
    samples, micro, processes = found.banner["num_examples"] or 0, found.micro_batch or 1, found.data_parallel or 1
    yield "", steps.batches_per_rank(samples, micro, processes)
    yield "dataloader_drop_last", steps.batches_per_rank(samples, micro, processes, drop_last=True)
    yield "split_batches (or a custom sampler)", steps.batches_per_rank(samples, micro, processes, split_batches=True)


def explain_by_epochs(found: LogExplanation) -> bool:
    """Explain the total by epochs times updates per epoch, rounded down or up."""
    banner = found.banner
    total, epochs, accumulation = banner["total_steps"] or 0, banner["num_epochs"] or 0, banner["accumulation"] or 1
    for setting, batches in variants(found):
        releases = steps.releases_giving(total, batches, accumulation, epochs)
        if releases:
            found.consistent_with, found.batches = releases, batches
            found.steps_per_epoch = found.steps_per_epoch or updates(releases, batches, accumulation)
            found.note = epochs_note(found, batches, setting)
            add_details(found, batches, setting)
            return True
    return False


def updates(releases: list[str], batches: int, accumulation: int) -> int | None:
    """The updates per epoch, where all these releases agree."""
    counts = {steps.updates_per_epoch(batches, accumulation, version) for name, version in ERAS if name in releases}
    return counts.pop() if len(counts) == 1 else None


def explain_by_limit(found: LogExplanation) -> bool:
    """Explain the total by `max_steps`, or a fraction of an epoch: any total that ends in the last epoch shown."""
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
    totals = " or ".join(f"{each:,}" for each in totals_of(epochs, batches, accumulation))
    cause = "max_steps is set" if banner.max_steps_given else "max_steps, or a fraction of an epoch"
    found.note = f"{cause}: {amount(epochs, 'complete epoch')} would take {totals} steps"
    found.details = [batches_line(found, batches, "")]
    return True


def epochs_note(found: LogExplanation, batches: int, setting: str) -> str:
    """Describe in one sentence how the printed total is computed."""
    banner = found.banner
    epochs, accumulation = banner["num_epochs"] or 0, banner["accumulation"] or 1
    condition = f"with {setting}: " if setting else ""
    if batches % accumulation == 0 or batches < accumulation:
        each = steps.updates_per_epoch(batches, accumulation)
        return f"{condition}{amount(each, 'update')} per epoch x {amount(epochs, 'epoch')}, the same in every release"
    down, up = batches // accumulation, -(-batches // accumulation)
    if steps.FLOOR_RELEASES in found.consistent_with:
        return (
            f"{condition}up to 4.51.3 the incomplete accumulation at the end of an epoch is not counted: "
            f"{batches:,} / {accumulation:,} is {down:,}, x {amount(epochs, 'epoch')}; from 4.52.0 it would be {up * epochs:,}"
        )
    return (
        f"{condition}from 4.52.0 the incomplete accumulation at the end of an epoch is counted: "
        f"{batches:,} / {accumulation:,} is {up:,}, x {amount(epochs, 'epoch')}; up to 4.51.3 it would be {down * epochs:,}"
    )


def batches_line(found: LogExplanation, batches: int, setting: str) -> tuple[str, str, str]:
    """The row with the batches per process and their formula."""
    samples, micro, processes = found.banner["num_examples"] or 0, found.micro_batch or 1, found.data_parallel or 1
    rounded = "rounded down" if setting.startswith("dataloader_drop_last") else "rounded up"
    if processes == 1 or setting.startswith("split"):
        return "batches per epoch", f"{batches:,}", f"{samples:,} / {micro:,}, {rounded}"
    return "batches per epoch", f"{batches:,}", f"per process, of {processes:,}: {samples:,} / {micro:,} / {processes:,}, {rounded}"


def add_details(found: LogExplanation, batches: int, setting: str) -> None:
    """The calculation from samples to total steps, with the effect of accumulation and of the training loop."""
    banner = found.banner
    total, epochs, accumulation = banner["total_steps"] or 0, banner["num_epochs"] or 0, banner["accumulation"] or 1
    found.details = [batches_line(found, batches, setting)]
    if found.steps_per_epoch:
        rounding = " rounded down" if found.steps_per_epoch * accumulation < batches else " rounded up" if batches % accumulation else ""
        how = f"{batches:,} / accumulation {accumulation:,}" + (f" = {batches / accumulation:,.3f},{rounding}" if rounding else "")
        found.details.append(("steps per epoch", f"{found.steps_per_epoch:,}", how))
    if accumulation > 1:
        found.details.append(("accumulation", "applied", f"without it the run would take {batches * epochs:,} steps"))
    if found.consistent_with == [steps.FLOOR_RELEASES] and batches % accumulation:
        found.details.extend(loop_ends(found, batches, total))


def loop_ends(found: LogExplanation, batches: int, total: int) -> Iterator[tuple[str, str, str]]:
    """The rows about where the training loop of old releases stopped: the printed total does not include all of its updates."""
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
        yield "data used", early, f"of {amount(epochs, 'epoch')} when the loop stops, up to 4.51"
        return
    yield "data used", early, f"of {amount(epochs, 'epoch')} when the loop stops, with transformers up to 4.45"
    yield "", late, "with 4.47 to 4.51"


def unexplained_note(found: LogExplanation) -> str:
    """Why the printed steps cannot be reproduced."""
    banner = found.banner
    epochs, accumulation = banner["num_epochs"] or 0, banner["accumulation"] or 1
    batches = next(variants(found))[1]
    totals = " or ".join(f"{total:,}" for total in totals_of(epochs, batches, accumulation))
    found.consistent_with = []
    found.details = [batches_line(found, batches, "")]
    return (
        f"cannot be reproduced: {epochs:,} epochs of {batches:,} batches, {accumulation:,} per step, are {totals} steps, "
        f"not {banner['total_steps']:,}; custom samplers, packing or collators change the number of batches"
    )


def totals_of(epochs: int, batches: int, accumulation: int) -> list[int]:
    """The total steps of complete epochs, in any release."""
    return sorted({epochs * steps.updates_per_epoch(batches, accumulation, version) for _, version in ERAS})


# ---- GPT-NeoX and DeepSpeed


def arguments_note(found: LogExplanation) -> str:
    """Describe the layout that follows from the printed arguments."""
    banner = found.banner
    gpus, tensor, pipe = banner["gpus"], banner["tensor_parallel"] or 1, max(banner["pipeline_parallel"] or 1, 1)
    notes = []
    if found.data_parallel is not None and gpus:
        divided = f" / tensor {tensor} / pipeline {pipe}" if banner.framework == NEOX else ""
        expected = gpus // tensor // pipe
        agrees = "agrees" if expected == found.data_parallel else f"would be {expected:,}"
        notes.append(f"the log shows {amount(gpus, 'GPU')}{divided}: {agrees} with the data-parallel size {found.data_parallel:,}")
    if banner["seq_length"] and banner["global_batch"]:
        notes.append(f"{banner['seq_length'] * banner['global_batch']:,} tokens per step")
    return "; ".join([*([found.note] if found.note else []), *notes]) or "only the batch sizes are printed"


# ---- a log against a configuration


COMPARED = (
    ("micro batch", "micro_batch"),
    ("accumulation", "accumulation"),
    ("global batch", "global_batch"),
    ("steps per epoch", "steps_per_epoch"),
    ("total steps", "total_steps"),
)


def compare(found: LogExplanation, resolved: dict[str, int | None], place: Callable[[str], str]) -> None:
    """Record the differences between a log and a configuration; `place` returns the source of a configured number."""
    logged = {
        "micro_batch": found.micro_batch,
        "accumulation": found.banner["accumulation"],
        "global_batch": found.banner["global_batch"],
        "steps_per_epoch": found.steps_per_epoch,
        "total_steps": found.banner["total_steps"],
    }
    for name, key in COMPARED:
        printed, configured = logged[key], resolved.get(key)
        if printed is None or configured is None:
            continue
        found.compared.append(name)
        if printed != configured:
            found.differences.append(Difference(name, printed, configured, place(key)))
    if (
        "total steps" in found.compared
        and not found.consistent_with
        and all(difference.key != "total steps" for difference in found.differences)
    ):
        found.details = []  # of the Trainer's own arithmetic, which does not give these steps
        found.note = f"the files compute the {found.banner['total_steps']:,} steps of the log ({place('total_steps')})"


def hint(found: LogExplanation) -> dict[str, int]:
    """The launch facts that a log contains: devices and training samples."""
    facts = {}
    if found.data_parallel is not None:
        gpus = found.banner["gpus"]
        facts["gpus"] = gpus if gpus and found.banner.framework == NEOX else found.data_parallel
    samples = found.banner["num_examples"]
    if samples and found.banner["num_epochs"] != ENDLESS:
        facts["num_examples"] = samples
    return facts
