"""Arguments that a program builds in code: `TrainingArguments(...)` and its like are read, never run."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

IMPORTS = "from transformers import Trainer, TrainingArguments\nfrom trl import SFTConfig, SFTTrainer\n"
TRAINED = "\nTrainer(model, args).train()\n"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """The report on a program, started by a line or named itself."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(code, *options, line="torchrun --nproc_per_node 4 train.py"):
        (tmp_path / "train.py").write_text(IMPORTS + code + TRAINED)
        (tmp_path / "run.sh").write_text(line + "\n")
        main(["check", "run.sh" if line else "train.py", *options, "--format", "json"])
        return json.loads(capsys.readouterr().out)

    return report


@pytest.fixture
def explained(capsys):
    """The value of a setting of the run of `run.sh`."""

    def value(name):
        main(["explain", "run.sh", "--format", "json"])
        return next(each["value"] for each in json.loads(capsys.readouterr().out)["settings"] if each["name"] == name)

    return value


def built(*keywords):
    """A program that builds arguments with some keywords."""
    return "args = TrainingArguments(\n    'out',\n" + "".join(f"    {each},\n" for each in keywords) + ")"


def test_keywords_are_the_values_of_the_run(check):
    [run] = check(built("per_device_train_batch_size=4", "gradient_accumulation_steps=8"))["runs"]
    assert (run["files"], run["kinds"]) == (["run.sh", "train.py"], ["launch", "huggingface"])
    assert (run["resolved"]["global_batch"], run["verdict"]) == (128, "accept")


def test_a_program_that_is_named_itself(check):
    [run] = check(built("per_device_train_batch_size=4"), "--gpus", "2", line="")["runs"]
    assert (run["files"], run["kinds"], run["resolved"]["global_batch"]) == (["train.py"], ["huggingface"], 8)


def test_a_finding_is_at_the_keyword(check):
    [found] = check(built("evaluation_strategy='no'"))["diagnostics"]
    assert (found["file"], found["line"], found["column"], found["severity"]) == ("train.py", 5, 5, "error")
    assert found["exception"] == "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'"


def test_columns_count_characters(check):
    [found] = check("args = TrainingArguments(output_dir='äöü', learning_rate='1e-4')")["diagnostics"]
    assert (found["code"], found["column"]) == ("TYP200", 58)


@pytest.mark.parametrize(
    ("code", "micro"),
    [
        ("SIZE = 2\n" + built("per_device_train_batch_size=SIZE"), 2),
        ("SIZE = 2\nif x:\n    SIZE = 4\n" + built("per_device_train_batch_size=SIZE"), None),
        ("SIZE = 2\ndef f():\n    global SIZE\n    SIZE = 4\n" + built("per_device_train_batch_size=SIZE"), 2),
        ("SIZE = 2\ndef f():\n    global SIZE\n    SIZE = x\nf()\n" + built("per_device_train_batch_size=SIZE"), None),
        ("for size in (1, 2):\n    pass\n" + built("per_device_train_batch_size=size"), 2),
        (built("per_device_train_batch_size=2 * 3"), 6),
        (built("per_device_train_batch_size=int('2')"), 2),
        (built("per_device_train_batch_size=2", "**more"), 2),
        (built("**more"), None),
        (built(), 8),
        (built() + "\nargs.per_device_train_batch_size = 3", 3),
        (built() + "\nif x:\n    args.per_device_train_batch_size = 3", None),
        (built() + "\nsetattr(args, name, 3)", None),
        (built() + "\ndef replaced(model, name):\n    setattr(model, name, 3)", 8),
        ("import dataclasses\n" + built() + "\nargs = dataclasses.replace(args, per_device_train_batch_size=3)", 3),
        (built() + "\nargs.set_training(batch_size=3)", None),
        ("A, B = 3, 4\n" + built("per_device_train_batch_size=A"), 3),
        ("TOTAL = 32\nSIZE = 4\n" + built("per_device_train_batch_size=TOTAL // SIZE"), 8),
        ("class C:\n    size = 6\nc = C()\n" + built("per_device_train_batch_size=c.size"), 6),
        ("class C:\n    size = 6\nc = C()\nc.size = x\n" + built("per_device_train_batch_size=c.size"), None),
        ("more = dict(per_device_train_batch_size=6)\n" + built("**more"), 6),
        ("more = {'per_device_train_batch_size': 6}\nmore.update(x)\n" + built("**more"), None),
        ("class Own(TrainingArguments):\n    pass\nargs = Own('out')", 8),
    ],
)
def test_what_is_not_a_literal_is_unknown(check, code, micro):
    [run] = check(code)["runs"]
    assert run["resolved"]["micro_batch"] == micro


