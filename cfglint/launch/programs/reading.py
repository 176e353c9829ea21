"""Extracts the facts about a program from its source: the arguments that its parser fills, and the calls that build a trainer or its
arguments in code: `TrainingArguments(...)`, `SFTConfig(...)` and their subclasses, `Trainer(...)`.

Source: transformers 5.23.0 training_args.py (a dataclass: every field is a parameter of `__init__`, `output_dir` the first one),
trl 1.16.0 trainer/*_config.py; unsloth 2025.2.15 to 2026.10.9 models/rl.py (_patch_trl_rl_trainers), trainer.py
(_backwards_compatible_trainer): importing unsloth replaces the classes of TRL by some with other defaults, further parameters and other
checks; its trainers accept `tokenizer` and the parameters that TRL has moved to its configs.
"""

from __future__ import annotations

import ast
import os

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.kinds import every_kind, fields_of_class, kind_named, kind_of_class, trainer_of_class
from cfglint.launch.program import ARGPARSE, HF_PARSERS, Field, OwnLoop, ProgramFacts
from cfglint.launch.programs import config_files
from cfglint.launch.programs.calls import MadeCall, ProgramEvaluation
from cfglint.launch.programs.classes import PACKAGES, SEQ2SEQ, Dataclass, assigned_fields, known_fields, linearized, read_class
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.documents import given_mapping, set_later, trains
from cfglint.launch.programs.expressions import MICRO
from cfglint.launch.programs.modules import UNSLOTH, Definition, External, Modules, ProgramModule, last_name, targets_of
from cfglint.launch.programs.objects import PROJECT, plain
from cfglint.launch.programs.parsers import (
    FROM_FILE,
    Construction,
    constructions,
    is_strict,
    options_of,
    result_names,
    unread_at,
    unread_call,
    unread_parsers,
)
from cfglint.launch.programs.runs_of_program import Evaluated, Evaluations, scope_around
from cfglint.launch.programs.scopes import (
    FUNCTIONS,
    MOST_SCOPES,
    AcceleratorCall,
    BuiltCall,
    EngineConfig,
    Scope,
    called,
    code_of,
    dotted,
    keyword,
    literal,
    reachable,
    value_of,
)
from cfglint.launch.programs.training_loops import BACKWARD, ENGINE_CALL
from cfglint.source.annotations import Any, Callable, Collection, Container, Iterator, Mapping
from cfglint.source.budget import Budget
from cfglint.source.python.nodes import walk
from cfglint.source.record import changed
from cfglint.source.shell.tables import names

SEARCHED = "sys.path."  # what a program changes if it imports from further folders
MOST_OF_PATHS = 2000  # steps of the statements that may compute such a folder
MOST = 24  # calls of one program that become runs
OTHER_OBJECTS = ("self", "model", "config", "tokenizer", "trainer")  # variables whose attributes are not arguments
MODULES = frozenset(("model", "module", "parent", "tokenizer"))  # variables whose attributes a program replaces by name
PACKAGE_OF_NAMES = "trl"  # in place of that of a class of arguments, whose name alone counts
OWN_INIT = ("__init__", "__new__")
SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
# Methods of the Trainer that checks of its first step, or of its batch, rely on.
REPLACED = names(
    "__init__ train _inner_training_loop training_step get_train_dataloader create_optimizer create_scheduler"
    " create_optimizer_and_scheduler create_accelerator_and_postprocess get_batch_samples _load_from_checkpoint"
)
SEARCHED_BY_DEFAULT = ("learning_rate", "num_train_epochs", "seed", "per_device_train_batch_size")
LOADER = "get_train_dataloader"
SAMPLING = (LOADER, "_get_train_sampler")
PATCHED = REPLACED.union(SAMPLING) - names("__init__ train training_step")  # which models have, too
# Samplers of torch and transformers that take each sample of the training set once in an epoch.
PLAIN_SAMPLERS = names("RandomSampler SequentialSampler DistributedSampler LengthGroupedSampler DistributedLengthGroupedSampler")
OF_SCHEDULE, OF_OPTIMIZER = ("create_scheduler", "create_optimizer_and_scheduler"), ("create_optimizer", "create_optimizer_and_scheduler")
MAKES_OPTIMIZER = frozenset(("get_optimizer_cls_and_kwargs", "create_optimizer", "create_optimizer_and_scheduler"))
SCHEDULE, KIND_OF_SCHEDULE = ["self", "lr_scheduler"], ["self", "args", "lr_scheduler_type"]
OF_ARGUMENTS = ("train_batch_size", f"super().{LOADER}")  # by which such a method has batches of the size that the arguments say
# Fields of a config of TRL with another default in some release, or filled from the model where the code does not set them.
DEFAULTS_OF_UNSLOTH = names(
    "auto_find_batch_size beta bf16 dataset_num_proc epsilon_high eval_accumulation_steps fp16 generation_kwargs"
    " gradient_accumulation_steps learning_rate logging_steps loss_type mask_truncated_completions max_length max_seq_length"
    " num_generations optim output_dir padding_free per_device_eval_batch_size per_device_train_batch_size report_to seed top_k"
    " torch_empty_cache_steps vllm_mode warmup_ratio warmup_steps weight_decay"
)
# Parameters that its classes add, and former names whose values it moves to the new ones (rl.py, rl_config_compat.py); it drops any other.
TAKEN_BY_UNSLOTH = names(
    "max_seq_length per_gpu_eval_batch_size per_gpu_train_batch_size push_to_hub_token unsloth_grpo_mini_batch"
    " unsloth_logit_chunk_multiplier unsloth_num_chunks use_liger_loss vllm_guided_decoding_regex vllm_sampling_params"
    " wandb_log_unique_prompts warmup_ratio"
    " embedding_learning_rate q_galore_config loraplus_lr_ratio"  # of `UnslothTrainingArguments` alone
)
OF_TRANSFORMERS = ("TrainingArguments", "Seq2SeqTrainingArguments")  # which unsloth does not replace
COMPLETIONS = "num_generations"
HANDED_ON = (ast.Dict, ast.Assign, ast.AnnAssign, ast.Return, ast.IfExp)  # what gives a class to code that may make objects of it
UNASKED = ("__init__", "__post_init__", "__new__")  # run for each object that is made

