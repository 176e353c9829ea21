"""Releases that the text of a page names, and no command installs: "we use its `4.17.0` version", a list `transformers 4.44.2`."""

from __future__ import annotations

from cfglint.frameworks.releases._dates import RELEASES
from cfglint.frameworks.releases.versions import is_version, parse_version
from cfglint.project.statements.lines import COMMANDS, MOST_LINES, mentions
from cfglint.project.statements.statement import OPERATORS, Stated, from_specifier, normalised, same_name
from cfglint.source.annotations import Collection, Iterator
from cfglint.source.record import changed

SIGNS = "<>=~!≥"
INSIDE_WORDS = "._-+/"
VERSION = "version"
BETWEEN = (VERSION, "versions", "release", "v", "is", "at", "with", "of", "the", "library", "package", "tested", "on", "using", "==", "=")
USE = frozenset(
    """
    use uses used using version versions tested test require requires required requirements requirement install installed need needs
    needed based built dependency dependencies environment python pytorch torch works recommend recommended run
    """.split()
)
ASIDE = frozenset("if until before prior removed since old older issue in unlike without except instead no not".split())  # not what is used
NEWER = frozenset("newer later above higher greater up upwards 以上 이상".split())
NEAR = 4  # words before the name of a package that tell what is said of it
OTHERS = ("torch", "pytorch", "python", "cuda", "peft", "datasets", "flash-attn", "flash-attention", "vllm", "numpy", "tokenizers")
LONGEST = 5000  # characters of a paragraph
FARTHEST = 12  # words between the name and its version


def of_prose(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What the text of a page states about packages, beside its commands."""
    for line in mentions(unwrapped(text), packages):
        first, *parts = line.split("](")  # `[Transformers](https://...)` is `[Transformers]`
        plain = "".join((first, *("]" + part.partition(")")[2] for part in parts)))
        if any(f" {command} " in line for command in COMMANDS) or "://" in plain:
            continue
        words = words_of(plain)
        is_of_use = not USE.isdisjoint(each.lower() for each in words)
        for place, word in enumerate(words):
            is_told = (not place or is_of_use) and ASIDE.isdisjoint(each.lower() for each in words[max(place - NEAR, 0) : place])
            package = named(word, packages) if is_told else ""
            spec = version_after(package, words[place + 1 : place + 1 + FARTHEST], packages) if package else ""
            if spec:
                statement = from_specifier(spec, file)  # its release is likely, and not certain
                where = statement.elsewhere or (f"{statement.release} in the text" if statement.release else "")
                yield package, changed(statement, in_prose=True, elsewhere=where)


def unwrapped(text: str) -> str:
    """A text whose paragraphs are one line each: a line that begins with a small letter continues the one before it."""
    lines: list[str] = []
    for line in text.splitlines()[:MOST_LINES]:
        if lines and lines[-1][-1:].isalpha() and line[:1].islower() and " " in line.strip():
            lines[-1] = f"{lines[-1]} {line}"[:LONGEST]
        else:
            lines.append(line)
    return "\n".join(lines)


def words_of(line: str) -> list[str]:
    """The words of a line, and the signs of its comparisons."""
    words: list[str] = []
    kind = ""
    for char in line:
        now = "sign" if char in SIGNS else "word" if char.isalnum() or char in INSIDE_WORDS else ""
        if now and now == kind:
            words[-1] += char
        elif now:
            words.append(char)
        kind = now
    return [stripped for word in words if (stripped := word.strip("._-/")) or word in SIGNS]


def named(word: str, packages: Collection[str]) -> str:
    """The package that a word names: `Transformers`, `huggingface/trl`, `LLaMA-Factory`."""
    last = word.rpartition("/")[2]
    name = normalised(last)
    return name if name in packages else same_name(last, packages)


def version_after(package: str, words: list[str], packages: Collection[str]) -> str:
    """The specifier of the version that follows the name of a package; empty if none does that is one of its releases."""
    sign, is_apart = "", False
    for place, word in enumerate(words):
        plain = word.removeprefix("v")
        if word[0] in SIGNS:
            sign = word
        elif is_version(plain) and "." in plain and plain[-1].isdigit():  # `0.5B` is the size of a model
            following = words[place + 1 : place + 3]
            beside = [each.lower() for each in (*words[max(place - 1, 0) : place], *following[:1])]
            if is_apart and VERSION not in beside:
                return ""

            asked, released = parse_version(plain), [release.partition("@")[0] for release in RELEASES.get(package, "").split()]
            return specifier(sign, plain, following) if asked in map(parse_version, released) else ""
        elif named(word, packages) or word.lower() in OTHERS:
            return ""
        elif word.lower() not in BETWEEN:
            is_apart = True
    return ""


def specifier(sign: str, version: str, following: list[str]) -> str:
    """The specifier of a version with the words after it: `4.40 or newer` is a lower bound, `4.40 to 4.50` is none."""
    first, second = [*following, "", ""][:2]
    if "to" in (first, second):
        return ""
    spec = f"{sign if sign in OPERATORS else '=='}{version.partition('+')[0]}"
    if sign == "≥" or "+" in version or not NEWER.isdisjoint((first.lower(), second.lower())) or (is_version(first) and "." in first):
        return f">={version.partition('+')[0]}"
    return f"{spec},{first}{second}" if first in OPERATORS and is_version(second) and sign else spec
