"""What ms-swift refuses of its arguments before it trains: the rows of its classes, then what is by hand.

By hand is what asks for names that the package registers, for files, or for the trainer's objects: ms-swift 4.6.0 model/model_meta.py,
template/register.py, pipelines/train/tuner.py, trainers/mixin.py, utils/env.py; 3.4.0 trainers/rlhf_trainer/grpo_trainer.py.
"""

from __future__ import annotations

import functools
import json
import os
import re

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.vocabulary import Stage
from cfglint.findings.wording import counted
from cfglint.frameworks.arguments.parsing import INVALID
from cfglint.frameworks.huggingface import PACKAGE as TRANSFORMERS
from cfglint.frameworks.huggingface.arguments import EVALUATES
from cfglint.frameworks.huggingface.batch import no_length
from cfglint.frameworks.huggingface.fields import has_field
from cfglint.frameworks.refusal import FAILURE, Refusal, Removal, Words
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.rows.refusals import PROCESSES, Check, Plan, pages_of, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.frameworks.swift import KIND, LIBRARY
from cfglint.frameworks.swift.arguments import PLUGINS
from cfglint.frameworks.swift.batch import GRPO, ONE_MICRO_BATCH, SIZE, STEPS, generation
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.frameworks.swift.fields import HISTORY, MODELS, TEMPLATES, config_files
from cfglint.frameworks.swift.parsed_command import MAPPINGS, CommandConfig
from cfglint.source.annotations import Any, Callable, Iterable, Iterator, Mapping

UNREPAIRED = ("device_groups", "model_kwargs", "mrl_dims")  # which are not repaired, or whose items are read
OF_ENGINE, OF_LAUNCH = ("vllm_limit_mm_per_prompt",), (3, 6)  # which the arguments of GRPO's trainer read; from then on others do
OPENED = ("accelerator_config", "fsdp_config")  # files, unless they are JSON; the latter until ms-swift has its own FSDP files
NO_MAPPING = re.compile(r"(?!(?:true|false|null|NaN|Infinity)$)[A-Za-z_]\w*")  # a word that is neither JSON nor the name of a file
NO_FILE = re.compile(r"[^{./][^./]*")  # neither JSON nor a path
JSON, CONFLICT, NAME, VALUE = "SWF013", "SWF017", "SWF021", "SWF022"
LATER: Version = (4, 2)  # from here on the class of ms-swift has its own checks
OF_CLASS = Releases((3, 5), LATER)  # a class of TRL checks the sizes of a generation, and before that the trainer
CONFIG_CHECKS: Version = (0, 18, 0)  # from here on the class of TRL has these checks
CONFIGS = {"simpo": "cpo", "rm": "reward", "sft": "sft", "pt": "sft"}  # what is trained -> the class of its trainer's arguments
TUNERS = ("lora", "full", "longlora", "adalora", "llamapro", "adapter", "vera", "boft", "fourierft", "reft", "bone")
OWN_READING = ("loss_type", "eval_metric", "metric")  # which the trainers of `rlhf` read in their own way
REWARD, REWARDS, LOSS_SCALE, AGENT = "reward_model", "reward_funcs", "loss_scale", "agent_template"
TURNS = ("multi_turn_func", "multi_turn_scheduler")  # in a release one of them
LOOKED_UP = {
    "loss_type": "losses",
    "optimizer": "optimizers",
    "callbacks": "callbacks",
    "eval_metric": "metrics",
    "metric": "metrics",
    LOSS_SCALE: "loss scales",
    AGENT: "agent templates",
    REWARDS: "rewards",
    **dict.fromkeys(TURNS, "multi turns"),
}
OPTIONAL = (AGENT, *TURNS, "optimizer")  # whose empty name is none
STRATEGIES = ("default", "last_round", "all")  # that stand before the name of a loss scale, or alone
ON_USE: Version = (4, 2)  # from here on an agent template is looked up where the data uses tools
LISA, BATCHED = "lisa_activated_layers", "batch_eval_metrics"
OWN_METRICS: Version = (3, 8)  # before, supervised training always has a metric
FEWEST = 2  # completions per prompt that can be compared
EVALUATION = "ValueError: The {} eval batch size ({} x {}) must be evenly divisible by the number of generations per prompt ({})."
EVALUATION_MICRO = "per_device_eval_batch_size"
MICRO, ACCUMULATION = "per_device_train_batch_size", "gradient_accumulation_steps"
WORLD, LOCAL = "world_size", "local_world_size"
KEPT = ("rlhf_type", "tuner_type", "train_type", "model", "dataset", "task_type")
OF_MEGATRON = ("mcore_model", "mcore_adapter", "load")  # checkpoints whose arguments Megatron-SWIFT reads anyhow
INTERNAL = ("skip_megatron_init",)  # arguments that the package sets itself
METHOD = "rlhf_type"  # which no remedy changes where another one helps
GIVEN = {"model": "a model id or a path", "dataset": "an id or a path"}  # what every run needs
DEVICES, GENERATIONS = "SWF012", "SWF020"
FALSE = ("is_torch_npu_available", "is_torch_musa_available", "is_torch_mps_available", "is_pai_training_job", "use_hf_hub")


