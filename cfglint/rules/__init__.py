"""The rules that belong to no single framework, and the engine that runs all rules over a config."""
