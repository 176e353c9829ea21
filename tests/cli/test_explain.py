"""`cfglint explain`: runs, logs, and a log held against files."""

from __future__ import annotations

import io
import json

import pytest

from cfglint.cli import main

TRAINER = "output_dir: out\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 8\nnum_train_epochs: 3\n"
LOG = """\
[INFO|trainer.py:2405] 2025-03-04 10:12:00,100 >> ***** Running training *****
[INFO|trainer.py:2406] 2025-03-04 10:12:00,100 >>   Num examples = 128,770
[INFO|trainer.py:2407] 2025-03-04 10:12:00,100 >>   Num Epochs = 3
[INFO|trainer.py:2408] 2025-03-04 10:12:00,100 >>   Instantaneous batch size per device = 8
[INFO|trainer.py:2411] 2025-03-04 10:12:00,100 >>   Total train batch size (w. parallel, distributed & accumulation) = 256
[INFO|trainer.py:2412] 2025-03-04 10:12:00,100 >>   Gradient Accumulation steps = 8
[INFO|trainer.py:2413] 2025-03-04 10:12:00,100 >>   Total optimization steps = 1,509
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(TRAINER, encoding="utf-8")
    (tmp_path / "train.log").write_text(LOG, encoding="utf-8")
    return tmp_path


def explained(capsys, *arguments):
    status = main(["explain", *arguments, "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_run_as_json(folder, capsys):
    status, told = explained(capsys, "train.yaml", "--gpus", "4", "--num-examples", "128770")
    assert status == 0
    assert told["files"] == ["train.yaml"]
    assert told["resolved"]["total_steps"] == 1512
    assert {each["origin"] for each in told["settings"]} == {"written", "default", "derived"}


def test_a_log_as_json_has_the_keys_of_the_contract(folder, capsys):
    status, told = explained(capsys, "train.log")
    (banner,) = told["banners"]
    assert status == 0
    assert list(banner)[:11] == [
        *("line", "framework", "num_examples", "num_epochs", "micro_batch", "accumulation", "global_batch", "total_steps"),
        *("data_parallel", "steps_per_epoch", "consistent_with"),
    ]
    assert banner["consistent_with"] == [{"transformers": ">=4.30,<4.52.0"}]
    assert (banner["line"], banner["data_parallel"], banner["steps_per_epoch"]) == (1, 4, 503)


def test_the_first_line_of_a_log_has_the_division_that_gives_its_steps(folder, capsys):
    assert main(["log", "train.log"]) == 0
    first = capsys.readouterr().out.partition("\n\n")[0]
    division = "1,509 steps, 3 epochs of 503: 128,770 samples / (micro batch 8 x data parallel 4 x accumulation 8)"
    assert division in " ".join(first.split())


def test_a_global_batch_that_follows_from_the_gpus_of_the_log(folder, capsys):
    (folder / "train.yaml").write_text(TRAINER.replace("size: 8", "size: 16"), encoding="utf-8")
    assert main(["log", "train.log", "train.yaml"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "global batch is 256 in the log, 512 by the files" in told
    assert "x data-parallel size, on the 4 GPUs of the log)" in told
    assert told.count("The files may have changed since the log.") == 1
    main(["log", "train.log", "train.yaml", "--gpus", "4"])
    assert "of the log)" not in capsys.readouterr().out


def test_a_log_against_its_configuration(folder, capsys):
    assert main(["explain", "train.log", "train.yaml", "--target", "transformers==4.51.3"]) == 0
    assert "NOT as configured" not in capsys.readouterr().out
    assert main(["explain", "train.yaml", "train.log", "--target", "transformers==4.52.1"]) == 1
    assert "total steps is 1,509 in the log, 1,512 by the files" in " ".join(capsys.readouterr().out.split())


def test_a_difference_names_the_line_of_the_file(folder, capsys):
    (folder / "train.yaml").write_text(TRAINER.replace("steps: 8", "steps: 4"), encoding="utf-8")
    status, told = explained(capsys, "train.log", "train.yaml", "--target", "transformers==4.51.3")
    assert status == 1
    differences = {each["key"]: (each["log"], each["config"], each["place"]) for each in told["banners"][0]["differences"]}
    assert differences["accumulation"] == (8, 4, "train.yaml:3")


def test_a_log_is_told_by_its_content(folder, capsys):
    (folder / "log.yaml").write_text(LOG, encoding="utf-8")
    assert explained(capsys, "log.yaml")[1]["banners"][0]["total_steps"] == 1509


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_logs_of_other_shells(folder, capsys, encoding):
    (folder / "shell.log").write_text(LOG, encoding=encoding)
    assert explained(capsys, "shell.log")[1]["banners"][0]["num_examples"] == 128770


def test_bytes_that_are_no_text_do_not_matter(folder, capsys):
    (folder / "train.log").write_bytes(b"\xff\xfe\xfa\x00 |\n"[2:] + LOG.encode())
    assert explained(capsys, "train.log")[1]["banners"][0]["line"] == 2


def test_every_line_fits_a_terminal(folder, capsys):
    for arguments in (
        ["train.log"],
        ["train.yaml", "--gpus", "4", "--num-examples", "128770"],
        ["train.yaml"],
        ["train.log", "train.yaml"],
    ):
        main(["explain", *arguments])
        printed = capsys.readouterr().out
        assert max(len(line) for line in printed.splitlines()) <= 80, printed


def test_several_files_are_one_run(folder, capsys):
    (folder / "launch.yaml").write_text("distributed_type: MULTI_GPU\nnum_processes: 4\n", encoding="utf-8")
    assert explained(capsys, "launch.yaml", "train.yaml")[1]["resolved"]["global_batch"] == 256


def test_output_to_a_file(folder, capsys):
    assert main(["explain", "train.yaml", "--output", "told.txt"]) == 0
    assert capsys.readouterr().out == ""
    assert "micro batch" in (folder / "told.txt").read_text(encoding="utf-8")
    assert main(["explain", "train.yaml", "--output", "none/told.txt"]) == 2


@pytest.mark.parametrize(
    ("path", "says"),
    [("gone.yaml", "no such file"), ("empty", "no run was found in this folder"), ("notes.txt", "nor is it a log with a training banner")],
)
def test_what_cannot_be_explained(folder, capsys, path, says):
    (folder / "notes.txt").write_text("just words\n", encoding="utf-8")
    (folder / "empty").mkdir()
    assert main(["explain", path]) == 2
    printed = capsys.readouterr()
    assert (printed.out, says in printed.err) == ("", True)


def test_a_healthy_log_without_a_banner_is_answered_as_by_log(folder, capsys):
    (folder / "steps.log").write_text("{'loss': 1.2, 'epoch': 0.1}\n{'loss': 1.1, 'epoch': 0.2}\n", encoding="utf-8")
    answers = [(main([command, "steps.log"]), capsys.readouterr().out) for command in ("log", "explain")]
    assert answers[0] == answers[1]
    assert "the last of 2 logged steps is in line 2" in answers[0][1]
    assert answers[0][0] == 0


OFFLOADED = '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}'
WITH_ENGINE = """\
import deepspeed
from deepspeed.ops.lion import DeepSpeedCPULion

