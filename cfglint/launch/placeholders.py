"""Placeholders such as `<path>`: in a page a reader fills them in; in a script the shell reads them as redirections."""

from __future__ import annotations

import re

from cfglint.launch.line import LaunchLine

TO_FILL_IN = re.compile(r"(?<!<)<[^\W\d_][^<>\n|;&$()]*(?<![\s\d])>(?!\w)")
BEFORE_A_WORD = re.compile(rf"(?<=\s){TO_FILL_IN.pattern}(?=[ \t]*\\\n|[ \t]+[^\s#;|&)])")  # at the end of a line bash refuses the script


OPTIONAL = re.compile(r"(?<=\s)\[-[^\[\]\n]*\](?!\S)")  # `[--flag]`, which the reader of a page may leave out


def as_words(text: str, placeholder: re.Pattern[str]) -> str:
    """Commands of the same length in which each placeholder is a part of its word."""
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
