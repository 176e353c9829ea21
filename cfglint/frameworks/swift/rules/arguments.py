"""Rules about words of the command line that ms-swift's parser refuses, and about its own checks: each is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, Fix
from cfglint.findings.fix_builders import outside
from cfglint.findings.remedy import Remedy
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.arguments.config import invalid, left_over
from cfglint.frameworks.arguments.parsing import LEFT
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.swift import PACKAGE
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.frameworks.swift.fields import FILES, HISTORY, MODELS, RENAMED, TEMPLATES, exists
from cfglint.frameworks.swift.parsed_command import CONFIG, FILE_WINS, CommandConfig
from cfglint.source.annotations import Iterator, Sequence
from cfglint.source.change import REPLACE, Change, Edit
from cfglint.source.dataclass_fields import declared_below
from cfglint.source.shell.command import CommandDocument

SIZE = "NPROC_PER_NODE"


@rule("SWF001")
def unknown_swift_argument(config: CommandConfig) -> Iterator[Finding]:
    if config.own("ignore_args_error"):
        return
    is_older = isinstance(config, SwiftConfig) and config.is_older
    in_file = CONFIG if config.own_version < FILE_WINS else ""  # it names a file, which replaces it
    for refused in config.refused:
        name = refused.name
        if refused.why != LEFT or name == in_file:
            continue
        # a copy of the package, which the launch puts first on its path
        if PACKAGE in config.facts.copies and name in declared_below(config.facts.copies[PACKAGE]):
            continue
        # whether ms-swift itself defines it in any release
        is_own = exists(name) and any(name in HISTORY.names(each) for each in HISTORY.sections if each not in (MODELS, TEMPLATES, FILES))
        if name == CONFIG:
            message = f"{config.parser} reads a file of arguments only as its first word, without `--config`"
            advice, words = f"write `{refused.words[0]}` as the first word", [f"--{CONFIG}", *refused.words]
            yield Finding(config.words_setting(refused), message, exception=remaining(words), on_key=True, help=advice)
        elif name:
            finding = left_over(config, refused, remaining, is_own, RENAMED.get(name, ""))
            if is_older:
                successor = f", which is `{RENAMED[name]}` now" if RENAMED.get(name) else ""
                finding.message = f"ms-swift {dotted(config.own_version)} and later have no argument `{name}`{successor}"
                finding.severity, finding.exception = INFO, None
            yield finding
        else:
            message = f"ms-swift {dotted(config.own_version)} does not read a file without `--config`"
            advice = f"write `--config {refused.words[0]}`"
            yield Finding(config.words_setting(refused), message, exception=remaining(refused.words), help=advice)


def remaining(words: Sequence[str]) -> str:
    return f"ValueError: remaining_argv: {[*words]}"


@rule("SWF002")
def invalid_swift_argument(config: CommandConfig) -> Iterator[Finding]:
    return invalid(config)


def refused(config: SwiftConfig | MegatronSwiftConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            places = [config.setting(*path) for path in refusal.paths] or [config.devices_setting]
            yield refusal.finding(places, config.values, fix=with_processes(config, refusal))


def with_processes(config: SwiftConfig | MegatronSwiftConfig, refusal: Refusal) -> Fix | None:
    """The fix that starts the processes that a remedy names, before the command or where the variable is set."""
    remedy, document = next(iter(refusal.help), None), config.documents[0]
    step = next(iter(remedy.edit), None) if isinstance(remedy, Remedy) else None
    if step is None or step.key != SIZE or config.without_remedies or not isinstance(document, CommandDocument):
        return None

    start, title = document.extent[0], f"set `{SIZE}={spelled(step.value)}`"
    is_set = document.find((SIZE,))[1] is not None
    change = Change(REPLACE, (SIZE,), text=spelled(step.value)) if is_set else Edit(start, start, f"{SIZE}={spelled(step.value)} ")
    return outside([(document, change)], title, False)