def test_nothing_is_found_about_unknown_keywords(check):
    assert check(built("**more"), "--num-examples", "100")["diagnostics"] == []


@pytest.mark.parametrize(
    ("change", "codes"), [("", ["RUN001"]), ("own['train_micro_batch_size_per_gpu'] = 4\n", []), ("change(own)\n", [])]
)
def test_a_mapping_for_deepspeed(check, change, codes):
    code = "def change(x): x['train_micro_batch_size_per_gpu'] = 4\n"
    code += "own = {'train_micro_batch_size_per_gpu': 8, 'zero_optimization': {'stage': 1}}\n" + change
    found = check(code + built("per_device_train_batch_size=4", "deepspeed=own"))
    assert [each["code"] for each in found["diagnostics"]] == codes


ENGINE = """\
import deepspeed
DS = {
    "train_batch_size": 64,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "zero_optimization": {"stage": 2, "overlap_com": True},
}
engine, *_ = deepspeed.initialize(model=model, config=DS)"""


def test_a_mapping_for_the_engine_is_a_config(check):
    found = check(ENGINE, line="deepspeed --num_gpus 4 train.py")
    assert found["runs"][0]["kinds"] == ["launch", "deepspeed"]
    places = [(each["code"], each["line"], each["column"]) for each in found["diagnostics"]]
    assert places == [("BAT001", 5, 25), ("DSP011", 8, 36), ("KEY102", 8, 39)]  # nobody passes an optimizer


def test_a_subclass_gives_defaults(check):
    own = "@dataclass\nclass Own(TrainingArguments):\n    per_device_train_batch_size: int = 5\n    extra: int = 1\n"
    found = check(own + "args = Own('out', extra=2)")
    assert (found["runs"][0]["resolved"]["micro_batch"], found["diagnostics"]) == (5, [])


ARGUMENTS = """\
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=2)
own = parser.parse_args()
"""


@pytest.mark.parametrize(("line", "micro"), [("python train.py", 2), ("python train.py --size 6", 6), ("python train.py --size $X", None)])
def test_arguments_of_the_program_are_followed(check, line, micro):
    code = "import argparse\n" + ARGUMENTS + built("per_device_train_batch_size=own.size")
    [run] = check(code, "--gpus", "1", line=line)["runs"]
    assert run["resolved"]["micro_batch"] == micro


ADDED = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument({options})
own = parser.parse_args()
args = {name}('out', {keyword}=own.{attribute})"""


@pytest.mark.parametrize("name", ["TrainingArguments", "SFTConfig"])
@each_case(
    ("options", "given", "rate"),
    [
        ("'--lr', type=float", "--lr 2e-6", 2e-6),
        ("'--lr', type=own", "--lr 2e-6", None),
        ("'--lr', '--learning_rate', type=float, default=1e-3", "--learning_rate 2e-6", 2e-6),
        ("'-l', '--lr', type=float, default=1e-3", "-l 2e-6", None),
        ("'--lr', type=float, default='1e-3'", "", 1e-3),
    ],
)
def test_values_have_the_type_of_the_programs_parser(check, explained, name, options, given, rate):
    code = ADDED.format(options=options, name=name, keyword="learning_rate", attribute="lr")
    line = f"python train.py {given}"
    assert check(code, line=line)["diagnostics"] == []
    assert explained("learning rate") == rate


@each_case(
    ("options", "given", "on"),
    [
        ("'--half', action='store_true'", "", False),
        ("'--half', action='store_true'", "--half", True),
        ("'--half', action='store_false'", "--half", False),
        ("'--half', action=argparse.BooleanOptionalAction, default=True", "--no-half", False),
        ("'--half', action='store_const', const=True", "--half", True),
    ],
)
def test_flags_have_the_value_that_they_store(check, explained, options, given, on):
    check(ADDED.format(options=options, name="TrainingArguments", keyword="bf16", attribute="half"), line=f"python train.py {given}")
    assert explained("precision") == ("bf16" if on else "fp32")


OWN_CLASS = """\
from dataclasses import dataclass
from transformers import HfArgumentParser
@dataclass
class Own:
    rows: int = 4
    on: bool = True
