"""The text of generated files: spelling, comments, and what is left out."""

from __future__ import annotations

import json

import pytest
import yaml

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.generators import RUN, generate
from cfglint.generators.generated import GeneratedFile, Keys
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.generators.neox import PYTHIA, SHAPES, fraction, nearest
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource

NUMBERS = [1e-5, 5e-324, 0.1, 1e22, 3, True]
SCRIPT = "accelerate launch --num_processes 8 -m trl.scripts.{} --config train.yaml"
WORDS = ["no", "NO", "on", "1e-5", "012", "null", "1:30", "a: b", "", "x #y", "ü"]


def keys(**values):
    return Keys.of(*values.items())


def text_of(made, name):
    return next(file.text for file in made.files if file.name == name)


class TestYaml:
    @each_case("value", [*NUMBERS, *WORDS])
    def test_is_read_as_it_was_meant(self, value):
        read = yaml.safe_load(GeneratedFile("train.yaml", "huggingface", keys(key=value)).text)["key"]
        assert (read, type(read)) == (value, type(value))

    def test_numbers_have_the_point_that_yaml_needs(self):
        assert "key: 1.0e-5\n" in GeneratedFile("train.yaml", "huggingface", keys(key=1e-5)).text

    def test_names_its_schema_only_where_there_is_one(self):
        file = GeneratedFile("model.yml", "neox", keys(seed=1), ("For 8 GPUs.",))
        assert file.text == "# For 8 GPUs.\n\nseed: 1\n"
        file.has_schema = True
        assert file.text == "# yaml-language-server: $schema=neox.schema.json\n# For 8 GPUs.\n\nseed: 1\n"

    def test_reasons_stand_behind_their_keys_and_long_ones_above(self):
        made = Keys.of(("short", 1, "why"), ("section.long", 2, "why " * 30), ("list", [1.0e-8, [2]], "lists stay on a line"))
        body = GeneratedFile("train.yaml", "huggingface", made).text
        assert body == f"short: 1  # why\nsection:\n  # {'why ' * 30}\n  long: 2\nlist: [1.0e-8, [2]]  # lists stay on a line\n"

    def test_groups_have_a_line_of_their_own(self):
        made = Keys.of(("first", 1), ("left.out", None), "Second part", ("section.second", 2, "why"))
        body = GeneratedFile("train.yaml", "huggingface", made).text
        assert body == "first: 1\n\n# Second part\nsection:\n  second: 2  # why\n"


class TestJson:
    def test_is_plain_and_its_reasons_stand_beside(self):
        file = GeneratedFile("ds_config.json", "deepspeed", Keys.of(("zero_optimization.stage", 2, "why")))
        assert json.loads(file.text) == {"zero_optimization": {"stage": 2}}
        assert file.reasons == [("zero_optimization.stage", 2, "why")]


class TestShortFiles:
    def test_say_what_differs_or_what_a_reader_needs(self):
        defaults = {"precision": "fp32", "weight_decay": 0.0, "seed": 42}
        made = generate("huggingface", JobSpec(gpus=8, global_batch=256, max_micro_batch=8, learning_rate=2e-5, **defaults))
        assert list(yaml.safe_load(made.files[0].text)) == [
            "output_dir",
            "per_device_train_batch_size",
            "gradient_accumulation_steps",
            "num_train_epochs",
            "learning_rate",
            "logging_steps",
        ]

    def test_a_deepspeed_file_leaves_zero_out_that_nobody_asked_for(self):
        made = generate("deepspeed", JobSpec(gpus=8, global_batch=64, micro_batch=8, precision="fp32"))
        keys_of_it = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_clipping", "optimizer"]
        assert list(json.loads(made.files[0].text)) == keys_of_it


class TestSpellingOfTheRelease:
    @pytest.mark.parametrize(("version", "key"), [("4.57.6", "warmup_ratio"), ("5.0.0", "warmup_steps")])
    def test_warmup(self, version, key):
        made = generate("huggingface", JobSpec(gpus=1, warmup=0.1, target={"transformers": version}))
        assert yaml.safe_load(made.files[0].text)[key] == 0.1

    @pytest.mark.parametrize(("version", "key"), [("5.22.0", "gradient_checkpointing"), ("5.23.0", "activation_checkpointing")])
    def test_checkpointing(self, version, key):
        read = yaml.safe_load(generate("huggingface", JobSpec(gpus=1, lora=True, target={"transformers": version})).files[0].text)
        assert (read[key], read[f"{key}_kwargs"]) == (True, {"use_reentrant": False})

    @pytest.mark.parametrize(("version", "pinned"), [("0.19.4", True), ("0.19.8", None)])
    def test_pinned_memory(self, version, pinned):
        job = JobSpec(gpus=8, global_batch=8, zero=2, offload="optimizer", target={"deepspeed": version})
        section = json.loads(generate("deepspeed", job).files[0].text)["zero_optimization"]["offload_optimizer"]
        assert section.get("pin_memory") is pinned


