"""`cfglint.preflight` inside a program, with the installed transformers and TRL: its numbers are those that the Trainer has."""

from __future__ import annotations

import pytest

import cfglint

torch = pytest.importorskip("torch", reason="torch is not installed: nothing to compare with")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with")
pytest.importorskip("accelerate", reason="accelerate is not installed: the Trainer needs it")

ROWS = [{"input_ids": [1, 2, 3], "labels": [1, 2, 3]}] * 40


def tiny():
    config = transformers.LlamaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, vocab_size=32
    )
    return transformers.LlamaForCausalLM(config)


def arguments(tmp_path, **changes):
    return transformers.TrainingArguments(output_dir=str(tmp_path / "out"), report_to=[], use_cpu=True, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"per_device_train_batch_size": 3, "gradient_accumulation_steps": 4, "num_train_epochs": 2},
        {"max_steps": 5, "lr_scheduler_type": "cosine", "warmup_steps": 2},
        {"per_device_train_batch_size": 7, "dataloader_drop_last": True, "eval_strategy": "no", "save_strategy": "epoch"},
        {"accelerator_config": {"split_batches": False}, "optim": "adafactor", "logging_steps": 0.1},
    ],
)
def test_the_steps_are_those_of_the_trainer(tmp_path, capsys, changes):
    trainer = transformers.Trainer(tiny(), arguments(tmp_path, **changes), train_dataset=ROWS, callbacks=[cfglint.Preflight()])
    [run] = cfglint.preflight(trainer).runs
    done = trainer.train()
    assert run.verdict == "accept", [each.message for each in run.diagnostics]
    assert run.resolved["total_steps"] == done.global_step
    assert run.resolved["micro_batch"] == trainer.args.train_batch_size
    assert capsys.readouterr().out.count("cfglint: It would start") == 2  # the call and the callback


@pytest.mark.parametrize("name", ["SFT", "DPO", "GRPO", "Reward"])
def test_the_configs_of_trl_are_accepted_as_they_are(tmp_path, name):
    trl = pytest.importorskip("trl", reason="trl is not installed: its configs are not compared")
    kept = getattr(trl, f"{name}Config")(output_dir=str(tmp_path), report_to=[], use_cpu=True, bf16=False)
    result = cfglint.preflight(kept, num_examples=800)
    assert [each.message for each in result.diagnostics if each.severity == "error"] == []
