"""What people paste: a part of a banner, a message without its exception, lines of Slurm, the state of a checkpoint."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.explanation.failures import NOT_PREDICTED, failures_in, in_fragment
from cfglint.explanation.log_analysis import explain
from cfglint.explanation.log_file import Log
from cfglint.explanation.log_parser import read
from cfglint.explanation.predicted import rules_of
from cfglint.frameworks import framework
from tests.cases import each_case


def test_a_part_of_a_banner_tells_the_global_batch():
    [banner] = read(["  Num examples = 1,000\n", "  Num Epochs = 2\n", "  Total optimization steps = 126\n"])
    assert explain(banner).note.endswith("1,000 samples in 63 steps per epoch are a global batch of 16")


@each_case(
    ("line", "said", "remedy"),
    [
        ("slurmstepd: error: Detected 2 oom_kill events in StepId=1.0. Some of the step tasks have been OOM Killed.", "killed", "memory"),
        ("srun: error: n1: task 3: Out Of Memory", "killed", "memory"),
        ("srun: error: n1: tasks 0-3: Exited with exit code 7", "exit status 7", "exception"),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", "Requested node", "sinfo"),
        ("srun: error: Unable to create step for job 9: More processors requested than permitted", "More processors", "scontrol"),
        ("sbatch: error: Batch job submission failed: Requested GRES option unsupported by configured SelectType plugin", "GRES", "--gres"),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", "Invalid", "sacctmgr"),
        ("sbatch: error: This does not look like a batch script.", "batch script", "#!/bin/bash"),
        ("slurmstepd: error: execve(): torchrun: No such file or directory", "execve()", "PATH"),
        ("sbatch: error: fetch_config: DNS SRV lookup failed", "no configuration", "login node"),
        ("srun: error: Munge encode failed: Failed to access /run/munge/munge.socket.2", "authenticate", "munge"),
    ],
)
def test_lines_of_slurm(line, said, remedy):
    [found] = failures_in([line])
    assert said in found.summary
    assert remedy in found.remedy


@each_case(
    ("line", "rule", "remedy"),
    [
        ("got an unexpected keyword argument 'evaluation_strategy'", "KEY202", "eval_strategy"),
        ("__init__() got an unexpected keyword argument 'tokenizer'", "KEY206", "processing_class"),
        ("Seq2SeqTrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'", "KEY202", "eval_strategy"),
        ("SFTConfig.__init__() got an unexpected keyword argument 'evaluation_strategy'", "KEY202", "eval_strategy"),
        ("Value error, Require cfg.load_in_4bit to be True for qlora [type=value_error, input_value={}]", "AXL016", ""),
        ("No slot '3' specified on host 'n1'", "", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_a_message_without_its_exception(line, rule, remedy):
    [found] = in_fragment([line])
    assert found.rules == [rule] * bool(rule)
    assert remedy in found.remedy


@each_case(
    ("text", "remedy"),
    [
        ("RuntimeError: NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.19", "NCCL_SOCKET_IFNAME"),
        ("RuntimeError: NCCL error in: x.hpp:8, invalid argument, NCCL version 2.4.8", "set_device"),
        ("torch.x.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception.", "--rdzv_endpoint"),
        ("ValueError: Packing failed. Make sure that the data has enough samples.", "Make sure that the data has enough samples"),
        ("KeyError: 'It broke. Please raise an issue on GitHub.'", ""),
        ("`ValueError: no `x` here, please remove these keys from the file.`", "please remove these keys"),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'use_reentrant'", "remove `use_reentrant`"),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'packing'", "SFTConfig"),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'predict_with_generate'", "Seq2SeqTrainingArguments"),
        ("AttributeError: 'TrainingArguments' object has no attribute 'eval_strategy'", "from transformers 4.41.0 on"),
        ("AttributeError: 'TrainingArguments' object has no attribute 'packing'", "of its own"),
        ("AttributeError: 'SFTConfig' object has no attribute 'max_seq_length'", "write `SFTConfig(max_length=...)`"),
        ("ModuleNotFoundError: No module named 'verl.workers.fsdp_workers'", "was removed in verl 0.8.0"),
    ],
)
def test_what_to_do_is_said(text, remedy):
    [found] = failures_in([text])
    assert remedy in found.remedy
    assert bool(remedy) == bool(found.remedy)


def test_a_size_in_the_next_line_of_a_message_counts():
    [found] = failures_in(
        [
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB (GPU 1; 79.10 GiB total capacity; 76.13 GiB ",
            "already allocated)",
        ]
    )
    assert found.needed == pytest.approx(77.38)


@pytest.mark.parametrize("line", ['"""', "run.sh: line 9: python: command not found"])
def test_a_line_that_ends_a_message(line):
    [found] = failures_in(["KeyError: 0\n", f"{line}\n"])
    assert found.exception == "KeyError: 0"


