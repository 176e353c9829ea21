"""Which files mention another one, by its name or as a module."""

from __future__ import annotations

import os

from cases import each_case
from cfglint.run.readers import marks_in, marks_of

FILE, MODULE = "ds.json", "import bench.tables"


@each_case(
    ("mark", "content", "path", "expected"),
    [
        (FILE, "--deepspeed ds.json", "a.sh", True),
        (FILE, "ds.json", "a.sh", True),
        (FILE, "$X/ds.json\n", "a.sh", True),
        (FILE, " -cds.json", "a.sh", True),
        (FILE, "a\\nds.json", "n.ipynb", True),
        (FILE, "my_ds.json x-ds.json ds.jsonl", "a.sh", False),
        (FILE, "my_ds.json ds.json", "a.sh", True),
        (MODULE, "import tables", "a.py", True),
        (MODULE, "import a as b, tables", "a.py", True),
        (MODULE, "import x.bench.tables", "a.py", True),
        (MODULE, "from bench.tables import y", "a.py", True),
        (MODULE, "from .tables import y", "a.py", True),
        (MODULE, "from . import (a, tables)", "a.py", True),
        (MODULE, "from x.bench import a, tables", "a.py", True),
        (MODULE, '"from bench import tables\\n"', "a.ipynb", True),
        (MODULE, "python -m bench.tables", "a.sh", True),
        (MODULE, "python -m \\\n  bench.tables", "a.sh", True),
        (MODULE, "from x import a, tables\nfrom y.tables import b\nimport x.y.tables", "a.py", False),  # another module of this name
        (MODULE, "import x\ntables\nfrom the tables, from tables_x import y", "a.py", False),
        (MODULE, "import tables", "a.json", False),
    ],
)
def test_a_file_is_mentioned_by_its_whole_name(mark, content, path, expected):
    assert marks_in([mark], content.encode(), path) == {mark: expected}


def test_the_marks_of_files():
    assert marks_of(["conf/ds.json", "bench/tables.py", "pkg/__init__.py", "README.md"]) == [
        "ds.json",
        "tables.py",
        "import bench.tables",
        "__init__.py",
        f"import {os.path.basename(os.getcwd())}.pkg",
    ]
