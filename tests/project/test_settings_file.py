"""What a settings file comes to: the folder `settings` holds TOML, and behind `=>` what differs from a project without one, or the error.

The file is `sub/cfglint.toml`, beside a folder `models/tiny`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cfglint.project.settings_file import Configuration, ConfigurationError, configuration_of, find
from records import check_cases

FOLDER = Path(__file__).parent / "settings"


def settings(project):
    """A line for each value that a project without settings does not have."""
    usual = vars(Configuration())
    for name, value in vars(project).items():
        if name not in ("path", "folder", "runs") and value != usual[name]:
            yield f"{name}: {value}"
    for number, run in enumerate(project.runs, 1):
        given = {name: value for name, value in vars(run).items() if value not in (None, False, {}, ())}
        yield f"run {number}: {', '.join(f'{name} {value}' for name, value in given.items())}"


def test_settings(tmp_path, monkeypatch, updating):
    """`CFGLINT_UPDATE=1` rewrites what comes."""
    (tmp_path / "sub" / "models" / "tiny").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    def answer(text):
        try:
            lines = [*settings(configuration_of(text.encode(), "sub/cfglint.toml"))]
        except ConfigurationError as error:
            lines = [f"error: {error}"]
        return [line.replace(f"{tmp_path}/", "/project/") for line in lines] or ["nothing"]

    check_cases(FOLDER, answer, updating)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cfglint.toml": "", "pyproject.toml": "[tool.cfglint]\n"}, "cfglint.toml"),
        ({"pyproject.toml": "[tool.cfglint]\n"}, "pyproject.toml"),
        ({"pyproject.toml": "[tool.cfglint.target]\n"}, "pyproject.toml"),
        ({"pyproject.toml": "[tool.ruff]\n", "../pyproject.toml": "[tool.cfglint]\n"}, "../pyproject.toml"),
        ({"pyproject.toml": "[tool.ruff]\n", "../cfglint.toml": "gpus = 8\n"}, "../cfglint.toml"),
        ({"../cfglint.toml": "", "cfglint.toml": ""}, "cfglint.toml"),
        ({"../../cfglint.toml": ""}, "../../cfglint.toml"),
    ],
    ids=lambda case: " ".join(case) if isinstance(case, dict) else None,
)
def test_the_nearest_settings_file(tmp_path, files, expected):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    assert Path(find(str(folder))).samefile(folder / expected)
