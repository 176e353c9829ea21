"""Rules about the overrides of a line that Hydra refuses, and about references that OmegaConf cannot resolve."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix, unpinned
from cfglint.findings.remedy import Remedy, remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.verl.config import RefusedWord, VerlConfig
from cfglint.frameworks.verl.search_path import RELEASES_OF_PROGRAMS, program_of
from cfglint.source.annotations import Iterator
from cfglint.source.hydra.overrides import ADD, DELETE
from cfglint.source.similar_keys import Spelling, near

SHOWN = 3  # keys that a message names


def is_about_key(refused: RefusedWord) -> bool:
    """Whether the override itself can be parsed, so that it does not fit the config."""
    return refused.override is not None


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
        if is_about_key(word) and not word.has_several:
            continue
        message, remedy = without_program(config) if config.lacks_program else described(word)
        yield Finding(config.word_setting(word), message, exception=word.exception.replace("\n", " "), on_key=True, help=remedy)


def without_program(config: VerlConfig) -> tuple[str, str]:
    """What is wrong with a line whose program is a module of other releases, and what to do."""
    program = program_of(config.facts.launch)
    others = [name for name, span in RELEASES_OF_PROGRAMS.items() if name != program and config.version in span]
    message = f"{config.release} has no `{program}`; releases {RELEASES_OF_PROGRAMS[program]} have it"
    return message, f"start `{others[0]}`" if others else "install a release that has it"


def described(refused: RefusedWord) -> tuple[str, str]:
    """What is wrong with a word that Hydra refuses, and what to do; without a word, a file of the composition is missing or wrong."""
    if refused.has_several:
        return f"`{refused.text}` has several values", "write a list as `key=[a,b]`, or quote the value"
    if refused.text:
        words = ", ".join(f"`{word}`" for word in (refused.text, *refused.options))
        return (
            f"{words} {'are not overrides' if refused.options else 'is not an override'} of the form `key=value`",
            "write `key=value` without dashes, and quote special characters",
        )
    reason = refused.exception.partition(": ")[2]
    return (
        f"the config cannot be composed: {reason}",
        "add the file that is named, or correct what names it (`--config-path`, `--config-name`, a defaults list)",
    )


@rule("VRL002")
def unknown_override(config: VerlConfig) -> Iterator[Finding]:
    unknown = config.unknown_overrides
    if config.is_for_fork:
        names = ", ".join(f"`{each.text.partition('=')[0]}`" for each in unknown[:SHOWN])
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
        yield unknown_key(config, word)


def unknown_key(config: VerlConfig, refused: RefusedWord) -> Finding:
    """The finding about one override that names no key."""
    assert refused.override is not None
    key = refused.override.key
    similar, fix = likely(config, key), None
    remedy: Remedy | str
    if refused.options:
        message = f"`{key}` has no option `{refused.override.value}` in {config.release}"
        remedy = f"write one of {', '.join(f'`{key}={option}`' for option in refused.options)}"
    elif similar:
        message, remedy = f"`{key}` is not a key of the config of {config.release}; did you mean `{similar}`?", f"write `{similar}`"
    else:
        message = f"`{key}` is not a key of the config of {config.release}"
        is_own = refused.override.sign != DELETE
        remedy = f"remove it, or write `+{refused.override.text}` if the program reads it" if is_own else remove_key(refused.text)
        fix = appended(config, key, f"write `+{refused.override.text}`") if is_own and not config.without_remedies else None
    return Finding(
        config.word_setting(refused),
        message,
        exception=refused.exception.replace("\n", " "),
        depends_on=() if config.has_stated_release else (unpinned(config.package),),
        on_key=True,
        help=remedy,
        fix=fix,
    )


def appended(config: VerlConfig, key: str, title: str) -> Fix | None:
    """The fix that adds a key which the config does not have, for a program that reads it."""
    from cfglint.findings.fix_builders import outside
    from cfglint.source.change import Edit

    place = config.command.find((key,))[0]
    if place is None or config.command.text[place.start : place.end] != key:
        return None
    return outside([(config.command, Edit(place.start, place.start, "+"))], title, False)


@rule("VRL003")
def existing_key_appended(config: VerlConfig) -> Iterator[Finding]:
    for word in config.refused if not config.is_for_fork else ():
        if word.override is None or word.override.sign != ADD or word.has_several:
            continue
        yield Finding(
            config.word_setting(word),
            f"`{word.override.key}` is already a key of the config of {config.release}",
            exception=word.exception.replace("\n", " "),
            on_key=True,
            help=f"write `{word.override.text[1:]}`",
        )


@rule("VRL004")
def unresolved_reference(config: VerlConfig) -> Iterator[Finding]:
    unresolved = config.unresolved()
    if unresolved is not None:
        path, exception = unresolved
        yield Finding(
            config.setting(*path),
            f"`{'.'.join(map(str, path))}` refers to a key that does not exist",
            exception=exception,
            help="name an existing key, or let the shell replace the variable",
        )
