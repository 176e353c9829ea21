"""The deepspeed launcher.

Source: deepspeed 0.19.8 deepspeed/launcher/runner.py (parse_args, fetch_hostfile, parse_resource_filter, main).
"""

from __future__ import annotations

from cfglint.frameworks.launch_line import MACHINE, NamedFile
from cfglint.launch.machine import VISIBLE, Machine, number, visible
from cfglint.launch.options import read_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cfglint.frameworks.launch_line import LaunchLine
    from cfglint.source.shell.placed_text import Text

FLAGS = frozenset(
    (
        "help", "module", "no_python", "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "save_pid", "elastic_training",
        "bind_cores_to_rank", "log_level_local",
    )
)  # fmt: skip
SHORT = {"-H": "hostfile", "-i": "include", "-e": "exclude", "-h": "help"}


def read(line: LaunchLine, words: list[Text], machine: Machine, text_of: Callable[[str], str | None]) -> None:
    """Parse sizes and program of a deepspeed line; `text_of` returns the content of a file named relative to the line's folder."""
    options = read_options(words, FLAGS, SHORT)
    line.options = options
    if "num_accelerators" in options.given:
        options.given["num_gpus"] = options.given["num_accelerators"]
    line.module = "module" in options
    line.program, line.arguments = (options.rest[0], options.rest[1:]) if options.rest else (None, [])
    hosts = hosts_of(line, text_of)
    filtered = options.text("include") or options.text("exclude")
    wanted = options.text("num_gpus"), options.text("num_nodes")
    if filtered is not None and any(text is not None for text in wanted):
        option = options.given["num_gpus" if wanted[0] is not None else "num_nodes"]
        message = f"`--{option.name}` cannot be combined with `--include` or `--exclude`"
        raised = "ValueError: Cannot specify num_nodes/gpus with include/exclude"
        line.report(
            "LCH005", "error", option.word, f"--{option.name}", message, raised, of_launcher=True, remedy=f"remove `--{option.name}`"
        )
    if filtered is not None:
        resources(line, machine, hosts, filtered, "include" in options)
    elif hosts is not None:
        sizes_with_hosts(line, machine, hosts)
    else:
        sizes_of_one_node(line, machine)


def hosts_of(line: LaunchLine, text_of: Callable[[str], str | None]) -> dict[str, int] | None:
    """The slots of each host in the hostfile; None without one. A missing hostfile counts as none."""
    assert line.options is not None
    named = line.options.text("hostfile")
    if named is None:
        return None
    line.files.append(NamedFile(named, "launcher:hostfile", ""))
    text = text_of(named.value) if named.value is not None else None
    if text is None:
        if named.value is None:
            line.unsure("nodes", named.reasons)
        return None
    hosts: dict[str, int] = {}
    for each in text.splitlines():
        fields = each.partition("#")[0].split()
        if len(fields) == 2 and fields[1].startswith("slots=") and fields[1][6:].isdigit():
            hosts[fields[0]] = int(fields[1][6:])
        elif fields:
            return None
    return hosts or None


def resources(line: LaunchLine, machine: Machine, hosts: dict[str, int] | None, text: Text, includes: bool) -> None:
    """Apply `--include host:0,1@host2` and `--exclude host:0`."""
    if text.value is None:
        line.unsure("gpus_per_node", text.reasons)
        line.sized(machine.gpus_per_node, machine.nodes)
        return
    slots: dict[str, list[int] | None] = {}
    for entry in text.value.split("@"):
        host, mark, numbers = entry.partition(":")
        slots[host.strip()] = slot_numbers(numbers) if mark else None
    if includes:
        counts = [len(numbers) if numbers is not None else (hosts or {}).get(host) for host, numbers in slots.items()]
    else:
        known: dict[str, int | None] = dict(hosts) if hosts else {"localhost": machine.gpus_per_node}
        counts = []
        for host, count in known.items():
            if host not in slots:
                counts.append(count)
            elif slots[host] is not None:
                counts.append(None if count is None else count - len(slots[host] or ()))
    if any(count is None for count in counts):
        line.unsure("gpus_per_node", MACHINE)
        line.machine = True
        counts = [machine.gpus_per_node if count is None else count for count in counts]
    set_node_sizes(line, counts)


def slot_numbers(text: str) -> list[int]:
    """Parse `0,1,4-7` into numbers."""
    found: list[int] = []
    for each in text.split(","):
        first, mark, last = each.strip().partition("-")
        if mark and first.isdigit() and last.isdigit() and len(last) < 5:
            found.extend(range(int(first), int(last) + 1))
        elif first.isdigit():
            found.append(int(first))
    return found


def set_node_sizes(line: LaunchLine, counts: list[int | None]) -> None:
    """Set the sizes of nodes, which may differ."""
    if len({*counts}) == 1:
        line.sized(counts[0], len(counts))
        return
    known = [count for count in counts if count is not None]
    line.gpus_per_node, line.nodes = None, len(counts)
    line.unsure("gpus_per_node", f"nodes differ: {known}")
    line.processes = sum(known) if len(known) == len(counts) else None


def sizes_with_hosts(line: LaunchLine, machine: Machine, hosts: dict[str, int]) -> None:
    """Set the sizes from the hosts of a file, limited by the numbers of nodes and GPUs in flags."""
    assert line.options is not None
    nodes = number(line.options.text("num_nodes"), None, machine, line, "nodes")
    each = number(line.options.text("num_gpus"), None, machine, line, "gpus_per_node")
    sizes = [*hosts.values()][: nodes if nodes is not None and nodes > 0 else None]
    counts: list[int | None] = [each if each is not None and each > 0 else size for size in sizes]
    set_node_sizes(line, counts)


def sizes_of_one_node(line: LaunchLine, machine: Machine) -> None:
    """Set the sizes without a hostfile: one node, with `--num_gpus` GPUs, else those of CUDA_VISIBLE_DEVICES or all of the machine."""
    assert line.options is not None
    options = line.options
    text, nodes_text = options.text("num_gpus"), options.text("num_nodes")
    nodes = number(nodes_text, 1, machine, line, "nodes")
    if "hostfile" in options and options.value("hostfile") is None:
        nodes = machine.nodes
    if nodes is not None and nodes < 1:
        nodes = 1
    given = number(text, -1, machine, line, "gpus_per_node")
    if given is not None and given > 0:
        line.sized(given, nodes)
        warn_ignored(line, f"`--num_gpus {given}`")
        return
    if given is None:
        line.sized(machine.gpus_per_node, nodes)
        return
    each = visible(line, machine)
    if options.open and text is None:
        line.unsure("gpus_per_node", options.open)
        each = machine.gpus_per_node
    line.sized(each, nodes)


def warn_ignored(line: LaunchLine, by: str) -> None:
    """Report that CUDA_VISIBLE_DEVICES is ignored if a flag selects GPUs."""
    value = line.call.environment.get(VISIBLE)
    if value is None or not value.value:
        return
    message = f"`{VISIBLE}={value.value}` is ignored by the deepspeed launcher: {by} selects the first GPUs of the machine"
    line.report("LCH006", "warning", value, VISIBLE, message, remedy=f"write `--include localhost:{value.value}`, and remove {VISIBLE}")
