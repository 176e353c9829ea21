"""Rules about the launch line itself: its launcher or its program refuses it, or starts something other than the line says."""

from __future__ import annotations

import re

from cfglint.findings.diagnostic import ERROR, Fix, unpinned
from cfglint.findings.fix_builders import outside
from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks import framework
from cfglint.frameworks.huggingface.cli_arguments import takes_one
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.launch.findings import MISSING_FILE
from cfglint.launch.kinds import is_trainer
from cfglint.launch.line import NO_DEVICE
from cfglint.launch.program import HF_PARSERS
from cfglint.source.annotations import Iterator
from cfglint.source.change import Edit
from cfglint.source.document import SCALAR, Document, Node
from cfglint.source.shell.command import SHOWN

BROKEN = re.compile(r"(?:(?<=\\)[ \t]+\r?|\r)(?=\n)")  # blanks behind a backslash, the carriage return of a line
OF_LINE = (  # the rules whose findings are problems of the line alone, whatever the run has
    "LCH002 LCH003 LCH004 LCH005 LCH007 LCH008 LCH009 LCH010 LCH011 LCH013 LCH014 LCH015 LCH016 LCH017 LCH018 LCH021 LCH022 LCH023 LCH024 "
    "LCH030 LCH031 LCH032"
)
OFF_NCCL = ("use_cpu", "no_cuda", "ddp_backend")  # arguments of a training without CUDA, or without NCCL


def problems(config: LaunchConfig, code: str) -> Iterator[Finding]:
    command, line = config.command, config.facts.launch.line
    if line is None or command is None:
        return
    for problem in (problem for problem in line.problems if problem.code == code):
        releases = problem.releases
        if releases is not None and config.facts.version(releases.package, RELEASES[releases.package]) not in releases:
            continue
        start, end = command.within(problem.word.place)
        name = problem.key.lstrip("-").replace("-", "_")
        command.flags.setdefault(name, problem.key)
        setting = Setting((name,), problem.word.string, WRITTEN, command, Node(SCALAR, start, end, problem.word.string))
        remedy = set_key(*problem.remedy) if isinstance(problem.remedy, tuple) else problem.remedy or None
        finding = Finding(setting, problem.message, severity=problem.severity, exception=problem.exception or None, help=remedy)
        finding.for_any_parser = problem.of_launcher
        may_differ = problem.of_launcher and code != MISSING_FILE  # another release may have other options
        finding.depends_on = (*config.outside(line.launcher),) if may_differ else ()
        if releases is not None and code in ("LCH031", "LCH032") and not config.facts.is_known(releases.package):
            finding.depends_on = (*finding.depends_on, unpinned(releases.package))
        yield finding


@rule("LCH001")
def broken_line_continuation(config: LaunchConfig) -> Iterator[Finding]:
    for finding in problems(config, "LCH001"):
        place = finding.setting.node
        if place is not None and not config.without_remedies:
            finding.fix = continued(config.command, place.start, str(finding.help or ""), finding.severity == ERROR)
        yield finding


def continued(command: Document | None, place: int, title: str, safe: bool) -> Fix | None:
    """The fix of a command whose continuations are broken around a place; None where something else than blanks breaks them."""
    text = command.text if command is not None else ""
    joined = text[:place].rfind("\\\n")
    if joined >= 0 and joined + len("\\\n") == place and not text[joined - 1].isspace():
        edits = [Edit(joined, joined, " ")]
    else:
        start, end = (edge(text, place, back) for back in (True, False))
        edits = [Edit(match.start(), match.end(), "") for match in BROKEN.finditer(text, start, end)]
    return outside([(command, edit) for edit in edits], title, safe) if command is not None and edits else None


def edge(text: str, place: int, back: bool) -> int:
    """Where a command of several lines begins, or ends: the lines before that end with a backslash and blanks, or those behind."""
    start = text.rfind("\n", 0, place) + 1
    if back:
        return edge(text, start - 1, back) if start and text[:start].rstrip().endswith("\\") else start
    end = text.find("\n", place)
    end = len(text) if end < 0 else end + 1
    return edge(text, end, back) if end < len(text) and text[start:end].rstrip().endswith("\\") else end


@rule("LCH029")
def unclosed_quote(config: LaunchConfig) -> Iterator[Finding]:
    for finding in problems(config, "LCH029"):
        command, place = config.command, finding.setting.node
        if command is not None and place is not None and not config.without_remedies:
            before = command.text[: place.start]
            if not command.text[place.end :].strip() and before != before.rstrip():  # nothing is quoted
                edit = Edit(len(before.rstrip()), place.end, "")
                finding.fix = outside([(command, edit)], "remove the quote", finding.severity == ERROR)
        yield finding


@rule("LCH006")
def ignored_visible_devices(config: LaunchConfig) -> Iterator[Finding]:
    line = config.facts.launch.line
    for finding in problems(config, "LCH006"):
        if line is not None and line.lacks_gpus and trains_on_gpus(config):
            finding.severity, finding.exception = ERROR, NO_DEVICE
        yield finding


def trains_on_gpus(config: LaunchConfig) -> bool:
    """Whether the Trainer takes the arguments, and none of them asks for CPUs or another backend, so that each process needs a GPU."""
    launch = config.facts.launch
    given = launch.line.options.given if launch.line is not None else {}
    asks_for_others = any(name in given or document.find((name,))[1] is not None for document in config.documents for name in OFF_NCCL)
    is_page = config.documents[0].path.lower().endswith(SHOWN)  # or a notebook
    return launch.is_main and not launch.doubts and is_trainer(launch.consumer) and not is_page and not asks_for_others


@rule("LCH025")
def more_processes_than_gpus(config: LaunchConfig) -> Iterator[Finding]:
    for finding in problems(config, "LCH025"):
        if config.facts.here and trains_on_gpus(config):
            finding.severity, finding.fails_at = ERROR, "init"
        yield finding


@rule("LCH012")
def unquoted_list(config: LaunchConfig) -> Iterator[Finding]:
    command, launch = config.command, config.facts.launch
    program = launch.parser
    others = program is not None and (program.is_strict or program.parser not in ("", *HF_PARSERS))
    if command is None or others or launch.doubts or not (launch.is_main and is_trainer(launch.consumer)):
        return  # LCH003 reports the arguments that a strict program refuses
    if framework(launch.consumer).parses_command:
        return
    own = {*program.fields, *program.defaults} if program is not None else ()
    release = config.facts.version("transformers", RELEASES["transformers"])
    for key, words in command.words.items():
        if words and len(words) > 1 and takes_one(key, release) and key not in own:
            left = " ".join(words[1:])
            message = f"`--{key}` takes one value, `{words[0]}`: `{left}` is left over"
            remedy = f'quote the words: `--{key} "{" ".join(words)}"`' if key != "report_to" else "write one of them, or all"
            note = "the words that are left over go to the program, which refuses or drops them"
            yield Finding(config.setting(key), message, on_key=True, note=note, help=remedy)


for page in OF_LINE.split():
    rule(page)(lambda config, code=page: problems(config, code))
