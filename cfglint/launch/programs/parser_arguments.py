"""The parsers that a program makes, and the arguments that it adds to them."""

from __future__ import annotations

from cfglint.launch.programs.modules import External
from cfglint.launch.programs.objects import NONE, Value
from cfglint.source.annotations import Any
from cfglint.source.record import Record


class ParserArgument:
    """An argument of a parser: the name of its result, its options, and what `add_argument` says about it."""

    def __init__(self, name: str, options: list[str], given: dict[Any, Value]) -> None:
        self.name = name
        self.options = options
        self.default = given.get("default", NONE)
        self.required = given.get("required", NONE).data is True
        self.kind = given.get("type")
        self.action = given["action"] if "action" in given else Value("store")
        self.stores = {"store_true": True, "store_false": False}.get(str(self.action.data))  # what a flag sets; None for other arguments
        self.nargs = given.get("nargs", NONE)
        self.const = given.get("const", NONE)
        self.is_flag_pair = isinstance(self.action.data, External) and self.action.data.name.endswith("BooleanOptionalAction")

    @property
    def is_positional(self) -> bool:
        """Whether it has no option."""
        return not self.options[0].startswith("-")

    @property
    def is_required(self) -> bool:
        """Whether the parser refuses a line without it."""
        return self.required or (self.is_positional and self.nargs.data not in ("?", "*"))

    @property
    def is_without_default(self) -> bool:
        """Whether it is None on a line that does not give it."""
        return self.default is NONE and not self.takes_none and not self.is_positional

    @property
    def takes_none(self) -> bool:
        """Whether no word follows it."""
        return self.is_flag_pair or self.action.data in ("store_true", "store_false", "store_const", "append_const", "count")


class LineParser(Record):
    """An `argparse.ArgumentParser`, or a command of click, which accepts no abbreviations."""

    arguments: list[ParserArgument] = []
    defaults: dict[str, Value] = {}
    commands: dict[str, LineParser] = {}
    command_name: str = ""
    is_open: bool = False  # further arguments are unknown
    abbreviates: bool = True
