"""Keywords that a program passes under a condition that is not known: an error about such a key is a warning that names the condition."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

HEAD = "import inspect, os, transformers\nfrom packaging import version\nfrom transformers import Trainer, TrainingArguments\n"
SET = "given = dict(output_dir='out', per_device_train_batch_size=4, evaluation_strategy='no')\n"
PARAMETERS = "names = inspect.signature(TrainingArguments.__init__).parameters\n"
BUILT = "Trainer(model=None, args=TrainingArguments(**given)).train()\n"
RENAMED = "    given['eval_strategy'] = given.pop('evaluation_strategy')\n"
UNKNOWN = "if os.path.exists('later'):\n"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(code):
        (tmp_path / "train.py").write_text(HEAD + code + BUILT)
        main(["check", "train.py", "--gpus", "2", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found["runs"][0], [each for each in found["diagnostics"] if each["code"] == "KEY202"]

    return run


def test_a_key_that_every_branch_passes_is_refused(checked):
    run, [finding] = checked(SET)
    assert (run["verdict"], finding["severity"]) == ("reject", "error")


@pytest.mark.parametrize(
    "code",
    [
        f"{SET}{UNKNOWN}{RENAMED}",
        f"{SET}{UNKNOWN}    del given['evaluation_strategy']\n",
        f"given = dict(output_dir='out', per_device_train_batch_size=4)\n{UNKNOWN}    given['evaluation_strategy'] = 'no'\n",
        f"{SET}given = {{key: value for key, value in given.items() if os.path.exists(key)}}\ngiven['per_device_train_batch_size'] = 4\n",
    ],
)
def test_a_key_that_one_branch_passes_may_be_refused(checked, code):
    run, [finding] = checked(code)
    assert (run["verdict"], finding["severity"]) == (None, "warning")
    assert {each["kind"] for each in finding["depends_on"]} == {"branch"}
    assert run["resolved"]["global_batch"] == 8


@pytest.mark.parametrize(
    "code",
    [
        f"{SET}{PARAMETERS}if 'evaluation_strategy' not in names and 'eval_strategy' in names:\n{RENAMED}",
        f"{SET}if version.parse(transformers.__version__) >= version.parse('4.41'):\n{RENAMED}",
        f"{SET}{PARAMETERS}given = {{key: value for key, value in given.items() if key in names}}\n",
        f"{PARAMETERS}name = 'eval_strategy' if 'eval_strategy' in names else 'evaluation_strategy'\n"
        "given = {'output_dir': 'out', 'per_device_train_batch_size': 4, name: 'no'}\n",
        f"{PARAMETERS}name = 'eval_strategy' if 'eval_strategy' in names else 'evaluation_strategy'\n"
        "given = dict(output_dir='out', per_device_train_batch_size=4)\ngiven[name] = 'no'\n",
        f"{SET}fields = TrainingArguments.__dataclass_fields__\nif 'eval_strategy' in fields:\n{RENAMED}"
        "given = {key: value for key, value in given.items() if value is not None and key in fields}\n",
        f"{SET}if os.path.exists('x'):\n    given['max_grad_norm'] = 2\n{PARAMETERS}"
        "given = {key: value for key, value in given.items() if key in names}\n",
    ],
)
def test_nothing_is_said_of_a_key_that_the_program_passes_to_some_releases(checked, code):
    run, found = checked(code)
    assert (run["verdict"], found, run["resolved"]["global_batch"]) == ("accept", [], 8)


AT_RELEASE = "if version.parse(transformers.__version__) >= version.parse('4.46'):\n"


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("try:\n", "except TypeError:\n", []),
        ("try:\n", "except OSError:\n", ["warning"]),
        (AT_RELEASE, "else:\n", []),
        (UNKNOWN, "else:\n", ["warning"]),
    ],
)
def test_nothing_is_said_of_a_call_that_is_for_other_releases(checked, first, second, found):
    call = "    args = TrainingArguments(output_dir='out', {}='no')\n"
    code = first + call.format("eval_strategy") + second + call.format("evaluation_strategy")
    _, findings = checked(code + "Trainer(model=None, args=args).train()\n#")
    assert [finding["severity"] for finding in findings] == found
