"""The text of `--help`, folded to the width of the terminal."""

from __future__ import annotations

from textwrap import TextWrapper, wrap

from cfglint.cli.console import columns

Option = tuple[str, str, str, str]  # topic, name, form in a usage line, explanation

WIDTH = 100  # columns of a help text, on a wider terminal or none
MOST_NAMED = 6  # options of a topic that the help of a command names
INDENT = 28  # columns before the explanation of an option


def help_text(usage: str, description: str, options: list[Option], examples: list[tuple[str, str]]) -> str:
    width = help_width()
    lines = [*folded(f"usage: {usage}", width, "    "), "", *folded(description, width), ""]
    for topic, _, form, text in options:
        lines += [] if topic else explained(form, text, width)
    for topic in dict.fromkeys(topic for topic, *_ in options if topic):
        names = [name for own, name, *_ in options if own == topic]
        listed = " ".join(names[:MOST_NAMED]) + ("..." if len(names) > MOST_NAMED else "")
        lines += ["", *folded(f"about the {topic} (`cfglint help {topic}`): {listed}", width, "  ")]
    lines += ["", "examples:"] if examples else []
    for command, what in examples:
        line = f"  {command}  # {what}"
        lines += [line] if len(line) <= width else [*folded_command(command, width), *folded(f"      {what}", width, "      ")]
    return "\n".join(lines)


def help_width() -> int:
    return min(columns() or WIDTH, WIDTH)


def folded(text: str, width: int, indent: str = "") -> list[str]:
    return wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def folded_command(command: str, width: int) -> list[str]:
    """The lines of an example; a backslash continues a command that is too long for one line."""
    lines = folded(f"  {command}", width - 2, "      ")
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def explained(form: str, text: str, width: int) -> list[str]:
    """The lines about one option in a help text; a list of choices is broken after commas."""
    left = [line.replace(", ", ",") for line in folded(f"  {form.replace(',', ', ')}", width, " " * INDENT)]
    words = folded(text, width - INDENT)
    if len(left) == 1 and len(left[0]) + 1 >= INDENT and len(left[0]) + 2 + len(text) <= width:
        return [f"{left[0]}  {text}".rstrip()]
    first = [left.pop().ljust(INDENT) + words.pop(0)] if words and len(left[-1]) < INDENT - 1 else []
    return [line.rstrip() for line in (*left, *first, *(" " * INDENT + word for word in words))]


def folded_lines(lines: list[str], indent: int = 4) -> list[str]:
    """Lines in the width of the terminal, if there is one; what is folded is indented."""
    width = columns()
    if width is None or max(map(len, lines), default=0) <= width:
        return lines

    folder = TextWrapper(width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return [f"{folder.fill(line)}\n" for line in lines]
