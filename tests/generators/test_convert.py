"""From an existing config to another kind: what goes over, and what has no counterpart."""

from __future__ import annotations

import json

import pytest
import yaml

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.generators import existing_job, generate, takes
from cfglint.generators.job_spec import Contradiction, JobSpec
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource

TRAINER = """\
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
max_steps: 2000
learning_rate: 3.0e-4
weight_decay: 0.1
adam_beta2: 0.95
adam_epsilon: 1.0e-8
max_grad_norm: 1.0
lr_scheduler_type: cosine
warmup_steps: 100
bf16: true
eval_strategy: steps
eval_steps: 50
"""
NEOX = """\
{"num_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "seq_length": 2048, "max_position_embeddings": 2048,
 "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "train_iters": 1000, "warmup": 0.1,
 "optimizer": {"type": "Adam", "params": {"lr": 0.0006, "betas": [0.9, 0.95]}}, "min_lr": 0.00006, "lr_decay_style": "cosine",
 "precision": "bfloat16", "zero_optimization": {"stage": 1, "allgather_bucket_size": 500000000}, "vocab_file": "v", "merge_file": "m"}
"""
DEEPSPEED = {
    "train_batch_size": 64,
    "train_micro_batch_size_per_gpu": 4,
    "fp16": {"enabled": True, "loss_scale_window": 500},
    "optimizer": {"type": "AdamW", "params": {"lr": 0.001, "weight_decay": 0.05}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 500, "warmup_num_steps": 20, "warmup_max_lr": 0.001}},
    "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}, "offload_optimizer": {"device": "cpu"}},
}


def existing(gpus=8, **texts):
    names = {
        name.replace("_yaml", ".yaml").replace("_yml", ".yml").replace("_json", ".json").replace("_sh", ".sh"): text
        for name, text in texts.items()
    }
    return existing_job(Discovery(LaunchFacts(gpus, complete=True), source=FileSource(names)).together(list(names))[0])


def over(found, kind, **more):
    """The files of another kind, and the settings that it has no words for."""
    facts = {**found.facts, **more}
    left = found.drop(JobSpec(**facts).beyond(takes(kind)))
    facts = {name: value for name, value in facts.items() if name in found.facts or name in more}
    return generate(kind, JobSpec(**facts)), [each.name for each in [*left, *found.left]]


