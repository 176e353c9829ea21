"""The rules of Megatron-SWIFT: each failing check of `checks.py` is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.rule import pages_of_checks, rule
from cfglint.frameworks.swift.rules.arguments import failing

for page in pages_of_checks("megatron_swift"):
    rule(page)(lambda config, code=page: failing(config, code))
