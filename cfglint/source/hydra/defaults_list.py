"""The defaults list of a Hydra config: which files are composed, in which order, and under which key each is placed.

Source: hydra-core 1.3.8 _internal/defaults_list.py, core/default_element.py; version_base None, as `@hydra.main` has it by default.
"""

from __future__ import annotations

import posixpath

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Any, ConfigTable, ConfigValue, Mapping
from cfglint.source.hydra.overrides import ADD, DELETE, FORCE, HydraOverride
from cfglint.source.record import Record, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Repository(Protocol):
        """The config files that a composition may load, by their path below a search folder, without suffix."""

        def load(self, path: str) -> Source | None:
            """The file at a path; None if no search folder has it. Raises CompositionError if it cannot be loaded."""

        def is_group(self, path: str) -> bool:
            """Whether a search folder has a folder of this path."""

        def options(self, group: str) -> list[str]:
            """The names of the files in a group."""
else:
    Repository = object


SELF = "_self_"
GLOBAL = "_global_"
MOST_FILES = 1000  # files of one composition
MOST_NESTED = 100  # files that name each other
COMPOSITION = "hydra.errors.ConfigCompositionException"
NOT_FOUND = "hydra.errors.MissingConfigException"


# The groups of the defaults list of Hydra's own config (hydra-core 1.3.2 conf/__init__.py).
HYDRAS_OWN = frozenset(
    f"hydra/{name}" for name in ("output", "launcher", "sweeper", "help", "hydra_help", "hydra_logging", "job_logging", "callbacks", "env")
)


class CompositionError(Exception):
    """A composition that Hydra refuses.

    `override` is the word that is the cause, None if it is in a file. `options` are those of a group, if the word names another one.
    """

    def __init__(self, exception: str, override: HydraOverride | None = None, options: tuple[str, ...] = ()) -> None:
        super().__init__(exception)
        self.exception = exception
        self.override = override
        self.options = options


class Source(Record):
    """A config file: its values, without its defaults list, that list, and the package of its first comment."""

    path: str
    values: Mapping[ConfigValue, ConfigValue]
    defaults: list[ConfigValue]
    package: str | None = None


class Entry(Record):
    """One element of a defaults list, or the primary config. `group` is None for a file that is named by its path."""

    group: str | None
    option: Any  # as the list has it: a name, a list of names, or null
    package: str | None = None
    optional: bool = False
    override: bool = False
    base: str = ""  # the group of the file that has the list
    parent_package: str = ""
    header: str | None = None
    primary: bool = False
    depth: int = 0

    @property
    def group_path(self) -> str:
        if self.group is None:
            folder = posixpath.dirname(self.option.lstrip("/"))
            return folder if self.option.startswith("/") else posixpath.join(self.base, folder).strip("/")
        return self.group[1:] if self.group.startswith("/") else posixpath.join(self.base, self.group)

    @property
    def path(self) -> str:
        if self.group is None:
            return self.option[1:] if self.option.startswith("/") else posixpath.join(self.base, self.option)
        return f"{self.group_path}/{self.option}"

    def final_package(self, with_header: bool = True) -> str:
        """The key under which the file is placed; empty for the root."""
        package = self.package
        if package is None and with_header:
            package = self.header
        if package is None:
            relative = self.group if self.group is not None else posixpath.dirname(self.option)
            package = relative.lstrip("/").replace("/", ".")
        joined = ".".join(part for part in (self.parent_package, package) if part)
        _, marker, after = joined.rpartition(GLOBAL)
        return after[1:] if marker else joined

    @property
    def target(self) -> str:
        """The name by which an override means this entry: the group, with its package where that is not the default."""
        final = self.final_package(False)
        if final == self.group_path.replace("/", "."):
            return self.group_path
        return f"{self.group_path}@{final or GLOBAL}"


class Part(Record):
    """A file of the composition and the key under which it is placed."""

    source: Source
    package: str
    primary: bool


def entries(defaults: list[ConfigValue]) -> list[Entry]:
    """The elements of a defaults list; raises CompositionError for one that is neither a string nor a mapping with one key."""
    found: list[Entry] = []
    for item in defaults:
        if isinstance(item, str):
            name, _, package = item.partition("@")
            optional = name.startswith("optional ")
            found.append(Entry(None, name.removeprefix("optional ").strip(), placed(package), optional))
        elif isinstance(item, dict) and len(item) == 1:
            key, option = next(iter(item.items()))
            words = str(key).split()
            name, _, package = words[-1].partition("@")
            found.append(Entry(name, option, placed(package), "optional" in words[:-1], "override" in words[:-1]))
        else:
            raise CompositionError(f"ValueError: Unsupported type in defaults: {item!r}")
    return found


def placed(package: str) -> str | None:
    """A package as it is written behind an `@`; None if there is none."""
    return None if not package else "" if package == "_here_" else package


