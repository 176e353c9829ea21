"""The arguments of a command: how its parser reads them, and the config that they are."""
