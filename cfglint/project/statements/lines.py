"""Requirements in lines: requirements files, conda environments, and `pip install` in Dockerfiles, scripts and a README."""

from __future__ import annotations

from cfglint.project.statements.statement import Stated, at_ref, same_name, stated_by
from cfglint.source.annotations import Collection, Iterator
from cfglint.source.files import NOTEBOOK
from cfglint.source.record import Record

CONDA = ("conda", "mamba", "micromamba")
INSTALLERS = ("pip", "pip3", "uv", *CONDA, "poetry", "pdm")
COMMANDS = ("install", "add")
WITH_VALUE = (
    *("-r", "-c", "--requirement", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "--find-links"),
    *("-t", "--target", "-n", "--name", "--channel"),
)
COMPARED = (" =", " <", " >", " ~", " !", "= ", "< ", "> ")  # in a requirement that has spaces
QUOTES = "\\\"'!%$()[]"
ENDS = ("&&", "||", ";", "|", "&", "#")
CLONE_OPTIONS = ("--depth", "-o", "--origin", "-j", "--jobs", "--filter", "-c", "--config", "--reference")  # with a value
BRANCH = ("-b", "--branch")
MOVES = ("checkout", "switch", "reset")
MOST_LINES = 200_000  # of a file that are looked at


def joined(text: str) -> str:
    return text.replace("\\\r\n", " ").replace("\\\n", " ")


def is_comment(line: str) -> bool:
    """Whether a line is a comment, in a cell of a notebook, too."""
    return line.lstrip(" \t\"'").startswith(("#", "<!--"))


def mentions(text: str, packages: Collection[str]) -> Iterator[str]:
    """The lines of a text that contain the name of a package, in order; continued lines are joined."""
    text = joined(text)
    lowered = text.lower()
    spellings = {spelling for package in packages for spelling in (package, package.replace("-", "_")) if spelling in lowered}
    if not spellings:
        return
    for line in text.splitlines()[:MOST_LINES]:
        low = line.lower()
        if any(spelling in low for spelling in spellings) or "git+" in low:
            yield line


def of_requirements(text: str, file: str, packages: Collection[str], optional: bool = False) -> Iterator[Stated]:
    return stated_by(map(bare, mentions(text, packages)), file, packages, optional)


def bare(line: str) -> str:
    """A line of a requirements file without its comment and the option of an editable installation."""
    text = line.strip()
    if text.startswith("#"):
        return ""
    for option in ("-e ", "--editable ", "--editable="):
        text = text.removeprefix(option)
    return text.partition(" #")[0].strip()


def editable(text: str) -> Iterator[str]:
    """The folders that commands or requirements in a text install with `-e`."""
    for line in joined(text).splitlines()[:MOST_LINES]:
        words = [] if is_comment(line) else line.replace("`", " ").split()
        places = [place for place, word in enumerate(words[:-1]) if word.strip(QUOTES) in ("-e", "--editable")]
        for path in (words[place + 1].strip(QUOTES + "',").partition("[")[0].removeprefix("./").rstrip("/") for place in places):
            if path not in ("", ".") and "://" not in path:
                yield path


def included(text: str) -> Iterator[str]:
    """The files that a requirements file includes with -r or -c."""
    if "-" not in text:
        return
    for line in text.splitlines()[:MOST_LINES]:
        words = line.replace("=", " ", 1).split() if line.lstrip().startswith("-") else []
        if len(words) > 1 and words[0] in ("-r", "-c", "--requirement", "--constraint"):
            yield words[1]
        elif words and words[0][:2] in ("-r", "-c") and len(words[0]) > 2 and not words[0].startswith("--"):
            yield words[0][2:]


def environment_files(text: str) -> Iterator[str]:
    """The YAML files from which commands in a text create conda environments: `conda env create -f gpu.yml`."""
    for line in joined(text).splitlines()[:MOST_LINES] if "env" in text else ():
        words = line.replace("`", " ").replace("=", " ").split()
        if "env" in words and any(word in CONDA for word in words) and not is_comment(line):
            yield from (word.strip(QUOTES).removeprefix("./") for word in words if word.strip(QUOTES).endswith((".yml", ".yaml")))


