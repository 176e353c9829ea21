"""Why a row refuses: the keys of its condition, how they are set, a sentence about them, and changes that lift the refusal."""

from __future__ import annotations

import re
from math import gcd

from cfglint.evaluate import Unknown
from cfglint.findings._places import PLACES
from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.wording import counted, listed, spelled
from cfglint.frameworks.refusal import FAILURE, Removal, Words
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.rows.evaluation import every, value_at
from cfglint.frameworks.rows.expressions import Path, Raised, Row, State, walk
from cfglint.source.annotations import Any, Callable, ConfigTable, Iterable, Iterator, Mapping, Sequence
from cfglint.source.record import Record

# How the value of a key makes a condition hold.
SET, UNSET, IS, IS_NOT, ABOVE, BELOW, OTHER = "set", "unset", "is", "is not", "above", "below", "other"
OF_TYPE = "of a type"
COMPARED = {"<": "is below", "<=": "is not above", ">": "is above", ">=": "is not below", "==": "is", "!=": "differs from"}
OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
REVERSED = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
FIELDS = ("f", "f?", "f!", "has")
CONVERSIONS = ("member", "named")  # to members of an Enum
ENTRIES = ("get", "attr", "at", "getattr")
CONTAINERS = ("dict", "list", "tuple")
CONVERTING = (*(["m", name] for name in ("lower", "upper", "strip")), *(["call", name] for name in ("str", "bool", "int")))
DEEPEST = 12
PARSERS = ("json_parse_to_dict", "parse_to_dict", "is_port_in_use", "fsencode")  # of one value: the mapping that a string stands for, ...
MOST_REASONS = 4
MOST_CHOICES = 6
MOST_LISTED = 16  # of the values that a key may have
MOST_REMEDIES = 3
SMALL = 1e-3  # what is above less than this is simply set
MOST_TRIED = 1000  # numbers that are tried as a divisor


class Cause(Record):
    """A key of a condition that holds: `how` its value makes it hold, and the value or values that it is compared with."""

    path: Path
    how: str
    values: Sequence[Any] = ()

    @property
    def key(self) -> str:
        return ".".join(self.path)

    @property
    def fulfilled(self) -> bool:
        """Whether the key is set to what the condition asks for."""
        return self.how in (SET, IS, ABOVE)


