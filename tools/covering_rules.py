"""Which rule of cfglint covers a check of a framework: by the words of the exceptions that the rules quote.

The words are the strings in the sources of the rules, as syntax trees tell them, and the exceptions that their pages name
and their examples were recorded with.
Nothing is listed by hand: a rule covers a check if it quotes an exception that the check may raise.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from raised_messages import SHORTEST, SPACES, parts_of
from source_checks import GAP, Check

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

SOURCES = ROOT / "cfglint"
RECORDS = ROOT / "tests" / "rules" / "expected"
RULE = re.compile(r"[A-Z]{3}\d{3}")
CODE = re.compile(r"\b(?:error|warning|info) ([A-Z]{3}\d{3}) ")
EXCEPTION = re.compile(r"^\s+exception: (.*)$")
CLASS = re.compile(r"^(?:[\w.]+\.)?([A-Z]\w+): ")
LEAST = 12  # characters of the longest part of a message
COVERED = 0.6  # of the words of a check that a quotation has
WRAPPER = "ValidationError"  # of pydantic, around the exception of a validator


class Quotation(NamedTuple):
    """What a rule quotes: the parts of the message, the class of the exception if it is known, and the code or place of the rule."""

    parts: tuple[str, ...]
    exception: str
    rule: str


def rules_of(check: Check, package: str) -> list[str]:
    """The codes of the rules that cover a check; the place of code that several rules use, if no code is known."""
    words = [part for part in check.message.split(GAP) if part.strip()]
    if sum(map(len, words)) < SHORTEST:
        return []
    found = [each.rule for each in quotations(package) if is_quoted(words, check.exception, each)]
    codes = sorted({each for each in found if CODE.match(f"error {each} ")})
    return codes or sorted(set(found))


def is_quoted(words: list[str], exception: str, quotation: Quotation) -> bool:
    """Whether a rule quotes an exception with these words, or its beginning."""
    if quotation.exception and quotation.exception not in (exception, WRAPPER):
        return False
    text = GAP.join(quotation.parts)
    longest = max(words, key=len)
    if len(text) >= SHORTEST * 2 and words[0].startswith(text):
        return True  # the beginning of a long message
    if len(longest) < LEAST or longest not in text:
        return False
    place = covered = 0
    for word in words:
        start = text.find(word, place)
        if start >= 0:
            covered, place = covered + len(word), start + len(word)
    return covered >= max(SHORTEST, COVERED * sum(map(len, words)))


@functools.cache
def quotations(package: str) -> tuple[Quotation, ...]:
    """All quotations of rules that may be about a package."""
    from cfglint.rules.catalogue import every_rule

    folders = [SOURCES / "rules", *(SOURCES / "frameworks" / kind for kind in kinds_of(package)), SOURCES / "launch"]
    found = [each for folder in folders for path in sorted(folder.rglob("[!_]*.py")) for each in in_source(path)]
    found += [each for rule in every_rule() if rule.raises for each in quotation([rule.raises], rule.code)]
    return tuple(dict.fromkeys([*found, *(each for path in sorted(RECORDS.rglob("*.txt")) for each in in_record(path))]))


def kinds_of(package: str) -> list[str]:
    """The kinds whose rules may quote the exceptions of a package: those that its release decides, and those that extend them."""
    from cfglint.frameworks import framework, kinds

    own = [kind for kind in kinds() if package in framework(kind).packages()]
    return [kind for kind in kinds() if kind in own or framework(kind).base in own] or kinds()


def in_source(path: Path) -> Iterator[Quotation]:
    """The strings of a module, each with the rule whose function it is in."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        rule = code_of(statement) or f"{path.parent.name}/{path.name}:{getattr(statement, 'name', '')}"
        yield from in_expression(statement, rule.rstrip(":"))


def code_of(statement: ast.stmt) -> str:
    """The code of the rule that a statement defines; empty for others."""
    for decorator in getattr(statement, "decorator_list", ()):
        first = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
        if isinstance(first, ast.Constant) and RULE.fullmatch(str(first.value)):
            return str(first.value)
    return ""


def in_expression(node: ast.AST, rule: str) -> Iterator[Quotation]:
    """The strings in a piece of source but docstrings."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    parts = parts_of(node) if isinstance(node, ast.expr) else None
    if parts is None:
        for child in ast.iter_child_nodes(node):
            yield from in_expression(child, rule)
    else:
        yield from quotation([SPACES.sub(" ", part) for part in parts], rule)


def in_record(path: Path) -> Iterator[Quotation]:
    """The exceptions of a record of examples, each with the code of its finding."""
    code = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        found, exception = CODE.search(line), EXCEPTION.match(line)
        code = found.group(1) if found else code
        if exception and code:
            yield from quotation([exception.group(1)], code)


def quotation(parts: list[str], rule: str) -> Iterator[Quotation]:
    """A string as a quotation, if it has enough words."""
    head = CLASS.match(parts[0])
    if head:
        parts = [parts[0][head.end() :], *parts[1:]]
    for wrapper in ("Value error, ", "Assertion failed, "):
        if wrapper in parts[0]:
            parts = [parts[0].partition(wrapper)[2], *parts[1:]]
    if sum(map(len, parts)) >= SHORTEST:
        yield Quotation(tuple(parts), head.group(1) if head else "", rule)
