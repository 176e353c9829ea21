"""What each release changes in the findings of examples and fields: a version in a rule or a table that moves by one release is seen."""

from __future__ import annotations

import json
from itertools import count, pairwise

import pytest

from cfglint.frameworks.deepspeed import _tables as deepspeed
from cfglint.frameworks.huggingface import fields as huggingface
from cfglint.frameworks.versions import dotted
from cfglint.rules.catalogue import every_rule
from cfglint.source.errors import CfglintError
from examples import example_texts, kind_of, run_of
from records import check_folder

RELEASES = {
    "deepspeed": " ".join(map(dotted, deepspeed.RELEASES)),
    "huggingface": """
        4.30.2 4.31.0 4.32.0 4.33.0 4.34.0 4.35.0 4.36.0 4.37.0 4.38.0 4.39.0 4.40.0 4.41.0 4.42.0 4.43.0 4.44.0 4.45.0
        4.46.0 4.46.1 4.46.2 4.47.0 4.48.0 4.49.0 4.50.0 4.51.0 4.52.0 4.52.1 4.53.0 4.54.0 4.55.0 4.56.0 4.57.0 4.57.1 4.57.5 4.57.6
        5.0.0 5.1.0 5.2.0 5.3.0 5.4.0 5.5.0 5.6.0 5.7.0 5.8.0 5.9.0 5.10.0 5.11.0 5.12.0 5.13.0 5.14.0 5.15.0 5.16.0 5.17.0
        5.18.0 5.19.0 5.20.0 5.21.0 5.22.0 5.23.0""",
    "accelerate": """
        0.32.1 0.33.0 0.34.0 1.0.0 1.1.0 1.2.0 1.3.0 1.4.0 1.5.0 1.6.0 1.7.0 1.8.0 1.9.0 1.10.0 1.11.0 1.12.0 1.13.0 1.14.0
        1.15.0""",
    "trl": "0.17.0 0.18.0 0.18.2 0.19.0 1.0.0 1.15.0 1.16.0",
}
PACKAGE = {"huggingface": "transformers"}


def examples_of(kind):
    """(name, rule, texts, facts) of the examples of a kind."""
    for rule in sorted(every_rule(), key=lambda rule: rule.code):
        for title, texts, facts, _ in example_texts(rule):
            if {**rule.example, **dict(facts)}.get("kind", kind_of(rule)) == kind:
                yield f"{rule.code} {title}", rule, texts, facts


def nested(path, value):
    for name in reversed(path):
        value = {name: value}
    return value


def deepspeed_fields():
    """(key, value) of the fields that not every release has, with their defaults."""
    for section, rows in deepspeed.FIELDS.items():
        for name, _, default, since, until, alias in rows:
            if since or until or section in deepspeed.SPANS:
                yield (*section.split("."), alias or name), default
    for section, rows in deepspeed.KEYS.items():
        for name, _, _, since, until in rows:
            if (since or until) and name not in {row[0] for row in deepspeed.FIELDS.get(section, ())}:
                yield (*(section.split(".") if section else ()), name), {}


def trainer_fields():
    for name, (_, default, since, until) in huggingface.FIELDS.items():
        if since or until:
            yield (name,), default


FIELDS = {"deepspeed": deepspeed_fields, "huggingface": trainer_fields}
REQUIRED = {"deepspeed": {"train_batch_size": 8}, "huggingface": {"output_dir": "out"}}


def fields_of(kind, by_kind):
    """The same for a file of a single field."""
    for path, value in FIELDS[kind]() if kind in FIELDS else ():
        yield ".".join(path), by_kind, json.dumps({**REQUIRED[kind], **nested(path, value)}), {"kind": kind, "strict_keys": True}


NUMBERS = ("micro_batch", "accumulation", "global_batch", "total_steps", "warmup_steps")


def answer(rule, texts, folder, facts, package, release, own):
    """What is found in a release: the codes; of an example of the rule only its own, with what the framework raises, and the numbers."""
    target = {**rule.example.get("target", {}), **dict(facts).get("target", {}), package: release}
    try:
        run = run_of(rule, texts, folder, {**dict(facts), "target": target})
    except CfglintError:  # no run is left
        return set()
    if not own:
        return {each.code for each in run.diagnostics}
    texts = (f"{each.code} {each.exception or each.severity}" for each in run.diagnostics if each.code == rule.code)
    found = {text.partition("\n")[0].replace(f"{folder}/", "") for text in texts}
    return found | {f"{name} {run.resolved[name]}" for name in NUMBERS if run.resolved[name] is not None}


def changes(releases, answers):
    """A line for each release that changes the answer."""
    for (_, before), (release, after) in pairwise(zip(releases, answers, strict=True)):
        signed = [*(f"+{each}" for each in sorted(after - before)), *(f"-{each}" for each in sorted(before - after))]
        if signed:
            yield f"{release}: {'; '.join(signed)}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", RELEASES)
def test_what_a_release_changes(kind, root, tmp_path, updating):
    """The findings that come and go with a release; `CFGLINT_UPDATE=1` rewrites the record."""
    releases, package, numbers = RELEASES[kind].split(), PACKAGE.get(kind, kind), count()
    now = {}
    some = next(rule for rule in every_rule() if kind_of(rule) == kind)
    for name, rule, texts, facts in [*examples_of(kind), *fields_of(kind, some)]:
        folder, own = str(tmp_path / str(next(numbers))), name.startswith(rule.code)
        lines = [*changes(releases, [answer(rule, texts, folder, facts, package, release, own) for release in releases])]
        if lines:
            title = f"{name.replace(rule.code, f'{rule.code} {rule.name},', 1)}" if own else f"`{name}` alone"
            now.setdefault(rule.code.rstrip("0123456789") if own else "fields", {})[title] = lines
    check_folder(root / "tests" / "rules" / "expected" / "releases" / kind, now, updating)