NamedCall = tuple[Scope, ast.Call, Definition | External | None]  # with what it calls


def read_program(path: str, package: str, folders: list[str], read: Callable[[str], str | None], entry: str = "") -> ProgramFacts | None:
    """The facts about a program; None if its file cannot be parsed. `folders` is the search path of its imports, `entry` its function
    that a command of the project calls.
    """
    modules = Modules(folders, read)
    main = modules.module_of(path, package)
    if main is not None and SEARCHED in main.text:
        modules.folders = with_own_folders(main, folders, read)
    scopes = reachable(modules, main, entry) if main is not None and main.tree.body else None
    if not scopes:
        return None
    made = constructions(scopes)
    calls: list[BuiltCall] = [*constructors(scopes, made)]
    if not any(construction.kind in HF_PARSERS for construction in made) and not calls:
        scopes = with_methods(modules, scopes) or scopes
        made = constructions(scopes)
        calls = [*constructors(scopes, made)]
    named = [(scope, call, scope.resolve(call.func)) for scope in scopes for call in scope.calls()]
    facts = ProgramFacts(path)
    add_trainers(facts, scopes, named)
    fill_from_classes(facts, made, scopes)
    facts.scopes = tuple(scopes)
    evaluations = facts.evaluations = Evaluations(modules, scopes[0].module, entry)
    any_line = Context((), True, read=read, folders=tuple(folders))
    line_parsers = parsers_of_line(made) if not facts.parser else []
    if line_parsers and all(parser.kind == ARGPARSE and not parser.is_own for parser in line_parsers):
        fill_from_argparse(facts, line_parsers, evaluations.under(any_line))
    facts.not_read = (*unread_parsers(facts, made), *modules.unparsed.values())
    owners = {construction.scope for construction in made if construction.kind}
    facts.is_called = bool(facts.parser) and not called(scopes, entry).isdisjoint(owners)
    makes_accelerator = any(dotted(call.func)[-1:] == ["Accelerator"] for _, call, _ in named)
    if own_training(facts) if facts.arguments else not (calls or makes_accelerator) and in_other_module(modules):
        named = [(scope, call, scope.resolve(call.func)) for scope in with_methods(modules, scopes) or scopes for call in scope.calls()]
    given_to_engines = [*configs_of_engines(named)]
    facts.config_files = files_of_engines(facts, [value_of(config, scope) for _, scope, config in given_to_engines])
    bare = Context((), False, read=read, folders=tuple(folders))  # Hydra composes its config with known words only
    instantiating = {call for _, call, found in named if isinstance(found, External) and found.name in config_files.INSTANTIATING}
    for call in evaluations.under(bare).made.values() if instantiating and not calls else ():
        if call.node in instantiating:
            calls.append(computed_constructor(call, scope_around(call.node, call.module, modules)))
    engines = [EngineConfig(ENGINE_CALL, *given) for given in given_to_engines] if not calls else []
    if not calls and (engines or any(module.may_build for module in modules.known())):
        evaluated = evaluations.under(any_line)
        for call in evaluated.made.values():
            scope = scope_around(call.node, call.module, modules)
            is_computed = call.made_of is None and len(call.node.args) < 2 and not isinstance(scope.resolve(call.node.func), External)
            calls += [*constructor(scope, call.node)] or [computed_constructor(call, scope)] * is_computed
        trained = [engine for engine in engines if trains(evaluated.call(engine))]
        engines = trained if trained or accelerators(named, evaluated.reached) else engines
        if not calls:
            known = evaluations.under(bare).call
            calls += [each for each in engines if given_mapping(evaluated.call(each)) or given_mapping(known(each))]
    facts.engines = tuple(engines)
    if not calls and (not facts.arguments or own_training(facts)):
        calls += accelerators(named, lambda call: evaluations.under(any_line).reached(call))
    facts.built, facts.further = tuple(calls[:MOST]), len(calls[MOST:])
    return facts