def failed(config: SwiftConfig) -> Iterator[Refusal]:
    """What the classes of the command, and of its trainer's arguments, refuse; then what is about single values."""
    kind = CONFIGS.get(config.trainer, config.trainer)
    releases, is_checked = {TRANSFORMERS: config.version, LIBRARY: config.library_version}, False
    of_library, sizes = [], {}
    if config.trainer == "gkd":
        of_library = [*refused_by_library(config)]
    elif config.trainer == GRPO and config.own_version in OF_CLASS:
        of_library, made = [*refused_by_library(config)], generation(config)
        if made is not None:  # the class of TRL sets them before ms-swift checks them
            sizes = {name: unknown_field(name) if size is None else size for name, size in ((SIZE, made.size), (STEPS, made.steps))}
    for refusal in refused(config, (config.command, f"{kind}-config"), config.world_size, releases, sizes):
        if refusal.kind == GENERATIONS and of_library:  # the class of TRL checks them first
            continue
        is_checked = is_checked or refusal.kind == GENERATIONS
        if refusal.kind == DEVICES and config.devices is not None:
            seen, local = config.devices
            shares = f"each process sees {seen // local} GPUs ({seen} visible, {counted(local, 'process')})"
            refusal.message = f"`{refusal.key}` requires one GPU for each process, but {shares}"
            refusal.help = per_process(seen, local)
        yield refusal
    yield from of_library or ([] if is_checked else generations(config))
    yield from values(config)


def per_process(seen: int, local: int) -> list[Remedy | str]:
    """The remedies of several GPUs for a process: more processes, or fewer visible GPUs."""
    return [set_key("NPROC_PER_NODE", seen), f"make {local} GPUs visible" if local > 1 else "make one GPU visible"]


