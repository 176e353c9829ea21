"""TRL runs from texts."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

TRANSFORMERS = {"0.17.0": "4.51.3", "1.16.0": "5.23.0"}


@pytest.fixture
def trl():
    """Make a run of a TRL file's text for a trainer and a release."""

    def make(text: str, trainer: str | None = "sft", gpus: int | None = 1, examples: int | None = None, release: str = "1.16.0", **options):
        target = {"trl": release, "transformers": TRANSFORMERS.get(release, "5.23.0")}
        facts = LaunchFacts(
            gpus=gpus,
            num_examples=examples,
            target=options.pop("target", target),
            complete=options.pop("complete", True),
            kind_given=options.pop("kind_given", True),
            strict_keys=options.pop("strict", False),
            trainer=trainer,
            outside=options.pop("outside", {}),
            overrides=options.pop("overrides", ()),
        )
        documents, kinds = [parse("train.yaml", text, "yaml")], ["trl"]
        for path, content in options.pop("files", {}).items():
            documents.append(parse(path, content, "json"))
            kinds.append("deepspeed")
        return CheckedRun(documents, kinds, facts)

    return make
