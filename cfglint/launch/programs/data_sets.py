"""The data sets of a program: which local files it loads, and what it makes of their rows before the trainer gets them."""

from __future__ import annotations

import ast

from cfglint.evaluate import Unknown
from cfglint.launch.program import DataRecipe
from cfglint.launch.programs.objects import (
    NONE,
    OPEN,
    PROJECT,
    Class,
    Container,
    Counted,
    Function,
    Given,
    Instance,
    Mapping,
    Named,
    Opaque,
    OpenFile,
    Sequence,
    Value,
    plain,
    text_of_path,
)
from cfglint.launch.programs.row_functions import is_line, keeps_rows, parses_lines
from cfglint.source.annotations import ConfigValue
from cfglint.source.record import changed
from cfglint.source.shell.tables import names

NAMED = "named"  # the builder of a folder, or of a data set of the Hub
BUILDERS = ("json", "csv", "text", "parquet", "arrow")
LIST = "list"  # the builder of a JSON file that the program parses itself
SAME_ROWS = names(
    "shuffle sort rename_column rename_columns remove_columns select_columns with_format set_format cast cast_column add_column flatten"
    " class_encode_column with_transform set_transform flatten_indices"
)
KEEP_ROWS = ("sort", "reverse", "copy", "count", "index")  # methods of a list
TABLES = {"read_csv": "csv", "read_parquet": "parquet", "read_table": "csv", "read_json": LIST}  # functions of pandas
SAME_TABLE = frozenset("reset_index rename astype apply fillna assign copy sort_values map replace to_pandas".split())
FEWER = frozenset("dropna drop_duplicates query drop".split())  # methods of a table
AS_LIST = ("to_dict", "tolist", "to_list", "iterrows", "itertuples", "to_numpy", "to_records")
TEST_SIZE = 0.25  # of `train_test_split` without sizes
HEAD = 5  # rows of `head()`
EMPTY = DataRecipe()  # of an empty list
COUNT = ("rows",)  # the number of rows, in an expression of one
OPERATIONS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//"}
FUNCTIONS_OF_COUNTS = ("int", "round", "ceil", "floor", "min", "max")


class DataSet(Opaque):
    """A data set of local files, with what was done to its rows."""

    __slots__ = ("recipe",)

    def __init__(self, recipe: DataRecipe, name: str = "datasets.Dataset") -> None:
        super().__init__(name)
        self.recipe = recipe


class Table(DataSet):
    """A table of pandas, or a column of one."""

    __slots__ = ()

    def __init__(self, recipe: DataRecipe) -> None:
        super().__init__(recipe, "pandas.DataFrame")


class DataSplits(Opaque):
    """A mapping of splits to data sets."""

    __slots__ = ("splits",)

    def __init__(self, splits: dict[str, DataSet]) -> None:
        super().__init__("datasets.DatasetDict")
        self.splits = splits


class RowCount(Opaque):
    """A number that is computed from the number of rows: the expression, as a tuple of the operation and its operands."""

    __slots__ = ("expression", "recipe")

    def __init__(self, recipe: DataRecipe, expression: tuple[ConfigValue, ...] = COUNT) -> None:
        super().__init__("len")
        self.recipe, self.expression = recipe, expression


def external(name: str, given: Given, named: Named) -> Value | None:
    """What a function of `datasets`, pandas or scikit-learn makes of local files, or of their rows; None if that is not known."""
    package, _, function = name.rpartition(".")
    if package == "pandas":
        return table(function, given, named)
    if name in ("sklearn.model_selection.train_test_split", "sklearn.utils.shuffle"):
        return divided(given, named) if function == "train_test_split" else given[0] if len(given) == 1 else None
    if package in ("datasets", "datasets.combine") and function == "concatenate_datasets" and given:
        parts = [recipe_of(each) for each in given[0].data.items] if is_closed_list(given[0]) else [None]
        return Value(DataSet(joined(*(part for part in parts if part is not None)))) if None not in parts else None
    if name == "datasets.DatasetDict" and given and isinstance(given[0].data, Mapping):
        sets = {key: recipe_of(value) for key, value in given[0].data.items.items()}
        known = {str(key): DataSet(data_recipe) for key, data_recipe in sets.items() if data_recipe is not None}
        return Value(DataSplits(known)) if known else None
    if name == "datasets.load_from_disk" and given:
        folder = names_of(given[0])
        return Value(DataSet(DataRecipe("saved", folder))) if len(folder) == 1 else None
    if name.startswith("datasets.Dataset.from_") and given:
        return made_of(function.removeprefix("from_"), given[0])
    return loaded(given, named) if name == "datasets.load_dataset" and None not in named else None


