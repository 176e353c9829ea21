"""The same tree as text in many manners: what PyYAML or json reads from it is always that tree, types included."""

from __future__ import annotations

import datetime
import json
from math import isnan

import yaml

PLAIN = (type(None), bool, int, float, str, datetime.date)
TRUE = ("true", "True", "TRUE", "yes", "Yes", "on", "On")
FALSE = ("false", "False", "FALSE", "no", "No", "off", "Off")
NULL = ("null", "~", "Null", "NULL")
WORDS = ("# why", "# see the note", "#", "# key: value", "# 'quoted", '# "', "# [", "# é 😀")


LONGEST = 1000  # of a key: YAML takes none that is longer without a question mark


class Unspeakable(Exception):
    """A tree that these writers have no text for, such as one with a key that is no text."""


def write(tree, syntax, rng, *, lax=False):
    """A tree as a text in some manner. `lax`: hjson's liberties are allowed in JSON."""
    return Yaml(rng).document(tree) if syntax == "yaml" else Json(rng, lax).document(tree)


def check_speakable(tree):
    """Raise Unspeakable unless all keys are texts of no great length and all leaves plain."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if not isinstance(key, str) or len(key) > LONGEST:
                raise Unspeakable(repr(key))
            check_speakable(value)
    elif isinstance(tree, list):
        for item in tree:
            check_speakable(item)
    elif type(tree) not in PLAIN or (isinstance(tree, str) and any("\ud800" <= char <= "\udfff" for char in tree)):
        raise Unspeakable(ascii(tree))


class Yaml:
    """One manner of YAML: drawn once for the document, and anew where a document may be of two minds."""

    def __init__(self, rng):
        self.rng = rng
        self.indent = rng.choice((2, 2, 2, 3, 4, 8))
        self.dashes = rng.choice((0, self.indent))  # lists below a key may stand at its column
        self.flow = rng.choice((0, 0, 0.15, 1))
        self.comments = rng.choice((0, 0, 0.2))
        self.blank = rng.choice((0, 0, 0.2))
        self.quoted = rng.choice((0, 0.1, 1))
        self.spellings = rng.choice((0, 0, 0.5))
        self.anchors = rng.choice((0, 0, 0, 0.3))
        self.known = []  # (anchor, value) of what may be repeated by an alias

    def chance(self, share):
        """True that often."""
        return bool(share) and self.rng.random() < share

    def document(self, tree):
        """The text of a whole document."""
        check_speakable(tree)
        body = self.body(tree)
        rng = self.rng
        head = rng.choice(("", "", "", "---\n", "# head\n", "%YAML 1.1\n---\n", "\n\n", "--- # head\n"))
        text = head + body + ("" if body.endswith("\n") else "\n") + rng.choice(("", "", "", "...\n", "# tail\n", "\n\n"))
        if rng.random() < 0.1:
            text = text.rstrip("\n")
        if rng.random() < 0.15:
            text = text.replace("\n", "\r\n")
        return ("\ufeff" if rng.random() < 0.1 else "") + text

    def body(self, tree):
        """The root in block style, or in flow style."""
        if not isinstance(tree, (dict, list)) or not tree or self.flow == 1:
            return self.inline(tree)
        return "".join(self.block(tree, 0))

    def block(self, tree, column):
        """The lines of a collection that is not empty."""
        pad = " " * column
        if isinstance(tree, list):
            for item in tree:
                yield from self.between(pad)
                yield f"{pad}- {self.item(item, column + 2)}"
            return
        for key, value in tree.items():
            yield from self.between(pad)
            yield f"{pad}{self.key(key)}:{self.value(value, column)}"

    def between(self, pad):
        """What may stand between two entries."""
        if self.chance(self.blank):
            yield "\n"
        if self.chance(self.comments):
            yield f"{pad}{self.rng.choice(WORDS)}\n"

    def item(self, value, column):
        """An item of a list, behind its dash."""
        if isinstance(value, (dict, list)) and value and not self.chance(self.flow):
            return "".join(self.block(value, column))[column:] if not self.comments and not self.blank else self.inline(value) + "\n"
        return self.inline(value) + self.end()

    def value(self, value, column):
        """What stands behind the colon of a key, to the end of its lines."""
        if isinstance(value, (dict, list)) and value and not self.chance(self.flow):
            alias = self.alias(value)
            if alias:
                return f" {alias}{self.end()}"
            anchor = self.anchor(value)
            deeper = column + (self.dashes if isinstance(value, list) else self.indent)
            return f"{anchor}{self.end()}" + "".join(self.block(value, deeper))
        if isinstance(value, str) and self.is_paragraph(value) and self.chance(0.5):
            keep = "" if value.endswith("\n") else "-"
            lines = value.removesuffix("\n").split("\n")
            return f" |{keep}\n" + "".join(" " * (column + self.indent) + line + "\n" for line in lines)
        if value is None and self.chance(self.spellings):
            return self.end()
        return " " * self.rng.choice((1, 1, 1, 2, 5)) + self.inline(value) + self.end()

    def is_paragraph(self, value):
        """Whether a text may stand as a literal block, as it is."""
        lines = value.removesuffix("\n").split("\n")
        return all(line and line.isascii() and line.isprintable() and line[0] not in " \t" for line in lines)

    def end(self):
        """The end of a line, with or without a comment."""
        return f" {self.rng.choice(WORDS)}\n" if self.chance(self.comments) else self.rng.choice(("\n", "\n", "\n", " \n"))

    def anchor(self, value):
        """An anchor for a collection that comes again, or for no reason."""
        if not self.chance(self.anchors):
            return ""
        name = f"a{len(self.known)}"
        self.known.append((name, value))
        return f" &{name}"

    def alias(self, value):
        """An alias for a collection that was written before."""
        found = [name for name, known in self.known if same(known, value)]
        return f"*{found[0]}" if found else ""

    def key(self, key):
        """A key, quoted or not."""
        return self.text(key, self.quoted == 1 and self.rng.random() < 0.8)

    def inline(self, value):
        """A value on one line."""
        gap = self.rng.choice(("", "", " "))
        if isinstance(value, dict):
            pairs = (f"{self.key(key)}: {self.inline(item)}" for key, item in value.items())
            return "{" + gap + ", ".join(pairs) + gap + "}"
        if isinstance(value, list):
            return "[" + gap + ", ".join(map(self.inline, value)) + gap + "]"
        if isinstance(value, str):
            return self.text(value, self.chance(self.quoted))
        return self.rng.choice(self.spelled(value)) if self.chance(self.spellings) else self.spelled(value)[0]

    def spelled(self, value):
        """The ways to write a scalar that is no text, the usual one first."""
        if value is None:
            return NULL
        if value is True:
            return TRUE
        if value is False:
            return FALSE
        if isinstance(value, int):
            return [str(value), f"{value:_}", f"+{value}" if value > 0 else str(value), f"{value:#x}" if value > 0 else str(value)]
        if isinstance(value, float):
            return floats(value)
        return [value.isoformat()]

    def text(self, value, quoted):
        """A text, bare where PyYAML then reads the same text."""
        if not quoted and is_bare(value):
            return value
        if value.isprintable() and value.isascii() and self.rng.random() < 0.5:
            return "'" + value.replace("'", "''") + "'"
        return json.dumps(value, ensure_ascii=not value.isprintable()).replace("\x7f", "\\x7f") if is_plane_one(value) else wide(value)


def same(one, other):
    """Whether two trees are the same, types included."""
    return repr(one) == repr(other)


def floats(value):
    """The ways to write a float in YAML 1.1, the usual one first."""
    if isnan(value):
        return [".nan", ".NaN", ".NAN"]
    if value in (float("inf"), -float("inf")):
        return [".inf", ".Inf"] if value > 0 else ["-.inf"]
    mantissa, mark, exponent = repr(value).partition("e")
    plain = mantissa + ("" if "." in mantissa else ".0") + (f"e{int(exponent):+d}" if mark else "")
    found = [plain, f"{value:.17e}", f"{value:.25f}", plain.removeprefix("0")]
    return [text for text in found if same(yaml.safe_load(text), value)]


def is_bare(value):
    """Whether a text may stand without quotes, as a key, in flow style, and as a value."""
    if not value or not value.isprintable() or value != value.strip() or any(mark in value for mark in ",[]{}:#&*!|>'\"%@`?\n"):
        return False
    try:
        return yaml.safe_load(f"[{value}]") == [value]
    except (yaml.YAMLError, ValueError):
        return False


def is_plane_one(value):
    """Whether JSON's escapes say the same to YAML: no character needs two of them."""
    return all(ord(char) < 0x10000 for char in value)


