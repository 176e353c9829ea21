"""The calls with which a program parses its launch line, and what they make of the words: argparse, fire, click, typer, tyro, Hydra, ...

Source: CPython argparse.py, transformers 5.23.0 hf_argparser.py, trl 1.16.0 scripts/utils.py, fire 0.7 core.py, hydra 1.3 compose.py.
"""

from __future__ import annotations

import argparse
import ast

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.argparse_types import converted
from cfglint.launch.command import END_OF_OPTIONS
from cfglint.launch.kinds import kind_of_class, parsed_type
from cfglint.launch.programs import config_files
from cfglint.launch.programs.classes import known_fields, type_of
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.modules import External, ProgramModule
from cfglint.launch.programs.objects import (
    NONE,
    OPEN,
    Built,
    Class,
    Filling,
    Function,
    Given,
    Instance,
    Mapping,
    Named,
    OpenFile,
    Sequence,
    Value,
    Words,
    attempted,
    plain,
    unknown,
    wrapped,
)
from cfglint.launch.programs.scopes import Scope, top_level
from cfglint.source.annotations import Any, NoReturn
from cfglint.source.dataclass_fields import annotated
from cfglint.source.record import Record
from cfglint.source.shell.tables import names

FIRE = "fire.Fire"
ADDS = "deepspeed.add_config_arguments"  # deepspeed 0.19.8 deepspeed/__init__.py (_add_core_arguments)
SIGNATURES = names(
    "fire.Fire typer.run tyro.cli defopt.run simple_parsing.parse draccus.parse pyrallis.parse jsonargparse.CLI jsonargparse.auto_cli"
)
PATH_OR_JSON = "dict|str"
HF_PARSERS = ("HfArgumentParser", "TrlParser", "H4ArgumentParser", "DPOParser")
OF_OTHERS = "--."  # stands for an option of another part
UNKNOWN = "\0"  # stands for a word that is unknown
COMMAND = "\0command"
WITHOUT_VALUE = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version")  # actions
MOST = 100  # words of an argument that states their number
UNDERSTOOD = frozenset(  # keywords of a parser
    names("description prog usage epilog formatter_class add_help conflict_handler parents allow_abbrev")
)
HARMLESS = ("print_help", "format_help", "print_usage", "format_usage", "error", "exit", "get_default")
DEEPSPEED = "deepspeed/__init__.py"
PLAIN: Any = {"add_help": False, "conflict_handler": "resolve", "argument_default": argparse.SUPPRESS}
WORD = Reason("argument", "a word of the launch line")
LINE = Reason("argument", "the launch line")


def external(run: Interpreter, name: str, given: Given, named: Named) -> Value | None:
    package, _, last = name.rpartition(".")
    if name == "argparse.ArgumentParser" or last in ("ArgParser", "ArgumentParser"):
        parser = LineParser()
        if name not in ("argparse.ArgumentParser", "configargparse.ArgumentParser"):
            parser.is_open = name.startswith(("jsonargparse", "simple_parsing"))
        parents = run.iterated(named["parents"]) if "parents" in named else []
        parser.is_open = parser.is_open or parents is None or not named.keys() <= UNDERSTOOD
        parser.abbreviates = named.get("allow_abbrev", NONE).data is not False
        for parent in parents or ():
            if isinstance(parent.data, LineParser):
                parser.arguments += parent.data.arguments
                parser.defaults.update(parent.data.defaults)
            parser.is_open = parser.is_open or not isinstance(parent.data, LineParser) or parent.data.is_open
        if not run.trial:
            run.parsers.setdefault(run.here(), []).append(parser)
        return Value(parser)
    if name == ADDS and given and isinstance(given[0].data, LineParser):
        flag, text = {"default": Value(False), "action": Value("store_true")}, {"default": NONE}
        for option, settings in (("deepspeed", flag), ("deepspeed_config", text), ("deepscale", flag), ("deepscale_config", text)):
            given[0].data.arguments.append(ParserArgument(option, [f"--{option}"], settings, (DEEPSPEED, 1)))
        return given[0]
    if last in HF_PARSERS:
        types = given[0] if given else named.get("dataclass_types", unknown())
        is_known = isinstance(types.data, Sequence) and not types.data.is_open
        return Value(ClassParser(list(types.data.items) if is_known else [types]))
    if name in SIGNATURES:
        return from_signature(run, name, given, named)
    if last == "SchedulerType" and given:
        return given[0]  # an Enum of strings
    if name in ("typer.Option", "typer.Argument"):
        return given[0] if given and given[0].data is not Ellipsis else named.get("default", unknown(LINE))
    if last == "initialize" and package.endswith("hydra"):
        run.hydra_folder = named.get("config_path") or (given[0] if given else NONE)
        return NONE
    if name in ("hydra.compose", "hydra.experimental.compose"):
        overrides = plain(named["overrides"]) if "overrides" in named else []
        folder = run.hydra_folder
        frame = run.here_frame()
        return config_files.composed(run, folder, named.get("config_name") or (given[0] if given else NONE), overrides, frame.module)
    return None


