"""Values of an accelerate file that the plugins of the program's `Accelerator` refuse, and SageMaker files."""

from __future__ import annotations

from cases import each_case

FSDP = "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
DYNAMO = "distributed_type: MULTI_GPU\nnum_processes: 2\ndynamo_config:\n"
DEEPSPEED = "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n"


def found(report):
    return [(each["code"], each["severity"]) for each in report["diagnostics"] if each["code"] == "ACC028"]


@each_case(
    ("head", "line", "refused"),
    [
        (FSDP, "  fsdp_version: 2\n  fsdp_reshard_after_forward: FULL_SHARD\n", True),
        (FSDP, "  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n", False),
        (FSDP, "  fsdp_reshard_after_forward: FULL_SHARD\n", False),  # version 1 takes the sharding strategy
        (FSDP, "  fsdp_version: 2\n  fsdp_state_dict_type: LOCAL_STATE_DICT\n", True),
        (FSDP, "  fsdp_state_dict_type: local_state_dict\n", False),
        (FSDP, "  fsdp_state_dict_type: 4\n", True),
        (FSDP, "  fsdp_sharding_strategy: 9\n", True),
        (FSDP, "  fsdp_version: 2\n  fsdp_sharding_strategy: foo\n", False),
        (FSDP, "  fsdp_backward_prefetch: foo\n", True),
        (FSDP, "  fsdp_backward_prefetch: no_prefetch\n", False),
        (FSDP, "  fsdp_min_num_params: abc\n", False),  # nothing reads it under the default policy
        (FSDP, "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: abc\n", True),
        (FSDP, "  fsdp_offload_params: maybe\n", True),
        (FSDP, "  fsdp_use_orig_params: maybe\n", True),
        (FSDP, "  fsdp_version: 2\n  fsdp_use_orig_params: maybe\n", False),
        (FSDP, "  state_dict_type: 4\n", True),  # the prefix may be left out
        (FSDP, "  fsdp_sharding_strategy: null\n", True),  # the launcher passes the word None on
        (FSDP, "  fsdp_version: 2\n  fsdp_sharding_strategy: null\n", False),
        (FSDP, "  fsdp_state_dict_type: null\n", False),
        (FSDP, "  fsdp_min_num_params: null\n", False),
        (FSDP, "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: null\n", True),
        (FSDP, "  fsdp_version: two\n", True),
        (FSDP, "  fsdp_version: null\n", True),
        (FSDP, "  fsdp_version: 3\n", True),
        (FSDP, "  fsdp_version: '2'\n", False),
        (FSDP, "  fsdp_version: 2\n  fsdp_activation_checkpointing_offload: true\n", True),
        (FSDP, "  fsdp_activation_checkpointing: true\n  fsdp_activation_checkpointing_offload: true\n", True),
        (
            FSDP,
            "  fsdp_version: 2\n  fsdp_activation_checkpointing: true\n  fsdp_activation_checkpointing_offload: true\n",
            False,
        ),
        (DEEPSPEED, "  zero_stage: 4\n", True),
        (DEEPSPEED, "  zero_stage: 2.0\n", True),
        (DEEPSPEED, "  zero_stage: 3\n  offload_param_device: disk\n", True),
        (DEEPSPEED, "  zero_stage: 3\n  offload_optimizer_device: CPU\n", False),
        (DEEPSPEED, "  zero3_init_flag: maybe\n", True),
        (DEEPSPEED, "  gradient_clipping: none\n", True),
        (DEEPSPEED, "  gradient_clipping: auto\n", False),
        (DEEPSPEED, "  gradient_accumulation_steps: 0\n", True),
        (DEEPSPEED, "  gradient_accumulation_steps: abc\n", True),
        (DEEPSPEED, "  gradient_accumulation_steps: auto\n", True),
        (DEEPSPEED, "  zero_stage: 2\n", False),  # the plugin's own `auto` is not what the launcher passes on
        (DYNAMO, "  dynamo_use_dynamic: maybe\n", True),
        (DYNAMO, "  dynamo_use_fullgraph: 'yes'\n", False),
    ],
)
def test_values_that_the_plugin_refuses_are_a_warning_without_a_program(checked_project, head, line, refused):
    report = checked_project({"acc.yaml": head + line}, "accelerate==1.15.0", paths=["acc.yaml"])
    assert found(report) == ([("ACC028", "warning")] if refused else [])


