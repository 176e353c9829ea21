"""Scripts and programs whose evaluation would take very long: the result, and a bound in counted steps, which no machine changes."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.frameworks.releases.bounds import MOST_CLAUSES, allows, specifiers
from cfglint.launch.programs.runs_of_program import Evaluations
from cfglint.launch.reader import WORTH_A_LOOK, Reader
from cfglint.launch.training import may_launch
from cfglint.rewrite import retarget
from cfglint.run.templates import BARE
from cfglint.source.budget import STEPS, Budget, Exhausted
from cfglint.source.project_files import Project
from cfglint.source.shell.interpreter import ShellInterpreter

LINE = "torchrun --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4 --learning_rate 1e-5"
REPORTED = "evaluation stopped at the limit of steps, later launches are not checked"


class Evaluation:
    """The launches of a script, and the steps that they took."""

    def __init__(self, text: str) -> None:
        reader = Reader(Project("", {"run.sh", "train.py"}.__contains__, {"run.sh": text, "train.py": ""}.get))
        self.lines = reader.lines("run.sh", text)
        self.steps = reader.budget.spent
        self.complete = "run.sh" not in reader.evaluations.incomplete

    def argument(self, name: str) -> str | None:
        """The value of an argument of the only launch, None if it is unknown."""
        [line] = self.lines
        [given] = [each for each in line.given if each.name == name]
        return given.texts[0].value


def doubled(count: int) -> str:
    """Variables each of which is the sum of two references to the one before."""
    return "a0=1\n" + "".join(f"a{number}='a{number - 1}+a{number - 1}'\n" for number in range(1, count + 1))


def test_a_budget_is_spent_once_and_draws_on_the_one_around_it():
    whole = Budget(10)
    part = Budget(5, whole)
    part.spend(5)
    assert (whole.left, part.is_spent) == (5, False)
    with pytest.raises(Exhausted):
        part.spend()
    assert (part.is_spent, whole.is_spent) == (True, False)
    with pytest.raises(Exhausted):
        Budget(20, whole).spend(6)
    assert whole.is_spent


@pytest.mark.parametrize(
    ("text", "expected", "most"),
    [
        ("Y=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n[[ $Y =~ ^(a+)+$ ]] && X=1 || X=2\n" + LINE + " --seed $X", "2", 100),
        ("Y=" + "a" * 900 + "\n[[ $Y =~ ^(a|aa|aaa|a*)*b$ ]] && X=1 || X=2\n" + LINE + " --seed $X", "2", 1_500),
        ("Y=" + "a" * 9_000 + "\nX=${Y//a*a*a*b/}\n" + LINE + " --seed 1$X", None, 3_000),
        ("Y=" + "a" * 900 + "\nX=${Y%%*a*b*a*c}\n" + LINE + " --run_name $X", "a" * 900, 1_500),
        ("Y=" + "a" * 300 + "\ncase $Y in *a*a*a*a*a*b) X=1 ;; *) X=2 ;; esac\n" + LINE + " --seed $X", "2", 1_000),
        (doubled(8) + "X=$((a8))\n" + LINE + " --seed $X", "256", 1_000),
        (doubled(38) + "X=$((a38))\n" + LINE + " --seed $X", None, 2_000),
        (LINE + " --seed 1 --tags " + "{" * 50_000, "1", STEPS),
    ],
    ids=["nested repeats", "alternatives", "replacement", "suffix", "case", "arithmetic", "doubling arithmetic", "braces"],
)
def test_a_value_is_exact_or_unknown_within_the_bound(text, expected, most):
    found = Evaluation(text + "\n")
    assert found.argument("seed" if "--seed" in text else "run_name") == expected
    assert found.steps <= most


@pytest.mark.parametrize(
    "text",
    [
        "for v in {1..10}; do " * 12 + LINE + "; done" * 12,
        LINE + "\n" + "source $0\n" * 2_000,
        "".join(f"if [[ $A{n} == x ]]; then B{n}=1; fi\n" for n in range(60)) * 200 + f"{LINE} --seed $B1\n" * 50,
        "f() { g; g; }\ng() { f; f; }\nf\n" + LINE,
        "".join(f"v{n}=1\n" for n in range(3_000)) + "if x; then A=1; fi\n" * 3_000 + LINE,
    ],
    ids=["nested loops", "sources itself", "conditions", "functions", "many variables"],
)
def test_an_evaluation_that_is_stopped_is_within_the_bound_and_reported(text, tmp_path, monkeypatch, capsys):
    found = Evaluation(text + "\n")
    assert not found.complete
    assert found.steps <= STEPS
    (tmp_path / "run.sh").write_text(text + "\n")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    main(["check", "run.sh"])
    assert f"run.sh: {REPORTED}" in capsys.readouterr().err


def test_brackets_that_the_grammar_searches_for_again_and_again_are_not_parsed():
    found = Evaluation(LINE + "\n" + "((a\n" * 50_000)
    assert (found.lines, found.complete, found.steps) == ([], False, 0)


def test_fix_evaluates_a_script_for_all_of_its_launches_together(tmp_path, monkeypatch, capsys):
    nested = "".join(f"for v{depth} in {{1..10}}; do " for depth in range(6))
    loops = nested + LINE + " --logging_steps 10 --adam_beta1 0.9 --seed $v0$v1$v2$v3$v4$v5" + "; done" * 6 + "\n"
    (tmp_path / "run.sh").write_text(loops)
    (tmp_path / "train.py").write_text(PARSES)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    evaluated: list[str] = []
    follow = Reader.follow
    monkeypatch.setattr(Reader, "follow", lambda self, script, *rest: evaluated.append(script.text) or follow(self, script, *rest))
    main(["check", "run.sh", "--format", "json"])
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 24
    assert len(evaluated) == 1
    evaluated.clear()
    main(["fix", "run.sh", "--gpus", "4", "--global-batch", "64", "--diff"])
    # As it is, and with each of the two edits; the check before writing reads the script and what is written once more.
    assert len({*evaluated}) <= 3
    assert len(evaluated) <= 5


PARSES = """from transformers import HfArgumentParser, Trainer, TrainingArguments
args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]
Trainer(args=args).train()
"""
BUILDS = PARSES.partition("\n")[0] + "\n{}\nargs = TrainingArguments('out', max_steps={})\nTrainer(args=args).train()\n"


@pytest.mark.parametrize(
    ("lines", "value", "expected"),
    [
        ("a0 = 1\n" + "\n".join(f"a{n} = a{n - 1} + a{n - 1}" for n in range(1, 31)), "a30", 2**30),
        ("a0 = 'x' * 10\n" + "\n".join(f"a{n} = a{n - 1} + a{n - 1}" for n in range(1, 31)), "a30", None),
        ("a0 = 2\n" + "\n".join(f"a{n} = a{n - 1} * a{n - 1}" for n in range(1, 60)), "a59", None),
        ("a0 = 1\n" + "\n".join(f"a{n} = a{n - 1} + 1" for n in range(1, 2_000)), "a1999", 2_000),
        ("a = b + 1\nb = a + 1", "a", None),
        ("", "10**10**10", None),
        ("", "'x' * 10**9", None),
        ("", "len(range(10**9))", None),
    ],
    ids=["doubling", "doubling strings", "squares", "long chain", "circle", "powers", "repeated string", "range"],
)
def test_a_value_of_a_program_is_exact_or_unknown_within_the_bound(lines, value, expected, tmp_path, monkeypatch, capsys):
    (tmp_path / "train.py").write_text(BUILDS.format(lines, value))
    monkeypatch.chdir(tmp_path)
    made: list[Evaluations] = []
    create = Evaluations.__init__
    monkeypatch.setattr(Evaluations, "__init__", lambda self, *given: made.append(self) or create(self, *given))
    main(["explain", "train.py", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["resolved"]["total_steps"] == expected
    assert 0 < sum(each.budget.spent for each in made) <= 5 * lines.count("\n") + 50


def test_a_requirement_with_very_many_clauses_bounds_nothing():
    assert len(specifiers(",".join([">=4.45"] * (MOST_CLAUSES + 1)))) == MOST_CLAUSES + 1
    assert len(specifiers(",".join([">=4.45"] * 100_000))) == 0


LAUNCHES = {
    "own line": ({"run.sh": "torchrun train.py\n"}, True),
    "sourced by name": ({"run.sh": "source lib/env\n", "env": "deepspeed train.py\n"}, True),
    "called by a composed name": ({"run.sh": "bash stage_${1}.sh\n", "stage_1.sh": "accelerate launch train.py\n"}, True),
    "called by a variable": ({"run.sh": "S=stage.sh\nbash $S\n", "stage.sh": "python -m trl sft\n"}, True),
    "called by an assigned name": ({"run.sh": "S=stage_$1.sh\nbash $S\n", "stage_1.sh": "python -m trl sft\n"}, True),
    "name with a blank": ({"run.sh": "bash 'my stage.sh'\n", "my stage.sh": "python -m trl sft\n"}, True),
    "through two files": ({"run.sh": ". a.sh\n", "a.sh": ". b.sh\n", "b.sh": "python run.py --lr 1 --epochs 2\n"}, True),
    "name of two variables": ({"run.sh": "source $A$B\n"}, True),
    "program that trains": ({"run.sh": "python3 -u a/main.py\n", "main.py": "trainer.train()\n"}, True),
    "program in a variable": ({"run.sh": "python $PROGRAM\n"}, True),
    "its own program": ({"run.sh": "./finetune.py\n"}, True),
    "comment": ({"run.sh": "# torchrun train.py\nls\n"}, False),
    "part of a word": ({"run.sh": "echo Press Ctrl+C\n"}, False),
    "another program": ({"run.sh": "python3 main.py\n", "main.py": "print()\n"}, False),
    "code on the line": ({"run.sh": "python3 -c 'print(1)'\n"}, False),
    "requirements": ({"run.sh": "pip install -r requirements.txt\n", "requirements.txt": "deepspeed\n"}, False),
    "file that is not there": ({"run.sh": "source env.sh\n", "other.sh": "torchrun train.py\n"}, False),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_words_tell_whether_a_script_may_start_a_training(name):
    files, expected = LAUNCHES[name]
    assert may_launch(files["run.sh"], {each: [each] for each in files}, files.get) is expected


def test_a_long_script_that_cannot_start_a_training_is_not_evaluated_to_its_end(tmp_path, monkeypatch, capsys):
    loops = "for v in {1..10}; do " * 6 + "echo $v; ls" + "; done" * 6 + "\n./get.sh\n"
    (tmp_path / "run.sh").write_text(loops)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    spent: list[int] = []
    follow = ShellInterpreter.follow
    monkeypatch.setattr(ShellInterpreter, "follow", lambda self, script: watched(self, follow, script, spent))
    main(["check", "."])
    assert "no training configs found" in capsys.readouterr().err
    assert spent == [WORTH_A_LOOK + 1]


def watched(interpreter, follow, script, spent):
    """Follow a script, and record the steps that it took."""
    try:
        return follow(interpreter, script)
    finally:
        spent.append(interpreter.budget.spent)


def test_a_version_of_very_many_digits_bounds_nothing():
    assert str(specifiers(f">=4.40,<{'9' * 5_000}")) == ">=4.40"
    assert allows("<4.40", "9" * 5_000)


@pytest.mark.parametrize("text", ["A" * 100_000, "A_" * 50_000, "A1_" * 30_000])
def test_a_placeholder_in_capitals_is_recognised_in_one_pass(text):
    assert BARE.fullmatch(text)
    assert BARE.fullmatch(text + ",")
    assert not BARE.fullmatch(text + "!")
    assert not BARE.fullmatch(text + "__")


def test_a_value_that_is_computed_from_many_numbers_is_changed_by_hand(tmp_path, monkeypatch, capsys):
    """Trying each of them in turn, with each of another key, would take hours."""
    names = [f"n{number}" for number in range(12)]
    lines = "\n".join(f"{name} = 4" for name in names) + f"\ntotal = {' + '.join(names)}"
    arguments = "total // 12, per_device_train_batch_size=total // 24, gradient_accumulation_steps=total // 12"
    (tmp_path / "train.py").write_text(BUILDS.format(lines, arguments))
    monkeypatch.chdir(tmp_path)
    tried: list[object] = []
    monkeypatch.setattr(retarget, "_reached", lambda *given: tried.append(given) or False)
    assert main(["fix", "train.py", "--gpus", "8", "--global-batch", "96"]) == 2
    assert "by hand" in capsys.readouterr().err
    assert len(tried) <= 8
