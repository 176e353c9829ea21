"""`accelerate launch`: flags override the config file, which overrides defaults, key by key; the type of the launch comes from one of
them alone.

Source: accelerate 1.15.0 commands/launch.py (_validate_launch_command, launch_command), utils/launch.py (prepare_multi_gpu_env).
"""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason
from cfglint.findings.releases import Releases
from cfglint.launch._accelerate_options import OPTIONS
from cfglint.launch.accelerate_options import ACCUMULATION_VARIABLE, FLAGS, lacking, needed, refused
from cfglint.launch.launcher import Launcher, integer, not_an_integer
from cfglint.launch.launchers.torchrun import refused_value as refused_by_torchrun
from cfglint.launch.launchers.torchrun import rendezvous
from cfglint.launch.line import SIZES, LaunchLine, NamedFile, Option
from cfglint.launch.machine import Machine, Surroundings, number, visible
from cfglint.source.annotations import Any
from cfglint.source.shell.command import is_to_be_filled_in
from cfglint.source.shell.placed_text import Text

SHORT = {"-m": "module", "-q": "quiet", "-h": "help", "-t": "tee"}
CLUSTER = "tpu_cluster"  # which starts nothing by itself, and then the type of the file is not read
TYPES = ("multi_gpu", "tpu", "tpu_cluster", "use_deepspeed", "use_fsdp", "use_megatron_lm")
SEVERAL = {"MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "MULTI_HPU", "MULTI_NEURON"}
BLOCK = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device", "offload_param_device", "zero3_init_flag",
    "zero3_save_16bit_model", "deepspeed_config_file",
)  # fmt: skip
KEYS = {
    **{name: name for name in ("num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port")},
    **{name: name for name in ("mixed_precision", "gpu_ids", "rdzv_backend")},
    **{name: f"deepspeed_config.{name}" for name in BLOCK},
    **{name: f"fsdp_config.{name}" for name in OPTIONS if name.startswith("fsdp_")},
}  # keys of the config file -> flags
ONE_OF = ("cpu", "multi_gpu", "tpu", "use_deepspeed", "use_fsdp", "use_tp")  # of which only one may be passed, the last in some releases
ENGINE_FLAGS = {"use_deepspeed": "DEEPSPEED", "use_fsdp": "FSDP", "use_megatron_lm": "MEGATRON_LM", "multi_gpu": "MULTI_GPU"}
ENGINES = {"DEEPSPEED": "use_deepspeed", "FSDP": "use_fsdp", "MEGATRON_LM": "use_megatron_lm"}

NO_CONFIG = Reason("file", "the accelerate config file", "it is not in the project")
LOCAL = "LOCAL_MACHINE"
COUNT_IN_FILE = Releases(until=(0, 34, 0), package="accelerate")  # the class of the file requires `num_processes`
COUNT_ON_LINE = Releases((0, 34, 0), package="accelerate")  # the launcher requires it of the line or the file


def resolve(line: LaunchLine, around: Surroundings) -> None:
    options = line.options
    named = options.text("config_file")
    file: dict[Any, Any] | None = None
    if named is not None:
        line.files.append(NamedFile(named, "launcher:config_file", "accelerate"))
        file = around.values(named.value) if named.value is not None else None
        is_local = file is not None and "distributed_type" in file and file.get("compute_environment", LOCAL) == LOCAL
        if file is not None and is_local and "num_processes" not in file:
            message = "the accelerate config does not set `num_processes`, which accelerate before 0.34 requires in the file"
            raised = "TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'num_processes'"
            of_file(line, message, raised, "set `num_processes` in the accelerate config", COUNT_IN_FILE)
    resolve_with(line, around.machine, named, file)


