"""Which runs a branch touches, in each state of the repository."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.review.branch import COMMITTED, STAGED, WORKING, Branch, content
from cfglint.run.paths import ScanStats
from cfglint.source.git import GitRepository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\nbf16: true\n"
ENGINE = '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}\n'
SERVICES = "services:\n  web: {image: nginx}\n"


@pytest.fixture
def touched(checkout):
    """The touched runs as pairs of their files, with facts of no launch."""

    def pairs(state=WORKING, base="main", taken=()):
        with GitRepository() as repository:
            branch = Branch(repository, repository.merge_base(base, "HEAD"), state)
            branch.compare()
            found = branch.undeclared(LaunchFacts(), LaunchFacts(), set(taken), ScanStats())
            return [tuple([each.path for each in run.documents] if run else None for run in pair) for pair in found]

    return pairs


@pytest.fixture
def started(checkout):
    """A repository with some configs, on a branch of its own."""
    checkout.write(a__yaml=TRAINER, conf_in_ds__json=ENGINE, conf_in_train__yaml=f"{TRAINER}deepspeed: ds.json\n", web__yml=SERVICES)
    checkout.commit()
    checkout.git("checkout", "-q", "-b", "topic")
    return checkout


def test_nothing(started, touched):
    for state in (WORKING, STAGED, COMMITTED):
        assert touched(state) == []


def test_each_state_sees_what_it_should(started, touched):
    started.write(a__yaml=TRAINER.replace("4", "8"))
    assert (len(touched(WORKING)), len(touched(STAGED)), len(touched(COMMITTED))) == (1, 0, 0)
    started.git("add", "a.yaml")
    assert (len(touched(WORKING)), len(touched(STAGED)), len(touched(COMMITTED))) == (1, 1, 0)
    started.git("commit", "-q", "-m", "x")
    assert (len(touched(WORKING)), len(touched(STAGED)), len(touched(COMMITTED))) == (1, 1, 1)
    started.write(a__yaml=TRAINER)
    assert (len(touched(WORKING)), len(touched(STAGED)), len(touched(COMMITTED))) == (0, 1, 1)


def test_only_files_that_were_written_to_are_read(started, touched, monkeypatch):
    from cfglint.review import branch

    os.utime(".git/index", (4_000_000_000, 4_000_000_000))  # later than all files
    started.write(a__yaml=TRAINER.replace("4", "8"))
    read = []
    monkeypatch.setattr(branch, "content", lambda path: read.append(os.path.basename(path)) or content(path))
    assert touched() == [(["a.yaml"], ["a.yaml"])]
    assert read == ["a.yaml"]


def test_the_staged_text_is_the_one_that_is_read(started):
    started.write(a__yaml=TRAINER.replace("4", "8"))
    started.git("add", "a.yaml")
    started.write(a__yaml=TRAINER.replace("4", "16"))
    with GitRepository() as repository:
        branch = Branch(repository, repository.commit("main"), STAGED)
        branch.compare()
        ((before, after),) = branch.undeclared(LaunchFacts(), LaunchFacts(), set(), ScanStats())
    assert (before.resolved["micro_batch"], after.resolved["micro_batch"]) == (4, 8)


def test_untracked_files_are_new_runs(started, touched):
    started.write(b__yaml=TRAINER.replace("4", "8").replace("bf16", "fp16"), __gitignore="ignored*\n", ignored__yaml=TRAINER)
    assert touched(WORKING) == [(None, ["b.yaml"])]
    assert touched(STAGED) == []


def test_a_deleted_file_is_a_run_that_is_gone(started, touched):
    (started.folder / "a.yaml").unlink()
    assert touched() == [(["a.yaml"], None)]


def test_strangers_are_left_alone(started, touched):
    started.write(web__yml=SERVICES.replace("nginx", "caddy"), package__json='{"name": "x"}')
    assert touched() == []


def test_a_run_is_touched_when_the_file_that_it_names_is(started, touched):
    started.write(conf_in_ds__json=ENGINE.replace("2}", "3}"))
    assert touched() == [(["conf/train.yaml", "conf/ds.json"],) * 2]


def test_every_run_that_names_a_file(started, touched):
    started.write(conf_in_other__yaml=f"{TRAINER}deepspeed: ds.json\n", far__yaml=f"{TRAINER}deepspeed: conf/ds.json\n")
    started.git("checkout", "-q", "main")
    started.commit()
    started.git("checkout", "-q", "-B", "topic")
    started.write(conf_in_ds__json=ENGINE.replace("2}", "3}"))
    assert [pair[1][0] for pair in touched()] == ["conf/other.yaml", "conf/train.yaml", "far.yaml"]


def test_a_file_of_that_name_elsewhere_touches_nothing(started, touched):
    started.write(elsewhere_in_ds__json=ENGINE.replace("2}", "3}"))
    assert touched() == [(None, ["elsewhere/ds.json"])]


def test_a_deepspeed_file_that_nobody_names_is_a_run(started, touched):
    started.git("rm", "-q", "conf/train.yaml")
    started.write(conf_in_ds__json=ENGINE.replace("2}", "3}"))
    assert (["conf/ds.json"], ["conf/ds.json"]) in touched()


def test_a_rename(started, touched):
    started.git("mv", "a.yaml", "b.yaml")
    assert touched() == [(["a.yaml"], ["b.yaml"])]
    started.write(b__yaml=TRAINER.replace("4", "8"))
    assert touched() == [(["a.yaml"], ["b.yaml"])]
    assert touched(STAGED) == [(["a.yaml"], ["b.yaml"])]


def test_a_rename_of_a_file_that_is_named(started, touched):
    started.git("mv", "conf/ds.json", "conf/zero2.json")
    started.write(conf_in_train__yaml=f"{TRAINER}deepspeed: zero2.json\n")
    assert touched() == [(["conf/train.yaml", "conf/ds.json"], ["conf/train.yaml", "conf/zero2.json"])]


def test_a_deleted_file_that_is_still_named(started, touched):
    (started.folder / "conf" / "ds.json").unlink()
    assert touched() == [(["conf/train.yaml", "conf/ds.json"], ["conf/train.yaml"])]


def test_a_trainer_that_stops_naming_a_file(started, touched):
    started.write(conf_in_train__yaml=TRAINER)
    assert touched() == [(["conf/train.yaml", "conf/ds.json"], ["conf/train.yaml"])]
    started.write(conf_in_ds__json=ENGINE.replace("2}", "3}"))
    assert touched() == [(["conf/train.yaml", "conf/ds.json"], ["conf/train.yaml"]), (["conf/ds.json"], ["conf/ds.json"])]


def test_line_ends_that_git_changes_are_no_change(started, touched):
    started.write(a__yaml=TRAINER.replace("\n", "\r\n"))
    assert touched() == []


def test_from_a_folder_below(started, touched, monkeypatch):
    started.write(a__yaml=TRAINER.replace("4", "8"), conf_in_ds__json=ENGINE.replace("2}", "3}"))
    monkeypatch.chdir("conf")
    assert touched() == [(["../a.yaml"], ["../a.yaml"]), (["train.yaml", "ds.json"], ["train.yaml", "ds.json"])]


def test_commits_of_the_base_are_not_ours(started, touched):
    started.git("checkout", "-q", "main")
    started.write(a__yaml=TRAINER.replace("4", "8"))
    started.commit()
    started.git("checkout", "-q", "topic")
    assert touched() == []


def test_a_file_that_is_not_checked_out_is_not_gone(started, touched):
    started.git("update-index", "--skip-worktree", "a.yaml")
    (started.folder / "a.yaml").unlink()
    assert touched() == []


def test_links_and_folders_in_the_way(started, touched):
    (started.folder / "link.yaml").symlink_to("a.yaml")
    (started.folder / "dangling.yaml").symlink_to("nowhere.yaml")
    (started.folder / "folder.yaml").mkdir()
    started.write(folder__yaml_in_x__txt="x")
    assert [pair[1] for pair in touched()] == [["link.yaml"]]


def test_files_of_declared_runs_are_left_out(started, touched):
    started.write(a__yaml=TRAINER.replace("4", "8"))
    assert touched(taken=["a.yaml"]) == []


LOCK = '[[package]]\nname = "transformers"\nversion = "{}"\n'
FORMER = f"{TRAINER}evaluation_strategy: epoch\nlogging_dir: logs\n"


@pytest.mark.parametrize("state", [WORKING, STAGED, COMMITTED])
def test_another_release_touches_every_run(started, touched, state):
    started.git("checkout", "-q", "main")
    started.write(uv__lock=LOCK.format("4.42.4"))
    started.commit()
    started.git("checkout", "-q", "-B", "topic")
    started.write(uv__lock=LOCK.format("5.23.0"), new__txt="")
    started.git("add", "-A")
    if state == COMMITTED:
        started.commit()
    assert touched(state) == [(["a.yaml"],) * 2, (["conf/train.yaml", "conf/ds.json"],) * 2]
    started.write(uv__lock=LOCK.format("4.42.4"))
    started.commit()
    assert touched(state) == []


def test_the_earlier_state_of_what_is_no_config_is_not_read(started, touched, monkeypatch):
    """In a folder of its own: a file in a folder above a config may have a defaults list that makes it an option."""
    started.write(uv__lock=LOCK.format("4.42.4"), services_in_web__yml=f"{SERVICES}# of another folder\n")
    started.commit()
    started.write(uv__lock=LOCK.format("5.23.0"))
    with GitRepository() as repository:
        services = repository.index()["services/web.yml"].id
    read = []
    content = GitRepository.content
    monkeypatch.setattr(GitRepository, "content", lambda self, content_id: read.append(content_id) or content(self, content_id))
    assert len(touched(base="HEAD")) == 2
    assert (len(read) > 2, services in read) == (True, False)


def test_both_sides_have_their_own_release(started):
    started.write(requirements__txt="transformers==5.0.0\n", sub_in_requirements__txt="transformers==4.42.4\n", sub_in_c__yaml=FORMER)
    started.commit()
    started.write(sub_in_requirements__txt="transformers==5.23.0\n")
    with GitRepository() as repository:
        branch = Branch(repository, repository.commit("HEAD"), WORKING)
        branch.compare()
        ((before, after),) = branch.undeclared(LaunchFacts(), LaunchFacts(), set(), ScanStats())
        assert (before.target, after.target) == ({"transformers": "4.42.4"}, {"transformers": "5.23.0"})
        new = {each.code for each in after.diagnostics} - {each.code for each in before.diagnostics}
    assert "KEY202" in new  # both keys are gone by then


def test_fifty_changed_files_are_quick(started, touched):
    import time

    started.write(**{f"many_in_{number}__yaml": TRAINER.replace("out", f"out{number}") for number in range(50)})
    started.git("checkout", "-q", "main")
    started.commit()
    started.git("checkout", "-q", "-B", "topic")
    started.write(**{f"many_in_{number}__yaml": TRAINER.replace("out", f"new{number}") for number in range(50)})
    began = time.process_time()
    assert len(touched()) == 50
    assert time.process_time() - began < 5


PROGRAM = "from transformers import TrainingArguments\nargs = TrainingArguments('out', per_device_train_batch_size=4)\n"


@pytest.mark.parametrize(
    ("changed", "paths"),
    [
        ({"train__py": PROGRAM.replace("4", "8")}, ["run.sh", "train.py"]),
        ({"all__sh": "bash inner.sh 2\n"}, ["inner.sh"]),
        ({"env__sh": "BATCH=2\n"}, ["sourcing.sh"]),
    ],
)
def test_a_launch_is_touched_by_its_program_its_caller_and_what_it_sources(checkout, touched, changed, paths):
    inner = "torchrun --nproc_per_node $1 x.py --output_dir o --learning_rate 1e-5 --per_device_train_batch_size 4 --bf16 True\n"
    checkout.write(run__sh="torchrun train.py\n", train__py=PROGRAM, all__sh="bash inner.sh 1\n", inner__sh=inner)
    checkout.write(env__sh="BATCH=4\n", sourcing__sh="source env.sh\n" + inner.replace("$1", "2").replace("size 4", "size $BATCH"))
    checkout.commit()
    checkout.git("checkout", "-q", "-b", "topic")
    checkout.write(**changed)
    assert touched() == [(paths, paths)]


LINE = "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4\n"
PARSING = (
    "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
)


@pytest.fixture
def reviewed(checkout, capsys):
    """The text and the JSON of a review of the working tree."""

    def run():
        main(["review", "--base", "main"])
        text = capsys.readouterr().out
        main(["review", "--base", "main", "--format", "json"])
        return text, json.loads(capsys.readouterr().out)

    return run


def test_changed_files_that_no_run_reads_are_named_with_the_reason(checkout, reviewed):
    checkout.write(run__sh=LINE, train__py=PARSING, model__py="x = 1\n", data__json='{"a": 1}\n', get__sh="echo 1\n", README__md="a\n")
    checkout.commit()
    checkout.write(model__py="x = 2\n", data__json='{"a": 2}\n', get__sh="echo 2\n", README__md="b\n")
    text, report = reviewed()
    assert text == (
        "no run compared\n\n"
        "not compared: data.json (not recognised as a training config, and no recognised run is known to read it)\n"
        "not compared: get.sh (no launch line in it is recognised)\n"
        "not compared: model.py (no recognised run is known to depend on it)\n"
    )
    assert [each["file"] for each in report["not_compared"]] == ["data.json", "get.sh", "model.py"]


def test_a_file_that_a_run_may_read_is_not_said_to_be_read_by_none(checkout, reviewed):
    checkout.write(
        run__sh=LINE + "python src/train.py\n",
        train__py=PARSING,
        **{"configs/train__yaml": "defaults:\n  - data: a\n", "configs/data/a__yaml": "n: 1\n", "d/info__json": '{"a": 1}'},
        **{"verl/__init____py": "", "verl/version/version": "0.5.0", "verl/utils/f__py": "x = 1\n"},
        top__json='{"a": 1}',
    )
    checkout.commit()
    line = LINE.replace("size 4", "size 8 --bf16 --dataset_dir d/")
    checkout.write(
        run__sh=line, top__json='{"a": 2}', **{"configs/data/a__yaml": "n: 2\n", "d/info__json": '{"a": 2}', "verl/utils/f__py": "x = 2\n"}
    )
    text = reviewed()[0]
    assert "configs/data/a.yaml (not recognised as a training config; configs/train.yaml names it" in text
    assert "d/info.json (not recognised as a training config; `dataset_dir` of run.sh names its folder" in text
    assert "verl/utils/f.py (the code of verl is not compared" in text
    assert "top.json (not recognised as a training config, and no recognised run is known to read it)" in text  # no value names the root


def test_a_program_that_names_a_file_of_the_same_name_in_another_folder_does_not_name_it(checkout, reviewed):
    checkout.write(load__py="conf = open('configs/default.yaml')\n", configs_in_data_in_default__yaml="n: 1\n")
    checkout.write(
        configs_in_default__yaml="n: 1\n", own_in_default__yaml="n: 1\n", own_in_load__py="conf = open(folder + 'default.yaml')\n"
    )
    checkout.commit()
    checkout.write(configs_in_data_in_default__yaml="n: 2\n", configs_in_default__yaml="n: 2\n", own_in_default__yaml="n: 2\n")
    text = reviewed()[0]
    assert (
        "not compared: configs/data/default.yaml (not recognised as a training config, and no recognised run is known to read it)" in text
    )
    assert "not compared: configs/default.yaml (not recognised as a training config; load.py names it" in text
    assert "not compared: own/default.yaml (not recognised as a training config; own/load.py names it" in text


def test_a_called_script_is_named_with_the_line_that_calls_it(checkout, reviewed):
    checkout.write(train__py=PARSING, run__sh=LINE.replace("size 4", 'size "$1"'))
    checkout.commit()
    checkout.write(all__sh="bash run.sh 4\nbash run.sh 8\n")
    text = reviewed()[0]
    assert "run.sh:1 (called from all.sh:1)" in text
    assert "run.sh:1 (called from all.sh:2)" in text
    checkout.commit()
    checkout.write(all__sh="bash run.sh 4\n")
    assert "run.sh:1 (called from all.sh:2)\n  deleted run" in reviewed()[0]


def test_a_config_that_a_script_writes_and_that_is_not_known_is_not_compared(checkout, reviewed):
    script = 'F=c_$RANDOM.yaml\ncat > "$F" << EOF\nper_device_train_batch_size: {}\nEOF\nllamafactory-cli train "$F"\n'
    text = changed_in(checkout, reviewed, run__sh=(script.format(2), script.format(1)))
    assert "not compared: run.sh (the config (" in text
    assert "no effective change" not in text


def test_the_default_of_an_own_class_is_no_other_model(checkout, reviewed):
    own = "from dataclasses import dataclass\n@dataclass\nclass Arguments:\n    model_name: str = 'org/a'\n    dataset_name: str = 'd'\n"
    checkout.write(train__py=own + OPEN.partition("\n")[2])
    text = changed_in(checkout, reviewed, run__sh=(LINE, LINE.replace("out ", "out --model_name org/a --dataset_name e ")))
    assert "another model" not in text
    assert 'other data: `dataset_name` "d" (default) -> e' in text


def test_of_a_program_only_its_arguments_are_compared(checkout, reviewed):
    checkout.write(run__sh=LINE, train__py=PARSING)
    checkout.commit()
    checkout.write(train__py=PARSING + "print(1)\n")
    text, report = reviewed()
    reason = "only the arguments in its code are compared"
    assert text == f"no change in what is compared; code that is not compared has changed\n\nnot compared: train.py ({reason})\n"
    assert [(each["run"], each["no_effect"]) for each in report["changes"]] == [("run.sh:1", False)]


def test_of_a_script_without_a_known_launch_the_values_of_training_are_named(checkout, reviewed):
    line = "python tool.py --lr $LEARNING_RATE --batch $BATCH_SIZE --name $NAME\n"
    checkout.write(run__sh=f"LEARNING_RATE=1e-6\nBATCH_SIZE=8\nNAME=a\n{line}")
    checkout.commit()
    checkout.write(run__sh=f"LEARNING_RATE=5e-6\nBATCH_SIZE=8\nNAME=b\n{line}")
    text = "not compared: run.sh (no launch line in it is recognised; `LEARNING_RATE` 1e-6 -> 5e-6)\n"
    assert reviewed()[0] == f"no run compared\n\n{text}"


def test_the_order_of_arguments_is_no_change(checkout, reviewed):
    checkout.write(run__sh=LINE, train__py=PARSING)
    checkout.commit()
    checkout.write(run__sh=LINE.replace(" --output_dir out", "").replace("\n", " --output_dir out\n"))
    text, report = reviewed()
    assert text == "no effective change\n"
    assert [(each["run"], each["no_effect"]) for each in report["changes"]] == [("run.sh:1", True)]


def test_the_lines_of_a_script_are_paired_by_program_and_arguments(checkout, reviewed):
    lines = [LINE, LINE.replace("train.py", "sft.py"), LINE.replace("--output_dir out", "--output_dir other --bf16 True")]
    checkout.write(run__sh="".join(lines), train__py=PARSING, sft__py=PARSING)
    checkout.commit()
    checkout.write(run__sh="".join(reversed([line.replace("size 4", "size 8") for line in lines])))
    _, report = reviewed()
    changed = [
        (each["run"], [(one["key"], one["before"]["value"], one["after"]["value"]) for one in each["settings"]])
        for each in report["changes"]
    ]
    assert changed == [(f"run.sh:{number}", [("per_device_train_batch_size", 4, 8)]) for number in (1, 2, 3)]


def test_the_arguments_of_a_program_that_is_not_modelled_are_named_as_not_compared(checkout, reviewed):
    line = "python3 -m verl.mix_src.main_mix_ppo data.train_files=a.parquet actor.rate={}\n"
    checkout.write(run__sh=line.format(1))
    checkout.commit()
    checkout.write(run__sh=line.format(2))
    text, report = reviewed()
    assert "not compared: run.sh (arguments of another program of verl, which is not modelled)" in text
    assert "actor.rate: 1 -> 2 (run.sh:1)" in text
    assert not any(each["no_effect"] for each in report["changes"])


def test_a_missing_content_costs_only_its_file(checkout, reviewed):
    checkout.write(a__yaml=TRAINER, b__yaml=TRAINER.replace("4", "16"))
    checkout.commit()
    stored = checkout.git("rev-parse", "HEAD:b.yaml").strip()
    checkout.write(a__yaml=TRAINER.replace("4", "8"), b__yaml=TRAINER.replace("4", "2"))
    Path(".git", "objects", stored[:2], stored[2:]).unlink()
    _, report = reviewed()
    assert [each["files"] for each in report["changes"]] == [["a.yaml"]]
    assert {"file": "b.yaml", "reason": "its content is not in this clone"} in report["not_compared"]


def test_runs_that_change_in_the_same_way_are_one_entry_of_the_text(checkout, reviewed):
    checkout.write(a__yaml=TRAINER, b__yaml=TRAINER)
    checkout.commit()
    checkout.write(a__yaml=TRAINER.replace("4", "8"), b__yaml=TRAINER.replace("4", "8"))
    text, report = reviewed()
    assert text.splitlines()[:2] == ["a.yaml", "  and in the same way: b.yaml"]
    assert len(report["changes"]) == 2


def test_equal_files_that_move_are_paired_in_the_order_of_their_names(checkout):
    """Not in the order of a set, which differs from process to process."""
    moves = dict(zip("abcdefgh", "stuvwxyz", strict=True))
    checkout.write(**{f"{name}__json": ENGINE for name in moves})
    checkout.commit()
    checkout.git("checkout", "-q", "-b", "topic")
    for old, new in moves.items():
        checkout.git("mv", f"{old}.json", f"{new}.json")
    checkout.commit()
    with GitRepository() as repository:
        branch = Branch(repository, repository.merge_base("main", "HEAD"), COMMITTED)
        branch.compare()
    assert branch.renamed == {f"{new}.json": f"{old}.json" for old, new in moves.items()}


def test_a_value_that_was_not_known_is_not_compared_with_a_default(checkout, reviewed):
    program = (
        "import argparse\nfrom transformers import Trainer, TrainingArguments\np = argparse.ArgumentParser()\n"
        "p.add_argument('--rate', type=float)\np.add_argument('--train', action='store_true')\na = p.parse_args()\n"
        "def train(rate):\n    Trainer(model=None, args=TrainingArguments('o', learning_rate=rate))\nif a.train:\n    train(a.rate)\n"
    )
    checkout.write(run__sh="python train.py --rate 1e-5\n", train__py=program)
    checkout.commit()
    checkout.write(run__sh="python train.py --rate 1e-5 --train\n")
    text, _ = reviewed()
    assert "5e-05" not in text
    assert "`learning_rate` (unknown) -> 1e-5" in text


def test_an_argument_that_is_written_as_the_default_of_its_own_parser_is_no_change(checkout, reviewed):
    program = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--num_train_epochs', type=int, default=3)\np.parse_args()\n"
    checkout.write(run__sh="accelerate launch --num_processes 2 train.py --seed 1\n", train__py=program)
    checkout.commit()
    checkout.write(run__sh="accelerate launch --num_processes 2 train.py --seed 1 --num_train_epochs 3\n")
    assert "num_train_epochs" not in reviewed()[0]


def test_a_program_that_names_a_changed_file_is_named(checkout, reviewed):
    checkout.write(train__py="import yaml\nyaml.safe_load(open('own.yaml'))\n", own__yaml="a: 1\n")
    checkout.commit()
    checkout.write(own__yaml="a: 2\n")
    assert "; train.py names it, and what it makes of it is not compared; `a` 1 -> 2)" in reviewed()[0]


def test_a_script_that_names_a_changed_file_is_named(checkout, reviewed):
    script = 'FILE=own.yaml\n[ -n "$1" ] && FILE=$1\npython train.py --config $FILE\n'
    checkout.write(run__sh=script, train__py="import sys\ntrain(sys.argv)\n", own__yaml="a: 1\n")
    checkout.commit()
    checkout.write(own__yaml="a: 2\n")
    assert "; run.sh names it, and what it makes of it is not compared; `a` 1 -> 2)" in reviewed()[0]


def test_a_config_that_a_program_of_hydra_names_without_its_extension_is_described(checkout, reviewed):
    program = "import hydra\n@hydra.main(config_path='conf', config_name='own')\ndef main(cfg):\n    run(cfg)\n"
    checkout.write(train__py=program, **{"conf/own.yaml": "rate: {lr: 1e-6}\ncap: 3\n"})
    checkout.commit()
    checkout.write(**{"conf/own.yaml": "rate: {lr: 1e-5}\n"})
    assert "; train.py names it, and what it makes of it is not compared; `rate.lr` 1e-6 -> 1e-5, `cap` 3 -> (unset))" in reviewed()[0]


def test_a_variable_that_the_script_sets_too_late_is_unknown_before(checkout, reviewed):
    line = "python3 -m verl.trainer.main_ppo data.train_batch_size=64 actor_rollout_ref.actor.ppo_max_token_len_per_gpu=$rows\n"
    checkout.write(run__sh=f"set -eu\nrows=$((size * 2))\nsize=512\n{line}")
    checkout.commit()
    checkout.write(run__sh=f"set -eu\nsize=512\nrows=$((size * 2))\n{line}")
    assert "actor_rollout_ref.actor.ppo_max_token_len_per_gpu: (unknown) -> 1024 (run.sh:4)" in reviewed()[0]


def test_the_words_for_a_program_of_hydra_that_is_not_modelled_are_an_effect(checkout, reviewed):
    program = "import hydra\n@hydra.main(config_path='conf', config_name='c')\ndef main(cfg):\n    import nemo\nmain()\n"
    checkout.write(train_sft__py=program, run__sh="python train_sft.py lr=1e-5 fast=true\n")
    checkout.commit()
    checkout.write(run__sh="python train_sft.py lr=1e-4 fast=True trainer.epochs=1\n")
    text = reviewed()[0]
    assert "lr: 1e-5 -> 1e-4 (run.sh:1)" in text
    assert "fast" not in text
    assert "no effective change" not in text


INSTANTIATED = """
import hydra
from hydra.utils import instantiate
from trl import GRPOTrainer
@hydra.main(config_path="conf", config_name="main", version_base=None)
def main(cfg):
    GRPOTrainer(model="m", args=instantiate(cfg.training), reward_funcs=[]).train()
