"""The values that are written in a changed program or config file that no run covers, before and after."""

from __future__ import annotations

import ast
import re

from cfglint.launch.command import TRAINER_NAMES
from cfglint.launch.kinds import kind_of_class
from cfglint.launch.programs.modules import module_in
from cfglint.review.effects import is_of_training
from cfglint.review.settings import leaves, shortened_pair
from cfglint.run.paths import is_program
from cfglint.source.annotations import Callable, Collection, Iterator
from cfglint.source.files import syntax_by_name
from cfglint.source.parse import parse
from cfglint.source.python.nodes import walk

ABSENT, TOML = "(unset)", ".toml"
COMPUTED = "(computed)"
UNTOLD = ("", 0)  # for a constant that is too long to be told
MOST_VALUES = 5  # of one file
LARGEST = 200_000  # characters
SURE = 2  # arguments of a trainer

ASSIGNMENT = re.compile(r"\+*([a-z_]+(?:\.\w+)+)=\S+$")  # `optim.lr=1e-5`

Written = list[tuple[str, int]]
Values = dict[str, Written]  # name -> the values that are written for it and their lines, in their order


def changed_values(
    path: str, before: str, after: str, listed: Collection[str], only: Callable[[str], bool] | None = None
) -> dict[str, str]:
    """The values that differ in two versions of a file, as `learning_rate 1e-6 -> 1e-5`, by their names.

    Without the `listed`, which are names, and places as `train.py:12`. With `only` those of some names that both versions have.
    """
    if max(len(before), len(after)) > LARGEST:
        return {}
    new, old = values_of(path, after), values_of(path, before)  # the module of the new side is the one that was parsed last
    if not old or not new:
        return {}
    from difflib import SequenceMatcher

    texts: dict[str, str] = {}
    for name in dict.fromkeys(name for name in (*old, *new) if name not in listed and name.rpartition(".")[2] not in listed):
        was, now = old.get(name, []), new.get(name, [])
        if UNTOLD in (*was, *now) or (only is not None and not (only(name) and was and now)):
            continue
        pairs = [(spelled(was), spelled(now))] if not (was and now) else []
        # Of several values those that stand in the place of others: one that is inserted or deleted above does not shift them.
        ones, others = ([meaning(text) for text, _ in side] for side in (was, now))
        matcher = SequenceMatcher(None, ones, others, autojunk=False)
        for _, first, last, start, stop in matcher.get_opcodes() if not pairs else ():
            if last - first == stop - start:
                both = zip(was[first:last], now[start:stop], strict=True)
                pairs += [(one, other) for (one, _), (other, line) in both if f"{path}:{line}" not in listed]
        changes = [
            f"`{name}` {' -> '.join(shortened_pair(*pair))}" for pair in dict.fromkeys(pairs) if meaning(pair[0]) != meaning(pair[1])
        ]
        if changes:
            texts[name] = ", ".join(changes)
    return texts


def meaning(text: str) -> str:
    """A literal without its spelling: other quotes, or `2e-5` for `0.00002`, change nothing."""
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def spelled(values: Written) -> str:
    return ", ".join(text for text, _ in values if text != COMPUTED) or ABSENT


def first_values(texts: Collection[str]) -> list[str]:
    """The first changed values, and how many more there are."""
    more = len(texts) - MOST_VALUES
    return [*texts][:MOST_VALUES] + ([f"{more} more"] if more > 0 else [])


def values_of(path: str, text: str) -> Values:
    """The scalars of a YAML or JSON file, and lists of them, by their dotted paths; the literals of a program: arguments, attributes,
    defaults of parameters, of fields and of options of a command line.
    """
    values: Values = {}
    if path.endswith(TOML):
        from cfglint.launch.programs.config_files import REFUSED
        from cfglint.launch.programs.config_files import values as content

        found = content(path, text, "toml")
        return {} if found is REFUSED else {".".join(place): [(repr(value), 0)] for place, value in leaves(found)}
    if not is_program(path):
        document = parse(path, text, syntax_by_name(path))
        for place, key, node in () if document.problems else document.walk():
            items = [item.raw for item in node.items()]
            if key is not None and (node.raw or (items and all(items))):
                values.setdefault(".".join(map(str, place)), []).append((node.raw or f"[{', '.join(items)}]", 0))
        return values
    module = module_in(path, "", text)
    lines = module.code.encode().split(b"\n") if module is not None else []
    named = (pair for node in module.nodes for pair in named_values(node)) if module is not None else ()
    for name, value in named:
        written = values.setdefault(name, [])
        if is_literal(value):
            literal = lines[value.lineno - 1][value.col_offset : value.end_col_offset].decode()
            written.append((literal.strip("\"'").partition("=")[2] if "." in name else literal, value.lineno))
        else:
            is_computed = any(isinstance(part, (ast.Name, ast.Call)) for part in walk(value))
            written.append((COMPUTED, value.lineno) if is_computed else UNTOLD)
    return values


def named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The values that a node of a program gives a name."""
    if isinstance(node, ast.Call):
        first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        option = first if isinstance(first, str) and first.startswith("-") else None
        for keyword in node.keywords:
            if option and keyword.arg == "default":
                yield option, keyword.value
            elif keyword.arg and keyword.arg != "default" and not option:
                yield keyword.arg, keyword.value
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        nodes = [*node.args.posonlyargs, *node.args.args]
        yield from ((name.arg, value) for name, value in zip(nodes[::-1], node.args.defaults[::-1], strict=False))
        yield from ((name.arg, value) for name, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value)
    elif isinstance(node, (ast.List, ast.Tuple)):
        words = (
            (word, ASSIGNMENT.match(word.value)) for word in node.elts if isinstance(word, ast.Constant) and isinstance(word.value, str)
        )
        yield from ((match.group(1), word) for word, match in words if match)  # of a command
    elif isinstance(node, ast.Dict):
        keys = ((key.value, value) for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant))
        yield from ((key, value) for key, value in keys if isinstance(key, str) and is_of_training(key))
    elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
        keywords = node.value.keywords if isinstance(node.value, ast.Call) else []  # of `field(default=1)`
        yield node.target.id, next((keyword.value for keyword in keywords if keyword.arg == "default"), node.value)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Attribute) and isinstance(node.value, ast.Constant) and ast.unparse(target.value) != "self":
            yield target.attr, node.value  # `config.train.ema = True`


def is_literal(value: ast.expr) -> bool:
    """Whether an expression of one line is a number, a boolean, a string, or a list of these."""
    if value.lineno != value.end_lineno:
        return False
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    if isinstance(value, (ast.List, ast.Tuple)):
        return all(map(is_literal, value.elts))
    return isinstance(value, ast.Constant) and value.value is not ...


def unmodelled_class(path: str, text: str) -> str:
    """The imported class of no known kind that gets arguments of a trainer, as "`RLConfig` of `verifiers`"; empty without one."""
    module = module_in(path, "", text) if len(text) <= LARGEST else None
    nodes = module.nodes if module is not None else []
    packages = {
        each.asname or each.name: node.module.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for each in node.names
    }
    calls = [
        node for node in nodes if isinstance(node, ast.Call) and sum(keyword.arg in TRAINER_NAMES for keyword in node.keywords) >= SURE
    ]
    called = (node.func.id for node in calls if isinstance(node.func, ast.Name) and node.func.id[:1].isupper())
    return next((f"`{name}` of `{packages[name]}`" for name in called if name in packages and not kind_of_class(name)), "")
