"""The VS Code extension, as far as it goes without a display: its own tests with a stubbed editor, and the package that vsce makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from cfglint import __version__

FOLDER = Path(__file__).resolve().parent.parent / "editors" / "vscode"
needs_node = pytest.mark.skipif(shutil.which("node") is None or shutil.which("npm") is None, reason="no node or npm on this machine")


@needs_node
@pytest.mark.slow
def test_its_own_tests_pass():
    done = subprocess.run(["node", "--test", "test"], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "# fail 0" in done.stdout


def test_the_manifest_belongs_to_this_release():
    manifest = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == __version__.partition(".dev")[0]
    settings = manifest["contributes"]["configuration"]["properties"]
    assert {name: each["default"] for name, each in settings.items()} == {"cfglint.command": "cfglint", "cfglint.arguments": ["server"]}
    assert (FOLDER / "LICENSE").read_text(encoding="utf-8") == (FOLDER.parent.parent / "LICENSE").read_text(encoding="utf-8")


@needs_node
@pytest.mark.slow
def test_it_packs(tmp_path):
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    install = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        installed = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not install the extension's packages within five minutes")
    if installed.returncode:
        pytest.skip(f"npm cannot install the extension's packages: {installed.stderr.strip()[-300:]}")
    command = [os.path.join("node_modules", ".bin", "vsce"), "package", "--out", "cfglint.vsix"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    names = set(zipfile.ZipFile(folder / "cfglint.vsix").namelist())
    assert {"extension/extension.js", "extension/package.json", "extension/readme.md", "extension/LICENSE.txt"} <= names
    assert "extension/node_modules/vscode-languageclient/package.json" in names
    assert not any(name.startswith("extension/test/") for name in names)
