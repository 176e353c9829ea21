"""Findings: diagnostics, fixes, rules and their pages, fingerprints."""
