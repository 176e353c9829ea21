"""Nothing is coerced: which value dies where."""

from __future__ import annotations

import pytest

from cases import each_case
from examples import launch_of

NUMBER_FIELDS = [
    ("learning_rate", "init"),
    ("adam_epsilon", "init"),
    ("adam_beta1", "init"),
    ("max_steps", "init"),
    ("num_train_epochs", "init"),
    ("warmup_steps", "config"),
    ("logging_steps", "config"),
    ("save_steps", "config"),
    ("eval_steps", "init"),
    ("dataloader_num_workers", "config"),
    ("max_grad_norm", "first-step"),
    ("weight_decay", "first-step"),
    ("label_smoothing_factor", "first-step"),
    ("seed", "init"),
]


@each_case(("field", "stage"), NUMBER_FIELDS)
@each_case("value", ['"8"', "abc", "[1]", "{a: 1}"])
def test_no_number(trainer, field, stage, value):
    run = trainer(f"output_dir: out\n{field}: {value}\n")
    assert run.verdict == "reject"
    assert run.fails_at == stage


@each_case("field", ["logging_steps", "save_steps", "eval_steps"])
def test_minus_infinity_is_a_ratio_that_gives_no_number_of_steps(trainer, field):
    found = [each.exception for each in trainer(f"output_dir: out\n{field}: -.inf\n").diagnostics if each.severity == "error"]
    assert found == ["OverflowError: cannot convert float infinity to integer"]


@each_case("field", ["eval_steps", "data_seed", "neftune_noise_alpha", "save_total_limit", "dataloader_prefetch_factor"])
def test_null_is_fine_where_it_is_the_default(trainer, field):
    assert trainer(f"output_dir: out\n{field}: null\n").verdict == "accept"


@pytest.mark.parametrize(("version", "verdict"), [("5.23.0", "reject"), ("4.42.4", "accept")])
def test_null_clipping_went_with_5(trainer, version, verdict):
    assert trainer("output_dir: out\nmax_grad_norm: null\n", version=version).verdict == verdict


def test_exponents_need_a_point_and_the_fix_writes_one(trainer):
    run = trainer("output_dir: out\nlearning_rate: 1e-5  # tuned\n")
    (found,) = run.diagnostics
    assert found.code == "TYP200"
    assert found.exception == "TypeError: '<=' not supported between instances of 'float' and 'str'"
    assert found.fix.safe
    assert trainer("output_dir: out\nlearning_rate: 1.0e-5\n").diagnostics == []


@each_case(
    ("version", "text", "exception"),
    [
        ("4.36.2", "push_to_hub_model_id: 5", "TypeError: argument of type 'int' is not iterable"),
        ("4.42.4", "push_to_hub_model_id: 2.5", "TypeError: argument of type 'float' is not iterable"),
        ("4.57.6", "push_to_hub_model_id: true", "TypeError: argument of type 'bool' is not iterable"),
        ("4.36.2", "push_to_hub_model_id: 5\npush_to_hub_organization: o", None),
        ("4.36.2", "push_to_hub_model_id: a/b", None),
        ("4.36.2", "push_to_hub_model_id: null", None),
        ("4.30.2", "push_to_hub_model_id: 5", None),
        ("5.5.4", "push_to_hub_model_id: 5", None),
    ],
)
def test_the_former_name_of_a_repository_is_searched_for_its_owner(trainer, version, text, exception):
    run = trainer(f"output_dir: out\n{text}\n", version=version)
    raised = [each.exception.partition(" is not ")[0] for each in run.diagnostics if each.severity == "error"]  # Python 3.14 says more
    assert raised == ([exception.partition(" is not ")[0]] if exception else [])
    assert run.fails_at == ("config" if exception else None)


CHECKPOINTING = "output_dir: out\ngradient_checkpointing: true\n"


@each_case(
    ("version", "name", "value", "exception"),
    [
        ("5.23.0", "activation_checkpointing_kwargs", "1", "TypeError: 'int' object is not iterable"),
        ("5.23.0", "gradient_checkpointing_kwargs", "1", "TypeError: 'int' object is not iterable"),
        ("5.23.0", "gradient_checkpointing_kwargs", "[]", None),
        ("5.23.0", "gradient_checkpointing_kwargs", "{use_reentrant: false}", None),
        ("4.42.4", "gradient_checkpointing_kwargs", "[]", "TypeError: functools.partial() argument after ** must be a mapping, not list"),
        ("4.42.4", "gradient_checkpointing_kwargs", "null", None),
    ],
)
def test_arguments_of_checkpointing_are_unpacked(trainer, version, name, value, exception):
    run = trainer(f"{CHECKPOINTING}{name}: {value}\n", version=version)
    assert [each.exception for each in run.diagnostics if each.severity == "error"] == ([exception] if exception else [])
    assert run.fails_at == ("first-step" if exception else None)
    assert trainer(f"output_dir: out\n{name}: {value}\n", version=version).verdict == "accept"


