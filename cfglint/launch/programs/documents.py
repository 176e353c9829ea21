"""The calls that an evaluation has recorded, as documents: each argument with its value and its place."""

from __future__ import annotations

import ast

from cfglint.evaluate import Perhaps, Reason, Unknown
from cfglint.launch.program import ProgramCall, ProgramFacts
from cfglint.launch.programs.calls import MadeCall
from cfglint.launch.programs.modules import ProgramModule
from cfglint.launch.programs.objects import OPEN, Built, LoopObject, Mapping, Opaque, Value, plain, same, unknown
from cfglint.launch.programs.runs_of_program import Evaluated
from cfglint.launch.programs.scopes import BuiltCall, literal
from cfglint.source.annotations import Any, Collection
from cfglint.source.document import MAPPING, SCALAR, SEQUENCE, Node, Problem, Written
from cfglint.source.python.call import CallDocument
from cfglint.source.python.literals import Offsets, node_of

NO_REASON = Reason("program", "a value that was not followed")
BEFORE_OPTIMIZER = 2  # parameters of `deepspeed.initialize` before the optimizer
MOST_SOURCES = 4  # numbers that a value is computed from, of which `fix` tries to edit each


def call_document(call: BuiltCall, program: ProgramFacts, evaluated: Evaluated) -> ProgramCall:
    made = evaluated.call(call)
    document = document_of_engine(made, call.node, program) if call.kind == "deepspeed" else document_of_call(made, program, call.settable)
    for repeated_keyword in made.module.repeated_keywords:
        message = f"keyword argument repeated: {repeated_keyword.arg}"
        span, remedy = made.module.offsets.span(repeated_keyword), f"remove one `{repeated_keyword.arg}`"
        document.problems.append(Problem(*span, message, exception=f"SyntaxError: {message}", remedy=remedy))
    return document


def document_of_call(made: MadeCall, program: ProgramFacts, fields: Collection[str] | None = None) -> ProgramCall:
    """The document of a call, with the values that the code gives to `fields` of its result afterwards; without them, to any attribute.

    Another attribute of the result is the program's own: setting one never fails.
    """
    module = made.module
    offsets = module.offsets
    document = ProgramCall(module.path, module.text, made.name, *offsets.span(made.node))
    final = {name: value for name, value in set_later(made).items() if fields is None or name in fields}
    document.set_later = frozenset(final)
    for name, (key, value) in made.arguments.items():
        add(document, name, key, final.pop(name, value), made, offsets, program)
    for name, value in final.items():
        add(document, name, made.node, value, made, offsets, program)
    return document


def set_later(made: MadeCall) -> dict[str, Value]:
    """The values that the code gives to attributes of the results afterwards: of those that differ it is not known which one counts."""
    return merged([attributes_of(result) for result in made.used])


def attributes_of(result: Built | Opaque) -> dict[Any, Any]:
    """The attributes that code sets on a result; of an object of a training loop those that have an effect."""
    if isinstance(result, LoopObject):
        return {name: value for name, value in result.slots.items() if name in result.initial}
    return result.in_training if isinstance(result, Built) else result.slots


def merged(objects: list[dict[Any, Any]]) -> dict[str, Value]:
    """The attributes of one of several objects: of those that differ it is not known which one counts."""
    slots = [{name: value for name, value in each.items() if name is not OPEN and isinstance(value, Value)} for each in objects]
    found: dict[str, Value] = {}
    for name in dict.fromkeys(name for each in slots for name in each):
        values = [each[name] for each in slots if name in each]
        is_one = len(values) == len(slots) and all(same(values[0], value) for value in values)
        found[name] = values[0] if is_one else unknown(Reason("branch", "different values that the code sets"))
    return found


def add(document: CallDocument, name: str, key: ast.AST, value: Value, made: MadeCall, offsets: Offsets, program: ProgramFacts) -> None:
    key_node = key_of(name, key, offsets)
    if isinstance(key, ast.keyword):
        document.ends[name] = offsets.span(key)[1]
    expression = key.value if isinstance(key, ast.keyword) else key
    above = made.module.parent(key) if isinstance(key, ast.Constant) else None
    if isinstance(above, ast.Dict) and key in above.keys:
        expression = above.values[above.keys.index(key)]
    span = offsets.span(expression) if isinstance(expression, ast.expr) else (key_node.start, key_node.end)
    content = put(document, key_node, value, value.node if value.module is made.module else None, span, offsets)
    if isinstance(content, Unknown):
        if isinstance(expression, ast.expr):
            document.traced[name] = (expression, made.module)
        return
    add_place(document, name, value, content, program, is_keyword=isinstance(key, ast.keyword))


def add_place(document: CallDocument, name: str, value: Value, content: object, program: ProgramFacts, *, is_keyword: bool) -> None:
    """Add the place of a value that is not written in the call itself, or those of the numbers that it is computed from."""
    if name not in document.literal:
        elsewhere = place_elsewhere(document, name, is_keyword, value, content)
        if elsewhere is not None:
            document.elsewhere[name] = elsewhere
        elif type(content) is int:
            document.computed[name] = places_of_sources(document, value)
    if value.argument and value.argument in program.fields:
        document.borrowed[name] = value.argument


def put(document: CallDocument, key: Node, value: Value, written: ast.expr | None, span: tuple[int, int], offsets: Offsets) -> Any:
    content = plain(value)
    if isinstance(content, Unknown):
        line = document.position(span[0])[0]
        kind = Perhaps if isinstance(content, Perhaps) else Unknown
        content = kind(*(reason.at(document.path, line) for reason in content.reasons or (NO_REASON,)))
        document.leave_open(key, *span, content)
    elif written is not None and is_literal(written, content):
        document.add(key, node_of(written, offsets), content)
        document.literal.add(key.raw)
    else:
        document.add(key, computed_node(content, *span), content)
    return content


