"""Fenced shell blocks of a Markdown file, and placeholders such as `<path>`: in a page a reader fills them in; in a script the shell reads
them as redirections.
"""

from __future__ import annotations

import re

from cfglint.launch.line import LaunchLine
from cfglint.source.record import Record
from cfglint.source.shell.command import ELLIPSES
from cfglint.source.shell.script import Script

LANGUAGES = ("", "bash", "sh", "shell", "console", "zsh", "shell-session", "shellsession", "terminal", "text", "cmd", "none", "bash/shell")
PYTHON = ("python", "python3", "py")  # of a block, in which a page may have commands all the same:
COMMANDS = re.compile(r"\s*(?:#.*\n\s*)*(?:\$ )?(?:cd \S+\n\s*|\w+=\S+ )*(?:python3?|torchrun|deepspeed|accelerate|bash|sh) +[-\w./]").match
TO_FILL_IN = re.compile(r"(?<!<)<[^\W\d_][^<>\n|;&$()]*(?<![\s\d])>(?!\w)")
WORDS_TO_FILL_IN = re.compile(
    r"(?<=[\s=/])(?:\{(?=[^{}\n]*\s)[^\W\d_][^{}\n|;&$()<>\"'`]*\}|\[(?=[^\[\]\n]*\s)[^\W\d_][^\[\]\n|;&$()<>\"'`]*\])(?!\w)"
)
BEFORE_A_WORD = re.compile(rf"(?<=\s){TO_FILL_IN.pattern}(?=[ \t]*\\\n|[ \t]+[^\s#;|&)])")  # at the end of a line bash refuses the script
OPTIONAL = re.compile(r"(?<=\s)\[-[^\[\]\n]*\](?!\S)")  # `[--flag]`, which the reader of a page may leave out


class Block(Record):
    """A block: its content with prompts replaced by spaces, so that offsets stay, and where it begins in the file."""

    text: str
    offset: int
    line: int
    language: str

    def script(self, path: str) -> Script:
        """The commands of the block; what is to be filled in is a part of its word, not a redirection, and what is optional is left out."""
        parsed = OPTIONAL.sub(lambda match: " " * len(match.group()), as_words(as_words(self.text, TO_FILL_IN), WORDS_TO_FILL_IN))
        return Script(path, self.text, self.offset, self.line, parsed=parsed)


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    fence = ""
    start = first = 0
    language = ""
    offset = 0
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip().lstrip("> ")
        mark = stripped[:3]
        if not fence and mark in ("```", "~~~"):
            fence = stripped[: len(stripped) - len(stripped.lstrip(mark[0]))]
            info = stripped[len(fence) :].strip().split()
            language = info[0].lower().strip("{}.").partition(",")[0] if info else ""
            start, first = offset + len(line) + 1, number + 1
        elif fence and stripped.startswith(fence) and not stripped.strip(fence[0]):
            if start < offset and (language in LANGUAGES or (language in PYTHON and COMMANDS(text, start))):
                found.append(Block(without_prompts(text[start:offset]), start, first, language))
            fence = ""
        offset += len(line) + 1
    return found


def without_prompts(text: str) -> str:
    """The block as it is copied from the rendered page: without prompts and carriage returns, in whose places spaces are.

    A comment within a command that stands for further arguments, `# ... other arguments`, becomes its dots.
    """
    lines = text.replace("\\\r\n", " \\\n").replace("\r\n", " \n").split("\n")
    for index, line in enumerate(lines):
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        if bare.startswith("$ "):
            lines[index] = f"{indent}  {bare[2:]}"
        elif bare.startswith("#") and index and lines[index - 1].endswith("\\") and any(each in bare for each in ELLIPSES):
            lines[index] = f"{indent}...".ljust(len(line))
    return "\n".join(lines)


def as_words(text: str, placeholder: re.Pattern[str]) -> str:
    return placeholder.sub(lambda match: "x" * len(match.group()), text)


def unfilled(line: LaunchLine, text: str) -> None:
    """Report the first placeholder of a line that the shell does not pass on, so that it starts nothing; `text` is the script."""
    for word in line.call.words if not line.call.broken else ():
        place = word.place
        if place is None or place[0] != line.script_path or not TO_FILL_IN.fullmatch(word.string):
            continue
        if text[place[1] : place[2]] == word.string and text[place[1] - 1 : place[1]].isspace():
            name = word.string[1:-1]
            message = f"`{word.string}` is not filled in: the shell reads it as a redirection from `{name}`"
            line.report("LCH023", "warning", word, word.string, message, remedy="write the value in its place")
            line.call.broken = True
            return