def configs_of_engines(named: list[NamedCall]) -> Iterator[tuple[ast.Call, Scope, ast.expr]]:
    for scope, call, found in named:
        config = keyword(call, "config") or keyword(call, "config_params")
        if isinstance(found, External) and found.name == ENGINE_CALL and config is not None:
            yield call, scope, config


def files_of_engines(facts: ProgramFacts, configs: list[Any]) -> tuple[str, ...]:
    files = dict.fromkeys(config for config in configs if isinstance(config, str) and config.endswith((".json", ".hjson")))
    default = facts.fields["deepspeed_config"].default if facts.parser == ARGPARSE and "deepspeed_config" in facts.fields else None
    return tuple(files) or ((default,) if isinstance(default, str) and default.endswith(".json") else ())


def with_own_folders(main: ProgramModule, folders: list[str], read: Callable[[str], str | None]) -> list[str]:
    if not any(SEARCHED in ast.unparse(node) for node in main.tree.body if isinstance(node, ast.Expr)):
        return folders
    evaluation = ProgramEvaluation(Modules([], read), Budget(MOST_OF_PATHS), Context((), True, read=read, folders=tuple(folders[:1])))
    first: list[str] = []
    last: list[str] = []
    for place, text in evaluation.searched_by(main):
        found = [text.removeprefix(PROJECT)] if text.startswith(PROJECT) else [f"{folder}/{text}" for folder in folders[:2]]
        (first if place == 0 else last).extend(map(os.path.normpath, found))
    return [*dict.fromkeys((*first, *folders[:1], *last, *folders[1:]))]


def fill_from_argparse(facts: ProgramFacts, made: list[Construction], evaluated: Evaluated) -> None:
    """Add the options of the one parser that parses the launch line."""
    parsers = [evaluated.parsers(BuiltCall("", parser.call, parser.scope)) for parser in made]
    if len(made) > 1:  # such as the parents of one
        parsers = [same for same in parsers if any(parser.parses for parser in same)]
    if len(parsers) == 1:
        facts.parser, (facts.fields, facts.complete, facts.refuses) = ARGPARSE, options_of(parsers[0])


def fill_from_classes(facts: ProgramFacts, made: list[Construction], scopes: list[Scope]) -> None:
    """Add the arguments of the one parser of classes; what a parser of options takes before it and leaves it is not known."""
    taking = [construction for construction in made if not leaves_words(construction)]
    if len(taking) != 1 or taking[0].kind not in HF_PARSERS:
        return
    fill(facts, taking[0], scopes)
    takers = [call for construction in made if construction is not taking[0] for _, call in construction.uses() if call is not None]
    options = {str(literal(node)).lstrip("-").replace("-", "_") for call in takers for node in call.args}
    facts.complete = facts.complete and not takers
    facts.stores += tuple((None, name) for name in sorted(options & known_fields(facts.arguments)))
    facts.changed = tuple(sorted({name for _, name in facts.stores}))


