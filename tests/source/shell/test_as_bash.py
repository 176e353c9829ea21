"""Scripts whose commands are those that bash 5.2 started, with `run` as the program; a branch that is not decided starts both."""

from __future__ import annotations

from cases import each_case
from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.script import Script


def started(text):
    interpreter = ShellInterpreter("/start", "/start/run.sh", lambda path: None, lambda path: False)
    interpreter.follow(Script("run.sh", f"{text}\n"))
    return [" ".join(word.string for word in call.words[1:]) for call in interpreter.calls if call.words[0].string == "run"]


@each_case(
    ("text", "expected"),
    [
        ("run $(expr 6 \\* 7) $(expr 7 / 2) $(expr 7 % 4)", ["42 3 3"]),
        ("run $(echo '2 * 3' | bc) $(echo \"7 / 2\" | bc)", ["6 3"]),
        ("run $(echo '200*10^9 / (4096 * 8 * 4 * 14 * 8)' | bc) $(echo '2^3^2 + 1' | bc)", ["13623 513"]),
        ("run $(echo a b c | wc -w) $(printf 'a\\nb\\n' | wc -l) $(printf abc | wc -c)", ["3 2 3"]),
        (
            "run $(echo Ab-c | tr a-z A-Z) $(echo a,b | tr ',' ' ') $(echo abc | tr -d b) $(echo a1b2 | tr -cd 0123456789)",
            ["AB-C a b ac 12"],
        ),
        ("run $(echo abcd | tr abc xy)", ["xyyd"]),
        ("run a > $OUT/logs/$tag.log 2>&1 &\nrun b >> $OUT/$tag.log c", ["a", "b c"]),
        (
            "run $(echo a:b:c | cut -d: -f2) $(echo a,b | cut -d ',' -f 1) $(echo abc | cut -d: -f2) $(echo a:b | cut -f1 -d:)",
            ["b a abc a"],
        ),
        ("run $(echo a,b,c | awk -F, '{print NF}') $(echo a b c | awk '{print $2}') $(echo a:b | awk -F ':' '{print $NF}')", ["3 b b"]),
        ("run $(echo | awk -F, '{print NF}')", ["0"]),
        (
            'L=\'a\nb\nc\'; run $(echo "$L" | head -n 1) $(echo "$L" | head -2) $(echo "$L" | tail -1) $(echo "$L" | tail -n 2)',
            ["a a b c b c"],
        ),
        ("run $(seq 12 | head | tail -n 1) $(seq 12 | tail | head -1)", ["10 3"]),
        ("run $(printf '%s-%d' a 3) $(printf '%s,' a b c) $(printf plain) $(printf 'x%sy')", ["a-3 a,b,c, plain xy"]),
        ("run $(echo aXbXc | sed 's/X/-/') $(echo aXbXc | sed 's/X/-/g') $(echo a/b | sed 's#/#:#')", ["a-bXc a-b-c a:b"]),
        ("a=(p q r); unset 'a[1]'; run ${!a[@]} ${#a[@]}; unset \"a[2]\"; run ${!a[@]}", ["0 2 2", "0"]),
        ("declare -i n=4; m=$n; n=$m; run $n; n=-3; run $n; n=m+1; run $n", ["4", "-3", "<?>"]),
        ("run $(echo q | cat) $(echo r | xargs)", ["q r"]),
        ("run $(echo a >&2; echo b) $(echo c >/dev/null; echo d 2>&1) $({ echo e; } &>/dev/null; echo f >&1)", ["b d f"]),
        ("run $(ask a 2>&1 >/dev/tty) $(ask b 3>&1 1>&2 2>&3)", ["<?> <?>"]),
        ("f() { echo note 1>&2; (echo x > /dev/null) 2>/dev/null; echo $((3 + 1)); }; run --n=$(f)", ["--n=4"]),
        (
            "run $(basename /a/b/) $(basename /a/b.sh .sh) $(basename .sh .sh) $(dirname /a/b) $(dirname a) $(dirname /a)"
            " $(dirname -- a/b) $(basename -- a/b)",
            ["b b .sh /a . / a b"],
        ),
        ("run $(seq 3) $(seq 2 4) $(seq 6 -2 1) $(seq 3 1)", ["1 2 3 2 3 4 6 4 2"]),
        ("run $(echo -n a) $(echo -e b) $(echo $(echo c))", ["a b c"]),
        ("A=(a b c); run ${A[0]} ${A[-1]} ${#A[@]} ${A[@]:1} ${A[@]:0:2}", ["a c 3 b c a b"]),
        ('A=(a b c); A+=(d); A[1]=x; run "${A[@]}"', ["a x c d"]),
        ("A=1; unset A; run x$A", ["x"]),
        ('a[5]=x; run "${#a[@]}" "${!a[@]}" "${a[@]}" "${a[2]}-" "${a[2]-none}"', ["1 5 x - none"]),
        (
            'a=(p q); a[4]=r; a+=(s); run ${!a[@]} ${a[@]:1:2} ${a[-1]} ${#a[3]} ${#a[4]} ${a[@]/r/t} "${a[*]:-d}"',
            ["0 1 4 5 q r s 0 1 p q t s p q r s"],
        ),
        ("a=(1 2 3); run ${a[7]}x ${a[7]:-d}", ["x d"]),
        ("f() { local A; run in${A-unset}; A=2; run $A; local A; run $A; }; A=1; f; run $A", ["inunset", "2", "2", "1"]),
        ("f() { local -a A; run ${#A[@]}; }; A=(1 2); f; run ${A[@]}", ["0", "1 2"]),
        ("f() { declare A; run in${A-unset}; }; A=1; f; declare A; run $A", ["inunset", "1"]),
        ("f() { run $# ${1-none}; }; unset U; f $U; f \"$U\"; U='a b'; f $U", ["0 none", "1", "2 a"]),
        ("run $?; true; run $?; test 1 -eq 1; run $?", ["0", "0", "0"]),
        ("f() { [ $# -eq 0 ] && run none; [ $# -eq 1 ] && run $1; }; f $NOTHING; f a $NOTHING", ["none", "a"]),
        ("A=1; B=A; run ${!B}", ["1"]),
        ("P=/a/b/c.tar.gz; run ${P##*/} ${P#*/} ${P%%.*} ${P%.*} ${P%/*}", ["c.tar.gz a/b/c.tar.gz /a/b/c /a/b/c.tar /a/b"]),
        ("run ${U:-d} ${U-d} ${U:+s}x; A=; run ${A:-e} x${A-e} ${A:+s}x ${A+s}", ["d d x", "e x x s"]),
        (": ${N:=5}; run $N", ["5"]),
        (
            "run $((7 / 2)) $((-7 / 2)) $((7 % 3)) $((2 ** 3 ** 2)) $((1 << 4)) $((0x10)) $((010)) $((5 & 3 | 8 ^ 1))",
            ["3 -3 1 512 16 16 8 9"],
        ),
        ("run $((3 > 2)) $((3 <= 2)) $((1 && 0)) $((1 || 0)) $((!1)) $((~5)) $((1 ? 2 : 3)) $((2, 3))", ["1 0 0 1 0 -6 2 3"]),
        ('A=(8 2); run $[128/(1*8*4)] $[ ${A[0]} / ${A[1]} ]b "$[ 3 - 1 ]"; B=$[A*5]; run $B', ["4 4b 2", "40"]),
        ('let "A = 4 * 2"; run $A', ["8"]),
        ("A=4; ((A++)); run $A; ((A *= 2)) && run $A; A=$(unknown); ((A += 1)); run $A", ["5", "10", "<?>"]),
        ("i=0; while ((i < 2)); do run $i; ((i++)); done", ["0", "1"]),
        ("for ((i = 0, j = 1; i < 3; i++)); do ((j += i)); done; run $j", ["4"]),
        ("A=(1 2); A[0]+=5; B=1; B[1]=2; declare -A M=([k]=a); M[k]+=b; run ${A[@]} ${B[@]} ${M[k]}", ["15 2 1 2 ab"]),
        ("A=(a.py b.py); run ${A[@]%.py} ${A[@]/a/x} ${A[@]^^}", ["a b x.py b.py A.PY B.PY"]),
        ("f() { declare A=2; typeset B=2; declare -g C=2; }; A=1; B=1; C=1; f; run $A $B $C", ["1 1 2"]),
        ("[[ ! a == b ]] && run 1; [ ! 1 = 1 ] && run 2; [[ ! 2 -gt 3 ]] && run 3", ["1", "3"]),
        ("export A=1 B=2; run $A $B", ["1 2"]),
        ("readonly R=3; run $R", ["3"]),
        ("if [[ abc == a* ]]; then run glob; fi; if [[ abc =~ ^a.c$ ]]; then run regex; fi", ["glob", "regex"]),
        ("if [[ 3 -lt 4 && a != b ]]; then run both; fi; if [[ 3 -lt 4 || a != a ]]; then run either; fi", ["both", "either"]),
        (
            "if ! [ 1 -eq 2 ]; then run negated; fi; if ! false; then run notfalse; fi; if true; then run t; fi",
            ["negated", "notfalse", "t"],
        ),
        ("if (( 3 > 2 )); then run arithmetic; fi", ["arithmetic"]),
        ("[ 1 -eq 1 ] && run and; [ 1 -eq 2 ] && run never; [ 1 -eq 2 ] || run or", ["and", "or"]),
        ("test 1 -le 1 && run t1; test a != a || run t2", ["t1", "t2"]),
        ("A=1; (A=2; run $A); run $A", ["2", "1"]),
        ("A=1; { A=2; run $A; }; run $A", ["2", "2"]),
        ("f() { return 1; }; f || run failed; g() { return 0; }; g && run fine", ["failed", "fine"]),
        ('f() { run $1 $# "$*"; shift; run "$@"; }; f a "b c" d', ["a 3 a b c d", "b c d"]),
        ("for i in 1 2 3; do [ $i -eq 2 ] && continue; run $i; done", ["1", "3"]),
        ("for i in 1 2 3; do [ $i -eq 2 ] && break; run $i; done", ["1"]),
        ("i=0; while [ $i -lt 3 ]; do run $i; i=$((i + 1)); done", ["0", "1", "2"]),
        ('set -- a b c; P=(); while [ $# -gt 0 ]; do P+=("$1"); shift; done; run "${P[@]}"', ["a b c"]),
        ("for ((i = 0, j = 5; i < 2; i++, j--)); do run $i $j; done", ["0 5", "1 4"]),
        ("for a in x y; do for b in 1 2; do run $a$b; done; done", ["x1", "x2", "y1", "y2"]),
        ('for f in a b; do run "$f"; done > log', ["a", "b"]),
        ("set -- a b c; run $# $1 $3; shift 2; run $1", ["3 a c", "c"]),
        ('set -- "x y" z; for a in "$@"; do run "$a"; done; run "$*"', ["x y", "z", "x y z"]),
        ("printf -v V '%s-%s' a b; run $V", ["a-b"]),
        ('read a b <<< "1 2 3"; run $a "$b"', ["1 2 3"]),
        ('A="1 2"; B=($A); run ${#B[@]} ${B[1]}', ["2 2"]),
        ("IFS=','; A=\"1,2\"; run $A", ["1 2"]),
        ("declare -A M; M[a]=1; M[b]=2; run ${M[a]} ${#M[@]}", ["1 2"]),
        ("declare -A M=([x]=9); k=x; run ${M[$k]}", ["9"]),
        ('eval "run a b"', ["a b"]),
        ("A='run x'; $A; eval $A y", ["x", "x y"]),
        ("cat <<EOF | wc -l\na\nEOF\nrun after", ["after"]),
        ("run - <<'E' a\nx\nE\nrun b - <<E c\nx\nE", ["- a", "b - c"]),
        (
            "cat <<EOF>x\nEO\nEOF\nrun a; cat <<-EOF|wc -l\na\n\tEOF\nrun b; cat <<EOF;run c\na\nEOF\nAB=2; run $((1<<AB))",
            ["a", "b", "c", "4"],
        ),
        ("echo skipped > /dev/null; run a 2>&1 | tee log", ["a"]),
        ("run {a,b}{1,2} {1..3} {a..c} {3..1} {1..5..2} a{,b}", ["a1 a2 b1 b2 1 2 3 a b c 3 2 1 1 3 5 a ab"]),
        ('run "a b" \'c d\' e\\ f "$(echo g h)" $(echo i j)', ["a b c d e f g h i j"]),
        ('A=$(echo "a b"); run $A "$A"', ["a b a b"]),
        ("A=`echo q`; run $A", ["q"]),
        ('run ~x "~" a~', ["~x ~ a~"]),
        ('A="x"; A+="y"; run $A; N=1; N+=2; run $N', ["xy", "12"]),
        ("trap 'echo bye' EXIT; run trapped", ["trapped"]),
        ("set -e; run strict; set +e", ["strict"]),
        ("alias ll=ls; run alias", ["alias"]),
        ("run a; exit 0; run never", ["a"]),
        ("f() { run in; exit; }; f; run never", ["in"]),
        ("A=5 B=6; run $A$B", ["56"]),
        ("unset -f f; run x", ["x"]),
        ('[[ -n "a" ]] && run n1; [[ -z "a" ]] && run n2; [[ "a" < "b" ]] && run lt', ["n1", "lt"]),
        ('A=(1 2 3); for x in "${A[@]}"; do run $x; done; run "${!A[@]}"', ["1", "2", "3", "0 1 2"]),
        ('A=a.b.c; run ${A//./-} ${A/./} "${A%%.*}" "${A##*.}"', ["a-b-c ab.c a c"]),
        ("declare A=1; typeset B=2; run $A $B", ["1 2"]),
        ('f() { echo out; }; run $(f) "$(f)x"', ["out outx"]),
        ("f() { echo $1; }; A=$(f z); run $A", ["z"]),
        ("source /dev/null; run s; . /dev/null; run d", ["s", "d"]),
        ('A="--x 1"; run $A --y; run ${A}z', ["--x 1 --y", "--x 1z"]),
        ("exec run final", ["final"]),
        ("! run negated", ["negated"]),
        ("A=10; [ $A -ge 10 ] && B=big || B=small; run $B", ["big"]),
        ("A=1; [[ $A == 1 ]] && run one; [[ $A != 1 ]] && run two; [[ $A -eq 1 && -n $A ]] && run three", ["one", "three"]),
        ("select_() { run sel; }; select_", ["sel"]),
        ('set -- a b c; run ${@:2} ${*:1:1} "${@:2:1}"; run $@ "$*"', ["b c a b", "a b c a b c"]),
        (
            "A=abcabc; run ${A/b/X} ${A//b/X} ${A/#abc/Y} ${A/%abc/Z} ${A//[ab]/_} ${A/z/q} ${A//b}",
            ["aXcabc aXcaXc Yabc abcZ __c__c abcabc acac"],
        ),
        ('A="a b"; run "${A:-x y}" ${U:-"x y"} "${U:-x $A}"', ["a b x y x a b"]),
        ('A=(1 2); run ${A[@]+"${A[@]}"} x${U[@]+y} ${A[*]:-z}', ["1 2 x 1 2"]),
        ("while :; do run once; break; done", ["once"]),
        ("while true; do run once; break; done; until false; do run u; break; done", ["once", "u"]),
        ("for i in 1 2; do for j in a b; do [ $j = b ] && continue 2; run $i$j; done; done", ["1a", "2a"]),
        ("for i in 1 2; do for j in a b; do [ $i = 2 ] && break 2; run $i$j; done; done", ["1a", "1b"]),
        (
            '[[ abc == *b* ]] && run g1; [[ abc == "a*" ]] || run g2; [[ abc != b* ]] && run g3; [[ a.c =~ ^a\\.c$ ]] && run re',
            ["g1", "g2", "g3", "re"],
        ),
        ("[[ 2 -gt 1 ]] && run gt; [[ 2 -ge 3 ]] || run ge; [[ 1 -ne 2 ]] && run ne; [[ b > a ]] && run sgt", ["gt", "ge", "ne", "sgt"]),
        (
            '[ "a" = "a" ] && run eq; [ "a" != "a" ] || run neq; [ ! "" ] && run emp; [ x ] && run non; [ -n "x" ] && run n',
            ["eq", "neq", "emp", "non", "n"],
        ),
        ("f() { local A=1; g; run $A; }; g() { A=2; }; A=0; f; run $A", ["2", "0"]),
        ('f() { echo a; echo b; }; for x in $(f); do run $x; done; run "$(f | tail -n 1)"', ["a", "b", "b"]),
        ("A=$(cat <<< hello); run $A; B=$(printf '%s\\n' a b | head -1); run $B", ["hello", "a"]),
        ("{ A=1; run $A; } > log; ( run sub ); run $A", ["1", "sub", "1"]),
        (
            'case "a b" in "a b") run q;; esac; X=a*; case abc in $X) run glob;; esac; case \'a*\' in "$X") run lit;; esac',
            ["q", "glob", "lit"],
        ),
        ('run a"b"\'c\'d ""x\'\' "" y', ["abcd x  y"]),
        ("run {1..3}{a,b} {a,b{1,2}} {5..1..2} {a,} {a} {,} x{1,2}y", ["1a 1b 2a 2b 3a 3b a b1 b2 5 3 1 a {a} x1y x2y"]),
        ("A=1 B=$A; run $A $B; A=2 true; run $A", ["1 1", "1"]),
        ("export A=1; unset A; run ${A-gone}; readonly B=2; run $B; declare C; run ${C-none}", ["gone", "2", "none"]),
        ('A="-a 1"; B=\'-b "2 3"\'; run $A; eval run $B', ["-a 1", "-b 2 3"]),
        ("shift_() { shift; run $1; shift 2; run $1; }; shift_ a b c d", ["b", "d"]),
        ("set -- $(echo 1 2 3); run $2; set --; run $#", ["2", "0"]),
        ('A=(a "b c"); printf -v X \'%s,\' "${A[@]}"; run "$X"', ["a,b c,"]),
        ('IFS=:; A=(a b c); run "${A[*]}"; unset IFS; run "${A[*]}"', ["a:b:c", "a b c"]),
        ('IFS=, read -ra L <<< "1,2,3"; run ${#L[@]}', ["3"]),
        ('read -r A B C <<< "x y"; run $A $B "$C"', ["x y "]),
        ("run a; return_() { return; run never; }; return_; run b", ["a", "b"]),
        ("true || run no; false && run no; false || true && run yes", ["yes"]),
        (': "${D:=7}"; run $D; run "${D:?msg}" ${D:+alt}', ["7", "7 alt"]),
        ('A=\'a  b\'; run $A; run "$A"; B="$A c"; run $B', ["a b", "a  b", "a b c"]),
        ("A=1.5; run ${A%.*} ${A#*.} ${A/./_}; P=./x/../y.sh; run ${P##*/} $(basename $P .sh) $(dirname $P)", ["1 5 1_5", "y.sh y ./x/.."]),
    ],
)
def test_what_is_started(text, expected):
    assert started(text) == expected


