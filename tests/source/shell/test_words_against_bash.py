"""Words of generated shapes: what bash itself makes of them."""

import random
import shutil
import subprocess

import pytest

from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.script import Script

VARIABLES = 'A=one\nB="two words"\nE=\nN=3\nP=dir/sub\nL=(x y z)\n'
# A bare name is never next to `{a,b}` here: bash expands braces in the text, so that the name would grow (`$A{x,y}`).
WITHOUT_BLANKS = r"""
${A} ${B} $E/ ${E:-def} ${A:+alt} ${U-none} \$A lit ./ / - = --opt= . _x {a,b} {1..3} {01..03} {c..a} $((N+1)) ${N}k
${P##*/} ${P%/*} ${A/o/0} ${#A} "${L[@]}" ${L[1]} ${L[*]} "${L[*]}" $'t\x' + : @ % ~ x~ 'it'"s" [z] {} {${A}} ${A^^} ${A:1:2} , \\ \"
a#b {a,${A}} {a,b}{c,d} "{a,b}" {a,{b,c}} ${U:-$A} ${U:-"$B"} ${N}.5 $A/$P/ "$B" "$E" 'sq$A' "dq$A"
"""
WITH_BLANKS = ("$(echo hi)", "${U:-a b}", "$(echo a b)", '"$(echo a b)"', "'sq $A'", '"dq $A"', "`echo q`")


def generated(seed):
    chosen = random.Random(seed)
    return "".join(chosen.choice((*WITHOUT_BLANKS.split(), *WITH_BLANKS)) for _ in range(chosen.randrange(1, 5)))


def of_bash(word):
    program = 'HOME="~"\nset -f\nprog() { [ $# -eq 0 ] || printf "%s\\0" "$@"; }\n'
    done = subprocess.run(["bash", "-c", f"{VARIABLES}{program}prog {word}\n"], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def ours(word):
    calls = ShellInterpreter("/start", "/start/train.sh", lambda path: None, lambda path: False).follow(
        Script("train.sh", f"{VARIABLES}prog {word}\n")
    )
    return [each.string for each in calls[-1].words[1:]]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_generated_words_are_those_of_bash():
    words = [*map(generated, range(200))]
    assert [(word, ours(word)) for word in words] == [(word, of_bash(word)) for word in words]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("./$A/$P/", ["./one/dir/sub/"]),
        ("a$A/b$N.5", ["aone/b3.5"]),
        ("{a,$A}{1..2}", ["a1", "a2", "one1", "one2"]),
        ('${U:-"$B"}x', ["two wordsx"]),
        ("${U:-a b}x", ["a", "bx"]),
        ("{x,y", ["{x,y"]),
        ("{08..10}", ["08", "09", "10"]),
    ],
)
def test_words_that_are_joined(word, expected):
    assert ours(word) == expected
