"""The checks in the source of a release: every `raise`, `assert` and validator, and what two releases have in common.

Sources are read as syntax trees. A check is the class of its exception, the constant parts of its message and the conditions around it;
a validator is a method that pydantic calls, with a hash of its body. `tools/checks/PACKAGE.json` has the checks of the newest release and
those that the releases followed since then added and removed: rows `[file, function, kind, exception, message, condition, since, until]`.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from history_rows import Release
from raised_messages import SPACES, parts_of

FOLDER = Path(__file__).resolve().parent / "checks"
GAP = "{}"  # where the source puts a value into a message
LONGEST = 200  # characters of a message or condition that are kept
SKIPPED = ("tests", "test_utils", "models", "examples", "docs", "benchmarks", "__pycache__")
DECORATORS = ("model_validator", "field_validator", "validator", "root_validator")
ALIKE = 0.6  # of the characters of two messages, for the one to be a change of the other
ARGUMENTS = "/args.py"  # at the end of the name of a file
# The parts of a package that a training's configuration reaches; all of it where nothing is named.
PARTS: dict[str, tuple[str, ...]] = {
    "axolotl": (
        *(
            "utils/schemas",
            "utils/config",
            "utils/data",
            "utils/trainer",
            "utils/optimizers",
            "core/",
            "cli/",
            "loaders/",
            "train",
            "common/",
        ),
        *("integrations/base", "integrations/config", ARGUMENTS),
    ),
    "transformers": (
        "training_args",
        "trainer",
        "optimization",
        "hf_argparser",
        "debug_utils",
        "integrations/",
        "utils/quantization_config",
    ),
    "verl": (  # what `rows_verl.py` reads; engines and servers check their own state, and what the model is
        *("trainer/", "utils/config", "utils/profiler/config", "workers/config", "workers/engine_workers.py", "workers/fsdp_workers"),
        *("workers/megatron_workers", "workers/reward_manager"),
    ),
    "deepspeed": (
        *("__init__", "runtime/", "launcher/", "elasticity/", "monitor/", "profiling/config", "autotuning/", "comm/", "compression/"),
        *("nebula/", "pydantic_v1", "linear/", "ops/adam", "ops/lamb", "ops/lion", "ops/adagrad", "module_inject/auto_tp"),
    ),
}


class Check(NamedTuple):
    """A check: where it is, what it raises with which message, and when."""

    file: str
    where: str  # the class and function
    kind: str  # raise, assert, validator
    exception: str
    message: str
    condition: str

    @property
    def place(self) -> str:
        """`trainer/grpo_config.py:GRPOConfig.__post_init__`."""
        return f"{self.file}:{self.where}"

    @property
    def text(self) -> str:
        """The check as a line shows it."""
        return f"{self.exception}: {self.message}".strip(": ") if self.kind != "validator" else "validator"


class Change(NamedTuple):
    """A check that one of two releases has, or another form of it in each."""

    what: str  # added, changed, removed
    check: Check
    before: Check | None = None


def checks(root: Path, package: str, names: Mapping[str, str] | None = None) -> list[Check]:
    """The checks of the package in a folder, in the order of its files; `names` are replaced in the sources."""
    found: list[Check] = []
    replaced = re.compile(rf"\b({'|'.join(names)})\b") if names else None
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root).as_posix()
        parts = PARTS.get(package, ("",))
        if (file.startswith(parts) or (ARGUMENTS in parts and file.endswith(ARGUMENTS))) and not any(
            part in SKIPPED for part in file.split("/")[:-1]
        ):
            try:
                source = path.read_text(encoding="utf-8", errors="replace")
                tree = ast.parse(replaced.sub(lambda found: names[found[1]], source) if names and replaced else source)
            except SyntaxError:  # a template, or the source of a newer Python
                continue
            found += (Check(file, *check) for check in _checks(tree, "", ()))
    return list(dict.fromkeys(found))


def _checks(node: ast.AST, where: str, conditions: tuple[str, ...]) -> Iterator[tuple[str, str, str, str, str]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        where, conditions = f"{where}.{node.name}" if where else node.name, ()
        if any(decorator_name(each) in DECORATORS for each in node.decorator_list):
            yield where, "validator", "", "", hashlib.sha256(_body(node).encode()).hexdigest()[:12]
    elif isinstance(node, ast.If):
        test = ast.unparse(node.test)
        for inner in node.body:
            yield from _checks(inner, where, (*conditions, test))
        for inner in node.orelse:
            yield from _checks(inner, where, (*conditions, f"not ({test})"))
        return
    elif isinstance(node, ast.Raise) and node.exc is not None and is_class(node.exc):
        yield where, "raise", *_raised(node.exc), _shortened(" and ".join(conditions))
    elif isinstance(node, ast.Assert):
        message = _message(node.msg) if node.msg is not None else ""
        yield where, "assert", "AssertionError", message, _shortened(" and ".join((*conditions, ast.unparse(node.test))))
    for child in ast.iter_child_nodes(node):
        yield from _checks(child, where, conditions)


def _body(node: ast.AST) -> str:
    """The statements of a function without its docstring."""
    body = getattr(node, "body", [])
    return "\n".join(ast.unparse(each) for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)))


def _raised(node: ast.expr) -> tuple[str, str]:
    """(class of the exception, message) of what is raised."""
    if not isinstance(node, ast.Call):
        return decorator_name(node), ""
    return decorator_name(node.func), _message(node.args[0]) if node.args else ""


def is_class(node: ast.expr) -> bool:
    """Whether an exception is made here: `raise error` raises one again."""
    return isinstance(node, ast.Call) or decorator_name(node)[:1].isupper()


def _message(node: ast.expr) -> str:
    """The constant parts of a message with gaps where the source puts values in."""
    parts = parts_of(node)
    return _shortened(SPACES.sub(" ", GAP.join(parts))) if parts is not None else GAP


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST]


def decorator_name(node: ast.expr) -> str:
    """The last name of a decorator, a function or a class."""
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""


def changes(before: Sequence[Check], after: Sequence[Check]) -> list[Change]:
    """What two releases do not have in common; a check that only moved to another file or function is no change."""
    old, new = set(before), set(after)
    gone, fresh = [each for each in before if each not in new], [each for each in after if each not in old]
    for check in list(fresh):
        same = next((each for each in gone if each[2:] == check[2:] and check.kind != "validator"), None)
        if same is not None:
            gone.remove(same)
            fresh.remove(check)
    found = []
    for check in fresh:
        earlier = next(iter(sorted((each for each in gone if is_form_of(each, check)), key=lambda each: -likeness(each, check))), None)
        if earlier is not None:
            gone.remove(earlier)
        found.append(Change("changed" if earlier is not None else "added", check, earlier))
    return [*found, *(Change("removed", each) for each in gone)]


def changes_but_of_names(before: Sequence[Check], after: Sequence[Check], former: Sequence[Check]) -> list[Change]:
    """What two releases do not have in common; `former` are the checks of the second one with the first one's names of its fields."""
    old = set(before)
    pairs = [each for each in zip(after, former, strict=True) if each[1] in old] if len(after) == len(former) else []
    same = {check for pair in pairs for check in pair}
    return [change for change in changes(before, after) if change.check not in same]