def made_of(kind: str, given: Value) -> Value | None:
    if kind in BUILDERS:
        names = names_of(given)
        return Value(DataSet(DataRecipe(kind, names))) if names else None
    if kind == "dict" and isinstance(given.data, Mapping) and not given.data.is_open:
        columns = (recipe_of(value) for value in given.data.items.values())
        recipe = next((column for column in columns if column is not None), None)
    else:
        recipe = recipe_of(given) if kind in ("list", "pandas") and not isinstance(given.data, Instance) else None
    return Value(DataSet(recipe)) if recipe is not None else None


def loaded(given: Given, named: Named) -> Value | None:
    builder = plain(given[0] if given else named.get("path", NONE))
    files, field, split = named.get("data_files", NONE), plain(named.get("field", NONE)), plain(named.get("split", NONE))
    part = plain(given[1] if len(given) > 1 else named.get("name", NONE))
    if not isinstance(builder, str) or len(given) > 2 or isinstance(field, Unknown) or named.keys() & {"data_dir", "streaming"}:
        return None
    by_split = files.data.items if isinstance(files.data, Mapping) and not files.data.is_open else {"train": files}
    if builder in BUILDERS and part is None:
        recipes = {str(key): DataRecipe(builder, names_of(value), str(field or "")) for key, value in by_split.items()}
    elif builder not in BUILDERS and files.data is None and isinstance(part, (str, type(None))):
        recipes = {each: DataRecipe(NAMED, (builder.removeprefix(PROJECT), part or ""), each) for each in ("train", "validation", "test")}
    else:
        return None
    sets = {key: DataSet(data_recipe) for key, data_recipe in recipes.items() if data_recipe.files}
    if split is None:
        return Value(DataSplits(sets)) if sets else None
    name = split.partition("[")[0] if isinstance(split, str) and "+" not in split else ""
    return None if name not in sets else Value(sets[name]) if name == split else then(sets[name], "slice", split)


def names_of(value: Value) -> tuple[str, ...]:
    """The names of files, or patterns of them, in an argument, from the top of the project if they are absolute; empty if unknown."""
    data = value.data
    names = [text_of_path(each) for each in (data.items if isinstance(data, Sequence) and not data.is_open else [value])]
    known = [name.removeprefix(PROJECT) for name in names if isinstance(name, str)]
    return tuple(known) if len(known) == len(names) and all(each and not set(each) & {"\0", ":"} for each in known) else ()


def is_closed_list(value: Value) -> bool:
    return isinstance(value.data, Sequence) and not value.data.is_open


# -- rows


def recipe_of(value: Value) -> DataRecipe | None:
    data = value.data
    if isinstance(data, Sequence):
        mark = data.slots.get(OPEN)
        if data.kind == "set" or (data.is_open and not isinstance(mark, DataRecipe)):
            return None
        added = DataRecipe(written=len(data.items))
        return added if mark is None else joined(mark, added) if data.items else mark
    if isinstance(data, DataSet):
        return data.recipe if not data.is_open else None
    if not isinstance(data, Instance) or data.made_of is None:
        return None
    # An object whose class has `def __len__(self): return len(self.rows)`.
    classes = (cls for cls in data.made_of.line if isinstance(cls, Class))
    method = next((cls.slots["__len__"].data for cls in classes if isinstance(cls.slots.get("__len__"), Value)), None)
    body = getattr(method.node, "body", None) if isinstance(method, Function) else None
    last = body[-1].value if isinstance(body, list) and isinstance(body[-1], ast.Return) else None
    is_len = isinstance(last, ast.Call) and isinstance(last.func, ast.Name) and last.func.id == "len" and len(last.args) == 1
    part = part_of_object(value, last.args[0]) if is_len else None  # type: ignore[union-attr]
    return recipe_of(part) if part is not None else None


def part_of_object(value: Value, node: ast.expr) -> Value | None:
    """What `self.rows` or `self.batch["input_ids"]` is for an object; None if it is unknown."""
    if isinstance(node, ast.Name):
        return value
    inner = part_of_object(value, node.value) if isinstance(node, (ast.Attribute, ast.Subscript)) else None
    if inner is None or not isinstance(inner.data, Container):
        return None
    if isinstance(node, ast.Subscript) and isinstance(inner.data, DataSet):
        return inner
    key = node.attr if isinstance(node, ast.Attribute) else node.slice.value if isinstance(node.slice, ast.Constant) else None  # type: ignore[attr-defined]
    slot = inner.data.slots.get(key)
    return slot if isinstance(slot, Value) else None


