"""`cfglint mcp`: a server for language models, over standard input and output."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import fail


def add_arguments(parser: Parser) -> None:
    parser.add_example("cfglint mcp", "started by a client; see docs/integrations.md")


def run(arguments: Namespace) -> int:
    try:
        from cfglint.server.tool_server import serve
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "mcp_types", "pydantic"):
            raise
        return fail("the server needs the package mcp 2 or newer, which is not installed")
    return serve()
