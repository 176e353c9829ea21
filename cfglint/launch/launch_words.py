"""Whether a script can start a training at all, by the words in it and in the files that it can source or call.

It only serves to end long evaluations: what cannot be excluded for certain is evaluated.
"""

from __future__ import annotations

import os
import re
from functools import cache

from cfglint.launch.launcher import PYTHON, launchers
from cfglint.launch.training import ARGUMENTS, BACKWARD, TRAINER_CALL, TRAINS
from cfglint.source.annotations import Callable, Mapping

PROGRAM = re.compile(r"[\w.+@-]*\.py\b")
COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
INTERPRETER = re.compile(r"python[0-9.]*")
FOLLOWING = re.compile(r"""["']?(?:[ \t]+(?:\\\n[ \t]*)?-[uOBEsI]+(?=[ \t]))*[ \t]+(?:\\\n[ \t]*)?([^ \t\n;&|)]*)""")
HARMLESS = ("-c", "-V", "--version", "-h", "--help", "<<", "<<<")  # words after `python` with which it runs no file
TOKEN = re.compile(r"[\w.+-]+")
COMPOSED = re.compile(r"""([\w.+-]*)(?:\$\{[^}]*\}|\$\w+|\$\([^)]*\)|`[^`]*`)["']?([\w.+-]*)""")
COMPOSED_WHOLLY = re.compile(r"""(?:\$\{[^}]*\}|\$\w+)(?:\$\{[^}]*\}|\$\w+)""").search
READS = re.compile(
    r"""(?:^|[\s;&|(])(?:(?:source|\.)[ \t]+(?!-)(?=([^\s;&|]*))|(?:bash|sh|zsh|ksh|dash)[ \t]+(?=([^\n;&|]*)))""", re.MULTILINE
)
OPEN_NAME = re.compile(r"""[$`][^/\s]*(?:\s|$)""").search  # the last part of a path is a variable
DATA = (".txt", ".md", ".json", ".yaml", ".yml", ".toml", ".py", ".ipynb", ".csv", ".cfg", ".tf")  # sourced by name only
LONGEST = 1_000_000  # characters of a file
MOST = 20_000  # files of a project
CLEAR = 3  # characters that distinguish the composed name of a file from other strings


def listed_below(root: str) -> dict[str, list[str]] | None:
    found: dict[str, list[str]] = {}
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [each for each in folders if each != ".git"]
        count += len(names) + len(folders)
        if count > MOST:
            return None
        for name in names:
            found.setdefault(name, []).append(os.path.join(folder, name))
    return found


def may_launch(text: str, names: Mapping[str, list[str]], read: Callable[[str], str | None]) -> bool:
    """Whether a script may start a training, itself or in a file of the project that it can reach; `names` are those files."""
    left, seen = [text], {text}
    while left:
        source = COMMENT.sub("", left.pop())
        given = sum(name in source or name.replace("_", "-") in source for name in ARGUMENTS) > 1
        programs = {*PROGRAM.findall(source)}
        texts = (read(path) or "" for name in programs for path in names.get(name, ()))
        if (
            words_of_launchers().search(source)
            or (given and programs)
            or any(mark in name.lower() for name in programs for mark in TRAINS)
            or any(TRAINER_CALL in program or BACKWARD in program for program in texts)
            or any(runs_training(source, match.end(), given) for match in INTERPRETER.finditer(source))
            or (reachable := mentioned(source, names)) is None
        ):
            return True
        for path in (path for name in reachable for path in names[name]):
            content = None if os.path.islink(path) else read(path)
            if os.path.islink(path) or (content is not None and len(content) > LONGEST):
                return True
            if content is not None and content not in seen:
                seen.add(content)
                left.append(content)
    return False


@cache
def words_of_launchers() -> re.Pattern[str]:
    records = [launcher for launcher in launchers().values() if launcher.name != PYTHON]
    parts = "|".join(re.escape(mark) for record in records for mark in record.marks)
    words = "|".join(re.escape(word) for record in records for word in record.words)
    return re.compile(rf"{parts}|(?<![\w-])(?:{words})(?![\w-])")


def runs_training(text: str, at: int, given: bool) -> bool:
    """Whether the command `python`, which ends at a position, may run a module that trains, or a program whose name is not written."""
    following = FOLLOWING.match(text, at)
    word = following[1].strip("\"'") if following is not None else ""
    if not word:  # the name of a package, or the value of a variable
        return given or " -m" in text
    if word in HARMLESS:
        return False
    name = word.rpartition("/")[2]
    return given or not name or name[0] in "-\"'" or "$" in name or "`" in name or any(mark in word.lower() for mark in TRAINS)


def mentioned(text: str, names: Mapping[str, list[str]]) -> set[str] | None:
    """The names of the project's files that a script may source or call; None if it composes names in a way that excludes none."""
    words = [match[1] or match[2] or "" for match in READS.finditer(text)]
    if any(map(COMPOSED_WHOLLY, words)):
        return None
    found = {*TOKEN.findall(text)} & names.keys()
    found.update(name for name in names if TOKEN.fullmatch(name) is None and name in text)
    for before, after in {match.groups() for match in COMPOSED.finditer(text)}:
        if len(before) + len(after) >= CLEAR:
            found.update(name for name in names if name.startswith(before) and name.endswith(after))
    if any(map(OPEN_NAME, words)):
        return found
    direct = {token for word in words for token in TOKEN.findall(word)}
    return {name for name in found if name in direct or not name.endswith(DATA)}
