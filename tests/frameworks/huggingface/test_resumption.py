"""A run that continues from a checkpoint: what it uses, and where it ends."""

import json

import pytest

from cases import each_case
from cfglint.cli import main

CONFIG = {"output_dir": "out", "per_device_train_batch_size": 8, "gradient_accumulation_steps": 2, "num_train_epochs": 2}
STATE = {"global_step": 300, "epoch": 0.75, "max_steps": 800, "num_train_epochs": 2, "train_batch_size": 4, "save_steps": 100}


@pytest.fixture
def resumed(tmp_path, monkeypatch, capsys):
    """The entry about resuming, and the codes, of a config with a checkpoint in `out`."""
    monkeypatch.chdir(tmp_path)

    def run(changes=(), state=STATE, release="4.57.6", value="out/checkpoint-300", names="model.safetensors optimizer.pt scheduler.pt"):
        folder = tmp_path / "out" / "checkpoint-300"
        folder.mkdir(parents=True, exist_ok=True)
        for name in names.split():
            (folder / name).touch()
        (folder / "trainer_state.json").write_text(json.dumps(state))
        (tmp_path / "train.json").write_text(json.dumps({**CONFIG, **dict(changes), "resume_from_checkpoint": value}))
        target = ["--target", f"transformers=={release}"]
        main(["check", "train.json", "--run", "--gpus", "1", "--num-examples", "6400", *target, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found["runs"][0].get("resume"), {each["code"] for each in found["diagnostics"]}

    return run


@each_case(
    ("release", "micro", "end"),
    [("4.57.6", 4, 1600), ("5.1.0", 4, 1600), ("5.2.0", 8, 800), ("4.35.2", 8, 800)],
)
def test_the_micro_batch_is_that_of_the_checkpoint_in_some_releases(resumed, release, micro, end):
    state = {key: value for key, value in STATE.items() if key != "train_batch_size"} if release == "4.35.2" else STATE
    entry, found = resumed(release=release, state=state)
    assert (entry["begin"], entry["micro_batch"], entry["end"], entry["steps_left"]) == (300, micro, end, end - 300)
    assert ("HFT083" in found) == (micro == 4)


def test_auto_find_batch_size_restores_it_in_every_release(resumed):
    entry, _ = resumed({"auto_find_batch_size": True}, release="5.24.0")
    assert (entry["micro_batch"], entry["end"]) == (4, 1600)


@each_case(
    ("stated", "severity"),
    [("torch==2.7.0", "error"), ("torch==2.4.1", None), ("torch", "warning"), ("", "warning")],
)
def test_the_state_of_the_random_numbers_needs_a_release_of_torch(resumed, tmp_path, capsys, stated, severity):
    resumed(release="4.42.4", names="model.safetensors optimizer.pt scheduler.pt rng_state.pth")
    (tmp_path / "requirements.txt").write_text(f"transformers==4.42.4\n{stated}\n")
    main(["check", "train.json", "--run", "--gpus", "1", "--format", "json"])
    found = [each["severity"] for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["code"] == "HFT087"]
    assert found == ([severity] if severity else [])


def test_true_is_the_last_checkpoint(resumed):
    entry, _ = resumed(value=True)
    assert (entry["checkpoint"], entry["begin"]) == ("out/checkpoint-300", 300)


def test_a_checkpoint_that_a_launch_here_does_not_find_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "[args] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
        "Trainer(args=args).train(resume_from_checkpoint=args.resume_from_checkpoint)\n"
    )
    line = ["python", "train.py", "--output_dir", "out", "--resume_from_checkpoint", "out/checkpoint-1"]
    assert main(["check", "--format", "concise", "--", *line]) == 1
    assert "HFT080 error" in capsys.readouterr().out


def test_a_checkpoint_that_is_not_here_is_no_error(resumed):
    entry, found = resumed(value="/somewhere/checkpoint-7")
    assert (entry["checkpoint"], entry["begin"], entry["end"]) == ("/somewhere/checkpoint-7", None, None)
    assert found == set()


@each_case(
    ("changes", "end"),
    [({"max_steps": 350}, 350), ({"max_steps": 300}, 301), ({"num_train_epochs": 0.25}, 301), ({"gradient_accumulation_steps": 4}, 800)],
)
def test_the_end_is_that_of_the_new_arguments(resumed, changes, end):
    entry, _ = resumed({"per_device_train_batch_size": 4, **changes})
    assert entry["end"] == end


def test_nothing_is_trained_behind_the_end(resumed):
    entry, found = resumed({"per_device_train_batch_size": 4, "num_train_epochs": 1}, {**STATE, "global_step": 900})
    assert (entry["end"], entry["steps_left"]) == (900, 0)
    assert "HFT084" in found


def test_the_state_of_a_later_release_is_refused(resumed):
    state = {**STATE, "best_global_step": None}
    assert "HFT081" in resumed(state=state, release="4.49.0")[1]
    assert "HFT081" not in resumed(state=state, release="4.50.0")[1]


def test_explain_takes_a_checkpoint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "trainer_state.json").write_text(json.dumps(STATE))
    (tmp_path / "train.json").write_text(json.dumps({**CONFIG, "per_device_train_batch_size": 4}))
    assert main(["explain", "train.json", "--gpus", "1", "--num-examples", "6400", "--resume", "c"]) == 0
    assert "resumes from c, 1,300 left" in capsys.readouterr().out
    assert main(["explain", "train.json", "--resume", "nowhere"]) == 2


@each_case(("release", "begin"), [("1.14.0", None), ("1.15.0", 300)])
def test_the_scripts_of_trl_pass_it_on_from_a_release_on(tmp_path, monkeypatch, capsys, release, begin):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir(exist_ok=True)
    (tmp_path / "c" / "trainer_state.json").write_text(json.dumps(STATE))
    (tmp_path / "sft.yaml").write_text("model_name_or_path: m\ndataset_name: a/b\nmax_steps: 900\nresume_from_checkpoint: c\n")
    (tmp_path / "train.sh").write_text("trl sft --config sft.yaml\n")
    main(["check", "train.sh", "--gpus", "1", "--target", f"trl=={release}", "--format", "json"])
    [entry] = json.loads(capsys.readouterr().out)["runs"]
    assert entry.get("resume", {}).get("begin") == begin


def test_a_checkpoint_below_the_folder_of_the_script_is_found(tmp_path, monkeypatch, capsys):
    program = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    program += "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    program += "Trainer(model, args).train(resume_from_checkpoint=args.resume_from_checkpoint)\n"
    (tmp_path / "train.py").write_text(program)
    line = "torchrun --nproc_per_node 2 train.py --output_dir out --resume_from_checkpoint $HERE/out/checkpoint-5\n"
    (tmp_path / "run.sh").write_text(f'HERE=$(cd "$(dirname "$0")" && pwd)\n{line}')
    (tmp_path / "out" / "checkpoint-5").mkdir(parents=True)
    (tmp_path / "out" / "checkpoint-5" / "trainer_state.json").write_text('{"global_step": 5}')
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    main(["explain", "run.sh", "--format", "json"])
    resumed = json.loads(capsys.readouterr().out)["resume"]
    assert (resumed["checkpoint"], resumed["begin"]) == ("out/checkpoint-5", 5)