def joined(*parts: DataRecipe) -> DataRecipe:
    return parts[0] if len(parts) == 1 else DataRecipe(parts=parts)


def list_of(recipe: DataRecipe) -> Value:
    sequence = Sequence()
    sequence.slots[OPEN] = recipe
    return Value(sequence)


def rows_through(value: Value, parsed: bool = False) -> DataRecipe | None:
    """The rows that a loop goes through: those of a data set or list, or the lines of a file, which it may parse as JSON."""
    data = value.data
    if isinstance(data, OpenFile):
        names = names_of(data.path)
        return DataRecipe("json" if parsed else "text", names) if len(names) == 1 else None
    if isinstance(data, RowCount):
        return data.recipe if data.expression == COUNT else None
    is_open = isinstance(data, (Sequence, DataSet)) and not is_closed_list(value)
    return recipe_of(value) if is_open else None


def entry(value: Value, key: Value) -> Value | None:
    """A column of a data set or of a table, or the rows of a table that a condition chooses; None for anything else."""
    data = value.data
    is_name = isinstance(key.data, str)
    if isinstance(data, Sequence) and is_name:
        mark = data.slots.get(OPEN)
        if not isinstance(mark, DataRecipe) or mark.builder != LIST or mark.field or mark.steps or data.items:
            return None
        return list_of(changed(mark, field=key.data))
    if not isinstance(data, DataSet) or data.is_open:
        return None
    if not isinstance(data, Table):
        return list_of(data.recipe) if is_name else None
    names = key.data.items if isinstance(key.data, Sequence) and not key.data.is_open else ()
    if is_name or (names and all(isinstance(name.data, str) for name in names)):
        return Value(data)
    return then(data, "filter", None) if not isinstance(key.data, (int, float)) else None


def method(data: Container, name: str, given: Given, named: Named) -> Value | None:
    if isinstance(data, DataSplits):
        made = {key: method(data_set, name, given, named) for key, data_set in data.splits.items()}
        sets = {key: value.data for key, value in made.items() if value is not None and isinstance(value.data, DataSet)}
        return Value(DataSplits(sets)) if sets and len(sets) == len(made) else None
    if isinstance(data, Table):
        if plain(named.get("inplace", NONE)) not in (None, False):
            data.slots[OPEN] = True
            return None
        if name in AS_LIST:
            return list_of(data.recipe)
        by_column = "columns" in named or plain(named.get("axis", NONE)) in (1, "columns")
        if name in SAME_TABLE or (name == "drop" and by_column) or (name == "sample" and plain(named.get("frac", NONE)) == 1):
            return Value(data)
        if name in ("head", "sample") and "frac" not in named:
            rows = given[0] if given else named.get("n", Value(HEAD if name == "head" else 1))
            return upto(data, rows)
        return then(data, "filter", None) if name in FEWER else None
    if not isinstance(data, DataSet):
        return None
    if name in SAME_ROWS:
        return Value(data)
    if name in ("to_pandas", "to_list"):
        return Value(Table(data.recipe)) if name == "to_pandas" else list_of(data.recipe)
    if name == "map":
        regroups = plain(named.get("batched", NONE)) not in (None, False) and "remove_columns" in named
        function = (given[0] if given else named.get("function", NONE)).data
        keeps = isinstance(function, Function) and keeps_rows(function.node, int(function.bound is not None))
        return Value(data) if not regroups or keeps else None
    if name == "filter":
        return then(data, "filter", None)
    if name in ("select", "take") and (given or named):
        first = given[0] if given else next(iter(named.values()))
        if name == "take" or isinstance(first.data, RowCount):
            return upto(data, first)
        if isinstance(first.data, Counted):  # a long `range(n)`
            return then(data, "first", first.data.length)
        return then(data, "first", len(first.data.items)) if is_closed_list(first) else None
    if name == "skip" and given and isinstance(plain(given[0]), int):
        return then(data, "skip", plain(given[0]))
    if name == "train_test_split" and None not in named:
        parts = split_in_two(data, given[0] if given else named.get("test_size", NONE), named.get("train_size", NONE))
        return Value(DataSplits(dict(zip(("train", "test"), parts, strict=True)))) if parts else None
    return None