@each_case(
    ("text", "expected"),
    [
        ("if [ 3 -gt 2 ]; then run yes; else run no; fi", ["no", "yes"]),
        ('if [ -z "$U" ]; then run z; fi; if [ -n "$U" ]; then run n; fi', ["z", "n"]),
        ("case abc in a*) run one;; b*) run two;; esac", ["two", "one"]),
        ('case "" in ?) run q;; *) run none;; esac', ["q", "none"]),
        ("while [ $# -gt 0 ]; do case $1 in -a) run a; shift;; *) run other; shift;; esac; done", ["a", "other"]),
        ("run $(realpath /a/../b) $(readlink -f /a/./b)", ["/b /a/b"]),
        ("A=hello; run ${A^[h]}", ["<?>"]),
        ("run $(hostname) $(date +%s) $(nvidia-smi -L | wc -l)", ["<?> <?> <?>"]),
        ('P=`which tool`\nrun "$P" $(command -v a) $(type -P b) $(command a)', ["<?>/tool <?>/a <?>/b <?>"]),  # where they are installed
        (
            "run $(expr a + 1) $(echo 'scale=2; 1/3' | bc) $(wc -l file) $(echo a | tr a-f b) $(echo a | awk '/a/')",
            ["<?> " * 4 + "<?>"],
        ),
        (
            "run $(echo a | sed 's/./x/') $(echo a | sed s/a/b/w) $(seq 1 0 2) $(basename) $(cat file) $(echo a | cut -c1)",
            ["<?> " * 5 + "<?>"],
        ),
        ("set -- a; run ${#@} ${!#}", ["<?> <?>"]),
        ("A=3; run $((A[0] + 1)) $((A <<= 1))", ["<?> <?>"]),
        ("A=b; case $A in a) run a;; b) run b;& c) run c;; esac", ["a", "c", "b"]),
        ("A=1; if [ $A -eq 1 ]; then run x; elif [ $A -eq 2 ]; then run y; else run z; fi", ["y", "z", "x"]),
        ("run $U ${U}x ${A[1]} ${U%x} $((U + 1))", ["<?> <?>x <?> <?> <?>"]),
        ("for x in $U; do run $x; done; while read l; do run $l; done < list", ["<?>", "<?>"]),
        ("cd $U; run $(pwd)", ["<?>"]),
    ],
)
def test_what_is_not_known(text, expected):
    assert started(text) == expected


