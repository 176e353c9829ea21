"""What the launcher, and the plugins of the program's `Accelerator`, refuse in the values of an accelerate file: their rows."""

from __future__ import annotations

import functools
import re

from cfglint.evaluate import Unknown
from cfglint.findings.remedy import Remedy, Step, set_key
from cfglint.findings.vocabulary import Stage
from cfglint.findings.wording import described
from cfglint.frameworks.accelerate import KIND
from cfglint.frameworks.accelerate.config import TPU, AccelerateConfig
from cfglint.frameworks.accelerate.releases import HISTORY, REQUIRED
from cfglint.frameworks.deepspeed import FRAMEWORK
from cfglint.frameworks.huggingface.checks import truth
from cfglint.frameworks.refusal import Refusal, Removal, Words
from cfglint.frameworks.releases.history import DEFAULT, TYPE
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised
from cfglint.frameworks.rows.refusals import Check, Plan, pages_of, refused_batch, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.source.annotations import Any, Callable, ConfigTable, Iterator, Operand
from cfglint.source.load_results import copied

LAUNCHER: Stage = "config"
PLUGIN: Stage = "init"
ENGINES = {"FSDP": "fsdp", "MEGATRON_LM": "megatron", "DEEPSPEED": "deepspeed"}  # distributed type -> the function of the launcher
ACCELERATOR = "accelerator"  # what the sizes of the parallelism are compared with
DISTRIBUTED_TYPE = f"{ACCELERATOR}.distributed_type"
PARALLELISM = "ParallelismConfig"
SIZES = ("parallelism_config",)
PREFIXES = {"fsdp_config": "fsdp_", "fp8_config": "fp8_", "dynamo_config": "dynamo_"}  # that the launcher adds to the keys of a block
BACKEND_WITHOUT_PREFIX = (1, 14)  # from here on also in `dynamo_config`; before, nothing reads `backend`
PREFIXES_OF_PLUGINS = {
    "fsdp": "fsdp_",
    "deepspeed": "",
    "dynamo": "dynamo_",
    "parallelism": "parallelism_config_",
}  # of a field -> of its argument
ELSEWHERE = ("compute_environment", "distributed_type")
# The pages for values on which Python fails, where it is not that of the plugins.
OF_ARGUMENTS = {"mixed_precision": "ACC006", "dynamo_backend": "ACC019", "main_process_port": "ACC021"}
OF_PLUGINS, OF_LAUNCHER, WITHOUT_SIZE, OF_SIZES = "ACC028", "ACC018", "ACC027", "ACC016"
SIZE = "fsdp_min_num_params"  # whose default the launcher passes on, too
OF_PYTHON = ("TypeError", "AttributeError", "ValueError: invalid literal for int()", "ValueError: could not convert string to float")
FILE_AND_KEYS = "ACC012"  # a DeepSpeed file, and keys that belong into it
FSENCODE = "fsencode"  # what `subprocess.Popen` does with each variable of the environment
PORTS = range(2**16)


@functools.cache
def plan(release: Version, engine: str, is_parallel: bool) -> Plan:
    """The rows of a release for the engine of a launch, and for the plugins that it makes, with that of the sizes or without."""
    table = table_of(KIND)
    functions = (function for function in table.functions(PLUGIN, release) if function.name.startswith(f"{engine}:"))
    plugins = [row for function in functions if is_parallel or not function.name.endswith(PARALLELISM) for row in function.rows]
    return Plan({LAUNCHER: table.rows(LAUNCHER, engine, release), PLUGIN: plugins})


def engine_of(config: AccelerateConfig) -> str:
    return ENGINES.get(str(config.distributed), "several" if config.spawns else "single")


