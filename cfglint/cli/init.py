"""`cfglint init`: a configuration and a baseline for a repository that has none, and the pre-commit hook."""

from __future__ import annotations

import os
import sys

from cfglint.cli.console import fail, warn
from cfglint.cli.options import UsageError, add_run_options, count, load_configuration, silence, working_directory
from cfglint.cli.run_all import outcomes
from cfglint.project import baseline
from cfglint.project.selection import Selection
from cfglint.run.discovery import ScanStats, UnknownKindError
from cfglint.source import writing
from cfglint.source.files import FileProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.cli.argument_parser import Namespace, Parser

SETTINGS = "cfglint.toml"
BASELINE = "cfglint-baseline.json"
HOOK = """\
# .pre-commit-config.yaml
repos:
  - repo: https://example.org/your/clone/of/cfglint  # or a path
    rev: v0.1.0
    hooks:
      - id: cfglint-fix
      - id: cfglint
"""


def add_arguments(parser: Parser) -> None:
    """The options of `init`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders to walk (default: .)")
    add_run_options(parser)
    parser.add_example("cfglint init --gpus 8", "a configuration for launches on 8 GPUs")


def run(arguments: Namespace) -> int:
    """Write the files and print the hook; 2 when a file is there already or cannot be written."""
    arguments.format, arguments.jobs = [], None
    stats = ScanStats()
    try:
        project = load_configuration(arguments)
        for path in (project.path, SETTINGS, BASELINE):
            if path and os.path.lexists(path):
                raise UsageError(f"{path} exists already; init overwrites nothing")
        working_directory()
        found = outcomes(arguments, project, stats)
        silence(found, Selection(project, None, None, None))
        number = sum(not each.suppressed for outcome in found for each in outcome.diagnostics)
        if number:
            baseline.Baseline(BASELINE, {}).of(BASELINE, found).write()
        writing.put(SETTINGS, settings(arguments.gpus, bool(number)).encode())
    except (UsageError, UnknownKindError, FileProblem) as error:
        return fail(str(error))
    sys.stdout.write(HOOK)
    accepted = f"; {BASELINE} accepts {count(number, 'finding')}" if number else "; no findings, so no baseline was written"
    warn(f"{count(stats.checked, 'file')} in {count(len(found), 'run')} checked; wrote {SETTINGS}{accepted}")
    return 0


def settings(gpus: int | None, has_baseline: bool) -> str:
    """The text of the configuration."""
    lines = [f"gpus = {gpus}" if gpus else "# gpus = 8  # GPUs of a launch, for files that do not give them"]
    lines.append('fail-on = "error"  # lowest severity that fails: error, warning or info')
    if has_baseline:
        lines.append(f'baseline = "{BASELINE}"  # findings that are accepted; drop resolved ones with `cfglint check --write-baseline`')
    return "\n".join(lines) + "\n"
