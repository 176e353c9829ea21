"""The kind of texts that no parser reads: the folder `broken` holds texts below their name, and what is found of them.

Behind `=>`: the keys as a tree, the kind with its certainty, and the kind with the most keys of that name.
"""

from __future__ import annotations

from pathlib import Path

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH
from cfglint.run.broken import closest_kind, key_names, keys_only, kind_of_text
from cfglint.source.document import MAPPING
from records import check_cases

HERE = Path(__file__).parent / "broken"
CERTAINTIES = {CERTAIN: "certain", MAYBE: "perhaps", NO_MATCH: "none"}
PLACES = 12  # at which a text is cut


def tree(node):
    """The keys below a node."""
    return " ".join(f"{key.raw}({tree(value)})" if value.kind == MAPPING else key.raw for key, value in node.pairs())


def found(name, text):
    syntax = "json" if name.endswith("json") else "yaml"
    document = keys_only(name, text, syntax)
    kind, certainty = kind_of_text(name, text, syntax)
    yield tree(document.root)
    yield f"{kind}, {CERTAINTIES[certainty]}; closest {closest_kind(key_names(document))}"


def test_texts(updating):
    def answer(case):
        name, _, text = case.partition("\n")
        yield from found(name, text)

    check_cases(HERE / "texts.txt", answer, updating)


def test_cut_texts(updating):
    """Every text, without what is behind or before each of some places."""

    def answer(case):
        name, _, text = case.partition("\n")
        for number in range(1, PLACES):
            place = len(text) * number // PLACES
            syntax = "json" if name.endswith("json") else "yaml"
            cut = [kind_of_text(name, part, syntax) for part in (text[:place], text[place:])]
            yield f"{number}: " + ", ".join(f"{kind} {CERTAINTIES[certainty]}" for kind, certainty in cut)

    check_cases(HERE / "cuts.txt", answer, updating)
