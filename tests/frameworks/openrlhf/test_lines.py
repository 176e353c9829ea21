"""Launch lines of OpenRLHF: what its own programs refuse (`tools/run_openrlhf.py`), the batch, targets, and the release of a line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from cases import each_case
from cfglint.cli import main

RECORDS = sorted((Path(__file__).parent / "lines").glob("*.jsonl"))
CASES = [json.loads(line) for record in RECORDS for line in record.read_text(encoding="utf-8").splitlines()]
UNRECOGNIZED = "SystemExit: 2 (error: unrecognized arguments: "
SFT = "deepspeed --num_gpus 8 --module openrlhf.cli.train_sft"
RAY = "python3 -m openrlhf.cli.train_ppo_ray"


@pytest.fixture
def report(tmp_path, monkeypatch, capsys):
    """The JSON report of a command about a script."""

    def run(line, command="check", *options):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "run.sh").write_text(f"{line}\n")
        main([command, "run.sh", "--format", "json", *options])
        return json.loads(capsys.readouterr().out)

    return run


def line_of(case):
    """The line that starts a case."""
    program = f"openrlhf.cli.train_{case['program']}"
    start = f"python3 -m {program}" if case["program"] == "ppo_ray" else f"deepspeed --num_gpus {case['gpus']} --module {program}"
    return f"{start} {shlex.join(case['words'])}"


def says(exception, refused):
    """Whether a finding quotes what the program raises; of several words that are left over each finding has its own."""
    if refused in (exception, f"ImportError: {exception}"):  # the second as `python -m` prints it
        return True
    return exception.startswith(UNRECOGNIZED) and exception.removeprefix(UNRECOGNIZED)[:-1] in refused


@each_case("case", CASES, ids=line_of)
def test_what_its_programs_refuse(report, case):
    found = report(line_of(case), "check", "--target", f"openrlhf=={case['release']}")
    errors = [each["exception"] for each in found["diagnostics"] if each["severity"] == "error"]
    if case["refused"] is None:
        assert (errors, found["runs"][0]["verdict"]) == ([], "accept")
    else:
        assert any(says(each, case["refused"]) for each in errors), errors


def numbers(found, *names):
    """Numbers of the only run of a report."""
    [run] = found["runs"]
    return [run["resolved"][name] for name in names]


@each_case(
    ("line", "expected"),
    [
        (f"{SFT} --train.batch_size 256 --train.micro_batch_size 2", [2, 16, 8, 256, 256]),
        (f"{SFT} --train.batch_size 64 --train.micro_batch_size 2 --ds.ring_attn_size 2 --ds.packing_samples", [2, 8, 4, 64, 64]),
        (f"{SFT} --train.batch_size 64 --train.micro_batch_size 2 --ds.tensor_parallel_size 4", [2, 16, 2, 64, 64]),
        (f"{SFT} --train.batch_size 64 --train.micro_batch_size $MICRO", [None, None, 8, 64, None]),
        (f"{RAY} --actor.num_nodes 2 --train.batch_size 128 --train.micro_batch_size 4", [4, 2, 16, 128, 128]),
        (f"{RAY} --train.dynamic_batch_enable --train.batch_size 128", [None, None, 8, 128, None]),
        (f"{RAY} $(./sizes) --train.batch_size 128 --train.micro_batch_size 4", [None, None, None, 128, None]),  # which give the GPUs
    ],
)
def test_the_batch(report, line, expected):
    found = report(line, "check", "--target", "openrlhf==0.11.2")
    assert numbers(found, "micro_batch", "accumulation", "data_parallel", "global_batch", "consumed_batch") == expected


@each_case(
    ("release", "expected"),
    [
        ("0.11.2", [15, 46]),  # 62 micro batches of a process, 4 to a step
        ("0.11.1", [15, 45]),  # 1000 samples / 64
    ],
)
def test_steps(report, release, expected):
    line = f"{SFT} --train.batch_size 64 --train.micro_batch_size 2 --train.max_epochs 3 --data.max_samples 1000"
    found = report(line, "check", "--target", f"openrlhf=={release}", "--num-examples", "5000")
    assert numbers(found, "steps_per_epoch", "total_steps") == expected


@each_case(
    ("words", "release"),
    [
        ("--train.batch_size 128 --data.dataset d", "0.11.2"),
        ("--train_batch_size 128 --dataset d --attn_implementation eager", "0.10.1.post2"),
        ("--train_batch_size 128 --dataset d --flash_attn", "0.8.9.post1"),
        ("--train_batch_size 128 --dataset d --disable_trace_cache", "0.5.4"),
        ("--train_batch_size 128 --dataset d --flash_attn --train_batch_sise 2", "0.8.9.post1"),
    ],
)
def test_the_release_is_the_newest_that_has_the_arguments(report, words, release):
    [run] = report(f"{SFT} {words}")["runs"]
    assert run["target"]["openrlhf"] == release


def test_arguments_of_a_fork_are_no_error(report):
    found = report(f"{SFT} --train_batch_size 128 --dataset d --pretrain m --kl_mixture_coefficient 0.001")
    assert [(each["code"], each["severity"]) for each in found["diagnostics"]] == [("ORL001", "warning")]
    assert found["runs"][0]["verdict"] is None


def test_a_target_changes_the_batch_on_the_line(report, tmp_path):
    report(f"{SFT} --train.batch_size 256 --train.micro_batch_size 2 --data.dataset d", "fix", "--gpus", "4", "--global-batch", "128")
    assert (tmp_path / "run.sh").read_text().startswith("deepspeed --num_gpus 4 --module openrlhf.cli.train_sft --train.batch_size 128")


def test_a_target_changes_the_roles_and_engines_that_share_the_gpus(report, tmp_path):
    roles = "--actor.num_gpus_per_node 8 --ref.num_gpus_per_node 8 --vllm.num_engines 4 --vllm.tensor_parallel_size 2"
    line = f"{RAY} --train.colocate_all {roles} --train.batch_size 128 --train.micro_batch_size 4 --reward.remote_url u"
    report(f"{line} --data.prompt_dataset d", "fix", "--gpus", "4", "--global-batch", "64")
    text = (tmp_path / "run.sh").read_text()
    for word in ("--actor.num_gpus_per_node 4", "--ref.num_gpus_per_node 4", "--vllm.num_engines 2", "--train.batch_size 64"):
        assert word in text
    report(text.strip(), "fix", "--gpus", "4", "--global-batch", "64")
    assert (tmp_path / "run.sh").read_text() == text


def test_gpus_of_separate_roles_are_not_divided(report, tmp_path):
    line = f"{RAY} --actor.num_gpus_per_node 4 --train.batch_size 128 --reward.remote_url u --data.prompt_dataset d"
    report(line, "fix", "--gpus", "8")
    assert (tmp_path / "run.sh").read_text() == f"{line}\n"


def test_the_arguments_of_a_copy_are_those_of_its_source(report, tmp_path):
    program = tmp_path / "openrlhf" / "cli" / "train_ppo_ray.py"
    program.parent.mkdir(parents=True)
    (tmp_path / "openrlhf" / "__init__.py").write_text("")
    source = 'if __name__ == "__main__":\n    parser = argparse.ArgumentParser()\n    {}\n    args = parser.parse_args()\n    train(args)\n'
    program.write_text(source.format('parser.add_argument("--train.batch_size", type=int, default=64)'))
    (program.parent / "train_sft.py").write_text(source.format('parser.add_argument("--own_size", type=int, default=2)'))
    found = report(f"{SFT} --own_size 3 --own_sise 4")
    assert [(each["code"], each["severity"], each["key"]) for each in found["diagnostics"]] == [("ORL001", "error", "--own_sise")]
    assert "the project's OpenRLHF; did you mean `own_size`?" in found["diagnostics"][0]["message"]


def test_what_is_missing_may_be_given_elsewhere(report):
    assert report(f"{SFT} --train.batch_size 64 $MORE")["diagnostics"] == []
