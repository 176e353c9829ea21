"""Accounts, plans, reports and memory estimates of the examples, line by line.

`CFGLINT_UPDATE=1` rewrites the records; the difference is to be read.
"""

from __future__ import annotations

import json
import re

import pytest

from cfglint.cli import main
from cfglint.report import FORMATS
from records import MARK, check_parts

FACTS = ("--num-examples", "12345")
FILES = {
    **{
        name: ("--gpus", "16", f"examples/good/{name}")
        for name in ("axolotl.yml", "deepspeed.json", "llamafactory.yaml", "neox-125M.yml", "trainer.yaml", "trl-sft.yaml")
    },
    "trainer-zero3": ("--gpus", "16", "--run", "examples/good/trainer-zero3/train.yaml"),
    "nine-over-two": ("--run", "examples/nine-over-two/train.yaml", "examples/nine-over-two/launch.yaml"),
    "pipeline-and-tensor": ("--gpus", "8", "examples/published/pipeline-and-tensor.yml"),
}
SCHEDULERS = {
    "WarmupLR": {"warmup_num_steps": 10},
    "WarmupDecayLR": {"total_num_steps": 500, "warmup_num_steps": 50},
    "WarmupCosineLR": {"total_num_steps": 500, "warmup_num_steps": 50, "cos_min_ratio": 0.1},
    "OneCycle": {"cycle_min_lr": 0.0001, "cycle_max_lr": 0.001, "cycle_first_step_size": 100},
    "LRRangeTest": {"lr_range_test_min_lr": 0.0001, "lr_range_test_step_size": 200},
}
MODEL = ("--model", "llama-3.1-8b", "--gpu-memory", "80GB", "--seq-length", "4096", "--gpus", "8", *FACTS)
TRAINER = "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n"
TRL = "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\nmax_length: 2048\nmodel_name_or_path: m\ndataset_name: d\n"
FACTORY = (
    "model_name_or_path: m\ndataset: d\ntemplate: llama3\nstage: sft\ndo_train: true\noutput_dir: out\nbf16: true\ncutoff_len: 2048\n"
    "per_device_train_batch_size: 2\n"
)
AXOLOTL = (
    "base_model: m\ndatasets: [{path: d, type: alpaca}]\noutput_dir: out\n"
    "sequence_len: 2048\nmicro_batch_size: 2\nbf16: true\nlearning_rate: 0.0001\nnum_epochs: 1\n"
)
MEMORY = {
    "huggingface": (
        TRAINER,
        *("optim: adafactor", "optim: sgd", "optim: adamw_bnb_8bit", "gradient_checkpointing: true", "use_liger_kernel: true"),
        *("bf16_full_eval: true", "gradient_accumulation_steps: 4", "fsdp: full_shard", "fsdp: shard_grad_op", "deepspeed: ds.json"),
    ),
    "trl": (
        TRL,
        *("use_peft: true", "use_peft: true\nload_in_4bit: true", "packing: true", "padding_free: true", "optim: adafactor"),
        *("gradient_checkpointing: false", "use_liger_kernel: true", "activation_offloading: true"),
    ),
    "llamafactory": (
        FACTORY,
        *("finetuning_type: full", "finetuning_type: freeze", "lora_rank: 64\nlora_target: all", "quantization_bit: 4"),
        *("stage: dpo", "packing: true", "enable_liger_kernel: true", "flash_attn: disabled", "pure_bf16: true\nfinetuning_type: full"),
        *("stage: rm", "stage: kto", "stage: pt", "stage: pt\npacking: false", "finetuning_type: oft", "use_galore: true"),
        *("quantization_bit: 8", "quantization_bit: 4\ndouble_quantization: false", "quantization_bit: 4\nupcast_layernorm: true"),
        *("lora_dropout: 0.1", "lora_rank: 0", "additional_target: embed_tokens,lm_head", "lora_target: q_proj,v_proj", "pure_bf16: true"),
        *("disable_gradient_checkpointing: true", "neat_packing: true", "bf16: false", "bf16: false\nfp16: true", "cutoff_len: 512"),
    ),
    "axolotl": (
        AXOLOTL,
        *("adapter: lora\nlora_r: 16\nlora_target_linear: true", "adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_linear: true"),
        *("sample_packing: true", "gradient_checkpointing: true", "flash_attention: true", "optimizer: adamw_bnb_8bit"),
        *("liger_rms_norm: true", "liger_glu_activation: true", "sequence_len: 512", "bf16: false", "bf16: false\nfp16: true"),
        *(
            "adapter: lora\nlora_target_modules: [q_proj, v_proj]",
            "adapter: lora\nlora_dropout: 0.1\nlora_r: 0",
            "load_in_8bit: true\nadapter: lora",
        ),
        *(
            "micro_batch_size: 4",
            "gradient_accumulation_steps: 4",
            "optimizer: sgd",
            "optimizer: muon",
            "plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_fused_linear_cross_entropy: true",
        ),
    ),
}
STAGE = '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}'


