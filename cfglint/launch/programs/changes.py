"""What an evaluation changes in the objects of a program, noted so that it can be undone."""

from __future__ import annotations

from cfglint.evaluate import Choice, Reason
from cfglint.launch.programs import data_sets
from cfglint.launch.programs.objects import (
    ABSENT,
    ITEMS,
    LONGEST,
    OPEN,
    Built,
    Class,
    Container,
    Function,
    Instance,
    Mapping,
    Method,
    Sequence,
    SharedChanged,
    Slots,
    Value,
    unknown,
)
from cfglint.source.annotations import Any, Iterable

Writes = dict[tuple[int, Any], tuple[Slots, Any, Any]]

NOT_UNDERSTOOD = Reason("program", "what code that is not understood may change")


class Changes:
    """The changes of objects; `journal` has each with what was there before."""

    def __init__(self) -> None:
        self.journal: list[tuple[Slots, Any, Any]] = []

    def extend(self, data: Sequence, items: Iterable[Value], is_open: bool = False) -> None:
        values = (*data.items, *items)
        self.write(data.slots, ITEMS, values[:LONGEST])
        if is_open or len(values) > LONGEST:
            self.write(data.slots, OPEN, True)

    def add_all(self, value: Value, added: Value) -> None:
        """Add the items of one list to another; of rows of files only the number is known."""
        before, rows = data_sets.recipe_of(value), data_sets.recipe_of(added)
        if before is not None and rows is not None and not data_sets.is_closed_list(added):
            self.write(value.data.slots, ITEMS, ())
            self.write(value.data.slots, OPEN, rows if before == data_sets.EMPTY else data_sets.joined(before, rows))
        else:
            self.extend(value.data, added.data.items, added.data.is_open)

    def write(self, slots: Slots, key: object, content: object) -> None:
        if slots.of is not None:
            raise SharedChanged(slots.of)
        self.journal.append((slots, key, slots.get(key, ABSENT)))
        slots[key] = content

    def remove(self, slots: Slots, key: object) -> None:
        if slots.of is not None:
            raise SharedChanged(slots.of)
        self.journal.append((slots, key, slots.pop(key, ABSENT)))

    def undo(self, mark: int, start: int) -> Writes:
        """Undo the changes since a mark; their results by place. Objects that were made since then keep theirs."""
        found: Writes = {}
        changes = [each for each in self.journal[mark:] if each[0].born < start]
        for slots, key, _ in changes:
            found[id(slots), key] = (slots, key, slots.get(key, ABSENT))
        for slots, key, before in reversed(changes):
            if before is ABSENT:
                slots.pop(key, None)
            else:
                slots[key] = before
        del self.journal[mark:]
        return found

    def opened(self, value: Value) -> None:
        """Note that code which is not understood may change an object."""
        self.opened_objects(value)
        if isinstance(value.data, Container) and not isinstance(value.data, (Class, Built)):
            slots = value.data.slots
            self.write(slots, OPEN, True)
            for key, each in list(slots.items()):
                if isinstance(each, Value) and isinstance(each.data, (Mapping, Sequence, Instance)) and not each.data.is_open:
                    self.opened(each)
                elif isinstance(each, Value) and not isinstance(each.data, (Choice, Function)):
                    self.write(slots, key, unknown(NOT_UNDERSTOOD))
            if isinstance(value.data, Sequence):
                self.write(slots, ITEMS, ())

    def opened_objects(self, value: Value) -> None:
        """Note that code may change the objects that an unknown value may be, or the object of a method that it may be."""
        for each in value.objects:
            data = each.data
            owner = data.owner if isinstance(data, Method) else data.bound if isinstance(data, Function) else each
            if owner is not None:
                self.opened(owner)
