"""The output of small text tools that scripts use between `$(` and `)`; no tool is run."""

from __future__ import annotations

import os
import re
from functools import partial

from cfglint.evaluate import Reason
from cfglint.source.annotations import Callable
from cfglint.source.shell.placed_text import Text, joined, literal, unknown
from cfglint.source.shell.reasons import COUNTED, FOLDER, FROM_RUN_TO_RUN

MOST = 1_000
IN_SUMS = frozenset("0123456789+-*/%^()<>=! ")  # characters of sums of integers
RANGE = re.compile(r"([\w.-]+)\[(\d+)-(\d+)\]")
LOOKUPS = {"command": "-v", "type": "-P"}
MARK = re.compile(r"%s|%d|%0\d{1,2}d")


class NotKnown(Exception):
    """The output of a tool is unknown."""


def output(words: list[Text], stdin: Text | None, folder: str | None) -> Text:
    """The output of a command; unknown if its tool is not modelled or its input is unknown."""
    name = (words[0].value or "").rpartition("/")[2] if words else ""
    if name == "echo":
        return echo(words[1:])
    if name == "cat" and len(words) == 1 and stdin is not None:
        return stdin
    if name in ("date", "uuidgen", "mktemp", "shuf"):
        return unknown(FROM_RUN_TO_RUN)
    if name == "nvidia-smi" or (name.startswith("python") and any("device_count" in word.string for word in words[1:])):
        return unknown(COUNTED)
    if len(words) > 1 and words[-1].known and (name == "which" or (name in LOOKUPS and words[1].value == LOOKUPS[name])):
        found = unknown(Reason("environment", f"where `{words[-1].value}` is installed"), source=" ".join(word.source for word in words))
        return found + literal(f"/{(words[-1].value or '').rpartition('/')[2]}")
    if name == "pwd":
        return literal(folder) if folder is not None else unknown(FOLDER)
    if len(words) > 1 and words[1].value == "--":  # the end of the options
        words = [words[0], *words[2:]]
    tool = TOOLS.get(name)
    inputs = [*words[1:], *([stdin] if stdin is not None else [])]
    reasons = tuple(reason for text in inputs for reason in text.reasons)
    if name == "dirname" and len(words) == 2 and not reasons:
        path = words[1].value or ""
        above = path.rstrip("/").rpartition("/")[0].rstrip("/")
        return literal((above or ("/" if path.startswith("/") else ".")) + "\n")
    if tool is not None and not reasons:
        try:
            return literal(tool([word.value or "" for word in words[1:]], None if stdin is None else stdin.value, folder))
        except (NotKnown, ValueError, LookupError, RecursionError):
            pass
    source = " ".join([name, *(text.source for text in inputs)])
    return unknown(*(reasons or (Reason("environment", f"the output of `{name}`"),)), source=source)


def echo(words: list[Text]) -> Text:
    """The output of `echo`, whose words keep their places."""
    while words and words[0].value in ("-n", "-e", "-en", "-ne"):
        words = words[1:]
    return joined(words) + literal("\n")


