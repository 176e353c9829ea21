"""Programs with `HfArgumentParser`: their own arguments and defaults, and what they refuse."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

HEAD = """\
from dataclasses import dataclass, field
from typing import Optional

import transformers
from transformers import HfArgumentParser, Trainer
"""
CLASSES = """
@dataclass
class ModelArguments:
    model_name_or_path: Optional[str] = field(default="m")
    tune_mm: bool = True


@dataclass
class TrainingArguments(transformers.TrainingArguments):
    model_max_length: int = field(default=512, metadata={"help": "tokens"})
    gradient_accumulation_steps: int = 4
"""
MAIN = """
def train():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    Trainer(model=None, args=training_args).train()


if __name__ == "__main__":
    train()
"""
LINE = "torchrun --nproc_per_node 2 train.py --output_dir out --per_device_train_batch_size 4"


@pytest.fixture
def launched(tmp_path, monkeypatch, capsys):
    """Check a launch line with a program; files by name, `line` its further arguments."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(program, line="", **files):
        for name, text in {"train.py": program, "run.sh": f"{LINE} {line}\n", **files}.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        main(["check", "run.sh", "--num-examples", "1000", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found["runs"][0], {(each["code"], each["key"]): each for each in found["diagnostics"]}

    return run


def test_own_defaults_count(launched):
    run, found = launched(HEAD + CLASSES + MAIN)
    assert (run["verdict"], run["resolved"]["accumulation"], run["resolved"]["global_batch"]) == ("accept", 4, 32)
    assert not found


@pytest.mark.parametrize("is_in_function", [True, False])
def test_a_class_that_has_the_name_of_its_base(launched, is_in_function):
    classes = CLASSES.replace("(transformers.TrainingArguments)", "(TrainingArguments)")
    main_lines = MAIN if is_in_function else "\n".join(line.strip() for line in MAIN.splitlines()[2:5])
    run, found = launched(HEAD + "from transformers import TrainingArguments\n" + classes + main_lines, "--model_max_length 99")
    assert (run["verdict"], run["resolved"]["accumulation"]) == ("accept", 4)
    assert not found


def test_arguments_of_the_program_are_known_and_others_are_refused(launched):
    run, found = launched(HEAD + CLASSES + MAIN, "--model_max_length 99 --no_tune_mm --model_max_lenght 5")
    [(code, key)] = found
    assert (code, key, run["verdict"], run["fails_at"]) == ("KEY200", "--model_max_lenght", "reject", "config")
    exception = "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--model_max_lenght', '5']"
    assert found[code, key]["exception"] == exception


@pytest.mark.parametrize(
    ("words", "exception"),
    [
        ("--model_max_length long", "error: argument --model_max_length/--model-max-length: invalid int value: 'long'"),
        (
            "--tune_mm maybe",
            "error: argument --tune_mm/--tune-mm: Truthy value expected: got maybe but expected one of "
            "yes/no, true/false, t/f, y/n, 1/0 (case insensitive).",
        ),
        ("--model_max_length", "error: argument --model_max_length/--model-max-length: expected one argument"),
    ],
)
def test_the_parser_names_both_spellings_of_an_option(launched, words, exception):
    _, found = launched(HEAD + CLASSES + MAIN, words)
    assert [each["exception"] for each in found.values()] == [exception]


def test_a_removed_argument_ends_a_strict_program_only(launched):
    assert launched(HEAD + CLASSES + MAIN, "--warmup_ratio 0.03")[1]["KEY202", "--warmup_ratio"]["severity"] == "error"
    lax = MAIN.replace("model_args, training_args = parser.parse_args_into_dataclasses()", "{}").format(
        "model_args, training_args, _ = parser.parse_args_into_dataclasses(return_remaining_strings=True)"
    )
    run, found = launched(HEAD + CLASSES + lax, "--warmup_ratio 0.03")
    assert (found["KEY202", "--warmup_ratio"]["severity"], run["verdict"]) == ("warning", "accept")


def test_a_field_that_the_program_declares_again_is_its_own(launched):
    own = CLASSES + "    warmup_ratio: float = 0.1\n"
    assert not launched(HEAD + own + MAIN, "--warmup_ratio 0.03")[1]


def test_without_the_decorator_an_annotation_is_not_a_field(launched):
    plain = CLASSES.replace("@dataclass\nclass TrainingArguments", "class TrainingArguments")
    run, found = launched(HEAD + plain + MAIN, "--model_max_length 5")
    assert run["resolved"]["accumulation"] == 1
    assert found["KEY200", "--model_max_length"]["severity"] == "error"


def test_classes_and_functions_of_other_modules_are_followed(launched):
    program = "from pkg.train import train\n\nif __name__ == '__main__':\n    train()\n"
    files = {"pkg____init__.py": "", "pkg__args.py": HEAD + CLASSES}
    body = HEAD + "from .args import *\n" + MAIN.partition("\n\n\nif __name__")[0] + "\n"
    run, found = launched(program, "--nope 1", **files, **{"pkg__train.py": body})
    assert run["resolved"]["accumulation"] == 4
    assert found["KEY200", "--nope"]["severity"] == "error"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(ModelArguments, TrainingArguments)", "(ModelArguments, Elsewhere)"),  # a class that cannot be found
        ("(ModelArguments, TrainingArguments)", "(*CLASSES,)"),
        ("    model_args,", "    import sys\n    sys.argv.remove('--nope')\n    model_args,"),
        ("parser.parse_args_into_dataclasses()", "parser.parse_args_into_dataclasses(args=words())"),
        ("    model_args,", "    parser.add_argument('--nope')\n    model_args,"),
        ("    model_args,", "    extend(parser)\n    model_args,"),
    ],
)
def test_what_cannot_be_decided_is_not_refused(launched, old, new):
    run, found = launched(HEAD + CLASSES + MAIN.replace(old, new), "--nope 1 --warmup_ratio 0.03")
    assert run["verdict"] == ("accept" if run["read"] else None)
    assert run["read"] is not any(word in new for word in ("Elsewhere", "CLASSES", "words()"))
    assert all(each["severity"] != "error" for each in found.values())