optimizer = DeepSpeedCPULion(model.parameters(), lr=1e-4)
engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds.json")
"""


def test_a_file_is_explained_with_the_optimizer_that_the_only_program_passes_with_it(folder, capsys):
    (folder / "requirements.txt").write_text("deepspeed==0.17.5\n", encoding="utf-8")
    (folder / "ds.json").write_text(OFFLOADED, encoding="utf-8")
    (folder / "engine.py").write_text(WITH_ENGINE, encoding="utf-8")
    _, entry = explained(capsys, "ds.json")
    assert (entry["verdict"], entry["fails_at"]) == ("reject", "init")


def test_a_file_is_explained_in_the_run_that_reads_it(folder, capsys):
    (folder / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {}}', encoding="utf-8")
    (folder / "train.yaml").write_text(f"{TRAINER}deepspeed: ds.json\n", encoding="utf-8")
    assert main(["explain", "ds.json"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("It would not start: 1 error")
    assert "ds.json: in the run of train.yaml" in printed.err


def test_a_rejected_run_is_explained_all_the_same(folder, capsys):
    (folder / "train.yaml").write_text(TRAINER + "fp16: true\nbf16: true\n", encoding="utf-8")
    assert main(["explain", "train.yaml", "--run", "--gpus", "4"]) == 0
    assert "It would not start: 1 error" in capsys.readouterr().out


@pytest.mark.parametrize("flags", [[], ["--run"]])
def test_json_with_comments_is_explained(folder, capsys, flags):
    """DeepSpeed's own loader takes comments and a comma at the end."""
    text = '// sizes\n{"train_batch_size": 64, /* for 8 GPUs */ "train_micro_batch_size_per_gpu": 4,\n"gradient_accumulation_steps": 2,}\n'
    (folder / "ds.json").write_text(text)
    status, told = explained(capsys, "ds.json", "--gpus", "8", *flags)
    assert status == 0
    assert (told["resolved"]["global_batch"], told["resolved"]["accumulation"]) == (64, 2)


