"""A target uses as few nodes as hold its GPUs, and all places that count nodes or processes change together, or none."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from tests.cases import each_case

PROGRAM = (
    "from transformers import HfArgumentParser, TrainingArguments, Trainer\n"
    "[arguments] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=arguments).train()\n"
)
BATCH = "--output_dir o --per_device_train_batch_size 4 --gradient_accumulation_steps"
TRAIN = f"train.py {BATCH}"
HEADER = "#!/bin/bash\n#SBATCH --nodes=4\n"
SWIFT = (
    "swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset d --deepspeed zero2 --per_device_train_batch_size 1 --gradient_accumulation_steps"
)
VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=512 actor_rollout_ref.model.path=m"
    " actor_rollout_ref.actor.ppo_mini_batch_size=128 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4"
    " actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.tensor_model_parallel_size=2"
)
# A script that starts 32 processes on 4 nodes, and what it has on one node, or on two if these are named.
FORMS = [
    (f"torchrun --nnodes 4 --nproc_per_node 8 {TRAIN} 2", {"nnodes 4": "nnodes {}"}),
    (f"torchrun --nnodes=4:4 --nproc-per-node=8 {TRAIN} 2", {"4:4": "{0}:{0}"}),
    (f"N=4\ntorchrun --nnodes $N --nproc_per_node 8 {TRAIN} 2", {"N=4": "N={}"}),
    (f"torchrun --nnodes ${{N:-4}} --nproc_per_node 8 {TRAIN} 2", {":-4": ":-{}"}),
    (f"PET_NNODES=4 torchrun --nproc_per_node 8 {TRAIN} 2", {"NODES=4": "NODES={}"}),
    (f"{HEADER}#SBATCH --gpus-per-node=8\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 {TRAIN} 2", {"nodes=4": "nodes={}"}),
    (
        f"#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gres=gpu:8\nsrun -N 4 -n 4 torchrun --nnodes 4 --nproc_per_node 8 {TRAIN} 2",
        {"-N 4": "-N {}", "-n 4": "-n {}", "nnodes 4": "nnodes {}"},
    ),
    (
        f"{HEADER}#SBATCH --ntasks=4\n#SBATCH --gpus=32\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE {TRAIN} 2",
        {"nodes=4": "nodes={}", "ntasks=4": "ntasks={}", "gpus=32": "gpus={1}"},
    ),
    (
        f"{HEADER}P=$((SLURM_NNODES * 8))\naccelerate launch --multi_gpu --num_machines $SLURM_NNODES --num_processes $P {TRAIN} 2",
        {"nodes=4": "nodes={}"},
    ),
    (f"accelerate launch --multi_gpu --num_machines 4 --num_processes 32 {TRAIN} 2", {"machines 4": "machines {}", "es 32": "es {1}"}),
    (f"deepspeed --num_nodes 4 --num_gpus 8 {TRAIN} 2", {"nodes 4": "nodes {}"}),
    (f"mpirun -np 32 -N 8 -x A python {TRAIN} 2", {"-np 32": "-np {1}"}),
    (f"mpirun -n 32 --map-by ppr:8:node python {TRAIN} 2", {"-n 32": "-n {1}"}),
    (f"mpirun -np 4 -N 1 torchrun --nnodes 4 --nproc_per_node 8 {TRAIN} 2", {"-np 4": "-np {}", "nnodes 4": "nnodes {}"}),
    (f"NNODES=4 NPROC_PER_NODE=8 {SWIFT} 2", {"NODES=4": "NODES={}"}),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def fix(project, *options):
    """(exit status, the script after `fix`)."""
    return main(["fix", "run.sh", *options]), (project / "run.sh").read_text()


@each_case(("script", "places"), FORMS)
@pytest.mark.parametrize(("nodes", "steps"), [(1, 8), (2, 4)])
def test_all_places_have_the_fewest_nodes(project, capsys, nodes, steps, script, places):
    (project / "run.sh").write_text(f"{script}\n")
    expected = script.removesuffix(" 2") + f" {steps}\n"
    for before, after in places.items():
        expected = expected.replace(before, after.format(nodes, 8 * nodes))
    target = ("--gpus", str(8 * nodes))
    assert fix(project, *target) == (0, expected)
    plural = "s" if nodes > 1 else ""
    assert f"on {nodes} node{plural} of 8; was 4 nodes of 8 (--nodes 4 keeps them)" in capsys.readouterr().out
    assert fix(project, *target) == (0, expected)


def test_a_file_of_accelerate_has_the_fewest_nodes(project, capsys):
    text = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 4\nnum_processes: 32\n"
    (project / "a.yaml").write_text(text)
    (project / "run.sh").write_text(f"accelerate launch --config_file a.yaml {TRAIN} 2\n")
    for _ in range(2):
        assert fix(project, "--gpus", "8") == (0, f"accelerate launch --config_file a.yaml {TRAIN} 8\n")
        assert (project / "a.yaml").read_text() == text.replace("nes: 4", "nes: 1").replace("32", "8")


def test_the_header_of_a_verl_job_follows_its_nodes(project, capsys):
    script = f"{HEADER}#SBATCH --gpus-per-node=8\n{VERL} trainer.n_gpus_per_node=8 trainer.nnodes=4\n"
    (project / "run.sh").write_text(script)
    after = script.replace("nodes=4", "nodes=1")
    for _ in range(2):
        assert fix(project, "--gpus", "8") == (0, after)


def test_a_variable_that_two_sizes_of_verl_share_is_edited_once(project, capsys):
    shared = VERL.replace("size_per_gpu=4 actor_rollout_ref.rollout.tensor", "size_per_gpu=$rows actor_rollout_ref.rollout.tensor")
    reference = "actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=$rows"
    line = f"{shared} {reference} trainer.n_gpus_per_node=8 trainer.nnodes="
    (project / "run.sh").write_text(f"rows=64\n{line}4\n")
    status, text = fix(project, "--gpus", "8", "--global-batch", "128")
    assert (status, text) == (0, f"rows=16\n{line.replace('size=512', 'size=128')}1\n")


def test_the_nodes_of_an_sft_trainer_of_verl_follow_the_launcher(project, capsys):
    arguments = "data.train_batch_size=256 data.micro_batch_size_per_gpu=4 trainer.nnodes={0}"
    line = "torchrun --nnodes={0} --nproc_per_node=8 -m verl.trainer.sft_trainer " + arguments + "\n"
    (project / "run.sh").write_text(line.format(4))
    assert fix(project, "--gpus", "16") == (0, line.format(2))


def test_nodes_that_are_named_are_kept(project, capsys):
    script = f"torchrun --nnodes 4 --nproc_per_node 8 {TRAIN} 2\n"
    (project / "run.sh").write_text(script)
    assert fix(project, "--gpus", "8", "--nodes", "4") == (0, script.replace("node 8", "node 2").replace("steps 2", "steps 8"))


@each_case(
    ("line", "gpus", "problem"),
    [
        ("torchrun --nnodes 4 --nproc_per_node 8", 12, "12 GPUs do not fill whole nodes of 8; 8 and 16 do"),
        ("torchrun --nnodes 2 --nproc_per_node 4", 6, "6 GPUs do not fill whole nodes of 4; 4 and 8 do"),
        ("torchrun --nproc_per_node 4", 12, "12 GPUs do not fill whole nodes of 8; 8 and 16 do"),
    ],
)
def test_gpus_that_fill_no_whole_nodes_are_refused(project, capsys, line, gpus, problem):
    script = f"{line} {TRAIN} 6\n"
    (project / "run.sh").write_text(script)
    assert fix(project, "--gpus", str(gpus)) == (1, script)
    assert problem in " ".join(capsys.readouterr().out.split())
    assert main(["plan", "run.sh", "--gpus", f"4,{gpus}", "--format", "json"]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert [(each["nodes"], each["feasible"]) for each in plans] == [(1, True), (None, False)]


@each_case(
    ("line", "problem"),
    [
        ("torchrun --nproc_per_node 8", "add `--nnodes 2` and the address of the first node, or pass --nodes 1"),
        ("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset d", "put `NNODES=2` and the address of the first node"),
        ("accelerate launch --multi_gpu --num_processes 8", "add `--num_machines 2` and the address of the first node"),
    ],
)
def test_a_line_without_a_number_of_nodes_stays_on_one(project, capsys, line, problem):
    script = f"{line} {'' if 'swift' in line else 'train.py'} {BATCH} 2\n"
    (project / "run.sh").write_text(script)
    assert fix(project, "--gpus", "16") == (2, script)
    assert problem in " ".join(capsys.readouterr().err.split())
    assert fix(project, "--gpus", "16", "--nodes", "1")[0] == 0


def test_open_nodes_hold_the_gpus_that_are_named(project, capsys):
    (project / "run.sh").write_text(f"torchrun --nnodes $N --nproc_per_node 4 {TRAIN} 2\n")
    assert main(["check", "run.sh", "--gpus", "16", "--format", "json"]) == 0
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert (run["gpus"], run["nodes"], run["launch"]["nodes"]) == (16, 4, 4)


def test_the_nodes_of_a_run_without_a_launch_hold_its_gpus(project, capsys):
    (project / "train.yaml").write_text("output_dir: o\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n")
    for gpus, nodes in ((8, 1), (24, 3), (12, None)):
        assert main(["check", "train.yaml", "--kind", "huggingface", "--gpus", str(gpus), "--format", "json"]) == 0
        assert [each["nodes"] for each in json.loads(capsys.readouterr().out)["runs"]] == [nodes]


def test_explain_shows_several_nodes(project, capsys):
    (project / "run.sh").write_text(f"torchrun --nnodes 4 --nproc_per_node 8 {TRAIN} 2\n")
    assert main(["explain", "--all", "run.sh"]) == 0
    assert " ".join(["nodes", "4", "of 8 GPUs"]) in " ".join(capsys.readouterr().out.split())


@each_case(("gpus", "devices"), [(2, "0,1"), (8, "0,1,2,3,4,5,6,7")])
def test_the_devices_of_a_swift_line_are_those_of_its_processes(project, capsys, gpus, devices):
    line = "CUDA_VISIBLE_DEVICES={} NPROC_PER_NODE={} " + SWIFT + " {}\n"
    (project / "run.sh").write_text(line.format("0,1,2,3", 4, 4))
    for _ in range(2):
        assert fix(project, "--gpus", str(gpus)) == (0, line.format(devices, gpus, 16 // gpus))
