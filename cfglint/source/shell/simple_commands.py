"""Simple commands: their words are expanded, and a builtin, a function or a program is run; redirections, here-documents; the builtins."""

from __future__ import annotations

import os
import re
from functools import partial

from cfglint.evaluate import Reason
from cfglint.source.annotations import Callable, Sequence, SyntaxNode, Truth
from cfglint.source.files import CONFIG_ENDS
from cfglint.source.python.writes import files_written
from cfglint.source.shell import filters
from cfglint.source.shell.arithmetic import NotArithmetic, is_name
from cfglint.source.shell.execution import Execution, Leave, ShellReturn, Stop, blanks_at_end
from cfglint.source.shell.expansion import Unknowable
from cfglint.source.shell.nested_scripts import call_function, evaluated, of_file, script_at, sourced
from cfglint.source.shell.placed_text import EMPTY, Text, TextPart, any_number, literal, split, unknown
from cfglint.source.shell.reasons import FOLDER, FROM_INPUT, OF_CALL, OPTION, UNCLEAR, computed, parameter
from cfglint.source.shell.script import part_of
from cfglint.source.shell.variables import prefixes, within
from cfglint.source.shell.wrappers import WRITTEN, command_name, is_python, with_input

Span = tuple[int, int]

WORD_TYPES = frozenset(
    (
        "word", "number", "string", "raw_string", "concatenation", "simple_expansion", "expansion", "command_substitution",
        "ansi_c_string", "translated_string", "brace_expression", "arithmetic_expansion", "process_substitution", "regex",
        "extglob_pattern", "test_operator", "subscript", "special_variable_name", "variable_name",
    )
)  # fmt: skip

PLACEHOLDER = re.compile(r"<(?![\s<>&(])[^<>\n|;&]*(?<![\s\d])>").match  # `<path>`, which the grammar takes for redirections
CHANGING = ("module", "ml", "conda", "mamba", "micromamba", "spack", "workon", "deactivate", "pyenv", "nvm")  # shell functions
COPYING = ("cp", "mv", "ln", "install", "rsync")
# The commands that change files in place, with the option by which they do.
IN_PLACE = {
    "sed": re.compile(r"-[nErsz]*i|--in-place").match,
    "perl": re.compile(r"-\w*i").match,
    "yq": re.compile(r"-\w*i|--in-?place").match,
    "sponge": re.compile("").match,
}
OUTPUTS = ("o", "save", "dest", "write", "export")  # options of a program that name what it writes begin so
PRINTING = ("cat", "echo", "printf", *filters.TOOLS)  # commands of which nothing but the output is of interest
COMMAND_TYPES = WORD_TYPES | {"command_name", "variable_assignment"}
AWAY = re.compile(r"(1?>>?\|?|&>>?)\s*(?!\s|&1\b|/dev/stdout|>\()").match  # redirections of the output
CHANGES = re.compile(r"\$\{\w+:?[=?]|\(\(").search  # expansions that change the state


Builtin = Callable[[Execution, list[Text]], Truth]


def redirected(shell: Execution, node: SyntaxNode) -> Truth:
    """Follow a statement with redirections; a here-document or here-string is its input."""
    body = part_of(node, "body")
    extra: list[Span] = []
    before, shell.placeholder = shell.stdin, False
    for child in node.children:
        if child.type == "heredoc_redirect":
            shell.stdin = here_document(shell, child)
            for each in (inner for inner in child.children if inner.type == "file_redirect"):
                redirect(shell, each)
            end = body.end_byte if body is not None else child.start_byte
            if shell.script.text[end : child.start_byte].strip() == "-":  # of which the grammar makes no word
                dash = shell.script.text.index("-", end)
                extra.append((dash, dash + 1))
            extra.extend(targets(child))
        elif child.type == "herestring_redirect":
            shell.stdin = here_string(shell, child)
        elif child.type == "file_redirect":
            shell.placeholder = shell.placeholder or PLACEHOLDER(shell.script.text, child.start_byte) is not None
            redirect(shell, child)
            extra.extend(arguments(shell, child))
            if lacks_target(shell, child):  # the rest is on the lines below
                break
    try:
        if body is None:
            return True
        if shell.captured is None and write_script(shell, node, body):
            return True
        with shell.during(captured=[] if shell.captured is not None and prints_elsewhere(shell, node) else shell.captured):
            if extra and body.type == "command":
                return command(shell, body, extra)
            return shell.statement(body)
    finally:
        shell.stdin, shell.placeholder = before, False


