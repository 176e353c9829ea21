"""Evaluates the expressions of a program with the values that are known. Nothing is executed; what cannot be known is unknown."""

from __future__ import annotations

import ast
import operator
import re
from functools import partial

from cfglint.evaluate import Choice, Reason, Unknown
from cfglint.evaluate.operations import any_or_all, negated
from cfglint.launch.kinds import base_fields, base_number, fields_of_class, kind_of_class
from cfglint.launch.programs import data_sets
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.modules import FRAMEWORKS, External, Modules
from cfglint.launch.programs.objects import (
    ITEMS,
    MOST_TURNS,
    NONE,
    OPEN,
    PLAIN,
    STREAMED,
    STREAMED_SPLITS,
    Built,
    Class,
    Computed,
    Container,
    FilePath,
    Frame,
    Function,
    Given,
    Instance,
    LoopObject,
    Mapping,
    Method,
    ModuleObject,
    Named,
    Opaque,
    OpenFile,
    Sequence,
    Value,
    attempted,
    calculated,
    computed,
    condition,
    one_of,
    part_within,
    path_part,
    plain,
    same,
    set_of,
    short,
    text_of_path,
    unknown,
    unknown_from,
    with_unknown,
)
from cfglint.launch.programs.process import Process
from cfglint.launch.programs.scopes import dotted
from cfglint.source.annotations import Any, Callable, Iterable, Iterator, Truth
from cfglint.source.budget import Budget
from cfglint.source.dataclass_fields import annotated
from cfglint.source.python.nodes import walk

ANNOTATED = ("__annotations__", FIELDS := "__dataclass_fields__")  # of the class itself, and with its bases
PARAMETERS = (".signature.parameters", ".__dataclass_fields__")  # the names under which a program asks what a class accepts
MANY_DIGITS = re.compile(r"\d{4}")
ORDERED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
EXPRESSIONS = {each: f"_{each.__name__.lower()}" for each in ast.expr.__subclasses__()}  # the methods that evaluate the others
TYPES = frozenset(f"builtins.{name}" for name in ("int", "float", "str", "bool", "list", "dict", "tuple", "set"))
MAKING = ("__init__", "__post_init__")  # of a package's class
SETTER = "setter"  # of a property
MICRO = "per_device_train_batch_size"
ALWAYS_TRUE = (Function, Class, ModuleObject, External, FilePath, OpenFile, Built)


