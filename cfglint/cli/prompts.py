"""The questions of `cfglint new` on a terminal; each names the equivalent flag and has a default."""

from __future__ import annotations

from cfglint.cli.argument_parser import expected
from cfglint.cli.console import columns, uses_colour
from cfglint.cli.options import UsageError, above_zero, positive
from cfglint.generators import RUN, generate, generator_of, kinds, set_frameworks, takes
from cfglint.generators.generated import Generated
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.source.annotations import Any, Callable
from cfglint.source.record import Record

Answers = dict[str, Any]

GPUS = 8
BATCH = 256  # samples per step: defaults are close to this
NEOX_BATCH = 1024  # Pythia's (configs/pythia/*.yml of GPT-NeoX)
NEOX_STEPS = 143_000  # Pythia's
MICRO_BATCH = 8
LEAVE = ("q", "quit", "exit")
BACK = ("b", "back")
NOT_ASKED = {"precision": "bf16 (--precision)", "optimizer": "AdamW (--optimizer)", "offload": "all on the GPUs (--offload)"}
LEAVING = "nothing was written; every question has a flag, see `cfglint help new`"


class Stopped(UsageError):
    """The user wants to stop."""


class Asked(Record):
    """The answers of the user."""

    kind: str
    framework: str
    facts: Answers


class Back(Exception):
    """The user wants to go back to the previous question."""


class Dialogue(Record):
    """The dialogue on a terminal; answered questions are not asked again when it starts over."""

    answers: list[str] = []
    place: int = 0  # index of the next question

    def start_over(self) -> None:
        """Start again with the first question, using the answers given so far."""
        self.place = 0

    def show(self, text: str) -> None:
        """Print a message, once."""
        if self.place == len(self.answers):
            print(text)

    def number(self, text: str, flag: str, default: int) -> int:
        """Ask for a positive integer until there is one."""
        value: int = self.value(text, flag, positive, str(default))
        return value

    def choice(self, text: str, flag: str, allowed: tuple[str, ...], default: str) -> str:
        """Ask for one of a few words until there is one."""

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
            if answer in LEAVE:
                raise Stopped(LEAVING)
            if answer in BACK:
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
    asked = None
    try:
        while asked is None:
            asked = attempt(dialogue, kind, framework, gpus or GPUS)
    except EOFError:
        print()
        raise Stopped(f"the input ended: {LEAVING}") from None
    return asked


def attempt(dialogue: Dialogue, kind: str | None, framework: str, gpus: int) -> Asked | None:
    """The answers to all questions; None if the user goes back."""
    try:
        return interview(dialogue, kind, framework, gpus)
    except Back:
        dialogue.start_over()
        return None


def interview(dialogue: Dialogue, kind: str | None, framework: str, gpus: int) -> Asked:
    """Ask all questions, in order."""
    if kind is None:
        for name in kinds():
            dialogue.show(f"  {name:<14}{generator_of(name).makes}")
        dialogue.show(f"  {RUN:<14}all files of a run, which refer to each other")
        kind = dialogue.choice("What to make", "KIND", (*kinds(), RUN), RUN)
        if kind == RUN:
            framework = dialogue.choice("Of which framework", "--framework", tuple(set_frameworks()), framework)
    neox = kind == "neox" or (kind == RUN and framework == "neox")
    facts: Answers = {"gpus": dialogue.number("GPUs", "--gpus", gpus)}
    if kind != "accelerate":
        facts.update(length(dialogue, neox))
    if "zero" in takes(kind, framework):
        facts.update(memory(dialogue, neox, kind))
    if kind != "accelerate":
        facts.update(training(dialogue, kind, framework, facts))
    dialogue.show(f"  not asked: {', '.join(text for fact, text in NOT_ASKED.items() if fact in takes(kind, framework))}")
    return Asked(kind, framework, {**facts, **batch(dialogue, kind, framework, facts)})


def length(dialogue: Dialogue, neox: bool) -> Answers:
    """Ask for the model (GPT-NeoX only) and the length of training."""
    if neox:
        from cfglint.generators.neox_shapes import SHAPES

        model = dialogue.choice("Model", "--model", tuple(SHAPES), "pythia-160m")
        return {"model": model, "steps": dialogue.number("Optimizer steps", "--steps", NEOX_STEPS)}
    samples = dialogue.value("Training samples", "--num-examples", samples_or_unknown, "unknown")
    return given({"num_examples": samples, "epochs": dialogue.value("Epochs", "--epochs", above_zero, "3")})


