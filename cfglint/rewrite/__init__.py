"""Changes to files: fixes are applied, a target global batch is reached, plans are made for other GPU counts."""
