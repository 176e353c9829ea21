"""Launch lines: launcher, sizes, files and arguments."""

from __future__ import annotations

from cases import each_case
from cfglint.launch.machine import Machine, Surroundings
from cfglint.launch.reader import Reader
from cfglint.source.project_files import ROOT, Project


def lines(text, files=None, gpus=None, nodes=None, name="run.sh", environment=None):
    files = {"train.py": "", **(files or {})}
    project = Project("", lambda path: path in files, files.get)
    return Reader(project, Machine(gpus, nodes), environment).lines(name, text)


def sizes(text, files=None, gpus=None, nodes=None):
    [line] = lines(text, files, gpus, nodes)
    return line.processes, line.gpus_per_node, line.nodes


TAIL = " train.py --output_dir o --per_device_train_batch_size 4\n"
NO = 'distributed_type: "NO"\nnum_processes: 8\n'
MULTI = "distributed_type: MULTI_GPU\nnum_processes: 15\nnum_machines: 2\n"


@each_case(
    ("line", "expected"),
    [
        ("torchrun" + TAIL, (1, 1, 1)),
        ("torchrun --nproc-per-node=4 --nnodes 2" + TAIL, (8, 4, 2)),
        ("torchrun --nproc_per 4" + TAIL, (4, 4, 1)),
        ("PET_NPROC_PER_NODE=6 torchrun" + TAIL, (6, 6, 1)),
        ("torchrun --nproc_per_node gpu" + TAIL, (None, None, 1)),
        ("CUDA_VISIBLE_DEVICES=0,3 torchrun --nproc_per_node gpu" + TAIL, (2, 2, 1)),
        ("torchrun --nnodes 1:4 --nproc_per_node 8" + TAIL, (None, 8, None)),
        ("python -m torch.distributed.launch --nproc_per_node 2" + TAIL, (2, 2, 1)),
        ("deepspeed" + TAIL, (None, None, 1)),
        ("deepspeed --num_gpus 3" + TAIL, (3, 3, 1)),
        ("CUDA_VISIBLE_DEVICES=1,2 deepspeed" + TAIL, (2, 2, 1)),
        ("deepspeed --include localhost:1,3,4-6" + TAIL, (5, 5, 1)),
        ("deepspeed --hostfile hosts" + TAIL, (12, 6, 2)),
        ("deepspeed --hostfile hosts --num_gpus 4" + TAIL, (8, 4, 2)),
        ("accelerate launch --num_processes 4" + TAIL, (4, 4, 1)),
        ("accelerate launch --config_file no.yaml --num_processes 8" + TAIL, (1, 1, 1)),
        ("accelerate launch --config_file no.yaml --multi_gpu" + TAIL, (8, 8, 1)),
        ("accelerate launch --config_file multi.yaml" + TAIL, (14, 7, 2)),
        ("accelerate launch" + TAIL, (None, None, 1)),
        ("python" + TAIL, (1, None, None)),
        ("srun python" + TAIL, (None, None, None)),
        ("NPROC_PER_NODE=4 swift sft --model x", (4, 4, 1)),
        ('torchrun --nproc_per_node 4 --nnodes 2 "$(which swift)" sft --model x', (8, 4, 2)),
        ("python $(which swift) sft --model x", (1, None, 1)),
        ("python `command -v torchrun` --nproc_per_node 2" + TAIL, (2, 2, 1)),
        ("FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train a.yaml", (16, 8, 2)),
        ("trl sft --num_processes 2 --model_name_or_path m", (2, 2, 1)),
        ("axolotl train a.yaml --launcher torchrun -- --nproc_per_node 4", (4, 4, 1)),
        ("nohup env A=1 uv run torchrun --nproc_per_node 2" + TAIL, (2, 2, 1)),
        ("srun --ntasks 2 bash -c 'torchrun --nproc_per_node 8 train.py --do_train --learning_rate 1'", (8, 8, 1)),
    ],
)
def test_sizes_are_those_of_the_launcher(line, expected):
    files = {"hosts": "a slots=6\nb slots=6\n", "no.yaml": NO, "multi.yaml": MULTI}
    assert sizes(line, files) == expected


