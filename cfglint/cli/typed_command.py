"""`-- COMMAND ...`: a command line as it would be typed here, checked as a script of one line, with what is here at this moment."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

from cfglint.cli.argument_parser import Namespace
from cfglint.findings.diagnostic import Outcome
from cfglint.findings.wording import counted
from cfglint.frameworks.releases.versions import INSTALLED
from cfglint.source.files import TYPED
from cfglint.source.shell.state import SECRET

ELSEWHERE = ("sbatch", "salloc", "srun", "ssh", "pdsh", "kubectl", "sky", "qsub")  # start the training on other machines, unless allocated
DEVICES = "CUDA_VISIBLE_DEVICES"
NODES = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
OF_NODE = "SLURM_GPUS_ON_NODE"
ASKED = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
SECONDS = 5  # that `nvidia-smi` may take; a GPU that has fallen off the bus blocks it


def of_command(arguments: Namespace) -> None:
    """Make the arguments those of a script that consists of the command, with what is installed, visible and set here."""
    words: list[str] = arguments.command
    program = os.path.basename(words[0])
    script = shlex.join(words) + "\n"
    arguments.paths, arguments.stdin_filename, arguments.piped = ["-"], TYPED, script.encode(errors="surrogateescape")
    here = [
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.replace("_", "a").isalnum() and not name[0].isdigit() and not any(word in name.upper() for word in SECRET)
    ]
    arguments.env = [*here, *arguments.env]
    path = shutil.which(words[0])
    if path:  # in `bin` of an environment
        arguments.env.append(f"VIRTUAL_ENV={os.path.dirname(os.path.dirname(os.path.abspath(path)))}")
    if INSTALLED not in arguments.target:
        arguments.target = [*arguments.target, INSTALLED]
    number = next((os.environ[name] for name in NODES if name in os.environ), "")
    allocated = int(number) if number.isdigit() and int(number) else None
    arguments.nodes = arguments.nodes or allocated
    arguments.here = program not in ELSEWHERE or allocated is not None
    if arguments.gpus or not arguments.here:
        return
    gpus, source = visible_gpus()
    if gpus:
        arguments.gpus = gpus * (allocated or 1)
        arguments.gpus_source = source if (allocated or 1) == 1 else f"{source} on {counted(arguments.nodes, 'node')}"


def without_edits(found: list[Outcome]) -> None:
    """Turn the fixes of a command line into advice: who types it edits it."""
    for outcome in found:
        for diagnostic in outcome.diagnostics:
            if diagnostic.fix is not None and any(edit.file == TYPED for edit in diagnostic.fix.edits):
                diagnostic.help, diagnostic.fix = diagnostic.help or diagnostic.fix.title, None


def visible_gpus() -> tuple[int | None, str]:
    """(the GPUs that a process started here sees, or None, what says so): CUDA_VISIBLE_DEVICES, Slurm's count, or `nvidia-smi`."""
    shown = os.environ.get(DEVICES)
    if shown is not None:
        # CUDA stops at the first entry that is no device.
        listed = [entry.strip() for entry in shown.split(",")]
        valid = next((place for place, entry in enumerate(listed) if not entry or entry.startswith("-")), len(listed))
        return valid, f"{DEVICES}={shown}"
    of_node = os.environ.get(OF_NODE, "").rpartition(":")[2]
    if of_node.isdigit():
        return int(of_node), OF_NODE

    try:
        done = subprocess.run(ASKED, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):  # it is not installed, or does not answer
        return None, ""
    names = [line for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []
    return (len(names), "nvidia-smi") if names else (None, "")