def test_words_that_a_broken_line_passes_to_a_parser():
    assert rules_of(r"ValueError: remaining_argv: ['\\', '\\']") == ["LCH001"]


def test_other_words_are_no_message():
    assert in_fragment(["------------", "exitcode  : 1 (pid: 7)"]) == []
    assert in_fragment(["the training was slow today"]) == []
    assert in_fragment(["got an unexpected keyword argument 'of_my_own'"]) == []


@each_case(
    ("exception", "said"),
    [
        (
            "TypeError: __init__() got an unexpected keyword argument 'evaluation_strategy'",
            "removed from TrainingArguments in transformers",
        ),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'eval_strategy'", "from transformers 4.41.0 on"),
        ("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'", "SFTConfig(max_length=...)"),
        ("TypeError: GRPOConfig.__init__() got an unexpected keyword argument 'vllm_device'", "removed from GRPOConfig in trl"),
    ],
)
def test_what_became_of_an_unknown_keyword(exception, said):
    [found] = failures_in([exception])
    assert said in found.remedy


@pytest.mark.parametrize("kind", ["axolotl", "llamafactory", "trl", "swift", "openrlhf", "verl"])
def test_each_exception_of_a_row_names_its_page(kind):
    files = [f"/site-packages{path}/arguments.py" for path in framework(kind).source_paths[:1]]
    for code, text in set(framework(kind).part("exceptions", tuple)(kind)):
        if not text.startswith(("TypeError", "AttributeError", "ImportError")):
            assert code in rules_of(text.replace("<>", "0"), files), text


@each_case(
    ("entries", "said"),
    [
        ([{"learning_rate": 0.0, "loss": 1.0}] * 2, "learning rate is 0 in all 2"),
        ([{"learning_rate": 1e-5, "loss": 1.0}, *[{"learning_rate": 0.0, "loss": 1.0}] * 3], "in the last 3 logged steps"),
        ([{"learning_rate": 1e-5, "loss": 0.0}] * 2, "loss is 0"),
        ([{"learning_rate": 1e-5, "loss": 1.0}, {"learning_rate": 0.0, "loss": 1.0}], ""),
        ([{"learning_rate": 1e-5, "loss": 0.0, "reward": 1.0}] * 2, ""),
    ],
)
def test_rates_and_losses_that_are_0(entries, said):
    found = failures_in([f"{each}\n" for each in entries])
    assert [said in each.summary for each in found] == [True] * bool(said)


def test_the_state_of_a_checkpoint(tmp_path, capsys):
    state = {"epoch": 2.0, "global_step": 100, "max_steps": 150, "num_train_epochs": 3, "log_history": [{"loss": 1.0, "step": 100}]}
    (tmp_path / "trainer_state.json").write_text(json.dumps(state, indent=2))
    assert main(["log", str(tmp_path)]) == 0
    assert "Step 100 of 150, epoch 2 of 3: 50 steps per epoch; 50 steps are left." in capsys.readouterr().out
    state["log_history"] = [{"loss": 1.0, "step": 50}, {"loss": float("nan"), "step": 100}]
    (tmp_path / "trainer_state.json").write_text(json.dumps(state, indent=2))
    assert main(["log", str(tmp_path / "trainer_state.json")]) == 0
    assert "trainer_state.json:13 loss or gradient norm is not a number" in " ".join(capsys.readouterr().out.split())


