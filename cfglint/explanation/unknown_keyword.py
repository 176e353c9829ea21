"""A keyword that a constructor does not have, or a name that a package does not have, in the releases that have it."""

from __future__ import annotations

import re

from cfglint.explanation.released import had
from cfglint.frameworks import framework
from cfglint.frameworks.base import Framework
from cfglint.frameworks.releases.history import NAME, SINCE, UNTIL
from cfglint.frameworks.releases.versions import dotted, parse_version
from cfglint.frameworks.validation import schema
from cfglint.source.annotations import ConfigTable, Iterable, Iterator

REFUSED = re.compile(
    r"^(?:TypeError: )?(?:(?:[\w.]*\b(?!__init__)(\w+)(?:\.__init__)?|__init__)\(\) )?got an unexpected keyword argument '(\w+)'"
)
ATTRIBUTE = re.compile(r"'(TrainingArguments|\w+Config)' object has no attribute '(\w+)'")
IMPORTED = re.compile(
    r"^(?:ImportError: cannot import name '(\w+)' from |ModuleNotFoundError: No module named )'((?:transformers|trl)\b[\w.]*)'"
)
UNUSED = re.compile(r"not used by the HfArgumentParser: \[([^\]]*)")
QUOTED = re.compile(r"'(?:--)?(\w+)'")
INIT = "__init__()"  # what Python says up to 3.9, without the class
MOST = 3  # keys of which one exception tells
PARSED = (  # whose parsers refuse keys, with the rule about them
    ("llamafactory", "LLaMA-Factory", "LLF001"),
    ("trl", "TRL's parser", "TRL011"),
    ("huggingface", "TrainingArguments", "KEY202"),
)
PACKAGES = (("huggingface", "KEY202"), ("trl", "TRL011"))  # with the rule about the fields of their classes
OF_TRAINERS = "KEY206"
OF_IMPORTS = "KEY207"
OF_NO_RELEASE = "KEY200"
REMOVED = "was removed from"
OLDER = "the installed release is older"
PASSED_ON = "renamed"  # the kind of a row whose keyword a decorator passes on under another name
OF_NEW_PYTHON = {"transformers": (5, 0, 0), "trl": (0, 25, 0)}  # the first releases that need 3.10, which names the class of `__init__()`
BASE = "TrainingArguments"  # also of the configuration classes of TRL's trainers
CLASS_OF = {"huggingface": BASE, "trl": "TRL's configuration class"}


def about(text: str) -> tuple[list[str] | None, str]:
    """The rules about a keyword or an import that is refused, and what became of it; no rules (None) if others may predict it."""
    attribute = ATTRIBUTE.search(text)
    if attribute is not None:
        return None, of_attribute(*attribute.groups())
    rules, answer = of_import(text) if IMPORTED.match(text) else of_keyword(text)
    return rules if rules or IMPORTED.match(text) else None, answer


def of_import(text: str) -> tuple[list[str], str]:
    """The rule about a name or a module that not all releases of its package have, and which do; empty for any other."""
    for name, module in IMPORTED.findall(text):
        parts = module.split(".")
        asked = [(module, name)] if name else [(".".join(parts[:count]), "") for count in range(2, len(parts) + 1)]
        owners = [framework(kind) for kind, _ in PACKAGES if framework(kind).package == parts[0]]
        found = ((each or of, own.importable(of, each), parse_version(own.oldest)) for own in owners for of, each in asked)
        for what, spans, oldest in found:
            if spans and (spans[-1][1] or spans[-1][0] > oldest):  # hardly anyone has an older one: then the package is hidden or broken
                return [OF_IMPORTS], had(f"`{what}`", parts[0], spans)
    return [], ""


def of_attribute(owner: str, name: str) -> str:
    """Why arguments do not have a field that their class has in other releases; empty for a field of none or of all."""
    answers = (became for kind, code in PACKAGES for _, became in of_package(kind, code, owner, name) if became)
    return next(answers, "").replace(
        OLDER, "these are of an older one, or of another package's class of this name that was written for one"
    )


