"""The arguments of a line that the parser of a program would refuse, as far as the program defines them itself.

Source: transformers 5.23.0 hf_argparser.py:143-260 (types, choices, required), 330-336 (leftover words), CPython argparse.py
(_get_values, _check_value, parse_args); deepspeed 0.19.8 launcher/launch.py and torch 2.13.0 distributed/run.py:965 (the rank that a
launcher adds).
"""

from __future__ import annotations

import re
from itertools import pairwise

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.releases import Releases
from cfglint.launch.argparse_types import NUMERIC, converted, invalid_choice, invalid_value, spellings
from cfglint.launch.command import behind_dashes, further_arguments, read_arguments
from cfglint.launch.findings import NEEDS_VALUE, is_stray, joined_at, refuse, severity_of
from cfglint.launch.kinds import TRAINER, base_fields, fields_of_class, kind_named, parsed_type
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import Argument, LaunchLine, LineProblem
from cfglint.launch.program import ARGPARSE, HF_PARSERS, MISSING, TRL_PARSER, Field, ProgramFacts
from cfglint.source.annotations import Container, Iterator
from cfglint.source.shell.command import CommandDocument, is_in_page, is_placeholder, is_to_be_filled_in, stands_for_more
from cfglint.source.shell.placed_text import Text

ONE = ("1", "?")
TAKES_ONE = {"report_to": Releases((4, 40, 0), package="transformers")}  # options that took several words before
SINGLE_DASHED = re.compile(r"-[A-Za-gi-z][\w-]+")  # `-h` asks for the help
MOST_NAMED = 8  # choices in a message


class Known:
    """The known arguments of a program: its own, and the fields of the framework's classes, with the number of words of each."""

    def __init__(self, program: ProgramFacts) -> None:
        self.program = program
        self.own = {**program.defaults, **program.fields}
        fields = {"config": "1"} if program.parser == TRL_PARSER else {}  # of the framework's classes, in any release
        for name in base_fields() if program.parser in HF_PARSERS and program.arguments else ():
            kind = parsed_type(name)
            fields[name] = "+" if kind.startswith("list") and kind != "list|str" else "?" if kind == "bool" else "1"
        for name in (program.arguments, *program.classes):
            for field in fields_of_class(name):
                fields.setdefault(field, "")
        self.takes = {**fields, **{name: field.takes for name, field in self.own.items()}}

    def meant(self, name: str) -> list[str]:
        """The arguments that a name may abbreviate; that of the name alone, if there is one."""
        return [name] if name in self.takes else [each for each in self.takes if each.startswith(name)]

    def lacks(self, word: Text) -> bool:
        """Whether a word is an option with one dash that the parser does not have; `-tf32` is none of `--tf32`."""
        is_option = word.known and SINGLE_DASHED.fullmatch(word.string) is not None
        return is_option and not any(option.startswith(word.string[:2]) for field in self.own.values() for option in field.options)

    def expanded(self, name: str) -> str:
        """The argument that a name abbreviates; the name itself if it abbreviates none, or several."""
        found = self.meant(name)
        distinct = "_" in name or self.program.parser == ARGPARSE  # both spellings of a name begin with its first part
        return found[0] if len(found) == 1 and (distinct or "_" not in found[0]) else name


