"""Which programs import a module of their project that trains."""

import pytest

from cfglint.run.readers import MOST_MODULES, Imports

TRAINS = "from transformers import TrainingArguments\nargs = TrainingArguments('out')\n"


@pytest.fixture
def led(tmp_path):
    def answer(files, name="run.py"):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return Imports(map(str, tmp_path.rglob("*.py"))).lead_to_training(str(tmp_path / name))

    return answer


@pytest.mark.parametrize(
    "line",
    [
        "import train",
        "from pkg import train",
        "import os, pkg.train as t",
        "from pkg.train import (\n    main,\n)",
        "if True:\n    from .train import main",
    ],
)
def test_an_import_leads_to_a_training(led, line):
    assert led({"run.py": f"{line}\n", "pkg/train.py": TRAINS, "pkg/__init__.py": ""})


def test_so_does_one_of_an_imported_package(led):
    assert led({"run.py": "import pkg\n", "pkg/__init__.py": "from pkg.inner import main\n", "pkg/inner.py": TRAINS})


@pytest.mark.parametrize("line", ["import other", "from other import train", "text = 'import train'", "training = 1"])
def test_others_do_not(led, line):
    assert not led({"run.py": f"{line}\n", "pkg/train.py": TRAINS})


def test_modules_that_import_each_other_end(led):
    assert not led({"run.py": "import one\n", "one.py": "import two\n", "two.py": "import one\n"})


def test_a_large_package_is_not_followed_to_its_end(led):
    chain = {f"m{number}.py": f"import m{number + 1}\n" for number in range(MOST_MODULES + 1)}
    assert not led({"run.py": "import m0\n", **chain, f"m{MOST_MODULES + 1}.py": TRAINS})
