"""The words of a Hydra command line: options of Hydra itself, and overrides.

Source: hydra-core 1.3.8 _internal/utils.py (get_args_parser).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("--config-name", "-cn")
FOLDERS = ("--config-path", "-cp")
MORE_FOLDERS = ("--config-dir", "-cd")
WITH_VALUE = (*NAMES, *FOLDERS, *MORE_FOLDERS, "--package", "-p", "--cfg", "-c")
PLAIN = ("--resolve", "--info", "-i", "--multirun", "-m", "--help", "-h", "--hydra-help", "--version", "--experimental-rerun")


def split(words: Sequence[str]) -> tuple[list[tuple[str, str, int]], list[int]]:
    """The words that begin with a dash as (flag, value, place of the word that has it), and the places of the overrides."""
    options: list[tuple[str, str, int]] = []
    overrides: list[int] = []
    waiting = ""
    for place, word in enumerate(words):
        flag, mark, value = word.partition("=")
        if waiting:
            options.append((waiting, word, place))
            waiting = ""
        elif not word.startswith("-"):
            overrides.append(place)
        elif flag in WITH_VALUE and not mark:
            waiting = flag
        else:
            options.append((flag, value, place))
    return options, overrides