class Arguments:
    """The arguments of the launcher that a file becomes: their values, and the places of those that the file sets."""

    def __init__(self, config: AccelerateConfig) -> None:
        self.values: ConfigTable = {}
        self.paths: dict[str, tuple[str, ...]] = {}
        for name, value in sorted(config.values.items(), key=lambda item: isinstance(item[1], dict)):  # the blocks come last
            if isinstance(value, dict):
                self.values[name], self.paths[name] = None, (name,)  # which is no argument
                prefix = PREFIXES.get(name, "") if name != "dynamo_config" or config.version >= BACKEND_WITHOUT_PREFIX else ""
                for key, item in value.items():
                    argument = str(key) if str(key).startswith(prefix.rstrip("_")) else prefix + str(key)
                    self.values[argument], self.paths[argument] = item, (name, key)
            elif name not in ELSEWHERE:
                self.values[name], self.paths[name] = value, (name,)
        named, written = config.precision, config.get("mixed_precision")
        if named is not None or written is None or isinstance(written, dict):
            self.values["mixed_precision"] = named or written
            self.paths.setdefault("mixed_precision", ("mixed_precision",) if "mixed_precision" in config.values else ("fp16",))
        if self.values.get("dynamo_backend") is None:
            self.values["dynamo_backend"] = "no"
        fields = [*map(str, config.section("deepspeed_config")), *(["mixed_precision"] if config.precision_named else [])]
        self.values |= {
            "use_parallelism_config": bool(config.section("parallelism_config")),
            "deepspeed_fields_from_accelerate_config": ",".join(fields),
            f"{ACCELERATOR}.num_processes": unknown_field("num_processes") if config.started is None else config.started,
            f"{ACCELERATOR}.multi_device": config.spawns and config.distributed not in ENGINES,
            DISTRIBUTED_TYPE: config.distributed,
            f"{ACCELERATOR}.is_fsdp2": config.fsdp_version == "2",
        }
        if config.trainer is not None and config.trainer.get("deepspeed"):
            self.values["deepspeed.hf_ds_config"] = {"zero_optimization": {}}  # whose content the Trainer checks

    def path(self, key: str) -> tuple[str, ...]:
        return self.paths.get(key) or (*filter(None, HISTORY.sections_with(key)[:1]), key)


def refusals(config: AccelerateConfig) -> list[Refusal]:
    if not config.values or not config.local or config.distributed in TPU:
        return []
    arguments, engine = Arguments(config), engine_of(config)
    fields = HISTORY.fields("", config.version)
    defaults = {name: unknown_field(name) if row[REQUIRED] else row[DEFAULT] for name, row in fields.items()}
    if config.documents[0].is_command:  # without a file, the launcher sets these, and the others are null
        decided = {"num_machines": 1, "num_processes": unknown_field("num_processes")}
        arguments.values = {**dict.fromkeys(fields), **decided, **arguments.values}
    rows = plan(config.version, engine, bool(config.section("parallelism_config")))
    check = LaunchCheck(rows, arguments.values, defaults, (), facts(config), pages_of(KIND))
    found = check.refusals(Words((), {}, is_flag))
    for refusal in found:
        place(refusal, arguments)
    refused = {path for each in found for path in each.paths}
    for refusal in refused_by_deepspeed(config, check.built) if engine == "deepspeed" and check.built is not None else ():
        place(refusal, arguments)
        found += [refusal] if refused.isdisjoint(refusal.paths) else []
    return found


def is_flag(key: str) -> bool:
    return any("boolean" in row[TYPE] for section in HISTORY.sections_with(key) for row in HISTORY.names(section)[key])


class LaunchCheck(Check):
    """The rows of a launch; `built` is the DeepSpeed config that the plugin makes of the file."""

    enums = {DISTRIBUTED_TYPE: "DistributedType"}
    built: ConfigTable | None = None

    def run(self, written: Any) -> tuple[Evaluation, list[Raised]]:
        run, found = super().run(written)
        failed = [each for each in found if not each.intended and self.plan.stage_of(each.row) == LAUNCHER]
        found = [each for each in found if not failed or self.plan.stage_of(each.row) == LAUNCHER]  # a launch that fails makes no plugin
        config = run.values.get("deepspeed.deepspeed_config")
        if self.built is None and isinstance(config, dict) and "deepspeed_config_file" not in written:
            self.built = config
        return run, found


def place(refusal: Refusal, arguments: Arguments) -> None:
    """Give a refusal its page, and the places of the arguments in the file."""
    names = [name for key in refusal.keys if (name := argument_of(key)) in arguments.paths or HISTORY.ever(name)]
    if refusal.failed:
        of_type = refusal.exception.rpartition(" not ")[2].strip("'")  # of several, the one of the type that Python names
        names = sorted(names, key=lambda name: type(arguments.values.get(name)).__name__ != of_type)[:1]
        of_launcher = next((OF_ARGUMENTS[each] for each in names if each in OF_ARGUMENTS), OF_LAUNCHER)
        refusal.kind = OF_PLUGINS if refusal.fails_at == PLUGIN else of_launcher
    if refusal.exception.startswith(OF_PYTHON) and names:  # say of which type a value has to be on which Python fails
        name = names[0]
        value: Operand = arguments.values.get(name)
        wanted = "a string" if re.search("has no attribute|expected str", refusal.exception) else "a number"
        is_number = isinstance(value, str) and value.isdecimal()
        refusal.message = f"`{arguments.path(name)[-1]}` is {described(value)}, not {wanted}"
        refusal.help = [set_key(name, int(value), ", without quotes") if is_number else f"set `{name}` to {wanted}"]
    if SIZE in names and SIZE not in arguments.paths and refusal.exception.startswith("ValueError: invalid literal for int()"):
        refusal.kind, names = WITHOUT_SIZE, ["fsdp_auto_wrap_policy"]
    refusal.paths = [arguments.path(each) for each in dict.fromkeys(names)]
    refusal.help = [placed(step, arguments) for step in refusal.help]
    if refusal.kind == OF_SIZES and any(name.startswith(ACCELERATOR) for name in refusal.read):  # about all sizes together
        refusal.paths = [SIZES, *(path for path in refusal.paths if path != SIZES)]
    if not refusal.paths:
        refusal.paths = [SIZES] if refusal.kind == OF_SIZES else [("distributed_type",)]


