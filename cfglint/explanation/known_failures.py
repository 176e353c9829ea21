"""The failures that no file of a run decides: what to do about them, or what causes them (`known_failures.toml`)."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

from cfglint.project.settings_file import parse
from cfglint.source.annotations import ConfigTable
from cfglint.source.record import Record

FACTS = "known_failures.toml"


class KnownException(Record):
    """A known exception (`known_failures.toml`): its `pattern`, the file and the line of code that raise it, its remedy or causes, the
    most frequent first.
    """

    pattern: str
    file: str
    line: str
    remedy: str
    causes: tuple[str, ...]
    after_rules: bool

    @property
    def is_general(self) -> bool:
        """Whether so many mistakes raise it that its text alone names no rule."""
        return bool(self.causes) and not self.after_rules

    def of(self, match: re.Match[str]) -> KnownException:
        """The same of one exception: what the pattern took from it stands in the place of `\\1` and so on."""
        if not match.lastindex:
            return self
        causes = tuple(match.expand(cause) for cause in self.causes)
        return KnownException(self.pattern, self.file, self.line, match.expand(self.remedy), causes, self.after_rules)


@cache
def facts() -> ConfigTable:
    return parse(files("cfglint.explanation").joinpath(FACTS).read_bytes(), FACTS)


@cache
def known_exceptions() -> list[KnownException]:
    phrases = facts()["cause"]
    return [
        KnownException(
            entry["match"].replace("`", "`?"),  # Markdown takes them for its own marks
            entry.get("file", ""),
            entry.get("line", ""),
            entry.get("help", ""),
            tuple(phrases.get(cause, cause) for cause in entry.get("causes", ())),
            entry.get("after_rules", False),
        )
        for entry in facts()["exception"]
    ]


compiled = cache(re.compile)  # `re` itself keeps 512 patterns, and a log that nothing explains is searched for more


@lru_cache(maxsize=64)
def known_exception(text: str, file: str = "", line: str = "") -> KnownException | None:
    """What is known of an exception, as Python prints it, raised by a line of a file; kept, because each step of an explanation asks."""
    raised = (known for known in known_exceptions() if not known.file or compiled(known.file).search(file))
    possible = (known for known in raised if not known.line or compiled(known.line).search(line))
    found = ((known, compiled(known.pattern).search(text)) for known in possible)
    return next((known.of(match) for known, match in found if match is not None), None)


@cache
def words_of_warnings() -> list[str]:
    """The words that each warning begins with: a log of any length is searched for them."""
    return [re.split(r"[^\w '`=-]", warning["match"])[0] for warning in facts()["warning"]]


def known_warning(line: str) -> tuple[str, str] | None:
    """(a warning in a line, what it means) if it is one that ends nothing."""
    for warning in facts()["warning"] if any(words in line for words in words_of_warnings()) else ():
        match = re.search(warning["match"], line)
        if match:
            return line[match.start() :], warning["meaning"]
    return None
