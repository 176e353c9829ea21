"""The history of a framework's fields: what a release has, and when a field came, changed and went."""

from __future__ import annotations

from cfglint.frameworks.releases.history import DEFAULT, History, Row

ROWS: dict[str, tuple[Row, ...]] = {
    "sft": (
        ("beta", "float", 0.1, (), ()),
        ("length", "int", None, (0, 9, 0), (0, 16, 0)),
        ("length", "int", 1024, (0, 16, 0), ()),
        ("tools", "str", None, (), (0, 10, 0)),
        ("tools", "str", None, (0, 12, 0), ()),
        ("loss", "list:str", ("sigmoid",), (0, 20, 0), (), ("sigmoid", "hinge")),
    ),
    "kto": (("weight", "float", 1.0, (), ()),),
}
HISTORY = History(ROWS, {"kto": (((0, 8, 0), (0, 29, 0)), ((1, 0, 0), ()))})


def test_a_field_exists_from_its_first_release_to_before_the_one_that_removed_it() -> None:
    """`since` counts, `until` does not; between two spans the field is missing."""
    assert [release for release in ((0, 9, 9), (0, 10, 0), (0, 11, 9), (0, 12, 0)) if "tools" in HISTORY.fields("sft", release)] == [
        (0, 9, 9),
        (0, 12, 0),
    ]
    assert "length" not in HISTORY.fields("sft", (0, 8, 9))


def test_the_default_is_that_of_the_release() -> None:
    """A changed default is another row."""
    assert HISTORY.fields("sft", (0, 15, 2))["length"][DEFAULT] is None
    assert HISTORY.fields("sft", (0, 16, 0))["length"][DEFAULT] == 1024


def test_a_list_is_a_list_again() -> None:
    """The tables hold constants, so a list is a tuple there."""
    assert HISTORY.fields("sft", (1, 0, 0))["loss"][DEFAULT] == ["sigmoid"]


def test_a_release_has_the_sections_of_its_spans() -> None:
    """A class that was away for some releases has no fields there."""
    assert set(HISTORY.at((0, 29, 0))) == {"sft"}
    assert set(HISTORY.at((1, 0, 0))) == {"sft", "kto"}
    assert HISTORY.fields("kto", (0, 29, 1)) == {}
    assert not HISTORY.has_section("orpo", (1, 0, 0))


def test_a_field_is_known_for_ever() -> None:
    """A removed field is told from a name that never was one."""
    assert HISTORY.ever("tools")
    assert not HISTORY.ever("tool")
    assert list(HISTORY.sections_with("weight")) == ["kto"]


def test_rows_of_one_field_are_one_span_where_only_the_default_changed() -> None:
    """`releases` joins rows that follow each other, and `since` and `until` are its ends."""
    assert HISTORY.releases("sft", "length") == [((0, 9, 0), ())]
    assert HISTORY.releases("sft", "tools") == [((), (0, 10, 0)), ((0, 12, 0), ())]
    assert (HISTORY.since("sft", "length"), HISTORY.until("sft", "length")) == ((0, 9, 0), ())
    assert (HISTORY.since("sft", "tool"), HISTORY.until("sft", "tool")) == (None, None)
