"""Calls that build a trainer's arguments in code: `TrainingArguments(...)`, `SFTConfig(...)` and their subclasses.

Source: transformers 5.23.0 training_args.py (a dataclass: every field is a parameter of `__init__`, `output_dir` the first one),
trl 1.16.0 trainer/*_config.py.
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Unknown
from cfglint.launch.kinds import kind_of_class, trainer_of_class
from cfglint.launch.program import HF_PARSERS, Field, ProgramFacts
from cfglint.launch.programs import hydra, unsloth
from cfglint.launch.programs.built_call import AcceleratorCall, BuiltCall, EngineConfig
from cfglint.launch.programs.calls import MadeCall
from cfglint.launch.programs.classes import SEQ2SEQ, Dataclass, known_fields, linearized, read_class
from cfglint.launch.programs.documents import set_later
from cfglint.launch.programs.flags import engine_values
from cfglint.launch.programs.literals import value_of
from cfglint.launch.programs.modules import Definition, External, targets_of
from cfglint.launch.programs.objects import plain
from cfglint.launch.programs.parsers import Construction
from cfglint.launch.programs.runs_of_program import Evaluated
from cfglint.launch.programs.scopes import FUNCTIONS, Scope, dotted
from cfglint.launch.programs.trainers import is_arguments
from cfglint.launch.programs.unread import unread_at, unread_call
from cfglint.source.annotations import Iterator
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

MOST = 24  # calls of one program that become runs
OTHER_OBJECTS = ("self", "model", "config", "tokenizer", "trainer")  # variables whose attributes are not arguments
MODULES = frozenset(("model", "module", "parent", "tokenizer"))  # variables whose attributes a program replaces by name
PACKAGE_OF_NAMES = "trl"  # in place of that of a class of arguments, whose name alone counts
COPIES = ("replace", "copy.replace", "dataclasses.replace")


class Constructor(BuiltCall):
    """A call that builds arguments: `name` is the framework's class, `own` the fields that a subclass adds."""

    def __init__(self, name: str, own: Dataclass, call: ast.Call, scope: Scope) -> None:
        super().__init__(name, call, scope)
        self.own = own
        self.complete = own.complete
        self.kind = kind_of_class(name)
        self.trainer = trainer_of_class(name)
        self.known = known_fields(name)
        self.settable = {*self.known, *own.own}

    def facts(self, program: ProgramFacts, evaluated: Evaluated) -> ProgramFacts:
        """The facts of the program with this call in place of a parser, as an evaluation of the program leaves it."""
        scopes: list[Scope] = list(program.scopes)
        known = self.known
        own = self.own.own
        call = evaluated.call(self)
        if call.name != self.name:  # another class that Hydra makes an object of
            call.every = False
        later = set(self._changed(scopes, evaluated.stores if self.call in evaluated.made else frozenset()))
        later |= {name for name, value in set_later(call).items() if isinstance(plain(value), Unknown)}
        later |= known if any(result.is_open for result in call.results) else set()
        every = call.every and not self._is_copied(scopes)
        open_fields = later & known if every else known - {*call.arguments} | (later & known)
        is_patched = unsloth.replaces(self.name) and unsloth.is_imported(self.scope.modules)
        if is_patched:
            open_fields |= unsloth.changed_fields({name: value for name, (_, value) in call.arguments.items()} if call is not None else {})
        exact = self.complete and not is_patched
        not_read = unread_call(self.name, call, program, evaluated.complete)
        if not not_read and not every:
            not_read = (unread_at(self.name, call, "the program changes them all at once"),)
        fields: dict[str, Field] = dict(SEQ2SEQ) if self.name == "Seq2SeqTrainingArguments" else {}
        fields.update((name, field) for name, field in own.items() if name not in known)
        return changed(
            program,
            arguments=self.name,
            classes=(),
            fields=fields,
            defaults={name: field for name, field in own.items() if name in known},
            complete=exact,
            refuses=exact,
            refuses_in_file=exact,
            changed=tuple(sorted(open_fields & known)),
            exact=exact,
            own_trainer=program.own_trainer or is_patched,
            not_read=not_read,
            taken=tuple(sorted(unsloth.TAKEN)) if is_patched else (),
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
                is_set = dotted(call.func) == ["setattr"] and len(call.args) > 1 and call not in evaluated
                if is_set and not MODULES.intersection(dotted(call.args[0])[-1:]):
                    name = value_of(call.args[1], scope)
                    yield from [name] if isinstance(name, str) else self.known

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
        return {part for target in targets_of(self.scope.module.parent(self.call)) for part in dotted(target)[-1:]}

    @property
    def is_discarded(self) -> bool:
        """Whether nothing keeps the result."""
        return isinstance(self.scope.module.parent(self.call), ast.Expr) or self._names() == {"_"}

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
                if path[-1:] == ["update"] and any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(call.func)):
                    return True
        return False


