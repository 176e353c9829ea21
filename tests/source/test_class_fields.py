"""The fields of configuration classes as a package's sources have them."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.source.python.class_fields import REQUIRED, ClassReading
from cfglint.source.python.package import SourceError, Tree


@pytest.fixture
def read(tmp_path):
    """(form, default) of the fields of class C in a module."""

    def of(text, lenient=False):
        folder = tmp_path / "package"
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        (folder / "module.py").write_text(text)
        tree = Tree(folder, lenient)
        reading, module = ClassReading(tree), tree.file("module.py")
        found = reading.fields(module, module.class_named("C"))
        return {name: (reading.reads(field), reading.default(field)) for name, field in found.items()}

    return of


@each_case(
    ("text", "fields"),
    [
        ("class C:\n    a: int\n    b: str = 'x'\n    c: ClassVar[int] = 1\n", {"a": ("int", REQUIRED), "b": ("str", "x")}),
        (
            "class C:\n    a: int = field(default=1, init=False)\n    b: list[int] = field(default_factory=list)\n",
            {"b": (["list", "int"], [])},
        ),
        ("class C:\n    a: float = Field(0.5, ge=0)\n    b: int = Field(..., gt=1)\n", {"a": ("float", 0.5), "b": ("int", REQUIRED)}),
        ("class C:\n    a: 'int | None' = field(default_factory=lambda: 3)\n", {"a": (["|", "int", "None"], 3)}),
        ("class E(Enum):\n    A = 'a'\n\nclass C:\n    a: E = E.A\n", {"a": (["enum", "E", "a"], "a")}),
        # Python's order of bases: B, A and then their common base
        (
            "class O:\n    a: int = 0\n    b: int = 0\n\nclass A(O):\n    a: int = 1\n\n"
            "class B(O):\n    b: int = 2\n\nclass C(B, A):\n    c: int = 3\n",
            {"a": ("int", 1), "b": ("int", 2), "c": ("int", 3)},
        ),
    ],
)
def test_the_fields_of_a_class(read, text, fields):
    assert read(text) == fields


@each_case(
    ("text", "says"),
    [
        ("class C(Missing):\n    a: int\n", "a base class that is not in the package"),
        ("class A:\n    pass\n\nclass C(A, A):\n    a: int\n", "bases without an order"),
        ("class C:\n    a: Something[int] = 1\n", "an annotation without a rule"),
        ("class C:\n    a: int = make()\n", "not a constant"),
    ],
)
def test_what_has_no_rule_is_refused_unless_the_reading_is_lenient(read, text, says):
    with pytest.raises(SourceError, match=says):
        read(text)
    if "order" not in says:
        [(form, default)] = read(text, lenient=True).values()
        assert form == ("Any" if "annotation" in says else "int")
        assert isinstance(default, Unknown) == ("constant" in says)
