"""What one example of a rule does not show: its other findings, and what it must not say."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks import modelled_releases
from cfglint.frameworks.llamafactory.releases import arguments
from cfglint.frameworks.llamafactory.rules.no_effect import GROUPS
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import parse_version

RELEASES = modelled_releases("llamafactory")

ZERO2 = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}'
ZERO3 = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}'


@each_case(
    ("keys", "found"),
    [
        ({"dataset": "null", "val_size": "0.1", "do_train": "false"}, ("LLF010", "ValueError", "config")),
        ({"mix_strategy": "interleave_over", "interleave_probs": "0.5,0.5"}, ("LLF011", "ValueError", "config")),
        ({"dataset": "[a, b]", "mix_strategy": "interleave_over", "interleave_probs": "0.5"}, ("LLF070", "TypeError", "config")),
        ({"streaming": "true", "max_steps": "5", "max_samples": "9"}, ("LLF012", "ValueError", "config")),
        ({"tool_format": "foo"}, ("LLF070", "ValueError", "init")),
        ({"export_quantization_bit": "4"}, ("LLF030", "ValueError", "config")),
        ({"new_special_tokens_config": "0"}, ("LLF070", "AttributeError", "config")),
        ({"max_new_tokens": "abc"}, ("LLF070", "TypeError", "init")),
        ({"streaming": "true"}, ("LLF012", "ValueError", "config")),
        ({"do_eval": "true"}, ("LLF017", "ValueError", "config")),
        ({"predict_with_generate": "true"}, ("LLF017", "ValueError", "config")),
        ({"stage": "dpo", "pref_loss": "ipo", "dpo_label_smoothing": "x"}, ("LLF070", "TypeError", "config")),
        ({"video_max_pixels": "100"}, ("LLF018", "ValueError", "config")),
        ({"use_badam": "true"}, ("LLF024", "ValueError", "config")),
        (
            {"finetuning_type": "full", "use_galore": "true", "use_apollo": "true", "optim": "adamw_torch"},
            ("LLF024", "ValueError", "config"),
        ),
        ({"finetuning_type": "full", "use_apollo": "true", "optim": "adafactor"}, ("LLF025", "NotImplementedError", "init")),
        ({"quantization_bit": "4", "resize_vocab": "true"}, ("LLF028", "ValueError", "config")),
        ({"quantization_bit": "4", "adapter_name_or_path": "a,b"}, ("LLF028", "ValueError", "config")),
        ({"quantization_bit": "8", "fp8": "true"}, ("LLF028", "ValueError", "config")),
        ({"stage": "dpo", "train_on_prompt": "true"}, ("LLF044", "ValueError", "config")),
        ({"stage": "ppo", "reward_model": "r", "do_train": "false"}, ("LLF047", "ValueError", "config")),
        ({"stage": "ppo", "reward_model": "r", "report_to": "mlflow"}, ("LLF047", "ValueError", "config")),
        ({"stage": "ppo", "reward_model": "r", "use_unsloth": "true"}, ("LLF047", "ValueError", "config")),
        ({"quantization_device_map": "auto", "quantization_bit": "4"}, ("LLF064", "ValueError", "config")),
        ({"val_size": '"0.1"'}, ("LLF070", "TypeError", "init")),
        ({"generation_config": "true"}, ("LLF070", "AttributeError", "init")),
        ({"val_size": '"0.1"', "eval_strategy": "epoch"}, ("LLF070", "TypeError", "config")),
        ({"resume_from_checkpoint": "0.1"}, ("TYP200", "TypeError", "init")),
        ({"use_muon": "true", "learning_rate": '"1e-5"'}, ("TYP200", "TypeError", "first-step")),
        ({"use_muon": "true", "finetuning_type": "full", "adam_epsilon": '"1e-8"'}, ("TYP200", "TypeError", "first-step")),
        ({"template": "[a]"}, ("LLF014", "TypeError", "init")),
        ({"seed": "0o17"}, ("TYP200", "TypeError", "config")),
        ({"seed": "-1"}, ("HFT045", "ValueError", "config")),
        ({"lr_scheduler_type": "cosine_with_min_lr"}, ("STP003", "ValueError", "init")),
        ({"use_galore": '"true"', "finetuning_type": "full", "optim": "adamw_torch"}, ("LLF070", "ValueError", "config")),
        ({"packing": "true", "cutoff_len": '"1024"'}, ("LLF070", "TypeError", "config")),
        ({"evaluation_strategy": "epoch"}, ("LLF001", "ValueError", "config")),
        ({"learning_rate": '"1e-5"'}, ("TYP200", "TypeError", "init")),
        ({"eval_strategy": "no"}, ("HFT003", "ValueError", "config")),
        ({"warmup_ratio": "-0.1"}, ("STP001", "ValueError", "config")),
    ],
)
def test_refused(factory, errors, keys, found):
    assert errors(factory(1, **keys))[:1] == [found]


@each_case(
    ("gpus", "deepspeed", "keys", "accepted"),
    [
        (8, None, {"use_badam": "true", "finetuning_type": "full"}, False),
        (8, ZERO2, {"use_badam": "true", "finetuning_type": "full"}, False),
        (8, ZERO3, {"use_badam": "true", "finetuning_type": "full"}, True),
        (8, ZERO3, {"use_badam": "true", "badam_mode": "ratio", "finetuning_type": "full"}, False),
        (1, None, {"use_badam": "true", "finetuning_type": "full"}, True),
        (1, ZERO2, {"use_badam": "true", "finetuning_type": "full"}, False),
        (8, ZERO3, {"pissa_init": "true"}, False),
        (8, ZERO2, {"pissa_init": "true"}, True),
        (1, None, {"fsdp": "full_shard auto_wrap"}, True),
    ],
)
def test_processes_and_zero_stage(factory, gpus, deepspeed, keys, accepted):
    assert factory(gpus, deepspeed=deepspeed, **keys).verdict == ("accept" if accepted else "reject")


@each_case(
    "keys",
    [
        {"stage": "sft", "dpo_label_smoothing": "0.1", "pref_loss": "ipo"},
        {"finetuning_type": "full", "reward_model_type": "lora"},
        {"quantization_bit": "4", "create_new_adapter": "true"},
        {"stage": "dpo", "pissa_init": "true", "pref_loss": "simpo"},
        {"dataset": "[a, b]"},
        {"learning_rate": "1e-5"},
        {"warmup_steps": "null", "warmup_ratio": "0.1"},
        {"lr_scheduler_type": "warmup_stable_decay"},
        {"remove_unused_columns": "true", "label_names": "labels"},
        {"finetuning_type": "full", "use_galore": "true", "optim": "adafactor"},
        {"run_name": "${output_dir}"},
        {"overwrite_output_dir": "true", "ddp_static_graph": "true"},
    ],
)
def test_accepted(factory, keys):
    run = factory(1, **keys)
    assert run.verdict == "accept", [each.message for each in run.diagnostics if each.severity == "error"]


def test_without_training_nothing_of_training_is_claimed(factory, errors):
    keys = {"do_train": "false", "do_eval": "true", "eval_dataset": "other"}
    assert errors(factory(1, learning_rate='"1e-5"', per_device_train_batch_size="0", **keys)) == []
    assert [code for code, _, _ in errors(factory(1, report_to="wanddb", **keys))] == ["HFT044"]


def test_a_file_on_its_own_may_get_more_on_the_command_line(factory):
    run = factory(1, complete=False, model_name_or_path=None, dataset=None, eval_strategy="epoch")
    assert run.verdict == "accept"
    assert {"LLF016", "LLF017"} <= {each.code for each in run.diagnostics if each.severity == "warning"}


def test_its_own_parser_is_the_only_one(factory):
    """Without a declared kind a trainer's file may have another parser; this one has not."""
    assert factory(1, complete=False, learning_rate='"1e-5"').verdict == "reject"


