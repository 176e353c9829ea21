"""Decides whose parser takes the arguments of a launch line."""

from __future__ import annotations

import os

from cfglint.evaluate import Reason, because
from cfglint.frameworks import fed_by, framework, takes_arguments
from cfglint.frameworks import kinds as known_kinds
from cfglint.frameworks.huggingface import SWIFT
from cfglint.launch import Launch
from cfglint.launch.command import ANYBODYS, ASSUMED, COMMON_NAMES, SURE, TRAINER_NAMES, TRAINER_ONLY, hidden_options, readable
from cfglint.launch.kinds import ENGINE, LAUNCH, LAUNCHER, TRAINER, is_trainer, kind_of_class
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import BY_SCRIPT, LAUNCHER_CONFIGS, LaunchLine, NamedFile
from cfglint.launch.program import HF_PARSERS, OF_LAUNCHER, ProgramFacts, arguments_of
from cfglint.launch.training import unmodelled
from cfglint.run.paths import BY_HAND
from cfglint.source.project_files import Project
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
SHORTEST, LEFT_OFF = 8, 2  # characters of a name that abbreviates an argument of the Trainer, and those that it lacks
LENGTH = ("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs")


def choose_consumer(launch: Launch, line: LaunchLine, command: CommandDocument, kinds: list[str], *, is_built: bool) -> None:
    """Decide whose parser takes the arguments, or the file that they name; `is_built`: the program builds them, so their kind is known."""
    names, launcher = {*command.words} & TRAINER_NAMES, launcher_of(line)
    fed = fed_by(launch)
    if is_trainer(fed) or parses_command(launch):  # it opens the files that its arguments name
        launch.consumer, launch.is_main = fed, True
        return
    parses_files = launcher.kind or launch.parser is None or launch.parser.parser in HF_PARSERS
    if parses_files and any(map(is_unread, line.files)):  # the arguments may be parsed in another way then
        launch.consumer = program_kind(launch) or LAUNCH
        launch.is_main = launch.consumer != LAUNCH
        for file in filter(is_unread, line.files):
            what = f"the config `{readable(file.word.string)}`" if file.word.known else "the config"
            why = (BY_SCRIPT if file.is_written else "it was not found") if file.word.known else file.word.reasons[0].text
            launch.not_read += (Reason("file", what, why, line.call.path, line.call.line, opens=True),)
        return
    program, own_parser = launch.parser, has_own_arguments(launch, command) or bool(fed) or bool(unmodelled(line))
    if program is not None and not program.arguments:  # whether it parses them otherwise than into the classes of a framework
        own_parser = own_parser or (not program.not_read if program.parser in HF_PARSERS else bool(program.parser or program.not_read))
    consumer = program_kind(launch)
    if consumer and not is_built:
        kinds[:] = [consumer if framework(kind).argument_classes() else kind for kind in kinds]
    # A kind that extends another one takes precedence.
    file_kind = min(filter(takes_arguments, kinds), key=lambda kind: not framework(kind).base, default="")
    if file_kind and not launcher.has_own_parser:
        launch.consumer = file_kind
        if launch.parser is None:
            leave_out_flag(command)
            if framework(file_kind).base and not starts_own_program(launch, line):  # its trainer may be another one
                launch.doubts = (parser_of(line),)
        return
    if not consumer and launcher.takes_arguments and launcher.kind in known_kinds() and not unmodelled(line):
        names_file = any(file.role == "positional" or file.kind == launcher.kind for file in line.files)
        consumer = "" if names_file else launcher.kind
    if consumer:
        launch.consumer, launch.is_main = consumer, True
        return
    is_free = not own_parser and not launcher.has_own_parser
    # Three arguments that no other framework has.
    own_names = (kind for kind in known_kinds() if len(framework(kind).line_names & {*command.words}) >= ASSUMED)
    own_names = (kind for kind in own_names if kind != "trl" or not SWIFT & {*command.words})  # ms-swift has those of TRL as well
    named = next(own_names, "") if launch.parser is None and is_free else ""
    if named:
        launch.consumer, launch.is_main = named, True
        launch.doubts = () if is_likely(command, names) and named not in PROGRAMS_OF_USERS else (parser_of(line),)
        return
    # A program that is not read needs several that no other parser has.
    enough = len(names) > 1 if line.call.path == BY_HAND else len(names - ANYBODYS) >= ASSUMED
    if enough and names - COMMON_NAMES and is_free:
        take_trainer_arguments(launch, line, command, names)
        return
    launch.consumer = next((kind for kind in (ENGINE, LAUNCHER) if kind in kinds), "")
    if not launch.consumer:
        launch.consumer = fed or LAUNCH
        launch.is_main = launch.consumer != LAUNCH
    if is_free and command.words.get("deepspeed"):  # which the program may not open
        launch.doubts = (parser_of(line),)


