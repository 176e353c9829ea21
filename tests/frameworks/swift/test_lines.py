"""Launch lines of ms-swift: the sizes, the defaults and the refusals, compared with recordings of the real ms-swift."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

SFT = "swift sft --model org/model --dataset data.jsonl"
GRPO = "swift rlhf --rlhf_type grpo --model org/model --dataset data.jsonl"
KTO = "swift rlhf --rlhf_type kto --model org/model --dataset data.jsonl"
FOUR = "CUDA_VISIBLE_DEVICES=0,1,2,3"


class Result:
    """The answer of `check` about the one run of a line."""

    def __init__(self, printed):
        report = json.loads(printed)
        self.run = report["runs"][0] if report["runs"] else {}
        self.diagnostics = report["diagnostics"]
        self.found = [(each["code"], each["severity"]) for each in report["diagnostics"]]
        self.verdict, self.resolved = self.run.get("verdict"), self.run.get("resolved", {})


@pytest.fixture
def checked(tmp_path, capsys):
    """The answer about a line, at a release of ms-swift."""

    def run(line, release="4.6.0", files=(), options=()):
        for name, text in {"run.sh": f"{line}\n", "cfglint.toml": "", **dict(files)}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        target = ["--target", f"ms-swift=={release}"] if release else []
        main(["check", str(tmp_path / "run.sh"), "--format", "json", "--num-examples", "4001", *target, *options])
        return Result(capsys.readouterr().out)

    return run


@each_case(
    ("line", "numbers"),
    [
        # without NPROC_PER_NODE it is one process, whatever GPUs are visible; the accumulation fills 16 samples
        (f"{FOUR} {SFT}", {"data_parallel": 1, "micro_batch": 1, "accumulation": 16, "global_batch": 16}),
        (f"{FOUR} NPROC_PER_NODE=4 {SFT}", {"data_parallel": 4, "accumulation": 4, "global_batch": 16, "steps_per_epoch": 250}),
        # NNODES alone: torchrun's default of one process per node
        (f"NNODES=2 {SFT}", {"data_parallel": 2, "accumulation": 8}),
        # each process gets the same number of samples, rounded down
        (f"NPROC_PER_NODE=2 {SFT} --gradient_accumulation_steps 1", {"steps_per_epoch": 2000, "total_steps": 6000}),
        (f"NPROC_PER_NODE=8 {SFT} --sequence_parallel_size 4", {"data_parallel": 2, "sequence_parallel": 4, "accumulation": 2}),
        # an abbreviation of one argument is that argument
        (f"{SFT} --num_train_epoch 1 --per_device_train_b 4", {"micro_batch": 4, "accumulation": 4, "total_steps": 251}),
        # a ratio of the total steps, in a release whose transformers has no such argument
        (f"NPROC_PER_NODE=4 {SFT} --warmup_ratio 0.05", {"total_steps": 750, "warmup_steps": 38}),
        # GRPO has another default, and counts completions
        (f"NPROC_PER_NODE=8 {GRPO}", {"accumulation": 1, "generation_batch_size": 8, "steps_per_generation": 1, "steps_per_epoch": 4001}),
    ],
)
def test_numbers(line, numbers, checked):
    resolved = checked(line).resolved
    assert {name: resolved[name] for name in numbers} == numbers


@each_case(
    ("release", "accumulation"),
    [("3.6.4", 3), ("3.7.0", 1)],  # at least 16 samples, as in any other training, up to 3.6
)
def test_the_accumulation_of_grpo_by_release(release, accumulation, checked):
    assert checked(f"NPROC_PER_NODE=7 {GRPO}", release).resolved["accumulation"] == accumulation


@each_case(
    ("line", "release", "exception"),
    [
        (f"{SFT} --train_type lora", "4.6.0", "ValueError: remaining_argv: ['--train_type', 'lora']"),
        (f"{SFT} --tuner_type lora", "3.12.6", "ValueError: remaining_argv: ['--tuner_type', 'lora']"),
        (f"{SFT} --system You are helpful", "4.6.0", "ValueError: remaining_argv: ['are', 'helpful']"),
        (f"{SFT} --eval 1", "4.6.0", "SystemExit: 2 (error: ambiguous option: --eval could match"),
        (f"{SFT} --lora_ran", "4.6.0", "SystemExit: 2 (error: argument --lora_rank/--lora-rank: expected one argument"),
        (f"{SFT} --torch_dtype bf16", "4.6.0", "SystemExit: 2 (error: argument --torch_dtype/--torch-dtype: invalid choice: 'bf16'"),
        (
            f"{FOUR} {SFT} --deepspeed zero2",
            "4.6.0",
            "ValueError: DeepSpeed is not compatible with `device_map`. n_gpu: 4, local_world_size: 1.",
        ),
        (f"{FOUR} {SFT} --deepspeed zero2", "3.0.0", "ValueError: DeepSpeed is not compatible with MP. n_gpu: 4, local_world_size: 1."),
        (f"{FOUR} NPROC_PER_NODE=8 {SFT}", "4.6.0", "AssertionError: n_gpu: 4, local_world_size: 8"),
        (f"{SFT} --deepspeed default-zero2", "4.6.0", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        (f"{SFT} --max_memory auto", "3.8.3", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        (f"{SFT} --fp16 true --torch_dtype bfloat16", "4.6.0", "ValueError: At most one of fp16 and bf16 can be True, but not both"),
        (f"{SFT} --lr_scheduler_type cosin", "4.6.0", "ValueError: cosin is not a valid SchedulerType"),
        (
            f"NPROC_PER_NODE=4 {GRPO} --num_generations 6",
            "4.6.0",
            "ValueError: generation_batch_size (4) must be evenly divisible by num_gen",
        ),
        (
            f"{FOUR} NPROC_PER_NODE=4 {GRPO} --num_generations 4 --use_vllm true",
            "3.4.1",
            "AssertionError: Async mode requires total GPUs(4) = training GPUs(4) + inference workers(1).",
        ),
        ("swift sft --model_name_or_path m --dataset d", "4.6.0", "ValueError: Please set --model <model_id_or_path>, model: None"),
        (f"{SFT} --no_add_version foo", "4.6.0", "ValueError: remaining_argv: ['foo']"),  # the flag takes no word
        (f"{SFT} --no_add true", "3.5.2", "ValueError: remaining_argv: ['true']"),
        (f"{SFT} --device_groups none", "4.6.0", "json.decoder.JSONDecodeError: Expecting value"),
        (f"{SFT} --mrl_dims no", "4.6.0", "json.decoder.JSONDecodeError: Expecting value"),
        (f"{SFT} --model_kwargs zero3", "3.5.2", "json.decoder.JSONDecodeError: Expecting value"),
        (f"{SFT} --template ''", "3.5.2", "KeyError: ''"),
        (f"{SFT} --rope_scaling zero3", "4.6.0", "AssertionError"),
        (f"{SFT} --accelerator_config [1]", "4.6.0", "FileNotFoundError: [Errno 2] No such file or directory: '[1]'"),
        (f"{GRPO} --reward_funcs accuracy --num_generations -1", "4.6.0", "ValueError: __len__() should return >= 0"),
        (f"{GRPO} --reward_funcs accuracy --num_generations 0", "4.6.0", "ZeroDivisionError"),
        (f"{SFT} --lora_rank '{{a: 1}}'", "4.6.0", "SystemExit: 2 (error: argument --lora_rank/--lora-rank: invalid int value: '{a: 1}'"),
        (
            f"{SFT} --per_device_train_batch_size 4096 --dataloader_drop_last true",
            "3.12.0",
            "ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was -1",
        ),
        (
            f"NPROC_PER_NODE=4 {SFT} --per_device_train_batch_size 1024 --dataloader_drop_last true --gradient_accumulation_steps 1",
            "4.6.0",
            "ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was -1",
        ),
    ],
)
def test_refusals(line, release, exception, checked):
    result = checked(line, release)
    assert result.verdict == "reject"
    assert any((each["exception"] or "").startswith(exception) for each in result.diagnostics), result.diagnostics


@each_case(
    ("line", "release"),
    [
        (f"{FOUR} NPROC_PER_NODE=4 {SFT} --deepspeed zero3", "4.6.0"),
        (f"{FOUR} SWIFT_SINGLE_DEVICE_MODE=1 {SFT} --deepspeed zero2", "4.6.0"),
        (f"{FOUR} {SFT} --deepspeed zero2 --use_ray true", "4.6.0"),
        (f"{SFT} --train_type lora --deepspeed zero2", "3.12.6"),
        (f"{SFT} --eval_strategy step", "4.6.0"),  # without an evaluation set it is replaced before it is read
        (f"{SFT} --no_add_version --lora_r 16 --gradient-checkpointing false", "4.6.0"),
        (f"{SFT} --streaming true --max_steps 10", "4.6.0"),
        (f"{SFT} --dataloader_num_workers 0 --dataloader_persistent_workers true", "4.6.0"),
        (f"{SFT} --model_type mine --external_plugins plugin.py", "4.6.0"),
        (f"{SFT} --lora_rak 8 --ignore_args_error true", "4.6.0"),
        (f"{SFT} --model_type '' --template ''", "4.6.0"),
        (f"{SFT} --model_type ''", "3.5.2"),
        (f"{KTO} --teacher_deepspeed zero3", "3.12.0"),
        (f"{SFT} --per_device_train_batch_size 4096 --dataloader_drop_last true --max_steps 10", "3.12.0"),
        (f"NPROC_PER_NODE=4 {SFT} --per_device_train_batch_size 1000 --dataloader_drop_last true", "3.12.0"),
    ],
)
def test_lines_that_start(line, release, checked):
    result = checked(line, release)
    assert (result.verdict, [each for each in result.found if each[1] == "error"]) == ("accept", [])


@each_case(
    ("words", "release", "refused"),
    [
        ("--rlhf_type kto --padding_free true --attn_impl flash_attn", "3.8.3", True),  # KTO supports it from 3.9 on
        ("--rlhf_type kto --padding_free true --attn_impl flash_attn", "3.9.0", False),
        ("--rlhf_type orpo --packing true --attn_impl flash_attn", "3.7.3", False),  # packing counts from 3.8 on
        ("--rlhf_type orpo --packing true --attn_impl flash_attn", "3.8.0", True),
        ("--rlhf_type gkd --teacher_model t --multi_turn_scheduler s", "4.4.0", True),
        ("--rlhf_type gkd --teacher_model t --multi_turn_scheduler s", "4.4.1", False),
        ("--rlhf_type grpo --use_liger_kernel true --log_entropy true", "3.7.0", True),
        ("--rlhf_type dpo --use_liger_kernel true", "4.6.0", False),
        ("--rlhf_type dpo --callbacks name", "4.6.0", True),
        ("--rlhf_type dpo --reward_model m", "3.4.1", True),
        ("--rlhf_type dpo --loss_type name", "4.6.0", False),  # that of TRL, not of ms-swift's own table
    ],
)
def test_what_preference_training_refuses_by_release(words, release, refused, checked):
    found = checked(f"swift rlhf --model org/model --dataset data.jsonl {words}", release)
    assert (found.verdict == "reject") is refused, found.found


@each_case(
    ("words", "release", "code"),
    [
        # names that a release registers in its own way, and that it looks up
        ("--loss_type bnpo", "3.4.1", "SWF021"),
        ("--loss_type online_contrastive", "3.4.1", ""),
        ("--metric bleu", "3.12.6", "SWF021"),
        ("--agent_template toolbench", "3.4.1", ""),
        ("--agent_template deepseek_v4", "3.4.1", "SWF021"),
        ("--agent_template name", "4.6.0", ""),  # looked up where data uses tools
        ("--loss_scale last_round+react", "3.12.6", ""),
        ("--loss_scale last_round+name", "3.12.6", "SWF021"),
        ("--loss_scale name --external_plugins own.py", "3.12.6", ""),
        # arguments of transformers: what a command line lists, words with spellings of their own, a flag without a default
        ("--half_precision_backend native", "3.4.1", "SWF002"),
        ("--debug name", "3.4.1", "SWF002"),
        ("--ddp_find_unused_parameters", "3.4.1", "SWF002"),
        ("--liger_kernel_config '{}'", "3.12.0", "SWF002"),  # dict('{}')
        ("--outpu out", "3.4.1", "SWF002"),  # --output_dir and --output-dir
        ("--output_di out", "3.4.1", ""),
        ("--outpu out", "3.0.0 --target transformers==4.45.2", ""),  # which has no dashes
        ("--fsdp 'full_shard auto_wrap'", "3.11.0", "HFT022"),  # one process
        ("--fsdp 'full_shard auto_wrap'", "3.12.0", "SWF013"),
        ("--fsdp_config name", "3.4.1", "SWF013"),
        ("--accelerator_config name", "4.6.0", "SWF013"),
        ("--batch_eval_metrics true", "3.7.0", "SWF017"),
        ("--batch_eval_metrics true", "3.8.0", ""),
        ("--batch_eval_metrics true --metric acc", "3.8.0", "SWF017"),
        ("--task_type seq_cls", "3.5.3", ""),
        ("--task_type seq_cls", "3.6.0", "SWF022"),
        ("--lisa_activated_layers 2", "3.4.1", "SWF017"),
        ("--lisa_activated_layers 2 --train_type full", "3.4.1", ""),
        ("--agent_template ''", "3.4.1", ""),
    ],
)
def test_what_training_refuses_by_release(words, release, code, checked):
    version, _, options = release.partition(" ")
    found = checked(f"{SFT} {words}", version, options=options.split()).found
    assert [each for each, severity in found if severity == "error"] == ([code] if code else [])


@each_case(
    ("rewards", "release", "code"),
    [
        ("", "3.4.1", "SWF022"),
        ("--reward_funcs name", "3.4.1", "SWF021"),
        ("--reward_funcs accuracy format --reward_weights 1", "3.4.1", "SWF022"),
        ("--reward_funcs accuracy --reward_model m --reward_weights 1 2", "3.4.1", ""),
        ("--reward_funcs $NAMES", "3.4.1", ""),
        ("--reward_funcs accuracy --multi_turn_func name", "3.4.1", "SWF021"),
        ("--reward_funcs accuracy --multi_turn_func math_tip_trick", "3.4.1", ""),
        ("--reward_funcs accuracy --multi_turn_scheduler ''", "4.6.0", ""),
        ("--reward_funcs accuracy --vllm_limit_mm_per_prompt word", "3.4.1", "SWF013"),
        ("", "4.6.0", ""),
    ],
)
def test_the_rewards_of_generations(rewards, release, code, checked):
    line = f"{GRPO} --num_generations 8 --eval_strategy no --gradient_accumulation_steps 8 {rewards}"
    found = checked(line, release).found
    assert [each for each, severity in found if severity == "error"] == ([code] if code else [])


@each_case(("dataset", "found"), [("--split_dataset_ratio 0", []), ("--streaming true --max_steps 9", []), ("", [("SWF020", "error")])])
def test_generations_are_evaluated_with_an_evaluation_set_only(dataset, found, checked):
    line = f"{GRPO} --num_generations 8 --gradient_accumulation_steps 8 --eval_strategy steps --reward_funcs accuracy {dataset}"
    assert checked(line, "3.4.1").found == found


def test_arguments_of_a_checkpoint_are_read_only_with_a_checkpoint(checked):
    assert ("SWF010", "error") in checked("swift sft --dataset data.jsonl", "3.0.0").found
    assert ("SWF010", "error") not in checked("swift sft --dataset data.jsonl --resume_from_checkpoint out", "3.0.0").found


def test_a_missing_file_of_a_declared_run_is_an_error(checked, tmp_path, capsys):
    checked("", files={"scripts/run.sh": f"{SFT} --deepspeed ds/zero2.json\n", "cfglint.toml": '[[run]]\nlaunch = "scripts/run.sh"\n'})
    main(["check", "--config", str(tmp_path / "cfglint.toml"), "--format", "json"])
    assert ("SWF013", "error") in Result(capsys.readouterr().out).found


def test_quantization_without_effect_needs_a_known_method(checked):
    assert ("SWF051", "warning") in checked(f"{SFT} --quant_bits 4").found
    assert checked(f"{SFT} --quant_bits 4 --quant_method $METHOD").found == []


@each_case("words", ["--model m $EXTRA", "--model m ...", '--model m "$@"', "--config run.yaml"])
def test_what_may_be_elsewhere_is_not_missing(words, checked):
    assert ("SWF011", "error") not in checked(f"swift sft {words}", "3.12.6").found


def test_an_unknown_word_hides_only_what_needs_it(checked):
    result = checked(f"{SFT} --per_device_train_batch_size $B --lora_rak 8")
    assert result.found == [("SWF001", "error")]
    assert (result.resolved["micro_batch"], result.resolved["accumulation"]) == (None, None)


def test_a_missing_file_is_an_error_where_the_folder_is_known(checked):
    result = checked(f"{SFT} --deepspeed ds/mine.json", files={"ds/other.json": "{}"})
    assert ("SWF013", "error") in result.found


def test_a_file_that_the_script_writes_is_not_missing(checked):
    start = 'OUT="$(cd "$(dirname "$0")" && pwd)/out"\n'
    assert checked(f'{start}cat > "$OUT/fsdp.json" <<EOF\n{{}}\nEOF\n{SFT} --fsdp "$OUT/fsdp.json"').found == []
    assert checked(f'{start}NPROC_PER_NODE=2 {SFT} --fsdp "$OUT/fsdp.json"').found == [("SWF013", "error")]


def test_the_file_of_a_line_is_read(checked):
    file = '{"train_micro_batch_size_per_gpu": 3, "zero_optimization": {"stage": 2}}'
    result = checked(f"NPROC_PER_NODE=2 {SFT} --deepspeed ds.json", files={"ds.json": file})
    assert any("mismatch" in (each["exception"] or "") for each in result.diagnostics), result.diagnostics


@pytest.mark.parametrize("launcher", ["torchrun --nproc_per_node 4", "python -m torch.distributed.run --nproc_per_node 4"])
@pytest.mark.parametrize("program", ["-m swift.cli.sft", "swift/cli/sft.py"])
def test_the_options_of_a_worker_have_their_values_in_the_next_word(launcher, program, checked):
    found = checked(f"{launcher} {program} --model org/model --dataset data.jsonl --per_device_train_batch_size 3")
    assert (found.found, found.resolved["micro_batch"], found.resolved["global_batch"]) == ([], 3, 24)


def test_a_module_is_the_worker_itself(checked):
    line = f"torchrun --nproc_per_node 4 swift/cli/sft.py {SFT.removeprefix('swift sft ')}"
    assert checked(line).resolved["global_batch"] == 16
    assert checked(line).resolved["data_parallel"] == 4


GENERATIONS = "NPROC_PER_NODE=2 swift rlhf --rlhf_type grpo --model m --dataset d --split_dataset_ratio 0 --per_device_train_batch_size 1"
GLOBAL, EFFECTIVE = "ValueError: The global train batch size (2 x 1)", "ValueError: The effective train batch size (2 x 1 x 3)"
TOO_FEW = "ValueError: GRPO requires at least 2 generations per prompt"
SIZE = "ValueError: generation_batch_size (6) must be divisible by num_generations (4)."


@each_case(
    ("generations", "release", "trl", "severity", "exception"),
    [
        (3, "3.1.1", "", "error", GLOBAL),  # the accumulation does not count for the trainer of ms-swift before 3.4
        (3, "3.3.1", "", "error", GLOBAL),
        (2, "3.3.1", "", "", ""),
        (1, "3.3.1", "", "error", GLOBAL),
        (4, "3.4.1", "", "error", EFFECTIVE),
        (3, "3.4.1", "", "", ""),
        (1, "3.4.1", "", "error", TOO_FEW),
        # then TRL's class decides, which has no check in 0.17 and another text in each of the others
        (4, "3.5.1", "0.17.0", "", ""),
        (8, "3.5.1", "0.17.0", "error", "ValueError: range() arg 3 must not be zero"),
        (4, "3.5.1", "0.18.1", "error", EFFECTIVE),
        (4, "3.5.1", "0.19.1", "error", EFFECTIVE),
        (4, "3.8.0", "0.20.0", "error", SIZE),
        (4, "3.5.1", "", "error", EFFECTIVE),  # the newest that it accepts
        (3, "3.5.1", "", "", ""),
    ],
)
def test_the_completions_of_a_generation_by_release(generations, release, trl, severity, exception, checked):
    line = f"{GENERATIONS} --eval_strategy no --gradient_accumulation_steps 3 --num_generations {generations}"
    found = checked(line, release, options=["--target", f"trl=={trl}"] if trl else [])
    [(given, text)] = [(each["severity"], each["exception"] or "") for each in found.diagnostics if each["code"] == "SWF020"] or [("", "")]
    assert (given, text[: len(exception)]) == (severity, exception)


@each_case(
    ("release", "trl", "severity", "text"),
    [
        ("3.3.1", "", "error", "The global eval batch size (2 x 1)"),
        ("3.4.1", "", "error", "The effective eval batch size (2 x 1)"),
        ("3.5.1", "0.17.0", "", ""),
        ("3.5.1", "0.19.1", "error", "The global eval batch size (2 x 1)"),
        ("3.8.0", "0.20.0", "error", "The global eval batch size (2 x 1)"),  # TRL before 0.22 does not look at it any more, ms-swift does
        ("3.9.0", "0.23.1", "error", "The global eval batch size (1 * 2) must be divisible by num_generations (4)"),
    ],
)
def test_the_completions_of_an_evaluation_by_release(release, trl, severity, text, checked):
    line = f"{GENERATIONS} --gradient_accumulation_steps 2 --num_generations 4 --per_device_train_batch_size 2 --val_dataset d"
    options = ["--per_device_eval_batch_size=1", "--eval_strategy=steps"]
    found = checked(f"{line} {' '.join(options)}", release, options=["--target", f"trl=={trl}"] if trl else [])
    [(given, said)] = [(each["severity"], each["exception"] or "") for each in found.diagnostics if each["code"] == "SWF020"] or [("", "")]
    assert (given, text in said) == (severity, True)


def test_the_batches_of_prompts_are_those_of_the_accepted_trl(checked):
    """TRL before 0.20 counts prompts that do not fill a generation: 4,001 x 8 / 2; later ones do not: 4,000 / 2 per generation x 8."""
    line = f"{GENERATIONS} --gradient_accumulation_steps 8 --num_generations 8"
    steps = [checked(line, release).resolved["steps_per_epoch"] for release in ("3.5.1", "3.12.6")]
    assert steps == [2001, 2000]


@each_case(
    ("words", "release", "codes"),
    [
        ("--use_vllm true --vllm_device auto", "3.3.0", []),  # 7 processes train, an engine has the 8th GPU
        ("--use_lmdeploy true", "3.4.0", []),
        ("--use_vllm false", "3.3.0", ["SWF012"]),
        ("--use_vllm true --vllm_mode colocate", "3.6.0", ["SWF012"]),
    ],
)
def test_gpus_of_an_engine_are_not_those_of_the_processes(words, release, codes, checked):
    line = "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 NPROC_PER_NODE=7 swift rlhf --rlhf_type grpo --model m --dataset d --num_generations 7"
    assert [code for code, _ in checked(f"{line} {words} --per_device_train_batch_size 1", release).found if code == "SWF012"] == codes


FILE = "model: org/model\ndataset: [a, b]\nper_device_train_batch_size: 2\nENV:\n  NPROC_PER_NODE: 4\n"


@each_case(
    ("line", "release", "numbers", "found"),
    [
        ("swift sft sft.yaml", "4.6.0", (4, 2, 2), []),
        ("swift sft sft.yaml --per_device_train_batch_size 4", "4.6.0", (4, 4, 1), []),  # what comes later wins
        ("NPROC_PER_NODE=2 swift sft sft.yaml", "4.6.0", (2, 2, 4), []),  # ENV sets what is not set yet
        ("swift sft --config sft.yaml", "4.6.0", (1, 2, 8), ["SWF001"]),
        ("swift sft --config sft.yaml", "4.1.0", (1, 2, 8), ["SWF001"]),
        ("swift sft sft.yaml", "4.1.0", (4, 2, 2), []),
        ("swift sft --config sft.yaml", "4.0.4", (1, 2, 8), []),
        ("swift sft sft.yaml", "4.0.4", (4, 2, 2), ["SWF001"]),
        ("swift sft --config sft.yaml --per_device_train_batch_size 4", "3.12.6", (1, 2, 8), []),  # the file wins
        ("swift sft sft.yaml", "3.12.6", (4, 2, 2), ["SWF001"]),
    ],
)
def test_the_file_of_the_arguments(line, release, numbers, found, checked):
    result = checked(line, release, files={"sft.yaml": FILE})
    assert tuple(result.resolved[name] for name in ("data_parallel", "micro_batch", "accumulation")) == numbers
    assert sorted(code for code, severity in result.found if severity == "error") == found


def test_a_file_alone_is_recognised(checked, tmp_path, capsys):
    (tmp_path / "sft.yaml").write_text("model: m\ndataset: d\ntuner_type: full\nlora_rak: 8\ndeepspeed: zero2\n")
    main(["check", str(tmp_path / "sft.yaml"), "--format", "json", "--target", "ms-swift==4.6.0"])
    result = Result(capsys.readouterr().out)
    assert (result.run["kinds"], result.found) == (["swift"], [("SWF001", "error")])


@each_case(("line", "release"), [(f"{SFT} --max_memory auto", "3.9.0"), (f"{KTO} --teacher_deepspeed zero", "3.12.0")])
def test_a_word_for_a_mapping_hangs_on_what_repairs_it(line, release, checked):
    result = checked(line, release)
    assert result.found == [("SWF013", "warning")]
    assert result.diagnostics[0]["depends_on"][0]["what"].startswith("the release of json_repair")


def test_the_memory_of_adapters_is_estimated(tmp_path, capsys):
    (tmp_path / "run.sh").write_text(f"{SFT} --max_length 2048 --torch_dtype bfloat16\n")
    main(["explain", str(tmp_path / "run.sh"), "--model", "qwen2.5-7b", "--gpu-memory", "H100", "--format", "json"])
    memory = json.loads(capsys.readouterr().out)["memory"]
    assert (memory["class"], memory["verdict"]) == ("B", "fits")
    assert memory["terms"]["gradients"] < memory["terms"]["weights"] / 50


@each_case(
    ("release", "words", "found"),
    [
        # a name that only older releases register
        ("4.6.0", "--loss_type listwise_generative_reranker", "SWF021"),
        ("3.12.6", "--loss_type listwise_generative_reranker", ""),
        ("3.12.6", "--train_type lora_llm", "SWF021"),
        ("4.6.0", "--callbacks early_stop mine", "SWF021"),
        ("4.6.0", "--callbacks mine --external_plugins plugin.py", ""),
        ("4.6.0", "--task_type seq_cls", "SWF022"),
        ("4.6.0", "--task_type seq_cls --num_labels 2", ""),
        ("4.6.0", "--report_to wandbb", "HFT044"),
        ("3.0.0", "--report_to swanlab", ""),
        # persistent workers are the default, and off without workers from 4.6 on
        ("4.6.0", "--dataloader_num_workers 0", ""),
        ("4.5.3", "--dataloader_num_workers 0", "HFT048"),
    ],
)
def test_names_and_defaults_of_a_release(checked, release, words, found):
    codes = [code for code, severity in checked(f"{SFT} {words}", release).found if severity == "error"]
    assert codes == ([found] if found else [])


@each_case(
    ("line", "options", "place"),
    [
        (f"{FOUR} {SFT}", (), (1, 22, "--CUDA_VISIBLE_DEVICES")),
        (f"export {FOUR}\n\n{SFT}", (), (1, 29, "--CUDA_VISIBLE_DEVICES")),  # where the variable is written, not where it is used
        (SFT, ("--gpus", "4"), (1, 1, "")),  # without the variable, the command
        (f"echo\n{SFT}", ("--gpus", "4"), (2, 1, "")),
    ],
)
def test_a_model_on_several_gpus_is_told_where_they_are_written(line, options, place, checked):
    [found] = [each for each in checked(line, options=options).diagnostics if each["code"] == "SWF053"]
    assert (found["line"], found["column"], found["key"]) == place


def test_a_file_that_no_line_starts_is_of_the_command_that_has_its_keys(tmp_path, capsys):
    (tmp_path / "grpo.yaml").write_text("model: m\ndataset: [d]\nreward_funcs: [accuracy]\nnum_generations: 8\n")
    main(["check", str(tmp_path / "grpo.yaml"), "--kind", "swift", "--format", "json"])
    assert Result(capsys.readouterr().out).found == []


def test_a_line_for_a_former_release(checked):
    """ms-swift 2.6 read these arguments and no modelled release does: no number that they may set is known, and nothing fails for sure."""
    line = "NPROC_PER_NODE=3 swift sft --model_id_or_path m --sft_type full --dataset d --batch_size 4 --gradient_accumulation_steps 8"
    former, current = checked(line, release=None), checked(line)
    assert former.run["target"]["ms-swift"] == "3.0.0"
    assert {severity for _, severity in former.found} == {"info"}  # what it refuses is not known
    for each in (former, current):
        numbers = {name: each.resolved[name] for name in ("micro_batch", "accumulation", "global_batch")}
        assert numbers == {"micro_batch": None, "accumulation": 8, "global_batch": None}
    assert current.verdict == "reject"
    assert ("SWF001", "error") in current.found
    assert checked(line, release=None, files=[("requirements.txt", "ms-swift>=3.5\n")]).verdict == "reject"


# What the real 3.8.3 and 4.0.4 make of words that are JSON, where they want a mapping
@each_case(
    ("release", "words", "verdict"),
    [
        ("4.0.4", "--deepspeed null", "accept"),
        ("4.0.4", "--deepspeed false", "accept"),
        ("4.0.4", "--deepspeed None", "reject"),
        ("3.8.3", "--lr_scheduler_kwargs null", "accept"),
        ("3.8.3", "--lr_scheduler_kwargs true", "reject"),
    ],
)
def test_words_for_mappings_are_json(checked, release, words, verdict):
    assert checked(f"{SFT} {words}", release).verdict == verdict


@each_case(("words", "verdict"), [("", "accept"), ("--beta 1.0", "accept"), ("--beta 2", "reject"), ("--lmbda -0.1", "reject")])
def test_the_class_of_trl_checks_fractions_of_gkd(checked, words, verdict):
    line = f"swift rlhf --rlhf_type gkd --model org/model --teacher_model org/teacher --dataset data.jsonl {words}"
    for release in ("3.8.3", "4.0.4"):
        assert checked(line, release).verdict == verdict, release


@each_case(
    ("release", "words", "found"),
    [
        ("4.0.4", "--train_type full", []),  # the former name of `tuner_type`, which wins
        ("4.0.4", "--train_type qlora", [("SWF021", "error")]),
        ("4.0.4", "--tuner_type lora --train_type qlora", [("SWF021", "error")]),
        ("3.12.6", "--train_type qlora", [("SWF021", "error")]),
    ],
)
def test_a_tuner_by_its_former_name(checked, release, words, found):
    assert checked(f"{SFT} {words}", release).found == found
