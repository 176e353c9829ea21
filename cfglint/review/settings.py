"""The settings of a run whose values differ, as the frameworks parse them."""

from __future__ import annotations

import json
from os.path import basename

from cfglint.evaluate import Unknown
from cfglint.findings.setting import OVERRIDE, WRITTEN, Setting
from cfglint.findings.vocabulary import Kind
from cfglint.frameworks.base import Config
from cfglint.frameworks.launch.config import default_of_program
from cfglint.frameworks.validation.schema import Property
from cfglint.launch import Launch
from cfglint.launch.command import override_arguments, readable
from cfglint.launch.kinds import LAUNCH, LAUNCHER, TRAINER, is_trainer
from cfglint.launch.launcher import launcher_of
from cfglint.launch.slurm import options_in
from cfglint.review.effects import has_effect
from cfglint.review.snapshot import Side
from cfglint.source.annotations import Any, Collection, ConfigMapping, ConfigValue, Iterator
from cfglint.source.document import Node
from cfglint.source.python.call import CallDocument
from cfglint.source.record import Record
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.placed_text import Text

Path = tuple[Any, ...]

AUTO = "auto"
UNKNOWN = "(unknown)"
NOWHERE: Any = object()  # the value of an absent key
# What sets or limits the number of processes: options of launchers, of srun and the header of a job, and variables.
SIZES = ("nproc_per_node", "nnodes", "num_processes", "num_machines", "num_gpus", "num_nodes", "include")
OF_SLURM = ("nodes", "ntasks", "ntasks-per-node", "gpus-per-node", "gres", "gpus")
SIZE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NPROC_PER_NODE", "NNODES")
YAML_WORDS = ("true", "false", "null")
# Fields of PEFT's `LoraConfig` with their defaults (peft 0.5.0 to 0.21.2, tuners/lora/config.py).
OF_ADAPTER = {
    "r": 8,
    "lora_alpha": 8,
    "lora_dropout": 0.0,
    "target_modules": None,
    "modules_to_save": None,
    "use_dora": False,
    "use_rslora": False,
}
LONGEST = 80  # maximum number of characters of a value
TYPES = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a mapping", type(None): "null"}


class SettingState(Record):
    """A setting on one side: its value, its spelling in the file, and its place."""

    value: ConfigValue
    text: str
    place: str | None = None
    span: tuple[str, int, int] | None = None  # file, and offsets from the key to the end of the value

    @property
    def written(self) -> bool:
        """Whether it is set in a file; otherwise it is a default or absent."""
        return self.span is not None

    @property
    def known(self) -> ConfigValue:
        return None if self.value is NOWHERE or isinstance(self.value, Unknown) else self.value


class SettingChange:
    """A setting that differs, in a config of `kind`; `effect`: it may affect what the framework computes; `notes` are remarks on it."""

    def __init__(self, kind: Kind, key: str, before: SettingState, after: SettingState) -> None:
        self.kind = kind
        self.key = key
        self.before = before
        self.after = after
        self.notes: list[str] = []
        self.effect = has_effect(key)
        before.text, after.text = shortened_pair(before.text, after.text)
        types = [TYPES.get(type(setting_state.value), "another type") for setting_state in (before, after)]
        is_known = AUTO not in (before.value, after.value) and UNKNOWN not in (before.text, after.text)
        if before.written and after.written and types[0] != types[1] and is_known and kind != LAUNCH:  # whose words are strings
            self.notes.append(f"was parsed as {types[0]}, now as {types[1]}")

    @property
    def is_rewritten(self) -> bool:
        """Whether both sides set it, each in other words."""
        return self.before.written and self.after.written and self.before.text != self.after.text


