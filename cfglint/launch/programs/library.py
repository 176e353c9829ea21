"""What the calls of Python's own functions, of libraries and of the methods of their objects give, as far as it is known without running
them.

Assumed is what is assumed of every launch: H100 cards, and one process for each GPU.
"""

from __future__ import annotations

import ast
import os
import posixpath
import shlex

from cfglint.evaluate import Reason, Unknown
from cfglint.evaluate.operations import any_or_all
from cfglint.launch.machine import VISIBLE, Machine, counted_devices
from cfglint.launch.programs import config_files, data_sets, line_parsers, training_loops
from cfglint.launch.programs.branches import End, Quit
from cfglint.launch.programs.expressions import PARAMETERS, are_parameters
from cfglint.launch.programs.interpreter import Interpreter
from cfglint.launch.programs.line_parsers import ClassParser, LineParser
from cfglint.launch.programs.modules import External
from cfglint.launch.programs.objects import (
    CALLBACKS,
    IS_TRAINED,
    ITEMS,
    LONGEST,
    NONE,
    OPEN,
    PLAIN,
    PROJECT,
    RESUMES,
    STREAMED,
    STREAMED_SPLITS,
    Built,
    Class,
    Counted,
    FilePath,
    Function,
    Given,
    Instance,
    LoopObject,
    Mapping,
    Method,
    Named,
    Opaque,
    OpenFile,
    Partial,
    Sequence,
    Value,
    attempted,
    computed,
    is_wide,
    plain,
    set_of,
    short,
    slots_of,
    text_of_path,
    unknown,
    unknown_from,
    wrapped,
)
from cfglint.source.annotations import Any, Callable
from cfglint.source.dataclass_fields import annotated
from cfglint.source.shell.tables import names

NUMBERS: dict[str, Callable[..., Any]] = {"abs": abs, "round": round, "int": int, "float": float, "str": str, "bool": bool, "pow": pow}
MATH = ("ceil", "floor", "sqrt", "log2", "trunc")
WORLD = (
    *("torch.distributed.get_world_size", "deepspeed.comm.get_world_size", "deepspeed.comm.comm.get_world_size"),
    "torch.distributed.distributed_c10d.get_world_size",
)
STATES = ("accelerate.PartialState", "accelerate.state.PartialState", "accelerate.state.AcceleratorState")
DEVICES = ("torch.cuda.device_count", "torch.accelerator.device_count")
TRUE_HERE = (
    *("torch.cuda.is_available", "torch.cuda.is_bf16_supported", "unsloth.is_bfloat16_supported", "unsloth.is_bf16_supported"),
    *("transformers.utils.is_torch_bf16_gpu_available", "transformers.utils.is_torch_cuda_available"),
    *("transformers.utils.import_utils.is_torch_bf16_gpu_available", "torch.cuda.amp.common.amp_definitely_not_available"),
    *("accelerate.utils.is_bf16_available", "transformers.is_torch_available", "torch.backends.cuda.is_built"),
)
FALSE_HERE = (
    *("torch.backends.mps.is_available", "torch.backends.mps.is_built", "torch.xpu.is_available"),
    *("transformers.is_torch_npu_available", "transformers.utils.is_torch_npu_available"),
)
NAMESPACES = ("argparse.Namespace", "types.SimpleNamespace")
BY_ATTRIBUTE = names("EasyDict Box Munch AttrDict DotMap ConfigDict addict.Dict DictConfig DotDict munchify fromDict")
NO_DEFAULT = Reason("argument", "a field without a default")
STREAM_METHODS = names(  # of a streamed data set, whose result is one again
    "map filter shuffle take skip with_format cast cast_column rename_column rename_columns remove_columns select_columns"
)
LARGEST_COPY = 1_000_000  # characters that a replacement may make
STRING_METHODS = names(
    "lower upper strip lstrip rstrip split rsplit replace startswith endswith title capitalize"
    " format removeprefix removesuffix partition rpartition zfill isdigit find count isnumeric"
)


def devices(run: Interpreter) -> Value:
    """The number of GPUs that the process sees: of those that the program itself makes visible, else of all that its launch does."""
    made_visible = run.environment.slots.get(VISIBLE)
    if isinstance(made_visible, Value):
        return training_loops.counted(counted_devices(made_visible.data, Machine()) if isinstance(made_visible.data, str) else None)
    return training_loops.counted(run.context.devices)