def values(config: SwiftConfig) -> Iterator[Refusal]:
    """A classifier without a number of classes, which the model may have; GPUs that the processes cannot share evenly; a value of
    an argument that is neither a name, a file, nor JSON; streamed data without a number of steps.
    """
    if config.own("task_type") == "seq_cls" and config.is_unset("num_labels") and config.own_version >= (3, 6):
        text = "AssertionError: Please pass the parameter `num_labels`."
        remedy = ["set `--num_labels` to the number of classes"]
        yield Refusal(VALUE, ["task_type"], "`task_type seq_cls` requires `num_labels`", text, remedy)
    yield from names(config)
    yield from rewards(config)
    if config.command == "rlhf" and config.trainer not in (GRPO, "gkd", "ppo") and config.own(REWARD) and config.own_version >= (3, 2):
        text = f"TypeError: Trainer.__init__() got an unexpected keyword argument '{REWARD}'"
        yield Refusal(CONFLICT, [REWARD, METHOD], f"`{config.trainer}` takes no `{REWARD}`", text, [remove_key(REWARD)], "init")
    layers, key = config.own(LISA), config.arguments.tuner_key
    if isinstance(layers, int) and layers > 0 and config.own(key) not in (None, "full"):
        text = "AssertionError: LISA only supports full parameter training."
        yield Refusal(CONFLICT, [LISA, key], f"`{LISA}` requires `{key} full`", text, [remove_key(LISA) | set_key(key, "full")], "init")
    if config.shares_devices and config.devices is not None and config.devices[0] % config.devices[1]:
        seen, local = config.devices
        message = f"{seen} visible GPUs are not a multiple of {local} processes"
        text = f"AssertionError: n_gpu: {seen}, local_world_size: {local}"
        yield Refusal(DEVICES, [], message, text, per_process(seen, local))
    own_fsdp = config.known["fsdp"].own
    for name in ("deepspeed", "fsdp") if own_fsdp else ("deepspeed",):
        value = config.values.get(name)
        if name in config.known and isinstance(value, str) and value and config.is_unreadable(name, value):
            text = "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
            files = ", ".join(file for file in config_files(config.own_version) if file.startswith("fsdp") == (name == "fsdp"))
            message = f"`{name}` is {value}, which is neither a file, JSON, nor one of ms-swift's names"
            remedy = [f"use one of {files}"] if files else []
            yield Refusal(JSON, [name], message, text, [*remedy, "name a JSON file that exists"])
    of_engine = config.trainer == GRPO and config.own_version < OF_LAUNCH
    yield from mappings(config, (*MAPPINGS, *OF_ENGINE) if of_engine else MAPPINGS)
    for name in OPENED[:1] if own_fsdp else OPENED:
        value = config.values.get(name)
        if name in config.known and isinstance(value, str) and NO_FILE.fullmatch(value) and name not in config.files:
            text = f"FileNotFoundError: [Errno 2] No such file or directory: '{value}'"
            message = f"`{name}` is {value}, which is neither a file nor JSON"
            yield Refusal(JSON, [name], message, text, ["write a JSON object, or name a file that exists"])
    if config.own(BATCHED) is True and config.command != "rlhf" and (config.own_version < OWN_METRICS or config.own("metric")):
        text = f"ValueError: When using `{BATCHED}`, your `compute_metrics` function must take a `compute_result` boolean argument"
        yield Refusal(CONFLICT, [BATCHED], f"ms-swift's metrics do not support `{BATCHED}`", text, [remove_key(BATCHED)], "init")
    steps = config.own("max_steps")
    if config.streams and isinstance(steps, int) and steps <= 0 and config.trainer != "ppo":
        text = no_length(config.facts.version(TRANSFORMERS, ""))
        yield Refusal(CONFLICT, ["streaming", "max_steps"], "`streaming` requires `max_steps`", text, ["set `--max_steps`"], "init")


def mappings(config: CommandConfig, names: Iterable[str] = MAPPINGS, kind: str = JSON) -> Iterator[Refusal]:
    """Arguments that have to be JSON."""
    for name in names:
        value = config.values.get(name)
        if name in config.known and isinstance(value, str) and NO_MAPPING.fullmatch(value):
            text = "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
            refusal = Refusal(kind, [name], f"`{name}` is {value}, which is not JSON", text, ["write a JSON object"])
            if config.own_version >= (3, 9) and name not in UNREPAIRED:  # then what is not JSON is repaired
                refusal.depends_on = [Reason("release", "the release of json_repair", "before 0.45 it makes an empty text of a word")]
            yield refusal


def has_plugins(config: CommandConfig) -> bool:
    """Whether plugins may register names that the package has not."""
    return any(config.own(name) for name in PLUGINS if name in config.known) or not config.is_whole


def of_model(config: CommandConfig, kind: str = NAME) -> Iterator[Refusal]:
    """A type of model and a template that the package does not register."""
    for field, shown, section in (("model_type", "model_type", MODELS), ("template", "template_type", TEMPLATES)):
        value = config.own(field)
        checked = field == "model_type" or config.own_version >= (4,)  # before, its look-up raises
        known = HISTORY.fields(section, config.own_version) if isinstance(value, str) and (value or not checked) else (value,)
        if value not in known and not has_plugins(config):
            text = f"ValueError: {shown}: '{value}' not in [" if checked else f"KeyError: '{value}'"
            message = f"`{field}` is {value}, which ms-swift does not register"
            remedy = [remove_key(field, ": it follows from the model")]
            yield Refusal(kind, [field], message, text, remedy, "config" if checked else "init")


