"""What waits for a public address is written by one command from one file."""

from __future__ import annotations

import importlib.util
import shutil


def test_every_place_is_filled_in(root, tmp_path):
    spec = importlib.util.spec_from_file_location("publish", root / "tools" / "publish.py")
    publish = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(publish)
    assert publish.misplaced(root) == []
    for name in {name for name, _, _ in publish.PLACES}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    given = {"repository": "https://git.example.com/us/cfglint", "version": "9.8.7", "date": "2030-01-02", "publisher": "us", "pages": ""}
    publish.write(tmp_path, given)
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name, _, _ in publish.PLACES}
    assert "rev: v9.8.7" in texts["README.md"]
    assert "us/cfglint@v9.8.7" in texts["docs/integrations.md"]
    assert '"publisher": "us"' in texts["editors/vscode/package.json"]
    assert not any("your clone" in text or "example.org/your" in text or "{" + "version}" in text for text in texts.values())
