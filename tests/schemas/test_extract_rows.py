"""The rows of functions: each case is a function, values, and what it does to them; rows do the same."""

from __future__ import annotations

import ast
import runpy
import textwrap

import pytest
from extract_rows import rows_of
from row_sources import Package
from row_table_text import Function, Table, every, woven

from cases import each_case
from cfglint.frameworks.rows import table as runtime
from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.expressions import Raised

PREFIX = (
    "import re\nfrom enum import Enum\nMODES = ('fast', 'slow')\nclass Pace(str, Enum):\n    FAST = 'fast'\n    SLOW = 'slow'\n"
    "def helper(size):\n    if size is None:\n        return 1\n    return size * 2\n"
)


def rows_from(tmp_path, body):
    """The rows of a function with one parameter `data`."""
    (tmp_path / "pack").mkdir(exist_ok=True)
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "checks.py").write_text(
        f"{PREFIX}def check(data):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n    return data\n"
    )
    package = Package(str(tmp_path), "pack")
    module = package.module("pack.checks")
    function = next(node for node in module.tree.body if isinstance(node, ast.FunctionDef) and node.name == "check")
    return rows_of(package, module, function)[0]


def outcome(run, values):
    """The values afterwards, or the exception."""
    try:
        run(values)
    except Raised as raised:
        return f"{raised.kind}: {raised.message}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return values


BODIES = {
    "the members of an Enum": """
        known = list(Pace)
        if data.get('a') not in known:
            raise ValueError(f'{data.get("a")} is none of {known}')
    """,
    "an exception that is only reported": """
        try:
            size = data['size']
        except KeyError as error:
            print(data)
            raise error
        data['size'] = size + 1
    """,
    "early return": """
        if not data.get('a'):
            return data
        if data.get('b'):
            raise ValueError('both')
    """,
    "elif and else": """
        if data.get('a'):
            data['c'] = 1
        elif data.get('b'):
            data['c'] = 2
        else:
            data['c'] = 3
    """,
    "local": """
        size = data.get('a') or 4
        if size > 3:
            raise ValueError(f'{size} is {size!r}')
    """,
    "set changes what is read later": """
        if data.get('a') is None and data.get('b') is None:
            data['a'] = 1
            data['b'] = 2
    """,
    "helper": """
        data['c'] = helper(data.get('a'))
    """,
    "constant": """
        if data.get('a') not in MODES:
            raise ValueError(f'one of {sorted(MODES)}')
    """,
    "loop over a constant": """
        for name in ('a', 'b'):
            if data.get(name):
                raise ValueError(name + ' is set')
    """,
    "loop over a value": """
        for name in data.get('names') or []:
            if name == 'x':
                raise ValueError('x')
            data['last'] = name
    """,
    "comprehension": """
        found = [k for k in ('a', 'b') if data.get(k)]
        if len(found) > 1:
            raise ValueError(', '.join(found))
    """,
    "try": """
        try:
            data['a'] = int(data.get('a'))
        except (TypeError, ValueError):
            raise ValueError('no number')
    """,
    "pattern": """
        try:
            re.compile(data.get('a'))
        except re.error:
            raise ValueError('no pattern')
    """,
    "exception in a local": """
        bad = ValueError('bad ' + str(data.get('a')))
        if data.get('a'):
            raise bad
    """,
    "nested put": """
        box = data.get('box') or {}
        if box.get('n') is None:
            box['n'] = 1
    """,
    "pop": """
        value = data.pop('a', None)
        if value is not None:
            data['c'] = value
    """,
    "a test that can fail": """
        if data.get('a') > 3:
            pass
    """,
    "setdefault of a copy": """
        box = dict(data.get('box') or {})
        flag = box.setdefault('on', False)
        data['box'] = box
        if flag:
            raise ValueError('on')
    """,
    "merged mapping": """
        box = data.get('box') or {}
        data['box'] = {**box, 'n': 2}
    """,
    "copy of all values": """
        data = dict(data)
        data['c'] = 5
    """,
    "percent and format": """
        if data.get('a'):
            raise ValueError('a: %s' % data.get('a'))
    """,
}
VALUES = (
    {},
    {"a": 1},
    {"b": 2},
    {"a": 5, "b": 0},
    {"a": "fast"},
    {"a": "x", "b": 1},
    {"names": ["y", "x"]},
    {"box": {"n": 3}},
    {"box": {"on": True}},
    {"a": "("},
)


