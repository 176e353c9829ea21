"""What a branch changes and the comparison of its runs does not cover, with the reason."""

from __future__ import annotations

import os
import re

from cfglint.findings.wording import first_names
from cfglint.frameworks import OTHER_PACKAGES
from cfglint.project.statements.copies import INSIDE, modules_of, version_in
from cfglint.review.branch import Branch, text_of
from cfglint.review.effects import is_of_training
from cfglint.review.literals import TOML, changed_values, first_values, unmodelled_class
from cfglint.review.releases import ReleaseChange
from cfglint.review.script_lines import ENDINGS, other_lines
from cfglint.run.paths import is_program, is_script
from cfglint.source.annotations import Collection, Iterator, Sequence
from cfglint.source.file_source import FileSource
from cfglint.source.record import Record
from cfglint.source.shell import is_markdown

NO_RUN = "no compared run is checked with it"  # with a package
SAME_RELEASE = "no compared run is checked with another release of it"
UNUSED = "no recognised run is known to depend on it"
REQUIRED, REQUIRED_BY = "accelerate", "the Trainer requires it, and what it changes in its runs is not compared"
NO_LAUNCH = "no launch line in it is recognised"
UNRECOGNIZED = "not recognised as a training config, and no recognised run is known to read it"
IN_FOLDER = "not recognised as a training config; {} names its folder, and what it reads there is not compared"
DATA_SETS, OF_DATA = "dataset_info.json", "runs may find their data sets by it, and what it says of them is not compared"
OF_FRAMEWORK = "the code of {} is not compared"
STARTED = "{} names its module, and its code is not compared"
PASSED = "{} names it, and its code is not compared"
NAMED = "not recognised as a training config; {} names it, and what it makes of it is not compared"
MOST_FOLDERS, MOST_PROGRAMS = 4, 200  # that are looked at for a program that names a file
CODE = "only the arguments in its code are compared"
ABSENT = "its content is not in this clone"
MOST_FILES = 5  # of one reason that a report for people names
MOST_DESCRIBED = 20  # files whose changed values are named


def unrecognized(name: str, branch: Branch) -> str:
    """The reason for a file that no run reads: a program or script of a run, beside it, or in a folder above it, may name it."""
    if os.path.basename(name) == DATA_SETS:
        return OF_DATA
    named = branch.named_folders.get(os.path.dirname(name) or os.curdir)
    if named:
        return IN_FOLDER.format(named)
    config = config_with(name, branch)
    if config:
        return NAMED.format(config)
    stem = os.path.splitext(os.path.basename(name))[0]  # by which a config of Hydra is named
    for path in (*filter(is_code, sorted(branch.compared)), *beside(name, branch)):
        text = text_of(branch.new, path)
        if names(text, name) or ("hydra" in text and any(f"{mark}{stem}{mark}" in text for mark in "\"'")):
            return NAMED.format(path)
    return UNRECOGNIZED


def beside(name: str, branch: Branch) -> Iterator[str]:
    """The first programs and scripts in the folder of a file, and in those above it."""
    folder = os.path.dirname(name)
    for _ in range(MOST_FOLDERS):
        there = filter(is_code, branch.new.names_in(folder or os.curdir))
        yield from (os.path.join(folder, each) for each in [*there][:MOST_PROGRAMS])
        if not folder:
            return
        folder = os.path.dirname(folder)


def is_code(name: str) -> bool:
    return name.endswith(".py") or is_script(name)


def names(text: str, name: str) -> bool:
    """Whether a program has the name of a file, in no other folder than that of the file: not `a/b.yaml` for `c/b.yaml`."""
    folder, file = os.path.split(name)
    for before in text.split(file)[:-1]:
        path = re.split(r"[^\w./-]", before)[-1].removeprefix("./").rstrip("/")
        if f"/{folder}".endswith(f"/{path.removeprefix('../')}") or not path:
            return True
    return False


def config_with(name: str, branch: Branch) -> str:
    """The config in a folder above that includes a file of a group (`data/a.yaml`) by the defaults of Hydra; empty if there is none."""
    from cfglint.source.hydra.folders import SUFFIXES, defaults_of

    folder, group = os.path.split(os.path.dirname(name))
    entry = {group: os.path.splitext(os.path.basename(name))[0]}
    for other in branch.new.names_in(folder or os.curdir) if group and name.endswith(SUFFIXES) else ():
        path = os.path.join(folder, other)
        if other.endswith(SUFFIXES) and entry in defaults_of(path, text_of(branch.new, path)):
            return path
    return ""


