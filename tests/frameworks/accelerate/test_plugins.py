"""Values of an accelerate file that the plugins of the program's `Accelerator` refuse, and SageMaker files."""

from __future__ import annotations

from cases import each_case

FSDP = "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
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
