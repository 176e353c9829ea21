"""Problems of a launch line that the line and the files that it names show, broken line continuations among them: commands that end too
early, and words that are joined because no blank separates them.

Source: bash(1), "Quoting".
"""

from __future__ import annotations

from itertools import pairwise

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import ERROR, WARNING, Diagnostic
from cfglint.findings.rule import LAUNCH
from cfglint.findings.vocabulary import Severity
from cfglint.findings.wording import counted
from cfglint.launch import Launch
from cfglint.launch.accelerate_options import refused_config
from cfglint.launch.argparse_types import converted
from cfglint.launch.command import readable
from cfglint.launch.kinds import base_fields, is_trainer, kind_named
from cfglint.launch.launcher import SIZE_VARIABLE, launcher_of
from cfglint.launch.line import HOSTFILE, NO_DEVICE, Argument, LaunchLine, LineProblem, NamedFile
from cfglint.launch.machine import VISIBLE
from cfglint.launch.slurm import Header
from cfglint.source.annotations import Iterable, TypeGuard
from cfglint.source.files import CONFIG_ENDS
from cfglint.source.record import changed
from cfglint.source.shell.command import ELLIPSES, CommandDocument, is_in_page, is_placeholder
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.started_command import StartedCall
from cfglint.source.shell.tables import listed, names

NO_VALUE = Reason("argument", "an option without its value")
# Names of launchers, and names that people expect, for the same option: processes of a node (of accelerate: of all), nodes, ...
SAME = (
    listed("nproc_per_node num_gpus num_processes num_proc_per_node num_gpus_per_node gpus_per_node num_procs n_gpus gpus"),
    ("nnodes", "num_nodes", "num_machines"),
    ("node_rank", "machine_rank"),
    ("master_addr", "main_process_ip"),
    ("master_port", "main_process_port", "main_port"),
)
NEEDS_VALUE = names("tf32 greater_is_better disable_tqdm")
READ_BY_ACCELERATE = ("--deepspeed", "launcher:deepspeed_config_file")  # by its class HfDeepSpeedConfig
REQUIRED = ("launcher:config_file", "launcher:accelerate_config", "--deepspeed", "--deepspeed_config", "launcher:deepspeed_config_file")
CODE = "LCH001"
MISSING_FILE = "LCH002"
REMEDY = "end each line but the last with a backslash and nothing after it, and put no comments in between"
JOINED = Reason("argument", "a word that a line continuation joins with the next option")
CONTINUATION = 2  # characters: a backslash and a newline


def behind_program(line: LaunchLine, arguments: Iterable[Argument]) -> None:
    options = launcher_of(line).own_options
    for argument in arguments:
        if argument.name in options and argument.name not in line.options:
            message = f"`--{argument.name}` comes after the program and is passed to it, not to {line.launcher}"
            helps = f"put it before the program: {line.launcher} --{argument.name} ..."
            line.report("LCH010", "warning", argument.word, f"--{argument.name}", message, remedy=helps)


def visible_devices(line: LaunchLine) -> None:
    value = line.call.environment.get(VISIBLE)
    if value is None or not value.value or value.place is None:
        return
    count = len([each for each in value.value.split(",") if each.strip().isdigit()])
    processes = line.gpus_per_node if "nproc_per_node" in line.options or line.inner == "torchrun" else None
    if count and processes is not None and processes > count:
        line.lacks_gpus = f"{processes} processes start on {counted(count, 'visible GPU')}"
        message = f"`{VISIBLE}={value.value}` shows {counted(count, 'GPU')}, but {processes} processes start"
        remedy = f"set `{VISIBLE}` to {processes} GPUs, or start {count} processes"
        line.report("LCH006", "warning", value, VISIBLE, message, remedy=remedy)


def offered_gpus(line: LaunchLine, gpus: int | None, source: str, here: bool) -> None:
    if gpus is None or line.processes is None or line.machine or line.processes <= gpus:
        return
    several = f" ({Size(line.gpus_per_node, line.nodes)})" if line.gpus_per_node and line.nodes and line.nodes > 1 else ""
    if several and gpus == line.gpus_per_node:  # each of its nodes may have as many
        return
    line.lacks_gpus = f"{line.processes} processes start{several} on {counted(gpus, 'GPU')}"
    options = (line.options.given.get(name) for name in SAME[0])
    option = next((each.value for each in options if each is not None and not each.in_file and each.value is not None), None)
    word = option or line.call.environment.get(SIZE_VARIABLE) or line.call.words[0]
    remedy = f"start {counted(gpus, 'process')}" + ("" if here else f": `cfglint fix --gpus {gpus}`")
    offered = f"{counted(gpus, 'GPU')} {'is' if gpus == 1 else 'are'} visible ({source})" if here else f"{source} is {gpus}"
    message = f"{line.processes} processes start{several}, but {offered}"
    line.report("LCH025", "warning", word, "--gpus", message, NO_DEVICE, remedy=remedy)


