"""A target edits the value of a program where it is written: a keyword, a default, a constant, or the program's own config file."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

IMPORTS = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
TRAINED = "\nTrainer(model=None, args=args).train()\n"
SIZES = "'out', per_device_train_batch_size=4, gradient_accumulation_steps="
TARGET = ("--gpus", "8", "--global-batch", "256")
OWN_YAML = "import yaml\ncfg = yaml.safe_load(open('own.yaml'))\n"
OWN_JSON = "import json\ncfg = json.load(open('own.json'))\n"


def program(code):
    """A program that trains with the arguments of some code."""
    return f"{IMPORTS}{code}{TRAINED}"


def built(steps):
    """Code that builds arguments with some accumulation."""
    return f"args = TrainingArguments({SIZES}{steps})"


@pytest.fixture
def fixed(tmp_path, monkeypatch, capsys):
    """The changed files of a folder after `fix` with a target, and what it says."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def fix(files, *paths, status=0, options=TARGET):
        for name, text in files.items():
            (tmp_path / name).write_bytes(text.encode())
        assert main(["fix", *(paths or ("train.py",)), *options]) == status, capsys.readouterr()
        changed = {name: now for name, text in files.items() if (now := (tmp_path / name).read_bytes().decode()) != text}
        return changed, "".join(capsys.readouterr())

    return fix


@each_case(
    ("name", "before", "after", "code"),
    [
        ("own.yaml", "train:\r\n  steps: 2  # each\r\n", "train:\r\n  steps: 8  # each\r\n", OWN_YAML + built("cfg['train']['steps']")),
        ("own.yaml", "steps: 2\n", "steps: 8\n", OWN_YAML.replace("open('own.yaml')", "open('own.yaml').read()") + built("cfg['steps']")),
        ("own.json", '{"steps" :2 }', '{"steps" :8 }', OWN_JSON + built("int(cfg['steps'])")),
        ("consts.py", "STEPS = 2  # each\n", "STEPS = 8  # each\n", "from consts import STEPS\n" + built("STEPS")),
        (
            "own.json",
            '{"output_dir": "o", "per_device_train_batch_size": 4}',
            '{"output_dir": "o", "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8}',
            OWN_JSON + "args = TrainingArguments(**cfg)",
        ),
    ],
)
def test_a_value_that_another_file_has(fixed, name, before, after, code):
    changed, said = fixed({"train.py": program(code), name: before})
    assert changed == {name: after}
    assert f"{name}: " in said
    assert fixed({"train.py": program(code), name: after})[0] == {}


@each_case(
    "default",
    [
        "gradient_accumulation_steps: int = field(default=2, metadata={'help': 'x'})",
        "gradient_accumulation_steps: int = 2",
    ],
)
def test_the_default_of_the_programs_own_class(fixed, default):
    own = f"from dataclasses import dataclass, field\n@dataclass\nclass Own(TrainingArguments):\n    output_dir: str = 'o'\n    {default}\n"
    parsed = "(args,) = HfArgumentParser(Own).parse_args_into_dataclasses()"
    code = program(own + parsed)
    changed, said = fixed({"train.py": code})
    assert changed == {"train.py": code.replace("2", "4")}  # the default micro batch is 8
    assert "gradient_accumulation_steps 2 -> 4" in said


def test_an_argument_of_the_line_wins(fixed):
    parser = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--ga', type=int, default=2)\na = p.parse_args()\n"
    files = {"train.py": program(parser + built("a.ga")), "run.sh": "torchrun --nproc_per_node 8 train.py --ga 4\n"}
    assert fixed(files, "run.sh")[0] == {"run.sh": "torchrun --nproc_per_node 8 train.py --ga 8\n"}


def test_a_field_that_the_line_gives_is_changed_on_the_line(fixed):
    own = "from dataclasses import dataclass\n@dataclass\nclass Own:\n    ga: int = 2\n"
    own += "(a,) = HfArgumentParser(Own).parse_args_into_dataclasses()\n"
    files = {"train.py": program(own + built("a.ga")), "run.sh": "torchrun --nproc_per_node 8 train.py --ga 4\n"}
    assert fixed(files, "run.sh")[0] == {"run.sh": "torchrun --nproc_per_node 8 train.py --ga 8\n"}


