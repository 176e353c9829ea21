"""Evaluates the calls of a program: of its own functions and classes, and of the libraries whose results are known.

Recorded are the calls that build a trainer's arguments, a trainer, an engine or an accelerator, with the values that they get.
"""

from __future__ import annotations

import ast
import contextlib
from functools import partial

from cfglint.evaluate import Choice, Reason
from cfglint.launch.kinds import kind_of_class
from cfglint.launch.programs import config_files, library, line_parsers, training_loops
from cfglint.launch.programs.branches import Signal
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.interpreter import STARRED
from cfglint.launch.programs.modules import External, Modules, ProgramModule
from cfglint.launch.programs.objects import (
    ACCELERATOR,
    ENGINE,
    MOST_OBJECTS,
    NONE,
    OPEN,
    Built,
    Class,
    Frame,
    Function,
    Given,
    Instance,
    MadeObject,
    Mapping,
    Method,
    Named,
    Opaque,
    Partial,
    Sequence,
    Value,
    one_of,
    same,
    text_of_path,
    unknown,
)
from cfglint.launch.programs.scopes import FUNCTIONS, BuiltCall, Scope, dotted
from cfglint.launch.programs.shared_modules import SHARED
from cfglint.launch.programs.training_loops import TrainingLoops
from cfglint.source.annotations import Any, Callable
from cfglint.source.budget import Budget, Exhausted
from cfglint.source.dataclass_fields import annotated
from cfglint.source.record import Record

TRAINING = ("transformers", "trl", "unsloth")  # packages of trainers and of the classes of their arguments
LORA, QUANTIZATION = "LoraConfig", "BitsAndBytesConfig"
ATTACH, PREPARE, LOAD = "get_peft_model", "prepare_model_for_kbit_training", "from_pretrained"
PEFT_MODEL = "PeftModel"  # whose `from_pretrained(model, folder)` puts a saved adapter on a model
OF_MODELS = ("Model", "For")  # in the names of classes that load models
MOST_OF_KEYWORDS = 2000  # steps for the keywords of a call in a program whose evaluation has stopped
OF_SHELL = ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput")
# What starts a command -> the position of the command among its arguments.
STARTING = {
    **dict.fromkeys((*OF_SHELL, *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))), 0),
    **dict.fromkeys(("os.execv", "os.execvp", "os.execve", "os.execvpe"), 1),
}
SEVERAL = Reason("branch", "evaluations of the call that differ")
FIRST = "output_dir"  # the first parameter of the classes of arguments
# Base classes outside of the program that give their objects no attributes.
WITHOUT_ATTRIBUTES = ("BaseModel", "NamedTuple", "TypedDict", "Enum", "object", "ABC", "Struct", "BaseSettings", "Generic")


def may_train(function: Value) -> bool:
    """Whether a function or class of the program, which builds what is recorded at places of its own, may train, by its words."""
    data = function.data
    if isinstance(data, Class) and any(isinstance(each, External) and is_framework(each.name) for each in data.line):
        return False
    return isinstance(data, (Function, Class)) and data.frame.module.may_train(data.node)


