"""The data sets of a program: which local files it loads, and what it makes of their rows before the trainer gets them."""

from __future__ import annotations

import ast

from cfglint.evaluate import Unknown
from cfglint.launch.program import DataRecipe
from cfglint.launch.programs.objects import (
    NONE,
    PROJECT,
    Container,
    Counted,
    Mapping,
    Opaque,
    OpenFile,
    Sequence,
    Value,
    plain,
    text_of_path,
)
from cfglint.source.annotations import ConfigValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.programs.objects import Given, Named

BUILDERS = ("json", "csv", "text", "parquet", "arrow")
SAME_ROWS = frozenset(
    """
    shuffle sort rename_column rename_columns remove_columns select_columns with_format set_format cast cast_column add_column flatten
    class_encode_column with_transform set_transform
    """.split()
)
KEEP_ROWS = ("sort", "reverse", "copy", "count", "index")  # methods of a list
TEST_SIZE = 0.25  # of `train_test_split` without sizes


class DataSet(Opaque):
    """A data set of local files, with what was done to its rows."""

    __slots__ = ("recipe",)

    def __init__(self, recipe: DataRecipe) -> None:
        super().__init__("datasets.Dataset")
        self.recipe = recipe


class Rows(DataSet):
    """A list with a row for each line of a file, or for each row of such a list."""

    __slots__ = ()


class DataSplits(Opaque):
    """A mapping of splits to data sets."""

    __slots__ = ("splits",)

    def __init__(self, splits: dict[str, DataSet]) -> None:
        super().__init__("datasets.DatasetDict")
        self.splits = splits


def external(name: str, given: Given, named: Named) -> Value | None:
    """What a function of `datasets` loads from local files; None if that is not known."""
    function = name.rpartition(".")[2]
    if name == "datasets.Dataset.from_list" and given and isinstance(given[0].data, Rows):
        return Value(DataSet(given[0].data.recipe)) if not given[0].data.is_open else None
    if name == "datasets.load_from_disk" and given:
        folder = names_of(given[0])
        return Value(DataSet(DataRecipe("saved", folder))) if len(folder) == 1 else None
    if name.startswith("datasets.Dataset.from_") and given:
        kind, names = function.removeprefix("from_"), names_of(given[0])
        return Value(DataSet(DataRecipe(kind, names))) if kind in BUILDERS and names else None
    if name != "datasets.load_dataset" or None in named:
        return None
    builder = plain(given[0] if given else named.get("path", NONE))
    files, field, split = named.get("data_files", NONE), plain(named.get("field", NONE)), plain(named.get("split", NONE))
    if builder not in BUILDERS or len(given) > 1 or isinstance(field, Unknown) or named.keys() & {"data_dir", "num_proc_shards", "name"}:
        return None
    by_split = files.data.items if isinstance(files.data, Mapping) and not files.data.is_open else {"train": files}
    sets = {key: DataSet(DataRecipe(str(builder), names_of(each), str(field or ""))) for key, each in by_split.items() if names_of(each)}
    if len(sets) < len(by_split):
        return None
    if split is None:
        return Value(DataSplits(sets))
    name = split.partition("[")[0] if isinstance(split, str) and "+" not in split else ""
    return None if name not in sets else Value(sets[name]) if name == split else then(sets[name], "slice", split)


def names_of(value: Value) -> tuple[str, ...]:
    """The names of files, or patterns of them, in an argument, from the top of the project if they are absolute; empty if unknown."""
    data = value.data
    names = [text_of_path(each) for each in (data.items if isinstance(data, Sequence) and not data.is_open else [value])]
    known = [each.removeprefix(PROJECT) for each in names if isinstance(each, str)]
    return tuple(known) if len(known) == len(names) and all(each and not set(each) & {"\0", ":"} for each in known) else ()


def item(data: DataSplits, key: ConfigValue) -> Value | None:
    """The data set of a split; None for an unknown one."""
    found = data.splits.get(key) if isinstance(key, str) else None
    return Value(found) if found is not None else None


