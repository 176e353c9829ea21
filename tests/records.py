"""Recorded outcomes: text files of cases, each under a line that says what it is for.

    === what the case is for
    the input, where the file holds it
    => what comes of it

A file may begin with lines that its cases share.

`CFGLINT_UPDATE=1` writes what comes of the cases now; the difference is to be read. A failure prints each case that differs: what it is
for, its input, and where what came parts from what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from traceback import extract_tb

import pytest

MARK, CAME = "=== ", "=> "
LARGEST = 20_000  # bytes of a record: more is read by nobody
SHOWN = 8  # lines of a difference, and cases of a failure
REWRITE = "CFGLINT_UPDATE=1 records what comes now"
Outcomes = Mapping[str, Sequence[str]]  # what comes of each case, by what it is for


def read(path: Path) -> dict[str, list[str]]:
    """The lines of each case of a file, without empty ones at the end."""
    found: dict[str, list[str]] = {}
    case: list[str] = []
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
        if line.startswith(MARK):
            title = line.removeprefix(MARK)
            assert title not in found, f"{path}: two cases are for {title!r}"
            case = found.setdefault(title, [])
        else:
            case.append(line)
    return {title: trimmed(lines) for title, lines in found.items()}


def head(path: Path) -> list[str]:
    """What the cases of a file share: the lines before the first of them."""
    return trimmed(f"\n{path.read_text(encoding='utf-8')}".partition(f"\n{MARK}")[0].splitlines()[1:]) if path.exists() else []


def trimmed(lines: Iterable[str]) -> list[str]:
    """Lines as a file holds them, without empty ones at the end."""
    text = "\n".join(lines).rstrip("\n")
    return text.split("\n") if text else []  # `splitlines` breaks at characters that belong to a case


def written(shared: Sequence[str], cases: Outcomes) -> str:
    above = "".join(f"{line}\n" for line in (*shared, "")) if shared else ""
    return above + "\n".join(f"{MARK}{title}\n" + "".join(f"{line}\n" for line in trimmed(lines)) for title, lines in cases.items())


def given(lines: Sequence[str]) -> list[str]:
    """The input of a case."""
    return [line for line in lines if not line.startswith(CAME.strip())]


def failure(path: Path, now: Outcomes, updating: bool) -> str:
    """The cases of a file of which something else comes now; an empty string if there are none."""
    if updating:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(head(path), now), encoding="utf-8")
    return reported(path, read(path), now)


def reported(path: Path, expected: Outcomes, now: Outcomes) -> str:
    """The differences as a person reads them; an empty string if there are none."""
    differing = [*differences(expected, now)]
    if not differing:
        return ""
    more = [f"... and {len(differing) - SHOWN} more"] if len(differing) > SHOWN else []
    name = "/".join(path.parts[path.parts.index("tests") :])
    return "\n\n".join((f"{name}: {len(differing)} of {len(now)} cases differ; {REWRITE}", *differing[:SHOWN], *more))


def check(path: Path, now: Outcomes, updating: bool) -> None:
    """Fail with the cases of a file of which something else comes now."""
    differing = failure(path, now, updating)
    if differing:
        pytest.fail(differing, pytrace=False)


def check_folder(folder: Path, now: Mapping[str, Outcomes], updating: bool) -> None:
    """The same for a folder, by the names of its files; a file of which nothing comes is not left there."""
    stale = [path for path in folder.glob("*.txt") if path.stem not in now]
    for path in stale if updating else ():
        path.unlink()
    failures = [f"{path.name}: no longer recorded" for path in stale if path.exists()]
    failures += filter(None, (failure(folder / f"{name}.txt", outcomes, updating) for name, outcomes in now.items()))
    if failures:
        pytest.fail("\n\n".join(failures), pytrace=False)


def check_parts(folder: Path, purpose: str, lines: Iterable[str], updating: bool) -> None:
    """The same for lines of which some are titles of cases, in a folder of files that a person can read, each with its purpose above."""
    now = titled(lines)
    if updating:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.txt"):
            path.unlink()
        for number, part in enumerate(parts(now, purpose), 1):
            (folder / f"{number}.txt").write_text(written((purpose,), part), encoding="utf-8")
    expected = {title: case for path in folder.glob("*.txt") for title, case in read(path).items()}
    differing = reported(folder, expected, now)
    if differing:
        pytest.fail(differing, pytrace=False)
    assert all(head(path) == [purpose] for path in folder.glob("*.txt")), f"{folder}: the first line is not {purpose!r}"


def titled(lines: Iterable[str]) -> dict[str, list[str]]:
    """The lines below each title."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(MARK):
            title = line.removeprefix(MARK)
            again = sum(other == title or other.startswith(f"{title}, again") for other in found)
            case = found.setdefault(f"{title}, again ({again})" if again else title, [])
        else:
            case.append(line)
    return found


