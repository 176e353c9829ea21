"""The rows of OpenRLHF: what its programs check after they have parsed the line, at the start of `train`, and in the strategy."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_sources import Package, Ref
from row_table_text import Function, Row, Table

from cfglint.frameworks.openrlhf import source_fields

PACKAGE = "openrlhf"
CONFIG, INIT = "config", "init"
ARGS, TRAIN, STRATEGY, DATA, RAY = "args", "train", "DeepspeedStrategy", "blending_datasets", "ppo_ray"
NESTED = "hierarchize"  # makes objects of the parts of names with dots
NAMESPACES = ("Namespace", "types.SimpleNamespace")  # of the parser, and of these objects
DECIDED = ("raise", "let", "set", "put", "try")  # rows that refuse, and what these need
# What fails on None in the place of its first argument of the line: the data sets, whose names are split first, and what loads the model.
NO_MODEL = ("OSError", "None is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'")
FAILURES = {
    DATA: ("AttributeError", "'NoneType' object has no attribute 'split'"),
    **dict.fromkeys(("get_tokenizer", "init_model_from_pretrained"), NO_MODEL),
}
OF_FIELD = {"attr": "f", "getattr": "f?"}
# What functions are: a start with Ray and DeepSpeed, whose objects no row reads.
GIVEN: dict[str, Any] = dict.fromkeys(("get_strategy", "create_vllm_engines", "get_tokenizer", "patch_hub"))


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release, by its programs."""
    tree = source_fields.find(folder)
    package = Package(str(tree.root.parent), PACKAGE)
    fields = source_fields.sections(tree)
    strategy = strategy_rows(package)
    for name, module in source_fields.programs(tree).items():
        values = {fact[4] or argument for argument, fact in fields[name].items()}
        home = package.module(module.name)
        body = after_parsing(source_fields.main_block(module))
        nested = any(NESTED in ast.unparse(each) for each in body)
        body = [each for each in body if NESTED not in ast.unparse(each)]
        stages = {CONFIG: body, INIT: home.names[TRAIN].body}
        for stage, statements in stages.items():
            later = read_by_actors(package) if (name, stage) == (RAY, INIT) else []
            start = function([*with_missing(statements, values, nested), *with_missing(later, values, nested)])
            rows = kept(rows_of(package, home, start, bound={ARGS: Ref("root")}, given=GIVEN)[0])
            rows += strategy if stage == INIT else []
            yield Function(name, stage, "", [flat(row) for row in rows] if nested else rows)