def method(run: Interpreter, owner: Value, name: str, given: Given, named: Named) -> Value:
    parser = owner.data
    if name == "set_defaults":
        parser.defaults.update({key: value for key, value in named.items() if key is not None})
        return NONE
    if isinstance(parser, ClassParser):
        return filled(run, parser, name, given, named)
    if name == "add_argument":
        options = [value.data for value in given]
        if not options or not all(isinstance(option, str) for option in options) or None in named:
            parser.is_open = True
            return NONE
        long = next((option for option in options if option.startswith("--")), options[0])
        dest = named.get("dest", NONE).data
        place = run.here_frame().module.path, getattr(run.here(), "lineno", 0)
        dest = dest if isinstance(dest, str) else long.lstrip("-").replace("-", "_")
        parser.arguments.append(ParserArgument(dest, options, named, place, is_conditional=bool(run.conditions)))
        return NONE
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return owner
    if name == "add_subparsers":
        dest = named.get("dest", NONE).data
        parser.command_name = dest if isinstance(dest, str) else ""
        parser.is_open = True
        return owner
    if name == "add_parser" and given and isinstance(given[0].data, str):
        parser.commands[given[0].data] = child = LineParser()
        return Value(child)
    if name in ("parse_args", "parse_known_args"):
        words, is_open = words_of(run, given, named)
        if not run.trial and run.site is not None:
            is_strict = name == "parse_args" and not given and not named and not run.conditions
            parser.parses.append(Parse(run.site[0], run.site[1].module, is_strict))
        before = named.get("namespace") or next(iter(given[1:]), Value(Instance()))
        result, rest = parsed(
            run, parser, words, is_open, before.data if isinstance(before.data, Instance) else Instance(slots={OPEN: True})
        )
        listed = given_words(given, named).data
        if isinstance(listed, Sequence) and all(word.node is not None for word in listed.items):  # in the program: none is of the line
            for value in result.data.slots.values():
                if isinstance(value, Value):
                    value.argument = ""
        return result if name == "parse_args" else Value(Sequence([result, rest], "tuple"))
    if name not in HARMLESS:
        parser.is_open = True
    return unknown()


