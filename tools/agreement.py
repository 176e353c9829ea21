"""Judge the disagreements that `agree.py --json FILE` wrote: none may be there.

    agreement.py FILE

Recordings that the real framework contradicts are named in `tests/conformance/disputed.json`, each with what the real
framework does. Exits 1 for a disagreement that is not disputed, and for a dispute that is settled and still listed.
"""

from __future__ import annotations

import json
import os
import sys

DISPUTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "conformance", "disputed.json")


def main() -> int:
    """Print each wrong entry; 0 when there is none."""
    with open(sys.argv[1], encoding="utf-8") as file:
        found = {entry["id"] for entry in json.load(file)}
    with open(DISPUTED, encoding="utf-8") as file:
        disputed = set(json.load(file))
    for case in sorted(found - disputed):
        print(f"disagrees: {case}")
    for case in sorted(disputed - found):
        print(f"agrees now, remove it from the disputed ones: {case}")
    print(f"{len(found)} disagreements, {len(found & disputed)} of them disputed")
    return int(found != disputed)


if __name__ == "__main__":
    raise SystemExit(main())