class Expressions(Process):
    """The evaluation of expressions; `Interpreter` adds statements and calls, which are these methods."""

    run_function: Callable[[Function, Given, Named], Value]
    global_name: Callable[[str, Frame], Value | None]  # of a module that does not assign it
    of_package: Callable[[str], Value]
    patched: set[str]
    alternatives: Callable[[ast.AST, list[Callable[[], Value]]], list[Value]]  # of expressions of which only one is evaluated

    def __init__(self, modules: Modules, budget: Budget, context: Context) -> None:
        super().__init__(context)
        self.modules, self.budget = modules, budget
        self.stores: set[ast.AST] = set()  # the assignments to attributes, and the calls of `setattr`, that were evaluated

    # -- expressions

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        self.budget.spend()
        match node:
            case ast.Constant():
                return Value(node.value, node, frame.module) if isinstance(node.value, PLAIN) else unknown()
            case ast.Name():
                value = self.lookup(node.id, frame) or unknown(Reason("program", f"`{node.id}`", "nothing assigns it"))
            case ast.Attribute():
                value = self.attribute(self.evaluate(node.value, frame), node.attr)
            case ast.BinOp():
                value = self.operated(node.op, self.evaluate(node.left, frame), self.evaluate(node.right, frame))
            case ast.Lambda():
                value = Value(self.function(node, frame))
            case ast.Await():
                value = self.evaluate(node.value, frame)
            case ast.NamedExpr():
                value = self.evaluate(node.value, frame)
                self.write(frame.slots, node.target.id, value)
            case _:
                method = getattr(self, EXPRESSIONS[type(node)], None)
                value = method(node, frame) if method is not None else unknown()
        data = value.data
        if isinstance(data, Unknown):
            if not data.reasons or not all(reason.line for reason in data.reasons):
                reasons = [reason.at(frame.module.path, node.lineno) for reason in data.reasons] or [Computed(node, frame.module)]
                value.data = Choice(data.options, *reasons) if isinstance(data, Choice) else Unknown(*reasons)
            value.node = value.node or node
        return value

    def lookup(self, name: str, frame: Frame) -> Value | None:
        inside: Frame | None = frame
        while inside is not None:
            value: Value | None = inside.slots.get(name)
            if value is not None and (inside is frame or not inside.is_class):
                return value
            inside = inside.closure
        return self.global_name(name, frame)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, frame: Frame) -> Function:
        """A function with the values that its defaults have where it is defined."""
        made, arguments = Function(node, frame), node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
        pairs += [(name, default) for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is not None]
        made.defaults = {name.arg: self.evaluate(default, frame) for name, default in pairs}
        return made

    def attribute(self, owner: Value, name: str) -> Value:
        data = owner.data
        if isinstance(data, External):
            return self.of_package(f"{data.name}.{name}")
        if isinstance(data, ModuleObject):
            return data.frame.slots.get(name) or self.global_name(name, data.frame) or unknown()
        if name == "__dict__" and isinstance(data, (Built, Instance)):
            mapping = Mapping()
            mapping.slots = data.slots
            return Value(mapping)
        if isinstance(data, Built):
            value = self.of_class(data.made_of, name, owner) if data.made_of is not None else None
            value = data.slots.get(name) or data.arguments.get(name) or value or self.of_launch(data, name)
            number = base_number(data.name, name) if value is None and not data.is_open else None
            return value or Value(Method(owner, name) if number is None else number)
        if isinstance(data, Instance):
            return self.of_instance(data, owner, name)
        if isinstance(data, Class) and name in ANNOTATED:
            classes = [cls for cls in (data.line if name == FIELDS else [data]) if isinstance(cls, Class)]
            fields = {field: unknown() for cls in classes for field, _ in annotated(cls.node)}
            return Value(Mapping(fields)) if name != FIELDS or len(classes) == len(data.line) else unknown()
        if isinstance(data, Class):
            return self.of_class(data, name, None) or Value(Method(owner, name))
        if isinstance(data, Mapping) and data.by_attribute and name not in ("get", "items", "keys", "values", "pop", "update", "copy"):
            return self.item(owner, Value(name))
        if isinstance(data, data_sets.Table) and name in ("loc", "iloc", "values"):
            return owner
        if isinstance(data, Opaque):
            initial = data.initial.get(name) if isinstance(data, LoopObject) else None
            return data.slots.get(name) or initial or Value(Method(owner, name))
        if isinstance(data, FilePath) and name in ("parent", "name", "stem", "suffix"):
            return path_part(data, name)
        if isinstance(data, FilePath) and name == "parents":
            parents: list[Value] = []
            while "/" in data.text.rstrip("/") and len(parents) < MOST_TURNS:
                parents.append(path_part(data, "parent"))
                data = parents[-1].data
            return Value(Sequence(parents, "tuple"))
        if isinstance(data, Choice):
            return one_of([self.attribute(each, name) for each in owner.objects if isinstance(each.data, Container)], *data.reasons)
        if name == "value" and owner.is_plain:
            return owner  # a member of an Enum counts as its value
        return Value(Method(owner, name)) if owner.known else unknown_from(owner)

    def of_launch(self, data: Built, name: str) -> Value | None:
        """What arguments know of their launch: processes, the GPUs of each, and their samples (transformers 5.24.0 training_args.py)."""
        gpus = self.context.gpus
        if name == "world_size":
            return Value(gpus) if gpus is not None else None
        each = Value(1) if (gpus or 0) > 1 or gpus == self.context.devices == 1 else None  # else one process may have all of them
        if name == "n_gpu" or each is None:
            return each
        batch = data.slots.get(MICRO) or data.arguments.get(MICRO)
        return batch if name == "train_batch_size" else None

    def of_instance(self, data: Instance, owner: Value, name: str) -> Value:
        slot = data.slots.get(name)
        if isinstance(slot, Value):
            return slot
        if name == "__class__" and data.made_of is not None:
            return Value(data.made_of)
        if data.made_of is not None and not data.is_open:
            return self.of_class(data.made_of, name, owner) or unknown()
        inherited = self.of_class(data.made_of, name, owner) if data.made_of is not None else None
        return inherited if inherited is not None and isinstance(inherited.data, Function) else unknown()

    def of_class(self, made_of: Class, name: str, owner: Value | None) -> Value | None:
        for each in made_of.line:
            if not isinstance(each, Class):
                return None
            slot = each.slots.get(name)
            if isinstance(slot, Value):
                function = slot.data
                if not isinstance(function, Function) or isinstance(function.node, ast.Lambda) or "staticmethod" in function.marks:
                    return slot
                if "classmethod" in function.marks:
                    return Value(function.of(Value(made_of), each))
                if owner is None:
                    return slot
                bound = function.of(owner, each)
                is_property = "property" in function.marks or "functools.cached_property" in function.marks
                return self.run_function(bound, [], {}) if is_property else Value(bound)
        return None

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        owner = self.evaluate(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            bounds = self._bounds_of(node.slice, frame)
            rows = data_sets.part_of(owner, bounds) if not data_sets.is_closed_list(owner) else None
            if rows is not None:
                return rows
            part = part_within(bounds)
            if part is None:
                return unknown()
            is_open = isinstance(owner.data, Sequence) and owner.data.is_open
            if isinstance(owner.data, Sequence) and (not is_open or (part.stop is None and (part.start or 0) >= 0)):
                return Value(Sequence(owner.data.items[part], owner.data.kind, is_open))
            return Value(owner.data[part]) if isinstance(owner.data, str) else unknown()
        return self.item(owner, self.evaluate(node.slice, frame))

    def _bounds_of(self, node: ast.Slice, frame: Frame) -> list[Value]:
        return [self.evaluate(bound, frame) if bound is not None else NONE for bound in (node.lower, node.upper, node.step)]

    def item(self, owner: Value, key: Value) -> Value:
        data = owner.data
        if isinstance(data, Choice):
            return one_of([self.item(value, key) for value in owner.objects if isinstance(value.data, Container)], *data.reasons)
        rows = data_sets.entry(owner, key)
        if rows is not None:
            return rows
        if not isinstance(key.data, PLAIN):
            items = data.items if isinstance(data, (Mapping, Sequence)) else ()
            return one_of(items.values() if isinstance(items, dict) else items, *key.reasons)
        if isinstance(data, External) and data.name == "os.environ":
            return self.variable(key)
        if isinstance(data, Mapping):
            slot = data.slots.get(key.data)
            return self.interpolated(slot, data) if isinstance(slot, Value) else unknown()
        if isinstance(data, data_sets.DataSplits):
            return Value(data.splits[key.data]) if key.data in data.splits else unknown()
        if isinstance(data, Opaque) and data.name == STREAMED_SPLITS:
            return Value(Opaque(STREAMED))
        if not isinstance(key.data, int):
            return unknown()
        if isinstance(data, Sequence) and data.has_place(key):
            return data.items[key.data]
        return Value(data[key.data]) if isinstance(data, str) and -len(data) <= key.data < len(data) else unknown()

    def interpolated(self, value: Value, inside: Mapping, depth: int = 0) -> Value:
        """The value of a key of an OmegaConf config, in which `${a.b}` refers to another key."""
        text = value.data
        if not inside.by_attribute or not isinstance(text, str) or "${" not in text:
            return value
        if not text.startswith("${") or text.find("}") != len(text) - 1 or depth > 10:
            return unknown(Reason("program", f"the interpolation `{text}`"))
        steps = text[2:-1]
        if not all(step.isidentifier() for step in steps.split(".")):
            return unknown(Reason("program", f"the interpolation `{text}`"))
        slot: Value | None = None
        at: Any = inside.root
        for step in steps.split("."):
            slot = at.slots.get(step) if isinstance(at, Mapping) else None
            at = slot.data if slot is not None else None
        return self.interpolated(slot, inside, depth + 1) if slot is not None else unknown()

    def operated(self, operation: ast.operator, left: Value, right: Value) -> Value:
        one, other = left.data, right.data
        if not left.known or not right.known:
            return with_unknown(operation, left, right)
        if isinstance(one, FilePath) and isinstance(operation, ast.Div):
            text = other.text if isinstance(other, FilePath) else other
            if not isinstance(text, str):
                return unknown()
            is_below = one.text and not text.startswith(("/", "\0"))
            return short(f"{one.text.rstrip('/')}/{text}" if is_below else text, FilePath)
        if isinstance(one, Sequence) and isinstance(other, Sequence) and isinstance(operation, ast.Add):
            if not one.is_open and not other.is_open:
                return Value(Sequence((*one.items, *other.items), one.kind))
            rows = [data_sets.recipe_of(value) for value in (left, right)]
            return data_sets.list_of(data_sets.joined(*(row for row in rows if row))) if None not in rows else unknown()
        count = data_sets.calculated(data_sets.OPERATIONS.get(type(operation), ""), left, right)
        if count is not None:
            return count
        if isinstance(one, Mapping) and isinstance(other, Mapping) and isinstance(operation, ast.BitOr):
            both = Mapping({**one.slots})
            self.update(both, right)
            return Value(both)
        return computed(calculated(operation, one, other), left, right)

    def _unaryop(self, node: ast.UnaryOp, frame: Frame) -> Value:
        inner = self.evaluate(node.operand, frame)
        if isinstance(node.op, ast.Not):
            holds = self.truth(inner)
            return unknown_from(inner) if isinstance(holds, Unknown) else Value(not holds)
        if not isinstance(inner.data, (bool, int, float)):
            return unknown_from(inner)
        if isinstance(node.op, ast.USub):
            written = isinstance(node.operand, ast.Constant)
            return Value(-inner.data, node if written else None, inner.module)
        return Value(+inner.data) if isinstance(node.op, ast.UAdd) else unknown()

    def _boolop(self, node: ast.BoolOp, frame: Frame) -> Value:
        stops = isinstance(node.op, ast.Or)
        unclear: Value | None = None
        value = NONE
        values: list[Value] = []
        for each in node.values:
            if unclear is not None and any(isinstance(inner, (ast.Call, ast.NamedExpr)) for inner in walk(each)):  # it may not happen
                _, value = self.alternatives(each, [lambda: NONE, partial(self.evaluate, each, frame)])
            else:
                value = self.evaluate(each, frame)
            values.append(value)
            holds = self.truth(value)
            if isinstance(holds, Unknown):
                unclear = unclear or value
            elif holds is stops:
                if unclear is None:
                    return value
                # Of another value only the truth is known.
                return Value(stops) if isinstance(value.data, bool) else one_of(values, *unclear.reasons, node=unclear.node)
        return value if unclear is None else one_of(values, *unclear.reasons, node=unclear.node)

    def truth(self, value: Value) -> Truth:
        data = value.data
        if isinstance(data, PLAIN):
            return bool(data)
        if isinstance(data, ALWAYS_TRUE):
            return Unknown() if is_constant(value) else True
        if isinstance(data, Instance):
            asked = (self.own_method(value, name) for name in ("__bool__", "__len__"))
            method = next(filter(None, asked), None)
            return self.truth(self.run_function(method, [], {})) if method is not None else True
        if isinstance(data, (Mapping, Sequence)):
            parts = data.items.values() if isinstance(data, Mapping) else data.items
            if not all(part.may_be_absent for part in parts):
                return True
            return Unknown() if parts or data.is_open else False
        return data if isinstance(data, Unknown) else Unknown()

    def holds(self, node: ast.expr, frame: Frame) -> Truth:
        return self.truth(self.evaluate(node, frame))

    def _compare(self, node: ast.Compare, frame: Frame) -> Value:
        left = self.evaluate(node.left, frame)
        doubts: list[Value] = []
        for operation, expression in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(expression, frame)
            part = self.compared(operation, left, right)
            if part is False:
                return Value(False)
            if isinstance(part, Unknown):
                doubts += [Value(part)] if part.reasons else [left, right]
            left = right
        return unknown(*unknown_from(*doubts).reasons) if doubts else Value(True)

    def compared(self, operation: ast.cmpop, left: Value, right: Value) -> Truth:
        if isinstance(operation, (ast.NotEq, ast.IsNot, ast.NotIn)):
            positive = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}[type(operation)]()
            return negated(self.compared(positive, left, right))
        if not left.known or not right.known:
            return Unknown()
        if isinstance(operation, ast.In):
            return self._contained(left, right)
        if isinstance(operation, ast.Is) and isinstance(left.data, PLAIN) and type(left.data) is not type(right.data):
            return False  # `1 is True`
        one, other = left.data, right.data
        if not isinstance(operation, (ast.Eq, ast.Is)):
            test = ORDERED.get(type(operation))
            if isinstance(one, Sequence) and isinstance(other, Sequence) and one.kind == other.kind != "set":
                one, other = plain(left), plain(right)
            try:
                return Unknown() if test is None or isinstance(one, Container) else bool(test(one, other))
            except TypeError:
                return Unknown()
        if isinstance(one, PLAIN) and isinstance(other, PLAIN):
            return bool(one == other)
        if same(left, right):
            return True
        if isinstance(one, External) and isinstance(other, External) and {one.name, other.name} <= TYPES:
            return False  # the same type is the same object
        if (one is None or other is None) and not any(
            isinstance(each.data, (Method, Opaque)) or is_constant(each) for each in (left, right)
        ):
            return False  # an object that is known is not None
        if isinstance(one, Sequence) and isinstance(other, Sequence) and one.kind == other.kind:
            first, second = plain(left), plain(right)
            if not isinstance(first, Unknown) and not isinstance(second, Unknown):
                return bool(first == second) if one.kind != "set" else len(first) == len(second) and all(each in second for each in first)
        return Unknown()

    def _contained(self, left: Value, right: Value) -> Truth:
        inside = right.data
        if isinstance(inside, str):
            return left.data in inside if isinstance(left.data, str) else Unknown()
        if not isinstance(left.data, PLAIN):
            return Unknown()
        if are_parameters(right):
            return is_parameter(inside.name, left.data)
        if isinstance(inside, Mapping):
            value = inside.items.get(left.data)
            if value is not None and value.may_be_absent:
                return Unknown()
            return Unknown() if value is None and inside.is_open else value is not None
        if isinstance(inside, Sequence):
            if any(item.is_plain and item.data == left.data for item in inside.items):
                return True
            return Unknown() if inside.is_open or not all(item.is_plain for item in inside.items) else False
        return Unknown()

    def _ifexp(self, node: ast.IfExp, frame: Frame) -> Value:
        holds = self.holds(node.test, frame)
        if not isinstance(holds, Unknown):
            return self.evaluate(node.body if holds else node.orelse, frame)
        values = self.alternatives(node, [lambda: self.evaluate(node.body, frame), lambda: self.evaluate(node.orelse, frame)])
        return values[0] if same(values[0], values[1]) else one_of(values, condition(node, frame.module))

    def _dict(self, node: ast.Dict, frame: Frame) -> Value:
        mapping = Mapping()
        for key, value in zip(node.keys, node.values, strict=True):
            content = self.evaluate(value, frame)
            if key is None:
                self.update(mapping, content)
                continue
            if not self.set_item(mapping, self.evaluate(key, frame), content):
                mapping.slots[OPEN] = True
        return Value(mapping, node, frame.module)

    def set_item(self, mapping: Mapping, key: Value, value: Value) -> bool:
        """Set the item of a key, or of each of several keys that it may be, which then may be absent; false if it is not known."""
        options = key.data.options if isinstance(key.data, Choice) else (key,)
        names = [option.data for option in options if option is not None and isinstance(option.data, PLAIN)]
        if len(names) < len(options):
            return False
        for name in names:
            self.write(mapping.slots, name, value if len(names) == 1 else one_of((value, mapping.slots.get(name)), *key.reasons))
        return True

    def update(self, mapping: Mapping, content: Value) -> None:
        other = content.data
        if isinstance(other, Instance):
            other = Mapping(other.slots)
        if not isinstance(other, Mapping):
            for key in mapping.items:
                self.write(mapping.slots, key, unknown())
            self.write(mapping.slots, OPEN, True)
            return
        for key in mapping.items if other.is_open else ():  # it may have any of them
            self.write(mapping.slots, key, unknown())
        for key, value in list(other.slots.items()):
            self.write(mapping.slots, key, self.interpolated(value, other) if isinstance(value, Value) else value)

    def _list(self, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
        values: list[Value] = []
        is_open = False
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = self.evaluate(element.value, frame).data
                values.extend(inner.items if isinstance(inner, Sequence) else ())
                is_open = is_open or not isinstance(inner, Sequence) or inner.is_open
            else:
                values.append(self.evaluate(element, frame))
        kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
        return Value(set_of(values, is_open) if kind == "set" else Sequence(values, kind, is_open), node, frame.module)

    _tuple = _set = _list

    def _joinedstr(self, node: ast.JoinedStr, frame: Frame) -> Value:
        parts: list[str] = []
        for value in node.values:
            part = self.evaluate(value, frame)
            if not isinstance(part.data, str):
                return unknown_from(part)
            parts.append(part.data)
        return short("".join(parts))

    def _formattedvalue(self, node: ast.FormattedValue, frame: Frame) -> Value:
        inner = self.evaluate(node.value, frame)
        form = self.evaluate(node.format_spec, frame) if node.format_spec is not None else Value("")
        data = text_of_path(inner)
        if not isinstance(data, PLAIN) or not isinstance(form.data, str) or node.conversion not in (-1, 115):
            return unknown_from(inner)
        return Value(attempted(format, data, form.data)) if not MANY_DIGITS.search(form.data) else unknown()

    # -- comprehensions

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Value:
        values: list[Value] = []
        inside = Frame(frame.module, frame)
        first = self.evaluate(node.generators[0].iter, frame)
        target = dotted(node.generators[0].target)
        if are_parameters(first) and len(target) == 1 and dotted(node.elt) == [*target, "name"]:
            return first
        rows = data_sets.comprehended(first, node)
        if rows is not None:
            return rows
        for turn in self._turns(node.generators, inside, first):
            if not turn:
                return unknown()
            values.append(self.evaluate(node.elt, inside))
        return Value(Sequence(values))

    _generatorexp = _listcomp

    def _setcomp(self, node: ast.SetComp, frame: Frame) -> Value:
        value = self._listcomp(node, frame)
        return Value(set_of(value.data.items)) if isinstance(value.data, Sequence) else value

    def _dictcomp(self, node: ast.DictComp, frame: Frame) -> Value:
        mapping = Mapping()
        inside = Frame(frame.module, frame)
        for turn in self._turns(node.generators, inside, self._pairs(node, frame)):
            key = self.evaluate(node.key, inside) if turn or isinstance(turn, Unknown) else unknown()
            if not isinstance(key.data, PLAIN):
                return Value(Mapping({OPEN: True}))
            value = self.evaluate(node.value, inside)
            if isinstance(turn, Unknown):
                left_out = [each for each in turn.reasons if each.kind == "release"] or [condition(node, frame.module)]
                value = one_of((value, mapping.slots.get(key.data)), *left_out, node=value.node)
            mapping.slots[key.data] = value
        return Value(mapping)

    def _pairs(self, node: ast.DictComp, frame: Frame) -> Value | None:
        """What `{key: value for key, value in mapping.items() if ...}` goes through, with the keys that may be absent; None for anything
        else, and where the mapping is no name: evaluating it once more might change something.
        """
        first = node.generators[0]
        call = first.iter.func if isinstance(first.iter, ast.Call) and len(node.generators) == 1 else None
        is_filter = isinstance(first.target, ast.Tuple) and [*map(dotted, first.target.elts)] == [dotted(node.key), dotted(node.value)]
        if not isinstance(call, ast.Attribute) or call.attr != "items" or not is_filter or not dotted(call.value):
            return None
        owner = self.evaluate(call.value, frame).data
        if not isinstance(owner, Mapping) or owner.is_open:
            return None
        return Value(Sequence([Value(Sequence((Value(key), value), "tuple")) for key, value in owner.items.items()]))

    def _turns(self, generators: list[ast.comprehension], frame: Frame, iterated: Value | None = None) -> Iterator[Truth]:
        """The turns of a comprehension, by whether their conditions hold; False for what cannot be evaluated. `iterated` is what the
        first generator goes through, if it was evaluated.
        """
        if not generators:
            yield True
            return
        first = generators[0]
        items = self.iterated(iterated or self.evaluate(first.iter, frame))
        if items is None:
            yield False
            return
        for item in items:
            self.assign(first.target, item, frame)
            holds = any_or_all(False, [self.holds(test, frame) for test in first.ifs])
            if isinstance(holds, Unknown):
                yield holds
            elif holds:
                yield from self._turns(generators[1:], frame)

    def iterated(self, value: Value) -> list[Value] | None:
        data = value.data
        items: Iterable[Value] | None = None
        if isinstance(data, Sequence) and not data.is_open:
            items = data.items
        elif isinstance(data, Mapping) and not data.has_unknown_keys:
            items = [Value(key) for key in data.items]
        elif isinstance(data, str):
            items = [Value(each) for each in data[: MOST_TURNS + 1]]
        values = list(items) if items is not None else None
        return values if values is not None and len(values) <= MOST_TURNS else None

    # -- targets of assignments

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value, frame)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, unknown(), frame)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for node, part in zip(target.elts, self._unpacked(value, target.elts), strict=True):
                self.assign(node, part, frame)
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value, frame)
            if owner.known:
                self.stores.add(target)
            self.set_attribute(owner, target.attr, value)
        elif isinstance(target, ast.Subscript):
            owner, place = self.evaluate(target.value, frame), target.slice
            data = owner.data
            key = self.evaluate(place, frame) if not isinstance(place, ast.Slice) else unknown()
            if isinstance(data, Mapping):
                if not self.set_item(data, key, value):
                    for item in data.items:
                        self.write(data.slots, item, unknown())
                    self.write(data.slots, OPEN, True)
            elif isinstance(data, External) and data.name == "os.environ" and isinstance(key.data, str):
                self.write(self.environment.slots, key.data, value)
            elif isinstance(data, Sequence):
                span = part_within(self._bounds_of(place, frame)) if isinstance(place, ast.Slice) and not data.is_open else None
                added = self.iterated(value) if span is not None and span.step is None else None
                items: list[Any] = list(data.items)
                if span is not None and added is not None:
                    items[span] = added
                elif data.has_place(key):
                    items[key.data] = value
                else:
                    items = []
                    self.write(data.slots, OPEN, True)
                self.write(data.slots, ITEMS, tuple(items))
            self.opened_objects(owner)

    def bind(self, name: str, value: Value, frame: Frame) -> None:
        self.write((frame.top if name in frame.globals else frame).slots, name, value)

    def _unpacked(self, value: Value, targets: list[ast.expr]) -> list[Value]:
        data = value.data
        starred = next((place for place, node in enumerate(targets) if isinstance(node, ast.Starred)), None)
        if isinstance(data, Sequence) and not data.is_open:
            items = list(data.items)
            if starred is None and len(items) == len(targets):
                return items
            if starred is not None and len(items) >= len(targets) - 1:
                behind = len(targets) - starred - 1
                return [*items[:starred], unknown(), *items[len(items) - behind :]]
        return [unknown_from(value) for _ in targets]

    def own_method(self, owner: Value, name: str) -> Function | None:
        """A method that the program itself defines for an object of one of its classes."""
        made_of = owner.data.made_of if isinstance(owner.data, Instance) else None
        method = self.of_class(made_of, name, owner) if made_of is not None else None
        return method.data if method is not None and isinstance(method.data, Function) else None

    def set_attribute(self, owner: Value, name: str, value: Value) -> None:
        data = owner.data
        if isinstance(data, External) and name in MAKING:
            self.patched.add(data.name)
        if isinstance(data, External) and data.name == "sys":
            self.write(self.system.slots, name, value)
        made_of = data.made_of if isinstance(data, (Instance, Built)) else None
        for each in made_of.line if made_of is not None else ():
            slot = each.slots.get(name) if isinstance(each, Class) else None
            if isinstance(slot, Value):
                setters = slot.data.marks.get(SETTER, []) if isinstance(slot.data, Function) else []
                for [setter], _ in setters:
                    self.run_function(setter.data.of(owner, each), [value], {})
                if setters:
                    return
                break
        if isinstance(data, ModuleObject):
            self.write(data.frame.slots, name, value)
        elif isinstance(data, (Instance, Built, Opaque, Class)) or (isinstance(data, Mapping) and data.by_attribute):
            self.write(data.slots, name, value)
        self.opened_objects(owner)


def is_constant(value: Value) -> bool:
    """Whether a name of another package may be one of a constant, whose value is not known, rather than of a function, class or module."""
    module, _, name = value.data.name.rpartition(".") if isinstance(value.data, External) else ("", "", "")
    package = module.partition(".")[0]
    return bool(module) and (name.isupper() or (name[:1].islower() and package != "builtins" and package not in FRAMEWORKS))


def are_parameters(value: Value) -> bool:
    return isinstance(value.data, External) and value.data.name.endswith(PARAMETERS)


def is_parameter(name: str, key: object) -> Truth:
    """Whether a framework's class has a parameter, by the name of its parameters; unknown if only some releases have it."""
    for mark in PARAMETERS:
        name = name.removesuffix(mark)
    fields = base_fields()
    if isinstance(key, str) and key in fields and fields[key][2:] == ((), ()):
        return True
    last = name.rpartition(".")[2]
    if kind_of_class(last) and key not in fields and key not in fields_of_class(last):
        return False
    return Unknown(Reason("release", f"whether `{last}` has `{key}`"))
