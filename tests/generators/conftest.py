"""What the tests of generated files share."""

from __future__ import annotations

import pytest

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource


def checked(generated, job):
    """The run of generated files as `cfglint check --run --strict-keys` sees it."""
    texts = {file.name: file.text for file in generated.files}
    facts = LaunchFacts(job.gpus, job.num_examples, job.target or {}, complete=True, kind_given=True, strict_keys=True)
    return Discovery(facts, generated.files[0].kind, source=FileSource(texts)).together(list(texts))[0]


@pytest.fixture(name="checked", scope="session")
def checked_fixture():
    return checked
