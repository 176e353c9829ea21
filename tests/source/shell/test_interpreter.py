"""What a script would start, followed without running anything."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from cases import each_case
from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.script import Script


def follow(text, files=None, folder="%root%"):
    files = files or {}
    interpreter = ShellInterpreter(folder, "%root%/run.sh", files.get, lambda path: path in files)
    interpreter.follow(Script("run.sh", text))
    return interpreter


def commands(text, files=None):
    return [" ".join(word.string for word in call.words) for call in follow(text, files).calls]


@each_case(
    ("text", "expected"),
    [
        ('A=4\nrun --n $A "x$A y"', ["run --n 4 x4 y"]),
        ('run $(cd "$(dirname $0)"/../data; pwd)', ["run %root%/../data"]),
        ('run $(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)', ["run %root%"]),
        ('N=${N:-1}; if [[ "$N" -gt 1 ]]; then run $N; else run one; fi; run $N', ["run <?>", "run one", "run 1"]),
        ("N=1; if [[ $N > 1 ]]; then run $N; else run one; fi; run $N", ["run <?>", "run one", "run 1"]),
        ("T=$(cd /a/b/..; pwd)\ncd $T/../c\nrun $(pwd)", ["run /c"]),
        ('ARGS=(--a 1 "b c")\nrun "${ARGS[@]}" ${#ARGS[@]}', ["run --a 1 b c 3"]),
        ('ARGS="--a 1\n --b 2"\nrun $ARGS', ["run --a 1 --b 2"]),
        ("N=${GPUS:-8}\nrun $N $((N * 2 / 4)) $((N > 4 ? 1 : 0))", ["run 8 4 1"]),
        ("for lr in 1e-5 2e-5; do run --lr $lr; done", ["run --lr 1e-5", "run --lr 2e-5"]),
        ("for i in {1..3}; do run $i; done", ["run 1", "run 2", "run 3"]),
        ("for ((i = 0; i < 2; i++)); do run $i; done", ["run 0", "run 1"]),
        ("f() { local x=$1; shift; run $x $@; }\nf 1 2 3", ["run 1 2 3"]),
        ("CMD='run --a 1'\n$CMD --b\neval $CMD --c", ["run --a 1 --b", "run --a 1 --c"]),
        ('P=a/b/c.tar.gz\nrun ${P##*/} ${P%.gz} ${P/b/x} "${P:2:1}"', ["run c.tar.gz a/b/c.tar a/x/c.tar.gz b"]),
        ("D=0,1,2\nrun $(echo $D | tr ',' '\\n' | wc -l) $(seq 1 2) $(basename /x/y.sh .sh)", ["run 3 1 2 y"]),
        ("case prod in dev) run 1;; p*) run 2;; esac", ["run 1", "run 2"]),
        ("run a > log.txt --b 2", ["run a --b 2"]),
        ("A=1 run $A", ["run <?>"]),
        ("declare -A M=([a]=1 [b]=2)\nrun ${M[b]}", ["run 2"]),
        ("cat <<EOF > f\nrun inside\nEOF\nrun after", ["cat", "run after"]),
        ("read a b <<< 'x y'\nrun $b $a", ["run y x"]),
        ("A=1 \\\nB=$A\nrun $A $B", ["run 1 1"]),
        ("A=1 B=2 # both\nrun $A", ["run 1"]),
        ("A=0\nf() { run $B; }\nA=1 B=$A f", ["run 1"]),
        ('IFS=, read -ra S <<< 1,,2\nrun ${#S[@]} "${S[@]}"', ["run 3 1  2"]),
        ("IFS=: read a b c <<< 'x:y z:w:v'\nrun \"$a|$b|$c\"", ["run x|y z|w:v"]),
        ("L=1,2\nold=$IFS\nIFS=,\nrun $L\nIFS=$old\nrun $L", ["run 1 2", "run 1,2"]),
        ("IFS=' ,'\nv='a , b,c d'\nrun $v\nIFS=\nrun $v", ["run a b c d", "run a , b,c d"]),
        ("IFS=\nrun $UNSET_BY_NOBODY/a", ["run <?>/a"]),
        ('A=(p q)\nIFS=+\nrun "${A[*]}"\nset -- 1 2\nrun "$*"', ["run p+q", "run 1+2"]),
        ("mapfile -t M <<< $'one two\\nthree'\nrun ${#M[@]} ${M[0]}", ["run 2 one two"]),
        ("read x y <<EOF\nfirst line rest\nsecond\nEOF\nrun $x $y", ["run first line rest"]),
        ("f() { run $X $1; }\nX=1\nX=5 f a\nrun $X", ["run 5 a", "run 1"]),
        ("X=5 eval 'run $X'", ["run 5"]),
        ("unset X\nf() { local X=1; run $X; }\nf\nrun a${X}b", ["run 1", "run ab"]),
        ("X=1\nf() { unset X; }\nX=2 f\nunset Y\nY=3 f\nrun a${Y}b", ["run ab"]),
        ("f() { unset X; }\nX=1\nX=2 f\nrun $X", ["run 1"]),
        ('A=(1 2)\nIFS=2\nrun ${#A[@]} "${#A[@]}"', ["run  2"]),
        ('f() { run $#; }\nf ${U:-} b\nf "${U:-}" b\nf ${U:-a b}\nf "${U:-a b}"', ["run 1", "run 2", "run 2", "run 1"]),
        ("printf -v N 'run_%02d_%s' 7 x\nrun $N $(printf %03d 12)", ["run run_07_x 012"]),
    ],
)
def test_words_are_what_bash_makes_of_them(text, expected):
    assert commands(text) == expected


def test_assignments_of_the_line_before_are_not_exported():
    [call] = follow("A=1 \\\nB=$A\nrun \\\n  --x 1\n").calls
    assert (call.environment, call.line) == ({}, 4)
    [call] = follow("A=1 \\\nB=2 run --x 1\n").calls
    assert (sorted(call.environment), call.line) == (["A", "B"], 1)


def test_a_word_knows_where_it_is_written():
    text = "BATCH=16\nrun --batch $BATCH --lr 2e-5\n"
    words = follow(text).calls[0].words
    for word, written in ((words[2], "16"), (words[3], "--lr"), (words[4], "2e-5")):
        path, start, end = word.place
        assert (path, text[start:end]) == ("run.sh", written)


def test_unknown_words_say_why():
    words = follow("run $NOWHERE $1 $(nvidia-smi -L | wc -l) $RANDOM $(some_tool)").calls[0].words
    assert [word.value for word in words[1:]] == [None] * 5
    assert [word.reasons[0].text for word in words[1:3]] == [
        "the variable `NOWHERE` (pass --env NOWHERE=VALUE)",
        "the argument `$1` of the script",
    ]
    assert "GPUs of the machine" in words[3].reasons[0].text
    assert "from run to run" in words[4].reasons[0].text


def test_branches_that_are_not_decided_are_conditional():
    calls = follow('if some_test; then run 1; else run 2; fi\nif [ "$X" = 1 ]; then run 3; else run 4; fi').calls
    told = {call.words[1].string: call.conditional for call in calls if call.words[0].string == "run"}
    assert told == {"1": True, "2": True, "3": True, "4": False}


def test_what_differs_between_branches_is_unknown():
    assert commands("N=1\nif some_test; then N=2; fi\nrun $N")[-1] == "run <?>"


def test_an_argument_check_does_not_end_what_is_read():
    assert commands('if [ $# -ne 2 ]; then echo usage; exit 1; fi\nrun "$1"') == ["run <?>"]


def test_exit_and_exec_end_the_script():
    assert commands("run 1\nexit 0\nrun 2") == ["run 1"]
    assert commands("exec > log\nexec run 1\nrun 2") == ["run 1"]
    assert commands("if [ -n $UNSET ]; then exec run 1; fi\nrun 2") == ["run 1", "run 2"]


def test_bash_stops_at_the_mark_of_a_merge_conflict():
    assert commands("run 1\n<<<<<<< HEAD\nrun 2\n=======\nrun 3\n>>>>>>> a\nrun 4") == ["run 1"]
    assert commands("cat << E > f\na <<<<<<< b\nE\nrun 1") == ["cat", "run 1"]


def test_the_first_members_of_an_array_are_known_where_a_branch_appends_others():
    assert commands('C=(run --a 1)\nif grep -q a b; then C+=(--b 2); fi\n"${C[@]}"')[1:] == ["run --a 1 <?>"]


def test_sourced_files_and_folders():
    files = {"%root%/conf/env.sh": "N=4\n"}
    text = "cd conf\nsource env.sh\nrun $N"
    interpreter = follow(text, files)
    assert [(call.folder, call.words[1].string) for call in interpreter.calls] == [("%root%/conf", "4")]


@pytest.mark.parametrize("middle", ["\\ \n", "\n", "\\ # note\n", "\\  # note\n", "\\\n# --c 3 \\\n"])
def test_a_broken_continuation_loses_the_rest(middle):
    call = follow(f"run --a 1 {middle}  --b 2\n").calls[0]
    passed = {"\\ \n": [" "], "\\ # note\n": [" #", "note"], "\\  # note\n": [" "]}
    assert [word.string for word in call.words] == ["run", "--a", "1", *passed.get(middle, [])]
    assert [[word.string for word in words] for words, _ in call.lost] == [["--b", "2"]]


def test_a_quoted_blank_at_the_end_of_a_line_breaks_nothing():
    """Only a blank behind a backslash is a broken continuation."""
    assert [call.cut is not None for call in follow("run --a ' '\nrun --b \\ \n").calls] == [False, True]


def test_windows_line_ends_break_a_continuation():
    call = follow("run --a 1 \\\r\n  --b 2\r\n").calls[0]
    assert "--b" not in [word.string for word in call.words]


def test_lines_are_those_that_bash_counts():
    text = "run \\\n  --a 1\nA=1 \\\nrun --b\nrun c \\\n  --d\n"
    assert [call.line for call in follow(text).calls] == [2, 3, 5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("eval 'run a'\n", [1]),
        ('x=1\neval "\nrun a\n  run b\n"\n', [3, 4]),
        ("C='run a'\nx=1\neval $C\n", [3]),
    ],
)
def test_a_command_of_a_text_has_the_line_where_it_is_written(text, expected):
    assert [call.line for call in follow(text).calls] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for i in 1 2; do run a; if some_test; then run b; else break; fi; done\nrun c", [False, True, True, True, False]),
        ("for i in 1 2; do some_test && [ x = $Y$(q) ] && continue; run a; done\nrun c", [True, True, False]),
        ("for i in 1 2; do run a; break; done\nrun c", [False, False]),
    ],
)
def test_an_undecided_end_of_a_loop_makes_the_rest_of_it_conditional(text, expected):
    assert [call.conditional for call in follow(text).calls if call.words[0].string == "run"] == expected


@each_case(
    ("text", "expected"),
    [
        ("run $N", False),
        ("set -u\nrun $N", True),
        ("set -euo pipefail\nrun ${N:-1} ${M-}", False),
        ("set -o nounset\nrun $1", True),
        ("set -o errexit -o nounset\nrun $1", True),
        ("set +e -u\nrun $N", True),
        ("set -u\nset +o nounset\nrun $N", False),
        ("set -u\nset +u\nrun $N", False),
        ("[ $# -ne 2 ] && exit 1\nrun a", True),
        ("if [ -z $1 ]; then exit 1; fi\nrun a", True),
        ("usage() { exit 1; }\nwhile getopts a: o; do N=$OPTARG; done\nif [ -z $N ]; then usage; fi\nrun a", True),
        ("[ 1 -eq 2 ] && exit 1\nrun a", False),
        (': "${PATH_OF_DATA:?has to be set}"\nrun a', True),
        ("D=1\n: ${D:?has to be set}\nrun a", False),
        ("D=\n: ${D:?has to be set}\nrun a", True),
        ("D=1\nunset D\n: ${D:?has to be set}\nrun a", True),
    ],
)
def test_what_a_plain_call_does_not_reach_needs_its_caller(text, expected):
    assert [call.needs_caller for call in follow(text).calls if call.words[0].string == "run"] == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run a\nX=<your path>\n\nY=1\nrun b", [False, True]),
        ("run a\nrun b \\\n --c 'd\n", [False, True]),
        ("run a\nrun b \\\n --c 4'\n", [False, True]),
        ("run a 'b\nc'\nrun b \"it's\"\n", [False, False]),
        ("run a > 'b\nc'\nrun b\n", [False, False]),  # the name of a file may have lines
        ("run a > \\\n  b\nrun b\n", [False, False]),
    ],
)
def test_what_comes_after_a_syntax_error_is_broken(text, expected):
    assert [call.broken for call in follow(text).calls if call.words[0].string == "run"] == expected


@pytest.mark.parametrize(
    "text",
    [
        '"$(' * 100_000,
        pytest.param("a='\"(`${" * 60_000, marks=pytest.mark.slow),
        pytest.param("x=1\n" * 100_000, marks=pytest.mark.slow),
        "if a; then " * 3_000,
        "f() { f; f; }\nf\n",
        "while true; do run; done\n",
        "for i in {1..200}; do for j in {1..200}; do for k in {1..200}; do run $i; done; done; done\n",
        "a=x\n" + "a=$a$a$a$a\n" * 40 + "run $a\n",
    ],
    ids=["quotes", "mixed", "long", "deep", "recursion", "endless", "loops", "doubling"],
)
def test_hostile_scripts_are_bounded(text):
    began = time.monotonic()
    follow(text)
    assert time.monotonic() - began < 20


def test_nothing_is_started():
    events = []
    sys.addaudithook(lambda event, _: events.append(event) if event in ("subprocess.Popen", "os.system", "os.exec") else None)
    commands("run $(touch /tmp/never) `id`\neval 'run x'\nbash -c 'run y'\n")
    assert events == []


@pytest.mark.slow
def test_the_command_loads_the_parser_without_what_its_packages_import():
    """In a process of its own, with the same tree."""
    code = (
        "import sys; from cfglint import source; source.IS_OWN_PROCESS = {}; from cfglint.source.shell.script import Script; "
        "print(Script('a.sh', 'f() {{ run $1; }}; f a').tree()); print('importlib.resources' in sys.modules)"
    )
    printed = [
        subprocess.run([sys.executable, "-c", code.format(owned)], capture_output=True, text=True, check=True) for owned in (True, False)
    ]
    (tree, imported), (same, imported_by_package) = (each.stdout.splitlines() for each in printed)
    assert tree == same
    assert tree.startswith("(program (function_definition name: (word)")
    assert (imported, imported_by_package) == ("False", "True")
