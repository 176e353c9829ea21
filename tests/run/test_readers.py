"""Which files mention another one, by its name or as a module."""

from __future__ import annotations

import os

from cases import each_case
from cfglint.run.readers import Readers, marks_of, may_compose, mentions
from cfglint.source.file_source import FileSource

FILE, MODULE, CONFIG = "ds.json", "import bench.tables", "hydra ds"


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
        (MODULE, "deepspeed --num_gpus 8 --module x.bench.tables --lr 1", "a.sh", True),
        (MODULE, f"python -m a.b {'--lr 1 ' * 12}\npython -m c.d\ndeepspeed --num_gpus=$N --module bench.tables", "a.sh", True),
        (MODULE, "run --my-model bench.tables", "a.sh", False),
        (MODULE, "from x import a, tables\nfrom y.tables import b\nimport x.y.tables", "a.py", False),  # another module of this name
        (MODULE, "import x\ntables\nfrom the tables, from tables_x import y", "a.py", False),
        (MODULE, "import tables", "a.json", False),
        (MODULE, "import tables", "a.sh", False),
        ("tables.py", "python tables.py", "a.sh", True),
        ("tables.py", '"python tables.py"', "a.ipynb", True),
        ("tables.py", "# see tables.py", "a.py", False),  # what it imports is another mark
        (CONFIG, "@hydra.main(config_path='conf', config_name='ds')", "a.py", True),
        (CONFIG, "python train.py --config-name ds", "a.sh", True),
        (CONFIG, "defaults:\n  - group: ds\n", "a.yaml", True),
        (CONFIG, "python train.py ds", "a.sh", False),
        ("tables.py", '{"program": "tables.py"}', "a.json", False),  # no run reads that
    ],
)
def test_a_file_is_mentioned_by_its_whole_name(mark, content, path, expected):
    assert mentions(content.encode(), path, mark) == expected


def test_the_marks_of_files():
    assert marks_of(["conf/a.yaml"]) == ["a.yaml", "hydra a", "conf=a"]
    assert marks_of(["conf/ds.json", "bench/tables.py", "pkg/__init__.py", "README.md"]) == [
        "ds.json",
        "tables.py",
        "import bench.tables",
        "__init__.py",
        f"import {os.path.basename(os.getcwd())}.pkg",
    ]


def test_a_script_mentions_a_module_by_the_command_that_the_project_installs_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "pyproject.toml": '[project.scripts]\ntune-it = "pkg.train:main"\nserve-it = "pkg.serve:main"\n',
        "pkg/train.py": "def main(): pass\n",
        "train.sh": "tune-it --steps 5\n",
        "serve.sh": "serve-it\n",
    }
    (tmp_path / "pkg").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert Readers(FileSource()).of(["pkg/train.py"], ["train.sh", "serve.sh"]) == ["train.sh"]


@each_case(
    ("script", "expected"),
    [
        ("train conf/part_$k.yaml", True),
        ("train ./conf/part_${k}.yaml", True),
        ("train conf/$k.yaml", True),
        ("train $DIR/part_$k.yaml", True),
        ("train $DIR/$k.yaml", False),  # any file
        ("train other/part_$k.yaml", False),
        ("train conf/whole_$k.yaml", False),
        ("train conf/part_$k.json", False),
        ("train conf/part_k.yaml", False),
    ],
)
def test_a_script_may_compose_the_name_of_a_file(script, expected):
    assert may_compose(script.encode(), "composed conf/part_3.yaml") == expected


def test_a_script_reads_a_module_that_its_program_imports_by_several_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {f"m{number}.py": f"import m{number + 1}\n" for number in range(4)} | {"train.sh": "python m0.py\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert Readers(FileSource()).of(["m4.py"], texts) == ["m3.py", "m2.py", "m1.py", "m0.py", "train.sh"]


def test_a_module_with_an_empty_name_is_imported_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import os\n")
    assert Readers(FileSource()).of(["a..py"], ["train.py"]) == []


def test_modules_of_tests_are_no_link_between_a_file_and_its_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "test_a.py": "def load(): return 'ds.json'\n\ndef test_load(): pass\n",
        "test_b.py": "CONFIG = 'ds.json'\n",
        "a.sh": "python test_a.py\n",
        "b.sh": "python test_b.py\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert Readers(FileSource()).of(["ds.json"], texts) == ["test_a.py", "test_b.py", "b.sh"]


def test_a_page_mentions_a_file_in_its_blocks_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "prose.md": "See ds.json.\n```sh\ntorchrun train.py\n```\n",
        "block.md": "```sh\ntorchrun other.py\n```\n```sh\ntorchrun train.py --deepspeed ds.json\n```\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    readers = Readers(FileSource())
    assert readers.of(["ds.json"], texts) == ["block.md"]
    assert [readers.is_mentioned_in(block) for block in ("torchrun other.py", "torchrun train.py --deepspeed ds.json")] == [False, True]


def test_a_module_is_found_in_imports_of_a_file_that_names_it_otherwise_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "pkg/run.py": "CONFIG = 'ds.json'\n",
        "train.py": "# run it\nimport os\nfrom pkg import run\n",
        "other.py": "from other.run import x\nrun = 1\n",
        "test_x.py": "from pkg import run\n\ndef test_run(): pass\n",  # no link to a run
    }
    (tmp_path / "pkg").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert Readers(FileSource()).of(["ds.json"], texts) == ["pkg/run.py", "train.py"]
