"""Requirements in lines: requirements files, conda environments, and `pip install` in Dockerfiles, scripts and a README."""

from __future__ import annotations

from cfglint.project.statements.requirement import stated
from cfglint.source.annotations import Collection, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.statements.statement import Stated


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
    for line in mentions(text, packages):
        found = stated(bare(line), file, packages, optional)
        if found is not None:
            yield found


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
    for line in mentions(text, packages):
        item = line.partition(" #")[0].strip()
        if item.startswith("-"):
            found = stated(item[1:].strip().strip("\"'").rpartition("::")[2], file, packages)
            if found is not None:
                yield found


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
            for word in installed(command, variables):
                found = stated(word, file, packages)
                if found is not None:
                    yield found


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


def without_spaces(line: str) -> str:
    """A line whose quoted requirements have no spaces: `"transformers <= 4.46.0"` is one word."""
    for quote in "\"'":
        parts = line.split(quote)
        parts[1::2] = [part.replace(" ", "") if is_requirement(part) else part for part in parts[1::2]]
        line = quote.join(parts)
    return line


def is_requirement(quoted: str) -> bool:
    """Whether a quoted string is a requirement with spaces, not a command."""
    return any(mark in quoted for mark in COMPARED) and not any(f"{command} " in quoted for command in COMMANDS)


def installed(line: str, variables: dict[str, str]) -> Iterator[str]:
    words = without_spaces(line).replace("&&", " && ").replace('",', " ").replace("\\n", " ").replace("`", " ").split()
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
