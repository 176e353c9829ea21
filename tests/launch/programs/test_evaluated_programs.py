"""The values that an evaluation of a program gives the arguments that it builds; nothing is executed."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.launch.programs.calls import ProgramEvaluation
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import plain
from cfglint.launch.programs.reading import read_program
from cfglint.launch.programs.runs_of_program import Evaluations
from cfglint.source.budget import Budget

IMPORTS = "import argparse, json, os, sys, yaml\nfrom transformers import HfArgumentParser, TrainingArguments\n"
BUILT = "\nargs = TrainingArguments('out', per_device_train_batch_size={})\n"


def values(code, words=(), files=(), name="per_device_train_batch_size", **context):
    """The values of a keyword of all calls that build arguments; None for unknown ones."""
    texts = {"train.py": IMPORTS + code, **dict(files)}
    modules = Modules(["."], texts.get)
    evaluation = ProgramEvaluation(modules, Budget(), Context(tuple(words), read=texts.get, folders=(".",), **context))
    evaluation.run_main(modules.module_of("train.py"))
    calls = [made.arguments.get(name) for made in evaluation.made.values()]
    found = [plain(each[1]) if each is not None else Unknown() for each in calls]
    return [None if isinstance(each, Unknown) else each for each in found]


def value(code, expression, words=(), files=(), **context):
    [found] = values(code + BUILT.format(expression), words, files, **context)
    return found


OWN_CLASS = """
class C:
    size = 2
    def __init__(self, n):
        self.n = n
    @property
    def all(self):
        return self.n * self.size
"""
OWN_DATACLASS = """
from dataclasses import dataclass, field
@dataclass
class C:
    n: int = 2
    rows: list = field(default_factory=lambda: [1, 2])