def parsed(run: Interpreter, parser: LineParser, words: Words, is_open: bool, before: Instance) -> tuple[Value, Value]:
    """(the object that `parse_args` returns, the words that are left); `before` has attributes that go before the defaults."""
    data = Instance(slots=dict(before.slots))
    if parser.is_open:
        data.slots[OPEN] = True
    given, chosen, unclear, rest = assigned(parser, words)
    line = given if words == run.context.words else assigned(parser, run.context.words)[0]
    if unclear:  # it may be any options, those that are given included
        given = {}
    if parser.commands and not words:
        run.commands = (*parser.commands,)
    parts = [parser] if chosen is None else [parser, parser.commands[chosen]]
    if parser.command_name:
        data.slots[parser.command_name] = Value(chosen) if chosen is not None else unknown()
    elif parser.commands and chosen is None:
        data.slots[OPEN] = True
    lacks_words = any(argument.is_required and argument.name not in given for part in parts for argument in part.arguments)
    for part in parts:
        for argument in part.arguments:
            is_none_if_absent = argument.default is NONE and not argument.takes_none and not argument.is_positional
            may_be_given = is_open or unclear or (lacks_words and is_none_if_absent)
            taker, taken = given.get(argument.name, (argument, None))
            value = result_of(run, taker, taken, part, may_be_given)
            if taken != line.get(argument.name, (argument, None))[1]:  # the program gives or takes it in place of the line
                value = Value(value.data, value.node, value.module)
            if before.is_open and argument.name not in given:
                value = unknown(LINE)
            if argument.name not in data.slots or argument.name in given or may_be_given:
                data.slots[argument.name] = value
        for name, value in part.defaults.items():
            data.slots.setdefault(name, value)
    for child in parser.commands.values() if chosen is None else ():
        for argument in child.arguments:
            data.slots.setdefault(argument.name, unknown(Reason("argument", "an argument of a subcommand")))
    left = Sequence([Value(each) if each is not None else unknown() for each in rest])
    return Value(data), Value(left) if not is_open and not unclear and not parser.is_open else unknown()


def result_of(run: Interpreter, argument: ParserArgument, words: list[str | None] | None, parser: LineParser, is_open: bool) -> Value:
    name = argument.name
    if words is None:
        if is_open:
            return Value(Unknown(of_line(name)), argument=name)
        default = parser.defaults.get(name) or argument.default
        if argument.is_required:
            return Value(Unknown(of_line(name)), argument=name)
        if default is NONE and argument.stores is not None:
            default = Value(not argument.stores)
        if default is NONE and argument.is_positional and argument.nargs.data == "*":
            default = Value(Sequence([]))
        made = typed(run, argument, default.data) if isinstance(default.data, str) else default
        return Value(made.data, made.node or default.node, made.module or default.module, name)
    if argument.is_flag_pair:
        return Value(not (words[0] or "").startswith("--no-"), argument=name)
    if argument.stores is not None:
        return Value(argument.stores, argument=name)
    if argument.action.data == "store_const":
        return argument.const
    if None in words:
        return Value(Unknown(WORD), argument=name)
    if argument.action.data not in ("store", "append") or (not words and argument.nargs.data != "?"):
        return unknown()
    values = [typed(run, argument, word) for word in words]
    if argument.nargs.data in (None, "?") and argument.action.data == "store":
        value = values[0] if values else argument.const
        return Value(value.data, argument=name)
    return Value(Sequence(values), argument=name)


def typed(run: Interpreter, argument: ParserArgument, word: str | None) -> Value:
    kind = argument.kind
    return Value(word) if kind is None or kind.data is None or word is None else run.called(kind, [Value(word)], {}, run.here())


def command(run: Interpreter, function: Function) -> tuple[Given, Named] | None:
    """The arguments with which a library calls a function that it has made a command; None for other functions."""
    marks = function.marks
    if "hydra.main" in marks:
        values, named = marks["hydra.main"][0]
        folder = named.get("config_path") or (values[0] if values else NONE)
        name = named.get("config_name") or (values[1] if len(values) > 1 else NONE)
        words, unknown_keys = config_files.overrides_of(run)
        return [config_files.composed(run, folder, name, words, function.frame.module, unknown_keys)], {}
    if "click.command" not in marks and "click.option" not in marks:
        return None
    parser = LineParser(abbreviates=False)
    for values, named in (*marks.get("click.option", ()), *marks.get("click.argument", ())):
        names = [value.data for value in values if isinstance(value.data, str)]
        settings, kind = dict(named), named.get("type")
        if plain(named.get("is_flag", NONE)) is True:
            settings["action"] = Value("store_true")
        typed_as = kind.data.name.rpartition(".")[2].lower() if kind is not None and isinstance(kind.data, External) else ""
        if typed_as not in ("int", "float", "str", "bool"):
            default = named.get("default", NONE).data if kind is None else None
            typed_as = type(default).__name__ if isinstance(default, (int, float)) else "str"
        settings["type"] = Value(External(f"builtins.{typed_as}"))
        pairs = [spelled.partition("/") for spelled in names]  # `--fp16/--no-fp16`
        options, negations = ([text for pair in pairs if (text := pair[at].strip())] for at in (0, 2))
        if negations:
            settings["action"] = Value("store_true")
        if options:
            long = next((option for option in options if option.startswith("--")), options[0])
            dest = next(filter(str.isidentifier, names), long.lstrip("-").replace("-", "_"))
            parser.arguments.append(ParserArgument(dest, options, settings))
            parser.arguments += [ParserArgument(dest, negations, {**settings, "action": Value("store_false")})] if negations else []
    result = parsed(run, parser, *run.line_words(), Instance())[0].data
    return [], {key: Value(value.data, value.node, value.module) for key, value in result.slots.items() if key is not OPEN}


