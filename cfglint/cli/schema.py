"""`cfglint schema`: the JSON Schema of a kind, for editors and other tools."""

from __future__ import annotations

import json
import sys

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import fail
from cfglint.frameworks import framework
from cfglint.frameworks.validation.schema import file_of, kinds


def add_arguments(parser: Parser) -> None:
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"one of {', '.join(kinds())} (default: list the kinds)")
    parser.add_argument(
        "--draft",
        choices=("2020-12", "7"),
        default="2020-12",
        help="7: draft-07 without cfglint's own keywords, valid in ajv's strict mode",
    )
    parser.add_argument("--catalog", metavar="URL", help="print the catalogue entries of all kinds, for schemas served at URL")
    parser.add_example("cfglint schema huggingface --draft 7 > huggingface.schema.json", "a schema for an editor")
    parser.add_example("cfglint schema deepspeed", "JSON Schema 2020-12 with cfglint's own keywords")


def run(arguments: Namespace) -> int:
    if arguments.catalog:  # in the format of https://www.schemastore.org: editors select by file name
        entries = []
        for kind in (framework(name) for name in kinds()):
            if kind.file_match:
                described = f"{kind.title[0].upper()}{kind.title[1:]} ({kind.package} {kind.newest})"
                address = f"{arguments.catalog.rstrip('/')}/{kind.kind}.json"
                entries.append({"name": kind.title, "description": described, "fileMatch": [*kind.file_match], "url": address})
        print(json.dumps(entries, indent=2))
        return 0
    if arguments.kind is None:
        print("\n".join(kinds()))
        return 0
    if arguments.kind not in kinds():
        return fail(f"no schema for {arguments.kind!r}; there are: {', '.join(kinds())}")
    with open(file_of(arguments.kind, "draft7" if arguments.draft == "7" else ""), encoding="utf-8") as file:
        sys.stdout.write(file.read())
    return 0
