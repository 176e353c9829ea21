"""`explain` in a few lines."""

import pytest

from cfglint.cli import main

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nlearning_rate: 2.0e-5\nnum_train_epochs: 2\n"


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """The lines that `explain` prints for a content."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def lines(text, *arguments, name="train.yaml"):
        (tmp_path / name).write_text(text)
        assert main(["explain", name, *arguments]) == 0
        return capsys.readouterr().out.splitlines()

    return lines


def test_a_usual_run_takes_at_most_eight_lines(told):
    lines = told(TRAINER, "--gpus", "8", "--num-examples", "12800", "--target", "transformers==4.57.1")
    assert lines == [
        "No errors found in this file.",
        "train.yaml: transformers 4.57.1 (--target)",
        "batch      256 = 4 x 8 x 8 (micro batch x accumulation x data parallel)",
        "steps      100, 2 epochs, 50 per epoch, warm-up 0",
        "rate       2e-5, linear (default), adamw_torch_fused (default), fp32",
        "memory     pass --model and --gpu-memory to see whether it fits",
        "`cfglint explain --all` shows every number and where it comes from.",
    ]


def test_what_is_not_known_names_the_options(told):
    lines = told(TRAINER)
    assert "batch      not known, micro batch 4, accumulation 8" in lines
    told_in_full = " ".join(" ".join(lines).split())
    assert "not known GPUs, data parallel, global batch, steps per epoch, total steps: pass --gpus N and --num-examples N" in told_in_full


PACKED = "the data; `max_steps` would set the length"
AXOLOTL = (
    "base_model: a\nsample_packing: true\nsequence_len: 512\nmicro_batch_size: 2\nlearning_rate: 0.0002\n"
    "datasets:\n- path: b\n  type: alpaca\n"
)
TUNED = "model_name_or_path: Qwen/Qwen2.5-0.5B\nstage: sft\ndo_train: true\ndataset: a\ntemplate: qwen\noutput_dir: out\npacking: true\n"
OWN_LOOP = (
    "import torch\nfrom accelerate import Accelerator\nfrom torch.utils.data import DataLoader\naccelerator = Accelerator()\n"
    "model = torch.nn.Linear(2, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n"
    "model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows(), batch_size=4))\n"
    "for batch in loader:\n    accelerator.backward(model(batch).mean())\n    optimizer.step()\n"
)


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (TUNED, "sft.yaml", f"steps per epoch, total steps: blocks after packing, which depend on {PACKED}"),
        (
            AXOLOTL,
            "a.yml",
            "total steps: depends on the packed lengths",
        ),
        (OWN_LOOP, "train.py", "total steps: the batches of its own data loader are not counted"),
    ],
)
def test_steps_that_no_option_tells_have_a_reason(told, text, name, why):
    in_full = " ".join(" ".join(told(text, "--gpus", "8", "--num-examples", "1000", name=name)).split())
    assert f"not known {why}" in in_full


@pytest.mark.parametrize(
    ("total", "warmup", "steps"),
    [('"auto"', '"auto"', "scheduled steps auto"), ("1000", "10", "scheduled steps 1,000, warm-up 10")],
)
def test_the_schedule_of_an_engine_is_told_once(told, total, warmup, steps):
    scheduler = f'{{"type": "WarmupDecayLR", "params": {{"total_num_steps": {total}, "warmup_num_steps": {warmup}}}}}'
    text = f'{{"train_batch_size": 8, "optimizer": {{"type": "Adam"}}, "scheduler": {scheduler}}}'
    assert f"steps      {steps}" in told(text, name="ds_config.json")


def test_a_batch_that_is_no_product_is_told_with_its_parts(told):
    line = "python3 -m verl.trainer.main_ppo data.train_batch_size=64 data.train_files=a data.val_files=a actor_rollout_ref.model.path=m "
    line += "actor_rollout_ref.rollout.n=4\n"
    assert "batch      64, 4 samples per prompt, mini batch 256 (default), data parallel 8" in told(line, name="run.sh")


def test_the_keys_of_a_refused_run_are_told(told):
    lines = told(
        "base_model: b\ndatasets: [{path: p, type: sharegpt.x}]\nmicro_batch_size: 2\nnum_epochs: 3\nlearning_rate: 1.0e-5\n", name="a.yml"
    )
    assert lines[0].startswith("It would not start")
    assert {"steps      3 epochs", "rate       1e-5"} <= {*lines}


def test_the_gpus_that_are_asked_about(told, tmp_path):
    (tmp_path / "train.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    )
    lines = told("torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4\n", "--gpus", "4", name="run.sh")
    assert "As written: 8 GPUs (run.sh:1); on 4: global batch 16 = 4 x 1 x 4." in lines


def test_errors_come_first(told):
    lines = told(TRAINER + "fp16: true\nbf16: true\n", "--run", "--gpus", "8")
    assert lines[0] == "It would not start: 1 error, see `cfglint check`."
    assert "batch      256 = 4 x 8 x 8 (micro batch x accumulation x data parallel)" in lines


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TRAINER.replace("size: 4", "size: ${SIZE}"), "`per_device_train_batch_size` is a placeholder"),
        (TRAINER + "{% if x %}\nseed: 1\n{% endif %}\n", "the file is a template, which cannot be read before it is filled"),
    ],
)
def test_a_template_is_told_to_be_one(told, text, why):
    assert " ".join(" ".join(told(text)).split()).startswith(f"Whether it would start is not known: {why}.")