parser = HfArgumentParser(Own)
{}
args = TrainingArguments('out', per_device_train_batch_size=own.rows, bf16=own.on)"""


@each_case(
    "idiom",
    [
        "own = parser.parse_args_into_dataclasses()[0]",
        "(own,) = parser.parse_args_into_dataclasses()",
        "own, = parser.parse_args_into_dataclasses()",
        "[own] = parser.parse_args_into_dataclasses()",
        "own, _ = parser.parse_args_into_dataclasses(return_remaining_strings=True)",
        "own, *_ = parser.parse_args_into_dataclasses(return_remaining_strings=True)",
    ],
)
def test_idioms_of_the_parsers_result(check, idiom):
    code = OWN_CLASS.format(idiom)
    assert check(code)["runs"][0]["resolved"]["micro_batch"] == 4
    line = "torchrun --nproc_per_node 4 train.py --rows 6 --no_on"
    assert check(code, line=line)["runs"][0]["resolved"]["micro_batch"] == 6


def test_a_string_without_type_is_a_string(check):
    code = ADDED.format(options="'--lr'", name="SFTConfig", keyword="learning_rate", attribute="lr")
    [found] = check(code, line="python train.py --lr 2e-6")["diagnostics"]
    assert (found["code"], found["file"]) == ("TYP200", "run.sh")


def test_a_class_of_trl_tells_the_trainer(check):
    [run] = check("args = SFTConfig('out', packing=True, learning_rate=1e-5)")["runs"]
    assert run["kinds"] == ["launch", "trl"]
    assert run["resolved"]["micro_batch"] == 8


def test_strings_are_not_cast(check):
    codes = {each["code"] for each in check("args = SFTConfig('out', learning_rate='1e-5')")["diagnostics"]}
    assert "TYP200" in codes


def test_each_of_several_calls_is_a_run(check):
    code = built("per_device_train_batch_size=1") + "\nTrainer(args=args).train()\n" + built("per_device_train_batch_size=2")
    assert [run["resolved"]["micro_batch"] for run in check(code)["runs"]] == [1, 2]


BRANCHES = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--by', default='epoch')
parser.add_argument('--long', action='store_true')
own = parser.parse_args()
if own.by == 'epoch':
    args = TrainingArguments('out', num_train_epochs=3)
elif own.long:
    args = TrainingArguments('out', max_steps=900)
else:
    args = TrainingArguments('out', max_steps=100)
"""


@each_case(
    ("given", "steps"),
    [
        ("", [None]),
        ("--by epoch", [None]),
        ("--by steps", [100]),
        ("--by steps --long", [900]),
        ("--by steps $MORE", [None, 900, 100]),
        ("--by steps --output_dir $OUT", [100]),
        ("--by $BY", [None, 100]),
        ("--by $BY --long", [None, 900]),
    ],
)
def test_the_arguments_of_the_line_decide_between_branches(check, given, steps):
    runs = check(BRANCHES, line=f"torchrun --nproc_per_node 4 train.py {given}")["runs"]
    assert [run["resolved"]["total_steps"] for run in runs] == steps
    numbers = [(run["launch"].get("alternative") or {}).get("number") for run in runs]
    assert numbers == ([*range(1, len(steps) + 1)] if len(steps) > 1 else [None])


@each_case(
    ("condition", "given", "size"),
    [
        ("own.by in ('a', 'b')", "--by b", 1),
        ("own.by not in ('a', 'b')", "--by b", 2),
        ("own.by != 'a'", "--by a", 2),
        ("own.by is None", "", 1),
        ("not own.by", "--by a", 2),
        ("own.by == 'a' and unknown()", "--by b", 2),
        ("own.by == 'a' or unknown()", "--by a", 1),
    ],
)
def test_conditions_that_arguments_decide(check, condition, given, size):
    parsed = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--by', default=None)\nown = parser.parse_args()\n"
    sides = [f"TrainingArguments('out', per_device_train_batch_size={each})" for each in (1, 2)]
    code = f"{parsed}args = {sides[0]} if {condition} else {sides[1]}"
    [run] = check(code, line=f"torchrun --nproc_per_node 4 train.py {given}")["runs"]
    assert run["resolved"]["micro_batch"] == size


def test_branches_of_one_condition_are_alternatives_of_one_run(check, capsys):
    check(BRANCHES, line="torchrun --nproc_per_node 4 train.py --by $BY --long")
    main(["runs", "run.sh"])
    text = capsys.readouterr()
    assert "alternative   1 of 2, built at train.py:9 in a branch of a condition" in text.out
    assert "1 run, 1 launch line" in text.err
    main(["check", "run.sh"])
    assert "2 files checked (1 training run)" in capsys.readouterr().err
    main(["explain", "run.sh"])
    assert "run.sh: alternative 1 of 2 (train.py:9)" in capsys.readouterr().err
    main(["check", "run.sh", "--show-files"])
    assert "(alternative 2 of 2, built at train.py:11)" in capsys.readouterr().out


