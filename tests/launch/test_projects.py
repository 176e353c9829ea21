"""The launches of scripts, Makefiles and Markdown files: `projects` holds files of small projects and, behind `=>`, what was recorded.

`# file: NAME` begins another file; the first one, `run.sh` without such a line, is the one whose launches are shown: launcher, program,
sizes and folder, the files that the line names (`here`: in the project; `known`: its folder is certain), the arguments with the text at
their place, the problems of the line with what the launcher raises and the remedy.
"""

from __future__ import annotations

from pathlib import Path

from cfglint.launch.command import command_document, summary
from cfglint.launch.machine import Machine
from cfglint.launch.reader import Reader
from cfglint.source.project_files import Project
from records import check_cases

FOLDER = Path(__file__).parent / "projects"


def files_of(text):
    if not text.startswith("# file: "):
        text = f"# file: run.sh\n{text}"
    found = {}
    for part in f"\n{text}\n".split("\n# file: ")[1:]:
        name, _, content = part.partition("\n")
        found[name] = content
    return found


def described(line, text):
    facts = summary(line, {})
    sizes = f"{line.processes} = {line.gpus_per_node} x {line.nodes}"
    marks = [name for name in ("conditional", "needs_caller", "called_from") if facts[name]]
    marks += [name for name in ("module", "machine", "inner", "is_sourced") if getattr(line, name)]
    launcher = f"{line.launcher}/{line.inner}" if line.inner else line.launcher
    program = f"{facts['program']}{'' if line.program_path is None else ' here'}"
    yield f"{facts['file']}:{facts['line']} {launcher} {program}: {sizes} in {line.folder} {' '.join(marks)}".rstrip()
    if line.srun:
        yield f"  srun: {' '.join(word.string for word in line.srun)}"
    for entry in facts["unknown"]:
        yield f"  {entry['field']}: {entry['reason']}"
    for file in line.files:
        place = file.path if file.path is not None else "known" if file.known else "elsewhere"
        yield f"  file {file.word.string} ({file.role}, {file.kind or 'any'}): {place}"
    document = command_document(line, text)
    for key, node in document.roots[0].pairs():
        value = document.words.get(key.raw, [f"{node.raw} processes"])
        shown = (
            "? " + "; ".join(e.text for e in document.unknown[key.raw].reasons)
            if value is None
            else " ".join(value)
            if value
            else "no value"
        )
        yield f"  --{key.raw} {shown} at {document.text[key.start : key.end]!r}: {document.text[node.start : node.end]!r}"
    for problem in line.problems:
        yield f"  {problem.code} {problem.severity} at {problem.word.string} ({problem.key}): {problem.message}"
        yield from (f"    {each}" for each in (problem.exception, problem.remedy) if each)
        if problem.of_launcher:
            yield f"    of the launcher, {problem.releases}" if problem.releases else "    of the launcher"


def launches(text):
    files = files_of(text)
    name = next(iter(files))
    project = Project("", files.__contains__, files.get)
    lines = Reader(project, Machine(None, None), None).lines(name, files[name])
    return [part for line in lines for part in described(line, files[line.call.path])] or ["no launch"]


def test_projects(updating):
    """`CFGLINT_UPDATE=1` rewrites what comes of them."""
    check_cases(FOLDER, launches, updating)
