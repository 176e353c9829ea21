"""An accelerate launch: which launcher starts how many processes, what it passes to the script, and its part of `explain`.

Source: accelerate 1.15.0 commands/config/config_args.py:91-213, commands/launch.py:1198-1413, utils/launch.py:197-590.
"""

from __future__ import annotations

from cfglint.batch.cards import of_instance
from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason
from cfglint.findings.setting import Batch, Layout, derived
from cfglint.frameworks.accelerate import FRAMEWORK
from cfglint.frameworks.accelerate.releases import HISTORY, spawning
from cfglint.frameworks.base import Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.summary import LAUNCH, PRECISION, Summary
from cfglint.launch._accelerate_options import OPTIONS
from cfglint.source.annotations import ConfigMapping, Operand, Sequence
from cfglint.source.document import Document, Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.overrides import Override

ENGINES = ("DEEPSPEED", "FSDP", "MEGATRON_LM", "TP")
TPU = ("XLA", "TPU")  # the present and the former name
FALSE_IS_REFUSED = (0, 34)  # from here on `mixed_precision: no` without quotes; before, YAML's false is read as "no" (config_args.py)
FLAGS_FIRST = (1, 5)  # from here on a flag takes precedence over the same key in a block of the file; before, the file does
DEFAULT_STAGE = 2  # DeepSpeedPlugin.zero_stage (utils/dataclasses.py), without a DeepSpeed config
AXES = ("dp_replicate", "dp_shard", "tp", "cp", "sp")


