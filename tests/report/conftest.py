"""Findings made by hand, for reports see nothing else."""

from __future__ import annotations

import pytest

from cfglint.findings.diagnostic import ERROR, Diagnostic, FileEdit, Fix, Outcome, Place
from cfglint.run.loaded import NUMBERS
from hostile_texts import HOSTILE


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
