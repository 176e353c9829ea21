"""What a repository says of its runs: settings file, pinned versions, selection, suppression, baseline, policy schemas."""
