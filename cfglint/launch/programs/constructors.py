"""Calls that build a trainer's arguments in code: `TrainingArguments(...)`, `SFTConfig(...)` and their subclasses.

Source: transformers 5.23.0 training_args.py (a dataclass: every field is a parameter of `__init__`, `output_dir` the first one),
trl 1.16.0 trainer/*_config.py.
"""

from __future__ import annotations

import ast

from cfglint.frameworks import fields_of_class, kind_of_class, trainer_of_class
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.program import HF_PARSERS, Field, ProgramFacts
from cfglint.launch.programs.classes import SEQ2SEQ, linearized, read_class
from cfglint.launch.programs.documents import set_later
from cfglint.launch.programs.flags import engine_values
from cfglint.launch.programs.literals import assigned, is_mutated, value_of
from cfglint.launch.programs.modules import Definition, External
from cfglint.launch.programs.objects import UNCLEAR, plain
from cfglint.launch.programs.scopes import FUNCTIONS, dotted
from cfglint.launch.programs.trainers import is_arguments
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from cfglint.launch.programs.classes import Dataclass
    from cfglint.launch.programs.parsers import Construction
    from cfglint.launch.programs.runs_of_program import Evaluated
    from cfglint.launch.programs.scopes import Scope

    Argument = tuple[str, ast.keyword | ast.expr, ast.expr]  # name, the node that contains it, value

FIRST = "output_dir"  # the only parameter that is commonly passed by position
MOST = 4  # calls of one program that become runs; with more, it is uncertain which one is launched
OTHER_OBJECTS = ("self", "model", "config", "tokenizer", "trainer")  # variables whose attributes are not arguments
COPIES = ("replace", "copy.replace", "dataclasses.replace")


