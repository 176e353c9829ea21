"""TRL's trainers in programs: what the program itself has, and what follows from its files."""

from __future__ import annotations

import pytest

from cases import each_case

ARGUMENTS = "import argparse\nfrom trl import {0}Config, {0}Trainer\nparser = argparse.ArgumentParser()\n"
SYNCHRONIZED = (
    ARGUMENTS.format("GRPO")
    + "parser.add_argument('--sync_ref_model', action='store_true')\nargs = parser.parse_args()\n"
    + "config = GRPOConfig(output_dir='o', beta=0.1, num_generations=8, sync_ref_model=args.sync_ref_model)\n"
    + "GRPOTrainer(model='m', reward_funcs=[len], args=config).train()\n"
)


def found(report):
    return [(each["code"], each["severity"]) for each in report["diagnostics"]]


def test_a_program_without_a_field_for_adapters_is_not_taken_to_use_them(checked_project):
    assert found(checked_project({"train.py": SYNCHRONIZED, "run.sh": "python train.py --sync_ref_model\n"}, "trl==1.16.0")) == []


RECIPE = """\
model_name_or_path: org/m
output_dir: out
per_device_train_batch_size: 2
gradient_accumulation_steps: 2
max_seq_length: 4096
packing: false
"""
OWN_FIELD = """\
from dataclasses import dataclass
from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser
@dataclass
class Own:
    {}: int = 2048
model, own, args = TrlParser((ModelConfig, Own, SFTConfig)).parse_args_and_config()
SFTTrainer(model=model.model_name_or_path, args=args)
"""


@pytest.mark.parametrize(("field", "expected"), [("max_seq_length", []), ("max_words", [("TRL011", "warning")])])
def test_a_removed_field_may_be_one_of_the_project(checked_project, field, expected):
    files = {"recipes/a.yaml": RECIPE, "sft.py": OWN_FIELD.format(field), "run.sh": 'accelerate launch sft.py --config "$FILE"\n'}
    assert found(checked_project(files, "trl==1.16.0")) == expected


OWN_TRAINER = "from trl import GRPOTrainer as Base\n\nclass GRPOTrainer(Base):\n    def {}(self, *args):\n        return 0\n"
LOSS = "from trl import GRPOConfig\nfrom own import GRPOTrainer\nGRPOTrainer('m', [], GRPOConfig('o', loss_type='reinforce'))\n"


@each_case(("method", "expected"), [("_compute_loss", []), ("compute_loss", []), ("log", [("TRL051", "error")])])
def test_a_trainer_with_a_loss_of_its_own_may_have_other_names_of_losses(checked_project, method, expected):
    files = {"t.py": LOSS, "own.py": OWN_TRAINER.format(method)}
    assert found(checked_project(files, "trl==0.18.1", paths=["t.py"])) == expected


UNSLOTH = "from unsloth import FastLanguageModel\n"
CALL = "from trl import {0}Config\nargs = {0}Config(output_dir='o', {1})\n"


@each_case(
    ("config", "words", "own", "with_unsloth"),
    [
        ("GRPO", "kl_coef=0.1, num_generations=8", [("TRL010", "error")], [("TRL010", "warning")]),
        ("GRPO", "max_prompt_length=9, num_generations=8", [("TRL011", "error")], [("TRL011", "warning")]),  # dropped
        ("GRPO", "warmup_ratio=0.1, num_generations=8", [("TRL011", "error")], []),  # moved to warmup_steps
        ("SFT", "max_seq_length=1024", [("TRL011", "error")], []),
        ("SFT", "unsloth_num_chunks=2", [("TRL010", "error")], []),
    ],
)
def test_unsloth_takes_moves_and_drops_arguments(checked_project, config, words, own, with_unsloth):
    code = CALL.format(config, words)
    releases = "trl==1.16.0", "transformers==5.24.0"
    assert found(checked_project({"a.py": code}, *releases)) == own
    assert found(checked_project({"a.py": UNSLOTH + code}, *releases)) == with_unsloth


