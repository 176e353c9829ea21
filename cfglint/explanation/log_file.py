"""A training log as a file or as lines, and what it says."""

from __future__ import annotations

import io
import os
from functools import cached_property

from cfglint.explanation import failure_parser, failures, log_analysis, log_parser, trainer_state
from cfglint.explanation.failure_parser import Events
from cfglint.explanation.log_analysis import Difference, ExplainedLog, LogExplanation, hint
from cfglint.explanation.log_parser import TrainingBanner
from cfglint.explanation.speed import Speed, speed_in
from cfglint.explanation.summary import RunSummary, origin
from cfglint.findings.wording import counted
from cfglint.rewrite.plan import Pace
from cfglint.run.checked import CheckedRun
from cfglint.source import files
from cfglint.source.annotations import Callable, Iterable, Iterator

PROGRAMS = (".py", ".ipynb", ".sh")
LONGEST_LINE = 1_000_000  # characters; a progress bar writes all of its states into one
ENCODINGS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


class Log:
    """A log: its path, as it is shown, and its lines, which are read once for each question."""

    def __init__(self, path: str, piped: list[str] | None = None) -> None:
        self.path = path
        self.piped = piped

    @cached_property
    def state(self) -> tuple[LogExplanation | None, list[str] | None]:
        """What the state of a checkpoint says, and its lines; nothing of any other log."""
        found = trainer_state.read(self.path)
        return trainer_state.explain(*found), trainer_state.lines(*found)

    @cached_property
    def _read(self) -> tuple[list[TrainingBanner], bool, Events]:
        """Its banners, whether it has any mark of one, and what it says about a failure; each line is looked at once for all of them."""
        loader, reading = log_parser.Loader(), failure_parser.Reading()
        for block in log_parser.blocks(self.lines()):
            loader.take(block)
            reading.take(block)
        return loader.end(), loader.is_log, reading.end()

    @property
    def banners(self) -> list[TrainingBanner]:
        return self._read[0]

    @property
    def is_log(self) -> bool:
        return self._read[1]

    @property
    def events(self) -> Events:
        """What it says about a failure."""
        return self._read[2]

    def lines(self) -> Iterable[str]:
        if self.piped is not None:
            return self.piped
        _, logged = self.state
        return read_lines(self.path) if logged is None else logged

    @property
    def recognised(self) -> bool:
        """Whether the lines are those of a log: a training banner or the signs of a failure, which no config has, but programs write."""
        if self.path.endswith(PROGRAMS):
            return False
        try:
            return bool(self.state[0] or self.is_log or failures.of_events(self.events))
        except files.FileProblem:
            return False

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing but blanks."""
        return not any(map(str.strip, self.lines()))

    def explained(self, kind: str = "") -> ExplainedLog:
        """Its banners and failures, not compared with the files of a run; `kind` is that of the run, if it is known."""
        state, _ = self.state
        if state is not None:
            return ExplainedLog([state], failures.of_events(self.events, kind))
        banners = [log_analysis.explain(training_banner) for training_banner in self.banners]
        speed = self.speed(banners[-1].banner["total_steps"]) if banners else None
        if speed is not None:
            how = "of the whole run" if speed.is_whole else f"over {counted(speed.steps, 'step')}"
            banners[-1].details.append(("speed", speed.text, how))
        found = failures.of_events(self.events, kind)
        if not banners and (not found or found[0].kind == failures.NOTICE or failures.is_unexplained(found[0])):
            found = failures.beside(found, failures.in_fragment(self.lines())) or found or failures.notices(self.lines())
        return ExplainedLog(banners, found)

    def speed(self, total: int | None) -> Speed | None:
        """The speed of its last training, of so many steps."""
        return speed_in(self.lines(), total)

    def pace(self, price: float | None) -> Pace | None:
        """The speed and size of its last training, as a measurement for other runs; None if the log does not show them."""
        banner = next(iter(self.banners[-1:]), None)
        speed = self.speed(banner["total_steps"] if banner is not None else None)
        if speed is None:
            return None
        ranks = log_analysis.explain(banner).data_parallel if banner is not None else None
        batch = banner["global_batch"] if banner is not None else None
        share = batch / ranks if batch and ranks else None
        return Pace(speed.seconds_per_step, None, ranks, price, share, self.path)


def read_lines(path: str) -> Iterator[str]:
    """The lines of a log of any size, very long ones in parts; undecodable bytes are replaced. Raises FileProblem."""
    with os.fdopen(files.open_regular(path), "rb") as file:
        start = file.read(3)
        encoding = next((name for mark, name in ENCODINGS if start.startswith(mark)), "utf-8")
        file.seek(0)
        with io.TextIOWrapper(file, encoding, "replace", "\n") as text:
            yield from iter(lambda: text.readline(LONGEST_LINE), "")


def compare(found: ExplainedLog, run_with: Callable[[dict[str, int], float | None], CheckedRun]) -> None:
    """Compare a log with a run; `run_with` loads it with what the log tells, and the memory of a GPU in GiB."""
    for banner in found.banners:
        run = run_with(log_analysis.hint(banner), None)
        log_analysis.compare(banner, run.resolved, place_in(run))
        if run.launch.line is not None:
            configured = run.facts.gpus
            logged = hint(banner).get("gpus")
            if logged is not None and configured is not None and logged != configured:
                banner.differences.insert(0, Difference("GPUs", logged, configured, run.facts.gpus_source))
    if found.failures:
        from cfglint.explanation.failed_run import attach

        first = log_analysis.hint(found.banners[0]) if found.banners else {}
        card = next((failure.gpu_memory for failure in found.failures if failure.gpu_memory), None)
        run = run_with(first, card)
        attach(found.failures, (RunSummary(run, first["gpus"]).what_if or run) if "gpus" in first else run)  # on the GPUs of the log


def place_in(run: CheckedRun) -> Callable[[str], str]:
    """Return a function that gives the origin of a number of a run."""
    account = RunSummary(run)
    places = {str(item.setting.path[-1]): origin(item) for item in account.items}
    batch = run.batch
    for name in ("micro_batch", "accumulation", "global_batch") if batch is not None else ():
        setting = getattr(batch, name)
        places[name] = places.get(str(setting.path[-1]), setting.place)
    if run.facts.gpus_source == "the log" and batch is not None and not batch.global_batch.written:
        places["global_batch"] += f", on the {counted(run.facts.gpus or 0, 'GPU')} of the log"
    return lambda name: places.get(name, "derived")
