"""The launch file in releases that differ; each answer is that of the launcher of the release."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.accelerate import releases
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

GPUS = "distributed_type: MULTI_GPU\nnum_processes: 8\n"
FSDP = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"


def found(text, version, syntax="yaml"):
    """The findings of a launch file in a release: (code, exception) of errors, (code, message) of warnings."""
    run = CheckedRun([parse(f"launch.{syntax}", text, syntax)], ["accelerate"], LaunchFacts(complete=True, target={"accelerate": version}))
    return [(each.code, (each.exception if each.severity == "error" else each.message)) for each in run.diagnostics]


@each_case(
    ("key", "first"),
    [
        ("debug: false\n", "0.22.0"),
        ("mpirun_config: {}\n", "0.28.0"),
        ("enable_cpu_affinity: false\n", "0.29.0"),
        ("fp8_config: {}\n", "0.34.0"),
        ("tp_config: {}\n", "1.4.0"),
        ("parallelism_config: {}\n", "1.10.0"),
    ],
)
def test_a_key_is_refused_before_the_release_that_brought_it(key, first):
    assert found(GPUS + key, first) == []
    assert [code for code, _ in found(GPUS + key, "0.21.0")] == ["ACC002"]


def test_before_the_comparison_of_keys_the_class_refuses_an_unknown_one():
    text = "TypeError: ClusterConfig.__init__() got an unexpected keyword argument 'bogus'"
    assert found(GPUS + "bogus: 1\n", "0.22.0") == [("ACC002", text)]


@each_case(
    ("name", "version", "refused"),
    [
        ("TPU", "0.27.2", False),
        ("TPU", "0.28.0", True),
        ("XLA", "0.27.2", True),
        ("XLA", "0.28.0", False),
        ("MULTI_NPU", "0.20.3", True),
        ("MULTI_NPU", "0.21.0", False),
        ("TP", "1.3.0", True),
        ("TP", "1.9.0", False),
        ("TP", "1.10.0", True),
    ],
)
def test_distributed_types(name, version, refused):
    answer = found(f"distributed_type: {name}\nnum_processes: 8\n", version)
    assert [text for code, text in answer if code == "ACC003"] == [f"ValueError: '{name}' is not a valid DistributedType"] * refused


@each_case(
    ("name", "version", "refused"),
    [
        ("nvfuser", "0.23.0", False),
        ("nvfuser", "0.24.0", True),
        ("tvm", "0.23.0", True),
        ("tvm", "0.24.0", False),
        ("ipex", "1.12.0", False),
        ("ipex", "1.13.0", True),
    ],
)
def test_backends_of_torch_compile(name, version, refused):
    answer = found(f"{GPUS}dynamo_config:\n  dynamo_backend: {name}\n", version)
    assert [code for code, _ in answer] == ["ACC019"] * refused
    assert all(text.startswith(f"ValueError: Unknown dynamo backend: {name.upper()}. Choose between ['") for _, text in answer)


def test_a_backend_without_its_prefix_was_read_by_nothing():
    text = f"{GPUS}dynamo_config:\n  backend: foo\n"
    assert found(text, "1.13.0") == []
    assert [code for code, _ in found(text, "1.14.0")] == ["ACC019"]


def test_an_unquoted_no_was_a_precision_in_yaml():
    assert found(GPUS + "mixed_precision: no\n", "0.33.0") == []
    refused = [("ACC006", "AttributeError: 'bool' object has no attribute 'lower'")]
    assert found(GPUS + "mixed_precision: no\n", "0.34.0") == refused
    text = '{"distributed_type": "MULTI_GPU", "num_processes": 8, "mixed_precision": false}'
    assert found(text, "0.33.0", "json") == refused


def test_num_processes_was_required_for_every_type():
    text = "TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'num_processes'"
    assert found("distributed_type: 'NO'\n", "0.33.0") == [("ACC005", text)]
    assert found("distributed_type: 'NO'\n", "0.34.0") == []


def test_the_port_was_not_tried_in_the_first_release():
    assert found(GPUS + "main_process_port: '29500'\n", "0.20.3") == []
    assert [code for code, _ in found(GPUS + "main_process_port: '29500'\n", "0.21.0")] == ["ACC021"]


def test_keys_of_a_block_are_those_of_the_release():
    prefetch = FSDP + "  fsdp_backward_prefetch_policy: BACKWARD_PRE\n"
    assert found(prefetch, "0.34.0") == []
    assert [code for code, _ in found(prefetch, "1.0.0")] == ["ACC011"]
    message = "unknown key `fsdp_version` in `fsdp_config` is ignored by accelerate before 1.6"
    assert found(FSDP + "  fsdp_version: 2\n", "1.5.0") == [("ACC011", message)]


@each_case(
    ("block", "version", "codes"),
    [
        ("  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n", "0.33.0", ["ACC027"]),
        ("  fsdp_auto_wrap_policy: size_based_wrap\n", "0.33.0", []),
        ("  fsdp_auto_wrap_policy: size_based_wrap\n", "0.34.0", ["ACC027"]),
        ("  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  min_num_params: 100\n", "0.33.0", []),
    ],
)
def test_the_size_of_the_wrap_policy(block, version, codes):
    assert [code for code, _ in found(FSDP + block, version)] == codes


def test_the_parallel_sizes_of_a_release_without_them_do_not_count():
    assert [code for code, _ in found(GPUS + "parallelism_config:\n  parallelism_config_cp_size: '2'\n", "1.9.0")] == ["ACC002"]


def test_one_process_starts_for_a_type_that_the_launcher_did_not_know_to_spawn():
    assert "MULTI_XPU" in releases.types((0, 20, 3))
    assert "MULTI_XPU" not in releases.spawning((0, 20, 3))
    assert "MULTI_XPU" in releases.spawning((0, 21, 0))


def test_defaults_are_also_those_of_named_constants_and_negative_numbers():
    newest = releases.HISTORY.at((1, 15, 0))
    assert newest[""]["num_processes"][DEFAULT] == -1
    assert newest[releases.SAGEMAKER_FILE]["py_version"][DEFAULT] == "py38"


def test_two_kinds_of_sequence_parallelism_are_refused_where_the_check_is():
    sizes = "parallelism_config:\n  parallelism_config_cp_size: 2\n  parallelism_config_sp_size: 2\n"
    text = (
        "ValueError: Context Parallelism (CP) and Sequence Parallelism (SP) are mutually exclusive. Got cp_size=2 and sp_size=2. "
        "Please set either cp_size=1 or sp_size=1."
    )
    both = FSDP + "  fsdp_version: 2\n" + sizes
    assert ("ACC016", text) in found(both, "1.13.0")
    assert ("ACC016", text) not in found(both, "1.12.0")


def test_fsdp_without_an_axis_to_shard_over_fails_in_every_release():
    text = "ValueError: FSDP is enabled but the parallelism config has no dimension for FSDP to shard across"
    alone = FSDP + "  fsdp_version: 2\nparallelism_config:\n  parallelism_config_tp_size: 8\n"
    [(code, exception)] = found(alone, "1.15.0")
    assert (code, exception.startswith(text)) == ("ACC016", True)
    [(code, exception)] = found(alone, "1.14.0")
    assert (code, exception.startswith("KeyError: \"Invalid mesh_dim_names ('dp_shard_cp',) specified")) == ("ACC016", True)
