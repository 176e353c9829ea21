"""What each framework's files come to as memory settings."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.batch.memory.settings import ALL_LINEAR
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.memory.estimate import memory_of, micro_batch_bound, missing_for
from cfglint.frameworks.memory.named_models import UnknownModel, named_model
from cfglint.run.discovery import Discovery

TRAINER = "output_dir: out\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 2.0e-5\n"
NEWEST = {"transformers": "5.23.0", "torch": "2.13.0", "peft": "0.21.2"}


@pytest.fixture
def memory(tmp_path):
    """The memory of files as one run."""

    def of(files, gpus=1, model="llama-3.2-1b", card=79.2, rows=1024, target=None, kind=None, trainer=None):
        paths = []
        for name, text in files.items():
            (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text))
            paths.append(str(tmp_path / name))
        facts = LaunchFacts(
            gpus=gpus,
            target={**NEWEST, **(target or {})},
            complete=True,
            kind_given=kind is not None,
            trainer=trainer,
            model=named_model(model),
            gpu_memory=card,
            seq_length=rows,
        )
        return memory_of(Discovery(facts, kind).together(paths)[0].configs[0])

    return of


@pytest.fixture
def settings(memory):
    def of(text, **more):
        return memory({"train.yaml": TRAINER + text}, **{"kind": "huggingface", **more}).inputs.settings

    return of


@pytest.mark.parametrize(("card", "words"), [(None, ""), (8, "does not fit"), (79.2, "fits")])
def test_the_verdict_needs_the_memory_of_the_card(memory, card, words):
    found = memory({"train.yaml": TRAINER}, kind="huggingface", card=card)
    assert found.judgement == words
    assert found.word == (f" {words}" if words else "")


@each_case(("card", "remedy"), [(79.2, ""), (None, ""), (0.5, "no combination of these settings surely fits: use more GPUs, ")])
def test_the_remedy_of_a_run_that_nothing_makes_fit(memory, card, remedy):
    found = memory({"train.yaml": TRAINER}, kind="huggingface", card=card).remedy
    assert found.startswith(remedy) if remedy else found == ""


def test_a_trainer_without_more(settings):
    found = settings("")
    assert (found.micro_batch, found.sequence, found.accumulation, found.ranks) == (2, 1024, 4, 1)
    assert (found.loaded, found.autocast, found.optimizer, found.loss) == ("bf16", None, "adam_fused", "padded")
    assert not found.checkpointing
    assert found.lora is None


@each_case(
    ("text", "name", "value"),
    [
        ("torch_dtype: float32\nbf16: true\n", "loaded", "fp32"),
        ("bf16: true\n", "autocast", "bf16"),
        ("fp16: true\n", "autocast", "fp16"),
        ("gradient_checkpointing: true\n", "checkpointing", True),
        ("attn_implementation: eager\n", "attention", "eager"),
        ("optim: adafactor\n", "optimizer", "adafactor"),
        ("optim: paged_adamw_8bit\n", "optimizer", "paged"),
        ("use_liger_kernel: true\n", "loss", "fused"),
        ("max_seq_length: 512\n", "sequence", 512),
        ("load_in_4bit: true\n", "quantization", "nf4"),
        ("load_in_4bit: true\nbnb_4bit_use_double_quant: true\n", "quantization", "nf4_double"),
        ("optim: galore_adamw\n", "own_code", True),
    ],
)
def test_settings_of_a_trainer(settings, text, name, value):
    assert getattr(settings(text), name) == value


def test_adapters(settings):
    found = settings("use_peft: true\nlora_r: 64\nlora_target_modules: all-linear\nlora_modules_to_save: [lm_head]\n").lora
    assert (found.rank, found.targets, found.dropout, found.saved_modules, found.fp32) == (64, (ALL_LINEAR,), 0.0, 1, True)
    old = settings("use_peft: true\n", target={"peft": "0.11.1"}).lora
    assert (old.rank, old.targets, old.fp32) == (8, ("q_proj", "v_proj"), False)


@each_case(("model", "targets"), [("falcon-7b", ("query_key_value",)), ("flan-t5-xl", ("q", "v")), ("gemma-3-1b", ("q_proj", "v_proj"))])
def test_the_targets_of_adapters_that_name_none_are_those_of_peft(settings, model, targets):
    assert settings("use_peft: true\n", model=model).lora.targets == targets


def test_the_release_decides_load_loss_and_optimizer(settings, memory):
    found = memory({"train.yaml": TRAINER}, target={"transformers": "4.48.1", "torch": "2.4.1"}, kind="huggingface")
    assert (found.inputs.settings.loaded, found.inputs.settings.loss, found.inputs.settings.optimizer) == ("fp32", "copy", "adam_foreach")
    assert [each.loaded for each in found.inputs.alternatives] == ["bf16"], "the script may say torch_dtype"
    assert "fp32 load (the default before transformers 5)" in found.inputs.assumed


def test_several_gpus_are_ddp_fsdp_or_deepspeed(settings, memory):
    assert settings("", gpus=8).strategy == "ddp"
    found = settings("fsdp: full_shard auto_wrap offload\n", gpus=8)
    assert (found.strategy, found.fsdp.parameters_sharded, found.fsdp.offload) == ("fsdp", True, True)
    assert not settings("fsdp: shard_grad_op\n", gpus=8).fsdp.parameters_sharded
    assert settings("fsdp: no_shard\n", gpus=8).strategy == "ddp"


def test_an_accelerate_file_brings_fsdp(memory):
    launch = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 4\nfsdp_config:\n  fsdp_sharding_strategy: 2\n"
    found = memory({"train.yaml": TRAINER, "accelerate.yaml": launch}, gpus=4).inputs.settings
    assert (found.strategy, found.ranks, found.autocast, found.fsdp.parameters_sharded) == ("fsdp", 4, "bf16", False)


def test_auto_sizes_of_deepspeed_come_from_the_model(memory):
    engine = {
        "bf16": {"enabled": "auto"},
        "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto"},
        "train_micro_batch_size_per_gpu": "auto",
        "train_batch_size": "auto",
        "gradient_accumulation_steps": "auto",
    }
    found = memory({"train.yaml": TRAINER + "bf16: true\n", "ds.json": engine}, gpus=8).inputs.settings
    assert (found.strategy, found.zero.stage, found.autocast) == ("zero", 3, "bf16")
    assert (found.zero.reduce_bucket, found.zero.prefetch) == (2048 * 2048, int(0.9 * 2048 * 2048))
    assert found.effective().autocast is None


def test_a_deepspeed_file_alone(memory):
    engine = {"train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": True}, "zero_optimization": {"stage": 2, "cpu_offload": True}}
    found = memory({"ds.json": engine}, gpus=2)
    assert (found.inputs.settings.zero.offload_optimizer, found.inputs.settings.loaded) == (True, "fp16")
    assert [each.checkpointing for each in found.inputs.alternatives] == [True]
    assert found.estimate.classification == "B"


TRL = TRAINER + "packing: true\nmax_length: 2048\nuse_peft: true\nlora_r: 16\nload_in_4bit: true\nmodel_name_or_path: x/y\n"


def test_trl_by_release(memory):
    new = memory({"train.yaml": TRL}, target={"trl": "1.16.0"}, kind="trl").inputs.settings
    assert (new.kbit_fp32, new.lora.fp32, new.loss) == (False, False, "chunked")
    old = memory({"train.yaml": TRL}, target={"trl": "0.17.0", "transformers": "4.51.3"}, kind="trl").inputs.settings
    assert (old.kbit_fp32, old.lora.fp32, old.loss) == (True, True, "padded")


def test_trl_on_pairs_takes_two_rows_and_a_reference(memory):
    files = {"train.yaml": TRAINER + "beta: 0.1\nmax_length: 1024\n"}
    found = memory(files, kind="trl", trainer="dpo", target={"trl": "1.16.0"})
    assert (found.inputs.settings.tokens, found.inputs.settings.reference_model) == (2 * 2 * 1024, True)
    assert found.estimate.classification == "C"
    assert memory(files, kind="trl", trainer="grpo", target={"trl": "1.16.0"}) is None


def test_the_largest_micro_batch_of_pairs_counts_pairs(memory):
    def of(micro):
        text = TRAINER.replace("batch_size: 2", f"batch_size: {micro}") + "beta: 0.1\nmax_length: 1024\n"
        return memory({"train.yaml": text}, kind="trl", trainer="dpo", target={"trl": "1.16.0"}, card=79.2)

    surely = of(2).surely
    assert surely
    assert (of(surely).verdict, of(surely + 1).verdict) == ("fits", "close")


LLAMAFACTORY = """\
model_name_or_path: x/y
stage: sft
do_train: true
finetuning_type: lora
dataset: d
template: llama3
cutoff_len: 512
output_dir: out
per_device_train_batch_size: 1
bf16: true
"""


def test_llamafactory(memory):
    found = memory({"lf.yaml": LLAMAFACTORY + "quantization_bit: 4\nlora_target: all\n"}, target={"llamafactory": "0.9.5"}).inputs.settings
    assert (found.sequence, found.checkpointing, found.quantization, found.lora.targets) == (512, True, "nf4_double", (ALL_LINEAR,))
    full = memory({"lf.yaml": LLAMAFACTORY.replace("lora", "full")}).inputs.settings
    assert (full.loaded, full.autocast, full.lora) == ("fp32", "bf16", None), "what is trained is cast to fp32"
    adapter = memory({"lf.yaml": LLAMAFACTORY.replace("lora", "oft")}).inputs
    assert adapter.settings.own_code, "what it trains is not known: the estimate is rough"


AXOLOTL = """\
base_model: x/y
datasets:
  - path: d
    type: alpaca
