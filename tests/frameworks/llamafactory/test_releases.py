"""What differs between the releases of LLaMA-Factory: keys, loader, checks, and the arithmetic of the transformers that each accepts."""

from __future__ import annotations

import cfglint
from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.llamafactory.releases import HISTORY, arguments, is_required, library
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import parse_version

BASE = "model_name_or_path: m\nstage: sft\ndo_train: true\ndataset: d\ntemplate: llama3\noutput_dir: out\n"


@each_case(
    ("keys", "refused_by", "accepted_by"),
    [
        # Keys that came, went or were renamed (the dataclasses of the wheels).
        ({"trust_remote_code": "true"}, ["0.9.1"], ["0.9.2", "0.9.5"]),
        ({"image_resolution": "512"}, ["0.9.2"], ["0.9.1"]),
        ({"new_special_tokens": '"<a>"'}, ["0.9.3"], ["0.9.2"]),
        ({"use_cache": "false"}, ["0.9.4"], ["0.9.3"]),
        ({"enable_thinking": "false"}, ["0.9.2"], ["0.9.3"]),
        ({"evaluation_strategy": '"no"'}, ["0.9.3"], ["0.9.0", "0.9.2"]),  # by the transformers that each accepts
        # Checks (hparams/*.py of the wheels).
        ({"template": None}, ["0.9.1", "0.7.1"], ["0.9.2", "0.9.5"]),
        ({"split_special_tokens": "true"}, ["0.9.4", "0.7.1"], ["0.9.5"]),
        ({"infer_backend": "hf"}, ["0.9.3", "0.9.5"], ["0.9.2", "0.9.0"]),
        ({"image_max_pixels": "100"}, ["0.9.3"], ["0.9.2"]),
        ({"neat_packing": "true"}, ["0.9.4"], ["0.9.3", "0.9.5"]),
        ({"finetuning_type": "oft"}, ["0.9.3"], ["0.9.4"]),
        ({"output_dir": "null"}, ["0.7.1", "0.8.1", "0.9.1"], ["0.9.2", "0.9.5"]),  # isdir(None) of hparams/parser.py; 4.49 has a default
        ({"mask_history": "true", "train_on_prompt": "true"}, ["0.9.0"], []),
        ({"predict_with_generate": "true", "val_size": "0.1"}, ["0.9.3", "0.8.2"], ["0.9.4"]),
        ({"template": "qwen3"}, ["0.9.2"], ["0.9.3"]),
        ({"template": "baichuan2"}, ["0.9.5"], ["0.9.4"]),
        ({"lr_scheduler_type": "warmup_stable_decay", "lr_scheduler_kwargs": "{num_decay_steps: 50}"}, ["0.9.0"], ["0.9.3", "0.9.5"]),
        # The loader: PyYAML reads 1e-5 as a string, OmegaConf as a number.
        ({"learning_rate": "1e-5"}, ["0.9.0", "0.9.3"], ["0.9.4"]),
    ],
)
def test_a_release_refuses_what_it_does_not_have(factory, keys, refused_by, accepted_by):
    assert [release for release in refused_by if factory(1, release=release, **keys).verdict != "reject"] == []
    assert [release for release in accepted_by if factory(1, release=release, **keys).verdict != "accept"] == []


def test_a_duplicate_key_is_refused_by_omegaconf_only(of_text):
    text = "model_name_or_path: m\nstage: sft\ndo_train: true\ndataset: d\ntemplate: llama3\noutput_dir: out\noutput_dir: other\n"
    assert of_text(text, release="0.9.3").verdict == "accept"
    assert of_text(text, release="0.9.4").verdict == "reject"


def test_steps_are_those_of_the_transformers_that_a_release_accepts(factory):
    """transformers 4.49 rounds the steps of an epoch down, 4.52 up: 999 rows, micro batch 3, accumulation 4."""
    keys = {"per_device_train_batch_size": "3", "num_train_epochs": "1"}
    steps = {release: factory(1, 999, release=release, **keys).resolved["total_steps"] for release in ("0.9.2", "0.9.3")}
    assert steps == {"0.9.2": 83, "0.9.3": 84}
    assert (library("transformers", (0, 9, 2)), library("transformers", (0, 9, 3))) == ("4.49.0", "4.52.4")


def test_a_key_of_another_release_says_which(factory):
    """One line names the release that removed a key or brought it."""
    [removed] = factory(1, release="0.9.2", image_resolution="512").diagnostics
    assert removed.message == "`image_resolution` was removed in LLaMA-Factory 0.9.2"
    [future] = factory(1, release="0.9.2", enable_thinking="false").diagnostics
    assert future.message == "`enable_thinking` requires LLaMA-Factory 0.9.3, but the release is 0.9.2"


def test_a_default_is_that_of_the_release():
    assert [row[2:4] for row in HISTORY.names("arguments")["cutoff_len"]] == [(1024, ()), (2048, (0, 9, 1))]


def test_a_file_that_llamafactory_ships_is_not_missing_on_a_launch_line(tmp_path):
    """A script's line may be started in LLaMA-Factory's own checkout, which has `examples/deepspeed`; another missing file is an error."""
    (tmp_path / ".git").mkdir()
    script = tmp_path / "run.sh"
    script.write_text("llamafactory-cli train train.yaml\n")
    found = {}
    for name in ("examples/deepspeed/ds_z3_config.json", "conf/ds_z3_config.json"):
        (tmp_path / "train.yaml").write_text(BASE + f"deepspeed: {name}\n")
        found[name] = [each.code for run in cfglint.check(str(tmp_path)).runs for each in run.diagnostics]
    assert found == {"examples/deepspeed/ds_z3_config.json": [], "conf/ds_z3_config.json": ["RUN010"]}


def test_a_default_that_a_factory_makes_and_a_field_without_a_default():
    """Both are read from the source: `default_factory=lambda: {"GPU": 1}`, and `model_name_or_path: str = field(metadata=...)`."""
    rows = {each: arguments(parse_version(each)).get("resources_per_worker") for each in ("0.9.1", "0.9.2", "0.9.4", "0.9.5")}
    assert {each: row and row[DEFAULT] for each, row in rows.items()} == {
        "0.9.1": None,
        "0.9.2": {"GPU": 1},
        "0.9.4": {"GPU": 1},
        "0.9.5": None,
    }
    assert [is_required("model_name_or_path", parse_version(each)) for each in ("0.8.3", "0.9.0")] == [True, False]


def test_a_bound_of_a_library_means_the_newest_release_that_llamafactory_accepts():
    """`transformers>=4.46` allows 5.23.0, which LLaMA-Factory 0.9.5 does not: it requires 5.6.0 at most."""
    facts = LaunchFacts(target={"transformers": "5.23.0"}, bounds={"transformers": (">=4.46",)})
    assert facts.within({"transformers": "5.6.0"}).target == {"transformers": "5.6.0"}
    assert facts.within({"transformers": "4.40.2"}).target == {"transformers": "5.23.0"}
    stated = LaunchFacts(target={"transformers": "5.23.0"})
    assert stated.within({"transformers": "5.6.0"}).target == {"transformers": "5.23.0"}


def test_a_fork_may_have_further_stages(tmp_path):
    path = tmp_path / "train.yaml"
    path.write_text(BASE.replace("stage: sft", "stage: cls"))
    found = {
        release: [each.code for each in cfglint.check(str(path), kind="llamafactory", target={"llamafactory": release}).diagnostics]
        for release in ("0.9.5", "0.9.6.dev0")
    }
    assert found == {"0.9.5": ["LLF021"], "0.9.6.dev0": []}
