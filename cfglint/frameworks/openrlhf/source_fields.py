"""The arguments of OpenRLHF's programs, from their source: the calls of `add_argument` before the line is parsed."""

from __future__ import annotations

import ast

from cfglint.source.annotations import Any, Iterator, Mapping
from cfglint.source.python.package import Module, SourceError, Tree, finder

FOLDER = "cli"
PREFIX = "train_"  # of the programs that train
ADD, PARSE = "add_argument", "parse_args"
STORES = {"store_true": True, "store_false": False}  # an action that takes no word -> what it stores
CALLS = {"int": int, "float": float}

find = finder("openrlhf", "OpenRLHF", f"{FOLDER}/{PREFIX}ppo_ray.py")


def programs(tree: Tree) -> dict[str, Module]:
    """The programs that train by their names: `sft`, `ppo_ray`."""
    files = sorted((tree.root / FOLDER).glob(f"{PREFIX}*.py"))
    return {path.stem.removeprefix(PREFIX): tree.file(f"{FOLDER}/{path.name}") for path in files if tree.may_open(path)}


def sections(tree: Tree) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Program -> argument -> (type, default, choices, number of words, name of the value if that is another one)."""
    return {name: of_program(module) for name, module in programs(tree).items()}


def of_program(module: Module) -> dict[str, tuple[Any, ...]]:
    return dict(arguments(module, main_block(module)))


def main_block(module: Module) -> list[ast.stmt]:
    """The statements of a program that run when it is started."""
    for statement in module.syntax.body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'":
            return statement.body
    raise SourceError(f"{module.path}: no main block")


def is_parsed(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == PARSE for node in ast.walk(statement))


def arguments(module: Module, body: list[ast.stmt], names: Mapping[str, str] | None = None) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The arguments that statements add; `names` are the values of the variables of loops around them."""
    for statement in body:
        if is_parsed(statement):
            return
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            for value in module.constant(statement.iter):
                yield from arguments(module, statement.body, {**(names or {}), statement.target.id: value})
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == ADD:
                yield argument(module, call, names or {})


def argument(module: Module, call: ast.Call, names: Mapping[str, str]) -> tuple[str, tuple[Any, ...]]:
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    option = str(value_of(module, call.args[0], names))
    if len(call.args) != 1 or not option.startswith("--"):
        raise module.refuse(call, "no single option")
    name = option.removeprefix("--")
    action = value_of(module, given["action"], names) if "action" in given else ""
    if action and action not in STORES:
        raise module.refuse(call, "an action without a rule")
    kind = ast.unparse(given["type"]) if "type" in given else "bool" if action else "str"
    words = 0 if action else value_of(module, given["nargs"], names) if "nargs" in given else None
    dest = str(value_of(module, given["dest"], names)) if "dest" in given else name
    default = default_of(module, given["default"], names) if "default" in given else not STORES[action] if action else None
    choices = tuple(value_of(module, given["choices"], names)) if "choices" in given else ()
    return name, (kind, default, choices, words, "" if dest == name else dest, *((STORES[action],) if action == "store_false" else ()))


def default_of(module: Module, node: ast.expr, names: Mapping[str, str]) -> Any:
    """The default that an expression is; None for what is not a finite constant: the time of the start, infinity."""
    try:
        value = value_of(module, node, names)
    except SourceError:
        return None
    return None if value == float("inf") else value


def value_of(module: Module, node: ast.expr, names: Mapping[str, str]) -> Any:
    """The value of an expression of constants and of the variables of loops."""
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        return "".join(str(value_of(module, part, names)) for part in parts)
    if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.Eq):
        test = [value_of(module, each, names) for each in (node.test.left, node.test.comparators[0])]
        return value_of(module, node.body if test[0] == test[1] else node.orelse, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS and len(node.args) == 1:
        return CALLS[node.func.id](value_of(module, node.args[0], names))
    return module.constant(node)