SET = "    Trainer(model=None, args=training_args)"


@pytest.mark.parametrize(
    ("before", "batch"),
    [
        ("    training_args.gradient_accumulation_steps = 64 // 8\n", 64),
        ("    training_args.gradient_accumulation_steps = steps()\n", None),
        ("    if model_args.tune_mm:\n        training_args.per_device_train_batch_size = 1\n", 8),
        ("    if not model_args.tune_mm:\n        training_args.per_device_train_batch_size = 1\n", 32),
        ("    if 'X' in os.environ:\n        training_args.per_device_train_batch_size = 1\n", None),
        ("    for key in ('per_device_train_batch_size',):\n        setattr(training_args, key, 2)\n", 16),
        ("    training_args = dataclasses.replace(training_args, gradient_accumulation_steps=2)\n", 16),
        ("    other_args = Other()\n    other_args.per_device_train_batch_size = 1\n", 32),
    ],
)
def test_what_the_code_sets_takes_the_place_of_the_line_s(launched, before, batch):
    code = "import dataclasses, os\nclass Other: pass\n" + HEAD + CLASSES + MAIN.replace(SET, before + SET)
    assert launched(code)[0]["resolved"]["global_batch"] == batch


def test_what_the_class_itself_sets_counts(launched):
    body = "        super().__post_init__()\n        self.per_device_train_batch_size = self.model_max_length // 64\n"
    own = f"\n    def __post_init__(self):\n{body}"
    run, _ = launched(HEAD + CLASSES + own + MAIN)
    assert run["resolved"]["micro_batch"] == 8


def test_the_class_does_not_check_what_the_code_sets_behind_it(launched):
    both = MAIN.replace(SET, "    training_args.fp16 = True\n" + SET)
    run, found = launched(HEAD + CLASSES + both, "--bf16 True")
    assert (run["verdict"], found) == ("accept", {})
    own = "\n    def __post_init__(self):\n        self.fp16 = True\n        super().__post_init__()\n"
    assert all(each["severity"] == "warning" for each in launched(HEAD + CLASSES + own + MAIN, "--bf16 True")[1].values())


