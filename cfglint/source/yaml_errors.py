"""The meaning of PyYAML's syntax errors, in plain words."""

from __future__ import annotations

END = "<stream end>"
OPEN = {"}": "{", "]": "["}
TAB = "'\\t'"


def plain(context: str, problem: str) -> tuple[str, str]:
    """(what is wrong, remedy) for the two strings of an error; empty strings if they have no plainer wording."""
    for close, bracket in OPEN.items():
        if f"'{close}'" in problem:
            if END in problem:
                return f"the file ends before a `{bracket}` is closed: `{close}` is missing", f"add `{close}`"
            return f"`,` or `{close}` is missing before this", ""
    if "expected <block end>" in problem:
        return "the indentation does not fit that of the lines above", "indent the line like the other keys of its section"
    if "mapping values are not allowed" in problem:
        return "this `:` is not expected here", "quote the value, or correct the indentation of the line"
    if "could not find expected ':'" in problem:
        return "the line is not `key: value`", "add a `:` and a space after the key"
    if "unexpected end of stream" in problem and "quoted" in context:
        return "the file ends before the quote is closed", "add the quote"
    if "cannot start any token" in problem:
        found = problem.partition("found character ")[2].partition(" that")[0]
        tab = found in (TAB, "'\t'")
        return ("a tab cannot be used for indentation", "use spaces") if tab else (f"{found} cannot begin a value", "quote the value")
    return "", ""
