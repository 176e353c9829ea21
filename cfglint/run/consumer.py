"""Decides whose parser takes the arguments of a launch line."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.frameworks import fed_by, framework, takes_arguments
from cfglint.frameworks import kinds as known_kinds
from cfglint.frameworks.huggingface import SWIFT
from cfglint.launch import Launch
from cfglint.launch.arguments import hidden_options
from cfglint.launch.command import ANYBODYS, ASSUMED, COMMON_NAMES, SURE, TRAINER_ONLY, readable, trainer_names
from cfglint.launch.kinds import is_trainer, kind_of_class
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import LAUNCHER_CONFIGS, LaunchLine, NamedFile
from cfglint.launch.program import HF_PARSERS, OF_LAUNCHER, ProgramFacts, arguments_of
from cfglint.launch.registered import ENGINE, LAUNCH, LAUNCHER, TRAINER
from cfglint.launch.unmodelled import unmodelled
from cfglint.run.paths import BY_HAND
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.tables import listed

# Names that programs with an argument parser of their own do not have in this form.
TRAINERS_OWN = frozenset(
    listed(
        "deepspeed do_train evaluation_strategy eval_strategy save_strategy logging_strategy save_total_limit load_best_model_at_end"
        " remove_unused_columns overwrite_output_dir ddp_find_unused_parameters"
    )
)
PROGRAMS_OF_USERS = (LAUNCH, TRAINER, "trl", ENGINE, LAUNCHER)  # consumers whose programs the users write
OUTSIDE, UNPARSED = "it is not in the project", "it has no code that is parsed"
LENGTH = ("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs")


def choose_consumer(launch: Launch, line: LaunchLine, command: CommandDocument, kinds: list[str], *, is_built: bool) -> None:
    """Decide whose parser takes the arguments, or the file that they name; `is_built`: the program builds them, so their kind is known."""
    names, launcher = trainer_names(command), launcher_of(line)
    fed = fed_by(launch)
    if is_trainer(fed) or parses_command(launch):  # it opens the files that its arguments name
        launch.consumer, launch.is_main = fed, True
        return
    if lacks_config(launch, line):
        launch.consumer = LAUNCH
        launch.not_read = tuple(unread_file(file, line) for file in line.files if is_unread(file))
        return
    own_parser = has_own_arguments(launch, command) or bool(fed) or bool(unmodelled(line)) or parses_own_arguments(launch.parser)
    consumer = program_kind(launch)
    if consumer and not is_built:
        kinds[:] = [consumer if framework(kind).argument_classes() else kind for kind in kinds]
    file_kind = consumer_among(kinds)
    if file_kind and not launcher.has_own_parser:
        launch.consumer = file_kind
        if launch.parser is None:
            leave_out_flag(command)
        return
    consumer = consumer or kind_of_launcher(line)
    if consumer:
        launch.consumer, launch.is_main = consumer, True
        return
    is_free = not own_parser and not launcher.has_own_parser
    named = named_by(command) if launch.parser is None and is_free else ""
    if named:
        launch.consumer, launch.is_main = named, True
        launch.doubts = () if is_likely(command, names) else (parser_of(line),)
        return
    if seems_trainer(line, command, names) and is_free:
        take_trainer_arguments(launch, line, command, names)
        return
    launch.consumer = next((kind for kind in (ENGINE, LAUNCHER) if kind in kinds), "")
    if not launch.consumer or (launch.parser is None and names_unread_file(line)):
        launch.consumer = fed or LAUNCH
        launch.is_main = launch.consumer != LAUNCH
    if is_free and command.words.get("deepspeed"):  # which the program may not open
        launch.doubts = (parser_of(line),)


def seems_trainer(line: LaunchLine, command: CommandDocument, names: set[str]) -> bool:
    """Whether arguments are taken for those of the Trainer: a program that is not read needs several that no other parser has."""
    if line.call.path == BY_HAND:
        return len(names) > 1 and bool(names - COMMON_NAMES)
    return len(names - ANYBODYS) >= ASSUMED and bool(names - COMMON_NAMES)


def parses_command(launch: Launch) -> bool:
    """Whether a line starts a program of a framework that parses its arguments by rules of its own, whatever else the program builds."""
    fed = fed_by(launch)
    return bool(fed) and framework(fed).parses_command


def named_by(command: CommandDocument) -> str:
    """The kind of which a line has three arguments that no other framework has; empty if there is none."""
    return next((kind for kind in known_kinds() if len(framework(kind).line_names & {*command.words}) >= ASSUMED), "")


def is_likely(command: CommandDocument, names: set[str]) -> bool:
    """Whether a line has so many arguments of the Trainer, `names`, that hardly another parser takes them."""
    return "output_dir" in command.words and (len(names) >= SURE or has_trainers_own(command)) and len(names & TRAINER_ONLY) >= 2


def take_trainer_arguments(launch: Launch, line: LaunchLine, command: CommandDocument, names: set[str]) -> None:
    """Treat a line with arguments of the Trainer as that of a program that parses them with HfArgumentParser; `names` are these."""
    launch.consumer, launch.is_main = TRAINER, True
    program = (line.program.string if line.program is not None else "").rpartition("/")[2]
    own_defaults = line.program is not None and "swift/" in line.program.string.replace(".", "/")
    for key in launcher_of(line).own_fields:
        command.leave_out(key)
    leave_out_flag(command)
    if own_defaults or not is_likely(command, names) or "no_trainer" in program or SWIFT & {*command.words}:
        launch.doubts = (parser_of(line),)
    if launch.parser is not None and launch.parser.not_read:
        launch.doubts = launch.parser.not_read
    elif launch.doubts and "per_device_train_batch_size" not in command.words:
        open_defaults(command)


def parser_of(line: LaunchLine) -> Reason:
    """The parser of the program of a line, which is not known."""
    program = (line.program.string if line.program is not None else "").rpartition("/")[2]
    return Reason("program", f"the parser of `{program}`" if program else "the program")


def parses_own_arguments(program: ProgramFacts | None) -> bool:
    """Whether a program is known to parse its arguments otherwise than into the classes of a framework."""
    if program is None or program.arguments:
        return False
    return not program.not_read if program.parser in HF_PARSERS else bool(program.parser or program.not_read)


def unread(launch: Launch, line: LaunchLine, built: ProgramFacts | None) -> tuple[Reason, ...]:
    """What of the program of a line and of its arguments is not read; `built` are the facts about the call that builds them."""
    program, name = built or launch.parser, line.program.string if line.program is not None else ""
    reasons = launch.not_read
    if program is not None:
        reasons += program.not_read
        if not reasons and built is None and launch.is_main and launch.doubts and not program.arguments:
            reasons = (Reason("program", arguments_of(name), "the code that parses them is not found", program.path),)
        elif not reasons and built is None and launch.consumer in ("", LAUNCH):
            from cfglint.launch.programs.unread import unread_training

            reasons = (unread_training(readable(name), program),)
    elif name and not starts_own_program(launch, line):
        why = UNPARSED if launch.program_path else OUTSIDE
        reasons = (Reason("program", arguments_of(name), why, line.call.path, line.call.line),)
    return (*reasons, *unread_words(line), *unread_launcher(line))


def unread_words(line: LaunchLine) -> tuple[Reason, ...]:
    """The words of a line that may be any arguments."""
    reasons = hidden_options(line.arguments)[:1]
    path, number = line.call.path, line.call.line
    return tuple(Reason("argument", "further arguments of the line", reason.text, path, number, opens=True) for reason in reasons)


def unread_launcher(line: LaunchLine) -> tuple[Reason, ...]:
    """The config of the launcher, if it was not read."""
    unread = (file for file in line.files if file.role in LAUNCHER_CONFIGS and file.path is None and not file.is_written)
    whys = (file.word.reasons[0].text if not file.word.known else "it is not in the project" for file in unread)
    return tuple(Reason("file", OF_LAUNCHER, why, line.call.path, line.call.line) for why in whys)


def starts_own_program(launch: Launch, line: LaunchLine) -> bool:
    """Whether a line starts a program of the framework that takes its arguments."""
    if launcher_of(line).takes_arguments or launcher_of(line).has_own_parser or fed_by(launch):
        return True
    if line.module and line.program is not None and line.program.string.partition(".")[0] in known_kinds():
        return True  # `-m trl.scripts.sft` of the installed package
    return bool(launch.consumer) and launch.consumer not in PROGRAMS_OF_USERS and not launch.doubts


def leave_out_flag(command: CommandDocument) -> None:
    """Leave out a `--deepspeed` without a value: HfArgumentParser refuses it, so it is a flag of the program's own."""
    if has_bare_flag(command):
        command.leave_out("deepspeed")