def is_form_of(one: Check, other: Check) -> bool:
    """Whether one check may have become the other: in the same function with a similar message, or with the same message elsewhere."""
    if one.kind == "validator" or other.kind == "validator":
        return one[:3] == other[:3]
    if one.message == other.message and len(one.message) > len(GAP):
        return one.exception == other.exception
    return one.where == other.where and likeness(one, other) >= ALIKE


def likeness(one: Check, other: Check) -> float:
    """How similar the messages of two checks are, and the conditions of those without: from 0 to 1."""
    place = 0.01 * (one.place == other.place)
    texts = (one.message, other.message) if one.message and other.message else (one.condition, other.condition)
    return difflib.SequenceMatcher(None, *texts, autojunk=False).ratio() + place


# The committed history


def known(package: str) -> dict[Check, list[tuple[Release, Release]]]:
    """The checks of the committed history, each with the releases that have it, as (since, until)."""
    path = FOLDER / f"{package}.json"
    found: dict[Check, list[tuple[Release, Release]]] = {}
    for row in json.loads(path.read_text(encoding="utf-8"))["checks"] if path.exists() else ():
        found.setdefault(Check(*row[:6]), []).append((tuple(row[6]), tuple(row[7])))
    return found


def releases(package: str) -> list[Release]:
    """The releases of the committed history."""
    path = FOLDER / f"{package}.json"
    return [tuple(each) for each in json.loads(path.read_text(encoding="utf-8"))["releases"]] if path.exists() else []


def text(history: dict[Release, list[Check]]) -> str:
    """The text of a history, by the checks of each release."""
    from history_rows import spans_of

    keys = {check: json.dumps(check) for each in history.values() for check in each}
    spans = spans_of({release: [keys[check] for check in each] for release, each in history.items()})
    rows = [json.dumps([*check, list(since), list(until)]) for check in sorted(keys) for since, until in spans[keys[check]]]
    order = json.dumps([list(each) for each in sorted(history)])
    return f'{{"releases": {order},\n "checks": [\n' + ",\n".join(f"  {row}" for row in rows) + "\n]}\n"


def history(package: str) -> dict[Release, list[Check]]:
    """The checks of each release of the committed history."""
    every = known(package)
    return {
        release: [check for check, spans in every.items() if any(_holds(release, *span) for span in spans)] for release in releases(package)
    }


def _holds(release: Release, since: Release, until: Release) -> bool:
    return since <= release and (not until or release < until)


# The notes on checks that no file decides


def undecidable(package: str) -> list[dict[str, Any]]:
    """The notes of a package, and those of all packages (`*`).

    `place` is the beginning of a place, `message` a part of the message, `exception` its class, `reason` why no file decides it.
    """
    notes = json.loads((FOLDER / "undecidable.json").read_text(encoding="utf-8"))
    return [note for note in notes if note["package"] in (package, "*")]


def reason(check: Check, notes: Iterable[dict[str, Any]]) -> str:
    """Why a check cannot be decided from files, by the notes; empty if they do not say so."""
    for note in notes:
        of_class = note.get("exception", check.exception) == check.exception
        if of_class and check.place.startswith(note.get("place", "")) and note.get("message", "") in check.message:
            return str(note["reason"])
    return ""
