"""What an accelerate config says about its launch: processes, precision, parallel sizes, the batch that they make."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.accelerate.config import AccelerateConfig, account, per_machine_because, resolve
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery
from cfglint.source.parse import parse


def config(text, gpus=None):
    return AccelerateConfig([parse("launch.yaml", text, "yaml")], LaunchFacts(gpus=gpus))


@each_case(
    ("text", "per_machine", "started", "because"),
    [
        ("distributed_type: MULTI_GPU\nnum_processes: 8\n", 8, 8, "launch.yaml:2"),
        ("distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 2\n", 4, 8, "(launch.yaml:2) / num_machines 2"),
        ("distributed_type: MULTI_GPU\nnum_processes: 9\nnum_machines: 2\n", 4, 8, "(launch.yaml:2) / num_machines 2, 1 not started"),
        ("distributed_type: MULTI_GPU\nnum_processes: 1\nnum_machines: 2\n", 0, None, "(launch.yaml:2) / num_machines 2, 1 not started"),
        ("distributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: 1\n", 2, 2, "launch.yaml:2"),
        ("distributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: 0\n", 2, 2, "launch.yaml:2"),
        ("distributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: true\n", 2, 2, "launch.yaml:2"),
        ("distributed_type: DEEPSPEED\nnum_processes: 8\nnum_machines: 2\n", 4, 8, None),
        (
            "distributed_type: DEEPSPEED\nnum_processes: 8\nnum_machines: 2\ndeepspeed_config: {deepspeed_inclusion_filter: 'a:0'}\n",
            None,
            None,
            None,
        ),
        ("distributed_type: MULTI_GPU\nnum_processes: auto\n", None, None, None),
        ("distributed_type: MULTI_GPU\n", -1, None, "default"),
        ("distributed_type: DEEPSPEED\nnum_processes: 2\n", 2, 2, "launch.yaml:2"),
        ("distributed_type: FSDP\nnum_processes: 2\n", 2, 2, "launch.yaml:2"),
        ('distributed_type: "NO"\nnum_processes: 8\n', 1, 1, "distributed_type is NO: the script is started once"),
        ("distributed_type: NO\nnum_processes: 8\n", 1, 1, "distributed_type is False: the script is started once"),
        (
            "distributed_type: MULTI_CPU\nnum_processes: 8\nnum_machines: 2\n",
            1,
            1,
            "distributed_type is MULTI_CPU: the script is started once",
        ),
        ("compute_environment: AMAZON_SAGEMAKER\ndistributed_type: MULTI_GPU\nnum_processes: 8\n", 8, None, "launch.yaml:3"),
        ("compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 8\n", 8, 8, "launch.yaml:3"),
    ],
)
def test_processes(text, per_machine, started, because):
    found = config(text)
    assert (found.per_machine, found.started) == (per_machine, started)
    assert because is None or because in per_machine_because(found)


@each_case(
    ("text", "precision", "named"),
    [
        ("a: 1\n", "no", False),
        ("mixed_precision: bf16\n", "bf16", True),
        ("mixed_precision: BF16\n", "bf16", True),
        ('mixed_precision: "no"\n', "no", True),
        ("mixed_precision: no\n", None, True),
        ("mixed_precision: fp8\n", "fp8", True),
        ("mixed_precision: fp32\n", None, True),
        ("mixed_precision: 16\n", None, True),
        ("mixed_precision:\nfp16: true\n", "no", True),
        ("fp16: true\n", "fp16", True),
        ("fp16: false\n", "no", False),
    ],
)
def test_precision(text, precision, named):
    found = config(text)
    assert (found.precision, found.precision_named) == (precision, named)


@each_case(
    ("name", "release", "precision"),
    [("launch.yaml", "0.33.0", "no"), ("launch.yaml", "0.34.0", None), ("launch.json", "0.33.0", None)],
)
def test_false_is_no_in_yaml_before_it_was_refused(name, release, precision):
    document = parse(name, '{"mixed_precision": false}', name.partition(".")[2])
    assert AccelerateConfig([document], LaunchFacts(target={"accelerate": release})).precision == precision


@each_case(
    ("text", "version"),
    [
        ("distributed_type: FSDP\n", "1"),
        ("distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n", "2"),
        ("distributed_type: FSDP\nfsdp_config:\n  version: 2\n", "2"),
        ("distributed_type: FSDP\nfsdp_config: 2\n", "1"),
        ("distributed_type: MULTI_GPU\nfsdp_config:\n  fsdp_version: 2\n", ""),
    ],
)
def test_fsdp_version(text, version):
    assert config(text).fsdp_version == version


AXES = "num_processes: 8\nparallelism_config:\n  parallelism_config_tp_size: 2\n  parallelism_config_cp_size: two\n"


@each_case(
    ("text", "gpus", "expected"),
    [
        ("distributed_type: FSDP\n" + AXES, None, (8, 2, 4, 2)),
        ("distributed_type: FSDP\n" + AXES, 4, (4, 2, 2, 2)),
        ("distributed_type: FSDP\n" + AXES + "  parallelism_config_sp_size: 2\n", None, (8, 2, 2, 4)),
        ('distributed_type: "NO"\n' + AXES, None, (1, 1, 1, 1)),
        ("distributed_type: FSDP\nnum_processes: 8\n", None, (8, 1, 8, 1)),
        ("distributed_type: FSDP\n", None, (None, 1, None, 1)),
    ],
)
def test_replicas(text, gpus, expected):
    found = resolve(config(text, gpus))
    assert (found.layout.gpus, found.layout.tensor_parallel, found.data_parallel.integer, found.gpus_per_replica) == expected


def test_an_axis_that_is_no_integer_is_unknown():
    found = config("distributed_type: FSDP\n" + AXES)
    assert [found.axis(name) for name in ("tp", "cp", "sp", "dp_shard")] == [2, None, 1, 1]


@each_case(
    ("text", "expected"),
    [
        (
            "distributed_type: MULTI_GPU\nnum_processes: 4\n",
            ["distributed type MULTI_GPU", "machines 1", "processes per machine 4", "precision no"],
        ),
        (
            "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  zero_stage: 2\n"
            "  offload_param_device: cpu\n  offload_optimizer_device: nvme\nmixed_precision: bf16\n",
            [
                "distributed type DEEPSPEED",
                "machines 1",
                "processes per machine 4",
                "precision bf16",
                "ZeRO stage 2",
                "optimizer offload cpu",
            ],
        ),
        (
            "distributed_type: FSDP\nnum_machines: 2\nnum_processes: auto\n"
            "deepspeed_config:\n  zero_stage: 2\nfsdp_config:\n  fsdp_version: 2\n",
            ["distributed type FSDP", "machines 2", "precision no", "FSDP version 2"],
        ),
    ],
)
def test_summary(text, expected):
    found = account(config(text))
    assert [f"{item.label} {item.setting.value}" for item in found.items] == expected
    assert found.assumed == ["the script's arguments are not in these files: batch size and length are unknown"]


@each_case(
    ("makes_plugins", "block", "stage"),
    [
        (True, "", [2]),
        (False, "", []),  # another plugin may be that of the program
        (True, "deepspeed_config:\n  deepspeed_config_file: ds.json\n", []),
    ],
)
def test_the_plugin_that_the_program_makes_of_the_config_has_a_default_stage(makes_plugins, block, stage):
    found = config(f"distributed_type: DEEPSPEED\nnum_processes: 4\n{block}")
    found.makes_plugins = makes_plugins
    assert [item.setting.value for item in account(found).items if item.label == "ZeRO stage"] == stage


def test_the_precision_is_that_of_the_deepspeed_file():
    engine = parse("ds.json", '{"fp16": {"enabled": true}}', "json")
    text = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
    found = account(AccelerateConfig([parse("launch.yaml", text, "yaml"), engine], LaunchFacts(), ["accelerate", "deepspeed"]))
    assert "precision" not in [item.label for item in found.items], "its own summary says it"


def test_a_deepspeed_file_that_is_not_read_may_set_the_precision():
    text = "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  deepspeed_config_file: /data/ds.json\n"
    assert "precision" not in [item.label for item in account(config(text)).items]
    assert "precision" in [item.label for item in account(config(text + "mixed_precision: bf16\n")).items]


def test_only_a_name_that_ends_in_json_is_json(tmp_path, monkeypatch):
    """accelerate 1.15.0 commands/config/config_args.py, `load_config_from_file`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zero2.config").write_text("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n")
    [run] = Discovery(LaunchFacts()).runs(["zero2.config"])
    assert (run.kinds, run.diagnostics) == (["accelerate"], [])