def table(function: str, given: Given, named: Named) -> Value | None:
    names = names_of(given[0]) if given else ()
    if function not in TABLES or len(names) != 1 or None in named or named.keys() & {"nrows", "skiprows", "chunksize", "header", "orient"}:
        return None
    lines = plain(named.get("lines", NONE))
    return Value(Table(DataRecipe("json" if lines is True else TABLES[function], names))) if lines in (None, True, False) else None


def split_in_two(data: DataSet, test: Value, train: Value) -> list[DataSet]:
    """The parts for training and test, as both `datasets` and scikit-learn divide rows; empty if the sizes are unknown."""
    sizes = plain(test), plain(train)
    if not all(size is None or (isinstance(size, (int, float)) and not isinstance(size, bool)) for size in sizes):
        return []
    if sizes[1] is not None:
        steps = ("portion", "rest") if sizes[0] is None else ("portion", "test")
        arguments = (sizes[1], sizes[1] if sizes[0] is None else sizes[0])
    else:
        steps, arguments = ("train", "test"), (TEST_SIZE if sizes[0] is None else sizes[0],) * 2
    return [then(data, step, argument).data for step, argument in zip(steps, arguments, strict=True)]


def divided(given: Given, named: Named) -> Value | None:
    values: list[Value] = []
    for value in given:
        recipe = recipe_of(value)
        data = value.data if isinstance(value.data, Table) else DataSet(recipe) if recipe is not None else None
        parts = split_in_two(data, named.get("test_size", NONE), named.get("train_size", NONE)) if data is not None else []
        if not parts:
            return None
        values += [Value(part) if isinstance(part, Table) else list_of(part.recipe) for part in parts]
    return Value(Sequence(values)) if values and None not in named else None


def upto(data: DataSet, count: Value) -> Value | None:
    """The first so many rows, by a number or by one that is computed from their number."""
    if isinstance(count.data, RowCount):
        return then(data, "first", count.data.expression) if count.data.recipe == data.recipe else None
    return then(data, "first", count.data) if type(count.data) is int else None


def then(data: DataSet, step: str, argument: ConfigValue) -> Value:
    recipe = data.recipe.then(step, argument)
    return Value(Table(recipe) if isinstance(data, Table) else DataSet(recipe))


def part_of(value: Value, bounds: list[Value]) -> Value | None:
    """The rows of a slice of a list or table; None for one with a step, or whose bounds are unknown."""
    recipe = recipe_of(value)
    low, high, step = bounds
    if recipe is None or step.data is not None or not isinstance(value.data, (Sequence, Table)):
        return None
    data_set = DataSet(recipe)
    if all(each.data is None or type(each.data) is int for each in (low, high)):
        texts = ("" if each.data is None else str(each.data) for each in (low, high))
        data_set = then(data_set, "slice", "train[{}:{}]".format(*texts)).data
    else:
        counts = [each.data for each in (low, high) if isinstance(each.data, RowCount)]
        if len(counts) != 1 or counts[0].recipe != recipe or (low if counts[0] is high.data else high).data not in (None, 0):
            return None
        data_set = then(data_set, "first" if counts[0] is high.data else "skip", counts[0].expression).data
    return Value(Table(data_set.recipe)) if isinstance(value.data, Table) else list_of(data_set.recipe)


def length_of(value: Value) -> Value | None:
    recipe = recipe_of(value) if not is_closed_list(value) else None
    return Value(RowCount(recipe)) if recipe is not None else None


def calculated(operation: str, *given: Value) -> Value | None:
    """A number that is computed from numbers of rows; None if it is none."""
    counts = [value.data for value in given if isinstance(value.data, RowCount)]
    if (
        not counts
        or operation not in (*OPERATIONS.values(), *FUNCTIONS_OF_COUNTS)
        or any(count.recipe != counts[0].recipe for count in counts)
    ):
        return None
    operands = [value.data.expression if isinstance(value.data, RowCount) else value.data for value in given]
    fits = all(isinstance(operand, tuple) or (isinstance(operand, (int, float)) and not isinstance(operand, bool)) for operand in operands)
    return Value(RowCount(counts[0].recipe, (operation, *operands))) if fits else None


def comprehended(iterated: Value, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value | None:
    only, parsed = node.generators[0], parses_lines(node.elt)
    recipe = rows_through(iterated, parsed) if len(node.generators) == 1 and not isinstance(node, ast.SetComp) else None
    if recipe is None:
        return None
    line = only.target.id if recipe.builder == "json" and parsed and isinstance(only.target, ast.Name) else ""
    return list_of(recipe.then("filter", None) if any(not is_line(test, line) for test in only.ifs) else recipe)
