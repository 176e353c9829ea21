"""The way from a text to its parser."""

from __future__ import annotations

import subprocess
import sys

from cfglint.source.document import LIMIT
from cfglint.source.limits import MAX_SIZE
from cfglint.source.parse import parse


def test_the_syntax_picks_the_parser():
    assert parse("a", "a: [x, y]\n", "yaml").find(("a", 1))[1].raw == "y"
    assert parse("a", '{"a": "\\ud83d\\ude00"}', "json").find(("a",))[1].raw == "😀"


def test_a_text_that_is_too_large_is_not_parsed():
    document = parse("a.yaml", "a" * (MAX_SIZE + 1), "yaml")
    assert [problem.kind for problem in document.problems] == [LIMIT]
    assert document.root is None


def test_json_needs_nothing_beyond_the_interpreter():
    script = """
import sys
before = set(sys.modules)
from cfglint.source.parse import parse
from cfglint.source.loaders import HJSON, STRICT_JSON
document = parse("a.json", '{"a": [1, 2.5, "x"]}', "json")
assert HJSON.read(document).value == STRICT_JSON.read(document).value == {"a": [1, 2.5, "x"]}
print(sorted(name for name in set(sys.modules) - before if not name.startswith("cfglint")))
"""
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{script}"], capture_output=True, text=True)
    assert done.stderr == ""
    assert set(done.stdout.strip("[]\n").replace("'", "").split(", ")) <= {"bisect", "_bisect", "__future__"}
