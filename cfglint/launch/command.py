"""The words after a program: as options with their values, as a document whose keys and values these are, as overrides of the file that
the line names, and as the values that the program's own parser makes of them.

Source: CPython argparse.py (_get_values, _StoreTrueAction, _StoreFalseAction), transformers 5.23.0 hf_argparser.py:39-55, 143-260.
"""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown, distinct
from cfglint.launch import Launch
from cfglint.launch.argparse_types import converted
from cfglint.launch.kinds import every_kind
from cfglint.launch.launcher import SIZE_VARIABLE, launcher_of
from cfglint.launch.line import Argument, LaunchLine
from cfglint.launch.overrides import ARGS, Override
from cfglint.launch.program import Field
from cfglint.source.annotations import Any, Collection, ConfigValue, Iterable, Mapping, Operand, Sequence
from cfglint.source.document import Node, Written
from cfglint.source.project_files import ROOT
from cfglint.source.python.call import CallDocument
from cfglint.source.shell.command import CommandDocument, is_all_of_caller, stands_for_more
from cfglint.source.shell.placed_text import UNKNOWN, Differing, Text, around_mark, of_any_number, unknown
from cfglint.source.shell.reasons import OF_CALL, from_caller
from cfglint.source.shell.tables import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import LaunchEntry

TRAINER_NAMES = names(
    "per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps num_train_epochs "
    "lr_scheduler_type save_strategy save_steps save_total_limit evaluation_strategy eval_strategy warmup_ratio "
    "warmup_steps logging_steps output_dir bf16 fp16 tf32 weight_decay learning_rate gradient_checkpointing "
    "report_to deepspeed dataloader_num_workers overwrite_output_dir run_name optim max_steps do_train "
    "remove_unused_columns group_by_length logging_strategy max_grad_norm seed fsdp fsdp_config "
    "load_best_model_at_end eval_steps"
)
# Names that programs with an argument parser of their own have as well.
COMMON_NAMES = names(
    "output_dir bf16 fp16 tf32 weight_decay learning_rate gradient_checkpointing deepspeed run_name optim max_steps max_grad_norm seed"
    " warmup_steps warmup_ratio save_steps eval_steps logging_steps report_to fsdp do_train"
)
# Names that a program with an argument parser of its own seldom has.
TRAINER_ONLY = names(
    "evaluation_strategy eval_strategy save_strategy save_total_limit logging_strategy tf32 deepspeed fsdp load_best_model_at_end bf16 fp16"
    " remove_unused_columns overwrite_output_dir logging_first_step ddp_find_unused_parameters group_by_length dataloader_drop_last"
    " do_train save_steps include_tokens_per_second hub_strategy save_only_model ddp_timeout label_names neftune_noise_alpha"
)
WITHOUT_EFFECT = names(  # fields of TrainingArguments that affect no check and no number
    "output_dir run_name logging_dir hub_model_id hub_token seed data_seed report_to logging_steps resume_from_checkpoint local_rank"
    " project dataloader_num_workers push_to_hub_model_id push_to_hub_organization push_to_hub_token cache_dir ddp_timeout save_total_limit"
)
# Names of TrainingArguments that any parser may have.
ANYBODYS = names("output_dir learning_rate weight_decay seed run_name max_steps")
ASSUMED = 3  # with this many of them a program that is not read is assumed to take the Trainer's arguments
END_OF_OPTIONS = "--"
TYPED = ("int", "float", "str", "bool")
NO_VALUE = Reason("argument", "an option without its value")
UNKNOWN_TYPE = Reason("program", "a type of the program")
SURE = 5  # with this many names of TrainingArguments a line is assumed to be for a Trainer


def read_arguments(words: Iterable[Text], *, assignments: bool = False) -> tuple[list[Argument], list[Text]]:
    """Parse words into (options with the words after each, words before the first option).

    `assignments`: words such as `seed=1` are options too, as in OmegaConf's command line after a LLaMA-Factory file. What a word that
    stands for further options may set again is unknown: the last one counts. `--` ends the options, as argparse parses them.
    """
    words = [*words]
    words = words[: len(words) - len(behind_dashes(words))]
    arguments: list[Argument] = []
    before: list[Text] = []
    further = further_options(words)
    for place, word in enumerate(words):
        text = word.string
        name, mark, _ = text.partition("=")
        if text.startswith("--") and len(text) > 2 and " " not in name:  # as argparse parses it
            arguments.append(argument(name[2:].replace("-", "_"), word))
        elif assignments and mark and name.replace(".", "_").isidentifier():
            arguments.append(argument(name, word))
        elif place in further:
            if arguments and not arguments[-1].texts and not is_all_of_caller(word):  # which is none, or begins with an option
                arguments[-1].texts.append(word)
            if not may_be_missing(word):
                for each in arguments:
                    each.texts = [unknown(*word.reasons)]
        elif arguments:
            arguments[-1].texts.append(word)
        else:
            before.append(word)
    return arguments, before