@each_case(
    ("main_lines", "sizes"),
    [
        ("if known() == 'a':\n    a()\nelse:\n    b()", {2: [1, 2]}),
        ("{'a': a, 'b': b}[known()]()", {2: [1, 2]}),
        ("def main():\n    if known() == 'a':\n        return a()\n    b()\nmain()", {2: [1, 2]}),
        ("def main():\n    if known() == 'a':\n        a()\n    b()\nmain()", {0: [1, 2]}),
        ("if known():\n    a()\nif other():\n    b()", {0: [1, 2]}),
        ("if known():\n    a()\nelse:\n    b()\na()", {0: [1, 2]}),
        ("{'a': a, 'b': b}['b']()", {0: [2]}),
    ],
)
def test_functions_that_branches_call_make_alternatives_of_one_run(check, main_lines, sizes):
    """The sizes of the runs, by how many alternatives there are; without alternatives each is a run."""
    made = "    Trainer(model, args=TrainingArguments('out', per_device_train_batch_size={}))\n"
    functions = [f"def {name}():\n{made.format(size)}" for name, size in (("a", 1), ("b", 2))]
    found: dict[int, list[int]] = {}
    for run in check(f"{''.join(functions)}{main_lines}")["runs"]:
        found.setdefault(run["launch"].get("alternative", {}).get("of", 0), []).append(run["resolved"]["micro_batch"])
    assert found == sizes


SET = "per_device_train_batch_size"
MADE = f"args = TrainingArguments('out', {SET}=4)"
TRUE = "from settings import flag, LARGE\n"


@each_case(
    ("code", "micro_batch"),
    [
        (f"from elsewhere import f\n{MADE}\nargs = f(args)", None),
        (f"from elsewhere import f\n{MADE}\nargs = f()", None),
        (f"{MADE}\nvars(args)['{SET}'] = 8", 8),
        (f"{MADE}\nargs.__dict__['{SET}'] = 8", 8),
        (f"{TRUE}{MADE}\nflag and setattr(args, '{SET}', 8)", None),
        (f"{TRUE}{MADE}\nLARGE or setattr(args, '{SET}', 8)", None),
        (f"{TRUE}{MADE}\nif LARGE:\n    args.{SET} = 8", None),
        (f"from torch.nn import Linear\n{MADE}\nLinear and setattr(args, '{SET}', 8)", 8),
    ],
)
def test_what_code_may_change_is_not_known(check, code, micro_batch):
    assert [run["resolved"]["micro_batch"] for run in check(code)["runs"]] == [micro_batch]


@each_case(
    "others",
    [
        f"other = TrainingArguments('x', {SET}=3)",
        f"Trainer(model, TrainingArguments('x', {SET}=3)).evaluate()",
        "import deepspeed\nreference, *_ = deepspeed.initialize(model=model, config={'train_micro_batch_size_per_gpu': 3})",
    ],
)
def test_arguments_that_train_nothing_are_none_of_the_run_of_a_line(check, others):
    parsed = "from transformers import HfArgumentParser\n(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    line = "torchrun --nproc_per_node 4 train.py --output_dir o --per_device_train_batch_size 8"
    [run] = check(parsed + others, line=line)["runs"]
    assert run["resolved"]["micro_batch"] == 8


@each_case(("words", "micro_batch"), [("", 2), ("sys.argv[1:]", 2), ("['--bs', '8']", 8), ("args=[]", 4)])
def test_words_that_the_program_lists_are_not_those_of_the_line(check, words, micro_batch):
    options = "import argparse, sys\nparser = argparse.ArgumentParser()\nparser.add_argument('--bs', type=int, default=4)\n"
    parsed = f"{options}a = parser.parse_args({words})\n"
    [run] = check(f"{parsed}args = TrainingArguments('out', {SET}=a.bs)", line="torchrun --nproc_per_node 4 train.py --bs 2")["runs"]
    assert run["resolved"]["micro_batch"] == micro_batch


ARGV = [
    ("sys.argv.append('--{}=8')", 8),
    ("sys.argv += ['--{}', '8']", 8),
    ("sys.argv[1:] = ['--output_dir', 'o', '--{}', '8']", 8),
    ("sys.argv = [*sys.argv, '--{}', '8']", 8),
    ("sys.argv.insert(1, '--{}=8')", 2),
    ("if len(sys.argv) < 2:\n    sys.argv.append('--{}=8')", 2),
    ("if torch.rand(1) > 0.5:\n    sys.argv.append('--{}=8')", None),
    ("sys.argv.extend(open('words.txt').read().split())", None),
    ("sys.argv.remove('--seed')\nsys.argv.remove('1')", 2),
]