def test_the_machine_is_what_the_flag_says():
    assert sizes("deepspeed" + TAIL, gpus=8) == (8, 8, 1)
    assert sizes("torchrun --nnodes $N --nproc_per_node 4" + TAIL, nodes=2) == (8, 4, 2)
    [line] = lines("torchrun --nproc_per_node $N" + TAIL, environment={"N": "6"})
    assert line.processes == 6


def test_a_slurm_header_gives_its_variables():
    text = (
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_PER_NODE"
    )
    assert sizes(text + TAIL) == (8, 4, 2)


SUBMITTED = "torchrun --nnodes ${SLURM_NNODES:-1} --nproc_per_node 2 train.py --do_train --learning_rate 1 --per_device_train_batch_size "
GPU = "torchrun --nproc_per_node gpu train.py --do_train --learning_rate 1 --per_device_train_batch_size 4"
JOB = {"job.slurm": f"#!/bin/bash\n#SBATCH --nodes=2\n{SUBMITTED}${{1:-$ROWS}}\n"}


@each_case(
    ("text", "expected"),
    [
        ("sbatch job.slurm 4", [(4, "4", 3)]),
        ("sbatch -N 4 -p gpu job.slurm 4", [(8, "4", 3)]),
        ("sbatch -N $NODES job.slurm 4", [(None, "4", 3)]),
        ("sbatch --nodes=$NODES job.slurm 4", [(None, "4", 3)]),
        ("sbatch -N$NODES job.slurm 4", [(None, "4", 3)]),
        ("for rows in 4 8; do sbatch job.slurm $rows; done", [(4, "4", 3), (4, "8", 3)]),
        ("A=$(sbatch --parsable job.slurm 4)\nsbatch --dependency=afterok:$A job.slurm 8", [(4, "8", 3)]),
        ("sbatch --export=ALL,ROWS=4 job.slurm", [(4, "4", 3)]),
        ("export ROWS=8\nsbatch job.slurm", [(4, "8", 3)]),
        ("export ROWS=8\nsbatch --export=NONE job.slurm", [(4, None, 3)]),
        ("sbatch --export=ROWS=4 job.slurm", [(4, "4", 3)]),
        ("export ROWS=8\nsbatch --export=ALL,ROWS=$(made) job.slurm", [(4, None, 3)]),
        ("sbatch missing.slurm", []),
        (f'[ -z "$BASH_VERSION" ] && exit 1\n{SUBMITTED}4', [(2, "4", 2)]),
        (f"sbatch -N 3 --wrap '{SUBMITTED}4'", [(6, "4", 1)]),
        (f"sbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=2\n{SUBMITTED.replace('$', chr(92) + '$')}4\nEOF", [(4, "4", 4)]),
        (f"sbatch <<EOF\n#SBATCH --nodes=$NODES\n{SUBMITTED.replace('$', chr(92) + '$')}4\nEOF", [(None, "4", 3)]),
        (f"R=4\nbash <<EOF\n{SUBMITTED}$R\nEOF", [(2, "4", 3)]),
        (f"bash <<'EOF'\nR=4\n{SUBMITTED}$R\nEOF", [(2, "4", 3)]),
        (f'echo "{SUBMITTED}4" | bash -x', [(2, "4", 1)]),
        (f"cat > go.sh <<EOF\n{SUBMITTED}4\nEOF\nbash go.sh", [(2, "4", 4)]),
        (f'echo "R=4" > go.sh\necho "{SUBMITTED}\\$R" >> go.sh\nchmod +x go.sh\n./go.sh', [(2, "4", 4)]),
        (f"if $A; then\n echo '{SUBMITTED}4' > go.sh\nelse\n echo '{SUBMITTED}8' > go.sh\nfi\nbash go.sh", []),
        (f"bash go.sh\necho '{SUBMITTED}4' > go.sh", []),
        (f'tmux send-keys -t a "{SUBMITTED}4" Enter', [(2, "4", 1)]),
        (f'tmux new-session -d -s a "{SUBMITTED}4"', [(2, "4", 1)]),
        (f'screen -dmS a bash -c "{SUBMITTED}4"', [(2, "4", 1)]),
        (f"qsub -q gpu <<EOF\n{SUBMITTED}4\nEOF", [(2, "4", 2)]),
        (f"docker run --gpus all -v $PWD:/work -w /work --rm image {SUBMITTED}4", [(2, "4", 1)]),
        (f"export R=8\ndocker run -e R=4 image bash -c '{SUBMITTED}$R'", [(2, "4", 2)]),
        (f"export R=8\ndocker exec -it name bash -c '{SUBMITTED}$R'", [(2, None, 2)]),
        ("docker run -it image bash", []),
        (f"export CUDA_VISIBLE_DEVICES=0\ndocker run image {GPU}", [(None, "4", 2)]),
        (f"docker run -e CUDA_VISIBLE_DEVICES=0 image {GPU}", [(1, "4", 1)]),
        (f"docker run image bash -c 'export CUDA_VISIBLE_DEVICES=0,1; {GPU}'", [(2, "4", 1)]),
        (f'ssh -p 22 a "cd /w && {SUBMITTED}4"', [(2, "4", 1)]),
        (f"export R=8\nssh $HOST '{SUBMITTED}$R'", [(2, None, 2)]),
        (f"R=8\nssh a nohup {SUBMITTED}$R", [(2, "8", 2)]),
        (f"ssh a <<EOF\ncd w\n{SUBMITTED}4\nEOF", [(2, "4", 3)]),
        ("ssh a hostname", []),
        (f"pdsh -w a,b '{SUBMITTED}4'", [(2, "4", 1)]),
        (f"export R=8\nkubectl exec pod -- bash -c '{SUBMITTED}$R'", [(2, None, 2)]),
        (f"export R=8\nbsub -q gpu -n 1 '{SUBMITTED}$R'", [(2, "8", 2)]),
        (f"bsub -gpu num=2 <<EOF\n{SUBMITTED}4\nEOF", [(2, "4", 2)]),
        (f"salloc -N 1 {SUBMITTED}4", [(2, "4", 1)]),
        (f"echo 4 | xargs {SUBMITTED}", [(2, "4", 1)]),
        (f"cat rows | xargs {SUBMITTED}4", [(2, None, 1)]),
        (f"printf '4\\n8\\n' | xargs -P 2 -I {{}} {SUBMITTED}{{}}", [(2, "4", 1), (2, "8", 1)]),
        (f"printf '4\\n8\\n' | xargs -n1 {SUBMITTED}", [(2, "4", 1), (2, "8", 1)]),
        (f"printf 'a 4\\n' | awk '{{print $2}}' | xargs {SUBMITTED}", [(2, "4", 1)]),
        (f"ls | awk '{{print $2}}' | xargs {SUBMITTED}", [(2, None, 1)]),
        (f"true | tr -d x | xargs {SUBMITTED}4", [(2, "4", 1)]),
        (f"printf '' | xargs {SUBMITTED}4", [(2, "4", 1)]),
        (f"xargs -a rows -I% {SUBMITTED}%", [(2, None, 1)]),
        (f"echo 4 | xargs -i {SUBMITTED}{{}}", [(2, "4", 1)]),
        (f"tee go.sh <<EOF\n{SUBMITTED}4\nEOF\nbash go.sh", [(2, "4", 4)]),
        (f"echo '{SUBMITTED}4' | tee go.sh > /dev/null\nbash go.sh", [(2, "4", 2)]),
    ],
)
def test_jobs_that_a_script_submits_and_scripts_that_it_writes(text, expected):
    found = [(line.processes, line.arguments[-1].value, line.call.line) for line in lines(text + "\n", JOB)]
    assert found == expected