def test_each_key_has_its_own_finding(checked_project):
    """What the plugin refuses, what the sizes refuse, and what DeepSpeed refuses in what the plugin makes of the rest."""
    text = (
        DEEPSPEED + "  zero_stage: 7\n  gradient_clipping: none\n  offload_param_device: disk\n"
        "parallelism_config:\n  parallelism_config_cp_backend: other\n"
    )
    report = checked_project({"acc.yaml": text}, "accelerate==1.15.0", paths=["acc.yaml"])
    keys = sorted(each["key"].rpartition("/")[2] for each in report["diagnostics"] if each["code"] == "ACC028")
    assert keys == ["gradient_clipping", "offload_param_device", "parallelism_config_cp_backend", "zero_stage"]


def test_they_are_an_error_where_a_trainer_is_launched(checked_project):
    files = {
        "acc.yaml": FSDP + "  fsdp_version: 2\n  fsdp_reshard_after_forward: FULL_SHARD\n",
        "t.py": "from transformers import Trainer, TrainingArguments\nTrainer(model='m', args=TrainingArguments('o')).train()\n",
        "run.sh": "accelerate launch --config_file acc.yaml t.py\n",
    }
    assert found(checked_project(files, "accelerate==1.15.0", paths=["run.sh"])) == [("ACC028", "error")]


SAGEMAKER = "compute_environment: AMAZON_SAGEMAKER\nec2_instance_type: ml.p3.2xlarge\niam_role_name: role\ndistributed_type: {}\n"


@each_case(
    ("kind", "release", "key"),
    [
        ("'NO'", "0.33.0", None),
        ("'NO'", "1.5.2", "/distributed_type"),
        ("'NO'", "1.11.0", "/distributed_type"),
        ("DATA_PARALLEL", "1.10.1", None),
        ("DATA_PARALLEL", "1.11.0", "/compute_environment"),
    ],
)
def test_sagemaker_files_by_release(checked_project, kind, release, key):
    report = checked_project(
        {"acc.yaml": SAGEMAKER.format(kind)}, f"accelerate=={release}", options=["--kind", "accelerate"], paths=["acc.yaml"]
    )
    assert [each["key"] for each in report["diagnostics"] if each["code"] == "ACC023"] == ([key] if key else [])


TWO_MACHINES = "num_machines: 2\nnum_processes: 16\n"
ADDRESS = "main_process_ip: 10.0.0.1\nmain_process_port: 29500\n"


