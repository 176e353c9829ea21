"""The options of the launchers are those of their real parsers, and what cfglint takes for unknown is refused by them."""

from __future__ import annotations

import pytest

from cfglint.launch.launcher import launchers
from cfglint.launch.launchers.deepspeed import OPTIONS

TRIED = ("num_gpus", "num-gpus", "nproc_per_node", "nproc-per", "num_processes", "num_process", "main_port", "wandb", "master_p", "num_nod")


def torchrun():
    run = pytest.importorskip("torch.distributed.run", reason="torch is not installed")
    return run.get_args_parser().parse_args, {option for each in run.get_args_parser()._actions for option in each.option_strings}


def accelerate():
    launch = pytest.importorskip("accelerate.commands.launch", reason="accelerate is not installed")
    parser = launch.launch_command_parser()
    return parser.parse_args, {option for each in parser._actions for option in each.option_strings}


def deepspeed():
    """The function makes its parser itself, so that each option is tried."""
    runner = pytest.importorskip("deepspeed.launcher.runner", reason="deepspeed is not installed")
    return runner.parse_args, {f"--{name}" for name in OPTIONS if accepts(runner.parse_args, name)}


def accepts(parse, name):
    """Whether a parser accepts an option, with a value or without one, before a program."""
    return any(parses(parse, [word, "train.py"]) for word in (f"--{name}=1", f"--{name}"))


def parses(parse, words):
    """Whether a parser accepts some words."""
    try:
        parse(words)
    except SystemExit:
        return False
    return True


@pytest.mark.parametrize("asked", [torchrun, accelerate, deepspeed], ids=lambda each: each.__name__)
def test_no_option_of_the_real_parser_is_unknown(asked):
    _, options = asked()
    names = {each.removeprefix("--") for each in options if each.startswith("--")}
    assert len(names) > 15
    assert {each for each in names if not launchers()[asked.__name__].has_option(each)} == set()


@pytest.mark.parametrize("asked", [torchrun, accelerate, deepspeed], ids=lambda each: each.__name__)
def test_unknown_options_are_refused(asked, capsys):
    parse, _ = asked()
    known = {name: launchers()[asked.__name__].has_option(name) for name in TRIED}
    assert known == {name: accepts(parse, name) for name in TRIED}
    assert "unrecognized arguments" in capsys.readouterr().err
