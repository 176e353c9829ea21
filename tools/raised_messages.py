"""The messages that the source of a release may raise, as syntax trees tell, and whether an exception is one of them.

A message is its constant parts with gaps where the source puts values in: `Template`. Every string of the code is read, wherever it is
built (`raise`, `assert`, a variable that is raised later), but what is only logged, documented or printed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeAlias

from cfglint.findings.releases import Release

Template: TypeAlias = tuple[str, ...]  # the constant parts, with a gap between any two; empty ones at the ends mean a gap there
Place: TypeAlias = str  # `trainer/sft_trainer.py:SFTTrainer.__init__`

SHORTEST = 15  # characters of a message that identify it
LEAST = 8  # of one that has to be equal as a whole
LEAST_PART = 0.4  # of an exception that the constant parts cover
LOGGED = ("warning", "warn", "info", "debug", "warning_once", "warning_rank0", "info_rank0", "warning_rank0_once", "print", "log_dist")
DESCRIBED = ("help", "metadata", "description", "json_schema_extra")
SKIPPED_FOLDERS = ("tests", "examples", "docs", "inference")  # nothing in them is called by a training
FOLDERS = {"ms-swift": "swift"}  # packages whose folder has another name
SKIPPED_AT_TOP = {"transformers": ("models",)}  # two thirds of the package, and no configuration reaches them
OF_FORMAT = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[sdrfgieEx]|%\(\w+\)[sdrfg]")
OF_NAMES = re.compile(r"\{[a-z_][\w.]*\}")  # of a string that is formatted later, or lacks its `f`
OF_BRACES = re.compile(r"\{[^{}]*\}")
WORDS = re.compile(r"[\w-]*[A-Za-z][\w-]*")
SPACES = re.compile(r"\s+")
GAP = "..."
ALIKE = 0.8  # the ratio of equal characters of two messages with the same meaning
WRAPPED = ("Value error, ", "Assertion failed, ")  # what pydantic puts before the message of a check


class Messages:
    """The messages of releases: each template with the releases that have it, and the places that build it there."""

    def __init__(self) -> None:
        self._found: dict[Template, dict[Release, set[Place]]] = {}
        self._asked: dict[str, list[Template]] = {}
        self._of_function: dict[str, list[Template]] = {}

    def add(self, release: Release, template: Template, place: Place) -> None:
        """Take in a message of a release."""
        releases = self._found.get(template)
        if releases is None:
            releases = self._found[template] = {}
        releases.setdefault(release, set()).add(place)

    def releases(self, exception: str) -> set[Release]:
        """The releases with a message that an exception may be, or with one of nearly the same words in the same function."""
        templates = self._templates(exception)
        places = [(release, place) for template in templates for release, found in self._found[template].items() for place in found]
        held = {release for release, _ in places}
        functions = {function_of(place) for _, place in places}
        texts = [GAP.join(template) for template in templates]
        for near in self._built_by(functions):
            if any(is_similar(GAP.join(near), text) for text in texts):
                held |= {release for release, found in self._found[near].items() if functions & set(map(function_of, found))}
        return held

    def _templates(self, exception: str) -> list[Template]:
        """The messages that an exception may be."""
        message = message_of(exception)
        if message not in self._asked:
            self._asked[message] = [each for each in self._found if is_message(message, each)]
        return self._asked[message]

    def _built_by(self, functions: set[str]) -> set[Template]:
        """The messages that one of some functions builds in any release."""
        if not self._of_function:
            for template, releases in self._found.items():
                for function in {function_of(place) for found in releases.values() for place in found}:
                    self._of_function.setdefault(function, []).append(template)
        return {template for each in functions for template in self._of_function.get(each, ())}


class Sources:
    """Reads the messages of releases; a file that several of them have is parsed once.

    `cache` is a file that keeps what was found, for files by their content, and the files of a release by the folder's name.
    """

    def __init__(self, package: str, cache: Path | None = None) -> None:
        self.package = package
        self.cache = cache
        self._files: dict[str, list[tuple[Template, str]]] = {}
        self._folders: dict[str, list[tuple[str, str]]] = {}
        if cache is not None and cache.exists():
            stored = json.loads(cache.read_text(encoding="utf-8"))
            self._files = {name: [(tuple(parts), where) for parts, where in found] for name, found in stored["files"].items()}
            self._folders = stored["folders"]

    def has(self, folder: Path) -> bool:
        """Whether a folder has the package in it."""
        return self._root(folder) is not None

    def _root(self, folder: Path) -> Path | None:
        name = FOLDERS.get(self.package, self.package)
        return next((each for each in (folder / name, folder / "src" / name) if each.is_dir()), None)

    def read(self, release: Release, folder: Path, messages: Messages) -> None:
        """Add the messages of the release that is unpacked in a folder."""
        if str(folder) not in self._folders:
            self._folders[str(folder)] = list(self._with_messages(folder))
        for inside, content in self._folders[str(folder)]:
            for template, where in self._files[content]:
                messages.add(release, template, f"{inside}:{where}")

    def _with_messages(self, folder: Path) -> Iterator[tuple[str, str]]:
        """(path, digest of the content) of the files of a release that have messages."""
        root = self._root(folder)
        assert root is not None
        skipped = SKIPPED_AT_TOP.get(self.package, ())
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root)
            if inside.parts[0] not in skipped and not any(part in SKIPPED_FOLDERS for part in inside.parts[:-1]):
                content = path.read_bytes()
                name = hashlib.sha256(content).hexdigest()[:24]
                if name not in self._files:
                    raises = b"raise" in content or b"assert" in content
                    self._files[name] = templates(content.decode("utf-8", "replace")) if raises else []
                if self._files[name]:
                    yield inside.as_posix(), name

    def keep(self) -> None:
        """Write the cache."""
        if self.cache is not None:
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            self.cache.write_text(json.dumps({"files": self._files, "folders": self._folders}), encoding="utf-8")


def function_of(place: Place) -> str:
    """The class and function of a place, in whatever file it is."""
    return place.partition(":")[2]


def is_similar(text: str, other: str) -> bool:
    """Whether two messages differ in a few words only, none of which is a name."""
    return names_in(text) == names_in(other) and SequenceMatcher(None, text, other, autojunk=False).ratio() >= ALIKE


def names_in(text: str) -> set[str]:
    """The words of a message that name something: keys, options and proper names such as GaLore."""
    return {word for word in WORDS.findall(text) if "_" in word or not (word.islower() or word.istitle())}


def templates(source: str) -> list[tuple[Template, str]]:
    """(template, the class and function that builds it) of a source file; empty if Python cannot parse it."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    found: list[tuple[Template, str]] = []
    _collect(tree, "", found)
    return found