@each_case(
    ("text", "release", "expected"),
    [
        ("distributed_type: FSDP\nnum_processes: 2\nmixed_precision: fp8\n", "0.29.3", "ValueError: Unknown mixed precision value: fp8"),
        ("distributed_type: FSDP\nnum_processes: 2\nmixed_precision: fp8\n", "1.2.1", ""),
        (
            "distributed_type: MULTI_GPU\nnum_processes: 2\nmain_process_port: [1]\n",
            "1.2.1",
            "TypeError: 'list' object cannot be interpreted",
        ),
        (
            "distributed_type: MULTI_GPU\nnum_processes: 2\nmain_process_port: 70000\n",
            "1.2.1",
            "OverflowError: connect_ex(): port must be 0-65535.",
        ),
        (f"distributed_type: MULTI_GPU\n{TWO_MACHINES}{ADDRESS}machine_rank: 1\n".replace("29500", "'29500'"), "1.2.1", ""),
        (f"distributed_type: MULTI_GPU\n{TWO_MACHINES}{ADDRESS}", "1.2.1", ""),
        (f"distributed_type: MULTI_GPU\n{TWO_MACHINES}", "1.2.1", "ValueError: The port number of the rendezvous endpoint 'None:None'"),
        (
            f"distributed_type: MULTI_GPU\n{TWO_MACHINES}main_process_port: 70000\nmachine_rank: 1\n",
            "1.2.1",
            "ValueError: The port number of",
        ),
        (
            f"distributed_type: MULTI_GPU\n{TWO_MACHINES}{ADDRESS}".replace("10.0.0.1", "''"),
            "0.26.1",
            "ValueError: The hostname of the rendezvous",
        ),
        ("distributed_type: MULTI_GPU\nnum_processes: 2\ndynamo_backend: 'NO'\ndynamo_config: true\n", "0.26.1", ""),  # which is replaced
        ("distributed_type: MULTI_GPU\nnum_processes: 2\ndeepspeed_config: {deepspeed_config_file: none.json}\n", "1.2.1", ""),
        (f"distributed_type: DEEPSPEED\n{TWO_MACHINES}deepspeed_config: {{zero_stage: 2}}\n", "1.2.1", ""),  # its own launcher
        (
            f"distributed_type: DEEPSPEED\n{TWO_MACHINES}deepspeed_config: {{deepspeed_multinode_launcher: standard}}\n",
            "1.2.1",
            "ValueError: The port number of the rendezvous endpoint 'None:None'",
        ),
        ("distributed_type: NO\nnum_processes: 1\ndeepspeed_config: {deepspeed_config_file: none.json}\n", "1.2.1", ""),  # the boolean
        (f"distributed_type: FSDP\n{TWO_MACHINES}same_network: true\nrdzv_backend: c10d\n", "1.2.1", "ValueError: The port number of"),
        (
            f"distributed_type: DEEPSPEED\n{TWO_MACHINES}".replace("16", "[16]"),
            "1.2.1",
            "TypeError: unsupported operand type(s) for //: 'list'",
        ),
        (
            "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config: {num_processes: x}\n",
            "1.2.1",
            "ValueError: Unsupported nproc_per",
        ),
        ("distributed_type: 'NO'\nnum_machines: 2\n", "1.2.1", "TypeError: expected str, bytes or os.PathLike object, not NoneType"),
        (
            "distributed_type: 'NO'\ndynamo_config: {dynamo_mode: 1}\n",
            "1.2.1",
            "TypeError: expected str, bytes or os.PathLike object, not int",
        ),
        ("distributed_type: MULTI_GPU\nnum_processes: 100.0\n", "1.2.1", "ValueError: Unsupported nproc_per_node value: 100.0"),
        ("distributed_type: MULTI_GPU\nnum_processes: x\n", "1.2.1", "ValueError: Unsupported nproc_per_node value: x"),
        ("distributed_type: MULTI_GPU\nnum_processes: true\n", "1.2.1", "ValueError: Unsupported nproc_per_node value: True"),
        ("distributed_type: MULTI_GPU\nnum_processes: gpu\n", "1.2.1", ""),
        (
            f"distributed_type: MULTI_GPU\n{TWO_MACHINES}{ADDRESS}".replace("16", "16.0"),
            "1.2.1",
            "ValueError: Unsupported nproc_per_node value: 8.0",
        ),
    ],
)
def test_what_a_launch_ends_with(checked_project, text, release, expected):
    report = checked_project({"acc.yaml": text}, f"accelerate=={release}", options=["--run", "--kind", "accelerate"], paths=["acc.yaml"])
    raised = [each["exception"] for each in report["diagnostics"] if each["exception"]]
    assert [each.startswith(expected) for each in raised] == ([True] if expected else []), raised


@each_case(
    ("engine", "read"),
    [("DEEPSPEED", True), ("'DEEPSPEED'", True), ("${ENGINE}", True), ("MULTI_GPU", False), ("NO", False), ("'NO'", False), ("0.5", False)],
)
def test_only_deepspeed_reads_its_file(checked_project, engine, read):
    files = {
        "acc.yaml": f"distributed_type: {engine}\nnum_processes: 1\ndeepspeed_config: {{deepspeed_config_file: ds.json}}\n",
        "ds.json": "[]\n",
    }
    report = checked_project(files, "accelerate==1.2.1", options=["--kind", "accelerate"], paths=["acc.yaml"])
    assert ("DSP001" in {each["code"] for each in report["diagnostics"]}) is read