def setting_changes(old: Side, new: Side) -> list[SettingChange]:
    """Settings with another value; writing a default explicitly, or using an alias, is not a change.

    A file that the run names and that does not exist has no settings to compare.
    """
    commands = [side.run.launch.command for side in (old, new)]
    counts = {command.size_key for command in commands if command is not None}
    changes = [*launch_changes(old, new)]
    seen = {(change.before.span, change.after.span) for change in changes}
    unseen = {kind for side in (old, new) for _, kind, *_ in side.missing_files}
    # The configs of the same kind are compared, and those of a run that got another trainer.
    olds, news = ({config.kind: None for config in side.run.configs} for side in (old, new))
    former_trainers = [kind for kind in olds if is_trainer(kind) and kind not in news]
    trainers = dict(zip([kind for kind in news if is_trainer(kind) and kind not in olds], former_trainers, strict=False))
    for kind in [kind for kind in {**news, **olds} if kind not in {*trainers.values()}]:
        former = trainers.get(kind, kind)
        differ = Differ(former, kind, old, new)
        lacking = next((side for side, config in zip((old, new), differ.configs, strict=True) if config is None), None)
        of_line = any(config is not None and config.documents[0].is_command for config in differ.configs)  # whose words are compared
        if lacking is not None and (kind in unseen or lacking.run.not_read or (of_line and LAUNCH in olds and LAUNCH in news)):
            continue
        for change in differ.changes((), (), *(config.values if config else NOWHERE for config in differ.configs)):
            spans = (change.before.span, change.after.span)  # a section of a Trainer config is a separate config too
            if spans not in seen and not (kind == LAUNCH and change.key in counts):
                seen.add(spans)
                changes.append(change)
                if kind == LAUNCH and change.effect and not any(side.takes(change.key) for side in (old, new)):
                    change.effect = False
                    change.notes.append("the program does not take it")
    changes += adapter_changes(old, new)
    there = [{basename(document.path) for document in side.run.documents} for side in (old, new)]
    for change in changes:  # a file that moved is compared itself
        names = {basename(str(state.value)) for state in (change.before, change.after)}
        change.effect = change.effect and not (change.is_rewritten and len(names) == 1 and names <= there[0] & there[1])
    return changes


def launch_changes(old: Side, new: Side) -> Iterator[SettingChange]:
    """The options, headers and variables of a launch that set or limit its processes, and the `key=value` arguments of a program that is
    not modelled, or whose arguments were not read, where they differ.
    """
    sides: list[dict[str, Text]] = []
    for run in (old.run, new.run):
        texts, line = size_texts(run.launch), run.launch.line
        if line is not None and (run.unmodelled or run.launch.not_read):
            for argument in override_arguments(line.arguments):
                is_value = argument.texts and not argument.word.string.startswith("-")
                if is_value and not any(config.sets(argument.name) for config in run.configs):
                    texts[argument.name] = argument.texts[0]
        sides.append(texts)
    for name in dict.fromkeys((*sides[1], *sides[0])):
        states = [size_state(side.run.launch, texts.get(name)) for side, texts in zip((old, new), sides, strict=True)]
        lines = [side.run.launch.line for side in (old, new)]
        # Without a flag the config of the launcher may have it.
        words = [
            state.text if name in texts or line is None else str((line.values or {}).get(name, state.text))
            for state, texts, line in zip(states, sides, lines, strict=True)
        ]
        is_of_launcher = any(config.kind == LAUNCHER and config.sets(name) for side in (old, new) for config in side.run.configs)
        if word_read(words[0]) != word_read(words[1]) and not is_of_launcher:  # else the configs of the launcher are compared
            yield SettingChange(LAUNCH, name, *states)


def adapter_changes(old: Side, new: Side) -> Iterator[SettingChange]:
    """The values of the `LoraConfig` by which a program trains, where they differ, all of them where one side trains without."""
    calls, are_certain = zip(*map(adapter_of, (old, new)), strict=True)
    for name, default in OF_ADAPTER.items() if all(are_certain) or None not in calls else ():
        states = [adapter_state(call, name, default if None not in calls else NOWHERE) for call in calls]
        if not equal(states[0].value, states[1].value) and {UNKNOWN} != {state.text for state in states}:
            yield SettingChange(TRAINER, f"LoraConfig.{name}", *states)


def adapter_of(side: Side) -> tuple[CallDocument | None, bool]:
    """(the `LoraConfig` of the one model that a program trains, whether it is certain that it trains with it, or without)."""
    code = side.run.launch.code
    found = [each for each in code.adapters if each.adapter is not None] if code is not None else []
    if code is None or code.evaluations is None or code.not_read or found:
        return (found[0].adapter, found[0].is_certain) if len(found) == 1 else (None, False)
    return None, not any("peft" in module.text.lower() for module in code.modules.known())