class DefaultsList:
    """The files of a composition, for a primary config and the overrides of the command line."""

    def __init__(self, repository: Repository, overrides: list[HydraOverride]) -> None:
        self._repository = repository
        self.values: list[HydraOverride] = []  # overrides of values
        self._choices: ConfigTable = {}
        self._chosen_by: dict[str, HydraOverride | str] = {}
        self._used: set[str] = set()
        self._added: list[Entry] = []
        self._deleted: dict[str, HydraOverride] = {}
        self._known: ConfigTable = {}
        self._loaded = 0
        for override in overrides:
            if isinstance(override.value, dict) or not repository.is_group(override.key):
                self.values.append(override)
            elif override.sign == FORCE:
                raise CompositionError(f"{COMPOSITION}: force-add of config groups is not supported: '{override.text}'", override)
            elif override.sign == DELETE:
                self._deleted[override.target] = override
            elif not isinstance(override.value, (str, list)):
                kind = type(override.value).__name__
                raise CompositionError(f"ValueError: Config group override must be a string or a list. Got {kind}", override)
            elif override.sign == ADD:
                self._added.append(Entry(override.key, override.value, override.package))
            else:
                self._choices[override.target] = override.value
                self._chosen_by[override.target] = override

    def parts(self, name: str) -> list[Part]:
        """The files in the order in which they are merged; raises CompositionError."""
        found = self._expand(Entry(None, name, primary=True))
        for target, cause in self._chosen_by.items():
            if target not in self._used and target not in HYDRAS_OWN:
                override = cause if isinstance(cause, HydraOverride) else None
                raise CompositionError(f"{COMPOSITION}: Could not override '{target}'. No match in the defaults list.", override)
        for target, override in self._deleted.items():
            if target not in self._used:
                raise CompositionError(f"{COMPOSITION}: Could not delete '{target}'. No match in the defaults list", override)
        return found

    def _expand(self, entry: Entry) -> list[Part]:
        self._loaded += 1
        if self._loaded > MOST_FILES or entry.depth > MOST_NESTED:
            raise CompositionError("RecursionError: maximum recursion depth exceeded")
        if entry.group is not None:
            deletion = self._deleted.get(entry.target)
            if deletion is not None and deletion.value in (None, entry.option):
                self._used.add(entry.target)
                return []
            self._known.setdefault(entry.target, entry.option)
        if entry.option is None:
            return []
        if str(entry.option).endswith("???"):
            raise CompositionError(f"{COMPOSITION}: You must specify '{entry.target}', e.g, {entry.target}=<OPTION>")
        source = self._repository.load(entry.path)
        if source is None:
            if entry.optional:
                return []
            cause = self._chosen_by.get(entry.target) if entry.group is not None else None
            options = tuple(self._repository.options(entry.group_path)) if entry.group is not None else ()
            if entry.primary:
                what = f"Cannot find primary config '{entry.path}'. Check that it's in your config search path."
            elif entry.group is None:
                what = f"Could not load '{entry.path}'."
            else:
                more = f"; available options in '{entry.group_path}': {', '.join(options)}" if options else ""
                what = f"Could not find '{entry.path}'{more}"
            raise CompositionError(f"{NOT_FOUND}: {what}", cause if isinstance(cause, HydraOverride) else None, options)
        if source.package is not None:  # the package of a file's first comment, which is always meant from the root
            is_absolute = source.package == GLOBAL or source.package.startswith(f"{GLOBAL}.")
            entry.header = source.package if is_absolute else ".".join(filter(None, (GLOBAL, source.package)))
        listed = entries(source.defaults)
        own = Part(source, entry.final_package(), entry.primary)
        if entry.primary and self._added and not listed:
            listed.append(Entry(None, SELF))
        elif listed and not any(item.option == SELF for item in listed):
            listed.append(Entry(None, SELF))
        if entry.primary:
            listed.extend(self._added)
        if not listed:
            return [own]
        for item in listed:
            if item.option == SELF and item.group is None:
                continue
            item.base, item.parent_package, item.depth = entry.group_path, entry.final_package(), entry.depth + 1
            if item.override and item.target not in self._choices:
                self._choices[item.target] = item.option
                if not (item.group or "").lstrip("/").startswith("hydra/"):
                    self._chosen_by[item.target] = entry.path
        groups: list[list[Part] | Entry] = []
        for item in reversed(listed):
            if item.group is None and item.option == SELF:
                groups.append([own])
            elif not item.override:
                groups.append(self._child(item))
        resolved = [self._deferred(item) if isinstance(item, Entry) else item for item in groups]
        return [part for group in reversed(resolved) for part in group]

    def _child(self, item: Entry) -> list[Part] | Entry:
        if item.group is not None and item.group.lstrip("/").startswith("hydra/"):
            return []
        if item.group is not None and item.target in self._choices:
            self._used.add(item.target)
            item.option = self._choices[item.target]
        if isinstance(item.option, list):
            paths = [changed(item, group=None, option=f"{item.group}/{name}") for name in item.option]
            return [part for path in paths for part in self._expand(path)]
        if isinstance(item.option, str) and "${" in item.option:
            return item
        return self._expand(item)

    def _deferred(self, item: Entry) -> list[Part]:
        from cfglint.source.hydra.interpolation import ResolutionError, Resolver

        try:
            value = Resolver(self._known).value(item.option, ("",))
            item.option = value.reasons[0].text if isinstance(value, Unknown) else value
        except ResolutionError:
            known = ", ".join(self._known)
            message = f"Error resolving interpolation '{item.option}', possible interpolation keys: {known}"
            raise CompositionError(f"{COMPOSITION}: {message}") from None
        return self._expand(item)
