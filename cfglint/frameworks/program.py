"""What is known of the program of a launch: who parses its arguments, which ones it has, which trainer it builds."""

from __future__ import annotations

from cfglint.source.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HF_PARSER = "HfArgumentParser"
TRL_PARSER = "TrlParser"
ARGPARSE = "argparse"
HF_PARSERS = (HF_PARSER, TRL_PARSER)


class Missing:
    """The default of an argument that has to be given."""

    def __repr__(self) -> str:
        return "required"


MISSING = Missing()


@record
class Field:
    """An argument of a program.

    `kind` is its type in the words of `huggingface.fields`, empty where it is not known. `default` is `MISSING` for an argument
    that has to be given, and `Unknown` where the program computes it. `takes` are the words that follow the option: `1`, `?`,
    `+`, `*`, `0`, or empty where that is not known.
    """

    kind: str
    default: Any
    path: str
    line: int
    takes: str = "1"
    choices: tuple[Any, ...] = ()

    @property
    def place(self) -> str:
        """`train.py:12`."""
        return f"{self.path}:{self.line}"


@record
class ProgramFacts:
    """What is known of a program from its syntax tree.

    `arguments` is the framework's class that the parser fills (`TrainingArguments`, `SFTConfig`), empty without one; `classes` are
    its other classes of TRL. `fields` are arguments of the program's own, `defaults` those that a subclass gives to fields of
    `arguments`. `complete`: there are no further arguments. `refuses`: an argument that is none of them ends the program;
    `refuses_in_file`: so does a key of a config file. `trainer` is the framework's class of the one trainer that it builds,
    `own_trainer` whether a subclass replaces parts that checks rest on. `changed` are fields that the code sets after parsing.
    `exact`: the defaults of `arguments` are known, as is every class between it and the parser.
    `config_files` are DeepSpeed files that the code names where the line names none. `built` are the calls that build a trainer's
    arguments in code, `scopes` the code that it may run (both of `launch.programs`).
    """

    path: str
    parser: str = ""
    arguments: str = ""
    classes: tuple[str, ...] = ()
    fields: dict[str, Field] = {}
    defaults: dict[str, Field] = {}
    complete: bool = False
    refuses: bool = False
    refuses_in_file: bool = False
    trainer: str = ""
    own_trainer: bool = False
    changed: tuple[str, ...] = ()
    exact: bool = False
    config_files: tuple[str, ...] = ()
    built: tuple[Any, ...] = ()
    scopes: tuple[Any, ...] = ()

    @property
    def is_strict(self) -> bool:
        """Whether every argument that it accepts is known, and any other one ends it."""
        return self.complete and self.refuses

    def accepts(self, name: str) -> bool:
        """Whether a name is one of its own arguments, the complement `no_x` of a boolean one, or may be short for one."""
        if name in self.fields or name in self.defaults or any(field.startswith(name) for field in self.fields):
            return True
        positive = self.fields.get(name.removeprefix("no_"))
        return positive is not None and positive.kind == "bool" and positive.default is True
