"""The line on a terminal while a command works."""

from __future__ import annotations

import io
import sys

from cfglint.cli import progress
from cfglint.cli.progress import CLEAR, Progress
from cfglint.cli.worker_processes import map_blocks


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self):
        return True


def watched(monkeypatch, stream, clock):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    return Progress("files checked")


def test_appears_after_a_second_and_is_taken_away(monkeypatch):
    clock, stream = [0.0], Terminal()
    shown = watched(monkeypatch, stream, clock)
    shown(1, 1000)
    assert stream.getvalue() == ""
    clock[0] = 1.5
    shown(500, 1000)
    shown(501, 1000)
    shown.end()
    assert stream.getvalue() == f"{CLEAR}cfglint: 500 of 1,000 files checked{CLEAR}"


def test_items_of_an_unknown_number_are_counted(monkeypatch):
    clock, stream = [0.0], Terminal()
    watched(monkeypatch, stream, clock)
    taken = []
    for each in progress.counted_on_terminal("abc", "runs checked"):
        clock[0] += 0.8
        taken.append(each)
    assert taken == ["a", "b", "c"]
    assert stream.getvalue() == f"{CLEAR}cfglint: 3 runs checked{CLEAR}"


def test_nothing_where_nobody_looks(monkeypatch):
    clock, stream = [0.0], io.StringIO()
    shown = watched(monkeypatch, stream, clock)
    clock[0] = 9.0
    shown(1, 2)
    shown.end()
    assert stream.getvalue() == ""


def test_a_terminal_that_is_gone_ends_nothing(monkeypatch):
    clock, stream = [0.0], Terminal()
    shown = watched(monkeypatch, stream, clock)
    monkeypatch.setattr(stream, "write", lambda _: (_ for _ in ()).throw(OSError))
    clock[0] = 9.0
    shown(1, 2)
    shown.end()


def test_every_way_to_work_tells_how_far_it_is():
    for jobs in (1, 2, None):
        told = []
        assert sum(map_blocks(sum, [*range(100)], jobs, lambda done, total, told=told: told.append((done, total)))) == 4950
        assert told == sorted(told)
        assert {total for _, total in told} <= {100}
    assert told[-1][0] >= 100