@each_case(
    ("trainer", "release", "attribute"),
    [
        ("DPO", "0.11.4", " 'model_init_kwargs'"),
        ("DPO", "0.19.1", ""),
        ("DPO", "1.16.0", " 'model_init_kwargs'"),
        ("KTO", "0.15.2", " 'model_init_kwargs'"),
        ("GRPO", "1.16.0", " 'model_init_kwargs'"),
        ("Reward", "0.17.0", " 'disable_dropout'"),
        ("SFT", "1.16.0", None),  # which builds its own of them
    ],
)
def test_trainers_that_are_given_the_arguments_of_transformers(checked_project, trainer, release, attribute):
    code = f"from transformers import TrainingArguments\nfrom trl import {trainer}Trainer\n"
    code += f"{trainer}Trainer(model='m', args=TrainingArguments('o')).train()\n"
    report = checked_project({"t.py": code}, f"trl=={release}", paths=["t.py"])
    texts = [each["exception"] for each in report["diagnostics"] if each["code"] == "KEY209"]
    assert texts == ([f"AttributeError: 'TrainingArguments' object has no attribute{attribute}"] if attribute is not None else [])


PACKED = "from trl import SFTConfig, SFTTrainer\nSFTTrainer(model='m', args=SFTConfig('o', {})).train()\n"


@each_case(
    ("words", "release", "codes"),
    [
        ("packing=True, model_init_kwargs={'attn_implementation': 'sdpa'}", "0.24.0", ["TRL088"]),
        ("packing=True, packing_strategy='wrapped', model_init_kwargs={'attn_implementation': 'sdpa'}", "0.24.0", []),
        ("packing=True, model_init_kwargs={'attn_implementation': 'kernels-community/flash-attn2@main'}", "0.24.0", []),
        ("packing=True", "0.24.0", []),  # that of the model is not known
        ("packing=True, model_init_kwargs={'attn_implementation': 'sdpa'}", "1.16.0", []),  # which does not warn of it any more
    ],
)
def test_packing_without_flash_attention(checked_project, words, release, codes):
    report = checked_project({"t.py": PACKED.format(words)}, f"trl=={release}", paths=["t.py"])
    assert [each["code"] for each in report["diagnostics"]] == codes


GIVEN = """\
from transformers import AutoModelForCausalLM, TrainingArguments
from trl import {0}Config, {0}Trainer
loaded = AutoModelForCausalLM.from_pretrained("m")
{0}Trainer({1}, args={0}Config("o"{2}){3}).train()
"""
OPTIONS = ", model_init_kwargs={'use_cache': False}"


@each_case(
    ("trainer", "model", "fields", "keywords", "release", "expected"),
    [
        ("DPO", "'m'", OPTIONS, "", "0.12.0", []),
        ("DPO", "loaded", OPTIONS, "", "0.12.0", [("TRL058", "error")]),
        ("DPO", "model=load()", OPTIONS, "", "0.12.0", [("TRL058", "warning")]),
        ("DPO", "loaded", OPTIONS, "", "0.19.0", []),  # a warning of the trainer's own
        ("DPO", "'m', 'm'", ", ref_model_init_kwargs={'use_cache': False}", "", "0.12.0", []),
        ("DPO", "'m'", ", ref_model_init_kwargs={'use_cache': False}", "", "0.12.0", [("TRL058", "error")]),  # of no reference model
        ("DPO", "loaded", ", sync_ref_model=True, precompute_ref_log_probs=True", "", "0.12.0", [("TRL052", "error")]),
        ("DPO", "loaded, load()", ", sync_ref_model=True, precompute_ref_log_probs=True", "", "0.12.0", []),
        ("SFT", "loaded", OPTIONS, "", "0.14.0", [("TRL058", "error")]),
        ("SFT", "loaded", OPTIONS, "", "0.15.0", []),
        ("SFT", "'m'", "", OPTIONS, "0.12.0", []),
        ("SFT", "loaded", "", OPTIONS, "0.12.0", [("KEY212", "error")]),
        ("SFT", "load()", "", OPTIONS, "0.12.0", [("KEY212", "warning")]),
        ("CPO", "loaded", OPTIONS, "", "0.8.2", [("TRL058", "error")]),
        ("SFT", "'m'", "", ", max_seq_length='512'", "0.11.4", [("KEY212", "error")]),
        ("DPO", "'m'", "", ", max_length='512'", "0.11.4", [("KEY212", "error")]),
        ("DPO", "'m'", "", ", max_length=None", "0.11.4", []),
        ("SFT", "'m'", "", ", dataset_kwargs=[('add_special_tokens', True)]", "0.12.0", [("KEY212", "error")]),
        ("SFT", "'m'", "", ", dataset_kwargs={'skip_prepare_dataset': True}", "0.12.0", []),
        ("SFT", "'m'", ", dataset_kwargs={'skip': True}", "", "0.14.0", [("TYP200", "error")]),
        ("SFT", "'m'", ", dataset_kwargs={'skip': True}", "", "0.15.0", []),
    ],
)
def test_options_that_a_trainer_does_not_take(checked_project, trainer, model, fields, keywords, release, expected):
    code = GIVEN.format(trainer, model, fields, keywords)
    assert found(checked_project({"t.py": code}, f"trl=={release}", "transformers==4.46.3", paths=["t.py"])) == expected