def unknown_options(line: LaunchLine) -> None:
    """Report options that the launcher's parser does not have, unless they may be the program's, or placeholders of a page."""
    options, launcher = line.options, launcher_of(line)
    if options.open:
        return
    from cfglint.source.similar_keys import closest

    for option in (*options.given.values(), *([options.missing] if options.missing is not None else [])):
        flag = option.word.string.partition("=")[0]
        name = flag.removeprefix("--")
        is_complete = name.replace("-", "").replace("_", "").isalnum() and name.isascii()  # without placeholders and unknown parts
        if flag == name or not is_complete or launcher.has_option(name):
            continue
        # The launcher's own option for the same, one with a similar name, or the place after the program.
        same = (own for names_of_one in SAME if option.name in names_of_one for own in names_of_one if launcher.has_option(own))
        meant = next(same, None) or closest(option.name, launcher.own_options)
        value = f" {option.value.string}" if option.value is not None and option.value.known else ""
        remedy = f"write `--{meant}{value}`" if meant else f"remove `{flag}`, or put it after the program if it is an option of it"
        message = f"`{flag}` is not an option of the launcher {line.launcher}"
        raised = f"error: unrecognized arguments: {option.word.string if option.word.known else flag}"
        line.problems.append(LineProblem("LCH022", severity_of(line), option.word[: len(flag)], flag, message, raised, remedy, True))
        if option.value is not None and flag == option.word.string:
            break  # the next word is the program for argparse, and everything behind it an argument of that


def missing_values(line: LaunchLine, arguments: Iterable[Argument], trainer: bool) -> None:
    option = line.options.missing
    if option is not None and launcher_of(line).has_option(option.word.string.removeprefix("--")):
        raised = f"error: argument --{option.name}: expected one argument" if option.value is None else "SystemExit: 2"
        message = f"`--{option.name}` has no value: the next word is {'an option' if option.value is None else 'the program'}"
        line.refuse("LCH013", option.word, f"--{option.name}", message, raised, remedy=f"write the value after `--{option.name}`")
    for argument in arguments:
        if trainer and argument.name in NEEDS_VALUE and not argument.texts:
            raised = f"error: argument --{argument.name}: expected one argument"
            message = f"`--{argument.name}` requires a value"
            line.report("LCH013", "error", argument.word, f"--{argument.name}", message, raised, remedy=f"write `--{argument.name} True`")


def unusable_counts(line: LaunchLine) -> None:
    for name, refusal in launcher_of(line).counts.items():
        option = line.options.given.get(name)
        text = option.value.value if option is not None and option.value is not None else None
        if option is None or option.value is None or text is None or option.in_file or is_placeholder(text) or text.isupper():
            continue
        if text.isidentifier() and is_in_page(option.value):  # `number_of_gpus`
            continue
        raised = refusal(name, text)
        if raised:
            message = f"`--{name}` is {text}; {line.launcher} requires an integer above 0"
            remedy = f"write `--{name}` and an integer above 0"
            line.refuse("LCH018", option.value or option.word, f"--{name}", message, raised, remedy=remedy)


def header_sizes(line: LaunchLine, header: Header) -> None:
    each, option = header.gpus_per_node, header.gpus_option
    if each is None or not option or line.gpus_per_node is None or line.machine or line.gpus_per_node <= each:
        return
    word = header.options[option]
    gives = f"`{header.named(option)}={word.string}` gives {counted(each, 'GPU')} per node"
    message = f"{gives}, but the line starts {line.gpus_per_node} processes on each"
    line.report("LCH015", "warning", word, f"--{option}", message, remedy=f"write `{header.named(option)}` for {line.gpus_per_node} GPUs")