class Constructor:
    """A call that builds arguments: `name` is the framework's class, `own` the fields that a subclass adds.

    `others` are the keywords, among those that are not passed, whose value the code may nevertheless set; None if it may set any.
    """

    def __init__(self, name: str, own: Dataclass, call: ast.Call, scope: Scope) -> None:
        self.name = name
        self.own = own
        self.call = self.node = call
        self.scope = scope
        self.complete = own.complete
        self.arguments = arguments_of(call, scope)

    @property
    def kind(self) -> str:
        """The kind of the arguments."""
        return kind_of_class(self.name)

    @property
    def is_conditional(self) -> bool:
        """Whether the call is inside a branch or a loop."""
        return self.scope.is_conditional(self.call)

    def known(self) -> set[str]:
        """The fields of the framework's class, in any release."""
        return {*FIELDS, *fields_of_class(self.name)}

    @property
    def trainer(self) -> str | None:
        """The trainer that the arguments are for, if their class determines it."""
        return trainer_of_class(self.name)

    def facts(self, program: ProgramFacts, evaluated: Evaluated | None = None) -> ProgramFacts:
        """The facts of the program with this call in place of a parser, as an evaluation of the program leaves it."""
        scopes: list[Scope] = list(program.scopes)
        known = self.known()
        own = self.own.own
        made = evaluated.made.get(self.call) if evaluated is not None else None
        later = set(self._changed(scopes, evaluated.stores if evaluated is not None and made is not None else frozenset()))
        arguments, every = self.arguments
        given = {name for name, _, _ in arguments}
        if made is not None:
            every, given = made.every, {*made.arguments}
            later |= {name for name, value in set_later(made).items() if plain(value) is UNCLEAR}
            later |= known if any(each.is_open for each in made.results) else set()
        open_fields = later & known if every and not self._is_copied(scopes) else (known - given) | (later & known)
        fields: dict[str, Field] = dict(SEQ2SEQ) if self.name == "Seq2SeqTrainingArguments" else {}
        fields.update((name, field) for name, field in own.items() if name not in known)
        return changed(
            program,
            arguments=self.name,
            classes=(),
            fields=fields,
            defaults={name: field for name, field in own.items() if name in known},
            complete=self.complete,
            refuses=self.complete,
            refuses_in_file=self.complete,
            changed=tuple(sorted(open_fields)),
            exact=self.complete,
        )

    def _changed(self, scopes: list[Scope], evaluated: AbstractSet[ast.AST]) -> Iterator[str]:
        """The fields that code sets after the call, or that a subclass sets in its own methods; not in the code that was evaluated."""
        yield from self._set_later(scopes, evaluated)
        for each in linearized(self.scope.modules, self.scope.resolve(self.call.func)):
            if isinstance(each, Definition) and isinstance(each.node, ast.ClassDef):
                for node in ast.walk(each.node):
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node.value) == ["self"]:
                        yield node.attr
        for scope in scopes:
            for call in scope.calls():
                if dotted(call.func) == ["setattr"] and len(call.args) > 1 and call not in evaluated:
                    name = value_of(call.args[1], scope)
                    yield from [name] if isinstance(name, str) else self.known()

    def _set_later(self, scopes: list[Scope], evaluated: AbstractSet[ast.AST]) -> Iterator[str]:
        """The fields that code sets on objects that may be these arguments: `args.bf16 = True`, `self.args.bf16 = True`."""
        names = self._names()
        for scope in scopes:
            for node in scope.nodes:
                owner = dotted(node.value)[-1:] if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else []
                if not owner or not isinstance(node, ast.Attribute) or node in evaluated:
                    continue
                if is_arguments(owner[0], names) or (not names and owner[0] not in OTHER_OBJECTS):
                    yield node.attr

    def _names(self) -> set[str]:
        """The names and attributes that the result is assigned to."""
        parent = self.scope.module.parent(self.call)
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target] if isinstance(parent, ast.AnnAssign) else []
        return {part for each in targets for part in dotted(each)[-1:]}

    def _is_copied(self, scopes: list[Scope]) -> bool:
        """Whether code creates other arguments from these, or changes them all at once."""
        names = self._names()
        for scope in scopes:
            for call in scope.calls():
                path = dotted(call.func)
                first = call.args[0] if call.args else None
                if ".".join(path) in COPIES and isinstance(first, ast.Name) and first.id in names:
                    return True
                if len(path) == 2 and path[0] in names and path[1].startswith("set_"):
                    return True
                if path[-1:] == ["update"] and any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(call.func)):
                    return True
        return False


class EngineConfig:
    """A call of `deepspeed.initialize` whose config is a mapping: `value` is that expression.

    Source: deepspeed 0.19.8 deepspeed/__init__.py (initialize: `config`, else `config_params`).
    """

    kind = "deepspeed"
    trainer: str | None = None

    def __init__(self, value: ast.expr, scope: Scope, call: ast.Call) -> None:
        self.value = self.node = value
        self.scope = scope
        self.call = call

    @property
    def is_conditional(self) -> bool:
        """Whether the call is inside a branch or a loop."""
        return self.scope.is_conditional(self.value)

    def facts(self, program: ProgramFacts, evaluated: Evaluated | None = None) -> ProgramFacts:
        """The facts of the program, which parses its arguments itself."""
        return program


class AcceleratorCall:
    """A call of `Accelerator`, in a program with a training loop of its own."""

    kind = "launch"
    name = "Accelerator"
    trainer: str | None = None

    def __init__(self, call: ast.Call, scope: Scope) -> None:
        self.call = self.node = call
        self.scope = scope
        self.arguments = arguments_of(call, scope)

    @property
    def is_conditional(self) -> bool:
        """Whether the call is inside a branch or a loop."""
        return self.scope.is_conditional(self.call)

    def facts(self, program: ProgramFacts, evaluated: Evaluated | None = None) -> ProgramFacts:
        """The facts of the program, which parses its arguments itself."""
        return program


