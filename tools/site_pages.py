"""A hook of mkdocs: README and the pages of rules are pages of the site, and links to files that are not become plain text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from cfglint.report.manual import markdown
from cfglint.rules.catalogue import every_rule

ROOT = Path(__file__).resolve().parent.parent
PAGES = "../pages/"  # from `docs`; the pages of rules, which are below `rules/` in the site
FENCE = re.compile(r"^```(\w+) \S+$", re.MULTILINE)  # a block with the name of its file, which the tests write
LINK = re.compile(r"(?<!!)\[(?P<words>[^\]]*)\]\((?P<target>(?!https?:|#)[^)]+)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the README as the index, with its links as they are below `docs`, and the page of each rule."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("(docs/", "(")
    files.append(File.generated(config, "index.md", content=within(text, "")))
    for rule in every_rule():
        files.append(File.generated(config, f"rules/{rule.code}.md", content=markdown(rule, 1)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page without links that leave `docs`."""
    return within(markdown.replace("../README.md", "index.md"), page.file.src_uri.rpartition("/")[0])


def within(text: str, folder: str) -> str:
    """The text with links to pages only, of which the words of the others stay, and without the names of files of its blocks."""

    def replaced(link: re.Match[str]) -> str:
        if link["target"].startswith(PAGES):
            return f"[{link['words']}](rules/{link['target'].removeprefix(PAGES)})"
        path = (ROOT / "docs" / folder / link["target"].partition("#")[0]).resolve()
        is_page = path == ROOT / "docs" / "index.md" or (path.is_relative_to(ROOT / "docs") and path.exists())
        return link[0] if is_page else link["words"]

    return FENCE.sub(r"```\1", LINK.sub(replaced, text))
