"""The places of a launch that set its GPU count change together, or the launch is refused with what to change by hand."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from tests.cases import each_case

ARGUMENTS = "train.py --output_dir o --per_device_train_batch_size 4 --gradient_accumulation_steps 8"
TARGET = ("--gpus", "8", "--global-batch", "256")
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "from transformers import HfArgumentParser, TrainingArguments, Trainer\n"
        "[arguments] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=arguments).train()\n"
    )
    return tmp_path


def fixed(folder, script, *more, name="run.sh"):
    """(exit status, the script after `fix`)."""
    (folder / name).write_text(script)
    return main(["fix", name, *TARGET, *more]), (folder / name).read_text()


@each_case(
    ("before", "after"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2", "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 torchrun --nproc_per_node 8"),
        ("CUDA_VISIBLE_DEVICES=4,5 torchrun --nproc_per_node=2", "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 torchrun --nproc_per_node=8"),
        ("HIP_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2", "HIP_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 torchrun --nproc_per_node 8"),
        (
            "export CUDA_VISIBLE_DEVICES='0'\ntorchrun --nproc_per_node 1",
            "export CUDA_VISIBLE_DEVICES='0,1,2,3,4,5,6,7'\ntorchrun --nproc_per_node 8",
        ),
        ("N=3\ntorchrun --nproc_per_node $N --nnodes=1", "N=8\ntorchrun --nproc_per_node $N --nnodes=1"),
        ("deepspeed --include localhost:2,3", "deepspeed --include localhost:0,1,2,3,4,5,6,7"),
        ("deepspeed --include=a:0,1@b:0,1", "deepspeed --include=a:0,1,2,3,4,5,6,7"),
        (
            "accelerate launch --multi_gpu --machine_rank 0 --num_processes 4 --num_machines 2",
            "accelerate launch --multi_gpu --machine_rank 0 --num_processes 8 --num_machines 4",
        ),
        ("CUDA_VISIBLE_DEVICES=0,1,2 accelerate launch --multi_gpu", "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 accelerate launch --multi_gpu"),
        (
            "accelerate launch --multi_gpu --num_processes 2 --gpu_ids 0,1",
            "accelerate launch --multi_gpu --num_processes 8 --gpu_ids 0,1,2,3,4,5,6,7",
        ),
    ],
)
def test_all_places_of_a_line_change_together(project, capsys, before, after):
    written = ARGUMENTS.replace("steps 8", "steps 1")
    assert fixed(project, f"{before} {written}\n") == (0, f"{after} {ARGUMENTS}\n")
    assert main(["check", "run.sh", "--gpus", "8"]) == 0
    assert fixed(project, f"{after} {ARGUMENTS}\n") == (0, f"{after} {ARGUMENTS}\n")


@each_case(
    ("header", "launch", "changed"),
    [
        ("--gres=gpu:2", "torchrun --nproc_per_node 2", ["gpu:8", "node 8"]),
        ("--gres=gpu:4", "torchrun --nproc_per_node 2", ["gpu:8", "node 8"]),
        ("--gres=gpu:a100:4", "torchrun --nproc_per_node $SLURM_GPUS_ON_NODE", ["gpu:a100:8"]),
        ("--gres gpu", "torchrun --nproc_per_node 1", ["gpu:8", "node 8"]),
        ("--gpus-per-node=4 --ntasks-per-node=4", "torchrun --nproc_per_node=4", ["node=8 --ntasks-per-node=8", "node=8"]),
        ("--gres=gpu:4 --nodes=2", "srun torchrun --nnodes 2 --nproc_per_node 2", ["node 4"]),
        ("-G 2", "torchrun --nproc_per_node 2", ["-G 8", "node 8"]),
        ("--gres=gpu:8", "torchrun --nproc_per_node 8", []),
        ("--gres=gpu:16", "torchrun --nproc_per_node 16", ["gpu:8", "node 8"]),
        ("--gres=gpu:16", "torchrun --nproc_per_node 2", ["gpu:16", "node 8"]),
    ],
)
def test_the_job_gets_the_gpus_that_its_launch_needs(project, capsys, header, launch, changed):
    script = f"#!/bin/bash\n#SBATCH {header}\n{launch} {ARGUMENTS}\n"
    status, after = fixed(project, script)
    assert status == 0
    assert all(text in after for text in changed)
    assert (after == script) == (not changed)
    assert main(["check", "run.sh", "--gpus", "8"]) == 0
    assert "LCH015" not in capsys.readouterr().out


def test_the_config_of_accelerate_changes_with_the_launch(project, capsys):
    (project / "a.yaml").write_text(f"{ACCELERATE}gpu_ids: 0,1\nnum_processes: 2\n")
    script = f"accelerate launch --config_file a.yaml {ARGUMENTS}\n"
    assert fixed(project, script) == (0, script)
    assert (project / "a.yaml").read_text() == f"{ACCELERATE}gpu_ids: 0,1,2,3,4,5,6,7\nnum_processes: 8\n"


def test_the_nodes_change_if_another_number_is_given(project, capsys):
    script = f"#SBATCH --nodes=1\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node 2 {ARGUMENTS}\n"
    assert fixed(project, script, "--nodes", "2") == (0, script.replace("nodes=1", "nodes=2").replace("node 2", "node 4"))
    told = capsys.readouterr().out
    assert "#SBATCH --nodes 1 -> 2" in told
    assert "--nnodes" not in told  # it is said once, where it is written


def test_the_variable_with_the_number_of_nodes_changes(project, capsys):
    line = "NNODES={} NPROC_PER_NODE={} swift sft --model m --per_device_train_batch_size 4 --gradient_accumulation_steps 8\n"
    assert fixed(project, line.format(1, 8), "--nodes", "2") == (0, line.format(2, 4))


@each_case(
    ("script", "reason"),
    [
        ("deepspeed --hostfile hosts", "sets the nodes and their slots; add `--num_nodes 1 --num_gpus 8`"),
        (
            "accelerate launch --num_processes $((2*2)) --multi_gpu",
            "`--num_processes` is 4, computed by the script: set it to 8 there by hand",
        ),
        ("srun python", "`srun` starts the processes; set its tasks, and the GPUs of the job, to 8"),
    ],
)
def test_what_cannot_be_made_consistent_is_refused(project, capsys, script, reason):
    (project / "hosts").write_text("a slots=4\n")
    text = f"{script} {ARGUMENTS}\n"
    assert fixed(project, text) == (2, text)
    assert reason in capsys.readouterr().err


def test_an_argument_that_follows_from_the_gpu_count_is_not_changed_silently(project, capsys):
    script = f"N=2\ntorchrun --nproc_per_node $N {ARGUMENTS} --max_steps $((1000/N))\n"
    assert fixed(project, script) == (2, script)
    assert "`--max_steps` is computed from the number of GPUs" in capsys.readouterr().err


def test_lost_arguments_are_repaired_first(project, capsys):
    script = "torchrun --nproc_per_node 2 train.py --output_dir o --per_device_train_batch_size 4 \\ \n  --bf16 True\n"
    assert fixed(project, script) == (2, script)
    assert "`--bf16` is not passed to the program" in capsys.readouterr().err


@each_case(
    ("line", "added"),
    [
        ("torchrun --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4", " --gradient_accumulation_steps 8"),
        ("torchrun --nproc_per_node 8 train.py --output_dir=o --per_device_train_batch_size=4", " --gradient_accumulation_steps=8"),
        ("torchrun --nproc_per_node 8 train.py --output-dir o --per-device-train-batch-size 4", " --gradient-accumulation-steps 8"),
        ("torchrun --nproc_per_node 8 train.py --output_dir=o --per_device_train_batch_size 4", " --gradient_accumulation_steps 8"),
    ],
)
def test_an_added_argument_has_the_form_of_the_line(project, capsys, line, added):
    assert fixed(project, f"{line}\n") == (0, f"{line}{added}\n")


def test_an_override_of_a_config_is_changed_on_the_line(project):
    (project / "a.yaml").write_text("stage: sft\ndo_train: true\nmodel_name_or_path: m\ndataset: d\ntemplate: default\n")
    line = (
        "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 llamafactory-cli train a.yaml per_device_train_batch_size=4 gradient_accumulation_steps={}\n"
    )
    assert fixed(project, line.format(2)) == (0, line.format(8))


def test_an_argument_is_added_after_a_command_that_is_put_together(project, capsys):
    script = (
        'arguments="--output_dir o --per_device_train_batch_size 4"\ncmd="torchrun --nproc_per_node 8 train.py $arguments"\neval $cmd\n'
    )
    assert fixed(project, script) == (0, script.replace("eval $cmd", "eval $cmd --gradient_accumulation_steps 8"))


def test_all_launches_of_a_script_reach_the_target_in_one_call(project, capsys):
    line = f"torchrun --nproc_per_node 2 {ARGUMENTS}\n"
    script = f"export CUDA_VISIBLE_DEVICES=0,1\n{line}{line.replace('size 4', 'size 8')}"
    status, after = fixed(project, script)
    assert status == 0
    first = f"torchrun --nproc_per_node 8 {ARGUMENTS}\n"
    second = first.replace("size 4", "size 8").replace("steps 8", "steps 4")
    assert after == f"export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\n{first}{second}"
    said = capsys.readouterr().out
    assert "run.sh:2: global batch 64 -> 256" in said
    assert "run.sh:3: global batch 128 -> 256" in said


def test_the_diff_shows_a_script_with_several_launches_once(project, capsys):
    line = f"torchrun --nproc_per_node 2 {ARGUMENTS}\n"
    assert fixed(project, line * 3, "--diff") == (0, line * 3)
    assert capsys.readouterr().out.count("--- a/run.sh") == 1


def test_a_launch_that_cannot_reach_the_target_keeps_the_others_of_its_script_from_it(project, capsys):
    script = f"torchrun --nproc_per_node 2 {ARGUMENTS}\ntorchrun --nproc_per_node 2 own.py --lr 1e-4 --epochs 3\n"
    assert fixed(project, script) == (2, script)
    said = capsys.readouterr().err
    assert "run.sh:1: not changed, because run.sh:2 shares its files" in said
    assert "run.sh:2: `own.py` is not in the project" in said


@each_case(
    ("line", "reason"),
    [
        ("torchrun --nproc_per_node 2 other.py --lr 1 --epochs 2", "`other.py` is not in the project"),
        ("torchrun --nproc_per_node 2 own.py --lr 1", "the batch of `own.py` is computed in the program, not by the Trainer"),
        ("torchrun --nproc_per_node 2 -m verl.trainer.train_other data.path=a", "`another program of verl` is not modelled"),
    ],
)
def test_the_gpu_count_is_not_changed_alone_while_the_batch_is_unknown(project, capsys, line, reason):
    (project / "own.py").write_text("import torch\nloss = model(batch)\nloss.backward()\n")
    assert fixed(project, f"{line}\n") == (2, f"{line}\n")
    said = capsys.readouterr().err
    assert reason in said
    assert "per_device_train_batch_size" not in said
    assert main(["plan", "run.sh", *TARGET]) == 2
    assert reason in capsys.readouterr().err


def test_a_file_of_auto_keys_is_fixed_in_the_run_that_fills_them(project, capsys):
    (project / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n')
    line = f"deepspeed --num_gpus 4 {ARGUMENTS} --deepspeed ds.json\n"
    (project / "run.sh").write_text(line.replace("steps 8", "steps 1"))
    assert main(["fix", "ds.json", *TARGET]) == 0
    assert (project / "run.sh").read_text() == line.replace("num_gpus 4", "num_gpus 8")
    assert "ds.json: in the run of run.sh:1" in capsys.readouterr().err
    (project / "b.sh").write_text(line)
    assert main(["fix", "ds.json", *TARGET]) == 2
    assert "ds.json: b.sh:1, run.sh:1 read it, and b.sh would change as well: run `cfglint fix` on" in capsys.readouterr().err


def test_with_a_target_no_rule_is_fixed(project, capsys):
    text = '{"train_batch_size": 64, "gradient_acumulation_steps": 2, "fp16": {"enabled": "true"}}\n'
    (project / "ds.json").write_text(text)
    assert main(["fix", "ds.json", "--kind", "deepspeed", "--gpus", "7", "--global-batch", "256"]) == 1
    assert (project / "ds.json").read_text() == text
    assert "nothing to fix" not in capsys.readouterr().err


def test_a_file_that_its_parser_refuses_is_not_done(project, capsys):
    (project / "ds.json").write_text('{"train_batch_size": 64,\n')
    assert main(["fix", "ds.json", "--kind", "deepspeed"]) == 2
    assert "does not parse, so it was not changed" in capsys.readouterr().err


def test_a_refused_axolotl_config_keeps_its_batch(project, capsys):
    text = "base_model: m\ndatasets: [{path: d, type: alpaca}]\nsequence_len: 64\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    (project / "a.yml").write_text(text)  # no learning rate
    assert main(["fix", "a.yml", *TARGET]) == 0
    assert (project / "a.yml").read_text() == text.replace("steps: 4", "steps: 16")


def test_plan_needs_no_place_to_edit_and_proposes_no_interval_of_0(project, capsys):
    (project / "run.sh").write_text(f"torchrun --nproc_per_node $((1+1)) {ARGUMENTS} --logging_steps 1\n")
    assert main(["plan", "run.sh", "--gpus", "8", "--global-batch", "512", "--num-examples", "5120", "--format", "json"]) == 0
    [plan] = json.loads(capsys.readouterr().out)["plans"]
    assert (plan["feasible"], plan["chosen"]["accumulation"], plan["steps_per_epoch"]) == (True, 16, 10)
    assert main(["plan", "run.sh", *TARGET]) == 0
    assert "logging_steps 1: 0" not in capsys.readouterr().out


CHAINED = """\
GPUS=${GPUS:-2}
BATCH=${BATCH:-16}
PER_GPU=${PER_GPU:-4}
STEPS=$((BATCH / PER_GPU / GPUS))
torchrun --nproc_per_node=${GPUS} train.py --output_dir o --per_device_train_batch_size $PER_GPU --gradient_accumulation_steps ${STEPS}
"""


@each_case(
    ("target", "changed"),
    [
        (("--gpus", "8"), {"GPUS:-2": "GPUS:-8", "PER_GPU:-4": "PER_GPU:-2"}),
        (("--gpus", "8", "--global-batch", "64"), {"GPUS:-2": "GPUS:-8", "BATCH:-16": "BATCH:-64"}),
        (("--gpus", "2", "--global-batch", "48"), {"BATCH:-16": "BATCH:-48"}),
        (("--gpus", "1"), {"GPUS:-2": "GPUS:-1"}),
    ],
)
def test_an_accumulation_that_the_script_computes_follows_the_variables(project, target, changed):
    (project / "run.sh").write_text(CHAINED)
    wanted = CHAINED
    for old, new in changed.items():
        wanted = wanted.replace(old, new)
    for _ in range(2):
        assert (main(["fix", "run.sh", *target]), (project / "run.sh").read_text()) == (0, wanted)


def test_a_variable_that_sets_more_than_the_batch_is_not_edited(project, capsys):
    text = CHAINED.replace("--output_dir o", "--output_dir o --save_steps $BATCH")
    (project / "run.sh").write_text(text)
    assert main(["fix", "run.sh", "--gpus", "2", "--global-batch", "48"]) == 2
    assert (project / "run.sh").read_text() == text


UNDER_SRUN = """\
GPUS=${GPUS:-256}
BATCH=${BATCH:-256}
STEPS=$((BATCH / 1 / GPUS))
srun --nodes=$((GPUS / 8)) --ntasks=${GPUS} --ntasks-per-node=8 --gres=gpu:8 python train.py --output_dir o \\
  --per_device_train_batch_size 1 --learning_rate 1e-5 --num_train_epochs 1 --gradient_accumulation_steps ${STEPS}