def accelerators(scopes: list[Scope]) -> list[AcceleratorCall]:
    """The single call of `Accelerator` in a program; empty if there are several, or if its arguments are unknown."""
    found: list[AcceleratorCall] = []
    for scope in scopes:
        for call in scope.calls():
            named = scope.resolve(call.func) if dotted(call.func)[-1:] == ["Accelerator"] else None
            if isinstance(named, External) and named.name.partition(".")[0] == "accelerate":
                found.append(AcceleratorCall(call, scope))
    return found if len(found) == 1 and not found[0].call.args and not found[0].is_conditional else []


def engine_configs(scopes: list[Scope]) -> list[EngineConfig]:
    """The calls of `deepspeed.initialize` in a program that pass a mapping."""
    found = [EngineConfig(value, scope, call) for scope in scopes for call, value in engine_values(scope)]
    return found if len(found) <= MOST else []


def arguments_of(call: ast.Call, scope: Scope) -> tuple[list[Argument], bool]:
    """(the arguments of a call with their names, whether there are no others), including those of `**{...}` and `**dict(...)`."""
    found: list[Argument] = [(FIRST, each, each) for each in call.args]
    every = True
    for each in call.keywords:
        inside = unpacked(each.value, scope) if each.arg is None else [(each.arg, each, each.value)]
        every = every and inside is not None
        found.extend(inside or [])
    return found, every


def unpacked(node: ast.expr, scope: Scope) -> list[Argument] | None:
    """The arguments of a mapping that is unpacked; None if they are unknown."""
    if isinstance(node, ast.Name):
        value, module = assigned(node, scope)
        if value is None or module is not scope.module or is_mutated(node.id, module):
            return None
        node = value
    if isinstance(node, ast.Call) and dotted(node.func) == ["dict"] and not node.args:
        return [(each.arg, each, each.value) for each in node.keywords if each.arg] if all(each.arg for each in node.keywords) else None
    if not isinstance(node, ast.Dict):
        return None
    pairs = zip(node.keys, node.values, strict=True)
    found: list[Argument] = []
    for key, value in pairs:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            found.append((key.value, key, value))
    return found if len(found) == len(node.keys) else None


def constructors(scopes: list[Scope], parsers: list[Construction]) -> list[Constructor]:
    """The calls of a program that build its trainer's arguments; empty if a parser may fill them."""
    if any(may_fill(parser) for parser in parsers):
        return []
    found: list[Constructor] = []
    for scope in scopes:
        for call in scope.calls():
            if dotted(call.func)[-1:] and len(found) <= MOST:
                found.extend(constructor(scope, call))
    return found if len(found) <= MOST else []


def built_calls(program: ProgramFacts) -> list[Constructor | EngineConfig | AcceleratorCall]:
    """The calls of a program that build its trainer's arguments, its engine's config, or its accelerator."""
    return list(program.built)


def constructor(scope: Scope, call: ast.Call) -> Iterator[Constructor]:
    """A call as a constructor, if it can be analysed."""
    resolved = scope.resolve(call.func)
    if resolved is None or isinstance(getattr(resolved, "node", None), FUNCTIONS):
        return
    own = read_class(scope.modules, resolved)
    if not kind_of_class(own.base):
        return
    if len(call.args) > 1 or any(isinstance(each, ast.Starred) for each in call.args):
        return
    found = Constructor(own.base, own, call, scope)
    found.complete = own.complete and not has_own_init(scope, call.func)
    yield found


def has_own_init(scope: Scope, node: ast.expr) -> bool:
    """Whether a class of the project defines its constructor itself."""
    definitions = (each.node for each in linearized(scope.modules, scope.resolve(node)) if isinstance(each, Definition))
    lines = (line for each in definitions if isinstance(each, ast.ClassDef) for line in each.body)
    return any(isinstance(line, FUNCTIONS) and line.name in ("__init__", "__new__") for line in lines)


def may_fill(parser: Construction) -> bool:
    """Whether a parser fills a class of arguments of a trainer."""
    if parser.kind not in HF_PARSERS:
        return False
    types = parser.types()
    if types is None:
        return True
    found = (read_class(parser.scope.modules, parser.scope.resolve(each)) for each in types)
    return any(kind_of_class(each.base) for each in found)
