"""The facts of a job that are taken from an existing run: each with its value and place, and the settings that are left.

`CFGLINT_UPDATE=1` rewrites the record; the difference is to be read.
"""

from __future__ import annotations

import json

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.generators import existing_job
from cfglint.generators.job_spec import Contradiction
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource
from records import check_parts

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\n"
TRAINER_SETTINGS = (
    *("", "gradient_accumulation_steps: 8", "per_device_train_batch_size: auto", "max_steps: 500", "max_steps: 0", "max_steps: 1"),
    *("max_steps: -1", "num_train_epochs: 0", "max_steps: x"),
    *("num_train_epochs: 1.5", "num_train_epochs: 0.5", "max_steps: 500\nnum_train_epochs: 2", "learning_rate: 3.0e-4", "learning_rate: x"),
    *("weight_decay: 0.1", "adam_beta1: 0.8", "adam_beta2: 0.95", "adam_epsilon: 1.0e-6", "max_grad_norm: 0", "max_grad_norm: 0.5"),
    *("seed: 7", "seed: 0", "seed: -1", "warmup_steps: 100", "warmup_steps: 0", "warmup_steps: 0.1", "warmup_steps: -1"),
    *("logging_steps: 5", "logging_steps: 0", "logging_steps: 1", "logging_steps: 0.1", "save_steps: 50", "save_steps: 0.5"),
    *("optim: adamw_torch", "optim: adamw_torch_fused", "optim: adamw_bnb_8bit", "optim: paged_adamw_8bit", "optim: adamw_8bit"),
    *("optim: adafactor", "optim: lion_32bit", "optim: paged_lion_32bit", "optim: sgd", "optim: rmsprop", "optim: paged_adamw_32bit"),
    *("lr_scheduler_type: cosine", "lr_scheduler_type: constant", "lr_scheduler_type: constant_with_warmup\nwarmup_steps: 5"),
    *("lr_scheduler_type: polynomial", "lr_scheduler_type: linear", "lr_scheduler_type: cosine_with_min_lr"),
    "lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 1.0e-6}",
    "lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 5.0e-5}",
    "lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 1.0e-6, num_cycles: 2}",
    *("bf16: true", "fp16: true", "bf16: false", "fp16: false", "bf16: false\nfp16: true", "tf32: true"),
    *("activation_checkpointing: true", "gradient_checkpointing: true", "gradient_checkpointing: false"),
    *("eval_strategy: steps\neval_steps: 50", "fsdp: full_shard", "dataloader_num_workers: 4", "output_dir: null", "max_length: 5"),
)
DEEPSPEED = {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4}
ADAM = {"type": "AdamW", "params": {"lr": 0.001}}
ZERO_3 = {"stage": 3, "offload_param": {"device": "cpu"}}
DEEPSPEED_SETTINGS = (
    *({}, {"zero_optimization": {"stage": 0}}, {"zero_optimization": {"stage": 2}}, {"zero_optimization": {}}),
    {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}, "overlap_comm": True}},
    *(
        {"zero_optimization": {"stage": 2, "cpu_offload": True}},
        {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme"}}},
    ),
    *({"zero_optimization": {**ZERO_3, "offload_optimizer": {"device": "cpu"}}}, {"zero_optimization": ZERO_3}),
    {"zero_optimization": {**ZERO_3, "offload_optimizer": {"device": "nvme", "nvme_path": "/x"}}},
    {"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}},
    {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}},
    {"zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}},
    *({"bf16": {"enabled": True}}, {"fp16": {"enabled": True, "loss_scale_window": 500}}, {"bf16": {"enabled": False}}),
    *({"gradient_clipping": 0}, {"gradient_clipping": 0.5}, {"steps_per_print": 10}, {"steps_per_print": 0}, {"steps_per_print": 1}),
    *({"zero_allow_untested_optimizer": True}, {"optimizer": ADAM}, {"optimizer": {"type": "Adam"}}, {"optimizer": {"type": "LION"}}),
    *({"optimizer": {"type": name, "params": {"lr": 0.1}}} for name in ("SGD", "Lamb", "Lion", 5)),
    {"optimizer": {"type": "AdamW", "params": {"lr": 0.001, "betas": [0.8, 0.9], "eps": 1e-6, "weight_decay": 0.1}}},
    {"optimizer": {"type": "AdamW", "params": {"lr": 0.001, "betas": [0.8, 1], "torch_adam": True}}},
    {"optimizer": {"type": "AdamW", "params": {"lr": 0.001, "betas": [0.8]}}},
    {"optimizer": {"type": "Lion", "params": {"lr": 0.001, "betas": [0.8, 0.9]}}},
    *({"optimizer": ADAM, "scheduler": {"type": name}} for name in ("WarmupLR", "WarmupDecayLR", "OneCycle", None, 5)),
    {"optimizer": ADAM, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 1, "warmup_max_lr": 0.001}}},
    {"optimizer": ADAM, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 0, "warmup_min_lr": 0.0001}}},
    {"optimizer": ADAM, "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 500, "warmup_type": "linear"}}},
    {"optimizer": ADAM, "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 0}}},
    {"optimizer": ADAM, "scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 1}}},
    {"scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 500}}},
    *(
        {"optimizer": ADAM, "scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 500, "cos_min_ratio": ratio}}}
        for ratio in (0.1, 0, 1, "0.1")
    ),
)
NEOX = {
    "num_layers": 12,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "seq_length": 2048,
    "max_position_embeddings": 2048,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "train_iters": 1000,
    "lr_decay_iters": 1000,
    "optimizer": {"type": "Adam", "params": {"lr": 0.0006, "betas": [0.9, 0.95]}},
}
NEOX_SETTINGS = (
    *({}, {"num_kv_heads": 4}, {"model_parallel_size": 2}, {"pipe_parallel_size": 2}, {"train_iters": None, "train_epochs": 2}),
    *({"checkpoint_factor": 100}, {"checkpoint_factor": 0}, {"log_interval": 5}, {"seed": 7}, {"seed": 0}, {"seed": 1}),
    *({"checkpoint_activations": True}, {"checkpoint_activations": False}, {"save": "out"}, {"save": None}, {"load": "out"}),
    *({"precision": name} for name in ("bfloat16", "fp16", "fp32")),
    *({"fp16": {"enabled": True}}, {"bf16": {"enabled": True}}, {"fp16": {"enabled": True, "loss_scale": 0}}),
    *({"zero_optimization": {"stage": 1}}, {"zero_optimization": {"stage": 1, "allgather_bucket_size": 5}}),
    *({"optimizer": {"type": "Lion", "params": {"lr": 0.1}}}, {"optimizer": {"type": "sm3"}}, {"optimizer": {"type": "Adam"}}),
    {"optimizer": {"type": "Adam", "params": {"lr": 0.1, "eps": 0.001}}},
    *({"weight_decay": 0.2}, {"gradient_clipping": 0.5}, {"deepspeed_extra_args": {"gradient_clipping": 0.5}}),
    *({"lr_decay_style": style} for style in ("linear", "cosine", "constant", "exponential")),
    *({"min_lr": 0.0001}, {"min_lr": 0.0006}, {"min_lr": 0.00059}, {"warmup": 0.1}, {"warmup": 0}, {"lr_decay_iters": 900}),
    *({"num_layers": 0}, {"vocab_file": "v"}),
)
ACCELERATE = "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: 8\nmachine_rank: 0\n"
ENGINE = ACCELERATE + "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
LAUNCHES = (
    *(ACCELERATE + "distributed_type: MULTI_GPU\n", ACCELERATE + "distributed_type: MULTI_GPU\nmixed_precision: bf16\n"),
    *(ACCELERATE + f"distributed_type: MULTI_GPU\nmixed_precision: {name}\n" for name in ("fp16", '"no"', "fp8")),
    ACCELERATE.replace("num_machines: 1", "num_machines: 2") + "distributed_type: MULTI_GPU\ndowncast_bf16: 'no'\n",
    *(ENGINE + "  zero_stage: 3\n", ENGINE + "  zero_stage: 0\n", ENGINE + "  gradient_clipping: 0.5\n"),
    *(ENGINE + f"  zero_stage: 2\n  offload_optimizer_device: {device}\n" for device in ("cpu", "none", "nvme")),
    *(
        ENGINE + f"  zero_stage: {stage}\n  offload_param_device: {weights}\n  offload_optimizer_device: {optimizer}\n"
        for stage, weights, optimizer in ((3, "cpu", "cpu"), (2, "cpu", "cpu"), (3, "cpu", "none"), (3, "none", "cpu"), (3, "nvme", "cpu"))
    ),
    ENGINE.replace("DEEPSPEED", "MULTI_GPU") + "  zero_stage: 3\n",
)
LLAMAFACTORY = "model_name_or_path: m\nstage: sft\ndo_train: true\ndataset: d\ntemplate: llama3\noutput_dir: out\n"
AXOLOTL = "base_model: m\ndatasets: [{path: d, type: alpaca}]\noutput_dir: out\nmicro_batch_size: 2\nlearning_rate: 0.0001\n"
TRL = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\nper_device_train_batch_size: 4\n"
SWIFT = "model: m\ndataset: [d]\noutput_dir: out\nper_device_train_batch_size: 4\n"
OTHERS = {
    "llamafactory": (
        LLAMAFACTORY,
        *("", "finetuning_type: full", "finetuning_type: lora", "finetuning_type: freeze", "cutoff_len: 512", "cutoff_len: auto"),
        *("num_train_epochs: 2", "max_steps: 100", "bf16: true"),
    ),
    "axolotl": (
        AXOLOTL,
        *("", "adapter: lora\nlora_r: 8", "adapter: qlora\nlora_r: 8\nload_in_4bit: true", "max_steps: 100", "num_epochs: 2"),
        *("max_steps: 100\nnum_epochs: 2", "warmup_ratio: 0.1", "warmup_steps: 10", "sequence_len: 4096", "gradient_accumulation_steps: 4"),
        *(
            "bf16: true",
            "optimizer: adamw_bnb_8bit",
            "optimizer: muon",
            "lr_scheduler: linear",
            "lr_scheduler: rex",
            "batch_size: 4",
            "val_set_size: 0.1",
        ),
    ),
    "trl": (
        TRL,
        *("", "use_peft: true", "use_peft: false", "max_length: 512", "max_length: 0", "max_length: 1", "beta: 0.2\nloss_type: sigmoid"),
        *("num_generations: 4\nbeta: 0.0", "learning_rate: 0.001", "packing: true"),
    ),
    "swift": (
        SWIFT,
        *("", "tuner_type: lora", "tuner_type: full", "tuner_type: adalora", "max_length: 512", "max_length: null"),
        *("torch_dtype: bfloat16", "torch_dtype: float16", "torch_dtype: float32", "torch_dtype: x"),
        *("deepspeed: zero1", "deepspeed: zero2_offload", "deepspeed: zero3_offload", "deepspeed: ds.json"),
    ),
}
ENGINE_OF_TRAINER = {"zero_optimization": {"stage": 2, "overlap_comm": True}, "train_micro_batch_size_per_gpu": "auto"}
PAIRS = (
    ENGINE_OF_TRAINER,
    {**ENGINE_OF_TRAINER, "gradient_clipping": "auto", "bf16": {"enabled": "auto"}},
    {**ENGINE_OF_TRAINER, "optimizer": ADAM, "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 5}}},
    {**ENGINE_OF_TRAINER, "steps_per_print": 5, "fp16": {"enabled": True}, "zero_allow_untested_optimizer": True},
)


def runs():
    """(title, texts of the files, kind, GPUs) of each existing run."""
    for setting in TRAINER_SETTINGS:
        keys = {line.partition(":")[0] for line in setting.splitlines()}
        kept = [line for line in TRAINER.splitlines() if line.partition(":")[0] not in keys]
        yield setting, {"train.yaml": "\n".join([*kept, setting, ""])}, "huggingface", 8
    for settings in DEEPSPEED_SETTINGS:
        yield settings, {"ds.json": json.dumps({**DEEPSPEED, **settings})}, "deepspeed", 8
    for settings in NEOX_SETTINGS:
        values = {key: value for key, value in {**NEOX, **settings}.items() if value is not None}
        yield settings, {"model.yml": json.dumps(values)}, "neox", 8
    for text in LAUNCHES:
        yield text.replace(ACCELERATE, "").rstrip("\n"), {"launch.yaml": text}, "accelerate", None
    for kind, (base, *settings) in OTHERS.items():
        for setting in settings:
            yield setting, {"config.yml": f"{base}{setting}\n"}, kind, 8
    for engine in PAIRS:
        yield engine, {"train.yaml": f"{TRAINER}deepspeed: ds.json\n", "ds.json": json.dumps(engine)}, "huggingface", 8
    yield "pair", {"train.yaml": TRAINER, "launch.yaml": ENGINE + "  deepspeed_config_file: ds.json\n", "ds.json": "{}"}, None, None
    yield "no GPU count", {"train.yaml": TRAINER}, "huggingface", None


def lines_of(texts, kind, gpus):
    """The facts of a run, or why there are none."""
    facts = LaunchFacts(gpus, complete=True, kind_given=bool(kind))
    try:
        found = existing_job(Discovery(facts, kind, source=FileSource(texts)).together(list(texts))[0])
    except Contradiction as refusal:
        return [f"refused: {refusal}"]
    lines = []
    for name, value in found.facts.items():
        place = found.places.get(name)
        lines.append(f"{name} {value!r}" + (f" ({place})" if place else ""))
    return [*lines, *(f"left: {each}" for each in found.left)]


def test_facts_of_existing_runs(root, updating, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # below no pyproject.toml, which every run would read
    lines, usual, base = [], [], None
    for title, texts, kind, gpus in runs():
        facts = lines_of(texts, kind, gpus)
        if (kind, sorted(texts)) != base:
            base, usual = (kind, sorted(texts)), facts
            lines += [f"=== {kind}: {', '.join(texts)}, as usual", *facts]
            continue
        names = {line.split()[0] for line in facts}
        gone = [f"  - {line.split()[0]}" for line in usual if line.split()[0] not in {*names, "left:"}]
        lines += [f"=== {kind}: {str(title).replace(chr(10), ', ')}", *gone, *(f"  {line}" for line in facts if line not in usual)]
    purpose = "what `cfglint new` takes from existing files"
    check_parts(root / "tests" / "generators" / "expected" / "facts", purpose, lines, updating)
