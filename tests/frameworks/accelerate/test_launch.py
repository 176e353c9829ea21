"""Launch files: what is recognised, how many processes start, and what a trainer gets from them."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks import detect
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.base import CERTAIN
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source.parse import parse

MULTI_GPU = "distributed_type: MULTI_GPU\nnum_processes: 8\n"
TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\n"


def launch(text: str) -> AccelerateConfig:
    return AccelerateConfig([parse("launch.yaml", text, "yaml")], LaunchFacts())


@pytest.fixture
def run(tmp_path):
    """A trainer with a launch file, and the files that either names."""

    def make(launch_text, trainer=TRAINER, facts=None, order=("train.yaml", "launch.yaml"), **others):
        for name, text in {
            "train.yaml": trainer,
            "launch.yaml": launch_text,
            **{f"{key}.json": text for key, text in others.items()},
        }.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return Discovery(facts or LaunchFacts(complete=True)).together([str(tmp_path / name) for name in order])[0]

    return make


def codes(found, severity="error"):
    return [each.code for each in found.diagnostics if each.severity == severity]


@pytest.mark.parametrize(
    "text",
    [
        "compute_environment: LOCAL_MACHINE\nnum_processes: 8\ndistributed_type: MULTI_GPU\n",
        "distributed_type: DEEPSPEED\nnum_processes: 16\ndeepspeed_config:\n  zero_stage: 3\n",
        "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n",
    ],
)
def test_recognised(text):
    assert detect(parse("config.yaml", text, "yaml")) == ("accelerate", CERTAIN)


@pytest.mark.parametrize("text", ["num_processes: 8\n", "seed: 1\nuse_cpu: true\noutput_dir: x\n", "services: {}\n", ""])
def test_not_recognised(text):
    assert detect(parse("config.yaml", text, "yaml"))[0] != "accelerate"


@each_case(
    ("text", "started"),
    [
        ("distributed_type: MULTI_GPU\nnum_processes: 8\n", 8),
        ("distributed_type: MULTI_GPU\nnum_processes: 9\nnum_machines: 2\n", 8),
        ("distributed_type: DEEPSPEED\nnum_processes: 16\nnum_machines: 2\n", 16),
        ("distributed_type: 'NO'\nnum_processes: 8\n", 1),
        ("distributed_type: NO\nnum_processes: 8\n", 1),
        ("distributed_type: 'NO'\n", 1),
        ("distributed_type: MULTI_GPU\n", None),
        ("distributed_type: MULTI_GPU\nnum_processes: auto\n", None),
        ("distributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: 4\n", None),
        ("compute_environment: AMAZON_SAGEMAKER\ndistributed_type: MULTI_GPU\nnum_processes: 8\n", None),
    ],
)
def test_processes_that_start(text, started):
    assert launch(text).started == started


@pytest.mark.parametrize("order", [("train.yaml", "launch.yaml"), ("launch.yaml", "train.yaml")])
def test_the_trainer_consumes_the_run_in_either_order(run, order):
    found = run("distributed_type: MULTI_GPU\nnum_processes: 9\nnum_machines: 2\n", order=order)
    assert found.kinds == ["huggingface", "accelerate"]
    assert found.resolved["global_batch"] == 256
    assert found.facts.gpus == 8
    assert found.facts.gpus_source.endswith("launch.yaml:2")
    assert codes(found, "warning") == ["ACC007"]


def test_the_flag_wins_over_the_file_and_the_difference_is_said(run):
    found = run("distributed_type: MULTI_GPU\nnum_processes: 8\n", facts=LaunchFacts(gpus=4, complete=True))
    assert found.resolved["global_batch"] == 128
    assert codes(found, "warning") == ["ACC015"]


@pytest.mark.parametrize(
    ("block", "trainer", "refused"),
    [
        ("  gradient_accumulation_steps: 8\n", TRAINER, []),
        ("  gradient_accumulation_steps: auto\n", TRAINER, []),
        ("  gradient_accumulation_steps: 4\n", TRAINER, ["RUN001"]),
        ("  gradient_clipping: 0.5\n", TRAINER + "max_grad_norm: 1.0\n", ["RUN001"]),
        ("  gradient_clipping: 1.0\n", TRAINER + "max_grad_norm: 1.0\n", []),
        ("  zero_stage: 3\n", TRAINER + "bf16: true\n", []),
    ],
)
def test_a_deepspeed_block_is_compared_with_the_trainer(run, block, trainer, refused):
    found = run(f"distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n{block}", trainer)
    assert [code for code in codes(found) if code.startswith("RUN")] == refused
    assert found.verdict == ("reject" if refused else "accept")


@pytest.mark.parametrize(
    ("launched", "own", "refused"), [("bf16", "", ["RUN001"]), ("bf16", "bf16: true\n", []), ("bf16", "fp16: true\n", []), ("'no'", "", [])]
)
def test_the_launch_precision_has_to_be_the_trainers_under_deepspeed(run, launched, own, refused):
    found = run(f"distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: {launched}\n", TRAINER + own)
    assert codes(found) == refused
    if refused:
        (error,) = [each for each in found.diagnostics if each.severity == "error"]
        assert error.place.file.endswith("launch.yaml")
        assert error.place.line == 3


def test_a_named_deepspeed_file_fills_and_is_compared(run):
    text = '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": "auto"}'
    found = run("distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n", ds=text)
    assert sorted(found.kinds) == ["accelerate", "deepspeed", "huggingface"]
    assert "RUN001" in codes(found)


@pytest.mark.parametrize(("name", "missing"), [("NULL", 0), ("~", 0), ("none", 0), ("'null'", 1), ("ds.json", 1)])
def test_a_deepspeed_file_is_named_as_yaml_reads_the_value(tmp_path, name, missing):
    text = f"distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: {name}\n"
    (tmp_path / "launch.yaml").write_text(text, encoding="utf-8")
    found = Discovery(LaunchFacts(complete=True)).together([str(tmp_path / "launch.yaml")])[0]
    assert codes(found).count("RUN010") == missing


@pytest.mark.parametrize(("name", "stages"), [("ds.json", [3]), ("none.json", [])])
def test_of_a_deepspeed_file_that_is_not_there_no_stage_is_known(run, name, stages):
    launch = f"distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: {name}\n"
    found = run(launch, ds='{"zero_optimization": {"stage": 3}}')
    engines = found.configs[0].nested_configs()
    assert [engine.get("zero_optimization", "stage") for engine in engines if engine.kind == "deepspeed"] == stages


@pytest.mark.parametrize("extra", ["mixed_precision: bf16\n", "deepspeed_config:\n  zero_stage: 2\n"])
def test_a_trainer_with_a_deepspeed_file_leaves_nothing_to_the_launch(run, extra):
    text = '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}'
    found = run(f"distributed_type: DEEPSPEED\nnum_processes: 8\n{extra}", TRAINER + "deepspeed: ds.json\nbf16: true\n", ds=text)
    assert codes(found) == ["ACC012"]


@each_case(
    ("sizes", "version", "parallel", "refused"),
    [
        ({"dp_shard": 4, "cp": 2}, "5.23.0", 4, []),
        ({"dp_shard": 4, "cp": 2}, "4.57.1", 8, []),
        ({"dp_shard": 4, "tp": 2}, "4.57.1", 4, []),
        ({"dp_shard": 2, "cp": 2}, "5.23.0", 4, ["ACC016"]),
        ({"dp_shard": 8, "cp": 2}, "5.23.0", 4, ["ACC016"]),
        ({"dp_replicate": 8}, "5.23.0", 8, ["ACC016"]),
    ],
)
def test_axes_divide_the_batch(run, sizes, version, parallel, refused):
    block = "".join(f"  parallelism_config_{name}_size: {size}\n" for name, size in sizes.items())
    text = f"distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\nparallelism_config:\n{block}"
    found = run(text, facts=LaunchFacts(complete=True, target={"transformers": version, "accelerate": "1.15.0"}))
    assert (found.resolved["data_parallel"], codes(found)) == (parallel, refused)


def test_ulysses_divides_the_batch_and_multiplies_the_batches_of_a_rank(run):
    text = "distributed_type: DEEPSPEED\nnum_processes: 4\nparallelism_config:\n  parallelism_config_sp_size: 2\n"
    found = run(text, facts=LaunchFacts(complete=True, num_examples=1000))
    assert found.resolved["sequence_parallel"] == 2
    assert found.resolved["global_batch"] == 64
    assert found.resolved["steps_per_epoch"] == 16  # 63 batches a rank, twice, 8 a step


def test_an_unknown_key_that_a_release_had_is_a_warning_without_a_target(run):
    text = MULTI_GPU + "ipex_config: {}\n"
    assert codes(run(text)) == []
    assert codes(run(text, facts=LaunchFacts(complete=True, target={"accelerate": "1.15.0"}))) == ["ACC002"]
    assert codes(run(text, facts=LaunchFacts(complete=True, target={"accelerate": "1.12.0"})), "warning") == []


@each_case(
    ("version", "block", "found"),
    [
        ("1.4.0", "deepspeed_config: foo", ["TypeError: string indices must be integers"]),
        ("1.4.0", "fsdp_config: [a]", ["TypeError: list indices must be integers or slices"]),
        ("1.4.0", "dynamo_config: true", ["TypeError: 'bool' object is not iterable"]),
        ("1.4.0", "megatron_lm_config: []", []),
        ("1.4.0", "fp8_config: foo", []),
        ("1.5.0", "fsdp_config: foo", []),
    ],
)
def test_blocks_that_are_not_mappings(version, block, found):
    facts = LaunchFacts(complete=True, target={"accelerate": version})
    run = CheckedRun([parse("launch.yaml", f"{MULTI_GPU}{block}\n", "yaml")], ["accelerate"], facts)
    assert [each.exception for each in run.diagnostics if each.severity == "error"] == found


def test_a_key_of_another_release_is_not_suggested_for_itself():
    facts = LaunchFacts(complete=True, target={"accelerate": "0.32.1"})
    run = CheckedRun([parse("launch.yaml", MULTI_GPU + "fp8_config: {}\n", "yaml")], ["accelerate"], facts)
    assert [(each.message, each.fix.title) for each in run.diagnostics] == [
        ("unknown key `fp8_config` is rejected by accelerate launch before 0.34", "remove `fp8_config`")
    ]


def test_what_may_come_on_the_command_line_is_no_error_in_a_file_of_its_own(tmp_path):
    path = tmp_path / "launch.yaml"
    path.write_text("distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n", encoding="utf-8")
    assert codes(Discovery(LaunchFacts()).together([str(path)])[0]) == []
    assert codes(Discovery(LaunchFacts(complete=True)).together([str(path)])[0]) == ["ACC005"]


def test_fix_follows_in_the_launch_file(tmp_path, capsys):
    from cfglint.cli import main

    (tmp_path / "train.yaml").write_text(TRAINER, encoding="utf-8")
    block = "deepspeed_config:\n  gradient_accumulation_steps: 8  # the trainer's\n"
    (tmp_path / "launch.yaml").write_text(f"distributed_type: DEEPSPEED\nnum_processes: 8\n{block}", encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("train.yaml", "launch.yaml")]
    assert main(["fix", *paths, "--run", "--gpus", "16", "--global-batch", "256"]) == 0, capsys.readouterr().err
    assert (tmp_path / "train.yaml").read_text(encoding="utf-8") == TRAINER.replace("steps: 8", "steps: 4")
    assert "num_processes: 16\n" in (tmp_path / "launch.yaml").read_text(encoding="utf-8")
    assert "  gradient_accumulation_steps: 4  # the trainer's\n" in (tmp_path / "launch.yaml").read_text(encoding="utf-8")


def test_the_launch_line_wins_over_the_launch_file(tmp_path):
    from cfglint.launch.overrides import Override

    path = tmp_path / "launch.yaml"
    path.write_text("distributed_type: MULTI_GPU\nnum_processes: 8\n", encoding="utf-8")
    found = Discovery(LaunchFacts(overrides=(Override("num_processes", ["4"]),))).together([str(path)])[0]
    assert (found.facts.gpus, found.facts.gpus_source) == (4, "--set num_processes 4")


FLAGS = "gradient_accumulation_steps zero_stage gradient_clipping offload_optimizer_device zero3_save_16bit_model".split()


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_of_the_deepspeed_block_that_is_not_known_is_no_other_value(tmp_path, flag):
    """`$G` was compared with the Trainer's value as the string `<?>`, and refused."""
    (tmp_path / "a.yaml").write_text(
        "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n", encoding="utf-8"
    )
    parsed = "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n"
    (tmp_path / "t.py").write_text(f"from transformers import HfArgumentParser, Trainer, TrainingArguments\n{parsed}", encoding="utf-8")
    line = f"accelerate launch --config_file a.yaml --{flag} $(tool) t.py --output_dir o --gradient_accumulation_steps 2\n"
    (tmp_path / "run.sh").write_text(line, encoding="utf-8")
    [found] = Discovery(LaunchFacts()).together([str(tmp_path / "run.sh")])
    assert codes(found) == []


def test_a_deepspeed_file_is_judged_in_the_run_of_the_launch_file_that_names_it(tmp_path):
    (tmp_path / "ds.json").write_text('{"train_batch_size": "auto", "zero_optimization": {"stage": 7}}', encoding="utf-8")
    launch_text = "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
    (tmp_path / "launch.yaml").write_text(launch_text, encoding="utf-8")
    (found,) = Discovery(LaunchFacts()).runs([str(tmp_path)])
    assert found.kinds == ["accelerate", "deepspeed"]
    (error,) = [each for each in found.diagnostics if each.severity == "error"]
    assert (error.key, error.place.file) == ("/zero_optimization/stage", str(tmp_path / "ds.json"))
