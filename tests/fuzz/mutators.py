"""Small changes to a text or its tree: bytes, lines, tokens, keys, values, manners."""

from __future__ import annotations

import copy
import json
import os
import re

import yaml
from seeds import NAMES, Case, own_keys
from styles import Unspeakable, write

from cfglint.frameworks import file_kinds

SYNTAXES = {".json": "json", ".jsonc": "json", ".hjson": "json", ".config": "json", ".yaml": "yaml", ".yml": "yaml"}
TOKEN = re.compile(r"[\w.+-]+|\s+|[^\w\s]")
NUMBERS = (0, 1, -1, 2, 3, 4, 7, 8, 16, 64, 100, 1000, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63, 10**20, -(2**31), 10**400)
FLOATS = (0.0, -0.0, 0.1, 0.5, 1.0, 1.5, 2.0, -0.5, 1e-8, 2e-5, 5e8, 1e16, 1e22, 1e308, 5e-324, float("inf"), -float("inf"), float("nan"))
TEXTS = ("", " ", "auto", "none", "None", "null", "true", "false", "1", "0", "-1", "8", "1e-5", "5e8", "0.5", "1e400", "nan", "010")
TEXTS += ("1:30", "1_000", "cpu", "nvme", "cosine", "linear", "AdamW", "adam", "steps", "epoch", "no", "fp16", "bf16", "bfloat16", "Steps")
TEXTS += ("é", "😀", "a b", "x" * 3000, "a\nb", "a: b", "# a", "'", '"', "\\", "ds_config.json", "train.yaml", "/dev/null", "..", "\u2028")
TEXTS += ("\x7f", "\x1b[31m", "<b>", "${a}", "a,b", "y" * 200)
ODD = ("\0", "\x85", "\u2028", "\ufeff", "\ud800", "\x0b", "\x7f", "\x1b", "\t", "\r", "\n", "\r\n", "😀", "é", "\u00a0", "\u202e")
PIECES = ("{", "}", "[", "]", ",", ":", ": ", "- ", "#", " # ", "//", "/*", "*/", "'", '"', "'''", "\\", "|\n ", ">-\n  ", "&a ", "*a")
PIECES += ("!!str ", "<<: ", "<<: *a\n", "? ", "~", "yes", "1e5", "1.0e+5", "0x1", "NaN", "---\n", "...\n", "%YAML 1.1\n", "@", "`")
PIECES += ("!!int ", "!!python/none ", "=", "null", "-")
FACTS = (["--gpus", "1"], ["--gpus", "8"], ["--gpus", "7"], ["--gpus", "1000000"], ["--run"], ["--strict-keys"])
FACTS += (["--num-examples", "1000"], ["--num-examples", "1"], ["--target", "transformers==4.30.0"], ["--target", "transformers==5.0.0"])
FACTS += (["--target", "deepspeed==0.10.0"], ["--target", "deepspeed==0.16.0"], *(["--kind", kind] for kind in file_kinds()))