def test_the_place_of_what_the_code_sets_is_told(launched, capsys):
    launched(HEAD + CLASSES + MAIN.replace(SET, "    training_args.warmup_steps = 7\n" + SET))
    for option, told in ((), "7  warmup_steps 7 (train.py:21)"), (("--set", "warmup_steps=8"), "8  warmup_steps 8 (--set warmup_steps 8)"):
        main(["explain", "run.sh", "--all", *option])
        assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "stage"),
    [
        ("    training_args.deepspeed = {'zero_optimization': {'stage': 3}}\n", None),
        ("    training_args = dataclasses.replace(training_args, deepspeed={'zero_optimization': {'stage': 3}})\n", 3),
    ],
)
def test_what_only_the_constructor_makes_use_of_is_not_set_later(launched, before, stage, capsys):
    """The plugin of DeepSpeed is made in `__post_init__`: it was ZeRO stage 3."""
    launched("import dataclasses\n" + HEAD + CLASSES + MAIN.replace(SET, before + SET))
    main(["explain", "run.sh"])
    assert ("ZeRO stage 3" in capsys.readouterr().out) is (stage == 3)


def test_what_the_trainer_s_class_sets_counts(launched):
    own = "\nclass Own(Trainer):\n    def __init__(self, **given):\n        super().__init__(**given)\n"
    own += "        self.args.gradient_accumulation_steps = 1\n"
    run, _ = launched(HEAD + own + CLASSES + MAIN.replace("Trainer(model", "Own(model"))
    assert run["resolved"]["global_batch"] == 8


@pytest.mark.parametrize("given", ["Trainer(model=None, args=other)", "Trainer(None, other)"])
def test_the_copy_that_the_trainer_gets_counts(launched, given):
    copied = "    other = copy.copy(training_args)\n    other.gradient_accumulation_steps = 2\n    "
    code = HEAD + "import copy\n" + CLASSES + MAIN.replace("    Trainer(model=None, args=training_args)", copied + given)
    assert copied in code
    assert launched(code)[0]["resolved"]["global_batch"] == 16


FILE = MAIN.replace("parse_args_into_dataclasses()", "parse_yaml_file(PATH)")


@pytest.mark.parametrize(
    ("path", "read", "batch"),
    [('"conf/train.yaml"', True, 12), ('"conf/other.yaml"', False, None), ("os.environ['CONF']", False, None)],
)
def test_a_parser_of_a_file_does_not_take_the_line(launched, path, read, batch):
    """It was the defaults of the framework, and those of the line: "It would start"."""
    files = {"conf__train.yaml": "output_dir: out\nper_device_train_batch_size: 3\ngradient_accumulation_steps: 2\n"}
    run, _ = launched("import os\n" + HEAD + CLASSES + FILE.replace("PATH", path), **files)
    assert (run["read"], run["resolved"]["global_batch"]) == (read, batch)


def test_fix_edits_the_file_that_the_parser_reads_and_the_code(launched, tmp_path, capsys):
    code = HEAD + CLASSES + FILE.replace("PATH", '"train.yaml"').replace(SET, "    training_args.gradient_accumulation_steps = 5\n" + SET)
    launched(code, **{"train.yaml": "output_dir: out\nper_device_train_batch_size: 3  # each\n"})
    main(["fix", "train.yaml", "--gpus", "2", "--global-batch", "24"])
    main(["explain", "train.yaml"])
    assert "24 = 3 x 4 x 2" in capsys.readouterr().out
    assert "training_args.gradient_accumulation_steps = 4\n" in (tmp_path / "train.py").read_text()
    (tmp_path / "run.sh").unlink()
    (tmp_path / "train.py").write_text(HEAD + CLASSES + FILE.replace("PATH", '"train.yaml"'))
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 3  # each\ngradient_accumulation_steps: 2\n")
    assert main(["fix", "train.yaml", "--gpus", "2", "--global-batch", "24"]) == 0
    assert "gradient_accumulation_steps: 4\n" in (tmp_path / "train.yaml").read_text()


def test_a_later_check_is_a_warning_where_a_subclass_replaces_the_trainer_s_methods(launched):
    own = "\nclass Own(Trainer):\n    def get_train_dataloader(self):\n        return super().get_train_dataloader()\n"
    line = "--per_device_train_batch_size 0"
    assert launched(HEAD + CLASSES + MAIN, line)[0]["fails_at"] == "init"
    run, found = launched(HEAD + own + CLASSES + MAIN.replace("Trainer(model", "Own(model"), line)
    assert (run["verdict"], [each["severity"] for each in found.values()]) == ("accept", ["warning"])