@each_case(("change", "micro_batch"), ARGV)
def test_what_a_program_makes_of_its_words_is_parsed(check, change, micro_batch):
    line = "torchrun --nproc_per_node 4 train.py --{} 2 --seed 1"
    parser = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--bs', type=int, default=4)\n"
    parser += f"parser.add_argument('--seed')\na, _ = parser.parse_known_args()\nargs = TrainingArguments('out', {SET}=a.bs)"
    classes = "from transformers import HfArgumentParser\n(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    for name, parsed in (("bs", parser), (SET, classes)):
        code = f"import sys, torch\n{change.format(name)}\n{parsed}\nTrainer(model, args).train()"
        [run] = check(code, line=line.format(name))["runs"]
        assert run["resolved"]["global_batch"] == (micro_batch and 4 * micro_batch)


@each_case(
    ("options", "parsed", "micro_batch", "reads"),
    [
        ("'--mode'", "args=rest", 2, True),
        ("'--mode'", "return_remaining_strings=True", 2, True),
        (f"'--{SET}'", "args=rest", None, True),
        ("*names", "args=rest", None, False),
    ],
)
def test_a_parser_that_leaves_words_to_that_of_classes(check, options, parsed, micro_batch, reads):
    first = f"import argparse\nfirst = argparse.ArgumentParser()\nfirst.add_argument({options})\nknown, rest = first.parse_known_args()\n"
    made = f"HfArgumentParser(TrainingArguments).parse_args_into_dataclasses({parsed})"
    code = f"from transformers import HfArgumentParser\nargs, *_ = {made}\n"
    [run] = check(first + code, line=f"torchrun --nproc_per_node 4 train.py --mode a --output_dir o --{SET} 2")["runs"]
    assert (run["resolved"]["micro_batch"], run["read"]) == (micro_batch, reads)


def test_arguments_of_a_trainer_that_only_evaluates_are_no_run(check):
    [run] = check(f"Trainer(model, TrainingArguments('x', {SET}=3)).evaluate()\n{MADE}")["runs"]
    assert run["resolved"]["micro_batch"] == 4


def test_a_call_in_a_branch_gives_no_error(check):
    found = check("if x:\n    args = TrainingArguments('out', learning_rate='1e-4')")["diagnostics"]
    assert [each["severity"] for each in found] == ["warning"]


FAILS = "TrainingArguments('out', learning_rate='1e-4')"


@each_case(
    ("code", "severity"),
    [
        (f"def f():\n    return {FAILS}\nargs = f()", "error"),
        (f"def f():\n    return {FAILS}\ntry:\n    args = f()\nexcept Exception as e:\n    print(e)", "warning"),
        (f"def f():\n    return {FAILS}\ndef main():\n    Trainer(model, f())\ntry:\n    main()\nexcept Exception:\n    pass", "warning"),
        (f"def f():\n    return {FAILS}\ntry:\n    args = f()\nexcept Exception as e:\n    raise", "error"),
        (f"def f():\n    return {FAILS}\ntry:\n    args = f()\nexcept Exception as e:\n    sys.exit(1)", "error"),
        (f"def f():\n    return {FAILS}\ntry:\n    args = f()\nexcept KeyboardInterrupt:\n    pass", "error"),
    ],
)
def test_what_the_program_catches_is_no_error(check, code, severity):
    assert [each["severity"] for each in check(code)["diagnostics"]] == [severity]


def test_many_imports_of_other_packages_hide_no_program(check):
    imports = "".join(f"import library{number}\nlibrary{number}.use()\n" for number in range(40))
    assert check(imports + built("per_device_train_batch_size=4"))["runs"][0]["resolved"]["micro_batch"] == 4


@pytest.fixture
def fixed(tmp_path, monkeypatch):
    """The text of a program after `fix`."""
    monkeypatch.chdir(tmp_path)

    def fix(code, *options):
        (tmp_path / "train.py").write_text(IMPORTS + code + TRAINED)
        main(["fix", "train.py", *options])
        return (tmp_path / "train.py").read_text().removeprefix(IMPORTS).removesuffix(TRAINED)

    return fix


RENAMED = ENGINE.replace("overlap_com", "overlap_comm")
TARGET = ("--gpus", "4", "--global-batch", "64", "--from-gpus", "4")


