"""A time limit for work that untrusted input can make endless: a regular expression, a schema that refers to itself."""

from __future__ import annotations

import signal
import threading

from cfglint.source.annotations import Any


class TimeLimitExceeded(Exception):
    """The work exceeded its time limit."""


class TimeLimit:
    """A context whose body raises TimeLimitExceeded after this many seconds of this process's CPU time.

    Matching a regular expression is interrupted, too. There is no limit outside of the main thread, and none on
    Windows: both lack the signal.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.armed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        self.handler: Any = None  # the one that this one replaces

    def __enter__(self) -> None:
        if self.armed:
            self.handler = signal.signal(signal.SIGVTALRM, give_up)
            signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        if self.armed:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, self.handler or signal.SIG_DFL)


def give_up(*_: object) -> None:
    raise TimeLimitExceeded
