"""The memory of a run: the model's shape, the settings that decide, and the estimate."""
