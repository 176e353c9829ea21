"""`cfglint completion`: a script that completes commands, options and values in bash, zsh or fish."""

from __future__ import annotations

import sys

from cfglint.cli import COMMANDS
from cfglint.cli.argument_parser import CommandOption, Namespace, Parser
from cfglint.frameworks.validation.schema import kinds
from cfglint.rules.catalogue import every_rule

WITH_HELP = {**COMMANDS, "help": "the options of a command"}
SHELLS = ("bash", "zsh", "fish")
FILES = ("PATH", "FILE", "FILE.svg", "PATH|NAME")  # metavars of options whose value is a file
IN_QUOTES = str.maketrans({"'": "'\\''"})  # of zsh
IN_SPECIFICATION = str.maketrans({char: f"\\{char}" for char in "\\[]:"})  # of zsh
IN_FISH_QUOTES = str.maketrans({char: f"\\{char}" for char in "\\'"})


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.add_example("cfglint completion bash >> ~/.bashrc", "complete in every new bash")
    parser.add_example('cfglint completion zsh > "${fpath[1]}/_cfglint"', "complete in every new zsh")
    parser.add_example("cfglint completion fish > ~/.config/fish/completions/cfglint.fish", "complete in every new fish")


def run(arguments: Namespace) -> int:
    codes = " ".join(text for rule in every_rule() for text in (rule.code, rule.name))
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell](parsers(), codes))
    return 0


def parsers() -> dict[str, Parser]:
    found: dict[str, Parser] = {}
    for name in COMMANDS:
        found[name] = Parser(f"cfglint {name}", COMMANDS[name])
        __import__(f"cfglint.cli.{name}", fromlist=["run"]).add_arguments(found[name])
    return found


def completed(option: CommandOption, code: str, words: str, file: str, other: str = "") -> str:
    """What completes the value of an option: a code or name of a rule, one of some words (`%s` in `words`), a file, or something else."""
    if option.metavar in ("CODE", "CODES"):
        return code
    choices = option.choices
    if option.metavar == "KIND" and choices is None:
        choices = kinds()
    return words % " ".join(choices) if choices else file if option.metavar in FILES else other


BASH = """\
# Completion of cfglint for bash: source this file, or add it to ~/.bashrc.
_cfglint() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=""
    local codes="%(codes)s"
    COMPREPLY=()
    if [[ $current == "=" ]]; then  # --option=value is three words to bash
        current=""
    elif [[ $before == "=" ]]; then
        before=${COMP_WORDS[COMP_CWORD-2]}
    fi
    if [[ $COMP_CWORD -eq 1 ]]; then
        words="%(commands)s help --help --version"
    else
        case "$command $before" in
%(values)s
            *) case "$command $current" in
%(options)s
            esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _cfglint cfglint
"""


def bash(commands: dict[str, Parser], codes: str) -> str:
    """The script for bash; where it has no suggestion, bash completes files."""

    def action(option: CommandOption) -> str:
        return completed(option, "words=$codes", 'words="%s"', "return", "compopt +o default; return")

    values: dict[str, list[str]] = {}
    options = [f'                "help "*) words="{" ".join(commands)}" ;;']
    for name, parser in commands.items():
        for option in parser.offered:
            if not option.flag:
                values.setdefault(action(option), []).append(f'"{name} {option.name}"')
        options.append(f'                "{name} -"*) words="{" ".join([*(option.name for option in parser.offered), "--help"])}" ;;')
        first = [option for option in parser.positionals[:1] if option.metavar not in FILES]
        options += [f'                "{name} "*) {action(option)} ;;' for option in first]
    cases = [f"            {'|'.join(patterns)}) {case} ;;" for case, patterns in values.items()]
    return BASH % {"codes": codes, "commands": " ".join(commands), "values": "\n".join(cases), "options": "\n".join(options)}


ZSH = """\
#compdef cfglint
# Completion of cfglint for zsh: a file named _cfglint in a folder of $fpath.
_cfglint_codes() {
    compadd -- %(codes)s
}
_cfglint() {
    local -a commands
    commands=(
%(commands)s
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
        help) _arguments ':command:(%(names)s)' ;;
%(options)s
    esac
}
if [[ $funcstack[1] == _cfglint ]]; then
    _cfglint "$@"
else
    compdef _cfglint cfglint
fi
"""


def zsh(commands: dict[str, Parser], codes: str) -> str:
    def value(option: CommandOption) -> str:
        return f":{option.metavar.translate(IN_SPECIFICATION)}:{completed(option, '_cfglint_codes', '(%s)', '_files', ' ')}"

    options = []
    for name, parser in commands.items():
        arguments = [
            f"{'*' if option.repeated or option.act else ''}{option.name}[{option.help.translate(IN_SPECIFICATION)}]"
            + ("" if option.flag else value(option))
            for option in parser.offered
        ]
        arguments += [("*" if option.nargs in ("*", "+") else "") + value(option) for option in parser.positionals]
        quoted = [f"'{argument.translate(IN_QUOTES)}'" for argument in (*arguments, "--help[show the options]")]
        options.append(f"        {name}) _arguments -s {' '.join(quoted)} ;;")
    listed = [f"        '{f'{name}:{text}'.translate(IN_QUOTES)}'" for name, text in WITH_HELP.items()]
    return ZSH % {"codes": codes, "names": " ".join(commands), "commands": "\n".join(listed), "options": "\n".join(options)}


def fish(commands: dict[str, Parser], codes: str) -> str:
    def quoted(text: str) -> str:
        return f"'{text.translate(IN_FISH_QUOTES)}'"

    def value(option: CommandOption) -> str:
        return completed(option, "-a '(__cfglint_codes)'", "-a '%s'", "")

    lines = ["# Completion of cfglint for fish: cfglint.fish in ~/.config/fish/completions."]
    lines.append(f"function __cfglint_codes; string split ' ' {quoted(codes)}; end")
    lines += [f"complete -c cfglint -n __fish_use_subcommand -f -a {name} -d {quoted(text)}" for name, text in WITH_HELP.items()]
    lines.append(f"complete -c cfglint -n '__fish_seen_subcommand_from help' -f -a {quoted(' '.join(commands))}")
    for name, parser in commands.items():
        start = f"complete -c cfglint -n '__fish_seen_subcommand_from {name}; and not __fish_seen_subcommand_from help'"
        for option in parser.offered:
            spelled = f"-l {option.name[2:]}" if option.name.startswith("--") else f"-s {option.name[1:]}"
            taken = "" if option.flag else " -r" if option.metavar in FILES else f" -x {value(option)}".rstrip()
            lines.append(f"{start} {spelled} -d {quoted(option.help)}{taken}")
        lines += [f"{start} -f {value(option)}" for option in parser.positionals[:1] if option.metavar not in FILES]
    return "\n".join(lines) + "\n"
