"""The questions of `cfglint new` on a terminal; each names the flag that answers it too."""

from __future__ import annotations

from cfglint.cli.options import UsageError, positive
from cfglint.new import FRAMEWORKS, KINDS, RUN, generate
from cfglint.new.job_spec import OFFLOADS, PRECISIONS, Contradiction, JobSpec, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cfglint.new.generated import Generated

    Answers = dict[str, Any]


class Asked:
    """What was answered."""

    def __init__(self, kind: str, framework: str, facts: Answers) -> None:
        self.kind = kind
        self.framework = framework
        self.facts = facts


def ask(kind: str | None, framework: str) -> Asked:
    """Ask for the facts, and show what can be had on these GPUs until the batch is settled; UsageError at the end of input."""
    try:
        if kind is None:
            kind = choice("What to make", "KIND", (*KINDS, RUN), RUN)
            if kind == RUN:
                framework = choice("Of which framework", "--framework", FRAMEWORKS, framework)
        neox = kind == "neox" or (kind == RUN and framework == "neox")
        facts: Answers = {"gpus": number("GPUs", "--gpus")}
        if neox:
            facts.update(of_neox())
        elif kind != "accelerate":
            facts.update(length(neox=False))
        facts.update(memory(neox, kind))
        facts["precision"] = choice("Precision", "--precision", PRECISIONS, PRECISIONS[0])
        return Asked(kind, framework, {**facts, **batch(kind, framework, facts)})
    except EOFError:
        raise UsageError("the input ended before the last question; every question has a flag, see cfglint new --help") from None


def of_neox() -> Answers:
    """The model and the length of its training."""
    from cfglint.new.models import SHAPES

    model = choice("Model", "--model", tuple(SHAPES), "pythia-160m")
    return {"model": model, **length(neox=True)}


def length(neox: bool) -> Answers:
    """How long, and how fast to learn."""
    from cfglint.cli.options import above_zero

    facts: Answers = {}
    if neox:
        facts["steps"] = number("Optimizer steps", "--steps")
    else:
        facts["num_examples"] = number("Training samples, if known", "--num-examples", optional=True)
        facts["epochs"] = value("Epochs", "--epochs", above_zero, "3")
    facts["learning_rate"] = value("Peak learning rate (empty: the default)", "--lr", above_zero, "")
    return given(facts)


def memory(neox: bool, kind: str) -> Answers:
    """What is split and moved to make the model fit."""
    usual = "1" if neox else "2" if kind == RUN else "none"
    stage = choice("ZeRO stage", "--zero", (*("none",) * (usual == "none"), "0", "1", "2", "3"), usual)
    if stage == "none":
        return {}
    facts: Answers = {"zero": int(stage)}
    if facts["zero"] and not neox:
        moves = OFFLOADS if stage == "3" else OFFLOADS[:1]
        moved = choice("Move to the CPU", "--offload, --offload-weights", ("nothing", *moves), "nothing")
        facts["offload"] = None if moved == "nothing" else moved
    return given(facts)


def batch(kind: str, framework: str, facts: Answers) -> Answers:
    """The global batch and the bound on the micro batch, asked again until the person agrees with what they come to."""
    if kind == "accelerate":
        return {}
    asked: Answers = {}
    while True:
        wanted = number("Global batch", "--global-batch", default=asked.get("global_batch"))
        most = number("Most samples on one GPU at a time", "--max-micro-batch", default=asked.get("max_micro_batch", 8))
        asked = {"global_batch": wanted, "max_micro_batch": most}
        if shown(kind, framework, {**facts, **asked}) and choice("Write it", "or choose another batch", ("y", "n"), "y") == "y":
            return asked


def shown(kind: str, framework: str, facts: Answers) -> bool:
    """Print what `cfglint plan` says of these facts; False where they come to nothing."""
    try:
        print(planned(generate(kind, JobSpec(**facts), framework), facts["gpus"], facts.get("num_examples")))
    except Unreachable as error:
        print(f"  {error}")
        return False
    except Contradiction as error:
        raise UsageError(str(error)) from error
    return True


def planned(made: Generated, gpus: int, num_examples: int | None) -> str:
    """The table of `cfglint plan` on half, all and twice the GPUs."""
    from cfglint.frameworks.base import LaunchFacts
    from cfglint.report import plans
    from cfglint.rewrite.plan import Pace, plan, table
    from cfglint.run.discovery import Discovery, FileSource

    facts = LaunchFacts(gpus, num_examples, whole=True, declared=True)
    texts = {file.name: file.text for file in made.files}
    run = Discovery(facts, made.files[0].kind, shelf=FileSource(texts)).one(list(texts))
    counts = [count for count in (gpus // 2, gpus, 2 * gpus) if count]
    return plans.render("text", table(plan(run, counts, None, None, Pace())), terminal=True)


def number(text: str, flag: str, default: int | None = None, optional: bool = False) -> int | None:
    """A whole number above 0, asked for until there is one."""
    found: int | None = value(text, flag, positive, "" if default is None else str(default), required=not optional)
    return found


def choice(text: str, flag: str, allowed: tuple[str, ...], default: str) -> str:
    """One of a few words, asked for until it is one."""

    def one_of(answer: str) -> str:
        if answer not in allowed:
            raise ValueError(answer)
        return answer

    chosen: str = value(f"{text} ({', '.join(allowed)})", flag, one_of, default, required=True)
    return chosen


def value(text: str, flag: str, read: Callable[[str], Any], default: str, required: bool = False) -> Any:
    """An answer, or the default on an empty line; None where that is empty and nothing is required."""
    hint = f" [{default}]" if default else ""
    while True:
        answer = input(f"{text}, {flag}{hint}: ").strip() or default
        if not answer and not required:
            return None
        try:
            return read(answer)
        except ValueError:
            print(f"  {answer!r} is not an answer to that")


def given(facts: Answers) -> Answers:
    """The facts without those that were left open."""
    return {name: each for name, each in facts.items() if each is not None}
