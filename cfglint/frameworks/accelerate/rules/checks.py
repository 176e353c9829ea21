"""What the launcher and the plugins refuse: the checks are rows (`_rows.py`), of which the pages have words of the messages."""

from __future__ import annotations

from cfglint.findings.rule import BY_CODE, pages_of_checks, rule
from cfglint.frameworks.accelerate import KIND
from cfglint.frameworks.accelerate.rules.refused import refused

for page in (page for page in pages_of_checks(KIND) if page not in BY_CODE):  # the others have a function for what is no row
    rule(page)(lambda config, code=page: refused(config, code))