def test_a_job_starts_in_the_folder_from_which_it_was_submitted():
    files = {"a/b.yaml": "{}"}
    text = "#!/bin/bash\n#SBATCH --gres=gpu:2\nllamafactory-cli train ${SLURM_SUBMIT_DIR}/a/b.yaml\n"
    assert [file.path for line in lines(text, files, name="sub/run.sh") for file in line.files] == ["a/b.yaml"]


def test_a_text_for_bash_keeps_its_lines():
    text = (
        "M=1\nsrun bash -c '\n  export A=1\n  torchrun --nproc_per_node 8" + TAIL + "'\nC='torchrun" + TAIL.strip() + '\'\nbash -c "$C"\n'
    )
    assert [line.call.line for line in lines(text)] == [4, 7]


@each_case(
    ("written", "expected"),
    [
        ("$PWD/ds.json", "sub/ds.json"),
        ("$(pwd)/ds.json", "sub/ds.json"),
        ("$(dirname $(pwd))/other.json", "other.json"),
        ("$(cd ..; pwd)/other.json", "other.json"),
        ("$(readlink -f ../other.json)", "other.json"),
    ],
)
def test_a_path_may_be_computed_from_the_folder_that_is_found(written, expected):
    files = {"sub/tune.py": "", "sub/ds.json": "{}", "other.json": "{}"}
    text = f"export PYTHONPATH=$PYTHONPATH:$(pwd)\ndeepspeed tune.py --deepspeed {written} --per_device_train_batch_size 4\n"
    [line] = lines(text, files, name="sub/scripts/run.sh")
    assert [file.path for file in line.files] == [expected]


