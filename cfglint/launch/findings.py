"""Problems of a launch line that the line and the files that it names show."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.wording import counted
from cfglint.launch import Launch
from cfglint.launch.command import readable
from cfglint.launch.deepspeed_argument import refused_config
from cfglint.launch.kinds import is_trainer, kind_named
from cfglint.launch.launcher import SIZE_VARIABLE, launcher_of
from cfglint.launch.line import HOSTFILE, NO_DEVICE, Argument, LaunchLine, LineProblem, NamedFile
from cfglint.launch.machine import VISIBLE
from cfglint.launch.slurm import Header
from cfglint.source.annotations import Iterable, TypeGuard
from cfglint.source.shell.command import SHOWN, CommandDocument, is_placeholder
from cfglint.source.shell.started_command import StartedCall
from cfglint.source.shell.tables import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Severity

NO_VALUE = Reason("argument", "an option without its value")
# Names of launchers, and names that people expect, for the same option: processes of a node (of accelerate: of all), nodes, ...
SAME = (
    (
        "nproc_per_node",
        "num_gpus",
        "num_processes",
        "num_proc_per_node",
        "num_gpus_per_node",
        "gpus_per_node",
        "num_procs",
        "n_gpus",
        "gpus",
    ),
    ("nnodes", "num_nodes", "num_machines"),
    ("node_rank", "machine_rank"),
    ("master_addr", "main_process_ip"),
    ("master_port", "main_process_port", "main_port"),
)
NEEDS_VALUE = names("tf32 greater_is_better disable_tqdm")
CONFIG_ENDS = (".yaml", ".yml", ".json", ".hjson", ".toml")
READ_BY_ACCELERATE = ("--deepspeed", "launcher:deepspeed_config_file")  # by its class HfDeepSpeedConfig
REQUIRED = ("launcher:config_file", "launcher:accelerate_config", "--deepspeed", "--deepspeed_config", "launcher:deepspeed_config_file")


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
    """Report a line that starts more processes than the GPUs that `source` names."""
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
    """Report options before the program that the launcher's parser does not have, unless they may be the program's.

    In a page they may be placeholders.
    """
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
        line.refuse(
            "LCH022",
            option.word[: len(flag)],
            flag,
            f"`{flag}` is not an option of the launcher {line.launcher}",
            f"error: unrecognized arguments: {option.word.string if option.word.known else flag}",
            remedy=f"write `--{meant}{value}`" if meant else f"remove `{flag}`, or put it after the program if it is an option of it",
            severity=severity_of(line),
        )


def missing_values(line: LaunchLine, arguments: Iterable[Argument], trainer: bool) -> None:
    option = line.options.missing
    if option is not None and launcher_of(line).has_option(option.word.string.removeprefix("--")):
        raised = f"error: argument --{option.name}: expected one argument"
        message = f"`--{option.name}` has no value: the next word is an option"
        line.refuse("LCH013", option.word, f"--{option.name}", message, raised, remedy=f"write the value after `--{option.name}`")
    for argument in arguments:
        if trainer and argument.name in NEEDS_VALUE and not argument.texts:
            raised = f"error: argument --{argument.name}: expected one argument"
            message = f"`--{argument.name}` requires a value"
            line.report("LCH013", "error", argument.word, f"--{argument.name}", message, raised, remedy=f"write `--{argument.name} True`")


def unknown_without_value(line: LaunchLine, command: CommandDocument) -> None:
    """Make the values of options unknown that lack theirs, so that no other rule judges them."""
    for problem in line.problems:
        name = problem.key.lstrip("-").replace("-", "_")
        if problem.code == "LCH013" and name in command.words:
            command.words[name], command.unknown[name] = None, Unknown(NO_VALUE)


def unusable_counts(line: LaunchLine) -> None:
    for name, refusal in launcher_of(line).counts.items():
        option = line.options.given.get(name)
        text = option.value.value if option is not None and option.value is not None else None
        if option is None or text is None or option.in_file or is_placeholder(text) or text.isupper():
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
        file.is_written = name in written
        if file.path is not None or file.is_written or not is_relative(name):
            continue
        if file.outside:
            is_path = file.role != "--deepspeed" or file.word.string.endswith(".json")
            if file.role in (*REQUIRED, HOSTFILE) and file.known and is_path:
                message = f"`{flag_of(file)}` names `{name}`, which is outside the project and was not read"
                remedy = "name the file on the command line too, or move it into the project"
                line.report("LCH021", "warning", file.word, flag_of(file), message, remedy=remedy)
            continue
        if file.role == HOSTFILE:
            without = "refuses several nodes without it" if line.nodes and line.nodes > 1 else "uses the local machine alone"
            message = f"`--hostfile` names `{name}`, which does not exist: the launcher {without}"
            if line.program_path is not None:
                line.report("LCH011", "warning", file.word, "--hostfile", message, remedy="correct the path, or remove `--hostfile`")
            continue
        if not file.known or mentioned(name, line, calls, written):
            continue
        launcher = launcher_of(line)  # which itself opens the file, as may the program in the folder of the line
        is_own = launcher.opens_files and file.kind == launcher.kind and name.endswith(CONFIG_ENDS)
        if is_own or (file.role in REQUIRED and (line.program_path is not None or launcher.opens_files)):
            line.problems.append(missing_file(line, file))
        else:
            file.absent = True
    word = line.deepspeed_word
    if word is not None and (not word.word.value or not word.known or mentioned(word.word.value, line, calls, written)):
        line.deepspeed_word = None


def is_page(line: LaunchLine) -> bool:
    """Whether a line stands in a page or a notebook, or in a script that one calls: what it leaves out is often for the reader to add."""
    return (line.call.called_from or (line.call.path,))[0].lower().endswith(SHOWN)


def severity_of(line: LaunchLine) -> Severity:
    """The severity of a problem with which the line does not start; a line of a page may be shortened."""
    return WARNING if is_page(line) else ERROR


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
    key = flag_of(file) if file.role.startswith(("--", "launcher:")) else name
    names = f"`{key}` names `{name}`, which does not exist" if key != name else f"the config `{name}` does not exist"
    folder = readable(line.folder or "").removeprefix("<root>").lstrip("/") or "the top of the project"
    return LineProblem(
        "LCH002",
        severity_of(line),
        file.word,
        key,
        f"{names} (seen from {folder})",
        refused_config(name) if file.role in READ_BY_ACCELERATE else launcher_of(line).refused_config.format(name) if file.kind else "",
        of_launcher=file.role == "launcher:config_file",
        remedy="write the path as seen from there",
    )


def refused_deepspeed_word(line: LaunchLine, launch: Launch) -> None:
    """Report a value of `--deepspeed` that names no file and is no encoded config, if the Trainer is known to read it."""
    file = line.deepspeed_word
    if file is None or not launch.is_main or launch.doubts or not is_trainer(launch.consumer):
        return
    if kind_named(launch.consumer).parses_command:
        return
    name = file.word.value
    own = launch.parser is not None and "deepspeed" in launch.parser.fields
    if not own and is_relative(name) and refused_config(name):
        line.problems.append(missing_file(line, file))


def flag_of(file: NamedFile) -> str:
    key = file.role.removeprefix("launcher:")
    return key if key.startswith("--") else f"--{key}"


def mentioned(name: str, line: LaunchLine, calls: list[StartedCall], written: set[str]) -> bool:
    """Whether another part of the script mentions a file, and so may create it."""
    last = name.rpartition("/")[2]
    if any(path.rpartition("/")[2] == last for path in written):
        return True
    return any(last in word.string for call in calls if call.start < line.call.start for word in call.words if "--" not in word.string[:2])


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
