"""The options of `accelerate launch`, to which `trl sft` and similar commands pass every key of the file that no class of the script has;
and what accelerate makes of a string that is to be a DeepSpeed configuration and names no file.

Source: trl 1.16.0 cli/commands/training.py (TrainingCommand.run), cli/accelerate_launcher.py; the options of accelerate 1.15.0
commands/launch.py, whose parser accepts no abbreviations.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.launch._accelerate_options import OPTIONS
from cfglint.launch.argparse_types import FALSE, TRUE, converted, invalid_choice, invalid_value, spellings

PACKAGE = "accelerate"
# The variable by which the launcher hands the accumulation on; it takes precedence over the keyword (accelerate 1.15.0 accelerator.py:546).
ACCUMULATION_VARIABLE = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"
FLAGS = frozenset(name for name, rows in OPTIONS.items() if rows[-1][0] == "flag")
DASHES = (0, 28, 0)  # from here on each option may be written with dashes in place of all underscores
# The configs in TRL's package, which `trl` accepts by name (trl 1.16.0 trl/accelerate_configs): distributed type by name.
PACKAGED = {
    "single_gpu": "NO",
    "multi_gpu": "MULTI_GPU",
    **dict.fromkeys(("fsdp1", "fsdp2"), "FSDP"),
    **dict.fromkeys(("zero1", "zero2", "zero3"), "DEEPSPEED"),
}
PACKAGED_PROCESSES = 8  # the value of `num_processes` in each of them
NOT_A_CONFIG = "ValueError: Expected a string path to an existing deepspeed config, or a dictionary, or a base64 encoded string. Received: "


def is_option(key: str) -> bool:
    return key.replace("-", "_") in OPTIONS


def is_flag(key: str) -> bool:
    return key.replace("-", "_") in FLAGS


def lacking(name: str, is_dashed: bool) -> list[Releases]:
    """The releases whose parser does not have an option."""
    rows = OPTIONS[name]
    first, last = max(rows[0][2], DASHES if is_dashed else ()), rows[-1][3]
    return [Releases(since, until, package=PACKAGE) for since, until in (((), first), (last, ())) if since or until]


def refused(key: str, text: str) -> list[tuple[str, Releases | None]]:
    """The messages of argparse about the value of an option, and the releases that refuse it if others accept it."""
    name, found = key.replace("-", "_"), list[tuple[str, Releases | None]]()
    rows = OPTIONS.get(name, ())
    for kind, choices, since, until in rows:
        if kind not in ("", "flag") and (
            text.lower() not in (*TRUE, "on", *FALSE, "off") if kind == "str_to_bool" else converted(kind, text) is None
        ):
            found.append((invalid_value(spellings(name), kind, text), Releases(since, until, package=PACKAGE)))
        elif choices and text not in choices:
            found.append((invalid_choice(spellings(name), text, choices), Releases(since, until, package=PACKAGE)))
    return found if len(found) < len(rows) else [(message, None) for message, _ in found[-1:]]


def needed(key: str) -> str:
    """What an option accepts, for a remedy."""
    kind, choices, *_ = OPTIONS[key.replace("-", "_")][-1]
    return f"one of {', '.join(choices)}" if choices else {"int": "an integer", "float": "a number"}.get(kind, "true or false")


def refused_config(text: str) -> str:
    """The exception for a string that names no existing file; empty if it is a JSON object, plain or base64-encoded.

    accelerate's `HfDeepSpeedConfig` serves the Trainer, TRL, LLaMA-Factory, axolotl and `accelerate launch`: none of them has names
    for configurations. Plain JSON is read from accelerate 1.4 on; the Trainer itself reads it in every release.
    Source: accelerate 1.15.0 utils/deepspeed.py:136-158; 0.26.1 to 1.3.0 without the first `json.loads`.
    """
    import json
    from base64 import urlsafe_b64decode

    try:
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = json.loads(urlsafe_b64decode(text).decode("utf-8"))
    except (ValueError, RecursionError):
        return NOT_A_CONFIG + text
    return "" if isinstance(value, dict) else f"AttributeError: '{type(value).__name__}' object has no attribute 'get'"
