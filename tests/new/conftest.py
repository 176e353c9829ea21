"""What the tests of generated files share."""

from __future__ import annotations

import pytest

from cfglint.frameworks.base import Facts
from cfglint.run.discovery import Gathering, Shelf


def checked(generated, job):
    """The run of generated files as `cfglint check --run --strict-keys` sees it."""
    texts = {file.name: file.text for file in generated.files}
    facts = Facts(job.gpus, job.num_examples, job.target, whole=True, declared=True, strict_keys=True)
    return Gathering(facts, generated.files[0].kind, shelf=Shelf(texts)).one(list(texts))


@pytest.fixture(name="checked", scope="session")
def checked_fixture():
    return checked
