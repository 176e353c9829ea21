"""What the methods of strings, containers, paths and objects of libraries give, as far as it is known without running them."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.programs import config_files, data_sets, line_parsers, loop_objects
from cfglint.launch.programs.calculation import is_wide, short
from cfglint.launch.programs.class_parsers import ClassParser
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.library import anchored, path_of, shallow_copy
from cfglint.launch.programs.line_parsers import LineParser
from cfglint.launch.programs.objects import (
    CALLBACKS,
    IS_TRAINED,
    LONGEST,
    NONE,
    OPEN,
    PROJECT,
    RESUMES,
    STREAMED,
    STREAMED_SPLITS,
    Built,
    Class,
    FilePath,
    Function,
    Given,
    LoopObject,
    Mapping,
    Method,
    Named,
    Opaque,
    OpenFile,
    Sequence,
    Value,
    plain,
    unknown,
    wrapped,
)

STREAM_METHODS = frozenset(  # of a streamed data set, whose result is one again
    (
        *("map", "filter", "shuffle", "take", "skip", "with_format", "cast", "cast_column"),
        *("rename_column", "rename_columns", "remove_columns", "select_columns"),
    )
)
LARGEST_COPY = 1_000_000  # characters that a replacement may make
STRING_METHODS = frozenset(
    (
        *("lower", "upper", "strip", "lstrip", "rstrip", "split", "rsplit", "replace", "startswith", "endswith", "title", "capitalize"),
        *("format", "removeprefix", "removesuffix", "partition", "rpartition", "zfill", "isdigit", "find", "count", "isnumeric"),
    )
)


def method(run: Interpreter, found: Method, given: Given, named: Named) -> Value:
    """The result of a method of an object that is not of the program's own classes."""
    data, name = found.owner.data, found.name
    if isinstance(data, str):
        written = found.owner.written
        if written is not None and (name == "splitlines" or (name == "split" and given and given[0].data == "\n")):
            return Value(OpenFile(Value(PROJECT + written.file.path)))
        return of_string(run, data, name, given)
    if isinstance(data, Mapping):
        return of_mapping(run, data, name, given, named)
    if isinstance(data, Sequence):
        return of_sequence(run, data, name, given)
    if isinstance(data, FilePath):
        return of_file_path(run, data, name, given)
    if isinstance(data, OpenFile) and name == "read":
        return config_files.content(run, data.path)
    if isinstance(data, OpenFile) and name in ("__enter__", "readlines", "splitlines"):
        return found.owner
    if isinstance(data, (Function, Class)) or (isinstance(data, Method) and isinstance(data.owner.data, Function)):
        target = found.owner
        if name in ("remote", "local", "spawn", "main", "options", "callback") and isinstance(data, Function):
            return run.called(target, given, named, run.here())
    if isinstance(data, Built):
        if name.startswith("set_"):
            run.write(data.slots, OPEN, True)
        return Value(Mapping({OPEN: True, **data.arguments, **data.slots})) if name == "to_dict" else unknown()
    if isinstance(data, LoopObject):
        return loop_objects.method(data, name, given)
    if isinstance(data, (LineParser, ClassParser)):
        return line_parsers.method(run, found.owner, name, given, named)
    if isinstance(data, Opaque):
        value = data_sets.method(data, name, given, named)
        if value is not None:
            return value
        if data.name in (STREAMED, STREAMED_SPLITS) and name in STREAM_METHODS:
            return Value(data)
        if name == "train":
            run.write(data.slots, IS_TRAINED, True)
            run.write(data.slots, RESUMES, given[0] if given else named.get("resume_from_checkpoint", NONE))
        elif name in ("remove_callback", "pop_callback"):
            run.opened(Value(data))
        elif name == "add_callback" and given:
            before = data.slots.get(CALLBACKS)
            run.write(data.slots, CALLBACKS, (*(before if isinstance(before, tuple) else ()), given[0]))
    return unknown(Reason("program", f"`{name}()`", "it is outside of the program"))


