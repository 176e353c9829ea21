"""All combinations of operators and operands, drawn from grids: cfglint understands each as bash does."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import product

import pytest

from bash import check

VALUES = [
    *("unset V", "V=", "V=abc", "V='two words'", "V=' lead  trail '", "V=a/b/c.tar.gz", "V=aXbXa"),
    *("V=(x y z)", "V=()", "V=([2]=p [5]=q)", "V=('a b' c '')", "V=('')", "V=('' '')", "V=(a [3]=b c)", "declare -A V=([k]=one)"),
]
DEFAULTS = [f"{sign}{word}" for sign, word in product("-+", ("", "d", "'q r'", "s t", '"u  v"', "$W", '"$W"', "$W'$W'"))]
SLICES = [":0", ":1", ":2:1", ": -2", ": -2:1", ":9", ":0:0", "::", "::2", ": -9", ":1:9", ": 1 : 2", ":N", ":$N:N-1", ":$((N-1))"]
CUTS = [
    *map("".join, product(("#", "##", "%", "%%"), ("", "a", "*", "*X", "X*", "*/", "/*", ".*", "?", "a*b", "[ab]", '"*"', "$P", '"$P"')))
]
REPLACED = [
    *map(
        "/{}{}{}".format,
        *zip(*product(("", "/", "#", "%"), ("", "X", "?", "*", "[aX]", "'a'", "$P"), ("", "/-", "/'r s'", "/$W")), strict=True),
    )
]
CASES = ["////-", "^^", ",,", "^", ",", "@Q", "@U", "@L", "@u"]
OPERATORS = ["", *DEFAULTS, *(f":{each}" for each in DEFAULTS), *SLICES, *CUTS, *REPLACED, *CASES]


def expansions() -> Iterable[str]:
    """`${name...}` of every kind of value."""
    for value, form, operator, quote in product(VALUES, ("V", "V[@]", "V[*]", "V[1]", "V[k]"), OPERATORS, ("", '"')):
        keyed = value.startswith("declare")
        if (form == "V[k]") <= keyed and not (keyed and (form == "V[1]" or ("[" in form and operator in SLICES))):
            yield f"W='w  v' P='*b' N=2; unset V; {value}; run {quote}${{{form}{operator}}}{quote} x"


def assigned() -> Iterable[str]:
    """`${name=word}`, and what the variable is afterwards."""
    for value, colon, word, quote in product(VALUES, ("", ":"), ("", "d", "'q r'", "s t", '"u  v"', '"$W"'), ("", '"')):
        if not value.startswith("declare"):
            yield f'W="w  v"; unset V; {value}; run {quote}${{V{colon}={word}}}{quote} "$V" "${{V[@]}}" x'


def parameters() -> Iterable[str]:
    """`$@`, `$*`, `$1` and their operators."""
    for given, form, operator, quote in product(("", "''", "a 'b c' d", "'' ''", "x/y aXa"), "@*12", OPERATORS, ("", '"')):
        yield f"W='w  v' P='*b' N=2; set -- {given}; run {quote}${{{form}{operator}}}{quote} x"


def counts() -> Iterable[str]:
    """Lengths, indexes, what a name points to."""
    for value, word, quote in product(VALUES, ("${#V}", "${#V[@]}", "${#V[*]}", "${!V[@]}", "a${V}b", "${V}$V", "$V-${V[@]}-"), ("", '"')):
        yield f"unset V; {value}; run {quote}{word}{quote} x"


def joins() -> Iterable[str]:
    """Words next to others, with separators of every kind."""
    for value, separators, word in product(
        ("V=", "V=a:b", "V=' a : b '", "V=::a", "V='a  b'", "V=(p 'q r' s)"),
        ("unset IFS", "IFS=:", "IFS=' :'", "IFS=", "IFS=x"),
        ("$V", '"$V"', "x$V", "$V'y'", '"${V[@]}"', '"${V[*]}"', "${V[*]}", '"x${V[@]}y"', 'x"${V[@]}"$V', "$V$V", '""$V', '$V""'),
    ):
        yield f"{separators}; unset V; {value}; run {word} x; unset IFS"


def arithmetic() -> Iterable[str]:
    """Every operator between numbers, and expressions of three operators."""
    numbers = ("0", "1", "-1", "7", "-7", "3", "010", "0x1f", "2#101", "N", "M")
    operators = ("+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||", "<<", ">>", "**")
    for left, operator, right in product(numbers, operators, numbers):
        if operator in ("<<", ">>", "**"):
            yield f"N=5 M=-2; run $(({left} {operator} {abs(numbers.index(right) - 2)}))"
        elif operator not in "/%" or right != "0":
            yield f"N=5 M=-2; run $(({left} {operator} {right}))"
    plain = [each for each in operators if each not in ("<<", ">>", "**", "/", "%")]  # with others a number may be too large
    for first, second, third in product((*plain, "**"), (*plain, "/"), plain):
        yield f"N=5; run $((-N {first} 2 {second} 3 {third} 4)) $((!N {third} ~N {second} -N {first} 1))"
    for change in ("N++", "++N", "N--", "--N", "N=4", "N+=3", "N-=3", "N*=3", "N/=3", "N%=3", "N=M=6", "N,M", "N?2:3", "!N?2:3", "(N+1)*2"):
        for after in ("", "+1", "*2", ",N+1", "?N:0"):
            yield f"N=5; M=0; run $(({change}{after})) $N $M"
            yield f"N=5; M=0; (({change}{after})); run $N $M"


def conditions() -> Iterable[str]:
    """Every test of `[ ]` and `[[ ]]`, joined and negated."""
    words = ("''", "a", "b", "ab", "10", "9", "-1", '"$A"', '"$E"')
    texts = [f"{left} {sign} {right}" for left, sign, right in product(words, ("=", "==", "!="), words)]
    numbers = ("10", "9", "-1", "$N", "0")
    texts += [f"{left} -{sign} {right}" for left, sign, right in product(numbers, ("eq", "ne", "lt", "le", "gt", "ge"), numbers)]
    texts += [f"-{sign} {word}" for sign, word in product("zn", words)]
    yield from (shown(f"[ {negated}{text} ]") for text, negated in product(texts, ("", "! ")))
    order = [f"{left} {sign} {right}" for left, sign, right in product(("a", "b", "ab", "B"), "<>", ("a", "b", "ab"))]
    patterns = ("a*", "?b", "[ab]", '"a*"', "$P", '"$P"', "*", "''")
    likes = [f"{word} {sign} {pattern}" for word, sign, pattern in product(("ab", "a", "b", "''", "'a*'"), ("==", "!="), patterns)]
    finds = [
        f"{word} =~ {pattern}"
        for word, pattern in product(("ab", "aab", "b", "10"), ("^a", "b$", "^a+b$", "[0-9]+", "a.", "'a.'", "(a|1)"))
    ]
    yield from (shown(f"[[ {negated}{text} ]]") for text, negated in product((*texts, *order, *likes, *finds), ("", "! ")))
    yes, no = "a = a", "a = b"
    for first, second, third in product((yes, no), repeat=3):
        for join, other in product(("&&", "||"), repeat=2):
            yield shown(f"[[ {first} {join} {second} {other} {third} ]]")
            yield shown(f"[[ {first} {join} ( {second} {other} ! {third} ) ]]")
            yield shown(f"[ {first} ] {join} [ {second} ] {other} ! [ {third} ]")
            old = {"&&": "-a", "||": "-o"}
            yield shown(f"[ {first} {old[join]} {second} {old[other]} {third} ]")
    yield from (shown(f"[[ -v {name} ]]") for name in ("A", "NONE", "E"))
    yield from (shown(f"(({text}))") for text in ("1", "0", "N > 5", "N < 5", "N == 10", "!N", "N - 10"))


def shown(test: str) -> str:
    return f"A=a E= N=10 P='a*'; unset NONE; if {test}; then run yes; else run no; fi"


def matched() -> Iterable[str]:
    """`case` with several patterns, of which the first that fits counts."""
    patterns = ("a", "a*", "*b", "?", "[a-c]", "''", '"*"', "a|b", "$P", "b|*", "[!a]*")
    for word, first, second in product(("a", "ab", "''", "c", "'*'", "xb"), patterns, patterns):
        yield f"P='?b'; case {word} in {first}) run 1;; {second}) run 2;; *) run 3;; esac"


def braces() -> Iterable[str]:
    """Brace expansion: lists, ranges, nested and joined."""
    parts = (
        "{a,b}",
        "{1..3}",
        "{3..1..2}",
        "{a..c}",
        "{08..10}",
        "{-1..1}",
        "{x}",
        "{,y}",
        "{a,{b,c}}",
        '{"p q",r}',
        "${A}",
        "'{1,2}'",
        "{1..a}",
        "a{b",
    )
    yield from (f"A=v; run {first}{second} x" for first, second in product(parts, parts))


def loops() -> Iterable[str]:
    """Loops with `break` and `continue`, in each other."""
    heads = [
        ("for i in 1 2 3; do", ""),
        ("for ((i = 1; i <= 3; i++)); do", ""),
        ("i=0; while [ $i -lt 3 ]; do i=$((i + 1))", ""),
        ("i=0; until ((i >= 3)); do ((i++))", ""),
        ("for i in {3..1}; do", ""),
    ]
    leaves = ("", "break", "continue", "break 2", "continue 2", "return")
    for (outer, _), (inner, _), leave, test in product(heads, heads, leaves, ("$i -eq 2", "$j -eq 2", "$i -ne $j", "$i$j -gt 22")):
        within = inner.replace("i++", "j++").replace("i", "j").replace("jn ", "in ").replace("whjle", "while").replace("untjl", "until")
        end = f"[ {test} ] && {leave};" if leave else ""
        yield f't=; f() {{ {outer}; {within}; {end} t="$t $i$j"; done; t="$t,"; done; t="$t."; }}; f; run "$t" $i $j'.replace("do;", "do")


def tools() -> Iterable[str]:
    """Small text tools between `$(` and `)`."""
    yield from (
        f"run $({name} {path})"
        for name, path in product(("basename", "dirname"), ("a", "/a", "a/b", "/a/b/", "a.sh", "/", "a//b", ".", "./a.b.c"))
    )
    yield from (
        f"run $(basename {path} {end})" for path, end in product(("a.sh", "/x/a.tar.gz", ".sh", "b"), (".sh", ".gz", "b", ".tar.gz"))
    )
    yield from (f"run $(seq {each})" for each in ("3", "0", "2 4", "4 2", "1 2 6", "6 -2 1", "-1 1", "1 1"))
    yield from (
        f"run $(echo {text} | tr {sets})"
        for text, sets in product(
            ("abcab", "a,b", "AbC"), ("a b", "-d a", "-cd ab", "a-z A-Z", "A-Z a-z", "ab xy", "abc x", ", -", "-dc a,")
        )
    )
    yield from (
        f"run $(echo {text} | cut {how})"
        for text, how in product(("a:b:c", "a,b", "plain"), ("-d: -f1", "-d: -f 2", "-d ',' -f2", "-f1 -d:", "-f 2 -d ,"))
    )
    yield from (
        f"run $(echo {text} | awk {how})"
        for text, how in product(
            ("a b c", "a:b:c", "x"), ("'{print $1}'", "'{print NF}'", "'{print $NF}'", "-F: '{print $1}'", "-F : '{print NF}'")
        )
    )
    text = "printf '%s\\n' a 'b c' d e f g h i j k l m"
    yield from (f"run $({text} | {name} {how})" for name, how in product(("head", "tail"), ("-n 1", "-n2", "-3", "", "-n 20", "-1")))
    yield from (f"run $({text} | wc {each})" for each in ("-l", "-w", "-c"))
    yield from (f"run $(echo aXbX | sed {each})" for each in ("s/X/-/", "s/X/-/g", "'s/X//'", "s#a#/#", "s/q/r/", "'s|bX|y z|'"))
    yield from (
        f'run "$(printf {each})"'
        for each in (
            "a",
            "'%s-%s' a b",
            "'%s,' a b c",
            "'%d' 7",
            "'%02d' 7",
            "'%03d' 12",
            "'a\\nb'",
            "'%s %s,' a b c",
            "%s",
            "'%s\\t%s' a b",
        )
    )
    yield from (f"run $(expr {each})" for each in ("1 + 2", "7 / 2", "7 % 4", "2 \\* 3", "9 - 10"))
    yield from (f"run $(echo '{each}' | bc)" for each in ("1 + 2", "7 / 2", "2 * 3", "(1 + 2) * 3"))
    yield from (
        f"run {each}"
        for each in (
            "$(echo a b | cat)",
            "$(echo -n a)",
            "$(echo 'a  b')",
            "\"$(echo 'a  b')\"",
            '"$(echo)"x',
            "$(echo $(echo a))",
            "`echo a`b",
        )
    )


def reads() -> Iterable[str]:
    """`read` and `mapfile` from here-strings, with names and separators of every number."""
    lines = ("", "a", "a a b", " a  b c ", "a,b,c", "a,,b", ",a", "a b,c d")
    for line, names, separators in product(lines, ("A", "A B", "A B C", "-r A B", "-a L", "-ra L"), ("", "IFS=, ", "IFS= ", "IFS=' ,' ")):
        yield f'unset A B C L; {separators}read {names} <<< \'{line}\'; run "$A" "$B" "$C" "${{L[@]}}" ${{#L[@]}}'
    for line, options in product(("a b", "a\\nb", "a\\n\\nb c\\n", ""), ("-t", "-t")):
        yield f"mapfile {options} L <<< $'{line}'; run ${{#L[@]}} \"${{L[@]}}\""


def declarations() -> Iterable[str]:
    """What declarations, assignments and `unset` leave behind, in a function and outside."""
    before = ("unset V", "V=1", "V=(1 2)", "V=a", "declare -A V=([1]=k)")
    steps = (
        *(
            "V=3",
            "V+=3",
            "V+=(3 4)",
            "V[1]=3",
            "V[1]+=3",
            "V=(3 4)",
            "V=()",
            "unset V",
            "unset 'V[1]'",
            "unset 'V[0]'",
            "export V",
            "export V=3",
        ),
        *(
            "declare V",
            "declare V=3",
            "declare -a V",
            "local V",
            "local V=3",
            "local -a V=(3)",
            "typeset V=3",
            "declare -g V=3",
            "V= true",
            "V=3 true",
        ),
        *(
            "V+=([4]=5 6)",
            "V=([2]=x y)",
            "printf -v V %s-%s 3 4",
            "let V=3",
            "((V=3))",
            ": ${V=3}",
            "read V <<< 3",
            "eval V=3",
            "(V=3)",
            "{ V=3; }",
        ),
    )
    for first, step in product(before, steps):
        if "A V" not in first or not any(
            each in step for each in ("+=(", "V=(", "V=([", "((", "let", "-a V", "read", ":", "printf", "V+=3", "=3")
        ):
            shown = '"${V-none}" "${V[@]}" ${#V[@]} ${!V[@]}'
            yield f'unset V; {first}; f() {{ {step}; I=("${{V-none}}" ${{#V[@]}}); }}; f; run "${{I[@]}}" {shown}'
            if "local" not in step:
                yield f"unset V; {first}; {step}; run {shown}"


def nested() -> Iterable[str]:
    """Quotes, brackets and substitutions within one another."""
    inner = (
        "a",
        "a b",
        "'a b'",
        '"a b"',
        "\\)",
        "')'",
        '"}"',
        "$(echo c)",
        '"$(echo "d e")"',
        "${U:-f}",
        '"${U:-"g h"}"',
        "$((1 + (2)))",
        "\\'",
        '"\\""',
    )
    outer = (
        "$(echo {})",
        '"$(echo {})"',
        "${{U:-{}}}",
        '"${{U:-$(echo {})}}"',
        "`echo {}`",
        "x$(echo $(echo {}))y",
        "${{A:+{}}}",
        "{}{}",
        "$(echo {} | cat)",
        "$( (echo {}) )",
    )
    for form, word in product(outer, inner):
        if not ("`" in form and ("\\" in word or '"' in word)):
            yield f"unset U; A=1; run {form.format(word, word)} x"


def followed() -> Iterable[str]:
    """Lists of commands joined by `&&`, `||`, `;` and negations, and functions with a status."""
    commands = ("true", "false", "! true", "! false", "yes", "no", "[ $N = 1 ]", "((N == 2))", "{ no; yes; }", "(no)", "[[ $N ]]")
    for first, join, second, other in product(commands, ("&&", "||"), commands, ("&&", "||")):
        yield f't=; N=1; yes() {{ t+=y; return 0; }}; no() {{ t+=n; return 1; }}; {first} {join} {second} {other} t+=x; run "$t"'
    for test, third in product(commands, commands):
        yield f"N=1; yes() {{ return 0; }}; no() {{ return 1; }}; if {test}; then t=1; elif {third}; then t=2; else t=3; fi; run $t"


def counted() -> Iterable[str]:
    """`for ((...))` with parts that are left out."""
    for first, second, third in product(("", "i = 1", "i = 0, j = 4"), ("", "i < 3", "i < j", "i <= 0"), ("", "i++", "i += 2", "i++, j--")):
        body = "[ $i -gt 4 ] && break; t+=$i" + ("; ((i++))" if not third else "")
        yield f't=; i=0; j=2; for (({first}; {second}; {third})); do {body}; done; run "$t" $i $j'


SAMPLES = {
    expansions: 2_000,
    parameters: 600,
    arithmetic: 800,
    conditions: 600,
    assigned: 200,
    counts: 150,
    joins: 250,
    matched: 200,
    braces: 150,
    loops: 120,
    counted: 100,
    tools: 200,
    reads: 200,
    declarations: 300,
    nested: 150,
    followed: 250,
}


@pytest.mark.parametrize("grid", SAMPLES, ids=lambda grid: grid.__name__)
def test_a_sample_of_a_grid(grid, tmp_path):
    lines = [*grid()]
    check(random.Random(1).sample(lines, min(SAMPLES[grid], len(lines))), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("grid", SAMPLES, ids=lambda grid: grid.__name__)
def test_the_whole_grid(grid, tmp_path):
    check([*grid()], tmp_path)
