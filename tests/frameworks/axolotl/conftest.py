"""axolotl runs from texts."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

BASE = "base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: alpaca}\n"


@pytest.fixture
def axolotl():
    """Make a run of the lines that come behind the keys which every file needs, or of a whole text."""

    def make(lines: str = "", gpus: int | None = 1, examples: int | None = None, **options: object) -> CheckedRun:
        text = options.pop("text", BASE + lines)
        files = options.pop("files", {})
        source = options.pop("target_from", {})
        facts = LaunchFacts(
            gpus=gpus,
            num_examples=examples,
            target=options.pop("target", {}),
            target_from=source,
            bounds={package: (said.partition(" says ")[2],) for package, said in source.items() if " says " in said},
            complete=options.pop("complete", True),
            kind_given=options.pop("kind_given", True),
        )
        documents = [parse("config.yml", text, "yaml"), *(parse(path, content, "json") for path, content in files.items())]
        return CheckedRun(documents, ["axolotl", *("deepspeed" for _ in files)], facts)

    return make


@pytest.fixture
def found():
    """(code, key) of a run's errors, or of other severities."""

    def of(run, *severities):
        return [(each.code, each.key) for each in run.diagnostics if each.severity in (severities or ("error",))]

    return of
