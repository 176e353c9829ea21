"""The schemas in an editor: the real yaml-language-server, spoken to over its standard input and output.

Needs node and npm. The server comes from the npm registry once, into `CFGLINT_NODE_CACHE` or a folder of the
temporary directory; without node, or without a network, the tests are skipped and say why.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from queue import Empty, Queue

import pytest

from cfglint.frameworks.validation.schema import file_of
from cfglint.generators.generated import GeneratedFile, Keys

VERSION = "1.25.0"
PATIENCE = 20  # seconds that an answer may take
SETTINGS = {"yaml": {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}}, "http": {}}


class Server:
    """A running language server: requests out, answers and diagnostics in."""

    def __init__(self, script: Path) -> None:
        command = ["node", str(script), "--stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.arrived: Queue[dict] = Queue()
        self.count = 0
        threading.Thread(target=self._listen, daemon=True).start()
        self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {"workspace": {"configuration": True}}})
        self.tell("initialized", {})

    def tell(self, method: str, parameters: object) -> None:
        self._send({"method": method, "params": parameters})

    def ask(self, method: str, parameters: object) -> object:
        """The result of a request; what arrives before it is dropped."""
        self.count += 1
        self._send({"id": self.count, "method": method, "params": parameters})
        return self._wait(lambda message: message.get("id") == self.count and "method" not in message)["result"]

    def diagnostics(self, uri: str) -> list[dict]:
        """What the server finds wrong with a document that was just opened."""
        found = self._wait(lambda message: message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri)
        return found["params"]["diagnostics"]

    def open(self, path: Path, text: str) -> str:
        uri = path.as_uri()
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
        return uri

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

    def _send(self, message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _wait(self, wanted) -> dict:
        while True:
            try:
                message = self.arrived.get(timeout=PATIENCE)
            except Empty:
                pytest.fail(f"yaml-language-server did not answer within {PATIENCE} s")
            if message.get("method") == "workspace/configuration":
                self._send({"id": message["id"], "result": [SETTINGS.get(item["section"]) for item in message["params"]["items"]]})
            elif "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
            if wanted(message):
                return message

    def _listen(self) -> None:
        stream = self.process.stdout
        while header := stream.readline():
            length = int(header.split(b":")[1]) if header.lower().startswith(b"content-length") else 0
            while stream.readline().strip():
                pass
            self.arrived.put(json.loads(stream.read(length)))


@pytest.fixture(scope="module")
def server(npm_package):
    package = npm_package("yaml-language-server", VERSION) / "node_modules" / "yaml-language-server"
    running = Server(package / "bin" / "yaml-language-server")
    yield running
    running.close()


def opened(server: Server, folder: Path, kind: str, body: str) -> str:
    path = folder / f"{kind}.yaml"
    return server.open(path, f"# yaml-language-server: $schema={Path(file_of(kind)).as_uri()}\n{body}")


def test_the_first_line_of_a_new_config_is_understood(server, tmp_path):
    (tmp_path / "huggingface.schema.json").write_text(json.dumps(exported("huggingface")))
    file = GeneratedFile("train.yaml", "huggingface", Keys.of(("learning_rate", "fast")))
    file.has_schema = True
    [found] = server.diagnostics(server.open(tmp_path / "train.yaml", file.text))
    assert found["range"]["start"]["line"] == 2


def exported(kind: str) -> dict:
    """The draft-07 schema of a kind."""
    return json.loads(Path(file_of(kind, "draft7")).read_text(encoding="utf-8"))


def at(uri: str, line: int, character: int) -> dict:
    """A position, lines counted from 0; line 0 is the schema comment."""
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        ("huggingface", "learning_rate: fast\n", "number"),
        ("huggingface", "save_strategy: sometimes\n", '"steps"'),
        ("deepspeed", "zero_optimization: {stages: 3}\n", "stages"),
        ("neox", "num_layers: twelve\n", "integer"),
    ],
)
def test_a_wrong_value_is_shown(server, tmp_path, kind, body, error):
    [found] = server.diagnostics(opened(server, tmp_path, kind, body))
    assert found["range"]["start"]["line"] == 1
    assert error in found["message"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("huggingface", "output_dir: out\nlearning_rate: 1.0e-4\nbf16: true\neval_strategy: 'no'\nmy_scripts_own_key: 1\n"),
        ("deepspeed", "train_batch_size: auto\nzero_optimization: {stage: 3, offload_optimizer: {device: cpu}}\nbf16: {enabled: auto}\n"),
        ("neox", "pipe-parallel-size: 1\nnum_layers: 12\noptimizer: {type: Adam, params: {lr: 0.0006}}\nlr_decay_style: cosine\n"),
    ],
)
def test_a_sound_file_is_left_alone(server, tmp_path, kind, body):
    assert server.diagnostics(opened(server, tmp_path, kind, body)) == []


def test_completion_offers_keys_with_what_they_do(server, tmp_path):
    uri = opened(server, tmp_path, "huggingface", "gradient_acc\n")
    offered = {item["label"]: item for item in server.ask("textDocument/completion", at(uri, 1, 12))["items"]}
    assert "optimizer steps" in str(offered["gradient_accumulation_steps"]["documentation"])


def test_completion_offers_allowed_values(server, tmp_path):
    uri = opened(server, tmp_path, "deepspeed", "zero_optimization:\n  offload_param:\n    device: \n")
    labels = {item["label"] for item in server.ask("textDocument/completion", at(uri, 3, 12))["items"]}
    assert {"cpu", "nvme"} <= labels


def test_hover_tells_what_a_key_does(server, tmp_path):
    uri = opened(server, tmp_path, "deepspeed", "zero_optimization:\n  stage: 3\n")
    shown = server.ask("textDocument/hover", at(uri, 2, 4))
    assert "1 optimizer states" in json.dumps(shown["contents"])


@pytest.fixture
def opened_exported(server, tmp_path):
    """Opens a text with the draft-07 schema of its kind."""

    def open_with(kind: str, body: str) -> str:
        (tmp_path / f"{kind}.schema.json").write_text(json.dumps(exported(kind)))
        return server.open(tmp_path / f"{kind}.yaml", f"# yaml-language-server: $schema={kind}.schema.json\n{body}")

    return open_with


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        ("trl", "model_name_or_path: m\nbeta: strong\n", "number"),
        ("llamafactory", "stage: sft\nfinetuning_type: lorra\n", '"lora"'),
        ("axolotl", "base_model: m\nmicro_batch_size: many\n", "integer"),
        ("deepspeed", "train_batch_size: half\n", "integer"),
    ],
)
def test_exported_schemas_show_a_wrong_value(server, opened_exported, kind, body, error):
    found = server.diagnostics(opened_exported(kind, body))
    assert [each["range"]["start"]["line"] for each in found] == [body.count("\n")]
    assert error in found[0]["message"]


@pytest.mark.parametrize(
    ("kind", "body", "key"),
    [
        ("trl", "model_name_or_path: m\nmax_compl\n", "max_completion_length"),
        ("llamafactory", "stage: sft\ncutoff\n", "cutoff_len"),
        ("axolotl", "base_model: m\nsample_pack\n", "sample_packing"),
    ],
)
def test_exported_schemas_complete_keys(server, opened_exported, kind, body, key):
    uri = opened_exported(kind, body)
    line = body.splitlines()[1]
    assert key in {item["label"] for item in server.ask("textDocument/completion", at(uri, 2, len(line)))["items"]}