class AccelerateConfig(Config):
    """An accelerate config as the launcher loads it. `trainer` is the config of the script, where its file is in the run."""

    framework = FRAMEWORK
    makes_plugins = False  # whether the program is known to make the plugins of what the launcher passes on
    batch_keys = {"gpus": "num_processes", "accumulation": "deepspeed_config.gradient_accumulation_steps"}

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = (), trainer: Config | None = None) -> None:
        super().__init__(documents, facts, kinds)
        self.trainer = trainer
        self.other_files = list(zip(documents[1:], kinds[1:], strict=False))
        self.root: Operand = {}  # without a config file the flags contain all settings
        if not documents[0].is_command:
            reading = FRAMEWORK.loader(documents[0], facts).read(documents[0])
            self.load_problems = [(documents[0], problem) for problem in reading.problems]
            self.root = reading.value
        if isinstance(self.root, dict):
            values = self.root if trainer is not None or not facts.overrides else self.launched_with(self.root)
            flags = facts.launch.flags
            if self.version < FLAGS_FIRST:
                flags = tuple(flag for flag in flags if not in_block(self.root, flag.key))
            self.values = self.laid_over(values, flags)
            if "dynamo_backend" in self.values:  # takes the place of the block (config_args.py, process_config)
                self.values = {name: value for name, value in self.values.items() if name != "dynamo_config"}
        self.local = bool(self.get("compute_environment", default="LOCAL_MACHINE") == "LOCAL_MACHINE")  # not on SageMaker
        self.distributed: Operand = self.get("distributed_type")  # an unquoted NO is the boolean false
        self.uses_deepspeed = bool(self.distributed == "DEEPSPEED")
        self.spawns = self.distributed in ENGINES or self.distributed in spawning(self.version)
        self.precision_named = self.get("mixed_precision") is not None or bool(self.get("fp16"))
        # The total over all machines, 1 by default where the type is NO, else -1 for "not set".
        self.processes: Operand = self.get(*self.argument("num_processes"), default=1 if self.distributed == "NO" else -1)
        machines: Operand = self.get(*self.argument("num_machines"), default=1)
        self.machines = 1 if isinstance(machines, (int, float)) and machines <= 1 else machines  # as the launcher compares it
        self.per_machine = None if self.spawns else 1  # processes that each machine starts, as far as the file determines it
        if self.spawns and type(self.processes) is int and type(self.machines) is int and not self.is_filtered:
            self.per_machine = self.processes // self.machines
        starts = (self.per_machine or 0) >= 1 and self.local and not self.load_problems and self.values
        self.started = (self.per_machine or 0) * (self.machines if self.spawns else 1) if starts else None

    @property
    def rest(self) -> tuple[Reason, ...]:
        """Nothing, where the words of the launch line were read: then all arguments of the launcher are known."""
        line = self.facts.launch.line
        return super().rest if line is None or line.values is None or line.options.open else ()

    other_defaults = rest  # no program sets those of the launcher

    def argument(self, name: str) -> tuple[str, ...]:
        """The path of an argument of the launcher: any key of the DeepSpeed block is one, and comes last (`_validate_launch_command`)."""
        return ("deepspeed_config", name) if name in self.section("deepspeed_config") else (name,)

    def opens(self, path: Path) -> bool:
        return path[-1] != "deepspeed_config_file" or self.uses_deepspeed

    def may_build_own_trainer(self) -> bool:
        """Whether the program may build no `Accelerator`, which reads what the launcher passes on."""
        program = self.facts.launch.program
        built = program.built if program is not None else ()
        return super().may_build_own_trainer() and not any(built_call.package == "accelerate" for built_call in built)

    def override_value(self, override: Override) -> Operand:
        from cfglint.launch.overrides import FLAG

        if override.origin != FLAG:
            return super().override_value(override)
        text = " ".join(override.texts)
        kind = {"int": int, "float": float}.get(OPTIONS.get(override.key.rpartition(".")[2], (("",),))[-1][0])
        try:
            return text if kind is None else kind(text)
        except ValueError:
            return text

    def release_has(self, key: str, section: str = "") -> bool:
        return key in HISTORY.fields(section, self.version)

    def reads(self, key: str) -> bool:
        """Whether a key has an effect: `num_processes` does only where several processes start."""
        return key != "num_processes" or self.spawns

    @property
    def stated_size(self) -> Size | None:
        each, machines = self.per_machine, self.machines
        return Size(each, machines) if self.started and each is not None and type(machines) is int and machines > 0 else None

    def section(self, name: str) -> ConfigMapping:
        value = self.get(name)
        return value if isinstance(value, dict) else {}

    @property
    def fsdp_version(self) -> str:
        """`1`, the launcher's default, or `2`; empty where the launcher does not select FSDP."""
        if self.distributed != "FSDP":
            return ""
        if not self.release_has("fsdp_version", "fsdp_config"):
            return "1"
        section = self.section("fsdp_config")
        return str(section.get("fsdp_version", section.get("version", 1)))

    @property
    def is_run_by_deepspeed(self) -> bool:
        """Whether DeepSpeed's launcher starts the processes, torchrun if not."""
        launcher = self.section("deepspeed_config").get("deepspeed_multinode_launcher")
        return self.uses_deepspeed and self.machines != 1 and launcher != "standard"

    @property
    def is_filtered(self) -> bool:
        """Whether filters for DeepSpeed's launcher take the place of `num_processes`."""
        filters = ("deepspeed_exclusion_filter", "deepspeed_inclusion_filter")
        return self.is_run_by_deepspeed and any(self.section("deepspeed_config").get(name) is not None for name in filters)

    @property
    def deepspeed_file(self) -> Document | None:
        if not self.section("deepspeed_config").get("deepspeed_config_file"):
            return None
        return next((document for document, kind in self.other_files if kind == "deepspeed"), None)

    @property
    def lacks_engine(self) -> bool:
        """Whether it names a DeepSpeed file that is not read: it may set the precision."""
        return self.uses_deepspeed and self.has("deepspeed_config", "deepspeed_config_file") and not self.nested_configs()

    @property
    def precision(self) -> str | None:
        """The precision: `no`, `fp16`, `bf16` or `fp8`; None if the value is none of them."""
        value = self.get("mixed_precision")
        if value is None:
            return "fp16" if "mixed_precision" not in self.values and self.get("fp16") else "no"
        if value is False and self.version < FALSE_IS_REFUSED and self.documents[0].syntax != "json":
            return "no"
        name = value.lower() if isinstance(value, str) else None
        return name if name in ("no", "fp16", "bf16", "fp8") else None

    def axis(self, name: str) -> int | None:
        """The size of an axis of `parallelism_config`, 1 by default; None for a value that is not an integer.

        The launcher of a single process does not pass the block on (utils/launch.py:88-164).
        """
        if not self.spawns or not self.release_has("parallelism_config"):
            return 1
        value = self.section("parallelism_config").get(f"parallelism_config_{name}_size", 1)
        return value if type(value) is int else None

    def nested_configs(self) -> list[Config]:
        """The DeepSpeed config of the launch; empty if a trainer in the run adds it itself."""
        if self.deepspeed_file is None:
            return []
        from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

        return [DeepSpeedConfig([self.deepspeed_file], self.facts.replace(complete=False, kind_given=False, overrides=()))]


