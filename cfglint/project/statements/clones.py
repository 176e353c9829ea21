"""Packages that commands install from a clone of their repository: `git clone ...; cd trl; git checkout v0.17.0; pip install .`."""

from __future__ import annotations

from cfglint.project.statements.lines import ENDS, MOST_LINES, QUOTES, is_comment, joined
from cfglint.project.statements.requirement import at_ref, same_name
from cfglint.source.annotations import Collection, Iterator
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.statements.statement import Stated

WITH_VALUE = ("--depth", "-o", "--origin", "-j", "--jobs", "--filter", "-c", "--config", "--reference")
BRANCH = ("-b", "--branch")
MOVES = ("checkout", "switch", "reset")


class Clone(Record):
    """A clone of the repository of a package: what was checked out, and whether it is installed from there."""

    package: str
    owner: str
    repository: str
    ref: str = ""
    is_used: bool = False


def of_clones(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What the clones in a text state that are installed, or at a certain commit, branch or tag."""
    clones: list[Clone] = []
    last: Clone | None = None
    for line in joined(text).splitlines()[:MOST_LINES] if "git clone " in text else ():
        for words in commands(line):
            place = words.index("git") if "git" in words else -1
            if place >= 0 and words[place + 1 : place + 2] == ["clone"]:
                last = cloned(words[place + 2 :], packages)
                clones += [last] if last is not None else []
            elif last is not None:
                follow(last, words)
    yield from ((clone.package, at_ref(clone.package, clone.owner, clone.repository, clone.ref, file)) for clone in clones if clone.is_used)


def commands(line: str) -> Iterator[list[str]]:
    if is_comment(line):
        return
    words: list[str] = []
    for word in line.replace("&&", " && ").replace(";", " ; ").replace("`", " ").replace("\\n", " ").split():
        if word in ENDS:
            yield words
            words = []
        else:
            words.append(word.strip(QUOTES + "',"))
    yield words


def cloned(words: list[str], packages: Collection[str]) -> Clone | None:
    """The clone that the words after `git clone` make; None if it is of another repository."""
    ref, places, skip = "", list[str](), ""
    for word in words:
        name, mark, value = word.partition("=")
        if skip:
            ref, skip = (word if skip in BRANCH else ref), ""
        elif name in BRANCH or name in WITH_VALUE:
            ref, skip = (value if name in BRANCH else ref), ("" if mark else name)
        elif not word.startswith("-"):
            places.append(word)
    owner, _, repository = places[0].rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/") if places else ("", "", "")
    package = same_name(repository, packages)
    return Clone(package, owner.rpartition("/")[2], repository, ref, bool(ref)) if package else None


def follow(clone: Clone, words: list[str]) -> None:
    """Note what a command does with a clone that was made before it."""
    places = [word for word in words if not word.startswith("-")]
    if words[:1] == ["git"]:
        moved = next((place for place, word in enumerate(places) if word in MOVES), len(places))
        if places[moved + 1 :]:
            clone.ref, clone.is_used = places[moved + 1], True
    elif "install" in words or "develop" in words:
        named = [word.partition("[")[0].rstrip("/") for word in places]
        own = [word for word in named if word == "." or word.rpartition("/")[2] == clone.repository or word == "setup.py"]
        clone.is_used = clone.is_used or bool(own)
    elif any("PYTHONPATH=" in word and clone.repository in word for word in words):
        clone.is_used = True