def basename(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    if not arguments or arguments[0].startswith("-"):
        raise NotKnown
    name = arguments[0].rstrip("/").rpartition("/")[2] or arguments[0][:1]
    return (name.removesuffix(arguments[1]) if len(arguments) > 1 and name != arguments[1] else name) + "\n"


def realpath(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    """The output of `realpath`, `readlink -f`: links are not resolved."""
    paths = [argument for argument in arguments if not argument.startswith("-")]
    if len(paths) != 1 or folder is None:
        raise NotKnown
    return os.path.normpath(paths[0] if paths[0].startswith(("/", "%", "~")) else f"{folder}/{paths[0]}") + "\n"


def seq(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    numbers = [int(argument) for argument in arguments]
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[1]) if len(numbers) == 2 else numbers
    if not step:
        raise NotKnown
    return "".join(f"{each}\n" for each in range(first, last + (1 if step > 0 else -1), step)[:MOST])


def expr(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    r"""The output of `expr A \* B`."""
    from cfglint.source.shell.arithmetic import NotArithmetic, evaluate

    def refuse(name: str) -> int:
        raise NotKnown

    try:
        return f"{evaluate(' '.join(arguments), refuse)}\n"
    except NotArithmetic as error:
        raise NotKnown from error


def calculator(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    """The output of `echo 'a * b' | bc` for integers; `^` is the power there, which is `**` to the shell."""
    text = (stdin or "").strip()
    if not set(text) <= IN_SUMS:
        raise NotKnown
    return expr([text.replace("^", "**")], None, None)


def count(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    """The output of `wc -l`, `wc -w`, `wc -c` for an input."""
    if stdin is None or len(arguments) != 1:
        raise NotKnown
    counts = {"-l": stdin.count("\n"), "-w": len(stdin.split()), "-c": len(stdin.encode())}
    return f"{counts[arguments[0]]}\n"


def translate(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    """The output of `tr A B`, `tr -d A`, `tr -cd A`."""
    text = stdin or ""
    named = {"\\n": "\n", "\\t": "\t", "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz"}
    sets = [named.get(argument, argument.replace("A-Z", named["[:upper:]"]).replace("a-z", named["[:lower:]"])) for argument in arguments]
    if "-d" in sets[:1]:
        return "".join(char for char in text if char not in sets[1])
    if sets[0] in ("-cd", "-dc"):
        return "".join(char for char in text if char in sets[1])
    if sets[0].startswith("-") or len(sets) != 2 or not sets[1] or "-" in sets[0][1:]:
        raise NotKnown
    source, target = sets
    target += target[-1] * (len(source) - len(target))
    return text.translate(str.maketrans(source, target[: len(source)]))


def cut(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    text = " ".join(arguments).replace("-d ", "-d").replace("-f ", "-f").split("-f")
    delimiter, field = text[0].replace("-d", "").strip("\"'") or " ", text[-1].strip()
    if "-d" in text[-1]:
        field, _, delimiter = text[-1].partition("-d")
    delimiter = delimiter.strip() or " "
    number = int(field.strip())
    cells = ((line.split(delimiter) if delimiter in line else [line] * number)[number - 1] for line in (stdin or "").splitlines())
    return "".join(f"{cell}\n" for cell in cells)


def awk(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    separator, rest = None, arguments
    if rest[0] == "-F":
        separator, rest = rest[1], rest[2:]
    elif rest[0].startswith("-F"):
        separator, rest = rest[0][2:], rest[1:]
    if len(rest) != 1 or (separator and len(separator) != 1):
        raise NotKnown
    program = rest[0].strip().strip("{}").strip().rstrip(";").strip()
    if not program.startswith("print "):
        raise NotKnown
    what = program[6:].strip()
    lines = []
    for line in (stdin or "").splitlines():
        fields = line.split(separator) if separator and line else line.split()  # an empty line has no field
        lines.append(str(len(fields)) if what == "NF" else fields[-1] if what == "$NF" else fields[int(what.removeprefix("$")) - 1])
    return "".join(f"{line}\n" for line in lines)


def lines(arguments: list[str], stdin: str | None, folder: str | None, at_end: bool = False) -> str:
    """The output of `head -n N`, `head -N`, `tail -1`."""
    text = "".join(arguments).replace("-n", "").replace("-", "")
    count = int(text) if text else 10
    found = (stdin or "").splitlines(keepends=True)
    return "".join(found[-count:] if at_end else found[:count])


def printf(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    """The output of `printf` with `%s`, `%d` and `%02d`, each used once, or repeated for a list."""
    form, values = arguments[0].replace("\\n", "\n").replace("\\t", "\t"), arguments[1:]
    marks = MARK.findall(form)
    if form.count("%") != len(marks):
        raise NotKnown
    if not marks:
        return form
    pieces = MARK.split(form)
    found = ""
    for start in range(0, max(len(values), 1), len(marks)):
        group = [*values[start : start + len(marks)], *[""] * len(marks)][: len(marks)]
        for number, (mark, value) in enumerate(zip(marks, group, strict=True)):
            found += pieces[number]
            if mark in ("%s", "%d"):
                found += value
            elif not value.isdigit() or (value.startswith("0") and value != "0"):  # a leading zero would be octal
                raise NotKnown
            else:
                found += mark % int(value)
        found += pieces[-1]
    return found


def sed(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    if len(arguments) != 1 or not arguments[0].startswith("s") or stdin is None:
        raise NotKnown
    mark = arguments[0][1]
    parts = arguments[0].split(mark)
    if len(parts) != 4 or set(parts[1]) & set("\\.*[]^$") or set(parts[2]) & set("\\&") or parts[3] not in ("", "g"):
        raise NotKnown
    count = -1 if parts[3] else 1
    return "\n".join(line.replace(parts[1], parts[2], count) for line in stdin.split("\n"))


def same(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    """The output of `cat`, `tee`, `xargs` at the end of a pipe: the unchanged input."""
    if stdin is None or [argument for argument in arguments if not argument.startswith("-")]:
        raise NotKnown
    return stdin


def nodes(arguments: list[str], stdin: str | None, folder: str | None) -> str:
    """The output of `scontrol show hostnames LIST` for one range of names: `node[0-3]`."""
    if arguments[:1] != ["show"] or len(arguments) != 3 or not arguments[1].startswith("hostname"):
        raise NotKnown
    match = RANGE.fullmatch(arguments[2])
    if match is None:
        if set("[,") & set(arguments[2]):
            raise NotKnown
        return f"{arguments[2]}\n"
    first, last, digits = int(match[2]), int(match[3]), len(match[2])
    if last - first >= MOST:
        raise NotKnown
    return "".join(f"{match[1]}{number:0{digits}}\n" for number in range(first, last + 1))


TOOLS: dict[str, Callable[[list[str], str | None, str | None], str]] = {
    "basename": basename,
    "realpath": realpath,
    "readlink": realpath,
    "seq": seq,
    "expr": expr,
    "bc": calculator,
    "wc": count,
    "tr": translate,
    "cut": cut,
    "awk": awk,
    "head": lines,
    "tail": partial(lines, at_end=True),
    "printf": printf,
    "sed": sed,
    "cat": same,
    "scontrol": nodes,
    "xargs": same,
}
