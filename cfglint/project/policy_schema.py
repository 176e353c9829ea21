"""House rules: JSON Schemas of an organisation's own that the configs of a kind have to satisfy."""

from __future__ import annotations

import os

from cfglint.source.errors import CfglintError
from cfglint.source.files import FileProblem, read_bytes
from cfglint.source.time_limit import TimeLimit, TimeLimitExceeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.source.document import Path

EVERY_KIND = ""
OWN_WORDS = "x-message"  # a keyword of ours: what to say instead of the validator's words
LONGEST = 300  # characters of a validator's message, which quotes whole values
DEEPEST = 200
SECONDS = 2  # of processor time for one file
MOST = 1000  # violations of one file that are told
MOST_EXPLOSIONS = 5  # files for which a schema takes too long; it is not held against more


class PolicySchemaError(CfglintError):
    """A house schema that cannot be used; the text says where and why."""


class Violation:
    """A value that a house schema does not allow: where, and what is wrong with it."""

    __slots__ = ("message", "path")

    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        self.message = message


class PolicySchemas:
    """The schemas of a house by kind; the one under `""` holds for every kind.

    HouseError for a schema that breaks the rules of its own dialect or refers to what is not there.
    Nothing is ever fetched: references stay inside the file, or name a published meta-schema.
    """

    def __init__(self, schemas: dict[str, Any], paths: dict[str, str] | None = None) -> None:
        self.validators = {kind: validator(schema, (paths or {}).get(kind, "house schema")) for kind, schema in schemas.items()}
        self.exploded = dict.fromkeys(schemas, 0)  # files for which each took too long

    def violations(self, kind: str, values: dict[Any, Any]) -> Iterator[Violation]:
        """What the schemas of a kind do not allow in the values of a config."""
        document = plain(values)
        for each in (EVERY_KIND, kind):
            if each in self.validators:
                yield from self._bounded(each, document)

    def _bounded(self, kind: str, document: Any) -> list[Violation]:
        """The first violations that a schema finds before its time is over; one of them says so when it is, or when it breaks."""
        found: list[Violation] = []
        if self.exploded[kind] >= MOST_EXPLOSIONS:
            return [Violation((), f"the house schema is not held against this file: it took too long for {MOST_EXPLOSIONS} others")]
        try:
            with TimeLimit(SECONDS):
                for error in self.validators[kind].iter_errors(document):
                    found += violations(error)
                    if len(found) >= MOST:
                        break
        except (TimeLimitExceeded, RecursionError):
            self.exploded[kind] += 1
            told = f"the house schema needs more than {SECONDS} seconds for this file: a pattern or reference in it explodes"
            found.append(Violation((), told))
        except Exception as wrong:  # a part that no keyword of the dialect leads to is tried out by no check beforehand
            found.append(Violation((), f"the house schema cannot be held against this file: {reason(wrong)}"))
        return found[:MOST]


def load(files: dict[str, str], folder: str) -> PolicySchemas:
    """The house whose schemas lie in the files, by kind, relative to a folder. HouseError when one cannot be used."""
    paths = {kind: os.path.join(folder, file) for kind, file in files.items()}
    return PolicySchemas({kind: read(path) for kind, path in paths.items()}, paths)


def read(path: str) -> Any:
    """The JSON of a schema file."""
    import json

    try:
        return json.loads(read_bytes(path).decode("utf-8-sig"))
    except FileProblem as wrong:
        raise PolicySchemaError(f"house schema {wrong}") from wrong
    except (ValueError, RecursionError) as wrong:
        raise PolicySchemaError(f"house schema {path}: not JSON: {wrong}") from wrong


def validator(schema: Any, path: str) -> Any:
    """A jsonschema validator that has been tried out, so that a broken schema is found before any config is."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    if not isinstance(schema, dict):
        raise PolicySchemaError(f"{path}: a JSON Schema is an object, this is {schema!r:.80}")
    try:
        with TimeLimit(SECONDS):
            dialect = validator_for(schema, default=Draft202012Validator)
            dialect.check_schema(schema)
            check_references(schema, dialect)
            ready = dialect(schema, registry=REGISTRY)
            ready.is_valid({})
    except TimeLimitExceeded as wrong:
        raise PolicySchemaError(f"{path}: it takes more than {SECONDS} seconds to look through: its references explode") from wrong
    except SchemaError as wrong:
        where = "/".join(str(step) for step in wrong.absolute_path) or "its top"
        raise PolicySchemaError(f"{path}: not a valid JSON Schema: at {where}: {short(wrong.message)}") from wrong
    except Unresolvable as wrong:
        raise PolicySchemaError(f"{path}: nothing is found under the reference {wrong.ref!r}; references stay inside the file") from wrong
    except RecursionError as wrong:
        raise PolicySchemaError(f"{path}: a reference leads to itself without end") from wrong
    except Exception as wrong:  # the dialect of a schema is looked up before anything has checked its name
        raise PolicySchemaError(f"{path}: not a valid JSON Schema: {reason(wrong)}") from wrong
    return ready


def check_references(schema: dict[str, Any], dialect: Any) -> None:
    """Follow every reference of a schema; Unresolvable for one that leads nowhere."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012, specification_with

    specification = specification_with(dialect.META_SCHEMA.get("$schema", ""), default=DRAFT202012)
    root = specification.create_resource(schema)
    waiting = [(root, REGISTRY.resolver_with_root(root))]
    while waiting:
        resource, resolver = waiting.pop()
        if isinstance(resource.contents, dict) and isinstance(resource.contents.get("$ref"), str):
            resolver.lookup(resource.contents["$ref"])
        waiting += [(each, resolver.in_subresource(each)) for each in resource.subresources()]


def violations(error: Any) -> Iterator[Violation]:
    """The violations that a validator's error tells: one for each key that is not allowed, else one at its place."""
    path = tuple(error.absolute_path)
    own = error.schema.get(OWN_WORDS) if isinstance(error.schema, dict) else None
    said = own if isinstance(own, str) else None
    message = short(said or error.message)
    extras = unexpected(error) if error.validator == "additionalProperties" and error.validator_value is False else []
    for key in extras:
        yield Violation((*path, key), message if said else f"`{key}` is not allowed here")
    if not extras:
        yield Violation(path, message)


def unexpected(error: Any) -> list[str]:
    """The keys that `additionalProperties: false` refuses."""
    import re

    known = error.schema.get("properties", {})
    patterns = error.schema.get("patternProperties", {})
    return [key for key in error.instance if key not in known and not any(re.search(each, key) for each in patterns)]


def reason(wrong: Exception) -> str:
    """What a library says that broke on a schema."""
    return short(f"{type(wrong).__name__}: {wrong}")


def short(message: str) -> str:
    """A message without the rest of a value that fills the screen."""
    return message if len(message) <= LONGEST else message[: LONGEST - 3] + "..."


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON could hold it: text as keys, lists for sequences, text for dates and the like."""
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, depth + 1) for each in value]
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