def of_keyword(text: str) -> tuple[list[str], str]:
    """The rules about a keyword that a constructor refuses, and what became of it; empty for other exceptions and unknown keywords."""
    match = REFUSED.match(text)
    if match is None:
        keys = UNUSED.search(text)
        answers = [*filter(None, map(of_parser, QUOTED.findall(keys.group(1))[:MOST]))] if keys else []
        return [*dict.fromkeys(code for code, _ in answers)], "; ".join(became for _, became in answers)
    owner, name = match.group(1) or "", match.group(2)
    trainers = [each for kind, _ in PACKAGES for each in constructors(kind)]
    named = max((trainer for trainer in trainers if owner.endswith(trainer)), key=len, default="")  # a subclass is named after its base
    bases = [named or owner, *[BASE] * (owner.endswith(BASE) or owner.replace("Config", "Trainer") in constructors("trl"))]
    is_old = not owner and INIT in match.group()
    answers = [each for base in bases for kind, code in PACKAGES for each in of_package(kind, code, base, name, is_old) if each[1]]
    if not answers and owner.endswith("LoraConfig"):
        from cfglint.frameworks.peft.fields import FIELDS, NEWEST

        since = dotted(FIELDS[name]) if name in FIELDS else ""
        found = f"LoraConfig has `{name}` from peft {since} on: install it" if since else f"no LoraConfig up to peft {NEWEST} has `{name}`"
        return [], f"{found}, or remove the key from the program, or from the `adapter_config.json` that is loaded"
    if not answers and owner.endswith(BASE):
        from cfglint.launch.programs.classes import SEQ2SEQ

        sections = {section.replace("_", "") for history in framework("trl").histories() for section in history.sections_with(name)}
        classes = [each.replace("Trainer", "Config") for each in constructors("trl") if each.removesuffix("Trainer").lower() in sections]
        if having := ["Seq2SeqTrainingArguments"] if name in SEQ2SEQ else classes:
            return [OF_NO_RELEASE], f"pass a configuration class that has `{name}` in the place of {owner}: {' or '.join(having[:MOST])}"
        return [OF_NO_RELEASE], f"remove `{name}`: no release of transformers from {framework('huggingface').oldest} on has it"
    package = next((own for own in map(framework, ("trl", "huggingface")) if own.constructor(owner)), None)
    if not answers and package is not None and all(row[NAME] != name for row in package.constructor(owner)):
        found = f"no release of {package.package} from {package.oldest} to {package.newest} has `{name}` of {owner}"
        return [OF_TRAINERS], f"{found}: remove it, or install the changed {package.package} that the program was written for"
    gone = [answer for answer in answers if REMOVED in answer[1]]
    first = dict(reversed(gone if gone and not owner else answers))
    return sorted(first), "; ".join(dict.fromkeys(first[code] for code in sorted(first)))


def of_parser(name: str) -> tuple[str, str] | None:
    """(rule, what became of it) of a key of a file or line, in the first framework that has it; None if every release of it does."""
    for kind, owner, code in PARSED:
        own = framework(kind)
        for history in own.histories():
            for section in history.sections_with(name):
                since, until = history.since(section, name) or (), history.until(section, name) or ()
                entry = schema.load(kind).lookup((name,)) if until else None
                text = became(name, owner, own.package, dotted(since), dotted(until), ".".join(entry.renamed_to or ()) if entry else "")
                return (code, text) if text else None
    return None


def constructors(kind: str) -> Iterable[str]:
    found: ConfigTable = framework(kind).part("constructors", {})
    return found


def of_package(kind: str, code: str, owner: str, name: str, is_old: bool = False) -> Iterator[tuple[str, str]]:
    """(rule, what became of it) of a keyword of the classes of a package; of any of its classes where the exception does not name one, but
    not in a release that an old Python cannot have.
    """
    own = framework(kind)
    end = OF_NEW_PYTHON[own.package] if is_old else None
    for trainer in [owner] if owner else constructors(kind):
        rows = [row for row in own.constructor(trainer) if row[NAME] == name]
        if rows:
            new = next((row[2] for row in rows if row[1] == PASSED_ON), "")
            new = new or field_in_place(own, trainer, name)
            until = () if any(not row[UNTIL] for row in rows) else max(row[UNTIL] for row in rows)
            if end is not None and until >= end:
                continue
            yield OF_TRAINERS, became(name, trainer, own.package, dotted(min(row[SINCE] for row in rows)), dotted(until), new)
    for history in own.histories():
        sections = [each for each in history.sections_with(name) if " " not in each]  # those are classes, not scripts
        for section in [each for each in sections if owner or all(history.until(each, name) for each in sections)]:
            if owner.lower() in (section.lower(), f"{section.replace('_', '')}config", ""):
                entry = schema.load(kind).lookup((name,))
                new = ".".join(entry.renamed_to or ()) if entry is not None else ""
                new = new or field_in_place(own, owner.replace("Config", "Trainer"), name)
                since, until = history.since(section, name) or (), history.until(section, name) or ()
                if end is not None and until >= end:
                    continue
                yield code, became(name, owner or CLASS_OF[kind], own.package, dotted(since), dotted(until), new)


def field_in_place(own: Framework, trainer: str, name: str) -> str:
    """The field of the newest release that has what a keyword of a trainer was for: `SFTConfig(max_length=...)`."""
    field = own.field_in_place(trainer, name, parse_version(own.newest))
    return f"{field[0]}({field[1]}=...)" if field is not None else ""


def became(name: str, owner: str, package: str, since: str, until: str, new: str) -> str:
    """What became of a keyword; empty if all releases have it."""
    if until:
        return f"`{name}` {REMOVED} {owner} in {package} {until}" + (f": write `{new}`" if new else "")
    return f"{owner} has `{name}` from {package} {since} on: {OLDER}" if since else ""
