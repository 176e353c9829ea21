"""What is certain about a launch whose program is not in the project, and which commands are no trainings."""

from __future__ import annotations

import json

import pytest

import cfglint
from cases import each_case
from cfglint.cli import main

UNTYPED = "num_processes: 8\nmixed_precision: bf16\n"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def check(line, *options, **files):
        for name, text in {"run.sh": line + "\n", **{name.replace("_", "."): text for name, text in files.items()}}.items():
            (tmp_path / name).write_text(text)
        main(["check", "run.sh", "--format", "json", *options])
        found = json.loads(capsys.readouterr().out)
        return found["runs"], {(each["code"], each["severity"]): each for each in found["diagnostics"]}

    return check


@each_case(
    ("target", "raised"),
    [
        ("accelerate==1.15.0", "ValueError: A `distributed_type` must be specified in the config file."),
        ("accelerate==0.33.0", "TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'distributed_type'"),
    ],
)
def test_the_launcher_refuses_its_file_whatever_parses_the_arguments(checked, target, raised):
    _, found = checked("accelerate launch --config_file acc.yaml train.py --output_dir o --lr 1", "--target", target, acc_yaml=UNTYPED)
    assert found["ACC003", "error"]["exception"] == raised


def test_a_deepspeed_file_is_no_accelerate_file(checked):
    line = "accelerate launch --config_file ds.json train.py --output_dir o --learning_rate 1e-5"
    assert ("ACC003", "error") in checked(line, ds_json='{"zero_optimization": {"stage": 3}}\n')[1]


@each_case(
    ("arguments", "severity"),
    [
        ("--evaluation_strategy epoch --load_best_model_at_end", "error"),
        ("--evaluation_strategy epoch --load_best_model_at_end --no_trainer_name 1", "error"),
    ],
)
def test_two_arguments_of_the_trainer_alone_are_enough_with_its_batch(checked, arguments, severity):
    line = f"torchrun --nproc_per_node 4 train.py --output_dir out --per_device_train_batch_size 4 {arguments}"
    assert ("HFT006", severity) in checked(line, "--target", "transformers==4.44.2")[1]


def test_precision_and_steps_are_not(checked):
    line = "torchrun --nproc_per_node 4 train.py --output_dir out --per_device_train_batch_size 4 --fp16 --bf16"
    assert "error" not in {severity for _, severity in checked(line)[1]}


def test_a_bare_flag_for_deepspeed_is_not(checked):
    line = "deepspeed --num_gpus 4 train.py --output_dir out --per_device_train_batch_size 4 --deepspeed --load_best_model_at_end"
    assert "error" not in {severity for _, severity in checked(line)[1]}


@pytest.mark.parametrize("program", ["trained_eval.py", "eval_trained.py", "load_pretrained_and_generate.py"])
def test_a_program_that_evaluates_what_was_trained_is_no_training(checked, program):
    assert checked(f"torchrun --nproc_per_node 4 {program} --model m --seed 1")[0] == []


def test_a_module_of_the_project_that_trains_is_a_training(checked, tmp_path):
    program = "from transformers import HfArgumentParser, Seq2SeqTrainingArguments\nfrom src.own import OwnTrainer\n"
    program += "[args] = HfArgumentParser(Seq2SeqTrainingArguments).parse_yaml_file('a.yaml')\nOwnTrainer(args=args).train()\n"
    (tmp_path / "own").mkdir()
    for name, text in (("run", program), ("other", "print(1)\n")):
        (tmp_path / "own" / f"{name}.py").write_text(text)
    assert [len(checked(f"python3 -m own.{name} a.yaml")[0]) for name in ("run", "other")] == [1, 0]


def test_a_program_that_trains_after_its_name_is_one(checked):
    assert len(checked("torchrun --nproc_per_node 4 train_and_eval.py --model m --seed 1")[0]) == 1


FSDP_ARGUMENTS = (
    "train.py --output_dir o --do_train --bf16 --per_device_train_batch_size 1 --save_strategy no --num_train_epochs 1 --fsdp full_shard"
)


@each_case(
    ("launcher", "count"),
    [
        ("torchrun --nproc_per_node 1", 0),
        ("python -m torch.distributed.launch --nproc_per_node=1 --use_env", 0),
        ("deepspeed --num_gpus 1", 0),
        ("CUDA_VISIBLE_DEVICES=0 python", 1),
        ("CUDA_VISIBLE_DEVICES=0,1 python", 1),
        ("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 1", 1),
        ("CUDA_VISIBLE_DEVICES=0,1 accelerate launch", 0),
        ("accelerate launch --config_file acc.yaml", 0),
        ("accelerate launch --config_file no.yaml", 1),
    ],
)
def test_one_process_of_torchrun_is_distributed(checked, launcher, count):
    files = {"acc_yaml": "distributed_type: MULTI_GPU\nnum_processes: 1\n", "no_yaml": 'distributed_type: "NO"\nnum_processes: 1\n'}
    _, found = checked(f"{launcher} {FSDP_ARGUMENTS}", "--target", "transformers==4.57.1", **files)
    assert sum(code == "HFT022" for code, _ in found) == count


