"""The addresses of rule pages."""

from __future__ import annotations

import json

import pytest

from cfglint import __version__
from cfglint.report import links, manual
from cfglint.rules.catalogue import every_rule

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_each_rule_has_an_anchor_of_its_own(root):
    """Links to the page that once had all rules arrive at the line with the link to the rule's page."""
    index = (root / "docs" / "rules.md").read_text(encoding="utf-8")
    for rule in every_rule():
        assert index.count(f'<a id="{links.anchor(rule.code)}"></a>[{rule.code}](../pages/{rule.code}.md) ') == 1
        assert (root / links.PAGES / f"{rule.code}.md").is_file()
        assert f"](#{links.anchor(rule.code)})" in manual.book([rule])


@pytest.mark.parametrize(
    ("told", "home"),
    [
        (
            {"url": "https://me:secret@git.example.com/a/cfglint.git", "vcs_info": {"commit_id": COMMIT}},
            "https://git.example.com/a/cfglint",
        ),
        ({"url": "file:///src/cfglint", "dir_info": {"editable": True}}, ""),
        ({"url": "ssh://git@example.com/a/cfglint", "vcs_info": {"commit_id": COMMIT}}, ""),
        ([], ""),
    ],
)
def test_only_an_installation_from_a_repository_links_to_it(told, home, tmp_path, monkeypatch):
    package = tmp_path / "cfglint" / "report"
    package.mkdir(parents=True)
    folder = tmp_path / f"cfglint_train-{__version__}.dist-info"
    folder.mkdir()
    (folder / "direct_url.json").write_text(json.dumps(told))
    monkeypatch.setattr(links, "__file__", str(package / "links.py"))
    assert links.rule_uri("BAT001") == (f"{home}/blob/{COMMIT}/pages/BAT001.md" if home else "")