@pytest.mark.parametrize("value", ["null", "two"])
def test_accumulation_is_compared_where_accelerate_has_its_own(trainer, value):
    own = "accelerator_config: {gradient_accumulation_kwargs: {num_steps: 4}}\n"
    run = trainer(f"output_dir: out\ngradient_accumulation_steps: {value}\n{own}")
    assert (run.verdict, run.fails_at) == ("reject", "init")
    assert "'>' not supported between instances of" in run.diagnostics[0].exception


def test_sgd_asks_the_other_way_round(trainer):
    run = trainer('output_dir: out\noptim: sgd\nlearning_rate: "0.1"\n')
    assert run.diagnostics[0].exception == "TypeError: '<' not supported between instances of 'str' and 'float'"


def test_text_is_a_warning_where_another_parser_may_read_it(trainer, codes):
    text = "model_name_or_path: x\noutput_dir: out\nper_device_train_batch_size: 2\nlearning_rate: 1e-5\n"
    run = trainer(text, complete=False, kind_given=False)
    assert codes(run, "warning") == ["TYP200"]
    assert run.verdict == "accept"


def test_a_file_without_output_dir_is_read_by_a_script_that_may_cast(trainer, codes):
    text = "model_name_or_path: x\nper_device_train_batch_size: 2\nlearning_rate: 1e-5\n"
    assert codes(trainer(text, complete=False, kind_given=False)) == []
    assert codes(trainer(text), "error") == ["TYP200"]


@each_case(
    ("line", "code"),
    [
        ("eval_strategy: no", "HFT003"),
        ("save_strategy: STEPS", "HFT003"),
        ("lr_scheduler_type: null", "HFT003"),
        ("optim: AdamW", "HFT003"),
        ("debug: foo", "HFT003"),
        ("hub_strategy: never", "HFT003"),
        ("log_level: verbose", "TYP200"),
        ("use_cache: null", "TYP200"),
        ("label_names: labels", "TYP200"),
        ("metric_for_best_model: 1", "TYP200"),
        ("output_dir: 1", "TYP200"),
        ("report_to: null", "HFT044"),
        ("report_to: wandbb", "HFT044"),
        ("seed: -1", "HFT045"),
        ("adam_beta1: 0", "HFT050"),
        ("optim_args: lr", "HFT051"),
        ("torch_compile_backend: foo", "HFT043"),
        ("deepspeed: true", "HFT054"),
        ("accelerator_config: {foo: 1}", "KEY203"),
    ],
)
def test_refused_values(trainer, codes, line, code):
    assert code in codes(trainer(f"{line}\n"), "error")


@each_case(
    "line",
    [
        "debug: []",
        "debug: null",
        "report_to: none",
        "report_to: [wandb, tensorboard]",
        'eval_strategy: "no"',
        "label_names: [labels]",
        "adam_epsilon: true",
        "num_train_epochs: -1",
        "save_total_limit: 0",
        "optim_args: ''",
        "train_sampling_strategy: foo",
        "deepspeed: {}",
        "fsdp_config: {foo: 1}",
        "weight_decay: -1",
    ],
)
def test_taken_in_silence(trainer, line):
    assert trainer(f"output_dir: out\n{line}\n").verdict == "accept"


def test_quoted_false_is_on(trainer, codes):
    run = trainer('output_dir: out\nfp16: "false"\nbf16: true\n')
    assert sorted(codes(run)) == ["PRC200", "TYP201"]


def test_an_empty_file_and_a_list_have_no_keys(trainer):
    for text, what in (("", "NoneType"), ("- a\n", "list"), ("text\n", "str")):
        (found,) = trainer(text).diagnostics
        assert found.exception == f"AttributeError: '{what}' object has no attribute 'keys'"


def test_no_output_dir(trainer, codes):
    assert codes(trainer("seed: 1\n", version="4.42.4")) == ["HFT002"]
    assert codes(trainer("seed: 1\n", version="4.42.4", complete=False)) == []
    assert codes(trainer("seed: 1\n")) == []


def test_inline_json_is_parsed_and_converted(trainer):
    split = '"accelerator_config": "{\\"split_batches\\": \\"true\\"}"'
    run = trainer('{"output_dir": "out", "per_device_train_batch_size": 12, ' + split + "}", 8, name="t.json")
    assert run.verdict == "reject"
    run = trainer('{"output_dir": "out", "accelerator_config": "{\'a\': 1}"}', name="t.json")
    assert [each.code for each in run.diagnostics] == ["HFT013"]