"""


@pytest.mark.parametrize(
    ("code", "expression", "expected"),
    [
        ("", "64 // 4 // 2", 8),
        ("", "max(1, 2) * len([1, 2, 3])", 6),
        ("rows = {'a': 4}\nrows['a'] += 1", "rows['a']", 5),
        ("rows = dict(a=4)\nrows.update(a=6)", "rows.get('a', 1)", 6),
        ("rows = [n * 2 for n in (1, 2)]", "sum(rows)", 6),
        ("import ast\ntry:\n    n = ast.literal_eval('x y')\nexcept SyntaxError:\n    n = 3\n", "n", 3),
        ("import ast\nn = ast.literal_eval('[4, 5]')\n", "n[1]", 5),
        ("def pick(n, by=2):\n    return n * by", "pick(3)", 6),
        ("def pick(n):\n    if n > 2:\n        return 1\n    return 2", "pick(3)", 1),
        ("def pick(n):\n    if x:\n        return 1\n    return 2", "pick(3)", None),
        ("size = 4\nif unknown():\n    size = 8", "size", None),
        ("size = 4\nif unknown():\n    other = 8", "size", 4),
        ("size = 4\nif unknown():\n    raise ValueError", "size", 4),
        ("size = 4\nif unknown():\n    size = 8\nelse:\n    size = 8", "size", 8),
        ("size = 1\nfor each in unknown():\n    size = size * 2", "size", None),
        ("size = 1\nfor each in range(3):\n    size *= 2", "size", 8),
        ("size = 1\nwhile unknown():\n    size += 1", "size", None),
        ("try:\n    import flash_attn\n    size = 4\nexcept ImportError:\n    size = 2", "size", 4),
        ("try:\n    size = unknown()\nexcept ValueError:\n    size = 2", "size", None),
        (OWN_CLASS, "C(3).all", 6),
        (OWN_DATACLASS, "len(C(n=3).rows) * C(n=3).n", 6),
        ("from types import SimpleNamespace\nc = SimpleNamespace(n=4)\nc.n += 1", "c.n", 5),
        ("c = unknown()\nc.n = 4", "c.n", None),
        ("rows = {'a': 4}\nunknown_name(rows)", "rows['a']", None),
        ("import torch\nsize = 4 if torch.cuda.is_bf16_supported() else 2", "size", 4),
        ("a, *rest, b = 1, 2, 3, 4", "b", 4),
        ("text = f'{2}{3}'", "int(text)", 23),
        ("size = 4 if (found := unknown()) else 2", "size", None),
        ("def outer():\n    n = 1\n    def inner():\n        nonlocal n\n        n = 2\n    inner()\n    return n", "outer()", None),
    ],
)
def test_values_of_expressions(code, expression, expected):
    assert value(code, expression) == expected


PARSER = """
parser = argparse.ArgumentParser()
group = parser.add_argument_group('size')
group.add_argument('--rows', type=int, default='4')
parser.add_argument('--more', action='store_true')
parser.add_argument('--scale', type=lambda text: int(text) * 2, default=1)
parser.add_argument('--gpus', nargs='+', type=int, default=[1])
parser.add_argument('--pack', action=argparse.BooleanOptionalAction, default=True)
args, rest = parser.parse_known_args()
"""


@pytest.mark.parametrize(
    ("words", "expression", "expected"),
    [
        ("", "args.rows", 4),
        ("--rows 8", "args.rows", 8),
        ("--row=8", "args.rows", 8),
        ("--rows 8 --rows 2", "args.rows", 2),
        ("", "2 if args.more else 1", 1),
        ("--more", "2 if args.more else 1", 2),
        ("--scale 3", "args.scale", 6),
        ("--gpus 1 2 3 --more", "len(args.gpus)", 3),
        ("--no-pack", "2 if args.pack else 1", 1),
        ("--unknown 7", "args.rows", 4),
    ],
)
def test_arguments_of_the_line(words, expression, expected):
    assert value(PARSER, expression, words.split()) == expected


@pytest.mark.parametrize(("words", "expected"), [((None,), None), (("--rows", None), None), (("--rows", "2"), 2)])
def test_unknown_words_of_the_line(words, expected):
    assert value(PARSER, "args.rows", words) == expected


def test_a_subcommand():
    code = "parser = argparse.ArgumentParser()\nsub = parser.add_subparsers(dest='what')\ntrain = sub.add_parser('train')\n"
    code += "train.add_argument('--rows', type=int, default=3)\nargs = parser.parse_args()\n"
    assert value(code, "args.rows if args.what == 'train' else 1", ["train", "--rows", "5"]) == 5
    assert value(code, "args.rows", []) is None


@pytest.mark.parametrize("call", ["args.call(args)", "if args.what == 'train':\n    train(args)\n"])
def test_a_subcommand_that_no_line_names(call):
    code = f"{IMPORTS}\ndef train(args):{BUILT.format('args.rows').replace(chr(10), chr(10) + '    ')}\n"
    code += "parser = argparse.ArgumentParser()\nsub = parser.add_subparsers(dest='what', required=True)\n"
    code += "one = sub.add_parser('train')\none.add_argument('--rows', type=int, default=3)\none.set_defaults(call=train)\n"
    code += f"sub.add_parser('show').set_defaults(call=print)\nargs = parser.parse_args()\n{call}\n"
    modules = Modules(["."], {"train.py": code}.get)
    [made] = Evaluations(modules, modules.module_of("train.py")).under(Context()).made.values()
    assert (made.arguments["per_device_train_batch_size"][1].data, made.conditions) == (3, ())


REST = "parser = argparse.ArgumentParser()\nargs, rest = parser.parse_known_args()\nnames = dict(zip(rest[::2], rest[1::2]))\n"


@pytest.mark.parametrize(("words", "expected"), [((), 1), (("--rows", "5"), 5), (("--rows", None), None), ((None,), None)])
def test_words_that_a_parser_leaves(words, expected):
    assert value(REST, "int(names.get('--rows', 1))", words) == expected


def test_a_function_that_goes_through_a_config():
    copy = "def copied(each):\n    if isinstance(each, dict):\n        return {key: copied(inner) for key, inner in each.items()}\n"
    config = {"a": {"b": {"c": {"d": 6}}}}
    assert value(f"{copy}    return each\nconfig = copied({config})", "config['a']['b']['c']['d']") == 6


@pytest.mark.parametrize(
    "accepted",
    [
        "inspect.signature(TrainingArguments.__init__).parameters",
        "list(inspect.signature(TrainingArguments).parameters.keys())",
        "TrainingArguments.__dataclass_fields__",
        "{each.name for each in dataclasses.fields(TrainingArguments)}",
    ],
)
def test_keywords_that_a_class_accepts(accepted):
    """A name that only some releases accept may be left out; one that none accepts certainly is."""
    given = "{'per_device_train_batch_size': 3, 'own': 1, 'warmup_ratio': 0.1}"
    code = f"import dataclasses, inspect\nnames = {accepted}\nkept = {{key: each for key, each in {given}.items() if key in names}}\n"
    assert value(code, "kept['per_device_train_batch_size']") == 3
    assert value(code, "2 if 'own' in names else 5") == 5
    assert value(code, "kept.get('warmup_ratio', 1)") is None
    assert value("size = os.path.expandvars('4')\n", "int(size)") == 4


DATACLASS = "from dataclasses import dataclass\n@dataclass\nclass Own:\n    rows: int = 3\n    big: bool = False\n"


@pytest.mark.parametrize(
    "code",
    [
        DATACLASS + "(own,) = HfArgumentParser(Own).parse_args_into_dataclasses()",
        DATACLASS + "own = HfArgumentParser((Own,)).parse_args_into_dataclasses()[0]",
        DATACLASS + "own, train = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()",
        DATACLASS + "import tyro\nown = tyro.cli(Own)",
        DATACLASS + "from simple_parsing import parse\nown = parse(Own)",
    ],
)
def test_dataclasses_that_a_parser_fills(code):
    assert value(code, "own.rows * (2 if own.big else 1)", ["--rows", "5", "--big"]) == 10
    assert value(code, "own.rows", []) == 3


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import fire\ndef main(rows: int = 3):{}\nfire.Fire(main)", ["--rows=5"]),
        ("import typer\ndef main(rows: int = typer.Option(3)):{}\ntyper.run(main)", ["--rows", "5"]),
        ("import click\n@click.command()\n@click.option('--rows', default=3)\ndef main(rows):{}\nmain()", ["--rows", "5"]),
    ],
)
def test_functions_that_a_library_calls(code, words):
    code = code.format("\n    TrainingArguments('out', per_device_train_batch_size=rows)")
    assert values(code, words) == [5]
    assert values(code) == [3]


FUNCTION = "def main(path, rows: int = 3, big: bool = False):\n    TrainingArguments('out', per_device_train_batch_size=rows, bf16=big)\n"


@pytest.mark.parametrize(
    ("library", "words", "expected"),
    [
        ("import fire\nfire.Fire(main)", ["conf.yaml", "5"], (5, None)),
        ("import fire\nfire.Fire(main)", ["--big", "--rows", "7", "conf.yaml"], (7, True)),
        ("import fire\nfire.Fire(main)", ["--path", "x", "4"], (4, None)),
        ("import typer\ntyper.run(main)", ["conf.yaml", "--rows", "5"], (5, False)),
    ],
)
def test_words_that_are_no_options(library, words, expected):
    code = FUNCTION + library
    assert values(code, words) == [expected[0]]
    if expected[1]:
        assert values(code, words, name="bf16") == [expected[1]]


CONFIG = "train:\n  rows: 6\n  lr: 1e-4\n"


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        ("cfg = yaml.safe_load(open('conf/a.yaml'))", "cfg['train']['rows']"),
        ("with open('conf/a.yaml') as file:\n    cfg = yaml.safe_load(file)", "cfg['train'].get('rows', 1)"),
        ("from pathlib import Path\ncfg = yaml.safe_load((Path(__file__).parent / 'conf' / 'a.yaml').read_text())", "cfg['train']['rows']"),
        (
            "path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'conf', 'a.yaml')\ncfg = yaml.safe_load(open(path))",
            "cfg['train']['rows']",
        ),
        ("from omegaconf import OmegaConf\ncfg = OmegaConf.load('conf/a.yaml')", "cfg.train.rows"),
        ("from omegaconf import OmegaConf\nwith open('conf/a.yaml') as file:\n    cfg = OmegaConf.load(file)", "cfg.train.rows"),
        ("cfg = yaml.safe_load(open(sys.argv[1]))", "cfg['train']['rows']"),
    ],
)
def test_a_file_of_the_project(code, expression):
    assert value(code, expression, ["conf/a.yaml"], {"conf/a.yaml": CONFIG}) == 6
    assert value(code, expression, ["conf/a.yaml"]) is None


def test_turns_that_would_exceed_the_budget_are_not_evaluated_one_by_one():
    turn = "def turn():\n    for n in range(40):\n        for m in range(40):\n            k = n * m\n"
    assert value(f"{turn}size = 4\nfor n in range(40):\n    last = n\n    turn()\n", "size") == 4
    assert value(f"{turn}for n in range(40):\n    last = n\n    turn()\n", "last") is None


def test_a_number_that_yaml_reads_as_a_string():
    assert value("cfg = yaml.safe_load(open('a.yaml'))", "cfg['train']['lr']", files={"a.yaml": CONFIG}) == "1e-4"
    assert value("from omegaconf import OmegaConf\ncfg = OmegaConf.load('a.yaml')", "cfg.train.lr", files={"a.yaml": CONFIG}) == 1e-4


def test_configs_that_omegaconf_joins():
    code = "from omegaconf import OmegaConf\ncfg = OmegaConf.merge(OmegaConf.load('a.yaml'), OmegaConf.from_cli())"
    assert value(code, "cfg.train.rows", ["train.rows=2"], {"a.yaml": CONFIG}) == 2


HYDRA = """
import hydra
@hydra.main(config_path='conf', config_name='main')
def main(cfg):
    TrainingArguments('out', per_device_train_batch_size=cfg.size)