def parts(cases: Outcomes, purpose: str) -> Iterable[dict[str, Sequence[str]]]:
    """The cases in their order, in parts that are no larger than a record may be."""
    part: dict[str, Sequence[str]] = {}
    for title, lines in cases.items():
        if part and len(written((purpose,), {**part, title: lines}).encode()) > LARGEST:
            yield part
            part = {}
        part[title] = lines
    yield part


def inputs(folder: Path) -> list[str]:
    """The input of each case of a folder."""
    return ["\n".join(given(lines)) for path in sorted(folder.glob("*.txt")) for lines in read(path).values()]


def check_cases(path: Path, answer: Callable[[str], Iterable[str]], updating: bool) -> None:
    """The same for a file, or each of a folder, that holds the input of each case: `answer` gives the lines that come of it."""
    if path.is_dir():
        for each in sorted(path.glob("*.txt")):
            check_cases(each, answer, updating)
        return
    inputs = {title: given(lines) for title, lines in read(path).items()}
    assert inputs, f"{path} has no cases"
    check(path, {title: [*text, *came(answered(answer, "\n".join(text), updating))] for title, text in inputs.items()}, updating)


def answered(answer: Callable[[str], Iterable[str]], text: str, updating: bool) -> list[str]:
    """What comes of a case; an exception is an outcome that no case expects, and none that is recorded."""
    try:
        return [*answer(text)]
    except Exception as error:
        if updating:
            raise
        *_, last = extract_tb(error.__traceback__)
        return [f"{type(error).__name__}: {error}, raised by {last.filename}:{last.lineno}: {last.line}"]


def came(outcome: Iterable[str]) -> list[str]:
    return [f"{CAME}{line}".rstrip() for lines in outcome for line in lines.split("\n")]


def differences(expected: Outcomes, now: Outcomes) -> Iterable[str]:
    """What is wrong, case by case."""
    for title in dict.fromkeys((*expected, *now)):
        if title not in now:
            yield f"[{title}]\n  is recorded, and there is no such case now"
        elif title not in expected:
            yield f"[{title}]\n  is not recorded; this came of it:\n{indented(now[title])}"
        elif trimmed(now[title]) != expected[title]:
            yield f"[{title}]\n{difference(expected[title], trimmed(now[title]))}"


def difference(expected: Sequence[str], now: Sequence[str]) -> str:
    """The input, then the lines that were expected and those that came."""
    has_input = any(line.startswith(CAME) for line in expected)
    lines = [f"  given:    {line}" for line in given(expected)[:SHOWN]] if has_input else []
    for same, start, end, since, until in SequenceMatcher(None, expected, now, autojunk=False).get_opcodes():
        if same != "equal":
            lines += [f"  after:    {line}" for line in expected[start - 1 : start] if start and not has_input]
            lines += [f"  expected: {line}" for line in expected[start:end][:SHOWN] or ["nothing here"]]
            lines += [f"  came:     {line}" for line in now[since:until][:SHOWN] or ["nothing here"]]
    return "\n".join(lines[: 4 * SHOWN])


def indented(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines[:SHOWN])
