"""`-- COMMAND ...`: a command line is checked with what is here, and `cfglint start` runs it in the place of cfglint."""

import json
import os
import subprocess
import sys

import pytest

from cfglint.cli import check, main
from cfglint.cli import typed_command as here
from cfglint.cli.argument_parser import Parser

PROGRAM = """
from transformers import HfArgumentParser, Trainer, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=arguments).train()
"""
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
srun torchrun --nnodes $SLURM_NNODES --nproc_per_node ${1:-4} train.py --output_dir out --per_device_train_batch_size ${MICRO:-2}
"""
LINE = ("train.py", "--output_dir", "out", "--per_device_train_batch_size", "4")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project with a program and a Slurm script, on a machine whose GPUs nothing tells."""
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "train.slurm").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    for name in (*here.NODES, here.DEVICES, here.OF_NODE, "RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(here, "ASKED", ("no-such-nvidia-smi",))
    return tmp_path


def checked(capsys, *words):
    """The only run and the findings of `cfglint check -- WORDS`."""
    main(["check", "--format", "json", "--", *words])
    report = json.loads(capsys.readouterr().out)
    [run] = report["runs"]
    return run, report["diagnostics"]


def batch(run):
    """(micro batch, GPUs, global batch) of a run."""
    return run["resolved"]["micro_batch"], run["gpus"], run["resolved"]["global_batch"]


class TestCheck:
    def test_a_line_is_a_run_of_its_own(self, place, capsys):
        run, found = checked(capsys, "torchrun", "--nproc_per_node", "2", *LINE)
        assert (batch(run), run["verdict"], found) == ((4, 2, 8), "accept", [])

    def test_words_are_not_expanded_again(self, place, capsys):
        run, _ = checked(capsys, "torchrun", "--nproc_per_node", "2", *LINE, "--run_name", "$(rm -rf x) a;b")
        assert run["launch"]["arguments"]["run_name"] == "$(rm -rf x) a;b"

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("bash", "train.slurm", "8"), (2, None, None)),  # outside of a job no variable of Slurm tells the nodes
            (("sbatch", "train.slurm"), (2, 8, 16)),
            (("sbatch", "train.slurm", "8"), (2, 16, 32)),
            (("sbatch", "--nodes=4", "train.slurm", "8"), (2, 32, 64)),
            (("sbatch", "-N", "4", "train.slurm", "8"), (2, 32, 64)),
            (("sbatch", "-N4", "--exclusive", "train.slurm", "8"), (2, 32, 64)),
            (("sbatch", "--export=ALL,MICRO=5", "train.slurm", "8"), (5, 16, 80)),
        ],
    )
    def test_a_script_gets_the_arguments_of_the_command(self, place, capsys, words, expected):
        assert batch(checked(capsys, *words)[0]) == expected

    def test_the_environment_of_the_moment(self, place, capsys, monkeypatch):
        monkeypatch.setenv("MICRO", "3")
        assert batch(checked(capsys, "sbatch", "train.slurm", "8")[0]) == (3, 16, 48)

    def test_the_size_of_the_allocation(self, place, capsys, monkeypatch):
        monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
        monkeypatch.setenv("SLURM_NNODES", "2")
        monkeypatch.setenv("SLURM_GPUS_ON_NODE", "4")
        assert batch(checked(capsys, "bash", "train.slurm")[0]) == (2, 8, 16)

    def test_the_environment_of_the_command_is_the_installed_one(self, place, capsys, monkeypatch):
        site = place / "env/lib/python3.11/site-packages"
        (site / "transformers-4.40.2.dist-info").mkdir(parents=True)
        (place / "env/bin").mkdir()
        (place / "env/bin/torchrun").write_text("")
        (place / "env/bin/torchrun").chmod(0o755)
        monkeypatch.setenv("PATH", str(place / "env/bin"), prepend=os.pathsep)
        run, _ = checked(capsys, "torchrun", "--nproc_per_node", "2", *LINE)
        assert run["target"]["transformers"] == "4.40.2"

    def test_paths_behind_the_dashes_are_paths(self, place, capsys):
        assert main(["check", "--", "train.slurm"]) == 0
        assert "1 file checked" in capsys.readouterr().err

    def test_a_finding_names_the_word_and_offers_no_edit(self, place, capsys):
        _, [found] = checked(capsys, "torchrun", "--nproc_per_node", "2", *LINE, "--learning_ratt", "1e-4")
        assert (found["file"], found["code"], found["fix"]) == ("<command>", "KEY200", None)


