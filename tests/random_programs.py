"""Programs from seeds, with conditions and loops of which nobody knows what they do."""

from __future__ import annotations

import random

NAMES = ("a", "b", "c")


class Writer:
    """Writes a program from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = []

    def value(self):
        number = str(self.random.randrange(3))
        return self.random.choice((number, number, self.random.choice(NAMES), "box.n", *(f"{each}()" for each in self.functions)))

    def condition(self):
        return self.random.choice(("unknown()", "unknown()", f"{self.value()} == {self.value()}"))

    def block(self, depth, in_loop, in_function):
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, in_loop, in_function)]
        return [f"    {line}" for line in lines]

    def statement(self, depth, in_loop, in_function):
        kinds = ["set", "set", "set"]
        kinds += ["if", "if", "try", "for", "while"] if depth else []
        kinds += ["break", "continue"] if in_loop else []
        kinds += ["return"] if in_function else []
        kind = self.random.choice(kinds)
        if kind == "set":
            return [f"{self.random.choice((*NAMES, 'box.n', 'box.m'))} = {self.value()}"]
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
        lines = ["class Box:", "    n = m = 0", "box = Box()", "a = b = c = 0"]
        for number in range(self.random.randint(0, 2)):
            lines += [f"def f{number}():", "    a = b = c = 1", *self.block(2, False, True)]
            self.functions.append(f"f{number}")
        lines += [line for _ in range(4) for line in self.statement(3, False, False)]
        return "\n".join(lines)
