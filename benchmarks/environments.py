"""What is measured with: cfglint as the checkout has it, the peers from the package index, frameworks that are there."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "benchmarks"
PEERS = ("check-jsonschema", "yamllint", "pre-commit-hooks")
FRAMEWORKS = ("deepspeed", "transformers")
VERSIONS = "import json, sys, importlib.metadata as m; print(json.dumps({each: m.version(each) for each in sys.argv[1:]}))"


def environment(name: str, *requirements: str) -> Path:
    """The `bin` folder of an environment with these requirements, made when it is not there."""
    folder = CACHE / name
    binaries = folder / "bin"
    if not (binaries / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        # The commands that older releases of pip install import `re`, which takes a fifth of the time of one file.
        subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", "--upgrade", "pip"], check=True)
    subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", *requirements], check=True)
    return binaries


def cfglint() -> Path:
    """The environment with cfglint as this checkout has it."""
    environment("cfglint", str(ROOT))
    return environment("cfglint", "--force-reinstall", "--no-deps", str(ROOT))


def peers() -> Path:
    """The environment with the peers."""
    return environment("peers", *PEERS)


def frameworks(named: Path | None) -> Path | None:
    """The interpreter that has the frameworks: the one that was named, else that of the conformance tests; None without one."""
    python = named or ROOT / ".cache" / "conformance" / "bin" / "python"
    if versions(python, *FRAMEWORKS):
        return python
    if named:
        raise SystemExit(f"{named} does not have {' and '.join(FRAMEWORKS)}")
    return None


def versions(python: Path, *packages: str) -> dict[str, str]:
    """The installed versions of packages; empty where one of them, or the interpreter, is missing."""
    try:
        told = subprocess.run([python, "-c", VERSIONS, *packages], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    found: dict[str, str] = json.loads(told.stdout)
    return found


def machine() -> dict[str, str | int]:
    """What the figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"cores": cores, "python": platform.python_version(), "system": f"{platform.system()} on {platform.machine()}"}
