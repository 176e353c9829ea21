"""What may open a file: everything else opens files through `files.open_regular`, with the root of the project that names them."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import cfglint
from cfglint.source import files
from cfglint.source.root import root_of

PACKAGE = Path(cfglint.__file__).parent
OPENERS = ("open", "read_text", "read_bytes", "fdopen")  # of Python, pathlib, os, io, codecs and the packers
PATHLIB = ("open", "read_text", "write_text", "write_bytes")
OWN_OPENERS = ("open_regular", "read_bytes", "read")  # of `cfglint.source.files`

# Modules that open files of cfglint itself, or write; the rest is opened by `files`.
OF_ITS_OWN = {
    "source/files.py": "the function itself",
    "source/writing.py": "writes, after its own refusals",
    "data/remembered.py": "writes the cache of the user",
    "cli/__init__.py": "the null device, for a closed stream",
    "cli/worker_processes.py": "pipes between its own processes",
    "server/language_server.py": "standard input and output",
    "report/html/page.py": "a template of the package",
    "report/links.py": "a page of the package",
    "findings/pages.py": "a page of the package",
    "cli/schema.py": "a schema of the package",
    "run/quick_scan.py": "a schema of the package",
    "frameworks/validation/schema.py": "a schema of the package",
    "data/rows.py": "what `open_regular` has opened, and a packed stream in it",
    "data/checkpoint.py": "what `open_regular` has opened, and a packed stream in it",
    "explanation/log_file.py": "what `open_regular` has opened",
}
# Modules that open a file without a root: the command line or the configuration that is in use names it, or its root was asked before.
NAMED_BY_THE_USER = {
    "source/files.py": "passes the root on",
    "source/file_source.py": "`leads_out` of the source is asked before a file is followed",
    "source/git.py": "`_unkept` asks for the root",
    "source/git_index.py": "the index of git, which is never quoted",
    "source/writing.py": "the file that is to be replaced, after its own refusals",
    "rewrite/apply_fixes.py": "a file that was read for the run, and is to be replaced",
    "source/python/package.py": "`may_open` is asked before",
    "explanation/log_file.py": "a log is an argument",
    "explanation/trainer_state.py": "a log is an argument",
    "project/settings_file.py": "`--config`, or a configuration that was looked for by its name",
    "project/baseline.py": "an option; the one of a configuration has to be inside the project",
    "project/policy_schema.py": "an option; the one of a configuration has to be inside the project",
    "cli/new.py": "the file that is to be written",
    "cli/typed_command.py": "the script of a typed `sbatch`",
    "data/remembered.py": "the cache of the user",
}


class Opened:
    """The calls in a module of functions that open files, and the names that it imports from `files`."""

    def __init__(self, name, text):
        nodes = [*ast.walk(ast.parse(text))]
        imports = [each for each in nodes if isinstance(each, ast.ImportFrom) and each.module == "cfglint.source.files"]
        self.name = name
        self.imported = {alias.asname or alias.name for each in imports for alias in each.names}
        self.calls = [each for each in nodes if isinstance(each, ast.Call) and name_of(each) in (*OPENERS, *OWN_OPENERS, *PATHLIB)]

    def of_files(self, call):
        """Whether a call is one of a function of `files`."""
        if isinstance(call.func, ast.Name):
            return call.func.id in self.imported
        return ast.unparse(call.func.value) == "files"


def name_of(call):
    """The last part of the name of a called function."""
    return getattr(call.func, "id", None) or getattr(call.func, "attr", None)


@cache
def modules():
    """The modules of the package that may open something."""
    texts = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    called = re.compile(rf"\b({'|'.join({*OPENERS, *OWN_OPENERS, *PATHLIB})})\(")
    return [Opened(name, text) for name, text in texts.items() if called.search(text)]


def has_root(call):
    """Whether a call passes the root of a project."""
    return any(each.arg == "root" for each in call.keywords) or any("root" in ast.unparse(each) for each in call.args[1:])


def is_method(call):
    """Whether a call is a method of some object, such as a source of files, which opens none itself."""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in ("os", "io", "codecs")


def test_no_other_module_opens_a_file():
    found = [
        f"{each.name}: {ast.unparse(call)}"
        for each in modules()
        if each.name not in OF_ITS_OWN
        for call in each.calls
        if name_of(call) in OPENERS and not each.of_files(call) and not is_method(call)
    ]
    assert found == []


def test_paths_of_pathlib_are_not_read():
    found = [
        f"{each.name}: {ast.unparse(call)}" for each in modules() for call in each.calls if name_of(call) in PATHLIB and is_method(call)
    ]
    assert found == ["data/rows.py: import_module(PACKED[packed]).open(file, 'rb')"]


def test_files_that_content_names_are_opened_with_the_root_of_their_project():
    found = [
        f"{each.name}: {ast.unparse(call)}"
        for each in modules()
        if each.name not in NAMED_BY_THE_USER
        for call in each.calls
        if name_of(call) in OWN_OPENERS and each.of_files(call) and not has_root(call)
    ]
    assert found == []


@pytest.mark.parametrize("allowed", [OF_ITS_OWN, NAMED_BY_THE_USER])
def test_the_modules_that_are_allowed_to_exist(allowed):
    assert [name for name in allowed if not (PACKAGE / name).is_file()] == []


def test_a_file_that_content_names_is_opened_inside_its_project_only(tmp_path):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    for path in (project / "a.json", project / ".git" / "config", tmp_path / "secret.json"):
        path.write_text("1")
    (project / "link.json").symlink_to(tmp_path / "secret.json")
    (project / "config.json").symlink_to(project / ".git" / "config")
    root = root_of(str(project / "a.json"))
    assert files.read_bytes(str(project / "a.json"), root=root) == b"1"
    refused = {
        "link.json": "is outside of the project",
        "config.json": "is in the `.git` of the project",
        ".git/config": "is in the `.git` of the project",
        "../secret.json": "is outside of the project",
        ".": "is outside of the project",
    }
    for name, reason in refused.items():
        with pytest.raises(files.FileProblem) as raised:
            files.read_bytes(str(project / name), root=root)
        assert raised.value.message == reason, name
