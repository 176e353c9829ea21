"""`cfglint server` where it cannot start."""

from __future__ import annotations

import sys

from cfglint.cli import main


def test_without_pygls(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    monkeypatch.delitem(sys.modules, "cfglint.server.language_server", raising=False)
    assert main(["server"]) == 2
    assert "needs pygls 2 or newer" in capsys.readouterr().err


def test_bad_option_ends_the_command(capsys):
    assert main(["server", "--target", "transformers"]) == 2
    assert "NAME==VERSION" in capsys.readouterr().err
