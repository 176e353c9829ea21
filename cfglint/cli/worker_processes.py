"""Distributes work over several processes if there is enough of it."""

from __future__ import annotations

import os
import time

from cfglint.source.annotations import Any, Callable, NoReturn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Task = TypeVar("Task")
    Result = TypeVar("Result")
    Work = Callable[[list[Task]], Result]

Tell = Callable[[int, int], None]

BLOCK = 32  # maximum number of tasks in a block
TURNS = 4  # minimum number of blocks per process, so that one slow task does not delay the others
TRIAL = 0.05  # seconds of work after which the time of a task can be estimated
SHARE = 0.15  # minimum seconds of work for a process: several times the cost of starting it
MOST = 16  # maximum number of processes without --jobs
WIDE = 1 << 20  # bytes that a pipe can buffer, so that the writing process need not wait


def quiet(_done: int, _total: int) -> None:
    """Report no progress."""


def map_blocks(work: Work[Task, Result], tasks: list[Task], jobs: int | None = None, tell: Tell = quiet) -> list[Result]:
    """Apply `work` to blocks of the tasks and return the results in order, for any number of processes.

    `jobs` is the number of processes, including this one; by default as many as save time, estimated from the first tasks. Those run
    in this process, so that the others inherit its imports and caches. Results are pickled. The blocks of a process
    that ends early are done in this one. `tell` is called with the number of finished tasks and of all tasks.
    """
    if jobs == 1 or not tasks or not hasattr(os, "fork"):
        return run_here(work, split_into_blocks(tasks, BLOCK), 0, tell)
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
    blocks = split_into_blocks(left, max(1, min(BLOCK, len(left) // (TURNS * processes))))
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


def split_into_blocks(tasks: list[Task], size: int) -> list[list[Task]]:
    """Cut the tasks into blocks."""
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def useful_processes(seconds: float) -> int:
    """The number of processes that finish this much work fastest: enough work for each, and no more processes than cores."""
    return max(1, min(int(seconds / SHARE), cores(), MOST))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_processes(work: Work[Task, Result], blocks: list[list[Task]], processes: int, done: int = 0, tell: Tell = quiet) -> list[Result]:
    """Process the blocks in several processes, in turn; `done` tasks were finished before.

    The other processes are assumed to be as fast as this one.
    """
    processes = min(processes, len(blocks))
    total = done + sum(map(len, blocks))
    workers = [Worker(work, blocks[number::processes]) for number in range(1, processes)]
    parts: list[list[Result]] = [[]]
    for block in blocks[::processes]:
        parts[0].append(work(block))
        done += len(block) * processes
        tell(done, total)
        for worker in workers:
            worker.listen()
    for number, worker in enumerate(workers, 1):
        results = worker.results()
        parts.append([work(block) for block in blocks[number::processes]] if results is None else results)
    return [parts[number % processes][number // processes] for number in range(len(blocks))]


class Worker:
    """A process that works on some blocks, and the results received from it so far."""

    def __init__(self, work: Work[Task, Result], blocks: list[list[Task]]) -> None:
        self.blocks = len(blocks)
        self.heard: list[bytes] = []
        self.pipe, into = os.pipe()
        self.child = os.fork()
        if not self.child:
            os.close(self.pipe)
            work_loop(work, blocks, into)
        os.close(into)
        os.set_blocking(self.pipe, False)

    def listen(self) -> None:
        """Receive available results without waiting for more."""
        try:
            while part := os.read(self.pipe, WIDE):
                self.heard.append(part)
        except BlockingIOError:
            return

    def results(self) -> list[Any] | None:
        """Wait for the results; None if the process ended early."""
        import io
        import pickle

        os.set_blocking(self.pipe, True)
        self.listen()
        os.close(self.pipe)
        _, status = os.waitpid(self.child, 0)
        if status:
            return None
        text = io.BytesIO(b"".join(self.heard))
        return [pickle.load(text) for _ in range(self.blocks)]


def work_loop(work: Work[Task, Result], blocks: list[list[Task]], into: int) -> NoReturn:
    """Process the blocks, send the results one by one, and end the process."""
    try:
        import pickle

        enlarge_buffer(into)
        with open(into, "wb") as pipe:
            for block in blocks:
                pickle.dump(work(block), pipe, pickle.HIGHEST_PROTOCOL)
                pipe.flush()
    except BaseException:  # the same error occurs again when the blocks are repeated in the main process
        os._exit(1)
    os._exit(0)


def enlarge_buffer(pipe: int) -> None:
    """Enlarge the buffer of a pipe if the system allows it."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, WIDE)
    except (ImportError, AttributeError, OSError):
        return