class TestGpus:
    @pytest.mark.parametrize(
        ("variables", "expected"),
        [
            ({}, (None, "")),
            ({"CUDA_VISIBLE_DEVICES": "0,3"}, (2, "CUDA_VISIBLE_DEVICES=0,3")),
            ({"CUDA_VISIBLE_DEVICES": "0,-1,2"}, (1, "CUDA_VISIBLE_DEVICES=0,-1,2")),
            ({"CUDA_VISIBLE_DEVICES": ""}, (0, "CUDA_VISIBLE_DEVICES=")),
            ({"SLURM_GPUS_ON_NODE": "4"}, (4, "SLURM_GPUS_ON_NODE")),
            ({"CUDA_VISIBLE_DEVICES": "1", "SLURM_GPUS_ON_NODE": "4"}, (1, "CUDA_VISIBLE_DEVICES=1")),
        ],
    )
    def test_variables(self, place, monkeypatch, variables, expected):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert here.visible_gpus() == expected

    def test_nvidia_smi(self, place, monkeypatch):
        monkeypatch.setattr(here, "ASKED", (sys.executable, "-c", "print('NVIDIA H100 80GB HBM3\\nNVIDIA H100 80GB HBM3')"))
        assert here.visible_gpus() == (2, "nvidia-smi")

    def test_a_driver_that_does_not_answer(self, place, monkeypatch):
        monkeypatch.setattr(here, "ASKED", (sys.executable, "-c", "raise SystemExit('NVIDIA-SMI has failed')"))
        assert here.visible_gpus() == (None, "")

    def test_a_process_without_a_gpu_is_an_error_here(self, place, capsys, monkeypatch):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
        run, [found] = checked(capsys, "torchrun", "--nproc_per_node", "4", *LINE)
        assert (run["verdict"], found["code"], found["severity"]) == ("reject", "LCH025", "error")
        assert found["message"] == "4 processes start, but 2 GPUs are visible (CUDA_VISIBLE_DEVICES=0,1)"

    def test_each_node_has_its_own(self, place, capsys, monkeypatch):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
        run, found = checked(capsys, "torchrun", "--nnodes", "2", "--nproc_per_node", "2", *LINE)
        assert (run["verdict"], batch(run), found) == ("accept", (4, 4, 16), [])

    def test_a_job_that_is_submitted_runs_elsewhere(self, place, capsys, monkeypatch):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
        run, found = checked(capsys, "sbatch", "train.slurm", "8")
        assert (batch(run), found) == ((2, 16, 32), [])


