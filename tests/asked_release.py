"""Tests ask an earlier release as if it were the newest: those that a release of a framework changed, and have not been written anew."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from cfglint import frameworks
from cfglint.frameworks.releases import _dates
from cfglint.frameworks.releases import _modelled as _releases
from cfglint.frameworks.releases.versions import parse_version

# Test -> package -> the release that it was written for; tools/example_releases.py adds to it.
PINNED = json.loads((Path(__file__).parent / "pinned_tests.json").read_text(encoding="utf-8"))
AS_OF = "CFGLINT_AS_OF"  # package==release: every test asks it


def asked_by(name):
    """The releases that a test asks as the newest ones."""
    every = os.environ.get(AS_OF)
    return {**PINNED.get(name, {}), **dict([every.split("==")] if every else ())}


def ask(package, release, patch):
    """Let a release be the newest known one of its package, for as long as the patches last."""
    newest = _releases.RELEASES[package]
    patch.setitem(_releases.RELEASES, package, release)
    known = _dates.RELEASES[package].split()
    older = [each for each in known if parse_version(each.partition("@")[0]) <= parse_version(release)]
    patch.setitem(_dates.RELEASES, package, " ".join(older))
    for own in frameworks.of_package(package):
        patch.setattr(own, "newest", release)
        for module in [each for name, each in sys.modules.items() if name.startswith(f"cfglint.frameworks.{own.kind}")]:
            if getattr(module, "NEWEST", None) == newest:
                patch.setattr(module, "NEWEST", release)
