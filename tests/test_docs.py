"""What README and docs show is what happens: every command is run, every configuration is read."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from cfglint.project import settings_file

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ("rules.md",)  # held by the tests of what makes them
OUTSIDE = ("README.md", "CONTRIBUTING.md", "tools/README.md", "benchmarks/README.md")
PAGES = [*(ROOT / name for name in OUTSIDE), *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in GENERATED)]
BLOCK = re.compile(r"^```(?P<language>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#]+)(?:#[^)]*)?\)")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.fixture
def folder(tmp_path):
    """A copy of what a reader of the checkout has before them."""
    for name in ("examples", "README.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


@every_page
def test_commands_print_what_is_shown(page, folder, replay, updating):
    """A page's blocks in their order: a block with a file name is that file, a console block is run, `cd` holds for what follows."""

    place = folder

    def replayed(block):
        nonlocal place
        text = block["text"]
        if block["file"]:
            (place / block["file"]).write_text(text, encoding="utf-8")
        if block["language"] != "console":
            return block[0]
        shown, place = replay(text, place)
        return block[0].replace(text, shown)

    now = BLOCK.sub(replayed, page.read_text(encoding="utf-8"))
    if updating:
        page.write_text(now, encoding="utf-8")
    assert now == page.read_text(encoding="utf-8")


@every_page
def test_configurations_are_accepted(page):
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["language"] == "toml":
            table = settings_file.parse(block["text"].encode("utf-8"), page.name)
            settings_file.Configuration(table.get("tool", {}).get("cfglint", table), page.name)


@every_page
def test_links_lead_somewhere(page):
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        assert (page.parent / link["path"]).exists(), link["path"]


@every_page
def test_hooks_that_are_named_exist(page):
    hooks = set(re.findall(r"^- id: (\S+)", (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"- id: (cfglint\S*)", page.read_text(encoding="utf-8"))) <= hooks


def test_modules_that_a_newcomer_is_sent_to_exist():
    """Those of the guide, but for the names to be chosen: `tools/tables_KIND.py`."""
    files = {f"/{path.relative_to(ROOT)}" for folder in ("cfglint", "tools", "tests") for path in (ROOT / folder).rglob("*.py")}
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "docs/architecture.md", "tools/README.md"))
    named = {name for name in re.findall(r"`([\w/]+\.py)`", text) if not re.search("KIND|NAME", name)}
    assert len(named) > 20
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in files)]


def test_nobody_is_told_to_install_another_package():
    """`cfglint` on the package index is somebody else's."""
    for page in PAGES:
        assert not re.search(r"(pip|uv|pipx)\b.*install\s+(-\S+\s+)*cfglint(?!-train)\b", page.read_text(encoding="utf-8")), page.name


def test_ci_runs_the_test_command_of_the_readme():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (command,) = [line for line in lines if line.startswith("python3 -m venv") and "pytest" in line]
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