def parses_command(launch: Launch) -> bool:
    """Whether a line starts a program of a framework that parses its arguments by rules of its own, whatever else the program builds."""
    fed = fed_by(launch)
    return bool(fed) and framework(fed).parses_command


def is_likely(command: CommandDocument, names: set[str]) -> bool:
    """Whether a line has so many arguments of the Trainer, `names`, that hardly another parser takes them."""
    # Few are enough with the batch of a device and two more that only the Trainer's parser reads in this form.
    own = {name for name in TRAINERS_OWN & {*command.words} if name != "deepspeed" or command.words[name]}  # else a flag of other programs
    is_enough = len(names) >= SURE or ("per_device_train_batch_size" in command.words and len(own) > 1)
    return "output_dir" in command.words and is_enough and len(names & TRAINER_ONLY) >= 2


def take_trainer_arguments(launch: Launch, line: LaunchLine, command: CommandDocument, names: set[str]) -> None:
    """Treat a line with arguments of the Trainer as that of a program that parses them with HfArgumentParser; `names` are these."""
    launch.consumer, launch.is_main = TRAINER, True
    if launch.parser is None:
        for key in [*command.words]:
            full = abbreviated(key)
            if full and full not in command.words:
                command.rename(key, full)
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
        for key in LENGTH:
            if key not in command.words:
                command.leave_open(key, Reason("program", "the default of the program"))


def abbreviated(key: str) -> str:
    """The argument of the Trainer that a name is but for its end (`--warmup_step`), which a program that is not read will hardly define."""
    cut = [name for name in TRAINER_NAMES if name.startswith(key) and 0 < len(name) - len(key) <= LEFT_OFF] if len(key) >= SHORTEST else []
    return cut[0] if len(cut) == 1 and key not in TRAINER_NAMES else ""


def parser_of(line: LaunchLine) -> Reason:
    """The parser of the program of a line, which is not known."""
    program = (line.program.string if line.program is not None else "").rpartition("/")[2]
    return Reason("program", f"the parser of `{program}`" if program else "the program")


def unread(launch: Launch, line: LaunchLine, built: ProgramFacts | None) -> tuple[Reason, ...]:
    """What of the program of a line and of its arguments is not read; `built` are the facts about the call that builds them."""
    program, name = built or launch.parser, line.program.string if line.program is not None else ""
    reasons = launch.not_read
    if program is not None:
        fed = fed_by(launch)  # a copy of a framework whose own files Hydra composes is read with them
        reasons += program.not_read if not (fed and framework(fed).takes_overrides) else ()
        if not reasons and built is None and launch.is_main and launch.doubts and not program.arguments:
            reasons = (Reason("program", arguments_of(name), "the code that parses them is not found", program.path),)
        elif not reasons and built is None and not launch.is_main and not program.parser and launch.consumer in (TRAINER, "trl"):
            reasons = (Reason("program", arguments_of(name), "the code that parses them is not found", program.path, opens=True),)
        elif not reasons and built is None and launch.consumer in ("", LAUNCH, LAUNCHER):
            from cfglint.launch.programs.parsers import unread_training

            reasons = (unread_training(readable(name), program),)
    elif name and not starts_own_program(launch, line):
        why = unparsed(launch) if launch.program_path else other_path(name, launch.project) or OUTSIDE
        what = arguments_of(name)
        if line.program is not None and not line.program.known:
            what, why = "its program", because(line.program.reasons)
        reasons = (Reason("program", what, why, line.call.path, line.call.line),)
    place = line.call.path, line.call.line
    for hidden in hidden_options(line.arguments)[:1]:
        reasons += (Reason("argument", "further arguments of the line", hidden.text, *place, opens=True),)
    for file in line.files:
        fills = file.role == "--config" and program is None  # the parser of TRL fills the arguments from it
        if (file.role in LAUNCHER_CONFIGS or fills) and file.path is None and not file.is_written:
            why = file.word.reasons[0].text if not file.word.known else OUTSIDE
            what = f"the config of `{os.path.basename(name)}`" if fills else OF_LAUNCHER
            reasons += (Reason("file", what, why, *place, opens=fills),)
        elif file.is_written and not file.is_read and file.kind and not is_unread(file):
            reasons += (Reason("file", f"`{readable(file.word.string)}`", BY_SCRIPT, *place),)
    consumer = framework(launch.consumer) if launch.consumer else None
    if consumer is not None and consumer.parses_command and launch.project is not None:
        patch = launch.project.patch_of(consumer.source_folder or consumer.package)
        reasons += (Reason("file", f"`{patch}`", f"it changes the code of {consumer.package}", opens=True),) if patch else ()
    return reasons