def of_string(run: Interpreter, text: str, name: str, given: Given) -> Value:
    if name == "join" and given:
        items = run.iterated(given[0])
        texts = [item.data for item in items] if items is not None else [None]
        strings = [each for each in texts if isinstance(each, str)]
        return short(text.join(strings)) if len(strings) == len(texts) else unknown()
    contents = [plain(value) for value in given]
    if name not in STRING_METHODS or any(isinstance(content, Unknown) for content in contents) or len(text) > LONGEST:
        return unknown()
    if (name == "format" and is_wide(text)) or (
        name == "replace" and len(text) * max((len(str(content)) for content in contents), default=0) > LARGEST_COPY
    ):
        return unknown()
    if name == "zfill" and not (contents and isinstance(contents[0], int) and contents[0] < 100):
        return unknown()
    try:
        result = getattr(text, name)(*contents)
    except (TypeError, ValueError, IndexError, KeyError, AttributeError):
        return unknown()
    return wrapped(result) if len(str(result)) < LONGEST else unknown()


def of_mapping(run: Interpreter, data: Mapping, name: str, given: Given, named: Named) -> Value:
    key = given[0] if given else NONE
    if name in ("get", "pop", "setdefault"):
        if not key.is_plain:
            if name != "get":
                run.opened(Value(data))
            return unknown()
        present, default = key.data in data.slots, given[1] if len(given) > 1 else NONE
        value = run.item(Value(data), key) if present else unknown() if data.is_open else default
        if name == "pop" and present:
            run.remove(data.slots, key.data)
        if name == "setdefault" and not present:
            run.write(data.slots, key.data, value)
        return value
    if name == "update":
        for each in given:
            run.update(data, each)
        for word, value in named.items():
            run.write(data.slots, OPEN if word is None else word, value)
        return NONE
    if name == "copy":
        return shallow_copy(Value(data))
    if name in ("items", "keys", "values") and not data.has_unknown_keys:
        pairs = [(Value(word), run.item(Value(data), Value(word))) for word in data.items]
        if name == "items":
            return Value(Sequence([Value(Sequence(pair, "tuple")) for pair in pairs]))
        return Value(Sequence([pair[0 if name == "keys" else 1] for pair in pairs]))
    if name == "clear":
        for word in list(data.slots):
            run.remove(data.slots, word)
        return NONE
    if name == "popitem":
        run.opened(Value(data))
    return unknown()


def of_sequence(run: Interpreter, data: Sequence, name: str, given: Given) -> Value:
    if name == "append" and given:
        run.extend(data, given[:1])
        return NONE
    if name == "extend" and given:
        items = run.iterated(given[0])
        if items is None and isinstance(given[0].data, Sequence):
            run.add_all(Value(data), given[0])
        elif items is None:
            run.opened(Value(data))
        else:
            run.extend(data, items)
        return NONE
    if name == "copy":
        return shallow_copy(Value(data))
    if name in ("index", "count"):
        return unknown()
    if not data.is_open or name not in data_sets.KEEP_ROWS:
        run.opened(Value(data))
    return unknown()


def of_file_path(run: Interpreter, data: FilePath, name: str, given: Given) -> Value:
    if name in ("resolve", "absolute"):
        return Value(FilePath(anchored(run, data.text)))
    if name == "open":
        return Value(OpenFile(Value(data)))
    if name == "read_text":
        return config_files.content(run, Value(data))
    if name in ("as_posix", "__str__", "__fspath__"):
        return Value(data.text)
    if name == "is_absolute":
        return Value(data.text.startswith(("/", PROJECT)))
    if name in ("exists", "is_file"):
        return Value(True) if run.context.has(data.text) else unknown()
    if name == "expanduser":
        return Value(data)
    if name == "joinpath":
        return path_of([Value(data), *given])
    if name in ("with_suffix", "with_name") and given and isinstance(given[0].data, str):
        head, _, tail = data.text.rpartition("/")
        tail = tail.rpartition(".")[0] + given[0].data if name == "with_suffix" else given[0].data
        return Value(FilePath(f"{head}/{tail}" if head else tail))
    return unknown()
