"""What the argument classes of ms-swift's commands refuse: their rows, on the arguments of a command."""

from __future__ import annotations

import functools
import json
import os
import re

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.remedy import Remedy
from cfglint.frameworks.arguments.parsing import INVALID
from cfglint.frameworks.huggingface import PACKAGE as TRANSFORMERS
from cfglint.frameworks.huggingface.arguments import EVALUATES
from cfglint.frameworks.huggingface.fields import has_field
from cfglint.frameworks.refusal import FAILURE, Refusal, Removal, Words
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.rows.refusals import PROCESSES, Check, Plan, pages_of, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.frameworks.swift import KIND, LIBRARY
from cfglint.frameworks.swift.fields import config_files
from cfglint.frameworks.swift.parsed_command import CommandConfig
from cfglint.source.annotations import Any, Callable, Iterable, Iterator, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.swift.config import SwiftConfig

CONFIG: Stage = "config"
WORLD, LOCAL = "world_size", "local_world_size"
KEPT = ("rlhf_type", "tuner_type", "train_type", "model", "dataset", "task_type")
OF_MEGATRON = ("mcore_model", "mcore_adapter", "load")  # checkpoints whose arguments Megatron-SWIFT reads anyhow
INTERNAL = ("skip_megatron_init",)  # arguments that the package sets itself
METHOD = "rlhf_type"  # which no remedy changes where another one helps
GIVEN = {"model": "a model id or a path", "dataset": "an id or a path"}  # what every run needs
DEVICES, GENERATIONS = "SWF012", "SWF020"
# The keys at which findings are, where it is not the first one that the message names.
PLACES = {
    "SWF012": ("deepspeed", "fsdp", "use_vllm", "use_liger_kernel"),
    "SWF014": ("save_only_model", "fsdp"),
    "SWF015": ("packing", "padding_free"),
    "SWF016": ("quant_bits",),
    "SWF017": ("lazy_tokenize", "warmup_ratio"),
    "SWF022": ("rope_scaling", "warmup_ratio"),
    "SWF018": (
        "truncation_strategy",
        "reward_funcs",
        "delta",
        "sequence_parallel_size",
        "off_policy_sequence_mask_delta",
        "top_entropy_quantile",
    ),
    "SWF019": ("async_generate",),
    "SWF020": ("per_device_eval_batch_size", "num_generations", "generation_batch_size"),
    "SWM002": ("tensor_model_parallel_size", "global_batch_size"),
    "SWM003": ("recompute_method", "group_by_length", "async_save"),
}
FALSE = ("is_torch_npu_available", "is_torch_musa_available", "is_torch_mps_available", "is_pai_training_job", "use_hf_hub")


@functools.lru_cache(maxsize=32)
def plan(functions: tuple[str, ...], release: Version) -> Plan:
    return Plan({CONFIG: [row for name in functions for row in table_of(KIND).rows(CONFIG, name, release)]})


@functools.cache
def plan_of_library(trainer: str, release: Version) -> Plan:
    """The rows of the class of TRL that the arguments of a trainer are of."""
    return Plan({CONFIG: [*EVALUATES, *table_of(LIBRARY).rows(CONFIG, trainer, release)]})


def refused(
    config: CommandConfig,
    functions: tuple[str, ...],
    processes: int | None,
    releases: Mapping[str, Version],
    derived: Mapping[str, Any] | None = None,
) -> Iterator[Refusal]:
    """What the rows of some functions refuse; `releases` are those of other packages, `derived` what these set."""
    unread = {words.name: unknown_field(words.name) for words in config.refused if words.why == INVALID}
    written = {name: listed(value) for name, value in {**config.values, **unread}.items() if name in config.known}
    checkpoints = [name for name in ("resume_from_checkpoint", "adapters", "ckpt_dir", *OF_MEGATRON) if name in config.known]
    adds_arguments = any(config.own(name) for name in checkpoints if name in OF_MEGATRON or config.own("load_args"))
    closed = config.is_whole and not unread and not adds_arguments
    defaults = {name: listed(option.default) if closed else unknown_field(name) for name, option in config.known.items()}
    defaults.update(derived or {})
    defaults[WORLD] = PROCESSES if processes is None or not closed else processes
    answers = facts(config, processes, releases)
    check = Check(plan(functions, config.own_version), written, defaults, (WORLD, *defaults), answers, pages_of(config.framework.kind))
    yield from worded(check.refusals(words_of(config)))


