"""Turns the checks of a framework's Python functions into rows: ordered, guarded actions (`cfglint/frameworks/rows/evaluation.py`).

Symbolic execution of a function body: locals are substituted, conditions become guards, early returns are negated into the guards of what
follows, helpers of the same package are inlined, and what is not in the closed list of operators becomes ["?", reason]. Nothing of the
source is kept but the messages that a user sees and the names of the fields.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
import json
import re
from typing import Any

from row_expressions import (
    braces,
    call_external,
    conj,
    disj,
    every,
    external,
    fields,
    fold,
    is_root,
    is_text,
    joined,
    literal_items,
    negate,
    nodes,
    opaque,
    ordered,
    percent,
    pieces,
    sections,
    walk,
    without_references,
)
from row_sources import Module, Ref, caught, described, dotted, is_enum, type_names

from cfglint.frameworks.rows.evaluation import cannot_fail

MADE = ("list", "dict", "set", "+", "+=", "|", "with", "if", "each", "some", "call")  # what is a new value of a function
REQUIRED = object()  # in the place of a default
OF_MEMBERS = ("f", "f?", "v", "member", "named")  # what may be a member of an Enum
DEPTH = 4  # levels of helpers that are inlined
UNROLL = 40  # elements of a literal sequence up to which a loop is unrolled
LARGE = 60  # nodes above which the value of a local gets a row of its own
METHODS = frozenset(
    """
    lower upper strip lstrip rstrip split rsplit startswith endswith replace join keys values items intersection difference
    union count isdigit isdecimal copy is_integer removeprefix removesuffix title issubset issuperset isdisjoint index find
    partition rpartition capitalize splitlines symmetric_difference casefold isnumeric
    """.split()
)
FUNCTIONS = frozenset(
    """
    len str int float bool abs min max sum sorted set list tuple dict round any all repr frozenset enumerate zip range
    reversed divmod pow
    """.split()
)
COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
WARN = re.compile(
    r"(^|\.)(warn|warning|warning_once|warning_rank0|warning_rank0_once|warn_once|rank_zero_warn|deprecate|error|log_warning)$"
)
FACT = re.compile(
    r"^_?is_.*(available|enabled|supported|greater_or_equal|_version|initialized)$|^is_(main|local_main|last)_process$|^compare_versions$|^check_(min_)?version$|^(get_int_from_env|str_to_bool|strtobool|parse_flag_from_env|parse_choice_from_env|get_device_count|get_device_name|get_dist_setting|is_dist|is_mp|is_local_master|is_master|get_node_setting|is_mp_ddp|is_deepspeed_enabled|use_hf_hub)$"
)
QUIET = re.compile(r"(^|\.)(info|debug|info_rank0|info_once|debug_once|print|log|info_rank0_once|critical|exception)$|^print$")
LOGGER = re.compile(r"^(log|logger|logging|warnings|LOG|LOGGER|self\.log|print|_logger|transformers\.logging)", re.I)


class Cell:
    """The expression of a local, a guard or a result; `depth` is the number of guards under which it is valid."""

    def __init__(self, expr: Any, depth: Any, negated: Any = False, mutable: Any = None) -> None:
        self.expr, self.depth, self.negated, self.mutable = expr, depth, negated, mutable


class Extractor:
    """The rows of one function."""

    def __init__(self, package: Any, module: Any, owner: Any = None, given: Any = None, shared: Any = None, own: Any = "") -> None:
        self.package, self.owner = package, owner
        self.deepest = DEPTH
        self.shared, self.own = shared or {}, own  # functions whose rows are elsewhere, by id, and the name of this one
        self.given = given or {}  # what some functions of the package return: ("roots", n) n views of the same values, or an expression
        self.guards: list[Cell] = []
        self.frame: Any = None
        self.out: list[tuple[int, list[Any]]] = [(0, [])]  # rows under construction: (number of guards outside, rows)
        self.reads: list[tuple[int, Any]] = []  # of the keys that statements read as attributes of sections: (rows before, row)
        self.live: list[Cell] = []
        self.counts: dict[str, int] = {}
        self.calls: list[Any] = []
        self.depth = 0

    # rows ------------------------------------------------------------------------------------------------------------
    def emit(self, row: Any, node: Any = None, depth: Any = None, at: Any = None) -> None:
        base, rows = self.out[-1] if at is None else at
        guards = self.guards[base : len(self.guards) if depth is None else depth]
        when = []
        for g in guards:
            parts = g.expr[1:] if isinstance(g.expr, (list, tuple)) and g.expr and g.expr[0] == "and" else [g.expr]
            when += [p for p in parts if p is not True and p not in when]
        if False in when:
            return
        row = {"when": ordered(when), **{key: value if key == "rows" else without_references(value) for key, value in row.items()}}
        why = sorted({x[1] for x in opaque([*row["when"], *[v for k, v in row.items() if k not in ("when", "rows")]])})
        if why:
            row["hand"] = why
        if node is not None:
            row["line"] = getattr(node, "lineno", 0)
        rows.append(row)

    def name(self, expr: Any) -> Any:
        text = hashlib.sha1(json.dumps(expr, default=described).encode()).hexdigest()[:5]
        n = self.counts[text] = self.counts.get(text, 0) + 1
        return f"${text}" + (f".{n}" if n > 1 else "")

    def let(self, expr: Any, depth: Any) -> Any:
        """A row that keeps a value from here on, among the rows where it is valid."""
        at = next(o for o in reversed(self.out) if o[0] <= depth)
        name = self.name(expr)
        self.emit({"let": name, "be": expr}, depth=depth, at=at)
        return ["v", name]

    def looked_into(self) -> set[str]:
        """The fields that guards and rows before have looked into, or set."""
        guards = [part for g in self.guards for part in (g.expr[1:] if isinstance(g.expr, list) and g.expr[:1] == ["and"] else [g.expr])]
        rows = self.out[-1][1]
        read = looked_into([guards, *([*row.values()] for row in rows if all(each in guards for each in row["when"]))])
        return read | {row["set"] for row in rows if "set" in row}

    def changed(self, names: Any) -> None:
        """Keep the values of what reads some fields, before they are set; None: any."""
        names = {None} if names is None else names
        kept = {}
        for cell in [*self.live, *self.guards, *(c for env in self.calls for c in env.values() if isinstance(c, Cell))]:
            if isinstance(cell.expr, (list, tuple)) and not cell.mutable:
                read = fields(cell.expr)
                if read and (None in names or None in read or read & names):
                    depth = min(cell.depth, len(self.guards))
                    text = json.dumps([depth, cell.expr], default=described)
                    if text not in kept:
                        kept[text] = self.let(cell.expr, depth)
                    cell.expr = kept[text]

    def put(self, target: Any, value: Any, node: Any) -> None:
        """Set a field, or an entry of what an expression denotes."""
        if target[0] in ("f", "f?", "f!") and isinstance(target[1], str):
            cell = Cell(value, len(self.guards))
            self.live.append(cell)
            self.changed({target[1]})
            self.live.remove(cell)
            if not (isinstance(cell.expr, list) and cell.expr and cell.expr[0] == "v"):
                cell.expr = value
            self.emit({"set": target[1], "be": value}, node)
            return
        box, key = (target[1], target[2]) if target[0] in ("attr", "at", "get") else (target, None)
        self.changed(fields(box) or {None})
        self.emit({"put": box, "key": key, "be": value}, node)

    # functions -------------------------------------------------------------------------------------------------------
    def function(self, node: Any, module: Any, bound: Any) -> Any:
        """The rows of a function whose parameters have these values; returns the expression of its result."""
        env = {k: v if isinstance(v, Ref) else Cell(v, len(self.guards)) for k, v in bound.items()}
        frame = {"module": module, "returns": [], "base": len(self.guards), "node": node, "loops": 0}
        self.calls.append(env)
        before = self.frame
        self.frame = frame
        mark = len(self.live)
        self.block(node.body)
        del self.guards[frame["base"] :]
        result = None
        for cond, value in reversed(frame["returns"]):
            c = cond.expr
            v = value.expr if isinstance(value, Cell) else value
            result = v if c is True else result if v is result else ["if", c, v, result]
        del self.live[mark:]
        self.calls.pop()
        self.frame = before
        return result

    @property
    def env(self) -> Any:
        return self.calls[-1]

    def block(self, body: Any) -> Any:
        """(always left, condition under which it was left by a return or continue)."""
        left, mark = Cell(False, len(self.guards)), len(self.guards)
        self.live.append(left)
        for node in body:
            done, leaves = self.statement(node)
            if leaves is not False:
                left.expr = disj([left.expr, leaves]) if left.expr is not False else leaves
            if done:
                del self.guards[mark:]
                self.live.remove(left)
                return True, left.expr
            if leaves is not False:
                self.guards.append(Cell(negate(leaves), len(self.guards), negated=True))
        del self.guards[mark:]
        self.live.remove(left)
        return False, left.expr

    def branch(self, cond: Any, body: Any, negated_source: Any = None) -> Any:
        cell = Cell(cond, len(self.guards))
        self.guards.append(cell)
        env = dict(self.env)
        self.calls[-1] = env
        done, leaves = self.block(body)
        del self.guards[cell.depth :]
        return done, leaves, self.env, cell

    def either(self, test: Any, body: Any, orelse: Any, node: Any) -> Any:
        start = self.env
        cell = Cell(test, len(self.guards))
        self.live.append(cell)
        size = len(self.out[-1][1])
        if test is not False:
            done1, leaves1, env1, c1 = self.branch(test, body)
            if c1.expr != test and cell.expr == test:
                cell.expr = c1.expr
        else:
            done1, leaves1, env1 = True, False, start
        self.calls[-1] = start
        if test is not True:
            done2, leaves2, env2, _ = self.branch(negate(cell.expr), orelse)
        else:
            done2, leaves2, env2 = True, False, start
        self.live.remove(cell)
        if len(self.out[-1][1]) == size and not cannot_fail(test) and not opaque(test):
            # nothing happens here, but the test itself can fail
            self.emit({"try": cell.expr}, node)
        if done1 and not done2:
            env = env2
        elif done2 and not done1:
            env = env1
        else:
            env = {}
            for k in {*env1, *env2}:
                a, b = env1.get(k), env2.get(k)
                if a is b:
                    env[k] = a
                elif isinstance(a, Ref) or isinstance(b, Ref) or a is None or b is None:
                    env[k] = a if b is None else b
                elif a.mutable:
                    env[k] = a
                elif a.expr == b.expr:
                    env[k] = a
                else:
                    env[k] = Cell(["if", cell.expr, a.expr, b.expr], len(self.guards))
        self.calls[-1] = env
        t = cell.expr
        return done1 and done2, disj([conj([t, leaves1]), conj([negate(t), leaves2])])

    # statements ------------------------------------------------------------------------------------------------------
    def statement(self, node: Any) -> Any:
        if self.package.targets is not None and len(self.out) == 1:
            for chain in always(node):
                self.read(chain)
        method = getattr(self, f"statement_{type(node).__name__.lower()}", None)
        if method is None:
            self.by_hand(node, type(node).__name__.lower())
            return False, False
        return method(node) or (False, False)

    def read(self, node: Any) -> None:
        """The row of a key that is read as an attribute of sections, which fails without the key; not of an object that is made of one."""
        steps: list[str] = []
        while isinstance(node, ast.Attribute) and f"self.{node.attr}" not in self.given:
            steps, node = [node.attr, *steps], node.value
        box = self.expr(node) if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and node.id != "self") else None
        path = () if isinstance(box, Ref) and box.kind == "root" else path_of(box) if is_path(box) else None
        if path is not None and len(path) + len(steps) > 1:
            row: list[Any] = []
            self.emit({"read": ".".join((*path, *steps))}, at=(0, row))
            self.reads += [(len(self.out[0][1]), each) for each in row]

    def by_hand(self, node: Any, why: Any) -> None:
        self.emit({"todo": why}, node)
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                self.env[n.id] = Cell(["?", why], len(self.guards))

    def statement_pass(self, node: Any) -> Any:
        return None

    def statement_global(self, node: Any) -> Any:
        return None

    def statement_nonlocal(self, node: Any) -> Any:
        return None

    def statement_functiondef(self, node: Any) -> None:
        self.env[node.name] = Ref("function", node.name, node, self.frame["module"])

    def statement_import(self, node: Any) -> None:
        for a in node.names:
            self.env[a.asname or a.name.split(".")[0]] = Ref("ext", a.name if a.asname else a.name.split(".")[0])

    def statement_importfrom(self, node: Any) -> None:
        into: dict[str, Any] = {}
        self.frame["module"].read_from(node, into)
        into.pop("*", None)
        for k, (_, base, what) in into.items():
            found = self.ref(self.package.imported(base, what), what)
            self.env[k] = found if isinstance(found, Ref) else Cell(found, len(self.guards))

    def statement_expr(self, node: Any) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            self.call_statement(node.value)
        else:
            self.expr(node.value)

    def call_statement(self, call: Any) -> Any:
        text = dotted(call.func)
        if WARN.search(text) and (
            LOGGER.match(text) or text.startswith("warn") or text.endswith(("rank_zero_warn", "warning_rank0", "warn_once"))
        ):
            if call.args:
                message = self.expr(call.args[0])
                if len(call.args) > 1 and isinstance(message, str) and "%" in message and not text.startswith("warnings"):
                    message = percent(message, ["tuple", *[self.expr(a) for a in call.args[1:]]])
                self.emit({"warn": message}, call)
            return None
        if QUIET.search(text) and (LOGGER.match(text) or text == "print"):
            return None
        f = call.func
        if isinstance(f, ast.Attribute):
            if f.attr in ("append", "extend", "add") and len(call.args) == 1:
                arg = self.expr(call.args[0])
                box = self.expr(f.value)
                if isinstance(f.value, ast.Name) and self.is_own(f.value.id, box):
                    grown = [
                        "|" if f.attr == "add" else "+",
                        box,
                        arg if f.attr == "extend" else ["set" if f.attr == "add" else "list", arg],
                    ]
                    return self.assign_name(f.value.id, grown)
                return self.put_box(box, ["+", box, arg if f.attr == "extend" else ["list", arg]], call)
            if f.attr == "insert" and len(call.args) == 2 and self.expr(call.args[0]) == 0:
                box = self.expr(f.value)
                if isinstance(box, list):
                    return self.put_box(box, ["+", ["list", self.expr(call.args[1])], box], call)
            if f.attr == "remove" and len(call.args) == 1:
                box, arg = self.expr(f.value), self.expr(call.args[0])
                if isinstance(box, list):
                    return self.put_box(box, ["each", "list", "r0", box, ["!=", ["x", "r0"], arg], ["x", "r0"]], call)
            if f.attr in ("pop",) and call.args:
                box = self.expr(f.value)
                key = self.expr(call.args[0])
                return self.drop(box, key, call)
            if f.attr == "setdefault" and len(call.args) == 2:
                box, key, value = self.expr(f.value), self.expr(call.args[0]), self.expr(call.args[1])
                self.guards.append(Cell(["not in", key, box] if not is_root(box) else ["not", ["has", key]], len(self.guards)))
                self.put(self.entry(box, key), value, call)
                self.guards.pop()
                return None
            if f.attr == "update" and len(call.args) == 1:
                box, value = self.expr(f.value), self.expr(call.args[0])
                if isinstance(value, list) and value and value[0] == "dict":
                    for k, v in value[1:]:
                        self.put(self.entry(box, k), v, call)
                    return None
        if isinstance(f, ast.Attribute) and self.given.get(f.attr) == "set" and is_root(self.expr(f.value)):
            values = [self.expr(each) for each in call.args]
            for key, value in [values] if len(values) > 1 else values[0][1:]:
                self.put(["f", key], ["?", "a function as value"] if isinstance(value, Ref) else value, call)
            return None
        if text in ("setattr", "object.__setattr__") and len(call.args) == 3:
            box, key, value = self.expr(call.args[0]), self.expr(call.args[1]), self.expr(call.args[2])
            return self.put(["f", key] if is_root(box) and isinstance(key, str) else ["at", box, key], value, call)
        value = self.expr(call)
        if isinstance(value, list) and value and value[0] == "?":
            self.emit({"todo": value[1]}, call)
        elif isinstance(value, list) and value and (value[0] in FUNCTIONS):
            self.emit({"try": value}, call)
        return None

    def put_box(self, box: Any, value: Any, node: Any) -> None:
        if not isinstance(box, Ref) and box[0] in ("f", "f?", "f!", "attr", "at", "get"):
            self.put(box, value, node)
        else:
            self.by_hand(node, "mutation of a computed value")

    def is_own(self, name: Any, box: Any) -> bool:
        """Whether a local is a container made by this function."""
        cell = self.env.get(name)
        made = isinstance(box, list) and bool(box) and box[0] in MADE
        return isinstance(cell, Cell) and (bool(cell.mutable) or made)

    def drop(self, box: Any, key: Any, node: Any) -> None:
        if is_root(box):
            self.changed({key if isinstance(key, str) else None})
            self.emit({"drop": key}, node)
        else:
            self.changed(fields(box) or {None})
            self.emit({"drop": key, "of": box}, node)

    def statement_delete(self, node: Any) -> None:
        for t in node.targets:
            if isinstance(t, ast.Subscript):
                self.drop(self.expr(t.value), self.expr(t.slice), node)
            elif isinstance(t, ast.Attribute):
                self.drop(self.expr(t.value), t.attr, node)

    def statement_assign(self, node: Any) -> None:
        value = self.expr(node.value)
        for target in node.targets:
            self.assign(target, value, node)

    def statement_annassign(self, node: Any) -> None:
        if node.value is not None:
            self.assign(node.target, self.expr(node.value), node)

    def statement_augassign(self, node: Any) -> Any:
        load = copy.copy(node.target)
        load.ctx = ast.Load()
        old, new = self.value(load), self.value(node.value)
        if isinstance(node.op, ast.Add) and is_text(old) and is_text(new):
            return self.assign(node.target, joined([*pieces(old), *pieces(new)]), node)
        return self.assign(node.target, [BINARY.get(type(node.op), "?") + "=", old, new], node)

    def assign_name(self, name: Any, value: Any) -> None:
        cell = self.env.get(name)
        if isinstance(value, Ref):
            self.env[name] = value
            return
        if isinstance(cell, Cell) and cell.mutable:
            self.emit({"let": cell.mutable, "be": value})
            return
        if nodes(value) > LARGE:
            value = self.let(value, len(self.guards))
        elif not opaque(value) and looked_into(value) - self.looked_into():
            self.emit({"try": value})  # which fails here, not where it is used
        self.env[name] = Cell(value, len(self.guards))

    def assign(self, target: Any, value: Any, node: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            many = (
                value[1:]
                if isinstance(value, list) and value and value[0] in ("tuple", "list") and len(value) == len(target.elts) + 1
                else None
            )
            for i, t in enumerate(target.elts):
                self.assign(t, many[i] if many else ["at", value, i], node)
        elif isinstance(target, ast.Attribute):
            box = self.expr(target.value)
            if isinstance(value, Ref):
                value = ["?", "a function as value"]
            if isinstance(box, Ref) and box.kind == "root":
                if f"self.{target.attr}" not in self.given:
                    self.put(["f", target.attr], value, node)
            elif isinstance(box, Ref):
                self.by_hand(node, "global state is changed")
            else:
                self.put(["attr", box, target.attr], value, node)
        elif isinstance(target, ast.Subscript):
            box, key = self.expr(target.value), self.expr(target.slice)
            if isinstance(value, Ref):
                value = ["?", "a function as value"]
            if isinstance(box, Ref) and box.kind == "root":
                self.put(["f", key] if isinstance(key, str) else ["at", ["self"], key], value, node)
            elif isinstance(box, Ref):
                if box.name == "os.environ":
                    self.emit({"setenv": key, "be": value}, node)
                else:
                    self.by_hand(node, "global state is changed")
            elif isinstance(target.value, ast.Name) and self.is_own(target.value.id, box):
                self.assign_name(target.value.id, ["with", box, key, value])
            else:
                self.put(["at", box, key], value, node)
        else:
            self.by_hand(node, "assignment")

    def entry(self, box: Any, key: Any) -> Any:
        return ["f", key] if is_root(box) and isinstance(key, str) else ["at", ["self"] if is_root(box) else box, key]

    def statement_return(self, node: Any) -> Any:
        value = self.expr(node.value) if node.value is not None else None
        if self.frame["loops"]:
            flag, result = self.frame["flag"]
            self.emit({"let": result, "be": None if isinstance(value, Ref) else value})
            self.emit({"let": flag, "be": True})
            self.emit({"stop": True})
            return True, False
        guards = self.guards[self.frame["base"] :]
        cond = Cell(conj([g.expr for g in guards if not g.negated]), len(self.guards))
        self.live.append(cond)
        if not isinstance(value, Ref):
            value = Cell(value, len(self.guards))
            self.live.append(value)
        self.frame["returns"].append((cond, value))
        return True, True

    def statement_continue(self, node: Any) -> Any:
        return True, True

    def statement_break(self, node: Any) -> Any:
        self.emit({"stop": True})
        return True, False

    def statement_raise(self, node: Any) -> Any:
        e = node.exc
        if e is None:
            self.emit({"todo": "re-raise"}, node)
            return True, False
        made = self.expr(e) if isinstance(e, ast.Name) else None
        if isinstance(made, list) and made[0] == "exception":
            self.emit({"raise": made[1], "say": made[2]}, node)
            return True, False
        if isinstance(made, list):
            self.emit({"todo": "re-raise"}, node)
            return True, False
        if isinstance(e, ast.Call):
            kind = dotted(e.func)
            message = self.expr(e.args[0]) if e.args else ""
            if isinstance(message, Ref):
                message = ["?", "message"]
        else:
            kind, message = dotted(e), ""
        self.emit({"raise": kind.split(".")[-1], "say": message}, node)
        return True, False

    def statement_assert(self, node: Any) -> None:
        test = self.truth(node.test)
        self.guards.append(Cell(negate(test), len(self.guards)))
        self.emit({"raise": "AssertionError", "say": self.expr(node.msg) if node.msg is not None else ""}, node)
        self.guards.pop()

    def statement_if(self, node: Any) -> Any:
        return self.either(self.truth(node.test), node.body, node.orelse, node)

    def statement_with(self, node: Any) -> Any:
        if [dotted(item.context_expr) for item in node.items] == ["open_dict"]:  # OmegaConf's, which only allows new keys
            return self.block(node.body)
        return self.by_hand(node, "with")

    def statement_while(self, node: Any) -> None:
        self.by_hand(node, "while")

    def statement_try(self, node: Any) -> Any:
        imports = [n for n in node.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        rest = [n for n in node.body if not isinstance(n, (ast.Import, ast.ImportFrom, ast.Pass))]
        names = sorted({name for h in node.handlers for name in caught(h.type)})
        if imports:
            outside = []
            for n in imports:
                module = n.module if isinstance(n, ast.ImportFrom) else n.names[0].name
                if not getattr(n, "level", 0) and module and module.split(".")[0] != self.package.name:
                    outside.append(["fact", "importable", module.split(".")[0]])
            test = conj(outside)
            return self.either(test, [*node.body, *node.orelse], node.handlers[0].body if node.handlers else [], node)
        if node.handlers and not node.orelse and not node.finalbody and all(map(raises_again, node.handlers)):
            return self.block(node.body)
        if all(isinstance(n, (ast.Assign, ast.Expr, ast.Return)) for n in rest) and node.handlers and not node.finalbody:
            before = len(self.out[-1][1])
            values = [self.expr(n.value) for n in rest if n.value is not None]
            if len(self.out[-1][1]) == before and not any(isinstance(v, Ref) for v in values):
                test = ["fails", ["list", *values], *names]
                handler = node.handlers[0]
                if handler.name:
                    self.env[handler.name] = Cell(["error", ["list", *values]], len(self.guards))
                return self.either(test, handler.body, [*node.body, *node.orelse], node)
        self.by_hand(node, "try")
        return False, False

    def statement_for(self, node: Any) -> Any:
        it = self.expr(node.iter)
        items = literal_items(it)
        if items is not None and len(items) <= UNROLL and not node.orelse and not any(isinstance(n, ast.Break) for n in ast.walk(node)):
            left = []
            for item in items:
                self.assign(node.target, item, node)
                had = len(self.frame["returns"])
                self.block(node.body)
                returned = self.frame["returns"][had:]
                if returned:
                    cond = disj([c.expr for c, _ in returned])
                    left.append(cond)
                    self.guards.append(Cell(negate(cond), len(self.guards), negated=True))
            for _ in left:
                self.guards.pop()
            return False, disj(left)
        if isinstance(it, Ref):
            return self.by_hand(node, "loop over an object")
        stored = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        named = set(stored)
        stored |= {
            n.func.value.id
            for s in node.body
            for n in ast.walk(s)
            if isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr in ("append", "add", "extend")
            and isinstance(n.func.value, ast.Name)
        }
        stored |= {
            n.value.id
            for s in node.body
            for n in ast.walk(s)
            if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
        }
        for name in sorted(stored):
            cell = self.env.get(name)
            if isinstance(cell, Cell) and not cell.mutable and (name in named or self.is_own(name, cell.expr)):
                var = self.name(["loop", name])
                self.emit({"let": var, "be": cell.expr})
                self.env[name] = Cell(["v", var], len(self.guards), mutable=var)
        returns = any(isinstance(n, ast.Return) for s in node.body for n in ast.walk(s))
        flag = None
        if returns:
            flag = (self.name(["left"]), self.name(["result"]))
            self.emit({"let": flag[0], "be": False})
        var = self.name(["each"])
        row = {"each": var, "in": it}
        outer = dict(self.env)
        before = self.frame.get("flag")
        self.frame["flag"] = flag or before
        self.frame["loops"] += 1
        self.out.append((len(self.guards), []))
        self.assign(node.target, ["v", var], node)
        self.block(node.body)
        _, rows = self.out.pop()
        self.frame["loops"] -= 1
        self.frame["flag"] = before
        for name in stored - outer.keys():
            self.env[name] = Cell(["?", "a local of a loop"], len(self.guards))
        # what follows in the body may have changed what other locals read
        if any(k in r for r in rows for k in ("set", "put", "drop")):
            self.changed({r["set"] for r in rows if "set" in r and isinstance(r["set"], str)} or {None})
        if rows:
            self.emit({**row, "rows": rows}, node)
        if returns and flag:
            if self.frame["loops"]:
                self.guards.append(Cell(["not", ["v", flag[0]]], len(self.guards), negated=True))
                return False, ["v", flag[0]]
            cond = Cell(conj([*[g.expr for g in self.guards[self.frame["base"] :] if not g.negated], ["v", flag[0]]]), self.frame["base"])
            self.frame["returns"].append((cond, Cell(["v", flag[1]], len(self.guards))))
            return False, ["v", flag[0]]
        return False, False

    # expressions -----------------------------------------------------------------------------------------------------
    def truth(self, node: Any) -> Any:
        e = self.expr(node)
        return fold(e)

    def expr(self, node: Any) -> Any:
        method = getattr(self, f"expression_{type(node).__name__.lower()}", None)
        return method(node) if method else ["?", type(node).__name__.lower()]

    def value(self, node: Any) -> Any:
        e = self.expr(node)
        if isinstance(e, Ref):
            return self.as_value(e)
        return e

    def as_value(self, ref: Any) -> Any:
        if ref.kind == "root":
            return ["self"]
        if ref.kind == "ext":
            return external(ref.name)
        return ["?", f"{ref.kind} {ref.name}"]

    def expression_constant(self, node: Any) -> Any:
        if node.value is Ellipsis or isinstance(node.value, (bytes, complex)):
            return ["?", "constant"]
        return node.value

    def ref(self, found: Any, name: Any) -> Any:
        if found is None:
            return Ref("ext", name or "")
        what, module = found
        if isinstance(what, str):
            return Ref("ext", what)
        if isinstance(what, Module):
            return Ref("module", what.dotted, what, what)
        if isinstance(what, ast.FunctionDef):
            return Ref("function", what.name, what, module)
        if isinstance(what, ast.ClassDef):
            return Ref("class", what.name, what, module)
        return self.constant(what, module, name)

    def constant(self, node: Any, module: Any, name: Any = "") -> Any:
        """The value of a name of a module: an expression over constants only."""
        key = ("const", id(node))
        cache = self.package.modules.setdefault("#", {})
        if key in cache:
            return cache[key]
        cache[key] = ["?", f"constant {name}"]
        inner = Extractor(self.package, module)
        inner.frame = {"module": module, "returns": [], "base": 0, "node": node, "loops": 0}
        inner.calls = [{}]
        value = inner.expr(node)
        if isinstance(value, Ref) and value.kind == "object":
            value = ["?", f"object {name}"]
        if isinstance(value, list) and opaque(value):
            value = ["?", f"constant {name}"]
        cache[key] = value
        return value

    def expression_name(self, node: Any) -> Any:
        found = self.env.get(node.id)
        if (
            found is None
            and len(self.calls) > 1
            and self.frame["node"] in [r.node for e in self.calls[:-1] for r in e.values() if isinstance(r, Ref)]
        ):
            found = next((e[node.id] for e in reversed(self.calls[:-1]) if node.id in e), None)
        if isinstance(found, Ref):
            return found
        if isinstance(found, Cell):
            return found.expr
        if node.id == "__name__":
            return self.frame["module"].dotted
        if node.id == "__file__":
            return self.frame["module"].dotted.replace(".", "/") + ".py"
        got = self.package.resolve(self.frame["module"], node.id)
        if got is not None:
            return self.ref(got, node.id)
        return Ref("builtin" if hasattr(builtins, node.id) else "ext", node.id)

    def expression_attribute(self, node: Any) -> Any:
        box = self.expr(node.value)
        if isinstance(box, Ref):
            if box.kind == "info":  # what pydantic passes to a validator of a field
                if node.attr == "field_name":
                    return ["f", node.attr]
                return Ref("root") if node.attr == "data" else ["?", f"info.{node.attr}"]
            if box.kind == "root" and f"self.{node.attr}" in self.given:
                return self.given[f"self.{node.attr}"]
            if box.kind in ("root", "cls", "super"):
                member = self.member(node.attr) if box.kind != "super" else None
                if member is not None:
                    m, module = member
                    if isinstance(m, ast.FunctionDef):
                        if self.given.get(node.attr) == "fact":
                            return ["fact", node.attr]
                        if any(
                            dotted(d).split(".")[-1] in ("property", "cached_property", "computed_field", "abstractproperty")
                            for d in m.decorator_list
                        ):
                            return self.inline(Ref("function", m.name, m, module), [Ref("root")], {}, node)
                        return Ref("method", m.name, m, module, owner=box)
                    if box.kind == "cls" or node.attr.isupper() or node.attr.startswith("_"):
                        return self.constant(m, module, node.attr)
                if node.attr == "__class__":
                    return Ref("cls")
                if box.kind == "cls" and node.attr == "__name__" and self.owner is not None:
                    return self.owner[0].name
                if box.kind == "cls" and node.attr == "model_fields":
                    return Ref("root")
                if box.kind == "cls":
                    return ["?", f"class attribute {node.attr}"]
                if box.kind == "super":
                    return Ref("super method", node.attr)
                return ["f", node.attr] if not node.attr.startswith("__") else ["?", node.attr]
            if box.kind == "module":
                got = self.package.resolve(box.node, node.attr)
                return self.ref(got, node.attr) if got else ["?", f"{box.name}.{node.attr}"]
            if box.kind == "class":
                if node.attr == "list" and is_enum(self.package, box):
                    return Ref("values", box.name, box.node, box.module)
                for cls, module in self.package.ancestors(box.node, box.module):
                    for n in cls.body:
                        if isinstance(n, (ast.Assign, ast.AnnAssign)) and any(
                            isinstance(t, ast.Name) and t.id == node.attr for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
                        ):
                            return self.constant(n.value, module, node.attr)
                        if isinstance(n, ast.FunctionDef) and n.name == node.attr:
                            return Ref(
                                "function",
                                n.name,
                                n,
                                module,
                                owner="class" if any(dotted(d) == "classmethod" for d in n.decorator_list) else None,
                            )
                return ["?", f"{box.name}.{node.attr}"]
            if box.kind in ("ext", "object"):
                full = f"{box.name}.{node.attr}"
                fact = external(full)
                return fact if not (isinstance(fact, list) and fact[0] == "?") else Ref("ext", full)
            return ["?", f"attribute of {box.kind}"]
        if isinstance(box, list) and box and box[0] == "error":
            return ["?", "attribute of an exception"]
        if isinstance(box, list) and box and box[0] == "new":
            box = box[1]
        if node.attr == "value" and (isinstance(box, str) or (isinstance(box, list) and box and box[0] in OF_MEMBERS)):
            return ["value", box]
        return ["attr", box, node.attr]

    def member(self, name: Any, skip: Any = False) -> Any:
        if self.owner is None:
            return None
        chain = self.package.ancestors(*self.owner)
        for cls, module in chain[1:] if skip else chain:
            for n in cls.body:
                if isinstance(n, ast.FunctionDef) and n.name == name:
                    return n, module
                if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in n.targets):
                    return n.value, module
                if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.target.id == name and n.value is not None:
                    return n.value, module
        return None

    def expression_subscript(self, node: Any) -> Any:
        box = self.expr(node.value)
        if isinstance(node.slice, ast.Slice):
            if isinstance(box, Ref):
                return ["?", "slice"]
            return ["slice", box, *[self.value(x) if x is not None else None for x in (node.slice.lower, node.slice.upper)]]
        key = self.value(node.slice)
        if isinstance(box, Ref):
            if box.kind == "root":
                return ["f!", key] if isinstance(key, str) else ["at", ["self"], key]
            if box.name == "os.environ":
                return ["env", key]
            if box.kind == "class" and is_enum(self.package, box):
                return ["named", key, box.name, self.listed(box)]
            if box.name.split(".")[-1] == "Literal":
                return ["tuple", *(key[1:] if isinstance(key, list) and key and key[0] == "tuple" else [key])]
            return ["?", f"entry of {box.name}"]
        if isinstance(box, list) and box[0] == "dict" and not isinstance(key, list) and self.package.targets is not None:
            return next((value for name, value in box[1:] if name == key), ["at", box, key])
        items = literal_items(box) if isinstance(key, int) and isinstance(box, list) and box[:1] in (["list"], ["tuple"]) else None
        return items[key] if items is not None and -len(items) <= key < len(items) else ["at", box, key]

    def expression_boolop(self, node: Any) -> Any:
        op = "and" if isinstance(node.op, ast.And) else "or"
        parts, mark = [], len(self.guards)
        for v in node.values:
            e = self.value(v)
            parts.append(e)
            self.guards.append(Cell(e if op == "and" else negate(e), len(self.guards)))
        # what was kept meanwhile
        for i, g in enumerate(self.guards[mark:]):
            if isinstance(g.expr, list) and g.expr and g.expr[0] == "v" and op == "and":
                parts[i] = g.expr
        del self.guards[mark:]
        out = []
        for p in parts:
            out += p[1:] if isinstance(p, list) and p and p[0] == op else [p]
        return [op, *out]

    def expression_unaryop(self, node: Any) -> Any:
        e = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return negate(e) if isinstance(e, list) else (not e)
        if isinstance(e, (int, float)) and isinstance(node.op, ast.USub):
            return -e
        return ["neg" if isinstance(node.op, ast.USub) else "?", e]

    def expression_binop(self, node: Any) -> Any:
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mod) and (isinstance(a, str) or (isinstance(a, list) and a and a[0] == "fmt")):
            return percent(a, b) if isinstance(a, str) else ["?", "% of a template"]
        if isinstance(node.op, ast.Add) and is_text(a) and is_text(b):
            return joined([*pieces(a), *pieces(b)])
        if all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b)):
            try:
                return {
                    "+": a + b,
                    "-": a - b,
                    "*": a * b,
                    "/": a / b if b else None,
                    "//": a // b if b else None,
                    "%": a % b if b else None,
                    "**": a**b,
                }[BINARY[type(node.op)]]
            except Exception:
                pass
        return [BINARY.get(type(node.op), "?"), a, b]

    def expression_compare(self, node: Any) -> Any:
        left, out = self.value(node.left), []
        for op, right in zip(node.ops, node.comparators, strict=True):
            r = self.expr(right)
            if isinstance(r, Ref):
                if r.kind == "root":
                    out.append(["has", left] if isinstance(op, ast.In) else negate(["has", left]))
                    left = ["self"]
                    continue
                if r.name == "os.environ":
                    e = ["is not", ["env", left], None]
                    out.append(e if isinstance(op, ast.In) else negate(e))
                    continue
                if r.kind in ("builtin", "class"):
                    out.append(["?", f"comparison with {r.name}"])
                    continue
                r = self.as_value(r)
            out.append([COMPARE[type(op)], left, r])
            left = r
        found = fold(conj(out) if len(out) > 1 else out[0])
        return found if self.package.targets is None else contained(found)

    def expression_ifexp(self, node: Any) -> Any:
        test = self.truth(node.test)
        self.guards.append(Cell(test, len(self.guards)))
        a = self.value(node.body)
        self.guards[-1].expr = negate(test)
        b = self.value(node.orelse)
        self.guards.pop()
        return a if test is True else b if test is False else ["if", test, a, b]

    def expression_namedexpr(self, node: Any) -> Any:
        value = self.value(node.value)
        self.assign(node.target, value, node)
        return value

    def expression_list(self, node: Any) -> Any:
        return self.display("list", node.elts)

    def expression_tuple(self, node: Any) -> Any:
        return self.display("tuple", node.elts)

    def expression_set(self, node: Any) -> Any:
        return self.display("set", sorted(node.elts, key=ast.unparse))

    def display(self, kind: Any, elts: Any) -> Any:
        flat = [kind]
        for element in elts:
            if not isinstance(element, ast.Starred):
                flat.append(self.value(element))
                continue
            inner = self.value(element.value)
            if not (isinstance(inner, list) and inner and inner[0] in ("list", "tuple", "set")):
                return ["?", "starred"]
            flat += inner[1:]
        return flat

    def expression_dict(self, node: Any) -> Any:
        if node.keys and node.keys[0] is None and None not in node.keys[1:]:
            made = self.value(node.values[0])
            for key, value in zip(node.keys[1:], node.values[1:], strict=True):
                made = ["with", made, self.value(key), self.value(value)]
            return made
        if None in node.keys:
            return ["?", "** in a dictionary"]
        return ["dict", *[[self.value(k), self.value(v)] for k, v in zip(node.keys, node.values, strict=True)]]

    def comprehension(self, kind: Any, node: Any, elt: Any) -> Any:
        if len(node.generators) != 1:
            return ["?", "nested comprehension"]
        g = node.generators[0]
        it = self.value(g.iter)
        items = literal_items(it)
        env = self.calls[-1]
        if items is not None and len(items) <= UNROLL and kind in ("list", "set", "gen") and not g.ifs:
            self.calls[-1] = dict(env)
            out = []
            for item in items:
                self.assign(g.target, item, node)
                out.append(self.value(elt))
            self.calls[-1] = env
            return ["list" if kind == "gen" else kind, *out]
        if items is not None and len(items) <= UNROLL and kind in ("list", "set", "gen"):
            self.calls[-1] = dict(env)
            out = []
            for item in items:
                self.assign(g.target, item, node)
                out.append([conj([self.truth(c) for c in g.ifs]), self.value(elt)])
            self.calls[-1] = env
            return ["some", "list" if kind == "gen" else kind, *out]
        self.calls[-1] = dict(env)
        var = "x" + str(sum(1 for e in env.values() if isinstance(e, Cell) and isinstance(e.expr, list) and e.expr[:1] == ["x"]))
        self.assign(g.target, ["x", var], node)
        cond = conj([self.truth(c) for c in g.ifs])
        value = self.value(elt) if elt is not None else None
        self.calls[-1] = env
        return ["each", kind, var, it, cond, value]

    def expression_listcomp(self, node: Any) -> Any:
        return self.comprehension("list", node, node.elt)

    def expression_setcomp(self, node: Any) -> Any:
        return self.comprehension("set", node, node.elt)

    def expression_generatorexp(self, node: Any) -> Any:
        return self.comprehension("gen", node, node.elt)

    def expression_dictcomp(self, node: Any) -> Any:
        return self.comprehension("dict", node, ast.Tuple([node.key, node.value], ast.Load()))

    def expression_joinedstr(self, node: Any) -> Any:
        out: list[Any] = []
        for v in node.values:
            if isinstance(v, ast.Constant):
                out.append(v.value)
            else:
                spec = self.value(v.format_spec) if v.format_spec is not None else ""
                value = self.value(v.value)
                conversion = {115: "s", 114: "r", 97: "a"}.get(v.conversion, "")
                out.append(value.shown if isinstance(value, Members) else [value, conversion, spec if isinstance(spec, str) else ""])
        return joined(out)

    def expression_lambda(self, node: Any) -> Any:
        return ["?", "lambda"]

    def expression_starred(self, node: Any) -> Any:
        return ["?", "starred"]

    def expression_call(self, node: Any) -> Any:
        f = node.func
        # methods of values, and of the object itself
        if isinstance(f, ast.Attribute):
            box = self.expr(f.value)
            if isinstance(box, Ref) and box.kind == "ext" and external(box.name)[:1] == ["fact"]:
                box = external(box.name)
            if not isinstance(box, Ref):
                return self.method(box, f.attr, node)
            if box.kind == "root" and f.attr in ("get", "pop", "keys", "items", "copy", "model_dump") and self.member(f.attr) is None:
                if f.attr in ("get", "pop") and node.args:
                    key = self.value(node.args[0])
                    default = self.value(node.args[1]) if len(node.args) > 1 else None
                    e = (
                        (["f", key] if default is None else ["f?", key, default])
                        if isinstance(key, str)
                        else ["get", ["self"], key, default]
                    )
                    if f.attr == "pop":
                        kept = self.let(e, len(self.guards))
                        self.drop(["self"], key, node)
                        return kept
                    return e
                if f.attr == "copy":  # which the function returns in their place
                    return box
                return ["m", f.attr, ["self"]]
        fn = self.expr(f)
        if isinstance(f, ast.Attribute) and fn == ["fact", f.attr] and f.attr in self.given:
            return [*fn, *[self.value(each) for each in node.args]]
        if not isinstance(fn, Ref):
            return ["?", "call of " + (dotted(f) or "a value")]
        args = [self.expr(a) for a in node.args]
        keys = {k.arg: self.expr(k.value) for k in node.keywords}
        if fn.kind != "super method" and self.given.get(fn.name.split(".")[-1], "dispatch") != "dispatch":
            answer = self.given[fn.name.split(".")[-1]]
            if answer == "new":
                return self.build(args[0], node) if len(args) == 1 and isinstance(args[0], list) else ["?", f"{fn.name}()"]
            if answer == "same":
                return args[0] if not isinstance(args[0], Ref) else self.as_value(args[0])
            if callable(answer):
                return answer(*args)
            if answer == "fact":
                asked = [self.as_value(a) if isinstance(a, Ref) else a for a in (*args, *keys.values())]
                return ["fact", fn.name.split(".")[-1], *asked]
            return ["tuple", *[Ref("root")] * answer[1]] if isinstance(answer, tuple) and answer[0] == "roots" else answer
        if fn.kind in ("function", "method") and FACT.search(fn.name):
            return [
                "fact",
                fn.name,
                *[self.as_value(a) if isinstance(a, Ref) else a for a in args],
            ]
        if fn.kind in ("function", "method"):
            if None in keys or any(isinstance(a, ast.Starred) for a in node.args):
                return ["?", f"{fn.name}(*...)"]
            if WARN.search(fn.name) and not fn.node.body:
                return None
            bound = args
            if fn.kind == "method" and not any(dotted(d) == "staticmethod" for d in fn.node.decorator_list):
                bound = [Ref("cls" if any(dotted(d) == "classmethod" for d in fn.node.decorator_list) else "root"), *args]
            elif fn.owner == "class":
                bound = [Ref("cls"), *args]
            return self.inline(fn, bound, keys, node)
        if fn.kind in ("super method", "super"):
            return None if fn.kind == "super method" and self.super_call(fn.name, node, args, keys) else ["?", f"super().{fn.name}"]
        if fn.kind == "class":
            if is_enum(self.package, fn) and len(args) == 1:
                kind = (
                    "explicit"
                    if any(
                        c.name == "ExplicitEnum" or any("ExplicitEnum" in dotted(b) for b in c.bases)
                        for c, m in self.package.ancestors(fn.node, fn.module)
                    )
                    else "enum"
                )
                return [
                    "member",
                    self.as_value(args[0]) if isinstance(args[0], Ref) else args[0],
                    fn.name,
                    self.listed(fn),
                    kind,
                ]
            return self.new(fn, args, keys) or ["?", f"{fn.name}(...)"]
        if fn.kind == "values":
            return ["list", *[value for _, value in self.members(fn)]]
        name = fn.name
        plain = [self.as_value(a) if isinstance(a, Ref) else a for a in args]
        if fn.kind == "builtin":
            return self.builtin(name, args, plain, node)
        if name == "os.environ.copy":
            return Ref("ext", "os.environ")
        return call_external(name, plain, {k: v for k, v in keys.items() if not isinstance(v, Ref)}, node)

    def new(self, ref: Any, args: Any, keys: Any) -> Any:
        """An object of a dataclass of the package that gets keywords, or a mapping of them; None for any other call."""
        chain = self.package.ancestors(ref.node, ref.module)
        if args or not any(dotted(d).split(".")[-1] == "dataclass" for d in ref.node.decorator_list) or len(chain) > 1:
            return None
        if None in keys and len(keys) > 1:
            return None
        defaults, required = [], []
        for n in ref.node.body:
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
                found = self.default(n.value, ref.module)
                if found is REQUIRED:
                    required.append(n.target.id)
                else:
                    defaults.append([n.target.id, found])
        self.constructed(ref, keys)
        given = keys[None] if None in keys else ["dict", *[[k, self.as_value(v) if isinstance(v, Ref) else v] for k, v in keys.items()]]
        return ["new", ref.name, defaults, required, given]

    def constructed(self, ref: Any, keys: Any) -> None:
        """The rows of `__post_init__` for an object of a dataclass without arguments, whose fields are `CLASS.FIELD`."""
        found = next((n for n in ref.node.body if isinstance(n, ast.FunctionDef) and n.name == "__post_init__"), None)
        if found is None or keys:
            return
        rows = Labels(ref.name).rows(rows_of(self.package, ref.module, found, (ref.node, ref.module), given=self.given)[0])
        guards = [g.expr for g in self.guards[self.out[-1][0] :] if g.expr is not True]
        self.out[-1][1].extend({**row, "when": [*guards, *row["when"]]} for row in rows)

    def default(self, node: Any, module: Any) -> Any:
        """The default of a field of a dataclass."""
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "field":
            options = {k.arg: k.value for k in node.keywords}
            factory = options.get("default_factory")
            if factory is not None:
                return [factory.id] if isinstance(factory, ast.Name) and factory.id in ("list", "dict") else ["?", "default_factory"]
            node = options.get("default")
        return REQUIRED if node is None else self.constant(node, module, "default")

    def super_call(self, name: Any, node: Any, args: Any = (), keys: Any = None) -> Any:
        """Inline the method of the next class inside the package; else a row that names the class outside."""
        here = self.frame["node"]
        chain = self.package.ancestors(*self.owner) if self.owner else []
        at = next((i for i, (c, m) in enumerate(chain) if here in c.body), -1)
        for cls, module in chain[at + 1 :]:
            for n in cls.body:
                if isinstance(n, ast.FunctionDef) and n.name == name:
                    self.inline(Ref("method", name, n, module), [Ref("root"), *args], keys or {}, node)
                    return True
        bases = sorted({dotted(b) for c, m in chain for b in c.bases} - {c.name for c, _ in chain})
        self.emit({"first": [b.split(".")[-1] for b in bases]}, node)
        return True

    def builtin(self, name: Any, args: Any, plain: Any, node: Any) -> Any:
        if name == "isinstance" and len(args) == 2:
            kinds = type_names(args[1], node.args[1])
            if is_root(args[0]) and kinds:
                return "dict" in kinds
            return ["is a", plain[0], *kinds] if kinds else ["?", "isinstance " + ast.unparse(node.args[1])]
        if name in ("getattr", "hasattr") and len(args) >= 2:
            box, key = args[0], plain[1]
            default = plain[2] if len(plain) > 2 else None
            if isinstance(box, Ref) and box.kind == "root":
                if not isinstance(key, str):
                    return ["get", ["self"], key, default] if name == "getattr" else ["in", key, ["self"]]
                return ["has", key] if name == "hasattr" else ["f?", key, default] if len(plain) > 2 else ["f", key]
            if isinstance(box, Ref):
                return ["?", f"{name} of {box.name}"]
            return ["has attr", box, key] if name == "hasattr" else ["getattr", box, key, default]
        if name == "super":
            return Ref("super")
        if name == "dict" and len(args) == 1 and is_root(args[0]):  # a copy, which the function returns in their place
            return args[0]
        if name == "type" and len(args) == 1 and is_root(args[0]):
            return Ref("cls")
        if name == "type" and len(args) == 1:
            return ["type", plain[0]]
        name = {"frozenset": "set"}.get(name, name)
        if name in FUNCTIONS:
            if name in ("any", "all") and isinstance(plain[0], list) and plain[0] and plain[0][0] in ("list", "tuple"):
                return ["or" if name == "any" else "and", *plain[0][1:]] if len(plain[0]) > 1 else name == "all"
            if (
                name in ("list", "set", "tuple")
                and args
                and isinstance(args[0], Ref)
                and args[0].kind == "class"
                and is_enum(self.package, args[0])
            ):
                members = self.members(args[0])
                made = Members([name, *[value for _, value in members]])
                made.shown = f"[{', '.join(f'<{args[0].name}.{each}: {value!r}>' for each, value in members)}]"
                return made if name == "list" else [*made]
            if any(isinstance(a, Ref) for a in plain):
                return ["?", f"{name} with a function"]
            if (
                name in ("list", "tuple", "set", "dict")
                and plain
                and isinstance(plain[0], list)
                and plain[0]
                and plain[0][0] in ("list", "tuple", "set")
                and name != "dict"
            ):
                return [name, *plain[0][1:]]
            if name in ("list", "tuple", "set", "frozenset", "dict") and not plain:
                return [{"frozenset": "set"}.get(name, name)]
            return ["call", {"frozenset": "set"}.get(name, name), *plain]
        if name == "map" and len(args) == 2 and isinstance(args[0], Ref) and args[0].kind == "builtin" and args[0].name in FUNCTIONS:
            return ["each", "list", "m0", plain[1], True, ["call", args[0].name, ["x", "m0"]]]
        if isinstance(getattr(builtins, name, None), type) and issubclass(getattr(builtins, name), BaseException):
            return ["exception", name, plain[0] if plain else ""]
        if name == "callable":
            return ["?", "callable"]
        return ["?", f"{name}()"]

    def build(self, section: Any, node: Any) -> Any:
        """An object of the class that a section of the values names, after those of the sections in it."""
        if self.package.targets is not None:
            for inner, target in self.package.targets(path_of(section)):
                expr = section
                for step in inner:
                    expr = ["attr", expr, step]
                self.call_of_object(expr, target, "__post_init__", [], node)
        return ["new", section]

    def call_of_object(self, section: Any, target: Any, name: Any, args: Any, node: Any) -> None:
        """The rows of a method of the class `target` for an object that has the values of a section."""
        path, _, label = target.rpartition(".")
        found = self.package.resolve(self.package.module(path), label)
        if found is None or not isinstance(found[0], ast.ClassDef):
            return
        definition, home = found
        chain = self.package.ancestors(definition, home)
        method, place = next(((n, m) for c, m in chain for n in c.body if isinstance(n, ast.FunctionDef) and n.name == name), (None, None))
        if method is None:
            return
        a = method.args
        names = [p.arg for p in [*a.posonlyargs, *a.args]]
        bound = {names[0]: Ref("root"), **{n: ["outer", v] for n, v in zip(names[1:], [*args, *[None] * len(names)], strict=False)}}
        rows = rows_of(self.package, place, method, (definition, home), bound=bound, given=self.given)[0]
        rows = Placement(section, defaults_of(chain)).rows(rows)
        for row in every(rows) if name == "__post_init__" else ():
            row["within"] = [f"{home.dotted}.{definition.name}", ".".join(path_of(section))]
        if any(key in row for row in every(rows) for key in ("put", "drop")):
            self.changed(fields(section) or {None})
        base = self.out[-1][0]
        guards = [g.expr for g in self.guards[base:]]
        is_target = ["==", ["attr", section, "_target_"], target]
        for row in rows:
            self.out[-1][1].append({**row, "when": [*[g for g in guards if g is not True], is_target, *row["when"]]})

    def method(self, box: Any, name: Any, node: Any) -> Any:
        args = [self.value(a) for a in node.args]
        if isinstance(box, list) and box and box[0] == "new" and self.package.targets is not None:
            for inner, target in self.package.targets(path_of(box[1])):
                if not inner:
                    self.call_of_object(box[1], target, name, args, node)
            return None
        if self.given.get(name) == "fact":
            return ["fact", name, *args]
        if isinstance(self.given.get(name), list):
            return self.given[name]
        if self.given.get(name) == "dispatch":
            self.emit({"do": name, "on": box, "with": args}, node)
            return None
        if name == "format" and isinstance(box, str):
            return braces(box, args, {k.arg: self.value(k.value) for k in node.keywords})
        if name == "get" and args:
            return ["get", box, args[0], args[1] if len(args) > 1 else None]
        if name == "setdefault" and len(args) == 2 and isinstance(node.func.value, ast.Name) and self.is_own(node.func.value.id, box):
            value = ["get", box, *args]
            self.assign_name(node.func.value.id, ["with", box, args[0], value])
            return value
        if name == "model_dump":  # of an object, which no value of a file is
            return box
        if name == "pop" and args:
            kept = self.let(["get", box, args[0], args[1] if len(args) > 1 else None], len(self.guards))
            self.drop(box, args[0], node)
            return kept
        if name == "join" and isinstance(box, str):
            items = literal_items(args[0]) if args else None
            if items is not None and all(is_text(i) for i in items):
                out = []
                for i, item in enumerate(items):
                    out += ([box] if i else []) + pieces(item)
                return joined(out)
        if name in ("split", "rsplit") and [k.arg for k in node.keywords] == ["maxsplit"]:
            args, node = [*(args or [None]), self.value(node.keywords[0].value)], ast.Call(node.func, node.args, [])
        if name in METHODS and not node.keywords:
            if (
                isinstance(box, str)
                and all(isinstance(a, str) for a in args)
                and name in ("lower", "upper", "strip", "startswith", "endswith", "replace")
            ):
                return getattr(box, name)(*args)
            return ["m", name, box, *args]
        return ["?", f".{name}()"]

    def inline(self, ref: Any, args: Any, keys: Any, node: Any) -> Any:
        """The value of a call of a function of the package, whose rows come first."""
        if self.depth >= self.deepest:
            return ["?", f"{ref.name} (deeper than {self.deepest} calls)"]
        a = ref.node.args
        if a.vararg or (a.kwarg and None in keys):
            return ["?", f"{ref.name}(*args)"]
        if any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in ast.walk(ref.node)):
            return ["?", f"generator {ref.name}"]
        bound, names = {}, [p.arg for p in [*a.posonlyargs, *a.args]]
        defaults = dict(zip(names[len(names) - len(a.defaults) :], a.defaults, strict=True))
        defaults |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
        for i, value in enumerate(args):
            if i < len(names):
                bound[names[i]] = value
        bound.update({k: v for k, v in keys.items() if k})
        self_module = self.frame["module"]
        for k in [*names, *[p.arg for p in a.kwonlyargs]]:
            if k not in bound:
                if k in defaults:
                    self.frame["module"] = ref.module
                    bound[k] = self.expr(defaults[k])
                    self.frame["module"] = self_module
                else:
                    return ["?", f"{ref.name}: {k} missing"]
        if (
            id(ref.node) in self.shared
            and self.calls
            and len(self.calls) > 0
            and self.shared[id(ref.node)] != self.own
            and all(isinstance(x, Ref) for x in args)
        ):
            self.changed(None)
            self.emit({"do": self.shared[id(ref.node)]}, node)
            return None
        self.depth += 1
        start = len(self.out[-1][1])
        try:
            value = self.function(ref.node, ref.module, bound)
        finally:
            self.depth -= 1
        # a helper without a row that we can state is one opaque answer, not many
        made = self.out[-1][1][start:]
        bad = sum("todo" in r or ("hand" in r and "raise" not in r) for r in every(made))
        if bad and 2 * bad >= len(list(every(made))) and not any("raise" in r for r in every(made)):
            del self.out[-1][1][start:]
            return ["?", f"{ref.name}()"]
        return value

    def listed(self, ref: Any) -> Any:
        """The members of an Enum as a value."""
        return ["list", *[["tuple", name, value] for name, value in self.members(ref)]]

    def members(self, ref: Any) -> Any:
        return [
            (each.targets[0].id, each.value.value)
            for each in ref.node.body
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant) and isinstance(each.targets[0], ast.Name)
        ]


class Members(list[Any]):
    """The values of the members of an Enum, with the text that a list of the members has."""

    shown = ""


class Labels:
    """Rows of a class among those of others: its fields are `CLASS.FIELD`."""

    def __init__(self, label: str) -> None:
        self.label = label

    def rows(self, rows: Any) -> Any:
        return [self.row(row) for row in rows]

    def row(self, row: Any) -> Any:
        return {key: self.part(key, value) for key, value in row.items()}

    def part(self, key: str, value: Any) -> Any:
        if key == "rows":
            return self.rows(value)
        if key in ("set", "let", "each") or (key == "drop" and isinstance(value, str)):
            return self.named(value)
        return value if key in ("raise", "line", "hand", "todo") else self.expression(value)

    def named(self, name: str) -> str:
        return f"{self.label}.{name}"

    def expression(self, e: Any) -> Any:
        if not isinstance(e, (list, tuple)) or not e:
            return e
        if e[0] in ("f", "f?", "f!", "has", "v") and isinstance(e[1], str):
            return [e[0], self.named(e[1]), *map(self.expression, e[2:])]
        return [self.expression(each) for each in e]


class Placement:
    """Rows of a class for an object that has the values of a section, with the defaults of the class."""

    def __init__(self, section: Any, defaults: dict[str, Any]) -> None:
        self.section, self.defaults = section, defaults
        self.name = ".".join(path_of(section))

    def rows(self, rows: Any) -> Any:
        return [self.row(row) for row in rows]

    def row(self, row: Any) -> Any:
        made = {
            key: self.rows(value) if key == "rows" else value if key in ("raise", "todo", "line", "hand") else self.placed(value)
            for key, value in row.items()
        }
        if "set" in row:
            made |= {"put": self.section, "key": row["set"]}
            del made["set"]
        if "drop" in row and "of" not in row:
            made["of"] = self.section
        for key in ("let", "each"):
            if key in row:
                made[key] = f"{row[key]} {self.name}"
        return made

    def placed(self, e: Any) -> Any:
        if not isinstance(e, (list, tuple)) or not e:
            return e
        if e[0] == "outer":
            return e[1]
        if e[0] == "self":
            return self.section
        if e[0] == "v":
            return ["v", f"{e[1]} {self.name}"]
        if e[0] in ("f", "f?", "f!") and isinstance(e[1], str):
            default = self.placed(e[2]) if e[0] == "f?" else self.defaults.get(e[1])
            return ["attr", self.section, e[1]] if default is None else ["get", self.section, e[1], default]
        if e[0] == "has":
            return ["in", self.placed(e[1]), self.section]
        return [self.placed(each) for each in e]


def always(node: Any) -> Any:
    """The attributes that are looked up whenever a statement runs, with those of its other statements left out."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node
    parts: Any = ast.iter_child_nodes(node)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        parts = [node.test]
    elif isinstance(node, ast.For):
        parts = [node.iter]
    elif isinstance(node, ast.With):
        parts = node.items
    elif isinstance(node, ast.BoolOp):
        parts = node.values[:1]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        parts = [node.func.value, *node.args, *node.keywords]
    elif isinstance(node, ast.Assert):
        parts = [node.test]
    elif isinstance(node, (ast.Try, ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        parts = []
    elif isinstance(node, ast.Attribute):
        parts = [node.value] if not isinstance(node.value, ast.Attribute) else []
    for part in parts:
        yield from always(part)


def looked_into(e: Any) -> set[str]:
    """The fields whose value an expression looks an entry up in, which fails if it is no mapping."""
    return {each[1][1] for each in walk(e) if is_lookup(each)}


def is_lookup(e: Any) -> bool:
    return isinstance(e, list) and e[:1] in (["get"], ["at"]) and isinstance(e[1], list) and e[1][:1] == ["f"] and isinstance(e[1][1], str)


def is_path(e: Any) -> bool:
    """Whether an expression is a key of the values, at any depth."""
    return isinstance(e, list) and (e[:1] == ["f"] or (e[:1] == ["attr"] and is_path(e[1])))


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether a handler only reports the exception and raises it again."""
    *said, last = handler.body
    is_same = isinstance(last, ast.Raise) and (last.exc is None or (isinstance(last.exc, ast.Name) and last.exc.id == handler.name))
    return is_same and all(isinstance(each, ast.Expr) for each in said)


def contained(e: Any) -> Any:
    """Whether a constant is in a constant string or a key of a constant mapping."""
    if not isinstance(e, list) or e[0] not in ("in", "not in") or isinstance(e[1], list):
        return e
    if isinstance(e[1], str) and isinstance(e[2], str):
        return (e[1] in e[2]) == (e[0] == "in")
    return (e[1] in literal_items(e[2])) == (e[0] == "in") if isinstance(e[2], list) and e[2][:1] == ["dict"] else e


def path_of(section: Any) -> tuple[str, ...]:
    """The keys of a section."""
    return (*path_of(section[1]), section[2]) if section[0] == "attr" else (section[1],)


def defaults_of(chain: Any) -> dict[str, Any]:
    """The defaults of the fields of a class that are constants."""
    found: dict[str, Any] = {}
    for owner, _ in reversed(chain):
        for node in owner.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.pop(node.target.id, None)
                if isinstance(node.value, ast.Constant) and node.value.value is not Ellipsis:
                    found[node.target.id] = node.value.value
    return found


def rows_of(
    package: Any,
    module: Any,
    node: Any,
    owner: Any = None,
    bound: Any = None,
    given: Any = None,
    shared: Any = None,
    own: Any = "",
    depth: int = DEPTH,
) -> Any:
    """The rows of one function; `bound` are its parameters, by default all stand for the object."""
    x = Extractor(package, module, owner, given, shared, own)
    x.deepest = depth
    a = node.args
    bound = (
        bound if bound is not None else {p.arg: Ref("cls" if p.arg == "cls" else "root") for p in [*a.posonlyargs, *a.args, *a.kwonlyargs]}
    )
    value = x.function(node, module, bound)
    rows = x.out[0][1]
    for place, row in reversed(x.reads):
        rows.insert(place, row)
    # lets that nobody reads
    while True:
        used = {
            e[1]
            for r in every(rows)
            for k, v in r.items()
            if k not in ("let", "rows")
            for e in walk(v)
            if isinstance(e, (list, tuple)) and len(e) == 2 and e[0] == "v"
        }
        used |= {e[1] for e in walk(value) if isinstance(e, (list, tuple)) and len(e) == 2 and e[0] == "v"}
        less = prune(rows, used)
        if less == rows:
            break
        rows = less
    return [sections(row) for row in simplified(rows)] if package.targets is not None else simplified(rows), value


def simplified(rows: Any) -> Any:
    """Without the values that are kept for the next row only, which tests them before it changes anything."""
    counts: dict[str, int] = {}
    for r in every(rows):
        for k, v in r.items():
            if k not in ("let", "rows"):
                for e in walk(v):
                    if isinstance(e, (list, tuple)) and len(e) == 2 and e[0] == "v":
                        counts[e[1]] = counts.get(e[1], 0) + 1
    out: list[Any] = []
    for row in rows:
        kept = {**row, "rows": simplified(row["rows"])} if "rows" in row else row
        last = out[-1] if out else {}
        name = ["v", last.get("let")]
        if last.get("let") and counts.get(last["let"]) == 1 and name in kept["when"] and not kept.keys() & {"each", "let"}:
            out.pop()
            when: list[Any] = []
            for guard in [*last["when"], *(each for each in kept["when"] if each not in last["when"])]:
                whole = last["be"] if guard == name else guard
                when += whole[1:] if isinstance(whole, list) and whole and whole[0] == "and" else [whole]
            kept = {**kept, "when": ordered([each for index, each in enumerate(when) if each not in when[:index]])}
        out.append(kept)
    return out


def prune(rows: Any, used: Any) -> Any:
    return [
        {**r, "rows": prune(r["rows"], used)} if "rows" in r else r
        for r in rows
        if "let" not in r or r["let"] in used or r["let"].startswith("$") is False
    ]
