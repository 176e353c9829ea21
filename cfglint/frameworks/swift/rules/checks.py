"""Rules about ms-swift's own checks: each failing check of `swift/checks.py` is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.rule import pages_of_checks, rule
from cfglint.frameworks.swift.rules import failing

for page in pages_of_checks("swift"):
    rule(page)(lambda config, code=page: failing(config, code))
