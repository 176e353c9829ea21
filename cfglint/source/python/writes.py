"""The files that Python code writes, by the names in it."""

from __future__ import annotations

import re
import shlex

NAME = r"""\s*(?:file\s*=\s*)?(?:[rR]?["']([^"'{}\n]+)["']|(\w+))\s*"""
WRITES = re.compile(
    rf"""\bopen\({NAME},\s*(?:mode\s*=\s*)?["'][wax]"""
    rf"""|\bPath\({NAME}\)\.(?:write_text\(|write_bytes\(|open\(\s*(?:mode\s*=\s*)?["'][wax])"""
    rf"""|\b(?:OmegaConf\.save\([^\n"']*?,|(?:to_yaml|to_json_file|save_to_yaml)\(){NAME}\)"""
)
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


def as_shell(code: str) -> str:
    """Commands of the shell that write the same files: nothing is known of what these have then."""
    return "".join(f"true > {shlex.quote(name)}\n" for name in files_written(code))
