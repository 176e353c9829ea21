"""The deepspeed launcher (deepspeed 0.19.8 deepspeed/launcher/runner.py (parse_args, fetch_hostfile, parse_resource_filter, main))."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason
from cfglint.launch.launcher import Launcher, SizePlace, device_list, not_an_integer
from cfglint.launch.line import HOSTFILE, MACHINE, LaunchLine, NamedFile
from cfglint.launch.machine import VISIBLE, Machine, Surroundings, number, visible
from cfglint.source.annotations import Iterator
from cfglint.source.shell.command import is_placeholder
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.tables import names

FLAGS = names(
    "help module no_python no_local_rank no_ssh no_ssh_check force_multi save_pid elastic_training bind_cores_to_rank log_level_local quiet"
)
OPTIONS = FLAGS | names(  # of deepspeed 0.9.0 to 0.19.8
    "autotuning bind_core_list enable_each_rank_log exclude hostfile include launcher launcher_args log_level master_addr master_port "
    "max_elastic_nodes min_elastic_nodes node_rank num_accelerators num_gpus num_nodes ssh_port venv_script"
)
RANK = ("--local_rank", "no_local_rank", "pass `--no_local_rank` to the launcher")
SHORT = {"-H": "hostfile", "-i": "include", "-e": "exclude", "-h": "help", "-q": "quiet"}


def hosts_of(line: LaunchLine, around: Surroundings) -> dict[str, int] | None:
    """The slots of each host in the hostfile; None without one. A missing hostfile counts as none."""
    named = line.options.text("hostfile")
    if named is None:
        return None
    line.files.append(NamedFile(named, HOSTFILE, ""))
    text = around.text(named.value) if named.value is not None else None
    if text is None:
        if named.value is None:
            line.unsure("nodes", *named.reasons)
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
        line.unsure("gpus_per_node", *text.reasons)
        line.sized(machine.gpus_per_node, machine.nodes)
        return
    slots: dict[str, int | None] = {}
    for entry in text.value.split("@"):
        host, mark, numbers = entry.partition(":")
        wrong = next((each for each in numbers.split(",") if not each.strip().replace("-", "", 1).isdigit()), None) if mark else None
        if wrong is not None:
            raised = f"ValueError: invalid literal for int() with base 10: '{wrong}'"
            name = "include" if includes else "exclude"
            message = f"`--{name}` lists GPUs by their numbers, and `{wrong}` is none"
            if not is_placeholder(wrong) and not wrong.isupper():
                line.refuse("LCH018", text, f"--{name}", message, raised, remedy="write the numbers of the GPUs: `localhost:0,1`")
            line.sized(None, None)
            return
        slots[host.strip()] = sum(map(len, slot_ranges(numbers))) if mark else None
    if includes:
        counts = [number if number is not None else (hosts or {}).get(host) for host, number in slots.items()]
    else:
        known: dict[str, int | None] = dict(hosts) if hosts else {"localhost": machine.gpus_per_node}
        counts = []
        for host, count in known.items():
            if host not in slots:
                counts.append(count)
            elif slots[host] is not None:
                counts.append(None if count is None else count - (slots[host] or 0))
    if any(count is None for count in counts):
        line.unsure("gpus_per_node", MACHINE)
        line.machine = True
        counts = [machine.gpus_per_node if count is None else count for count in counts]
    set_node_sizes(line, counts)


def slot_ranges(text: str) -> list[range]:
    """Parse `0,1,4-7` into ranges of numbers."""
    found: list[range] = []
    for each in text.split(","):
        first, _, last = each.strip().partition("-")
        if is_number(first):
            found.append(range(int(first), int(last if is_number(last) else first) + 1))
    return found


def is_number(text: str) -> bool:
    """Whether a text is the number of a slot; no machine has a number of more digits."""
    return text.isdigit() and text.isascii() and len(text) < 5


def set_node_sizes(line: LaunchLine, counts: list[int | None]) -> None:
    if len({*counts}) == 1:
        line.sized(counts[0], len(counts))
        return
    known = [count for count in counts if count is not None]
    line.gpus_per_node, line.nodes = None, len(counts)
    line.unsure("gpus_per_node", Reason("argument", f"nodes differ: {known}"))
    line.processes = sum(known) if len(known) == len(counts) else None


def sizes_of_one_node(line: LaunchLine, machine: Machine) -> None:
    """Set the sizes without a hostfile: one node, with `--num_gpus` GPUs, else those of CUDA_VISIBLE_DEVICES or all of the machine."""
    options = line.options
    text, nodes_text = options.text("num_gpus"), options.text("num_nodes")
    each = number(text, None, machine, line, "gpus_per_node") if text is not None and text.known else None
    nodes = number(nodes_text, 1, machine.with_nodes(each), line, "nodes")
    if "hostfile" in options and options.value("hostfile") is None:
        nodes = machine.nodes
    if nodes is not None and nodes < 1:
        nodes = 1
    given = number(text, -1, machine, line, "gpus_per_node")
    if given is not None and given > 0:
        line.sized(given, nodes)
        value = line.call.environment.get(VISIBLE)
        ranges = slot_ranges(value.value) if value is not None and value.value else []
        ends = [0, *(each.stop for each in ranges)]
        are_first = all(each.start == end for each, end in zip(ranges, ends, strict=False)) and ends[-1] == given
        if value is not None and value.value and not are_first:
            shown = f"`{VISIBLE}={value.value}`"
            message = f"{shown} is ignored by the deepspeed launcher: `--num_gpus {given}` selects the first GPUs of the machine"
            remedy = f"write `--include localhost:{value.value}`, and remove {VISIBLE}"
            line.report("LCH006", "warning", value, VISIBLE, message, remedy=remedy)
        return
    if given is None:
        line.sized(machine.gpus_per_node, nodes)
        return
    each = visible(line, machine)
    if options.open and text is None:
        line.unsure("gpus_per_node", *options.open)
        each = machine.gpus_per_node
    line.sized(each, nodes)


class DeepSpeedLauncher(Launcher):
    """The deepspeed launcher: all GPUs of each host, or those that options select."""

    name = "deepspeed"
    commands = {"deepspeed": "", "ds": ""}
    modules = ("deepspeed", "deepspeed.launcher.runner")
    marks = ("deepspeed",)
    selects_devices = True  # deepspeed 0.19.8 launcher/launch.py (main: CUDA_VISIBLE_DEVICES of each rank)
    words = ("ds",)
    starts_programs = sets_rank = True
    options, without_value, short = OPTIONS, FLAGS, SHORT
    own_options = frozenset(("num_gpus", "num_nodes", "include", "exclude", "hostfile", "master_port"))
    counts = {"num_gpus": not_an_integer, "num_nodes": not_an_integer}
    nodes_option = "--num_nodes"
    added_rank = RANK

    def for_nodes(self, line: LaunchLine, nodes: int) -> str:
        if "include" in line.options:
            return f"name {nodes} hosts in `--include`"
        return f"add `--num_nodes {nodes}`" if nodes < (line.nodes or 1) else f"list {nodes} hosts in the file of `--hostfile`"

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        machine = around.machine
        options = self.parse(line, words)
        if "num_accelerators" in options.given:
            options.given["num_gpus"] = options.given["num_accelerators"]
        hosts = hosts_of(line, around)
        filtered = options.text("include") or options.text("exclude")
        wanted = options.text("num_gpus"), options.text("num_nodes")
        if filtered is not None and any(text is not None for text in wanted):
            option = options.given["num_gpus" if wanted[0] is not None else "num_nodes"]
            message = f"`--{option.name}` cannot be combined with `--include` or `--exclude`"
            raised = "ValueError: Cannot specify num_nodes/gpus with include/exclude"
            line.refuse("LCH005", option.word, f"--{option.name}", message, raised, remedy=f"remove `--{option.name}`")
        if filtered is not None:
            resources(line, machine, hosts, filtered, "include" in options)
        elif hosts is not None:
            nodes = number(options.text("num_nodes"), None, machine, line, "nodes")
            each = number(options.text("num_gpus"), None, machine, line, "gpus_per_node")
            sizes = [*hosts.values()][: nodes if nodes is not None and nodes > 0 else None]
            set_node_sizes(line, [each if each is not None and each > 0 else size for size in sizes])
        else:
            sizes_of_one_node(line, machine)
        return True

    def check(self, line: LaunchLine) -> None:
        value, options = line.call.environment.get(VISIBLE), line.options
        nodes, word = options.value("num_nodes") or "", options.given["num_nodes"].word if "num_nodes" in options else None
        if word is None or "include" in options or "exclude" in options or "hostfile" in options:
            return
        if nodes == "1" and value is not None and value.value and value.place is not None and "num_gpus" not in options:
            raised = "ValueError: Cannot specify num_nodes/gpus with include/exclude"
            message = f"`--num_nodes 1` is refused together with {VISIBLE}: the launcher turns the variable into `--include`"
            line.refuse("LCH005", word, "--num_nodes", message, raised, remedy="remove `--num_nodes`")
        if nodes.isdigit() and int(nodes) > 1:
            message = f"`--num_nodes {nodes}` requires a hostfile: `--hostfile`, else /job/hostfile"
            line.report("LCH005", "warning", word, "--num_nodes", message, remedy="pass `--hostfile FILE`")

    def size_places(self, line: LaunchLine, wanted: Size) -> Iterator[SizePlace]:
        included = line.options.text("include")
        if included is None or included.value is None:
            return
        entries: list[str] = []
        for entry in included.value.split("@")[: wanted.nodes]:  # a host without slots has all of its own
            host, mark, slots = entry.partition(":")
            ranges, count = slot_ranges(slots), wanted.per_node
            numbers: dict[int, None] = {}  # the first different ones: there may be thousands on each of thousands of hosts
            for slot in (slot for each in dict.fromkeys(ranges) for slot in each):
                if len(numbers) >= count:
                    break
                numbers[slot] = None
            is_other = mark and sum(map(len, ranges)) != count
            entries.append(f"{host}{mark}{device_list([*numbers], count)}" if is_other else entry)
        yield SizePlace("--include", included, "@".join(entries))

    def why_fixed(self, line: LaunchLine, wanted: Size) -> str:
        if "hostfile" in line.options:
            return f"`--hostfile` sets the nodes and their slots; add `--num_nodes {wanted.nodes} --num_gpus {wanted.per_node}`"
        if "exclude" in line.options:
            return f"`--exclude` sets the GPUs; write `--include localhost:{device_list([], wanted.per_node)}` instead"
        return f"the number of GPUs of `deepspeed` is not known; add `--num_gpus {wanted.per_node}`"


LAUNCHERS = (DeepSpeedLauncher(),)