def adapter_state(call: CallDocument | None, name: str, default: ConfigValue) -> SettingState:
    key, node = call.find((name,)) if call is not None else (None, None)
    if call is None or node is None:
        return SettingState(default, "(unset)" if default in (None, NOWHERE) else f"{spelled(default)} (default)")
    value = Unknown() if name in call.unknown else call.values.get(name)
    place = Setting((name,), value, WRITTEN, call, node, key).place
    return SettingState(value, UNKNOWN if isinstance(value, Unknown) else spelled(value), place, (call.path, (key or node).start, node.end))


def word_read(word: str) -> str:
    """A word without its spelling, for YAML reads `True` as it reads `true`."""
    return word.lower() if word.lower() in YAML_WORDS else word


def size_texts(launch: Launch) -> dict[str, Text]:
    """The values that set or limit the processes of a launch, by their names: first the header, from which the others may be computed."""
    line = launch.line
    if line is None or launch.command is None:
        return {}
    return {
        **{line.header.named(name): text for name, text in line.header.options.items() if name in OF_SLURM},
        **{f"srun --{name}": text for name, text in options_in(line.srun).items() if name in OF_SLURM},
        **{
            name: option.value
            for name, option in line.options.given.items()
            if (name in SIZES or name in launcher_of(line).counts) and option.value is not None and not option.in_file
        },
        **{name: text for name, text in line.call.environment.items() if name in SIZE_VARIABLES and not (text.known and not text.place)},
    }  # a variable without a place is one that Slurm sets by its header, which is told


def unknown_sizes(launch: Launch) -> dict[str, str]:
    """The sources of the unknown sizes of a launch, by option, header or variable."""
    return {name: text.source for name, text in size_texts(launch).items() if not text.known}


def size_state(launch: Launch, text: Text | None) -> SettingState:
    command = launch.command
    if text is None or command is None:
        return SettingState(NOWHERE, "(unset)")
    value = text.value if text.value is None or not text.value.isdigit() else int(text.value)
    path, start, end = text.place or (command.path, *command.extent)
    text_there = None if path == command.path or launch.project is None else launch.project.read(path)
    line = command.position(start)[0] if text_there is None else text_there.count("\n", 0, start) + 1
    return SettingState(value, text.string if text.known else UNKNOWN, f"{path}:{line}", (path, start, end) if text.place else None)


