"""The rule about files with many keys that GPT-NeoX does not have."""

from __future__ import annotations

from cfglint.findings.rule import VALUE, Finding, warning
from cfglint.frameworks.neox import KIND
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.source.annotations import Iterator

MOST_NAMED = 5


@warning(
    "KEY010",
    source="cfglint's own",
    about=VALUE,
    bad="{num_layers: 2, hidden_size: 64, pos_emb: rotary, norm: rmsnorm, my_loss: a, my_data: b, my_steps: 3}\n",
    good="{num_layers: 2, hidden_size: 64, pos_emb: rotary, norm: rmsnorm, my_loss: a}\n",
    example={"kind": KIND, "kind_given": False, "complete": False, "at": "/my_loss"},
)
def written_for_fork(config: NeoXConfig) -> Iterator[Finding]:
    """An undeclared file has three or more keys that the framework does not have.

    It is probably written for a fork or for another release, so the keys are reported once, what else is found in
    the file is a warning at most, and the verdict is not known. Where the project contains the framework's own
    argument classes, these decide which keys exist. `--kind` or a declared run specifies that the framework itself
    reads the file: then each unknown key is an error.

    Fix: declare the run, or ignore this finding where the file belongs to a fork.
    """
    if config.is_for_fork:
        names = config.unknown_keys()
        listed = ", ".join(f"`{name}`" for name in names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
        keys = "1 key is" if len(names) == 1 else f"{len(names)} keys are"
        text = f"{keys} unknown to {config.framework.title} ({listed}): the file may be written for a fork"
        yield Finding(
            config.setting(names[0]),
            text,
            on_key=True,
            note=f"{config.framework.title} itself refuses unknown keys",
            help="declare its kind (--kind) to see each of them",
        )