def problems(line: LaunchLine, arguments: list[Argument], before: list[Text], known: Known) -> Iterator[LineProblem]:
    program = known.program
    if program.is_strict and line.call.blanks:  # behind backslashes: words that the program refuses, and not those of the options before
        dropped: list[Text] = []
        for name, texts in [("", before), *((argument.name, argument.texts) for argument in arguments)]:
            takes = known.takes.get(name) if name else "0"
            first = 1 if takes in ONE else 0 if takes == "0" else len(texts)
            dropped += [word for word in texts[first:] if is_stray(word, line)]
            texts[first:] = [word for word in texts[first:] if not is_stray(word, line)]
        if dropped:
            refuse(line, "", refusal([word.string for word in dropped], program))
    for argument in arguments:
        field = known.own.get(argument.name)
        takes = known.takes.get(argument.name)
        if any(joined_at(word) is not None for word in argument.texts):
            continue
        if field is not None:
            yield from wrong_value(line, argument, field, program)
        elif takes == "1" and not argument.texts and argument.name not in NEEDS_VALUE:
            yield without_value(line, argument, takes, program)
        elif field is None and argument.texts and program.parses_all:
            word = argument.texts[0]
            if word.value is not None and not is_to_be_filled_in(word):
                for kind, releases in kind_named(TRAINER).refused_words(argument.name, word.value):
                    yield unconverted(word, argument.name, kind, program, releases)
        rest = argument.texts[1:] if takes in ONE else argument.texts if takes == "0" else []
        rest = [word for word in rest if not (is_to_be_filled_in(word) and is_in_page(word))]  # `...`, `<other-arguments>`
        short = program.parser in HF_PARSERS and rest and known.lacks(rest[0])
        if program.is_strict and short and are_words(argument.texts[:1]):
            yield single_dashed(rest, known)
        elif program.is_strict and rest and are_words(argument.texts):
            yield left_over(rest, f"--{argument.name}", program, since=TAKES_ONE.get(argument.name))
        if program.is_strict and program.parser == ARGPARSE and takes is None and not any(n.startswith(argument.name) for n in known.takes):
            yield unrecognized(argument, known)
    if program.is_strict:
        yield from local_rank(line, known)
        behind = behind_dashes(line.arguments)  # which a parser without positional arguments refuses
        if behind and not (len(behind) > 1 and all(map(stands_for_more, behind[1:]))):
            message = f"`--` ends the options of {program.path}: what follows is not parsed as options"
            raised = refusal([word.string for word in behind], program)
            yield LineProblem("LCH003", "error", behind[0], "--", message, raised, remedy="remove `--`")
    if not before and not further_arguments(line.arguments) and all(word.known or word.string.strip("<?>") for word in line.arguments):
        yield from missing(line, {each.name for each in arguments}, program)


def single_dashed(words: list[Text], known: Known) -> LineProblem:
    option, program = words[0].string, known.program
    message, remedy = f"`{option}` is not an argument of {program.path}", f"remove `{option}`"
    if option[1:].replace("-", "_") in known.takes:
        message, remedy = f"{message}; did you mean `-{option}`?", f"write `-{option}`"
    raised = refusal([word.string for word in words], program)
    return LineProblem("LCH003", "error", words[0], option, message, raised, remedy=remedy)


def are_words(texts: list[Text]) -> bool:
    """Whether the words have known values and are separate in the script; a wrong parse of the shell may join them."""
    for before, after in pairwise([*texts[:1], *texts]):
        last, first = before.parts[-1].place if before.parts else None, after.parts[0].place if after.parts else None
        joined = before is not after and last is not None and first is not None and last[0] == first[0] and last[2] == first[1]
        if joined or not after.known or after.string.startswith("-"):
            return False
    return True


def wrong_value(line: LaunchLine, argument: Argument, field: Field, program: ProgramFacts) -> Iterator[LineProblem]:
    if not argument.texts:
        if field.takes in ("1", "+"):
            yield without_value(line, argument, field.takes, program)
        return
    for word in argument.texts[:1] if field.takes in ONE else argument.texts if field.takes == "+" else ():
        text = word.value
        if text is None or is_placeholder(text):
            continue
        kind = field.kind.removeprefix("list:")
        if kind in NUMERIC and converted(kind, text) is None:
            if not is_to_be_filled_in(word):
                yield unconverted(word, argument.name, kind, program)
        elif field.choices and text not in map(str, field.choices) and converted(kind, text) not in field.choices:
            names = [*map(str, field.choices[:MOST_NAMED]), *(["..."] if len(field.choices) > MOST_NAMED else [])]
            listed, raised = ", ".join(names), f"error: {invalid_choice(as_named(argument.name, program), text, names)}"
            message = f"`{option_of(argument.name, program)}` is {text}; it must be one of {listed} ({field.place})"
            yield LineProblem("LCH017", "error", word, f"--{argument.name}", message, raised, f"write one of {listed}")


def unconverted(word: Text, name: str, kind: str, program: ProgramFacts, releases: Releases | None = None) -> LineProblem:
    needed = {"int": "an integer", "float": "a number", "bool": "a boolean"}[kind]
    raised = f"error: {invalid_value(as_named(name, program), kind, word.string)}"
    remedy = f"write {needed if kind != 'bool' else 'True or False'}"
    message = f"`{option_of(name, program)}` is {word.string}, not {needed}"
    return LineProblem("LCH017", "error", word, f"--{name}", message, raised, remedy, releases=releases)


def as_named(name: str, program: ProgramFacts) -> str:
    if program.parser in HF_PARSERS:
        return spellings(name)
    return "/".join(program.fields[name].options if name in program.fields else ()) or f"--{name}"


def option_of(name: str, program: ProgramFacts) -> str:
    options = program.fields[name].options if name in program.fields else ()
    return next((option for option in options if option[2:].replace("-", "_") == name), f"--{name}")