main()
"""


def test_arguments_that_hydra_makes_of_a_config_are_compared(checkout, reviewed):
    group = "_target_: trl.GRPOConfig\noutput_dir: o\nlearning_rate: ${lr}\nmax_steps: 10\n"
    files = {"conf/main.yaml": "defaults:\n  - training: grpo\n  - _self_\nlr: 1e-6\n", "conf/training/grpo.yaml": group}
    checkout.write(main__py=INSTANTIATED, run__sh="accelerate launch main.py\n", requirements__txt="trl==0.26.2\n", **files)
    checkout.commit()
    checkout.write(
        **{"conf/main.yaml": files["conf/main.yaml"].replace("1e-6", "1e-5"), "conf/training/grpo.yaml": group.replace("10", "20")}
    )
    text = reviewed()[0]
    assert "learning rate 1e-06 -> 1e-05 (10 times as much)" in text
    assert "total steps 10 -> 20 (doubled)" in text


def test_the_changed_values_of_a_class_that_is_not_modelled_are_named(checkout, reviewed):
    program = "from lab import Tuning\nmicro: int = {}\nTuning(learning_rate={}, num_train_epochs=1, per_device_train_batch_size=micro)\n"
    checkout.write(train__py=program.format(1, "1e-6"))
    checkout.commit()
    checkout.write(train__py=program.format(8, "1e-5"))
    assert "not compared: train.py (`Tuning` of `lab` is not modelled; `micro` 1 -> 8, `learning_rate` 1e-6 -> 1e-5)" in reviewed()[0]


def test_changed_values_in_the_code_of_a_run_are_named_once(checkout, reviewed):
    code = "def cut(text, longest=256):\n    return tokenizer(text, max_length=longest)\n"
    call = "from transformers import TrainingArguments\nTrainingArguments(output_dir='o', learning_rate={})\n"
    checkout.write(train__py=code + call.format("1e-5"))
    checkout.commit()
    checkout.write(train__py=code.replace("256", "512") + call.format("1e-4"))
    text = reviewed()[0]
    assert "not compared: train.py (only the arguments in its code are compared; `longest` 256 -> 512)" in text
    assert text.count("learning_rate: 1e-5") == 1
    assert "`learning_rate`" not in text


def changed_in(checkout, reviewed, **texts):
    """The text of a review of files that change: name -> (before, after)."""
    checkout.write(**{name: before for name, (before, _) in texts.items()})
    checkout.commit()
    checkout.write(**{name: after for name, (_, after) in texts.items()})
    return reviewed()[0]


def test_the_changed_line_of_a_launch_is_the_one_that_is_shown(checkout, reviewed):
    script = "#!/bin/bash\n#SBATCH --nodes={}\n#SBATCH --gpus-per-node=8\nCUDA_VISIBLE_DEVICES={} torchrun --nnodes $SLURM_NNODES {}\n"
    line = "--nproc_per_node 2 train.py --output_dir o --per_device_train_batch_size 4"
    text = changed_in(checkout, reviewed, run__sh=(script.format(8, "0,1", line), script.format(1, "0,1,2", line)))
    assert "    #SBATCH --nodes: 8 -> 1 (run.sh:2)\n" in text
    assert "    CUDA_VISIBLE_DEVICES: 0,1 -> 0,1,2 (run.sh:4)\n" in text
    assert "nproc_per_node" not in text
    assert "    nproc_per_node: 2 -> 4 (run.sh:4)\n" in changed_in(
        checkout, reviewed, run__sh=(script.format(1, "0,1,2,3", line), script.format(1, "0,1,2,3", line.replace("2", "4")))
    )


def test_devices_that_slurm_sets_by_a_changed_header_are_no_line_of_the_script(checkout, reviewed):
    script = "#!/bin/bash\n#SBATCH --gres=gpu:{0}\ntorchrun --nproc_per_node {0} train.py --output_dir o --per_device_train_batch_size 4\n"
    text = changed_in(checkout, reviewed, run__sh=(script.format(4), script.format(1)))
    assert "    #SBATCH --gres: gpu:4 -> gpu:1 (run.sh:2)\n" in text
    assert "CUDA_VISIBLE_DEVICES" not in text


def test_other_lines_of_a_script_whose_program_is_not_modelled_are_named(checkout, reviewed):
    script = "export VLLM_ATTENTION_BACKEND={}\npython3 -m verl.trainer.own data.train_batch_size=64\n"
    assert "`VLLM_ATTENTION_BACKEND` XFORMERS -> FLASH_ATTN" in changed_in(
        checkout, reviewed, run__sh=(script.format("XFORMERS"), script.format("FLASH_ATTN"))
    )


def test_another_spelling_of_a_fraction_on_a_line_is_no_change(checkout, reviewed):
    line = "python tool.py --do_train --learning_rate {} --max_steps 8\n"
    assert "learning_rate" not in reviewed_lines(checkout, reviewed, line, "0.00001", "1e-5")
    assert "learning_rate: 1e-5 -> 2e-5" in reviewed_lines(checkout, reviewed, line, "1e-5", "2e-5")


def reviewed_lines(checkout, reviewed, line, *words):
    return changed_in(checkout, reviewed, run__sh=tuple(map(line.format, words)))


def test_a_default_of_a_side_whose_release_refuses_a_key_is_not_gone(checkout, reviewed):
    text = "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o', max_steps=9{})).train()\n"
    told = changed_in(checkout, reviewed, train__py=(text.format(""), text.format(", learning_rate=1e-3, evaluation_strategy='no'")))
    assert ("learning rate 5e-05 -> 1e-3" in told, "schedule" in told) == (True, False)


def test_a_changed_config_of_a_copy_of_verl_belongs_to_the_runs_that_compose_it(checkout, reviewed):
    config = "data: {{train_batch_size: {}, train_files: a}}\ntrainer: {{n_gpus_per_node: 8, nnodes: 1}}\n"
    checkout.write(run__sh="python -m verl.trainer.main_ppo data.train_files=b\n", verl_in_version_in_version="0.5.0.dev")
    program = "import hydra\n\n@hydra.main(config_path='config', config_name='ppo_trainer')\ndef main(config):\n    pass\n"
    checkout.write(verl_in_trainer_in_main_ppo__py=program)
    for folder in ("verl", "verl/trainer"):
        (checkout.folder / folder / "__init__.py").write_text("")
    checkout.write(verl_in_trainer_in_config_in_ppo_trainer__yaml=config.format(64))
    checkout.commit()
    checkout.write(verl_in_trainer_in_config_in_ppo_trainer__yaml=config.format(32))
    text, report = reviewed()
    assert ("`data.train_batch_size` 64 -> 32" in text, report["not_compared"]) == (True, [])


ADAPTED = """import os
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", load_in_4bit=True)
model = {}
SFTTrainer(model=model, args=SFTConfig(output_dir="o", max_length=512, per_device_train_batch_size=4)).train()
"""


def test_another_way_to_put_an_adapter_on_a_model_is_neither_another_memory_nor_resolves_what_its_call_lacks(checkout, reviewed):
    adapters = "get_peft_model(model, LoraConfig(r=8))", 'PeftModel.from_pretrained(model, "saved", is_trainable=True)'
    release = ("transformers==5.2.0\ntrl==1.0.0\n",) * 2
    text = changed_in(checkout, reviewed, train__py=tuple(ADAPTED.format(each) for each in adapters), requirements__txt=release)
    assert ("memory" in text, "resolved findings" in text) == (False, False)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("max_stepz=1", "max_steps=int(os.environ['X'])", "has no errors any more: failed while checking the config"),
        ("max_steps=int(os.environ['X'])", "max_stepz=1", "does not start: fails while checking the config"),
        (None, "max_steps=int(os.environ['X'])", "new run: no errors in what is known, learning rate 2e-05"),
    ],
)
def test_a_run_of_which_something_is_not_known_is_not_said_to_start(before, after, said, checkout, reviewed):
    program = "import os\nfrom trl import SFTConfig, SFTTrainer\nSFTTrainer(model='m', args=SFTConfig(output_dir='o', {})).train()\n"
    if before is not None:
        checkout.write(train__py=program.format(before))
    checkout.write(requirements__txt="trl==1.0.0\ntransformers==5.2.0\n")
    checkout.commit()
    checkout.write(train__py=program.format(after))
    assert reviewed()[0].splitlines()[1].startswith(f"  {said}")


NO_RELEASE = {"requirements__txt": ("transformers>=4.44\ntrl>=0.15\n",) * 2}


@pytest.mark.parametrize(
    ("program", "before", "after"),
    [
        ("from trl import SFTConfig\nSFTConfig(output_dir='o', {})\n", "max_seq_length=512", "max_length=512"),
        (
            "from transformers import TrainingArguments\nTrainingArguments('o', max_steps=9, eval_steps=3, {})\n",
            "evaluation_strategy='steps'",
            "eval_strategy='steps'",
        ),
    ],
)
def test_a_key_that_the_release_has_under_another_name_changes_no_number(program, before, after, checkout, reviewed):
    text = changed_in(checkout, reviewed, train__py=(program.format(before), program.format(after)), **NO_RELEASE)
    assert text.splitlines()[1:4] == ["  starts; before, that was not known", "  resolved findings", text.splitlines()[3]]
    text = changed_in(checkout, reviewed, train__py=(program.format(before), program.format(after.replace("512", "256"))), **NO_RELEASE)
    assert ("max_length: 512 -> 256" in text) is ("512" in after)


def test_a_key_that_the_pinned_release_has_not_renamed_yet_is_no_change(checkout, reviewed):
    checkout.write(train__yaml=f"{TRAINER}warmup_ratio: 0.1\nevaluation_strategy: epoch\n")
    text = changed_in(checkout, reviewed, requirements__txt=("torch\n", "transformers==4.40.2\n"))
    assert ("not pinned" in text, "warmup_steps:" in text, "eval_strategy:" in text) == (True, False, False)


def test_a_number_of_processes_that_moves_into_the_config_of_the_launcher_is_no_change(checkout, reviewed):
    line = "accelerate launch --config_file acc.yaml {}train.py --output_dir o\n"
    checkout.write(acc__yaml="distributed_type: MULTI_GPU\nnum_processes: 2\n", train__py=PARSING)
    text = changed_in(checkout, reviewed, run__sh=(line.format("--num_processes 2 "), line.format("")))
    assert "num_processes: 2" not in text
    told = changed_in(checkout, reviewed, run__sh=(line.format("--num_processes 4 "), line.format("")))
    assert "num_processes: 4 -> 2 (run.sh:1 -> acc.yaml:2)" in told
    assert told.count("num_processes: ") == 1


def test_a_config_that_moves_is_compared_by_its_content(checkout, reviewed):
    line = "torchrun --nproc_per_node 2 train.py --output_dir o --deepspeed {}/ds.json\n"
    checkout.write(a_in_ds__json=ENGINE, run__sh=line.format("a"))
    checkout.commit()
    checkout.write(b_in_ds__json=ENGINE, run__sh=line.format("b"))
    checkout.git("rm", "-q", "a/ds.json")
    text, report = reviewed()
    assert [setting["effect"] for change in report["changes"] for setting in change["settings"]] == [False], text


def test_the_module_of_a_config_with_a_word_for_its_function_is_found(checkout, reviewed):
    checkout.write(run__sh="torchrun --nproc_per_node 2 train.py --config conf.py:large\n", train__py=PARSING)
    text = changed_in(checkout, reviewed, conf__py=("c.lr = 1\n", "c.lr = 2\n"))
    assert "  in conf.py: `lr` 1 -> 2\n" in text


def test_words_of_a_line_that_another_class_reads_are_not_gone(checkout, reviewed):
    loop = "import deepspeed\nfrom transformers import HfArgumentParser, TrainingArguments\n(args,) = HfArgumentParser(TrainingArguments)"
    program = f"{loop}.parse_args_into_dataclasses()\n{{}}\n"
    checkout.write(run__sh="deepspeed --num_gpus 2 train.py --output_dir o --learning_rate 1e-4\n")
    engine = "e, *_ = deepspeed.initialize(model=m, config={'train_batch_size': 8})\ne.backward(l)\ne.step()"
    text = changed_in(checkout, reviewed, train__py=(program.format("trainer = 1"), program.format(engine)))
    assert "(unset)" not in text.partition("train_batch_size")[0]


def test_a_refusal_of_what_was_unknown_comes_first_and_gives_no_default(checkout, reviewed):
    program = (
        "import os\nfrom trl import SFTConfig, SFTTrainer\n"
        "SFTTrainer(model='m', tokenizer=None, args=SFTConfig(output_dir='o', {}=int(os.environ['X'])))\n"
    )
    text = changed_in(checkout, reviewed, train__py=(program.format("max_steps"), program.format("max_stepz")), **NO_RELEASE)
    assert text.splitlines()[1] == "  does not start: fails while checking the config; before, that was not known"
    consequences = text.partition("  settings\n")[0]
    assert ("-1" in consequences, "max_stepz" in consequences) == (False, False)


def test_model_data_adapter_and_whether_it_trains_are_consequences(checkout, reviewed):
    line = "torchrun --nproc_per_node 2 train.py --output_dir o --save_strategy no --num_train_epochs {} --per_device_train_batch_size {} "
    old = line.format(1, 2) + "--model_name_or_path org/a --dataset_name d --lora_r 8 --seed 1\n"
    new = line.format(2, 2) + "--model_name_or_path org/b --dataset_name e --lora_r 16 --lora_alpha 4 --seed 1 --do_train\n"
    lines = [each.strip() for each in changed_in(checkout, reviewed, run__sh=(old, new)).splitlines()]
    assert "another model: `model_name_or_path` org/a -> org/b" in lines
    assert "other data: `dataset_name` d -> e" in lines
    assert "other adapters: `lora_r` 8 -> 16, `lora_alpha` (unset) -> 4" in lines
    assert any(each.startswith("training is switched: `do_train`") for each in lines)
    assert any(each.startswith("total steps about doubled for as many samples: ") for each in lines)
    moved = old.replace("org/a", "/mnt/me/a").replace("name d", "name /data/d")
    assert "another model" not in changed_in(checkout, reviewed, run__sh=(old, moved))


def test_a_file_that_a_line_names_and_that_moved_is_not_found(checkout, reviewed):
    checkout.write(run__sh="cd $HERE\nllamafactory-cli train conf/a.yaml\n", conf_in_a__yaml=TRAINER + "stage: sft\n")
    checkout.commit()
    checkout.git("mv", "conf/a.yaml", "a.yaml")
    assert "  conf/a.yaml is not found any more: its settings are not compared\n" in reviewed()[0]


def test_a_file_that_a_line_names_for_its_program_is_compared(checkout, reviewed):
    checkout.write(run__sh=LINE.replace("size 4", "size $@ --config own.yaml"), train__py=PARSING)
    text = changed_in(checkout, reviewed, own__yaml=("training:\n  lr: 1\n", "training:\n  lr: 2\n"))
    assert "in own.yaml: `training.lr` 1 -> 2" in text


def test_a_program_that_a_line_starts_now_is_no_deleted_run(checkout, reviewed):
    checkout.write(a_in_train__py="from transformers import TrainingArguments\nTrainingArguments('o')\n")
    checkout.commit()
    checkout.write(
        a_in_run__sh="torchrun --nproc_per_node 8 -m train\n",
        a_in_train__py="from transformers import TrainingArguments\nTrainingArguments('p')\n",
    )
    text = reviewed()[0]
    assert "a/run.sh:1" in text
    assert "deleted run" not in text


def test_the_default_of_a_release_that_refuses_a_line_is_not_compared(checkout, reviewed):
    line = "swift sft --model_type q --sft_type lora --batch_size 4{}\n"
    text = changed_in(checkout, reviewed, run__sh=(line.format(" --num_train_epochs 2"), line.format("")))
    assert "num_train_epochs: 2 -> (unknown)" in text
    assert "total steps may change" in text


def test_an_error_of_a_line_is_new_though_its_program_was_not_found_before(checkout, reviewed):
    line = "torchrun --nproc_per_node 8 {} --output_dir o --per_device_train_batch_size 4{}\n"
    program = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    program += "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    texts = line.format("/elsewhere/train.py", ""), line.format("train.py", " '")
    text = changed_in(checkout, reviewed, train__py=(program, program), run__sh=texts)
    assert "error LCH029 unclosed-quote" in text


def test_a_branch_of_a_script_that_chooses_an_argument_is_a_change_of_the_run(checkout, reviewed):
    script = 'case $TASK in\n1) outcome=a ;;\n{}esac\ntorchrun --nproc_per_node 8 $NAME.py --outcome "$outcome"\n'
    text = changed_in(checkout, reviewed, run__sh=(script.format(""), script.format("2) outcome=b ;;\n")))
    assert "not compared: run.sh (" in text
    assert "no effective change" not in text


def test_a_further_option_of_a_script_changes_no_other_one(checkout, reviewed):
    script = "RATE=1e-5\nwhile [ $# -gt 0 ]; do\n  case $1 in\n  --rate) RATE=$2; shift ;;\n{}  esac\n  shift\ndone\n"
    script += "torchrun --nproc_per_node 8 train.py --output_dir o --learning_rate $RATE --per_device_train_batch_size 4\n"
    text = changed_in(checkout, reviewed, run__sh=(script.format(""), script.format("  --size) SIZE=$2; shift ;;\n")))
    assert "learning rate" not in text
    text = changed_in(checkout, reviewed, run__sh=(script.format(""), script.format("").replace("1e-5", "2e-5")))
    assert "learning rate may have changed" in text


def test_another_program_of_the_same_line_is_told(checkout, reviewed):
    program = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    program += "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    texts = tuple(f"torchrun --nproc_per_node 8 {name}.py --output_dir o\n" for name in ("one", "two"))
    text = changed_in(checkout, reviewed, one__py=(program, program), two__py=(program, program), run__sh=texts)
    assert "  another program: one.py -> two.py\n" in text


def test_steps_of_another_data_set_in_the_code_hold_for_as_many_samples(checkout, reviewed):
    program = "from transformers import TrainingArguments\nload_dataset('{}')\nTrainingArguments('o', num_train_epochs={})\n"
    text = changed_in(checkout, reviewed, train__py=(program.format("a", 1), program.format("b", 2)))
    assert "total steps about doubled for as many samples: 1 -> 2 epochs\n" in text


def test_the_defaults_of_a_trainer_that_is_assumed_are_not_told(checkout, reviewed):
    line = 'torchrun --nproc_per_node=2 "$(which trainer)" rlhf --learning_rate 5e-6 --max_steps 8000 --per_device_train_batch_size 1'
    line += " --gradient_accumulation_steps 1 --save_steps 5 --logging_steps 1 --output_dir o\n"
    text = changed_in(checkout, reviewed, run__sh=("echo\n", line))
    assert "total steps 8,000, learning rate 5e-6\n" in text  # no precision, no schedule


def test_the_release_that_a_line_is_checked_with_is_no_change(checkout, reviewed):
    line = "python -m openrlhf.cli.train_ppo_ray --pretrain m --micro_train_batch_size {}\n"
    texts = {"README__md": ("pip install git+https://github.com/OpenRLHF/OpenRLHF.git\n",) * 2}
    text = changed_in(checkout, reviewed, run__sh=(line.format(8), line.format("4 --use_kl_estimator_k3")), **texts)
    assert "micro_train_batch_size: 8 -> 4" in text
    assert "openrlhf" not in text


def test_the_data_sets_of_a_changed_list_are_not_said_to_be_read_by_none(checkout, reviewed):
    text = changed_in(checkout, reviewed, data_in_dataset_info__json=('{"a": {"file_name": "a.json"}}', '{"a": {"file_name": "b.json"}}'))
    assert "data/dataset_info.json (runs may find their data sets by it" in text


def test_a_module_that_a_script_names_is_not_said_to_be_used_by_none(checkout, reviewed):
    checkout.write(run__sh="CMD=$(cat <<EOF\nown.cli.train --lr 1\nEOF\n)\ndeepspeed --module $CMD\n")
    text = changed_in(checkout, reviewed, own_in_cli_in_train__py=("x = 1\n", "x = 2\n"))
    assert "own/cli/train.py (run.sh names its module, and its code is not compared" in text


def test_a_new_line_with_the_arguments_of_its_caller_says_so(checkout, reviewed):
    checkout.write(train__py=PARSING)
    checkout.commit()
    checkout.write(run__sh=LINE.replace("\n", ' "$@"\n'))
    assert "new run: without further arguments in the place of `$@`, " in reviewed()[0].replace("starts on 8 GPUs, ", "")


def test_a_key_that_the_release_has_not_yet_has_no_default(checkout, reviewed):
    program = "from trl import GRPOConfig\nGRPOConfig(output_dir='o'{})\n"
    text = changed_in(
        checkout, reviewed, train__py=(program.format(""), program.format(", entropy_coef=0.1")), requirements__txt=("trl==1.6.0\n",) * 2
    )
    assert "entropy_coef: (unset) -> 0.1" in text


def test_no_offload_written_and_unset_are_the_same(checkout, reviewed):
    config = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 8\nmixed_precision: bf16\n"
    old = config + "deepspeed_config:\n  zero_stage: 2\n  offload_optimizer_device: none\n"
    text = changed_in(checkout, reviewed, a__yaml=(old, old.replace("  offload_optimizer_device: none\n", "")))
    assert "offload" not in text


OPEN = "from own import Arguments\nfrom transformers import HfArgumentParser, Trainer, TrainingArguments\n" + (
    "own, args = HfArgumentParser((Arguments, TrainingArguments)).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
)


def test_what_a_line_writes_is_told_where_the_rest_is_not_known(checkout, reviewed):
    line = "torchrun --nproc_per_node 2 train.py --output_dir o --per_device_train_batch_size 1 --fp16 --learning_rate 1e-5\n"
    new = line.replace("size 1", "size 8").replace("fp16", "bf16").replace("1e-5", "2e-5")
    checkout.write(train__py=OPEN)
    text = changed_in(checkout, reviewed, run__sh=(line, new))
    assert "global batch 8 times as much for the same accumulation: micro batch 1 -> 8" in text
    assert "precision fp16 -> bf16" in text
    computed = " --gradient_accumulation_steps $((X / {}))\n"
    text = changed_in(checkout, reviewed, run__sh=(line[:-1] + computed.format(1), new[:-1] + computed.format(8)))
    assert "for the same accumulation" not in text
    missing = " --deepspeed /mnt/me/zero3.json\n"
    text = changed_in(checkout, reviewed, run__sh=(line, new[:-1] + missing))
    assert "`learning_rate` 1e-5 -> 2e-5" in text


def test_the_line_that_is_gone_is_the_one_with_its_config(checkout, reviewed):
    read = "parser = HfArgumentParser(TrainingArguments)\nargs, = parser.parse_yaml_file(sys.argv[1])\nTrainer(m, args).train()\n"
    checkout.write(train__py=f"import sys\nfrom transformers import HfArgumentParser, Trainer, TrainingArguments\n{read}")
    checkout.write(conf_in_a__yaml=TRAINER, conf_in_b__yaml=TRAINER.replace("4", "2"))
    checkout.write(run__sh="python train.py conf/a.yaml\npython train.py conf/b.yaml\n")
    checkout.commit()
    checkout.write(run__sh="# python train.py conf/a.yaml\npython train.py conf/b.yaml\n", conf_in_b__yaml=TRAINER.replace("4", "8"))
    text = reviewed()[0]
    assert "per_device_train_batch_size: 2 -> 8 (conf/b.yaml:2)" in text
    assert "run.sh:1, conf/a.yaml\n  deleted run: " in text


def test_a_setting_that_no_number_shows_is_listed_where_the_program_parses_the_file(checkout, reviewed):
    """The review said "no effective change": values that a program parses were taken for those of the line."""
    read = "parser = HfArgumentParser(TrainingArguments)\nargs, = parser.parse_yaml_file(sys.argv[1])\nTrainer(m, args).train()\n"
    checkout.write(train__py=f"import sys\nfrom transformers import HfArgumentParser, Trainer, TrainingArguments\n{read}")
    checkout.write(a__yaml=TRAINER + "adam_beta2: 0.95\n", run__sh="python train.py a.yaml\n")
    checkout.commit()
    checkout.write(a__yaml=TRAINER + "adam_beta2: 0.99\n")
    text, report = reviewed()
    assert "adam_beta2: 0.95 -> 0.99 (a.yaml:5)" in text
    assert not report["changes"][0]["no_effect"]


SCRIPT = """\
export VLLM_ATTENTION_BACKEND={backend}
export WANDB_PROJECT={project}
SIZE={size}
DS="{ds}"
for each in a b; do
  echo $each {word}
