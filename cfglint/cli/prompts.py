"""The questions of `cfglint new` on a terminal; each names the equivalent flag and has a default."""

from __future__ import annotations

from cfglint.cli.argument_parser import expected
from cfglint.cli.console import columns, uses_colour
from cfglint.cli.options import UsageError, above_zero, positive
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.generators import RUN, generate, generator_of, kinds, run_of, set_frameworks, takes
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.generators.neox import SHAPES, published
from cfglint.report import plans
from cfglint.rewrite.plan import Pace, plan, table
from cfglint.source.annotations import Any, Callable
from cfglint.source.record import Record

Answers = dict[str, Any]

GPUS = 8
BATCH = 256  # samples per step: defaults are close to this
NEOX_BATCH = 1024  # Pythia's (configs/pythia/*.yml of GPT-NeoX)
NEOX_STEPS = 143_000  # Pythia's
MICRO_BATCH = 8
NOT_ASKED = {"precision": "bf16 (--precision)", "optimizer": "AdamW (--optimizer)", "offload": "all on the GPUs (--offload)"}
LEAVING = "nothing was written; every question has a flag, see `cfglint help new`"


class Stopped(UsageError):
    """The user wants to stop."""


class Asked(Record):
    kind: str
    framework: str
    facts: Answers


class Back(Exception):
    """The user wants to go back to the previous question."""


class Dialogue(Record):
    """The dialogue on a terminal; answered questions are not asked again when it starts over."""

    answers: list[str] = []
    place: int = 0  # index of the next question

    def show(self, text: str) -> None:
        if self.place == len(self.answers):
            print(text)

    def number(self, text: str, flag: str, default: int) -> int:
        value: int = self.value(text, flag, positive, str(default))
        return value

    def choice(self, text: str, flag: str, allowed: tuple[str, ...], default: str) -> str:
        def one_of(answer: str) -> str:
            if answer not in allowed:
                raise ValueError(answer)
            return answer

        one_of.__doc__ = f"one of {', '.join(allowed)}."
        chosen: str = self.value(f"{text} ({', '.join(allowed)})", flag, one_of, default)
        return chosen

    def value(self, text: str, flag: str, read: Callable[[str], Any], default: str) -> Any:
        """Ask for a value; an empty line means the default. Raises Stopped for `q`, Back for `b`."""
        while self.place == len(self.answers):
            answer = input(f"{text}, {flag} [{default}]: ").strip() or default
            if answer in ("q", "quit", "exit"):
                raise Stopped(LEAVING)
            if answer in ("b", "back"):
                del self.answers[-1:]
                raise Back
            try:
                read(answer)
            except ValueError:
                print(f"  {answer}: expected {expected(read)}")
            else:
                self.answers.append(answer)
        self.place += 1
        return read(self.answers[self.place - 1])


def ask(kind: str | None, framework: str, gpus: int | None = None) -> Asked:
    """Ask for the facts, and show what is possible on these GPUs until the batch is settled; raises Stopped if the user leaves."""
    print("Enter accepts the value in brackets; b goes back to the previous question; q ends without writing.")
    dialogue = Dialogue()
    while True:
        dialogue.place = 0
        try:
            return interview(dialogue, kind, framework, gpus or GPUS)
        except Back:
            continue
        except EOFError:
            print()
            raise Stopped(f"the input ended: {LEAVING}") from None