def refused_by_library(config: SwiftConfig) -> Iterator[Refusal]:
    """What the class of TRL refuses that the trainer's arguments are of, from what ms-swift passes to it."""
    args = config.arguments
    if not config.is_whole:
        return
    world = PROCESSES if config.world_size is None else config.world_size
    rows = plan_of_library(config.trainer, config.library_version)
    check = Check(rows, args.given, {**args.defaults, WORLD: world}, (WORLD,), lambda *_: None, pages_of(KIND))
    yield from worded(check.refusals(words_of(config)))


def words_of(config: CommandConfig) -> Words:
    flags = {name for name, option in config.known.items() if option.type == "bool"}
    return Words(KEPT, {(name,): "" for name in (WORLD, LOCAL, *INTERNAL)}, flags.__contains__, PLACES, {(WORLD,): "process"})


def worded(found: Iterable[Refusal]) -> Iterator[Refusal]:
    """Refusals by checks, in words of a command line."""
    for refusal in found:
        if refusal.kind != FAILURE and refusal.paths:  # else it follows from a value that is refused
            steps = [re.sub(r"`([a-z]\w*)`", r"`--\1`", step) if isinstance(step, str) else step for step in refusal.help]
            refusal.help = [step for step in steps if not changes_method(step)] or steps
            if refusal.key in GIVEN and "Please" in refusal.exception:
                refusal.message, refusal.help = f"`--{refusal.key}` is missing", [f"give `--{refusal.key}` {GIVEN[refusal.key]}"]
            yield refusal


def changes_method(step: Remedy | Removal | str) -> bool:
    if isinstance(step, Remedy):
        return bool(step.edit) and step.edit[0].key == METHOD
    return isinstance(step, str) and step.startswith(f"set `--{METHOD}`")


def listed(value: Any) -> Any:
    """A value in which tuples are lists, as the parser makes them."""
    return [*value] if isinstance(value, tuple) else value


def facts(config: CommandConfig, processes: int | None, releases: Mapping[str, Version]) -> Callable[..., Any]:
    """What the environment answers: the launch, the files of the package, packages that are installed."""
    line, devices = config.facts.launch.line, config.devices
    environment = line.call.environment if line is not None else {}

    def answer(name: str, *arguments: Any) -> Any:
        if name == "env":
            return value.value if (value := environment.get(arguments[0])) is not None else None
        if name in ("json_parse_to_dict", "parse_to_dict"):
            return parsed(config, *arguments)
        if name == "path join":
            return os.path.join(*arguments)
        if name in ("path dirname", "path basename"):
            return os.path.split(arguments[0])[name == "path basename"]
        if name == "path abspath":
            return arguments[0]
        if name == "get_dist_setting":
            process = Unknown(Reason("machine", "the process"))
            return [process, process, *(PROCESSES if each is None else each for each in (processes, devices and devices[1]))]
        if name in ("get_device_count", "device_count"):
            return devices[0] if devices else None
        if name == "is_mp":
            return (devices[0] // devices[1] > 1 if devices else None) if config.shares_devices else False
        if name == "_hf_has_field":
            return has_field(arguments[0], releases[TRANSFORMERS])
        if name == "version":
            return dotted(releases[arguments[0]]) if arguments[0] in releases else None
        return False if name in FALSE else True if name == "importable" or name.endswith("_available") else None

    return answer


def parsed(config: CommandConfig, value: Any, strict: Any = True) -> Any:
    """The mapping that a word for one stands for: a file of the package, JSON, or nothing; None if another file has it."""
    if value in (None, ""):
        return {}
    if not isinstance(value, str):
        return value
    file = config_files(config.own_version).get(os.path.basename(value).removesuffix(".json"))
    if file is not None:
        return json.loads(json.dumps(file))
    try:
        return json.loads(value)
    except ValueError:
        return None if strict else value
