"""A GPT-NeoX run that continues from a checkpoint."""

import json

import pytest

from cases import each_case
from cfglint.cli import main

CONFIG = """
train_iters: 1000
num_layers: 2
hidden_size: 64
num_attention_heads: 4
seq_length: 128
max_position_embeddings: 128
pipe_parallel_size: 1
train_micro_batch_size_per_gpu: 4
zero_optimization: {stage: 1}
load: saved
"""


@pytest.fixture
def resumed(tmp_path, monkeypatch, capsys):
    """The entry about resuming, and the codes, of a config whose `load` has the checkpoint of step 500 by 8 processes."""
    monkeypatch.chdir(tmp_path)

    def run(more="", saved="train-iters: 1000", latest="global_step500"):
        state = tmp_path / "saved/global_step500"
        (state / "configs").mkdir(parents=True, exist_ok=True)
        (state / "configs/train.yml").write_text(saved)
        for name in (*(f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in range(8)), "mp_rank_00_model_states.pt"):
            (state / name).touch()
        (tmp_path / "saved/latest").write_text(latest)
        (tmp_path / "train.yml").write_text(CONFIG + more)
        main(["check", "train.yml", "--kind", "neox", "--run", "--gpus", "8", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        codes = {each["code"] for each in found["diagnostics"]} & {"NEO103", "NEO104", "NEO105", "NEO106"}
        return found["runs"][0].get("resume"), codes

    return run


@each_case(
    ("more", "saved", "codes"),
    [
        ("", "train_iters: 1000", set()),
        ("", "train_iters: 800", {"NEO105"}),
        ("override_lr_scheduler: true", "train_iters: 800", set()),
        ("", "train_iters: 800\nuse_checkpoint_lr_scheduler: true", set()),
        ("", "{", set()),
        ("iteration: 400", "", {"NEO103"}),
        ("model_parallel_size: 2", "", {"NEO104"}),
        ("model_parallel_size: 2\nno_load_optim: true", "", set()),
        ("model_parallel_size: 2\ncheckpoint: {load_universal: true}", "", set()),
        ("", "hidden_size: 128", {"NEO105"}),
    ],
)
def test_what_is_refused(resumed, more, saved, codes):
    assert resumed(more, saved)[1] == codes


def test_the_steps_that_are_left(resumed):
    entry, _ = resumed()
    assert (entry["checkpoint"], entry["begin"], entry["end"]) == ("saved", 500, 1000)


@each_case(("more", "latest"), [("finetune: true", "global_step500"), ("", "../../x"), ("", "")])
def test_it_begins_anew(resumed, more, latest):
    assert resumed(more, latest=latest)[0] is None
