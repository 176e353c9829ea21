"""What the frameworks' own modules say of keys, defaults and releases is what the schemas say."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.huggingface import fields
from cfglint.frameworks.schema import load
from cfglint.frameworks.versions import parse_version
from cfglint.frameworks.versions import parse_version as numbers


def release(text: str | None) -> tuple[int, ...]:
    return numbers(text) if text else ()


def releases_with_changes() -> list[tuple[int, ...]]:
    """Every release of transformers in which a field, a default or an allowed value came or went, the newest and one before all."""
    table = load("huggingface")
    found = {table.raw["x-framework"]["version"]}
    for raw in table.raw["properties"].values():
        found |= {raw[word] for word in ("x-since", "x-removed") if word in raw}
        found |= {each["since"] for each in raw.get("x-default-history", ())}
        found |= {*raw.get("x-enum-since", {}).values(), *raw.get("x-enum-removed", {}).values()}
    return sorted(map(parse_version, found))


RELEASES = releases_with_changes()


def test_huggingface_fields_and_their_releases():
    table = load("huggingface")
    known = {name: (release(table.lookup(name).since), release(table.lookup(name).removed)) for name in table.raw["properties"]}
    assert {name: (release(since), release(until)) for name, (_, _, since, until) in fields.FIELDS.items()} == known


@each_case("version", RELEASES)
def test_huggingface_defaults(version):
    table = load("huggingface")
    for name, told in fields.defaults(version).items():
        known = table.lookup(name).default_at(version)
        assert (told, type(told)) == (known, type(known)), name


@each_case("version", RELEASES)
def test_huggingface_allowed_values(version):
    closed = [name for name in fields.CHOICES if name != "debug" and fields.has_field(name, version)]
    told = {name: set(fields.choices(name, version)[1]) for name in closed}
    assert told == {name: set(load("huggingface").lookup(name).enum_at(version)) - {None} for name in closed}
