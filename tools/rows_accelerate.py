"""The rows of accelerate: what the launcher refuses in the arguments that its file becomes, and what the plugins of the program's
`Accelerator` refuse in the environment that the launcher makes of them.

A variable of the environment that the launcher sets is, in the rows of a plugin, the argument that it is made of; the fields of a plugin
are named `fsdp.FIELD`, `deepspeed.FIELD`, `parallelism.FIELD`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import Labels, rows_of
from history_rows import Release
from row_expressions import conj, every, fields, opaque, walk
from row_sources import Package, Ref, dotted
from row_table_text import Function, Row, Table

from cfglint.frameworks.accelerate.checks import FSENCODE
from cfglint.frameworks.accelerate.source_fields import LAUNCH, PARSER, find
from cfglint.frameworks.rows.evaluation import cannot_fail

PACKAGE = "accelerate"
LAUNCHER, PLUGIN = "config", "init"
ENVIRONMENT = {  # the engine of a launch, the function that makes the environment, the arguments that are decided before it
    "several": ("prepare_multi_gpu_env", {"use_fsdp": False, "use_megatron_lm": False}),
    "fsdp": ("prepare_multi_gpu_env", {"use_fsdp": True, "use_megatron_lm": False}),
    "megatron": ("prepare_multi_gpu_env", {"use_fsdp": False, "use_megatron_lm": True}),
    "deepspeed": ("prepare_deepspeed_cmd_env", {}),
    "single": ("prepare_simple_launcher_cmd_env", {}),
}
POPEN = "single"  # whose environment `subprocess.Popen` takes, strings alone; for the others it is made of strings
PLUGINS = {  # class -> the prefix of its fields, the variable for which it is made, and its module
    "FullyShardedDataParallelPlugin": ("fsdp", "ACCELERATE_USE_FSDP", "utils.dataclasses"),
    "DeepSpeedPlugin": ("deepspeed", "ACCELERATE_USE_DEEPSPEED", "utils.dataclasses"),
    "TorchDynamoPlugin": ("dynamo", "ACCELERATE_DYNAMO_BACKEND", "utils.dataclasses"),
    "ParallelismConfig": ("parallelism", "ACCELERATE_USE_PARALLELISM_CONFIG", "parallelism_config"),
}
TORCH = ast.parse("""
class ShardingStrategy(Enum):
    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5
class BackwardPrefetch(Enum):
    BACKWARD_PRE = 1
    BACKWARD_POST = 2
class StateDictType(Enum):
    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3
""")
ENUMS = {each.name: each for each in TORCH.body if isinstance(each, ast.ClassDef)}
NOT_CALLED = """
set_cpu_offload validate_cpu_offload fill_match setup_fp8_env _set_selected set_mixed_precision validate_mixed_precision_policy
""".split()  # what refuses nothing that a file sets
GIVEN: dict[str, Any] = {
    "HfDeepSpeedConfig": lambda config: ["dict", ["config", ["fact", "deepspeed config", config]]],
    **dict.fromkeys(NOT_CALLED),
    "is_port_in_use": "fact",
    "is_zero3": "fact",
    "self.module": False,
    "self.no_python": False,
}
ACCELERATOR = "accelerator"  # what a plugin is checked with
OF_LAUNCH = ["f", ACCELERATOR]
PRECISION = ["env", "ACCELERATE_MIXED_PRECISION"]
METHODS: dict[str, list[Any]] = {  # of the plugins -> the condition on which they are called
    "__post_init__": [],
    "set_auto_wrap_policy": [],
    "_validate_accelerator": [],
    "set_mixed_precision": [["!=", PRECISION, "no"]],
}
READ_ELSEWHERE = {  # methods and fields whose refusals come earlier: from `_deepspeed_config_checks`, from the launcher
    ("DeepSpeedPlugin", "set_mixed_precision"),
    ("TorchDynamoPlugin", "backend"),
}
ACTIONS = ("say", "be", "put", "key", "drop", "of", "in", "try")  # the parts of a row that are expressions


class Torch:
    """In the place of torch, of which only enumerations count."""

    def imported(self, base: str, what: str | None, depth: int = 0) -> tuple[Any, Any]:
        """What a name of it is."""
        return (ENUMS[what], None) if what in ENUMS else (f"{base}.{what}" if what else base, None)


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release: those of the launcher, then the plugins."""
    root = find(folder).root
    package = Package(str(root.parent), PACKAGE)
    package.others["torch"] = Torch()  # type: ignore[assignment]
    launcher = package.module(f"{PACKAGE}.utils.launch")
    of_launcher: dict[str, list[Row]] = {}
    for engine, (name, decided) in ENVIRONMENT.items():
        given = {**GIVEN, **{f"self.{argument}": value for argument, value in decided.items()}}
        of_launcher[engine] = rows_of(package, launcher, launcher.names[name], given=given)[0]
    environments = {engine: environment(rows) for engine, rows in of_launcher.items()}
    of_plugins = {
        (engine, label): needed(plugin(package, label, variables))
        for engine, variables in environments.items()
        for label, (_, switch, _) in PLUGINS.items()
        if switch in variables
    }
    passed_on = names_in(row for rows in of_plugins.values() for row in rows)
    defaults = defaults_of(package)
    for engine, rows in of_launcher.items():
        yield Function(engine, LAUNCHER, "", with_defaults(needed([*rows, *(popen(rows) if engine == POPEN else ())], passed_on), defaults))
    for (engine, label), rows in of_plugins.items():
        yield Function(f"{engine}:{label}", PLUGIN, "", with_defaults(rows, defaults))