def is_literal(node: ast.expr, content: object) -> bool:
    found = literal(node)
    return found == content and type(found) is type(content)


def place_elsewhere(call: CallDocument, name: str, is_keyword: bool, value: Value, content: object) -> Written | None:
    """The place of a value that a config file or another module has."""
    if value.written is not None and value.written.path:
        file, path = value.written.file, value.written.path
        return Written(file.document, path, not is_keyword and path[-1] == name) if file.document.find(path)[1] is not None else None
    if value.module is None or value.node is None or not is_literal(value.node, content):
        return None
    return place_of_literal(call, name, value.node, value.module, content)


def places_of_sources(call: CallDocument, value: Value) -> list[Written]:
    """The places of the integers that a computed number comes from, by their assigned names; none if too many to edit by turns."""
    integers: list[Value] = []
    seen: set[int] = set()
    left = [*reversed(value.sources)]
    while left:
        source = left.pop()
        if id(source) in seen:
            continue
        seen.add(id(source))
        if source.sources:
            left += reversed(source.sources)
        elif type(source.data) is int:
            integers.append(source)
    places: list[Written | None] = []
    for source in integers if len(integers) <= MOST_SOURCES else ():
        if source.module is not None and source.node is not None:
            above = source.module.parent(source.node)
            target = above.targets[0] if isinstance(above, ast.Assign) else getattr(above, "target", None)
            name = (
                source.argument or getattr(above, "arg", None) or (target.id if isinstance(target, ast.Name) else ast.unparse(source.node))
            )
            places.append(place_elsewhere(call, str(name), True, source, source.data))
    return [place for place in places if place is not None]


def place_of_literal(call: CallDocument, name: str, node: ast.expr, module: ProgramModule, content: object) -> Written:
    """The place of a literal that gives an argument of a call. The literals of one module are one document."""
    offsets = module.offsets
    of_module = (each.document for each in call.written_elsewhere() if each.document.path == module.path)
    document = next((each for each in of_module if isinstance(each, CallDocument)), None)
    document = document or CallDocument(module.path, module.text, "", *offsets.span(node))
    written = node_of(node, offsets)
    document.add(Node(SCALAR, written.start, written.end, name), written, content)
    document.literal.add(name)
    return Written(document, (name,))


def key_of(name: str, key: ast.AST, offsets: Offsets) -> Node:
    if isinstance(key, ast.keyword) and key.arg is not None:
        start = offsets.offset(key.lineno, key.col_offset)
        return Node(SCALAR, start, start + len(name), name)
    start, end = offsets.span(key) if isinstance(key, ast.expr) else (0, 0)
    if isinstance(key, ast.Constant) and key.value == name:
        return Node(SCALAR, start, end, name, offsets.source(start, end)[:1])
    return Node(SCALAR, start, end, name)


def computed_node(content: object, start: int, end: int) -> Node:
    if isinstance(content, dict):
        node = Node(MAPPING, start, end, style="flow")
        node.children = [(Node(SCALAR, start, end, str(key)), computed_node(value, start, end)) for key, value in content.items()]
        return node
    if isinstance(content, (list, tuple)):
        node = Node(SEQUENCE, start, end, style="flow")
        node.children = [computed_node(each, start, end) for each in content]
        return node
    return Node(SCALAR, start, end, str(content), '"' if isinstance(content, str) else "")


def given_mapping(call: MadeCall) -> Value | None:
    """The mapping with known keys that a call of `deepspeed.initialize` is given; None without one."""
    config = call.engine_config
    is_known = config is not None and isinstance(config.data, Mapping) and config.data.items and not config.data.is_open
    return config if is_known else None


def trains(call: MadeCall) -> bool:
    """Whether a call of `deepspeed.initialize` may make an engine that trains: one with an optimizer, and not of a reference model.

    Source: deepspeed 0.19.8 runtime/engine.py (__init__: `has_optimizer`).
    """
    if not call.every or len(call.positional) > BEFORE_OPTIMIZER or not {"optimizer", "model_parameters"}.isdisjoint(call.arguments):
        return True
    config = call.engine_config.data if call.engine_config is not None else None
    return not isinstance(config, Mapping) or config.is_open or "optimizer" in config.items


def is_unknown_config(call: MadeCall) -> bool:
    config = call.engine_config
    return config is not None and (not config.known or (isinstance(config.data, Mapping) and given_mapping(call) is None))


def document_of_engine(call: MadeCall, expression: ast.expr, program: ProgramFacts) -> ProgramCall:
    config = given_mapping(call) or Value(Mapping())
    module = call.module
    offsets = module.offsets
    display = config.node if isinstance(config.node, ast.Dict) and config.module is module else None
    document = ProgramCall(module.path, module.text, "deepspeed.initialize", *offsets.span(display or expression))
    pairs = zip(display.keys, display.values, strict=True) if display is not None else ()
    written = {key.value: (key, value) for key, value in pairs if isinstance(key, ast.Constant)}
    for name, value in config.data.items.items():
        key, part = written.get(name, (expression, expression))
        key_node = Node(SCALAR, *offsets.span(key), str(name), '"')
        if isinstance(value.data, Mapping):
            document.parts[name] = {inner: each.data for inner, each in value.data.items.items() if each.is_plain}
        content = put(document, key_node, value, part if part is not expression else None, offsets.span(part), offsets)
        if not isinstance(content, Unknown):
            add_place(document, name, value, content, program, is_keyword=True)
    return document