class MadeCall(Record):
    """A recorded call: what it calls, its arguments with the nodes that name them, and the conditions that it depends on.

    `every`: it has no other arguments. `results` are the objects of arguments, or the trainers, that it makes each time.
    `origin` is the dotted name of the class of a trainer, empty if it is uncertain, `kind` that of an object of a training loop,
    which an `Accelerator` wraps if it `is_prepared`.
    """

    name: str
    node: ast.Call
    module: ProgramModule
    conditions: tuple[tuple[ast.AST, int], ...]
    arguments: dict[str, tuple[ast.AST, Value]] = {}
    positional: list[Value] = []
    every: bool = True
    results: list[Built | Opaque] = []
    made_of: Class | None = None
    origin: str = ""
    kind: str = ""
    is_prepared: bool = False

    @property
    def used(self) -> list[Built | Opaque]:
        """The results, copies included; of those of arguments the ones that a trainer gets, if that is seen."""
        return [result for result in self.results if isinstance(result, Built) and result.is_given] or self.results

    @property
    def engine_config(self) -> Value | None:
        given = (self.arguments[name][1] for name in ("config", "config_params") if name in self.arguments)
        return next((value for value in given if value.data is not None), None)

    def add(self, other: MadeCall) -> None:
        """Join the arguments of another evaluation of the same call: what differs is unknown."""
        self.origin = self.origin if self.origin == other.origin else ""
        for name in {*self.arguments, *other.arguments}:
            here, there = self.arguments.get(name), other.arguments.get(name)
            key = (here or there)[0]  # type: ignore[index]
            equal = here is not None and there is not None and same(here[1], there[1])
            self.arguments[name] = here if equal and here is not None else (key, unknown(SEVERAL))
        self.every = self.every and other.every
        common = tuple(each for each in self.conditions if each in other.conditions)
        self.conditions = common or (self.conditions if other.conditions else ())
        self.results.extend(other.results)


class StartedCommand(Record):
    """A command that the program starts, a list of words, or a string for a shell (`is_shell`); its folder, and the set variables."""

    command: Value
    node: ast.Call
    module: ProgramModule
    is_shell: bool
    is_conditional: bool
    folder: Value | None
    environment: dict[object, object]