def accelerators(scopes: list[Scope]) -> list[AcceleratorCall]:
    """The single call of `Accelerator` in a program; empty if there are several, or if its arguments are unknown."""
    accelerator_calls: list[AcceleratorCall] = []
    for scope in scopes:
        for call in scope.calls():
            named = scope.resolve(call.func) if dotted(call.func)[-1:] == ["Accelerator"] else None
            if isinstance(named, External) and named.name.partition(".")[0] == "accelerate":
                accelerator_calls.append(AcceleratorCall("Accelerator", call, scope))
    return (
        accelerator_calls
        if len(accelerator_calls) == 1 and not accelerator_calls[0].call.args and not accelerator_calls[0].is_conditional
        else []
    )


def engine_configs(scopes: list[Scope]) -> list[EngineConfig]:
    """The calls of `deepspeed.initialize` in a program that pass a mapping."""
    return [EngineConfig("deepspeed.initialize", call, scope, value) for scope in scopes for call, value in engine_values(scope)]


def constructors(scopes: list[Scope], parsers: list[Construction]) -> list[Constructor]:
    """The calls of a program that build its trainer's arguments; empty if a parser may fill them.

    One whose result nothing keeps does not count beside others, such as a first `TrainingArguments(".")` that only sets up the processes.
    """
    if any(may_fill(parser) for parser in parsers):
        return []
    found: list[Constructor] = []
    for scope in scopes:
        for call in scope.calls():
            if dotted(call.func)[-1:]:
                found.extend(constructor(scope, call))
    return [each for each in found if not each.is_discarded] or found


def constructor(scope: Scope, call: ast.Call) -> Iterator[Constructor]:
    """A call as a constructor, if it can be analysed."""
    resolved = scope.resolve(call.func)
    if resolved is None or isinstance(getattr(resolved, "node", None), FUNCTIONS):
        return
    dataclass = read_class(scope.modules, resolved)
    if not kind_of_class(dataclass.base):
        return
    if len(call.args) > 1 or any(isinstance(node, ast.Starred) for node in call.args):
        return
    found = Constructor(dataclass.base, dataclass, call, scope)
    found.complete = dataclass.complete and not has_own_init(scope, call.func)
    yield found


def instantiations(scopes: list[Scope]) -> set[ast.Call]:
    """The calls with which Hydra makes objects of the classes that configs name."""
    resolved = ((call, scope.resolve(call.func)) for scope in scopes for call in scope.calls() if dotted(call.func)[-1:])
    return {call for call, named in resolved if isinstance(named, External) and named.name in hydra.INSTANTIATING}


def instantiated(scope: Scope, made: MadeCall) -> Constructor:
    """A call that makes an object of a class of arguments that a config names."""
    return Constructor(made.name, read_class(scope.modules, External(f"{PACKAGE_OF_NAMES}.{made.name}")), made.node, scope)


def has_own_init(scope: Scope, node: ast.expr) -> bool:
    """Whether a class of the project defines its constructor itself."""
    definitions = (each.node for each in linearized(scope.modules, scope.resolve(node)) if isinstance(each, Definition))
    lines = (line for definition in definitions if isinstance(definition, ast.ClassDef) for line in definition.body)
    return any(isinstance(line, FUNCTIONS) and line.name in ("__init__", "__new__") for line in lines)


def may_fill(parser: Construction) -> bool:
    """Whether a parser fills a class of arguments of a trainer."""
    if parser.kind not in HF_PARSERS:
        return False
    types = parser.types()
    if types is None:
        return True
    dataclasses = (read_class(parser.scope.modules, parser.scope.resolve(node)) for node in types)
    return any(kind_of_class(dataclass.base) for dataclass in dataclasses)
