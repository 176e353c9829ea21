"""The arguments of OpenRLHF's programs by release, and their names: from 0.10.2 on `--train.batch_size`, before `--train_batch_size`."""

from __future__ import annotations

from cfglint.frameworks import modelled_releases
from cfglint.frameworks.arguments.parsing import ListedWords, Option, candidates
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.openrlhf._tables import FIELDS, SPANS
from cfglint.frameworks.releases.history import DEFAULT, TYPE, UNTIL, History
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.source.annotations import Any, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.line import LaunchLine

PACKAGE = "openrlhf"
HISTORY = History(FIELDS, SPANS)
WORDS = ListedWords("argparse.ArgumentParser.parse_args")
CHOICES, COUNT, DEST, STORED = range(UNTIL + 1, UNTIL + 5)
SECTIONS: Version = (0, 10, 2)  # from here on the names have sections
OTHER = "ppo_ray"  # a program whose arguments are sections of roles: `actor.adam.lr`

# The argument that gives a number or choice, before 0.10.2 -> since, for programs without roles and, behind it, for `ppo_ray`.
NAMES = {
    "train_batch_size": ("train.batch_size",),
    "micro_train_batch_size": ("train.micro_batch_size",),
    "rollout_batch_size": ("rollout.batch_size",),
    "micro_rollout_batch_size": ("rollout.micro_batch_size",),
    "n_samples_per_prompt": ("rollout.n_samples_per_prompt",),
    "num_episodes": ("train.num_episodes",),
    "max_epochs": ("train.max_epochs",),
    "actor_num_nodes": ("actor.num_nodes",),
    "actor_num_gpus_per_node": ("actor.num_gpus_per_node",),
    "ref_num_nodes": ("ref.num_nodes",),
    "ref_num_gpus_per_node": ("ref.num_gpus_per_node",),
    "critic_num_nodes": ("critic.num_nodes",),
    "critic_num_gpus_per_node": ("critic.num_gpus_per_node",),
    "reward_num_nodes": ("reward.num_nodes",),
    "reward_num_gpus_per_node": ("reward.num_gpus_per_node",),
    "vllm_num_engines": ("vllm.num_engines",),
    "vllm_tensor_parallel_size": ("vllm.tensor_parallel_size",),
    "colocate_all_models": ("train.colocate_all",),
    "colocate_actor_ref": ("train.colocate_actor_ref",),
    "colocate_critic_reward": ("train.colocate_critic_reward",),
    "use_dynamic_batch": ("train.dynamic_batch_enable",),
    "ring_attn_size": ("ds.ring_attn_size",),
    "ds_tensor_parallel_size": ("ds.tensor_parallel_size",),
    "zero_stage": ("ds.zero_stage",),
    "param_dtype": ("ds.param_dtype",),
    "adam_offload": ("ds.adam_offload",),
    "packing_samples": ("ds.packing_samples",),
    "lora_rank": ("ds.lora.rank",),
    "max_len": ("data.max_len",),
    "max_samples": ("data.max_samples",),
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
    "agent_func_path": ("train.agent_func_path",),
    "save_path": ("ckpt.output_dir",),
    "ckpt_path": ("ckpt.path",),
    "load_checkpoint": ("ckpt.load_enable",),
    "dataset": ("data.dataset",),
    "prompt_data": ("data.prompt_dataset",),
    "input_key": ("data.input_key",),
    "apply_chat_template": ("data.apply_chat_template",),
    "attn_implementation": ("ds.attn_implementation",),
    "gradient_checkpointing": ("model.gradient_checkpointing_enable", "actor.gradient_checkpointing_enable"),
    "advantage_estimator": ("algo.advantage.estimator",),
    "init_kl_coef": ("algo.kl.init_coef",),
    "async_train": ("train.async_enable",),
    "use_wandb": ("logger.wandb.key",),
}

_options: dict[tuple[str, Version], dict[str, Option]] = {}


def program_of(line: LaunchLine | None) -> str:
    """The program of a line: `sft` for `openrlhf.cli.train_sft`, also by the path of its file."""
    name = line.program.string.replace("\\", "/").removesuffix(".py") if line is not None and line.program is not None else ""
    program = name.replace("/", ".").rpartition("train_")[2]
    return program if program in FIELDS else OTHER


def options(program: str, release: Version) -> dict[str, Option]:
    """The arguments of a program in a release; empty if the release does not have it."""
    if (program, release) not in _options:
        _options[program, release] = {name: option(row) for name, row in HISTORY.fields(program, release).items()}
    return _options[program, release]


def option(row: tuple[Any, ...]) -> Option:
    stored = row[STORED] if len(row) > STORED else True
    return Option(row[TYPE], row[DEFAULT], tuple(row[CHOICES]), row[COUNT], stored, row[DEST])


def of_copy(facts: LaunchFacts) -> dict[str, Option] | None:
    """The arguments of a program that lies in the project, by its source; None if it does not, or cannot be read."""
    launch = facts.launch
    if not launch.program_path or launch.project is None:
        return None
    from pathlib import Path

    from cfglint.frameworks.openrlhf.source_fields import find, sections
    from cfglint.source.python.package import SourceError

    reads = launch.project.read
    try:
        found = sections(find(Path(launch.program_path).parent.parent, opens=lambda path: reads(path) is not None))
    except (SourceError, SyntaxError, OSError, ValueError, RecursionError):
        return None
    program = program_of(launch.line)
    return {name: option((name, *fact[:2], (), (), *fact[2:])) for name, fact in found[program].items()} if program in found else None


def name_of(role: str, program: str, release: Version) -> str:
    """The argument that has a former name in a release."""
    return role if release < SECTIONS else NAMES[role][-1 if program == OTHER else 0]


def other_name(name: str, program: str, known: Mapping[str, Option]) -> str:
    """The argument that has the place of one of another release or program; empty if that is not known."""
    roles = [former for former, others in NAMES.items() if name in (former, *others)]
    names = [*(other for role in roles for other in NAMES[role][:: -1 if program == OTHER else 1]), *roles]
    last = name.rpartition(".")[2]
    same = [each for each in known if each.rpartition(".")[2] == last]
    return next((each for each in names if each in known and each != name), same[0] if len(same) == 1 else "")


def fitting(facts: LaunchFacts) -> str:
    """The newest release, of those that the project allows, whose program has the most arguments of a line; empty if it is the one that is
    asked anyway.
    """
    from cfglint.frameworks.releases.bounds import allows

    command, specs = facts.launch.command, facts.bounds.get(PACKAGE, ())
    program, releases = program_of(facts.launch.line), modelled_releases(PACKAGE)
    best, fewest = "", len(command.words) + 1 if command is not None else 0
    for release in reversed(releases):
        known = options(program, parse_version(release))
        missing = [word for word in command.words if not candidates(word, known)] if command is not None else ()
        if known and len(missing) < fewest and (not specs or any(allows(spec, release) for spec in specs)):
            best, fewest = release, len(missing)
    return best if best != facts.target.get(PACKAGE, releases[-1]) else ""
