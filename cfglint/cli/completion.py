"""`cfglint completion`: a script that completes commands, options and values in bash, zsh or fish."""

from __future__ import annotations

import sys

from cfglint.cli import COMMANDS
from cfglint.cli.argument_parser import CommandOption, Namespace, Parser

WITH_HELP = {**COMMANDS, "help": "the options of a command"}
SHELLS = ("bash", "zsh", "fish")
FILES = ("PATH", "FILE", "FILE.svg", "PATH|NAME")  # metavars of options whose value is a file


def add_arguments(parser: Parser) -> None:
    """Add the argument of `completion`: the shell."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    parser.add_example("cfglint completion bash >> ~/.bashrc", "complete in every new bash")
    parser.add_example('cfglint completion zsh > "${fpath[1]}/_cfglint"', "complete in every new zsh")
    parser.add_example("cfglint completion fish > ~/.config/fish/completions/cfglint.fish", "complete in every new fish")


def run(arguments: Namespace) -> int:
    """Print the script."""
    script = {"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell]
    sys.stdout.write(script(parsers()))
    return 0


def parsers() -> dict[str, Parser]:
    """The parser of every command, with its options."""
    found: dict[str, Parser] = {}
    for name in COMMANDS:
        found[name] = Parser(f"cfglint {name}", COMMANDS[name])
        __import__(f"cfglint.cli.{name}", fromlist=["run"]).add_arguments(found[name])
    return found


def codes() -> list[str]:
    """The codes and names of all rules."""
    from cfglint.rules.catalogue import every_rule

    return [text for rule in every_rule() for text in (rule.code, rule.name)]


def words(option: CommandOption) -> str:
    """The values that an option accepts, if they are a list: its choices, or the kinds that have a schema."""
    if option.choices is not None:
        return " ".join(option.choices)
    if option.metavar == "KIND":
        from cfglint.frameworks.validation.schema import kinds

        return " ".join(kinds())
    return ""


def takes_codes(option: CommandOption) -> bool:
    """Whether the value is a code or name of a rule."""
    return option.metavar in ("CODE", "CODES")


def named_values(parser: Parser) -> list[CommandOption]:
    """The options that take a value."""
    return [option for option in parser.offered if not option.flag]


def takes_files(option: CommandOption) -> bool:
    """Whether the value is the path of a file."""
    return option.metavar in FILES


# ---- bash

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


def bash(commands: dict[str, Parser]) -> str:
    """The script for bash; where it has no suggestion, bash completes files."""
    values: dict[str, list[str]] = {}
    options = [f'                "help "*) words="{" ".join(commands)}" ;;']
    for name, parser in commands.items():
        for option in named_values(parser):
            values.setdefault(bash_value(option), []).append(f'"{name} {option.name}"')
        options.append(f'                "{name} -"*) words="{" ".join([*(option.name for option in parser.offered), "--help"])}" ;;')
        options += [
            f'                "{name} "*) {bash_value(positional)} ;;'
            for positional in parser.positionals[:1]
            if not takes_files(positional)
        ]
    cases = [f"            {'|'.join(patterns)}) {action} ;;" for action, patterns in values.items()]
    return BASH % {"codes": " ".join(codes()), "commands": " ".join(commands), "values": "\n".join(cases), "options": "\n".join(options)}


def bash_value(option: CommandOption) -> str:
    """The bash code that completes the value of an option."""
    if takes_codes(option):
        return "words=$codes"
    if words(option):
        return f'words="{words(option)}"'
    return "return" if takes_files(option) else "compopt +o default; return"


# ---- zsh

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


def zsh(commands: dict[str, Parser]) -> str:
    """The script for zsh."""
    listed = [f"        {quoted(f'{name}:{text}')}" for name, text in WITH_HELP.items()]
    options = [f"        {name}) _arguments -s {' '.join(map(quoted, specifications(parser)))} ;;" for name, parser in commands.items()]
    return ZSH % {"codes": " ".join(codes()), "names": " ".join(commands), "commands": "\n".join(listed), "options": "\n".join(options)}


def specifications(parser: Parser) -> list[str]:
    """The arguments of a command as `_arguments` of zsh takes them."""
    found = [specification(option) for option in parser.offered]
    for option in parser.positionals:
        found += [f"{'*' if option.nargs in ('*', '+') else ''}:{escaped(option.metavar)}:{zsh_value(option)}"]
    return [*found, "--help[show the options]"]


def specification(option: CommandOption) -> str:
    """An option as `_arguments` of zsh takes it."""
    value = "" if option.flag else f":{escaped(option.metavar)}:{zsh_value(option)}"
    return f"{'*' if option.repeated or option.act else ''}{option.name}[{escaped(option.help)}]{value}"


def zsh_value(option: CommandOption) -> str:
    """The zsh action that completes a value."""
    if takes_codes(option):
        return "_cfglint_codes"
    if words(option):
        return f"({words(option)})"
    return "_files" if takes_files(option) else " "


def escaped(text: str) -> str:
    """Escape a string for use in a zsh specification."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def quoted(text: str) -> str:
    """Quote a string for a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


# ---- fish


def fish(commands: dict[str, Parser]) -> str:
    """The script for fish."""
    lines = ["# Completion of cfglint for fish: cfglint.fish in ~/.config/fish/completions."]
    lines.append(f"function __cfglint_codes; string split ' ' {fish_quoted(' '.join(codes()))}; end")
    lines += [f"complete -c cfglint -n __fish_use_subcommand -f -a {name} -d {fish_quoted(text)}" for name, text in WITH_HELP.items()]
    lines.append(f"complete -c cfglint -n '__fish_seen_subcommand_from help' -f -a {fish_quoted(' '.join(commands))}")
    for name, parser in commands.items():
        start = f"complete -c cfglint -n '__fish_seen_subcommand_from {name}; and not __fish_seen_subcommand_from help'"
        lines += [f"{start} {fish_option(option)}" for option in parser.offered]
        lines += [f"{start} -f {fish_value(option)}" for option in parser.positionals[:1] if not takes_files(option)]
    return "\n".join(lines) + "\n"


def fish_option(option: CommandOption) -> str:
    """An option as `complete` of fish takes it."""
    name = f"-l {option.name[2:]}" if option.name.startswith("--") else f"-s {option.name[1:]}"
    described = f"{name} -d {fish_quoted(option.help)}"
    if option.flag:
        return described
    return f"{described} -r" if takes_files(option) else f"{described} -x {fish_value(option)}".rstrip()


def fish_value(option: CommandOption) -> str:
    """The fish arguments that complete a value."""
    if takes_codes(option):
        return "-a '(__cfglint_codes)'"
    return f"-a {fish_quoted(words(option))}" if words(option) else ""


def fish_quoted(text: str) -> str:
    """Quote a string for fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
