"""Completion in the shells that are installed here, and what the scripts are made from."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest

from cases import each_case
from cfglint.cli import COMMANDS, completion, main
from cfglint.cli.argument_parser import Parser
from cfglint.cli.completion import SHELLS, parsers
from examples import recorded

LINES = [
    ("cfglint expl\t", "explain"),
    ("cfglint check --show stati\t", "check --show statistics"),
    ("cfglint check --kind hugg\t", "check --kind huggingface"),
    ("cfglint check --fail-on warn\t", "check --fail-on warning"),
    ("cfglint check --select batch-mism\t", "check --select batch-mismatch"),
    ("cfglint rule KEY10\t5", "rule KEY105"),
    ("cfglint schema acc\t", "schema accelerate"),
    ("cfglint help revi\t", "help review"),
    ("cfglint check --config poli\t", "check --config policy.toml"),
    ("cfglint explain trai\t", "explain train.yaml"),
    ("cfglint completion fi\t", "completion fish"),
]
STARTS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
PREPARE = {"bash": "bind 'set bell-style none'", "zsh": "autoload -Uz compinit; compinit -u -D; unsetopt list_beep"}


def script(shell, capsys):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def needs(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


class Terminal:
    """An interactive shell in a pseudo-terminal, in which `cfglint` prints its arguments."""

    def __init__(self, shell, folder):
        import pty

        self.end, other = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "HISTFILE": "", "PS1": "$ "}
        self.process = subprocess.Popen(
            STARTS[shell], stdin=other, stdout=other, stderr=other, cwd=folder, env=environment, start_new_session=True
        )
        os.close(other)
        self.type(f"{PREPARE[shell]}; source ./completion; cfglint() {{ echo \"<$*>\"; }}; echo '<re'ady\\>\n")
        self.until("<ready>")

    def type(self, text):
        """Press keys."""
        os.write(self.end, text.encode())

    def until(self, mark):
        """What is printed until a mark is seen."""
        told = ""
        stop = time.monotonic() + 20
        while mark not in told and time.monotonic() < stop:
            told += os.read(self.end, 65536).decode(errors="replace")
        return told

    def complete(self, line):
        """The arguments that `cfglint` gets for a line with a tab in it."""
        self.type(line)
        time.sleep(0.3)
        self.type("\n")
        return self.until(">\r\n").rpartition("<")[2].partition(">")[0]

    def close(self):
        """End the shell."""
        self.process.kill()
        self.process.wait()
        os.close(self.end)


@pytest.mark.slow
@pytest.mark.parametrize("shell", STARTS)
def test_a_tab_completes(shell, capsys, tmp_path):
    needs(shell)
    (tmp_path / "completion").write_text(script(shell, capsys))
    for name in ("train.yaml", "policy.toml"):
        (tmp_path / name).touch()
    terminal = Terminal(shell, tmp_path)
    try:
        assert [terminal.complete(line).strip() for line, _ in LINES] == [wanted for _, wanted in LINES]
    finally:
        terminal.close()


@pytest.mark.slow
def test_fish_completes(capsys, tmp_path):
    needs("fish")
    (tmp_path / "completion").write_text(script("fish", capsys))
    for name in ("train.yaml", "policy.toml"):
        (tmp_path / name).touch()
    for line, wanted in LINES:
        typed = line.partition("\t")[0]
        given = ["fish", "--no-config", "-c", f"source completion; complete -C '{typed}'"]
        offered = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(tmp_path)})
        assert wanted.split()[-1] in [each.partition("\t")[0] for each in offered.stdout.splitlines()], line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_has_every_option_and_is_sound(shell, capsys):
    text = script(shell, capsys)
    for name, parser in parsers().items():
        assert name in text
        for option in parser.offered:
            assert option.name.lstrip("-") in text
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=text, text=True, capture_output=True, check=True).stderr == ""


def test_shells_are_those_with_a_script(capsys):
    assert SHELLS == ("bash", "zsh", "fish")
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "expected one of bash, zsh, fish" in capsys.readouterr().err


@each_case("name", COMMANDS)
def test_every_help_has_examples_that_the_command_takes(name, capsys):
    import shlex

    parser = parsers()[name]
    assert parser.examples
    for command, what in parser.examples:
        words = shlex.split(command.partition(" > ")[0].partition(" >> ")[0])
        assert words[:2] == ["cfglint", name]
        parser.parse_args(words[2:])
        assert what
    assert main(["help"]) == 0
    with pytest.raises(SystemExit):
        main(["help", name])
    printed = capsys.readouterr().out
    assert f"  {parser.examples[0][0]}" in printed
    assert len(printed.partition(f"usage: cfglint {name}")[2].splitlines()) <= 36
    assert max(map(len, printed.splitlines())) <= 160


TRAIN = "output_dir: o\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nlearning_rate: 2.0e-5\n"
IN_EXAMPLES = {
    **{f"{folder}train.yaml": TRAIN for folder in ("", "configs/", "configs-old/")},
    **dict.fromkeys(("old.yaml", "new.yaml"), TRAIN),
    **dict.fromkeys(
        ("old.json", "new.json", "ds_config.json"), '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4}\n'
    ),
    "error.txt": "KeyError: 'labels'\n",
    "train.log": "***** Running training *****\n  Num examples = 1,000\n  Num Epochs = 3\n  Total optimization steps = 96\n",
    "scripts/train.sh": "torchrun --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4 --learning_rate 1e-5\n",
}
ASKING = ("cfglint new", "cfglint server", "cfglint mcp")  # these ask questions, or need an editor or another client


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"start"}))  # it becomes the command; `test_typed_command.py` starts it
def test_the_examples_of_every_help_run(name, checkout, capsys):
    import shlex

    for path, text in IN_EXAMPLES.items() if name != "new" else ():
        (checkout.folder / path).parent.mkdir(exist_ok=True)
        (checkout.folder / path).write_text(text)
    checkout.commit("first")
    checkout.git("update-ref", "refs/remotes/origin/main", "HEAD")
    for command, _ in parsers()[name].examples:
        if command in ASKING:
            continue
        status = main(shlex.split(command.partition(" > ")[0].partition(" >> ")[0])[1:])
        said = capsys.readouterr()
        assert status in (0, 1), (command, said.err)
        assert said.out or said.err, command


def command(*positionals):
    """A command with an option of each sort, and positional arguments."""
    parser = Parser("cfglint command", "It's a command.")
    for details in positionals:
        parser.add_argument(**details)
    parser.add_argument("--flag", action="store_true", help="a flag: [yes]")
    parser.add_argument("--count", metavar="N", help="a number")
    parser.add_argument("--many", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    parser.add_argument("--choice", choices=("one", "two"), help="one of two")
    parser.add_argument("--codes", metavar="CODES", help="rules")
    parser.add_argument("--file", metavar="FILE", help="a file")
    parser.add_argument("--kind", metavar="KIND", help="a kind")
    parser.add_argument("-o", action=lambda namespace, text: None, metavar="PATH", help="the output")
    return parser


@pytest.mark.parametrize(("shell", "made_by"), [("bash", completion.bash), ("zsh", completion.zsh), ("fish", completion.fish)])
def test_the_script_of_every_sort_of_argument(shell, made_by, root, updating, monkeypatch):
    """`CFGLINT_UPDATE=1` rewrites the record; the difference is to be read."""

    monkeypatch.setattr(completion, "WITH_HELP", {"one": "It's one: first"})
    commands = {
        "files": command({"name": "paths", "nargs": "*", "metavar": "PATH", "help": "files"}),
        "rule": command({"name": "code", "nargs": "?", "metavar": "CODE", "help": "a code"}),
        "shell": command({"name": "shell", "choices": ("sh", "fish"), "metavar": "SHELL", "help": "a shell"}),
        "two": command(
            {"name": "old", "metavar": "OLD", "help": "first"}, {"name": "new", "nargs": "+", "metavar": "FILE", "help": "rest"}
        ),
        "none": command(),
    }
    lines = made_by(commands, "ABC001 a-name").splitlines()
    assert lines == recorded(root / "tests" / "cli" / "expected" / f"completion.{shell}.txt", lines, updating)
