"""Training frameworks whose programs are recognised by name, and whose arguments are not modelled."""

from __future__ import annotations

import re

from cfglint.launch.command import readable
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import LaunchLine

OVERRIDE = re.compile(r"[+~]{0,2}[A-Za-z_][\w.@/]*=|~[A-Za-z_][\w.@/]*$").match
# The beginning of a module's name, in lower case -> the name of the framework.
MODULES = {
    "openrlhf.": "another program of OpenRLHF",
    "torchtitan.": "torchtitan",
    "torchtune.": "torchtune",
    "maxtext.": "MaxText",
    "nemo.": "NeMo",
    "nemo_rl.": "NeMo RL",
    "nemo_automodel.": "NeMo AutoModel",
    "areal.": "AReaL",
    "roll.": "ROLL",
    "litgpt.": "LitGPT",
    "fairseq_cli.": "fairseq",
    "mlx_lm.": "MLX LM",
    "xtuner.": "XTuner",
    "swift.ray.": "Megatron-SWIFT with Ray",
    "verl.": "another program of verl",
    "recipe.": "a recipe of verl",
}
# The name of a program's file, or its beginning up to a star -> the name of the framework.
FILES = {
    "megatron_gpt_*": "NeMo",
    "pretrain_gpt.py": "Megatron-LM",
    "pretrain_bert.py": "Megatron-LM",
    "pretrain_t5.py": "Megatron-LM",
    "pretrain_mamba.py": "Megatron-LM",
    "pretrain_vlm.py": "Megatron-LM",
    "maxtext.py": "MaxText",
}
FOLDERS = {
    "openrlhf/": "another program of OpenRLHF",
    "torchtitan/": "torchtitan",
    "maxtext/": "MaxText",
    "nemo_rl/": "NeMo RL",
    "examples/nlp/": "NeMo",
}


def unmodelled(line: LaunchLine) -> str:
    """The framework of a line's program that is not modelled; empty if it is none of those that are known by name."""
    if line.program is None or not line.program.value:
        return ""
    launcher, name = launcher_of(line), line.program.string
    if launcher.unmodelled or line.module:
        return launcher.unmodelled or of_module(name)
    path, file = name.lower(), name.lower().rpartition("/")[2]
    by_name = (title for pattern, title in FILES.items() if file == pattern or (pattern.endswith("*") and file.startswith(pattern[:-1])))
    return next((title for folder, title in FOLDERS.items() if folder in path), "") or next(by_name, "")


def unread_program(line: LaunchLine) -> str:
    """The program of a line whose parser is not modelled, because it takes overrides without dashes: `lr=1e-5`, `+seed=1`, `~model`."""
    overrides = (word for word in line.arguments if OVERRIDE(word.string))
    return readable(line.program.string) if line.program is not None and line.program.known and any(overrides) else ""


def of_module(name: str) -> str:
    return next((title for prefix, title in MODULES.items() if f"{name.lower()}.".startswith(prefix)), "")