@each_case(
    ("arguments", "keywords", "release", "steps"),
    [
        ("TrainingArguments('o')", "packing=True", "0.7.10", None),
        ("TrainingArguments('o')", "packing=False", "0.7.10", 375),
        ("TrainingArguments('o', max_steps=9)", "packing=True", "0.7.10", 9),
        ("SFTConfig('o')", "packing=True", "0.12.0", None),
    ],
)
def test_blocks_of_samples_are_not_counted(checked_project, arguments, keywords, release, steps):
    imported = "from trl import SFTConfig, SFTTrainer\n" if "SFTConfig" in arguments else "from trl import SFTTrainer\n"
    code = "from transformers import TrainingArguments\n" + imported + f"SFTTrainer('m', args={arguments}, {keywords}).train()\n"
    report = checked_project({"t.py": code}, f"trl=={release}", "transformers==4.37.2", options=["--num-examples", "1000", "--gpus", "1"])
    assert report["runs"][0]["resolved"]["total_steps"] == steps


def test_a_missing_output_folder_is_an_argument_of_the_class(checked_project):
    code = "from trl import RewardConfig, RewardTrainer\nRewardTrainer('m', args=RewardConfig(seed=1)).train()\n"
    [error] = checked_project({"t.py": code}, "trl==0.8.5", "transformers==4.40.2", paths=["t.py"])["diagnostics"]
    assert error["exception"] == "TypeError: RewardConfig.__init__() missing 1 required positional argument: 'output_dir'"


SPREAD = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("m"{})
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=4, gradient_accumulation_steps=8)).train()
"""


@each_case(
    ("line", "keyword", "batch", "codes"),
    [
        ("python t.py", ', device_map="auto"', 32, []),  # one model on all GPUs, which is no DataParallel
        ("python t.py", ', device_map={"": 0}', 256, []),
        ("python t.py", "", 256, []),
        ("torchrun --nproc_per_node 8 t.py", ', device_map="auto"', 256, ["KEY211"]),
        ("accelerate launch --num_processes 2 t.py", ', device_map="balanced"', 64, ["KEY211"]),
        ("accelerate launch --num_processes 1 t.py", ', device_map="auto"', 32, []),
    ],
)
def test_a_model_that_is_spread_over_the_gpus(checked_project, line, keyword, batch, codes):
    files = {"t.py": SPREAD.format(keyword), "run.sh": f"{line}\n"}
    report = checked_project(files, options=["--gpus", "8"], paths=["run.sh"])
    assert (report["runs"][0]["resolved"]["global_batch"], [each["code"] for each in report["diagnostics"]]) == (batch, codes)


PPO = "from trl import PPOConfig, PPOTrainer\nPPOTrainer(PPOConfig({})).train()\n"


def test_keywords_of_the_former_class_make_no_arguments_of_the_new_one(checked_project):
    code = {"t.py": PPO.format("batch_size=64, mini_batch_size=4, ppo_epochs=2"), "requirements.txt": "trl<0.13\n"}
    [run] = checked_project(code, paths=["t.py"])["runs"]
    assert (run["verdict"], run["read"], run["resolved"]["micro_batch"]) == (None, False, None)
    assert run["not_read"][0]["why"] == "`ppo_epochs` is of the class of this name before TRL 0.12.0"
    code = {"t.py": PPO.format("'out', batch_size=64"), "requirements.txt": "trl<0.13\n"}
    assert checked_project(code, paths=["t.py"])["runs"][0]["read"]


def test_a_class_that_is_no_training_arguments_in_the_release_is_not_said_to_be_missing(checked_project):
    parsed = "from transformers import HfArgumentParser\nfrom trl import PPOConfig, PPOTrainer\n"
    parsed += "config, = HfArgumentParser(PPOConfig).parse_args_into_dataclasses()\nPPOTrainer(config).train()\n"
    code = {"t.py": parsed, "requirements.txt": "trl==0.7.4\n"}
    why = checked_project(code, paths=["t.py"])["runs"][0]["not_read"][0]["why"]
    assert why == "TRL 0.7.4 has no `TrainingArguments` of this name"


COPY = """import sys, yaml
from transformers import HfArgumentParser

