"""What an exception says that a package does not have, with the releases that have it (`_released_names.py`)."""

from __future__ import annotations

import re
from functools import cache

from cfglint.explanation.failure_parser import Raised
from cfglint.frameworks.releases.versions import Version, dotted

ATTRIBUTE = re.compile(r"(?:'(\w+)' object|type object '(\w+)'|^AttributeError: (\w+)) has no attribute '?(\w+)")
OF_MODULE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'|cannot import name '(\w+)' from '([\w.]+)'|No module named '([\w.]+)'")
KEYWORD = re.compile(r"(?:\b([A-Za-z_]\w*)\.)?\b(\w+)\(\) got an unexpected keyword argument '(\w+)'")
POSITIONAL = re.compile(r"(?:\b([A-Za-z_]\w*)\.)?\b(\w+)\(\) takes (?:from \d+ to )?\d+ positional arguments? but \d+ (?:was|were) given")
LAST_WORD = re.compile(r"[A-Z][a-z]*$")
OF_MODEL = re.compile(r"For[A-Z]\w+$|Model$")  # classes of models, each of which derives from these:
MODELS = ("PreTrainedModel", "GenerationMixin")
TOKENIZER, TOKENIZERS = re.compile(r"Tokenizer(?:Fast)?$"), ("PreTrainedTokenizerBase",)
MOST = 3  # classes of which one of them may have refused a keyword

# Names of classes that are of transformers, as a rule; what such a class is called with or asked for is of another package.
OF_TRANSFORMERS = re.compile(
    r"For[A-Z]\w+$|(?:Pre[Tt]rained|LMHead|Llama|Qwen\w*|Mistral|Gemma\w*|Bert|GPT\w*|T5\w*|Phi\w*)Model$"
    r"|(?:Decoder|Encoder)Layer$|Attention$|Tokenizer(?:Fast)?$|Processor(?:Fast)?$|Cache$"
)
PACKAGE = re.compile(r"[\\/](?:site|dist)-packages[\\/]([\w.-]+)")
MISTAKES = ("AssertionError", "AttributeError", "IndexError", "KeyError", "TypeError", "UnboundLocalError")  # of code, as a rule
TELLING = 8  # letters of the name of a class at which one that ends like it derives from it
OF_PART = re.compile(r"module '?((\w+)\.[\w.]+)'? has no attribute")
OWNER = re.compile(r"(?:type object )?'(\w+)' (?:object )?has no attribute|\b([A-Z]\w+)\.\w+\(\) (?:got an|takes|missing)")

Found = tuple[str, tuple[tuple[Version, Version], ...]]  # the distribution, and the releases


@cache
def released() -> dict[str, Found]:
    """By the name in the table, if one package alone has it: the distribution, and the releases."""
    from cfglint.explanation._released_names import RELEASED

    found: dict[str, list[Found]] = {}
    for package, groups in RELEASED.values():
        for spans, names in groups.items():
            for name in names.split():
                found.setdefault(name, []).append((package, spans))
    return {name: where for name, [where, *others] in found.items() if not others}


@cache
def by_last_name() -> dict[str, list[str]]:
    """By the name of a member or of a function with a parameter, without its class: their names in the table."""
    found: dict[str, list[str]] = {}
    for name in released():
        if "." in name and name[0].isupper():
            found.setdefault(name.partition(".")[2], []).append(name)
    return found


@cache
def owners() -> dict[str, str]:
    """The distributions of classes, of each that only one of them has."""
    found: dict[str, set[str]] = {}
    for name, (package, _) in released().items():
        owner = name.partition(".")[0].partition("(")[0]
        if owner[0].isupper():
            found.setdefault(owner, set()).add(package)
    return {owner: packages.pop() for owner, packages in found.items() if len(packages) == 1}


def packages_of(raised: Raised) -> tuple[str, str]:
    """The package that called the one that raised an exception, and that one, by the files of its traceback; empty for others."""
    named = [match.group(1).removesuffix(".py") for frame in raised.frames if (match := PACKAGE.search(frame.file))]
    called = named[-1] if named else ""
    return next((name for name in reversed(named) if name != called), ""), called


def by_its_place(raised: Raised) -> str:
    """What the place of an exception tells that says nothing itself and that nothing is known of; empty outside of packages."""
    caller, called = packages_of(raised)
    if not called or raised.name not in MISTAKES or PACKAGE.search(raised.frames[-1].file) is None:
        return ""
    both = f"`{called}`, which `{caller}` calls," if caller else f"`{called}`"
    shown = f"{caller} {called}".strip()
    return (
        f"by its place alone: the code of {both} does not expect it; another release may (`pip show {shown}`; its issues have the message)"
    )


def to_install(raised: Raised) -> str:
    """What to do about packages whose releases do not fit: the one that raised an exception and the one that called it, by the files of its
    traceback, else that of the class that it is about.
    """
    caller, called = packages_of(raised)
    if caller and not (called == "torch" and raised.file and PACKAGE.search(raised.file) is None):
        return (
            f"install releases of `{caller}`, which calls `{called}` here, and of `{called}` that fit each other"
            f" (`pip show {caller} {called}`): those that the requirements of the program name, or the newest of both"
        )
    owner, package = package_of(raised.text)
    if not package:
        return ""
    return f"install the `{package}` that `{owner}` and its caller are written for (`pip show {package}`), or update the two together"


