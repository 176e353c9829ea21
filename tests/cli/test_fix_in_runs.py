"""`fix FILE` with a target: it reaches the runs of the project that read the file, in whichever file or line holds the key."""

from __future__ import annotations

import pytest

from cfglint.cli import main

TRAINER = "output_dir: out\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 1\n"
TRL = "from trl import SFTConfig, TrlParser\n(config,) = TrlParser((SFTConfig,)).parse_args_and_config()\n"
HF = """\
from transformers import HfArgumentParser, TrainingArguments
(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
"""
ENGINE = """\
import argparse
import deepspeed
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--local_rank", type=int)
deepspeed.initialize(args=parser.parse_args())
"""
TARGET = ("--gpus", "8", "--global-batch", "64")
BATCH = "--output_dir o --per_device_train_batch_size 2 --gradient_accumulation_steps 2"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    for name, text in {"sft.yaml": TRAINER, "sft.py": TRL, "train.py": HF, "engine.py": ENGINE}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def written(project, **texts):
    """Write files: `run_sh` is `run.sh`."""
    for name, text in texts.items():
        (project / name.replace("_", ".")).write_text(text, encoding="utf-8")


def test_a_key_that_the_line_overrides_is_edited_there(project, capsys):
    line = "accelerate launch --num_processes 8 sft.py --config sft.yaml --per_device_train_batch_size {}\n"
    written(project, run_sh=line.format(16))
    assert main(["fix", "sft.yaml", *TARGET]) == 0
    assert ((project / "run.sh").read_text(), (project / "sft.yaml").read_text()) == (line.format(8), TRAINER)
    assert "sft.yaml: in the run of run.sh:1" in capsys.readouterr().err
    assert main(["fix", "sft.yaml", *TARGET]) == 0
    assert (project / "run.sh").read_text() == line.format(8)


def test_a_key_of_another_file_of_the_run_is_edited_there(project):
    model = "{num_layers: 2, hidden_size: 64, num_attention_heads: 2, seq_length: 64, max_position_embeddings: 64, pos_emb: rotary}\n"
    train = "{train_micro_batch_size_per_gpu: 4, gradient_accumulation_steps: %s, train_iters: 9, lr_decay_iters: 9}\n"
    written(project, model_yml=model, train_yml=train % 1, run_sh="python ./deepy.py train.py model.yml train.yml\n")
    assert main(["fix", "model.yml", *TARGET]) == 0
    assert ((project / "model.yml").read_text(), (project / "train.yml").read_text()) == (model, train % 2)


def test_the_count_of_the_line_and_the_file_change_together(project):
    config = '{"train_batch_size": %s, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}\n'
    line = "deepspeed --num_gpus %s engine.py --deepspeed --deepspeed_config ds.json\n"
    written(project, ds_json=config % 32, run_sh=line % 4)
    assert main(["fix", "ds.json", *TARGET]) == 0
    assert ((project / "ds.json").read_text(), (project / "run.sh").read_text()) == (config % 64, line % 8)
    assert main(["check", "ds.json"]) == 0


def test_a_program_is_brought_to_the_target_in_its_launch(project):
    line = f"torchrun --nproc_per_node %s train.py {BATCH}\n"
    written(project, run_sh=line % 4)
    assert main(["fix", "train.py", *TARGET]) == 0
    assert (project / "run.sh").read_text() == (line % 8).replace("steps 2", "steps 4")
    assert (project / "train.py").read_text() == HF


def test_several_runs_with_edits_of_their_own_are_listed_and_not_edited(project, capsys):
    line = "torchrun --nproc_per_node 8 sft.py --config sft.yaml --per_device_train_batch_size 16\n"
    written(project, a_sh=line, b_sh=line)
    assert main(["fix", "sft.yaml", *TARGET]) == 2
    assert ((project / "a.sh").read_text(), (project / "b.sh").read_text()) == (line, line)
    assert "sft.yaml: a.sh:1, b.sh:1 read it, and a.sh, b.sh would change as well" in capsys.readouterr().err
    assert main(["fix", "a.sh", "b.sh", "sft.yaml", *TARGET]) == 0
    assert (project / "b.sh").read_text() == line.replace("16", "8")


def test_several_runs_that_one_edit_serves_are_all_brought_to_the_target(project):
    line = "torchrun --nproc_per_node 8 sft.py --config sft.yaml\n"
    written(project, a_sh=line, README_md=f"```sh\n{line}```\n")
    assert main(["fix", "sft.yaml", *TARGET]) == 0
    assert (project / "sft.yaml").read_text() == TRAINER.replace("steps: 1", "steps: 8")


def test_an_edit_that_breaks_another_run_is_left_out(project, capsys):
    config = '{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1}\n'
    line = "deepspeed --num_gpus 8 engine.py --deepspeed --deepspeed_config ds.json\n"
    written(project, ds_json=config, a_sh=line, b_sh=line)
    assert main(["fix", "a.sh", "--gpus", "4", "--global-batch", "64"]) == 2
    assert ((project / "ds.json").read_text(), (project / "a.sh").read_text()) == (config, line)
    assert "a.sh:1: not changed: b.sh:1 reads ds.json, too, and `check` would report BAT001" in capsys.readouterr().err
    assert main(["fix", "a.sh", "b.sh", "--gpus", "4", "--global-batch", "64"]) == 0


