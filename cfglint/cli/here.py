"""The machine and the environment of this moment, for a command that is about to start here."""

from __future__ import annotations

import os

from cfglint.source.record import Record
from cfglint.source.shell.state import SECRET

DEVICES = "CUDA_VISIBLE_DEVICES"
NODES = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
OF_NODE = "SLURM_GPUS_ON_NODE"
ASKED = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
SECONDS = 5  # that `nvidia-smi` may take; a GPU that has fallen off the bus blocks it


class Gpus(Record):
    """The GPUs that a process started here sees, and what says so; 0 are a statement, None is not known."""

    number: int | None = None
    source: str = ""


def visible_gpus() -> Gpus:
    """The GPUs of this machine as the environment shows them: CUDA_VISIBLE_DEVICES, Slurm's count, or all that `nvidia-smi` lists."""
    shown = os.environ.get(DEVICES)
    if shown is not None:
        # CUDA stops at the first entry that is no device.
        listed = [each.strip() for each in shown.split(",")]
        valid = next((place for place, each in enumerate(listed) if not each or each.startswith("-")), len(listed))
        return Gpus(valid, f"{DEVICES}={shown}")
    of_node = os.environ.get(OF_NODE, "").rpartition(":")[2]
    if of_node.isdigit():
        return Gpus(int(of_node), OF_NODE)
    listed = nvidia_smi()
    return Gpus(len(listed), "nvidia-smi") if listed else Gpus()


def nvidia_smi() -> list[str]:
    """The names of the GPUs that `nvidia-smi` lists; empty if it is not installed or does not answer."""
    import subprocess

    try:
        done = subprocess.run(ASKED, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []


def nodes() -> int | None:
    """The nodes of the Slurm allocation that this process is in; None outside of one."""
    found = next((os.environ[name] for name in NODES if name in os.environ), "")
    return int(found) if found.isdigit() and int(found) else None


def environment() -> list[str]:
    """The variables of this process as `NAME=VALUE`, without those whose name says that they are secret."""
    return [
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.replace("_", "a").isalnum() and not name[0].isdigit() and not any(word in name.upper() for word in SECRET)
    ]


def prefix(command: str) -> str:
    """The folder of the environment whose `bin` has a command; empty if it is not found."""
    import shutil

    found = shutil.which(command)
    return os.path.dirname(os.path.dirname(os.path.abspath(found))) if found else ""
