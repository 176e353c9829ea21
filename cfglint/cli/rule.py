"""`cfglint rule`: the manual page of a rule, or the list."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import columns, fail
from cfglint.cli.options import unknown_rule
from cfglint.report import manual
from cfglint.rules.catalogue import every_rule


def add_arguments(parser: Parser) -> None:
    """The options of `rule`."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code or name (default: list all rules)")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    parser.add_example("cfglint rule BAT001", "the manual page of a rule")


def run(arguments: Namespace) -> int:
    """Print the page, or the list of all rules."""
    rules = every_rule()
    if arguments.code is None:
        print(manual.book(rules) if arguments.format == "markdown" else manual.listing(rules, arguments.format, columns()), end="")
        return 0
    code, name = arguments.code.upper(), arguments.code.lower()
    found = next((each for each in rules if code == each.code or name in each.names), None)
    if found is None:
        family = [each.code for each in rules if each.code.startswith(code[:3])]
        return fail(unknown_rule(arguments.code) + (f"; codes: {', '.join(family)}" if family else ""))
    print(manual.page(found, arguments.format, columns()), end="")
    return 0