def has_bare_flag(command: CommandDocument) -> bool:
    """Whether a line has `--deepspeed` without a value, and not with an unknown one."""
    return command.words.get("deepspeed") == []


def has_trainers_own(command: CommandDocument) -> bool:
    """Whether few arguments are enough: the batch of a device, and two more that only the Trainer's parser reads in this form."""
    given = TRAINERS_OWN & {*command.words}
    if not command.words.get("deepspeed"):  # other programs have a flag of this name, without a value
        given -= {"deepspeed"}
    return "per_device_train_batch_size" in command.words and len(given) > 1


def open_defaults(command: CommandDocument) -> None:
    """Mark the batch and the length as unknown if a line does not set them, because the defaults are another parser's."""
    for key in LENGTH:
        if key not in command.words:
            command.leave_open(key, Reason("program", "the default of the program"))


def consumer_among(kinds: list[str]) -> str:
    """The kind of the file that the arguments of a line belong to; a kind that extends another one takes precedence; empty without one."""
    found = sorted(filter(takes_arguments, kinds), key=lambda kind: not framework(kind).base)
    return found[0] if found else ""


def program_kind(launch: Launch) -> str:
    """The kind of the arguments that the parser of the program fills; empty if it is unknown."""
    return kind_of_class(launch.parser.arguments) if launch.parser is not None else ""


