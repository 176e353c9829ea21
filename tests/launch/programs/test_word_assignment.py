"""An evaluated parser gives its arguments what `argparse` gives them."""

from __future__ import annotations

import argparse

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.launch.programs.calls import ProgramEvaluation
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import plain
from cfglint.source.budget import Budget

CODE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('-b', '--batch_size', type=int, default=8)
parser.add_argument('-v', action='store_true')
parser.add_argument('--lr', type=float)
parser.add_argument('--sizes', type=int, nargs=2)
parser.add_argument('--names', nargs='+')
parser.add_argument('--tag', nargs='?', const='given', default='none')
parser.add_argument('--row', type=int, action='append')
parser.add_argument('--pack', action=argparse.BooleanOptionalAction, default=True)
parser.add_argument('files', nargs='*')
args = parser.parse_args()
"""
NAMES = ("batch_size", "v", "lr", "sizes", "names", "tag", "row", "pack", "files")


def evaluated(words):
    texts = {"train.py": CODE + "".join(f"{name} = args.{name}\n" for name in NAMES)}
    modules = Modules(["."], texts.get)
    evaluation = ProgramEvaluation(modules, Budget(), Context(tuple(words), read=texts.get, folders=(".",)))
    evaluation.run_main(modules.module_of("train.py"))
    found = {name: plain(evaluation.frames["train.py"].slots[name]) for name in NAMES}
    return {name: "?" if isinstance(value, Unknown) else value for name, value in found.items()}


def parsed(words):
    exec(CODE.replace("args = parser.parse_args()", ""), {"argparse": argparse}, names := {})
    parser = names["parser"]
    return vars(parser.parse_args(words))


@each_case(
    "line",
    [
        "",
        "--batch_size 4",
        "--batch_size=4",
        "--batch 4",
        "-b 4",
        "-b4",
        "-vb4",
        "-b 4 -v",
        "--lr -1.5",
        "--sizes 1 2 first",
        "--names a b",
        "first second --names a",
        "--tag",
        "--tag own",
        "--tag -v",
        "--row 1 --row 2",
        "--no-pack",
        "--no-pack --pack",
        "-v first second",
        "--names a -- first",
    ],
)
def test_the_values_are_those_of_argparse(line):
    words = line.split()
    assert evaluated(words) == parsed(words)


@each_case(
    ("line", "size"),
    [
        ("-b4 --sizes 1", "?"),  # refused
        ("-b4 --row", "?"),
        ("-b4 $X", "?"),  # it may be options
        ("-b4 --lr $X", 4),
        ("-b4 --unknown $X", "?"),  # it may be a file
        ("$X -b4", "?"),
    ],
)
def test_words_that_are_refused_or_unknown(line, size):
    words = [None if word.startswith("$") else word for word in line.split()]
    assert evaluated(words)["batch_size"] == size