@pytest.mark.parametrize(
    ("before", "after", "options"),
    [
        (built("evaluation_strategy='no'"), built("eval_strategy='no'"), ("--unsafe-fixes",)),
        (built("learning_rate='2e-5'", "bf16=True"), built("learning_rate=2e-5", "bf16=True"), ()),
        (ENGINE, RENAMED, ("--unsafe-fixes",)),
        (ENGINE, ENGINE.replace("64", "32"), ("--gpus", "4", "--global-batch", "32")),
        (built("per_device_train_batch_size=4", "gradient_accumulation_steps=2"),) * 2 + (("--gpus", "4", "--global-batch", "7"),),
        (built("per_device_train_batch_size=4"), built("per_device_train_batch_size=4", "gradient_accumulation_steps=4"), TARGET),
        ("ACC = 2\n" + built("gradient_accumulation_steps=ACC"), "ACC = 2\n" + built("gradient_accumulation_steps=ACC"), ("--gpus", "4")),
        ("ACC = 1\n" + built("gradient_accumulation_steps=ACC"), "ACC = 2\n" + built("gradient_accumulation_steps=ACC"), TARGET),
    ],
)
def test_fix_edits_the_keyword(fixed, before, after, options):
    assert fixed(before, *options) == after


LOOP = """for batch in batches:
    with accelerator.accumulate(model):
        accelerator.backward(model(batch))
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [("gradient_accumulation_steps=4", 4), ("gradient_accumulation_steps=x", None), ("**x", None), ("'cpu'", None), ("", 1)],
)
def test_the_accelerator_of_a_program_gives_its_accumulation(check, arguments, steps):
    found = check(f"from accelerate import Accelerator\naccelerator = Accelerator({arguments})\n{LOOP}")
    assert (found["runs"][0]["resolved"]["accumulation"], found["diagnostics"]) == (steps, [])


def test_an_accelerator_without_a_training_loop_accumulates_nothing_that_is_known(check):
    found = check("from accelerate import Accelerator\naccelerator = Accelerator(gradient_accumulation_steps=4)")
    assert found["runs"][0]["resolved"]["accumulation"] is None


def test_an_abbreviated_argument_reaches_the_accelerator(check):
    code = "import argparse\nfrom accelerate import Accelerator\nparser = argparse.ArgumentParser()\n"
    code += "parser.add_argument('--accumulation_steps', type=int, default=1)\nown = parser.parse_args()\n"
    code += f"accelerator = Accelerator(gradient_accumulation_steps=own.accumulation_steps)\n{LOOP}"
    found = check(code, line="torchrun --nproc_per_node 4 train.py --accumulation_step=8")
    assert found["runs"][0]["resolved"]["accumulation"] == 8


@each_case(
    ("call", "code"),
    [
        ("TrainingArguments('out', num_training_epochs=x())", "KEY200"),
        ("TrainingArguments('out', evaluation_strategy=x())", "KEY202"),
        ("SFTConfig('out', max_seq_length=x())", "TRL011"),
        ("SFTConfig('out', max_lenth=x())", "TRL010"),
        ("SFTConfig('out', max_length=x())", None),
    ],
)
def test_an_unknown_value_hides_no_unknown_key(check, call, code):
    found = check(f"args = {call}")["diagnostics"]
    assert [(each["code"], each["severity"]) for each in found] == ([(code, "error")] if code else [])
    assert "<?>" not in json.dumps(found)


def test_an_unknown_number_is_not_its_default(check):
    code = "from trl import GRPOConfig\nargs = GRPOConfig('out', per_device_train_batch_size=4, num_generations=x['n'])"
    assert check(code, line="python train.py")["diagnostics"] == []


RUNNER = """
class Base:
    def build(self):
        return TrainingArguments('base', per_device_train_batch_size=1)

class Runner(Base):
    rows = 2

    def __init__(self, config):
        self.steps = 4
        self.config = config
        {0}

    def build(self):
        {1}

    def unused(self):
        return TrainingArguments('unused', per_device_train_batch_size=64)