output_dir: out
adapter: qlora
load_in_4bit: true
lora_r: 32
lora_alpha: 16
lora_target_linear: true
sequence_len: 4096
sample_packing: true
attn_implementation: flash_attention_2
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 1
optimizer: paged_adamw_32bit
learning_rate: 0.0002
bf16: auto
gradient_checkpointing: true
"""


def test_axolotl(memory):
    found = memory({"ax.yml": AXOLOTL})
    told = found.inputs.settings
    assert (told.micro_batch, told.sequence, told.loaded, told.autocast, told.checkpointing) == (2, 4096, "bf16", "bf16", True)
    assert (told.quantization, told.lora.rank, told.lora.targets, told.optimizer) == ("nf4_double", 32, (ALL_LINEAR,), "paged")
    assert found.estimate.classification == "B"
    assert memory({"ax.yml": AXOLOTL.replace("adapter: qlora\nload_in_4bit: true\n", "")}).estimate.classification == "C"


NEOX = """\
{"num_layers": 44, "hidden_size": 6144, "num_attention_heads": 64, "seq_length": 2048, "max_position_embeddings": 2048,
 "pipe_parallel_size": 4, "model_parallel_size": 2, "no_weight_tying": true, "gpt_j_residual": true, "pos_emb": "rotary",
 "fp16": {"enabled": true}, "zero_optimization": {"stage": 1}, "checkpoint_activations": true,
 "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 32}
"""


def test_neox_has_its_shape_in_the_file(tmp_path):
    (tmp_path / "20B.yml").write_text(NEOX)
    run = Discovery(LaunchFacts(gpus=96, gpu_memory=39.4), "neox").together([str(tmp_path / "20B.yml")])[0]
    found = memory_of(run.configs[0])
    assert found.model.shape.parameters == pytest.approx(20.55e9, rel=0.001)
    told = found.inputs.settings
    assert (told.tensor_parallel, told.pipeline_parallel, told.ranks, told.zero.stage) == (2, 4, 12, 1)
    assert found.estimate.classification == "C"
    assert found.verdict != "does-not-fit"


def test_the_bound_on_the_micro_batch_is_what_surely_fits(tmp_path):
    (tmp_path / "t.yaml").write_text(TRAINER)
    facts = LaunchFacts(gpus=1, target=NEWEST, model=named_model("llama-3.2-1b"), gpu_memory=79.2, seq_length=1024)
    config = Discovery(facts, "huggingface").together([str(tmp_path / "t.yaml")])[0].configs[0]
    assert micro_batch_bound(config).size == memory_of(config).surely > 2
    assert micro_batch_bound(config).fit == "fits"
    config.facts.gpu_memory = 4.0
    assert (micro_batch_bound(config).size, micro_batch_bound(config).fit) == (1, "does-not-fit")
    config.facts.gpu_memory = None
    assert micro_batch_bound(config) is None


def test_where_nothing_surely_fits_the_bound_is_what_may_fit(tmp_path):
    """A band of the estimate around what the card offers, of a class that is close wherever it may fit."""
    (tmp_path / "t.yaml").write_text(TRAINER)
    facts = LaunchFacts(gpus=1, target=NEWEST, model=named_model("llama-3.2-1b"), gpu_memory=79.2, seq_length=1024)
    config = Discovery(facts, "huggingface").together([str(tmp_path / "t.yaml")])[0].configs[0]
    found = []
    for config.facts.gpu_memory in map(float, range(4, 60, 2)):
        memory, bound = memory_of(config), micro_batch_bound(config)
        assert bound.size == (memory.surely or memory.possibly or 1)
        found.append((bound.fit, bound.judgement))
    assert [*dict.fromkeys(fit for fit, _ in found)] == ["does-not-fit", "close", "fits"]
    assert {words for fit, words in found if fit == "close"} == {"probably fits", "probably does not fit"}


def test_what_is_missing_is_named_by_its_flag(tmp_path):
    (tmp_path / "t.yaml").write_text(TRAINER)

    def missing(**facts):
        return missing_for(Discovery(LaunchFacts(**facts), "huggingface").together([str(tmp_path / "t.yaml")])[0].configs[0])

    assert missing() == ["--model", "--gpu-memory"]
    assert missing(model=named_model("llama-3.2-1b"), gpu_memory=80.0) == ["--seq-length"]
    assert missing(model=named_model("gpt2"), gpu_memory=80.0, seq_length=5) == []


def test_models_by_file_folder_and_name(tmp_path):
    (tmp_path / "config.json").write_text(
        '{"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "dtype": "float16"}'
    )
    for text in (str(tmp_path), str(tmp_path / "config.json")):
        found = named_model(text)
        assert (found.shape.hidden, found.checkpoint) == (64, "fp16")
    with pytest.raises(UnknownModel, match="llama-3"):
        named_model("llama-3-9b")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(UnknownModel, match="hidden_size"):
        named_model(str(tmp_path))
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(UnknownModel, match="not a JSON object"):
        named_model(str(tmp_path))


def test_a_folder_that_the_file_names_is_read_inside_the_project_only(tmp_path, monkeypatch):
    inner = tmp_path / "project"
    (inner / "model").mkdir(parents=True)
    config = '{"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100}'
    (inner / "model" / "config.json").write_text(config)
    (tmp_path / "config.json").write_text(config)
    monkeypatch.chdir(inner)

    def found(name):
        (inner / "t.yaml").write_text(f"{TRAINER}model_name_or_path: {name}\n")
        return memory_of(Discovery(LaunchFacts(gpus=1, seq_length=64), "huggingface").together(["t.yaml"])[0].configs[0])

    assert found("./model").estimate.parameters > 0
    assert found("..") is None
    assert found(str(inner / "model")) is None
    assert found("org/name") is None


PROGRAM = """\
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True)
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", quantization_config=bits)
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=32, target_modules=["q_proj", "o_proj"], lora_dropout=0.1))
args = TrainingArguments(output_dir="o", per_device_train_batch_size=4, bf16=True, gradient_checkpointing=True, max_steps=10)
Trainer(model=model, args=args, train_dataset=rows).train()
"""


def explained(tmp_path, capsys, name, text, *options):
    """The memory that `explain` shows for a file, as plain values."""
    from cfglint.cli import main

    (tmp_path / name).write_text(text)
    main(["explain", str(tmp_path / name), "--format", "json", "--gpus", "8", "--seq-length", "2048", *options])
    return json.loads(capsys.readouterr().out)["memory"]


def test_the_adapter_of_a_program_is_read(tmp_path, capsys):
    found = explained(tmp_path, capsys, "train.py", PROGRAM)
    assert found["class"] == "B"
    assert 4 < found["terms"]["weights"] < 5
    assert found["terms"]["optimizer"] < 1
    plain = explained(tmp_path, capsys, "train.py", PROGRAM.replace("model = prepare_model_for_kbit_training(model)\n", ""))
    assert plain["terms"]["weights"] < found["terms"]["weights"], "nothing is cast to fp32"


def test_an_adapter_whose_modules_are_not_known_is_a_doubt(tmp_path, capsys):
    found = explained(tmp_path, capsys, "train.py", PROGRAM.replace('["q_proj", "o_proj"]', "chosen(model)"))
    assert found["class"] == "C"


@each_case(
    ("call", "tokens"),
    [
        ("tokenizer(row['text'], truncation=True, max_length=512)", 512),
        ("tokenizer(row['text'], truncation=True, max_length=LENGTH, padding='max_length')", 256),
        ("tokenizer(row['text'], truncation=False, max_length=512)", None),
        ("tokenizer(row['text'], truncation=True, max_length=length_of(row))", None),
        ("tokenizer(row['text'], truncation=True, max_length=512), tokenizer(row['answer'], truncation=True, max_length=64)", None),
    ],
)
def test_rows_are_as_long_as_the_tokenizer_cuts_them(tmp_path, capsys, call, tokens):
    from cfglint.cli import main

    (tmp_path / "train.py").write_text(f"{PROGRAM}\nLENGTH = 256\ndef encode(row):\n    return {call}\n")
    main(["explain", str(tmp_path / "train.py"), "--format", "json", "--gpus", "8"])
    found = json.loads(capsys.readouterr().out)["memory"]
    assert (found["peak_gib"] is not None) is (tokens is not None)
    assert (f"rows of {tokens} tokens" in found["assumed"]) is (tokens is not None)


LINE = (
    "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir o --per_device_train_batch_size 1 --bf16 true"
    " --save_total_limit 2 --per_device_eval_batch_size 1"
)


@each_case(
    ("options", "known_as", "weights"),
    [
        ("--use_lora true --lora_r 16", "B", 14.2),
        ("--lora_rank 16 --lora_target_modules q_proj", "B", 14.2),
        ("--q_lora true --lora_r 16", "B", 7.5),
        ("--lora_r 16 --q_lora false", "B", 14.2),
        ("--lora_r 16 --bits 4", "B", 7.5),
        ("--lora_r 16 --use_lora false", "C", 14.2),
        ("--lora_r 16 --freeze_vision_tower true", "C", 14.2),
    ],
)
def test_adapters_by_the_names_of_arguments(tmp_path, capsys, options, known_as, weights):
    found = explained(tmp_path, capsys, "run.sh", f"{LINE} {options}\n")
    assert found["class"] == known_as
    assert found["terms"]["weights"] == pytest.approx(weights, abs=0.5)
    assert (found["terms"]["optimizer"] < 1) == ("use_lora false" not in options)


def test_experts_of_transformers_5_are_not_quantized(settings):
    mixture = {"model": "qwen3-30b-a3b"}
    text = "use_peft: true\nload_in_4bit: true\n"
    assert settings(text, **mixture).fused_experts
    assert not settings(text, target={"transformers": "4.57.1"}, **mixture).fused_experts
    assert not settings(text).fused_experts


def test_attention_may_be_eager_before_sdpa_was_the_default(memory):
    others = [
        [
            each.attention
            for each in memory({"train.yaml": TRAINER}, target={"transformers": release}, kind="huggingface").inputs.alternatives
        ]
        for release in ("4.35.2", "4.36.2")
    ]
    assert ["eager" in each for each in others] == [True, False]