def missing_files(line: LaunchLine, calls: list[StartedCall], written: set[str]) -> None:
    for file in line.files:
        name = file.word.value
        file.is_written = file.is_written or name in written
        if file.path is not None or file.is_written or not is_relative(name):
            continue
        if file.outside:
            is_path = file.role != "--deepspeed" or file.word.string.endswith(".json")
            if file.role in (*REQUIRED, HOSTFILE) and file.known and is_path:
                message = f"`--{file.option}` names `{name}`, which is outside the project and was not read"
                remedy = "name the file on the command line too, or move it into the project"
                line.report("LCH021", "warning", file.word, f"--{file.option}", message, remedy=remedy)
            continue
        if file.role == HOSTFILE:
            without = "refuses several nodes without it" if line.nodes and line.nodes > 1 else "uses the local machine alone"
            message = f"`--hostfile` names `{name}`, which does not exist: the launcher {without}"
            if line.program_path is not None:
                line.report("LCH011", "warning", file.word, "--hostfile", message, remedy="correct the path, or remove `--hostfile`")
            continue
        if not file.known or mentioned(name, line, calls):
            continue
        launcher = launcher_of(line)  # which itself opens the file, as may the program in the folder of the line
        is_own = launcher.opens_files and file.kind == launcher.kind and name.endswith(CONFIG_ENDS)
        if is_own or (file.role in REQUIRED and (line.program_path is not None or launcher.opens_files)):
            line.problems.append(missing_file(line, file))
        else:
            file.absent = True
    word = line.deepspeed_word
    if word is not None and (not word.word.value or not word.known or mentioned(word.word.value, line, calls)):
        line.deepspeed_word = None


def severity_of(line: LaunchLine) -> Severity:
    return WARNING if line.is_on_page else ERROR


def is_relative(name: str | None) -> TypeGuard[str]:
    """Whether a word is the relative path of a file, without variables and placeholders such as `...`."""
    return (
        bool(str(name or "").strip("./"))
        and not str(name).startswith(("/", "~", "%", "http", "$"))
        and "{" not in str(name)
        and "<" not in str(name)
    )


def missing_file(line: LaunchLine, file: NamedFile) -> LineProblem:
    """The problem of a config file that does not exist; from which folder a page means its lines is not certain."""
    name = file.word.string
    key = f"--{file.option}" if file.role.startswith(("--", "launcher:")) else name
    names = f"`{key}` names `{name}`, which does not exist" if key != name else f"the config `{name}` does not exist"
    folder = readable(line.folder or "").removeprefix("<root>").lstrip("/") or "the top of the project"
    raised = refused_config(name) if file.role in READ_BY_ACCELERATE else launcher_of(line).refused_config.format(name) if file.kind else ""
    remedy, of_launcher = "write the path as seen from there", file.role == "launcher:config_file"
    return LineProblem(MISSING_FILE, severity_of(line), file.word, key, f"{names} (seen from {folder})", raised, remedy, of_launcher)


def mentioned(name: str, line: LaunchLine, calls: list[StartedCall]) -> bool:
    last = name.rpartition("/")[2]
    before = (word.string for call in calls if call.start < line.call.start for word in call.words)
    return line.writes(name) or any(last in word for word in before if "--" not in word[:2])


def named_with_block(line: LaunchLine, arguments: Iterable[Argument]) -> None:
    """Report `--deepspeed` of the program together with an accelerate config that has a DeepSpeed block."""
    values = line.values or {}
    block = values.get("deepspeed_config")
    if values.get("type") != "use_deepspeed" or not isinstance(block, dict) or "zero_stage" not in block:
        return
    for argument in arguments:
        if argument.name == "deepspeed" and argument.texts:
            message = "the file of `--deepspeed` replaces the DeepSpeed block of the accelerate config: its `zero_stage` has no effect"
            line.report("LCH014", "info", argument.word, "--deepspeed", message, remedy="remove `zero_stage` from the accelerate config")


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


def syntax_fault(line: LaunchLine) -> None:
    """Report where bash stops reading the script before it runs the line."""
    token, exception = line.call.refused or (None, "")
    if token is None or not exception:  # a placeholder is to be filled in
        return
    if exception.endswith(("`\"'", "`''")):
        code, remedy = "LCH029", "remove the quote, or close it"
        message = f"this quote ({token.string}) is never closed, so bash does not run the command that it is in"
    elif not line.is_on_page:
        code, remedy = "LCH030", "correct the script until `bash -n` accepts it"
        message = (
            f"bash cannot parse the script from `{token.string.strip() or 'the end of this line'}` on, and starts no training behind it"
        )
    else:
        return
    line.problems.append(LineProblem(code, severity_of(line), token, "", message, exception, remedy, True))


