"""Which files are TRL's: those that only its keys tell apart."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks import detect
from cfglint.frameworks.base import CERTAIN
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.trl import FRAMEWORK
from cfglint.source.parse import parse

COMMON = "output_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\nnum_train_epochs: 1\n"


@each_case(
    ("extra", "kind"),
    [
        ("", "huggingface"),
        ("packing: true\n", "trl"),
        ("num_generations: 8\n", "trl"),
        ("max_seq_length: 128\n", "huggingface"),
        ("use_peft: true\ntorch_dtype: bfloat16\nmax_seq_length: 128\n", "trl"),
        ("finetuning_type: lora\ntemplate: qwen\nstage: sft\ndataset: d\npacking: true\n", "llamafactory"),
    ],
)
def test_own_keys_tell(extra, kind):
    assert detect(parse("train.yaml", COMMON + extra, "yaml")) == (kind, CERTAIN)


def test_a_json_file_is_the_trainers():
    assert detect(parse("train.json", '{"output_dir": "o", "num_train_epochs": 1, "packing": true}', "json")) == ("huggingface", CERTAIN)


@each_case(
    ("program", "trainer"),
    [("trl grpo", "grpo"), ("src/open_r1/grpo.py", "grpo"), ("scripts/run_sft.py", "sft"), ("train.py", None), ("dpo_or_kto.py", None)],
)
def test_the_program_of_a_launch_line_tells_the_trainer(program, trainer):
    assert FRAMEWORK.started_by(program, LaunchFacts()).trainer == trainer


def test_an_old_transformers_means_an_old_trl():
    assert FRAMEWORK.completed(LaunchFacts(target={"transformers": "4.48.3"})).target["trl"] == "0.17.0"
    assert FRAMEWORK.completed(LaunchFacts(target={"trl": "0.17.0"})).target["transformers"] == "4.51.3"
    assert FRAMEWORK.completed(LaunchFacts(target={"transformers": "5.0.0"})).target == {"transformers": "5.0.0"}


def test_a_file_of_another_tool_is_left_alone():
    text = COMMON + "packing: true\ntuner_type: lora\nmodel: org/model\n"
    assert detect(parse("train.yaml", text, "yaml"))[0] not in ("trl", "llamafactory")


def test_of_trainers_with_as_many_keys_the_one_that_had_them_in_any_release():
    """TRL 0.11 has `packing` for SFT and `max_length` for others; only SFT has had both."""
    from cfglint.frameworks.trl.fields import likely_trainers

    assert likely_trainers({"packing", "max_length"}, (0, 11, 4)) == ("sft",)
    assert len(likely_trainers({"output_dir"}, (0, 11, 4))) > 1


def test_fields_of_transformers_do_not_decide_between_trainers():
    """RewardConfig has its own default of `gradient_checkpointing_kwargs`, a field of every trainer; `max_length` is of several."""
    from cfglint.frameworks.trl.fields import likely_trainers

    assert {"sft", "reward"} < {*likely_trainers({"gradient_checkpointing_kwargs", "learning_rate", "max_length"}, (1, 16, 0))}
    assert likely_trainers({"gradient_checkpointing_kwargs", "max_length", "packing"}, (1, 16, 0)) == ("sft",)