class Differ:
    """Compares the configs of a kind, one per side; a side may have none. `former` is the kind of the old side."""

    def __init__(self, former: Kind, kind: Kind, before: Side, after: Side) -> None:
        self.kind = kind
        sides = ((former, before.run), (kind, after.run))
        self.configs = [next((config for config in run.configs if config.kind == own), None) for own, run in sides]
        of_line = [kind == LAUNCH or (config is not None and config.documents[0].is_command) for config in self.configs]
        self.open = [of and not run.launch.is_closed for of, (_, run) in zip(of_line, sides, strict=True)]  # by what was not read
        self.lacks_defaults = [side.lacks_defaults for side in (before, after)]  # of its release
        self.former = [side.former for side in (before, after)]

    def changes(self, old_path: Path, new_path: Path, old: object, new: object) -> Iterator[SettingChange]:
        """The differences of two mappings at their paths, which may differ in the spelling of keys, in the order of the old file; new
        settings come last.
        """
        sides = (0, old_path, old), (1, new_path, new)
        others = []  # the keys of the other side of each, and the names that its file has for them
        for side in reversed(sides):
            written = [*self._written(*side)]
            others.append({*written, *map(self.former[side[0]].get, written)})
        olds, news = (self._named(*side, keys) for side, keys in zip(sides, others, strict=True))
        for name in dict.fromkeys((*olds, *news)):
            before_key, before = olds.get(name, (name, NOWHERE))
            after_key, after = news.get(name, (name, NOWHERE))
            before_path, after_path = (*old_path, before_key), (*new_path, after_key)
            was = {} if before is NOWHERE and self._is_placeless(1, after_path) else before
            now = {} if after is NOWHERE and self._is_placeless(0, before_path) else after
            if isinstance(was, dict) and isinstance(now, dict):
                yield from self.changes(before_path, after_path, was, now)
                continue
            states = self._state(0, before_path, before), self._state(1, after_path, after)
            if not self._same(before_path, after_path, before, after, states):
                there = after_path if after is not NOWHERE else before_path
                yield SettingChange(self.kind, ".".join(map(str, there)), *states)

    def _written(self, side: int, path: Path, values: object) -> Iterator[Any]:
        """The keys of a mapping that are written in a file, and the sections of several files that have such keys."""
        config = self.configs[side]
        own = {document.path for document in config.documents if not document.is_command} if config is not None else ()
        for key, value in values.items() if config is not None and isinstance(values, dict) else ():
            assert config is not None
            setting = config.setting(*path, key)
            # What a program makes of a value of the file stands in the place of the value.
            is_of_file = setting.written or (setting.origin == OVERRIDE and setting.document is not None and setting.document.path in own)
            if (setting.node is not None and is_of_file) or (
                isinstance(value, dict) and self._is_placeless(side, (*path, key)) and any(self._written(side, (*path, key), value))
            ):
                yield key

    def _is_placeless(self, side: int, path: Path) -> bool:
        """Whether a section has no place: that of a config which is put together from several files."""
        config = self.configs[side]
        return config is not None and config.setting(*path).node is None

    def _named(self, side: int, path: Path, values: object, others: Collection[ConfigValue]) -> dict[Any, tuple[ConfigValue, ConfigValue]]:
        """The entries of a mapping that are written in a file, by the usual names of their keys: (key, value).

        A key that is one of the `others`, those of the other side, keeps the name that its file has: in another release it may have another
        usual name, and this side may have been read under it.
        """
        config = self.configs[side]
        if config is None or not isinstance(values, dict):
            return {}
        entries: dict[Any, tuple[ConfigValue, ConfigValue]] = {}
        for key in self._written(side, path, values):
            node, value = config.setting(*path, key).node, values[key]
            is_auto = node is not None and node.raw == AUTO and not isinstance(value, dict)
            own = next((name for name in (key, self.former[side].get(str(key))) if name in others), None)
            entries[own or self._usual_name(config, path, key)] = (key, AUTO if is_auto else value)
        return entries

    def _usual_name(self, config: Config, path: Path, key: str | int) -> str | int:
        """The name of a key that has several in this release."""
        known = self._property(config, (*path, key))
        if known is None:
            return key
        if known.alias_of:
            return known.alias_of
        heir = known.renamed_to
        if heir and heir[:-1] == known.path[:-1] and known.renamed_value(AUTO) == AUTO and known.known_to(config.version):
            successor = self._property(config, heir)
            return heir[-1] if successor is not None and successor.known_to(config.version) else key
        return key

    def _property(self, config: Config | None, path: Path) -> Property | None:
        from cfglint.frameworks.validation.schema import load

        try:
            return load(self.kind).lookup(tuple(map(str, path))) if config is not None else None
        except FileNotFoundError:  # a kind without a schema
            return None

    def _default(self, side: int, path: Path) -> ConfigValue:
        """The framework's default of a key; NOWHERE if none is known."""
        config = self.configs[side]
        default: ConfigValue = config.default(path, NOWHERE) if config is not None else NOWHERE
        if config is not None and default is NOWHERE and config.documents[0].is_command:  # of a class of the program
            default = default_of_program(config.facts.launch, path, NOWHERE)
        return default

    def _same(self, before_path: Path, after_path: Path, before: object, after: object, states: tuple[SettingState, SettingState]) -> bool:
        """Whether both sides have the same value, with the defaults of absent keys."""
        if states[0].text == states[1].text == UNKNOWN and NOWHERE in (before, after):
            return True
        devices = [each.get("device") if isinstance(each, dict) else each for each in (before, after)]
        if str(after_path[-1]).startswith("offload_") and all(each is NOWHERE or each in (None, "none", AUTO) for each in devices):
            return True
        if before is NOWHERE and isinstance(after, dict):
            return all(equal(value, self._default(0, (*before_path, *path))) for path, value in leaves(after))
        if after is NOWHERE and isinstance(before, dict):
            return all(equal(value, self._default(1, (*after_path, *path))) for path, value in leaves(before))
        if states[0].text == states[1].text and states[0].written and states[1].written:  # another release or parser may read it otherwise
            return True
        if self.kind == LAUNCH and is_same_fraction(states[0].value, states[1].value):
            return True
        # A default in another notation is the default: 1e9 for 1000000000.
        exact = self._property(self.configs[1], after_path) if states[0].written and states[1].written else None
        return equal(states[0].value, states[1].value, exact.types if exact is not None else frozenset())

    def _state(self, side: int, path: Path, value: ConfigValue) -> SettingState:
        """A setting on one side: written, the default, or missing."""
        config = self.configs[side]
        given = config.setting(*path) if config is not None and value is NOWHERE and path else None
        if given is not None and given.origin == OVERRIDE and given.node is not None:  # the launch line gives it
            value = given.value
        elif config is not None and given is not None and (left := config.documents[0].find(path)[1]) is not None and left.raw == AUTO:
            return SettingState(AUTO, spelled(AUTO))  # what fills it is not known
        if config is None or value is NOWHERE:
            default = self._default(side, path)
            word = default if self.kind == LAUNCH and isinstance(default, str) else spelled(default)
            # It has another value where what reads the file, or makes the config, sets it.
            is_filled = config is not None and len(path) == 1 and config.values.get(path[0], default) != default
            is_unset = default is NOWHERE or default is None or is_filled
            text = "(unset)" if is_unset else UNKNOWN if self.lacks_defaults[side] else f"{shortened(word)} (default)"
            return SettingState(default, UNKNOWN if self.open[side] else text)
        setting = config.setting(*path).at_value
        document, node = setting.document, setting.node
        assert document is not None
        assert node is not None
        first = setting.key_node.start if setting.key_node is not None else node.start
        text = written(document.text, node, value) if document.is_literal(str(path[0])) else spelled(value)
        if self.kind == LAUNCH and (value is None or isinstance(value, str)):  # a word, or an option without one
            text = "(given)" if value is None else readable(value)
        is_unknown = isinstance(value, Unknown) or (isinstance(document, CommandDocument) and str(path[0]) in document.unknown)
        text = UNKNOWN if is_unknown else text
        return SettingState(value, readable(text), setting.place, (document.path, first, node.end))