def test_a_section_that_is_not_there_is_said_plainly(folder, capsys):
    assert main(["explain", "train.yaml", "--section", "nope"]) == 2
    assert capsys.readouterr().err == "cfglint: train.yaml: there is no `nope` in this file (--section)\n"


@pytest.mark.parametrize("width", ["64", "100", "150"])
def test_the_text_fits_the_terminal(folder, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    for arguments in (["train.yaml", "--gpus", "4"], ["train.log"], ["train.log", "train.yaml"]):
        main(["explain", *arguments])
        printed = capsys.readouterr().out.splitlines()
        assert max(map(len, printed)) <= int(width)
    main(["explain", "train.log"])
    assert any(len(line) > 70 for line in capsys.readouterr().out.splitlines()) == (width != "64")


DECLARED = """\
[tool.cfglint]
target = { accelerate = "1.10.1" }
[[tool.cfglint.run]]
files = ["train.yaml"]
target = { transformers = "4.57.1" }
num-examples = 1000
gpus = 4
"""


def test_a_file_of_a_declared_run_is_explained_as_that_run(folder, capsys):
    (folder / "pyproject.toml").write_text(DECLARED, encoding="utf-8")
    assert main(["explain", "--all", "train.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "Hugging Face trainer: transformers 4.57.1 (the declared run in pyproject.toml)"
    (samples,) = (line.split() for line in lines if "training samples" in line)
    assert samples[2:] == ["1,000", "the", "declared", "run", "in", "pyproject.toml"]
    assert explained(capsys, "train.yaml")[1]["resolved"]["global_batch"] == 256
    assert main(["explain", "--all", "train.yaml", "--num-examples", "50", "--target", "transformers==4.50.0"]) == 0
    out = capsys.readouterr().out
    assert "transformers 4.50.0 (--target)" in out
    assert "--num-examples" in out


def test_a_target_of_the_configuration_is_not_said_to_be_a_flag(folder, capsys):
    (folder / "pyproject.toml").write_text('[tool.cfglint]\ntarget = { transformers = "4.57.1" }\n', encoding="utf-8")
    main(["explain", "train.yaml"])
    assert "transformers 4.57.1 (pyproject.toml)" in capsys.readouterr().out


def test_a_failure_with_the_config_shows_the_finding_that_predicts_it(folder, capsys):
    (folder / "error.txt").write_text(
        "ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found\n- Evaluation strategy: no\n"
    )
    (folder / "best.yaml").write_text("output_dir: o\nload_best_model_at_end: true\nsave_strategy: epoch\n")
    status, told = explained(capsys, "error.txt", "best.yaml")
    (found,) = told["failures"]
    assert (status, found["rules"]) == (0, ["HFT006"])
    assert any(each.startswith("best.yaml:2: ") for each in found["details"])


def test_a_memory_error_is_compared_with_the_estimate(folder, capsys):
    (folder / "error.txt").write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.08 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1 GiB is"
    )
    (folder / "big.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2.5-7B\noutput_dir: o\nper_device_train_batch_size: 16\nmax_length: 4096\nlearning_rate: 1.0e-5\n"
    )
    told = explained(capsys, "error.txt", "big.yaml")[1]
    assert "of 79.1 (" in told["failures"][0]["details"][1]
    assert "does not fit" in told["failures"][0]["details"][1]


def test_the_files_arithmetic_explains_the_steps_of_grpo(folder, capsys):
    lines = ["***** Running training *****", "  Num examples = 5,498", "  Num Epochs = 1", "  Instantaneous batch size per device = 16"]
    lines += ["  Total train batch size (w. parallel, distributed & accumulation) = 224", "  Gradient Accumulation steps = 2"]
    (folder / "grpo.log").write_text("\n".join([*lines, "  Total optimization steps = 196", ""]))
    (folder / "grpo.yaml").write_text(
        "output_dir: o\nper_device_train_batch_size: 16\ngradient_accumulation_steps: 2\nnum_generations: 8\nnum_train_epochs: 1\n"
    )
    status, told = explained(
        capsys, "grpo.log", "grpo.yaml", "--trainer", "grpo", "--target", "trl==0.17.0", "--target", "transformers==4.51.3"
    )
    (found,) = told["banners"]
    assert (status, found["differences"]) == (0, [])
    assert "total steps" in found["compared"]
    assert found["note"].startswith("the files compute the 196 steps of the log")


def test_a_banner_without_numbers_is_not_an_empty_answer(folder, capsys):
    (folder / "short.log").write_text("***** Running training *****\n")
    assert main(["explain", "short.log"]) == 0
    assert "no numbers follow a training banner in this log" in " ".join(capsys.readouterr().out.split())


def test_standard_input_without_a_name_is_a_log(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"KeyError: 'labels'\n")))
    assert main(["explain", "-"]) == 0
    assert "standard input:1  the run ended with KeyError: 'labels'" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["explain", "log"])
