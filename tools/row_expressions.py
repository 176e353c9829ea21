"""Expressions of rows as lists, and what calls of other packages are in them: pure functions, and questions to the environment."""

from __future__ import annotations

import json
import re
import string
from typing import Any

from row_sources import Ref, described

from cfglint.frameworks.rows.evaluation import cannot_fail

OPPOSITE = {"==": "!=", "!=": "==", "in": "not in", "not in": "in", "is": "is not", "is not": "is"}


def nodes(e: Any) -> Any:
    return 1 + sum(map(nodes, e)) if isinstance(e, (list, tuple)) else 1


def walk(e: Any) -> Any:
    yield e
    if isinstance(e, (list, tuple)):
        for x in e:
            yield from walk(x)


def fields(e: Any) -> Any:
    """The fields of the object that an expression reads; None among them: it reads one whose name is computed."""
    return {
        x[1] if isinstance(x[1], str) else None
        for x in walk(e)
        if isinstance(x, (list, tuple)) and x and x[0] in ("f", "f?", "f!", "has") and len(x) > 1
    } | ({None} if any(isinstance(x, (list, tuple)) and x and x[0] == "self" for x in walk(e)) else set())


def opaque(e: Any) -> Any:
    return [x for x in walk(e) if isinstance(x, (list, tuple)) and x and x[0] == "?"]


def without_references(e: Any) -> Any:
    """An expression in which what is not a value is unknown."""
    if isinstance(e, Ref):
        return ["self"] if e.kind == "root" else ["?", described(e)]
    return [without_references(each) for each in e] if isinstance(e, (list, tuple)) else e


