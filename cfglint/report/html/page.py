"""Renders pages from templates: values are escaped, and harmless in a terminal and a browser."""

from __future__ import annotations

import json
import os
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from cfglint.report.escapes import shown
from cfglint.report.html.rules import pages
from cfglint.report.html.views import FindingView
from cfglint.source.annotations import ConfigTable
from cfglint.version import __version__

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
FILTERED = ("code", "file", "kind")  # the filters for findings, in addition to their severity
HARMLESS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def page(template: str, findings: list[FindingView], anchors: list[str], **values: object) -> str:
    """A complete page: `findings` are those that it shows, `anchors` those of its runs."""
    rules = pages(finding.code for finding in findings)
    explained = {rule.code for rule in rules}
    for finding in findings:
        finding.has_page = finding.code in explained
    given = {
        "findings": findings,
        "rules": rules,
        "data": embedded(index(findings, anchors)),
        "style": part("style.css"),
        "script": part("script.js"),
        "version": __version__,
    }
    return environment().get_template(template).render({**given, **values})


def fragment(**values: object) -> str:
    """A fragment of a page, for notebooks: diagrams and findings with their style, without a script."""
    return environment().get_template("fragment.html").render(style=part("style.css"), **values)


@cache
def environment() -> Environment:
    """The templates with escaping on."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(count=count, key=key, lines=lines, path=path, signs=signs, words=words, plain=plain)
    return made


def clean(value: object) -> object:
    """A string in which control characters and lone surrogates, which would affect the layout, are escaped."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def count(value: int | None) -> str:
    """A number with separators; `?` for an unknown one."""
    return "?" if value is None else f"{value:,}"


SIZE_WORDS = ("micro", "batch", "accumulation", "data", "tensor", "pipeline", "context", "sequence", "parallel", "?")  # at either end


def signs(text: str) -> str:
    """A sentence with typographic signs: an arrow between two values, a cross between two factors."""
    parts = text.split(" ")
    for place in range(1, len(parts) - 1):
        if parts[place] == "->":
            parts[place] = "\u2192"
        elif parts[place] == "x" and is_factor(parts[place - 1]) and is_factor(parts[place + 1]):
            parts[place] = "\u00d7"
    return " ".join(parts)


def is_factor(word: str) -> bool:
    """Whether a word next to an `x` is a factor: a number, a word of a size's name, or empty where code begins or ends."""
    return not word or word[-1].isdigit() or word[0].isdigit() or word.strip("()") in SIZE_WORDS


def words(text: str) -> Markup:
    """A sentence of cfglint as HTML: backticks become code that may break after underscores, the rest gets typographic signs."""
    pieces = shown(text).split("`")
    if len(pieces) % 2 == 0:
        return Markup("{}").format(signs("`".join(pieces)))
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(key(piece)) if place % 2 else signs(piece) for place, piece in enumerate(pieces))


def plain(text: str) -> str:
    """A sentence without its backticks, for titles."""
    return signs(text.replace("`", ""))


def path(text: str) -> Markup:
    """A path that may break after its slashes."""
    return breakable(text, "/")


def key(text: str) -> Markup:
    """A key that may break after its underscores."""
    return breakable(text, "_")


def breakable(text: str, mark: str) -> Markup:
    """A string that may be broken after a mark."""
    first, *rest = shown(text).split(mark)
    return Markup(f"{mark}<wbr>").join([first, *rest])


def lines(text: str) -> Markup:
    """A string of several lines, unchanged."""
    return Markup("\n").join(Markup("{}").format(shown(line)) for line in text.splitlines())


def part(name: str) -> Markup:
    """The content of a template file that is inserted unchanged."""
    with open(os.path.join(TEMPLATES, name), encoding="utf-8") as file:
        return Markup(file.read())


def index(findings: list[FindingView], anchors: list[str]) -> ConfigTable:
    """The data for the page's script: runs, findings, and the filter values; findings refer to both by position."""
    values = {name: list(dict.fromkeys(getattr(finding, name) for finding in findings)) for name in FILTERED}
    runs = {finding.anchor: anchors.index(finding.run) for finding in findings}
    entries = [
        {"id": finding.anchor, "run": runs[finding.anchor], "severity": finding.severity}
        | {name: values[name].index(getattr(finding, name)) for name in FILTERED}
        for finding in findings
    ]
    return {"runs": anchors, "findings": entries}


def embedded(values: ConfigTable) -> Markup:
    """Values as JSON that cannot close the surrounding HTML element."""
    return Markup(json.dumps(values, separators=(",", ":")).translate(HARMLESS))
