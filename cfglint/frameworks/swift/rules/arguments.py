"""Rules about words of the command line that ms-swift's parser refuses."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.arguments.config import invalid, left_over
from cfglint.frameworks.arguments.parsing import LEFT
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.swift import PACKAGE
from cfglint.frameworks.swift.fields import FILES, HISTORY, MODELS, TEMPLATES, exists
from cfglint.frameworks.swift.parsed_command import FILE_WINS, CommandConfig
from cfglint.source.annotations import Iterator, Sequence

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


@rule("SWF001")
def unknown_swift_argument(config: CommandConfig) -> Iterator[Finding]:
    if config.own("ignore_args_error"):
        return
    in_file = "config" if config.own_version < FILE_WINS else ""  # it names a file, which replaces it
    for refused in config.refused:
        name = refused.name
        # whether ms-swift itself defines it in any release
        is_own = exists(name) and any(name in HISTORY.names(each) for each in HISTORY.sections if each not in (MODELS, TEMPLATES, FILES))
        if refused.why == LEFT and name != in_file and not is_of_copy(config, name):
            if name:
                yield left_over(config, refused, remaining, is_own, RENAMED.get(name, ""))
            else:
                message = f"ms-swift {dotted(config.own_version)} does not read a file without `--config`"
                advice = f"write `--config {refused.words[0]}`"
                yield Finding(config.words_setting(refused), message, exception=remaining(refused.words), help=advice)


def remaining(words: Sequence[str]) -> str:
    return f"ValueError: remaining_argv: {[*words]}"


def is_of_copy(config: CommandConfig, name: str) -> bool:
    """Whether the copy of the package that the launch puts first on its path has an argument of this name."""
    if PACKAGE not in config.facts.copies:
        return False
    from cfglint.source.dataclass_fields import declared_below

    return name in declared_below(config.facts.copies[PACKAGE])


@rule("SWF002")
def invalid_swift_argument(config: CommandConfig) -> Iterator[Finding]:
    yield from invalid(config)
