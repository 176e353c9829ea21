#!/usr/bin/env python3
"""Writes the JSON Schemas of cfglint's JSON outputs, `docs/schemas/COMMAND.json`, from the types in `cfglint/findings/entries.py`.

    python tools/output_schemas.py [--check]

The types are read, not imported: they do not exist at run time. --check writes nothing and exits 1 where a schema differs.
"""

from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "schemas"
TYPES = (  # later names win
    *(
        "cfglint/source/annotations.py",
        "cfglint/evaluate/__init__.py",
        "cfglint/findings/vocabulary.py",
        "cfglint/batch/memory/estimate.py",
    ),
    "cfglint/findings/entries.py",
)
OUTPUTS = {
    "check": ["CheckOutput"],
    "runs": ["RunsOutput"],
    "fix": ["FixOutput"],
    "plan": ["PlanOutput"],
    "explain": ["ExplainOutput", "ExplainedRunsOutput", "LogOutput"],  # a log as well: the former spelling of `log`
    "log": ["LogOutput"],
    "review": ["ReviewOutput"],
    "rule": ["RuleEntry"],
}
SIMPLE = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "None": "null"}
Schema = dict[str, Any]


class Types:
    """The definitions of named types, found in the sources by their names."""

    def __init__(self) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        self.aliases: dict[str, ast.expr] = {}
        for path in TYPES:
            for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
                self._take(node, everything=path == TYPES[-1])

    def _take(self, node: ast.AST, everything: bool) -> None:
        if isinstance(node, ast.ClassDef) and everything:
            self.classes[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self.aliases[node.target.id] = node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and everything:
            self.aliases[node.targets[0].id] = node.value

    def output(self, names: list[str]) -> Schema:
        """The schema of an output that has one of some types."""
        used: dict[str, Schema] = {}
        parts = [self.named(name, used) for name in names]
        described = parts[0] if len(parts) == 1 else {"anyOf": parts}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described, "$defs": dict(sorted(used.items()))}

    def named(self, name: str, used: dict[str, Schema]) -> Schema:
        """A reference to a named type, whose schema becomes one of those used."""
        if name in SIMPLE:
            return {"type": SIMPLE[name]}
        if name in ("Any", "object", "ConfigValue"):
            return {}
        if name not in self.classes and isinstance(self.aliases.get(name), (ast.Name, ast.Subscript)):
            return self.schema(self.aliases[name], used)
        if name not in used:
            used[name] = {}  # it may refer to itself
            used[name] = self.mapping(name, used)
        return {"$ref": f"#/$defs/{name}"}

    def mapping(self, name: str, used: dict[str, Schema]) -> Schema:
        """The schema of a TypedDict, with the fields of its bases."""
        properties: dict[str, Schema] = {}
        required: list[str] = []
        self._collect(name, used, properties, required)
        text = ast.get_docstring(self.classes[name]) if name in self.classes else None
        return {**({"description": text} if text else {}), "type": "object", "properties": properties, "required": required}

    def _collect(self, name: str, used: dict[str, Schema], properties: dict[str, Schema], required: list[str]) -> None:
        call = self.aliases.get(name)
        if name not in self.classes and isinstance(call, ast.Call) and isinstance(call.args[1], ast.Dict):
            for key, value in zip(call.args[1].keys, call.args[1].values, strict=True):
                assert isinstance(key, ast.Constant)
                properties[str(key.value)] = self.schema(value, used)
                required.append(str(key.value))
            return
        node = self.classes[name]
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id != "TypedDict":
                self._collect(base.id, used, properties, required)
        total = not any(keyword.arg == "total" for keyword in node.keywords)
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                optional = isinstance(field.annotation, ast.Subscript) and ast.unparse(field.annotation.value) == "NotRequired"
                properties[field.target.id] = self.schema(field.annotation, used)
                required += [field.target.id] if total and not optional else []

    def schema(self, node: ast.expr, used: dict[str, Schema]) -> Schema:
        """The schema of an annotation."""
        if isinstance(node, ast.Name):
            return self.named(node.id, used)
        if isinstance(node, ast.Constant):
            return {"type": "null"}
        if isinstance(node, ast.BinOp):
            parts = [self.schema(node.left, used), self.schema(node.right, used)]
            flat = [each for part in parts for each in part.get("anyOf", [part])]
            return {"anyOf": flat}
        assert isinstance(node, ast.Subscript), ast.dump(node)
        kind, inner = ast.unparse(node.value), node.slice
        items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if kind == "Literal":
            return {"enum": [ast.literal_eval(item) for item in items]}
        if kind == "list":
            return {"type": "array", "items": self.schema(items[0], used)}
        if kind == "dict":
            return {"type": "object", "additionalProperties": self.schema(items[1], used)}
        if kind == "tuple":
            parts = [self.schema(item, used) for item in items]
            return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
        assert kind == "NotRequired", kind
        return self.schema(items[0], used)


def rendered(command: str) -> str:
    """The text of the schema of a command's output."""
    return json.dumps({"title": f"cfglint {command} --format json", **Types().output(OUTPUTS[command])}, indent=1) + "\n"


def main() -> int:
    """Write the schemas, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a schema differs")
    options = parser.parse_args()
    differs = False
    for command in OUTPUTS:
        path, text = FOLDER / f"{command}.json", rendered(command)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        differs = True
        print(f"{path.relative_to(ROOT)}: {'differs' if options.check else 'written'}")
        if not options.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return int(differs and options.check)


if __name__ == "__main__":
    raise SystemExit(main())
