"""What argparse makes of the word of an option, and its messages about the words that it refuses.

Source: CPython argparse.py (_get_values, _check_value); transformers 5.23.0 hf_argparser.py:39-55 (string_to_bool), as in TRL.
"""

from __future__ import annotations

from cfglint.source.annotations import ConfigValue, Iterable

TRUE = ("yes", "true", "t", "y", "1")
FALSE = ("no", "false", "f", "n", "0")
NUMERIC = ("int", "float", "bool")


def converted(kind: str, text: str) -> ConfigValue:
    if kind == "bool":
        word = text.lower()
        return True if word in TRUE else False if word in FALSE else None
    if kind in ("int", "float"):
        try:
            return int(text) if kind == "int" else float(text)
        except ValueError:
            return None
    return None


def spellings(name: str) -> str:
    dashed = name.replace("_", "-")
    return f"--{name}" + (f"/--{dashed}" if dashed != name else "")


def invalid_value(option: str, kind: str, text: str) -> str:
    if kind == "bool":
        choices = "yes/no, true/false, t/f, y/n, 1/0 (case insensitive)"
        return f"argument {option}: Truthy value expected: got {text} but expected one of {choices}."
    return f"argument {option}: invalid {kind} value: {text!r}"


def invalid_choice(option: str, text: str, choices: Iterable[str]) -> str:
    return f"argument {option}: invalid choice: {text!r} (choose from {', '.join(choices)})"