def resolve_with(line: LaunchLine, machine: Machine, named: Text | None, file: dict[Any, Any] | None) -> None:
    """Compute the launch from the flags of a line and the values of a named file, None if these are unknown."""
    options = line.options
    if named is not None and file is None:
        line.unsure("gpus_per_node", *(named.reasons or (NO_CONFIG,)))
    # The launcher that runs: that of a flag, else the `distributed_type` of the file; empty for a single process.
    flags = [name for name in ("use_deepspeed", "use_fsdp", *TYPES) if name in options]
    kind = str((file or {}).get("distributed_type", ""))
    type_of = flags[0] if flags else "multi_gpu" if kind in SEVERAL else ENGINES.get(kind, "")
    type_of = "" if type_of == CLUSTER else type_of
    if named is not None and file is None and not type_of:
        processes = options.text("num_processes")
        total = None if processes is None else number(processes, None, machine, line, "processes")
        count = number(options.text("num_machines"), machine.nodes or 1, machine, line, "nodes")
        set_sizes(line, total if total is not None else machine.gpus, count)
        return
    total = total_processes(line, file, machine)
    machines = 1 if file is None or file.get("num_machines") is None else file["num_machines"]
    count = number(options.text("num_machines"), machines if type(machines) is int else None, machine, line, "nodes")
    line.values = dict(file or {})
    for name in ("num_processes", "num_machines", "mixed_precision"):
        text = options.text(name)
        if text is not None and text.value is not None:
            line.values[name] = int(text.value) if text.value.isdigit() else text.value
    line.values["type"] = type_of
    if not type_of and file is None and (total is None or total > 1):
        type_of = "multi_gpu"
    if not type_of or "cpu" in options:
        line.gpus_per_node, line.nodes, line.processes = 1, count if count else 1, 1
        line.unknown = [each for each in line.unknown if each[0] not in ("gpus_per_node", "processes")]
        option = options.given.get("num_processes")
        wanted = options.value("num_processes") or str((file or {}).get("num_processes", ""))
        if file is not None and wanted.isdigit() and int(wanted) > 1 and option is not None:  # of type NO, whatever its `num_processes`
            message = f"`--num_processes` is {wanted}, but one process starts: the accelerate config has `distributed_type: NO`"
            line.report("LCH007", "warning", option.word, "--num_processes", message, remedy="pass `--multi_gpu` as well")
        return
    line.inner = "deepspeed" if type_of == "use_deepspeed" and count is not None and count > 1 else "torchrun"
    if line.inner == "deepspeed" and total is not None and count is not None and total < count:
        total = None  # DeepSpeed's launcher starts all GPUs of a machine for 0 of them
    option = options.given.get("deepspeed_config_file")
    if option is not None and option.value is not None and option.value.value == "none":
        pass  # as if it were not passed
    elif option is not None and option.value is not None and type_of == "use_deepspeed":
        line.files.append(NamedFile(option.value, "launcher:deepspeed_config_file", "deepspeed"))
    elif option is not None and option.value is not None:
        message = "`--deepspeed_config_file` is ignored, because DeepSpeed is not enabled"
        line.report("LCH009", "warning", option.word, "--deepspeed_config_file", message, remedy="add `--use_deepspeed`")
    set_sizes(line, total, count)


def set_sizes(line: LaunchLine, total: int | None, machines: int | None) -> None:
    if total is None or machines is None:
        if machines is None:
            line.unsure("nodes", Reason("derived", "see num_machines"))
        line.gpus_per_node, line.nodes, line.processes = None, machines, None
        line.unsure("processes", SIZES)
        return
    each = total // machines if machines > 1 else total
    line.gpus_per_node, line.nodes = each, max(machines, 1)
    line.processes = each * max(machines, 1)
    if machines > 1 and total % machines:
        option = line.options.given.get("num_processes")
        word = option.word if option is not None else line.call.words[0]
        message = f"`num_processes` is {total}, not a multiple of `num_machines` ({machines}): {line.processes} processes start"
        line.report("LCH004", "warning", word, "--num_processes", message, remedy=("num_processes", line.processes))


def total_processes(line: LaunchLine, file: dict[Any, Any] | None, machine: Machine) -> int | None:
    """`num_processes`: the flag, else the file's, else the GPUs that are visible."""
    text = line.options.text("num_processes")
    if text is not None:
        return number(text, None, machine, line, "gpus_per_node")
    if file is None:
        if line.options.open:
            line.unsure("gpus_per_node", *line.options.open)
            return machine.gpus
        return visible(line, machine)
    given = file.get("num_processes")
    if given is None or given == -1:
        message = "the accelerate config does not set `num_processes`, and the line does not pass `--num_processes`"
        raised = "ValueError: You need to manually pass in `--num_processes` using this config yaml."
        # That of a file for SageMaker stays unset (accelerate 1.10.1 commands/launch.py:1086).
        is_local = "SAGEMAKER" not in str(file.get("compute_environment"))
        if is_local and str(file.get("distributed_type", "")) not in ("NO", "False", ""):
            of_file(line, message, raised, "pass `--num_processes N`", COUNT_ON_LINE)
        return None
    return given if type(given) is int else None


def of_file(line: LaunchLine, message: str, raised: str, remedy: str, releases: Releases) -> None:
    word = line.options.given["config_file"].word
    line.refuse("LCH008", word, "--config_file", message, raised, remedy=remedy, releases=releases)


class OfAccelerate(Launcher):
    """A launcher whose options for processes are those of `accelerate launch`."""

    counts = {"num_processes": not_an_integer, "num_machines": not_an_integer}
    devices_option = "gpu_ids"
    nodes_option = "--num_machines"

    def starts_simply(self, line: LaunchLine) -> bool:  # accelerate 1.15.0 commands/launch.py, simple_launcher
        if line.values is None or line.inner or "cpu" in line.options:
            return False
        return (line.options.value("gpu_ids") or line.values.get("gpu_ids") or "all") == "all"

    def why_fixed(self, line: LaunchLine, wanted: Size) -> str:
        if line.processes == 1:
            several = f"`--multi_gpu --num_processes {wanted.processes}`"
            return f"`accelerate launch` starts one process, because neither the line nor its config asks for several; add {several}"
        return f"the number of processes is not a number that could be edited; add `--num_processes {wanted.processes}`"


