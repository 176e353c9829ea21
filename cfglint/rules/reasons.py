"""What an error of a rule rests on and is not known: its parser, its release, its program, the rest of its run."""

from __future__ import annotations

from cfglint.evaluate import Perhaps, Reason
from cfglint.findings.rule import ARGUMENT, BATCH, CERTAIN_SUBJECTS, CODE, KEY, LAUNCHER_CONFIG, SAMPLES, Finding, Rule
from cfglint.findings.setting import DEFAULT, Setting
from cfglint.frameworks.base import Config
from cfglint.source.annotations import Iterator

OF_RELEASE = (KEY, LAUNCHER_CONFIG)  # the keys are those of a release, also where they are refused while the files are read
TRAINER = Reason("program", "the trainer that the program builds")
UNPARSED = Reason("file", "the command", "bash cannot parse the script before it")


def unknowns(rule: Rule, finding: Finding, setting: Setting, config: Config) -> Iterator[Reason]:
    """Everything unknown on which an error depends; `setting` is the one that is blamed for it."""
    launch = config.facts.launch
    stage, named = finding.fails_at or rule.fails_at, (finding.setting, *finding.related)
    of_engine = config.framework.is_engine and rule.about != BATCH  # which checks its own file, whatever the program and its arguments are
    yield from finding.depends_on
    if config.framework.is_engine:
        yield from launch.engine_unread
    if rule.about == SAMPLES:
        yield from config.facts.counted
    if setting is not finding.setting and isinstance(setting.value, str):  # which another parser may cast to a number
        yield from config.other_parsers
    if rule.fails_at != "load" or rule.about in OF_RELEASE:  # what no parser can read fails in every release
        yield from config.unmodelled(rule)
    if rule.about in (KEY, ARGUMENT):
        yield from changed_code(config)
    for each in named:
        if isinstance(each.value, Perhaps):  # of a key that is wrong whatever its value is
            yield from each.value.reasons
        if each.name in config.assumed:
            yield Reason("file", f"`{each.name}`", "assumed from the hidden size of the model")
    on_default = any(each.origin == DEFAULT for each in (setting, *finding.related))  # which an argument may replace
    of_code, of_launcher = rule.about == CODE and not on_default, rule.about == LAUNCHER_CONFIG and rule.fails_at == "load"
    if not (of_engine or finding.for_any_parser or of_code or of_launcher):
        yield from launch.doubts
        if launch.line is not None and launch.line.call.refused is not None:
            yield UNPARSED
    if setting.origin == DEFAULT:
        yield from config.other_defaults
    if rule.fails_at != "load" and any(each.origin == DEFAULT for each in (setting, *finding.related)):
        yield from config.outside(config.package)  # which may have another default
    if stage == "config":  # the class checks what it is constructed with
        for each in named:
            if each.is_set_later:
                yield Reason("program", f"`{each.name}`", "the program sets it after the constructor")
    if stage in ("init", "first-step") and rule.about != CODE and not of_engine and config.may_build_own_trainer():
        yield TRAINER
    if (rule.about not in CERTAIN_SUBJECTS or on_default) and not of_engine:
        yield from (reason for reason in launch.not_read if reason.opens)
    if rule.about not in CERTAIN_SUBJECTS and not of_engine:
        yield from launch.not_known


def changed_code(config: Config) -> Iterator[Reason]:
    """What of the project changes the code of a package, and may add arguments: a patch, or a copy that the program imports."""
    launch, package = config.facts.launch, config.framework.source_folder or config.package
    places = [launch.project.patch_of(package)] if launch.project is not None and package else []
    program = launch.code or launch.program
    if program is not None and config.framework.argument_classes():
        copies = (program.modules.named(each) for each in (package, *config.base_packages))
        places += [copy.path for copy in copies if copy is not None]
    yield from (Reason("file", f"`{place}`", f"it changes the code of {config.package}") for place in places if place)