def leaves_words(parser: Construction) -> bool:
    """Whether a parser leaves the words that it does not know to another one."""
    uses = [*parser.uses()]
    methods = {method for method, _ in uses}
    named = all(isinstance(literal(node), str) for method, call in uses if method == "add_argument" and call for node in call.args)
    is_plain = parser.kind == ARGPARSE and not parser.is_own and named
    return is_plain and {"parse_known_args"} <= methods <= {"parse_known_args", "add_argument"}


def parsers_of_line(made: list[Construction]) -> list[Construction]:
    """The parsers without those of classes that parse a file alone."""
    parsers: list[Construction] = []
    for parser in made:
        methods = [method for method, call in parser.uses() if call is not None or not method]
        if parser.kind not in HF_PARSERS or not methods or any(method not in FROM_FILE for method in methods):
            parsers.append(parser)
    return parsers


def fill(facts: ProgramFacts, parser: Construction, scopes: list[Scope]) -> None:
    facts.parser = parser.kind
    types = parser.types()
    if types is None:
        return
    line, file, closed = is_strict(parser)
    facts.complete = closed
    fields: dict[str, Field] = {}
    defaults: dict[str, Field] = {}
    classes: list[str] = []
    named = result_names(parser, len(types))
    for index, node in enumerate(types):
        dataclass = read_class(parser.scope.modules, parser.scope.resolve(node))
        facts.complete = facts.complete and dataclass.complete
        if kind_of_class(dataclass.base):
            facts.complete = facts.complete and not facts.arguments
            facts.arguments, facts.exact = dataclass.base, dataclass.complete
            known = known_fields(dataclass.base)
            defaults = {name: field for name, field in dataclass.own.items() if name in known}
            fields.update(SEQ2SEQ if dataclass.base == "Seq2SeqTrainingArguments" else {})
            fields.update((name, field) for name, field in dataclass.own.items() if name not in known)
            names = set(named[index : index + 1])
            stores: list[tuple[ast.AST | None, str]] = [*stored_fields(scopes, names), *dataclass.assigned]
            stores += [(None, name) for name in facts.by_trainer]
            facts.stores = tuple((node, name) for node, name in stores if name in known)
            facts.changed = tuple(sorted({name for _, name in facts.stores}))
        else:
            if any(dataclass.base in kind.script_classes() for _, kind in every_kind()):
                classes.append(dataclass.base)
            elif dataclass.base:
                facts.complete = False
            fields.update(dataclass.own)
    known = known_fields(facts.arguments) if facts.arguments else set()
    for method, call in parser.uses():
        if method == "add_argument" and call is not None:
            facts.complete = False
        for word in call.keywords if call is not None and method == "set_defaults" else ():
            value = value_of(word.value, parser.scope)
            if word.arg in fields:
                fields[word.arg] = changed(fields[word.arg], default=value)
            elif word.arg in known:
                takes = defaults[word.arg].takes if word.arg in defaults else ""
                defaults[word.arg] = Field("", value, parser.scope.module.path, word.value.lineno, takes)
    facts.fields, facts.defaults, facts.classes = fields, defaults, tuple(classes)
    known_classes = kind_named(kind_of_class(facts.arguments)).script_classes() if facts.arguments else classes
    facts.taken = tuple(field for name in classes if name not in known_classes for field in sorted(fields_of_class(name)))
    facts.refuses, facts.refuses_in_file = line, file


def with_methods(modules: Modules, scopes: list[Scope]) -> list[Scope] | None:
    """The scopes together with the methods that they call; None above the limit.

    A method counts if its class is called somewhere, or is the value of a table, a name or a function, which may be called, and if its
    name is used as an attribute of any object.
    """
    found = list(scopes)
    seen = {scope.node for scope in scopes}
    names = set(UNASKED)
    classes: dict[ast.AST, list[tuple[str, Definition]]] = {}
    read = 0
    while read < len(found):
        added, read = found[read:], len(found)
        named: list[Definition] = []
        for scope in added:
            names.update(node.attr for node in scope.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load))
            made = [scope.resolve(call.func) for call in scope.calls()]
            loaded = (node for node in scope.nodes if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load))
            made += [scope.resolve(node) for node in loaded if isinstance(scope.module.parent(node), HANDED_ON)]
            if scope.calls_of("globals"):  # a table of all that the module has
                made += [modules.lookup(scope.module, name) for name in (*scope.module.imports, *scope.module.names)]
            for cls in (cls for cls in made if isinstance(cls, Definition) and isinstance(cls.node, ast.ClassDef)):
                if cls.node not in classes:
                    classes[cls.node] = methods_of(cls, modules)
            code = ((definition.module, code_of(definition)) for definition in scope.named)
            named += [Definition(module, node) for module, node in code if node is not None]
        called = [method for methods in classes.values() for name, method in methods if name in names]
        for definition in [*called, *named]:
            if definition.node not in seen:
                seen.add(definition.node)
                found.append(Scope(modules, definition.module, definition.node))
        if len(found) > MOST_SCOPES or modules.is_full:
            return None
    return found


