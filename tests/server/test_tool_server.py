"""The server for language models, asked by the client of the official package."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from cfglint.server.tool_server import server

TOOLS = ["check", "fix", "plan", "explain", "log", "review", "rule"]
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


def test_each_tool_takes_its_arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "a")):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *command], check=True)
    (tmp_path / "ds.json").write_text(BAD)
    calls = {
        "check": ({"paths": ["ds.json"], "gpus": 64, "select": "BAT"}, "1 file checked"),
        "fix": ({"paths": ["ds.json"], "gpus": 8, "global_batch": 128}, '+{"train_batch_size": 128'),
        "plan": ({"paths": ["ds.json"], "gpus": "8,16", "global_batch": 256}, "| 16 | 2 | 4 | 4 | 16 | 256 |"),
        "explain": ({"paths": ["ds.json"], "gpus": 64}, "1,024"),
        "log": ({"text": "ValueError: At most one of fp16 and bf16 can be True, but not both"}, "PRC200"),
        "review": ({"base": "HEAD", "gpus": 8}, "ds.json"),
        "rule": ({"code": "batch-mismatch"}, "BAT001 batch-mismatch (error)"),
    }
    _, answers = asked(server, *((name, arguments) for name, (arguments, _) in calls.items()))
    shown = {name: text for name, (text, _) in zip(calls, answers, strict=True)}
    assert {name: said for name, (_, said) in calls.items() if said not in shown[name]} == {}, {
        name: text[:300] for name, text in shown.items()
    }
    assert [failed for _, failed in answers] == [False] * len(calls)


def test_arguments_in_the_forms_that_clients_send(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(BAD)
    calls = [("plan", {"paths": ["ds.json"], "gpus": counts, "global_batch": 256}) for counts in (16, [8, 16], "8,16")]
    _, answers = asked(server, ("check", {}), ("check", {"paths": ["ds.json"], "gpus": "64"}), *calls)
    assert [failed for _, failed in answers] == [False] * len(answers)
    assert "1 file checked" in answers[0][0]
    assert all("| 16 | 2 | 4 | 4 | 16 | 256 |" in text for text, _ in answers[2:])


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
    assert "| 16 | 2 | 4 | 4 | 16 | 256 |" in plan
    assert page.startswith("BAT001 batch-mismatch (error)")
