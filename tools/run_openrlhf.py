"""Run OpenRLHF's own programs on the lines of a record, and write what they make of them into it.

    python tools/run_openrlhf.py FOLDER RECORD...

FOLDER has a folder for each release (`rebuild_tables.py openrlhf FOLDER --fetch`). A record has a case a line, as JSON: `release`,
`program`, `gpus` (the processes of the launcher; Ray starts those of the actor), `words`. The program runs in a process without any of its
requirements: everything outside of `openrlhf` and of Python's own library is a stand-in that answers any call. DeepSpeed's
`initialize` checks the batch as DeepSpeed does (runtime/config.py, _batch_assertion), and the run ends there. `refused` is the exception,
null where the run gets that far.
"""

from __future__ import annotations

import argparse
import contextlib
import dis
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import runpy
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

RELEASES = {"deepspeed": "0.19.8", "transformers": "5.24.0", "vllm": "0.11.0", "torch": "2.9.0"}  # of the stand-ins
REAL = (
    "openrlhf",
    "openrlhf.cli",
    "openrlhf.utils",
    "openrlhf.utils.utils",
    "openrlhf.utils.config",
    "openrlhf.utils.deepspeed",
    "openrlhf.utils.deepspeed.deepspeed",
    "openrlhf.utils.deepspeed.deepspeed_utils",
    "openrlhf.utils.deepspeed_utils",
    "openrlhf.datasets.utils",
)
SAMPLES = 100_000  # of each data set


class Started(BaseException):
    """The run has built its engine."""


class Meta(type):
    """The class of a stand-in answers for every attribute, too."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __getitem__(cls, key: object) -> Any:
        return cls


class StandIn(metaclass=Meta):
    """An object that has every attribute, can be called, compared and counted."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], (type, types.FunctionType)):
            return arguments[0]  # as a decorator
        return StandIn()

    def __len__(self) -> int:
        return SAMPLES

    def __iter__(self) -> Any:
        frame = sys._getframe(1)  # as many items as the statement unpacks
        code, at = frame.f_code.co_code, frame.f_lasti
        return iter([StandIn() for _ in range(code[at + 1] if dis.opname[code[at]] == "UNPACK_SEQUENCE" else 1)])

    def __getitem__(self, key: object) -> Any:
        return StandIn()

    def __int__(self) -> int:
        return SAMPLES

    __index__ = __int__

    def __float__(self) -> float:
        return float(SAMPLES)

    def arithmetic(self, other: object) -> Any:
        return StandIn()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __rfloordiv__ = __mod__ = arithmetic

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __lt__

    def __ge__(self, other: object) -> bool:
        return True

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *problem: Any) -> None:
        return None