"""


def test_the_number_of_tasks_is_not_edited_for_the_accumulation_that_is_computed_from_it(project):
    (project / "run.sh").write_text(UNDER_SRUN)
    wanted = UNDER_SRUN.replace("GPUS:-256", "GPUS:-8").replace("BATCH:-256", "BATCH:-128")
    for _ in range(2):
        assert (main(["fix", "run.sh", *TARGET[:2], "--global-batch", "128"]), (project / "run.sh").read_text()) == (0, wanted)


LAUNCHER_FILE = "distributed_type: DEEPSPEED\nnum_processes: 8\nnum_machines: 1\ndeepspeed_config:\n  zero_stage: 3\n"


def test_the_accumulation_of_accelerate_launch_is_one_of_its_places(project):
    (project / "acc.yaml").write_text(LAUNCHER_FILE)
    line = f"accelerate launch --config_file acc.yaml --gradient_accumulation_steps 8 {ARGUMENTS}\n"
    (project / "run.sh").write_text(line)
    assert main(["fix", "run.sh", "--gpus", "8", "--global-batch", "512"]) == 0
    assert (project / "run.sh").read_text() == line.replace("steps 8", "steps 16")
    assert (project / "acc.yaml").read_text() == LAUNCHER_FILE
    assert main(["check", "run.sh"]) == 0


def test_advice_that_would_not_reach_the_target_is_not_given(project, capsys):
    (project / "acc.yaml").write_text(LAUNCHER_FILE)
    text = f"N=$((4 * 2))\naccelerate launch --config_file acc.yaml --gradient_accumulation_steps $N {ARGUMENTS}\n"
    (project / "run.sh").write_text(text)
    assert main(["fix", "run.sh", "--gpus", "8", "--global-batch", "512"]) == 2
    assert (project / "run.sh").read_text() == text
    assert "by hand" not in capsys.readouterr().err


@each_case(
    ("script", "target", "changed"),
    [
        ("NODES=2\nPER=8\ntorchrun --nnodes $NODES --nproc_per_node $PER", ("--gpus", "8"), {"NODES=2": "NODES=1"}),
        ("N=2\nW=$((N * 4))\naccelerate launch --num_machines $N --num_processes $W", ("--gpus", "4"), {"N=2": "N=1"}),
        ("N=1\nPER=8\naccelerate launch --num_machines $N --num_processes $((N * PER))", ("--gpus", "4"), {"PER=8": "PER=4"}),
        ("H=4\ntorchrun --nproc_per_node $((H * 2))", ("--gpus", "4"), {"H=4": "H=2"}),
    ],
)
def test_a_count_that_the_script_computes_follows_its_variables(project, script, target, changed):
    text = f"{script} {ARGUMENTS}\n"
    (project / "run.sh").write_text(text)
    assert main(["fix", "run.sh", *target, "--global-batch", "512"]) == 0
    head = script
    for old, new in changed.items():
        head = head.replace(old, new, 1)
    assert (project / "run.sh").read_text().startswith(head)
    assert main(["check", "run.sh"]) == 0


def test_a_computed_count_is_set_by_hand_only_where_that_reaches_the_target(project, capsys):
    for line, said in {
        "torchrun --nproc_per_node $((1 + 1))": "`--nproc_per_node` is 2, computed by the script: set it to 8 there by hand",
        "X='--nproc_per_node '$((1 + 1))\ntorchrun $X": "`--nproc_per_node` is 2, computed by the script: it is not edited",
    }.items():
        assert fixed(project, f"{line} {ARGUMENTS}\n") == (2, f"{line} {ARGUMENTS}\n")
        assert said in capsys.readouterr().err


def test_a_list_of_devices_is_edited_in_the_variable_that_a_value_ends_with(project):
    text = f"D=0,1\ndeepspeed --include localhost:$D {ARGUMENTS}\n"
    assert fixed(project, text) == (0, text.replace("D=0,1", "D=0,1,2,3,4,5,6,7"))


def test_a_count_of_the_machine_that_overrides_that_of_the_accelerate_file_is_the_target(project):
    (project / "a.yaml").write_text(f"{ACCELERATE}num_processes: 8\n")
    start = "N=$(nvidia-smi -L | wc -l)\naccelerate launch --config_file a.yaml --num_processes $N "
    assert fixed(project, f"{start}{ARGUMENTS.replace('steps 8', 'steps 1')}\n") == (0, f"{start}{ARGUMENTS}\n")
