#!/usr/bin/env python3
"""Writes LICENSES.md: the licences of the packages that cfglint installs, with their texts, from an environment that has them.

    python tools/licences.py [--check]

--check writes nothing and exits 1 where an installed package is missing from the file.
"""

from __future__ import annotations

import argparse
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
FILE = ROOT / "LICENSES.md"
HEAD = """\
# Licences of the packages that cfglint installs

cfglint itself is under the Apache License 2.0 (`LICENSE`). pip installs these packages with it; its own distribution has none of
their code. Written by `tools/licences.py`.

`cfglint/frameworks/KIND/_rows.py` states the checks of a framework in a notation of cfglint's own; of the framework's text it has the
messages that a user sees, which findings quote: those of transformers, TRL, LLaMA-Factory, verl, accelerate, ms-swift, GPT-NeoX and
OpenRLHF (Apache License 2.0), and of axolotl (Apache License 2.0; some of its `integrations` are under the Axolotl Community License).
"""
ENVIRONMENTS = ({"extra": ""}, {"extra": "", "python_version": "3.10", "python_full_version": "3.10.0"})
TEXTS = re.compile(r"(?i)(^|/)(licen[cs]e|copying|notice)[^/]*$")


def main() -> int:
    """Write the file, or compare its packages with those of the environment."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a package is missing")
    options = parser.parse_args()
    found = sorted(installed("cfglint-train"), key=lambda each: each.metadata["Name"].lower())
    if options.check:
        listed = re.findall(r"^## (\S+)$", FILE.read_text(encoding="utf-8"), re.MULTILINE)
        missing = sorted({each.metadata["Name"] for each in found} - set(listed))
        print("".join(f"LICENSES.md lacks {name}\n" for name in missing), end="")
        return int(bool(missing))
    FILE.write_text("\n".join([HEAD, *map(section, found)]), encoding="utf-8")
    return 0


def installed(name: str) -> list[Distribution]:
    """The distributions that a package requires without extras, and those that these require."""
    found: dict[str, Distribution] = {}
    waiting = [name]
    while waiting:
        for text in distribution(waiting.pop()).requires or []:
            requirement = Requirement(text)
            if requirement.marker is not None and not any(requirement.marker.evaluate(each) for each in ENVIRONMENTS):
                continue
            key = requirement.name.lower().replace("_", "-")
            if key not in found:
                try:
                    found[key] = distribution(requirement.name)
                except PackageNotFoundError:
                    continue
                waiting.append(requirement.name)
    return [*found.values()]


def section(package: Distribution) -> str:
    """The name, address and licence texts of a package."""
    meta = package.metadata
    classifiers = [each.rpartition(" :: ")[2] for each in meta.get_all("Classifier") or [] if each.startswith("License :: ")]
    licence = ", ".join(meta.get_all("License-Expression") or classifiers or meta.get_all("License") or ["see below"])
    texts = [path.read_text(encoding="utf-8") for path in package.files or [] if TEXTS.search(str(path)) and ".dist-info" in str(path)]
    body = "\n".join(f"```text\n{text.strip()}\n```\n" for text in dict.fromkeys(texts)) or "The distribution has no text of its licence.\n"
    return f"## {meta['Name']}\n\nLicence: {licence.strip().splitlines()[0]}\n\n{body}"


if __name__ == "__main__":
    raise SystemExit(main())