def names(config: SwiftConfig) -> Iterator[Refusal]:
    """Names that the package does not register."""
    if has_plugins(config):
        return
    yield from of_model(config)
    key = config.arguments.written(config.arguments.tuner_key)
    value = config.own(key)
    if isinstance(value, str) and value not in (*TUNERS, *config.registered("tuners")):
        text = f"ValueError: Unknown {key}: {value}"
        message = f"`{key}` is {value}, which ms-swift does not have"
        yield Refusal(NAME, [key], message, text, [f"set `--{key} lora` or `--{key} full`"], "init")
    for field, section in LOOKED_UP.items():
        registered = config.registered(section) if is_looked_up(config, field) else ()
        found = config.own(field) if registered else None
        allowed = [*registered, *STRATEGIES] if field == LOSS_SCALE else [*registered]
        for value in found if isinstance(found, list) else [found]:
            parts = str(value).split("+") if field == LOSS_SCALE else [value]
            missing = next((part for part in parts if part not in allowed), None)
            if isinstance(value, str) and missing is not None and (value or field not in OPTIONAL):
                text = "AssertionError" if field in TURNS else f"KeyError: '{missing}'"
                if field == REWARDS:
                    text = f"ValueError: reward_function {value} is not implemented in swift"
                message = f"`{field}` is {value}, which ms-swift does not register"
                yield Refusal(NAME, [field], message, text, [f"use one of {', '.join(allowed)}"], "init")


def rewards(config: SwiftConfig) -> Iterator[Refusal]:
    """What GRPO's trainer requires of rewards and their weights, before it takes other rewards (3.4.1 grpo_trainer.py:172-179)."""
    if config.trainer != GRPO or not config.is_whole or not (3, 1, 1) <= config.own_version < (4,):
        return
    names = [name for name in (REWARDS, REWARD, "reward_weights", "use_gym_env") if name in config.known]
    if not config.arguments.known(*names) or config.own("use_gym_env"):
        return
    functions, weights = ([*listed(config.own(name) or ())] for name in (REWARDS, "reward_weights"))
    models = config.own(REWARD) or []
    count = len(functions) + (1 if isinstance(models, str) else len(models))
    if not count:
        text = "ValueError: You must specify reward_funcs or reward_model"
        yield Refusal(VALUE, [REWARDS], f"GRPO requires `{REWARDS}` or `reward_model`", text, [f"give `--{REWARDS}`"], "init")
    elif weights and len(weights) != count:
        text = f"ValueError: Number of reward weights ({len(weights)}) must match number of reward functions ({count})"
        message = f"`reward_weights` has {counted(len(weights), 'number')} for {counted(count, 'reward')}"
        yield Refusal(VALUE, ["reward_weights"], message, text, ["give one weight for each reward"], "init")


def is_looked_up(config: SwiftConfig, field: str) -> bool:
    """Whether a run looks up the name that a field has, before it trains."""
    if field == REWARDS or field in TURNS:
        return config.trainer == GRPO
    if field == AGENT and config.own_version >= ON_USE:
        return False
    return config.command != "rlhf" or field not in OWN_READING