args = {2}
"""
KEYWORDS = "TrainingArguments('out', per_device_train_batch_size=self.rows, gradient_accumulation_steps=self.steps)"


@each_case(
    ("code", "batches"),
    [
        (RUNNER.format(f"self.args = {KEYWORDS}", "pass", "Runner({}).args"), [32]),
        (RUNNER.format("pass", f"return {KEYWORDS}", "Runner({}).build()"), [32]),
        (RUNNER.format("pass", f"def inner():\n            return {KEYWORDS}\n        return inner()", "Runner({}).build()"), [32]),
        (RUNNER.format("pass", f"super().build(); return {KEYWORDS}", "Runner({}).build()"), [32]),  # no trainer gets those of the base
        (RUNNER.format("if config: self.steps = 8", f"return {KEYWORDS}", "Runner({}).build()"), [32]),
        (RUNNER.format("if config: self.steps = 8", f"return {KEYWORDS}", "Runner(x()).build()"), [None]),
        (RUNNER.format("pass", "return self.made()", "Runner({}).build()"), []),
        (RUNNER.format("pass", f"return {KEYWORDS}", "Runner"), []),
    ],
)
def test_arguments_that_a_class_builds(check, code, batches):
    runs = check(code)["runs"]
    assert [run["resolved"]["global_batch"] for run in runs if len(run["files"]) > 1] == batches


@pytest.mark.parametrize("keyword", ["gradient_checkpointing", "learning_rate", "optim", "bf16", "warmup_steps", "max_steps"])
def test_an_unknown_value_is_null_in_reports(check, capsys, keyword):
    check(built(f"{keyword}=x()"))
    for command in ("explain", "check", "runs"):
        main([command, "run.sh", "--gpus", "2", "--format", "json"])
        assert "<?>" not in capsys.readouterr().out


@each_case(
    ("code", "found"),
    [
        ("args.my_own = 3", []),
        ("args.evaluation_strategy = 'steps'", [("KEY202", "warning")]),  # no TypeError, and no effect
        ("args.save_strategy = 'bogus'", [("HFT003", "warning")]),  # checked in __init__ only
        ("args.save_strategy = 'no'", []),
    ],
)
def test_an_attribute_that_is_set_later_is_no_keyword(check, code, found):
    said = check(f"args = TrainingArguments('out')\n{code}")["diagnostics"]
    assert [(each["code"], each["severity"]) for each in said] == found


@pytest.mark.parametrize("value", ["None", "options.deepspeed", "False or None"])
def test_no_deepspeed_file_is_none_that_is_missing(check, value):
    parser = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--deepspeed', default=None)\n"
    [run] = (found := check(f"{parser}options = parser.parse_args()\n{built(f'deepspeed={value}')}", line="python train.py"))["runs"]
    assert (run["verdict"], found["diagnostics"]) == ("accept", [])
    [missing] = check(built("deepspeed='ds.json'"), line="python train.py")["diagnostics"]
    assert (missing["code"], missing["severity"]) == ("RUN010", "error")


def test_a_page_does_not_tell_with_which_files_its_line_is_started(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(IMPORTS + built("deepspeed='ds.json'") + TRAINED)
    (tmp_path / "README.md").write_text("```bash\npython train.py\n```\n")
    main(["check", "train.py", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert [(each["code"], each["severity"]) for each in found["diagnostics"]] == [("RUN010", "warning")]
    main(["explain", "train.py"])
    assert capsys.readouterr().out.startswith("No error in what is known; not known: the folder of the line")


def test_a_word_of_the_program_is_no_misspelt_key(check):
    code = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--learning_rat')\nparser.parse_args()\n"
    [run] = check(code + built("per_device_train_batch_size=4"), "--args", "--learning_rat 1", "--gpus", "2", line="")["runs"]
    assert run["resolved"]["global_batch"] == 8


def test_arguments_that_nothing_keeps_are_no_run(check):
    [run] = check("_ = TrainingArguments('.')\n" + built("per_device_train_batch_size=4"))["runs"]
    assert run["resolved"]["global_batch"] == 16


def test_a_function_that_takes_most_of_the_evaluation_is_left_out(check):
    code = """
import random
from transformers import TrainingArguments, Trainer

def sample(chance):
    while True:
        numbers = [chance.randint(1, 9) for _ in range(4)]
        if sum(numbers) == 10:
            return numbers

def load(count):
    return [sample(random.Random(seed)) for seed in range(count)]

def main():
    train, test = load(4000), load(4000)
    args = TrainingArguments('out', per_device_train_batch_size=4, gradient_accumulation_steps=2)
    Trainer(model=None, args=args, train_dataset=train, eval_dataset=test).train()

main()
"""
    [run] = check(code, line="torchrun --nproc_per_node 2 train.py")["runs"]
    assert (run["read"], run["resolved"]["global_batch"]) == (True, 16)


def test_a_class_that_a_function_returns_is_that_of_the_run_if_the_function_is_known(check):
    code = """
def classes():
    from transformers import Trainer, TrainingArguments
    return Trainer, TrainingArguments

def main():
    Trainer, TrainingArguments = classes()
    Trainer(model=None, args=TrainingArguments('out', per_device_train_batch_size=4)).train()