def popen(rows: list[Row]) -> Iterator[Row]:
    """What `subprocess.Popen` refuses in the environment; `gpu_ids` is a string, which the launcher has split before."""
    for row in rows:
        if "setenv" in row and row["be"] != ["f", "gpu_ids"]:
            yield {"when": row["when"], "try": ["fact", FSENCODE, row["be"]], "line": row.get("line")}


def plugin(package: Package, label: str, variables: Mapping[str, Any]) -> list[Row]:
    """The rows of the methods of a plugin that a launch with some variables makes."""
    prefix, _, path = PLUGINS[label]
    module = package.module(f"{PACKAGE}.{path}")
    definition = module.names[label]
    made: list[Row] = []
    for name, guard in METHODS.items():
        found = next((each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == name), None)
        if found is not None and (label, name) not in READ_ELSEWHERE:
            names = [each.arg for each in found.args.args]
            optional = dict(zip(reversed(names), map(ast.literal_eval, reversed(found.args.defaults)), strict=False))
            bound = {"self": Ref("root"), ACCELERATOR: OF_LAUNCH, "model": ["?", "the model"], "mixed_precision": PRECISION} | optional
            rows = rows_of(package, module, found, (definition, module), {name: bound[name] for name in names}, GIVEN)[0]
            rows = [row for row in rows if (label, row.get("set")) not in READ_ELSEWHERE]
            if guard:  # called for the refusals alone
                rows = [{**row, "when": [*guard, *row["when"]]} for row in rows if row.keys() & {"raise", "let"}]
            made += Plugin(prefix, variables).rows(rows)
    return made


def defaults_of(package: Package) -> dict[str, Any]:
    """The defaults of the launcher's arguments, as its parser makes them; those of None are left out."""
    module = package.module(f"{PACKAGE}.{LAUNCH.removesuffix('.py').replace('/', '.')}")
    found: dict[str, Any] = {}
    calls = (each for each in ast.walk(module.names[PARSER]) if isinstance(each, ast.Call))
    for call in (each for each in calls if dotted(each.func).endswith(".add_argument")):
        options = {keyword.arg: keyword.value for keyword in call.keywords}
        node = options.get("default")
        if isinstance(node, ast.Call) and dotted(node) == "int":
            node = ast.Constant(int(ast.literal_eval(node.args[0])))
        value: Any = node.value if isinstance(node, ast.Constant) else None
        kind = dotted(options["type"]) if "type" in options else ""
        if isinstance(value, str) and kind in ("int", "str_to_bool"):
            value = int(value) if kind == "int" else value.lower() == "true"
        if value is not None:
            found[ast.literal_eval(call.args[-1]).removeprefix("--")] = value
    return found


def environment(rows: list[Row]) -> dict[str, Any]:
    """Variable -> what the launcher sets it to, as an expression of its arguments."""
    found: dict[str, Any] = {}
    for row in rows:
        if isinstance(row.get("setenv"), str):
            condition = conj(row["when"])
            found[row["setenv"]] = row["be"] if condition is True else ["if", condition, row["be"], found.get(row["setenv"])]
    return found