def behind_dashes(words: Sequence[Text]) -> Sequence[Text]:
    return words[next((place for place, word in enumerate(words) if word.value == END_OF_OPTIONS), len(words)) :]


def override_arguments(words: Iterable[Text]) -> list[Argument]:
    arguments: list[Argument] = []
    for word in words:
        name = word.string.partition("=")[0]
        key = name.lstrip("+~-") if not name.startswith("--") else name[2:].replace("-", "_")
        if key.strip() and UNKNOWN not in key:
            arguments.append(argument(key, word))
    return arguments


def argument(name: str, word: Text) -> Argument:
    text, value = around_mark(word)
    return Argument(name, text, [value] if text is not word else [])


def may_be_missing(word: Text) -> bool:
    """Whether a word is none in a call of the script without arguments, or in the example of a page."""
    return stands_for_more(word) or all(from_caller(reason) or reason == OF_CALL for reason in word.reasons)


def further_options(words: Sequence[Text]) -> list[int]:
    """The positions of the words that may stand for further options: `"$@"`, the `...` of a page, an array or an expansion that is not
    known; an expansion right behind an option is its value.
    """
    found: list[int] = []
    takes_value = False
    for place, word in enumerate(words):
        if stands_for_more(word) or is_all_of_caller(word) or (of_any_number(word) and (of_any_number(word, Differing) or not takes_value)):
            found.append(place)
        takes_value = word.string.startswith("-") and "=" not in word.string
    return found


def further_arguments(words: Sequence[Text]) -> tuple[Reason, ...]:
    return (Reason("argument", "further arguments of the line"),) if further_options(words) else ()


def hidden_options(words: Sequence[Text]) -> tuple[Reason, ...]:
    """Why some options of a line are unknown: a word of it is not known that has further ones in any call."""
    reasons = (reason for place in further_options(words) if not may_be_missing(words[place]) for reason in words[place].reasons)
    return distinct(reasons)


def known_words(words: Sequence[Text]) -> list[Text]:
    """The words that no other one changes: without those that stand for further options, and without what these may set again.

    `"$@"` sets nothing in a call of the script without arguments, which is the usual one.
    """
    further = further_options(words)
    first = max((place + 1 for place in further if not (is_all_of_caller(words[place]) or stands_for_more(words[place]))), default=0)
    return [word for place, word in enumerate(words) if place >= first and place not in further]


def command_document(line: LaunchLine, text: str) -> CommandDocument:
    call = line.call
    document = CommandDocument(call.path, text, min(call.start, len(text)), min(call.end, len(text)))
    arguments, assignments = line.given, launcher_of(line).takes_assignments
    document.assignments = assignments and any(file.role == "positional" for file in line.files)
    if any(kind.takes_overrides and kind.runs(line) for _, kind in every_kind()):
        arguments = override_arguments(line.arguments)
        document.assignments = True
    for argument in arguments if arguments is not None and not assignments else read_arguments(line.arguments, assignments=assignments)[0]:
        document.add(argument.name, argument.word.string, argument.word, argument.texts)
    add_size(document, line)
    return document


def add_size(document: CommandDocument, line: LaunchLine) -> None:
    if line.nodes != 1:
        return
    for name in ("nproc_per_node", "num_gpus", "num_processes"):
        option = line.options.given.get(name)
        if option is not None and not option.in_file and option.value is not None and option.value.string.isdigit():
            document.add_size(name, option.word, option.value)
            return
    text = line.call.environment.get(SIZE_VARIABLE) if line.inner == "torchrun" else None
    if text is not None and text.string.isdigit() and int(text.string) == line.gpus_per_node:
        document.add_size(SIZE_VARIABLE, text, text)


