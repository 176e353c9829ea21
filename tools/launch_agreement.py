"""The figures of launch_agree.py without the recordings that are known to be wrong.

    launch_agreement.py FILE OUTPUT

FILE is what `launch_agree.py --json FILE` wrote, OUTPUT what it printed. Recordings that bash or the real framework contradict are
named in `tests/conformance/launch_disputed.json`, by case and figure, each with what really happens. Prints the last line of the
comparison with the figures of the rest, for `thresholds.py launches`. Exits 1 for a dispute that is settled and still listed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter

DISPUTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "conformance", "launch_disputed.json")
FIGURES = ("found", "sizes", "files", "values", "outcome")


def figures(wrong: list[dict[str, str]], output: str, disputed: dict[str, dict[str, str]]) -> tuple[str, list[str]]:
    """(the line of figures, disputes that are settled)."""
    left = Counter(entry["what"] for entry in wrong)
    open_disputes = Counter(entry["what"] for entry in wrong if entry["what"] in disputed.get(entry["id"], ()))
    parts: list[str] = []
    for name in FIGURES:
        asked = int(re.search(rf"^{name} .*% of (\d+)$", output, re.MULTILINE)[1]) - open_disputes[name]  # type: ignore[index]
        right = asked - (left[name] - open_disputes[name])
        parts.append(f"{name} {100.0 * right / max(1, asked):.1f}%")
    reported = int(re.search(r"^invented \d+ of (\d+) runs$", output, re.MULTILINE)[1])  # type: ignore[index]
    found = {(entry["id"], entry["what"]) for entry in wrong}
    settled = [f"{case} {what}" for case, whats in disputed.items() for what in whats if (case, what) not in found]
    invented = left["invented"] - open_disputes["invented"]
    return f"launch lines: {' '.join(parts)}, invented {invented} of {reported} ({sum(open_disputes.values())} disputed)", settled


def main() -> int:
    """Print the figures; 0 when every dispute is still one."""
    with open(sys.argv[1], encoding="utf-8") as file:
        wrong = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        output = file.read()
    with open(DISPUTED, encoding="utf-8") as file:
        line, settled = figures(wrong, output, json.load(file))
    for each in settled:
        print(f"agrees now, remove it from the disputed ones: {each}")
    print(line)
    return int(bool(settled))


if __name__ == "__main__":
    raise SystemExit(main())
