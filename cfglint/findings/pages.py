"""The pages of rules, `pages/CODE.md`: what each says at its head, its text, and its examples.

What a run needs of the heads is in `_rules.py` (`tools/rebuild_rules.py`); a page itself is read for the manual, reports and tests alone.
"""

from __future__ import annotations

import os
from functools import cache
from textwrap import fill

from cfglint.findings._example_findings import RAISED, REMEDIES
from cfglint.source.annotations import Any, ConfigTable, Iterable, Iterator, TypeAlias
from cfglint.source.record import Record

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = (os.path.join(PACKAGE, "pages"), os.path.join(os.path.dirname(PACKAGE), "pages"))  # in a wheel, in a checkout

FAILS, ALSO_FAILS, PASSES, FIXED = "Fails", "Also fails", "Passes", "After `cfglint fix`"
HEADINGS = {f"## {title}": title for title in (FAILS, ALSO_FAILS, PASSES, FIXED)}

WIDTH = 115
MOST = 4  # exceptions or remedies of a page; one more is recorded, for which the page has "..."

Text: TypeAlias = str | dict[str, str]  # a file's content, or name -> content for a run of several files


class Example(Record):
    """A file, or a run of several files, in which a rule must find something.

    `at` is the JSON pointer of a finding, `exception` the beginning of its exception, `message` a part of its message.
    `facts` override those of the rule's `example`.
    """

    text: Text
    at: str | None = None
    exception: str | None = None
    message: str | None = None
    facts: ConfigTable = {}


class Page(Record):
    """A page: `head` has what stands between the two lines `---`, `text` what follows without the examples.

    The first bad example is the one that the manual shows; `fixed` is the result of `fix` for it, which is `good` if nothing else is.
    """

    head: ConfigTable
    text: str
    bad: list[Example] = []
    good: Text = ""
    fixed: Text | None = None


@cache
def page_of(code: str) -> Page:
    for folder in FOLDERS:
        path = os.path.join(folder, f"{code}.md")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return parsed(file.read())
    raise FileNotFoundError(f"{FOLDERS[-1]}/{code}.md: every rule has a page")


def parsed(content: str) -> Page:
    _, head, body = content.split("---\n", 2)
    text, *sections = _sections(body)
    page = Page(_values(head), "\n".join(text[1]).strip("\n"))
    for title, lines in sections:
        facts, files = _example(lines)
        content_of: Text = files.get("", files)
        if title == PASSES:
            page.good = content_of
        elif title == FIXED:
            page.fixed = content_of
        else:
            named = {name: facts.pop(name, None) for name in ("at", "exception", "message")}
            page.bad.append(Example(content_of, **named, facts=facts))
    page.good = page.good or page.fixed or ""
    return page


def _sections(body: str) -> Iterator[tuple[str, list[str]]]:
    """(title, lines) of the text, whose title is empty, and of each example."""
    title, lines, fence = "", list[str](), ""
    for line in body.split("\n"):
        if not fence and line in HEADINGS:
            yield title, lines
            title, lines = HEADINGS[line], []
            continue
        if line.startswith("```") and title:
            mark = line[: len(line) - len(line.lstrip("`"))]
            fence = mark if not fence else "" if line == fence else fence
        lines.append(line)
    yield title, lines


def _example(lines: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The facts of an example, a line `- fact: value` for each, and the content of its files by name, which is empty for one alone."""
    facts: list[str] = []
    files: dict[str, str] = {}
    fence = name = ""
    for line in lines:
        if fence:
            if line == fence:
                fence = ""
            else:
                files[name] += f"{line}\n"
        elif line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
            name = line[len(fence) :].partition(" ")[2]
            files[name] = ""
        elif line:
            facts.append(line.removeprefix("- "))
    return _values("\n".join(facts)), files


def _values(text: str) -> dict[str, Any]:
    """The values of a head or of facts, by libyaml where it is installed."""
    import yaml

    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}


def raised(code: str, raises: str | None) -> str:
    """The paragraph "Run-time error" of a rule's page, of what its bad examples raise; empty if nothing is known to be raised."""
    found = RAISED.get(code) or ((raises,) if raises else ())
    return paragraph("Run-time error" if len(found) == 1 else "Run-time errors", [quoted(each) for each in found])


def remedy(code: str) -> str:
    """The paragraph "Fix" of a rule's page; empty if its findings have no remedy."""
    return paragraph("Fix", REMEDIES.get(code, ()))


def paragraph(title: str, found: Iterable[str]) -> str:
    """A paragraph of a page: a title and some texts."""
    texts = [*found]
    text = "; ".join(texts[:MOST])
    text += "; ..." if len(texts) > MOST else "" if text.endswith((".`", ".``", "...", "?")) else "."
    return fill(f"{title}: {text}", WIDTH, break_long_words=False, break_on_hyphens=False) if texts else ""


def quoted(text: str) -> str:
    """An exception as code in Markdown, whatever backticks it has."""
    line = " ".join(text.split())
    return f"``{line}{' ' if line.endswith('`') else ''}``" if "`" in line else f"`{line}`"
