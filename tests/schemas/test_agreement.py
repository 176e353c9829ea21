"""What the frameworks' own modules say of keys, defaults and releases is what the schemas say."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.deepspeed import models
from cfglint.frameworks.deepspeed._tables import IGNORING, REMOVED
from cfglint.frameworks.deepspeed.models import KEY_HISTORY
from cfglint.frameworks.huggingface import fields
from cfglint.frameworks.neox.fields import fields_of_release
from cfglint.frameworks.releases.versions import dotted, parse_version
from cfglint.frameworks.validation.schema import load


def changes(properties: dict) -> set[str]:
    """The releases in which a key, a default or an allowed value came or went."""
    found = set()
    for raw in properties.values():
        found |= {raw[word] for word in ("x-since", "x-removed") if word in raw}
        found |= {each["since"] for each in raw.get("x-default-history", ())}
        found |= {*raw.get("x-enum-since", {}).values(), *raw.get("x-enum-removed", {}).values()}
        found |= changes(raw.get("properties", {}))
    return found


def releases_with_changes(kind: str) -> list[tuple[int, ...]]:
    """Every release with a change, and the newest; the oldest is one before all."""
    table = load(kind)
    return sorted(map(parse_version, {"0", table.raw["x-framework"]["version"], *changes(table.raw["properties"])}))


RELEASES = releases_with_changes("huggingface")


def test_huggingface_fields_and_their_releases():
    table = load("huggingface")
    known = {name: (table.lookup(name).since or "", table.lookup(name).removed or "") for name in table.raw["properties"]}
    assert {name: (dotted(since), dotted(until)) for name, (_, _, since, until) in fields.FIELDS.items()} == known


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


DEEPSPEED = [path for path in models.MODELS if path != models.MONITOR.name]


@each_case("version", releases_with_changes("deepspeed"))
def test_deepspeed_models(version):
    table = load("deepspeed")
    for section in filter(lambda name: models.model_of(name).is_in(version), DEEPSPEED):
        path = tuple(section.split("."))
        known = {name: table.lookup((*path, name)).default_at(version) for name in table.keys_at(version, path)}
        names = models.model_of(section).known_names(version)
        found = {field.alias or name: field for name, field in models.model_of(section).fields.items() if name in names}
        assert found.keys() == known.keys(), section
        for name, field in found.items():
            value = field.default_at(version)
            assert field.model or (list(value) if isinstance(value, tuple) else value) == known[name], (section, name)


@each_case("version", releases_with_changes("deepspeed"))
def test_deepspeed_keys_that_are_looked_up(version):
    table = load("deepspeed")
    for name in filter(lambda each: KEY_HISTORY.fields(each, version), IGNORING):
        path = tuple(name.split(".")) if name else ()
        refused = {key for (*section, key), (since, _) in REMOVED.items() if tuple(section) == path and version < since}
        known = {key for key in KEY_HISTORY.fields(name, version) if KEY_HISTORY.releases(name, key)[-1][0] <= version}
        assert known | refused == set(table.keys_at(version, path)) | refused, path  # a schema has the last span of a key that came back


@each_case("version", [version for version in releases_with_changes("neox") if version < (3,)])
def test_neox_fields_of_the_tagged_releases(version):
    assert set(fields_of_release(version)) == set(load("neox").keys_at(version))
