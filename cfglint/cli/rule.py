"""`cfglint rule`: the manual page of a rule, or the list."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import columns, fail
from cfglint.cli.options import unknown_rule
from cfglint.explanation.predicted import rules_of
from cfglint.findings.rule import Rule
from cfglint.report import manual
from cfglint.rules.catalogue import every_rule

SHORTEST_WORD = 3  # characters of a word that is looked for in the pages


def add_arguments(parser: Parser) -> None:
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code, name, key, word or exception (default: all rules)")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    parser.add_example("cfglint rule BAT001", "the manual page of a rule")
    parser.add_example("cfglint rule load_best_model_at_end", "the rules about a key")


def run(arguments: Namespace) -> int:
    rules = every_rule()
    if arguments.code is None:
        print(manual.book(rules) if arguments.format == "markdown" else manual.listing(rules, arguments.format, columns()), end="")
        return 0
    code, name = arguments.code.upper(), arguments.code.lower()
    found = next((rule for rule in rules if code == rule.code or name in rule.names), None)
    if found is not None:
        print(manual.page(found, arguments.format, columns()), end="")
        return 0
    about = rules_about(arguments.code, rules)
    if not about:
        family = [rule.code for rule in rules if rule.code.startswith(code[:3])]
        return fail(unknown_rule(arguments.code) + (f"; codes: {', '.join(family)}" if family else ""))
    print(manual.listing(about, arguments.format, columns()), end="")
    return 0


def rules_about(text: str, rules: list[Rule]) -> list[Rule]:
    """The rules that predict an exception, those of a family, or those whose page or example has a word."""
    predicted = rules_of(text) if " " in text else []
    if predicted:
        return [rule for rule in rules if rule.code in predicted]
    family = [rule for rule in rules if rule.code.startswith(text.upper())]
    if family:
        return family
    word = text.lower().strip("`'\"-").replace("-", "_")
    if len(word) < SHORTEST_WORD or "\n" in word:
        return []
    return [rule for rule in rules if word in f"{rule.page}\n{rule.bad}".lower().replace("-", "_")]
