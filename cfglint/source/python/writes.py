"""The files that Python code writes, by the names in it."""

from __future__ import annotations

import re
import shlex

from cfglint.source.document import Document
from cfglint.source.files import NOTEBOOK
from cfglint.source.python.notebook import code_of

NAME = r"""\s*(?:file\s*=\s*)?(?:[rR]?["']([^"'{}\n]+)["']|(\w+))\s*"""
WRITES = re.compile(
    rf"""\bopen\({NAME},\s*(?:mode\s*=\s*)?["'][wax]"""
    rf"""|\bPath\({NAME}\)\.(?:write_text\(|write_bytes\(|open\(\s*(?:mode\s*=\s*)?["'][wax])"""
    rf"""|\b(?:OmegaConf\.save\([^\n"']*?,|(?:to_yaml|to_json_file|save_to_yaml)\(){NAME}\)"""
)
MARKS = (".dump(", ".write(", ".write_text(", "%%writefile")  # what a program or notebook calls to write a file
CONSTANT = re.compile(r"""^\s*(\w+)\s*=\s*[rR]?["']([^"'{}\n]+)["']\s*(?:#.*)?$""", re.MULTILINE)


def files_written(code: str) -> list[str]:
    """The names of the files that code opens for writing, each once, as far as they are literals or a variable that is one."""
    constants: dict[str, str] = {}
    found: dict[str, None] = {}
    for match in WRITES.finditer(code):
        name, variable = (next(filter(None, match.groups()[at::2]), "") for at in (0, 1))
        constants = constants or dict(CONSTANT.findall(code)) if variable else constants
        found[name or constants.get(variable, "")] = None
    return [name for name in found if name]


def may_write(document: Document, name: str, *, is_there: bool) -> bool:
    """Whether a program or notebook may write a file that a call in it names: what is there then is not what is there now.

    Without the file it suffices that it is named elsewhere, too, and that files are written.
    """
    text = document.text
    code = (code_of(text) or "") if document.path.endswith(NOTEBOOK) else text
    writes_others = text.count(name.rpartition("/")[2]) > 1 and any(mark in text for mark in MARKS)
    return name in files_written(code) or f"%%writefile {name}" in text or (not is_there and writes_others)


def as_shell(code: str) -> str:
    """Commands of the shell that write the same files: nothing is known of what these have then."""
    return "".join(f"true > {shlex.quote(name)}\n" for name in files_written(code))