def of_environment(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What a conda environment states, including the lines for pip in it."""
    items = (line.partition(" #")[0].strip() for line in mentions(text, packages))
    wanted = (item[1:].strip().strip("\"'").rpartition("::")[2] for item in items if item.startswith("-"))
    return stated_by(wanted, file, packages)


def of_script(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    if file.endswith(NOTEBOOK):
        from cfglint.source.python.notebook import source_of

        text = source_of(text)
    yield from of_commands(text, file, packages)
    yield from of_clones(text, file, packages)


def of_commands(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What the commands in a text state that install packages: `pip install trl==0.17.0`."""
    if not any(command in text for command in COMMANDS):
        return
    variables: dict[str, str] = {}
    for line in joined(text).splitlines()[:MOST_LINES]:
        if "=" in line or line.startswith("ENV "):
            assigned(line, variables)
        command = "" if is_comment(line) else line.partition(" # ")[0]
        if any(f" {each} " in command for each in COMMANDS):
            yield from stated_by(installed(command, variables), file, packages)


def assigned(line: str, variables: dict[str, str]) -> None:
    """Note the variables that a line sets: `ARG TRL=0.17.0` and `ENV TRL 0.17.0` of a Dockerfile, `TRL=0.17.0` of a shell."""
    words = line.strip().split()
    if words and words[0] == "ENV" and len(words) == 3 and "=" not in words[1]:
        variables[words[1]] = words[2]
        return
    for word in words[1:] if words and words[0] in ("ARG", "ENV", "export") else words[:1]:
        name, mark, value = word.partition("=")
        if mark and name.isidentifier():
            variables[name] = value.strip("\"'")


def installed(line: str, variables: dict[str, str]) -> Iterator[str]:
    """The requirements that a line installs; `"transformers <= 4.46.0"` in quotes is one, unless it is a command."""
    for quote in "\"'":
        parts = line.split(quote)
        for place, part in enumerate(parts):
            is_quoted = place % 2 and any(mark in part for mark in COMPARED)
            if is_quoted and not any(f"{command} " in part for command in COMMANDS):
                parts[place] = part.replace(" ", "")
        line = quote.join(parts)
    words = line.replace("&&", " && ").replace('",', " ").replace("`", " ").split()
    active, skip = False, False
    for place, word in enumerate(words):
        plain = word.strip(QUOTES)
        if word in ENDS:
            active = False
        elif plain in COMMANDS and any(
            before.strip("\"'!%$()[]").rpartition("/")[2] in INSTALLERS for before in words[max(0, place - 3) : place]
        ):
            active, skip = True, False
        elif active and skip:
            skip = False
        elif active and plain in WITH_VALUE:
            skip = True
        elif active and not plain.startswith("-"):
            for name, value in variables.items():
                plain = plain.replace(f"${{{name}}}", value).replace(f"${name}", value)
            yield plain.rstrip(";")
            active = not word.endswith(";")


class Clone(Record):
    """A clone of the repository of a package: what was checked out, and whether it is installed from there."""

    package: str
    owner: str
    repository: str
    ref: str = ""
    is_used: bool = False


def of_clones(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What installed clones, or those at a ref, state: `git clone ...; cd trl; git checkout v0.17.0; pip install .`."""
    clones: list[Clone] = []
    last: Clone | None = None
    for line in joined(text).splitlines()[:MOST_LINES] if "git clone " in text else ():
        for words in commands(line):
            place = words.index("git") if "git" in words else -1
            if place >= 0 and words[place + 1 : place + 2] == ["clone"]:
                last = cloned(words[place + 2 :], packages)
                clones += [last] if last is not None else []
                continue
            if last is None:
                continue
            names = [word for word in words if not word.startswith("-")]
            if words[:1] == ["git"]:
                moved = next((place for place, word in enumerate(names) if word in MOVES), len(names))
                if names[moved + 1 :]:
                    last.ref, last.is_used = names[moved + 1], True
            elif "install" in words or "develop" in words:
                paths = [word.partition("[")[0].rstrip("/") for word in names]
                is_own = any(path in (".", "setup.py") or path.rpartition("/")[2] == last.repository for path in paths)
                last.is_used = last.is_used or is_own
            elif any("PYTHONPATH=" in word and last.repository in word for word in words):
                last.is_used = True
    yield from ((clone.package, at_ref(clone.package, clone.owner, clone.repository, clone.ref, file)) for clone in clones if clone.is_used)


def cloned(words: list[str], packages: Collection[str]) -> Clone | None:
    """The clone that the words after `git clone` make; None if it is of another repository."""
    ref, places, skip = "", list[str](), ""
    for word in words:
        name, mark, value = word.partition("=")
        if skip:
            ref, skip = (word if skip in BRANCH else ref), ""
        elif name in BRANCH or name in CLONE_OPTIONS:
            ref, skip = (value if name in BRANCH else ref), ("" if mark else name)
        elif not word.startswith("-"):
            places.append(word)
    owner, _, repository = places[0].rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/") if places else ("", "", "")
    package = same_name(repository, packages)
    return Clone(package, owner.rpartition("/")[2], repository, ref, bool(ref)) if package else None


def commands(line: str) -> Iterator[list[str]]:
    if is_comment(line):
        return
    words: list[str] = []
    for word in line.replace("&&", " && ").replace(";", " ; ").replace("`", " ").replace("\\n", " ").split():
        if word in ENDS:
            yield words
            words = []
        else:
            words.append(word.strip(QUOTES + "',"))
    yield words
