"""Operators, methods and functions with operands of every kind: the evaluation of a program gives what Python gives."""

from __future__ import annotations

import warnings
from itertools import product

import pytest

from evaluated_programs import evaluated

TOGETHER = 40  # expressions of a program
PROGRAM = "n = 4\ns = 'abc'\nl = [3, 1, 2]\nd = {'a': 1, 'c': {'b': 2}}\n"
NUMBERS = ("0", "1", "-3", "7", "2.5", "-0.5", "True", "n", "None")
TEXTS = ("''", "'a'", "'ab/c.d'", "' x y '", "s")
LISTS = ("[]", "[1]", "[3, 1, 2]", "l")
SEQUENCES = (*LISTS, "(1, 'a')")
MAPPINGS = ("{}", "{'a': 1}", "{'a': {'b': 2}, 'c': 3}", "d")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "and", "or", "is", "is not")
METHODS = """
upper() lower() strip() strip('x') lstrip() rstrip('y') split() split('/') split('a',1) rsplit('.',1) replace('a','b') replace('a','b',1)
startswith('a') endswith('d') startswith(('x','a')) title() capitalize() count('a') find('/') join(['1','2']) isdigit() partition('/')
rpartition('.') zfill(4) format(1) removeprefix('a') removesuffix('d')
""".split()
FORMATS = r"""
'{} {}'.format(n, s)
'{0}-{1}-{0}'.format(n, s)
'%s' % n
'%.2f' % 1.5
f'{n}'
f'{s}-{n + 1}'
f'{1.5:.2e}'
f'{n}' f'{s}'
f'{s:>5}'
f'{{{n}}}'
""".strip().split("\n")
OTHERS = """
[x * 2 for x in l]
[x for x in l if x > 1]
{x: x + 1 for x in l}
[(a, b) for a in l for b in s]
sum(x for x in l)
[x for x in range(5) if x % 2]
{k: v for k, v in d.items()}
list(range(2, 10, 3))
list(range(5, 0, -2))
list(enumerate(l))
list(enumerate(l, 1))
list(enumerate(l, start=n))
list(zip(l, s))
dict(zip('ab', l))
{**d, 'z': 1}
{**d, 'a': 9}
dict(d, a=9)
dict(a=1, **{'b': 2})
n if l else s
s if not l else n
n if n > 3 < 5 else 0
1 < n < 5
1 < n > 3
1 > n < 5
max(1, n, 3)
min(l + [0])
sorted(l)
list(reversed(l))
isinstance(n, int)
isinstance(n, str)
isinstance(s, (int, str))
round(2.567, 1)
pow(2, 3)
int('0x1f', 16)
int(' 7 ')
float('1e-5')
str(1e-5)
str(None)
bool('False')
l[l[1]]
d['c']['b']
d.get('c', {}).get('b', 7)
d.get('q', {}).get('b', 7)
(x := 5) + x
len(d)
list(d)
list(d.keys())
list(d.values())
'a' in d and d['a']
d or n
not d
l + [n]
'-'.join(str(x) for x in l)
s[0] + s[-1]
any(x > 2 for x in l)
all(x > 0 for x in l)
all(x > 1 for x in l)
""".strip().split("\n")


def expressions():
    """The expressions of the grid, those that raise included."""
    yield from (" ".join(each) for each in product(NUMBERS, ("+", "-", "*", "/", "//", "%", "**", *COMPARISONS), NUMBERS))
    yield from (" ".join(each) for each in product(TEXTS, ("+", "in", "not in", *COMPARISONS[:-2]), TEXTS))
    yield from (" ".join(each) for each in product(LISTS, ("+", "==", "!=", "<", "and", "or"), LISTS))
    yield from (" ".join(each) for each in product(("1", "'a'", "3", "None"), ("in", "not in"), (*SEQUENCES, *MAPPINGS)))
    yield from (" ".join(each) for each in product(("not", "-", "+"), (*NUMBERS, *TEXTS, *SEQUENCES, *MAPPINGS)))
    yield from map(
        "".join, product((*TEXTS, *SEQUENCES), ("[0]", "[-1]", "[1:]", "[:1]", "[:-1]", "[::2]", "[::-1]", "[5:]", "[1:2]", "[-2:]", "[4]"))
    )
    yield from map("".join, product(MAPPINGS, ("['a']", "['z']", ".get('a')", ".get('z')", ".get('z', 5)", ".get('a', {})")))
    yield from (f"{name}({each})" for name, each in product(("int", "float", "str", "bool", "abs", "round"), NUMBERS))
    yield from (f"{name}({each})" for name, each in product(("int", "float", "str", "bool", "len", "list", "tuple", "sorted"), TEXTS))
    yield from (
        f"{name}({each})" for name, each in product(("bool", "len", "list", "tuple", "sorted", "max", "min"), (*SEQUENCES, *MAPPINGS[:1]))
    )
    yield from (f"{text}.{method}" for text, method in product(TEXTS, METHODS))
    yield from FORMATS
    yield from OTHERS


def in_python(expression):
    """What Python gives; None if it raises."""
    names = {}
    exec(PROGRAM, names)
    try:
        return repr(eval(expression, names))
    except Exception:
        return None


def test_every_expression_has_the_value_that_python_gives_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # `1 is 1`
        expected = {each: value for each in expressions() if (value := in_python(each)) is not None}
        listed = [*expected]
        groups = [listed[at : at + TOGETHER] for at in range(0, len(listed), TOGETHER)]
        found = {each: value for group in groups for each, value in evaluated(PROGRAM, group).items()}
    differing = [f"{each}: Python {expected[each]}, evaluated {found[each]}" for each in expected if found[each] != expected[each]]
    if differing:
        pytest.fail("\n".join((f"{len(differing)} of {len(expected)} expressions differ", *differing[:12])), pytrace=False)


UNPACKED = (
    "a, b = {}",
    "a, *b = {}",
    "*a, b = {}",
    "a, *b, c = {}",
    "(a, b), c = {}",
    "[a, b] = {}",
    "for a, *b in [{}]: pass",
    "a = b = {}",
)


@pytest.mark.parametrize("values", ["[1]", "1, 2", "(1, 2), 3", "[1, 2, 3]", "1, 2, 3, 4"])
def test_the_names_of_an_unpacking(values):
    for form in UNPACKED:
        code = form.format(values)
        names = {}
        try:
            exec(code, names)
        except (ValueError, TypeError):
            continue
        wanted = {name: repr(names[name]) for name in "abc" if name in names}
        found = evaluated(code, [*wanted])
        assert {name: value for name, value in found.items() if value != "<?>"}.items() <= wanted.items(), code
        plain = [name for name in wanted if f"*{name}" not in form]
        assert [found[name] for name in plain] == [wanted[name] for name in plain], code