def blank_name(word: Text) -> str:
    return {"\r": "a carriage return (a Windows line end)", "\t": "a tab"}.get(word.string[0], "a blank")


def is_stray(word: Text, line: LaunchLine) -> bool:
    """Whether a word is a blank that a broken continuation passes, or a word of the comment that it begins."""
    call = line.call
    if any(word is blank for blank in call.blanks):
        return True
    behind = call.words[next(place for place, text in enumerate(call.words) if text is call.cut) :] if call.cut is not None else ()
    return any(word is text for text in behind)


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


def refused_by_parser(line: LaunchLine, command: CommandDocument, launch: Launch) -> None:
    """Report what the parser refuses of a line: joined words that it cannot convert to the type of their option, words that belong to no
    option, and a value of `--deepspeed` that names no file and is no encoded config. Values that are lost become unknown, so that no other
    rule judges them.
    """
    for problem in line.problems:
        name = problem.key.lstrip("-").replace("-", "_")
        if problem.code == "LCH013" and name in command.words:
            command.words[name], command.unknown[name] = None, Unknown(NO_VALUE)
    for argument in line.given or ():
        joined = next((word for word in argument.texts if joined_at(word) is not None), None)
        if joined is None or argument.name not in command.words:
            continue
        command.words[argument.name], command.unknown[argument.name] = None, Unknown(JOINED)
        kind = kind_of(argument.name, launch)
        if kind in ("int", "float") and converted(kind, joined.string) is None:
            refuse(line, f"--{argument.name}", f"error: argument --{argument.name}: invalid {kind} value: {joined.string!r}")
    raised = launcher_of(line).refused_words
    words = [word for word in line.arguments if is_stray(word, line)] if line.call.blanks else []
    if raised and words and launch.is_main:
        refuse(line, "", raised.format([word.string for word in words]))
    file, reads_file = line.deepspeed_word, launch.is_main and not launch.doubts and is_trainer(launch.consumer)
    if file is None or not reads_file or kind_named(launch.consumer).parses_command:
        return
    own = launch.parser is not None and "deepspeed" in launch.parser.fields
    if not own and is_relative(file.word.value) and refused_config(file.word.value):
        line.problems.append(missing_file(line, file))


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


def without_consequences(line: LaunchLine, found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings about a line, without those that the lost words and the blanks cause. If one of these is an error, the broken
    continuation is: no argument of the line is judged then, because its parser ends the program.
    """
    place = next((number for number, diagnostic in enumerate(found) if diagnostic.code == CODE), None)
    if place is None:
        return found
    spans: list[tuple[int, int]] = []  # of the blanks that the line passes, each with the option before it
    option: int | None = None
    for word in line.call.words:
        if word.place is not None and is_stray(word, line):
            spans.append((word.place[1] if option is None else option, word.place[2]))
        elif word.place is not None and word.string.startswith("-"):
            option = word.place[1]
    cut = found[place]
    words = (word.string.partition("=")[0] for lost_words, _ in line.call.lost for word in lost_words)
    lost = {word.lstrip("-+~").replace("-", "_") for word in words} - {argument.name for argument in line.given or ()}
    lost |= {word.string for word in line.call.words if is_stray(word, line)}
    caused: list[Diagnostic] = []
    for diagnostic in found:
        name = diagnostic.key.strip("/").replace("/", ".").lstrip("-").replace("-", "_")
        is_of_line = diagnostic.place.file == line.call.path
        if name in lost or (is_of_line and any(start <= diagnostic.place.start <= end for start, end in spans)):
            caused.append(diagnostic)
    refused = next((diagnostic for diagnostic in (cut, *caused) if diagnostic.severity == ERROR), None)
    if refused is not None:
        cut = changed(cut, severity=ERROR, exception=refused.exception, fails_at=refused.fails_at)
        caused += [
            diagnostic
            for diagnostic in found
            if diagnostic.code != CODE and diagnostic.about != LAUNCH and diagnostic.place.file == line.call.path
        ]
    return [
        cut if number == place else diagnostic
        for number, diagnostic in enumerate(found)
        if number == place or not any(diagnostic is other for other in caused)
    ]