def method(data: Container, name: str, given: Given, named: Named) -> Value | None:
    """The data set that a method gives; None if nothing is known of its rows."""
    if isinstance(data, DataSplits):
        made = {key: method(each, name, given, named) for key, each in data.splits.items()}
        sets = {key: each.data for key, each in made.items() if each is not None and isinstance(each.data, DataSet)}
        return Value(DataSplits(sets)) if sets and len(sets) == len(made) else None
    if not isinstance(data, DataSet) or isinstance(data, Rows):
        return None
    if name in SAME_ROWS:
        return Value(data)
    if name == "map":
        regroups = plain(named.get("batched", NONE)) not in (None, False) and "remove_columns" in named
        return None if regroups else Value(data)
    if name == "filter":
        return then(data, "filter", None)
    if name in ("select", "take") and (given or named):
        first = given[0] if given else next(iter(named.values()))
        rows = plain(first) if name == "take" else length_of(first)
        return then(data, "first", rows) if isinstance(rows, int) else None
    if name == "skip" and given and isinstance(plain(given[0]), int):
        return then(data, "skip", plain(given[0]))
    if name == "train_test_split" and "train_size" not in named and None not in named:
        size = plain(given[0] if given else named.get("test_size", NONE))
        size = TEST_SIZE if size is None else size
        if isinstance(size, (int, float)) and not isinstance(size, bool):
            return Value(DataSplits({part: then(data, part, size).data for part in ("train", "test")}))
    return None


def length_of(value: Value) -> int | None:
    """The number of entries of a list or range; None if it is not known."""
    data = value.data
    if isinstance(data, Counted):
        return data.length
    return len(data.items) if isinstance(data, Sequence) and not data.is_open else None


def then(data: DataSet, step: str, argument: ConfigValue) -> Value:
    """The data set after a further step."""
    recipe = data.recipe
    return Value(DataSet(DataRecipe(recipe.builder, recipe.files, recipe.field, (*recipe.steps, (step, argument)))))


def comprehended(iterated: Value, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value | None:
    """The rows of a list that is made of the lines of a file, or of such rows, one of each; None for other lists."""
    source, only = iterated.data, node.generators[0]
    if len(node.generators) > 1 or not isinstance(node, ast.ListComp) or not isinstance(only.target, ast.Name):
        return None
    kept = [test for test in only.ifs if not is_line(test, only.target.id)]
    if isinstance(source, Rows):
        return None if source.is_open else Value(Rows(source.recipe)) if not only.ifs else filtered(source)
    if not isinstance(source, OpenFile) or not parses_lines(node.elt):
        return None
    rows = rows_of_lines(source)
    return rows if rows is None or not kept else filtered(rows.data)


def filtered(rows: Rows) -> Value:
    """The rows that some condition leaves."""
    return Value(Rows(then(rows, "filter", None).data.recipe))


def rows_of_lines(file: OpenFile) -> Value | None:
    """The rows of a file with an object on each line."""
    names = names_of(file.path)
    return Value(Rows(DataRecipe("json", names))) if len(names) == 1 else None


def parses_lines(*nodes: ast.AST) -> bool:
    """Whether a call of `json.loads` is among some statements."""
    called = (each.func for node in nodes for each in ast.walk(node) if isinstance(each, ast.Call))
    return any("loads" in (getattr(each, "attr", ""), getattr(each, "id", "")) for each in called)


def is_line(test: ast.expr, name: str) -> bool:
    """Whether a condition is that a line is not blank: `line`, `line.strip()`."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "strip" and not test.args:
        test = test.func.value
    return isinstance(test, ast.Name) and test.id == name


def filled_by(node: ast.For | ast.AsyncFor) -> str:
    """The list to which a loop through a file appends the object of each line; empty for other loops.

    Lines that are blank may be left out, and a row that is not as expected may be an error.
    """
    if node.orelse or not isinstance(node.target, ast.Name) or not parses_lines(*node.body):
        return ""
    lists: list[str] = []
    body = node.body
    if len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse and is_line(body[0].test, node.target.id):
        body = body[0].body
    for each in body:
        if isinstance(each, ast.If) and len(each.body) == 1 and not each.orelse:
            skips = isinstance(each.body[0], ast.Continue) and isinstance(each.test, ast.UnaryOp) and isinstance(each.test.op, ast.Not)
            if not (skips and is_line(each.test.operand, node.target.id)) and not isinstance(each.body[0], ast.Raise):  # type: ignore[attr-defined]
                return ""
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) and isinstance(each.value.func, ast.Attribute):
            if each.value.func.attr != "append" or not isinstance(each.value.func.value, ast.Name):
                return ""
            lists.append(each.value.func.value.id)
        elif not isinstance(each, (ast.Assign, ast.AnnAssign)):
            return ""
    return lists[0] if len(lists) == 1 else ""


def is_empty_list(data: object) -> bool:
    """Whether a value is a list without entries."""
    return isinstance(data, Sequence) and not data.is_open and not data.items


def part_of(rows: Rows, part: slice) -> Value | None:
    """The rows of a slice; None for one with a step."""
    if rows.is_open or part.step is not None:
        return None
    low, high = ("" if each is None else str(each) for each in (part.start, part.stop))
    return Value(Rows(then(rows, "slice", f"train[{low}:{high}]").data.recipe))