def methods_of(made: Definition, modules: Modules) -> list[tuple[str, Definition]]:
    methods: list[tuple[str, Definition]] = []
    overridden: set[str] = set()
    for each in reversed(linearized(modules, made)):
        if not isinstance(each, Definition) or not isinstance(each.node, ast.ClassDef):
            continue
        nodes = [line for line in each.node.body if isinstance(line, FUNCTIONS) and line.name not in overridden]
        methods.extend((method.name, Definition(each.module, method)) for method in nodes)
        supers = {method for method in nodes if any(isinstance(node, ast.Name) and node.id == "super" for node in walk(method))}
        overridden.update(method.name for method in nodes if method not in supers)
    return methods


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
        later = set(self._changed(scopes, evaluated.stores if self.call in evaluated.made else frozenset()))
        later |= {name for name, value in set_later(call).items() if isinstance(plain(value), Unknown)}
        later |= known if any(result.is_open for result in call.used) else set()
        every = call.every and not self._is_updated(scopes)
        open_fields = later & known if every else known - {*call.arguments} | (later & known)
        is_patched = self.name not in OF_TRANSFORMERS and imports_unsloth(self.scope.modules, evaluated)
        if is_patched:
            open_fields |= changed_by_unsloth({name: value for name, (_, value) in call.arguments.items()} if call is not None else {})
        exact = self.complete and not is_patched
        not_read = unread_call(self.name, call, program, evaluated.complete)
        if not_read and self.is_computed and evaluated.reached(self) is None:
            not_read = (unread_at(ast.unparse(self.call.func), call, "the class that it calls is not known"),)
        if not not_read and self.own.missing:
            not_read = (unread_at(self.name, call, f"`{self.own.missing}` is not in the project"),)
        if not not_read and not every:
            not_read = (unread_at(self.name, call, "the program changes them all at once"),)
        if not not_read and evaluated.evaluation.is_ended and evaluated.reached(self) is None:
            not_read = (unread_at(self.name, call, "the program ends before it builds them"),)
        fields: dict[str, Field] = dict(SEQ2SEQ) if self.name == "Seq2SeqTrainingArguments" else {}
        fields.update((name, field) for name, field in own.items() if name not in known)
        defaults = {name: field for name, field in own.items() if name in known}
        facts = changed(program, arguments=self.name, classes=(), fields=fields, defaults=defaults, not_read=not_read)
        facts.complete = facts.refuses = facts.refuses_in_file = facts.exact = exact
        open_fields |= program.by_trainer.keys()
        facts.changed, facts.own_trainer = tuple(sorted(open_fields & known)), program.own_trainer or is_patched
        facts.taken = tuple(sorted(TAKEN_BY_UNSLOTH)) if is_patched else ()
        return facts

    def _changed(self, scopes: list[Scope], evaluated: Collection[ast.AST]) -> Iterator[str]:
        names = self.names
        for scope in scopes:
            for node in scope.nodes:
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node not in evaluated:
                    for owner in dotted(node.value)[-1:]:  # which may be these arguments: `args.bf16 = True`, `self.args.bf16 = True`
                        if is_arguments(owner, names) or (not names and owner not in OTHER_OBJECTS):
                            yield node.attr
            for call in scope.calls():
                is_set = dotted(call.func) == ["setattr"] and len(call.args) > 1 and call not in evaluated
                if is_set and not MODULES.intersection(dotted(call.args[0])[-1:]):
                    name = value_of(call.args[1], scope)
                    yield from [name] if isinstance(name, str) else self.known
        for cls in linearized(self.scope.modules, self.scope.resolve(self.call.func)):
            if isinstance(cls, Definition) and isinstance(cls.node, ast.ClassDef):
                yield from (name for node, name in assigned_fields(cls.node) if node not in evaluated)

    @property
    def names(self) -> set[str]:
        """The names and attributes that the result is assigned to."""
        return {part for target in targets_of(self.scope.module.parent(self.call)) for part in dotted(target)[-1:]}

    def _is_updated(self, scopes: list[Scope]) -> bool:
        """Whether the program sets attributes by a mapping of them: `vars(args).update(...)`."""
        updates = (call.func for scope in scopes for call in scope.calls() if dotted(call.func)[-1:] == ["update"])
        return any(isinstance(node, ast.Name) and node.id in self.names for update in updates for node in walk(update))