def test_what_is_missing_is_named(checked_project):
    text = "distributed_type: 'NO'\nnum_machines: 2\n"
    report = checked_project({"acc.yaml": text}, "accelerate==1.2.1", options=["--run", "--kind", "accelerate"], paths=["acc.yaml"])
    assert [each["key"] for each in report["diagnostics"] if each["exception"]] == ["/main_process_ip"]


def test_an_address_that_is_filled_later_is_not_judged(checked_project):
    text = f"distributed_type: MULTI_GPU\n{TWO_MACHINES}main_process_ip: ${{MASTER}}\nmain_process_port: ${{PORT}}\n"
    assert not checked_project({"acc.yaml": text}, "accelerate==1.2.1", paths=["acc.yaml"])["diagnostics"]


LOOP = """
import torch
from accelerate import Accelerator

accelerator = Accelerator(ARGUMENTS)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.zeros(100, 8), batch_size=8)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    accelerator.backward(model(batch).sum())
    optimizer.step()
    optimizer.zero_grad()
"""
OFFLOAD = f"{DEEPSPEED}  offload_param_device: gpu\n"


@each_case(
    ("flags", "file", "arguments", "expected"),
    [
        ("--use_fsdp --fsdp_sync_module_states foo --num_processes 2", "", "", ("reject", "error")),  # the flags alone
        ("--config_file a.yaml", OFFLOAD, "", ("reject", "error")),
        ("--config_file a.yaml", OFFLOAD, "deepspeed_plugin=plugin()", ("accept", "warning")),  # takes the place of the file's
        ("--config_file a.yaml --fsdp_sharding_strategy 9", f"{FSDP}  fsdp_sharding_strategy: 1\n", "", ("reject", "error")),
        ("--config_file a.yaml --fsdp_sharding_strategy 1", f"{FSDP}  fsdp_sharding_strategy: 9\n", "", ("accept", None)),
        ("--config_file a.yaml --tpu_cluster", OFFLOAD, "", ("accept", None)),  # the type of the file is not read
        ("--config_file a.yaml --cpu", OFFLOAD, "", ("accept", None)),
        ("--num_processes 8 --num_machines 2", "", "", ("reject", None)),  # no rank of the machine
        ("--num_processes 8 --num_machines 2 --machine_rank 0 --main_process_port 29501", "", "", ("accept", None)),
        ("--num_processes 8 --main_process_port 70000", "", "", ("reject", None)),
        ("--num_processes 8 --gpu_ids 0", "", "", ("accept", None)),  # counted only where a file is read
        ("--config_file a.yaml", f"{FSDP}  fsdp_version: 1\nnum_machines: null\n", "", ("reject", None)),
        ("--config_file a.yaml --num_machines 1", f"{FSDP}  fsdp_version: 1\nnum_machines: null\n", "", ("accept", None)),
        ("--config_file a.yaml --num_machines 8", OFFLOAD.replace("gpu", "cpu"), "", ("accept", None)),  # DeepSpeed starts all GPUs
    ],
)
def test_plugins_of_a_loop_of_its_own(checked_project, flags, file, arguments, expected):
    files = {"run.sh": f"accelerate launch {flags} train.py\n", "a.yaml": file or "{}", "train.py": LOOP.replace("ARGUMENTS", arguments)}
    report = checked_project(files, "accelerate==1.10.1", "deepspeed==0.17.5", paths=["run.sh"])
    severities = [severity for _, severity in found(report)]
    assert (report["runs"][0]["verdict"], next(iter(severities), None)) == expected, report["diagnostics"]


@each_case(
    ("release", "block", "steps"),
    [
        ("1.5.0", "  gradient_accumulation_steps: 2\n", 4),
        ("1.4.0", "  gradient_accumulation_steps: 2\n", 2),  # the file's
        ("1.4.0", "  zero_stage: 2\n", 4),
    ],
)
def test_a_flag_and_the_same_key_in_a_block(checked_project, release, block, steps):
    line = "accelerate launch --config_file a.yaml --gradient_accumulation_steps 4 train.py\n"
    files = {"run.sh": line, "a.yaml": DEEPSPEED + block, "train.py": LOOP.replace("ARGUMENTS", "")}
    report = checked_project(files, f"accelerate=={release}", paths=["run.sh"])
    assert report["runs"][0]["resolved"]["accumulation"] == steps