SCHEDULES = [
    ("polynomial", "{power: '2'}", "init", "TypeError"),
    ("inverse_sqrt", "{timescale: 0}", "init", "ZeroDivisionError"),
    ("inverse_sqrt", "{timescale: '10'}", "init", "TypeError"),
    ("inverse_sqrt", "{timescale: -1}", "first-step", "ZeroDivisionError"),
    ("warmup_stable_decay", "{num_decay_steps: '5'}", "init", "TypeError"),
    ("cosine", "{num_cycles: x}", "init", "ValueError"),
    ("cosine_with_min_lr", "{min_lr_rate: '0.1'}", "init", "TypeError"),
    ("polynomial", "{power: 2}", None, None),
    ("warmup_stable_decay", "{num_decay_steps: 5, min_lr_ratio: '0.1'}", None, None),  # fails in the decay, long after the first step
]


@each_case(("schedule", "given", "stage", "exception"), SCHEDULES)
def test_schedules_are_computed_for_the_first_step(trainer, schedule, given, stage, exception):
    run = trainer(f"output_dir: out\nlr_scheduler_type: {schedule}\nlr_scheduler_kwargs: {given}\n", complete=True)
    raised = [each.exception.partition(":")[0] for each in run.diagnostics if each.severity == "error"]
    assert raised == ([exception] if exception else [])
    assert run.fails_at == stage


def test_a_schedule_of_unknown_length_is_refused_only_for_what_any_length_refuses(trainer):
    text = "output_dir: out\nlr_scheduler_type: {}\nlr_scheduler_kwargs: {}\n"
    assert trainer(text.format("inverse_sqrt", "{timescale: 0}"), complete=False).verdict == "accept"  # the command line may add a warm-up
    assert trainer(text.format("warmup_stable_decay", "{num_decay_steps: '5'}"), complete=False).verdict == "reject"


@each_case(
    ("version", "optimizer", "given", "exception"),
    [
        ("5.23.0", "sgd", "momentum=x", "ValueError: could not convert string to float: 'x'"),
        ("5.2.0", "sgd", "momentum=x", None),
        ("4.57.6", "galore_adamw", "rank=2.5", "ValueError: invalid literal for int() with base 10: '2.5'"),
        ("5.23.0", "rmsprop", "momentum=0.9, alpha=", "ValueError: could not convert string to float: ''"),
        ("5.23.0", "adamw_torch", "momentum=x", None),
    ],
)
def test_values_of_optimizer_arguments_are_converted(trainer, version, optimizer, given, exception):
    run = trainer(f"output_dir: out\noptim: {optimizer}\noptim_args: {given}\noptim_target_modules: [attn]\n", version=version)
    assert [each.exception for each in run.diagnostics if each.severity == "error"] == ([exception] if exception else [])


PARSING = (
    "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
)


@each_case(
    ("words", "version", "key", "value", "codes"),
    [
        ("--report_to wandb tensorboard", "5.23.0", "report_to", "wandb", ["LCH003"]),
        ("--report_to wandb tensorboard", "4.39.3", "report_to", ["wandb", "tensorboard"], []),
        ("--fsdp full_shard auto_wrap", "5.23.0", "fsdp", "full_shard", ["LCH003"]),
        ("--debug underflow_overflow x", "5.23.0", "debug", "underflow_overflow x", ["HFT003"]),
        ("--include_for_metrics inputs loss", "5.23.0", "include_for_metrics", ["inputs", "loss"], []),
        ("--label_names a b", "5.23.0", "label_names", ["a", "b"], []),
        ("--no_remove_unused_columns", "5.23.0", "remove_unused_columns", False, []),
        ("--bf16", "5.23.0", "bf16", True, []),
        ("--bf16 False", "5.23.0", "bf16", False, []),
        ("--learning_rate 1e-5", "5.23.0", "learning_rate", 1e-5, []),
        ("--warmup_steps 10", "5.23.0", "warmup_steps", 10, []),
        ("--warmup_steps 0.1", "5.23.0", "warmup_steps", 0.1, []),
        ("--run_name 5", "5.23.0", "run_name", "5", []),
    ],
)
def test_the_words_of_a_line_are_parsed_by_the_type_of_their_field(tmp_path, words, version, key, value, codes):
    files = {"train.sh": f"torchrun train.py --output_dir o {words}\n", "train.py": PARSING}
    run = launch_of("launch", files, str(tmp_path), {"named": 1, "target": {"transformers": version}})
    found = run.configs[0].values[key]
    assert (found, type(found), [each.code for each in run.diagnostics]) == (value, type(value), codes)