def accelerators(named: list[NamedCall], reached: Callable[[BuiltCall], MadeCall | None]) -> list[AcceleratorCall]:
    """The single call of `Accelerator` in a program; empty if there are several, or if its arguments or whether it is made are unknown."""
    calls: list[AcceleratorCall] = []
    for scope, call, found in named:
        is_own = isinstance(found, External) and found.name.partition(".")[0] == "accelerate"
        if is_own and dotted(call.func)[-1:] == ["Accelerator"]:
            calls.append(AcceleratorCall("Accelerator", call, scope))
    if len(calls) > 1:  # those of branches that are not taken are none
        calls = [call for call in calls if reached(call) is not None]
    if len(calls) != 1 or calls[0].call.args:
        return []
    made = reached(calls[0]) if calls[0].is_conditional else None
    return calls if not calls[0].is_conditional or (made is not None and not made.conditions) else []


def constructors(scopes: list[Scope], parsers: list[Construction]) -> list[Constructor]:
    """The calls of a program that build its trainer's arguments; empty if a parser may fill them.

    One whose result nothing keeps does not count beside others, such as a first `TrainingArguments(".")` that only sets up the processes.
    """
    for parser in parsers:
        types, scope = parser.types() if parser.kind in HF_PARSERS else [], parser.scope
        if types is None or any(kind_of_class(read_class(scope.modules, scope.resolve(node)).base) for node in types):
            return []
    calls = ((scope, call) for scope in scopes for call in scope.calls() if dotted(call.func)[-1:])
    found = [made for scope, call in calls for made in constructor(scope, call)]
    kept = [made for made in found if made.names != {"_"} and not isinstance(made.scope.module.parent(made.call), ast.Expr)]
    return kept or found


def constructor(scope: Scope, call: ast.Call) -> Iterator[Constructor]:
    resolved = scope.resolve(call.func)
    if resolved is None or isinstance(getattr(resolved, "node", None), FUNCTIONS):
        return
    dataclass = read_class(scope.modules, resolved)
    if kind_of_class(dataclass.base) and len(call.args) < 2 and not any(isinstance(node, ast.Starred) for node in call.args):
        made = Constructor(dataclass.base, dataclass, call, scope)
        classes = [cls.node for cls in linearized(scope.modules, resolved) if isinstance(cls, Definition)]
        lines = (line for cls in classes if isinstance(cls, ast.ClassDef) for line in cls.body)
        made.complete = dataclass.complete and not any(isinstance(line, FUNCTIONS) and line.name in OWN_INIT for line in lines)
        yield made


def computed_constructor(call: MadeCall, scope: Scope) -> Constructor:
    """A call whose class only the evaluation knows, such as `classes["SFTConfig"](...)`."""
    made = Constructor(call.name, read_class(scope.modules, External(f"{PACKAGE_OF_NAMES}.{call.name}")), call.node, scope)
    made.is_computed = True
    return made


def add_trainers(facts: ProgramFacts, scopes: list[Scope], named: list[NamedCall]) -> None:
    """Add the framework's class of the trainer that a program builds, what the program replaces of such a class, and the `device_map`, as
    it is written, with which it loads a model over all GPUs of a process.
    """
    modules = scopes[0].modules
    found: set[str] = set()
    for scope, call, made in named:
        named_class = made.node if isinstance(made, Definition) else None
        # `cls = Trainer`, and then `cls()`
        resolved = scope.resolve(named_class) if isinstance(named_class, (ast.Name, ast.Attribute)) else made
        found.add(trainer_of(resolved, modules))
        spread = keyword(call, "device_map") if isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained" else None
        if isinstance(spread, ast.Constant) and spread.value in SPREADING:
            facts.spreads = facts.spreads or str(spread.value)
    found.discard("")  # of what is no trainer
    classes = {definition.node: definition for scope in scopes for definition in scope.named if trainer_of(definition, modules)}
    methods = [method for definition in classes.values() for method in methods_of(definition, modules)]
    methods += [method for scope in scopes for method in patches(scope)]
    facts.by_trainer = {name: "the search of its trainer" for scope in scopes for name in searched(scope)}
    for name, method in methods:
        source = ast.unparse(method.node)
        if name in SAMPLING and not takes_each_once(method, modules):
            facts.own_samples = facts.own_samples or f"`{name}` of the program's trainer"
        if name == LOADER and not any(word in source for word in OF_ARGUMENTS):
            facts.by_trainer[MICRO] = "the loader that its trainer makes itself"
        facts.own_parts += parts_made_by(name, method.node)
    facts.trainer = next(iter(found)) if len(found) == 1 else ""
    facts.own_methods = tuple(sorted({name for name, _ in methods}))
    facts.own_trainer = not found or not REPLACED.isdisjoint(facts.own_methods)


