"""The manual of the rules: a list, one page per rule, and the book of all pages."""

from __future__ import annotations

from cfglint.frameworks import framework, kinds
from cfglint.report.links import anchor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import RuleEntry
    from cfglint.findings.rule import Rule

FAMILIES = {  # families of rules that belong to no single framework
    "SRC": "Reading a file",
    "KEY": "Keys",
    "TYP": "Types and spelling of values",
    "BAT": "Batch",
    "STP": "Steps and schedules",
    "PRC": "Precision",
    "RUN": "Across the files of a run",
    "MEM": "Memory",
    "HSE": "Policy schemas",
    "SUP": "Suppression comments",
    "INT": "cfglint itself",
}


def families() -> dict[str, str]:
    """The prefixes of rule codes, with the title of their chapter."""
    found = {**FAMILIES}
    for kind in kinds():
        found.update(framework(kind).rule_families)
    return found


def listing(rules: list[Rule], form: str = "text") -> str:
    """One line per rule, or the same as JSON."""
    if form == "json":
        import json

        return json.dumps([entry(rule) for rule in rules]) + "\n"
    width = max((len(rule.name) for rule in rules), default=0) + 2
    return "".join(f"{rule.code}  {rule.severity:<8}{rule.name:<{width}}{summary(rule)}\n" for rule in rules)


def entry(rule: Rule) -> RuleEntry:
    """A rule as plain values."""
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
    return [f"{each.package or framework(rule.kinds[0]).package} {each}" + (f": {each.of}" if each.of else "") for each in rule.releases]


def summary(rule: Rule) -> str:
    """The first line of a rule's page."""
    return rule.page.partition("\n")[0]


def page(rule: Rule, form: str = "text") -> str:
    """The manual page of a rule."""
    if form == "json":
        import json

        return json.dumps(entry(rule)) + "\n"
    if form == "markdown":
        return markdown(rule, 1)
    head = f"{rule.code} {rule.name} ({rule.severity})\n\n"
    kinds = f"Files: {', '.join(rule.kinds)}\n" if rule.kinds else ""
    stage = f"Fails at: {rule.fails_at}\n" if rule.fails_at else ""
    held = "".join(f"Releases: {line}\n" for line in releases(rule))
    return head + rule.page + "\n\n" + kinds + stage + held + "".join(example(title, text) for title, text in examples(rule))


def example(title: str, text: str) -> str:
    """An example of a page, indented."""
    return f"\n{title}:\n\n" + "".join(f"    {line}\n" for line in text.splitlines())


def examples(rule: Rule) -> list[tuple[str, str]]:
    """(title, content) of a rule's examples; a run of several files gives one each."""
    shown: list[tuple[str, str]] = []
    for title, given in (("Fails", rule.bad), ("Passes", rule.good), ("After `cfglint fix`", rule.fixed or "")):
        for name, text in given.items() if isinstance(given, dict) else [("", given)]:
            if text:
                shown.append((f"{title} {name}".strip() if name else title, text))
    return shown


def markdown(rule: Rule, level: int = 2) -> str:
    """A rule's page as Markdown."""
    facts: list[str] = [rule.severity, *rule.kinds]
    if rule.fails_at:
        facts.append(f"fails at {rule.fails_at}")
    parts = [f"{'#' * level} {rule.code} {rule.name}\n", f"*{', '.join(facts)}*\n", rule.page + "\n"]
    held = releases(rule)
    if held:
        parts.append("Releases: " + "; ".join(held) + ".\n")
    for title, text in examples(rule):
        parts.append(f"{title}:\n\n```\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


def book(rules: list[Rule]) -> str:
    """All pages by family, after a table: `docs/rules.md`."""
    parts = [
        "# Rules\n",
        "Generated from the rules by `cfglint rule --format markdown`; a test keeps it current. An *error* is a prediction: the framework\n"
        "would not start. A *warning* means that training starts but does not do what the file says. An *info* means that training does\n"
        "what the file says, but the setting should be reconsidered.\n",
    ]
    table = ["| code | name | severity | what |\n", "|---|---|---|---|\n"]
    table += [f"| [{each.code}](#{anchor(each.code)}) | {each.name} | {each.severity} | {summary(each)} |\n" for each in rules]
    parts.append("".join(table))
    family, titles = "", families()
    for rule in rules:
        if rule.code[:3] != family:
            family = rule.code[:3]
            parts.append(f"## {titles.get(family, family)}\n")
        parts.append(f'<a id="{anchor(rule.code)}"></a>\n\n{markdown(rule, 3)}')
    return "\n".join(parts)