TWO = f"{IMPORTS}STEPS = 2\n{built('STEPS')}{TRAINED}{built('STEPS')}{TRAINED}"


def test_calls_that_share_a_constant_reach_a_target_together(fixed):
    assert fixed({"train.py": TWO})[0] == {"train.py": TWO.replace("STEPS = 2", "STEPS = 8")}


def test_a_call_that_does_not_get_the_target_does_not_change(fixed):
    changed, said = fixed({"train.py": TWO}, "train.py:3", status=2)
    assert not changed
    assert "would change the call of line 5 as well; set `gradient_accumulation_steps` to 8 by hand" in said


@each_case(
    ("code", "reason"),
    [
        (built("len(names) and 4"), "train.py:2"),
        ("SHARED = 2\n" + built("SHARED, save_total_limit=SHARED"), "would change `save_total_limit` as well"),
    ],
)
def test_a_value_that_is_not_edited_is_named(fixed, code, reason):
    changed, said = fixed({"train.py": program(code)}, status=2)
    assert not changed
    assert reason in said


@each_case(
    ("before", "after"),
    [
        ("SIZE = 64\n" + built("SIZE // 4"), "SIZE = 32\n" + built("SIZE // 4")),
        (
            "SIZE = 64\nimport os\n" + built("max(1, SIZE // 4 // int(os.environ.get('WORLD_SIZE', 1)))"),
            "SIZE = 256\nimport os\n" + built("max(1, SIZE // 4 // int(os.environ.get('WORLD_SIZE', 1)))"),
        ),
        (f"def main(size=64):\n    return {built('size // 4')[7:]}\nargs = main()", None),
        ("class C:\n    size = 64\n" + built("C.size // 4"), "class C:\n    size = 32\n" + built("C.size // 4")),
    ],
)
def test_the_number_that_the_accumulation_is_computed_from_is_edited(fixed, before, after):
    changed, _ = fixed({"train.py": program(before)})
    assert changed == {"train.py": program(after or before.replace("64", "32"))}


def test_other_runs_that_read_an_edited_file_are_named(fixed):
    other = program(OWN_YAML + built("cfg['steps']").replace("4,", "8,"))
    files = {"train.py": program(OWN_YAML + built("cfg['steps']")), "other.py": other, "own.yaml": "steps: 2\n"}
    changed, said = fixed(files)
    assert changed == {"own.yaml": "steps: 8\n"}
    assert "own.yaml is read by other runs, too: other.py" in said


def test_runs_that_share_a_file_reach_a_target_together_or_not_at_all(fixed):
    other = program(OWN_YAML + built("cfg['steps']").replace("4,", "8,"))
    files = {"train.py": program(OWN_YAML + built("cfg['steps']")), "other.py": other, "own.yaml": "steps: 2\n"}
    assert not fixed(files, "train.py", "other.py", status=2)[0]


