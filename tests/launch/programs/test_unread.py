"""Programs of which not everything was read that may set a value: such a value is unknown, and so is whether the run starts."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

PARSER = "import argparse\np = argparse.ArgumentParser()\n"
SIZES = "p.add_argument('--per_device_train_batch_size', type=int, default=4)\np.add_argument('--num_train_epochs', type=int, default=1)\n"
TRAINER = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
TRAINED = "{TRAINED}"
LINE = "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 2 --num_train_epochs 1 --save_total_limit 2\n"


@pytest.fixture
def asked(tmp_path, monkeypatch, capsys):
    """What a command says of a launch line and the other files of a project, as JSON; and its exit status."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def ask(files, line=LINE, command="explain", *options):
        for name, text in {"run.sh": line, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        status = main([command, "run.sh", *options, "--format", "json"])
        return json.loads(capsys.readouterr().out or "{}"), status

    return ask


def labels(found):
    return {each["name"]: each["value"] for each in found["settings"]}


@pytest.mark.parametrize("made", ["", "from accelerate import Accelerator\nAccelerator()\n", "import click\n"])
def test_names_of_the_trainer_make_no_trainer_of_a_program_with_its_own_parser(asked, made):
    found, _ = asked({"train.py": f"{PARSER}{SIZES}p.add_argument('--save_total_limit')\n{made}args = p.parse_args()\n"})
    assert "schedule" not in labels(found)
    assert "optimizer" not in labels(found)
    assert found["resolved"]["global_batch"] is None
    assert found["read"] is ("Accelerator" in made)
    assert found["verdict"] == ("accept" if found["read"] else None)


@pytest.mark.parametrize(
    ("word", "batch"), [("gradient_accumulation_step", 16), ("gradient_accumulation", 4), ("gradient_acumulation_steps", 4)]
)
def test_a_name_whose_end_is_left_off_abbreviates_an_argument_of_the_trainer(asked, word, batch):
    line = f"{LINE.strip()} --output_dir o --learning_rate 1e-5 --do_train --bf16 --{word} 4\n"
    found, _ = asked({}, line)
    assert found["resolved"]["global_batch"] == batch
    checked, _ = asked({}, line, "check")
    typo = {"gradient_acumulation_steps"} & {word}
    assert {each["key"] for each in checked["diagnostics"] if each["code"] == "KEY200"} == {f"--{each}" for each in typo}


def test_an_argument_that_the_accelerator_does_not_get_is_no_batch_and_is_not_edited(asked):
    loop = (
        "from accelerate import Accelerator\nfrom torch.utils.data import DataLoader\nacc = Accelerator()\n"
        "loader = acc.prepare(DataLoader(data, batch_size=args.per_device_train_batch_size))\n"
        "for batch in loader:\n    acc.backward(model(batch))\n    optimizer.step()\n"
    )
    program = f"{PARSER}{SIZES}p.add_argument('--gradient_accumulation_steps', type=int, default=1)\nargs = p.parse_args()\n{loop}"
    line = "accelerate launch --num_processes 8 train.py --per_device_train_batch_size 8 --gradient_accumulation_steps 2\n"
    found, _ = asked({"train.py": program}, line)
    assert found["resolved"]["global_batch"] == 64
    assert asked({"train.py": program}, line, "fix", "--gpus", "8", "--global-batch", "256")[1] == 2


def test_a_class_with_the_name_of_the_one_that_it_extends_has_its_own_fields(asked):
    own = f"{TRAINER}from dataclasses import dataclass\n@dataclass\nclass TrainingArguments(TrainingArguments):\n    bits: str = 'a'\n"
    program = f"{own}args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    found, status = asked({"train.py": program}, "python train.py --output_dir o --bits b --per_device_train_batch_size 4\n", "check")
    assert (found["diagnostics"], status) == ([], 0)
    assert found["runs"][0]["verdict"] == "accept"


LOOP = "for batch in acc.prepare(DataLoader(data, batch_size=4)):\n    acc.backward(model(batch))\n    optimizer.step()\n"


@pytest.mark.parametrize(("mode", "reasons"), [(" --mode a", []), ("", ["the program ends before it trains"])])
def test_a_program_that_raises_before_it_trains_does_not_start(asked, mode, reasons):
    made = "from accelerate import Accelerator\nfrom torch.utils.data import DataLoader\nacc = Accelerator(mixed_precision='bf16')\n"
    program = f"{PARSER}p.add_argument('--mode')\nargs = p.parse_args()\n{made}assert args.mode in ('a', 'b')\n{LOOP}"
    found, _ = asked({"train.py": program}, f"accelerate launch --num_processes 2 train.py{mode}\n")
    assert [each["why"] for each in found["not_read"]] == reasons
    assert found["verdict"] == (None if reasons else "accept")


def test_a_program_that_imports_what_cannot_be_parsed_is_not_read(asked):
    line = f"{LINE.strip()} --output_dir o --learning_rate 1e-5 --do_train --bf16\n"
    found, _ = asked({"train.py": "from parts import train\ntrain()\n", "parts.py": "def train():\n    f(a b)\n"}, line)
    assert [each["what"] for each in found["not_read"]][:1] == ["`parts.py`"]
    assert found["verdict"] is None


NOT_FOUND = f"{TRAINER}from elsewhere import OwnArguments\nargs, = HfArgumentParser(OwnArguments).parse_args_into_dataclasses()\n{TRAINED}"
COMPUTED = f"{TRAINER}args, = HfArgumentParser(classes()).parse_args_into_dataclasses()\n{TRAINED}"
SEVERAL = (
    f"{TRAINER}HfArgumentParser(TrainingArguments)\nargs, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n{TRAINED}"
)
OWN_PARSER = (
    f"{TRAINER}import sys, tomllib\nclass Own(HfArgumentParser):\n    def parse(self):\n"
    f"        return self.parse_dict(tomllib.load(open(sys.argv[1], 'rb')))\nargs, = Own(TrainingArguments).parse()\n{TRAINED}"
)
CHOSEN = f"{TRAINER}parser = HfArgumentParser(TrainingArguments)\nargs, = parser.parse_dict(load(choose()))\n{TRAINED}"


@pytest.mark.parametrize("program", [NOT_FOUND, COMPUTED, SEVERAL, OWN_PARSER, CHOSEN], ids=["class", "classes", "several", "own", "dict"])
def test_no_default_is_stated_in_the_place_of_what_a_parser_may_set(asked, program):
    found, _ = asked({"train.py": program})
    assert (found["verdict"], found["read"]) == (None, False)
    assert found["not_read"][0]["what"] == "the arguments of `train.py`"
    assert found["not_read"][0]["file"] == "train.py"
    assert found["resolved"]["global_batch"] is None
    assert not any(each["origin"] == "default" and each["value"] is not None for each in found["settings"])
    assert asked({"train.py": program}, LINE, "fix", "--gpus", "8", "--global-batch", "256")[1] == 2
    assert not asked({"train.py": program}, LINE, "check")[0]["diagnostics"]


@pytest.mark.parametrize(
    ("setup", "module", "script"),
    [
        ("pkg/setup.py", "pkg/pkg/own.py", "scripts/train.py"),
        ("pkg/pyproject.toml", "pkg/pkg/own.py", "scripts/train.py"),
        ("code/of_it/setup.py", "code/of_it/src/pkg/own.py", "code/of_it/src/pkg/train.py"),
    ],
)
def test_a_package_of_the_project_with_a_setup_file_of_its_own_is_found(asked, setup, module, script):
    own = (
        "from dataclasses import dataclass\nimport transformers\n@dataclass\nclass OwnArguments(transformers.TrainingArguments):\n"
        "    gradient_accumulation_steps: int = 4\n"
    )
    program = NOT_FOUND.replace("from elsewhere", "from pkg.own")
    found, _ = asked({script: program, setup: "", module: own}, LINE.replace("train.py", script))
    assert (found["verdict"], found["read"], found["resolved"]["global_batch"]) == ("accept", True, 2 * 4 * 2)


def test_what_is_written_beside_an_unknown_mapping_is_known_and_nothing_else(asked):
    written = "output_dir='o', per_device_train_batch_size=2, gradient_accumulation_steps=3, **load()"
    found, _ = asked({"train.py": f"{TRAINER}args = TrainingArguments({written})\n{TRAINED}"}, "torchrun --nproc_per_node 2 train.py\n")
    assert (found["verdict"], found["read"]) == (None, False)
    assert found["not_read"] == [
        {"what": "the arguments of `TrainingArguments`", "file": "train.py", "line": 2, "why": "`load()` is not known"}
    ]
    assert found["resolved"]["global_batch"] == 12
    assert labels(found)["learning rate"] is None


def test_a_program_that_is_not_in_the_project_is_assumed_to_take_the_arguments(asked, capsys):
    found, _ = asked({})
    assert (found["verdict"], found["read"], found["resolved"]["micro_batch"]) == (None, False, 2)
    assert found["assumed"][0] == "`train.py` takes the arguments of the Trainer"
    [run] = asked({}, LINE, "check")[0]["runs"]
    assert (run["read"], run["verdict"], run["assumed"]) == (False, None, ["`train.py` takes the arguments of the Trainer"])
    main(["explain", "run.sh"])
    assert capsys.readouterr().out.startswith("No errors found if `train.py` takes the arguments of the Trainer")


def test_a_config_of_a_program_that_is_not_in_the_project_may_set_what_the_line_does_not(asked):
    found, _ = asked({}, f"{LINE.strip()} --output_dir o --learning_rate 1e-5 --do_train --bf16 --config $HERE/sft.yaml\n")
    assert [labels(found)[name] for name in ("micro batch", "accumulation", "schedule", "epochs")] == [2, None, None, 1]
    assert "the config of `train.py`" in [each["what"] for each in found["not_read"]]


def test_a_program_at_another_path_is_named(asked):
    why = asked({"a/b/c/train.py": "print()\n"}, LINE.replace("train.py", "/opt/train.py"))[0]["not_read"][0]["why"]
    assert why == "it is not at this path; there is a/b/c/train.py"


def test_a_program_of_a_path_that_is_not_known_reads_no_file_as_a_framework_does(asked):
    config = "stage: sft\nfinetuning_type: lora\ndo_train: true\noutput_dir: out\ntemplate: qwen\nmodel_name_or_path: m\ndataset: d\n"
    found, _ = asked({"sft.yaml": config}, "python $TOP/train.py sft.yaml\n")
    assert (found["verdict"], found["read"]) == (None, False)


def test_a_program_that_does_not_parse_is_said_to(asked, capsys):
    found, _ = asked({"train.py": "print(\n"}, LINE)
    [reason] = found["not_read"]
    assert reason["why"].startswith("it does not parse with Python 3.")
    for command in ("check", "explain", "plan"):
        assert main([command, "train.py", *(["--gpus", "8"] if command == "plan" else [])]) == 2, command
        assert "train.py: does not parse with Python 3." in capsys.readouterr().err


OWN_LOOP = """from accelerate import Accelerator
from dataclasses import dataclass
from torch.utils.data import DataLoader
from transformers import HfArgumentParser, TrainingArguments

@dataclass
class Arguments(TrainingArguments):
    batch_size: int = 4

class Trainer:
    def __init__(self, args, accelerator):
        self.args, self.accelerator = args, accelerator

    def train(self, loader):
        for epoch in range(2):
            for batch in loader:
                self.accelerator.backward(self.model(batch))
                optimizer.step()

(args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()
accelerator = Accelerator()
Trainer(args, accelerator).train(accelerator.prepare({}))
"""


def test_parsed_arguments_without_a_trainer_of_the_framework_are_those_of_the_loop(asked):
    line = "accelerate launch --num_processes 4 train.py --output_dir out --batch_size 2\n"
    found, _ = asked({"train.py": OWN_LOOP.format("DataLoader(data, batch_size=args.batch_size)")}, line)
    assert (found["resolved"]["global_batch"], labels(found)["epochs"]) == (8, 2)
    assert "schedule" not in labels(found)
    assert asked({"train.py": OWN_LOOP.format("load()")}, line)[0]["resolved"]["global_batch"] is None


def test_the_summary_says_what_was_not_read(asked, capsys):
    asked({"train.py": NOT_FOUND})
    main(["check", "run.sh"])
    assert "not read: the arguments of `train.py` (`OwnArguments` is not found in the project)" in capsys.readouterr().err


def test_a_program_of_hydra_says_that_it_fills_no_class(asked):
    composed = "import hydra\nfrom omegaconf import OmegaConf\n\n@hydra.main(config_path=FOLDER, config_name='sft')\ndef main(config):\n"
    program = f"FOLDER = outside()\n{composed}    values = OmegaConf.to_container(config)\n    OmegaConf.load(values['more'])\n\nmain()\n"
    found, _ = asked({"train.py": program}, "torchrun --nproc_per_node 2 train.py data.train_batch_size=32 optim.lr=2e-5\n")
    assert [(reason["what"], reason["why"]) for reason in found["not_read"]] == [
        ("the arguments of `train.py`", "`hydra.main` fills none of the classes that are modelled")
    ]


@pytest.mark.parametrize(
    "imports",
    [
        "from transformers import TrainingArguments\nfrom own import TrainingArguments\n",
        "from transformers import TrainingArguments\nfrom own import *\n",
        "from own import TrainingArguments\n",
    ],
)
def test_a_class_that_is_imported_twice_is_the_last_one(asked, imports):
    own = (
        "from dataclasses import dataclass\nimport transformers\n@dataclass\nclass TrainingArguments(transformers.TrainingArguments):\n"
        "    gradient_accumulation_steps: int = 4\n    alpha: float = 1.0\n"
    )
    parsed = f"from transformers import HfArgumentParser, Trainer\n{imports}"
    parsed += "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    found, _ = asked({"train.py": parsed + TRAINED, "own.py": own}, LINE.replace("\n", " --alpha 2\n"))
    assert (found["verdict"], found["resolved"]["accumulation"]) == ("accept", 4)
    built = f"from transformers import Trainer\n{imports}args = TrainingArguments('o', alpha=2.0)\n{TRAINED}"
    assert asked({"train.py": built, "own.py": own}, "torchrun --nproc_per_node 2 train.py\n")[0]["verdict"] == "accept"


def test_a_keyword_that_a_call_repeats_is_a_syntax_error(asked):
    program = f"{TRAINER}args = TrainingArguments('o', max_steps=1, max_steps=2)\n{TRAINED}"
    [found] = asked({"train.py": program}, "python train.py\n", "check")[0]["diagnostics"]
    assert (found["code"], found["severity"], found["exception"]) == (
        "SRC002",
        "error",
        "SyntaxError: keyword argument repeated: max_steps",
    )


LOADED = (
    "import argparse, json, deepspeed\np = argparse.ArgumentParser()\n"
    "p.add_argument('--rows', type=int)\np.add_argument('--local_rank')\n{}"
    "c = json.load(open({}))\nc['train_micro_batch_size_per_gpu'] = a.rows\nc['scheduler']['params']['total_num_steps'] = 9\n"
    "deepspeed.initialize(model=m, model_parameters=m.parameters(), config=c)\n"
)
SCHEDULER = {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto", "warmup_max_lr": 1.0}}
FILE = {"scheduler": SCHEDULER, "train_micro_batch_size_per_gpu": 1}


@pytest.mark.parametrize(
    ("adds", "path"),
    [
        ("p.add_argument('--file')\na = p.parse_args()\n", "a.file"),
        ("p.add_argument('--file')\na = vars(p.parse_args())\na = argparse.Namespace(**a)\n", "f'{a.file}'"),
        ("p.add_argument('--file')\np = deepspeed.add_config_arguments(p)\na = p.parse_args()\n", "a.file"),
    ],
)
def test_a_file_that_a_program_loads_by_an_argument_and_changes(asked, adds, path):
    files = {"train.py": LOADED.format(adds, path), "ds.json": json.dumps(FILE)}
    line = "deepspeed --num_gpus 4 train.py --rows 2 --file ds.json\n"
    found, _ = asked(files, line)
    assert found["resolved"]["global_batch"] == 8
    assert not any(each["severity"] == "error" for each in asked(files, line, "check")[0]["diagnostics"])


def test_a_file_whose_use_is_not_known_is_not_the_config_of_the_engine(asked):
    files = {"train.py": LOADED.format("p.add_argument('--file')\na = p.parse_args()\n", "choose(a)"), "ds.json": json.dumps(FILE)}
    line = "deepspeed --num_gpus 4 train.py --rows 2 --file ds.json\n"
    found, _ = asked(files, line)
    assert (found["verdict"], found["resolved"]["global_batch"]) == (None, None)
    assert found["not_read"][0]["what"] == "the arguments of `deepspeed.initialize`"
    assert asked(files, line, "fix", "--gpus", "8", "--global-batch", "256")[1] == 2


def test_the_engine_of_a_model_that_is_not_trained_is_not_the_run(asked):
    program = (
        "import deepspeed\nfrom accelerate import Accelerator\nacc = Accelerator(gradient_accumulation_steps=2)\n"
        "reference, *_ = deepspeed.initialize(model=reference, config={'train_micro_batch_size_per_gpu': 1})\nreference.eval()\n"
    )
    found, _ = asked({"train.py": program}, "accelerate launch --num_processes 2 train.py\n")
    assert (found["resolved"]["micro_batch"], found["resolved"]["global_batch"]) == (None, None)
    assert asked({"train.py": program}, "accelerate launch --num_processes 2 train.py\n", "fix", "--global-batch", "256")[1] == 2


def test_two_parsers_of_one_name_are_each_read_where_the_name_means_them(tmp_path, monkeypatch, capsys):
    """The first, strict parser takes the line, the second one the file that it names."""
    program = (
        f"{PARSER}p.add_argument('--file')\nargs = p.parse_args()\n{TRAINER}"
        f"p = HfArgumentParser(TrainingArguments)\n(args,) = p.parse_json_file(json_file=args.file)\n{TRAINED}"
    )
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "train.json").write_text('{"output_dir": "out", "per_device_train_batch_size": 2}')
    (tmp_path / "run.sh").write_text("deepspeed --num_gpus 2 train.py --file train.json\n")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "run.sh", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in found["diagnostics"] if each["severity"] == "error"] == ["LCH003"]