SIZE_BASED = "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n"


@each_case(("code", "severity"), [("accelerator = Accelerator()\n", "error"), ("build()\n", "warning")])
def test_what_the_launcher_hands_on_is_read_by_an_accelerator(checked, tmp_path, code, severity):
    (tmp_path / "train.py").write_text(f"from accelerate import Accelerator\n\n{code}")
    _, found = checked("accelerate launch --config_file acc.yaml train.py", "--target", "accelerate==1.12.0", acc_yaml=SIZE_BASED)
    assert [each for code, each in found if code == "ACC027"] == [severity]


def test_what_bash_cannot_parse_is_one_error(checked):
    script = "if [[ $1 ]]; then\n    torchrun --nproc_per_node 2 train.py --output_dir o --learning_rate 1e-5 --overwrite_output_dir \\\nfi"
    program = (
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "[args] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    )
    _, found = checked(script, "--target", "transformers==4.50.0", train_py=program)
    assert {key for key in found if key[1] == "error"} == {("LCH030", "error")}
    assert found["LCH017", "warning"]["depends_on"][0]["what"].startswith("the command")


ENGINE = """import argparse
import deepspeed
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--engine", default="ddp")
args = parser.parse_args()
model = make()
{}engine, *_ = deepspeed.initialize(args=args, model=model)
engine.backward(engine(1))
engine.step()
"""


@each_case(("before", "severity"), [("", "error"), ("if args.engine == 'deepspeed': ", "warning")])
def test_a_missing_file_is_an_error_for_the_engine_that_is_made(checked, before, severity):
    line = "torchrun --nproc_per_node 2 train.py --engine ddp --deepspeed_config conf/ds.json"
    assert ("LCH002", severity) in checked(line, train_py=ENGINE.format(before))[1]


@each_case(("package", "severity", "batch"), [("swift", "warning", None), ("verl", "error", 2)])
def test_a_patch_of_the_package_may_add_arguments_and_change_defaults(checked, package, severity, batch):
    patch = f"--- a/{package}/args.py\n+++ b/{package}/args.py\n@@ -1,1 +1,2 @@\n a = 1\n+my_own = 2\n"
    line = "NPROC_PER_NODE=2 swift sft --model m --dataset d --my_own 3 --gradient_accumulation_steps 1"
    [run], found = checked(line, "--target", "ms-swift==3.12.6", add_patch=patch)
    assert (("SWF001", severity) in found, run["resolved"]["global_batch"]) == (True, batch)


@each_case(("package", "severity"), [("trl", "warning"), ("transformers", "warning"), ("peft", "error")])
def test_a_copy_of_the_package_that_the_program_imports_may_have_other_arguments(checked, tmp_path, package, severity):
    for other in tmp_path.glob("*/__init__.py"):  # of the case before
        other.unlink()
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("class SFTConfig: pass\n")
    program = "from trl import SFTConfig, SFTTrainer\nSFTTrainer(model, SFTConfig('out', my_own=3)).train()\n"
    assert ("TRL010", severity) in checked("python train.py", train_py=program)[1]


@each_case(("count", "codes"), [("{num_gpus}", set()), ("<N>", set()), ("many", {("ACC025", "error")})])
def test_a_flag_of_the_launcher_that_is_to_be_filled_in_is_unknown(checked, count, codes):
    line = f"accelerate launch --config_file acc.yaml --num_processes={count} train.py --output_dir o --learning_rate 1e-5"
    _, found = checked(line, acc_yaml="distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n")
    assert {each for each in found if each[0].startswith("ACC")} == codes


@each_case(("name", "codes"), [("README.md", []), ("run.sh", ["LCH018"])])
def test_a_name_in_a_page_is_no_wrong_number_of_processes(tmp_path, monkeypatch, name, codes):
    line = "torchrun --nproc_per_node number_of_gpus train.py --output_dir o --learning_rate 1e-5\n"
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(f"```bash\n{line}```\n" if name.endswith(".md") else line)
    assert [each.code for each in cfglint.check(name).diagnostics] == codes


@each_case(("before", "codes"), [("", {("ACC018", "error")}), ("python submit.py --gpus 8 -- ", set())])
def test_a_program_that_submits_a_launch_may_add_options_of_its_launcher(checked, before, codes):
    program = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    program += "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    line = f"{before}accelerate launch --multi_gpu --num_machines 2 --num_processes 16 train.py --output_dir o"
    _, found = checked(line, train_py=program)
    assert {each for each in found if each[0].startswith("ACC")} == codes
