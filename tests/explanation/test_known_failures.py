"""Every entry of `known_failures.toml` speaks of a message that people meet, and each of these messages is explained."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from cfglint.explanation.known_failures import facts, known_exception, known_exceptions, known_warning
from cfglint.explanation.log_file import Log
from tests.cases import each_case

FILES = sorted((Path(__file__).parent / "exceptions").glob("*.txt"))
MESSAGES = [line for path in FILES for line in path.read_text(encoding="utf-8").splitlines()]

WARNINGS = [
    ("early stopping required metric_for_best_model, but did not find eval_f1 so early stopping is disabled", "compute_metrics"),
    ("50%|#5 | 1/2 [00:20<00:20]Invalidate trace cache @ step 1: expected module 2, but got module 3", "synced_gpus"),
    ("The model weights are not tied. Please use the `tie_weights` method before using the `infer_auto_device` function.", "other lines"),
    ("1 pytorch allocator cache flushes since last step. this happens when there is high memory pressure", "nearly full"),
    ("UserWarning: Failed to clone() tensor with name lm_head.weight on rank 1. Error: CUDA out of memory.", "may be wrong"),
    ("[WARNING] [runner.py:191:fetch_hostfile] Unable to find hostfile, will proceed with training with local resources only.", "only"),
    ("You are using a model of type llama to instantiate a model of type llava_llama. This can yield errors.", "another class"),
    ("UserWarning: Could not find response key `### Response:` in the following instance: Below", "masked"),
    ("[rank0]:[W1015 ProcessGroupNCCL.cpp:1476] Warning: WARNING: destroy_process_group() was not called before program exit", "closing"),
    ("Detected kernel version 4.18.0, which is below the recommended minimum of 5.5.0; this can cause the process to hang.", "may hang"),
    ("using GPU 0 to perform barrier as devices used by this process are currently unknown. This can cause a hang", "guesses"),
    ("No label_names provided for model class `PeftModelForCausalLM`.", "label_names"),
    ("[NeMo E exp_manager:423] You are running multi-node training without SLURM handling the processes.", "srun"),
    ("Warning: Grad strides do not match bucket view strides.", "slower"),
    ("[WARNING]  async_io requires the dev libaio .so object and headers but these were not found.", "nothing is lost"),
    ("srun: Job 123 step creation temporarily disabled, retrying (Requested nodes are busy)", "--overlap"),
    ("Token indices sequence length is longer than the specified maximum sequence length for this model (513 > 512)", "cut"),
    ("`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.", "nothing is lost"),
    ("UserWarning: None of the inputs have requires_grad=True. Gradients will be None", "nothing is trained"),
    ("Some weights of LlamaForSequenceClassification were not initialized from the model checkpoint", "new head"),
    ("Warning: find_unused_parameters=True was specified in DDP constructor", "is faster"),
    ("huggingface/tokenizers: The current process just got forked, after parallelism has already been used.", "TOKENIZERS_PARALLELISM"),
    ("The following columns in the Training set don't have a corresponding argument in `LlamaForCausalLM.forward`", "drops the columns"),
    ("Setting OMP_NUM_THREADS environment variable for each process to be 1 in default", "one thread"),
]


@cache
def failure_of(message):
    [failure, *_] = Log("log.txt", [f"{message}\n"]).explained().failures
    return failure


@each_case("message", MESSAGES)
def test_a_message_is_explained(message):
    failure = failure_of(message)
    assert failure.rules or failure.remedy or failure.causes


def test_each_cause_is_a_phrase():
    assert [cause for known in known_exceptions() for cause in known.causes if " " not in cause] == []


def test_no_entry_is_hidden_by_another():
    reached = {known.pattern for failure in map(failure_of, MESSAGES) if (known := known_exception(failure.exception)) is not None}
    assert [known.pattern for known in known_exceptions() if known.pattern not in reached and not (known.file or known.line)] == []


def test_an_exception_of_a_package_is_that_of_its_file():
    text = "AttributeError: _old_forward"
    assert known_exception(text, "/usr/lib/python3/site-packages/unsloth/models/llama.py").remedy.startswith("update `unsloth`")
    assert known_exception(text, "train.py") is None
    assert "vLLM" in known_exception("AssertionError: assert 'factor' in rope_scaling", "/x/site-packages/vllm/config.py").remedy
    illegal = "RuntimeError: CUDA error: an illegal memory access was encountered"
    assert "adamw_torch" in known_exception(illegal, "/x/site-packages/bitsandbytes/optim/optimizer.py").remedy
    assert known_exception(illegal, "train.py").causes
    unset = "UnboundLocalError: local variable 'new_module' referenced before assignment"
    assert "newer" in known_exception(unset, "/x/site-packages/peft/tuners/lora.py").remedy
    assert known_exception(unset, "train.py").causes
    assert "device mesh" in known_exception("IndexError: list index out of range", "/x/torch/distributed/device_mesh.py").causes[0]
    assert "tokenizer" in known_exception("KeyError: 'pad'", "/x/transformers/tokenization_utils_base.py").causes[0]
    bar = "AttributeError: 'NoneType' object has no attribute 'update'"
    assert "progress bar" in known_exception(bar, "/x/transformers/trainer_callback.py").causes[0]
    zipped = "ValueError: zip() argument 2 is longer than argument 1"
    assert "LoRA" in known_exception(zipped, "/x/deepspeed/runtime/lr_schedules.py").causes[0]


LAST = [
    ("Using /data/.cache/torch_extensions/py310_cu118 as PyTorch extensions root...", "lock"),
    ("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8", "srun"),
    ("wandb: (1) Create a W&B account", "wandb login"),
    ("n1:77:77 [0] NCCL INFO Channel 00/02 :    0   1", "NCCL_P2P_DISABLE"),
    ("n1:77:77 [0] NCCL INFO Call to connect returned Connection refused, retrying", "never to `lo`"),
    ("  0%|          | 0/500 [00:00<?, ?it/s]", "py-spy"),
    ("INFO 04-01 ray_utils.py:214] Waiting for creating a placement group of specs for 30 seconds. specs=[{'GPU': 1.0}]", "ray status"),
]


@each_case(("line", "remedy"), LAST)
def test_the_last_line_of_a_run_that_hangs(line, remedy):
    [failure] = Log("log.txt", ["starting\n", f"{line}\n"]).explained().failures
    assert (failure.kind, failure.line, remedy in failure.remedy) == ("notice", 2, True)
    assert not any("hangs" in failure.remedy for failure in Log("log.txt", [f"{line}\n", "ValueError: no\n"]).explained().failures)


def test_each_last_line_is_met():
    assert [each["match"] for each in facts()["last"] if not any(re.search(each["match"], line) for line, _ in LAST)] == []


def test_each_named_cause_is_used():
    used = {cause for entry in facts()["exception"] for cause in entry.get("causes", ())}
    assert [name for name in facts()["cause"] if name not in used] == []


@each_case(("line", "meaning"), WARNINGS)
def test_a_warning_that_ends_nothing(line, meaning):
    [failure] = Log("log.txt", [f"{line}\n"]).explained().failures
    assert (failure.kind, meaning in failure.details[0]) == ("notice", True)


def test_each_warning_is_met():
    assert {
        warning["match"] for warning in facts()["warning"] if not any(re.search(warning["match"], line) for line, _ in WARNINGS)
    } == set()
    assert known_warning("{'loss': 1.0}") is None
