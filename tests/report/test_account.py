"""The account of a run in each format."""

from __future__ import annotations

import json

import pytest

from cfglint.explanation.summary import RunSummary
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.report import render_account
from cfglint.run.discovery import Discovery
from cfglint.run.file_source import FileSource


@pytest.fixture
def account():
    run = Discovery(LaunchFacts(8), source=FileSource({"ds.json": '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4}\n'}))
    return RunSummary(run.one(["ds.json"]))


def test_json_has_the_settings_of_the_run(account):
    report = json.loads(render_account("json", account))
    assert {each["name"]: each["value"] for each in report["settings"]}["accumulation"] == 2
    assert report["resolved"]["global_batch"] == 64


def test_text_and_html_show_the_accumulation(account):
    assert "\n  accumulation " in render_account("text", account)
    assert "accumulation" in render_account("html", account)
