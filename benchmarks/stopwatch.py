"""One command by the clock.

    python -I -S stopwatch.py [--memory] COMMAND...

prints `status seconds processor longest kilobytes`. It is a process of its own, and a small one: the largest
resident set that the kernel tells of a process starts with that of the process that started it. `--memory` looks at
all processes of the command while they run, which costs time. `longest` are the processor's seconds in the command's
own process or in those that it started, whichever is more: what two cores with nothing else to do would need.
"""

from __future__ import annotations

import os
import sys
import time

PAUSE = 0.002  # seconds between two looks at the memory


def timed(command: list[str], memory: bool) -> tuple[int, float, float, float, int]:
    """(status, seconds, processor seconds, those of the longest process, kilobytes) of a command whose output nobody reads."""
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    began = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=nothing)
    peak = watched(process) if memory else 0
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    seconds = time.perf_counter() - began
    below = of_children(process)
    _, status, usage = os.wait4(process, 0)
    processor = usage.ru_utime + usage.ru_stime
    largest = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    return os.waitstatus_to_exitcode(status), seconds, processor, max(processor - below, below), max(largest, peak)


def of_children(process: int) -> float:
    """Processor seconds of the children of a process that has ended; 0 where the system does not tell."""
    try:
        with open(f"/proc/{process}/stat") as told:
            fields = told.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def watched(process: int) -> int:
    """The most kilobytes that a process and its children had at once: what it holds, and what they hold beside it."""
    peak = 0
    while os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        children = descendants(process)
        if children:
            peak = max(peak, field(process, "Rss") + sum(map(own, children)))
        time.sleep(PAUSE)
    return peak


def descendants(process: int) -> list[int]:
    """The processes that a process has started, and those that they have; none where the system does not tell."""
    try:
        with open(f"/proc/{process}/task/{process}/children") as listed:
            children = [int(number) for number in listed.read().split()]
    except OSError:
        return []
    return children + [below for child in children for below in descendants(child)]


def own(process: int) -> int:
    """Kilobytes that no other process shares."""
    return field(process, "Private_Clean") + field(process, "Private_Dirty")


def field(process: int, name: str) -> int:
    """A number of what the kernel tells of a process's memory; 0 when the process has gone."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as told:
            return sum(int(line.split()[1]) for line in told if line.startswith(name + ":"))
    except OSError:
        return 0


if __name__ == "__main__":
    memory = sys.argv[1] == "--memory"
    print(*timed(sys.argv[2 if memory else 1 :], memory))
