"""`cfglint server`: the language server, over standard input and output."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import fail
from cfglint.cli.options import UsageError, add_fact_options, facts_of, facts_of_declared
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project.settings_file import Configuration, ConfigurationError, DeclaredRun


def add_arguments(parser: Parser) -> None:
    add_fact_options(parser)
    parser.add_argument("--stdio", action="store_true", help="always the case; accepted")
    parser.hide_all_but("--gpus", "--target", "--config")
    parser.add_example("cfglint server", "started by an editor; see docs/editors.md")


def run(arguments: Namespace) -> int:
    arguments.kind = None

    def facts(project: Configuration, declared: DeclaredRun | None) -> LaunchFacts:
        try:
            return facts_of_declared(declared, arguments, project) if declared else facts_of(arguments, project, complete=False)
        except UsageError as error:  # an error in a declared run does not stop the server
            raise ConfigurationError(str(error)) from error

    facts_of(arguments, Configuration(), complete=False)  # invalid options end the command now, not at the first check
    try:
        from cfglint.server.language_server import serve
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        return fail("the language server needs pygls 2 or newer, which is not installed")
    return serve(facts, arguments.config)
