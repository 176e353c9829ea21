"""Records: constructors, comparison and representation of plain classes."""

from __future__ import annotations

import pytest

from cfglint.source.record import MANY, Record, changed, construct


class Point(Record):
    """A point."""

    x: int
    y: int = 2


class Named(Record):
    """A record with a representation of its own."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Path(Point):
    """A record with fields of its own after those of its base, of which one has another default."""

    y: int = 2
    names: list[str] = []


def test_a_subclass_has_the_fields_of_its_base_and_each_record_a_list_of_its_own():
    assert Path(1, 2, ["a"]).names == ["a"]
    Path(1).names.append("b")
    assert (Path(1).y, Path(1).names) == (2, [])


def test_fields_are_given_by_position_or_name_and_have_defaults():
    assert Point(1) == Point(x=1, y=2) == Point(1, 2) != Point(1, 3)
    assert changed(Point(1), y=5) == Point(1, 5)
    assert Point(1) != (1, 2)


def test_only_fields_of_a_record_can_be_changed():
    with pytest.raises(TypeError, match="Point: unknown"):
        changed(Point(1), z=5)


@pytest.mark.parametrize(("given", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})])
def test_missing_unknown_and_repeated_fields_are_refused(given, named):
    with pytest.raises(TypeError, match="Point: "):
        Point(*given, **named)


def test_a_record_has_no_other_attributes_and_no_hash():
    with pytest.raises(AttributeError):
        Point(1).z = 3
    with pytest.raises(TypeError):
        hash(Point(1))


def test_a_record_shows_its_fields_unless_it_says_otherwise():
    assert repr(Point(1)) == "Point(x=1, y=2)"
    assert repr(Named("a")) == "<a>"


def test_a_class_of_which_many_records_are_made_gets_a_faster_constructor_that_does_the_same():
    class Base(Record):
        x: int
        names: list[str] = []

    class Of(Base):
        y: int = 2
        defaults: list[str] = []

    for _ in range(MANY):
        Base(1)
        Of(1)
    assert Base.__init__ is not Of.__init__ is not construct
    assert Of(1) == Of(x=1, names=[], y=2) == Of(1, [], 2, []) != Of(1, y=3)
    Base(1).names.append("b")
    assert Base(1).names == []
    for given, named in [((), {}), ((1, [], 3, [], 5), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]:
        with pytest.raises(TypeError):
            Of(*given, **named)


def test_a_class_that_extends_one_with_the_faster_constructor_has_one_of_its_own():
    class Base(Record):
        x: int

    for _ in range(MANY):
        Base(1)

    class Of(Base):
        y: int

    assert Of(1, 2).y == 2