def summary(line: LaunchLine, arguments: dict[str, Any]) -> LaunchEntry:
    return {
        "file": line.call.path,
        "line": line.call.line,
        "launcher": line.launcher,
        "program": readable(line.program.string) if line.program is not None else None,
        "processes": line.processes,
        "gpus_per_node": line.gpus_per_node,
        "nodes": line.nodes,
        "arguments": {key: readable(value) if isinstance(value, str) else value for key, value in arguments.items()},
        "conditional": line.call.conditional or line.call.broken or line.call.needs_caller,
        "called_from": f"{line.call.called_from[0]}:{line.call.called_from[1]}" if line.call.called_from else None,
        "needs_caller": line.call.needs_caller and not line.call.conditional and not line.call.broken,
        "unknown": [{"field": field, "reason": readable(reason.text)} for field, reason in line.unknown],
    }


def not_known(unknown: Mapping[str, Unknown], set_later: Collection[str], fields: Collection[str]) -> tuple[Reason, ...]:
    """The important ones of fields that have unknown values, and of those that the program sets after the constructor."""
    reasons = [
        Reason("argument", f"`{key}`", value.reasons[0].cause if value.reasons else "") for key, value in unknown.items() if key in fields
    ]
    later = [Reason("program", f"`{key}`", "the program sets it") for key in set_later if key in fields]
    return tuple(reason for reason in (*reasons, *later) if reason.what.strip("`") not in WITHOUT_EFFECT)


def readable(text: str) -> str:
    return text.replace(ROOT, "<root>") if ROOT in text else text


def given_value(name: str, option: str, fields: dict[str, Field], command: CommandDocument) -> Operand:
    """The value that an option of a line gives to an argument: its own option, another name of it, or its negation `--no_name`."""
    field, words = fields[name], command.words[option]
    if words is None:
        return command.unknown.get(option, Unknown())
    if option == f"no_{name}":
        return False
    if field.takes == "0":
        return field.stored
    if field.kind.removeprefix("list:") not in TYPED:
        return Unknown(UNKNOWN_TYPE)
    if not words:
        return True if field.kind == "bool" else Unknown(NO_VALUE)
    kind = field.kind.removeprefix("list:")
    values = list(words) if kind == "str" else [converted(kind, word) for word in words]
    if None in values:  # its parser refuses one of them
        return Unknown(Reason("argument", f"a value that is not of the type {kind}"))
    return values if field.takes in ("+", "*") else values[0]


def options_of(name: str, fields: dict[str, Field]) -> set[str]:
    field = fields[name]
    found = {each for each, other in fields.items() if other is field}
    return {*found, f"no_{name}"} if field.kind == "bool" and f"no_{name}" not in fields else found


def overrides(launch: Launch) -> list[Override]:
    line, command = launch.line, launch.command
    assert line is not None
    assert command is not None
    found: list[Override] = []
    named = {file.role.lstrip("-") for file in line.files}
    for key, value in command.roots[0].pairs():
        if key.raw in named or key.raw == command.size_key:  # the size is the launcher's, no argument of the program
            continue
        words = command.words[key.raw]
        override = Override(key.raw, words or [], ARGS)
        override.place = (command, value)
        override.unknown = command.unknown.get(key.raw)
        found.append(override)
    return found


def borrowed(launch: Launch, built: CallDocument) -> list[Override]:
    """The arguments of a line that a program, whose parser has converted them, passes on to its trainer's arguments, with their places."""
    found: list[Override] = []
    for key, argument in built.borrowed.items():
        value, pair, words = passed(launch, argument)
        if pair is None and not isinstance(value, Unknown):
            continue
        override = Override(key, words, ARGS)
        override.values = (value,)
        if pair is not None and launch.command is not None:
            override.place = (launch.command, pair[1])
            override.argument = Written(launch.command, (pair[0].raw,))
        override.unknown = value if isinstance(value, Unknown) else None
        found.append(override)
    return found


def passed(launch: Launch, argument: str) -> tuple[ConfigValue, tuple[Node, Node] | None, list[str]]:
    """(value, option and value in the line, words) of an argument of the program; without a place if the line does not give it."""
    line, command, program = launch.line, launch.command, launch.parser
    assert line is not None
    assert command is not None
    assert program is not None
    fields = program.fields
    options = options_of(argument, fields)
    last = next((pair for pair in reversed(command.roots[0].pairs()) if pair[0].raw in options), None)
    if last is not None:
        return given_value(argument, last[0].raw, fields, command), last, command.words[last[0].raw] or []
    words = [word.string for word in line.arguments]
    if any(word.startswith(short) for short in fields[argument].short for word in words):
        return Unknown(Reason("argument", "a short option")), None, []
    return None, None, []
