"""Figures as tables, and as the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path

from plots import plot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Figures = dict[str, Any]

TEMPLATE = Path(__file__).with_name("README.template.md")
ABSENT = "The frameworks are not installed here."
FOLDER = "results"  # beside the page: the plots, and the figures that all of it is made from


def files(figures: Figures) -> dict[str, str]:
    """The page, its plots and its figures, by their paths below `benchmarks`."""
    made = {"README.md": page(figures), f"{FOLDER}/figures.json": json.dumps(figures, indent=1) + "\n"}
    return {**made, **{f"{FOLDER}/{name}.svg": plot(growth) for name, growth in figures["growth"].items()}}


def page(figures: Figures) -> str:
    """The template with every `{{name}}` in it filled."""
    text = TEMPLATE.read_text(encoding="utf-8")
    tables = {name: shown(table) for name, table in figures["tables"].items()}
    growths = {f"growth-{name}": grown(growth) for name, growth in figures["growth"].items()}
    facts = {
        "machine": machine(figures),
        "targets": targets(figures),
        "shared": shared(figures),
        "today": "The frameworks are not installed here.",
    }
    for name, filling in {**facts, **tables, **growths}.items():
        text = text.replace("{{" + name + "}}", filling)
    return text


def machine(figures: Figures) -> str:
    """What the figures depend on, in one sentence."""
    facts, versions = figures["machine"], figures["versions"]
    with_versions = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{facts['cores']} cores, {facts['system']}, Python {facts['python']}; {with_versions}."


def shown(table: dict[str, Any]) -> str:
    """A table of commands."""
    lines = [f"**{table['title']}** ({table['note']}; median of {table['rounds']} rounds; {table['date']})", ""]
    width = max(len(row["command"]) for row in table["rows"])
    lines.append(f"| {'command':<{width}} | ratio |   +- |   cpu |     ms |    +- |  MB |")
    lines.append(f"|:{'-' * width}-|------:|-----:|------:|-------:|------:|----:|")
    for row in table["rows"]:
        ratio = f"{row['ratio']:5.1f} | {row['ratio_spread']:4.1f} | {row['processor_ratio']:5.1f}"
        time = f"{1000 * row['seconds']:6.0f} | {1000 * row['seconds_spread']:5.1f}"
        lines.append(f"| {row['command']:<{width}} | {ratio} | {time} | {row['megabytes']:3.0f} |")
    return "\n".join(lines)


def grown(growth: dict[str, Any]) -> str:
    """A table of how cost grows, a line a point."""
    lines = [f"**{growth['title']}** (median of {growth['rounds']} rounds; {growth['date']})", ""]
    lines.append(f"| line           | {growth['unit']:>13} |     ms |    +- | us each further |   MB |")
    lines.append("|:---------------|--------------:|-------:|------:|----------------:|-----:|")
    for name, points in growth["lines"].items():
        for point in points:
            each = f"{1e6 * point['each']:.2f}" if "each" in point else ""
            time = f"{1000 * point['seconds']:6.0f} | {1000 * point['spread']:5.1f}"
            lines.append(f"| {name:<14} | {point['x']:>13,} | {time} | {each:>15} | {point['megabytes']:4.0f} |")
    return "\n".join(lines)


def shared(figures: Figures) -> str:
    """What two processes need of the time of one."""
    lines = [
        "|  files | time |   +- | processor, longer process | processor, both |",
        "|-------:|-----:|-----:|--------------------------:|----------------:|",
    ]
    for point in figures["growth"]["files"]["shared"]:
        measured = f"{point['ratio']:.2f} | {point['spread']:.2f} | {point['longest']:25.2f} | {point['processor']:15.2f}"
        lines.append(f"| {point['x']:>6,} | {measured} |")
    return "\n".join(lines)


def targets(figures: Figures) -> str:
    """What was asked for, beside what was measured."""
    lines = ["| asked | measured | |", "|:------|---------:|:--|"]
    for text, limit, value, more in asked(figures):
        held = value >= limit if more else value <= limit
        lines.append(f"| {text} | {value:.{1 if value >= 1 else 2}f} | {'yes' if held else '**no**'} |")
    return "\n".join(lines)


def asked(figures: Figures) -> list[tuple[str, float, float, bool]]:
    """(what is asked, the limit, what was measured, whether more is better)."""
    start, many = by_command(figures["tables"]["start"]), by_command(figures["tables"]["yaml-3000"])
    json_file, yaml_file = start["cfglint check, one JSON file"], start["cfglint check, one YAML file"]
    whole, root = many["cfglint check --format json"], by_command(figures["tables"]["repository"])
    return [
        ("one JSON file: at most 3 times `python -c pass`", 3, json_file["ratio"], False),
        ("one YAML file: at most 4 times `python -c pass`", 4, yaml_file["ratio"], False),
        ("3,000 YAML files: 10 times faster than yamllint, as measured", 10, many["yamllint"]["ratio"], True),
        ("the same on two free cores, estimated", 10, on_free_cores(figures, many["yamllint"]), True),
        ("3,000 YAML files: 8 times faster than check-jsonschema, as measured", 8, many["check-jsonschema"]["ratio"], True),
        ("the same on two free cores, estimated", 8, on_free_cores(figures, many["check-jsonschema"]), True),
        ("the root of a repository: 10 times faster than check-jsonschema, as measured", 10, root["check-jsonschema"]["ratio"], True),
        ("the same in processor time", 10, whole_repository(figures), True),
        ("memory of each file of it beyond the configs, to check-jsonschema's: at most a tenth", 0.1, memory_of_others(figures), False),
        ("one file: at most 30 MB", 30, max(json_file["megabytes"], yaml_file["megabytes"]), False),
        ("3,000 files with `--format json`: at most 60 MB, all processes together", 60, whole["megabytes"], False),
    ]


def whole_repository(figures: Figures) -> float:
    """check-jsonschema's processor time for the root of a repository as a ratio to that of one process of cfglint."""
    rows = by_command(figures["tables"]["repository"])
    ratio: float = rows["check-jsonschema"]["processor_ratio"] / rows["cfglint check --jobs 1"]["processor_ratio"]
    return ratio


def memory_of_others(figures: Figures) -> float:
    """What the files that are no configs add to the memory of cfglint, as a ratio to what they add to check-jsonschema's."""
    megabytes = {command: row["megabytes"] for command, row in by_command(figures["tables"]["repository"]).items()}
    ours = megabytes["cfglint check --jobs 1"] - megabytes["cfglint check --jobs 1, some configs of it"]
    ratio: float = ours / (megabytes["check-jsonschema"] - megabytes["check-jsonschema, the same configs"])
    return ratio


def on_free_cores(figures: Figures, peer: dict[str, Any]) -> float:
    """A peer's processor time as a ratio to that of the longer one of two processes of cfglint."""
    one = by_command(figures["tables"]["yaml-3000"])["cfglint check --jobs 1"]
    (longest,) = [point["longest"] for point in figures["growth"]["files"]["shared"] if point["x"] == 3000]
    ratio: float = peer["processor_ratio"] / one["processor_ratio"] / longest
    return ratio


def by_command(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of a table by what they measure."""
    return {row["command"]: row for row in table["rows"]}
