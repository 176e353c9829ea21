"""What each launcher makes of its line: processes = GPUs of a node x nodes, the files, what is not known and why, the findings.

A case of `lines` is the line, after `# N` with N GPUs in the machine, after `#SBATCH ...@` in a job with this header. `TAIL` is a
program with arguments of the Trainer.
"""

from __future__ import annotations

from pathlib import Path

from cfglint.launch.machine import Machine
from cfglint.launch.reader import Reader
from cfglint.source.project_files import Project
from records import check_cases

FILES = {
    "train.py": "",
    "deepy.py": "",
    "hosts": "a slots=6\nb slots=6\n",
    "uneven": "a slots=6\nb slots=4\n",
    "bad": "a 6\n",
    "no.yaml": 'distributed_type: "NO"\nnum_processes: 8\n',
    "fsdp.yaml": "distributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n  fsdp_version: 2\n",
    "open.yaml": "distributed_type: MULTI_GPU\n",
    "single.yaml": 'distributed_type: "NO"\n',
    "a.yaml": "",
    "c.yaml": "num_processes: 6\nmodel_name_or_path: m\n",
}
TAIL = "train.py --output_dir o --per_device_train_batch_size 4"
FOLDER = Path(__file__).parent / "lines"


def launches(text):
    gpus = None
    if text.startswith("# "):
        _, number, text = text.split(" ", 2)
        gpus = int(number)
    if text.startswith("#SBATCH"):
        header, _, command = text.partition("@")
        text = f"#!/bin/bash\n{header}\n{command}"
    project = Project("", lambda path: path in FILES, FILES.get)
    return Reader(project, Machine(gpus, None), None).lines("run.sh", text.replace("TAIL", TAIL) + "\n")


def described(line):
    launcher = f"{line.launcher}/{line.inner}" if line.inner else line.launcher
    yield f"{launcher} {line.program.string if line.program else None}: {line.processes} = {line.gpus_per_node} x {line.nodes}"
    for file in line.files:
        yield f"{file.word.string} ({file.role})"
    for field, reason in line.unknown:
        yield f"{field}: {reason.text}"
    for problem in line.problems:
        yield f"{problem.code} {problem.message}" + (f" ({problem.releases})" if problem.releases else "")


def test_lines(updating):
    """`CFGLINT_UPDATE=1` rewrites what comes of them."""
    check_cases(FOLDER, lambda case: [part for line in launches(case) for part in described(line)] or ["no launch"], updating)