@each_case(
    ("text", "files", "times"),
    [
        ("", {}, 1),
        ("A=$(basename $(realpath $MISSING))\nB=$(ssh node test -f $PWD/x)\n", {}, 1),
        ('D=$(dirname "$(realpath "$0")")\n', {}, 1),
        ("A=$(realpath x)\n", {}, 4),
        ("[ -f setup.cfg ] && N=2\n", {"a/setup.cfg": ""}, 3),
        ('if $X; then cd "$(dirname $0)/.."; fi\n', {}, 4),
    ],
)
def test_a_script_is_followed_again_only_where_its_folder_matters(text, files, times, monkeypatch):
    folders = []
    follow = Reader.follow
    monkeypatch.setattr(Reader, "follow", lambda self, script, folder, *rest: folders.append(folder) or follow(self, script, folder, *rest))
    [_] = lines(text + "torchrun" + TAIL, files, name="a/b/run.sh")
    assert len(folders) == times


def test_a_branch_into_the_folder_of_the_start_keeps_it_known():
    [line] = lines('if $X; then cd "$(dirname $0)/.."; fi\ntorchrun' + TAIL, {"a/train.py": "", "train.py": ""}, name="a/run.sh")
    assert line.folder == "%root%"


@each_case("start", ["cd /data/project", "cd ~/project", "cd $PROJECT"])
def test_the_folder_of_another_machine_is_the_only_one_that_has_the_program(start):
    [line] = lines(f"{start}\ntorchrun" + TAIL, {"train.py": "", "a/other.py": ""}, name="a/run.sh")
    assert (line.folder, line.program_path) == ("%root%", "train.py")
    [line] = lines(f"{start}\ntorchrun" + TAIL, {"train.py": "", "a/train.py": ""}, name="a/run.sh")
    assert line.program_path is None