def test_three_names_of_llamafactory_are_its_line_although_its_program_is_elsewhere(tmp_path, monkeypatch, capsys):
    line = "--stage sft --finetuning_type full --template yuan --dataset a --output_dir out --sft_packings --per_device_train_batch_size 2"
    (tmp_path / "run.sh").write_text(f"deepspeed --num_gpus 1 src/train_bash.py {line}\n")
    monkeypatch.chdir(tmp_path)
    main(["check", "run.sh", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert ("LLF001", "warning", "--sft_packings") in [(each["code"], each["severity"], each["key"]) for each in found["diagnostics"]]
    assert found["runs"][0]["assumed"] == ["`train_bash.py` takes the arguments of LLaMA-Factory"]
    assert found["runs"][0]["verdict"] is None


@pytest.mark.parametrize(("options", "note"), [("return_remaining_strings=True", "it has no effect"), ("", None)])
def test_a_removed_argument_that_the_program_keeps_as_a_further_word_is_ignored(asked, options, note):
    code = f"{TRAINER}args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses({options})[0]\nTrainer(args=args).train()\n"
    [found] = asked({"train.py": code}, f"{LINE.strip()} --evaluation_strategy no\n", "check")[0]["diagnostics"]
    assert (found["note"] or "").endswith(note or "")
    assert (found["severity"] == "error") is (note is None)


def test_a_program_that_ends_before_its_training_is_not_said_to_start(asked):
    check = "if args.per_device_train_batch_size > 8:\n    raise ValueError('too large')\n"
    made = "TrainingArguments('out', per_device_train_batch_size=args.per_device_train_batch_size)"
    program = f"{TRAINER}{PARSER}{SIZES}p.add_argument('--save_total_limit')\nargs = p.parse_args()\n{check}Trainer(args={made}).train()\n"
    assert asked({"train.py": program})[0]["verdict"] == "accept"
    found, _ = asked({"train.py": program}, LINE.replace("batch_size 2", "batch_size 16"))
    assert found["verdict"] is None
    assert [each["why"] for each in found["not_read"]] == ["the program ends before it builds them"]


def test_the_code_that_builds_the_arguments_and_was_not_followed_is_named(asked):
    own = "from trl import SFTConfig\nclass Own:\n    def build(self):\n        return SFTConfig('out')\n"
    own += "def run(owner):\n    owner.build()\n"
    files = {"train.py": "import own\nown.run(chosen())\n", "own.py": own}
    found, _ = asked(files, "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 2\n")
    assert [(each["file"], each["why"]) for each in found["not_read"]] == [
        ("own.py", "the code that leads to `SFTConfig` in own.py was not followed")
    ]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("args = HfArgumentParser(TrainingArguments).parse_dict(load())[0]\nTrainer(args=args).train()\n", "the program makes what its"),
        ("acc = Accelerator() if given() else Accelerator(log_with='wandb')\nacc.backward(1)\n", "it makes several `Accelerator`s"),
        ("if given():\n    acc = Accelerator()\nacc.backward(1)\n", "whether it makes its `Accelerator` is not known"),
    ],
)
def test_why_the_training_is_not_read(asked, code, why):
    program = f"{PARSER}{TRAINER}from accelerate import Accelerator\nargs = p.parse_args()\n{code}"
    found, _ = asked({"train.py": program}, "torchrun --nproc_per_node 2 train.py\n")
    assert [each["why"][: len(why)] for each in found["not_read"]] == [why]


