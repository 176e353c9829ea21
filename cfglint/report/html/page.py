"""Renders pages from templates: values are escaped, and harmless in a terminal and a browser."""

from __future__ import annotations

import json
import os
from functools import cache, partial
from operator import attrgetter

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from cfglint.findings.rule import Rule
from cfglint.report.escapes import shown
from cfglint.report.html.views import FindingView
from cfglint.report.manual import examples, summary
from cfglint.rules.catalogue import every_rule
from cfglint.source.annotations import ConfigTable
from cfglint.source.record import Record
from cfglint.version import __version__

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
MOST_WITH_EXAMPLES = 12  # up to this many rules are shown with their examples; with more the page would be too long
FILTERED = {"code": attrgetter("diagnostic.code"), "file": attrgetter("diagnostic.file"), "kind": attrgetter("kind")}
HARMLESS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


class RulePage(Record):
    code: str
    name: str
    summary: Markup
    body: Markup
    examples: list[tuple[Markup, str]]


def page(template: str, findings: list[FindingView], anchors: list[str], **values: object) -> str:
    """A complete page: `findings` are those that it shows, `anchors` those of its runs."""
    rules = rule_pages({finding.diagnostic.code for finding in findings})
    explained = {rule.code for rule in rules}
    for finding in findings:
        finding.has_page = finding.diagnostic.code in explained
    # The data for the page's script: runs, findings, and the filter values; findings refer to both by position.
    filters = {name: list(dict.fromkeys(map(value, findings))) for name, value in FILTERED.items()}
    entries = [
        {"id": finding.anchor, "run": anchors.index(finding.run), "severity": finding.diagnostic.severity}
        | {name: filters[name].index(value(finding)) for name, value in FILTERED.items()}
        for finding in findings
    ]
    given = {
        "findings": findings,
        "rules": rules,
        "data": embedded({"runs": anchors, "findings": entries}),
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
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        # Control characters and lone surrogates would affect the layout.
        finalize=lambda value: shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        count=lambda value: "?" if value is None else f"{value:,}",
        key=partial(breakable, mark="_"),
        lines=lambda text: Markup("\n").join(Markup("{}").format(shown(line)) for line in text.splitlines()),
        path=partial(breakable, mark="/"),
        signs=signs,
        words=words,
        plain=lambda text: signs(text.replace("`", "")),  # for titles
    )
    return made


SIZE_WORDS = ("micro", "batch", "accumulation", "data", "tensor", "pipeline", "context", "sequence", "parallel", "?")  # at either end


def signs(text: str) -> str:
    """A sentence with typographic signs: an arrow between two values, a cross between two factors.

    A factor is a number, a word of a size's name, or empty where code begins or ends.
    """
    parts = text.split(" ")
    for place in range(1, len(parts) - 1):
        if parts[place] == "->":
            parts[place] = "\u2192"
        elif parts[place] == "x" and all(
            not word or word[-1].isdigit() or word[0].isdigit() or word.strip("()") in SIZE_WORDS
            for word in (parts[place - 1], parts[place + 1])
        ):
            parts[place] = "\u00d7"
    return " ".join(parts)


def words(text: str) -> Markup:
    """A sentence of cfglint as HTML: backticks become code that may break after underscores, the rest gets typographic signs."""
    pieces = shown(text).split("`")
    if len(pieces) % 2 == 0:
        return Markup("{}").format(signs("`".join(pieces)))
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(breakable(piece, "_")) if place % 2 else signs(piece) for place, piece in enumerate(pieces))


def breakable(text: str, mark: str) -> Markup:
    return Markup(f"{mark}<wbr>").join(shown(text).split(mark))


def part(name: str) -> Markup:
    with open(os.path.join(TEMPLATES, name), encoding="utf-8") as file:
        return Markup(file.read())


def embedded(values: ConfigTable) -> Markup:
    """Values as JSON that cannot close the surrounding HTML element."""
    return Markup(json.dumps(values, separators=(",", ":")).translate(HARMLESS))


def rule_pages(codes: set[str]) -> list[RulePage]:
    """The pages of the rules with these codes, in order; unknown codes are skipped, and many have no examples."""
    if not codes:
        return []

    with_examples = len(codes) <= MOST_WITH_EXAMPLES
    return [rule_page(rule, with_examples) for rule in every_rule() if rule.code in codes]


def rule_page(rule: Rule, with_examples: bool = True) -> RulePage:
    """The manual page of a rule as HTML: paragraphs, lists of indented lines unchanged, code in backticks."""
    body = Markup()
    for text in filter(str.strip, rule.page.partition("\n")[2].split("\n\n")):
        rows = text.strip("\n").splitlines()
        if all(row.startswith("    ") for row in rows):
            body += Markup("<pre>{}</pre>").format("\n".join(shown(row[4:]) for row in rows))
        else:
            body += Markup("<p>{}</p>").format(inline(" ".join(text.split())))
    shown_examples = [(inline(title), text) for title, text in examples(rule)] if with_examples else []
    return RulePage(rule.code, rule.name, inline(summary(rule)), body, shown_examples)


def inline(text: str) -> Markup:
    """A sentence with the words in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts))