def has_own_arguments(launch: Launch, command: CommandDocument) -> bool:
    """Whether the arguments are those that `deepspeed.add_config_arguments` defines, so that DeepSpeed itself loads the file."""
    program = launch.parser
    if program is not None and program.parser == "argparse" and {"deepspeed", "deepspeed_config"} <= program.fields.keys():
        return True
    return "deepspeed_config" in command.words and has_bare_flag(command)


def names_unread_file(line: LaunchLine) -> bool:
    """Whether the first argument is a config that the project does not contain, so that a trainer may take it and the other files."""
    return any(map(is_unread, line.files))


def is_unread(file: NamedFile) -> bool:
    """Whether the file is the config of a line, which is unknown or which the project does not contain."""
    return file.path is None and file.role == "positional"


def unread_file(file: NamedFile, line: LaunchLine) -> Reason:
    """A config that was not read, and why."""
    what, why = (
        (f"the config `{readable(file.word.string)}`", "it was not found") if file.word.known else ("the config", file.word.reasons[0].text)
    )
    return Reason("file", what, why, line.call.path, line.call.line, opens=True)


def lacks_config(launch: Launch, line: LaunchLine) -> bool:
    """Whether the config of a line was not read from which its launcher, or a parser of dataclasses, takes the arguments: they may be
    parsed in another way then.
    """
    parses = launcher_of(line).kind or (launch.parser is not None and launch.parser.parser in HF_PARSERS)
    return bool(parses) and names_unread_file(line)


def is_strict(launch: Launch) -> bool:
    """Whether the program is known to refuse unknown arguments."""
    program = launch.parser
    if program is None or not program.complete or not program_kind(launch):
        return False
    return bool(program.refuses if launch.is_main else program.refuses_in_file)


def kind_of_launcher(line: LaunchLine) -> str:
    """The kind of the arguments of a line without a file, if its launcher parses them itself; empty if not, or if it names a file."""
    launcher = launcher_of(line)
    if unmodelled(line) or any(file.role == "positional" or file.kind == launcher.kind for file in line.files):
        return ""
    return launcher.kind if launcher.takes_arguments and launcher.kind in known_kinds() else ""


def has_own_files(line: LaunchLine) -> bool:
    """Whether the launcher of a line accepts files of one kind only."""
    return launcher_of(line).kind in known_kinds()