class AccelerateLauncher(OfAccelerate):
    """`accelerate launch`."""

    name = "accelerate"
    commands = {"accelerate": "launch", "accelerate-launch": ""}
    modules = ("accelerate.commands.launch",)
    marks = ("accelerate",)
    starts_programs = True
    without_value, short = FLAGS, SHORT
    own_options = frozenset(("num_processes", "num_machines", "multi_gpu", "use_deepspeed"))
    accumulation_option = "gradient_accumulation_steps"

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        self.parse(line, words)
        resolve(line, around)
        return True

    def has_option(self, name: str) -> bool:
        """Whether its parser accepts an option: no abbreviations, and dashes only in place of all underscores."""
        return name in OPTIONS or ("_" not in name and name.replace("-", "_") in OPTIONS)

    def check(self, line: LaunchLine) -> None:
        options = line.options
        total = options.value("num_processes") or ""
        count = integer(total)
        if "multi_gpu" in options and "config_file" not in options and count is not None and count < 2:
            raised = "ValueError: You need to use at least 2 processes to use `--multi_gpu`."
            message = f"`--num_processes` is {total}; `--multi_gpu` requires at least 2"
            remedy = "remove `--multi_gpu`, or pass a larger `--num_processes`"
            line.refuse("LCH008", options.given["num_processes"].word, "--num_processes", message, raised, remedy=remedy)
        given = [name for name in ONE_OF if name in options]
        if len(given) > 1:
            raised = f"ValueError: You can only use one of {', '.join(f'`--{name}`' for name in ONE_OF[:5])}"
            message = f"`--{given[0]}` and `--{given[1]}` cannot be passed together"
            line.refuse("LCH031", options.given[given[1]].word, f"--{given[1]}", message, raised, remedy=f"remove `--{given[1]}`")
        option = options.given.get("use_parallelism_config")
        if option is not None and "use_fsdp" not in options:
            raised = "ValueError: You cannot use `--use_parallelism_config` without `--use_fsdp` and `--fsdp_version=2`. "
            message = "`--use_parallelism_config` requires `--use_fsdp` on the line, whatever the config file has"
            line.refuse("LCH031", option.word, "--use_parallelism_config", message, raised, remedy="pass `--use_fsdp` as well")
        if {"module", "no_python"} <= options.given.keys():
            raised = "ValueError: --module and --no_python cannot be used together"
            message = "`--module` and `--no_python` cannot be passed together"
            line.refuse("LCH031", options.given["no_python"].word, "--no_python", message, raised, remedy="remove `--no_python`")
        for option in (*options.overridden, *options.given.values()):
            name = option.name
            flag = option.word.string.partition("=")[0]
            for releases in lacking(name, "-" in flag.lstrip("-")) if self.has_option(flag.lstrip("-")) and not option.in_file else ():
                message = f"`accelerate launch` has no option `{flag}` in accelerate {releases}"
                raised = f"SystemExit: 2 (error: unrecognized arguments: {flag})"
                line.refuse("LCH032", option.word, f"--{name}", message, raised, remedy=f"remove `{flag}`", releases=releases)
            text = option.value.value if option.value is not None and name not in self.counts else None
            if text is None or option.value is None or option.in_file or is_to_be_filled_in(option.value):
                continue
            refusals = [(f"SystemExit: 2 (error: {message})", of_some) for message, of_some in refused(name, text)]
            if not refusals and line.inner == "torchrun" and (raised := refused_by_torchrun(name, text, rendezvous(options))):
                refusals = [(raised, None)]
            for raised, of_some in refusals:
                message = f"`--{name}` is {text}, which {self.name} does not accept"
                remedy = f"set `--{name}` to {needed(name)}" if raised.startswith("System") else f"correct `--{name}`, or remove it"
                line.refuse("LCH031", option.value, f"--{name}", message, raised, remedy=remedy, releases=of_some)

    def variables(self, line: LaunchLine) -> dict[str, str]:  # accelerate 1.15.0 utils/launch.py (prepare_deepspeed_cmd_env)
        values, option = line.values or {}, self.accumulation_option
        if values.get("type") != "use_deepspeed":
            return {}
        engine = values.get("deepspeed_config")
        written = engine.get(option) if isinstance(engine, dict) else None
        steps = line.options.value(option) if option in line.options else written
        return {ACCUMULATION_VARIABLE: str(steps)} if steps is not None else {}

    def flags(self, line: LaunchLine) -> list[tuple[str, Option, str | None]]:
        found: list[tuple[str, Option, str | None]] = []
        for name, option in line.options.given.items():
            if name in KEYS and option.value is not None:
                found.append((KEYS[name], option, None))
            if name == "num_processes" and line.inner == "torchrun" and line.values and not line.values["type"]:
                found.append(("distributed_type", option, "MULTI_GPU"))  # no file, no engine
            elif name in (*ENGINE_FLAGS, "cpu") or (name == CLUSTER and line.options.given.keys().isdisjoint(TYPES[:2] + TYPES[3:])):
                found.append(("distributed_type", option, ENGINE_FLAGS.get(name, "NO")))
        return found


LAUNCHERS = (AccelerateLauncher(),)