def test_a_log_without_a_banner_is_a_document_in_the_format_that_is_asked_for(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text(
        "{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n{'loss': 2.4, 'learning_rate': 1e-05, 'epoch': 0.2}\n"
    )
    assert main([command, "train.log"]) == 0
    assert "no banner of a training" in capsys.readouterr().out
    assert main([command, "train.log", "--format", "json"]) == 0
    ended = capsys.readouterr()
    assert json.loads(ended.out)["banners"] == []
    assert "no banner of a training" in ended.err


def test_the_hours_of_a_run_and_their_price(folder, capsys):
    arguments = ["explain", "train.yaml", "--gpus", "4", "--num-examples", "128770", "--time-per-step", "2", "--gpu-price", "3"]
    assert main([*arguments, "--format", "json"]) == 0
    found = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert (found["hours"], found["cost"]) == (0.84, 10.08)  # 1,512 steps
    assert main(arguments[:-4]) == 0
    assert "hours" not in capsys.readouterr().out


def test_a_loop_of_its_own_takes_from_a_checkpoint_what_nobody_knows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step_100").mkdir()
    (tmp_path / "train.py").write_text(
        "import torch\nfrom accelerate import Accelerator\nfrom torch.utils.data import DataLoader\n\n"
        "accelerator = Accelerator()\nmodel = torch.nn.Linear(1, 1)\noptimizer = torch.optim.AdamW(model.parameters())\n"
        "loader = DataLoader(list(range(8)), batch_size=2)\nmodel, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"
        "accelerator.load_state('step_100')\nfor batch in loader:\n    accelerator.backward(model(batch).sum())\n"
        "    optimizer.step()\n    optimizer.zero_grad()\n"
    )
    assert main(["explain", "train.py", "--resume", "step_100", "--gpus", "1"]) == 0
    assert "--resume: train.py: what it takes from a checkpoint is not known" in " ".join(capsys.readouterr().err.split())


def test_a_log_beside_a_script_that_starts_no_training_keeps_its_answer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("ValueError: Some keys are not used by the HfArgumentParser: ['split']\n")
    (tmp_path / "run.sh").write_text("echo done\n")
    main(["log", "a.log"])
    alone = capsys.readouterr().out
    main(["log", "a.log", "run.sh"])
    beside = capsys.readouterr()
    assert "LLF001" in alone
    assert alone.rstrip() in beside.out
    assert "no training launch" in beside.out + beside.err


def test_the_runs_of_a_script_are_told_apart_by_what_starts_it(folder, capsys):
    (folder / "run.sh").write_text("torchrun --nproc_per_node $1 train.py --per_device_train_batch_size 4 --bf16 True --output_dir o\n")
    for gpus in (2, 4):
        (folder / f"on{gpus}.sh").write_text(f"bash run.sh {gpus}\n")
    assert main(["explain", "run.sh"]) == 0
    said = capsys.readouterr().out
    assert "run.sh:1 (started by on2.sh:1)\n" in said
    assert "run.sh:1 (started by on4.sh:1)\n" in said