@each_case(
    ("text", "expected"),
    [
        ("f() { run $# $1 $2; }; f $U b", ["<?> <?> <?>"]),
        ("f() { run $# $1 $2; }; f a $U", ["<?> a <?>"]),
        ('f() { run $# "$1" $2; }; f "$U" b; f x$U b', ["2 <?> b", "2 x<?> b"]),
        ('f() { run $#; }; f "${U:?x}" b; f ${U:?x} b', ["2", "<?>"]),
        ('f() { run $#; }; f "${A[*]}" b; f ${A[@]} b', ["2", "<?>"]),
        ("false; run $?; [ 1 -eq 2 ]; run $?; ((1 > 2)); run $?", ["<?>", "<?>", "<?>"]),
        ("[ -f $ANY ]; run $?; run a; run $?", ["<?>", "a", "0"]),
        ("f() { return 3; }; f; run $?; f || run failed; g() { return 0; }; g; run $?; g && run fine", ["<?>", "failed", "0", "fine"]),
        ("f() { return $(other); }; f; run $?; f && run perhaps", ["<?>", "perhaps"]),
        ("f() { run a; }; false; f; run $?", ["a", "0"]),
    ],
)
def test_what_hangs_on_the_caller_or_on_a_failed_command_is_not_known(text, expected):
    """An unset variable without quotes is no argument, and a set one is."""
    assert started(text) == expected


