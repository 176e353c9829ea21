"""The arguments of OpenRLHF's programs by release, and their names: from 0.10.2 on `--train.batch_size`, before `--train_batch_size`."""

from __future__ import annotations

import functools
from pathlib import Path

from cfglint.frameworks import modelled_releases
from cfglint.frameworks.arguments.parsing import ListedWords, Option, candidates
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.openrlhf._tables import FIELDS, SPANS
from cfglint.frameworks.openrlhf.source_fields import FOLDER, PREFIX, find, of_program
from cfglint.frameworks.releases.bounds import allows
from cfglint.frameworks.releases.history import DEFAULT, TYPE, UNTIL, History
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.launch.line import LaunchLine
from cfglint.source.annotations import Any, Mapping
from cfglint.source.project_files import Project
from cfglint.source.python.package import SourceError

PACKAGE = "openrlhf"
HISTORY = History(FIELDS, SPANS)
WORDS = ListedWords("argparse.ArgumentParser.parse_args")
CHOICES, COUNT, DEST, STORED = range(UNTIL + 1, UNTIL + 5)
SECTIONS: Version = (0, 10, 2)  # from here on the names have sections
OTHER = "ppo_ray"  # a program whose arguments are sections of roles: `actor.adam.lr`

# Arguments that are in a section from 0.10.2 on, with the same name.
IN_SECTIONS = {
    "rollout": "n_samples_per_prompt",
    "train": "num_episodes max_epochs colocate_actor_ref colocate_critic_reward agent_func_path",
    "ds": "ring_attn_size zero_stage param_dtype adam_offload packing_samples attn_implementation",
    "data": "max_len max_samples dataset input_key apply_chat_template",
}
ROLES = ("actor", "ref", "critic", "reward")
# The argument that gives a number or choice, before 0.10.2 -> since, for programs without roles and, behind it, for `ppo_ray`.
NAMES: dict[str, tuple[str, ...]] = {
    **{name: (f"{section}.{name}",) for section, names in IN_SECTIONS.items() for name in names.split()},
    **{f"{role}_{name}": (f"{role}.{name}",) for role in ROLES for name in ("num_nodes", "num_gpus_per_node")},
    "train_batch_size": ("train.batch_size",),
    "micro_train_batch_size": ("train.micro_batch_size",),
    "rollout_batch_size": ("rollout.batch_size",),
    "micro_rollout_batch_size": ("rollout.micro_batch_size",),
    "vllm_num_engines": ("vllm.num_engines",),
    "vllm_tensor_parallel_size": ("vllm.tensor_parallel_size",),
    "colocate_all_models": ("train.colocate_all",),
    "use_dynamic_batch": ("train.dynamic_batch_enable",),
    "ds_tensor_parallel_size": ("ds.tensor_parallel_size",),
    "lora_rank": ("ds.lora.rank",),
    "max_norm": ("max_norm", "actor.max_norm"),
    "lr_warmup_ratio": ("lr_warmup_ratio", "actor.lr_warmup_ratio"),
    "lr_scheduler": ("lr_scheduler", "actor.lr_scheduler"),
    "learning_rate": ("adam.lr",),
    "actor_learning_rate": ("actor.adam.lr",),
    "critic_learning_rate": ("critic.adam.lr",),
    "l2": ("adam.weight_decay", "actor.adam.weight_decay"),
    "pretrain": ("model.model_name_or_path", "actor.model_name_or_path"),
    "reward_pretrain": ("reward.model_name_or_path",),
    "critic_pretrain": ("critic.model_name_or_path",),
    "remote_rm_url": ("reward.remote_url",),
    "save_path": ("ckpt.output_dir",),
    "ckpt_path": ("ckpt.path",),
    "load_checkpoint": ("ckpt.load_enable",),
    "prompt_data": ("data.prompt_dataset",),
    "gradient_checkpointing": ("model.gradient_checkpointing_enable", "actor.gradient_checkpointing_enable"),
    "advantage_estimator": ("algo.advantage.estimator",),
    "init_kl_coef": ("algo.kl.init_coef",),
    "async_train": ("train.async_enable",),
    "use_wandb": ("logger.wandb.key",),
}


def program_of(line: LaunchLine | None) -> str:
    """The program of a line: `sft` for `openrlhf.cli.train_sft`, also by the path of its file."""
    name = line.program.string.replace("\\", "/").removesuffix(".py") if line is not None and line.program is not None else ""
    program = name.replace("/", ".").rpartition("train_")[2]
    return program if program in FIELDS else OTHER


@functools.cache
def options(program: str, release: Version) -> dict[str, Option]:
    return {name: option(row) for name, row in HISTORY.fields(program, release).items()}


def option(row: tuple[Any, ...]) -> Option:
    stored = row[STORED] if len(row) > STORED else True
    return Option(row[TYPE], row[DEFAULT], tuple(row[CHOICES]), row[COUNT], stored, row[DEST])


def of_copy(facts: LaunchFacts) -> dict[str, Option] | None:
    """The arguments of a program that lies in the project, by its source; None if it does not, or cannot be read."""
    launch = facts.launch
    if not launch.program_path or launch.project is None:
        return None
    text = launch.project.read(launch.program_path)
    return arguments_in(launch.project, launch.program_path, program_of(launch.line), text) if text is not None else None


@functools.lru_cache(maxsize=len(FIELDS))
def arguments_in(project: Project, path: str, program: str, text: str) -> dict[str, Option] | None:
    """The arguments of a program in a project, as long as its file has this text."""
    try:
        tree = find(Path(path).parent.parent, opens=lambda file: project.read(file) is not None)
        found = of_program(tree.file(f"{FOLDER}/{PREFIX}{program}.py"))
    except (SourceError, SyntaxError, OSError, ValueError, RecursionError):
        return None
    return {name: option((name, *fact[:2], (), (), *fact[2:])) for name, fact in found.items()}


def other_name(name: str, program: str, known: Mapping[str, Option]) -> str:
    """The argument that has the place of one of another release or program; empty if that is not known."""
    roles = [former for former, others in NAMES.items() if name in (former, *others)]
    names = [*(other for role in roles for other in NAMES[role][:: -1 if program == OTHER else 1]), *roles]
    same = [option for option in known if option.rpartition(".")[2] == name.rpartition(".")[2]]
    return next((option for option in names if option in known and option != name), same[0] if len(same) == 1 else "")


def fitting(facts: LaunchFacts) -> str:
    """The newest allowed release whose program has the most arguments of a line; empty if it is the one that is asked anyway."""
    command, specs = facts.launch.command, facts.bounds.get(PACKAGE, ())
    program, releases = program_of(facts.launch.line), modelled_releases(PACKAGE)
    best, fewest = "", len(command.words) + 1 if command is not None else 0
    for release in reversed(releases):
        known = options(program, parse_version(release))
        missing = [word for word in command.words if not candidates(word, known)] if command is not None else ()
        if known and len(missing) < fewest and (not specs or any(allows(spec, release) for spec in specs)):
            best, fewest = release, len(missing)
    return best if best != facts.target.get(PACKAGE, releases[-1]) else ""
