"""Finds the known keys that an unknown key may be a typo of."""

from __future__ import annotations

from cfglint.source import cached
from cfglint.source.annotations import Iterable, Sequence
from cfglint.source.record import Record

Names = list[tuple[tuple[str, ...], "Spelling"]]

NEAREST = 2  # edits of a misspelt name


class Candidate(Record):
    """A suggestion for an unknown key. `distance` 0: the same name in another section; 1: one typo."""

    path: tuple[str, ...]
    distance: int

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def __repr__(self) -> str:
        return f"Candidate({self.name}, {self.distance})"


def near(key: str, names: Names) -> list[Candidate]:
    """The names that are similar to a key, most similar first; those with too many different letters are skipped early, for speed."""
    written = Spelling(key)
    letters = written.letters
    candidates: list[Candidate] = []
    for path, name in names:
        other = letters ^ name.letters
        if other.bit_count() > name.reach and other & letters and other & name.letters:
            continue
        count = typos(written, name)
        if count is not None:
            candidates.append(Candidate(path, count))
    candidates.sort(key=lambda candidate: candidate.distance)
    return candidates


def plain(key: str) -> str:
    return key.lower().replace("-", "_")


class Spelling:
    """A key split into parts for comparison.

    `letters` has a bit for each letter; some letters use the same bit. `reach` is the number of bits that may differ with the number
    of typos that a name of this length allows.
    """

    __slots__ = ("key", "letters", "plain", "reach", "words")

    def __init__(self, key: str) -> None:
        self.key = key
        self.plain = plain(key)
        self.words = self.plain.split("_")
        self.letters = 0
        for letter in self.plain:
            self.letters |= 1 << ord(letter) % 60
        self.reach = 2 * (1 + len(self.plain) // 8)


@cached
def spelled(key: str) -> Spelling:
    """The spelling of a key that a framework has; it is made once, because many unknown keys are compared with the same ones."""
    return Spelling(key)


_names: dict[tuple[str, ...], Names] = {}


def names_of(keys: Iterable[str]) -> Names:
    """The keys of a section by themselves, as `near` compares them; they are prepared once, because a release always has the same ones."""
    found = tuple(keys)
    if found not in _names:
        _names[found] = [((key,), spelled(key)) for key in found]
    return _names[found]


def distance(written: str, intended: str) -> int | None:
    """The number of typos between two keys; None if there are too many for a suggestion.

    A typo is a wrong, missing, extra or swapped letter; case and dashes together count as one, and so does
    a different order of words. A truncated or extended key, a missing or extra word, and abbreviated words count
    as two.
    """
    return typos(Spelling(written), Spelling(intended))


def typos(spelling: Spelling, other: Spelling) -> int | None:
    """The same as `distance`, for keys that are compared with many."""
    if spelling.plain == other.plain:
        return 0 if spelling.key == other.key else 1
    if spelling.letters == other.letters and sorted(spelling.words) == sorted(other.words):
        return 1
    limit = min(1 + len(other.plain) // 8, len(spelling.plain) // 2, len(other.plain) // 2)
    count = limit + 1
    if (spelling.letters ^ other.letters).bit_count() <= 2 * limit:  # each typo removes one letter and adds another
        count = edits(spelling.plain, other.plain, limit)
    if count <= 2:
        return count if count <= limit else None
    short, long = (spelling, other) if len(spelling.plain) <= len(other.plain) else (other, spelling)
    if not short.letters & ~long.letters:  # the end is cut, a word left out, or words are abbreviated: that only removes letters
        pairs = zip(short.words, long.words, strict=False)
        is_short = len(short.words) == len(long.words) > 1 and all(
            word == full or (len(word) > 1 and word[0] == full[:1] and is_part(word, full)) for word, full in pairs
        )
        is_close = len(short.plain) >= 4 and 5 * len(short.plain) >= 3 * len(long.plain)
        if is_short or (is_close and (long.plain.startswith(short.plain) or is_part(short.words, long.words))):
            return 2
    return count if count <= limit else None


def is_part(words: Sequence[str], more: Sequence[str]) -> bool:
    rest = iter(more)
    return all(word in rest for word in words)


def edits(one: str, other: str, limit: int) -> int:
    """Edit distance in which a swap of neighbouring letters counts once; `limit` + 1 if it is more than `limit`."""
    shorter = min(len(one), len(other))
    start = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    end = next((place for place in range(shorter - start) if one[-1 - place] != other[-1 - place]), shorter - start)
    one, other = one[start : len(one) - end], other[start : len(other) - end]  # without the letters that both begin or end with
    most = limit + 1
    if abs(len(one) - len(other)) > limit:
        return most
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        # A letter that is more than `limit` places away from its opposite needs more insertions than that.
        first, last = max(1, i - limit), min(len(other), i + limit)
        before, above, row = row, before, [most] * (len(other) + 1)
        row[first - 1] = i if first == 1 else most
        for j in range(first, last + 1):
            opposite = other[j - 1]
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == opposite:
                cost = min(cost, above[j - 2] + 1)
            row[j] = cost
        if min(row) > limit:
            return most
    return min(row[-1], most)


def closest(name: str, names: Iterable[str]) -> str | None:
    most = NEAREST if len(name) > 6 else 1
    alike = [each for each in names if abs(len(each) - len(name)) <= most]
    ranked = [(distance, each) for each in alike if (distance := edits(name, each, most)) <= most]
    return min(ranked)[1] if ranked else None