@pytest.fixture
def printed(capsys):
    def output(*arguments):
        main([*map(str, arguments)])
        return capsys.readouterr().out

    return output


@pytest.fixture
def is_recorded(root, updating):
    def check(name, text):
        lines = text.splitlines()
        first = [] if lines[0].startswith(MARK) else [f"{MARK}{name}"]
        check_parts(root / "tests" / "report" / "expected" / name, "a report as it is printed", [*first, *lines], updating)

    return check


def content(page):
    """The header and the content of a page, an element a line."""
    return re.search(r"<header.*</main>", page, re.DOTALL).group().replace("><", ">\n<")


@pytest.mark.parametrize("name", FILES)
def test_accounts(name, example_project, printed, monkeypatch, is_recorded):
    monkeypatch.chdir(example_project)
    arguments = ("explain", "--all", *FILES[name], *FACTS)
    is_recorded(name, f"{printed(*arguments)}\n{content(printed(*arguments, '--format', 'html'))}")


def test_schedulers(printed, tmp_path, monkeypatch, is_recorded):
    monkeypatch.chdir(tmp_path)
    texts = []
    for name, params in SCHEDULERS.items():
        config = {"train_batch_size": 64, "optimizer": {"type": "AdamW"}, "scheduler": {"type": name, "params": params}}
        (tmp_path / f"{name}.json").write_text(json.dumps(config))
        arguments = ("explain", "--all", "--kind", "deepspeed", "--gpus", "8", f"{name}.json", *FACTS)
        texts += [f"{MARK}{name}", printed(*arguments), f"{MARK}{name} as a page", content(printed(*arguments, "--format", "html"))]
    is_recorded("schedulers", "\n".join(texts))


@pytest.mark.parametrize("name", ["deepspeed.json", "trainer.yaml", "neox-125M.yml"])
def test_plans(name, example_project, printed, monkeypatch, is_recorded):
    monkeypatch.chdir(example_project)
    arguments = ("plan", f"examples/good/{name}", "--from-gpus", "8", "--gpus", "4,6,8,48", *FACTS, "--time-per-step", "2.5")
    is_recorded(f"plan-{name}", f"{printed(*arguments)}\n{content(printed(*arguments, '--format', 'html'))}")


@pytest.mark.parametrize("form", FORMATS)
def test_reports(form, example_project, printed, monkeypatch, is_recorded):
    monkeypatch.chdir(example_project)
    monkeypatch.setenv("COLUMNS", "100")
    files = ("batch-mismatch.json", "scheduler-without-optimizer.json")
    text = printed("check", "--gpus", "8", "--format", form, *(f"examples/bad/{name}" for name in files))
    is_recorded(f"check-{form}", content(text) if form == "html" else text)


@pytest.mark.parametrize("kind", MEMORY)
def test_memory(kind, printed, tmp_path, monkeypatch, is_recorded):
    """What each setting changes in the estimate."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(STAGE)
    texts = []
    base, *settings = MEMORY[kind]
    for setting in ("", *settings):
        added = dict(line.split(": ", 1) for line in setting.splitlines())
        kept = [line for line in base.splitlines() if line.partition(":")[0] not in added]
        (tmp_path / "train.yaml").write_text("\n".join([*kept, setting, ""]))
        entry = json.loads(printed("explain", "--kind", kind, "--format", "json", *MODEL, "train.yaml"))["memory"]
        texts += [MARK + (setting.replace("\n", ", ") or "as usual"), *(f"  {key}: {value}" for key, value in entry.items())]
    is_recorded(f"memory-{kind}", "\n".join(texts))
