"""What verl's rows refuse: classes of sections, values that Python fails on, and parts of a run that others have."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.verl.checks import failed, unconverted
from cfglint.frameworks.verl.sizes import ComposedConfig, Sizes

ACTOR = "actor_rollout_ref.actor"
ACTOR_CLASS = "verl.workers.config.FSDPActorConfig"


def composed(release, actor=None, **sections):
    actor = {"_target_": ACTOR_CLASS, "strategy": "fsdp", "use_dynamic_bsz": True, "ppo_mini_batch_size": 8, **(actor or {})}
    values = {
        "actor_rollout_ref": {"actor": actor, "rollout": {"n": 1, "name": "vllm"}, "model": {}, "hybrid_engine": True},
        "critic": {"enable": False, "strategy": "fsdp"},
        "data": {"train_batch_size": 8},
        "trainer": {"nnodes": 1, "n_gpus_per_node": 1},
        "algorithm": {"adv_estimator": "grpo"},
        **sections,
    }
    return ComposedConfig(values, LaunchFacts(), release)


def found(tree):
    """What fails while the config is made, without what these excerpts of a config lack."""
    refused = [(each.kind, each.key, each.exception) for each in failed(tree, Sizes(tree)) if each.fails_at == "config"]
    return [each for each in refused if "ConfigAttributeError" not in each[2]]


def test_a_class_refuses_a_value_of_its_section_as_hydra_reports_it():
    said = "hydra.errors.InstantiationException: Error in call to target 'verl.workers.config.actor.FSDPActorConfig': "
    said += "ValueError('Invalid loss_agg_mode: mean') full_key: actor_rollout_ref.actor"
    assert found(composed((0, 7, 1), {"loss_agg_mode": "mean"})) == [("VRL011", "actor_rollout_ref.actor.loss_agg_mode", said)]


def test_the_rows_of_another_class_do_not_hold():
    assert found(composed((0, 7, 1), {"loss_agg_mode": "mean", "_target_": "mine.ActorConfig"})) == []


@pytest.mark.parametrize(("value", "shown"), [(None, "null"), ("four", '"four"')])
def test_python_fails_on_a_size_that_is_not_an_integer(value, shown):
    tree = composed((0, 7, 1), {"use_dynamic_bsz": False, "ppo_micro_batch_size_per_gpu": 4}, data={"train_batch_size": value})
    first = next(each for each in failed(tree, Sizes(tree)) if each.key == "data.train_batch_size")
    assert (first.kind, first.message) == ("VRL010", f"`data.train_batch_size` is {shown}, not an integer")


def test_a_section_that_is_missing_is_no_failure():
    assert not [each for each in found(composed((0, 9, 1), trainer={"nnodes": 1})) if "NoneType" in each[2]]


@pytest.mark.parametrize("sections", [{"actor_rollout_ref": None, "trainer": None}, {"critic": 3, "trainer": [1]}, {"data": None}])
def test_sections_that_are_no_mappings_are_no_fault_of_ours(sections):
    tree = composed((0, 9, 1), **sections)
    assert failed(tree, Sizes(tree))


@pytest.mark.parametrize(
    ("actor", "key", "exception"),
    [
        ({"optim": {"_target_": "name"}}, "optim._target_", "hydra.errors.InstantiationException: Error locating target 'name'"),
        ({"_target_": None}, "_target_", "hydra.errors.InstantiationException: Expected a callable target, got 'None' of type 'NoneType'"),
        ({"_target_": 1}, "_target_", "hydra.errors.InstantiationException: Expected a callable target, got '1' of type 'int'"),
        (
            {"optim": {"_target_": {}}},
            "optim._target_",
            "hydra.errors.InstantiationException: Expected a callable target, got '{}' of type 'DictConfig'",
        ),
        ({"ppo_epochs": "???"}, "ppo_epochs", f"omegaconf.errors.MissingMandatoryValue: Missing mandatory value: {ACTOR}.ppo_epochs"),
    ],
)
def test_hydra_makes_no_object_of_a_section(actor, key, exception):
    assert ("VRL035", f"{ACTOR}.{key}", exception) in found(composed((0, 7, 1), actor))


# What the real OmegaConf 2.3 says.
@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (True, "bool", ""),
        (2, "bool", ""),
        ("Yes", "bool", ""),
        ("1", "bool", ""),
        (1.0, "bool", "Value '1.0' is not a valid bool (type float)"),
        ("abc", "bool", "Value 'abc' is not a valid bool (type str)"),
        ([1], "bool", "Value '[1]' is not a valid bool (type ListConfig)"),
        (None, "bool", "Incompatible value 'None' for field of type 'bool'"),
        ("8", "int", ""),
        (1.0, "int", "Value '1.0' of type 'float' could not be converted to Integer"),
        (True, "int", "Value 'True' of type 'bool' could not be converted to Integer"),
        (1, "float", ""),
        ("1e-3", "float", ""),
        (True, "float", "Value 'True' of type 'bool' could not be converted to Float"),
        (True, "str", ""),
        (["a"], "str", "Cannot convert 'ListConfig' to string: '['a']'"),
        ("${a.b}", "int", ""),
        ([1], "Any", ""),
    ],
)
def test_values_are_converted_to_the_types_of_fields(value, kind, message):
    assert unconverted(value, kind, is_optional=False) == message


def test_the_model_of_workers_before_0_8_has_types():
    for release, refused in (((0, 5, 0), []), ((0, 6, 0), ["lora_rank"]), ((0, 7, 1), ["lora_rank"]), ((0, 8, 0), [])):
        tree = composed(release)
        tree.values["actor_rollout_ref"]["model"] = {"path": "m", "lora_rank": True, "external_lib": None}
        keys = [each.key.rpartition(".")[2] for each in failed(tree, Sizes(tree)) if "could not be converted" in each.exception]
        assert keys == refused, release


def test_workers_need_a_model_and_shards():
    tree = composed((0, 7, 1), {"fsdp_config": {"fsdp_size": 0}})
    refused = [each.key for each in failed(tree, Sizes(tree)) if each.kind == "VRL035" and each.key.endswith(("path", "fsdp_size"))]
    assert refused == ["actor_rollout_ref.model.path", "actor_rollout_ref.actor.fsdp_config.fsdp_size"]


@pytest.mark.parametrize(
    ("release", "data", "trainer", "found"),
    [
        (
            (0, 5, 0),
            {"dataloader_num_workers": -1},
            {},
            "data.dataloader_num_workers: ValueError: num_workers option should be non-negative",
        ),
        ((0, 5, 0), {"dataloader_num_workers": "2"}, {}, "data.dataloader_num_workers: TypeError: '<' not supported"),
        ((0, 8, 0), {"shuffle": True, "seed": "x"}, {}, "data.seed: RuntimeError: manual_seed expected a long, but got str"),
        ((0, 5, 0), {"shuffle": True, "seed": None}, {}, "data.seed: RuntimeError: manual_seed expected a long, but got NoneType"),
        ((0, 8, 0), {"shuffle": True, "seed": None}, {}, ""),
        ((0, 8, 0), {"shuffle": False, "seed": "x"}, {}, ""),
        (
            (0, 5, 0),
            {},
            {"total_epochs": [1, 2]},
            "trainer.total_epochs: TypeError: unsupported operand type(s) for *: 'int' and 'ListConfig'",
        ),
        (
            (0, 7, 0),
            {},
            {"total_training_steps": "2x"},
            "trainer.total_training_steps: TypeError: can't multiply sequence by non-int of type 'float'",
        ),
        ((0, 8, 0), {}, {"total_epochs": 7.5}, "trainer.total_epochs: TypeError: 'float' object cannot be interpreted as an integer"),
        ((0, 9, 1), {}, {"total_epochs": 7.5, "use_v1": True}, ""),
        ((0, 6, 1), {"train_batch_size": True}, {}, "data.train_batch_size: ValueError: batch_size should be a positive integer value"),
        ((0, 6, 1), {"val_batch_size": -5}, {}, "data.val_batch_size: ValueError: batch_size should be a positive integer value"),
        ((0, 7, 0), {"gen_batch_size": ""}, {}, "data.gen_batch_size: ValueError: batch_size should be a positive integer value"),
        ((0, 9, 1), {"gen_batch_size": 0, "val_batch_size": None}, {"use_v1": False}, ""),
        ((0, 9, 1), {"val_batch_size": 0}, {"use_v1": True}, ""),
    ],
)
def test_what_data_loaders_and_the_loop_of_epochs_refuse(release, data, trainer, found):
    values = {"data": {"train_batch_size": 8, **data}, "trainer": {"nnodes": 1, "n_gpus_per_node": 1, **trainer}}
    tree = composed(release, **values)
    about = [each for each in failed(tree, Sizes(tree)) if each.key.startswith(("data.", "trainer.")) and "is read" not in each.message]
    said = [f"{each.key}: {each.exception}" for each in about]
    assert [text[: len(found)] for text in said] == ([found] if found else [])


def test_a_fraction_fails_where_something_counts_with_it():
    tree = composed((0, 8, 0), {"ppo_mini_batch_size": 16.0})
    assert [each.fails_at for each in failed(tree, Sizes(tree)) if each.key == f"{ACTOR}.ppo_mini_batch_size"] == ["first-step"]


def test_the_data_parallel_size_is_that_of_the_device_mesh():
    """A size of shards that does not divide the GPUs leaves some of them out."""
    values = {"trainer": {"nnodes": 8, "n_gpus_per_node": 8}}
    tree = composed((0, 5, 0), {"fsdp_config": {"fsdp_size": 33}, "ulysses_sequence_parallel_size": 4}, **values)
    assert Sizes(tree).data_parallel == 8