def test_secrets_of_the_environment_are_not_read(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_abc")
    monkeypatch.setenv("WANDB_API_KEY", "abc")
    monkeypatch.setenv("MICRO", "abc of no secret")
    parser = Parser("cfglint check", "")
    check.add_arguments(parser)
    arguments = parser.parse_args(["--gpus", "1", "--", "torchrun", *LINE])
    here.of_command(arguments)
    assert [each for each in arguments.env if "abc" in each] == ["MICRO=abc of no secret"]


class TestStart:
    """`start` replaces the process, so that it is asked as one."""

    def started(self, place, *words, **variables):
        """(exit status, standard output, standard error) of `cfglint start WORDS`."""
        (place / "torchrun").write_text('#!/bin/sh\necho "started with $*"\nexit 7\n')
        (place / "torchrun").chmod(0o755)
        environment = {**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}", **variables}
        command = [sys.executable, "-m", "cfglint", "start", *words]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_a_good_line_runs_with_its_own_exit_status(self, place):
        status, out, err = self.started(place, "--", "torchrun", "--nproc_per_node", "2", *LINE)
        assert (status, out) == (7, f"started with --nproc_per_node 2 {' '.join(LINE)}\n")
        assert "no findings" in err

    def test_an_error_stops_it(self, place):
        status, out, err = self.started(place, "--", "torchrun", "--nproc_per_node", "2", *LINE, "--learning_ratt", "1")
        assert (status, out) == (1, "")
        assert "KEY200" in err
        assert "not started; `cfglint start --anyway` starts it" in err

    def test_anyway(self, place):
        status, _, err = self.started(place, "--anyway", "--", "torchrun", "--nproc_per_node", "2", *LINE, "--learning_ratt", "1")
        assert status == 7
        assert "KEY200" in err

    def test_ranks_do_not_repeat_the_report(self, place):
        words = ("--", "torchrun", "--nproc_per_node", "2", *LINE, "--learning_ratt", "1")
        assert self.started(place, *words, RANK="1") == (1, "", "")

    def test_another_command_runs_unchecked(self, place):
        status, out, err = self.started(place, "--", "sh", "-c", "echo hello; exit 3")
        assert (status, out) == (3, "hello\n")
        assert "starts no training that cfglint knows" in err

    def test_a_command_that_does_not_exist(self, place):
        status, _, err = self.started(place, "--", "no-such-command")
        assert status == 127
        assert "no-such-command: No such file or directory" in err

    def test_without_a_command(self, place):
        status, _, err = self.started(place)
        assert status == 2
        assert "COMMAND is missing" in err


class TestUnsetVariables:
    """What the environment of the moment does not set is empty, as for bash, unless something that was not read may set it."""

    LINE = "torchrun --nproc_per_node ${N:-2} $EXTRA train.py --output_dir out ${LR:+--learning_rate $LR} --max_steps "
    SAFE = ("LINE", "set -u\nexport OTHER=1\nLINE", "bash -c 'LINE'", "run() { LINE; }\nrun", ". ./vars.sh\nLINE")
    OPEN = ("module load cuda\nLINE", "source ~/.bashrc\nLINE", 'eval "$(direnv export bash)"\nLINE', "export $(cat .env)\nLINE")

    @pytest.fixture
    def arguments(self, place, capsys, monkeypatch):
        """The arguments of the program that a script starts."""
        for name in ("N", "EXTRA", "STEPS", "LR", "HF_TOKEN", "RANK", "SLURM_JOB_ID"):
            monkeypatch.delenv(name, raising=False)
        (place / "vars.sh").write_text("X=1\n")

        def of(script, steps):
            (place / "run.sh").write_text(script.replace("LINE", self.LINE + steps) + "\n")
            return checked(capsys, "bash", "run.sh")[0]["launch"]["arguments"]

        return of

    @pytest.mark.parametrize("script", SAFE)
    def test_is_empty(self, arguments, script):
        assert arguments(script, "${STEPS:-4}") == {"output_dir": "out", "max_steps": 4}

    @pytest.mark.parametrize("script", OPEN)
    def test_may_be_set_by_what_is_not_read(self, arguments, script):
        assert arguments(script, "a$STEPS")["max_steps"] is None

    @pytest.mark.parametrize("name", ["HF_TOKEN", "RANK", "SLURM_JOB_ID"])
    def test_what_a_launcher_sets_or_nobody_asks_for_is_not_known(self, arguments, name):
        assert arguments("LINE", f"1 --run_name a${name}")["run_name"] is None

    def test_of_a_job_is_not_known(self, place, capsys, arguments):
        line = "torchrun --nproc_per_node 2 train.py --output_dir out --max_steps $STEPS"
        (place / "job.slurm").write_text(f"#!/bin/bash\n#SBATCH --gres=gpu:2\n{line}\n")
        run, found = checked(capsys, "sbatch", "job.slurm")
        assert (run["launch"]["arguments"]["max_steps"], found) == (None, [])
        _, [found] = checked(capsys, "bash", "job.slurm")
        assert found["code"] == "LCH013"
