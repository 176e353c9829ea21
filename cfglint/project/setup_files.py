"""The requirements in a package's own setup.py and setup.cfg, which are parsed and never executed."""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEYWORD = "install_requires"


def requirements_of_cfg(text: str) -> list[str]:
    """The lines of `install_requires` in a setup.cfg; extras do not count."""
    from configparser import ConfigParser, Error

    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
        return parser.get("options", KEYWORD, fallback="").splitlines()
    except Error:
        return []


def requirements_of_script(text: str) -> list[str]:
    """The requirements that a setup.py passes to `install_requires`, if they are literal strings; else empty."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = assignments_of(module)
    for call in ast.walk(module):
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg == KEYWORD:
                    return [*strings(keyword.value, names, 0)]
    return [*strings(names[KEYWORD], names, 0)] if KEYWORD in names else []


def assignments_of(module: ast.Module) -> dict[str, ast.expr]:
    """The values that are assigned to names."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            found.update({target.id: node.value for target in node.targets if isinstance(target, ast.Name)})
    return found


def strings(value: ast.expr, names: dict[str, ast.expr], depth: int) -> Iterator[str]:
    """The strings of a list, of sums of lists, and of names bound to one."""
    if depth > 20:
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield from value.value.splitlines()
    elif isinstance(value, (ast.List, ast.Tuple)):
        for item in value.elts:
            yield from strings(item, names, depth + 1)
    elif isinstance(value, ast.BinOp):
        yield from strings(value.left, names, depth + 1)
        yield from strings(value.right, names, depth + 1)
    elif isinstance(value, ast.Name) and value.id in names:
        yield from strings(names[value.id], names, depth + 1)
