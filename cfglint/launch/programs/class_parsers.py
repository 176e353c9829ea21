"""The parsers of a program that fill the fields of classes, and what they make of the words of a line and of a config file.

Source: transformers 5.23.0 hf_argparser.py, trl 1.16.0 scripts/utils.py (TrlParser).
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason
from cfglint.launch.argparse_types import converted
from cfglint.launch.arguments import END_OF_OPTIONS
from cfglint.launch.kinds import kind_of_class, parsed_type
from cfglint.launch.programs import config_files
from cfglint.launch.programs.classes import known_fields, text_annotation, type_of
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.modules import External
from cfglint.launch.programs.objects import (
    NONE,
    OPEN,
    Built,
    Class,
    Given,
    Instance,
    Named,
    OpenFile,
    Sequence,
    Value,
    Words,
    plain,
    unknown,
    wrapped,
)
from cfglint.launch.programs.scopes import Scope
from cfglint.source.annotations import Any
from cfglint.source.dataclass_fields import annotated
from cfglint.source.record import Record

WORD = Reason("argument", "a word of the launch line")
LINE = Reason("argument", "the launch line")


def of_line(name: str) -> Reason:
    return Reason("argument", f"`--{name}`", "the launch line may give it")


class ClassParser(Record):
    """A `HfArgumentParser` or a parser derived from it, with the classes that it fills."""

    classes: list[Value]
    node: ast.Call | None
    frame: Any
    defaults: dict[str, Value] = {}


def class_parser(given: Given, named: Named, node: ast.AST, run: Interpreter) -> ClassParser:
    types = given[0] if given else named.get("dataclass_types", unknown())
    classes = list(types.data.items) if isinstance(types.data, Sequence) and not types.data.is_open else [types]
    return ClassParser(classes, node if isinstance(node, ast.Call) else None, run.site[1] if run.site is not None else None)


def filled(run: Interpreter, parser: ClassParser, name: str, given: Given, named: Named) -> Value:
    if name in ("parse_args_into_dataclasses", "parse_args_and_config", "parse", "parse_args"):
        words, is_open = words_of(run, given, named)
        file: dict[str, Any] = {}
        if name != "parse_args_into_dataclasses":
            file, is_open = with_config(run, words, is_open)
        values = [made_by(run, parser, value, words, is_open, file, casts=True) for value in parser.classes]
        rest = [unknown()] if plain(named.get("return_remaining_strings", NONE)) else []
        if name == "parse" and len(values) == 1:
            return values[0]
        return Value(Sequence([*values, *rest], "tuple"))
    if name in ("parse_yaml_file", "parse_json_file", "parse_dict"):
        source = given[0] if given else next(iter(named.values()), unknown())
        syntax = "json" if "json" in name else "yaml"
        content = plain(config_files.loaded(run, syntax, Value(OpenFile(source))) if name != "parse_dict" else source)
        file = content if isinstance(content, dict) else {}
        values = [made_by(run, parser, value, (), not isinstance(content, dict), file) for value in parser.classes]
        return Value(Sequence(values, "tuple"))
    return unknown()


def with_config(run: Interpreter, words: Words, is_open: bool) -> tuple[dict[str, Any], bool]:
    """(the keys of the file of `--config`, whether there may be further arguments)."""
    place = next((index for index, word in enumerate(words) if word == "--config"), None)
    path = words[place + 1] if place is not None and place + 1 < len(words) else None
    inline = next((word.partition("=")[2] for word in words if word is not None and word.startswith("--config=")), None)
    path = path or inline
    if path is None:
        return {}, is_open or place is not None
    content = plain(config_files.loaded(run, "yaml", Value(OpenFile(Value(path)))))
    return (content, is_open) if isinstance(content, dict) else ({}, True)


def made_by(
    run: Interpreter, parser: ClassParser, kind: Value, words: Words, is_open: bool, file: dict[str, Any], casts: bool = False
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
    scope = Scope(run.modules, data.frame.module, data.frame.module.tree)
    lines = {name: line for each in reversed(data.line()) if isinstance(each, Class) for name, line in annotated(each.node)}
    for name, line in lines.items():
        value = field_value(run, data, name, line, scope, words)
        if value is None and name in file:
            words_of_file = [file[name]] if casts and isinstance(file[name], str) else None
            value = field_value(run, data, name, line, scope, (f"--{name}", *words_of_file)) if words_of_file else wrapped(file[name])
        value = value or parser.defaults.get(name)
        if value is not None:
            named[name] = value
        elif is_open:
            named[name] = unknown(of_line(name))
    base = next((each.name.rpartition(".")[2] for each in data.line() if isinstance(each, External)), "")
    if kind_of_class(base):
        built = framework_object(base, words, is_open, file, data)
        built.arguments.update(named)
        return Value(built)
    before, run.site = run.site, None
    try:
        return run.instance(data, [], named, run.here())
    finally:
        run.site = before


def field_value(run: Interpreter, owner: Class, name: str, line: ast.AnnAssign, scope: Scope, words: Words) -> Value | None:
    found = words_behind(words, name)
    if found is None:
        return Value(False, argument=name) if words_behind(words, f"no_{name}") is not None else None
    default = run.of_class(owner, name, None)
    kind, takes, _ = type_of(text_annotation(line.annotation), scope, default.data if default is not None else None)
    value = field_of_words(kind, takes, found)
    value.argument = name
    return value


def field_of_words(kind: str, takes: str, words: list[str | None]) -> Value:
    if None in words:
        return unknown(WORD)
    inner = kind.removeprefix("list:")
    values = [Value(word) if inner in ("str", "choice") else Value(converted(inner, word or "")) for word in words]
    if inner not in ("str", "int", "float", "bool", "choice") or any(value.data is None for value in values):
        return unknown()
    if takes == "+":
        return Value(Sequence(values))
    return values[0] if values else Value(True) if inner == "bool" else unknown()


def words_behind(words: Words, name: str) -> list[str | None] | None:
    """The words behind the last option of a name; None without it."""
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


def framework_object(name: str, words: Words, is_open: bool, file: dict[str, Any], made_of: Class | None) -> Built:
    found: dict[str, Value] = {}
    for field in known_fields(name):
        given = words_behind(words, field)
        if given is not None:
            found[field] = field_of_words(parsed_type(field), "1", given)
        elif field in file:
            found[field] = wrapped(file[field])
        elif is_open:
            found[field] = unknown(of_line(field))
    return Built(name, found, made_of)


def words_of(run: Interpreter, given: Given, named: Named) -> tuple[Words, bool]:
    """(the words that a call parses, whether there may be others): a given list, else those of the launch line."""
    value = given[0] if given else named.get("args", NONE)
    if value.data is None:
        return run.context.words, run.context.is_open
    words = plain(value)
    known = isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)
    return (tuple(words), False) if known else ((), True)