def from_signature(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    target = given[0] if given else next((named[each] for each in ("component", "config_class", "f") if each in named), unknown())
    words, is_open = words_of(run, [], {key: value for key, value in named.items() if key == "args"})
    data = target.data
    if isinstance(data, Class):
        config = words_behind(words, "config_path") or words_behind(words, "config")  # a file for draccus, pyrallis and jsonargparse
        reads_file = bool(config) and name not in ("tyro.cli", "defopt.run")
        return unknown() if name == FIRE else made_by(run, target, words, is_open or reads_file, {}, {})
    if isinstance(data, Mapping):
        place = next((place for place, each in enumerate(words) if each in data.items), None)
        data = data.items[words[place]].data if place is not None else None
        words = words if place is None else (*words[:place], *words[place + 1 :])
    if not isinstance(data, Function):
        return unknown()
    arguments = data.node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    by_position = positional_words(name, words, parameters, data.defaults)
    values: Named = {}
    for parameter in parameters:
        behind = words_behind(words, parameter.arg)
        if behind is not None:
            values[parameter.arg] = of_parameter(run, name, parameter, behind[:1] if name == FIRE else behind, data)
        elif parameter.arg in by_position:
            values[parameter.arg] = of_parameter(run, name, parameter, [by_position[parameter.arg]], data)
        elif words_behind(words, f"no{parameter.arg}" if name == FIRE else f"no_{parameter.arg}") is not None:
            values[parameter.arg] = Value(False)
        elif is_open:
            values[parameter.arg] = unknown(of_line(parameter.arg))
    return run.run_function(data, [], values)


def positional_words(name: str, words: Words, parameters: list[ast.arg], defaults: dict[str, Value]) -> dict[str, str | None]:
    """The words that are no options and not behind one, by the parameters that get them: with typer, those without a default.

    Source: fire 0.7 core.py (_ParseArgs, _ParseKeywordArgs), typer 0.16 main.py (get_params_convertors_ctx_param_name_from_function).
    """
    if name not in (FIRE, "typer.run"):
        return {}
    flags = {
        parameter.arg
        for parameter in parameters
        if name != FIRE and parameter.annotation is not None and ast.unparse(parameter.annotation) == "bool"
    }
    found: list[str | None] = []
    is_value = False
    for word in words:
        if word is not None and word.startswith("-") and not word[1:2].isdigit():
            option = word.lstrip("-")
            is_value = "=" not in word and option.replace("-", "_").removeprefix("no_") not in flags
        elif is_value:
            is_value = False
        else:
            found.append(word)
    takers = [
        parameter.arg
        for parameter in parameters
        if words_behind(words, parameter.arg) is None and (name == FIRE or parameter.arg not in defaults)
    ]
    return dict(zip(takers, found, strict=False))


def of_parameter(run: Interpreter, name: str, parameter: ast.arg, words: list[str | None], function: Function) -> Value:
    if name == FIRE:
        if None in words or len(words) > 1:
            return unknown()
        if not words:
            return Value(True)
        literal = attempted(ast.literal_eval, words[0] or "")
        return wrapped(literal) if not isinstance(literal, Unknown) else Value(words[0])
    if parameter.annotation is None:
        return unknown()
    scope = top_level(run.modules, function.frame.module)
    default = function.defaults.get(parameter.arg)
    kind, takes, _ = type_of(parameter.annotation, scope, default.data if default is not None else None)
    return field_of_words(kind, takes, words)


class ParserArgument:
    """An argument of a parser: the name of its result, its options, what `add_argument` says about it, and the file and line of that.

    `is_conditional`: only a branch of the program adds it, or it may not be required.
    """

    def __init__(
        self, name: str, options: list[str], given: dict[Any, Value], place: tuple[str, int] = ("", 0), is_conditional: bool = False
    ) -> None:
        self.name, self.options, self.place = name, options, place
        self.default = given.get("default", NONE)
        required = given.get("required", NONE)
        self.required = required.data is True or not required.known
        self.is_conditional = is_conditional or not required.known
        self.kind = given.get("type")
        self.action = given["action"] if "action" in given else Value("store")
        self.stores = {"store_true": True, "store_false": False}.get(str(self.action.data))  # what a flag sets; None for other arguments
        self.nargs = given.get("nargs", NONE)
        self.const, self.choices = given.get("const", NONE), given.get("choices", NONE)
        self.is_flag_pair = isinstance(self.action.data, External) and self.action.data.name.endswith("BooleanOptionalAction")

    @property
    def is_positional(self) -> bool:
        return not self.options[0].startswith("-")

    @property
    def is_required(self) -> bool:
        return self.required or (self.is_positional and self.nargs.data not in ("?", "*"))

    @property
    def takes_none(self) -> bool:
        return self.is_flag_pair or self.action.data in WITHOUT_VALUE

    @property
    def takes(self) -> str:
        """The number of words behind the option, as a `Field` has it."""
        if self.takes_none or self.action.data not in ("store", "append", "extend"):
            return "0" if self.takes_none else ""
        number = self.nargs.data
        return "1" if number is None else str(number) if number in ("?", "+", "*") else ""

    @property
    def type_name(self) -> str:
        """The type that words are converted to; empty for one that the program defines."""
        kind = "str" if self.kind is None else self.kind.data.name.removeprefix("builtins.") if isinstance(self.kind.data, External) else ""
        return kind if kind in ("int", "float", "str") else ""


class Parse(Record):
    """A call that parses the line; `is_strict`: each run of the program makes it, with the words of its line alone."""

    node: ast.Call
    module: ProgramModule
    is_strict: bool


class LineParser(Record):
    """An `argparse.ArgumentParser`, or a command of click, which accepts no abbreviations."""

    arguments: list[ParserArgument] = []
    defaults: dict[str, Value] = {}
    commands: dict[str, LineParser] = {}
    command_name: str = ""
    is_open: bool = False  # further arguments are unknown
    abbreviates: bool = True
    parses: list[Parse] = []


Taker = tuple[ParserArgument, list[str | None]]  # the argument that gives a result, and its words


class LineRefused(Exception):
    """`argparse` would end the program."""


class WordParser(argparse.ArgumentParser):
    """A parser that prints nothing."""

    def error(self, message: str) -> NoReturn:
        raise LineRefused(message)


class Taken(argparse.Action):
    """Notes the words of an argument: of a flag with a negation the option, of an argument that is appended those of all options."""

    argument: ParserArgument

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option_string: str | None = None) -> None:
        words = [option_string] if self.argument.is_flag_pair else values if isinstance(values, list) else [values]
        before: list[str] = getattr(namespace, self.dest, (None, []))[1] if self.argument.action.data == "append" else []
        setattr(namespace, self.dest, (self.argument, [*before, *(word for word in words if word is not None)]))


