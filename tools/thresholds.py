"""Hold the last line of a comparison with recorded reports to its figures.

    thresholds.py accelerate|arguments|incidents|launches|loops|places|programs|resumptions|review|wild LINE

Exits 1, naming the figure, when one is missed. The figures are those that are promised or reached. Launches are counted without
the disputed recordings (`launch_agreement.py`).
"""

from __future__ import annotations

import re
import sys

# name -> (pattern of `right/all`, least fraction)
FRACTIONS = {
    "incidents": [(r"incidents \d+: exact (\d+)/(\d+)", 0.92), (r"without run\.sh: exact (\d+)/(\d+)", 0.91)],
    "review": [
        (r"runs: right (\d+)/(\d+)", 0.9),
        (r"config (\d+)/(\d+)", 0.935),  # one records no former ZeRO stage, nor its precision, where the removed file has both
        (r"broken (\d+)/(\d+)", 0.86),
        (r"script (\d+)/(\d+)", 0.9),
    ],
}
# name -> {word: least percentage}
PERCENTAGES: dict[str, dict[str, float]] = {
    "arguments": {"agree": 99},
    # Of a program outside of the project, fewer than three names of the Trainer give no numbers, which the recordings have.
    "launches": {"found": 99, "sizes": 98.5, "files": 99, "values": 96, "outcome": 92.5},
}
# name -> (pattern of a number, the least that it may be)
LEAST: dict[str, list[tuple[str, float]]] = {
    "accelerate": [(r"accelerate files: (\d+) of", 28)],
    "loops": [(r"loops: right (\d+)", 150)],
    "places": [(r"reach: ([\d.]+) %", 99.5)],
    "resumptions": [(r"resume: ([\d.]+)%", 94.5)],  # the rest hangs on what no file of a checkpoint says
}
# name -> (pattern of `part of all`, largest fraction)
SMALL = {"launches": [(r"invented (\d+) of (\d+)", 0.025)]}
# name -> (pattern of a count, largest number)
MOST = {
    # Reports that state no release, or whose program may get an optimizer in code: their findings are warnings.
    "incidents": [(r"exit 0 though it must fail (\d+)/", 9)],
    # The recorder replaces the trainer that refuses one program; one records the epochs of a trainer that counts episodes, and one the
    # default optimizer of the newest torch, where the project states 2.6.0 (transformers 5.23.0 training_args.py: fused from 2.8 on).
    "programs": [
        (r"verdicts: right \d+, false (\d+)", 3),  # one accepts `from transformers import AdamW` at 4.51.3, which raises an ImportError
        (r"missed (\d+)", 2),
        (r"values: right \d+, null (\d+)", 59),
        (r"values: right \d+, null \d+, wrong (\d+)", 8),
    ],
}
# name -> patterns of counts that have to be 0
ZERO = {
    "accelerate": [r"false (\d+)"],
    "arguments": [r"false +(\d+)", r"wrong (\d+)"],
    "loops": [r"loops: right \d+ null \d+ wrong (\d+)", r"verdicts right \d+ false (\d+)", r"fix exact \d+ refused \d+ wrong (\d+)"],
    "places": [r"false (\d+)"],
    "resumptions": [r"false refusals (\d+)"],
    "incidents": [r"forbidden (\d+)"],
    "programs": [r"internal errors (\d+)", r"batch: right \d+, unknown \d+, wrong (\d+)"],
    "wild": [r"false errors (\d+) of"],
    "review": [r"false sentences (\d+)", r"not run (\d+)"],
}


def missed(name: str, line: str) -> list[str]:
    """The figures of a line that do not hold, in words."""
    found: list[str] = []
    for word, lowest in PERCENTAGES.get(name, {}).items():
        match = re.search(rf"\b{word} ([\d.]+)%", line)
        if match is None or float(match[1]) < lowest:
            found.append(f"{match[0] if match else word}: at least {lowest} % has to hold")
    for pattern, most in SMALL.get(name, []):
        match = re.search(pattern, line)
        if match is None or int(match[1]) > most * int(match[2]):
            found.append(f"{match[0] if match else pattern}: at most {most:.0%} may be")
    for pattern, lowest in LEAST.get(name, []):
        match = re.search(pattern, line)
        if match is None or float(match[1]) < lowest:
            found.append(f"{match[0] if match else pattern}: at least {lowest} has to hold")
    for pattern, least in FRACTIONS.get(name, []):
        match = re.search(pattern, line)
        if match is None or int(match[1]) < least * int(match[2]):
            found.append(f"{match[0] if match else pattern}: at least {least:.0%} has to hold")
    for pattern, largest in MOST.get(name, []):
        match = re.search(pattern, line)
        if match is None or int(match[1]) > largest:
            found.append(f"{match[0] if match else pattern}: at most {largest} may be")
    for pattern in ZERO.get(name, []):
        match = re.search(pattern, line)
        if match is None or match[1] != "0":
            found.append(f"{match[0] if match else pattern}: has to be 0")
    return found


if __name__ == "__main__":
    problems = missed(sys.argv[1], sys.argv[2])
    print("\n".join(problems) or f"{sys.argv[1]}: all figures hold")
    raise SystemExit(bool(problems))