def external(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    package, _, last = name.rpartition(".")
    passed = training_loops.passed_on(name, given)
    if passed is not None:
        return passed
    if name == "builtins.next" and given:
        run.take(given[0])
        return unknown()
    if name in ("builtins.exit", "builtins.quit", "sys.exit", "os._exit"):  # a number above 0 and a message are those of a failure
        status = given[0].data if given else None
        raise End if isinstance(status, (int, str)) and status else Quit
    if package == "builtins":
        return builtin(run, last, given, named)
    if package == "os.path" or name in ("os.getcwd",):
        return of_path(run, last, given)
    if name in ("os.getenv", "os.environ.get", "os.environ.setdefault"):
        return run.variable(given[0] if given else NONE)
    if name == "os.environ.update":
        for each in (*given, Value(Mapping(slots_of(named)))):
            run.update(run.environment, each)
        return NONE
    if name in WORLD:
        return training_loops.counted(run.context.gpus)
    if name in DEVICES:
        return devices(run)
    if name in STATES and run.context.gpus is not None:
        state = Opaque(name)
        state.slots["num_processes"] = Value(run.context.gpus)
        return Value(state)
    if name in TRUE_HERE or name in FALSE_HERE:
        return Value(name in TRUE_HERE)
    if name == "inspect.signature" and given and isinstance(given[0].data, External):
        return Value(External(given[0].data.name.removesuffix(".__init__") + ".signature"))
    if name.endswith(f"{PARAMETERS[0]}.keys"):
        return Value(External(name.removesuffix(".keys")))
    if name == "torch.cuda.get_device_capability":
        return wrapped((9, 0))
    if package == "math" and last in MATH:
        return numeric(last, given)
    if last == "trange":
        return builtin(run, "range", given[:1], {})
    if (name == "asyncio.run" or package.partition(".")[0] == "tqdm") and given:
        return given[0]
    if package == "copy" and given:
        return (deep_copy if last == "deepcopy" else shallow_copy)(given[0])
    if package in ("dataclasses", "attr", "attrs", "pydantic") or name in ("transformers.hf_argparser.HfArg", "simple_parsing.field"):
        return of_dataclasses(run, last, given, named)
    if name in NAMESPACES:
        return Value(Instance(slots=slots_of(named)))
    if last in BY_ATTRIBUTE:
        return by_attribute(given, named)
    if package == "pathlib" and last in ("Path", "PurePath", "PosixPath"):
        return path_of(given)
    if name == "ast.literal_eval" and len(given) == 1 and given[0].known:
        return evaluated_literal(given[0])
    if name == "shlex.split" and len(given) == 1 and isinstance(given[0].data, str):
        return wrapped(attempted(shlex.split, given[0].data))
    if name == "functools.partial" and given and isinstance(given[0].data, (Function, Class, External)):
        return Value(Partial(given[0], [*given[1:]], {**named}))
    if name == "datasets.load_dataset" and "streaming" in named and named["streaming"].data is True:
        split = named.get("split", NONE).data
        return Value(Opaque(STREAMED if isinstance(split, str) else STREAMED_SPLITS if split is None else name))
    if package.partition(".")[0] in ("datasets", "pandas", "sklearn"):
        loaded = data_sets.external(name, given, named)
        if loaded is not None:
            return loaded
    value = config_files.external(run, name, given)
    value = line_parsers.external(run, name, given, named) if value is None else value
    if value is None:
        for each in (*given, *named.values()):
            if isinstance(each.data, LineParser):
                run.opened(each)
    return value if value is not None else Value(Opaque(name))


def builtin(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    first = given[0] if given else NONE
    counted = data_sets.calculated(name, *given) if not named else None
    if counted is not None:
        return counted
    if name in NUMBERS:
        return converted(run, name, given) if not named else unknown_from(*given)
    if name == "open":
        return Value(OpenFile(first))
    if name in OF_BUILTINS:
        return OF_BUILTINS[name](run, name, given, named)
    if name == "range":
        numbers = [value.data for value in given]
        if len(given) == 1 and isinstance(first.data, data_sets.RowCount):
            return first
        fits = all(type(number) is int for number in numbers) and 0 < len(numbers) < 4 and not (len(numbers) == 3 and not numbers[2])
        found = range(*numbers) if fits else None
        if found is None:
            return unknown()
        return wrapped(list(found)) if len(found) <= 100 else Value(Counted(len(found)))
    if name == "map" and len(given) == 2:
        items = run.iterated(given[1])
        return Value(Sequence([run.called(first, [item], {}, run.here()) for item in items])) if items is not None else unknown()
    if name in ("vars", "type") and isinstance(first.data, (Built, Instance)) and len(given) == 1:
        return run.attribute(first, "__dict__" if name == "vars" else "__class__")
    if name in ("globals", "locals"):
        frame = run.here_frame()
        return Value(Mapping(frame.top.slots if name == "globals" else {**frame.slots}))
    if name == "exec":  # may assign the numbers and strings of the module
        slots = run.here_frame().top.slots
        for key, value in list(slots.items()):
            if isinstance(value, Value) and value.is_plain:
                run.write(slots, key, unknown(Reason("program", "what `exec` may assign")))
    if name in ("print", "exec"):
        return NONE
    return Value(Instance()) if name == "object" else unknown()


def evaluated_literal(value: Value) -> Value:
    literal = attempted(ast.literal_eval, value.data)
    if isinstance(literal, Unknown):
        raise End
    return wrapped(literal) if isinstance(literal, (*PLAIN, list, tuple, dict)) else unknown()


def numeric(name: str, given: Given) -> Value:
    import math

    number = given[0].data if given else None
    counted = data_sets.calculated(name, *given)
    if counted is not None:
        return counted
    if not isinstance(number, (int, float)) or len(given) != 1:
        return unknown()
    found = attempted(getattr(math, name), number)
    return given[0] if type(found) is type(number) and found == number else Value(found)


def converted(run: Interpreter, name: str, given: Given) -> Value:
    contents = [value.data.text if isinstance(value.data, FilePath) and name == "str" else value.data for value in given]
    if name == "bool" and len(given) == 1 and isinstance(given[0].data, (Mapping, Sequence)):
        return Value(run.truth(given[0]))
    if not all(isinstance(content, PLAIN) for content in contents) or (
        name == "pow" and any(not isinstance(content, (int, float)) or abs(content) > 1000 for content in contents)
    ):
        return unknown_from(*given)
    result = attempted(NUMBERS[name], *contents)
    kept = len(given) == 1 and type(result) is type(contents[0]) and result == contents[0]
    return given[0] if kept else computed(Value(result), *given) if isinstance(result, PLAIN) else unknown()


def container(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    if name == "dict":
        mapping = Mapping()
        for each in given[:1]:
            pairs = run.iterated(each) if isinstance(each.data, Sequence) else None
            if pairs is None:
                run.update(mapping, each)
            for pair in pairs or ():
                key, value = (run.item(pair, Value(place)) for place in (0, 1))
                if key.is_plain:
                    mapping.slots[key.data] = value
                else:
                    mapping.slots[OPEN] = True
        run.update(mapping, Value(Mapping(slots_of(named))))
        return Value(mapping)
    items = run.iterated(given[0]) if given else []
    if given and are_parameters(given[0]):
        return given[0]
    rows = data_sets.rows_through(given[0]) if given and items is None and name != "set" else None
    if rows is not None:
        return data_sets.list_of(rows)
    if items is None:
        return unknown()
    if name == "sorted":
        if named or not all(item.is_plain for item in items):
            return unknown()
        try:
            items = sorted(items, key=lambda item: item.data)
        except TypeError:
            return unknown()
    if name == "reversed":
        items = items[::-1]
    return Value(set_of(items) if name == "set" else Sequence(items, "tuple" if name == "tuple" else "list"))


def reduced(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    first = given[0] if given else NONE
    if name == "len":
        if isinstance(first.data, str):
            return Value(len(first.data))
        sized = first.data
        if (isinstance(sized, Sequence) and not sized.is_open) or (isinstance(sized, Mapping) and not sized.has_unknown_keys):
            return Value(len(sized.items))
        return data_sets.length_of(first) or unknown_from(first)
    items = given if len(given) > 1 else run.iterated(first)
    if items is None or named or not items:
        return unknown_from(*given)
    if name in ("any", "all"):
        return Value(any_or_all(name == "any", [run.truth(item) for item in items]))
    if not all(isinstance(item.data, (int, float)) for item in items):
        return unknown_from(*items)
    numbers = [item.data for item in items]
    return computed(Value(sum(numbers) if name == "sum" else max(numbers) if name == "max" else min(numbers)), *items)


def paired(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    lists = [run.iterated(value) for value in (given if name == "zip" else given[:1])]
    rows = [data_sets.rows_through(value) for value in (given if name == "zip" else given[:1])]
    if rows and rows[0] is not None and all(row == rows[0] for row in rows):
        return data_sets.list_of(rows[0])
    if any(values is None for values in lists) or not lists:
        return unknown()
    if name == "enumerate":
        start = named.get("start", given[1] if len(given) > 1 else Value(0)).data
        if type(start) is not int:
            return unknown_from(*given)
        lists = [[Value(start + place) for place in range(len(lists[0] or ()))], *lists]
    return Value(Sequence([Value(Sequence(each, "tuple")) for each in zip(*(values or () for values in lists), strict=False)]))


TYPES = {"int": int, "float": float, "str": str, "bool": bool}
NEVER_PLAIN = ("io.", "os.PathLike", "pathlib.", "torch.", "datasets.", "pandas.", "transformers.")  # whose classes no number or string has


def of_type(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    if len(given) != 2 or not given[0].known:
        return unknown()
    kinds = given[1].data.items if isinstance(given[1].data, Sequence) else [given[1]]
    names = [kind.data.name.removeprefix("builtins.") if isinstance(kind.data, External) else "" for kind in kinds]
    data = given[0].data
    if isinstance(data, PLAIN):
        if not all(
            name in ("int", "float", "str", "bool", "list", "dict", "tuple", "set") or name.startswith(NEVER_PLAIN) for name in names
        ):
            return unknown()
        return Value(any(isinstance(data, TYPES[name]) for name in names if name in TYPES))
    if isinstance(data, Sequence):
        return Value(data.kind in names)
    return Value("dict" in names) if isinstance(data, Mapping) and not data.by_attribute else unknown()


def of_attribute(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    key = given[1].data if len(given) > 1 else None
    if not isinstance(key, str):
        if name == "setattr" and given:
            run.stores.add(run.here())
            run.opened_objects(given[0])
            if isinstance(given[0].data, (Instance, Built)):
                slots = given[0].data.slots
                for name_ in [slot for slot in slots if slot is not OPEN]:
                    run.write(slots, name_, unknown(Reason("program", "a computed name of an attribute")))
                run.write(slots, OPEN, True)
        return unknown()
    owner = given[0]
    if name == "setattr" and len(given) == 3:
        run.stores.add(run.here())
        run.set_attribute(owner, key, given[2])
        return NONE
    data = owner.data
    if name == "delattr" or not isinstance(data, (Instance, Built)):
        return run.attribute(owner, key) if name == "getattr" and isinstance(data, (External, Mapping)) else unknown()
    made_of = data.made_of
    if (
        key in data.slots
        or (isinstance(data, Built) and key in data.arguments)
        or (isinstance(data, Instance) and made_of is not None and run.of_class(made_of, key, owner) is not None)
    ):
        value = run.attribute(owner, key)
        return value if name == "getattr" else unknown() if value.may_be_absent else Value(True)
    if isinstance(data, Built) or data.is_open:
        return unknown()
    if name == "hasattr":
        return Value(False)
    return given[2] if len(given) > 2 else unknown()


OF_BUILTINS: dict[str, Callable[[Interpreter, str, Given, Named], Value]] = {
    **dict.fromkeys(names("dict list tuple set sorted reversed"), container),
    **dict.fromkeys(names("len sum max min any all"), reduced),
    **dict.fromkeys(names("zip enumerate"), paired),
    **dict.fromkeys(names("getattr hasattr setattr delattr"), of_attribute),
    "isinstance": of_type,
}


def of_path(run: Interpreter, name: str, given: Given) -> Value:
    texts = [text_of_path(value) for value in given]
    if name == "getcwd":
        folders = run.context.folders
        return Value("\0/" + folders[0]) if len(folders) == 1 else unknown()
    if not texts or not all(isinstance(text, str) for text in texts):
        return unknown_from(*given)
    first: str = texts[0]
    if name == "join":
        return short(posixpath.join(*texts))
    if name in ("abspath", "realpath", "normpath", "expanduser"):
        return Value(anchored(run, first)) if name in ("abspath", "realpath") else Value(first)
    if name == "expandvars":
        return given[0] if "$" not in first else unknown(Reason("environment", "its variables"))
    if name == "dirname":
        return Value(posixpath.dirname(first) or ("\0" if first.startswith("\0") else ""))
    if name in ("basename", "splitext"):
        return wrapped(getattr(posixpath, name)(first))
    if name == "isabs":
        return Value(first.startswith(("/", PROJECT)))
    if name in ("exists", "isfile"):
        return Value(True) if run.context.has(first) else unknown()
    return unknown()


def anchored(run: Interpreter, path: str) -> str:
    """An absolute path: of the project's files it is one from the top, if the working directory is certain."""
    if path.startswith(("\0", "/")) or len(run.context.folders) != 1:
        return path
    return "\0/" + os.path.normpath(os.path.join(run.context.folders[0], path))


def path_of(given: Given) -> Value:
    texts = [text_of_path(value) for value in given]
    return short(posixpath.join(*texts), FilePath) if texts and all(isinstance(text, str) for text in texts) else unknown()


def deep_copy(value: Value, known: dict[int, Value] | None = None) -> Value:
    data, found = value.data, known if known is not None else {}
    if not isinstance(data, (Mapping, Sequence, Instance, Built)):
        return value
    if id(data) not in found:
        copy = found[id(data)] = shallow_copy(value)
        slots = copy.data.slots
        slots.update({key: deep_copy(each, found) for key, each in slots.items() if isinstance(each, Value)})
        if isinstance(data, Sequence):
            slots[ITEMS] = tuple(deep_copy(item, found) for item in data.items)
    return found[id(data)]


def shallow_copy(value: Value) -> Value:
    data = value.data
    copy: Mapping | Sequence | Instance | Built
    if isinstance(data, Mapping):
        copy = Mapping(None, data.by_attribute)
        copy.root = data.root if data.root is not data else copy
    elif isinstance(data, Sequence):
        copy = Sequence((), data.kind)
    elif isinstance(data, Instance):
        copy = Instance(data.made_of, {})
    elif isinstance(data, Built):
        copy = Built(data.name, dict(data.arguments), data.made_of, data.call)
        copy.filling, copy.initial = data.filling, dict(data.initial)
    else:
        return value
    copy.slots.update(data.slots)
    return Value(copy, value.node, value.module)


def of_dataclasses(run: Interpreter, name: str, given: Given, named: Named) -> Value:
    if name in ("field", "Field", "HfArg", "ib", "attrib", "Factory"):
        if "default" in named:
            return named["default"]
        factory = named.get("default_factory") or named.get("factory")
        if factory is not None:
            return run.called(factory, [], {}, run.here())
        return given[0] if given and name == "Field" and given[0].data is not Ellipsis else unknown(NO_DEFAULT)
    first = given[0].data if given else None
    made_of = first if isinstance(first, Class) else first.made_of if isinstance(first, Instance) else None
    if name == "fields" and isinstance(first, External):
        return Value(External(first.name + PARAMETERS[1]))
    if name == "fields" and made_of is not None:
        fields: dict[str, Value] = {}  # each with `name`, `type` and `default`
        for cls in reversed(made_of.line):
            if not isinstance(cls, Class):
                return unknown(Reason("program", f"the fields of `{made_of.node.name}`"))
            as_text = cls.frame.module.imports.get("annotations") == "__future__.annotations"
            for field, line in annotated(cls.node):
                kind = Value(ast.unparse(line.annotation)) if as_text else run.evaluate(line.annotation, cls.frame)
                default = run.of_class(made_of, field, None) or Value(External("dataclasses.MISSING"))
                fields[field] = Value(Instance(slots=slots_of({"name": Value(field), "type": kind, "default": default})))
        return Value(Sequence(fields.values(), "tuple"))
    if name in ("asdict", "vars") and isinstance(first, Instance):
        mapping = Mapping()
        for key, value in first.slots.items():
            inner = value.data if isinstance(value, Value) else None
            mapping.slots[key] = of_dataclasses(run, "asdict", [value], {}) if isinstance(inner, Instance) else value
        return Value(mapping)
    if name == "replace" and isinstance(first, (Instance, Built)):
        made = shallow_copy(given[0])
        made.data.slots.update(slots_of(named))
        return run.post_init(made_of if isinstance(first, Instance) else None, made)  # it is constructed anew
    return unknown()


def by_attribute(given: Given, named: Named) -> Value:
    content = plain(given[0]) if given else {}
    if not isinstance(content, dict):
        return unknown()
    value = wrapped(content, by_attribute=True)
    value.data.slots.update(slots_of(named))
    return value


def method(run: Interpreter, found: Method, given: Given, named: Named) -> Value:
    data, name = found.owner.data, found.name
    if isinstance(data, str):
        written = found.owner.written
        if written is not None and (name == "splitlines" or (name == "split" and given and given[0].data == "\n")):
            return Value(OpenFile(Value(PROJECT + written.file.path)))
        return of_string(run, data, name, given, named)
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
        return training_loops.method(data, name, given)
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
            arguments = data.slots.get("args")
            if isinstance(arguments, Value) and isinstance(arguments.data, Built):
                arguments.data.train()
            run.write(data.slots, RESUMES, given[0] if given else named.get("resume_from_checkpoint", NONE))
        elif name in ("remove_callback", "pop_callback"):
            run.opened(Value(data))
        elif name == "add_callback" and given:
            before = data.slots.get(CALLBACKS)
            run.write(data.slots, CALLBACKS, (*(before if isinstance(before, tuple) else ()), given[0]))
    return unknown(Reason("program", f"`{name}()`", "it is outside of the program"))


def of_string(run: Interpreter, text: str, name: str, given: Given, named: Named) -> Value:
    if name == "join" and given:
        items = run.iterated(given[0])
        texts = [item.data for item in items] if items is not None else [None]
        strings = [each for each in texts if isinstance(each, str)]
        return short(text.join(strings)) if len(strings) == len(texts) else unknown()
    contents = [plain(value) for value in given]
    words = {str(word): plain(value) for word, value in named.items()}
    if name not in STRING_METHODS or any(isinstance(content, Unknown) for content in (*contents, *words.values())) or len(text) > LONGEST:
        return unknown()
    if (name == "format" and is_wide(text)) or (
        name == "replace" and len(text) * max((len(str(content)) for content in contents), default=0) > LARGEST_COPY
    ):
        return unknown()
    if name == "zfill" and not (contents and isinstance(contents[0], int) and contents[0] < 100):
        return unknown()
    result = attempted(getattr(text, name), *contents, **words)
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
        run.update(data, Value(Mapping(slots_of(named))))
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
    items = data.items
    if name == "append" and given:
        run.extend(data, given[:1])
        return NONE
    if name == "extend" and given:
        added = run.iterated(given[0])
        if added is None and isinstance(given[0].data, Sequence):
            run.add_all(Value(data), given[0])
        elif added is None:
            run.opened(Value(data))
        else:
            run.extend(data, added)
        return NONE
    if name == "copy":
        return shallow_copy(Value(data))
    if name in ("index", "count"):
        return unknown()
    if name == "insert" and len(given) > 1 and type(given[0].data) is int and not data.is_open:
        at = slice(given[0].data).indices(len(items))[1]
        run.write(data.slots, ITEMS, (*items[:at], given[1], *items[at:]))
        return NONE
    if name == "remove" and given and given[0].is_plain and not data.is_open and all(item.is_plain for item in items):
        equal = next((place for place, item in enumerate(items) if item.data == given[0].data), None)
        if equal is not None:
            run.write(data.slots, ITEMS, data.without(equal))
            return NONE
    if name == "pop" and data.has_place(key := next(iter(given), Value(-1))):
        taken: Value = items[key.data]
        run.write(data.slots, ITEMS, data.without(key.data))
        return taken
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
