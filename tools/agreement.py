"""Judge the disagreements that `agree.py --json FILE` wrote: only those whose recording is disputed may be there.

    agreement.py FILE

`tests/conformance/disputed.json` names them, each with what the real framework says. Exits 1 for a
disagreement that is not disputed, and for a dispute that is settled and still on the list.
"""

from __future__ import annotations

import json
import os
import sys

DISPUTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "conformance", "disputed.json")


def main() -> int:
    """Print what is wrong; 0 when nothing is."""
    with open(sys.argv[1], encoding="utf-8") as file:
        found = {entry["id"] for entry in json.load(file)}
    with open(DISPUTED, encoding="utf-8") as file:
        disputed = set(json.load(file))
    for case in sorted(found - disputed):
        print(f"disagrees: {case}")
    for case in sorted(disputed - found):
        print(f"agrees now, take it off the list of disputes: {case}")
    print(f"{len(found & disputed)} disagreements, all disputed" if found <= disputed else f"{len(found - disputed)} disagreements")
    return int(found != disputed)


if __name__ == "__main__":
    raise SystemExit(main())