def test_the_parser_names_all_unknown_keys_sorted(factory):
    raised = {each.exception for each in factory(zz="1", recompute_granularity="full", attn="a").findings("error") if each.exception}
    assert raised == {"ValueError: Some keys are not used by the HfArgumentParser: ['attn', 'zz']"}


def test_megatron_keys_depend_on_the_environment(factory):
    run = factory(1, tensor_model_parallel_size="2", pipeline_model_parallel_size="1", some_other_key="1")
    assert run.verdict == "accept"
    assert [each.code for each in run.diagnostics].count("LLF001") == 1
    [alone] = [each.message for each in factory(tensor_model_parallel_size="2").diagnostics if each.code == "LLF001"]
    assert alone == "`tensor_model_parallel_size` of Megatron-core needs the environment variable USE_MCA=1"


@each_case(
    ("keys", "code"),
    [
        ({"fp8": "false", "fp8_enable_fsdp_float8_all_gather": "true"}, "LLF083"),
        ({"use_mca": "true"}, "LLF084"),
        ({"galore_rank": "64"}, "LLF086"),
        ({"pref_beta": "0.2"}, "LLF086"),
        ({"finetuning_type": "oft", "lora_alpha": "32"}, "LLF086"),
    ],
)
def test_without_effect(factory, keys, code):
    run = factory(1, **keys)
    assert [each.code for each in run.diagnostics if each.severity == "warning"] == [code]


@pytest.mark.parametrize("keys", [{"galore_rank": "16"}, {"lora_rank": "64"}, {"quantization_bit": "4", "quantization_type": "fp4"}])
def test_with_effect_or_a_default(factory, keys):
    assert factory(1, **keys).diagnostics == []