main()"""
PRIMARY = "defaults:\n  - train: small\n  - _self_\nsize: ${train.rows}\n"


@pytest.mark.parametrize(
    ("words", "expected"), [([], 2), (["train=big"], 9), (["train.rows=7"], 7), (["+size=1"], 1), (["--config-name=x"], None)]
)
def test_the_config_of_hydra(words, expected):
    files = {"conf/main.yaml": PRIMARY, "conf/train/small.yaml": "rows: 2", "conf/train/big.yaml": "rows: 9"}
    assert values(HYDRA, words, files) == [expected]


INSTANTIATED = """
import hydra
@hydra.main(config_path='conf', config_name='main')
def main(cfg):
    hydra.utils.instantiate(cfg.args{})
main()"""
ROWS = "args: {{_target_: transformers.TrainingArguments, output_dir: o, per_device_train_batch_size: {}}}\nrows: 2\n"


@pytest.mark.parametrize(
    ("size", "passed", "words", "expected"),
    [
        ("4", "", [], [4]),
        ("'${rows}'", "", [], [2]),
        ("4", ", per_device_train_batch_size=cfg.rows", [], [2]),
        ("4", "", ["args.per_device_train_batch_size=8"], [8]),
        ("4, max_steps: {_target_: own.steps}", "", [], [4]),
        ("4, _partial_: true", "", [], []),
    ],
)
def test_arguments_that_hydra_makes_of_a_config(size, passed, words, expected):
    assert values(INSTANTIATED.format(passed), words, {"conf/main.yaml": ROWS.format(size)}) == expected


@pytest.mark.parametrize(("word", "expected"), [("train.rows=<?>", 3), ("size=<?>", None), ("train=<?>", None)])
def test_an_unknown_word_of_hydra_leaves_its_key_open_or_with_an_unknown_file_everything(word, expected):
    files = {"conf/main.yaml": PRIMARY.replace("${train.rows}", "3"), "conf/train/small.yaml": "rows: 2"}
    assert values(HYDRA, [None], files, spelled=(word,)) == [expected]


def test_a_class_of_an_import_of_everything():
    assert values("from transformers import *\nSeq2SeqTrainingArguments('out', per_device_train_batch_size=4)") == [4]


@pytest.mark.parametrize(("gpus", "expected"), [(4, 16), (None, None)])
def test_the_number_of_processes(gpus, expected):
    assert value("", "64 // int(os.environ.get('WORLD_SIZE', 1))", gpus=gpus) == expected


def test_the_environment_is_unknown_unless_it_is_given():
    assert value("", "int(os.environ.get('ROWS', 2))") is None
    assert value("", "int(os.environ.get('ROWS', 2))", environment={"ROWS": "3"}) == 3
    assert value("os.environ['ROWS'] = '4'", "int(os.environ['ROWS'])") == 4


def test_a_call_that_is_made_with_different_values():
    assert values("for rows in (1, 2):" + BUILT.format("rows").replace("\n", "\n    ")) == [None]


def test_keywords_of_a_mapping():
    assert values("more = {'per_device_train_batch_size': 4}\nTrainingArguments('out', **more, seed=1)") == [4]
    assert values(
        "more = json.load(open('a.json'))\nTrainingArguments(**more)", files={"a.json": '{"per_device_train_batch_size": 3}'}
    ) == [3]


def test_a_mapping_that_gets_the_keys_of_another_in_place_has_them_under_all_its_names():
    code = "more = {'per_device_train_batch_size': 4}\nsame = more\nmore |= {'per_device_train_batch_size': 8}\n"
    assert values(f"{code}TrainingArguments('out', **same)") == [8]


def test_modules_of_the_project():
    files = {"conf.py": "ROWS = 4\nclass C:\n    rows = 5\n", "more/__init__.py": "from conf import C as D\n"}
    assert value("from conf import ROWS", "ROWS", files=files) == 4
    assert value("import conf as c", "c.C.rows", files=files) == 5
    assert value("from more import D", "D.rows", files=files) == 5


def test_a_recursion_ends():
    assert value("def f(n):\n    return f(n + 1)", "f(1)") is None


OWN_LOOP = """
from dataclasses import dataclass, fields
@dataclass
class Own:
    rows: int = 3
    pack: bool = False
