"""How cost grows: with the number of files, with the size of one, with the number of declared runs."""

from __future__ import annotations

import statistics
from datetime import date

import inputs
from measuring import Subject, ratios, rounds, spread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tables import Bench

    Line = list[tuple[int, Subject]]
    Growth = dict[str, Any]  # title, unit, lines: {name: [point]}

FILES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
BYTES = (1000, 10_000, 100_000, 1_000_000, 5_000_000)
RUNS = (1, 10, 100, 1000, 10_000)


def files(bench: Bench) -> Growth:
    """Folders of more and more files, with one process and with two."""
    folders = [(count, bench.sources[".yaml"].fill(bench.scratch / f"folder-{count}", count)) for count in FILES]
    options = {"one process": "1", "two processes": "2"}
    lines = {
        name: [(count, bench.cfglint(name, folder, "check", ".", "--jobs", jobs)) for count, folder in folders]
        for name, jobs in options.items()
    }
    grown = measured("A folder of more and more files", "YAML files", lines, bench.few)
    grown["shared"] = [shared(count, one, two) for (count, one), (_, two) in zip(*lines.values(), strict=True)]
    return grown


def shared(count: int, one: Subject, two: Subject) -> dict[str, float]:
    """What two processes need of the time of one, round by round."""
    needs = {
        "ratio": ratios(two.seconds, one.seconds),
        "longest": ratios(two.longest, one.longest),
        "processor": ratios(two.processor, one.processor),
    }
    return {"x": count, "spread": spread(needs["ratio"]), **{name: statistics.median(each) for name, each in needs.items()}}


def size(bench: Bench) -> Growth:
    """One file that gets larger and larger, up to the limit."""
    folder = bench.scratch / "large"
    folder.mkdir()
    lines = {
        title: [(size, bench.cfglint(title, folder, "check", inputs.large(folder, suffix, size).name)) for size in BYTES]
        for title, suffix in (("YAML", ".yaml"), ("JSON", ".json"))
    }
    return measured("One file that gets larger and larger", "bytes", lines, bench.few)


def runs(bench: Bench) -> Growth:
    """More and more declared runs."""
    line = [(count, bench.cfglint("", inputs.declared(bench.scratch / f"declared-{count}", count), "check")) for count in RUNS]
    return measured("More and more declared runs", "declared runs", {"declared runs": line}, bench.few)


def measured(title: str, unit: str, lines: dict[str, Line], count: int) -> Growth:
    """The lines measured, point by point in turn."""
    rounds([subject for line in lines.values() for _, subject in line], count)
    return {
        "title": title,
        "unit": unit,
        "rounds": count,
        "date": str(date.today()),
        "lines": {name: points(line) for name, line in lines.items()},
    }


def points(line: Line) -> list[dict[str, float]]:
    """What each point costs, and what each further piece has cost since the point before."""
    found: list[dict[str, float]] = []
    for x, subject in line:
        seconds = statistics.median(subject.seconds)
        point = {"x": x, "seconds": seconds, "spread": spread(subject.seconds), "megabytes": subject.kilobytes / 1024}
        if found:
            point["each"] = (seconds - found[-1]["seconds"]) / (x - found[-1]["x"])
        found.append(point)
    return found


def everything(bench: Bench, show: Any) -> dict[str, Growth]:
    """All growths by name, each shown as soon as it is there."""
    found = {}
    for name, make in {"files": files, "size": size, "runs": runs}.items():
        found[name] = make(bench)
        show(found[name])
    return found
