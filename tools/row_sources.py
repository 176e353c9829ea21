"""The modules of an unpacked package, its names, classes and validators, as syntax trees."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

TYPES = set("str int float bool list dict tuple set NoneType bytes".split())
ABSTRACT = {
    "Mapping": "dict",
    "MutableMapping": "dict",
    "Sequence": "list",
    "Iterable": "list",
    "Dict": "dict",
    "List": "list",
    "DictDefault": "dict",
    "Number": "float",
    "Integral": "int",
    "ListConfig": "list",
    "DictConfig": "dict",
}


class Ref:
    """Something that is not a value: a function, a class, a module, the object itself."""

    def __init__(self, kind: Any, name: Any = "", node: Any = None, module: Any = None, owner: Any = None) -> None:
        self.kind, self.name, self.node, self.module, self.owner = kind, name, node, module, owner


def described(reference: Any) -> str:
    """What a reference is, in words."""
    return f"{reference.kind} {reference.name}"


class Module:
    def __init__(self, package: Any, dotted: Any, path: Any) -> None:
        self.package, self.dotted, self.path = package, dotted, path
        self.tree = ast.parse(Path(path).read_text(encoding="utf-8"))
        self.is_package = path.endswith("__init__.py")
        self.names: dict[str, Any] = {}
        self.read(self.tree.body)

    def read(self, body: Any) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.names[node.name] = node
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.names[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self.names[node.target.id] = node.value
            elif isinstance(node, ast.Import):
                for a in node.names:
                    self.names[a.asname or a.name.split(".")[0]] = ("import", a.name if a.asname else a.name.split(".")[0], None)
            elif isinstance(node, ast.ImportFrom):
                self.read_from(node, self.names)
            elif isinstance(node, ast.If):
                self.read(node.orelse)
                self.read(node.body)
            elif isinstance(node, ast.Try):
                for h in node.handlers:
                    self.read(h.body)
                self.read(node.body)

    def read_from(self, node: Any, into: Any) -> None:
        base = node.module or ""
        if node.level:
            parts = self.dotted.split(".")
            parts = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
            base = ".".join([*parts, base] if base else parts)
        for a in node.names:
            if a.name == "*":
                into.setdefault("*", []).append(base)
            else:
                into[a.asname or a.name] = ("import", base, a.name)


class Package:
    """The modules of an unpacked wheel."""

    def __init__(self, root: Any, name: Any) -> None:
        self.root, self.name = root, name
        self.modules: dict[Any, Any] = {}
        self.chains: dict[int, Any] = {}  # the bases of classes where Python's order was computed
        self.others: dict[str, Package] = {}  # further packages whose constants and helpers count
        self.targets: Any = None  # the classes of the objects that a section of the values is made into: (keys below it, class)

    def module(self, dotted: Any) -> Any:
        if dotted not in self.modules:
            path = os.path.join(self.root, *dotted.split("."))
            path = path + ".py" if os.path.isfile(path + ".py") else os.path.join(path, "__init__.py")
            self.modules[dotted] = Module(self, dotted, path) if os.path.isfile(path) else None
        return self.modules[dotted]

    def resolve(self, module: Any, name: Any, depth: Any = 0) -> Any:
        """What a name of a module is: a node with its module, or a dotted name outside of the package."""
        found = module.names.get(name) if module else None
        if found is None and module and depth < 6:
            for base in module.names.get("*", ()):
                star = self.module(base) if base.split(".")[0] == self.name else None
                got = self.resolve(star, name, depth + 1) if star else None
                if got is not None:
                    return got
        if found is None:
            return None
        if isinstance(found, tuple):
            _, base, what = found
            return self.imported(base, what, depth)
        return found, module

    def imported(self, base: Any, what: Any, depth: Any = 0) -> Any:
        if depth < 12 and base.split(".")[0] in self.others:
            return self.others[base.split(".")[0]].imported(base, what, depth)
        if depth < 12 and base.split(".")[0] == self.name:
            if what is None:
                target = self.module(base)
                return (target, target) if target else None
            target = self.module(base)
            if target is not None and what in target.names:
                return self.resolve(target, what, depth + 1)
            target = self.module(f"{base}.{what}")
            if target is not None:
                return target, target
        return f"{base}.{what}" if what else base, None

    def ancestors(self, node: Any, module: Any) -> Any:
        """The class and its bases inside the package, most derived first (C3 is enough of an approximation by depth first, last wins)."""
        if id(node) in self.chains:
            return self.chains[id(node)]
        out = [(node, module)]
        for base in node.bases:
            if isinstance(base, ast.Name):
                found = self.resolve(module, base.id)
                if found and isinstance(found[0], ast.ClassDef):
                    out += self.ancestors(*found)
        seen, last = set(), []
        for item in reversed(out):
            if id(item[0]) not in seen:
                seen.add(id(item[0]))
                last.append(item)
        return last[::-1]


def caught(node: Any) -> Any:
    """The names of the exceptions that a handler catches."""
    return [dotted(each).split(".")[-1] for each in (node.elts if isinstance(node, ast.Tuple) else [node] if node is not None else [])]


def is_enum(package: Any, ref: Any) -> bool:
    return any("Enum" in dotted(b) for c, m in package.ancestors(ref.node, ref.module) for b in c.bases)


def dotted(node: Any) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return dotted(node.func)
    return ""


def type_names(ref: Any, node: Any) -> Any:
    refs = node.elts if isinstance(node, ast.Tuple) else [node]
    if isinstance(node, ast.BinOp):
        refs, todo = list[Any](), [node.left, node.right]
        while todo:
            part = todo.pop()
            todo += [part.left, part.right] if isinstance(part, ast.BinOp) else []
            refs += [] if isinstance(part, ast.BinOp) else [part]
    out = []
    for n in refs:
        name = dotted(n).split(".")[-1] if not (isinstance(n, ast.Call) and dotted(n) == "type") else "NoneType"
        if name in TYPES or name in ABSTRACT:
            out.append(ABSTRACT.get(name, name))
        elif name[:1].isupper() or name in ("dtype", "device", "type"):
            out.append("other " + name)  # no value of a file is one
        else:
            return None
    return sorted(out)


def decoration(node: Any) -> Any:
    """(kind, fields, mode) of a pydantic validator."""
    for d in node.decorator_list:
        name = dotted(d).split(".")[-1]
        if name in ("model_validator", "field_validator", "validator", "root_validator"):
            mode = (
                next((k.value.value for k in d.keywords if k.arg == "mode" and isinstance(k.value, ast.Constant)), None)
                if isinstance(d, ast.Call)
                else None
            )
            pre = any(k.arg == "pre" and getattr(k.value, "value", False) for k in d.keywords) if isinstance(d, ast.Call) else False
            named = [a.value for a in d.args if isinstance(a, ast.Constant)] if isinstance(d, ast.Call) else []
            return name, named, mode or ("before" if pre else "after")
    return None
