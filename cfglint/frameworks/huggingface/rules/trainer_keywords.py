"""The rule about the keywords of a trainer's constructor."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import KEY, Example, Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks import of_package
from cfglint.frameworks._releases import RELEASES
from cfglint.frameworks.history import NAME, SINCE, UNTIL, holds
from cfglint.frameworks.versions import dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.base import Framework
    from cfglint.frameworks.history import Row
    from cfglint.frameworks.huggingface.config import TrainerConfig
    from cfglint.frameworks.program import TrainerCall
    from cfglint.frameworks.versions import Version

ANY = "**"  # in the place of a parameter: the constructor takes any keyword
NEW_NAME = 2  # the column of the name under which a decorator passes an argument on
LINE = "torchrun --nproc_per_node 8 train.py\n"
ARGUMENTS = "from transformers import Trainer, TrainingArguments\n\nargs = TrainingArguments('out')\n"
OF_TRL = "from trl import SFTConfig, SFTTrainer\n\nargs = SFTConfig('out')\n"


@rule(
    "KEY206",
    "unknown-trainer-argument",
    ERROR,
    fails_at="init",
    bad=(
        {"train.sh": LINE, "train.py": ARGUMENTS + "Trainer(model, args, tokenizer=tokenizer).train()\n"},
        {"train.sh": LINE, "train.py": OF_TRL + "SFTTrainer('gpt2', args, max_seq_length=2048).train()\n"},
        Example(
            {"train.sh": LINE, "train.py": OF_TRL + "SFTTrainer('gpt2', args, quantization_config=config).train()\n"},
            facts={"target": {"trl": "0.12.2", "transformers": "4.46.3"}},
        ),
        {"train.sh": LINE, "train.py": OF_TRL + "SFTTrainer('gpt2', args, dataset=data).train()\n"},
    ),
    good={"train.sh": LINE, "train.py": ARGUMENTS + "Trainer(model, args, processing_class=tokenizer).train()\n"},
    example={"kind": "launch", "named": 1, "target": {"trl": "1.16.0", "transformers": "5.23.0"}},
    about=KEY,
)
def unknown_trainer_argument(config: TrainerConfig) -> Iterator[Finding]:
    """The constructor of a trainer does not have a parameter that the program passes, in the release of the run.

    The parameters of `Trainer`, `Seq2SeqTrainer` and of TRL's trainers are known for every release. TRL moved many of them to the
    configuration classes (`SFTConfig`, `DPOConfig`), and `tokenizer` was renamed to `processing_class`. Only keywords that are written
    in the call are checked, and none in a program that imports unsloth, which replaces the constructors. A call under a condition,
    or in a `try`, gives a warning; under a condition about the release, nothing.

    Fix: use the new name, or set the field of the configuration class.

    Source: transformers 5.23.0 trainer.py (Trainer.__init__); trl 1.16.0 trainer/*_trainer.py.
    """
    program = config.facts.launch.program
    for call in program.trainer_calls if program is not None else ():
        for framework in of_package(call.package):
            rows = framework.constructor(call.name)
            if rows and call.package not in config.facts.outside:
                yield from refused(config, call, framework, rows)


def refused(config: TrainerConfig, call: TrainerCall, framework: Framework[TrainerConfig], rows: tuple[Row, ...]) -> Iterator[Finding]:
    """The keywords of a call that a release does not take."""
    release = config.facts.version(call.package, RELEASES[call.package])
    accepted = names_at(rows, release)
    if not accepted or ANY in accepted:
        return
    stated = call.package in config.framework.packages() or call.package in config.facts.target  # else no other release is looked at
    for key, node in call.document.root.pairs():
        if key.raw not in accepted:
            yield Finding(
                Setting((key.raw,), call.document.values[key.raw], WRITTEN, call.document, node, key),
                message(key.raw, call, rows, release),
                exception=f"TypeError: {call.name}.__init__() got an unexpected keyword argument {key.raw!r}",
                severity=None if call.is_certain and stated else WARNING,
                on_key=True,
                of_launcher=True,  # whoever parses the arguments
                help=remedy(key.raw, call, framework, rows, release),
            )


def names_at(rows: tuple[Row, ...], release: Version) -> set[str]:
    """The keywords that a constructor accepts in a release."""
    return {row[NAME] for row in rows if holds(row[SINCE], row[UNTIL], release)}


def message(name: str, call: TrainerCall, rows: tuple[Row, ...], release: Version) -> str:
    """What is wrong with a keyword."""
    ends = [row[UNTIL] for row in rows if row[NAME] == name and row[UNTIL] and row[UNTIL] <= release]
    if ends:
        return f"`{name}` is not accepted by {call.name}: it was removed in {call.package} {dotted(max(ends))}"
    starts = [row[SINCE] for row in rows if row[NAME] == name and row[SINCE] > release]
    if starts:
        return f"`{name}` is not accepted by {call.name}: it was added in {call.package} {dotted(min(starts))}"
    return f"unknown argument `{name}` is not accepted by {call.name}"


def remedy(name: str, call: TrainerCall, framework: Framework[TrainerConfig], rows: tuple[Row, ...], release: Version) -> str:
    """What to write in the place of a keyword."""
    accepted = names_at(rows, release)
    renamed = next((row[NEW_NAME] for row in rows if row[NAME] == name and row[NEW_NAME] in accepted), "")
    former = next((row[NAME] for row in rows if row[NEW_NAME] == name and row[NAME] in accepted), "")
    if renamed or former:
        return f"write `{renamed or former}=` in its place"
    field = framework.field_in_place(call.name, name, release)
    return f"remove `{name}`, and set `{field}`" if field else f"remove `{name}`"
