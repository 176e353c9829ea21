"""The server for language models, asked by the client of the official package."""

from __future__ import annotations

import asyncio
import sys

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from cfglint.server.tool_server import server

TOOLS = ["check", "fix", "plan", "explain", "review", "rule"]
BAD = '{"train_batch_size": 1024, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n'


def asked(target, *calls):
    """The tools of a server, and (text, is an error) of each call."""

    async def session():
        async with Client(target) as client:
            tools = (await client.list_tools()).tools
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            return tools, [(result.content[0].text, result.is_error) for result in results]

    return asyncio.run(session())


def test_every_tool_reads_only_and_describes_itself():
    tools, _ = asked(server)
    assert [tool.name for tool in tools] == TOOLS
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
    assert sum(len(tool.model_dump_json()) for tool in tools) < 8_000


def test_an_answer_and_a_refusal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(BAD)
    _, [(found, failed), (missing, refused)] = asked(
        server, ("check", {"paths": ["ds.json"], "gpus": 8}), ("explain", {"paths": ["none.yaml"]})
    )
    assert ("error BAT001" in found, failed) == (True, False)
    assert ("none.yaml" in missing, refused) == (True, True)


@pytest.mark.slow
def test_over_standard_input_and_output(tmp_path):
    (tmp_path / "ds.json").write_text(BAD)
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "cfglint", "mcp"], cwd=tmp_path)
    tools, [(plan, _), (page, _)] = asked(
        stdio_client(parameters),
        ("plan", {"paths": ["ds.json"], "gpus": "8,16", "global_batch": 256}),
        ("rule", {"code": "batch-mismatch"}),
    )
    assert [tool.name for tool in tools] == TOOLS
    assert "| 16 | 4 | 4 | 16 | 256 |" in plan
    assert page.startswith("BAT001 batch-mismatch (error)")
