"""What a script makes of its own arguments: a word that cfglint knows is the word that bash passes, whatever the script is called with.

The exception are defaults: `${1:-8}` is 8, as in a call without arguments.
"""

from __future__ import annotations

from bash import bash, of_calls
from cases import each_case
from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.script import Script

LOOP = "while {test}; do case $1 in -a|--all) A=$2; shift;; b) A=9;; esac; shift; done"
FILLED = [
    LOOP.format(test='[[ "$1" != "" ]]'),
    LOOP.format(test="[ $# -gt 0 ]"),
    LOOP.format(test='(( "$#" ))'),
    LOOP.format(test='[ -n "${1:-}" ]'),
    LOOP.format(test='[ -n "${1+x}" ]'),
    'until [ -z "$1" ]; do A=$1; shift; done',
    'while true; do [ -z "$1" ] && break; A=$1; shift; done',
    'while :; do case "$1" in -a) A=$2; shift;; "") break;; esac; shift; done',
    'while getopts "a:b" o; do case $o in a) A=$OPTARG;; b) A=9;; esac; done',
    'for x in "$@"; do case $x in --a=*) A=${x#*=};; esac; done',
    "for x; do A=$x; done",
    'if [ -n "$1" ]; then A=$1; fi',
    'if ! [ -z "$1" ]; then A=2; fi',
    'if [ "$1" = "-a" ]; then A=2; elif [ "$1" = b ]; then A=3; else A=4; fi',
    'if [ -z "$1" ] || [ "$1" = b ]; then A=7; else A=2; fi',
    "if (( $# > 1 )); then A=2; fi",
    "if [ $# -eq 0 ]; then exit 1; fi; A=$1",
    '[ -n "$1" ] && A=$1',
    '[ -z "$1" ] || A=$1',
    "[ $# -ne 0 ] && { A=2; }",
    '[[ "$*" == *-a* ]] && A=2',
    "[[ $1 == -a ]] && A=2 || A=3",
    'case "${1:-}" in -a) A=2;; *) ;; esac',
    'A="${1:-}"',
    "A=${1:+yes}",
    'A="${@:-}"',
    'A="${*+x}"',
    'B=""; [ -n "$1" ] && B=$1; if [ -n "$B" ]; then A=2; fi',
    "n=$#; if [ $n -gt 0 ]; then A=2; fi",
    'args=("$@"); if [ ${#args[@]} -gt 0 ]; then A=2; fi',
    'set -- x "$@"; shift; if [ $# -gt 0 ]; then A=2; fi',
    'f() { if [ "$1" = -a ]; then echo 2; else echo 1; fi; }; A=$(f "$1")',
    'f() { case "$1" in -a) echo 2; return;; esac; echo 1; }; A=$(f "$1")',
    'f() { [ "$1" = -a ] && echo 2 || echo 1; }; A=$(f "$1")',
    "f() { [ $# -gt 0 ] && echo 2 || echo 1; }; A=$(f $1)",
    'f() { local r=1; [ -n "$1" ] && r=2; echo $r; }; A=$(f "$@")',
    'parse() { while [ $# -gt 0 ]; do case $1 in -a) A=$2; shift;; esac; shift; done; }; parse "$@"',
]
CALLS = [[], ["-a", "8"], ["b"], ["--a=5"], ["-b"], ["-a"], ["b", "-a", "3"]]


def words(text):
    interpreter = ShellInterpreter("/start", "/start/run.sh", lambda path: None, lambda path: False)
    interpreter.follow(Script("run.sh", f"{text}\n"))
    return [call.words[-1].value for call in interpreter.calls if call.words[0].string == "run"]


@each_case("text", FILLED)
def test_a_variable_that_the_arguments_may_fill_is_unknown(text):
    assert words(f'A=1; {text}\nrun "$A"') == [None]


def test_their_values_differ_in_bash(tmp_path):
    """So none of them could be known."""
    bash()
    alike = [text for text in FILLED if len({*of_calls(f'A=1; {text}\nrun "$A"', CALLS, tmp_path)}) < 2]
    assert not alike


@each_case(
    ("text", "value"),
    [
        ("A=${1:-8}", "8"),
        ('A=4; if [ -n "$1" ]; then A=$1; else A=2; fi; A=6', "6"),
        ('A=4; if [ -n "$1" ]; then A=4; fi', "4"),
        ('A=4; case "$1" in a) B=1;; *) B=2;; esac', "4"),
        ('f() { if [ "$1" = a ]; then echo 1; else echo 2; fi; }; A=$(f a)', "1"),
        ('f() { case "$1" in a) echo 1;; *) echo 2;; esac; }; A=$(f b)', "2"),
        ("f() { for x in 1 2 3; do [ $x = $1 ] && echo $x; done; }; A=$(f 2)", "2"),
        ("f() { while [ $# -gt 0 ]; do case $1 in -n) A=$2; shift;; esac; shift; done; }; A=1; f -n 3", "3"),
        ("f() { if [ $RANDOM -gt 5 ]; then echo 5; else echo 5; fi; }; A=$(f)", "5"),
    ],
)
def test_what_they_do_not_decide_is_known(text, value):
    assert words(f'{text}\nrun "$A"') == [value]


@each_case(
    "text",
    [
        "f() { if [ $RANDOM -gt 5 ]; then echo 1; else echo 2; fi; }; A=$(f)",
        "f() { [ $RANDOM -gt 5 ] && echo 1; }; A=$(f)",
        "f() { while [ $RANDOM -gt 5 ]; do echo 1; done; }; A=$(f)",
    ],
)
def test_the_output_of_a_branch_that_is_not_decided_is_unknown(text):
    assert words(f'{text}\nrun "$A"') == [None]


@each_case(
    ("text", "count"),
    [
        ("mapfile -t A < <(some_program)", "unknown"),
        ("readarray A < file.txt", "unknown"),
        ('mapfile < <(some_program); A=("${MAPFILE[@]}")', "unknown"),
        ("read -r -a A < <(some_program)", "unknown"),
        ("A=($(some_program))", "unknown"),
        ("mapfile -t A <<< 'a\nb'", "2"),
    ],
)
def test_an_array_of_unknown_words_has_an_unknown_number_of_them(text, count):
    assert words(f'{text}\nrun "${{#A[@]}}"') == [None if count == "unknown" else count]