def test_a_finding_is_where_the_value_is_written(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("t:\n  fp16: true\n")
    (tmp_path / "train.py").write_text(program(OWN_YAML + "args = TrainingArguments('o', bf16=True, fp16=cfg['t']['fp16'])"))
    assert main(["check", "train.py", "--format", "concise"]) == 1
    assert capsys.readouterr().out.startswith("own.yaml:2:9: PRC200")
    (tmp_path / "train.py").write_text(program(OWN_YAML + "args = TrainingArguments('o', fp16=True, bf16=cfg['t']['fp16'])"))
    assert main(["check", "train.py"]) == 1
    assert "`t.fp16` is true here (own.yaml:2)" in capsys.readouterr().out


@each_case(("option", "status"), [("", 0), ("--gradient_accumulation_steps 8 ", 0), ("--gradient_accumulation_steps 2 ", 2)])
def test_the_accumulation_for_a_config_that_is_not_in_the_project(fixed, option, status):
    """DeepSpeed may use the one of `accelerate launch`, so it has to be that of the target."""
    parsed = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"
    line = f"accelerate launch --config_file ~/a.yaml {option}train.py --per_device_train_batch_size 4 --gradient_accumulation_steps 2\n"
    changed, said = fixed({"train.py": program(parsed), "run.sh": line}, "run.sh", status=status)
    assert changed == ({} if status else {"run.sh": line.replace("steps 2", "steps 8")})
    assert ("set it to 8, like that of the program, by hand" in said) == bool(status)


def test_a_removed_key_of_a_config_file_is_renamed_there(fixed):
    files = {
        "train.py": program(OWN_JSON + "args = TrainingArguments(**cfg)"),
        "own.json": '{"output_dir": "o", "evaluation_strategy": "no"}',
    }
    changed, _ = fixed(files, options=("--target", "transformers==5.23.0", "--unsafe-fixes"))
    assert changed == {"own.json": '{"output_dir": "o", "eval_strategy": "no"}'}


def test_a_string_in_place_of_a_number_gets_quotes(fixed):
    code = "args = TrainingArguments('out', deepspeed={'gradient_clipping': 2, 'zero_optimization': {'stage': 2}})"
    changed, _ = fixed({"train.py": program(code)}, options=())
    assert changed == {"train.py": program(code.replace(": 2, ", ': "auto", '))}


def notebook(code, indent=1, as_string=False, **dumped):
    """A notebook with a cell of text, an output and some code."""
    lines = code if as_string else code.splitlines(keepends=True)
    output = {"output_type": "stream", "text": code.splitlines(keepends=True)}
    cells = [
        {"cell_type": "markdown", "source": ["# ü\n"]},
        {"cell_type": "code", "metadata": {}, "outputs": [output], "source": ["!pip install trl\n", "x = 'ü\\n\"'"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": lines},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=indent, **dumped)


@each_case("steps", ["2", 'int("2") if 0 else 2'])
@each_case(
    "form", [{}, {"indent": None}, {"as_string": True}, {"ensure_ascii": False}, {"indent": None, "as_string": True, "ensure_ascii": False}]
)
def test_a_notebook_is_edited_in_its_cell(fixed, form, steps):
    code = program(f"s = 'ü\"'; n = {steps}\n" + built("n"))
    before, after = (notebook(each, **form) for each in (code, code.replace(f"n = {steps}", f"n = {steps[:-1]}8")))
    written = before[: before.rindex("n = ")] + after[after.rindex("n = ") :]
    assert fixed({"a.ipynb": before}, "a.ipynb")[0] == {"a.ipynb": written}


def test_an_argument_is_added_to_a_notebook(fixed):
    code = program("args = TrainingArguments(\n    'out',\n    per_device_train_batch_size=4,  # each\n)")
    before = notebook(code)
    place = before.rindex("batch_size=4") + len("batch_size=4")
    added = ", gradient_accumulation_steps=8"
    assert fixed({"a.ipynb": before}, "a.ipynb")[0] == {"a.ipynb": before[:place] + added + before[place:]}


def test_a_fix_of_a_notebook(fixed):
    code = program("args = TrainingArguments('out', evaluation_strategy=\"no\", lr_scheduler_type='linear')")
    before = notebook(code)
    place = before.rindex("evaluation")
    options = ("--target", "transformers==5.23.0", "--unsafe-fixes")
    assert fixed({"a.ipynb": before}, "a.ipynb", options=options)[0] == {
        "a.ipynb": before[:place] + before[place:].replace("evaluation", "eval", 1)
    }


def test_a_finding_in_a_notebook_has_its_place_in_the_file(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    text = notebook(program("s = '\"ü'; args = TrainingArguments('out', bf16=True, fp16=True)"))
    (tmp_path / "a.ipynb").write_text(text)
    assert main(["check", "a.ipynb", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["diagnostics"][0]
    line, column = found["line"], found["column"]
    assert text.splitlines()[line - 1][column - 1 :].startswith("True)")


def test_the_flag_of_a_program_with_an_accelerator_whose_loader_is_not_known(fixed):
    parser = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--gradient_accumulation_steps', type=int, default=1)\n"
    sizes = "p.add_argument('--per_device_train_batch_size', type=int, default=8)\na = p.parse_args()\n"
    made = "from accelerate import Accelerator\nAccelerator(gradient_accumulation_steps=a.gradient_accumulation_steps)\n"
    line = "python train.py --per_device_train_batch_size=1 --gradient_accumulation_steps=2\n"
    changed, said = fixed({"train.py": parser + sizes + made, "run.sh": line}, "run.sh", status=2)
    assert not changed
    assert "the batch of `train.py` is computed in the program" in said


def test_an_argument_that_nothing_in_the_project_gives(fixed):
    parsed = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"
    changed, said = fixed({"train.py": program(parsed)}, status=2)
    assert not changed
    assert "is an argument of the program; pass it on the line that starts it" in said


SPREAD = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained('m', device_map='auto')
args = TrainingArguments('out', per_device_train_batch_size=4, gradient_accumulation_steps=2)
Trainer(model=model, args=args).train()
"""


@each_case(("files", "path"), [({"train.py": SPREAD}, "train.py"), ({"train.py": SPREAD, "run.sh": "python train.py\n"}, "run.sh")])
def test_a_model_on_all_gpus_of_one_process_is_one_replica_on_any_number_of_them(files, path, fixed, capsys):
    changed, said = fixed(files, path, status=2)
    assert (changed, "`device_map` is 'auto'" in said, "torchrun" in said) == ({}, True, False)
    assert main(["plan", path, *TARGET]) == 2
    assert "data parallel stays 1" in capsys.readouterr().err
    main(["explain", path, "--gpus", "8", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["resolved"]["global_batch"], found["what_if"]) == (8, None)
    changed, _ = fixed(files, path, options=("--global-batch", "256"))
    assert changed == {"train.py": SPREAD.replace("steps=2", "steps=64")}


ENGINE = """import argparse, deepspeed
p = argparse.ArgumentParser()
p.add_argument("--steps", default=2, type=int)
args = p.parse_args()
engine, _, loader, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), training_data=rows, config={
    "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": args.steps, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
})
for batch in loader:
    engine.backward(engine(batch))
    engine.step()
"""
LOOP = """import argparse
from accelerate import Accelerator
from torch.utils.data import DataLoader
p = argparse.ArgumentParser()
p.add_argument("--steps", default=2, type=int)
args = p.parse_args()
accelerator = Accelerator(gradient_accumulation_steps=args.steps)
loader = accelerator.prepare(DataLoader(rows, batch_size=4))
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(batch))
        optimizer.step()
"""
OF_LAUNCHER = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nnum_processes: 8\n"


@each_case(
    ("code", "line"),
    [(ENGINE, "deepspeed --num_gpus 8 train.py\n"), (LOOP, "accelerate launch --config_file acc.yaml train.py\n")],
)
def test_the_default_of_an_option_that_the_engine_or_the_loop_gets(fixed, code, line):
    changed, _ = fixed({"train.py": code, "run.sh": line, "acc.yaml": OF_LAUNCHER}, "run.sh")
    assert changed == {"train.py": code.replace("default=2", "default=8")}


@pytest.mark.parametrize("name", ["train.py", "run.sh"])
def test_a_byte_order_mark_stays(fixed, name):
    line = "\n\ntorchrun --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4 --gradient_accumulation_steps 2\n"
    text = f"\ufeff{program(built(2))}" if name == "train.py" else f"\ufeff{line}"
    parsed = program("(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()")
    files = {name: text} if name == "train.py" else {name: text, "train.py": parsed}
    changed, _ = fixed(files, name)
    assert changed[name].startswith("\ufeff")
    assert len(changed[name]) == len(text)
