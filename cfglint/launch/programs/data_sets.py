"""The data sets of a program: which local files it loads, and what it makes of their rows before the trainer gets them."""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.launch.program import DataRecipe
from cfglint.launch.programs.objects import (
    NONE,
    PROJECT,
    Container,
    Counted,
    Mapping,
    Opaque,
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
TEST_SIZE = 0.25  # of `train_test_split` without sizes


class DataSet(Opaque):
    """A data set of local files, with what was done to its rows."""

    __slots__ = ("recipe",)

    def __init__(self, recipe: DataRecipe) -> None:
        super().__init__("datasets.Dataset")
        self.recipe = recipe


class DataSplits(Opaque):
    """A mapping of splits to data sets."""

    __slots__ = ("splits",)

    def __init__(self, splits: dict[str, DataSet]) -> None:
        super().__init__("datasets.DatasetDict")
        self.splits = splits


def external(name: str, given: Given, named: Named) -> Value | None:
    """What a function of `datasets` loads from local files; None if that is not known."""
    function = name.rpartition(".")[2]
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
    return Value(sets[split]) if isinstance(split, str) and split in sets else None


def names_of(value: Value) -> tuple[str, ...]:
    """The names of files in an argument, from the top of the project if they are absolute; empty if they are not known, or patterns."""
    data = value.data
    names = [text_of_path(each) for each in (data.items if isinstance(data, Sequence) and not data.is_open else [value])]
    known = [each.removeprefix(PROJECT) for each in names if isinstance(each, str)]
    return tuple(known) if len(known) == len(names) and all(each and not set(each) & {"\0", "*", ":"} for each in known) else ()


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
    if not isinstance(data, DataSet):
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
