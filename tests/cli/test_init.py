"""`cfglint init`, `check --show files`, `check --show settings` and `--color`."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
import yaml

from cases import each_case
from cfglint.cli import init, main
from cfglint.cli.console import uses_colour

BAD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n'
UNCLEAR = '{"profile": true, "profile_step_start": 10, "memory_profiling": true, "memory_profiling_path": a, "tensorboard_dir": "b"}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(BAD, encoding="utf-8")
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 4\ndeepspeed: ds.json\n", encoding="utf-8")
    (tmp_path / "other.yaml").write_text("hello: 1\n", encoding="utf-8")
    return tmp_path


def test_init_accepts_what_is_found_now(folder, capsys):
    assert main(["check", "--gpus", "8"]) == 1
    assert main(["init", "--gpus", "8"]) == 0
    assert "- id: cfglint-review\n" in capsys.readouterr().out
    assert "gpus = 8" in (folder / "cfglint.toml").read_text(encoding="utf-8")
    assert json.loads((folder / "cfglint-baseline.json").read_text(encoding="utf-8"))["findings"]
    assert main(["check", "--fail-on", "info"]) == 0
    assert "1 file skipped" in capsys.readouterr().err  # other.yaml; the baseline does not count


def test_init_names_the_codes_that_the_baseline_accepts(folder, capsys):
    (folder / "train.yaml").unlink()
    (folder / "second.json").write_text(BAD, encoding="utf-8")
    assert main(["init", "--gpus", "8"]) == 0
    assert (
        "cfglint-baseline.json accepts 2 findings (BAT001 x 2), 2 errors among them: runs that would not start; " in capsys.readouterr().err
    )
    numbers = {f"KEY{number:03}": 1 for number in range(9)}
    assert init.by_code(numbers) == f"9 findings ({', '.join([*numbers][:8])}, 1 more code)"
    assert init.by_code({"BAT001": 1, "TYP200": 2, "KEY105": 2}) == "5 findings (KEY105 x 2, TYP200 x 2, BAT001)"


def test_init_names_the_files_whose_kind_is_to_be_chosen(folder, monkeypatch, capsys):
    (folder / "both.yaml").write_text(UNCLEAR, encoding="utf-8")
    assert main(["init"]) == 0
    text = (folder / "cfglint.toml").read_text(encoding="utf-8")
    chosen = text.replace("# [kinds]", "[kinds]").replace('# "both.yaml" = "..."', '"both.yaml" = "neox"')
    assert chosen.count("neox") == 2
    (folder / "cfglint.toml").write_text(chosen, encoding="utf-8")
    capsys.readouterr()
    main(["check", "--show", "files"])
    assert "both.yaml: neox" in capsys.readouterr().out.splitlines()


def test_init_writes_hooks_at_the_top_of_a_repository(folder, root, capsys):
    (folder / ".git").mkdir()
    assert main(["init"]) == 0
    (repository,) = yaml.safe_load((folder / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    ours = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    told = ("id", "types_or", "require_serial", "pass_filenames")
    assert [[hook.get(key) for key in told] for hook in repository["hooks"]] == [[hook.get(key) for key in told] for hook in ours]
    assert all(hook["entry"].endswith(own["entry"].removeprefix("cfglint")) for hook, own in zip(repository["hooks"], ours, strict=True))
    captured = capsys.readouterr()
    assert (captured.out, "wrote .pre-commit-config.yaml" in captured.err) == ("", True)


def test_init_prints_hooks_where_there_are_others(folder, capsys):
    (folder / ".git").mkdir()
    (folder / ".pre-commit-config.yaml").write_text("repos: []\n", encoding="utf-8")
    assert main(["init"]) == 0
    assert (folder / ".pre-commit-config.yaml").read_text(encoding="utf-8") == "repos: []\n"
    captured = capsys.readouterr()
    assert captured.out.startswith("# for .pre-commit-config.yaml\nrepos:\n  - repo: local")
    assert "exists already: add the hooks that were printed" in captured.err


@each_case("folder_name", ["bin", "with a blank"])
def test_hooks_start_the_running_program_whatever_the_path_of_the_commit(tmp_path, monkeypatch, folder_name):
    """An active environment is on the PATH of this shell alone; a link to it, as of pipx, is on that of each."""
    inside, links = tmp_path / folder_name, tmp_path / "links"
    inside.mkdir(), links.mkdir(exist_ok=True)
    monkeypatch.setattr(sys, "executable", str(inside / "python"))
    monkeypatch.setenv("PATH", f"{inside}:{links}")
    monkeypatch.chdir(links)
    script = inside / "cfglint"

    def started():
        (repository,) = yaml.safe_load(init.hooks())["repos"]
        return [shlex.split(hook["entry"])[:3] for hook in repository["hooks"]][1]

    assert started() == [str(inside / "python"), "-m", "cfglint"]
    script.write_text("")
    script.chmod(0o755)
    assert started()[:2] == [str(script), "check"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir(exist_ok=True)
    assert started()[:2] == [f"{folder_name}/cfglint", "check"]
    monkeypatch.setenv("PATH", str(links))
    (links / "cfglint").symlink_to(script)
    assert started()[:2] == ["cfglint", "check"]
    (links / "cfglint").unlink()


def test_hooks_name_the_repository_of_the_installation(monkeypatch):
    monkeypatch.setattr(init, "home", lambda: ("https://git.example.com/cfglint", "abc123"))
    (repository,) = yaml.safe_load(init.hooks())["repos"]
    assert (repository["repo"], repository["rev"]) == ("https://git.example.com/cfglint", "abc123")
    assert [hook["id"] for hook in repository["hooks"]] == ["cfglint-fix", "cfglint", "cfglint-review"]


def test_init_overwrites_no_baseline(folder, capsys):
    (folder / "cfglint-baseline.json").write_text("", encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    assert main(["init"]) == 2
    assert "cfglint-baseline.json exists already" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(("name", "text"), [("cfglint.toml", "gpus = 8\n"), ("pyproject.toml", "[tool.cfglint]\ngpus = 8\n")])
def test_beside_a_configuration_init_writes_the_rest(folder, capsys, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "bad.json").write_text('{"train_batch_size": 8, "gradient_cliping": 1.0}', encoding="utf-8")
    assert main(["init"]) == 0
    said = capsys.readouterr()
    assert f"{name} stays as it is" in said.err
    assert 'once the configuration has `baseline = "cfglint-baseline.json"`' in said.err
    assert (folder / name).read_text(encoding="utf-8") == text
    assert (folder / "cfglint-baseline.json").exists()
    assert "id: cfglint-review" in said.out


def test_show_files_names_kind_run_and_reason(folder, capsys):
    (folder / "run.sh").write_text("echo hello\n", encoding="utf-8")
    assert main(["check", ".", "--show", "files"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "./ds.json: deepspeed, in the run of ./train.yaml",
        "./other.yaml: skipped (not a training config)",
        "./run.sh: skipped (no training launch in it)",
        "./train.yaml: huggingface",
    ]


def test_show_files_names_what_is_excluded(folder, capsys):
    (folder / "cfglint.toml").write_text('exclude = ["other.yaml", "ds.json"]\n', encoding="utf-8")
    assert main(["check", "--show", "files"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ds.json: deepspeed, in the run of train.yaml",
        "other.yaml: skipped (excluded by the configuration)",
        "train.yaml: huggingface",
    ]
    assert main(["check", "other.yaml", "--show", "files"]) == 0
    assert capsys.readouterr().out == "other.yaml: skipped (not a training config)\n"


def test_show_files_of_declared_runs(folder, capsys):
    (folder / "cfglint.toml").write_text('[[run]]\nfiles = ["train.yaml"]\n', encoding="utf-8")
    assert main(["check", "--show", "files"]) == 0
    assert capsys.readouterr().out.splitlines() == ["train.yaml: huggingface", "ds.json: deepspeed, in the run of train.yaml"]


def test_show_settings_names_the_origin(folder, capsys):
    (folder / "cfglint.toml").write_text('gpus = 8\nfail-on = "warning"\nexclude = ["old"]\n', encoding="utf-8")
    assert main(["check", "--show", "settings", "--fail-on", "info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"configuration: cfglint.toml", "gpus: 8 (cfglint.toml)", "exclude: old (cfglint.toml)"} <= set(lines)
    assert {"fail-on: info (command line)", "select: (unset)"} <= set(lines)


@pytest.mark.parametrize(
    ("asked", "variables", "expected"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_who_decides_on_colour(monkeypatch, asked, variables, expected):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert uses_colour(asked) is expected


def test_color_always_colours_a_file(folder, capsys):
    main(["check", "ds.json", "--gpus", "8", "--color", "always"])
    assert "\x1b[" in capsys.readouterr().out
