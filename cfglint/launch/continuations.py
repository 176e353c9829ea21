"""Broken line continuations of a launch: commands that end too early, and words that are joined because no blank separates them.

Source: bash(1), "Quoting".
"""

from __future__ import annotations

from itertools import pairwise

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.wording import counted
from cfglint.launch import Launch
from cfglint.launch.argparse_types import converted
from cfglint.launch.kinds import base_fields, is_trainer
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import Argument, LaunchLine, LineProblem
from cfglint.source.shell.command import ELLIPSES, CommandDocument
from cfglint.source.shell.placed_text import Text

CODE = "LCH001"
REMEDY = "end each line but the last with a backslash and nothing after it, and put no comments in between"
JOINED = Reason("argument", "a word that a line continuation joins with the next option")
CONTINUATION = 2  # characters: a backslash and a newline


def lost_arguments(line: LaunchLine) -> None:
    """Report words that a broken line continuation cuts off, and the blank that it passes to the program."""
    call = line.call
    cut, lost = call.cut, call.lost
    if (not lost and not call.blanks) or call.words[-1].string in ELLIPSES:  # `...` on a line of its own stands for other arguments
        return
    if lost:
        first = lost[0][0][0]
        word, key = first, first.string.partition("=")[0]
        if cut is not None:  # the blank is at the end of the option before
            options = [text.string for text in call.words if text.string.startswith("--") or "=" in text.string]
            word, key = cut, "".join(options[-1:]).partition("=")[0]
        reader = "the program" if line.program is not None else "the launcher"
        others = [text.string for words, _ in lost for text in words if text.string.startswith("--") or "=" in text.string]
        name = first.string.partition("=")[0]
        count = len(others) - any(other.partition("=")[0] == name for other in others[:1])
        lost_words = f"`{name}` and {counted(count, 'more argument')} are" if count > 0 else f"`{name}` is"
        cause = "the line continuation before it is broken" if cut is None else f"{blank_name(cut)} follows the backslash before it"
        message = f"{lost_words} not passed to {reader}: {cause}"
    else:
        word, key = call.blanks[0], ""
        where = "the last backslash" if word is cut else "a backslash that does not end its line"
        message = f"{blank_name(word)} is passed to the program as an argument of its own: it follows {where}"
    problem = LineProblem(CODE, "warning", word, key, message, remedy=REMEDY)
    if line.program is None:
        problem.severity, problem.of_launcher = "error", True
        problem.exception = "error: the following arguments are required" if cut is None else f"python: can't open file {cut.string!r}"
    line.problems.append(problem)


def blank_name(word: Text) -> str:
    return {"\r": "a carriage return (a Windows line end)", "\t": "a tab"}.get(word.string[0], "a blank")


def leave_out_blanks(line: LaunchLine, arguments: list[Argument]) -> None:
    """Remove the blanks that broken continuations pass from the values of options that have others."""
    for argument in arguments if line.call.blanks else ():
        argument.texts[1:] = [word for word in argument.texts[1:] if not is_stray(word, line)]


def is_stray(word: Text, line: LaunchLine) -> bool:
    """Whether a word is a blank that a broken continuation passes, or a word of the comment that it begins."""
    call = line.call
    if any(word is blank for blank in call.blanks):
        return True
    behind = call.words[next(place for place, text in enumerate(call.words) if text is call.cut) :] if call.cut is not None else ()
    return any(word is text for text in behind)


def refused_blanks(line: LaunchLine, launch: Launch) -> None:
    """Make the blanks that broken continuations pass an error where the launcher's parser accepts no further words."""
    raised = launcher_of(line).refused_words
    words = [word for word in line.arguments if is_stray(word, line)] if line.call.blanks else []
    if raised and words and launch.is_main:
        refuse(line, "", raised.format([word.string for word in words]))


def joined_words(line: LaunchLine, arguments: list[Argument]) -> None:
    for argument in arguments:
        for word in argument.texts:
            at = joined_at(word)
            if at is not None:
                option = Text(word.parts[at:])
                message = f"`{word.string}` is one word: there is no blank before the backslash, so `{option.string}` is not an option"
                remedy = f"write a blank before the backslash in front of `{option.string}`"
                line.report(CODE, "warning", option, f"--{argument.name}", message, remedy=remedy)


def joined_at(word: Text) -> int | None:
    """The index of the part of a word that was meant to be an option: it begins with dashes right behind a line continuation."""
    for index, (before, after) in enumerate(pairwise(word.parts), 1):
        one, two = before.place, after.place
        if one is None or two is None or one[0] != two[0] or two[1] - one[2] != CONTINUATION:
            continue
        if after.text is not None and after.text.startswith("--") and not any(map(str.isspace, before.text or " ")):
            return index
    return None


def refused_joined_words(line: LaunchLine, command: CommandDocument, launch: Launch) -> None:
    """Make joined words that the parser cannot convert to the type of their option errors, and their values unknown to all other rules."""
    for argument in line.given or ():
        joined = next((word for word in argument.texts if joined_at(word) is not None), None)
        if joined is None or argument.name not in command.words:
            continue
        command.words[argument.name], command.unknown[argument.name] = None, Unknown(JOINED)
        kind = kind_of(argument.name, launch)
        if kind in ("int", "float") and converted(kind, joined.string) is None:
            refuse(line, f"--{argument.name}", f"error: argument --{argument.name}: invalid {kind} value: {joined.string!r}")


def kind_of(name: str, launch: Launch) -> str:
    """The type of an argument, if it is known who parses it: the program itself, or the Trainer's parser; empty if not."""
    program = launch.parser
    if program is not None and name in program.fields:
        return str(program.fields[name].kind)
    fields = base_fields()
    kinds = fields[name][0].split("|") if name in fields and launch.is_main and not launch.doubts and is_trainer(launch.consumer) else []
    return next((kind for kind in ("float", "int") if kind in kinds), "") if "str" not in kinds else ""


def refuse(line: LaunchLine, key: str, exception: str) -> None:
    """Make the problem of a broken continuation at an option an error with this exception; empty `key` for that of blanks."""
    for problem in line.problems:
        if problem.code == CODE and (not key or problem.key == key):
            problem.severity, problem.exception, problem.of_launcher = "error", exception, True