class TestMatchingSet:
    def test_names_its_files_as_they_are_seen_from_the_start(self):
        made = generate(RUN, JobSpec(gpus=16, zero=3), folder="configs/a")
        assert yaml.safe_load(text_of(made, "train.yaml"))["deepspeed"] == "configs/a/ds_config.json"
        block = yaml.safe_load(text_of(made, "accelerate.yaml"))["deepspeed_config"]
        assert block["deepspeed_config_file"] == "configs/a/ds_config.json"
        assert block["deepspeed_multinode_launcher"] == "standard"
        assert "mixed_precision" not in yaml.safe_load(text_of(made, "accelerate.yaml"))

    def test_the_neox_pair_has_no_key_twice(self):
        made = generate(RUN, JobSpec(gpus=16, model="pythia-160m", steps=1000), "neox")
        model, cluster = (yaml.safe_load(file.text) for file in made.files)
        assert not model.keys() & cluster.keys()
        assert (cluster["hostfile"], "num_layers" in model) == ("hostfile", True)


class TestModels:
    @each_case("name", SHAPES)
    def test_every_published_shape_starts(self, name, checked):
        job = JobSpec(gpus=8, model=name, tokens=300_000_000_000, warmup=0.01)
        run = checked(generate("neox", job), job)
        assert (run.verdict, [each.code for each in run.diagnostics if each.severity != "info"]) == ("accept", [])

    @each_case(
        ("name", "weights"),
        [("pythia-70m", 19e6), ("pythia-160m", 85e6), ("pythia-12b", 11.3e9), ("neox-20b", 19.9e9), ("gpt3-175b", 174e9)],
    )
    def test_their_layers_have_the_weights_that_the_papers_count(self, name, weights):
        assert SHAPES[name].weights == pytest.approx(weights, rel=0.02)

    def test_the_nearest_is_a_pythia_model(self):
        assert nearest(SHAPES["gpt3-350m"]) == "pythia-410m"
        assert SHAPES[nearest(SHAPES["gpt3-175b"])].family == PYTHIA


class TestShareOfWarmup:
    @each_case("total", [100, 143_000, 143_052, 30_534, 999_999])
    @each_case("part", [1, 7, 13, 99])
    def test_is_never_below_the_steps(self, part, total):
        assert part <= fraction(part, total) * total < part + 1e-9


@each_case(
    ("facts", "expected"),
    [
        ({"trainer": "grpo", "global_batch": 8, "micro_batch": 1}, SCRIPT.format("grpo")),
        ({"trainer": "grpo", "global_batch": 64}, "trl grpo --config train.yaml --num_processes 8"),
        ({"trainer": "sft", "micro_batch": 1}, "trl sft --config train.yaml --num_processes 8"),
        ({"trainer": "sft", "target": {"trl": "0.17.0"}}, SCRIPT.format("sft")),
        ({"trainer": "sft", "gpus": 2}, "trl sft --config train.yaml --num_processes 2"),
    ],
)
def test_the_command_for_a_trl_file_starts_it(facts, expected):
    made = generate("trl", JobSpec(**{"gpus": 8, **facts}))
    [line] = [note.removeprefix("start it with: ") for note in made.notes if note.startswith("start it with")]
    assert line == expected
    source = FileSource({"run.sh": line + "\n", "train.yaml": made.files[0].text})
    run = Discovery(LaunchFacts(gpus=facts.get("gpus", 8), target=facts.get("target") or {}), source=source).together(["run.sh"])[0]
    assert (run.verdict, run.resolved["data_parallel"]) == ("accept", facts.get("gpus", 8))


@each_case(
    ("kind", "facts", "numbers"),
    [
        ("swift", {"gpus": 8, "global_batch": 64, "max_micro_batch": 4, "zero": 3}, (4, 2, 8, 64)),
        ("swift", {"gpus": 16, "global_batch": 64, "lora": True}, (1, 4, 16, 64)),
        ("verl", {"gpus": 8, "global_batch": 64, "max_micro_batch": 4}, (4, 16, 8, 64)),
        ("verl", {"gpus": 16, "global_batch": 100, "lora": True}, (1, 25, 16, 100)),
    ],
)
def test_the_command_for_a_file_of_arguments_starts_it(kind, facts, numbers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = generate(kind, JobSpec(**facts))
    [line] = [note.removeprefix("start it with: ") for note in made.notes if note.startswith("start it with")]
    for name, text in {"run.sh": line + "\n", made.files[0].name: made.files[0].text}.items():
        (tmp_path / name).write_text(text)
    run = Discovery(LaunchFacts(gpus=facts["gpus"])).together(["run.sh"])[0]
    assert run.verdict == "accept"
    assert tuple(run.resolved[name] for name in ("micro_batch", "accumulation", "data_parallel", "global_batch")) == numbers


@each_case(
    ("kind", "facts", "reason"),
    [
        ("swift", {"target": {"ms-swift": "3.12.6"}}, "a file of arguments from 4.0.0 on"),
        ("swift", {"gpus": 8, "num_examples": 7}, "7 samples for 8 GPUs"),
        ("swift", {"zero": 1, "offload": "optimizer"}, "no such DeepSpeed file"),
        ("verl", {"gpus": 16, "global_batch": 3}, "do not divide among 16 GPUs"),
        ("verl", {"num_examples": 100}, "less than a step of 256 prompts"),
    ],
)
def test_files_of_arguments_that_would_not_start_are_refused(kind, facts, reason):
    with pytest.raises((Contradiction, Unreachable), match=reason):
        generate(kind, JobSpec(**{"gpus": 8, **facts}))
