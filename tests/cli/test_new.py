"""`cfglint new`: what is written where, what is refused, what is asked."""

from __future__ import annotations

import builtins
import json
import os
import sys
from unittest.mock import ANY

import pytest
import yaml

from cases import each_case
from cfglint.cli import main
from cfglint.generators import RUN, kinds
from records import check_parts

BATCH = ("--gpus", "8", "--global-batch", "64", "--max-micro-batch", "4")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def new(folder, capsys):
    """Run `cfglint new`: (exit status, standard output, standard error)."""

    def run(*arguments):
        status = main(["new", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def terminal(monkeypatch):
    """A function that sits at the terminal and gives its answers in order; it returns the questions."""
    asked = []

    def sit(*answers):
        waiting = list(answers)

        def answer(question):
            asked.append(question)
            if not waiting:
                raise EOFError
            return waiting.pop(0)

        monkeypatch.setattr(builtins, "input", answer)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        return asked

    return sit


class TestWriting:
    def test_a_set_goes_into_this_folder(self, new, folder):
        status, out, err = new("run", *BATCH)
        assert (status, out) == (0, "")
        assert sorted(os.listdir(folder)) == ["accelerate.yaml", "ds_config.json", "train.yaml"]
        assert "cfglint: wrote train.yaml\n" in err

    def test_the_first_line_names_a_schema_that_is_there(self, new, folder, capsys):
        new("neox", *BATCH, "--model", "pythia-160m", "--steps", "100", "-o", "conf")
        assert "language-server" not in (folder / "conf" / "model.yml").read_text()
        main(["schema", "neox", "--draft", "7"])
        (folder / "conf" / "neox.schema.json").write_text(capsys.readouterr().out)
        new("neox", *BATCH, "--model", "pythia-160m", "--steps", "100", "-o", "conf", "--force")
        assert (folder / "conf" / "model.yml").read_text().startswith("# yaml-language-server: $schema=neox.schema.json\n")

    def test_what_is_written_passes_check(self, new, capsys):
        new("run", *BATCH, "-o", "configs")
        files = [f"configs/{name}" for name in ("train.yaml", "ds_config.json", "accelerate.yaml")]
        assert main(["check", *files, "--run", "--strict-keys", "--fail-on", "warning"]) == 0
        assert "no findings" in capsys.readouterr().err

    def test_fix_takes_a_set_to_other_gpus(self, new, folder):
        new("run", *BATCH)
        assert main(["fix", "train.yaml", "ds_config.json", "accelerate.yaml", "--run", "--gpus", "4"]) == 0
        read = [yaml.safe_load((folder / name).read_text()) for name in ("train.yaml", "accelerate.yaml")]
        assert (read[0]["gradient_accumulation_steps"], read[1]["num_processes"]) == (4, 4)

    def test_a_file_can_be_named(self, new, folder):
        assert new("huggingface", *BATCH, "-o", "configs/mine.yml")[0] == 0
        assert yaml.safe_load((folder / "configs" / "mine.yml").read_text())["per_device_train_batch_size"] == 4

    def test_a_dash_prints_and_writes_nothing(self, new, folder):
        status, out, err = new("deepspeed", *BATCH, "-o", "-")
        assert (status, os.listdir(folder)) == (0, [])
        assert json.loads(out)["train_batch_size"] == 64
        assert "cfglint: ds_config.json: gradient_clipping 1.0: the default since 0.19.3; before it was off\n" in err

    def test_several_files_are_printed_with_their_names(self, new):
        out = new("run", "--framework", "neox", *BATCH, "--model", "pythia-70m", "--steps", "100", "--output", "-")[1]
        assert [line for line in out.splitlines() if line.startswith("==>")] == ["==> model.yml <==", "==> cluster.yml <=="]

    def test_nothing_is_overwritten_unasked(self, new, folder):
        (folder / "ds_config.json").write_text("mine")
        status, _, err = new("run", *BATCH)
        assert (status, os.listdir(folder)) == (2, ["ds_config.json"])
        assert "ds_config.json: there already; --force replaces, -o - prints" in err
        assert (folder / "ds_config.json").read_text() == "mine"

    def test_force_replaces(self, new, folder):
        (folder / "ds_config.json").write_text("mine")
        assert new("deepspeed", *BATCH, "--force")[0] == 0
        assert json.loads((folder / "ds_config.json").read_text())["train_batch_size"] == 64

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("run", "-o", "all.yaml"), "these are 3 files; name a folder"),
            (("deepspeed", "-o", "ds.yaml"), "a deepspeed file ends in .json"),
            (("neox", "-o", "m.yaml", "--model", "pythia-70m", "--steps", "9"), "a neox file ends in .yml"),
            (("huggingface", "-o", "/proc/no/where"), "/proc/no/where/train.yaml: "),
        ],
    )
    def test_places_that_cannot_be(self, new, arguments, says):
        status, _, err = new(*arguments, *BATCH)
        assert status == 2
        assert says in err


