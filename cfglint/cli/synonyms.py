"""Options that people try, and former spellings, with what they mean here."""

from __future__ import annotations

from cfglint.cli.console import warn
from cfglint.source.similar_keys import closest

SYNONYMS = {
    "--gpus": ("--num-gpus", "--n-gpus", "--ngpus", "--num-processes", "--nproc-per-node", "--world-size"),
    "--nodes": ("--num-nodes", "--nnodes"),
    "--global-batch": ("--batch-size", "--batch", "--train-batch-size", "--global-batch-size"),
    "--max-micro-batch": ("--micro-batch", "--micro-batch-size"),
    "--seq-length": ("--max-length", "--sequence-length", "--seq-len", "--max-seq-length"),
    "--num-examples": ("--num-samples", "--dataset-size", "--samples"),
    "--target": ("--release", "--framework-version"),
    "--diff": ("--dry-run", "--preview"),
    "--unsafe-fixes": ("--unsafe",),
    "--output": ("--out", "--output-file"),
    "--format": ("--output-format", "-f", "--json", "--sarif", "--html"),
    "--select": ("--rules", "--enable"),
    "--ignore": ("--disable",),
    "--fail-on": ("--exit-zero", "--strict", "--severity"),
}
INSTEAD = {
    "--fix": "`cfglint fix PATH` applies fixes",
    "--quiet": "the findings are on standard output, the summary on standard error: 2>/dev/null hides it",
    "-q": "the findings are on standard output, the summary on standard error: 2>/dev/null hides it",
    "--verbose": "`cfglint check --show files` and `--show settings` say more, `cfglint explain` everything about one run",
    "-v": "`cfglint check --show files` and `--show settings` say more, `cfglint explain` everything about one run",
    "--batch-size": "`cfglint fix` and `cfglint plan` have --global-batch",
    "--global-batch": "`cfglint fix` and `cfglint plan` have it",
    "--isolated": "`--config FILE` chooses a configuration; an empty file sets nothing",
}


def advice(name: str, options: list[str]) -> str:
    """What to write in the place of an unknown option."""
    near = [option for option, synonyms in SYNONYMS.items() if name in synonyms and option in options]
    near = near or [option for option in options if option.startswith(name) or name.startswith(option)]
    if not near and name in INSTEAD:
        return INSTEAD[name]
    if not near:
        near = [*filter(None, [closest(name, options)])]
    return f"did you mean {near[0]}?" if near else "--help lists them"


def current(former: str, spelling: str, value: str, rest: list[str]) -> str:
    """The current spelling of a former option, with its value, which is taken from the rest of the line; prints a line about it."""
    warn(f"`{former}` is `{spelling.replace('=', ' ', 1)}` now")
    if not spelling.endswith("=N"):
        return spelling
    return spelling[:-1] + (value or (rest.pop(0) if rest else ""))