def argument_of(key: str) -> str:
    """The argument that a field of a plugin is made of."""
    prefix, _, name = key.partition(".")
    return PREFIXES_OF_PLUGINS[prefix] + name if prefix in PREFIXES_OF_PLUGINS else key


def placed(step: Remedy | str | Removal, arguments: Arguments) -> Remedy | str | Removal:
    def path(key: str) -> str:
        return dotted(arguments.path(argument_of(key)))

    def moved(change: Step) -> Step:
        return Step(path(change.key), change.value, change.removes, change.reason, change.choices)

    if isinstance(step, Removal):
        return Removal(path(step.key), step.value, step.stays)
    if isinstance(step, Remedy):
        return Remedy(tuple(each if isinstance(each, str) else tuple(map(moved, each)) for each in step.alternatives))
    return re.sub(r"`([\w.]+)(?=[`:])", lambda match: f"`{path(match[1])}", step)


def refused_by_deepspeed(config: AccelerateConfig, built: ConfigTable) -> Iterator[Refusal]:
    from cfglint.frameworks.deepspeed.models import model_of, read_section

    release = config.facts.version(FRAMEWORK.package, FRAMEWORK.newest)
    keys = {"stage": "zero_stage", **{f"offload_{each}.device": f"offload_{each}_device" for each in ("optimizer", "param")}}
    section = {name: value for name, value in built.get("zero_optimization", {}).items() if not isinstance(value, Unknown)}
    for fault in read_section(model_of("zero_optimization"), section, release).faults:
        key = keys.get(".".join(map(str, fault.path)))
        if key is not None:
            setting = config.setting("deepspeed_config", key)
            yield Refusal(OF_PLUGINS, [key], fault.explained(setting, key), fault.exception, [f"set `{key}` to {fault.needed}"], PLUGIN)
    key, steps, text = "gradient_accumulation_steps", built.get("gradient_accumulation_steps"), ""
    if isinstance(steps, int) and steps < 1:
        text = refused_batch(FRAMEWORK.kind, "DeepSpeedConfig", release, (1, 1, steps), 1)
    elif isinstance(steps, str) and (steps != "auto" or (config.trainer is None and config.has("deepspeed_config", key))):
        # the `Accelerator` reads it as well, unless the program is a Trainer, which passes it its own
        text = f"ValueError: invalid literal for int() with base 10: {steps!r}"
    if text:
        message = f"`{key}` is {steps}, not a positive integer"
        yield Refusal(OF_PLUGINS, [key], message, text, [f"set `{key}` to a positive number"], PLUGIN)


def is_port_in_use(port: Operand) -> bool:
    """False, as of a port that is free; fails as the socket does on what is no port."""
    if not isinstance(port, int):
        raise TypeError(f"{type(port).__name__!r} object cannot be interpreted as an integer")
    if port not in PORTS:
        raise OverflowError(f"connect_ex(): port must be 0-{PORTS[-1]}.")
    return False


def fsencode(text: Operand) -> Operand:
    if not isinstance(text, str):
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(text).__name__}")
    return text


ANSWERS: dict[str, Callable[..., Any]] = {"str_to_bool": truth, "is_port_in_use": is_port_in_use, FSENCODE: fsencode}  # what may fail


def facts(config: AccelerateConfig) -> Callable[..., Any]:
    """What the environment answers: CUDA devices, the newest torch, and packages that are installed."""

    def answer(name: str, *arguments: Any) -> Any:
        if name in ANSWERS:
            return ANSWERS[name](*arguments)
        if name == "is_torch_version":
            return arguments[0] in (">", ">=", "!=")
        if name == "deepspeed config":
            if isinstance(arguments[0], dict):
                return copied(arguments[0])
            nested = config.nested_configs()  # the file that the block names
            return copied(nested[0].values) if nested and not nested[0].load_problems else None
        return {"is_fp8_available": True, "is_cuda_available": True}.get(name, False if name.endswith("_available") else None)

    return answer