class Condition:
    """The condition under which a row of a function raised, with the values of that moment: `reasons` are the keys that make it hold.

    A field that a row set counts as what it was made of, unless it is `written`.
    """

    def __init__(self, row: Row, rows: Iterable[Row], run: State, written: Mapping[str, Any]) -> None:
        self.row = row
        self.run = run
        self.written = written
        self.division: tuple[Any, Any] | None = None  # that should leave no rest
        self.is_compared = False  # two keys with each other
        self.comparison: tuple[str, Any, Any] | None = None  # of two amounts that holds
        self.converts = any(isinstance(each, list) and each[:1] in (["member"], ["named"]) for each in walk(row.get("be")))
        self.kept = {each.get("let") or each["each"]: each for each in every(rows) if "let" in each or "each" in each}
        parts = [row["be"]] if self.converts else [row.get("be"), row.get("try"), row.get("in"), *row["when"]]
        parts = row["when"] if "raise" in row else parts
        found: dict[tuple[Path, str], Cause] = {}
        for part in parts:
            for reason in self._of(part, True):
                other = found.setdefault((reason.path, reason.how), reason)
                if other is not reason and reason.how == IS_NOT:
                    other.values = [*other.values, *(value for value in reason.values if value not in other.values)]
        paths = [path for path, how in found if how != OF_TYPE]
        for reason in [*found.values()]:
            if reason.how == OF_TYPE:  # only if nothing else is said of the key
                del found[reason.path, OF_TYPE]
                found |= {} if reason.path in paths else {(reason.path, OTHER): Cause(reason.path, OTHER)}
        self.reasons = []
        for reason in found.values():  # unless others with the same key say more: which value it has, rather than that it has one
            others = {how for path, how in found if path == reason.path}
            if reason.how == OTHER:
                is_needless = not others <= {OTHER, IS_NOT}
            elif reason.how == IS_NOT:
                is_needless = bool(others & {OTHER, BELOW}) or (SET in others and value_at(run.values, reason.path) is True)
            else:
                is_needless = reason.how == SET and bool(others & {IS, ABOVE})
            self.reasons += [] if is_needless else [reason]

    def _of(self, part: Any, wanted: bool, depth: int = 0) -> Iterator[Cause]:
        """The reasons why a part of the condition is true, or false if that is wanted."""
        if not isinstance(part, list) or not part or depth > DEEPEST:
            return
        operator = part[0]
        made = self.run.changed.get(part[1], {}) if operator in FIELDS and isinstance(part[1], str) else {}
        if wanted and made.get("be") is True and value_at(self.written, (part[1],)) is not True:
            yield from self._of(["and", *made["when"]], wanted, depth + 1)
            return
        path = self.path(part) if operator not in CONVERSIONS else None
        if path:
            yield Cause(path, SET if wanted else UNSET)
        elif operator == "v" and part[1] in self.kept:
            row = self.kept[part[1]]
            whole = ["and", *row["when"], row.get("be", row.get("in"))]
            yield from self._of(whole if wanted else whole[-1], wanted, depth + 1)
        elif operator in ("and", "or"):
            inner = part[1:] if (operator == "and") == wanted else [self._deciding(part[1:], wanted)]
            for each in inner:
                yield from self._of(each, wanted, depth + 1)
        elif operator == "not":
            yield from self._of(part[1], not wanted, depth + 1)
        elif operator in CONVERSIONS and (path := self.path(part[1])):
            names = [value if operator == "member" and isinstance(value, str) else name for _, name, value in part[3][1:]]
            yield Cause(path, IS_NOT, [name for name in names if not name.startswith("_")])
        elif operator == "is a" and wanted and (path := self.path(part[1])):
            yield Cause(path, OF_TYPE)
        elif operator == "fails" and wanted:
            for each in part[1][1:]:
                yield from self._of(each, wanted, depth + 1)
        elif operator == "call" and part[1] in ("any", "bool") and len(part) == 3:
            yield from self._of(part[2], wanted, depth + 1)
        elif operator in ("==", "!=") and part[2] == 0 and isinstance(part[1], list) and part[1][0] == "%":
            self.division = (part[1][1], part[1][2]) if (operator == "!=") == wanted else None
            for path in dict.fromkeys(path for side in part[1][1:] for factor in self.factors(side) for path in self.paths(factor)):
                yield Cause(path, OTHER)
        elif operator in ("==", "is", "!=", "is not", "in", "not in") and (path := self.path(part[1])):
            yield from self._compared(path, operator, part[1], part[2], wanted)
        elif operator in REVERSED and (path := self.path(part[1])) and isinstance(part[2], int | float):
            direction = operator if wanted else REVERSED[operator]
            limit = part[2] + {">=": -1, "<=": 1}.get(direction, 0)
            yield Cause(path, ABOVE if direction[0] == ">" else BELOW, (limit, part[2]) if limit != part[2] else (limit,))
        else:
            if operator in COMPARED:
                self.is_compared = True
                self.comparison = (operator if wanted else OPPOSITE[operator], part[1], part[2])
            for path in dict.fromkeys(self.paths(part)):
                yield Cause(path, OTHER)

    def _compared(self, path: Path, operator: str, expression: Any, other: Any, wanted: bool) -> Iterator[Cause]:
        """The reasons of a comparison of a key with constants, or with anything else."""
        positive = (operator in ("==", "is", "in")) == wanted
        values = other[1:] if isinstance(other, list) and other[:1] in (["list"], ["tuple"], ["set"]) else [other]
        if any(isinstance(value, list) for value in values):
            if operator in OPPOSITE:
                self.comparison = (operator if wanted else OPPOSITE[operator], expression, other)
            for each in dict.fromkeys([path, *self.paths(other)]):
                yield Cause(each, OTHER)
        elif [*values] == [None] or (len(values) == 1 and values[0] is False and value_at(self.run.values, path) is not False):
            yield Cause(path, UNSET if positive else SET)
        else:
            yield Cause(path, IS if positive else IS_NOT, values)

    def _deciding(self, parts: Sequence[Any], wanted: bool) -> Any:
        for part in parts:
            try:
                truth = self.run.truth(part)
            except Raised:
                continue
            if not isinstance(truth, Unknown) and truth is wanted:
                return part
        return None

    def path(self, expression: Any) -> Path | None:
        """The path of the key that an expression is the value of, also where it is converted or has a default."""
        if not isinstance(expression, list) or not expression:
            return None
        operator = expression[0]
        if operator in FIELDS and isinstance(expression[1], str):
            source = self.source(expression[1])
            return (expression[1],) if source is None else self.path(source)
        if operator in ENTRIES and isinstance(expression[2], str | int):
            inner = self.path(self.kept.get(expression[1][1], {}).get("be", expression[1]) if expression[1][:1] == ["v"] else expression[1])
            return (*inner, expression[2]) if inner and isinstance(expression[2], str) else inner
        if operator == "or" and len(expression) == 3 and (not isinstance(expression[2], list) or expression[2][0] in CONTAINERS):
            return self.path(expression[1])
        if expression[:2] in CONVERTING:
            return self.path(expression[2])
        if operator == "v" and "each" in self.kept.get(expression[1], ()):
            return self._item(self.kept[expression[1]], self.run.kept.get(expression[1]))
        if operator == "fact" and expression[1] in PARSERS:
            return self.path(expression[2])
        if operator == "if":
            return self.path(self.taken(expression))
        return self.path(expression[1]) if operator in ("value", *CONVERSIONS) else None

    def taken(self, choice: Any) -> Any:
        """The alternative of a choice that holds; None if the condition fails, as on a section that is null."""
        try:
            return choice[2 if self.run.truth(choice[1]) is True else 3]
        except Raised:
            return None

    def source(self, name: str) -> Any:
        """What a row made a field of; None if it is written, or made of nothing else."""
        made = self.run.changed.get(name, {}).get("be")
        is_derived = made is not None and self.written.get(name) is None and ["f", name] not in walk(made)
        return made if is_derived and any(part[:1] == ["f"] for part in walk(made) if isinstance(part, list)) else None

    def factors(self, expression: Any) -> list[Any]:
        """The factors of a product, whose derived fields and alternatives are replaced by what they are."""
        operator = expression[0] if isinstance(expression, list) else ""
        if operator == "*":
            return [factor for part in expression[1:] for factor in self.factors(part)]
        if operator == "or":
            return self.factors(self._deciding(expression[1:], True) or expression[-1])
        if operator == "if":
            return [] if (taken := self.taken(expression)) is None else self.factors(taken)
        if operator == "f" and (source := self.source(expression[1])) is not None:
            return self.factors(source)
        return [expression]

    def _item(self, loop: Row, item: Any) -> Path | None:
        """The path of the item that a loop over a list, or over the keys of a mapping, is at."""
        section = next(self.paths(loop["in"]), None)
        value = value_at(self.run.values, section) if section else None
        if section and not isinstance(value, dict | list) and isinstance(value_at(self.written, section), str):
            return section  # one of its words
        if isinstance(value, dict) and isinstance(item, str):
            return (*(section or ()), item)
        sought = (item, *(item if isinstance(item, tuple) else ()))
        indices = (index for index, each in enumerate(value if isinstance(value, list) else []) if any(each is one for one in sought))
        index = next(indices, None)
        return None if index is None else (*(section or ()), str(index))

    def paths(self, expression: Any, depth: int = 0) -> Iterator[Path]:
        if isinstance(expression, list) and depth < DEEPEST:
            path = self.path(expression)
            if path:
                yield path
            elif expression[:1] == ["v"] and "let" in self.kept.get(expression[1], ()):
                yield from self.paths(self.kept[expression[1]]["be"], depth + 1)
            elif expression[:1] == ["f"] and (source := self.source(expression[1])) is not None:
                yield from self.paths(source, depth + 1)
            else:
                for part in expression:
                    yield from self.paths(part, depth + 1)


