"""The places of a launch that set or limit the number of its processes, with their values for another number of GPUs."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.launch.launcher import SizePlace, device_list, launcher_of
from cfglint.launch.line import LaunchLine, Option
from cfglint.launch.machine import VISIBLE
from cfglint.launch.slurm import Header, options_in
from cfglint.source.annotations import Callable, Iterator
from cfglint.source.change import EditRefused
from cfglint.source.shell.placed_text import Text

DEVICES = (VISIBLE, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")
NODES = ("nnodes", "num_nodes", "num_machines")
OF_JOB = ("nodes", "ntasks", "ntasks-per-node")


def size_places(line: LaunchLine, wanted: Size, before: Size) -> list[SizePlace]:
    """The values that keep a launch from this size, or that would contradict it; `before` is its current size, with 0 for unknown.

    Raises EditRefused for a list of devices that are not numbers.
    """
    found = [*of_options(line, wanted), *of_devices(line, wanted), *around_command(line, wanted, before)]
    changing = [size_place for size_place in found if size_place.text.string != size_place.after]
    # Of one number that several take the last, by which it is written: the header's, not a variable that Slurm sets from it.
    return [*{(size_place.text.place or id(size_place), size_place.after): size_place for size_place in changing}.values()]


def written(option: Option) -> str:
    return option.word.string.partition("=")[0]


def around_command(line: LaunchLine, wanted: Size, before: Size) -> Iterator[SizePlace]:
    """The requests of the Slurm header, and the options of the srun or mpirun before the command, that go with the current size."""
    yield from of_header(line.header, line.header.options, line.header.named, line, wanted, before)
    own = options_in(line.srun)
    yield from of_header(step_of(line, own), own, "srun --{}".format, line, wanted, before)
    if line.mpi:
        from cfglint.launch.mpi import places

        yield from places(line, wanted, before)


def of_options(line: LaunchLine, wanted: Size) -> Iterator[SizePlace]:
    given, launcher = line.options.given, launcher_of(line)
    counts = (("nproc_per_node", wanted.per_node), ("num_gpus", wanted.per_node), ("num_processes", wanted.processes))
    for name, count in counts:
        option = given.get(name)
        if option is not None and not option.in_file and option.value is not None and option.value.string.isdigit():
            yield SizePlace(written(option), option.value, str(count))
    yield from launcher.size_places(line, wanted)
    text = line.call.environment.get(launcher.size_variable) if "nproc_per_node" not in line.options else None
    if text is not None and text.string.isdigit():
        yield SizePlace(launcher.size_variable, text, str(wanted.per_node))
    if line.nodes is None or line.nodes == wanted.nodes:
        return
    for name in dict.fromkeys((*NODES, launcher.nodes_option.removeprefix("--"))):
        option = given.get(name)
        if option is not None and not option.in_file and option.value is not None and option.value.known:
            elastic = ":" in option.value.string
            yield SizePlace(written(option), option.value, f"{wanted.nodes}:{wanted.nodes}" if elastic else str(wanted.nodes))
    text = line.call.environment.get(launcher.nodes_variable)
    if text is not None and text.known:
        yield SizePlace(launcher.nodes_variable, text, str(wanted.nodes))


def of_devices(line: LaunchLine, wanted: Size) -> Iterator[SizePlace]:
    for name in DEVICES:
        text = line.call.environment.get(name)
        if text is None or not text.value or (text.place is None and line.header.gpus_option):  # set by Slurm, for the header
            continue
        decides = (line.by_devices and name == VISIBLE) or launcher_of(line).shares_devices
        yield from of_list(line, name, text, wanted.per_node, decides)
    option = launcher_of(line).devices_option
    listed = line.options.text(option)
    if listed is not None and listed.value and listed.value != "all":
        yield from of_list(line, f"--{option}", listed, wanted.per_node, decides=False)


def of_list(line: LaunchLine, key: str, text: Text, count: int, decides: bool) -> Iterator[SizePlace]:
    names = [each.strip() for each in (text.value or "").split(",") if each.strip()]
    if len(names) == count or (len(names) > count and not decides):
        return
    if not all(name.isdigit() for name in names):
        raise EditRefused(f"`{key}={text.value}` names devices that are not numbers; list {count} there", line.call.start)
    if launcher_of(line).is_one_process and len(names) == 1:
        raise EditRefused(launcher_of(line).why_fixed(line, Size(count, 1)), line.call.start)
    yield SizePlace(key, text, device_list([int(name) for name in names], count))


def step_of(line: LaunchLine, own: dict[str, Text]) -> Header:
    """The options of a srun, which takes nodes and tasks from the job if it does not set them itself."""
    return Header({**{name: text for name, text in line.header.options.items() if name in OF_JOB}, **own})


def tasks_of(line: LaunchLine) -> Size | None:
    """The tasks of each node that srun starts, and the nodes; None if they are unknown."""
    step = step_of(line, options_in(line.srun))
    if not all(word.known for word in line.srun) or step.tasks % step.nodes:
        return None
    return Size(step.tasks // step.nodes, step.nodes)


def of_header(
    header: Header, given: dict[str, Text], named: Callable[[str], str], line: LaunchLine, wanted: Size, before: Size
) -> Iterator[SizePlace]:
    """The requests of one header: those of its options that are `given` there, and how they are `named`."""
    each, option = header.gpus_per_node, header.gpus_option
    if header.tasks == before.nodes and not launcher_of(line).is_one_process:
        tasks = wanted.nodes  # one for each node, on which a launcher starts the processes
    else:
        tasks = wanted.processes if header.tasks == before.processes > 1 else header.tasks
    if each is not None and option in given:
        counts = {"gpus": wanted.processes, "gpus-per-task": -(-wanted.processes // max(tasks, 1))}
        now, count = each if option == "gres" else header.count(option), counts.get(option, wanted.per_node)
        is_short = each < wanted.per_node or (option == "gpus" and (now or 0) < count)
        if is_short or (each == before.per_node and now != count):
            yield requested(named(option), given[option], count)
    numbers = {"nodes": (before.nodes, wanted.nodes), "ntasks": (header.tasks, tasks)}
    if before.per_node > 1:
        numbers["ntasks-per-node"] = before.per_node, wanted.per_node
    for name, (current, new) in numbers.items():
        if name in given and header.number(name) == current:
            yield SizePlace(named(name), given[name], str(new))


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