class TestTrainerToNeox:
    def test_keeps_the_mathematics(self):
        made, left = over(existing(train_yaml=TRAINER), "neox", model="pythia-160m")
        read = yaml.safe_load(made.files[0].text)
        assert made.split.pair == (4, 8)
        assert read["optimizer"]["params"] == {"lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8}
        assert (read["min_lr"], read["lr_decay_style"], read["precision"], read["train_iters"]) == (0.0, "cosine", "bfloat16", 2000)
        assert (read["warmup"], read["seed"], read["save"]) == (0.05, 42, "out")
        assert left == ["eval_strategy", "eval_steps"]

    def test_a_default_of_the_trainer_is_said(self):
        made, _ = over(existing(train_yaml="per_device_train_batch_size: 8\nnum_train_epochs: 3\n"), "neox", model="pythia-160m")
        read = yaml.safe_load(made.files[0].text)
        assert (read["optimizer"]["params"]["lr"], read["lr_decay_style"]) == (5e-5, "linear")
        assert (read["weight_decay"], read["warmup"]) == (0.0, 0.0)
        assert "precision" not in read


class TestNeoxToTrainer:
    def test_keeps_the_mathematics(self):
        made, left = over(existing(model_yml=NEOX), "huggingface")
        read = yaml.safe_load(made.files[0].text)
        assert (read["max_steps"], read["learning_rate"], read["warmup_steps"], read["weight_decay"]) == (1000, 6e-4, 0.1, 0.1)
        assert (read["lr_scheduler_type"], read["lr_scheduler_kwargs"]) == ("cosine_with_min_lr", {"min_lr": 6e-5})
        assert (read["adam_beta2"], read["bf16"], read["seed"]) == (0.95, True, 1234)
        assert left == [
            *("num_layers", "hidden_size", "num_attention_heads"),
            *("zero_optimization.allgather_bucket_size", "vocab_file", "merge_file"),
        ]
        assert json.loads(made.files[1].text)["zero_optimization"] == {"stage": 1}


class TestDeepSpeed:
    def test_to_a_trainer(self):
        made, left = over(existing(ds_config_json=json.dumps(DEEPSPEED)), "huggingface")
        read = yaml.safe_load(made.files[0].text)
        assert (read["fp16"], read["max_steps"], read["warmup_steps"], read["weight_decay"]) == (True, 500, 20, 0.05)
        section = json.loads(made.files[1].text)["zero_optimization"]
        assert (section["stage"], section["offload_param"], section["offload_optimizer"]) == (3, {"device": "cpu"}, {"device": "cpu"})
        assert left == ["fp16.loss_scale_window"]

    def test_under_a_trainer_to_deepspeed_alone(self):
        texts = {"train_yaml": TRAINER + "deepspeed: ds_config.json\n"}
        engine = {"zero_optimization": {"stage": 2, "overlap_comm": True}, "gradient_clipping": "auto", "bf16": {"enabled": "auto"}}
        batch = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto"}
        made, left = over(existing(**texts, ds_config_json=json.dumps({**engine, **batch})), "deepspeed")
        read = json.loads(made.files[0].text)
        assert (read["train_batch_size"], read["bf16"], read["zero_optimization"]) == (256, {"enabled": True}, {"stage": 2})
        assert read["optimizer"]["params"] == {"lr": 3e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}
        assert read["scheduler"]["params"]["total_num_steps"] == 2000
        assert sorted(left) == sorted(["eval_strategy", "eval_steps", "output_dir", "zero_optimization.overlap_comm"])


class TestAccelerate:
    def test_gives_its_processes(self):
        launch = "distributed_type: MULTI_GPU\nnum_processes: 16\nnum_machines: 2\nmixed_precision: fp16\n"
        found = existing(gpus=None, accelerate_yaml=launch)
        assert (found.facts["gpus"], found.facts["gpus_per_node"], found.facts["precision"]) == (16, 8, "fp16")
        assert found.left == []


class TestThereAndBack:
    @pytest.mark.parametrize("kind", ["huggingface", "deepspeed"])
    def test_gives_the_same_file(self, kind):
        job = JobSpec(gpus=8, global_batch=64, max_micro_batch=4, zero=2, steps=500, learning_rate=1e-4, scheduler="linear", warmup=20)
        made = generate(kind, job)
        texts = {file.name: file.text for file in made.files}
        found = existing_job(Discovery(LaunchFacts(8, complete=True), source=FileSource(texts)).together(list(texts))[0])
        again, left = over(found, kind)
        assert left == []
        assert [values(file) for file in again.files] == [values(file) for file in made.files]


def values(file):
    return yaml.safe_load(file.text)


@pytest.mark.parametrize(("params", "floor"), [({"cos_min_ratio": 0.1}, 0.0001), ({}, 1e-7), ({"cos_min_ratio": "0.1"}, None)])
def test_the_floor_of_a_cosine_is_a_ratio_of_the_rate(params, floor):
    scheduler = {"type": "WarmupCosineLR", "params": {"total_num_steps": 500, **params}}
    found = existing(ds_json=json.dumps({**DEEPSPEED, "scheduler": scheduler}))
    assert found.facts.get("min_learning_rate") == pytest.approx(floor)


def test_zero_of_a_launcher_s_own_block():
    launch = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n"
    assert existing(acc_yaml=launch + "  gradient_clipping: 0.5\n").facts["zero"] == 3
    assert existing(acc_yaml=launch.replace("DEEPSPEED", "MULTI_GPU")).facts.get("zero") is None


class TestTrl:
    FILE = (
        "model_name_or_path: m\ndataset_name: d\noutput_dir: out\nper_device_train_batch_size: 4\nmax_length: 2048\nuse_peft: true\n"
        "beta: 0.2\nf_divergence_type: reverse_kl\n"
    )

    def test_to_another_tool(self):
        made, left = over(existing(train_yaml=self.FILE), "llamafactory")
        read = yaml.safe_load(made.files[0].text)
        assert (read["per_device_train_batch_size"], read["finetuning_type"], read["cutoff_len"], read["bf16"]) == (4, "lora", 2048, True)
        assert left == ["model_name_or_path", "dataset_name", "beta", "f_divergence_type"]

    def test_keeps_the_trainer(self):
        made, _ = over(existing(train_yaml=self.FILE), "trl")
        assert "trl dpo" in made.notes[-1]
        assert yaml.safe_load(made.files[0].text)["learning_rate"] == 1e-6


def test_a_file_of_ms_swift_keeps_its_facts():
    text = "model: m\ndataset: [d]\ntuner_type: lora\ndeepspeed: zero2_offload\nmax_length: 2048\ntorch_dtype: bfloat16\n"
    made, left = over(existing(train_yaml=text), "swift")
    read = yaml.safe_load(made.files[0].text)
    assert (read["tuner_type"], read["deepspeed"], read["max_length"], read["torch_dtype"]) == ("lora", "zero2_offload", 2048, "bfloat16")
    assert left == ["model", "dataset"]


class TestLaunchLine:
    def test_gives_the_facts_of_its_consumer(self):
        line = "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 4 --max_steps 50"
        found = existing(train_sh=f"{line} --save_total_limit 2 --per_device_eval_batch_size 1\n")
        assert (found.facts["gpus"], found.facts["global_batch"], found.facts["steps"]) == (2, 8, 50)

    def test_without_a_known_consumer_is_refused(self):
        with pytest.raises(Contradiction, match="no config of a framework"):
            existing(train_sh="torchrun --nproc_per_node 2 train.py --width 3\n")
