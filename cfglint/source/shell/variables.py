"""Assignments and declarations; variables that are in effect for one command or one function only."""

from __future__ import annotations

from cfglint.source.annotations import Callable, SyntaxNode, Truth
from cfglint.source.shell.arithmetic import is_name
from cfglint.source.shell.command import is_in_page, is_placeholder
from cfglint.source.shell.execution import PER_STEP, Execution
from cfglint.source.shell.placed_text import EMPTY, GAP, Text, any_number, of_any_number, unknown
from cfglint.source.shell.reasons import PLACEHOLDER, computed
from cfglint.source.shell.script import part_of
from cfglint.source.shell.started_command import begins
from cfglint.source.shell.state import Saved


def assignment(shell: Execution, node: SyntaxNode) -> Truth:
    """Follow `name=value`, `name+=value`, `name=(...)`, `name[index]=value`, or several of them on a line of their own."""
    for child in node.children if node.type == "variable_assignments" else [node]:
        if child.type == "variable_assignment":
            assign(shell, child)
    return True


def assign(shell: Execution, node: SyntaxNode, anew: bool = False) -> str:
    """Assign, and return the name; `anew` if it is a variable of a function that begins with this."""
    target, value = part_of(node, "name"), part_of(node, "value")
    name = shell.source(target)
    adds = shell.source(node.children[1]) == "+=" if len(node.children) > 1 else False
    if name.endswith("]"):
        name, _, key = name.removesuffix("]").partition("[")
        text = shell.expander().string(value.start_byte, value.end_byte) if value is not None else EMPTY
        current = shell.state.variables.get(name)
        if isinstance(current, dict):
            key = key.strip("\"'")
            shell.state.assign(name, {**current, key: current.get(key, EMPTY) + text if adds else text})
        elif key.isdigit() and len(key) < 5 and not (isinstance(current, list) and any(map(of_any_number, current))):
            values = list(current) if isinstance(current, list) else [] if current is None else [current]
            values.extend([GAP] * (int(key) + 1 - len(values)))
            values[int(key)] = values[int(key)] + text if adds else text
            shell.state.assign(name, values)
        else:
            shell.state.assign(name, [any_number(computed(f"{name}[{key}]"))])
        return name
    if value is not None and value.type == "array":
        assign_array(shell, name, value, adds)
        return name
    start = node.children[1].end_byte if len(node.children) > 1 else node.end_byte
    text = shell.expander().string(start, node.end_byte)
    if adds:
        current = shell.state.variables.get(name)
        if isinstance(current, list):
            shell.state.assign(name, (current[0] if current else EMPTY) + text)
            return name
        text = shell.expander().value(name) + text if current is not None else text
    if name in shell.integers and (adds or not (text.value or "").lstrip("-").isdigit()):
        text = unknown(computed(f"declare -i {name}"))
    if is_in_page(text) and is_placeholder(text.string):
        text = unknown(PLACEHOLDER)
    shell.budget.spend(len(text.parts) // PER_STEP)
    if anew:
        shell.state.variables.pop(name, None)
    shell.state.assign(name, text)
    return name


def assign_array(shell: Execution, name: str, node: SyntaxNode, adds: bool) -> None:
    """Assign `name=(a b c)`, `name=([2]=a b)`; an associative array if its members have keys that are no numbers."""
    current = shell.state.variables.get(name)
    members: list[tuple[str | None, int, int]] = []  # the key of `[key]=value`, and the span of the value
    for child in node.children:
        if child.is_named and child.type != "comment":
            start, text = child.start_byte, shell.source(child)
            close = text.find("]=") if text.startswith("[") else -1
            key = None if close < 0 else shell.expander().string(start + 1, start + close).string
            members.append((key, start if close < 0 else start + close + 2, child.end_byte))
    keys = [key for key, _, _ in members if key is not None]
    if isinstance(current, dict) or not all(key.isdigit() for key in keys):
        mapping: dict[str, Text] = dict(current) if isinstance(current, dict) and adds else {}
        for key, start, end in members:
            if key is not None:
                mapping[key] = shell.expander().string(start, end)
        shell.state.assign(name, mapping)
        return
    values = list(current) if adds and isinstance(current, list) else [current] if adds and isinstance(current, Text) else []
    if not any(keys):
        values.extend(shell.words([(start, end) for _, start, end in members]))
    elif any(map(of_any_number, values)) or any(len(key) > 4 for key in keys):
        values = [any_number(computed(f"{name}[...]"))]
    else:
        place = len(values)
        for key, start, end in members:
            place = place if key is None else int(key)
            texts = shell.words([(start, end)]) if key is None else [shell.expander().string(start, end)]
            values.extend([GAP] * (place - len(values)))
            values[place : place + len(texts)] = texts
            place += len(texts)
    shell.state.assign(name, values)


def declaration(shell: Execution, node: SyntaxNode) -> Truth:
    what = shell.source(node.children[0])
    exports = what == "export"
    local = what in ("local", "declare", "typeset")
    associative = integer = False
    for child in node.children[1:]:
        text = shell.source(child)
        if text.startswith("-"):
            exports = exports or "x" in text
            local = local and "g" not in text
            associative = associative or "A" in text
            integer = integer or "i" in text
            continue
        if integer:
            shell.integers.add(text.partition("=")[0])
        assigns = child.type == "variable_assignment"
        name = shell.source(part_of(child, "name")) if assigns else text
        if not assigns and not is_name(name):
            shell.state.knows_environment = False  # `export $(cat .env)`
            continue
        anew = local and bool(shell.locals) and name not in shell.locals[-1].values
        if anew:
            shell.locals[-1].add(shell.state, name)
            if not assigns:
                shell.state.remove(name)  # a local variable without a value, even if the name has one outside of the function
        if associative and not isinstance(shell.state.variables.get(name), dict):
            shell.state.assign(name, {})
        if assigns:
            name = assign(shell, child, anew)
        if exports:
            shell.state.exported.add(name)
    return True


def unset(shell: Execution, node: SyntaxNode) -> Truth:
    for child in node.children[1:]:
        text = shell.source(child).strip("\"'")
        if not text.endswith("]"):
            if not text.startswith("-"):
                shell.state.remove(text)
            continue
        name, _, key = text.removesuffix("]").partition("[")
        current = shell.state.variables.get(name)
        if isinstance(current, dict):
            shell.state.assign(name, {other: value for other, value in current.items() if other != key})
        elif isinstance(current, list) and key.isdigit() and len(key) < 5 and not any(map(of_any_number, current)):
            values = [GAP if place == int(key) else value for place, value in enumerate(current)]  # the others keep their indexes
            while values and values[-1] is GAP:
                values.pop()
            shell.state.assign(name, values)
        elif isinstance(current, Text) and key.isdigit():
            if not int(key):
                shell.state.remove(name)
        elif current is not None:
            shell.state.assign(name, [any_number(computed(text))])
    return True


def prefixes(shell: Execution, node: SyntaxNode) -> dict[str, Text]:
    """The assignments before a command: they are in effect for that command alone, and each one for those after it."""
    first = begins(shell.script, node)
    environment: dict[str, Text] = {}
    before = Saved()
    for child in node.children:
        if child.type != "variable_assignment":
            break
        if child.start_byte < first:
            assign(shell, child)
            continue
        name = shell.source(part_of(child, "name"))
        before.add(shell.state, name)
        start = child.children[1].end_byte if len(child.children) > 1 else child.end_byte
        environment[name] = shell.expander().string(start, child.end_byte)
        shell.state.assign(name, environment[name])
    before.restore(shell.state)
    return environment


def within(shell: Execution, environment: dict[str, Text], action: Callable[..., Truth], *arguments: object) -> Truth:
    """Run an action with exported variables that are in effect for it alone: `BATCH=4 launch`, where `launch` is a function."""
    before = Saved()
    for name, value in environment.items():
        before.add(shell.state, name)
        shell.state.assign(name, value)
        shell.state.exported.add(name)
    try:
        return action(*arguments)
    finally:
        before.restore(shell.state)
