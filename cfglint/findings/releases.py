"""The releases for which something holds, such as a check of a framework."""

from __future__ import annotations

from cfglint.source.record import Record

Release = tuple[int, ...]


class Releases(Record):
    """The releases from `since` to before `until`, `()` for no bound; `of` names what holds; `package` if not that of the framework."""

    since: Release = ()
    until: Release = ()
    of: str = ""
    package: str = ""

    def __contains__(self, release: Release) -> bool:
        return self.since <= release and (not self.until or release < self.until)

    def __str__(self) -> str:
        """The releases in words: `0.14.0 to before 0.18.0`, `1.4.0 and newer`, `before 0.29.0`."""
        since, until = ".".join(map(str, self.since)), ".".join(map(str, self.until))
        if since and until:
            return f"{since} to before {until}"
        return f"{since} and newer" if since else f"before {until}" if until else "all releases"