def prints_elsewhere(shell: Execution, node: SyntaxNode) -> bool:
    """Whether nothing that a statement prints goes where its output goes: neither that nor its errors (`2>&1 >/dev/tty`)."""
    for child in (child for child in node.children if child.type == "file_redirect"):
        source = shell.source(child)
        if source.startswith("2>&") or source[:1] in "3456789":
            return False
        if AWAY(source) is not None:
            return not any("2>&3" in shell.source(other) for other in node.children if other.type == "file_redirect")
    return False


def command(shell: Execution, node: SyntaxNode, extra: Sequence[Span] = ()) -> Truth:
    """Follow a simple command: its assignments, then its words, the `extra` ones of which stand behind redirections."""
    text = shell.script.text
    prints = text.startswith(("echo ", 'echo"'), node.start_byte) and "echo" not in shell.state.functions
    if shell.captured is None and prints and CHANGES(text, node.start_byte, node.end_byte) is None:
        return True
    spans: list[tuple[int, int]] = []
    environment = prefixes(shell, node) if node.children and node.children[0].type == "variable_assignment" else {}
    before = shell.stdin
    for child in node.children:
        kind = child.type
        if kind in COMMAND_TYPES and (spans or kind != "variable_assignment"):
            spans.append((child.start_byte, child.end_byte))
        elif kind == "herestring_redirect":
            shell.stdin = here_string(shell, child)
        elif kind == "file_redirect":
            shell.placeholder = shell.placeholder or PLACEHOLDER(text, child.start_byte) is not None
            spans.extend(arguments(shell, child))
    spans.extend(extra)
    words = shell.words([*spans, *(blanks_at_end(text, spans[-1][1]) if spans else ())])
    try:
        if not words:
            for name, value in environment.items():
                shell.state.assign(name, value)
            return True
        return start(shell, words, environment, node)
    finally:
        shell.stdin, shell.placeholder = before, False


def start(shell: Execution, words: list[Text], environment: dict[str, Text], node: SyntaxNode) -> Truth:
    name = words[0].value
    if name in shell.state.functions and name is not None:
        return within(shell, environment, call_function, shell, name, words[1:])
    builtin = BUILTINS.get(name or "")
    if builtin is not None:
        return within(shell, environment, builtin, shell, words[1:])
    if name in STATUSES and name is not None:
        return STATUSES[name]
    if name == "eval":
        return within(shell, environment, evaluated, shell, words[1:], node)
    if name == "exec":
        if len(words) == 1:
            return True  # it only redirects
        start(shell, words[1:], environment, node)
        raise Stop  # the command replaces the shell
    if name is None or name in CHANGING:
        shell.state.knows_environment = False
    if shell.captured is not None:
        shell.captured.append(shell.printed(words))
    elif name == "xargs":
        commands = with_input(words, shell.stdin)
        with shell.during(stdin=None):
            for each in commands:
                start(shell, each, environment, node)
    elif name == "tee" and shell.stdin is not None:
        for word in words[1:]:
            keep(shell, written_at(shell, word.value), [shell.stdin], words[1].string in ("-a", "--append"))
    else:
        change_files(shell, words)
        shell.note(words, environment, node)
    return UNCLEAR


def write_script(shell: Execution, node: SyntaxNode, body: SyntaxNode) -> bool:
    """Keep what a command prints into a script; whether it does."""
    redirections = [inner for child in node.children for inner in (child, *child.children) if inner.type == "file_redirect"]
    outputs = [each for each in redirections if shell.source(each).startswith(">") and targets(each)]
    name = shell.expander().string(*targets(outputs[0])[0]).value if len(outputs) == 1 else None
    located = written_at(shell, name)
    if located is None:
        return False
    printed: list[Text] = []
    started = shell.source(body).split()[0] if body.type == "command" else ""
    is_program = located.endswith(CONFIG_ENDS) and bool(started) and started not in PRINTING
    if is_program:  # which is looked at as well
        printed.append(unknown(Reason("program", f"the output of `{started}`")))
    else:
        with shell.during(captured=printed):
            shell.statement(body)
    keep(shell, located, printed, shell.source(outputs[0]).startswith(">>"))
    return not is_program


