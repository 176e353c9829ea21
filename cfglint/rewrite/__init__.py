"""Changes to files: fixes applied, a target global batch reached, plans for other GPU counts."""
