"""The manual of the rules: a list, one page per rule, their index, and the book of all pages."""

from __future__ import annotations

import json
from textwrap import fill

from cfglint.findings.rule import IGNORE_COMMENT, Rule
from cfglint.frameworks import framework, kinds
from cfglint.report.links import anchor, rule_uri
from cfglint.rules.engine import releases_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import RuleEntry

FAMILIES = {  # families of rules that belong to no single framework
    "SRC": "Reading a file",
    "KEY": "Keys",
    "TYP": "Types and spelling of values",
    "BAT": "Batch",
    "STP": "Steps and schedules",
    "PRC": "Precision",
    "GPU": "Cards",
    "PFT": "Adapters and quantization",
    "RUN": "Across the files of a run",
    "MEM": "Memory",
    "HSE": "Policy schemas",
    "SUP": "Suppression comments",
    "INT": "cfglint itself",
}


def families() -> dict[str, str]:
    """The prefixes of rule codes, with the title of their chapter."""
    return {**FAMILIES, **{code: title for kind in kinds() for code, title in framework(kind).rule_families.items()}}


def listing(rules: list[Rule], form: str = "text", most: int | None = None) -> str:
    """One line per rule, cut to a width in columns if one is given, or the same as JSON."""
    if form == "json":
        return json.dumps([entry(rule) for rule in rules]) + "\n"
    width = max((len(rule.name) for rule in rules), default=0) + 2
    lines = (f"{rule.code}  {rule.severity:<8}{rule.name:<{width}}{summary(rule)}" for rule in rules)
    return "".join(f"{line if most is None or len(line) <= most else line[: most - 3].rstrip() + '...'}\n" for line in lines)


def entry(rule: Rule) -> RuleEntry:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "kinds": list(rule.kinds),
        "fails_at": rule.fails_at,
        "exception": rule.raises,
        "summary": summary(rule),
        "page": rule.page,
        "releases": releases(rule),
    }


def releases(rule: Rule) -> list[str]:
    """The releases that have the check, one line for each of its variants; empty if all modelled ones do."""
    return [f"{package} {span}" + (f": {span.of}" if span.of else "") for package, span in releases_of(rule)]


def summary(rule: Rule) -> str:
    """The first line of a rule's page."""
    return rule.page.partition("\n")[0]


def page(rule: Rule, form: str = "text", width: int | None = None) -> str:
    """The manual page of a rule; its paragraphs are folded to a width in columns if one is given."""
    if form == "json":
        return json.dumps(entry(rule)) + "\n"
    if form == "markdown":
        return markdown(rule, 1)
    address = rule_uri(rule.code)
    parts = [
        f"{rule.code} {rule.name} ({rule.severity})\n\n",
        "\n\n".join(refolded(paragraph, width) for paragraph in rule.page.split("\n\n")),
        "\n\n",
        f"Files: {', '.join(rule.kinds)}\n" if rule.kinds else "",
        f"Fails at: {rule.fails_at}\n" if rule.fails_at else "",
        *(f"Releases: {line}\n" for line in releases(rule)),
        f"Page: {address}\n" if address else "",
    ]
    for title, text in examples(rule):
        parts += [f"\n{title}:\n\n", *(f"    {line}\n" for line in text.splitlines())]
    how = accepting(rule)
    return "".join([*parts, f"\n{refolded(how, width)}\n" if how else ""])


def accepting(rule: Rule) -> str:
    """How to suppress one finding of a rule; empty where no comment does: of such comments, and in a file that no parser reads."""
    if rule.about == IGNORE_COMMENT or rule.fails_at == "load":
        return ""
    return (
        f"To accept one: `# cfglint: ignore[{rule.code}] REASON` at the end of its line, with `//` in JSON whose parser allows comments, "
        "else `per-file-ignores`."
    )


def refolded(paragraph: str, width: int | None) -> str:
    """A paragraph folded to a width, if one is given; one with a line of a list, a table or code stays as it is."""
    lines = paragraph.split("\n")
    if width is None or any(line[:1] in (" ", "-", "|", "`") for line in lines[1:]) or max(map(len, lines)) <= width:
        return paragraph

    return fill(" ".join(lines), width, break_long_words=False, break_on_hyphens=False)


def examples(rule: Rule) -> list[tuple[str, str]]:
    """(title, content) of a rule's examples; a run of several files gives one each."""
    shown: list[tuple[str, str]] = []
    for title, given in (("Fails", rule.bad), ("Passes", rule.good), ("After `cfglint fix`", rule.fixed or "")):
        files = given if isinstance(given, dict) else {"": given}
        shown += [(f"{title} {name}".strip(), text) for name, text in files.items() if text]
    return shown


def markdown(rule: Rule, level: int = 2) -> str:
    facts: list[str] = [rule.severity, *rule.kinds]
    if rule.fails_at:
        facts.append(f"fails at {rule.fails_at}")
    parts = [f"{'#' * level} {rule.code} {rule.name}\n", f"*{', '.join(facts)}*\n", rule.page + "\n"]
    held = releases(rule)
    if held:
        parts.append("Releases: " + "; ".join(held) + ".\n")
    parts += [f"{title}:\n\n```\n{text.rstrip()}\n```\n" for title, text in examples(rule)]
    if level == 1 and (how := accepting(rule)):
        parts.append(f"{how}\n")
    return "\n".join(parts)


HEAD = """# Rules

{}
An *error* is a prediction: the framework would not start. A *warning* means that training starts but does not do what the file says.
An *info* means that training does what the file says, but the setting should be reconsidered.
"""


COLUMNS = "| code | name | severity | what |\n|---|---|---|---|\n"


def row(rule: Rule) -> str:
    return f"| {rule.name} | {rule.severity} | {summary(rule)} |\n"


def by_family(rules: list[Rule]) -> list[tuple[str, list[Rule]]]:
    """(title, rules) of each family, in the order of the codes."""
    titles = families()
    chapters: dict[str, list[Rule]] = {}
    for rule in rules:
        chapters.setdefault(rule.code[:3], []).append(rule)
    return [(titles.get(family, family), members) for family, members in chapters.items()]


def book(rules: list[Rule]) -> str:
    table = COLUMNS + "".join(f"| [{rule.code}](#{anchor(rule.code)}) {row(rule)}" for rule in rules)
    parts = [HEAD.format("Printed by `cfglint rule --format markdown`."), table]
    for title, members in by_family(rules):
        parts.append(f"## {title}\n")
        parts += (f'<a id="{anchor(member.code)}"></a>\n\n{markdown(member, 3)}' for member in members)
    return "\n".join(parts)