def leaves(values: ConfigMapping, path: Path = ()) -> Iterator[tuple[Path, ConfigValue]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def equal(before: object, after: object, types: frozenset[str] = frozenset()) -> bool:
    """Equality as a framework sees it: true and 1 differ, 1 and 1.0 are equal if a key accepts any number."""
    if isinstance(before, bool) != isinstance(after, bool):
        return False
    if isinstance(before, float) != isinstance(after, float) and "integer" in types and "number" not in types:
        return False
    return bool(before == after) or (spelled(before) == spelled(after) and "NaN" in spelled(after))


def is_same_fraction(before: object, after: object) -> bool:
    """Whether two words are spellings of one number, as `0.00001` and `1e-5`; not of a whole one, which another parser may refuse."""
    try:
        numbers = [float(word) for word in (before, after) if isinstance(word, str) and not word.lstrip("-").isdigit()]
    except ValueError:
        return False
    return len(numbers) == 2 and numbers[0] == numbers[1]


def written(text: str, node: Node, value: object) -> str:
    """A value as its file spells it, if that is one line; else as JSON."""
    source = text[node.start : node.end]
    is_block = isinstance(value, list) and source.startswith("- ")
    return source if source and "\n" not in source and not is_block else spelled(value)


def spelled(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def shortened_pair(before: str, after: str) -> tuple[str, str]:
    """Two strings shortened for display, around the place where they begin to differ."""
    same = next(
        (place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), min(len(before), len(after))
    )
    first = max(0, same - LONGEST // 3) if max(len(before), len(after)) > LONGEST else 0
    return shortened(before, first), shortened(after, first)


def shortened(text: str, first: int = 0) -> str:
    cut = text[first : first + LONGEST]
    return f"{'...' if first else ''}{cut}{'...' if len(text) > first + LONGEST else ''}"
