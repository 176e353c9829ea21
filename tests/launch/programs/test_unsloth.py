"""Programs that import unsloth, which replaces the classes of TRL."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

GRPO = "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig('o', per_device_train_batch_size={}, num_generations=6{})\n"
TRAINER = "GRPOTrainer(model, args=args, tokenizer=tokenizer, reward_funcs=reward).train()\n"
ACCUMULATED = ", gradient_accumulation_steps=2"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """The run of a program on one GPU, and the codes that are found."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(code, trl="0.17.0", transformers="4.51.3"):
        (tmp_path / "train.py").write_text(code)
        targets = ["--target", f"trl=={trl}", "--target", f"transformers=={transformers}"]
        main(["check", "train.py", "--gpus", "1", *targets, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found["runs"][0], [each["code"] for each in found["diagnostics"] if each["severity"] != "info"]

    return report


def test_its_trainers_accept_a_tokenizer(check):
    code = GRPO.format(6, "") + TRAINER
    assert check(code)[1] == ["KEY206"]
    assert check("import unsloth\n" + code)[1] == []


def test_completions_change_the_micro_batch(check):
    code = GRPO.format(4, ACCUMULATED) + TRAINER.replace("tokenizer=tokenizer, ", "")
    assert check(code)[1] == ["TRL030"]
    run, errors = check("import unsloth\n" + code)
    assert (run["resolved"]["micro_batch"], errors) == (None, [])
    assert check("import unsloth\n" + GRPO.format(12, ACCUMULATED))[0]["resolved"]["global_batch"] == 24


def test_its_defaults_depend_on_its_release(check):
    run, _ = check("import unsloth\n" + GRPO.format(6, ""))
    assert (run["resolved"]["micro_batch"], run["resolved"]["accumulation"]) == (6, None)


def test_its_configs_have_further_parameters(check):
    code = "from trl import SFTConfig\nargs = SFTConfig('o', unsloth_num_chunks=2)\n"
    assert (check(code)[1], check("from unsloth import FastLanguageModel\n" + code)[1]) == (["TRL010"], [])


def test_a_class_of_its_own_is_one_of_trl(check):
    code = "from unsloth import UnslothTrainer, UnslothTrainingArguments\nargs = UnslothTrainingArguments(output_dir='o', {})\n"
    run, errors = check(code.format("per_device_train_batch_size=2, gradient_accumulation_steps=8, embedding_learning_rate=1e-5"))
    assert (run["kinds"], run["resolved"]["global_batch"], errors) == (["trl"], 16, [])


def test_its_configs_require_no_folder(check):
    code = "from trl import SFTConfig\nargs = SFTConfig(per_device_train_batch_size=2)\n"
    assert (check(code, "0.13.0", "4.46.2")[1], check("import unsloth\n" + code, "0.13.0", "4.46.2")[1]) == (["TRL006"], [])


def test_an_import_in_a_branch_that_is_not_taken_changes_nothing(check):
    flag = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--quick', action='store_true')\nargs = p.parse_args({})\n"
    code = flag + "if args.quick:\n    import unsloth\n" + GRPO.format(6, "") + TRAINER
    assert check(code.replace("{}", "[]"))[1] == ["KEY206"]
    assert check(code.replace("{}", "['--quick']"))[1] == []
