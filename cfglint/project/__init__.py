"""The settings of a repository for its runs: settings file, pinned versions, selection, suppression, baseline, policy schemas."""
