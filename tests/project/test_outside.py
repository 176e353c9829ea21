"""Nothing outside the project is read, quoted or written, whatever names it there: tried for every road that opens a named file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cfglint.cli import main

SECRET = "S3CR3T"
FORMATS = ("text", "json", "html", "markdown", "sarif", "github", "gitlab", "junit", "concise")
PROGRAM = (
    "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
)
LINE = "torchrun --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4 "
TRAINER = "output_dir: o\nper_device_train_batch_size: 4\n"
OUTSIDE = {
    "ds.json": f'{{"auths": {{"auth": "{SECRET}"}}, "zero_optimization": {{"stage": 2}}, "train_batch_size": "{SECRET}"}}\n',
    "env.sh": f"TOKEN={SECRET}\n",
    "run.sh": f"{LINE} --learning_rate {SECRET}\n",
    "Makefile": f"all:\n\t{LINE} --learning_rate {SECRET}\n",
    "README.md": f"```bash\n{LINE} --learning_rate {SECRET}\n```\n",
    "train.py": f'from transformers import TrainingArguments\nTrainingArguments(output_dir="o", learning_rate="{SECRET}", {SECRET}=1)\n',
    "fields.py": f"from dataclasses import dataclass\n@dataclass\nclass Own:\n    {SECRET}: int = 1\n",
    "tr.yaml": f"{TRAINER}learning_rate: {SECRET}\n",
    "acc.yaml": f"compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: {SECRET}\n",
    "hosts": f"{SECRET} slots=8\n",
    "fsdp.json": f'{{"min_num_params": "{SECRET}"}}\n',
    "requirements.txt": f"transformers=={SECRET}\ntransformers==4.30.0\n",
    "policy.json": json.dumps({"properties": {"output_dir": {"type": "integer", "x-message": SECRET}}}),
    "baseline.json": json.dumps({"cfglint-baseline": 1, "findings": [{"code": SECRET}]}),
    "cfglint.toml": f'"{SECRET}" = 1\n',
    "config.json": json.dumps({"hidden_size": SECRET}),
    "gitignore": f"{SECRET}\n*\n",
}
# road -> the files of the project; a value that begins with "->" is a link, and `d` is a link to the folder outside
ROADS = {
    "deepspeed of a line": {"a.sh": f"{LINE} --deepspeed d/ds.json\n", "train.py": PROGRAM},
    "deepspeed of a line, by a link to the file": {"a.sh": f"{LINE} --deepspeed ds.json\n", "train.py": PROGRAM, "ds.json": "->ds.json"},
    "deepspeed of a line, by its name": {"a.sh": f"{LINE} --deepspeed ../outside/ds.json\n", "train.py": PROGRAM},
    "deepspeed's own launcher": {"a.sh": "deepspeed --num_gpus 8 train.py --deepspeed --deepspeed_config d/ds.json\n", "train.py": "\n"},
    "source": {"a.sh": f"source d/env.sh\n{LINE} --learning_rate $TOKEN\n", "train.py": PROGRAM},
    "source of a link": {"a.sh": f"source env.sh\n{LINE} --learning_rate $TOKEN\n", "train.py": PROGRAM, "env.sh": "->env.sh"},
    "source, from another folder": {"a.sh": f"cd d && source env.sh\ncd ..\n{LINE} --learning_rate $TOKEN\n", "train.py": PROGRAM},
    "a called script": {"a.sh": "bash d/run.sh\n", "train.py": PROGRAM},
    "cat": {"a.sh": f"TOKEN=$(cat d/env.sh)\n{LINE} --learning_rate $TOKEN\n", "train.py": PROGRAM},
    "read": {"a.sh": f"read TOKEN < d/env.sh\n{LINE} --learning_rate $TOKEN\n", "train.py": PROGRAM},
    "a program": {"a.sh": "python d/train.py --learning_rate 1\n"},
    "an import of a program": {
        "a.sh": LINE,
        "train.py": "from fields import Own\n" + PROGRAM.replace("(TrainingArguments)", "((Own, TrainingArguments))"),
        "fields.py": "->fields.py",
    },
    "a module": {"a.sh": "torchrun --nproc_per_node 8 -m d.train --learning_rate 1\n"},
    "a file that a program names": {"a.sh": LINE, "train.py": 'import deepspeed\ndeepspeed.initialize(config="d/ds.json")\n' + PROGRAM},
    "a file that a program opens": {
        "train.py": "from transformers import TrainingArguments\n"
        'x = open("d/env.sh").read()\nTrainingArguments(output_dir="o", optim=x[:3] + x[3:])\n'
    },
    "a file that a program opens, by its name": {
        "train.py": "import yaml\nfrom transformers import TrainingArguments\n"
        'x = yaml.safe_load(open("../outside/tr.yaml"))\nTrainingArguments(**x)\n'
    },
    "a defaults list": {"group/tr.yaml": f"{TRAINER}learning_rate: 1\n", "top.yaml": "->tr.yaml"},
    "the config of a line": {"a.sh": "accelerate launch train.py d/tr.yaml\n", "train.py": PROGRAM},
    "the config of trl": {"a.sh": "trl sft --config d/tr.yaml\n"},
    "the config of llamafactory": {"a.sh": "llamafactory-cli train d/tr.yaml\n"},
    "the accelerate file": {"a.sh": "accelerate launch --config_file d/acc.yaml train.py --output_dir o\n", "train.py": PROGRAM},
    "the hostfile": {"a.sh": "deepspeed --hostfile d/hosts train.py --deepspeed ds.json\n", "train.py": PROGRAM, "ds.json": "{}"},
    "fsdp_config of a line": {"a.sh": f"{LINE} --fsdp full_shard --fsdp_config d/fsdp.json\n", "train.py": PROGRAM},
    "a script that is a link": {"a.sh": "->run.sh", "train.py": PROGRAM},
    "a Makefile that is a link": {"Makefile": "->Makefile", "train.py": PROGRAM},
    "a README that is a link": {"README.md": "->README.md", "train.py": PROGRAM},
    "a Makefile": {"Makefile": f"all:\n\tbash d/run.sh\n\t{LINE} --deepspeed d/ds.json\n", "train.py": PROGRAM},
    "a README": {"README.md": f"```bash\nsource d/env.sh\n{LINE} --deepspeed d/ds.json\n```\n", "train.py": PROGRAM},
    "deepspeed of a file": {"tr.yaml": f"{TRAINER}deepspeed: d/ds.json\n"},
    "deepspeed of a file, by its name": {"tr.yaml": f"{TRAINER}deepspeed: ../outside/ds.json\n"},
    "fsdp_config of a file": {"tr.yaml": f"{TRAINER}fsdp: full_shard\nfsdp_config: d/fsdp.json\n"},
    "a config that is a link": {"tr.yaml": "->tr.yaml"},
    "the accelerate file's DeepSpeed file": {
        "acc.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n"
        "deepspeed_config:\n  deepspeed_config_file: d/ds.json\n"
    },
    "the model of a file": {"tr.yaml": f"{TRAINER}model_name_or_path: d\nmax_length: 128\n"},
    "versions": {"tr.yaml": TRAINER, "requirements.txt": "->requirements.txt"},
    "versions of a folder": {"tr.yaml": TRAINER, "requirements/main.txt": "->requirements.txt"},
    "own dataclasses": {"tr.yaml": f"{TRAINER}per_device_train_batch_siz: 4\n", "fields.py": "->fields.py"},
    "the checkout of LLaMA-Factory": {
        "sft.yaml": "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: abc\ndataset: x\noutput_dir: o\nown_key: 1\n",
        "src/llamafactory/hparams/args.py": "->fields.py",
        "src/llamafactory/data/template.py": "->fields.py",
    },
    "policy-schema": {"cfglint.toml": 'policy-schema = "d/policy.json"\n', "tr.yaml": TRAINER},
    "policy-schema, by its name": {"cfglint.toml": 'policy-schema = "../outside/policy.json"\n', "tr.yaml": TRAINER},
    "policy-schema of a kind": {
        "cfglint.toml": 'policy-schema = {huggingface = "p.json"}\n',
        "p.json": "->policy.json",
        "tr.yaml": TRAINER,
    },
    "baseline": {"cfglint.toml": 'baseline = "d/baseline.json"\n', "tr.yaml": TRAINER},
    "baseline, by its name": {"cfglint.toml": 'baseline = "../outside/baseline.json"\n', "tr.yaml": TRAINER},
    "a declared run": {"cfglint.toml": '[[run]]\nfiles = ["d/tr.yaml"]\n'},
    "a declared launch": {"cfglint.toml": '[[run]]\nlaunch = "d/run.sh:1"\n', "train.py": PROGRAM},
    "the model of a declared run": {"cfglint.toml": '[[run]]\nfiles = ["tr.yaml"]\nmodel = "d"\n', "tr.yaml": TRAINER},
    "the configuration itself": {"cfglint.toml": "->cfglint.toml", "tr.yaml": TRAINER},
    "pyproject.toml": {"pyproject.toml": "->cfglint.toml", "tr.yaml": TRAINER},
    "ignore rules": {".gitignore": "->gitignore", "tr.yaml": TRAINER},
}
OTHER, CLOSED = "../outside", ".git/outside"
opened: list[str] | None = None


def on_audit(event: str, given: tuple) -> None:
    if opened is not None and event == "open" and isinstance(given[0], (str, bytes)):
        opened.append(os.path.realpath(os.fsdecode(given[0])))


sys.addaudithook(on_audit)


class Boundary:
    """A git work tree `repo` beside the folder `outside`, and what commands in it open and print; `place` is that folder from `repo`."""

    def __init__(self, folder, capsys, place=OTHER):
        self.folder, self.capsys, self.place = folder, capsys, place
        self.repo = folder / "repo"
        self.outside = Path(os.path.normpath(self.repo / place))

    def lay(self, files):
        """Write the files and links of a road."""
        shutil.rmtree(self.repo, ignore_errors=True)
        (self.repo / ".git").mkdir(parents=True)
        self.outside.mkdir(exist_ok=True)
        for name, text in OUTSIDE.items():
            (self.outside / name).write_text(text)
        (self.repo / "d").symlink_to(self.place)
        for name, text in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("->"):
                path.symlink_to(os.path.relpath(self.outside / text[2:], path.parent))
            else:
                path.write_text(text.replace(OTHER, self.place))
        os.chdir(self.repo)

    def trespasses(self, *arguments):
        """What a command did outside the project: files opened, the secret printed, files changed."""
        global opened
        opened = []
        try:
            status = main(list(arguments))
        finally:
            found, opened = opened, None
        said = self.capsys.readouterr()
        assert "INT000" not in said.out, said
        assert status in (0, 1, 2)
        root = os.path.realpath(self.outside) + os.sep
        wrong = [f"read {path.removeprefix(root)}" for path in found if path.startswith(root)]
        wrong += ["quoted"] * (SECRET in said.out + said.err)
        wrong += [f"wrote {name}" for name, text in OUTSIDE.items() if (self.outside / name).read_text() != text]
        wrong += [f"wrote {name}" for name in os.listdir(self.outside) if name not in OUTSIDE]
        return wrong


@pytest.fixture
def boundary(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # restored afterwards
    return Boundary(tmp_path, capsys)


COMMANDS = (
    ("check", ".", "--gpus", "8", "--gpu-memory", "H100"),
    ("check", ".", "--format", "json", "--show", "settings"),
    ("check", ".", "--show", "files"),
    ("fix", ".", "--unsafe-fixes"),
    ("fix", ".", "--gpus", "8", "--global-batch", "64"),
    ("plan", ".", "--gpus", "8", "--global-batch", "64"),
    ("runs", "."),
    ("runs", ".", "--declare"),
)


@pytest.mark.parametrize("road", ROADS)
def test_nothing_outside_is_touched(boundary, road):
    boundary.lay(ROADS[road])
    found = {arguments: boundary.trespasses(*arguments) for arguments in COMMANDS}
    names = [name for name, text in ROADS[road].items() if not text.startswith("->") and name.endswith((".sh", ".yaml"))]
    for name in names:
        for command in ("check", "explain", "fix"):
            found[command, name] = boundary.trespasses(command, name)
    assert {key: each for key, each in found.items() if each} == {}


@pytest.mark.parametrize("road", ROADS)
def test_nothing_in_the_folder_of_git_is_touched(tmp_path, capsys, monkeypatch, road):
    monkeypatch.chdir(tmp_path)
    boundary = Boundary(tmp_path, capsys, CLOSED)
    boundary.lay(ROADS[road])
    assert boundary.trespasses(*COMMANDS[0]) == []


@pytest.mark.parametrize("written", ["check . --format sarif --output r", "check . --baseline r --write-baseline", "check . --output r"])
@pytest.mark.parametrize("place", [OTHER, CLOSED])
def test_a_report_follows_no_link_out(tmp_path, capsys, monkeypatch, place, written):
    monkeypatch.chdir(tmp_path)
    boundary = Boundary(tmp_path, capsys, place)
    boundary.lay({"tr.yaml": TRAINER, "r": "->new.sarif"})
    assert boundary.trespasses(*written.split()) == []
    (boundary.repo / "r").unlink()
    (boundary.repo / "r").symlink_to("d/env.sh")
    assert boundary.trespasses(*written.split()) == []


def test_a_pipe_that_nobody_reads_is_no_place_for_a_report(boundary):
    boundary.lay({"tr.yaml": TRAINER})
    os.mkfifo("pipe")
    assert main(["check", "tr.yaml", "--format", "json", "--output", "pipe"]) == 2
    assert "--output pipe: is a pipe that no process reads" in boundary.capsys.readouterr().err


@pytest.mark.parametrize("path", [".", "../repo"])
def test_nothing_above_the_project_decides(boundary, path):
    """A defaults list, requirements, a configuration and the code of a framework in the folder above."""
    boundary.lay({"conf/t.yaml": f"{TRAINER}lr_scheduler_type: nope\n", "requirements.txt": "-r ../requirements.txt\n"})
    main(["check", path])
    expected = boundary.capsys.readouterr()
    assert "HFT003" in expected.out
    above = {
        "parent.yaml": "defaults:\n  - repo/conf: t\n",
        "requirements.txt": "transformers==4.30.0\n",
        "cfglint.toml": 'ignore = ["HFT003"]\n',
        "src/llamafactory/hparams/args.py": "x = 1\n",
    }
    for name, text in above.items():
        (boundary.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (boundary.folder / name).write_text(text)
    main(["check", path])
    assert boundary.capsys.readouterr() == expected


def git(folder, *arguments):
    plain = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *arguments], cwd=folder, env=plain, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(("state", "form"), [("working", "text"), ("staged", "json"), ("committed", "markdown")])
def test_review_touches_nothing_outside(boundary, state, form):
    """Every road at once, on both sides of a branch: first without the links, then with them, then without them again."""
    found = {}
    linked = {f"{number}/{name}": text for number, files in enumerate(ROADS.values()) for name, text in files.items()}
    configured = ("cfglint.toml", "pyproject.toml", ".gitignore")
    linked = {name: text for name, text in linked.items() if not name.endswith(configured)}
    plain = {name: text if not text.startswith("->") else "" for name, text in linked.items()}
    boundary.lay({"tr.yaml": TRAINER, "cfglint.toml": "gpus = 4\n"})
    shutil.rmtree(boundary.repo / ".git")
    git(boundary.repo, "init", "-q")
    for round_, files in enumerate((plain, linked, plain)):
        for number in range(len(ROADS)):
            shutil.rmtree(boundary.repo / str(number), ignore_errors=True)
        for name, text in files.items():
            path = boundary.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if files is linked and not (path.parent / "d").is_symlink():
                (path.parent / "d").symlink_to("../../outside")
            if text.startswith("->"):
                path.symlink_to(os.path.relpath(boundary.outside / text[2:], path.parent))
            else:
                path.write_text(text + f"# {round_}\n" * name.endswith((".sh", ".yaml")))
        git(boundary.repo, "add", "-A")
        if round_ and state != "committed":
            found[round_] = boundary.trespasses("review", "--base", "HEAD", "--state", state, "--format", form)
        git(boundary.repo, "commit", "-q", "-m", "x")
        if round_ and state == "committed":
            git(boundary.repo, "branch", "-f", "base", "HEAD~1")
            found[round_] = boundary.trespasses("review", "--base", "base", "--state", state, "--format", form)
    assert found == {1: [], 2: []}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_committed_link_is_followed_within_the_commit(boundary):
    """The committed state of a file behind a link to a folder, and not the state on disk."""
    boundary.lay({"tr.yaml": f"{TRAINER}deepspeed: conf/ds.json\n", "real/ds.json": '{"zero_optimization": {"stage": 2}}\n'})
    shutil.rmtree(boundary.repo / ".git")
    (boundary.repo / "d").unlink()
    (boundary.repo / "conf").symlink_to("real")
    git(boundary.repo, "init", "-q")
    git(boundary.repo, "add", "-A")
    git(boundary.repo, "commit", "-q", "-m", "x")
    (boundary.repo / "real" / "ds.json").write_text('{"zero_optimization": {"stage": 3}}\n')
    git(boundary.repo, "commit", "-q", "-a", "-m", "y")
    (boundary.repo / "conf").unlink()
    (boundary.repo / "conf").symlink_to("../outside")
    assert boundary.trespasses("review", "--base", "HEAD~1", "--state", "committed") == []
    main(["review", "--base", "HEAD~1", "--state", "committed", "--format", "json"])
    runs = json.loads(boundary.capsys.readouterr().out)["changes"]
    assert [(each["what"], each["before"], each["after"]) for each in runs[0]["consequences"] if each["what"] == "zero_stage"] == [
        ("zero_stage", 2, 3)
    ]


def test_a_work_tree_elsewhere_is_not_reviewed(boundary):
    boundary.lay({"tr.yaml": TRAINER})
    shutil.rmtree(boundary.repo / ".git")
    git(boundary.repo, "init", "-q")
    git(boundary.repo, "add", "-A")
    git(boundary.repo, "commit", "-q", "-m", "x")
    for place in ("/", "../../outside"):
        git(boundary.repo, "config", "core.worktree", place)
        assert main(["review", "--base", "HEAD"]) == 2
        assert "`core.worktree` in the repository's configuration names another folder" in boundary.capsys.readouterr().err


@pytest.mark.parametrize("form", FORMATS)
def test_formats_quote_nothing_outside(boundary, form):
    boundary.lay(ROADS["a README"] | ROADS["deepspeed of a file"] | ROADS["source"])
    assert boundary.trespasses("check", ".", "--format", form) == []


def test_what_was_not_read_is_said(boundary):
    boundary.lay({"a.sh": f"source d/env.sh\n{LINE} --deepspeed d/ds.json\n", "train.py": PROGRAM, "link.yaml": "->tr.yaml"})
    main(["check", "."])
    said = boundary.capsys.readouterr()
    assert "LCH021" in said.out
    assert "`d/ds.json`, which is outside the project and was not read" in said.out
    assert "3 files outside the project not read: " in said.err


def test_what_the_user_names_may_be_outside(boundary):
    boundary.lay(ROADS["deepspeed of a line, by its name"] | {"cfglint.toml": 'policy-schema = "../outside/policy.json"\n'})
    main(["check", "a.sh", "../outside/ds.json"])
    assert "pass --config to allow it" in boundary.capsys.readouterr().err
    main(["check", "a.sh", "../outside/ds.json", "--config", "cfglint.toml"])
    assert "../outside/ds.json:1:" in boundary.capsys.readouterr().out
