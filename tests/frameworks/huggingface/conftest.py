"""Trainer runs from texts."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse


@pytest.fixture
def trainer():
    """Make a run of a trainer's text and the texts of files that it names."""

    def make(text: str, gpus: int | None = 1, examples: int | None = None, version: str = "5.23.0", **options: object) -> CheckedRun:
        files = options.pop("files", {})
        target = {"transformers": version, **options.pop("target", {})}
        facts = LaunchFacts(
            gpus=gpus,
            num_examples=examples,
            target=target,
            complete=options.pop("complete", True),
            kind_given=options.pop("kind_given", True),
            strict_keys=options.pop("strict", False),
        )
        name = options.pop("name", "train.yaml")
        documents = [parse(name, text, "json" if name.endswith(".json") else "yaml")]
        kinds = ["huggingface"]
        for path, content in files.items():
            documents.append(parse(path, content, "json"))
            kinds.append("deepspeed" if path.startswith("ds") else "huggingface")
        return CheckedRun(documents, kinds, facts)

    return make
