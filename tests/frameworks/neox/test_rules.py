"""The rules where GPT-NeoX is subtle; every rule's own examples run in tests/rules."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.neox._tables import FIELDS
from cfglint.frameworks.neox.rules.fields import converted
from cfglint.run.checked import CheckedRun

PLAIN = "AttributeError: type object '{}' has no attribute '__origin__'"
CANNOT = "ValueError: NeoXArgs.__post_init__() NeoXArgs types cannot be validated"


def modulo_by_zero():
    """What this release of Python says of it."""
    try:
        return 1 % 0
    except ZeroDivisionError as error:
        return error


def errors(run):
    return {each.code: each.exception for each in run.diagnostics if each.severity == "error"}


def warnings(run):
    return {each.code for each in run.diagnostics if each.severity == "warning"}


@each_case(
    ("expected", "value", "written"),
    [
        ("bool", "True", True),
        ("bool", "off", None),
        ("bool", 1, True),
        ("bool", 2, None),
        ("int", 4.0, 4),
        ("int", 4.5, None),
        ("float", "1e-4", 0.0001),
        ("int", "nan", None),
    ],
)
def test_a_value_of_the_wrong_type_is_converted_if_nothing_is_lost(expected, value, written):
    assert (converted(expected, value), type(converted(expected, value))) == (written, type(written))


def test_sound_config_is_silent(runs):
    assert runs.of().diagnostics == []


@each_case(
    ("given", "exception"),
    [
        ({"eval_iters": 10.0}, PLAIN.format("int")),
        ({"eval_iters": True}, PLAIN.format("int")),
        ({"use_wandb": 1}, PLAIN.format("bool")),
        ({"hidden_dropout": "0.1"}, PLAIN.format("float")),
        ({"data_path": 5}, PLAIN.format("str")),
        ({"comet_experiment": 3}, PLAIN.format("Any")),
        ({"checkpoint_factor": "10"}, CANNOT),
        ({"online_dataserver_ips": ["a"]}, CANNOT),
        ({"pipe_parallel_size": 2.0}, PLAIN.format("int")),
        ({"train_batch_size": 64.0, "train_micro_batch_size_per_gpu": 4.0, "gradient_accumulation_steps": 2}, PLAIN.format("int")),
        ({"num_layers": "4"}, "TypeError: 'str' object cannot be interpreted as an integer"),
        ({"num_layers": 4.0}, "TypeError: 'float' object cannot be interpreted as an integer"),
        ({"moe_num_experts": "2"}, "TypeError: '>' not supported between instances of 'str' and 'int'"),
        ({"fp16": True}, "AttributeError: 'bool' object has no attribute 'get'"),
        ({"zero_optimization": [1]}, "TypeError: list indices must be integers or slices, not str"),
        ({"zero_optimization": {"stage": True}}, CANNOT),
        ({"zero_optimization": {"stage": 1, "reduce_bucket_size": 5e8}}, PLAIN.format("int")),
        ({"optimizer": {"type": "Adam", "params": {"lr": "1e-4"}}}, PLAIN.format("float")),
        ({"log_dir": 5}, "TypeError: expected str, bytes or os.PathLike object, not int"),
    ],
)
def test_wrong_types(runs, given, exception):
    run = runs.of(**given)
    assert errors(run).get("TYP300") == exception
    assert run.fails_at == "config"


@each_case(
    "given",
    [
        {"hidden_dropout": 0},
        {"checkpoint_factor": 10},
        {"eval_iters": None},
        {"model_parallel_size": 0},
        {"model_parallel_size": False},
        {"precision": 16},
        {"clip_grad": "text"},
        {"precision": "fp16", "fp16": []},
        {"zero_stage": "all"},
        {"config_files": 5},
    ],
)
def test_types_that_pass(runs, given):
    assert runs.of(**given).verdict == "accept"


@pytest.mark.parametrize(
    ("key", "meant"),
    [("save_interval", "checkpoint_factor"), ("hidden_sise", "hidden_size"), ("micro_batch_size", "train_micro_batch_size_per_gpu")],
)
def test_unknown_arguments_have_a_name(runs, key, meant):
    run = runs.files({"a.yml": f"{{{key}: 4}}"}, complete=False)
    found = next(each for each in run.diagnostics if each.code == "KEY300")
    assert f"`{meant}`" in found.message
    assert found.fix.safe
    assert found.exception == f"TypeError: NeoXArgs.__init__() got an unexpected keyword argument '{key}'"


def test_former_argument_is_taken_out(runs):
    run = runs.files({"a.yml": "{gas: 1, seed: 2}"}, complete=False)
    assert next(each for each in run.diagnostics if each.code == "KEY300").fix.title == "remove `gas`"


@each_case(
    ("given", "code", "exception"),
    [
        (
            {"precision": "bf16", "bf16": {"enabled": True}},
            "PRC300",
            "AssertionError: DeepSpeed bf16 field was set but precision conflicts",
        ),
        (
            {"fp16": {"enabled": True}, "bf16": {"enabled": True}},
            "PRC300",
            "AssertionError: DeepSpeed bf16 field was set but precision conflicts",
        ),
        ({"fp16": {}}, "NEO011", CANNOT),
        ({"zero_optimization": {}}, "NEO012", "KeyError: 'stage'"),
        ({"optimizer": {"type": "Adam"}}, "NEO010", "KeyError: 'params'"),
        ({"optimizer": {"params": {}}}, "NEO010", CANNOT),
        ({"num_attention_heads": 0}, "NEO023", f"ZeroDivisionError: {modulo_by_zero()}"),
        ({"num_kv_heads": 0}, "NEO022", f"ZeroDivisionError: {modulo_by_zero()}"),
        (
            {"moe_num_experts": 2, "zero_optimization": {"stage": 2}},
            "NEO014",
            "AssertionError: MoE is not compatible with zero stages 2 and 3",
        ),
        ({"num_layers": -1}, "NEO020", "AssertionError: Length of attention config list must equal num_layers"),
        ({"min_lr": 1}, "NEO025", "ValueError: NeoXArgs.validate_values() min_lr must be smaller or equal lr"),
    ],
)
def test_construction(runs, given, code, exception):
    run = runs.of(**given)
    assert errors(run).get(code) == exception
    assert run.fails_at == "config"


def test_precision_fills_in_what_the_section_lacks(runs):
    assert runs.of(precision="fp16", fp16={"loss_scale": 0}).verdict == "accept"
    assert runs.of(fp16={"loss_scale": 0}).verdict == "reject"


@each_case(
    ("given", "code"),
    [
        ({"zero_optimization": {"stage": 2}, "pipe_parallel_size": 1}, "NEO060"),
        (
            {"zero_optimization": {"stage": 1}, "deepspeed_extra_args": {"zero_optimization": {"stage": 3}}, "pipe_parallel_size": 1},
            "NEO060",
        ),
        ({"model_parallel_size": 4, "hidden_size": 66, "num_attention_heads": 6}, "NEO061"),
        ({"model_parallel_size": 4, "intermediate_size": 250}, "NEO061"),
        ({"seed": 0}, "NEO071"),
        ({"train_iters": 0}, "STP061"),
        ({"optimizer": None}, "NEO072"),
        ({"vocab_file": None}, "NEO070"),
        ({"init_method": "orthogonal"}, "NEO057"),
        ({"warmup": None}, "STP063"),
        ({"zero_optimization": {"stage": 1, "reduce-scatter": True}}, "NEO090"),
        ({"zero_optimization": {"stage": 1, "offload_optimizer": {"device": "gpu"}}}, "NEO090"),
        ({"deepspeed_extra_args": {"train_batch_size": 64}}, "NEO093"),
        ({"hidden_size": -64}, "NEO058"),
        ({"pos_emb": "rotary", "seq_length": None}, "NEO058"),
        ({"norm": "RMSNorm"}, "NEO065"),
        ({"pipe_parallel_size": 2, "pipe_partition_method": "type:nothing"}, "NEO068"),
    ],
)
def test_workers(runs, given, code):
    run = runs.of(**given)
    assert code in errors(run)
    assert run.fails_at == "init"


@each_case(
    "given",
    [
        {"optimizer": None, "no_load_optim": True},
        {"tokenizer_type": "HFGPT2Tokenizer", "vocab_file": None},
        {"tokenizer_type": "HFTokenizer", "merge_file": None},
        {"train_iters": 0, "train_epochs": 1},
        {"train_iters": 10, "train_epochs": 0},
        {"zero_optimization": {"stage": 3}, "pipe_parallel_size": 0},
        {"zero_optimization": {"stage": 2}, "deepspeed_extra_args": {"zero_optimization": {"stage": 1}}, "pipe_parallel_size": 1},
        {"zero_optimization": {"stage": 1, "overlap_comm": "yes", "sub_group_size": "1_000", "round_robin_gradients": "auto"}},
        {"zero_optimization": {"stage": 1, "cpu_offload": True}},
        {"init_method": "scaled_orthogonal"},
        {"save": "out", "extra_save_iters": [10]},
        {"num_layers": 2, "pipe_parallel_size": 8},
        {"hidden_size": 96, "num_attention_heads": 3, "model_parallel_size": 3, "gpus": 6},
    ],
)
def test_workers_start(runs, given):
    run = runs.of(**given)
    assert run.verdict == "accept", [f"{each.code} {each.message}" for each in run.diagnostics]


@each_case(
    ("given", "code"),
    [
        ({"precision": "bf16"}, "PRC303"),
        ({"gradient_clipping": 1}, "PRC305"),
        ({"lr": 0.1}, "KEY301"),
        ({"lr_decay_style": "cosine", "lr_decay_iters": 50}, "STP065"),
        ({"lr_decay_style": "Cosine"}, "TYP304"),
        ({"warmup": 2000}, "STP067"),
        ({"num_gpus": 4}, "NEO100"),
        ({"eval_interval": 0}, "STP069"),
    ],
)
def test_traps_start(runs, given, code):
    run = runs.of(**given)
    assert code in warnings(run)
    assert run.verdict == "accept"


@each_case(
    "given",
    [
        {"gradient_clipping": 0.5},
        {"lr": 0.001},
        {"lr_decay_style": "cosine", "lr_decay_iters": 100},
        {"lr_decay_style": "linear", "lr_decay_iters": 50},
        {"warmup": 0.5},
        {"zero_stage": 1, "batch_size": 4, "clip_grad": 1.0},
        {"num_gpus": 8},
        {"eval_iters": 0},
        {"fp16": {"fp16": True, "enabled": True, "loss_scale": 0}},
    ],
)
def test_sound_settings_have_no_warning(runs, given):
    assert warnings(runs.of(**given)) == set()


@each_case("value", [None, True, 0, -1, 2.5, float("nan"), "text", [], [[1]], {}, {"a": {"b": 1}}], ids=repr)
@each_case("part", range(12))
def test_values_of_any_type_break_no_rule(runs, part, value):
    given = dict.fromkeys(sorted(FIELDS)[part::12], value)
    broken = [each.message for each in runs.of(**given).diagnostics if each.code == "INT000"]
    assert broken == []


def test_stages_to_try_are_for_the_autotuner_in_a_file_that_nobody_declared(runs):
    run = runs.of(zero_optimization={"stage": [1, 2]}, autotuning={"enabled": True})
    assert list(errors(run)) == ["NEO090"]
    undeclared = CheckedRun(run.documents, run.kinds, run.facts.replace(complete=False, kind_given=False))
    assert not {"NEO090"} & {*warnings(undeclared), *errors(undeclared)}


@pytest.mark.parametrize(("norm", "found"), [("layernorm", {"KEY302"}), ("rmsnorm", set()), ("non_parametric_layernorm", set())])
def test_biases_that_a_norm_does_not_have_need_no_switch(runs, norm, found):
    assert warnings(runs.of(norm=norm, use_bias_in_norms=False)) == found


def test_zero_names_both_kinds_of_parallelism_that_it_refuses(runs):
    run = runs.of(zero_optimization={"stage": 2}, pipe_parallel_size=1, model_parallel_size=2)
    assert [each.key for each in run.diagnostics if each.code == "NEO060"] == ["/pipe_parallel_size", "/model_parallel_size"]


@pytest.mark.parametrize(("size", "found"), [("1" + "0" * 400, False), ("-1" + "0" * 400, True)])
def test_a_number_beyond_all_floats_is_held_against_its_bounds(runs, size, found):
    run = runs.of(zero_optimization={"stage": 1, "prefetch_bucket_size": int(size)})
    codes = [each.code for each in run.diagnostics]
    assert ("NEO090" in codes) == found
    assert "INT000" not in codes