def wide(value):
    """A text in double quotes with YAML's longest escapes."""
    return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'


class Json:
    """One manner of JSON; with `lax` also comments, trailing commas, single quotes and bare keys."""

    def __init__(self, rng, lax):
        self.rng = rng
        self.step = rng.choice((None, None, "", "  ", "    ", "\t", " "))
        self.colon = rng.choice((": ", ":", " : "))
        self.comma = rng.choice((", ", ","))
        self.ascii = rng.random() < 0.5
        self.spelled = rng.random() < 0.3
        self.lax = lax
        self.bare = lax and rng.random() < 0.5
        self.trailing = lax and rng.random() < 0.5
        self.comments = 0.2 if lax and self.step is not None and rng.random() < 0.6 else 0

    def document(self, tree):
        """The text of a whole document."""
        check_speakable(tree)
        text = self.value(tree, "\n") + self.rng.choice(("", "\n", "\n", "\n\n"))
        return text.replace("\n", "\r\n") if self.rng.random() < 0.15 else text

    def value(self, value, line):
        """A value; `line` is the line break before its closing bracket."""
        if isinstance(value, dict):
            members = [f"{self.key(key)}{self.colon}{self.value(item, self.deeper(line))}" for key, item in value.items()]
            return self.collection("{}", members, line)
        if isinstance(value, list):
            return self.collection("[]", [self.value(item, self.deeper(line)) for item in value], line)
        if isinstance(value, float) and not abs(value) < float("inf"):
            raise Unspeakable("a number that hjson takes for text, to the end of its line")
        if isinstance(value, float) and self.spelled:
            texts = (json.dumps(value), f"{value:.17e}", f"{value:.20E}")
            return self.rng.choice([text for text in texts if same(json.loads(text), value)])
        if isinstance(value, datetime.date):
            raise Unspeakable("a date")
        return json.dumps(value, ensure_ascii=self.ascii)

    def deeper(self, line):
        """The line break before a member."""
        return line + (self.step or "")

    def collection(self, brackets, members, line):
        """An object or a list."""
        opening, closing = brackets
        if not members:
            return brackets
        if self.step is None:
            gap = self.rng.choice(("", " "))
            return f"{opening}{gap}{self.comma.join(members)}{',' if self.trailing else ''}{gap}{closing}"
        inner = self.deeper(line)
        commas = [","] * (len(members) - 1) + ["," if self.trailing else ""]
        lines = [f"{inner}{member}{comma}{self.comment()}" for member, comma in zip(members, commas, strict=True)]
        return opening + "".join(lines) + line + closing

    def comment(self):
        """A comment behind a member, or none."""
        if not self.comments or self.rng.random() > self.comments:
            return ""
        return self.rng.choice((" // why", " # why", " /* why */"))

    def key(self, key):
        """A key in quotes, or bare."""
        if self.bare and key.isidentifier() and key.isascii():
            return key
        return json.dumps(key, ensure_ascii=self.ascii)
