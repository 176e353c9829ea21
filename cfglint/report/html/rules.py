"""The manual pages of rules as HTML: paragraphs, lists of indented lines unchanged, code in backticks."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup, escape

from cfglint.findings.rule import Rule
from cfglint.report.escapes import shown as harmless
from cfglint.report.manual import examples, summary
from cfglint.source.annotations import Iterable

MOST_WITH_EXAMPLES = 12  # up to this many rules are shown with their examples; with more the page would be too long


@dataclass
class RulePage:
    """The page of a rule."""

    code: str
    name: str
    summary: Markup
    body: Markup
    examples: list[tuple[Markup, str]]


def pages(codes: Iterable[str]) -> list[RulePage]:
    """The pages of the rules with these codes, in order; unknown codes are skipped."""
    from cfglint.rules.catalogue import every_rule

    wanted = set(codes)
    with_examples = len(wanted) <= MOST_WITH_EXAMPLES
    return [page(rule, with_examples) for rule in every_rule() if rule.code in wanted] if wanted else []


def page(rule: Rule, with_examples: bool = True) -> RulePage:
    body = Markup().join(map(block, blocks(rule.page.partition("\n")[2])))
    shown = [(inline(title), text) for title, text in examples(rule)] if with_examples else []
    return RulePage(rule.code, rule.name, inline(summary(rule)), body, shown)


def blocks(text: str) -> list[str]:
    """Split a page into paragraphs and indented blocks at blank lines."""
    return [part.strip("\n") for part in text.split("\n\n") if part.strip()]


def block(text: str) -> Markup:
    """A paragraph, or an indented block unchanged."""
    if all(line.startswith("    ") for line in text.splitlines()):
        kept = "\n".join(harmless(line[4:]) for line in text.splitlines())
        return Markup("<pre>{}</pre>").format(kept)
    return Markup("<p>{}</p>").format(inline(" ".join(text.split())))


def inline(text: str) -> Markup:
    """A sentence with the words in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts))
