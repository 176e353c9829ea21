"""Many small cases in one test: an item of pytest costs milliseconds, which a case of microseconds is not worth."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

import pytest

from explained import explain

Test = Callable[..., None]


def each_case(names: str | tuple[str, ...], cases: Collection[Any], ids: Callable[[Any], object] = repr) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, as a single test: every case is tried, and the test fails with all that failed, by name.

    The cases share the fixtures of the test. One that writes files, or counts on an untouched fixture, is for `parametrize`.
    """
    arguments = (names,) if isinstance(names, str) else names
    assert cases, "a test without cases checks nothing"

    def decorated(test: Test) -> Test:
        @functools.wraps(test)
        def every(*instance: object, **fixtures: object) -> None:
            failed = []
            for case in cases:
                values = (case,) if isinstance(names, str) else case
                try:
                    test(*instance, **fixtures, **dict(zip(arguments, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    explain(error)
                    failed.append(f"[{ids(case)}]\n{shown(error)}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(cases)} cases failed\n\n" + "\n\n".join(failed), pytrace=False)

        every.__signature__ = without(inspect.signature(test), arguments)  # type: ignore[attr-defined]
        return every

    return decorated


def without(signature: inspect.Signature, names: tuple[str, ...]) -> inspect.Signature:
    """What pytest fills with fixtures: the parameters that the cases do not give."""
    return signature.replace(parameters=[each for name, each in signature.parameters.items() if name not in names])


def shown(error: BaseException) -> str:
    """A failure as pytest shows it, from the test on."""
    found = pytest.ExceptionInfo.from_exception(error)
    found.traceback = found.traceback[1:]
    return str(found.getrepr(style="short"))
