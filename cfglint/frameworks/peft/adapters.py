"""An adapter of a run: the values of its `LoraConfig`, the model that it is put on, and what PEFT does with them."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.base import Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.peft import fields, lora
from cfglint.frameworks.peft.checkpoints import config_of, path_in_project
from cfglint.frameworks.peft.lora import EXCLUDED, LAYERS, PARAMETERS, PATTERN, SAVED, TARGETS, Attached
from cfglint.frameworks.peft.modules import Modules, modules_of
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.source.annotations import Any, Collection, ConfigMapping, ConfigTable
from cfglint.source.record import Record

DECISIVE = (TARGETS, SAVED, EXCLUDED, PARAMETERS, LAYERS, PATTERN)
RECENT = 6  # of the releases of PEFT that an error has to hold for where the project states none
PACKAGE = "peft"
OWN_CODE = "trust_remote_code"


class Place(Record):
    """The values of a `LoraConfig`, and the model: its class, or the one of transformers that chooses it, and its checkpoint.

    `own_code`: the code of the checkpoint may build the model (`trust_remote_code`). It is written in the document of its `call`, or in
    the run's file, whose `keys` have other names than the fields. `depends_on` is what is not known of it, `bounds` the oldest and newest
    PEFT that the framework requires.
    """

    values: ConfigTable
    checkpoint: str
    loader: str
    origin: str
    transformers: Version
    own_code: bool = False
    call: Any = None
    keys: dict[str, str] = {}
    depends_on: tuple[Reason, ...] = ()
    bounds: tuple[Version, Version] | None = None

    def modules(self, here: bool = False) -> Modules | None:
        """The modules of the model; None if they are unknown. `here`: it is loaded on this machine, whose cache may have it."""
        config = config_of(self.checkpoint, self.origin, here)
        return modules_of(config, self.transformers, self.loader) if config is not None else None

    def is_named_model(self, here: bool) -> bool:
        """Whether nothing but the name of a published model tells its modules: a name without an owner may be a folder's elsewhere."""
        return not path_in_project(self.checkpoint, self.origin) and (self.own_code or ("/" not in self.checkpoint and not here))

    def setting(self, config: Config, name: str) -> Setting:
        if self.call is None:
            return config.setting(self.keys.get(name, name), value=self.values.get(name))
        key, node = self.call.find((name,))
        return Setting((name,), self.call.values.get(name), WRITTEN, self.call, node or self.call.roots[0], key)


class Outcome(Record):
    """What PEFT does: the result, or the refusal; `is_certain` if every allowed release of PEFT refuses. `modules` as far as known."""

    modules: Modules | None
    attached: Attached | None = None
    refused: Refusal | None = None
    is_certain: bool = False


def outcome(adapter: Place, facts: LaunchFacts) -> Outcome:
    """What PEFT does with an adapter in the release of the run; where none is stated, in the newest that is allowed."""
    releases = releases_of(facts, adapter.bounds)
    modules = adapter.modules(facts.here)
    unknown = dict.fromkeys(lora.unknown_in(adapter.values))
    known = {name: value for name, value in adapter.values.items() if name not in unknown}
    matches = modules is not None and unknown.keys().isdisjoint(DECISIVE)
    in_releases = (at(known, modules if matches else None, release, adapter.transformers, unknown) for release in reversed(releases))
    found = next(in_releases)
    found.is_certain = found.refused is not None and all(in_release.refused is not None for in_release in in_releases)
    return found


def at(values: ConfigMapping, modules: Modules | None, peft: Version, transformers: Version, unknown: Collection[str] = ()) -> Outcome:
    """What one release of PEFT does, with other fields of `unknown` values; a refusal that the values alone decide names no modules."""
    put_on = None
    try:
        lora.checked(values, peft, unknown)
        put_on = modules
        if modules is None:
            lora.layer_values(values, peft)
            return Outcome(None)
        return Outcome(modules, lora.attached(values, modules, peft, transformers))
    except Refusal as refused:
        return Outcome(put_on, None, refused.with_traceback(None))


def releases_of(facts: LaunchFacts, bounds: tuple[Version, Version] | None = None) -> list[Version]:
    """The releases of PEFT that are possible, the one that is taken last; `bounds` are the oldest and newest of the framework."""
    stated = facts.target.get(PACKAGE)
    if stated and facts.is_known(PACKAGE):
        return [parse_version(stated)]
    every = list(fields.RELEASES)
    specs = facts.bounds.get(PACKAGE, ())
    if specs:
        from cfglint.frameworks.releases.bounds import allowed

        fitting = {each for spec in specs for each in allowed(spec, every)}
        return [parse_version(each) for each in every if each in fitting][-RECENT:] or [parse_version(fields.NEWEST)]
    possible = [parse_version(each) for each in every]
    return [each for each in possible if bounds is None or bounds[0] <= each <= bounds[1]][-RECENT:]
