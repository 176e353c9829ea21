#!/usr/bin/env python3
"""Writes the public address, the version and the publisher of `tools/publish.toml` into every file that waits for them.

python tools/publish.py [--check]

`--check` needs no address: it fails if one of these places is not as it is expected here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cfglint.version import __version__

ROOT = Path(__file__).parent.parent
GIVEN = Path(__file__).with_suffix(".toml")
# (file, what it has, what it gets)
PLACES = (
    ("cfglint/version.py", f'"{__version__}"', '"{version}"'),
    ("editors/vscode/package.json", f'"version": "{__version__}"', '"version": "{version}"'),
    ("editors/vscode/package.json", '"publisher": "unpublished",\n  "private": true,', '"publisher": "{publisher}",'),
    ("editors/vscode/package.json", "https://example.org/your/clone/of/cfglint.git", "{repository}.git"),
    (
        "editors/vscode/README.md",
        "The extension is not published; its publisher and repository are placeholders. Build it from a clone:",
        "It is `{publisher}.cfglint` in the marketplaces. From a clone:",
    ),
    (
        "docs/editors.md",
        "It is not published; build and install it from a clone:",
        "It is `{publisher}.cfglint` in the marketplaces; from a clone:",
    ),
    ("docs/integrations.md", "your/clone-of-cfglint@0123456789abcdef0123456789abcdef01234567", "{name}@v{version}"),
    (
        "docs/integrations.md",
        "  - repo: ../cfglint   # your clone: cfglint has no public address yet\n    rev: main   # better: a commit",
        "  - repo: {repository}\n    rev: v{version}",
    ),
    (
        "README.md",
        "  - repo: ../cfglint   # your clone\n    rev: main",
        "  - repo: {repository}\n    rev: v{version}",
    ),
    (
        "README.md",
        "The distribution will be `cfglint-train`; `cfglint` on the package index is a different project.",
        "`pipx install cfglint-train` installs the release; `cfglint` on the package index is a different project.",
    ),
    ("CHANGELOG.md", "## Unreleased", "## {version} ({date})"),
    ("mkdocs.yml", "site_name: cfglint\n", "site_name: cfglint\nrepo_url: {repository}\n"),
    ("pyproject.toml", "\n[project.scripts]", '\n[project.urls]\nRepository = "{repository}"\nRules = "{pages}"\n\n[project.scripts]'),
)


def misplaced(root: Path) -> list[str]:
    """The places that are not, exactly once, as they are expected."""
    return [f"{name}: {before}" for name, before, _ in PLACES if (root / name).read_text(encoding="utf-8").count(before) != 1]


def write(root: Path, given: dict[str, str]) -> None:
    """Write what a person filled in."""
    words = {**given, "name": "/".join(given["repository"].rstrip("/").split("/")[-2:])}
    words["pages"] = given["pages"] or f"{given['repository']}/blob/v{given['version']}/docs/rules.md"
    for name, before, after in PLACES:
        path = root / name
        path.write_text(path.read_text(encoding="utf-8").replace(before, after.format(**words)), encoding="utf-8")


def main() -> int:
    """Check or write; exit status 1 if a place is not as expected, or something is not filled in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only look for the places")
    import tomllib  # of Python 3.11

    check = parser.parse_args().check
    given = tomllib.loads(GIVEN.read_text(encoding="utf-8"))
    wrong = misplaced(ROOT)
    missing = [] if check else [f"{GIVEN.name}: `{key}` is empty" for key, value in given.items() if not value and key != "pages"]
    for each in (*wrong, *missing):
        print(each, file=sys.stderr)
    if not wrong and not missing and not check:
        write(ROOT, given)
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
