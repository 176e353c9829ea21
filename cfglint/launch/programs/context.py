"""The circumstances under which a program is evaluated."""

from __future__ import annotations

import os

from cfglint.launch.programs.objects import PROJECT
from cfglint.source.annotations import Any, Callable, Mapping

PARTS = ("words", "is_open", "environment", "gpus", "local_gpus", "devices", "read", "folders", "spelled", "exists")
UNCOMPARED = ("read", "files")  # the files of a project are the same for all evaluations of its programs


class Context:
    """The words of the launch line (None for unknown ones), whether there may be others, the variables of the environment, and the
    contents of the files of the project that the program opens.

    `gpus` is the number of processes, `local_gpus` that on each node, `devices` the number of GPUs that a process sees.
    """

    def __init__(
        self,
        words: tuple[str | None, ...] = (),
        is_open: bool = False,
        environment: Mapping[str, str] | None = None,
        gpus: int | None = None,
        read: Callable[[str], str | None] = lambda path: None,
        folders: tuple[str, ...] = (),
        spelled: tuple[str, ...] = (),
        exists: Callable[[str], bool | None] = lambda path: None,
        local_gpus: int | None = None,
        devices: int | None = None,
    ) -> None:
        self.words, self.is_open = words, is_open
        self.environment = environment or {}
        self.gpus, self.local_gpus, self.devices = gpus, local_gpus, devices
        self.read, self.folders, self.exists = read, folders, exists
        self.spelled = spelled  # the words with a mark in the place of unknown parts
        self.files: list[str] = []  # the files of the project that were read

    def variable(self, name: str) -> str | None:
        return self.environment.get(name)

    def changed(self, **parts: Any) -> Context:
        return Context(**{**{name: getattr(self, name) for name in PARTS}, **parts})

    def on_gpus(self, gpus: int | None) -> Context:
        """The circumstances on another number of GPUs, with as many on each node as now if there are several."""
        local = self.local_gpus
        if local == self.gpus or gpus is None:
            local = gpus
        elif local is not None and gpus % local:
            local = None
        return self.changed(gpus=gpus, local_gpus=local, devices=local if self.devices == self.local_gpus else self.devices)

    def content(self, path: str) -> tuple[str, str] | None:
        """(path, content) of a file that the program opens; None if it is not found, or its folder is not certain."""
        found: dict[str, str] = {}
        for place in self.places(path):
            text = self.read(place) if place not in found else None
            if text is not None:
                found[place] = text
        if not found or len(set(found.values())) > 1:
            return None
        place = next(iter(found))
        self.files.append(place)
        return place, found[place]

    def places(self, path: str) -> list[str]:
        inside = path.removeprefix(PROJECT)
        if inside.startswith("~") or "\0" in inside or (inside == path and os.path.isabs(inside)):
            return []
        return [os.path.normpath(os.path.join(folder, inside)) for folder in (("",) if inside != path else self.folders)]

    def has(self, path: str) -> bool:
        return any(self.exists(place) or self.read(place) is not None for place in self.places(path))


class Watched(Context):
    """A context that records which of its parts an evaluation asks for: another one with the same answers gives the same result."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._answers: dict[str, object] = {}
        self._variables: dict[str, str | None] = {}
        self.is_asked = False

    def __getattr__(self, name: str) -> object:
        self.is_asked = True
        found = getattr(self._context, name)
        if name not in UNCOMPARED:
            self._answers[name] = found
        return found

    def variable(self, name: str) -> str | None:
        self.is_asked = True
        found = self._variables[name] = self._context.variable(name)
        return found

    def has_answered(self, name: str) -> bool:
        return name in self._answers

    def answers_as(self, other: Context) -> bool:
        """Whether another context has the same answers to all that was asked."""
        return all(other.variable(name) == value for name, value in self._variables.items()) and all(
            getattr(other, name) == value for name, value in self._answers.items()
        )


def with_texts(read: Callable[[str], str | None], texts: Mapping[str, str]) -> Callable[[str], str | None]:
    """A function that reads files, with other contents for some of them, however their paths are spelled."""
    known = {os.path.normpath(path): text for path, text in texts.items()}
    return lambda path: known[os.path.normpath(path)] if os.path.normpath(path) in known else read(path)