MAYBE = '[ "$(date)" = x ]'


@each_case(
    ("text", "expected"),
    [
        (f"A=(a b)\nif {MAYBE}; then A+=(c); fi\nrun ${{#A[@]}} ${{A[0]}}", ["<?> a"]),
        (f"A=(a b)\nif {MAYBE}; then A=(a b); fi\nrun ${{#A[@]}} ${{A[0]}}", ["2 a"]),
        (f"set -- a b\nif {MAYBE}; then set -- c; fi\nrun $# $1", ["<?> <?>"]),
        (f"set -- a b\nif {MAYBE}; then set -- c d; fi\nrun x $@", ["x <?>"]),
        (f"n=1\nfor i in 1 2 3; do\n  if {MAYBE}; then break; fi\n  n=$i\ndone\nrun $n", ["<?>"]),
        (f"n=1\nfor i in 1 2 3; do\n  if {MAYBE}; then continue; fi\n  n=5\ndone\nrun $n", ["<?>"]),
        (f"n=1\nfor i in 1 2 3; do\n  if {MAYBE}; then n=3; break; fi\n  n=3\ndone\nrun $n", ["3"]),
        (f"n=1\nwhile {MAYBE}; do\n  n=2\n  continue\ndone\nrun $n", ["<?>"]),
        ("n=1\nfor i in $(date); do\n  n=2\n  break\ndone\nrun $n", ["<?>"]),
        (f"n=1\nf() {{\n  if {MAYBE}; then n=2; return; fi\n}}\nf\nrun $n", ["<?>"]),
        (f"n=1\nf() {{\n  if {MAYBE}; then return; fi\n  n=2\n}}\nf\nrun $n", ["<?>"]),
        (f"n=1\nf() {{\n  if {MAYBE}; then n=2; return; else n=2; return 1; fi\n}}\nf\nrun $n", ["2"]),
        (f"n=1\nif {MAYBE}; then\n  n=2\n  exit\nfi\nrun $n", ["1"]),
        ("n=1 r=no\nif [[ -v n ]]; then r=yes; fi\nrun $r", ["yes"]),
        ("unset n; r=no\nif [[ -v n ]]; then r=yes; fi\nrun $r", ["no"]),
        (f"unset n; r=no\nif {MAYBE}; then n=1; fi\nif [[ -v n ]]; then r=yes; fi\nrun $r", ["<?>"]),
        ("r=no\nif [[ -v FROM_THE_CALLER ]]; then r=yes; fi\nrun $r", ["no"]),
    ],
)
def test_what_a_branch_leaves_before_it_changes_is_unknown(text, expected):
    assert started(text) == expected
