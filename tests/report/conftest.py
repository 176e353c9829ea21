"""Findings made by hand, for reports see nothing else."""

from __future__ import annotations

import pytest

from cfglint.findings.diagnostic import ERROR, Diagnostic, FileEdit, Fix, Outcome, Place
from cfglint.run.loaded import NUMBERS

HOSTILE = [
    "two\nlines",
    "carriage\r\nreturn",
    "x::error file=other.py,line=1::taken over",
    "100%0A::warning::x",
    "a:b,c=d",
    "</details></summary><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b[0m \x07",
    "lone \udce9 surrogate \ud800",
    "a | b \\| c \\",
    "`` ` ``` ```` @octocat #1 https://example.org",
    "```\n</details>\n# heading",
    "[link](1) ![image](https://example.org/x.png) *bold* _it_ ~~s~~",
    "]]> &amp; \" ' <b>",
    "null \x00 vertical \x0b feed \x0c delete \x7f",
    "right\u202eleft \u2028 \ufeff \ufffe",
    "{0} {{1}}",
    "",
]


class Make:
    """Builds findings and outcomes; every text can be given."""

    texts = HOSTILE

    @staticmethod
    def place(file="train.yaml", line=3, source="key: text"):
        return Place(file, line, 5, line, 9, 20, 24, source)

    def diagnostic(self, message="what is wrong", severity=ERROR, **given):
        code, name, key = given.get("code", "BAT001"), given.get("name", "batch-mismatch"), given.get("key", "/key")
        file = given.get("file", "train.yaml")
        place = self.place(file, given.get("line", 3), given.get("source", "key: text"))
        related = ((self.place(file, 9), given["related"]),) if "related" in given else ()
        fix = Fix(given["fix"], [FileEdit(file, 20, 24, "8")], True, []) if "fix" in given else None
        exception = given.get("exception")
        made = Diagnostic(code, name, severity, place, key, message, "config" if severity == ERROR else None, exception, related, fix)
        made.suppressed = given.get("suppressed")
        return made

    @staticmethod
    def outcome(diagnostics, files=("train.yaml",), kinds=None, gpus=8, **resolved):
        failing = any(each.severity == ERROR for each in diagnostics)
        numbers = {**dict.fromkeys(NUMBERS), **resolved}
        kinds = kinds or ["huggingface"] * len(files)
        verdict = "reject" if failing else "accept"
        return Outcome(
            list(files), kinds, {"transformers": "5.23.0"}, gpus, verdict, "config" if failing else None, numbers, list(diagnostics)
        )

    def hostile(self, text):
        """An outcome with the text wherever a file can put one."""
        file = f"dir/{text}" if "/" not in text and "\0" not in text else "dir/plain.yaml"
        found = self.diagnostic(text, file=file, source=text, key=f"/{text}", exception=f"ValueError: {text}", related=text, fix=text)
        return self.outcome([found], files=[file])


@pytest.fixture(scope="session")
def make():
    return Make()


@pytest.fixture(params=HOSTILE, ids=[f"hostile{number}" for number in range(len(HOSTILE))])
def hostile(request):
    return request.param