def in_block(values: ConfigMapping, key: str) -> bool:
    """Whether a block of a file has the key of a flag, which in the block of FSDP may lack its prefix."""
    block, _, name = key.rpartition(".")
    section = values.get(block)
    return isinstance(section, dict) and not {name, name.removeprefix("fsdp_")}.isdisjoint(section)


def launched_gpus(document: Document, facts: LaunchFacts) -> tuple[int, str] | None:
    config = AccelerateConfig([document], facts)
    return (config.started, config.setting("num_processes").place) if config.started else None


def resolve(config: AccelerateConfig) -> Batch:
    """The layout of the processes; the batch sizes are set by the script and unknown here."""
    processes = config.started if config.facts.gpus is None else config.facts.gpus
    unknown = derived("batch", None, "set by the script")
    tensor, context, sequence = (config.axis(name) or 1 for name in ("tp", "cp", "sp"))
    layout = Layout(processes, tensor, context_parallel=context, sequence_parallel=sequence)
    replica = tensor * context * sequence
    data_parallel = derived("data_parallel", processes // replica if processes else None, "processes")
    return Batch(layout, unknown, unknown, data_parallel, unknown, gpus_per_replica=replica)


def card(document: Document) -> str:
    node = document.find(("ec2_instance_type",))[1]
    found = of_instance(node.resolved().raw.strip("\"'")) if node is not None else None
    return found.name if found is not None else ""


def account(config: AccelerateConfig) -> Summary:
    summary = Summary(config.release)
    summary.add(LAUNCH, "distributed type", config.setting("distributed_type"))
    summary.add(LAUNCH, "machines", config.setting("num_machines", value=1))
    if config.per_machine is not None:
        summary.derive(LAUNCH, "processes per machine", "per_machine", config.per_machine, per_machine_because(config))
    section = "deepspeed_config"
    engines = config.nested_configs()
    decided = any(engine.get(name, "enabled") is True for engine in engines for name in ("fp16", "bf16"))  # and said by its summary
    is_open = config.facts.launch.not_read or config.lacks_engine
    if config.trainer is None and not decided and (config.precision_named or not is_open):
        summary.add(PRECISION, "precision", config.setting("mixed_precision", value="no"))
    by_default = config.makes_plugins and not config.has(section, "deepspeed_config_file")
    if config.uses_deepspeed and (config.has(section, "zero_stage") or by_default):
        summary.add(PRECISION, "ZeRO stage", config.setting(section, "zero_stage", value=DEFAULT_STAGE))
    for label, key in (("optimizer offload", "offload_optimizer_device"), ("weights offload", "offload_param_device")):
        if config.uses_deepspeed and config.has(section, key):
            from cfglint.frameworks.deepspeed.summary import add_offload

            add_offload(summary, label, config.setting(section, key), config.get(section, "zero_stage", default=DEFAULT_STAGE))
    if config.distributed == "FSDP":
        summary.add(PRECISION, "FSDP version", config.setting("fsdp_config", "fsdp_version", value=1))
    if config.trainer is None and config.facts.launch.consumer in ("", config.kind):
        summary.assumed.append("the script's arguments are not in these files: batch size and length are unknown")
    return summary


def per_machine_because(config: AccelerateConfig) -> str:
    setting = config.setting("num_processes")
    if not config.spawns:
        return f"distributed_type is {config.distributed}: the script is started once"
    if config.machines == 1:
        return str(setting)
    rest = config.processes % config.machines
    lost = f", {rest} not started" if rest else ""
    return f"{setting} / num_machines {config.machines}{lost}"
