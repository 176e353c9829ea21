"""Programs from seeds, with conditions and loops of which nobody knows what they do."""

from __future__ import annotations

import random

NAMES = ("a", "b", "c")
RESULTS = (*NAMES, "box.n", "box.m", "other.n", "rows", "table", "len(table)", "sum(rows)", "bool(rows)")
CHANGES = (
    *("rows.append({})", "rows.extend([{}, 1])", "more = rows", "more.append({})", "more += [{}]", "rows = [{}]", "rows.clear()"),
    *("table['x'] = {}", "table.update(y={})", "table.setdefault('z', {})", "table.pop('x', None)", "table.clear()", "table = {{**table}}"),
    *(
        "box = other",
        "box = Box()",
        "other.n = {}",
        "box.set({})",
        "setattr(other, 'n', {})",
        "box.n += {}",
        "a, b = {}, {}",
        "table |= {{'y': {}}}",
    ),
)


class Writer:
    """Writes a program from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = []

    def value(self):
        number = str(self.random.randrange(3))
        sizes = ("len(rows)", "len(table)", "table.get('x', 3)", "sum(rows)", f"max({number}, a)", f"({number} if unknown() else b)")
        kinds = (number, number, self.random.choice(NAMES), "box.n", self.random.choice(sizes), *(f"{each}()" for each in self.functions))
        return self.random.choice(kinds)

    def condition(self):
        tests = ("unknown()", "unknown()", f"{self.value()} == {self.value()}", "'x' in table", "rows", "table", "unknown() and a > 1")
        return self.random.choice(tests)

    def block(self, depth, in_loop, in_function):
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, in_loop, in_function)]
        return [f"    {line}" for line in lines]

    def statement(self, depth, in_loop, in_function):
        kinds = ["set", "set", "change", "change"]
        kinds += ["if", "if", "try", "for", "while"] if depth else []
        kinds += ["break", "continue"] if in_loop else []
        kinds += ["return"] if in_function else []
        kind = self.random.choice(kinds)
        if kind == "set":
            return [f"{self.random.choice((*NAMES, 'box.n', 'box.m'))} = {self.value()}"]
        if kind == "change":
            change = self.random.choice(CHANGES)
            return [change.format(*(self.value() for _ in range(change.count("{}"))))]
        if kind in ("break", "continue"):
            return [kind]
        if kind == "return":
            return [f"return {self.value()}"]
        if kind == "if":
            other = ["else:", *self.block(depth - 1, in_loop, in_function)] if self.random.random() < 0.5 else []
            return [f"if {self.condition()}:", *self.block(depth - 1, in_loop, in_function), *other]
        if kind == "try":
            return [
                "try:",
                "    if unknown(): raise OSError",
                *self.block(depth - 1, in_loop, in_function),
                "except OSError:",
                *self.block(depth - 1, in_loop, in_function),
                *(["finally:", "    c = 2"] if self.random.random() < 0.3 else []),
            ]
        head = (
            "for each in (1, 2):"
            if kind == "for" and self.random.random() < 0.7
            else "for each in turns():"
            if kind == "for"
            else "while turn():"
        )
        other = ["else:", *self.block(depth - 1, in_loop, in_function)] if self.random.random() < 0.3 else []
        return [head, *self.block(depth - 1, True, in_function), *other]

    def program(self):
        lines = ["class Box:", "    n = m = 0", "    def set(self, n):", "        self.n = n", "box, other = Box(), Box()", "a = b = c = 0"]
        lines += ["rows, table = [1, 2], {'x': 1, 'y': 2}", "more = rows"]
        for number in range(self.random.randint(0, 2)):
            lines += [
                f"def f{number}():",
                "    a = b = c = 1",
                "    rows, table, more, box = [1], {'x': 2}, [2], other",
                *self.block(2, False, True),
            ]
            self.functions.append(f"f{number}")
        lines += [line for _ in range(4) for line in self.statement(3, False, False)]
        return "\n".join(lines)