def change_files(shell: Execution, words: list[Text]) -> None:
    """Keep what a command makes of configs: of those that it changes in place, nothing is known; a copy has the content of the other."""
    name = words[0].string
    if is_python(command_name(words[0])):
        written_by_python(shell, words[1:])
    if name not in COPYING and not (name in IN_PLACE and any(IN_PLACE[name](word.string) for word in words[1:])):
        return
    operands = [word for word in words[1:] if not word.string.startswith("-")]
    if name in COPYING and len(operands) > 1:
        target = operands[-1].value
        if name != "ln" and target is not None and operands[0].value is not None and not target.endswith(CONFIG_ENDS):
            target = f"{target}/{operands[0].string.rpartition('/')[2]}"  # in a folder; of another file nothing is kept
        located = written_at(shell, target)
        if located is not None:
            original, script = script_at(shell, operands[0])
            content = unknown(Reason("file", f"`{shell.readable(original)}`"))
            if script is not None and script.verbatim:
                content = Text((TextPart(script.text, (script.path, 0, len(script.text))),))
            keep(shell, located, [content], False)
    elif name in IN_PLACE:
        for word in operands:
            keep(shell, written_at(shell, word.value), [unknown(Reason("program", f"what `{name}` changes in it"))], False)


def written_by_python(shell: Execution, words: list[Text]) -> None:
    """Nothing is known of what a program, or code in the script, writes into configs: their names are in its code, or it is told them."""
    code, first = shell.stdin, words[0].string if words else ""
    if first == "-c":
        code = words[1] if len(words) > 1 else None
    elif first.endswith(".py"):
        script = script_at(shell, words[0])[1]
        code = literal(script.text) if script is not None else None
    names = files_written(code.string) if code is not None else []
    for word, following in zip(words, [*words[1:], EMPTY], strict=False):
        option, mark, value = word.string.partition("=")
        if option.startswith("-") and option.lstrip("-").startswith(OUTPUTS):
            names.append(value if mark else following.string)
    for name in names:
        keep(shell, written_at(shell, name), [unknown(Reason("program", f"what `{first or 'python'}` writes"))], False)


def written_at(shell: Execution, name: str | None) -> str | None:
    """The path of a script or config that a command writes; None for other files."""
    return shell.located(name) if name is not None and name.endswith((*WRITTEN, *CONFIG_ENDS)) else None


def keep(shell: Execution, located: str | None, printed: list[Text], appends: bool) -> None:
    """Keep what is written into a script, which is followed where it is started, or into a config."""
    variable = of_file(located or "")
    before = shell.state.variables.get(variable, EMPTY) if appends else EMPTY
    if located is not None and isinstance(before, Text):
        shell.state.variables[variable] = Text(part for text in (before, *printed) for part in text.parts)


def targets(node: SyntaxNode) -> list[Span]:
    """The words after the operator of a redirection; the grammar includes words after the file in its targets, and splits
    `$folder/$name.log` before `name`.
    """
    spans: list[Span] = []
    for child in node.children:
        if child.type in WORD_TYPES:
            start = spans.pop()[0] if spans and spans[-1][1] == child.start_byte else child.start_byte
            spans.append((start, child.end_byte))
    return spans


def arguments(shell: Execution, node: SyntaxNode) -> list[Span]:
    """The words behind the target of a redirection, which are arguments of its command.

    The lines after a redirection without target are no arguments; the placeholder that it ends, as in `--config <path>`, is one.
    """
    if not lacks_target(shell, node):
        return targets(node)[1:]
    text = shell.script.text
    start = text.rfind("<", text.rfind("\n", 0, node.start_byte) + 1, node.start_byte)
    return [(start, node.start_byte + 1)] if start >= 0 and PLACEHOLDER(text, start) is not None else []


def lacks_target(shell: Execution, node: SyntaxNode) -> bool:
    """Whether a redirection has no target on its line, as in `PATH=<your path>`: bash stops reading the script there."""
    if node.type != "file_redirect":
        return False
    words = targets(node)
    first = words[0][0] if words else node.end_byte
    return "\n" in shell.script.text[node.start_byte : first].replace("\\\n", "") or not words


def redirect(shell: Execution, node: SyntaxNode) -> None:
    words = targets(node)
    if ">" in shell.source(node)[:3] and words:
        shell.written.add(shell.expander().string(*words[0]).string)


def here_string(shell: Execution, node: SyntaxNode) -> Text | None:
    named = [child for child in node.children if child.is_named]
    return shell.expander().string(named[0].start_byte, named[0].end_byte) + literal("\n") if named else None


def here_document(shell: Execution, node: SyntaxNode) -> Text:
    """The lines of a here-document, expanded unless its mark is quoted."""
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    mark = next((child for child in node.children if child.type == "heredoc_start"), None)
    if body is None:
        return EMPTY
    if mark is not None and shell.source(mark)[:1] in "\"'\\":
        return shell.script.literal(body.start_byte, body.end_byte)
    expander = shell.expander()
    expander.in_document = True
    return expander.string(body.start_byte, body.end_byte, True)


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
    shell.assumed += [OF_CALL] if texts is None else []
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