def test_another_run_that_reads_an_edited_file_is_named(project, capsys):
    written(
        project,
        a_sh="torchrun --nproc_per_node 8 sft.py --config sft.yaml\n",
        b_sh="torchrun --nproc_per_node 2 sft.py --config sft.yaml\n",
    )
    assert main(["fix", "a.sh", *TARGET]) == 0
    assert "sft.yaml is read by other runs, too: b.sh:1" in capsys.readouterr().err


def test_a_script_that_a_page_starts_is_fixed_as_it_stands(project):
    line = f"torchrun --nproc_per_node 4 train.py {BATCH}\n"
    written(project, run_sh=line, README_md="```sh\nbash run.sh\n```\n")
    assert main(["fix", "run.sh", *TARGET]) == 0
    assert "--nproc_per_node 8" in (project / "run.sh").read_text()


def test_a_named_script_is_fixed_also_where_a_page_starts_another_run_of_it(project):
    line = f"torchrun --nproc_per_node 4 train.py {BATCH} --run_name $1\n"
    written(project, run_sh=line, README_md="```sh\nbash run.sh first\n```\n")
    for _ in range(2):
        assert main(["fix", "run.sh", *TARGET]) == 0
        assert "--nproc_per_node 8" in (project / "run.sh").read_text()


@pytest.mark.parametrize("gpus", ["8", "16"])
def test_the_current_count_of_the_line_is_not_overridden(project, capsys, gpus):
    line = f"torchrun --nproc_per_node 8 train.py {BATCH}\n"
    written(project, run_sh=line)
    assert main(["fix", "run.sh", "--gpus", gpus, "--from-gpus", "4"]) == 2
    assert (project / "run.sh").read_text() == line
    assert "the current number of GPUs is 8 (run.sh:1), not 4 as given" in capsys.readouterr().err


def test_the_current_count_of_a_file_is_not_overridden(project):
    text = "num_processes: 8\ndistributed_type: MULTI_GPU\n"
    written(project, acc_yaml=text)
    assert main(["fix", "acc.yaml", "sft.yaml", "--run", "--gpus", "16", "--from-gpus", "4"]) == 2
    assert (project / "acc.yaml").read_text() == text


def test_a_launch_that_is_not_known_to_train_is_named(project, capsys):
    written(
        project, run_sh="N=2\ntorchrun --nproc_per_node $N other.py --rows 4\ntorchrun evaluate.py\npython other.py\n", other_py="go()\n"
    )
    assert main(["check", "run.sh"]) == 2
    text = "run.sh: no training launch was found in this script; not known to train: `torchrun ... other.py` (line 2)\n"
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("command", [("check",), ("fix",), ("fix", *TARGET)])
@pytest.mark.parametrize("text", ["cat > run.slurm <<'END'\necho train.py\nEND\nsbatch run.slurm\n", "echo hi\n"])
def test_a_named_script_without_a_launch_is_not_done(project, capsys, command, text):
    written(project, run_sh=text)
    assert main([*command, "run.sh"]) == 2
    assert "run.sh: no training launch was found in this script" in capsys.readouterr().err


def test_a_sourced_script_is_part_of_the_run_that_sources_it(project):
    written(project, env_sh="export N=8\n", run_sh=f"source env.sh\ntorchrun --nproc_per_node $N train.py {BATCH}\n")
    assert main(["check", "env.sh"]) == 0


def test_a_script_with_more_launches_than_are_checked_is_not_edited(project, capsys):
    line = f"torchrun --nproc_per_node 4 train.py {BATCH}\n"
    written(project, run_sh=line * 30)
    assert main(["fix", "run.sh", *TARGET]) == 2
    assert (project / "run.sh").read_text() == line * 30
    assert "run.sh: not changed: 24 of 30 launches checked; name the lines to change" in capsys.readouterr().err
    assert main(["fix", "run.sh:30", *TARGET]) == 0
    assert (project / "run.sh").read_text().startswith(line * 29)


def test_a_loop_of_many_launches_is_one_line(project):
    line = f"for i in $(seq 40); do torchrun --nproc_per_node 4 train.py {BATCH}; done\n"
    written(project, run_sh=line)
    assert main(["fix", "run.sh", *TARGET]) == 0
    assert "--nproc_per_node 8" in (project / "run.sh").read_text()


def test_a_page_whose_launch_is_no_fenced_block_says_what_is_read(project, capsys):
    written(project, run_md="Start it with `torchrun train.py`\n\n    torchrun train.py\n")
    assert main(["check", "run.md"]) == 2
    assert "run.md: no training launch was found in the fenced blocks of this page" in capsys.readouterr().err