@each_case(
    ("start", "program", "path"),
    [
        ("", "/srv/me/copy/a/train.py", "a/train.py"),
        ("cd /srv/me/copy", "/srv/me/copy/tune.py", "tune.py"),
        ("", "/srv/me/copy/tune.py", None),  # a file of this name may be any
        ("", "/opt/other/train.py", None),
    ],
)
def test_the_files_of_a_checkout_on_another_machine_are_those_of_this_one(start, program, path):
    tail = TAIL.replace("train.py", f"{program} --deepspeed {program.rpartition('/')[0]}/ds.json")
    [line] = lines(f"{start}\ntorchrun{tail}", {"a/train.py": "", "tune.py": "", "ds.json": "{}", "a/ds.json": "{}"}, name="b/run.sh")
    assert line.program_path == path
    assert [file.path for file in line.files] == [path and path.replace("train.py", "ds.json").replace("tune.py", "ds.json")]


def test_sourced_files_tell_the_folder_and_get_arguments():
    files = {"sub/env.sh": "N=$1\n", "sub/train.py": ""}
    [line] = lines(
        "source ./env.sh 4\ntorchrun --nproc_per_node $N -m tool.train --learning_rate 1 --max_steps 2\n", files, name="sub/run.sh"
    )
    assert (line.folder, line.processes) == ("%root%/sub", 4)


def test_the_files_of_deepy_lie_in_the_folder_that_it_names():
    files = {"deepy.py": "", "conf/sub/a.yml": "", "conf/b.yml": ""}
    [line] = lines("python deepy.py train.py -d conf sub/a b.yml\n", files, name="conf/README.sh")
    assert [file.path for file in line.files] == ["conf/sub/a.yml", "conf/b.yml"]


def test_files_are_looked_for_from_the_folder_in_which_most_exist():
    files = {"sub/train.py": "", "sub/ds.json": "{}", "sub/scripts/run.sh": ""}
    [line] = lines("deepspeed train.py --deepspeed ds.json --per_device_train_batch_size 4\n", files, name="sub/scripts/run.sh")
    assert [file.path for file in line.files] == ["sub/ds.json"]


def test_evaluation_is_not_a_training():
    assert lines("torchrun --nproc_per_node 8 eval.py --model m\naccelerate launch -m lm_eval --tasks x\n") == []
    assert lines("python scripts/data_process/merge_train_files.py --epochs 1\n") == []


def test_blocks_of_markdown_have_the_lines_of_their_file():
    text = f"# Train\n\n```bash\n$ torchrun --nproc_per_node 2{TAIL}```\n\n```python\ntorchrun\n```\n"
    [line] = lines(text, name="README.md")
    assert line.call.line == 4
    _, start, end = line.arguments[-1].place
    assert text[start:end] == "4"


def test_recipes_of_a_makefile():
    text = f"N ?= 4\ntrain:\n\t@torchrun --nproc_per_node $(N){TAIL}"
    [line] = lines(text, name="Makefile")
    assert line.processes == 4


@each_case(
    ("line", "code"),
    [
        ("torchrun --nproc_per_node 8 train.py --learning_rate 1 --max_steps 5 \\ \n  --bf16 True\n", "LCH001"),
        ("accelerate launch --config_file gone.yaml" + TAIL, "LCH002"),
        ("axolotl train gone.yaml\n", "LCH002"),
        ("llamafactory-cli train gone.yaml\n", "LCH002"),
        ("swift sft gone.yaml\n", "LCH002"),
        ("trl sft --config gone.yaml\n", "LCH002"),
        ("python deepy.py train.py -d configs gone.yml\n", "LCH002"),
        ("deepspeed --num_gpus 2 --include localhost:0" + TAIL, "LCH005"),
        ("CUDA_VISIBLE_DEVICES=2 deepspeed --num_nodes 1" + TAIL, "LCH005"),
        ("deepspeed train.py --num_gpus 4 --deepspeed_config d --learning_rate 1\n", "LCH010"),
        ("deepspeed --hostfile gone" + TAIL, "LCH011"),
        ("torchrun --master_port --nnodes 1" + TAIL, "LCH013"),
    ],
)
def test_what_is_wrong_with_a_line(line, code):
    assert code in [problem.code for each in lines(line) for problem in each.problems]


