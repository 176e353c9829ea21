"""A composition: the files of the defaults list merged in order, then the overrides of values in struct mode.

Source: hydra-core 1.3.8 _internal/config_loader_impl.py; omegaconf 2.3.1 basecontainer.py (_map_merge), omegaconf.py (OmegaConf.update).
"""

from __future__ import annotations

from copy import deepcopy

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Any, Callable, ConfigMapping, ConfigValue, Mapping, TypeAlias
from cfglint.source.hydra.defaults_list import COMPOSITION, CompositionError, DefaultsList, Repository
from cfglint.source.hydra.interpolation import MISSING, ResolutionError, Resolver
from cfglint.source.hydra.overrides import ADD, DELETE, FORCE, HydraOverride, sweep_error
from cfglint.source.record import Record

Container: TypeAlias = ConfigMapping | list[ConfigValue]
Origin: TypeAlias = tuple[str, tuple[Any, ...]] | HydraOverride

HYDRA = "hydra"  # Hydra's own settings, which are not part of the program's config


class Composed(Record):
    """The composed tree, unresolved; `origins` maps each leaf to where it was set: (path of the file, path in it), or its override."""

    values: ConfigMapping
    origins: dict[tuple[Any, ...], Origin]


def compose(repository: Repository, name: str, overrides: list[HydraOverride]) -> Composed:
    """The config that Hydra hands to the program; raises CompositionError for what it refuses."""
    for override in overrides:
        exception = sweep_error(override)
        if exception is not None:
            raise CompositionError(exception, override)
    program = [override for override in overrides if override.key.replace("/", ".").partition(".")[0] != HYDRA]
    chosen = DefaultsList(repository, program)
    composed = Composed({}, {})
    for part in chosen.parts(name):
        package = tuple(part.package.split(".")) if part.package else ()
        target = composed.values
        for step in package:
            inner = target.get(step)
            if not isinstance(inner, dict):
                inner = target[step] = {}
            target = inner
        values = {key: value for key, value in part.source.values.items() if not (part.primary and key == HYDRA)}
        merge_into(composed, target, package, values, in_file(part.source.path, len(package)))
    for override in chosen.values:
        apply(composed, override)
    return composed


def in_file(file: str, depth: int) -> Callable[[tuple[Any, ...]], tuple[str, tuple[Any, ...]]]:
    """The function that gives the origin of a path of the tree, of which a file sets what is that deep."""
    return lambda path: (file, path[depth:])


def merge_into(
    composed: Composed,
    target: ConfigMapping,
    at: tuple[Any, ...],
    values: Mapping[Any, Any],
    origin: Callable[[tuple[Any, ...]], Origin],
) -> None:
    """Merge a mapping into a mapping of the tree. A mandatory value (`???`) does not replace what is there."""
    for key, value in values.items():
        path = (*at, key)
        if isinstance(value, dict):
            inner = target.get(key)
            if not isinstance(inner, dict):
                inner = target[key] = {}
                composed.origins[path] = origin(path)
            merge_into(composed, inner, path, value, origin)
        elif value != MISSING or key not in target:
            own = deepcopy(value) if isinstance(value, list) else value  # an override may change a list in place
            replace(composed, target, path, own, origin(path))


def replace(composed: Composed, target: Container, path: tuple[Any, ...], value: ConfigValue, origin: Origin) -> None:
    """Set the value at a path, which lies directly in a mapping or list of the tree."""
    if isinstance(item(target, path[-1]), (dict, list)):
        forget(composed, path)
    target[int(path[-1]) if isinstance(target, list) else path[-1]] = value
    composed.origins[path] = origin


def forget(composed: Composed, path: tuple[Any, ...]) -> None:
    below = [known for known in composed.origins if known[: len(path)] == path and len(known) > len(path)]
    for known in below:
        del composed.origins[known]


def apply(composed: Composed, override: HydraOverride) -> None:
    if override.package is not None:
        message = f"Override {override.text} looks like a config group override, but config group '{override.key}' does not exist."
        raise refused(override, message)
    path = tuple(override.key.split("."))
    is_scalar = not isinstance(override.value, (dict, list))
    if override.sign != DELETE and not (override.sign == ADD and is_scalar):
        put(composed, override, path)
        return
    try:
        value = Resolver(composed.values).get(path)
    except ResolutionError as problem:
        raise refused(override, f"Error merging override {override.text}: {problem}") from None
    is_there = value is not None and value != MISSING
    if override.sign == ADD:
        if is_there:
            raise refused(
                override,
                f"Could not append to config. An item is already at '{override.key}'.\n"
                f"Either remove + prefix: '{override.text[1:]}'\n"
                f"Or add a second + to add or override '{override.key}': '+{override.text}'",
            )
        put(composed, override, path)
        return
    if not is_there:
        raise refused(override, f"Could not delete from config. '{override.key}' does not exist.")
    if override.value is not None and not isinstance(value, Unknown) and override.value != value:
        raise refused(override, f"Could not delete from config. The value of '{override.key}' is {value!s} and not {override.value}.")
    parent: Any = composed.values
    for step in path[:-1]:
        parent = item(parent, step)
    if type(parent) not in (dict, list):
        return  # reached by an interpolation, the key of another section is deleted
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    forget(composed, path)
    composed.origins.pop(path, None)


def put(composed: Composed, override: HydraOverride, path: tuple[Any, ...]) -> None:
    """Set the value at a path. Without a plus sign every key has to exist; a mapping is merged into a mapping."""
    adds = override.sign in (ADD, FORCE)
    not_there = refused(override, f"Could not override '{override.key}'.\nTo append to your config use +{override.text}")
    target: Container = composed.values
    for index, step in enumerate(path[:-1]):
        inner = item(target, step)
        if not isinstance(inner, (dict, list)):
            if not adds or (isinstance(target, list) and inner is None):
                raise not_there
            inner = {}
            replace(composed, target, path[: index + 1], inner, override)
        target = inner
    last, value = path[-1], override.value
    if isinstance(target, list):
        if not last.isdecimal() or int(last) >= len(target):
            raise refused(override, f"Error merging override {override.text}")
        replace(composed, target, path, value, override)
        return
    if not adds and last not in target:
        raise not_there
    inner = target.get(last)
    if {type(value), type(inner)} == {dict, list}:  # a list does not merge with a mapping
        raise refused(override, f"Error merging override {override.text}")
    if not isinstance(value, dict):
        replace(composed, target, path, value, override)
        return
    if not isinstance(inner, dict):
        inner = {}
        replace(composed, target, path, inner, override)
    elif not adds and not has_all(inner, value):
        raise not_there
    merge_into(composed, inner, path, value, lambda _: override)


def has_all(current: Mapping[Any, Any], values: Mapping[Any, Any]) -> bool:
    """Whether a mapping has every key of another one, in depth."""
    for key, value in values.items():
        if key not in current:
            return False
        if isinstance(value, dict) and isinstance(current[key], dict) and not has_all(current[key], value):
            return False
    return True


def item(target: Container, step: str) -> ConfigValue:
    if isinstance(target, dict):
        return target.get(step)
    return target[int(step)] if step.isdecimal() and int(step) < len(target) else None


def refused(override: HydraOverride, message: str) -> CompositionError:
    return CompositionError(f"{COMPOSITION}: {message}", override)
