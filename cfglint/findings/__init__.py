"""What a finding is: diagnostics, fixes, the rule decorator, fingerprints."""
