"""Addresses of the manual pages of rules, if this installation comes from a repository with an address."""

from __future__ import annotations

import json
import os

from cfglint.findings.diagnostic import Diagnostic
from cfglint.version import __version__

PAGES = "pages"  # the folder of the pages, below the root of the repository


def rule_uri(code: str) -> str:
    """The manual page of a rule, at the installed release; empty if that has no address."""
    repository, revision = home()
    return f"{repository}/blob/{revision}/{PAGES}/{code}.md" if repository else ""


def page_of(diagnostic: Diagnostic) -> str:
    """The address of the page about a finding: as the configuration says, else that of the installed release; empty if it has none."""
    return diagnostic.page or rule_uri(diagnostic.code)


def anchor(code: str) -> str:
    """The anchor of a rule in the index and in the book of all pages, which stays the same when the rule is renamed."""
    return code.lower()


def home() -> tuple[str, str]:
    """(repository, revision) of an installation with `pip install git+https://...`, as PEP 610 records it; empty for others."""
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.path.join(folder, f"cfglint_train-{__version__}.dist-info", "direct_url.json")
    try:
        with open(path, encoding="utf-8") as file:
            origin = json.load(file)
        url, revision = str(origin["url"]), str(origin["vcs_info"]["commit_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", ""
    host, slash, path = url.removeprefix("https://").partition("/")
    address = f"https://{host.rpartition('@')[2]}{slash}{path}"  # without user name and password
    return (address.removesuffix(".git"), revision) if url.startswith("https://") else ("", "")