main()
"""
    [run] = check(code, line="torchrun --nproc_per_node 2 train.py")["runs"]
    assert (run["resolved"]["global_batch"], run["not_read"]) == (8, [])
    [run] = check(code.replace("= classes()", "= load(classes)"), line="torchrun --nproc_per_node 2 train.py")["runs"]
    assert [each["why"] for each in run["not_read"]] == ["`TrainingArguments` is not found in what it imports"]


AGAIN = "args.num_train_epochs = 7\nother = Trainer(model, args)\nother.train()\n"


@pytest.mark.parametrize(
    ("behind", "epochs"),
    [
        ("args.num_train_epochs = 7\n", 2),
        (AGAIN, None),
        ("for each in (2, 2):\n    other = Trainer(model, args)\n    other.train()\n", 2),
    ],
)
def test_what_is_set_behind_a_training_counts_for_the_next_one_alone(check, explained, behind, epochs):
    check(
        "args = TrainingArguments('out')\nargs.num_train_epochs = 2\ntrainer = Trainer(model, args=args)\ntrainer.train()\n"
        + behind
        + "exit()"
    )
    assert explained("epochs") == epochs


@pytest.mark.parametrize(("line", "options"), [("python train.py", ()), ("", ()), ("", ("--gpus", "8"))])
def test_a_program_may_choose_its_gpus_itself(check, line, options):
    code = f"import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1,3'\n{built('per_device_train_batch_size=4')}"
    assert check(code, *options, line=line)["runs"][0]["resolved"]["global_batch"] == 8


LOADER = "class Own(Trainer):\n    def get_train_dataloader(self):\n        return {}\n"


@pytest.mark.parametrize(
    ("made", "batch"),
    [
        ("DataLoader(self.train_dataset, batch_size=32)", None),
        ("DataLoader(self.train_dataset, batch_size=self.args.train_batch_size)", 16),
        ("wrapped(super().get_train_dataloader())", 16),
    ],
)
def test_a_trainer_with_batches_of_its_own_does_not_take_those_of_the_arguments(check, made, batch):
    code = LOADER.format(made) + built("per_device_train_batch_size=4") + "\nOwn(model, args).train()\n#"
    assert check(code)["runs"][0]["resolved"]["global_batch"] == batch


def test_another_number_of_processes_makes_other_arguments(check, capsys):
    check("import os\nworld = int(os.environ['WORLD_SIZE'])\n" + built("gradient_accumulation_steps=32 // world"))
    main(["explain", "run.sh", "--gpus", "8", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["resolved"]["global_batch"], found["what_if"]["resolved"]["global_batch"]) == (256, 256)


@pytest.mark.parametrize(
    ("line", "size", "accumulation"),
    [
        ("torchrun --nnodes 2 --nproc_per_node 4 train.py", "torch.cuda.device_count()", 16),
        ("torchrun --nnodes 2 --nproc_per_node 4 train.py", "int(os.environ['LOCAL_WORLD_SIZE'])", 16),
        ("torchrun --nnodes 2 --nproc_per_node 4 train.py", "int(os.environ['WORLD_SIZE'])", 8),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 2 train.py", "torch.cuda.device_count()", 16),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 deepspeed --num_gpus 2 train.py", "torch.cuda.device_count()", 32),
        ("CUDA_VISIBLE_DEVICES=$GPUS torchrun --nproc_per_node 2 train.py", "torch.cuda.device_count()", None),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py", "torch.cuda.device_count()", 32),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py", "int(os.environ.get('WORLD_SIZE', 1))", 64),
        ("torchrun --nproc_per_node 2 train.py", "visible('0,1,2,3')", 16),
        ("torchrun --nproc_per_node 2 train.py", "PartialState().num_processes", 32),
        ("torchrun --nproc_per_node 2 train.py", "args.world_size", 32),
        ("torchrun --nproc_per_node 2 train.py", "args.n_gpu", 64),
        ("torchrun --nproc_per_node 2 train.py", "args.train_batch_size", 16),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py", "args.n_gpu", None),
    ],
)
def test_processes_and_gpus_that_a_program_counts(check, line, size, accumulation):
    counted = "def visible(gpus):\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpus\n    return torch.cuda.device_count()\n"
    code = "import os, torch\nfrom accelerate import PartialState\n" + counted + built("per_device_train_batch_size=4")
    code += f"\nargs.gradient_accumulation_steps = 64 // ({size})\nTrainer(args=args).train()\n#"
    assert check(code, line=line)["runs"][0]["resolved"]["accumulation"] == accumulation