def generations(config: SwiftConfig) -> Iterator[Refusal]:
    """The sizes of a generation, as trainers before 3.5 check them (3.2.2 grpo_trainer.py:178-194, 3.4.0 :202-223, rlhf_args.py:221)."""
    made = generation(config)
    if config.trainer != GRPO or made is None or not config.is_whole or not config.arguments.known("num_generations", SIZE, STEPS):
        return
    micro, world, number = config.batch.micro_batch.integer, config.world_size, config.own("num_generations")
    fewest, remedy = "GRPO requires `num_generations` of at least 2", ["set `--num_generations` to 2 or more"]
    if isinstance(number, int) and number <= 0 and config.own_version >= LATER:  # which only the sampler notices
        text = "ValueError: __len__() should return >= 0" if number else "ZeroDivisionError: integer division or modulo by zero"
        yield Refusal(GENERATIONS, ["num_generations"], fewest, text, remedy, "init")
    unchecked = config.own_version in OF_CLASS and config.library_version < CONFIG_CHECKS  # ms-swift deletes the checks of TRL's trainer
    if unchecked and micro and world and made.size is not None and made.size < made.per_prompt:  # of which the sampler takes no prompt
        yield indivisible(config, "ValueError: range() arg 3 must not be zero", "first-step")
    if not (micro and world and made.size and (3, 1, 1) <= config.own_version < (3, 5)):
        return
    alone = config.own_version in ONE_MICRO_BATCH
    what = f"global train batch size ({world} x {micro})" if alone else f"effective train batch size ({world} x {micro} x {made.steps})"
    text = f"ValueError: The {what} must be evenly divisible by the number of generations per prompt ({made.per_prompt})."
    args, samples = config.arguments, config.own(EVALUATION_MICRO)
    evaluates = args.evaluates and args.known("eval_strategy") and args.eval_strategy in ("steps", "epoch")
    if made.per_prompt < FEWEST:
        yield Refusal(GENERATIONS, ["num_generations"], fewest, text, remedy, "init")
    elif made.size % made.per_prompt:
        yield indivisible(config, text, "init")
    elif evaluates and isinstance(samples, int) and samples * world % made.per_prompt:
        message = f"the evaluation batch of all processes ({samples * world}) is not a multiple of `num_generations` ({made.per_prompt})"
        text = EVALUATION.format("global" if alone else "effective", world, samples, made.per_prompt)
        yield Refusal(GENERATIONS, [EVALUATION_MICRO], message, text, [set_key(EVALUATION_MICRO, made.per_prompt)], "init")


def indivisible(config: SwiftConfig, text: str, fails_at: Stage) -> Refusal:
    """The refusal of a generation whose completions are no multiple of those per prompt."""
    made = generation(config)
    assert made is not None
    message = f"a generation has {made.size} completions, not a multiple of `num_generations` ({made.per_prompt})"
    if config.own(SIZE) is not None:
        others = f"set `--{SIZE}` to a multiple of {made.per_prompt}"
    else:
        steps = STEPS if config.own(STEPS) is not None else ACCUMULATION
        factors = [f"`--{MICRO}`", *([] if config.own_version in ONE_MICRO_BATCH else [f"`--{steps}`"])]
        others = f"choose {', '.join(factors)} and the processes so that {made.per_prompt} divides their product"
    remedy = [f"set `--num_generations` to a divisor of {made.size}", others] if made.size and made.size >= FEWEST else [others]
    return Refusal(GENERATIONS, ["num_generations"], message, text, remedy, fails_at)


@functools.lru_cache(maxsize=32)
def plan(functions: tuple[str, ...], release: Version) -> Plan:
    return Plan({"config": [row for name in functions for row in table_of(KIND).rows("config", name, release)]})


@functools.cache
def plan_of_library(trainer: str, release: Version) -> Plan:
    """The rows of the class of TRL that the arguments of a trainer are of."""
    return Plan({"config": [*EVALUATES, *table_of(LIBRARY).rows("config", trainer, release)]})


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
    found = check.refusals(words_of(config))
    config.depends_on_processes = check.depends_on_processes
    yield from worded(found)


def words_of(config: CommandConfig) -> Words:
    flags = {name for name, option in config.known.items() if option.type == "bool"}
    return Words(KEPT, {(name,): "" for name in (WORLD, LOCAL, *INTERNAL)}, flags.__contains__, {(WORLD,): "process"})


def worded(found: Iterable[Refusal]) -> Iterator[Refusal]:
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
    name, _, suffix = os.path.basename(value).partition(".")
    file = config_files(config.own_version).get(name) if suffix == "json" else None
    if file is not None:
        return json.loads(json.dumps(file))
    try:
        return json.loads(value)
    except ValueError:
        return None if strict else value
