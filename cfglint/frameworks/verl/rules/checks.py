"""Rules about what Hydra, OmegaConf and verl's own checks refuse: a failing check of `verl/checks.py` is a finding at its key."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import unpinned
from cfglint.findings.fix_builders import outside
from cfglint.findings.remedy import Remedy, remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.search_path import RELEASES_OF_PROGRAMS, program_of
from cfglint.source.annotations import Iterator
from cfglint.source.change import Edit
from cfglint.source.hydra.overrides import ADD, DELETE, HydraOverride
from cfglint.source.similar_keys import Spelling, near

OWN_COPY = Reason("program", "the code of the project's own copy of verl")


def likely(config: VerlConfig, key: str) -> str | None:
    """The key that was probably meant: a typo in the same section, or the same name in one other section."""
    section, _, name = key.rpartition(".")
    paths = [tuple(map(str, path)) for path in config.origins]
    beside = near(name, [((path[-1],), Spelling(path[-1])) for path in paths if ".".join(path[:-1]) == section])
    if beside:
        return f"{section}.{beside[0].name}" if section else beside[0].name
    same = [".".join(path) for path in paths if path[-1] == name]
    return same[0] if len(same) == 1 else None


@rule("VRL001")
def invalid_override(config: VerlConfig) -> Iterator[Finding]:
    for word in config.refused:
        if word.override is not None and not word.has_several:  # it can be parsed, and does not fit the config
            continue
        if config.lacks_program:
            program = program_of(config.facts.launch)
            others = [name for name, span in RELEASES_OF_PROGRAMS.items() if name != program and config.version in span]
            message = f"{config.release} has no `{program}`; releases {RELEASES_OF_PROGRAMS[program]} have it"
            remedy = f"start `{others[0]}`" if others else "install a release that has it"
        elif word.has_several:
            message, remedy = f"`{word.text}` has several values", "write a list as `key=[a,b]`, or quote the value"
        elif word.text:
            words = ", ".join(f"`{text}`" for text in (word.text, *word.options))
            message = f"{words} {'are not overrides' if word.options else 'is not an override'} of the form `key=value`"
            remedy = "write `key=value` without dashes, and quote special characters"
        else:  # a file of the composition is missing or wrong
            message = f"the config cannot be composed: {word.exception.partition(': ')[2]}"
            remedy = "add the file that is named, or correct what names it (`--config-path`, `--config-name`, a defaults list)"
        yield Finding(config.word_setting(word), message, exception=word.exception.replace("\n", " "), on_key=True, help=remedy)


@rule("VRL002")
def unknown_override(config: VerlConfig) -> Iterator[Finding]:
    unknown = config.unknown_overrides
    if config.is_for_fork:
        names = ", ".join(f"`{word.text.partition('=')[0]}`" for word in unknown[:3])  # keys that a message names
        yield Finding(
            config.word_setting(unknown[0]),
            f"{len(unknown)} keys are not in the config of {config.release}: {names}, ...",
            depends_on=config.fork,
            exception="",
            on_key=True,
            note="the line was probably written for a fork or another release, whose config has them",
            help="name the release with --target verl==X",
        )
        return
    for word in unknown:
        assert word.override is not None
        key, override, fix = word.override.key, word.override, None
        similar = likely(config, key)
        remedy: Remedy | str
        message = f"`{key}` is not a key of the config of {config.release}"
        if word.options:
            message = f"`{key}` has no option `{override.value}` in {config.release}"
            remedy = f"write one of {', '.join(f'`{key}={option}`' for option in word.options)}"
        elif similar:
            message, remedy = f"{message}; did you mean `{similar}`?", f"write `{similar}`"
        elif override.sign == DELETE:
            remedy = remove_key(word.text)
        else:
            remedy = f"remove it, or write `+{override.text}` if the program reads it"
            place = config.command.find((key,))[0]
            if not config.without_remedies and place is not None and config.command.text[place.start : place.end] == key:
                fix = outside([(config.command, Edit(place.start, place.start, "+"))], f"write `+{override.text}`", False)
        yield Finding(
            config.word_setting(word),
            message,
            exception=word.exception.replace("\n", " "),
            depends_on=() if config.has_stated_release else (unpinned(config.package),),
            on_key=True,
            help=remedy,
            fix=fix,
        )


@rule("VRL003")
def existing_key_appended(config: VerlConfig) -> Iterator[Finding]:
    for word in config.refused if not config.is_for_fork else ():
        if word.override is None or word.override.sign != ADD or word.has_several:
            continue
        message = f"`{word.override.key}` is already a key of the config of {config.release}"
        remedy = f"write `{word.override.text[1:]}`"
        yield Finding(config.word_setting(word), message, exception=word.exception.replace("\n", " "), on_key=True, help=remedy)


@rule("VRL004")
def unresolved_reference(config: VerlConfig) -> Iterator[Finding]:
    written_first = sorted(config.origins, key=lambda path: not isinstance(config.origins[path], HydraOverride))
    path = next((path for path in written_first if config.tree.problem(path)), None)
    if path is not None:
        message = f"`{'.'.join(map(str, path))}` refers to a key that does not exist"
        remedy = "name an existing key, or let the shell replace the variable"
        yield Finding(config.setting(*path), message, exception=config.tree.problem(path), help=remedy)


def refused(config: VerlConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            doubts = () if config.is_raised(refusal) else (OWN_COPY,)
            yield refusal.finding(map(config.setting, refusal.keys), config.values, depends_on=doubts)