def _collect(node: ast.AST, where: str, found: list[tuple[Template, str]]) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        where = f"{where}.{node.name}" if where else node.name
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    elif isinstance(node, ast.Call) and name_of(node.func) in LOGGED:
        return
    elif isinstance(node, ast.keyword) and node.arg in DESCRIBED:
        return
    elif isinstance(node, ast.expr):
        parts = parts_of(node)
        if parts is not None:
            template = tuple(SPACES.sub(" ", part) for part in parts)
            if sum(map(len, template)) >= LEAST:
                found.append((template, where))
            return
    for child in ast.iter_child_nodes(node):
        _collect(child, where, found)


def name_of(function: ast.expr) -> str:
    """The last name of what is called."""
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def parts_of(node: ast.expr) -> list[str] | None:
    """The constant parts of an expression that builds a string; None for any other."""
    if isinstance(node, ast.Constant):
        return OF_NAMES.split(node.value) if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return joined([[value.value] if isinstance(value, ast.Constant) else ["", ""] for value in node.values])  # type: ignore[list-item]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        both = parts_of(node.left), parts_of(node.right)
        return None if both == (None, None) else joined([each if each is not None else ["", ""] for each in both])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return split(parts_of(node.left), OF_FORMAT)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return split(parts_of(node.func.value), OF_BRACES)
    return None


def joined(pieces: list[list[str]]) -> list[str]:
    """Several strings of parts as one."""
    made = [""]
    for parts in pieces:
        made[-1] += parts[0]
        made += parts[1:]
    return made


def split(parts: list[str] | None, placeholder: re.Pattern[str]) -> list[str] | None:
    """The parts with a gap in the place of each placeholder."""
    return None if parts is None else [each for part in parts for each in placeholder.split(part)]


def message_of(exception: str) -> str:
    """The message of an exception without its type and without what pydantic puts before it."""
    for wrapper in WRAPPED:
        if wrapper in exception:
            return SPACES.sub(" ", exception.partition(wrapper)[2])
    return SPACES.sub(" ", exception.partition(": ")[2])


def is_message(message: str, template: Template) -> bool:
    """Whether a message, of which cfglint may give only the beginning, is what a template gives."""
    if len(message) < SHORTEST:
        return (message,) == template
    place = covered = 0
    for number, part in enumerate(template):
        if not part:
            continue
        start = place if number == 0 else message.find(part, place)
        if message.startswith(part, start) and start >= 0:
            covered += len(part)
            place = start + len(part)
            continue
        rest = message[place:]
        if number == 0:
            return part.startswith(message)
        covered += next((size for size in range(min(len(rest), len(part)), 0, -1) if rest.endswith(part[:size])), 0)
        break
    return covered >= max(SHORTEST, len(message) * LEAST_PART) or (place == len(message) and covered >= SHORTEST)