def without_value(line: LaunchLine, argument: Argument, takes: str, program: ProgramFacts) -> LineProblem:
    option = option_of(argument.name, program)
    raised = f"error: argument {as_named(argument.name, program)}: expected {'one argument' if takes == '1' else 'at least one argument'}"
    message, remedy = f"`{option}` requires a value", f"write the value after `{option}`"
    return LineProblem("LCH013", severity_of(line), argument.word, f"--{argument.name}", message, raised, remedy)


def unrecognized(argument: Argument, known: Known) -> LineProblem:
    from difflib import get_close_matches

    option = argument.word.string
    near = get_close_matches(argument.name, known.takes, 1, 0.8)
    meant = f"; did you mean `--{near[0]}`?" if near else ""
    message = f"`{option}` is not an argument of {known.program.path}{meant}"
    raised = refusal([option, *(word.string for word in argument.texts)], known.program)
    return LineProblem("LCH003", "error", argument.word, f"--{argument.name}", message, raised, remedy="" if near else f"remove `{option}`")


def left_over(words: list[Text], option: str, program: ProgramFacts, since: Releases | None = None) -> LineProblem:
    texts, field = [word.string for word in words], program.fields.get(option.removeprefix("--"))
    is_flag = field is not None and field.takes == "0"
    message = f"`{texts[0]}` is left over: `{option}` takes {'no value' if is_flag else 'one value'}"
    remedy = f"remove `{texts[0]}`" if is_flag else "quote the words, or remove them"
    return LineProblem("LCH003", "error", words[0], option, message, refusal(texts, program), remedy=remedy, releases=since)


def refusal(words: list[str], program: ProgramFacts) -> str:
    if program.parser == ARGPARSE:
        return f"error: unrecognized arguments: {' '.join(words)}"
    return f"ValueError: Some specified arguments are not used by the HfArgumentParser: {words}"


def local_rank(line: LaunchLine, known: Known) -> Iterator[LineProblem]:
    added = added_rank(line)
    if added is None or line.program is None or "local_rank" in known.takes or known.expanded("local_rank") != "local_rank":
        return
    option, remedy = added
    message = f"the launcher passes `{option}` to {known.program.path}, which does not accept it"
    yield LineProblem("LCH003", "error", line.program, "--local_rank", message, refusal([f"{option}=0"], known.program), remedy=remedy)


def added_rank(line: LaunchLine) -> tuple[str, str] | None:
    """(the argument with the rank of each process that the launcher passes to the program, what prevents it); None if it passes none."""
    option, without, remedy = launcher_of(line).added_rank or ("", "", "")
    return (option, remedy) if option and without not in line.options else None


def missing(line: LaunchLine, given: Container[str], program: ProgramFacts) -> Iterator[LineProblem]:
    if not program.is_called or (program.parser == TRL_PARSER and "config" in given):
        return
    required = [name for name, field in program.fields.items() if field.default is MISSING and field.kind != "bool"]
    names = [name for name in required if name not in given and not (name == "local_rank" and added_rank(line))]
    if names and line.program is not None:
        options = [option_of(name, program) for name in names]
        named = ", ".join(as_named(name, program) for name in names)
        fields = [program.fields[name].place for name in names]
        message = (
            ", ".join(f"`{option}`" for option in options)
            + f" {'is' if len(names) == 1 else 'are'} missing; {fields[0]} requires {'it' if len(names) == 1 else 'them'}"
        )
        raised = f"error: the following arguments are required: {named}"
        yield LineProblem("LCH016", severity_of(line), line.program, f"--{names[0]}", message, raised, remedy=f"add {', '.join(options)}")


def match_arguments(line: LaunchLine, command: CommandDocument, program: ProgramFacts) -> None:
    if not program.parser or launcher_of(line).has_own_parser:
        return
    known = Known(program)
    for name in [*command.words]:
        full = known.expanded(name)
        if full != name and full not in command.words:
            command.rename(name, full)
        several = known.meant(name) if program.parser in HF_PARSERS and "_" in name else []
        # Which of them it is, or whether the parser refuses it, hangs on the release.
        for each in {*several} - command.words.keys() if len(several) > 1 else ():
            command.words[each] = None
            command.unknown[each] = Unknown(Reason("argument", f"`--{name}`, an abbreviation", "write the whole option"))
    arguments, before = read_arguments(line.arguments)
    for argument in arguments:
        argument.name = known.expanded(argument.name)
    line.problems.extend(problems(line, arguments, before, known))
