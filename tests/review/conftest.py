"""Two states of a run from texts."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.review.compare import Comparison
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource


def run_of(files, **facts):
    """The run of texts by file name."""
    complete = facts.pop("complete", True)
    kind = facts.pop("kind", None)
    return Discovery(LaunchFacts(complete=complete, **facts), kind, source=FileSource(files)).together([next(iter(files))])[0]


@pytest.fixture
def compare():
    """Compare two runs, each a text or texts by file name."""

    def compared(before, after, *, new_facts=None, only_releases=False, **facts):
        sides = [each if each is None or isinstance(each, dict) else {"train.yaml": each} for each in (before, after)]
        given = [facts, {**facts, **(new_facts or {})}]
        runs = (run_of(each, **one) if each else None for each, one in zip(sides, given, strict=True))
        return Comparison(*runs, only_releases=only_releases)

    return compared


@pytest.fixture
def told(compare):
    """The consequences of a change as a list of sentences."""

    def sentences(*sides, **facts):
        return [each.text for each in compare(*sides, **facts).sentences]

    return sentences
