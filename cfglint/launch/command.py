"""A launch line as a document whose keys and values are its arguments, with the kind that consumes it."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.arguments import override_arguments, read_arguments
from cfglint.launch.kinds import every_kind
from cfglint.launch.launcher import SIZE_VARIABLE, launcher_of
from cfglint.launch.line import LaunchLine
from cfglint.source.annotations import Any, Collection, Mapping
from cfglint.source.project_files import ROOT
from cfglint.source.shell.command import CommandDocument
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
SURE = 5  # with this many names of TrainingArguments a line is assumed to be for a Trainer


def command_document(line: LaunchLine, text: str) -> CommandDocument:
    call = line.call
    document = CommandDocument(call.path, text, min(call.start, len(text)), min(call.end, len(text)))
    arguments, assignments = line.given, launcher_of(line).takes_assignments
    document.assignments = assignments and any(file.role == "positional" for file in line.files)
    if takes_overrides(line):
        arguments = override_arguments(line.arguments)
        document.assignments = True
    for argument in arguments if arguments is not None and not assignments else read_arguments(line.arguments, assignments=assignments)[0]:
        document.add(argument.name, argument.word.string, argument.word, argument.texts)
    add_size(document, line)
    return document


def takes_overrides(line: LaunchLine) -> bool:
    return any(kind.takes_overrides and kind.runs(line) for _, kind in every_kind())


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


def trainer_names(document: CommandDocument) -> set[str]:
    return set(document.words) & TRAINER_NAMES


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
