"""Escapes strings from files for terminals and CI logs."""

from __future__ import annotations

INVISIBLE = "\u115f\u1160\u3164\uffa0"  # Hangul fillers: printable according to Python, but invisible
MARKS = ("##[", "##vso[", "##teamcity[")  # commands that CI servers execute anywhere in a line: GitHub and Azure, Azure, TeamCity


def shown(text: str) -> str:
    """Escape a string from a file for a terminal or a CI log.

    Control characters, lone surrogates and invisible letters become escapes, and so does the mark of a command that a CI
    runner would execute: `##[group]` anywhere in a line, `::error::` at its start.
    """
    if "##" in text:
        for mark in MARKS:
            text = text.replace(mark, f"#\\x23{mark[2:]}")
    text = without_runner_command(text)
    if text.isprintable() and not any(char in text for char in INVISIBLE):
        return text
    return "".join(char if visible(char) else char.encode("unicode_escape").decode("ascii") for char in text)


def without_runner_command(line: str) -> str:
    """A line that GitHub's runner does not execute as a command: it executes `::name ...` after leading white space."""
    return line.replace("::", ":\\x3a", 1) if "::" in line and line.lstrip().startswith("::") else line


def is_runner_command(line: str) -> bool:
    """Whether a CI runner would execute a line, or a part of it."""
    return without_runner_command(line) != line or any(mark in line for mark in MARKS)


def visible(char: str) -> bool:
    """Whether a character is displayed as itself."""
    return char == "\t" or (char.isprintable() and char not in INVISIBLE)
