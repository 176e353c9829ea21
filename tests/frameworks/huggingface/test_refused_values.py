"""Values that torch, accelerate or the Trainer refuse after the arguments are parsed, by release."""

from __future__ import annotations

from cases import each_case

HEAD = "output_dir: o\nper_device_train_batch_size: 4\nlearning_rate: 1.0e-5\n"
SHARDED = HEAD + "fsdp: full_shard\nfsdp_config: {}\n"


@each_case(
    ("text", "release", "exception"),
    [
        (
            HEAD + "optim: sgd\noptim_args: nesterov=True\n",
            "5.24.0",
            "ValueError: Nesterov momentum requires a momentum and zero dampening",
        ),
        (HEAD + "optim: sgd\noptim_args: nesterov=True,momentum=0.9\n", "5.24.0", ""),
        (HEAD + "optim: sgd\noptim_args: momentum=-1\n", "5.24.0", "ValueError: Invalid momentum value: -1.0"),
        (HEAD + "optim: sgd\noptim_args: momentum=-1\n", "4.57.6", ""),  # which does not read them
        (HEAD + "optim: rmsprop\noptim_args: alpha=-1\n", "5.24.0", "ValueError: Invalid alpha value: -1.0"),
        (HEAD + "optim: adagrad\noptim_args: eps=-1\n", "5.24.0", "ValueError: Invalid epsilon value: -1.0"),
        (SHARDED.format("{state_dict_type: LOCAL_STATE_DICT}"), "5.24.0", "ValueError: FSDP2 does not support LOCAL_STATE_DICT"),
        (SHARDED.format("{version: 1, state_dict_type: LOCAL_STATE_DICT}"), "5.24.0", ""),
        (SHARDED.format("{version: 1, reshard_after_forward: true}"), "5.24.0", "KeyError: 'TRUE'"),
        (SHARDED.format("{version: 1, reshard_after_forward: null}"), "5.24.0", "KeyError: 'NONE'"),
        (SHARDED.format("{version: 2, reshard_after_forward: true}"), "5.24.0", ""),
        (SHARDED.format("{reshard_after_forward: true}"), "5.0.0", "KeyError: 'TRUE'"),
        (SHARDED.format("{version: 4, reshard_after_forward: true}"), "5.0.0", "KeyError: 'TRUE'"),
        (SHARDED.format("{fsdp_version: 2, reshard_after_forward: true, forward_prefetch: a}"), "5.0.0", ""),
        (SHARDED.format("{reshard_after_forward: true}"), "4.57.6", ""),
        (SHARDED.format("{fsdp_forward_prefetch: a}"), "4.52.4", "ValueError: invalid truth value a"),
        (SHARDED.format("{fsdp_forward_prefetch: a}"), "4.51.3", ""),
        (SHARDED.format("{version: 1, backward_prefetch: null}"), "5.24.0", "AttributeError: 'NoneType' object has no attribute 'upper'"),
        (SHARDED.format("{backward_prefetch: 1}"), "4.40.1", "AttributeError: 'int' object has no attribute 'upper'"),
        (SHARDED.format("{version: null}"), "5.24.0", "TypeError: int() argument must be a string, a bytes-like object or a real number"),
        (HEAD + "warmup_steps: '10'\n", "4.40.1", "TypeError: '>' not supported between instances of 'str' and 'int'"),
        (HEAD + "warmup_steps: null\n", "4.30.0", "TypeError: '>' not supported between instances of 'NoneType' and 'int'"),
        (
            HEAD + "warmup_steps: null\nwarmup_ratio: 0.1\n",
            "4.41.2",
            "TypeError: '>' not supported between instances of 'NoneType' and 'int'",
        ),
        (HEAD + "warmup_steps: 10\n", "4.40.1", ""),
        (HEAD + "evaluation_strategy: null\n", "4.40.1", "ValueError: None is not a valid IntervalStrategy"),
        (HEAD + "evaluation_strategy: null\n", "4.45.2", ""),
    ],
)
def test_values_that_are_refused(checked_project, text, release, exception):
    options = ["--run", "--gpus", "2", "--kind", "huggingface"]
    report = checked_project({"t.yaml": text}, f"transformers=={release}", options=options, paths=["t.yaml"])
    errors = [each["exception"] for each in report["diagnostics"] if each["severity"] == "error"]
    assert [each[: len(exception)] for each in errors] == ([exception] if exception else [])