def assigned(parser: LineParser, words: Words) -> tuple[dict[str, Taker], str | None, bool, list[str | None]]:
    """(the argument and the words of each result, the subcommand, whether an unknown word may be an option, the words that are left).

    An option that the parser does not have takes the next word with it.
    """
    try:
        real = with_arguments(WordParser(**PLAIN, allow_abbrev=parser.abbreviates), parser)
        found, rest = real.parse_known_args([UNKNOWN if word is None else word for word in words])
    except (LineRefused, argparse.ArgumentError, IndexError, ValueError):  # the last two for options that argparse cannot have
        return {}, None, True, []
    command = vars(found).pop(COMMAND, None)
    taken = {name: (argument, with_unknown(given)) for name, (argument, given) in vars(found).items()}
    alone = (word == UNKNOWN and ("=" in before or before[:1] != "-") for before, word in zip(["", *rest], rest, strict=False))
    positional = (argument.name for argument in parser.arguments if argument.is_positional)
    return taken, command, any(alone) or any(name in taken and None in taken[name][1] for name in positional), with_unknown(rest)


def with_unknown(words: list[str]) -> list[str | None]:
    return [None if word == UNKNOWN else word for word in words]


def with_arguments(real: WordParser, parser: LineParser) -> WordParser:
    for argument in parser.arguments:
        options = [] if argument.is_positional else [option for option in argument.options if option.startswith("-")]
        named: Any = {"dest": argument.name} if options else {}
        if argument.is_flag_pair:
            options += [f"--no-{option[2:]}" for option in options if option.startswith("--")]
        nargs: Any = argument.nargs.data
        if nargs not in (None, "?", "*", "+") and not (isinstance(nargs, int) and 0 < nargs <= MOST):
            nargs = "*"  # any number, where it is not known
        action: Any = real.add_argument(*(options or [argument.name]), **named, nargs=0 if argument.takes_none else nargs, action=Taken)
        action.argument = argument
    commands: Any = real.add_subparsers(dest=COMMAND) if parser.commands else None
    for name, child in parser.commands.items():
        with_arguments(commands.add_parser(name, **PLAIN), child)
    return real