def test_the_config_of_an_example_in_a_page_is_not_missing():
    page = "```bash\naxolotl train your_config.yaml\ntrl sft --config sft.yaml\n```\n"
    assert [line.problems for line in lines(page, name="README.md")] == [[], []]


@each_case(("devices", "codes"), [("0,1", []), ("2,3", ["LCH006"]), ("0,1,2,3", ["LCH006"])])
def test_visible_devices_that_are_those_of_the_flag_change_nothing(devices, codes):
    [line] = lines(f"CUDA_VISIBLE_DEVICES={devices} deepspeed --num_gpus 2{TAIL}")
    assert [problem.code for problem in line.problems] == codes


def test_a_file_that_the_script_makes_is_not_missing():
    made = "cat > made.yaml <<EOF\nx: 1\nEOF\naccelerate launch --config_file made.yaml" + TAIL
    assert [problem.code for line in lines(made) for problem in line.problems] == []


@each_case(
    ("name", "folder", "path"),
    [
        ("train.py", ROOT, "train.py"),
        (f"{ROOT}/train.py", None, "train.py"),
        ("train.py", None, None),
        ("/train.py", ROOT, None),
        ("~/train.py", ROOT, None),
        ("train.py", "/elsewhere", None),
        ("other.py", ROOT, None),
    ],
)
def test_a_file_is_found_from_a_folder_of_the_project(name, folder, path):
    reader = Reader(Project("", lambda each: each in ("train.py", "~/train.py", "/train.py"), {}.get), Machine(None, None), None)
    assert Surroundings(reader.project, reader.machine, folder).path_of(name) == path


@each_case(
    ("line", "refusal"),
    [
        ("torchrun --nproc_per_node false", "ValueError: Unsupported nproc_per_node value: false"),
        ("torchrun --nproc_per_node -1", "AssertionError"),
        ("torchrun --nproc_per_node 8 --nnodes 0", "AssertionError: min_nodes must be > 0 and <= max_nodes, got min_nodes=0, max_nodes=0"),
        ("torchrun --nproc_per_node 8 --nnodes 1:x", "ValueError: invalid literal for int() with base 10: 'x'"),
        ("deepspeed --num_gpus 2.0", "error: argument --num_gpus: invalid int value: '2.0'"),
        ("accelerate launch --num_processes ''", "error: argument --num_processes: invalid int value: ''"),
        ("torchrun --nproc_per_node auto --nnodes 1:2", None),
        ("torchrun --nproc_per_node '<N>'", None),
        ("torchrun --nproc_per_node NUM_GPUS", None),
        ("torchrun --nproc_per_node $N", None),
    ],
)
def test_counts_that_the_launcher_refuses(line, refusal):
    [found] = lines(line + TAIL)
    assert [each.exception for each in found.problems if each.code == "LCH018"] == ([refusal] if refusal else [])


@each_case(
    ("program", "expected"),
    [
        ("train.py", 1),
        ("generate.py", 0),
        ("eval.py", 0),
        ("[train.py]", 0),
        ("tools/ckpts/convert_hf_to_sequential.py", 0),
    ],
)
def test_deepy_also_starts_what_does_not_train(program, expected):
    assert len(lines(f"python deepy.py {program} -d configs a b\n", {"configs/a.yml": ""})) == expected


def test_a_program_in_a_folder_that_is_not_known_trains():
    assert len(lines("deepspeed ${SCRATCH}/code/run_clm.py --deepspeed ${SCRATCH}/ds.json\n")) == 1


