"""Values from the launch line laid over those of the files, and `${...}` between them, by OmegaConf's rules."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SET = "--set"
ARGS = "--args"


class Override:
    """One value of the launch line: `key` may be dotted, `texts` are the words given for it, none for a bare flag."""

    __slots__ = ("key", "origin", "texts")

    def __init__(self, key: str, texts: list[str], origin: str = SET) -> None:
        self.key = key
        self.texts = texts
        self.origin = origin

    def __str__(self) -> str:
        return " ".join((self.origin, self.key, *self.texts))


def put(values: dict[Any, Any], path: tuple[str, ...], value: Any) -> None:
    """Set a value at a path, copying the mappings on the way so that the file's own tree stays as it was."""
    for step in path[:-1]:
        inner = values.get(step)
        values[step] = dict(inner) if isinstance(inner, dict) else {}
        values = values[step]
    values[path[-1]] = value


def by_omegaconf(override: Override) -> Any:
    """The value of an override as OmegaConf reads it: numbers, booleans, null, lists and mappings in flow style."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    text = " ".join(override.texts)
    try:
        container: Any = OmegaConf.to_container(OmegaConf.from_dotlist([f"value={text}"]))
    except (OmegaConfBaseException, ValueError):
        return text
    return container.get("value")


def interpolated(values: dict[Any, Any]) -> dict[Any, Any]:
    """The values with `${key}` replaced by what it refers to; as they are where that cannot be resolved here.

    References to the environment (`${oc.env:...}`) are not followed: it is the launch's, not ours.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        resolved: Any = OmegaConf.to_container(OmegaConf.create(values), resolve=True)
    except (OmegaConfBaseException, ValueError, TypeError):
        return values
    return dict(resolved) if isinstance(resolved, dict) else values


def refers(values: Any) -> bool:
    """Whether some text in the values is an interpolation that can be followed here."""
    if isinstance(values, dict):
        return any(refers(value) for value in values.values())
    if isinstance(values, list):
        return any(refers(value) for value in values)
    return isinstance(values, str) and "${" in values and "${oc." not in values