def unparsed(launch: Launch) -> str:
    """Why nothing is known of a program that is in the project."""
    from cfglint.source.dataclass_fields import syntax_problem

    text = launch.project.read(launch.program_path) if launch.project is not None else None
    problem = syntax_problem(text) if text is not None else ""
    return f"it {problem}" if problem else UNPARSED


def other_path(name: str, project: Project | None) -> str:
    """That the project has a program of this name at another path; empty if the first folders of the project have none."""
    file = os.path.basename(name)
    if project is None or not file.endswith(".py"):
        return ""
    path = next((os.path.normpath(os.path.join(folder, file)) for folder in project.with_file(file)), None)
    return f"it is not at this path; there is {path}" if path is not None else ""


def starts_own_program(launch: Launch, line: LaunchLine) -> bool:
    """Whether a line starts a program of the framework that takes its arguments."""
    if launcher_of(line).takes_arguments or launcher_of(line).has_own_parser or fed_by(launch):
        return True
    if line.module and line.program is not None and line.program.string.partition(".")[0] in known_kinds():
        return True  # `-m trl.scripts.sft` of the installed package
    if line.program is not None and not line.program.known:
        return False
    return bool(launch.consumer) and launch.consumer not in PROGRAMS_OF_USERS and not launch.doubts


def leave_out_flag(command: CommandDocument) -> None:
    """Leave out a `--deepspeed` without a value: HfArgumentParser refuses it, so it is a flag of the program's own."""
    if command.words.get("deepspeed") == []:  # and not with an unknown one
        command.leave_out("deepspeed")


def program_kind(launch: Launch) -> str:
    """The kind of the arguments that the parser of the program fills; empty if it is unknown."""
    return kind_of_class(launch.parser.arguments) if launch.parser is not None else ""


def has_own_arguments(launch: Launch, command: CommandDocument) -> bool:
    """Whether the arguments are those that `deepspeed.add_config_arguments` defines, so that DeepSpeed itself loads the file."""
    program = launch.parser
    if program is not None and program.parser == "argparse" and {"deepspeed", "deepspeed_config"} <= program.fields.keys():
        return True
    return "deepspeed_config" in command.words and command.words.get("deepspeed") == []


def is_unread(file: NamedFile) -> bool:
    """Whether the file is the config of a line, not a value for one of its keys, which is unknown or which the project does not contain."""
    return not file.is_read and file.role == "positional" and "=" not in file.word.string


def is_strict(launch: Launch) -> bool:
    """Whether the program is known to refuse unknown arguments."""
    program = launch.parser
    if program is None or not program.complete or not program_kind(launch):
        return False
    if launch.is_main:
        return program.refuses
    # A key that no class has is refused by TrlParser or dropped: that depends on the release of TRL, which only its own rules ask.
    return program.refuses_in_file and not (program.opens_config and program_kind(launch) == TRAINER)