class NotCompared(Record):
    """A changed file that is not compared, or not all of it, and the reason."""

    file: str
    reason: str
    release: ReleaseChange | None = None  # if that changed, and not a file


def left_out(branch: Branch, releases: Sequence[ReleaseChange], own_files: Collection[str]) -> list[NotCompared]:
    """The changed files that no compared run reads but cfglint's own, and the `releases` that change and that no run depends on."""
    used = {*branch.packages, *OTHER_PACKAGES} if branch.packages else set[str]()
    reasons = {**dict.fromkeys(used, SAME_RELEASE), **({REQUIRED: REQUIRED_BY} if branch.has_trainers else {})}
    found = [NotCompared(release.file, f"{release.text}; {reasons.get(release.package, NO_RUN)}", release) for release in releases]
    files = [each for each in files_left_out(branch) if os.path.abspath(each[0]) not in own_files]
    texts = [*(with_values(*file, branch) for file in files[:MOST_DESCRIBED]), *(reason for _, reason in files[MOST_DESCRIBED:])]
    return [*found, *(NotCompared(name, reason) for (name, _), reason in zip(files, texts, strict=True))]


def with_values(name: str, reason: str, branch: Branch) -> str:
    """The reason why a file that a run may depend on is not compared, with the values in it that changed and that no comparison lists."""
    if reason in (ABSENT, UNRECOGNIZED, OF_DATA) or name in branch.gone or (name in branch.unsupported and not name.endswith(TOML)):
        return reason
    before, after = text_of(branch.old, branch.old_name(name)), text_of(branch.new, name)
    if reason == NO_LAUNCH:
        lines = other_lines(before, after, ((), ())) if before and name.endswith(ENDINGS) else ()
        told = [line for line in lines if is_of_training(line.split("`")[1].lower())]
        return f"{reason}; {', '.join(first_values(told))}" if told else reason
    unmodelled = unmodelled_class(name, after) if reason == UNUSED else ""
    only = is_of_training if reason == UNUSED and not unmodelled else None
    reason = f"{unmodelled} is not modelled" if unmodelled else reason
    values = changed_values(name, before, after, branch.listed | branch.in_code if reason == CODE else (), only)
    return f"{reason}; {', '.join(first_values(values.values()))}" if values else reason


def files_left_out(branch: Branch) -> Iterator[tuple[str, str]]:
    """The changed files that are not compared, with the reason."""
    for name in branch.unsupported:
        yield name, unrecognized(name, branch)
    for name in sorted((branch.altered | branch.gone) - {*branch.renamed.values()}):
        if name in branch.absent:
            yield name, ABSENT
        elif name in branch.unread:
            yield name, branch.unread[name]
        elif name in branch.compared:
            if is_program(name):
                yield name, CODE
        elif (name not in branch.dependencies or is_script(name)) and not is_markdown(name):
            yield name, of_program(name, branch) if is_program(name) else NO_LAUNCH if is_script(name) else unrecognized(name, branch)


def of_program(name: str, branch: Branch) -> str:
    """The reason for code that no run is known to depend on: that of a framework in the project may be what its runs start, and a line may
    name a plugin.
    """
    if name in branch.named_programs:
        return PASSED.format(branch.named_programs[name])
    package = package_of(name, branch.new if name not in branch.gone else branch.old)
    module = os.path.splitext(name)[0].replace(os.sep, ".")
    scripts = (each for each in sorted({*branch.same, *branch.altered}) if is_script(each) and "." in module)
    script = None if package else next((each for each in scripts if f"{module} " in text_of(branch.new, each)), None)
    return OF_FRAMEWORK.format(package) if package else STARTED.format(script) if script else UNUSED


def package_of(name: str, source: FileSource) -> str:
    """The framework of whose copy in the project a file is; empty if of none."""
    from cfglint.frameworks.releases._dates import RELEASES

    folders = os.path.dirname(name).split(os.sep)
    for package in RELEASES:
        for module in {*modules_of(package)}.intersection(folders):
            top = os.path.join(*folders[: folders.index(module) + 1])
            if any(version_in(text_of(source, os.path.join(top, each)), each) for each in INSIDE):
                return package
    return ""


def lines_of(found: Sequence[NotCompared]) -> list[str]:
    """A line for each release, and one for each reason with its first files: `not compared: a.py, b.py (REASON)`."""
    files: dict[str, list[str]] = {}
    for each in found:
        if each.release is None:
            files.setdefault(each.reason, []).append(each.file)
    releases = [f"{each.file}: {each.reason}" for each in found if each.release is not None]
    return releases + [f"not compared: {first_names(names, MOST_FILES)} ({reason})" for reason, names in files.items()]
