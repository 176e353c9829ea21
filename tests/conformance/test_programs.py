"""What cfglint reads from a program's syntax tree, and what the program does when the installed parsers really run it."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from cfglint.evaluate import Unknown
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery

torch = pytest.importorskip("torch", reason="torch is not installed: nothing to compare with")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with")

NAMES = (
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "learning_rate",
    "num_train_epochs",
    "max_steps",
    "warmup_steps",
    "weight_decay",
    "save_steps",
    "max_grad_norm",
    "seed",
    "gradient_checkpointing",
    "dataloader_drop_last",
)
HEAD = """\
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, List, Literal, Optional
import sys
import transformers
from transformers import HfArgumentParser, Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer, TrainingArguments


@dataclass
class ModelArguments:
    model_name: Optional[str] = field(default="m", metadata={"help": "name"})
    use_flash: bool = True
    layers: List[int] = field(default_factory=lambda: [1, 2])
    mode: Literal["a", "b"] = "a"
    KIND: ClassVar[int] = 3
    hidden: int = field(default=1, init=False)


@dataclass
class OwnArguments(transformers.TrainingArguments):
    model_max_length: int = field(default=512)
    gradient_accumulation_steps: int = 4
    learning_rate: float = field(default=2 * 1e-5)
"""
MAIN = """