def sections(part: Any) -> Any:
    """A part of a row in which an object is the section that it is made of."""
    if isinstance(part, dict):
        return {key: sections(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return sections(part[1]) if len(part) == 2 and part[0] == "new" else [sections(each) for each in part]
    return part


def negate(e: Any) -> Any:
    if isinstance(e, bool):
        return not e
    if isinstance(e, (list, tuple)) and e:
        if e[0] == "not":
            return e[1]
        if e[0] in OPPOSITE:
            return [OPPOSITE[e[0]], *e[1:]]
        if e[0] == "or":
            return conj([negate(x) for x in e[1:]])
        if e[0] == "and":
            return disj([negate(x) for x in e[1:]])
    if e is None or isinstance(e, (int, float, str)):
        return not e
    return ["not", e]


def conj(parts: Any) -> Any:
    out = []
    for p in parts:
        if p is True:
            continue
        if p is False:
            return False
        for q in p[1:] if isinstance(p, (list, tuple)) and p and p[0] == "and" else [p]:
            if q not in out:
                out.append(q)
    return True if not out else out[0] if len(out) == 1 else ["and", *out]


def disj(parts: Any) -> Any:
    out = []
    for p in parts:
        if p is False:
            continue
        if p is True:
            return True
        for q in p[1:] if isinstance(p, (list, tuple)) and p and p[0] == "or" else [p]:
            if q not in out:
                out.append(q)
    return False if not out else out[0] if len(out) == 1 else ["or", *out]


def ordered(when: Any) -> Any:
    """The guards with runs of simple ones sorted."""
    out, run = [], []
    for g in [*when, None]:
        if g is not None and cannot_fail(g):
            run.append(g)
        else:
            out += sorted(run, key=lambda x: json.dumps(x, default=described))
            run = []
            if g is not None:
                out.append(g)
    return out


def is_root(e: Any) -> bool:
    return e.kind == "root" if isinstance(e, Ref) else bool(e == ["self"])


def fold(e: Any) -> Any:
    """Conditions over constants only."""
    if isinstance(e, list) and len(e) == 3 and e[0] in ("==", "!=", "in", "not in", "is", "is not"):
        a, b = e[1], e[2]
        if not isinstance(a, list) and not isinstance(b, list):
            return {"==": a == b, "!=": a != b, "is": a is b or a == b, "is not": not (a is b or a == b)}.get(e[0], e)
        if (
            not isinstance(a, list)
            and e[0] in ("in", "not in")
            and isinstance(b, list)
            and b
            and b[0] in ("list", "tuple", "set")
            and not any(isinstance(x, list) for x in b[1:])
        ):
            return (a in b[1:]) == (e[0] == "in")
    return e


def literal_items(e: Any) -> Any:
    if isinstance(e, list) and e:
        if e[0] in ("list", "tuple", "set"):
            return e[1:]
        if e[0] == "dict":
            return [k for k, _ in e[1:]]
        if e[0] == "m" and isinstance(e[2], list) and e[2] and e[2][0] == "dict" and len(e) == 3:
            pairs = e[2][1:]
            return {"items": [["tuple", k, v] for k, v in pairs], "keys": [k for k, _ in pairs], "values": [v for _, v in pairs]}.get(e[1])
        if e[0] == "call" and e[1] == "enumerate" and len(e) == 3:
            inner = literal_items(e[2])
            return [["tuple", i, x] for i, x in enumerate(inner)] if inner is not None else None
        if e[0] == "call" and e[1] == "sorted" and len(e) == 3:
            inner = literal_items(e[2])
            return sorted(inner) if inner is not None and all(isinstance(x, str) for x in inner) else None
    return None


def is_text(e: Any) -> bool:
    return (
        isinstance(e, str) or (isinstance(e, list) and bool(e) and e[0] in ("fmt",)) or (isinstance(e, list) and e[:2] == ["call", "str"])
    )


def pieces(e: Any) -> Any:
    return [e] if isinstance(e, str) else e[1:] if e[0] == "fmt" else [[e, "", ""]]


def joined(parts: Any) -> Any:
    """A template of pieces, whose texts are joined."""
    out: list[Any] = []
    for part in parts:
        value = part[0] if isinstance(part, list) else part
        if isinstance(part, list) and isinstance(value, str) and not part[2]:
            flat = [repr(value) if part[1] == "r" else value]
        elif isinstance(part, list) and isinstance(value, list) and value[:1] == ["fmt"] and not part[1] and not part[2]:
            flat = value[1:]
        else:
            flat = [part]
        for piece in flat:
            if isinstance(piece, str) and out and isinstance(out[-1], str):
                out[-1] += piece
            else:
                out.append(piece)
    return out[0] if len(out) == 1 and isinstance(out[0], str) else "" if not out else ["fmt", *out]


def percent(text: Any, args: Any) -> Any:
    values = args[1:] if isinstance(args, list) and args and args[0] == "tuple" else [args]
    out: list[Any] = []
    parts, i = re.split(r"(%[-#0-9.]*[srdfig])", text), 0
    for p in parts:
        if re.fullmatch(r"%[-#0-9.]*[srdfig]", p):
            if i >= len(values):
                return ["?", "% with too few values"]
            conv, spec = p[-1], p[1:-1]
            out.append([values[i], "r" if conv == "r" else "", spec + conv if conv in "fg" else ""])
            i += 1
        else:
            out.append(p.replace("%%", "%"))
    return joined(out) if i == len(values) else ["?", "% of a mapping"]


def braces(text: Any, args: Any, keys: Any) -> Any:

    out: list[Any] = []
    i = 0
    try:
        for literal, name, spec, conv in string.Formatter().parse(text):
            if literal:
                out.append(literal)
            if name is None:
                continue
            if name == "":
                value, i = args[i], i + 1
            elif name.isdigit():
                value = args[int(name)]
            else:
                value = keys[name]
            out.append([value, conv or "", spec or ""])
    except (KeyError, IndexError, ValueError):
        return ["?", "format"]
    return joined(out)


def external(name: Any) -> Any:
    """A name outside of the package as a fact about the environment."""
    last = name.split(".")[-1]
    if last == "__version__":
        return ["fact", "version", name.split(".")[0]]
    if last == "MISSING" and name.startswith("omegaconf"):
        return "???"
    if name in ("torch.version.cuda", "torch.version.hip"):
        return ["fact", name]
    if re.fullmatch(r"torch\.(bfloat16|float16|float32|float8_e4m3fn|int8|int4|uint8|float64)", name):
        return name
    if last.startswith("is_torch_greater_or_equal_than_"):
        return ["fact", last]
    if re.fullmatch(r"ALL_\w+_FUNCTIONS", last):
        return ["fact", "constant", last]
    if name in ("math.pi", "math.inf", "sys.platform", "sys.argv", "sys.version_info"):
        return ["fact", name]
    if last.isupper() and name.count(".") >= 2 and name.split(".")[-2][:1].isupper():
        return ["fact", "constant", ".".join(name.split(".")[-2:])]
    return ["?", f"outside: {name}"]


def call_external(name: Any, args: Any, keys: Any, node: Any) -> Any:
    last = name.split(".")[-1]
    if last == "get_args" and args and isinstance(args[0], list) and args[0][:1] == ["tuple"]:
        return args[0]
    if last in ("parse", "Version") and ("version" in name.lower()):
        return ["version", args[0]]
    if last == "find_spec":
        return ["or", ["fact", "importable", *args[:1]], None]
    if last in ("is_package_available", "_is_package_available", "is_module_available"):
        return ["fact", "importable", *args[:1]]
    if name in ("importlib.metadata.version", "metadata.version") or (last == "version" and "metadata" in name):
        return ["fact", "version", *args[:1]]
    if last in ("getenv",) or name == "os.environ.get":
        return ["env", *args[:2]]
    if re.search(
        r"^is_.*available$|^is_.*(greater_or_equal|less_than|enabled|supported)$|^(device_count|current_device|get_device_capability|get_rank|get_world_size|cpu_count|is_initialized|device_module|check_min_version|is_sagemaker_.*)$",
        last,
    ):
        return ["fact", last, *args]
    if last in ("strtobool", "str_to_bool", "parse_flag_from_env", "get_int_from_env"):
        return ["fact", last, *args]
    if last == "get_full_repo_name":
        return ["fact", last, *args[:1], keys.get("organization")]
    if name.startswith(("os.path.", "pathlib.")) and last in (
        "isfile",
        "isdir",
        "exists",
        "abspath",
        "basename",
        "dirname",
        "join",
        "expanduser",
        "splitext",
    ):
        return ["fact", f"path {last}", *args]
    if last in ("gcd", "ceil", "floor", "sqrt", "log2", "isnan", "isinf", "isfinite", "lcm") and (name.startswith("math.") or name == last):
        return ["math", last, *args]
    if name in ("re.match", "re.fullmatch", "re.search", "re.findall", "re.sub", "re.compile"):
        return ["re", last, *args]
    if name in ("json.loads", "ast.literal_eval"):
        return ["parsed", last, *args]
    if name in ("copy.deepcopy", "copy.copy", "deepcopy"):
        return args[0] if args else ["?", name]
    return ["?", f"outside: {name}()"]


def every(rows: Any) -> Any:
    for r in rows:
        yield r
        yield from every(r.get("rows", ()))