class TestFacts:
    def test_a_zero_is_a_fact_too(self, new):
        out = new("accelerate", "--gpus", "8", "--zero", "0", "-o", "-")[1]
        assert yaml.safe_load(out)["deepspeed_config"]["zero_stage"] == 0

    def test_tokens_can_be_short(self, new):
        out = new("huggingface", *BATCH, "--tokens", "1e9", "--seq-length", "2048", "-o", "-")[1]
        assert yaml.safe_load(out)["max_steps"] == 7630

    def test_weights_can_be_moved(self, new):
        out = new("deepspeed", *BATCH, "--zero", "3", "--offload-weights", "-o", "-")[1]
        assert json.loads(out)["zero_optimization"]["offload_param"] == {"device": "cpu"}

    @each_case(("flag", "value"), [("--lr", "0"), ("--lr", "nan"), ("--warmup", "-1"), ("--gpus", "0"), ("--zero", "4")])
    def test_numbers_out_of_range(self, new, flag, value, capsys):
        with pytest.raises(SystemExit) as stopped:
            new("huggingface", flag, value)
        assert stopped.value.code == 2
        assert flag in capsys.readouterr().err

    def test_a_batch_that_cannot_be_had(self, new, folder):
        status, _, err = new("huggingface", "--gpus", "8", "--global-batch", "100")
        assert (status, os.listdir(folder)) == (1, [])
        assert "nearest global batches: 96, 104" in err

    def test_a_contradiction(self, new):
        status, _, err = new("huggingface", *BATCH, "--offload")
        assert (status, err) == (2, "cfglint: --offload requires --zero 1, 2 or 3\n")

    def test_versions_come_from_the_repository(self, new, folder):
        (folder / "pyproject.toml").write_text("")
        (folder / "requirements.txt").write_text("transformers==4.57.1\n")
        _, out, err = new("huggingface", *BATCH, "--warmup", "0.1", "-o", "-")
        assert yaml.safe_load(out)["warmup_ratio"] == 0.1
        assert "for transformers 4.57.1 (requirements.txt)" in err

    def test_a_flag_wins_over_the_repository(self, new, folder):
        (folder / "requirements.txt").write_text("transformers==4.57.1\n")
        out = new("huggingface", *BATCH, "--warmup", "0.1", "--target", "transformers==5.1.0", "-o", "-")[1]
        assert yaml.safe_load(out)["warmup_steps"] == 0.1


class TestFrom:
    def test_lists_what_has_no_counterpart(self, new, folder):
        (folder / "old.yaml").write_text("per_device_train_batch_size: 8\nmax_steps: 500\neval_strategy: epoch\nlearning_rate: 2.0e-5\n")
        status, out, err = new("neox", "--from", "old.yaml", "--gpus", "4", "--model", "pythia-160m", "-o", "-")
        assert status == 0
        assert yaml.safe_load(out)["train_iters"] == 500
        assert "no counterpart, left out: eval_strategy epoch (old.yaml:3)\n" in err

    def test_a_flag_wins_over_the_file(self, new, folder):
        (folder / "old.yaml").write_text("per_device_train_batch_size: 8\nnum_train_epochs: 2\nlearning_rate: 2.0e-5\n")
        out = new("deepspeed", "--from", "old.yaml", "--gpus", "4", "--steps", "100", "--micro-batch", "2", "--lr", "1e-3", "-o", "-")[1]
        read = json.loads(out)
        assert (read["train_batch_size"], read["train_micro_batch_size_per_gpu"]) == (32, 2)
        assert (read["optimizer"]["params"]["lr"], read["scheduler"]["params"]["total_num_steps"]) == (1e-3, 100)

    def test_the_machines_of_the_file_stay_unless_other_gpus_are_asked_for(self, new, folder):
        (folder / "old.yaml").write_text(
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\nmachine_rank: 0\n"
        )
        read = [yaml.safe_load(new("accelerate", "--from", "old.yaml", *more, "-o", "-")[1]) for more in ((), ("--gpus", "8"))]
        assert [(each["num_machines"], each["num_processes"]) for each in read] == [(2, 16), (1, 8)]

    @pytest.mark.parametrize("text", ["a: [", None])
    def test_a_file_that_cannot_be_read(self, new, folder, text):
        if text is not None:
            (folder / "old.yaml").write_text("per_device_train_batch_size: 8\nnum_train_epochs: 2\n" + text)
        status, _, err = new("deepspeed", "--from", "old.yaml", "--gpus", "4")
        assert status == 2
        assert "old.yaml" in err