def main():
    parser = HfArgumentParser((ModelArguments, OwnArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    Trainer(model=None, args=training_args)


if __name__ == "__main__":
    main()
"""
TRL = """\
from dataclasses import dataclass
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser


@dataclass
class Own(SFTConfig):
    tag: str = "x"
    num_train_epochs: float = 2.0


def main(script_args, training_args, model_args):
    SFTTrainer(model=None, args=training_args)


if __name__ == "__main__":
    parser = TrlParser((ScriptArguments, Own, ModelConfig))
    main(*parser.parse_args_and_config())
"""
PLAIN = HEAD + MAIN
PARSE = "parser.parse_args_into_dataclasses()"
PROGRAMS = {
    "own defaults": (PLAIN, ""),
    "the line wins": (PLAIN, "--gradient_accumulation_steps 2 --learning-rate 1e-3"),
    "own arguments": (PLAIN, "--model_max_length 7 --no_use_flash --layers 1 2 3 --mode b"),
    "an unknown argument": (PLAIN, "--model_max_lenght 7"),
    "a removed argument": (PLAIN, "--warmup_ratio 0.1"),
    "a class variable is no argument": (PLAIN, "--KIND 7"),
    "init=False is no argument": (PLAIN, "--hidden 7"),
    "a beginning of a name": (PLAIN, "--per_device_train_batch 3 --model_max 9"),
    "left-over words": (PLAIN, "--model_max_length 7 8"),
    "not a number": (PLAIN, "--model_max_length many"),
    "not a choice": (PLAIN, "--mode c"),
    "a field of the framework again": (
        HEAD.replace("    model_max", "    warmup_ratio: float = 0.3\n    model_max") + MAIN,
        "--warmup_ratio 0.1",
    ),
    "no decorator": (PLAIN.replace("@dataclass\nclass Own", "class Own"), "--weight_decay 0.1"),
    "no decorator, its annotation given": (PLAIN.replace("@dataclass\nclass Own", "class Own"), "--model_max_length 3"),
    "a required argument": (
        PLAIN.replace("    use_flash: bool = True", "    use_flash: bool = True\n    data: str = field(kw_only=True)"),
        "",
    ),
    "a required argument given": (
        PLAIN.replace("    use_flash: bool = True", "    use_flash: bool = True\n    data: str = field(kw_only=True)"),
        "--data x",
    ),
    "left-over words are returned": (
        PLAIN.replace(
            "model_args, training_args = " + PARSE,
            "model_args, training_args, _ = parser.parse_args_into_dataclasses(return_remaining_strings=True)",
        ),
        "--nope 1",
    ),
    "an argument is added": (
        PLAIN.replace("    model_args,", "    parser.add_argument('--nope')\n    model_args,").replace(
            "training_args = ", "training_args, _ = "
        ),
        "--nope 1",
    ),
    "one class": (
        HEAD + MAIN.replace("(ModelArguments, OwnArguments)", "OwnArguments").replace("model_args, training_args", "(training_args,)"),
        "--seed 3",
    ),
    "a list of classes by name": (
        HEAD + "\nTYPES = [ModelArguments, OwnArguments]\n" + MAIN.replace("(ModelArguments, OwnArguments)", "TYPES"),
        "--nope 3",
    ),
    "two levels": (
        HEAD
        + "\n@dataclass\nclass Last(OwnArguments):\n    num_train_epochs: float = 7.0\n    tag: str = 't'\n"
        + MAIN.replace(", OwnArguments)", ", Last)"),
        "--tag u",
    ),
    "Seq2SeqTrainingArguments": (
        PLAIN.replace("(transformers.TrainingArguments)", "(Seq2SeqTrainingArguments)").replace("    Trainer(", "    Seq2SeqTrainer("),
        "--predict_with_generate --generation_max_length 9",
    ),
    "the words are changed": (PLAIN.replace("    parser =", "    sys.argv.remove('--nope')\n    parser ="), "--nope"),
    "caught": (
        PLAIN.replace(
            "    model_args, training_args = " + PARSE,
            "    try:\n        model_args, training_args = " + PARSE + "\n    except ValueError:\n        training_args = OwnArguments()",
        ),
        "--nope 1",
    ),
    "parse_known_args": (
        PLAIN.replace("model_args, training_args = " + PARSE, "parser.parse_known_args(); training_args = OwnArguments()"),
        "--nope 1",
    ),
    "set after parsing": (
        PLAIN.replace("    Trainer(", "    training_args.gradient_accumulation_steps = 64 // training_args.seed\n    Trainer("),
        "",
    ),
    "set_defaults": (PLAIN.replace("    model_args,", "    parser.set_defaults(seed=9)\n    model_args,"), ""),
    "TRL: own defaults": (TRL, "--use_cpu True --bf16 False"),
    "TRL: arguments of every class": (TRL, "--use_cpu True --bf16 False --model_name_or_path m --dataset_name d --tag y --packing"),
    "TRL: a removed argument": (TRL, "--max_seq_length 9"),
    "TRL: a class that is not parsed": (
        TRL.replace(", ModelConfig))", ",))").replace("script_args, training_args, model_args", "script_args, training_args"),
        "--use_peft",
    ),
}


class Built(Exception):
    """The program got as far as its trainer."""


@pytest.fixture
def real(monkeypatch, tmp_path):
    """What a program does: the arguments of its trainer, or what ends it."""

    def stub(*_, args=None, **__):
        raise Built(args)

    def run(text, words):
        path = tmp_path / "train.py"
        path.write_text(text)
        owners = [(transformers, ("Trainer", "Seq2SeqTrainer"))]
        if "trl" in text:
            owners.append((pytest.importorskip("trl"), ("SFTTrainer",)))
        for owner, names in owners:
            for name in names:
                monkeypatch.setattr(getattr(owner, name), "__init__", stub)
        module = ModuleType("__main__")  # where the parser looks for the names of annotations
        monkeypatch.setitem(sys.modules, "__main__", module)
        monkeypatch.setattr(sys, "argv", ["train.py", *words])
        try:
            exec(compile(text, str(path), "exec"), module.__dict__)
        except Built as found:
            return found.args[0]
        except (Exception, SystemExit) as error:
            return error
        return None

    return run


@pytest.fixture
def predicted(tmp_path, monkeypatch):
    """The run of a line that starts the program, as cfglint sees it."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(text, words):
        (tmp_path / "train.py").write_text(text)
        (tmp_path / "run.sh").write_text(f"torchrun --nproc_per_node 1 train.py {' '.join(words)}\n")
        target = {"transformers": transformers.__version__}
        if "trl" in text:
            target["trl"] = pytest.importorskip("trl").__version__
        [found] = Discovery(LaunchFacts(target=target)).launches("run.sh")
        return found

    return run


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_does_what_its_syntax_tree_says(name, real, predicted):
    text, line = PROGRAMS[name]
    words = ["--output_dir", "out", *line.split()]
    run, done = predicted(text, words), real(text, words)
    errors = [each for each in run.diagnostics if each.severity == "error"]
    if isinstance(done, BaseException):
        kind = "error" if isinstance(done, SystemExit) else type(done).__name__
        assert [each.exception.partition(":")[0] for each in errors] == [kind]
        return
    assert not errors
    arguments = run.configs[0].arguments
    for field in NAMES:
        value = bool(arguments.checkpointing) if field == "gradient_checkpointing" else arguments[field]
        if arguments.known(field) and not isinstance(value, Unknown):
            assert (field, value) == (field, getattr(done, field))
