"""A DeepSpeed run from a mapping or a text."""

from __future__ import annotations

import json

import pytest

from cfglint.findings.diagnostic import ERROR
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse


class DeepSpeedRuns:
    """Makes runs of one file; `of` takes a mapping, `text` the file's text."""

    def of(self, values, gpus=8, target=None, complete=True):
        return self.text(json.dumps(values), gpus, target, complete)

    def text(self, text, gpus=8, target=None, complete=True):
        facts = LaunchFacts(gpus=gpus, target={"deepspeed": target} if target else {}, complete=complete, kind_given=complete)
        return CheckedRun([parse("ds_config.json", text, "json")], ["deepspeed"], facts)

    def codes(self, values, severity=None, **facts):
        """Codes of the findings for a mapping that has a batch."""
        run = self.of({"train_batch_size": 8, **values}, **facts)
        return [found.code for found in run.diagnostics if severity in (None, found.severity)]

    def errors(self, values, **facts):
        return self.codes(values, ERROR, **facts)

    def exceptions(self, values, **facts):
        run = self.of({"train_batch_size": 8, **values}, **facts)
        return [found.exception for found in run.diagnostics if found.severity == ERROR]


@pytest.fixture
def runs():
    return DeepSpeedRuns()
