"""The rules that belong to no single framework, and what runs all of them over a config."""
