"""The words of a Hydra command line: options of Hydra itself, and overrides (hydra-core 1.3.8 _internal/utils.py (get_args_parser))."""

from __future__ import annotations

from cfglint.source.annotations import Sequence

NAMES = ("--config-name", "-cn")
FOLDERS = ("--config-path", "-cp")
MORE_FOLDERS = ("--config-dir", "-cd")
WITH_VALUE = (*FOLDERS, *NAMES, *MORE_FOLDERS, "--package", "-p", "--cfg", "-c")
PLAIN = ("--resolve", "--info", "-i", "--multirun", "-m", "--help", "-h", "--hydra-help", "--version", "--experimental-rerun")


def refused(flags: Sequence[str]) -> str:
    """argparse's error for the options among some that Hydra does not have: the first that may be several, else all that are none."""
    options = (*WITH_VALUE, *PLAIN)
    candidates = {  # argparse takes the beginning of an option for it
        flag: [option for option in options if option == flag or (len(flag) > 2 and flag.startswith("--") and option.startswith(flag))]
        for flag in flags
    }
    for flag, found in candidates.items():
        if len(found) > 1 and flag not in found:
            return f"error: ambiguous option: {flag} could match {', '.join(found)}"
    unknown = [flag for flag, found in candidates.items() if not found]
    return f"error: unrecognized arguments: {' '.join(unknown)}" if unknown else ""


def split(words: Sequence[str]) -> tuple[list[tuple[str, str, int]], list[int]]:
    """The words that begin with a dash as (flag, value, place of the word that has it), and the places of the overrides.

    A word without `=` behind a flag that Hydra does not have is the flag's value.
    """
    options: list[tuple[str, str, int]] = []
    overrides: list[int] = []
    waiting = ""
    for place, word in enumerate(words):
        flag, mark, value = word.partition("=")
        if waiting:
            options.append((waiting, word, place))
            waiting = ""
        elif not word.startswith("-"):
            after_unknown = place and words[place - 1].startswith("-") and refused([words[place - 1].partition("=")[0]])
            if mark or not after_unknown:
                overrides.append(place)
        elif flag in WITH_VALUE and not mark:
            waiting = flag
        else:
            options.append((flag, value, place))
    return options, overrides