class Mutator:
    """Draws mutants of cases with a random number generator."""

    def __init__(self, rng):
        self.rng = rng
        self.keys = own_keys()
        self.by_kind = {}
        for kind, path, schema in self.keys:
            self.by_kind.setdefault(kind, []).append((path, schema))

    def mutant(self, case):
        """A case with one to six changes to one of its files, and sometimes other facts."""
        rng = self.rng
        name = rng.choice(list(case.files))
        text = case.files[name]
        if rng.random() < 0.6:
            text = self.of_tree(text, name)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
            text = rng.choice((self.of_characters, self.of_lines, self.of_tokens, self.of_pieces, self.of_keys, self.of_values))(text)
        flags = case.flags if rng.random() < 0.5 else self.facts(case.flags)
        return Case({**case.files, name: text}, flags, case.named)

    def facts(self, flags):
        """Other flags: one more, or none but a few."""
        kept = list(flags) if self.rng.random() < 0.5 else []
        for extra in self.rng.sample(FACTS, self.rng.choice((0, 1, 2))):
            if extra[0] == "--target" or extra[0] not in kept:
                kept += extra
        return kept

    # texts

    def of_characters(self, text):
        """A character put in, taken out, or replaced."""
        place, gone = self.rng.randint(0, len(text)), self.rng.choice((0, 0, 1, 1, 3))
        new = self.rng.choice((*ODD, chr(self.rng.randint(32, 126)))) if not gone or self.rng.random() < 0.5 else ""
        return text[:place] + new + text[place + gone :]

    def of_pieces(self, text):
        """A mark of the syntax put in."""
        place = self.rng.randint(0, len(text))
        return text[:place] + self.rng.choice(PIECES) + text[place:]

    def of_lines(self, text):
        """A line deleted, doubled, moved, indented, outdented or commented out."""
        lines = text.splitlines(keepends=True)
        if not lines:
            return text
        one, other = self.rng.randrange(len(lines)), self.rng.randrange(len(lines))
        act = self.rng.randrange(7)
        if act == 0:
            del lines[one]
        elif act == 1:
            lines.insert(other, lines[one])
        elif act == 2:
            lines[one], lines[other] = lines[other], lines[one]
        elif act == 3:
            lines[one] = "  " + lines[one]
        elif act == 4:
            lines[one] = lines[one].removeprefix(" ").removeprefix(" ")
        elif act == 5:
            lines[one] = "# " + lines[one]
        else:
            lines[one] = lines[one].rstrip("\r\n") + self.rng.choice((" # why\n", "\r\n", "  \n", "\t\n"))
        return "".join(lines)

    def of_tokens(self, text):
        """A token deleted, doubled, exchanged, or replaced."""
        tokens = TOKEN.findall(text)
        if not tokens:
            return text
        one, other = self.rng.randrange(len(tokens)), self.rng.randrange(len(tokens))
        act = self.rng.randrange(4)
        if act == 0:
            tokens[one] = ""
        elif act == 1:
            tokens[one] += tokens[one]
        elif act == 2:
            tokens[one], tokens[other] = tokens[other], tokens[one]
        else:
            tokens[one] = self.spelled()
        return "".join(tokens)

    def of_keys(self, text):
        """A word of the text becomes another key, or is written another way."""
        words = list(re.finditer(r"[A-Za-z_][\w-]*", text))
        if not words:
            return text
        word = self.rng.choice(words)
        key = word[0]
        ways = (key.upper(), key.capitalize(), key[:-1], key + "s", key.replace("_", "-"), key.replace("-", "_"), key[::-1])
        return text[: word.start()] + self.rng.choice((*ways, self.any_key(), self.any_key())) + text[word.end() :]

    def of_values(self, text):
        """A number or word of the text becomes another value."""
        words = list(re.finditer(r"(?<=[:,\[ ])[\w.+-]+", text))
        if not words:
            return text
        word = self.rng.choice(words)
        return text[: word.start()] + self.spelled() + text[word.end() :]

    def spelled(self):
        """A value as most syntaxes write it."""
        value = self.any_value(0)
        return value if isinstance(value, str) and self.rng.random() < 0.5 else json.dumps(value)

    def any_key(self):
        """A key that some framework knows."""
        return self.rng.choice(self.keys)[1][-1]

    def any_value(self, depth=1):
        """A value of any type."""
        rng = self.rng
        act = rng.randrange(8 if depth else 6)
        if act < 2:
            return rng.choice(NUMBERS)
        if act == 2:
            return rng.choice(FLOATS)
        if act == 3:
            return rng.choice((True, False, None))
        if act < 6:
            return rng.choice(TEXTS)
        if act == 6:
            return [self.any_value(depth - 1) for _ in range(rng.choice((0, 1, 2, 5)))]
        return {self.rng.choice((self.any_key(), "enabled", "a", "")): self.any_value(depth - 1) for _ in range(rng.choice((0, 1, 2)))}

    # trees

    def of_tree(self, text, name):
        """The tree with other keys and values, in another manner; the text where it has no tree."""
        syntax = syntax_of(name)
        tree = read(text, syntax)
        if not isinstance(tree, dict):
            return text
        tree = copy.deepcopy(tree)
        kind = self.kind_of(tree)
        for _ in range(self.rng.choice((1, 1, 2, 3, 6))):
            self.change(tree, kind)
        try:
            return write(tree, syntax, self.rng, lax=self.rng.random() < 0.2)
        except (Unspeakable, ValueError, RecursionError):
            return text

    def kind_of(self, tree):
        """The kind that knows most of the keys."""
        return max(self.by_kind, key=lambda kind: sum((key,) in {path for path, _ in self.by_kind[kind]} for key in tree))

    def change(self, tree, kind):
        """One change to a tree, in place."""
        rng = self.rng
        place = self.place(tree)
        act = rng.randrange(10)
        if act < 5:
            self.put(tree, *rng.choice(self.by_kind[kind]))
        elif act == 5 and place:
            place[rng.choice(list(place))] = self.any_value()
        elif act == 6 and place:
            del place[rng.choice(list(place))]
        elif act == 7 and place:
            key = rng.choice(list(place))
            place[rng.choice((str(key) + "s", str(key).upper(), self.any_key()))] = place.pop(key)
        elif act == 8:
            place[self.any_key()] = self.any_value()
        elif place:
            key = rng.choice(list(place))
            place[key] = rng.choice(([place[key]], {"a": place[key]}, str(place[key]), copy.deepcopy(tree) if len(tree) < 8 else None))

    def place(self, tree):
        """A mapping of the tree."""
        found = [tree]
        for each in found:
            found.extend(value for value in each.values() if isinstance(value, dict))
        return self.rng.choice(found)

    def put(self, tree, path, schema):
        """Set a key of the framework's own to a value that fits, or nearly so."""
        for step in path[:-1]:
            if not isinstance(tree.get(step), dict):
                tree[step] = {}
            tree = tree[step]
        tree[path[-1]] = self.fitting(schema) if self.rng.random() < 0.75 else self.any_value()

    def fitting(self, schema):
        """A value that a schema allows, or one beside its bounds."""
        rng = self.rng
        choices = list(schema.get("enum", []))
        if "default" in schema:
            choices.append(schema["default"])
        if "minimum" in schema:
            choices += [schema["minimum"], schema["minimum"] - 1, schema["minimum"] + 1]
        types = schema.get("type", [])
        for each in [types] if isinstance(types, str) else types:
            choices += {
                "integer": [rng.choice(NUMBERS[:12])] * 2,
                "number": [rng.choice(FLOATS[:10]), rng.choice(NUMBERS[:10])],
                "boolean": [True, True, False],
                "string": [rng.choice(TEXTS[:40])],
                "null": [None],
                "array": [[rng.choice(NUMBERS[:8]), 0.5]],
                "object": [{}],
            }.get(each, [])
        return copy.deepcopy(rng.choice(choices)) if choices else self.any_value()

    def made_up(self):
        """A case of a framework's own keys alone."""
        kind = self.rng.choice(list(self.by_kind))
        tree = {}
        for _ in range(self.rng.choice((1, 3, 6, 12))):
            self.put(tree, *self.rng.choice(self.by_kind[kind]))
        name = NAMES[kind]
        try:
            return Case({name: write(tree, syntax_of(name), self.rng)}, self.facts(["--kind", kind]))
        except Unspeakable:
            return self.made_up()


def syntax_of(name):
    """The syntax that a file's name tells: "text" for a script, a program or anything else that has no tree."""
    end = os.path.splitext(name.lower())[1]
    return SYNTAXES.get(end, "text")


def read(text, syntax):
    """The tree of a text to PyYAML or json; None where there is none."""
    if syntax == "text":
        return None
    try:
        return yaml.safe_load(text) if syntax == "yaml" else json.loads(text.removeprefix("\ufeff"))
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError, LookupError, OverflowError):
        return None
