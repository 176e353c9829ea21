"""torchrun and `python -m torch.distributed.run|launch`.

Source: torch 2.13.0 torch/distributed/run.py (get_args_parser, parse_min_max_nnodes, determine_local_world_size).
"""

from __future__ import annotations

import re

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason
from cfglint.launch.argparse_types import converted
from cfglint.launch.launcher import Launcher, integer
from cfglint.launch.line import LaunchLine, Options
from cfglint.launch.machine import Machine, Surroundings, number, visible
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.tables import listed, names

FLAGS = frozenset(("help", "standalone", "module", "no_python", "run_path", "virtual_local_rank", "use_env"))
OPTIONS = FLAGS | names(  # of torch 1.8 to 2.14
    "duplicate_stderr_filters duplicate_stdout_filters event_log_handler local_addr local_ranks_filter log_dir log_line_prefix_template "
    "logdir logs_specs master_addr master_port max_restarts monitor_interval nnodes node_rank nproc_per_node numa_binding "
    "print_completion rdzv_backend rdzv_conf rdzv_endpoint rdzv_id redirects role shutdown_timeout signals_to_handle start_method tee"
)
SHORT = {"-m": "module", "-r": "redirects", "-t": "tee", "-h": "help"}
COUNTED = ("gpu", "auto", "cpu", "xpu")
PORTS = {"rdzv_endpoint", "master_port", "main_process_port"}
BACKENDS = ("static", "c10d", "etcd", "etcd-v2")  # without those of other packages
INTEGERS = listed(  # the first five are positive
    "read_timeout join_timeout last_call_timeout close_timeout heartbeat_timeout keep_alive_interval keep_alive_max_attempt"
)
STREAMS = r"[0123]|(\d:[0123],)*\d:[0123]"  # of all processes, or of some by their local rank
RANK = ("--local-rank", "use_env", "start the program with `torchrun`, or pass `--use_env` to the launcher")


def node_count(line: LaunchLine, text: Text | None, machine: Machine, more: tuple[Reason, ...]) -> int | None:
    """Parse `--nnodes N` or `N:N`; a range is elastic and has no fixed size."""
    if text is None and more:
        line.unsure("nodes", *more)
        return machine.nodes
    if text is not None and text.value is not None and ":" in text.value:
        low, _, high = text.value.partition(":")
        if low == high and low.isdigit():
            return int(low)
        line.unsure("nodes", Reason("argument", f"elastic --nnodes {text.value}"))
        return machine.nodes
    return number(text, 1, machine, line, "nodes")


def not_processes(name: str, text: str) -> str:
    """The message of torchrun about `--nproc_per_node`; a number below 1 stops the agent."""
    number = integer(text)
    if number is None:
        return "" if text in COUNTED else f"ValueError: Unsupported nproc_per_node value: {text}"
    return "AssertionError" if number < 1 else ""


def not_nodes(name: str, text: str) -> str:
    """The message of torchrun about `--nnodes`, a number or a range."""
    if text.count(":") > 1:
        return f'RuntimeError: nnodes={text} is not in "MIN:MAX" format'
    low, mark, high = text.partition(":")
    least, most = integer(low), integer(high if mark else low)
    if least is None or most is None:
        wrong = low if least is None else high
        return f"ValueError: invalid literal for int() with base 10: {wrong!r}"
    if 0 < least <= most:
        return ""
    return f"AssertionError: min_nodes must be > 0 and <= max_nodes, got min_nodes={least}, max_nodes={most}"


def rendezvous(options: Options) -> str:
    """The backend of the rendezvous of a line; empty where torch's release decides: without a port, newer ones have `c10d` for `static`."""
    named = "c10d" if "standalone" in options else options.value("rdzv_backend") or "static"
    return named if named != "static" or not PORTS.isdisjoint(options.given) else ""


def refused_setting(key: str, text: str, backend: str) -> str:
    """The exception of a rendezvous for a value of `--rdzv_conf` (torch 2.13.0 distributed/elastic/rendezvous)."""
    count = integer(text)
    if backend == "static":
        return f"ValueError: invalid literal for int() with base 10: {text!r}" if key == "timeout" and count is None else ""
    if backend != "c10d" or key not in INTEGERS:
        return ""
    if count is None:
        return f"ValueError: The rendezvous configuration option '{key}' does not represent a valid integer value."
    if key not in INTEGERS[:5] or count > 0:
        return ""
    from datetime import timedelta

    needed = "a positive integer" if key == INTEGERS[0] else "positive"
    amount = "" if key == INTEGERS[0] else f" ({timedelta(seconds=count)})"
    return f"ValueError: The {key.removesuffix('_timeout')} timeout{amount} must be {needed}."


