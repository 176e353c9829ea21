"""The fields of a framework's classes or sections through its releases: rows of a generated `_tables.py`, and queries on them.

A row states a fact with the releases that it holds for: this section (a class, a mapping of the file) has this field, of this type,
with this default, from the release `since` to the first release `until` without it. `()` as `since` is the oldest modelled
release or an older one, `()` as `until` means still there. A field whose type or default changed, or that was removed and came
back, has several rows in order of their releases. Rows are tuples of constants, so that Python loads a table of them at once.
"""

from __future__ import annotations

from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, Mapping, TypeAlias

# (field, type, default, since, until), then what a framework adds: allowed values, the name that files use.
Row: TypeAlias = tuple[Any, ...]
Fields: TypeAlias = dict[str, Row]
Span: TypeAlias = tuple[Version, Version]  # from since to before until

NAME, TYPE, DEFAULT, SINCE, UNTIL = range(5)


def holds(since: Version, until: Version, release: Version) -> bool:
    return since <= release and (not until or release < until)


def merged(spans: list[tuple[Version, Version]]) -> list[tuple[Version, Version]]:
    """Spans in order of their releases, with those that follow each other directly as one."""
    joined: list[tuple[Version, Version]] = []
    for since, until in sorted(spans):
        if joined and joined[-1][1] == since and since:
            joined[-1] = (joined[-1][0], until)
        else:
            joined.append((since, until))
    return joined


class History:
    """The rows of all sections of a framework.

    `sections` maps a section to its rows. `spans` maps it to the releases that have it, as pairs (since, until); a section that
    is missing there exists in every release.
    """

    __slots__ = ("_at", "_by_name", "_having", "_learned", "sections", "spans")

    def __init__(
        self, sections: Mapping[str, tuple[Row, ...]], spans: Mapping[str, tuple[tuple[Version, Version], ...]] | None = None
    ) -> None:
        self.sections = sections
        self.spans = spans or {}
        self._at: dict[tuple[str, Version], Fields] = {}
        self._by_name: dict[str, dict[str, list[Row]]] = {}
        self._having: dict[str, list[str]] = {}
        self._learned: dict[Version, dict[str, Fields]] = {}

    def learn(self, release: Version, sections: Mapping[str, Mapping[str, tuple[Any, ...]]]) -> None:
        """Take the fields of a release without rows, as its own source has them: section -> field -> (type, default, ...)."""
        self._learned[release] = {
            section: {name: (name, *fact[:2], release, (), *fact[2:]) for name, fact in found.items()}
            for section, found in sections.items()
        }
        for cache in (self._at, self._by_name, self._having):
            cache.clear()

    def learned(self, release: Version) -> dict[str, Fields] | None:
        """The sections of a release by its own source, if they were taken from it."""
        return self._learned.get(release)

    def at(self, release: Version) -> dict[str, Fields]:
        if release in self._learned:
            return self._learned[release]
        return {section: self.fields(section, release) for section in self.sections if self.has_section(section, release)}

    def fields(self, section: str, release: Version) -> Fields:
        if (section, release) not in self._at:
            if release in self._learned:
                fields = self._learned[release].get(section, {})
            else:
                rows = self.sections.get(section, ()) if self.has_section(section, release) else ()
                fields = {row[NAME]: row for row in rows if holds(row[SINCE], row[UNTIL], release)}
                for name, row in fields.items():
                    if isinstance(row[DEFAULT], tuple):  # the constant of a list
                        fields[name] = (*row[:DEFAULT], list(row[DEFAULT]), *row[SINCE:])
            self._at[section, release] = fields
        return self._at[section, release]

    def has_section(self, section: str, release: Version) -> bool:
        if release in self._learned:
            return section in self._learned[release]
        spans = self.spans.get(section)
        return section in self.sections if spans is None else any(holds(since, until, release) for since, until in spans)

    def names(self, section: str) -> dict[str, list[Row]]:
        """The fields that a section has in any release, with all their rows."""
        if section not in self._by_name:
            rows = self._by_name[section] = {}
            for row in self.sections.get(section, ()):
                rows.setdefault(row[NAME], []).append(row)
            for sections in self._learned.values():
                for name, row in sections.get(section, {}).items():
                    rows.setdefault(name, [row])
        return self._by_name[section]

    def sections_with(self, name: str) -> list[str]:
        if name not in self._having:
            self._having[name] = [section for section in self.sections if name in self.names(section)]
        return self._having[name]

    def ever(self, name: str) -> bool:
        return bool(self.sections_with(name))

    def releases(self, section: str, name: str) -> list[tuple[Version, Version]]:
        """The releases in which a section has a field, as (since, until); empty for a name that it never had."""
        return merged([(row[SINCE], row[UNTIL]) for row in self.names(section).get(name, ())])

    def since(self, section: str, name: str) -> Version | None:
        """The first release with a field; () if it is older than the modelled ones, None if there is none."""
        releases = self.releases(section, name)
        return releases[0][0] if releases else None

    def until(self, section: str, name: str) -> Version | None:
        """The release that removed a field; () if the newest one has it, None if there is no such field."""
        releases = self.releases(section, name)
        return releases[-1][1] if releases else None

    def changes(self, name: str) -> set[Version]:
        """The releases at which a field of this name appears in a section, differs from the release before, or is gone."""
        rows = (row for section in self.sections_with(name) for row in self.names(section)[name])
        return {release for row in rows for release in (row[SINCE], row[UNTIL]) if release}