def package_of(text: str) -> tuple[str, str]:
    """The class (or its base) or the module that an exception is about, and its distribution, which is empty if it is not known."""
    if part := OF_PART.search(text):
        return part.group(1), part.group(2)
    match = OWNER.search(text)
    owner = next(filter(None, match.groups())) if match is not None else ""
    base = max((each for each in owners() if owner.endswith(each) and len(each) >= TELLING), key=len, default=owner)
    return base, owners().get(base, "") or ("transformers" if OF_TRANSFORMERS.search(owner) else "")


def about(text: str) -> str:
    """The releases that have what an exception says is missing; empty if that is not known."""
    if of_module := OF_MODULE.search(text):
        module, name, imported, source, missing = of_module.groups()
        what = f"{module or source}.{name or imported}" if name or imported else missing
        return had(f"`{what}`", *released()[what]) if what in released() else ""
    if keyword := KEYWORD.search(text):
        owner, function, parameter = keyword.groups()
        return of_parameter(owner, function, f"{function}({parameter}", parameter)
    if positional := POSITIONAL.search(text):
        owner, function = positional.groups()
        own = [name for name in released() if name.startswith(f"{owner}.{function}(")]
        return of_changes(own)
    if attribute := ATTRIBUTE.search(text):
        *owners, member = attribute.groups()
        return of_member(next(filter(None, owners)), member)
    return ""


def had(what: str, package: str, spans: tuple[tuple[Version, Version], ...]) -> str:
    """Which releases of a package have something, and what follows for the one that is installed."""
    if all(end for _, end in spans):
        first, last = min(since for since, _ in spans), dotted(max(end for _, end in spans))
        if first:
            return f"{what} was removed in {package} {last}, and came in {dotted(first)}: the installed release is not one between them"
        return f"{what} was removed in {package} {last}: update the code that uses it, or install an older release"
    since = next(dotted(first) for first, end in spans if not end)
    before = " and ".join(f"before {dotted(end)}" for _, end in spans if end)
    if before:
        return f"{package} has {what} from {since} on, and had it {before}: the installed release is another"
    return f"{package} has {what} from {since} on: the installed release is older"


def of_parameter(owner: str | None, function: str, last: str, parameter: str) -> str:
    """What became of a parameter of a function, or of a method that one of the program overrides; of one without its class (Python up to
    3.9), of the classes that have it.
    """
    own = released().get(f"{owner}.{last}" if owner else last)
    if own is not None:
        return had(f"the parameter `{parameter}` of `{f'{owner}.' if owner else ''}{function}`", *own)
    same = by_last_name().get(last, [])
    if owner is not None:  # a method of a subclass, which is named after its base, if that has it in newer releases
        named = sorted((name for name in same if is_base(name.partition(".")[0], owner)), key=len)[-1:]
        known = [(name.partition("(")[0], *released()[name]) for name in named if function != "__init__" and not released()[name][1][-1][1]]
        what = (f"{package} has `{parameter}` of `{name}` from {dotted(spans[-1][0])} on" for name, package, spans in known)
        return "".join(f"{each}: give the method that overrides it this parameter, or install an older release" for each in what)
    where = {released()[name]: name.partition("(")[0] for name in reversed(same)}  # classes that are derived have the same
    if len(where) > (MOST if function == "__init__" else 1) or "_" not in function:
        return ""
    return "; or ".join(had(f"the parameter `{parameter}` of `{name}`", *each) for each, name in where.items())


def of_changes(names: list[str]) -> str:
    """The latest change of a function's parameters."""
    if not names:
        return ""
    release = max(release for name in names for span in released()[name][1] for release in span)
    changed = [name.partition("(")[2] for name in names if any(release in span for span in released()[name][1])]
    what = f"`{names[0].partition('(')[0]}` changed in {released()[names[0]][0]} {dotted(release)}"
    return f"the parameters of {what} ({', '.join(f'`{each}`' for each in changed)}): install the release that its caller is written for"


def of_member(owner: str, member: str) -> str:
    """What became of a member of a class, or of the classes that one of its name derives from."""
    if own := released().get(f"{owner}.{member}"):
        return had(f"`{owner}.{member}`", *own)
    same = [name for name in by_last_name().get(member, []) if is_base(name.partition(".")[0], owner)]
    found = {released()[name] for name in same}
    return had(f"`{same[0]}`", *found.pop()) if len(found) == 1 else ""


def is_base(name: str, owner: str) -> bool:
    """Whether a class of a package is one that a class of this name may derive from."""
    word = LAST_WORD.search(owner)
    bases = MODELS if OF_MODEL.search(owner) else TOKENIZERS if TOKENIZER.search(owner) else ()
    return name in bases or (word is not None and owner.endswith(name) and name.endswith(word.group()))