class ProgramEvaluation(TrainingLoops):
    """The evaluation of a program under a context: the words of its launch line, its environment, its GPUs.

    `shares`: the modules that it imports may be those of other programs; what it changes of them raises SharedChanged.
    """

    def __init__(self, modules: Modules, budget: Any, context: Context, shares: bool = False) -> None:
        super().__init__(modules, budget, context)
        self.shares = shares
        self.made: dict[ast.Call, MadeCall] = {}  # of arguments of trainers
        self.trainers: dict[ast.Call, MadeCall] = {}
        self.engines: dict[ast.Call, MadeCall] = {}
        self.accelerators: dict[ast.Call, MadeCall] = {}
        self.others: dict[ast.Call, MadeCall] = {}  # of further objects of training loops
        self.parts: dict[ast.Call, MadeCall] = {}  # of models: they, and the configs of their quantization and adapters
        self.attached: dict[ast.Call, MadeCall] = {}  # of adapters that are put on models
        self.started: list[StartedCommand] = []  # by `subprocess` and the like

    def module_frame(self, module: ProgramModule) -> Frame:
        is_known = not self.shares or module.path in self.frames
        has_state = self.conditions or self.importing or self.guards or self.trial or self.active or self.environment.slots
        return super().module_frame(module) if is_known or has_state else SHARED.frame(self, module)

    def alone(self, built: BuiltCall, budget: Budget) -> MadeCall:
        """A call that the program does not reach, as its function makes it by itself: with unknown parameters, and whatever it raises."""
        call, name, scope = built.call, built.name, built.scope
        before = self.made, self.trainers, self.engines, self.accelerators, self.stores
        self.made, self.trainers, self.engines, self.accelerators, self.stores = {}, {}, {}, {}, set()
        self.budget, self.conditions, self.active, self.trial = budget, [], [], 0
        self.goes_on = True
        among = self.engines if name == training_loops.ENGINE_CALL else self.accelerators if name == "Accelerator" else self.made

        def record(frame: Frame) -> None:
            if built.is_computed:  # what it calls is not known
                return
            values, named = self.given(call, frame)
            self.site = call, frame
            self.record(among, name, values, named, call)

        def record_in_function() -> None:  # where its names are unknown
            frame = self.module_frame(scope.module)
            if isinstance(scope.node, FUNCTIONS):
                frame = Frame(scope.module, frame)
                frame.slots.update((bound, unknown()) for bound in scope.bound)
            record(frame)

        try:
            self._attempt(lambda: self._enter(scope))
            if call not in among:
                self._attempt(record_in_function)
        except (Exhausted, RecursionError):
            self.budget, self.active, self.trial = Budget(MOST_OF_KEYWORDS), [], 0
            with contextlib.suppress(Exhausted, RecursionError):  # what is written in it is known all the same
                self._attempt(lambda: record(Frame(scope.module)))
        finally:
            self.made, self.trainers, self.engines, self.accelerators, self.stores = before
        return among.get(call) or MadeCall(name, call, scope.module, (), every=False)

    def _enter(self, scope: Scope) -> None:
        """Evaluate a function with unknown parameters, a method for an object whose attributes are unknown."""
        if not isinstance(scope.node, FUNCTIONS):
            return
        frame = self.module_frame(scope.module)
        function = Function(scope.node, frame)
        above = scope.module.parent(scope.node)
        owner = frame.slots.get(above.name) if isinstance(above, ast.ClassDef) else None
        if owner is not None and isinstance(owner.data, Class):
            function = function.of(Value(Instance(owner.data, {OPEN: True})), owner.data)
        others: dict[Any, Value] = {None: unknown(Reason("argument", f"the arguments of `{scope.node.name}()`"))}
        self.run_function(function, [], others)

    def searched_by(self, module: ProgramModule) -> list[tuple[int, str]]:
        frame = self._frame(module, "__main__")
        found: list[tuple[int, str]] = []
        with contextlib.suppress(Signal, Exhausted, RecursionError):
            for node in module.tree.body:
                call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
                name = dotted(call.func) if call is not None else []
                if call is not None and name[:2] == ["sys", "path"] and call.args:
                    folder = text_of_path(self.evaluate(call.args[-1], frame))
                    found += [(0 if name[2:] == ["insert"] else 1, folder)] if isinstance(folder, str) else []
                elif isinstance(node, (ast.Assign, ast.AnnAssign)) or imports_only(node, ("os", "sys", "pathlib")):
                    self.block([node], frame)
        return found

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        inherited = self._super_call(node, frame)
        if inherited is not None:
            return inherited
        function = self.evaluate(node.func, frame)
        values, named = self.given(node, frame)
        before, self.site = self.site, (node, frame)
        try:
            self.note(node, function, values, named, frame)
            return self.called(function, values, named, node)
        finally:
            self.site = before

    def opened(self, value: Value) -> None:
        super().opened(value)
        if isinstance(value.data, line_parsers.LineParser):
            value.data.is_open = True

    def called(self, function: Value, given: Given, named: Named, node: ast.AST) -> Value:
        data = function.data
        if isinstance(data, Function):
            return self._run(data, given, named)
        if isinstance(data, Class):
            return self.instance(data, given, named, node)
        if self.made:  # else there is nothing to look for in what each call is given
            for inner in (inner for value in (*given, *named.values()) for inner in parts_of(value)):
                if isinstance(inner.data, Built):
                    inner.data.is_passed = True
        if isinstance(data, External):
            return self.external(data.name, given, named, node)
        if isinstance(data, Method):
            return library.method(self, data, given, named)
        if isinstance(data, Partial):
            return self.called(data.function, [*data.given, *given], {**data.named, **named}, node)
        own = self.own_method(function, "__call__")
        if own is not None:
            return self._run(own, given, named)
        possible = [each for each in data.options if each is not None] if isinstance(data, Choice) else []
        if possible and all(map(may_train, possible[:MOST_OBJECTS])):  # such as the functions of a table
            ways: list[Callable[[], Value]] = [partial(self.called, each, given, named, node) for each in possible[:MOST_OBJECTS]]
            return one_of(self.alternatives(node, ways), *function.reasons)
        if not function.known:
            self.opened_objects(function)
            for value in (*given, *named.values()):
                self.opened(value)
        return unknown()

    def _run(self, function: Function, given: Given, named: Named) -> Value:
        """Call a function of the program; one that a library has made a command gets the arguments of the launch line."""
        if not self.active and not given and not named:
            command = line_parsers.command(self, function)
            if command is not None:
                given, named = command
        return self.run_function(function, given, named)

    def _super_call(self, node: ast.Call, frame: Frame) -> Value | None:
        path = node.func
        if not isinstance(path, ast.Attribute) or not isinstance(path.value, ast.Call) or dotted(path.value.func) != ["super"]:
            return None
        inside: Frame | None = frame
        while inside is not None and inside.owner is None:
            inside = inside.closure
        values, named = self.given(node, frame)
        if inside is None or inside.owner is None:
            return unknown()
        owner, value = inside.owner
        for each in owner.line[1:]:
            if isinstance(each, Class) and isinstance(each.slots.get(path.attr), Value):
                function = each.slots[path.attr].data
                return self.run_function(function.of(value, each), values, named) if isinstance(function, Function) else unknown()
            if isinstance(value.data, Built) and path.attr == "__init__":
                return self._fill_built(value, values, named)
            if isinstance(each, External) and path.attr == "__init__":
                before, self.site = self.site, (node, frame)
                kind = training_loops.kind_of(each.name)
                try:
                    if kind:
                        self._record_object(each.name, kind, values, named, node)
                    else:
                        made = self._framework_object(each.name, values, named, node, None)
                        arguments = made.data.slots.get("args") if isinstance(made.data, Opaque) else None
                        if arguments is not None and isinstance(value.data, Instance):  # as `Trainer.__init__` does
                            self.write(value.data.slots, "args", arguments)
                finally:
                    self.site = before
                return unknown()
        return unknown()

    # -- objects of classes

    def instance(self, made_of: Class, given: Given, named: Named, node: ast.AST) -> Value:
        line = made_of.line
        base = next((each.name for each in line if isinstance(each, External)), "")
        own = self.of_class(made_of, "__init__", unknown())
        if base in training_loops.LOADERS and own is None:
            return self.external(base, given, named, node)
        if is_framework(base) and kind_of_class(base.rpartition(".")[2]):
            made = self._framework_object if own is None else partial(self._own_arguments, own)
            return made(base, given, named, node, made_of)
        data = Instance(made_of)
        value = Value(data)
        if own is not None and isinstance(own.data, Function):
            before = set(self.trainers)
            self.run_function(own.data.of(value, own.data.owner or made_of), given, named)
            for inner in [call for place, call in self.trainers.items() if place not in before]:
                # The keywords that the constructor hands on to that of a trainer, by its `**kwargs`.
                words = {word.arg for word in inner.node.keywords}
                handed = {
                    key: each for key, each in named.items() if key not in words and inner.arguments.get(key, (None, None))[1] is each
                }
                outer = self.record(self.trainers, inner.name, [], handed, node, inner.origin) if handed else None
                if outer is not None:
                    outer.conditions = inner.conditions
            return value
        if is_framework(base):
            self._framework_object(base, given, named, node, made_of)
        if None in line or (base and base.rpartition(".")[2] not in WITHOUT_ATTRIBUTES):
            data.slots[OPEN] = True
        self.fill(data, made_of, given, named)
        return self.post_init(made_of, value)

    def fill(self, data: Instance, made_of: Class, given: Given, named: Named) -> None:
        names = field_names(made_of)
        of_environment = any(isinstance(each, External) and each.name.endswith(".BaseSettings") for each in made_of.line)
        for place, name in enumerate(names):
            if place < len(given):
                data.slots[name] = given[place]
            elif name in named:
                data.slots[name] = named[name]
            elif of_environment:
                data.slots[name] = unknown(Reason("environment", f"the variable of the setting `{name}`"))
            else:
                default = self.of_class(made_of, name, None)
                if None in named:
                    data.slots[name] = unknown()
                elif default is not None:
                    data.slots[name] = library.deep_copy(default)
        for name, value in named.items():
            if name is not None and name not in names:
                data.slots[name] = value

    def external(self, name: str, given: Given, named: Named, node: ast.AST) -> Value:
        last = name.rpartition(".")[2]
        if is_framework(name) and (kind_of_class(last) or last.endswith("Trainer")):
            return self._framework_object(name, given, named, node, None)
        if name in STARTING and not self.trial and self.site is not None:
            self._note_started(name, given, named, *self.site)
        of_peft = name.startswith("peft.")
        if of_peft or name.startswith("transformers."):
            package = name.rpartition(".")[0]
            model = named.get("model") or (given[0] if given else None)
            if of_peft and last == PREPARE and model is not None:
                return model
            if last == (LORA if of_peft else QUANTIZATION):
                return Value(MadeObject(name, self.record(self.parts, last, given, named, node)))
            if of_peft and (last == ATTACH or (last == LOAD and package.rpartition(".")[2].startswith(PEFT_MODEL))):
                self.record(self.attached, last, given, named, node)
                made = MadeObject(name, model.data.made if model is not None and isinstance(model.data, MadeObject) else None)
                made.has_adapter = True
                return Value(made)
            if not of_peft and last == LOAD and any(word in package for word in OF_MODELS):
                return Value(MadeObject(name, self.record(self.parts, package.rpartition(".")[2], given, named, node)))
        if name in config_files.INSTANTIATING and given:
            target, arguments = config_files.target_of(self, given[0], named)
            return self.external(target, [], arguments, node) if is_framework(target) else unknown()
        kind = training_loops.kind_of(name)
        if kind:
            value = training_loops.made(name, kind, self._record_object(name, kind, given, named, node), named, self.context)
            self.made_accelerators += [value.data] if kind == ACCELERATOR else []
            return value
        return library.external(self, name, given, named)

    def _note_started(self, name: str, given: Given, named: Named, node: ast.Call, frame: Frame) -> None:
        command = named.get("args") or next(iter(given[STARTING[name] :]), NONE)
        shell = named.get("shell", NONE).data
        own, env = self.environment.slots, named.get("env", NONE).data
        variables = {**own, **(env.slots if isinstance(env, Mapping) else {})}
        is_shell = shell is True or name in OF_SHELL
        self.started.append(StartedCommand(command, node, frame.module, is_shell, bool(self.conditions), named.get("cwd"), variables))

    def _record_object(self, name: str, kind: str, given: Given, named: Named, node: ast.AST) -> MadeCall | None:
        among = self.engines if kind == ENGINE else self.accelerators if kind == ACCELERATOR else self.others
        call = self.record(among, name if kind == ENGINE else name.rpartition(".")[2], given, named, node)
        if call is not None:
            call.kind = kind
        nodes = self.site[0].args if call is not None and self.site is not None else []
        if call is not None and len(nodes) == len(given):
            for parameter, key, value in zip(training_loops.parameters_of(name, kind), nodes, given, strict=False):
                call.arguments.setdefault(parameter, (key, value))
        return call

    def _framework_object(self, name: str, given: Given, named: Named, node: ast.AST, made_of: Class | None) -> Value:
        last = name.rpartition(".")[2]
        if not kind_of_class(last):
            opaque = Opaque(last)
            if "args" in named:
                opaque.slots["args"] = named["args"]
            if last.endswith("Trainer"):
                call = self.record(self.trainers, last, given, named, node, "" if made_of is not None and None in made_of.line else name)
                if call is not None:
                    positional = next((each for each in given if isinstance(each.data, Built)), next(iter(given[1:]), NONE))
                    arguments = named.get("args", positional)  # the second place, of trainers with reward functions the third
                    received = [each.data for each in (arguments, *arguments.objects) if isinstance(each.data, Built)]
                    for each in received:
                        each.is_given = True
                    others = [] if received or arguments.data is None else [each for made in self.made.values() for each in made.results]
                    for other in others:  # code that is not understood may have made the arguments of this one
                        if isinstance(other, Built) and not other.is_given:
                            self.write(other.slots, OPEN, True)
                    if isinstance(arguments.data, Built):
                        opaque.slots["args"] = arguments
                    call.results.append(opaque)
            return Value(opaque)
        call = self.record(self.made, last, given, named, node)
        fields = {key: value for key, value in named.items() if key is not None}
        fields.update(zip((FIRST,), given, strict=False))
        if call is not None:
            call.made_of = made_of
        built = Value(Built(last, fields, made_of, call))
        built.data.slots.update({OPEN: True} if name in self.patched else {})
        return self.post_init(made_of, built)

    def _own_arguments(self, own: Value, name: str, given: Given, named: Named, node: ast.AST, made_of: Class) -> Value:
        """An object of a class of arguments with a constructor of its own: what this hands on to that of the framework, and sets."""
        built = Built(name.rpartition(".")[2], {}, made_of)
        if isinstance(own.data, Function):
            self.run_function(own.data.of(Value(built), own.data.owner or made_of), given, named)
        if not built.arguments:  # that of the framework was not seen to be called
            self.write(built.slots, OPEN, True)
        handed: Named = {key: value for key, value in named.items() if key is not None and built.slots.get(key) is value}
        built.call = self.record(self.made, built.name, [], handed, node)
        if built.call is not None:
            built.call.made_of = made_of
            built.call.results.append(built)
        return Value(built)

    def _fill_built(self, value: Value, given: Given, named: Named) -> Value:
        """`super().__init__(...)` in the constructor of a class of arguments."""
        built: Built = value.data
        built.arguments = dict(zip((FIRST,), given, strict=False)) | {key: each for key, each in named.items() if key is not None}
        for key, each in built.arguments.items():
            self.write(built.slots, key, each)
        if None in named or any(each.data is STARRED for each in given):
            self.write(built.slots, OPEN, True)
        return self.post_init(built.made_of, value)

    def record(
        self, among: dict[ast.Call, MadeCall], name: str, given: Given, named: Named, node: ast.AST, origin: str = ""
    ) -> MadeCall | None:
        if self.trial or self.site is None or not isinstance(node, ast.Call):
            return None
        call, frame = self.site
        made_call = MadeCall(name.removeprefix("accelerate."), call, frame.module, tuple(self.conditions), positional=given, origin=origin)
        words = {word.arg: word for word in call.keywords}
        if among is self.made and given and call.args:
            made_call.arguments[FIRST] = (call.args[0], given[0])
        for key, value in named.items():
            if key is not None:
                made_call.arguments[key] = (words.get(key) or self._source_of(call, key, frame), value)
        made_call.every = None not in named and not any(each.data is STARRED for each in given)
        if call in among:
            among[call].add(made_call)
            return among[call]
        among[call] = made_call
        return made_call

    def _source_of(self, call: ast.Call, name: str, frame: Frame) -> ast.AST:
        """The node that gives an argument of an unpacked mapping: the key of a literal one, else the mapping itself."""
        spread = [word for word in call.keywords if word.arg is None]
        for word in spread:
            value = self.evaluate(word.value, frame) if isinstance(word.value, (ast.Name, ast.Dict)) else unknown()
            if isinstance(value.node, ast.Dict) and value.module is frame.module:
                for key in value.node.keys:
                    if isinstance(key, ast.Constant) and key.value == name:
                        return key
            if isinstance(value.data, Mapping) and name in value.data.slots:
                return word.value
        return spread[0].value if spread else call


def parts_of(value: Value) -> list[Value]:
    """A value, what it may be, and the members of a container."""
    data = value.data
    members = data.items.values() if isinstance(data, Mapping) else data.items if isinstance(data, Sequence) else ()
    return [value, *value.objects, *members]


def imports_only(node: ast.stmt, packages: tuple[str, ...]) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] in packages
    return isinstance(node, ast.Import) and all(name.name.partition(".")[0] in packages for name in node.names)


def is_framework(name: str) -> bool:
    return name.partition(".")[0] in TRAINING


def field_names(made_of: Class) -> list[str]:
    found: dict[str, None] = {}
    for each in reversed(made_of.line):
        if isinstance(each, Class):
            found.update((name, None) for name, line in annotated(each.node) if "ClassVar" not in ast.dump(line.annotation))
    return list(found)