SAMPLER = "from torch.utils.data import RandomSampler\nclass GroupedSampler:\n    def __len__(self):\n        return len(self.lengths)\n"
REPEATING = "class RepeatingSampler:\n    def __len__(self):\n        return len(self.data) * self.count\n"


@pytest.mark.parametrize(
    ("method", "steps"),
    [  # 256 samples in batches of 2 x 2 x 2, three times
        ("_get_train_sampler(self):\n        return GroupedSampler(self.train_dataset)", 96),
        ("_get_train_sampler(self):\n        return RandomSampler(self.train_dataset)", 96),
        ("_get_train_sampler(self):\n        return super()._get_train_sampler()", 96),
        ("_get_train_sampler(self):\n        return RandomSampler(self.train_dataset, num_samples=9)", None),
        ("_get_train_sampler(self):\n        return RepeatingSampler(self.train_dataset)", None),
        ("_get_train_sampler(self):\n        return self.sampler", None),
        ("get_train_dataloader(self):\n        return DataLoader(self.train_dataset, self._train_batch_size)", 96),
        ("get_train_dataloader(self):\n        return DataLoader(self.train_dataset, sampler=RepeatingSampler(self.x))", None),
    ],
)
@pytest.mark.parametrize("made", ["Own(model", "own_class(model"])
def test_a_sampler_of_the_program_decides_the_samples_of_an_epoch(launched, capsys, method, steps, made):
    """The steps were those of a Trainer that takes each sample once."""
    own = f"{SAMPLER}{REPEATING}\nclass Own(Trainer):\n    def {method}\n"
    main_ = MAIN.replace("    Trainer(model", "    own_class = Own\n    Trainer(model").replace("Trainer(model", made)
    launched(HEAD + own + CLASSES + main_, "--per_device_train_batch_size 2 --gradient_accumulation_steps 2")
    main(["explain", "run.sh", "--num-examples", "256", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["resolved"]["total_steps"] == steps


def test_nothing_outside_the_project_is_read(launched, tmp_path):
    outside = tmp_path.parent / "secret_args.py"
    outside.write_text(HEAD + CLASSES)
    (tmp_path / "secret_args.py").symlink_to(outside)
    run, _ = launched("from secret_args import *\n" + HEAD + MAIN, "--nope 1")
    assert (run["verdict"], run["read"], run["resolved"]["accumulation"]) == (None, False, None)
    outside.unlink()


@pytest.mark.parametrize("text", ["def (:", "\0", "(" * 5000, "x = " + "[" * 300 + "]" * 300, "", "import train\nfrom train import *\n"])
def test_a_hostile_program_is_passed_over(launched, text):
    run, found = launched(text)
    assert (run["verdict"], run["read"], found) == (None, False, {})


def test_the_note_names_what_fails(launched, capsys):
    launched(HEAD + CLASSES + MAIN, "--nope 1")
    main(["check", "run.sh", "--target", "transformers==5.23.0"])
    assert "note: transformers 5.23.0 fails while checking the config: ValueError:" in capsys.readouterr().out


def test_a_precision_that_is_not_known_is_not_fp32(launched, capsys):
    launched(HEAD + CLASSES + MAIN, "--bf16 $BF16")
    main(["explain", "--all", "run.sh"])
    [line] = [each for each in capsys.readouterr().out.splitlines() if each.startswith("  precision")]
    assert line.split() == ["precision", "?", "bf16", "is", "not", "known"]


def test_the_launcher_s_precision_counts_where_the_trainer_has_none(launched, tmp_path, capsys):
    launched(HEAD + CLASSES + MAIN)
    (tmp_path / "run.sh").write_text(f"accelerate launch --num_processes 2 --mixed_precision bf16 {LINE.partition('2 ')[2]}\n")
    main(["explain", "--all", "run.sh"])
    assert "bf16  mixed_precision of the launcher" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "codes"), [("None", []), ("args.deepspeed", []), ("None if args.deepspeed else None", []), ('"none.json"', ["RUN010"])]
)
def test_only_a_string_names_a_deepspeed_file(tmp_path, monkeypatch, capsys, value, codes):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "import argparse\nfrom transformers import TrainingArguments\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--deepspeed", type=str, default=None)\nargs = parser.parse_args()\n'
        f'config = TrainingArguments(output_dir="out", deepspeed={value})\n'
    )
    main(["check", "train.py", "--format", "json"])
    assert [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]] == codes


