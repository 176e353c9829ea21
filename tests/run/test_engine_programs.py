"""Programs that pass a mapping to `deepspeed.initialize`: what the code computes is the DeepSpeed config of the run."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

PROGRAM = """
import argparse
import deepspeed
import torch

def config(stage):
    return {{"train_batch_size": 64, "zero_optimization": {{"stage": stage}}, "fp16": {{"enabled": True}}, "gradient_cliping": 1.0}}

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int, default=4)
parser.add_argument("--local_rank", type=int, default=-1)
args = parser.parse_args()
made = config(2)
made["train_micro_batch_size_per_gpu"] = {micro}
made["train_batch_size"] = args.rows * torch.distributed.get_world_size() * 2
engine, *_ = deepspeed.initialize(model=load(), optimizer=load(), config=made)
engine.backward(engine(batch))
"""


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """The run of a line that starts the program, and its findings."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(micro, words):
        (tmp_path / "train.py").write_text(PROGRAM.format(micro=micro))
        (tmp_path / "run.sh").write_text(f"deepspeed --num_gpus 8 train.py {words}\n")
        main(["check", "run.sh", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        [run] = found["runs"]
        numbers = [run["resolved"][name] for name in ("micro_batch", "accumulation", "global_batch")]
        return numbers, [(each["code"], each["file"], each["line"]) for each in found["diagnostics"]]

    return report


def test_values_of_the_line_and_of_functions(checked):
    assert checked("args.rows", "--rows 2") == ([2, 2, 32], [("KEY105", "train.py", 7)])
    assert checked("args.rows", "") == ([4, 2, 64], [("KEY105", "train.py", 7)])


def test_an_unknown_value_leaves_the_others_known(checked):
    assert checked("load()", "") == ([None, None, 64], [("KEY105", "train.py", 7)])


SECTIONS = """
import argparse
import deepspeed
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--stage", type=int, default=0)
args = parser.parse_args()
made = {"train_micro_batch_size_per_gpu": 6, "zero_optimization": {"stage": args.stage}, "fp16": {"enabled": args.stage == 3}}
made["train_batch_size"] = 6 * torch.distributed.get_world_size() * 2
engine, *_ = deepspeed.initialize(model=load(), optimizer=load(), config=made)
"""


def test_unknown_sections_and_sizes_are_no_defaults(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SECTIONS)
    model = ["--model", "Qwen/Qwen2.5-7B"]
    for line, options, expected in [
        ("deepspeed --num_gpus 8 train.py --stage $STAGE", model, ["batch 96 = 6 x 2 x 8", "not known precision, ZeRO stage, because"]),
        ("deepspeed --num_gpus 8 train.py --stage 3", model, ["rate fp16, ZeRO stage 3", "memory 20"]),
        (
            "deepspeed train.py --stage 3",
            [],
            ["batch not known, micro batch 6 rate", "not known accumulation, global batch, because train.py"],
        ),
    ]:
        (tmp_path / "run.sh").write_text(f"{line}\n")
        main(["explain", "run.sh", *options])
        printed = " ".join(capsys.readouterr().out.split())
        assert [each for each in expected if each not in printed] == [], printed
        assert ("GiB" in printed) == ("memory 20" in expected)


HYDRA = """
import deepspeed, hydra
from omegaconf import OmegaConf

@hydra.main(version_base=None, config_path="conf", config_name="main")
def main(cfg):
    config = OmegaConf.to_container(cfg.engine, resolve=True)
    config["train_batch_size"] = cfg.rows * deepspeed.comm.get_world_size()
    deepspeed.initialize(model=load(), config=config)

main()
"""


def test_a_config_that_hydra_composes(tmp_path, monkeypatch, capsys):
    """An override with an unknown value leaves the others known; Hydra's own groups exist; a file may be chosen with its suffix."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "main.yaml").write_text(
        "rows: 4\nlr: 1.0\nengine: {gradient_accumulation_steps: 1}\ndefaults: [_self_, hydra: plain, more: null]\n"
    )
    (tmp_path / "conf" / "hydra").mkdir()
    (tmp_path / "conf" / "hydra" / "plain.yaml").write_text("defaults:\n- override hydra_logging: none\n")
    (tmp_path / "conf" / "more").mkdir()
    (tmp_path / "conf" / "more" / "rows.yaml").write_text("# @package _global_\nrows: 8\n")
    (tmp_path / "train.py").write_text(HYDRA)
    monkeypatch.chdir(tmp_path)
    main(["check", "train.py", "--gpus", "2", "--format", "json"])
    assert [run["resolved"]["global_batch"] for run in json.loads(capsys.readouterr().out)["runs"]] == [8]
    (tmp_path / "run.sh").write_text("deepspeed --num_gpus 2 train.py lr=$(date) more=rows.yaml\n")
    main(["check", "train.py", "run.sh", "--gpus", "2", "--format", "json"])
    assert [run["resolved"]["global_batch"] for run in json.loads(capsys.readouterr().out)["runs"]] == [16]


def test_an_engine_whose_code_is_not_found_may_have_stages(checked, tmp_path, capsys):
    """Then what the GPUs are divided by is not known, so that no batch is refused."""
    (tmp_path / "train.py").write_text(
        "import argparse\nfrom trainers import Trainer\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--deepspeed_config')\nTrainer(parser.parse_args()).fit()\n"
    )
    (tmp_path / "ds.json").write_text('{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 8}')
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 3 train.py --deepspeed_config ds.json\n")
    main(["check", "run.sh", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    [run] = found["runs"]
    assert (run["verdict"], run["resolved"]["data_parallel"], found["diagnostics"]) == (None, None, [])
    assert [each["what"] for each in run["not_read"]] == ["the engine of `train.py`"]


def test_the_size_of_an_own_loader_is_no_term_of_the_batch_equation(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "import deepspeed\nfrom torch.utils.data import DataLoader\nloader = DataLoader(rows, batch_size=24)\n"
        "engine, *_ = deepspeed.initialize(model=m, config={'train_batch_size': 32, 'gradient_accumulation_steps': 1})\n"
        "for batch in loader:\n    engine.backward(engine(batch))\n    engine.step()\n"
    )
    main(["check", "train.py", "--format", "json"])
    assert [each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["code"].startswith("BAT")] == []


@pytest.mark.parametrize(("name", "stage"), [("ds.json", 2), ("gone.json", None)])
def test_the_line_decides_which_config_an_engine_gets(tmp_path, monkeypatch, capsys, name, stage):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}')
    (tmp_path / "train.py").write_text(
        "import argparse, json, deepspeed\nparser = argparse.ArgumentParser()\nparser.add_argument('--config', default='ds.json')\n"
        "args = parser.parse_args()\nwith open(args.config) as file:\n    config = json.load(file)\n"
        "engine, *_ = deepspeed.initialize(model=m, config_params=config)\nengine.backward(1)\n"
    )
    (tmp_path / "run.sh").write_text(f"torchrun --nproc_per_node 2 train.py --config {name}\n")
    main(["explain", "run.sh", "--format", "json"])
    settings = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert (settings.get("ZeRO stage"), "precision" in settings) == (stage, stage is not None)


PATCHED = """
import json, deepspeed
from dataclasses import dataclass
from transformers import HfArgumentParser, TrainingArguments

@dataclass
class Own(TrainingArguments):
    deepspeed: bool = True
    deepspeed_config: str = ""
    method: str = "base"

class Base:
    def __init__(self, args):
        with open(args.deepspeed_config) as file:
            config = json.loads(file.read())
        config["train_micro_batch_size_per_gpu"] = args.per_device_train_batch_size
        config["gradient_accumulation_steps"] = args.gradient_accumulation_steps
        config["train_batch_size"] = args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size
        config["steps_per_print"] = {}
        self.engine = deepspeed.initialize(model=load(), optimizer=load(), config={})[0]
        self.engine.backward(self.engine(batch))
        self.engine.step()

METHODS = {{"base": Base}}
args = HfArgumentParser(Own).parse_args()
METHODS[args.method](args)
"""


def test_a_file_that_the_program_completes(tmp_path, monkeypatch, capsys):
    """The class is found in a table; what the file says before ("auto" for a number) is no error, also if the changes are not followed."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    batch = dict.fromkeys(("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "steps_per_print"), "auto")
    (tmp_path / "ds.json").write_text(json.dumps({**batch, "zero_optimization": {"stage": 2}}))
    line = "deepspeed --num_gpus 4 train.py --output_dir o --per_device_train_batch_size 2 --gradient_accumulation_steps 8"
    (tmp_path / "run.sh").write_text(f"{line} --deepspeed_config ds.json\n")
    for print_steps, config, read in [("args.logging_steps", "config", True), ("10", "completed(config)", False)]:
        (tmp_path / "train.py").write_text(PATCHED.format(print_steps, config))
        main(["check", "run.sh", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        assert [(run["resolved"]["global_batch"], run["read"]) for run in found["runs"]] == [(64, read)]
        assert [each["code"] for each in found["diagnostics"] if each["severity"] == "error"] == []


TURNS = """
import argparse, deepspeed
from dataclasses import dataclass
import yaml

@dataclass
class Settings:
    rows: int = 4
    every: int = 2

    @classmethod
    def read(cls, path):
        with open(path) as file:
            values = yaml.safe_load(file)
        return cls(**{name: value for name, value in values.get("training", {}).items() if name in cls.__dataclass_fields__})

parser = argparse.ArgumentParser()
parser.add_argument("--config")
settings = Settings.read(parser.parse_args().config)
config = {"train_micro_batch_size_per_gpu": settings.rows, "gradient_accumulation_steps": 1}
engine, *_ = deepspeed.initialize(model=load(), optimizer=load(), config=config)
for turn, batch in enumerate(load()):
    engine.backward(engine(batch))
    if (turn + 1) % settings.every == 0:
        engine.step()
"""


def test_a_loop_that_steps_at_every_so_many_batches(tmp_path, monkeypatch, capsys):
    """DeepSpeed does not know of it, and computes its batch without; the settings are those fields of a file that the class has."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text("training: {rows: 3, every: 8, other: 1}\n")
    (tmp_path / "train.py").write_text(TURNS)
    (tmp_path / "run.sh").write_text("deepspeed --num_gpus 2 train.py --config a.yaml\n")
    main(["check", "run.sh", "--format", "json"])
    resolved = json.loads(capsys.readouterr().out)["runs"][0]["resolved"]
    assert (resolved["global_batch"], resolved["consumed_batch"]) == (6, 48)
    main(["explain", "run.sh"])
    assert "data parallel), but 48" in capsys.readouterr().out
