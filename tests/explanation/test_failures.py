"""What a log says about a failure: its cause, the phase, and what follows from it.

The cases are logs in the folder `failures`, with what is said of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import rebuild_exceptions

from cases import each_case
from cfglint.explanation.failures import failures_in
from cfglint.explanation.predicted import is_alike, rules_of
from records import check_cases

FOLDER = Path(__file__).parent / "failures"


def told(log):
    """A line for each thing that is known of the failures of a log."""
    for each in failures_in(log.splitlines(keepends=True)):
        rank, card = ("" if value is None else f", {name} {value}" for name, value in (("rank", each.rank), ("GiB", each.gpu_memory)))
        yield f"{each.kind}{rank}{card}{f', {each.phase}' if each.phase else ''}, line {each.line}: {each.summary}"
        yield from each.details
        if each.rules:
            yield f"rules: {', '.join(each.rules)}"
        if each.remedy:
            yield f"help: {each.remedy}"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_what_is_said_of_a_log(path, updating):
    """`CFGLINT_UPDATE=1` rewrites it."""
    check_cases(path, lambda log: list(told(log)) or ["no failure"], updating)


def test_a_validator_is_recognised_by_its_own_message():
    head = "pydantic_core._pydantic_core.ValidationError: 1 validation error for AxolotlConfigWCapabilities"
    message = "Value error, torch_compile should be set within your deepspeed config file"
    assert is_alike(
        f"{head} {message} [type=value_error, input_value={{}}, input_type=dict]", f"ValidationError: 1 validation error: {message}"
    )
    assert not is_alike(f"{head} {message}", f"{head} Value error, `tensor_parallel_size` requires `dp_shard_size` here")
    assert not is_alike(f"{head} {message}", "ValueError: torch_compile and deepspeed")
    assert not is_alike("ValueError: torch_compile and deepspeed", f"{head} {message}")


@each_case(
    ("exception", "files", "rules"),
    [
        ("AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step *"
         " world_size 64 != 4 * 8 * 1", [], ["BAT001"]),
        ("ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found - Evaluation strategy: no",
         [], ["HFT006"]),
        ("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'", [], ["KEY206"]),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'", [], ["KEY202"]),
        ("SystemExit: 2 (error: unrecognized arguments: --local-rank=0)", [], ["LCH003"]),
        ("ValueError: Some keys are not used by the HfArgumentParser: ['lora_ranks']", ["/x/llamafactory/hparams/parser.py"], ["LLF001"]),
        ("pydantic_core._pydantic_core.ValidationError: 1 validation error for AxolotlConfigWCapabilities pretraining_dataset"
         " Input should be a valid list [type=list_type, input_value={'path': 'c4'}, input_type=dict]", [], ["AXL002"]),
        ("ValidationError: 2 validation errors for DeepSpeedBF16Config loss_scale Extra inputs are not permitted", ["/deepspeed/config.py"],
         ["KEY102"]),
        ("ValueError: adamw_hf is not a valid OptimizerNames, please select one of ['adamw_torch', 'sgd']", [], ["HFT003"]),
        ("AssertionError: Gradient accumulation steps: 0 has to be greater than 0", [], ["BAT004"]),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'conf/ds.json'", [], ["LCH002"]),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/runs/7/checkpoint-9/trainer_state.json'", [], ["HFT080"]),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/train.parquet'", [], []),
        ("AttributeError: 'NoneType' object has no attribute 'shape'", [], []),
        ("TypeError: LlamaForCausalLM.forward() got an unexpected keyword argument 'length'", [], []),
        ("pydantic.error_wrappers.ValidationError: 1 validation error for DeepSpeedZeroConfig zero_hpz_partition_size extra fields not"
         " permitted (type=value_error.extra)", ["/deepspeed/config.py"], ["KEY102"]),
        ("AssertionError: rollout world_size: 1 is not divisible by infer_tp: 2", [], ["VRL023"]),
        ("ValueError: DeepSpeed Zero-3 is not compatible with `low_cpu_mem_usage=True` or with passing a `device_map`.", [], []),
        ("RuntimeError: expected mat1 and mat2 to have the same dtype, but got: float != c10::Half", [], []),
    ],
)  # fmt: skip
def test_the_rules_that_predict_an_exception(exception, files, rules):
    assert rules_of(exception, files) == rules


def test_the_predicted_exceptions_are_those_of_the_records(updating):
    now = rebuild_exceptions.module()
    if updating:
        rebuild_exceptions.MODULE.write_text(now, encoding="utf-8")
    assert rebuild_exceptions.MODULE.read_text(encoding="utf-8") == now


@each_case(
    ("text", "files", "codes"),
    [
        ("ModuleNotFoundError: No module named 'wandb'", (), []),
        ("ModuleNotFoundError: No module named 'trl'", (), []),
        ("ModuleNotFoundError: No module named 'transformers.deepspeed'", (), ["KEY207"]),
        ("ImportError: cannot import name 'score' from 'own.utils' (own/utils.py)", (), []),
        ("ImportError: cannot import name 'AdamW' from 'transformers' (/x/__init__.py)", (), ["KEY207"]),
        ("TypeError: Object of type bool_ is not JSON serializable", (), []),
        ("TypeError: Object of type datetime is not JSON serializable", (), ["TYP305"]),
        (
            "ValueError: The config file at a.yaml had unknown keys (['tp']), please try upgrading",
            ("/x/accelerate/commands/launch.py",),
            ["ACC002", "ACC023"],
        ),
        ("ValueError: `max_samples` is incompatible with `streaming`.", [], ["LLF012"]),
        ("ValueError: `a_size` is incompatible with `b_size`.", [], []),
        ("AssertionError: 32 is not divisible by 3", [], []),
        ("NotImplementedError", [], []),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/train.json'", [], []),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/x/adapter_config.json'", [], []),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ds_config.json'", [], ["LCH002"]),
        ("TypeError: argument 'ids': 'float' object cannot be interpreted as an integer", [], []),
        ("TypeError: None is not a callable object", [], []),
        ("ValueError: `n_frequency` should be a positive integer value but the value passed is 0", ("/x/peft/tuners/config.py",), []),
        ("ValueError: `r` should be a positive integer value but the value passed is 0", ("/x/peft/tuners/lora/layer.py",), ["PFT001"]),
        ("ValueError: You cannot pass in both `dynamo_plugin` and `dynamo_backend`, please only pass in one.", (), []),
        ("ValueError: `top_h` must be in the range (0, 1].", ("/x/transformers/generation/logits_process.py",), []),
        ("ValueError: File 'a.tsfile' is not a valid TsFile (bad magic header).", (), []),
    ],
)
def test_the_values_of_a_general_message_tell_the_rule(text, files, codes):
    assert rules_of(text, files) == codes
