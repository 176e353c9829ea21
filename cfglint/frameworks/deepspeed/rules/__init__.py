"""DeepSpeed's start-up checks and silent traps."""
