"""What the source of axolotl's models says of each field, as the schema for editors has it.

The folder `source` holds the fields of the config, with the classes before them, and behind `=>` what is read; `strict` before them: the
release is one that the tables are built from, so that what has no rule is an error.
"""

from __future__ import annotations

import json
from pathlib import Path

from schema_axolotl import read

from cfglint.frameworks.axolotl.source_fields import find
from cfglint.source.python.package import SourceError
from records import check_cases

FOLDER = Path(__file__).parent / "source"


def test_fields(tmp_path, updating):
    """`CFGLINT_UPDATE=1` rewrites what comes."""
    schemas = tmp_path / "axolotl" / "utils" / "schemas"
    schemas.mkdir(parents=True)
    (tmp_path / "axolotl" / "integrations").mkdir()
    (tmp_path / "axolotl" / "__init__.py").touch()

    def answer(case):
        first, _, rest = case.partition("\n")
        strict = first == "strict"
        (schemas / "config.py").write_text(rest if strict else case)
        try:
            fields, models = read(find(tmp_path, lenient=not strict, opens=lambda path: True))
        except SourceError as error:
            return [f"refused: {str(error).replace(str(tmp_path), '')}"]
        lines = [f"{name}: {json.dumps(raw, default=repr)}" for name, raw in fields.items()]
        return [*lines, *(f"{model}.{name}: {json.dumps(raw, default=repr)}" for model in models for name, raw in models[model].items())]

    check_cases(FOLDER, answer, updating)