def after_parsing(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements after the line is parsed, up to the call of `train`; none adds an argument."""
    at = next(index for index, each in enumerate(body) if source_fields.is_parsed(each))
    following = body[at + 1 :]
    end = next((index for index, each in enumerate(following) if ast.unparse(each).startswith(f"{TRAIN}(")), len(following))
    return [each for each in following[:end] if source_fields.ADD not in ast.unparse(each)]


def function(body: list[ast.stmt]) -> ast.FunctionDef:
    """A function of the arguments with these statements."""
    made = ast.parse(f"def main({ARGS}): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body or made.body
    return ast.fix_missing_locations(made)


def with_missing(body: Iterable[ast.stmt], values: Collection[str], nested: bool) -> Iterator[ast.stmt]:
    """Statements with what Python raises before one that reads an argument that the parser does not have."""
    known = {*values}
    for statement in body:
        known |= {
            name
            for node in ast.walk(statement)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and (name := argument_of(node))
        }
        head = statement.test if isinstance(statement, (ast.If, ast.Assert)) else statement if is_simple(statement) else None
        missing = next((name for name in read_always(head) if not is_known(name, known)), "") if head is not None else ""
        yield from with_data(statement)
        if missing:
            section, _, last = missing.rpartition(".")
            text = f"'{NAMESPACES[bool(section) and nested]}' object has no attribute '{last}'"
            yield ast.parse(f"raise AttributeError({text!r})").body[0]
            return
        if isinstance(statement, ast.If):
            inner = ([*with_missing(each, known, nested)] for each in (statement.body, statement.orelse))
            yield ast.copy_location(ast.If(statement.test, *inner), statement)
        else:
            yield statement


def with_data(statement: ast.stmt) -> Iterator[ast.stmt]:
    """What Python and transformers raise where a statement reads a data set or a model whose name is not given."""
    for node in ast.walk(statement) if is_simple(statement) else ():
        called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        failure = FAILURES.get(called.removeprefix("async_"))
        name = next(filter(None, map(argument_of, node.args)), "") if failure and isinstance(node, ast.Call) else ""
        if failure and name:
            kind, message = failure
            yield ast.parse(f"if {ARGS}.{name} is None:\n    raise {kind}({message!r})").body[0]


def read_by_actors(package: Package) -> list[ast.stmt]:
    """The statements of the trainer, or of the actor before there was one, that read the prompts."""
    for place in ("trainer.ppo_trainer", "trainer.ray.ppo_actor"):
        module = package.module(f"{PACKAGE}.{place}")
        calls = (
            [node for node in ast.walk(module.tree) if isinstance(node, ast.Assign) and DATA in ast.unparse(node.value)] if module else []
        )
        prompts = [Local().visit(copy.deepcopy(call)) for call in calls if "prompt" in ast.unparse(call)]
        if prompts:
            return prompts[:1]
    return []


def is_simple(statement: ast.stmt) -> bool:
    """Whether a statement has no others in it."""
    return isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return))


def is_known(name: str, known: Collection[str]) -> bool:
    """Whether an argument, or a section of arguments, is among some."""
    return any(each == name or each.startswith(f"{name}.") or name.startswith(f"{each}.") for each in known)


def argument_of(node: ast.expr) -> str:
    """The dotted name of the argument that an expression reads; empty if it reads none."""
    text = ast.unparse(node)
    return text.removeprefix(f"{ARGS}.") if isinstance(node, ast.Attribute) and text.startswith(f"{ARGS}.") else ""


def read_always(node: ast.AST) -> Iterator[str]:
    """The arguments that Python reads whenever it evaluates an expression, in order."""
    if isinstance(node, ast.Attribute) and (name := argument_of(node)) and name.replace(".", "").replace("_", "").isalnum():
        yield name
        return
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.FunctionDef)):
        return
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.BoolOp):
        children = node.values[:1]
    elif isinstance(node, ast.IfExp):
        children = [node.test]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and argument_of(node.func):
        children = [node.func.value, *node.args, *(keyword.value for keyword in node.keywords)]
    for child in children:
        yield from read_always(child)


def strategy_rows(package: Package) -> list[Row]:
    """What the constructor of the strategy refuses; the attributes of the object are locals here."""
    for place in ("deepspeed.deepspeed", "deepspeed"):
        module = package.module(f"{PACKAGE}.utils.{place}")
        owner = module.names.get(STRATEGY) if module is not None else None
        if isinstance(owner, ast.ClassDef):
            made = next(each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
            body = [Local().visit(copy.deepcopy(each)) for each in made.body]
            bound = {each.arg: ["f", each.arg] for each in made.args.args}
            return kept(rows_of(package, module, function(body), bound={**bound, ARGS: Ref("root")}, given=GIVEN)[0])
    return []


class Local(ast.NodeTransformer):
    """Attributes of the object as locals."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        if is_own and node.attr == ARGS:
            return ast.Name(ARGS, node.ctx)
        return ast.Name(f"self_{node.attr}", node.ctx) if is_own else node


def flat(part: Any) -> Any:
    """A part of a row with the dotted name of an argument in the place of what is in an object: `["f", "ds.zpg"]`."""
    if isinstance(part, dict):
        made = {key: flat(value) for key, value in part.items()}
        if "put" in made and made["put"][0] == "f":
            made["set"] = f"{made.pop('put')[1]}.{made.pop('key')}"
        return made
    if not isinstance(part, (list, tuple)):
        return part
    items = [*map(flat, part)]
    if items[:1] in (["attr"], ["getattr"]) and items[1][0] == "f":
        return [OF_FIELD[items[0]], f"{items[1][1]}.{items[2]}", *items[3:]]
    return items


def kept(rows: list[Row]) -> list[Row]:
    """The rows that can be read and decide something."""
    return [row for row in rows if not row.keys() & {"first", "todo", "warn", "setenv", "hand", "each"} and row.keys() & set(DECIDED)]


def original(sources: Any, name: str, folder: Path) -> Any:
    """The module of a program."""
    return sources.module(f"{PACKAGE}.{source_fields.FOLDER}.{source_fields.PREFIX}{name}")