def test_the_state_of_a_checkpoint_against_the_files_of_its_run(tmp_path, capsys):
    state = {"epoch": 1.0, "global_step": 100, "max_steps": 300, "num_train_epochs": 3, "train_batch_size": 4, "log_history": []}
    (tmp_path / "trainer_state.json").write_text(json.dumps(state))
    (tmp_path / "t.yaml").write_text("output_dir: out\nper_device_train_batch_size: 8\nnum_train_epochs: 3\n")
    assert main(["log", str(tmp_path), str(tmp_path / "t.yaml"), "--gpus", "2", "--num-examples", "800"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "micro batch is 4 in the log, 8 by the files" in said
    assert "steps per epoch is 100 in the log, 50 by the files" in said
    assert "total steps is 300 in the log, 150 by the files" in said


@each_case(
    ("lines", "said"),
    [
        (
            ["run.sh: 4: --bf16: not found", "ValueError: Some specified arguments are not used by the HfArgumentParser: [' ']"],
            "the shell took `--bf16`",
        ),
        (["run.sh: line 9: --lr=1: command not found"], "the shell took `--lr`"),
        (["ValueError: Please input the dataset.", "a.sh: line 7: --model: command not found"], "the shell took `--model`"),
        (["**TypeError: __init__() got an unexpected keyword argument 'tokenizer'**"], "the run ended with TypeError"),
        (["AttributeError: \u2018TrainingArguments\u2019 object has no attribute \u2018x\u2019"], "AttributeError: 'TrainingArguments'"),
        (["'loss': 0.0, 'grad_norm': tensor(nan, device='cuda:0')"], "is not a number"),
        (["    assert x", "AssertionError"], "AssertionError"),
        (["torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "  exitcode  : -6 (pid: 5)"], "SIGABRT"),
    ],
)
def test_forms_in_which_failures_are_copied(lines, said):
    [found] = failures_in([f"{each}\n" for each in lines])
    assert said in found.summary


@each_case(
    ("text", "rule", "said"),
    [
        ("ValueError: You have set `args.eval_strategy` to steps but you didn't pass an `eval_dataset` to `Trainer`.", "", "eval_dataset"),
        ("RuntimeError: 'weight' must be 2-D", "", "launcher"),
        ("ValueError: Must flatten tensors with uniform dtype but got torch.float16 and torch.float32", "", "one precision"),
        ("ValueError: Some specified arguments are not used by the HfArgumentParser: [' ']", "LCH001", ""),
        ("ValueError: Some specified arguments are not used by the HfArgumentParser: ['--lr']", "LCH003", ""),
        ("TypeError: _OwnDPOTrainer.__init__() got an unexpected keyword argument 'tokenizer'", "KEY206", "DPOTrainer"),
    ],
)
def test_exceptions_that_frameworks_share(text, rule, said):
    [found] = failures_in([text])
    assert found.rules == [rule] * bool(rule)
    assert said in found.remedy


CANCELLED = "slurmstepd: error: *** STEP 9.0 ON n1 CANCELLED AT 2024-01-02T03:04:05 ***"


@each_case(
    ("lines", "said", "remedy"),
    [
        (
            ["[a, 11:47] Traceback (most recent call last):", '[a, 11:47]   File "a.py", line 7, in main', "[a, 11:48] ValueError: x"],
            "x",
            "",
        ),
        ([' 0: [rank3]:   File "a.py", line 7, in main', " 0: [rank3]: ValueError: x"], "rank 3 raised ValueError: x", ""),
        (["python: /w/aio.cpp:223: int wait(): Assertion `_num_pending_ops > 0' failed."], "_num_pending_ops > 0 (aio.cpp:223)", "NVMe"),
        (
            ["terminate called after throwing an instance of 'c10::Error'", "  what():  CUDA error: busy or unavailable"],
            "c10::Error",
            "nvidia-smi",
        ),
        (['  File "a.py", line 7, in load', "    assert metadata is not None", "AssertionError"], "AssertionError", ".metadata"),
        (["command terminated with exit code 137"], "SIGKILL", "memory"),
        (["torch.x.SignalException: Process 7 got signal: 1"], "SIGHUP", "tmux"),
        (["KeyboardInterrupt"], "interrupted", "somebody stopped"),
        (["srun: error: Node failure on n7"], "node failure", "--exclude"),
        (["  8841 gpu sft me PD 0:00 2 (QOSMaxGRESPerUser)"], "a limit of the user", "sacctmgr"),
        (["sbatch: error: Batch script contains DOS line breaks (\\r\\n)"], "DOS line breaks", "dos2unix"),
        (["{'eval_loss': nan, 'epoch': 1.0}"], "evaluation is not a number", "masked"),
        (["{'loss': '0', 'reward': '1', 'reward_std': '0'}"] * 3, "same reward in all 3", "reward function"),
        (["{'loss': 0.6931, 'learning_rate': 1e-5}"] * 3, "an even chance", "preference loss"),
        (["{'loss': 2.1, 'grad_norm': 0.0, 'learning_rate': 1e-5}"] * 3, "gradient norm is 0", "frozen"),
    ],
)
def test_signs_of_what_happened(lines, said, remedy):
    found = failures_in([f"{each}\n" for each in lines])
    assert said in found[0].summary
    assert remedy in found[0].remedy


@each_case(
    ("text", "said"),
    [
        ("ImportError: fused attention is not available here", "install what the message names"),
        ("ValueError: the second trainer does not support an evaluation set yet.", "leave out, or change"),
        ("FooError: No shard was found in that place. It stopped.", "look for what the message names: it is missing"),
        ("AssertionError: the length of a does not match that of b", "compare the two values"),
        ("ValueError: the first part has to come before the second", "meet the condition"),
        ("ValueError: invalid letter", "look at the value"),
        ("TypeError: invalid letter", NOT_PREDICTED),
        ("RuntimeError: CUDA error: unknown, not supported", ""),
    ],
)
def test_an_unknown_message_is_read_by_its_words(text, said):
    [found] = failures_in([text])
    assert (said in " ".join(found.details), bool(found.remedy)) == (True, False)


def test_lines_of_vllm_and_pytest_have_a_head():
    log = [
        "(EngineCore_DP0 pid=9) ERROR 03-18 23:23:32 [core.py:1006] AssertionError: no such name",
        "RuntimeError: Engine core initialization failed.",
    ]
    assert failures_in(log)[0].exception == "AssertionError: no such name"
    assert failures_in(["ERROR 03-13 16:32:15 worker_base.py:574] ValueError: nothing"])[0].exception == "ValueError: nothing"
    assert failures_in([">   x = rows[1]", "E   KeyError: 1"])[0].exception == "KeyError: 1"


@each_case(
    ("text", "cause"),
    [
        ("ValueError: Unknown task: sft-classifier.", "no task `sft-classifier`"),
        ("ImportError: Found an incompatible version of x. Found version 0.4, but only version above 0.5 are supported", "releases"),
        ("ValueError: nothing that is known of", ""),
        ("RuntimeError: the buffer of the queue stopped at 5", ""),
    ],
)
def test_what_a_message_says_of_its_cause(text, cause):
    [found] = failures_in([text])
    assert cause in " ".join(found.causes)
    assert bool(cause) == bool(found.causes) == (NOT_PREDICTED not in found.details)


@each_case(
    ("lines", "kind"),
    [
        (["main.py exits with return code = -9", "OSError: out does not appear to have a file named config.json."], "killed"),
        (["ValueError: no", "main.py exits with return code = -9"], "exception"),
        (["main.py exits with return code = -9", "{'loss': 1.0}", "ValueError: no"], "exception"),
        (["RuntimeError: DataLoader worker (pid 3) is killed by signal: Bus error."], "exception"),
    ],
)
def test_a_process_that_was_dead_before_an_exception(lines, kind):
    assert failures_in([f"{line}\n" for line in lines])[0].kind == kind


def line_of(code, exception):
    return ['File "train.py", line 1, in main', code, exception]


@each_case(
    ("lines", "rules", "said"),
    [
        # a keyword without its class is that of a rule only if the rule names it; a name that all releases have is not missing
        (["TypeError: __init__() got an unexpected keyword argument 'enable_lora'"], [], "removed in peft 0.3.0"),
        (["ImportError: cannot import name 'Trainer' from 'transformers'"], [], "do not fit each other"),
        (["ImportError: cannot import name 'GRPOConfig' from 'trl' (/x/trl/__init__.py)"], ["KEY207"], "from 0.14.0 on"),
        (["ModuleNotFoundError: No module named 'transformers.deepspeed'"], ["KEY207"], "removed in transformers 4.46.0"),
        (["`LoraConfig.__init__() got an unexpected keyword argument 'eva_config'`"], [], "from peft 0.14 on"),
        (["TypeError: LoraConfig.init() got an unexpected keyword argument 'eva_config'"], [], "from peft 0.14 on"),
        ([' "  RuntimeError: CUDA out of memory. Tried to allocate 2.40 GiB "'], [], "smaller micro batch"),
        (["n1:1:2 [0] NCCL WARN Call to shm_open failed : denied", "RuntimeError: NCCL Error 2: unhandled system error"], [], "/dev/shm"),
        (["my scripts: error: unrecognized arguments: --local-rank=0"], ["LCH003"], "torchrun"),
        (["`List index out of range`"], [], "row of the data set"),
        (["\"AttributeError: 'NoneType' object has no attribute 'split'\", "], [], "a text that is null"),
        (
            [
                'File "/x/site-packages/bitsandbytes/nn/modules.py", line 336, in _save_to_state_dict',
                "torch.cuda.OutOfMemoryError: CUDA out of memory.",
            ],
            [],
            "save sharded",
        ),
        (
            [
                'File "/x/site-packages/peft/mapping.py", line 116, in get_peft_model',
                'File "/x/site-packages/transformers/trainer.py", line 93, in __init__',
                "TypeError: Layer.reset() takes 2 positional arguments but 3 were given",
            ],
            [],
            "releases of `peft`, which calls `transformers` here",
        ),
        (["AttributeError: 'MyGRPOTrainer' object has no attribute 'my_state'"], [], "the `trl` that `GRPOTrainer` and its caller"),
        # the line of code says what the key is one of
        (line_of("    optimizer.load_state_dict(checkpoint['optimizer'])", "KeyError: 'optimizer'"), [], "weights alone"),
        (line_of("    config = CONFIG_MAPPING[name]", "KeyError: 'new_model'"), [], "none of those that the table"),
        (line_of("    size = cfg['size']", "KeyError: 'size'"), [], "the config does not have"),
        (line_of("    first = next(iter(dataset))", "StopIteration"), [], "none of its rows has the format"),
        (line_of("    image, target = sample", "TypeError: cannot unpack non-iterable NoneType object"), [], "gives as None"),
        (
            line_of("    rewards.view(size, self.num_generations)", "RuntimeError: shape '[0, 8]' is invalid for input of size 2"),
            [],
            "than `num_generations`",
        ),
        (
            [
                'File "/x/site-packages/transformers/modeling.py", line 1, in f',
                "    Replicate()",
                "NameError: name 'Replicate' is not defined",
            ],
            [],
            "update the package whose code raised it",
        ),
        (
            [
                'File "/x/site-packages/trl/trainer.py", line 1, in f',
                'File "/x/site-packages/vllm/llm.py", line 2, in g',
                "IndexError: odd",
            ],
            [],
            "the code of `vllm`, which `trl` calls",
        ),
        # what torch.compile raises is told by the exception that it has met
        (
            [
                "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:",
                "RuntimeError: Triton Error: device kernel image is invalid",
            ],
            [],
            "built for this GPU",
        ),
        (
            [
                "Failed to read file 'a' with error <class 'pyarrow.lib.ArrowInvalid'>: Could not convert 'a': tried to convert to double",
                "ValueError: Not able to read records in the JSON file at a.json.",
            ],
            [],
            "one type in all rows",
        ),
        (
            [f"[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=X, Timeout(ms)=9)" for rank in "01"],
            [],
            "the first operation of the run",
        ),
    ],
)
def test_pasted_by_people(lines, rules, said):
    found = Log("log.txt", [f"{line}\n" for line in lines]).explained().failures
    assert [*found[:1], None][0] is None or found[0].rules == rules
    assert said in " ".join([text for each in found for text in (*each.causes, *each.details, each.remedy)])


def test_a_state_without_line_breaks(tmp_path):
    steps = [{"learning_rate": rate, "loss": 1.0, "step": step} for step, rate in enumerate((1e-5, 0.0, 0.0, 0.0))]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"epoch": 1.0, "global_step": 4, "max_steps": 4, "log_history": steps}))
    [found] = Log(str(tmp_path)).explained().failures
    assert "in the last 3 logged steps" in found.summary


UNSLOTH = (
    "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n",
    "   \\\\   /|    Num examples = 90 | Num Epochs = 2 | Total steps = 24\n",
    "O^O/ \\_/ \\    Batch size per device = 1 | Gradient accumulation steps = 8\n",
    "\\        /    Data Parallel GPUs = 1 | Total batch size (1 x 8 x 1) = 8\n",
)


def test_the_banner_of_unsloth():
    [banner] = read(UNSLOTH)
    assert [banner[name] for name in ("micro_batch", "accumulation", "global_batch", "total_steps")] == [1, 8, 8, 24]
    assert explain(banner).data_parallel == 1


@each_case(
    ("lines", "said", "remedy"),
    [
        (["ValueError: given\n", "我的训练脚本\n"], "ended with ValueError: given", ""),  # the words of a person are not the message
        (["OutOfMemoryError    Traceback (most recent call last)\n", "Cell In[1], line 3\n"], "a GPU ran out of memory", "micro batch"),
        (["Traceback (most recent call last):\n", '  File "a.py", line 7, in <module>\n'], "ends before its exception", "to the end"),
        (["[rank6]: ProcessGroupNCCL's watchdog got stuck for 480 seconds without"], "no progress for 480 seconds", "py-spy"),
        (["ValueError: Some keys are not used by the HfArgumentParser: ['enable_liger_kernel']"], "not used", "llamafactory 0.9.0"),
        (["KeyError: 'eval_loss'"], "eval_loss", "metric_for_best_model"),
    ],
)
def test_what_is_cut_off_or_goes_on(lines, said, remedy):
    [found] = failures_in(lines)
    assert said in found.summary
    assert remedy in found.remedy


def test_a_message_among_lines_that_do_not_say_why(tmp_path):
    text = "Some keys are not used by the HfArgumentParser: ['evaluation_strategy']\nE0430 api.py] failed (exitcode: 1) local_rank: 0\n"
    (tmp_path / "a.log").write_text(text)
    [found] = Log(str(tmp_path / "a.log")).explained().failures
    assert "KEY202" in found.rules


def test_steps_without_numbers_among_others_are_those_of_fp16():
    lines = [f"{{'loss': 0.1, 'grad_norm': {norm}, 'learning_rate': 0.1}}\n" for norm in ("nan", "0.2", "0.3", "nan")]
    [found] = failures_in(lines)
    assert "in 2 of 4 logged steps" in found.summary
    assert "fp16 skips" in found.remedy


def test_models_of_serving_are_not_those_of_training():
    message = "1 validation error for {} tp value is not a valid dict (type=type_error.dict)"
    assert rules_of("ValidationError: " + message.format("DeepSpeedInferenceConfig")) == []
    assert rules_of("ValidationError: " + message.format("AxolotlInputConfig"), ["/x/pydantic/main.py"]) == ["AXL002"]


def test_a_warning_among_logged_steps_is_told_beside_them(tmp_path, capsys):
    step = "{'loss': 1.0, 'learning_rate': 1e-5}\n"
    text = f"{step}UserWarning: Failed to clone() tensor with name a on rank 1\n{step}"
    (tmp_path / "a.log").write_text(text)
    assert main(["log", str(tmp_path / "a.log")]) == 0
    said = capsys.readouterr()
    assert "save sharded checkpoints" in " ".join(said.out.split())
    assert "the last of 2 logged steps is in line 3" in said.err


def test_the_exception_that_a_lazy_import_quotes_is_explained():
    head = "RuntimeError: Failed to import transformers.trainer because of the following error (look up to see its traceback):"
    [library] = failures_in([head, "/opt/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"])
    assert "install the extension" in library.remedy
    [name] = failures_in(
        [head, "cannot import name 'is_npu_available' from 'accelerate.utils' (/x/site-packages/accelerate/utils/__init__.py)"]
    )
    assert name.remedy.startswith("accelerate has `accelerate.utils.is_npu_available` from 0.21.0 on")
    [unknown] = failures_in([head, "something else"])
    assert unknown.remedy.startswith("look at the exception before")
    [fragment] = in_fragment([f"UserWarning: {head.partition(': ')[2]}", "'type' object is not subscriptable"])
    assert "too old" in fragment.causes[0]


def test_a_message_that_a_terminal_cut_within_a_word_is_known():
    lines = ["ValueError: Flash Attention 2.0 only sup", "ports torch.float16 and torch.bfloat16 dtypes."]
    [failure] = failures_in(lines)
    assert "16 bit" in failure.remedy


def test_the_code_that_found_nothing_is_shown():
    lines = [
        "Traceback (most recent call last):",
        '  File "train.py", line 3, in main',
        "    size=int(args.output_length),",
        "         ^^^^^^^^^^^^^^^^^^^^^^^",
        "TypeError: int() argument must be a string, a bytes-like object or a real number, not 'NoneType'",
    ]
    [failure] = failures_in(lines)
    assert failure.details[0] == "raised in `main` (train.py:3): `size=int(args.output_length),`"


def test_the_checks_of_a_kernel_explain_a_traceback_that_is_cut():
    check = "Indexing.cu:1284: indexSelectLargeIndex: block: [37,0,0], thread: [92,0,0] Assertion `srcIndex < srcSelectDimSize` failed."
    [failure] = failures_in([check, "Traceback (most recent call last):", '  File "train.py", line 3, in main'])
    assert "vocabulary" in failure.causes[0]


def test_a_message_without_the_backticks_that_markdown_took_is_known():
    assert rules_of("ValueError: dpo_loss_weights requires dpo_loss_type to be set") == rules_of(
        "ValueError: `dpo_loss_weights` requires `dpo_loss_type` to be set"
    )
    [failure] = failures_in(["ValueError: Must flatten tensors with uniform requires_grad when use_orig_params=False"])
    assert "use_orig_params" in failure.remedy


def test_a_kernel_that_fails_later_is_that_of_the_code_that_waits_for_it():
    lines = [
        "Traceback (most recent call last):",
        '  File "/x/site-packages/bitsandbytes/optim/optimizer.py", line 270, in step',
        "    torch.cuda.synchronize()",
        '  File "/x/site-packages/torch/cuda/__init__.py", line 688, in synchronize',
        "    return torch._C._cuda_synchronize()",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    ]
    [failure] = failures_in(lines)
    assert "adamw_torch" in failure.remedy


def test_a_process_that_only_reports_the_end_of_another_says_so():
    [failure] = failures_in(["Exception: process 0 terminated with exit code 1"])
    assert "another process" in failure.details[-1]


def test_a_message_that_asks_for_another_value_is_not_about_a_missing_one():
    [failure] = failures_in(["ValueError: That is taken. Please specify a different thing for this option"])
    assert not failure.causes
    assert failure.remedy == "the message says what to do: Please specify a different thing for this option"


def test_a_sentence_that_asks_for_something_without_an_error_is_no_failure():
    assert in_fragment(["The cache is large. Please use the other method before the next run."]) == []


def test_a_path_that_a_terminal_cut_is_no_exception():
    lines = [
        "Traceback (most recent call last):",
        '  File "/x/site-packages/vllm/v1/core/kv_cache_utils.py", line 758, in _chec',
        "k_enough_kv_cache_memory",
        "    raise ValueError(",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
    ]
    [failure] = failures_in(lines)
    assert failure.exception.startswith("ValueError")
    assert "raise `gpu_memory_utilization`" in failure.remedy


def test_the_frames_of_a_notebook_are_read():
    lines = [
        "KeyError                                  Traceback (most recent call last)",
        "[/usr/lib/python3.11/dist-packages/unsloth_zoo/loss_utils.py](https://localhost:8080/#) in batch_samples(self, *args)",
        '    315                 if "token_type_ids" in x:',
        '--> 316                     token_type_ids = kwargs["token_type_ids"]',
        "",
        "KeyError: 'token_type_ids'",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "TypeError: argument of type 'KeyError' is not iterable",
    ]
    [failure] = failures_in(lines)
    assert failure.rules == []
    assert failure.remedy.startswith("update `unsloth`")
    [failure] = failures_in(lines[:6])
    assert failure.details[0] == "raised in `batch_samples` (/usr/lib/python3.11/dist-packages/unsloth_zoo/loss_utils.py:316)"


@each_case(
    ("lines", "said", "remedy"),
    [
        (["srun: error: n1: task 5: Exited with exit code 1", CANCELLED], "status 1", ""),
        ([CANCELLED, "srun: error: n1: task 5: Exited with exit code 15"], "scancel", ""),
        (["srun: error: n1: task 5: Exited with exit code 247"], "SIGKILL", "memory"),
        (["RuntimeError: Step 1 exited with non-zero status 249"], "SIGBUS", "--shm-size"),
        (["srun: error: n1: task 5: Exited with exit code 255"], "status 255", "its exception"),
        (["run.sh: line 184: 2324239 Aborted                 (core dumped) python train.py --model m"], "SIGABRT", "its exception"),
        (
            ["train.py FAILED", "  exitcode  : -6 (pid: 21)", "  traceback : Signal 6 (SIGABRT) received by PID 21"],
            "SIGABRT",
            "its exception",
        ),
        (["slurmstepd: error: execve(): /tmp/slurmd/job9/slurm_script: No such file or directory"], "execve", "--exclude"),
        (["slurmstepd: error: execve(): bad interpreter(/opt/venv/bin/python3): No such file or directory"], "execve", "first line"),
        (["slurmstepd: error: execve(): /opt/train.sh: No such file or directory"], "execve", "node"),
    ],
)
def test_what_ended_a_step_or_a_launcher(lines, said, remedy):
    [found] = Log("log.txt", [f"{line}\n" for line in lines]).explained().failures
    assert said in found.summary
    assert remedy in found.remedy


def test_a_value_that_the_message_allows_is_no_mistake_of_the_files():
    [found] = failures_in(["ValueError: vllm_mode must be either 'server' or 'colocate', got 'server'."])
    assert (found.rules, "another release" in found.causes[0]) == ([], True)
    [found] = failures_in(["ValueError: vllm_mode must be either 'server' or 'colocate', got 'local'."])
    assert found.rules == ["TRL068"]


@each_case(
    ("text", "cause"),
    [
        ("KeyError: 'It has no state. This is probably due to `weights_only` being set.'", "due to `weights_only` being set"),
        ("RuntimeError: No inner state. Did you forget to call `prepare`?", "Did you forget to call `prepare`?"),
        ("RuntimeError: The state is gone.", ""),
    ],
)
def test_a_message_that_names_its_own_cause(text, cause):
    [found] = failures_in([text])
    assert cause in found.details[-1]
    assert (NOT_PREDICTED in found.details) is not bool(cause)


def test_an_exception_in_marks_of_markdown_goes_on_in_the_next_line():
    [found] = failures_in(["**ImportError: /a/fused_adam.so: undefined symbol: ", "_ZN3c104cuda9allocatorE**"])
    assert "_ZN3c104cuda9allocatorE" in found.summary
    assert found.remedy


def test_the_frames_of_a_traceback_without_its_ends():
    frames = ['  File "/x/transformers/trainer.py", line 1513, in train\n', "    state = TrainerState.load_from_json(path)\n"]
    [found] = Log("log.txt", frames).explained().failures
    assert (found.summary, "trainer.py:1513" in found.details[0]) == ("the traceback ends before its exception", True)
    assert Log("log.txt", [*frames, *["training goes on\n"] * 5]).explained().failures == []


def test_a_variable_that_is_not_set():
    [found] = failures_in(
        ["Traceback (most recent call last):", '  File "/usr/lib/python3.11/os.py", line 679, in __getitem__', "KeyError: 'PORT'"]
    )
    assert "variable `PORT`" in found.remedy
    [found] = failures_in(["KeyError: 'LOCAL_RANK'"])
    assert "export LOCAL_RANK" in found.causes[0]


def test_signals_that_ray_only_lists_are_not_known():
    line = (
        "The actor is dead because its worker process has died. There are some potential root causes."
        " (1) The process is killed by SIGKILL by OOM killer. (2) ray stop --force is called."
    )
    [found] = Log("log.txt", [f"{line}\n"]).explained().failures
    assert "was killed" not in found.summary
    assert "that actor" in found.remedy


def test_a_line_before_a_status_may_tell_why():
    exited = "srun: error: n1: task 0: Exited with exit code 1\n"
    [found] = Log("log.txt", ["loader: Error: the plan is not of this cluster\n", exited]).explained().failures
    assert found.summary == "task 0 on n1 ended with exit status 1"
    assert "loader: Error: the plan is not of this cluster" in found.details[-1]


def test_a_progress_bar_is_no_part_of_a_message():
    [found] = failures_in(["TypeError: f() got an unexpected keyword argument 'scale'", "Steps:   0%|      | 0/800 [00:04<?, ?it/s]"])
    assert "Steps" not in found.summary


def test_arguments_that_swift_refuses_are_no_keys_of_another_framework():
    [found] = failures_in(["ValueError: remaining_argv: ['--ld_alpha', '0.8']"])
    assert found.rules == ["SWF001"]


def test_a_keyword_that_one_class_still_has_was_not_removed_from_all():
    [found] = failures_in(["TypeError: __init__() got an unexpected keyword argument 'beta'"])
    assert "DPOConfig(beta=...)" in found.remedy
    assert "configuration class" not in found.remedy


def test_a_kill_that_slurm_reports_later_explains_a_worker_that_exited():
    lines = [
        "RuntimeError: DataLoader worker (pid(s) 21) exited unexpectedly",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch.",
    ]
    [found] = failures_in(lines)
    assert found.kind == "killed"
    assert "dataloader_num_workers" in failures_in(lines[:1])[0].remedy


def test_the_summary_of_torch_names_the_rank_and_its_status():
    lines = [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "  rank      : 3 (local_rank: 3)",
        "  exitcode  : 1 (pid: 21)",
    ]
    [found] = Log("log.txt", [f"{line}\n" for line in lines]).explained().failures
    assert found.summary.startswith("rank 3 ended with exit status 1")
    assert "--log_dir" in found.remedy


@each_case(
    ("file", "line", "said"),
    [
        ("peft/tuners/tuners_utils.py", "KeyError: 'reward'", "adapter"),
        ("torch/distributed/fsdp/_optim_utils.py", "AttributeError: 'int' object has no attribute 'cpu'", "save_only_model"),
        ("accelerate/commands/config/config_args.py", "TypeError: __init__() got an unexpected keyword argument 'debugged'", "`debugged`"),
    ],
)
def test_the_code_that_raised_tells_what_a_name_is(file, line, said):
    [found] = failures_in(["Traceback (most recent call last):", f'  File "/x/site-packages/{file}", line 9, in f', line])
    assert said in f"{found.remedy} {found.causes}"


def test_a_line_before_a_cut_traceback_may_tell_why():
    lines = [
        "CUDA Setup failed despite GPU being available.\n",
        "Traceback (most recent call last):\n",
        '  File "/x/main.py", line 9, in f\n',
    ]
    [found] = Log("log.txt", lines).explained().failures
    assert "bitsandbytes" in found.remedy


def test_a_message_of_megatron_names_no_rule_of_one_framework_that_uses_it():
    [found] = failures_in(["RuntimeError: decoder world_size (4) is not divisible by expert_tensor_model_pipeline_parallel size (8)"])
    assert (found.rules, bool(found.causes)) == ([], True)
