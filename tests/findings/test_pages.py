"""The pages of rules: what stands where in a page, and that a run gets what their heads say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import rebuild_rules

import examples
from cases import each_case
from cfglint.findings.pages import Example, page_of, parsed
from cfglint.rules.catalogue import every_rule

PAGE = """---
code: ABC001
source: a package
---

What it finds.

More of it:

    ## Fails

## Fails

```yaml
a: 1
```

## Also fails

- at: /b
- exception: 'ValueError: b: c'
- target: {package: 0.19.0}

````markdown notes.md
```yaml
## Passes
```
````

```json b.json
```

## Passes

```yaml

```
"""
FACTS = {
    each.args[0].value
    for each in ast.walk(ast.parse(Path(examples.__file__).read_text()))
    if isinstance(each, ast.Call) and each.args and isinstance(each.args[0], ast.Constant) and ast.unparse(each.func) == "example.get"
} | {"at", "policies"}


def test_what_stands_where_in_a_page():
    page = parsed(PAGE)
    assert page.head == {"code": "ABC001", "source": "a package"}
    assert page.text == "What it finds.\n\nMore of it:\n\n    ## Fails"
    files = {"notes.md": "```yaml\n## Passes\n```\n", "b.json": ""}
    assert page.bad == [Example("a: 1\n"), Example(files, "/b", "ValueError: b: c", facts={"target": {"package": "0.19.0"}})]
    assert (page.good, page.fixed) == ("\n", None)


def test_the_fixed_example_passes_where_nothing_else_does():
    page = parsed("---\ncode: A\n---\nText.\n\n## After `cfglint fix`\n\n```yaml\na: 2\n```\n")
    assert (page.good, page.fixed) == ("a: 2\n", "a: 2\n")


def test_a_code_without_a_page_names_the_file():
    with pytest.raises(FileNotFoundError, match=r"ABC999\.md: every rule has a page"):
        page_of("ABC999")


def test_a_run_gets_what_the_pages_say():
    """After a change of a head: python tools/rebuild_rules.py."""
    assert rebuild_rules.MODULE.read_text(encoding="utf-8") == rebuild_rules.module()
    assert rebuild_rules.PLACES.read_text(encoding="utf-8") == rebuild_rules.places()


@each_case(("head", "told"), [("code: BAT001\nsource: y\nseverty: error", "severty"), ("code: BAT002\nsource: y", "the code")])
def test_a_head_that_says_what_no_head_says_is_refused(monkeypatch, head, told):
    monkeypatch.setattr(rebuild_rules, "page_of", lambda code: parsed(f"---\n{head}\n---\nText.\n"))
    with pytest.raises(ValueError, match=f"pages/BAT001.md: {told}"):
        rebuild_rules.row("BAT001")


def test_each_page_has_a_rule_of_its_name():
    rules = every_rule()
    assert {each.code for each in rules} == {path.stem for path in rebuild_rules.PAGES.glob("*.md")}
    named = {each.name: each.check.__name__.replace("_", "-") for each in rules if not each.checks and "." not in each.name}
    assert {name: of for name, of in named.items() if of not in (name, "<lambda>")} == {}


def test_the_facts_of_examples_are_known():
    facts = {fact for rule in every_rule() for fact in (*rule.example, *(each for example in rule.bad_examples for each in example.facts))}
    assert facts <= FACTS