def test_what_a_deepspeed_file_says_is_unknown_where_it_cannot_be_seen(of_text):
    """BAdam needs ZeRO stage 3, which the file may well say."""
    from tests.frameworks.llamafactory.conftest import BASE

    text = BASE.replace("lora", "full") + "use_badam: true\ndeepspeed: elsewhere/ds.json\n"
    assert of_text(text, gpus=8, complete=False).verdict == "accept"
    assert of_text(text.replace("deepspeed: elsewhere/ds.json\n", ""), gpus=8, complete=True).verdict == "reject"


def test_a_fork_is_reported_once(factory):
    strangers = {"my_key": "1", "other_key": "2", "third_key": "3"}
    run = factory(1, complete=False, **strangers)
    assert [(each.code, each.severity) for each in run.diagnostics] == [("LLF001", "warning")]
    assert [each.severity for each in factory(1, **strangers).diagnostics] == ["error"] * 3


def test_a_checkout_has_keys_and_templates_of_its_own(tmp_path, of_text):
    from tests.frameworks.llamafactory.conftest import BASE

    package = tmp_path / "src" / "llamafactory"
    (package / "hparams").mkdir(parents=True)
    (package / "data").mkdir()
    (tmp_path / ".git").mkdir()
    (package / "hparams" / "data_args.py").write_text("class DataArguments:\n    my_key: int = 1\n")
    (package / "data" / "template.py").write_text('register_template(name="mine", format_user=1)\n')
    text = BASE.replace("llama3", "mine") + "my_key: 2\n"
    assert of_text(text, name=str(tmp_path / "examples" / "train.yaml")).diagnostics == []
    assert {each.code for each in of_text(text).diagnostics} == {"LLF001", "LLF014"}
    assert [each.code for each in of_text(text + "your_key: 3\n", name=str(tmp_path / "train.yaml")).diagnostics] == ["LLF001"]


@pytest.mark.parametrize(("name", "near"), [("llama33", "llama3"), ("lama3", "llama3"), ("lama33", None), ("quen2_v", None)])
def test_a_template_is_suggested_for_one_typo_only(name, near):
    from cfglint.frameworks.llamafactory.rules.values import nearest_template

    assert nearest_template(name, (0, 9, 5)) == near


@each_case(
    "keys", [{"use_muon": "true", "adam_epsilon": '"1e-8"'}, {"use_muon": "true", "adam_beta1": "1.5"}, {"resume_from_checkpoint": "a"}]
)
def test_muon_checks_no_range_and_adapters_do_not_use_its_epsilon(factory, keys):
    assert [each.code for each in factory(1, **keys).diagnostics if each.severity == "error"] == []


def test_unknown_keys_of_two_types_cannot_be_sorted(of_text):
    from tests.frameworks.llamafactory.conftest import BASE

    raised = {each.exception for each in of_text(BASE + "5: 1\nlora_ranks: 8\n").diagnostics if each.code == "LLF001"}
    assert raised == {"TypeError: '<' not supported between instances of 'int' and 'str'"}


def test_a_json_file_is_never_read(of_text, errors):
    run = of_text('{"model_name_or_path": "m"}', name="train.json")
    assert ("SRC002", "AttributeError", "load") in errors(run)


@each_case("name", sorted({name for names, _, _ in GROUPS for name in names}))
def test_an_option_without_its_switch_has_no_effect(factory, name):
    release = next(each for each in reversed(RELEASES) if name in arguments(parse_version(each)))
    default = arguments(parse_version(release))[name][DEFAULT]
    value = "false" if default is True else "true" if default is False else "0.7" if isinstance(default, float) else "7"
    run = factory(release=release, finetuning_type="full", do_train="true", **{name: value})
    assert f"/{name}" in [each.key for each in run.diagnostics if each.code == "LLF086"]


@each_case(
    ("keys", "severity"),
    [
        ("dataset: mine, other", "warning"),
        ("dataset: mine", None),
        ("dataset: other\ntokenized_path: tokens", None),
        ("dataset: 1", None),
        ("dataset: other\ndataset_dir: elsewhere", None),
        ("dataset: other\ndataset_dir: ONLINE", None),
    ],
)
def test_a_data_set_without_an_entry_depends_on_the_folder_that_the_run_starts_in(tmp_path, monkeypatch, capsys, keys, severity):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "dataset_info.json").write_text('{"mine": {"file_name": "mine.json"}}')
    (tmp_path / "train.yaml").write_text(f"model_name_or_path: m\nstage: sft\ndo_train: true\noutput_dir: o\ntemplate: llama3\n{keys}\n")
    main(["check", "train.yaml", "--format", "json"])
    found = [each for each in json.loads(capsys.readouterr().out)["diagnostics"] if each["code"] == "LLF111"]
    assert [(each["severity"], each["depends_on"][0]["kind"]) for each in found] == ([(severity, "environment")] if severity else [])