parser = argparse.ArgumentParser()
for each in fields(Own):
    kind = (lambda text: text.lower() == 'true') if each.type == bool else each.type
    parser.add_argument(f'--{each.name}', type=kind, default=each.default)
own = Own(**vars(parser.parse_args()))
"""


@pytest.mark.parametrize(("words", "expected"), [("", 3), ("--rows 5", 5), ("--rows 5 --pack true", 10)])
def test_a_parser_with_an_argument_for_each_field_of_a_dataclass(words, expected):
    assert value(OWN_LOOP, "own.rows * (2 if own.pack else 1)", words.split()) == expected


def test_the_arguments_that_a_class_annotates():
    code = "class Own:\n    rows: int = 3\n"
    code += "kept = {name: number for name, number in {'rows': 5, 'steps': 7}.items() if name in Own.__annotations__}"
    assert value(code, "sum(kept.values())") == 5


def test_a_required_argument_without_a_line_is_unknown():
    code = "parser = argparse.ArgumentParser()\nparser.add_argument('--rows', type=int, required=True)\nargs = parser.parse_args()"
    assert value(code, "1 if args.rows is None else 2", []) is None
    assert value(code, "args.rows", ["--rows", "5"]) == 5
    assert value(code.replace("True", "needed()"), "1 if args.rows is None else 2", []) is None


def test_map_calls_its_function():
    code = "parser = argparse.ArgumentParser()\nadd = lambda name: parser.add_argument(f'--{name}', type=int, default=len(name))\n"
    code += "list(map(add, ('a', 'bc')))"
    assert value(code + "\nargs = parser.parse_args()", "args.bc + list(map(int, '3 4'.split()))[1]") == 6


@pytest.mark.parametrize(
    ("needed", "words", "expected"),
    [
        ("'--data', required=True", (), None),
        ("'data'", (), None),
        ("'data', nargs='?'", (), 8),
        ("'--data', required=True", ("--data", "x"), 8),
    ],
)
def test_an_option_without_a_default_is_unknown_if_the_line_is_missing(needed, words, expected):
    """A line that has to give other arguments may give this one, too."""
    code = f"parser = argparse.ArgumentParser()\nparser.add_argument({needed})\nparser.add_argument('--rows', type=int)\n"
    found = value(code + "args = parser.parse_args()", "8 if args.rows is None else args.rows", words)
    assert found == expected


@pytest.mark.parametrize(
    ("namespace", "words", "expected"),
    [("", (), 3), ("namespace=own", (), 16), ("None, own", (), 16), ("namespace=own", ("--rows", "5"), 5), ("namespace=made()", (), None)],
)
def test_the_attributes_of_a_given_namespace_go_before_the_defaults(namespace, words, expected):
    code = "from types import SimpleNamespace\nown = SimpleNamespace(rows=16)\nparser = argparse.ArgumentParser()\n"
    code += f"parser.add_argument('--rows', type=int, default=3)\nargs = parser.parse_args({namespace})\n"
    assert value(code, "args.rows", words) == expected


OWN_ARGUMENTS = """
from dataclasses import dataclass
from trl import TrlParser
@dataclass
class Own:
    rate: float
    rows: int = 2