class Plugin(Labels):
    """Rows of a plugin among those of the launcher's arguments."""

    def __init__(self, label: str, variables: Mapping[str, Any]) -> None:
        super().__init__(label)
        self.variables = variables

    def expression(self, e: Any) -> Any:
        """An expression in which the variables of the environment are what the launcher sets them to."""
        if isinstance(e, (list, tuple)) and e[:1] in (["env"], ("env",)) and e[1] in self.variables:
            return with_default(self.variables[e[1]], self.expression(e[2]) if len(e) > 2 else None)
        if isinstance(e, (list, tuple)) and [*e[:2]] == ["attr", OF_LAUNCH]:
            return ["f", f"{ACCELERATOR}.{e[2]}"]
        return super().expression(e)


def with_default(value: Any, default: Any) -> Any:
    """The value of a variable that is set under conditions, with what holds under none."""
    if isinstance(value, (list, tuple)) and value[:1] == ["if"]:
        return ["if", value[1], value[2], with_default(value[3], default)]
    return default if value is None else value


def needed(rows: list[Row], others: Collection[str] = ()) -> list[Row]:
    """The rows that refuse or may fail, as far as they can be read, with those that they, or `others`, need."""
    rows = [tried(row) for row in rows if not row.keys() & {"first", "todo", "warn"}]
    rows = [row for row in rows if "try" not in row or not is_harmless(row["try"]) or not all(map(cannot_fail, row["when"]))]
    rows = [row for row in rows if is_readable(row) and ("each" not in row or any("raise" in each for each in every([row])))]
    kept = [row for row in rows if "raise" in row or ("let" not in row and not all(map(is_harmless, parts(row))))]
    while True:
        read = names_in(kept).union(others)
        more = [row for row in rows if row in kept or row.get("let") in read or row.get("set") in read]
        if len(more) == len(kept):
            return kept
        kept = more


def names_in(rows: Iterable[Row]) -> set[str]:
    """The words in the expressions of rows, the names of fields and kept values among them."""
    return {each for row in rows for part in parts(row) for each in walk(part) if isinstance(each, str)}


def tried(row: Row) -> Row:
    """A row of which only whether it fails counts, where it sets a variable of the environment."""
    return {"when": row["when"], "try": row["be"], "line": row.get("line")} if "setenv" in row else row


def is_harmless(e: Any) -> bool:
    """Whether evaluating an expression cannot fail."""
    if not isinstance(e, (list, tuple)) or cannot_fail(e):
        return True
    if [*e[:2]] == ["fact", FSENCODE]:
        return isinstance(e[2], str) or (
            isinstance(e[2], (list, tuple)) and (e[2][0] in ("fmt", "member") or [*e[2][:2]] == ["call", "str"])
        )
    if e[0] in ("call", "m"):
        inner = e[2]
        is_lower = e[1] == "lower" and isinstance(inner, (list, tuple)) and [*inner[:2]] == ["call", "str"]
        is_tried = isinstance(inner, (list, tuple)) and inner[0] == "member"  # by the launcher, before it writes the member
        return is_tried or ((is_lower or e[1] in ("str", "bool")) and all(map(is_harmless, e[2:])))
    if e[0] in ("fmt", "dict"):
        return all(is_harmless(part) for each in e[1:] if isinstance(each, (list, tuple)) for part in each)
    return e[0] in ("?", "value", "and", "or", "not", "if", "==", "!=", "is", "list", "tuple") and all(map(is_harmless, e[1:]))


def is_readable(row: Row) -> bool:
    """Whether everything in a row could be read, and its condition is about the file; what else sets a field makes it unknown."""
    return "set" in row or not (opaque(parts(row)) or any(isinstance(each, list) and each[:1] == ["env"] for each in walk(row["when"])))


def parts(row: Row) -> list[Any]:
    """The expressions of a row, with those of a loop."""
    actions = [part for each in every([row]) for key, part in each.items() if key in ACTIONS]
    return [*(guard for each in every([row]) for guard in each["when"]), *actions]


def with_defaults(rows: list[Row], defaults: Mapping[str, Any]) -> list[Row]:
    """Rows after those that set the arguments that they read and that the file does not set."""
    read = fields([part for row in rows for part in parts(row)])
    return [*({"when": [["not", ["has", name]]], "set": name, "be": value} for name, value in defaults.items() if name in read), *rows]