def of_line(name: str) -> Reason:
    return Reason("argument", f"`--{name}`", "the launch line may give it")


class ClassParser(Record):
    """A `HfArgumentParser` or a parser derived from it, with the classes that it fills."""

    classes: list[Value]
    defaults: dict[str, Value] = {}


def filled(run: Interpreter, parser: ClassParser, name: str, given: Given, named: Named) -> Value:
    """What a parser fills its classes with: the words of the line, behind those of a file, or a file or mapping in their place."""
    words: Words = ()
    of_file: Words = ()
    file: dict[str, Value] | None = {}
    unread, in_place = None, name in ("parse_yaml_file", "parse_json_file", "parse_dict")
    if in_place:
        source = given[0] if given else next(iter(named.values()), unknown())
        syntax = "json" if "json" in name else "yaml"
        mapping = config_files.loaded(run, syntax, Value(OpenFile(source))) if name != "parse_dict" else source
        file = entries_of(mapping)
        is_open, reasons = file is None, source.reasons or mapping.reasons
        why = reasons[0].text if reasons else "it is computed"
        path, at = run.here_frame().module.path, getattr(run.here(), "lineno", 0)
        unread = Reason("file", f"what `{name}` of `{path}` reads", why, path, at, opens=True) if is_open else None
    elif name in ("parse_args_into_dataclasses", "parse_args_and_config", "parse", "parse_args"):
        words, is_open = words_of(run, given, named)
        of_file, unread = words_of_files(run, named.get("args_file_flag", NONE), words)
        config = words_behind(words, "config") if name != "parse_args_into_dataclasses" else None
        if config is not None:
            file = entries_of(config_files.loaded(run, "yaml", Value(OpenFile(Value(config[0]))))) if config and config[0] else None
            is_open = is_open or file is None
    else:
        return unknown()
    values = []
    for kind in parser.classes:
        before = parts_of(made_by(run, kind, of_file, False, {}, {})) if of_file else {}
        made = made_by(run, kind, words, is_open, before or file or {}, parser.defaults, casts=not before and not in_place)
        values.append(made)
        if isinstance(made.data, Built):
            of_line = {key: value for key, value in made.data.arguments.items() if value is not before.get(key)}
            line = {key: value for key, value in of_line.items() if words_behind(words, key) == words_behind(run.context.words, key)}
            taken = set[str]() if in_place else words_taken(run.context.words, words)
            made.data.filling = Filling({} if in_place else line, in_place, unread, taken)
            run.filled += [] if run.trial else [made.data]
    rest = [unknown()] if plain(named.get("return_remaining_strings", NONE)) else []
    return values[0] if name in ("parse", "parse_args") and len(values) == 1 else Value(Sequence([*values, *rest], "tuple"))


