"""The values of a composed config by their dotted keys, resolved."""

from __future__ import annotations

import functools

from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, ConfigMapping, ConfigValue, Mapping, Operand
from cfglint.source.hydra.interpolation import MISSING, ResolutionError, Resolver


class ComposedConfig:
    """A composed config: what the checks and the sizes of a run are computed from, at a release of verl."""

    def __init__(self, values: ConfigMapping, facts: LaunchFacts, release: Version) -> None:
        self.values = values
        self.facts = facts
        self.release = release
        self._resolver = Resolver(values)

    def replaced(self, values: Mapping[str, ConfigValue]) -> ComposedConfig:
        """The tree with other values of some dotted keys."""
        top = dict(self.values)
        for key, value in values.items():
            inner = top
            *sections, name = key.split(".")
            for section in sections:
                below = inner.get(section)
                inner[section] = inner = dict(below) if isinstance(below, dict) else {}
            inner[name] = value
        return ComposedConfig(top, self.facts, self.release)

    def value(self, key: str, default: ConfigValue = None) -> Operand:
        """The resolved value of a dotted key; Unknown if it cannot be known or resolved, or is a mandatory value that is missing."""
        try:
            value = self._resolver.get(tuple(key.split(".")), default)
        except ResolutionError as problem:
            return Unknown(Reason("file", str(problem)))
        return Unknown(Reason("argument", "a mandatory value")) if value == MISSING else value

    @functools.cached_property
    def resolved(self) -> ConfigMapping:
        """All values, resolved; Unknown where that cannot be done, and for mandatory values that are missing."""

        def resolved(value: Any, path: tuple[Any, ...]) -> Any:
            if isinstance(value, dict):
                return {key: resolved(item, (*path, key)) for key, item in value.items()}
            if isinstance(value, list):
                return [resolved(item, (*path, index)) for index, item in enumerate(value)]
            return self.value(".".join(map(str, path))) if isinstance(value, str) and ("${" in value or value == MISSING) else value

        return {key: resolved(item, (key,)) for key, item in self.values.items()}

    def has(self, key: str) -> bool:
        return self._resolver.has(tuple(key.split(".")))

    def is_missing(self, key: str) -> bool:
        """Whether a key is a mandatory value that nothing sets."""
        try:
            return bool(self._resolver.get(tuple(key.split("."))) == MISSING)
        except ResolutionError:
            return False

    def raw(self, key: str) -> Operand:
        """The value of a dotted key as it is composed, with its references; None if there is none."""
        value: ConfigValue = self.values
        for step in key.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def integer(self, key: str, default: int | None = None) -> int | None:
        """The value of a dotted key if it is an integer, else None."""
        value = self.value(key, default)
        return value if type(value) is int else None

    def total_steps(self, per_epoch: int | None) -> int | None:
        """The steps of the schedule: `total_training_steps`, else the epochs."""
        if self.value("trainer.total_training_steps") is not None:
            return self.integer("trainer.total_training_steps")
        epochs = self.integer("trainer.total_epochs")
        return per_epoch * epochs if per_epoch is not None and epochs is not None else None

    def is_true(self, key: str) -> bool | None:
        """Whether Python takes the value of a dotted key as true; None if it is unknown."""
        value = self.value(key)
        return None if isinstance(value, Unknown) else bool(value)

    def since(self, *release: int) -> bool:
        return self.release >= release

    def problem(self, path: tuple[Any, ...]) -> str:
        """The exception that resolving the value at a path raises; empty if it can be resolved."""
        try:
            self._resolver.get(path)
        except ResolutionError as problem:
            return str(problem)
        return ""