@pytest.mark.parametrize(
    ("definition", "words", "codes"),
    [
        ("deepspeed: bool = False", "--deepspeed", ["HFT054"]),
        ("bf16: str = 'no'", "--bf16", ["LCH013"]),
        ("other: bool = False", "--bf16", []),
    ],
)
def test_a_subclass_changes_what_an_option_takes(tmp_path, monkeypatch, capsys, definition, words, codes):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "from dataclasses import dataclass\nfrom transformers import HfArgumentParser, TrainingArguments\n"
        f"@dataclass\nclass Own(TrainingArguments):\n    {definition}\n"
        "parser = HfArgumentParser(Own)\nparser.set_defaults(bf16=False)\n(args,) = parser.parse_args_into_dataclasses()\n"
    )
    (tmp_path / "run.sh").write_text(f"python train.py --output_dir out {words}\n")
    main(["check", "run.sh", "--format", "json"])
    assert [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]] == codes


@pytest.mark.parametrize(("base", "requirement"), [("TrainingArguments", "transformers==4.46.2"), ("SFTConfig", "trl==0.13.0")])
@pytest.mark.parametrize(("definition", "refused"), [('output_dir: str = field(default="out")', False), ("seed: int = 1", True)])
def test_a_subclass_may_give_the_folder_that_old_releases_require(tmp_path, monkeypatch, capsys, base, requirement, definition, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(f"{requirement}\ntransformers==4.46.2\n")
    (tmp_path / "train.py").write_text(
        "from dataclasses import dataclass, field\n"
        "from transformers import HfArgumentParser, TrainingArguments\nfrom trl import SFTConfig\n"
        f"@dataclass\nclass Own({base}):\n    {definition}\n(args,) = HfArgumentParser(Own).parse_args_into_dataclasses()\n"
    )
    (tmp_path / "run.sh").write_text("python train.py --seed 2\n")
    main(["check", "run.sh", "--format", "json"])
    codes = {each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]}
    assert codes == ({{"TrainingArguments": "HFT002", "SFTConfig": "TRL006"}[base]} if refused else set())


@pytest.mark.parametrize(("line", "codes"), [('Path("ds.json").write_text(made())', []), ('print("ds.json")', ["RUN010"])])
def test_a_file_that_the_program_may_write_is_not_missing(tmp_path, monkeypatch, capsys, line, codes):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        f"from pathlib import Path\nfrom transformers import TrainingArguments\n{line}\n"
        'config = TrainingArguments(output_dir="out", deepspeed="ds.json")\n'
    )
    main(["check", "train.py", "--format", "json"])
    assert [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]] == codes


BUILT = "from transformers import Trainer, TrainingArguments\n"
SCALED = BUILT + "first = TrainingArguments('o', per_device_train_batch_size=2)\n"


@pytest.mark.parametrize(
    ("code", "batches"),
    [
        ("settings = {**first.to_dict()}\nTrainer(model=None, args=TrainingArguments('o', per_device_train_batch_size=3)).train()\n", [3]),
        ("unknown(first)\nTrainer(model=None, args=TrainingArguments('o', per_device_train_batch_size=3)).train()\n", [2, 3]),
        ("other = TrainingArguments('o')\nTrainer(model=None, args=first if unknown() else other).train()\n", [2, 8]),
        ("other = TrainingArguments('o')\n", [2, 8]),  # what trains is not seen
    ],
)
def test_arguments_that_no_trainer_gets_are_no_run(tmp_path, monkeypatch, capsys, code, batches):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCALED + code)
    main(["check", "train.py", "--gpus", "2", "--format", "json"])
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["resolved"]["micro_batch"] for run in runs] == batches


def test_a_program_that_replaces_the_making_of_the_arguments_may_set_each(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own = "def made(self, *given, **named):\n    pass\nTrainingArguments.__init__ = made\n"
    (tmp_path / "train.py").write_text(BUILT + own + SCALED.removeprefix(BUILT) + "Trainer(model=None, args=first).train()\n")
    main(["check", "train.py", "--gpus", "2", "--format", "json"])
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert (run["read"], run["resolved"]["global_batch"]) == (False, None)