def trainer_of(made: Definition | External | None, modules: Modules) -> str:
    """The name of the framework's trainer that a class is or derives from; empty if it is none."""
    is_class = isinstance(made, Definition) and isinstance(made.node, ast.ClassDef)
    line = linearized(modules, made) if is_class else [made]
    names = [cls.name for cls in line if isinstance(cls, External) and cls.name.partition(".")[0] in PACKAGES]
    return next((name.rpartition(".")[2] for name in reversed(names) if name.endswith("Trainer")), "")


def searched(scope: Scope) -> Iterator[str]:
    """The names of what a search for the best arguments sets in each trial (transformers 5.24.0 trainer_utils.py, default_hp_space_*)."""
    for call in (call for call in scope.calls() if last_name(call.func) == "hyperparameter_search"):
        space = keyword(call, "hp_space") or next(iter(call.args), None)
        found = scope.resolve(space) if space is not None else None
        node = found.node if isinstance(found, Definition) else space
        words = (part.value for part in walk(node) if isinstance(part, ast.Constant)) if node is not None else SEARCHED_BY_DEFAULT
        yield from (word for word in words if isinstance(word, str))


def patches(scope: Scope) -> Iterator[tuple[str, Definition]]:
    """The methods that code gives a trainer, or a class of them, from outside: `Trainer.create_optimizer = create_optimizer`."""
    for node in (node for node in scope.nodes if isinstance(node, ast.Assign)):
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr in PATCHED:
            value = scope.resolve(node.value)
            yield target.attr, value if isinstance(value, Definition) else Definition(scope.module, node.value)


def parts_made_by(name: str, method: ast.AST) -> tuple[str, ...]:
    """What a method that replaces one of the Trainer's makes otherwise than the arguments say."""
    found: list[str] = []
    calls = [node for node in walk(method) if isinstance(node, ast.Call)]
    called = {id(call): last_name(call.func) for call in calls}
    stored = [node.value for node in walk(method) if isinstance(node, ast.Assign) and dotted(node.targets[0]) == SCHEDULE]
    if name in OF_OPTIMIZER and MAKES_OPTIMIZER.isdisjoint(called.values()):
        rate = () if "learning_rate" in ast.unparse(method) else ("learning rate",)
        found += ["optimizer", "weight decay", *rate]
    by_arguments = {
        id(call) for call in calls if called[id(call)] == "get_scheduler" and call.args and dotted(call.args[0]) == KIND_OF_SCHEDULE
    }
    by_arguments |= {id(call) for call in calls if called[id(call)] in OF_SCHEDULE}
    if name in OF_SCHEDULE and not (by_arguments and by_arguments.issuperset(map(id, stored))):
        found.append("schedule")
    return tuple(found)


def takes_each_once(method: Definition, modules: Modules) -> bool:
    """Whether a method that a trainer samples its training set by takes each sample once in an epoch, by the samplers that it makes."""
    scope = Scope(modules, method.module, method.node)
    samplers = [call for call in scope.calls() if dotted(call.func)[-1:] and dotted(call.func)[-1].endswith("Sampler")]
    passes_on = any(getattr(call.func, "attr", "") in SAMPLING for call in scope.calls())
    of_the_set = getattr(method.node, "name", "") == LOADER and "train_dataset" in ast.unparse(method.node)
    return bool(samplers or passes_on or of_the_set) and all(takes_all(call, scope) for call in samplers)


