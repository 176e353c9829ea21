"""Calls that build a trainer or its arguments in code: `TrainingArguments(...)`, `SFTConfig(...)` and their subclasses, `Trainer(...)`.

Source: transformers 5.23.0 training_args.py (a dataclass: every field is a parameter of `__init__`, `output_dir` the first one),
trl 1.16.0 trainer/*_config.py; unsloth 2025.2.15 to 2026.10.9 models/rl.py (_patch_trl_rl_trainers), trainer.py
(_backwards_compatible_trainer): importing unsloth replaces the classes of TRL by some with other defaults, further parameters and other
checks; its trainers accept `tokenizer` and the parameters that TRL has moved to its configs.
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Unknown
from cfglint.launch.kinds import kind_of_class, trainer_of_class
from cfglint.launch.program import HF_PARSERS, Field, ProgramFacts
from cfglint.launch.programs.classes import SEQ2SEQ, Dataclass, assigned_fields, known_fields, linearized, read_class
from cfglint.launch.programs.documents import set_later
from cfglint.launch.programs.modules import Definition, External, Modules, targets_of
from cfglint.launch.programs.objects import plain
from cfglint.launch.programs.parsers import Construction, unread_at, unread_call
from cfglint.launch.programs.runs_of_program import Evaluated
from cfglint.launch.programs.scopes import FUNCTIONS, AcceleratorCall, BuiltCall, Scope, dotted, keyword, value_of
from cfglint.source.annotations import Any, Collection, Container, Iterator, Mapping
from cfglint.source.record import changed
from cfglint.source.shell.tables import names

MOST = 24  # calls of one program that become runs
OTHER_OBJECTS = ("self", "model", "config", "tokenizer", "trainer")  # variables whose attributes are not arguments
MODULES = frozenset(("model", "module", "parent", "tokenizer"))  # variables whose attributes a program replaces by name
PACKAGE_OF_NAMES = "trl"  # in place of that of a class of arguments, whose name alone counts
OWN_INIT = ("__init__", "__new__")
COPIES = ("replace", "copy.replace", "dataclasses.replace")
SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")
# Methods of the Trainer that checks of its first step, or of its batch, rely on.
REPLACED = names(
    "__init__ train _inner_training_loop training_step get_train_dataloader create_optimizer create_scheduler"
    " create_optimizer_and_scheduler create_accelerator_and_postprocess get_batch_samples _load_from_checkpoint"
)
UNSLOTH = "unsloth"
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
)
OF_TRANSFORMERS = ("TrainingArguments", "Seq2SeqTrainingArguments")  # which unsloth does not replace
MICRO, COMPLETIONS = "per_device_train_batch_size", "num_generations"


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
        is_patched = self.name not in OF_TRANSFORMERS and imports_unsloth(self.scope.modules)
        if is_patched:
            open_fields |= changed_by_unsloth({name: value for name, (_, value) in call.arguments.items()} if call is not None else {})
        exact = self.complete and not is_patched
        not_read = unread_call(self.name, call, program, evaluated.complete)
        if not not_read and not every:
            not_read = (unread_at(self.name, call, "the program changes them all at once"),)
        fields: dict[str, Field] = dict(SEQ2SEQ) if self.name == "Seq2SeqTrainingArguments" else {}
        fields.update((name, field) for name, field in own.items() if name not in known)
        defaults = {name: field for name, field in own.items() if name in known}
        facts = changed(program, arguments=self.name, classes=(), fields=fields, defaults=defaults, not_read=not_read)
        facts.complete = facts.refuses = facts.refuses_in_file = facts.exact = exact
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
                yield from assigned_fields(cls.node)

    @property
    def names(self) -> set[str]:
        """The names and attributes that the result is assigned to."""
        return {part for target in targets_of(self.scope.module.parent(self.call)) for part in dotted(target)[-1:]}

    def _is_copied(self, scopes: list[Scope]) -> bool:
        names = self.names
        for call in (call for scope in scopes for call in scope.calls()):
            path, first = dotted(call.func), call.args[0] if call.args else None
            if ".".join(path) in COPIES and isinstance(first, ast.Name) and first.id in names:
                return True
            if len(path) == 2 and path[0] in names and path[1].startswith("set_"):
                return True
            if path[-1:] == ["update"] and any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(call.func)):
                return True
        return False


def accelerators(scopes: list[Scope]) -> list[AcceleratorCall]:
    """The single call of `Accelerator` in a program; empty if there are several, or if its arguments are unknown."""
    calls: list[AcceleratorCall] = []
    for scope in scopes:
        for call in scope.calls():
            named = scope.resolve(call.func) if dotted(call.func)[-1:] == ["Accelerator"] else None
            if isinstance(named, External) and named.name.partition(".")[0] == "accelerate":
                calls.append(AcceleratorCall("Accelerator", call, scope))
    return calls if len(calls) == 1 and not calls[0].call.args and not calls[0].is_conditional else []


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


def trainers(scopes: list[Scope]) -> tuple[set[str], set[str]]:
    """(framework classes of the trainers that a program builds, the methods of their subclasses)."""
    found: set[str] = set()
    methods: set[str] = set()
    for scope in scopes:
        for resolved in map(scope.resolve, (call.func for call in scope.calls())):
            is_class = isinstance(resolved, Definition) and isinstance(resolved.node, ast.ClassDef)
            line = linearized(scope.modules, resolved) if is_class else [resolved]
            names = [cls.name for cls in line if isinstance(cls, External) and cls.name.partition(".")[0] in ("transformers", "trl")]
            trainer = next((name.rpartition(".")[2] for name in reversed(names) if name.endswith("Trainer")), None)
            if trainer is not None:
                found.add(trainer)
                classes = [cls.node for cls in line if isinstance(cls, Definition) and isinstance(cls.node, ast.ClassDef)]
                methods.update(node.name for cls in classes for node in cls.body if isinstance(node, FUNCTIONS))
    return found, methods


def spread_over_gpus(scopes: list[Scope]) -> str:
    """The `device_map` with which a program loads a model over all GPUs of a process, as it is written; empty if it does not."""
    for call in (call for scope in scopes for call in scope.calls()):
        node = keyword(call, "device_map") if isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained" else None
        if isinstance(node, ast.Constant) and node.value in SPREADING:
            return str(node.value)
    return ""


def changed_fields(scopes: list[Scope], names: Container[str]) -> Iterator[str]:
    """The fields of parsed arguments that code sets: `training_args.bf16 = True`, `setattr(args, ...)`, `args.set_training(...)`."""
    for scope in scopes:
        for node in scope.nodes:
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            if isinstance(node.ctx, ast.Store) and is_arguments(node.value.id, names):
                yield node.attr


def is_arguments(name: str, names: Container[str]) -> bool:
    return name in names or name in ("args", "training_args", "train_args") or name.endswith(("_args", "_arguments", "_config"))


def imports_unsloth(modules: Modules) -> bool:
    return any(UNSLOTH in program_module.imported_packages for program_module in modules.known())


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