def words_of_files(run: Interpreter, flag: Value, words: Words) -> tuple[Words, Reason | None]:
    """(the words of the files that an option of the line names, which come before those of the line, why they are not known)."""
    found: Words = ()
    for path in words_behind(words, flag.data.lstrip("-")) or () if isinstance(flag.data, str) else ():
        file = run.context.content(path) if path is not None else None
        if file is None:
            return (), Reason("file", f"the arguments in `{path}`" if path else "the file of arguments", "it was not found", opens=True)
        found += tuple(file[1].split())
    return found, None


def words_taken(line: Words, words: Words) -> set[str]:
    """The options of a line that the program takes away before it parses the words."""
    options = (word[2:].partition("=")[0].replace("-", "_") for word in line if word is not None and word.startswith("--"))
    return {name for name in options if words_behind(words, name) is None} if words != line else set()


def parts_of(made: Value) -> dict[str, Value]:
    return dict(made.data.arguments if isinstance(made.data, Built) else made.data.slots if isinstance(made.data, Instance) else {})


def entries_of(mapping: Value) -> dict[str, Value] | None:
    """The entries of a mapping; None if there may be others."""
    data = mapping.data
    is_whole = isinstance(data, Mapping) and not data.has_unknown_keys and all(isinstance(key, str) for key in data.items)
    return dict(data.items) if is_whole else None


def made_by(
    run: Interpreter, kind: Value, words: Words, is_open: bool, file: dict[str, Value], defaults: Named, casts: bool = False
) -> Value:
    """The object of one class that a parser makes of the words of a line and of a file.

    `casts`: the file sets defaults of `argparse`, which converts strings (trl 1.16.0 scripts/utils.py, parse_args_and_config).
    """
    data = kind.data
    if isinstance(data, External):
        last = data.name.rpartition(".")[2]
        if not kind_of_class(last):
            return Value(Instance(slots={OPEN: True}))
        return Value(framework_object(last, words, is_open, file, None))
    if not isinstance(data, Class):
        return unknown()
    named: Named = {}
    scope = top_level(run.modules, data.frame.module)
    lines = {name: line for each in reversed(data.line) if isinstance(each, Class) for name, line in annotated(each.node)}
    for name, line in lines.items():
        value = field_value(run, data, name, line, scope, words)
        if value is None:
            default = file.get(name) or defaults.get(name) or run.of_class(data, name, None)
            value = nested(run, data, line, words, is_open, default)
        if value is None and name in file:
            text = file[name].data if casts else None
            value = field_value(run, data, name, line, scope, (f"--{name}", text)) if isinstance(text, str) else file[name]
        value = value or defaults.get(name)
        if value is not None:
            named[name] = value
        elif is_open:
            named[name] = unknown(of_line(name))
    base = next((each.name.rpartition(".")[2] for each in data.line if isinstance(each, External)), "")
    if kind_of_class(base):
        built = framework_object(base, words, is_open, file, data)
        built.arguments.update(named)
        return run.post_init(data, Value(built))
    before, run.site = run.site, None
    try:
        return run.instance(data, [], named, run.here())
    finally:
        run.site = before