def test_a_class_of_a_framework_that_is_not_modelled_is_not_taken_as_read(asked):
    own = "from trl.trainer.utils import OnPolicyConfig\nclass Own(OnPolicyConfig): ...\n"
    found, _ = asked(
        {"train.py": f"{TRAINER}{own}[args] = HfArgumentParser(Own).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"}
    )
    assert ([each["why"] for each in found["not_read"]], found["verdict"]) == (["`trl.trainer.utils.OnPolicyConfig` is not modelled"], None)


@pytest.mark.parametrize("line", [LINE, "python train.py args.yaml\n"])
def test_a_trainer_of_the_projects_own_does_not_have_the_frameworks_defaults(asked, line):
    own = "class OwnTrainer:\n    def __init__(self, args):\n        self.args = args\n    def train(self): ...\n"
    parsed = "parse_yaml_file('args.yaml')" if "yaml" in line else "parse_args_into_dataclasses()"
    files = {"args.yaml": "output_dir: out\nper_device_train_batch_size: 2\nnum_train_epochs: 1\nsave_total_limit: 2\n"}
    program = f"{TRAINER}{own}[args] = HfArgumentParser(TrainingArguments).{parsed}\nOwnTrainer(args).train()\n"
    found, _ = asked({"train.py": program, **files}, line)
    assert "it makes no trainer of the framework and has one of its own" in [each["why"] for each in found["not_read"]]
    assert labels(found).get("optimizer") is None


