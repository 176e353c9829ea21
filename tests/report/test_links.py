"""The addresses of rule pages."""

from __future__ import annotations

import json

import pytest

from cfglint import __version__
from cfglint.report import links, manual
from cfglint.rules.catalogue import every_rule

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_each_rule_has_an_anchor_of_its_own_in_the_manual(root):
    book = (root / "docs" / "rules.md").read_text(encoding="utf-8")
    for rule in every_rule():
        assert book.count(f'<a id="{links.anchor(rule.code)}"></a>\n\n### {rule.code} ') == 1
        assert f"](#{links.anchor(rule.code)})" in manual.book([rule])


def test_the_repository_is_the_one_of_the_package(root):
    assert f'Repository = "{links.REPOSITORY}"' in (root / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("told", "home"),
    [
        (
            {"url": "https://me:secret@git.example.com/a/cfglint.git", "vcs_info": {"commit_id": COMMIT}},
            "https://git.example.com/a/cfglint",
        ),
        ({"url": "file:///src/cfglint", "dir_info": {"editable": True}}, links.REPOSITORY),
        ({"url": "ssh://git@example.com/a/cfglint", "vcs_info": {"commit_id": COMMIT}}, links.REPOSITORY),
        ([], links.REPOSITORY),
    ],
)
def test_an_installation_from_a_repository_links_to_that_one(told, home, tmp_path, monkeypatch):
    package = tmp_path / "cfglint" / "report"
    package.mkdir(parents=True)
    folder = tmp_path / f"cfglint_train-{__version__}.dist-info"
    folder.mkdir()
    (folder / "direct_url.json").write_text(json.dumps(told))
    monkeypatch.setattr(links, "__file__", str(package / "links.py"))
    revision = COMMIT if home != links.REPOSITORY else f"v{__version__}"
    assert links.rule_uri("BAT001") == f"{home}/blob/{revision}/docs/rules.md#bat001"