def interview(dialogue: Dialogue, kind: str | None, framework: str, gpus: int) -> Asked:
    if kind is None:
        for name in kinds():
            dialogue.show(f"  {name:<14}{generator_of(name).makes}")
        dialogue.show(f"  {RUN:<14}all files of a run, which refer to each other")
        kind = dialogue.choice("What to make", "KIND", (*kinds(), RUN), RUN)
        if kind == RUN:
            framework = dialogue.choice("Of which framework", "--framework", tuple(set_frameworks()), framework)
    taken = takes(kind, framework)
    neox = kind == "neox" or (kind == RUN and framework == "neox")
    facts: Answers = {"gpus": dialogue.number("GPUs", "--gpus", gpus)}
    if kind != "accelerate" and neox:
        facts["model"] = dialogue.choice("Model", "--model", tuple(SHAPES), "pythia-160m")
        facts["steps"] = dialogue.number("Optimizer steps", "--steps", NEOX_STEPS)
    elif kind != "accelerate":
        samples = dialogue.value("Training samples", "--num-examples", samples_or_unknown, "unknown")
        facts.update({"num_examples": samples} if samples is not None else {})
        facts["epochs"] = dialogue.value("Epochs", "--epochs", above_zero, "3")
    if "zero" in taken:
        usual = "1" if neox else "2" if kind == RUN else "none"
        stage = dialogue.choice("ZeRO stage", "--zero", (*("none",) * (usual == "none"), "0", "1", "2", "3"), usual)
        facts.update({"zero": int(stage)} if stage != "none" else {})
    if kind != "accelerate":
        generator = generator_of(kind, framework)
        if generator.trainers:
            facts["trainer"] = dialogue.choice("TRL trainer", "--trainer", generator.trainers, generator.trainers[0])
        if "lora" in taken and dialogue.choice("Train an adapter (LoRA)", "--lora", ("y", "n"), "n") == "y":
            facts["lora"] = True
        if neox:
            shape = published(facts["model"])
            rate, why = shape.rate, f"as in configs/{shape.source}"
        else:
            rate, why = generator.usual_rate(JobSpec(lora=facts.get("lora"), trainer=facts.get("trainer")))
        dialogue.show(f"  {rate:g}: {why}")
        facts["learning_rate"] = dialogue.value("Peak learning rate", "--lr", above_zero, f"{rate:g}")
    dialogue.show(f"  not asked: {', '.join(text for fact, text in NOT_ASKED.items() if fact in taken)}")
    if kind != "accelerate":
        facts.update(batch(dialogue, kind, framework, facts))
    return Asked(kind, framework, facts)


def samples_or_unknown(text: str) -> int | None:
    """A positive integer, or `unknown`."""
    return None if text == "unknown" else positive(text)


def batch(dialogue: Dialogue, kind: str, framework: str, facts: Answers) -> Answers:
    """Ask for the global batch size and the limit of the micro batch until the user accepts the result."""
    wanted = NEOX_BATCH if facts.get("model") is not None else BATCH
    asked: Answers = {"global_batch": max(1, wanted // facts["gpus"]) * facts["gpus"], "max_micro_batch": MICRO_BATCH}
    while True:
        asked["global_batch"] = dialogue.number("Global batch", "--global-batch", asked["global_batch"])
        _, text = planned(kind, framework, {**facts, **asked})
        dialogue.show(text)
        most = dialogue.number("Most samples on one GPU at a time", "--max-micro-batch", asked["max_micro_batch"])
        again = most != asked["max_micro_batch"]
        asked["max_micro_batch"] = most
        works, text = planned(kind, framework, {**facts, **asked})
        if again:
            dialogue.show(text)
        if works and dialogue.choice("Write it", "or choose another batch", ("y", "n"), "y") == "y":
            return asked


def planned(kind: str, framework: str, facts: Answers) -> tuple[bool, str]:
    """(whether a plan is possible, the table of `cfglint plan` on half, all and twice the GPUs, or why none is)."""
    gpus = facts["gpus"]
    try:
        generated = generate(kind, JobSpec(**facts), framework)
        launch = LaunchFacts(gpus, facts.get("num_examples"), complete=True, kind_given=True)
        plan_table = table(plan(run_of(generated, launch), [count for count in (gpus // 2, gpus, 2 * gpus) if count], None, None, Pace()))
    except (Unreachable, Contradiction) as error:
        return False, f"  {error}"
    return True, plans.render("text", plan_table, colour=uses_colour(), width=columns())
