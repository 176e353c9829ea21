"""Hold the last line of a comparison with recorded reports to the figures that are promised.

    thresholds.py incidents|review LINE

Exits 1, naming the figure, when one is missed.
"""

from __future__ import annotations

import re
import sys

# name -> (pattern of `right/all`, least fraction)
FRACTIONS = {
    "incidents": [(r"incidents \d+: exact (\d+)/(\d+)", 0.85), (r"without run\.sh: exact (\d+)/(\d+)", 0.8)],
    "review": [(r"config (\d+)/(\d+)", 0.95), (r"broken (\d+)/(\d+)", 0.8), (r"script (\d+)/(\d+)", 0.85)],
}
# name -> patterns of counts that have to be 0
ZERO = {
    "incidents": [r"forbidden (\d+)", r"exit 0 though it must fail (\d+)/"],
    "review": [r"false sentences (\d+)", r"not run (\d+)"],
}


def missed(name: str, line: str) -> list[str]:
    """The figures of a line that do not hold, in words."""
    found: list[str] = []
    for pattern, least in FRACTIONS[name]:
        match = re.search(pattern, line)
        if match is None or int(match[1]) < least * int(match[2]):
            found.append(f"{match[0] if match else pattern}: at least {least:.0%} is promised")
    for pattern in ZERO[name]:
        match = re.search(pattern, line)
        if match is None or match[1] != "0":
            found.append(f"{match[0] if match else pattern}: has to be 0")
    return found


if __name__ == "__main__":
    problems = missed(sys.argv[1], sys.argv[2])
    print("\n".join(problems) or f"{sys.argv[1]}: all figures hold")
    raise SystemExit(bool(problems))
