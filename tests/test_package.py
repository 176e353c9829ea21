"""The wheel, in an environment of its own: the command is there, lints a file, and brings the schemas."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile

import pytest

from cfglint import __version__

BAD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n'


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    """The wheel that this checkout makes."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, root)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a fresh environment with the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False, symlinks=True)
    interpreter = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--quiet", "--python", interpreter, "install", "--no-compile", wheel)
    return interpreter


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_wheel_holds_package_schemas_pages_and_licence(wheel, root):
    names = zipfile.ZipFile(wheel).namelist()
    modules = {path.relative_to(root).as_posix() for path in (root / "cfglint").rglob("*.py")}
    schemas = {f"cfglint/schemas/{path.name}" for path in (root / "schemas").glob("*.json")}
    pages = {f"cfglint/pages/{path.name}" for path in (root / "pages").glob("*.md")}
    assert schemas
    assert pages
    assert modules | schemas | pages <= set(names)
    assert f"cfglint_train-{__version__}.dist-info/licenses/LICENSE" in names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "benchmarks/"))]


def test_installed_command_lints_a_file(python, tmp_path):
    (tmp_path / "ds_config.json").write_text(BAD)
    command = [python.parent / "cfglint", "check", "ds_config.json", "--gpus", "8", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["cfglint"] == __version__
    assert [each["code"] for each in report["diagnostics"]] == ["BAT001"]


def test_installed_package_finds_its_schemas(python, root, tmp_path):
    """The schemas of the wheel, with no checkout beside it."""
    (tmp_path / "ds_config.json").write_text('{"train_batch_size": 8, "zero_optimization": {"stage": 7}}\n')
    done = subprocess.run([python, "-m", "cfglint", "check", "ds_config.json"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "stage" in done.stdout
    printed = run(python, "-m", "cfglint", "schema", "deepspeed", cwd=tmp_path).stdout
    assert json.loads(printed) == json.loads((root / "schemas" / "deepspeed.json").read_text(encoding="utf-8"))


def test_installed_package_finds_its_pages(python, root, tmp_path):
    printed = run(python, "-m", "cfglint", "rule", "DSP010", cwd=tmp_path).stdout
    text = (root / "pages" / "DSP010.md").read_text(encoding="utf-8").split("---\n")[2].strip().partition("\n")[0]
    assert text in printed


@pytest.mark.slow
def test_a_build_can_be_repeated(wheel, root, tmp_path):
    """The wheel is the same byte for byte when it is built again, and when it is built from the source distribution."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "again", root)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "source", root)
    for folder in ("again", "source"):
        (other,) = (tmp_path / folder).glob("*.whl")
        assert other.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_it_installs_without_the_network(wheel, tmp_path):
    """From a folder of wheels: cfglint's own and those of what it requires."""
    house = tmp_path / "wheels"
    run(sys.executable, "-m", "pip", "--quiet", "wheel", "--wheel-dir", house, wheel)
    venv.create(tmp_path / "fresh", with_pip=False, symlinks=True)
    python = tmp_path / "fresh" / "bin" / "python"
    install = (sys.executable, "-m", "pip", "--quiet", "--python", python, "install", "--no-index", "--find-links", house, "cfglint-train")
    run(*install)
    assert run(python.parent / "cfglint", "--version").stdout == f"cfglint {__version__}\n"


def test_the_wheel_is_small(wheel):
    """Below 2.95 megabytes: 1.7 are code, 0.55 generated tables, 0.2 the schemas in two drafts, 0.3 the pages; 0.3 are the archive's."""
    size = wheel.stat().st_size
    assert size < 2_950_000, f"{size} bytes: let generated tables share rows that repeat, or raise the limit here"
