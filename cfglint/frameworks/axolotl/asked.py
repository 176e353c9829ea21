"""The checks of a release, of which only those are called that may do something for the keys of a file."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import renamed
from cfglint.frameworks.axolotl.releases import ever
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import Any, Callable, ConfigValue, Iterable, Iterator, Mapping, Set, TypeAlias

Check: TypeAlias = Callable[[Any], None]


class NoKeys:
    """A file without keys, as the checks before the fields see it: they can look keys up, and anything else fails."""

    def __init__(self, release: Version) -> None:
        self.release = release
        self.asked: set[object] = set()

    def get(self, key: object, default: object = None) -> object:
        """The default."""
        self.asked.add(renamed(key, self.release))
        return default


class OnlyDefaults:
    """The fields of a file without keys, as the checks after the fields see them; setting one fails."""

    __slots__ = ("_defaults", "asked", "release")

    def __init__(self, release: Version, defaults: Mapping[str, ConfigValue]) -> None:
        self.release = release
        self.asked: set[object] = set()
        self._defaults = defaults

    def __getattr__(self, name: str) -> ConfigValue:
        if not ever(name):
            raise AttributeError(name)
        current = renamed(name, self.release)
        self.asked.add(current)
        return self._defaults.get(current)


class Checks:
    """Some checks in order. From the second file on each has the keys that it looks up in a file without any: if another file has
    none of these either, it gets the same values, and does nothing as well.
    """

    def __init__(self, checks: Iterable[Check], unset: Callable[[], NoKeys | OnlyDefaults]) -> None:
        self._checks: list[tuple[Check, frozenset[object] | None]] = [(check, None) for check in checks]
        self._unset: Callable[[], NoKeys | OnlyDefaults] | None = unset
        self._is_used = False

    def that_use(self, keys: Set[Any]) -> Iterator[Check]:
        """The checks that may do something for a file with these keys, which the checks themselves may add to."""
        if self._is_used and self._unset is not None:
            self._checks = [(check, asked(check, self._unset())) for check, _ in self._checks]
            self._unset = None
        self._is_used = True
        for check, needed in self._checks:
            if needed is None or not keys.isdisjoint(needed):
                yield check


def asked(check: Check, unset: NoKeys | OnlyDefaults) -> frozenset[object] | None:
    """The keys that a check looks up in a file without keys; None if it refuses or changes that file, or uses anything else of it."""
    try:
        check(unset)
    except Exception:
        return None
    return frozenset(unset.asked)
