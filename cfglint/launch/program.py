"""The facts about the program of a launch: which parser it uses, which arguments it has, which trainer it builds."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.launch.kinds import TRAINER, kind_of_class
from cfglint.source.annotations import Any, Collection, ConfigValue, Mapping
from cfglint.source.python.call import CallDocument
from cfglint.source.record import Record, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from typing import Protocol

    from cfglint.launch.programs.context import Context
    from cfglint.launch.programs.modules import Modules
    from cfglint.launch.programs.scopes import BuiltCall, Scope

    class Evaluations(Protocol):
        """What the code of a program does with each launch line."""

        modules: Modules

        def under(self, context: Context) -> object:
            """The program, evaluated in its circumstances."""


HF_PARSER = "HfArgumentParser"
TRL_PARSER = "TrlParser"
ARGPARSE = "argparse"
HF_PARSERS = (HF_PARSER, TRL_PARSER)
BEYOND_LIMIT = "its evaluation stopped at the limit of steps"  # why the code of a program is not read


class Missing:
    """The type of `MISSING`: the default of a required argument."""

    def __repr__(self) -> str:
        return "required"


MISSING = Missing()


class Field(Record):
    """An argument of a program.

    `kind` is its type as `huggingface.fields` names it, empty if it is unknown. `default` is `MISSING` for a required
    argument, and `Unknown` if the program computes it. `takes` is the number of words that follow the option: `1`, `?`,
    `+`, `*`, `0`, or empty if it is unknown. `stored` is the value of a flag that is given, `options` are those that `add_argument` has.
    `written` is the expression of the default and its module (of `launch.programs`).
    """

    kind: str
    default: ConfigValue | Missing
    path: str
    line: int
    takes: str = "1"
    choices: tuple[Any, ...] = ()
    stored: ConfigValue = True
    options: tuple[str, ...] = ()
    written: Any = None

    @property
    def short(self) -> tuple[str, ...]:
        return tuple(option for option in self.options if not option.startswith("--"))

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


OF_LAUNCHER = "the accelerate config"  # what is not read, besides the program


def arguments_of(path: str) -> str:
    return f"the arguments of `{path.rpartition('/')[2]}`"


class DataRecipe(Record):
    """A data set: the builder that reads its files (`saved` for `load_from_disk`, `list` for JSON that has to be one), the field that has
    the rows, and the steps of the program that may change their number, each with its argument.

    The files of `named` are a folder or the name of a data set of the Hub, and its part; the field is the split then.
    One without files consists of `parts`, and of `written` rows that the program has itself.
    """

    builder: str = ""
    files: tuple[str, ...] = ()
    field: str = ""
    steps: tuple[tuple[str, ConfigValue], ...] = ()
    parts: tuple[DataRecipe, ...] = ()
    written: int = 0

    def then(self, step: str, argument: ConfigValue) -> DataRecipe:
        return changed(self, steps=(*self.steps, (step, argument)))


class TrainerCall(Record):
    """A call of the constructor of a trainer: its class, the package of that, and the keywords that are written in the call.

    `is_certain`: the program makes the call, and nothing catches what it raises. `fields` are those
    that the class of its arguments, derived from `TrainingArguments`, adds. `callbacks` are the classes of transformers that it is given,
    if it is trained. `streams`: its training set has no length. `base` is the class of transformers of its arguments, empty for others.
    `resumes` is the checkpoint that `train` is given: a path, true for the last one, None for none, `Unknown` if that is not known.
    `data` is its training set, if that is loaded from local files. `own_parts`: what it is given, and does not make by its arguments.
    `models`: model and reference are "a name", "an object", "none", or "" if unknown.
    """

    name: str
    package: str
    document: CallDocument
    is_certain: bool
    fields: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()
    streams: bool = False
    base: str = ""
    resumes: ConfigValue = None
    data: DataRecipe | None = None
    own_parts: tuple[str, ...] = ()
    models: tuple[str, str] = ("", "")


class AdapterCall(Record):
    """A model that a program trains, with the adapter that it puts on it; calls are None where they are not known.

    `adapter` is the `LoraConfig`, `model` the `from_pretrained`, `quantization` the `BitsAndBytesConfig`. `checkpoint` is the name or
    folder of the model, `loader` the class that loads it. `is_certain`: all of this happens, and nothing catches what it raises.
    `is_trained`: a trainer is given the model without an adapter. `is_open`: it is quantised in a way that is not known.
    """

    adapter: CallDocument | None
    model: CallDocument | None
    quantization: CallDocument | None
    checkpoint: str
    loader: str
    is_certain: bool
    is_trained: bool = False
    is_open: bool = False


class ImportedNames(Record):
    """An import of a framework's package: the module and the names that it imports, none for `import module`.

    `document` has the module or the names as its keys. `is_certain` as for a `TrainerCall`.
    """

    module: str
    names: tuple[str, ...]
    document: CallDocument
    is_certain: bool

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


class OwnLoop(Record):
    """The training loop of a program's own, with an `Accelerator` or an engine of DeepSpeed.

    `loader` is the call that makes the data loader of each step, `optimizer` and `schedule` those of its optimizer and its learning rate.
    `plugins` are those of the `Accelerator`, by name. `numbers` has what the loop itself says: `turns` between two steps of the optimizer,
    `epochs`, and `max_steps`, the number that ends it. `accumulates`: by `accumulate()`; False: it steps after each batch, or after
    `turns`; None if that is not known, for which `why` is the reason. `counts_batches`: `max_steps` are batches. `lacks_loader` is why the
    loader is not known. `stages` is the number of pipeline stages. `trains` are the calls of the engines that are trained. `is_whole`: the
    `Accelerator` has no arguments that are not known; `is_twice`: the loop accumulates by `accumulate()` and by `turns`;
    `prepares_schedule`: the `Accelerator` wraps the schedule; `prepares_no_loader`: `prepare()` is called, but with no data loader.
    """

    loader: CallDocument | None
    plugins: Mapping[str, CallDocument]
    accumulates: bool | None
    optimizer: CallDocument | None = None
    schedule: CallDocument | None = None
    numbers: CallDocument | None = None
    why: str = ""
    lacks_loader: str = ""
    counts_batches: bool = False
    stages: int | None = None
    trains: tuple[CallDocument, ...] = ()
    is_found: bool = False
    is_whole: bool = True
    is_twice: bool = False
    prepares_schedule: bool = False
    prepares_no_loader: bool = False


class ProgramFacts(Record):
    """The facts about a program that follow from its syntax tree.

    `arguments` is the framework's class that the parser fills (`TrainingArguments`, `SFTConfig`), empty without one; `classes` are its
    other classes of TRL. `is_called`: the code calls what creates the parser, and does not only pass it on. `fields` are arguments that
    the program defines itself, `defaults` those that a subclass sets for fields of `arguments`. `complete`: there are no further
    arguments. `refuses`: an unknown argument ends the program; `refuses_in_file`: so does an unknown key of a config file. `trainer` is
    the framework's class of the one trainer that it builds, `own_trainer` whether a subclass replaces methods that checks rely on,
    `own_methods` are all methods of such subclasses, `by_trainer` the fields that one decides itself, each with what does,
    `own_samples` which one may take other samples in an epoch than each of the training set once, `own_parts` what they make otherwise
    than the arguments say: `optimizer`, `learning rate`, `weight decay`, `schedule`.
    `spreads` is the `device_map` by which it loads a model over all GPUs, else empty.
    `taken` are further arguments of a class that drops all that it does not know.
    `changed` are fields that the code sets after parsing, to values that are not known; those of which it is known are `assigned`, the
    `late` ones after the class has checked the others; `stores` are the places. `exact`: the defaults of `arguments` are known, as is
    every class between it and the parser. `config_files` are DeepSpeed files that the code names if the line names none. `built` are
    the calls that build a trainer's arguments in code, `further` the number of those beyond a limit, `engines` the calls of
    `deepspeed.initialize` that train, `scopes` the code that it may run, `evaluations` what its code does with each launch line (all of
    `launch.programs`). `trainer_calls` are the calls that build the trainers of a run, `adapters` the models that they train with their
    adapters, `imports` what the program imports of the frameworks. `not_read` is what may set further values.
    """

    path: str
    parser: str = ""
    is_called: bool = False
    arguments: str = ""
    classes: tuple[str, ...] = ()
    fields: dict[str, Field] = {}
    defaults: dict[str, Field] = {}
    complete: bool = False
    refuses: bool = False
    refuses_in_file: bool = False
    trainer: str = ""
    own_trainer: bool = False
    own_methods: tuple[str, ...] = ()
    by_trainer: dict[str, str] = {}
    own_samples: str = ""
    own_parts: tuple[str, ...] = ()
    spreads: str = ""
    taken: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    assigned: Mapping[str, Any] = {}
    late: Collection[str] = ()
    stores: tuple[tuple[ast.AST | None, str], ...] = ()
    exact: bool = False
    config_files: tuple[str, ...] = ()
    built: tuple[BuiltCall, ...] = ()
    further: int = 0
    engines: tuple[BuiltCall, ...] = ()
    scopes: tuple[Scope, ...] = ()
    evaluations: Evaluations | None = None
    trainer_calls: tuple[TrainerCall, ...] = ()
    adapters: tuple[AdapterCall, ...] = ()
    imports: tuple[ImportedNames, ...] = ()
    not_read: tuple[Reason, ...] = ()

    @property
    def modules(self) -> Modules:
        assert self.evaluations is not None
        return self.evaluations.modules

    @property
    def checked_packages(self) -> tuple[str, ...]:
        """The packages whose release decides whether the code of the program itself is accepted."""
        made: tuple[TrainerCall | ImportedNames | BuiltCall, ...] = (*self.trainer_calls, *self.imports, *self.built)
        packages = [each.package for each in made]
        added = ("peft", "bitsandbytes") if self.adapters else ()
        return tuple(dict.fromkeys([*filter(None, packages), *added]))

    @property
    def parses_all(self) -> bool:
        return self.parser == HF_PARSER and kind_of_class(self.arguments) == TRAINER

    @property
    def opens_config(self) -> bool:
        """Whether the parser itself opens the YAML file of `--config`, and casts its strings (trl/scripts/utils.py, every release)."""
        return self.parser == TRL_PARSER

    @property
    def is_strict(self) -> bool:
        """Whether every argument that it accepts is known, and any other argument ends it."""
        return self.complete and self.refuses

    def accepts(self, name: str) -> bool:
        """Whether a name is an argument that the program defines, the negation `no_x` of a boolean one, or may abbreviate one."""
        if name in self.fields or name in self.defaults or name in self.taken or any(field.startswith(name) for field in self.fields):
            return True
        positive = self.fields.get(name.removeprefix("no_"))
        return positive is not None and positive.kind == "bool" and positive.default is True


class ProgramCall(CallDocument):
    """A call of a program that builds what a run is configured with: with the facts about this version of the `program`, and the training
    `loop` around an `Accelerator` or an engine.
    """

    def __init__(self, path: str, text: str, name: str, start: int, end: int) -> None:
        super().__init__(path, text, name, start, end)
        self.program: ProgramFacts | None = None
        self.loop: OwnLoop | None = None

    @property
    def has_loop(self) -> bool:
        return self.loop is not None and self.loop.is_found
