"""What of a program is not read, so that nothing is known of what it may set."""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason
from cfglint.launch.kinds import kind_of_class
from cfglint.launch.program import ARGPARSE, HF_PARSERS, ProgramFacts, arguments_of
from cfglint.launch.programs.calls import MadeCall
from cfglint.launch.programs.classes import linearized
from cfglint.launch.programs.modules import FRAMEWORKS, Definition, External, ProgramModule
from cfglint.launch.programs.objects import Built, shown
from cfglint.launch.programs.parsers import Construction
from cfglint.launch.programs.scopes import FUNCTIONS, dotted
from cfglint.source.annotations import Iterator

# Calls by which a method of an own parser takes values from elsewhere than the line and the files that the framework's own methods read.
ELSEWHERE = frozenset(("parse_dict", "open", "load", "loads", "safe_load", "full_load", "read_text", "set_defaults"))


def unread_parsers(facts: ProgramFacts, made: list[Construction]) -> tuple[Reason, ...]:
    """The parsers of a program that are not understood, so that the values of its arguments are not known."""
    of_classes = [construction for construction in made if construction.kind in HF_PARSERS]
    if facts.parser == ARGPARSE or not made:
        return ()
    if of_classes and len(made) > 1:  # each of which may take a part of the line
        facts.parser = of_classes[0].kind
        return (parser_at(facts, of_classes[0], "it has several parsers"),)
    parser = made[0]
    if parser.kind not in HF_PARSERS:
        facts.parser = parser.kind
        composed = any(dotted(other.call.func)[-2:] == ["hydra", "main"] for other in made)
        why = "`hydra.main` fills none of the classes that are modelled" if composed else "its parser is not modelled"
        return (parser_at(facts, parser, why),)
    own = next(own_source(parser), None)
    if own is not None:
        module, node, name = own
        return (
            Reason("program", arguments_of(facts.path), f"own parser `{name}` in `{module.path}`", module.path, node.lineno, opens=True),
        )
    if {method for method, _ in parser.uses()} == {"parse_dict"}:
        return (parser_at(facts, parser, "the program makes the mapping that it parses"),)
    types = parser.types()
    lost = next((each for each in types if is_outside(parser, each)), None) if types is not None else parser.call
    if lost is not None:
        why = f"`{shown(lost)}` is not found in the project" if types is not None else "its classes are computed"
        return (parser_at(facts, parser, why),)
    return ()


def is_outside(parser: Construction, node: ast.expr) -> bool:
    """Whether a class that a parser fills, and that may be that of a framework's arguments, is neither the framework's nor found."""
    found = linearized(parser.scope.modules, parser.scope.resolve(node))
    roots = [each for each in found if not isinstance(each, Definition)]
    known = [root for root in roots if isinstance(root, External) and root.name.partition(".")[0] in FRAMEWORKS]
    return bool(roots) and not known


def unread_training(name: str, program: ProgramFacts) -> Reason:
    """The training of a program in which no call was found that builds its arguments: none that is modelled, or its class is computed."""
    calls = (node for scope in program.scopes for node in scope.nodes if isinstance(node, ast.Call))
    named = next(((call, each) for call in calls for each in dotted(call.func)[-1:] if kind_of_class(each)), None)
    if named is None:
        return Reason("program", f"the training of `{name}`", "it builds none of the arguments that are modelled", program.path)
    call, made = named
    return Reason("program", f"the training of `{name}`", f"`{made}` is not found in what it imports", program.path, call.lineno)


def unread_call(name: str, made: MadeCall, program: ProgramFacts, complete: bool) -> tuple[Reason, ...]:
    """What may set further values of what a call builds."""
    if not complete:
        what = f"the code of `{program.path.rpartition('/')[2]}`"
        return (Reason("program", what, "its evaluation stopped at the limit of steps", program.path, opens=True),)
    if not made.every:
        words = [keyword.value for keyword in made.node.keywords if keyword.arg is None] + [
            node.value for node in made.node.args if isinstance(node, ast.Starred)
        ]
        why = f"`{shown(words[0])}` is not known" if words else "they are not evaluated"
        return (unread_at(name, made, why),)
    if any(isinstance(result, Built) and result.is_open for result in made.results):
        return (unread_at(name, made, "the program passes them to code that may change them"),)
    return ()


def unread_at(name: str, made: MadeCall, why: str) -> Reason:
    return Reason("program", f"the arguments of `{name}`", why, made.module.path, made.node.lineno, opens=True)


def parser_at(facts: ProgramFacts, parser: Construction, why: str) -> Reason:
    return Reason("program", arguments_of(facts.path), why, parser.scope.module.path, getattr(parser.call, "lineno", 0), opens=True)


def own_source(parser: Construction) -> Iterator[tuple[ProgramModule, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """The methods of a parser of the project that take values from elsewhere, each with its module and the name of the class."""
    found = linearized(parser.scope.modules, parser.scope.resolve(parser.call.func)) if parser.is_own else []
    for each in found:
        if not isinstance(each, Definition) or not isinstance(each.node, ast.ClassDef):
            continue
        for line in each.node.body:
            if isinstance(line, FUNCTIONS) and calls_any(line):
                yield each.module, line, each.node.name


def calls_any(node: ast.AST) -> bool:
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any((dotted(call) or [getattr(call, "attr", "")])[-1] in ELSEWHERE for call in calls)