own = TrlParser([Own]).parse_args_and_config()[0]
"""


def test_the_parser_of_trl_converts_the_strings_of_a_file():
    files = {"own.yaml": "rate: 1e-6\nrows: '8'\n"}
    found = [value(OWN_ARGUMENTS, each, ("--config", "own.yaml"), files) for each in ("own.rate", "own.rows")]
    assert found == [1e-6, 8]


@pytest.mark.parametrize(
    "before",
    [
        "for each in unknown():\n        if each:\n            if other(each):\n                break",
        "if unknown():\n        print()\n    else:\n        print('no data')\n        return False",
        "if not unknown():\n        print('no data')\n        return",
    ],
)
def test_what_does_not_decide_whether_a_call_is_made(before):
    """A `break` ends its loop only, and a branch that reports that something is missing trains nothing."""
    code = f"{IMPORTS}\ndef main():\n    {before}\n    TrainingArguments('out')\nmain()\n"
    modules = Modules(["."], {"train.py": code}.get)
    [made] = Evaluations(modules, modules.module_of("train.py")).under(Context()).made.values()
    assert made.conditions == ()


COMPUTED = {
    "a table of classes": (
        "def stack():\n    return {'args': TrainingArguments}\nargs = stack()['args']('out', per_device_train_batch_size=2)"
    ),
    "a partial call": (
        "from functools import partial\nmake = partial(TrainingArguments, 'out', per_device_train_batch_size=2)\nargs = make()"
    ),
    "a partial function": (
        "from functools import partial\ndef made(rows, more):\n    return TrainingArguments('out', per_device_train_batch_size=rows)\n"
        "args = partial(made, more=1)(2)"
    ),
    "an attribute by its name": (
        "import transformers\nargs = getattr(transformers, 'TrainingArguments')('out', per_device_train_batch_size=2)"
    ),
    "an exit with the status of a function": (
        "def main():\n    TrainingArguments('out', per_device_train_batch_size=2)\nraise SystemExit(main())"
    ),
}


@each_case("code", COMPUTED.values())
def test_calls_whose_class_is_computed_are_those_of_a_run(code):
    assert values(code) == [2]
    [call] = read_program("train.py", "", ["."], {"train.py": IMPORTS + code}.get).built
    assert call.name == "TrainingArguments"


def test_a_module_beside_the_program_comes_before_a_package_of_its_name():
    assert value("from datasets import SIZE\n", "SIZE", files={"datasets.py": "SIZE = 4\n"}) == 4
