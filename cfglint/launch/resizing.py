"""The places of a launch that set or limit the number of its processes, with their values for another number of GPUs."""

from __future__ import annotations

from cfglint.launch.command import SIZE_VARIABLE
from cfglint.launch.deepspeed import slot_numbers
from cfglint.launch.findings import OF_TORCH
from cfglint.launch.machine import VISIBLE
from cfglint.launch.slurm import Header
from cfglint.launch.torchrun import COUNTED
from cfglint.source.change import EditRefused
from cfglint.source.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.launch_line import LaunchLine, Option
    from cfglint.source.shell.placed_text import Text

DEVICES = (VISIBLE, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")
OF_TOOLS = ("llamafactory-cli", "swift", "megatron")  # commands that take the processes of a node from a variable
NODES = {"nnodes": "NNODES", "num_nodes": "", "num_machines": ""}  # option -> the variable of OF_TOOLS


@record
class Size:
    """The size of a launch: processes of each node, and nodes."""

    per_node: int
    nodes: int

    @property
    def processes(self) -> int:
        """The processes on all nodes."""
        return self.per_node * self.nodes


@record
class SizePlace:
    """A value that has to change: its name for reports, the current text, and the new one."""

    key: str
    text: Text
    after: str


def size_places(line: LaunchLine, wanted: Size, before: Size | None) -> list[SizePlace]:
    """The values that keep a launch from this size, or that would contradict it; `before` is its current size.

    Raises EditRefused for a list of devices that are not numbers.
    """
    found = [*of_processes(line, wanted), *of_nodes(line, wanted), *of_devices(line, wanted), *of_slurm(line, wanted, before)]
    return [each for each in found if each.text.string != each.after]


def of_processes(line: LaunchLine, wanted: Size) -> Iterator[SizePlace]:
    """The options and variables that set the number of processes."""
    given = line.options.given if line.options is not None else {}
    counts = (("nproc_per_node", wanted.per_node), ("num_gpus", wanted.per_node), ("num_processes", wanted.processes))
    for name, count in counts:
        option = given.get(name)
        if option is None or option.in_file or option.value is None or not option.value.string.isdigit():
            continue
        yield SizePlace(written(option), option.value, str(count))
    included = line.options.text("include") if line.options is not None and line.launcher == "deepspeed" else None
    if included is not None and included.value is not None:
        yield SizePlace("--include", included, with_slots(included.value, wanted.per_node))
    for variable in variables(line):
        text = line.call.environment.get(variable)
        if text is not None and text.string.isdigit():
            yield SizePlace(variable, text, str(wanted.per_node))


def written(option: Option) -> str:
    """The name of an option as the line writes it."""
    return option.word.string.partition("=")[0]


def variables(line: LaunchLine) -> tuple[str, ...]:
    """The variables from which the launcher of a line takes the processes of a node."""
    if line.launcher in OF_TOOLS:
        return (SIZE_VARIABLE,)
    if line.launcher in OF_TORCH and (line.options is None or "nproc_per_node" not in line.options):
        return ("PET_NPROC_PER_NODE",)
    return ()


def with_slots(included: str, count: int) -> str:
    """`localhost:0,1@worker-1:0,1` with another number of slots on each host; a host without slots has all of its own."""
    entries: list[str] = []
    for entry in included.split("@"):
        host, mark, slots = entry.partition(":")
        numbers = slot_numbers(slots)
        entries.append(f"{host}{mark}{device_list(numbers, count)}" if mark and len(numbers) != count else entry)
    return "@".join(entries)


def device_list(numbers: list[int], count: int) -> str:
    """So many devices: the first of the current ones, or these and the lowest others."""
    chosen = [*dict.fromkeys(numbers)][:count]
    free = (number for number in range(count) if number not in chosen)
    if len(chosen) < count:
        chosen = sorted([*chosen, *(number for number, _ in zip(free, range(count - len(chosen)), strict=False))])
    return ",".join(map(str, chosen))


def of_nodes(line: LaunchLine, wanted: Size) -> Iterator[SizePlace]:
    """The options and variables that set the number of nodes, if another number is asked for."""
    if line.nodes is None or line.nodes == wanted.nodes:
        return
    given = line.options.given if line.options is not None else {}
    for name in NODES:
        option = given.get(name)
        if option is not None and not option.in_file and option.value is not None and option.value.known:
            elastic = ":" in option.value.string
            yield SizePlace(written(option), option.value, f"{wanted.nodes}:{wanted.nodes}" if elastic else str(wanted.nodes))
    text = line.call.environment.get("NNODES") if line.launcher in OF_TOOLS else None
    if text is not None and text.known:
        yield SizePlace("NNODES", text, str(wanted.nodes))
    if "nodes" in line.header and Header(line.header).number("nodes") == line.nodes:
        yield SizePlace("#SBATCH --nodes", line.header["nodes"], str(wanted.nodes))


def of_devices(line: LaunchLine, wanted: Size) -> Iterator[SizePlace]:
    """The lists of devices that show fewer GPUs than processes start, or that set the number of processes themselves."""
    for name in DEVICES:
        text = line.call.environment.get(name)
        if text is None or not text.value or (text.place is None and Header(line.header).gpus_option):  # set by Slurm, for the header
            continue
        decides = line.by_devices and name == VISIBLE
        yield from of_list(line, name, text, wanted.per_node, decides)
    listed = line.options.text("gpu_ids") if line.options is not None and line.launcher in ("accelerate", "trl", "axolotl") else None
    if listed is not None and listed.value and listed.value != "all":
        yield from of_list(line, "--gpu_ids", listed, wanted.per_node, decides=False)


def of_list(line: LaunchLine, key: str, text: Text, count: int, decides: bool) -> Iterator[SizePlace]:
    """A list of devices, if its length does not suit the number of processes."""
    names = [each.strip() for each in (text.value or "").split(",") if each.strip()]
    if len(names) == count or (len(names) > count and not decides):
        return
    if not all(each.isdigit() for each in names):
        raise EditRefused(f"`{key}={text.value}` names devices that are not numbers; list {count} there", line.call.start)
    if line.launcher == "python" and len(names) == 1:
        raise EditRefused(one_process(line, count), line.call.start)
    yield SizePlace(key, text, device_list([int(each) for each in names], count))


def of_slurm(line: LaunchLine, wanted: Size, before: Size | None) -> Iterator[SizePlace]:
    """The requests of the #SBATCH header, and of the srun before the command, that are too small or that go with the current size."""
    yield from of_header(line, Header(line.header), "#SBATCH --", wanted, before)
    step = Header(srun_options(line.srun))
    if step and wanted.nodes == 1:
        yield from of_header(line, step, "srun --", wanted, before)


def of_header(line: LaunchLine, header: Header, mark: str, wanted: Size, before: Size | None) -> Iterator[SizePlace]:
    """The requests of one header."""
    each, option = header.gpus_per_node, header.gpus_option
    agrees = before is not None and each == before.per_node
    if each is not None and option and (each < wanted.per_node or (agrees and each != wanted.per_node)):
        count = {"gpus": wanted.processes, "gpus-per-task": -(-wanted.processes // max(header.tasks, 1))}.get(option, wanted.per_node)
        yield requested(f"{mark}{option}", header.options[option], count)
    if before is None:
        return
    counts = (("ntasks-per-node", before.per_node, wanted.per_node), ("ntasks", before.processes, wanted.processes))
    for name, now, then in counts:
        if now > 1 and name in header.options and header.number(name) == now:
            yield SizePlace(f"{mark}{name}", header.options[name], str(then))


def requested(key: str, text: Text, count: int) -> SizePlace:
    """The number in `gpu:a100:2`, `a100:2` or `2`; `gpu` alone gets one. Of `gpu:2,nvme:1` the first request for GPUs counts."""
    parts = text.string.split(",")
    at = next((index for index, part in enumerate(parts) if part.startswith("gpu")), 0)
    start = sum(len(part) + 1 for part in parts[:at])
    last = parts[at].rpartition(":")[2]
    end = start + len(parts[at])
    if last.isdigit():
        return SizePlace(key, text[end - len(last) : end], str(count))
    return SizePlace(key, text[start:end], f"{parts[at]}:{count}")


def srun_options(words: list[Text]) -> dict[str, Text]:
    """The options of the srun before a command: `--name=value`, `--name value`."""
    found: dict[str, Text] = {}
    for index, word in enumerate(words):
        name, mark, _ = word.string.partition("=")
        if not name.startswith("--") or not word.known:
            continue
        if mark:
            found[name[2:]] = word[len(name) + 1 :]
        elif index + 1 < len(words):
            found[name[2:]] = words[index + 1]
    return found


def one_process(line: LaunchLine, count: int) -> str:
    """The message about a plain `python` line, which starts a single process."""
    return f"`python` starts one process; start the program with `torchrun --nproc_per_node {count}`"


def why_fixed(line: LaunchLine, wanted: Size) -> str:
    """Why a launch does not get a size by an edit of its script, and what to change by hand."""
    per_node = wanted.per_node
    options = line.options
    if line.launcher in OF_TORCH:
        given = options.text("nproc_per_node") if options is not None else None
        if given is None:
            return f"`{line.launcher}` starts one process per node; add `--nproc_per_node {per_node}`"
        if given.value in COUNTED:
            return f"`--nproc_per_node {given.value}` takes what the machine shows; write `--nproc_per_node {per_node}`"
        return f"`--nproc_per_node` is not a number that could be edited; write `--nproc_per_node {per_node}`"
    if line.launcher == "deepspeed":
        if options is not None and "hostfile" in options:
            return "`--hostfile` sets the nodes and their slots; change the slots in that file"
        if options is not None and "exclude" in options:
            return f"`--exclude` sets the GPUs; write `--include localhost:{device_list([], per_node)}` instead"
        return f"the number of GPUs of `deepspeed` is not known; add `--num_gpus {per_node}`"
    if line.launcher in ("accelerate", "trl", "axolotl") and line.processes == 1:
        several = f"`--multi_gpu --num_processes {wanted.processes}`"
        return f"`accelerate launch` starts one process, because neither the line nor its config asks for several; add {several}"
    if line.launcher in ("accelerate", "trl", "axolotl"):
        return f"the number of processes is not a number that could be edited; add `--num_processes {wanted.processes}`"
    if line.launcher in OF_TOOLS:
        return f"the number of processes is not a number that could be edited; put `NPROC_PER_NODE={per_node}` before the command"
    if line.launcher == "python" and not line.srun:
        return one_process(line, per_node)
    if line.srun:
        return f"`srun` starts the processes; set its tasks, and the GPUs of the job, to {wanted.processes}"
    return f"the number of processes of `{line.launcher}` is not set by an option that could be edited"
