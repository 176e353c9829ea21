"""Options that people try, with what they mean here."""

from __future__ import annotations

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
    "--output": ("-o", "--out", "--output-file"),
    "--format": ("--output-format", "-f", "--json", "--sarif", "--html"),
    "--select": ("--rules", "--enable"),
    "--ignore": ("--disable",),
    "--fail-on": ("--exit-zero", "--strict", "--severity"),
}
INSTEAD = {
    "--fix": "`cfglint fix PATH` applies fixes",
    "--quiet": "the findings are on standard output, the summary on standard error: 2>/dev/null hides it",
    "-q": "the findings are on standard output, the summary on standard error: 2>/dev/null hides it",
    "--verbose": "`cfglint check --show-files` and `--show-settings` say more, `cfglint explain` everything about one run",
    "-v": "`cfglint check --show-files` and `--show-settings` say more, `cfglint explain` everything about one run",
    "--batch-size": "`cfglint fix` and `cfglint plan` have --global-batch",
    "--global-batch": "`cfglint fix` and `cfglint plan` have it",
    "--isolated": "`--config FILE` chooses a configuration; an empty file sets nothing",
}
