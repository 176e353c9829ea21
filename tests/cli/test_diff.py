"""`cfglint diff`: files, folders and runs; exit statuses; every format."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.report import FORMATS

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nlearning_rate: 2.0e-5\n"
HALVED = TRAINER.replace("steps: 8", "steps: 4")
GOOD = '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n'
LINE = "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4"
PROGRAM = (
    "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
)
BAD = GOOD.replace(": 8", ": 4")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def diff(folder, capsys):
    """Run `cfglint review OLD NEW`: (exit status, standard output, standard error)."""

    def run(*arguments):
        status = main(["review", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("_in_", "/").replace("__", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


class TestText:
    def test_a_change(self, folder, diff):
        write(folder, old__yaml=TRAINER, new__yaml=HALVED)
        status, out, err = diff("old.yaml", "new.yaml", "--gpus", "8")
        assert status == 0
        assert out == (
            "old.yaml -> new.yaml\n"
            "  global batch 256 -> 128 (halved): 4 x 8 x 8 -> 4 x 4 x 8 (micro batch x accumulation x data parallel)\n"
            "  learning rate unchanged: learning_rate 2.0e-5 (new.yaml:4)\n"
            "  total steps about doubled for as many samples: the same 3 epochs in smaller batches\n"
            "  settings\n"
            "    gradient_accumulation_steps: 8 -> 4 (line 3)\n"
        )
        assert err == "cfglint: 1 run compared, 1 changed in effect; no findings new\n"

    def test_no_change(self, folder, diff):
        write(folder, old__yaml=TRAINER, new__yaml=f"# the same\n{TRAINER}")
        assert diff("old.yaml", "new.yaml")[:2] == (0, "no effective change\n")

    def test_new_and_gone_findings(self, folder, diff):
        write(folder, old__json=GOOD, new__json=BAD)
        status, out, err = diff("old.json", "new.json", "--gpus", "8")
        assert status == 1
        assert "  no longer starts on 8 GPUs: fails while checking the config\n" in out
        assert "  new findings\n    new.json:1:22: error BAT001 batch-mismatch: " in out
        assert all(line.startswith("    ") for line in out.partition("new findings\n")[2].splitlines())
        assert "1 error new" in err
        status, out, _ = diff("new.json", "old.json", "--gpus", "8")
        assert status == 0
        terms = "micro batch 4 x accumulation 4 x data parallel 8 = 128"
        assert f"  resolved findings\n    error BAT001 batch-mismatch: `train_batch_size` is 256, but {terms}" in out

    def test_what_is_known_of_a_changed_setting(self, folder, diff):
        write(
            folder, old__yaml=f"{TRAINER}max_steps: 10\nnum_train_epochs: 3\n", new__yaml=f"{TRAINER}max_steps: 10\nnum_train_epochs: 6\n"
        )
        out = diff("old.yaml", "new.yaml")[1]
        assert "    num_train_epochs: 3 -> 6 (line 6)\n      STP005: " in out


class TestStatus:
    def test_fail_on(self, folder, diff):
        write(folder, old__json=GOOD, new__json=GOOD.replace("{", '{"gradient_cliping": 1, ', 1))
        assert diff("old.json", "new.json")[0] == 0
        assert diff("old.json", "new.json", "--fail-on", "warning")[0] == 1

    def test_an_old_finding_does_not_fail(self, folder, diff):
        write(folder, old__json=BAD, new__json=BAD.replace("256", "512"))
        assert diff("old.json", "new.json", "--gpus", "8")[0] == 0

    def test_ignored_findings(self, folder, diff):
        write(folder, old__json=GOOD, new__json=BAD)
        status, out, _ = diff("old.json", "new.json", "--gpus", "8", "--ignore", "BAT")
        assert status == 0
        assert "BAT001" not in out
        assert "no longer starts" in out

    @each_case(
        ("arguments", "said"),
        [
            (["old.yaml"], "pass OLD and NEW"),
            (["old.yaml", "new.yaml", "third.yaml"], "pass OLD and NEW"),
            (["old.yaml", "no-such.yaml"], "no-such.yaml: no such file or folder"),
            (["old.yaml", "folder"], "two files or two folders"),
            (["folder", "folder"], "neither folder nor folder contains a config"),
            (["strange.yml", "strange.yml"], "could not determine the kind of this file"),
        ],
    )
    def test_what_cannot_be_compared(self, folder, diff, arguments, said):
        write(folder, old__yaml=TRAINER, new__yaml=TRAINER, third__yaml=TRAINER, folder_in_readme__txt="", strange__yml="a: 1\n")
        status, out, err = diff(*arguments)
        assert (status, out) == (2, "")
        assert said in err

    def test_an_output_that_cannot_be_written(self, folder, diff):
        write(folder, old__yaml=TRAINER, new__yaml=TRAINER)
        assert diff("old.yaml", "new.yaml", "--format", "json", "--output", "no/such/folder.json")[0] == 2

    def test_unreadable_and_broken_sides(self, folder, diff):
        write(folder, old__json=GOOD, new__json=GOOD[:-4])
        status, out, _ = diff("old.json", "new.json", "--kind", "deepspeed")
        assert status == 1
        assert "SRC002" in out


class TestPairs:
    def test_a_kind_that_one_side_tells(self, folder, diff):
        write(folder, old__json=GOOD, new__json='{"steps_per_print": 5}')
        out = diff("old.json", "new.json")[1]
        assert "    train_batch_size: 256 -> (unset) (line 1 before)\n" in out

    def test_a_config_file_and_the_script_that_replaces_it(self, folder, diff):
        write(folder, old__yaml=TRAINER, run__sh=f"{LINE} --gradient_accumulation_steps 4\n", train__py=PROGRAM)
        out = diff("old.yaml", "run.sh")[1]
        assert "    gradient_accumulation_steps: 8 -> 4 (line 3 -> 1)\n" in out

    def test_folders(self, folder, diff):
        write(folder, old_in_a__yaml=TRAINER, old_in_b__yaml=TRAINER, old_in_c__json=GOOD, old_in_x__yml="a: 1\n")
        write(
            folder,
            new_in_a__yaml=HALVED,
            new_in_b__yaml=TRAINER,
            new_in_d__json=GOOD.replace("256", "512"),
            new_in_e__yaml=HALVED + "bf16: true\n",
        )
        status, out, err = diff("old", "new")
        assert status == 0
        titles = [line for line in out.splitlines() if line and not line.startswith(" ")]
        assert titles == ["new/e.yaml", "old/a.yaml -> new/a.yaml", "old/c.json -> new/d.json"]
        assert "4 runs compared, 3 changed in effect" in err

    def test_a_run_of_several_files(self, folder, diff):
        one, other = "train_micro_batch_size_per_gpu: 4\n", "gradient_accumulation_steps: 8\nnum_layers: 2\n"
        write(folder, a__yml=one, b__yml=other, c__yml=other.replace("8", "4"))
        assert "4 x 8 x 8 -> 4 x 4 x 8" in diff("a.yml", "b.yml", "--to", "a.yml", "c.yml", "--gpus", "8", "--kind", "neox")[1]
        moved = diff("a.yml", "b.yml", "--to", "b.yml", "a.yml", "--kind", "neox")[1]
        assert moved == "no effective change\n"

    def test_whole_runs(self, folder, diff):
        write(
            folder, old__json='{"train_batch_size": 8, "zero_optimization": {"stage": 1}}', new__json='{"zero_optimization": {"stage": 1}}'
        )
        assert diff("old.json", "new.json")[0] == 0
        assert diff("old.json", "new.json", "--run")[0] == 1

    def test_files_that_are_named(self, folder, diff):
        for side, stage in (("old", 2), ("new", 3)):
            write(
                folder,
                **{
                    f"{side}_in_train__yaml": f"{TRAINER}deepspeed: ds.json\n",
                    f"{side}_in_ds__json": f'{{"zero_optimization": {{"stage": {stage}}}}}',
                },
            )
        out = diff("old/train.yaml", "new/train.yaml")[1]
        assert "  ZeRO stage 2 -> 3: optimizer states, gradients and weights are sharded\n" in out
        assert "    zero_optimization.stage: 2 -> 3 (old/ds.json:1 -> new/ds.json:1)\n" in out

    def test_a_section(self, folder, diff):
        write(folder, old__yaml="training_args: {output_dir: a, per_device_train_batch_size: 4}\n")
        write(folder, new__yaml="training_args: {output_dir: a, per_device_train_batch_size: 8}\n")
        assert "micro batch 4 -> 8" in diff("old.yaml", "new.yaml", "--section", "training_args", "--kind", "huggingface")[1]


class TestFormats:
    def test_json(self, folder, diff):
        write(folder, old__json=GOOD, new__json=BAD)
        report = json.loads(diff("old.json", "new.json", "--gpus", "8", "--format", "json")[1])
        (change,) = report["changes"]
        assert change["files"] == ["new.json"]
        assert change["renamed_from"] == ["old.json"]
        assert (change["before"]["verdict"], change["after"]["verdict"]) == ("accept", "reject")
        assert change["consequences"][0] == {
            "what": "verdict",
            "factor": None,
            "known": True,
            "before": "accept",
            "after": "reject",
            "text": "no longer starts on 8 GPUs: fails while checking the config",
        }
        assert change["settings"] == [
            {
                "kind": "deepspeed",
                "key": "gradient_accumulation_steps",
                "before": {"value": 8, "written": True, "place": "old.json:1"},
                "after": {"value": 4, "written": True, "place": "new.json:1"},
                "effect": True,
                "notes": [],
            }
        ]
        assert [each["code"] for each in change["new"]] == ["BAT001"]
        assert change["gone"] == []

    def test_json_of_no_change_and_of_nothing(self, folder, diff):
        write(folder, old__json=GOOD, new__json=GOOD.replace("256", "-0.0"))
        (same,) = json.loads(diff("old.json", "old.json", "--format", "json")[1])["changes"]
        assert (same["consequences"], same["settings"], same["new"], same["gone"]) == ([], [], [], [])
        json.loads(diff("old.json", "new.json", "--format", "json")[1])

    @each_case("form", FORMATS)
    def test_every_format_takes_every_change(self, folder, diff, form):
        write(folder, old_in_a__json=GOOD, old_in_gone__yaml=TRAINER, old_in_b__json="{")
        write(folder, new_in_a__json=BAD, new_in_new__yaml=f"{HALVED}seed: 1\nseed: 2\nbf16: true\n", new_in_b__json=BAD)
        status, out, _ = diff("old", "new", "--gpus", "8", "--format", form)
        assert status == 1
        assert "a.json" in out

    def test_formats_for_findings_show_new_ones_only(self, folder, diff):
        write(folder, old__json=GOOD.replace("{", '{"gradient_cliping": 1, '), new__json=BAD.replace("{", '{"gradient_cliping": 1, '))
        issues = json.loads(diff("old.json", "new.json", "--gpus", "8", "--format", "gitlab")[1])
        assert [each["check_name"] for each in issues] == ["batch-mismatch"]

    def test_annotations_tell_the_consequences(self, folder, diff):
        write(folder, old__yaml=TRAINER, new__yaml=HALVED)
        out = diff("old.yaml", "new.yaml", "--gpus", "8", "--format", "github")[1]
        assert out.startswith("::notice file=new.yaml,line=3,title=global batch 256 -> 128 (halved)::global batch 256 -> 128 (halved): ")
        assert "%0Alearning rate unchanged: " in out
        assert out.count("\n") == 1

    def test_several_at_once(self, folder, diff):
        write(folder, old__yaml=TRAINER, new__yaml=HALVED)
        out = diff(
            "old.yaml", "new.yaml", "--format", "text", "--format", "json", "--output", "a.json", "--format", "markdown", "--output", "b.md"
        )[1]
        assert out.startswith("old.yaml -> new.yaml\n")
        assert json.loads((folder / "a.json").read_text())["changes"]
        assert (folder / "b.md").read_text().startswith("<!-- cfglint -->\n")


class TestReleases:
    """Those of files around only one of the two hold for both."""

    def test_a_copy_outside_of_the_project(self, folder, diff):
        write(folder, old__yaml=f"{TRAINER}warmup_ratio: 0.03\n", project_in_new__yaml=f"{TRAINER}warmup_ratio: 0.03\n")
        write(folder, project_in_requirements__txt="transformers==4.57.1\n")
        said = "no file states releases for {}: checked with those of requirements.txt, as {}\n"
        names = "old.yaml", "project/new.yaml"
        for old, new in (names, names[::-1]):
            _, out, err = diff(old, new)
            assert out == "no effective change\n"
            assert said.format(*names) in err

    def test_a_template(self, folder, diff):
        write(folder, old__yaml=f"{TRAINER}max_steps: __STEPS__\n", project_in_new__yaml=f"{TRAINER}max_steps: __STEPS__\n")
        write(folder, project_in_requirements__txt="transformers==4.57.1\n")
        changes = json.loads(diff("old.yaml", "project/new.yaml", "--format", "json")[1])["changes"]
        assert [changes[0][side]["verdict"] for side in ("before", "after")] == [None, None]
        assert [changes[0][side]["target"]["transformers"] for side in ("before", "after")] == ["4.57.1", "4.57.1"]

    def test_each_has_its_own(self, folder, diff):
        write(folder, a_in_x__yaml=TRAINER, b_in_x__yaml=TRAINER)
        write(folder, a_in_requirements__txt="transformers==4.56.0\n", b_in_requirements__txt="transformers==4.57.1\n")
        _, out, err = diff("a/x.yaml", "b/x.yaml", "--format", "json")
        change = json.loads(out)["changes"][0]
        assert [change[side]["target"]["transformers"] for side in ("before", "after")] == ["4.56.0", "4.57.1"]
        assert "no file states releases" not in err

    def test_a_script_that_states_one_changes_it(self, folder, diff):
        launch = "accelerate launch --num_processes 8 sft.py --output_dir out --warmup_ratio 0.1\n"
        write(folder, old__sh=launch, new__sh=f"pip install transformers==4.57.1\n{launch}")
        _, _, err = diff("old.sh", "new.sh")
        assert "no file states releases" not in err
