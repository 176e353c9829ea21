"""The definition that a name of a module refers to, through the imports of the project's other modules."""

from __future__ import annotations

import ast

import pytest

from cases import each_case
from cfglint.launch.programs.modules import DEEPEST, Definition, Modules
from cfglint.launch.programs.scopes import Scope

SIZE = "size = 4\n"


def chain(count, imported):
    """Modules of which each passes the name of the next one on."""
    return {f"m{at}.py": imported.format(at + 1) for at in range(count)} | {f"m{count}.py": SIZE}


@each_case(
    ("texts", "name", "expected"),
    [
        ({"train.py": SIZE}, "size", "train.py: size = 4"),
        ({"train.py": "from a import size\n", "a.py": SIZE}, "size", "a.py: size = 4"),
        ({"train.py": "from a import number as size\n", "a.py": "number = 4\n"}, "size", "a.py: number = 4"),
        ({"train.py": "from a import *\n", "a.py": SIZE}, "size", "a.py: size = 4"),
        ({"train.py": "from a import *\nfrom b import *\n", "a.py": "", "b.py": SIZE}, "size", "b.py: size = 4"),
        (
            {"train.py": "from p.a import size\n", "p/__init__.py": "", "p/a.py": "from .b import size\n", "p/b.py": SIZE},
            "size",
            "p/b.py: size = 4",
        ),
        ({"train.py": "from p import size\n", "p/__init__.py": "from .a import size\n", "p/a.py": SIZE}, "size", "p/a.py: size = 4"),
        ({"train.py": "from transformers import Trainer\n"}, "Trainer", "transformers.Trainer"),
        ({"train.py": "from transformers import *\n"}, "Trainer", None),
        ({"train.py": "from elsewhere import size\n"}, "size", "elsewhere.size"),
        ({"train.py": "from a import size\n", "a.py": ""}, "size", None),
        ({"train.py": ""}, "size", None),
        (
            {"train.py": "from p import a\n", "p/__init__.py": "", "p/a.py": "number = 4\n"},
            "a.number",
            "p/a.py: number = 4",
        ),
        # modules that import each other
        ({"train.py": "from a import *\n", "a.py": "from train import *\n"}, "size", None),
        ({"train.py": "from a import size\n", "a.py": "from train import size\n"}, "size", None),
        # names that many modules pass on
        ({"train.py": "from m0 import *\n", **chain(DEEPEST - 1, "from m{} import *\n")}, "size", f"m{DEEPEST - 1}.py: size = 4"),
        ({"train.py": "from m0 import *\n", **chain(DEEPEST, "from m{} import *\n")}, "size", None),
        (
            {"train.py": "from m0 import size\n", **chain(DEEPEST // 2 - 1, "from m{} import size\n")},
            "size",
            f"m{DEEPEST // 2 - 1}.py: size = 4",
        ),
    ],
)
def test_what_a_name_refers_to(texts, name, expected):
    modules = Modules(["."], texts.get)
    module = modules.module_of("train.py")
    found = Scope(modules, module, module.tree).resolve(ast.parse(name, mode="eval").body)
    if isinstance(found, Definition):
        assert f"{found.module.path}: {ast.unparse(found.node)}" == expected
    else:
        assert (found and found.name) == expected


@pytest.mark.parametrize("count", [DEEPEST // 2 + 1, 200])
def test_a_name_that_very_many_modules_pass_on_is_not_followed(count):
    texts = {"train.py": "from m0 import size\n", **chain(count, "from m{} import size\n")}
    modules = Modules(["."], texts.get)
    assert not isinstance(modules.lookup(modules.module_of("train.py"), "size"), Definition)
