"""What holds for whatever is printed about hostile input."""

from __future__ import annotations

import json

BUGS = ("Traceback", "INT000", "internal error", "This is a bug")
FORMATS = ("text", "json", "github", "sarif", "junit", "gitlab", "markdown", "html")


def harmless(text):
    """Whether a text holds nothing that a terminal obeys or hides."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def strict(text):
    """What a text is that has to be JSON, without the numbers that JSON does not have."""
    return json.loads(text, parse_constant=refused)


def refused(name):
    raise AssertionError(f"{name} is no JSON")