class TestTerminal:
    def test_asks_shows_and_writes(self, new, folder, terminal):
        asked = terminal("", "", "8", "100000", "", "", "n", "1e-5", "100", "8", "256", "4", "y")
        status, out, _ = new()
        assert status == 0
        assert "nearest global batches: 96, 104" in out
        assert [line.split()[:4] for line in out.splitlines() if line.split()[:1] == ["16"]][-1] == ["16", "2", "4", "4"]
        read = yaml.safe_load((folder / "train.yaml").read_text())
        assert (read["per_device_train_batch_size"], read["gradient_accumulation_steps"], read["learning_rate"]) == (4, 8, 1e-5)
        assert all("--" in question or "KIND" in question or "Write it" in question for question in asked)

    def test_each_kind_is_explained_and_the_gpus_are_those_of_the_configuration(self, new, folder, terminal):
        (folder / "cfglint.toml").write_text("gpus = 4\n")
        asked = terminal("deepspeed", "q")
        _, out, _ = new()
        assert "  trl           the file of `trl sft` and TRL's other trainers\n" in out
        assert asked[1] == "GPUs, --gpus [4]: "

    def test_neox_asks_for_the_model(self, new, folder, terminal):
        terminal("8", "pythia-70m", "1000", "", "", "64", "8", "n", "128", "", "")
        assert new("neox")[0] == 0
        read = yaml.safe_load((folder / "model.yml").read_text())
        assert (read["num_layers"], read["train_micro_batch_size_per_gpu"], read["gradient_accumulation_steps"]) == (6, 8, 2)

    def test_trl_asks_for_the_trainer_whose_rate_it_offers(self, new, folder, terminal):
        asked = terminal("8", "", "", "", "grpo", *[""] * 5)
        status, out, err = new("trl")
        assert status == 0
        assert "  1e-06: TRL's own default\n" in out
        assert "TRL trainer (sft, dpo, kto, reward, grpo, rloo), --trainer [sft]: " in asked
        assert "trl grpo --config train.yaml" in err

    def test_the_last_line_starts_the_run(self, new, terminal):
        terminal(*[""] * 20)
        assert new("neox")[2].splitlines()[-1] == "cfglint: start it with: python deepy.py train.py model.yml"

    def test_an_answer_that_is_none_is_asked_again(self, new, folder, terminal):
        asked = terminal("none", "0", "4", "5", "")
        status, out, _ = new("accelerate")
        assert (status, len(asked)) == (0, 5)
        assert "  none: expected a positive integer\n  0: expected a positive integer\n  5: expected one of none, 0, 1, 2, 3\n" in out
        assert "  not asked: bf16 (--precision), all on the GPUs (--offload)\n" in out

    def test_the_end_of_input_ends_it(self, new, folder, terminal):
        terminal("huggingface")
        status, _, err = new()
        assert (status, os.listdir(folder)) == (2, [])
        assert "every question has a flag" in err

    @pytest.mark.parametrize("answer", ["q", "quit"])
    def test_a_way_out(self, new, folder, terminal, answer):
        terminal("", "", "", answer)
        assert new() == (2, ANY, "cfglint: nothing was written; every question has a flag, see `cfglint help new`\n")
        assert os.listdir(folder) == []

    def test_a_way_back(self, new, folder, terminal):
        """The answers before the one that is taken back stay, and are not asked again."""
        asked = terminal("b", "accelerate", "4", "b", "2", "3")
        assert new()[0] == 0
        assert [question.partition(",")[0][:10] for question in asked] == ["What to ma"] * 2 + ["GPUs", "ZeRO stage", "GPUs", "ZeRO stage"]
        text = (folder / "accelerate.yaml").read_text()
        assert (yaml.safe_load(text)["num_processes"], "zero_stage: 3" in text) == (2, True)

    def test_an_interrupt_says_that_nothing_was_written(self, new, folder, terminal, monkeypatch):
        terminal()
        monkeypatch.setattr(builtins, "input", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        assert new() == (130, ANY, "cfglint: nothing was written\n")
        assert os.listdir(folder) == []

    def test_questions_of_each_kind(self, new, terminal, root, updating):
        """What is asked if every answer is Enter, with the default in brackets."""
        lines = []
        for kind in (RUN, *kinds()):
            asked = terminal(*[""] * 20)
            asked.clear()
            new(kind, "-o", "-")
            lines += [f"=== {kind}", *map(str.rstrip, asked)]
        check_parts(root / "tests" / "cli" / "expected" / "questions", "the questions of `cfglint new KIND`", lines, updating)

    @pytest.mark.parametrize("kind", [RUN, *(pytest.param(kind, marks=pytest.mark.slow) for kind in kinds())])
    def test_every_question_has_a_default(self, new, folder, terminal, kind):
        """Enter alone gives files that pass, with a rate that people train with."""
        terminal(*[""] * 20)
        assert new(kind)[0] == 0
        for name in os.listdir(folder):
            text = (folder / name).read_text()
            assert "1.0e-3" not in text
            assert "$schema" not in text

    def test_the_plan_is_shown_before_the_micro_batch_is_asked(self, new, terminal, capsys):
        terminal(*[""] * 8, "512")
        out = new()[1]
        assert "Other splits that work" in out
        assert " 512 " in out

    def test_flags_leave_no_question(self, new, terminal):
        asked = terminal()
        assert new("huggingface", "--gpus", "1", "-o", "-")[0] == 0
        assert asked == []

    def test_without_a_terminal_nothing_is_asked(self, new, monkeypatch):
        monkeypatch.setattr(builtins, "input", pytest.fail)
        status, _, err = new("huggingface")
        assert (status, err) == (2, "cfglint: --gpus is required\n")
        assert new()[2] == f"cfglint: what kind of config? {', '.join((*kinds(), 'run'))}\n"
