"""Findings: diagnostics, fixes, the rule decorator, fingerprints."""
