"""The builtins of bash that affect which commands a script starts."""

from __future__ import annotations

import os
from functools import partial

from cfglint.source.annotations import Callable, Truth
from cfglint.source.shell import filters
from cfglint.source.shell.arithmetic import NotArithmetic, is_name
from cfglint.source.shell.execution import Execution, Leave, ShellReturn, Stop
from cfglint.source.shell.expansion import Unknowable
from cfglint.source.shell.nested_scripts import sourced
from cfglint.source.shell.placed_text import Text, any_number, literal, split, unknown
from cfglint.source.shell.reasons import FOLDER, FROM_INPUT, OPTION, UNCLEAR, computed, parameter

Builtin = Callable[[Execution, list[Text]], Truth]


def cd(shell: Execution, words: list[Text]) -> Truth:
    targets = [word for word in words if word.string not in ("-", "--", "-P", "-L")]
    if not targets:
        shell.state.folder = None if words else "~"
        return True
    path = targets[0].value
    located = None if path is None else shell.located(path)
    if located is not None:
        normal = os.path.normpath(located)  # one above the project's top stays unchanged
        located = normal if not located.startswith("%") or normal.startswith(located.partition("/")[0]) else located
    shell.state.folder = located
    return True


def exit_script(shell: Execution, words: list[Text]) -> Truth:
    raise Stop


def return_from(shell: Execution, words: list[Text]) -> Truth:
    status = words[0].value if words else None
    raise ShellReturn(UNCLEAR if status is None or not status.isdigit() else not int(status[:4]))


def leave_loop(shell: Execution, words: list[Text], continues: bool) -> Truth:
    """Follow `continue`, `break`, `break 2`: not more loops are left than there are."""
    count = words[0].value if words else None
    levels = min(int(count[:4]), max(shell.loops, 1)) if count is not None and count.isdigit() and int(count[:4]) else 1
    raise Leave(continues, levels)


def shift(shell: Execution, words: list[Text]) -> Truth:
    count = words[0].value if words else "1"
    texts = shell.state.positional
    if texts is None:
        return True
    if not count or not count.isdigit():
        shell.state.positional = [any_number(computed("shift"))]
        return UNCLEAR
    if int(count[:4]) > len(texts):
        return False
    shell.state.positional = texts[int(count[:4]) :]
    return True


def set_options(shell: Execution, words: list[Text]) -> Truth:
    """Follow `set`; after `--` it sets the parameters, `-u` refuses unset variables."""
    for index, word in enumerate(words):
        text = word.value or ""
        if text == "--":
            shell.state.positional = words[index + 1 :]
            return True
        if text == "nounset" or (text[:1] in ("-", "+") and "u" in text):
            sign = words[index - 1].string[:1] if text == "nounset" else text[:1]
            shell.state.nounset = sign == "-"
    return True


def read_input(shell: Execution, words: list[Text]) -> Truth:
    """Follow `read`: its input is unknown, except for a here-string or a here-document."""
    text = shell.stdin
    names = [word.value for word in words if word.value and is_name(word.value)]
    given = [word.string for word in words if word.string.startswith("-")]
    is_array = any("a" in option for option in given)
    if text is None or not text.known or not names:
        for name in names:
            shell.state.assign(name, [any_number(FROM_INPUT)] if is_array else unknown(FROM_INPUT))
        return UNCLEAR
    separators = shell.state.separators
    line = text if any("d" in option for option in given) else split_lines(text)[0]
    if is_array:
        shell.state.assign(names[-1], list(split(line, separators + "\n" if separators else "")[0]))
        return True
    # The separators that are blank, with the end of a line; none without separators.
    blanks = "".join(separator for separator in separators if separator.isspace()) + "\n" if separators else ""
    for name in names[:-1]:  # each gets a field; behind it are blanks, and one separator that is not blank
        string = line.string
        start = len(string) - len(string.lstrip(blanks))
        end = next((at for at in range(start, len(string)) if string[at] in separators + blanks), len(string))
        rest = string[end:].lstrip(blanks)
        rest = rest[1:].lstrip(blanks) if rest[:1] and rest[0] in separators else rest
        shell.state.assign(name, line[start:end])
        line = line[len(string) - len(rest) :]
    string = line.string.rstrip(blanks)  # the last one gets the rest; a single field without the separator behind it
    if string[-1:] and string[-1] in separators and not any(each in separators for each in string[:-1].strip(blanks)):
        string = string[:-1]
    shell.state.assign(names[-1], line[len(string) - len(string.lstrip(blanks)) : len(string)])
    return True


