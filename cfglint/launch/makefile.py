"""Recipes of a Makefile, as shell source with unchanged offsets."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.source.record import Record
from cfglint.source.shell.placed_text import Text, TextPart
from cfglint.source.shell.script import Script


class Recipe(Record):
    """The recipe of one target: its source in parts, with the values of make's variables in place of their names."""

    line: int
    parts: list[TextPart] = []

    def script(self, path: str) -> Script:
        text = Text(TextPart(part.text, None if part.place is None else (path, *part.place[1:]), part.reasons) for part in self.parts)
        return Script(path, "", first_line=self.line, parts=text)


def recipes(text: str) -> list[Recipe]:
    variables = assigned(text)
    found: list[Recipe] = []
    current: Recipe | None = None
    offset = 0
    for number, line in enumerate(text.split("\n"), 1):
        continues = current is not None and text[: max(offset - 1, 0)].endswith("\\")
        if line.startswith("\t") or continues:
            if current is None:
                current = Recipe(number)
                found.append(current)
            indent = len(line) - len(line.lstrip("\t " if continues else "\t @-+"))
            expand(line[indent:], offset + indent, variables, current.parts, 0)
            current.parts.append(TextPart("\n"))
        elif line.strip() and not line.startswith("#"):
            current = None
        elif current is not None:
            current.parts.append(TextPart("\n"))
        offset += len(line) + 1
    return found


def assigned(text: str) -> dict[str, TextPart]:
    found: dict[str, TextPart] = {}
    offset = 0
    for line in text.split("\n"):
        for operator in ("?=", ":=", "="):
            name, mark, value = line.partition(operator)
            bare = name.strip()
            if mark and bare and not line.startswith(("\t", "#")) and bare.replace("_", "a").isalnum():
                plain = value.split(" #")[0].strip()
                start = offset + len(name) + len(mark) + (len(value) - len(value.lstrip()))
                if not (operator == "?=" and bare in found):
                    found[bare] = TextPart(plain, ("", start, start + len(plain)))
                break
        offset += len(line) + 1
    return found


def expand(text: str, offset: int, variables: dict[str, TextPart], parts: list[TextPart], depth: int) -> None:
    """Append a line, with `$$` replaced by a dollar sign and `$(NAME)` by its value."""
    at = start = 0
    while at < len(text):
        if text[at] != "$" or at + 1 >= len(text):
            at += 1
            continue
        if start < at:
            parts.append(TextPart(text[start:at], ("", offset + start, offset + at)))
        following = text[at + 1]
        if following == "$":
            parts.append(TextPart("$"))
            at += 2
        elif following in "({":
            end = text.find(")" if following == "(" else "}", at)
            end = len(text) if end < 0 else end
            variable(text[at + 2 : end], variables, parts, depth)
            at = end + 1
        else:
            variable(following, variables, parts, depth)
            at += 2
        start = at
    if start < len(text):
        parts.append(TextPart(text[start:], ("", offset + start, offset + len(text))))


def variable(name: str, variables: dict[str, TextPart], parts: list[TextPart], depth: int) -> None:
    """Append the value of a variable of make; unknown if the Makefile does not set it."""
    value = variables.get(name)
    if value is None or value.text is None or depth > 8:
        parts.append(TextPart(None, None, (Reason("environment", f"the make variable `{name}`"),)))
    elif "$" in value.text:
        expand(value.text, value.place[1] if value.place else 0, variables, parts, depth + 1)
    else:
        parts.append(value)