def takes_all(sampler: ast.Call, scope: Scope) -> bool:
    found = scope.resolve(sampler.func)
    if isinstance(found, Definition):
        lengths = [method.node for name, method in methods_of(found, scope.modules) if name == "__len__"]
        values = [node.value for length in lengths for node in walk(length) if isinstance(node, ast.Return)]
        return bool(values) and all(isinstance(value, ast.Call) and dotted(value.func) == ["len"] for value in values)
    is_whole = keyword(sampler, "num_samples") is None and keyword(sampler, "replacement") is None
    return dotted(sampler.func)[-1] in PLAIN_SAMPLERS and is_whole


def in_other_module(modules: Modules) -> bool:
    """Whether some module of a program, perhaps a method of a class there, makes an `Accelerator`."""
    return any("Accelerator(" in module.text for module in modules.known())


def own_training(program: ProgramFacts, loop: OwnLoop | None = None) -> tuple[Reason, ...]:
    """Why a framework's trainer does not take the arguments that a program parses: it makes none, and computes the gradients itself, in
    a `loop` that was found by evaluation, or somewhere in its code.
    """
    if loop is not None and loop.numbers is not None:
        return (trained_instead(program, loop.numbers.path, *loop.numbers.position(loop.numbers.roots[0].start)[:1]),)
    scopes = list(program.scopes)
    if not program.arguments or any(may_train(scope, call) for scope in scopes for call in scope.calls()):
        return ()
    scopes = with_methods(program.modules, scopes) or []
    if any(may_train(scope, call) for scope in scopes for call in scope.calls()):
        return ()
    calls = [(scope, call) for scope in scopes for call in scope.calls()]
    steps = ((scope, call) for scope, call in calls if getattr(call.func, "attr", "") == BACKWARD)
    named = ((scope, call) for scope, call in calls if "trainer" in "".join(dotted(call.func)[-1:]).lower())
    made = ((scope, call) for scope, call in named if isinstance(getattr(scope.resolve(call.func), "node", None), ast.ClassDef))
    step = next(steps, None)
    found = step or next(made, None)
    own = "a loop" if step is not None else "one"
    return (trained_instead(program, found[0].module.path, found[1].lineno, own),) if found is not None else ()


def trained_instead(program: ProgramFacts, path: str, line: int, own: str = "a loop") -> Reason:
    name, why = program.path.rpartition("/")[2], f"it makes no trainer of the framework and has {own} of its own"
    return Reason("program", f"the training of `{name}`", why, path, line, opens=True)


def may_train(scope: Scope, call: ast.Call) -> bool:
    """Whether a call may make a trainer of a framework: it is named like one, and is no class or function of the project's own alone."""
    if "trainer" not in last_name(call.func).lower():
        return False
    found = scope.resolve(call.func)
    if not isinstance(found, Definition):
        return True
    return isinstance(found.node, ast.ClassDef) and any(not isinstance(each, Definition) for each in linearized(scope.modules, found))


def stored_fields(scopes: list[Scope], names: Container[str]) -> Iterator[tuple[ast.AST, str]]:
    """The fields of parsed arguments that code sets, each with its place: `training_args.bf16 = True`."""
    for scope in scopes:
        for node in scope.nodes:
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            if isinstance(node.ctx, ast.Store) and is_arguments(node.value.id, names):
                yield node, node.attr


def is_arguments(name: str, names: Container[str]) -> bool:
    return name in names or name in ("args", "training_args", "train_args") or name.endswith(("_args", "_arguments", "_config"))


def imports_unsloth(modules: Modules, evaluated: Evaluated) -> bool:
    """Whether a program imports unsloth; not by a statement that an evaluation to its end does not come to."""
    if not any(UNSLOTH in program_module.imported_packages for program_module in modules.known()):
        return False
    return not evaluated.complete or any(UNSLOTH in ast.unparse(each.node) for each in evaluated.imports)


def changed_by_unsloth(given: Mapping[str, Any]) -> set[str]:
    """The fields of a config of TRL whose values depend on the release of unsloth, by the values that the code sets.

    A micro batch that `num_generations` does not divide becomes `num_generations`, in some releases; without a folder nothing may be saved.
    """
    found = set(DEFAULTS_OF_UNSLOTH - given.keys())
    if "output_dir" not in given and "save_strategy" not in given:
        found.add("save_strategy")
    micro, completions = (plain(given[name]) if name in given else Unknown() for name in (MICRO, COMPLETIONS))
    divides = type(micro) is int and type(completions) is int and completions > 0 and micro % completions == 0
    return found if COMPLETIONS not in given or divides else {*found, MICRO}
