"""The rules of DeepSpeed: start-up checks, and settings that are silently ignored or overridden."""
