"""Rules about arguments that the program of a launch line refuses, according to its source."""

from __future__ import annotations

from cfglint.findings.rule import ARGUMENT, LAUNCH, Example, Finding, load_error
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.launch.rules.lines import problems
from cfglint.source.annotations import Iterator

PROGRAM = """\
from dataclasses import dataclass

from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class DataArguments:
    data_path: str
    max_tokens: int = 2048


parser = HfArgumentParser((DataArguments, TrainingArguments))
data_args, training_args = parser.parse_args_into_dataclasses()
trainer = Trainer(model=None, args=training_args)
"""
TRAINING = (
    "model_name_or_path: org/m\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: d\ntemplate: qwen\noutput_dir: o\nbf16: true\n"
)
LINE = "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4"


@load_error(
    "LCH003",
    source="transformers 5.23.0 hf_argparser.py:330-336, CPython argparse.py (parse_args), deepspeed 0.19.8 launcher/launch.py, "
    "torch 2.13.0 distributed/run.py:965",
    bad=(
        {"train.sh": f"{LINE} --data_path d --report_to wandb tensorboard\n", "train.py": PROGRAM},
        {"train.sh": f"{LINE} --data_path d -- --report_to wandb\n", "train.py": PROGRAM},
    ),
    good={"train.sh": f"{LINE} --data_path d --report_to wandb\n", "train.py": PROGRAM},
    example={"named": 1, "at": "--report_to"},
    about=ARGUMENT,
    predicts=(r"SystemExit: 2 \(error: unrecognized arguments", "ValueError: Some specified arguments are not used by"),
)
def refused_argument(config: LaunchConfig) -> Iterator[Finding]:
    """The program of a launch line refuses arguments of the line.

    `HfArgumentParser` ends the program if words are left over, unless the program accepts them (`return_remaining_strings=True`), and
    `argparse` does for unknown arguments, unless the program calls `parse_known_args`. It is reported only where the
    source of the program shows every argument that it accepts. A `--` ends the options of both, which refuse what follows. The deepspeed
    launcher adds `--local_rank` to the arguments, and `python -m torch.distributed.launch` adds `--local-rank`.
    """
    return problems(config, "LCH003")


@load_error(
    "LCH016",
    source="transformers 5.23.0 hf_argparser.py:158-260, CPython argparse.py (parse_known_args)",
    bad={"train.sh": f"{LINE}\n", "train.py": PROGRAM},
    good={"train.sh": f"{LINE} --data_path d\n", "train.py": PROGRAM},
    example={"named": 1, "at": "--data_path"},
    about=ARGUMENT,
)
def missing_program_argument(config: LaunchConfig) -> Iterator[Finding]:
    """An argument that the program requires is not on the launch line.

    A field of a dataclass without a default, or an argument with `required=True`, has to be given. In a page, where a line may be
    shortened, it is a warning.

    Fix: pass the argument, or give it a default in the program.
    """
    return problems(config, "LCH016")


@load_error(
    "LCH017",
    source="transformers 5.23.0 hf_argparser.py:158-260, CPython argparse.py (_get_value, _check_value)",
    bad={"train.sh": f"{LINE} --data_path d --max_tokens 2k\n", "train.py": PROGRAM},
    good={"train.sh": f"{LINE} --data_path d --max_tokens 2048\n", "train.py": PROGRAM},
    example={"named": 1, "at": "--max_tokens"},
    about=ARGUMENT,
)
def invalid_argument_value(config: LaunchConfig) -> Iterator[Finding]:
    """A value on the launch line does not have the type of its argument, or is not one of the choices.

    The argument is one that the program defines itself, or a field of TrainingArguments, by its type in the release.
    """
    return problems(config, "LCH017")


@load_error(
    "LCH024",
    source="llamafactory 0.9.5 hparams/parser.py:58-60 (_INFER_ARGS, _EVAL_ARGS), launcher.py",
    bad=(
        {"chat.sh": "llamafactory-cli chat train.yaml\n", "train.yaml": TRAINING},
        Example({"eval.sh": "llamafactory-cli eval train.yaml\n", "train.yaml": TRAINING}, at="eval"),
    ),
    good={"train.sh": "llamafactory-cli train train.yaml\n", "train.yaml": TRAINING},
    example={"named": 1, "at": "chat"},
    about=LAUNCH,
)
def settings_of_training(config: LaunchConfig) -> Iterator[Finding]:
    """A command that trains nothing is given the settings of a training, which its parser refuses.

    `llamafactory-cli api`, `chat`, `eval`, `export` and `webchat` have other arguments than `llamafactory-cli train`: none of those of
    the Trainer (`do_train`, `output_dir`, `learning_rate`, `bf16`, ...).
    """
    return problems(config, "LCH024")
