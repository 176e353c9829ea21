"""The schemas themselves, and the look-up of their keys."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cases import each_case
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.validation import schema as tables
from cfglint.frameworks.validation.schema import load

KINDS = tables.kinds()
LARGE = ("axolotl", "llamafactory", "neox", "trl")  # the meta-schema takes about a second for them
ASSERTIONS = {
    "type",
    "enum",
    "const",
    "anyOf",
    "not",
    "$ref",
    "pattern",
    "items",
    "minItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
}
STRUCTURE = {"properties", "patternProperties", "additionalProperties", "$defs", "$schema", "$id"}
ANNOTATIONS = {"title", "description", "default", "examples", "deprecated"}
OWN = {
    "x-alias-of",
    "x-aliases",
    "x-any",
    "x-checked-at",
    "x-default-history",
    "x-enum-case",
    "x-enum-removed",
    "x-enum-since",
    "x-exact-types",
    "x-framework",
    "x-overwritten",
    "x-read-in",
    "x-required",
    "x-plugin",
    "x-model",
    "x-names",
    "x-parent-model",
    "x-raises",
    "x-reads",
    "x-reads-history",
    "x-reader",
    "x-removed",
    "x-renamed-since",
    "x-renamed-to",
    "x-renamed-values",
    "x-replaced-by",
    "x-required-when",
    "x-section-policy",
    "x-since",
    "x-efficient-eos",
    "x-unused",
}


def every_property(raw: dict[str, Any], above: str = "") -> Any:
    for name, inner in raw.get("properties", {}).items():
        yield above + name, inner
        yield from every_property(inner, f"{above}{name}.")


def subschemas(raw: Any) -> Any:
    yield raw
    for keyword in ("properties", "$defs"):
        for inner in raw.get(keyword, {}).values():
            yield from subschemas(inner)
    for inner in raw.get("anyOf", ()):
        yield from subschemas(inner)
    for keyword in ("items", "not"):
        if keyword in raw:
            yield from subschemas(raw[keyword])


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(load(kind).raw)


def reference(kind: str, values: Any) -> set[tuple[Any, ...]]:
    """The places at which jsonschema finds something, unknown keys under their own path."""
    places = set()
    for error in validator(kind).iter_errors(values):
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            patterns = error.schema.get("patternProperties", {})
            places |= {
                (*path, key) for key in error.instance if key not in error.schema["properties"] and not ("-" in patterns and "-" in key)
            }
        else:
            places.add(path)
    return places


# The schemas


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.slow if kind in LARGE else ()) for kind in KINDS])
def test_valid_by_the_meta_schema(kind):
    Draft202012Validator.check_schema(load(kind).raw)


@each_case("kind", KINDS)
def test_every_key_is_described_in_a_sentence(kind):
    for name, raw in every_property(load(kind).raw):
        assert raw["description"].endswith("."), name
        assert len(raw["description"]) < 200, name


@each_case("kind", KINDS)
def test_only_keywords_that_are_documented(kind):
    for raw in subschemas(load(kind).raw):
        assert set(raw) <= ASSERTIONS | STRUCTURE | ANNOTATIONS | OWN


@each_case("kind", KINDS)
def test_defaults_are_allowed_values(kind):
    for name, raw in every_property(load(kind).raw):
        if "default" in raw and raw["default"] is not None and "not" not in raw:
            assert validator(kind).evolve(schema=raw).is_valid(raw["default"]), name


def test_complete():
    """No key has been lost: removed ones are kept."""
    counted = {kind: sum("x-alias-of" not in raw for _, raw in every_property(load(kind).raw)) for kind in ("huggingface", "neox")}
    assert counted["huggingface"] >= 114 + 35
    assert counted["neox"] >= 318 + 4
    deepspeed = dict(every_property(load("deepspeed").raw))
    given = [
        name
        for name, raw in deepspeed.items()
        if "x-alias-of" not in raw and not name.startswith(("optimizer.params.", "scheduler.params."))
    ]
    assert len(given) >= 362 + 14
    assert sum("x-removed" in deepspeed[name] for name in given) >= 14


@each_case("kind", KINDS)
def test_histories_are_in_order(kind):
    for name, raw in every_property(load(kind).raw):
        history = raw.get("x-default-history", ())
        releases = [parse_version(entry["since"]) for entry in history]
        assert releases == sorted(releases), name
        if history and "x-removed" not in raw:
            assert history[-1]["default"] == raw["default"], name
        if "x-since" in raw and "x-removed" in raw:
            assert parse_version(raw["x-since"]) < parse_version(raw["x-removed"]), name


@each_case("kind", KINDS)
def test_renamed_keys_lead_somewhere(kind):
    table = load(kind)
    for name, raw in every_property(table.raw):
        if "x-renamed-to" in raw and raw["x-renamed-to"].split(".")[0] not in ("accelerator_config", "fsdp_config"):
            assert table.lookup(raw["x-renamed-to"]) is not None, name


# Looking up


def test_lookup():
    stage = load("deepspeed").lookup("zero_optimization.stage")
    assert stage is not None
    assert stage.enum == (0, 1, 2, 3)
    assert stage.types == {"integer", "boolean", "string"}
    assert (stage.default, stage.has_default) == (0, True)
    assert load("deepspeed").lookup(("zero_optimization", "stages")) is None


def test_another_spelling_is_the_same_key():
    short = load("deepspeed").lookup("zero_optimization.prefetch_bucket_size")
    assert short.alias_of == "stage3_prefetch_bucket_size"
    assert short.default == 50_000_000
    assert "prefetch_bucket_size" not in load("deepspeed").keys(("zero_optimization",))
    assert load("deepspeed").lookup("tensor_parallel.tensor_parallel.tp_size").default == 1


def test_versions():
    ratio = load("huggingface").lookup("warmup_ratio")
    assert ratio.removed == "5.15.0"
    assert ratio.renamed_to == ("warmup_steps",)
    assert ratio.known_to((4, 42, 4))
    assert not ratio.known_to((5, 23, 0))
    average = load("huggingface").lookup("average_tokens_across_devices")
    assert (average.default_at((4, 50, 0)), average.default_at((4, 54, 0)), average.known_to((4, 42, 4))) == (False, True, False)
    assert load("deepspeed").lookup("gradient_clipping").default_at((0, 18, 0)) == 0.0
    dated = {"fp8_config", "ipex_config", "parallelism_config"}
    keys = {version: dated.intersection(load("accelerate").keys_at(version)) for version in ((0, 33, 0), (1, 12, 0), (1, 13, 0))}
    assert [*keys.values()] == [{"ipex_config"}, dated, {"fp8_config", "parallelism_config"}]


def test_renamed_values():
    grouped = load("huggingface").lookup("group_by_length")
    assert (grouped.renamed_value(True), grouped.renamed_value(False)) == ("group_by_length", None)
    assert load("huggingface").lookup("no_cuda").renamed_value(True) is True


def test_allowed_values_by_release():
    schedule = load("huggingface").lookup("lr_scheduler_type")
    assert "greedy" in schedule.enum
    assert "greedy" not in schedule.enum_at((4, 42, 4))
    assert "adamw_hf" in load("huggingface").lookup("optim").enum_at((4, 42, 4))
    assert "adamw_hf" not in load("huggingface").lookup("optim").enum_at((5, 23, 0))


@each_case(
    ("kind", "section", "key", "meant"),
    [
        ("deepspeed", (), "zero_optimisation", ["zero_optimization"]),
        ("deepspeed", (), "gradient_clip", ["gradient_clipping"]),
        ("deepspeed", (), "bf_16", ["bf16"]),
        ("deepspeed", (), "stage", ["zero_optimization.stage"]),
        ("deepspeed", ("zero_optimization",), "gradient_clipping", ["gradient_clipping"]),
        ("deepspeed", ("activation_checkpointing",), "partitioned_activations", ["activation_checkpointing.partition_activations"]),
        ("huggingface", (), "per_device_batch_size", ["per_device_train_batch_size", "per_device_eval_batch_size"]),
        ("huggingface", (), "Learning-Rate", ["learning_rate"]),
        ("huggingface", (), "warmup_step", ["warmup_steps"]),
        ("neox", (), "num_attn_heads", ["num_attention_heads"]),
        ("neox", (), "attention_type", []),
        ("neox", (), "save_interval", []),
        ("deepspeed", (), "my_own_note", []),
    ],
)
def test_nearest(kind, section, key, meant):
    assert [candidate.name for candidate in load(kind).nearest(section, key)][: len(meant) or None] == meant


# What the schemas allow


@each_case(
    ("values", "path"),
    [
        ({"zero_optimization": {"stage": 4}}, ("zero_optimization", "stage")),
        ({"zero_optimization": {"stages": 2}}, ("zero_optimization", "stages")),
        ({"zero_optimization": {"reduce_bucket_size": 0}}, ("zero_optimization", "reduce_bucket_size")),
        ({"zero_optimization": {"offload_param": {"device": "CPU"}}}, ("zero_optimization", "offload_param", "device")),
        ({"elasticity": {"enabled": False}}, ("elasticity",)),
        ({"communication_data_type": "fp8"}, ("communication_data_type",)),
        ({"prescale_gradients": "false"}, ("prescale_gradients",)),
        ({"fp16": "auto"}, ("fp16",)),
        ({"optimizer": {"params": {"max_grad_norm": 1.0}}}, ("optimizer", "params", "max_grad_norm")),
    ],
)
def test_violations(values, path):
    assert reference("deepspeed", values) == {path}


@each_case(
    ("kind", "values"),
    [
        ("deepspeed", {"zero_optimization": {"stage": "2", "overlap_comm": "yes", "reduce_bucket_size": 5e8, "sub_group_size": "5_000"}}),
        ("deepspeed", {"zero_optimization": {"stage": "auto", "offload_param": None}, "fp16": {"enabled": "auto", "loss_scale": "128"}}),
        ("deepspeed", {"zero_optimization": True, "communication_data_type": "FP16", "unheard_of": 1}),
        ("deepspeed", {"train_batch_size": "auto", "gradient_clipping": "auto", "bf16": None}),
        ("neox", {"lr_decay_iters": None, "min_lr": 0, "num-layers": 3}),
    ],
)
def test_what_a_framework_takes_is_no_violation(kind, values):
    assert reference(kind, values) == set()


def test_accelerate_refuses_unknown_keys():
    assert reference("accelerate", {"num_processes": "8", "num_process": 8}) == {("num_processes",), ("num_process",)}
