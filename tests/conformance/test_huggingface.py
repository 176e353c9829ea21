"""What cfglint predicts for a trainer file, and what the installed transformers does with it on one CPU."""

from __future__ import annotations

import os

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

torch = pytest.importorskip("torch", reason="torch is not installed: nothing to compare with")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with")
accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed: the Trainer needs it")

SAMPLES = 40
CONFIG, INIT, STEP = "config", "init", "first-step"

CASES = [
    "seed: 1\n",
    "per_device_train_batch_size: 3\ngradient_accumulation_steps: 4\nnum_train_epochs: 2.5\n",
    "max_steps: 7\nwarmup_steps: 2\n",
    "max_steps: 0\n",
    "dataloader_drop_last: true\nper_device_train_batch_size: 64\n",
    "dataloader_drop_last: true\nper_device_train_batch_size: 7\n",
    "learning_rate: 1e-5\n",
    "learning_rate: -0.1\n",
    "weight_decay: 1e-2\n",
    "adam_beta1: 0\n",
    "adam_beta2: 1.0\n",
    "adam_epsilon: null\n",
    'per_device_train_batch_size: "8"\n',
    "per_device_train_batch_size: 8.0\n",
    "per_device_train_batch_size: true\n",
    "gradient_accumulation_steps: 4.0\n",
    "gradient_accumulation_steps: 0\n",
    "gradient_accumulation_steps: -2\n",
    'num_train_epochs: "3"\n',
    "num_train_epochs: 0\n",
    'max_steps: "10"\n',
    "max_steps: 10.0\n",
    "eval_strategy: no\n",
    "save_strategy: EPOCH\n",
    "lr_scheduler_type: Cosine\n",
    "lr_scheduler_type: cosine\nlr_scheduler_kwargs: {min_lr: 0.1}\n",
    "lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 1.0e-6}\n",
    "lr_scheduler_type: cosine_with_min_lr\n",
    "lr_scheduler_type: reduce_lr_on_plateau\n",
    "lr_scheduler_type: constant\nlr_scheduler_kwargs: {foo: 1}\n",
    "lr_scheduler_type: polynomial\nlr_scheduler_kwargs: {lr_end: 1.0}\n",
    "optim: adamw\n",
    "optim: sgd\noptim_args: momentum\n",
    "optim: adafactor\n",
    "logging_steps: 0\n",
    "logging_steps: 1.5\n",
    "save_steps: abc\n",
    "eval_steps: null\n",
    "logging_steps: -.inf\n",
    "save_steps: -.inf\n",
    "logging_steps: .nan\n",
    "eval_strategy: steps\nlogging_steps: -1\n",
    "load_best_model_at_end: true\n",
    "load_best_model_at_end: true\neval_strategy: steps\nsave_steps: 300\neval_steps: 200\n",
    "load_best_model_at_end: true\neval_strategy: steps\nsave_steps: 0.3\neval_steps: 0.1\n",
    "save_strategy: best\neval_strategy: epoch\n",
    "fp16_full_eval: true\nbf16_full_eval: true\nuse_cpu: true\n",
    "warmup_steps: -1\n",
    "warmup_steps: 1.0\n",
    "dataloader_prefetch_factor: 2\n",
    "dataloader_persistent_workers: true\n",
    "torch_empty_cache_steps: 0\n",
    "accelerator_config: {split_batches: true}\n",
    "accelerator_config: {foo: 1}\n",
    "accelerator_config: {gradient_accumulation_kwargs: {num_steps: 2}}\n",
    "accelerator_config: {gradient_accumulation_kwargs: {num_steps: 2}}\ngradient_accumulation_steps: 2\n",
    "accelerator_config: {use_configured_state: true}\n",
    "ddp_backend: gloo\n",
    "fsdp: full_shard\n",
    "fsdp: full-shard\n",
    "fsdp_config: {auto_wrap_policy: foo}\n",
    "report_to: foo\n",
    "log_level: verbose\n",
    "seed: -1\n",
    "max_grad_norm: null\n",
    "label_names: labels\n",
    "neftune_noise_alpha: null\n",
    "train_sampling_strategy: foo\n",
    "foo: 1\n",
    "- a\n",
    "",
]


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return {"x": torch.ones(2), "labels": torch.tensor(1.0)}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Linear(2, 1)

    def forward(self, x, labels=None):
        return {"loss": ((self.weight(x).squeeze(-1) - labels) ** 2).mean()}


class Stop(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = True


def really(path):
    """(stage of the refusal or None, exception, what the trainer had computed) of the real thing."""
    stage = CONFIG
    try:
        (args,) = transformers.HfArgumentParser((transformers.TrainingArguments,)).parse_yaml_file(str(path))
        stage = INIT
        trainer = transformers.Trainer(Model(), args, train_dataset=Rows(), eval_dataset=Rows(), callbacks=[Stop()])
        stage = STEP
        trainer.train()
    except Exception as refusal:
        return stage, refusal, {}
    return None, None, {"total_steps": trainer.state.max_steps}


def predicted(text):
    facts = LaunchFacts(1, SAMPLES, {"transformers": transformers.__version__}, complete=True, kind_given=True, strict_keys=True)
    return CheckedRun([parse("train.yaml", text, "yaml")], ["huggingface"], facts)


@pytest.mark.parametrize("text", CASES)
def test_the_trainer_agrees(text, tmp_path, monkeypatch):
    if text == "fsdp: full_shard\n" and transformers.__version__ < "5":
        pytest.skip("4.x looks for a GPU first")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("ACCELERATE_", "FSDP_"))]:
        monkeypatch.delenv(name)
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    path = tmp_path / "train.yaml"
    if text and not text.startswith("-"):
        quiet = "" if "save_" in text or "best" in text else "save_strategy: 'no'\n"
        text = f"output_dir: out\n{quiet}{text}"
    path.write_text(text)
    stage, refusal, computed = really(path)
    run = predicted(text)
    assert (run.verdict == "reject") == (refusal is not None), refusal or [each.message for each in run.diagnostics]
    if refusal is not None:
        expected = [each.exception.partition(":")[0] for each in run.diagnostics if each.severity == "error"]
        assert type(refusal).__name__ in expected
        assert (run.fails_at == CONFIG) == (stage == CONFIG)
    elif "max_steps: 0" not in text:
        assert run.resolved["total_steps"] == computed["total_steps"]