def refused_value(name: str, text: str, backend: str) -> str:
    """The exception of torchrun for the value of an option that is no count; empty if it accepts the value."""
    if name in ("tee", "redirects") and not re.fullmatch(STREAMS, text):
        return f"ValueError: {text} does not match: <^[0123]$> or <^(\\d:[0123],)*(\\d:[0123])$>"
    if name == "rdzv_backend" and not text:
        return "ValueError: The rendezvous backend name must be a non-empty string."
    if name == "rdzv_backend" and text not in BACKENDS:
        return f"ValueError: The rendezvous backend '{text}' is not registered. Did you forget to call `register`?"
    for pair in text.split(",") if name == "rdzv_conf" and text.strip() else ():
        key, _, value = (part.strip() for part in pair.partition("="))
        if not key:
            return "ValueError: The rendezvous configuration string must be in format <key1>=<value1>,...,<keyN>=<valueN>."
        if not value:
            return f"ValueError: The rendezvous configuration option '{key}' must have a value specified."
        if raised := refused_setting(key, value, backend):
            return raised
    count = converted("float", text) if name in ("max_restarts", "monitor_interval") else None
    is_low = isinstance(count, float) and (count < 0 or (count == 0 and name == "monitor_interval"))
    return "AssertionError" if is_low else ""


class Torchrun(Launcher):
    """torch.distributed's launcher: `--nproc_per_node` processes on each of `--nnodes` nodes."""

    starts_programs = sets_rank = True
    options, without_value, short = OPTIONS, FLAGS, SHORT
    own_options = frozenset(("nproc_per_node", "nnodes", "node_rank"))
    counts = {"nproc_per_node": not_processes, "nnodes": not_nodes}
    size_variable = "PET_NPROC_PER_NODE"
    nodes_variable = "PET_NNODES"

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        machine = around.machine
        options = self.parse(line, words)
        if "no_python" in options and line.program is not None and line.program.string.rpartition("/")[2].startswith("python"):
            line.starts(line.arguments, module=line.module)
        per_node = options.text("nproc_per_node") or line.call.environment.get(self.size_variable)
        nodes = options.text("nnodes") or line.call.environment.get(self.nodes_variable)
        if per_node is not None and per_node.value in COUNTED:
            each = visible(line, machine)
        else:
            each = number(per_node, 1, machine, line, "gpus_per_node")
        if options.open:
            each = machine.gpus_per_node if per_node is None else each
            if per_node is None:
                line.unsure("gpus_per_node", *options.open)
        line.sized(each, node_count(line, nodes, machine.with_nodes(each), options.open))
        return True

    def check(self, line: LaunchLine) -> None:
        for name, option in line.options.given.items():
            text = option.value.value if option.value is not None else None
            if text is not None and option.value is not None and (raised := refused_value(name, text, rendezvous(line.options))):
                message = f"`--{name}` is {text}, which torchrun does not accept"
                line.refuse("LCH018", option.value, f"--{name}", message, raised, remedy=f"correct `--{name}`, or remove it")

    def has_option(self, name: str) -> bool:
        """Whether its parser accepts an option; each has a name with dashes as well."""
        return super().has_option(name.replace("-", "_"))

    def why_fixed(self, line: LaunchLine, wanted: Size) -> str:
        per_node = wanted.per_node
        text = line.options.text("nproc_per_node")
        if text is None:
            return f"`{line.launcher}` starts one process per node; add `--nproc_per_node {per_node}`"
        if text.value in COUNTED:
            return f"`--nproc_per_node {text.value}` takes what the machine shows; write `--nproc_per_node {per_node}`"
        return f"`--nproc_per_node` is not a number that could be edited; write `--nproc_per_node {per_node}`"


class OfCommand(Torchrun):
    """`torchrun`."""

    name = "torchrun"
    commands = {"torchrun": ""}
    scripts = ("torch_launch.py",)
    marks = ("torchrun", "torch.distributed")
    own_options = frozenset((*Torchrun.own_options, "rdzv_backend", "rdzv_endpoint"))


class OfRun(Torchrun):
    """`python -m torch.distributed.run`."""

    name = "torch.distributed.run"
    modules = ("torch.distributed.run", "torch.distributed.elastic.run")


class OfLaunch(Torchrun):
    """`python -m torch.distributed.launch`, which passes the rank as an argument."""

    name = "torch.distributed.launch"
    modules = ("torch.distributed.launch",)
    added_rank = RANK


LAUNCHERS = (OfCommand(), OfRun(), OfLaunch())