@each_case(
    ("start", "program", "processes"),
    [
        ('torchrun --nproc_per_node 4 "$S"', "<?>", 4),
        ("accelerate launch --num_processes 4 $S", "<?>", 4),
        ('deepspeed --num_gpus 4 "$S"', "<?>", 4),
        ("torchrun $OPTIONS --nproc_per_node 4 train.py", "train.py", None),
        ('torchrun $OPTIONS --nproc_per_node 4 "$S"', "<?>", None),
        ('torchrun "$@"', "<?>", None),
    ],
)
def test_a_word_that_is_not_known_is_the_program_before_options_of_others(start, program, processes):
    [line] = lines(f"OPTIONS=$(cat options)\nS=$(locate sft)\n{start} --per_device_train_batch_size 4 --output_dir o\n")
    assert (line.program.string, line.processes) == (program, processes)
    assert [argument.name for argument in line.given] == ["per_device_train_batch_size", "output_dir"]


@each_case(
    ("code", "found"),
    [
        ("import json, os\nfrom datasets import load_dataset\n", 0),
        ("import json\nfrom own import run\n", 1),
        ("import subprocess\n", 1),
        ("import torch\n", 1),
        ("from . import run\n", 1),
    ],
)
def test_a_program_that_only_handles_data_is_no_training(code, found):
    assert len(lines("python convert_to_grpo.py --split train\n", {"convert_to_grpo.py": code})) == found


def test_a_module_of_a_data_package_is_no_training():
    assert not lines("python -m scripts.data.sft.metamath --out x\n")
    assert len(lines("python -m scripts.sft.main --out x\n")) == 1


def test_a_module_is_started_in_the_folder_that_has_it():
    text = "torchrun -m grpo --output_dir o --per_device_train_batch_size 4\n"
    assert [line.folder for line in lines(text, {"a/b/grpo.py": ""}, name="a/b/run.sh")] == [f"{ROOT}/a/b"]


def test_equal_turns_of_a_loop_are_one_launch():
    assert len(lines("for i in {0..10}; do torchrun" + TAIL + "done\n")) == 1
    assert len(lines("for i in 1 2; do torchrun" + TAIL.replace("4", "$i") + "done\n")) == 2


def test_a_module_that_samples_is_no_training():
    assert lines("python -m train.sample model --num_epochs 1") == []
    assert len(lines("python -m train.sft --output_dir o --per_device_train_batch_size 4")) == 1


LOOP = "for batch in data:\n    model(batch).backward()\n"


@each_case(
    ("line", "program", "expected"),
    [
        ("accelerate launch example.py", LOOP, 1),
        ("accelerate launch example.py", "trainer.train()\n", 1),
        ("python example.py", "trainer.train()\n", 1),
        ("python example.py", "engine = deepspeed.initialize(model)\n" + LOOP, 1),
        ("python example.py", LOOP, 0),
        ("python v1.py", "args = SFTConfig('out')\nSFTTrainer(model, args=args).train()\n", 1),
        ("python v1.py", "parser = HfArgumentParser((Own, Arguments))\nt = OwnTrainer(m)\nt.train()\n", 1),
        ("python v1.py", "args = SFTConfig('out')\nSFTTrainer(model, args=args).evaluate()\n", 0),
        ("deepspeed example.py", "engine = deepspeed.initialize(model)\nengine.eval()\n", 0),
        ("accelerate launch evaluate_example.py", LOOP, 0),
        ("accelerate launch example.py --config.training.max_steps 9 --config.training.learning_rate 1", "train(parsed())\n", 1),
    ],
)
def test_a_program_of_another_name_trains_where_it_calls_what_trains(line, program, expected):
    assert len(lines(line, dict.fromkeys(("example.py", "evaluate_example.py", "v1.py"), program))) == expected


@each_case(
    "line",
    ["torchrun --nproc_per_node 2 train.py --help", "trl sft -h", "llamafactory-cli train --help", "python train.py --lr 1 --help"],
)
def test_a_line_that_prints_the_options_of_its_program_starts_no_training(line):
    assert lines(line) == []
