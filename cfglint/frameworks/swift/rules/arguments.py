"""Rules about words of the command line that ms-swift's parser refuses."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.remedies import rename
from cfglint.frameworks.swift import PACKAGE
from cfglint.frameworks.swift.command_line import FILE_WINS
from cfglint.frameworks.swift.fields import ever_own, exists
from cfglint.frameworks.swift.parsed_command import CommandConfig
from cfglint.frameworks.swift.parser import INVALID, LEFT, RefusedWords
from cfglint.frameworks.versions import dotted
from cfglint.source.annotations import Iterator
from cfglint.source.similar_keys import names_of, near

# Arguments of ms-swift under their names in other releases. Source: 3.12.6 and 4.6.0 of the classes; README of 4.0.
RENAMED = {
    "train_type": "tuner_type",
    "tuner_type": "train_type",
    "sft_type": "tuner_type",
    "model_name_or_path": "model",
    "model_id_or_path": "model",
    "template_type": "template",
    "max_seq_length": "max_length",
    "cutoff_len": "max_length",
    "dtype": "torch_dtype",
    "batch_size": "per_device_train_batch_size",
    "eval_batch_size": "per_device_eval_batch_size",
    "lora_target_modules": "target_modules",
    "metric": "eval_metric",
    "lora_modules": "adapters",
    "learning_rate_scheduler": "lr_scheduler_type",
    "use_flash_attn": "attn_impl",
    "neftune_alpha": "neftune_noise_alpha",
    "learning_rate": "lr",
    "save_interval": "save_steps",
    "eval_interval": "eval_steps",
    "log_interval": "logging_steps",
    "max_epochs": "num_train_epochs",
    "num_workers": "dataloader_num_workers",
    "save": "output_dir",
    "load": "mcore_model",
}
MOST_WORDS = 6  # of the words that a message shows


@rule("SWF001")
def unknown_swift_argument(config: CommandConfig) -> Iterator[Finding]:
    if config.own("ignore_args_error"):
        return
    in_file = "config" if config.own_version < FILE_WINS else ""  # it names a file, which replaces it
    for refused in config.refused:
        if refused.why == LEFT and refused.name != in_file and not is_of_copy(config, refused.name):
            yield unknown(config, refused) if refused.name not in config.known else further(config, refused)


def is_of_copy(config: CommandConfig, name: str) -> bool:
    """Whether the copy of the package that the launch puts first on its path has an argument of this name."""
    if PACKAGE not in config.facts.copies:
        return False
    from cfglint.source.dataclass_fields import declared_below

    return name in declared_below(config.facts.copies[PACKAGE])


def unknown(config: CommandConfig, refused: RefusedWords) -> Finding:
    """The finding about an option that is no argument."""
    if not refused.name:
        message = f"ms-swift {dotted(config.own_version)} does not read a file without `--config`"
        text = f"ValueError: remaining_argv: {list(refused.words)}"
        return Finding(config.words_setting(refused), message, exception=text, help=f"write `--config {refused.words[0]}`")
    words = [f"--{refused.name}", *refused.words[:MOST_WORDS]]
    other = RENAMED.get(refused.name, "")
    similar = other if other in config.known else nearest(config, refused.name)
    message = f"unknown argument `{refused.name}` is refused by ms-swift {dotted(config.own_version)}"
    is_own = exists(refused.name) and ever_own(refused.name)
    if is_own:
        message = f"ms-swift {dotted(config.own_version)} has no argument `{refused.name}`"
    setting, advice = config.words_setting(refused), f"write `--{similar}`" if similar else f"remove `--{refused.name}`"
    return Finding(
        setting,
        message + (f"; did you mean `{similar}`?" if similar else ""),
        exception=f"ValueError: remaining_argv: {words}",
        on_key=True,
        help=advice,
        fix=rename(setting, similar, advice, safe=similar == other) if similar and not config.without_remedies else None,
    )


def nearest(config: CommandConfig, name: str) -> str:
    """The argument that a name is one typo away from; empty if there is none."""
    found = [] if config.without_remedies else near(name, names_of(config.known))
    return found[0].name if found else ""


def further(config: CommandConfig, refused: RefusedWords) -> Finding:
    """The finding about words after the value of an option."""
    words = list(refused.words[:MOST_WORDS])
    shown = " ".join(words)
    return Finding(
        config.words_setting(refused),
        f"`{refused.name}` takes one word, and {shown!r} follows",
        exception=f"ValueError: remaining_argv: {words}",
        help=f"quote the value of `--{refused.name}`, or remove the further words",
    )


@rule("SWF002")
def invalid_swift_argument(config: CommandConfig) -> Iterator[Finding]:
    for refused in config.refused:
        if refused.why == INVALID:
            text = f"SystemExit: 2 (error: {refused.message})"
            yield Finding(
                config.words_setting(refused), about(refused), exception=text, help=remedy(config, refused), on_key=not refused.words
            )


def about(refused: RefusedWords) -> str:
    """What is wrong with the words of an argument."""
    if refused.candidates:
        return f"`--{refused.name}` is ambiguous: it could mean {len(refused.candidates)} arguments"
    if not refused.words:
        return f"`{refused.name}` has no value"
    return f"`{refused.name}` is {refused.words[0]}, which is not a valid value"


def remedy(config: CommandConfig, refused: RefusedWords) -> str:
    """What to write instead."""
    if refused.candidates:
        return f"write the whole name: `--{refused.candidates[0]}`, ..."
    argument = config.known[refused.name]
    if argument.choices:
        return f"set `--{refused.name}` to one of {', '.join(str(each) for each in argument.choices if each is not None)}"
    kinds = {"int": "an integer", "float": "a number", "bool": "true or false"}
    return f"write `--{refused.name}` with {kinds.get(argument.type, 'a value')}"
