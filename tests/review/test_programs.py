"""A branch that changes a program, a module or a config file that it reads, changes the run of the program."""

from __future__ import annotations

import json
import subprocess

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.review.literals import changed_values

IMPORTS = "from transformers import Trainer, TrainingArguments\n"
TRAINED = "\nTrainer(model=None, args=args).train()\n"
SIZES = "'out', per_device_train_batch_size=4, gradient_accumulation_steps="
YAML = "import yaml\ncfg = yaml.safe_load(open('own.yaml'))\n"
PARSER = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--ga', type=int, default=%s)\na = p.parse_args()\n"
LINES = "".join(f"echo {number}\n" for number in range(9))
UNKNOWN = "from datasets import load_dataset\nn = len(load_dataset('x'))\n"


def program(steps, before=""):
    """A program that trains with some accumulation."""
    return f"{IMPORTS}{before}args = TrainingArguments({SIZES}{steps}){TRAINED}"


@pytest.fixture
def reviewed(tmp_path, monkeypatch, capsys):
    """What `review` says of a change of some files: (files, kinds of consequences with their factors, text)."""
    monkeypatch.chdir(tmp_path)

    def git(*arguments):
        subprocess.run(("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments), check=True, capture_output=True)

    def review(before, after):
        git("init", "-q")
        for name, text in before.items():
            (tmp_path / name).write_text(text)
        git("add", ".")
        git("commit", "-q", "--allow-empty", "-m", "before")
        for name in before:
            (tmp_path / name).unlink()
        for name, text in {**before, **after}.items():
            if text is not None:
                (tmp_path / name).write_text(text)
        main(["review", "--base", "HEAD", "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        review.changes, review.left_out = changes, _ = report["changes"], [each["file"] for each in report["not_compared"]]
        review.reasons = [each["reason"] for each in report["not_compared"]]
        told = [(each["files"], {one["what"]: one["factor"] for one in each["consequences"]}) for each in changes]
        return told, [one["text"] for each in changes for one in each["consequences"]]

    return review


DOUBLED = {"global_batch": 2.0, "total_steps": 0.5}


@each_case(
    ("before", "after"),
    [
        ({"train.py": program("2")}, {"train.py": program("4")}),
        ({"train.py": program("N", "N = 2\n")}, {"train.py": program("N", "N = 4\n")}),
        ({"train.py": program("a.ga", PARSER % 2)}, {"train.py": program("a.ga", PARSER % 4)}),
        ({"train.py": program("cfg['n']", YAML), "own.yaml": "n: 2\n"}, {"own.yaml": "n: 4\n"}),
        ({"train.py": program("N", "from consts import N\n"), "consts.py": "N = 2\n"}, {"consts.py": "N = 4\n"}),
        ({"train.py": program("128 // G", "G = 64\n")}, {"train.py": program("128 // G", "G = 32\n")}),
    ],
)
def test_a_changed_number_of_a_program(reviewed, before, after):
    told, texts = reviewed(before, after)
    assert [(files, {what: each[what] for what in DOUBLED}) for files, each in told] == [(["train.py"], DOUBLED)], texts


def test_a_program_that_a_line_starts_is_reviewed_in_its_run(reviewed):
    before = {"train.py": program("a.ga", PARSER % 2), "run.sh": "torchrun --nproc_per_node 8 train.py\n"}
    told, _ = reviewed(before, {"train.py": program("a.ga", PARSER % 4)})
    assert [files for files, _ in told] == [["run.sh", "train.py"]]
    assert told[0][1]["global_batch"] == 2.0


TAKEN = "from trl import GRPOConfig, ModelConfig, TrlParser\nargs, m = TrlParser((GRPOConfig, ModelConfig)).parse_args_and_config()\n"


@each_case(
    ("before", "after", "texts"),
    [
        (program("2"), program("2"), []),
        (program("2"), TAKEN + TRAINED, []),
        (TAKEN + TRAINED, TAKEN + TRAINED, ["another model: `model_name_or_path` (unset) -> x"]),
    ],
)
def test_an_argument_that_a_program_did_not_take_is_no_other_model(reviewed, before, after, texts):
    line = "accelerate launch --num_processes 2 train.py --output_dir o"
    sides = ({"train.py": before, "run.sh": f"{line}\n"}, {"train.py": after, "run.sh": f"{line} --model_name_or_path x\n"})
    _, told = reviewed(*sides)
    assert [text for text in told if text.startswith("another model")] == texts
    assert bool(reviewed.changes[0]["no_effect"]) == (before == after and not texts)


def test_an_option_without_its_value_names_no_model(reviewed):
    line = "M=%s\naccelerate launch --num_processes 2 train.py --model_name_or_path $M --output_dir o\n"
    _, told = reviewed({"train.py": TAKEN + TRAINED, "run.sh": line % ""}, {"run.sh": line % "x"})
    assert reviewed.changes[0]["settings"]
    assert not [each for each in told if each.startswith("another model")]


TUNED = program(2).replace("import", "import AutoModel,").replace("model=None", "model=model")
LOADED = "model = AutoModel.from_pretrained('m')\n"
ADAPTED = "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(" + LOADED[8:-1] + ", LoraConfig(%s))\n"


@each_case(
    ("before", "after", "text"),
    [
        (ADAPTED % "r=8, lora_alpha=64", ADAPTED % "lora_alpha=32", "`LoraConfig.lora_alpha` 64 -> 32"),
        (LOADED, ADAPTED % "r=16", "`LoraConfig.r` (unset) -> 16"),
        (ADAPTED % "r=16", LOADED, "`LoraConfig.r` 16 -> (unset)"),
        (LOADED, "import os\nif os.environ['A']:\n    " + (ADAPTED % "r=16").replace("\nm", "\n    m") + "else:\n    " + LOADED, ""),
    ],
)
def test_the_adapters_of_a_program(reviewed, before, after, text):
    sides = ({"train.py": TUNED.replace("args = ", made + "args = ", 1)} for made in (before, after))
    _, told = reviewed(*sides)
    assert [each for each in told if each.startswith("other adapters")] == ([f"other adapters: {text}"] if text else [])


def test_the_config_of_a_hydra_program_in_another_folder(reviewed, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "src").mkdir()
    build = "import hydra\n@hydra.main(config_path='../conf', config_name='grpo')\ndef main(cfg):\n    pass\nmain()\n"
    before = {"src/train.py": IMPORTS + build, "conf/grpo.yaml": "a: 1\n", "run.sh": "accelerate launch src/train.py a=2 b=1\n"}
    reviewed(before, {"conf/grpo.yaml": "a: 2\n", "run.sh": "accelerate launch src/train.py a=2 b=2\n"})
    assert "src/train.py names it, and what it makes of it is not compared; `a` 1 -> 2" in reviewed.reasons[0]


def test_one_process_that_spreads_its_model_is_not_one_gpu(reviewed):
    load = "from transformers import AutoModel\nmodel = AutoModel.from_pretrained('m', device_map='auto')\n"
    before = {"train.py": load + program("2"), "run.sh": "torchrun --nproc_per_node 2 train.py\n"}
    _, texts = reviewed(before, {"run.sh": "CUDA_VISIBLE_DEVICES=1,2,3 python train.py\n"})
    assert "processes 2 -> 1 (halved); one process spreads the model over all visible GPUs" in texts
    assert not any(text.startswith("GPUs") for text in texts)


def test_a_notebook(reviewed):
    def notebook(steps):
        return json.dumps({"cells": [{"cell_type": "code", "source": program(steps).splitlines(keepends=True)}]}, indent=1)

    told, _ = reviewed({"a.ipynb": notebook("2")}, {"a.ipynb": notebook("4")})
    assert told[0][1]["global_batch"] == 2.0


def test_a_renamed_program(reviewed):
    told, _ = reviewed({"train.py": program("2")}, {"train.py": None, "sft.py": program("4")})
    assert [(files, each["global_batch"]) for files, each in told] == [(["sft.py"], 2.0)]


def test_calls_of_one_program_are_compared_in_their_order(reviewed):
    two = program("2") + program("8").removeprefix(IMPORTS)
    told, _ = reviewed({"train.py": two}, {"train.py": two.replace("steps=8", "steps=16")})
    assert [each["global_batch"] for _, each in told if "global_batch" in each] == [2.0]


MAY_FOLLOW = "`gradient_accumulation_steps` is unknown, and what it may be computed from changed"


@each_case(
    ("before", "after", "text"),
    [
        ("G = 64\n" + UNKNOWN, "G = 32\n" + UNKNOWN, MAY_FOLLOW),
        (UNKNOWN + "G = 2\n", UNKNOWN + "G = n * 2\n", MAY_FOLLOW),
        ("G = 2\nn = 4\n", "G = 2\n" + UNKNOWN, "`gradient_accumulation_steps` is unknown now"),
    ],
)
def test_what_is_unknown_may_have_changed(reviewed, before, after, text):
    _, texts = reviewed({"train.py": program("G * n", before)}, {"train.py": program("G * n", after)})
    assert [each for each in texts if "may have changed" in each] == [f"global batch may have changed: {text}"]


def test_what_is_unknown_and_has_not_changed_says_nothing(reviewed):
    _, texts = reviewed({"train.py": program("G * n", "G = 2\n" + UNKNOWN)}, {"train.py": program("G * n", "x = 1\nG = 2\n" + UNKNOWN)})
    assert texts == []


@each_case(("before", "after"), [("eval_steps=5", "eval_steps=7"), ("eval_steps=6", "eval_steps=6, logging_steps=7")])
def test_another_entry_of_a_mapping_that_is_spread_is_not_what_an_unknown_one_is_computed_from(reviewed, before, after):
    options = "import os\nn = int(os.environ['N'])\noptions = dict(per_device_train_batch_size=n, {})\n"
    text = program(2).replace("gradient_accumulation_steps=2", "gradient_accumulation_steps=2, **options")
    sides = [{"train.py": options.format(each) + text} for each in (before, after)]
    assert not [each for each in reviewed(*sides)[1] if "may have changed" in each]


def test_a_local_name_gives_no_attribute_of_another_object(reviewed):
    text = program("c.n", "import os\nc = load(os.environ)\n") + "def other():\n    n = {}\n    return n\n"
    _, texts = reviewed({"train.py": text.format("load(1)")}, {"train.py": text.format("load(2)")})
    assert not [each for each in texts if "may have changed" in each]


def test_another_class_of_arguments_is_another_trainer_and_its_settings_are_compared(reviewed):
    before = program(2, "from trl import SFTConfig, SFTTrainer\n").replace(
        "args = TrainingArguments(", "args = SFTConfig(max_grad_norm=0.5, output_dir="
    )
    before = before.replace("Trainer(model", "SFTTrainer(model")
    after = program(2).replace("Arguments(", "Arguments(max_grad_norm=1.0, output_dir=")
    text = reviewed({"train.py": before}, {"train.py": after})[-1]
    assert "another trainer: TRL -> Hugging Face trainer" in text
    assert "gradient clipping 0.5 -> 1.0" in text
    assert not [each for each in text if "(unset)" in each]


def test_steps_that_are_unknown_now_are_not_said_to_be_set_by_the_epochs(reviewed):
    before, after = (program(2).replace("=2)", f"=2, max_steps={steps})") for steps in ("500", "int(input())"))
    assert "total steps 500 -> unknown" in reviewed({"train.py": before}, {"train.py": after})[1]


def test_a_length_that_only_the_code_has_is_told_unless_the_line_replaces_it(reviewed):
    option = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--max_length', default=%s)\np.parse_args()\n"
    before, after = (program(2, f"MAX_LENGTH = {size}\n{option % size}") for size in (512, 2048))
    _, texts = reviewed({"train.py": before, "run.sh": "python train.py --max_length 8\n"}, {"train.py": after})
    assert texts == ["in train.py: `MAX_LENGTH` 512 -> 2048"]


def test_a_size_that_is_unknown_now_is_told(reviewed):
    before = {"train.py": program(2), "run.sh": "torchrun --nproc_per_node 4 train.py\n"}
    _, texts = reviewed(before, {"run.sh": "torchrun --nproc_per_node $WORLD train.py\n"})
    assert "GPUs 4 -> unknown" in texts


def test_a_value_of_a_file_that_only_the_program_reads_is_told(reviewed):
    before = {"train.py": program("cfg['n']", YAML), "own.yaml": "n: 2\nreward: {type: exact} # one\n"}
    assert reviewed(before, {"own.yaml": "n: 2\nreward: {type: judge}\n"})[1] == ["in own.yaml: `reward.type` exact -> judge"]


def test_words_of_a_command_that_a_program_starts_are_told(reviewed):
    words = "import subprocess\nsubprocess.run(['torchrun', '-m', 'x', 'optim.lr=%s', 'trainer.name=%s'])\n"
    before, after = {"train.py": program(2, words % ("1e-5", "a"))}, {"train.py": program(2, words % ("5e-5", "b"))}
    assert reviewed(before, after)[1] == ["in train.py: `optim.lr` 1e-5 -> 5e-5"]


def test_arguments_of_a_program_that_was_not_found_are_not_unset(reviewed):
    before = {"sub/sft.py": program(2), "run.sh": "torchrun --nproc_per_node 2 sft.py --own 1\n"}
    before["train.py"] = before.pop("sub/sft.py")
    _, texts = reviewed(before, {"run.sh": "torchrun --nproc_per_node 2 train.py --own 1\n"})
    assert "global batch 16, unknown before" in texts
    assert not [text for text in texts if "(unset)" in text or "not in these files" in text]


def test_a_file_of_another_loop_has_no_defaults_of_the_trainer(reviewed):
    text = "output_dir: out\nlr: 1.0e-6\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n"
    _, texts = reviewed({"a.yaml": text}, {"b.yaml": text + "seed: 1\n"})
    assert not [each for each in texts if "5e-05" in each or "linear" in each]
    assert texts


def test_a_program_that_a_new_line_starts_is_not_deleted(reviewed):
    line = "torchrun --nproc_per_node 8 train.py\n"
    told, texts = reviewed({"train.py": program("2")}, {"run.sh": line})
    assert ([files for files, _ in told], len(texts)) == ([["run.sh", "train.py"]], len(told[0][1]))
    assert not any("deleted" in text for text in texts)


def test_a_program_that_its_corrected_line_starts_is_not_deleted(reviewed):
    loop = "from accelerate import Accelerator\nimport hydra\naccelerator = Accelerator()\n"
    loop += "@hydra.main(config_path='c')\ndef main(config):\n    accelerator.backward(config.loss)\nmain()\n"
    line = "accelerate launch {} model=a\n"
    _, texts = reviewed({"train.py": loop, "run.sh": line.format("no.py")}, {"run.sh": line.format("train.py")})
    assert not any("deleted" in text for text in texts)


def test_findings_of_a_program_that_is_gone_are_not_resolved(reviewed):
    parsed = "from transformers import Gone, HfArgumentParser, Trainer, TrainingArguments\n(args,) = HfArgumentParser(TrainingArguments)"
    before = {"train.py": f"{parsed}.parse_args_into_dataclasses()\nTrainer(model=None, args=args).train()\n"}
    reviewed({**before, "run.sh": "torchrun --nproc_per_node 8 train.py conf.yaml\n"}, {"train.py": None})
    assert [each["gone"] for each in reviewed.changes if each["run"] == "run.sh:1"] == [[]]


def test_a_rate_that_the_program_makes_itself_is_not_the_default_of_its_arguments(reviewed):
    own = ("optimizers=(torch.optim.AdamW([]), None)", "train_dataset=None")
    text = "import torch\nfrom transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o'{}), {}).train()\n"
    _, texts = reviewed({"train.py": text.format("", own[0])}, {"train.py": text.format(", learning_rate=1e-4", own[1])})
    assert "`learning_rate` the program makes its own -> 1e-4" in texts


def test_a_program_whose_line_is_gone_is_no_new_run(reviewed):
    _, texts = reviewed({"train.py": program("2"), "run.sh": "torchrun --nproc_per_node 8 train.py\n"}, {"run.sh": "echo\n"})
    assert any(text.startswith("deleted run") for text in texts)
    assert not any(text.startswith("new run") for text in texts)


def test_a_program_that_is_no_longer_found_leaves_nothing_to_compare(reviewed):
    parsed = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n(args,) = HfArgumentParser(TrainingArguments)"
    before = {"train.py": f"{parsed}.parse_args_into_dataclasses()\nTrainer(model=None, args=args).train()\n"}
    line = "torchrun --nproc_per_node 8 {} --output_dir out --per_device_train_batch_size 2 --num_train_epochs 1 --save_total_limit 2\n"
    told, texts = reviewed({**before, "run.sh": line.format("train.py")}, {"run.sh": line.format("moved/train.py")})
    assert told[0][1] == {"program": None}
    assert texts[0] == "the program of the line is no longer found in the project: what it computes is not compared"


def test_epochs_do_not_multiply_the_steps_of_an_unknown_batch(reviewed):
    parsed = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n(args,) = HfArgumentParser(TrainingArguments)"
    before = {"train.py": f"{parsed}.parse_args_into_dataclasses()\nTrainer(model=None, args=args).train()\n"}
    line = "deepspeed {}train.py --output_dir out --per_device_train_batch_size {} --num_train_epochs {}\n"
    [(_, factors)], _ = reviewed({**before, "run.sh": line.format("", 16, 1)}, {"run.sh": line.format("--num_gpus 4 ", 8, 2)})
    assert factors["total_steps"] is None


def test_a_program_that_does_not_parse_on_one_side_is_neither_new_nor_deleted(reviewed):
    whole, broken = {"train.py": program(2)}, {"train.py": program(2) + " x\n"}
    assert reviewed(broken, whole)[1][0].startswith("train.py can be parsed now, and could not before: starts, ")
    (text, *_) = reviewed(whole, broken)[1]
    assert text.startswith("train.py does not parse with Python")
    assert "; before: started, " in text


def test_a_value_that_is_computed_on_one_side_is_not_unset():
    texts = [f"x = {value}\ny = 1\n" for value in ("None", "f() if a else None", "2")]
    assert changed_values("own.py", texts[0], texts[1], ()) == {"x": "`x` None -> (computed)"}
    assert changed_values("own.py", texts[1], texts[2], ()) == {"x": "`x` (computed) -> 2"}
    assert changed_values("own.py", texts[1], texts[1].replace("f()", "g()"), ()) == {}
    assert changed_values("own.py", texts[2], "x = [\n    2,\n]\ny = 1\n", ()) == {}
    assert changed_values("own.py", texts[1], f"{texts[1]}def of(x=None):\n    pass\n", ()) == {}  # the computed one stands there as before


@each_case(
    ("name", "before", "after", "expected"),
    [
        ("a.yaml", "dir: a\n", "dir: [a, b]\n", {"dir": "`dir` a -> [a, b]"}),
        ("a.yaml", "dir:\n- a\n", "dir: [a]\n", {}),
        ("a.yaml", "dir: [{x: 1}]\n", "dir: [{x: 2}]\n", {"dir.0.x": "`dir.0.x` 1 -> 2"}),
        ("a.py", "c.train.ema = True\n", "c.train.ema = False\n", {"ema": "`ema` True -> False"}),
        ("a.py", "self.ema = None\n", "self.ema = 1\n", {}),  # the state of an object
    ],
)
def test_lists_of_a_file_and_attributes_of_a_program_are_values(name, before, after, expected):
    assert changed_values(name, before, after, ()) == expected


def test_the_end_of_an_evaluation_is_no_change(reviewed, monkeypatch):
    parsed = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n"
    text = f"from transformers import HfArgumentParser, Trainer, TrainingArguments\nx = 1\n{parsed}"
    line = "torchrun --nproc_per_node 2 train.py --output_dir o --per_device_train_batch_size {}\n"
    monkeypatch.setattr("cfglint.launch.programs.runs_of_program.STEPS", 40)
    reviewed({"train.py": text, "run.sh": line.format(4)}, {"train.py": text.replace("x = 1\n", "x = 1\n" * 60), "run.sh": line.format(8)})
    assert all(each["before"] is not None for one in reviewed.changes for each in one["consequences"])
    assert [setting["key"] for one in reviewed.changes for setting in one["settings"]] == ["per_device_train_batch_size"]


def test_a_comment_in_a_program_is_no_change(reviewed):
    assert reviewed({"train.py": program(2)}, {"train.py": f"# of the paper\n\n{program(2)}"}) == ([], [])
    assert reviewed.left_out == []
    reviewed({"train.py": program(2, "x = '''\n# a\n'''\n")}, {"train.py": program(2, "x = '''\n# b\n'''\n")})
    assert reviewed.left_out == ["train.py"]


def test_completions_of_a_trainer_that_is_none_of_trl_take_no_further_steps(reviewed):
    own = "from transformers import Trainer\nfrom trl import GRPOConfig\nclass Own(Trainer):\n    pass\n"
    texts = [f"{own}args = GRPOConfig('o', num_generations={number})\nOwn(model=None, args=args).train()\n" for number in (8, 2)]
    [(_, factors)], _ = reviewed({"train.py": texts[0]}, {"train.py": texts[1]})
    assert factors == {"generations": 0.25}


def test_another_spelling_of_a_value_is_no_change():
    assert changed_values("own.py", "x = 'a'\ny = [2e-5]\n", 'x = "a"\ny = [0.00002]\n', ()) == {}


def test_values_of_toml():
    before, after = (f"a = 1\n[train]\nsteps = {steps}\nnames = ['x']\n" for steps in (2, 4))
    assert changed_values("own.toml", before, after, ()) == {"train.steps": "`train.steps` 2 -> 4"}
    assert changed_values("own.toml", "a = \n", after, ()) == {}


def test_a_value_that_is_inserted_shifts_no_others():
    lines = [f"check(name='{name}')\n\n" for name in "abcdef"]
    inserted = [*lines[:1], "check(name='new')\n\n", *lines[1:5]]  # and the last one deleted
    assert changed_values("own.py", "".join(lines), "".join(inserted), ()) == {}
    both = "".join(lines).replace("'a'", "'x'").replace("'d'", "'y'")
    assert changed_values("own.py", "".join(lines), both, ()) == {"name": "`name` 'a' -> 'x', `name` 'd' -> 'y'"}


def test_other_conditions_of_a_script_are_not_compared(reviewed):
    line = "torchrun --nproc_per_node 8 train.py\n"
    script = "run() {\n%s}\nrun\n"
    before = {"train.py": program(2), "run.sh": script % line}
    for added, no_effect in (("if [ -f done ]; then\nreturn\nfi\n", False), ("echo if\n", True)):
        reviewed(before, {"run.sh": script % (added + line)})
        assert [each["no_effect"] for each in reviewed.changes] == [no_effect]
    page = {"train.py": program(2), "README.md": f"```sh\n{line}```\n"}
    reviewed(page, {"README.md": "It runs if and while it can.\n" + page["README.md"]})
    assert reviewed.left_out == []


def test_a_setting_of_a_mapping_has_no_notes_of_other_keys(reviewed):
    text = program(2, "given = {'learning_rate': %s, 'eval_stepz': 5}\n").replace("steps=2)", "steps=2, **given)")
    reviewed({"train.py": text.replace("%s", "1e-5")}, {"train.py": text.replace("%s", "2e-5")})
    (change,) = reviewed.changes
    assert [(setting["key"], setting["notes"]) for setting in change["settings"]] == [("learning_rate", [])]


def test_a_program_whose_arguments_are_not_known_is_not_said_to_start(reviewed):
    built = program("a.ga, learning_rate=1e-4", PARSER % 2)
    filled = "from transformers import *\n(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()" + TRAINED
    _, texts = reviewed({}, {"built.py": built, "filled.py": filled.replace("*", "HfArgumentParser, Trainer, TrainingArguments")})
    found = [text for text in texts if text.startswith("new run")]
    own = "new run: no errors in the file alone, learning rate 1e-4, precision fp32, schedule linear"
    assert found == [own, "new run: no errors in the file alone"]


def test_the_alternatives_of_a_program_are_paired_in_their_line(reviewed):
    classes = "from trl import {}\nimport os\nkind = os.environ['KIND']\n"
    alternatives = "{} kind == '{}':\n    args = {}Config(output_dir='o')\n"
    sides = []
    for names in (("SFT", "DPO"), ("KTO", "SFT", "DPO")):
        branches = "".join(alternatives.format("elif" if index else "if", name, name) for index, name in enumerate(names))
        sides.append(classes.format(", ".join(f"{name}Config" for name in names)) + branches)
    lines = "torchrun --nproc_per_node 4 train.py\ntorchrun --nproc_per_node 4 --nnodes 2 train.py\n"
    _, texts = reviewed({"train.py": sides[0], "run.sh": lines}, {"train.py": sides[1]})
    assert [text.partition(":")[0] for text in texts if "run" in text or "GPUs" in text] == ["new run"] * 2


def test_a_changed_file_in_a_syntax_that_is_not_parsed_is_not_compared(reviewed):
    reviewed({"train.py": program(2), "rl.toml": "steps = 1\n", "pyproject.toml": ""}, {"rl.toml": "steps = 2\n", "pyproject.toml": "#"})
    assert reviewed.left_out == ["rl.toml"]


def test_an_auto_that_nothing_known_fills_is_the_same(reviewed):
    files = {"train.py": program(2).replace("steps=2", "steps=2, deepspeed='ds.json'")}
    files["ds.json"] = '{"train_batch_size": "auto", "gradient_accumulation_steps": "auto", "train_micro_batch_size_per_gpu": "auto"}'
    reviewed({**files, "run.sh": "deepspeed train.py\n"}, {"run.sh": "deepspeed --num_gpus 2 train.py\n"})
    assert [setting["key"] for change in reviewed.changes for setting in change["settings"]] == ["num_gpus"]


def test_a_setup_script_that_changes_is_named(reviewed):
    reviewed({"train.py": program(2), "setup.sh": "pip install -e swift\n"}, {"setup.sh": "cd swift; git checkout 1ab\npip install -e .\n"})
    assert reviewed.left_out == ["setup.sh"]


def test_clipping_that_another_file_sets_to_the_same_norm_is_no_consequence(reviewed):
    launcher = "deepspeed_config: {gradient_clipping: 1.0, zero_stage: 2}\ndistributed_type: DEEPSPEED\nnum_processes: 4\nnum_machines: 1\n"
    files = {"train.py": program(2), "ac.yaml": launcher + "mixed_precision: 'no'\n", "run.sh": "accelerate launch train.py\n"}
    _, texts = reviewed(files, {"run.sh": "accelerate launch --config_file ac.yaml train.py\n"})
    assert texts
    assert not [text for text in texts if "clipping" in text]


def test_a_kind_of_training_of_another_program_is_no_adapter(reviewed):
    line = "python train.py --n_layer 2 --lr_init 1 --micro_bsz 4 --train_type {}\n"
    before = {
        "train.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--train_type')\n",
        "run.sh": line.format("state"),
    }
    _, texts = reviewed(before, {"run.sh": line.format("infctx")})
    assert reviewed.changes
    assert not [text for text in texts if "adapters" in text]


def test_a_script_that_moved_is_the_one_that_its_values_stand_in(reviewed):
    line = "deepspeed --num_gpus 2 train.py --deepspeed {}zero.json --output_dir o --weight_decay 0.5 --max_steps 9\n"
    parsed = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n(args,) = HfArgumentParser(TrainingArguments)"
    files = {
        "train.py": f"{parsed}.parse_args_into_dataclasses()\nTrainer(model=None, args=args).train()\n",
        "old.sh": LINES * 3 + line.format("x/"),
    }
    files["zero.json"] = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}'
    _, texts = reviewed(files, {"old.sh": None, "new.sh": LINES * 3 + line.format("")})
    assert "ZeRO stage unknown -> 2" in texts
    assert not [text for text in texts if "weight decay" in text or "schedule" in text]


def test_a_length_that_is_unknown_now_may_be_the_same(reviewed):
    line = "torchrun --nproc_per_node 2 -m verl.trainer.fsdp_sft_trainer data.max_length={}\n"
    _, texts = reviewed({"run.sh": line.format(512)}, {"run.sh": 'L=512\nif [ -n "$1" ]; then L=$1; fi\n' + line.format("$L")})
    assert "tokens per step may change with `data.max_length` 512 -> (unknown)" in texts


def test_a_module_that_a_new_launch_reads_is_no_deleted_run(reviewed):
    """Neither is it a new run when the script that started the program with it is gone."""
    module = f"{IMPORTS}def arguments():\n    return TrainingArguments({SIZES}2)\n"
    text = "from transformers import Trainer\nfrom own import arguments\nTrainer(args=arguments()).train()\n"
    files = {"own.py": module, "train.py": text, "train_other.py": text}
    script = {"run.sh": "torchrun --nproc_per_node 2 train.py\n"}
    changed = {"own.py": module.replace("2)", "4)")}
    _, texts = reviewed(files, {**script, **changed})
    assert [text.partition(":")[0] for text in texts if " run" in text] == ["new run"]
    _, texts = reviewed({**files, **script}, {**changed, "run.sh": None})
    assert not any(text.startswith("new run") for text in texts)


def test_a_plugin_that_a_line_names_belongs_to_its_run(reviewed):
    line = "torchrun --nproc_per_node 2 $(which swift) rlhf --rlhf_type grpo --model m --dataset d --external_plugins plugin.py\n"
    reviewed({"run.sh": line, "plugin.py": "def reward():\n    return 1\n"}, {"plugin.py": "def reward():\n    return 2\n"})
    assert reviewed.reasons == ["run.sh names it, and its code is not compared"]


def test_the_settings_of_a_file_that_hydra_composes_are_compared(reviewed):
    """Its sections are put together from several files, and have no place of their own."""
    line = "python3 -m verl.trainer.main_ppo --config-path=$PWD --config-name=a trainer.n_gpus_per_node=4\n"
    text = "hydra:\n  searchpath:\n    - pkg://verl.trainer.config\ndefaults:\n  - ppo_trainer\n  - _self_\n"
    text += "actor_rollout_ref:\n  actor:\n    clip_ratio: 0.2\n  rollout:\n    top_p: 0.9\n"
    after = text.replace("0.2", "0.3").replace("top_p: 0.9", "checkpoint_engine:\n      update_weights_bucket_megabytes: 4096")
    reviewed({"run.sh": line, "a.yaml": text}, {"a.yaml": after})
    (change,) = reviewed.changes
    told = [(each["key"].rpartition(".")[2], each["before"]["value"], each["after"]["value"]) for each in change["settings"]]
    assert told == [("clip_ratio", 0.2, 0.3), ("top_p", 0.9, 1), ("update_weights_bucket_megabytes", None, 4096)]


def test_a_loop_in_the_place_of_a_trainer_sets_its_epochs_and_rate_itself(reviewed):
    before = f"{IMPORTS}args = TrainingArguments({SIZES}1, num_train_epochs=4, learning_rate=1e-5, save_steps=9){TRAINED}"
    after = """from accelerate import Accelerator
from torch.optim import SGD
from torch.utils.data import DataLoader
accelerator = Accelerator()
optimizer = SGD(model.parameters(), lr=1e-5)
loader, optimizer = accelerator.prepare(DataLoader(rows, batch_size=4), optimizer)
for epoch in range(4):
    for batch in loader:
        accelerator.backward(model(batch))
        optimizer.step()
"""
    _, texts = reviewed({"train.py": before}, {"train.py": after})
    assert texts
    assert not any("unset" in each for each in texts)


def test_a_deepspeed_file_of_which_a_program_makes_a_plugin_is_told(reviewed):
    program = f"""import torch, yaml
from accelerate import Accelerator, DeepSpeedPlugin
from accelerate.utils import HfDeepSpeedConfig
{PARSER.replace("--ga", "--ds_config").replace("int", "str") % "'ds.yaml'"}
with open(a.ds_config) as f:
    config = yaml.safe_load(f)
accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=HfDeepSpeedConfig(config)))
loader = accelerator.prepare(torch.utils.data.DataLoader(rows, batch_size=2))
for batch in loader:
    accelerator.backward(model(batch))
    optimizer.step()
"""
    files = {"train.py": program, "run.sh": "deepspeed train.py --ds_config ds.yaml\n", "ds.yaml": "gradient_clipping: 1.0\n"}
    _, texts = reviewed(files, {"ds.yaml": "gradient_clipping: 0.5\n"})
    assert texts == ["in ds.yaml: `gradient_clipping` 1.0 -> 0.5"]