done
{{
  echo "output_dir: out"
  if [ -n "$DS" ]; then
    echo "deepspeed: $DS"
  fi
}} > made.yaml
python prepare.py --rows {rows}
torchrun --nproc_per_node 8 train.py --output_dir out \\
  --per_device_train_batch_size $SIZE
"""
VALUES = {"backend": "A", "project": "p", "size": "4", "ds": "", "word": "x", "rows": "1"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"project": "q"}, ""),
        ({"size": "8"}, ""),
        ({"backend": "B"}, "`VLLM_ATTENTION_BACKEND` A -> B"),
        ({"ds": "zero2.json"}, '`DS` "" -> "zero2.json"'),
        ({"rows": "2"}, "`python prepare.py --rows 1` is gone, `python prepare.py --rows 2` is new"),
        ({"size": "8", "backend": "B"}, "`VLLM_ATTENTION_BACKEND` A -> B"),
    ],
)
def test_the_lines_of_a_script_that_no_launch_covers_are_named(checkout, reviewed, change, reason):
    """The review said "no effective change" of a script that writes the config of its run by other values."""
    checkout.write(train__py=PARSING, run__sh=SCRIPT.format(**VALUES))
    checkout.commit()
    checkout.write(run__sh=SCRIPT.format(**{**VALUES, **change}))
    text, report = reviewed()
    assert [each["reason"] for each in report["not_compared"]] == ([f"only its launches are compared; {reason}"] if reason else [])
    assert all(each["no_effect"] is False for each in report["changes"]) or not reason
    assert ("global batch 32 -> 64" in text) is ("size" in change)


def test_what_a_program_of_no_run_trains_with_is_listed(checkout, reviewed):
    program = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--batch_size', type=int, default={})\nseed = {}\n"
    checkout.write(own__py=program.format(8, 1))
    checkout.commit()
    checkout.write(own__py=program.format(1, 2))
    assert "not compared: own.py (no recognised run is known to depend on it; `--batch_size` 8 -> 1)" in reviewed()[0]
    table = (
        "from dataclasses import replace\nSFT = {{'num_train_epochs': {}, 'name': 'a{}'}}\na = replace(a, learning_rate=1, max_steps=2)\n"
    )
    text = changed_in(checkout, reviewed, own__py=(table.format(1, 1), table.format(2, 2)))
    assert "not compared: own.py (no recognised run is known to depend on it; `num_train_epochs` 1 -> 2)" in text
