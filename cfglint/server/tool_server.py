"""A server for language models: cfglint's commands as tools of the Model Context Protocol, over standard input and output."""

import functools
from collections.abc import Callable
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from cfglint.server.tool_answers import NotAnswered, answer
from cfglint.version import __version__

INSTRUCTIONS = """\
cfglint predicts what DeepSpeed, the Hugging Face Trainer, TRL, LLaMA-Factory, axolotl, ms-swift, accelerate, GPT-NeoX, verl or OpenRLHF
would do with training configs, launch scripts and programs on a number of GPUs, without running them. An error is an exception at start-up,
a warning a setting that does not do what it says. No tool writes a file: `fix` returns a diff. Paths are relative to the folder in which
the server runs."""
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Paths = Annotated[list[str], Field(description="files or folders: configs, launch scripts, training programs")]
Run = Annotated[list[str], Field(description="the files of one run, or a launch script")]
Gpus = Annotated[int | None, Field(description="number of GPUs of the launch, where the files leave it open", ge=1)]
Batch = Annotated[int | None, Field(description="the global batch size to reach: samples per optimizer step", ge=1)]
Targets = Annotated[list[str] | None, Field(description='releases to predict for, such as "transformers==4.57.1"')]
Examples = Annotated[int | None, Field(description="number of training samples, for steps", ge=1)]
Select = Annotated[str | None, Field(description="report only these rules: codes, names or families, separated by commas")]
Memory = Annotated[str | None, Field(description='memory of a GPU: a card such as "H100" or "80GB", or GiB')]

server = MCPServer("cfglint", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")


def tool(function: Callable[..., str]) -> Callable[..., str]:
    """Offer a function as a tool that reads only; what cfglint could not do is an error of the tool."""

    @functools.wraps(function)
    def asked(*arguments: object, **named: object) -> str:
        try:
            return function(*arguments, **named)
        except NotAnswered as error:
            raise ToolError(str(error)) from None

    return server.tool(annotations=READS, structured_output=False)(asked)


@tool
def check(
    paths: Paths | None = None,
    gpus: Gpus = None,
    target: Targets = None,
    num_examples: Examples = None,
    select: Select = None,
    gpu_memory: Memory = None,
) -> str:
    """Find settings that the training framework would refuse, ignore or override, with the exception that it would raise and the remedy."""
    return answer(
        "check", paths or (), gpus=gpus, target=target, num_examples=num_examples, select=select, gpu_memory=gpu_memory, color="never"
    )


@tool
def fix(paths: Paths, gpus: Gpus = None, global_batch: Batch = None, unsafe_fixes: bool = False, target: Targets = None) -> str:
    """A unified diff that repairs the files, or that makes micro batch x accumulation x data parallel reach a global batch size on a number
    of GPUs. Nothing is written: apply the diff yourself."""
    return answer("fix", paths, diff=True, gpus=gpus, global_batch=global_batch, unsafe_fixes=unsafe_fixes, target=target)


@tool
def plan(
    paths: Run,
    gpus: Annotated[int | list[int] | str, Field(description='a GPU count, several, "8,16,32", or "8-64" for 8, 16, 32, 64')],
    global_batch: Batch = None,
    num_examples: Examples = None,
    gpu_memory: Memory = None,
) -> str:
    """Which micro batch and accumulation reach a global batch size on each number of GPUs, with steps and memory."""
    counts = ",".join(map(str, gpus)) if isinstance(gpus, list) else gpus
    return answer(
        "plan", paths, gpus=counts, global_batch=global_batch, num_examples=num_examples, gpu_memory=gpu_memory, format="markdown"
    )


@tool
def explain(paths: Run, gpus: Gpus = None, num_examples: Examples = None, target: Targets = None, gpu_memory: Memory = None) -> str:
    """Every number of one run and where it comes from: batch, steps, schedule, precision, memory. A training log is explained, too."""
    return answer("explain", paths, all=True, gpus=gpus, num_examples=num_examples, target=target, gpu_memory=gpu_memory)


@tool
def log(
    text: Annotated[str, Field(description="a log, a part of one, or the last line of a traceback")],
    paths: Annotated[list[str] | None, Field(description="the files of its run, to compare its numbers with")] = None,
    gpus: Gpus = None,
) -> str:
    """Why a training failed, with the remedy, and what the numbers of its log mean."""
    return answer("log", ["-", *(paths or [])], piped=text, gpus=gpus)


@tool
def review(
    base: Annotated[str | None, Field(description="the revision to compare with (default: where the branch left the main branch)")] = None,
    state: Annotated[str | None, Field(description="working, staged or committed (default: working)")] = None,
    gpus: Gpus = None,
) -> str:
    """What the changes of a git branch mean for every run that they touch: batch, steps, schedule, new and resolved findings."""
    return answer("review", base=base, state=state, gpus=gpus, format="markdown")


@tool
def rule(code: Annotated[str, Field(description="a code or name, such as BAT001")]) -> str:
    """The manual page of a rule: when it fires, what the framework does, how to fix it."""
    return answer("rule", [code])


def serve() -> int:
    server.run("stdio")
    return 0
