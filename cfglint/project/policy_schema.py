"""Policy schemas: a project's own JSON Schemas that the configs of a kind must satisfy."""

from __future__ import annotations

import json
import os
import re

from cfglint.source import CfglintError
from cfglint.source.annotations import Any, ConfigMapping, ConfigTable, ConfigValue, Iterator
from cfglint.source.document import Path
from cfglint.source.files import FileProblem, read_bytes
from cfglint.source.record import Record
from cfglint.source.time_limit import TimeLimit, TimeLimitExceeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jsonschema.protocols import Validator

EVERY_KIND = ""
MESSAGE_KEYWORD = "x-message"  # a keyword of cfglint: the message to show instead of the validator's
LONGEST = 300  # characters of a validator's message, which quotes whole values
DEEPEST = 200
SECONDS = 2  # of processor time for one file
MOST = 1000  # reported violations of one file
MOST_TIMEOUTS = 5  # timeouts after which a schema is no longer applied


class PolicySchemaError(CfglintError):
    """A policy schema that cannot be used; the message names the place and the reason."""


class PolicyViolation(Record):
    """A value that a policy schema does not allow: its path, and a message."""

    path: Path
    message: str


class PolicySchemas:
    """The schemas of a project by kind; the one under `""` applies to every kind.

    Raises PolicySchemaError for a schema that is invalid in its own dialect or has an unresolvable reference.
    Nothing is fetched: references stay inside the file, or name a published meta-schema.
    """

    def __init__(self, schemas: ConfigTable, paths: dict[str, str] | None = None) -> None:
        self.validators = {kind: validator(schema, (paths or {}).get(kind, "policy schema")) for kind, schema in schemas.items()}
        self.timeouts = dict.fromkeys(schemas, 0)  # number of timeouts of each schema

    def violations(self, kind: str, values: ConfigMapping) -> Iterator[PolicyViolation]:
        document = plain(values)
        for each in (EVERY_KIND, kind):
            if each in self.validators:
                yield from self._bounded(each, document)

    def _bounded(self, kind: str, document: ConfigTable) -> list[PolicyViolation]:
        """The violations that a schema finds within its time limit; a timeout or an exception is reported as a violation."""
        policy_violations: list[PolicyViolation] = []
        if self.timeouts[kind] >= MOST_TIMEOUTS:
            return [PolicyViolation((), f"the policy schema is not applied to this file: it took too long for {MOST_TIMEOUTS} others")]
        try:
            with TimeLimit(SECONDS):
                for error in self.validators[kind].iter_errors(document):
                    policy_violations += violations(error)
                    if len(policy_violations) >= MOST:
                        break
        except (TimeLimitExceeded, RecursionError):
            self.timeouts[kind] += 1
            message = f"the policy schema takes more than {SECONDS} seconds for this file; simplify its patterns and references"
            policy_violations.append(PolicyViolation((), message))
        except Exception as error:  # the checks at loading do not cover every part of a schema
            policy_violations.append(PolicyViolation((), f"the policy schema cannot be applied to this file: {reason(error)}"))
        return policy_violations[:MOST]


def load(files: dict[str, str], folder: str) -> PolicySchemas:
    """Load the schemas in the files, by kind, relative to a folder. Raises PolicySchemaError if one cannot be used."""
    paths = {kind: os.path.join(folder, file) for kind, file in files.items()}
    return PolicySchemas({kind: read(path) for kind, path in paths.items()}, paths)


def read(path: str) -> ConfigValue:
    try:
        schema: ConfigValue = json.loads(read_bytes(path).decode("utf-8-sig"))
        return schema
    except FileProblem as error:
        raise PolicySchemaError(f"policy schema {error}") from error
    except (ValueError, RecursionError) as error:
        raise PolicySchemaError(f"policy schema {path}: not valid JSON: {error}") from error


def validator(schema: object, path: str) -> Validator:
    """A jsonschema validator, tested once, so that an invalid schema is reported before any config is checked."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    if not isinstance(schema, dict):
        raise PolicySchemaError(f"{path}: a JSON Schema must be an object, not {schema!r:.80}")
    try:
        with TimeLimit(SECONDS):
            dialect = validator_for(schema, default=Draft202012Validator)
            dialect.check_schema(schema)
            check_references(schema, dialect)
            ready = dialect(schema, registry=REGISTRY)
            ready.is_valid({})
    except TimeLimitExceeded as error:
        raise PolicySchemaError(f"{path}: loading takes more than {SECONDS} seconds; simplify its references") from error
    except SchemaError as error:
        where = "/".join(str(step) for step in error.absolute_path) or "top level"
        raise PolicySchemaError(f"{path}: not a valid JSON Schema: at {where}: {short(error.message)}") from error
    except Unresolvable as error:
        raise PolicySchemaError(f"{path}: unresolvable reference {error.ref!r}; references must stay inside the file") from error
    except RecursionError as error:
        raise PolicySchemaError(f"{path}: infinite recursion in a reference") from error
    except Exception as error:  # the dialect of a schema is looked up before its name is checked
        raise PolicySchemaError(f"{path}: not a valid JSON Schema: {reason(error)}") from error
    return ready


def check_references(schema: ConfigTable, dialect: type[Validator]) -> None:
    """Resolve every reference of a schema; raises Unresolvable."""
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012, specification_with

    specification = specification_with(dialect.META_SCHEMA.get("$schema", ""), default=DRAFT202012)
    root = specification.create_resource(schema)
    waiting = [(root, REGISTRY.resolver_with_root(root))]
    while waiting:
        resource, resolver = waiting.pop()
        if isinstance(resource.contents, dict) and isinstance(resource.contents.get("$ref"), str):
            resolver.lookup(resource.contents["$ref"])
        waiting += [(subresource, resolver.in_subresource(subresource)) for subresource in resource.subresources()]


def violations(error: Any) -> Iterator[PolicyViolation]:
    """The violations of a validator's error: one for each key that is not allowed, else one at its place."""
    path = tuple(error.absolute_path)
    own = error.schema.get(MESSAGE_KEYWORD) if isinstance(error.schema, dict) else None
    custom = own if isinstance(own, str) else None
    message = short(custom or error.message)
    extras: list[str] = []
    if error.validator == "additionalProperties" and error.validator_value is False:
        known, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", {})
        extras = [key for key in error.instance if key not in known and not any(re.search(pattern, key) for pattern in patterns)]
    for key in extras:
        yield PolicyViolation((*path, key), message if custom else f"`{key}` is not allowed here")
    if not extras:
        yield PolicyViolation(path, message)


def reason(error: Exception) -> str:
    return short(f"{type(error).__name__}: {error}")


def short(message: str) -> str:
    """A message, shortened where a value in it is too long."""
    return message if len(message) <= LONGEST else message[: LONGEST - 3] + "..."


def plain(value: object, depth: int = 0) -> Any:
    """A value as JSON can represent it: string keys, lists for sequences, strings for dates and the like."""
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, depth + 1) for each in value]
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
