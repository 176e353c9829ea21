"""What a program gets from outside and may change: the words of its launch line (`sys.argv`) and the variables of its environment."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.launch.programs.changes import Changes
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.objects import Mapping, Sequence, Value, unknown

ARGV = "argv"


class Process(Changes):
    """A program as it runs, under a context; `environment` and `system` are the variables and the names of `sys` that it sets."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.environment, self.system = Mapping(), Mapping()

    def words(self) -> Value:
        """`sys.argv`."""
        given = self.context.words  # asked for each time: what a module makes of them is not that of all programs
        if ARGV not in self.system.slots:
            words = [Value(each) if each is not None else unknown() for each in given]
            made = Sequence([Value("train.py"), *words], is_open=self.context.is_open or None in given)
            made.slots.born = self.system.slots.born  # it was there before any branch that changes it
            self.system.slots[ARGV] = Value(made)
        argv: Value = self.system.slots[ARGV]
        return argv

    def line_words(self) -> tuple[tuple[str | None, ...], bool]:
        """(the words that a parser takes which is given none, None for unknown ones, whether there may be others)."""
        given, argv = self.context.words, self.words().data
        if not isinstance(argv, Sequence):
            return (), True
        words = tuple(item.data if isinstance(item.data, str) else None for item in argv.items[1:])
        is_as_given = words == given and argv.is_open == (self.context.is_open or None in given)
        return (given, self.context.is_open) if is_as_given else (words, argv.is_open)

    def variable(self, name: Value) -> Value:
        """A variable of the environment."""
        if not isinstance(name.data, str):
            return unknown()
        slot, outside = self.environment.slots.get(name.data), self.context.variable(name.data)
        if isinstance(slot, Value):
            return slot
        if self.environment.is_open:
            return unknown(Reason("environment", f"the variable `{name.data}`", "the program may set it"))
        if outside is not None:
            return Value(outside)
        if name.data in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
            processes = self.context.gpus if name.data == "WORLD_SIZE" else self.context.local_gpus
            if processes is not None:
                return Value(str(processes))
        return unknown(Reason("environment", f"the variable `{name.data}`", f"pass --env {name.data}=VALUE", name=name.data))
