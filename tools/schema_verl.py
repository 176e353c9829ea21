"""The schema of verl from an unpacked wheel: the composed config of its trainer, and what a file of a project has for Hydra.

The keys and defaults are those that `ppo_trainer.yaml` composes from the files of the tables; the comment above a key of such a file, or
after it, describes it. verl does not check the types of values: a schema expects the type of the default, null, or an interpolation.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import schema_history
from schema_source import Tree

from cfglint.frameworks.releases.versions import dotted, parse_version
from cfglint.frameworks.verl.files import ReleaseFiles
from cfglint.source.hydra.composition import compose

Raw = dict[str, Any]

PRIMARY = "ppo_trainer"
FOLDER = "trainer/config"
KEY = re.compile(r"^( *)([A-Za-z_]\w*):(.*)$")
AFTER = re.compile(r"\s#\s*(.*)$")
TYPES = {bool: "boolean", int: "number", float: "number", list: "array"}
INTERPOLATION = r"\$\{"
LONGEST = 100
CLASS = "_target_"  # what verl builds from a section, which a project does not change
NOT_LISTED = frozenset(  # sections for special cases, whose keys are left out
    (
        *("checkpoint", "distillation", "global_profiler", "profiler", "qat", "quantization_config_file", "reward_model", "router_replay"),
        *("skip", "tool_config", "trace", "transfer_queue", "turbo_config", "wrap_policy", "mtp", "prometheus", "checkpoint_engine"),
    )
)
OF_HYDRA: dict[str, Raw] = {
    "defaults": {"type": "array", "description": "Files that Hydra composes, in order; _self_ is the place of this file."},
    "hydra": {"type": ["object", "null"], "description": "Hydra's own settings, such as searchpath and run.dir."},
}


def find(path: Path) -> Tree:
    """The sources of the package in a folder, or the package itself."""
    return Tree(path / "verl" if (path / "verl").is_dir() else path)


def version(tree: Tree) -> str:
    """The release that the package states."""
    return (tree.root / "version" / "version").read_text(encoding="utf-8").strip()


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the files of the release say of it, sections with theirs."""
    composed = compose(ReleaseFiles(parse_version(version(tree))), PRIMARY, [])
    comments = {path: comments_of(tree.root / FOLDER / f"{path}.yaml") for path, _ in composed.origins.values()}  # type: ignore[misc]
    by_name: dict[str, str] = {}
    for comment in comments.values():
        for key, text in comment.items():
            by_name.setdefault(key.rpartition(".")[2], text)

    def described(path: tuple[Any, ...]) -> str:
        origin = composed.origins.get(path)
        own = comments[origin[0]].get(".".join(map(str, origin[1])), "") if isinstance(origin, tuple) else ""
        return own or by_name.get(str(path[-1]), "")

    return {**OF_HYDRA, **section(composed.values, (), described)}


def section(values: Raw, above: tuple[Any, ...], described: Any) -> dict[str, Raw]:
    """The keys of a section."""
    found: dict[str, Raw] = {}
    for key, value in values.items():
        path = (*above, key)
        if key == CLASS:
            continue
        if isinstance(value, dict) and value and key not in NOT_LISTED:
            inner = section(value, path, described)
            shown = {"description": f"Settings of {'.'.join(map(str, path))}.", "type": ["object", "null"], "x-section-policy": "ignore"}
            found[str(key)] = {**shown, "properties": inner}
        else:
            found[str(key)] = {**of_value(value), "description": described(path) or worded(path)}
    return found


def of_value(value: object) -> Raw:
    """What a file should hold for a key with this default."""
    known = TYPES.get(type(value))
    if isinstance(value, dict):
        return {"type": ["object", "null"], "x-section-policy": "pass-through"}
    if known is None:
        return {"x-any": True} if value is None else {"x-any": True, "default": value}
    return {"type": [known, "string", "null"], "pattern": INTERPOLATION, "default": value}


def histories() -> dict[tuple[str, ...], Raw]:
    """Path of a key -> its first release, for the keys that the oldest release does not have."""
    tables = schema_history.tables_of("verl")
    found: dict[tuple[str, ...], Raw] = {}
    for release in reversed(tables.RELEASES):
        composed = compose(ReleaseFiles(release), PRIMARY, [])
        present = {tuple(map(str, path)) for path in composed.origins}
        for path in present if release == tables.RELEASES[-1] else present & found.keys():
            found[path] = {"x-since": dotted(release)} if release != tables.RELEASES[0] else {}
    return found


def worded(path: tuple[Any, ...]) -> str:
    """A description made of a key, where its file says nothing of it."""
    name = str(path[-1])
    return f"{name.strip('_').replace('_', ' ').capitalize()}{f' of {path[-2]}' if len(path) > 1 else ''}."


@cache
def comments_of(file: Path) -> dict[str, str]:
    """Dotted key -> the first sentence of the comment above it, or after it."""
    found: dict[str, str] = {}
    stack: list[tuple[int, str]] = []
    block: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        matched = KEY.match(line)
        if line.strip().startswith("#"):
            block.append(line.strip("# "))
            continue
        if matched:
            while stack and stack[-1][0] >= len(matched[1]):
                stack.pop()
            stack.append((len(matched[1]), matched[2]))
            after = AFTER.search(matched[3])
            text = sentence(" ".join(block)) or sentence(after[1] if after else "")
            if text:
                found[".".join(name for _, name in stack)] = text
        block = []
    return found


def sentence(text: str) -> str:
    """The first sentence of a comment as a description; empty for a comment that is code or a title."""
    text = re.sub(r"\s+", " ", text.replace("`", "")).strip()
    first = re.split(r"(?<=[.;!?]) ", text)[0].rstrip(".;:, ")
    if len(first) > LONGEST:
        first = first[: first.rfind(" ", 0, LONGEST)].rstrip(",;:( ")
    if len(first.split()) < 2 or first.startswith(("-", "http")):
        return ""
    return f"{first[0].upper()}{first[1:]}."