def nested(run: Interpreter, owner: Class, line: ast.AnnAssign, words: Words, is_open: bool, default: Value | None) -> Value | None:
    """The object in a field of a class whose own fields have options with a dot: `--training_args.learning_rate`; None without them."""
    inner: Words = ()
    for word in words:
        is_option = word is not None and word.startswith("--")
        prefix, dot, rest = (word or "").partition(".")
        is_inner = dot != "" and prefix[2:].replace("-", "_") == ast.unparse(line.target)
        inner += (f"--{rest}" if is_inner else OF_OTHERS,) if is_option else (word,)
    data = default.data if default is not None else run.evaluate(line.annotation, owner.frame).data
    is_given = any(word != OF_OTHERS for word in inner if (word or "").startswith("--"))
    made_of = data if isinstance(data, Class) and default is None else data.made_of if isinstance(data, Instance) else None
    if isinstance(data, Built) and (is_given or is_open):  # made again, with the values of the line
        given = parts_of(made_by(run, Value(data.made_of or External(data.name)), inner, is_open, {}, {}))
        data.slots.update(given)
        data.initial.update(given)
        return default
    if made_of is not None and (is_given or is_open or default is None):
        return made_by(run, Value(made_of), inner, is_open, {} if is_open else parts_of(Value(data)), {})
    return unknown(WORD) if is_given else None


def field_value(run: Interpreter, owner: Class, name: str, line: ast.AnnAssign, scope: Scope, words: Words) -> Value | None:
    found = words_behind(words, name)
    if found is None:
        return Value(False, argument=name) if words_behind(words, f"no_{name}") is not None else None
    default = run.of_class(owner, name, None)
    kind, takes, _ = type_of(line.annotation, scope, default.data if default is not None else None)
    value = field_of_words(kind, takes, found)
    value.argument = name
    return value


def field_of_words(kind: str, takes: str, words: list[str | None]) -> Value:
    if None in words:
        return unknown(WORD)
    inner = kind.removeprefix("list:")
    if kind == PATH_OR_JSON and len(words) == 1 and "{" not in (words[0] or ""):
        inner = "str"
    values = [Value(word) if inner in ("str", "choice") else Value(converted(inner, word or "")) for word in words]
    if inner not in ("str", "int", "float", "bool", "choice") or any(value.data is None for value in values):
        return unknown()
    if takes == "+":
        return Value(Sequence(values))
    return values[0] if values else Value(True) if inner == "bool" else unknown()


def words_behind(words: Words, name: str) -> list[str | None] | None:
    found: list[str | None] | None = None
    current = False
    for word in words:
        if word == END_OF_OPTIONS:
            break
        if word is not None and word.startswith("--"):
            text, mark, inline = word[2:].partition("=")
            current = text.replace("-", "_") == name
            if current:
                found = [inline] if mark else []
        elif current and found is not None:
            found.append(word)
    return found


def framework_object(name: str, words: Words, is_open: bool, file: dict[str, Value], made_of: Class | None) -> Built:
    found: dict[str, Value] = {}
    for field in known_fields(name):
        given = words_behind(words, field)
        if given is not None:
            found[field] = field_of_words(parsed_type(field), "1", given)
        elif field in file:
            found[field] = file[field]
        elif is_open:
            found[field] = unknown(of_line(field))
    return Built(name, found, made_of)


def given_words(given: Given, named: Named) -> Value:
    return given[0] if given else named.get("args", NONE)


def words_of(run: Interpreter, given: Given, named: Named) -> tuple[Words, bool]:
    """(the words that a call parses, whether there may be others): a given list, else those of the launch line."""
    value = given_words(given, named)
    if value.data is None:
        return run.line_words()
    words = tuple(item.data if item.known else None for item in value.data.items) if isinstance(value.data, Sequence) else ()
    if words and words == (*run.context.words,):  # `sys.argv[1:]`
        return run.context.words, run.context.is_open
    is_known = isinstance(value.data, Sequence) and not value.data.is_open and all(isinstance(word, str) for word in words)
    return (words, False) if is_known else ((), True)