def read_lines(shell: Execution, words: list[Text]) -> Truth:
    """Follow `mapfile`, `readarray`: the lines of a here-string or a here-document."""
    names = [word.value for word in words if word.value and is_name(word.value)]
    text = shell.stdin
    strips = any(word.value == "-t" for word in words)
    if text is None or not text.known or not strips or not names or len(words) > 2:
        shell.state.assign(names[-1] if names else "MAPFILE", [any_number(FROM_INPUT)])
        return UNCLEAR
    body = text[: len(text) - 1] if text.string.endswith("\n") else text
    shell.state.assign(names[-1], split_lines(body))
    return True


def getopts(shell: Execution, words: list[Text]) -> Truth:
    """Follow `getopts`: options of the call, none for a script that is called without arguments."""
    texts = shell.state.positional
    if texts is not None and (not texts or (texts[0].known and not texts[0].string.startswith("-"))):
        return False
    shell.by_call = shell.by_call or texts is None
    names = [word.value for word in words[1:2] if word.value is not None and is_name(word.value)]
    for name in (*names, "OPTARG", "OPTIND"):
        shell.state.assign(name, unknown(parameter("an option of the script") if texts is None else OPTION))
    return False if texts is None else UNCLEAR


def echo(shell: Execution, words: list[Text]) -> Truth:
    """Follow `echo` and `printf`, which matter if their output is used."""
    if shell.captured is not None:
        shell.captured.append(filters.echo(words))
    return True


def printf(shell: Execution, words: list[Text]) -> Truth:
    """Follow `printf`; with `-v` it sets a variable."""
    if words and words[0].value == "-v" and len(words) > 2:
        shell.state.assign(words[1].string, filters.output([literal("printf"), *words[2:]], None, None))
    elif shell.captured is not None:
        shell.captured.append(filters.output([literal("printf"), *words], None, None))
    return True


def pwd(shell: Execution, words: list[Text]) -> Truth:
    if shell.captured is not None:
        folder = shell.state.folder
        shell.captured.append(literal(folder + "\n") if folder is not None else unknown(FOLDER))
    return True


def let(shell: Execution, words: list[Text]) -> Truth:
    for word in words:
        expander = shell.expander()
        try:
            expander.computed(word.value or "")
        except (Unknowable, NotArithmetic):
            return UNCLEAR
    return True


def split_lines(text: Text) -> list[Text]:
    """The lines of a known string, empty ones included."""
    texts: list[Text] = []
    start = 0
    for line in text.string.split("\n"):
        texts.append(text[start : start + len(line)])
        start += len(line) + 1
    return texts


STATUSES: dict[str, Truth] = {  # of builtins without an effect here
    **dict.fromkeys(("true", ":", "trap", "ulimit", "shopt", "wait"), True),
    "false": False,
    "test": UNCLEAR,
}
BUILTINS: dict[str, Builtin] = {
    "cd": cd,
    "pushd": cd,
    "source": sourced,
    ".": sourced,
    "exit": exit_script,
    "return": return_from,
    "continue": partial(leave_loop, continues=True),
    "break": partial(leave_loop, continues=False),
    "shift": shift,
    "set": set_options,
    "read": read_input,
    "mapfile": read_lines,
    "readarray": read_lines,
    "getopts": getopts,
    "echo": echo,
    "printf": printf,
    "pwd": pwd,
    "let": let,
}
