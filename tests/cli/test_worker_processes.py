"""Work dealt out to processes comes back in its order, and is not lost when one of them dies."""

from __future__ import annotations

import os
import select

import pytest

from cfglint.cli import main, worker_processes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

TRAINER = "output_dir: out\nper_device_train_batch_size: {0}\nbf16: true\ndeepspeed: ds-{0}.json\n"
DEEPSPEED = '{{"train_micro_batch_size_per_gpu": {0}, "gradient_accumulation_steps": "auto", "zero_optimization": {{"stage": 9}}}}\n'
FILES = 40


def squares(block):
    return [number * number for number in block]


@pytest.mark.parametrize("jobs", [1, 2, 3, 7])
def test_results_are_in_order(jobs):
    tasks = list(range(5 * worker_processes.BLOCK + 3))
    results = worker_processes.map_blocks(squares, tasks, jobs)
    assert [each for block in results for each in block] == squares(tasks)


def test_a_dying_process_loses_nothing():
    here = os.getpid()

    def work(block):
        if os.getpid() != here:
            os._exit(9)
        return squares(block)

    tasks = list(range(4 * worker_processes.BLOCK))
    assert [each for block in worker_processes.map_blocks(work, tasks, 2) for each in block] == squares(tasks)


def test_an_exception_is_raised_here():
    def work(block):
        raise LookupError(str(block[-1]))

    with pytest.raises(LookupError):
        worker_processes.map_blocks(work, list(range(4 * worker_processes.BLOCK)), 2)


class Clock:
    """A clock that goes on only while there is work, however busy the machine is."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def work_of(self, seconds):
        """Work whose tasks take this long; its results are the processes that did it."""

        def work(block):
            self.now += seconds * len(block)
            return os.getpid()

        return work


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(worker_processes, "time", found)
    return found


@pytest.mark.parametrize("seconds", [0.0001, 0.0005])  # before and after it is known what a task costs
def test_little_work_is_done_here(clock, seconds):
    assert set(worker_processes.map_blocks(clock.work_of(seconds), list(range(10 * worker_processes.BLOCK)))) == {os.getpid()}
    assert clock.now == pytest.approx(10 * worker_processes.BLOCK * seconds)


def test_processes_have_enough_to_do():
    assert worker_processes.useful_processes(0.0) == worker_processes.useful_processes(1.9 * worker_processes.SHARE) == 1
    assert worker_processes.useful_processes(100 * worker_processes.SHARE) == min(worker_processes.cores(), worker_processes.MOST)


def test_a_few_dear_tasks_are_shared(clock, monkeypatch):
    monkeypatch.setattr(worker_processes, "cores", lambda: 2)
    work = clock.work_of(0.06)
    assert len(set(worker_processes.map_blocks(together(work, trials=2), list(range(10))))) == 2


def together(work, trials):
    """The work, of which this process does no more than the trials until another one takes a part."""
    here, (heard, told) = os.getpid(), os.pipe()
    calls = []

    def wait_for_others(block):
        calls.append(block)
        if os.getpid() != here:
            os.write(told, b"x")
        elif len(calls) == trials + 1:
            select.select([heard], [], [], 60)
        return work(block)

    return wait_for_others


def test_a_process_that_is_slow_leaves_the_rest_to_the_others():
    here = os.getpid()
    ready, done = os.pipe()

    def work(block):
        if os.getpid() != here:
            os.read(ready, 1)  # until this process has done everything else
        elif block[-1] == tasks[-1]:
            os.write(done, b"x")
        return [(os.getpid(), number) for number in block]

    tasks = list(range(20 * worker_processes.BLOCK))
    results = [each for block in worker_processes.map_blocks(together(work, trials=1), tasks, 2) for each in block]
    assert [number for _, number in results] == tasks
    assert sum(process != here for process, _ in results) == worker_processes.BLOCK


def test_more_comes_back_than_a_pipe_holds():
    results = worker_processes.map_blocks(lambda block: ["x" * worker_processes.WIDE] * len(block), list(range(12)), 3)
    assert [len(each) for block in results for each in block] == [worker_processes.WIDE] * 12


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    for number in range(1, FILES + 1):
        (folder / f"train-{number}.yaml").write_text(TRAINER.format(number))
        (folder / f"ds-{number}.json").write_text(DEEPSPEED.format(number))
        (folder / f"other-{number}.json").write_text(DEEPSPEED.format(number))
    runs = "".join(f'[[run]]\nfiles = ["train-{number}.yaml"]\ngpus = {number}\n' for number in range(1, FILES + 1))
    (folder / "runs.toml").write_text(runs)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        (".", "--gpus", "8"),
        pytest.param((".", "--format", "json"), marks=pytest.mark.slow),
        pytest.param(("--config", "runs.toml", "--format", "html"), marks=pytest.mark.slow),
    ],
)
def test_the_report_does_not_tell_how_many_had_a_share(project, monkeypatch, capfd, arguments):
    monkeypatch.chdir(project)
    one, three = ((main(["check", *arguments, "--jobs", jobs]), capfd.readouterr()) for jobs in ("1", "3"))
    assert one[0] == 1
    assert one == three


@pytest.mark.parametrize("command", ["check --show runs --format=json", "init --declare"])
def test_the_list_of_runs_does_not_tell_how_many_had_a_share(tmp_path, monkeypatch, capfd, command):
    monkeypatch.chdir(tmp_path)
    for number in range(1, 13):
        processes = f"--nproc_per_node {number} " if number % 2 else ""
        (tmp_path / f"{number:02}.sh").write_text(f"torchrun {processes}train.py --output_dir out --per_device_train_batch_size {number}\n")
    monkeypatch.setattr(worker_processes, "TRIAL", 1e-9)
    shares = []
    for processes in (1, 3):
        monkeypatch.setattr(worker_processes, "useful_processes", lambda _, processes=processes: processes)
        shares.append((main([*command.split(), "--gpus", "8"]), capfd.readouterr()))
    not_read = "not read: the arguments of `train.py` (it is not in the project)"
    assert shares[0][1].err == f"cfglint: 12 runs, 12 launch lines; {not_read}\n"
    assert shares[0] == shares[1]
