"""Options and positionals: what is taken, and what people read when it is not."""

import pytest

from cases import each_case
from cfglint.cli.argument_parser import Parser
from cfglint.cli.options import codes, positive


@pytest.fixture
def parser():
    parser = Parser("cfglint test", "for a test")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files")
    parser.add_argument("--gpus", type=positive, metavar="N", help="GPUs")
    parser.add_argument("--run", action="store_true", help="one run")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--select", type=codes)
    parser.add_argument("--args", metavar="TEXT")
    parser.add_argument("--to", nargs="+", default=[], metavar="PATH")
    parser.add_argument("--fail-on", choices=("error", "warning"))
    return parser


def test_everything_has_a_default(parser):
    given = parser.parse_args([])
    assert (given.paths, given.gpus, given.run, given.set, given.fail_on) == ([], None, False, [], None)


def test_options_and_paths_mix_in_any_order(parser):
    given = parser.parse_args(["a", "--gpus", "8", "b", "--run", "--set", "x=1", "--set=y=2", "c"])
    assert given.paths == ["a", "b", "c"]
    assert (given.gpus, given.run, given.set) == (8, True, ["x=1", "y=2"])


def test_parsing_twice_shares_nothing(parser):
    parser.parse_args(["a", "--set", "x=1"])
    assert parser.parse_args([]).set == []


def test_a_value_may_start_with_dashes(parser):
    assert parser.parse_args(["--args", "--per_device_train_batch_size 4"]).args == "--per_device_train_batch_size 4"


def test_after_two_dashes_everything_is_a_path(parser):
    assert parser.parse_args(["--run", "--", "--gpus", "-x"]).paths == ["--gpus", "-x"]


def test_a_dash_is_standard_input(parser):
    assert parser.parse_args(["-"]).paths == ["-"]


def test_an_option_takes_several_values(parser):
    given = parser.parse_args(["old", "--to", "new", "newer", "--run"])
    assert (given.paths, given.to, given.run) == (["old"], ["new", "newer"], True)


@each_case(
    ("arguments", "message"),
    [
        (["--gpus"], "--gpus expects N"),
        (["--gpus", "--run"], "--gpus expects N"),
        (["--gpus", "0"], "--gpus 0: expected a positive integer"),
        (["--gpus", "many"], "--gpus many: expected a positive integer"),
        (["--run=yes"], "--run does not accept a value"),
        (["--gpu", "8"], "unknown option --gpu; did you mean --gpus?"),
        (["--other"], "unknown option --other; --help lists them"),
        (["--num-gpus", "8"], "unknown option --num-gpus; did you mean --gpus?"),
        (["--quiet"], "unknown option --quiet; the findings are on standard output, the summary on standard error"),
        (["--batch-size", "8"], "unknown option --batch-size; `cfglint fix` and `cfglint plan` have --global-batch"),
        (["--fail-on", "never"], "--fail-on never: expected one of error, warning"),
    ],
)
def test_misuse_is_told_and_exits_with_2(parser, capsys, arguments, message):
    with pytest.raises(SystemExit) as stopped:
        parser.parse_args(arguments)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_a_place_that_is_missing_or_too_many():
    parser = Parser("cfglint test", "for a test")
    parser.add_argument("code", metavar="CODE")
    assert parser.parse_args(["BAT001"]).code == "BAT001"
    for arguments in ([], ["one", "two"]):
        with pytest.raises(SystemExit) as stopped:
            parser.parse_args(arguments)
        assert stopped.value.code == 2


def test_help_names_every_option(parser, capsys):
    with pytest.raises(SystemExit) as stopped:
        parser.parse_args(["--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert "usage: cfglint test [PATH ...] [OPTION ...]" in printed
    for name in parser.options:
        assert f"  {name}" in printed


@each_case("width", [60, 80, 100])
def test_every_help_text_fits_the_terminal(width, monkeypatch):
    from cfglint.cli import usage
    from cfglint.cli.completion import parsers

    monkeypatch.setenv("COLUMNS", str(width))
    for text in (usage(), *(parser.help() for parser in parsers().values())):
        assert [line for line in text.splitlines() if len(line) > width] == []


def test_a_folded_example_is_one_command_for_the_shell(monkeypatch):
    from cfglint.cli.help_text import folded_command

    command = "cfglint plan train.yaml --gpus 8-64 --from-gpus 8 --num-examples 128770 --time-per-step 2.1"
    lines = folded_command(command, 60)
    assert len(lines) > 1
    assert "".join(line.removesuffix("\\").strip() + " " for line in lines).strip() == command
    assert all(line.endswith(" \\") for line in lines[:-1])