class Explanation:
    """A refusal by a check in words: its keys with the place of the finding first, the sentence, and the remedies."""

    def __init__(self, condition: Condition, check: str, said: str, words: Words) -> None:
        written = condition.written
        if check == FAILURE:  # it did not come to a division
            condition.division = None
        self.condition = condition
        self.said = said
        self.values = condition.run.values
        self.words = words
        machine = {path[0] for path in words.machine}
        wheres = [words.machine.get(reason.path, "") for reason in condition.reasons]
        self.where = "".join(filter(None, wheres))
        causes = [reason for reason in condition.reasons if reason.path[0] not in machine]
        self.read = [*dict.fromkeys(cause.path[0] for cause in causes)]
        # A section counts only where none of its keys does, and a key of a complicated condition only if it is set.
        causes = [cause for cause in causes if not any(other.path != cause.path == other.path[: len(cause.path)] for other in causes)]
        self.is_simple = 0 < len(causes) <= MOST_REASONS and not any(cause.how in (OTHER, BELOW) for cause in causes)
        by_default = any(cause.how == IS and value_at(written, cause.path[:1]) is None for cause in causes)
        self.is_simple = self.is_simple and not condition.is_compared and not by_default and None not in wheres
        causes = [
            cause
            for cause in causes
            if cause.how != OTHER or value_at(written, cause.path[:1]) is not None or self.place_in_message(cause) >= 0
        ]
        self.is_changeable = any(cause.fulfilled and not self.is_kept(cause) for cause in causes)
        first = PLACES.get(check, ())
        ranked = sorted(enumerate(causes), key=lambda item: (*self.rank(item[1], written, first), item[0]))
        self.reasons = [cause for _, cause in ranked]
        self.named = [reason for reason in self.reasons if self.place_in_message(reason) >= 0]

    def rank(self, reason: Cause, written: Mapping[str, Any], first: Sequence[str]) -> tuple[int, bool, bool, bool, int]:
        """The order of the keys: those of the page, those that are written, that may be changed, and that the framework's message names."""
        is_unset = value_at(written, reason.path[:1]) is None
        listed = reason.key in first and not (is_unset and reason.how == OTHER)
        place = self.place_in_message(reason)
        later = self.is_kept(reason) if self.is_changeable else not reason.fulfilled
        return first.index(reason.key) if listed else len(first), is_unset, later, place < 0, place

    def is_kept(self, reason: Cause) -> bool:
        return reason.path[-1] in self.words.kept

    def place_in_message(self, reason: Cause) -> int:
        """Where the framework's message names the key; -1 if it does not."""
        match = re.search(rf"(?<!\w){re.escape(reason.path[-1])}(?!\w)", self.said)
        return match.start() if match else -1

    @property
    def keys(self) -> list[str]:
        return [*dict.fromkeys(reason.key for reason in self.reasons)]

    @property
    def missing(self) -> list[Cause]:
        """What the condition lacks; where the framework's message names some of it, that."""
        causes = [reason for reason in self.reasons if not reason.fulfilled]
        return [reason for reason in causes if reason in self.named] or causes

    @property
    def sentence(self) -> str:
        """What is wrong, in the field's words where the condition is simple, else in those of the framework."""
        if self.said and any(self.is_other(reason.path) for reason in self.reasons):
            return self.quoted()
        if self.condition.division is not None:
            number, divisor = map(self.amount, self.condition.division)
            return f"{number} is not a multiple of {divisor}"
        if len(self.reasons) == 1 and self.reasons[0].how in (ABOVE, BELOW):
            reason, is_strict = self.reasons[0], len(self.reasons[0].values) > 1
            bound = ("below" if is_strict else "at most") if reason.how == ABOVE else ("above" if is_strict else "at least")
            return f"`{reason.key}` is {value_at(self.values, reason.path)}; it must be {bound} {reason.values[-1]}{self.where}"
        if "raise" not in self.condition.row and self.reasons and not self.condition.converts:
            value = value_at(self.values, self.reasons[0].path)
            return f"`{self.reasons[0].key}` is {spelled(value)}: {self.quoted()}"
        if not self.is_simple or "deprecated" in self.said:
            return self.quoted()
        missing = self.missing
        lacking = {reason.path for reason in missing}
        held = [reason for reason in self.reasons if reason.fulfilled and reason.path not in lacking]
        value = value_at(self.values, missing[0].path) if len(missing) == 1 else None
        if not held and value is not None and missing[0].how == IS_NOT:
            choices = [spelled(choice) if isinstance(value, str) else str(choice) for choice in missing[0].values]
            if len(choices) > MOST_LISTED:
                return f"`{missing[0].key}` is {spelled(value)}, which is not a valid choice"
            return f"`{missing[0].key}` is {spelled(value)}; it must be {listed(choices)}"
        written = self.condition.written
        if len(held) > 1 and not (missing and (missing[0] in self.named or value_at(written, missing[0].path) is not None)):
            first, *others = held
            under = [reason for reason in others if self.is_kept(reason)] if len(others) > 1 else []
            rivals = [reason for reason in others if reason not in under]
            if not rivals:
                rivals, under = others, []
            suffix = f" under {self.joined(under)}" if under else ""
            return f"{self.subject(first)} is incompatible with {self.joined(rivals)}{suffix}{self.where}"
        if held and missing and sum(len(reason.values) for reason in missing) <= MOST_CHOICES:
            verb = "requires" if len(held) == 1 else "require"
            return f"{self.joined(held)} {verb} {listed([self.needed(reason) for reason in missing])}{self.where}"
        if len(held) == 1 and self.where and not missing:
            return f"{self.subject(held[0])} is not supported{self.where}"
        return self.quoted()

    def is_other(self, path: Path) -> bool:
        """Whether the framework gave a key another number than the one that is written."""
        written = value_at(self.condition.written, path)
        return isinstance(written, int | float) and written != value_at(self.values, path)

    def amount(self, expression: Any) -> str:
        """A number of the condition, with the keys that it is made of."""
        value, factors = self.condition.run.eval(expression), self.condition.factors(expression)
        texts = [self.factor(factor) for factor in factors]
        if all(texts):
            return " x ".join(texts) + (f" = {value}" if len(texts) > 1 else "")
        machine = {each[0] for each in self.words.machine}
        paths = [path for path in dict.fromkeys(self.condition.paths(expression)) if path[0] not in machine]
        keys = [f"`{'.'.join(path)}`" for path in paths if value_at(self.values, path) is not None]
        return f"{value} (of {listed(keys, 'and')})" if keys else str(value)

    def factor(self, expression: Any) -> str:
        """A key with its value, or a number of the machine; empty for anything else."""
        path, value = self.condition.path(expression), self.condition.run.eval(expression)
        measured = self.condition.path(expression[2]) if isinstance(expression, list) and expression[:2] == ["call", "len"] else None
        if measured and measured not in self.words.machine:
            return f"the length of `{'.'.join(measured)}` ({value})"
        if not path:
            return ""
        return counted(value, self.words.counted[path]) if path in self.words.counted else f"`{'.'.join(path)}` ({value})"

    def quoted(self) -> str:
        """The framework's own words, with its keys as findings write them; for a refusal without a message the condition."""
        if not self.said and self.condition.comparison is not None:
            operator, left, right = self.condition.comparison
            return f"{self.amount(left)} {COMPARED[operator]} {self.amount(right)}"
        if not self.said and self.missing:
            return f"{listed([self.needed(reason) for reason in self.missing])} must be set"
        if not self.said:
            return f"{self.joined(self.reasons)} cannot be set" + (" together" if len(self.reasons) > 1 else "")
        text = first_words(self.said)
        for reason in self.named:
            if "_" in reason.path[-1]:
                written = rf"(?<![`\w.='\"]){re.escape(reason.path[-1])}(?![`\w.='\"])(: [a-z0-9_]+(?![`\w.='\"]))?"
                text = re.sub(written, r"`\g<0>`", text, count=1)
        return text

    def joined(self, reasons: Sequence[Cause]) -> str:
        return listed([self.subject(reason) for reason in reasons], "and")

    def subject(self, reason: Cause) -> str:
        """A key of a condition as a message names it: `key`, `key: value`, `key` above 1."""
        value = value_at(self.values, reason.path)
        if reason.how in (ABOVE, BELOW) and not 0 < reason.values[0] < SMALL:
            return f"`{reason.key}` {reason.how} {reason.values[0]}"
        if value is False or ((reason.how == IS or self.is_kept(reason)) and value is not True and isinstance(value, str | int | float)):
            return f"`{reason.key}: {'false' if value is False else value}`"
        return f"`{reason.key}`"

    def needed(self, reason: Cause) -> str:
        """What a key should be as a message names it."""
        choices = [str(value) for value in reason.values if value is not None]
        if reason.how == UNSET or [*reason.values] == [True]:
            return f"`{reason.key}: true`" if self.words.is_flag(reason.key) else f"`{reason.key}`"
        return listed([f"`{reason.key}: {choices[0]}`", *(f"`{choice}`" for choice in choices[1:])])

    def remedies(self, values: Mapping[str, Any], lifts: Callable[[ConfigTable, str], bool]) -> list[Remedy | str | Removal]:
        """Changes of one key of some values, at most one a key, that lift the refusal, as `lifts` tells of changed values and key."""
        found: dict[str, Remedy | str | Removal] = {}
        held = [cause for cause in self.reasons if cause.fulfilled or cause.how in (OTHER, BELOW)]
        missing = [cause for cause in self.missing if cause in self.named or len(held) < 2]
        for reason in (*missing, *held):
            for value, step in self.changes(reason) if reason.key not in found else ():
                if lifts(changed(values, reason.path, value), reason.path[-1]):
                    found[reason.key] = step
                    break
        instead = re.search(r"[Uu]se ((`\w+`(, | and | or )?)+)", self.said)
        if instead and any(f"`{reason.key}`" in instead[1] for reason in self.reasons):
            instead = None  # it says how to use the key
        advice = [f"use {instead[1].rstrip(', ')}"] if instead and all(isinstance(step, Removal) for step in found.values()) else []
        return [*advice, *found.values()][:MOST_REMEDIES]

    def advised(self, reason: Cause) -> list[str]:
        """The values for a key that the framework's message names: `key: value`, or `use value instead`."""
        advised = re.findall(rf"(?<!\w){re.escape(reason.path[-1])}`?[:=] ?['`\"]?(\w+)", self.said)
        is_text = isinstance(value_at(self.values, reason.path), str)
        return advised + (re.findall(r"[Uu]se ['`\"]?(\w+)['`\"]? instead", self.said) if is_text else [])

    def changes(self, reason: Cause) -> Iterator[tuple[Any, Remedy | str | Removal]]:
        """Values of a key that may lift the refusal, each with the instruction."""
        key, value = reason.key, value_at(self.values, reason.path)
        for words in self.advised(reason):
            advised = {"true": True, "false": False}.get(words.lower(), int(words) if words.isdecimal() else words)
            if advised not in (value, "None"):  # which is what the message found
                yield advised, set_key(key, advised)
        if reason.how == UNSET:
            yield True, set_key(key, True) if self.words.is_flag(key) else f"set `{key}`"
        elif reason.how == IS_NOT:
            choices = [each for each in reason.values if each is not None]
            if len(choices) > 1 and all(isinstance(each, str) for each in (value, *choices)):
                yield choices[0], choice(key, value, choices)
            for each in choices:
                yield each, set_key(key, each)
        elif reason.how == BELOW or (reason.how == ABOVE and reason.values[0] in (0, 1)):
            yield reason.values[0], set_key(key, reason.values[0])
        elif self.condition.division is not None and type(value) is int and value > 0 and not self.is_kept(reason):
            for number in self.divisible(reason.path, value):
                yield number, set_key(key, number)
        elif (bound := self.bound(reason)) is not None:
            yield bound, set_key(key, bound)
        elif not self.is_kept(reason):
            yield None, Removal(key, value if isinstance(value, str) and reason.how in (IS, OTHER) else "")
            if value is True and self.words.is_flag(key):
                yield False, set_key(key, False)

    def bound(self, reason: Cause) -> int | None:
        """The nearest value of a key with which a comparison with an amount does not hold; None if the condition is not one."""
        operator, left, right = self.condition.comparison or ("", None, None)
        for own, other, step in ((left, right, {"<=": 1, ">=": -1}), (right, left, {"<=": -1, ">=": 1})):
            if operator in REVERSED and self.condition.path(own) == reason.path:
                limit = self.condition.run.eval(other)
                return limit + step.get(operator, 0) if type(limit) is int else None
        return None

    def divisible(self, path: Path, value: int) -> Iterator[int]:
        """Values for a key with which a division leaves no rest: divisors, the nearest first, or the next multiple."""
        number, divisor = map(self.condition.run.eval, self.condition.division or ())
        condition = self.condition
        of_number, of_divisor = ([*map(condition.path, condition.factors(side))] for side in condition.division or ())
        if not isinstance(number, int) or not isinstance(divisor, int) or number <= 0:
            return
        if of_divisor == [path]:
            below = [each for each in range(1, min(number, MOST_TRIED) + 1) if number % each == 0]
            yield from sorted(below, key=lambda each: abs(each - value))
        elif path in of_number and number % value == 0 and divisor > 0:
            step = divisor // gcd(number // value, divisor)
            yield (value // step + 1) * step


def first_words(said: str) -> str:
    """The first sentence of a message of a framework, as a finding is written."""
    text = " ".join(said.split())
    for mark in (". ", "! ", "; "):
        head, found, _ = text.partition(mark)
        if found and len(head) > 20 and not head.endswith(("e.g", "i.e", "etc")):
            text = head
    text = text.rstrip(".! ")
    word, _, rest = text.partition(" ")
    return text[:1].lower() + text[1:] if word[1:].islower() and word.isalpha() and not rest[:1].isupper() else text


def changed(values: Mapping[str, Any], path: Path, value: object) -> ConfigTable:
    """A copy of values with another one at a path; without the key if it is None."""
    step, *inner = path
    copy = dict(values)
    section = copy.get(step)
    if inner and isinstance(section, list) and inner[0].isdecimal():
        items = dict(zip(map(str, range(len(section))), section, strict=True))
        copy[step] = [*changed(items, tuple(inner), value).values()]
    elif inner:
        copy[step] = changed(section if isinstance(section, dict) else {}, tuple(inner), value)
    elif value is None:
        copy.pop(step, None)
    else:
        copy[step] = value
    return copy