def samples_or_unknown(text: str) -> int | None:
    """A positive integer, or `unknown`."""
    return None if text == "unknown" else positive(text)


def memory(dialogue: Dialogue, neox: bool, kind: str) -> Answers:
    """Ask for the ZeRO stage."""
    usual = "1" if neox else "2" if kind == RUN else "none"
    stage = dialogue.choice("ZeRO stage", "--zero", (*("none",) * (usual == "none"), "0", "1", "2", "3"), usual)
    return {} if stage == "none" else {"zero": int(stage)}


def training(dialogue: Dialogue, kind: str, framework: str, facts: Answers) -> Answers:
    """Ask for the training facts; the learning rate in brackets is a usual one."""
    found: Answers = {}
    trainers = generator_of(kind, framework).trainers
    if trainers:
        found["trainer"] = dialogue.choice("TRL trainer", "--trainer", trainers, trainers[0])
    if "lora" in takes(kind, framework) and dialogue.choice("Train an adapter (LoRA)", "--lora", ("y", "n"), "n") == "y":
        found["lora"] = True
    rate, why = usual_rate(kind, framework, {**facts, **found})
    dialogue.show(f"  {rate:g}: {why}")
    found["learning_rate"] = dialogue.value("Peak learning rate", "--lr", above_zero, f"{rate:g}")
    return found


def usual_rate(kind: str, framework: str, facts: Answers) -> tuple[float, str]:
    """(learning rate, reason) that the files get by default."""
    if facts.get("model") is not None:
        from cfglint.generators.neox_shapes import published

        shape = published(facts["model"])
        return shape.rate, f"as in configs/{shape.source}"
    known = {name: facts.get(name) for name in ("lora", "trainer")}
    return generator_of(kind, framework).usual_rate(JobSpec(**known))


def batch(dialogue: Dialogue, kind: str, framework: str, facts: Answers) -> Answers:
    """Ask for the global batch size and the limit of the micro batch until the user accepts the result."""
    if kind == "accelerate":
        return {}
    wanted = NEOX_BATCH if facts.get("model") is not None else BATCH
    asked: Answers = {"global_batch": max(1, wanted // facts["gpus"]) * facts["gpus"], "max_micro_batch": MICRO_BATCH}
    while True:
        asked["global_batch"] = dialogue.number("Global batch", "--global-batch", asked["global_batch"])
        show_plan(dialogue, kind, framework, {**facts, **asked})
        most = dialogue.number("Most samples on one GPU at a time", "--max-micro-batch", asked["max_micro_batch"])
        again = most != asked["max_micro_batch"]
        asked["max_micro_batch"] = most
        works = show_plan(dialogue, kind, framework, {**facts, **asked}, printed=not again)
        if works and dialogue.choice("Write it", "or choose another batch", ("y", "n"), "y") == "y":
            return asked


def show_plan(dialogue: Dialogue, kind: str, framework: str, facts: Answers, printed: bool = False) -> bool:
    """Print the plan for these facts unless it was printed already; return False if no plan is possible."""
    works = True
    try:
        text = planned(generate(kind, JobSpec(**facts), framework), facts["gpus"], facts.get("num_examples"))
    except (Unreachable, Contradiction) as error:
        works, text = False, f"  {error}"
    if not printed:
        dialogue.show(text)
    return works


def planned(made: Generated, gpus: int, num_examples: int | None) -> str:
    """The table of `cfglint plan` on half, all and twice the GPUs."""
    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.report import plans
    from cfglint.rewrite.plan import Pace, plan, table
    from cfglint.run.discovery import Discovery
    from cfglint.source.file_source import FileSource

    facts = LaunchFacts(gpus, num_examples, complete=True, kind_given=True)
    texts = {file.name: file.text for file in made.files}
    run = Discovery(facts, made.files[0].kind, source=FileSource(texts)).together(list(texts))[0]
    counts = [count for count in (gpus // 2, gpus, 2 * gpus) if count]
    return plans.render("text", table(plan(run, counts, None, None, Pace())), colour=uses_colour(), width=columns())


def given(facts: Answers) -> Answers:
    """The facts without those that were left open."""
    return {name: each for name, each in facts.items() if each is not None}