@pytest.mark.parametrize("name", BODIES)
def test_rows_do_what_the_function_does(tmp_path, name):
    rows = rows_from(tmp_path, BODIES[name])
    assert not [row for row in every(rows) if "todo" in row or "hand" in row]
    namespace = {}
    exec((tmp_path / "pack" / "checks.py").read_text(), namespace)
    for values in VALUES:
        by_rows, by_function = ({key: dict(value) if isinstance(value, dict) else value for key, value in values.items()} for _ in range(2))
        result = outcome(lambda found: found.update(namespace["check"](found) or {}), by_function)
        assert outcome(lambda found: Evaluation(found, lambda name, *arguments: None).run(rows), by_rows) == result, values


@each_case(
    ("body", "reason"),
    [
        ("with open(data['a']) as file:\n    data['b'] = file.read()", "with"),
        ("data['a'] = (lambda: 1)()", "call of a value"),
        ("import transformers\nif transformers.load(data):\n    raise ValueError('x')", "outside: transformers.load()"),
    ],
)
def test_what_cannot_be_read_is_by_hand(tmp_path, body, reason):
    found = [str(row.get("todo") or row.get("hand")) for row in every(rows_from(tmp_path, body)) if "todo" in row or "hand" in row]
    assert found
    assert reason in found[0]


def test_questions_to_the_environment(tmp_path):
    rows = rows_from(tmp_path, "import importlib.util\nif importlib.util.find_spec('fast') is None:\n    raise ImportError('fast')")
    for answer, raised in ((True, {}), (False, "ImportError: fast")):
        assert outcome(lambda values, answer=answer: Evaluation(values, lambda name, *arguments: answer).run(rows), {}) == raised


def test_equal_rows_of_neighbouring_releases_are_one():
    table = Table()
    refuses, other = {"when": [["f", "a"]], "raise": "ValueError", "say": "no", "line": 3}, {"when": [], "drop": "a", "line": 4}
    for release, rows in (((1, 0), [refuses]), ((1, 1), [{**refuses, "line": 9}]), ((1, 2), [refuses, other])):
        table.add(release, [Function("check", "before", "", rows)])
    assert len(table.rows) == 2
    assert [(since, until, len(rows.split())) for since, until, rows in table.spans(table.functions["before"]["check"])] == [
        ((1, 0), (1, 2), 1),
        ((1, 2), None, 2),
    ]


def test_orders_of_releases_are_one_unless_they_contradict_each_other():
    assert woven(["a", "c"], ["a", "b", "c", "d"]) == ["a", "b", "c", "d"]
    assert woven(["a", "x", "c"], ["a", "c"]) == ["a", "x", "c"]
    assert woven(["a", "b"], ["b", "a"]) is None


def test_a_committed_table_takes_another_release(tmp_path):
    table, path = Table(), tmp_path / "_rows.py"
    refuses, other = {"when": [["f", "a"]], "raise": "ValueError", "say": "no"}, {"when": [], "drop": "a"}
    hand = {"when": [], "todo": "by hand"}
    for release, rows in (((1, 0), [refuses]), ((1, 1), [refuses, other])):
        table.add(release, [Function("check", "before", "", rows), Function("old", "before", "", [hand])])
    path.write_text(table.text())
    read = Table.read(path, table.releases)
    assert read.text() == table.text()
    read.add(
        (1, 2), [Function("new", "before", "seed", [hand]), Function("check", "before", "", [other]), Function("old", "before", "", [hand])]
    )
    assert read.unread((1, 2), (1, 1)) == ["new:None: by hand"]
    path.write_text(read.text())
    assert [each.name for each in cfglint_table(path, (1, 2))] == ["new", "check", "old"]
    assert [len(each.rows) for each in cfglint_table(path, (1, 0))] == [1, 1]


def cfglint_table(path, release):
    return runtime.Table(runpy.run_path(str(path))["TABLE"]).functions("before", release)
