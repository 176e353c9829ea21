"""Work dealt out to several processes, where there is enough of it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Task = TypeVar("Task")
    Result = TypeVar("Result")

BLOCK = 32  # tasks that are dealt out together; neighbours in a folder cost alike
LEAST = 500  # tasks of a process: about a tenth of a second, ten times what a process costs
MOST = 16  # processes that are started unasked


def spread(work: Callable[[list[Task]], Result], tasks: list[Task], jobs: int | None = None) -> list[Result]:
    """The results of `work` for the tasks, block by block in their order, however many processes had a share in it.

    `jobs` is their number, this one included; without it, as many as pay. Results travel pickled. The share of a
    process that does not come to its end is done here.
    """
    blocks = [tasks[start : start + BLOCK] for start in range(0, len(tasks), BLOCK)]
    processes = min(jobs or worthwhile(len(tasks)), len(blocks))
    if processes < 2 or not hasattr(os, "fork"):
        return [work(block) for block in blocks]
    hands = [start(work, blocks[number::processes]) for number in range(1, processes)]
    shares = [[work(block) for block in blocks[::processes]]]
    for number, (child, pipe) in enumerate(hands, 1):
        told: list[Result] | None = collect(child, pipe)
        shares.append([work(block) for block in blocks[number::processes]] if told is None else told)
    return [shares[number % processes][number // processes] for number in range(len(blocks))]


def worthwhile(tasks: int) -> int:
    """How many processes are faster than one: this many tasks at least for each, and a core."""
    share = tasks // LEAST
    return min(share, cores(), MOST) if share > 1 else 1


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start(work: Callable[[list[Task]], Result], blocks: list[list[Task]]) -> tuple[int, int]:
    """A process that works on some blocks: its number, and the pipe that its results come out of."""
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        return child, out
    try:
        os.close(out)
        import pickle

        with open(into, "wb") as pipe:
            pickle.dump([work(block) for block in blocks], pipe, pickle.HIGHEST_PROTOCOL)
    except BaseException:  # whatever it is, it happens again where the share is done once more
        os._exit(1)
    os._exit(0)


def collect(child: int, out: int) -> list[Result] | None:
    """What a process has to tell; None when it did not come to its end."""
    import pickle

    with open(out, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        return None
    results: list[Result] = pickle.loads(told)
    return results