def test_three_names_of_trl_are_its_line_and_not_the_trainers(asked):
    line = f"{LINE[:-1]} --output_dir out --num_generations 4 --max_prompt_length 8 --max_completion_length 8 --bf16 True --save_steps 5\n"
    found, _ = asked({}, line.replace("train.py", "grpo.py"))
    assert (labels(found)["learning rate"], found["assumed"][0]) == (1e-6, "`grpo.py` takes the arguments of TRL")
    assert found["verdict"] is None
    of_swift, _ = asked({}, line.replace("train.py", "grpo.py --rlhf_type grpo"))
    assert of_swift["assumed"][0] == "`grpo.py` takes the arguments of the Trainer"


def test_a_file_of_a_program_that_is_not_in_the_project_makes_no_error_of_a_trainer(asked):
    yaml = "output_dir: out\nloss_type: own\nmax_prompt_length: 8\nbeta: 0.1\nper_device_train_batch_size: 2\nlearning_rate: 1.0e-5\n"
    stated = "trl==0.9.6\ntransformers==4.42.4\n"
    found, status = asked(
        {"dpo.yaml": yaml, "requirements.txt": stated}, "accelerate launch --num_processes 2 run_dpo.py dpo.yaml\n", "check"
    )
    assert (status, [(each["code"], each["severity"]) for each in found["diagnostics"]]) == (0, [("TRL051", "warning")])


def test_what_a_caller_may_add_is_no_value_of_the_flag_before_it(asked):
    parsed = "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"
    found, _ = asked(
        {"train.py": f"{TRAINER}[args] = {parsed}\nTrainer(args=args).train()\n"}, f'{LINE[:-1]} --output_dir out --bf16 "$@"\n'
    )
    assert labels(found)["precision"] == "bf16"


def test_a_program_beyond_the_limit_of_steps_has_what_its_line_says(asked, monkeypatch):
    monkeypatch.setattr("cfglint.launch.programs.runs_of_program.STEPS", 5)
    parsed = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(model, args).train()\n"
    found, _ = asked({"train.py": TRAINER + "x = 1\n" * 9 + parsed}, LINE.replace("\n", " --output_dir o\n"))
    assert (found["verdict"], found["not_read"][0]["why"]) == (None, "its evaluation stopped at the limit of steps")
    assert (found["resolved"]["micro_batch"], found["resolved"]["accumulation"]) == (2, None)