class Module(types.ModuleType):
    """A module of stand-ins."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        version = RELEASES.get(self.__name__.partition(".")[0], "1.0.0")
        return version if name in ("__version__", "version") else type(name, (StandIn,), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for every module that is neither Python's own nor one of the real ones."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        first = name.partition(".")[0]
        if first in sys.stdlib_module_names or name in REAL or name.startswith("openrlhf.cli."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        made = Module(spec.name)
        made.__path__ = [f"{sys.path[0]}/{spec.name.replace('.', '/')}"]
        return made

    def exec_module(self, module: Any) -> None:
        pass


def batch_refused(config: Any, world: int) -> None:
    """DeepSpeed's checks of the batch in a config (0.19.8 runtime/config.py:593-650)."""
    total, micro, steps = (config.get(key) for key in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"))
    if total is not None and micro is not None and steps is None:
        steps = total // micro
        steps //= world
    elif micro is not None and steps is not None and total is None:
        total = micro * steps * world
    assert total > 0, f"Train batch size: {total} has to be greater than 0"
    assert micro > 0, f"Micro batch size per gpu: {micro} has to be greater than 0"
    assert steps > 0, f"Gradient accumulation steps: {steps} has to be greater than 0"
    assert total == micro * steps * world, (
        "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size "
        f"{total} != {micro} * {steps} * {world}"
    )


def outcome(program: str, words: list[str], gpus: int) -> str | None:
    """The exception of a program on the words of a line; None where it gets to its engine."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("openrlhf", "torch", "deepspeed", "ray")]:
        del sys.modules[name]
    load: Any = importlib.import_module
    deepspeed, ray, distributed = load("deepspeed"), load("ray"), load("torch.distributed")
    strategies = load("openrlhf.utils.deepspeed")
    own = (Path(sys.path[0]) / "openrlhf" / "utils" / "utils.py").read_text(encoding="utf-8")
    data = load("openrlhf.utils" if "def blending_datasets" in own else "openrlhf.datasets.utils")
    launchers = load("openrlhf.trainer.ray"), load("openrlhf.trainer.ray.launcher")

    def initialize(*arguments: Any, config: Any = None, **keywords: Any) -> None:
        batch_refused(config, distributed.get_world_size())
        raise Started

    def start(group: Any, strategy: Any, *arguments: Any) -> Any:
        """What an actor of Ray does first: the strategy with its processes, and the engine."""
        args = strategy.args
        actor = getattr(args, "actor", None)
        nodes = args.actor_num_nodes if actor is None else actor.num_nodes
        each = args.actor_num_gpus_per_node if actor is None else actor.num_gpus_per_node
        distributed.get_world_size = lambda *_, **__: nodes * each
        strategy.setup_distributed()
        strategy.is_rlhf = True
        try:
            config = strategy.get_ds_train_config(is_actor=True)
        except TypeError:
            config = strategy.get_ds_train_config()
        prompts = (args.prompt_data, args.prompt_data_probs) if actor is None else (args.data.prompt_dataset, args.data.prompt_probs)
        data.blending_datasets(*prompts, strategy)  # as the trainer does
        initialize(config=config)

    deepspeed.initialize = initialize
    distributed.get_world_size = lambda *_, **__: gpus
    distributed.get_rank = lambda *_, **__: 0
    ray.is_initialized = lambda: True
    strategies.DeepspeedStrategy.print = lambda *_: None
    group = type("Group", (StandIn,), {"async_init_model_from_pretrained": start})
    for module in launchers:
        module.PPORayActorGroup = module.RayActorGroup = group
    sys.argv = [f"train_{program}.py", *words]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            runpy.run_module(f"openrlhf.cli.train_{program}", run_name="__main__")
    except Started:
        return None
    except SystemExit as end:
        said = printed.getvalue().strip().splitlines()[-1] if printed.getvalue().strip() else ""
        return f"SystemExit: {end.code} ({said.partition(': ')[2]})"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "no engine was built"


class Parsed(BaseException):
    """The program has made its parser."""


def defaults(folder: str) -> dict[str, dict[str, Any]]:
    """Program -> option -> default, as the parsers of a release have them."""

    def parsed(parser: argparse.ArgumentParser, *_: Any) -> None:
        raise Parsed({action.option_strings[0].removeprefix("--"): action.default for action in parser._actions if action.dest != "help"})

    argparse.ArgumentParser.parse_args = parsed  # type: ignore[method-assign,assignment]
    names = [path.stem for path in sorted(Path(folder, "openrlhf", "cli").glob("train_*.py"))]
    return {name.removeprefix("train_"): started(name) for name in names}


def started(name: str) -> Any:
    """The defaults of the parser that a program makes."""
    try:
        return runpy.run_module(f"openrlhf.cli.{name}", run_name="__main__")
    except Parsed as end:
        return end.args[0]


def of_release(folder: str) -> None:
    """Write the outcomes of the cases on standard input, all of one release."""
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, Finder())
    if sys.argv[3:] == ["--defaults"]:
        print(json.dumps(defaults(folder)))
        return
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(outcome(case["program"], case["words"], case["gpus"])), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a folder with one folder for each release")
    parser.add_argument("records", type=Path, nargs="+")
    options = parser.parse_args()
    for record in options.records:
        cases = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        for release in sorted({case["release"] for case in cases}):
            own = [case for case in cases if case["release"] == release]
            text = "".join(f"{json.dumps(case)}\n" for case in own)
            command = [sys.executable, "-I", __file__, "--release", str(options.folder / release)]
            answers = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
            for case, answer in zip(own, answers, strict=True):
                case["refused"] = json.loads(answer)
        record.write_text("".join(f"{json.dumps(case)}\n" for case in cases), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--release"]:
        of_release(sys.argv[2])
    else:
        main()