class TRLParser(HfArgumentParser):
    def parse_args_and_config(self):
        self.read_defaults(sys.argv[sys.argv.index("--config") + 1])
        return self.parse_args_into_dataclasses()
"""
PARSED = """from own import TRLParser
from trl import SFTConfig, SFTTrainer
[config] = TRLParser(SFTConfig).parse_args_and_config()
SFTTrainer(model, args=config).train()
"""


def test_a_copy_of_the_parser_opens_the_config(checked_project):
    files = {
        "own.py": COPY,
        "train.py": PARSED,
        "a.yaml": "output_dir: o\nper_device_train_batch_size: 3\n",
        "requirements.txt": "trl==0.11.0\n",
    }
    for name, micro, read, codes in [("a", 3, True, []), ("b", None, False, ["LCH002"])]:
        report = checked_project({**files, "run.sh": f"python train.py --config {name}.yaml\n"}, paths=["run.sh"])
        [run] = report["runs"]
        assert (run["resolved"]["micro_batch"], run["read"], [each["code"] for each in report["diagnostics"]]) == (micro, read, codes)


OWN_PARSE = """import sys
from transformers import HfArgumentParser
from trl import SFTConfig, SFTTrainer

class H4ArgumentParser(HfArgumentParser):
    def parse(self):
        return self.parse_yaml_and_args(sys.argv[1], sys.argv[2:])

config = H4ArgumentParser((SFTConfig,)).parse()
SFTTrainer(model, args=config).train()
"""


def test_the_line_counts_before_a_config_that_is_not_found(checked_project):
    line = "accelerate launch --num_processes 2 train.py made.yaml --per_device_train_batch_size=4"
    for more, batch in [(" --gradient_accumulation_steps=8", 64), ("", None)]:
        [run] = checked_project({"train.py": OWN_PARSE, "run.sh": f"{line}{more}\n"}, paths=["run.sh"])["runs"]
        assert (run["resolved"]["micro_batch"], run["resolved"]["global_batch"], run["read"], run["verdict"]) == (4, batch, False, None)


OWN_ADAPTER = """from dataclasses import dataclass
from transformers import HfArgumentParser
from trl import SFTConfig, SFTTrainer
from peft import LoraConfig

@dataclass
class Own:
    lora_r: int = 8
    lora_alpha: int = 16

own, config = HfArgumentParser((Own, SFTConfig)).parse_args_into_dataclasses()
SFTTrainer(model, args=config, peft_config=LoraConfig(r=own.lora_r, lora_alpha=own.lora_alpha)).train()
"""


def test_lora_arguments_of_the_program_itself(checked_project):
    line = "python t.py --output_dir o --lora_r 4 --lora_alpha 8\n"
    assert checked_project({"t.py": OWN_ADAPTER, "run.sh": line}, paths=["run.sh"])["diagnostics"] == []
