"""torchrun and `python -m torch.distributed.run|launch`.

Source: torch 2.13.0 torch/distributed/run.py (get_args_parser, parse_min_max_nnodes, determine_local_world_size).
"""

from __future__ import annotations

from cfglint.launch.machine import number, visible
from cfglint.launch.options import read_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.launch_line import LaunchLine
    from cfglint.launch.machine import Machine
    from cfglint.source.shell.placed_text import Text

FLAGS = frozenset(("help", "standalone", "module", "no_python", "run_path", "virtual_local_rank", "use_env"))
SHORT = {"-m": "module", "-r": "redirects", "-t": "tee", "-h": "help"}
COUNTED = ("gpu", "auto", "cpu", "xpu")
NAMES = ("nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port", "rdzv_endpoint", "rdzv_backend", "rdzv_id", "standalone")


def read(line: LaunchLine, words: list[Text], machine: Machine) -> None:
    """Parse sizes and program of a torchrun line."""
    options = read_options(words, FLAGS, SHORT)
    line.options = options
    for name in list(options.given):  # argparse accepts a unique prefix of a name
        full = [each for each in NAMES if each.startswith(name)]
        if name not in NAMES and len(full) == 1 and len(name) > 3:
            options.given[full[0]] = options.given.pop(name)
    line.module = "module" in options
    rest = options.rest
    if "no_python" in options and rest and rest[0].string.rpartition("/")[2].startswith("python"):
        rest = rest[1:]
    line.program, line.arguments = (rest[0], rest[1:]) if rest else (None, [])
    per_node = options.text("nproc_per_node") or line.call.environment.get("PET_NPROC_PER_NODE")
    nodes = options.text("nnodes") or line.call.environment.get("PET_NNODES")
    if per_node is not None and per_node.value in COUNTED:
        each = visible(line, machine)
    else:
        each = number(per_node, 1, machine, line, "gpus_per_node")
    if options.open:
        each = machine.gpus_per_node if per_node is None else each
        if per_node is None:
            line.unsure("gpus_per_node", options.open)
    line.sized(each, node_count(line, nodes, machine, options.open))


def node_count(line: LaunchLine, text: Text | None, machine: Machine, more: tuple[str, ...]) -> int | None:
    """Parse `--nnodes N` or `N:N`; a range is elastic and has no fixed size."""
    if text is None and more:
        line.unsure("nodes", more)
        return machine.nodes
    if text is not None and text.value is not None and ":" in text.value:
        low, _, high = text.value.partition(":")
        if low == high and low.isdigit():
            return int(low)
        line.unsure("nodes", f"elastic --nnodes {text.value}")
        return machine.nodes
    return number(text, 1, machine, line, "nodes")
