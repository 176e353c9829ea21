"""Distributes work over several processes if there is enough of it."""

from __future__ import annotations

import io
import os
import time
from typing import TypeVar

from cfglint.source.annotations import Any, Callable, Iterator

Task = TypeVar("Task")
Result = TypeVar("Result")
Work = Callable[[list[Task]], Result]

Tell = Callable[[int, int], None]

BLOCK = 16  # maximum number of tasks in a block
TURNS = 8  # minimum number of blocks per process, so that one slow task does not delay the others
NUMBER = 4  # bytes of the number of a block
TRIAL = 0.05  # seconds of work after which the time of a task can be estimated
SHARE = 0.15  # minimum seconds of work for a process: several times the cost of starting it
MOST = 16  # maximum number of processes without --jobs
WIDE = 1 << 20  # bytes that a pipe can buffer, so that the writing process need not wait


def map_blocks(work: Work[Task, Result], tasks: list[Task], jobs: int | None = None, tell: Tell = lambda done, total: None) -> list[Result]:
    """Apply `work` to blocks of the tasks and return the results in order, for any number of processes.

    `jobs` is the number of processes, including this one; by default as many as save time, estimated from the first tasks. Those run
    in this process, so that the others inherit its imports and caches. Results are pickled. The blocks of a process
    that ends early are done in this one. `tell` is called with the number of finished tasks and of all tasks.
    """
    if jobs == 1 or not tasks or not hasattr(os, "fork"):
        return run_here(work, [tasks[start : start + BLOCK] for start in range(0, len(tasks), BLOCK)], 0, tell)
    results = [work(tasks[:1])]
    began = now = time.perf_counter()
    while not jobs and len(results) < len(tasks) and now - began < TRIAL:
        results.append(work(tasks[len(results) : len(results) + 1]))
        now = time.perf_counter()
        tell(len(results), len(tasks))
    left = tasks[len(results) :]
    if not left:
        return results
    processes = jobs or useful_processes((now - began) / (len(results) - 1) * len(left))
    size = max(1, min(BLOCK, len(left) // (TURNS * processes)))
    blocks = [left[start : start + size] for start in range(0, len(left), size)]
    done = len(results)
    return results + (run_in_processes(work, blocks, processes, done, tell) if processes > 1 else run_here(work, blocks, done, tell))


def run_here(work: Work[Task, Result], blocks: list[list[Task]], done: int, tell: Tell) -> list[Result]:
    """Process all blocks in this process; `done` tasks were finished before."""
    total = done + sum(map(len, blocks))
    results = []
    for block in blocks:
        results.append(work(block))
        done += len(block)
        tell(done, total)
    return results


def useful_processes(seconds: float) -> int:
    """The number of processes that finish this much work fastest: enough work for each, and no more processes than cores."""
    return max(1, min(int(seconds / SHARE), cores(), MOST))


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_processes(work: Work[Task, Result], blocks: list[list[Task]], processes: int, done: int, tell: Tell) -> list[Result]:
    """Process the blocks in several processes, each of which takes the next one when it is ready; `done` tasks were finished before."""
    total = done + sum(map(len, blocks))
    waiting, into = os.pipe()  # the numbers of the blocks that no process has taken yet: all of them read it
    enlarge_buffer(into)  # so that this process need not wait until the others have taken some
    workers = [Worker(work, blocks, waiting, into) for _ in range(1, min(processes, len(blocks)))]
    with open(into, "wb") as pipe:  # now that all of them exist and may read
        pipe.write(b"".join(number.to_bytes(NUMBER, "big") for number in range(len(blocks))))
    found: dict[int, Result] = {}
    for number in taken(waiting):
        found[number] = work(blocks[number])
        tell(min(total, done + (number + 1) * len(blocks[0])), total)
        for worker in workers:
            worker.listen()
    os.close(waiting)
    for worker in workers:
        found.update(worker.results())
    return [found[number] if number in found else work(block) for number, block in enumerate(blocks)]


def taken(waiting: int) -> Iterator[int]:
    """Take one number after the other, until there are none left."""
    while number := os.read(waiting, NUMBER):
        yield int.from_bytes(number, "big")


class Worker:
    """A process that works on blocks, and the results received from it so far."""

    def __init__(self, work: Work[Task, Result], blocks: list[list[Task]], waiting: int, numbers: int) -> None:
        self.heard: list[bytes] = []
        self.pipe, into = os.pipe()
        self.child = os.fork()
        if not self.child:
            os.close(self.pipe)
            os.close(numbers)  # else they would never end
            try:
                import pickle

                enlarge_buffer(into)
                with open(into, "wb") as pipe:
                    for number in taken(waiting):
                        pickle.dump((number, work(blocks[number])), pipe, pickle.HIGHEST_PROTOCOL)
                        pipe.flush()
            except BaseException:  # the same error occurs again when the blocks are repeated in the main process
                os._exit(1)
            os._exit(0)
        os.close(into)
        os.set_blocking(self.pipe, False)

    def listen(self) -> None:
        """Receive available results without waiting for more."""
        try:
            while part := os.read(self.pipe, WIDE):
                self.heard.append(part)
        except BlockingIOError:
            return

    def results(self) -> dict[int, Any]:
        """Wait for the results, by number of the block; those of a process that ended early are not complete."""
        import pickle

        os.set_blocking(self.pipe, True)
        self.listen()
        os.close(self.pipe)
        _, status = os.waitpid(self.child, 0)
        found: dict[int, Any] = {}
        if status:
            return found
        text = io.BytesIO(b"".join(self.heard))
        while text.tell() < len(text.getbuffer()):
            found.update([pickle.load(text)])
        return found


def enlarge_buffer(pipe: int) -> None:
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, WIDE)
    except (ImportError, AttributeError, OSError):
        return
