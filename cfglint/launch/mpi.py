"""The processes that mpirun and mpiexec start (mpirun(1) of Open MPI 4.1, mpiexec(1) of MPICH 4)."""

from __future__ import annotations

from itertools import pairwise

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason
from cfglint.launch.launcher import SizePlace, launcher_of
from cfglint.launch.line import LaunchLine
from cfglint.source.annotations import Iterator
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.tables import names

COUNT = names("np n c")
PER_NODE = names("N npernode ppn perhost")
MAPPED = names("map-by map_by")  # `ppr:8:node`: so many processes per node
HOSTS = names("H host hosts")
HOSTFILE = names("hostfile machinefile f")
OPEN = Reason("file", "the hosts of the job, or of the file of mpirun")


def take_processes(line: LaunchLine) -> None:
    given = options(line.mpi)
    hosts = slots(given)
    each, count = number(first(given, PER_NODE) or mapped(given)), number(first(given, COUNT))
    if hosts:
        count = count if count is not None or None in hosts else sum(host for host in hosts if host is not None)
        nodes = len(hosts)
        each = each if each is not None or count is None or count % nodes else count // nodes
    else:
        nodes = 1 if each is None and not given.keys() & HOSTFILE else 0
        each = count if nodes else each
    if count is None:
        words = first(given, COUNT)
        line.processes = None
        line.unsure("processes", *(words.reasons if words is not None and not words.known else (OPEN,)))
        return
    line.processes = count
    if each and count % each == 0 and nodes in (0, count // each):
        line.gpus_per_node, line.nodes = each, count // each
    else:
        line.unsure("nodes", OPEN)


def options(words: list[Text]) -> dict[str, Text]:
    found: dict[str, Text] = {}
    for word, value in pairwise(words):
        if word.known and word.string.startswith("-"):
            found.setdefault(word.string.lstrip("-"), value)
    return found


def first(given: dict[str, Text], of: frozenset[str]) -> Text | None:
    return next((value for name, value in given.items() if name in of), None)


def number(text: Text | None) -> int | None:
    value = text.value if text is not None else None
    return int(value) if value is not None and value.isdigit() and 0 < len(value) < 7 and int(value) else None


def mapped(given: dict[str, Text]) -> Text | None:
    text = first(given, MAPPED)
    parts = text.string.split(":") if text is not None else []
    if text is None or len(parts) < 3 or parts[0] != "ppr" or not parts[2].startswith("node"):
        return None
    return text[4 : 4 + len(parts[1])]


def slots(given: dict[str, Text]) -> list[int | None]:
    text = first(given, HOSTS)
    hosts = [each.partition(":")[2] for each in text.value.split(",")] if text is not None and text.value else []
    return [int(host) if host.isdigit() else None for host in hosts]


def places(line: LaunchLine, wanted: Size, before: Size) -> Iterator[SizePlace]:
    """The values that set the processes, or the launchers of the nodes, which start the processes."""
    given = options(line.mpi)
    starts_launchers = not launcher_of(line).is_one_process
    size = Size(1, wanted.nodes) if starts_launchers else wanted
    count = first(given, COUNT)
    if starts_launchers and number(count) != before.nodes:
        return
    if count is not None and number(count) is not None:
        yield SizePlace("mpirun -np", count, str(size.processes))
    each = first(given, PER_NODE) or mapped(given)
    if each is not None and number(each) is not None:
        yield SizePlace("processes per node of mpirun", each, str(size.per_node))
    hosts = slots(given)
    text = first(given, HOSTS)
    if text is not None and len(hosts) >= wanted.nodes and None not in hosts and not starts_launchers:
        named = [each.partition(":")[0] for each in text.string.split(",")][: wanted.nodes]
        yield SizePlace("mpirun -H", text, ",".join(f"{name}:{size.per_node}" for name in named))
